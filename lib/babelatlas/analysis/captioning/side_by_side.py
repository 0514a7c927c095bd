"""People's comparisons of two models' captions, and how scores agree with them (Thapliyal et al. 2022, Section 3.3).

Raters see two captions of an image side by side and say by how much the second is better, from -3 to 3. The gain of a
model over another is the share of images on which a majority of raters find it better less the share on which a
majority find it worse. A score is as good as its differences between models agree with these gains.
"""

import numpy as np
import pandas as pd

from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap, correlation

SCALE = range(-3, 4)
PAIR = ["dataset", "lang", "base", "model"]


def gains(comparisons: pd.DataFrame, n_resamples: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Return the gain of each model over another in each language: `PAIR`, wins, losses, gain, ci_low, ci_high, n.

    `comparisons`: a table of this schema, of which each image of a pair has one row for each rater. wins, losses and
    gain = wins - losses are fractions of the n images; the interval resamples images. An image on which no majority
    says better or worse counts as neither. Raises InputError for a rating that is not one of `SCALE`, and for a pair
    with one image only.

    >>> rows = {"preference": [1, 2, -1, -3, -1, 0], "image": list("aaabbb"), "rater": list("xyzxyz")}
    >>> rows = pd.DataFrame(rows).assign(dataset="d", lang="en", base="p", model="q")
    >>> gains(rows)[["wins", "losses", "gain"]].to_numpy().tolist()
    [[0.5, 0.5, 0.0]]
    """
    odd = ~comparisons["preference"].isin(SCALE)
    if odd.any():
        first = comparisons[odd].iloc[0]
        raise InputError(
            f"{int(odd.sum())} comparison(s) have a rating outside -3 to 3, the first: {first['preference']} by "
            f"{first['rater']} for {first['image']} ({first['lang']}); correct the sheet."
        )
    signs = comparisons.assign(better=comparisons["preference"] > 0, worse=comparisons["preference"] < 0)
    shares = signs.groupby([*PAIR, "image"])[["better", "worse"]].mean()
    outcome = (shares["better"] > 0.5).astype(int) - (shares["worse"] > 0.5).astype(int)
    rows = []
    for key, part in outcome.groupby(level=PAIR, sort=True):
        found = bootstrap.mean_interval(part.to_numpy(), n_resamples=n_resamples, seed=seed).iloc[0]
        rows.append([*key, (part > 0).mean(), (part < 0).mean(), *found[["value", "ci_low", "ci_high"]], len(part)])
    return pd.DataFrame(rows, columns=[*PAIR, "wins", "losses", "gain", "ci_low", "ci_high", "n"])


def differences(scores: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return how much higher a model's mean score is than another's: `PAIR`, metric, references, difference, n.

    `scores`: a `caption_scores` table; `pairs`: dataset, lang, base and model of each comparison. Means are over the
    images that both models have a caption for, of which there are n. A pair of which either has no score with a set of
    references is left out for that set.
    """
    by = ["dataset", "lang", "metric", "references", "image"]
    wide = scores.pivot_table(index=by, columns="model", values="value")
    rows = []
    for pair in pairs[PAIR].drop_duplicates().itertuples(index=False):
        if not {pair.base, pair.model} <= set(wide.columns):
            continue
        both = wide[[pair.base, pair.model]].dropna()
        both = both[
            (both.index.get_level_values("dataset") == pair.dataset)
            & (both.index.get_level_values("lang") == pair.lang)
        ]
        gap = (both[pair.model] - both[pair.base]).groupby(level=["metric", "references"])
        rows += [(*pair, *key, part.mean(), len(part)) for key, part in gap]
    return pd.DataFrame(rows, columns=[*PAIR, "metric", "references", "difference", "n"])


def both_ways(table: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Return a table of comparisons with each a second time, its models exchanged and the signs of `columns` turned.

    Correlations over it do not depend on which model of a pair comes first, as in Table 6 of Thapliyal et al.
    """
    turned = table.rename(columns={"base": "model", "model": "base"})
    return pd.concat([table, turned.assign(**-table[columns])], ignore_index=True)


def agreement(
    table: pd.DataFrame, columns: list[str], clusters: str = "lang", n_resamples: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Return how differences of scores correlate with gains: column, method, value, ci_low, ci_high, n (comparisons).

    `table`: one row for each comparison, with `gain` and the `columns` of differences; Pearson, Spearman and Kendall
    over both directions of each. The interval resamples `clusters`. A column that does not vary has no correlation
    (NaN).
    """
    whole, parts = both_ways(table, ["gain", *columns]), []
    for column in columns:
        known = whole.dropna(subset=[column])
        if known[column].nunique() < 2 or known["gain"].nunique() < 2 or known[clusters].nunique() < 2:
            empty = dict.fromkeys(["value", "ci_low", "ci_high"], np.nan)
            found = pd.DataFrame({"method": correlation.METHODS}).assign(**empty)
        else:
            found = correlation.correlate(known, "gain", column, clusters, correlation.METHODS, n_resamples, seed=seed)
        parts.append(found.assign(column=column, n=len(known) // 2))
    names = ["column", "method", "value", "ci_low", "ci_high", "n"]
    return pd.concat(parts, ignore_index=True)[names]
