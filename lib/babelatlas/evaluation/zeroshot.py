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
from collections.abc import Iterable, Mapping
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
CHUNK = 4096  # images whose scores are in memory at once
FIX = "classify the data set with this model again"  # where vectors cannot be read
# What is counted of each class.
COUNTS = ("n_correct", "n_correct_top5", "n_ties", "n_images")
# Language -> the wnids of its classes, and their vectors (classes, d).
Classes = Mapping[str, tuple[list[str], np.ndarray]]
# How images and classes are compared. Cosine: with the mean of the prompts' embeddings,
# each of length 1. Plain mean: cosine with the mean of the embeddings as they are. Dot
# product: with that mean as it is.
RULES = ("cosine", "plain mean", "dot product")


def normalise(vectors: np.ndarray) -> np.ndarray:
    """Return `vectors` (n, d) as float32 rows of length 1; raise InputError for a row
    that is NaN, infinite or zero.
    """
    vectors = np.asarray(vectors, dtype=np.float32)
    return vectors / _lengths(vectors)[:, None]


def scaled(vectors: np.ndarray) -> np.ndarray:
    """Return float32 rows divided by one number, the length of the longest; raises what
    `normalise` raises.
    """
    vectors = np.asarray(vectors, dtype=np.float32)
    return vectors / _lengths(vectors).max()


def _lengths(vectors: np.ndarray) -> np.ndarray:
    """Return the length of each row (n,); raise InputError for a row without one."""
    lengths = np.linalg.norm(vectors, axis=-1)
    bad = ~(np.isfinite(lengths) & (lengths > 0))
    if bad.any():
        where = f"the first in row {bad.argmax()}"
        raise InputError(
            f"{int(bad.sum())} of {len(bad)} embeddings are NaN, infinite or zero,"
            f" {where}."
        )
    return lengths


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
    n_better, n_equal = places(scores, target)
    return np.clip((k - n_better) / n_equal, 0.0, 1.0)


def places(scores: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each image how many classes score higher than its own, and how many
    the same, its own with them: (images,) each. Arguments as of `hits`.
    """
    right = _right_scores(scores, target)
    n_better = (scores > right + TIE).sum(axis=1)
    return n_better, (np.abs(scores - right) <= TIE).sum(axis=1)


def tied(scores: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return for each image whether its class shares the best score with another class:
    (images,) of bool.
    """
    right = _right_scores(scores, target)
    is_best = (scores <= right + TIE).all(axis=1)
    n_equal = (np.abs(scores - right) <= TIE).sum(axis=1)
    return is_best & (n_equal > 1)


def _right_scores(scores: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the score of each image's right class, as a column (images, 1)."""
    return scores[np.arange(len(scores)), target][:, None]


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
    label_set = {"": (class_wnids, classes)}
    table = evaluate_languages(images, image_wnids, label_set, folds)
    return table.drop(columns="lang")


def evaluate_languages(
    images: np.ndarray,
    image_wnids: Iterable[str],
    classes: Classes,
    folds: int = 0,
) -> pd.DataFrame:
    """Return what `evaluate` returns for the label set of each language, one below the
    other, with a column lang.
    """
    labelled = {wnid for wnids, _ in classes.values() for wnid in wnids}
    image_wnids = np.asarray(list(image_wnids), dtype=object)
    is_labelled = np.isin(image_wnids, list(labelled))
    images = normalise(np.asarray(images)[is_labelled])
    image_wnids = image_wnids[is_labelled]
    parts = []
    for lang, (class_wnids, vectors) in classes.items():
        target = pd.Index(class_wnids).get_indexer(image_wnids)
        counts = _counts(images, target, scaled(vectors), class_wnids, folds)
        parts.append(counts.assign(lang=lang))
    return pd.concat(parts, ignore_index=True)


def _counts(
    images: np.ndarray,
    target: np.ndarray,
    classes: np.ndarray,
    class_wnids: list[str],
    folds: int,
) -> pd.DataFrame:
    """Return the counts of `evaluate` for images of length 1 and class vectors as
    `scaled` makes them; `target` (images,): the row of an image's class, -1 for none.
    """
    n_classes = len(class_wnids)
    labelled = np.flatnonzero(target >= 0)
    fold = synsets.fold_of(class_wnids, folds) if folds else None
    counts = dict.fromkeys(COUNTS, 0.0)
    for start in range(0, len(labelled), CHUNK):
        rows = labelled[start : start + CHUNK]
        right = target[rows]
        scores = images[rows] @ classes.T
        if folds:
            scores[fold[right][:, None] != fold] = -2  # below any cosine
        found = {
            "n_correct": hits(scores, right),
            "n_correct_top5": hits(scores, right, k=5),
            "n_ties": tied(scores, right),
            "n_images": np.ones(len(right)),
        }
        for name, values in found.items():
            counts[name] += np.bincount(right, values, n_classes)
    table = pd.DataFrame({"wnid": class_wnids} | counts)
    _check_images(table)
    return table.astype({"n_ties": np.int64, "n_images": np.int64})


def _check_images(table: pd.DataFrame) -> None:
    """Raise InputError where a class has no image."""
    without = table.loc[table["n_images"] == 0, "wnid"]
    if len(without):
        raise InputError(
            f"{len(without)} class(es) of the labels have no image, the first"
            f" {without.iloc[0]}: add them."
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
    offer: what `class_counts.curve` computes without drawing.

    For each size, `n_subsets` subsets of that many classes are drawn without
    replacement; the images of the subset are classified among its classes alone. A size
    that the language does not reach is left out, and all its classes are drawn once. A
    draw is the same for every model, as long as seed and classes are. Returns
    n_classes, number (of the draw), n_correct, n_images. Source: Geigle et al. (2024),
    Figure 2 and Table 3.
    """
    n_classes = len(class_wnids)
    target = pd.Index(class_wnids).get_indexer(list(image_wnids))
    labelled = np.flatnonzero(target >= 0)
    scores, target = similarity(images[labelled], classes), target[labelled]
    counts = []
    for size in sorted({size for size in sizes if size <= n_classes}):
        for draw in range(n_subsets if size < n_classes else 1):
            rng = np.random.default_rng([seed, size, draw])
            chosen = rng.permutation(n_classes)[:size]
            # Where a class stands among those chosen, -1 for nowhere.
            place = np.full(n_classes, -1)
            place[chosen] = np.arange(size)
            of_subset = place[target] >= 0
            right = hits(scores[of_subset][:, chosen], place[target[of_subset]])
            counts.append((size, draw, right.sum(), len(right)))
    columns = ["n_classes", "number", "n_correct", "n_images"]
    return pd.DataFrame(counts, columns=columns)


def write_vectors(
    path: str | os.PathLike,
    images: np.ndarray,
    image_wnids: Iterable[str],
    classes: Classes,
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
        arrays[f"{lang} wnids"] = np.array(wnids, dtype=str)
        arrays[f"{lang} classes"] = np.asarray(vectors, np.float32)
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
