"""The form of a page: takeaway first, code last, sections of the miniature that look
like it, details that fold.
"""

import copy
import json
from pathlib import Path

import pytest
from docutils import nodes
from docutils.core import publish_doctree

from atlas_study.pages import page_form, page_html
from babelatlas.report import reading


def prose(text):
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def code(source, shown=None):
    data = {"text/markdown": shown}
    outputs = (
        [{"output_type": "display_data", "metadata": {}, "data": data}]
        if shown is not None
        else []
    )
    return {
        "cell_type": "code",
        "metadata": {"tags": ["hide-input"]},
        "source": source,
        "outputs": outputs,
    }


def notebook(last):
    made = {"notebook": "chapters/x", "parameters": {"n": 20}, "seconds": 1.5}
    cells = [
        prose("# Title\n\nWhat?"),
        code("n = 20"),
        code("draw()", "A figure."),
        code("blank()", ""),
    ]
    return {"cells": [*cells, code("answer()", last)], "metadata": {"babelatlas": made}}


def test_the_answer_of_a_stage_stands_below_the_question_and_a_takeaway_where_it_is():
    given = notebook("**Answer.** Seven differ.")
    before = copy.deepcopy(given)
    page = page_form.formed(given, "x")
    texts = [
        cell["source"] for cell in page["cells"] if cell["cell_type"] == "markdown"
    ]
    assert texts[:2] == ["# Title\n\nWhat?", reading.takeaway("Seven differ.").data]
    assert given == before, "the executed notebook was changed"

    box = reading.takeaway("Seven differ.").data
    *_, last, _ = page_form.formed(notebook(box), "x")["cells"]
    assert last["outputs"][0]["data"]["text/markdown"] == box


def test_code_that_shows_nothing_goes_and_what_shows_something_hides_its_code():
    page = page_form.formed(notebook("**Answer.** Seven differ."), "x")
    shown = [cell for cell in page["cells"] if cell["cell_type"] == "code"]
    assert [(cell["source"], cell["metadata"]["tags"]) for cell in shown] == [
        ("draw()", ["remove-input"])
    ]


@pytest.mark.parametrize("text", ["", "\n\n", "\n \n\n"])
def test_a_sentence_that_is_not_needed_leaves_no_trace_and_a_figure_beside_it_stays(
    text,
):
    figure = {
        "output_type": "display_data",
        "metadata": {},
        "data": {"text/html": "<figure></figure>"},
    }
    cell = code("show()", text)
    cell["outputs"].append(figure)
    page = page_form.formed(
        {"cells": [prose("# Title"), cell], "metadata": notebook("")["metadata"]}, "x"
    )
    shown = [cell["outputs"] for cell in page["cells"] if cell["cell_type"] == "code"]
    assert shown == [[figure]]


def test_a_heading_that_a_cell_shows_is_one_of_the_page_and_stands_between_what_the_cell_shows():
    given = notebook("A.")
    given["cells"][-1]["outputs"] += (
        code("", "## Where there is some")["outputs"] + code("", "B.")["outputs"]
    )
    shown = [
        cell.get("outputs") or cell["source"]
        for cell in page_form.formed(given, "x")["cells"]
    ][2:5]
    assert shown == [
        code("", "A.")["outputs"],
        "## Where there is some",
        code("", "B.")["outputs"],
    ]


def test_the_last_section_has_the_code_that_draws_nothing_the_parameters_and_how_to_cite():
    last = page_form.formed(notebook("**Answer.** Seven differ."), "x", "How to cite.")[
        "cells"
    ][-1]["source"]
    assert last.startswith("## About this page")
    assert "n = 20\n\ndraw()\n\nblank()\n\nanswer()" in last
    assert '<a download href="_sources/x.ipynb">' in last
    assert "- `n` = 20" in last
    assert last.endswith("How to cite.")


def test_a_page_names_the_page_it_belongs_to_and_those_that_belong_to_it():
    named = page_form.with_parent("# Title\n\nWhat?", "above", "The page above")
    assert (
        named == "# Title\n\n{.atlas-parent}\nPart of [The page above](above).\n\nWhat?"
    )
    assert page_form.listed([("below", "The page below")]).endswith(
        "\n\n- [The page below](below)"
    )
    assert page_form.listed([]) == ""


def drawn(source, kind="figure"):
    cell = code(source)
    html = f'<figure class="atlas-{kind}"></figure>'
    output = {
        "output_type": "display_data",
        "metadata": {},
        "data": {"text/html": html},
    }
    return cell | {"outputs": [output]}


def test_the_code_of_a_figure_stands_folded_below_it_and_the_rest_at_the_end():
    parameters = code("n = 20")
    parameters["metadata"]["tags"].append("parameters")
    cells = [
        prose("# Title"),
        parameters,
        code("import pandas"),
        prose("## Section"),
        code("rows = read()"),
        drawn("show(rows)"),
        code('Markdown("A sentence.")', "A sentence."),
        code("counts = count()"),
        drawn("list(counts)", "table"),
    ]
    given = {"cells": cells, "metadata": notebook("")["metadata"]}
    page = page_form.formed(given, "x")["cells"]
    beside = [cell["source"] for cell in page if "atlas-code" in cell["source"]]
    codes = [text.split("```")[1].removeprefix("python\n") for text in beside]
    assert codes == [
        "rows = read()\n\nshow(rows)\n",
        "counts = count()\n\nlist(counts)\n",
    ]
    assert "Code of this figure" in beside[0]
    assert "Code of this table" in beside[1]
    places = [page.index(cell) for cell in page if "atlas-code" in cell["source"]]
    assert all(page[place - 1].get("outputs") for place in places)
    rest = page[-1]["source"]
    assert 'n = 20\n\nimport pandas\n\nMarkdown("A sentence.")\n```' in rest
    assert "show(rows)" not in rest


def test_a_page_offers_to_open_the_study_where_its_repository_has_an_address():
    last = page_form.formed(notebook("A."), "x")["cells"][-1]["source"]
    assert "atlas-launch" not in last
    address = "https://codespaces.new/me/atlas"
    last = page_form.formed(notebook("A."), "x", launch=address)["cells"][-1]["source"]
    assert f"]({address}){{.atlas-launch}}" in last


def document(text):
    return publish_doctree(
        f"Title\n=====\n\n{text}", settings_overrides={"doctitle_xform": False}
    )


MARKED = ".. class:: atlas-mark\n\nMiniature."


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        (f"A\n-\n\ntext\n\nB\n-\n\n{MARKED}", [[], [], ["atlas-miniature"]]),
        (MARKED, [["atlas-miniature"]]),
    ],
)
def test_a_section_with_a_mark_of_the_miniature_looks_like_it_and_no_other(
    text, classes
):
    page = document(text)
    page_html.mark_miniature(page)
    assert [section["classes"] for section in page.findall(nodes.section)] == classes


def test_details_fold_below_their_heading():
    page = document("Findings\n--------\n\ntext\n\nDetails\n-------\n\ntext")
    page_html.fold_details(page)
    _, findings, details = page.findall(nodes.section)
    assert [type(part).__name__ for part in details.children] == [
        "title",
        "raw",
        "paragraph",
        "raw",
    ]
    assert not list(findings.findall(nodes.raw))


def test_the_search_finds_all_of_a_chapter_but_its_code_and_of_a_language_the_title():
    text = (
        "Swahili\n=======\n\nmodel\n\nBest\n----\n\nmore\n\nAbout this"
        " page\n---------------\n\ncode\n"
    )
    page = publish_doctree(text, settings_overrides={"doctitle_xform": False})
    assert page_html.searched("language-sw", page).astext().split() == ["Swahili"]
    assert page_html.searched("20_photographs", page).astext().split() == [
        "Swahili",
        "model",
        "Best",
        "more",
    ]
    assert page.astext().split()[-1] == "code"  # the page itself is as it was


def test_the_search_finds_the_phrases_of_a_comment_and_no_code_of_a_figure():
    text = (
        "Part\n----\n\ntext\n\n.. code-block:: python\n   :class: atlas-code\n\n"
        f"   secret()\n\n.. {page_html.WORDS}broken runs; own model\n"
    )
    found = page_html.searched("20_photographs", document(text))
    titles = [title.astext() for title in found.findall(nodes.title)]
    assert titles == ["Title", "Part", "broken runs", "own model"]
    assert "secret" not in "".join(
        part.astext() for part in found.findall(nodes.literal_block)
    )
    assert page_form.SEARCH_WORDS.format("a") == f"% {page_html.WORDS}a"


def test_the_search_finds_of_a_stage_the_title_alone_whatever_it_is_called():
    stage = page_form.formed(notebook("**Answer.** Seven differ."), "x")
    chapter = page_form.formed(notebook(reading.takeaway("Seven.").data), "x")
    assert f"% {page_html.BY_TITLE}" == page_form.BY_TITLE
    assert page_form.BY_TITLE in stage["cells"][-1]["source"].split("\n\n")
    assert page_form.BY_TITLE not in chapter["cells"][-1]["source"]
    page = document(f"More\n----\n\ntext\n\n.. {page_html.BY_TITLE}")
    assert page_html.searched("renamed", page).astext().split() == ["Title"]


def chapter(folder, name, *texts):
    """An executed notebook that shows texts in Markdown."""
    content = {"cells": [code("show()", text) for text in texts], "metadata": {}}
    (folder / f"{name}.ipynb").write_text(json.dumps(content), encoding="utf-8")
    return folder / f"{name}.ipynb"


ASKED = "<!-- takeaways: 13_few 16_filters -->"


def shown_text(notebook):
    return notebook["cells"][0]["outputs"][0]["data"]["text/markdown"]


def test_a_page_shows_the_takeaways_of_others_in_their_words(tmp_path):
    texts = {"13_few": "Models lose -26 points.", "16_filters": "Filters leave 26 %."}
    pages = {
        name: chapter(tmp_path, name, "Prose.", reading.takeaway(text).data)
        for name, text in texts.items()
    }
    home = {"cells": [code("show()", ASKED)], "metadata": {}}
    before = copy.deepcopy(home)
    lines = shown_text(page_form.with_takeaways(home, pages)).splitlines()
    assert lines[0] == "## Findings on real models"
    assert lines[2:] == [
        "1. Models lose −26 points. [More](13_few).",
        "1. Filters leave 26 %. [More](16_filters).",
    ]
    assert home == before, "the executed notebook was changed"


@pytest.mark.parametrize("last", ["Prose.", None])
def test_a_page_that_is_lacking_or_has_no_takeaway_leaves_no_empty_item(tmp_path, last):
    home = {"cells": [code("show()", ASKED)], "metadata": {}}
    pages = {} if last is None else {"13_few": chapter(tmp_path, "13_few", last)}
    assert shown_text(page_form.with_takeaways(home, pages)) == ""


def test_places_on_a_map_link_only_to_pages_that_the_book_has(tmp_path):
    dot = '<a tabindex="-1" href="language-{}.html" style="left:1%" title="T"></a>'
    shown = dot.format("sw") + dot.format("quz")
    cell = code("draw()")
    data = {"text/html": shown}
    cell["outputs"] = [{"output_type": "display_data", "metadata": {}, "data": data}]
    file = tmp_path / "x.ipynb"
    cells = [prose("# X"), cell]
    file.write_text(json.dumps({"cells": cells, "metadata": {}}), encoding="utf-8")
    path = Path("x.ipynb")
    held = page_form.staged(path, file, {"language-quz"}.__contains__, [], "")
    (drawn,) = (
        output["data"]["text/html"]
        for each in json.loads(held[path])["cells"]
        for output in each.get("outputs", [])
    )
    assert drawn == dot.format("sw") + '<span style="left:1%" title="T"></span>'
