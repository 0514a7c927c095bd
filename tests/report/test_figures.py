"""Figures: what is drawn is what the table says, and the table is left alone."""

import re

import matplotlib.pyplot
import numpy as np
import pandas as pd
import pytest
import seaborn as sns

from babelatlas.report import figures

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    drawn = [
        matplotlib.pyplot.figure(number) for number in matplotlib.pyplot.get_fignums()
    ]
    matplotlib.pyplot.close("all")
    assert all(
        len(figure.atlas_data.columns) > 1 for figure in drawn
    )  # every figure brings its table


@pytest.fixture
def means():
    table = pd.DataFrame(
        {
            "model": ["b", "b", "a", "a"],
            "group": ["low", "English", "low", "English"],
            "value": [0.2, 0.5, 0.3, 0.6],
            "ci_low": [0.1, np.nan, 0.25, np.nan],
            "ci_high": [0.4, np.nan, 0.35, np.nan],
            "n": [3, 1, 3, 1],
        }
    )
    return table


def texts(labels):
    return [label.get_text() for label in labels]


def test_group_means_have_a_panel_for_each_group_and_a_row_for_each_model_in_the_order_of_the_table(
    means,
):
    axes = figures.group_means(means)
    assert [axis.get_title() for axis in axes] == ["low\nn = 3", "English\nn = 1"]
    assert texts(axes[0].get_yticklabels()) == ["b", "a"]
    low, high = axes[0].get_ylim()
    assert low > high  # the first row is on top
    assert axes[0].lines[0].get_xdata().tolist() == [0.2, 0.3]
    segments = axes[0].collections[0].get_segments()
    assert [segment[:, 0].tolist() for segment in segments] == [
        [0.1, 0.4],
        [0.25, 0.35],
    ]


def test_groups_of_languages_in_one_figure_share_no_colour_and_no_marker():
    for names in (
        ["low", "mid", "high", "English", "other"],
        ["very low", "low", "mid", "high", "English"],
    ):
        looks = [figures.look_of(name, place) for place, name in enumerate(names)]
        assert [len(set(kind)) for kind in zip(*looks, strict=True)] == [5, 5]


def test_series_of_a_forest_stand_side_by_side_within_a_row_and_have_a_legend():
    table = pd.DataFrame(
        {
            "row": ["x", "x", "y", "y"],
            "method": ["p", "s"] * 2,
            "value": [0.1, 0.2, 0.3, 0.4],
        }
    )
    axes = figures.forest(
        table.assign(ci_low=0.0, ci_high=0.5), "row", series="method", reference=0.25
    )
    first, second, line = axes[0].lines
    assert (second.get_ydata() - first.get_ydata()).tolist() == pytest.approx(
        [0.3, 0.3]
    )
    assert line.get_xdata() == [0.25, 0.25]
    assert texts(axes[0].figure.legends[0].get_texts()) == ["p", "s"]


def test_correlation_panels_draw_all_points_and_mark_those_to_be_ringed():
    points = pd.DataFrame(
        {
            "x": [0.1, 0.2, 0.3],
            "y": [0.2, 0.3, 0.1],
            "set": "s",
            "family": ["f", "g", "g"],
            "en": [True, False, False],
        }
    )
    bands = pd.DataFrame(
        {"set": "s", "x": [0.1, 0.3], "y": [0.2, 0.2], "ci_low": 0.1, "ci_high": 0.3}
    )
    axes = figures.correlation_panels(points, bands, "x", "y", "set", "family", "en")
    drawn = [len(collection.get_offsets()) for collection in axes[0].collections[:4]]
    assert drawn == [1, 1, 2, 0]  # family f, its ring, family g, none of it
    assert texts(axes[0].figure.legends[0].get_texts()) == ["f", "g"]


def test_a_shown_figure_carries_its_text_for_readers_who_cannot_see_it_and_is_closed():
    figure, axis = matplotlib.pyplot.subplots()
    shown = figures.show(axis, caption="n = 3", alt='lines "fall"').data
    assert 'alt="lines &quot;fall&quot;"' in shown
    assert "<figcaption>n = 3</figcaption>" in shown
    assert not matplotlib.pyplot.fignum_exists(figure.number)


def test_class_counts_draw_every_language_once_ranked_in_the_marker_of_its_group():
    counts = pd.DataFrame(
        {
            "name": ["A", "B", "C", "D"],
            "n_classes": [5, 700, 50, 50],
            "group": ["low", "high", "low", "low"],
        }
    )
    axis = figures.class_counts(counts, ["high", "low"], named=2)
    low, high = axis.get_lines()
    assert (list(high.get_xdata()), list(high.get_ydata())) == ([1], [700])
    assert (list(low.get_xdata()), list(low.get_ydata())) == ([2, 3, 4], [50, 50, 5])
    assert high.get_marker() != low.get_marker()
    assert [text.get_text() for text in axis.texts] == ["B", "A"]
    plain = figures.class_counts(counts)
    assert [list(line.get_ydata()) for line in plain.get_lines()] == [[700, 50, 50, 5]]
    assert plain.get_legend() is None


def test_strips_draw_every_value_once_and_the_mean_with_its_interval():
    points = pd.DataFrame(
        {"group": ["a", "a", "a", "b"], "n": [3, 3, 5, 4], "name": ["", "", "x", ""]}
    )
    means = pd.DataFrame(
        {"group": ["b", "a"], "value": [4, 11 / 3], "ci_low": [4, 3], "ci_high": [4, 5]}
    )
    axis = figures.strips(points, means, "n", "group", named="name")
    assert texts(axis.get_yticklabels()) == ["b", "a"]
    dots, mean = axis.lines[2], axis.lines[3]
    assert dots.get_xdata().tolist() == [3, 3, 5]
    assert len(set(dots.get_ydata()[:2])) == 2  # equal values do not hide each other
    assert mean.get_xdata() == pytest.approx([11 / 3])
    assert [
        segment[:, 0].tolist()
        for lines in axis.collections
        for segment in lines.get_segments()
    ] == [
        [4, 4],
        [3, 5],
    ]
    assert [text.get_text() for text in axis.texts if text.get_text()] == ["x"]


def test_strips_say_the_same_on_a_phone_with_names_on_several_lines():
    points = pd.DataFrame({"group": ["above the baseline"] * 2, "n": [3, 5]})
    means = pd.DataFrame(
        {"group": ["above the baseline"], "value": [4], "ci_low": [3], "ci_high": [5]}
    )
    axis = figures.strips(points, means, "n", "group", line=(4.5, "English"))
    (phone,) = axis.figure.atlas_forms.phone
    assert texts(phone.get_yticklabels()) == ["above the\nbaseline"]
    for drawn in (axis, phone):
        assert drawn.lines[0].get_xdata().tolist() == [3, 5]
        assert drawn.texts[-1].get_text() == "English"


def test_columns_of_a_figures_table_get_readable_names_and_no_two_the_same():
    table = pd.DataFrame(
        {"lang": ["de"], "name": ["German"], "ci_low": [0.1], "n_own": [3]}
    )
    _, axis = matplotlib.pyplot.subplots()
    figures.with_data(axis, table, n_own="words")
    assert list(axis.figure.atlas_data.columns) == [
        "language",
        "name",
        "interval low",
        "words",
    ]
    shown = figures.show(axis, "x", "y").data
    assert 'href="data:text/csv;base64,' in shown


def test_a_leaderboard_draws_means_and_a_legend_of_groups_of_models():
    table = pd.DataFrame(
        {
            "model": ["x", "y", "z"],
            "value": [0.6, 0.5, 0.2],
            "ci_low": 0.1,
            "ci_high": 0.7,
            "letters": ["a", "ab", "b"],
        }
    )
    axes = figures.ranks(table)
    assert texts(axes[0].get_yticklabels()) == ["x", "y", "z"]
    assert [line.get_xdata().tolist() for line in axes[0].lines] == [[0.6, 0.5], [0.2]]
    legend = texts(axes[0].figure.legends[0].get_texts())
    assert legend == ["group 1 (2 models)", "group 2 (1 model)"]


def test_a_group_of_models_begins_where_a_model_differs_from_the_first_of_the_group_before():
    letters = pd.Series(["a1", "a1b", "b", "bc", "c", "a1"])
    groups = figures.groups_of_models(letters)
    assert groups.str[:7].tolist() == ["group 1"] * 2 + ["group 2"] * 2 + [
        "group 3",
        "group 4",
    ]


def test_a_profile_draws_one_model_by_language_above_the_mean_of_the_others():
    table = pd.DataFrame(
        {
            "language": ["A", "B"],
            "group": ["low", "high"],
            "value": [0.2, 0.4],
            "others": [0.1, 0.5],
        }
    )
    table = table.assign(ci_low=table["value"] - 0.1, ci_high=table["value"] + 0.1)
    axis = figures.profile(table, ["low", "high"])
    others, low, high = axis.lines
    assert others.get_ydata().tolist() == [0.5, 0.1]
    assert (low.get_xdata().tolist(), low.get_ydata().tolist()) == ([1], [0.2])
    assert (high.get_xdata().tolist(), high.get_ydata().tolist()) == ([0], [0.4])
    assert texts(axis.get_xticklabels()) == [
        "B",
        "A",
    ]  # below the axis, where they cross nothing
    assert texts(axis.figure.legends[0].get_texts()) == [
        "mean of other models",
        "low",
        "high",
    ]
    assert axis.get_legend() is None
    alone = figures.profile(table.assign(others=np.nan), ["low", "high"])
    assert len(alone.lines) == 2
    (phone,) = axis.figure.atlas_forms.phone
    assert len(phone.lines) == 3
    assert phone.get_ylim() == axis.get_ylim()


def test_accuracy_by_classes_has_its_panels_one_below_the_other_on_a_phone():
    sizes = pd.DataFrame({"n_classes": [2, 10, 2, 10], "value": [0.9, 0.5, 0.8, 0.3]})
    curves = sizes.assign(model=["x", "x", "y", "y"], language="Hindi")
    curves = curves.assign(ci_low=curves["value"] - 0.1, ci_high=curves["value"] + 0.1)
    axes = figures.by_classes(curves, "model", "language")
    phone = axes[0].figure.atlas_forms.phone
    assert [axis.get_title() for axis in phone] == ["x", "y"]
    for axis, narrow in zip(axes, phone, strict=True):
        for line, other in zip(axis.lines, narrow.lines, strict=True):
            assert line.get_ydata().tolist() == other.get_ydata().tolist()


def test_two_ways_have_one_scale_a_line_of_equality_and_a_panel_for_each_set():
    table = pd.DataFrame(
        {
            "set": ["a", "a", "b", "c", "d"],
            "model": ["x", "y", "x", "x", "x"],
            "base": 0.5,
            "other": [0.5, 0.2, 0.6, 0, 1],
        }
    )
    axes = figures.two_ways(
        table, "base", "other", "set", "model", "in use", "other words"
    )
    assert [axis.get_title() for axis in axes] == ["a", "b", "c", "d"]
    assert (
        {axis.get_xlim() for axis in axes}
        == {axis.get_ylim() for axis in axes}
        == {(-0.04, 1.04)}
    )
    assert axes[0].lines[0].get_slope() == 1
    assert [part.get_offsets().tolist() for part in axes[0].collections] == [
        [[0.5, 0.5]],
        [[0.5, 0.2]],
    ]
    assert (axes[0].figure.get_supxlabel(), axes[0].figure.get_supylabel()) == (
        "in use",
        "other words",
    )
    assert texts(axes[0].figure.legends[0].get_texts()) == ["x", "y"]
    assert (
        axes[0].get_gridspec().ncols == 2
    )  # four panels are two by two, not three and one


def test_cost_fronts_number_the_models_of_the_front_and_leave_out_those_without_a_cost():
    points = pd.DataFrame(
        {
            "panel": ["millions"] * 3 + ["GFLOPs"] * 3,
            "cost": [100, 200, 300, 10, np.nan, 40],
            "value": [0.2, 0.1, 0.5] * 2,
            "series": ["English", "English", "many"] * 2,
            "name": list("abc") * 2,
            "number": [2, 0, 1, 2, 0, 1],
        }
    )
    axes = figures.cost_fronts(points, "mean recall")
    assert [axis.get_xlabel() for axis in axes] == ["millions", "GFLOPs"]
    assert [[text.get_text() for text in axis.texts] for axis in axes] == [
        ["2", "1"]
    ] * 2
    assert [sum(len(line.get_xdata()) for line in axis.lines[:2]) for axis in axes] == [
        3,
        2,
    ]
    assert [text.get_text() for text in axes[0].figure.legends[0].get_texts()] == [
        "English",
        "many",
        "c",
        "a",
    ]


def test_points_answer_to_the_pointer_where_they_are_drawn():
    _, axis = matplotlib.pyplot.subplots()
    axis.plot([0, 1], [0, 1])
    points = pd.DataFrame({"x": [0, 1], "y": [0, 1], "text": ["low", "<high>"]})
    found = re.findall(
        r'left:([\d.]+)%;top:([\d.]+)%" title="(.*?)"',
        figures.show(axis, "c", "a", points=points).data,
    )
    (left, bottom, _), (right, top, last) = found
    assert 0 < float(left) < 25 < 75 < float(right) < 100
    assert 0 < float(top) < 25 < 75 < float(bottom) < 100
    assert last == "&lt;high&gt;"


@pytest.mark.parametrize(
    ("places", "labels"),
    [
        ([0, 0.5, 1], ["0%", "50%", "100%"]),
        ([0, 0.005, 0.01], ["0.0%", "0.5%", "1.0%"]),
        ([0, 0.025], ["0.0%", "2.5%"]),
    ],
)
def test_ticks_in_percent_have_the_decimals_that_their_values_need(places, labels):
    axis = matplotlib.pyplot.figure().gca()
    matplotlib.pyplot.gcf().atlas_data = pd.DataFrame({"x": [1], "y": [1]})
    axis.set(ylim=(places[0], places[-1]), yticks=places)
    figures.percent_axis(axis).figure.canvas.draw()
    assert texts(axis.get_yticklabels()) == labels


def test_the_look_is_seaborns_white_grid_with_choices_of_the_study():
    figures.style()
    ours = dict(matplotlib.rcParams)
    sns.set_theme(context="notebook", style="whitegrid")
    theme = [*sns.axes_style("whitegrid"), *sns.plotting_context("notebook")]
    differ = {name for name in theme if ours[name] != matplotlib.rcParams[name]}
    figures.style()
    assert differ == {
        "axes.spines.right",
        "axes.spines.top",
        "font.family",
        "font.sans-serif",  # not asked: the family is named
        "image.cmap",
    }
