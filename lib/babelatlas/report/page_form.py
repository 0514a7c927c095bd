"""The form of a page, made from an executed notebook: takeaway first, findings, code and sources last.

Notebooks stay as one writes them, in the order of the computation; only the copies that the book renders are changed.
"""

import html
import json
import re
from collections.abc import Sequence

from babelatlas.report.formatting import escape, literal
from babelatlas.report.reading import TAKEAWAY, takeaway

ANSWER = "**Answer.** "  # how a stage, which draws nothing, begins its verdict
FOLD = "``````{{dropdown}} {}\n{}\n``````"


def formed(notebook: dict, name: str, ending: str = "") -> dict:
    """Return a page's notebook in the form of a page; its cells are copies.

    Below the title and the question stands the takeaway, wherever it was computed; no cell shows its code; at the end
    stand `about` and `ending`, Markdown.
    """
    cells, boxes = [], []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            shown = cell.get("outputs", [])
            texts = ["".join(output.get("data", {}).get("text/markdown", " ")) for output in shown]
            boxes += [takeaway(text.removeprefix(ANSWER)).data for text in texts if text.startswith(ANSWER)]
            boxes += [text for text in texts if text.startswith(TAKEAWAY)]
            kept = zip(shown, texts, strict=True)
            outputs = [each for each, text in kept if text and not text.startswith((ANSWER, TAKEAWAY))]
            cell = cell | {"outputs": outputs, "metadata": cell["metadata"] | {"tags": ["remove-input"]}}
        if cell.get("outputs", True):
            cells.append(cell)
    cells[1:1] = [_prose(box) for box in boxes[:1]]
    return notebook | {"cells": [*cells, _prose(f"{about(notebook, name)}\n\n{ending}")]}


def about(notebook: dict, name: str) -> str:
    """Return the last section of a page in Markdown: its code in one panel, and with what parameters it was run."""
    code = "\n\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")
    download = f'<a download href="_sources/{name}.ipynb">Download the notebook</a>, which runs by itself, or '
    parts = ["## About this page"]
    parts += [FOLD.format("Code of this page", f"{download}[rerun it](rerun).\n\n```python\n{code}\n```")] * bool(code)
    if made := notebook["metadata"].get("babelatlas"):
        values = made["parameters"].items()
        lines = [f"- {literal(key)} = {escape(json.dumps(value, ensure_ascii=False))}" for key, value in values]
        text = f"Notebook `{made['notebook']}`, {made['seconds']:g} s.\n\n" + "\n".join(lines)
        parts.append(FOLD.format("Parameters and sources", text))
    return "\n\n".join(parts)


def with_parent(text: str, name: str, title: str) -> str:
    """Return the Markdown of a page with a line below its title that names the page it belongs to."""
    head, _, rest = text.partition("\n")
    return f"{head}\n\n{{.atlas-parent}}\nPart of [{title}]({name}).\n{rest}"


def listed(pages: Sequence[tuple[str, str]]) -> str:
    """Return a section that links to pages, name and title of each; "" for none."""
    links = "\n".join(f"- [{title}]({name})" for name, title in pages)
    return f"## More on this subject\n\n{links}" if links else ""


def citation(name: str, title: str, version: str, year: str, address: str = "") -> str:
    """Return how to cite a page, folded; `title`: as Markdown; `address`: of the book, "" where it is not public.

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
    facts = {"title": html.unescape(title), "booktitle": f"Babel Atlas, version {version}"}
    facts |= {"author": "{The Babel Atlas authors}", "year": year}
    facts |= {"url": f"{address.rstrip('/')}/{name}.html"} if address else {}
    lines = ",\n".join(f"  {key} = {{{value}}}" for key, value in facts.items())
    key = re.sub(r"[^a-z0-9]+", "-", name.lower())
    return FOLD.format("Cite this page", f"```bibtex\n@incollection{{babelatlas-{key},\n{lines}\n}}\n```")


def _prose(text: str) -> dict:
    return {"cell_type": "markdown", "metadata": {}, "source": text}
