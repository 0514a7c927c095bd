"""Checksums: how damage to a stored file is noticed, be it one bit.

A file that the study makes holds the SHA-256 of its own bytes, taken with zeros where the checksum stands. A folder
of files that other programs read, such as a checkpoint, has a list of theirs, as `sha256sum` writes it. A file without
a checksum is read as it is: it is the user's, another program's, or of an older version of the study.
"""

import hashlib
import json
import os
import re
import zipfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA, beside, locate, root

MARK = "sha256-of-this-file:"
BLANK = MARK + 64 * "0"  # what a writer puts into a file before `stamp`
STAMP = re.compile(MARK.encode() + rb"([0-9a-f]{64})")
LIST = "SHA256SUMS"


def stamp(path: str | os.PathLike) -> None:
    """Put the checksum of a file in the place of the last `BLANK` that it holds."""
    content = Path(path).read_bytes()
    place = content.rindex(BLANK.encode()) + len(MARK)
    with open(path, "r+b") as file:
        file.seek(place)
        file.write(hashlib.sha256(content).hexdigest().encode())


def stamp_archive(path: str | os.PathLike) -> None:
    """Give a zip file, as NumPy and torch write them, its checksum as a comment."""
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = BLANK.encode()
    stamp(path)


def save_arrays(path: str | os.PathLike, **arrays) -> None:
    """Write arrays to an .npz file that appears whole or not at all, with its checksum as the archive's comment."""
    import numpy as np

    with beside(path) as part:
        with part.open("wb") as file:
            np.savez(file, **arrays)
        stamp_archive(part)


def problem(path: str | os.PathLike) -> str:
    """Return, in words, that a file is empty or not as it was written; "" where it is, or has no checksum."""
    path = locate(path)
    known = path.stat()
    return _problem(path, (known.st_size, known.st_mtime_ns, known.st_ino)) if known.st_size else "it is empty"


def check(path: str | os.PathLike) -> None:
    """Raise InputError where a file that the study made has a `problem`, with how to fix it."""
    if damage := problem(path):
        raise InputError(f"The file {locate(path)} cannot be used, {damage}: {fix(path)}")


def read_json(path: str | os.PathLike):
    """Return the content of a JSON file that a run wrote; raises InputError where it is damaged."""
    path, found = locate(path), None
    damage = problem(path)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        damage = damage or str(error)
    if damage:
        raise InputError(f"The file {path} cannot be read ({damage}): {fix(path)}")
    return found


@cache
def _problem(path: Path, version: tuple[int, int, int]) -> str:
    """Return what is wrong with the bytes of a file, "" for nothing; each version of a file is looked at once."""
    content = path.read_bytes()
    found = STAMP.match(content, max(content.rfind(MARK.encode()), 0))
    if not found:
        return ""
    known = hashlib.sha256(memoryview(content)[: found.start(1)])
    known.update(b"0" * 64 + content[found.end() :])
    whole = known.hexdigest().encode() == found[1]
    return "" if whole else "it is damaged or was changed, its SHA-256 is not the one that it was written with"


def fix(path: str | os.PathLike) -> str:
    """Return what to do about a damaged file, as the end of a sentence: only what a run makes is to be deleted.

    >>> fix("results/demo/zeroshot/picto-en_pictograms.parquet")
    'delete it and run again.'
    >>> fix("/data/labels.csv")
    'put a whole copy in its place, or give another path.'
    """
    path = locate(path)
    if path.is_relative_to(root() / "results"):
        return "delete it and run again."
    if path.is_relative_to(DATA):
        return "it ships with the library: restore it from the repository, or install the library again."
    return "put a whole copy in its place, or give another path."


def write_list(folder: str | os.PathLike, names: Iterable[str]) -> Path:
    """Write the checksums of files of a folder to its SHA256SUMS, which `sha256sum -c` checks, too; return its path.

    `names`: the files, by their paths below the folder. Another list that was there is lost.
    """
    path = locate(folder) / LIST
    with beside(path) as part:
        part.write_text("".join(f"{_digest(path.parent / name)}  {name}\n" for name in names), encoding="utf-8")
    return path


def check_list(folder: str | os.PathLike) -> str:
    """Return which file of a folder is not as its SHA256SUMS says, in words, "" where all are or it has none."""
    listing = locate(folder) / LIST
    if not listing.is_file():
        return ""
    lines = listing.read_bytes().decode("utf-8", errors="replace").splitlines()
    if not lines:
        return f"{LIST} is empty"
    for line in lines:
        known, _, name = line.partition("  ")
        path = listing.parent / name
        if not name or not path.is_file():
            return f"{name or line} is in its {LIST} but not in the folder"
        if _digest(path) != known:
            return f"{name} does not have the SHA-256 of its {LIST}"
    return ""


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
