"""Checks that a table can be analysed: finite numbers, columns that vary, clusters to resample."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from babelatlas.base.errors import InputError

# Resamples or permutations: more fit into no memory.
MOST = 10_000_000


def check_numbers(table: pd.DataFrame, names: Sequence[str], what: str, keys: Sequence[str] = ()) -> None:
    """Raise InputError unless `table` has rows, finite numbers in the columns `names`, no gaps in those of `keys`."""
    missing = [name for name in [*names, *keys] if name not in table]
    if missing:
        raise InputError(
            f"{what} needs the column(s) {', '.join(missing)}; the table has {', '.join(map(str, table))}."
        )
    if table.empty:
        raise InputError(f"{what} needs a table with rows, got an empty one.")
    for name in names:
        try:
            if not is_numeric_dtype(table[name]) and table[name].map(lambda one: isinstance(one, str)).any():
                raise TypeError  # "1" is no count, though it can be taken for one
            values = table[name].to_numpy(float)
        except (TypeError, ValueError) as error:
            raise InputError(f"{what} needs numbers, but column {name!r} holds other things: convert it.") from error
        bad = int((~np.isfinite(values)).sum())
        if bad:
            raise InputError(
                f"{what} needs numbers, but {bad} of {len(table)} in column {name!r} are missing or infinite."
            )
    for name in keys:
        gaps = int(table[name].isna().sum())
        if gaps:
            raise InputError(f"{what} needs a {name} in every row, but {gaps} of {len(table)} rows have none.")


def check_draws(number: int, seed: int, what: str = "resamples") -> None:
    """Raise InputError unless a number of random draws is whole and from 1 to `MOST`, and the seed whole and from 0."""
    if not _whole(number) or not 1 <= number <= MOST:
        raise InputError(f"The number of {what} is a whole one from 1 to {MOST:,}, got {number!r}: give such a number.")
    check_seed(seed)


def check_seed(seed: int) -> None:
    """Raise InputError unless a seed is a whole number from 0."""
    if not _whole(seed) or seed < 0:
        raise InputError(f"A seed is a whole number from 0, got {seed!r}: give such a number.")


def _whole(number: object) -> bool:
    return isinstance(number, int | np.integer) and not isinstance(number, bool)


def check_varying(table: pd.DataFrame, names: Sequence[str], what: str) -> None:
    """Raise InputError where a column has the same number in every row."""
    for name in names:
        if table[name].nunique() < 2:
            raise InputError(f"{what} is not defined: every row has the same {name}, {table[name].iloc[0]}.")


def cluster_index(labels: pd.Series | np.ndarray, what: str) -> tuple[np.ndarray, int]:
    """Return the number of the cluster of each row, and how many there are; raise InputError where that is one."""
    if pd.isna(labels).any():
        raise InputError(f"{what} needs a cluster for every row, but some are missing.")
    names, index = np.unique(np.asarray(labels).astype(str), return_inverse=True)
    if len(names) < 2:
        raise InputError(f"{what} needs at least two clusters to draw from, got only {str(names[0])!r}.")
    return index, len(names)
