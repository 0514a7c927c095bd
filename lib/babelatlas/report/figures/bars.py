"""Bars that add up: shares of a whole."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from babelatlas.report.figures.look import (
    COLOURS,
    in_order,
    legend_below,
    percent_axis,
    with_data,
)


def stacked_shares(
    table: pd.DataFrame, label: str, part: str, narrow: float = 0.04
) -> Axes:
    """Draw one bar for each value of column `label`, split by column `part`, in the
    order of the table.

    `table`: label, part, value (fraction; a bar adds up to 1). Parts of at least
    `narrow` carry their percent.
    """
    rows, parts = in_order(table[label]), in_order(table[part])
    figure, axis = plt.subplots(
        figsize=(7.2, 1.3 + 0.42 * len(rows)), layout="constrained"
    )
    wide = table.pivot_table(
        index=label, columns=part, values="value", observed=True, aggfunc="sum"
    )
    wide = wide.reindex(index=rows, columns=parts).fillna(0)
    left = np.zeros(len(rows))
    colours = [*COLOURS[:-1], "0.85"] if len(parts) > 1 else COLOURS
    for place, name in enumerate(parts):
        colour = (
            colours[-1]
            if place == len(parts) - 1 and len(parts) > 1
            else colours[place % (len(colours) - 1)]
        )
        look = {
            "color": colour,
            "hatch": ["", "///", "\\\\\\", "xx", "---", ""][place % 6],
            "edgecolor": "white",
        }
        axis.barh(
            range(len(rows)), wide[name], 0.72, left, linewidth=0.3, label=name, **look
        )
        for row, (start, value) in enumerate(zip(left, wide[name], strict=True)):
            if value >= narrow:
                look = {"ha": "center", "va": "center", "size": 9, "color": "0.1"}
                box = {"facecolor": "white", "alpha": 0.8, "pad": 1, "linewidth": 0}
                axis.text(
                    start + value / 2, row, f"{100 * value:.0f}", bbox=box, **look
                )
        left += wide[name].to_numpy()
    axis.set_yticks(range(len(rows)), rows)
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_xlim(0, 1)
    axis.grid(False)
    legend_below(figure, axis)
    return with_data(percent_axis(axis, "x"), table)
