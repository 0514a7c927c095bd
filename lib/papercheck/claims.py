"""The numbers that the papers print, one row each, and how each is said to have been
computed.

The rows lie in `data/claims` of babelatlas, in CSV files with the columns below; facts
read from the papers, each with its place.

* `paper`: citation key. `place`: "Table 2", "Figure 3", "Section 4". `cell`: the row
  and column as printed, joined by " | ". These three name a claim, once.
* `block`: the claims of one place that one definition has to explain together (the
  cells of a table, its averages).
* `printed`: the number as printed, without its unit: "12.67", "1'452", "-38.9",
  "+14.4". Its decimals decide how exactly it must be met. `relation`: "=", or "<", ">",
  "≤", "≥" where the paper says "over 2 points".
* `unit`: "%", "points", "count", "correlation" ... as words for the reader; `scorecard`
  compares numbers as printed, so that a definition returns percent where the paper
  prints percent.
* `definitions`: ids of definitions (`data/definitions` here), separated by ";": first
  the one that the paper states, nothing before the first ";" where it is silent, then
  others that a reader could try. Empty where nothing known allows to compute the
  number; `note` then says what is missing. `read` puts their names in place of the ids.
* `note`: what else a reader must know, such as a misprinted code.
"""

from functools import cache

import pandas as pd

from babelatlas.base import published
from papercheck import definitions

KEY = ["paper", "place", "cell"]
value = published.number


def read(*names: str) -> pd.DataFrame:
    """Return the claims, of the files so named or of all, as text, in the order of
    their files.
    """
    files = [published.CLAIMS / f"{name}.csv" for name in names]
    files = files or sorted(published.CLAIMS.glob("*.csv"))
    parts = [pd.read_csv(file, dtype=str, keep_default_na=False) for file in files]
    table = pd.concat(parts, ignore_index=True)
    pairs = zip(table["paper"], table["definitions"], strict=True)
    return table.assign(definitions=[_named(paper, ids) for paper, ids in pairs])


def printed(paper: str, place: str) -> pd.Series:
    """Return what a paper prints in a place, indexed by cell, as numbers."""
    table = _shipped(paper)
    return table.loc[table["place"] == place].set_index("cell")["printed"].map(value)


@cache
def _shipped(paper: str) -> pd.DataFrame:
    return read(paper)


@cache
def _named(paper: str, ids: str) -> str:
    """Return the names of definitions for their ids, with the same separators."""
    name_of = definitions.names(paper) | {"": ""}
    return "; ".join(name_of[part.strip()] for part in ids.split(";"))


def names(definitions: str) -> list[str]:
    """Return the names of the definitions in a cell, the one that the paper states
    first.

    >>> names("mean; mean with English"), names("; Pearson; Spearman")
    (['mean', 'mean with English'], ['Pearson', 'Spearman'])
    """
    return [name.strip() for name in definitions.split(";") if name.strip()]


def as_stated(definitions: str) -> str:
    """Return the name of the definition that the paper states, "" where it is silent.

    >>> as_stated("mean; mean with English"), as_stated("; Pearson; Spearman")
    ('mean', '')
    """
    return definitions.split(";")[0].strip()
