"""Two numbers of every row against each other."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from babelatlas.report.figures.look import (
    Forms,
    below_one_another,
    in_order,
    legend_below,
    log_axis,
    look_of,
    percent_axis,
    side_by_side,
    with_data,
    with_forms,
)


def correlation_panels(
    points: pd.DataFrame,
    bands: pd.DataFrame,
    x: str,
    y: str,
    panel: str,
    series: str,
    ring: str = "",
) -> np.ndarray:
    """Draw two fractions of every row against each other, panels side by side, with a
    line and its band.

    `points`: the columns named by x, y, panel and series (colour and marker), and,
    where named, `ring`: rows where it is true get a black edge. `bands`: panel, x, y,
    ci_low, ci_high, as `regression.regression_band` returns them. The names of the
    columns x and y label the axes. Returns the Axes of the panels.
    """
    panels = in_order(points[panel])
    names = in_order(sorted(set(points[series])))
    figure, axes = side_by_side(panels, 4.0)
    on_phone, phone_axes = below_one_another(panels, 0.8 + 3.2 * len(panels))
    for place, title in enumerate(panels):
        rows, band = points[points[panel] == title], bands[bands[panel] == title]
        for axis in (axes[place], phone_axes[place]):
            for number, name in enumerate(names):
                part = rows[rows[series] == name]
                _draw_series(axis, part, x, y, look_of(name, number), name, ring)
            _draw_band(axis, band)
    for axis in (*axes, *phone_axes):
        percent_axis(axis, "xy")
    axes[len(panels) // 2].set_xlabel(x, size=10.5)
    for drawn in (axes, phone_axes):
        drawn[0].set_ylabel(y, size=10.5)
    legend_below(figure, axes[0])
    legend_below(on_phone, phone_axes[0], ncols=2)
    return with_forms(with_data(axes, points), Forms(phone_axes), share="xy")


def _draw_series(
    axis: Axes,
    part: pd.DataFrame,
    x: str,
    y: str,
    colour_and_marker: tuple[str, str],
    name: str,
    ring: str,
) -> None:
    """Draw the points of one series; those where `ring` is true get a black edge."""
    colour, marker = colour_and_marker
    look = {"color": colour, "marker": marker, "s": 16}
    axis.scatter(part[x], part[y], alpha=0.75, linewidths=0, label=name, **look)
    if ring:
        ringed = part[part[ring]]
        edge = {"edgecolors": "black", "linewidths": 1.2}
        axis.scatter(ringed[x], ringed[y], **edge, **(look | {"s": 30}))


def _draw_band(axis: Axes, band: pd.DataFrame) -> None:
    """Draw a line with its band."""
    axis.fill_between(
        band["x"],
        band["ci_low"],
        band["ci_high"],
        color="0.4",
        alpha=0.25,
        linewidth=0,
    )
    axis.plot(
        band["x"], band["y"], color="0.2", linestyle="-", marker="", linewidth=1.5
    )


def two_ways(
    points: pd.DataFrame,
    x: str,
    y: str,
    panel: str,
    series: str = "",
    xlabel: str = "",
    ylabel: str = "",
) -> np.ndarray:
    """Draw fractions that were obtained in two ways against each other, with the line
    on which both are equal.

    `points`: the columns x, y, panel (panels, at most three of them in a row) and,
    where named, series (colour and marker). All panels share their axes, which have one
    scale, and the labels. Returns the Axes of the panels.
    """
    panels = in_order(points[panel])
    names = in_order(points[series]) if series else [""]
    down = -(-len(panels) // 3)
    across = -(-len(panels) // down)
    width = min(7.2, 4.8 * across + 0.9)
    size, shared = (
        (width, width / across * down + 0.3 * bool(series)),
        {"sharex": True, "sharey": True},
    )
    figure, grid = plt.subplots(
        down, across, figsize=size, squeeze=False, layout="constrained", **shared
    )
    axes = grid.ravel()
    low, high = points[[x, y]].min().min(), points[[x, y]].max().max()
    room = 0.04 * (high - low) or 0.01
    for axis, title in zip(axes, panels, strict=False):
        rows = points[points[panel] == title]
        axis.axline(
            (low, low), slope=1, color="0.35", linestyle="--", linewidth=1.2, zorder=1
        )
        for place, name in enumerate(names):
            part = rows[rows[series] == name] if series else rows
            colour, marker = look_of(name, place)
            axis.scatter(
                part[x],
                part[y],
                color=colour,
                marker=marker,
                s=18,
                alpha=0.75,
                linewidths=0,
                label=name,
            )
        axis.set(
            xlim=(low - room, high + room),
            ylim=(low - room, high + room),
            aspect="equal",
        )
        axis.set_title(title, size=10.5)
        axis.tick_params(labelsize=9.5)
        percent_axis(axis, "xy")
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    figure.supxlabel(xlabel, size=10.5)
    figure.supylabel(ylabel, size=10.5)
    if series:
        # At the top: below is the label that all panels share.
        legend_below(figure, axes[0], loc="outside upper center", ncols=4)
    return with_data(axes[: len(panels)], points)


def cost_fronts(points: pd.DataFrame, label: str) -> np.ndarray:
    """Draw the value of every model against its costs, panels side by side, and join
    the models of each Pareto front.

    `points`: panel (the cost and its unit, which labels the axis), cost (log axis),
    value (fraction; `label` names it), series (colour and marker), name, and number:
    what a model of the front is called in the panels, 0 for the others; the key below
    gives the name of each number. Rows without a cost are left out. Returns the Axes of
    the panels.
    """
    drawn = points.dropna(subset=["cost"])
    panels, names = in_order(drawn["panel"]), in_order(drawn["series"])
    keys = (
        drawn[drawn["number"] > 0]
        .drop_duplicates("number")
        .sort_values("number", kind="stable")
    )
    lines = -(-len(keys) // 2)
    size = (7.2, 3.6 + 0.21 * (lines + 1))
    figure, axes = plt.subplots(
        1, len(panels), figsize=size, sharey=True, squeeze=False, layout="constrained"
    )
    for axis, title in zip(axes[0], panels, strict=True):
        rows = drawn[drawn["panel"] == title]
        for place, name in enumerate(names):
            part = rows[rows["series"] == name]
            colour, marker = look_of(name, place)
            look = {
                "color": colour,
                "linestyle": "",
                "markersize": 5,
                "alpha": 0.75,
                "label": name,
            }
            axis.plot(part["cost"], part["value"], marker, **look)
        front = rows[rows["number"] > 0].sort_values("cost", kind="stable")
        axis.step(
            front["cost"],
            front["value"],
            where="post",
            marker="",
            color="0.35",
            linestyle="--",
            linewidth=1.2,
        )
        for row in front.itertuples():
            at = {
                "textcoords": "offset points",
                "size": 9.5,
                "ha": "right",
                "weight": "bold",
            }
            axis.annotate(f"{row.number}", (row.cost, row.value), (-3, 3), **at)
        ticks = [
            tick
            for tick in (1, 10, 100, 1000, 10_000)
            if rows["cost"].min() / 2 < tick < 2 * rows["cost"].max()
        ]
        log_axis(axis, "x", ticks)
        axis.set_xlabel(title, size=10.5)
        axis.margins(x=0.1)
    axes[0, 0].set_ylim(bottom=0)
    percent_axis(axes[0, 0], "y").set_ylabel(label, size=10.5)
    handles, texts = axes[0, 0].get_legend_handles_labels()
    empty = {"linestyle": "", "color": "0.1", "markersize": 8, "markeredgewidth": 0}
    handles += [
        plt.Line2D([], [], marker=f"$\\mathbf{{{number}}}$", **empty)
        for number in keys["number"]
    ]
    figure.legend(
        handles, [*texts, *keys["name"]], loc="outside lower left", ncols=2, fontsize=9
    )
    return with_data(axes[0], drawn, name="model")
