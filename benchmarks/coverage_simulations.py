"""How well the study's own intervals and tests are calibrated, by simulated data sets
whose true value is known.

    python benchmarks/coverage_simulations.py [FILE]

runs all simulations (ten minutes) and writes them as CSV, to
`data/interval_coverage.csv` of the library unless told otherwise; the chapter on
intervals reads it.

Each function simulates many data sets of one kind, analyses each as the study does,
with the functions of `stats` and `ranking`, and returns a `coverage`: in what share of
the data sets the interval covers the true value. A plain percentile interval of few
clusters is known to be too short, which the study's intervals allow for
(`bootstrap.percentile_interval`); column `interval` says whether a row is of the
study's interval (`OURS`) or of another one from the same resamples, mostly plain
percentiles (`PLAIN`).

The simulations are simple where that shows the point: languages with normal deviations,
classes whose share of correct predictions follows a beta distribution. Everything
random follows `seed`. The bootstrap's resamples are those of the study
(`bootstrap.resample_weights`), the same ones in every simulated data set.
"""

import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats
from statsmodels.stats.proportion import proportion_confint

from babelatlas.analysis import leaderboard, ranking
from babelatlas.base import languages, published
from babelatlas.base.paths import DATA
from babelatlas.stats import (
    bootstrap,
    correlation,
    multiple_comparisons,
    permutation,
    proportions,
    ranks,
    thresholds,
)

OURS, PLAIN = "as in this book", "plain percentiles"


class Simulation(NamedTuple):
    """How much is simulated: data sets (`worlds`), resamples in each, the level of the
    intervals, and the seed.
    """

    worlds: int = 200
    n_resamples: int = 400
    level: float = 0.95
    seed: int = 0


SIMULATION = Simulation()


def wilson(
    value: Sequence[float], n: Sequence[int], level: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Return Wilson's interval (1927) of shares `value` of `n` independent cases, lower
    and upper ends.
    """
    n = np.asarray(n, float)
    return proportion_confint(
        np.asarray(value, float) * n, n, 1 - level, method="wilson"
    )


def coverage(
    truth: np.ndarray | float,
    value: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    level: float = 0.95,
) -> dict[str, float]:
    """Return how often intervals cover the true value, from the truth, value and
    interval of each data set.

    Keys: value (share of data sets in which low <= truth <= high; an interval that is
    not defined covers nothing), ci_low, ci_high (`wilson` of that share), below, above
    (shares in which the truth lies below or above the interval), width (mean), stretch
    (by which factor both halves of the intervals would have to be stretched about the
    value for `level` of them to cover the truth; NaN where no factor does, because
    intervals have no width), worlds (number of data sets).

    >>> value = np.array([0.1, 0.2, 0.4])
    >>> found = coverage(0.0, value, np.array([-0.1, 0, 0.2]), value + 0.2, 0.99)
    >>> round(found["value"], 2), found["below"] == found["stretch"] / 6, round(found["stretch"], 2)
    (0.67, True, 2.0)
    """
    truth, value, low, high = (
        np.asarray(each, float) for each in np.broadcast_arrays(truth, value, low, high)
    )
    # A thousand-millionth for sums of the same numbers in another order.
    below, above = truth < low - 1e-9, truth > high + 1e-9
    held = np.isfinite(low) & np.isfinite(high) & ~below & ~above
    half = np.where(truth < value, value - low, high - value)
    away = np.abs(truth - value)
    with np.errstate(invalid="ignore", divide="ignore"):
        needed = np.where(away <= 1e-9, 0.0, np.where(half > 1e-9, away / half, np.inf))
    needed = np.sort(
        np.where(np.isfinite(low) & np.isfinite(high), needed, np.inf).ravel()
    )
    stretch = needed[min(len(needed) - 1, int(np.ceil(level * len(needed) - 1e-9)) - 1)]
    ends = wilson([held.mean()], [held.size])
    row = {
        "value": float(held.mean()),
        "ci_low": float(ends[0][0]),
        "ci_high": float(ends[1][0]),
    }
    row |= {
        "below": float(below.mean()),
        "above": float(above.mean()),
        "width": float(np.nanmean(high - low)),
    }
    return row | {
        "stretch": float(stretch) if np.isfinite(stretch) else np.nan,
        "worlds": int(held.size),
    }


def mean_over_languages(
    n: int, population: Sequence[float] | None = None, run: Simulation = SIMULATION
) -> pd.DataFrame:
    """Return the coverage of the interval of a mean over `n` languages
    (`bootstrap.mean_interval`).

    Languages are drawn from `population`, shares of languages each as likely as any
    other; from the normal distribution unless given. Columns: method, interval, those
    of `coverage`. Intervals: `OURS`, `PLAIN`, and "Student's t", which allows for the
    small sample and assumes a normal distribution.
    """
    worlds, n_resamples, level, seed = run
    rng = np.random.default_rng([seed, n, 1])
    if population is None:
        scores, truth = rng.normal(size=(n, worlds)), 0.0
    else:
        scores = rng.choice(np.asarray(population, float), size=(n, worlds))
        truth = float(np.mean(population))
    value = scores.mean(axis=0)
    # As `bootstrap.mean_interval`, for all data sets at once.
    resampled = bootstrap.resample_weights(n, n_resamples, seed) @ scores / n
    half = (
        scipy_stats.t.ppf((1 + level) / 2, n - 1)
        * scores.std(axis=0, ddof=1)
        / np.sqrt(n)
    )
    ends = _both(resampled, level, n)
    if population is not None:
        ends[OURS] = proportions.share_interval(
            scores, np.ones(scores.shape), ends[OURS], level
        )
    ends |= {"Student's t": (value - half, value + half)}
    return _rows("languages drawn", truth, value, ends, level)


def _rows(method: str, truth, value, ends: dict, level: float) -> pd.DataFrame:
    """Return the `coverage` of several intervals, name -> (low, high): method,
    interval, and its columns.
    """
    rows = [
        {"method": method, "interval": name} | coverage(truth, value, *each, level)
        for name, each in ends.items()
    ]
    return pd.DataFrame(rows)


def _both(resampled: np.ndarray, level: float, n: int | None) -> dict:
    """Return the study's interval from resamples (resamples, worlds) of `n` clusters,
    and plain percentiles.
    """
    ends = {OURS: bootstrap.percentile_interval(resampled, level, n)}
    return (
        ends
        if n is None
        else ends | {PLAIN: bootstrap.percentile_interval(resampled, level)}
    )


def accuracy_over_classes(
    n: int,
    share: float = 0.4,
    spread: float = 2.0,
    images: int = 50,
    run: Simulation = SIMULATION,
) -> pd.DataFrame:
    """Return the coverage of the interval of an accuracy over `n` classes
    (`bootstrap.accuracy_interval`).

    The share of correct predictions of a class follows a beta distribution with mean
    `share` and parameters that add up to `spread` (small: classes are all or nothing),
    that of its `images` a binomial distribution. The truth is the mean over all classes
    there could be. Intervals: `OURS`; `PLAIN` and "expanded percentiles" with the exact
    interval where all or no images are right; "images independent", Wilson's interval
    of the share of all images, as if those of one class were independent.
    """
    worlds, n_resamples, level, seed = run
    rng = np.random.default_rng([seed, n, 2])
    right = rng.binomial(
        images, rng.beta(spread * share, spread * (1 - share), size=(n, worlds))
    )
    value = right.sum(axis=0) / (n * images)
    shares = right / images
    found = _both(
        bootstrap.resample_weights(n, n_resamples, seed) @ shares / n, level, n
    )
    found |= {"expanded percentiles": found[OURS]}
    for name, ends in found.items():
        near = proportions.SKEWED if name == OURS else 1e-9
        found[name] = proportions.share_interval(
            shares, np.ones(shares.shape), ends, level, near
        )
    found["images independent"] = wilson(value, np.full(worlds, n * images), level)
    return _rows("classes drawn", share, value, found, level)


def correlations(
    n: int,
    rows: int = 1,
    methods: Sequence[str] = correlation.METHODS,
    run: Simulation = SIMULATION,
) -> pd.DataFrame:
    """Return the coverage of the interval of `correlation.correlate` over `n` languages
    with `rows` rows each.

    The two columns are normal with correlation rho = 0.7; of several rows the languages
    make up half of the variance. The truth follows from rho: itself (Pearson), 6 / pi x
    arcsin(rho / 2) (Spearman), 2 / pi x arcsin(rho) (Kendall; Kruskal 1958, J. Am.
    Stat. Assoc. 53, 814-861). Column `method`: as in `correlation.correlate`; for
    correlations of ranks the study's interval is that of plain percentiles.
    """
    worlds, n_resamples, level, seed = run
    rho, shared = 0.7, 0.5 if rows > 1 else 0.0
    truth = {
        "pearson": rho,
        "spearman": 6 / np.pi * np.arcsin(rho / 2),
        "kendall": 2 / np.pi * np.arcsin(rho),
    }
    rng = np.random.default_rng([seed, n, rows, 3])
    mix = np.array([[1, 0], [rho, np.sqrt(1 - rho**2)]])
    own, rest = np.sqrt([shared, 1 - shared])
    lang = np.repeat([f"{number:04d}" for number in range(n)], rows)
    values = (
        own * rng.normal(size=(worlds, n, 1, 2))
        + rest * rng.normal(size=(worlds, n, rows, 2))
    ) @ mix.T
    found = []
    if "pearson" in methods:  # all data sets at once
        x, y = (values[..., column].swapaxes(1, 2) for column in (0, 1))
        whole, drawn = (
            _pearson(times, x, y, 1)
            for times in (
                np.ones((1, n)),
                bootstrap.resample_weights(n, n_resamples, seed),
            )
        )
        ends = _both(drawn, level, correlation.expandable("pearson", n))
        found.append(_rows("pearson", rho, whole[0], ends, level))
    ranks = [method for method in methods if method != "pearson"]
    if ranks:
        parts = []
        for world in values.reshape(worlds, n * rows, 2):
            table = pd.DataFrame({"lang": lang, "x": world[:, 0], "y": world[:, 1]})
            parts.append(
                correlation.correlate(
                    table, "x", "y", "lang", ranks, n_resamples, level, seed
                )
            )
        for method, part in pd.concat(parts, ignore_index=True).groupby(
            "method", sort=False
        ):
            found.append(
                _rows(
                    method,
                    truth[method],
                    part["value"],
                    {OURS: (part["ci_low"], part["ci_high"])},
                    level,
                )
            )
    return pd.concat(found, ignore_index=True)


def crossed_correlation(
    n: int, models: int = 11, run: Simulation = SIMULATION
) -> pd.DataFrame:
    """Return the coverage of Pearson's correlation over all pairs of `models` models
    and `n` languages.

    As with published results: each column is the sum of an effect of the model, one of
    the language, and a rest, which make up 0.5, 0.3 and 0.2 of its variance; the
    effects of the two columns have the correlation 0.7. Methods: languages drawn (the
    models are the same in all resamples), with the truth for these models and for
    models of the kind; models drawn; and both drawn (`correlation.correlate` with two
    columns of clusters, plain percentiles; 400 resamples at most).
    """
    worlds, n_resamples, level, seed = run
    shares, rho = (0.5, 0.3, 0.2), (0.7, 0.7, 0.7)
    rng = np.random.default_rng([seed, n, models, 4])
    effects = []
    for share, own, shape in zip(
        shares, rho, ((models, 1), (1, n), (models, n)), strict=True
    ):
        first = rng.normal(size=(worlds, *shape))
        second = own * first + np.sqrt(1 - own**2) * rng.normal(size=first.shape)
        effects.append((np.sqrt(share) * first, np.sqrt(share) * second))
    x, y = (sum(effect[column] for effect in effects) for column in (0, 1))
    rest = [
        sum(share * factor for share, factor in zip(shares[1:], factors, strict=True))
        for factors in ((1, 1), rho[1:])
    ]
    one, other = (effect.reshape(worlds, models) for effect in effects[0])
    joint = (one * other).mean(axis=1) - one.mean(axis=1) * other.mean(axis=1)
    # With these models, and all languages there could be.
    here = (joint + rest[1]) / np.sqrt(
        (one.var(axis=1) + rest[0]) * (other.var(axis=1) + rest[0])
    )
    always = float(np.dot(shares, rho) / sum(shares))
    value = _pearson(np.ones((1, n)), x, y, 1)[0]
    by_language, by_model = (
        _both(
            _pearson(bootstrap.resample_weights(size, n_resamples, seed), x, y, axis),
            level,
            clusters,
        )
        for axis, size in ((1, n), (2, models))
        for clusters in [correlation.expandable("pearson", size)]
    )
    fewer = min(n_resamples, 400)
    # As `correlation.crossed_weights`.
    times = [
        bootstrap.resample_weights(*each)
        for each in ((n, fewer, seed), (models, fewer, seed + 1_000_003))
    ]
    both = np.array(
        [_pearson_both(*times, *world) for world in zip(x, y, strict=True)]
    ).T
    parts = [
        _rows(
            "languages drawn, truth for these models", here, value, by_language, level
        ),
        _rows(
            "languages drawn, truth for models of the kind",
            always,
            value,
            by_language,
            level,
        ),
        _rows(
            "models drawn, truth for models of the kind", always, value, by_model, level
        ),
        _rows(
            "both drawn, truth for models of the kind",
            always,
            value,
            _both(both, level, None),
            level,
        ),
    ]
    return pd.concat(parts, ignore_index=True)


def _pearson(drawn: np.ndarray, x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    """Return the correlation by resample and data set; x, y: (worlds, models,
    languages), `axis` is summed over.
    """
    size = drawn.sum(axis=1, keepdims=True) * x.shape[axis]
    mean_x, mean_y, xx, yy, xy = (
        drawn @ each.sum(axis=axis).T / size for each in (x, y, x * x, y * y, x * y)
    )
    return (xy - mean_x * mean_y) / np.sqrt((xx - mean_x**2) * (yy - mean_y**2))


def _pearson_both(
    of_languages: np.ndarray, of_models: np.ndarray, x: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """Return the correlation in each resample of languages and models; x, y: (models,
    languages) of one data set.
    """
    sums = np.einsum(
        "crl,rl->cr", of_models @ np.stack([x, y, x * x, y * y, x * y]), of_languages
    )
    mean_x, mean_y, xx, yy, xy = sums / (
        of_languages.sum(axis=1) * of_models.sum(axis=1)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        return (xy - mean_x * mean_y) / np.sqrt((xx - mean_x**2) * (yy - mean_y**2))


def slope(
    n: int,
    sizes: Sequence[int] = (2, 5, 10, 20, 40, 80),
    per_doubling: float = -8.0,
    run: Simulation = SIMULATION,
) -> pd.DataFrame:
    """Return the coverage of the slope's interval of `regression.log_linear_fit` with
    `n` clusters, draws of subsets.

    Accuracy falls by `-per_doubling` points with each doubling of the `sizes`; each
    draw has one subset of each size. Deviations have a standard deviation of 3 points,
    of whose variance half is a slope of the draw's own.
    """
    worlds, n_resamples, level, seed = run
    rng = np.random.default_rng([seed, n, 5])
    x = np.log2(np.array(sizes, float))
    centred = (x - x.mean()) / x.std()
    own = np.sqrt(0.5) * rng.normal(size=(worlds, n, 1)) * centred
    gone = 3 * (own + np.sqrt(0.5) * rng.normal(size=(worlds, n, len(sizes))))
    # Every draw has the same sizes, so that the slope over some draws is the mean of
    # theirs.
    each = (gone @ (x - x.mean()) / ((x - x.mean()) ** 2).sum()).T + per_doubling
    resampled = bootstrap.resample_weights(n, n_resamples, seed) @ each / n
    return _rows(
        "draws of subsets drawn",
        per_doubling,
        each.mean(axis=0),
        _both(resampled, level, n),
        level,
    )


def rank(
    n: int,
    gaps: Sequence[float] = (0.0, 0.2, 0.4, 0.6, 0.8),
    run: Simulation = SIMULATION,
) -> pd.DataFrame:
    """Return the coverage of the intervals of ranks over `n` languages
    (`ranking.ranks`), all models taken together.

    The models' true means lie `gaps` apart from 0, in units of the standard deviation
    between languages, of whose variance 0.8 is the same for all models. The truth is
    the rank of the true means. A data set counts by the share of its models whose rank
    is covered, so that the interval of the coverage is rather too wide. `stretch` is
    NaN: ranks are whole numbers.
    """
    worlds, n_resamples, level, seed = run
    rng = np.random.default_rng([seed, n, len(gaps), 6])
    true = scipy_stats.rankdata(-np.asarray(gaps, float), method="min")
    names = [f"m{number:02d}" for number in range(len(gaps))]
    drawn, held = bootstrap.resample_weights(n, n_resamples, seed) / n, []
    for _ in range(worlds):
        effects = np.sqrt(0.8) * rng.normal(size=(n, 1)) + np.sqrt(
            1 - 0.8
        ) * rng.normal(size=(n, len(gaps)))
        scores = np.asarray(gaps, float) + effects
        both = []
        for clusters in (n, None):
            found = ranks.rank_intervals(
                names, scores.mean(axis=0), drawn @ scores, level, clusters
            )
            place = np.argsort(found["name"].to_numpy())
            low = found["rank_low"].to_numpy()[place]
            high = found["rank_high"].to_numpy()[place]
            both.append(
                [(true < low).mean(), (true > high).mean(), (high - low).mean()]
            )
        held.append(both)
    below, above, width = np.mean(held, axis=0).T
    value = 1 - below - above
    low, high = wilson(value, [worlds, worlds])
    found = {
        "method": "languages drawn",
        "interval": [OURS, PLAIN],
        "value": value,
        "ci_low": low,
        "ci_high": high,
    }
    found |= {
        "below": below,
        "above": above,
        "width": width,
        "stretch": np.nan,
        "worlds": worlds,
    }
    return pd.DataFrame(found)


def order(
    n: int, models: int = 12, rho: float = 0.9, run: Simulation = SIMULATION
) -> pd.DataFrame:
    """Return the coverage of the interval of Kendall's tau between two orders of models
    (`ranking.agreement`).

    The true means of the models under two measures are normal with correlation `rho`
    and the standard deviation of that between languages; the scores in `n` languages
    lie about them, with the language's own effect on all models. The truth is the tau
    of the true means of these models. Intervals: `OURS`, with its reflection; "plain
    percentiles, reflected"; `PLAIN`.
    """
    worlds, n_resamples, level, seed = run
    rng = np.random.default_rng([seed, n, models, 9])
    drawn, found = bootstrap.resample_weights(n, n_resamples, seed) / n, []
    for _ in range(worlds):
        true = rng.normal(size=(2, models))
        true[1] = rho * true[0] + np.sqrt(1 - rho**2) * true[1]
        scores = (
            true[:, None, :]
            + rng.normal(size=(1, n, 1))
            + rng.normal(size=(2, n, models))
        )
        truth, value = (
            float(correlation.kendall_by_row(*each))
            for each in (true, scores.mean(axis=1))
        )
        taus = correlation.kendall_by_row(drawn @ scores[0], drawn @ scores[1])
        ends = (
            ranking.reflected(value, taus, -1, level, n),
            ranking.reflected(value, taus, -1, level),
        )
        found.append(
            [
                truth,
                value,
                *ends[0],
                *ends[1],
                *map(float, bootstrap.percentile_interval(taus, level)),
            ]
        )
    truth, value, *ends = np.array(found).T
    named = {OURS: ends[:2], f"{PLAIN}, reflected": ends[2:4], PLAIN: ends[4:]}
    return _rows("languages drawn", truth, value, named, level)


def above(
    n: int, threshold: float = 0.3, images: int = 500, run: Simulation = SIMULATION
) -> pd.DataFrame:
    """Return the coverage of the interval of a number of languages whose accuracy
    reaches `threshold`.

    For `thresholds.languages_above`: the true accuracies of `n` languages follow a beta
    distribution with mean 0.3 and parameters that add up to 4; each is measured on
    `images` independent images. The truth is the number of the true accuracies that
    reach the threshold.
    """
    worlds, n_resamples, level, seed = run
    rng = np.random.default_rng([seed, n, 10])
    true = rng.beta(4 * 0.3, 4 * (1 - 0.3), size=(worlds, n))
    table = pd.DataFrame(
        {
            "model": np.arange(worlds).repeat(n),
            "lang": np.tile(np.arange(n), worlds),
            "n": images,
        }
    )
    table["value"] = rng.binomial(images, true).ravel() / images
    found = thresholds.languages_above(
        table, [threshold], "model", n_resamples, level, seed
    )
    truth = (true >= threshold).sum(axis=1)
    return _rows(
        "images resampled",
        truth,
        found["value"],
        {OURS: (found["ci_low"], found["ci_high"])},
        level,
    )


FLIPS = [
    f"sign flips, {how}"
    for how in ("all pairs together", "Holm's correction", "uncorrected")
]


def _significant(
    scores: np.ndarray, member: np.ndarray, n_permutations: int, alpha: float, seed: int
) -> np.ndarray:
    """Return which pairs of models differ by each method of `FLIPS`: (methods, pairs).

    `scores`: (languages, models); `member`: (languages, clusters), as
    `ranking.members`.
    """
    first, second = np.triu_indices(scores.shape[1], 1)
    p, together = permutation.step_down(
        member.T @ (scores[:, first] - scores[:, second]), n_permutations, seed
    )
    return np.array([together, multiple_comparisons.holm(p), p]) < alpha


def family_wise(
    n: int,
    models: int = 4,
    alpha: float = 0.05,
    worlds: int = 400,
    n_permutations: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return how often equal models differ significantly, by pairwise sign-flip tests
    over `n` languages.

    All models have the same true mean; of the variance between languages 0.8 is common
    to all. Columns: method (of `FLIPS`, the first as in `ranking.comparisons`), value
    (share of simulated data sets in which any pair differs at `alpha`), ci_low, ci_high
    (Wilson), worlds (their number), least (the smallest corrected p that so few
    languages allow: above `alpha` the test can never find a difference).
    """
    rng = np.random.default_rng([seed, n, models, 7])
    found = []
    for _ in range(worlds):
        # What is common to all models falls out of the differences.
        scores = np.sqrt(1 - 0.8) * rng.normal(size=(n, models))
        found.append(
            _significant(scores, np.eye(n), n_permutations, alpha, seed).any(axis=1)
        )
    value = np.mean(found, axis=0)
    low, high = wilson(value, [worlds] * 3)
    least = np.array([1, models * (models - 1) // 2, 1]) / len(
        permutation.sign_patterns(n, n_permutations, seed)
    )
    table = pd.DataFrame(
        {"value": value, "ci_low": low, "ci_high": high, "worlds": worlds}
    )
    return table.assign(method=FLIPS, least=np.minimum(1, least))


def told_apart(
    families: Sequence[int],
    models: int = 8,
    gap: float = 0.0,
    freedom: float | None = None,
    alpha: float = 0.05,
    worlds: int = 250,
    n_permutations: int = 10_000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return how often whole families' sign flips tell models apart that are equal, and
    that are not.

    `families`: how many languages each has. Half of the models have a mean that is
    `gap` higher; the rest of a score is as in `family_wise`, 0.3 of its variance
    between families, normal, or of Student's distribution with `freedom` degrees of
    freedom. Columns: statistic ("equal models": share of data sets in which any pair of
    equals differs significantly; "different models": mean share of the other pairs that
    do, none where `gap` is 0), method, value, ci_low, ci_high (Wilson, over data sets),
    worlds, least (as in `family_wise`).
    """
    sizes = np.asarray(families, int)
    rng = np.random.default_rng(
        [seed, len(sizes), models, int(10 * gap), int(freedom or 0), 12]
    )
    member = np.eye(len(sizes))[np.arange(len(sizes)).repeat(sizes)]
    better = np.arange(models) < models // 2
    first, second = np.triu_indices(models, 1)
    differ = (better[first] != better[second]) & (gap > 0)

    def drawn(n):
        if freedom is None:
            return rng.normal(size=(n, models))
        return rng.standard_t(freedom, size=(n, models)) / np.sqrt(
            freedom / (freedom - 2)
        )

    found = []
    for _ in range(worlds):
        rest = np.sqrt(0.3) * member @ drawn(len(sizes)) + np.sqrt(0.7) * drawn(
            len(member)
        )
        told = _significant(
            gap * better + np.sqrt(1 - 0.8) * rest, member, n_permutations, alpha, seed
        )
        found.append(
            [
                told[:, ~differ].any(axis=1),
                *([told[:, differ].mean(axis=1)] if gap else []),
            ]
        )
    value = np.mean(found, axis=0)  # (statistics, methods)
    least = np.array([1, len(first), 1]) / len(
        permutation.sign_patterns(len(sizes), n_permutations, seed)
    )
    table = pd.DataFrame(
        {"statistic": np.repeat(["equal models", "different models"][: len(value)], 3)}
    )
    low, high = wilson(value.ravel(), [worlds] * value.size)
    table = table.assign(
        method=FLIPS * len(value),
        value=value.ravel(),
        ci_low=low,
        ci_high=high,
        worlds=worlds,
    )
    return table.assign(least=np.tile(np.minimum(1, least), len(value)))


def board(
    n: int, items: int = 40, share: float = 0.5, run: Simulation = SIMULATION
) -> pd.DataFrame:
    """Return the coverage of `leaderboard.ranking` for a mean over `n` languages and
    `items` classes, both drawn.

    The logit of the share of correct predictions is the sum of an effect of the
    language, one of the class, and a rest, each normal with standard deviation 1, about
    `share`; every class has ten images. The truth, the mean over all languages and
    classes there could be, is an integral over that normal distribution.
    """
    worlds, n_resamples, level, seed = run
    rng = np.random.default_rng([seed, n, items, 8])
    middle = np.log(share / (1 - share))
    at, weight = np.polynomial.hermite_e.hermegauss(60)
    truth = float(
        (weight / weight.sum()) @ (1 / (1 + np.exp(-middle - np.sqrt(3) * at)))
    )
    drawn, found = bootstrap.resample_weights(items, n_resamples, seed), []
    for _ in range(worlds):
        logit = (
            middle
            + rng.normal(size=(n, 1))
            + rng.normal(size=(1, items))
            + rng.normal(size=(n, items))
        )
        right = rng.binomial(10, 1 / (1 + np.exp(-logit)))[None].astype(float)
        # As `leaderboard.ranking`, without its table.
        again = leaderboard.resampled_ranks(right, np.full(right.shape, 10.0), drawn)
        found.append(
            [
                right.mean() / 10,
                *leaderboard.resampled_means(again, range(n), n_resamples, seed)[:, 0],
            ]
        )
    found = np.array(found).T
    return _rows(
        "languages and classes drawn",
        truth,
        found[0],
        _both(found[1:], level, min(n, items)),
        level,
    )


def related(
    families: Sequence[int],
    shared: float = 0.3,
    n_permutations: int = 1000,
    run: Simulation = SIMULATION,
) -> pd.DataFrame:
    """Return the coverage of the difference of two equal models over languages that are
    related, and its false alarms.

    `families`: how many languages each family has. The difference in a language is the
    sum of an effect of its family, which makes up `shared` of the variance, and its
    own, both normal about 0, the truth. Methods: "languages drawn" and "families drawn"
    (`ranking.comparisons` without and with `cluster`). Columns: method, interval, those
    of `coverage`, and alarms: the share of data sets in which `permutation.sign_flips` of
    languages, or of whole families, has p below 1 - level.
    """
    worlds, n_resamples, level, seed = run
    families = np.asarray(families, int)
    rng = np.random.default_rng([seed, len(families), int(families.sum()), 11])
    index = np.arange(len(families)).repeat(families)
    own = rng.normal(size=(len(index), worlds))
    gaps = (
        np.sqrt(shared) * rng.normal(size=(len(families), worlds))[index]
        + np.sqrt(1 - shared) * own
    )
    parts = []
    for method, member in (
        ("languages drawn", np.eye(len(index))),
        ("families drawn", np.eye(len(families))[index]),
    ):
        times = (
            bootstrap.resample_weights(member.shape[1], n_resamples, seed) @ member.T
        )
        ends = bootstrap.percentile_interval(
            times @ gaps / times.sum(axis=1, keepdims=True), level, member.shape[1]
        )
        alarms = (
            permutation.sign_flips(member.T @ gaps, n_permutations, seed) < 1 - level
        )
        found = _rows(method, 0.0, gaps.mean(axis=0), {OURS: ends}, level)
        parts.append(found.assign(alarms=alarms.mean()))
    return pd.concat(parts, ignore_index=True)


def pairs_of_models(
    add: Callable, worlds: int, sizes: Sequence[int], level: float, seed: int
) -> None:
    """Add the simulations of tests of all pairs of models; Crossmodal-3600 has the
    families of `told_apart`.
    """
    for models in (4, 8):
        pairs = models * (models - 1) // 2
        for n in sizes:
            part = family_wise(
                n, models, 1 - level, worlds, max(1000, 40 * pairs), seed
            )
            add(
                "false positives",
                "any difference",
                f"{models} equal models, {pairs} pairs",
                n,
                part,
            )
    families = [20, 3, 2, 2, *[1] * 9]
    for models in (8, 24):
        for gap, who in ((0, "all equal"), (1, "half better")):
            for freedom, tails in ((None, "normal"), (3, "heavy tails")):
                part = told_apart(
                    families, models, gap, freedom, 1 - level, worlds, seed=seed
                )
                world = f"{models} models, {who}, {tails}"
                for statistic, rows in part.groupby("statistic", sort=False):
                    add("told apart", statistic, world, sum(families), rows)


def differences_of_families(
    add: Callable, accuracy: pd.DataFrame, run: Simulation
) -> None:
    """Add differences of two models over families, with as much of their variance
    between families as published accuracies have, and with other shares of it.
    """
    across = accuracy.pivot(index="lang", columns="model", values="value")
    family = pd.Series(languages.families(across.index)).reindex(across.index)
    first, second = np.triu_indices(across.shape[1], 1)
    values = across.to_numpy()
    shares = ranking.shared_by_clusters(values[:, first] - values[:, second], family)
    observed = round(float(np.median(shares)), 2)
    for shared in sorted({0.0, observed, 0.5}):
        part = related(family.value_counts(), shared, run=run)
        add(
            "families",
            "difference of two models",
            f"{shared:.0%} of the variance between families",
            len(family),
            part,
        )


def everything(
    worlds: int = 250,
    n_resamples: int = 400,
    sizes=(7, 11, 16, 35, 100),
    slow=(7, 11, 35),
    level=0.95,
    seed=0,
):
    """Return all simulations, one row each: section, statistic, world, n, and the
    columns of each simulation.

    `sizes`: numbers of languages, classes or draws. COCO-SM has 7 languages, XTD 11,
    the groups of Babel-ImageNet 16 to 35, all its languages together 100; `slow`: those
    for simulations that take longer, which have half or a quarter of the `worlds` and a
    third of the resamples. Models with the lowest and the highest mean of
    Babel-ImageNet stand for real distributions of accuracy over languages.
    """
    fast = Simulation(worlds, 3 * n_resamples, level, seed)
    half = Simulation(max(1, worlds // 2), n_resamples, level, seed)
    few = half._replace(worlds=max(1, worlds // 4))
    found = []

    def add(section, statistic, world, n, table):
        found.append(
            table.assign(section=section, statistic=statistic, world=world, n=n)
        )

    accuracy = published.accuracy_by_language("geigle2024").query("lang != 'en'")
    mean = accuracy.groupby("model")["value"].mean().sort_values()
    populations = {"normal": None}
    populations |= {
        name: accuracy.loc[accuracy["model"] == name, "value"]
        for name in mean.index[[0, -1]]
    }
    for world, population in populations.items():
        for n in sizes:
            add(
                "means",
                "mean over languages",
                world,
                n,
                mean_over_languages(n, population, fast),
            )
    kinds = {
        "40 %, classes differ much": (0.4, 1.0),
        "40 %, classes differ little": (0.4, 10.0),
        "3 %": (0.03, 1.0),
    }
    for world, (share, spread) in kinds.items():
        for n in sizes:
            add(
                "classes",
                "accuracy in a language",
                world,
                n,
                accuracy_over_classes(n, share, spread, run=fast),
            )
    for rows, world in (
        (1, "one row for each language"),
        (3, "3 rows for each language"),
    ):
        for n in slow:
            add("correlations", "correlation", world, n, correlations(n, rows, run=few))
    for n in sizes:
        part = crossed_correlation(n, run=fast)
        add(
            "crossed",
            "correlation of all pairs",
            "11 models crossed with languages",
            n,
            part,
        )
    for n in slow:
        for world, gaps in (
            ("close", (0, 0.05, 0.1, 0.15, 0.2)),
            ("apart", (0, 0.2, 0.4, 0.6, 0.8)),
        ):
            add("others", "rank", f"five models, {world}", n, rank(n, gaps, few))
        for world, rho in (("much alike", 0.95), ("little alike", 0.6)):
            add(
                "others",
                "Kendall's tau of orders",
                f"twelve models, orders {world}",
                n,
                order(n, rho=rho, run=half),
            )
        add("others", "log-linear slope", "six sizes in n draws", n, slope(n, run=half))
        add("others", "languages above 30 %", "500 images", n, above(n, run=half))
        add(
            "others",
            "mean over languages and classes",
            "40 classes crossed with languages",
            n,
            board(n, run=few),
        )
    differences_of_families(add, accuracy, fast)
    pairs_of_models(add, worlds, sizes, level, seed)
    columns = [
        "section",
        "statistic",
        "world",
        "n",
        "method",
        "interval",
        "value",
        "ci_low",
        "ci_high",
        "below",
        "above",
    ]
    columns += ["width", "stretch", "worlds", "alarms", "least"]
    return pd.concat(found, ignore_index=True)[columns]


if __name__ == "__main__":
    file = sys.argv[1] if len(sys.argv) > 1 else DATA / "interval_coverage.csv"
    everything().to_csv(file, index=False, float_format="%.10g")
