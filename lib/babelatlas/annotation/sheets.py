"""What sheets that people fill in share: a CSV file for a spreadsheet, and one HTML page that saves the same CSV."""

import html
import json
import os
import string
from pathlib import Path

import pandas as pd

from babelatlas.base import tables
from babelatlas.base.paths import DATA

TEMPLATE = DATA / "sheet.html"


def write_csv(made: pd.DataFrame, path: str | os.PathLike) -> Path:
    """Write a sheet as CSV that spreadsheets open as what it is (UTF-8 with a byte order mark); return the path."""
    with tables.beside(path) as part:
        made.to_csv(part, index=False, encoding="utf-8-sig", lineterminator="\r\n")
    return tables.locate(path)


def fill(template: string.Template, texts: dict[str, object], **markup: str) -> str:
    """Return a template filled in: `texts` are escaped, `markup` is HTML already."""
    return template.substitute({name: html.escape(str(text)) for name, text in texts.items()} | markup)


def write_page(
    made: pd.DataFrame,
    path: str | os.PathLike,
    cards: list[str],
    data: dict,
    headings: dict[str, str] | None = None,
    **texts: str,
) -> Path:
    """Write a sheet as one HTML file that needs nothing else and saves its answers as CSV; return the path.

    `cards`: the HTML of each card, an <article>; `data`: what the page's script is told, see the comment in it;
    `headings`: column -> what the CSV file calls it; `texts`: HTML for the template's other places (title, heading,
    introduction, width, next).
    """
    columns = list(made.columns)
    rows = {"columns": columns, "headings": [(headings or {}).get(name, name) for name in columns]}
    rows["rows"] = made.to_dict("records")
    # "<" cannot end the script early when it is written as an escape of JSON.
    told = json.dumps(data | rows, ensure_ascii=False).replace("<", "\\u003c")
    page = string.Template(TEMPLATE.read_text(encoding="utf-8"))
    with tables.beside(path) as part:
        part.write_text(page.substitute(texts, cards="\n".join(cards), data=told), encoding="utf-8")
    return tables.locate(path)
