"""Straight lines with bootstrap bands, and fits over the logarithm of a number of
classes.
"""

import numpy as np
import pandas as pd
import scipy

from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap, correlation
from babelatlas.stats.checks import check_columns, check_numbers

POINTS = 50  # of a line, at which its band is drawn
FIT_COLUMNS = ["intercept", "slope", "per_doubling", "ci_low", "ci_high"]
FIT_COLUMNS += ["r2", "max_residual"]


def _line(
    x: np.ndarray, y: np.ndarray, drawn: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return intercept and slope of the least-squares line in each resample, NaN where
    x is constant.
    """
    n = drawn.sum(axis=1)
    mean_x, mean_y = drawn @ x / n, drawn @ y / n
    variance = drawn @ (x * x) / n - mean_x**2
    covariance = drawn @ (x * y) / n - mean_x * mean_y
    slope = np.divide(
        covariance, variance, out=np.full(len(n), np.nan), where=variance > 1e-12
    )
    return mean_y - slope * mean_x, slope


def regression_band(
    table: pd.DataFrame,
    x: str,
    y: str,
    cluster: str = "lang",
    n_resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the least-squares line of y on x over the range of x, with its bootstrap
    band: x, y, ci_low, ci_high.

    At `POINTS` values of x, evenly spread. Raises InputError for fewer than three rows,
    gaps, one x alone, or a single cluster.
    """
    check_columns(table, x=x, y=y, cluster=cluster)
    if len(table) < 3:
        raise InputError(
            f"A line of {y} on {x} needs three rows at least, got {len(table)}: leave"
            " it out."
        )
    check_numbers(table, [x, y], [cluster])
    if table[x].nunique() < 2:
        raise InputError(
            f"A line of {y} on {x} needs two different values of {x}: leave it out."
        )
    x_values, y_values = table[x].to_numpy(float), table[y].to_numpy(float)
    at = np.linspace(x_values.min(), x_values.max(), POINTS)
    fit = scipy.stats.linregress(x_values, y_values)
    drawn, n_clusters = correlation.crossed_weights(table, cluster, n_resamples, seed)
    intercept, slope = _line(x_values, y_values, drawn)
    lines = intercept[:, None] + slope[:, None] * at
    low, high = bootstrap.percentile_interval(lines, n_clusters=n_clusters)
    return pd.DataFrame(
        {"x": at, "y": fit.intercept + fit.slope * at, "ci_low": low, "ci_high": high}
    )


def log_linear_fit(
    n_classes: pd.Series | np.ndarray,
    accuracy: pd.Series | np.ndarray,
    cluster: pd.Series | np.ndarray | None = None,
    n_resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Fit accuracy = intercept + slope * ln(n_classes) by least squares; return one
    row.

    Columns: intercept, slope (both as fractions), per_doubling, ci_low, ci_high (points
    of accuracy gained with each doubling of the number of classes, negative where it
    falls, and its interval), r2 (NaN where the accuracy is constant), max_residual
    (points), n, n_clusters, reason. `cluster` says which rows belong together (the
    draws of one subset, say), each by itself unless given.

    Where a fit is not possible `reason` says why, and the numbers but n and n_clusters
    are NaN, so that one language does not stop the others; with a fit it is "". Raises
    InputError for gaps, and for a number of classes below 1.

    >>> log_linear_fit([10, 10, 10], [0.5, 0.6, 0.4]).reason[0]
    'one number of classes (10), and a line needs two'
    """
    sizes, y = np.asarray(n_classes, float), np.asarray(accuracy, float)
    if not np.isfinite([sizes, y]).all() or (sizes < 1).any():
        raise InputError(
            "A fit over the number of classes needs numbers of 1 or more, and no gaps:"
            " leave those out."
        )
    clusters = pd.DataFrame(
        {"cluster": np.arange(len(y)) if cluster is None else np.asarray(cluster)}
    )
    n_clusters = clusters["cluster"].nunique()
    row = dict.fromkeys(FIT_COLUMNS, np.nan)
    row |= {
        "n": len(y),
        "n_clusters": n_clusters,
        "reason": _reason_for_no_fit(sizes, n_clusters),
    }
    if not row["reason"]:
        row |= _fit_with_interval(np.log(sizes), y, clusters, n_resamples, seed)
    return pd.DataFrame([row])


def _reason_for_no_fit(sizes: np.ndarray, n_clusters: int) -> str:
    """Return why there can be no fit over numbers of classes, "" where there can be
    one.
    """
    if not len(sizes):
        return "no results"
    if len(np.unique(sizes)) < 2:
        return f"one number of classes ({sizes[0]:.0f}), and a line needs two"
    if len(sizes) < 3:
        return "two results, and any line passes through both"
    if n_clusters < 2:
        return "all results belong together, and an interval needs two that do not"
    return ""


def _fit_with_interval(
    x: np.ndarray, y: np.ndarray, clusters: pd.DataFrame, n_resamples: int, seed: int
) -> dict:
    """Return the numbers of `log_linear_fit` for the line of y on x, whose rows belong
    to `clusters`.
    """
    drawn, n_clusters = correlation.crossed_weights(
        clusters, "cluster", n_resamples, seed
    )
    points = 100 * np.log(2)
    low, high = bootstrap.percentile_interval(
        points * _line(x, y, drawn)[1], n_clusters=n_clusters
    )

    fit = scipy.stats.linregress(x, y)
    return {
        "intercept": fit.intercept,
        "slope": fit.slope,
        "per_doubling": points * fit.slope,
        "ci_low": low,
        "ci_high": high,
        "r2": fit.rvalue**2 if np.ptp(y) > 0 else np.nan,
        "max_residual": 100 * float(np.abs(y - fit.intercept - fit.slope * x).max()),
    }
