"""Holm's correction and letters: cases done by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from babelatlas.stats import (
    multiple_comparisons,
)


def test_holm_does_not_count_what_was_not_tested():
    assert multiple_comparisons.holm([0.01, np.nan, 0.2]) == pytest.approx(
        [0.02, np.nan, 0.2], nan_ok=True
    )
    assert multiple_comparisons.holm([np.nan]) == pytest.approx([np.nan], nan_ok=True)
    assert multiple_comparisons.holm([]).tolist() == []


@pytest.mark.parametrize(
    ("different", "letters"),
    [
        ([], ["a", "a", "a", "a"]),
        ([("w", "z")], ["a", "ab", "ab", "b"]),
        ([("w", "y"), ("w", "z"), ("x", "z")], ["a", "ab", "bc", "c"]),
        ([(a, b) for a in "wxyz" for b in "wxyz" if a < b], ["a", "b", "c", "d"]),
        ([("z", "w"), ("y", "w"), ("x", "w")], ["a", "b", "b", "b"]),
        ([("w", "x"), ("y", "z")], ["ab", "cd", "ac", "bd"]),
    ],
)
def test_letters_of_cases_done_by_hand(different, letters):
    assert multiple_comparisons.compact_letters("wxyz", different) == letters


@given(st.integers(1, 9), st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_names_share_a_letter_just_where_they_do_not_differ(n, seed):
    names = [f"m{i}" for i in range(n)]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    different = [pair for place, pair in enumerate(pairs) if seed >> (place % 32) & 1]
    letters = dict(
        zip(names, multiple_comparisons.compact_letters(names, different), strict=True)
    )
    assert all(letters.values())
    for one, other in pairs:
        assert bool(set(letters[one]) & set(letters[other])) == (
            (one, other) not in different
        )


@pytest.mark.parametrize(
    "p",
    [
        [0.04, 0.01, 0.03, 0.01, 1.0, 0.0],
        np.random.default_rng(0).uniform(0, 0.1, 300).round(2),
    ],
    ids=["few, with ties", "many, with ties"],
)
def test_holm_is_that_of_statsmodels(p):
    expected = multipletests(p, method="holm")[1]
    assert multiple_comparisons.holm(p).tolist() == expected.tolist()
