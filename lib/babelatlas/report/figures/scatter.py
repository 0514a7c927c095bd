"""Two numbers of every row against each other."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from babelatlas.report.figures.look import (
    COLOURS,
    LINES,
    MARKERS,
    in_order,
    legend_below,
    log_axis,
    look_of,
    percent_axis,
    side_by_side,
    with_data,
)


def correlation_panels(
    points: pd.DataFrame, bands: pd.DataFrame, x: str, y: str, panel: str, series: str, ring: str = ""
) -> np.ndarray:
    """Draw two fractions of every row against each other, panels side by side, with a line and its band.

    `points`: the columns named by x, y, panel and series (colour and marker), and, where named, `ring`: rows where it
    is true get a black edge. `bands`: panel, x, y, ci_low, ci_high, as `regression.regression_band` returns them. The
    names of the columns x and y label the axes. Returns the Axes of the panels.
    """
    panels = in_order(points[panel])
    names = in_order(sorted(set(points[series])))
    figure, axes = side_by_side(panels, 4.0)
    for axis, title in zip(axes, panels, strict=True):
        rows, band = points[points[panel] == title], bands[bands[panel] == title]
        for place, name in enumerate(names):
            part = rows[rows[series] == name]
            colour, marker = look_of(name, place)
            look = {"color": colour, "marker": marker, "s": 16}
            axis.scatter(part[x], part[y], alpha=0.75, linewidths=0, label=name, **look)
            if ring:
                part = part[part[ring]]
                axis.scatter(part[x], part[y], edgecolors="black", linewidths=1.2, **(look | {"s": 30}))
        axis.fill_between(band["x"], band["ci_low"], band["ci_high"], color="0.4", alpha=0.25, linewidth=0)
        axis.plot(band["x"], band["y"], color="0.2", linestyle="-", marker="", linewidth=1.5)
        percent_axis(axis, "xy")
    axes[len(panels) // 2].set_xlabel(x, size=10.5)
    axes[0].set_ylabel(y, size=10.5)
    legend_below(figure, axes[0])
    return with_data(axes, points)


def two_ways(
    points: pd.DataFrame, x: str, y: str, panel: str, series: str = "", xlabel: str = "", ylabel: str = ""
) -> np.ndarray:
    """Draw fractions that were obtained in two ways against each other, with the line on which both are equal.

    `points`: the columns x, y, panel (panels, at most three of them in a row) and, where named, series (colour and
    marker). All panels share their axes, which have one scale, and the labels. Returns the Axes of the panels.
    """
    panels = in_order(points[panel])
    names = in_order(points[series]) if series else [""]
    down = -(-len(panels) // 3)
    across = -(-len(panels) // down)
    width = min(7.2, 2.6 * across + 0.9)
    size, shared = (width, width / across * down + 0.3 * bool(series)), {"sharex": True, "sharey": True}
    figure, grid = plt.subplots(down, across, figsize=size, squeeze=False, layout="constrained", **shared)
    axes = grid.ravel()
    low, high = points[[x, y]].min().min(), points[[x, y]].max().max()
    room = 0.04 * (high - low) or 0.01
    for axis, title in zip(axes, panels, strict=False):
        rows = points[points[panel] == title]
        axis.axline((low, low), slope=1, color="0.35", linestyle="--", linewidth=1.2, zorder=1)
        for place, name in enumerate(names):
            part = rows[rows[series] == name] if series else rows
            colour, marker = look_of(name, place)
            axis.scatter(part[x], part[y], color=colour, marker=marker, s=18, alpha=0.75, linewidths=0, label=name)
        axis.set(xlim=(low - room, high + room), ylim=(low - room, high + room), aspect="equal")
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


def text_against_image(points: pd.DataFrame, means: pd.DataFrame, panel: str = "family") -> np.ndarray:
    """Draw IC against TC: every language a small dot, every model's mean a large one with its intervals both ways.

    `points`: panel, model, TC, IC (fractions), one row for each model and language. `means`: panel, model and, for TC
    and IC each, value, "TC low", "TC high", "IC low", "IC high" (NaN where there is no interval). Dotted lines stand at
    one half; above the diagonal the image is chosen correctly more often than the translation. Returns the Axes of the
    panels.
    """
    panels = in_order(means[panel])
    figure, axes = side_by_side(panels, 4.6)
    names = in_order(means["model"])
    for axis, title in zip(axes, panels, strict=True):
        axis.plot([0, 1], [0, 1], color="0.8", linewidth=1, linestyle="-", marker="", zorder=0)
        for draw in (axis.axhline, axis.axvline):
            draw(0.5, color="0.35", linestyle=":", linewidth=1.2, zorder=1)
        for row in means[means[panel] == title].to_dict("records"):
            colour, marker = look_of(row["model"], names.index(row["model"]))
            part = points[(points[panel] == title) & (points["model"] == row["model"])]
            axis.scatter(part["TC"], part["IC"], s=11, color=colour, marker=marker, alpha=0.45, linewidths=0)
            axis.plot([row["TC low"], row["TC high"]], [row["IC"]] * 2, color=colour, linestyle="-", marker="")
            axis.plot([row["TC"]] * 2, [row["IC low"], row["IC high"]], color=colour, linestyle="-", marker="")
            look = {"color": colour, "marker": marker, "s": 70, "edgecolors": "black", "linewidths": 0.8, "zorder": 4}
            axis.scatter(row["TC"], row["IC"], label=row["model"], **look)
        axis.set_aspect("equal")
        percent_axis(axis, "xy").set_xlabel("TC", size=10)
    axes[0].set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    axes[0].set_ylabel("IC", size=10)
    handles: dict = {}
    for axis in axes:
        drawn, said = axis.get_legend_handles_labels()
        handles |= dict(zip(said, drawn, strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, fontsize=9)
    return with_data(axes, points)


def paired_counts(table: pd.DataFrame, groups: Sequence[str], names: Sequence[str] = ()) -> Axes:
    """Draw two counts of classes of every language against each other, with the line of equality; both axes are log.

    `table`: name (of the language), ours, theirs (numbers of classes; 0 is drawn on the edge), group. `groups` orders
    the groups, each with its colour and marker; the languages in `names` carry their name, the first before others
    that stand too near.
    """
    _, axis = plt.subplots(figsize=(7.2, 5.6))
    edge = 0.5  # where a count of 0 is drawn on a log axis
    table = table.assign(x=table["theirs"].clip(lower=edge), y=table["ours"].clip(lower=edge))
    for place, group in enumerate(in_order(groups)):
        rows = table[table["group"] == group]
        colour, marker = look_of(group, place)
        look = {"color": colour, "marker": marker, "alpha": 0.75, "label": f"{group} ({len(rows)})"}
        axis.scatter(rows["x"], rows["y"], s=22, linewidths=0, **look)
    axis.plot([edge, 1000], [edge, 1000], color="0.35", linestyle="--", linewidth=1.2, marker="", zorder=1)
    for row in _apart(table.assign(u=np.log10(table["x"]), v=np.log10(table["y"])), names, "u", "v", (0.6, 0.12)):
        below = row.y < row.x
        offset, side = ((5, -5), {"ha": "left", "va": "top"}) if below else ((-5, 5), {"ha": "right", "va": "bottom"})
        axis.annotate(row.name, (row.x, row.y), offset, textcoords="offset points", size=9, color="0.25", **side)
    ticks = [edge, 1, 3, 10, 30, 100, 300, 1000]
    for which in ("x", "y"):
        log_axis(axis, which, ticks, ["0", *map(str, ticks[1:])])
    axis.set(xlim=(edge * 0.8, 1500), ylim=(edge * 0.8, 1500))
    axis.set(xlabel="classes in Babel-ImageNet (log scale)", ylabel="classes in this label set (log scale)")
    axis.legend(title="group by classes there (languages)", loc="upper left", fontsize=9.5)
    return with_data(axis, table.drop(columns=["x", "y"]))


def classes_against_tokens(points: pd.DataFrame, bands: pd.DataFrame, names: dict[str, Sequence[str]]) -> np.ndarray:
    """Draw classes against tokens, both log10, a row of panels for each `series`, a column for each table of `tokens`.

    `points`: series, tokens, name (of the language), log_tokens, log_classes, odd (flag: drawn as a cross, always
    named). `bands`: series, tokens, x, y, ci_low, ci_high, as `regression.regression_band` returns them.
    `names`: series -> the languages that carry their name. Returns the Axes, shape (series, tokens).
    """
    rows, columns = in_order(points["series"]), in_order(points["tokens"])
    size, shared = (7.2, 0.6 + 3.1 * len(rows)), {"sharex": True, "sharey": "row"}
    _, axes = plt.subplots(len(rows), len(columns), figsize=size, squeeze=False, layout="constrained", **shared)
    for (row, column), axis in np.ndenumerate(axes):
        part = points[(points["series"] == rows[row]) & (points["tokens"] == columns[column])]
        band = bands[(bands["series"] == rows[row]) & (bands["tokens"] == columns[column])]
        axis.fill_between(band["x"], band["ci_low"], band["ci_high"], color="0.4", alpha=0.25, linewidth=0)
        axis.plot(band["x"], band["y"], color="0.2", linestyle="-", marker="", linewidth=1.2)
        odd, usual = part[part["odd"]], part[~part["odd"]]
        axis.scatter(usual["log_tokens"], usual["log_classes"], s=14, color=COLOURS[0], alpha=0.7, linewidths=0)
        axis.scatter(odd["log_tokens"], odd["log_classes"], s=45, color=COLOURS[1], marker="X", linewidths=0)
        for place, each in enumerate(odd.sort_values("log_tokens", kind="stable").itertuples()):
            look = {"ha": "center", "va": "bottom" if place else "top", "size": 8.5, "color": COLOURS[1]}
            at = (each.log_tokens, each.log_classes)
            axis.annotate(each.name, at, (8, 7 if place else -7), textcoords="offset points", **look)
        for each in _apart(usual, names.get(rows[row], ()), "log_tokens", "log_classes", (0.6, 0.06)):
            right = each.log_tokens < 3
            low = each.log_classes < np.interp(each.log_tokens, band["x"], band["y"])
            look = {"ha": "left" if right else "right", "va": "top" if low else "bottom", "size": 8.5, "color": "0.2"}
            at, offset = (each.log_tokens, each.log_classes), (4 if right else -4, -2 if low else 2)
            axis.annotate(each.name, at, offset, textcoords="offset points", **look)
        axis.set_title(f"{rows[row]}, tokens {columns[column]}", size=10)
        axis.tick_params(labelsize=9)
        if column == 0:
            axis.set_ylabel("classes", size=10)
        if row == len(rows) - 1:
            axis.set_xlabel("tokens (millions)", size=10)
    axes[0, 0].set_xticks(range(6), [f"{10**tick:,}" for tick in range(6)])
    for axis in axes[:, 0]:
        axis.set_yticks(range(4), [f"{10**tick:,}" for tick in range(4)])
        axis.set_ylim(axis.dataLim.y0 - 0.15, 3.2)
    axes[0, 0].set_xlim(0.5, points["log_tokens"].max() + 0.25)
    return with_data(axes, points)


def cost_fronts(points: pd.DataFrame, label: str) -> np.ndarray:
    """Draw the value of every model against its costs, panels side by side, and join the models of each Pareto front.

    `points`: panel (the cost and its unit, which labels the axis), cost (log axis), value (fraction; `label` names it),
    series (colour and marker), name, and number: what a model of the front is called in the panels, 0 for the others;
    the key below gives the name of each number. Rows without a cost are left out. Returns the Axes of the panels.
    """
    drawn = points.dropna(subset=["cost"])
    panels, names = in_order(drawn["panel"]), in_order(drawn["series"])
    keys = drawn[drawn["number"] > 0].drop_duplicates("number").sort_values("number", kind="stable")
    lines = -(-len(keys) // 2)
    size = (7.2, 3.6 + 0.21 * (lines + 1))
    figure, axes = plt.subplots(1, len(panels), figsize=size, sharey=True, squeeze=False, layout="constrained")
    for axis, title in zip(axes[0], panels, strict=True):
        rows = drawn[drawn["panel"] == title]
        for place, name in enumerate(names):
            part = rows[rows["series"] == name]
            colour, marker = look_of(name, place)
            look = {"color": colour, "linestyle": "", "markersize": 5, "alpha": 0.75, "label": name}
            axis.plot(part["cost"], part["value"], marker, **look)
        front = rows[rows["number"] > 0].sort_values("cost", kind="stable")
        axis.step(front["cost"], front["value"], where="post", marker="", color="0.35", linestyle="--", linewidth=1.2)
        for row in front.itertuples():
            at = {"textcoords": "offset points", "size": 9.5, "ha": "right", "weight": "bold"}
            axis.annotate(f"{row.number}", (row.cost, row.value), (-3, 3), **at)
        ticks = [tick for tick in (1, 10, 100, 1000, 10_000) if rows["cost"].min() / 2 < tick < 2 * rows["cost"].max()]
        log_axis(axis, "x", ticks)
        axis.set_xlabel(title, size=10.5)
        axis.margins(x=0.1)
    axes[0, 0].set_ylim(bottom=0)
    percent_axis(axes[0, 0], "y").set_ylabel(label, size=10.5)
    handles, texts = axes[0, 0].get_legend_handles_labels()
    empty = {"linestyle": "", "color": "0.1", "markersize": 8, "markeredgewidth": 0}
    handles += [plt.Line2D([], [], marker=f"$\\mathbf{{{number}}}$", **empty) for number in keys["number"]]
    figure.legend(handles, [*texts, *keys["name"]], loc="outside lower left", ncols=2, fontsize=9)
    return with_data(axes[0], drawn, name="model")


def _apart(table: pd.DataFrame, names: Sequence[str], x: str, y: str, gap: tuple[float, float]) -> list:
    """Return the rows (tuples) with these names, in the order of `names`, without those too near to one before."""
    kept: list = []
    named = table[table["name"].isin(names)].sort_values("name", key=lambda name: name.map(list(names).index))
    for row in named.itertuples():
        at = getattr(row, x), getattr(row, y)
        if all(abs(at[0] - getattr(one, x)) > gap[0] or abs(at[1] - getattr(one, y)) > gap[1] for one in kept):
            kept.append(row)
    return kept


def size_lines(table: pd.DataFrame, x: str, xlabel: str, ticks: Sequence[float]) -> np.ndarray:
    """Draw recall against the size of the models, panels side by side, with a line for each value of `series`.

    `table`: panel, series, x (the column named), value (a fraction between 0 and 1). Sizes are on a log axis with
    `ticks`, values on one of log odds, on which each line is the least-squares one. Returns the Axes of the panels.
    """
    panels, names = (in_order(table[column]) for column in ("panel", "series"))
    figure, axes = side_by_side(panels, 5.0)
    for axis, title in zip(axes, panels, strict=True):
        for place, name in enumerate(names):
            rows = table[(table["panel"] == title) & (table["series"] == name)].sort_values(x, kind="stable")
            odds = np.log(rows["value"] / (1 - rows["value"]))
            line = np.polyval(np.polyfit(np.log10(rows[x]), odds, 1), np.log10(rows[x]))
            colour, marker = look_of(name, place)
            look = {"color": colour, "linestyle": LINES[MARKERS.index(marker)], "marker": marker}
            axis.plot(rows[x], rows["value"], markersize=5.5, **(look | {"linestyle": ""}))
            axis.plot(rows[x], 1 / (1 + np.exp(-line)), linewidth=1.2, **(look | {"marker": ""}))
            axis.plot([], [], label=name, markersize=5.5, linewidth=1.2, **look)  # both in the legend
        log_axis(axis, "x", ticks)
        axis.set_xlabel(xlabel, size=10.5)
    axes[0].set_yscale("logit")
    shares = [share for share in (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8) if share <= 1.2 * table["value"].max()]
    axes[0].set_yticks(shares, [f"{share:.0%}" for share in shares])
    axes[0].yaxis.minorticks_off()
    axes[0].set_ylabel("recall@1", size=10.5)
    legend_below(figure, axes[0])
    return with_data(axes, table)
