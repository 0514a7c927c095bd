"""Notebooks that a reader takes out of the book and runs: what their first cell says, and the tables that they read.

The book offers each page's notebook, with the parameters that it was run with, and all of them with the tables of the
run in one file, `PACKED`. Where the study has a public address (`repository` in _config.yml), Binder and Colab open the
same notebooks.
"""

import io
import os
import re
import urllib.request
import zipfile
from pathlib import Path

from babelatlas.base.errors import InputError
from babelatlas.base.paths import root

# Below the book's folder: notebooks in pages/, tables in results/<run>/.
PACKED = "_files/notebooks.zip"
# Folders of a run without tables that a chapter reads, and large.
LEFT_OUT = ("cache", "embeddings", "notebooks", "pages")
FIRST = """# Run this page by itself: installs the library where it is missing, fetches the run's tables from the book.
# The book's address, or its folder (_build/html).
BOOK = {book!r}
import importlib.util

if importlib.util.find_spec("babelatlas") is None:
    {install}
from babelatlas.report import runnable

runnable.{fetch}({run!r}, BOOK)"""
# What stands after it on a page that loads models.
MODELS = "\n# This page computes with models: it needs their weights and images too, which `make book` makes."


def pack(folder: Path) -> bytes:
    """Return the tables of a run, all Parquet files below its folder results/<run>, as a zip file of the same bytes."""
    found = sorted(path for path in folder.rglob("*.parquet") if path.relative_to(folder).parts[0] not in LEFT_OUT)
    packed = io.BytesIO()
    add(packed, {f"results/{folder.name}/{path.relative_to(folder).as_posix()}": path for path in found})
    return packed.getvalue()


def add(packed: io.BytesIO | Path, files: dict[str, Path]) -> None:
    """Add files to a zip file, name -> file, without their times."""
    with zipfile.ZipFile(packed, "a") as archive:
        for name, file in files.items():
            archive.writestr(zipfile.ZipInfo(name), file.read_bytes(), zipfile.ZIP_DEFLATED)


def addresses(config: dict) -> tuple[str, str]:
    """Return the addresses of the repository and of the published book in a book's _config.yml, "" where not known.

    >>> addresses({"repository": {"url": "https://github.com/ann/atlas"}})
    ('https://github.com/ann/atlas', 'https://ann.github.io/atlas')
    """
    url = ((config.get("repository") or {}).get("url") or "").rstrip("/").removesuffix(".git")
    book = ((config.get("html") or {}).get("baseurl") or "").rstrip("/")
    github = re.fullmatch(r"https://github\.com/([\w.-]+)/([\w.-]+)", url)
    return url, book or (f"https://{github[1].lower()}.github.io/{github[2]}" if github else "")


def prepared(notebook: dict, run: str, repository: str, book: str) -> dict:
    """Return a page's notebook without outputs; of a run one whose first cell installs the library and fetches tables.

    `run`: the run's name, "" to add no cell; `repository` and `book`: their `addresses`.
    """
    cells = [cell | {"outputs": [], "execution_count": None} if cell["cell_type"] == "code" else cell
             for cell in notebook["cells"]]  # fmt: skip
    if run:
        computes = any("models import loading" in "".join(cell["source"]) for cell in cells)
        extras = "[encoders]" if computes else ""
        install = f'%pip install --quiet "babelatlas{extras} @ git+{repository}"'
        missing = "Install the library first: pip install . in a copy of the study."
        source = FIRST.format(
            book=book,
            run=run,
            fetch=fetch_tables.__name__,
            install=install if repository else f"raise ImportError({missing!r})",
        )
        first = {"cell_type": "code", "metadata": {"tags": ["hide-input"]}, "id": "run-by-itself"}
        cells.insert(0, first | {"source": source + MODELS * computes, "outputs": [], "execution_count": None})
    # The checksum is that of the page, with its outputs.
    return notebook | {"cells": cells, "metadata": {k: v for k, v in notebook["metadata"].items() if k != "checksum"}}


def fetch_tables(run: str, book: str = "") -> Path:
    """Return the folder results/<run> with the tables of a run; where it is not there, take them from the book.

    `book`: the book's address, or its folder. Raises InputError where there are neither tables nor a book with them.
    """
    folder = root() / "results" / run
    if folder.is_dir():
        return folder
    if not book:
        raise InputError(
            f"The tables of the run {run!r} are not in {folder}: set BOOK to the address or folder of the book that "
            f"this notebook comes from, which has them in {PACKED}."
        )
    place = f"{book.rstrip('/')}/{PACKED}"
    try:
        if re.match("https?://", book):
            with urllib.request.urlopen(place, timeout=60) as answer:
                content = answer.read()
        else:
            content = Path(os.path.expanduser(place)).read_bytes()
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = [name for name in archive.namelist() if name.startswith(f"results/{run}/") and ".." not in name]
            archive.extractall(root(), names)
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(
            f"The tables of the run {run!r} cannot be read from {place} ({error}): correct BOOK."
        ) from error
    if not folder.is_dir():
        raise InputError(f"The book at {book} is of another run than {run!r}: take the notebook from it again.")
    return folder
