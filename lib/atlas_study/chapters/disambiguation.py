"""Chapter 42: does a model choose the sense of an ambiguous word by the image?"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from babelatlas.analysis import disambiguation_runs, leaderboard
from babelatlas.base import tables
from babelatlas.evaluation import disambiguation
from babelatlas.report import figures, formatting
from babelatlas.stats import (
    multiple_comparisons,
    permutation,
    proportions,
)

METRICS = list(disambiguation.METRICS)
RATES = {
    "CPR": "CPR: correct with both",
    "IPR": "IPR: corrected by its image",
    "INR": "INR: spoilt by its image",
    "CNR": "CNR: wrong with both",
}
AMBIGUOUS = {"mix": "half of each", "side": "side by side"}
ORACLES = {"oracle max": "best images", "oracle min": "worst images"}
MEANS = ["dataset", "variant", "metric", "group", "model"]
MEANS += ["value", "ci_low", "ci_high", "n", "items"]


class Results(NamedTuple):
    """What models and translators choose."""

    scores: pd.DataFrame  # by language, with intervals over items; schema `scores`
    means: pd.DataFrame  # over languages, by group; with `family` and `cell`, its text
    items: pd.DataFrame  # outcomes by item: dataset, metric, model, lang, item, value


def results(
    files: pd.DataFrame,
    family: Mapping[str, str],
    tiers: Mapping[str, Sequence[str]],
    n_resamples: int,
    seed: int,
) -> Results:
    """Return scores by language, their means, and outcomes by item.

    `files`: as `disambiguation.files` lists them; `family`: model -> its kind; `tiers`:
    level of training data -> languages. A table has a row for each image and
    translation: they are read one after the other. Without files there are no rows.
    """
    if not len(files):
        return _nothing()
    scores, means, items = [], [], []
    by = ["dataset", "variant", "metric", "model", "lang", "item"]
    for row in files.itertuples():
        costs = tables.read(row.path, "disambiguation")
        tokens = tables.read(row.tokens, "tokens") if row.tokens else None
        scores.append(disambiguation.score_intervals(costs, n_resamples, seed, tokens))
        outcomes = disambiguation.outcomes(costs)
        outcomes = outcomes.groupby(by, as_index=False, sort=False)["value"].mean()
        of_file = _means(outcomes, tiers, n_resamples, seed)
        means.append(of_file.assign(dataset=row.dataset))
        plain = outcomes["variant"] == ""
        plain &= outcomes["metric"].isin(disambiguation.METRICS)
        items.append(tables.categories(outcomes[plain]))
    means = pd.concat(means, ignore_index=True)[MEANS]
    means = means.assign(
        family=means["model"].map(family), cell=formatting.intervals(means)
    )
    return Results(pd.concat(scores, ignore_index=True), means, tables.joined(items))


def _nothing() -> Results:
    """Return the results of no file."""
    items = ["dataset", "variant", "metric", "model", "lang", "item", "value"]
    return Results(
        tables.empty("scores"),
        pd.DataFrame(columns=[*MEANS, "family", "cell"]),
        pd.DataFrame(columns=items),
    )


def joined(first: Results, second: Results) -> Results:
    """Return two results as one, those of the first in front."""
    there = [part for part in (first, second) if len(part.scores)]
    if len(there) < 2:
        return there[0] if there else first
    return Results(
        pd.concat([part.scores for part in there], ignore_index=True),
        pd.concat([part.means for part in there], ignore_index=True),
        pd.concat([part.items for part in there], ignore_index=True),
    )


def files_of_run(shown: disambiguation_runs.Shown) -> pd.DataFrame:
    """Return the files of a run that are shown, without those that ship."""
    own = [shown.real, shown.miniature] if shown.own else [shown.miniature]
    return pd.concat(own, ignore_index=True)


def _means(
    outcomes: pd.DataFrame,
    tiers: Mapping[str, Sequence[str]],
    n_resamples: int,
    seed: int,
) -> pd.DataFrame:
    """Return means over languages by variant and metric, of the original images also by
    level of training data; exact intervals where no resample differs.
    """
    codes = pd.Series(sorted(set(outcomes["lang"])))
    level = leaderboard.tiers(codes, tiers)
    levels = {name: list(codes[level == name]) for name in level.cat.categories}
    rows = outcomes.rename(columns={"value": "right"}).assign(total=1.0)
    found = []
    for (variant, metric), part in rows.groupby(["variant", "metric"], sort=False):
        groups = levels if tiers and not variant else {}
        mean = leaderboard.ranking(part, groups, n_resamples, seed=seed)
        alike = mean["value"].isin([0, 1]) & mean["ci_low"].notna()
        n_items = mean.loc[alike, "items"]
        ends = proportions.exact_interval(mean.loc[alike, "value"] * n_items, n_items)
        mean.loc[alike, ["ci_low", "ci_high"]] = np.transpose(ends)
        found.append(mean.assign(variant=variant, metric=metric))
    return pd.concat(found, ignore_index=True)


def image_minus_translation(
    items: pd.DataFrame, n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return IC minus TC by data set and model, with interval over items and p."""
    key = ["dataset", "model", "metric", "item"]
    unit = items.groupby(key, as_index=False)["value"].mean()
    return permutation.paired_difference(
        unit.astype(dict.fromkeys(key, str)),
        "metric",
        "item",
        by=["dataset", "model"],
        pairs=[("IC", "TC")],
        n_resamples=n_resamples,
        seed=seed,
    )


def n_significant(gaps: pd.DataFrame) -> tuple[int, int]:
    """Return how many differences are significantly above and below 0."""
    sure = gaps["p_holm"] < 0.05
    return (sure & (gaps["value"] > 0)).sum(), (sure & (gaps["value"] < 0)).sum()


def both_choices(whole: pd.DataFrame) -> pd.DataFrame:
    """Return TC and IC of each model of a data set with their intervals: columns `TC`,
    `TC low`, `TC high` and those of the other measures.
    """
    columns = {"value": "", "ci_low": " low", "ci_high": " high"}
    table = whole.pivot(
        index=["family", "model"], columns="metric", values=list(columns)
    )
    table.columns = [metric + columns[end] for end, metric in table.columns]
    order = whole[["family", "model"]].drop_duplicates()
    return table.reindex(pd.MultiIndex.from_frame(order)).reset_index()


def draw_choices(models: pd.DataFrame, scores: pd.DataFrame) -> np.ndarray:
    """Draw TC and IC: a small point for each language, a large one for each model with
    its intervals; return the Axes of the families.
    """
    languages = scores.pivot(index=["model", "lang"], columns="metric", values="value")
    points = models[["family", "model"]].merge(languages.reset_index(), on="model")
    axes = figures.two_ways(points, "TC", "IC", "family", "model", "TC", "IC")
    panels = {axis.get_title(): axis for axis in axes}
    for place, row in enumerate(models.to_dict("records")):
        _draw_model(panels[row["family"]], row, place)
    for axis in axes:
        axis.axhline(0.5, color="0.35", linestyle=":", linewidth=1.2, marker="")
        axis.axvline(0.5, color="0.35", linestyle=":", linewidth=1.2, marker="")
    return axes


def _draw_model(axis: Axes, row: dict, place: int) -> None:
    colour, marker = figures.look_of(row["model"], place)
    axis.hlines(row["IC"], row["TC low"], row["TC high"], color=colour)
    axis.vlines(row["TC"], row["IC low"], row["IC high"], color=colour)
    look = {"color": colour, "markersize": 9, "markeredgecolor": "black"}
    axis.plot(row["TC"], row["IC"], marker, **look)


def heads(names: Sequence[str]) -> dict[str, str]:
    """Return what a reader's columns are called: metric -> "metric (%)", and data set."""
    return {name: f"{name} (%)" for name in names} | {"dataset": "data set"}


def without_single(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a table without a column that has one value alone."""
    return table if len(set(table[column])) > 1 else table.drop(columns=column)


def choices_table(whole: pd.DataFrame, gaps: pd.DataFrame) -> pd.DataFrame:
    """Return the measures of each model, and IC minus TC, as a reader sees them."""
    differences = gaps[["dataset", "model"]].assign(
        **{
            "IC − TC (points)": [
                f"{100 * row.value:+.1f}"
                f" ({100 * row.ci_low:.1f} to {100 * row.ci_high:.1f})"
                for row in gaps.itertuples()
            ],
            "p (Holm)": list(map(formatting.p_value, gaps["p_holm"], gaps["p"])),
        }
    )
    plain = whole[whole["variant"] == ""]
    table = plain.pivot(index=["dataset", "model"], columns="metric", values="cell")
    table = table.rename_axis(columns=None).reset_index()
    table = table.merge(differences, how="left", on=["dataset", "model"])
    added = list(differences.columns[2:])
    table = table[["model", *METRICS, *added, "dataset"]]
    return without_single(table, "dataset").rename(columns=heads(METRICS))


def rates(whole: pd.DataFrame) -> pd.DataFrame:
    """Return the rates by which images change the translation, in their order."""
    rows = whole[(whole["variant"] == "mix") & whole["metric"].isin(RATES)]
    return rows.drop(columns="cell").sort_values(
        "metric", key=lambda names: names.map(list(RATES).index), kind="stable"
    )


def in_order(rows: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """Return rows in the order of the models."""
    order = list(models)
    return rows.sort_values(
        "model", key=lambda names: names.map(order.index), kind="stable"
    )


def by_level(
    means: pd.DataFrame, tiers: Sequence[str], models: Sequence[str]
) -> pd.DataFrame:
    """Return TC and IC by level of training data of one data set, `tier` with the number
    of languages; no rows where there are no levels.
    """
    rows = means[
        (means["group"] != "all")
        & (means["variant"] == "")
        & means["metric"].isin(["TC", "IC"])
    ].drop(columns="cell")
    sizes = rows.groupby("group", sort=False)["n"].max()
    names = [name for name in [*tiers, "other"] if name in sizes.index]
    titles = {name: f"{name}\nn = {sizes[name]}" for name in names}
    rows = in_order(rows.assign(tier=rows["group"].map(titles)), models)
    return rows.sort_values(
        "group", key=lambda groups: groups.map(names.index), kind="stable"
    )


def compared_models(items: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return the differences between models in TC and IC, on languages and items that
    both have, with p adjusted within a data set and measure; no rows for one model.
    """
    found = []
    of_both = items[items["metric"].isin(["TC", "IC"])]
    for (dataset, metric), part in of_both.groupby(["dataset", "metric"], sort=False):
        rows = part.rename(columns={"value": "right"}).assign(total=1.0)
        means = rows.groupby("model")["right"].mean()
        order = means.sort_values(ascending=False, kind="stable").index
        for pair in combinations(order, 2):
            both = rows[rows["model"].isin(pair)]
            number = both.groupby(["lang", "item"])["model"].transform("nunique")
            both = both[number == 2]
            if len(set(both["item"])) > 1:
                compared = leaderboard.comparisons(both, n_resamples, seed=seed)
                found.append(compared.assign(dataset=dataset, metric=metric))
    if not found:
        return pd.DataFrame(columns=["dataset", "metric", "p_holm"])
    tested = pd.concat(found, ignore_index=True)
    by = tested.groupby(["dataset", "metric"])["p"]
    return tested.assign(p_holm=by.transform(multiple_comparisons.holm))


def compared_table(tested: pd.DataFrame) -> pd.DataFrame:
    """Return the differences between models as a reader sees them."""
    shown = {
        "higher": tested["first"],
        "lower": tested["second"],
        "measure": tested["metric"],
        "difference (points)": 100 * tested["value"],
        "95 %, over both": formatting.ranges(tested),
        "p (Holm)": list(map(formatting.p_value, tested["p_holm"], tested["p"])),
        "data set": tested["dataset"],
    }
    return without_single(pd.DataFrame(shown), "data set")


def by_language(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the measures of each model in each language, as text, with the number of
    items.
    """
    rows = scores[scores["variant"] == ""]
    rows = rows[rows["metric"].isin([*METRICS, "ties TC", "ties IC"])]
    rows = rows.assign(cell=formatting.intervals(rows))
    key = ["dataset", "model", "lang"]
    table = rows.pivot(index=key, columns="metric", values="cell")
    table["items"] = rows[rows["metric"] == "GTC"].set_index(key)["n"]
    return table.rename_axis(columns=None).reset_index()


def shown_by(
    whole: pd.DataFrame, variants: Mapping[str, str], title: str, names: Sequence[str]
) -> pd.DataFrame:
    """Return means of some variants as a reader sees them: model, variant under `title`,
    the metrics in `names`.
    """
    rows = whole[whole["variant"].isin(variants)]
    rows = rows.assign(**{title: rows["variant"].map(variants)})
    table = rows.pivot(
        index=["dataset", "model", title], columns="metric", values="cell"
    )
    columns = ["model", title, *names, "dataset"]
    return table.rename_axis(columns=None).reset_index().reindex(columns=columns)


def other_perplexities(scores: pd.DataFrame) -> pd.DataFrame:
    """Return TC and IC, in percent, with perplexities that were computed in another way;
    no rows where there are none.
    """
    rows = scores[
        scores["variant"].str.match("temperature|without")
        & scores["metric"].isin(["TC", "IC"])
    ]
    table = rows.pivot_table(
        index=["model", "dataset", "variant"],
        columns="metric",
        values="value",
        sort=False,
    )
    return (100 * table).rename_axis(columns=None).reset_index()


def write(
    found: Results, files: pd.DataFrame, output: str, settings: Mapping[str, object]
) -> None:
    """Write scores by language, and their means with no language, schema `scores`."""
    means = found.means.drop(columns=["items", "family", "cell"])
    means = means.assign(task="disambiguation", lang="")[list(found.scores)]
    both = pd.concat([found.scores, means], ignore_index=True)
    paths = [path for path in [*files["path"], *files["tokens"]] if path]
    tables.write(both, output, "scores", dict(settings), paths)
