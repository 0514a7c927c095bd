"""Tables that a user wrote: read from CSV as texts, with whatever is wrong told in a sentence that names file and row.

Spreadsheets write CSV in several ways, all of which are read alike: UTF-8 with or without a byte-order mark or UTF-16,
commas, semicolons or tabs, any ends of lines, empty cells at the end of a row.
"""

import csv
import io
import math
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from babelatlas.base import languages
from babelatlas.base.errors import InputError
from babelatlas.base.paths import locate

# The most characters of a text, of which a label has some ten and a caption some hundred, and of any other cell.
LONGEST, LARGEST = 10_000, 131_072
# What no word, caption or template has: control characters, ends of lines and paragraphs, and what reverses or nests
# the direction of a text, so that it reads as another than it is. The marks and joiners that scripts need are none.
STRANGE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
NAMES = {"\0": "a zero byte", "\n": "a line break", "\r": "a line break", "\t": "a tab"}
TRUTHS = {"true": True, "false": False}


def lines(path: str | os.PathLike) -> list[list[str]]:
    """Return the cells of a CSV file, the heading first; no lines where it is empty.

    Raises InputError for a file that is absent, in no Unicode, or not CSV.
    """
    path = locate(path)
    try:
        content = path.read_bytes()
        text = content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except OSError as error:
        raise InputError(f"The file {path} cannot be read ({error.strerror}): give the path of a CSV file.") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"The file {path} is not in Unicode (byte {error.start}), so that letters are lost: save it again as "
            "'CSV UTF-8'."
        ) from error
    # The line by which Excel is told the separator; as it does, row numbers leave it out.
    text = re.sub(r'\A"?sep=[,;\t]"?[,;\t]*(\r\n|\r|\n)', "", text, flags=re.IGNORECASE)
    heading = re.split(r"[\r\n]", text, maxsplit=1)[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=heading.count), strict=True)
    try:
        found = list(reader)
        if any(len(cell) > LARGEST for cells in found for cell in cells):  # whoever has raised the limit of csv
            raise csv.Error(f"a cell of more than {LARGEST:,} characters")
    except csv.Error as error:
        raise InputError(
            f"The file {path} cannot be read as CSV ({error}, line {reader.line_num}): close its quotation marks, or "
            "shorten what is too long."
        ) from error
    return found


def read(path: str | os.PathLike, what: str, columns: Sequence[str] = ()) -> pd.DataFrame:
    """Return a CSV file as texts, none missing; rows without any are left out.

    `what` it holds, in words such as "captions"; `columns` that it needs, with whatever others it has. Raises what
    `lines` raises, and InputError for a file that is absent, without rows, or lacks a column, for a heading with one
    name twice, and a row with more cells than the heading.
    """
    path = locate(path)
    if not path.is_file():
        raise InputError(f"There is no file of {what} {path}: give the path of a CSV file.")
    heading, *rows = lines(path) or [[]]
    names = [name.strip() for name in heading]
    while names and not names[-1]:
        names.pop()
    lacking = [column for column in columns if column not in names]
    if lacking:
        raise InputError(
            f"The {what} {path} have no column {lacking[0]!r}: expected {', '.join(columns)} in the heading, got "
            f"{', '.join(names) or 'none'}."
        )
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise InputError(f"The {what} {path} have two columns {double!r}: give each another name, or delete one.")
    for place, row in enumerate(rows, 2):
        if any(row[len(names) :]):
            raise InputError(
                f"In {path.name}, row {place} has {len(row)} cells and the heading {len(names)}: put quotation marks "
                "around a text with commas, or give each cell a column."
            )
    width = len(names)
    rows = [[*row, *[""] * (width - len(row))][:width] for row in rows if any(row)]
    if not rows:
        raise InputError(f"The file {path} has no rows below its heading: add {what}.")
    return pd.DataFrame(rows, columns=names, dtype=str)


def check_texts(
    table: pd.DataFrame, columns: Iterable[str], path: str | os.PathLike, filled: bool = False
) -> pd.DataFrame:
    """Return `table`; raise InputError, with the file's name and the row, where a cell of `columns` is no plain text.

    That is a number or nothing, a text that shows nothing or has more than `LONGEST` characters, and one with a
    character that is `STRANGE`; with `filled` also a text without a letter or sign.
    """
    for column in columns:
        for row, text in enumerate(table[column].tolist(), 2):
            if not isinstance(text, str):
                said = f"has {text!r} as its {column}, expected a text: write one, or delete the row"
            elif filled and not text.strip():
                said = f"has no {column}: write one, or delete the row"
            elif text.strip() and not any(letter.isprintable() and not letter.isspace() for letter in text):
                said = f"has a {column} in which nothing is to be seen, {text[:40]!r}: write one, or delete the row"
            elif len(text) > LONGEST:
                said = f"has a {column} of {len(text):,} characters, expected at most {LONGEST:,}: shorten it"
            elif found := STRANGE.search(text):
                code = f"U+{ord(found[0]):04X}"
                name = NAMES.get(found[0]) or f"the character {code} ({unicodedata.name(found[0], 'no letter')})"
                said = f"has {name} in its {column} {text[:40]!r}, which no text on one line has: delete it there"
            else:
                continue
            raise InputError(f"In {Path(path).name}, row {row} {said}.")
    return table


@contextmanager
def named(path: str | os.PathLike) -> Iterator[None]:
    """Put the name of a file before the sentence of an InputError that is raised in the block."""
    try:
        yield
    except InputError as error:
        said = str(error)
        raise InputError(said if said.startswith("In ") else f"In {path}: {said}") from error


def languages_of(table: pd.DataFrame, column: str, path: str | os.PathLike) -> list[str]:
    """Return the study's codes of a column of languages; InputError, with file and row, for one that is unknown."""
    found = []
    for row, code in enumerate(table[column].tolist(), 2):
        try:
            found.append(languages.canonical(code))
        except InputError as error:
            raise InputError(f"In {Path(path).name}, row {row}: {error}") from error
    return found


def numbers(table: pd.DataFrame, column: str, kind: type, path: str | os.PathLike) -> list:
    """Return a column of texts as values of a `kind`: int, float (None for an empty cell), or bool.

    Raises InputError, with the file's name and the row, for a cell that holds another thing or no finite number.
    """
    return [
        _number(text, kind, f"In {Path(path).name}, row {row}", column) for row, text in enumerate(table[column], 2)
    ]


def _number(text: str, kind: type, place: str, column: str) -> int | float | bool | None:
    expected = {int: "a whole number", float: "a finite number, or an empty cell for none", bool: "true or false"}[kind]
    if kind is float and not text.strip():
        return None
    try:
        if kind is bool:
            return TRUTHS[text.strip().lower()]
        value = float(text)
        if math.isfinite(value) and (kind is float or value.is_integer()):
            return kind(value)
    except (ValueError, KeyError):
        pass
    raise InputError(f"{place} has {text[:40]!r} as its {column}, expected {expected}: correct it.")
