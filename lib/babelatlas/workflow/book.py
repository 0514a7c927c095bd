"""Render the book: `stage` lays out its pages in one flat folder, `render` makes HTML of those that changed.

The staged tree is flat, so that a page links to any other by its bare name: the prose of book/, the executed notebooks,
the Markdown pages of folders that notebooks wrote, and the project's _config.yml and _toc.yml. Nothing is executed.
Both folders stay between builds: a page is written again only where its text changed. What all pages need alike, the
contents, titles, settings and cited works, is kept too; where that changes, everything is rendered from scratch.
"""

import argparse
import base64
import fnmatch
import hashlib
import importlib.util
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from importlib import metadata
from pathlib import Path

import yaml

from babelatlas.base import checksums
from babelatlas.base.errors import InputError
from babelatlas.report import page_form, page_html, runnable
from babelatlas.report.page_html import colophon

TITLE_PAGE = "00_summary"  # staged as index, so that index.html is a page and not a redirection
FILES = "_files"  # next to the pages: their images, the tables' library, and the data of large tables
LARGE = 100_000  # characters of a script that a page does not hold itself
# What the theme puts on every page and a page on disk cannot use: fonts loaded ahead, which a browser refuses for a
# file, and Thebe, which runs code on a server and is declared twice.
UNWANTED = [
    r'<link rel="preload" as="font"[^>]*>',
    r"<script>const THEBE_JS_URL.*?</script>",
    r'<script type="text/x-thebe-config">.*?</script>',
    r'<script[^>]*src="[^"]*sphinx-thebe\.js[^"]*"></script>',
    r"<script>kernelName = .*?</script>",
    r'<link[^>]*href="[^"]*sphinx-thebe\.css[^"]*"[^>]*>',
    r'<script[^>]*src="[^"]*fontawesome[^"]*"></script>',  # the icons' style sheet and fonts do
]
NEEDLESS = re.compile(r"<!--.*?-->|(?<=\n)\s+", re.DOTALL)
WHITE = re.compile(
    r"(<(?:pre|script|style|textarea)\b.*?</(?:pre|script|style|textarea)>)", re.DOTALL
)  # keeps its blanks
PLAIN = re.compile(r'<span class="(?:n|p|w)">([^<]*)</span>')  # code in the colour of text
# The sidebar's part on the miniature has its colour.
PART = '<p aria-level="2" class="caption{}" role="heading"><span class="caption-text">The miniature</span>'
MINIATURE_PART = PART.format(""), PART.format(" atlas-miniature-part")
# Too many for the list that every page carries: another page lists them. (They take half of the rendering there.)
UNLISTED = ["language-*"]
ORIGINALS = "_originals"  # in the staged tree: the executed notebooks, which the book offers to run
# What Sphinx and the theme copy and no page asks for.
UNUSED = ["*.map", "locales", "sphinx-thebe.*", "all.min.js*", "*.ttf", "fa-v4*", "all-packages.js"]
MATHJAX = ["tex-chtml.js", "output/chtml/fonts/woff-v2", "input/tex/extensions"]  # of sphinx-mathjax-offline
# Run in a process of its own: jupyter-book's command has no option for the number of jobs. The extension that numbers
# parts does not say that it may read pages in parallel; it numbers nothing here.
BUILD = """
import sys
import sphinx_multitoc_numbering as numbering
from jupyter_book.sphinx import build_sphinx

folder, jobs, setup = sys.argv[1], int(sys.argv[2]), numbering.setup
numbering.setup = lambda app: {**(setup(app) or {}), "parallel_read_safe": True}
given = {"external_toc_path": f"{folder}/_toc.yml", "latex_individualpages": False}
strict = {"quiet": True, "warningiserror": True, "keep_going": True}
place = {"noconfig": True, "path_config": f"{folder}/_config.yml"}
sys.exit(bool(build_sphinx(folder, f"{folder}/_build/html", confoverrides=given, jobs=jobs, **place, **strict)))
"""
# Content that an address holds: images, in src and srcset, and tables to download.
HELD = re.compile(r"data:(?:image|text)/(png|webp|svg|csv)(?:\+xml)?;base64,([A-Za-z0-9+/=\s]+)")
# A figure in SVG, from its picture to its links: each of its files has a dark side, too (`figures.svg`).
DRAWN = re.compile(
    r'<picture>((?:(?!</picture>).)*?\bsrc="([^"#]*\.svg)"(?:(?!</picture>).)*)</picture>'
    r'((?:(?!</figure>).)*?)<p class="atlas-links" data-name="([^"]*)">',
    re.DOTALL,
)
SCRIPT = re.compile(r"<script(?: type=\"module\")?>(.*?)</script>", re.DOTALL)
BUTTON = "{.atlas-button}"
LINK = re.compile(
    rf"\[([^\]]*)\]\(([\w.-]+?)(?:\.md|\.ipynb)?(?:#[\w-]*)?\)(?:{re.escape(BUTTON)})?"
    r"|\{doc\}`(?:([^`<]*?) *<([\w.-]+)>|([\w.-]+))`"
)


def listed(toc: dict) -> Iterator[str]:
    """Yield the names and patterns of pages in a table of contents, in its order.

    >>> list(listed({"root": "index", "chapters": [{"file": "x", "sections": [{"glob": "y-*"}]}]}))
    ['index', 'x', 'y-*']
    """
    for key, value in toc.items():
        if key in ("root", "file", "glob"):
            yield value
        elif isinstance(value, list):
            for item in value:
                yield from listed(item)


def check_contents(toc_path: str | os.PathLike, pages: list[str]) -> None:
    """Raise InputError where a page, named without suffix, is not in the table of contents: it would not appear."""
    try:
        known = [*listed(yaml.safe_load(Path(toc_path).read_text(encoding="utf-8"))), *UNLISTED]
    except (OSError, ValueError, AttributeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"The contents of the book, {toc_path}, cannot be read ({reason}): restore the file from the repository."
        ) from error
    for page in pages:
        if page != TITLE_PAGE and not any(fnmatch.fnmatchcase(page, pattern) for pattern in known):
            raise InputError(
                f"{page} is not in the contents, {Path(toc_path).name}, and would not appear in the book: add the line "
                f"'- file: {page}' to the part where it belongs."
            )


def contents(toc: dict, staged: set[str]) -> dict:
    """Return a table of contents without the files that this run has no page for, and without parts that lose all.

    The sections of a file that is left out take its place.

    >>> contents({"root": "index", "chapters": [{"file": "x"}, {"file": "y", "sections": [{"file": "z"}]}]}, {"z"})
    {'root': 'index', 'chapters': [{'file': 'z'}]}
    """
    kept = {}
    for key, value in toc.items():
        if isinstance(value, list):
            items = [contents(item, staged) for item in value]
            whole = [[item] if _has_page(item, staged) else item.get("sections", []) for item in items]
            value = [item for items in whole for item in items if set(item) & {"file", "glob", "url", "chapters"}]
        if value != []:
            kept[key] = value
    return kept


def _has_page(item: dict, staged: set[str]) -> bool:
    if "glob" in item:
        return bool(fnmatch.filter(staged, item["glob"]))
    return "file" not in item or item["file"] in staged


def without_links(text: str, absent: set[str]) -> str:
    """Return Markdown with the links to absent pages as plain text, and without buttons to them.

    >>> without_links("See [the list](languages.md) and {doc}`data <data>`.", {"languages"})
    'See the list and {doc}`data <data>`.'
    """

    def plain(link: re.Match) -> str:
        name = link[2] or link[4] or link[5]
        if name not in absent:
            return link[0]
        return "" if link[0].endswith(BUTTON) else link[1] or link[3] or name

    return LINK.sub(plain, text) if absent else text


def stage(project: Path, build: Path, pages: list[Path]) -> Path:
    """Lay out the staged tree and return its folder; files that are there as they should be stay untouched.

    A folder among `pages` stands for the files in it; a script in one goes to the files that pages share. Raises
    InputError where the title page is missing, two pages have one name, or one is not in the contents.
    """
    from babelatlas.base import languages  # with pandas, which nobody else needs who imports this module

    folder = build / "stage"
    for page in pages:
        _check_page(page)
    given = [file for page in pages for file in (sorted(page.glob("[!.]*")) if page.is_dir() else [page])]
    given = [file for file in given if file.name != checksums.LIST]
    prose = {file.relative_to(project / "book"): file for file in (project / "book").rglob("*") if file.is_file()}
    check_contents(project / "_toc.yml", [file.stem for file in given if file.suffix != ".js"])
    for file in given:
        place = Path(FILES if file.suffix == ".js" else "", "index.ipynb" if file.stem == TITLE_PAGE else file.name)
        if any(place.with_suffix(suffix) in prose for suffix in (".md", ".ipynb")):
            raise InputError(f"The book would have two pages {place.stem!r}, one of them {file}: rename one.")
        prose[place] = file
    for place in [place for place, file in prose.items() if _lacks_data(place, file, prose)]:
        del prose[place]
    toc = yaml.safe_load((project / "_toc.yml").read_text(encoding="utf-8"))
    staged = {place.stem for place in prose if place.suffix in (".md", ".ipynb")}
    if toc["root"] not in staged:
        raise InputError(f"The book has no title page: add {TITLE_PAGE} to the config's chapters.")
    kept = contents(toc, staged)
    shown = {name for pattern in [*listed(kept), *UNLISTED] for name in fnmatch.filter(staged, pattern)}
    above, below = relatives(kept, staged)
    titles = {place.stem: title_of(file) for place, file in prose.items() if place.suffix in (".md", ".ipynb")}
    absent = (staged | {name for name in listed(toc) if "*" not in name}) - shown
    absent |= {"rerun", *(f"language-{code}" for code in languages.table()["code"])} - staged
    ends = _colophons(project)
    content = {Path("_config.yml"): settings((project / "_config.yml").read_text(encoding="utf-8")).encode()}
    content[Path("_toc.yml")] = yaml.safe_dump(without_sections(kept), sort_keys=False, allow_unicode=True).encode()
    for place, file in prose.items():
        if place.suffix not in (".md", ".ipynb"):
            content[place] = file.read_bytes()
        elif place.stem not in absent:
            parent = above.get(place.stem)
            more = [(name, titles[name]) for name in below.get(place.stem, ())]
            ending = ends(place.stem, titles[place.stem])
            content |= _page(place, file, absent, parent and (parent, titles[parent]), more, ending)
    for home in {file.parents[1] for file in given if file.suffix == ".ipynb" and file.parent.name == "notebooks"}:
        content[Path(runnable.PACKED)] = runnable.pack(home)
    _sync(folder, content)
    return folder


def _check_page(page: Path) -> None:
    """Raise InputError where an executed notebook, or a file in a folder of pages, is damaged."""
    damage = checksums.check_list(page) if page.is_dir() else checksums.problem(page)
    if not damage and page.suffix == ".ipynb":
        try:
            json.loads(page.read_text(encoding="utf-8"))["cells"]
        except (ValueError, KeyError, TypeError) as error:
            damage = f"it is no notebook, {error}"
    if damage:
        raise InputError(f"The page {page} cannot be shown ({damage}): {checksums.fix(page)}")


def _lacks_data(place: Path, file: Path, staged: dict[Path, Path]) -> bool:
    """Return whether a page of prose loads a file that this run did not make: the explorer without any results."""
    loaded = re.findall(rf'src="({FILES}/[^"]+)"', file.read_text(encoding="utf-8")) if place.suffix == ".md" else []
    return any(Path(name) not in staged for name in loaded)


def settings(text: str) -> str:
    """Return a book's _config.yml, with the buttons of Binder and Colab where it names a repository on GitHub.

    They are options of the theme, since those that a config gives by that name replace all of Jupyter Book's own.
    """
    config = yaml.safe_load(text) or {}
    url, about = runnable.addresses(config)[0], config.get("repository") or {}
    if not url.startswith("https://github.com/"):
        return text
    options = config["sphinx"]["config"]["html_theme_options"]
    options |= {"repository_url": url, "repository_branch": about["branch"], "path_to_docs": about["path_to_book"]}
    options["launch_buttons"] = config["launch_buttons"]
    return yaml.safe_dump(config, sort_keys=False, allow_unicode=True)


def _colophons(project: Path) -> Callable[[str, str], str]:
    """Return what makes, of a page's name and title, how to cite it and what changed on it, in Markdown."""
    config = yaml.safe_load((project / "_config.yml").read_text(encoding="utf-8")) or {}
    log = project / "CHANGELOG.md"
    changes = colophon.changes(log.read_text(encoding="utf-8")) if log.is_file() else {}
    version, year = metadata.version("babelatlas"), str(config.get("copyright", ""))
    address = (config.get("html") or {}).get("baseurl", "")

    def colophon_of(name: str, title: str) -> str:
        return colophon.folded(colophon.citation(name, title, version, year, address), changes.get(name[:2], []))

    return colophon_of


def _page(
    place: Path, file: Path, absent: set[str], parent: tuple | None, more: list[tuple], ending: str
) -> dict[Path, bytes]:
    """Return the files of the staged tree that one page needs: path in the tree -> content.

    `parent`: name and title of the page that it belongs to; `more`: of the pages that belong to it; `ending`: Markdown
    of its last section.
    """
    if file.suffix == ".md":
        text = without_links(file.read_text(encoding="utf-8"), absent)
        text = page_form.with_parent(text, *parent) if parent else text
        text, files = without_data(text)
        parts = [text, *[page_form.listed(more)] * bool(more), page_form.about(place.stem, [], {}, ending)]
        return {place: "\n\n".join(parts).encode()} | _in_files(files)
    original = file.read_text(encoding="utf-8")
    notebook, files = light(without_blanks(json.loads(original)))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = without_links("".join(cell["source"]), absent)
        for data in _data(cell):
            if "text/markdown" in data:
                data["text/markdown"] = without_links("".join(data["text/markdown"]), absent)
    notebook = page_form.formed(notebook, place.stem, parent, more, ending)
    notebook["cells"][-1]["source"] = without_links(notebook["cells"][-1]["source"], absent)
    made = {place: json.dumps(notebook).encode(), Path(ORIGINALS, f"{place.stem}.json"): original.encode()}
    return made | _in_files(files)


def _in_files(files: dict[str, bytes]) -> dict[Path, bytes]:
    return {Path(FILES) / name: content for name, content in files.items()}


def title_of(file: Path) -> str:
    """Return the title of a page: the text of its first heading, without roles and links."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".ipynb":
        text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"][:1])
    found = re.search(r"^# +(.+)$", text, re.MULTILINE)
    return re.sub(r"\{[^}]*\}`([^`]*)`|\[([^\]]*)\]\([^)]*\)", r"\1\2", found[1]).strip() if found else file.stem


def relatives(toc: dict, staged: set[str]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return, of a table of contents, page -> the page that it is a section of, and page -> the pages below it.

    >>> relatives({"chapters": [{"file": "x", "sections": [{"glob": "y-*"}, {"file": "z"}]}]}, {"x", "y-1", "z"})
    ({'y-1': 'x', 'z': 'x'}, {'x': ['y-1', 'z']})
    """
    above, below = {}, {}
    for key, value in toc.items():
        for item in value if isinstance(value, list) else []:
            upper, lower = relatives(item, staged)
            above, below = above | upper, below | lower
            if key == "sections":
                names = [item["file"]] if "file" in item else sorted(fnmatch.filter(staged, item["glob"]))
                above |= dict.fromkeys(names, toc["file"])
                below.setdefault(toc["file"], []).extend(names)
    return above, below


def without_sections(toc: dict) -> dict:
    """Return a table of contents for the sidebar: chapters, which link to the pages below them.

    >>> without_sections({"root": "index", "chapters": [{"file": "x", "sections": [{"file": "z"}]}]})
    {'root': 'index', 'chapters': [{'file': 'x'}]}
    """
    kept = {key: value for key, value in toc.items() if key != "sections"}
    return {
        key: [without_sections(item) for item in value] if isinstance(value, list) else value
        for key, value in kept.items()
    }


def _sync(folder: Path, content: dict[Path, bytes]) -> None:
    """Make a folder hold these files; those of equal content stay untouched, and all others but _build/ go."""
    for old in folder.rglob("*"):
        place = old.relative_to(folder)
        if place.parts[0] != "_build" and old.is_file() and place not in content:
            old.unlink()
    for place, text in content.items():
        path = folder / place
        if not path.is_file() or path.read_bytes() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)


def without_data(text: str) -> tuple[str, dict[str, bytes]]:
    """Return HTML whose addresses refer to files in place of holding images and tables, and these: name -> content."""
    files: dict[str, bytes] = {}
    return HELD.sub(lambda held: _filed(base64.b64decode(held[2]), held[1], files), text), files


def _filed(content: bytes, suffix: str, files: dict[str, bytes]) -> str:
    """Add content to the files that pages share, once; return its address."""
    name = f"{hashlib.sha256(content).hexdigest()[:16]}.{suffix}"
    files[name] = content
    return f"{FILES}/{name}"


def light(notebook: dict) -> tuple[dict, dict[str, bytes]]:
    """Return an executed notebook whose HTML refers to files for images and long scripts, and these: name -> content.

    A script becomes one that a page on disk may load: not of type module, which browsers refuse for a file.
    """
    files: dict[str, bytes] = {}

    def script(found: re.Match) -> str:
        long = len(found[1]) > LARGE
        return f'<script src="{_filed(found[1].encode(), "js", files)}"></script>' if long else found[0]

    for cell in notebook["cells"]:
        for data in _data(cell):
            if "text/html" in data:
                text, held = without_data("".join(data["text/html"]))
                files |= held
                data["text/html"] = SCRIPT.sub(script, DRAWN.sub(_in_both_lights, text))
    return notebook, files


def _in_both_lights(found: re.Match) -> str:
    """Return a figure that is shown twice, light and dark, of which the page hides one, with a link to its file."""
    picture, file, between, name = found.groups()
    dark = re.sub(r'\.svg"', '.svg#dark"', picture)
    shown = f'<picture class="atlas-light">{picture}</picture><picture class="atlas-dark">{dark}</picture>'
    return f'{shown}{between}<p class="atlas-links"><a download="{name}.svg" href="{file}">SVG</a> '


def without_blanks(notebook: dict) -> dict:
    """Return an executed notebook without the outputs that say nothing: a page would show the name of their type.

    >>> blank = {"output_type": "display_data", "data": {"text/markdown": "", "text/plain": "<Markdown object>"}}
    >>> without_blanks({"cells": [{"cell_type": "code", "outputs": [blank]}]})["cells"][0]["outputs"]
    []
    """
    for cell in notebook["cells"]:
        if "outputs" in cell:
            says = ["".join(data.get("text/markdown", "another kind")).strip() for data in _data(cell)]
            cell["outputs"] = list(itertools.compress(cell["outputs"], says))
    return notebook


def _shared(folder: Path) -> str:
    """Return a sum over what other pages show of a page: contents, settings, headings, labels, cited works, styles."""
    whole = [Path(__file__), *sorted(Path(page_html.__file__).parent.glob("*.py"))]
    whole += [folder / name for name in ("_toc.yml", "_config.yml", "references.bib")]
    whole += folder.glob(f"{page_html.terms.PAGE}.md")
    told = [path.read_text(encoding="utf-8") for path in whole]
    told += [hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("_static/*"))]
    told += [f"{name} {metadata.version(name)}" for name in ("jupyter-book", "sphinx", "sphinx-book-theme", "myst-nb")]
    for path in sorted([*folder.glob("*.md"), *folder.glob("*.ipynb")]):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".ipynb":
            cells = json.loads(text)["cells"]
            texts = [cell["source"] for cell in cells if cell["cell_type"] == "markdown"]
            texts += [data.get("text/markdown", "") for cell in cells for data in _data(cell)]
            text = "\n".join(map("".join, texts))
        told += [path.name, *re.findall(r"^#+ .*|^\(.*\)=$|\{cite[^`]*`[^`]*`", text, re.MULTILINE)]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()


def _data(cell: dict) -> list[dict[str, str | list[str]]]:
    """Return what each output of a cell shows: kind, such as text/html -> text, in lines or whole."""
    return [output.get("data", {}) for output in cell.get("outputs", [])]


def render(folder: Path, build: Path) -> Path:
    """Render what changed in the staged tree, put the book in the place of the one before, return its first page.

    Raises RuntimeError with the renderer's warnings where there are any: a link that leads nowhere, an unknown
    citation, a malformed table. After that the next call renders everything anew.
    """
    work, shared = folder / "_build", _shared(folder)
    before, first = work / "shared", build / "html" / "index.html"
    changed = max(path.stat().st_mtime for path in folder.rglob("*") if path.is_file())
    if not before.is_file() or before.read_text() != shared:
        shutil.rmtree(work, ignore_errors=True)
    elif first.is_file() and changed <= before.stat().st_mtime:
        first.touch()
        return first
    words = [sys.executable, "-c", BUILD, os.fspath(folder.resolve()), "2"]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ | {"NO_COLOR": "1"})
    made = work / "html"
    if done.returncode or not (made / "index.html").is_file():
        shutil.rmtree(work, ignore_errors=True)  # a page that was read with a warning would not be read again
        lines = re.sub(r"\x1b\[[0-9;]*m", "", done.stderr + done.stdout).splitlines()
        told = [line for line in lines if "WARNING" in line or "ERROR" in line] or lines[-15:]
        raise RuntimeError("The book could not be rendered:\n" + "\n".join(told))
    part = build / "html.part"
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(made, part, ignore=shutil.ignore_patterns(*UNUSED, ".buildinfo"))
    _finish(part, folder)
    shutil.rmtree(build / "html", ignore_errors=True)
    part.replace(build / "html")
    before.write_text(shared)
    return first


def _finish(book: Path, folder: Path) -> None:
    """Add the files that pages share, and take away what only weighs: notebooks are offered as one runs them."""
    for page in book.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        for unwanted in UNWANTED:
            text = re.sub(unwanted, "", text, flags=re.DOTALL)
        text = PLAIN.sub(r"\1", text).replace(*MINIATURE_PART)
        parts = WHITE.split(text)
        text = "".join(part if place % 2 else NEEDLESS.sub("", part) for place, part in enumerate(parts))
        page.write_text(text, encoding="utf-8")
    config = yaml.safe_load((folder / "_config.yml").read_text(encoding="utf-8")) or {}
    packed = folder / runnable.PACKED
    held = zipfile.ZipFile(packed).namelist() if packed.is_file() else []
    run = held[0].split("/")[1] if held else ""
    for source in book.glob("_sources/*.ipynb"):
        original = json.loads((folder / ORIGINALS / f"{source.stem}.json").read_text(encoding="utf-8"))
        notebook = runnable.prepared(original, run, *runnable.addresses(config))
        source.write_text(json.dumps(notebook, ensure_ascii=False), encoding="utf-8")
    for source in book.glob("_sources/*.md"):
        source.unlink()
    if (folder / FILES).is_dir():
        shutil.copytree(folder / FILES, book / FILES)
    if run:
        offered = {f"pages/{path.name}": path for path in sorted(book.glob("_sources/*.ipynb"))}
        runnable.add(book / runnable.PACKED, offered)
    home = Path(importlib.util.find_spec("sphinx-mathjax-offline").origin).parent / "static" / "mathjax"
    for name in MATHJAX:
        place = book / "_static" / "mathjax" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if (home / name).is_dir():
            shutil.copytree(home / name, place, ignore=shutil.ignore_patterns(*UNUSED))
        else:
            shutil.copyfile(home / name, place)


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line; return the exit status."""
    from babelatlas.workflow.run_notebook import fail, hand_back, on_volume, opened

    parser = argparse.ArgumentParser(prog="python -m babelatlas.workflow.book", description="Render the book.")
    parser.add_argument("project", type=Path, help="the folder with book/, _config.yml and _toc.yml")
    parser.add_argument("build", type=Path, help="where the staged tree and the book go")
    parser.add_argument("pages", nargs="*", help="executed notebooks, and folders of Markdown pages")
    parser.add_argument("--log", default="", help="a file for why it failed")
    parser.add_argument("--outputs", nargs="*", default=[], help="all files that Snakemake waits for")
    given = parser.parse_args(arguments)
    place = Path.cwd()
    study, (given.log, *given.pages) = on_volume([given.log, *given.pages])
    os.chdir(study)
    print(f"  running  the book ({len(given.pages)} notebooks)", flush=True)
    with opened(given.log) or nullcontext() as log:
        try:
            render(stage(given.project, given.build, [Path(page) for page in given.pages]), given.build)
        except (InputError, RuntimeError) as error:
            return fail(str(error), log)
        except KeyboardInterrupt:
            print("  stopped  the book", flush=True)
            return 130
    hand_back(study, place, given.outputs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
