"""Simulated people who rate the miniature's captions: what they would say is known, and declared noise is added.

How good a caption is, is how well it names what its scene shows. The raters stand for those of Thapliyal et al. (2022),
three of whom rate each caption, or each pair of captions side by side.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from babelatlas.base.errors import InputError

RATINGS = ("BAD", "MEDIUM", "GOOD", "EXCELLENT")
N_RATERS = 3


def quality(named: Sequence[Sequence[str]], shown: Sequence[Sequence[str]]) -> np.ndarray:
    """Return how well captions name what scenes show, an array of fractions: F1 of the things named.

    `named`: of each caption one entry for each thing that it lists, its wnid, or "" where its word means another;
    `shown`: the wnids in each scene.

    >>> quality([["cat", "sun"], ["cat", ""]], [["cat", "sun"], ["cat"]]).round(3).tolist()
    [1.0, 0.667]
    """
    pairs = zip(named, shown, strict=True)
    return np.array([2 * len(set(one) & set(other)) / (len(one) + len(other)) for one, other in pairs])


def compare(
    base: pd.Series, model: pd.Series, noise: float, strength: float = 4.0, n_raters: int = N_RATERS, seed: int = 0
) -> pd.DataFrame:
    """Return what raters say of captions side by side: image, rater, preference from -3 to 3.

    `base`, `model`: the quality of both models' captions by image, in one order. Each rater adds normal noise of
    standard deviation `noise` to `strength` times the difference, and rounds. Raises InputError where images differ.
    """
    if not base.index.equals(model.index):
        raise InputError(
            f"Captions are compared image by image: got {len(base)} and {len(model)} images that are not the same."
        )
    _check(noise)
    gaps = strength * (model - base).to_numpy()[:, None]
    said = gaps + np.random.default_rng([seed, 30]).normal(0, noise, (len(base), n_raters))
    return _long(np.clip(np.rint(said), -3, 3).astype(int), base.index, "preference")


def rate(quality: pd.Series, noise: float, n_raters: int = N_RATERS, seed: int = 0) -> pd.DataFrame:
    """Return what raters say of single captions: image, rater, rating (one of `RATINGS`).

    Each rater adds normal noise of standard deviation `noise` to three times the quality, a fraction, and rounds to
    BAD (0), MEDIUM, GOOD or EXCELLENT (3).
    """
    _check(noise)
    said = 3 * quality.to_numpy()[:, None] + np.random.default_rng([seed, 31]).normal(
        0, noise, (len(quality), n_raters)
    )
    table = _long(np.clip(np.rint(said), 0, 3).astype(int), quality.index, "rating")
    return table.assign(rating=table["rating"].map(dict(enumerate(RATINGS))))


def _check(noise: float) -> None:
    if noise < 0:
        raise InputError(f"The noise of the raters is {noise}: expected a standard deviation of 0 or more.")


def _long(said: np.ndarray, images: pd.Index, name: str) -> pd.DataFrame:
    """Return an array (images, raters) as a table with one row for each rater of each image."""
    raters = [f"simulated {number + 1}" for number in range(said.shape[1])]
    every = pd.MultiIndex.from_product([images, raters], names=["image", "rater"])
    return pd.DataFrame({name: said.ravel()}, every).reset_index()
