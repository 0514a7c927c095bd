"""The look that all figures share: colours, markers, axes in percent, and how a page
shows a figure.

Colours are Okabe and Ito's, which stay apart for colour-blind readers, and every series
also has its own marker or line style, so that no figure relies on colour alone.
"""

import base64
import html
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from cycler import cycler
from IPython.display import HTML
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from PIL.Image import Image

from babelatlas.base import languages
from babelatlas.report.figures import svg
from babelatlas.report.figures.theme import OWN, WHITE_GRID
from babelatlas.report.formatting import counted, safe

# Okabe and Ito (2008), "Color Universal Design"; black and yellow left out: too strong
# and too weak on white.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#4D4D4D"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
LINES = ["-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1))]
SEQUENTIAL = "viridis"
# The groups of languages in their order, each with a colour and a marker of its own.
GROUPS = [*languages.GROUPS, "English", "other", "not in the paper"]
PHONE_WIDTH = 3.75  # inches of a figure on a phone
MOST_TICKS_ON_PHONE = 6  # with a label, of an x axis
PHONE = "(max-width: 600px)"  # where the page shows it
MANY = 600  # points; from there on they are a picture within the SVG
# What columns are called in the tables that readers download; others lose their
# underscores.
READABLE = {
    "ci_low": "interval low",
    "ci_high": "interval high",
    "lang": "language",
    "name": "language",
    "n": "languages",
    "n_classes": "classes",
    "n_languages": "languages",
}


def look_of(name: str, place: int) -> tuple[str, str]:
    """Return colour and marker of a series: a group of languages' own, in every figure;
    else those of its place.
    """
    place = GROUPS.index(name) if name in GROUPS else place
    # One more step for each round of the colours, so that no two series share both.
    return (
        COLOURS[place % len(COLOURS)],
        MARKERS[(place + place // len(COLOURS)) % len(MARKERS)],
    )


def in_order(names: Iterable[str]) -> list[str]:
    """Return names once each, in the order given, but resource groups always from "very
    low" to "high", then English.

    >>> in_order(["all", "high", "English", "low", "high"])
    ['all', 'low', 'high', 'English']
    """
    given, order = list(dict.fromkeys(names)), [*languages.GROUPS, "English"]
    if not set(given) & set(languages.GROUPS):
        return given
    standing = iter(sorted(set(given) & set(order), key=order.index))
    return [next(standing) if name in order else name for name in given]


def series_in_order(
    table: pd.DataFrame, column: str
) -> Iterator[tuple[int, str, pd.DataFrame]]:
    """Yield the series of a table, by a column, as `in_order`: place, name and rows of
    each.
    """
    for place, name in enumerate(in_order(table[column])):
        yield place, name, table[table[column] == name]


def line_of(place: int) -> dict:
    """Return colour and line style of the series at a place, as `Axes.plot` takes them."""
    return {
        "color": COLOURS[place % len(COLOURS)],
        "linestyle": LINES[place % len(LINES)],
    }


def side_by_side(
    titles: Sequence[str], height: float, width: float = 7.2, registered: bool = True
) -> tuple[Figure, np.ndarray]:
    """Return a figure of panels side by side that share their axes, and its Axes, each
    with its title.

    `registered`: whether pyplot knows the figure. A further form of another one
    (`Forms`) need not be closed, and shares the x axes of that one.
    """
    look = {"figsize": (width, height), "layout": "constrained"}
    figure = plt.figure(**look) if registered else Figure(**look)
    axes = figure.subplots(
        1, len(titles), sharex=registered, sharey=True, squeeze=False
    )
    for axis, title in zip(axes[0], titles, strict=True):
        axis.set_title(title, size=10.5)
        axis.tick_params(labelsize=9.5)
    return figure, axes[0]


def below_one_another(
    titles: Sequence[str], height: float, heights: Sequence[float] | None = None
) -> tuple[Figure, np.ndarray]:
    """Return a figure for a phone, with panels one below the other, and its Axes, each
    with its title; `heights`: of the panels, relative to one another.
    """
    figure = Figure(figsize=(PHONE_WIDTH, height), layout="constrained")
    axes = figure.subplots(
        len(titles), 1, squeeze=False, gridspec_kw={"height_ratios": heights}
    )[:, 0]
    for axis, title in zip(axes, titles, strict=True):
        axis.set_title(title, size=10.5)
        axis.tick_params(labelsize=9)
    return figure, axes


def log_axis(
    axis: Axes, which: str, ticks: Sequence[float], texts: Sequence[str] | None = None
) -> None:
    """Make an axis ("x" or "y") logarithmic, with these ticks only; `texts`: what they
    say, unless the numbers.
    """
    getattr(axis, f"set_{which}scale")("log")
    getattr(axis, f"set_{which}ticks")(ticks, texts or [f"{tick:,g}" for tick in ticks])
    getattr(axis, f"{which}axis").minorticks_off()


def style() -> None:
    """Set the look of the study's figures for this process."""
    cycle = cycler(color=COLOURS, marker=MARKERS, linestyle=LINES)
    ours = OWN | {"axes.prop_cycle": cycle, "image.cmap": SEQUENTIAL}
    plt.rcParams.update(WHITE_GRID | ours)


def with_data(
    drawn: Axes | np.ndarray, data: pd.DataFrame, **names: str
) -> Axes | np.ndarray:
    """Give the figure of some Axes the table that it draws, which `show` offers as CSV;
    return the Axes.

    Columns get names as a reader writes them: those in `names`, else as in READABLE,
    else without underscores. Where two columns would get one name, the later one keeps
    its own.
    """
    readable, taken = {}, set(data.columns)
    for column in data.columns:
        name = (READABLE | names).get(column, str(column).replace("_", " "))
        readable[column] = name if name not in taken else column
        taken.add(readable[column])
    np.ravel(drawn)[0].figure.atlas_data = data.rename(columns=readable)
    return drawn


class Forms(NamedTuple):
    """Further forms of a figure, the Axes of each: on a phone, where panels stand one
    below the other; the rows that the page folds, in both forms; how many these are.
    """

    phone: np.ndarray
    rest: np.ndarray | None = None
    rest_on_phone: np.ndarray | None = None
    n_rest: int = 0


def with_forms(
    axes: Axes | np.ndarray, forms: Forms, share: str = "x"
) -> Axes | np.ndarray:
    """Give the figure of some Axes further forms, which `show` shows; return the Axes.

    Limits, scales and ticks of the axes `share` ("x", "xy" or "") are shared from here
    on, panel by panel; what the x axes say is written onto all forms when the figure is
    shown.
    """
    for drawn in (forms.phone, forms.rest, forms.rest_on_phone):
        if drawn is None:
            continue
        for axis, of_figure in zip(drawn, np.ravel(axes), strict=True):
            if "x" in share:
                axis.sharex(of_figure)
            if "y" in share:
                axis.sharey(of_figure)
    np.ravel(axes)[0].figure.atlas_forms = forms
    return axes


def show(
    figure: Figure | Axes | Image,
    caption: str,
    alt: str,
    data: pd.DataFrame | None = None,
    points: pd.DataFrame | None = None,
    chart: dict | None = None,
) -> HTML:
    """Return `figure` as HTML with a caption and a text for readers who cannot see it,
    and close it.

    `caption` says what to see, the n and the interval (HTML allowed: <b>, <i>); `alt`
    says the message in a sentence. `data`: the table that is drawn, offered as CSV next
    to the figure; figures of this package bring their own. `points`: x, y (in the units
    of the axes) and text of what answers to the pointer, for an Axes. `chart`: the same
    as data that the browser draws and that one explores (`figures.chart`); the picture
    is there without JavaScript and in print. A figure is shown as SVG, large clouds of
    points in it as pictures; a picture, such as a sheet of drawings, as WebP.
    """
    answers = "" if points is None else _answers(figure, points)
    figure = figure.figure if isinstance(figure, Axes) else figure
    alt, caption = html.escape(alt, quote=True), safe(caption)
    rest = ""
    if isinstance(figure, Image):
        picture = _img(_webp(figure), alt)
    else:
        data = getattr(figure, "atlas_data", None) if data is None else data
        picture, rest = _pictures(figure, alt)
        plt.close(figure)
    name = re.sub(
        r"[^a-z0-9]+", "-", html.unescape(re.sub("<[^>]*>", "", caption)).lower()
    )[:60].strip("-")
    links = ""
    if data is not None:
        table = data.to_csv(index=False, float_format="%.6g").encode()
        links = (
            f'<a download="{name or "figure"}.csv"'
            f' href="{_address(table, "text/csv")}">CSV</a>'
        )
    return HTML(
        f'<figure class="atlas-figure">{_frame(answers + picture)}{_script(chart)}{rest}'
        f'<figcaption>{caption}</figcaption><p class="atlas-links">{links}</p></figure>'
    )


class _Picture(NamedTuple):
    """A picture as an address that holds it, and its size in pixels of CSS."""

    address: str
    width: int
    height: int


def _webp(picture: Image) -> _Picture:
    """Return a picture as WebP."""
    content = io.BytesIO()
    picture.save(content, format="webp", quality=85)
    return _Picture(_address(content.getvalue(), "image/webp"), *picture.size)


def _svg(figure: Figure) -> _Picture:
    """Return a figure as SVG, in which large clouds of points are pictures."""
    for points in figure.findobj(Collection):
        points.set_rasterized(len(points.get_offsets()) > MANY)
    content = io.BytesIO()
    metadata = {"Date": None, "Creator": None}
    figure.savefig(content, format="svg", dpi=150, metadata=metadata)
    text = svg.shortened(content.getvalue().decode())
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text).groups()
    width, height = (round(float(side) * 96 / 72) for side in size)
    return _Picture(_address(text.encode(), "image/svg+xml"), width, height)


def _pictures(figure: Figure, alt: str) -> tuple[str, str]:
    """Return the HTML of a figure in all its forms: what is in sight, and what folds."""
    forms = getattr(figure, "atlas_forms", None)
    if forms is None:
        return _img(_svg(figure), alt), ""
    shown = _in_two_widths(figure, forms.phone[0].figure, figure, alt)
    if forms.rest is None:
        return shown, ""
    rest = _in_two_widths(
        forms.rest[0].figure, forms.rest_on_phone[0].figure, figure, f"{alt} The rest."
    )
    summary = f"Show the other {counted(forms.n_rest, 'row')}"
    return shown, (
        f'<details class="atlas-details"><summary>{summary}</summary>'
        f"{_frame(rest)}</details>"
    )


def _in_two_widths(figure: Figure, phone: Figure, original: Figure, alt: str) -> str:
    """Return the HTML of a picture in the form for a wide screen and for a phone, which
    say what the axes of the `original` say.
    """
    for form in {figure, phone} - {original}:
        _write_on(form, original)
    for axis in phone.axes:
        _thin_out_labels(axis)
    narrow = _svg(phone)
    return (
        f'<picture><source media="{PHONE}" srcset="{narrow.address}"'
        f' width="{narrow.width}" height="{narrow.height}">'
        f"{_img(_svg(figure), alt)}</picture>"
    )


def _thin_out_labels(axis: Axes) -> None:
    """Hide every second label of the x axis where a phone has no room for all."""
    low, high = sorted(axis.get_xlim())
    ticks = axis.get_xticks()
    if ((low <= ticks) & (ticks <= high)).sum() <= MOST_TICKS_ON_PHONE:
        return
    for tick in axis.xaxis.get_major_ticks()[1::2]:
        tick.label1.set_visible(False)
        tick.label2.set_visible(False)


def _write_on(form: Figure, original: Figure) -> None:
    """Write titles and labels of the x axes of a figure onto another form of it; a label
    of all panels stands next to the ticks of the first or the last, as ticks do.
    """
    labels = [axis.get_xlabel() for axis in original.axes]
    for axis, of_figure in zip(form.axes, original.axes, strict=True):
        axis.set_title(of_figure.get_title(), size=10.5)
        axis.set_xlabel(of_figure.get_xlabel(), size=10)
    shared = original.get_supxlabel()
    if sum(map(bool, labels)) == 1 and len(labels) > 1:
        shared = max(labels, key=len)
    if shared:
        at_top = form.axes[0].xaxis.get_label_position() == "top"
        for axis in form.axes:
            axis.set_xlabel("")
        form.axes[0 if at_top else -1].set_xlabel(shared, size=10)


def _img(picture: _Picture, alt: str) -> str:
    """Return the HTML of a picture; `alt`: escaped."""
    return (
        f'<img src="{picture.address}" alt="{alt}" loading="lazy"'
        f' width="{picture.width}" height="{picture.height}">'
    )


def _frame(content: str) -> str:
    """Return the HTML of the frame in which a picture scrolls."""
    return (
        '<div class="atlas-frame" tabindex="0" role="group" aria-label="Figure">'
        f"{content}</div>"
    )


def _script(chart: dict | None) -> str:
    """Return a chart as JSON that `_static/atlas-charts.js` draws; "" for none."""
    if chart is None:
        return ""
    # Nothing in a name may end the element.
    text = json.dumps(chart, ensure_ascii=False, allow_nan=False).replace(
        "<", "\\u003c"
    )
    return f'<script type="application/json" class="atlas-chart">{text}</script>'


def _answers(axis: Axes, points: pd.DataFrame) -> str:
    """Return places over a figure, in percent of its size, that show their text when
    the pointer is there; those with a link open it.
    """
    axis.figure.draw_without_rendering()
    box, places = (
        axis.figure.get_tightbbox().padded(0.1),
        axis.transData.transform(points[["x", "y"]]),
    )  # as savefig
    left, top = (places / axis.figure.dpi - [box.x0, box.y1]).T * [
        [100 / box.width],
        [-100 / box.height],
    ]
    links = points["link"] if "link" in points else [""] * len(points)
    spans = [
        _answer(f"left:{x:.1f}%;top:{y:.1f}%", text, link)
        for x, y, text, link in zip(left, top, points["text"], links, strict=True)
    ]
    return f'<div class="atlas-points" aria-hidden="true">{"".join(spans)}</div>'


def _answer(style: str, text: str, link: str) -> str:
    """Return a place that shows its text, and opens its link where it has one."""
    shown = f'style="{style}" title="{html.escape(text, quote=True)}"'
    if not link:
        return f"<span {shown}></span>"
    return f'<a tabindex="-1" href="{html.escape(link, quote=True)}" {shown}></a>'


def _address(content: bytes, kind: str) -> str:
    """Return content as an address that holds it; the book makes a file of it."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def legend_below(figure: Figure, axis: Axes, **look) -> None:
    """Put the legend of an axis below all panels of its figure, or elsewhere; `look`:
    as of `Figure.legend`.
    """
    look = {"loc": "outside lower center", "ncols": 3, "fontsize": 9.5} | look
    figure.legend(*axis.get_legend_handles_labels(), **look)


def band(axis: Axes, rows: pd.DataFrame, x: str, colour: str, **look) -> None:
    """Shade the intervals of rows, `ci_low` to `ci_high`, over the numbers in column
    `x`.
    """
    axis.fill_between(
        rows[x],
        rows["ci_low"],
        rows["ci_high"],
        **({"color": colour, "alpha": 0.15, "lw": 0} | look),
    )


def percent_axis(axis: Axes, which: str = "y") -> Axes:
    """Label the ticks of an axis that holds fractions as percent; return the Axes."""
    for letter in which:
        getattr(axis, f"{letter}axis").set_major_formatter(
            PercentTicks(xmax=1, decimals=0)
        )
    return axis


class PercentTicks(PercentFormatter):
    """Labels of ticks in percent, with as many decimals as their values need: no two
    read alike.
    """

    def set_locs(self, locs) -> None:
        """Take the places of the ticks, as fractions, and choose the decimals."""
        super().set_locs(locs)
        percent = 100 * np.asarray(locs, float)
        enough = (
            number
            for number in range(3)
            if np.allclose(percent, percent.round(number), atol=1e-6)
        )
        self.decimals = next(enough, 3)
