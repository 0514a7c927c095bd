"""What a model is evaluated on: a data set's pictures with its labels or captions, cut
to what is asked for and checked before any model is loaded.
"""

import os
from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from babelatlas.base import tables
from babelatlas.datasets import captions as caption_sets
from babelatlas.datasets import registry as datasets
from babelatlas.evaluation import retrieval
from babelatlas.lexicon import labels as label_sets


class Material(NamedTuple):
    """Where a data set lies, and which part of it is evaluated.

    `images`, `labels`, `annotations`: as `datasets.registry.load`,
    `datasets.registry.read_labels` and `datasets.captions.load` take them. `languages`:
    their codes, none for all with labels for `minimum` classes, or captions for
    `minimum` images. `missing`: how many images may be absent. `limit`: only the first
    so many images of each class, or images with their captions; "" for all.
    """

    images: str | os.PathLike
    labels: str | os.PathLike = ""
    annotations: str | os.PathLike = ""
    languages: Sequence[str] = ()
    minimum: int = 1
    missing: int = 0
    limit: int | str = ""


class LabelledImages(NamedTuple):
    """What is classified: labels (schema `labels`) and images (schema `images`,
    absolute paths).

    `left_out`: the codes of languages with too few classes, where none were asked for.
    """

    labels: pd.DataFrame
    images: pd.DataFrame
    left_out: list[str]


class CaptionedImages(NamedTuple):
    """What is searched: a gallery (image, path) and captions (schema `captions`).

    `sets`: the sets of captions that there are. `left_out`: sets and languages with
    captions for too few images. `empty`: captions that the data set has without a text.
    """

    gallery: pd.DataFrame
    captions: pd.DataFrame
    sets: list[str]
    left_out: list[tuple[str, str]]
    empty: list


def labelled_images(dataset: str, material: Material) -> LabelledImages:
    """Return the labels and images with which a data set is classified.

    Raises InputError for a label set or images that cannot be used.
    """
    languages, minimum = material.languages, material.minimum
    given = label_sets.check_label_set(datasets.read_labels(material.labels))
    labels = label_sets.select(given, languages, minimum)
    images = datasets.load(
        dataset, material.images, labels["wnid"].unique(), material.missing
    )
    images = tables.first(images, material.limit, "path", ["wnid"])
    # ImageNet-A and -R have images of a part of the classes: a label set is cut to it.
    labels = labels[labels["wnid"].isin(images["wnid"])]
    labels = label_sets.select(labels, languages, minimum).reset_index(drop=True)
    absent = set(given["lang"]) - set(labels["lang"])
    return LabelledImages(labels, images, [] if languages else sorted(absent))


def captioned_images(
    dataset: str, material: Material, sets: Sequence[str] = (), choice: str = "all"
) -> CaptionedImages:
    """Return the gallery and captions with which a data set is searched.

    `sets`: those of the captions, none for all; `choice`: "first" caption of an image
    or "all". Raises InputError for captions or images that cannot be used.
    """
    gallery, given = caption_sets.load(
        dataset,
        material.images,
        material.annotations,
        sets,
        material.languages,
        material.missing,
    )
    chosen = caption_sets.choose(given, choice)
    captions = retrieval.select(chosen, material.minimum)
    captions = tables.first(captions, material.limit, "image")
    if material.limit != "":
        gallery = gallery[gallery["image"].isin(captions["image"])]
        gallery = tables.first(gallery, material.limit, "image")
    left_out = _pairs(chosen) - _pairs(captions)
    return CaptionedImages(
        gallery,
        captions,
        chosen["captions"].unique().tolist(),
        sorted(left_out),
        given.attrs.get("empty", []),
    )


def _pairs(captions: pd.DataFrame) -> set[tuple[str, str]]:
    """Return the pairs of a set and a language that have captions."""
    return set(zip(captions["captions"], captions["lang"], strict=True))
