"""Charts as data for the browser: what a point says, and what its shape is."""

import json
import re

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from babelatlas.report import figures


def test_a_chart_of_rows_has_the_colours_and_shapes_of_the_static_figure():
    points = pd.DataFrame(
        {"y": ["b", "a"], "x": [0.5, 0.25], "series": ["s", "t"], "text": ["B", "A"]}
    )
    chart = figures.chart("rows", points, figures.Axis("recall", percent=True))
    assert chart["rows"] == ["b", "a"]
    looks = [(one["colour"], one["marker"]) for one in chart["series"]]
    assert looks == [figures.look_of("s", 0), figures.look_of("t", 1)]
    assert chart["points"][0] == {"x": 0.5, "y": "b", "series": "s", "text": "B"}


def test_points_without_a_number_are_left_out_and_intervals_without_ends():
    points = pd.DataFrame(
        {"x": [0.1, None], "y": 0.2, "low": float("nan"), "text": "t"}
    )
    chart = figures.chart("points", points)
    assert chart["points"] == [{"x": 0.1, "y": 0.2, "text": "t"}]


def test_dates_are_days():
    points = pd.DataFrame({"x": [pd.Timestamp(2024, 5, 6)], "y": [0.2], "text": ["t"]})
    assert figures.chart("steps", points)["points"][0]["x"] == "2024-05-06"


def test_languages_on_a_map_link_to_their_pages_and_those_without_a_place_are_left_out():
    places = pd.DataFrame(
        {"lang": ["sw", "xx"], "latitude": [-8.0, None], "longitude": [37.0, None]}
    )
    points = figures.chart_points(places, places["lang"])
    chart = figures.chart("map", points)
    assert [point["link"] for point in chart["points"]] == ["language-sw.html"]
    assert len(chart["land"]) > 100


def test_another_kind_is_refused():
    with pytest.raises(ValueError, match="not 'bars'"):
        figures.chart("bars", pd.DataFrame())


def test_a_name_cannot_end_the_element_that_holds_the_chart():
    points = pd.DataFrame({"y": ["</script>"], "x": [0.5], "text": ["<b>"]})
    figure, axis = plt.subplots()
    figure.atlas_data = points
    shown = figures.show(axis, "c", "a", chart=figures.chart("rows", points)).data
    source = re.search('class="atlas-chart">(.*?)</script>', shown)[1]
    assert json.loads(source)["rows"] == ["</script>"]
