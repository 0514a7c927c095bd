"""How often intervals cover the true value of simulated data sets, and how alike the
outcomes of one class's images are.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from statsmodels.stats.proportion import proportion_confint

import babelatlas as ba
from babelatlas.analysis import image_clusters
from babelatlas.stats import correlation

LEVEL = 0.95
OURS = "as in this book"
PLAIN = "plain percentiles"
CASE = ["statistic", "world", "method", "n"]
# What readers download next to a figure.
COLUMNS = ["statistic", "world", "n", "method", "interval"]
COLUMNS += ["value", "ci_low", "ci_high"]
CLUSTERS = {
    "these models": "these models",
    "models of the kind": "models in general",
}


class Likeness(NamedTuple):
    """How alike the outcomes of one class's images are, with 95 % intervals over
    classes: the correlation, and how many times as long it makes an interval.
    """

    correlation: float
    correlation_low: float
    correlation_high: float
    stretch: float
    stretch_low: float
    stretch_high: float
    n_classes: int
    n_classes_with_several: int  # pictures: the others say nothing of likeness
    n_languages: int
    n_outcomes: int


def simulations() -> dict[str, pd.DataFrame]:
    """Return the table `interval_coverage` by section, with `row` ("7 languages") and
    Wilson's interval of `alarms`: alarms_low, alarms_high.
    """
    table = ba.load("interval_coverage")
    alarms = table["alarms"] * table["worlds"]
    low, high = proportion_confint(alarms, table["worlds"], method="wilson")
    row = table["n"].astype(str) + " languages"
    table = table.assign(row=row, alarms_low=low, alarms_high=high)
    return dict(list(table.groupby("section", sort=False)))


def draw_coverage(
    table: pd.DataFrame,
    panel: str,
    series: str,
    label: str = "coverage of the true value",
    reference: float = LEVEL,
    width: float = 7.2,
) -> Axes:
    """Draw shares of simulated data sets by `row`, in panels, next to the stated one;
    return the first Axes.
    """
    axes = ba.forest(table, "row", panel, series, reference, width)
    axis = ba.percent_axis(axes[0], "x")
    axis.figure.supxlabel(label, fontsize=10)
    return axis


def resampled_for(crossed: pd.DataFrame) -> pd.Series:
    """Return what is resampled, and which models a statement is about, as a title of
    two lines.

    >>> table = pd.DataFrame({"method": ["both drawn, truth for models of the kind"]})
    >>> resampled_for(table)[0]
    'both resampled:\\nmodels in general'
    """
    parts = crossed["method"].str.partition(" drawn, truth for ")
    return parts[0] + " resampled:\n" + parts[2].map(CLUSTERS)


def differences_found(power: pd.DataFrame) -> pd.DataFrame:
    """Return how many differences each method of adjustment finds: one row for each
    kind of data, one column of percent (texts) for each statistic and method.

    `power`: the section "told apart" of `simulations`, with `kind`.
    """
    table = power.assign(text=ba.intervals(power))
    view = pd.DataFrame({"data": table["world"].unique()})
    for (statistic, kind), part in table.groupby(["statistic", "kind"], sort=False):
        texts = part.set_index("world")["text"]
        view[f"{statistic}: {kind} (%)"] = view["data"].map(texts).fillna("–")
    return view


def of_independent_languages(simulated: pd.DataFrame) -> pd.DataFrame:
    """Return the cases of this book's intervals in which what is resampled is
    independent, with `has_plain`: whether plain percentiles were simulated, too.

    Left out are related languages, and intervals over languages or models alone that
    are taken for statements about models in general.
    """
    method = simulated["method"]
    about_kind = method.str.endswith("drawn, truth for models of the kind")
    in_part = about_kind & ~method.str.startswith("both")
    independent = simulated[~in_part & (simulated["section"] != "families")]
    ours = independent[independent["interval"] == OURS]
    plain = independent[independent["interval"] == PLAIN]
    keys = pd.MultiIndex.from_frame(plain[CASE])
    return ours.assign(has_plain=pd.MultiIndex.from_frame(ours[CASE]).isin(keys))


def coverage_table(simulated: pd.DataFrame) -> pd.DataFrame:
    """Return simulations of coverage as a reader reads them, one row each."""
    outside = [
        f"{100 * row.below:.1f}, {100 * row.above:.1f}"
        for row in simulated.itertuples()
    ]
    return pd.DataFrame(
        {
            "statistic": simulated["statistic"],
            "data": simulated["world"],
            "n": simulated["n"],
            "interval": simulated["interval"],
            "resampled": simulated["method"].str.replace(" drawn", ""),
            "coverage (%)": ba.intervals(simulated),
            "stretch": simulated["stretch"].round(2),
            "value below, above (%)": outside,
            "data sets": simulated["worlds"],
        }
    )


def outcomes_by_class(model: str, results: str, least_classes: int) -> pd.DataFrame:
    """Return the outcomes of a real model by class on the stamps of Tux Paint, in the
    languages with `least_classes` classes of several pictures.

    Raises InputError, with the nearest name, for a model that has none there.
    """
    return image_clusters.outcomes(model, results, least_classes)


def likeness(
    outcomes: pd.DataFrame,
    images_per_class: int = image_clusters.IMAGES_OF_A_CLASS,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Likeness:
    """Return how alike the outcomes of one class's images are, and what that does to an
    interval over `images_per_class` images of each class.

    `outcomes`: those of one model by class, as `outcomes_by_class` gives them;
    classes are resampled.
    """
    weights, _ = correlation.crossed_weights(outcomes, "wnid", n_resamples, seed)
    all_once = np.ones(len(outcomes))
    values = image_clusters.intraclass_correlation(
        outcomes, np.vstack([all_once, weights])
    )
    n_several = outcomes.loc[outcomes["n_images"] > 1, "wnid"].nunique()
    ends = ba.percentile_interval(values[1:], n_clusters=n_several)
    with_interval = np.array([values[0], *ends])
    factor = image_clusters.variance_factor(images_per_class, with_interval)
    return Likeness(
        *with_interval,
        *np.sqrt(factor),
        n_classes=outcomes["wnid"].nunique(),
        n_classes_with_several=n_several,
        n_languages=outcomes["lang"].nunique(),
        n_outcomes=int(outcomes["n_images"].sum()),
    )
