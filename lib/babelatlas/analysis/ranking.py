"""How many models differ significantly, and whether two measures rank them alike, from scores by language only.

`leaderboard` ranks the models of a run from correct predictions by class. Published results have no classes, only one
score for each model and language; here languages are resampled, the same for all models, and the images of a score
drawn from the binomial distribution of their number. Languages are related: where `cluster` gives each language a
family (`languages.families`), whole families are drawn, and a test turns the signs of whole families.

Two orders of the same models, by two label sets or two tasks, say, are compared by Kendall's tau and by how many of the
k best they share. A tau below 1 means little by itself: where models are close, chance alone orders them otherwise.
Each tau is therefore given with what it would be if the two measures ranked the models alike (`agreement`).
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap, checks, tests

DRAWN = ("languages", "images", "languages and images")
OVER = ("languages", "models")


def by_language(scores: pd.DataFrame, value: str = "value") -> pd.DataFrame:
    """Return scores with one row for each language and one column for each model, only languages that all models have.

    `scores`: model, lang and `value`; models keep the order of the table, languages are sorted. Raises InputError for
    an empty table, missing values, a model that has a language twice, and where no language is left.

    >>> by_language(pd.DataFrame({"model": ["b", "a", "b"], "lang": ["de", "de", "si"], "value": [0.5, 0.2, 0.1]}))
    model    b    a
    lang
    de     0.5  0.2
    """
    checks.check_numbers(scores, [value], "A ranking", ["model", "lang"])
    if scores.duplicated(["model", "lang"]).any():
        raise InputError(
            "A ranking needs one score for each model and language, but some occur twice: take one of them."
        )
    models = list(dict.fromkeys(scores["model"]))
    wide = scores.pivot(index="lang", columns="model", values=value).sort_index()[models].dropna()
    if wide.empty:
        raise InputError(f"The models {', '.join(models)} have no language in common: compare fewer of them.")
    return wide


def _images(scores: pd.DataFrame, wide: pd.DataFrame, n_resamples: int, seed: int) -> np.ndarray:
    """Return every score resampled from the binomial distribution of its images: (resamples, languages, models)."""
    checks.check_numbers(scores, ["n"], "Resampled images")
    images = by_language(scores, "n").reindex(index=wide.index, columns=wide.columns).to_numpy()
    if (images < 1).any() or ((wide < 0) | (wide > 1)).any(axis=None):
        raise InputError(
            "Images can be resampled only for shares of a number of images: give fractions from 0 to 1, and their n."
        )
    checks.check_draws(n_resamples, seed)
    rng = np.random.default_rng([seed, *wide.shape])
    return rng.binomial(images.astype(int), wide.to_numpy(), size=(n_resamples, *wide.shape)) / images


def ranks(
    scores: pd.DataFrame,
    groups: dict[str, Sequence[str]] | None = None,
    drawn: str = "languages and images",
    n_resamples: int = 2000,
    seed: int = 0,
    cluster: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Return the models by their mean over languages, in all languages and in each group, with intervals.

    `scores`: model, lang, value (fraction) and, where images are drawn, n (images of the score). `groups`: name ->
    codes; "all" always comes first. `drawn`: one of `DRAWN`; with "languages" other languages could have been chosen,
    with "images" they are all there are, and only the images are a sample. `cluster`: language -> what is drawn as a
    whole, a family, say; every language by itself unless given. Columns: group, model, value, ci_low, ci_high, rank,
    rank_low, rank_high, first (see `tests.rank_intervals`), n (languages), n_clusters. The scores hold the noise of
    their images already: where languages are drawn as well, it counts twice. A group of one cluster has, where only
    languages are drawn, no interval (NaN). Raises what `by_language` raises, and InputError for another `drawn`, or a
    language without a cluster.
    """
    if drawn not in DRAWN:
        raise InputError(f"A ranking draws one of {', '.join(DRAWN)}; got {drawn!r}.")
    wide = by_language(scores)
    values = wide.to_numpy()[None] if drawn == "languages" else _images(scores, wide, n_resamples, seed)
    parts = []
    for group, place in _places(wide, groups):
        member = members(wide.index[place], cluster)
        n = member.shape[1]
        times = np.ones((n_resamples, len(place)))
        if drawn != "images":
            times = bootstrap.resample_weights(n, n_resamples, seed) @ member.T
        chosen = values[:, place]
        means = times @ chosen[0] if len(chosen) == 1 else np.einsum("rl,rlm->rm", times, chosen)
        # Sums of the same numbers in another order differ in the last digit.
        means = (means / times.sum(axis=1, keepdims=True)).round(12)
        value = wide.to_numpy()[place].mean(axis=0).round(12)
        found = tests.rank_intervals(list(wide), value, means, n_clusters=n if n > 1 and drawn != "images" else None)
        if n == 1 and drawn == "languages":
            found[["ci_low", "ci_high"]] = np.nan
        parts.append(found.rename(columns={"name": "model"}).assign(group=group, n=len(place), n_clusters=n))
    table = pd.concat(parts, ignore_index=True)
    return table[["group", "model", *(column for column in table if column not in ("group", "model"))]]


def _places(wide: pd.DataFrame, groups: dict[str, Sequence[str]] | None) -> Iterator[tuple[str, np.ndarray]]:
    """Yield "all" and each group of languages that has some in `wide`, with their rows."""
    for group, codes in {"all": list(wide.index), **(groups or {})}.items():
        place = np.flatnonzero(wide.index.isin(list(codes)))
        if len(place):
            yield group, place


def members(codes: Sequence[str], cluster: Mapping[str, str] | None) -> np.ndarray:
    """Return which language belongs to which cluster, 1 or 0: (languages, clusters); each to its own for None."""
    if cluster is None:
        return np.eye(len(codes))
    without = [code for code in codes if code not in cluster]
    if without:
        raise InputError(f"Clusters of languages need one for each, but {without[0]!r} has none.")
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

    `scores`, `groups` and `cluster` as in `ranks`. Columns: group, first (the better), second, value, ci_low, ci_high
    (difference of the means, bootstrap over clusters), p (`sign_flip_test` of the differences), p_holm (corrected by
    Holm's method for all pairs of the group), n (languages), n_clusters, least (the smallest p_holm that so few
    clusters allow). Rows are in the order of the ranks. A group of one cluster has neither interval nor p (NaN).
    """
    wide = by_language(scores)
    parts = []
    for group, place in _places(wide, groups):
        part = wide.iloc[place]
        mean = part.mean().round(12)
        pairs = list(combinations(sorted(part, key=lambda model: (-mean[model], model)), 2))
        table = pd.DataFrame(pairs, columns=["first", "second"], dtype=str)
        table.insert(0, "group", group)
        table["value"] = (mean[table["first"]].to_numpy() - mean[table["second"]].to_numpy()).astype(float)
        member = members(part.index, cluster)
        n = member.shape[1]
        table[["ci_low", "ci_high", "p", "p_holm"]] = np.nan
        table = table.assign(n=len(part), n_clusters=n, least=np.nan)
        if n > 1 and pairs:
            gaps = part[table["first"]].to_numpy() - part[table["second"]].to_numpy()
            times = bootstrap.resample_weights(n, n_resamples, seed) @ member.T
            drawn = times @ gaps / times.sum(axis=1, keepdims=True)
            table["ci_low"], table["ci_high"] = bootstrap.percentile_interval(drawn, n_clusters=n)
            table["p"] = sign_flip_test(gaps, n_permutations, seed, member)
            table["p_holm"] = tests.holm(table["p"])
            table["least"] = least_p(n, len(pairs), n_permutations)
        parts.append(table)
    return pd.concat(parts, ignore_index=True)


def least_p(n_clusters: int, n_pairs: int, n_permutations: int) -> float:
    """Return the smallest p that `sign_flips` of so many clusters can give, corrected by Holm's method for pairs."""
    return min(1.0, n_pairs * max(2.0 ** (1 - n_clusters), 1 / (n_permutations + 1)))


def sign_flip_test(
    gaps: np.ndarray, n_permutations: int = 10_000, seed: int = 0, member: np.ndarray | None = None
) -> np.ndarray:
    """Return `tests.paired_permutation_test` for each column of `gaps` (languages, pairs), with the same signs for all.

    `member` (languages, clusters; 1 where a language belongs to a cluster, else 0): languages of one cluster then keep
    their signs together; None: each language is its own. Raises InputError for no language, or differences that are
    missing or infinite.

    >>> gaps = np.array([[0.2, 0.1], [0.3, -0.1], [0.1, 0.1]])
    >>> sign_flip_test(gaps).tolist() == [tests.paired_permutation_test(column) for column in gaps.T]
    True
    """
    gaps = np.asarray(gaps, float)
    if gaps.ndim != 2 or not len(gaps) or not np.isfinite(gaps).all():
        raise InputError(
            f"Sign-flip tests need differences that are numbers, of shape (languages, pairs); got shape {gaps.shape} "
            f"with {int((~np.isfinite(gaps)).sum())} that are none."
        )
    return tests.sign_flips(gaps if member is None else member.T @ gaps, n_permutations, seed)


def shared_by_clusters(values: np.ndarray, clusters: Sequence) -> np.ndarray:
    """Return which share of the variance of each column lies between clusters: the intraclass correlation.

    `values`: (languages, columns), such as differences of two models; `clusters`: of each language, its family, say.
    Estimated from the mean squares between and within clusters of unequal size (one-way analysis of variance), at least
    0. Raises InputError unless there are two clusters, and one with two languages.

    >>> shared_by_clusters([[1.0, 3], [1, 1], [3, 3], [3, 1]], list("aabb")).round(2).tolist()
    [1.0, 0.0]
    """
    values = np.asarray(values, float)
    names, index, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    n, k = len(index), len(names)
    if len(values) != n or not 1 < k < n:
        raise InputError(
            f"Variance is shared out between and within clusters, two of them and one of two rows at least; got {k} "
            f"clusters of {n} labels and {len(values)} rows."
        )
    member = np.eye(k)[index]
    means = member.T @ values / sizes[:, None]
    within = ((values - means[index]) ** 2).sum(axis=0) / (n - k)
    between = (sizes[:, None] * (means - values.mean(axis=0)) ** 2).sum(axis=0) / (k - 1)
    share = np.maximum(0, between - within) / ((n - (sizes**2).sum() / n) / (k - 1))
    return share / np.where(share + within > 0, share + within, np.nan)


def significantly_different(pairs: pd.DataFrame, alpha: float = 0.05) -> pd.DataFrame:
    """Return, for each group of `comparisons`, how many models differ significantly from one another.

    Columns: group, models, pairs, apart (pairs with p_holm below `alpha`), separate (the largest number of models of
    which any two differ), who (these, the best first), letters (the number of sets that share a letter), n
    (languages), possible (False where with so few clusters no pair could differ significantly).

    >>> table = pd.DataFrame({"group": "all", "first": list("aab"), "second": list("bcc"), "p_holm": [0.9, 0.01, 0.9]})
    >>> table = significantly_different(table.assign(n=9, least=0.01))
    >>> table[["apart", "separate", "who"]].to_numpy().tolist()
    [[1, 2, ['a', 'c']]]
    """
    rows = []
    for group, part in pairs.groupby("group", sort=False):
        # The pairs come in the order of the ranks, so that a model is first met in its place.
        names = list(dict.fromkeys([*part["first"], *part["second"]]))
        found = part[part["p_holm"] < alpha]
        different = list(zip(found["first"], found["second"], strict=True))
        who = _largest(names, {frozenset(pair) for pair in different})
        letters = {letter for word in tests.compact_letters(names, different) for letter in word if letter.isalpha()}
        possible = bool((part["least"] < alpha).all())
        row = [group, len(names), len(part), len(found), len(who), who, len(letters), part["n"].iloc[0], possible]
        rows.append(row)
    columns = ["group", "models", "pairs", "apart", "separate", "who", "letters", "n", "possible"]
    return pd.DataFrame(rows, columns=columns)


def _largest(names: list[str], different: set[frozenset], chosen: tuple[str, ...] = (), best: tuple = ()) -> list[str]:
    """Return the largest set of names of which any two differ, the first of several (branch and bound)."""
    if len(chosen) > len(best):
        best = chosen
    for place, name in enumerate(names):
        if len(chosen) + len(names) - place <= len(best):
            break
        rest = [other for other in names[place + 1 :] if frozenset((name, other)) in different]
        found = _largest(rest, different, (*chosen, name), best)
        best = tuple(found) if len(found) > len(best) else best
    return list(best)


def kendall(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return Kendall's tau-b of each row of two arrays (resamples, models); NaN where all values of a row are equal."""
    one, other = np.triu_indices(np.shape(first)[-1], 1)
    signs = [np.sign(values[..., one] - values[..., other]) for values in (np.asarray(first), np.asarray(second))]
    scale = np.sqrt((signs[0] != 0).sum(axis=-1) * (signs[1] != 0).sum(axis=-1))
    return np.divide((signs[0] * signs[1]).sum(axis=-1), scale, out=np.full(scale.shape, np.nan), where=scale > 0)


def shared_top(first: np.ndarray, second: np.ndarray, k: int) -> np.ndarray:
    """Return, for each row of two arrays (resamples, models), which share of the k best both have.

    Where values are equal at the k-th place, each of those counts in part, so that the weights of a row add up to k.

    >>> shared_top([[3, 2, 1]], [[3, 1, 2]], 2).tolist()
    [0.5]
    """
    weights = []
    for values in (np.asarray(first, float), np.asarray(second, float)):
        if not 1 <= k <= values.shape[-1]:
            raise InputError(f"The best {k} of {values.shape[-1]} models cannot be compared: give a number from 1 on.")
        least = -np.sort(-values, axis=-1)[..., k - 1 : k]
        above, equal = values > least, values == least
        share = (k - above.sum(axis=-1, keepdims=True)) / equal.sum(axis=-1, keepdims=True)
        weights.append(above + equal * share)
    return np.minimum(*weights).sum(axis=-1) / k


def agreement(
    first: pd.DataFrame,
    second: pd.DataFrame,
    top: int = 3,
    over: str = "languages",
    paired: bool = True,
    n_resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return how far two tables of scores rank their models alike: one row.

    `first` and `second`: model, lang, value each, as for `by_language`; only models that both have are compared, by
    their means over languages. Columns:

    * tau (Kendall's tau-b), tau_low, tau_high; p (two-sided test of no association, `scipy.stats.kendalltau`);
    * own (what tau would be if both measures ordered the models alike: the mean over relabellings, see below), p_own
      (the share of relabellings whose tau is not above that observed: a small one says that the orders differ);
    * overlap (share of the `top` best that both have), overlap_low, overlap_high, top;
    * models, pairs, swapped (pairs in the other order), apart (pairs that differ significantly on both sides by
      `comparisons`), apart_swapped (of these, those in the other order), which (these, by name, the better one under
      the first measure first); n (languages of the first), n_second.

    The interval draws `over` "languages" (the same ones for both sides where `paired`, then only languages that both
    have; each side its own ones if not), or "models", where there are no languages to draw. A resample adds noise to
    that of the data, which makes two orders less alike, so that the percentile interval lies too low; the interval here
    takes, on each side, the wider of `bootstrap.percentile_interval`, expanded where languages are drawn, and its
    reflection about the value (chapter 87 simulates both). Where all models are in one order, or the opposite one,
    there is no interval over models (NaN). With fewer than two languages there is neither interval nor test over
    languages (NaN; 0 pairs apart), and no interval of a tau that is not defined, where one side has the same mean for
    all models.

    A relabelling brings both sides to mean 0 and standard deviation 1 of the models' means, and exchanges the sides in
    languages chosen at random, where `paired`; else it splits the languages of both into two random sets of their
    sizes. If the measures order the models alike and differ by chance only, then tau is as likely to lie below `own` as
    above.

    Raises InputError for fewer than two models that both have.
    """
    if over not in OVER:
        raise InputError(f"The interval of an agreement is over {' or '.join(OVER)}; got {over!r}.")
    models = [model for model in dict.fromkeys(first["model"]) if model in set(second["model"])]
    if len(models) < 2:
        raise InputError(f"Two orders need two models that both have, at least, got {', '.join(models) or 'none'}.")
    one, other = (by_language(table[table["model"].isin(models)])[models] for table in (first, second))
    if paired:
        both = one.index.intersection(other.index)
        if both.empty:
            raise InputError("The two tables have no language in common: set paired to False to compare all of each.")
        one, other = one.loc[both], other.loc[both]
    means = [table.mean().to_numpy().round(12) for table in (one, other)]
    top = min(top, len(models))
    tau, overlap = float(kendall(*means)), float(shared_top(*means, top))
    row = {"tau": tau} | dict.fromkeys(["tau_low", "tau_high", "own", "p_own"], np.nan)
    row["p"] = float(scipy_stats.kendalltau(*means).pvalue) if np.isfinite(tau) else np.nan
    row |= {"overlap": overlap, "overlap_low": np.nan, "overlap_high": np.nan, "top": top}
    first, second = np.triu_indices(len(models), 1)
    gaps = [mean[first] - mean[second] for mean in means]
    row |= {"models": len(models), "pairs": len(first), "swapped": int((gaps[0] * gaps[1] < 0).sum())}
    row |= {"apart": 0, "apart_swapped": 0, "which": [], "n": len(one), "n_second": len(other)}
    if over == "models" and abs(tau) < 1:
        place = np.random.default_rng([seed, len(models)]).integers(len(models), size=(n_resamples, len(models)))
        row["tau_low"], row["tau_high"] = reflected(tau, kendall(means[0][place], means[1][place]), -1)
    elif over == "languages" and min(len(one), len(other)) > 1:
        drawn, others = (
            (bootstrap.resample_weights(len(wide), n_resamples, stream) @ wide.to_numpy() / len(wide)).round(12)
            for wide, stream in ((one, seed), (other, seed if paired else seed + 1))
        )
        n_clusters = min(len(one), len(other))
        if np.isfinite(tau):
            row["tau_low"], row["tau_high"] = reflected(tau, kendall(drawn, others), -1, n_clusters=n_clusters)
            taus = kendall(*_relabelled(one, other, paired, n_resamples, seed))
            row["own"] = float(np.nanmean(taus))
            row["p_own"] = float((np.sum(taus <= tau + 1e-9) + 1) / (n_resamples + 1))
        shares = shared_top(drawn, others, top)
        row["overlap_low"], row["overlap_high"] = reflected(overlap, shares, 0, n_clusters=n_clusters)
        gaps_by_language = (side.to_numpy()[:, first] - side.to_numpy()[:, second] for side in (one, other))
        apart = np.all([tests.holm(sign_flip_test(each, seed=seed)) < 0.05 for each in gaps_by_language], axis=0)
        turned = np.flatnonzero(apart & (gaps[0] * gaps[1] < 0))
        ends = [(first[pair], second[pair])[:: 1 if gaps[0][pair] > 0 else -1] for pair in turned]
        which = [(models[better], models[worse]) for better, worse in ends]
        row |= {"apart": int(apart.sum()), "apart_swapped": len(which), "which": which}
    return pd.DataFrame([row])


def reflected(
    value: float, resampled: np.ndarray, least: float, level: float = 0.95, n_clusters: int | None = None
) -> tuple[float, float]:
    """Return the percentile interval of `resampled`, joined with its reflection about `value`, from `least` to 1.

    >>> reflected(0.8, np.array([0.2, 0.6, 0.7, 0.9]), 0, 0.5)
    (0.5, 1.0)
    """
    low, high = map(float, bootstrap.percentile_interval(resampled, level, n_clusters))
    return max(least, min(low, 2 * value - high)), min(1.0, max(high, 2 * value - low))


def _relabelled(
    one: pd.DataFrame, other: pd.DataFrame, paired: bool, n_resamples: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the standardised means (resamples, models) of both sides, languages exchanged or reassigned at random."""
    means = [side.mean().to_numpy() for side in (one, other)]
    first, second = (
        (side.to_numpy() - mean.mean()) / mean.std() for side, mean in zip((one, other), means, strict=True)
    )
    rng = np.random.default_rng([seed, len(one), len(other), 1])
    if paired:
        signs = 1.0 - 2 * rng.integers(2, size=(n_resamples, len(one)), dtype=np.int8)
        middle, away = (first + second).mean(axis=0) / 2, signs @ (first - second) / (2 * len(one))
        return (middle + away).round(12), (middle - away).round(12)
    pool = np.vstack([first, second])
    mine = (rng.random((n_resamples, len(pool))).argsort(axis=1) < len(one)).astype(float)
    return (mine @ pool / len(one)).round(12), ((1 - mine) @ pool / len(other)).round(12)


def languages_needed(scores: pd.DataFrame, sizes: Sequence[int], draws: int = 20, seed: int = 0) -> pd.DataFrame:
    """Return the share of pairs of models that differ significantly when only so many languages are evaluated.

    Of all languages `sizes` are drawn without replacement, `draws` times; each time all pairs are tested as in
    `comparisons`, each language by itself. Columns: n, value (mean share of pairs that differ), ci_low, ci_high (95
    % of the draws; NaN for all languages), pairs. Sizes above the number of languages are left out. Raises InputError
    for one model, or no draws.
    """
    wide = by_language(scores)
    if wide.shape[1] < 2 or draws < 1:
        raise InputError(
            f"Languages needed to tell models apart take two models and one draw, got {wide.shape[1]} and {draws}."
        )
    first, second = np.triu_indices(wide.shape[1], 1)
    gaps = wide.to_numpy()[:, first] - wide.to_numpy()[:, second]
    rows = []
    for size in (size for size in sizes if 2 <= size <= len(wide)):
        rng = np.random.default_rng([seed, size])
        shares = []
        for _ in range(draws if size < len(wide) else 1):
            p = sign_flip_test(gaps[rng.permutation(len(wide))[:size]], 5000, seed)
            shares.append((tests.holm(p) < 0.05).mean())
        ends = bootstrap.percentile_interval(np.array(shares)) if len(shares) > 1 else (np.nan, np.nan)
        rows.append([size, np.mean(shares), *map(float, ends), len(first)])
    return pd.DataFrame(rows, columns=["n", "value", "ci_low", "ci_high", "pairs"])
