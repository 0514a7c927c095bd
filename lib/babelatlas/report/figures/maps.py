"""Languages at their places in the world.

Maps are cut in the Pacific, at 170 degrees west, which crosses almost no land; they
leave out Antarctica.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path

from babelatlas.base.paths import DATA
from babelatlas.report.figures.look import (
    SEQUENTIAL,
    Forms,
    below_one_another,
    in_order,
    legend_below,
    look_of,
    with_data,
    with_forms,
)

# The edges of a map, in degrees.
WEST = -170
EAST = WEST + 360
SOUTH = -57
NORTH = 80

# The classes of an accuracy on a map: each has its colour, its marker and its size.
STEPS = (0, 0.1, 0.25, 0.5, 0.75, 1)
STEP_MARKERS = "vsDo^"


def world_map(world: pd.DataFrame, groups: Sequence[str]) -> Axes:
    """Draw every language as a dot at its place on a map of the world; those of
    `groups` in colour, the others in grey.

    `world`: latitude, longitude (degrees; rows without are left out), group ("" for the
    grey ones). Land is light grey. The map is cut in the Pacific, at 170 degrees west,
    and leaves out Antarctica.
    """
    table = world.dropna(subset=["latitude", "longitude"])
    others = table[~table["group"].isin(groups)]

    def draw(axis: Axes, scale: float) -> None:
        axis.scatter(
            *_places(others),
            s=3 * scale,
            color="0.6",
            linewidths=0,
            label=f"not reached ({len(others):,})",
        )
        for place, group in enumerate(in_order(groups)):
            rows = table[table["group"] == group]
            colour, marker = look_of(group, place)
            axis.scatter(
                *_places(rows),
                s=(20 + 6 * place) * scale,
                label=f"{group} ({len(rows)})",
                color=colour,
                marker=marker,
                edgecolors="white",
                linewidths=0.5,
            )

    axis = _in_two_sizes(draw, 4.4, markerscale=1.4)
    return with_data(axis, table)


def accuracy_map(world: pd.DataFrame, places: pd.DataFrame, label: str) -> Axes:
    """Draw every language as a grey dot on a map and those of `places` coloured by
    their value, in five steps.

    `world`: latitude, longitude (degrees). `places`: latitude, longitude (NaN: left
    out), value (fraction). Higher steps are drawn larger, each with its own marker, so
    that the map can be read without colours. Land and cut as in `world_map`.
    """
    table = places.dropna(subset=["latitude", "longitude"])
    steps = accuracy_steps(table["value"])

    def draw(axis: Axes, scale: float) -> None:
        axis.scatter(*_places(world), s=2.5 * scale, color="0.65", linewidths=0)
        for place, (name, (colour, marker)) in enumerate(step_looks().items()):
            rows = table[steps == name]
            axis.scatter(
                *_places(rows),
                s=(22 + 9 * place) * scale,
                zorder=3,
                label=f"{name} ({len(rows)})",
                color=colour,
                marker=marker,
                edgecolors="black",
                linewidths=0.5 * scale,
            )

    axis = _in_two_sizes(draw, 4.6, title=label, title_fontsize=10)
    return with_data(axis, table)


def _in_two_sizes(draw: Callable[[Axes, float], None], height: float, **legend) -> Axes:
    """Return a map that `draw` draws on an axis, with its form for a phone, where dots
    take less area (the second argument). `legend`: how the legend looks.
    """
    figure, axis = plt.subplots(figsize=(7.2, height), layout="constrained")
    small, phone_axes = below_one_another([""], 3.3)
    draw(axis, 1)
    draw(phone_axes[0], 0.45)
    legend_below(figure, axis, **legend)
    legend_below(small, phone_axes[0], ncols=2, **legend)
    for each in (axis, phone_axes[0]):
        _draw_land(each)
        _cut_map(each)
    return with_forms(axis, Forms(phone_axes), share="")


def accuracy_steps(values: pd.Series) -> pd.Series:
    """Return the step of each accuracy, as the legend of `accuracy_map` names it.

    >>> accuracy_steps(pd.Series([0.05, 0.1, 1.0])).tolist()
    ['0 to 10 %', '10 to 25 %', '75 to 100 %']
    """
    reached = np.searchsorted(STEPS, values, side="right") - 1
    names = list(step_looks())
    steps = np.clip(reached, 0, len(names) - 1)
    return pd.Series([names[step] for step in steps], index=values.index, dtype=str)


def step_looks() -> dict[str, tuple[str, str]]:
    """Return the colour and the marker of each step of `accuracy_map`."""
    n_steps = len(STEPS) - 1
    shades = plt.get_cmap(SEQUENTIAL)(np.linspace(0.0, 0.95, n_steps))
    names = [f"{100 * low:.0f} to {100 * high:.0f} %" for low, high in pairwise(STEPS)]
    colours = map(to_hex, shades)
    return dict(zip(names, zip(colours, STEP_MARKERS, strict=True), strict=True))


def map_points(
    table: pd.DataFrame, text: pd.Series, link: pd.Series | None = None
) -> pd.DataFrame:
    """Return where the languages of a map answer to the pointer, and with what, as
    `show` takes it.

    `table`: latitude, longitude (degrees; rows without are left out); `text` and
    `link`: of each of its rows. Columns: x, y (degrees on the map), text, link (where
    given).
    """
    across, up = _places(table)
    points = pd.DataFrame({"x": across, "y": up, "text": text[across.index]})
    return points if link is None else points.assign(link=link[across.index])


def map_of_states(world: pd.DataFrame, looks: Mapping[str, tuple[str, str]]) -> Axes:
    """Draw every language as a dot at its place on a map of the world, by its state;
    without a legend, so that the map can be as narrow as a phone.

    `world`: latitude, longitude (degrees; rows without are left out), group (a state,
    else "": small and grey). `looks`: state -> colour and marker, the first on top.
    Land and cut as in `world_map`.
    """
    _, axis = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
    table = world.dropna(subset=["latitude", "longitude"])
    rest = table[~table["group"].isin(looks)]
    axis.scatter(*_places(rest), s=3, color="0.6", linewidths=0)
    for place, (state, (colour, marker)) in reversed([*enumerate(looks.items())]):
        axis.scatter(
            *_places(table[table["group"] == state]),
            s=44 - 5 * place,
            color=colour,
            marker=marker,
            edgecolors="white",
            linewidths=0.5,
        )
    _draw_land(axis)
    _cut_map(axis)
    return with_data(axis, table)


@cache
def coastlines() -> Path:
    """Return the world's land as one path, in degrees: longitude from 170 degrees west
    eastwards, latitude.

    Land that crosses the cut is there twice, once at each edge of the map. Source:
    Natural Earth, 1:110m.
    """
    stored = (DATA / "land-110m.json").read_text(encoding="utf-8")
    land = [Path(ring, closed=True) for ring in json.loads(stored)["rings"]]
    once_around = np.array([360, 0])
    beyond_west = [
        Path(part.vertices + once_around, closed=True)
        for part in land
        if part.vertices[:, 0].min() < WEST
    ]
    beyond_east = [
        Path(part.vertices - once_around, closed=True)
        for part in [*land, *beyond_west]
        if part.vertices[:, 0].max() > EAST
    ]
    return Path.make_compound_path(*land, *beyond_west, *beyond_east)


def _places(table: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Return where on a map the languages stand that have a place: across and up, in
    degrees.
    """
    located = table.dropna(subset=["latitude", "longitude"])
    across = (located["longitude"] - WEST) % 360 + WEST
    return across, located["latitude"]


def _draw_land(axis: Axes) -> None:
    """Draw the land below everything else, up to the edges of the map."""
    land = PathPatch(
        coastlines(), facecolor="0.91", edgecolor="0.8", linewidth=0.3, zorder=0
    )
    axis.add_patch(land)
    frame = Rectangle(
        (WEST, SOUTH), EAST - WEST, NORTH - SOUTH, transform=axis.transData
    )
    land.set_clip_path(frame)


def _cut_map(axis: Axes) -> None:
    """Cut a map at 170 degrees west and before Antarctica; no axes around it."""
    axis.set(
        aspect=1.25,
        xlim=(WEST - 2, EAST + 2),
        ylim=(SOUTH, NORTH),
        xticks=[],
        yticks=[],
    )
    axis.grid(False)
    axis.spines[:].set_visible(False)
