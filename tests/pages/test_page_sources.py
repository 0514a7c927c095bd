"""What a page says of what it was made from."""

import json

from atlas_study.pages import page_sources
from babelatlas.base import installed
from conftest import tracked


def notebook(source):
    made = {"notebook": "x", "parameters": {"n": 20}, "seconds": 1.5}
    cell = {"cell_type": "code", "source": source, "metadata": {}}
    return {"cells": [cell], "metadata": {"babelatlas": made}}


def test_a_page_lists_parameters_tables_files_with_their_sources_and_versions():
    source = 'reads = ["labels"]\ndata_files = ["languages.csv", "released"]'
    text = page_sources.panel(notebook(source))
    assert "Notebook `x`, 1.5 s." in text
    assert "- `n` = 20" in text
    assert "**Tables of the run**\n\n- `labels`" in text
    assert "- `languages.csv` (Languages)" in text
    assert (
        "- `released` (results of others, sources in `released/sources.toml`)" in text
    )
    assert f"numpy {installed.versions()['numpy']}" in text


def test_versions_are_those_of_the_run_where_it_recorded_them():
    page = notebook("n = 20")
    page["metadata"]["babelatlas"]["versions"] = {"Python": "3.99"}
    text = page_sources.panel(page)
    assert text.endswith("**Environment**\n\nPython 3.99")
    assert "**Tables" not in text


def test_a_notebook_that_no_run_made_has_no_panel():
    assert page_sources.panel({"cells": [], "metadata": {}}) == ""


def test_of_every_shipped_file_that_a_notebook_reads_its_source_is_said():
    silent = {
        name
        for path in tracked("notebooks/*/*.ipynb")
        for name in page_sources.listed(
            json.loads(path.read_text(encoding="utf-8")), page_sources.SHIPPED
        )
        if not page_sources.subject(name)
    }
    assert silent == set()
