"""Lines over a number, with their bands: accuracy over classes or temperature, languages over a limit."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from babelatlas.report.figures.look import COLOURS, LINES, MARKERS, percent_axis


def class_count_curves(points: pd.DataFrame, fits: pd.DataFrame) -> Axes:
    """Draw accuracy against the number of classes, one series for each value of `series`; the axis of classes is log.

    `points`: series, n_classes, value, ci_low, ci_high (fractions). `fits`: series, intercept, slope, where accuracy is
    intercept + slope x ln(n_classes); drawn as a line from the least to the most classes of the series.
    """
    _, axis = plt.subplots()
    for place, (name, rows) in enumerate(points.groupby("series", sort=False)):
        colour, marker = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
        spread = np.abs(rows[["ci_low", "ci_high"]].to_numpy().T - rows["value"].to_numpy())
        axis.errorbar(
            rows["n_classes"], rows["value"], spread, fmt=marker, color=colour, capsize=3, linestyle="", label=name
        )
        for fit in fits[fits["series"] == name].itertuples():
            ends = np.array([rows["n_classes"].min(), rows["n_classes"].max()])
            axis.plot(
                ends,
                fit.intercept + fit.slope * np.log(ends),
                color=colour,
                linestyle=LINES[place % len(LINES)],
                marker="",
            )
    ticks = sorted(points["n_classes"].unique())
    axis.set_xscale("log")
    axis.set_xticks(ticks, [str(tick) for tick in ticks])
    axis.minorticks_off()
    axis.set_xlabel("number of classes on offer (log scale)")
    axis.set_ylabel("zero-shot accuracy")
    axis.set_ylim(0, 1.02)
    axis.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return percent_axis(axis)


def languages_above(curves: pd.DataFrame, total: int) -> Axes:
    """Draw how many languages reach at least an accuracy, one line for each value of `series`.

    `curves`: series, threshold (fraction), value, ci_low, ci_high (numbers of languages; the band), of `total` in all.
    """
    _, axis = plt.subplots(figsize=(7.2, 4.4))
    for place, (name, rows) in enumerate(curves.groupby("series", sort=False)):
        colour, line = COLOURS[place % len(COLOURS)], LINES[place % len(LINES)]
        axis.plot(rows["threshold"], rows["value"], color=colour, linestyle=line, marker="", label=name)
        axis.fill_between(rows["threshold"], rows["ci_low"], rows["ci_high"], color=colour, alpha=0.15, linewidth=0)
    axis.axhline(total, color="0.4", linewidth=1, linestyle=":")
    axis.text(
        curves["threshold"].max(), total, f"all {total} languages ", ha="right", va="bottom", color="0.3", size=10
    )
    axis.set_ylim(0, total * 1.08)
    axis.set_xlim(0, curves["threshold"].max())
    axis.set_xlabel("zero-shot accuracy of at least")
    axis.set_ylabel("languages")
    axis.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return percent_axis(axis, "x")


def at_least(curves: pd.DataFrame, marks: Sequence[int] = ()) -> Axes:
    """Draw how many languages have at least so many classes, a line for each value of `series`; both axes are log.

    `curves`: series, n_classes, n_languages, as `coverage.at_least` gives them. `marks` are numbers of classes at which
    a dotted line stands, with the number of languages of each series written beside it.
    """
    _, axis = plt.subplots(figsize=(7.2, 4.4))
    top = curves["n_languages"].max() * 1.6
    for place, (name, rows) in enumerate(curves.groupby("series", sort=False)):
        colour, line = COLOURS[place % len(COLOURS)], LINES[place % len(LINES)]
        rows = rows.sort_values("n_classes")
        axis.step(
            rows["n_classes"], rows["n_languages"], where="pre", color=colour, linestyle=line, marker="", label=name
        )
        for mark in marks:
            if mark < rows["n_classes"].min() or mark > rows["n_classes"].max():
                continue
            at = rows.loc[rows["n_classes"] >= mark, "n_languages"].max()
            axis.plot(mark, at, MARKERS[place % len(MARKERS)], color=colour, markersize=6)
            above = {"xytext": (6, 3), "ha": "left", "va": "bottom"}
            below = {"xytext": (-6, -4), "ha": "right", "va": "top"}
            text = above if place else below  # the first series is the lower one, as a rule
            axis.annotate(f"{at}", (mark, at), textcoords="offset points", size=9.5, color=colour, **text)
    for mark in marks:
        axis.axvline(mark, color="0.5", linestyle=":", linewidth=1, zorder=1)
    axis.set_xscale("log")
    axis.set_yscale("log")
    ticks = [1, 3, 10, 30, 100, 300, 1000]
    axis.set_xticks(ticks, [str(tick) for tick in ticks])
    axis.set_yticks(ticks[:-1], [str(tick) for tick in ticks[:-1]])
    axis.minorticks_off()
    axis.set_xlim(0.8, 1200)
    axis.set_ylim(0.8, max(top, 10))
    axis.set_xlabel("with a label for at least so many classes (log scale)")
    axis.set_ylabel("languages (log scale)")
    axis.legend(loc="lower left")
    return axis


def temperature_curves(table: pd.DataFrame, panel: str = "metric", series: str = "model") -> np.ndarray:
    """Draw scores over the temperature that logits are divided by, with bands, one panel for each value of `panel`.

    `table`: panel, series, temperature, value, ci_low, ci_high (fractions). A dotted line stands at temperature 1, the
    model as it is. Returns the Axes of the panels.
    """
    panels, names = list(dict.fromkeys(table[panel])), list(dict.fromkeys(table[series]))
    figure, axes = plt.subplots(
        1, len(panels), figsize=(7.2, 3.9), sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    for axis, title in zip(axes[0], panels, strict=True):
        axis.axvline(1, color="0.35", linestyle=":", linewidth=1.2, zorder=1)
        for place, name in enumerate(names):
            rows = table[(table[panel] == title) & (table[series] == name)].sort_values("temperature")
            look = {"color": COLOURS[place % len(COLOURS)], "linestyle": LINES[place % len(LINES)]}
            axis.fill_between(
                rows["temperature"], rows["ci_low"], rows["ci_high"], color=look["color"], alpha=0.12, linewidth=0
            )
            marker = MARKERS[place % len(MARKERS)]
            axis.plot(rows["temperature"], rows["value"], marker=marker, markersize=4.5, label=name, **look)
        axis.set_title(title, size=10.5)
        axis.set_xlabel("temperature", size=10)
        axis.tick_params(labelsize=9.5)
        percent_axis(axis)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9)
    return axes[0]


def training_curves(table: pd.DataFrame, panel: str, series: str) -> np.ndarray:
    """Draw losses over the steps of a training, one panel for each value of `panel`; return the Axes of the panels.

    `table`: panel, series, step, value (a loss, on an axis of its own in each panel, which is log).
    """
    panels = list(dict.fromkeys(table[panel]))
    _, axes = plt.subplots(len(panels), 1, figsize=(7.2, 2.9 * len(panels)), squeeze=False, layout="constrained")
    for axis, title in zip(axes[:, 0], panels, strict=True):
        for place, (name, rows) in enumerate(table[table[panel] == title].groupby(series, sort=False)):
            look = {"color": COLOURS[place % len(COLOURS)], "linestyle": LINES[place % len(LINES)], "marker": ""}
            axis.plot(rows["step"], rows["value"], label=name, linewidth=1.3, **look)
        axis.set(yscale="log", xlabel="step", ylabel="loss")
        axis.set_title(title, size=10.5)
        axis.legend(fontsize=9)
    return axes[:, 0]
