"""A figure for a phone: its panels in one column, as wide as the screen, with text that can be read there."""

import textwrap
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.legend import Legend
from matplotlib.ticker import FixedLocator

WIDTH = 3.9  # inches; with text of 9 points that is what a screen of 390 pixels shows
LARGEST = 9.5  # points, of numbers and names
LETTER = 0.56  # of the size of a letter: its mean width
LINE = 0.17  # inches from one line of names to the next
NAME, SMALL = 29, 8.5  # letters of a name in one line, and the points of longer ones


def narrow(figure: Figure) -> Figure:
    """Rearrange a figure for a phone, in place; return it.

    Panels side by side come to stand below one another, with their own numbers and names, unless the figure has
    `atlas_row`: where each row of panels is one row of a table, of which those in `atlas_row` are left out. Legends
    come to stand below, long titles in lines.
    """
    before = figure.get_size_inches()
    figure.draw_without_rendering()
    _leave_out(figure, getattr(figure, "atlas_row", []))
    panels = [axis for axis in figure.axes if axis.get_subplotspec() is not None and axis.get_visible()]
    tall = {axis: axis.get_position().height * before[1] for axis in panels}
    figure.set_layout_engine(ConstrainedLayoutEngine(h_pad=0.06, w_pad=0.04))
    column = not hasattr(figure, "atlas_row")
    if column and any(axis.get_subplotspec().get_gridspec().ncols > 1 for axis in panels):
        _stack(figure, panels)
    for axis in panels:
        tall[axis] = _height(axis, tall[axis])
    below = _legends(figure)
    for axis in figure.axes:
        _texts(axis, column)
    if figure.get_suptitle():
        figure.suptitle(_lines(figure.get_suptitle(), figure._suptitle.get_size(), WIDTH))
    if figure.get_supxlabel():  # below the last panel, as a legend stands below the figure
        panels[-1].set_xlabel(_lines(figure.get_supxlabel(), 10, WIDTH - 0.7), size=10)
        figure.supxlabel("")
    many = len(panels) if column else 1
    inner = sum(tall.values()) if column else max(tall.values(), default=before[1])
    figure.set_size_inches(WIDTH, inner + 0.6 * many + 0.6 + below)
    figure.draw_without_rendering()
    drawn = [axis.get_position().height * figure.get_size_inches()[1] for axis in panels]
    height = figure.get_size_inches()[1] + inner - (sum(drawn) if column else max(drawn, default=inner))
    figure.set_size_inches(WIDTH, max(height, 1.5))
    for axis in panels:
        _upright(axis)
    return figure


def _leave_out(figure: Figure, unwanted: list[Axes]) -> None:
    """Remove panels of a row; those that stay share its width as before, and the first has the names."""
    if not unwanted:
        return
    shared = unwanted[0].get_subplotspec().get_gridspec()
    stay = [axis for axis in figure.axes if axis not in unwanted]
    before = [shared.get_width_ratios()[axis.get_subplotspec().colspan.start] for axis in stay]
    widths = [max(width, 0.7 * max(before)) for width in before]  # room for the label below a narrow one
    grid = GridSpec(1, len(stay), figure=figure, width_ratios=widths)
    for place, axis in enumerate(stay):
        axis.set_subplotspec(grid[place])
    stay[0].tick_params(labelleft=True)
    for axis in unwanted:
        axis.set_visible(False)
        axis.set_in_layout(False)


def _names(axis: Axes) -> list[str]:
    """Return the names of the rows of a panel; [] where its vertical axis has numbers."""
    texts = [label.get_text() for label in axis.get_yticklabels()]
    fixed = isinstance(axis.yaxis.get_major_locator(), FixedLocator) and axis.get_yscale() == "linear"
    return texts if fixed and any(letter.isalpha() for text in texts for letter in text) else []


def _stack(figure: Figure, panels: list[Axes]) -> None:
    """Put panels below one another, row by row, and let each say what its neighbours said for it."""
    places = {axis: axis.get_subplotspec() for axis in panels}
    panels.sort(key=lambda axis: (places[axis].rowspan.start, places[axis].colspan.start))
    heights = [_height(axis, axis.get_position().height * figure.get_size_inches()[1]) for axis in panels]
    grid = GridSpec(len(panels), 1, figure=figure, height_ratios=heights)
    for place, axis in enumerate(panels):
        axis.set_subplotspec(grid[place])
        if len(axis.get_shared_y_axes().get_siblings(axis)) > 1:
            axis.tick_params(labelleft=True)
        if len(axis.get_shared_x_axes().get_siblings(axis)) > 1 and not axis.xaxis.get_tick_params().get("labeltop"):
            axis.tick_params(labelbottom=True)
    across, upwards = ([getattr(axis, f"get_{which}label")() for axis in panels] for which in "xy")
    if len({text for text in across if text}) == 1 and not all(across):
        size = next(axis.xaxis.label.get_size() for axis in panels if axis.get_xlabel())
        for axis in panels:
            axis.set_xlabel("")
        panels[-1].set_xlabel(next(filter(None, across)), size=size)
    for place, axis in enumerate(panels):
        row = [other for other in panels if places[other].rowspan.start == places[axis].rowspan.start]
        said = [other for other in row if other.get_ylabel()]
        if not upwards[place] and said and axis in axis.get_shared_y_axes().get_siblings(said[0]):
            axis.set_ylabel(said[0].get_ylabel(), size=said[0].yaxis.label.get_size())


def _height(axis: Axes, before: float) -> float:
    """Return how tall a panel shall be, in inches, which was `before` inches tall."""
    if axis.get_aspect() != "auto":
        (left, right), (low, high) = np.sort(axis.get_xlim()), np.sort(axis.get_ylim())
        return min(
            before, (WIDTH - 0.9 * bool(len(axis.get_yticks()))) * (high - low) / (right - left) * axis.get_aspect()
        )
    if names := _names(axis):
        lines = len(names) * max(len(textwrap.wrap(name, NAME)) for name in names)
        return before if lines < 20 else max(LINE * lines, 0.75 * before)
    return float(np.clip(before, 1.2, 2.9))


def _lines(text: str, size: float, inches: float) -> str:
    """Return text broken into lines so that it fits a width."""
    room = max(8, int(inches * 72 / (LETTER * size)))
    return "\n".join(textwrap.fill(line, room, break_long_words=False) for line in text.split("\n"))


def _texts(axis: Axes, column: bool) -> None:
    """Make the text around a panel fit: numbers of a size, titles and labels in lines."""
    for which in (axis.xaxis, axis.yaxis):
        size = which.get_tick_params().get("labelsize", 99)
        labels = which.get_ticklabels()
        drawn = labels[0].get_size() if labels else 99
        if drawn > LARGEST or isinstance(size, str):
            which.set_tick_params(labelsize=min(LARGEST, drawn))
        which.label.set_size(min(10 if column else SMALL, which.label.get_size()))
    across = WIDTH - 0.7 if column else WIDTH / 4
    axis.xaxis.label.set_text(_lines(axis.get_xlabel(), axis.xaxis.label.get_size(), across))
    if axis.get_ylabel():
        axis.yaxis.label.set_text(_lines(axis.get_ylabel(), axis.yaxis.label.get_size(), 2.6))
    for title in (axis.title, axis._left_title, axis._right_title):
        title.set_text(_lines(title.get_text(), title.get_size(), across))
    names = _names(axis)
    if max(map(len, names), default=0) > NAME:
        axis.set_yticks(axis.get_yticks(), [textwrap.fill(name, NAME) for name in names], size=SMALL)
    if axis.images:
        cells = axis.images[0].get_array().shape
        if cells[1] > 12:
            for text in axis.texts:
                if text.get_transform() == axis.transData:
                    text.set_visible(False)


def _upright(axis: Axes) -> None:
    """Turn the names along a panel upright where they run into each other or aslant; leave out single letters."""
    labels = [label for label in axis.get_xticklabels() if label.get_text() and label.get_visible()]
    boxes = [label.get_window_extent() for label in labels]
    aslant = any(0 < label.get_rotation() % 180 < 90 for label in labels)
    clash = any(one.x1 > other.x0 and one.x0 < other.x1 for one, other in pairwise(boxes))
    if clash and all(len(label.get_text()) == 1 for label in labels):  # letters are as wide upright
        axis.set_xticklabels([])
    elif aslant or clash:
        top = axis.xaxis.get_tick_params().get("labeltop")
        for label in axis.get_xticklabels():
            label.set(rotation=90, ha="left" if top else "right", va="center", rotation_mode="anchor")


def _legends(figure: Figure) -> float:
    """Put legends below the panels, in as many columns as fit; return how tall they are, about, in inches.

    All of a figure, and the one of a panel where no other panel has one.
    """
    tall = 0.0
    given = [(figure, legend) for legend in figure.legends]
    given += [(axis, axis.get_legend()) for axis in figure.axes if axis.get_legend() is not None]
    alone = len([owner for owner, _ in given if isinstance(owner, Axes)]) == 1
    for owner, legend in given:
        if isinstance(owner, Axes) and not alone:
            continue
        size = min(9, legend.get_texts()[0].get_size()) if legend.get_texts() else 9
        texts = [_lines(text.get_text(), size, WIDTH - 0.6) for text in legend.get_texts()]
        handles = _handles(figure, legend)
        widest = max((len(line) for text in texts for line in text.split("\n")), default=1)
        columns = int(np.clip((WIDTH - 0.1) // (widest * LETTER * size / 72 + 0.55), 1, 3))
        title = legend.get_title().get_text()
        legend.remove()
        look = {"ncols": columns, "fontsize": size, "columnspacing": 1.0, "borderaxespad": 0.2}
        look |= {"title": _lines(title, 9.5, WIDTH - 0.3), "title_fontsize": 9.5} if title else {}
        figure.legend(handles, texts, loc="outside lower center", **look)
        tall += -(-len(texts) // columns) * max((text.count("\n") + 1 for text in texts), default=0) * 1.5 * size / 72
    return tall


def _handles(figure: Figure, legend: Legend) -> list:
    """Return what a legend shows: the artists of the panels by that name, else its own copies."""
    known = {}
    for axis in figure.axes:
        handles, texts = axis.get_legend_handles_labels()
        known |= dict(zip(texts, handles, strict=True))
    own = zip(legend.get_texts(), legend.legend_handles, strict=True)
    return [known.get(text.get_text(), handle) for text, handle in own]
