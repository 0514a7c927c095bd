"""Notebooks that a reader takes out of the book: their first cell, and the tables that it fetches."""

import http.server
import threading
import zipfile
from functools import partial

import pandas as pd
import pytest

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.report import runnable

NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": "# A page"},
        {"cell_type": "code", "metadata": {}, "source": "1", "execution_count": 3, "outputs": [{"a": 1}]},
    ],
    "metadata": {},
}


@pytest.fixture
def book(tmp_path):
    """The folder of a book of the run "small", which has one table."""
    run = tmp_path / "made" / "results" / "small"
    images = pd.DataFrame({"path": ["a.png"], "wnid": ["n1"], "number": [0]})
    tables.write(images, run / "images" / "two.parquet", "images")
    tables.write(images, run / "cache" / "model" / "left.parquet", "images")
    (run / "images" / "a.png").write_bytes(b"picture")
    place = tmp_path / "book" / runnable.PACKED
    place.parent.mkdir(parents=True)
    place.write_bytes(runnable.pack(run))
    return tmp_path / "book"


def test_the_tables_of_a_run_are_packed_in_the_same_bytes_each_time_and_nothing_else(book, tmp_path):
    assert zipfile.ZipFile(book / runnable.PACKED).namelist() == ["results/small/images/two.parquet"]
    assert runnable.pack(tmp_path / "made/results/small") == (book / runnable.PACKED).read_bytes()


def test_a_notebook_finds_the_tables_in_the_books_folder_and_at_its_address(book, tmp_path, monkeypatch):
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=book)
    handler.log_message = lambda *said: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for number, place in enumerate((str(book), f"http://127.0.0.1:{server.server_address[1]}/")):
            (tmp_path / f"reader{number}").mkdir()
            monkeypatch.chdir(tmp_path / f"reader{number}")
            folder = runnable.fetch_tables("small", place)
            assert len(tables.read(folder / "images" / "two.parquet", "images")) == 1
            assert runnable.fetch_tables("small") == folder  # there already
        server.shutdown()


@pytest.mark.parametrize(
    ("run", "place", "sentence"),
    [
        ("small", "", "set BOOK to the address or folder of the book"),
        ("small", "nowhere", r"cannot be read from nowhere/_files/notebooks.zip .* correct BOOK"),
        ("other", "book", "is of another run than 'other'"),
    ],
)
def test_tables_that_are_not_there_are_told_in_one_sentence(book, tmp_path, monkeypatch, run, place, sentence):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=sentence):
        runnable.fetch_tables(run, place)


def test_the_first_cell_installs_from_the_repository_and_knows_the_book():
    cells = runnable.prepared(
        NOTEBOOK, "demo", *runnable.addresses({"repository": {"url": "https://github.com/a/b.git"}})
    )
    first = cells["cells"][0]["source"]
    assert '%pip install --quiet "babelatlas @ git+https://github.com/a/b"' in first
    assert "BOOK = 'https://a.github.io/b'" in first
    assert "runnable.fetch_tables('demo', BOOK)" in first
    assert [cell.get("outputs") for cell in cells["cells"]] == [[], None, []]
    assert NOTEBOOK["cells"][1]["outputs"] == [{"a": 1}]


def test_without_an_address_the_first_cell_says_what_to_install_and_a_page_that_loads_models_what_it_needs():
    first = runnable.prepared(NOTEBOOK, "demo", "", "")["cells"][0]["source"]
    assert "BOOK = ''" in first
    assert "pip install . in a copy" in first
    assert "weights" not in first
    compile(first, "the first cell", "exec")
    loading = NOTEBOOK | {"cells": [NOTEBOOK["cells"][1] | {"source": "from babelatlas.models import loading"}]}
    assert "weights and images too" in runnable.prepared(loading, "demo", "", "")["cells"][0]["source"]
    assert "babelatlas[encoders] @" in runnable.prepared(loading, "demo", "https://x.org/a", "")["cells"][0]["source"]


def test_a_book_elsewhere_than_on_github_names_its_own_address():
    config = {"repository": {"url": "https://gitlab.com/a/b/"}, "html": {"baseurl": "https://atlas.example/"}}
    assert runnable.addresses(config) == ("https://gitlab.com/a/b", "https://atlas.example")
    assert runnable.addresses({"repository": {"url": ""}, "html": None}) == ("", "")
