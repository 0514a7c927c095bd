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
    path = (
        DATA / CLASS_LISTS[classes]
        if classes in CLASS_LISTS
        else tables.locate(classes)
    )
    if classes == "imagenet-21k":  # read without importing timm
        timm = find_spec("timm")
        path = (
            Path(timm.origin).parent / IMAGENET_21K
            if timm
            else Path("timm, which is not installed")
        )
    if path.suffix not in (".csv", ".txt") or not path.is_file():
        hint = near(classes, [*CLASS_LISTS, "imagenet-21k"])
        raise InputError(
            f"There is no class list {classes!r} ({path}): {hint} Or give the path of a"
            " CSV or text file."
        )
    if path.suffix == ".txt":
        lines = own_tables.read_text(
            path, "a text file in UTF-8, a wnid at the start of each line"
        ).splitlines()
        words = [
            re.split(r"[\s,;]", line.strip(), maxsplit=1)[0]
            for line in lines
            if line.strip()
        ]
        table = pd.DataFrame({"wnid": pd.Series(words, dtype=object)})
    else:
        table = own_tables.read(path, "classes", ["wnid"])
    if classes == "pictogram-senses":
        table = table.drop_duplicates("wnid")  # a sense may belong to two words
    if classes == "stamps":
        names = table["stamp"].str.rpartition("/")[2].str.replace("_", " ")
        table = table.assign(name=names)[table["sure"] == "true"].drop_duplicates(
            "wnid"
        )
    strange = [wnid for wnid in table["wnid"] if not re.fullmatch(r"n\d{8}", wnid)]
    double = table["wnid"][table["wnid"].duplicated()].tolist()
    if strange or double or table.empty:
        what = (
            f"the wnid {strange[0]!r}"
            if strange
            else f"{double[0]} more than once"
            if double
            else "no wnid"
        )
        raise InputError(
            f"The class list {classes} has {what}: expected 'n' and eight digits, once"
            " for each class."
        )
    table = table.assign(name=table["name"] if "name" in table else table["wnid"])[
        ["wnid", "name"]
    ]
    return own_tables.check_texts(table.reset_index(drop=True), ["name"], path)


def fold_of(wnids: Iterable[str], n: int) -> np.ndarray:
    """Return in which of `n` folds each class is, from 0, by a checksum of its name.

    >>> fold_of(["n01440764", "n02123045", "n01440764"], 5).tolist()
    [3, 4, 3]
    """
    return np.array([zlib.crc32(wnid.encode()) % n for wnid in wnids], dtype=np.int64)
