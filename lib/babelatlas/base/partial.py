"""Evaluations of the first images, queries or items alone: which these are, and the mark of what is made from them.

The parameter `limit` of the stages of evaluation tries a model before its whole run. What such a run writes is marked
"partial" (`tables.write`), as is every table made from it, and `tables.read` refuses it unless it is asked for one.
"""

import os
from collections.abc import Sequence

import pandas as pd

from babelatlas.base.errors import InputError
from babelatlas.base.paths import locate

MARK = "partial"


def check(limit: int | str) -> None:
    """Raise InputError where `limit` is neither a whole number from 1 nor "" for all."""
    if limit != "" and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise InputError(
            f"A limit is how many images of a class, queries or items are evaluated, got {limit!r}: give a whole "
            "number from 1, or leave it out for all."
        )


def first(table: pd.DataFrame, limit: int | str, of: str, within: Sequence[str] = ()) -> pd.DataFrame:
    """Return the rows of the first `limit` different values of column `of`, in each group by the columns `within`.

    "" keeps the table as it is. The order of rows and the table's `attrs` stay. Raises InputError for another limit.

    >>> rows = pd.DataFrame({"wnid": ["a", "b", "a", "a"], "path": ["1.png", "2.png", "3.png", "4.png"]})
    >>> first(rows, 2, of="path", within=["wnid"])["path"].tolist()
    ['1.png', '2.png', '3.png']
    """
    check(limit)
    if limit == "":
        return table
    distinct = table[[*within, of]].drop_duplicates()
    distinct = distinct.groupby(list(within), sort=False).head(limit) if within else distinct.head(limit)
    kept = pd.MultiIndex.from_frame(table[[*within, of]]).isin(pd.MultiIndex.from_frame(distinct))
    found = table[kept].reset_index(drop=True)
    found.attrs.update(table.attrs)
    return found


def mark(limit: int | str, notebook: str) -> dict:
    """Return what the parameters of a table say of a limit, which `tables.write` makes a mark of; {} without one."""
    check(limit)
    return {} if limit == "" else {"limit": limit, MARK: f"{notebook} with limit = {limit}"}


def caution(limit: int | str) -> str:
    """Return the line of a page that says what a limit is; "" without one."""
    if limit == "":
        return ""
    return f"**Partial**: the first {limit} only (`limit`), to try the model; rankings refuse these tables"


def of_vectors(path: str | os.PathLike) -> str:
    """Return the mark in a file of vectors (`zeroshot.write_vectors`); "" for a whole or a damaged one."""
    import numpy as np

    try:
        with locate(path).open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return str(stored[MARK]) if MARK in stored.files else ""
    except Exception:  # NumPy, zipfile and zlib each raise their own; told where the vectors are read
        return ""
