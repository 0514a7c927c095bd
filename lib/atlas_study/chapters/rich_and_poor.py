"""Accuracy with all classes of a language and with a fixed number of them, on the same
languages (schema `subsets`).
"""

from collections.abc import Sequence

import pandas as pd

from babelatlas.base.errors import InputError

KEY = ["model", "lang"]


def of_models(
    subsets: pd.DataFrame, dataset: str, models: Sequence[str]
) -> pd.DataFrame:
    """Return the subsets of a data set, without English, of those `models` that it has,
    or of all where it has none.

    Column order: the place of the model among those shown.
    """
    subsets = subsets[(subsets["dataset"] == dataset) & (subsets["lang"] != "en")]
    evaluated = set(subsets["model"])
    shown = [model for model in models if model in evaluated] or sorted(evaluated)
    subsets = subsets[subsets["model"].isin(shown)]
    return subsets.assign(order=subsets["model"].map(shown.index)).reset_index(
        drop=True
    )


def sizes_offered(subsets: pd.DataFrame, least: int) -> list[int]:
    """Return the numbers of classes that at least `least` languages can be cut to for
    every model, ascending.

    A language counts where it has random subsets of this size: a number that is all
    that one language has is no subset of others. `subsets`: of one data set, schema
    `subsets`.
    """
    all_classes = subsets.groupby(KEY)["n_classes"].transform("max")
    random_subsets = subsets[subsets["n_classes"] < all_classes]
    n_models = random_subsets.groupby(["n_classes", "lang"])["model"].nunique()
    with_every_model = n_models[n_models == subsets["model"].nunique()]
    n_languages = with_every_model.groupby("n_classes").size()
    return sorted(n_languages.index[n_languages >= least].tolist())


def of_run_or_shipped(
    own: pd.DataFrame, shipped: pd.DataFrame, size: int, least: int
) -> pd.DataFrame:
    """Return a run's subsets where these offer `size` (`sizes_offered`), else those
    that ship.

    Raises InputError, with the sizes that there are, where neither does.
    """
    offered = {
        name: sizes_offered(table, least)
        for name, table in {"this run": own, "what ships": shipped}.items()
    }
    if size in offered["this run"]:
        return own
    if size in offered["what ships"]:
        return shipped
    sizes = sorted({size for sizes in offered.values() for size in sizes})
    known = (
        f"one of {', '.join(map(str, sizes))}"
        if sizes
        else "another data set, since this one has none"
    )
    raise InputError(
        f"Random subsets of {size} classes should be there in at least {least}"
        f" languages, and are not: give {known}."
    )


def all_and_fixed(subsets: pd.DataFrame, size: int) -> pd.DataFrame:
    """Return the accuracy of each model in each language with all classes, and with
    `size` of them.

    One row for each model, language and series ("all classes", "50 classes"): value
    (the mean over random subsets, a fraction), n_classes (all that the language has,
    the fewest of the models). All models and both series have the same languages: those
    with `size` or more classes for every model.
    """
    all_classes = subsets.groupby(KEY)["n_classes"].transform("max")
    series = {
        "all classes": subsets[subsets["n_classes"] == all_classes],
        f"{size} classes": subsets[subsets["n_classes"] == size],
    }
    means = [
        rows.groupby(KEY)["value"].mean().rename(name) for name, rows in series.items()
    ]
    both = pd.concat(means, axis=1).dropna()
    n_models = both.groupby("lang").size()
    both = both[
        both.index.get_level_values("lang").isin(
            n_models.index[n_models == subsets["model"].nunique()]
        )
    ]
    least_classes = subsets.groupby(KEY)["n_classes"].max().groupby("lang").min()

    table = both.reset_index().melt(KEY, list(series), "series", "value")
    return table.assign(n_classes=table["lang"].map(least_classes))


def change(gains: pd.Series, unit: str = "points") -> str:
    """Return by how much numbers rise or fall, as words for a sentence.

    >>> change(pd.Series([0.7, 19.2])), change(pd.Series([-16.7, -13.1])), change(pd.Series([-1.0, 2.0]))
    ('rise by 0.7 to 19.2 points', 'fall by 13.1 to 16.7 points', 'change by −1.0 to +2.0 points')
    >>> change(pd.Series([3.0])), change(pd.Series([0.01, -0.02]))
    ('rise by 3.0 points', 'stay the same')
    """
    low, high = round(float(gains.min()), 1), round(float(gains.max()), 1)
    if low == high == 0:
        return "stay the same"
    if low < 0 < high:
        return f"change by {low:+.1f} to {high:+.1f} {unit}".replace("-", "−")
    verb = "rise" if high > 0 else "fall"
    ends = sorted({abs(low), abs(high)})
    return f"{verb} by {' to '.join(f'{end:.1f}' for end in ends)} {unit}"
