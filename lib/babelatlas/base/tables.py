"""The tables of the study: their columns, reading and writing them.

Every stage reads tables and writes tables. A table is a pandas DataFrame whose columns, types and key are declared in
`SCHEMAS`; `write` refuses one that does not fit, and replaces the file in one step, so that a reader never meets half a
file. Accuracies and scores are fractions from 0 to 1. Key columns are never null: where a column does not apply (the
language of a group mean, say) it holds the empty string.
"""

import hashlib
import json
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import beside, locate
from babelatlas.base.paths import root as root

TEXT, WHOLE, REAL, FLAG, WORDS = pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.list_(pa.string())
REALS = pa.list_(pa.float64())
# How a result was obtained, beside its prompts or captions; see protocol.py.
PROTOCOL = {"similarity": TEXT, "precision": TEXT, "preprocessing": TEXT}
EVALUATION = {"model": TEXT, "dataset": TEXT, "labels": TEXT, "prompts": TEXT, **PROTOCOL, "lang": TEXT}
QUERY = {"model": TEXT, "dataset": TEXT, "captions": TEXT, "choice": TEXT, **PROTOCOL, "lang": TEXT, "direction": TEXT}
SETTING = {
    "task": TEXT,
    "model": TEXT,
    "dataset": TEXT,
    "labels": TEXT,
    "prompts": TEXT,
    "captions": TEXT,
    "choice": TEXT,
}
TRIAL = {"model": TEXT, "replicate": WHOLE, "dataset": TEXT, **PROTOCOL, "lang": TEXT}
TRIAL |= {"item": TEXT, "image": TEXT, "text": TEXT}  # one translation beside one image
SCORE_KEY = {"task": TEXT, "dataset": TEXT, "model": TEXT, "lang": TEXT, "group": TEXT, "variant": TEXT, "metric": TEXT}
SCORE = SCORE_KEY | {"value": REAL, "ci_low": REAL, "ci_high": REAL, "n": WHOLE}
# Name of the table -> (columns and types, columns of the key). What a column means: data/columns.csv.
SCHEMAS = {
    "senses": (
        {"lang": TEXT, "wnid": TEXT, "lemma": TEXT, "source": TEXT, "licence": TEXT},
        ["lang", "wnid", "lemma", "source"],
    ),
    "labels": (
        {
            "lang": TEXT,
            "wnid": TEXT,
            "label": TEXT,
            "alternatives": WORDS,
            "source": TEXT,
            "licence": TEXT,
            "confirmed_by": WORDS,
            "ambiguous": FLAG,
        },
        ["lang", "wnid"],
    ),
    "templates": (
        {"prompts": TEXT, "lang": TEXT, "number": WHOLE, "template": TEXT, "strategy": TEXT, "source": TEXT},
        ["prompts", "lang", "number"],
    ),
    "images": ({"path": TEXT, "wnid": TEXT, "number": WHOLE}, ["path"]),
    "training_texts": (
        {"model": TEXT, "lang": TEXT, "wnid": TEXT, "label": TEXT, "weight": REAL},
        ["model", "lang", "wnid", "label"],
    ),
    # The loss of each step of a training; `kind` says which and its unit. `replicate` numbers trainings of one model.
    "training_losses": (
        {"model": TEXT, "replicate": WHOLE, "step": WHOLE, "loss": REAL, "kind": TEXT},
        ["model", "replicate", "step"],
    ),
    "zeroshot": (
        EVALUATION | {"wnid": TEXT, "n_correct": REAL, "n_correct_top5": REAL, "n_ties": WHOLE, "n_images": WHOLE},
        [*EVALUATION, "wnid"],
    ),
    "subsets": (
        EVALUATION | {"n_classes": WHOLE, "number": WHOLE, "n_correct": REAL, "n_images": WHOLE},
        [*EVALUATION, "n_classes", "number"],
    ),
    "captions": (
        {"captions": TEXT, "lang": TEXT, "image": TEXT, "number": WHOLE, "caption": TEXT},
        ["captions", "lang", "image", "number"],
    ),
    "retrieval": (
        QUERY
        | {"query": TEXT, "rank": WHOLE, "tied": WHOLE, "n_tied_correct": WHOLE, "n_candidates": WHOLE, "ndcg20": REAL},
        [*QUERY, "query"],
    ),
    "tuples": (
        {"lang": TEXT, "item": TEXT, "sense": TEXT, "word": TEXT, "source": TEXT, "translation": TEXT},
        ["lang", "item", "sense"],
    ),
    "contexts": ({"item": TEXT, "image": TEXT, "path": TEXT}, ["item", "image"]),
    "disambiguation": (TRIAL | {"cost": REAL}, [*TRIAL]),
    "tokens": (
        TRIAL | {"temperature": REAL, "shared": WHOLE, "log_probabilities": REALS},
        [*TRIAL, "temperature"],
    ),
    "protocols": (
        SETTING | PROTOCOL | {"lang": TEXT, "switch": TEXT, "setting": TEXT, "metric": TEXT, "value": REAL, "n": WHOLE},
        [*SETTING, *PROTOCOL, "lang", "switch", "setting", "metric"],
    ),
    "languages": (
        SETTING
        | PROTOCOL
        | {"lang": TEXT, "metric": TEXT, "value": REAL, "ci_low": REAL, "ci_high": REAL, "n": WHOLE, "items": WHOLE},
        [*SETTING, *PROTOCOL, "lang", "metric"],
    ),
    "scorecard": (
        {"paper": TEXT, "place": TEXT, "cell": TEXT, "block": TEXT, "relation": TEXT, "printed": TEXT, "unit": TEXT}
        | {"recomputed": REAL, "slack": REAL, "definition": TEXT, "basis": TEXT, "tried": WHOLE}
        | {"status": TEXT, "others": TEXT, "missing": TEXT, "note": TEXT},
        ["paper", "place", "cell"],
    ),
    "scores": (SCORE, [*SCORE_KEY]),
    "published": (SCORE | {"source": TEXT, "table": TEXT, "note": TEXT}, [*SCORE_KEY, "source", "table"]),
}


def check(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return `table` with the columns of schema `name`, in their order; raise InputError where it does not fit.

    >>> check(pd.DataFrame({"path": ["a.png"], "wnid": ["n1"], "number": [0]}), "images").shape
    (1, 3)
    """
    if name not in SCHEMAS:
        raise InputError(f"There is no table {name!r}: expected one of {', '.join(SCHEMAS)}.")
    columns, key = SCHEMAS[name]
    missing = [column for column in columns if column not in table]
    surplus = [column for column in table if column not in columns]
    if missing or surplus:
        raise InputError(
            f"Table {name!r} should have the columns {', '.join(columns)}: missing {missing}, not expected {surplus}."
        )
    table = table[list(columns)]
    empty = [column for column in key if table[column].isna().any()]
    if empty:
        raise InputError(f"Table {name!r} has rows without a value in its key column(s) {', '.join(empty)}.")
    double = table.duplicated(key)
    if double.any():
        first = ", ".join(f"{column} {value}" for column, value in table.loc[double, key].iloc[0].items())
        raise InputError(
            f"Table {name!r} has {int(double.sum())} row(s) with a key that occurs before, the first: {first}; "
            f"keep one row for each {', '.join(key)}."
        )
    return table


def _arrow(table: pd.DataFrame, name: str) -> pa.Table:
    schema = pa.schema(list(SCHEMAS[name][0].items()))
    try:
        return pa.Table.from_pandas(check(table, name), schema=schema, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError(f"Table {name!r} has a column of another type than declared: {error}.") from error


def fingerprint(path: str | os.PathLike) -> str:
    """Return the SHA-256 of a file, or of the names and sizes of all files below a folder; InputError if absent."""
    path = locate(path)
    if path.is_dir():
        listing = sorted(
            (str(file.relative_to(path)), file.stat().st_size) for file in path.rglob("*") if file.is_file()
        )
        return hashlib.sha256(json.dumps(listing).encode()).hexdigest()
    if not path.is_file():
        raise InputError(f"The input {path} does not exist: run `make book`, which makes it, or give another path.")
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _commit() -> str:
    """Return the commit of this library's checkout, "unknown" where it is none or git is not installed."""
    command = ["git", "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def provenance(parameters: dict | None = None, inputs: list[str | os.PathLike] = ()) -> dict:
    """Return what a table was made from: commit, parameters, hashes of the inputs, versions.

    It holds no time, so that two runs write the same bytes.
    """
    return {
        "commit": _commit(),
        "parameters": parameters or {},
        "inputs": {str(path): fingerprint(path) for path in inputs},
        "versions": {"python": platform.python_version()}
        | {package: metadata.version(package) for package in ("babelatlas", "numpy", "pandas", "pyarrow")},
    }


def write(
    table: pd.DataFrame,
    path: str | os.PathLike,
    name: str,
    parameters: dict | None = None,
    inputs: list[str | os.PathLike] = (),
    traced: bool = True,
) -> Path:
    """Write `table`, checked against schema `name`, to a Parquet file with its provenance; return the path.

    The file appears whole or not at all: it is written beside its place under another name, then renamed. `traced`
    False leaves the provenance out, for files that ship: the same table then is the same bytes at every commit.
    Raises InputError where the table does not fit its schema, and for a name that does not end in .parquet.
    """
    path = locate(path)
    if path.suffix != ".parquet":
        raise InputError(f"Tables are written as Parquet, got {path.name!r}: let the name end in .parquet.")
    arrow = _arrow(table, name)
    note = {"table": name} | (provenance(parameters, inputs) if traced else {})
    arrow = arrow.replace_schema_metadata({"babelatlas": json.dumps(note, sort_keys=True, default=str)})
    with beside(path) as part:
        pq.write_table(arrow, part, compression="zstd")
    return path


def empty(name: str) -> pd.DataFrame:
    """Return table `name` without rows, with its columns and types: a start for adding up none or several tables.

    >>> empty("images").dtypes["number"]
    dtype('int64')
    """
    return pa.schema(list(SCHEMAS[name][0].items())).empty_table().to_pandas()


def read(path: str | os.PathLike, name: str) -> pd.DataFrame:
    """Read a Parquet or CSV file and check it against schema `name`; empty cells of a CSV text column are "".

    Raises InputError where the file is absent, unreadable, or not such a table.
    """
    path = locate(path)
    if not path.is_file():
        raise InputError(f"The table {path} does not exist: run `make book`, which makes it, or give another path.")
    columns = SCHEMAS[name][0]
    try:
        if path.suffix == ".csv":
            texts = {column: str for column, kind in columns.items() if kind == TEXT}
            table = pd.read_csv(
                path, dtype=texts, keep_default_na=False, na_values={c: [""] for c in set(columns) - set(texts)}
            )
        else:
            table = pq.read_table(path).to_pandas()
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = " ".join(str(error).split()).rstrip(".")  # Arrow's has several lines
        raise InputError(f"The file {path} cannot be read as a table ({reason}): delete it and run again.") from error
    return check(table, name)


def present(paths: dict[tuple[str, ...], str]) -> tuple[dict[tuple[str, ...], str], list[str]]:
    """Return the tables that are there, and the keys, in words, of those that are not: a chapter does without.

    `paths`: key (model, or model and data set) -> path, as a stage names it: below the folder of a run,
    "zeroshot/<model>_<dataset>.parquet". Raises InputError for a name of a key that no table of the run has, where the
    run has tables: it is misspelt, or nothing was made for it.

    >>> present({("no-such-model",): "results/no-such-run/protocols/no-such-model.parquet"})
    ({}, ['no-such-model'])
    """
    there = {key: path for key, path in paths.items() if locate(path).is_file()}
    missing = [key for key in paths if key not in there]
    for key in missing:
        run = locate(paths[key]).parents[1]
        names = {file.stem for file in run.glob("*/*.parquet")}
        # A run has at least one of these stages, whose tables are <model>_<dataset>.
        files = [file for stage in ("zeroshot", "retrieval") for file in run.glob(f"{stage}/*.parquet")]
        pairs = [file.stem.rpartition("_") for file in files]
        for place, name in enumerate(key):
            known = {pair[2 * place] for pair in pairs}
            if known and name not in known and not any(name in (each, *each.split("_")) for each in names):
                raise InputError(f"The run {run.name} has no table of {name!r}: {near(name, known)}")
    return there, [" on ".join(key) for key in missing]


def made_from(path: str | os.PathLike) -> dict:
    """Return the provenance stored in a Parquet file that `write` made: table, commit, parameters, inputs, versions."""
    note = pq.read_schema(locate(path)).metadata or {}
    return json.loads(note.get(b"babelatlas", b"{}"))
