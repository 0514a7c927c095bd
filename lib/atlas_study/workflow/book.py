"""Render the book: `stage` lays out its pages in one flat folder, `render` makes HTML
of those that changed.

The staged tree is flat, so that a page links to any other by its bare name: the prose
of book/, the executed notebooks, the Markdown pages of folders that notebooks wrote,
and the project's _config.yml and _toc.yml. Nothing is executed. A page is rendered
again only where its text changed, or what all pages share.
"""

import argparse
import fnmatch
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import yaml

from atlas_study.pages import citation, forms, page_form, page_html, runnable
from atlas_study.pages.page_form import DATA, FILES, ORIGINALS
from atlas_study.workflow import collector, failures
from atlas_study.workflow.plan import TITLE_PAGE
from atlas_study.workflow.run_notebook import fail, hand_back, on_volume, opened, tell
from babelatlas.base import paths, tables
from babelatlas.base.errors import InputError

UNUSED = [
    "*.map",
    "locales",
    "sphinx-thebe.*",
    "all.min.js*",
    "*.ttf",
    "fa-v4*",
    "all-packages.js",
    ".buildinfo",
]
# Too many for the list that every page carries: another page lists them.
UNLISTED = ["language-*"]
SEARCH = "search.yml"  # in book/: by what phrases readers look for its pages
MATHJAX = [
    "tex-chtml.js",
    "output/chtml/fonts/woff-v2",
    "input/tex/extensions",
]  # of sphinx-mathjax-offline
# Run in a process of its own: jupyter-book's command has no option for the number of
# jobs.
BUILD = (
    f"{collector.LINE}\n"
    + """
import sys
from jupyter_book.sphinx import build_sphinx

folder, strict = sys.argv[1], sys.argv[2] == "strict"
status = build_sphinx(
    folder,
    f"{folder}/_build/html",
    noconfig=True,
    path_config=f"{folder}/_config.yml",
    confoverrides={
        "external_toc_path": f"{folder}/_toc.yml",
        "latex_individualpages": False,
    },
    quiet=True,
    warningiserror=strict,
    keep_going=True,
    jobs=2,
)
sys.exit(bool(status))
"""
)


def chapters(toc: dict) -> list[dict]:
    """Return the chapters of a table of contents, whatever their part."""
    return [
        chapter
        for part in toc.get("parts", [toc])
        for chapter in part.get("chapters", [])
    ]


def listed(toc: dict) -> list[str]:
    """Return the names and patterns of pages in a table of contents.

    >>> listed({"root": "index", "chapters": [{"file": "x", "sections": [{"glob": "y-*"}]}]})
    ['index', 'x', 'y-*']
    """
    items = [
        each
        for chapter in chapters(toc)
        for each in (chapter, *chapter.get("sections", []))
    ]
    return [toc["root"], *(item.get("file") or item["glob"] for item in items)]


def check_contents(toc_path: str | os.PathLike, pages: list[str]) -> None:
    """Raise InputError where a page, named without suffix, is not in the table of
    contents: it would not appear.
    """
    known = [
        TITLE_PAGE,
        *listed(yaml.safe_load(Path(toc_path).read_text(encoding="utf-8"))),
        *UNLISTED,
    ]
    for page in pages:
        if not any(fnmatch.fnmatchcase(page, pattern) for pattern in known):
            what = (
                f"{page} is not in the contents, {Path(toc_path).name}, and would not"
                " appear in the book"
            )
            raise InputError(
                f"{what}: add the line '- file: {page}' to the part where it belongs;"
                f" a stage, which has a page for each job, needs '- glob: NN_name_*'."
            )


def pages_of(item: dict, staged: Iterable[str]) -> list[str]:
    """Return the staged pages that an item of the contents stands for."""
    return sorted(fnmatch.filter(staged, item.get("file") or item["glob"]))


def sidebar(toc: dict, staged: Iterable[str]) -> dict:
    """Return the contents for the sidebar: the chapters that this run has a page for,
    without their sections.

    The sections of a chapter without a page take its place, and a part without any
    goes.

    >>> below = {"file": "y", "sections": [{"file": "z"}]}
    >>> sidebar({"root": "index", "chapters": [{"file": "x"}, below]}, {"z"})
    {'root': 'index', 'chapters': [{'file': 'z'}]}
    """
    if "parts" in toc:
        parts = [sidebar(part, staged) for part in toc["parts"]]
        return toc | {"parts": [part for part in parts if part["chapters"]]}
    kept = [
        each
        for item in chapters(toc)
        for each in ([item] if pages_of(item, staged) else item.get("sections", []))
    ]
    plain = [
        {key: each[key] for key in each if key != "sections"}
        for each in kept
        if pages_of(each, staged)
    ]
    return toc | {"chapters": plain}


def stage(project: Path, build: Path, pages: list[Path], only: str = "") -> Path:
    """Lay out the staged tree and return its folder; files that are there as they
    should be stay untouched.

    A folder among `pages` stands for the files in it; a script in one goes to the files
    that pages share. `only`: the one page to lay out, with the two that each needs; its
    links to others become plain text. Raises InputError where the title page is
    missing, or a page is not in the contents.
    """
    files = [
        file
        for page in pages
        for file in (sorted(page.glob("*.[mj]*")) if page.is_dir() else [page])
    ]
    check_contents(
        project / "_toc.yml", [file.stem for file in files if file.suffix != ".js"]
    )
    sources = {
        file.relative_to(project / "book"): file
        for file in (project / "book").rglob("*")
        if file.is_file()
    }
    for file in files:
        name = "index.ipynb" if file.stem == TITLE_PAGE != only else file.name
        sources[Path(FILES if file.suffix == ".js" else "", name)] = file
    sources |= {
        file.relative_to(page): file
        for page in pages
        for file in page.glob(f"{DATA}/*/*")
    }
    # A page of prose that loads a file which this run did not make goes: the explorer
    # without any results.
    prose = {
        path: file.read_text(encoding="utf-8")
        for path, file in sources.items()
        if file.suffix == ".md"
    }
    loaded = {
        path: re.findall(rf'src="({FILES}/[^"]+)"', text)
        for path, text in prose.items()
    }
    sources = {
        path: file
        for path, file in sources.items()
        if {*map(Path, loaded.get(path, ()))} <= {*sources}
    }
    texts = {path.stem: path for path in sources if path.suffix in (".md", ".ipynb")}
    toc = yaml.safe_load((project / "_toc.yml").read_text(encoding="utf-8"))
    if (only or toc["root"]) not in texts:
        raise InputError(
            f"The book has no title page: add {TITLE_PAGE} to the config's chapters."
        )
    patterns = [*listed(toc), *UNLISTED]
    shown = {name for pattern in patterns for name in fnmatch.filter(texts, pattern)}
    below = {
        chapter["file"]: [
            name
            for item in chapter.get("sections", [])
            for name in pages_of(item, texts)
        ]
        for chapter in chapters(toc)
        if chapter["file"] in texts
    }
    above = {name: parent for parent, names in below.items() for name in names}
    if only:
        shown = {only, "bibliography", "rerun"} & {*texts}
        toc = {
            "format": toc["format"],
            "root": only,
            "chapters": [{"file": name} for name in sorted(shown - {only})],
        }
    titles = {name: page_form.title_of(sources[path]) for name, path in texts.items()}
    cited = citation.read(project)
    config = yaml.safe_load((project / "_config.yml").read_text(encoding="utf-8"))
    config = citation.with_addresses(config, cited)
    words = _search_words(project)

    def absent(name: str) -> bool:
        return name not in shown and any(
            fnmatch.fnmatchcase(name, pattern) for pattern in patterns
        )

    commit = tables.commit(paths.DATA.parent)
    content = {
        Path("_toc.yml"): yaml.safe_dump(sidebar(toc, texts), sort_keys=False).encode()
    }
    content[Path("_config.yml")] = yaml.safe_dump(
        config, sort_keys=False, allow_unicode=True
    ).encode()
    content[Path(citation.FILE)] = (project / citation.FILE).read_bytes()
    launch = runnable.launch_address(cited.repository)
    for path, file in sources.items():
        name = path.stem
        if path not in texts.values():
            content[path] = file.read_bytes()
        elif name in shown:
            more = page_form.listed(
                [(other, titles[other]) for other in below.get(name, ())]
            )
            parent = [(above[name], titles[above[name]])] if name in above else []
            cite = citation.of_page(cited, name, titles[name])
            ending = "\n\n".join([more, cite, words.get(name, "")])
            content |= page_form.staged(
                path, file, absent, parent, ending, commit, launch
            )
    if (guide := Path("how-to-read.md")) in content:
        text = content[guide].decode()
        content[guide] = text.replace(citation.PLACE, citation.section(cited)).encode()
    repository = config.get("repository", {}).get("url") or ""
    for path in [path for path in content if path.suffix == ".md"]:
        text = content[path].decode()
        content[path] = forms.with_address(text, repository).encode()
    if (listing := Path("data-files.md")) in content:
        content[listing] = page_form.with_charts(content[listing].decode(), content)
    _sync(folder := build / "stage", content)
    return folder


def _search_words(project: Path) -> dict[str, str]:
    """Return the comments that name what readers call the pages' subjects: page ->
    Markdown.
    """
    path = project / "book" / SEARCH
    if not path.is_file():
        return {}
    phrases = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {page: page_form.SEARCH_WORDS.format(text) for page, text in phrases.items()}


def _sync(folder: Path, content: dict[Path, bytes]) -> None:
    """Make a folder hold these files; those of equal content stay untouched, and all
    others but _build/ go.
    """
    for old in folder.rglob("*"):
        path = old.relative_to(folder)
        if path.parts[0] != "_build" and old.is_file() and path not in content:
            old.unlink()
    for path, text in content.items():
        file = folder / path
        if not file.is_file() or file.read_bytes() != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text)


def _shared(folder: Path) -> str:
    """Return a sum over what other pages show of a page: contents, settings, titles,
    cited works, styles, versions.
    """
    names = [
        "_toc.yml",
        "_config.yml",
        "references.bib",
        citation.FILE,
        *sorted(folder.glob("_static/*")),
    ]
    whole = [
        *(folder / name for name in names),
        Path(__file__),
        Path(page_html.__file__),
        Path(citation.__file__),
    ]
    parts = [
        hashlib.sha256(path.read_bytes()).hexdigest()
        for path in whole
        if path.is_file()
    ]
    parts += [
        page_form.title_of(path)
        for path in sorted([*folder.glob("*.md"), *folder.glob("*.ipynb")])
    ]
    parts += [
        metadata.version(name)
        for name in ("jupyter-book", "sphinx", "sphinx-book-theme", "myst-nb")
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def render(folder: Path, build: Path, run: Path, strict: bool = True) -> Path:
    """Render what changed in the staged tree, put the book in the place of the one
    before, return its folder.

    `run`: the folder of the run, whose tables the book offers for download. Raises
    RuntimeError with the renderer's warnings where there are any, a link that leads
    nowhere, an unknown citation, a malformed table; where not `strict`, for errors
    alone.
    """
    work, shared = folder / "_build", _shared(folder)
    before, made = work / "shared", work / "html"
    if not before.is_file() or before.read_text() != shared:
        shutil.rmtree(work, ignore_errors=True)
    words = [
        sys.executable,
        "-c",
        BUILD,
        os.fspath(folder.resolve()),
        "strict" if strict else "lenient",
    ]
    done = subprocess.run(
        words, capture_output=True, text=True, env=os.environ | {"NO_COLOR": "1"}
    )
    if done.returncode:
        shutil.rmtree(
            work, ignore_errors=True
        )  # a page that was read with a warning would not be read again
        lines = re.sub(r"\x1b\[[0-9;]*m", "", done.stderr + done.stdout).splitlines()
        warnings = [line for line in lines if "WARNING" in line or "ERROR" in line]
        raise RuntimeError(
            "The book could not be rendered:\n" + "\n".join(warnings or lines[-15:])
        )
    part = build / "html.part"
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(made, part, ignore=shutil.ignore_patterns(*UNUSED, "*.md"))
    _finish(part, folder, run)
    shutil.rmtree(build / "html", ignore_errors=True)
    part.replace(build / "html")
    before.write_text(shared)
    return build / "html"


def _finish(book: Path, folder: Path, run: Path) -> None:
    """Add the files that pages share, take away what a page on disk cannot use, offer
    notebooks as one runs them.
    """
    for name in filter(lambda name: (folder / name).is_dir(), (FILES, DATA)):
        shutil.copytree(folder / name, book / name, dirs_exist_ok=True)
    config = yaml.safe_load((folder / "_config.yml").read_text(encoding="utf-8"))
    addresses = config["repository"]["url"] or "", config["html"].get("baseurl") or ""
    for source in book.glob("_sources/*.ipynb"):
        original = json.loads(
            (folder / ORIGINALS / f"{source.stem}.json").read_text(encoding="utf-8")
        )
        notebook = runnable.prepared(original, run.name, *addresses)
        source.write_text(json.dumps(notebook, ensure_ascii=False), encoding="utf-8")
    for page in book.glob("*.html"):
        text = page_html.without_blanks(page.read_text(encoding="utf-8"))
        page.write_text(text, encoding="utf-8")
    runnable.pack(book / runnable.PACKED, run, sorted(book.glob("_sources/*.ipynb")))
    home = (
        Path(importlib.util.find_spec("sphinx-mathjax-offline").origin).parent
        / "static"
        / "mathjax"
    )
    for name in MATHJAX:
        copy, path = (
            (shutil.copytree if (home / name).is_dir() else shutil.copyfile),
            book / "_static/mathjax" / name,
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        copy(home / name, path)


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m atlas_study.workflow.book", description="Render the book."
    )
    parser.add_argument(
        "project", type=Path, help="the folder with book/, _config.yml and _toc.yml"
    )
    parser.add_argument(
        "build", type=Path, help="where the staged tree and the book go"
    )
    parser.add_argument(
        "pages", nargs="*", help="executed notebooks, and folders of Markdown pages"
    )
    parser.add_argument(
        "--only", default="", help="the one page to render, without the others"
    )
    parser.add_argument(
        "--log",
        required=True,
        help="a file for why it failed, in the folder logs of the run",
    )
    parser.add_argument(
        "--failed", nargs="*", default=[], help="pages of steps that failed in this run"
    )
    parser.add_argument(
        "--go-on", default="make book", help="the command that repeats what failed"
    )
    parser.add_argument(
        "--outputs", nargs="*", default=[], help="all files that Snakemake waits for"
    )
    given = parser.parse_args(arguments)
    here = Path.cwd()
    study, (log_path, *names) = on_volume([given.log, *given.pages])
    os.chdir(study)
    pages, run = [Path(name) for name in names], Path(log_path).parents[1]
    whole = f"book ({len(pages)} notebooks)"
    tell(f"  running  the {f'page {given.only}' if given.only else whole}")
    failed = failures.failed(
        run, given.failed
    )  # before the log of an earlier try is written over
    with opened(log_path) as log:
        try:
            if failed:
                pages = failures.with_warnings(
                    pages, given.build / "failed", failed, given.go_on, f"{run}/logs"
                )
            folder = stage(given.project, given.build, pages, given.only)
            render(folder, given.build, run, strict=not failed)
            print("done: the book", file=log)
        except (InputError, RuntimeError, OSError) as error:
            return fail(str(error), log)
    hand_back(study, here, given.outputs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
