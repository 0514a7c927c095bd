"""How one model of a run performs by language, next to the other models of the run."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy
from matplotlib.axes import Axes

import babelatlas as ba
from babelatlas.analysis import all_results, leaderboard, outcomes
from babelatlas.base import tables
from babelatlas.datasets import registry as data_sets
from babelatlas.models import registry as model_list
from babelatlas.report import figures, formatting
from babelatlas.stats import bootstrap, proportions

OTHERS = "minus mean of other models"
OTHER_LANGUAGES = "minus its own other languages"
LEAST_LANGUAGES = 3  # of a group that has an interval
MOST_GROUPS = 20  # in a figure
DIFFERENCE = ["name", "against", "value", "ci_low", "ci_high", "p", "n"]
AMBIGUITY_METRICS = ["TC", "IC", "GTC", "GIC"]
LONGEST = 80  # characters of a setting in the record of a run
# What the measures of a board are called on a page.
MEASURES = {
    "accuracy@1": "accuracy above guessing",
    "t2i recall@1": "recall@1 from text to image",
    "i2t recall@1": "recall@1 from image to text",
}


class Record(NamedTuple):
    """How the results of a model were obtained, and how to cite it."""

    protocols: str  # Markdown, a list by data set
    tables: pd.DataFrame  # table, commit, weights, device, precision, versions
    citation: str  # of the model, in MyST
    custom_datasets: str  # "; a, b: the user's own", "" where there are none


def caution(model: str) -> str:
    """Return the mark of the miniature, in MyST; "" for other models."""
    return model_list.caution([model])


# Scores
# ----------------------------------------------------------------------------------


def read_scores(
    results: str,
    models: Sequence[str],
    datasets: Sequence[str],
    tiers: dict[str, list[str]],
) -> pd.DataFrame:
    """Return the scores of models by language on the data sets of a run, described:
    the boards of the table `languages` in their order, each by name of the language.

    With title (of the board), language, family, script, and group (its training-data
    level or, without `tiers`, resource group).
    """
    table = ba.read_table(f"{results}/scores/languages.parquet", "languages")
    asked = table["model"].isin(models) & table["dataset"].isin(datasets)
    scores = leaderboard.described(all_results.boards(table[asked]))
    scores = scores.replace(
        {"family": {"none": "no family"}, "macroarea": {"none": "no region"}}
    )
    scores = scores.assign(group=leaderboard.tiers(scores["lang"], tiers))
    order = {title: place for place, title in enumerate(scores["title"].unique())}
    scores = scores.assign(board=scores["title"].map(order))
    return scores.sort_values(["board", "language"], kind="stable").drop(
        columns="board"
    )


def with_others(scores: pd.DataFrame, model: str) -> pd.DataFrame:
    """Return the scores of one model with the mean of the other models in the same
    language on the same board: others, NaN where there are none.
    """
    is_model = scores["model"] == model
    means = scores[~is_model].groupby(["title", "lang"])["value"].mean()
    return scores[is_model].merge(
        means.rename("others").reset_index(), how="left", on=["title", "lang"]
    )


def above_guessing(scores: pd.DataFrame) -> pd.DataFrame:
    """Return scores with those of accuracy above guessing
    (`proportions.chance_corrected`); `measure` says what each is.

    `scores`: as `with_others` gives them.
    """
    is_accuracy = scores["metric"] == "accuracy@1"
    classes = scores["items"].where(is_accuracy, np.inf)
    columns = ["value", "ci_low", "ci_high", "others"]
    corrected = {
        column: proportions.chance_corrected(scores[column], classes)
        for column in columns
    }
    measure = scores["metric"].replace(MEASURES)
    return scores.assign(**corrected, measure=measure)


def draw_profile(scores: pd.DataFrame) -> Axes:
    """Draw the scores of one model on one board by language, those of the others below.

    `scores`: as `above_guessing` gives them; the groups of languages stand in their
    order.
    """
    groups = list(scores["group"].cat.categories)
    return figures.profile(scores, groups, scores["measure"].iloc[0])


def ranks(
    results: str, model: str, models: Sequence[str], datasets: Sequence[str]
) -> pd.DataFrame:
    """Return the mean of a model over languages on each board of a run, and its rank.

    dataset, metric, title, value, ci_low, ci_high, n (languages), value_rank,
    ci_low_rank, ci_high_rank, models (how many are ranked).
    """
    board = ba.read_table(f"{results}/scores/leaderboard.parquet", "scores")
    board = board[
        (board["group"] == "all")
        & board["model"].isin([*models, model])
        & board["dataset"].isin(datasets)
    ]
    board[["kind", "metric"]] = board["metric"].str.split(" ", n=1, expand=True)
    board = board[board["metric"].isin(list(all_results.METRICS))]
    all_ranks = board[board["kind"] == "rank"]
    n_models = all_ranks.groupby(["dataset", "metric"])["model"].nunique()

    mean = board[(board["kind"] == "mean") & (board["model"] == model)]
    rank = all_ranks[all_ranks["model"] == model]
    key = ["dataset", "metric", "variant"]
    table = mean.merge(
        rank[[*key, "value", "ci_low", "ci_high"]], on=key, suffixes=("", "_rank")
    )
    table = table.merge(n_models.rename("models").reset_index(), on=key[:2])
    titles = map(outcomes.title, table["dataset"], table["metric"])
    return table.assign(title=list(titles))


# Groups of languages
# ----------------------------------------------------------------------------------


def differences(
    scores: pd.DataFrame, model: str, level: str, n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return how much better a model is in each group of languages than the other
    models there, and than it is elsewhere: columns DIFFERENCE, p_holm, kind and title,
    values as fractions.

    Groups are those of `level` (the name of column group), scripts and families. The
    former is tested by sign flips, the latter by permuting languages; p_holm is
    adjusted within each kind of group and board. A group of fewer than three languages
    has a value alone.
    """
    columns = {"group": level, "script": "script", "family": "family"}
    parts = []
    for title in scores.loc[scores["model"] == model, "title"].unique():
        rows = scores[scores["title"] == title].astype({"group": str})
        by_model = rows.pivot_table(
            index="lang", columns="model", values="value", observed=True
        )
        by_model = by_model.dropna(subset=[model])
        facts = rows.drop_duplicates("lang").set_index("lang").loc[by_model.index]
        for column, kind in columns.items():
            found = list(_of_groups(by_model, facts[column], model, n_resamples, seed))
            part = pd.DataFrame(found, columns=DIFFERENCE)
            part.insert(6, "p_holm", ba.holm(part["p"]))
            parts.append(part.assign(kind=kind, title=title))
    return pd.concat(parts, ignore_index=True)


def of_large_groups(differences: pd.DataFrame, most: int = MOST_GROUPS) -> pd.DataFrame:
    """Return the rows of the groups with the most languages, in the order of the table:
    as many as a figure of one screen can name.
    """
    sizes = differences.groupby("name", sort=False)["n"].max()
    return differences[differences["name"].isin(sizes.nlargest(most).index)]


def _of_groups(
    by_model: pd.DataFrame, groups: pd.Series, model: str, n_resamples: int, seed: int
) -> Iterator[list]:
    """Yield the rows of `differences` for the groups of one kind, the largest first."""
    gaps = by_model[model] - by_model.drop(columns=model).mean(axis=1)
    sizes = groups.value_counts()
    for group in sorted(sizes.index, key=lambda name: (-sizes[name], str(name))):
        is_inside = groups == group
        gap = gaps[is_inside].dropna()
        inside = by_model.loc[is_inside, model].to_numpy()
        outside = by_model.loc[~is_inside, model].to_numpy()
        if len(gap):
            tested = [np.nan] * 3
            if len(gap) >= LEAST_LANGUAGES:
                tested = _paired(gap, n_resamples, seed)
            yield [group, OTHERS, gap.mean(), *tested, len(gap)]
        if len(outside):
            tested = [np.nan] * 3
            if min(len(inside), len(outside)) >= LEAST_LANGUAGES:
                tested = _unpaired(inside, outside, n_resamples, seed)
            difference = inside.mean() - outside.mean()
            yield [group, OTHER_LANGUAGES, difference, *tested, len(inside)]


def _paired(gap: pd.Series, n_resamples: int, seed: int) -> list[float]:
    """Return the interval of a mean over languages, and the p of sign flips."""
    interval = ba.mean_interval(gap, gap.index, n_resamples, seed=seed).iloc[0]
    p = ba.paired_permutation_test(gap.to_numpy(), seed=seed)
    return [interval["ci_low"], interval["ci_high"], p]


def _unpaired(
    inside: np.ndarray, outside: np.ndarray, n_resamples: int, seed: int
) -> list[float]:
    """Return the interval of a difference of two means, and the p of permutations."""
    _, low, high = bootstrap.sum_of_means(
        (inside, outside), [1, -1], n_resamples, seed=seed
    )
    test = scipy.stats.permutation_test(
        (inside, outside), _difference_of_means, n_resamples=9999, rng=seed
    )
    return [low, high, test.pvalue]


def _difference_of_means(first: np.ndarray, second: np.ndarray, axis: int):
    return first.mean(axis) - second.mean(axis)


# Ambiguous words
# ----------------------------------------------------------------------------------


def ambiguous_words(path: str, model: str, datasets: Sequence[str]) -> pd.DataFrame:
    """Return the scores of a model on ambiguous words, as texts with intervals: data
    set, code (of the language, "" for the mean of all), one column for each metric.

    `path`: the scores of disambiguation; "" for none, which gives no rows.
    """
    table = ba.read_table(path, "scores") if path else tables.empty("scores")
    table = table[
        (table["model"] == model)
        & (table["variant"] == "")
        & table["dataset"].isin(datasets)
        & table["group"].isin(["", "all"])
        & table["metric"].isin(AMBIGUITY_METRICS)
    ]
    table = table.assign(text=ba.intervals(table))
    texts = table.pivot(index=["dataset", "lang"], columns="metric", values="text")
    texts = texts.reindex(columns=AMBIGUITY_METRICS).rename(columns="{} (%)".format)
    texts = texts.reset_index().rename_axis(columns=None)
    return texts.rename(columns={"dataset": "data set", "lang": "code"})


# The record of the run
# ----------------------------------------------------------------------------------


def record(
    results: str, model: str, datasets: Sequence[str], scores: pd.DataFrame
) -> Record:
    """Return how the results of a model were obtained, from what, and how to cite it.

    `scores`: those of the model, with the columns of the protocol.
    """
    protocols = scores.groupby("dataset", sort=False).apply(
        outcomes.protocol, include_groups=False
    )
    lines = [f"- {formatting.escape(name)}: {text}" for name, text in protocols.items()]
    paths = outcomes.files(results, [model], datasets)["path"]
    is_custom = [name for name in datasets if data_sets.get_dataset(name).custom]
    custom = ", ".join(map(formatting.escape, is_custom))
    return Record(
        protocols="\n".join(lines),
        tables=pd.DataFrame([_record_of_file(path) for path in dict.fromkeys(paths)]),
        citation=_citation(model),
        custom_datasets=f"; {custom}: the user's own" if custom else "",
    )


def _record_of_file(path: str) -> dict[str, str]:
    made = tables.made_from(path)
    settings = made.get("parameters", {})
    versions = made.get("versions", {})
    return {
        "table": path,
        "commit": tables.short(str(made.get("commit", ""))),
        "weights": str(settings.get("weights", "–"))[:LONGEST],
        "device": str(settings.get("device", "–"))[:LONGEST],
        "precision": str(settings.get("precision", "–"))[:LONGEST],
        "versions": ", ".join(f"{name} {text}" for name, text in versions.items()),
    }


def _citation(model: str) -> str:
    entry = next((entry for entry in model_list.MODELS if entry.name == model), None)
    if entry is None:
        return "the user's own, as its authors ask"
    if entry.citation:
        return f"{{cite:t}}`{entry.citation}`"
    return "made by this study"
