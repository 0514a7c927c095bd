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
    counts = _with_base(adapted, base)
    counts["before"] = counts["n_correct_base"] / counts["n_images_base"]
    counts["value"] = counts["n_correct"] / counts["n_images"]

    rows = []
    by = ["model", "objective", "seed", "lang"]
    for key, part in counts.groupby(by, sort=False):
        gain, low, high, p = permutation.paired_mean(
            part["value"] - part["before"], part["wnid"], n_resamples, seed=seed
        )
        row = dict(zip(by, key, strict=True))
        row |= {"before": part["before"].mean(), "value": part["value"].mean()}
        row |= {"gain": gain, "ci_low": low, "ci_high": high, "p": p, "n": len(part)}
        rows.append(row)
    columns = [*by, "before", "value", "gain", "ci_low", "ci_high", "p", "n"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(p_holm=multiple_comparisons.holm(table["p"]))


def _with_base(adapted: pd.DataFrame, base: pd.DataFrame) -> pd.DataFrame:
    """Return the counts of adapted models next to those of their base (`_base`), with
    the columns model (the base), objective and seed.
    """
    names = adapted["model"].str.extract(registry.ADAPTED)
    training = names[3].str.removeprefix(".").fillna("0")
    named = adapted.assign(
        model=names[0], objective=names[2], seed=training.astype(int)
    )
    key = ["model", "dataset", "labels", "prompts", "similarity", "lang", "wnid"]
    of_base = base[[*key, "n_correct", "n_images"]]
    counts = named.merge(of_base, "left", key, suffixes=("", "_base"))
    lacking = sorted(set(counts.loc[counts["n_images_base"].isna(), "model"]))
    if lacking:
        raise InputError(
            f"Notebook 67 must evaluate the base {lacking[0]!r} in the same way as its"
            " adapters."
        )
    return counts


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
    by = ["model", "objective"]
    highest = table.groupby(["model", "lang"])["value"].transform("max")
    table = table.assign(
        best=table["value"] >= highest,
        middle=(table["before"] + table["value"]) / 2,
    )
    means = bootstrap.group_means(table, by, "gain", "lang", n_resamples, seed=seed)
    rows = []
    for _, part in table.groupby(by, sort=False):
        row = {
            "n_gain": int((part["gain"] > 0).sum()),
            "n_best": int(part["best"].sum()),
        }
        rows.append(row | _correlation(part, n_resamples, seed))
    columns = ["n_gain", "n_best", "r", "r_low", "r_high"]
    return means.join(pd.DataFrame(rows, columns=columns))


def _correlation(part: pd.DataFrame, n_resamples: int, seed: int) -> dict[str, float]:
    """Return r, r_low, r_high of the gain and the middle; empty where r is not
    defined.
    """
    if len(part) < 3 or not part[["middle", "gain"]].std().min() > 0:
        return {}
    correlation_row = correlation.correlate(
        part, "middle", "gain", "lang", ["pearson"], n_resamples, seed=seed
    ).iloc[0]
    return {
        "r": correlation_row["value"],
        "r_low": correlation_row["ci_low"],
        "r_high": correlation_row["ci_high"],
    }


def caption_matching(
    before: np.ndarray, after: np.ndarray, english: np.ndarray
) -> pd.DataFrame:
    """Return how often the English vector nearest to a caption's is its own: value,
    ci_low, ci_high, p, n.

    All (captions, d), row by row those of the same caption: the caption's vectors
    without and with an adapter, and those of the English originals. Rows: before,
    after, and the paired gain with a sign-flip test; intervals are over captions.
    """
    english = zeroshot.normalise(english)
    captions = np.arange(len(english))
    hits_before = zeroshot.hits(zeroshot.similarity(before, english), captions)
    hits_after = zeroshot.hits(zeroshot.similarity(after, english), captions)

    table = pd.DataFrame(
        [
            [*bootstrap.mean_interval(hits_before).iloc[0, :3], np.nan],
            [*bootstrap.mean_interval(hits_after).iloc[0, :3], np.nan],
            permutation.paired_mean(hits_after - hits_before),
        ],
        index=["before", "after", "gain"],
        columns=["value", "ci_low", "ci_high", "p"],
    )
    return table.assign(n=len(captions))
