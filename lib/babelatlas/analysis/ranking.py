"""Ranks of models from scores by language alone: how many models differ significantly,
and whether two measures rank them alike.

Use these ranks for released and published results, which have one score for each model
and language; `leaderboard` makes those of a run, from correct predictions by class or
image. Here languages are resampled, the same for all models, and the images of a score
drawn from the binomial distribution of their number. Languages are related: where
`cluster` gives each language a family (`languages.families`), whole families are
resampled, and a test flips the signs of whole families.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
import scipy

from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap, correlation, permutation
from babelatlas.stats.ranks import rank_intervals

# Columns of a comparison of two models, here and in `leaderboard`: the group of
# languages, the better model and the other one, the difference of their means
# (fractions) with its 95 % interval, p and p adjusted for all pairs, the number of
# languages, of what is resampled as a whole, and the smallest p that it allows.
COMPARISON = ["group", "first", "second", "value", "ci_low", "ci_high"]
COMPARISON += ["p", "p_adjusted", "n", "n_clusters", "least"]


def by_language(scores: pd.DataFrame, value: str = "value") -> pd.DataFrame:
    """Return scores with one row for each language and one column for each model, only
    languages that all models have.

    `scores`: model, lang and `value`; models keep the order of the table, languages are
    sorted. Raises ValueError for a model that has a language twice, InputError where no
    language is left.

    >>> rows = [["b", "de", 0.5], ["a", "de", 0.2], ["b", "si", 0.1]]
    >>> by_language(pd.DataFrame(rows, columns=["model", "lang", "value"]))
    model    b    a
    lang
    de     0.5  0.2
    """
    models = list(dict.fromkeys(scores["model"]))
    table = scores.pivot(index="lang", columns="model", values=value)
    table = table.sort_index()[models].dropna()
    if table.empty:
        raise InputError(
            f"The models {', '.join(models)} have no language in common: compare fewer"
            " of them."
        )
    return table


def ranks(
    scores: pd.DataFrame,
    groups: dict[str, Sequence[str]] | None = None,
    cluster: Mapping[str, str] | None = None,
    images: bool = True,
    n_resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the models by their mean over languages, in all languages and in each
    group, with intervals.

    `scores`: model, lang, value (fraction) and, with `images`, n (images of the score).
    `groups`: name -> codes; "all" always comes first. `cluster`: language -> what is
    resampled as a whole, a family, say; every language by itself unless given.
    `images`: whether those of each score are resampled too; the scores hold their noise
    already, so that it then counts twice. Columns: group, model, value, ci_low,
    ci_high, rank, rank_low, rank_high, first (see `ranks.rank_intervals`), n
    (languages), n_clusters. A group of one cluster has no interval without images
    (NaN).
    """
    table = by_language(scores)
    values = table.to_numpy()[None]
    if images:
        values = _resampled_scores(scores, table, n_resamples, seed)
    parts = []
    for group, part in _groups(table, groups):
        in_group = table.index.isin(part.index)
        member = members(part.index, cluster)
        n_clusters = member.shape[1]
        weights = bootstrap.resample_weights(n_clusters, n_resamples, seed) @ member.T
        if images:
            sums = np.einsum("rl,rlm->rm", weights, values[:, in_group])
        else:
            sums = weights @ values[0, in_group]
        # Sums of the same numbers in another order differ in the last digit.
        means = (sums / weights.sum(axis=1, keepdims=True)).round(12)
        ranked = rank_intervals(
            list(table),
            part.to_numpy().mean(axis=0).round(12),
            means,
            n_clusters=n_clusters if n_clusters > 1 else None,
        )
        if n_clusters == 1 and not images:
            ranked[["ci_low", "ci_high"]] = np.nan
        ranked = ranked.rename(columns={"name": "model"})
        ranked.insert(0, "group", group)
        parts.append(ranked.assign(n=len(part), n_clusters=n_clusters))
    return pd.concat(parts, ignore_index=True)


def _resampled_scores(
    scores: pd.DataFrame, table: pd.DataFrame, n_resamples: int, seed: int
) -> np.ndarray:
    """Return each score of `table` drawn from the binomial distribution of its images:
    (resamples, languages, models).
    """
    n_images = by_language(scores, "n")
    n_images = n_images.reindex(index=table.index, columns=table.columns).to_numpy()
    rng = np.random.default_rng([seed, *table.shape])
    size = (n_resamples, *table.shape)
    return rng.binomial(n_images.astype(int), table.to_numpy(), size=size) / n_images


def _groups(
    table: pd.DataFrame, groups: dict[str, Sequence[str]] | None
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield "all" and each group of languages that has some in a table, with their
    rows.
    """
    for group, codes in {"all": list(table.index), **(groups or {})}.items():
        part = table[table.index.isin(list(codes))]
        if len(part):
            yield group, part


def members(codes: Sequence[str], cluster: Mapping[str, str] | None) -> np.ndarray:
    """Return which language belongs to which cluster, 1 or 0: (languages, clusters);
    each to its own for None.
    """
    if cluster is None:
        return np.eye(len(codes))
    return pd.get_dummies([cluster[code] for code in codes], dtype=float).to_numpy()


def comparisons(
    scores: pd.DataFrame,
    groups: dict[str, Sequence[str]] | None = None,
    n_resamples: int = 2000,
    n_permutations: int = 10_000,
    seed: int = 0,
    cluster: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Compare all models in pairs over languages, in all languages and in each group.

    `scores`, `groups` and `cluster` as in `ranks`. Columns: `COMPARISON`; the interval
    is a bootstrap over clusters, p that of `permutation.sign_flips` of the differences, and
    adjusted for all pairs of the group by `permutation.step_down`. Rows are in the order of
    the ranks. A group of one cluster has neither interval nor p (NaN).
    """
    parts = []
    for group, part in _groups(by_language(scores), groups):
        member = members(part.index, cluster)
        n_clusters = member.shape[1]
        table = _pairs(part).assign(group=group, n=len(part), n_clusters=n_clusters)
        if n_clusters > 1 and len(table):
            gaps = part[table["first"]].to_numpy() - part[table["second"]].to_numpy()
            weights = bootstrap.resample_weights(n_clusters, n_resamples, seed)
            weights = weights @ member.T
            means = weights @ gaps / weights.sum(axis=1, keepdims=True)
            low, high = bootstrap.percentile_interval(means, n_clusters=n_clusters)
            p, p_adjusted = permutation.step_down(member.T @ gaps, n_permutations, seed)
            patterns = permutation.sign_patterns(n_clusters, n_permutations, seed)
            table = table.assign(ci_low=low, ci_high=high, p=p, p_adjusted=p_adjusted)
            table = table.assign(least=1 / len(patterns))
        parts.append(table)
    return pd.concat(parts, ignore_index=True)


def _pairs(table: pd.DataFrame) -> pd.DataFrame:
    """Return all pairs of models in the order of their means, with the difference of
    these; the other numbers of `COMPARISON` are NaN.
    """
    mean = table.mean().round(12)
    models = sorted(table, key=lambda model: (-mean[model], model))
    pairs = pd.DataFrame(
        combinations(models, 2), columns=["first", "second"], dtype=str
    )
    pairs = pairs.reindex(columns=COMPARISON)
    first = mean[pairs["first"]].to_numpy(float)
    second = mean[pairs["second"]].to_numpy(float)
    numbers = ["ci_low", "ci_high", "p", "p_adjusted", "least"]
    return pairs.assign(value=first - second).astype(dict.fromkeys(numbers, float))


def shared_by_clusters(values: np.ndarray, clusters: Sequence) -> np.ndarray:
    """Return which share of the variance of each column lies between clusters: the
    intraclass correlation.

    `values`: (languages, columns), such as differences of two models; `clusters`: of
    each language, its family, say. Estimated from the mean squares between and within
    clusters of unequal size (one-way analysis of variance), at least 0; NaN or infinite
    unless there are two clusters, and one with two languages.
    """
    _, index, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    n_languages = len(index)
    n_clusters = len(sizes)
    member = np.eye(n_clusters)[index]
    means = member.T @ values / sizes[:, None]

    squares_within = ((values - means[index]) ** 2).sum(axis=0)
    within = squares_within / (n_languages - n_clusters)
    squares_between = sizes[:, None] * (means - values.mean(axis=0)) ** 2
    between = squares_between.sum(axis=0) / (n_clusters - 1)
    typical_size = n_languages - (sizes**2).sum() / n_languages
    typical_size = typical_size / (n_clusters - 1)
    variance_between = np.maximum(0, between - within) / typical_size
    total = variance_between + within
    return variance_between / np.where(total > 0, total, np.nan)


def significantly_different(pairs: pd.DataFrame, alpha: float = 0.05) -> pd.DataFrame:
    """Return, for each group of `comparisons`, how many models differ significantly
    from one another.

    Columns: group, models, pairs, apart (pairs with p_adjusted below `alpha`), separate
    (the largest number of models of which any two differ), who (these, the best first),
    n (languages), possible (False where with so few clusters no pair could differ
    significantly).
    """
    rows = []
    for group, part in pairs.groupby("group", sort=False):
        # The pairs come in the order of the ranks.
        names = list(dict.fromkeys([*part["first"], *part["second"]]))
        different = part.loc[part["p_adjusted"] < alpha, ["first", "second"]].to_numpy()
        separate = list(_largest(names, set(map(frozenset, different))))
        rows.append(
            {
                "group": group,
                "models": len(names),
                "pairs": len(part),
                "apart": len(different),
                "separate": len(separate),
                "who": separate,
                "n": part["n"].iloc[0],
                "possible": bool((part["least"] < alpha).all()),
            }
        )
    columns = ["group", "models", "pairs", "apart", "separate", "who", "n", "possible"]
    return pd.DataFrame(rows, columns=columns)


def _largest(
    names: list[str],
    different: set[frozenset],
    chosen: tuple[str, ...] = (),
    best: tuple = (),
) -> tuple:
    """Return the largest set of names of which any two differ, the first of several
    (branch and bound).
    """
    best = max(best, chosen, key=len)
    for place, name in enumerate(names):
        if len(chosen) + len(names) - place <= len(best):
            break
        rest = [
            other
            for other in names[place + 1 :]
            if frozenset((name, other)) in different
        ]
        best = _largest(rest, different, (*chosen, name), best)
    return best


def agreement(
    first: pd.DataFrame,
    second: pd.DataFrame,
    over: str = "languages",
    paired: bool = True,
    n_resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return how far two tables of scores rank their models alike: one row.

    `first` and `second`: model, lang, value each, as for `by_language`; only models
    that both have are compared, by their means over languages. Columns: tau (Kendall's
    tau-b), tau_low, tau_high; own (the mean tau of relabellings: what tau would be if
    both measures ordered the models alike), p_own (the share of relabellings whose tau
    is not above that observed: a small one says that the orders differ); p (of no
    association, `scipy.stats.kendalltau`); models, pairs, swapped (pairs in the other
    order), apart (pairs that differ significantly on both sides by `comparisons`),
    apart_swapped (of these, those in the other order); n (languages of the first),
    n_second.

    The interval resamples `over` "languages" (the same ones for both sides where
    `paired`, then only languages that both have; each side its own ones if not), or
    "models", where there are no languages to resample: see `reflected`. NaN where tau
    is 1 or -1 over models, for fewer than two languages, or where tau is not defined. A
    relabelling brings both sides to mean 0 and standard deviation 1 of the models'
    means, and exchanges the sides in languages chosen at random, where `paired`; else
    it splits the languages of both into two random sets of their sizes. Raises
    InputError for fewer than two models, or where paired no language, that both have.
    """
    first, second = _comparable(first, second, paired)
    means = [table.mean().to_numpy().round(12) for table in (first, second)]
    tau = float(correlation.kendall_by_row(*means))
    is_defined = np.isfinite(tau)
    left, right = np.triu_indices(len(first.columns), 1)
    gaps_first = means[0][left] - means[0][right]
    opposite = gaps_first * (means[1][left] - means[1][right]) < 0
    row = {"tau": tau}
    row |= dict.fromkeys(["tau_low", "tau_high", "own", "p_own"], np.nan)
    row |= {
        "p": float(scipy.stats.kendalltau(*means).pvalue) if is_defined else np.nan,
        "models": len(first.columns),
        "pairs": len(left),
        "swapped": int(opposite.sum()),
        "apart": 0,
        "apart_swapped": 0,
    }
    if over == "models" and abs(tau) < 1:
        row["tau_low"], row["tau_high"] = _tau_over_models(
            tau, means, n_resamples, seed
        )
    elif over == "languages" and min(len(first), len(second)) > 1:
        if is_defined:
            row |= _tau_over_languages(tau, first, second, paired, n_resamples, seed)
        apart = np.all(
            [
                permutation.step_down(table[:, left] - table[:, right], seed=seed)[1]
                < 0.05
                for table in (first.to_numpy(), second.to_numpy())
            ],
            axis=0,
        )
        row["apart"] = int(apart.sum())
        row["apart_swapped"] = int((apart & opposite).sum())
    return pd.DataFrame([row | {"n": len(first), "n_second": len(second)}])


def _comparable(
    first: pd.DataFrame, second: pd.DataFrame, paired: bool
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both tables as `by_language`, with the models that both have, and where
    paired the languages.
    """
    in_second = set(second["model"])
    models = [name for name in dict.fromkeys(first["model"]) if name in in_second]
    if len(models) < 2:
        raise InputError(
            "Two orders need two models that both have, at least, got"
            f" {', '.join(models) or 'none'}."
        )
    first, second = (
        by_language(table[table["model"].isin(models)])[models]
        for table in (first, second)
    )
    if not paired:
        return first, second
    shared = first.index.intersection(second.index)
    if shared.empty:
        raise InputError(
            "The two tables have no language in common: set paired to False to"
            " compare all of each."
        )
    return first.loc[shared], second.loc[shared]


def _tau_over_models(
    tau: float, means: Sequence[np.ndarray], n_resamples: int, seed: int
) -> tuple[float, float]:
    """Return the interval of a tau over resampled models."""
    n_models = len(means[0])
    rng = np.random.default_rng([seed, n_models])
    resampled = rng.integers(n_models, size=(n_resamples, n_models))
    return reflected(
        tau, correlation.kendall_by_row(means[0][resampled], means[1][resampled]), -1
    )


def _tau_over_languages(
    tau: float,
    first: pd.DataFrame,
    second: pd.DataFrame,
    paired: bool,
    n_resamples: int,
    seed: int,
) -> dict[str, float]:
    """Return tau_low, tau_high, own and p_own of `agreement`."""
    means = []
    for table, its_seed in ((first, seed), (second, seed if paired else seed + 1)):
        weights = bootstrap.resample_weights(len(table), n_resamples, its_seed)
        means.append((weights @ table.to_numpy() / len(table)).round(12))
    n_clusters = min(len(first), len(second))
    low, high = reflected(
        tau, correlation.kendall_by_row(*means), -1, n_clusters=n_clusters
    )
    taus = correlation.kendall_by_row(
        *_relabelled(first, second, paired, n_resamples, seed)
    )
    n_as_low = np.sum(taus <= tau + 1e-9)
    return {
        "tau_low": low,
        "tau_high": high,
        "own": float(np.nanmean(taus)),
        "p_own": float((n_as_low + 1) / (n_resamples + 1)),
    }


def reflected(
    value: float,
    resampled: np.ndarray,
    least: float,
    level: float = 0.95,
    n_clusters: int | None = None,
) -> tuple[float, float]:
    """Return the percentile interval of `resampled`, joined with its reflection about
    `value`, from `least` to 1.

    For what the noise of resampling can only lower, so that percentiles alone lie too
    low (chapter 33 simulates both).

    >>> reflected(0.8, np.array([0.2, 0.6, 0.7, 0.9]), 0, 0.5)
    (0.5, 1.0)
    """
    low, high = map(float, bootstrap.percentile_interval(resampled, level, n_clusters))
    return max(least, min(low, 2 * value - high)), min(1.0, max(high, 2 * value - low))


def _relabelled(
    first: pd.DataFrame,
    second: pd.DataFrame,
    paired: bool,
    n_resamples: int,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the standardised means (resamples, models) of both sides, languages
    exchanged or reassigned at random.
    """
    n_first, n_second = len(first), len(second)
    first, second = (
        (side - side.mean().mean()).to_numpy() / side.mean().std(ddof=0)
        for side in (first, second)
    )
    rng = np.random.default_rng([seed, n_first, n_second, 1])
    if paired:
        size = (n_resamples, n_first)
        signs = 1.0 - 2 * rng.integers(2, size=size, dtype=np.int8)
        middle = (first + second).mean(axis=0) / 2
        away = signs @ (first - second) / (2 * n_first)
        return (middle + away).round(12), (middle - away).round(12)
    pool = np.vstack([first, second])
    order = rng.random((n_resamples, len(pool))).argsort(axis=1)
    in_first = (order < n_first).astype(float)
    mean_first = (in_first @ pool / n_first).round(12)
    mean_second = ((1 - in_first) @ pool / n_second).round(12)
    return mean_first, mean_second
