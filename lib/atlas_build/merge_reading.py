"""Files that somebody hands in to be merged: of which kind each is, and its rows in the
study's columns and names.

Tables of `scores` need only the columns `NEEDED`; what is left out is completed. Their
metrics may have the spellings of other projects, such as "Recall@1" and "top-1
accuracy": they become the study's.
"""

import re
from functools import cache
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from atlas_build import embedding_logs, harness_logs, harness_results
from babelatlas.base import own_tables, released, tables
from babelatlas.base.errors import InputError, near
from babelatlas.datasets import registry as data_sets
from babelatlas.evaluation import retrieval

# Kind of table -> the task of its data sets, "" for any.
KINDS = {"zeroshot": "zero-shot", "retrieval": "retrieval", "scores": ""}
# The columns that a table of scores needs; `origin`, which contributed tables have,
# says who computed it.
NEEDED = ("dataset", "model", "lang", "metric", "value")
OTHERS = ("task", "group", "variant", "ci_low", "ci_high", "n", "origin")
# Words of other projects for a metric, without signs and in lower case.
WORDS = {"r": "recall", "hit": "recall", "hits": "recall", "acc": "accuracy"}
WORDS |= {
    "medianrank": "median rank",
    "medr": "median rank",
    "meanperclassrecall": "mean per class",
}
WORDS |= {
    "meanperclassaccuracy": "mean per class",
    "imageretrievalrecall": "t2i recall",
}
WORDS |= {"textretrievalrecall": "i2t recall", "cosinespearman": "spearman"}


def read_results(path: Path, model: str) -> tuple[str, pd.DataFrame]:
    """Return of which kind a file is, a key of `KINDS`, and its rows in the columns of
    that schema.

    `model`: the name here of the model of a log. Raises InputError for what is no such
    table or log.
    """
    if not path.is_file():
        raise InputError("there is no such file: give the path of one.")
    if not re.fullmatch(harness_logs.FILE, path.name) and embedding_logs.made_by(path):
        return "scores", _typed(embedding_logs.read(path, model))
    if path.suffix not in (".parquet", ".csv") or re.fullmatch(
        harness_logs.FILE, path.name
    ):
        return "scores", tables.typed(harness_logs.read(path, model), "scores")

    parquet = path.suffix == ".parquet"
    columns = set(
        pq.read_schema(path).names if parquet else own_tables.read(path, "results")
    )
    if columns.issuperset(NEEDED) and columns.issubset([*NEEDED, *OTHERS]):
        return "scores", read_scores(path)
    shared = {
        name: len(columns & set(schema)) / len({*columns, *schema})
        for name, (schema, _) in tables.SCHEMAS.items()
    }
    kind = (tables.made_from(path).get("table") if parquet else "") or max(
        shared, key=shared.get
    )
    if kind not in KINDS:
        raise InputError(
            f"it is a table of {kind}, and {', '.join(KINDS)} can be merged: give one"
            " of these."
        )
    return kind, tables.typed(tables.read(path, kind), kind)


def read_scores(path: Path) -> pd.DataFrame:
    """Return a Parquet or CSV table of scores, schema `scores`, completed; the column
    `origin` is left out.

    Raises InputError for a cell that is no number, and for a metric that its data set
    has not.
    """
    if path.suffix == ".parquet":
        return _typed(pd.read_parquet(path))
    table = own_tables.read(path, "results")
    texts = [
        column for column in table if column not in ("value", "ci_low", "ci_high", "n")
    ]
    own_tables.check_texts(table, texts, path)
    for column in set(table) - set(texts):
        table[column] = tables.numbers(
            table[column], path, column != "value", whole=column == "n"
        )
    return _typed(table)


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    """Return rows of scores with all columns: by default no group, no variant, no
    interval, an unknown n, 0.
    """
    known = {
        "group": "",
        "variant": "",
        "ci_low": float("nan"),
        "ci_high": float("nan"),
        "n": 0,
    }
    table = table.assign(
        **{name: value for name, value in known.items() if name not in table}
    )
    table = table.fillna({"group": "", "variant": "", "n": 0})
    table = table.assign(
        metric=[
            metric(*pair)
            for pair in zip(table["metric"], table["dataset"], strict=True)
        ]
    )
    if "task" not in table:
        table = table.assign(task=table["dataset"].map(_task))
    columns = tables.SCHEMAS["scores"][0]
    whole = [name for name, kind in columns.items() if kind == pa.int64()]
    for name in whole:
        if (broken := table[name] % 1 != 0).any():
            raise InputError(
                f"its {name} is {table.loc[broken, name].iloc[0]}, expected a whole"
                " number: correct it."
            )
    return tables.typed(
        table.astype(dict.fromkeys(whole, "int64"))[list(columns)], "scores"
    )


def _task(dataset: str) -> str:
    """Return the task of a data set as tables of scores call it."""
    tasks = {
        entry.name: entry.task.replace("zero-shot", "zeroshot")
        for entry in data_sets.known()
    }
    return tasks.get(dataset) or harness_results.task(dataset)


def metric(name: str, dataset: str) -> str:
    """Return the study's spelling of a metric of a data set; InputError, with the
    nearest, for one that it has not.

    >>> metric("Recall@1", "xm3600"), metric("t2i_recall_at_5", "xm3600")
    ('recall@1', 't2i recall@5')
    >>> metric("top-1 accuracy", "imagenet-1k")
    'accuracy@1'
    """
    known = metrics(dataset)
    if not known or name in known:
        return name
    spelt = {_plain(one): one for one in known}
    plain = _plain(name)
    for one in (
        plain,
        f"{plain}1",
        plain.removesuffix("1"),
    ):  # "accuracy" is that of the first answer, accuracy@1
        if one in spelt:
            return spelt[one]
    raise InputError(
        f"the data set {dataset!r} has no metric {name!r}: {near(name, known)}"
    )


@cache
def metrics(dataset: str) -> frozenset[str]:
    """Return the metrics of a data set: those released, of its task, and of logs; none
    where it is not known.
    """
    table = released.read()
    known = set(table.loc[table["dataset"] == dataset, "metric"])
    task = {entry.name: entry.task for entry in data_sets.known()}.get(dataset, "")
    if task == "zero-shot":
        known |= {"accuracy@1", "accuracy@5", "mean per class"}
    if task == "retrieval" or "recall@1" in known:
        ways = ["", *(f"{way} " for way in retrieval.DIRECTIONS)]
        known |= {f"{way}{one}" for way in ways for one in retrieval.METRICS}
    if dataset in harness_logs.LANGUAGES or task not in ("zero-shot", "retrieval", ""):
        known |= {"accuracy"}
    if dataset == "xm3600":
        known |= set(harness_logs.HIGHEST)
    return frozenset(known)


def _plain(name: str) -> str:
    """Return a metric in lower case without signs, with the study's words for those of
    other projects.
    """
    plain = re.sub(r"(?<=[\W_])at(?=[\W_]*\d)|[\W_]", "", name.lower())
    way, word, places = re.fullmatch(r"(t2i|i2t)?(.*?)(\d*)", plain).groups()
    if re.fullmatch(r"top\d+(accuracy|acc)?", plain):
        word, places = "accuracy", re.search(r"\d+", plain)[0]
    return (way or "") + WORDS.get(word, word).replace(" ", "") + places
