"""Perplexities of translations, from the log-probabilities of their tokens (Kashani Motlagh et al. 2024, Eq. 1)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from babelatlas.base.errors import InputError

# Perplexities, or other costs, that differ by no more than this share of the larger one are equal.
TIE = 1e-6
# One training of one model on one data set in one language: what one array of costs is of.
UNIT = ["model", "replicate", "dataset", "lang"]
TASK = "disambiguation"


def perplexity(log_probabilities: Sequence[float]) -> float:
    """Return the perplexity of a translation: exp of minus the mean log-probability of its tokens (Eq. 1).

    Raises InputError for no tokens, for numbers that no probability has, and for a perplexity too large for a number.

    >>> round(perplexity([np.log(0.5), np.log(0.125)]), 6)
    4.0
    """
    logarithm = log_perplexities([np.asarray(log_probabilities, float)])[0]
    if logarithm > np.log(np.finfo(float).max):
        raise InputError(
            f"The logarithm of a perplexity is {logarithm:g}, too large for a number: check the log-probabilities, "
            "or leave out their temperature."
        )
    return float(np.exp(logarithm))


def log_perplexities(lists: Sequence[np.ndarray]) -> np.ndarray:
    """Return the log-perplexity of each list of log-probabilities, in one pass over all of them."""
    lengths = np.fromiter((len(one) for one in lists), int, len(lists))
    if (lengths == 0).any():
        raise InputError(
            "A perplexity needs at least one token, got none: the tokenizer maps the translation to nothing."
        )
    if not len(lists):
        return np.zeros(0)
    every = np.concatenate([np.asarray(one, float) for one in lists])
    bad = every[~(np.isfinite(every) & (every <= TIE))]
    if len(bad):
        raise InputError(
            f"A log-probability is a finite number that is at most 0, got {bad[0]} ({len(bad)} of {len(every)} tokens "
            "are not): check the model's precision, and that the softmax was taken in float32."
        )
    sums = np.add.reduceat(every, np.cumsum(lengths) - lengths)
    return -sums / lengths


def suffix_log_perplexities(rows: pd.DataFrame) -> np.ndarray:
    """Return log-perplexities of a `tokens` table without what both translations of an item begin with (Section 6).

    The mean goes over the tokens after the first `shared`, each conditioned on the prefix as before. Two translations
    that are the same throughout have nothing left; they keep all their tokens, and tie. Raises InputError where only
    one has nothing left, or `shared` exceeds a translation.
    """
    lists, shared = rows["log_probabilities"].tolist(), rows["shared"].to_numpy()
    left = np.fromiter((len(one) for one in lists), int, len(lists)) - shared
    image = rows[[*UNIT, "item", "image"]]
    gone = pd.Series(left == 0, index=rows.index).groupby([image[name] for name in image]).transform("mean")
    wrong = (left < 0) | (shared < 0) | ((gone > 0) & (gone < 1)).to_numpy()
    if wrong.any():
        row = rows[wrong].iloc[0]
        raise InputError(
            f"Item {row['item']!r} of {row['model']!r} in {row['lang']!r} shares {row['shared']} tokens, but "
            f"translation {row['text']!r} has {len(row['log_probabilities'])}: every translation has an end "
            "token, so that one remains; make the table of tokens again."
        )
    kept = [one if rest == 0 else one[start:] for one, start, rest in zip(lists, shared, left, strict=True)]
    return log_perplexities(kept)
