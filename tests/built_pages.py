"""What the tests read of a rendered book: the words of each page, its addresses and its
links.
"""

import functools
import re
from html.parser import HTMLParser
from pathlib import Path

VOID = {
    "area",
    "base",
    "br",
    "col",
    "embed",
    "hr",
    "img",
    "input",
    "link",
    "meta",
    "source",
    "track",
    "wbr",
}
BLOCKS = {
    "p",
    "li",
    "td",
    "th",
    "h1",
    "h2",
    "h3",
    "h4",
    "dt",
    "dd",
    "figcaption",
    "summary",
    "tr",
    "div",
    "button",
}
SILENT = {"script", "style", "pre", "svg", "noscript", "option"}


class Page(HTMLParser):
    """A page: `prose`, the words of its article but for code and the cells of tables;
    `cells`; `ids`; `links`.
    """

    def __init__(self, path: Path):
        super().__init__()
        self.path, self.prose, self.cells, self.ids, self.links = (
            path,
            "",
            [],
            set(),
            [],
        )
        self._open = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids |= {given[name] for name in ("id", "name") if given.get(name)}
        self.links += [given[name] for name in ("href", "src") if given.get(name)]
        self.links += [
            part.split()[0]
            for part in (given.get("srcset") or "").split(",")
            if part.strip()
        ]
        if tag not in VOID:
            self._open.append((tag, given))
        if tag in BLOCKS or tag == "br":
            self.prose += "\n"
        if tag == "td" and self._inside("article"):
            self.cells.append("")

    def handle_endtag(self, tag):
        while (
            self._open
            and tag in [name for name, _ in self._open]
            and self._open.pop()[0] != tag
        ):
            pass
        if tag in BLOCKS:
            self.prose += "\n"

    def handle_data(self, text):
        names = {name for name, _ in self._open}
        if "article" not in names or names & SILENT:
            return
        text = re.sub(r"\s+", " ", text)  # as a browser shows it
        if "td" in names:
            self.cells[-1] += text
        elif {"code", "bdi"} & names or any(
            given.get("lang") for name, given in self._open if name != "html"
        ):
            self.prose += "…"  # code and words of other languages
        else:
            self.prose += text

    def _inside(self, tag: str) -> bool:
        return tag in {name for name, _ in self._open}


@functools.cache
def pages(book: Path) -> list[Page]:
    """Return the pages of a rendered book, but for those that the theme makes and old
    addresses.
    """
    return [Page(path) for path in files(book)]


def files(book: Path) -> list[Path]:
    """Return the files of these pages."""
    return [
        path
        for path in sorted(book.glob("*.html"))
        if path.stem not in {"genindex", "search"}
        and "<article" in path.read_text(encoding="utf-8")
    ]
