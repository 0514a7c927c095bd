"""Lines over a number, such as how many languages have at least so many classes."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from babelatlas.report.figures.look import (
    MARKERS,
    band,
    in_order,
    line_of,
    log_axis,
    percent_axis,
    series_in_order,
    with_data,
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


def steps_over_time(
    table: pd.DataFrame, panel: str, series: str, ylabel: str, bold: Sequence[str] = ()
) -> np.ndarray:
    """Draw values that change at dates as steps, one panel below the other, a line for
    each value of `series`.

    `table`: panel, series, date, value, ci_low, ci_high (fractions; the band, NaN where
    there is none). Each line ends at the last date of its panel and carries its name
    there, moved apart from the others; those in `bold` are thicker. Each panel has its
    own years. A dotted line stands at 0. Returns the Axes of the panels.
    """
    panels, names = in_order(table[panel]), in_order(table[series])
    _, axes = plt.subplots(
        len(panels),
        1,
        figsize=(7.2, 0.5 + 3.1 * len(panels)),
        squeeze=False,
        layout="constrained",
    )
    low = min(table["ci_low"].min(), table["value"].min(), 0)
    top = max(table["ci_high"].max(), table["value"].max())
    bottom, top = low - 0.03 * (top - low), top + 0.03 * (top - low)
    for axis, title in zip(axes[:, 0], panels, strict=True):
        rows = table[table[panel] == title]
        end, last = rows["date"].max(), {}
        for place, name in enumerate(names):
            part = rows[rows[series] == name].sort_values("date", kind="stable")
            if part.empty:
                continue
            part = pd.concat([part, part.tail(1).assign(date=end)])
            look = line_of(place) | {
                "marker": MARKERS[place % len(MARKERS)],
                "markersize": 4.5,
            }
            band(axis, part, "date", look["color"], step="post")
            axis.plot(
                part["date"],
                part["value"],
                drawstyle="steps-post",
                lw=1.2 + (name in bold),
                **look,
            )
            last[name] = part["value"].iloc[-1]
        height = -np.inf
        for name in sorted(last, key=last.get):
            height = max(last[name], height + 0.075 * (top - bottom))
            look = {
                "color": line_of(names.index(name))["color"],
                "weight": "bold" if name in bold else "normal",
            }
            look |= {
                "xytext": (7, 0),
                "textcoords": "offset points",
                "va": "center",
                "size": 10.5,
            }
            axis.annotate(
                f"{name} {100 * last[name]:.0f}",
                (end, height),
                annotation_clip=False,
                **look,
            )
        axis.axhline(0, color="0.4", linewidth=1, linestyle=":", zorder=1, marker="")
        years = pd.date_range(rows["date"].min(), end, freq="YS")
        axis.set_xticks(years, years.year)
        axis.set_title(title, size=11, loc="left")
        axis.set(ylim=(bottom, top), ylabel=ylabel)
        percent_axis(axis)
    return with_data(axes[:, 0], table)
