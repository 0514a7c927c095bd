"""The form of a page, made from an executed notebook: takeaway first, findings, one panel of code and sources last.

Notebooks stay as one writes them, in the order of the computation; only the copies that the book renders are changed.
"""

import json

from babelatlas.base import tables
from babelatlas.report.formatting import escape, literal
from babelatlas.report.reading import TAKEAWAY, takeaway

ANSWER = "**Answer.** "  # how a stage, which draws nothing, begins its verdict
FENCE = "``````"


def formed(
    notebook: dict,
    name: str,
    parents: tuple[str, str] | None = None,
    more: list[tuple[str, str]] = (),
    ending: str = "",
) -> dict:
    """Return a page's notebook in the form of a page; its cells are copies.

    Below the title and the question stands the takeaway, wherever it was computed; no cell shows its code; at the end
    stand links to the pages `more` (name, title) and "About this page": code, parameters, tables, and `ending`.
    `parents`: name and title of the page that this one belongs to, which it names above its title.
    """
    cells = [dict(cell) for cell in notebook["cells"]]
    box = _taken(cells)
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    for cell in code:
        cell["metadata"] = cell["metadata"] | {"tags": ["remove-input"]}
    first = 1 if cells and cells[0]["cell_type"] == "markdown" else 0
    if parents and first:
        cells[0] = cells[0] | {"source": with_parent("".join(cells[0]["source"]), *parents)}
    cells[first:first] = [_prose(box)] * bool(box)
    if more:
        cells.append(_prose(listed(more)))
    made = notebook.get("metadata", {}).get("babelatlas", {})
    cells.append(_prose(about(name, ["".join(cell["source"]) for cell in code], made, ending)))
    return notebook | {"cells": [cell for cell in cells if not _silent(cell)]}


def with_parent(text: str, name: str, title: str) -> str:
    """Return the Markdown of a page with a line below its title that names the page it belongs to."""
    head, _, rest = text.partition("\n")
    return f"{head}\n\n{{.atlas-parent}}\nPart of [{title}]({name}).\n{rest}"


def listed(more: list[tuple[str, str]]) -> str:
    """Return a section that links to pages, name and title of each."""
    return "## More on this subject\n\n" + "\n".join(f"- [{title}]({name})" for name, title in more)


def about(name: str, sources: list[str], made: dict, ending: str = "") -> str:
    """Return the last section of a page: its code in one panel, what it was made from, and `ending`, in Markdown.

    `sources`: the code of its cells; `made`: what a run noted of the notebook: its name, parameters and seconds.
    """
    parts = ["## About this page"]
    if sources:
        code = "\n\n".join(source.strip() for source in sources if source.strip())
        parts.append(
            f"{FENCE}{{dropdown}} Code of this page\n"
            f'<a download href="_sources/{name}.ipynb">Download the notebook</a>, which runs by itself, or '
            f"[rerun it with other parameters](rerun).\n\n"
            f"```python\n{code}\n```\n{FENCE}"
        )
    if made:
        lines = [f"- {line}" for line in _record(made)]
        parts.append(f"{FENCE}{{dropdown}} Parameters and sources\n" + "\n".join(lines) + f"\n{FENCE}")
    return "\n\n".join([*parts, *[ending] * bool(ending)])


def _record(made: dict) -> list[str]:
    """Return lines of Markdown: the notebook and its time, the given parameters, and each table's commit."""
    given = made.get("parameters", {})
    lines = [f"Notebook `{made['notebook']}`, {made['seconds']:g} s."]
    for key, value in given.items():
        if not _paths(value):
            lines.append(f"{literal(key)} = {escape(json.dumps(value, ensure_ascii=False))}")
    for path in dict.fromkeys(path for value in given.values() for path in _paths(value)):
        file = tables.locate(path)
        commit = (
            tables.short(str(tables.made_from(file).get("commit", "not recorded"))) if file.is_file() else "not made"
        )
        lines.append(f"Table {literal(path)}: commit {escape(commit)}.")
    return lines


def _paths(value: object) -> list[str]:
    """Return the Parquet files that a parameter names."""
    values = value if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, str) and one.endswith(".parquet")]


def _taken(cells: list[dict]) -> str:
    """Take the takeaways out of the outputs of copied cells; return the first one's text, "" where there is none."""
    found = []
    for cell in cells:
        kept = []
        for output in cell.get("outputs", []):
            text = "".join(output.get("data", {}).get("text/markdown", ""))
            if text.startswith(ANSWER):
                text = takeaway(text.removeprefix(ANSWER)).data
            found, kept = ([*found, text], kept) if text.startswith(TAKEAWAY) else (found, [*kept, output])
        if "outputs" in cell:
            cell["outputs"] = kept
    return found[0] if found else ""


def _prose(text: str) -> dict:
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def _silent(cell: dict) -> bool:
    """Return whether a cell of code shows nothing; its source stands in the panel."""
    return cell["cell_type"] == "code" and not cell.get("outputs")
