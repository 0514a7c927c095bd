"""The tables of a run in one form, the outcomes, and the scores by language that follow
from them.

Classification and retrieval are read alike: one row for each model, language and item,
an item being a class (with its images) or an image (with its captions). A score is
correct predictions divided by all.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import registry as data_sets
from babelatlas.evaluation import retrieval
from babelatlas.stats import bootstrap

# How a result was obtained: the columns of a `zeroshot` or `retrieval` table that say
# it.
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
    others = {
        entry.name
        for entry in data_sets.DATASETS
        if entry.task not in ("zero-shot", "retrieval")
    }
    rows = []
    for dataset in (name for name in datasets if name not in others):
        for model in models:
            paths = {
                task: f"{results}/{task}/{model}_{dataset}.parquet" for task in TASKS
            }
            present = [
                (model, dataset, task, path)
                for task, path in paths.items()
                if tables.locate(path).is_file()
            ]
            elsewhere = any(
                tables.locate(results).glob(f"*/{model}_*.parquet")
            )  # it is evaluated on others only
            if not present and not elsewhere:
                what = (
                    f"There are no results of {model!r} on {dataset!r}, expected"
                    f" {' or '.join(paths.values())}"
                )
                raise InputError(f"{what}: run the stage of this pair, or name others.")
            rows += present
    if not rows:
        raise InputError(
            "No model, or no data set to classify or to retrieve, is named: give at"
            " least one of each."
        )
    return pd.DataFrame(rows, columns=["model", "dataset", "task", "path"])


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
        right = table[{1: "n_correct", 5: "n_correct_top5"}[k]]
        items = table.assign(
            task="zeroshot", metric=f"accuracy@{k}", item=table["wnid"], right=right
        )
        items = items.assign(
            total=items["n_images"].astype(float), captions="", choice=""
        )
        return _categories(items)[[*KEY, "item", "right", "total"]].reset_index(
            drop=True
        )
    metric = table["direction"].map(f"{{}} recall@{k}".format)
    items = table.assign(
        task="retrieval",
        metric=metric,
        item=retrieval.images(table),
        labels="",
        prompts="",
    )
    items = _categories(
        items.assign(right=np.asarray(retrieval.hits(table, k), float), total=1.0)
    )
    by = [*KEY, "item"]
    return items.groupby(by, as_index=False, sort=False, observed=True)[
        ["right", "total"]
    ].sum()


def _categories(items: pd.DataFrame) -> pd.DataFrame:
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
        scored = _classified if row.task == "zeroshot" else _retrieved
        parts.append(
            scored(
                tables.categories(tables.read(row.path, row.task)), n_resamples, seed
            )
        )
    return tables.check(
        pd.concat(parts, ignore_index=True) if parts else tables.empty("languages"),
        "languages",
    )


def _classified(table: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    first, five = outcomes(table, 1), outcomes(table, 5)
    share = first.assign(
        right=first["right"] / first["total"], total=1.0, metric="mean per class"
    )
    top, within, mean = (
        _interval(items, n_resamples, seed) for items in (first, five, share)
    )
    mean["n"] = top["n"]  # images, as in the other rows: they have the same order
    return pd.concat([top, within[within["items"] >= 5], mean], ignore_index=True)


def _retrieved(table: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    key = list(tables.QUERY)
    scores = retrieval.metric_intervals(
        table, n_resamples=n_resamples, seed=seed
    ).dropna(subset="value")
    image = pd.Series(retrieval.images(table), index=table.index)
    image = pd.DataFrame({"items": image, "ndcg": image.where(table["ndcg20"].notna())})
    sizes = (
        image.groupby([table[name] for name in key], observed=True)
        .nunique()
        .reset_index()
    )
    scores = scores.sort_values(
        "metric", key=lambda names: names != "ndcg@20", kind="stable"
    )
    scores = scores.merge(sizes.astype(dict.fromkeys(key, str)), on=key)
    items = scores["items"].where(scores["metric"] != "ndcg@20", scores.pop("ndcg"))
    metric = scores.pop("direction") + " " + scores["metric"]
    return scores.assign(
        items=items, metric=metric, task="retrieval", labels="", prompts=""
    )


def _interval(items: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return value, interval, n and items of each KEY of some outcomes, in their order."""
    by = list(KEY)
    ends = bootstrap.accuracy_interval(
        items, by, "item", "right", "total", n_resamples, seed=seed
    ).drop(columns="n")
    sizes = items.groupby(by, as_index=False, sort=False, observed=True).agg(
        n=("total", "sum"), items=("item", "size")
    )
    sizes = sizes.astype(dict.fromkeys(by, str))
    return sizes.assign(n=sizes["n"].round().astype(int)).merge(ends, on=by)


def main(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a `languages` table that models are compared by, with
    `variant` and `title` (see there).

    These are all rows but those of retrieval with other captions than the data set's
    main set, if it has one.
    """
    wanted = scores["dataset"].map(_main_captions())
    among = (
        wanted.isna() | scores["captions"].eq(wanted) | scores["task"].eq("zeroshot")
    )
    scores = scores[among].reset_index(drop=True)
    scores = scores.assign(variant=variants(scores))
    return scores.assign(
        title=list(map(title, scores["dataset"], scores["metric"], scores["variant"]))
    )


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
    parts, wanted = [], _main_captions()
    for row in paths.itertuples():
        items = outcomes(tables.categories(tables.read(row.path, row.task)))
        main_set = row.task == "retrieval" and row.dataset in wanted
        parts.append(
            items[items["captions"] == wanted[row.dataset]] if main_set else items
        )
    items = tables.joined(parts)
    number = items.groupby([*KEY], sort=False, observed=True).ngroup()
    return items.assign(
        variant=pd.Categorical(variants(items[[*KEY]].drop_duplicates()))[number]
    )


def variants(items: pd.DataFrame) -> pd.Series:
    """Return for each row what tells it from other results of the same model in the
    same language, else "".

    A run may hold several protocols for a language (captions of three translators,
    say): then the columns in which they differ are named. Columns that differ only
    between languages or models are not: see `protocol`.
    """
    unit = ["task", "dataset", "metric", "model", "lang"]
    keys = items[[*unit, *PROTOCOL]].drop_duplicates().astype(str)
    counts = (
        keys.groupby(unit)[list(PROTOCOL)].nunique().groupby(["task", "dataset"]).max()
    )
    names = pd.Series("", index=keys.index)
    for (task, dataset), row in counts.iterrows():
        rows = (keys["task"] == task) & (keys["dataset"] == dataset)
        for column in row.index[row > 1]:
            comma = names[rows].map(lambda text: ", " if text else "")
            names[rows] = names[rows] + comma + column + " " + keys.loc[rows, column]
    wide = keys.assign(variant=names)
    return (
        items[list(keys)]
        .astype(str)
        .merge(wide, how="left", on=list(keys))["variant"]
        .set_axis(items.index)
    )


def protocol(rows: pd.DataFrame) -> str:
    """Return the protocol of some rows as text, a column with several values with all
    of them.

    >>> protocol(pd.DataFrame({"prompts": ["openai-80", "label"], "similarity": "cosine", "captions": ""}))
    'prompts: label and openai-80; similarity: cosine'
    """
    values = {
        column: sorted(set(rows[column]) - {""})
        for column in PROTOCOL
        if column in rows
    }
    return "; ".join(
        f"{column}: {' and '.join(several)}"
        for column, several in values.items()
        if several
    )


def title(dataset: str, metric: str, variant: str = "") -> str:
    """Return the short name of a board: data set, direction, what is counted unless it
    is the first, and the variant.

    >>> title("xm3600", "t2i recall@1"), title("xm3600", "t2i recall@5"), title("imagenet-1k", "accuracy@1")
    ('xm3600, t2i', 'xm3600, t2i recall@5', 'imagenet-1k')
    """
    counted = {"accuracy@1": "", "t2i recall@1": "t2i", "i2t recall@1": "i2t"}.get(
        metric, metric
    )
    return ", ".join(filter(None, (dataset, counted, variant)))
