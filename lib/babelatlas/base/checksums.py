"""SHA-256 sums: of files, of what lies in a folder, and lists of them by which damage
to a checkpoint is noticed.
"""

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

from babelatlas.base import folders
from babelatlas.base.errors import InputError
from babelatlas.base.paths import beside, locate

LIST = "SHA256SUMS"


def write_list(folder: str | os.PathLike, names: Iterable[str]) -> Path:
    """Write the checksums of files, named by their paths below a folder, to its
    SHA256SUMS; return its path.
    """
    path = locate(folder) / LIST
    with beside(path) as part:
        part.write_text(
            "".join(f"{digest(path.parent / name)}  {name}\n" for name in names),
            encoding="utf-8",
        )
    return path


def check_list(folder: str | os.PathLike) -> str:
    """Return which file of a folder is not as its SHA256SUMS says, in words, "" where
    all are or it has none.
    """
    listing = locate(folder) / LIST
    if not listing.is_file():
        return ""
    text = listing.read_bytes().decode("utf-8", errors="replace")
    for line in text.splitlines() or [""]:
        expected, _, name = line.partition("  ")
        path = listing.parent / name
        if not name or not path.is_file() or digest(path) != expected:
            return (
                f"{name or 'a line'} is missing, or does not have the SHA-256 of its"
                f" {LIST}"
            )
    return ""


def contents(place: str | os.PathLike, memory: Path | None = None) -> str:
    """Return a sum over names and contents of a file, or of the files below a folder,
    but hidden ones.

    Linked folders count as `folders.walk` reads them. `memory`: a JSON file that keeps
    the sums of files by their size and time, so that large ones are read once. Raises
    InputError where there is no file, since its sum would never change.
    """
    place = locate(place)
    remembered = {}
    if memory and memory.is_file():
        remembered = json.loads(memory.read_text(encoding="utf-8"))
    files, again = folders.walk(place) if place.is_dir() else ([place], {})
    sums, listing = {}, ""
    for file in filter(Path.is_file, files):
        state = f"{file} {file.stat().st_size} {file.stat().st_mtime_ns}"
        sums[state] = remembered.get(state) or digest(file)
        listing += f"{file.relative_to(place).as_posix()} {sums[state]}\n"
    if not listing:
        raise InputError(
            f"There is no file at {place}: put there what it should hold, or give"
            " another path."
        )
    for link, first in sorted(again.items()):
        listing += (
            f"{link.relative_to(place).as_posix()} as"
            f" {first.relative_to(place).as_posix()}\n"
        )
    if memory and sums.keys() - remembered.keys():
        with beside(memory) as part:
            part.write_text(json.dumps(remembered | sums), encoding="utf-8")
    return hashlib.sha256(listing.encode()).hexdigest()


def digest(path: str | os.PathLike) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
