"""What sheets that people fill in share: a CSV file for a spreadsheet, and one HTML page that saves the same CSV."""

import base64
import html
import io
import json
import os
import string
import tomllib
from pathlib import Path

import pandas as pd

from babelatlas.base import own_tables, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA
from babelatlas.datasets import registry as datasets

TEMPLATE = DATA / "sheet.html"
# Sheet -> the texts for places of the template, and of its cards.
TEXTS = {
    name: {place: string.Template(text) for place, text in texts.items()}
    for name, texts in tomllib.loads((DATA / "sheet_texts.toml").read_text(encoding="utf-8")).items()
}


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
    `headings`: column -> what the CSV file calls it; `texts`: HTML for the template's other places.
    """
    columns = list(made.columns)
    rows = {"columns": columns, "headings": list(made.rename(columns=headings or {})), "rows": made.to_dict("records")}
    # "<" cannot end the script early when it is written as an escape of JSON.
    told = json.dumps(data | rows, ensure_ascii=False).replace("<", "\\u003c")
    page = string.Template(TEMPLATE.read_text(encoding="utf-8"))
    with tables.beside(path) as part:
        part.write_text(page.substitute(texts, cards="\n".join(cards), data=told), encoding="utf-8")
    return tables.locate(path)


def refuse(path: str | os.PathLike, faults: list[str]) -> None:
    """Raise InputError with the first of the faults of a filled sheet and the number of the others; none where none."""
    if faults:
        others = f" (and {len(faults) - 1} more problem(s))" if len(faults) > 1 else ""
        raise InputError(f"{Path(path).name}: {faults[0]}{others}.")


def thumbnail(path: str | os.PathLike, side: int = 144) -> str:
    """Return an image, at most `side` pixels wide and high, as the address of a picture that a page holds itself."""
    image = datasets.open_image(path)
    image.thumbnail((side, side))
    content = io.BytesIO()
    image.save(content, format="jpeg", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(content.getvalue()).decode()


def read_csv(path: str | os.PathLike, columns: list[str], wanted: str, absent: str, empty: str) -> pd.DataFrame:
    """Return the `columns` of a CSV file as texts, and `row`, the row in a spreadsheet; empty rows are left out.

    Columns may stand in another order, with further ones; what stands in brackets in a heading is passed over. Raises
    what `own_tables.lines` raises, and InputError for a file that is missing (the sentence ends in `wanted`), that is
    no such sheet, or that lacks a column (`absent`) or rows (`empty`).
    """
    path = tables.locate(path)
    if not path.is_file():
        raise InputError(f"There is no file {path}: {wanted}.")
    lines = own_tables.lines(path)
    names = [name.split("(")[0].strip().casefold() for name in (lines[0] if lines else [])]
    missing = [name for name in columns if name not in names]
    if len(missing) == len(columns):
        raise InputError(f"{path.name} is not a filled sheet: its first row should hold {', '.join(columns)}.")
    if missing:
        raise InputError(f"{path.name} has no column {missing[0]!r}: {absent}.")
    places = [names.index(name) for name in columns]
    rows = [
        [*(line[place].strip() if place < len(line) else "" for place in places), row]
        for row, line in enumerate(lines[1:], start=2)
    ]
    rows = [row for row in rows if any(row[:-1])]
    if not rows:
        raise InputError(f"{path.name} has no rows below its heading: {empty}.")
    return pd.DataFrame(rows, columns=[*columns, "row"])
