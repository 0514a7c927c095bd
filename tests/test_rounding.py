"""What rounding leaves of a number: shares of whole cases, unknown numbers of cases, bounds on correlations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from babelatlas import InputError, rounding


def test_the_nearest_share_is_the_nearest_of_all_shares():
    for value in np.linspace(0, 1, 41):
        shares = [whole / 7 for whole in range(8)]
        nearest = min(shares, key=lambda share: abs(share - value))
        assert abs(rounding.nearest_share(value, 7) - value) == pytest.approx(abs(nearest - value))


def test_a_mean_that_no_whole_number_of_cases_gives_is_seen():
    # 19 whole numbers cannot have the mean 3.45 (65 / 19 = 3.42, 66 / 19 = 3.47); as a share of 10: 0.345 of 190.
    assert round(float(rounding.nearest_share(0.345, 19)), 3) != 0.345
    assert round(float(rounding.nearest_share(0.342, 190)), 3) == 0.342


def test_shares_of_no_cases_are_refused():
    with pytest.raises(InputError, match="at least one case, got n=0"):
        rounding.nearest_share([0.5, 0.5], [10, 0])


def test_what_can_be_refuted_is_what_whole_cases_do_not_give():
    for n in (7, 60, 99, 100, 250):
        given_by_cases = {round(whole / n, 2) for whole in range(n + 1)}
        possible = {round(value / 100, 2) for value in range(101)}
        share = len(possible - given_by_cases) / len(possible)
        assert rounding.refutable(n, 2) == pytest.approx(share, abs=0.02)


@given(st.integers(500, 3000), st.lists(st.integers(1, 499), min_size=6, max_size=8, unique=True))
@settings(max_examples=20, deadline=None)
def test_the_number_of_cases_is_found_or_a_smaller_one_that_explains_all_shares(n, cases):
    shares = np.array(cases) / n
    found = rounding.denominator(shares, 500, 3000)
    assert found <= n
    assert np.abs(shares * found - np.round(shares * found)).max() <= 1e-3
    assert rounding.denominator([1 / n, 2 / n], 500, 3000, tolerance=1e-6) == n


def test_shares_of_different_sets_have_no_number_of_cases():
    with pytest.raises(InputError, match="No number of cases from 2 to 50 makes all 2 shares whole"):
        rounding.denominator([1 / 101, 1 / 103], 2, 50)


@pytest.mark.parametrize("method", rounding.METHODS)
@given(st.integers(0, 10_000), st.sampled_from([1, 2]))
@settings(max_examples=40, deadline=None)
def test_a_correlation_of_rounded_numbers_is_never_farther_off_than_the_bound(method, seed, decimals):
    rng = np.random.default_rng(seed)
    x = rng.random(30)
    y = x + rng.random(30)
    near = x.round(decimals), y.round(decimals)
    function = {"pearson": scipy_stats.pearsonr, "spearman": scipy_stats.spearmanr}[method]
    half = 0.5 * 10.0**-decimals
    off = abs(function(*near)[0] - function(x, y)[0])
    assert off <= rounding.correlation_slack(*near, half, half, method)
    mixed = x, y.round(decimals)
    off = abs(function(*mixed)[0] - function(x, y)[0])
    assert (
        off
        <= rounding.correlation_slack(*mixed, 0.0, half, method)
        <= rounding.correlation_slack(*mixed, half, half, method)
    )


def test_numbers_in_full_precision_leave_nothing_open():
    x = np.array([0.1, 0.1, 0.2, 0.4])
    for method in rounding.METHODS:
        assert rounding.correlation_slack(x, x, 0.0, 0.0, method) == 0.0


def test_ranks_of_well_separated_numbers_do_not_move():
    x = np.array([0.1, 0.2, 0.3, 0.5])
    assert rounding.correlation_slack(x, x, 0.05, 0.05, "spearman") == 0.0
    # Two equal numbers: each can move by half a place. 2 * sqrt(2 / 4) over the length of the centred ranks.
    tied = np.array([0.1, 0.1, 0.3, 0.5])
    ranks = np.array([1.5, 1.5, 3, 4]) - 2.5
    expected = 2 * np.sqrt(0.5) / np.sqrt((ranks**2).sum())
    assert rounding.correlation_slack(tied, x, 0.05, 0.05, "spearman") == pytest.approx(expected)


def test_an_unknown_method_and_a_constant_column_are_refused():
    x = np.arange(4.0)
    with pytest.raises(InputError, match="no bound for the method 'kendall'"):
        rounding.correlation_slack(x, x, 0.1, 0.1, "kendall")
    with pytest.raises(InputError, match="constant column"):
        rounding.correlation_slack(x, np.ones(4), 0.1, 0.1)
