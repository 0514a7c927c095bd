"""Ranks by a value, with the intervals that a bootstrap gives them."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import scipy

from babelatlas.stats import bootstrap
from babelatlas.stats.checks import check_numbers


def rank_intervals(
    names: Sequence[str],
    values: np.ndarray,
    resampled: np.ndarray,
    level: float = 0.95,
    n_clusters: int | None = None,
) -> pd.DataFrame:
    """Return the rank of each name by its value, the highest first, with the interval
    that the resamples give the rank.

    `values` (names,) and `resampled` (resamples, names), the statistic in each
    resample, where all names share the draws. Columns: name, value, ci_low, ci_high (of
    the value), rank, rank_low, rank_high, first (share of resamples in which none is
    better, each divided among those that are equal in it); the best is the first row.
    Equal values share the best rank of theirs; an interval goes from the best to the
    worst of the ranks that equal values leave open. In `resampled` NaN stands last; in
    `values` it raises InputError. `n_clusters` as in `bootstrap.percentile_interval`.

    >>> resampled = [[0.3, 0.2], [0.1, 0.5], [0.2, 0.6]]
    >>> table = rank_intervals(["a", "b"], [0.2, 0.4], resampled)
    >>> table[["name", "rank", "rank_low", "rank_high"]].to_numpy().tolist()
    [['b', 1, 1, 2], ['a', 2, 1, 2]]
    """
    values, resampled = np.asarray(values, float), np.asarray(resampled, float)
    check_numbers(pd.DataFrame({"values": values}), ["values"])
    low, high = bootstrap.percentile_interval(resampled, level, n_clusters)
    if n_clusters is not None:
        level = bootstrap.expanded_level(level, n_clusters)

    # Ranks count from the highest value; of equal values the best and the worst rank.
    descending = np.nan_to_num(-resampled, nan=np.inf)
    best = scipy.stats.rankdata(descending, method="min", axis=1)
    worst = scipy.stats.rankdata(descending, method="max", axis=1)
    rank_low = np.quantile(best, (1 - level) / 2, axis=0, method="lower")
    rank_high = np.quantile(worst, (1 + level) / 2, axis=0, method="higher")
    is_first = best == 1
    share_first = (is_first / is_first.sum(axis=1, keepdims=True)).mean(axis=0)
    table = pd.DataFrame(
        {
            "name": list(names),
            "value": values,
            "ci_low": low,
            "ci_high": high,
            "rank": scipy.stats.rankdata(-values, method="min").astype(int),
            "rank_low": rank_low.astype(int),
            "rank_high": rank_high.astype(int),
            "first": share_first,
        }
    )
    return table.sort_values(["rank", "name"], ignore_index=True)
