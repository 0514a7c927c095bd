"""How alike words are spelled: Levenshtein's distance, of many pairs at once."""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pandas as pd

PAIRS_AT_ONCE = 4096


# `nearest` compares each text with many others.
@lru_cache(maxsize=2**16)
def plain(text: str) -> str:
    """Return a text in lower case without marks above and below its letters.

    >>> plain("Éléphant")
    'elephant'
    """
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def edit_distances(first: Sequence[str], second: Sequence[str]) -> np.ndarray:
    """Return Levenshtein's distance of each pair of texts, shape (pairs,): the fewest
    letters that must be inserted, deleted or replaced (Levenshtein 1966, Soviet Physics
    Doklady 10, 707-710).

    >>> edit_distances(["kitten", "", "cat"], ["sitting", "dog", "cat"])
    array([3, 3, 0])
    """
    first, second = np.array(first, dtype=str), np.array(second, dtype=str)
    distances = np.zeros(len(first), int)
    # Pairs of similar lengths together, as many as a processor's cache holds.
    order = np.lexsort([np.char.str_len(second), np.char.str_len(first)])
    for places in np.array_split(order, len(order) // PAIRS_AT_ONCE + 1):
        if len(places):
            distances[places] = _distances(first[places], second[places])
    return distances


def _distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return Levenshtein's distance of each pair of texts, all pairs at once."""
    first_letters, first_lengths = _letters(first)
    second_letters, second_lengths = _letters(second)
    n_pairs, n_columns = second_letters.shape
    steps = np.arange(n_columns + 1, dtype=np.int16)
    # Row i of the table of distances: of the first i letters of one text from the first
    # j letters of the other.
    row = np.tile(steps, (n_pairs, 1))
    distances = second_lengths.astype(np.int16)
    for number in range(1, first_letters.shape[1] + 1):
        replaced = row[:, :-1] + (first_letters[:, [number - 1]] != second_letters)
        without_insertion = np.empty_like(row)
        without_insertion[:, 0] = number
        without_insertion[:, 1:] = np.minimum(replaced, row[:, 1:] + 1)
        # An insertion costs 1 for each column that is passed.
        row = np.minimum.accumulate(without_insertion - steps, axis=1) + steps
        ends = np.flatnonzero(first_lengths == number)
        distances[ends] = row[ends, second_lengths[ends]]
    return distances


def similarity(first: Sequence[str], second: Sequence[str]) -> np.ndarray:
    """Return how alike the texts of each pair are spelled (`plain`), shape (pairs,): 1
    minus Levenshtein's distance over the length of the longer text.

    >>> similarity(["Tiger", "Elefant"], ["tiger", "elephant"]).round(2).tolist()
    [1.0, 0.75]
    """
    first, second = list(map(plain, first)), list(map(plain, second))
    lengths = [
        max(len(a_text), len(b_text), 1)
        for a_text, b_text in zip(first, second, strict=True)
    ]
    return 1 - edit_distances(first, second) / np.array(lengths, float)


def nearest(names: Sequence[str], texts: Sequence[str]) -> pd.DataFrame:
    """Return the texts that are spelled most like each name: name and text (their
    positions), similarity, one row each; several where they are equally alike.

    Compared are the texts that share enough letters with the name, in whatever order, to
    be the most alike: a similarity is at most the number of shared letters over the
    length of the longer.

    >>> nearest(["tiger", "dog"], ["chien", "tigre"]).round(2).values.tolist()
    [[0.0, 1.0, 0.6], [1.0, 1.0, 0.2]]
    """
    bound = _most_alike(names, texts)
    first = bound.argmax(axis=1)
    least = similarity(names, [texts[place] for place in first])
    # Rounding must lose no text that is exactly as alike.
    is_candidate = bound >= least[:, None] - 1e-9
    shares_letters = is_candidate & (bound > 0)
    name, text = np.nonzero(shares_letters)
    exact = np.zeros(bound.shape)
    exact[name, text] = similarity(
        [names[place] for place in name], [texts[place] for place in text]
    )
    best = exact.max(axis=1)
    name, text = np.nonzero(is_candidate & (exact >= best[:, None] - 1e-9))
    return pd.DataFrame({"name": name, "text": text, "similarity": best[name]})


def _most_alike(names: Sequence[str], texts: Sequence[str]) -> np.ndarray:
    """Return the letters that each pair shares, in whatever order, over the length of
    the longer text: no similarity is greater. Shape (names, texts).
    """
    first, second = list(map(plain, names)), list(map(plain, texts))
    shared = np.zeros((len(first), len(second)), np.int16)
    for letter in set("".join(first)):
        in_names = np.array([text.count(letter) for text in first], np.int16)
        in_texts = np.array([text.count(letter) for text in second], np.int16)
        if in_texts.any():
            shared += np.minimum(in_names[:, None], in_texts)
    lengths = np.maximum.outer(list(map(len, first)), list(map(len, second)))
    return np.where(lengths == 0, 1.0, shared / np.maximum(lengths, 1))


def _letters(texts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the code points of each text, shape (texts, letters of the longest), and
    the lengths.
    """
    lengths = np.char.str_len(texts)
    longest = max(1, lengths.max())
    letters = np.ascontiguousarray(texts, dtype=f"<U{longest}").view(np.uint32)
    return letters.reshape(len(texts), longest), lengths
