"""What others take out of the study: a run's scores as one CSV file, and data-set folders for a hub.

A folder holds `data/<language>.parquet`, `README.md` (the card, with the header that the Hugging Face hub reads),
`LICENSE.md` and `croissant.json` (Croissant 1.0, mlcommons.org/croissant). It has no time in it: two exports write the
same bytes. What is exported is what ships, with the licence of each source.
"""

import hashlib
import json
import os
import re
from pathlib import Path

import pandas as pd
import yaml

import babelatlas
from babelatlas.analysis import outcomes
from babelatlas.base import languages, released, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import rows as table_rows
from babelatlas.lexicon import labels

# Licences as SPDX names them -> as the hub does; what the hub has no name for is "other".
HUB_LICENCES = {name: name.lower() for name in ("MIT", "Apache-2.0", "CC0-1.0", "CC-BY-3.0", "CC-BY-SA-3.0")}
HUB_LICENCES |= {name: name.lower() for name in ("CC-BY-SA-4.0", "GPL-3.0", "AGPL-3.0")}
HUB_LICENCES |= {"GFDL-1.1-or-later": "gfdl", "ODbL-1.0": "odbl", "ODC-By-1.0": "odc-by"}
SIZES = [(1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M")]
CROISSANT_WORDS = (
    "citeAs column equivalentProperty extract field fileProperty fileObject fileSet format includes isLiveDataset"
    " jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate separator source"
    " subField transform"
)
CROISSANT_TYPES = {"int64": "sc:Integer", "double": "sc:Float", "bool": "sc:Boolean"}
CITATION = "Babel Atlas, version {}: how many of the world's languages do vision-and-language models understand?"
LABELS = """\
{n:,} labels of the ImageNet-1k classes in {languages} languages: one word for each class and language, from open
wordnets and Wiktionary, selected and cleaned by the process of Babel-ImageNet (Geigle, Timofte and Glavaš 2024). A
language has labels for the classes that its sources name. No label is from BabelNet, whose words may not be
redistributed freely.

Each row names the source and the licence of its label. `alternatives` may be from other sources: to select rows by
licence, leave that column out. No one licence is claimed for the whole. LICENSE.md has the sources with their authors
and notices; keep it with the data."""
RELEASED = """\
{n:,} results of vision-and-language models in {languages} languages that others released, one value of a harness,
checkpoint, data set, language and metric a row: facts from public repositories at fixed commits, no value changed.
`address` says where a value stands. Intervals are added where the number of queries or images is known.

Harnesses differ in prompts, captions, image preprocessing and precision: compare models within a harness. Rows of
different harnesses may be of the same weights; the column `model` says so."""


def scores(found: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a `languages` table with the columns of the table `scores`, then those of the protocol.

    `group` holds "", as every row is of one language; `variant` what distinguishes several rows of a model in a
    language, such as their sets of captions.
    """
    table = found.assign(group="", variant=outcomes.variants(found))[[*tables.SCORE, *outcomes.PROTOCOL]]
    return table.sort_values(list(tables.SCORE_KEY), kind="stable", ignore_index=True)


def write_scores(run: str, path: str | os.PathLike) -> int:
    """Write all scores of a run as one CSV file, numbers with all their digits; return how many there are."""
    table = scores(tables.read(f"results/{run}/scores/languages.parquet", "languages"))
    with tables.beside(tables.locate(path)) as part:
        table.to_csv(part, index=False, lineterminator="\n")
    return len(table)


def export_labels(folder: str | os.PathLike, date: str = "") -> str:
    """Write the label set of ImageNet-1k that ships as a data-set folder; return the sentence that says so.

    `date`: the day of publication, as 2026-01-31, for the Croissant metadata. Raises InputError for a folder with other
    files.
    """
    table = labels.shipped()
    sources = table.groupby(["source", "licence"], as_index=False).size().rename(columns={"size": "labels"})
    title, tags = "Babel Atlas: labels of ImageNet-1k", ["imagenet", "zero-shot-image-classification", "wordnet"]
    return _export(folder, table, "labels", title, LABELS, sources, labels.LICENCE.read_text("utf-8"), tags, date)


def export_released(folder: str | os.PathLike, date: str = "") -> str:
    """Write the results that others released as a data-set folder; as `export_labels`."""
    table, facts = released.read(), released.facts()["sources"]
    sources = table.groupby("source", as_index=False).size().rename(columns={"size": "values"})
    sources.insert(1, "licence", [facts[source]["licence"] for source in sources["source"]])
    sources["address"] = [facts[source]["address"] for source in sources["source"]]
    title, tags = "Babel Atlas: released results", ["evaluation", "image-text-retrieval"]
    licence = (
        "# Licences of the released results\n\nFacts from these files, each under the licence of its repository:\n\n"
    )
    return _export(folder, table, "released", title, RELEASED, sources, licence + _markdown(sources), tags, date)


def _export(folder, table, name, title, about, sources, licence, tags, date) -> str:
    """Write the folder of a table with schema `name`; `sources` has the columns source, licence, and counts."""
    folder, parts = tables.locate(folder), dict(list(table.sort_values(tables.SCHEMAS[name][1]).groupby("lang")))
    files = {f"data/{code}.parquet" for code in parts} | {"README.md", "LICENSE.md", "croissant.json"}
    other = {path.relative_to(folder).as_posix() for path in folder.rglob("[!.]*") if path.is_file()} - files
    if other:
        raise InputError(f"The folder {folder} has other files ({min(other)}): give an empty one, or an export.")
    paths = [tables.write(rows, folder / f"data/{code}.parquet", name, traced=False) for code, rows in parts.items()]
    about = about.format(n=len(table), languages=len(parts))
    licences = sorted({one for text in sources["licence"] for one in text.split(" OR ")})
    cited, meanings = CITATION.format(babelatlas.__version__), _meanings(name)
    # The hub takes codes of two and three letters as languages, others as BCP 47.
    header = {
        "pretty_name": title,
        "language": [code for code in parts if re.fullmatch("[a-z]{2,3}", code)],
        "language_bcp47": [code for code in parts if not re.fullmatch("[a-z]{2,3}", code)],
        "license": sorted({HUB_LICENCES.get(one, "other") for one in licences}),
        "license_link": "LICENSE.md",
        "multilinguality": "multilingual",
        "size_categories": next((size for most, size in SIZES if len(table) < most), "n>1M"),
        "tags": tags,
        "configs": [{"config_name": "all", "data_files": "data/*.parquet", "default": True}]
        + [{"config_name": code, "data_files": f"data/{code}.parquet"} for code in parts],
    }
    sections = {
        "Columns": pd.DataFrame({"column": meanings.keys(), "meaning": meanings.values()}),
        "Sources and licences": sources,
        "Languages": pd.DataFrame([(code, languages.name(code), len(rows)) for code, rows in parts.items()],
                                  columns=["config", "language", "rows"]),
    }  # fmt: skip
    card = [f"# {title}", about, *(f"## {part}\n\n{_markdown(each)}" for part, each in sections.items())]
    card += ["## Cite", f"{cited}\nCite the sources that you use, too."]
    links = [f"https://spdx.org/licenses/{one}.html" for one in licences if one in HUB_LICENCES]
    facts = {
        "name": name,
        "description": " ".join(about.split()),
        "license": links + ["LICENSE.md"] * any(one not in HUB_LICENCES for one in licences),
        "version": babelatlas.__version__,
        "citeAs": cited,
        "inLanguage": list(parts),
        "keywords": tags,
        **({"datePublished": date} if date else {}),
    }
    head = f"---\n{yaml.safe_dump(header, sort_keys=False)}---\n\n"
    written = json.dumps(_croissant(folder, paths, name, facts, meanings), ensure_ascii=False, indent=1)
    texts = {"README.md": head + "\n\n".join(card), "LICENSE.md": licence.rstrip(), "croissant.json": written}
    for file, text in texts.items():
        with tables.beside(folder / file) as part:
            part.write_text(text + "\n", encoding="utf-8")
    return f"{len(table):,} rows in {len(parts)} languages: {folder}"


def _markdown(table: pd.DataFrame) -> str:
    lines = [list(map(str, row)) for row in [table.columns, ["---"] * table.shape[1], *table.itertuples(index=False)]]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines)


def _meanings(name: str) -> dict[str, str]:
    """Return what the columns of a table mean, and under "" what the table holds, as `babelatlas tables NAME` says."""
    meanings = {(row["table"], row["column"]): row["meaning"] for row in table_rows("columns.csv")}
    return {
        column: meanings.get((name, column)) or meanings.get(("", column), "") for column in tables.SCHEMAS[name][0]
    }


def _croissant(folder: Path, files: list[Path], name: str, facts: dict, meanings: dict[str, str]) -> dict:
    """Return the Croissant metadata of Parquet files below `folder`, all of them one set of records."""
    columns, key = tables.SCHEMAS[name]
    spaces = {
        "@language": "en",
        "@vocab": "https://schema.org/",
        "cr": "http://mlcommons.org/croissant/",
        "rai": "http://mlcommons.org/croissant/RAI/",
        "dct": "http://purl.org/dc/terms/",
        "sc": "https://schema.org/",
        "conformsTo": "dct:conformsTo",
        "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    }
    typed = {word: {"@id": f"cr:{word}", "@type": "@json"} for word in ("data", "examples")}
    listed = []
    for path in files:
        content, address = path.read_bytes(), path.relative_to(folder).as_posix()
        about = {"@type": "cr:FileObject", "@id": address, "name": path.name, "contentUrl": address}
        about |= {"contentSize": f"{len(content)} B", "encodingFormat": "application/x-parquet"}
        listed.append(about | {"sha256": hashlib.sha256(content).hexdigest()})
    fields = []
    for column, kind in columns.items():
        repeated = str(kind).startswith("list")
        field = {"@type": "cr:Field", "@id": f"{name}/{column}", "name": column, "description": meanings[column]}
        field["dataType"] = CROISSANT_TYPES.get(str(kind.value_type if repeated else kind), "sc:Text")
        field["source"] = {"fileSet": {"@id": "languages"}, "extract": {"column": column}}
        fields.append(field | ({"repeated": True} if repeated else {}))
    together = {"@type": "cr:FileSet", "@id": "languages", "name": "languages", "includes": "data/*.parquet"}
    together |= {"description": "The files of all languages.", "encodingFormat": "application/x-parquet"}
    records = {"@type": "cr:RecordSet", "@id": name, "name": name, "description": facts["description"], "field": fields}
    return {
        "@context": spaces | {word: f"cr:{word}" for word in CROISSANT_WORDS.split()} | typed,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        **facts,
        "isLiveDataset": False,
        "distribution": [*listed, together],
        "recordSet": [records | {"key": [{"@id": f"{name}/{column}"} for column in key]}],
    }
