"""What a doubling of the number of classes costs, from the published means with all
classes and with 100.

If accuracy fell by the same number of points with every doubling, a doubling would cost
the same number of points in each group of languages; for a power law the same share of
the accuracy; for a logistic curve the same log odds.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from atlas_study.chapters import predictors
from babelatlas.base import languages, published, tables
from babelatlas.report import formatting
from babelatlas.report.formatting import intervals
from babelatlas.stats import bootstrap, permutation

# Form of a constant cost -> its scale and the way back.
FORMS = {
    "points": (np.positive, np.positive),
    "% of the accuracy": (np.log, np.exp),
    "log-odds": (special.logit, special.expit),
}
# The tables report percent with two decimals.
HALF_A_DIGIT = 0.5 * 10.0**-4


class Costs(NamedTuple):
    """What a doubling costs: `reported` (`reported_means`), `relative`
    (`relative_costs`), their `ranges` as text, the groups in which a doubling costs
    most and least points (`costliest`, `cheapest`), the `error_table` of `mean_errors`
    over `n_recipes`, `scores`.
    """

    reported: pd.DataFrame
    relative: pd.DataFrame
    ranges: str
    costliest: str
    cheapest: str
    error_table: pd.DataFrame
    n_recipes: int
    scores: pd.DataFrame


def compare(source: str, **options) -> Costs:
    """Return what a doubling of the classes costs in each group of languages.

    `source`: published results; `options`: n_resamples, seed.
    """
    reported = reported_means(source)
    errors = prediction_errors(reported)
    error_table, n_recipes = mean_errors(errors, predictors.recipes(), **options)
    relative = relative_costs(reported)
    in_points = relative[relative["scale"] == "points"]
    in_points = in_points.groupby("group")["value"].mean()
    return Costs(
        reported=reported,
        relative=relative,
        ranges=cost_ranges(relative),
        costliest=in_points.idxmax(),
        cheapest=in_points.idxmin(),
        error_table=error_table,
        n_recipes=n_recipes,
        scores=scores(errors),
    )


def cost_ranges(relative: pd.DataFrame) -> str:
    """Return the lowest and the highest of `relative_costs` by form, in words."""
    ends = relative.groupby("scale", sort=False)["value"].agg(["min", "max"])
    texts = [f"{row.Index} {row.min:.2f} to {row.max:.2f}" for row in ends.itertuples()]
    return "; ".join(texts).replace("-0", "−0")


def scores(errors: pd.DataFrame) -> pd.DataFrame:
    """Return `prediction_errors` in the columns of schema `scores`."""
    rows = errors.assign(
        task="zeroshot",
        dataset="babel-imagenet",
        lang="",
        group="",
        metric="error of the carried-over cost of a doubling",
        variant="published, " + errors["groups"] + ", " + errors["scale"],
        ci_low=np.nan,
        ci_high=np.nan,
    )
    return rows[list(tables.SCORE)]


def reported_means(source: str) -> pd.DataFrame:
    """Return the published mean accuracy by model and group with all classes and with
    100.

    Columns: model, group, many (all classes, a fraction), few (100), doublings (mean
    number of doublings from 100 to all classes; groups without any are left out).
    """
    classes = published.groups(source)
    ratio = classes["classes"] / classes["classes"].clip(upper=100)
    doublings = np.log2(ratio).groupby(classes["group"]).mean()
    means = published.read(source).query("task == 'zeroshot' and table in ('2', '3')")
    means = means.assign(group=means["group"].where(means["lang"] != "en", "English"))
    means = means.pivot(index=["model", "group"], columns="table", values="value")
    means = means.dropna().rename(columns={"2": "many", "3": "few"}).reset_index()
    means = means.rename_axis(columns=None)
    means["doublings"] = means["group"].map(doublings)
    means = means[means["doublings"] > 0]
    order = pd.CategoricalDtype(["English", *languages.GROUPS])
    means = means.astype({"group": order})
    means = means.sort_values(["group", "model"], ignore_index=True)
    return means.astype({"group": str})


def relative_costs(means: pd.DataFrame) -> pd.DataFrame:
    """Return the cost of a doubling in each group, divided by the model's mean over
    groups.

    `means`: of `reported_means`. Columns: model, group, scale (`FORMS`), value, ci_low,
    ci_high (what the rounding of the reported numbers allows).
    """
    parts = []
    for form in FORMS:
        cost = _cost(means, form, 0)
        mean = cost.groupby(means["model"]).transform("mean")
        rows = means[["model", "group"]].assign(scale=form, value=cost / mean)
        rows["ci_low"] = _cost(means, form, -HALF_A_DIGIT) / mean
        rows["ci_high"] = _cost(means, form, HALF_A_DIGIT) / mean
        parts.append(rows)
    table = pd.concat(parts, ignore_index=True)
    return table.sort_values("model", kind="stable")


def _cost(means: pd.DataFrame, form: str, error: float) -> pd.Series:
    """Return the cost of a doubling if the two accuracies lie `error` further apart on
    either side.
    """
    scale, _ = FORMS[form]
    lost = scale(means["few"] + error) - scale(means["many"] - error)
    cost = lost / means["doublings"]
    return -np.expm1(-cost) if form == "% of the accuracy" else cost


def prediction_errors(means: pd.DataFrame) -> pd.DataFrame:
    """Return the error when a group's accuracy with all classes is predicted from that
    with 100 and the model's mean cost in its other groups.

    Columns: groups ("with English", "without English"), model, scale (`FORMS`), value
    (root mean square, a fraction), n (groups).
    """
    samples = {
        "with English": means,
        "without English": means[means["group"] != "English"],
    }
    rows = []
    for name, sample in samples.items():
        for model, part in sample.groupby("model"):
            few, many, doublings = part["few"], part["many"], part["doublings"]
            for form, (scale, back) in FORMS.items():
                cost = (scale(few) - scale(many)) / doublings
                cost_of_others = (cost.sum() - cost) / (len(part) - 1)
                predicted = back(scale(few) - cost_of_others * doublings)
                error = np.sqrt(np.mean((predicted - many) ** 2))
                rows.append([name, model, form, error, len(part)])
    return pd.DataFrame(rows, columns=["groups", "model", "scale", "value", "n"])


def mean_errors(
    errors: pd.DataFrame, recipes: dict[str, str], **options
) -> tuple[pd.DataFrame, int]:
    """Return the mean errors over training recipes as a table to read, and the number
    of recipes.

    `errors`: of `prediction_errors`; `recipes`: model -> recipe (`predictors.recipes`).
    """
    errors = errors.assign(model=errors["model"].replace(recipes))
    by_recipe = errors.groupby(["groups", "scale", "model"], sort=False)
    by_recipe = by_recipe["value"].mean().reset_index()
    means = bootstrap.group_means(
        by_recipe, ["groups", "scale"], cluster="model", **options
    )
    pairs = [("points", form) for form in FORMS if form != "points"]
    compared = permutation.paired_difference(
        by_recipe, "scale", "model", by=["groups"], pairs=pairs, **options
    )
    gains = pd.DataFrame(
        {
            "groups": compared["groups"],
            "scale": compared["second"],
            "lower than for points by": intervals(compared, to=" to "),
            "p": list(map(formatting.p_value, compared["p_holm"], compared["p"])),
        }
    )
    table = means[["groups", "scale"]].copy()
    table["error (points)"] = intervals(means, to=" to ")
    table = table.merge(gains, "left", on=["groups", "scale"])
    table = table.rename(columns={"scale": "constant cost in"})
    return table, compared["n"].min()
