"""A Sphinx extension: what the book does with the HTML of each page."""


def _lone(app, doctree) -> None:
    """Let a page stand outside the sidebar: those of single runs and languages are reached from tables and lists."""
    app.env.metadata[app.env.docname]["orphan"] = ""


def setup(app) -> dict:
    """Connect the extension to Sphinx, as Sphinx asks it to."""
    app.connect("doctree-read", _lone)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
