"""Heat maps: every number stands in its cell, and missing ones stay blank."""

import numpy as np
import pandas as pd

from babelatlas.report import figures


def texts(labels):
    return [label.get_text() for label in labels]


def test_the_heatmap_has_a_panel_for_each_group_and_leaves_missing_cells_blank():
    table = pd.DataFrame(
        {
            "model": ["a", "b", "a"],
            "lang": ["de", "de", "si"],
            "group": ["high", "high", "low"],
            "value": [0.5, 0.25, 0.1],
        }
    )
    axes = figures.language_heatmap(table)
    assert [texts(axis.get_yticklabels()) for axis in axes] == [
        ["si"],
        ["de"],
    ]  # low resources first
    assert texts(axes[0].get_xticklabels()) == ["a", "b"]
    assert texts(axes[0].texts) == ["10", "low"]
    assert texts(axes[1].texts) == ["50", "25", "high"]
    assert (
        axes[0].collections[0].get_clim()
        == axes[1].collections[0].get_clim()
        == (0, 0.5)
    )


def test_the_heatmap_of_overlaps_puts_each_pair_below_the_diagonal_and_parts_the_groups():
    table = pd.DataFrame(
        {"panel": "TC", "first": ["c", "a"], "second": ["a", "b"], "value": [0.2, 0.4]}
    )
    (axis,) = figures.overlap_heatmap(table, ["a", "b", "c"], ["x", "x", "y"], "IoU")
    cells = np.ma.filled(axis.collections[0].get_array(), np.nan)
    np.testing.assert_array_equal(
        cells, [[np.nan] * 3, [0.4, np.nan, np.nan], [0.2, np.nan, np.nan]]
    )
    assert texts(axis.texts) == ["40", "20"]
    (line,) = axis.lines
    assert line.get_xydata().tolist() == [[0, 2], [2, 2], [2, 3]]


def test_two_triangles_hold_the_two_numbers_of_a_pair_and_leave_what_is_missing_blank():
    table = pd.DataFrame(
        {
            "set": "one",
            "first": ["A", "A"],
            "second": ["B", "C"],
            "note": ["12, 3", "4, 5"],
        }
    )
    table = table.assign(inside=[0.5, -0.25], across=[0.75, np.nan])
    axes = figures.two_triangles(table, "set", "inside", "across", "note", "tau")
    cells = axes[0].collections[0].get_array().filled(np.nan)
    assert cells[1, 0] == 0.5
    assert cells[0, 1] == 0.75
    assert np.isnan(cells[[0, 1, 0], [0, 2, 2]]).all()
    assert sorted(texts(axes[0].texts)) == ["-0.25\n4, 5", "0.50\n12, 3", "0.75\n12, 3"]
    assert axes[0].collections[0].get_clim() == (-0.25, 1)


def test_names_of_models_stand_above_every_panel_that_follows_a_large_one():
    table = pd.DataFrame(
        {
            "model": "a",
            "group": ["low", "mid", "mid", "mid", *["high"] * 4, "English"],
            "lang": ["si", "cs", "el", "he", "de", "fr", "es", "it", "en"],
            "value": 0.5,
        }
    )
    axes = figures.language_heatmap(table)
    shown = [axis.xaxis.get_tick_params()["labeltop"] for axis in axes]
    assert shown == [True, False, False, True]  # only the panel above English is large


def test_panels_of_many_names_stand_below_one_another_and_others_side_by_side():
    for n_names, shape in [(16, (1, 2)), (17, (2, 1))]:
        names = [f"model {place}" for place in range(n_names)]
        table = pd.DataFrame(
            {"panel": ["x", "y"], "first": names[0], "second": names[1], "value": 0.5}
        )
        axes = figures.overlap_heatmap(table, names, number=False)
        assert axes[0].get_gridspec().get_geometry() == shape
        assert not axes[0].texts


def test_texts_of_cells_are_white_on_dark_colours_and_black_on_light_ones():
    table = pd.DataFrame(
        {"model": ["a", "b", "c"], "group": "low", "lang": "si", "value": [0, 0.6, 1]}
    )
    (axis,) = figures.language_heatmap(table)
    numbers = axis.texts[:3]
    assert texts(numbers) == ["0", "60", "100"]
    assert [text.get_color() for text in numbers] == ["white", "white", "black"]
