"""The cost of a doubling of the classes: by hand, for accuracies that fall by one form."""

import numpy as np
import pandas as pd
import pytest

from atlas_study.chapters import predictors_classes


@pytest.fixture
def means():
    """A model that loses 5 points, and one that keeps 80 %, with every doubling."""
    rows = [
        ("linear", "English", 0.60, 0.80, 4.0),
        ("linear", "low", 0.40, 0.45, 1.0),
        ("linear", "high", 0.50, 0.60, 2.0),
        ("power", "English", 0.80 * 0.8**4, 0.80, 4.0),
        ("power", "low", 0.50 * 0.8, 0.50, 1.0),
        ("power", "high", 0.70 * 0.8**2, 0.70, 2.0),
    ]
    return pd.DataFrame(rows, columns=["model", "group", "many", "few", "doublings"])


def test_a_constant_cost_is_1_in_all_groups_on_its_own_scale_only(means):
    costs = predictors_classes.relative_costs(means).set_index(["model", "scale"])
    np.testing.assert_allclose(costs.loc[("linear", "points"), "value"], 1)
    np.testing.assert_allclose(costs.loc[("power", "% of the accuracy"), "value"], 1)
    assert costs.loc[("linear", "log-odds"), "value"].std() > 0.01
    assert (costs["ci_low"] < costs["value"]).all()
    assert (costs["value"] < costs["ci_high"]).all()


def test_nothing_is_wrong_when_the_form_holds(means):
    errors = predictors_classes.prediction_errors(means)
    errors = errors.set_index(["groups", "model", "scale"])
    assert errors.loc[("with English", "linear", "points"), "value"] == pytest.approx(0)
    by_power = errors.loc[("without English", "power", "% of the accuracy")]
    assert by_power["value"] == pytest.approx(0)
    assert by_power["n"] == 2
    # From low's 5 points a doubling, high would have 0.70 - 2 * 0.1 with all classes.
    high, low = 0.70 * 0.64 - 0.50, 0.50 * 0.8 - (0.50 - 0.126)
    expected = np.sqrt((high**2 + low**2) / 2)
    by_points = errors.loc[("without English", "power", "points"), "value"]
    assert by_points == pytest.approx(expected)


def test_groups_whose_languages_have_at_most_100_classes_are_left_out():
    means = predictors_classes.reported_means("geigle2024")
    assert list(means["group"].unique()) == ["English", "low", "mid", "high"]
    english = means[means["group"] == "English"]
    np.testing.assert_allclose(english["doublings"], np.log2(10))
    assert (means["few"] > means["many"]).all()


def test_models_of_one_recipe_count_once(means):
    errors = predictors_classes.prediction_errors(means)
    recipes = {"linear": "one recipe", "power": "another"}
    table, n_recipes = predictors_classes.mean_errors(
        errors, recipes, n_resamples=20, seed=0
    )
    assert n_recipes == 2
    assert table["constant cost in"].tolist() == [*predictors_classes.FORMS] * 2
    assert table["p"].isna().tolist() == [True, False, False] * 2
