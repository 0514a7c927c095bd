"""Data-set folders for a hub: one Parquet file for each language, a card, the licences, and Croissant metadata.

A folder holds `data/<language>.parquet`, `README.md` (the card, with the header that the Hugging Face hub reads),
`LICENSE.md` and `croissant.json`. It has no time in it: two exports write the same bytes. What is exported is what
ships, with the licence of each source: the label set of ImageNet-1k, and the results that others released.
"""

import json
import os
import re
from collections.abc import Iterable

import pandas as pd

import babelatlas
from babelatlas.base import languages, released, tables
from babelatlas.base.errors import InputError
from babelatlas.lexicon import labels
from babelatlas.report.sharing import croissant

# Licences as SPDX names them -> as the hub does; what the hub has no name for is "other".
HUB_LICENCES = {
    "MIT": "mit",
    "Apache-2.0": "apache-2.0",
    "CC0-1.0": "cc0-1.0",
    "CC-BY-3.0": "cc-by-3.0",
    "CC-BY-SA-3.0": "cc-by-sa-3.0",
    "CC-BY-SA-4.0": "cc-by-sa-4.0",
    "GFDL-1.1-or-later": "gfdl",
    "GPL-3.0": "gpl-3.0",
    "AGPL-3.0": "agpl-3.0",
    "ODbL-1.0": "odbl",
    "ODC-By-1.0": "odc-by",
}
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
{n:,} results of {models} vision-and-language models in {languages} languages that others released, one value of a
harness, checkpoint, data set, language and metric a row: facts from public repositories at fixed commits, no value
changed. `address` says where a value stands. Intervals are added where the number of queries or images is known.

Harnesses differ in prompts, captions, image preprocessing and precision: compare models within a harness. Rows of
different harnesses may be of the same weights; the column `model` says so."""
RELEASED_LICENCE = """\
# Licences of the released results

Facts from these files, each under the licence of its repository:

"""


def hub_licences(stated: Iterable[str]) -> list[str]:
    """Return licences of sources as the hub names them, each once, in the order of the hub's names.

    >>> hub_licences(["CC-BY-SA-3.0 OR GFDL-1.1-or-later", "MIT", "WordNet-style (keep the notice)"])
    ['cc-by-sa-3.0', 'gfdl', 'mit', 'other']
    """
    return sorted({HUB_LICENCES.get(one, "other") for text in stated for one in text.split(" OR ")})


def licence_links(stated: Iterable[str]) -> list[str]:
    """Return where the texts of licences are: pages of SPDX, and the folder's own file for those that SPDX lacks."""
    named = {one for text in stated for one in text.split(" OR ")}
    pages = {f"https://spdx.org/licenses/{one}.html" for one in named if one in HUB_LICENCES}
    return sorted(pages) + (["LICENSE.md"] if named - set(HUB_LICENCES) else [])


def _header(title: str, table: pd.DataFrame, codes: list[str], stated: Iterable[str], tags: list[str]) -> str:
    """Return the header of a card as the hub reads it, YAML whose texts are in quotes: "no" is Norwegian."""
    configs = [{"config_name": "all", "data_files": "data/*.parquet", "default": True}]
    configs += [{"config_name": code, "data_files": f"data/{code}.parquet"} for code in codes]
    # The hub takes codes of two and three letters as languages, others as BCP 47.
    plain = [code for code in codes if re.fullmatch("[a-z]{2,3}", code)]
    facts = {
        "pretty_name": title,
        "language": plain,
        "language_bcp47": sorted(set(codes) - set(plain)),
        "license": hub_licences(stated),
        "license_link": "LICENSE.md",
        "multilinguality": "multilingual",
        "size_categories": croissant.size_category(table),
        "tags": tags,
        "configs": configs,
    }
    lines = []
    for name, value in facts.items():  # a flow of JSON is YAML
        listed = isinstance(value, list) and value
        lines.append(f"{name}:" if listed else f"{name}: {json.dumps(value)}")
        lines += [f"- {json.dumps(each)}" for each in value] if listed else []
    return "\n".join(["---", *lines, "---", ""])


def _markdown(table: pd.DataFrame) -> str:
    lines = [list(map(str, row)) for row in [table.columns, ["---"] * table.shape[1], *table.itertuples(index=False)]]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines)


def _export(
    folder: str | os.PathLike,
    table: pd.DataFrame,
    name: str,
    title: str,
    about: str,
    sources: pd.DataFrame,
    licence: str,
    tags: list[str],
    date: str,
) -> str:
    """Write the folder of a table with schema `name`; `sources` has the columns source, licence, and counts."""
    if date and not re.fullmatch(r"\d{4}-[01]\d-[0-3]\d", date):
        raise InputError(f"The day of publication is written as 2026-01-31, got {date!r}: correct it, or leave it out.")
    folder, parts = tables.locate(folder), dict(list(table.sort_values(tables.SCHEMAS[name][1]).groupby("lang")))
    codes = list(parts)
    known = {"data", "README.md", "LICENSE.md", "croissant.json"}
    strange = {path.name for path in folder.glob("*") if path.name[0] != "."} - known
    strange |= {path.name for path in folder.glob("data/*")} - {f"{code}.parquet" for code in codes}
    if strange:
        raise InputError(
            f"The folder {folder} has other files ({min(strange)}): give an empty one, or one to export anew."
        )
    files = [tables.write(parts[code], folder / f"data/{code}.parquet", name, traced=False) for code in codes]
    columns = croissant.meanings(name, tables.SCHEMAS[name][0])
    listed = pd.DataFrame({"column": columns.keys(), "meaning": columns.values()})
    sizes = map(len, parts.values())
    named = pd.DataFrame({"config": codes, "language": map(languages.name, codes), "rows": sizes})
    cited = CITATION.format(babelatlas.__version__)
    sections = {"Columns": listed, "Sources and licences": sources, "Languages": named}
    card = [f"# {title}", about, *(f"## {part}\n\n{_markdown(each)}" for part, each in sections.items())]
    card += ["## Cite", cited, "Cite the sources that you use, too."]
    header = _header(title, table, codes, sources["licence"], tags)
    facts = {
        "name": name,
        "description": " ".join(about.split()),
        "license": licence_links(sources["licence"]),
        "version": babelatlas.__version__,
        "citeAs": cited,
        "inLanguage": codes,
        "keywords": tags,
        **({"datePublished": date} if date else {}),
    }
    written = json.dumps(croissant.metadata(folder, files, name, facts), ensure_ascii=False, indent=1)
    texts = {"README.md": header + "\n" + "\n\n".join(card), "LICENSE.md": licence.rstrip(), "croissant.json": written}
    for file, text in texts.items():
        with tables.beside(folder / file) as part:
            part.write_text(text + "\n", encoding="utf-8")
    return f"{len(table):,} rows in {len(codes)} languages: {folder}"


def export_labels(folder: str | os.PathLike, date: str = "") -> str:
    """Write the label set of ImageNet-1k that ships as a data-set folder; return the sentence that says so.

    `date`: the day of publication, for the Croissant metadata. Raises InputError for a folder with other files.
    """
    table = labels.shipped()
    sources = table.groupby(["source", "licence"], as_index=False).size().rename(columns={"size": "labels"})
    about = LABELS.format(n=len(table), languages=table["lang"].nunique())
    title, tags = "Babel Atlas: labels of ImageNet-1k", ["imagenet", "zero-shot-image-classification", "wordnet"]
    licence = labels.LICENCE.read_text(encoding="utf-8")
    return _export(folder, table, "labels", title, about, sources, licence, tags, date)


def export_released(folder: str | os.PathLike, date: str = "") -> str:
    """Write the results that others released as a data-set folder; return the sentence that says so.

    `date`: the day of publication, for the Croissant metadata. Raises InputError for a folder with other files.
    """
    table, facts = released.read(), released.facts()["sources"]
    sources = table.groupby("source", as_index=False).size().rename(columns={"size": "values"})
    sources.insert(1, "licence", [facts[source]["licence"] for source in sources["source"]])
    sources["address"] = [facts[source]["address"] for source in sources["source"]]
    about = RELEASED.format(n=len(table), models=table["model"].nunique(), languages=table["lang"].nunique())
    title, licence = "Babel Atlas: released results", RELEASED_LICENCE + _markdown(sources)
    tags = ["evaluation", "zero-shot-image-classification", "image-text-retrieval"]
    return _export(folder, table, "released", title, about, sources, licence, tags, date)
