"""Lines and log-linear fits: against scipy and statsmodels."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from babelatlas.base.errors import InputError
from babelatlas.stats import regression


def test_a_regression_line_equals_that_of_scipy_and_lies_in_its_band(pairs):
    band = regression.regression_band(pairs, "x", "y", n_resamples=200)
    fit = scipy_stats.linregress(pairs.x, pairs.y)
    assert band.y.tolist() == pytest.approx(
        (fit.intercept + fit.slope * band.x).tolist()
    )
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
    # statsmodels 0.15: OLS(accuracy, add_constant(log(classes))).fit(): params,
    # rsquared
    row = regression.log_linear_fit(
        [50, 100, 200, 400, 800], [0.91, 0.80, 0.75, 0.62, 0.58]
    ).iloc[0]
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


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ([], "no results"),
        ([10], "one number of classes (10), and a line needs two"),
        ([10] * 20, "one number of classes (10), and a line needs two"),
        ([2, 10], "two results, and any line passes through both"),
    ],
)
def test_too_few_numbers_of_classes_give_a_row_without_a_fit_that_says_why(
    sizes, reason
):
    row = regression.log_linear_fit(
        sizes, np.linspace(0.2, 0.4, len(sizes)), n_resamples=20
    ).iloc[0]
    assert row.reason == reason
    assert (
        row[
            [
                "intercept",
                "slope",
                "per_doubling",
                "ci_low",
                "ci_high",
                "r2",
                "max_residual",
            ]
        ]
        .isna()
        .all()
    )
    assert row.n == row.n_clusters == len(sizes)


def test_a_fit_is_made_where_one_subset_alone_has_another_number_of_classes():
    # A language of 11 classes, with 20 subsets of 10: the least that a curve of a run
    # has.
    row = regression.log_linear_fit(
        [10] * 20 + [11], [*np.linspace(0.3, 0.5, 20), 0.39], n_resamples=200
    ).iloc[0]
    assert row.reason == ""
    assert np.isfinite(
        row[["per_doubling", "ci_low", "ci_high", "r2"]].astype(float)
    ).all()


def test_a_constant_accuracy_has_a_flat_fit_that_explains_nothing():
    row = regression.log_linear_fit([1, 10, 100], [0.5, 0.5, 0.5], n_resamples=20).iloc[
        0
    ]
    assert (row.per_doubling, row.reason) == (0, "")
    assert np.isnan(row.r2)


def test_rows_of_one_draw_have_no_interval_and_so_no_fit():
    row = regression.log_linear_fit([2, 4, 8], [0.9, 0.7, 0.5], ["a", "a", "a"]).iloc[0]
    assert (
        row.reason
        == "all results belong together, and an interval needs two that do not"
    )
    assert (row.n, row.n_clusters) == (3, 1)


def test_a_fit_over_numbers_of_classes_refuses_gaps_and_no_classes():
    for sizes, accuracy in [
        ([1, 2, 4], [0.5, np.nan, 0.2]),
        ([0, 2, 4], [0.5, 0.4, 0.2]),
    ]:
        with pytest.raises(InputError, match="numbers of 1 or more, and no gaps"):
            regression.log_linear_fit(sizes, accuracy)
