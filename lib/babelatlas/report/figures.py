"""One function per figure: a table in, Axes out; and the look that all of them share.

Colours are Okabe and Ito's, which stay apart for colour-blind readers, and every series also has its own marker or
line style, so that no figure relies on colour alone.
"""

import base64
import html
import io
from collections.abc import Sequence
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from cycler import cycler
from IPython.display import HTML
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from babelatlas.base import languages

# Okabe and Ito (2008), "Color Universal Design"; black and yellow left out: too strong and too weak on white.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#4D4D4D"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
LINES = ["-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1))]
SEQUENTIAL = "viridis"


def _look(name: str, place: int) -> tuple[str, str]:
    """Return colour and marker of a series: a resource group's own, in every figure; else those of its place."""
    place = languages.GROUPS.index(name) if name in languages.GROUPS else place
    return COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]


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


def sortable_tables() -> None:
    """Prepare a notebook for `itables.show`: tables sort by a click on a header, and the page works from disk."""
    import itables

    itables.options.text_in_header_can_be_selected = False  # else the icon alone sorts, and the text does not
    itables.options.maxBytes = 0  # else rows of a long table are left out
    itables.init_notebook_mode(all_interactive=False, connected=False)


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


def forest(
    table: pd.DataFrame,
    label: str,
    panel: str = "",
    series: str = "",
    reference: dict | float | None = None,
    width: float = 7.2,
) -> np.ndarray:
    """Draw values with their intervals, one row for each value of column `label`; return the Axes of the panels.

    `table`: label, value, ci_low, ci_high (NaN where there is no interval), and, where named, `panel` (panels side by
    side) and `series` (colours and markers within a row). All are drawn in the order of the table, the first on top.
    `reference` draws a vertical line: one number, or one for each panel.
    """
    labels = list(dict.fromkeys(table[label]))
    panels = list(dict.fromkeys(table[panel])) if panel else [""]
    names = list(dict.fromkeys(table[series])) if series else [""]
    height = 0.9 + (0.22 + 0.12 * len(names)) * len(labels) + 0.3 * bool(series)
    figure, axes = plt.subplots(
        1, len(panels), figsize=(width, height), sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    figure.get_layout_engine().set(w_pad=0.08)  # room between the last tick of a panel and the first of the next
    for axis, title in zip(axes[0], panels, strict=True):
        rows = table[table[panel] == title] if panel else table
        for place, name in enumerate(names):
            part = rows[rows[series] == name] if series else rows
            # A list, because a panel may lack a series: then a column of texts stays one of texts.
            y = np.array([labels.index(each) for each in part[label]], float) + (
                place - (len(names) - 1) / 2
            ) * 0.6 / len(names)
            colour, marker = _look(name, place)
            axis.hlines(y, part["ci_low"], part["ci_high"], color=colour, linewidth=1.8, zorder=2)
            axis.plot(part["value"], y, marker, color=colour, linestyle="", markersize=5, label=name)
        line = reference.get(title) if isinstance(reference, dict) else reference
        if line is not None:
            axis.axvline(line, color="0.35", linestyle="--", linewidth=1.2, zorder=1)
        axis.set_title(title, size=10.5)
        axis.grid(axis="y", color="0.9", linewidth=0.6)
        axis.tick_params(labelsize=9.5)
    axes[0, 0].set_yticks(range(len(labels)), labels)
    axes[0, 0].set_ylim(len(labels) - 0.5, -0.5)
    if series:
        handles = axes[0, 0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower center", ncols=len(names), fontsize=9.5)
    return axes[0]


def group_means(table: pd.DataFrame, series: str = "") -> np.ndarray:
    """Draw mean accuracy of every model, one panel for each group of languages; return the Axes of the panels.

    `table`: model, group, value, ci_low, ci_high (fractions; NaN where there is no interval), n (languages), and, where
    named, `series`. Models (rows) and groups (panels) are drawn in the order of the table.
    """
    sizes = table.groupby("group")["n"].max()
    titles = {name: f"{name}\nn = {size}" for name, size in sizes.items()}
    axes = forest(table.assign(group=table["group"].map(titles)), label="model", panel="group", series=series)
    for axis in axes:
        axis.set_xlim(left=0)
        percent_axis(axis, "x")
    axes[len(axes) // 2].set_xlabel("mean accuracy", size=10.5)
    return axes


def language_heatmap(table: pd.DataFrame, label: str = "lang", number: bool = True) -> np.ndarray:
    """Draw accuracy by language (rows) and model (columns), one panel for each group; return the Axes of the panels.

    `table`: model, group, value (fraction) and the column `label` that names the rows. Rows, columns and groups are
    drawn in the order of the table. `number` writes the percent into the cells. Cells without a value stay blank.
    """
    models = list(dict.fromkeys(table["model"]))
    parts = [(name, rows, list(dict.fromkeys(rows[label]))) for name, rows in table.groupby("group", sort=False)]
    heights = [len(names) for _, _, names in parts]
    figure, axes = plt.subplots(
        len(parts),
        1,
        figsize=(7.2, 0.185 * sum(heights) + 1.15 * len(parts) + 0.8),
        height_ratios=heights,
        squeeze=False,
        layout="constrained",
    )
    top = table["value"].max()
    for place, (axis, (name, rows, names)) in enumerate(zip(axes[:, 0], parts, strict=True)):
        cells = rows.pivot_table(index=label, columns="model", values="value").reindex(index=names, columns=models)
        image = axis.imshow(cells, aspect="auto", vmin=0, vmax=top, cmap=SEQUENTIAL, interpolation="nearest")
        axis.set_yticks(range(len(names)), names, size=9)
        axis.set_xticks(range(len(models)), [])
        if place == 0 or heights[place - 1] > 3:  # the names of the models stand above every panel that is not tiny
            axis.set_xticks(range(len(models)), models, rotation=40, ha="left", rotation_mode="anchor", size=9)
        axis.tick_params(top=False, bottom=False, labeltop=True, labelbottom=False, left=False, pad=2)
        axis.text(-0.008, 1, name, transform=axis.transAxes, ha="right", va="bottom", weight="bold", size=10.5)
        axis.grid(False)
        axis.spines[:].set_visible(False)
        if number:
            for (row, column), value in np.ndenumerate(cells.to_numpy()):
                if np.isfinite(value):
                    colour = "black" if value > 0.6 * top else "white"
                    text = axis.text(column, row, f"{100 * value:.0f}", ha="center", va="center", size=8.5, c=colour)
                    text.set_in_layout(False)  # a thousand texts would slow the layout down
    bar = figure.colorbar(image, ax=axes, location="bottom", shrink=0.6, aspect=40, pad=0.01, label="accuracy")
    percent_axis(bar.ax, "x")
    return axes[:, 0]


def correlation_panels(
    points: pd.DataFrame, bands: pd.DataFrame, x: str, y: str, panel: str, series: str, ring: str = ""
) -> np.ndarray:
    """Draw two fractions of every row against each other, panels side by side, with a line and its band.

    `points`: the columns named by x, y, panel and series (colour and marker), and, where named, `ring`: rows where it
    is true get a black edge. `bands`: panel, x, y, ci_low, ci_high, as `regression.regression_band` returns them. The names
    of the columns x and y label the axes. Returns the Axes of the panels.
    """
    panels = list(dict.fromkeys(points[panel]))
    groups = [group for group in languages.GROUPS if (points[series] == group).any()]
    names = [*groups, *sorted(set(points[series]) - set(groups))]
    figure, axes = plt.subplots(
        1, len(panels), figsize=(7.2, 4.0), sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    for axis, title in zip(axes[0], panels, strict=True):
        rows, band = points[points[panel] == title], bands[bands[panel] == title]
        for place, name in enumerate(names):
            part = rows[rows[series] == name]
            colour, marker = _look(name, place)
            look = {"color": colour, "marker": marker, "s": 16}
            axis.scatter(part[x], part[y], alpha=0.75, linewidths=0, label=name, **look)
            if ring:
                part = part[part[ring]]
                axis.scatter(part[x], part[y], edgecolors="black", linewidths=1.2, **(look | {"s": 30}))
        axis.fill_between(band["x"], band["ci_low"], band["ci_high"], color="0.4", alpha=0.25, linewidth=0)
        axis.plot(band["x"], band["y"], color="0.2", linestyle="-", marker="", linewidth=1.5)
        axis.set_title(title, size=10.5)
        axis.tick_params(labelsize=9.5)
        percent_axis(axis, "xy")
    axes[0, len(panels) // 2].set_xlabel(x, size=10.5)
    axes[0, 0].set_ylabel(y, size=10.5)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9.5)
    return axes[0]


def class_counts(counts: pd.DataFrame, groups: Sequence[str] = (), named: int = 14) -> Axes:
    """Draw the number of labelled classes of every language, most first; the axis of classes is log.

    `counts`: name (of the language), n_classes, group. `groups` orders the groups, each with its colour and marker;
    left out, all languages share one. `named` languages, evenly spread along the axis, carry their name.
    """
    _, axis = plt.subplots(figsize=(7.2, 4.4))
    table = counts.sort_values(["n_classes", "name"], ascending=[False, True], ignore_index=True)
    for place, group in enumerate(groups or [""]):
        rows = table[table["group"] == group] if groups else table
        colour, marker = _look(group, place)
        label = f"{group} ({len(rows)})" if groups else None
        axis.plot(rows.index + 1, rows["n_classes"], marker, linestyle="", color=colour, markersize=5, label=label)
    for rank in np.unique(np.linspace(0, len(table) - 1, min(named, len(table))).round().astype(int)):
        point = (rank + 1, table.loc[rank, "n_classes"])
        text = {"textcoords": "offset points", "rotation": 30, "size": 9, "color": "0.3"}
        axis.annotate(table.loc[rank, "name"], point, (4, 5), **text)
    axis.set_yscale("log")
    low, high = table["n_classes"].min() / 1.3, table["n_classes"].max() * 2.2  # room for the names above the dots
    ticks = [tick for tick in (1, 3, 10, 30, 100, 300, 1000, 3000) if low <= tick <= high]
    axis.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
    axis.minorticks_off()
    axis.set_ylim(low, high)
    axis.set_xlabel("languages, by number of classes")
    axis.set_ylabel("classes with a label (log scale)")
    if groups:
        axis.legend(title="resource group (languages)", loc="upper right")
    return axis


def paired_counts(table: pd.DataFrame, groups: Sequence[str], names: Sequence[str] = ()) -> Axes:
    """Draw two counts of classes of every language against each other, with the line of equality; both axes are log.

    `table`: name (of the language), ours, theirs (numbers of classes; 0 is drawn on the edge), group. `groups` orders
    the groups, each with its colour and marker; the languages in `names` carry their name, the first before others
    that stand too near.
    """
    _, axis = plt.subplots(figsize=(7.2, 5.6))
    edge = 0.5  # where a count of 0 is drawn on a log axis
    table = table.assign(x=table["theirs"].clip(lower=edge), y=table["ours"].clip(lower=edge))
    for place, group in enumerate(groups):
        rows = table[table["group"] == group]
        colour, marker = _look(group, place)
        look = {"color": colour, "marker": marker, "alpha": 0.75, "label": f"{group} ({len(rows)})"}
        axis.scatter(rows["x"], rows["y"], s=22, linewidths=0, **look)
    axis.plot([edge, 1000], [edge, 1000], color="0.35", linestyle="--", linewidth=1.2, marker="", zorder=1)
    for row in _apart(table.assign(u=np.log10(table["x"]), v=np.log10(table["y"])), names, "u", "v", (0.6, 0.12)):
        below = row.y < row.x
        offset, side = ((5, -5), {"ha": "left", "va": "top"}) if below else ((-5, 5), {"ha": "right", "va": "bottom"})
        axis.annotate(row.name, (row.x, row.y), offset, textcoords="offset points", size=9, color="0.25", **side)
    ticks = [edge, 1, 3, 10, 30, 100, 300, 1000]
    for which in ("x", "y"):
        getattr(axis, f"set_{which}scale")("log")
        getattr(axis, f"set_{which}ticks")(ticks, ["0", *map(str, ticks[1:])])
        getattr(axis, f"set_{which}lim")(edge * 0.8, 1500)
    axis.minorticks_off()
    axis.set_xlabel("classes in Babel-ImageNet (log scale)")
    axis.set_ylabel("classes in this label set (log scale)")
    axis.legend(title="group by classes there (languages)", loc="upper left", fontsize=9.5)
    return axis


def _apart(table: pd.DataFrame, names: Sequence[str], x: str, y: str, gap: tuple[float, float]) -> list:
    """Return the rows (tuples) with these names, in the order of `names`, without those too near to one before."""
    kept: list = []
    for row in (
        table[table["name"].isin(names)].sort_values("name", key=lambda name: name.map(list(names).index)).itertuples()
    ):
        at = getattr(row, x), getattr(row, y)
        if all(abs(at[0] - getattr(one, x)) > gap[0] or abs(at[1] - getattr(one, y)) > gap[1] for one in kept):
            kept.append(row)
    return kept


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


def _frame_map(axis: Axes) -> None:
    """Cut a map of degrees in the Pacific, at 170 degrees west, and leave out all but what is drawn on it."""
    axis.set_aspect(1.25)
    axis.set_xlim(-172, 192)
    axis.set_ylim(-57, 80)
    axis.set_xticks([])
    axis.set_yticks([])
    axis.grid(False)
    axis.spines[:].set_visible(False)


def world_map(world: pd.DataFrame, groups: Sequence[str]) -> Axes:
    """Draw every language as a dot at its place; those of `groups` in colour, the others in grey.

    `world`: latitude, longitude (degrees; rows without are left out), group ("" for the grey ones). No coastline is
    drawn: the dots of all languages show the continents. The map is cut in the Pacific, at 170 degrees west.
    """
    figure, axis = plt.subplots(figsize=(7.2, 4.4), layout="constrained")
    table = world.dropna(subset=["latitude", "longitude"])
    table = table.assign(x=(table["longitude"] + 170) % 360 - 170)
    rest = table[~table["group"].isin(groups)]
    axis.scatter(rest["x"], rest["latitude"], s=3, color="0.72", linewidths=0, label=f"not reached ({len(rest):,})")
    for place, group in enumerate(groups):
        rows = table[table["group"] == group]
        colour, marker = _look(group, place)
        look = {"color": colour, "marker": marker, "edgecolors": "white", "linewidths": 0.5}
        axis.scatter(rows["x"], rows["latitude"], s=20 + 6 * place, label=f"{group} ({len(rows)})", **look)
    _frame_map(axis)
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9.5, markerscale=1.4)
    return axis


def reach(table: pd.DataFrame, label: str) -> Axes:
    """Draw, for each row, how many languages there are and how many are reached, joined by a line; the axis is log.

    `table`: the column `label`, n_world and n_reached (languages; of 0 no dot is drawn). The first row is on top; the
    share is written at the right.
    """
    figure, axis = plt.subplots(figsize=(7.2, 1.3 + 0.27 * len(table)), layout="constrained")
    rows = table.reset_index(drop=True)
    some = rows[rows["n_reached"] > 0]
    axis.hlines(some.index, some["n_reached"], some["n_world"], color="0.8", linewidth=2, zorder=1)
    axis.plot(
        rows["n_world"],
        rows.index,
        MARKERS[1],
        color="0.55",
        linestyle="",
        markersize=5,
        label="languages of the world",
    )
    axis.plot(some["n_reached"], some.index, MARKERS[0], color=COLOURS[0], linestyle="", markersize=6, label="reached")
    axis.set_xscale("log")
    right = rows["n_world"].max()
    for row in rows.itertuples():
        share = row.n_reached / row.n_world
        text = f"{row.n_reached} of {row.n_world:,} ({100 * share:.{0 if share >= 0.1 or share == 0 else 1}f} %)"
        axis.text(right * 1.7, row.Index, text, va="center", size=9, color="0.25")
    ticks = [tick for tick in (1, 10, 100, 1000, 10_000) if tick <= 2 * right]
    axis.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axis.minorticks_off()
    axis.set_xlim(0.8, right * 1.5)
    axis.set_yticks(range(len(rows)), rows[label])
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.tick_params(labelsize=9.5)
    axis.set_xlabel("languages (log scale)")
    axis.grid(axis="y", visible=False)
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=9.5)
    return axis


def classes_against_tokens(points: pd.DataFrame, bands: pd.DataFrame, names: dict[str, Sequence[str]]) -> np.ndarray:
    """Draw classes against tokens, both log10, a row of panels for each `series`, a column for each table of `tokens`.

    `points`: series, tokens, name (of the language), log_tokens, log_classes, odd (flag: drawn as a cross, always
    named). `bands`: series, tokens, x, y, ci_low, ci_high, as `regression.regression_band` returns them. `names`: series ->
    the languages that carry their name. Returns the Axes, shape (series, tokens).
    """
    rows, columns = list(dict.fromkeys(points["series"])), list(dict.fromkeys(points["tokens"]))
    _, axes = plt.subplots(
        len(rows),
        len(columns),
        figsize=(7.2, 0.6 + 3.1 * len(rows)),
        sharex=True,
        sharey="row",
        squeeze=False,
        layout="constrained",
    )
    for (row, column), axis in np.ndenumerate(axes):
        part = points[(points["series"] == rows[row]) & (points["tokens"] == columns[column])]
        band = bands[(bands["series"] == rows[row]) & (bands["tokens"] == columns[column])]
        axis.fill_between(band["x"], band["ci_low"], band["ci_high"], color="0.4", alpha=0.25, linewidth=0)
        axis.plot(band["x"], band["y"], color="0.2", linestyle="-", marker="", linewidth=1.2)
        odd = part[part["odd"]]
        axis.scatter(
            *part.loc[~part["odd"], ["log_tokens", "log_classes"]].to_numpy().T,
            s=14,
            color=COLOURS[0],
            alpha=0.7,
            linewidths=0,
        )
        axis.scatter(odd["log_tokens"], odd["log_classes"], s=45, color=COLOURS[1], marker="X", linewidths=0)
        for place, each in enumerate(odd.sort_values("log_tokens").itertuples()):
            look = {"ha": "center", "va": "bottom" if place else "top", "size": 8.5, "color": COLOURS[1]}
            at = (each.log_tokens, each.log_classes)
            axis.annotate(each.name, at, (8, 7 if place else -7), textcoords="offset points", **look)
        for each in _apart(part[~part["odd"]], names.get(rows[row], ()), "log_tokens", "log_classes", (0.6, 0.06)):
            right = each.log_tokens < 3
            low = each.log_classes < np.interp(each.log_tokens, band["x"], band["y"])
            look = {"ha": "left" if right else "right", "va": "top" if low else "bottom", "size": 8.5, "color": "0.2"}
            at, offset = (each.log_tokens, each.log_classes), (4 if right else -4, -2 if low else 2)
            axis.annotate(each.name, at, offset, textcoords="offset points", **look)
        axis.set_title(f"{rows[row]}, tokens {columns[column]}", size=10)
        axis.tick_params(labelsize=9)
        if column == 0:
            axis.set_ylabel("classes", size=10)
        if row == len(rows) - 1:
            axis.set_xlabel("tokens (millions)", size=10)
    axes[0, 0].set_xticks(range(6), [f"{10**tick:,}" for tick in range(6)])
    for axis in axes[:, 0]:
        axis.set_yticks(range(4), [f"{10**tick:,}" for tick in range(4)])
        axis.set_ylim(axis.dataLim.y0 - 0.15, 3.2)
    axes[0, 0].set_xlim(0.5, points["log_tokens"].max() + 0.25)
    return axes


def stacked_histogram(table: pd.DataFrame, value: str, series: str, edges: Sequence[float], label: str) -> Axes:
    """Draw how many rows lie in each bin of column `value`, stacked by `series`, each with its colour and hatching.

    `edges`: whole numbers, the lowest of each bin and, last, one more than the highest of all; bins are drawn equally
    wide whatever they span. `label` names the axis of values.
    """
    _, axis = plt.subplots()
    bottom = np.zeros(len(edges) - 1)
    for place, name in enumerate(dict.fromkeys(table[series])):
        counted, _ = np.histogram(table.loc[table[series] == name, value], bins=edges)
        look = {"color": COLOURS[place % len(COLOURS)], "hatch": ["", "///", "...", "xx"][place % 4]}
        axis.bar(
            range(len(counted)), counted, 0.85, bottom, label=f"{name} ({counted.sum()})", edgecolor="white", **look
        )
        bottom += counted
    spans = [f"{low:g}" if high - low == 1 else f"{low:g}–{high - 1:g}" for low, high in pairwise(edges)]
    axis.set_xticks(range(len(spans)), spans, rotation=30 if len(spans) > 7 else 0)
    for place, total in enumerate(bottom):
        axis.text(place, total, f"{total:.0f}", ha="center", va="bottom", size=9, color="0.3")
    axis.grid(axis="x", visible=False)
    axis.set_xlabel(label)
    axis.set_ylabel("classes")
    axis.legend(loc="upper right")
    return axis


def means_with_intervals(table: pd.DataFrame, x: str, series: str, xlabel: str, ylabel: str) -> Axes:
    """Draw means with their intervals over the numbers in column `x`, a line for each value of `series`.

    `table`: x, series, value, ci_low, ci_high (NaN where there is no interval).
    """
    _, axis = plt.subplots()
    names = list(dict.fromkeys(table[series]))
    for place, name in enumerate(names):
        rows = table[table[series] == name].sort_values(x)
        look = {"color": COLOURS[place % len(COLOURS)], "linestyle": LINES[place % len(LINES)]}
        at = rows[x] + 0.12 * (place - (len(names) - 1) / 2)
        axis.vlines(at, rows["ci_low"], rows["ci_high"], color=look["color"], linewidth=1.6)
        axis.plot(
            at, rows["value"], marker=MARKERS[place % len(MARKERS)], markersize=5.5, linewidth=1.2, label=name, **look
        )
    axis.set_ylim(bottom=0)
    axis.set_xlabel(xlabel)
    axis.set_ylabel(ylabel)
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(names))
    return axis


def times(runs: pd.DataFrame, lines: pd.DataFrame) -> Axes:
    """Draw how long runs took against their number of languages, with the line fitted to each series.

    `runs`: contestant, languages, value (seconds). `lines`, one row for each contestant: contestant, start, each
    (seconds, and seconds for a language), drawn from no language to the most of any run.
    """
    _, axis = plt.subplots()
    ends = np.array([0, runs["languages"].max()])
    for place, name in enumerate(dict.fromkeys(runs["contestant"])):
        rows, colour = runs[runs["contestant"] == name], COLOURS[place % len(COLOURS)]
        axis.plot(rows["languages"], rows["value"], MARKERS[place % len(MARKERS)], color=colour, label=name, alpha=0.8)
        for line in lines[lines["contestant"] == name].itertuples():
            look = {"color": colour, "linestyle": LINES[place % len(LINES)], "marker": ""}
            axis.plot(ends, line.start + line.each * ends, linewidth=1.2, **look)
    axis.set_xticks(sorted({0, *runs["languages"]}))
    axis.set_xlim(left=0)
    axis.set_ylim(bottom=0)
    axis.set_xlabel("languages")
    axis.set_ylabel("seconds")
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
    return axis


def stacked_shares(table: pd.DataFrame, label: str, part: str, narrow: float = 0.04) -> Axes:
    """Draw one bar for each value of column `label`, split by column `part`, in the order of the table.

    `table`: label, part, value (fraction; a bar adds up to 1). Parts of at least `narrow` carry their percent.
    """
    rows, parts = list(dict.fromkeys(table[label])), list(dict.fromkeys(table[part]))
    figure, axis = plt.subplots(figsize=(7.2, 1.3 + 0.42 * len(rows)), layout="constrained")
    wide = table.pivot_table(index=label, columns=part, values="value", observed=True, aggfunc="sum")
    wide = wide.reindex(index=rows, columns=parts).fillna(0)
    left = np.zeros(len(rows))
    colours = [*COLOURS[:-1], "0.85"] if len(parts) > 1 else COLOURS
    for place, name in enumerate(parts):
        colour = colours[-1] if place == len(parts) - 1 and len(parts) > 1 else colours[place % (len(colours) - 1)]
        hatch = ["", "///", "...", "xx", "\\\\\\", ""][place % 6]
        axis.barh(
            range(len(rows)),
            wide[name],
            0.72,
            left,
            color=colour,
            hatch=hatch,
            edgecolor="white",
            linewidth=0.3,
            label=name,
        )
        for row, (start, value) in enumerate(zip(left, wide[name], strict=True)):
            if value >= narrow:
                box = {"facecolor": "white", "alpha": 0.8, "pad": 1, "linewidth": 0}
                axis.text(
                    start + value / 2,
                    row,
                    f"{100 * value:.0f}",
                    ha="center",
                    va="center",
                    size=9,
                    color="0.1",
                    bbox=box,
                )
        left += wide[name].to_numpy()
    axis.set_yticks(range(len(rows)), rows)
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_xlim(0, 1)
    axis.grid(False)
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9.5)
    return percent_axis(axis, "x")


def strips(points: pd.DataFrame, means: pd.DataFrame, value: str, label: str, named: str = "") -> Axes:
    """Draw every value as a dot, one strip for each value of column `label`, with the mean and its interval above.

    `points`: label, the column `value`, and, where named, `named`: a text beside the dot, "" for none. `means`: label,
    value, ci_low, ci_high. Strips are drawn in the order of `means`, the first on top; equal values stand side by side.
    """
    rows = list(means[label])
    _, axis = plt.subplots(figsize=(7.2, 0.7 + 0.85 * len(rows)))
    for row, mean in enumerate(means.itertuples()):
        part = points[points[label] == rows[row]].sort_values(value, kind="stable")
        place = part.groupby(value).cumcount()
        # Dots of one value are stacked below the middle of the strip, which the mean takes.
        low = row + 0.02 + 0.42 * (place + 1) / max(5, place.max() + 2)
        colour, marker = _look(rows[row], row)
        axis.plot(part[value], low, marker, color=colour, linestyle="", markersize=4.5, alpha=0.75)
        axis.hlines(row - 0.15, mean.ci_low, mean.ci_high, color="black", linewidth=1.8)
        axis.plot([mean.value], [row - 0.15], "|", color="black", markersize=13, markeredgewidth=2.5)
        for x, y, text in zip(part[value], low, part[named] if named else [""] * len(part), strict=True):
            axis.annotate(text, (x, y), (0, 5), textcoords="offset points", ha="center", size=9, color="0.25")
    axis.set_yticks(range(len(rows)), rows)
    axis.set_ylim(len(rows) - 0.4, -0.5)
    axis.grid(axis="y", visible=False)
    return axis


def ranks(table: pd.DataFrame, label: str = "mean accuracy") -> np.ndarray:
    """Draw a leaderboard: the models' ranks, which of them are not told apart, and their means, with intervals.

    `table`, the best first: model, value, ci_low, ci_high (fractions; NaN where there is no interval), rank, rank_low,
    rank_high, letters (as `tests.compact_letters` gives them). A column of joined dots is one letter:
    its models are not told apart. On a narrow screen the first panels are seen first. Returns the Axes of the three.
    """
    rows = table.reset_index(drop=True)
    words = [_words(letters) for letters in rows["letters"]]
    order = sorted({word for row in words for word in row}, key=lambda word: [word in row for row in words].index(True))
    size = 9.5 if len(rows) <= 30 else 8.5
    _, axes = plt.subplots(
        1,
        3,
        figsize=(7.2, 1.1 + (0.3 if len(rows) <= 30 else 0.22) * len(rows)),
        sharey=True,
        layout="constrained",
        width_ratios=[2.4, min(3, 0.5 + 0.22 * len(order)), 3],
    )
    rank, letter, mean = axes
    names = {"rank": ("rank", "rank_low", "rank_high"), "value": ("value", "ci_low", "ci_high")}
    for axis, (middle, low, high), place in zip((rank, mean), names.values(), (1, 0), strict=True):
        axis.hlines(rows.index, rows[low], rows[high], color=COLOURS[place], linewidth=1.8, zorder=2)
        axis.plot(rows[middle], rows.index, MARKERS[place], color=COLOURS[place], linestyle="", markersize=5)
        axis.grid(axis="y", color="0.9", linewidth=0.6)
        axis.tick_params(labelsize=size)
    percent_axis(mean, "x").set_xlabel(label, size=10)
    mean.set_xlim(left=min(0, rows["ci_low"].min()) if rows["ci_low"].notna().any() else 0)
    rank.set_xlabel("rank", size=10)
    rank.set_xlim(0.5, len(rows) + 0.5)
    step = max(1, round(len(rows) / 6))
    rank.set_xticks(sorted({1, *range(step, len(rows) + 1, step)}))
    for place, word in enumerate(order):
        members = [number for number, row in enumerate(words) if word in row]
        letter.plot([place] * len(members), members, "o-", color="0.25", linewidth=1.4, markersize=4)
    letter.set_xticks(range(len(order)), order if len(order) <= 16 else [""] * len(order))
    letter.set_xlim(-0.6, max(len(order), 2) - 0.4)
    letter.tick_params(labelsize=size)
    letter.grid(axis="x", visible=False)
    letter.set_xlabel("not told apart", size=10)
    rank.set_yticks(range(len(rows)), rows["model"])
    rank.set_ylim(len(rows) - 0.5, -0.5)
    return axes


def _words(letters: str) -> list[str]:
    """Return the single letters of a display, a letter being followed by a number where one alphabet is not enough."""
    found: list[str] = []
    for sign in letters:
        if sign.isdigit():
            found[-1] += sign
        else:
            found.append(sign)
    return found


# The classes of an accuracy on a map: each has its colour, its marker and its size.
STEPS = (0, 0.1, 0.25, 0.5, 0.75, 1)


def accuracy_map(world: pd.DataFrame, places: pd.DataFrame, label: str, waiting: pd.DataFrame | None = None) -> Axes:
    """Draw every language as a grey dot and those of `places` coloured by their value, a fraction, in five steps.

    `world`: latitude, longitude (degrees). `places`: latitude, longitude (NaN: left out), value. `waiting`: latitude,
    longitude of those that have words and no value, small dark crosses. Higher steps are drawn larger, each with its
    own marker, so that the map can be read without colours. Cut as `world_map`.
    """
    figure, axis = plt.subplots(figsize=(7.2, 4.6), layout="constrained")
    known = world.dropna(subset=["latitude", "longitude"])
    axis.scatter((known["longitude"] + 170) % 360 - 170, known["latitude"], s=2.5, color="0.8", linewidths=0)
    if waiting is not None:
        crosses = waiting.dropna(subset=["latitude", "longitude"])
        at = ((crosses["longitude"] + 170) % 360 - 170, crosses["latitude"])
        text = f"words, no score ({len(crosses)})"
        axis.scatter(*at, s=11, color="0.35", marker="x", linewidths=0.8, zorder=2, label=text)
    shades = plt.get_cmap(SEQUENTIAL)(np.linspace(0.0, 0.95, len(STEPS) - 1))
    drawn = places.dropna(subset=["latitude", "longitude"])
    step = np.clip(np.searchsorted(STEPS, drawn["value"], side="right") - 1, 0, len(STEPS) - 2)
    for place, (low, high) in enumerate(pairwise(STEPS)):
        rows = drawn[step == place]
        text = f"{100 * low:.0f} to {100 * high:.0f} % ({len(rows)})"
        look = {"color": shades[place], "marker": "vsDo^"[place], "edgecolors": "black", "linewidths": 0.5}
        axis.scatter(
            (rows["longitude"] + 170) % 360 - 170, rows["latitude"], s=22 + 9 * place, zorder=3, label=text, **look
        )
    _frame_map(axis)
    handles = axis.get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, fontsize=9.5, title=label, title_fontsize=10)
    return axis


def profile(table: pd.DataFrame, groups: Sequence[str], label: str = "accuracy", named: int = 20) -> Axes:
    """Draw one model's score in every language, the best first, with intervals, above the mean of the other models.

    `table`: language, group, value, ci_low, ci_high, others (mean of the other models, NaN where there are none), all
    fractions. `groups` orders the groups, each with its colour and marker. Below the axis stand the names of `named`
    languages, evenly spread, the first and the last among them.
    """
    figure, axis = plt.subplots(figsize=(7.2, 4.8), layout="constrained")
    rows = table.sort_values(["value", "language"], ascending=[False, True], ignore_index=True)
    if rows["others"].notna().any():
        axis.step(
            rows.index, rows["others"], where="mid", color="0.55", linewidth=1.2, linestyle="-", marker="",
            label="mean of other models",
        )  # fmt: skip
    for place, group in enumerate(groups):
        part = rows[rows["group"] == group]
        colour, marker = _look(group, place)
        axis.vlines(part.index, part["ci_low"], part["ci_high"], color=colour, linewidth=1.2)
        axis.plot(part.index, part["value"], marker, color=colour, linestyle="", markersize=5, label=group)
    places = np.unique(np.linspace(0, len(rows) - 1, min(named, len(rows))).round().astype(int))
    axis.set_xticks(places, rows.loc[places, "language"], rotation=45, ha="right", rotation_mode="anchor", size=9)
    axis.tick_params(axis="x", bottom=True, length=3, color="0.6")
    axis.set_ylim(0, min(1.02, 1.08 * np.nanmax(rows[["value", "ci_high"]].to_numpy(float)) + 0.02))
    axis.set_xlim(-0.8, len(rows) - 0.2)
    axis.grid(axis="x", visible=False)
    some = f", {len(places)} of them named" if len(places) < len(rows) else ""
    axis.set_xlabel(f"{len(rows)} languages from the highest to the lowest{some}")
    axis.set_ylabel(label)
    handles = axis.get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=min(3, len(handles[0])), fontsize=9.5)
    return percent_axis(axis)


def text_against_image(points: pd.DataFrame, means: pd.DataFrame, panel: str = "family") -> np.ndarray:
    """Draw IC against TC: every language a small dot, every model's mean a large one with its intervals both ways.

    `points`: panel, model, TC, IC (fractions), one row for each model and language. `means`: panel, model and, for TC
    and IC each, value, "TC low", "TC high", "IC low", "IC high" (NaN where there is no interval). Dotted lines stand at
    one half; above the diagonal the image is told apart better than the translation. Returns the Axes of the panels.
    """
    panels = list(dict.fromkeys(means[panel]))
    figure, axes = plt.subplots(
        1, len(panels), figsize=(7.2, 4.6), sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    names = list(dict.fromkeys(means["model"]))
    for axis, title in zip(axes[0], panels, strict=True):
        axis.plot([0, 1], [0, 1], color="0.8", linewidth=1, linestyle="-", marker="", zorder=0)
        for draw in (axis.axhline, axis.axvline):
            draw(0.5, color="0.35", linestyle=":", linewidth=1.2, zorder=1)
        for row in means[means[panel] == title].to_dict("records"):
            place = names.index(row["model"])
            # One more step for each round, so that no two models share both.
            colour, marker = COLOURS[place % len(COLOURS)], MARKERS[(place + place // len(COLOURS)) % len(MARKERS)]
            part = points[(points[panel] == title) & (points["model"] == row["model"])]
            axis.scatter(part["TC"], part["IC"], s=11, color=colour, marker=marker, alpha=0.45, linewidths=0)
            axis.plot([row["TC low"], row["TC high"]], [row["IC"]] * 2, color=colour, linestyle="-", marker="")
            axis.plot([row["TC"]] * 2, [row["IC low"], row["IC high"]], color=colour, linestyle="-", marker="")
            look = {"color": colour, "marker": marker, "s": 70, "edgecolors": "black", "linewidths": 0.8, "zorder": 4}
            axis.scatter(row["TC"], row["IC"], label=row["model"], **look)
        axis.set_title(title, size=10.5)
        axis.set_aspect("equal")
        axis.tick_params(labelsize=9.5)
        percent_axis(axis, "xy").set_xlabel("TC", size=10)
    axes[0, 0].set_xlim(-0.02, 1.02)
    axes[0, 0].set_ylim(-0.02, 1.02)
    axes[0, 0].set_ylabel("IC", size=10)
    handles: dict = {}
    for axis in axes[0]:
        drawn, said = axis.get_legend_handles_labels()
        handles |= dict(zip(said, drawn, strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, fontsize=9)
    return axes[0]


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


def overlap_heatmap(
    table: pd.DataFrame, order: Sequence[str], groups: Sequence[str] = (), label: str = "", number: bool = True
) -> np.ndarray:
    """Draw a number for each pair of names, one panel for each `panel`; the lower triangle only, as it is symmetric.

    `table`: panel, first, second, value (fraction), in any order; pairs that are not there stay blank. `order`: the
    names; `groups`: the group of each, in which case lines part the groups. `label` names the colour bar. `number`
    writes the percent into the cells. Panels of more than 16 names stand below one another. Returns the Axes of the
    panels.
    """
    panels = list(dict.fromkeys(table["panel"]))
    wide = len(order) > 16
    size = 9 if len(order) <= 9 else 8
    shape = (len(panels), 1) if wide else (1, len(panels))
    height = 1.2 + len(panels) * (0.6 + 0.13 * len(order)) if wide else 1.7 + 7.2 / max(2, len(panels))
    figure, axes = plt.subplots(*shape, figsize=(7.2, height), sharey=True, squeeze=False, layout="constrained")
    axes = axes.ravel()
    top = max(table["value"].max(), 1e-9)
    place = {name: number for number, name in enumerate(order)}
    for axis, title in zip(axes, panels, strict=True):
        cells = np.full((len(order), len(order)), np.nan)
        for row in table[table["panel"] == title].itertuples():
            one, other = sorted((place[row.first], place[row.second]))
            cells[other, one] = row.value
        image = axis.imshow(cells, vmin=0, vmax=top, cmap=SEQUENTIAL, interpolation="nearest")
        axis.set_yticks(range(len(order)), order, size=size)
        axis.set_xticks(range(len(order)), order, size=size, rotation=90)
        axis.tick_params(left=False, bottom=False, pad=2)
        axis.grid(False)
        axis.spines[:].set_visible(False)
        axis.set_title(title, size=10.5)
        for edge in (number for number in range(1, len(groups)) if groups[number] != groups[number - 1]):
            axis.plot([-0.5, edge - 0.5], [edge - 0.5] * 2, color="black", linewidth=1, linestyle="-", marker="")
            axis.plot(
                [edge - 0.5] * 2, [edge - 0.5, len(order) - 0.5], color="black", linewidth=1, linestyle="-", marker=""
            )
        for (row, column), value in np.ndenumerate(cells):
            if number and np.isfinite(value):
                colour = "black" if value > 0.6 * top else "white"
                text = axis.text(column, row, f"{100 * value:.0f}", ha="center", va="center", size=size - 0.5, c=colour)
                text.set_in_layout(False)
    bar = figure.colorbar(image, ax=axes, location="bottom", shrink=0.6, aspect=40, label=label)
    percent_axis(bar.ax, "x")
    return axes


def two_ways(
    points: pd.DataFrame,
    x: str,
    y: str,
    panel: str,
    series: str = "",
    xlabel: str = "",
    ylabel: str = "",
    columns: int = 3,
) -> np.ndarray:
    """Draw fractions that were obtained in two ways against each other, with the line on which both are equal.

    `points`: the columns x, y, panel (panels, at most `columns` of them in a row) and, where named, series (colour and
    marker). All panels share their axes, which have one scale, and the labels. Returns the Axes of the panels.
    """
    panels = list(dict.fromkeys(points[panel]))
    names = list(dict.fromkeys(points[series])) if series else [""]
    down = -(-len(panels) // columns)
    across = -(-len(panels) // down)
    width = min(7.2, 2.6 * across + 0.9)
    figure, grid = plt.subplots(
        down,
        across,
        figsize=(width, width / across * down + 0.3 * bool(series)),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    axes = grid.ravel()
    low, high = points[[x, y]].min().min(), points[[x, y]].max().max()
    room = 0.04 * (high - low) or 0.01
    for axis, title in zip(axes, panels, strict=False):
        rows = points[points[panel] == title]
        axis.axline((low, low), slope=1, color="0.35", linestyle="--", linewidth=1.2, zorder=1)
        for place, name in enumerate(names):
            part = rows[rows[series] == name] if series else rows
            colour, marker = _look(name, place)
            axis.scatter(part[x], part[y], color=colour, marker=marker, s=18, alpha=0.75, linewidths=0, label=name)
        axis.set(xlim=(low - room, high + room), ylim=(low - room, high + room), aspect="equal")
        axis.set_title(title, size=10.5)
        axis.tick_params(labelsize=9.5)
        percent_axis(axis, "xy")
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    figure.supxlabel(xlabel, size=10.5)
    figure.supylabel(ylabel, size=10.5)
    if series:
        handles = axes[0].get_legend_handles_labels()  # at the top: below is the label that all panels share
        figure.legend(*handles, loc="outside upper center", ncols=min(4, len(names)), fontsize=9.5)
    return axes[: len(panels)]


def mixed_checks(rows: pd.DataFrame, effects: pd.DataFrame, series: str = "model") -> np.ndarray:
    """Draw what the assumptions of a mixed model look like, four panels; return their Axes (2, 2).

    `rows`: fitted, residual and the column `series` (colour and marker). `effects`: name, value (random effects as
    predicted); those of the same name are one sample. Panels: residuals against fitted values, with the mean of each
    tenth of the rows; residuals, the largest sample of effects, and all others (each divided by its own standard
    deviation) against the quantiles of a normal distribution, with the line on which normal values lie.
    """
    from scipy import stats as scipy_stats

    figure, axes = plt.subplots(2, 2, figsize=(7.2, 6.2), layout="constrained")
    first = axes[0, 0]
    names = sorted(set(rows[series]))
    for place, name in enumerate(names):
        part, (colour, marker) = rows[rows[series] == name], _look(name, place)
        # Seven colours and markers: the eighth series takes the first colour with the second marker.
        marker = MARKERS[(place + place // len(COLOURS)) % len(MARKERS)]
        look = {"color": colour, "marker": marker, "linestyle": "", "markersize": 3, "alpha": 0.6}
        first.plot(part["fitted"], part["residual"], label=name, **look)
    tenths = rows.groupby(pd.qcut(rows["fitted"], 10, duplicates="drop"), observed=True)[["fitted", "residual"]].mean()
    first.plot(tenths["fitted"], tenths["residual"], color="0.1", marker="", linestyle="-", linewidth=1.8)
    first.axhline(0, color="0.35", linestyle="--", linewidth=1)
    first.set_title("residual against fitted", size=10.5)
    sizes = effects.groupby("name", sort=False).size()
    largest = sizes.idxmax()
    samples = {"residuals": {"residuals": rows["residual"]}}
    samples[f"effects of: {largest}"] = {largest: effects.loc[effects["name"] == largest, "value"]}
    others = {name: part["value"] / part["value"].std() for name, part in effects.groupby("name") if name != largest}
    samples["other random effects, in units of their sd"] = others
    for axis, (title, parts) in zip(axes.ravel()[1:], samples.items(), strict=True):
        for place, (name, values) in enumerate(parts.items()):
            (at, ordered), (slope, start, _) = scipy_stats.probplot(values.to_numpy(float))
            axis.plot(at, ordered, MARKERS[place], color=COLOURS[place], linestyle="", markersize=4, label=name)
            axis.plot(at, start + slope * at, color=COLOURS[place], linestyle=LINES[place], marker="", linewidth=1)
        axis.set_title(title, size=10.5)
        axis.set_xlabel("normal quantile", size=9.5)
        if len(parts) > 1:
            axis.legend(fontsize=8.5)
    for axis in axes.ravel():
        axis.tick_params(labelsize=9)
    figure.legend(*first.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9, markerscale=2)
    return axes


def residual_panels(
    table: pd.DataFrame, panel: str, series: str, x: str = "n_classes", label: str = "residual (points)"
) -> np.ndarray:
    """Draw what a fit leaves at each number in column `x`, on a log axis, panels side by side; return their Axes.

    `table`: panel, series, x, value, ci_low, ci_high (points; NaN where there is no interval). A line for each series,
    panels and series in the order of the table; zero, where the fit is exact, is dashed.
    """
    panels, names = (list(dict.fromkeys(table[column])) for column in (panel, series))
    figure, axes = plt.subplots(
        1, len(panels), figsize=(7.2, 3.6), sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    for axis, title in zip(axes[0], panels, strict=True):
        for place, name in enumerate(names):
            rows = table[(table[panel] == title) & (table[series] == name)].sort_values(x)
            colour, marker = _look(name, place)
            line = LINES[place % len(LINES)]
            # A little apart, so that intervals do not hide each other: the axis is logarithmic.
            at = rows[x] * 1.06 ** (place - (len(names) - 1) / 2)
            axis.vlines(at, rows["ci_low"], rows["ci_high"], color=colour, linewidth=1.4)
            axis.plot(
                at, rows["value"], marker, color=colour, linestyle=line, linewidth=1.1, markersize=4.5, label=name
            )
        axis.axhline(0, color="0.35", linestyle="--", linewidth=1.2, zorder=1)
        axis.set_xscale("log")
        ticks = sorted(table[x].unique())
        axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.minorticks_off()
        axis.set_title(title, size=10.5)
        axis.tick_params(labelsize=9.5)
    axes[0, len(panels) // 2].set_xlabel("number of classes on offer (log scale)", size=10.5)
    axes[0, 0].set_ylabel(label, size=10.5)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9.5)
    return axes[0]
