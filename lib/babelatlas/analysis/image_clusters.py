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

DATASET = "tuxpaint-nouns"  # some of its classes have several pictures
MODEL = "bridge-lite2"
LEAST_CLASSES = 20  # with several pictures, that a language needs
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
    if weights is None:
        weights = np.ones((1, len(table)))
    pictures = table["n_images"].to_numpy(float)
    share = table["n_correct"].to_numpy(float) / pictures
    langs = pd.get_dummies(table["lang"]).to_numpy(float)

    # Numbers by resample and language.
    n_classes = weights @ langs
    n_pictures = (weights * pictures) @ langs
    n_correct = (weights * pictures * share) @ langs
    squares = (weights * pictures**2) @ langs
    mean = _divided(n_correct, n_pictures) @ langs.T

    # Degrees of freedom, and mean squares, by resample.
    between_classes = (n_classes - (n_classes > 0)).sum(axis=1)
    within_classes = (n_pictures - n_classes).sum(axis=1)
    deviations = weights * pictures * (share - mean) ** 2
    variances = weights * pictures * share * (1 - share)
    between = deviations.sum(axis=1) / between_classes
    within = variances.sum(axis=1) / within_classes

    # Pictures of a class, as unequal numbers count.
    size = (n_pictures - _divided(squares, n_pictures)).sum(axis=1) / between_classes
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
    is_babel_imagenet = table["dataset"] == "babel-imagenet"
    return table["n"].mask(is_babel_imagenet, table["n"] / factor)
