"""How many models differ significantly, and whether two measures rank them alike, from
scores by language only.

`leaderboard` ranks the models of a run from correct predictions by class. Published
results have one score for each model and language; here languages are resampled, the
same for all models, and the images of a score drawn from the binomial distribution of
their number. Languages are related: where `cluster` gives each language a family
(`languages.families`), whole families are resampled, and a test flips the signs of
whole families.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap, correlation, permutation
from babelatlas.stats.ranks import rank_intervals


def by_language(scores: pd.DataFrame, value: str = "value") -> pd.DataFrame:
    """Return scores with one row for each language and one column for each model, only
    languages that all models have.

    `scores`: model, lang and `value`; models keep the order of the table, languages are
    sorted. Raises ValueError for a model that has a language twice, InputError where no
    language is left.

    >>> by_language(pd.DataFrame({"model": ["b", "a", "b"], "lang": ["de", "de", "si"], "value": [0.5, 0.2, 0.1]}))
    model    b    a
    lang
    de     0.5  0.2
    """
    models = list(dict.fromkeys(scores["model"]))
    wide = (
        scores.pivot(index="lang", columns="model", values=value)
        .sort_index()[models]
        .dropna()
    )
    if wide.empty:
        raise InputError(
            f"The models {', '.join(models)} have no language in common: compare fewer"
            " of them."
        )
    return wide


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
    wide, parts = by_language(scores), []
    values = wide.to_numpy()[None]
    if images:
        n = (
            by_language(scores, "n")
            .reindex(index=wide.index, columns=wide.columns)
            .to_numpy()
        )
        rng = np.random.default_rng([seed, *wide.shape])
        values = (
            rng.binomial(
                n.astype(int), wide.to_numpy(), size=(n_resamples, *wide.shape)
            )
            / n
        )
    for group, part in _groups(wide, groups):
        rows = wide.index.isin(part.index)
        member = members(part.index, cluster)
        n = member.shape[1]
        times = bootstrap.resample_weights(n, n_resamples, seed) @ member.T
        means = (
            np.einsum("rl,rlm->rm", times, values[:, rows])
            if images
            else times @ values[0, rows]
        )
        # Sums of the same numbers in another order differ in the last digit.
        means = (means / times.sum(axis=1, keepdims=True)).round(12)
        value = part.to_numpy().mean(axis=0).round(12)
        ranked = rank_intervals(
            list(wide), value, means, n_clusters=n if n > 1 else None
        )
        if n == 1 and not images:
            ranked[["ci_low", "ci_high"]] = np.nan
        parts.append(
            ranked.rename(columns={"name": "model"}).assign(
                group=group, n=len(part), n_clusters=n
            )
        )
    table = pd.concat(parts, ignore_index=True)
    return table[
        [
            "group",
            "model",
            *(column for column in table if column not in ("group", "model")),
        ]
    ]


def _groups(
    wide: pd.DataFrame, groups: dict[str, Sequence[str]] | None
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield "all" and each group of languages that has some in `wide`, with their rows."""
    for group, codes in {"all": list(wide.index), **(groups or {})}.items():
        part = wide[wide.index.isin(list(codes))]
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

    `scores`, `groups` and `cluster` as in `ranks`. Columns: group, first (the better),
    second, value, ci_low, ci_high (difference of the means, bootstrap over clusters), p
    (`permutation.sign_flips` of the differences), p_adjusted (for all pairs of the group,
    `permutation.step_down`), n (languages), n_clusters, least (the smallest p that so few
    clusters allow). Rows are in the order of the ranks. A group of one cluster has
    neither interval nor p (NaN).
    """
    parts = []
    for group, part in _groups(by_language(scores), groups):
        mean = part.mean().round(12)
        pairs = list(
            combinations(sorted(part, key=lambda model: (-mean[model], model)), 2)
        )
        table = pd.DataFrame(
            [(group, *pair) for pair in pairs],
            columns=["group", "first", "second"],
            dtype=str,
        )
        table["value"] = (
            mean[table["first"]].to_numpy() - mean[table["second"]].to_numpy()
        ).astype(float)
        member = members(part.index, cluster)
        n = member.shape[1]
        table[["ci_low", "ci_high", "p", "p_adjusted"]] = np.nan
        table = table.assign(n=len(part), n_clusters=n, least=np.nan)
        if n > 1 and pairs:
            gaps = part[table["first"]].to_numpy() - part[table["second"]].to_numpy()
            times = bootstrap.resample_weights(n, n_resamples, seed) @ member.T
            drawn = times @ gaps / times.sum(axis=1, keepdims=True)
            table["ci_low"], table["ci_high"] = bootstrap.percentile_interval(
                drawn, n_clusters=n
            )
            table["p"], table["p_adjusted"] = permutation.step_down(
                member.T @ gaps, n_permutations, seed
            )
            table["least"] = 1 / len(permutation.sign_patterns(n, n_permutations, seed))
        parts.append(table)
    return pd.concat(parts, ignore_index=True)


def shared_by_clusters(values: np.ndarray, clusters: Sequence) -> np.ndarray:
    """Return which share of the variance of each column lies between clusters: the
    intraclass correlation.

    `values`: (languages, columns), such as differences of two models; `clusters`: of
    each language, its family, say. Estimated from the mean squares between and within
    clusters of unequal size (one-way analysis of variance), at least 0; NaN or infinite
    unless there are two clusters, and one with two languages.
    """
    _, index, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    n, k = len(index), len(sizes)
    member = np.eye(k)[index]
    means = member.T @ values / sizes[:, None]
    within = ((values - means[index]) ** 2).sum(axis=0) / (n - k)
    between = (sizes[:, None] * (means - values.mean(axis=0)) ** 2).sum(axis=0) / (
        k - 1
    )
    share = np.maximum(0, between - within) / ((n - (sizes**2).sum() / n) / (k - 1))
    return share / np.where(share + within > 0, share + within, np.nan)


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
        names = list(
            dict.fromkeys([*part["first"], *part["second"]])
        )  # the pairs come in the order of the ranks
        different = part.loc[part["p_adjusted"] < alpha, ["first", "second"]].to_numpy()
        who = list(_largest(names, set(map(frozenset, different))))
        possible = bool((part["least"] < alpha).all())
        rows.append(
            [
                group,
                len(names),
                len(part),
                len(different),
                len(who),
                who,
                part["n"].iloc[0],
                possible,
            ]
        )
    return pd.DataFrame(
        rows,
        columns=[
            "group",
            "models",
            "pairs",
            "apart",
            "separate",
            "who",
            "n",
            "possible",
        ],
    )


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
    models = [
        model
        for model in dict.fromkeys(first["model"])
        if model in set(second["model"])
    ]
    if len(models) < 2:
        raise InputError(
            "Two orders need two models that both have, at least, got"
            f" {', '.join(models) or 'none'}."
        )
    one, other = (
        by_language(table[table["model"].isin(models)])[models]
        for table in (first, second)
    )
    if paired:
        both = one.index.intersection(other.index)
        if both.empty:
            raise InputError(
                "The two tables have no language in common: set paired to False to"
                " compare all of each."
            )
        one, other = one.loc[both], other.loc[both]
    means = [table.mean().to_numpy().round(12) for table in (one, other)]
    tau = float(correlation.kendall_by_row(*means))
    row = {"tau": tau} | dict.fromkeys(["tau_low", "tau_high", "own", "p_own"], np.nan)
    row["p"] = (
        float(scipy_stats.kendalltau(*means).pvalue) if np.isfinite(tau) else np.nan
    )
    left, right = np.triu_indices(len(models), 1)
    opposite = (means[0][left] - means[0][right]) * (
        means[1][left] - means[1][right]
    ) < 0
    row |= {
        "models": len(models),
        "pairs": len(left),
        "swapped": int(opposite.sum()),
        "apart": 0,
        "apart_swapped": 0,
    }
    if over == "models" and abs(tau) < 1:
        drawn = np.random.default_rng([seed, len(models)]).integers(
            len(models), size=(n_resamples, len(models))
        )
        row["tau_low"], row["tau_high"] = reflected(
            tau, correlation.kendall_by_row(means[0][drawn], means[1][drawn]), -1
        )
    elif over == "languages" and min(len(one), len(other)) > 1:
        if np.isfinite(tau):
            drawn = [
                (
                    bootstrap.resample_weights(len(wide), n_resamples, stream)
                    @ wide.to_numpy()
                    / len(wide)
                ).round(12)
                for wide, stream in ((one, seed), (other, seed if paired else seed + 1))
            ]
            row["tau_low"], row["tau_high"] = reflected(
                tau,
                correlation.kendall_by_row(*drawn),
                -1,
                n_clusters=min(len(one), len(other)),
            )
            taus = correlation.kendall_by_row(
                *_relabelled(one, other, paired, n_resamples, seed)
            )
            row["own"] = float(np.nanmean(taus))
            row["p_own"] = float((np.sum(taus <= tau + 1e-9) + 1) / (n_resamples + 1))
        gaps = (
            side.to_numpy()[:, left] - side.to_numpy()[:, right]
            for side in (one, other)
        )
        apart = np.all(
            [permutation.step_down(each, seed=seed)[1] < 0.05 for each in gaps], axis=0
        )
        row |= {
            "apart": int(apart.sum()),
            "apart_swapped": int((apart & opposite).sum()),
        }
    return pd.DataFrame([row | {"n": len(one), "n_second": len(other)}])


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
    one: pd.DataFrame, other: pd.DataFrame, paired: bool, n_resamples: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the standardised means (resamples, models) of both sides, languages
    exchanged or reassigned at random.
    """
    first, second = (
        (side - side.mean().mean()).to_numpy() / side.mean().std(ddof=0)
        for side in (one, other)
    )
    rng = np.random.default_rng([seed, len(one), len(other), 1])
    if paired:
        signs = 1.0 - 2 * rng.integers(2, size=(n_resamples, len(one)), dtype=np.int8)
        middle, away = (
            (first + second).mean(axis=0) / 2,
            signs @ (first - second) / (2 * len(one)),
        )
        return (middle + away).round(12), (middle - away).round(12)
    pool = np.vstack([first, second])
    chosen = (rng.random((n_resamples, len(pool))).argsort(axis=1) < len(one)).astype(
        float
    )
    return (chosen @ pool / len(one)).round(12), (
        (1 - chosen) @ pool / len(other)
    ).round(12)
