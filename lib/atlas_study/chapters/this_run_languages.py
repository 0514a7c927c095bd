"""Chapter 41: scores of a run above guessing, by language and by group of languages, in
figures of one screen at 12 models and 135 languages.
"""

import re
from collections.abc import Iterator, Sequence

import pandas as pd
from IPython.display import HTML
from matplotlib.axes import Axes

import babelatlas as ba
from babelatlas.models import registry as model_list
from babelatlas.report import figures
from babelatlas.report.figures.look import in_order
from babelatlas.report.formatting import safe
from babelatlas.stats import proportions

INTERVAL = ["value", "ci_low", "ci_high"]
PHONE = 400  # pixels: a figure of this width is not enlarged on a phone
MOST_MODELS = 15  # in a figure: as many columns can be read
MOST_LANGUAGES = 34  # in a figure: as many rows fit one screen


def above_guessing(accuracy: pd.DataFrame) -> pd.DataFrame:
    """Return top-1 accuracies with value, ci_low and ci_high above guessing
    (`proportions.chance_corrected`), and `is_above`: whether the interval is above it.

    `accuracy`: value, ci_low, ci_high (fractions) and items (classes).
    """
    corrected = {
        column: proportions.chance_corrected(accuracy[column], accuracy["items"])
        for column in INTERVAL
    }
    table = accuracy.assign(**corrected)
    return table.assign(is_above=table["ci_low"] > 0)


def is_miniature(scores: pd.DataFrame) -> bool:
    """Return whether all models of some scores are the miniature's."""
    return not model_list.real_models(list(scores["model"].unique()))


def n_above(scores: pd.DataFrame) -> pd.DataFrame:
    """Return in how many languages each model is above guessing, the most first: index
    model, n_above, n (languages), mean.
    """
    by_model = scores.groupby("model", sort=False)
    table = pd.DataFrame(
        {
            "n_above": by_model["is_above"].sum(),
            "n": by_model.size(),
            "mean": by_model["value"].mean(),
        }
    )
    return table.sort_values(["n_above", "mean"], ascending=False, kind="stable")


def finding(scores: pd.DataFrame) -> str:
    """Return in a sentence without its full stop in how many languages the model that
    leads on a data set is better than guessing, and how many models are in as many.

    `scores`: of `above_guessing`, on one data set.
    """
    title = scores["title"].iloc[0]
    counts = n_above(scores)
    first = counts.iloc[0]
    model = counts.index[0]
    if is_miniature(scores):
        model = f"the miniature model {model}"
    if len(set(scores["lang"])) == 1:
        verdict = "better" if first["n_above"] else "not significantly better"
        language = scores["language"].iloc[0]
        return f"On {title}, {model} is {verdict} than guessing in {language}"
    languages = ba.counted(scores["lang"].nunique(), "language")
    if not first["n_above"]:
        return (
            f"On {title}, no model is significantly better than guessing in any of"
            f" {languages}"
        )
    n_equal = int((counts["n_above"] == first["n_above"]).sum()) - 1
    rivals = ""
    if n_equal:
        verb = "is" if n_equal == 1 else "are"
        rivals = f", as {verb} {ba.counted(n_equal, 'other model')}"
    elif len(counts) > 1:
        rivals = ", more than any other model of this run"
    share = f"{first['n_above']:.0f} of {languages}"
    if first["n_above"] == first["n"]:
        share = f"all {languages}"
    return f"On {title}, {model} is better than guessing in {share}{rivals}"


def class_range(scores: pd.DataFrame) -> str:
    """Return how many classes the languages have, in words."""
    fewest, most = scores["items"].min(), scores["items"].max()
    if fewest == most:
        return f"each language has {most:,} classes"
    return f"languages have {fewest:,} to {most:,} classes"


def left_out(shown: pd.DataFrame, scores: pd.DataFrame) -> str:
    """Return a sentence on the models of `scores` that are not shown; "" for none."""
    n_shown, n_all = shown["model"].nunique(), scores["model"].nunique()
    if n_shown == n_all:
        return ""
    return f" Drawn: the {n_shown} of {n_all} models with the highest means."


# Means by group of languages
# ----------------------------------------------------------------------------------


def group_means(
    scores: pd.DataFrame, by: Sequence[str], n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return means over the languages of each group: `by`, value, ci_low, ci_high, n.

    `by` begins with "model" and "group". The interval is over languages, of a group of
    one language the language's own.
    """
    key = list(by)
    means = ba.group_means(scores, by=key, n_resamples=n_resamples, seed=seed)
    means = means.set_index(key)
    single = means.index[means["n"] == 1]
    of_language = scores.set_index(key)[INTERVAL[1:]].loc[single]
    means = means.fillna(of_language).reset_index()
    return means[[*key, *INTERVAL, "n"]]


def best_models(scores: pd.DataFrame, most: int = MOST_MODELS) -> pd.DataFrame:
    """Return the rows of the models with the highest means, those first.

    >>> scores = pd.DataFrame({"model": ["a", "b", "c"], "value": [0.1, 0.2, 0.3]})
    >>> best_models(scores, most=2)["model"].tolist()
    ['c', 'b']
    """
    means = scores.groupby("model", sort=False)["value"].mean()
    order = list(means.nlargest(most).index)
    shown = scores[scores["model"].isin(order)]
    return shown.sort_values(
        "model", key=lambda column: column.map(order.index), kind="stable"
    )


def draw_group_means(means: pd.DataFrame, label: str, series: str = "") -> Axes:
    """Draw means by group of languages and model; `label`: what is drawn."""
    axes = figures.group_means(means, series)
    lowest = means[["value", "ci_low"]].min(axis=None)
    for axis in axes:
        axis.set_xlim(left=min(0, lowest))
        axis.set_xlabel("")
    axes[len(axes) // 2].set_xlabel(label, size=10.5)
    return axes[0]


# Every language, a folded figure for each group
# ----------------------------------------------------------------------------------


def folds(
    scores: pd.DataFrame, most: int = MOST_LANGUAGES
) -> Iterator[tuple[str, list[pd.DataFrame]]]:
    """Yield for each group of languages the words of its fold, and the parts of its
    rows that fit one screen each.

    The languages of a group come from the highest mean over models to the lowest, what
    is not above guessing counting as 0; languages in which no model is above it are
    left out. `scores`: model, language, group, value, is_above.
    """
    above = scores[scores["is_above"]]
    names = in_order(scores["group"])
    for group in names:
        n_languages = scores.loc[scores["group"] == group, "language"].nunique()
        part = above[above["group"] == group]
        sums = part.groupby("language")["value"].sum()
        order = list(sums.sort_values(ascending=False, kind="stable").index)
        languages = ba.counted(n_languages, "language")
        summary = f"{group}: {languages}, {len(order)} above guessing"
        starts = range(0, len(order), most)
        parts = [_rows_of(part, order[start : start + most]) for start in starts]
        if parts:
            yield summary, parts


def _rows_of(part: pd.DataFrame, languages: list[str]) -> pd.DataFrame:
    """Return the rows of some languages, in their order."""
    rows = part[part["language"].isin(languages)]
    return rows.sort_values(
        "language", key=lambda column: column.map(languages.index), kind="stable"
    )


def draw_languages(rows: pd.DataFrame, scores: pd.DataFrame, label: str) -> Axes:
    """Draw a part that `folds` yields of `scores`: languages by models, with the
    colours of all parts. `label`: what is drawn.
    """
    models = list(scores["model"].unique())
    top = scores["value"].max()
    drawn = rows[["title", "lang", "language", "group", "model", *INTERVAL]]
    return figures.language_heatmap(drawn, "language", models, top, label)[0]


def folded(summary: str, content: Sequence[HTML]) -> HTML:
    """Return figures that open at a click on `summary`; narrow ones keep their width on
    a phone.
    """
    inside = "".join(each.data for each in content)
    widths = [int(width) for width in re.findall(r'<img[^>]* width="(\d+)"', inside)]
    is_narrow = max(widths, default=0) <= PHONE
    classes = "atlas-details atlas-narrow" if is_narrow else "atlas-details"
    head = f"<summary>{safe(summary)}</summary>"
    return HTML(f'<details class="{classes}">{head}{inside}</details>')
