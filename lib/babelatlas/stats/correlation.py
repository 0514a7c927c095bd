"""Do two measures agree, and what of it is left within models, within languages, or
given a third: correlations.

`correlate` takes all rows, the rows within the groups of a column, or rows given
covariates; `compare_correlations` asks which of two measures agrees better.

Intervals are those of a bootstrap over clusters, as in `bootstrap`. Two cluster columns
(languages and models) are resampled independently and a row gets the product of their
weights, the pigeonhole bootstrap (Owen 2007, Ann. Appl. Stat. 1, 386-411). What depends
on the rows (ranks, means of groups, covariates) is taken anew in each resample.
"""

from collections.abc import Sequence
from functools import reduce
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap
from babelatlas.stats.checks import check_columns, check_numbers

METHODS = ("pearson", "spearman", "kendall")
AT_ONCE = 4_000_000  # weights that are held at once, resamples times rows
MOST_ROUNDS = 500  # in which the means of two columns of groups are taken off


def _tied(values: np.ndarray, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how many rows each resample has of each different value, (resamples,
    different), and each row's value.
    """
    unique, number = np.unique(values, return_inverse=True)
    order = np.argsort(number, kind="stable")
    starts = np.searchsorted(number[order], np.arange(len(unique)))
    return np.add.reduceat(drawn[:, order], starts, axis=1), number


def mid_ranks(values: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Return the mid-ranks of `values` in each resample, shape (resamples, values); a
    row stands `drawn` times.
    """
    tied, number = _tied(values, drawn)
    smaller = np.cumsum(tied, axis=1) - tied
    return (smaller + (tied + 1) / 2)[:, number]


def weighted_pearson(x: np.ndarray, y: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Return the weighted correlation in each resample, NaN where a column is constant;
    x, y: one row, or one each.
    """
    x = (x - x.mean()) / x.std()
    y = (y - y.mean()) / y.std()
    # Two columns of clusters may leave a resample without rows.
    n = np.maximum(drawn.sum(axis=1), 1e-300)

    def mean(column: np.ndarray) -> np.ndarray:
        if column.ndim == 1:  # the same in all resamples: one matrix product
            return drawn @ column / n
        return np.einsum("ij,ij->i", drawn, column) / n

    mean_x, mean_y = mean(x), mean(y)
    variance_x = np.clip(mean(x * x) - mean_x**2, 0, None)
    variance_y = np.clip(mean(y * y) - mean_y**2, 0, None)
    covariance = mean(x * y) - mean_x * mean_y
    scale = np.sqrt(variance_x * variance_y)
    return np.divide(covariance, scale, out=np.full(len(n), np.nan), where=scale > 1e-9)


def _ordered_pairs(x: np.ndarray, y: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Return three numbers of ordered pairs of rows in each resample: (3, resamples).

    Pairs that both columns put in the same order less those in another, pairs that
    differ in x, and in y.
    """
    total = drawn.sum(axis=1) ** 2
    tied_x = (_tied(x, drawn)[0] ** 2).sum(axis=1)
    tied_y = (_tied(y, drawn)[0] ** 2).sum(axis=1)
    same_order = np.sign(x[:, None] - x) * np.sign(y[:, None] - y)
    balance = np.einsum("ij,ij->i", drawn @ same_order, drawn)
    return np.stack([balance, total - tied_x, total - tied_y])


def weighted_kendall(
    x: np.ndarray,
    y: np.ndarray,
    drawn: np.ndarray,
    groups: Sequence[np.ndarray | slice] = (slice(None),),
) -> np.ndarray:
    """Return Kendall's tau-b over the pairs of rows that share a group in each
    resample, NaN where nothing varies.
    """
    pairs = sum(_ordered_pairs(x[rows], y[rows], drawn[:, rows]) for rows in groups)
    return _tau_b(*pairs)


def kendall_by_row(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return Kendall's tau-b of each row of two arrays (resamples, models), as
    `scipy.stats.kendalltau` of each; NaN where all values of a row are equal.
    """
    first, second = np.triu_indices(np.shape(x)[-1], 1)
    order_x, order_y = (
        np.sign(values[..., first] - values[..., second])
        for values in (np.asarray(x), np.asarray(y))
    )
    return _tau_b(
        (order_x * order_y).sum(axis=-1),
        (order_x != 0).sum(axis=-1),
        (order_y != 0).sum(axis=-1),
    )


def _tau_b(
    balance: np.ndarray, differ_in_x: np.ndarray, differ_in_y: np.ndarray
) -> np.ndarray:
    """Return Kendall's tau-b from numbers of pairs: those in the same order less those
    in the other, those that differ in x, and in y; NaN where none differs.
    """
    scale = np.sqrt(differ_in_x * differ_in_y)
    return np.divide(balance, scale, out=np.full(scale.shape, np.nan), where=scale > 0)


def expandable(method: str, n_clusters: int, n_columns: int = 1) -> float | None:
    """Return the number of clusters that a correlation's interval is expanded for, None
    for one of plain percentiles.

    Copies of a row in a resample are tied, which makes a coefficient of ranks vary more
    there than in samples: its interval is long enough, as are those with two columns of
    clusters. Pearson's with 4 to 8 clusters counts n as 1.5 (n - 1), and then covers
    the true value in 94 to 96 % (benchmarks/intervals.py).
    """
    if method != "pearson" or n_columns > 1:
        return None
    return 1.5 * (n_clusters - 1) if 3 < n_clusters < 9 else n_clusters


class Draws(NamedTuple):
    """How often each cluster is drawn, (resamples, clusters), and each row's cluster."""

    times: np.ndarray
    cluster_of_row: np.ndarray


def _draws(
    table: pd.DataFrame, clusters: Sequence[str], n_resamples: int, seed: int
) -> list[Draws]:
    """Return the draws of each column of clusters."""
    check_columns(table, clusters=clusters)
    draws = []
    for number, column in enumerate(clusters):
        names, cluster_of_row = np.unique(
            table[column].astype(str), return_inverse=True
        )
        if len(names) < 2 or table[column].isna().any():
            raise InputError(
                f"A bootstrap over {column} needs one in every row, and two at least;"
                f" got {len(names)}."
            )
        # Another stream for each column, or two columns with as many clusters would be
        # drawn alike.
        stream = seed + bootstrap.SEED_STEP * number
        times = bootstrap.resample_weights(len(names), n_resamples, stream)
        draws.append(Draws(times, cluster_of_row))
    return draws


def _row_weights(draws: Sequence[Draws], resamples: slice = slice(None)) -> np.ndarray:
    """Return how often each row counts in some resamples: the product of the times that
    its clusters are drawn.
    """
    return reduce(
        np.multiply,
        (drawn.times[resamples][:, drawn.cluster_of_row] for drawn in draws),
    )


def _fewest(draws: Sequence[Draws]) -> int:
    """Return the least number of clusters of the columns drawn."""
    return min(drawn.times.shape[1] for drawn in draws)


def crossed_weights(
    table: pd.DataFrame,
    clusters: str | Sequence[str],
    n_resamples: int = 2000,
    seed: int = 0,
) -> tuple[np.ndarray, int]:
    """Return how often each row counts in each resample, shape (n_resamples, rows), and
    the least number of clusters.

    `clusters`: one column, or several, which are drawn independently; then a row has
    the product of their weights.

    >>> table = pd.DataFrame({"lang": ["de", "de", "si"], "model": ["a", "b", "a"]})
    >>> crossed_weights(table, ["lang", "model"], 100)[0].shape
    (100, 3)
    """
    draws = _draws(table, _listed(clusters), n_resamples, seed)
    return _row_weights(draws), _fewest(draws)


def crossed_mean(
    table: pd.DataFrame,
    value: str,
    clusters: Sequence[str] = ("lang", "model"),
    n_resamples: int = 2000,
    seed: int = 0,
) -> tuple[float, float, float]:
    """Return the mean of a column and its 95 % interval with all `clusters` resampled:
    a mean in general.

    The interval is NaN where a column of clusters has one alone, so that one group does
    not stop the others.
    """
    check_columns(table, value=value, clusters=clusters)
    check_numbers(table, [value], clusters)
    mean = float(table[value].mean())
    if any(table[column].nunique() < 2 for column in clusters):
        return mean, np.nan, np.nan
    drawn, n_clusters = crossed_weights(table, clusters, n_resamples, seed)
    drawn = drawn[drawn.any(axis=1)]
    means = drawn @ table[value] / drawn.sum(axis=1)
    low, high = bootstrap.percentile_interval(means, n_clusters=n_clusters)
    return mean, float(low), float(high)


def _deviations(
    values: np.ndarray, drawn: np.ndarray, parts: Sequence[np.ndarray]
) -> np.ndarray:
    """Return values less the weighted means of their groups in each resample, shape
    (resamples, rows).
    """
    values = np.array(np.broadcast_to(values, drawn.shape), float)
    totals = [np.maximum(drawn @ part, 1e-12) for part in parts]
    size = max(float(np.abs(values).max()), 1e-300)
    # Of two columns the means of the groups are taken off in turn until none is left,
    # which is least squares on both.
    for _ in range(MOST_ROUNDS):
        moved = 0.0
        for part, total in zip(parts, totals, strict=True):
            means = ((drawn * values) @ part / total) @ part.T
            values -= means
            moved = max(moved, float(np.abs(means * (drawn > 0)).max()))
        if len(parts) < 2 or moved < 1e-10 * size:
            break
    return values


def _pair(
    x: np.ndarray,
    y: np.ndarray,
    drawn: np.ndarray,
    method: str,
    parts: Sequence[np.ndarray],
) -> np.ndarray:
    """Return the correlation of two columns in each resample, within the groups of
    `parts` if there are any.
    """
    groups = list(parts[0].T.astype(bool)) if parts else [slice(None)]
    if method == "kendall":
        return weighted_kendall(x, y, drawn, groups)
    columns = [x, y]
    if method == "spearman":
        columns = [_ranks_within(values, drawn, groups) for values in columns]
    if not parts:
        return weighted_pearson(*columns, drawn)

    deviations = [_deviations(values, drawn, parts) for values in columns]
    for values, left in zip(columns, deviations, strict=True):
        # Constant within every group: what is left is rounding.
        if np.abs(left).max() < 1e-9 * np.abs(values).max():
            return np.full(len(drawn), np.nan)
    return weighted_pearson(*deviations, drawn)


def _ranks_within(
    values: np.ndarray, drawn: np.ndarray, groups: Sequence[np.ndarray | slice]
) -> np.ndarray:
    """Return the mid-ranks of values within each group of rows: (resamples, rows)."""
    ranks = np.zeros(drawn.shape)
    for rows in groups:
        ranks[:, rows] = mid_ranks(values[rows], drawn[:, rows])
    return ranks


def _partial(
    columns: Sequence[np.ndarray],
    drawn: np.ndarray,
    method: str,
    parts: Sequence[np.ndarray],
) -> np.ndarray:
    """Return the correlation of the first two columns given the others in each
    resample; NaN where not defined.
    """
    if len(columns) == 2:
        return _pair(*columns, drawn, method, parts)
    matrix = np.tile(np.eye(len(columns)), (len(drawn), 1, 1))
    for first, second in combinations(range(len(columns)), 2):
        # The later column first: sums in another order differ in the last digit.
        value = _pair(columns[second], columns[first], drawn, method, parts)
        matrix[:, first, second] = matrix[:, second, first] = value
    # A resample whose covariates are constant, or follow from one another, says
    # nothing.
    defined = np.isfinite(matrix).all(axis=(1, 2))
    defined[defined] = np.linalg.cond(matrix[defined]) < 1e10
    inverse = np.linalg.inv(matrix[defined])
    scale = np.sqrt(inverse[:, 0, 0] * inverse[:, 1, 1])
    result = np.full(len(drawn), np.nan)
    result[defined] = -inverse[:, 0, 1] / scale
    return result


class Resampled(NamedTuple):
    """A correlation of all rows, that of each resample, and the fewest clusters."""

    value: float
    in_resamples: np.ndarray
    n_clusters: int


def _resampled(
    table: pd.DataFrame,
    names: Sequence[str],
    clusters: Sequence[str],
    method: str,
    within: Sequence[str],
    n_resamples: int,
    seed: int,
) -> Resampled:
    """Return the correlation of the first two columns of `names`, given the others, in
    all rows and in each resample.
    """
    check_columns(table, columns=names, within=within, clusters=clusters)
    what = f"A correlation of {names[0]} and {names[1]}"
    if method not in METHODS or (len(within) > 1 and method != "pearson"):
        raise InputError(
            f"{what} by {method!r}: expected one of {', '.join(METHODS)}; within two"
            " columns pearson alone."
        )
    columns = table[names].to_numpy(float).T
    _check_values(columns, names, what)
    draws = _draws(table, clusters, n_resamples, seed)
    parts = [
        pd.get_dummies(table[column].astype(str), dtype=float).to_numpy()
        for column in within
    ]
    once = np.ones((1, len(table)))
    value = float(_partial(columns, once, method, parts)[0])
    step = max(1, AT_ONCE // len(table))
    in_resamples = [
        _partial(
            columns, _row_weights(draws, slice(start, start + step)), method, parts
        )
        for start in range(0, n_resamples, step)
    ]
    if not np.isfinite(value):
        raise InputError(
            f"{what} is not defined: nothing varies within {within} or given"
            f" {names[2:]}."
        )
    return Resampled(value, np.concatenate(in_resamples), _fewest(draws))


def _check_values(columns: np.ndarray, names: Sequence[str], what: str) -> None:
    """Raise InputError for columns of too few rows, with gaps, or that do not vary."""
    if columns.shape[1] < 3:
        raise InputError(
            f"{what} needs three rows at least, got {columns.shape[1]}: leave it out."
        )
    for name, values in zip(names, columns, strict=True):
        if not np.isfinite(values).all():
            raise InputError(
                f"{what} needs rows without gaps, and {name!r} has some: leave those"
                " rows out."
            )
    for name, values in zip(names, columns, strict=True):
        if np.ptp(values) == 0:
            raise InputError(
                f"{what} needs columns that vary, and {name!r} is the same in all"
                " rows: leave it out."
            )


def _listed(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def correlate(  # noqa: PLR0913, since chapters name these by keyword
    table: pd.DataFrame,
    x: str,
    y: str,
    clusters: str | Sequence[str] = "lang",
    methods: Sequence[str] = METHODS[:2],
    n_resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    *,
    within: str | Sequence[str] = (),
    covariates: str | Sequence[str] = (),
) -> pd.DataFrame:
    """Return the correlation of two columns with a bootstrap interval over clusters,
    one row for each method.

    Columns: method, value, ci_low, ci_high, n (rows), n_clusters (the fewest, where
    several columns are resampled). Methods: `METHODS`; of Kendall's tau-b a row that is
    resampled twice is tied with itself.

    `within` names a column whose groups are taken each by itself: deviations from the
    mean of the group, ranks within it, pairs of its rows. Two columns, for "pearson"
    alone, ask what is left when the means of both are taken off.

    `covariates`: for partial correlations, of each method from the inverse of the
    matrix of its coefficients (as R's ppcor: Kim 2015, CSAM 22, 665-674).

    Raises InputError for a method that is not known, fewer than three rows, gaps, a
    column that does not vary, a single cluster, and a correlation that is not defined.

    >>> rows = pd.DataFrame({"lang": list("abcdef"), "model": list("pppqqq")})
    >>> rows = rows.assign(x=[0, 1, 2, 6, 7, 8], y=[3, 2, 1, 9, 8, 7])
    >>> within_models = correlate(rows, "x", "y", within="model", methods=METHODS[::2])
    >>> within_models["value"].round(2).tolist()
    [-1.0, -1.0]
    """
    within, clusters = _listed(within), _listed(clusters)
    names = [x, y, *_listed(covariates)]
    rows = []
    for method in methods:
        found = _resampled(table, names, clusters, method, within, n_resamples, seed)
        n_expanded = expandable(method, found.n_clusters, len(clusters))
        low, high = bootstrap.percentile_interval(found.in_resamples, level, n_expanded)
        rows.append([method, found.value, low, high, len(table), found.n_clusters])
    return pd.DataFrame(
        rows, columns=["method", "value", "ci_low", "ci_high", "n", "n_clusters"]
    )


def compare_correlations(  # noqa: PLR0913, as `correlate`
    table: pd.DataFrame,
    x: str,
    first: str,
    second: str,
    clusters: str | Sequence[str] = "lang",
    within: str | Sequence[str] = (),
    methods: Sequence[str] = METHODS,
    n_resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return whether `x` correlates more with column `first` than with `second`, on the
    rows that have all three.

    Columns: method, first, second (the two correlations), value (their difference),
    ci_low, ci_high, p (bootstrap: twice the share of resamples in which the difference
    has the other sign, made as careful as the interval by `bootstrap.expanded_p` where
    that is expanded), least (the smallest p that so many resamples can give), n (rows),
    n_clusters. Raises InputError as `correlate` does.
    """
    within, clusters = _listed(within), _listed(clusters)
    rows = []
    for method in methods:
        how = clusters, method, within, n_resamples, seed
        of_first = _resampled(table, [x, first], *how)
        of_second = _resampled(table, [x, second], *how)
        n_clusters = of_first.n_clusters
        gaps = of_first.in_resamples - of_second.in_resamples
        n_expanded = expandable(method, n_clusters, len(clusters))
        low, high = bootstrap.percentile_interval(gaps, 0.95, n_expanded)
        p, least = _sign_p(gaps, n_expanded)
        values = of_first.value, of_second.value, of_first.value - of_second.value
        rows.append([method, *values, low, high, p, least])
    names = ["method", "first", "second", "value", "ci_low", "ci_high", "p", "least"]
    return pd.DataFrame(rows, columns=names).assign(n=len(table), n_clusters=n_clusters)


def _sign_p(gaps: np.ndarray, n_expanded: float | None) -> tuple[float, float]:
    """Return the p of a difference from its resamples, and the smallest p that so many
    of them can give.
    """
    defined = gaps[np.isfinite(gaps)]
    fewer = min((defined <= 0).sum(), (defined >= 0).sum())
    p, least = (
        min(1.0, 2 * (number + 1) / (len(defined) + 1)) for number in (fewer, 0)
    )
    if n_expanded is None:
        return p, least
    return bootstrap.expanded_p(p, n_expanded), bootstrap.expanded_p(least, n_expanded)
