"""Checks of the tables that statistics are made of: columns that are there, and numbers
without gaps.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from babelatlas.base.errors import InputError, near


def check_columns(table: pd.DataFrame, **names: str | Sequence[str]) -> None:
    """Raise InputError for a column that `table` lacks; `names`: the argument that
    names it -> one column, or several.

    A default that does not fit is the likeliest fault, as `cluster="lang"` where
    languages stand for their families.

    >>> table = pd.DataFrame({"kin": ["a"], "value": [1.0]})
    >>> check_columns(table, value="value", cluster="lang")  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    babelatlas.base.errors.InputError: The table has no column 'lang' (cluster='lang'):
    expected one of kin, value.
    """
    for argument, columns in names.items():
        for column in [columns] if isinstance(columns, str) else columns:
            if column not in table:
                hint = near(column, table.columns)
                raise InputError(
                    f"The table has no column {column!r} ({argument}={columns!r}):"
                    f" {hint}"
                )


def check_numbers(
    table: pd.DataFrame, names: Sequence[str], keys: Sequence[str] = ()
) -> None:
    """Raise InputError unless `table` has rows, finite numbers in the columns `names`,
    no gaps in those of `keys`.
    """
    gaps = {}
    for column in names:
        gaps[column] = int((~np.isfinite(table[column].to_numpy(float))).sum())
    for column in keys:
        gaps[column] = int(table[column].isna().sum())
    if len(table) and not any(gaps.values()):
        return
    where = ", ".join(
        f"{n_gaps} of {len(table)} in {column!r}"
        for column, n_gaps in gaps.items()
        if n_gaps
    )
    raise InputError(
        "Statistics need a table without missing or infinite values:"
        f" {where or 'it is empty'}."
    )
