"""The staged tree and what is rendered of it: which pages, which links, which files,
and how much they weigh.
"""

import json
import re
import shutil
import zipfile

import pandas as pd
import pytest
import yaml

from atlas_study.pages import citation, page_form, runnable
from atlas_study.workflow import book as books
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from conftest import ROOT, tracked

# What a run may lack, as first parts of the names of pages.
TASKS = {
    "nothing": (),
    "classification": ("67_", "72_", "76_", "77_", "13_", "32_"),
    "retrieval": ("68_", "70_", "19_"),
    "disambiguation": ("64_", "69_", "71_", "75_", "35_", "42_", "45_"),
    "training": ("62_", "63_", "65_", "40_"),
    "pages": ("41_", "43_", "10_", "languages", "language-"),
}
TASKS["everything"] = sum(TASKS.values(), ())


def notebook(text="# A page\n\nWhat?", html=""):
    """Return a notebook of one cell of prose, and one whose output is HTML where this
    is given.
    """
    cells = [{"cell_type": "markdown", "metadata": {}, "source": text}]
    output = {
        "output_type": "display_data",
        "metadata": {},
        "data": {"text/html": html},
    }
    code = {
        "cell_type": "code",
        "metadata": {},
        "source": "show()",
        "execution_count": 1,
        "outputs": [output],
    }
    metadata = {"language_info": {"name": "python"}}
    return {
        "cells": cells + [code] * bool(html),
        "metadata": metadata,
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def project(folder, chapters=("one", "two", "rerun")):
    """Write a project whose contents have these chapters, executed in its run "small";
    return its run's folder.
    """
    run = folder / "results" / "small"
    (run / "notebooks").mkdir(parents=True)
    shutil.copytree(ROOT / "book" / "_static", folder / "book" / "_static")
    (folder / "book" / "references.bib").write_text("", encoding="utf-8")
    for name in ("_config.yml", citation.FILE):
        shutil.copyfile(ROOT / name, folder / name)
    toc = {
        "format": "jb-book",
        "root": "index",
        "chapters": [{"file": name} for name in chapters],
    }
    (folder / "_toc.yml").write_text(yaml.safe_dump(toc), encoding="utf-8")
    for name in ("00_summary", *chapters):
        write(
            run / "notebooks" / f"{name}.ipynb",
            notebook(f"# The page {name}\n\nWhat is {name}?"),
        )
    table = pd.DataFrame({"path": ["a.png"], "wnid": ["n1"], "number": [0]})
    tables.write(table, run / "images" / "a.parquet", "images")
    return run


def write(path, content):
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def staged(folder):
    return books.stage(
        folder,
        folder / "build",
        sorted((folder / "results/small/notebooks").glob("*.ipynb")),
    )


def rendered(folder):
    return books.render(staged(folder), folder / "build", folder / "results" / "small")


@pytest.fixture(scope="module")
def every_page(tmp_path_factory):
    """One page for each notebook of the study, with its prose; runs of stages are
    called by their notebook alone.
    """
    folder = tmp_path_factory.mktemp("pages")
    known = list(
        books.listed(yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8")))
    )
    for source in tracked("notebooks/*/*.ipynb"):
        cells = json.loads(source.read_text(encoding="utf-8"))["cells"]
        text = "\n\n".join(
            "".join(cell["source"]) for cell in cells
        )  # links in code become links of outputs
        alone = source.stem in (books.TITLE_PAGE, *known)
        write(folder / f"{source.stem}{'' if alone else '_run'}.ipynb", notebook(text))
    for name in ("languages", "language-de"):
        (folder / f"{name}.md").write_text(
            "# A page\n\nAll: [the list](languages.md).", encoding="utf-8"
        )
    return folder


def test_every_notebook_of_the_study_is_in_the_contents(every_page):
    books.check_contents(
        ROOT / "_toc.yml", [path.stem for path in every_page.iterdir()]
    )


@pytest.mark.parametrize("gone", TASKS)
def test_a_run_without_some_tasks_has_no_link_that_leads_nowhere(
    every_page, tmp_path, gone
):
    kept = [
        path
        for path in sorted(every_page.iterdir())
        if not path.name.startswith(TASKS[gone] or ("-",))
    ]
    folder = books.stage(ROOT, tmp_path, kept)
    texts = {
        path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.[mi]*")
    }
    targets = [
        link[2] or link[4] or link[5]
        for text in texts.values()
        for link in page_form.LINK.finditer(text)
    ]
    known = {
        path.stem for path in [*every_page.iterdir(), *(ROOT / "book").glob("*.md")]
    }
    assert set(targets) & set(texts)
    assert [target for target in targets if target in known - set(texts)] == []


def test_a_link_to_a_page_that_is_left_out_becomes_its_text():
    text = (
        "{doc}`a part <x>`, {doc}`x`, [this](x.md#there), [that](y) and [an"
        " address](https://x.org/x.md)."
    )
    plain = "a part, x, this, [that](y) and [an address](https://x.org/x.md)."
    assert page_form.without_links(text, {"x"}.__contains__) == plain
    buttons = "[a](x){.atlas-button} [b](y){.atlas-button}"
    assert (
        page_form.without_links(buttons, {"x"}.__contains__) == " [b](y){.atlas-button}"
    )


def test_a_page_that_loads_data_which_a_run_did_not_make_is_left_out(tmp_path):
    run = project(tmp_path, ["one", "explorer"])
    (run / "notebooks" / "explorer.ipynb").unlink()
    write(
        run / "notebooks" / "one.ipynb",
        notebook("# The page one\n\nWhat? See [the explorer](explorer)."),
    )
    shutil.copyfile(ROOT / "book" / "explorer.md", tmp_path / "book" / "explorer.md")
    folder = staged(tmp_path)
    assert not (folder / "explorer.md").exists()
    assert "See the explorer." in (folder / "one.ipynb").read_text(encoding="utf-8")


FILLED = """
title: Words & pictures
authors: [{given-names: Ada, family-names: Doe}, {name: The group}]
date-released: 2027-01-02
url: https://example.org/atlas/
repository-code: https://github.com/ada/atlas
doi: 10.5281/zenodo.12345
"""


@pytest.mark.parametrize("filled", [True, False])
def test_addresses_that_a_fork_fills_in_stand_on_every_page_and_none_where_it_did_not(
    tmp_path, filled
):
    run = project(tmp_path, ["one", "how-to-read"])
    (run / "notebooks" / "how-to-read.ipynb").unlink()
    shutil.copyfile(
        ROOT / "book" / "how-to-read.md", tmp_path / "book" / "how-to-read.md"
    )
    page = notebook("# The page one\n\nWhat?", "<p>What is shown</p>")
    write(run / "notebooks" / "one.ipynb", page)
    if filled:
        (tmp_path / citation.FILE).write_text(FILLED, encoding="utf-8")
    folder = staged(tmp_path)
    guide = (folder / "how-to-read.md").read_text(encoding="utf-8")
    one = (folder / "one.ipynb").read_text(encoding="utf-8")
    config = yaml.safe_load((folder / "_config.yml").read_text(encoding="utf-8"))
    assert citation.PLACE not in guide
    assert "```bibtex\n@misc{babelatlas,\n" in guide
    assert ("https://doi.org/10.5281/zenodo.12345" in guide) == filled
    assert ("example.org/atlas/one.html" in one) == filled
    assert ("https://codespaces.new/ada/atlas" in one) == filled
    assert bool(config["html"]["baseurl"]) == filled
    assert bool(config["repository"]["url"]) == filled
    assert config["author"] == (
        "Ada Doe, The group" if filled else "The Babel Atlas authors"
    )


def test_what_readers_search_for_names_pages_of_the_book():
    words = yaml.safe_load((ROOT / "book" / books.SEARCH).read_text(encoding="utf-8"))
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    assert set(words) <= set(books.listed(toc))
    for page, text in words.items():
        phrases = [phrase.strip() for phrase in text.split(";")]
        assert all(phrases), page
        assert len(set(phrases)) == len(phrases), page


def test_a_page_that_is_not_in_the_contents_is_named(tmp_path):
    run = project(tmp_path)
    write(run / "notebooks" / "45_new.ipynb", notebook())
    with pytest.raises(
        InputError,
        match=(
            r"^45_new is not in the contents, _toc\.yml, .* add the line '- file:"
            r" 45_new"
        ),
    ):
        staged(tmp_path)


def test_figures_and_tables_become_files_with_links_to_them(tmp_path):
    run, held = project(tmp_path), "base64,aGVsbG8="
    links = f'<p class="atlas-links"><a href="data:text/csv;{held}">CSV</a></p>'
    html = (
        "<figure><img"
        f' src="data:image/svg+xml;{held}"><figcaption>n</figcaption>{links}</figure>'
    )
    write(run / "notebooks" / "one.ipynb", notebook("# The page one\n\nWhat?", html))
    folder = staged(tmp_path)
    cells = json.loads((folder / "one.ipynb").read_text(encoding="utf-8"))["cells"]
    text = cells[1]["outputs"][0]["data"]["text/html"]
    drawn, table = sorted(
        (path.name for path in (folder / "_files").iterdir()),
        key=lambda name: name.endswith(".csv"),
    )
    assert "data:" not in text
    assert f'<img src="_files/{drawn}">' in text
    assert (
        f'<p class="atlas-links"><a download href="_files/{drawn}">SVG</a> <a'
        f' href="_files/{table}">CSV</a>' in text
    )


def test_staging_again_touches_only_what_changed_and_removes_what_left(tmp_path):
    run = project(tmp_path)
    folder = staged(tmp_path)
    times = {
        path.name: path.stat().st_mtime_ns
        for path in folder.iterdir()
        if path.is_file()
    }
    write(run / "notebooks" / "two.ipynb", notebook("# The page two\n\nWhat else?"))
    staged(tmp_path)
    assert {
        name
        for name, time in times.items()
        if (folder / name).stat().st_mtime_ns != time
    } == {"two.ipynb"}
    (run / "notebooks" / "one.ipynb").unlink()
    staged(tmp_path)
    assert not (folder / "one.ipynb").exists()
    assert "one" not in (folder / "_toc.yml").read_text(encoding="utf-8")


@pytest.mark.slow
def test_only_changed_pages_are_rendered_again_and_a_page_that_left_is_gone(tmp_path):
    run = project(tmp_path)
    held = '<img src="data:image/png;base64,aGVsbG8=" alt="x">'
    write(run / "notebooks" / "one.ipynb", notebook("# The page one\n\nWhat?", held))
    book = rendered(tmp_path)
    made = tmp_path / "build" / "stage" / "_build" / "html"
    times = {path.name: path.stat().st_mtime_ns for path in made.glob("*.html")}
    address = re.search(
        r"_files/\w+\.png", (book / "one.html").read_text(encoding="utf-8")
    )
    assert (book / address[0]).read_bytes() == b"hello"
    write(run / "notebooks" / "two.ipynb", notebook("# The page two\n\nWhat else?"))
    rendered(tmp_path)
    again = {
        path.name
        for path in made.glob("*.html")
        if path.stat().st_mtime_ns != times[path.name]
    }
    assert "two.html" in again
    assert "one.html" not in again
    assert "What else?" in (book / "two.html").read_text(encoding="utf-8")
    (run / "notebooks" / "one.ipynb").unlink()
    rendered(tmp_path)
    assert not (book / "one.html").exists()
    assert not list(book.glob("_files/*.png"))
    write(
        run / "notebooks" / "two.ipynb",
        notebook("# The page two\n\nWhat of [this](nowhere.md)?"),
    )
    for _ in range(2):  # a page that was read with a warning is read again
        with pytest.raises(RuntimeError, match="nowhere"):
            rendered(tmp_path)


def test_pages_offer_their_notebook_and_all_of_them_with_the_tables_of_the_run(
    tmp_path,
):
    run = project(tmp_path, ["one", "rerun"])
    write(
        run / "notebooks" / "one.ipynb",
        notebook("# The page one\n\nWhat?", "<p>What is shown</p>"),
    )
    book = rendered(tmp_path)
    page = (book / "one.html").read_text(encoding="utf-8")
    assert '<a download href="_sources/one.ipynb">' in page
    first = json.loads((book / "_sources" / "one.ipynb").read_text(encoding="utf-8"))[
        "cells"
    ][0]["source"]
    assert "runnable.fetch_tables('small', BOOK)" in first
    packed = zipfile.ZipFile(book / runnable.PACKED).namelist()
    assert packed == [
        "results/small/images/a.parquet",
        "pages/index.ipynb",
        "pages/one.ipynb",
        "pages/rerun.ipynb",
    ]


@pytest.mark.slow
def test_the_book_is_small_and_so_is_every_page(book):
    sizes = {
        path.relative_to(book).as_posix(): path.stat().st_size
        for path in book.rglob("*")
        if path.is_file()
    }
    assert sum(sizes.values()) <= 80e6
    assert {
        name: size
        for name, size in sizes.items()
        if name.endswith(".html") and size > 1e6
    } == {}
