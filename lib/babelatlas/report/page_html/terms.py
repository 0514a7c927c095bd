"""The glossary's terms: where a page first uses one, a link to its definition, which shows on hover and focus."""

import html
import re

from docutils import nodes

from babelatlas.report.page_html.description import LONGEST, shortened

PAGE = "how-to-read"  # holds the glossary
ENTRY = re.compile(r"^(?P<term>\S.*)\n: (?P<text>.+(?:\n {2}.+)*)", re.MULTILINE)
# Within these a term stays as it is: headings and code are read as a whole, and a link leads elsewhere.
WHOLE = (nodes.title, nodes.literal, nodes.literal_block, nodes.reference, nodes.raw, nodes.term, nodes.citation)


def anchor(term: str) -> str:
    """Return the address of a definition within the glossary's page.

    >>> anchor("Recall@k")
    'term-recall-k'
    """
    return "term-" + re.sub(r"[^a-z0-9]+", "-", term.lower()).strip("-")


def read(text: str) -> dict[str, str]:
    """Return the terms of a glossary in Markdown -> their definitions as plain text.

    >>> read("Item\\n: A word {cite:p}`a2020`, with\\n  two *senses*.\\n\\nTC\\n: Translation choice.")
    {'Item': 'A word, with two senses.', 'TC': 'Translation choice.'}
    """
    return {found["term"]: _plain(found["text"]) for found in ENTRY.finditer(text)}


def _plain(text: str) -> str:
    text = re.sub(r" ?\{cite[^}]*\}`[^`]*`|[*`]", "", text)
    return " ".join(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).split())


def name_definitions(doctree: nodes.document) -> None:
    """Give each term of the glossary's definition lists an address."""
    for term in doctree.findall(nodes.term):
        term["ids"].append(anchor(term.astext()))


def link(doctree: nodes.document, definitions: dict[str, str]) -> None:
    """Link the first use of each term in a page's paragraphs to its definition.

    Letters match in either case but for abbreviations; an s of the plural belongs to the word.
    """
    if not definitions:
        return
    ordered = sorted(definitions, key=len, reverse=True)
    words = "|".join(re.escape(term) if _exact(term) else f"(?i:{re.escape(term)}s?)" for term in ordered)
    pattern, linked = re.compile(rf"(?<![\w-])(?:{words})(?![\w-])"), set()
    known = {term if _exact(term) else term.lower(): term for term in ordered}
    for text in list(doctree.findall(nodes.Text)):
        if not _in_prose(text):
            continue
        parts, last, words = [], 0, text.astext()
        for found in pattern.finditer(words):
            said = found[0]
            term = known.get(said) or known.get(said.lower()) or known.get(said.lower().removesuffix("s"))
            if term is None or term in linked:
                continue
            linked.add(term)
            parts += [nodes.Text(words[last : found.start()]), _linked(said, term, definitions[term])]
            last = found.end()
        if parts:
            text.parent.replace(text, [part for part in [*parts, nodes.Text(words[last:])] if part.astext()])


def _exact(term: str) -> bool:
    return term.isupper() or "@" in term


def _in_prose(text: nodes.Text) -> bool:
    place, prose = text.parent, False
    while place is not None:
        if isinstance(place, WHOLE):
            return False
        prose, place = prose or isinstance(place, nodes.paragraph), place.parent
    return prose


def _linked(said: str, term: str, definition: str) -> nodes.raw:
    shown = html.escape(shortened(f"{term}: {definition}", LONGEST), quote=True)
    address = f"{PAGE}.html#{anchor(term)}"
    return nodes.raw(
        "", f'<a class="atlas-term" href="{address}" data-definition="{shown}">{html.escape(said)}</a>', format="html"
    )
