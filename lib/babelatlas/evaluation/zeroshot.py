"""Zero-shot image classification: pure functions from embeddings to counts.

The procedure is that of Radford et al. (2021) as used by Geigle et al. (2024, section
4): a class is the mean of the embeddings of its prompts, each of length 1, and the
prediction the class whose vector has the highest cosine with the image. For M-CLIP and
sentence-transformers the code released with that paper leaves the embeddings of prompts
as they are, and normalises their mean only; with the bare label not even that. So there
are three rules (`RULES`), which are applied where class vectors are made. Everything is
computed in float32 whatever the encoder ran in.

A tie counts as its expected value: where k classes share the best score and the right
one is among them, the image counts 1/k, and it is counted as tied, as two classes with
one label in a language always do.
"""

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.base import synsets, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import beside, locate
from babelatlas.base.tables import PROTOCOL

# Cosines that differ by less are equal: it is above the rounding of a float32 dot
# product of unit vectors (about 1e-7).
TIE = 1e-6
CHUNK = 4096
FIX = "run 67_zeroshot for this model"  # where vectors cannot be read
# How images and classes are compared. Cosine: with the mean of the prompts' embeddings,
# each of length 1. Plain mean: cosine with the mean of the embeddings as they are. Dot
# product: with that mean as it is.
RULES = ("cosine", "plain mean", "dot product")


def normalise(vectors: np.ndarray) -> np.ndarray:
    """Return `vectors` (n, d) as float32 rows of length 1; raise InputError for a row
    that is NaN, infinite or zero.
    """
    vectors = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    bad = ~(np.isfinite(lengths) & (lengths > 0)).ravel()
    if bad.any():
        where = f"the first in row {bad.argmax()}"
        raise InputError(
            f"{int(bad.sum())} of {len(bad)} embeddings are NaN, infinite or zero,"
            f" {where}."
        )
    return vectors / lengths


def scaled(vectors: np.ndarray) -> np.ndarray:
    """Return float32 rows divided by one number, the length of the longest; raises what
    `normalise` raises.
    """
    normalise(vectors)
    vectors = np.asarray(vectors, dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=-1).max()


def similarity(images: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the scores (images, classes), float32, of image embeddings (images, d) and
    class vectors (classes, d).

    With class vectors of length 1 they are cosines, else dot products divided by the
    length of the image and by that of the longest class vector, so that a tie is a tie
    at any scale.
    """
    return normalise(images) @ scaled(classes).T


def hits(scores: np.ndarray, target: np.ndarray, k: int = 1) -> np.ndarray:
    """Return for each image the probability that its class is among the k best if ties
    are broken at random.

    `scores` (images, classes), higher is better; `target` (images,) the column of the
    right class. Values are 0 or 1 save for ties at the k-th place.

    >>> hits(np.array([[0.9, 0.1, 0.9], [0.2, 0.8, 0.1]]), np.array([0, 1])).tolist()
    [0.5, 1.0]
    """
    own = scores[np.arange(len(scores)), target][:, None]
    better = (scores > own + TIE).sum(axis=1)
    equal = (np.abs(scores - own) <= TIE).sum(axis=1)
    return np.clip((k - better) / equal, 0.0, 1.0)


def tied(scores: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return for each image whether its class shares the best score with another class:
    (images,) of bool.
    """
    own = scores[np.arange(len(scores)), target][:, None]
    return (scores <= own + TIE).all(axis=1) & (
        (np.abs(scores - own) <= TIE).sum(axis=1) > 1
    )


def evaluate(
    images: np.ndarray,
    image_wnids: Iterable[str],
    classes: np.ndarray,
    class_wnids: list[str],
    folds: int = 0,
) -> pd.DataFrame:
    """Return the counts of right predictions for each class of one label set.

    `images` (images, d) with their classes `image_wnids`; `classes` (classes, d) with
    `class_wnids`; scores are those of `similarity`. Images of classes without a label
    are left out: a language is tested on the classes that it names. With `folds` only
    classes of an image's own fold (`synsets.fold_of`) are candidates, which a bridge
    did not have. Returns one row for each class: wnid, n_correct, n_correct_top5
    (expected values), n_ties, n_images.
    """
    images, counts = np.asarray(images), np.zeros((4, len(class_wnids)))
    target = pd.Index(class_wnids).get_indexer(list(image_wnids))
    known = np.flatnonzero(target >= 0)
    for start in range(0, len(known), CHUNK):
        rows = known[start : start + CHUNK]
        scores, right = similarity(images[rows], classes), target[rows]
        if folds:
            fold = synsets.fold_of(class_wnids, folds)
            scores[fold[right][:, None] != fold] = -2  # below any cosine
        each = (
            hits(scores, right),
            hits(scores, right, k=5),
            tied(scores, right),
            np.ones(len(right)),
        )
        for row, values in enumerate(each):
            counts[row] += np.bincount(
                right, weights=values, minlength=len(class_wnids)
            )
    without = [wnid for wnid, n in zip(class_wnids, counts[3], strict=True) if n == 0]
    if without:
        raise InputError(
            f"{len(without)} class(es) of the labels have no image, the first"
            f" {without[0]}: add them."
        )
    table = pd.DataFrame(
        {"wnid": class_wnids, "n_correct": counts[0], "n_correct_top5": counts[1]}
    )
    return table.assign(
        n_ties=counts[2].astype(np.int64), n_images=counts[3].astype(np.int64)
    )


def subset_counts(
    images: np.ndarray,
    image_wnids: Iterable[str],
    classes: np.ndarray,
    class_wnids: list[str],
    sizes: list[int],
    n_subsets: int,
    seed: int,
) -> pd.DataFrame:
    """Return the right predictions when only a random subset of the classes is on
    offer.

    For each size, `n_subsets` subsets of that many classes are drawn without
    replacement; the images of the subset are classified among its classes alone. A size
    that the language does not reach is left out, and all its classes are drawn once. A
    draw is the same for every model, as long as seed and classes are. Returns
    n_classes, number (of the draw), n_correct, n_images. Source: Geigle et al. (2024),
    Figure 2 and Table 3.
    """
    target = pd.Index(class_wnids).get_indexer(list(image_wnids))
    rows = np.flatnonzero(target >= 0)
    scores, target = similarity(images[rows], classes), target[rows]
    counts = []
    for size in sorted({size for size in sizes if size <= len(class_wnids)}):
        for draw in range(n_subsets if size < len(class_wnids) else 1):
            chosen = np.random.default_rng([seed, size, draw]).permutation(
                len(class_wnids)
            )[:size]
            column = np.full(len(class_wnids), -1)
            column[chosen] = np.arange(size)
            here = column[target] >= 0
            right = hits(scores[here][:, chosen], column[target[here]])
            counts.append((size, draw, right.sum(), len(right)))
    return pd.DataFrame(
        counts, columns=["n_classes", "number", "n_correct", "n_images"]
    )


def write_vectors(
    path: str | os.PathLike,
    images: np.ndarray,
    image_wnids: Iterable[str],
    classes: dict,
    prompts: dict[str, str] | None = None,
    protocol: dict[str, dict[str, str]] | None = None,
    source: dict[str, str] | None = None,
) -> Path:
    """Save image embeddings and class vectors in an .npz file, so that later stages
    need no encoder; return the path.

    `classes` maps a language to (class wnids, class vectors (classes, d)), `prompts` to
    the set of prompts they were made with, `protocol` to similarity, precision and
    preprocessing. `source`: the model, dataset and labels.
    """
    arrays = {
        "images": np.asarray(images, np.float32),
        "image_wnids": np.array(list(image_wnids), dtype=str),
    }
    for lang, (wnids, vectors) in classes.items():
        arrays |= {
            f"{lang} wnids": np.array(wnids, dtype=str),
            f"{lang} classes": np.asarray(vectors, np.float32),
        }
    texts = {f"{lang} prompts": name for lang, name in (prompts or {}).items()}
    for lang, settings in (protocol or {}).items():
        texts |= {f"{lang} {name}": option for name, option in settings.items()}
    texts |= {f"of {name}": value for name, value in (source or {}).items()}
    arrays |= {name: np.array(text) for name, text in texts.items()}
    with beside(path) as part, part.open("wb") as file:
        np.savez(file, **arrays)
    return locate(path)


def read_vectors(
    path: str | os.PathLike, **source: str
) -> tuple[np.ndarray, np.ndarray, dict]:
    """Return what `write_vectors` saved: image embeddings, wnids, and {language: (class
    wnids, class vectors)}.

    `source`: the model, dataset or labels that they should be of, where the file says
    so; InputError for another one.
    """
    arrays = tables.arrays(path, FIX)
    for name, wanted in source.items():
        stored = str(arrays.get(f"of {name}", wanted))
        if stored != wanted:
            raise InputError(
                f"The embeddings {locate(path)} are of the {name} {stored!r}, not of"
                f" {wanted!r}."
            )
    langs = [name.removesuffix(" wnids") for name in arrays if name.endswith(" wnids")]
    classes = {
        lang: (arrays[f"{lang} wnids"].tolist(), arrays[f"{lang} classes"])
        for lang in langs
    }
    return arrays["images"], arrays["image_wnids"], classes


def read_protocol(path: str | os.PathLike) -> dict[str, dict[str, str]]:
    """Return how each language's vectors were made and are compared: {language: {column
    of a result: option}}.
    """
    names = ("prompts", *PROTOCOL)
    arrays = tables.arrays(path, FIX, tuple(f" {name}" for name in names))
    langs = [
        name.removesuffix(" prompts") for name in arrays if name.endswith(" prompts")
    ]
    return {
        lang: {name: str(arrays[f"{lang} {name}"]) for name in names} for lang in langs
    }
