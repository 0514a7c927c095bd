"""Every table by its name: those that ship and those that a run has made, and what
their columns mean.

`babelatlas.load`, `describe` and `tables` are the functions of this module. What a
column means, and its unit, is a row of `data/columns.csv`: of one table, or of all that
have the column.
"""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import pandas as pd

from babelatlas.base import languages, published, released
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA, locate, rows
from babelatlas.base.tables import SCHEMAS, made_from, of_run, read
from babelatlas.models import registry


def _real(name: str) -> pd.DataFrame:
    # Imported here, since both import scipy.
    from babelatlas.analysis import real_models, real_run

    return real_models.registry() if name == "real_models" else real_run.read(name)


def _csv(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, keep_default_na=False, na_values={"recomputed": [""]})


def _with_protocol(table: pd.DataFrame) -> pd.DataFrame:
    """Return scores with what `variant` says of the protocol in the columns
    `IN_VARIANT`; empty where it says nothing.
    """
    variant = table["variant"]
    told = {name: variant.str.extract(words)[0] for name, words in IN_VARIANT.items()}
    shots = told["shots"].where(~variant.str.match("zero-shot"), "0")
    return table.assign(
        prompts=told["prompts"].fillna(""),
        n_classes=pd.to_numeric(told["n_classes"]),
        shots=pd.to_numeric(shots),
    )


def _published() -> pd.DataFrame:
    names = sorted(file.stem for file in published.FOLDER.glob("*.csv"))
    return pd.concat([published.read(name) for name in names], ignore_index=True)


def _scorecard() -> pd.DataFrame:
    types = {"recomputed": float, "slack": float, "tried": int}
    return _csv(DATA / "scorecard.csv").astype(types)


def _claims() -> pd.DataFrame:
    files = sorted(published.CLAIMS.glob("*.csv"))
    return pd.concat([_csv(file) for file in files], ignore_index=True)


# Column that a text of `variant` tells -> the words that tell it.
IN_VARIANT = {
    "prompts": "(label|English prompts|translated prompts)",
    "n_classes": r"(\d+) classes",
    "shots": r"few-shot, (\d+)",
}
# Name -> how the table that ships is read.
SHIPPED: dict[str, Callable[[], pd.DataFrame]] = {
    "labels": lambda: read(DATA / "labels.parquet", "labels"),
    "senses": lambda: read(DATA / "senses.parquet", "senses"),
    **{name: partial(_real, name) for name in ("zeroshot", "retrieval", "predictions")},
    "languages": lambda: languages.table().rename(columns={"code": "lang"}),
    "models": registry.table,
    "published": lambda: _with_protocol(_published()),
    "released": lambda: _with_protocol(released.read()),
    "vizwiz_items": released.items,
    "real_models": partial(_real, "real_models"),
    "model_facts": lambda: _csv(released.FOLDER / "model_facts.csv"),
    "checkpoints": released.checkpoints,
    "claims": _claims,
    "scorecard": _scorecard,
    "errata": lambda: _csv(DATA / "errata.csv"),
    "interval_coverage": lambda: pd.read_csv(DATA / "interval_coverage.csv"),
    "glottolog": lambda: languages.world().copy(),
    "synsets": lambda: pd.read_csv(DATA / "synsets.csv"),
    "wikipedias": lambda: pd.read_csv(
        DATA / "wikipedias.csv", dtype={"steps": "Int64"}, keep_default_na=False
    ),
}
# What Arrow and pandas call a type -> what we do.
TYPES = {
    "string": "text",
    "int64": "whole number",
    "Int64": "whole number",
    "double": "number",
    "float64": "number",
    "bool": "true or false",
}


@cache
def meanings() -> dict[tuple[str, str], tuple[str, str]]:
    """Return (table or "", column or "") -> (unit, meaning); column "" is the table
    itself, table "" is any.
    """
    return {
        (row["table"], row["column"]): (row["unit"], row["meaning"])
        for row in rows("columns.csv")
    }


def _made(run: str | Path) -> dict[Path, str]:
    """Return the tables of a run, given by its name or path: file -> the schema that it
    was written with.
    """
    by_name, by_path = locate("results") / run, locate(run)
    expected = by_path if len(Path(run).parts) > 1 else by_name
    places = [by_name, by_path, Path.cwd() / run]
    folder = next(filter(Path.is_dir, places), expected)
    if not folder.is_dir():
        runs = [path.name for path in folder.parent.glob("*") if path.is_dir()]
        hint = (
            near(folder.name, runs) if runs else f"`make book` makes {folder.parent}."
        )
        raise InputError(f"There is no run {str(run)!r} in {folder.parent}: {hint}")
    files = sorted(
        [*of_run(folder, "*/*.parquet"), *of_run(folder, "models/*/*.parquet")]
    )
    return {file: made_from(file).get("table", "") for file in files}


def load(name: str, run: str | Path = "", names: bool = False) -> pd.DataFrame:
    """Return a table by its name: one that ships, or, with a run, what the run has made
    of it.

    `run` is the name of a folder of `results`, or a path. Of a run all files of the
    table come, one below the other, with one more column, `file`: which file a row is
    from. Fractions are from 0 to 1. `names` adds the column `language` next to `lang`,
    and `model_name` to `model`. `tables()` lists the tables, and `describe(name)` says
    what the columns mean. Raises InputError, with the nearest name, for a table or run
    that is not there.
    """
    if run:
        made = _made(run)
        stage = {file for file in made if file.parent.name == name}
        same = [file for file in made if made[file] == name]
        chosen = [file for file in same if file in stage] or stage or same
        if not chosen:
            known = {file.parent.name for file in made} | set(made.values())
            raise InputError(
                f"The run {run} has no table {name!r}: {near(name, known)}"
            )
        table = pd.concat(
            [read(file, made[file]).assign(file=file.stem) for file in sorted(chosen)],
            ignore_index=True,
        )
    elif name in SHIPPED:
        table = SHIPPED[name]()
    else:
        more = (
            f" (a run may have it: load({name!r}, run=...))" if name in SCHEMAS else ""
        )
        raise InputError(f"No table {name!r} ships{more}: {near(name, SHIPPED)}")
    if (
        names and "lang" in table
    ):  # a concept that two languages share has the codes of both
        table = table.assign(
            language=[
                ", ".join(map(languages.name, codes.split())) for codes in table["lang"]
            ]
        )
    if names and "model" in table:
        titles = _real("real_models").set_index("model")["title"]
        table = table.assign(
            model_name=table["model"].map(titles).fillna(table["model"])
        )
    return table


def describe(name: str, run: str | Path = "") -> str:
    """Return what a table holds, as text: one line a column with its type, unit and
    meaning, and the key.

    `run` tells the table of a run from the one that ships, where both have one of this
    name. Raises InputError, with the nearest name, for a table that is not there.
    """
    if name in SCHEMAS and (run or name != "languages"):
        columns, key = SCHEMAS[name]
        kinds = {
            column: TYPES.get(str(kind), "list") for column, kind in columns.items()
        }
        if name in ("published", "released"):
            kinds |= dict(zip(IN_VARIANT, ("text", "number", "number"), strict=True))
    elif name in SHIPPED:
        types = load(name).dtypes
        kinds = {column: TYPES.get(str(kind), "text") for column, kind in types.items()}
        key = []
    else:
        raise InputError(
            f"There is no table {name!r}: {near(name, {*SHIPPED, *SCHEMAS})}"
        )
    lines = [f"{name}: {meanings()[name, ''][1]}"]
    for column, kind in kinds.items():
        unit, meaning = meanings().get(
            (name, column), meanings().get(("", column), ("", ""))
        )
        lines.append(
            f"  {column:<20}{kind + (f' ({unit})' if unit else ''):<34}{meaning}".rstrip()
        )
    return "\n".join([*lines, f"One row for each {', '.join(key)}."] if key else lines)


def tables(run: str | Path = "") -> pd.DataFrame:
    """Return the list of the tables that ship, or that a run has made, one row each:
    name, meaning.
    """
    names = sorted({*_made(run).values()} - {""}) if run else SHIPPED
    return pd.DataFrame(
        [(name, meanings()[name, ""][1]) for name in names], columns=["name", "meaning"]
    )


def overview(run: str | Path = "") -> str:
    """Return `tables` as text, and which others a run makes."""
    lines = [
        f"{name:<18}{meaning}" for name, meaning in tables(run).itertuples(index=False)
    ]
    others = ", ".join(name for name in SCHEMAS if name not in SHIPPED)
    return "\n".join(
        lines if run else [*lines, f"Made by a run (--run RUN): {others}."]
    )
