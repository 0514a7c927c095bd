"""Checks of a fit: every residual and every effect is drawn."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from atlas_study.chapters import predictors_checks


def test_the_checks_of_a_mixed_model_show_every_residual_and_every_effect():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "fitted": rng.random(40),
            "residual": rng.normal(size=40),
            "model": ["a", "b"] * 20,
        }
    )
    effects = pd.DataFrame(
        {"name": ["language"] * 9 + ["model"] * 3, "value": rng.normal(size=12)}
    )
    axes = predictors_checks.mixed_checks(rows, effects)
    assert sum(len(line.get_xdata()) for line in axes[0, 0].lines[:2]) == 40
    residuals, languages_, others = (
        axis.lines[0].get_ydata() for axis in axes.ravel()[1:]
    )
    np.testing.assert_allclose(residuals, sorted(rows["residual"]))
    np.testing.assert_allclose(languages_, sorted(effects["value"][:9]))
    assert np.std(others, ddof=1) == pytest.approx(1)
    assert axes[1, 0].get_title() == "effects of: language"


def test_residuals_lie_around_the_means_of_the_tenths_of_their_rows():
    rows = pd.DataFrame(
        {
            "fitted": np.arange(20.0),
            "residual": [1.0, -1.0, *[0.5] * 18],
            "model": "a",
        }
    )
    effects = pd.DataFrame({"name": ["x"] * 3 + ["y"] * 2, "value": [1.0, 2, 4, 3, 5]})
    residuals, means, zero = predictors_checks.mixed_checks(rows, effects)[0, 0].lines
    assert residuals.get_xdata().tolist() == list(range(20))
    assert means.get_xdata().tolist() == [2 * place + 0.5 for place in range(10)]
    assert means.get_ydata().tolist() == [0, *[0.5] * 9]
    assert zero.get_ydata() == [0, 0]


def test_values_like_normal_quantiles_lie_on_their_line():
    quantiles, _ = scipy.stats.probplot(np.arange(20), fit=False)
    rows = pd.DataFrame(
        {"fitted": np.arange(20.0), "residual": 5 + 2 * quantiles, "model": "a"}
    )
    effects = pd.DataFrame({"name": ["x"] * 3 + ["y"] * 2, "value": [1.0, 2, 4, 3, 5]})
    values, line = predictors_checks.mixed_checks(rows, effects)[0, 1].lines
    np.testing.assert_allclose(line.get_xdata(), quantiles)
    np.testing.assert_allclose(line.get_ydata(), values.get_ydata())
