"""Lines over a number, such as how many languages have at least so many classes."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from babelatlas.report.figures.look import (
    MARKERS,
    Forms,
    band,
    below_one_another,
    in_order,
    legend_below,
    line_of,
    log_axis,
    percent_axis,
    series_in_order,
    side_by_side,
    with_data,
    with_forms,
)

# Ticks of the numbers of classes and languages.
CLASS_TICKS = [1, 3, 10, 30, 100, 300, 1000]
LANGUAGE_TICKS = CLASS_TICKS[:-1]


def _mark_number(axis: Axes, rows: pd.DataFrame, mark: int, place: int) -> None:
    """Mark where the line of one series meets a number of classes, and write its number
    of languages: below the line of the first series, above those of the others.

    Where the line does not reach that number of classes, nothing is marked.
    """
    if not rows["n_classes"].min() <= mark <= rows["n_classes"].max():
        return
    n_languages = rows.loc[rows["n_classes"] >= mark, "n_languages"].max()
    colour = line_of(place)["color"]
    axis.plot(
        mark, n_languages, MARKERS[place % len(MARKERS)], color=colour, markersize=6
    )
    if place == 0:
        position = {"xytext": (-6, -4), "ha": "right", "va": "top"}
    else:
        position = {"xytext": (6, 3), "ha": "left", "va": "bottom"}
    axis.annotate(
        f"{n_languages}",
        (mark, n_languages),
        textcoords="offset points",
        size=9.5,
        color=colour,
        **position,
    )


def at_least(curves: pd.DataFrame, marks: Sequence[int] = ()) -> Axes:
    """Draw how many languages have at least so many classes, a line for each value of
    `series`; both axes are log.

    `curves`: series, n_classes, n_languages, as `coverage.at_least` gives them. `marks`
    are numbers of classes at which a dotted line stands, with the number of languages
    of each series written next to it.
    """
    _, axis = plt.subplots(figsize=(7.2, 4.4))
    for place, name, rows in series_in_order(curves, "series"):
        rows = rows.sort_values("n_classes", kind="stable")
        axis.step(
            rows["n_classes"],
            rows["n_languages"],
            where="pre",
            marker="",
            label=name,
            **line_of(place),
        )
        for mark in marks:
            _mark_number(axis, rows, mark, place)
    for mark in marks:
        axis.axvline(mark, color="0.5", linestyle=":", linewidth=1, zorder=1)
    log_axis(axis, "x", CLASS_TICKS, list(map(str, CLASS_TICKS)))
    log_axis(axis, "y", LANGUAGE_TICKS)
    top = max(curves["n_languages"].max() * 1.6, 10)
    axis.set(xlim=(0.8, 1200), ylim=(0.8, top))
    axis.set(
        xlabel="with a label for at least so many classes (log scale)",
        ylabel="languages (log scale)",
    )
    axis.legend(loc="lower left")
    return with_data(axis, curves)


def by_classes(curves: pd.DataFrame, panel: str, series: str) -> np.ndarray:
    """Draw accuracy over the number of classes to choose from, panels side by side, a
    line with its band for each value of `series`, and guessing; the classes are log. On
    a phone panels stand one below the other.

    `curves`: the columns named by panel and series, n_classes, value, ci_low, ci_high
    (fractions). Returns the Axes of the panels.
    """
    panels = in_order(curves[panel])
    figure, axes = side_by_side(panels, 4.0)
    narrow, phone = below_one_another(panels, 0.6 + 2.6 * len(panels))
    for form, drawn in ((figure, axes), (narrow, phone)):
        for axis, title in zip(drawn, panels, strict=True):
            _draw_by_classes(axis, curves, curves[panel] == title, series)
            percent_axis(axis)
        drawn[0].set_ylabel("top-1 accuracy")
        columns = 3 if form is figure else 2
        legend_below(form, drawn[0], ncols=columns)
    axes[len(axes) // 2].set_xlabel("classes to choose from (log scale)", size=10.5)
    with_data(axes[0], curves)
    return with_forms(axes, Forms(phone), share="")


def _draw_by_classes(
    axis: Axes, curves: pd.DataFrame, of_panel: pd.Series, series: str
) -> None:
    """Draw the lines of one panel, each in the look that it has in all, and guessing."""
    most = int(curves["n_classes"].max())
    for place, name, _ in series_in_order(curves, series):
        rows = curves[of_panel & (curves[series] == name)]
        rows = rows.sort_values("n_classes", kind="stable")
        look = line_of(place)
        band(axis, rows, "n_classes", look["color"])
        axis.plot(rows["n_classes"], rows["value"], marker="", label=name, **look)
    guessing = np.arange(2, most + 1)
    look = {"color": "0.6", "linestyle": "-", "linewidth": 1}
    axis.plot(guessing, 1 / guessing, marker="", label="guessing", **look)
    log_axis(axis, "x", [tick for tick in CLASS_TICKS if 2 <= tick <= most])
    axis.set_ylim(0, 1.02)
