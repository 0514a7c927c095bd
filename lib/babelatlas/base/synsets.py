"""Lists of classes: noun synsets of WordNet 3.0, each known by its `wnid`, "n" and the
eight digits of its offset.
"""

import re
import zlib
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.base import own_tables, tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA

CLASS_LISTS = {  # files of data/
    "imagenet-1k": "imagenet-1k.csv",
    "imagenet-100": "imagenet-100.csv",
    "pictograms": "pictograms.csv",
    "pictogram-senses": "pictogram_senses.csv",
    "stamps": "stamp_senses.csv",
}
# A list that is a part of another one -> that list: who judged labels of the whole
# judged those of the part.
PARTS = {"imagenet-100": "imagenet-1k"}
# What timm calls ImageNet-21k (imagenet-21k-goog): the classes of the release of autumn
# 2011, and two more.
IMAGENET_21K = "data/_info/imagenet21k_goog_synsets.txt"


@cache
def short_names(classes: str = "imagenet-1k") -> pd.Series:
    """Return the first name of each class of a list (`class_list`): index wnid.

    >>> short_names()["n02129604"]
    'tiger'
    """
    return class_list(classes).set_index("wnid")["name"].str.split(",").str[0]


def class_list(classes: str) -> pd.DataFrame:
    """Return a list of classes: columns `wnid` and `name`, in the list's own order.

    `classes` is "imagenet-1k", "imagenet-100" (those of them with a label in the most
    languages), "pictograms", "pictogram-senses" (the senses of ambiguous words),
    "stamps" (what Tux Paint's stamps surely show, named as the first of them),
    "imagenet-21k" (the 21,843 of timm, which has to be installed), the path of a CSV
    file with a column `wnid` (and perhaps `name`), or of a text file with one wnid at
    the start of each line.
    """
    path = _file_of(classes)
    if path.suffix not in (".csv", ".txt") or not path.is_file():
        hint = near(classes, [*CLASS_LISTS, "imagenet-21k"])
        raise InputError(
            f"There is no class list {classes!r} ({path}): {hint} Or give the path of a"
            " CSV or text file."
        )
    if path.suffix == ".txt":
        table = pd.DataFrame({"wnid": pd.Series(_first_words(path), dtype=object)})
    else:
        table = own_tables.read(path, "classes", ["wnid"])
    if classes == "pictogram-senses":
        table = table.drop_duplicates("wnid")  # a sense may belong to two words
    if classes == "stamps":
        names = table["stamp"].str.rpartition("/")[2].str.replace("_", " ")
        table = table.assign(name=names)[table["sure"] == "true"]
        table = table.drop_duplicates("wnid")
    if fault := _fault_of(table["wnid"]):
        raise InputError(
            f"The class list {classes} has {fault}: expected 'n' and eight digits, once"
            " for each class."
        )
    names = table["name"] if "name" in table else table["wnid"]
    table = table.assign(name=names)[["wnid", "name"]]
    return own_tables.check_texts(table.reset_index(drop=True), ["name"], path)


def _file_of(classes: str) -> Path:
    """Return the file of a list of classes, whether there is one or not."""
    if classes in CLASS_LISTS:
        return DATA / CLASS_LISTS[classes]
    if classes != "imagenet-21k":
        return tables.locate(classes)
    timm = find_spec("timm")  # which is not imported
    if not timm:
        return Path("timm, which is not installed")
    return Path(timm.origin).parent / IMAGENET_21K


def _first_words(path: Path) -> list[str]:
    """Return the first word of each line of a text file that is not blank."""
    wanted = "a text file in UTF-8, a wnid at the start of each line"
    lines = [line.strip() for line in own_tables.read_text(path, wanted).splitlines()]
    return [re.split(r"[\s,;]", line, maxsplit=1)[0] for line in lines if line]


def _fault_of(wnids: pd.Series) -> str:
    """Return what is wrong with the classes of a list, in words, "" for nothing."""
    for wnid in wnids:
        if not re.fullmatch(r"n\d{8}", wnid):
            return f"the wnid {wnid!r}"
    for wnid in wnids[wnids.duplicated()]:
        return f"{wnid} more than once"
    return "" if len(wnids) else "no wnid"


def fold_of(wnids: Iterable[str], n: int) -> np.ndarray:
    """Return in which of `n` folds each class is, from 0, by a checksum of its name.

    >>> fold_of(["n01440764", "n02123045", "n01440764"], 5).tolist()
    [3, 4, 3]
    """
    return np.array([zlib.crc32(wnid.encode()) % n for wnid in wnids], dtype=np.int64)
