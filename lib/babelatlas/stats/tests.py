"""Permutation tests, Holm's correction, intervals of ranks and letters of what differs
significantly.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from string import ascii_letters

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from babelatlas.base.errors import InputError, near
from babelatlas.stats import bootstrap


def holm(p: Sequence[float]) -> np.ndarray:
    """Return p values corrected for their number by Holm's step-down method (1979), in
    the order given.

    NaN stands where nothing was tested: it stays NaN and is not counted.

    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p, float)
    order = np.argsort(p, kind="stable")[: np.isfinite(p).sum()]  # NaN comes last
    corrected = np.full_like(p, np.nan)
    corrected[order] = np.minimum(
        1, np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1))
    )
    return corrected


FAMILY = ["family_low", "family_high", "p_family", "n_families"]
LEAST = 1 / 10_001  # the smallest p that 10,000 random patterns can give


def p_value(p: float, raw: float = np.nan, least: float = LEAST) -> str:
    """Return a p value as text, an en dash where there is none, with "≤" where the test
    could give no smaller one.

    `raw`: p before it was corrected; `least`: the smallest that resampling can give.

    >>> p_value(0.0004), p_value(0.0312), p_value(np.nan), p_value(0.0026, LEAST)
    ('< 0.001', '0.031', '–', '≤ 0.003')
    """
    if pd.isna(p) or p < 0.001:
        return "–" if pd.isna(p) else "< 0.001"
    return (
        f"≤ {np.ceil(1000 * p - 1e-9) / 1000:.3f}"
        if raw <= least * (1 + 1e-6)
        else f"{p:.3f}"
    )


def paired_permutation_test(
    differences: np.ndarray,
    n_permutations: int = 10_000,
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
        differences = np.bincount(bootstrap.cluster_index(clusters)[0], differences)
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
        return 1.0 - 2 * (np.arange(2**n // 2)[:, None] >> np.arange(n) & 1)
    # The first pattern is counted itself, so that p is never 0.
    drawn = np.random.default_rng([seed, n]).integers(
        2, size=(n_permutations, n), dtype=np.int8
    )
    return np.vstack([np.ones(n), 1.0 - 2 * drawn])


def sign_flips(
    differences: np.ndarray, n_permutations: int = 10_000, seed: int = 0
) -> np.ndarray:
    """Return `paired_permutation_test`'s p value for each column of (rows, columns),
    with the same signs for all.
    """
    flipped = np.abs(
        sign_patterns(len(differences), n_permutations, seed) @ differences
    )
    return (flipped >= flipped[0] * (1 - 1e-9)).mean(axis=0)


def step_down(
    differences: np.ndarray, n_permutations: int = 10_000, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the p of `sign_flips` for each column, and p adjusted for all columns,
    from their joint distribution.

    Step-down min-P (Westfall and Young 1993; Romano and Wolf 2005): an adjusted p is
    the share of patterns of signs in which any column, of this one and those less
    extreme, is as extreme. Of two equal p the one with the larger mean is the more
    extreme, so that the least adjusted p is the least p that the signs allow, however
    many columns there are. It is never above Holm's. Not max-T: clusters of unequal
    size give each studentised mean another greatest value.

    >>> [p.tolist() for p in step_down(np.array([[0.2, 0.1], [0.3, -0.1], [0.1, 0.1]]))]
    [[0.25, 1.0], [0.25, 1.0]]
    """
    signs = sign_patterns(len(differences), n_permutations, seed)
    below = np.empty(
        (len(signs), differences.shape[1]), np.int32
    )  # patterns with a smaller mean
    for column, values in enumerate(differences.T):
        flipped = np.abs(signs @ values)
        below[:, column] = np.searchsorted(np.sort(flipped), flipped * (1 - 1e-9))
    scale = 2 * (np.abs(differences).sum(axis=0).max() or 1)
    seen = below[0] + np.abs(differences.sum(axis=0)) / scale
    order = np.argsort(seen, kind="stable")
    as_far = np.zeros(len(order))
    for rows in np.array_split(
        np.arange(len(signs)), len(signs) // 512 + 1
    ):  # this column and those less extreme
        extreme = (below[rows] + np.abs(signs[rows] @ differences) / scale)[:, order]
        as_far += (np.maximum.accumulate(extreme, axis=1) >= seen[order] - 1e-9).sum(
            axis=0
        )
    adjusted = np.maximum.accumulate(as_far[::-1])[::-1][np.argsort(order)]
    return (len(signs) - below[0]) / len(signs), adjusted / len(signs)


def paired_mean(
    gap: np.ndarray, units=None, n_resamples: int = 2000, seed: int = 0
) -> list[float]:
    """Return the mean of paired differences, its bootstrap interval over `units`, and
    `paired_permutation_test`'s p.

    All but the mean are NaN where there is one unit alone, and the mean, too, without
    any.
    """
    gap = np.asarray(gap, float)
    units = np.arange(len(gap)) if units is None else np.asarray(units)
    if len(set(units)) < 2:
        return [float(gap.mean()) if len(gap) else np.nan, np.nan, np.nan, np.nan]
    mean = bootstrap.mean_interval(gap, units, n_resamples, seed=seed).iloc[0]
    clusters = units if mean["n_clusters"] < mean["n"] else None
    return [
        *mean[["value", "ci_low", "ci_high"]],
        paired_permutation_test(gap, seed=seed, clusters=clusters),
    ]


def by_family(gap: np.ndarray, families: Sequence[str], *options) -> list[float]:
    """Return `paired_mean` with whole families resampled, and their number (`FAMILY`);
    NaN where there is only one.
    """
    tested = (
        paired_mean(gap, families, *options)[1:]
        if len(set(families)) > 1
        else [np.nan] * 3
    )
    return [*tested, len(set(families))]


def paired_difference(
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
    family of each unit, the columns `FAMILY` and p_family_holm say the same with whole
    families resampled.
    """
    by = list(by)
    bootstrap.check_columns(table, of=of, unit=unit, value=value, by=by)
    bootstrap.check_numbers(table, [value], [*by, of, unit])
    if table.duplicated([*by, of, unit]).any():
        raise InputError(
            f"A paired difference needs one row for each {', '.join([*by, of, unit])};"
            " some occur twice."
        )
    names = sorted(table[of].unique())
    pairs = list(combinations(names, 2)) if pairs is None else list(pairs)
    if strange := [name for pair in pairs for name in pair if name not in names]:
        raise InputError(
            f"A paired difference is of {strange[0]!r}, which {of!r} lacks:"
            f" {near(strange[0], names)}"
        )
    rows = []
    for key, part in table.groupby(by, sort=False) if by else [((), table)]:
        wide = part.pivot_table(index=unit, columns=of, values=value).sort_index()
        for first, second in pairs:
            wide = wide.reindex(
                columns=wide.columns.union([first, second])
            )  # one may be in other groups alone
            gap = (wide[first] - wide[second]).dropna()
            tested = paired_mean(gap, gap.index, n_resamples, seed)
            wider = by_family(gap, gap.index.map(kin), n_resamples, seed) if kin else []
            rows.append([*key, first, second, *tested, np.nan, len(gap), *wider])
    columns = [
        *by,
        "first",
        "second",
        "value",
        "ci_low",
        "ci_high",
        "p",
        "p_holm",
        "n",
        *FAMILY * bool(kin),
    ]
    return with_holm(pd.DataFrame(rows, columns=columns))


def with_holm(tested: pd.DataFrame) -> pd.DataFrame:
    """Return a table with p_holm, and p_family_holm where it has p_family: Holm's
    correction over all its rows.
    """
    corrected = {
        f"{name}_holm": holm(tested[name].astype(float))
        for name in ("p", "p_family")
        if name in tested
    }
    return tested.assign(**corrected)


def languages_above(
    scores: pd.DataFrame,
    thresholds: Sequence[float],
    by: str = "model",
    n_resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    kin: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Return in how many languages an accuracy reaches each threshold: by, threshold,
    value, ci_low, ci_high.

    `scores` has one row for each `by` and language: value (fraction) and n (images).
    The interval says how far the count depends on the images: each accuracy is drawn
    from the binomial distribution of its n images. With `kin`, language -> family,
    family_low and family_high say how far it depends on the languages: families are
    resampled.

    >>> scores = pd.DataFrame({"model": "a", "lang": ["de", "si"], "value": [1.0, 0.0], "n": 50})
    >>> languages_above(scores, [0.5]).value.tolist()
    [1]
    """
    bootstrap.check_columns(
        scores, by=by, columns=["value", "n", *(["lang"] if kin else [])]
    )
    bootstrap.check_numbers(scores, ["value", "n"], [by])
    rows = []
    for name, part in scores.groupby(by, sort=False):
        rng = np.random.default_rng([seed, len(part)])
        images, value = part["n"].to_numpy(), part["value"].to_numpy()
        drawn = (
            rng.binomial(images, value.clip(0, 1), size=(n_resamples, len(part)))
            / images
        )
        for threshold in thresholds:
            low, high = bootstrap.percentile_interval(
                (drawn >= threshold).sum(axis=1), level
            )
            rows.append(
                [
                    name,
                    threshold,
                    int((value >= threshold).sum()),
                    float(low),
                    float(high),
                ]
            )
            if kin:
                rows[-1] += _over_families(
                    value >= threshold, part["lang"].map(kin), n_resamples, level, seed
                )
    columns = [
        by,
        "threshold",
        "value",
        "ci_low",
        "ci_high",
        *(FAMILY[:2] if kin else []),
    ]
    return pd.DataFrame(rows, columns=columns)


def _over_families(reached: np.ndarray, families: pd.Series, *options) -> list[float]:
    """Return the interval of a number of languages with their families resampled, NaN
    where these are one alone.
    """
    if families.nunique() < 2:
        return [np.nan, np.nan]
    share = bootstrap.mean_interval(reached, families, *options)
    return (len(reached) * share[["ci_low", "ci_high"]]).iloc[0].tolist()


def ranges(
    scores: pd.DataFrame, decimals: int = 1, ends: Sequence[str] = ("ci_low", "ci_high")
) -> pd.Series:
    """Return the intervals of a table, its columns `ends`, as text in percent, "" where
    there is none.

    >>> ranges(pd.DataFrame({"ci_low": [0.1234, np.nan], "ci_high": [0.2, np.nan]})).tolist()
    ['12.3 to 20.0', '']
    """
    ends = zip(*(scores[end] for end in ends), strict=True)
    texts = [
        (
            ""
            if np.isnan(low)
            else f"{100 * low:z.{decimals}f} to {100 * high:z.{decimals}f}"
        )
        for low, high in ends
    ]
    return pd.Series(texts, index=scores.index)


def both_ways(
    tested: pd.DataFrame, decimals: int = 1, unit: float = 100
) -> pd.DataFrame:
    """Return what tests over languages and over families say, as text: five columns for
    readers, side by side.

    `tested`: as `paired_difference` returns it with `kin`; its intervals are shown
    times `unit`. Columns least and least_family: the smallest p that its tests can
    give, where that is not `LEAST`.
    """
    shown, columns = tested[["ci_low", "ci_high", *FAMILY[:2]]] * unit / 100, {}
    kinds = {
        "languages": (("ci_low", "ci_high"), "p_holm"),
        "families": (FAMILY[:2], "p_family_holm"),
    }
    for kind, (ends, name) in kinds.items():
        columns[f"95 %, over {kind}"] = ranges(shown, decimals, ends)
        raw = tested.get(name.removesuffix("_holm"), tested[name])
        least = tested.get(
            "least" if kind == "languages" else "least_family",
            pd.Series(LEAST, tested.index),
        )
        columns[f"p (Holm), {kind}"] = list(
            map(p_value, tested[name].astype(float), raw.astype(float), least)
        )
    sizes = tested["n"].astype(str) + " (" + tested["n_families"].astype(str) + ")"
    return pd.DataFrame(columns | {"languages (families)": sizes})


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
    worst of the ranks that equal values leave open. NaN stands last. `n_clusters` as in
    `bootstrap.percentile_interval`.

    >>> table = rank_intervals(["a", "b"], [0.2, 0.4], [[0.3, 0.2], [0.1, 0.5], [0.2, 0.6]])
    >>> table[["name", "rank", "rank_low", "rank_high"]].to_numpy().tolist()
    [['b', 1, 1, 2], ['a', 2, 1, 2]]
    """
    values, resampled = np.asarray(values, float), np.asarray(resampled, float)
    bootstrap.check_numbers(pd.DataFrame({"values": values}), ["values"])
    drawn = np.nan_to_num(-resampled, nan=np.inf)
    best = scipy_stats.rankdata(drawn, method="min", axis=1)
    worst = scipy_stats.rankdata(drawn, method="max", axis=1)
    low, high = bootstrap.percentile_interval(resampled, level, n_clusters)
    level = level if n_clusters is None else bootstrap.expanded_level(level, n_clusters)
    table = pd.DataFrame(
        {
            "name": list(names),
            "value": values,
            "ci_low": low,
            "ci_high": high,
            "rank": scipy_stats.rankdata(-values, method="min").astype(int),
            "rank_low": (
                np.quantile(best, (1 - level) / 2, axis=0, method="lower").astype(int)
            ),
            "rank_high": (
                np.quantile(worst, (1 + level) / 2, axis=0, method="higher").astype(int)
            ),
            "first": (
                ((best == 1) / (best == 1).sum(axis=1, keepdims=True)).mean(axis=0)
            ),
        }
    )
    return table.sort_values(["rank", "name"], ignore_index=True)


def compact_letters(
    names: Sequence[str], different: Sequence[tuple[str, str]]
) -> list[str]:
    """Return letters for each name, so that two names share a letter just where they
    are not in `different`.

    `names` in the order of their values, the best first: it gets "a". By insertion and
    absorption (Piepho 2004, J. Comput. Graph. Stat. 13, 456-466): begin with one set of
    all names; for each pair that differs split every set that holds both, and drop sets
    that lie within another.

    >>> compact_letters(["x", "y", "z"], [("x", "z")])
    ['a', 'ab', 'b']
    """
    number_of = {name: number for number, name in enumerate(names)}
    sets = [frozenset(range(len(names)))] if len(names) else []
    for pair in sorted(
        tuple(sorted((number_of[one], number_of[other]))) for one, other in different
    ):
        split = [
            part - {gone} for part in sets if part.issuperset(pair) for gone in pair
        ]
        sets = [part for part in sets if not part.issuperset(pair)]
        for part in split:
            if not any(part <= other for other in sets):
                sets = [other for other in sets if not other <= part] + [part]
    sets.sort(key=sorted)
    words = [
        ascii_letters[n % 52] + (str(n // 52) if n >= 52 else "")
        for n in range(len(sets))
    ]
    return [
        "".join(word for word, part in zip(words, sets, strict=True) if n in part)
        for n in range(len(names))
    ]


def denominator(
    shares: Sequence[float], at_least: int, at_most: int, tolerance: float = 1e-3
) -> int:
    """Return the smallest number of cases of which all `shares` are whole numbers: a
    number that was not released.

    `shares`: fractions in full precision, of the same cases (several models on one
    set). `tolerance`: how far a number of cases may be from whole; single-precision
    shares need about 1e-7 times the cases. With k shares other than 0 and 1 the
    expected number of false hits is about (at_most - at_least) * (2 * tolerance) ** k.
    Raises InputError where no number fits.

    >>> denominator([1 / 7, 3 / 7], 2, 100)
    7
    """
    shares = np.asarray(shares, float)
    for n in range(at_least, at_most + 1):
        if np.abs(shares * n - (shares * n).round()).max() <= tolerance:
            return n
    raise InputError(
        f"No number of cases from {at_least} to {at_most} makes all {len(shares)}"
        " shares whole."
    )
