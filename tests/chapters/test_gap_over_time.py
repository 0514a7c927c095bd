"""The gap between languages over time: best results so far, references, changes that a
person can compute, and lines that end where their panel does.
"""

import matplotlib
import numpy as np
import pandas as pd
import pytest

from atlas_study.chapters import gap_over_time
from babelatlas.base.errors import InputError

matplotlib.use("Agg")


@pytest.fixture
def scores():
    """Model a comes first and is poor, b is better in German alone, c has no date."""
    values = {
        "a": {"en": 0.5, "de": 0.3, "sw": 0.1},
        "b": {"en": 0.4, "de": 0.6, "sw": 0.05, "hi": 0.2},
        "c": {"en": 0.9, "de": 0.9, "sw": 0.9},
    }
    rows = [
        {"model": model, "lang": lang, "value": value}
        for model, results in values.items()
        for lang, value in results.items()
    ]
    dates = pd.to_datetime(pd.Series({"a": "2021-01-01", "b": "2022-06-01"}))
    table = pd.DataFrame(rows)
    return table.assign(date=table["model"].map(dates), family=table["model"])


def test_best_results_so_far_only_rise_and_leave_out_what_came_later_or_has_no_date(
    scores,
):
    best, gap, n_models = gap_over_time.measure_gap(scores, "English")
    assert n_models == 2
    assert best.to_dict("list") == {
        "de": [0.3, 0.6],
        "en": [0.5, 0.5],
        "sw": [0.1, 0.1],
    }
    assert gap["de"].tolist() == pytest.approx([0.2, -0.1])
    assert gap["sw"].tolist() == pytest.approx([0.4, 0.4])


def test_the_gap_to_the_best_language_is_never_negative(scores):
    gap = gap_over_time.measure_gap(scores, "best language").gap
    assert gap["de"].tolist() == pytest.approx([0.2, 0.0])
    assert gap["sw"].tolist() == pytest.approx([0.4, 0.5])


def test_a_change_is_the_mean_over_languages_of_last_minus_first(scores):
    gap = gap_over_time.measure_gap(scores, "English").gap
    row = gap_over_time.changes({"all": gap}, 200, 0).iloc[0]
    assert row["before"] == pytest.approx(0.3)
    assert row["after"] == pytest.approx(0.15)
    assert row["value"] == pytest.approx(-0.15)
    assert (row["n"], row["n_families"]) == (2, 2)
    assert row["first"] == pytest.approx(30)
    assert row["change (points)"].startswith("−15.0 (")


def test_p_values_are_adjusted_for_all_rows(scores):
    gap = gap_over_time.measure_gap(scores, "English").gap
    rows = gap_over_time.changes({"one": gap, "other": gap}, 200, 0)
    wanted = np.minimum(2 * rows["p_family"], 1)
    assert rows["p_holm"].tolist() == pytest.approx(wanted.tolist())


def test_each_family_of_models_with_a_date_is_left_out_once(scores):
    comparisons = {"all": (scores, "English")}
    rows = gap_over_time.changes_without_one_family(comparisons, 200, 0)
    assert rows["without"].tolist() == ["a", "b"]
    assert rows["dates"].tolist() == [1, 1]
    assert rows["value"].tolist() == [0, 0]


def test_groups_with_few_families_have_no_intervals_and_keep_their_order(scores):
    gap = gap_over_time.measure_gap(scores, "English").gap
    rows = gap_over_time.changes_by_group({"all": gap}, 5, 200, 0)
    assert rows["group"].iloc[0] == "Latin script"
    assert rows["group"].iloc[1].startswith("resources: ")
    assert rows[["ci_low", "ci_high", "gap_low", "gap_high"]].isna().all(axis=None)
    assert rows.loc[0, "now"] == pytest.approx(15)


def test_lines_are_english_the_mean_of_the_others_and_the_languages_named(scores):
    gaps = {"all": gap_over_time.measure_gap(scores, "English")}
    means = gap_over_time.means_over_time(gaps, 50, 0)
    lines = gap_over_time.best_lines(gaps, means, ["sw", "ja"])
    names = ["English", "mean of the others", "Swahili"]
    assert lines["line"].unique().tolist() == names
    mean = lines[lines["line"] == "mean of the others"]
    assert mean["value"].tolist() == pytest.approx([0.2, 0.35])


def test_each_year_shows_the_last_results_before_its_end(scores):
    gaps = {"all": gap_over_time.measure_gap(scores, "English")}
    means = gap_over_time.means_over_time(gaps, 50, 0)
    years = gap_over_time.year_by_year(gaps, means)
    assert years["by the end of"].tolist() == ["2021", "2022"]
    assert years["English (%)"].tolist() == [50, 50]
    assert years.loc[1, "gap to English (points)"].startswith("15.0 (")


def test_series_name_results_that_exist():
    rows = gap_over_time.read_scores(
        "babel-imagenet", "babel-imagenet", "accuracy@1", "", ["label"], 200
    )
    assert rows["n"].min() >= 200 * 50
    with pytest.raises(InputError, match="No released result has harness"):
        gap_over_time.read_scores("mtep", "xm3600", "recall@1", "t2i", [""], 100)


def test_steps_over_time_end_at_the_last_date_of_their_panel_and_carry_their_names():
    dates = pd.to_datetime(["2021-01-01", "2022-01-01", "2023-01-01"])
    table = pd.DataFrame(
        {"set": "one", "line": ["A", "A", "B"], "date": dates, "value": [0.1, 0.3, 0.3]}
    )
    axes = gap_over_time.steps_over_time(
        table.assign(ci_low=0.05, ci_high=0.4), "set", "line", "best", bold=["A"]
    )
    assert [axis.get_title(loc="left") for axis in axes] == ["one"]
    assert [text.get_text() for text in axes[0].texts] == ["A 30", "B 30"]
    heights = [text.xy[1] for text in axes[0].texts]
    assert heights[1] > heights[0]  # equal ends are written apart
    assert axes[0].lines[0].get_ydata().tolist() == [0.1, 0.3, 0.3]


def test_a_line_of_a_language_links_to_its_page_and_a_mean_to_none():
    lines = pd.DataFrame(
        {
            "series": "s",
            "line": ["German", "mean of the others"],
            "date": pd.Timestamp("2024-01-01"),
            "value": 0.5,
            "ci_low": 0.4,
            "ci_high": 0.6,
        }
    )
    points = gap_over_time.chart(lines, "best")["points"]
    assert [point.get("link") for point in points] == ["language-de.html", None]
    assert points[0]["text"] == "German, 2024-01\nbest 50.0 %"
