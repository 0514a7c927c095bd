"""Croissant metadata of a folder of Parquet files: what a hub, a search engine and `mlcroissant` read of a data set.

Croissant 1.0 (mlcommons.org/croissant) is JSON-LD in the words of schema.org: the files with their hashes
(`distribution`), and what their columns mean (`recordSet`). The format's list of words, `@context`, is the same in
every data set.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from babelatlas.base import tables
from babelatlas.base.paths import rows

VERSION = "http://mlcommons.org/croissant/1.0"
WORDS = (
    "citeAs column equivalentProperty extract field fileProperty fileObject fileSet format includes isLiveDataset"
    " jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate separator source"
    " subField transform"
)
TYPES = {"int64": "sc:Integer", "double": "sc:Float", "bool": "sc:Boolean"}


def _context() -> dict:
    words = {word: f"cr:{word}" for word in WORDS.split()}
    spaces = {
        "@language": "en",
        "@vocab": "https://schema.org/",
        "cr": "http://mlcommons.org/croissant/",
        "rai": "http://mlcommons.org/croissant/RAI/",
        "dct": "http://purl.org/dc/terms/",
        "sc": "https://schema.org/",
    }
    typed = {name: {"@id": f"cr:{name}", "@type": "@json"} for name in ("data", "examples")}
    return dict(sorted((spaces | words | typed).items())) | {
        "conformsTo": "dct:conformsTo",
        "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    }


def meanings(name: str, columns: Sequence[str]) -> dict[str, str]:
    """Return what each of the columns of a table means, as `babelatlas tables NAME` prints it."""
    told = {(row["table"], row["column"]): row["meaning"] for row in rows("columns.csv")}
    return {column: told.get((name, column)) or told.get(("", column), "") for column in columns}


def _file(folder: Path, path: Path) -> dict:
    place, content = path.relative_to(folder).as_posix(), path.read_bytes()
    return {
        "@type": "cr:FileObject",
        "@id": place,
        "name": path.name,
        "contentUrl": place,
        "contentSize": f"{len(content)} B",
        "encodingFormat": "application/x-parquet",
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def _field(table: str, column: str, meaning: str) -> dict:
    kind = tables.SCHEMAS[table][0][column]
    repeated = str(kind).startswith("list")
    return {
        "@type": "cr:Field",
        "@id": f"{table}/{column}",
        "name": column,
        "description": meaning,
        "dataType": TYPES.get(str(kind.value_type if repeated else kind), "sc:Text"),
        **({"repeated": True} if repeated else {}),
        "source": {"fileSet": {"@id": "languages"}, "extract": {"column": column}},
    }


def metadata(folder: Path, files: Sequence[Path], table: str, facts: dict) -> dict:
    """Return the Croissant metadata of Parquet files below `folder`, which have the schema `table`.

    `facts`: name, description, license, version, citeAs and further properties of schema.org. Each file is there with
    its size and SHA-256, its place relative to the folder; all of them are one set of records, whose fields are the
    columns. In a field without a value stands nothing, for numbers too.
    """
    columns, key = tables.SCHEMAS[table]
    told = meanings(table, columns)
    together = {
        "@type": "cr:FileSet",
        "@id": "languages",
        "name": "languages",
        "description": "The files of all languages.",
        "encodingFormat": "application/x-parquet",
        "includes": "data/*.parquet",
    }
    records = {
        "@type": "cr:RecordSet",
        "@id": table,
        "name": table,
        "description": meanings(table, [""])[""],
        "key": [{"@id": f"{table}/{column}"} for column in key],
        "field": [_field(table, column, told[column]) for column in columns],
    }
    return {
        "@context": _context(),
        "@type": "sc:Dataset",
        "conformsTo": VERSION,
        **facts,
        "isLiveDataset": False,
        "distribution": [*(_file(folder, path) for path in files), together],
        "recordSet": [records],
    }


def size_category(table: pd.DataFrame) -> str:
    """Return the size of a table as the hub says it.

    >>> size_category(pd.DataFrame(index=range(20_940)))
    '10K<n<100K'
    """
    ends = [(1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M")]
    return next((name for most, name in ends if len(table) < most), "n>1M")
