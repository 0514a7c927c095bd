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
    return stored["vectors"][np.array(paths, int)].astype(np.float32)
