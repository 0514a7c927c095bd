"""Bars that add up: shares of a whole."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from babelatlas.report.figures.look import (
    COLOURS,
    in_order,
    legend_below,
    percent_axis,
    with_data,
)

HATCHES = ["", "///", "\\\\\\", "xx", "---", ""]
PART_COLOURS = COLOURS[:-1]
LAST_COLOUR = "0.85"  # the last of several parts is light grey


def stacked_shares(
    table: pd.DataFrame, label: str, part: str, narrow: float = 0.04
) -> Axes:
    """Draw one bar for each value of column `label`, split by column `part`, in the
    order of the table.

    `table`: label, part, value (fraction; a bar adds up to 1). Parts of at least
    `narrow` carry their percent.
    """
    labels = in_order(table[label])
    parts = in_order(table[part])
    shares = table.pivot_table(
        index=label, columns=part, values="value", observed=True, aggfunc="sum"
    )
    shares = shares.reindex(index=labels, columns=parts).fillna(0)
    starts = shares.cumsum(axis=1).shift(axis=1, fill_value=0)

    figure, axis = plt.subplots(
        figsize=(7.2, 1.3 + 0.42 * len(labels)), layout="constrained"
    )
    for place, name in enumerate(parts):
        axis.barh(
            range(len(labels)),
            shares[name],
            0.72,
            starts[name],
            label=name,
            color=_colour_of_part(place, len(parts)),
            hatch=HATCHES[place % len(HATCHES)],
            edgecolor="white",
            linewidth=0.3,
        )
        _write_percent(axis, starts[name], shares[name], narrow)

    axis.set_yticks(range(len(labels)), labels)
    axis.set_ylim(len(labels) - 0.5, -0.5)
    axis.set_xlim(0, 1)
    axis.grid(False)
    legend_below(figure, axis)
    return with_data(percent_axis(axis, "x"), table)


def _colour_of_part(place: int, n_parts: int) -> str:
    """Return the colour of the part at a place."""
    is_last = place == n_parts - 1
    if is_last and n_parts > 1:
        return LAST_COLOUR
    return PART_COLOURS[place % len(PART_COLOURS)]


def _write_percent(
    axis: Axes, starts: pd.Series, shares: pd.Series, narrow: float
) -> None:
    """Write the percent of one part into each bar in which it is not narrow."""
    box = {"facecolor": "white", "alpha": 0.8, "pad": 1, "linewidth": 0}
    for row, (start, share) in enumerate(zip(starts, shares, strict=True)):
        if share < narrow:
            continue
        axis.text(
            start + share / 2,
            row,
            f"{100 * share:.0f}",
            ha="center",
            va="center",
            size=9,
            color="0.1",
            bbox=box,
        )
