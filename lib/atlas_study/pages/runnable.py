"""Notebooks that a reader takes out of the book and runs: their first cell fetches the
tables of the run.

The book offers each page's notebook, with the parameters that it was run with, and all
of them with the tables of the run in one file, `PACKED`: notebooks in pages/, tables in
results/<run>/.
"""

import io
import re
import urllib.request
import zipfile
from pathlib import Path

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import root

PACKED = "_files/notebooks.zip"
LEFT_OUT = (
    "cache",
    "embeddings",
    "notebooks",
    "pages",
)  # folders of a run without tables that a chapter reads
FIRST = """# Run this page by itself: installs the library where it is missing, fetches the
# run's tables from the book. Pages that load models need a run of your own (`make book`).
# The book's address, or its folder (_build/html):
BOOK = {book!r}
import importlib.util

if importlib.util.find_spec("atlas_study") is None:
    {install}
from atlas_study.pages import runnable

runnable.fetch_tables({run!r}, BOOK)"""


def pack(target: Path, run: Path, notebooks: list[Path]) -> None:
    """Write the tables of a run and notebooks to a zip file, without their times: the
    same run gives the same bytes.
    """
    made = {
        file.relative_to(tables.locate(run)): file
        for file in tables.of_run(run, "**/*.parquet")
    }
    files = {
        f"results/{run.name}/{name.as_posix()}": made[name]
        for name in made
        if name.parts[0] not in LEFT_OUT
    }
    files |= {f"pages/{file.name}": file for file in notebooks}
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w") as archive:
        for name, file in files.items():
            archive.writestr(
                zipfile.ZipInfo(name), file.read_bytes(), zipfile.ZIP_DEFLATED
            )


def prepared(notebook: dict, run: str, repository: str = "", book: str = "") -> dict:
    """Return an executed notebook without outputs, whose first cell installs the
    library and fetches a run's tables.

    `repository` and `book`: their addresses, "" where they have none.
    """
    cells = [
        (
            cell | {"outputs": [], "execution_count": None}
            if cell["cell_type"] == "code"
            else cell
        )
        for cell in notebook["cells"]
    ]
    install = f'%pip install --quiet "babelatlas[encoders] @ git+{repository}"'
    alone = (
        'raise ImportError("Install the library: pip install . in a copy of the'
        ' study.")'
    )
    source = FIRST.format(book=book, install=install if repository else alone, run=run)
    first = {
        "cell_type": "code",
        "metadata": {"tags": ["hide-input"]},
        "id": "run-by-itself",
        "source": source,
    }
    metadata = {
        key: value for key, value in notebook["metadata"].items() if key != "checksum"
    }  # that of the outputs
    return notebook | {
        "cells": [first | {"outputs": [], "execution_count": None}, *cells],
        "metadata": metadata,
    }


def launch_address(repository: str) -> str:
    """Return the address that opens the study in a browser, ready to run, as the folder
    .devcontainer says; "" where its repository is not on GitHub.

    >>> launch_address("https://github.com/me/babel-atlas/")
    'https://codespaces.new/me/babel-atlas?quickstart=1'
    >>> launch_address("")
    ''
    """
    known = re.fullmatch(
        r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?", repository
    )
    return f"https://codespaces.new/{known[1]}?quickstart=1" if known else ""


def fetch_tables(run: str, book: str = "") -> Path:
    """Return the folder results/<run> with the tables of a run; where it is not there,
    take them from the book.

    `book`: the book's address, or its folder. Raises InputError where there are neither
    tables nor a book with them.
    """
    folder = root() / "results" / run
    if not folder.is_dir():
        address = (
            f"{book.rstrip('/')}/{PACKED}"
            if "://" in book
            else Path(book, PACKED).expanduser().resolve().as_uri()
        )
        try:
            with urllib.request.urlopen(address, timeout=60) as answer:
                archive = zipfile.ZipFile(io.BytesIO(answer.read()))
        except (OSError, zipfile.BadZipFile) as error:
            what = (
                f"The tables of the run {run!r} are not in {folder} and cannot be read"
                f" from {address} ({error})"
            )
            raise InputError(
                f"{what}: set BOOK to the address or folder of this notebook's book."
            ) from error
        archive.extractall(
            root(),
            [name for name in archive.namelist() if name.startswith(f"results/{run}/")],
        )
    return folder
