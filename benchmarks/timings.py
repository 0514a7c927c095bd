"""The measurements of the engine: the table that `benchmark` makes and that ships, and
what is read from it.
"""

import os
from pathlib import Path

import pandas as pd
from pandas.api.types import is_numeric_dtype

from babelatlas.base.errors import InputError
from babelatlas.base.paths import beside

RESULTS = Path(__file__).parent / "measured"
OUTPUT = RESULTS / "benchmark.csv"
CONTESTANTS = ("ours", "clip-benchmark", "paper")
PARTS = ("load", "images", "texts", "scores")
# What chapters take at full size (benchmarks/load.py): a row for each size, part of it
# and chapter.
LOAD = RESULTS / "load.csv"
LOAD_COLUMNS = [
    "size",
    "part",
    "chapter",
    "rows",
    "seconds",
    "processor",
    "peak",
    "exponent",
    "outcome",
]
COLUMNS = [
    "measure",
    "contestant",
    "part",
    "languages",
    "repeat",
    "value",
    "unit",
    "how",
    "note",
]


def read(path: str | os.PathLike = OUTPUT) -> pd.DataFrame:
    """Return the table that a run wrote; raises InputError where there is none or it is
    another table.
    """
    try:
        table = pd.read_csv(path, keep_default_na=False, na_values={"value": [""]})
    except (OSError, ValueError) as error:
        raise InputError(
            f"The measurements {path} cannot be read ({error}): make them with `make"
            " bench`."
        ) from error
    if list(table.columns) != COLUMNS or table.empty:
        raise InputError(
            f"The measurements {path} have no rows, or other columns than"
            f" {', '.join(COLUMNS)}: run `make bench`."
        )
    if no_numbers := [
        name
        for name in ("languages", "repeat", "value")
        if not is_numeric_dtype(table[name])
    ]:
        raise InputError(
            f"The measurements {path} have a {no_numbers[0]} that is no number: correct"
            " it there."
        )
    return table


def write(rows: list, path: str | os.PathLike) -> None:
    """Write the rows of a run as CSV, whole or not at all."""
    table = pd.DataFrame(rows, columns=COLUMNS)
    try:
        with beside(Path(path).absolute()) as part:
            table.to_csv(part, index=False, lineterminator="\n", float_format="%.6g")
    except OSError as error:
        raise InputError(
            f"The measurements cannot be written to {path} ({error}): give another"
            " --output."
        ) from error


def totals(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the seconds of each whole run: contestant, languages, repeat, value."""
    runs = rows[rows["measure"] == "end to end"]
    return (
        runs.groupby(["contestant", "languages", "repeat"], sort=False)["value"]
        .sum()
        .reset_index()
    )


def ratios(
    table: pd.DataFrame, measure: str, part: str = "", languages: int = 0
) -> pd.DataFrame:
    """Return how many times as long as ours the others take, repeat by repeat:
    contestant, value, low, high, n.

    `measure`: "end to end", "real images" or "synthetic images", or one of the
    projected ones; `part`: one of `PARTS`, or "" for the whole; `languages`: a number
    of languages, or 0 for all runs. `value` is the ratio of the sums, low and high are
    the least and the greatest of single repeats: with so few, an interval would claim
    too much.
    """
    rows = table[
        (table["measure"] == measure) & table["part"].isin([part] if part else PARTS)
    ]
    rows = rows[(rows["languages"] == languages) | (languages == 0)]
    sums = (
        rows.groupby(["contestant", "languages", "repeat"])["value"]
        .sum()
        .unstack("contestant")
    )
    found = []
    for name in [name for name in CONTESTANTS[1:] if name in sums]:
        each = sums[name] / sums["ours"]
        found.append(
            (
                name,
                sums[name].sum() / sums["ours"].sum(),
                each.min(),
                each.max(),
                len(each),
            )
        )
    return pd.DataFrame(found, columns=["contestant", "value", "low", "high", "n"])


def report(table: pd.DataFrame) -> str:
    """Return the outcome of a run in a few lines."""
    lines = []
    for title, measure, part in (
        ("Texts alone (measured)", "end to end", "texts"),
        ("End to end, the measured runs", "end to end", ""),
        ("End to end, 93 languages (fitted)", "93 languages", ""),
        (
            "End to end, 93 languages, labels alone (fitted)",
            "93 languages, labels alone",
            "",
        ),
    ):
        for row in ratios(table, measure, part).itertuples():
            spread = f"{row.low:.1f} to {row.high:.1f}"
            lines.append(
                f"{title}: {row.contestant} takes {row.value:.1f} times as long as ours"
                f" ({spread})."
            )
    return "\n".join(lines)


def read_load(path: str | os.PathLike = LOAD) -> pd.DataFrame:
    """Return what chapters took at full size, the columns `LOAD_COLUMNS`; raises
    InputError for another table.
    """
    try:
        return pd.read_csv(path, keep_default_na=False, na_values={"exponent": [""]})[
            LOAD_COLUMNS
        ]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(
            f"The table {path} cannot be read ({error}): make it with"
            " benchmarks/load.py."
        ) from error
