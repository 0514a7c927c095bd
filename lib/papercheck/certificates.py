"""Certificates of runs as text and as files."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import beside, locate
from babelatlas.report.formatting import counted
from papercheck import geigle2024_run

MOST_ROWS = 20  # of the largest differences
ENDINGS = (".csv", ".parquet")


def text(cells: pd.DataFrame) -> str:
    """Return a certificate in short: a verdict, counts by table and by model, and the
    largest differences.
    """
    parts = [verdict(cells)]
    for by in ("table", "model"):
        parts.append(geigle2024_run.counts(cells, by).to_string())
    differing = largest(cells)
    if len(differing):
        columns = ["table", "model", "lang", "group", "printed", "value"]
        columns += ["difference", "tolerance", "reason"]
        parts.append(differing[columns].round(4).to_string(index=False))
    return "\n\n".join(parts)


def verdict(cells: pd.DataFrame) -> str:
    """Return in a sentence how many cells of a certificate agree and how many differ.

    >>> rows = {"verdict": ["agrees", "differs", "missing"], "reason": ["", "", ""]}
    >>> verdict(pd.DataFrame(rows))
    '1 of 2 cells agrees (0 to the printed digits), 1 differs; 1 is missing.'
    """
    sizes = cells["verdict"].value_counts()
    n_agree, n_differ, n_missing = (
        int(sizes.get(name, 0)) for name in geigle2024_run.VERDICTS
    )
    n_equal = int((cells["reason"] == geigle2024_run.BY_DIGITS).sum())
    compared = counted(n_agree + n_differ, "cell")
    agree = "agrees" if 1 in (n_agree, n_agree + n_differ) else "agree"
    differ = "differs" if n_differ == 1 else "differ"
    are = "is" if n_missing == 1 else "are"
    return (
        f"{n_agree:,} of {compared} {agree} ({n_equal:,} to the printed digits),"
        f" {n_differ:,} {differ}; {n_missing:,} {are} missing."
    )


def largest(cells: pd.DataFrame, most: int = MOST_ROWS) -> pd.DataFrame:
    """Return the cells that differ, the largest difference first, at most so many."""
    differing = cells[cells["verdict"] == "differs"]
    order = differing["difference"].abs().sort_values(ascending=False, kind="stable")
    return differing.loc[order.index[:most]]


def write_table(cells: pd.DataFrame, path: str | Path, run: str) -> Path:
    """Write a certificate (schema `certificate`) as .csv or .parquet; InputError for
    another ending.
    """
    place = locate(path)
    if place.suffix not in ENDINGS:
        raise InputError(
            f"The certificate cannot be written to {path}: give a file that ends in"
            " .csv or .parquet."
        )
    if place.suffix == ".parquet":
        return tables.write(cells, place, "certificate", {"run": run})
    with beside(place) as part:
        cells.to_csv(part, index=False, lineterminator="\n", float_format="%.10g")
    return place


def write_json(cells: pd.DataFrame, path: str | Path, run: str) -> Path:
    """Write a certificate as JSON: paper, run, counts by verdict, and the cells, in
    which what is missing is null.
    """
    rows = cells.replace({np.nan: None}).to_dict("records")
    sizes = {
        name: int((cells["verdict"] == name).sum()) for name in geigle2024_run.VERDICTS
    }
    content = {"paper": "geigle2024", "run": run, "counts": sizes, "cells": rows}
    with beside(locate(path)) as part:
        written = json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False)
        part.write_text(written + "\n", encoding="utf-8")
    return locate(path)
