"""Vectors of pictures that ship in the pictures' place: who evaluates with them encodes
texts alone.

A file of `data/real_run`, named after its data set, is an .npz with `wnids`
(pictures,), their classes; `vectors` (pictures, dimensions) of float16; and `tower`,
the architecture of the image tower that made them. They are numbers from which no
picture can be made again.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA

FOLDER = DATA / "real_run"
# Joins two rows that stand for a picture of both.
BOTH = "+"


def place(dataset: str) -> Path:
    """Return the file of a data set's vectors, whether it ships or not."""
    return FOLDER / f"vectors_{dataset}.npz"


def images(path: str | os.PathLike) -> pd.DataFrame:
    """Return the `images` table of a file of vectors; as paths it has the numbers of
    its rows.
    """
    wnids = pd.Series(tables.arrays(path, "get the file again")["wnids"], dtype=object)
    rows = wnids.index.astype(str).astype(object)
    return pd.DataFrame(
        {"path": rows, "wnid": wnids, "number": wnids.groupby(wnids).cumcount()}
    )


def read(path: str | os.PathLike, paths: list[str], tower: str) -> np.ndarray:
    """Return the vectors (paths, dimensions), float32, of some rows; InputError where
    another tower made them.

    Two rows joined by `BOTH` stand for a picture of both: the mean of their vectors of
    length 1, brought to length 1.
    """
    stored = tables.arrays(path, "get the file again")
    if str(stored["tower"]) != tower:
        what = (
            f"of the image tower {str(stored['tower'])!r}, not of {tower!r}, the"
            " model's"
        )
        raise InputError(
            f"The vectors {path} are {what}: evaluate it on the pictures themselves."
        )
    vectors = stored["vectors"].astype(np.float32)
    single = [BOTH not in name for name in paths]
    if all(single):
        return vectors[np.array(paths, int)]
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    sums = np.stack([unit[np.array(name.split(BOTH), int)].sum(0) for name in paths])
    return sums / np.linalg.norm(sums, axis=1, keepdims=True)


def with_both(item_images: pd.DataFrame) -> pd.DataFrame:
    """Return a table `item_images` of rows of stored vectors with a picture "mix" of
    both originals, a0 and b0, of each item, as `read` takes it.

    A blend of pixels (Kashani Motlagh et al. 2024, section 5.3) needs the pictures.
    """
    originals = item_images[item_images["image"].isin(["a0", "b0"])]
    paths = originals.pivot(index="item", columns="image", values="path")
    both = (paths["a0"] + BOTH + paths["b0"]).rename("path").reset_index()
    table = pd.concat([item_images, both.assign(image="mix")], ignore_index=True)
    return tables.check(table, "item_images")


def are_given(images: str | os.PathLike | list[str]) -> bool:
    """Return whether what a config names in place of pictures is a file of vectors."""
    return str(images).endswith(".npz")
