"""Maps: every language stands at its place, in its colour."""

import numpy as np
import pandas as pd

from babelatlas.report import figures
from babelatlas.report.figures import maps


def texts(labels):
    return [label.get_text() for label in labels]


def test_the_world_map_draws_places_and_cuts_the_globe_in_the_pacific():
    world = pd.DataFrame(
        {
            "latitude": [50.0, 60, -15, np.nan],
            "longitude": [10.0, -165, -172, 20],
            "group": ["high", "", "", "high"],
        }
    )
    axis = figures.world_map(world, ["low", "high"])
    grey, low, high = (
        collection.get_offsets().tolist() for collection in axis.collections
    )
    assert grey == [[-165, 60], [188, -15]]  # Alaska in the west, Samoa in the east
    assert low == []
    assert high == [[10, 50]]
    assert texts(axis.figure.legends[0].get_texts()) == [
        "not reached (2)",
        "low (0)",
        "high (1)",
    ]


def test_a_map_of_accuracy_draws_each_language_in_its_step_with_its_own_marker():
    world = pd.DataFrame(
        {"latitude": [0.0, 10.0, np.nan], "longitude": [0.0, 175.0, 1.0]}
    )
    places = pd.DataFrame(
        {
            "latitude": [0.0, 10.0, np.nan],
            "longitude": [0.0, -175.0, 1.0],
            "value": [0.0, 1.0, 0.5],
        }
    )
    axis = figures.accuracy_map(world, places, "accuracy")
    grey, *steps = axis.collections
    assert len(grey.get_offsets()) == 2
    assert [len(step.get_offsets()) for step in steps] == [1, 0, 0, 0, 1]
    assert steps[-1].get_offsets().tolist() == [
        [185.0, 10.0]
    ]  # cut at 170 degrees west
    legend = texts(axis.figure.legends[0].get_texts())
    assert legend == [
        "0 to 10 % (1)",
        "10 to 25 % (0)",
        "25 to 50 % (0)",
        "50 to 75 % (0)",
        "75 to 100 % (1)",
    ]


def test_points_of_a_map_stand_where_its_dots_are_and_carry_their_text():
    table = pd.DataFrame(
        {"latitude": [60.0, np.nan, -15], "longitude": [-165.0, 20, -172]}
    )
    points = figures.map_points(table, pd.Series(["Alaska", "nowhere", "Samoa"]))
    assert points.to_numpy().tolist() == [[-165, 60, "Alaska"], [188, -15, "Samoa"]]
    assert list(points.columns) == ["x", "y", "text"]


def test_points_of_a_map_may_open_pages():
    table = pd.DataFrame({"latitude": [60.0, np.nan], "longitude": [-165.0, 20]})
    texts, pages = pd.Series(["Alaska", "nowhere"]), pd.Series(["a.html", "b.html"])
    assert figures.map_points(table, texts, pages)["link"].tolist() == ["a.html"]


def test_the_map_of_states_draws_the_first_state_on_top_and_has_no_legend():
    world = pd.DataFrame(
        {
            "latitude": [50.0, 60, np.nan],
            "longitude": [10.0, 20, 30],
            "group": ["usable", "", "usable"],
        }
    )
    looks = {"usable": ("#009E73", "^"), "not usable": ("#D55E00", "v")}
    axis = figures.map_of_states(world, looks)
    rest, unusable, usable = (
        collection.get_offsets().tolist() for collection in axis.collections
    )
    assert (rest, unusable, usable) == ([[20, 60]], [], [[10, 50]])
    assert axis.figure.legends == []


def test_land_reaches_both_edges_of_the_map():
    vertices = maps.coastlines().vertices
    assert vertices[:, 0].min() < maps.WEST
    assert vertices[:, 0].max() > maps.EAST


def test_an_accuracy_at_the_border_of_two_steps_is_in_the_higher_one():
    places = pd.DataFrame(
        {"latitude": 0.0, "longitude": 0.0, "value": [0.1, 0.25, 0.5, 0.75]}
    )
    axis = figures.accuracy_map(places, places, "accuracy")
    n_languages = [len(step.get_offsets()) for step in axis.collections[1:]]
    assert n_languages == [0, 1, 1, 1, 1]
