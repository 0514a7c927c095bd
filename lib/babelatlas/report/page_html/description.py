"""What search engines and messages show of a page: its description, title and card."""

import html
import re

from docutils import nodes

LONGEST = 200  # characters of a description
CARD = "_static/card.png"


def tags(doctree: nodes.document, config) -> str:
    """Return the meta elements of a page: its takeaway as the description, else its first paragraph.

    `config`: Sphinx's; a card needs the whole address of the book (html_baseurl), and is left out without one.
    """
    title = doctree.next_node(nodes.title)
    box = next((one for one in doctree.findall(nodes.Admonition) if isinstance(one, nodes.Element)), None)
    first = (box or doctree).next_node(nodes.paragraph)
    told = " ".join("".join(map(text_of, first.children)).split()) if first is not None else ""
    told = shortened(told, LONGEST)
    found = {"og:title": title.astext() if title is not None else config.html_title, "og:type": "article"}
    found |= {"og:site_name": "Babel Atlas"} | ({"og:description": told} if told else {})
    if config.html_baseurl:
        found |= {"og:image": f"{config.html_baseurl.rstrip('/')}/{CARD}", "twitter:card": "summary_large_image"}
    lines = [f'<meta property="{name}" content="{html.escape(value)}">' for name, value in found.items()]
    lines += [f'<meta name="description" content="{html.escape(told)}">'] * bool(told)
    return "\n".join(["", *lines])


def shortened(text: str, most: int) -> str:
    """Return a text of at most so many characters and an ellipsis, whose last word is whole.

    >>> shortened("One word and another", 10)
    'One word…'
    """
    return text if len(text) <= most else text[:most].rpartition(" ")[0] + "…"


def text_of(node: nodes.Node) -> str:
    """Return the text of a node, of raw HTML without its tags."""
    return html.unescape(re.sub(r"<[^>]*>", "", node.astext())) if isinstance(node, nodes.raw) else node.astext()
