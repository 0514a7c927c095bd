"""Evaluations of the first images, queries or items alone, to try a model: which these are, and the mark of them.

What a run with the parameter `limit` writes is marked "partial" (`tables.write`), as is every table made from it;
`tables.read` refuses such a table.
"""

from collections.abc import Sequence

import pandas as pd

MARK = "partial"


def first(table: pd.DataFrame, limit: int | str, of: str, within: Sequence[str] = ()) -> pd.DataFrame:
    """Return the rows of the first `limit` different values of column `of`, in each group by the columns `within`.

    "" keeps the table as it is. The order of rows and the table's `attrs` stay.

    >>> rows = pd.DataFrame({"wnid": ["a", "b", "a", "a"], "path": ["1.png", "2.png", "3.png", "4.png"]})
    >>> first(rows, 2, of="path", within=["wnid"])["path"].tolist()
    ['1.png', '2.png', '3.png']
    """
    if limit == "":
        return table
    distinct = table[[*within, of]].drop_duplicates()
    distinct = distinct.groupby(list(within), sort=False).head(limit) if within else distinct.head(limit)
    kept = pd.MultiIndex.from_frame(table[[*within, of]]).isin(pd.MultiIndex.from_frame(distinct))
    return table[kept].reset_index(drop=True)


def mark(limit: int | str, notebook: str) -> dict:
    """Return what the parameters of a table say of a limit, which `tables.write` makes a mark of; {} without one."""
    return {} if limit == "" else {"limit": limit, MARK: f"{notebook} with limit = {limit}"}


def caution(limit: int | str) -> str:
    """Return the line of a page that says what a limit is; "" without one."""
    if limit == "":
        return ""
    return f"**Partial**: the first {limit} only (`limit`), to try the model; rankings refuse these tables"
