"""Values with their intervals row by row, in the forms that a screen needs.

A figure of many rows shows the first and folds the rest; on a phone its panels stand one
below the other (`look.Forms`).
"""

import re
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from babelatlas.report.figures.look import (
    COLOURS,
    Forms,
    below_one_another,
    in_order,
    legend_below,
    look_of,
    percent_axis,
    side_by_side,
    with_data,
    with_forms,
)
from babelatlas.report.formatting import counted

MOST_ROWS = 20  # of a figure; the others fold
TALL = 12  # rows; from there on the axis and the legend stand at the top
LETTERS_OF_A_NAME = 20  # in a line, on a phone
LINE_HEIGHT = 0.17  # inches, of a name on a phone
BAND = "0.955"  # grey of every second group of rows


class Rows(NamedTuple):
    """What a forest draws: the arguments of `forest`.

    `dodged`: whether series stand side by side within a row; else each row has one
    series, and the rows of every second one are shaded.
    """

    table: pd.DataFrame
    label: str
    panel: str = ""
    series: str = ""
    reference: dict | float | None = None
    dodged: bool = True

    def panels(self) -> list[str]:
        """Return the titles of the panels, [""] for a single one."""
        return in_order(self.table[self.panel]) if self.panel else [""]

    def names(self) -> list[str]:
        """Return the names of the series, [""] for a single one."""
        return in_order(self.table[self.series]) if self.series else [""]

    def row_height(self) -> float:
        """Return the height of a row in inches."""
        return 0.22 + 0.12 * (len(self.names()) if self.dodged else 1)


def forest(
    table: pd.DataFrame,
    label: str,
    panel: str = "",
    series: str = "",
    reference: dict | float | None = None,
    width: float = 7.2,
) -> np.ndarray:
    """Draw values with their intervals, one row for each value of column `label`;
    return the Axes of the panels.

    `table`: label, value, ci_low, ci_high (NaN where there is no interval), where named
    `panel` (panels side by side) and `series` (colours and markers within a row), and,
    if it has it, `open_circle` (a number to compare the value with). All are drawn in
    the order of the table, the first on top; resource groups always stand from "very
    low" to "high", then English, here and in every figure (`look.in_order`).
    `reference` draws a vertical line: one number, or one for each panel. Rows beyond
    the first `MOST_ROWS` become a second figure, which `show` folds, and on a phone
    panels stand one below the other; both follow what is set of the x axes of the Axes
    returned.
    """
    return _drawn(Rows(table, label, panel, series, reference), width)


def ranks(table: pd.DataFrame, label: str = "mean accuracy") -> np.ndarray:
    """Draw a leaderboard: the models' means with their intervals, in the groups of
    `groups_of_models`.

    `table`, the best first: model, value, ci_low, ci_high (fractions; NaN where there
    is no interval), letters (as `compact_letters` gives them). Returns the Axes, of
    which there is one.
    """
    grouped = table.assign(group_of_models=groups_of_models(table["letters"]))
    rows = Rows(grouped, "model", series="group_of_models", dodged=False)
    axes = _drawn(rows, width=7.2)
    percent_axis(axes[0], "x").set_xlabel(label, size=10)
    least = table["ci_low"].min()
    axes[0].set_xlim(left=min(0, least) if np.isfinite(least) else 0)
    return with_data(axes, table)


def groups_of_models(letters: pd.Series) -> pd.Series:
    """Return the group of each model of a leaderboard, as a legend names it.

    `letters`: of the models, the best first; two that share a letter do not differ
    significantly. A group begins with the first model that differs from the first one of
    the group before: within a group nothing is claimed.

    >>> groups_of_models(pd.Series(["a", "ab", "b", "bc"])).unique().tolist()
    ['group 1 (2 models)', 'group 2 (2 models)']
    """
    numbers: list[int] = []
    of_first: set[str] = set()
    for text in letters:
        # A letter is followed by a number where one alphabet is not enough.
        of_model = set(re.findall(r"\D\d*", text))
        if not numbers or not of_model & of_first:
            of_first = of_model
            numbers.append(numbers[-1] + 1 if numbers else 1)
        else:
            numbers.append(numbers[-1])
    names = [
        f"group {number} ({counted(numbers.count(number), 'model')})"
        for number in numbers
    ]
    return pd.Series(names, index=letters.index, dtype=str)


def group_means(table: pd.DataFrame, series: str = "") -> np.ndarray:
    """Draw mean accuracy of every model, one panel for each group of languages; return
    the Axes of the panels.

    `table`: model, group, value, ci_low, ci_high (fractions; NaN where there is no
    interval), n (languages), and, where named, `series`. Models (rows) stand in the
    order of the table, groups (panels) from few resources to many.
    """
    sizes = table.groupby("group")["n"].max()
    titles = {name: f"{name}\nn = {size}" for name, size in sizes.items()}
    names = in_order(table["group"])
    drawn = table.sort_values(
        "group", key=lambda column: column.map(names.index), kind="stable"
    )
    axes = forest(
        drawn.assign(group=drawn["group"].map(titles)),
        label="model",
        panel="group",
        series=series,
    )
    for axis in axes:
        axis.set_xlim(left=0)
        percent_axis(axis, "x")
    axes[len(axes) // 2].set_xlabel("mean accuracy", size=10.5)
    return with_data(axes, table)


def _drawn(rows: Rows, width: float) -> np.ndarray:
    """Draw the first rows, and their other forms; return the Axes of the panels."""
    labels = in_order(rows.table[rows.label])
    first, others = labels[:MOST_ROWS], labels[MOST_ROWS:]
    axes = _panels(rows, first, width)
    forms = Forms(_below_one_another(rows, first))
    if others:
        rest = _panels(rows, others, width, registered=False)
        forms = Forms(forms.phone, rest, _below_one_another(rows, others), len(others))
    return with_forms(with_data(axes, rows.table), forms)


def _panels(
    rows: Rows, labels: Sequence[str], width: float, registered: bool = True
) -> np.ndarray:
    """Draw panels side by side that share their rows; return their Axes.

    `registered`: whether pyplot knows the figure.
    """
    height = 0.9 + rows.row_height() * len(labels) + 0.3 * bool(rows.series)
    panels = rows.panels()
    figure, axes = side_by_side(panels, height, width, registered)
    # Room between the last tick of a panel and the first of the next.
    figure.get_layout_engine().set(w_pad=0.08)
    for axis, title in zip(axes, panels, strict=True):
        _draw_panel(axis, rows, title, labels)
    axes[0].set_yticks(range(len(labels)), labels)
    axes[0].set_ylim(len(labels) - 0.5, -0.5)
    _add_legend(figure, axes[0], rows, len(labels) > TALL)
    return axes


def _below_one_another(rows: Rows, labels: Sequence[str]) -> np.ndarray:
    """Draw panels one below the other, each with its rows and their names on several
    lines; return their Axes.
    """
    panels = rows.panels()
    shown = []
    for title in panels:
        part = rows.table[rows.table[rows.panel] == title] if rows.panel else rows.table
        present = set(part[rows.label])
        shown.append([name for name in labels if name in present] or labels[:1])
    texts = [
        [textwrap.fill(str(name), LETTERS_OF_A_NAME) for name in names]
        for names in shown
    ]
    lines = max(text.count("\n") + 1 for names in texts for text in names)
    row_height = max(rows.row_height(), LINE_HEIGHT * lines + 0.1)
    heights = [row_height * len(names) for names in shown]
    legend = 0.22 * len(rows.names()) if rows.series else 0
    height = sum(heights) + 0.65 * len(panels) + 0.4 + legend
    figure, axes = below_one_another(panels, height, heights)
    for axis, title, names, written in zip(axes, panels, shown, texts, strict=True):
        _draw_panel(axis, rows, title, names)
        axis.set_yticks(range(len(names)), written)
        axis.set_ylim(len(names) - 0.5, -0.5)
    _add_legend(figure, axes[0], rows, at_top=True, ncols=1)
    return axes


def _add_legend(
    figure: Figure, axis: Axes, rows: Rows, at_top: bool, ncols: int = 0
) -> None:
    """Add the legend of the series, where there are some."""
    if not rows.series:
        return
    names = rows.names()
    columns = ncols or (len(names) if rows.dodged else 3)
    place = "upper" if at_top else "lower"
    legend_below(figure, axis, ncols=columns, loc=f"outside {place} center")


def _draw_panel(axis: Axes, rows: Rows, title: str, labels: Sequence[str]) -> None:
    """Draw the values of one panel at the places of `labels`, the first on top."""
    table = rows.table[rows.table[rows.label].isin(labels)]
    if rows.panel:
        table = table[table[rows.panel] == title]
    names = rows.names()
    for place, name in enumerate(names):
        part = table[table[rows.series] == name] if rows.series else table
        # A list, because a panel may lack a series: then a column of texts stays one of
        # texts.
        y = np.array([labels.index(each) for each in part[rows.label]], float)
        if rows.dodged:
            y += (place - (len(names) - 1) / 2) * 0.6 / len(names)
        elif place % 2 and len(y):
            axis.axhspan(y.min() - 0.5, y.max() + 0.5, color=BAND, lw=0, zorder=0)
        _draw_values(axis, part, y, name, place)
    line = rows.reference
    if isinstance(line, dict):
        line = line.get(title)
    if line is not None:
        axis.axvline(line, color="0.35", linestyle="--", linewidth=1.2, zorder=1)
    axis.grid(axis="y", color="0.9", linewidth=0.6)
    if len(labels) > TALL:
        axis.xaxis.tick_top()
        axis.xaxis.set_label_position("top")


def _draw_values(
    axis: Axes, part: pd.DataFrame, y: np.ndarray, name: str, place: int
) -> None:
    """Draw the values of one series at the heights `y`, with their intervals."""
    colour, marker = look_of(name, place)
    axis.hlines(
        y, part["ci_low"], part["ci_high"], color=colour, linewidth=1.8, zorder=2
    )
    look = {"linestyle": "", "markersize": 5}
    axis.plot(part["value"], y, marker, color=colour, label=name, **look)
    if "open_circle" in part:
        edge = {"color": "white", "markeredgecolor": COLOURS[0]}
        axis.plot(part["open_circle"], y, "o", **edge, **look)
