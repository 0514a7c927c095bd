"""Render the book: `python -m babelatlas.workflow.book PROJECT BUILD PAGE...` lays out BUILD/stage and renders BUILD/html.

The staged tree is flat, so that a page links to any other by its bare name: the prose of book/, the executed notebooks,
the Markdown pages of folders that notebooks wrote, and the project's _config.yml and _toc.yml. Nothing is executed.
"""

import argparse
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import yaml

from babelatlas.base.errors import InputError

TITLE_PAGE = "00_summary"  # staged as index, so that index.html is a page and not a redirection
# What the theme puts on every page and a page on disk cannot use: fonts loaded ahead, which a browser refuses for a
# file, and Thebe, which runs code on a server and is declared twice.
UNWANTED = [
    r'<link rel="preload" as="font"[^>]*>',
    r"<script>const THEBE_JS_URL.*?</script>",
    r'<script type="text/x-thebe-config">.*?</script>',
    r'<script[^>]*src="[^"]*sphinx-thebe\.js[^"]*"></script>',
    r"<script>kernelName = .*?</script>",
    r'<link[^>]*href="[^"]*sphinx-thebe\.css[^"]*"[^>]*>',
]


def contents(toc: dict, staged: set[str]) -> dict:
    """Return a table of contents without the files that this run has no page for, and without parts that lose all.

    >>> contents({"root": "index", "chapters": [{"file": "x"}, {"file": "y"}]}, {"index", "y"})
    {'root': 'index', 'chapters': [{'file': 'y'}]}
    """
    kept = {}
    for key, value in toc.items():
        if isinstance(value, list):
            items = [contents(item, staged) for item in value if _has_page(item, staged)]
            value = [item for item in items if set(item) & {"file", "glob", "url", "chapters", "sections"}]
            if not value:
                continue
        kept[key] = value
    return kept


def _has_page(item: dict, staged: set[str]) -> bool:
    if "glob" in item:
        return bool(fnmatch.filter(staged, item["glob"]))
    if "sections" in item and not item["file"][0].isdigit():  # prose that introduces its sections goes with them
        return any(_has_page(section, staged) for section in item["sections"])
    return "file" not in item or item["file"] in staged


def stage(project: Path, build: Path, pages: list[Path]) -> Path:
    """Lay out the staged tree afresh and return its folder. A folder among `pages` stands for the files in it.

    Raises InputError where the title page is missing, and where two pages have one name.
    """
    folder = build / "stage"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(project / "book", folder)
    files = [file for page in pages for file in (sorted(page.iterdir()) if page.is_dir() else [page])]
    for file in files:
        place = folder / ("index.ipynb" if file.stem == TITLE_PAGE else file.name)
        if any(place.with_suffix(suffix).exists() for suffix in (".md", ".ipynb")):
            raise InputError(f"The book would have two pages {place.stem!r}, one of them {file}: rename one.")
        if file.suffix == ".ipynb":
            place.write_text(json.dumps(without_blanks(json.loads(file.read_text(encoding="utf-8")))), encoding="utf-8")
        else:
            shutil.copyfile(file, place)
    shutil.copyfile(project / "_config.yml", folder / "_config.yml")
    toc = yaml.safe_load((project / "_toc.yml").read_text(encoding="utf-8"))
    staged = {file.stem for file in [*folder.glob("*.md"), *folder.glob("*.ipynb")]}
    if toc["root"] not in staged:
        raise InputError(f"The book has no title page: add {TITLE_PAGE} to the config's chapters.")
    (folder / "_toc.yml").write_text(
        yaml.safe_dump(contents(toc, staged), sort_keys=False, allow_unicode=True), encoding="utf-8"
    )
    return folder


def without_blanks(notebook: dict) -> dict:
    """Return an executed notebook without the outputs that say nothing: a page would show the name of their type.

    >>> blank = {"output_type": "display_data", "data": {"text/markdown": "", "text/plain": "<Markdown object>"}}
    >>> without_blanks({"cells": [{"cell_type": "code", "outputs": [blank]}]})["cells"][0]["outputs"]
    []
    """
    for cell in notebook["cells"]:
        if "outputs" in cell:
            data = [output.get("data", {}) for output in cell["outputs"]]
            texts = ["".join(one["text/markdown"]) if "text/markdown" in one else "said elsewhere" for one in data]
            cell["outputs"] = [output for output, text in zip(cell["outputs"], texts, strict=True) if text.strip()]
    return notebook


def render(folder: Path, build: Path) -> Path:
    """Render the staged tree, put it in the place of the book before, and return its first page.

    Raises RuntimeError with the renderer's warnings where there are any: a link that leads nowhere, an unknown
    citation, a malformed table.
    """
    program = Path(sys.executable).with_name("jupyter-book")
    command = [program, "build", folder, "--path-output", folder, "-W", "--keep-going", "-q"]
    done = subprocess.run(
        [os.fspath(word) for word in command], capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"}
    )
    made = folder / "_build" / "html"
    if done.returncode or not (made / "index.html").is_file():
        lines = re.sub(r"\x1b\[[0-9;]*m", "", done.stderr + done.stdout).splitlines()
        told = [line for line in lines if "WARNING" in line or "ERROR" in line] or lines[-15:]
        raise RuntimeError("The book could not be rendered:\n" + "\n".join(told))
    for page in made.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        for unwanted in UNWANTED:
            text = re.sub(unwanted, "", text, flags=re.DOTALL)
        page.write_text(text, encoding="utf-8")
    shutil.rmtree(build / "html", ignore_errors=True)
    made.replace(build / "html")
    return build / "html" / "index.html"


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
    hand_back(study, place, given.outputs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
