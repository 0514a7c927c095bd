"""What others released for real models: one table of their results, and one list of the models.

`data/released/released.parquet` has a row for each value that a harness released: Crossmodal-3600, WIT, Babel-ImageNet
and others, language by language. `models.csv` says what each model is, `checkpoints.csv` which checkpoint of which
harness has its weights, `sources.toml` from where each file is, under which licence, and how the harness evaluates.
`babelatlas ship released --folder FOLDER` makes the table again (analysis/released/harness_results.py).
"""

import tomllib
from functools import cache

import pandas as pd

from babelatlas.base import tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA

FOLDER = DATA / "released"
TABLE = FOLDER / "released.parquet"


def read(**where: str) -> pd.DataFrame:
    """Return the released results, schema `released`; `where` keeps the rows with these values of columns.

    Raises InputError for a column that the table has not, and where nothing is left.

    >>> found = read(dataset="xm3600", harness="mteb", lang="de", metric="recall@1")
    >>> found["model"].nunique(), sorted(set(found["n"]))
    (49, [8643])
    """
    table = _table()
    for column, value in where.items():
        if column not in table:
            raise InputError(f"The released results have no column {column!r}: {near(column, table)}")
        if not (table[column] == value).any():
            raise InputError(
                f"No released result has {column} {value!r} with these: {near(value, table[column].unique())}"
            )
        table = table[table[column] == value]
    return table.reset_index(drop=True)


@cache
def _table() -> pd.DataFrame:
    return tables.read(TABLE, "released")


def models() -> pd.DataFrame:
    """Return the real models, one row each, the index their names; data/columns.csv says what the columns mean.

    Numbers (`parameters_m`, `gflops`, `image_size`, `samples_seen`) are NaN, and texts "", where nobody says.
    """
    return _listed("models.csv").set_index("model", drop=False)


def checkpoints() -> pd.DataFrame:
    """Return the checkpoints of the harnesses: harness, checkpoint, model (the canonical name), use, note.

    `use` is "yes" for one checkpoint of a model in each harness: the others are the same weights run once more under
    another name, or with an activation that they were not trained with.
    """
    return _listed("checkpoints.csv")


def one_run(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the released results whose checkpoint stands for its model in its harness."""
    used = checkpoints().query("use == 'yes'")[["harness", "checkpoint"]]
    return table.merge(used, on=["harness", "checkpoint"])


def _listed(name: str) -> pd.DataFrame:
    table = pd.read_csv(FOLDER / name, dtype=str, keep_default_na=False)
    numbers = [column for column in ("parameters_m", "gflops", "image_size", "samples_seen") if column in table]
    return table.assign(**{column: pd.to_numeric(table[column].replace("", None)) for column in numbers})


@cache
def facts() -> dict:
    """Return `sources.toml`: the sources by name, and by harness and data set how results were obtained."""
    return tomllib.loads((FOLDER / "sources.toml").read_text(encoding="utf-8"))


def harnesses() -> pd.DataFrame:
    """Return the harnesses with their protocols, one row for each data set of a harness.

    Columns: harness, title, dataset, captions, prompts, preprocessing, precision, tokenisation, n, where (the code
    that was read). What the code does not say is "".
    """
    columns = ["harness", "title", "dataset", "captions", "prompts", "preprocessing", "precision", "tokenisation"]
    rows = []
    for name, harness in facts()["harnesses"].items():
        shared = {key: value for key, value in harness.items() if not isinstance(value, dict)}
        for dataset, own in harness["datasets"].items():
            rows.append({**shared, **own, "harness": name, "dataset": dataset})
    return pd.DataFrame(rows, columns=[*columns, "queries", "where"]).astype(object).fillna("")
