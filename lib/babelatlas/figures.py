"""One function per figure: a table in, Axes out; and the look that all of them share.

Colours are Okabe and Ito's, which stay apart for colour-blind readers, and every series also has its own marker or
line style, so that no figure relies on colour alone.
"""

import base64
import html
import io

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from cycler import cycler
from IPython.display import HTML
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Okabe and Ito (2008), "Color Universal Design"; black and yellow left out: too strong and too weak on white.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#4D4D4D"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
LINES = ["-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1))]
SEQUENTIAL = "viridis"


def style() -> None:
    """Set the look of the study's figures for this process."""
    sns.set_theme(
        context="notebook",
        style="whitegrid",
        palette=COLOURS,
        rc={
            "axes.prop_cycle": cycler(color=COLOURS, marker=MARKERS, linestyle=LINES),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "figure.dpi": 100,
            "figure.figsize": (7.2, 4.2),
            "font.family": "DejaVu Sans",
            "image.cmap": SEQUENTIAL,
            "legend.frameon": False,
            "savefig.bbox": "tight",
            "svg.hashsalt": "babelatlas",
        },
    )


def show(figure: Figure | Axes, caption: str, alt: str, dpi: int = 150) -> HTML:
    """Return `figure` as HTML with a caption and a text for readers who cannot see it, and close it.

    `caption` says what to see, the n and the interval (HTML allowed: <b>, <i>); `alt` says in a sentence what is drawn.
    """
    figure = figure.figure if isinstance(figure, Axes) else figure
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi, metadata={"Software": None})
    plt.close(figure)
    data = base64.b64encode(buffer.getvalue()).decode()
    return HTML(
        f'<figure class="atlas-figure"><img src="data:image/png;base64,{data}" alt="{html.escape(alt, quote=True)}">'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def percent_axis(axis: Axes, which: str = "y") -> Axes:
    """Label the ticks of an axis that holds fractions as percent; return the Axes."""
    from matplotlib.ticker import PercentFormatter

    for letter in which:
        getattr(axis, f"{letter}axis").set_major_formatter(PercentFormatter(xmax=1, decimals=0))
    return axis


def columns(count: int, most: int = 3) -> tuple[int, int]:
    """Return rows and columns of a grid of `count` panels with at most `most` in a row."""
    across = min(count, most)
    return -(-count // across), across


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

    `curves`: series, threshold (fraction), value, ci_low, ci_high (numbers of languages), `total` languages in all.
    The name of a series stands at the end of its line; the band is its interval.
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
