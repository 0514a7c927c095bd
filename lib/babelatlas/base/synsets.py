"""Lists of classes: noun synsets of WordNet 3.0, each known by its `wnid`, "n" and the eight digits of its offset."""

import re
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from babelatlas.base import own_tables, tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA

CLASS_LISTS = {  # files of data/
    "imagenet-1k": "imagenet-1k.csv",
    "pictograms": "pictograms.csv",
    "pictogram-senses": "pictogram_senses.csv",
}
# Lists of single data sets, whose words do not ship.
FURTHER_LISTS = {"geode": "geode.csv"}
# What timm calls ImageNet-21k (imagenet-21k-goog): the classes of the release of autumn 2011, and two more.
IMAGENET_21K = "data/_info/imagenet21k_goog_synsets.txt"


def class_list(classes: str) -> pd.DataFrame:
    """Return a list of classes: columns `wnid` and `name`, in the list's own order.

    `classes` is "imagenet-1k", "pictograms", "pictogram-senses" (the senses of ambiguous words), "geode" (the objects
    of that data set), "imagenet-21k" (the 21,843 of timm, which has to be installed), the path of a CSV file with a
    column `wnid` (and perhaps `name`), or of a text file with one wnid on each line, whatever follows it after a space
    or comma.
    Raises InputError for another name, a file without wnids, a line that is none, and a class that occurs twice.
    """
    ours = CLASS_LISTS | FURTHER_LISTS
    path = DATA / ours[classes] if classes in ours else tables.locate(classes)
    if classes == "imagenet-21k":  # found without importing timm
        timm = find_spec("timm")
        path = Path(timm.origin).parent / IMAGENET_21K if timm else Path(IMAGENET_21K)
        if not path.is_file():
            raise InputError("The classes of imagenet-21k come with timm, which is not installed here: install timm.")
    if path.suffix not in (".csv", ".txt") or not path.is_file():
        raise InputError(
            f"There is no class list {classes!r}: {near(classes, [*ours, 'imagenet-21k'])} Or give the path of "
            "a CSV or text file."
        )
    try:
        if path.suffix == ".txt":
            lines = path.read_text(encoding="utf-8-sig").splitlines()
            words = [re.split(r"[\s,;]", line.strip(), maxsplit=1)[0] for line in lines if line.strip()]
            table = pd.DataFrame({"wnid": pd.Series(words, dtype=object)})
        else:
            table = own_tables.read(path, "classes")
    except UnicodeDecodeError as error:
        raise InputError(f"The class list {classes} is no text in UTF-8 ({error.reason}): save it as such.") from error
    if classes == "pictogram-senses":
        table = table.drop_duplicates("wnid")  # a sense may belong to two words
    if "wnid" not in table:
        raise InputError(f"The class list {classes} should have a column 'wnid', but has {', '.join(table.columns)}.")
    strange = [wnid for wnid in table["wnid"] if not re.fullmatch(r"n\d{8}", wnid)]
    if strange or table.empty:
        raise InputError(
            f"The class list {classes} has {f'the wnid {strange[0]!r}' if strange else 'no wnid'}, expected 'n' and "
            "eight digits, such as n02084071: correct the list."
        )
    double = table["wnid"][table["wnid"].duplicated()]
    if len(double):
        raise InputError(f"The class list {classes} has {double.iloc[0]} more than once: keep one row for each class.")
    table = table.assign(name=table["name"] if "name" in table else table["wnid"])[["wnid", "name"]]
    return own_tables.check_texts(table.reset_index(drop=True), ["name"], path)
