"""How alike words are spelled: Levenshtein's distance, of many pairs at once."""

import unicodedata
from collections.abc import Sequence

import numpy as np


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
    first_letters, first_lengths = _letters(first)
    second_letters, second_lengths = _letters(second)
    n_pairs, n_columns = second_letters.shape
    steps = np.arange(n_columns + 1)
    # Row i of the table of distances: of the first i letters of one text from the first
    # j letters of the other.
    row = np.tile(steps, (n_pairs, 1))
    distances = second_lengths.copy()
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


def _letters(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the code points of each text, shape (texts, letters of the longest), and
    the lengths.
    """
    lengths = np.array([len(text) for text in texts], int)
    longest = max(1, lengths.max(initial=1))
    letters = np.array(list(texts), dtype=f"<U{longest}").view(np.uint32)
    return letters.reshape(len(lengths), longest), lengths
