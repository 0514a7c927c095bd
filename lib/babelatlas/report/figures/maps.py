"""Languages at their places in the world."""

from collections.abc import Sequence
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from babelatlas.report.figures.look import SEQUENTIAL, look_of


def _at(table: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Return where on a map the languages stand that have a place: across and up, in degrees."""
    known = table.dropna(subset=["latitude", "longitude"])
    return (known["longitude"] + 170) % 360 - 170, known["latitude"]


def _frame_map(axis: Axes) -> None:
    """Cut a map of degrees in the Pacific, at 170 degrees west, and leave out all but what is drawn on it."""
    axis.set(aspect=1.25, xlim=(-172, 192), ylim=(-57, 80), xticks=[], yticks=[])
    axis.grid(False)
    axis.spines[:].set_visible(False)


def world_map(world: pd.DataFrame, groups: Sequence[str]) -> Axes:
    """Draw every language as a dot at its place; those of `groups` in colour, the others in grey.

    `world`: latitude, longitude (degrees; rows without are left out), group ("" for the grey ones). No coastline is
    drawn: the dots of all languages show the continents. The map is cut in the Pacific, at 170 degrees west.
    """
    figure, axis = plt.subplots(figsize=(7.2, 4.4), layout="constrained")
    table = world.dropna(subset=["latitude", "longitude"])
    rest = table[~table["group"].isin(groups)]
    axis.scatter(*_at(rest), s=3, color="0.72", linewidths=0, label=f"not reached ({len(rest):,})")
    for place, group in enumerate(groups):
        rows = table[table["group"] == group]
        colour, marker = look_of(group, place)
        look = {"color": colour, "marker": marker, "edgecolors": "white", "linewidths": 0.5}
        axis.scatter(*_at(rows), s=20 + 6 * place, label=f"{group} ({len(rows)})", **look)
    _frame_map(axis)
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9.5, markerscale=1.4)
    return axis


# The classes of an accuracy on a map: each has its colour, its marker and its size.
STEPS = (0, 0.1, 0.25, 0.5, 0.75, 1)


def accuracy_map(world: pd.DataFrame, places: pd.DataFrame, label: str, waiting: pd.DataFrame | None = None) -> Axes:
    """Draw every language as a grey dot and those of `places` coloured by their value, a fraction, in five steps.

    `world`: latitude, longitude (degrees). `places`: latitude, longitude (NaN: left out), value. `waiting`: latitude,
    longitude of those that have words and no value, small dark crosses. Higher steps are drawn larger, each with its
    own marker, so that the map can be read without colours. Cut as `world_map`.
    """
    figure, axis = plt.subplots(figsize=(7.2, 4.6), layout="constrained")
    axis.scatter(*_at(world), s=2.5, color="0.8", linewidths=0)
    if waiting is not None:
        crosses = _at(waiting)
        text = f"words, no score ({len(crosses[0])})"
        axis.scatter(*crosses, s=11, color="0.35", marker="x", linewidths=0.8, zorder=2, label=text)
    shades = plt.get_cmap(SEQUENTIAL)(np.linspace(0.0, 0.95, len(STEPS) - 1))
    drawn = places.dropna(subset=["latitude", "longitude"])
    step = np.clip(np.searchsorted(STEPS, drawn["value"], side="right") - 1, 0, len(STEPS) - 2)
    for place, (low, high) in enumerate(pairwise(STEPS)):
        rows = drawn[step == place]
        text = f"{100 * low:.0f} to {100 * high:.0f} % ({len(rows)})"
        look = {"color": shades[place], "marker": "vsDo^"[place], "edgecolors": "black", "linewidths": 0.5}
        axis.scatter(*_at(rows), s=22 + 9 * place, zorder=3, label=text, **look)
    _frame_map(axis)
    handles = axis.get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, fontsize=9.5, title=label, title_fontsize=10)
    return axis
