"""Tests of how alike words are spelled."""

from functools import cache

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from babelatlas.lexicon import spelling

WORDS = st.lists(st.text("abcé", max_size=6), min_size=1, max_size=5)


@cache
def slow_distance(first: str, second: str) -> int:
    """Levenshtein's definition, letter by letter."""
    if not first or not second:
        return len(first) + len(second)
    return min(
        slow_distance(first[1:], second) + 1,
        slow_distance(first, second[1:]) + 1,
        slow_distance(first[1:], second[1:]) + (first[0] != second[0]),
    )


@given(WORDS)
def test_distances_are_those_of_the_definition(words):
    others = words[::-1]
    expected = [
        slow_distance(one, other) for one, other in zip(words, others, strict=True)
    ]
    np.testing.assert_array_equal(spelling.edit_distances(words, others), expected)


def test_case_and_accents_do_not_count():
    np.testing.assert_allclose(
        spelling.similarity(["ÉLÉPHANT", "собака", ""], ["elephant", "dog", ""]),
        [1, 0, 1],
    )


@given(WORDS, WORDS)
def test_the_nearest_texts_are_those_of_all_comparisons(names, texts):
    pairs = [
        [spelling.similarity([name], [text])[0] for text in texts] for name in names
    ]
    every = np.array(pairs)
    expected = np.argwhere(every >= every.max(axis=1)[:, None] - 1e-9)
    nearest = spelling.nearest(names, texts)
    np.testing.assert_array_equal(nearest[["name", "text"]], expected)
    np.testing.assert_allclose(
        nearest["similarity"], every.max(axis=1)[nearest["name"]]
    )
