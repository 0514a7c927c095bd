"""Accuracy in languages with few and with many labelled classes: with all classes of a
language, and with as many in every language.

Published means come from Geigle et al. (2024), who drew random subsets; real models that
this study ran have exact means over all subsets (schema `curves`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from babelatlas.analysis import own_models, real_run
from babelatlas.base import languages, published, tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import protocol
from babelatlas.report import formatting
from babelatlas.stats import bootstrap

KEY = ["model", "lang"]
# Groups of languages from few labels to many.
GROUPS = [*languages.GROUPS, "English"]
NEAREST = 5  # numbers of classes that a message names
TABLES = {"2": "all classes (Table 2)", "3": "100 classes (Table 3)"}


def published_accuracy(source: str) -> pd.DataFrame:
    """Return the published accuracy in every language, with its language family.

    Columns: those of `published.accuracy_by_language` and family. Models stand from the smallest
    to the largest, groups from few labels to many.
    """
    scores = published.accuracy_by_language(source)
    families = languages.families(scores["lang"].unique())
    scores["family"] = scores["lang"].map(families)
    return _in_order(scores, "lang")


def published_means(source: str) -> pd.DataFrame:
    """Return the published means by group with all classes and with 100, of the models
    that have both.

    Columns: those of `published.accuracy_by_group` and series (`TABLES`), in the order of
    `published_accuracy`.
    """
    means = published.accuracy_by_group(source)
    means["series"] = means["table"].map(TABLES)
    return _in_order(means, "table")


def _in_order(scores: pd.DataFrame, last: str) -> pd.DataFrame:
    """Return rows by model (smallest first), group (fewest labels first) and column
    `last`.
    """
    orders = {"model": published.models()["model"].tolist(), "group": GROUPS}
    kinds = {name: pd.CategoricalDtype(order) for name, order in orders.items()}
    scores = scores.astype(kinds).sort_values([*orders, last])
    return scores.astype(dict.fromkeys(orders, str))


def read_curves(
    results: str, dataset: str, models: Sequence[str], size: int, least: int
) -> pd.DataFrame:
    """Return accuracy by number of classes: a run's, or else that which ships.

    Schema `curves`, and order (`of_models`). Raises InputError as `of_run_or_shipped`
    and `protocol.single` do.
    """
    files = tables.of_run(results, f"curves/*_{dataset}.parquet")
    of_run = [tables.read(file, "curves") for file in files]
    of_run = pd.concat([tables.empty("curves"), *of_run])
    curves = of_run_or_shipped(
        of_models(of_run, dataset, models),
        of_models(real_run.read("curves"), dataset, models),
        size,
        least,
    )
    return protocol.single(curves)


def of_models(
    curves: pd.DataFrame, dataset: str, models: Sequence[str]
) -> pd.DataFrame:
    """Return the curves of a data set, without English, of those `models` that it has,
    or of all where it has none.

    Column order: the place of the model among those shown.
    """
    curves = curves[(curves["dataset"] == dataset) & (curves["lang"] != "en")]
    evaluated = set(curves["model"])
    shown = [model for model in models if model in evaluated] or sorted(evaluated)
    curves = curves[curves["model"].isin(shown)]
    return curves.assign(order=curves["model"].map(shown.index)).reset_index(drop=True)


def sizes_offered(curves: pd.DataFrame, least: int) -> list[int]:
    """Return the numbers of classes that at least `least` languages have for every
    model, ascending.

    `curves`: of one data set, schema `curves`.
    """
    n_models = curves.groupby(["n_classes", "lang"])["model"].nunique()
    with_every_model = n_models[n_models == curves["model"].nunique()]
    n_languages = with_every_model.groupby("n_classes").size()
    return sorted(n_languages.index[n_languages >= least].tolist())


def of_run_or_shipped(
    of_run: pd.DataFrame, shipped: pd.DataFrame, size: int, least: int
) -> pd.DataFrame:
    """Return a run's curves where these offer `size` (`sizes_offered`), else those that
    ship.

    Raises InputError, with the nearest sizes that there are, where neither does.
    """
    sizes_of_run = sizes_offered(of_run, least)
    sizes_shipped = sizes_offered(shipped, least)
    if size in sizes_of_run:
        return of_run
    if size in sizes_shipped:
        return shipped
    sizes = sorted({*sizes_of_run, *sizes_shipped}, key=lambda other: abs(other - size))
    advice = "another data set, since this one has none"
    if sizes:
        advice = f"one of {', '.join(map(str, sorted(sizes[:NEAREST])))}"
    raise InputError(
        f"Accuracy among {size} classes is needed in at least {least} languages, and"
        f" fewer have it: give {advice}."
    )


def means_by_group(curves: pd.DataFrame, size: int, **options) -> pd.DataFrame:
    """Return mean accuracy by series, model and group, over the languages of
    `all_and_fixed`.

    Columns: series, model, group, value, ci_low, ci_high (fractions; over families, NaN
    for one family), n (languages). `options`: of `bootstrap.group_means`.
    """
    orders = curves[["model", "order"]].drop_duplicates()
    scores = all_and_fixed(curves, size).merge(orders, on="model")
    n_classes = scores.groupby("lang")["n_classes"].first()
    scores["group"] = languages.grouped(scores["lang"], {}, n_classes)
    scores["family"] = scores["lang"].map(languages.families(n_classes.index))
    scores = scores.sort_values(["order", "group", "lang"])
    by = ["series", "model", "group"]
    means = bootstrap.group_means(scores, by=by, cluster="family", **options)
    return means.astype({"group": str})


def all_and_fixed(curves: pd.DataFrame, size: int) -> pd.DataFrame:
    """Return the accuracy of each model in each language with all classes, and with
    `size` of them.

    One row for each model, language and series ("all classes", "50 classes"): value
    (the mean over all subsets, a fraction), n_classes (all that the language has,
    the fewest of the models). All models and both series have the same languages: those
    with `size` or more classes for every model.
    """
    all_classes = curves.groupby(KEY)["n_classes"].transform("max")
    series = {
        "all classes": curves[curves["n_classes"] == all_classes],
        f"{size} classes": curves[curves["n_classes"] == size],
    }
    accuracies = [
        rows.set_index(KEY)["value"].rename(name) for name, rows in series.items()
    ]
    both = pd.concat(accuracies, axis=1).dropna().reset_index()
    n_models = both.groupby("lang")["model"].transform("size")
    both = both[n_models == curves["model"].nunique()]
    least_classes = curves.groupby(KEY)["n_classes"].max().groupby("lang").min()

    table = both.melt(KEY, list(series), "series", "value")
    return table.assign(n_classes=table["lang"].map(least_classes))


def change(gains: pd.Series, unit: str = "points") -> str:
    """Return by how much numbers rise or fall, as words for a sentence.

    >>> change(pd.Series([0.7, 19.2])), change(pd.Series([-16.7, -13.1]))
    ('rise by 0.7 to 19.2 points', 'fall by 13.1 to 16.7 points')
    >>> change(pd.Series([-1.0, 2.0])), change(pd.Series([3.0]))
    ('change by −1.0 to +2.0 points', 'rise by 3.0 points')
    >>> change(pd.Series([0.01, -0.02]))
    'stay the same'
    """
    low, high = round(float(gains.min()), 1), round(float(gains.max()), 1)
    if low == high == 0:
        return "stay the same"
    if low < 0 < high:
        return f"change by {low:+.1f} to {high:+.1f} {unit}".replace("-", "−")
    verb = "rise" if high > 0 else "fall"
    ends = sorted({abs(low), abs(high)})
    return f"{verb} by {' to '.join(f'{end:.1f}' for end in ends)} {unit}"


class OwnGap(NamedTuple):
    """How accurate the real models of a run are where labels are few and many.

    `dataset`: on which; `means`: as of `means_by_group`; `gaps`: a row for each series
    ("all classes", "100 classes"): mean accuracy of the models in languages with many
    labels (group high) minus that in languages with few (low), with its interval over
    families: series, value, ci_low, ci_high (fractions); no rows without both groups.
    `n_languages`: of all groups.
    """

    dataset: str
    means: pd.DataFrame
    gaps: pd.DataFrame
    n_languages: int


def read_own(
    results: str,
    path: str,
    models: Sequence[str],
    datasets: Sequence[str],
    dataset: str,
    size: int,
    n_resamples: int,
    seed: int,
) -> OwnGap | None:
    """Return `own_gap` of a run; None where it has no scores of real models.

    `path`: its `languages` table, "" for none.
    """
    scores = own_models.scores(path, models, datasets)
    if scores.empty:
        return None
    return own_gap(results, scores, dataset, size, n_resamples, seed)


def shown_dataset(own: OwnGap | None, dataset: str, least: int) -> str:
    """Return the data set that the section on this study's models shows: the one asked
    for, but the photographs that ship where a run of real models has not evaluated it in
    `least` languages with as many classes.

    >>> shown_dataset(None, "pictograms", 5)
    'pictograms'
    """
    if own is None or dataset in real_run.DATASETS:
        return dataset
    is_offered = own.dataset == dataset and own.n_languages >= least
    return dataset if is_offered else real_run.WHOLE


def own_gap(
    results: str,
    scores: pd.DataFrame,
    dataset: str,
    size: int,
    n_resamples: int,
    seed: int,
) -> OwnGap:
    """Return the gap between languages with many and with few labels in a run, with all
    classes and with `size` in every language; without rows where its real models have
    no curves or no language has as many classes.

    `scores`: as of `own_models.scores`; `dataset`: what is shown if the run has it,
    else its first. English is left out.
    """
    curves = own_models.curves(results, scores)
    evaluated = list(dict.fromkeys(curves["dataset"]))
    shown = dataset if dataset in evaluated else "".join(evaluated[:1])
    models = list(dict.fromkeys(scores["model"]))
    curves = of_models(curves, shown, models)
    by_language = all_and_fixed(curves, size)
    if by_language.empty:
        nothing = pd.DataFrame(columns=["series", "value", "ci_low", "ci_high"])
        return OwnGap(shown, nothing, nothing, 0)
    means = means_by_group(curves, size, n_resamples=n_resamples, seed=seed)
    n_languages = by_language["lang"].nunique()
    return OwnGap(shown, means, gaps(by_language, n_resamples, seed), n_languages)


def gaps(by_language: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return by how much the mean accuracy of languages with many labels exceeds that of
    languages with few, in each series: `OwnGap.gaps`.

    `by_language`: as of `all_and_fixed`. Language families are resampled, each with its
    languages of both groups.
    """
    means = by_language.groupby(["series", "lang"], sort=False, as_index=False).agg(
        value=("value", "mean"), n_classes=("n_classes", "first")
    )
    n_classes = means.groupby("lang")["n_classes"].first()
    groups = languages.grouped(means["lang"], {}, n_classes)
    means["group"] = groups.astype(str)
    means["family"] = means["lang"].map(languages.families(means["lang"].unique()))
    rows = []
    for series, part in means.groupby("series", sort=False):
        part = part[part["group"].isin(["high", "low"])]
        if part["group"].nunique() < 2:
            continue
        is_high = (part["group"] == "high").to_numpy()
        gap, low, high = _gap_with_interval(
            part["value"], is_high, part["family"], n_resamples, seed
        )
        rows.append({"series": series, "value": gap, "ci_low": low, "ci_high": high})
    return pd.DataFrame(rows, columns=["series", "value", "ci_low", "ci_high"])


def _gap_with_interval(
    value: pd.Series,
    is_high: np.ndarray,
    family: pd.Series,
    n_resamples: int,
    seed: int,
) -> tuple[float, float, float]:
    """Return the mean of the languages with many labels minus that of the others, and
    the ends of its 95 % interval over families.
    """
    value = value.to_numpy()
    codes, names = pd.factorize(family)
    weights = bootstrap.resample_weights(len(names), n_resamples, seed)[:, codes]
    resampled = _weighted_gap(weights, value, is_high)
    low, high = bootstrap.percentile_interval(resampled, n_clusters=len(names))
    return value[is_high].mean() - value[~is_high].mean(), low, high


def losses(
    accuracy: pd.DataFrame, few: str, n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return what each model loses in the languages with few labels: its mean accuracy
    in the group "high" minus that in the group `few`, in points.

    `accuracy`: as of `published_accuracy`. Columns: model (in order), value, ci_low,
    ci_high (95 % interval over language families).
    """
    rows = []
    compared = accuracy[accuracy["group"].isin(["high", few])]
    for model, part in compared.groupby("model", sort=False):
        is_high = (part["group"] == "high").to_numpy()
        gap = _gap_with_interval(
            100 * part["value"], is_high, part["family"], n_resamples, seed
        )
        rows.append([model, *gap])
    return pd.DataFrame(rows, columns=["model", "value", "ci_low", "ci_high"])


def losses_by_classes(
    with_all: pd.DataFrame, gap: pd.DataFrame, n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return the losses with all classes and with 100, and their means over models, as a
    forest draws them.

    `with_all`: of `losses`; `gap`: in points, model x "with all", "with 100". Columns:
    model, series (`TABLES`), value, ci_low, ci_high; first the means, with intervals
    over the families of models; with 100 classes a model has no interval (NaN).
    """
    family = published.models().set_index("model")["family"]
    mean_name = f"mean of {len(gap)} models"
    parts = []
    for column, series in zip(gap, TABLES.values(), strict=True):
        mean = bootstrap.mean_interval(
            gap[column], gap.index.map(family), n_resamples, seed=seed
        )
        of_models = gap[column].rename("value").reset_index()
        if column == "with all":
            ends = with_all[["model", "ci_low", "ci_high"]]
            of_models = of_models.merge(ends, on="model", how="left")
        rows = pd.concat([mean.assign(model=mean_name), of_models])
        parts.append(rows.assign(series=series))
    columns = ["model", "series", "value", "ci_low", "ci_high"]
    return pd.concat(parts, ignore_index=True)[columns]


def _weighted_gap(
    weights: np.ndarray, value: np.ndarray, is_high: np.ndarray
) -> np.ndarray:
    """Return the difference of the weighted means of two groups, where both have any
    weight. `weights`: (resamples, languages).
    """
    high, low = weights * is_high, weights * ~is_high
    has_both = (high.sum(axis=1) > 0) & (low.sum(axis=1) > 0)
    high, low = high[has_both], low[has_both]
    return high @ value / high.sum(axis=1) - low @ value / low.sum(axis=1)


def own_lead(own: OwnGap | None, published_gap: float) -> str:
    """Return what the gap of a run says as one sentence, next to that of published
    models in points; "" where there is none.
    """
    if own is None or own.gaps.empty:
        return ""
    gap = 100 * own.gaps.set_index("series").iloc[-1]
    direction = "less" if gap["value"] >= 0 else "more"
    ends = f"{gap['ci_low']:z.1f} to {gap['ci_high']:z.1f}"
    if gap["value"] < 0:
        ends = f"{-gap['ci_high']:z.1f} to {-gap['ci_low']:z.1f}"
    ends = ends.replace("-", "−")
    return (
        f"With equal numbers of classes, this run's models are {abs(gap['value']):.1f}"
        f" points ({ends}) {direction} accurate in languages with few labels than in"
        f" languages with many; published models are {published_gap:.0f} less."
    )


def own_finding(own: OwnGap, published_all: float, published_equal: float) -> str:
    """Return the gaps of a run, with all and with equal numbers of classes, next to the
    published ones in points, as the title of a figure has them.
    """
    if own.gaps.empty:
        counts = formatting.counted(own.n_languages, "language")
        return f"Accuracy with all and with equal numbers of classes in {counts}"
    texts = formatting.intervals(own.gaps, to=" to ")
    gaps_of_run = [
        f"{text} points with {series}"
        for series, text in zip(own.gaps["series"], texts, strict=True)
    ]
    return (
        "The gap between languages with many and with few labels is, in this run's"
        f" models, {', '.join(gaps_of_run)}; in published models {published_all:.1f} with"
        f" all and {published_equal:.1f} with 100 classes"
    )


def own_text(own: OwnGap | None, size: int) -> str:
    """Return a sentence on what a run of real models says of languages with few labels,
    or why it says nothing; "" for a run without such models.
    """
    if own is None:
        return ""
    if own.means.empty:
        return (
            f"This run has no accuracies among {size} classes in any language: it needs a"
            " data set to classify, and languages with at least that many labels."
        )
    if own.gaps.empty:
        return "This run has no languages with few labels and with many to compare."
    return "The same question, asked of the models that this run evaluated itself."
