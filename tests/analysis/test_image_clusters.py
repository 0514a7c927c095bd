"""Tests of how alike the outcomes of one class's images are, and of the one rule for
what is above guessing.
"""

import numpy as np
import pandas as pd
import pytest

from babelatlas.analysis import all_results as results
from babelatlas.analysis import image_clusters, verdicts
from babelatlas.base import released
from babelatlas.stats import proportions


def outcomes(correct: list[int], pictures: int = 2) -> pd.DataFrame:
    return pd.DataFrame({"lang": "de", "n_correct": correct, "n_images": pictures})


def test_classes_that_are_all_correct_or_all_wrong_have_a_correlation_of_1():
    assert image_clusters.intraclass_correlation(outcomes([2, 0, 2, 0])).tolist() == [1]


def test_the_correlation_is_that_of_an_analysis_of_variance_by_hand():
    # Means 1, 0.5, 0: between 2 * (0.25 + 0 + 0.25) / 2 = 0.5, within 2 * 0.25 / 3 =
    # 1/6; (1/2 - 1/6) / (1/2 + 1/6).
    assert image_clusters.intraclass_correlation(outcomes([2, 1, 0])) == pytest.approx(
        [0.5]
    )


def test_a_class_drawn_twice_counts_as_two_and_one_not_drawn_not_at_all():
    weights = np.array([[2, 1, 1, 0]])
    expected = image_clusters.intraclass_correlation(outcomes([2, 2, 1, 0]))
    assert image_clusters.intraclass_correlation(
        outcomes([2, 1, 0, 2]), weights
    ) == pytest.approx(expected)


def test_levels_of_languages_are_no_likeness_of_classes():
    both = pd.concat([outcomes([2, 1, 0]), outcomes([8, 7, 6], 8).assign(lang="fr")])
    within = image_clusters.intraclass_correlation(both)[0]
    assert within < image_clusters.intraclass_correlation(both.assign(lang="de"))[0]


def test_only_97_of_435_classes_say_how_alike_two_pictures_are():
    table = image_clusters.outcomes()
    assert table["wnid"].nunique() == 435
    assert table.loc[table["n_images"] > 1, "wnid"].nunique() == 97
    assert image_clusters.measured() == pytest.approx(0.42, abs=0.005)


def test_fifty_images_of_a_class_count_as_few_and_queries_as_themselves():
    table = pd.DataFrame({"dataset": ["babel-imagenet", "xm3600"], "n": [12_850, 3600]})
    cases = image_clusters.independent_images(table)
    assert cases.tolist() == pytest.approx(
        [257 * 50 / (1 + 49 * image_clusters.measured()), 3600]
    )


@pytest.mark.parametrize(
    ("correlation", "percent", "languages"),
    [(0, 10.8, 3), (None, 20.5, 29), (1, 26.1, 39)],
    ids=["0", "measured", "1"],
)
def test_what_is_not_above_guessing_depends_on_how_images_of_a_class_count(
    correlation, percent, languages
):
    """The pages had the last row, a class as one case, though their captions spoke of
    images.
    """
    table = results.released_results().query("id == 'babel-imagenet.label'")
    correlation = image_clusters.measured() if correlation is None else correlation
    cases = table["n"] / image_clusters.variance_factor(50, correlation)
    low, _ = proportions.exact_interval(table["value"] * cases, cases)
    above = pd.Series(low > table["baseline"], table.index)
    assert 100 * (~above).mean() == pytest.approx(percent, abs=0.06)
    assert (~above.groupby(table["lang"]).any()).sum() == languages


def test_all_pages_use_the_measured_correlation_for_what_is_above_guessing():
    table = results.released_results().query("id == 'babel-imagenet.label'")
    assert 100 * (table["above"] == 0).mean() == pytest.approx(20.5, abs=0.06)
    assert (table.groupby("lang")["above"].max() == 0).sum() == 29
    navajo = table[table["lang"] == "nv"]
    cases = image_clusters.independent_images(navajo)
    assert (navajo["above"] == 0).all()
    low, high = proportions.exact_interval(navajo["value"] * cases, cases)
    assert navajo["ci_low"].to_numpy() == pytest.approx(low)
    assert navajo["ci_high"].to_numpy() == pytest.approx(high)
    assert (low < navajo["baseline"]).all()
    assert verdicts.verdicts().loc["nv", "verdict"] == "not usable"


def test_other_data_sets_keep_the_interval_that_is_released():
    table = released.read(dataset="xm3600", harness="mteb")
    pd.testing.assert_frame_equal(results.widened(table), table)
