"""A list of SHA-256 for a folder that other programs read, such as a checkpoint: damage to it is noticed."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from babelatlas.base.paths import beside, locate

LIST = "SHA256SUMS"


def write_list(folder: str | os.PathLike, names: Iterable[str]) -> Path:
    """Write the checksums of files, named by their paths below a folder, to its SHA256SUMS; return its path."""
    path = locate(folder) / LIST
    with beside(path) as part:
        part.write_text("".join(f"{digest(path.parent / name)}  {name}\n" for name in names), encoding="utf-8")
    return path


def check_list(folder: str | os.PathLike) -> str:
    """Return which file of a folder is not as its SHA256SUMS says, in words, "" where all are or it has none."""
    listing = locate(folder) / LIST
    if not listing.is_file():
        return ""
    for line in listing.read_bytes().decode("utf-8", errors="replace").splitlines() or [""]:
        known, _, name = line.partition("  ")
        path = listing.parent / name
        if not name or not path.is_file() or digest(path) != known:
            return f"{name or 'a line'} is missing, or does not have the SHA-256 of its {LIST}"
    return ""


def digest(path: str | os.PathLike) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
