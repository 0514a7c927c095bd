"""The form of a page, made from prose or an executed notebook: findings first, code and
sources last.

Images and tables become files, links to pages that the book lacks plain text. Notebooks
stay as one writes them, in the order of the computation; only the copies that the book
renders are changed.
"""

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from atlas_study.pages import page_sources
from babelatlas.report.formatting import escape
from babelatlas.report.reading import TAKEAWAY, takeaway

ANSWER = "**Answer.** "  # how a stage, which draws nothing, begins its verdict
# A comment on a page of which the search finds the title alone (`page_html.searched`).
BY_TITLE = "% search: title"
SEARCH_WORDS = "% search words: {}"  # one that names what readers call its subject
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
LAUNCH = (
    "[Open the study in a browser]({}){{.atlas-launch}}, to change and run its pages."
)
DOWNLOAD = """<a download href="_sources/{}.ipynb">Download the notebook</a>, which runs by
itself, or [rerun it](rerun). The code of each figure and table stands below it; here is
the rest: inputs, parameters, and what the page computes before them."""
# The code of one figure or table, folded below it; the search leaves it out.
BESIDE = """<details class="atlas-code"><summary>Code of this {kind}</summary>

{{.atlas-code}}
```python
{code}
```

</details>"""
NO_CODE_OF_A_FIGURE = {"inputs", "outputs", "parameters"}  # tags of cells
# Of a figure: the place of a language, which opens its page.
PLACE = re.compile(r'<a tabindex="-1" href="([\w-]+)\.html" ([^>]*)></a>')
# Where a page shows the takeaways of others, by their names.
TAKEAWAYS = re.compile(r"<!-- takeaways: ([\w ]+) -->")
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
    launch: str = "",
) -> dict[Path, bytes]:
    """Return the files of the staged tree that one page needs: path in the tree ->
    content.

    `absent`: whether the book lacks a page; `parent`: name and title of the page above,
    or none; `ending`: Markdown; `commit`: of the study, for what is said of the data of
    charts; `launch`: as in `about`.
    """
    held: dict[Path, bytes] = {}
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".md":
        for name, title in parent:
            text = with_parent(text, name, title)
        text = without_links(_in_files(f"{text}\n\n{ending}", held), absent)
        return held | {path: text.encode()}

    present = {
        other.stem: other
        for other in file.parent.glob("*.ipynb")
        if not absent(other.stem)
    }
    notebook = with_takeaways(json.loads(text), present)
    notebook = formed(notebook, path.stem, ending, launch)
    for name, title in parent:
        first = notebook["cells"][0]
        source = with_parent("".join(first["source"]), name, title)
        notebook["cells"][0] = first | {"source": source}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = without_links("".join(cell["source"]), absent)
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            for kind in data.keys() & {"text/html", "text/markdown"}:
                shown = "".join(data[kind])
                shown = _with_chart_data(shown, path.stem, commit, held)
                shown = _without_places(shown, absent)
                data[kind] = without_links(_in_files(shown, held), absent)
    held[Path(ORIGINALS, f"{path.stem}.json")] = text.encode()
    return held | {path: json.dumps(notebook).encode()}


def takeaway_of(file: Path) -> str:
    """Return the takeaway of an executed notebook, as Markdown without its box; "" where
    it has none.
    """
    notebook = json.loads(file.read_text(encoding="utf-8"))
    texts = [
        _markdown_of(output)
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
    ]
    verdicts = [text for text in texts if text.startswith((TAKEAWAY, ANSWER))]
    if not verdicts:
        return ""
    return (
        verdicts[-1].removeprefix(TAKEAWAY).removeprefix(ANSWER).removesuffix("\n```")
    )


def with_takeaways(notebook: dict, pages: Mapping[str, Path]) -> dict:
    """Return an executed notebook with the takeaways of other pages where its Markdown
    asks for them (TAKEAWAYS): a heading and a list, each with a link to its page.

    `pages`: of the book, executed notebooks by name. Those that are not among them are
    left out, and without any of them the heading, too: what one page says of another
    are that page's own words.
    """

    def filled(asked: re.Match) -> str:
        names = [name for name in asked[1].split() if name in pages]
        found = {name: takeaway_of(pages[name]) for name in names}
        items = [f"1. {text} [More]({name})." for name, text in found.items() if text]
        return "\n".join(["## Findings on real models", "", *items]) if items else ""

    cells = []
    for cell in notebook["cells"]:
        outputs = []
        for output in cell.get("outputs", []):
            text = _markdown_of(output)
            if TAKEAWAYS.search(text):
                data = {"text/markdown": TAKEAWAYS.sub(filled, text)}
                output = output | {"data": data}
            outputs.append(output)
        cells.append(cell | {"outputs": outputs} if outputs else cell)
    return notebook | {"cells": cells}


def _without_places(text: str, absent: Callable[[str], bool]) -> str:
    """Return HTML whose figures link to no page that the book lacks."""

    def plain(place: re.Match) -> str:
        return f"<span {place[2]}></span>" if absent(place[1]) else place[0]

    return PLACE.sub(plain, text)


def _with_chart_data(text: str, page: str, commit: str, held: dict[Path, bytes]) -> str:
    """Return HTML whose figures and tables refer to their data in DATA, by page and
    number, and add these to `held`.
    """

    def filed(figure: re.Match) -> str:
        tables = [found for found in HELD.finditer(figure[0]) if found[1] == "csv"]
        if not tables:
            return figure[0]
        earlier = [
            path for path in held if path.suffix == ".csv" and path.parts[0] == DATA
        ]
        place = f"{DATA}/charts/{page}-{len(earlier) + 1}"
        caption = re.search("<figcaption>(.*?)</figcaption>", figure[0], re.S)[1]
        facts = _about_data(caption, page, commit)
        held[Path(f"{place}.csv")] = base64.b64decode(tables[0][2])
        held[Path(f"{place}.json")] = json.dumps(
            facts, ensure_ascii=False, indent=1
        ).encode()
        links = (
            f' <a href="{place}.json">About the data</a> <a download'
            f' href="_sources/{page}.ipynb">Notebook</a></p>'
        )
        # The links of a figure are its last paragraph.
        before, after = (
            figure[0].replace(tables[0][0], f"{place}.csv").rsplit("</p>", 1)
        )
        return f"{before}{links}{after}"

    return FIGURE.sub(filed, text)


def _about_data(caption: str, page: str, commit: str) -> dict[str, str]:
    """Return what a file says of the data of a chart; `caption`: HTML, whose first bold
    words are the title.
    """
    bold = re.search("<b>(.*?)</b>", caption, re.S)
    return {
        "title": _bare(bold[1] if bold else caption),
        "caption": _bare(caption),
        "page": f"{page}.html",
        "notebook": f"_sources/{page}.ipynb",
        "columns": "units stand in their names; shares from 0 to 1 where none does",
        "commit": commit,
        "source": "the page's section 'Parameters and sources'",
        "licence": "MIT; of sources: LICENSE-DATA.md",
    }


def _bare(text: str) -> str:
    """Return HTML without its tags."""
    return html.unescape(re.sub("<[^>]*>", "", text))


def with_charts(text: str, content: dict[Path, bytes]) -> bytes:
    """Return the Markdown of the page that lists data files, with the charts of a
    staged tree in place of CHARTS.
    """
    charts = [
        (path, json.loads(data))
        for path, data in content.items()
        if path.match(f"{DATA}/charts/*.json")
    ]
    charts.sort(key=lambda chart: (chart[1]["page"], len(chart[0].stem), chart[0]))
    lines = []
    for path, facts in charts:
        title = escape(INTERVAL.sub("", facts["title"]))
        page = f'<a href="{facts["page"]}">{path.stem}</a>'
        csv = f'<a href="{path.with_suffix(".csv").as_posix()}">CSV</a>'
        about_it = f'<a href="{path.as_posix()}">about it</a>'
        lines.append(f"- {title} ({page}): {csv}, {about_it}")
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


def formed(notebook: dict, name: str, ending: str = "", launch: str = "") -> dict:
    """Return a page's notebook in the form of a page; its cells are copies.

    Code is folded: that of a figure or table below it, and the rest at the end, where
    `about` and `ending`, Markdown, stand. The ANSWER of a stage, which knows it last,
    becomes the box below the title, and the search finds such a page by its title alone
    (BY_TITLE). `launch`: as in `about`.
    """
    cells, answers, before, rest = [], [], [], []
    for cell in notebook["cells"]:
        if not _is_code(cell):
            if _has_heading(cell):
                rest += before
                before = []
            cells.append(cell)
            continue
        texts = [_markdown_of(output) for output in cell.get("outputs", [])]
        answers += [text for text in texts if text.startswith(ANSWER)]
        before.append(cell)
        cells += _shown(cell)
        if kind := _drawn_kind(cell):
            making = [other for other in before if _draws(other)]
            rest += [other for other in before if not _draws(other)]
            cells.append(_prose(code_beside(making, kind)))
            before = []
    boxes = [takeaway(text.removeprefix(ANSWER)).data for text in answers[:1]]
    cells[1:1] = [_prose(box) for box in boxes]
    end = [about(notebook, name, [*rest, *before], launch), ending]
    if answers:
        end.insert(1, BY_TITLE)
    return notebook | {"cells": [*cells, _prose("\n\n".join(end))]}


def _is_code(cell: dict) -> bool:
    return cell["cell_type"] == "code"


def _has_heading(cell: dict) -> bool:
    """Return whether a cell of prose begins a section."""
    return bool(re.search("^##", "".join(cell["source"]), re.MULTILINE))


def _drawn_kind(cell: dict) -> str:
    """Return what a cell shows: "figure", "table", or "" for neither."""
    shown = "".join(
        "".join(output.get("data", {}).get("text/html", ""))
        for output in cell.get("outputs", [])
    )
    for kind in ("figure", "table"):
        if f'class="atlas-{kind}"' in shown:
            return kind
    return ""


def _sources(cells: Sequence[dict]) -> list[str]:
    return ["".join(cell["source"]) for cell in cells]


def _draws(cell: dict) -> bool:
    """Return whether the code of a cell may be a part of what makes a figure: it holds
    neither parameters nor prose.
    """
    has_tag = NO_CODE_OF_A_FIGURE & {*cell["metadata"].get("tags", [])}
    return not has_tag and not "".join(cell["source"]).startswith("Markdown(")


def code_beside(cells: Sequence[dict], kind: str) -> str:
    """Return the code of the cells that make a figure or table, folded, as Markdown.

    `kind`: "figure" or "table".
    """
    return BESIDE.format(kind=kind, code="\n\n".join(_sources(cells)))


def _markdown_of(output: dict) -> str:
    """Return the Markdown of an output of a cell without space around it; "" where it
    has none.
    """
    return "".join(output.get("data", {}).get("text/markdown", "")).strip()


def _is_blank(output: dict) -> bool:
    """Return whether an output is Markdown without a word, as of a sentence that a run
    has no need of.
    """
    return "text/markdown" in output.get("data", {}) and not _markdown_of(output)


def _shown(cell: dict) -> list[dict]:
    """Return what a page shows of a code cell: its outputs without its code, an ANSWER
    left out, and headings as cells of their own.

    The contents of a page list the headings of its Markdown cells alone.
    """
    hidden = cell | {"metadata": cell["metadata"] | {"tags": ["remove-input"]}}
    parts, outputs = [], []
    for output in cell.get("outputs", []):
        text = _markdown_of(output)
        if text.startswith(("## ", "### ")):
            if outputs:
                parts.append(hidden | {"outputs": outputs})
            parts.append(_prose(text))
            outputs = []
            # An id stands for one cell alone.
            hidden = {key: value for key, value in hidden.items() if key != "id"}
        elif not _is_blank(output) and not text.startswith(ANSWER):
            outputs.append(output)
    if outputs:
        parts.append(hidden | {"outputs": outputs})
    return parts


def about(notebook: dict, name: str, cells: Sequence[dict], launch: str = "") -> str:
    """Return the last section of a page in Markdown: its code in one panel, and what it
    was made from.

    `cells`: whose code stands at no figure; `launch`: the address that opens the study
    in a browser, "" for none.
    """
    parts = ["## About this page"]
    if any(_is_code(cell) for cell in notebook["cells"]):
        parts += [LAUNCH.format(launch)] if launch else []
        panel = DOWNLOAD.format(name)
        if cells:
            code = "\n\n".join(_sources(cells))
            panel = f"{panel}\n\n```python\n{code}\n```"
        parts.append(FOLD.format("Code of this page", panel))
    if made_from := page_sources.panel(notebook):
        parts.append(FOLD.format("Parameters and sources", made_from))
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


def without_links(text: str, absent: Callable[[str], bool]) -> str:
    """Return Markdown with the links to absent pages as plain text, and without buttons
    to them.

    >>> text = "See [the list](languages.md) and {doc}`data <data>`."
    >>> without_links(text, {"languages"}.__contains__)
    'See the list and {doc}`data <data>`.'
    """

    def plain(link: re.Match) -> str:
        target = link[2] or link[4] or link[5]
        if not absent(target):
            return link[0]
        if link[0].endswith(BUTTON):
            return ""
        return link[1] or link[3] or link[5]

    return LINK.sub(plain, text)


def title_of(file: Path) -> str:
    """Return the title of a page: the text of its first heading, without roles and
    links.
    """
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".ipynb":
        first = json.loads(text)["cells"][:1]
        text = "\n".join("".join(cell["source"]) for cell in first)
    heading = re.search(r"^# +(.+)$", text, re.MULTILINE)
    if not heading:
        return file.stem
    role_or_link = r"\{[^}]*\}`([^`]*)`|\[([^\]]*)\]\([^)]*\)"
    return re.sub(role_or_link, r"\1\2", heading[1]).strip()


def _prose(text: str) -> dict:
    return {"cell_type": "markdown", "metadata": {}, "source": text}
