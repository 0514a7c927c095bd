"""Tables that a user wrote: CSV and TSV as spreadsheets and programs save them, as
texts.

UTF-8 or UTF-16; commas, semicolons or tabs between cells. Lines are numbered as editors
number them: the heading is line 1 where nothing stands above it, and blank lines count.
"""

import csv
import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from babelatlas.base import languages
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import locate

# What no word, caption or template has: control characters, ends of lines and
# paragraphs, and what reverses or nests the direction of a text, so that it reads as
# another than it is. The marks and joiners that scripts need are none.
STRANGE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
SUFFIXES = (".csv", ".tsv")
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
# A row of a file: the number of its first line, and its cells.
Row = tuple[int, list[str]]


def read(
    path: str | os.PathLike, what: str, columns: Sequence[str] = ()
) -> pd.DataFrame:
    """Return a CSV or TSV file as texts, none missing; rows without any are left out.

    `what` it holds, in words such as "captions"; `columns` that it needs, with whatever
    others it has. The table's `attrs["lines"]` are the numbers of its rows' lines, for
    `place`. Raises InputError for a file that is absent, in no Unicode, not CSV or
    without rows, a column that is not there, with the nearest name, one that is there
    twice, and, with its line, a row with more or fewer cells than the heading.
    """
    path = locate(path)
    text = read_text(path, "a CSV file, saved as 'CSV UTF-8'")
    separator = _separator(text, path)
    rows = _tabbed(text, path) if separator == "\t" else _quoted(text, separator, path)
    names = [name.strip() for name in rows[0][1]] if rows else []
    for column in columns:
        if column not in names:
            raise InputError(
                f"The {what} in {path} have no column {column!r}: {near(column, names)}"
            )
    if len(set(names)) < len(names):
        raise InputError(
            f"The {what} in {path} have two columns of one name: {', '.join(names)}."
        )

    for line, cells in rows[1:]:
        if len(cells) != len(names):
            sizes = (
                f"should have {len(names)} cells, as the heading, and has {len(cells)}"
            )
            fix = (
                f"put {SEPARATORS[separator]} only between cells, and a text that has"
                " one in quotation marks"
            )
            raise InputError(f"In {path}, line {line} {sizes}: {fix}.")
    if not rows[1:]:
        raise InputError(f"The file {path} has no rows below its heading: add {what}.")
    table = pd.DataFrame([cells for _, cells in rows[1:]], columns=names, dtype=str)
    table.attrs["lines"] = [line for line, _ in rows[1:]]
    return table


def read_text(path: Path, wanted: str) -> str:
    """Return a text file, in UTF-8 or UTF-16, with or without a byte order mark;
    InputError says what was `wanted`.
    """
    try:
        content = path.read_bytes()
        return content.decode(_encoding(content))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"The file {path} cannot be read ({error}): give {wanted}."
        ) from error


def _encoding(content: bytes) -> str:
    """Return what a text is encoded in: in UTF-16 one of the first two bytes is a
    mark's, or the half of a letter.
    """
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    if content[1:2] == b"\0":
        return "utf-16-le"
    return "utf-16-be" if content[:1] == b"\0" else "utf-8-sig"


def _lines(text: str) -> list[str]:
    """Return the lines of a text; other than by `str.splitlines` only line feeds and
    carriage returns end one.
    """
    return re.split("\r\n|\r|\n", text)


def _separator(text: str, path: Path) -> str:
    """Return what separates the cells of a table: the heading has a tab only where tabs
    do.
    """
    heading = next((line for line in _lines(text) if line.strip()), "")
    if "\t" in heading or (
        path.suffix.lower() == ".tsv" and not re.search("[,;]", heading)
    ):
        return "\t"
    return max(",;", key=heading.count)


def _quoted(text: str, separator: str, path: Path) -> list[Row]:
    """Return the rows of a table in which quotation marks hold texts with separators,
    or of several lines.
    """
    lines = [f"{line}\n" for line in _lines(text)]
    reader = csv.reader(lines, delimiter=separator, strict=True)
    rows = []
    while True:
        start = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return rows
        except csv.Error as error:
            fix = 'write a quotation mark inside of quoted text twice, as ""'
            raise InputError(
                f"In {path}, the row of line {start} cannot be read ({error}): {fix}."
            ) from error
        if any(cell.strip() for cell in cells):
            rows.append((start, cells))


def _tabbed(text: str, path: Path) -> list[Row]:
    """Return the rows of a table with tabs, in which a quotation mark may be text.

    Where every line has as many tabs as the heading, a line is a row, and quotation
    marks are text unless they are balanced in every line. Otherwise marks may hold
    texts of several lines, if the whole file is well formed so.
    """
    lines = [
        (number, line) for number, line in enumerate(_lines(text), 1) if line.strip()
    ]
    plain = [(number, line.split("\t")) for number, line in lines]
    widths = {len(cells) for _, cells in plain}
    try:
        if len(widths) == 1:
            quoted = [
                (number, cells)
                for number, line in lines
                for _, cells in _quoted(line, "\t", path)
            ]
        else:
            quoted = _quoted(text, "\t", path)
    except InputError:
        return plain
    expected = widths if len(widths) == 1 else {len(cells) for _, cells in quoted[:1]}
    return quoted if {len(cells) for _, cells in quoted} == expected else plain


def place(table: pd.DataFrame | pd.Series, position: int) -> str:
    """Return where a row of a table, or of a column of it, stands.

    "line 7" of the file that `read` read it from, "row 6" of other tables.
    """
    lines = table.attrs.get("lines", [])
    return (
        f"line {lines[position]}" if len(lines) == len(table) else f"row {position + 1}"
    )


def check_texts(
    table: pd.DataFrame,
    columns: Iterable[str],
    path: str | os.PathLike,
    filled: bool = False,
) -> pd.DataFrame:
    """Return `table`; InputError for a cell of `columns` that is no text on one line,
    or with `filled` an empty one.
    """
    for column in columns:
        for row, text in enumerate(table[column].tolist()):
            if (
                not isinstance(text, str)
                or STRANGE.search(text)
                or (filled and not text.strip())
            ):
                where = f"In {Path(path).name}, {place(table, row)}"
                raise InputError(
                    f"{where} has {text!r} as its {column}: write a text on one line."
                )
    return table


def languages_of(
    table: pd.DataFrame, column: str, path: str | os.PathLike
) -> list[str]:
    """Return the study's codes of a column of languages; InputError, with file and
    line, for one that is unknown.
    """
    codes = []
    for row, code in enumerate(table[column]):
        try:
            codes.append(languages.canonical(code))
        except InputError as error:
            raise InputError(f"In {path}, {place(table, row)}: {error}") from error
    return codes


def check_scripts(
    codes: Iterable[str], texts: Iterable[str], path: str | os.PathLike
) -> None:
    """Raise InputError where the texts of a language are in a script in which it is not
    written.

    `codes` and `texts`: language and text of each row. What `languages.doubt` only
    doubts is printed: Latin letters in another language's texts, and a code that is a
    country's, too.
    """
    table = pd.DataFrame({"code": list(codes), "text": list(texts)})
    for code, rows in table.groupby("code", sort=False)["text"]:
        wrong, doubt = languages.doubt(code, rows)
        if wrong:
            raise InputError(f"In {Path(path).name}, {wrong}")
        if doubt:
            print(f"In {Path(path).name}, {doubt}", file=sys.stderr)
