"""A number for each pair of names, as colour and as text."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from babelatlas.report.figures.look import SEQUENTIAL, in_order, percent_axis, with_data


def _heatmap(
    axis: Axes,
    cells: pd.DataFrame,
    low: float,
    top: float,
    size: float,
    texts=None,
    fmt: str = ".0f",
):
    """Draw numbers as colours between those of `low` and `top`, with the texts of their
    cells; return the colours.
    """
    look = {
        "cmap": SEQUENTIAL,
        "cbar": False,
        "xticklabels": True,
        "yticklabels": True,
        "annot_kws": {"size": size},
    }
    seams = {
        "linewidths": 0.3,
        "linecolor": "face",
    }  # without, the page would shine through between the cells
    sns.heatmap(
        cells, vmin=low, vmax=top, annot=texts, fmt=fmt, ax=axis, **look, **seams
    )
    values = cells.to_numpy()
    for text, value in zip(axis.texts, values[np.isfinite(values)], strict=False):
        text.set(color="black" if value > low + 0.6 * (top - low) else "white")
        text.set_in_layout(False)  # a thousand would slow it down
    axis.set(xlabel="", ylabel="")
    axis.tick_params(left=False, bottom=False, pad=2, labelsize=size + 0.5)
    axis.tick_params(axis="y", rotation=0)
    axis.grid(False)
    return axis.collections[0]


def language_heatmap(table: pd.DataFrame, label: str = "lang") -> np.ndarray:
    """Draw accuracy by language (rows) and model (columns), a panel for each group;
    return the Axes.

    `table`: model, group, value (fraction) and the column `label` that names the rows.
    Rows and columns stand in the order of the table, resource groups from "very low" to
    "high". Cells without a value stay blank.
    """
    models, groups, top = (
        table["model"].unique(),
        in_order(table["group"]),
        table["value"].max(),
    )
    heights = [table.loc[table["group"] == group, label].nunique() for group in groups]
    look = {
        "figsize": (7.2, 0.185 * sum(heights) + 1.15 * len(groups) + 0.8),
        "height_ratios": heights,
    }
    figure, axes = plt.subplots(
        len(groups), 1, squeeze=False, layout="constrained", **look
    )
    for place, (axis, group) in enumerate(zip(axes[:, 0], groups, strict=True)):
        rows = table[table["group"] == group]
        cells = rows.pivot_table(index=label, columns="model", values="value")
        cells = cells.reindex(index=rows[label].unique(), columns=models)
        colours = _heatmap(axis, cells, 0, top, 8.5, 100 * cells)
        # The names of the models stand above every panel that is not tiny.
        axis.tick_params(
            labeltop=place == 0 or heights[place - 1] > 3, labelbottom=False
        )
        axis.set_xticks(
            axis.get_xticks(), models, rotation=40, ha="left", rotation_mode="anchor"
        )
        axis.text(
            -0.008,
            1,
            group,
            transform=axis.transAxes,
            ha="right",
            va="bottom",
            weight="bold",
            size=10.5,
        )
    bar = figure.colorbar(
        colours,
        ax=axes,
        location="bottom",
        shrink=0.6,
        aspect=40,
        pad=0.01,
        label="accuracy",
    )
    percent_axis(bar.ax, "x")
    return with_data(axes[:, 0], table)


def overlap_heatmap(
    table: pd.DataFrame,
    order: Sequence[str],
    groups: Sequence[str] = (),
    label: str = "",
    number: bool = True,
) -> np.ndarray:
    """Draw a number for each pair of names, one panel for each `panel`; the lower
    triangle only, as it is symmetric.

    `table`: panel, first, second, value (fraction), in any order; pairs that are not
    there stay blank. `order`: the names; `groups`: the group of each, in which case
    lines part the groups. `label` names the colour bar. `number` writes the percent
    into the cells. Panels of more than 16 names stand below one another. Returns the
    Axes of the panels.
    """
    panels, n, top = (
        in_order(table["panel"]),
        len(order),
        max(table["value"].max(), 1e-9),
    )
    shape = (len(panels), 1) if n > 16 else (1, len(panels))
    height = (
        1.2 + len(panels) * (0.6 + 0.13 * n)
        if n > 16
        else 1.7 + 7.2 / max(2, len(panels))
    )
    figure, axes = plt.subplots(
        *shape, figsize=(7.2, height), sharey=True, squeeze=False, layout="constrained"
    )
    for axis, title in zip(axes.flat, panels, strict=True):
        cells = pd.DataFrame(np.nan, index=order, columns=order)
        for row in table[table["panel"] == title].itertuples():
            one, other = sorted((row.first, row.second), key=order.index)
            cells.loc[other, one] = row.value
        colours = _heatmap(
            axis, cells, 0, top, 8.5 if n <= 9 else 7.5, 100 * cells if number else None
        )
        axis.set_title(title, size=10.5)
        for edge in (
            place
            for place in range(1, len(groups))
            if groups[place] != groups[place - 1]
        ):
            axis.plot(
                [0, edge, edge],
                [edge, edge, n],
                color="black",
                linewidth=1,
                linestyle="-",
                marker="",
            )
    bar = figure.colorbar(
        colours, ax=axes, location="bottom", shrink=0.6, aspect=40, label=label
    )
    percent_axis(bar.ax, "x")
    return with_data(axes.ravel(), table)


def two_triangles(
    table: pd.DataFrame, panel: str, below: str, above: str, note: str, label: str
) -> np.ndarray:
    """Draw two numbers for each pair of names, one below and one above the diagonal;
    return the Axes of the panels.

    `table`: panel, first, second, the columns `below` and `above` (at most 1; NaN stays
    blank) and `note`, a short text below the number. Panels stand below one another;
    names in the order in which they first occur, the second of a pair after the first.
    `label` names the colour bar.
    """
    above_it = table.rename(
        columns={"first": "second", "second": "first", above: "value"}
    )
    both = pd.concat([table.rename(columns={below: "value"}), above_it])
    both["text"] = both["value"].map("{:.2f}\n".format) + both[note]
    parts = table.groupby(panel, sort=False)
    names = {
        title: list(dict.fromkeys([*rows["first"], *rows["second"]]))
        for title, rows in parts
    }
    heights = [0.5 * len(each) for each in names.values()]
    look = {
        "figsize": (7.2, sum(heights) + 0.75 * len(names) + 0.9),
        "height_ratios": heights,
    }
    figure, axes = plt.subplots(
        len(names), 1, squeeze=False, layout="constrained", **look
    )
    low = min(0.0, both["value"].min())
    for axis, (title, each) in zip(axes[:, 0], names.items(), strict=True):
        pairs = both[both[panel] == title].pivot(
            index="second", columns="first", values=["value", "text"]
        )
        cells, texts = (
            pairs[column].reindex(index=each, columns=each)
            for column in ("value", "text")
        )
        colours = _heatmap(axis, cells.astype(float), low, 1, 9, texts, "")
        axis.axline((0, 0), (1, 1), color="0.6", linewidth=1, linestyle="-", marker="")
        axis.set_title(title, size=10.5, loc="left")
    figure.colorbar(
        colours,
        ax=axes,
        location="bottom",
        shrink=0.6,
        aspect=40,
        pad=0.02,
        label=label,
    )
    return with_data(axes[:, 0], table)
