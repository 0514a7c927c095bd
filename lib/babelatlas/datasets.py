"""The data sets: one frozen entry each, and reading their images. Nothing is downloaded here.

An image set is an `images` table beside its files: `path` relative to the table's folder, `wnid` the class, `draw` the
number of the image within its class.
"""

import difflib
import os
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from PIL import Image, UnidentifiedImageError

from babelatlas import InputError, tables

SUFFIXES = {".jpeg", ".jpg", ".png", ".webp"}


@dataclass(frozen=True)
class Dataset:
    """What the study knows of one data set; `images` is its table within a run, "" where the user gives a folder."""

    name: str
    images: str
    classes: str
    licence: str
    url: str
    citation: str


DATASETS = [
    Dataset("pictograms", "images/pictograms.parquet", "nouns", "MIT; drawn with DejaVu and STIX fonts", "", ""),
    Dataset("compositions", "images/compositions.parquet", "a colour and a noun", "MIT; as pictograms", "", ""),
    Dataset(
        "imagenet-1k",
        "",
        "1,000 nouns",
        "for research and education that is not commercial; images keep their owners' rights",
        "https://www.image-net.org/download.php",
        "deng2009imagenet",
    ),
]


def names() -> list[str]:
    """Return the names of all data sets."""
    return [dataset.name for dataset in DATASETS]


def entry(name: str) -> Dataset:
    """Return the data set called `name`; raises InputError, with the nearest names, where there is none.

    >>> entry("imagenet-1k").citation
    'deng2009imagenet'
    """
    found = {dataset.name: dataset for dataset in DATASETS}
    if name not in found:
        near = difflib.get_close_matches(name, found, n=2, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise InputError(f"There is no data set {name!r}: {hint}Expected one of {', '.join(found)}.")
    return found[name]


def load(name: str, run: str | os.PathLike = "results/demo", folder: str | os.PathLike = "") -> pd.DataFrame:
    """Return the `images` table of a data set with absolute paths, after checking that every file is there.

    The embedded sets are read from the folder `run`; `imagenet-1k` from `folder`, which holds one folder for each wnid
    (the validation images, sorted into such folders). Raises InputError where the table, the folder or a file is
    missing.
    """
    dataset = entry(name)
    if not dataset.images:
        return check_files(scan(folder, dataset), name)
    path = Path(run) / dataset.images
    images = tables.read(path, "images")
    home = tables.locate(path).parent
    return check_files(images.assign(path=[str(home / file) for file in images["path"]]), name)


def scan(folder: str | os.PathLike, dataset: Dataset) -> pd.DataFrame:
    """Return the `images` table of a folder that holds one folder of images for each class, with absolute paths."""
    if not str(folder):
        raise InputError(
            f"The data set {dataset.name!r} is not downloaded by this study: get it from {dataset.url} (licence: "
            f"{dataset.licence}) and give its folder, which holds one folder for each class."
        )
    home = tables.locate(folder)
    if not home.is_dir():
        raise InputError(f"The folder {home} of the data set {dataset.name!r} does not exist: give another one.")
    rows = []
    for part in sorted(part for part in home.iterdir() if part.is_dir()):
        files = sorted(file for file in part.iterdir() if file.suffix.lower() in SUFFIXES)
        rows += [(str(file), part.name, number) for number, file in enumerate(files)]
    if not rows:
        raise InputError(
            f"The folder {home} of the data set {dataset.name!r} holds no image: expected one folder for each class, "
            f"with files that end in {', '.join(sorted(SUFFIXES))}."
        )
    return tables.check(pd.DataFrame(rows, columns=["path", "wnid", "draw"]), "images")


def check_files(images: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return `images` if every file is there, else raise InputError that says how many are missing, and names some."""
    missing = [path for path in images["path"] if not os.path.isfile(path)]
    if missing:
        some = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
        raise InputError(
            f"The data set {name!r} lacks {len(missing)} of {len(images)} images: {some}; make or fetch it again "
            "(the embedded sets: notebook 11_pictograms)."
        )
    return images


def open_image(path: str | os.PathLike) -> Image.Image:
    """Return an image as RGB, read whole; raises InputError that names the file where it cannot be read."""
    try:
        with Image.open(path) as image:
            return image.convert("RGB")
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise InputError(
            f"The image {path} cannot be read ({str(error).splitlines()[0]}): make or fetch it again."
        ) from error
