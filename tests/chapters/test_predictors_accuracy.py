"""The mixed model of published accuracy: which scale, which effects, and what other
choices do.
"""

import numpy as np
import pytest

from atlas_study.chapters import predictors_accuracy
from babelatlas.base import published

SETTINGS = ("geigle2024", "corrected", 5)


@pytest.fixture(scope="module")
def model():
    return predictors_accuracy.fit_accuracy(*SETTINGS, n_resamples=20, seed=0)


def test_the_scale_with_the_lowest_aic_is_taken(model):
    assert model.scale == model.scales.loc[model.scales["AIC"].idxmin(), "scale"]
    assert len(model.by_model.table) > len(model.table)


def test_each_effect_says_in_how_many_languages_its_property_occurs(model):
    latin = model.table[model.table["script"] == "Cyrillic"]
    assert model.tested.loc["log_tokens", "languages"] == model.table["lang"].nunique()
    cyrillic = model.tested.loc["script: Cyrillic", "languages"]
    assert cyrillic == latin["lang"].nunique()
    for row in model.tested.itertuples():
        assert (" to " in row.text) == (row.ci_low < 0)


def test_recipes_with_a_list_have_a_slope_of_it(model):
    slopes = predictors_accuracy.list_slopes(model, 20, 0)
    listed = model.table.groupby("model")["is_listed"].sum()
    assert (slopes["languages"] > 0).all()
    assert slopes["languages"].tolist() == listed[slopes["level"]].tolist()


def test_a_model_without_one_cluster_has_nearly_the_effects_of_all(model):
    without = predictors_accuracy.without_one(model)
    n_clusters = model.table["model"].nunique() + model.table["family"].nunique()
    assert len(without) == 3 * n_clusters
    full = model.tested.loc["log_tokens", "value"]
    rows = without[without["effect"] == "ten times the text"]
    np.testing.assert_allclose(rows["change"], (rows["value"] - full).abs())


def test_the_main_model_stands_first_among_other_choices(model):
    choices = predictors_accuracy.other_choices(model, *SETTINGS)
    assert choices.columns[0] == "main model"
    text = choices.loc["ten times the text", "main model"]
    assert text == pytest.approx(model.tested.loc["log_tokens", "value"])
    assert "no list published" not in choices.index


def test_differences_are_those_from_the_fit_without_the_language(model):
    table = predictors_accuracy.differences(model)
    assert len(table) == model.table["lang"].nunique()
    sizes = table["difference (points)"].abs()
    assert sizes.is_monotonic_decreasing


def test_languages_without_tokens_are_named(model):
    left_out = predictors_accuracy.left_out(model, "geigle2024")
    n_all = len(published.groups().query("lang != 'en'"))
    n_left_out = left_out.without_tokens.count(" classes)")
    assert n_left_out == n_all - model.table["lang"].nunique()
    spread = predictors_accuracy.check_residuals(model).spread
    assert spread.is_monotonic_increasing
