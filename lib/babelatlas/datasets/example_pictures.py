"""Photographs that may be shown, from packages that the environment has: scikit-image
and scikit-learn ship them as examples.

No picture is copied: `data/example_pictures.csv` says where in its package each one
lies, who took it, its licence, and which of ImageNet's classes fit it. A file that
differs from the one described there counts as missing. Neither package is imported.
"""

from importlib import util
from pathlib import Path

import pandas as pd

from babelatlas.base import checksums
from babelatlas.base.paths import DATA

FILE = DATA / "example_pictures.csv"
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
