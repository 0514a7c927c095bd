"""Quantiles and tails against scipy.stats, value by value."""

import numpy as np
import pytest
import scipy

from babelatlas.stats import distributions

P = np.r_[0, 1e-300, np.linspace(0.001, 0.999, 99), 1]
VALUES = np.r_[-np.inf, np.linspace(-40, 40, 81), np.inf]
DEGREES = [1, 2, 2.5, 7, 300, 1e6, np.inf, 0, -1, np.nan]


def test_of_the_normal_distribution_all_equal_those_of_scipy_stats():
    norm = scipy.stats.norm
    np.testing.assert_array_equal(distributions.normal_quantile(P), norm.ppf(P))
    np.testing.assert_array_equal(distributions.normal_below(VALUES), norm.cdf(VALUES))
    np.testing.assert_array_equal(distributions.normal_above(VALUES), norm.sf(VALUES))


@pytest.mark.parametrize("degrees", DEGREES)
def test_of_students_t_all_equal_those_of_scipy_stats(degrees):
    t = scipy.stats.t
    quantiles = distributions.t_quantile(P[1:-1], degrees)
    np.testing.assert_array_equal(quantiles, t.ppf(P[1:-1], degrees))
    tails = distributions.t_above(VALUES, degrees)
    np.testing.assert_array_equal(tails, t.sf(VALUES, degrees))


def test_the_ends_of_students_t_are_infinite_and_a_single_value_is_a_number():
    assert distributions.t_quantile(0, 5) == -np.inf
    assert distributions.t_quantile(1, 5) == np.inf
    assert isinstance(distributions.t_quantile(0.975, 5), float)
