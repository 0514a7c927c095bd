"""Whether a model is usable in a language: how its result compares with the best one in
English on the same test.

The rule is about what a model does beyond guessing. Its share is that of the model's
result minus guessing in the best English result minus guessing, on the same benchmark,
in the same direction and with as many classes to choose from.
"""

import numpy as np
import pandas as pd

from babelatlas.base import published
from babelatlas.models import registry

# Between these numbers of classes English accuracies are published (Geigle et al. 2024,
# Tables 3 and 2).
FEWEST_CLASSES, ALL_CLASSES = 100, 1000
STATES = ["usable", "borderline", "hardly usable", "not usable", "not decided"]


def english_gains(source: str = "geigle2024") -> pd.Series:
    """Return how much higher each model's English accuracy is with 100 classes than
    with 1,000: fractions, by name.

    The names are those of the registry. Source: Geigle et al. (2024), Tables 2 and 3.
    """
    rows = published.accuracy_by_group(source).query("group == 'English'")
    by_table = rows.pivot(index="model", columns="table", values="value")
    names = {
        entry.paper_row: entry.name for entry in registry.MODELS if entry.paper_row
    }
    return (by_table["3"] - by_table["2"]).rename(index=names).rename("gain")


def part_of_gain(classes: np.ndarray | pd.Series) -> np.ndarray:
    """Return which part of the gain by 100 classes in place of 1,000 so many classes
    bring: 0 for 1,000, 1 for 100.

    Accuracy is taken to fall linearly with the logarithm of the number of classes, as
    Geigle et al. (2024, Figure 2) found. NaN below 100 and above 1,000 classes, for
    which no English accuracy is published.

    >>> part_of_gain([1000, 100, 10])
    array([ 0.,  1., nan])
    """
    classes = np.asarray(classes, float)
    in_range = (classes >= FEWEST_CLASSES) & (classes <= ALL_CLASSES)
    classes = np.where(in_range, classes, np.nan)
    return np.log(ALL_CLASSES / classes) / np.log(ALL_CLASSES / FEWEST_CLASSES)


def best_english_among(
    classes: np.ndarray | pd.Series, accuracy: pd.Series, gains: pd.Series
) -> np.ndarray:
    """Return the best English accuracy among so many classes, a fraction; NaN where
    `part_of_gain` is.

    `accuracy`: of models among all 1,000 classes, `gains`: as of `english_gains`; both
    by name, and only models that have both count.

    >>> accuracy, gains = pd.Series({"a": 0.7, "b": 0.6}), pd.Series({"a": 0.1, "b": 0.3})
    >>> best_english_among([1000, 100], accuracy, gains)
    array([0.7, 0.9])
    """
    both = accuracy.index.intersection(gains.index)
    gains_of_classes = np.outer(part_of_gain(classes), gains[both])
    return (accuracy[both].to_numpy() + gains_of_classes).max(axis=1)


def share_interval(table: pd.DataFrame) -> pd.DataFrame:
    """Return the share of each row with its 95 % interval: share, share_low,
    share_high.

    `table`: value, ci_low, ci_high, baseline (guessing) and reference, reference_low,
    reference_high (the best English result), fractions. The interval of the ratio takes
    both results as independent (Donner and Zou 2012, MOVER-R); where they share images
    it is too long rather than too short. A bound below guessing counts as guessing.

    >>> row = {"value": 0.5, "ci_low": 0.4, "ci_high": 0.6, "baseline": 0.2}
    >>> row |= {"reference": 0.8, "reference_low": 0.8, "reference_high": 0.8}
    >>> share_interval(pd.DataFrame([row])).round(2).iloc[0].tolist()
    [0.5, 0.33, 0.67]
    """
    guess = table["baseline"]
    value, low, high = (
        (table[name] - guess).clip(lower=0) for name in ("value", "ci_low", "ci_high")
    )
    reference, least, most = (
        table[name] - guess for name in ("reference", "reference_low", "reference_high")
    )
    product = value * reference

    lower = product - np.sqrt(
        product**2 - low * most * (2 * value - low) * (2 * reference - most)
    )
    upper = product + np.sqrt(
        product**2 - high * least * (2 * value - high) * (2 * reference - least)
    )
    return pd.DataFrame(
        {
            "share": value / reference,
            "share_low": lower / (most * (2 * reference - most)),
            "share_high": upper / (least * (2 * reference - least)),
        }
    )


def states(table: pd.DataFrame, line: float = 0.5) -> np.ndarray:
    """Return the state of each row, one of `STATES`.

    `table`: share_low and share_high as of `share_interval`, above (1 where the result
    exceeds guessing) and decided (whether the test is one by which a language is
    judged). "usable": the whole interval of the share is at least `line`, "hardly
    usable": it is below; "borderline" where it holds the line.
    """
    conditions = [
        ~table["decided"].astype(bool),
        table["above"] == 0,
        table["share_low"] >= line,
        table["share_high"] >= line,
    ]
    return np.select(
        conditions,
        ["not decided", "not usable", "usable", "borderline"],
        "hardly usable",
    )
