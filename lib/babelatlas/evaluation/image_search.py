"""Further images of a sense: those of a collection that a model finds most similar to a
caption, for people to choose from.

So Kashani Motlagh et al. (2024, Section 5.5) extended CoMMuTE: for each of its images a
caption that is not ambiguous, the 15 most similar images of a collection, of at least 64
pixels a side and at most 2.5 times as long as wide, and of these the best four, chosen
by hand.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image, UnidentifiedImageError

from babelatlas.base import own_tables, tables
from babelatlas.base.errors import InputError
from babelatlas.datasets.imagenet import image_files
from babelatlas.evaluation import embedding, zeroshot
from babelatlas.models.encoder import Encoder

N_CANDIDATES, MIN_SIDE, MAX_RATIO = 15, 64, 2.5
# So many images of a collection are compared at once: all of their vectors may not fit.
PART = 20_000
COLUMNS = [
    "image",
    "caption",
    "rank",
    "similarity",
    "path",
    "width",
    "height",
    "chosen",
]


def read_captions(path: str | os.PathLike) -> pd.DataFrame:
    """Return the captions of a CSV file: image (the name of the image to extend) and
    caption, English; InputError for an image that occurs twice and an empty caption.
    """
    rows = own_tables.read(path, "captions", ["image", "caption"])
    for name, is_wrong in {
        "which occurs twice": rows["image"].duplicated(),
        "which has no caption": rows["caption"].str.strip() == "",
    }.items():
        if is_wrong.any():
            image = rows.loc[is_wrong.idxmax(), "image"]
            raise InputError(
                f"The captions in {path} have the image {image!r}, {name}: give each"
                " image one caption."
            )
    return rows[["image", "caption"]].reset_index(drop=True)


def sizes(paths: Sequence[str | os.PathLike]) -> pd.DataFrame:
    """Return path, width and height in pixels of images; what is no image has none."""
    rows = []
    for path in paths:
        try:
            with Image.open(path) as image:
                rows.append((str(path), *image.size))
        except (UnidentifiedImageError, OSError):
            continue
    return pd.DataFrame(rows, columns=["path", "width", "height"])


def fitting(
    images: pd.DataFrame, min_side: int = MIN_SIDE, max_ratio: float = MAX_RATIO
) -> pd.DataFrame:
    """Return the images (columns width and height) whose shorter side has at least
    `min_side` pixels and whose longer one is at most `max_ratio` times as long.

    >>> shapes = pd.DataFrame({"width": [64, 63, 160, 161], "height": [64, 64, 64, 64]})
    >>> fitting(shapes)["width"].tolist()
    [64, 160]
    """
    sides = images[["width", "height"]]
    shorter, longer = sides.min(axis=1), sides.max(axis=1)
    is_fitting = (shorter >= min_side) & (longer <= max_ratio * shorter)
    return images[is_fitting].reset_index(drop=True)


def most_similar(
    captions: pd.DataFrame,
    caption_vectors: np.ndarray,
    images: pd.DataFrame,
    image_vectors: np.ndarray,
    number: int = N_CANDIDATES,
) -> pd.DataFrame:
    """Return for each caption the `number` images with the highest cosine similarity, the
    first of equal ones: columns of both tables, similarity and rank from 1.

    `caption_vectors` (captions, d) and `image_vectors` (images, d) belong to the rows of
    the tables.
    """
    similarity = (
        zeroshot.normalise(caption_vectors) @ zeroshot.normalise(image_vectors).T
    )
    order = np.argsort(-similarity, axis=1, kind="stable")[:, :number]
    n_found = order.shape[1]
    rows = np.repeat(np.arange(len(captions)), n_found)
    columns = order.ravel()
    found = pd.concat(
        [
            captions.iloc[rows].reset_index(drop=True),
            images.iloc[columns].reset_index(drop=True),
        ],
        axis=1,
    )
    ranks = np.tile(np.arange(1, n_found + 1), len(captions))
    return found.assign(similarity=similarity[rows, columns], rank=ranks)


def candidates(
    encoder: Encoder,
    captions: pd.DataFrame,
    folder: str | os.PathLike,
    number: int = N_CANDIDATES,
    min_side: int = MIN_SIDE,
    max_ratio: float = MAX_RATIO,
    cache: str | os.PathLike = "",
) -> pd.DataFrame:
    """Return the images of a folder for people to choose from: `COLUMNS`, `chosen` empty.

    `captions` as of `read_captions`. The folder is read in parts, so that a collection
    of any size fits in memory; `cache` keeps the vectors. Raises InputError for a folder
    without a fitting image.
    """
    home = tables.locate(folder)
    files = image_files(home) if home.is_dir() else []
    images = fitting(sizes(files), min_side, max_ratio)
    if images.empty:
        raise InputError(
            f"The folder {folder} has {len(files):,} images, none of them at least"
            f" {min_side} pixels a side and at most {max_ratio} times as long as wide:"
            " give a larger collection."
        )
    texts = embedding.embed_texts(encoder, captions["caption"].tolist(), cache, "en")
    best = []
    for start in range(0, len(images), PART):
        part = images.iloc[start : start + PART].reset_index(drop=True)
        vectors = embedding.embed_images(encoder, part["path"].tolist(), cache, True)
        best.append(most_similar(captions, texts, part, vectors, number))
    found = pd.concat(best, ignore_index=True)
    found["place"] = found["image"].map(
        {image: place for place, image in enumerate(captions["image"])}
    )
    found = found.sort_values(
        ["place", "similarity"], ascending=[True, False], kind="stable"
    )
    found["rank"] = found.groupby("place").cumcount() + 1
    found = found[found["rank"] <= number].assign(chosen="")
    return found[COLUMNS].reset_index(drop=True)


def write(rows: pd.DataFrame, path: str | os.PathLike) -> Path:
    """Write candidates as a CSV file, their paths relative to its folder."""
    file = tables.locate(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    paths = [os.path.relpath(name, file.parent) for name in rows["path"]]
    with tables.beside(file) as part:
        rows.assign(path=paths).round({"similarity": 4}).to_csv(part, index=False)
    return file
