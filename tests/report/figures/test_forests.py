"""Forms of a figure of rows: on a wide screen, on a phone, and what folds."""

import matplotlib.pyplot as plt
import pandas as pd

from babelatlas.report import figures


def rows(number, panels=("English", "others")):
    table = pd.DataFrame(
        [
            {"model": f"a model with a long name {place}", "panel": panel, "value": 0.5}
            for place in range(number)
            for panel in panels
        ]
    )
    return table.assign(ci_low=0.4, ci_high=0.6)


def texts(labels):
    return [label.get_text() for label in labels]


def test_rows_beyond_twenty_fold_and_none_is_lost():
    axes = figures.forest(rows(23), "model", panel="panel")
    assert len(axes[0].get_yticklabels()) == 20
    rest = axes[0].figure.atlas_forms.rest
    assert texts(rest[0].get_yticklabels())[0] == "a model with a long name 20"
    shown = figures.show(axes[0], "c", "a").data
    assert "<summary>Show the other 3 rows</summary>" in shown


def test_twenty_rows_do_not_fold():
    axes = figures.forest(rows(20), "model", panel="panel")
    assert "<details" not in figures.show(axes[0], "c", "a").data


def test_on_a_phone_panels_stand_one_below_the_other_with_names_on_several_lines():
    axes = figures.forest(rows(3), "model", panel="panel")
    first, second = axes[0].figure.atlas_forms.phone
    assert first.get_position().y0 > second.get_position().y0
    assert texts(second.get_yticklabels())[0] == "a model with a long\nname 0"
    shown = figures.show(axes[0], "c", "a").data
    assert shown.count("<source ") == 1


def test_all_forms_follow_what_is_set_of_the_axes():
    axes = figures.forest(rows(21), "model", panel="panel")
    figures.percent_axis(axes[0], "x").set_xlim(0, 0.9)
    axes[0].set_xlabel("accuracy")
    forms = axes[0].figure.atlas_forms
    figures.show(axes[0], "c", "a")
    for axis in (*forms.phone, *forms.rest, *forms.rest_on_phone):
        assert axis.get_xlim() == (0, 0.9)
    assert forms.phone[0].get_xlabel() == "accuracy"  # above the first of many rows
    assert texts(forms.rest[0].get_xticklabels())[0] == "0%"


def test_a_phone_shows_every_second_label_of_a_crowded_axis():
    axes = figures.forest(rows(2), "model", panel="panel")
    axes[0].set_xticks([place / 10 for place in range(11)])
    figures.show(axes[0], "c", "a")
    ticks = axes[0].figure.atlas_forms.phone[0].xaxis.get_major_ticks()
    assert [tick.label1.get_visible() for tick in ticks[:4]] == [True, False] * 2
    assert all(tick.label1.get_visible() for tick in axes[0].xaxis.get_major_ticks())


def test_many_rows_have_their_axis_and_legend_at_the_top():
    table = rows(13, ["p"])
    tall = figures.forest(table, "model", series="panel")
    low = figures.forest(table.head(12), "model", series="panel")
    assert tall[0].xaxis.get_label_position() == "top"
    assert low[0].xaxis.get_label_position() == "bottom"


def test_an_open_circle_stands_where_the_value_was():
    table = rows(2, ["p"]).assign(open_circle=[0.1, 0.2])
    axes = figures.forest(table, "model")
    assert axes[0].lines[1].get_xdata().tolist() == [0.1, 0.2]
    plt.close("all")
