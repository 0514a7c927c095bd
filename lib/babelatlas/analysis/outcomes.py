"""The tables of a run in one form, the outcomes, and the scores by language that follow
from them.

Classification and retrieval are read alike: one row for each model, language and item,
an item being a class (with its images) or an image (with its captions). A score is
correct predictions divided by all.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import registry as data_sets
from babelatlas.evaluation import retrieval
from babelatlas.stats import bootstrap

# The columns of a `zeroshot` or `retrieval` table that say how a result was obtained.
PROTOCOL = ("labels", "prompts", "captions", "choice", *tables.PROTOCOL)
KEY = ("task", "dataset", "metric", "model", "lang", *PROTOCOL)
BOARD = ["task", "dataset", "metric", "variant"]
TASKS = ("zeroshot", "retrieval")


def files(results: str, models: Iterable[str], datasets: Iterable[str]) -> pd.DataFrame:
    """Return where a run keeps the outcomes of its models: model, dataset, task
    ("zeroshot" or "retrieval"), path.

    `results`: the folder of the run; of `datasets` those to classify and to retrieve,
    others have their chapters. Raises InputError where a model has no table at all, and
    where no model or no such data set is named.
    """
    elsewhere = {
        entry.name
        for entry in data_sets.DATASETS
        if entry.task not in ("zero-shot", "retrieval")
    }
    known = set(tables.of_run(results, "*/*.parquet"))
    rows = []
    for dataset in datasets:
        if dataset in elsewhere:
            continue
        for model in models:
            rows += _files_of(known, results, model, dataset)
    if not rows:
        raise InputError(
            "No model, or no data set to classify or to retrieve, is named: give at"
            " least one of each."
        )
    return pd.DataFrame(rows, columns=["model", "dataset", "task", "path"])


def _files_of(known: set[Path], results: str, model: str, dataset: str) -> list[tuple]:
    """Return the rows of `files` for a model and a data set; none where the model has
    tables of other data sets only. `known`: the tables of the run.
    """
    paths = {task: f"{results}/{task}/{model}_{dataset}.parquet" for task in TASKS}
    present = [
        (model, dataset, task, path)
        for task, path in paths.items()
        if tables.locate(path) in known
    ]
    if not present and not any(path.name.startswith(f"{model}_") for path in known):
        raise InputError(
            f"There are no results of {model!r} on {dataset!r}, expected"
            f" {' or '.join(paths.values())}: run the stage of this pair, or name others."
        )
    return present


def outcomes(table: pd.DataFrame, k: int = 1) -> pd.DataFrame:
    """Return correct predictions by item of a `zeroshot` or `retrieval` table: KEY,
    item, right, total, one row each.

    For classification an item is a class, `right` the images for which it is among the
    k best (1 or 5), `total` its images, and the metric "accuracy@k". For retrieval an
    item is an image, `right` the expected number of its queries that find their match
    among the k best, `total` their number, and the metric "t2i recall@k" (its captions
    ask for it) or "i2t recall@k" (it asks for them). Columns of the protocol that a
    task does not know hold ""; texts are categories: millions of rows repeat a few of
    them.
    """
    if "wnid" in table:
        return _outcomes_of_classes(table, k)
    return _outcomes_of_images(table, k)


def _outcomes_of_classes(table: pd.DataFrame, k: int) -> pd.DataFrame:
    n_correct = {1: "n_correct", 5: "n_correct_top5"}[k]
    items = table.assign(
        task="zeroshot",
        metric=f"accuracy@{k}",
        item=table["wnid"],
        right=table[n_correct],
        total=table["n_images"].astype(float),
        captions="",
        choice="",
    )
    items = _categories(items)
    return items[[*KEY, "item", "right", "total"]].reset_index(drop=True)


def _outcomes_of_images(table: pd.DataFrame, k: int) -> pd.DataFrame:
    items = table.assign(
        task="retrieval",
        metric=table["direction"].map(f"{{}} recall@{k}".format),
        item=retrieval.images(table),
        labels="",
        prompts="",
        right=np.asarray(retrieval.hits(table, k), float),
        total=1.0,
    )
    items = _categories(items).groupby(
        [*KEY, "item"], as_index=False, sort=False, observed=True
    )
    return items[["right", "total"]].sum()


def _categories(items: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose columns of texts are categories."""
    texts = [
        name
        for name in (*KEY, "item")
        if not isinstance(items[name].dtype, pd.CategoricalDtype)
    ]
    return items.astype(dict.fromkeys(texts, "category"))


def scores_of(
    paths: pd.DataFrame, n_resamples: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Return every score of the tables that `files` lists, each with its interval: a
    `languages` table.

    Metrics of classification: "accuracy@1", "accuracy@5" (for at least five classes)
    and "mean per class", the mean of the classes' shares. Of retrieval: those of
    `retrieval.METRICS` with "t2i " and "i2t " before them, as far as they are defined,
    for each set of captions. An interval is over classes or images.
    """
    parts = []
    for row in paths.itertuples():  # one file in memory at a time
        table = tables.categories(tables.read(row.path, row.task))
        if row.task == "zeroshot":
            parts.append(_classified(table, n_resamples, seed))
        else:
            parts.append(_retrieved(table, n_resamples, seed))
    if not parts:
        return tables.empty("languages")
    return tables.check(pd.concat(parts, ignore_index=True), "languages")


def _classified(table: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return the scores of a `zeroshot` table."""
    first = outcomes(table, 1)
    share = first.assign(
        right=first["right"] / first["total"], total=1.0, metric="mean per class"
    )
    top1 = _interval(first, n_resamples, seed)
    top5 = _interval(outcomes(table, 5), n_resamples, seed)
    mean = _interval(share, n_resamples, seed)
    mean["n"] = top1["n"]  # images, as in the other rows: they have the same order
    return pd.concat([top1, top5[top5["items"] >= 5], mean], ignore_index=True)


def _retrieved(table: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return the scores of a `retrieval` table; of NDCG only images with a value count."""
    key = list(tables.QUERY)
    scores = retrieval.metric_intervals(table, n_resamples=n_resamples, seed=seed)
    scores = scores.dropna(subset="value")
    image = pd.Series(retrieval.images(table), index=table.index)
    images = pd.DataFrame(
        {"items": image, "ndcg": image.where(table["ndcg20"].notna())}
    )
    sizes = images.groupby([table[name] for name in key], observed=True).nunique()
    sizes = sizes.reset_index().astype(dict.fromkeys(key, str))
    scores = scores.sort_values(
        "metric", key=lambda names: names != "ndcg@20", kind="stable"
    )
    scores = scores.merge(sizes, on=key)
    n_ndcg = scores.pop("ndcg")
    direction = scores.pop("direction")
    return scores.assign(
        items=scores["items"].mask(scores["metric"] == "ndcg@20", n_ndcg),
        metric=direction + " " + scores["metric"],
        task="retrieval",
        labels="",
        prompts="",
    )


def _interval(items: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return value, interval, n and items of each KEY of some outcomes, in their order."""
    key = list(KEY)
    ends = bootstrap.accuracy_interval(
        items, key, "item", "right", "total", n_resamples, seed=seed
    )
    sizes = items.groupby(key, as_index=False, sort=False, observed=True).agg(
        n=("total", "sum"), items=("item", "size")
    )
    sizes = sizes.assign(n=sizes["n"].round().astype(int))
    sizes = sizes.astype(dict.fromkeys(key, str))
    return sizes.merge(ends.drop(columns="n"), on=key)


def main(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a `languages` table that models are compared by, with
    `variant` and `title` (see there).

    These are all rows but those of retrieval with other captions than the data set's
    main set, if it has one.
    """
    captions = scores["dataset"].map(_main_captions())
    is_main = scores["captions"].eq(captions)
    is_compared = captions.isna() | is_main | scores["task"].eq("zeroshot")
    scores = scores[is_compared].reset_index(drop=True)
    scores = scores.assign(variant=variants(scores))
    titles = map(title, scores["dataset"], scores["metric"], scores["variant"])
    return scores.assign(title=list(titles))


def _main_captions() -> dict[str, str]:
    return {
        entry.name: entry.default_captions
        for entry in data_sets.DATASETS
        if entry.default_captions
    }


def compared(paths: pd.DataFrame) -> pd.DataFrame:
    """Return the outcomes that models are compared by (`main`) of the tables that
    `files` lists, with `variant`.
    """
    main_captions = _main_captions()
    parts = []
    for row in paths.itertuples():
        items = outcomes(tables.categories(tables.read(row.path, row.task)))
        if row.task == "retrieval" and row.dataset in main_captions:
            items = items[items["captions"] == main_captions[row.dataset]]
        parts.append(items)
    items = tables.joined(parts)
    number = items.groupby([*KEY], sort=False, observed=True).ngroup()
    names = pd.Categorical(variants(items[[*KEY]].drop_duplicates()))
    return items.assign(variant=names[number])


def variants(items: pd.DataFrame) -> pd.Series:
    """Return for each row what tells it from other results of the same model in the
    same language, else "".

    A run may hold several protocols for a language (captions of three translators,
    say): then the columns in which they differ are named. Columns that differ only
    between languages or models are not: see `protocol`.
    """
    unit = ["task", "dataset", "metric", "model", "lang"]
    keys = items[[*unit, *PROTOCOL]].drop_duplicates().astype(str)
    n_values = keys.groupby(unit)[list(PROTOCOL)].nunique()
    n_values = n_values.groupby(["task", "dataset"]).max()
    names = pd.Series("", index=keys.index)
    for (task, dataset), row in n_values.iterrows():
        rows = (keys["task"] == task) & (keys["dataset"] == dataset)
        for column in row.index[row > 1]:
            before = names[rows].map(lambda text: f"{text}, " if text else "")
            names[rows] = before + column + " " + keys.loc[rows, column]
    columns = list(keys)
    named = (
        items[columns]
        .astype(str)
        .merge(keys.assign(variant=names), how="left", on=columns)
    )
    return named["variant"].set_axis(items.index)


def protocol(rows: pd.DataFrame) -> str:
    """Return the protocol of some rows as text, a column with several values with all
    of them.

    >>> rows = pd.DataFrame({"prompts": ["openai-80", "label"], "captions": ""})
    >>> protocol(rows.assign(similarity="cosine"))
    'prompts: label and openai-80; similarity: cosine'
    """
    parts = []
    for column in PROTOCOL:
        values = sorted(set(rows[column]) - {""}) if column in rows else []
        if values:
            parts.append(f"{column}: {' and '.join(values)}")
    return "; ".join(parts)


def title(dataset: str, metric: str, variant: str = "") -> str:
    """Return the short name of a board: data set, direction, what is counted unless it
    is the first, and the variant.

    >>> title("xm3600", "t2i recall@1"), title("xm3600", "t2i recall@5")
    ('xm3600, t2i', 'xm3600, t2i recall@5')
    >>> title("imagenet-1k", "accuracy@1")
    'imagenet-1k'
    """
    first_metrics = {"accuracy@1": "", "t2i recall@1": "t2i", "i2t recall@1": "i2t"}
    measure = first_metrics.get(metric, metric)
    return ", ".join(part for part in (dataset, measure, variant) if part)
