"""The images of ImageNet and its variants as they are published: archives, folders of classes, and what goes wrong.

A class is known by its wnid. The folders of ImageNet-V2 are numbered instead: 0 to 999, in the order of the sorted
wnids, which is that of the class list. In the official archive of the validation images no name says the class: the
development kit does, which lists for image 1 to 50,000 the number of its class, and for each number the wnid.
"""

import io
import re
import tarfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd

from babelatlas.base import download
from babelatlas.base.errors import InputError
from babelatlas.base.synsets import class_list

DEVKIT = "ILSVRC2012_devkit_t12.tar.gz"
SUFFIXES = {".jpeg", ".jpg", ".png", ".webp"}
WNID = re.compile(r"n\d{8}")
VALIDATION = re.compile(r"ILSVRC2012_val_(\d{8})(?:_(n\d{8}))?\.JPEG", re.IGNORECASE)


@cache
def wnids() -> tuple[str, ...]:
    """Return the 1,000 classes, in the order of their numbers."""
    return tuple(class_list("imagenet-1k")["wnid"])


def class_of(folder: str, numbered: bool) -> str:
    """Return the wnid that the name of a folder says, "" where it says none; `numbered`: whether numbers are classes.

    >>> class_of("n01440764", False), class_of("999", True), class_of("0999", True), class_of("tench", False)
    ('n01440764', 'n15075141', 'n15075141', '')
    """
    if WNID.fullmatch(folder):
        return folder
    if numbered and folder.isascii() and folder.isdigit() and int(folder) < len(wnids()):
        return wnids()[int(folder)]
    return ""


def is_image(name: str) -> bool:
    """Return whether a file is an image by its name, and not hidden, as those are that macOS adds."""
    path = PurePosixPath(name)
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".")


def unpacked(archive: Path, numbered: bool) -> Path:
    """Return the folder, with one folder for each class, that an archive of images is unpacked into, now or before.

    Three layouts are known: one folder for each class at any depth; the validation images side by side with the class
    in the name (`ILSVRC2012_val_00000001_n01751748.JPEG`); and without, for which the development kit has to lie
    next to the archive. Raises what `devkit` and `download.unpack` raise.
    """
    kit: list[str] = []

    def place(name: str) -> str:
        path = PurePosixPath(name)
        if not is_image(name):
            return ""
        official = VALIDATION.fullmatch(path.name)
        wnid = class_of(path.parent.name, numbered) or (official and official[2]) or ""
        if official and not wnid:
            kit[:] = kit or devkit(archive.parent / DEVKIT)
            number = int(official[1])
            if not 1 <= number <= len(kit):
                raise InputError(
                    f"The archive {archive} holds {path.name}, but {DEVKIT} next to it has classes for images 1 to "
                    f"{len(kit)}: fetch both again."
                )
            wnid = kit[number - 1]
        return f"{wnid}/{path.name}" if wnid else ""

    layout = "one folder for each class (n01440764 …)" + (", or of its number" if numbered else "")
    return download.unpack(archive, place, f"{layout}, or images called ILSVRC2012_val_00000001.JPEG")


def devkit(path: Path) -> list[str]:
    """Return the wnid of each validation image, image 1 first, from the development kit's archive.

    Raises InputError where the archive is absent or is another one.
    """
    from scipy.io import loadmat

    if not path.is_file():
        raise InputError(
            f"The names of the validation images do not say their classes: put {path.name}, which does and is got from "
            f"the same place, into {path.parent}."
        )
    try:
        with tarfile.open(path) as kit:
            held = {PurePosixPath(member.name).name: member for member in kit if member.isfile()}
            meta = loadmat(io.BytesIO(kit.extractfile(held["meta.mat"]).read()))["synsets"].ravel()
            truth = kit.extractfile(held["ILSVRC2012_validation_ground_truth.txt"]).read()
            download.check_end(kit)
        numbers = np.array(truth.split(), dtype=int)
        names = {int(row["ILSVRC2012_ID"].item()): str(row["WNID"].item()) for row in meta}
        found = [names[number] for number in numbers]
    except (*download.DAMAGE, OSError, KeyError, ValueError, IndexError, TypeError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(
            f"The file {path} is not ImageNet's development kit, with data/meta.mat and "
            f"data/ILSVRC2012_validation_ground_truth.txt ({reason}): fetch it again."
        ) from error
    strange = sorted(set(found) - set(wnids()))
    if strange:
        raise InputError(
            f"The development kit {path} names {strange[0]}, which is no class of ImageNet-1k: fetch it again."
        )
    return found


def scan(home: Path, name: str, numbered: bool) -> pd.DataFrame:
    """Return the images below a folder of class folders: columns `path` (absolute), `wnid` and `draw`, in order.

    `name`: the data set, for messages. Raises InputError, which says what was expected and what was found, for a folder
    of another layout and for one of a class that ImageNet-1k does not have.
    """
    parts = sorted(part for part in home.iterdir() if part.is_dir() and not part.name.startswith("."))
    classes = {part: class_of(part.name, numbered) for part in parts}
    called = "numbered 0 to 999 or called" if numbered else "called"
    expected = (
        f"The folder {home} of the data set {name!r} should hold one folder for each class, {called} n01440764 etc."
    )
    if not any(classes.values()):
        raise InputError(f"{expected}, {_found(home, parts, numbered)}.")
    rows = []
    for part in sorted(parts, key=lambda part: (classes[part], part.name)):
        files = _images(part)
        if classes[part] in wnids():
            rows += [(str(file), classes[part], number) for number, file in enumerate(files)]
        elif files:
            raise InputError(
                f"{expected}, but the folder {part.name!r} in it is none of the 1,000: rename it or move it elsewhere."
            )
    if not rows:
        inside = (one for part in parts if classes[part] for one in sorted(part.iterdir()) if one.name[0] != ".")
        first = next((f", the first thing in them is {one.parent.name}/{one.name}" for one in inside), "")
        raise InputError(
            f"{expected}, with images in it that end in {', '.join(sorted(SUFFIXES))}, but its folders hold "
            f"none{first}: move or convert them, or fetch the data set again."
        )
    return pd.DataFrame(rows, columns=["path", "wnid", "number"])


def _images(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if is_image(file.name))


def _found(home: Path, parts: list[Path], numbered: bool) -> str:
    """Return what a folder without class folders holds, and how to fix it."""
    files = sorted(file for file in home.iterdir() if file.is_file() and not file.name.startswith("."))
    given = [file for file in files if download.is_archive(file)]
    deeper = [part for part in parts if any(class_of(one.name, numbered) for one in part.iterdir() if one.is_dir())]
    named = next((part for part in parts if _images(part)), None)
    if deeper:
        best = next((part for part in deeper if part.name in ("val", "validation")), deeper[0])
        return f"but these lie one level deeper: give {best}"
    if given:
        return f"but holds the archive {given[0].name}: give that file, it will be unpacked"
    if flat := _images(home):
        return (
            f"but holds {len(flat):,} images side by side, the first {flat[0].name}: sort them into such folders, or "
            "give the archive that they come from"
        )
    if named:
        return f"but holds folders of other names, the first {named.name!r}: rename them to wnids"
    return f"but holds none, only {(parts + files)[0].name!r} and the like" if parts or files else "but is empty"


def check(images: pd.DataFrame, dataset, wanted: Iterable[str] | None, missing: int) -> int:
    """Return how many images are missing; raise InputError where that is more than `missing`, or there are too many.

    `dataset`: the entry. Where each class has as many images, the classes `wanted` are counted (None: all 1,000), else
    the whole data set.
    """
    name, n_images, each = dataset.name, dataset.n_images, dataset.images_per_class
    counts = images["wnid"].value_counts()
    surplus = ""
    if each:
        counts = counts.reindex(sorted(set(wanted if wanted is not None else wnids()) & set(wnids())), fill_value=0)
        lacking = (each - counts).clip(lower=0)
        if (counts > each).any():
            most = counts.idxmax()
            surplus = f"{counts[most]:,} images of the class {most}, expected {each}"
        some = [f"{wnid} has {counts[wnid]} of {each}" for wnid in lacking[lacking > 0].index[:10]]
        number, total = int(lacking.sum()), each * len(counts)
    else:
        if len(counts) > dataset.n_classes or len(images) > n_images:
            surplus = f"{len(images):,} images of {len(counts)} classes, expected {n_images:,} of {dataset.n_classes}"
        some = [f"found {len(images):,} of {len(counts)} of its {dataset.n_classes} classes"]
        number, total = max(0, n_images - len(images)), n_images
    if surplus:
        raise InputError(
            f"The data set {name!r} has {surplus}: give the images of {name}, not the training images or those of "
            "another data set."
        )
    if number > missing:
        more = ", …" if each and (lacking > 0).sum() > len(some) else ""
        raise InputError(
            f"The data set {name!r} lacks {number:,} of {total:,} images ({', '.join(some)}{more}): fetch it again, or "
            f"allow so many with missing={number}, which is recorded with the result."
        )
    return number
