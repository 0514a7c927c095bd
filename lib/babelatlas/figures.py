"""One function per figure: a table in, Axes out; and the look that all of them share.

Colours are Okabe and Ito's, which stay apart for colour-blind readers, and every series also has its own marker or
line style, so that no figure relies on colour alone.
"""

import base64
import html
import io

import matplotlib.pyplot as plt
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
