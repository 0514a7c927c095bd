"""Tests of what the page on intervals computes from simulations and from outcomes."""

import pandas as pd
import pytest

import babelatlas as ba
from atlas_study.chapters import intervals
from babelatlas.analysis import image_clusters


@pytest.fixture(scope="module")
def sections() -> dict[str, pd.DataFrame]:
    return intervals.simulations()


def outcomes(correct: list[int]) -> pd.DataFrame:
    names = [f"n{number}" for number in range(len(correct))]
    return pd.DataFrame(
        {"lang": "de", "wnid": names, "n_correct": correct, "n_images": 2}
    )


def test_the_sections_hold_every_simulation_once(sections):
    assert sum(map(len, sections.values())) == len(ba.load("interval_coverage"))
    families = sections["families"]
    assert (families["alarms_low"] <= families["alarms"]).all()
    assert (families["alarms"] <= families["alarms_high"]).all()


def test_a_figure_of_coverage_has_a_panel_for_each_kind_of_data(sections):
    means = sections["means"]
    axis = intervals.draw_coverage(means, "world", "interval")
    titles = [panel.get_title() for panel in axis.figure.axes]
    assert titles == list(means["world"].unique())
    assert axis.figure.get_supxlabel() == "coverage of the true value"


def test_a_kind_of_data_without_pairs_of_a_statistic_has_an_en_dash(sections):
    power = sections["told apart"]
    view = intervals.differences_found(power.assign(kind=power["method"]))
    assert view["data"].tolist() == list(power["world"].unique())
    different = view.filter(like="different models")
    all_equal = view["data"].str.contains("all equal")
    assert (different[all_equal] == "–").all(axis=None)
    assert different[~all_equal].map(lambda text: text.endswith(")")).all(axis=None)


def test_related_languages_and_statements_about_models_in_general_are_left_out():
    table = pd.DataFrame(
        {
            "section": ["means", "families", "crossed", "crossed", "means"],
            "statistic": "mean",
            "world": "normal",
            "method": [
                "languages drawn",
                "languages drawn",
                "languages drawn, truth for models of the kind",
                "both drawn, truth for models of the kind",
                "languages drawn",
            ],
            "n": 7,
            "interval": [*[intervals.OURS] * 4, intervals.PLAIN],
        }
    )
    cases = intervals.of_independent_languages(table)
    assert cases.index.tolist() == [0, 3]
    assert cases["has_plain"].tolist() == [True, False]


def test_the_table_says_what_lies_outside_in_percent(sections):
    row = intervals.coverage_table(sections["means"]).iloc[0]
    assert row["coverage (%)"].startswith("94.4 (")
    assert row["value below, above (%)"] == "2.0, 3.6"
    assert row["resampled"] == "languages"


def test_outcomes_that_agree_within_classes_count_each_class_once():
    alike = intervals.likeness(outcomes([2, 0] * 10), 9, n_resamples=50)
    assert alike.correlation == 1
    assert alike.stretch == 3  # the root of 9 images that count as one
    assert (alike.n_classes, alike.n_languages, alike.n_outcomes) == (20, 1, 40)


def test_the_likeness_of_the_run_that_ships_is_the_one_that_is_measured():
    alike = intervals.likeness(image_clusters.outcomes(), n_resamples=50)
    assert alike.correlation == pytest.approx(image_clusters.measured())
    assert alike.correlation_low < alike.correlation < alike.correlation_high
    assert (alike.n_classes_with_several, alike.n_classes) == (97, 435)
