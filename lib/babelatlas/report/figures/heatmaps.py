"""A number for each pair of names, as colour and as text."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colorbar import Colorbar

from babelatlas.report.figures.look import SEQUENTIAL, in_order, percent_axis, with_data

MANY_NAMES = 16  # panels with more names than this stand below one another
# Inches: of the names of rows, and of a column at most.
NAMES_WIDTH = 2.4
COLUMN_WIDTH = 0.45
DARK_BELOW = 0.6  # of the range of colours: below, texts of cells are white
SMALL_PANEL = 3  # rows; below a larger panel the names of columns are written again


def language_heatmap(
    table: pd.DataFrame,
    label: str = "lang",
    models: Sequence[str] = (),
    top: float | None = None,
    measure: str = "accuracy",
) -> np.ndarray:
    """Draw a measure by language (rows) and model (columns), a panel for each group;
    return the Axes.

    `table`: model, group, value (fraction) and the column `label` that names the rows.
    Rows stand in the order of the table, columns in that of `models`, else of the table,
    resource groups from "very low" to "high". Cells without a value stay blank. The
    lightest colour is that of `top`, else of the highest value: figures with the same
    `top` compare.
    """
    models = list(models) or table["model"].unique()
    top = table["value"].max() if top is None else top
    groups = in_order(table["group"])
    n_rows = [table.loc[table["group"] == group, label].nunique() for group in groups]
    width = min(7.2, NAMES_WIDTH + COLUMN_WIDTH * len(models))
    _, axes = plt.subplots(
        len(groups),
        1,
        squeeze=False,
        layout="constrained",
        figsize=(width, 0.185 * sum(n_rows) + 1.15 * len(groups) + 0.8),
        height_ratios=n_rows,
    )
    for place, (axis, group) in enumerate(zip(axes[:, 0], groups, strict=True)):
        rows = table[table["group"] == group]
        cells = rows.pivot_table(index=label, columns="model", values="value")
        cells = cells.reindex(index=rows[label].unique(), columns=models)
        colours = _draw_cells(axis, cells, 0, top, 8.5, 100 * cells)
        has_column_names = place == 0 or n_rows[place - 1] > SMALL_PANEL
        _name_columns_above(axis, models, has_column_names)
        _write_group(axis, group)
    colour_bar = _add_colour_bar(axes, colours, measure, pad=0.01)
    percent_axis(colour_bar.ax, "x")
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
    panels = in_order(table["panel"])
    top = max(table["value"].max(), 1e-9)
    size = 8.5 if len(order) <= 9 else 7.5
    _, axes = _panels_of_pairs(len(panels), len(order))
    for axis, title in zip(axes.flat, panels, strict=True):
        cells = _lower_triangle(table[table["panel"] == title], order)
        percent = 100 * cells if number else None
        colours = _draw_cells(axis, cells, 0, top, size, percent)
        axis.set_title(title, size=10.5)
        _part_groups(axis, groups)
    colour_bar = _add_colour_bar(axes, colours, label)
    percent_axis(colour_bar.ax, "x")
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
    pairs = _both_triangles(table, below, above, note)
    names = {
        title: list(dict.fromkeys([*rows["first"], *rows["second"]]))
        for title, rows in table.groupby(panel, sort=False)
    }
    heights = [0.5 * len(names_of_panel) for names_of_panel in names.values()]
    _, axes = plt.subplots(
        len(names),
        1,
        squeeze=False,
        layout="constrained",
        figsize=(7.2, sum(heights) + 0.75 * len(names) + 0.9),
        height_ratios=heights,
    )
    low = min(0.0, pairs["value"].min())
    for axis, (title, order) in zip(axes[:, 0], names.items(), strict=True):
        rows = pairs[pairs[panel] == title]
        cells = rows.pivot(index="second", columns="first", values="value")
        cells = cells.reindex(index=order, columns=order).astype(float)
        texts = rows.pivot(index="second", columns="first", values="text")
        texts = texts.reindex(index=order, columns=order)
        colours = _draw_cells(axis, cells, low, 1, 9, texts, "")
        axis.axline((0, 0), (1, 1), color="0.6", linewidth=1, linestyle="-", marker="")
        axis.set_title(title, size=10.5, loc="left")
    _add_colour_bar(axes, colours, label, pad=0.02)
    return with_data(axes[:, 0], table)


def _draw_cells(
    axis: Axes,
    cells: pd.DataFrame,
    low: float,
    top: float,
    size: float,
    texts: pd.DataFrame | None = None,
    text_format: str = ".0f",
) -> QuadMesh:
    """Draw numbers as colours between those of `low` and `top`, with the texts of their
    cells in `size` points; return the colours.
    """
    import seaborn as sns  # brings scipy.stats: a second that most figures need not wait

    sns.heatmap(
        cells,
        vmin=low,
        vmax=top,
        annot=texts,
        fmt=text_format,
        ax=axis,
        cmap=SEQUENTIAL,
        cbar=False,
        xticklabels=True,
        yticklabels=True,
        annot_kws={"size": size},
        # Without seams, the page would shine through between the cells.
        linewidths=0.3,
        linecolor="face",
    )
    values = cells.to_numpy()
    values = values[np.isfinite(values)]
    limit = low + DARK_BELOW * (top - low)
    for text, value in zip(axis.texts, values, strict=False):
        text.set_color("black" if value > limit else "white")
        text.set_in_layout(False)  # a thousand would slow it down
    axis.set(xlabel="", ylabel="")
    axis.tick_params(left=False, bottom=False, pad=2, labelsize=size + 0.5)
    axis.tick_params(axis="y", rotation=0)
    axis.grid(False)
    return axis.collections[0]


def _add_colour_bar(
    axes: np.ndarray, colours: QuadMesh, label: str, **look
) -> Colorbar:
    """Put the bar of the colours below all panels; return it."""
    figure = axes.flat[0].figure
    return figure.colorbar(
        colours,
        ax=axes,
        location="bottom",
        shrink=0.6,
        aspect=40,
        label=label,
        **look,
    )


def _name_columns_above(axis: Axes, names: Sequence[str], shown: bool) -> None:
    """Write the names of the columns above a panel, where they are shown."""
    axis.tick_params(labeltop=shown, labelbottom=False)
    axis.set_xticks(
        axis.get_xticks(), names, rotation=40, ha="left", rotation_mode="anchor"
    )


def _write_group(axis: Axes, group: str) -> None:
    """Write the group of a panel in bold above the names of its rows."""
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


def _panels_of_pairs(n_panels: int, n_names: int) -> tuple[plt.Figure, np.ndarray]:
    """Return a figure and its panels: side by side, or below one another where they
    have many names.
    """
    if n_names > MANY_NAMES:
        n_rows, n_columns = n_panels, 1
        height = 1.2 + n_panels * (0.6 + 0.13 * n_names)
    else:
        n_rows, n_columns = 1, n_panels
        height = 1.7 + 7.2 / max(2, n_panels)
    return plt.subplots(
        n_rows,
        n_columns,
        figsize=(7.2, height),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )


def _lower_triangle(pairs: pd.DataFrame, order: Sequence[str]) -> pd.DataFrame:
    """Return the values of pairs as a table of names x names, those after a name in its
    column.
    """
    cells = pd.DataFrame(np.nan, index=order, columns=order)
    for pair in pairs.itertuples():
        earlier, later = sorted((pair.first, pair.second), key=order.index)
        cells.loc[later, earlier] = pair.value
    return cells


def _part_groups(axis: Axes, groups: Sequence[str]) -> None:
    """Draw lines in the lower triangle where a group of names ends and the next
    begins.
    """
    for place in range(1, len(groups)):
        if groups[place] != groups[place - 1]:
            axis.plot(
                [0, place, place],
                [place, place, len(groups)],
                color="black",
                linewidth=1,
                linestyle="-",
                marker="",
            )


def _both_triangles(
    table: pd.DataFrame, below: str, above: str, note: str
) -> pd.DataFrame:
    """Return the pairs of a table twice, as their cells below the diagonal and above
    it: value, and text with the note below the number.
    """
    cells_below = table.rename(columns={below: "value"})
    cells_above = table.rename(
        columns={"first": "second", "second": "first", above: "value"}
    )
    cells = pd.concat([cells_below, cells_above])
    cells["text"] = cells["value"].map("{:.2f}\n".format) + cells[note]
    return cells
