"""A Sphinx extension: what the book does with the HTML of each page."""

from pathlib import Path

from babelatlas.report.page_html import body, description, terms


def _started(app) -> None:
    """Read the glossary once, for all pages."""
    glossary = Path(app.srcdir, f"{terms.PAGE}.md")
    app.env.atlas_terms = terms.read(glossary.read_text(encoding="utf-8")) if glossary.is_file() else {}


def _read(app, doctree) -> None:
    """Change what was read of a page. It may stand outside the sidebar, reached from the page that it belongs to."""
    app.env.metadata[app.env.docname]["orphan"] = ""
    body.mark_miniature(doctree)
    body.mend_links(doctree)
    body.fold_details(doctree)
    if app.env.docname == terms.PAGE:
        terms.name_definitions(doctree)


def _resolved(app, doctree, name: str) -> None:
    if name != terms.PAGE:
        terms.link(doctree, app.env.atlas_terms)


def _context(app, name: str, template: str, context: dict, doctree) -> None:
    if doctree is not None:
        context["metatags"] = context.get("metatags", "") + description.tags(doctree, app.config)


def setup(app) -> dict:
    """Connect the extension to Sphinx, as Sphinx asks it to."""
    app.connect("builder-inited", _started)
    app.connect("doctree-read", _read)
    app.connect("doctree-resolved", _resolved)
    app.connect("html-page-context", _context)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
