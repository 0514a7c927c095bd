"""Reasoning over pairs of images: is a sentence true of a pair? Accuracy, consistency, and what printed ones allow.

In NLVR2 (Suhr et al. 2019) and MaRVL (Liu et al. 2021) a sentence stands beside several pairs of images, true of some
and false of others; each sentence beside a pair is one example. A model is scored twice:

* *accuracy*: the share of examples that it answers rightly;
* *consistency*: the share of sentences of which it answers all examples rightly. It is the harder of the two: who
  guesses is right in half of the examples, but in one of sixteen sentences with four.

All take arrays, one element for each example: whether it was answered rightly, and the sentence that it belongs to.
`scores` adds intervals; sentences are drawn, since the examples of a sentence are right or wrong together.

Papers print shares, not counts. A share of n whole cases is k / n for some k (Brown & Heathers 2017), so that a printed
share can be impossible for the n that the paper gives: rounding.py tests this, and `consistency_range` says which
consistencies an accuracy leaves possible.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from scipy import special
from scipy import stats as scipy_stats

from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap


def _answers(correct: np.ndarray, sentences: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return answers as a boolean array and the number of the sentence of each; raise InputError for other values."""
    correct = np.asarray(correct)
    if correct.ndim != 1 or not len(correct):
        raise InputError(f"Answers are a list with one element for each example, got shape {correct.shape}.")
    if not np.isin(correct, (0, 1)).all():
        raise InputError("An answer is right (true, 1) or wrong (false, 0), got other values: compare with the labels.")
    if sentences is None:
        return correct.astype(bool), np.arange(len(correct))
    codes = pd.factorize(np.asarray(sentences))[0]
    if len(codes) != len(correct) or (codes < 0).any():
        raise InputError(f"Each of the {len(correct)} answers needs its sentence, got {len(codes)}, or some are empty.")
    return correct.astype(bool), codes


def accuracy(correct: np.ndarray) -> float:
    """Return the share of examples answered rightly; `correct`: shape (examples,), true where right.

    >>> accuracy([True, True, False, True])
    0.75
    """
    return float(_answers(correct)[0].mean())


def consistency(correct: np.ndarray, sentences: np.ndarray) -> float:
    """Return the share of sentences whose examples are all answered rightly (Suhr et al. 2019).

    `correct`, `sentences`: shape (examples,); the sentence is any name, and examples of one need not stand together.
    Raises InputError where an example has no sentence.

    >>> consistency([True, True, False, True], ["a", "a", "b", "b"])
    0.5
    """
    correct, codes = _answers(correct, sentences)
    return float((np.bincount(codes[~correct], minlength=codes.max() + 1) == 0).mean())


def scores(
    answers: pd.DataFrame,
    by: Sequence[str] = ("model", "lang"),
    correct: str = "correct",
    sentence: str = "sentence",
    n_resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Return accuracy and consistency: by, metric, value, ci_low, ci_high, n (examples, or sentences), chance.

    `answers`: one row for each example, with the columns of `by`, whether it was answered rightly, and its sentence.
    The interval draws sentences; where all is right, or nothing, no resample differs, and it is the exact binomial one
    with the sentences as its cases (`bootstrap.clopper_pearson`). One sentence has none (NaN). `chance` is what
    guessing scores (`chance`). Raises InputError for columns that are missing, an empty table, rows without a value in
    `by`, and answers that are neither right nor wrong.

    >>> table = pd.DataFrame({"model": "a", "lang": "id", "sentence": [1, 1, 2, 2], "correct": [1, 1, 1, 0]})
    >>> scores(table)[["metric", "value", "n", "chance"]].to_numpy().tolist()
    [['accuracy', 0.75, 4, 0.5], ['consistency', 0.5, 2, 0.25]]
    """
    by = list(by)
    missing = [column for column in [*by, correct, sentence] if column not in answers]
    if missing or answers.empty:
        lacking = f"the columns {missing}" if missing else "rows"
        raise InputError(f"Scores need answers with {', '.join([*by, correct, sentence])}: lacking {lacking}.")
    for column in by:
        if gaps := int(answers[column].isna().sum()):
            raise InputError(f"Scores need a {column} for each answer, but {gaps} of {len(answers)} have none.")
    rows = []
    for key, part in answers.groupby(by, sort=False):
        right, codes = _answers(part[correct], part[sentence])
        sizes = np.bincount(codes)
        whole = np.bincount(codes, weights=right) == sizes
        guess = chance(sizes)
        for metric, values, clusters in (("accuracy", right, codes), ("consistency", whole, np.arange(len(sizes)))):
            if len(sizes) > 1 and values.min() == values.max():
                ends = bootstrap.clopper_pearson(float(values.mean()), len(sizes), level)
            elif len(sizes) > 1:
                found = bootstrap.mean_interval(values, clusters, n_resamples, level, seed).iloc[0]
                ends = [found.ci_low, found.ci_high]
            else:
                ends = [np.nan, np.nan]
            rows.append([*key, metric, values.mean(), *ends, len(values), guess[metric]])
    return pd.DataFrame(rows, columns=[*by, "metric", "value", "ci_low", "ci_high", "n", "chance"])


def chance(sizes: Sequence[int]) -> dict[str, float]:
    """Return the accuracy and the consistency to be expected of a guess; `sizes`: how many examples each sentence has.

    >>> chance([4, 4, 2])
    {'accuracy': 0.5, 'consistency': 0.125}
    """
    sizes = _sizes(sizes)
    return {"accuracy": 0.5, "consistency": float((0.5**sizes).mean())}


def _sizes(sizes: Sequence[int]) -> np.ndarray:
    sizes = np.asarray(sizes)
    if sizes.ndim != 1 or not len(sizes) or not np.issubdtype(sizes.dtype, np.integer) or sizes.min() < 1:
        raise InputError("The sizes of sentences are a list of whole numbers of examples, each 1 or more.")
    return sizes


def consistency_range(n_correct: int, sizes: Sequence[int]) -> tuple[float, float]:
    """Return the lowest and the highest consistency that `n_correct` right answers leave possible.

    Lowest: each wrong answer spoils another sentence. Highest: wrong answers fill the longest sentences. Raises
    InputError where there are more right answers than examples.

    >>> consistency_range(6, [4, 4])
    (0.0, 0.5)
    """
    sizes = _sizes(sizes)
    wrong = int(sizes.sum()) - n_correct
    if not 0 <= wrong <= sizes.sum():
        raise InputError(f"{n_correct} right answers of {sizes.sum()} examples cannot be: give a count of examples.")
    filled = np.cumsum(np.sort(sizes)[::-1])
    spoilt = int(np.searchsorted(filled, wrong)) + 1 if wrong else 0
    return max(0, len(sizes) - wrong) / len(sizes), (len(sizes) - spoilt) / len(sizes)


def share_test(first: tuple[int, int], second: tuple[int, int]) -> float:
    """Return the two-sided p value that two shares are of one size (Fisher's exact test); each: (cases, of how many).

    The test takes the two samples for independent. Two models on the same sentences are not: where they tend to fail
    together, this p value is too large, never too small, so that a small one stands.
    Raises InputError for a count above its total. With answers example by example use `paired_test`.

    >>> round(share_test((8, 10), (1, 6)), 4)
    0.035
    """
    for k, n in (first, second):
        if not 0 <= k <= n or n < 1:
            raise InputError(f"A share is of k cases among n, 0 ≤ k ≤ n and n ≥ 1, got {k} among {n}.")
    table = [[first[0], first[1] - first[0]], [second[0], second[1] - second[0]]]
    return float(scipy_stats.fisher_exact(table).pvalue)


def paired_test(first: np.ndarray, second: np.ndarray) -> float:
    """Return the two-sided p value that two models are right equally often (McNemar's exact test).

    `first`, `second`: shape (cases,), whether each is right of the same cases in the same order. The cases must be
    independent: sentences (`whole_sentences`) are, examples of one sentence are not. 1 where they never differ.

    >>> paired_test([True] * 6, [False] * 6)
    0.03125
    """
    first, second = _answers(first)[0], _answers(second)[0]
    if len(first) != len(second):
        raise InputError(f"A paired test needs the same cases in both, got {len(first)} and {len(second)}.")
    only = int((first & ~second).sum()), int((second & ~first).sum())
    return float(scipy_stats.binomtest(only[0], sum(only)).pvalue) if sum(only) else 1.0


def whole_sentences(correct: np.ndarray, sentences: np.ndarray) -> np.ndarray:
    """Return whether all examples of a sentence are right, one element per sentence in order of appearance.

    >>> whole_sentences([True, False, True], ["b", "a", "b"]).tolist()
    [True, False]
    """
    correct, codes = _answers(correct, sentences)
    return np.bincount(codes[~correct], minlength=codes.max() + 1) == 0


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
