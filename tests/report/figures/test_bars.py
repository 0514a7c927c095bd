"""Bars: parts of a whole stand where their shares say."""

import pandas as pd
import pytest
from matplotlib.colors import to_rgba

from babelatlas.report import figures


def texts(labels):
    return [label.get_text() for label in labels]


def test_parts_of_a_bar_stand_side_by_side_in_the_order_of_the_table():
    table = pd.DataFrame(
        {
            "paper": ["A", "A", "B", "A", "B"],
            "verdict": ["exact", "close", "exact", "other", "other"],
            "value": [0.5, 0.3, 0.25, 0.2, 0.75],
        }
    )
    axis = figures.stacked_shares(table, "paper", "verdict")
    exact, close, other = axis.containers
    assert [bar.get_width() for bar in exact] == [0.5, 0.25]
    assert [bar.get_x() for bar in close] == [0.5, 0.25]
    widths = [bar.get_width() for bar in close]
    assert widths == pytest.approx([0.3, 0])  # B has no such part
    assert [bar.get_x() for bar in other] == pytest.approx([0.8, 0.25])
    assert texts(axis.get_yticklabels()) == ["A", "B"]
    low, high = axis.get_ylim()
    assert low > high  # the first bar is on top
    assert texts(axis.figure.legends[0].get_texts()) == ["exact", "close", "other"]


def test_only_parts_that_are_not_narrow_carry_their_percent():
    table = pd.DataFrame(
        {"paper": "A", "part": ["x", "y", "z"], "value": [0.86, 0.1, 0.04]}
    )
    axis = figures.stacked_shares(table, "paper", "part", narrow=0.1)
    assert texts(axis.texts) == ["86", "10"]
    centre, row = axis.texts[1].get_position()
    assert (centre, row) == (pytest.approx(0.91), 0)


def test_the_last_of_several_parts_is_grey_and_a_single_part_is_not():
    table = pd.DataFrame({"paper": "A", "part": ["x", "y"], "value": [0.6, 0.4]})
    several = figures.stacked_shares(table, "paper", "part").containers
    alone = figures.stacked_shares(table[:1], "paper", "part").containers
    colours = [bars[0].get_facecolor() for bars in (*several, *alone)]
    blue = to_rgba(figures.COLOURS[0])
    assert colours == [blue, to_rgba("0.85"), blue]
