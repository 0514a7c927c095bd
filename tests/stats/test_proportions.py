"""Shares of cases: exact intervals, shares near 0 or 1, unknown numbers of cases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.proportion import proportion_confint

from babelatlas.base.errors import InputError
from babelatlas.stats import (
    proportions,
)
from babelatlas.stats.proportions import smallest_denominator


def test_an_exact_interval_of_no_cases_goes_from_0_to_1():
    low, high = proportions.exact_interval([0, 3], [0, 3])
    assert low.tolist() == [0, pytest.approx(0.025 ** (1 / 3))]
    assert high.tolist() == [1, 1]


def test_the_ends_of_an_exact_interval_are_those_of_a_binomial_test():
    low, high = proportions.exact_interval(7, 40, level=0.9)
    assert scipy_stats.binom.sf(6, 40, low) == pytest.approx(0.05)
    assert scipy_stats.binom.cdf(7, 40, high) == pytest.approx(0.05)


@given(
    st.lists(
        st.tuples(st.integers(0, 400), st.integers(1, 400)), min_size=1, max_size=20
    ),
    st.floats(0.5, 0.999),
)
def test_an_exact_interval_is_that_of_statsmodels(counts, level):
    right, wrong = np.array(counts, float).T
    ends = proportions.exact_interval(right, right + wrong, level)
    expected = proportion_confint(right, right + wrong, 1 - level, method="beta")
    np.testing.assert_allclose(ends, expected, rtol=1e-12, atol=1e-15)


def test_a_share_of_which_few_clusters_have_anything_counts_each_cluster_as_one_case():
    total = np.full(20, 50.0)
    few, more = np.zeros(20), np.zeros(20)
    few[:4], more[:5] = 3, 3
    ends = (0.0, 0.0)
    assert proportions.share_interval(few, total, ends) == pytest.approx(
        proportions.exact_interval(20 * 0.012, 20)
    )
    high = proportions.share_interval(more, total, ends)[1]
    assert high < proportions.exact_interval(20 * 0.015, 20)[1], (
        "five clusters: their variance is used"
    )
    # Near 1 the same counts of what is wrong, mirrored.
    mirrored = proportions.share_interval(total - few, total, ends)
    assert mirrored == pytest.approx(
        [1 - end for end in proportions.share_interval(few, total, ends)[::-1]]
    )


@given(
    st.integers(500, 3000),
    st.lists(st.integers(1, 499), min_size=6, max_size=8, unique=True),
)
@settings(max_examples=20, deadline=None)
def test_the_number_of_cases_is_found_or_a_smaller_one_that_explains_all_shares(
    n, cases
):
    shares = np.array(cases) / n
    found = smallest_denominator(shares, 500, 3000)
    assert found <= n
    assert np.abs(shares * found - np.round(shares * found)).max() <= 1e-3
    assert smallest_denominator([1 / n, 2 / n], 500, 3000, tolerance=1e-6) == n


def test_shares_of_different_sets_have_no_number_of_cases():
    with pytest.raises(
        InputError, match="No number of cases from 2 to 50 makes all 2 shares whole"
    ):
        smallest_denominator([1 / 101, 1 / 103], 2, 50)


def test_chance_corrected_accuracy_is_0_for_guessing_and_1_for_correct_answers_alone():
    accuracy, n_classes = [0.1, 0.25, 1.0, 0.0, 0.25], [10, 10, 10, 2, 1000]
    found = proportions.chance_corrected(accuracy, n_classes)
    assert found.tolist() == pytest.approx([0, 0.15 / 0.9, 1, -1, 0.249 / 0.999])


def test_one_class_cannot_be_guessed_wrongly_and_none_is_a_mistake():
    assert np.isnan(proportions.chance_corrected([1.0], [1])).all()
    with pytest.raises(InputError, match="at least 1 class"):
        proportions.chance_corrected([0.5], [0])
