"""What a table must fulfil to be merged: names, values and items, each refused in one
sentence that says what to do.

The checks are the same whether results are merged or only checked. What a data set has,
its languages, classes and queries, is read from the run, else from the label set that
ships and from the released results.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from atlas_build import harness_logs, harness_results, merge_reading
from babelatlas.base import languages, released, tables
from babelatlas.base.errors import InputError, near
from babelatlas.datasets import registry as data_sets
from babelatlas.evaluation import retrieval
from babelatlas.lexicon import labels
from babelatlas.models import registry as models

# Counts and shares of one table and of another are the same up to rounding of their
# last digits.
TOLERANCE = 1e-9
# Metric -> its lowest and highest value, where these are not 0 and 1.
RANGES = {"spearman": (-1, 1), "median rank": (1, np.inf)} | {
    name: (0, highest) for name, highest in harness_logs.HIGHEST.items()
}
# Of each kind of outcomes: the columns of an item, its size, and the columns of an
# evaluation.
ITEMS = {"zeroshot": (["wnid"], "n_images", ["labels", "lang"])}
ITEMS |= {"retrieval": (["direction", "query"], "n_candidates", ["captions", "lang"])}


def check(table: pd.DataFrame, kind: str, model: str) -> None:
    """Raise InputError, naming the first row, for a name that is not known and a value
    that cannot be.

    `kind`: zeroshot, retrieval or scores; `model`: a name that scores may have although
    the study does not know it.
    """
    _check_names(table, kind, model)
    _check_languages(table, kind)
    expectations = {"zeroshot": _counts, "retrieval": _ranks, "scores": _scores}
    _check_values(table, expectations[kind](table))
    if kind == "scores":
        _check_whole(table)


def _check_names(table: pd.DataFrame, kind: str, model: str) -> None:
    """Raise InputError for a model or data set that the study does not know, or knows
    by another name.

    Scores may also be of released models, of `model`, and on released data sets and
    those of logs.
    """
    more_models, more_datasets = set(), set()
    if kind == "scores":
        more_models = {*released.models().index, model}
        more_datasets = _datasets_of_scores()
    for name in sorted(set(table["model"]) - more_models):
        models.get_model(name)
    task_of_kind = merge_reading.KINDS[kind]
    for name in sorted(set(table["dataset"]) - more_datasets):
        task = data_sets.get_dataset(name).task
        if task_of_kind and task != task_of_kind:
            raise InputError(
                f"the data set {name!r} is for {task}, not for {kind}: correct the"
                " column dataset."
            )


def _datasets_of_scores() -> set[str]:
    return {
        *released.read()["dataset"],
        *harness_logs.LANGUAGES,
        *harness_results.TASKS,
    }


def _check_languages(table: pd.DataFrame, kind: str) -> None:
    """Raise InputError for a code that is not the study's, and for a language that the
    data set has not.
    """
    pairs = table[["dataset", "lang"]].drop_duplicates()
    if kind == "scores":  # which may be of a group of languages
        pairs = pairs[pairs["lang"] != ""]
    # A label set of the user's own may have any language.
    any_language = kind == "zeroshot" and (table["labels"] != "imagenet-1k").any()
    for dataset, code in pairs.itertuples(index=False):
        if languages.canonical(code) != code:
            raise InputError(
                f"it calls a language {code!r}: use the study's code"
                f" {languages.canonical(code)!r}."
            )
        of_dataset = languages_of(dataset)
        if of_dataset and code not in of_dataset and not any_language:
            raise InputError(
                f"the data set {dataset!r} has nothing in {languages.name(code)}"
                f" ({code!r}): {near(code, of_dataset)}"
            )


@cache
def languages_of(dataset: str) -> frozenset[str]:
    """Return the languages of a data set, by released results, logs and the label set;
    none where not known.
    """
    table = released.read()
    found = set(table.loc[table["dataset"] == dataset, "lang"])
    found |= harness_logs.LANGUAGES.get(dataset, set())
    labels_of = {entry.name: entry.labels for entry in data_sets.DATASETS}
    if labels_of.get(dataset) == "imagenet-1k":
        found |= set(labels.shipped()["lang"])
    return frozenset(found)


def _check_values(table: pd.DataFrame, fine: dict[str, pd.Series]) -> None:
    """Raise InputError, naming the first row, where a row is not as `fine`, expectation
    -> whether it is, says.
    """
    for expected, rows in fine.items():
        if not rows.all():
            first = table[~rows].iloc[0]
            filled = first[first != ""]
            row = ", ".join(f"{name} {value}" for name, value in filled.items())
            raise InputError(
                f"{int((~rows).sum())} row(s) have no {expected}, the first: {row};"
                " compute it again."
            )


def _counts(table: pd.DataFrame) -> dict[str, pd.Series]:
    """Return what counts of right images must fulfil, and in which rows they do."""
    n, first, five = table["n_images"], table["n_correct"], table["n_correct_top5"]
    return {
        "n_correct from 0 to n_images": (n >= 1) & first.between(0, n + TOLERANCE),
        "n_correct_top5 from n_correct to n_images": five.between(
            first - TOLERANCE, n + TOLERANCE
        ),
        "n_ties from 0 to n_images": table["n_ties"].between(0, n),
    }


def _ranks(table: pd.DataFrame) -> dict[str, pd.Series]:
    """Return what ranks must fulfil, and in which rows they do."""
    last = table["rank"] - 1 + table["tied"] + table["n_tied_correct"]
    right = table["n_right"].between(table["n_tied_correct"], table["n_candidates"])
    return {
        "direction t2i or i2t": table["direction"].isin(retrieval.DIRECTIONS),
        "rank from 1 to n_candidates": (
            (table["rank"] >= 1) & (last <= table["n_candidates"])
        ),
        "tied from 0 and n_tied_correct from 1": (
            (table["tied"] >= 0) & (table["n_tied_correct"] >= 1)
        ),
        "n_right from n_tied_correct to n_candidates": right,
        "ndcg20 from 0 to 1, or none": (
            table["ndcg20"].isna() | table["ndcg20"].between(0, 1 + 1e-6)
        ),
    }


def _scores(table: pd.DataFrame) -> dict[str, pd.Series]:
    """Return what scores must fulfil, and in which rows they do."""
    plain = table["metric"].str.removeprefix("t2i ").str.removeprefix("i2t ")
    value, low, high = table["value"], table["ci_low"], table["ci_high"]
    fine = {"finite value": np.isfinite(value)}
    for lowest, highest in sorted({(0, 1), *RANGES.values()}):
        rows = plain.map(lambda name: RANGES.get(name, (0, 1))) == (lowest, highest)
        bounds = (
            f"from {lowest} to {highest}"
            if np.isfinite(highest)
            else f"of at least {lowest}"
        )
        fine[f"value {bounds}"] = ~rows | value.between(lowest, highest)
    fine["finite ci_low and ci_high, or none"] = ~(np.isinf(low) | np.isinf(high))
    fine["ci_low and ci_high around value"] = ~((low > value) | (high < value))
    fine["n of at least 0, which stands for an unknown one"] = table["n"] >= 0
    ways = table["metric"] != plain
    ways |= table["variant"].str.contains(r"\b(?:t2i|i2t)\b")
    needs = plain.isin(retrieval.METRICS) & table["dataset"].map(_asks_both_ways)
    fine["direction, t2i or i2t, in variant"] = ways | ~needs
    return fine


def _check_whole(table: pd.DataFrame) -> None:
    """Raise InputError where scores are of fewer cases than the data set has in the
    language.
    """
    pairs = zip(table["dataset"], table["lang"], strict=True)
    smallest = pd.Series([_smallest(*pair) for pair in pairs], table.index)
    is_part = (table["n"] > 0) & (table["n"] < smallest)
    if is_part.any():
        row, whole = table[is_part].iloc[0], smallest[is_part].iloc[0]
        lang = row["lang"]
        raise InputError(
            f"{int(is_part.sum())} row(s) are of a part of the benchmark, the first"
            f" with n {row['n']:,} of {whole:,} on {row['dataset']} in"
            f" {languages.name(lang)} ({lang}): evaluate the whole of it, without a"
            " limit."
        )


@cache
def _asks_both_ways(dataset: str) -> bool:
    """Return whether a data set has retrieval in directions."""
    table = released.read()
    directions = table.loc[table["dataset"] == dataset, "direction"]
    tasks = {entry.name: entry.task for entry in data_sets.known()}
    return bool((directions != "").any()) or tasks.get(dataset) == "retrieval"


@cache
def _smallest(dataset: str, lang: str) -> int:
    """Return the smallest number of cases among the released results on a data set in a
    language; 0 where unknown.
    """
    table = released.read()
    rows = table[(table["dataset"] == dataset) & (table["lang"] == lang)]
    sizes = rows.loc[rows["n"] > 0, "n"]
    return int(sizes.min()) if len(sizes) else 0


def check_items(table: pd.DataFrame, kind: str, run: Path) -> None:
    """Raise InputError where classes, images or queries of one model's outcomes are not
    those of the run.

    They are compared with the run's own tables of the data set, else with the labels of
    the run, or those that ship.
    """
    dataset = table["dataset"].iloc[0]
    item, size, unit = ITEMS[kind]
    ours = {}
    for path in sorted((run / kind).glob(f"*_{dataset}.parquet")):
        for names, part in tables.read(path, kind).groupby(unit):
            ours.setdefault(names, part)
    for names, part in table.groupby(unit):
        given = part.drop_duplicates(item).set_index(item)[size]
        if names in ours:
            of_run = ours[names].drop_duplicates(item).set_index(item)[size]
            _check_same(given, of_run, names, item, f", or other {size}")
            continue
        classes = None
        if kind == "zeroshot":
            classes = _classes(dataset, *names, ours, run)
        if classes is not None:
            # Their sizes are not known: only which there are is compared.
            of_run = pd.Series(0, index=pd.Index(sorted(classes), name="wnid"))
            _check_same(given * 0, of_run, names, item, "")


def _check_same(
    given: pd.Series,
    of_run: pd.Series,
    names: tuple[str, str],
    item: list[str],
    more: str,
) -> None:
    """Raise InputError where two series, item -> size, differ; `more`: what else may
    differ, in words.
    """
    if given.sort_index().equals(of_run.sort_index()):
        return
    what = {"wnid": "classes", "query": "queries"}[item[-1]]
    n_same = len(given.index.intersection(of_run.index))
    of_set, lang = names
    raise InputError(
        f"it has {len(given):,} {what} of {of_set} in {languages.name(lang)} ({lang}),"
        f" and the run {len(of_run):,}, of which {n_same:,} are the same{more}: use the"
        f" same {what} and images."
    )


def _classes(
    dataset: str, label_set: str, lang: str, ours: dict, run: Path
) -> set[str] | None:
    """Return the classes of a data set that a label set names in a language; None where
    it cannot be known.

    `ours`: the run's tables of the data set by label set and language. A data set may
    have only some of the classes of a label set: those that the run's tables show, or
    all where it has as many as the label set.
    """
    path = run / "labels" / f"{label_set}.parquet"
    if not path.is_file() and label_set != "imagenet-1k":
        return None
    table = tables.read(path, "labels") if path.is_file() else labels.shipped()
    named = set(table.loc[table["lang"] == lang, "wnid"])
    in_run = {wnid for part in ours.values() for wnid in part["wnid"]}
    if in_run:
        return named & in_run
    sizes = {entry.name: entry.n_classes for entry in data_sets.known()}
    return named if sizes.get(dataset) == table["wnid"].nunique() else None
