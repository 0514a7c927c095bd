"""Every table by its name: those that ship and those that a run has made, and what their columns mean.

`babelatlas.load` and `babelatlas.describe` are the functions of this module. What a column means, and its unit, is a
row of `data/columns.csv`: of one table, or of all that have the column.
"""

import csv
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import pandas as pd

from babelatlas.base import languages, published, released, tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA
from babelatlas.models import registry


def _published() -> pd.DataFrame:
    names = sorted(file.stem for file in (DATA / "published").glob("*.csv"))
    return pd.concat([published.read(name) for name in names], ignore_index=True)


def _real(name: str) -> pd.DataFrame:
    from babelatlas.analysis import real_run  # these import scipy
    from babelatlas.analysis.released import real_models

    return real_models.registry() if name == "real_models" else real_run.read(name)


def _csv(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, keep_default_na=False, na_values={"recomputed": [""]})


# Name -> how the table that ships is read.
SHIPPED: dict[str, Callable[[], pd.DataFrame]] = {
    "labels": lambda: tables.read(DATA / "labels.parquet", "labels"),
    "senses": lambda: tables.read(DATA / "senses.parquet", "senses"),
    **{name: partial(_real, name) for name in ("zeroshot", "retrieval", "predictions")},
    "languages": lambda: languages.table().copy(),
    "models": registry.table,
    "published": _published,
    "released": released.read,
    "vizwiz_items": released.items,
    "real_models": partial(_real, "real_models"),
    "model_facts": lambda: _csv(released.FOLDER / "model_facts.csv"),
    "checkpoints": released.checkpoints,
    "claims": lambda: pd.concat([_csv(file) for file in sorted(published.CLAIMS.glob("*.csv"))], ignore_index=True),
    "scorecard": lambda: _csv(DATA / "scorecard.csv").astype({"recomputed": float, "slack": float, "tried": int}),
    "errata": lambda: _csv(DATA / "errata.csv"),
    "interval_coverage": lambda: pd.read_csv(DATA / "interval_coverage.csv"),
    "glottolog": lambda: languages.world().copy(),
    "synsets": lambda: pd.read_csv(DATA / "synsets.csv"),
    "wikipedias": lambda: pd.read_csv(DATA / "wikipedias.csv", dtype={"steps": "Int64"}, keep_default_na=False),
}
# What Arrow and pandas call a type -> what we do.
TYPES = {"string": "text", "int64": "whole number", "double": "number", "float64": "number", "bool": "true or false"}


@cache
def meanings() -> dict[tuple[str, str], tuple[str, str]]:
    """Return (table or "", column or "") -> (unit, meaning); column "" is the table itself, table "" is any."""
    with open(DATA / "columns.csv", encoding="utf-8", newline="") as file:
        return {(row["table"], row["column"]): (row["unit"], row["meaning"]) for row in csv.DictReader(file)}


def _made(run: str) -> dict[Path, str]:
    """Return the tables of a run: file -> the schema that it was written with."""
    folder = tables.locate(run) if "/" in run else tables.locate("results") / run
    if not folder.is_dir():
        runs = [path.name for path in folder.parent.glob("*") if path.is_dir()]
        hint = near(run, runs) if runs else f"`make book` makes {folder.parent}."
        raise InputError(f"There is no run {run!r} in {folder.parent}: {hint}")
    files = sorted([*folder.glob("*/*.parquet"), *folder.glob("models/*/*.parquet")])
    return {file: tables.made_from(file).get("table", "") for file in files}


def load(name: str, run: str = "") -> pd.DataFrame:
    """Return a table by its name: one that ships, or, with the name of a run, what the run has made of it.

    `run` is a folder of `results`, or its path. Of a run all files of the table come, one below the other, with one
    more column, `file`: which file a row is from. Fractions are from 0 to 1. `describe(name)` says what the columns
    mean, as does `babelatlas tables NAME`. Raises InputError, with the nearest name, for a table or run that is not
    there.
    """
    if not run:
        if name not in SHIPPED:
            more = f" (a run may have it: load({name!r}, run=...))" if name in tables.SCHEMAS else ""
            raise InputError(f"No table {name!r} ships{more}: {near(name, SHIPPED)}")
        return SHIPPED[name]()
    made = _made(run)
    stage = {file for file in made if file.parent.name == name}
    chosen = [file for file in stage if made[file] == name] or stage or [file for file in made if made[file] == name]
    if not chosen:
        known = {file.parent.name for file in made} | set(made.values())
        raise InputError(f"The run {run} has no table {name!r}: {near(name, known)}")
    parts = [tables.read(file, made[file]).assign(file=file.stem) for file in sorted(chosen)]
    return pd.concat(parts, ignore_index=True)


def describe(name: str, run: str = "") -> str:
    """Return what a table holds, as text: one line a column with its type, unit and meaning, and the key.

    `run` tells the table of a run from the one that ships, where both have one of this name. Raises InputError, with
    the nearest name, for a table that is not there.
    """
    if name in tables.SCHEMAS and (run or name != "languages"):
        columns, key = tables.SCHEMAS[name]
        kinds = {column: TYPES.get(str(kind), "list") for column, kind in columns.items()}
    elif name in SHIPPED:
        rows, key = load(name), []
        kinds = {column: TYPES.get(str(kind), "text") for column, kind in rows.dtypes.items()}
    else:
        raise InputError(f"There is no table {name!r}: {near(name, {*SHIPPED, *tables.SCHEMAS})}")
    lines = [f"{name}: {meanings()[name, ''][1]}"]
    for column, kind in kinds.items():
        unit, meaning = meanings().get((name, column), meanings().get(("", column), ("", "")))
        lines.append(f"  {column:<20}{kind + (f' ({unit})' if unit else ''):<34}{meaning}".rstrip())
    return "\n".join([*lines, f"One row for each {', '.join(key)}."] if key else lines)


def overview(run: str = "") -> str:
    """Return the list of the tables that ship, or that a run has made, as text."""
    names = sorted({*_made(run).values()} - {""}) if run else [*SHIPPED]
    lines = [f"{name:<18}{meanings()[name, ''][1]}" for name in names]
    others = ", ".join(name for name in tables.SCHEMAS if name not in SHIPPED)
    return "\n".join(lines if run else [*lines, f"Made by a run (--run RUN): {others}."])


load.__doc__ += "\n    Tables and columns:\n\n" + "\n\n".join(
    describe(name) for name in dict.fromkeys(["labels", "senses", "published", *tables.SCHEMAS]) if name != "languages"
)
