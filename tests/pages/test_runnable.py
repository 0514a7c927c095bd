"""Notebooks that a reader takes out of the book: their first cell, and the tables that
it fetches.
"""

import http.server
import threading
import zipfile
from functools import partial

import pandas as pd
import pytest

from atlas_study.pages import runnable
from babelatlas.base import tables
from babelatlas.base.errors import InputError

CELL = {
    "cell_type": "code",
    "metadata": {},
    "source": "1",
    "execution_count": 3,
    "outputs": [{"a": 1}],
}
NOTEBOOK = {
    "cells": [{"cell_type": "markdown", "metadata": {}, "source": "# A page"}, CELL],
    "metadata": {},
}


@pytest.fixture
def book(tmp_path):
    """The folder of a book of the run "small", which has one table."""
    run = tmp_path / "made" / "results" / "small"
    images = pd.DataFrame({"path": ["a.png"], "wnid": ["n1"], "number": [0]})
    tables.write(images, run / "images" / "two.parquet", "images")
    tables.write(images, run / "cache" / "model" / "left.parquet", "images")
    runnable.pack(tmp_path / "book" / runnable.PACKED, run, [])
    return tmp_path / "book"


def test_the_tables_of_a_run_are_packed_in_the_same_bytes_each_time_and_nothing_else(
    book, tmp_path
):
    assert zipfile.ZipFile(book / runnable.PACKED).namelist() == [
        "results/small/images/two.parquet"
    ]
    runnable.pack(tmp_path / "again.zip", tmp_path / "made/results/small", [])
    assert (tmp_path / "again.zip").read_bytes() == (
        book / runnable.PACKED
    ).read_bytes()


def test_a_notebook_finds_the_tables_in_the_books_folder_and_at_its_address(
    book, tmp_path, monkeypatch
):
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=book)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for number, place in enumerate(
            (str(book), f"http://127.0.0.1:{server.server_address[1]}/")
        ):
            (tmp_path / f"reader{number}").mkdir()
            monkeypatch.chdir(tmp_path / f"reader{number}")
            folder = runnable.fetch_tables("small", place)
            assert len(tables.read(folder / "images" / "two.parquet", "images")) == 1
            assert runnable.fetch_tables("small") == folder  # there already
        server.shutdown()


def test_tables_that_are_not_there_are_named_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="of this notebook's book"):
        runnable.fetch_tables("small", "nowhere")


@pytest.mark.parametrize(
    ("repository", "installs"),
    [
        (
            "https://x.org/a",
            '%pip install --quiet "babelatlas[encoders] @ git+https://x.org/a"',
        ),
        ("", "raise ImportError"),
    ],
)
def test_the_first_cell_installs_from_the_repository_and_knows_the_book(
    repository, installs
):
    first, *rest = runnable.prepared(NOTEBOOK, "demo", repository, "https://a.example")[
        "cells"
    ]
    assert installs in first["source"]
    assert "BOOK = 'https://a.example'" in first["source"]
    assert "runnable.fetch_tables('demo', BOOK)" in first["source"]
    assert f"from {runnable.__package__} import runnable" in first["source"]
    assert [cell.get("outputs") for cell in rest] == [None, []]
    assert CELL["outputs"] == [{"a": 1}]
