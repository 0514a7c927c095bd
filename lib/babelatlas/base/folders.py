"""Reading folders that a user gives: what lies in them, through links, and names in any
of Unicode's forms.
"""

import os
import unicodedata
from collections import deque
from collections.abc import Iterable
from pathlib import Path

from babelatlas.base.errors import InputError


def nfc(name: str) -> str:
    """Return a name in Unicode's form NFC, in which names are compared: macOS writes é
    as two signs, others as one.

    >>> len("e\\u0301"), len(nfc("e\\u0301"))
    (2, 1)
    """
    return unicodedata.normalize("NFC", name)


def entries(folder: Path) -> list[Path]:
    """Return what lies in a folder, but hidden files and folders, sorted by name.

    InputError for a folder that cannot be read, and for a name that is not UTF-8, which
    no table can hold.
    """
    try:
        found = sorted(path for path in folder.iterdir() if path.name[0] != ".")
    except OSError as error:
        raise InputError(
            f"The folder {folder} cannot be read ({error.strerror}): let it be read."
        ) from error
    for path in found:
        try:
            str(path).encode()
        except UnicodeEncodeError:
            shown = os.fsencode(path).decode("utf-8", errors="backslashreplace")
            raise InputError(
                f"The name of {shown} is not UTF-8: rename it, as with `convmv -t"
                " utf-8`."
            ) from None
    return found


def walk(home: Path) -> tuple[list[Path], dict[Path, Path]]:
    """Return the files below a folder at any depth, and the links to folders whose
    files are listed already.

    Links are followed, and each real folder is read once, under its own name where it
    has one below `home`, so that a link to a folder above it ends. Files are sorted; of
    such links the path is given, and under which the files are listed. Hidden files and
    folders are left out; what raises is as for `entries`.
    """
    folders, links, files = deque([home]), deque(), []
    read: dict[tuple[int, int], Path] = {}
    again: dict[Path, Path] = {}
    while folders or links:
        folder = folders.popleft() if folders else links.popleft()
        status = folder.stat()
        first = read.setdefault((status.st_dev, status.st_ino), folder)
        if first != folder:
            again[folder] = first
            continue

        for path in entries(folder):
            if path.is_dir():
                (links if path.is_symlink() else folders).append(path)
            elif path.is_file():
                files.append(path)
    return sorted(files), again


def files_below(home: Path) -> list[Path]:
    """Return the files below a folder, as `walk` finds them."""
    return walk(home)[0]


def named(folder: Path, names: Iterable[str]) -> list[str]:
    """Return the paths of the files that a table names below a folder, whether there is
    such a file or not.

    Where there is none of a name, one whose name is the same in Unicode's form NFC is
    taken.
    """
    names = list(names)
    paths = {name: folder / name for name in names}
    absent = {name for name, path in paths.items() if not path.is_file()}
    # Only names beyond ASCII have another form; to list the folder takes its time.
    if folder.is_dir() and not all(name.isascii() for name in absent):
        file_of = {
            nfc(file.relative_to(folder).as_posix()): file
            for file in files_below(folder)
        }
        for name in absent:
            paths[name] = file_of.get(nfc(name), paths[name])
    return [str(paths[name]) for name in names]
