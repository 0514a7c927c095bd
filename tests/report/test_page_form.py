"""The form of a page: takeaway first, no code between the findings, one panel at the end."""

import copy

import pytest

from babelatlas.report import page_form, reading


def prose(text):
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def code(source, shown=""):
    outputs = [{"output_type": "display_data", "metadata": {}, "data": {"text/markdown": shown}}] if shown else []
    return {"cell_type": "code", "metadata": {"tags": ["hide-input"]}, "source": source, "outputs": outputs}


def notebook(last):
    made = {"notebook": "chapters/x", "parameters": {"n": 20}, "seconds": 1.5}
    cells = [prose("# Title\n\nWhat?"), code("n = 20"), code("draw()", "A figure."), code("answer()", last)]
    return {"cells": cells, "metadata": {"babelatlas": made}}


@pytest.mark.parametrize("last", ["**Answer.** Seven differ.", reading.takeaway("Seven differ.").data])
def test_the_takeaway_stands_below_the_question_wherever_it_was_computed(last):
    given = notebook(last)
    before = copy.deepcopy(given)
    page = page_form.formed(given, "x")
    texts = ["".join(cell["source"]) for cell in page["cells"] if cell["cell_type"] == "markdown"]
    assert texts[0] == "# Title\n\nWhat?"
    assert texts[1] == reading.takeaway("Seven differ.").data
    assert given == before, "the executed notebook was changed"


def test_code_that_shows_nothing_goes_and_what_shows_something_hides_its_code():
    page = page_form.formed(notebook("**Answer.** Seven differ."), "x")
    shown = [cell for cell in page["cells"] if cell["cell_type"] == "code"]
    assert [(cell["source"], cell["metadata"]["tags"]) for cell in shown] == [("draw()", ["remove-input"])]


def test_the_last_section_has_the_whole_code_the_parameters_and_how_to_cite():
    page = page_form.formed(notebook("**Answer.** Seven differ."), "x", ending="How to cite.")
    last = page["cells"][-1]["source"]
    assert last.startswith("## About this page")
    assert "n = 20\n\ndraw()\n\nanswer()" in last
    assert '<a download href="_sources/x.ipynb">' in last
    assert "- `n` = 20" in last
    assert last.endswith("How to cite.")


def test_a_page_names_the_page_it_belongs_to_and_those_that_belong_to_it():
    page = page_form.formed(notebook(""), "x", parents=("above", "The page above"), more=[("below", "The page below")])
    first, *_, more, _ = [cell["source"] for cell in page["cells"] if cell["cell_type"] == "markdown"]
    assert first.startswith("# Title\n\n{.atlas-parent}\nPart of [The page above](above).")
    assert more == "## More on this subject\n\n- [The page below](below)"
