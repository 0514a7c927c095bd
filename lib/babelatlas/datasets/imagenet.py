"""The images of ImageNet and its variants as they are published: an archive, or a
folder of its files.

A class is known by its wnid. The folders of ImageNet-V2 are numbered instead: 0 to 999,
in the order of the class list. In the official archive of the validation images no name
says the class: the development kit does.
"""

import io
import os
import re
import tarfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path, PurePosixPath

import pandas as pd

from babelatlas.base import download, folders
from babelatlas.base.errors import InputError
from babelatlas.base.pictures import SUFFIXES
from babelatlas.base.synsets import class_list

DEVKIT = "ILSVRC2012_devkit_t12.tar.gz"
WNID = re.compile(r"n\d{8}")
# A photograph next to those of other classes: n01440764_tench.JPEG.
SINGLE = re.compile(r"(n\d{8})_.+\.jpe?g", re.IGNORECASE)
VALIDATION = re.compile(r"ILSVRC2012_val_(\d{8})(?:_(n\d{8}))?\.JPEG", re.IGNORECASE)


@cache
def wnids() -> tuple[str, ...]:
    """Return the 1,000 classes, in the order of their numbers."""
    return tuple(class_list("imagenet-1k")["wnid"])


def class_of(folder: str, numbered: bool) -> str:
    """Return the wnid that the name of a folder says, "" where it says none;
    `numbered`: whether numbers are classes.

    >>> class_of("n01440764", False), class_of("tench", False)
    ('n01440764', '')
    >>> class_of("999", True), class_of("0999", True)
    ('n15075141', 'n15075141')
    """
    if WNID.fullmatch(folder):
        return folder
    if (
        numbered
        and folder.isascii()
        and folder.isdigit()
        and int(folder) < len(wnids())
    ):
        return wnids()[int(folder)]
    return ""


def image_files(home: Path) -> list[Path]:
    """Return the image files below a folder at any depth, as `folders.walk` finds them."""
    return [
        file for file in folders.files_below(home) if file.suffix.lower() in SUFFIXES
    ]


def devkit(path: Path) -> list[str]:
    """Return the wnid of each validation image, image 1 first, from the development
    kit's archive; else InputError.
    """
    from scipy.io import loadmat

    try:
        with tarfile.open(path) as kit:
            held = {
                PurePosixPath(member.name).name: member
                for member in kit
                if member.isfile()
            }
            meta = loadmat(io.BytesIO(kit.extractfile(held["meta.mat"]).read()))[
                "synsets"
            ].ravel()
            truth = kit.extractfile(
                held["ILSVRC2012_validation_ground_truth.txt"]
            ).read()
        names = {
            int(row["ILSVRC2012_ID"].item()): str(row["WNID"].item()) for row in meta
        }
        return [names[int(number)] for number in truth.split()]
    except (tarfile.TarError, EOFError, OSError, KeyError, ValueError) as error:
        what = (
            "The names of the validation images do not say their classes, nor does"
            f" {path} ({error!r})"
        )
        raise InputError(
            f"{what}: put {DEVKIT} of ImageNet next to the images."
        ) from error


def scan(home: Path, name: str, numbered: bool) -> pd.DataFrame:
    """Return the images of a folder or an archive, which is unpacked once: `path`
    (absolute), `wnid` and `number`.

    Four layouts are known: one folder for each class at any depth; images side by side
    with the class first in the name (`n01440764_tench.JPEG`); the validation images
    with the class in the name (`ILSVRC2012_val_00000001_n01751748.JPEG`); and without,
    for which the development kit has to lie next to the folder or archive. `name`: the
    data set, for messages.
    """
    kit = home.parent / DEVKIT
    home = download.unpack(home) if download.is_archive(home) else home
    paths, number_of = image_files(home), []
    rows = []
    for path in paths:
        official = VALIDATION.fullmatch(path.name)
        named = (official and official[2]) or SINGLE.sub(r"\1", path.name)
        wnid = class_of(path.parent.name, numbered) or class_of(named, False)
        if official and not wnid:
            number_of = number_of or devkit(kit)
            wnid = number_of[int(official[1]) - 1]
        rows.append((str(path), wnid))
    table = pd.DataFrame(rows, columns=["path", "wnid"])
    strange = table.loc[~table["wnid"].isin(wnids()), "path"]
    if table.empty or len(strange):
        what = f"{strange.iloc[0]} is in none" if len(strange) else "there is no image"
        how = (
            f"{'numbered 0 to 999 or ' if numbered else ''}called n01440764 etc., but"
            f" {what}: rename or move it."
        )
        raise InputError(
            f"{home}, the images of {name!r}, should hold one folder for each class,"
            f" {how}"
        )
    table = table.assign(file=table["path"].map(os.path.basename)).sort_values(
        ["wnid", "file"], ignore_index=True
    )
    return table.assign(number=table.groupby("wnid").cumcount())[
        ["path", "wnid", "number"]
    ]


def check(
    images: pd.DataFrame, dataset, wanted: Iterable[str] | None, missing: int
) -> int:
    """Return how many images are missing; raise InputError where that is more than
    `missing`, or there are too many.

    `dataset`: the entry. Where each class has as many images, the classes `wanted` are
    counted (None: all 1,000), else the whole data set.
    """
    counts = images["wnid"].value_counts()
    expected = dataset.images_per_class
    if expected:
        classes = sorted(set(wanted or wnids()) & set(wnids()))
        counts = counts.reindex(classes, fill_value=0)
        lacking = (expected - counts).clip(lower=0)
        number, surplus = int(lacking.sum()), (counts > expected).any()
        some = ", ".join(
            f"{wnid} has {counts[wnid]} of {expected}"
            for wnid in lacking[lacking > 0].index[:10]
        )
    else:
        number = max(0, dataset.n_images - len(images))
        surplus = 0 < dataset.n_images < len(images)
        some = (
            f"{len(images):,} of {len(counts)} of its {dataset.n_classes} classes are"
            " there"
        )
    if surplus:
        raise InputError(
            f"There are more images than {dataset.name!r} has: give its own, not the"
            " training images."
        )
    if number > missing:
        fix = f"fetch it again, or allow so many with missing={number}"
        raise InputError(
            f"The data set {dataset.name!r} lacks {number:,} images ({some}): {fix}."
        )
    return number
