"""What others released for real models: one table of their results, and one list of the
models.

`data/released/released.parquet` has a row for each value that a harness released,
language by language. `models.csv` says what each model is, `model_facts.csv` where that
was read, `checkpoints.csv` which checkpoint of which harness has its weights,
`sources.toml` what each file is and how its harness evaluates. `babelatlas ship
released` makes the table.
"""

import tomllib
from functools import cache

import pandas as pd

from babelatlas.base import licences, tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA

FOLDER = DATA / "released"
TABLE = FOLDER / "released.parquet"
ITEMS = FOLDER / "vizwiz_items.parquet"


def read(**where: str) -> pd.DataFrame:
    """Return the released results, schema `released`, with these values of columns;
    InputError where there are none.

    >>> read(dataset="xm3600", harness="mteb", lang="de", metric="recall@1")["model"].nunique()
    49
    """
    table = _table()
    for column, value in where.items():
        if not (table[column] == value).any():
            raise InputError(
                f"No released result has {column} {value!r}:"
                f" {near(value, table[column].unique())}"
            )
        table = table[table[column] == value]
    return table.reset_index(drop=True)


@cache
def _table() -> pd.DataFrame:
    return tables.read(TABLE, "released")


def items() -> pd.DataFrame:
    """Return the scores of generative models on each question of VizWiz, schema
    `vizwiz_items`.
    """
    return tables.read(ITEMS, "vizwiz_items")


def models() -> pd.DataFrame:
    """Return the real models, one row each, the index their names; data/columns.csv
    says what the columns mean.

    Numbers are NaN, and texts "", where nobody says. `released` is `release_date` as a
    date, a month's its first day. `licence` is that of the model with its parts
    (`licences`); the file has what its makers state for it alone.
    """
    table = _listed("models.csv").set_index("model", drop=False)
    table = table.assign(licence=licences.of_models(table))
    return table.assign(
        released=pd.to_datetime(table["release_date"], format="ISO8601")
    )


def checkpoints() -> pd.DataFrame:
    """Return the checkpoints of the harnesses: harness, checkpoint, model (the
    canonical name), use, note.

    `use`: "yes" for one checkpoint of a model in each harness, or "English", on English
    data sets only. The others do not count: "again" (the weights of another row),
    "duplicate" (its numbers) or "broken"; `note` says why.
    """
    return _listed("checkpoints.csv")


def one_run(table: pd.DataFrame, everywhere: bool = False) -> pd.DataFrame:
    """Return the released results that count for a model; `everywhere`: those of use
    "English" on all data sets.

    A result that is broken (column `broken`) does not count, whatever its checkpoint.
    """
    listed = table[["harness", "checkpoint"]].merge(checkpoints(), how="left")
    use = listed["use"].to_numpy()
    in_other_languages = _table().query("lang != 'en'")["dataset"]
    english_only = ~table["dataset"].isin(in_other_languages)
    counts = (use == "yes") | ((use == "English") & (everywhere | english_only))
    return table[counts & (table["broken"] == "")].reset_index(drop=True)


def _listed(name: str) -> pd.DataFrame:
    numbers = [
        "parameters_m",
        "gflops",
        "memory_mib",
        "milliseconds",
        "image_size",
        "samples_seen",
    ]
    return pd.read_csv(
        FOLDER / name, keep_default_na=False, na_values={key: [""] for key in numbers}
    )


@cache
def facts() -> dict:
    """Return `sources.toml`: the sources by name, and by harness and data set how
    results were obtained.
    """
    return tomllib.loads((FOLDER / "sources.toml").read_text(encoding="utf-8"))


def harnesses() -> pd.DataFrame:
    """Return the protocols of the harnesses, one row for each data set; "" is what
    their code does not say.
    """
    columns = [
        "harness",
        "title",
        "dataset",
        "captions",
        "prompts",
        "preprocessing",
        "precision",
        "tokenisation",
    ]
    rows = [
        {**harness, **of_dataset, "harness": name, "dataset": dataset}
        for name, harness in facts()["harnesses"].items()
        for dataset, of_dataset in harness["datasets"].items()
    ]
    return (
        pd.DataFrame(rows, columns=[*columns, "queries", "where"])
        .astype(object)
        .fillna("")
    )
