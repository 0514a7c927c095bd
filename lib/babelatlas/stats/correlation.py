"""Do two measures agree, and what of it is left within models, within languages, given a third: correlations in parts.

A table of results has a row for each model and language, so that a correlation over all rows mixes three questions:
which model is better, which language is easier, which model suits which language. Here they are separated: `correlate`
takes all rows, the rows within the groups of a column (each language by itself, say), or rows given covariates;
`correlate_means` the means of the groups; `compare_correlations` asks which of two measures agrees better with a third.

Intervals are those of a bootstrap over clusters, as in `bootstrap`. Two cluster columns (languages and models) are
resampled independently and a row gets the product of their weights, the pigeonhole bootstrap (Owen 2007, Ann. Appl.
Stat. 1, 386-411). For a mean it errs towards too wide (Owen & Eckles 2012, doi:10.1214/12-AOAS547). What depends on the
rows is taken anew in each resample: ranks, means of groups, covariates.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap, checks

METHODS = ("pearson", "spearman", "kendall")
# Rows from which on pairs are counted by sorting; fewer are compared faster each with each.
MANY = 2000


def _tied(values: np.ndarray, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how many rows each resample has of each different value, (resamples, different), and each row's value."""
    unique, place = np.unique(values, return_inverse=True)
    order = np.argsort(place, kind="stable")
    return np.add.reduceat(drawn[:, order], np.searchsorted(place[order], np.arange(len(unique))), axis=1), place


def mid_ranks(values: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Return the mid-ranks of `values` in each resample, shape (resamples, values); a row stands `drawn` times."""
    tied, place = _tied(values, drawn)
    return (np.cumsum(tied, axis=1) - tied + (tied + 1) / 2)[:, place]


def weighted_pearson(x: np.ndarray, y: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Return the weighted correlation in each resample, NaN where a column is constant; x, y: one row, or one each."""
    x, y = ((values - values.mean()) / values.std() for values in (x, y))
    n = drawn.sum(axis=1)
    # Moments of every resample; a column that is the same for all resamples needs one matrix product only.
    mean_x, mean_y, xx, yy, xy = (
        drawn @ column / n if column.ndim == 1 else np.einsum("ij,ij->i", drawn, column) / n
        for column in (x, y, x * x, y * y, x * y)
    )
    scale = np.sqrt(np.clip(xx - mean_x**2, 0, None) * np.clip(yy - mean_y**2, 0, None))
    return np.divide(xy - mean_x * mean_y, scale, out=np.full(len(n), np.nan), where=scale > 1e-9)


def _untied_pairs(values: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Return in each resample how many ordered pairs of rows differ in `values`; copies of a row do not differ."""
    return drawn.sum(axis=1) ** 2 - (_tied(values, drawn)[0] ** 2).sum(axis=1)


def _agreeing_pairs(x: np.ndarray, y: np.ndarray, drawn: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
    """Return in each resample the ordered pairs of rows that both columns put in the same order, less the others."""
    if len(x) > MANY:
        return _agreeing_of_many(x, y, drawn, index)
    # A quadratic form of the weights, of clusters (`index`: the cluster of each row) or of rows, if there is none.
    member = None if index is None else np.eye(drawn.shape[1])[index]
    found, form = np.zeros(len(drawn)), 0
    step = max(1, 4_000_000 // len(x))
    for start in range(0, len(x), step):  # some rows at a time: a row is compared with every other
        rows = slice(start, start + step)
        signs = np.sign(x[rows, None] - x) * np.sign(y[rows, None] - y)
        if member is None:
            found += np.einsum("ij,ij->i", drawn @ signs.T, drawn[:, rows])
        else:
            form = form + member[rows].T @ (signs @ member)
    return found if member is None else np.einsum("ij,ij->i", drawn @ form, drawn)


def _agreeing_of_many(x: np.ndarray, y: np.ndarray, drawn: np.ndarray, index: np.ndarray | None) -> np.ndarray:
    """Return `_agreeing_pairs` in time n log n (Knight 1966, JASA 61, 436-439); weights should be whole numbers.

    All pairs that neither column ties, less twice those that are put in another order. These are found as a sort by
    merging would find them: rows stand in the order of x, and in each two neighbouring blocks, of 1, 2, 4, ... rows, a
    row of the second one is compared with those of the first.
    """
    place = np.lexsort((y, x))
    x, y = x[place], np.unique(y[place], return_inverse=True)[1]
    both = np.cumsum(np.append(True, (np.diff(x) != 0) | (np.diff(y) != 0)))
    number, levels = np.arange(len(x)), []
    for size in 2 ** np.arange((len(x) - 1).bit_length()):
        first, pair = number // size % 2 == 0, number // (2 * size)
        order = np.lexsort((first, -y, pair))  # from the highest y; of the same y the second block's before
        levels.append((order, first[order], np.searchsorted(pair, pair)))
    found = np.empty(len(drawn))
    step = max(1, 4_000_000 // len(x))
    for start in range(0, len(drawn), step):
        rows = slice(start, start + step)
        weights = (drawn[rows] if index is None else drawn[rows, index])[:, place]
        untied = weights.sum(axis=1) ** 2
        for tied, sign in ((x, -1), (y, -1), (both, 1)):
            untied += sign * (_tied(tied, weights)[0] ** 2).sum(axis=1)
        other = np.zeros(len(weights))
        for order, first, begin in levels:
            moved = weights[:, order]
            above = np.cumsum(np.where(first, moved, 0), axis=1)
            before = np.column_stack([np.zeros(len(above)), above])[:, begin]
            other += np.einsum("ij,ij->i", np.where(first, 0, moved), above - before)
        found[rows] = untied - 4 * other
    return found


def weighted_kendall(
    x: np.ndarray,
    y: np.ndarray,
    drawn: np.ndarray,
    index: np.ndarray | None = None,
    groups: Sequence[np.ndarray | slice] = (slice(None),),
) -> np.ndarray:
    """Return Kendall's tau-b over the pairs of rows that share a group in each resample, NaN where nothing varies.

    `drawn` (resamples, rows), or with `index`, the cluster of each row, (resamples, clusters); `groups`: all rows in
    one, unless given.
    """
    sums = np.zeros((3, len(drawn)))
    for rows in groups:
        here = drawn[:, rows] if index is None else drawn[:, index]
        first, second = x[rows], y[rows]
        agree = _agreeing_pairs(first, second, here if index is None else drawn, index)
        sums += agree, _untied_pairs(first, here), _untied_pairs(second, here)
    scale = np.sqrt(sums[1] * sums[2])
    return np.divide(sums[0], scale, out=np.full(len(drawn), np.nan), where=scale > 0)


def expandable(method: str, n_clusters: int, n_columns: int = 1) -> float | None:
    """Return the number of clusters that a correlation's interval is expanded for, None for one of plain percentiles.

    Copies of a row in a resample are tied, which makes a coefficient of ranks vary more there than in samples: its
    percentile interval is long enough as it is; expanded, it would cover the true value in 97 to 99 of 100 simulated
    data sets. So are intervals where two columns of clusters are resampled: by simulation (11 models; 7, 11, 16, 35
    languages) they cover it in 95, 93, 94, 93 of 100, expanded ones in 99, 97, 98, 96.

    Pearson's with 4 to 8 clusters counts n as 1.5 (n - 1): the level of Student's quantile without sqrt(n / (n - 1)).
    By simulation (benchmarks/intervals.py), 7 languages: coverage of 94 to 96 %, where n itself gives 96 to 97, BCa 87
    to 94 and Fisher's z 89 to 100.
    """
    if method != "pearson" or n_columns > 1:
        return None
    return 1.5 * (n_clusters - 1) if 3 < n_clusters < 9 else n_clusters


def crossed_weights(
    table: pd.DataFrame, clusters: str | Sequence[str], n_resamples: int = 2000, seed: int = 0
) -> tuple[np.ndarray, int]:
    """Return how often each row counts in each resample, shape (n_resamples, rows), and the least number of clusters.

    `clusters`: one column, or several, which are drawn independently; then a row has the product of their weights.
    Raises InputError for a column with a gap or with one cluster.

    >>> table = pd.DataFrame({"lang": ["de", "de", "si"], "model": ["a", "b", "a"]})
    >>> crossed_weights(table, ["lang", "model"], 100)[0].shape
    (100, 3)
    """
    names = _cluster_columns(table, clusters)
    drawn, least = np.ones((n_resamples, len(table))), len(table)
    for place, name in enumerate(names):
        index, n_clusters = checks.cluster_index(table[name], f"A bootstrap over {name}")
        # Another stream for each column, or two columns with as many clusters would be drawn alike.
        drawn *= bootstrap.resample_weights(n_clusters, n_resamples, seed + 1_000_003 * place)[:, index]
        least = min(least, n_clusters)
    return drawn, least


def crossed_mean(
    table: pd.DataFrame, value: str, clusters: Sequence[str] = ("lang", "model"), n_resamples: int = 2000, seed: int = 0
) -> tuple[float, float, float]:
    """Return the mean of a column and its 95 % interval with all `clusters` resampled: a mean in general."""
    drawn, least = crossed_weights(table, clusters, n_resamples, seed)
    drawn = drawn[drawn.any(axis=1)]
    ends = bootstrap.percentile_interval(drawn @ table[value] / drawn.sum(axis=1), n_clusters=least)
    return float(table[value].mean()), *map(float, ends)


def _parts(table: pd.DataFrame, column: str) -> np.ndarray:
    """Return which rows belong to which group, shape (rows, groups); raise InputError where each row is a group."""
    index, n_groups = checks.cluster_index(table[column], f"A correlation within each {column}")
    if n_groups == len(table):
        raise InputError(
            f"A correlation within each {column} needs several rows in at least one of them, but each has a single row."
        )
    return np.eye(n_groups)[index]


def _deviations(values: np.ndarray, drawn: np.ndarray, parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return values less the weighted means of their groups in each resample, shape (resamples, rows)."""
    values = np.array(np.broadcast_to(values, drawn.shape), float)
    totals = [np.maximum(drawn @ part, 1e-12) for part in parts]
    size = max(float(np.abs(values).max()), 1e-300)
    for _ in range(500):  # means of the groups of two columns in turn until none is left: least squares on both
        moved = 0.0
        for part, total in zip(parts, totals, strict=True):
            means = ((drawn * values) @ part / total) @ part.T
            values -= means
            moved = max(moved, float(np.abs(means * (drawn > 0)).max()))
        if len(parts) < 2 or moved < 1e-10 * size:
            break
    return values


def _pair(x: np.ndarray, y: np.ndarray, drawn: np.ndarray, method: str, parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the correlation of two columns in each resample, within the groups of `parts` if there are any."""
    groups = list(parts[0].T.astype(bool)) if parts else [slice(None)]
    if method == "kendall":
        return weighted_kendall(x, y, drawn, groups=groups)
    columns = [x, y]
    if method == "spearman":
        columns = [np.zeros(drawn.shape) for _ in columns]
        for ranks, values in zip(columns, (x, y), strict=True):
            for rows in groups:
                ranks[:, rows] = mid_ranks(values[rows], drawn[:, rows])
    if parts:
        sizes = [np.abs(values).max() for values in columns]
        columns = [_deviations(values, drawn, parts) for values in columns]
        if any(np.abs(values).max() < 1e-9 * size for values, size in zip(columns, sizes, strict=True)):
            return np.full(len(drawn), np.nan)  # constant within every group: what is left is rounding
    return weighted_pearson(*columns, drawn)


def _correlations(
    columns: Sequence[np.ndarray], drawn: np.ndarray, method: str, parts: Sequence[np.ndarray]
) -> np.ndarray:
    """Return the correlation of the first two columns given the others in each resample; NaN where not defined."""
    size = len(columns)
    matrix = np.tile(np.eye(size), (len(drawn), 1, 1))
    for one in range(size):
        for other in range(one):
            found = _pair(columns[one], columns[other], drawn, method, parts)
            matrix[:, one, other] = matrix[:, other, one] = found
    if size == 2:
        return matrix[:, 0, 1]
    # A resample whose covariates are constant, or follow from one another, says nothing.
    fine = np.isfinite(matrix).all(axis=(1, 2))
    fine[fine] = np.linalg.cond(matrix[fine]) < 1e10
    result = np.full(len(drawn), np.nan)
    inverse = np.linalg.inv(matrix[fine])
    result[fine] = -inverse[:, 0, 1] / np.sqrt(inverse[:, 0, 0] * inverse[:, 1, 1])
    return result


def correlate(
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
    given: str | Sequence[str] = (),
) -> pd.DataFrame:
    """Return the correlation of two columns with a bootstrap interval over clusters, one row for each method.

    Columns: method, value, ci_low, ci_high, n (rows), n_clusters (the fewest, where several columns are resampled).
    Methods: "pearson", "spearman" (ranks are taken anew in every resample), "kendall" (tau-b; a row that is resampled
    twice is tied with itself). Resamples in which a column is constant are left out.

    `within` names a column whose groups are taken each by itself: "pearson" correlates the deviations from the mean of
    the group, "spearman" the deviations of ranks within the group, "kendall" compares the rows of one group with each
    other. Two columns, for "pearson" alone, ask what is left when the means of both are taken off (a model in a
    language, beyond how good the model and how easy the language is).

    `given` names covariates. The partial correlation follows from the inverse of the matrix of correlations, for each
    method from its own coefficients, as R's ppcor has it (Kim 2015, CSAM 22, 665-674): for "pearson" it equals the
    correlation of the residuals of two regressions, for "spearman" the same of ranks, for "kendall" the partial tau.

    Raises InputError for missing values, a constant column, a single cluster, an unknown method, and where what is
    asked for is not defined.

    >>> rows = pd.DataFrame({"lang": list("abcdef"), "model": list("pppqqq")})
    >>> rows = rows.assign(x=[0, 1, 2, 6, 7, 8], y=[3, 2, 1, 9, 8, 7])
    >>> correlate(rows, "x", "y", within="model", methods=["pearson", "kendall"]).value.round(2).tolist()
    [-1.0, -1.0]
    """
    within, given, clusters = _listed(within), _listed(given), _cluster_columns(table, clusters)
    columns = _checked_columns(table, x, y, clusters, methods, within, given)
    if within or given or len(clusters) > 1:
        found, n_clusters = _in_parts(table, columns, clusters, within, methods, n_resamples, seed)
    else:
        index, n_clusters = checks.cluster_index(table[clusters[0]], f"A correlation of {x} and {y}")
        weights = bootstrap.resample_weights(n_clusters, n_resamples, seed)
        found = {method: _plain(*columns, weights, index, method) for method in methods}
    rows = []
    for method, (value, resampled) in found.items():
        _check_defined(value, x, y, within, given)
        ends = bootstrap.percentile_interval(resampled, level, expandable(method, n_clusters, len(clusters)))
        rows.append([method, value, *ends, len(table), n_clusters])
    return pd.DataFrame(rows, columns=["method", "value", "ci_low", "ci_high", "n", "n_clusters"])


def _checked_columns(table, x, y, clusters, methods, within, given=()) -> list[np.ndarray]:
    """Return the numbers of x, y and the covariates; raise InputError for what no correlation can be taken of."""
    what = f"A correlation of {x} and {y}"
    checks.check_numbers(table, [x, y, *given], what, [*within, *clusters])
    checks.check_varying(table, [x, y, *given], what)
    unknown = [method for method in methods if method not in METHODS]
    if unknown:
        raise InputError(f"There is no correlation {unknown[0]!r}: expected one of {', '.join(METHODS)}.")
    if len(within) > 1 and set(methods) != {"pearson"}:
        raise InputError(
            f"{what} within {' and '.join(within)} at once is defined for the method pearson alone: ranks within two "
            "columns are none."
        )
    return [table[name].to_numpy(float) for name in (x, y, *given)]


def _check_defined(value: float, x: str, y: str, within: Sequence[str], given: Sequence[str] = ()) -> None:
    if not np.isfinite(value):
        told = f" within each {' and '.join(within)}" * bool(within) + f" given {' and '.join(given)}" * bool(given)
        raise InputError(
            f"A correlation of {x} and {y}{told} is not defined: nothing varies there that the correlation could be of."
        )


def _plain(x, y, weights: np.ndarray, index: np.ndarray, method: str) -> tuple[float, np.ndarray]:
    """Return a correlation of all rows and that of each resample; `weights` of clusters, `index` the rows' clusters."""
    if method == "kendall":
        return scipy_stats.kendalltau(x, y)[0], weighted_kendall(x, y, weights, index)
    rows = weights[:, index]
    if method == "pearson":
        return scipy_stats.pearsonr(x, y)[0], weighted_pearson(x, y, rows)
    return scipy_stats.spearmanr(x, y)[0], weighted_pearson(mid_ranks(x, rows), mid_ranks(y, rows), rows)


def _in_parts(
    table, columns, clusters, within, methods, n_resamples, seed
) -> tuple[dict[str, tuple[float, np.ndarray]], int]:
    """Return by method the correlation within groups, given further columns, and its resamples; least clusters."""
    weights, n_clusters = crossed_weights(table, clusters, n_resamples, seed)
    # The first row is the table as it is. With two cluster columns a resample may hold no row at all.
    weights = np.vstack([np.ones(len(table)), weights[weights.any(axis=1)]])
    parts = [_parts(table, name) for name in within]
    found = {method: _correlations(columns, weights, method, parts) for method in methods}
    return {method: (values[0], values[1:]) for method, values in found.items()}, n_clusters


def _listed(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _cluster_columns(table: pd.DataFrame, clusters: str | Sequence[str]) -> list[str]:
    names = _listed(clusters)
    if not names or set(names) - set(table):
        raise InputError(
            f"A bootstrap needs columns that say what is drawn, got {', '.join(names) or 'none'}; the table has "
            f"{', '.join(map(str, table))}."
        )
    return names


def leave_one_out(
    table: pd.DataFrame,
    by: str,
    x: str,
    y: str,
    clusters: str | Sequence[str] = "lang",
    methods: Sequence[str] = METHODS[:2],
    n_resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the correlation with each value of column `by` left out in turn, and `change` against the whole table.

    Columns: left_out, those of `correlate`, change (value minus that of all rows). Raises what `correlate` raises.
    """
    if by not in table:
        raise InputError(f"There is no column {by!r} to leave out: expected one of {', '.join(map(str, table))}.")
    whole = correlate(table, x, y, clusters, methods, 1, level, seed).set_index("method").value
    parts = {
        name: correlate(table[table[by] != name], x, y, clusters, methods, n_resamples, level, seed)
        for name in sorted(table[by].unique())
    }
    found = pd.concat(parts, names=["left_out"]).reset_index("left_out").reset_index(drop=True)
    return found.assign(change=found.value - found.method.map(whole))


def correlate_means(
    table: pd.DataFrame, x: str, y: str, by: str, given: str | Sequence[str] = (), **options
) -> pd.DataFrame:
    """Return the correlation of the means of two columns over the groups of `by`, which the interval draws.

    Columns, `options` and what is raised are as of `correlate`, n being the number of groups.
    """
    given = _listed(given)
    checks.check_numbers(table, [x, y, *given], f"A correlation of means of {x} and {y}", [by])
    means = table.groupby(by, as_index=False)[[x, y, *given]].mean()
    return correlate(means, x, y, by, given=given, **options)


def steiger(r_jk: float, r_jh: float, r_kh: float, n: int) -> tuple[float, float]:
    """Return Steiger's Z, and its p value (two-sided), that a measure j correlates with k as it does with h.

    All three correlations are of the same `n` independent rows. Steiger (1980), Psychological Bulletin 87, 245-251:
    Fisher's transforms, with the covariance taken at the mean of both correlations. For clustered rows p is too small.
    Raises InputError for fewer than four rows, or three correlations that no data can have.

    >>> [round(number, 4) for number in steiger(0.4, 0.5, 0.1, 103)]
    [-0.8887, 0.3742]
    """
    if n < 4:
        raise InputError(f"A test of two correlations needs at least four rows, got {n}.")
    determinant = 1 - r_jk**2 - r_jh**2 - r_kh**2 + 2 * r_jk * r_jh * r_kh
    if not (max(abs(r_jk), abs(r_jh)) < 1 and abs(r_kh) <= 1 and determinant > -1e-9):
        raise InputError(
            f"No three measures have the correlations {r_jk}, {r_jh} and {r_kh} in a way that can be tested: the first "
            "two lie between -1 and 1, and the third must fit them."
        )
    mean2 = ((r_jk + r_jh) / 2) ** 2
    covariance = (r_kh * (1 - 2 * mean2) - mean2 * (1 - 2 * mean2 - r_kh**2) / 2) / (1 - mean2) ** 2
    gap = float(np.arctanh(r_jk) - np.arctanh(r_jh))
    z = 0.0 if gap == 0 else gap * np.sqrt((n - 3) / (2 - 2 * covariance))
    return float(z), float(2 * scipy_stats.norm.sf(abs(z)))


def compare_correlations(
    table: pd.DataFrame,
    x: str,
    first: str,
    second: str,
    clusters: str | Sequence[str] = "lang",
    within: str | Sequence[str] = (),
    methods: Sequence[str] = METHODS,
    n_resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Return whether `x` correlates more with column `first` than with `second`, on the rows that have all three.

    Columns: method, first, second (the two correlations), value (their difference), ci_low, ci_high, p (bootstrap:
    twice the share of resamples in which the difference has the other sign, made as careful as the interval by
    `bootstrap.expanded_p` where that is expanded), least (the smallest p that so many resamples can give), z, p_steiger
    (for "pearson" without `within`, else NaN: `steiger` takes rows to be independent), n (rows), n_clusters. Raises
    what `correlate` raises.
    """
    within, clusters = _listed(within), _cluster_columns(table, clusters)
    whole = []
    for y in (first, second):
        pair = _checked_columns(table, x, y, clusters, methods, within)
        found, _ = _in_parts(table, pair, clusters, within, methods, 1, seed)
        whole.append([value for value, _ in found.values()])
        for value in whole[-1]:
            _check_defined(value, x, y, within)
    drawn, n_clusters = crossed_weights(table, clusters, n_resamples, seed)
    drawn = drawn[drawn.any(axis=1)]
    parts = [_parts(table, name) for name in within]
    columns = [table[name].to_numpy(float) for name in (x, first, second)]
    rows = []
    for method, one, other in zip(methods, *whole, strict=True):
        gaps = _pair(columns[0], columns[1], drawn, method, parts) - _pair(columns[0], columns[2], drawn, method, parts)
        known = gaps[np.isfinite(gaps)]
        p = min(1.0, 2 * (min((known <= 0).sum(), (known >= 0).sum()) + 1) / (len(known) + 1))
        n_drawn = expandable(method, n_clusters, len(clusters))
        least = min(1.0, 2 / (len(known) + 1))
        if n_drawn is not None:
            p, least = (bootstrap.expanded_p(each, n_drawn) for each in (p, least))
        z = p_steiger = np.nan
        if method == "pearson" and not within:
            z, p_steiger = steiger(one, other, float(np.corrcoef(columns[1], columns[2])[0, 1]), len(table))
        ends = bootstrap.percentile_interval(gaps, level, n_drawn)
        rows.append([method, one, other, one - other, *ends, p, least, z, p_steiger])
    names = ["method", "first", "second", "value", "ci_low", "ci_high", "p", "least", "z", "p_steiger"]
    return pd.DataFrame(rows, columns=names).assign(n=len(table), n_clusters=n_clusters)
