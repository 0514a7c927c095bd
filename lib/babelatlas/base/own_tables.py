"""Tables that a user wrote: CSV as spreadsheets save it (UTF-8 or UTF-16; commas, semicolons or tabs), as texts."""

import csv
import io
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from babelatlas.base import languages
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import locate

# What no word, caption or template has: control characters, ends of lines and paragraphs, and what reverses or nests
# the direction of a text, so that it reads as another than it is. The marks and joiners that scripts need are none.
STRANGE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def read(path: str | os.PathLike, what: str, columns: Sequence[str] = ()) -> pd.DataFrame:
    """Return a CSV file as texts, none missing; rows without any are left out.

    `what` it holds, in words such as "captions"; `columns` that it needs, with whatever others it has. Raises
    InputError for a file that is absent, in no Unicode, not CSV or without rows, a column that is not there, with the
    nearest name, one that is there twice, and a row with more cells than the heading.
    """
    path = locate(path)
    try:
        content = path.read_bytes()
        text = content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
        first = re.split(r"[\r\n]", text, maxsplit=1)[0]
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count), strict=True)
        heading, *rows = list(reader) or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"The file {path} cannot be read ({error}): give a CSV file, saved as 'CSV UTF-8'.") from error
    names = [name.strip() for name in heading]
    for column in columns:
        if column not in names:
            raise InputError(f"The {what} in {path} have no column {column!r}: {near(column, names)}")
    if len(set(names)) < len(names):
        raise InputError(f"The {what} in {path} have two columns of one name: {', '.join(names)}.")
    for number, row in enumerate(rows, 2):
        if len(row) > len(names):
            raise InputError(f"In {path}, row {number} has more cells than the heading: quote texts with commas.")
    rows = [[*row, *[""] * (len(names) - len(row))] for row in rows if any(row)]
    if not rows:
        raise InputError(f"The file {path} has no rows below its heading: add {what}.")
    return pd.DataFrame(rows, columns=names, dtype=str)


def check_texts(
    table: pd.DataFrame, columns: Iterable[str], path: str | os.PathLike, filled: bool = False
) -> pd.DataFrame:
    """Return `table`; InputError for a cell of `columns` that is no text on one line, or with `filled` an empty one."""
    for column in columns:
        for row, text in enumerate(table[column].tolist(), 2):
            if not isinstance(text, str) or STRANGE.search(text) or (filled and not text.strip()):
                where = f"In {Path(path).name}, row {row}"
                raise InputError(f"{where} has {text!r} as its {column}: write a text on one line.")
    return table


def languages_of(table: pd.DataFrame, column: str, path: str | os.PathLike) -> list[str]:
    """Return the study's codes of a column of languages; InputError, with the file, for one that is unknown."""
    try:
        return [languages.canonical(code) for code in table[column]]
    except InputError as error:
        raise InputError(f"In {path}: {error}") from error
