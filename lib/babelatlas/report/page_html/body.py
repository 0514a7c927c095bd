"""The body of a page: details that fold, sections of the miniature that look like it."""

import html

from docutils import nodes

MARK = "atlas-mark"  # the class of a paragraph that says that what follows comes from the miniature
MINIATURE = "atlas-miniature"  # that of the section in which it stands
DETAILS = "Details"


def mark_miniature(doctree: nodes.document) -> None:
    """Give the sections that hold a mark of the miniature a class; the whole page, where the mark is above them."""
    for mark in list(doctree.findall(_is_mark)):
        place = mark
        while place.parent is not None and not isinstance(place, nodes.section):
            place = place.parent
        if MINIATURE not in place.get("classes", []):
            place["classes"].append(MINIATURE)


def _is_mark(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Element) and MARK in node.get("classes", [])


def mend_links(doctree: nodes.document) -> None:
    """Give links their addresses as written: MyST escapes what the writer of the HTML escapes once more."""
    for link in doctree.findall(nodes.reference):
        if "refuri" in link:
            link["refuri"] = html.unescape(link["refuri"])


def fold_details(doctree: nodes.document) -> None:
    """Fold the section "Details" of a page: its heading stays, what follows opens at a click."""
    for section in list(doctree.findall(nodes.section)):
        title = section.next_node(nodes.title)
        if title is not None and title.parent is section and title.astext() == DETAILS:
            named = [
                part.next_node(nodes.title).astext() for part in section.findall(nodes.section) if part is not section
            ]
            said = f"Show the details{': ' * bool(named)}{'; '.join(named)}"
            start = f'<details class="atlas-details"><summary>{html.escape(said)}</summary>'
            section.insert(section.index(title) + 1, nodes.raw("", start, format="html"))
            section.append(nodes.raw("", "</details>", format="html"))
