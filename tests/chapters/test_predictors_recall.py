"""Models and languages of released recall: fits against statsmodels, shares by hand."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from atlas_study.chapters import predictors_recall


def matrix_of_effects(shape):
    """Indicators of each model and each language but one, with an intercept."""
    models, languages = np.indices(shape)
    columns = [models.ravel() == model for model in range(shape[0])]
    columns += [languages.ravel() == lang for lang in range(1, shape[1])]
    return np.column_stack(columns).astype(float)


def test_both_fits_are_those_of_statsmodels():
    y = np.array([[0.1, 0.4, 0.3], [0.2, 0.7, 0.5], [0.3, 0.6, 0.9], [0.5, 0.5, 0.8]])
    weights = np.ones((1, *y.shape))
    start = y.mean(axis=1, keepdims=True)[None]
    effects = matrix_of_effects(y.shape)

    squares = predictors_recall._least_squares_fit(y, weights, start)
    expected = sm.OLS(y.ravel(), effects).fit().fittedvalues
    np.testing.assert_allclose(squares.ravel(), expected)

    logistic = predictors_recall._logistic_fit(y, weights, start)
    expected = sm.GLM(y.ravel(), effects, family=sm.families.Binomial()).fit()
    np.testing.assert_allclose(logistic.ravel(), expected.fittedvalues, atol=1e-5)
    deviance = 2 * predictors_recall._deviance(y, logistic).sum()
    assert deviance == pytest.approx(expected.deviance, abs=1e-6)


def test_additive_recall_is_explained_by_models_and_languages_together():
    models, langs = ["a", "b"], ["de", "fi", "ja"]
    rows = [
        (model, lang, 0.1 + 0.2 * place + 0.1 * order)
        for place, model in enumerate(models)
        for order, lang in enumerate(langs)
    ]
    sample = pd.DataFrame(rows, columns=["model", "lang", "value"])
    sample["home"] = sample["lang"]
    losses = predictors_recall._losses(sample, "recall", 20, 0)
    shares = predictors_recall._shares(*losses)
    # Sums of squares: models 6 * 0.1 ** 2, languages 2 * 2 * 0.1 ** 2.
    assert shares["models"][0] == pytest.approx(0.6)
    assert shares["languages"][0] == pytest.approx(0.4)
    assert shares["gap"][0] == pytest.approx(-0.2)


def test_a_ratio_differs_from_1_only_with_both_intervals_on_one_side():
    rows = [
        (0.01, 1.2, 2.0, 1.1, 1.9),
        (0.01, 1.2, 2.0, 0.9, 1.9),
        (0.20, 1.2, 2.0, 1.1, 1.9),
        (0.01, 0.2, 0.8, 0.3, 0.9),
    ]
    ratios = pd.DataFrame(rows, columns=["p_holm", "ci_low", "ci_high", "low", "high"])
    away = predictors_recall.away_from_one(ratios)
    assert away.tolist() == [True, False, False, True]
