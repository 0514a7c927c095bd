"""Paired differences and their tests: signs of the differences are flipped, in all ways
or at random, by themselves or by whole clusters.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from babelatlas.base.errors import InputError, near
from babelatlas.stats import FAMILY_COLUMNS, N_PERMUTATIONS, bootstrap
from babelatlas.stats.checks import check_columns, check_numbers
from babelatlas.stats.multiple_comparisons import with_holm

# What is said of paired differences.
PAIRED_COLUMNS = ["value", "ci_low", "ci_high", "p"]


def paired_permutation_test(
    differences: np.ndarray,
    n_permutations: int = N_PERMUTATIONS,
    seed: int = 0,
    clusters: Sequence | None = None,
) -> float:
    """Return the two-sided p value that the differences are as likely as their
    opposites (a permutation test).

    All patterns of signs are tried where there are at most `n_permutations`, random
    ones otherwise. `clusters`: what each difference belongs to, a language its family,
    say; one cluster keeps its signs together.
    """
    differences = np.asarray(differences, float)
    if clusters is not None:
        index, _ = bootstrap.cluster_index(clusters)
        differences = np.bincount(index, differences)
    return float(sign_flips(differences[:, None], n_permutations, seed)[0])


def sign_patterns(n: int, n_permutations: int, seed: int) -> np.ndarray:
    """Return signs of `n` differences, (patterns, n), those as they are first: all but
    their opposites, or random.

    Raises InputError without any differences.
    """
    if not n:
        raise InputError(
            "A test of signs needs one difference at least, got none: leave it out."
        )
    if n < 31 and 2**n <= n_permutations:
        patterns = np.arange(2**n // 2)
        flipped = patterns[:, None] >> np.arange(n) & 1  # the binary digits
        return 1.0 - 2 * flipped
    generator = np.random.default_rng([seed, n])
    flipped = generator.integers(2, size=(n_permutations, n), dtype=np.int8)
    # The signs as observed are counted as well, so that p is never 0.
    signs = np.ones((n_permutations + 1, n))
    signs[1:] -= 2 * flipped
    return signs


def sign_flips(
    differences: np.ndarray, n_permutations: int = N_PERMUTATIONS, seed: int = 0
) -> np.ndarray:
    """Return `paired_permutation_test`'s p value for each column of (rows, columns),
    with the same signs for all.
    """
    signs = sign_patterns(len(differences), n_permutations, seed)
    sums = np.abs(signs @ differences)
    return (sums >= sums[0] * (1 - 1e-9)).mean(axis=0)


def step_down(
    differences: np.ndarray, n_permutations: int = N_PERMUTATIONS, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the p of `sign_flips` for each column, and p adjusted for all columns,
    from their joint distribution.

    Step-down min-P (Westfall and Young 1993; Romano and Wolf 2005): an adjusted p is
    the share of patterns of signs in which any column, of this one and those less
    extreme, is as extreme. Of two equal p the one with the larger mean is the more
    extreme, so that the least adjusted p is the least p that the signs allow, however
    many columns there are. It is never above Holm's. Not max-T: clusters of unequal
    size give each studentised mean another greatest value. Written here because neither
    statsmodels nor scipy adjusts by the joint distribution of permutations.

    >>> differences = np.array([[0.2, 0.1], [0.3, -0.1], [0.1, 0.1]])
    >>> [p.tolist() for p in step_down(differences)]
    [[0.25, 1.0], [0.25, 1.0]]
    """
    signs = sign_patterns(len(differences), n_permutations, seed)
    columns, n_patterns = differences.T, len(signs)
    # How many patterns have a smaller mean than each: a p value, in another unit.
    small = np.min_scalar_type(n_patterns)
    n_below = np.empty((len(columns), n_patterns), small)
    # A part of the columns, then of the patterns, at a time, for memory.
    for part in _parts(len(columns), n_patterns, 250_000):
        for number, sums in enumerate(columns[part] @ signs.T, part.start):
            n_below[number] = _n_smaller(np.abs(sums))

    # The mean, on a scale below 1, decides between equal numbers.
    scale = 2 * (np.abs(differences).sum(axis=0).max() or 1)
    observed = n_below[:, 0] + np.abs(differences.sum(axis=0)) / scale
    order = np.argsort(observed, kind="stable")
    columns, n_below, observed = columns[order], n_below[order], observed[order]
    as_extreme = np.zeros(len(order))
    for part in _parts(n_patterns, len(columns), 30_000):
        extreme = np.abs(columns @ signs[part].T)
        extreme /= scale
        extreme += n_below[:, part]
        most_extreme = np.maximum.accumulate(extreme, axis=0, out=extreme)
        as_extreme += (most_extreme >= observed[:, None] - 1e-9).sum(axis=1)

    # A column is never adjusted to less than one that is more extreme.
    adjusted = np.maximum.accumulate(as_extreme[::-1])[::-1]
    in_order = np.argsort(order)
    p = (n_patterns - n_below[in_order, 0]) / n_patterns
    return p, adjusted[in_order] / n_patterns


def _parts(n: int, n_across: int, most: int) -> list[slice]:
    """Return slices of 0 to `n` of which each, times `n_across`, is `most` or fewer."""
    size = max(1, most // n_across)
    return [slice(start, start + size) for start in range(0, n, size)]


def _n_smaller(values: np.ndarray) -> np.ndarray:
    """Return for each value how many are smaller; a billionth does not count."""
    by_size = np.argsort(values)
    ascending = values[by_size]
    is_larger = ascending[1:] * (1 - 1e-9) > ascending[:-1]
    # Equal values share the place of the first.
    places = np.where(is_larger, np.arange(1, len(values)), 0)
    n_smaller = np.zeros(len(values), np.int32)
    n_smaller[by_size[1:]] = np.maximum.accumulate(places)
    return n_smaller


def paired_mean(
    differences: np.ndarray, units=None, n_resamples: int = 2000, seed: int = 0
) -> list[float]:
    """Return `PAIRED_COLUMNS`: the mean of paired differences, its bootstrap interval
    over `units`, and `paired_permutation_test`'s p.

    All but the mean are NaN where there is one unit alone, and the mean, too, without
    any.
    """
    differences = np.asarray(differences, float)
    units = np.arange(len(differences)) if units is None else np.asarray(units)
    if len(set(units)) < 2:
        value = float(differences.mean()) if len(differences) else np.nan
        return [value, np.nan, np.nan, np.nan]
    mean = bootstrap.mean_interval(differences, units, n_resamples, seed=seed).iloc[0]
    clusters = units if mean["n_clusters"] < mean["n"] else None
    p = paired_permutation_test(differences, seed=seed, clusters=clusters)
    return [*mean[["value", "ci_low", "ci_high"]], p]


def paired_mean_over_families(
    differences: np.ndarray,
    families: Sequence[str],
    n_resamples: int = 2000,
    seed: int = 0,
) -> list[float]:
    """Return `FAMILY_COLUMNS`: interval and p of `paired_mean` with whole families
    resampled, NaN where there is one family only, and the number of families.
    """
    n_families = len(set(families))
    if n_families < 2:
        return [np.nan, np.nan, np.nan, n_families]
    _, low, high, p = paired_mean(differences, families, n_resamples, seed)
    return [low, high, p, n_families]


def paired_difference(  # noqa: PLR0913, since chapters name these by keyword
    table: pd.DataFrame,
    of: str = "model",
    unit: str = "lang",
    value: str = "value",
    by: Sequence[str] = (),
    pairs: Sequence[tuple[str, str]] | None = None,
    n_resamples: int = 2000,
    seed: int = 0,
    kin: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Compare the values of column `of` (models) in pairs, over the units (languages,
    classes) that both have.

    Returns one row for each combination of `by` and pair: by, first, second, value
    (mean of first minus second, a fraction), ci_low, ci_high (bootstrap over units), p
    (sign-flip permutation test, two-sided), p_holm (Holm's correction over all rows), n
    (units). `pairs`: all unless given. A pair that shares one unit alone has no
    interval and no p (NaN), and one that shares none no value either. With `kin`, the
    family of each unit, the columns `FAMILY_COLUMNS` and p_family_holm say the same
    with whole families resampled.
    """
    by = list(by)
    check_columns(table, of=of, unit=unit, value=value, by=by)
    check_numbers(table, [value], [*by, of, unit])
    if table.duplicated([*by, of, unit]).any():
        raise InputError(
            f"A paired difference needs one row for each {', '.join([*by, of, unit])};"
            " some occur twice."
        )
    pairs = _checked_pairs(table[of], pairs)
    rows = []
    for key, part in table.groupby(by, sort=False) if by else [((), table)]:
        values = part.pivot_table(index=unit, columns=of, values=value).sort_index()
        # A name of a pair may be in other groups alone.
        names = {name for pair in pairs for name in pair}
        values = values.reindex(columns=values.columns.union(sorted(names)))
        for first, second in pairs:
            gap = (values[first] - values[second]).dropna()
            tested = paired_mean(gap, gap.index, n_resamples, seed)
            row = [*key, first, second, *tested, np.nan, len(gap)]
            if kin:
                families = gap.index.map(kin)
                row += paired_mean_over_families(gap, families, n_resamples, seed)
            rows.append(row)
    columns = [*by, "first", "second", *PAIRED_COLUMNS, "p_holm", "n"]
    if kin:
        columns += FAMILY_COLUMNS
    return with_holm(pd.DataFrame(rows, columns=columns))


def _checked_pairs(
    names: pd.Series, pairs: Sequence[tuple[str, str]] | None
) -> list[tuple[str, str]]:
    """Return pairs, of all names unless given; InputError for a name that is not there."""
    present = sorted(names.unique())
    if pairs is None:
        return list(combinations(present, 2))
    pairs = list(pairs)
    for name in (name for pair in pairs for name in pair):
        if name not in present:
            raise InputError(
                f"A paired difference is of {name!r}, which {names.name!r} lacks:"
                f" {near(name, present)}"
            )
    return pairs
