"""Bootstrap intervals: a table in, a table out, and a seed for everything random.

All intervals are of a bootstrap that draws whole clusters with replacement (a language
with all its models, a class with all its images), because rows of one cluster are not
independent (Efron & Tibshirani 1993, Chapter 13). A resample is a row of weights, how
often each cluster was drawn, so that a statistic of all resamples is one matrix
product. Clusters are taken in sorted order: the order of the rows does not matter.

Few clusters make plain percentile intervals too short: a 95 % interval of a mean over 7
languages covers the true value in 88 % of simulated data sets, one at `expanded_level`
in 94 % (`benchmarks/coverage_simulations.py`). Correlations of ranks are left at plain
percentiles (`correlation.expandable`). A share near 0 or 1 has the interval of
`proportions.share_interval`; where all items are right, or none, no resample differs,
and `proportions.exact_interval` gives the interval.
"""

import functools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from babelatlas.base.errors import InputError
from babelatlas.stats.checks import check_columns, check_numbers
from babelatlas.stats.distributions import (
    normal_above,
    normal_below,
    normal_quantile,
    t_above,
    t_quantile,
)
from babelatlas.stats.proportions import share_interval

SEED_STEP = 1_000_003  # between the seeds of independent streams of one call
EVALUATION = ("model", "dataset", "labels", "prompts", "lang")


def cluster_index(labels: pd.Series | np.ndarray) -> tuple[np.ndarray, int]:
    """Return the number of the cluster of each row, and how many there are; InputError
    for one alone, or gaps.
    """
    names, index = np.unique(np.asarray(labels).astype(str), return_inverse=True)
    if len(names) < 2 or pd.isna(labels).any():
        raise InputError(
            "A bootstrap needs a cluster for every row, and two at least; got"
            f" {len(names)}."
        )
    return index, len(names)


def resample_weights(
    n_clusters: int, n_resamples: int = 2000, seed: int = 0
) -> np.ndarray:
    """Return how often each cluster is drawn: shape (n_resamples, n_clusters), rows sum
    to n_clusters.

    >>> resample_weights(3, n_resamples=2, seed=0).sum(axis=1).tolist()
    [3.0, 3.0]
    """
    draws = np.random.default_rng([seed, n_clusters]).integers(
        n_clusters, size=(n_resamples, n_clusters)
    )
    draws += n_clusters * np.arange(n_resamples)[:, None]
    counts = np.bincount(draws.ravel(), minlength=n_resamples * n_clusters)
    return counts.reshape(n_resamples, n_clusters).astype(float)


@functools.cache
def expanded_level(level: float, n: float) -> float:
    """Return the level at which a percentile interval of `n` clusters has about the
    coverage `level`.

    A percentile interval of a mean is short by sqrt((n - 1) / n), and by normal
    quantiles in place of Student's. At the level returned it matches Student's interval
    where the data are symmetric (the expanded percentile interval: Hesterberg 2014,
    arXiv:1411.5279; ExpandProbs in R's package resample). With fewer than five clusters
    it falls short all the same, since no resample lies outside them: on normal data 95
    % intervals of 2, 3 and 4 clusters cover 50, 77 and 87 %.

    >>> [round(expanded_level(0.95, n), 3) for n in (7, 11, 100)]
    [0.992, 0.981, 0.954]
    """
    quantile = np.sqrt(n / (n - 1)) * t_quantile((1 + level) / 2, n - 1)
    return float(2 * normal_below(quantile) - 1)


def expanded_p(p: float, n: float) -> float:
    """Return a bootstrap's p value made as careful as an expanded interval of `n`
    clusters.

    `p`: twice the share of resamples on the other side of 0. The result is below alpha
    just where the interval of level 1 - alpha, expanded, leaves 0 out.

    >>> round(expanded_p(1 - expanded_level(0.95, 7), 7), 6)
    0.05
    """
    quantile = -normal_quantile(p / 2) * np.sqrt((n - 1) / n)
    return float(2 * t_above(quantile, n - 1))


def percentile_interval(
    resampled: np.ndarray, level: float = 0.95, n_clusters: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the interval over the first axis (resamples), leaving out undefined (NaN)
    resamples: lower, upper end.

    Both ends are NaN where no resample is defined, and for one cluster, of which all
    resamples are alike.

    `n_clusters`: how many clusters the bootstrap drew from (of two kinds drawn, the
    fewer), for the percentiles of `expanded_level`; None for those of `level` itself.
    """
    if n_clusters is not None and n_clusters < 2:
        resampled = np.full_like(np.asarray(resampled, float), np.nan)
    elif n_clusters is not None:
        level = expanded_level(level, n_clusters)
    resampled = np.asarray(resampled)
    ends = [(1 - level) / 2, (1 + level) / 2]
    bounds = np.asarray(np.quantile(resampled, ends, axis=0))
    partly_nan = np.isnan(bounds[0]) & ~np.isnan(resampled).all(axis=0)
    if partly_nan.any():
        # Only for these: nanquantile goes through the columns one by one.
        bounds[:, partly_nan] = np.nanquantile(resampled[:, partly_nan], ends, axis=0)
    return bounds[0], bounds[1]


def mean_interval(
    values: pd.Series | np.ndarray,
    clusters: pd.Series | np.ndarray | None = None,
    n_resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    shares: bool = False,
) -> pd.DataFrame:
    """Return the mean of `values` with its bootstrap interval: one row with value,
    ci_low, ci_high, n, n_clusters.

    `clusters` says which values belong together, every value by itself unless given.
    `shares`: the values are shares, and a mean near 0 or 1 has the interval of
    `share_interval`.
    """
    values = np.asarray(values, float).ravel()
    clusters = np.arange(len(values)) if clusters is None else np.asarray(clusters)
    check_numbers(pd.DataFrame({"values": values}), ["values"])
    index, n_clusters = cluster_index(clusters)
    drawn = resample_weights(n_clusters, n_resamples, seed)
    totals = np.bincount(index, values)
    counts = np.bincount(index).astype(float)
    means = (drawn @ totals) / (drawn @ counts)
    low, high = percentile_interval(means, level, n_clusters)
    if shares:
        low, high = share_interval(totals, counts, (low, high), level)
    row = {
        "value": values.mean(),
        "ci_low": low,
        "ci_high": high,
        "n": len(values),
        "n_clusters": n_clusters,
    }
    return pd.DataFrame([row])


def group_means(
    scores: pd.DataFrame,
    by: str | Sequence[str] = ("model", "group"),
    value: str = "value",
    cluster: str = "lang",
    n_resamples: int = 2000,
    seed: int = 0,
    shares: bool = False,
) -> pd.DataFrame:
    """Return the mean over languages within each combination of `by`: by, value,
    ci_low, ci_high, n (rows).

    The interval is over languages (`shares`: as in `mean_interval`). A group of one
    language (English, say) has none (NaN). Groups come in order of appearance.

    >>> scores = pd.DataFrame({"lang": ["si", "lo"], "value": [0.2, 0.4]})
    >>> scores = scores.assign(model="a", group="low")
    >>> round(float(group_means(scores).value[0]), 3)
    0.3
    """
    by = [by] if isinstance(by, str) else list(by)
    check_columns(scores, by=by, value=value, cluster=cluster)
    check_numbers(scores, [value], [*by, cluster])
    rows = []
    for key, part in scores.groupby(by, sort=False):
        mean, low, high = part[value].mean(), np.nan, np.nan
        if (part[cluster] != part[cluster].iloc[0]).any():
            interval = mean_interval(
                part[value], part[cluster], n_resamples, seed=seed, shares=shares
            )
            mean, low, high = interval[["value", "ci_low", "ci_high"]].iloc[0]
        rows.append([*key, mean, low, high, len(part)])
    return pd.DataFrame(rows, columns=[*by, "value", "ci_low", "ci_high", "n"])


def accuracy_interval(
    counts: pd.DataFrame,
    by: Sequence[str] = EVALUATION,
    item: str = "wnid",
    correct: str = "n_correct",
    total: str = "n_images",
    n_resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return accuracy from counts per class, with an interval over classes: by, value,
    ci_low, ci_high, n (images).

    `counts` has one row per `by` and class (a `zeroshot` table): images right, images
    seen. The interval draws classes, because images of one class are right or wrong
    together, with the same draws for all models in a language. An accuracy near 0 or 1
    has the interval of `share_interval`; where all images are right, or none, that is
    the exact binomial one, with the classes as its items. One class alone has no
    interval (NaN).
    """
    by = list(by)
    _check_counts(counts, by, item, correct, total)
    keys, rows_of_group = _sorted_groups(counts, by, item)
    n_correct = counts[correct].to_numpy(float)
    n_images = counts[total].to_numpy(float)
    result = np.full((len(keys), 4), np.nan)
    sizes = np.array([len(rows) for rows in rows_of_group])
    for size in np.unique(sizes):  # all groups of one size share a matrix of draws
        groups = np.flatnonzero(sizes == size)
        rows = np.array([rows_of_group[group] for group in groups])
        right, seen = n_correct[rows].T, n_images[rows].T
        if size > 1:
            drawn = resample_weights(size, n_resamples, seed)
            ends = percentile_interval(
                (drawn @ right) / (drawn @ seen), n_clusters=size
            )
            low, high = share_interval(right, seen, ends)
            result[groups, 1], result[groups, 2] = low, high
        result[groups, 0] = n_correct[rows].sum(axis=1) / n_images[rows].sum(axis=1)
        result[groups, 3] = n_images[rows].sum(axis=1)
    numbers = pd.DataFrame(result, columns=["value", "ci_low", "ci_high", "n"])
    table = keys.join(numbers.astype({"n": int}))
    return table.sort_values(by, ignore_index=True)


def _check_counts(
    counts: pd.DataFrame, by: list[str], item: str, correct: str, total: str
) -> None:
    """Raise InputError unless counts have all columns, cases in each row, and one row
    for each group and item.
    """
    check_columns(counts, by=by, item=item, correct=correct, total=total)
    check_numbers(counts, [correct, total], [*by, item])
    if (counts[total] <= 0).any():
        raise InputError(
            f"An accuracy needs a case in each row, and {total!r} is 0 somewhere: leave"
            " those rows out."
        )
    if counts.duplicated([*by, item]).any():
        raise InputError(
            f"An accuracy needs one row for each {', '.join([*by, item])}, but some"
            " occur twice."
        )


def _sorted_groups(
    counts: pd.DataFrame, by: list[str], item: str
) -> tuple[pd.DataFrame, list[np.ndarray]]:
    """Return the values of `by` of each group, and the positions of its rows, sorted by
    item; categories become texts.
    """
    item_number, _ = pd.factorize(counts[item], sort=True)
    by_item = np.argsort(item_number, kind="stable")
    group_of_row = counts.groupby(by, sort=False, observed=True).ngroup().to_numpy()
    # Numbered anew in the order in which the sorted items show the groups.
    group_of_sorted, first_seen = pd.factorize(group_of_row[by_item])
    keys = counts[by].drop_duplicates().iloc[first_seen].reset_index(drop=True)
    texts = {
        column: str
        for column in by
        if isinstance(keys[column].dtype, pd.CategoricalDtype)
    }
    rows = by_item[np.argsort(group_of_sorted, kind="stable")]
    ends = np.cumsum(np.bincount(group_of_sorted, minlength=len(keys)))
    return keys.astype(texts), np.split(rows, ends[:-1])


def sum_of_means(
    samples: Sequence[np.ndarray],
    factors: Sequence[float],
    n_resamples: int = 2000,
    seed: int = 0,
) -> tuple[float, float, float]:
    """Return a sum of means of independent samples, each times its factor, with its 95
    % interval: value, low, high.

    Each sample is resampled by itself. A resampled mean varies less than it should by
    sqrt((n - 1) / n), so that its distance from the mean is stretched by the inverse;
    and the level is raised as far as Student's quantile, with the degrees of freedom of
    Welch (1947) and Satterthwaite, lies above the normal one. A sample of one value
    varies in no resample: where it matters the interval is too narrow.

    >>> value, low, high = sum_of_means([[0.4, 0.4], [0.1]], [1, -1])
    >>> round(value, 6), round(low, 6), round(high, 6)
    (0.3, 0.3, 0.3)
    """
    samples = [np.asarray(sample, float) for sample in samples]
    if not all(len(sample) for sample in samples):
        sizes = ", ".join(str(len(sample)) for sample in samples)
        raise InputError(
            f"A sum of means needs a value in each sample, got {sizes} values: leave"
            " out what is empty."
        )
    terms = [
        factor * sample.mean() for factor, sample in zip(factors, samples, strict=True)
    ]
    value = float(sum(terms))
    drawn = np.full(n_resamples, value)
    variances, degrees_of_freedom = [], []
    for number, (sample, factor) in enumerate(zip(samples, factors, strict=True)):
        n = len(sample)
        if n == 1:
            continue
        # Another stream for each sample, or two of one size would be drawn alike.
        weights = resample_weights(n, n_resamples, seed + SEED_STEP * number)
        resampled = weights @ sample / n
        drawn += factor * np.sqrt(n / (n - 1)) * (resampled - sample.mean())
        variances.append(factor**2 * sample.var(ddof=1) / n)
        degrees_of_freedom.append(n - 1)
    if not any(variances):
        return value, value, value
    relative = np.array(variances) / max(variances)
    degrees = relative.sum() ** 2 / (relative**2 / degrees_of_freedom).sum()
    tail = normal_above(t_quantile(0.975, degrees))
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return value, float(low), float(high)
