"""Curves: lines and marks stand where the table says."""

import pandas as pd

from babelatlas.report import figures


def texts(labels):
    return [label.get_text() for label in labels]


def test_at_least_writes_the_number_of_languages_where_a_mark_meets_a_line():
    curves = pd.DataFrame(
        {"series": ["a", "a", "b"], "n_classes": [5, 200, 50], "n_languages": [4, 2, 9]}
        # b has no language with fewer than 50 classes, so that nothing is known of it
        # at 10
    )
    axis = figures.at_least(curves, marks=[10, 50])
    assert sorted(texts(axis.texts)) == ["2", "2", "9"]
    assert texts(axis.get_legend().get_texts()) == ["a", "b"]


def test_a_line_counts_languages_up_to_each_number_of_classes():
    curves = pd.DataFrame({"series": "a", "n_classes": [200, 5], "n_languages": [2, 4]})
    (line,) = figures.at_least(curves).lines
    assert line.get_xdata().tolist() == [5, 200]
    assert line.get_ydata().tolist() == [4, 2]
    assert line.get_drawstyle() == "steps-pre"


def test_the_number_of_the_first_series_stands_below_its_line_and_others_above():
    curves = pd.DataFrame(
        {"series": ["a", "b"], "n_classes": [50, 50], "n_languages": [4, 9]}
    )
    first, second = figures.at_least(curves, marks=[50]).texts
    assert (first.get_text(), first.get_va()) == ("4", "top")
    assert (second.get_text(), second.get_va()) == ("9", "bottom")
