"""Chapter 15: what the assumptions of its mixed model look like."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from babelatlas.report.figures.look import (
    COLOURS,
    LINES,
    MARKERS,
    in_order,
    legend_below,
    look_of,
    with_data,
)


def mixed_checks(
    rows: pd.DataFrame, effects: pd.DataFrame, series: str = "model"
) -> np.ndarray:
    """Draw what the assumptions of a mixed model look like, four panels; return their
    Axes (2, 2).

    `rows`: fitted, residual and the column `series` (colour and marker). `effects`:
    name, value (random effects as predicted); those of the same name are one sample.
    Panels: residuals against fitted values, with the mean of each tenth of the rows;
    residuals, the largest sample of effects, and all others (each divided by its own
    standard deviation) against the quantiles of a normal distribution, with the line on
    which normal values lie.
    """
    figure, axes = plt.subplots(2, 2, figsize=(7.2, 6.2), layout="constrained")
    first, *others = axes.ravel()
    _draw_residuals(first, rows, series)
    panels = _samples_of_panels(rows["residual"], effects)
    for axis, (title, samples) in zip(others, panels.items(), strict=True):
        _draw_against_normal(axis, title, samples)
    for axis in axes.ravel():
        axis.tick_params(labelsize=9)
    legend_below(figure, first, fontsize=9, markerscale=2)
    return with_data(axes, rows)


def _draw_residuals(axis: Axes, rows: pd.DataFrame, series: str) -> None:
    """Draw residuals against fitted values, and the mean of each tenth of the rows."""
    names = in_order(sorted(set(rows[series])))
    for place, name in enumerate(names):
        part = rows[rows[series] == name]
        colour, marker = look_of(name, place)
        axis.plot(
            part["fitted"],
            part["residual"],
            label=name,
            color=colour,
            marker=marker,
            linestyle="",
            markersize=3,
            alpha=0.6,
        )

    tenth = pd.qcut(rows["fitted"], 10, duplicates="drop")
    means = rows.groupby(tenth, observed=True)[["fitted", "residual"]].mean()
    axis.plot(
        means["fitted"],
        means["residual"],
        color="0.1",
        marker="",
        linestyle="-",
        linewidth=1.8,
    )
    axis.axhline(0, color="0.35", linestyle="--", linewidth=1)
    axis.set_title("residual against fitted", size=10.5)


def _samples_of_panels(
    residuals: pd.Series, effects: pd.DataFrame
) -> dict[str, dict[str, pd.Series]]:
    """Return the samples that each panel compares with a normal distribution: by title
    and name.
    """
    samples = {name: part["value"] for name, part in effects.groupby("name")}
    sizes = effects.groupby("name", sort=False).size()
    largest = sizes.idxmax()
    others = {
        name: values / values.std()
        for name, values in samples.items()
        if name != largest
    }
    return {
        "residuals": {"residuals": residuals},
        f"effects of: {largest}": {largest: samples[largest]},
        "other random effects, in units of their sd": others,
    }


def _draw_against_normal(axis: Axes, title: str, samples: dict[str, pd.Series]) -> None:
    """Draw samples against the quantiles of a normal distribution, each with its line."""
    from scipy.stats import probplot

    for place, (name, values) in enumerate(samples.items()):
        colour = COLOURS[place]
        points, line = probplot(values.to_numpy(float))
        quantiles, ordered = points
        slope, intercept, _ = line
        axis.plot(
            quantiles,
            ordered,
            label=name,
            color=colour,
            marker=MARKERS[place],
            linestyle="",
            markersize=4,
        )
        axis.plot(
            quantiles,
            intercept + slope * quantiles,
            color=colour,
            linestyle=LINES[place],
            marker="",
            linewidth=1,
        )
    axis.set_title(title, size=10.5)
    axis.set_xlabel("normal quantile", size=9.5)
    if len(samples) > 1:
        axis.legend(fontsize=8.5)
