"""What rounding leaves of a number: shares of whole cases, unknown numbers of cases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from babelatlas.stats import correlation
from papercheck import rounding


def test_the_nearest_share_is_the_nearest_of_all_shares():
    for value in np.linspace(0, 1, 41):
        shares = [whole / 7 for whole in range(8)]
        nearest = min(shares, key=lambda share: abs(share - value))
        assert abs(rounding.nearest_share(value, 7) - value) == pytest.approx(
            abs(nearest - value)
        )


def test_a_mean_that_no_whole_number_of_cases_gives_is_seen():
    # 19 whole numbers cannot have the mean 3.45 (65 / 19 = 3.42, 66 / 19 = 3.47); as a
    # share of 10: 0.345 of 190.
    assert round(float(rounding.nearest_share(0.345, 19)), 3) != 0.345
    assert round(float(rounding.nearest_share(0.342, 190)), 3) == 0.342


def test_what_can_be_refuted_is_what_whole_cases_do_not_give():
    for n in (7, 60, 99, 100, 250):
        given_by_cases = {round(whole / n, 2) for whole in range(n + 1)}
        possible = {round(value / 100, 2) for value in range(101)}
        share = len(possible - given_by_cases) / len(possible)
        assert rounding.refutable(n, 2) == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize("method", correlation.METHODS)
@given(seed=st.integers(0, 10_000), decimals=st.integers(0, 2))
@settings(max_examples=40, deadline=None)
def test_no_numbers_that_round_to_the_printed_ones_are_outside_the_slack(
    method, seed, decimals
):
    rng = np.random.default_rng(seed)
    exact = rng.normal(size=(2, 9)) + 3 * rng.normal(size=9) * (seed % 2)
    x, y = exact.round(decimals)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return
    half = 0.5 * 10.0**-decimals
    slack = rounding.rounding_slack(x, y, half, half, method)
    known = {
        "pearson": scipy_stats.pearsonr,
        "spearman": scipy_stats.spearmanr,
        "kendall": scipy_stats.kendalltau,
    }
    assert abs(known[method](*exact)[0] - known[method](x, y)[0]) <= slack + 1e-9


def test_a_rank_correlation_without_ties_and_close_numbers_has_no_slack():
    x, y = [1, 2, 3, 4], [2, 1, 3, 9]
    for method in ("spearman", "kendall"):
        assert rounding.rounding_slack(x, y, 0.4, 0.4, method) == 0
    assert rounding.rounding_slack(x, y, 0.4, 0.4, "pearson") > 0
    assert rounding.rounding_slack([1, 1, 2], [1, 2, 3], 0, 0, "kendall") == 0


def test_one_tied_pair_can_move_kendalls_tau_by_one_pair():
    # Five of six pairs agree and one is tied in y: tau-b is 5 / sqrt(6 * 5); resolved
    # it is 4/6 or 6/6.
    value = 5 / np.sqrt(30)
    slack = rounding.rounding_slack([1, 2, 3, 4], [1, 2, 2, 3], 0.1, 0.1, "kendall")
    assert slack == pytest.approx(value - 4 / 6)
