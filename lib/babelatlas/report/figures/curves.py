"""Lines over a number, with their bands: accuracy over classes or temperature,
languages over a limit.
"""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from babelatlas.report.figures.look import (
    MARKERS,
    band,
    line_of,
    log_axis,
    percent_axis,
    series_in_order,
    with_data,
)


def languages_above(curves: pd.DataFrame, total: int) -> Axes:
    """Draw how many languages reach at least an accuracy, one line for each value of
    `series`.

    `curves`: series, threshold (fraction), value, ci_low, ci_high (numbers of
    languages; the band), of `total` in all.
    """
    _, axis = plt.subplots(figsize=(7.2, 4.4))
    for place, name, rows in series_in_order(curves, "series"):
        axis.plot(
            rows["threshold"], rows["value"], marker="", label=name, **line_of(place)
        )
        band(axis, rows, "threshold", line_of(place)["color"])
    axis.axhline(total, color="0.4", linewidth=1, linestyle=":")
    right = curves["threshold"].max()
    axis.text(
        right,
        total,
        f"all {total} languages ",
        ha="right",
        va="bottom",
        color="0.3",
        size=10,
    )
    axis.set(
        xlim=(0, right),
        ylim=(0, total * 1.08),
        xlabel="zero-shot accuracy of at least",
        ylabel="languages",
    )
    axis.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return with_data(percent_axis(axis, "x"), curves)


def at_least(curves: pd.DataFrame, marks: Sequence[int] = ()) -> Axes:
    """Draw how many languages have at least so many classes, a line for each value of
    `series`; both axes are log.

    `curves`: series, n_classes, n_languages, as `coverage.at_least` gives them. `marks`
    are numbers of classes at which a dotted line stands, with the number of languages
    of each series written next to it.
    """
    _, axis = plt.subplots(figsize=(7.2, 4.4))
    for place, name, rows in series_in_order(curves, "series"):
        rows, line = rows.sort_values("n_classes", kind="stable"), line_of(place)
        axis.step(
            rows["n_classes"],
            rows["n_languages"],
            where="pre",
            marker="",
            label=name,
            **line,
        )
        for mark in marks:
            if rows["n_classes"].min() <= mark <= rows["n_classes"].max():
                n = rows.loc[rows["n_classes"] >= mark, "n_languages"].max()
                axis.plot(
                    mark,
                    n,
                    MARKERS[place % len(MARKERS)],
                    color=line["color"],
                    markersize=6,
                )
                above = {"xytext": (6, 3), "ha": "left", "va": "bottom"}
                below = {"xytext": (-6, -4), "ha": "right", "va": "top"}
                look = {
                    "textcoords": "offset points",
                    "size": 9.5,
                    "color": line["color"],
                }
                axis.annotate(f"{n}", (mark, n), **look, **(above if place else below))
    for mark in marks:
        axis.axvline(mark, color="0.5", linestyle=":", linewidth=1, zorder=1)
    ticks = [1, 3, 10, 30, 100, 300, 1000]
    log_axis(axis, "x", ticks, list(map(str, ticks)))
    log_axis(axis, "y", ticks[:-1])
    axis.set(xlim=(0.8, 1200), ylim=(0.8, max(curves["n_languages"].max() * 1.6, 10)))
    axis.set(
        xlabel="with a label for at least so many classes (log scale)",
        ylabel="languages (log scale)",
    )
    axis.legend(loc="lower left")
    return with_data(axis, curves)
