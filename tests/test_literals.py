"""The estimators of `stats` against numbers that R printed; each with the place where
the number was read.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from babelatlas.stats import (
    bootstrap,
    correlation,
    multiple_comparisons,
    permutation,
    proportions,
    regression,
)


def coefficient(x, y, method):
    table = pd.DataFrame({"x": x, "y": y, "lang": [str(n) for n in range(len(x))]})
    return correlation.correlate(table, "x", "y", methods=[method], n_resamples=10).loc[
        0, "value"
    ]


def test_the_interval_of_a_mean_is_that_of_boot():
    # boot.ci(boot(x, mean, 1e6)), type "perc"; quoted in SciPy 1.17,
    # scipy/stats/tests/test_resampling.py.
    x = [10, 12, 12.5, 12.5, 13.9, 15, 21, 22, 23, 34, 50, 81, 89, 121, 134, 213]
    # It is of plain percentiles: ours are those of the level that is expanded to 95 %.
    row = bootstrap.mean_interval(
        x, n_resamples=100_000, level=1 - bootstrap.expanded_p(0.05, 16)
    ).iloc[0]
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((28.86, 84.21), rel=0.01)


def test_holm_is_that_of_multtest():
    # mt.rawp2adjp of R's multtest, column "Holm"; quoted in statsmodels 0.15,
    # stats/tests/test_multi.py, res_multtest1.
    p = [
        0.838541367553,
        0.642193923795,
        0.680845947633,
        0.967833824309,
        0.71626938238,
        0.177096952723,
    ]
    p += [5.23656777208e-005, 0.0202732688798, 0.00028140506198, 0.0149877310796]
    wanted = [
        5.2365677720800005e-04,
        2.5326455578199999e-03,
        1.1990184863680001e-01,
        1.4191288215860001e-01,
    ]
    assert np.sort(multiple_comparisons.holm(p)) == pytest.approx(
        [*wanted, *[1.0] * 6], rel=1e-9
    )


def test_correlations_are_those_of_cor_test():
    # cor.test of R 3.6.2, quoted in SciPy 1.17, tests/test_stats.py:
    # test_basic_example, test_spearmanr_vs_r, test_against_R_lt_171 (data of Hollander
    # and Wolfe 1973), and a case with two neighbours exchanged.
    assert coefficient([1, 2, 3, 4], [0, 1, 0.5, 1], "pearson") == pytest.approx(
        0.6741998624632421, rel=1e-12
    )
    assert coefficient([1, 2, 3, 4, 5], [5, 6, 7, 8, 7], "spearman") == pytest.approx(
        0.82078268166812329, rel=1e-12
    )
    x = [44.4, 45.9, 41.9, 53.3, 44.7, 44.1, 50.7, 45.2, 60.1]
    y = [2.6, 3.1, 2.5, 5.0, 3.6, 4.0, 5.2, 2.8, 3.8]
    assert coefficient(x, y, "kendall") == pytest.approx(0.4444444444444445, rel=1e-12)
    assert coefficient(range(10), [0, 2, 1, *range(3, 10)], "kendall") == pytest.approx(
        0.9555555555555556, rel=1e-12
    )


def test_a_log_linear_fit_is_that_of_lm():
    # summary(lm(y ~ x)), quoted in SciPy 1.17, test_stats.py, test_regress_against_R; x
    # is given as the logarithm.
    x = np.array([151, 174, 138, 186, 128, 136, 179, 163, 152, 131])
    y = [63, 81, 56, 91, 47, 57, 76, 72, 62, 48]
    row = regression.log_linear_fit(np.exp(x / 10), y, n_resamples=10).iloc[0]
    found = (row["slope"] / 10, row["intercept"], row["r2"])
    assert found == pytest.approx(
        (0.6746104491292, -38.4550870760770, 0.95478224775), rel=1e-9
    )


@pytest.mark.parametrize(
    ("right", "n", "level", "low", "high"),
    [
        # binom.test of R 3.6.2, quoted in SciPy 1.17, test_morestats.py,
        # test_confidence_interval*.
        (20, 100, 0.95, 0.1266555521019559, 0.2918426890886281),
        (3, 50, 0.99, 0.006872485, 0.202706269),
        (0, 10, 0.95, 0.0, 0.3084971),
        (10, 10, 0.95, 0.6915029, 1.0),
    ],
)
def test_an_exact_interval_is_that_of_binom_test(right, n, level, low, high):
    assert proportions.exact_interval(right, n, level) == pytest.approx(
        (low, high), rel=1e-6
    )


def test_a_sign_flip_test_of_signed_ranks_is_wilcoxons():
    gap = np.array([1.2, -0.3, 0.9, 2.2, -0.7, 1.6, 0.4, 1.1, -0.2, 0.8])
    signed = np.sign(gap) * scipy_stats.rankdata(np.abs(gap))
    wanted = scipy_stats.wilcoxon(gap, method="exact").pvalue
    assert permutation.paired_permutation_test(signed) == pytest.approx(
        wanted, rel=1e-12
    )
