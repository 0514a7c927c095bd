"""Lines over a number, with their bands: accuracy over classes or temperature, languages over a limit."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from babelatlas.report.figures.look import (
    MARKERS,
    in_order,
    line_of,
    log_axis,
    percent_axis,
    series_in_order,
    side_by_side,
    with_data,
)


def class_count_curves(points: pd.DataFrame, fits: pd.DataFrame) -> Axes:
    """Draw accuracy against the number of classes, one series for each value of `series`; the axis of classes is log.

    `points`: series, n_classes, value, ci_low, ci_high (fractions). `fits`: series, intercept, slope, where accuracy is
    intercept + slope x ln(n_classes); drawn as a line from the least to the most classes of the series.
    """
    _, axis = plt.subplots()
    for place, name, rows in series_in_order(points, "series"):
        line = line_of(place)
        spread = np.abs(rows[["ci_low", "ci_high"]].to_numpy().T - rows["value"].to_numpy())
        look = {"fmt": MARKERS[place % len(MARKERS)], "color": line["color"], "capsize": 3, "linestyle": ""}
        axis.errorbar(rows["n_classes"], rows["value"], spread, label=name, **look)
        for fit in fits[fits["series"] == name].itertuples():
            ends = np.array([rows["n_classes"].min(), rows["n_classes"].max()])
            axis.plot(ends, fit.intercept + fit.slope * np.log(ends), marker="", **line)
    ticks = sorted(points["n_classes"].unique())
    log_axis(axis, "x", ticks, list(map(str, ticks)))
    axis.set(ylim=(0, 1.02), xlabel="number of classes on offer (log scale)", ylabel="zero-shot accuracy")
    axis.legend(loc="upper left", bbox_to_anchor=(1, 1))
    with_data(axis, points)
    return percent_axis(axis)


def languages_above(curves: pd.DataFrame, total: int) -> Axes:
    """Draw how many languages reach at least an accuracy, one line for each value of `series`.

    `curves`: series, threshold (fraction), value, ci_low, ci_high (numbers of languages; the band), of `total` in all.
    """
    _, axis = plt.subplots(figsize=(7.2, 4.4))
    for place, name, rows in series_in_order(curves, "series"):
        line, band = line_of(place), {"alpha": 0.15, "linewidth": 0}
        axis.plot(rows["threshold"], rows["value"], marker="", label=name, **line)
        axis.fill_between(rows["threshold"], rows["ci_low"], rows["ci_high"], color=line["color"], **band)
    axis.axhline(total, color="0.4", linewidth=1, linestyle=":")
    right = curves["threshold"].max()
    axis.text(right, total, f"all {total} languages ", ha="right", va="bottom", color="0.3", size=10)
    axis.set(xlim=(0, right), ylim=(0, total * 1.08), xlabel="zero-shot accuracy of at least", ylabel="languages")
    axis.legend(loc="upper left", bbox_to_anchor=(1, 1))
    with_data(axis, curves)
    return percent_axis(axis, "x")


def at_least(curves: pd.DataFrame, marks: Sequence[int] = ()) -> Axes:
    """Draw how many languages have at least so many classes, a line for each value of `series`; both axes are log.

    `curves`: series, n_classes, n_languages, as `coverage.at_least` gives them. `marks` are numbers of classes at which
    a dotted line stands, with the number of languages of each series written next to it.
    """
    _, axis = plt.subplots(figsize=(7.2, 4.4))
    for place, name, rows in series_in_order(curves, "series"):
        line, colour = line_of(place), line_of(place)["color"]
        rows = rows.sort_values("n_classes")
        axis.step(rows["n_classes"], rows["n_languages"], where="pre", marker="", label=name, **line)
        for mark in marks:
            if not rows["n_classes"].min() <= mark <= rows["n_classes"].max():
                continue
            at = rows.loc[rows["n_classes"] >= mark, "n_languages"].max()
            axis.plot(mark, at, MARKERS[place % len(MARKERS)], color=colour, markersize=6)
            above = {"xytext": (6, 3), "ha": "left", "va": "bottom"}
            below = {"xytext": (-6, -4), "ha": "right", "va": "top"}
            text = above if place else below  # the first series is the lower one, as a rule
            axis.annotate(f"{at}", (mark, at), textcoords="offset points", size=9.5, color=colour, **text)
    for mark in marks:
        axis.axvline(mark, color="0.5", linestyle=":", linewidth=1, zorder=1)
    ticks = [1, 3, 10, 30, 100, 300, 1000]
    log_axis(axis, "x", ticks, list(map(str, ticks)))
    log_axis(axis, "y", ticks[:-1])
    axis.set(xlim=(0.8, 1200), ylim=(0.8, max(curves["n_languages"].max() * 1.6, 10)))
    axis.set(xlabel="with a label for at least so many classes (log scale)", ylabel="languages (log scale)")
    axis.legend(loc="lower left")
    with_data(axis, curves)
    return axis


def shares_at_least(curves: pd.DataFrame, xlabel: str, ylabel: str, mark: float | None = None) -> Axes:
    """Draw the share of cases with at least so many, with bands, a line for each value of `series`.

    `curves`: series, at_least, value, ci_low, ci_high (fractions). A dotted line stands at `mark`.
    """
    _, axis = plt.subplots(figsize=(7.2, 4.2))
    for place, name, rows in series_in_order(curves, "series"):
        line, band = line_of(place), {"alpha": 0.15, "linewidth": 0, "step": "pre"}
        axis.step(rows["at_least"], rows["value"], where="pre", marker="", label=name, **line)
        axis.fill_between(rows["at_least"], rows["ci_low"], rows["ci_high"], color=line["color"], **band)
    if mark is not None:
        axis.axvline(mark, color="0.4", linestyle=":", linewidth=1.2, zorder=1)
    axis.set(xlim=(0, curves["at_least"].max()), ylim=(0, 1.02), xlabel=xlabel, ylabel=ylabel)
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, fontsize=9.5)
    with_data(axis, curves)
    return percent_axis(axis)


def temperature_curves(table: pd.DataFrame, panel: str = "metric", series: str = "model") -> np.ndarray:
    """Draw scores over the temperature that logits are divided by, with bands, one panel for each value of `panel`.

    `table`: panel, series, temperature, value, ci_low, ci_high (fractions). A dotted line stands at temperature 1, the
    model as it is. Returns the Axes of the panels.
    """
    panels, names = in_order(table[panel]), in_order(table[series])
    figure, axes = side_by_side(panels, 3.9)
    for axis, title in zip(axes, panels, strict=True):
        axis.axvline(1, color="0.35", linestyle=":", linewidth=1.2, zorder=1)
        for place, name in enumerate(names):
            rows = table[(table[panel] == title) & (table[series] == name)].sort_values("temperature")
            look, band = line_of(place), {"alpha": 0.12, "linewidth": 0}
            axis.fill_between(rows["temperature"], rows["ci_low"], rows["ci_high"], color=look["color"], **band)
            look |= {"marker": MARKERS[place % len(MARKERS)], "markersize": 4.5}
            axis.plot(rows["temperature"], rows["value"], label=name, **look)
        percent_axis(axis).set_xlabel("temperature", size=10)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9)
    with_data(axes, table)
    return axes


def training_curves(table: pd.DataFrame, panel: str, series: str) -> np.ndarray:
    """Draw losses over the steps of a training, one panel for each value of `panel`; return the Axes of the panels.

    `table`: panel, series, step, value (a loss, on an axis of its own in each panel, which is log).
    """
    panels = in_order(table[panel])
    _, axes = plt.subplots(len(panels), 1, figsize=(7.2, 2.9 * len(panels)), squeeze=False, layout="constrained")
    for axis, title in zip(axes[:, 0], panels, strict=True):
        part = table[table[panel] == title]
        for place, name, rows in series_in_order(part, series):
            axis.plot(rows["step"], rows["value"], label=name, linewidth=1.3, marker="", **line_of(place))
        axis.set(yscale="log", xlabel="step", ylabel="loss")
        axis.set_title(title, size=10.5)
        axis.legend(fontsize=9)
    with_data(axes, table)
    return axes[:, 0]


def steps_over_time(table: pd.DataFrame, panel: str, series: str, ylabel: str, bold: Sequence[str] = ()) -> np.ndarray:
    """Draw values that change at dates as steps, one panel below the other, a line for each value of `series`.

    `table`: panel, series, date, value, ci_low, ci_high (fractions; the band, NaN where there is none). Each line ends
    at the last date of its panel and carries its name there, moved apart from the others; those in `bold` are thicker.
    A dotted line stands at 0 where it is in view. Returns the Axes of the panels.
    """
    panels, names = in_order(table[panel]), in_order(table[series])
    shared = {"sharex": True, "squeeze": False, "layout": "constrained"}
    _, axes = plt.subplots(len(panels), 1, figsize=(7.2, 0.5 + 3.1 * len(panels)), **shared)
    low = min(table["ci_low"].min(), table["value"].min(), 0)
    top = max(table["ci_high"].max(), table["value"].max())
    bottom, top = low - 0.03 * (top - low), top + 0.03 * (top - low)
    for axis, title in zip(axes[:, 0], panels, strict=True):
        rows = table[table[panel] == title]
        end, last = rows["date"].max(), {}
        for name in (name for name in names if name in set(rows[series])):
            place = names.index(name)
            part = rows[rows[series] == name].sort_values("date")
            part = pd.concat([part, part.tail(1).assign(date=end)])
            look, band = line_of(place), {"alpha": 0.13, "linewidth": 0, "step": "post"}
            axis.fill_between(part["date"], part["ci_low"], part["ci_high"], color=look["color"], **band)
            look |= {"marker": MARKERS[place % len(MARKERS)], "markersize": 4.5, "linewidth": 1.2 + (name in bold)}
            axis.plot(part["date"], part["value"], drawstyle="steps-post", **look)
            last[name] = part["value"].iloc[-1]
        least, at = 0.075 * (top - bottom), -np.inf
        for name in sorted(last, key=last.get):
            at = max(last[name], at + least)
            look = {"color": line_of(names.index(name))["color"], "weight": "bold" if name in bold else "normal"}
            right = {"xytext": (7, 0), "textcoords": "offset points", "va": "center", "size": 10.5}
            axis.annotate(f"{name} {100 * last[name]:.0f}", (end, at), annotation_clip=False, **right, **look)
        if bottom < 0 < top:
            axis.axhline(0, color="0.4", linewidth=1, linestyle=":", zorder=1, marker="")
        axis.set_title(title, size=11, loc="left")
        axis.set(ylim=(bottom, top), ylabel=ylabel)
        percent_axis(axis).tick_params(labelbottom=True)
    with_data(axes, table)
    return axes[:, 0]
