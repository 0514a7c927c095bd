"""Pages made from the templates in `templates`: Markdown with values put in."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from babelatlas.report.formatting import escape, percent

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).with_name("templates")),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters |= {"md": escape, "percent": percent}


def render(template: str, **values) -> str:
    """Return the Markdown of a template, by the name of its file, with these values.

    Raises jinja2.UndefinedError where the template names a value that is not given.
    """
    return TEMPLATES.get_template(template).render(**values)
