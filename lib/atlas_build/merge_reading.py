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
WORDS = {
    "r": "recall",
    "hit": "recall",
    "hits": "recall",
    "acc": "accuracy",
    "medianrank": "median rank",
    "medr": "median rank",
    "meanperclassrecall": "mean per class",
    "meanperclassaccuracy": "mean per class",
    "imageretrievalrecall": "t2i recall",
    "textretrievalrecall": "i2t recall",
    "cosinespearman": "spearman",
}


def read_results(path: Path, model: str) -> tuple[str, pd.DataFrame]:
    """Return of which kind a file is, a key of `KINDS`, and its rows in the columns of
    that schema.

    `model`: the name here of the model of a log. Raises InputError for what is no such
    table or log.
    """
    if not path.is_file():
        raise InputError("there is no such file: give the path of one.")
    is_log = re.fullmatch(harness_logs.FILE, path.name)
    if not is_log and embedding_logs.made_by(path):
        return "scores", _typed(embedding_logs.read(path, model))
    if is_log or path.suffix not in (".parquet", ".csv"):
        return "scores", tables.typed(harness_logs.read(path, model), "scores")
    kind = _kind(path)
    if kind == "scores without some columns":
        return "scores", read_scores(path)
    if kind not in KINDS:
        raise InputError(
            f"it is a table of {kind}, and {', '.join(KINDS)} can be merged: give one"
            " of these."
        )
    return kind, tables.typed(tables.read(path, kind), kind)


def _kind(path: Path) -> str:
    """Return the schema that a table is nearest to, or that it was written in; "scores
    without some columns" for what `read_scores` completes.
    """
    is_parquet = path.suffix == ".parquet"
    if is_parquet:
        columns = set(pq.read_schema(path).names)
    else:
        columns = set(own_tables.read(path, "results"))
    if columns.issuperset(NEEDED) and columns.issubset([*NEEDED, *OTHERS]):
        return "scores without some columns"
    written_as = tables.made_from(path).get("table") if is_parquet else ""
    shared = {
        name: len(columns & set(schema)) / len({*columns, *schema})
        for name, (schema, _) in tables.SCHEMAS.items()
    }
    return written_as or max(shared, key=shared.get)


def read_scores(path: Path) -> pd.DataFrame:
    """Return a Parquet or CSV table of scores, schema `scores`, completed; the column
    `origin` is left out.

    Raises InputError for a cell that is no number, and for a metric that its data set
    has not.
    """
    if path.suffix == ".parquet":
        return _typed(pd.read_parquet(path))
    table = own_tables.read(path, "results")
    numbers = [name for name in ("value", "ci_low", "ci_high", "n") if name in table]
    texts = [name for name in table if name not in numbers]
    own_tables.check_texts(table, texts, path)
    for name in numbers:
        may_be_empty = name != "value"
        table[name] = tables.numbers(table[name], path, may_be_empty, whole=name == "n")
    return _typed(table)


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    """Return rows of scores with all columns: by default no group, no variant, no
    interval, an unknown n, 0.
    """
    defaults = {"group": "", "variant": "", "ci_low": None, "ci_high": None, "n": 0}
    lacking = {name: value for name, value in defaults.items() if name not in table}
    table = table.assign(**lacking).fillna({"group": "", "variant": "", "n": 0})
    pairs = zip(table["metric"], table["dataset"], strict=True)
    table = table.assign(metric=[metric(name, dataset) for name, dataset in pairs])
    if "task" not in table:
        table = table.assign(task=table["dataset"].map(_task))
    columns, _ = tables.SCHEMAS["scores"]
    types = {
        name: "int64" if kind == pa.int64() else "float64"
        for name, kind in columns.items()
        if kind in (pa.int64(), pa.float64())
    }
    for name, kind in types.items():
        broken = table[name] % 1 != 0 if kind == "int64" else None
        if broken is not None and broken.any():
            raise InputError(
                f"its {name} is {table.loc[broken, name].iloc[0]}, expected a whole"
                " number: correct it."
            )
    return tables.typed(table.astype(types)[list(columns)], "scores")


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
    of_dataset = metrics(dataset)
    if not of_dataset or name in of_dataset:
        return name
    ours = {_plain(metric): metric for metric in of_dataset}
    plain = _plain(name)
    # "accuracy" is that of the first answer, accuracy@1.
    for spelling in (plain, f"{plain}1", plain.removesuffix("1")):
        if spelling in ours:
            return ours[spelling]
    raise InputError(
        f"the data set {dataset!r} has no metric {name!r}: {near(name, of_dataset)}"
    )


@cache
def metrics(dataset: str) -> frozenset[str]:
    """Return the metrics of a data set: those released, of its task, and of logs; none
    where it is not known.
    """
    table = released.read()
    found = set(table.loc[table["dataset"] == dataset, "metric"])
    tasks = {entry.name: entry.task for entry in data_sets.known()}
    task = tasks.get(dataset, "")
    if task == "zero-shot":
        found |= {"accuracy@1", "accuracy@5", "mean per class"}
    if task == "retrieval" or "recall@1" in found:
        ways = ["", *(f"{way} " for way in retrieval.DIRECTIONS)]
        found |= {f"{way}{metric}" for way in ways for metric in retrieval.METRICS}
    if dataset in harness_logs.LANGUAGES or task not in ("zero-shot", "retrieval", ""):
        found |= {"accuracy"}
    if dataset == "xm3600":
        found |= set(harness_logs.HIGHEST)
    return frozenset(found)


def _plain(name: str) -> str:
    """Return a metric in lower case without signs, with the study's words for those of
    other projects.
    """
    plain = re.sub(r"(?<=[\W_])at(?=[\W_]*\d)|[\W_]", "", name.lower())
    way, word, places = re.fullmatch(r"(t2i|i2t)?(.*?)(\d*)", plain).groups()
    if re.fullmatch(r"top\d+(accuracy|acc)?", plain):
        word, places = "accuracy", re.search(r"\d+", plain)[0]
    return (way or "") + WORDS.get(word, word).replace(" ", "") + places
