"""The form of a page, made from prose or an executed notebook: takeaway first,
findings, code and sources last.

Images and tables become files, links to pages that the book lacks plain text. Notebooks
stay as one writes them, in the order of the computation; only the copies that the book
renders are changed.
"""

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from babelatlas.report.formatting import escape, literal
from babelatlas.report.reading import TAKEAWAY, takeaway

ANSWER = "**Answer.** "  # how a stage, which draws nothing, begins its verdict
FOLD = "``````{{dropdown}} {}\n{}\n``````"
FILES = "_files"  # next to the pages: their images, scripts, and tables to download
# in the staged tree: the executed notebooks, which the book offers to run
ORIGINALS = "_originals"
# Content that an address holds: images and tables to download.
HELD = re.compile(
    r"data:(?:image|text)/(png|webp|svg|csv)(?:\+xml)?;base64,([A-Za-z0-9+/=\s]+)"
)
DRAWN = re.compile(
    r'(<img src="([^"]+\.svg)"(?:(?!</figure>).)*?<p class="atlas-links">)', re.DOTALL
)
FIGURE = re.compile(r'<figure class="atlas-(?:figure|table)">.*?</figure>', re.DOTALL)
INTERVAL = re.compile(
    r" \([^)]*\d(?:–| to )[^)]*\)"
)  # what a title in a list does without
CHARTS = "<!-- the charts of this book -->"
DATA = "data"  # of languages, models and charts, below the book's address
BUTTON = "{.atlas-button}"
LINK = re.compile(
    rf"\[([^\]]*)\]\(([\w.-]+?)(?:\.md|\.ipynb)?(?:#[\w-]*)?\)(?:{re.escape(BUTTON)})?"
    r"|\{doc\}`(?:([^`<]*?) *<([\w.-]+)>|([\w.-]+))`"
)


def staged(
    path: Path,
    file: Path,
    absent: Callable[[str], bool],
    parent: list[tuple[str, str]],
    ending: str,
    commit: str = "",
) -> dict[Path, bytes]:
    """Return the files of the staged tree that one page needs: path in the tree ->
    content.

    `absent`: whether the book lacks a page; `parent`: name and title of the page above,
    or none; `ending`: Markdown; `commit`: of the study, for what is said of the data of
    charts.
    """
    held: dict[Path, bytes] = {}
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".md":
        for name, title in parent:
            text = with_parent(text, name, title)
        text = without_links(_in_files(f"{text}\n\n{ending}", held), absent)
        return held | {path: text.encode()}
    notebook = formed(json.loads(text), path.stem, ending)
    for name, title in parent:
        first = notebook["cells"][0]
        notebook["cells"][0] = first | {
            "source": with_parent("".join(first["source"]), name, title)
        }
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = without_links("".join(cell["source"]), absent)
        for data in (output.get("data", {}) for output in cell.get("outputs", [])):
            for kind in data.keys() & {"text/html", "text/markdown"}:
                text_ = _with_chart_data("".join(data[kind]), path.stem, commit, held)
                data[kind] = without_links(_in_files(text_, held), absent)
    held[Path(ORIGINALS, f"{path.stem}.json")] = text.encode()
    return held | {path: json.dumps(notebook).encode()}


def _with_chart_data(text: str, page: str, commit: str, held: dict[Path, bytes]) -> str:
    """Return HTML whose figures and tables refer to their data in DATA, by page and
    number, and add these to `held`.
    """

    def filed(figure: re.Match) -> str:
        found = [each for each in HELD.finditer(figure[0]) if each[1] == "csv"]
        if not found:
            return figure[0]
        number = 1 + sum(
            path.suffix == ".csv" and path.parts[0] == DATA for path in held
        )
        place, caption = (
            f"{DATA}/charts/{page}-{number}",
            re.search("<figcaption>(.*?)</figcaption>", figure[0], re.S),
        )
        bare = html.unescape(re.sub("<[^>]*>", "", caption[1]))
        title = html.unescape(
            re.sub(
                "<[^>]*>",
                "",
                (re.search("<b>(.*?)</b>", caption[1], re.S) or caption)[1],
            )
        )
        facts = {
            "title": title,
            "caption": bare,
            "page": f"{page}.html",
            "notebook": f"_sources/{page}.ipynb",
        }
        facts |= {
            "columns": "units stand in their names; shares from 0 to 1 where none does",
            "commit": commit,
        }
        facts |= {
            "source": "the page's section 'Parameters and sources'",
            "licence": "MIT; of sources: LICENSE-DATA.md",
        }
        held[Path(f"{place}.csv")] = base64.b64decode(found[0][2])
        held[Path(f"{place}.json")] = json.dumps(
            facts, ensure_ascii=False, indent=1
        ).encode()
        more = (
            f' <a href="{place}.json">About the data</a> <a download'
            f' href="_sources/{page}.ipynb">Notebook</a></p>'
        )
        text = figure[0].replace(found[0][0], f"{place}.csv")
        return more.join(text.rsplit("</p>", 1))

    return FIGURE.sub(filed, text)


def with_charts(text: str, content: dict[Path, bytes]) -> bytes:
    """Return the Markdown of the page that lists data files, with the charts of a
    staged tree in place of CHARTS.
    """
    facts = {
        path: json.loads(data)
        for path, data in content.items()
        if path.match(f"{DATA}/charts/*.json")
    }
    lines = [
        f"- {escape(INTERVAL.sub('', fact['title']))} (<a"
        f' href="{fact["page"]}">{path.stem}</a>): <a'
        f' href="{path.with_suffix(".csv").as_posix()}">CSV</a>, <a'
        f' href="{path.as_posix()}">about it</a>'
        for path, fact in sorted(
            facts.items(),
            key=lambda item: (item[1]["page"], len(item[0].stem), item[0]),
        )
    ]
    return text.replace(CHARTS, "\n".join(lines)).encode()


def _in_files(text: str, held: dict[Path, bytes]) -> str:
    """Return HTML whose addresses refer to files in place of holding images and tables,
    and add these to `held`.
    """

    def filed(match: re.Match) -> str:
        content = base64.b64decode(match[2])
        name = f"{FILES}/{hashlib.sha256(content).hexdigest()[:16]}.{match[1]}"
        held[Path(name)] = content
        return name

    return DRAWN.sub(r'\1<a download href="\2">SVG</a> ', HELD.sub(filed, text))


def formed(notebook: dict, name: str, ending: str = "") -> dict:
    """Return a page's notebook in the form of a page; its cells are copies.

    Below the title and the question stands the takeaway, wherever it was computed; no
    cell shows its code; at the end stand `about` and `ending`, Markdown.
    """
    cells, boxes = [], []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            shown = cell.get("outputs", [])
            texts = [
                "".join(output.get("data", {}).get("text/markdown", " "))
                for output in shown
            ]
            boxes += [
                takeaway(text.removeprefix(ANSWER)).data
                for text in texts
                if text.startswith(ANSWER)
            ]
            boxes += [text for text in texts if text.startswith(TAKEAWAY)]
            cell = cell | {
                "outputs": [],
                "metadata": cell["metadata"] | {"tags": ["remove-input"]},
            }
            for each, text in zip(shown, texts, strict=True):
                # The contents of a page list the headings of its Markdown cells alone.
                if text.startswith(("## ", "### ")):
                    cells += [cell] * bool(cell["outputs"]) + [_prose(text)]
                    cell = {
                        name: value for name, value in cell.items() if name != "id"
                    } | {"outputs": []}
                elif text and not text.startswith((ANSWER, TAKEAWAY)):
                    cell["outputs"].append(each)
        if cell.get("outputs", True):
            cells.append(cell)
    cells[1:1] = [_prose(box) for box in boxes[:1]]
    return notebook | {
        "cells": [*cells, _prose(f"{about(notebook, name)}\n\n{ending}")]
    }


def about(notebook: dict, name: str) -> str:
    """Return the last section of a page in Markdown: its code in one panel, and with
    what parameters it was run.
    """
    code = "\n\n".join(
        "".join(cell["source"])
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    )
    download = (
        f'<a download href="_sources/{name}.ipynb">Download the notebook</a>, which'
        " runs by itself, or "
    )
    parts = ["## About this page"]
    parts += [
        FOLD.format(
            "Code of this page",
            f"{download}[rerun it](rerun).\n\n```python\n{code}\n```",
        )
    ] * bool(code)
    if made := notebook["metadata"].get("babelatlas"):
        values = made["parameters"].items()
        lines = [
            f"- {literal(key)} = {escape(json.dumps(value, ensure_ascii=False))}"
            for key, value in values
        ]
        text = f"Notebook `{made['notebook']}`, {made['seconds']:g} s.\n\n" + "\n".join(
            lines
        )
        parts.append(FOLD.format("Parameters and sources", text))
    return "\n\n".join(parts)


def with_parent(text: str, name: str, title: str) -> str:
    """Return the Markdown of a page with a line below its title that names the page it
    belongs to.
    """
    head, _, rest = text.partition("\n")
    return f"{head}\n\n{{.atlas-parent}}\nPart of [{title}]({name}).\n{rest}"


def listed(pages: Sequence[tuple[str, str]]) -> str:
    """Return a section that links to pages, name and title of each; "" for none."""
    links = "\n".join(f"- [{title}]({name})" for name, title in pages)
    return f"## More on this subject\n\n{links}" if links else ""


def citation(name: str, title: str, version: str, year: str, address: str = "") -> str:
    """Return how to cite a page, folded; `title`: as Markdown; `address`: of the book,
    "" where it is not public.

    >>> print(citation("33_intervals", "Intervals", "0.1.0", "2026"))
    ``````{dropdown} Cite this page
    ```bibtex
    @incollection{babelatlas-33-intervals,
      title = {Intervals},
      booktitle = {Babel Atlas, version 0.1.0},
      author = {{The Babel Atlas authors}},
      year = {2026}
    }
    ```
    ``````
    """
    facts = {
        "title": html.unescape(title),
        "booktitle": f"Babel Atlas, version {version}",
    }
    facts |= {"author": "{The Babel Atlas authors}", "year": year}
    facts |= {"url": f"{address.rstrip('/')}/{name}.html"} if address else {}
    lines = ",\n".join(f"  {key} = {{{value}}}" for key, value in facts.items())
    key = re.sub(r"[^a-z0-9]+", "-", name.lower())
    return FOLD.format(
        "Cite this page",
        f"```bibtex\n@incollection{{babelatlas-{key},\n{lines}\n}}\n```",
    )


def without_links(text: str, absent: Callable[[str], bool]) -> str:
    """Return Markdown with the links to absent pages as plain text, and without buttons
    to them.

    >>> without_links("See [the list](languages.md) and {doc}`data <data>`.", {"languages"}.__contains__)
    'See the list and {doc}`data <data>`.'
    """

    def plain(link: re.Match) -> str:
        if not absent(link[2] or link[4] or link[5]):
            return link[0]
        return "" if link[0].endswith(BUTTON) else link[1] or link[3] or link[5]

    return LINK.sub(plain, text)


def title_of(file: Path) -> str:
    """Return the title of a page: the text of its first heading, without roles and
    links.
    """
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".ipynb":
        text = "\n".join(
            "".join(cell["source"]) for cell in json.loads(text)["cells"][:1]
        )
    heading = re.search(r"^# +(.+)$", text, re.MULTILINE)
    return (
        re.sub(r"\{[^}]*\}`([^`]*)`|\[([^\]]*)\]\([^)]*\)", r"\1\2", heading[1]).strip()
        if heading
        else file.stem
    )


def _prose(text: str) -> dict:
    return {"cell_type": "markdown", "metadata": {}, "source": text}
