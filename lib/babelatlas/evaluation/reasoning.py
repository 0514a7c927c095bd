"""Reasoning over pairs of images, as in NLVR2 and MaRVL (Liu et al. 2021): answers to scores, and people's labels.

A statement is true or false of each of its pairs of images. *Accuracy* is the share of pairs that are answered
correctly, *consistency* the share of statements of which all pairs are. Answers to one statement are correlated, so
that intervals resample whole statements. Besides, how long and varied statements are (`wording`).
"""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from scipy import special, stats

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap, checks, tests

METRICS = ("accuracy", "consistency")
# Answers with the same values here are of one test.
TEST = ["model", "dataset", *tables.PROTOCOL, "method", "variant", "lang"]
PAIR = ["lang", "statement", "number"]


def scores(answers: pd.DataFrame, by: Sequence[str] = TEST, n_resamples: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Return accuracy and consistency: `by`, metric, value, ci_low, ci_high, n (pairs; of consistency statements).

    `answers`: schema `answers`, or with further columns, such as chapter. 95 % intervals resample statements, with the
    same draws for all tests of as many; a share near 0 or 1 has that of `bootstrap.share_interval`.

    >>> answers = pd.DataFrame({"lang": "sw", "statement": list("aabb"), "truth": True, "answer": [True] * 3 + [False]})
    >>> scores(answers, ["lang"])["value"].tolist()
    [0.75, 0.5]
    """
    by, rows = list(by), answers.assign(correct=answers["truth"] == answers["answer"])
    keys = list(dict.fromkeys([*by, "lang", "statement"]))
    counts = rows.groupby(keys, sort=False)["correct"].agg(n_correct="sum", n="size", correct="all").reset_index()
    counts = counts.assign(
        statement=counts["lang"] + " " + counts["statement"], consistent=counts["correct"] * 1, one=1
    )
    shares = {"accuracy": ("n_correct", "n"), "consistency": ("consistent", "one")}
    parts = [
        bootstrap.accuracy_interval(counts, by, "statement", *shares[metric], n_resamples, seed=seed).assign(
            metric=metric
        )
        for metric in METRICS
    ]
    return pd.concat(parts, ignore_index=True)[[*by, "metric", "value", "ci_low", "ci_high", "n"]]


def compare(
    answers: pd.DataFrame,
    of: str,
    pairs: Sequence[tuple[str, str]],
    by: Sequence[str] = ("dataset", "model", "lang"),
    n_resamples: int = 2000,
    n_permutations: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare the answers of two values of column `of` (variants, models) to the same pairs of images, by McNemar's test.

    Returns for each combination of `by` and each of `pairs` that both have: by, first, second, value (accuracy of first
    minus second), ci_low, ci_high (bootstrap over statements), only_first, only_second (pairs that it alone answers
    correctly), n, p (McNemar's exact test, as if pairs were independent), p_statements (sign flips of whole
    statements), and both Holm-adjusted over all rows (p_holm, p_statements_holm). Raises InputError where nothing can
    be compared.
    """
    from statsmodels.stats.contingency_tables import mcnemar

    by, found = list(by), []
    rows = answers.assign(correct=(answers["truth"] == answers["answer"]) * 1.0)
    for key, part in rows.groupby(by, sort=False):
        wide = part.pivot(index=PAIR, columns=of, values="correct")
        for first, second in pairs:
            both = wide[[first, second]].dropna() if {first, second} <= set(wide) else wide.iloc[:0]
            if both.empty:
                continue
            statements = both.index.droplevel("number").map(" ".join)
            gap = (both[first] - both[second]).to_numpy()
            mean = bootstrap.mean_interval(gap, statements, n_resamples, seed=seed).iloc[0]
            alone = [int((gap > 0).sum()), int((gap < 0).sum())]
            p = float(mcnemar([[0, alone[0]], [alone[1], 0]], exact=True).pvalue)
            flips = tests.paired_permutation_test(gap, n_permutations, seed, statements)
            found.append([*key, first, second, *mean[["value", "ci_low", "ci_high"]], *alone, len(gap), p, flips])
    if not found:
        raise InputError(f"No two values of {of} among {list(pairs)} have answers to the same pairs: give such tests.")
    columns = [*by, "first", "second", "value", "ci_low", "ci_high", "only_first", "only_second", "n"]
    table = pd.DataFrame(found, columns=[*columns, "p", "p_statements"])
    return table.assign(p_holm=tests.holm(table["p"]), p_statements_holm=tests.holm(table["p_statements"]))


def p_alike(correct: Sequence[float], n: Sequence[int]) -> float:
    """Return the p value that shares, `correct` of `n` answers each, do not differ: Pearson's chi-squared test.

    >>> p_alike([5, 5], [10, 10])
    1.0
    """
    correct, n = np.asarray(correct, float), np.asarray(n, float)
    return float(stats.chi2_contingency([correct, n - correct], correction=False).pvalue)


def agreement(labels: pd.DataFrame, n_resamples: int = 500, seed: int = 0) -> pd.DataFrame:
    """Return how people label pairs of images: metric ("accuracy", "kappa"), value, ci_low, ci_high, n (pairs).

    `labels`: truth (bool), n_true, n_false (how many people say so), n (how many pairs are alike in these). Accuracy is
    the mean share of people who give the right label, kappa that of Fleiss (1971; statsmodels), for which every pair
    needs as many labels. Intervals resample pairs. Raises InputError for pairs without labels, or with unequal numbers.
    """
    from statsmodels.stats.inter_rater import fleiss_kappa

    checks.check_numbers(labels, ["n_true", "n_false", "n"], "Agreement")
    raters = (labels["n_true"] + labels["n_false"]).unique()
    if len(raters) > 1 or raters[0] < 2:
        raise InputError(
            f"Fleiss' kappa needs the same number of labels, at least 2, of each pair, got {sorted(raters)}."
        )
    votes, n = labels[["n_true", "n_false"]].to_numpy(int), labels["n"].to_numpy(int)
    right = np.where(labels["truth"], votes[:, 0], votes[:, 1]) / raters[0]
    drawn = np.random.default_rng(seed).multinomial(n.sum(), n / n.sum(), size=n_resamples)
    found = {"accuracy": lambda each: each @ right / each.sum(),
             "kappa": lambda each: fleiss_kappa(np.repeat(votes, each, axis=0))}  # fmt: skip
    rows = []
    for metric, statistic in found.items():
        low, high = bootstrap.percentile_interval(np.array([statistic(each) for each in drawn]), 0.95, int(n.sum()))
        rows.append((metric, float(statistic(n)), float(low), float(high), int(n.sum())))
    return pd.DataFrame(rows, columns=["metric", "value", "ci_low", "ci_high", "n"])


def wording(sentences: Sequence[str], tokenize: Callable[[str], list[str]]) -> dict[str, float]:
    """Return how long sentences are and how varied: sentences, tokens, types, length (mean tokens), ttr.

    `ttr`: types over tokens, which falls with the number of sentences: compare it only between samples of one size.
    Raises InputError for no sentences, or none with a token.

    >>> wording(["a cat", "a dog runs"], str.split)
    {'sentences': 2, 'tokens': 5, 'types': 4, 'length': 2.5, 'ttr': 0.8}
    """
    tokens = _tokens(sentences, tokenize)
    total, types = sum(map(len, tokens)), len({token for words in tokens for token in words})
    found = {"sentences": len(tokens), "tokens": total, "types": types}
    return found | {"length": total / len(tokens), "ttr": types / total}


def expected_types(sentences: Sequence[str], tokenize: Callable[[str], list[str]], n: int) -> float:
    """Return how many types `n` of the sentences, drawn without replacement, have on average.

    A token that is in d of the N sentences is missed with probability C(N - d, n) / C(N, n). Raises InputError for more
    sentences than there are.

    >>> expected_types(["a b", "a c"], str.split, 1)
    2.0
    """
    tokens = _tokens(sentences, tokenize)
    total = len(tokens)
    if not 0 < n <= total:
        raise InputError(f"A draw of {n} sentences from {total} cannot be: ask for 1 to {total}.")
    spread = pd.Series([token for words in tokens for token in set(words)]).value_counts().to_numpy()
    left = total - spread
    possible = left >= n
    log = special.gammaln(left[possible] + 1) - special.gammaln(left[possible] - n + 1)
    log -= special.gammaln(total + 1) - special.gammaln(total - n + 1)
    return float(len(spread) - np.exp(log).sum())


def _tokens(sentences: Sequence[str], tokenize: Callable[[str], list[str]]) -> list[list[str]]:
    tokens = [list(tokenize(sentence)) for sentence in sentences]
    if not any(tokens):
        raise InputError(f"There is no token in {len(tokens)} sentences: give sentences, and how they are cut up.")
    return tokens
