"""Values with their intervals, one row or one place on the axis for each model,
language or setting.
"""

import re
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from babelatlas.report.figures.look import (
    COLOURS,
    MARKERS,
    in_order,
    legend_below,
    line_of,
    log_axis,
    look_of,
    percent_axis,
    side_by_side,
    with_data,
)


def forest(
    table: pd.DataFrame,
    label: str,
    panel: str = "",
    series: str = "",
    reference: dict | float | None = None,
    width: float = 7.2,
) -> np.ndarray:
    """Draw values with their intervals, one row for each value of column `label`;
    return the Axes of the panels.

    `table`: label, value, ci_low, ci_high (NaN where there is no interval), and, where
    named, `panel` (panels side by side) and `series` (colours and markers within a
    row). All are drawn in the order of the table, the first on top; resource groups
    always stand from "very low" to "high", then English, here and in every figure
    (`look.in_order`). `reference` draws a vertical line: one number, or one for each
    panel.
    """
    labels = in_order(table[label])
    panels = in_order(table[panel]) if panel else [""]
    names = in_order(table[series]) if series else [""]
    height = 0.9 + (0.22 + 0.12 * len(names)) * len(labels) + 0.3 * bool(series)
    figure, axes = side_by_side(panels, height, width)
    figure.get_layout_engine().set(
        w_pad=0.08
    )  # room between the last tick of a panel and the first of the next
    for axis, title in zip(axes, panels, strict=True):
        rows = table[table[panel] == title] if panel else table
        for place, name in enumerate(names):
            part = rows[rows[series] == name] if series else rows
            # A list, because a panel may lack a series: then a column of texts stays
            # one of texts.
            y = np.array([labels.index(each) for each in part[label]], float)
            y += (place - (len(names) - 1) / 2) * 0.6 / len(names)
            colour, marker = look_of(name, place)
            axis.hlines(
                y,
                part["ci_low"],
                part["ci_high"],
                color=colour,
                linewidth=1.8,
                zorder=2,
            )
            axis.plot(
                part["value"],
                y,
                marker,
                color=colour,
                linestyle="",
                markersize=5,
                label=name,
            )
        line = reference.get(title) if isinstance(reference, dict) else reference
        if line is not None:
            axis.axvline(line, color="0.35", linestyle="--", linewidth=1.2, zorder=1)
        axis.grid(axis="y", color="0.9", linewidth=0.6)
    axes[0].set_yticks(range(len(labels)), labels)
    axes[0].set_ylim(len(labels) - 0.5, -0.5)
    if series:
        legend_below(figure, axes[0], ncols=len(names))
    return with_data(axes, table)


def group_means(table: pd.DataFrame, series: str = "") -> np.ndarray:
    """Draw mean accuracy of every model, one panel for each group of languages; return
    the Axes of the panels.

    `table`: model, group, value, ci_low, ci_high (fractions; NaN where there is no
    interval), n (languages), and, where named, `series`. Models (rows) stand in the
    order of the table, groups (panels) from few resources to many.
    """
    sizes = table.groupby("group")["n"].max()
    titles = {name: f"{name}\nn = {size}" for name, size in sizes.items()}
    names = in_order(table["group"])
    drawn = table.sort_values(
        "group", key=lambda column: column.map(names.index), kind="stable"
    )
    axes = forest(
        drawn.assign(group=drawn["group"].map(titles)),
        label="model",
        panel="group",
        series=series,
    )
    for axis in axes:
        axis.set_xlim(left=0)
        percent_axis(axis, "x")
    axes[len(axes) // 2].set_xlabel("mean accuracy", size=10.5)
    return with_data(axes, table)


def means_with_intervals(
    table: pd.DataFrame, x: str, series: str, xlabel: str, ylabel: str
) -> Axes:
    """Draw means with their intervals over the numbers in column `x`, a line for each
    value of `series`.

    `table`: x, series, value, ci_low, ci_high (NaN where there is no interval).
    """
    _, axis = plt.subplots()
    names = in_order(table[series])
    for place, name in enumerate(names):
        rows = table[table[series] == name].sort_values(x, kind="stable")
        look = line_of(place) | {
            "marker": MARKERS[place % len(MARKERS)],
            "markersize": 5.5,
            "linewidth": 1.2,
        }
        at = rows[x] + 0.12 * (place - (len(names) - 1) / 2)
        axis.vlines(
            at, rows["ci_low"], rows["ci_high"], color=look["color"], linewidth=1.6
        )
        axis.plot(at, rows["value"], label=name, **look)
    axis.set(xlabel=xlabel, ylabel=ylabel)
    axis.set_ylim(bottom=0)
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(names))
    return with_data(axis, table)


def strips(
    points: pd.DataFrame, means: pd.DataFrame, value: str, label: str, named: str = ""
) -> Axes:
    """Draw every value as a dot, one strip for each value of column `label`, with the
    mean and its interval above.

    `points`: label, the column `value`, and, where named, `named`: a text next to the
    dot, "" for none. `means`: label, value, ci_low, ci_high. Strips are drawn in the
    order of `means`, the first on top (resource groups: from "very low" to "high");
    equal values stand side by side.
    """
    rows = in_order(means[label])
    means = means.set_index(label).loc[rows].reset_index()
    _, axis = plt.subplots(figsize=(7.2, 0.7 + 0.85 * len(rows)))
    for row, mean in enumerate(means.itertuples()):
        part = points[points[label] == rows[row]].sort_values(value, kind="stable")
        place = part.groupby(value).cumcount()
        # Dots of one value are stacked below the middle of the strip, which the mean
        # takes.
        low = row + 0.02 + 0.42 * (place + 1) / max(5, place.max() + 2)
        colour, marker = look_of(rows[row], row)
        axis.plot(
            part[value],
            low,
            marker,
            color=colour,
            linestyle="",
            markersize=4.5,
            alpha=0.75,
        )
        axis.hlines(row - 0.15, mean.ci_low, mean.ci_high, color="black", linewidth=1.8)
        axis.plot(
            [mean.value],
            [row - 0.15],
            "|",
            color="black",
            markersize=13,
            markeredgewidth=2.5,
        )
        for x, y, text in zip(
            part[value], low, part[named] if named else [""] * len(part), strict=True
        ):
            axis.annotate(
                text,
                (x, y),
                (0, 5),
                textcoords="offset points",
                ha="center",
                size=9,
                color="0.25",
            )
    axis.set_yticks(range(len(rows)), rows)
    axis.set_ylim(len(rows) - 0.4, -0.5)
    axis.grid(axis="y", visible=False)
    return with_data(axis, points)


def ranks(table: pd.DataFrame, label: str = "mean accuracy") -> np.ndarray:
    """Draw a leaderboard: the models' ranks, between which of them nothing is decided,
    and their means, with intervals.

    `table`, the best first: model, value, ci_low, ci_high (fractions; NaN where there
    is no interval), rank, rank_low, rank_high, letters (as `compact_letters`
    gives them). A column of joined dots is one letter: the data do not decide which of
    its models is better. Returns the Axes of the three.
    """
    rows = table.reset_index(drop=True)
    # A letter is followed by a number where one alphabet is not enough.
    words = [re.findall(r"\D\d*", letters) for letters in rows["letters"]]
    letters = sorted({word for row in words for word in row})
    order = sorted(letters, key=lambda word: [word in row for row in words].index(True))
    size, height = (9.5, 0.3) if len(rows) <= 30 else (8.5, 0.22)
    widths = [2.4, float(np.clip(0.5 + 0.22 * len(order), 1.2, 3)), 3]
    size_in = (7.2, 1.1 + height * len(rows))
    _, axes = plt.subplots(
        1, 3, figsize=size_in, sharey=True, layout="constrained", width_ratios=widths
    )
    rank, letter, mean = axes
    for axis, place, columns in (
        (rank, 1, ("rank", "rank_low", "rank_high")),
        (mean, 0, ("value", "ci_low", "ci_high")),
    ):
        middle, low, high = columns
        axis.hlines(
            rows.index,
            rows[low],
            rows[high],
            color=COLOURS[place],
            linewidth=1.8,
            zorder=2,
        )
        axis.plot(
            rows[middle],
            rows.index,
            MARKERS[place],
            color=COLOURS[place],
            linestyle="",
            markersize=5,
        )
        axis.grid(axis="y", color="0.9", linewidth=0.6)
        axis.tick_params(labelsize=size)
    percent_axis(mean, "x").set_xlabel(label, size=10)
    mean.set_xlim(
        left=min(0, rows["ci_low"].min()) if rows["ci_low"].notna().any() else 0
    )
    rank.set_xlabel("rank", size=10)
    last = int(
        max(len(rows), rows["rank_high"].max())
    )  # below the last row, where only the best are drawn
    rank.set_xlim(0.5, last + 0.5)
    step = max(1, round(last / (6 if last <= 20 else 3)))
    rank.set_xticks(sorted({1, *range(step, last + 1, step)}))
    for place, word in enumerate(order):
        members = [number for number, row in enumerate(words) if word in row]
        letter.plot(
            [place] * len(members),
            members,
            "o-",
            color="0.25",
            linewidth=1.4,
            markersize=4,
        )
    letter.set_xticks(
        range(len(order)), order if len(order) <= 16 else [""] * len(order)
    )
    letter.set_xlim(-0.6, max(len(order), 2) - 0.4)
    letter.tick_params(labelsize=size)
    letter.grid(axis="x", visible=False)
    letter.set_xlabel("not\ndecided", size=10)
    rank.set_yticks(range(len(rows)), rows["model"])
    rank.set_ylim(len(rows) - 0.5, -0.5)
    return with_data(axes, table)


def class_counts(
    counts: pd.DataFrame, groups: Sequence[str] = (), named: int = 14
) -> Axes:
    """Draw the number of labelled classes of every language, most first; the axis of
    classes is log.

    `counts`: name (of the language), n_classes, group. `groups` orders the groups, each
    with its colour and marker; left out, all languages share one. `named` languages,
    evenly spread along the axis, carry their name.
    """
    _, axis = plt.subplots(figsize=(7.2, 4.4))
    table = counts.sort_values(
        ["n_classes", "name"], ascending=[False, True], ignore_index=True
    )
    for place, group in enumerate(in_order(groups) or [""]):
        rows = table[table["group"] == group] if groups else table
        colour, marker = look_of(group, place)
        label = f"{group} ({len(rows)})" if groups else None
        axis.plot(
            rows.index + 1,
            rows["n_classes"],
            marker,
            linestyle="",
            color=colour,
            markersize=5,
            label=label,
        )
    for rank in np.unique(
        np.linspace(0, len(table) - 1, min(named, len(table))).round().astype(int)
    ):
        point = (rank + 1, table.loc[rank, "n_classes"])
        text = {
            "textcoords": "offset points",
            "rotation": 30,
            "size": 9,
            "color": "0.3",
        }
        axis.annotate(table.loc[rank, "name"], point, (4, 5), **text)
    low, high = (
        table["n_classes"].min() / 1.3,
        table["n_classes"].max() * 2.2,
    )  # room for the names above the dots
    log_axis(
        axis,
        "y",
        [tick for tick in (1, 3, 10, 30, 100, 300, 1000, 3000) if low <= tick <= high],
    )
    axis.set(
        ylim=(low, high),
        xlabel="languages, by number of classes",
        ylabel="classes with a label (log scale)",
    )
    if groups:
        axis.legend(title="resource group (languages)", loc="upper right")
    return with_data(axis, counts)


def profile(
    table: pd.DataFrame, groups: Sequence[str], label: str = "accuracy", named: int = 20
) -> Axes:
    """Draw one model's score in every language, the best first, with intervals, above
    the mean of the other models.

    `table`: language, group, value, ci_low, ci_high, others (mean of the other models,
    NaN where there are none), all fractions. `groups` orders the groups, each with its
    colour and marker. Below the axis stand the names of `named` languages, evenly
    spread, the first and the last among them.
    """
    figure, axis = plt.subplots(figsize=(7.2, 4.8), layout="constrained")
    rows = table.sort_values(
        ["value", "language"], ascending=[False, True], ignore_index=True
    )
    if rows["others"].notna().any():
        look = {"color": "0.55", "linewidth": 1.2, "linestyle": "-", "marker": ""}
        axis.step(
            rows.index,
            rows["others"],
            where="mid",
            label="mean of other models",
            **look,
        )
    for place, group in enumerate(in_order(groups)):
        part = rows[rows["group"] == group]
        colour, marker = look_of(group, place)
        axis.vlines(
            part.index, part["ci_low"], part["ci_high"], color=colour, linewidth=1.2
        )
        axis.plot(
            part.index,
            part["value"],
            marker,
            color=colour,
            linestyle="",
            markersize=5,
            label=group,
        )
    places = np.unique(
        np.linspace(0, len(rows) - 1, min(named, len(rows))).round().astype(int)
    )
    axis.set_xticks(
        places,
        rows.loc[places, "language"],
        rotation=45,
        ha="right",
        rotation_mode="anchor",
        size=9,
    )
    axis.tick_params(axis="x", bottom=True, length=3, color="0.6")
    axis.set_ylim(
        0,
        min(1.02, 1.08 * np.nanmax(rows[["value", "ci_high"]].to_numpy(float)) + 0.02),
    )
    axis.set_xlim(-0.8, len(rows) - 0.2)
    axis.grid(axis="x", visible=False)
    some = f", {len(places)} of them named" if len(places) < len(rows) else ""
    axis.set_xlabel(f"{len(rows)} languages from the highest to the lowest{some}")
    axis.set_ylabel(label)
    legend_below(figure, axis, loc="outside upper center")
    return with_data(percent_axis(axis), table)
