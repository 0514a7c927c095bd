"""Accuracy among fewer classes, exactly: what random subsets of a label set estimate.

An image is right among k classes if its own is drawn and no class that scores higher is.
With its class at rank r of all C, and the other k - 1 classes drawn at random, that has
the hypergeometric probability C(C - r, k - 1) / C(C - 1, k - 1). So the ranks of a whole
evaluation give accuracy for every number of classes, without a draw. Geigle et al.
(2024, Figure 2 and Table 3) draw subsets.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy.special import gammaln

from babelatlas.base.errors import InputError
from babelatlas.evaluation import zeroshot
from babelatlas.stats import bootstrap, proportions, regression

POINTS = 100  # of a whole


def rank_counts(
    images: np.ndarray,
    image_wnids: Iterable[str],
    classes: np.ndarray,
    class_wnids: list[str],
) -> np.ndarray:
    """Return how many images of each class have their class at each rank (classes,
    ranks): expected numbers, since equal scores share their ranks.

    `images` (images, d), `classes` (classes, d); images of other classes are left out.
    Column 0 is the first rank. Rows have the order of `class_wnids`.

    >>> rank_counts([[1, 0], [0, 1]], ["a", "b"], [[0, 1], [0, 1]], ["a", "b"]).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    n_classes = len(class_wnids)
    target = pd.Index(class_wnids).get_indexer(list(image_wnids))
    labelled = np.flatnonzero(target >= 0)
    vectors = zeroshot.scaled(classes)
    # A share of an image starts at its first rank and ends after its last.
    steps = np.zeros((n_classes, n_classes + 1))
    for start in range(0, len(labelled), zeroshot.CHUNK):
        rows = labelled[start : start + zeroshot.CHUNK]
        scores = zeroshot.normalise(np.asarray(images)[rows]) @ vectors.T
        n_better, n_equal = zeroshot.places(scores, target[rows])
        np.add.at(steps, (target[rows], n_better), 1 / n_equal)
        np.add.at(steps, (target[rows], n_better + n_equal), -1 / n_equal)
    return steps.cumsum(axis=1)[:, :-1]


def chances(n_classes: int, sizes: Iterable[int]) -> np.ndarray:
    """Return the probability (ranks, sizes) that an image whose class has a rank among
    all `n_classes` is right among as many random ones, its own with them.

    >>> chances(4, [1, 2, 4]).round(2).tolist()
    [[1.0, 1.0, 1.0], [1.0, 0.67, 0.0], [1.0, 0.33, 0.0], [1.0, 0.0, 0.0]]
    """
    size = np.asarray(list(sizes))
    if size.size and (size.min() < 1 or size.max() > n_classes):
        raise InputError(
            f"Of {n_classes} classes 1 to {n_classes} can be drawn, got {size.min()} to"
            f" {size.max()}: leave the others out."
        )
    n_worse = n_classes - np.arange(1, n_classes + 1)[:, None]
    drawn = size - 1
    left = np.maximum(n_worse - drawn, 0)
    log_ratio = gammaln(n_worse + 1) - gammaln(left + 1)
    log_ratio = log_ratio - gammaln(n_classes) + gammaln(n_classes - drawn)
    return np.where(n_worse >= drawn, np.exp(log_ratio), 0.0)


def curve(
    counts: np.ndarray, n_resamples: int = 1000, seed: int = 0, sizes: Iterable = ()
) -> pd.DataFrame:
    """Return accuracy among every number of classes from 2 to all: n_classes, value (a
    fraction), ci_low, ci_high, n_images, n_at_rank.

    `counts`: as `rank_counts` gives them; `sizes`: numbers of classes, in place of all.
    The 95 % interval is over the classes that are tested, which are resampled with
    their images; the names that they are told from stay. Near 0 or 1 it is that of
    `proportions.share_interval`, as in `bootstrap.accuracy_interval`; one tested class
    has none (NaN). `n_at_rank`: the images whose
    class has the rank `n_classes` among all, so that the curve holds the counts of
    ranks, too. Empty where there are fewer than two classes. Raises InputError where no
    class has an image, or ranks do not fit the number of classes.
    """
    columns = ["n_classes", "value", "ci_low", "ci_high", "n_images", "n_at_rank"]
    counts = np.asarray(counts, float)
    n_classes = len(counts)
    if n_classes < 2:
        return pd.DataFrame(columns=columns)
    sizes = np.array([*sizes] or range(2, n_classes + 1))
    right, n_images = _correct(counts, sizes)
    value = right.sum(axis=0) / n_images.sum()
    low = high = np.full(len(sizes), np.nan)
    if len(n_images) > 1:
        resampled = _resampled(right, n_images, n_resamples, seed)
        ends = bootstrap.percentile_interval(resampled, n_clusters=len(n_images))
        seen = np.repeat(n_images[:, None], len(sizes), axis=1)
        low, high = proportions.share_interval(right, seen, ends)
    table = {
        "n_classes": sizes,
        "value": value,
        "ci_low": np.minimum(low, value),
        "ci_high": np.maximum(high, value),
        "n_images": round(n_images.sum()),
        "n_at_rank": counts.sum(axis=0)[sizes - 1],
    }
    return pd.DataFrame(table)


def _correct(counts: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how many images of each tested class are right among each number of
    classes (tested classes, sizes), and how many there are (tested classes).
    """
    n_classes, n_ranks = counts.shape
    if n_ranks != n_classes:
        raise InputError(
            f"Ranks among {n_classes} classes should be counted from 1 to {n_classes},"
            f" got {n_ranks} columns: count them among the labels of one language."
        )
    n_images = counts.sum(axis=1)
    is_tested = n_images > 0
    if not is_tested.any():
        raise InputError("No class of the labels has an image: add some.")
    return counts[is_tested] @ chances(n_classes, sizes), n_images[is_tested]


def _resampled(
    right: np.ndarray, n_images: np.ndarray, n_resamples: int, seed: int
) -> np.ndarray:
    """Return accuracies with the tested classes resampled (resamples, sizes)."""
    weights = bootstrap.resample_weights(len(n_images), n_resamples, seed)
    return (weights @ right) / (weights @ n_images)[:, None]


def log_linear(
    counts: np.ndarray, sizes: Iterable[int], n_resamples: int = 1000, seed: int = 0
) -> pd.DataFrame:
    """Return the least-squares line of accuracy over the logarithm of the number of
    classes, as `regression.log_linear_fit` does (one row).

    Through those of `sizes` that are at least 2 and that there are, and all classes.
    The 95 % interval of the change with each doubling (points) is over the classes that
    are tested, as in `curve`.
    """
    counts = np.asarray(counts, float)
    n_classes = len(counts)
    sizes = np.array(sorted({k for k in sizes if 2 <= k < n_classes} | {n_classes}))
    if n_classes < 2:
        return regression.log_linear_fit([], [])
    right, n_images = _correct(counts, sizes)
    value = right.sum(axis=0) / n_images.sum()
    fit = regression.log_linear_fit(sizes, value, n_resamples=20)
    if fit["reason"][0] or len(n_images) < 2:
        return fit.assign(ci_low=np.nan, ci_high=np.nan)
    resampled = _resampled(right, n_images, n_resamples, seed)
    slopes = POINTS * np.polyfit(np.log2(sizes), resampled.T, 1)[0]
    low, high = bootstrap.percentile_interval(slopes, n_clusters=len(n_images))
    slope = fit["per_doubling"]
    return fit.assign(ci_low=np.minimum(low, slope), ci_high=np.maximum(high, slope))
