"""Straight lines with bootstrap bands, and fits over the logarithm of a number of classes."""

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap, correlation

POINTS = 50  # of a line, at which its band is drawn


def _line(x: np.ndarray, y: np.ndarray, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return intercept and slope of the least-squares line in each resample, NaN where x is constant."""
    n = drawn.sum(axis=1)
    mean_x, mean_y = drawn @ x / n, drawn @ y / n
    xx, xy = drawn @ (x * x) / n - mean_x**2, drawn @ (x * y) / n - mean_x * mean_y
    slope = np.divide(xy, xx, out=np.full(len(xx), np.nan), where=xx > 1e-12)
    return mean_y - slope * mean_x, slope


def regression_band(
    table: pd.DataFrame, x: str, y: str, cluster: str = "lang", n_resamples: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Return the least-squares line of y on x over the range of x, with its bootstrap band: x, y, ci_low, ci_high.

    At `POINTS` values of x, evenly spread; a single cluster raises InputError.
    """
    first, second = table[x].to_numpy(float), table[y].to_numpy(float)
    at = np.linspace(first.min(), first.max(), POINTS)
    fit = scipy_stats.linregress(first, second)
    drawn, n_clusters = correlation.crossed_weights(table, cluster, n_resamples, seed)
    intercept, slope = _line(first, second, drawn)
    low, high = bootstrap.percentile_interval(intercept[:, None] + slope[:, None] * at, n_clusters=n_clusters)
    return pd.DataFrame({"x": at, "y": fit.intercept + fit.slope * at, "ci_low": low, "ci_high": high})


def log_linear_fit(
    n_classes: pd.Series | np.ndarray,
    accuracy: pd.Series | np.ndarray,
    cluster: pd.Series | np.ndarray | None = None,
    n_resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Fit accuracy = intercept + slope * ln(n_classes) by least squares; return one row.

    Columns: intercept, slope (both as fractions), per_doubling, ci_low, ci_high (points of accuracy gained with each
    doubling of the number of classes, negative where it falls, and its interval), r2, max_residual (points), n,
    n_clusters. `cluster` says which rows belong together (the draws of one subset, say), each by itself unless given.
    """
    x, y = np.log(np.asarray(n_classes, float)), np.asarray(accuracy, float)
    if len(np.unique(x)) < 2 or not np.isfinite(x + y).all():
        raise InputError("A fit over the number of classes needs two different numbers, and no gaps.")
    clusters = pd.DataFrame({"cluster": np.arange(len(x)) if cluster is None else np.asarray(cluster)})
    drawn, n_clusters = correlation.crossed_weights(clusters, "cluster", n_resamples, seed)
    fit, points = scipy_stats.linregress(x, y), 100 * np.log(2)
    low, high = bootstrap.percentile_interval(points * _line(x, y, drawn)[1], n_clusters=n_clusters)
    residual = 100 * float(np.abs(y - fit.intercept - fit.slope * x).max())
    row = {"intercept": fit.intercept, "slope": fit.slope, "per_doubling": points * fit.slope, "ci_low": low}
    row |= {"ci_high": high, "r2": fit.rvalue**2, "max_residual": residual, "n": len(x), "n_clusters": n_clusters}
    return pd.DataFrame([row])
