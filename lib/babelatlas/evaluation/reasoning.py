"""Reasoning over pairs of images, as in NLVR2 and MaRVL (Liu et al. 2021): what printed shares and sentences allow.

Papers print shares, not counts: `stats.rounding` says which a number of cases can give, `share_test` whether two
differ. The others describe the sentences.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from scipy import special
from scipy import stats as scipy_stats

from babelatlas.base.errors import InputError


def share_test(first: tuple[int, int], second: tuple[int, int]) -> float:
    """Return the two-sided p value that two shares are of one size (Fisher's exact test); each: (cases, of how many).

    The test takes the two samples for independent: for two models on the same sentences, which tend to fail together,
    p is too large, never too small. Raises InputError for a count above its total.

    >>> round(share_test((8, 10), (1, 6)), 4)
    0.035
    """
    for k, n in (first, second):
        if not 0 <= k <= n or n < 1:
            raise InputError(f"A share is of k cases among n, 0 ≤ k ≤ n and n ≥ 1, got {k} among {n}.")
    return float(scipy_stats.fisher_exact([[k, n - k] for k, n in (first, second)]).pvalue)


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
