"""Photographs that may be shown, from packages that the environment has: scikit-image
and scikit-learn ship them as examples.

No picture is copied: `data/example_pictures.csv` says where in its package each one
lies, who took it, its licence, and which of ImageNet's classes fit it. A file that
differs from the one described there counts as missing. Neither package is imported.
"""

import os
import shutil
from importlib import util
from pathlib import Path

import pandas as pd

from babelatlas.base import checksums
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA, locate

FILE = DATA / "example_pictures.csv"
# Their labels and captions in three languages, and a config that evaluates on them.
CAPTIONS = DATA / "example_captions.csv"
CONFIG = DATA / "new_data.yml"
MODEL = "bridge-lite2"  # the model that classifies them, and runs on any CPU
LABELS = "imagenet-1k"  # by the labels of these classes
RANKS = 3  # the nearest labels that are stored of each picture and language
# Names of the packages as they are installed.
PACKAGES = {"skimage": "scikit-image", "sklearn": "scikit-learn"}


def listed() -> pd.DataFrame:
    """Return the pictures that the study knows, in the order in which they are shown.

    Columns: picture (its name), shows (what it shows, in English), package, file (below
    the package), sha256, author, licence, licence_address, source (address), wnids (the
    classes that fit it, a list; none for what ImageNet lacks).
    """
    table = pd.read_csv(FILE, dtype=str, keep_default_na=False)
    return table.assign(wnids=table["wnids"].str.split())


def available() -> pd.DataFrame:
    """Return the pictures that are installed, unchanged: `listed` and path."""
    table = listed()
    paths = [
        _find(package, file)
        for package, file in zip(table["package"], table["file"], strict=True)
    ]
    unchanged = [
        path is not None and checksums.digest(path) == expected
        for path, expected in zip(paths, table["sha256"], strict=True)
    ]
    table = table.assign(path=[str(path) for path in paths])
    return table[unchanged].reset_index(drop=True)


def _find(package: str, file: str) -> Path | None:
    """Return a file of an installed package, None where there is none."""
    spec = util.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / file
    return path if path.is_file() else None


def missing() -> str:
    """Return a sentence on the pictures that are not installed, "" where all are."""
    present = {*available()["picture"]}
    listed_pictures = listed()
    lacking = listed_pictures[~listed_pictures["picture"].isin(present)]
    if lacking.empty:
        return ""
    packages = lacking["package"].map(PACKAGES).unique()
    has_not = (
        "versions of {} do not have"
        if len(packages) > 1
        else "version of {} does not have"
    )
    has_not = has_not.format(" and ".join(packages))
    names = ", ".join(lacking["shows"])
    return (
        f"Not shown here: {names}; the installed {has_not} these"
        " pictures as this study describes them."
    )


def write_data_sets(folder: str | os.PathLike) -> list[Path]:
    """Write the installed pictures to a new folder as a person's own data: folders named
    by class, labels, captions, and the config of a run; return these four paths.

    Raises InputError where no picture is installed, and for a folder that is not empty.
    """
    place = locate(folder)
    pictures = available()
    if pictures.empty:
        raise InputError(
            f"{missing()} Install the packages that requirements.txt names."
        )
    if place.exists() and any(place.iterdir()):
        raise InputError(f"The folder {folder} is not empty: name another one.")
    images = place / "photographs"
    names = {}
    for picture, path in zip(pictures["picture"], pictures["path"], strict=True):
        names[picture] = f"{picture}/{Path(path).name}"
        (images / picture).mkdir(parents=True)
        shutil.copyfile(path, images / names[picture])

    texts = pd.read_csv(CAPTIONS, dtype=str)
    texts = texts[texts["picture"].isin(names)]
    labels = texts.rename(columns={"picture": "wnid"})[["lang", "wnid", "label"]]
    captions = texts.assign(image=texts["picture"].map(names))
    captions = captions[["lang", "image", "caption"]]
    files = [place / name for name in ("labels.csv", "captions.csv", "own.yml")]
    labels.to_csv(files[0], index=False, lineterminator="\n")
    captions.to_csv(files[1], index=False, lineterminator="\n")
    config = CONFIG.read_text(encoding="utf-8").replace(
        "FOLDER", Path(folder).as_posix()
    )
    files[2].write_text(config, encoding="utf-8")
    return [images, *files]
