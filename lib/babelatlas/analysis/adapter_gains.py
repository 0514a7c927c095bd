"""What adapters change: gains (accuracy with an adapter minus without, fractions) by
language, and their means.
"""

import numpy as np
import pandas as pd

from babelatlas.base.errors import InputError
from babelatlas.evaluation import zeroshot
from babelatlas.models import registry
from babelatlas.stats import bootstrap, correlation, multiple_comparisons, permutation


def gains(
    adapted: pd.DataFrame, base: pd.DataFrame, n_resamples: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Return the gain of each adapter in its language, means over classes: model,
    objective, seed, lang, before, value, gain, ci_low, ci_high (bootstrap over
    classes), p (sign-flip test over classes), n (classes), p_holm (over all).

    Both: schema `zeroshot`; the names of adapted models say base, objective and number
    of the training. Raises InputError where the base was not evaluated on the same
    classes with the same prompts.
    """
    names = adapted["model"].str.extract(registry.ADAPTED)
    both = adapted.assign(
        model=names[0],
        objective=names[2],
        seed=names[3].str[1:].fillna("0").astype(int),
    )
    key = ["model", "dataset", "labels", "prompts", "similarity", "lang", "wnid"]
    both = both.merge(
        base[[*key, "n_correct", "n_images"]], "left", key, suffixes=("", "_base")
    )
    if lacking := sorted(set(both.loc[both["n_images_base"].isna(), "model"])):
        raise InputError(
            f"Notebook 67 must evaluate the base {lacking[0]!r} in the same way as its"
            " adapters."
        )
    both["before"], both["value"] = (
        both["n_correct_base"] / both["n_images_base"],
        both["n_correct"] / both["n_images"],
    )
    rows, by = [], ["model", "objective", "seed", "lang"]
    for name, part in both.groupby(by, sort=False):
        difference = permutation.paired_mean(
            part["value"] - part["before"], part["wnid"], n_resamples, seed=seed
        )
        rows.append(
            [*name, part["before"].mean(), part["value"].mean(), *difference, len(part)]
        )
    table = pd.DataFrame(
        rows, columns=[*by, "before", "value", "gain", "ci_low", "ci_high", "p", "n"]
    )
    return table.assign(p_holm=multiple_comparisons.holm(table["p"]))


def summary(
    table: pd.DataFrame, n_resamples: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Return one row for each model and objective: the mean gain over languages with
    its interval, and more.

    `table`: model, objective, lang, before, value, gain, one row for each language.
    Columns: model, objective, value, ci_low, ci_high, n (languages), n_gain and n_best
    (languages where the accuracy rises, and where no objective has a higher one), r,
    r_low, r_high (Pearson's correlation of the gain with the mean of before and value,
    since the gain has the accuracy before in it: Oldham 1962, J. Chronic Dis. 15,
    969-977; NaN where it is not defined).
    """
    table = table.assign(
        best=table["value"]
        >= table.groupby(["model", "lang"])["value"].transform("max")
    )
    table["middle"] = (table["before"] + table["value"]) / 2
    means, rows = (
        bootstrap.group_means(
            table, ["model", "objective"], "gain", "lang", n_resamples, seed=seed
        ),
        [],
    )
    for _, part in table.groupby(["model", "objective"], sort=False):
        r = [np.nan] * 3
        if len(part) > 2 and part[["middle", "gain"]].std().min() > 0:
            row = correlation.correlate(
                part, "middle", "gain", "lang", ["pearson"], n_resamples, seed=seed
            ).iloc[0]
            r = row[["value", "ci_low", "ci_high"]].tolist()
        rows.append([int((part["gain"] > 0).sum()), int(part["best"].sum()), *r])
    return means.join(
        pd.DataFrame(rows, columns=["n_gain", "n_best", "r", "r_low", "r_high"])
    )


def caption_matching(
    before: np.ndarray, after: np.ndarray, english: np.ndarray
) -> pd.DataFrame:
    """Return how often the English vector nearest to a caption's is its own: value,
    ci_low, ci_high, p, n.

    All (captions, d), row by row those of the same caption: the caption's vectors
    without and with an adapter, and those of the English originals. Rows: before,
    after, and the paired gain with a sign-flip test; intervals are over captions.
    """
    english, own = zeroshot.normalise(english), np.arange(len(english))
    hits = [
        zeroshot.hits(zeroshot.similarity(vectors, english), own)
        for vectors in (before, after)
    ]
    rows = [[*bootstrap.mean_interval(one).iloc[0, :3], np.nan] for one in hits]
    table = pd.DataFrame(
        [*rows, permutation.paired_mean(hits[1] - hits[0])], ["before", "after", "gain"]
    )
    return table.set_axis(["value", "ci_low", "ci_high", "p"], axis=1).assign(
        n=len(own)
    )
