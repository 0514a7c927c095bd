"""Results that other people computed, taken into a run: what is asked of them, where they are, and whose they are.

A table in one of our schemas becomes files in the folder `merged` of the run, one for each kind, model, data set and
origin; the origin is in the file. Nothing that the run made is changed. Tables of outcomes (`zeroshot`, `retrieval`)
are ranked with those of the run; `scores` have no items to resample and are listed.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from babelatlas.base import languages, own_tables, tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA
from babelatlas.datasets import registry as data_sets
from babelatlas.models import registry as models

FOLDER = "merged"
# Kind of table -> the task of its data sets, "" for any.
KINDS = {"zeroshot": "zero-shot", "retrieval": "retrieval", "scores": ""}
OURS = "this run"
COLUMNS = ["task", "model", "dataset", "origin", "rows", "source", "sha256", "path"]
# Counts and shares of one table and of another are the same up to rounding of their last digits.
TOLERANCE = 1e-9


def files(results: str | os.PathLike) -> pd.DataFrame:
    """Return the tables that were merged into a run: task (their kind), model, dataset, origin, rows, source, path.

    `source` is the name of the file they came in, with its `sha256`. No rows where nothing was merged.
    """
    rows = []
    for path in sorted((tables.locate(results) / FOLDER).glob("*.parquet")):
        told = tables.made_from(path)
        rows.append(told["parameters"] | {"task": told["table"], "path": f"{results}/{FOLDER}/{path.name}"})
    return pd.DataFrame(rows, columns=COLUMNS)


def scores(results: str | os.PathLike) -> pd.DataFrame:
    """Return the merged tables of scores, schema `scores` and the column `origin`."""
    found = files(results).query("task == 'scores'")
    parts = [tables.read(row.path, "scores").assign(origin=row.origin) for row in found.itertuples()]
    return pd.concat([tables.empty("scores").assign(origin=pd.Series(dtype=str)), *parts], ignore_index=True)


def origins(rows: pd.DataFrame, theirs: pd.DataFrame, own: Iterable[str], datasets: Iterable[str]) -> list[str]:
    """Return who computed each of some rows with the columns model and dataset: "this run", a name, or several.

    `theirs` as `files` returns it; `own` and `datasets`: models and data sets of the run.
    """
    known = theirs.groupby(["model", "dataset"])["origin"].agg(lambda names: list(dict.fromkeys(names))).to_dict()
    own, datasets = set(own), set(datasets)
    pairs = zip(rows["model"], rows["dataset"], strict=True)
    return [
        " and ".join([*([OURS] if pair[0] in own and pair[1] in datasets else []), *known.get(pair, [])])
        for pair in pairs
    ]


def merge(paths: Sequence[str | os.PathLike], origin: str, results: str | os.PathLike) -> list[str]:
    """Take tables that somebody else computed into a run; return a sentence for each file, model and data set.

    `paths`: Parquet or CSV files in the schemas `zeroshot`, `retrieval` or `scores`; `origin`: who computed them;
    `results`: the folder of the run. Rows that the run has already, with the same values, are left out. All files are
    checked before anything is written. Raises InputError for what is no such table, a model, data set or language that
    the study does not know, values out of range, classes, images or queries other than the run's, and a result that
    the run has with another value.
    """
    origin, run = " ".join(origin.split()), tables.locate(results)
    if origin in ("", OURS) or own_tables.STRANGE.search(origin):
        raise InputError(f"The origin says who computed the tables, got {origin!r}: give a name, as 'Ana, My Lab'.")
    if not run.is_dir():
        runs = [path.name for path in run.parent.glob("*") if path.is_dir()]
        raise InputError(f"There is no run {run.name!r} in {run.parent}: {near(run.name, runs)}")
    known: dict[tuple[str, str, str], pd.DataFrame] = {}
    made: dict[tuple[str, str, str], tuple[list[pd.DataFrame], list[Path]]] = {}
    lines = []
    for path in map(tables.locate, paths):
        try:
            kind, table = _read(path)
            _check_names(table, kind)
            _check_values(table, kind)
            for names, part in table.groupby(["model", "dataset"], sort=False):
                place = (kind, *names)
                _check_items(part, kind, run)
                have = known[place] if place in known else _existing(run, *place)
                new = _new(part, have, kind)
                known[place] = pd.concat([have, new], ignore_index=True)
                parts, sources = made.setdefault(place, ([], []))
                parts.append(new)
                sources.append(path)
                came = f"{len(new):,} rows from {origin}" if len(new) else "the run has them already"
                lines.append(f"{path.name}: {kind} of {names[0]} on {names[1]}, {len(part):,} rows: {came}.")
        except InputError as error:
            raise InputError(f"{path.name} cannot be merged: {error}") from error
    for place, (parts, sources) in made.items():
        _write(run, place, parts, sources, origin)
    return lines


def _write(run: Path, place: tuple[str, str, str], parts: list[pd.DataFrame], sources: list[Path], origin: str) -> None:
    """Add rows to what this origin gave to the run of a kind, model and data set."""
    digest = hashlib.sha256(origin.encode()).hexdigest()[:8]
    path = run / FOLDER / f"{'_'.join(place)}_{re.sub('[^A-Za-z0-9]+', '-', origin).strip('-')}-{digest}.parquet"
    before = [tables.read(path, place[0])] if path.is_file() else []
    table = pd.concat([*before, *parts], ignore_index=True)
    if table.empty or not any(map(len, parts)):
        return
    told = {"source": [file.name for file in sources], "sha256": [tables.fingerprint(file) for file in sources]}
    if before:
        earlier = tables.made_from(path)["parameters"]
        told = {name: list(dict.fromkeys([*earlier[name].split(", "), *files])) for name, files in told.items()}
    note = {"model": place[1], "dataset": place[2], "origin": origin, "rows": len(table)}
    tables.write(table, path, place[0], note | {name: ", ".join(files) for name, files in told.items()})


# --- what is asked of a table ----------------------------------------------------------------------------------------


def _read(path: Path) -> tuple[str, pd.DataFrame]:
    """Return of which kind a file is, by what its maker wrote into it or else by its columns, and its rows."""
    if not path.is_file():
        raise InputError("there is no such file: give the path of one.")
    try:
        parquet = path.suffix == ".parquet"
        columns = list(pq.read_schema(path).names if parquet else pd.read_csv(path, nrows=0).columns)
        told = tables.made_from(path).get("table", "") if parquet else ""
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"it cannot be read as Parquet or CSV ({reason}): write it anew.") from error
    shared = {
        kind: len(set(columns) & set(schema)) / len({*columns, *schema}) for kind, (schema, _) in tables.SCHEMAS.items()
    }
    kind = told or max(shared, key=shared.get)
    if kind not in KINDS:
        raise InputError(f"it is a table of {kind}, and {', '.join(KINDS)} can be merged: give one of these.")
    table = tables.typed(tables.read(path, kind), kind)
    if table.empty:
        raise InputError("it has no rows: give a table with results.")
    return kind, table


def _check_names(table: pd.DataFrame, kind: str) -> None:
    """Raise InputError for a model, data set or language that the study does not know, or knows by another name."""
    for name in table["model"].unique():
        models.get_model(name)
    for name in table["dataset"].unique():
        task = data_sets.get_dataset(name).task
        if KINDS[kind] and task != KINDS[kind]:
            raise InputError(f"the data set {name!r} is for {task}, not for {kind}: correct the column dataset.")
    for code in sorted(set(table["lang"]) - ({""} if kind == "scores" else set())):
        if languages.canonical(code) != code:
            raise InputError(f"it calls a language {code!r}: use the study's code {languages.canonical(code)!r}.")


def _outside(table: pd.DataFrame, kind: str) -> dict[str, pd.Series]:
    """Return the rows whose values cannot be, or are missing: what was expected of them -> which they are."""
    if kind == "zeroshot":
        n, first, five = table["n_images"], table["n_correct"], table["n_correct_top5"]
        return {
            "n_images of at least 1": ~(n >= 1),
            "n_correct from 0 to n_images": ~first.between(0, n + TOLERANCE),
            "n_correct_top5 from n_correct to n_images": ~five.between(first - TOLERANCE, n + TOLERANCE),
            "n_ties from 0 to n_images": ~table["n_ties"].between(0, n),
        }
    if kind == "retrieval":
        last = table["rank"] - 1 + table["tied"] + table["n_tied_correct"]
        gain = table["ndcg20"]
        return {
            "direction t2i or i2t": ~table["direction"].isin(["t2i", "i2t"]),
            "rank of at least 1": ~(table["rank"] >= 1),
            "tied of at least 0 and n_tied_correct of at least 1": (table["tied"] < 0) | (table["n_tied_correct"] < 1),
            "no more ranks than n_candidates": last > table["n_candidates"],
            "ndcg20 from 0 to 1, or none": gain.notna() & ~gain.between(0, 1 + 1e-6),
        }
    rank = table["metric"].str.contains(r"\brank\b")
    value, low, high = table["value"], table["ci_low"], table["ci_high"]
    return {
        "value from 0 to 1": ~(rank | value.between(0, 1)),
        "rank of at least 1": rank & ~(value >= 1),
        "ci_low and ci_high around value, or none": (low.isna() != high.isna()) | (low > value) | (high < value),
        "ci_low and ci_high from 0 to 1": ~rank & ((low < 0) | (high > 1)),
        "n of at least 1": ~(table["n"] >= 1),
    }


def _check_values(table: pd.DataFrame, kind: str) -> None:
    """Raise InputError, naming the first row, where a value is missing or out of its range."""
    for expected, wrong in _outside(table, kind).items():
        if wrong.any():
            row = table[wrong].iloc[0]
            values = ", ".join(f"{name} {value}" for name, value in row.items() if value != "")
            raise InputError(f"{int(wrong.sum())} row(s) have no {expected}, the first: {values}; compute it again.")


def _check_items(table: pd.DataFrame, kind: str, run: Path) -> None:
    """Raise InputError where classes, images or queries are not those of the run, or else of its label set.

    `table` is of one data set. What the run has no results on is compared with its label set alone.
    """
    if kind == "scores":
        return
    dataset = table["dataset"].iloc[0]
    known = [tables.read(path, kind) for path in sorted((run / kind).glob(f"*_{dataset}.parquet"))[:1]]
    item, size, unit = (
        (["wnid"], "n_images", ["labels", "lang"])
        if kind == "zeroshot"
        else (["direction", "query"], "n_candidates", ["captions", "lang"])
    )
    ours = {names: part for each in known for names, part in each.groupby(unit)}
    for names, part in table.groupby([*unit]):
        theirs = part.drop_duplicates(item).set_index(item)[size]
        here = f"{names[0]} in {languages.name(names[1])} ({names[1]})"
        if names in ours:
            mine = ours[names].drop_duplicates(item).set_index(item)[size]
            if set(mine.index) != set(theirs.index):
                raise InputError(
                    f"it has {len(theirs):,} {'classes' if kind == 'zeroshot' else 'queries'} of {here} on {dataset}, "
                    f"and the run {len(mine):,}, of which {len(set(mine.index) & set(theirs.index)):,} are the same: "
                    "use the same list."
                )
            if not (mine == theirs.reindex(mine.index)).all():
                raise InputError(f"it and the run have other {size} for {here} on {dataset}: use the same images.")
        elif kind == "zeroshot":
            _check_classes(theirs.index, run, dataset, *names)


def _check_classes(wnids: pd.Index, run: Path, dataset: str, name: str, lang: str) -> None:
    """Raise InputError where classes of a language are not those that a label set names in it."""
    path = run / "labels" / f"{name}.parquet"
    if not path.is_file() and name != "imagenet-1k":
        raise InputError(f"the run has no label set {name!r} to compare its classes with: use one that the run has.")
    known = tables.read(path, "labels") if path.is_file() else tables.read(DATA / "labels.parquet", "labels")
    ours = set(known.loc[known["lang"] == lang, "wnid"])
    part = 0 < data_sets.get_dataset(dataset).n_classes < known["wnid"].nunique()  # the data set has some classes only
    if not set(wnids) <= ours or (set(wnids) != ours and not part):
        raise InputError(
            f"it has {len(wnids):,} classes in {languages.name(lang)} ({lang}), and the label set {name!r} names "
            f"{len(ours):,}, of which {len(ours & set(wnids)):,} are the same: use this label set, or another name."
        )


# --- what the run has ------------------------------------------------------------------------------------------------


def _existing(run: Path, kind: str, model: str, dataset: str) -> pd.DataFrame:
    """Return the rows of a kind that a run has of a model on a data set, its own and merged ones."""
    theirs = files(run).query("task == @kind and model == @model and dataset == @dataset")
    own = [run / kind / f"{model}_{dataset}.parquet"]
    if kind == "scores":
        own = [path for path in sorted((run / kind).glob("*.parquet")) if tables.made_from(path).get("table") == kind]
    paths = [*own, *map(tables.locate, theirs["path"])]
    parts = [tables.read(path, kind) for path in paths if path.is_file()]
    table = pd.concat([tables.empty(kind), *parts], ignore_index=True)
    return table[(table["model"] == model) & (table["dataset"] == dataset)].reset_index(drop=True)


def _new(table: pd.DataFrame, have: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return the rows that `have` lacks; raise InputError where it has one with another value."""
    columns, key = tables.SCHEMAS[kind]
    both = table.merge(have, how="left", on=key, suffixes=("", " here"), indicator=True)
    double = both["_merge"] == "both"
    for column in [name for name in columns if name not in key]:
        theirs, ours = both[column].to_numpy(float), both[f"{column} here"].to_numpy(float)
        differs = double & ~np.isclose(theirs, ours, rtol=0, atol=TOLERANCE, equal_nan=True)
        if differs.any():
            row = both[differs].iloc[0]
            said = ", ".join(f"{name} {row[name]}" for name in key if row[name] != "")
            raise InputError(
                f"{int(differs.sum())} row(s) are results that the run has with another {column}, the first: {said}, "
                f"{row[column]:g} and here {row[f'{column} here']:g}; keep one of them."
            )
    return table[~double.to_numpy()].reset_index(drop=True)
