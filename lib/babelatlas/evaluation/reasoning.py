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
from babelatlas.models.training import pair_head
from babelatlas.models.translators import Scorer
from babelatlas.stats import bootstrap, checks, tests

METRICS = ("accuracy", "consistency")
# Answers with the same values here are of one test.
TEST = ["model", "dataset", *tables.PROTOCOL, "method", "variant", "lang"]
PAIR = ["lang", "statement", "number"]
METHODS = ("head", "likelihood")  # how a model answers: `by_head`, `by_likelihood`
TRAINED = "translate-train"


def scores(answers: pd.DataFrame, by: Sequence[str] = TEST, n_resamples: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Return accuracy and consistency: `by`, metric, value, ci_low, ci_high, n (pairs; of consistency statements).

    `answers`: schema `answers`, or with further columns, such as chapter. 95 % intervals resample statements, with the
    same draws for all tests of as many; a statement of several languages with the same name, whose pairs are the same,
    is drawn as one. A share near 0 or 1 has the interval of `bootstrap.share_interval`.

    >>> answers = pd.DataFrame({"lang": "sw", "statement": list("aabb"), "truth": True, "answer": [True] * 3 + [False]})
    >>> scores(answers, ["lang"])["value"].tolist()
    [0.75, 0.5]
    """
    by, rows = list(by), answers.assign(correct=answers["truth"] == answers["answer"])
    keys = list(dict.fromkeys([*by, "lang", "statement"]))
    counts = rows.groupby(keys, sort=False)["correct"].agg(n_correct="sum", n="size", consistent="all")
    counts = counts.assign(one=1).groupby([*by, "statement"], sort=False).sum().reset_index()
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
    """Compare the answers of two values of column `of` (variants, models) to the same pairs, by McNemar's test.

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
            statements = both.index.get_level_values("statement")  # of all languages: their pairs are the same
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


def shown(training: pd.DataFrame, pairs: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return what is to be encoded of two tables `pairs`: texts (lang, label), and paths of images, each once.

    The language of a translation is what it is written in, English: models are told it.
    """
    words, both = _words(training, pairs), pd.concat([training, pairs])
    return words.drop_duplicates(ignore_index=True), pd.unique(pd.concat([both["left"], both["right"]])).tolist()


def _words(training: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    both = pd.concat([training, pairs], ignore_index=True)
    english = both["variant"].str.endswith("translate-test")
    return pd.DataFrame({"lang": both["lang"].mask(english, "en"), "label": both["text"]})


def by_head(
    training: pd.DataFrame, pairs: pd.DataFrame, texts: np.ndarray, images: np.ndarray, **recipe
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the answers of a dual encoder under the paper's head (`pair_head`), and the heads that were trained.

    `training` and `pairs`: schema `pairs`. `texts` (t, d) and `images` (i, d): vectors of what `shown` returns for
    them. A head is trained on the English statements of `training` and answers all of `pairs`. Where `training` has
    statements translated into a language (variant "translate-train"), another head is trained on these and answers the
    originals in that language; its answers have the same variant. `recipe`: further arguments of `pair_head.fit`.
    Answers: schema `answers`, less model, data set and protocol; heads: variant, lang, pairs, epoch, validation, loss.
    Raises InputError where nothing is to be trained on.
    """
    training, pairs = training.reset_index(drop=True), pairs.reset_index(drop=True)
    words, (once, paths) = _words(training, pairs), shown(training, pairs)
    both, place = pd.concat([training, pairs]), pd.Series(range(len(paths)), paths)
    of_text = pd.MultiIndex.from_frame(once).get_indexer(pd.MultiIndex.from_frame(words))
    rows = np.stack([of_text, place[both["left"]], place[both["right"]]], axis=1)
    of_pairs, found, heads = rows[len(training) :], [], []
    original = (training["variant"] == "original") & (training["lang"] == "en")
    lessons = [("", "en", original, pd.Series(True, pairs.index))]
    for lang, part in training[training["variant"] == TRAINED].groupby("lang"):
        asked = (pairs["lang"] == lang) & (pairs["variant"] == "original")
        lessons += [(TRAINED, lang, training.index.isin(part.index), asked)] * bool(asked.any())
    for variant, lang, trained, asked in lessons:
        lesson = training[trained]
        head, facts = pair_head.fit(
            texts, images, rows[: len(training)][trained], lesson["truth"], lesson["statement"], **recipe
        )
        likely = pair_head.probabilities(head, texts, images, of_pairs[asked])
        part = pairs[asked].assign(probability=likely, method="head")
        found.append(part.assign(variant=variant or part["variant"]))
        per_epoch = len(facts["losses"]) // recipe.get("epochs", 20)
        last = float(np.mean(facts["losses"][-per_epoch:]))
        heads.append((variant or "original", lang, len(lesson), facts["epoch"], facts["validation"], last))
    columns = ["variant", "lang", "pairs", "epoch", "validation", "loss"]
    return _answers(found), pd.DataFrame(heads, columns=columns)


def by_likelihood(scorer: Scorer, pairs: pd.DataFrame, words: tuple[str, str] = ("true", "false")) -> pd.DataFrame:
    """Return the answers of an image-text-to-text model that is asked whether a statement is true of two images.

    The probability is that of the first of `words` against that of the second, as the model's answer (its end is not
    counted). `pairs`: schema `pairs`; the model's question is that of its entry. Returns answers as `by_head` does.
    """
    shown = list(zip(pairs["left"], pairs["right"], strict=True))
    asked = [word for word in words for _ in shown]
    found = scorer.score(shown * 2, [*pairs["text"]] * 2, asked, ["en"] * len(asked))
    sums = np.array([one[0, :-1].sum() for one in found]).reshape(2, len(shown))
    likely = special.expit(sums[0] - sums[1])
    return _answers([pairs.assign(probability=likely, method="likelihood")])


def _answers(parts: list[pd.DataFrame]) -> pd.DataFrame:
    table = pd.concat(parts, ignore_index=True)
    table = table.assign(answer=table["probability"] > 0.5)
    return table[["method", "variant", "lang", "statement", "number", "truth", "answer", "probability"]]


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
    checks.check_draws(n_resamples, seed)
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
