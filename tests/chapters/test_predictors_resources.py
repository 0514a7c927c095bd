"""Correlations with text and images: against scipy, and a figure with a code a language."""

import pytest
from scipy import stats as scipy_stats

from atlas_study.chapters import predictors_resources

FAST = {"n_resamples": 20, "seed": 0}


@pytest.fixture(scope="module")
def resources():
    return predictors_resources.correlate_resources("geigle2024", "corrected", **FAST)


def test_a_correlation_is_that_of_scipy_over_the_languages_of_a_model(resources):
    rows = resources.correlations.set_index(["model", "kind"])
    for model in ("OpenAI B-32", "OpenCLIP XLMR-L H-14"):
        of_model = resources.text[resources.text["model"] == model]
        expected = scipy_stats.spearmanr(of_model["log_tokens"], of_model["accuracy"])
        row = rows.loc[(model, "tokens")]
        assert row["value"] == pytest.approx(expected.statistic)
        assert row["family_low"] <= row["family_high"]
    assert len(rows) == 5 * resources.text["model"].nunique()


def test_examples_are_compared_with_each_other_model(resources):
    models = ["OpenCLIP XLMR-L H-14", "OpenCLIP XLMR-B B-32"]
    examples = predictors_resources.compare_examples(resources.images, models, **FAST)
    assert models[0] not in set(examples.higher["model"])
    by_model = resources.correlations.query("kind == 'examples'").set_index("model")
    difference = by_model.loc[models[0], "value"] - by_model["value"]
    for row in examples.higher.itertuples():
        assert row.value == pytest.approx(difference[row.model])

    axis = predictors_resources.examples_figure(resources.images, models, **FAST)
    codes = {text.get_text() for text in axis.texts}
    assert codes == set(resources.images["lang"])
