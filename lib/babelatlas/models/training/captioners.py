"""The miniature's captioners: a classifier of a scene's cells, and words for what it finds in each language.

A captioner learns a few drawings of each thing, as vectors of the image tower of an embedded model, and noise as the
class of empty cells. It lists what it finds in reading order, in one of two ways of speaking: with the words that
people use, or with those that a dictionary without senses gives for the English ones, as a captioner learns them
that is trained on translated captions.
"""

import os
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from PIL import Image

from babelatlas.base.errors import InputError
from babelatlas.datasets import pictograms, scenes

# Shrinks the weights of the classifier; features have a length of about 1 after scaling.
RIDGE = 1e-2
NOTHING = ""


def train(
    tower: str | os.PathLike, wnids: Sequence[str], n_drawings: int, seed: int = 0
) -> Callable[[Sequence[Image.Image]], list[list[str]]]:
    """Return a function that says what scenes show: of each a list of wnids in reading order, possibly empty.

    `tower`: the folder of an embedded model. The classifier is a ridge regression to one column a class, the things
    of `wnids` and nothing, learnt from `n_drawings` training drawings of each. Raises InputError for none.
    """
    if n_drawings < 1:
        raise InputError(f"A captioner was to learn {n_drawings} drawings of each thing: expected at least 1.")
    from babelatlas.models import gated_fusion  # it imports torch

    features = gated_fusion.image_tower(tower)
    vectors, rows = gated_fusion.drawn(wnids, tower, n_drawings, seed)
    empty = pd.DataFrame({"wnid": [], "cell": []})
    blank = [
        cell for number in range(2 * n_drawings) for cell in scenes.cells(scenes.draw(empty, "train", number, seed))
    ]
    known = [*wnids, NOTHING]
    inputs = _scaled(np.concatenate([*(vectors[one] for one in rows), features(blank)]))
    classes = np.concatenate([np.repeat(np.arange(len(wnids)), n_drawings), np.full(len(blank), len(wnids))])
    targets = np.eye(len(known))[classes]
    weights = np.linalg.solve(inputs.T @ inputs + RIDGE * np.eye(inputs.shape[1]), inputs.T @ targets)

    def recognise(pictures: Sequence[Image.Image]) -> list[list[str]]:
        parts = [cell for picture in pictures for cell in scenes.cells(picture)]
        found = [known[index] for index in (_scaled(features(parts)) @ weights).argmax(1)]
        per = len(parts) // len(pictures)
        return [list(dict.fromkeys(filter(None, found[i : i + per]))) for i in range(0, len(found), per)]

    return recognise


def _scaled(vectors: np.ndarray) -> np.ndarray:
    """Return vectors of length 1 with a constant appended, float64."""
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.hstack([vectors, np.ones((len(vectors), 1))]).astype(np.float64)


def write(
    found: dict[str, list[str]],
    labels: pd.DataFrame,
    languages: Sequence[str],
    words: pd.DataFrame | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Return what a captioner writes about each scene in each language: lang, image, caption, named.

    `found`: image -> wnids. `labels`: the words that people use; `words` (`scenes.dictionary`): where given, the
    English label is translated without regard to sense instead. `named`: for each thing in the caption its wnid where
    its word is one that people use for it, else "". A scene in which nothing was found is described by the word for the
    most frequent thing, since a caption may not be empty.
    """
    people = scenes.label_words(labels, languages)
    english = scenes.label_words(labels, ["en"])
    every = [wnid for one in found.values() for wnid in one]
    fallback = max(sorted(set(every)), key=every.count) if every else pictograms.concepts()["wnid"][0]
    rows = []
    for lang in languages:
        translate = scenes.translator(words, "en", lang, seed) if words is not None and lang != "en" else None
        for image, things in found.items():
            things = things or [fallback]
            said = [translate(english["en", wnid][0]) if translate else people[lang, wnid][0] for wnid in things]
            named = [wnid if word in people[lang, wnid] else "" for wnid, word in zip(things, said, strict=True)]
            rows.append((lang, image, scenes.join(said, lang), named))
    return pd.DataFrame(rows, columns=["lang", "image", "caption", "named"])
