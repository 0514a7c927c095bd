"""Where files are: those that ship with the library, and those of a run; and files that
appear whole or not at all.
"""

import csv
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from babelatlas.base.errors import InputError, remedy

DATA = Path(__file__).resolve().parents[1] / "data"


def root() -> Path:
    """Return where relative paths start: the nearest folder at or above here with a
    Snakefile, else here.
    """
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "Snakefile").is_file():
            return folder
    return here


def locate(path: str | os.PathLike) -> Path:
    """Return `path` as it stands if absolute, else below `root()`; a notebook finds its
    files wherever it is opened.
    """
    return root() / path


def below(
    table: Path,
    names: Iterable[str],
    folder: Path | None = None,
    absolute: bool = False,
) -> list[str]:
    """Return where the files that a table names are, below its folder or, where given,
    below `folder`.

    `absolute` True also takes absolute paths, which the run itself writes for files in
    folders that the config names.

    >>> below(Path("data/images.csv"), ["cats/1.png"])
    ['data/cats/1.png']
    """
    names, folder = list(names), folder or table.parent
    for name in names:
        if ".." in Path(name).parts or (os.path.isabs(name) and not absolute):
            raise InputError(
                f"The table {table} names the file {name}, which is not below {folder}:"
                " put it there."
            )
    return [str(folder / name) for name in names]


def rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file that ships with the library, column -> text."""
    with open(DATA / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@contextmanager
def beside(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a path next to `path` to write to; after the block it takes the place of
    `path`, after an error it is gone.

    Folders that are missing are made. The name does not keep the ending of `path`: give
    `numpy.savez` an open file.
    """
    path = locate(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def check_writable(folder: str | os.PathLike) -> None:
    """Make a folder if it is missing; raise InputError where nothing can be written to
    it, before long work does.
    """
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(1 << 20))
    except OSError as error:
        fix = remedy(error.strerror) or "work in another folder"
        raise InputError(
            f"The folder {os.path.abspath(folder)} cannot be written to"
            f" ({error.strerror}): {fix}."
        ) from error


def clean() -> int:
    """Remove what runs and tests have made here, say what else is in `results`, and
    return the status of `rm`.

    The caller holds the lock of runs, which stays. Of a run its folders go, but for
    that of the tables that were merged into it, since these came from elsewhere; a
    single file there is a user's.
    """
    folders = [
        logs.parent
        for logs in Path("results").glob("*/logs")
        if (logs.parent / "notebooks").is_dir()
    ]
    runs = [folder for folder in folders if folder.name not in ("adapted", "scratch")]
    to_remove = [path for path in Path("_build").iterdir() if path.name != "run.lock"]
    for run in runs:
        to_remove += [path for path in run.glob("*/") if path.name != "merged"]
        to_remove.append(run / "files.json")
    to_remove += [".snakemake", ".pytest_cache", ".ruff_cache", ".hypothesis"]
    status = subprocess.call(["rm", "-rf", *to_remove])
    for run in runs:
        with suppress(OSError):  # where it is not empty
            run.rmdir()
    if stays := sorted(str(path) for path in Path("results").glob("*")):
        print(f"What no run made stays: {', '.join(stays)}.")
    return status
