"""The staged tree and what is rendered of it: which pages, which links, which files, and how much they weigh."""

import itertools
import json
import re
import shutil
import zipfile

import pandas as pd
import pytest
import yaml

from babelatlas.base import checksums, tables
from babelatlas.base.errors import InputError
from babelatlas.report import pages as pages_of_languages
from babelatlas.report import runnable
from babelatlas.workflow import book as books
from conftest import ROOT

# Runs of stages by what a config asks for, as first parts of the names of pages; the first two are in every run.
TASKS = {
    "classification": ("20_", "24_", "28_", "29_", "30_", "31_", "32_", "33_", "82_"),
    "retrieval": ("21_", "34_", "81_"),
    "disambiguation": ("14_", "15_", "22_", "23_", "38_", "39_", "53_"),
    "training": ("11_", "12_", "13_"),
    "pages": ("35_", "36_", "37_", "70_", "71_", "languages", "language-"),
}


def notebook(text="# A page\n\nWhat?", html=""):
    """Return a notebook of one cell of prose, and one whose output is HTML where this is given."""
    cells = [{"cell_type": "markdown", "metadata": {}, "source": text}]
    output = {"output_type": "display_data", "metadata": {}, "data": {"text/html": html}}
    code = {"cell_type": "code", "metadata": {}, "source": "show()", "execution_count": 1, "outputs": [output]}
    return {
        "cells": cells + [code] * bool(html),
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def project(folder, chapters=("one", "two")):
    """Write a project whose contents have these chapters."""
    shutil.copytree(ROOT / "book" / "_static", folder / "book" / "_static")
    (folder / "book" / "references.bib").write_text("", encoding="utf-8")
    shutil.copyfile(ROOT / "_config.yml", folder / "_config.yml")
    toc = {"format": "jb-book", "root": "index", "chapters": [{"file": name} for name in chapters]}
    (folder / "_toc.yml").write_text(yaml.safe_dump(toc), encoding="utf-8")
    for name in ("00_summary", *chapters):
        write(folder / f"{name}.ipynb", notebook(f"# The page {name}\n\nWhat is {name}?"))
    return folder


def write(path, content):
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def pages(folder):
    return sorted(folder.glob("*.ipynb"))


@pytest.fixture(scope="module")
def every_page(tmp_path_factory):
    """One page for each notebook of the study, with its prose; runs of stages are called by their notebook alone."""
    folder, toc = tmp_path_factory.mktemp("pages"), (ROOT / "_toc.yml").read_text(encoding="utf-8")
    for source in (ROOT / "notebooks").glob("*/*.ipynb"):
        cells = json.loads(source.read_text(encoding="utf-8"))["cells"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells)  # links in code become links of outputs
        alone = source.stem == books.TITLE_PAGE or re.search(rf"file: {source.stem}$", toc, re.MULTILINE)
        names = [source.stem if alone else f"{source.stem}_run"]
        for name in ["10_labels_imagenet-1k", "10_labels_pictograms"] if source.stem == "10_labels" else names:
            write(folder / f"{name}.ipynb", notebook(text))
    for name in ("languages", "language-de"):
        (folder / f"{name}.md").write_text("# A page\n\nAll: [the list](languages.md).", encoding="utf-8")
    return folder


@pytest.mark.parametrize("left_out", [
    set(names) for size in range(len(TASKS) + 1) for names in itertools.combinations(TASKS, size)
], ids=lambda names: ", ".join(sorted(names)) or "nothing")  # fmt: skip
def test_a_run_without_some_tasks_has_no_link_that_leads_nowhere(every_page, tmp_path, left_out):
    gone = tuple(start for task in left_out for start in TASKS[task])
    kept = [path for path in sorted(every_page.iterdir()) if not path.name.startswith(gone)]
    folder = books.stage(ROOT, tmp_path, kept)
    shown = {path.stem for path in folder.iterdir() if path.suffix in (".md", ".ipynb")}
    texts = {name: next(folder.glob(f"{name}.*")).read_text(encoding="utf-8") for name in shown}
    links = [
        (name, link[2] or link[4] or link[5]) for name, text in texts.items() for link in books.LINK.finditer(text)
    ]
    known = {path.stem for path in [*every_page.iterdir(), *(ROOT / "book").glob("*.md")]}
    assert any(target in shown for _, target in links)
    assert [(name, target) for name, target in links if target in known - shown] == []


def test_a_link_to_a_page_that_is_left_out_becomes_its_text():
    text = "{doc}`a part <x>`, {doc}`x`, [this](x.md#there), [that](y) and [an address](https://x.org/x.md)."
    assert books.without_links(text, {"x"}) == "a part, x, this, [that](y) and [an address](https://x.org/x.md)."
    assert books.without_links("[a](x){.atlas-button} [b](y){.atlas-button}", {"x"}) == " [b](y){.atlas-button}"


def test_a_page_that_loads_data_which_a_run_did_not_make_is_left_out(tmp_path):
    folder = project(tmp_path)
    write(folder / "one.ipynb", notebook("# The page one\n\nWhat? See [the explorer](explorer)."))
    shutil.copyfile(ROOT / "book" / "explorer.md", folder / "book" / "explorer.md")
    toc = yaml.safe_load((folder / "_toc.yml").read_text(encoding="utf-8"))
    toc["chapters"].append({"file": "explorer"})
    (folder / "_toc.yml").write_text(yaml.safe_dump(toc), encoding="utf-8")
    staged = books.stage(folder, tmp_path / "build", pages(folder))
    assert not (staged / "explorer.md").exists()
    assert "See the explorer." in (staged / "one.ipynb").read_text(encoding="utf-8")


def test_a_page_that_is_not_in_the_contents_is_named(tmp_path):
    folder = project(tmp_path)
    books.check_contents(folder / "_toc.yml", ["00_summary", "one", "two"])
    with pytest.raises(InputError, match=r"^three is not in the contents, _toc\.yml, .* add the line '- file: three'"):
        books.check_contents(folder / "_toc.yml", ["one", "three"])
    write(folder / "45_new.ipynb", notebook())
    with pytest.raises(InputError, match="45_new is not in the contents"):
        books.stage(folder, folder / "build", pages(folder))


@pytest.mark.parametrize("content", [b"X", b"- file: [", b"chapters: [one]", b"\xff", None])
def test_contents_that_cannot_be_read_are_told_in_a_sentence(tmp_path, content):
    if content is not None:
        (tmp_path / "_toc.yml").write_bytes(content)
    with pytest.raises(InputError, match=r"contents of the book, .*_toc\.yml, cannot be read \(.*restore the file"):
        books.check_contents(tmp_path / "_toc.yml", ["one"])


def test_every_notebook_of_the_study_is_in_the_contents(every_page):
    books.check_contents(ROOT / "_toc.yml", [path.stem for path in every_page.iterdir()])


def test_images_and_long_scripts_become_files_that_pages_share():
    image = '<img src="data:image/png;base64,aGVsbG8=" alt="x">'
    script = f'<script type="module">(async () => {{{"x" * books.LARGE}}})();</script>'
    html = f"{image}<script>short()</script>{script}"
    made, files = books.light({"cells": notebook(html=html)["cells"] + notebook(html=image)["cells"]})
    first, second = (cell["outputs"][0]["data"]["text/html"] for cell in made["cells"] if "outputs" in cell)
    assert sorted(name.rpartition(".")[2] for name in files) == ["js", "png"]
    assert b"hello" in files.values()
    assert 'type="module"' not in first  # a browser refuses a module for a page on disk
    assert "<script>short()</script>" in first
    assert second.count("_files/") == 1
    assert second in first


def test_a_drawn_figure_becomes_files_shown_light_and_dark_with_links_to_them():
    held = "base64,aGVsbG8="
    picture = f'<picture><source srcset="data:image/svg+xml;{held}"><img src="data:image/svg+xml;{held}"></picture>'
    links = f'<p class="atlas-links" data-name="x"><a href="data:text/csv;{held}">CSV</a></p>'
    html = f'<figure class="atlas-figure">{picture}<figcaption>n</figcaption>{links}</figure>'
    made, files = books.light(notebook(html=html))
    text = made["cells"][1]["outputs"][0]["data"]["text/html"]
    drawn, table = sorted(files, key=lambda name: name.endswith(".csv"))
    assert "data:" not in text
    assert text.count(f'srcset="_files/{drawn}"') == text.count(f'srcset="_files/{drawn}#dark"') == 1
    assert f'<a download="x.svg" href="_files/{drawn}">SVG</a>' in text
    assert f'href="_files/{table}"' in text


def test_a_table_keeps_no_address_that_holds_its_rows():
    made, files = books.light(notebook(html='<a download href="data:text/csv;base64,aGVsbG8=">CSV</a>'))
    (name,) = files
    assert f'<a download href="_files/{name}">' in made["cells"][1]["outputs"][0]["data"]["text/html"]


def test_staging_again_touches_only_what_changed_and_removes_what_left(tmp_path):
    folder = project(tmp_path)
    staged = books.stage(folder, folder / "build", pages(folder))
    times = {path.name: path.stat().st_mtime_ns for path in staged.iterdir()}
    write(folder / "two.ipynb", notebook("# The page two\n\nWhat else?"))
    books.stage(folder, folder / "build", pages(folder))
    assert {path.name for path in staged.iterdir() if path.stat().st_mtime_ns != times[path.name]} == {"two.ipynb"}
    (folder / "one.ipynb").unlink()
    books.stage(folder, folder / "build", pages(folder))
    assert not (staged / "one.ipynb").exists()
    assert "one" not in (staged / "_toc.yml").read_text(encoding="utf-8")


@pytest.mark.slow
def test_only_changed_pages_are_rendered_again_and_a_page_that_left_is_gone(tmp_path):
    folder, build = project(tmp_path), tmp_path / "build"
    write(
        folder / "one.ipynb", notebook("# The page one\n\nWhat?", '<img src="data:image/png;base64,aGVsbG8=" alt="x">')
    )
    first = books.render(books.stage(folder, build, pages(folder)), build)
    made = build / "stage" / "_build" / "html"
    times = {path.name: path.stat().st_mtime_ns for path in made.glob("*.html")}
    address = re.search(r"_files/\w+\.png", (build / "html" / "one.html").read_text(encoding="utf-8"))
    assert (build / "html" / address[0]).read_bytes() == b"hello"
    assert '"outputs": []' in (build / "html" / "_sources" / "one.ipynb").read_text(encoding="utf-8")
    books.render(books.stage(folder, build, pages(folder)), build)
    assert {path.name: path.stat().st_mtime_ns for path in made.glob("*.html")} == times
    write(folder / "two.ipynb", notebook("# The page two\n\nWhat else?"))
    books.render(books.stage(folder, build, pages(folder)), build)
    again = {path.name for path in made.glob("*.html") if path.stat().st_mtime_ns != times[path.name]}
    assert "two.html" in again
    assert "one.html" not in again
    assert "What else?" in (build / "html" / "two.html").read_text(encoding="utf-8")
    (folder / "one.ipynb").unlink()
    assert books.render(books.stage(folder, build, pages(folder)), build) == first
    assert not (build / "html" / "one.html").exists()
    assert not list(build.glob("html/_files/*"))
    write(folder / "two.ipynb", notebook("# The page two\n\nWhat of [this](nowhere.md)?"))
    for _ in range(2):  # a page that was read with a warning is read again
        with pytest.raises(RuntimeError, match="nowhere"):
            books.render(books.stage(folder, build, pages(folder)), build)


def test_pages_offer_their_notebook_and_with_an_address_binder_and_colab(tmp_path):
    folder, made = project(tmp_path, ["one", "rerun"]), tmp_path / "results" / "small" / "notebooks"
    made.mkdir(parents=True)
    write(folder / "one.ipynb", notebook("# The page one\n\nWhat?", "<p>What is shown</p>"))
    for page in pages(folder):
        page.rename(made / page.name)
    table = pd.DataFrame({"path": ["a.png"], "wnid": ["n1"], "number": [0]})
    tables.write(table, made.parent / "images" / "a.parquet", "images")
    config, build = (folder / "_config.yml").read_text(encoding="utf-8"), tmp_path / "build"
    books.render(books.stage(folder, build, pages(made)), build)
    page = (build / "html" / "one.html").read_text(encoding="utf-8")
    assert '<a download href="_sources/one.ipynb">' in page
    assert not re.search("mybinder|colab", page)
    first = json.loads((build / "html" / "_sources" / "one.ipynb").read_text(encoding="utf-8"))["cells"][0]["source"]
    assert "runnable.fetch_tables('small', BOOK)" in first
    packed = zipfile.ZipFile(build / "html" / runnable.PACKED).namelist()
    assert packed == ["results/small/images/a.parquet", "pages/index.ipynb", "pages/one.ipynb", "pages/rerun.ipynb"]
    public = config.replace('  url: ""', "  url: https://github.com/ann/atlas")
    (folder / "_config.yml").write_text(public, encoding="utf-8")
    books.render(books.stage(folder, build, pages(made)), build)
    for name in ("one", "index"):
        page = (build / "html" / f"{name}.html").read_text(encoding="utf-8")
        assert f"https://mybinder.org/v2/gh/ann/atlas/book?urlpath=lab/tree/pages/{name}.ipynb" in page
        assert f"https://colab.research.google.com/github/ann/atlas/blob/book/pages/{name}.ipynb" in page
        assert not re.search(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="https?://(?!www.w3.org)', page)


def test_a_run_without_tables_offers_its_notebooks_as_they_are(tmp_path):
    folder, made = project(tmp_path, ["one"]), tmp_path / "results" / "small" / "notebooks"
    made.mkdir(parents=True)
    for page in pages(folder):
        page.rename(made / page.name)
    books.render(books.stage(folder, tmp_path / "build", pages(made)), tmp_path / "build")
    cells = json.loads((tmp_path / "build/html/_sources/one.ipynb").read_text(encoding="utf-8"))["cells"]
    assert [cell["cell_type"] for cell in cells] == ["markdown"]


@pytest.mark.slow
def test_the_book_is_small_and_so_is_every_page(book):
    sizes = {path.relative_to(book).as_posix(): path.stat().st_size for path in book.rglob("*") if path.is_file()}
    assert sum(sizes.values()) <= 60e6
    assert {name: size for name, size in sizes.items() if name.endswith(".html") and size > 1e6} == {}
    sources = [json.loads(path.read_text(encoding="utf-8")) for path in (book / "_sources").glob("*.ipynb")]
    assert not any(cell.get("outputs") for source in sources for cell in source["cells"])


def test_a_damaged_page_is_named_before_the_book_is_made(tmp_path):
    folder, notes = project(tmp_path / "p"), tmp_path / "pages"
    pages_of_languages.write_pages({"languages.md": "# All\n"}, notes)
    page = notebook("# One") | {"metadata": {"language_info": {"name": "python"}, "checksum": checksums.BLANK}}
    write(folder / "one.ipynb", page)
    checksums.stamp(folder / "one.ipynb")
    given = [*pages(folder), notes]
    (notes / "languages.md").write_text("# Ill\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"pages cannot be shown \(languages\.md does not have the SHA-256"):
        books.stage(folder, tmp_path / "build", given)
    for content in ((folder / "one.ipynb").read_bytes().replace(b"One", b"Two"), b'{"cells": [', b""):
        (folder / "one.ipynb").write_bytes(content)
        with pytest.raises(InputError, match=r"one\.ipynb cannot be shown \(it is"):
            books.stage(folder, tmp_path / "build", given)
