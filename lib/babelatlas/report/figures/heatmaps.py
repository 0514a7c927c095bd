"""A number for each pair of names, as colour and as text."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from babelatlas.report.figures.look import SEQUENTIAL, in_order, percent_axis, with_data


def language_heatmap(table: pd.DataFrame, label: str = "lang", of: str = "accuracy") -> np.ndarray:
    """Draw accuracy, or `of`, by language (rows) and model (columns), a panel for each group; return the Axes.

    `table`: model, group, value (fraction) and the column `label` that names the rows. Rows and columns stand in
    the order of the table, resource groups from "very low" to "high". Cells without a value stay blank.
    """
    models = list(dict.fromkeys(table["model"]))
    groups = {name: table[table["group"] == name] for name in in_order(table["group"])}
    parts = [(name, rows, list(dict.fromkeys(rows[label]))) for name, rows in groups.items()]
    heights = [len(names) for _, _, names in parts]
    look = {"figsize": (7.2, 0.185 * sum(heights) + 1.15 * len(parts) + 0.8), "height_ratios": heights}
    figure, axes = plt.subplots(len(parts), 1, squeeze=False, layout="constrained", **look)
    top = table["value"].max()
    for place, (axis, (name, rows, names)) in enumerate(zip(axes[:, 0], parts, strict=True)):
        cells = rows.pivot_table(index=label, columns="model", values="value").reindex(index=names, columns=models)
        image = axis.imshow(cells, aspect="auto", vmin=0, vmax=top, cmap=SEQUENTIAL, interpolation="nearest")
        axis.set_yticks(range(len(names)), names, size=9)
        axis.set_xticks(range(len(models)), [])
        if place == 0 or heights[place - 1] > 3:  # the names of the models stand above every panel that is not tiny
            axis.set_xticks(range(len(models)), models, rotation=40, ha="left", rotation_mode="anchor", size=9)
        axis.tick_params(top=False, bottom=False, labeltop=True, labelbottom=False, left=False, pad=2)
        axis.text(-0.008, 1, name, transform=axis.transAxes, ha="right", va="bottom", weight="bold", size=10.5)
        _bare(axis)
        _write_percent(axis, cells.to_numpy(), top, 8.5)
    bar = figure.colorbar(image, ax=axes, location="bottom", shrink=0.6, aspect=40, pad=0.01, label=of)
    percent_axis(bar.ax, "x")
    return with_data(axes[:, 0], table)


def _bare(axis: Axes) -> None:
    axis.grid(False)
    axis.spines[:].set_visible(False)


def _write_percent(axis: Axes, cells: np.ndarray, top: float, size: float) -> None:
    """Write the percent into the cells that have a value, black on the light ones."""
    for (row, column), value in np.ndenumerate(cells):
        if np.isfinite(value):
            look = {"ha": "center", "va": "center", "size": size, "c": "black" if value > 0.6 * top else "white"}
            axis.text(column, row, f"{100 * value:.0f}", **look).set_in_layout(False)  # a thousand would slow it down


def overlap_heatmap(
    table: pd.DataFrame, order: Sequence[str], groups: Sequence[str] = (), label: str = "", number: bool = True
) -> np.ndarray:
    """Draw a number for each pair of names, one panel for each `panel`; the lower triangle only, as it is symmetric.

    `table`: panel, first, second, value (fraction), in any order; pairs that are not there stay blank. `order`: the
    names; `groups`: the group of each, in which case lines part the groups. `label` names the colour bar. `number`
    writes the percent into the cells. Panels of more than 16 names stand below one another. Returns the Axes of the
    panels.
    """
    panels = in_order(table["panel"])
    wide = len(order) > 16
    size = 9 if len(order) <= 9 else 8
    shape = (len(panels), 1) if wide else (1, len(panels))
    height = 1.2 + len(panels) * (0.6 + 0.13 * len(order)) if wide else 1.7 + 7.2 / max(2, len(panels))
    figure, axes = plt.subplots(*shape, figsize=(7.2, height), sharey=True, squeeze=False, layout="constrained")
    axes = axes.ravel()
    top = max(table["value"].max(), 1e-9)
    place = {name: number for number, name in enumerate(order)}
    line = {"color": "black", "linewidth": 1, "linestyle": "-", "marker": ""}
    for axis, title in zip(axes, panels, strict=True):
        cells = np.full((len(order), len(order)), np.nan)
        for row in table[table["panel"] == title].itertuples():
            one, other = sorted((place[row.first], place[row.second]))
            cells[other, one] = row.value
        image = axis.imshow(cells, vmin=0, vmax=top, cmap=SEQUENTIAL, interpolation="nearest")
        axis.set_yticks(range(len(order)), order, size=size)
        axis.set_xticks(range(len(order)), order, size=size, rotation=90)
        axis.tick_params(left=False, bottom=False, pad=2)
        _bare(axis)
        axis.set_title(title, size=10.5)
        for edge in (number for number in range(1, len(groups)) if groups[number] != groups[number - 1]):
            axis.plot([-0.5, edge - 0.5], [edge - 0.5] * 2, **line)
            axis.plot([edge - 0.5] * 2, [edge - 0.5, len(order) - 0.5], **line)
        if number:
            _write_percent(axis, cells, top, size - 0.5)
    bar = figure.colorbar(image, ax=axes, location="bottom", shrink=0.6, aspect=40, label=label)
    percent_axis(bar.ax, "x")
    return with_data(axes, table)


def two_triangles(table: pd.DataFrame, panel: str, below: str, above: str, note: str, label: str) -> np.ndarray:
    """Draw two numbers for each pair of names, one below and one above the diagonal; return the Axes of the panels.

    `table`: panel, first, second, the columns `below` and `above` (at most 1; NaN stays blank) and `note`, a short text
    below the number. Panels stand below one another, names in the order in which they first occur. `label` names the
    colour bar.
    """
    parts = []
    for title in in_order(table[panel]):
        rows = table[table[panel] == title]
        parts.append((title, rows, list(dict.fromkeys([*rows["first"], *rows["second"]]))))
    heights = [0.5 * len(names) for *_, names in parts]
    look = {"figsize": (7.2, sum(heights) + 0.75 * len(parts) + 0.9), "height_ratios": heights}
    figure, axes = plt.subplots(len(parts), 1, squeeze=False, layout="constrained", **look)
    low = min(0.0, table[[below, above]].min(axis=None))
    for axis, (title, rows, names) in zip(axes[:, 0], parts, strict=True):
        cells, notes = np.full((len(names), len(names)), np.nan), {}
        for _, row in rows.iterrows():
            one, other = sorted((names.index(row["first"]), names.index(row["second"])))
            cells[other, one], cells[one, other] = row[below], row[above]
            notes[other, one] = notes[one, other] = row[note]
        image = axis.imshow(cells, aspect="auto", vmin=low, vmax=1, cmap=SEQUENTIAL, interpolation="nearest")
        for place, text in notes.items():
            if np.isfinite(cells[place]):
                look = {"c": "black" if cells[place] > low + 0.6 * (1 - low) else "white", "size": 9.5}
                axis.text(*place[::-1], f"{cells[place]:.2f}\n{text}", ha="center", va="center", **look)
        axis.set_yticks(range(len(names)), names, size=9.5)
        axis.set_xticks(range(len(names)), names, size=9.5)
        axis.tick_params(left=False, bottom=False, pad=2)
        _bare(axis)
        axis.axline((-0.5, -0.5), (0.5, 0.5), color="0.6", linewidth=1, linestyle="-", marker="")
        axis.set(xlim=(-0.5, len(names) - 0.5), ylim=(len(names) - 0.5, -0.5))
        axis.set_title(title, size=10.5, loc="left")
    figure.colorbar(image, ax=axes, location="bottom", shrink=0.6, aspect=40, pad=0.02, label=label)
    return with_data(axes[:, 0], table)
