"""What the assumptions of a fit look like."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

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
    from scipy import stats as scipy_stats

    figure, axes = plt.subplots(2, 2, figsize=(7.2, 6.2), layout="constrained")
    first = axes[0, 0]
    names = in_order(sorted(set(rows[series])))
    for place, name in enumerate(names):
        part, (colour, marker) = rows[rows[series] == name], look_of(name, place)
        look = {
            "color": colour,
            "marker": marker,
            "linestyle": "",
            "markersize": 3,
            "alpha": 0.6,
        }
        first.plot(part["fitted"], part["residual"], label=name, **look)
    tenths = rows.groupby(
        pd.qcut(rows["fitted"], 10, duplicates="drop"), observed=True
    )[["fitted", "residual"]].mean()
    first.plot(
        tenths["fitted"],
        tenths["residual"],
        color="0.1",
        marker="",
        linestyle="-",
        linewidth=1.8,
    )
    first.axhline(0, color="0.35", linestyle="--", linewidth=1)
    first.set_title("residual against fitted", size=10.5)
    sizes = effects.groupby("name", sort=False).size()
    largest = sizes.idxmax()
    samples = {"residuals": {"residuals": rows["residual"]}}
    samples[f"effects of: {largest}"] = {
        largest: effects.loc[effects["name"] == largest, "value"]
    }
    others = {
        name: part["value"] / part["value"].std()
        for name, part in effects.groupby("name")
        if name != largest
    }
    samples["other random effects, in units of their sd"] = others
    for axis, (title, parts) in zip(axes.ravel()[1:], samples.items(), strict=True):
        for place, (name, values) in enumerate(parts.items()):
            (at, ordered), (slope, start, _) = scipy_stats.probplot(
                values.to_numpy(float)
            )
            axis.plot(
                at,
                ordered,
                MARKERS[place],
                color=COLOURS[place],
                linestyle="",
                markersize=4,
                label=name,
            )
            axis.plot(
                at,
                start + slope * at,
                color=COLOURS[place],
                linestyle=LINES[place],
                marker="",
                linewidth=1,
            )
        axis.set_title(title, size=10.5)
        axis.set_xlabel("normal quantile", size=9.5)
        if len(parts) > 1:
            axis.legend(fontsize=8.5)
    for axis in axes.ravel():
        axis.tick_params(labelsize=9)
    legend_below(figure, first, fontsize=9, markerscale=2)
    return with_data(axes, rows)
