"""What `babelatlas run` shows of one executed notebook: its takeaway on the terminal,
and a page of HTML.
"""

import fnmatch
import os
import re
import shutil
import tempfile
from pathlib import Path

import yaml

from atlas_study.pages import page_form
from atlas_study.workflow import book
from babelatlas.base.errors import InputError
from babelatlas.base.paths import root

# How a page is called that the contents list by a pattern alone, as the runs of a
# stage: 67_zeroshot_own.
SUFFIX = "_own"
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
CITED = re.compile(r"\{cite:\w+\}`([^`]*)`")


def takeaway_of(page: str | os.PathLike) -> str:
    """Return the takeaway of an executed notebook as plain text, without links and
    emphasis; "" where it has none.
    """
    verdict = page_form.takeaway_of(Path(page))
    plain = (
        CITED.sub(r"\1", LINK.sub(r"\1", verdict)).replace("**", "").replace("`", "")
    )
    return " ".join(plain.split())


def html_page(page: str | os.PathLike, notebook: str, run: str) -> Path:
    """Render an executed notebook as HTML in a folder next to it; return the path of
    the page.

    `notebook`: the name of the notebook that was run. `run`: the folder of the run
    whose tables it read, which the page offers for download. Raises InputError where
    the contents have no such page, or where it cannot be rendered.
    """
    page, name = Path(page), _name_in_contents(notebook)
    folder = page.with_name(f"{page.stem}_html")
    with tempfile.TemporaryDirectory(dir=page.parent) as work:
        executed = shutil.copyfile(page, Path(work, f"{name}.ipynb"))
        try:
            staged = book.stage(root(), Path(work), [executed], name)
            rendered = book.render(staged, Path(work), Path(run))
        except RuntimeError as error:
            raise InputError(
                f"The page of {notebook} was not written, its notebook {page} was:"
                f" {error}"
            ) from error
        shutil.rmtree(folder, ignore_errors=True)
        rendered.rename(folder)
    return folder / f"{name}.html"


def _name_in_contents(notebook: str) -> str:
    """Return what the page of a notebook is called in the book's contents, its own name
    where they lack it.
    """
    patterns = book.listed(
        yaml.safe_load((root() / "_toc.yml").read_text(encoding="utf-8"))
    )
    by_pattern = f"{notebook}{SUFFIX}"
    listed = any(fnmatch.fnmatchcase(notebook, pattern) for pattern in patterns)
    if not listed and any(
        fnmatch.fnmatchcase(by_pattern, pattern) for pattern in patterns
    ):
        return by_pattern
    return notebook
