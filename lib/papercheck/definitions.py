"""How printed numbers are computed again, and what is wrong with them: the definitions
and errata of the papers.

What is said lies in data, once: `data/definitions/<module>.toml` has a table for each
definition, by its id, with

* `name`: how a scorecard calls it; `text`: one sentence that says what is computed;
* `compute`: the function of the paper's module that computes it, and its `arguments`
  where it has any;
* `needs`: the released sources that do not ship and that the function gets as `folders`
  (name -> path);
* `kind`: one of `KINDS`; `in_part`: models, groups or rows that the sentence of its
  claims includes and it does not, or the unit that it turns.

`data/errata/<module>.toml` has the errata, whose numbers stand in braces and come from
the paper's module. Claims name definitions by their ids.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

FOLDER = Path(__file__).parent / "data" / "definitions"
ERRATA = FOLDER.with_name("errata")
# The modules whose definitions are a paper's; one with its own name unless it is listed
# here.
MODULES = {"geigle2024": ("geigle2024", "geigle2024_training")}
# The version of each paper that was read, and by what it is known.
EDITIONS = tomllib.loads((ERRATA / "editions.toml").read_text("utf-8"))
# A definition computes from other numbers, or reads the same number where it was
# released, or can only refute it: it says what whole cases can give, or what the paper
# prints elsewhere.
KINDS = ("recomputation", "look-up", "test")
COLUMNS = (
    "place",
    "finding",
    "evidence",
    "corrected",
    "later",
    "conclusion",
    "kind",
    "sort",
    "edition",
)


@dataclass(frozen=True)
class Definition:
    """One way to compute printed numbers again.

    `compute` takes the folders of the sources that it `needs` (name -> path) and
    returns a table with the columns cell (as the claims write it), value (in the
    printed unit) and slack: by how much value can be off because what went into it was
    rounded, 0 for full precision. `text` says in one sentence what is computed. `kind`
    and `in_part` as above.
    """

    paper: str
    name: str
    text: str
    compute: Callable[[dict[str, Path]], pd.DataFrame]
    needs: tuple[str, ...] = ()
    kind: str = KINDS[0]
    in_part: tuple[str, ...] = ()


@cache
def entries(module: str) -> dict[str, dict[str, Any]]:
    """Return what `data/definitions` says of a module, by the ids of its definitions;
    nothing where it has no file.
    """
    path = FOLDER / f"{module}.toml"
    return tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}


def names(paper: str) -> dict[str, str]:
    """Return the names of a paper's definitions by their ids.

    >>> names("geigle2024")["lead-low"]
    'mean difference, low group'
    """
    found = {}
    for module in MODULES.get(paper, (paper,)):
        found |= {name: entry["name"] for name, entry in entries(module).items()}
    return found


def of_module(
    paper: str, module: str, functions: Mapping[str, Any]
) -> tuple[Definition, ...]:
    """Return the definitions of a paper's module, in the order of its file;
    `functions`: what they name, by name.
    """
    found = []
    for entry in entries(module).values():
        function, arguments = functions[entry["compute"]], entry.get("arguments", {})
        definition = Definition(
            paper,
            entry["name"],
            entry["text"],
            partial(_compute, function, arguments, "needs" in entry),
            tuple(entry.get("needs", ())),
            entry.get("kind", KINDS[0]),
            tuple(entry.get("in_part", ())),
        )
        found.append(definition)
    return tuple(found)


def _compute(
    function: Callable, arguments: dict, needs_files: bool, folders: dict[str, Path]
) -> pd.DataFrame:
    if needs_files:
        return function(folders, **arguments)
    return function(**arguments)


def cells(
    names: Iterable[str] | Mapping[str, float] | pd.Series,
    values: Iterable[float] | None = None,
    slack: float | Sequence[float] | Mapping[str, float] | pd.Series = 0.0,
) -> pd.DataFrame:
    """Return what a definition computes, as `Definition.compute` has to: one row for
    each of the `names` of cells.

    Without `values` the names are those of a mapping or series, whose values are taken.
    `slack`: one for all, one for each in their order, or, as a mapping or series, by
    their names.

    >>> cells({"low | en": 12.5}).to_numpy().tolist()
    [['low | en', 12.5, 0.0]]
    """
    if values is None:
        names, values = zip(*names.items(), strict=True)
    names = list(names)
    if isinstance(slack, Mapping | pd.Series):
        slack = [slack[name] for name in names]
    return pd.DataFrame(
        {"cell": names, "value": np.asarray(values, float), "slack": slack}
    )


def errata(
    paper: str, module: str, facts: Mapping[str, Mapping[str, Any]]
) -> pd.DataFrame:
    """Return the errata of a paper's module, in the order of its file: paper, the
    columns of `COLUMNS`, and cells.

    `edition` is the version of the paper that was read, and `later` says what another
    one prints, "" where none was compared. `facts`: what stands for the names in
    braces, by the id of the erratum. `cells`: of the claims that it is about, a tuple,
    from the file or where it has none from `facts`; empty where neither has any.
    """
    usual = {
        "kind": "follows",
        "sort": "inconsistency",
        "conclusion": "No.",
        "later": "",
        **EDITIONS[paper],
    }
    listed = tomllib.loads((ERRATA / f"{module}.toml").read_text("utf-8"))
    rows = []
    for name, entry in listed.items():
        facts_of_it = facts.get(name, {})
        cells_of_file = entry.pop("cells", ())
        row = {"paper": paper, "cells": tuple(facts_of_it.get("cells", cells_of_file))}
        for column, text in (usual | entry).items():
            row[column] = text.format(**facts_of_it)
        rows.append(row)
    return pd.DataFrame(rows)[["paper", *COLUMNS, "cells"]]
