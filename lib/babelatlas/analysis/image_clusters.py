"""How alike the outcomes of one class's images are, and as how many independent images
they therefore count.

Where only images were counted, as in released results on Babel-ImageNet, an interval
over images is too short. It is widened by the intraclass correlation of the outcomes of
this study's own run, on the classes of which it has several pictures: stamps of Tux
Paint, clip art, by one weak model. Photographs of better models may be less alike, or
more.
"""

from functools import cache

import numpy as np
import pandas as pd

from babelatlas.analysis import real_run

# The run's pictures of which some classes have several, the model, and the least number
# of such classes in a language.
DATASET, MODEL, LEAST_CLASSES = "tuxpaint-nouns", "bridge-lite2", 20
IMAGES_OF_A_CLASS = 50  # in Babel-ImageNet


def outcomes(
    model: str = MODEL, results: str = "", least_classes: int = LEAST_CLASSES
) -> pd.DataFrame:
    """Return a model's outcomes by class on DATASET, schema `zeroshot`, in languages
    that can tell how alike they are.

    These are languages with `least_classes` classes of several pictures; `results`: as
    `real_run.read` takes it. Raises InputError, with the nearest name, for a model that
    has no outcomes there.
    """
    table = real_run.read("zeroshot", results).query("dataset == @DATASET")
    real_run.check_models(table, model)
    table = table[table["model"] == model]
    several = (table["n_images"] > 1).groupby(table["lang"]).transform("sum")
    return table[several >= least_classes].reset_index(drop=True)


def intraclass_correlation(
    table: pd.DataFrame, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the correlation of the outcomes of two pictures of one class, within
    languages: analysis of variance.

    `table`: columns lang, n_correct and n_images, a row for each class. `weights`: how
    often each row counts, shape (resamples, rows); without them once. Returns one value
    for each resample, 1 at most.
    """
    weights = np.ones((1, len(table))) if weights is None else weights
    pictures = table["n_images"].to_numpy(float)
    share = table["n_correct"].to_numpy(float) / pictures
    langs = pd.get_dummies(table["lang"]).to_numpy(float)

    classes = weights @ langs  # of each language, by resample
    total = (weights * pictures) @ langs  # pictures
    correct = (weights * pictures * share) @ langs
    squares = (weights * pictures**2) @ langs
    mean = _divided(correct, total) @ langs.T
    degrees = (classes - (classes > 0)).sum(axis=1)

    between = (weights * pictures * (share - mean) ** 2).sum(axis=1) / degrees
    within = (weights * pictures * share * (1 - share)).sum(axis=1) / (
        total - classes
    ).sum(axis=1)
    size = (total - _divided(squares, total)).sum(
        axis=1
    ) / degrees  # pictures of a class, as unequal ones count
    return (between - within) / (between + (size - 1) * within)


def _divided(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Return the quotient, 0 where a language is not in a resample."""
    return np.divide(
        numerator, denominator, out=np.zeros_like(denominator), where=denominator > 0
    )


@cache
def measured() -> float:
    """Return the intraclass correlation of the run that ships, of MODEL.

    >>> round(measured(), 2)
    0.42
    """
    return float(intraclass_correlation(outcomes())[0])


def variance_factor(
    images_per_class: float, correlation: float | np.ndarray
) -> float | np.ndarray:
    """Return how many times the variance of a mean over images is that of as many
    independent images.

    Intervals are longer by its root, and n images count as n divided by it (Kish 1965).

    >>> variance_factor(50, 0)
    1
    >>> variance_factor(50, 1)
    50
    """
    return 1 + (images_per_class - 1) * correlation


def independent_images(table: pd.DataFrame) -> pd.Series:
    """Return as how many independent cases the `n` of each row counts: that of
    Babel-ImageNet divided by its factor.

    `table`: columns dataset and n, as `released` has them. Other data sets count each
    query, image or question.
    """
    factor = variance_factor(IMAGES_OF_A_CLASS, measured())
    return (table["n"] / factor).where(table["dataset"] == "babel-imagenet", table["n"])
