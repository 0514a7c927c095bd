"""Reasoning over pairs of images, as in NLVR2 and MaRVL (Liu et al. 2021): how long and varied the sentences are."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from scipy import special

from babelatlas.base.errors import InputError


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
