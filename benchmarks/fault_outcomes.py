"""The outcomes of faults: the table that `benchmarks/faults.py` makes and that ships,
and what is read from it.
"""

import os
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from babelatlas.base.errors import InputError
from babelatlas.base.paths import beside
from babelatlas.stats import proportions

RESULTS = Path(__file__).parent / "measured"
OUTPUT = RESULTS / "faults.csv"
ANY = "any"  # the kind of job where all are counted together
# The outcomes of a try: the same bytes in the end; a refusal in one sentence, and the
# same bytes when called again; the same bytes too, but an error that no sentence
# explains; something lost or wrong; not tried, for a reason.
OUTCOMES = ["recovered", "refused", "unclear", "lost", "skipped"]
COLUMNS = ["fault", "kind", "tries", *OUTCOMES, "note"]
KILLS = ["whole run killed", "one job killed"]


def count(kills: list[dict], cases: list[dict]) -> pd.DataFrame:
    """Return how often each fault had which outcome; columns `COLUMNS`.

    `kills`: `fault`, `kinds` of the jobs at work, `outcome`, `note`; one that hit jobs
    of two kinds counts in the rows of both, and once in the row of kind "any". `cases`:
    `fault`, `kind`, `outcome`, `note`.
    """
    rows = [
        kill | {"kind": kind} for kill in kills for kind in [ANY, *kill["kinds"]]
    ] + cases
    found = pd.DataFrame(rows, columns=["fault", "kind", "outcome", "note"])
    counted = []
    for (fault, kind), part in found.groupby(["fault", "kind"], sort=False):
        outcomes = part["outcome"].value_counts().reindex(OUTCOMES, fill_value=0)
        notes = "; ".join(
            dict.fromkeys(
                part.loc[part["outcome"].isin(["unclear", "lost", "skipped"]), "note"]
            )
        )
        counted.append(
            [fault, kind, len(part) - outcomes["skipped"], *outcomes, notes[:300]]
        )
    table = pd.DataFrame(counted, columns=COLUMNS)
    place = {
        fault: number
        for number, fault in enumerate(dict.fromkeys([*KILLS, *table["fault"]]))
    }
    order = {
        kind: number
        for number, kind in enumerate(dict.fromkeys([ANY, *sorted(table["kind"])]))
    }
    keys = {"fault": place, "kind": order}
    return table.sort_values(
        ["fault", "kind"], key=lambda column: column.map(keys[column.name])
    ).reset_index(drop=True)


def read(path: str | os.PathLike = OUTPUT) -> pd.DataFrame:
    """Return the table that a campaign wrote; raises InputError where there is none or
    it is another table.
    """
    try:
        table = pd.read_csv(path, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"The outcomes of faults {path} cannot be read ({error}): make them with"
            " `make faults`."
        ) from error
    if list(table.columns) != COLUMNS:
        raise InputError(
            f"The outcomes of faults {path} have other columns than"
            f" {', '.join(COLUMNS)}: run `make faults`."
        )
    return table


def write(table: pd.DataFrame, path: str | os.PathLike) -> None:
    """Write outcomes as CSV, whole or not at all."""
    try:
        with beside(Path(path).absolute()) as part:
            table.to_csv(part, index=False, lineterminator="\n")
    except OSError as error:
        raise InputError(
            f"The outcomes cannot be written to {path} ({error}): give another"
            " --output."
        ) from error


def totals(table: pd.DataFrame, faults: Iterable[str]) -> tuple[int, int]:
    """Return how often some faults were tried, and how many of these tries lost
    something; each try counts once.
    """
    rows = table[table["fault"].isin([*faults])]
    single = ~rows["fault"].isin(KILLS) | (rows["kind"] == ANY)
    return int(rows.loc[single, "tries"].sum()), int(rows.loc[single, "lost"].sum())


def upper_bound(lost: int, tries: int) -> float:
    """Return the one-sided 95 % bound on the share of tries that lose something
    (Clopper & Pearson 1934).

    >>> round(upper_bound(0, 200), 4)
    0.0149
    """
    return float(proportions.exact_interval(lost, tries, level=0.9)[1])
