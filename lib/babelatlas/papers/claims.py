"""The numbers that the papers print, one row each, and how each is said to have been computed.

The rows lie in `data/claims`, in CSV files with the columns below; facts read from the papers, each with its place.

* `paper`: citation key. `place`: "Table 2", "Figure 3", "Section 4". `cell`: the row and column as printed, joined by
  " | ". These three name a claim, once.
* `block`: the claims of one place that one definition has to explain together (the cells of a table, its averages).
* `printed`: the number as printed, without its unit: "12.67", "1'452", "-38.9", "+14.4". Its decimals decide how
  exactly it must be met. `relation`: "=", or "<", ">", "≤", "≥" where the paper says "over 2 points".
* `unit`: "%", "points", "count", "correlation" ... as words for the reader; `scorecard` compares numbers as printed,
  so that a definition returns percent where the paper prints percent.
* `definitions`: ids of definitions (`data/definitions`), separated by ";": first the one that the paper states, nothing
  before the first ";" where it is silent, then others that a reader could try. Empty where nothing that is known allows
  to compute the number; `note` then says what is missing. `read` puts their names in place of the ids.
* `note`: what else a reader must know, such as a misprinted code.
"""

import os
from collections.abc import Collection
from functools import cache
from pathlib import Path

import pandas as pd

from babelatlas.base import own_tables, published, tables
from babelatlas.base.errors import InputError, near
from babelatlas.papers import definitions

COLUMNS = ("paper", "place", "cell", "block", "relation", "printed", "unit", "definitions", "note")
KEY = ["paper", "place", "cell"]
RELATIONS = ("=", "<", ">", "≤", "≥")
value = published.number


def read(paths: str | os.PathLike | list[str | os.PathLike] = "") -> pd.DataFrame:
    """Return the claims of the given CSV files, of those that ship unless given, all as text, in the files' order.

    Raises InputError, which names the file and the row, for a file that is absent or no such table, a claim given
    twice, an empty key, a printed value that is no number, an unknown relation, a claim without definition and note, or
    a block whose claims name different definitions.
    """
    paths = paths or sorted(published.CLAIMS.glob("*.csv"))
    paths = paths if isinstance(paths, list) else [paths]
    table = pd.concat([_file(tables.locate(path)) for path in paths], ignore_index=True)
    double = table.duplicated(KEY)
    if double.any():
        row = table[double].iloc[0]
        raise InputError(
            f"The claim {_name(row)} is given twice ({row.line}): keep one row for each paper, place and cell."
        )
    several = table.groupby(["paper", "place", "block"])["definitions"].transform("nunique") > 1
    if several.any():
        row = table[several].iloc[0]
        raise InputError(
            f"The claims of {row.paper}, {row.place}, block {row.block!r} name different definitions ({row.line}): one "
            "block is explained by one definition; make two blocks of it."
        )
    return table.drop(columns="line")


def printed(paper: str, place: str) -> pd.Series:
    """Return what a paper prints in a place, indexed by cell, as numbers; of the claims that ship in its file."""
    table = _shipped(paper)
    return table.loc[table["place"] == place].set_index("cell")["printed"].map(value)


@cache
def _shipped(paper: str) -> pd.DataFrame:
    return read(published.CLAIMS / f"{paper}.csv")


@cache
def _named(paper: str, ids: str) -> str:
    """Return the names of definitions for their ids, with the same separators; what is no id stays."""
    known = definitions.names(paper)
    return "; ".join(known.get(part, part) for part in map(str.strip, ids.split(";")))


def _file(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise InputError(f"There is no table of claims {path}: give a CSV file with the columns {', '.join(COLUMNS)}.")
    table = own_tables.read(path, "claims")
    if list(table) != list(COLUMNS):
        raise InputError(
            f"The table of claims {path} should have the columns {', '.join(COLUMNS)}, got {', '.join(table)}."
        )
    own_tables.check_texts(table, COLUMNS, path)
    table["definitions"] = [_named(*ids) for ids in zip(table["paper"], table["definitions"], strict=True)]
    table["line"] = [f"{path.name}, line {number + 2}" for number in range(len(table))]
    for row in table.itertuples():
        where = f"{row.line}, {_name(row)}"
        if not (row.paper and row.place and row.cell and row.block):
            raise InputError(f"A claim needs a paper, a place, a cell and a block, and lacks one: {where}.")
        if row.relation not in RELATIONS:
            raise InputError(f"The relation {row.relation!r} is not one of {' '.join(RELATIONS)}: {where}.")
        try:
            value(row.printed)
        except InputError as error:
            raise InputError(f"{str(error).rstrip('.')} ({where}).") from None
        if not names(row.definitions) and not row.note:
            raise InputError(f"A claim without a definition needs a note that says what is missing: {where}.")
    return table


def _name(row) -> str:
    return f"{row.paper}, {row.place}, {row.cell}"


def names(definitions: str) -> list[str]:
    """Return the names of the definitions in a cell, the stated one first.

    >>> names("mean; mean with English"), names("; Pearson; Spearman")
    (['mean', 'mean with English'], ['Pearson', 'Spearman'])
    """
    return [name.strip() for name in definitions.split(";") if name.strip()]


def stated(definitions: str) -> str:
    """Return the name of the definition that the paper states, "" where it is silent.

    >>> stated("mean; mean with English"), stated("; Pearson; Spearman")
    ('mean', '')
    """
    return definitions.split(";")[0].strip()


def check_definitions(table: pd.DataFrame, known: Collection[tuple[str, str]]) -> None:
    """Raise InputError where a claim names a definition that its paper has not; `known`: pairs of paper and name."""
    for row in table.itertuples():
        for name in names(row.definitions):
            if (row.paper, name) not in known:
                ids = definitions.names(row.paper)
                hint = near(name, [*(other for paper, other in known if paper == row.paper), *ids])
                raise InputError(f"The claim {_name(row)} names an unknown definition {name!r}: {hint}")
