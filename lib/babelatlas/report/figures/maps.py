"""Languages at their places in the world."""

import json
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path

from babelatlas.base.paths import DATA
from babelatlas.report.figures.look import (
    SEQUENTIAL,
    in_order,
    legend_below,
    look_of,
    with_data,
)

# Maps are cut in the Pacific, at 170 degrees west, which crosses almost no land; they
# leave out Antarctica.
WEST, SOUTH, NORTH = -170, -57, 80


@cache
def coastlines() -> Path:
    """Return the world's land as one path, in degrees: longitude from 170 degrees west
    eastwards, latitude.

    Land that crosses the cut is there twice, once at each edge of the map. Source:
    Natural Earth, 1:110m.
    """
    rings = json.loads((DATA / "land-110m.json").read_text(encoding="utf-8"))["rings"]
    parts = [Path(ring, closed=True) for ring in rings]
    around = np.array([360, 0])
    parts += [
        Path(part.vertices + around, closed=True)
        for part in parts
        if part.vertices[:, 0].min() < WEST
    ]
    parts += [
        Path(part.vertices - around, closed=True)
        for part in parts
        if part.vertices[:, 0].max() > WEST + 360
    ]
    return Path.make_compound_path(*parts)


def _at(table: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Return where on a map the languages stand that have a place: across and up, in
    degrees.
    """
    known = table.dropna(subset=["latitude", "longitude"])
    return (known["longitude"] - WEST) % 360 + WEST, known["latitude"]


def map_points(table: pd.DataFrame, text: pd.Series) -> pd.DataFrame:
    """Return where the languages of a map answer to the pointer, and with what, as
    `show` takes it.
    """
    across, up = _at(table)
    return pd.DataFrame({"x": across, "y": up, "text": text[across.index]})


def _frame_map(axis: Axes) -> None:
    """Draw the land below everything else, and cut the map at 170 degrees west and
    before Antarctica.
    """
    land = axis.add_patch(
        PathPatch(
            coastlines(), facecolor="0.91", edgecolor="0.8", linewidth=0.3, zorder=0
        )
    )
    land.set_clip_path(
        Rectangle((WEST, SOUTH), 360, NORTH - SOUTH, transform=axis.transData)
    )
    axis.set(
        aspect=1.25,
        xlim=(WEST - 2, WEST + 362),
        ylim=(SOUTH, NORTH),
        xticks=[],
        yticks=[],
    )
    axis.grid(False)
    axis.spines[:].set_visible(False)


def world_map(world: pd.DataFrame, groups: Sequence[str]) -> Axes:
    """Draw every language as a dot at its place on a map of the world; those of
    `groups` in colour, the others in grey.

    `world`: latitude, longitude (degrees; rows without are left out), group ("" for the
    grey ones). Land is light grey. The map is cut in the Pacific, at 170 degrees west,
    and leaves out Antarctica.
    """
    figure, axis = plt.subplots(figsize=(7.2, 4.4), layout="constrained")
    table = world.dropna(subset=["latitude", "longitude"])
    rest = table[~table["group"].isin(groups)]
    axis.scatter(
        *_at(rest), s=3, color="0.6", linewidths=0, label=f"not reached ({len(rest):,})"
    )
    for place, group in enumerate(in_order(groups)):
        rows = table[table["group"] == group]
        colour, marker = look_of(group, place)
        look = {
            "color": colour,
            "marker": marker,
            "edgecolors": "white",
            "linewidths": 0.5,
        }
        axis.scatter(
            *_at(rows), s=20 + 6 * place, label=f"{group} ({len(rows)})", **look
        )
    _frame_map(axis)
    legend_below(figure, axis, markerscale=1.4)
    return with_data(axis, table)


# The classes of an accuracy on a map: each has its colour, its marker and its size.
STEPS = (0, 0.1, 0.25, 0.5, 0.75, 1)


def accuracy_map(world: pd.DataFrame, places: pd.DataFrame, label: str) -> Axes:
    """Draw every language as a grey dot on a map and those of `places` coloured by
    their value, in five steps.

    `world`: latitude, longitude (degrees). `places`: latitude, longitude (NaN: left
    out), value (fraction). Higher steps are drawn larger, each with its own marker, so
    that the map can be read without colours. Land and cut as in `world_map`.
    """
    figure, axis = plt.subplots(figsize=(7.2, 4.6), layout="constrained")
    axis.scatter(*_at(world), s=2.5, color="0.65", linewidths=0)
    shades = plt.get_cmap(SEQUENTIAL)(np.linspace(0.0, 0.95, len(STEPS) - 1))
    drawn = places.dropna(subset=["latitude", "longitude"])
    step = np.clip(
        np.searchsorted(STEPS, drawn["value"], side="right") - 1, 0, len(STEPS) - 2
    )
    for place, (low, high) in enumerate(pairwise(STEPS)):
        rows = drawn[step == place]
        text = f"{100 * low:.0f} to {100 * high:.0f} % ({len(rows)})"
        look = {
            "color": shades[place],
            "marker": "vsDo^"[place],
            "edgecolors": "black",
            "linewidths": 0.5,
        }
        axis.scatter(*_at(rows), s=22 + 9 * place, zorder=3, label=text, **look)
    _frame_map(axis)
    legend_below(figure, axis, title=label, title_fontsize=10)
    return with_data(axis, drawn)
