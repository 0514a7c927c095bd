"""Shares and sentences: slow transcriptions of the definitions, and what must always hold."""

import doctest
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelatlas.base.errors import InputError
from babelatlas.evaluation import reasoning
from babelatlas.stats import rounding


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(reasoning).failed == 0


@given(st.integers(1, 400), st.data())
def test_a_share_of_n_cases_is_its_own_nearest_share(n, data):
    k = data.draw(st.integers(0, n))
    assert rounding.nearest_share(100 * k / n, n, 100) == pytest.approx(100 * k / n)
    printed = round(100 * k / n, 1)
    assert abs(rounding.nearest_share(printed, n, 100) - printed) <= 0.05 + 1e-9


def test_a_mean_that_whole_cases_cannot_have_is_found():
    # 28 whole numbers: 145 / 28 = 5.18, 146 / 28 = 5.21, and nothing between.
    assert abs(rounding.nearest_share(5.19, 28) - 5.19) > 0.005
    assert rounding.nearest_share([5.18, 5.21], 28) == pytest.approx([5.18, 5.21], abs=0.005)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text("abc ", min_size=1, max_size=8), min_size=2, max_size=6), st.data())
def test_the_expected_types_of_a_draw_are_the_mean_over_all_draws(sentences, data):
    sentences = [f"{sentence} d" for sentence in sentences]
    n = data.draw(st.integers(1, len(sentences)))
    draws = list(itertools.combinations(sentences, n))
    slow = sum(len({word for sentence in draw for word in sentence.split()}) for draw in draws) / len(draws)
    assert reasoning.expected_types(sentences, str.split, n) == pytest.approx(slow)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rounding.nearest_share(0.5, 0, 100), "at least one case"),
        (lambda: reasoning.expected_types(["a"], str.split, 2), "A draw of 2 sentences from 1"),
        (lambda: reasoning.wording([], str.split), "no token in 0 sentences"),
    ],
)
def test_what_cannot_be_used_is_told_in_a_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()
