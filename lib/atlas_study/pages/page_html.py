"""A Sphinx extension: sections of the miniature that look like it, "Details" that fold,
and what the search finds.
"""

import html
import re
from pathlib import Path

from docutils import nodes
from pybtex import plugin

from atlas_study.pages import citation

# the class of a paragraph that says that what follows comes from the miniature
MARK = "atlas-mark"
MINIATURE = "atlas-miniature"  # that of the section in which it stands
LANGUAGE = "language-"  # how the names of the pages of languages begin
BY_TITLE = "search: title"  # a comment on a page (`page_form.BY_TITLE`)
WORDS = "search words: "  # one that names what readers call the page's subject
CODE = "About this page"  # the section of a page that has its code
# Elements whose blanks count.
VERBATIM = re.compile(r"(<(pre|script|style|textarea)\b.*?</\2>)", re.DOTALL)
BESIDE = "atlas-code"  # the class of the code of one figure


def mark_miniature(doctree: nodes.document) -> None:
    """Give the sections that hold a mark of the miniature a class; the whole page,
    where the mark is above them.
    """
    marks = [
        node
        for node in doctree.findall(nodes.Element)
        if MARK in node.get("classes", [])
    ]
    for mark in marks:
        section = mark
        while section.parent is not None and not isinstance(section, nodes.section):
            section = section.parent
        section["classes"].append(MINIATURE)


def fold_details(doctree: nodes.document) -> None:
    """Fold the section "Details" of a page: its heading stays, what follows opens at a
    click.
    """
    for section in list(doctree.findall(nodes.section)):
        title = section[0]
        if isinstance(title, nodes.title) and title.astext() == "Details":
            start = '<details class="atlas-details"><summary>Show the details</summary>'
            section.insert(1, nodes.raw("", start, format="html"))
            section.append(nodes.raw("", "</details>", format="html"))


def searched(name: str, doctree: nodes.document) -> nodes.document:
    """Return what the search finds of a page: all but its code; of a language, and of a
    page with the comment BY_TITLE, its title alone.

    Hundreds of pages with the same words would hide the pages that are about them. The
    phrases of a comment WORDS, with semicolons between them, are found as headings are.
    """
    found = doctree.deepcopy()
    comments = [comment.astext().strip() for comment in found.findall(nodes.comment)]
    lists = [text for text in comments if text.startswith(WORDS)]
    phrases = [
        phrase.strip()
        for text in lists
        for phrase in text.removeprefix(WORDS).split(";")
    ]
    title_only = name.startswith(LANGUAGE) or BY_TITLE in comments
    parts = [part for section in found.findall(nodes.section) for part in section]
    for part in parts:
        is_code = isinstance(part, nodes.section) and part[0].astext() == CODE
        if is_code or (title_only and not isinstance(part, nodes.title)):
            part.parent.remove(part)
    for code in list(found.findall(nodes.literal_block)):
        if BESIDE in code["classes"]:
            code.parent.remove(code)
    # A section without an id: the search shows the title of the page in its place.
    found += [nodes.section("", nodes.title("", phrase)) for phrase in phrases]
    return found


def without_blanks(text: str) -> str:
    """Return a page of HTML without the blanks in which its lines begin and end, which
    no browser shows; code and scripts stay as they are.

    >>> without_blanks("<p>\\n\\n  a</p>\\n<pre>\\n  b</pre>")
    '<p>\\na</p>\\n<pre>\\n  b</pre>'
    """
    parts = VERBATIM.split(text)
    # What is not to be changed stands at every third place from the second on, and
    # after it the name of its element.
    for place in range(0, len(parts), 3):
        parts[place] = re.sub(r"[ \t]*\n\s*", "\n", parts[place])
    del parts[2::3]
    return "".join(parts)


def _index(app) -> None:
    """Have the builder index what is `searched` of each page."""
    if index := getattr(app.builder, "index_page", None):
        app.builder.index_page = lambda name, doctree, title: index(
            name, searched(name, doctree), title
        )


def _read(app, doctree) -> None:
    """Change what was read of a page. It may stand outside the sidebar, reached from
    the page that it belongs to.
    """
    app.env.metadata[app.env.docname]["orphan"] = ""
    mark_miniature(doctree)
    fold_details(doctree)
    # MyST escapes what the writer of the HTML escapes once more.
    for link in doctree.findall(nodes.reference):
        if "refuri" in link:
            link["refuri"] = html.unescape(link["refuri"])


def _head(app, name: str, _template, context: dict, doctree) -> None:
    """Add the tags by which Google Scholar knows a page to its head."""
    if doctree is None:  # no page of the book, as the search
        return
    cited = citation.read(Path(app.srcdir))
    title = html.unescape(re.sub("<[^>]+>", "", context["title"]))
    context["metatags"] += citation.tags(cited, title, f"{name}.html")


def setup(app) -> dict:
    """Connect the extension to Sphinx, as Sphinx asks it to."""
    app.connect("html-page-context", _head)
    app.connect("doctree-read", _read)
    app.connect("builder-inited", _index)
    # What pybtex is told of it does not search for: for each citation it would read the
    # entry points of all packages again, half of the time of writing the book.
    backend = "pybtex.backends", "plaintext"
    plugin.register_plugin(*backend, plugin.find_plugin(*backend), force=True)
    # It numbers parts, of which there are none here, and does not say that pages may be
    # read in parallel; sphinx_external_toc brings it along.
    if numbering := app.extensions.get("sphinx_multitoc_numbering"):
        numbering.parallel_read_safe = True
    return {"parallel_read_safe": True, "parallel_write_safe": True}
