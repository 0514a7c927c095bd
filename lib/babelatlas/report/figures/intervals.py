"""Values with their intervals, one place on the axis for each model, language or
setting.
"""

import textwrap
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from babelatlas.report.figures.look import (
    MARKERS,
    MOST_TICKS_ON_PHONE,
    Forms,
    below_one_another,
    in_order,
    legend_below,
    line_of,
    log_axis,
    look_of,
    percent_axis,
    with_data,
    with_forms,
)

NAMED_ON_PHONE = MOST_TICKS_ON_PHONE  # languages below a profile
LETTERS_ON_PHONE = 14  # in a line, of the name of a strip


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
    points: pd.DataFrame,
    means: pd.DataFrame,
    value: str,
    label: str,
    named: str = "",
    line: tuple[float, str] | None = None,
) -> Axes:
    """Draw every value as a dot, one strip for each value of column `label`, with the
    mean and its interval above; on a phone in a narrower form.

    `points`: label, the column `value`, and, where named, `named`: a text next to the
    dot, "" for none. `means`: label, value, ci_low, ci_high. Strips are drawn in the
    order of `means`, the first on top (resource groups: from "very low" to "high");
    equal values stand side by side. `line`: where a dashed line stands, and its name.
    """
    rows = in_order(means[label])
    means = means.set_index(label).loc[rows].reset_index()
    height = 0.7 + 0.85 * len(rows)
    _, axis = plt.subplots(figsize=(7.2, height))
    _, phone = below_one_another([""], height)
    narrow = [textwrap.fill(str(name), LETTERS_ON_PHONE) for name in rows]
    for drawn, names in ((axis, rows), (phone[0], narrow)):
        for row, mean in enumerate(means.itertuples()):
            part = points[points[label] == rows[row]]
            part = part.sort_values(value, kind="stable")
            texts = list(part[named]) if named else []
            look = look_of(rows[row], row)
            _draw_strip(drawn, row, part[value], texts, look)
            _draw_mean(drawn, row, mean)
        drawn.set_yticks(range(len(rows)), names)
        drawn.set_ylim(len(rows) - 0.4, -0.5)
        drawn.grid(axis="y", visible=False)
        if line:
            _draw_line(drawn, *line)
    return with_forms(with_data(axis, points), Forms(phone))


def _draw_strip(
    axis: Axes, row: int, values: pd.Series, texts: Sequence[str], look: tuple[str, str]
) -> None:
    """Draw sorted values as dots with their texts; those of one value are stacked below
    the middle of the strip, which the mean takes.
    """
    place = values.groupby(values).cumcount()
    low = row + 0.02 + 0.42 * (place + 1) / max(5, place.max() + 2)
    colour, marker = look
    dots = {"linestyle": "", "markersize": 4.5, "alpha": 0.75}
    axis.plot(values, low, marker, color=colour, **dots)
    for x, y, text in zip(values, low, texts or [""] * len(values), strict=True):
        axis.annotate(
            text,
            (x, y),
            (0, 5),
            textcoords="offset points",
            ha="center",
            size=9,
            color="0.25",
        )


def _draw_mean(axis: Axes, row: int, mean: tuple) -> None:
    """Draw a mean as a stroke on its interval."""
    y = row - 0.15
    axis.hlines(y, mean.ci_low, mean.ci_high, color="black", linewidth=1.8)
    stroke = {"color": "black", "markersize": 13, "markeredgewidth": 2.5}
    axis.plot([mean.value], [y], "|", **stroke)


def _draw_line(axis: Axes, at: float, name: str) -> None:
    """Draw a dashed line with its name at the top."""
    axis.axvline(at, color="0.35", linestyle="--", linewidth=1.2)
    look = {"textcoords": "offset points", "size": 9, "va": "center"}
    axis.annotate(name, (at, -0.45), (4, 0), **look)


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
    narrow, phone = below_one_another([""], 4.4)
    rows = table.sort_values(
        ["value", "language"], ascending=[False, True], ignore_index=True
    )
    highest = np.nanmax(rows[["value", "ci_high"]].to_numpy(float))
    for form, drawn, most in (
        (figure, axis, named),
        (narrow, phone[0], NAMED_ON_PHONE),
    ):
        _draw_profile(drawn, rows, groups)
        _name_some(drawn, rows["language"], most)
        drawn.set_ylim(0, min(1.02, 1.08 * highest + 0.02))
        drawn.set_ylabel(label)
        percent_axis(drawn)
        columns = 3 if form is figure else 2
        legend_below(form, drawn, loc="outside upper center", ncols=columns)
    some = ", some of them named" if len(rows) > named else ""
    axis.set_xlabel(f"{len(rows)} languages from the highest to the lowest{some}")
    return with_forms(with_data(axis, table), Forms(phone), share="")


def _draw_profile(axis: Axes, rows: pd.DataFrame, groups: Sequence[str]) -> None:
    """Draw scores in the order of their rows, above the mean of the other models."""
    if rows["others"].notna().any():
        look = {"color": "0.55", "linewidth": 1.2, "linestyle": "-", "marker": ""}
        look["label"] = "mean of other models"
        axis.step(rows.index, rows["others"], where="mid", **look)
    for place, group in enumerate(in_order(groups)):
        part = rows[rows["group"] == group]
        colour, marker = look_of(group, place)
        axis.vlines(
            part.index, part["ci_low"], part["ci_high"], color=colour, linewidth=1.2
        )
        look = {"color": colour, "linestyle": "", "markersize": 5, "label": group}
        axis.plot(part.index, part["value"], marker, **look)
    axis.set_xlim(-0.8, len(rows) - 0.2)
    axis.grid(axis="x", visible=False)


def _name_some(axis: Axes, names: pd.Series, most: int) -> None:
    """Name so many languages below the axis, evenly spread, the first and the last
    among them.
    """
    spread = np.linspace(0, len(names) - 1, min(most, len(names)))
    places = np.unique(spread.round().astype(int))
    look = {"rotation": 45, "ha": "right", "rotation_mode": "anchor", "size": 9}
    axis.set_xticks(places, names[places], **look)
    axis.tick_params(axis="x", bottom=True, length=3, color="0.6")
