"""Lines and log-linear fits: against scipy and statsmodels."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from babelatlas.stats import regression


def test_a_regression_line_equals_that_of_scipy_and_lies_in_its_band(pairs):
    band = regression.regression_band(pairs, "x", "y", n_resamples=200)
    fit = scipy_stats.linregress(pairs.x, pairs.y)
    assert band.y.tolist() == pytest.approx((fit.intercept + fit.slope * band.x).tolist())
    assert band.x.iloc[[0, -1]].tolist() == [pairs.x.min(), pairs.x.max()]
    assert ((band.ci_low <= band.y) & (band.y <= band.ci_high)).all()


def test_an_exact_log_linear_fall_is_found_exactly():
    classes = np.array([50, 100, 200, 400, 800])
    row = regression.log_linear_fit(classes, 0.9 - 0.08 * np.log2(classes / 50)).iloc[0]
    assert row.per_doubling == pytest.approx(-8)
    assert (row.ci_low, row.ci_high) == pytest.approx((-8, -8))
    assert row.r2 == pytest.approx(1)
    assert row.max_residual == pytest.approx(0, abs=1e-9)


def test_a_noisy_log_linear_fit_equals_ordinary_least_squares():
    # statsmodels 0.15: OLS(accuracy, add_constant(log(classes))).fit(): params, rsquared
    row = regression.log_linear_fit([50, 100, 200, 400, 800], [0.91, 0.80, 0.75, 0.62, 0.58]).iloc[0]
    assert row[["intercept", "slope", "r2"]].tolist() == pytest.approx(
        [1.3740839199410753, -0.12118638343467268, 0.9762036524626453]
    )


def test_the_interval_of_a_slope_covers_the_truth_and_counts_clusters():
    rng = np.random.default_rng(11)
    classes = np.tile([50, 100, 200, 400, 800], 30)
    draw = np.arange(30).repeat(5)
    accuracy = 1.2 - 0.1 * np.log(classes) + 0.02 * rng.normal(size=150)
    row = regression.log_linear_fit(classes, accuracy, draw).iloc[0]
    assert row.ci_low < -10 * np.log(2) < row.ci_high
    assert row.n_clusters == 30
