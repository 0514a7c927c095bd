"""Results that other people computed, taken into a run: what a table must fulfil, where it is kept, and whose it is.

A table in one of our schemas becomes files in the folder `merged` of the run, one for each model and data set; the
origin is in the file. Nothing that the run made is changed. Tables of outcomes (`zeroshot`, `retrieval`) are ranked
with those of the run; `scores` have no items to resample and are listed.
"""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from babelatlas.analysis import outcomes
from babelatlas.analysis.released import harness_logs
from babelatlas.base import languages, own_tables, released, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA
from babelatlas.datasets import registry as data_sets
from babelatlas.models import registry as models

FOLDER = "merged"
# Tables of scores that people have contributed to the study: a CSV file each, with the column origin.
CONTRIBUTED = DATA / "contributed"
# Kind of table -> the task of its data sets, "" for any.
KINDS = {"zeroshot": "zero-shot", "retrieval": "retrieval", "scores": ""}
OURS = "this run"
COLUMNS = ["task", "model", "dataset", "origin", "rows", "source", "sha256", "path"]
# Counts and shares of one table and of another are the same up to rounding of their last digits.
TOLERANCE = 1e-9
# Of each kind of outcomes: the columns of an item, its size, and the columns of an evaluation.
ITEMS = {"zeroshot": (["wnid"], "n_images", ["labels", "lang"])}
ITEMS |= {"retrieval": (["direction", "query"], "n_candidates", ["captions", "lang"])}


def files(results: str | os.PathLike) -> pd.DataFrame:
    """Return the tables that were merged into a run: task (their kind), model, dataset, origin, rows, source, path.

    `source` is the name of the file they came in, with its `sha256`. No rows where nothing was merged.
    """
    rows = []
    for path in sorted((tables.locate(results) / FOLDER).glob("*.parquet")):
        note = tables.made_from(path)
        rows.append(note["parameters"] | {"task": note["table"], "path": f"{results}/{FOLDER}/{path.name}"})
    return pd.DataFrame(rows, columns=COLUMNS)


def scores(results: str | os.PathLike) -> pd.DataFrame:
    """Return the merged tables of scores, and the contributed ones: schema `scores` and the column `origin`."""
    rows = files(results).query("task == 'scores'").itertuples()
    parts = [tables.read(row.path, "scores").assign(origin=row.origin) for row in rows]
    for path in sorted(CONTRIBUTED.glob("*.csv")):
        table = own_tables.read(path, "results")
        parts.append(tables.typed(table.drop(columns="origin"), "scores").assign(origin=table["origin"]))
    return pd.concat([tables.empty("scores").assign(origin=pd.Series(dtype=str)), *parts], ignore_index=True)


def origins(rows: pd.DataFrame, theirs: pd.DataFrame, own: Iterable[str], datasets: Iterable[str]) -> list[str]:
    """Return who computed each of some rows with the columns model and dataset: "this run", a name, or several.

    `theirs` as `files` returns it; `own` and `datasets`: models and data sets of the run.
    """
    known = theirs.groupby(["model", "dataset"])["origin"].agg(lambda names: list(dict.fromkeys(names))).to_dict()
    pairs = zip(rows["model"], rows["dataset"], strict=True)
    return [
        " and ".join([OURS] * (model in list(own) and dataset in list(datasets)) + known.get((model, dataset), []))
        for model, dataset in pairs
    ]


def merge(
    paths: Sequence[str | os.PathLike], origin: str, results: str | os.PathLike, model: str = "", check: bool = False
) -> list[str]:
    """Take tables that somebody else computed into a run; return a sentence for each file, model and data set.

    `paths`: Parquet or CSV files in the schemas `zeroshot`, `retrieval` or `scores`, or logs (`harness_logs`);
    `origin`: who computed them; `results`: the folder of the run; `model`: a name that scores may have although the
    study does not know it, and that of the model of logs; `check`: write nothing, need no run, and add a line for each
    result with its rank (`ranks`). Rows that the run has already, with the same values, are left out. A file is checked
    before any of it is written. Raises InputError for what is no such table, a model, data set or language that the
    study does not know, values out of range, classes, images or queries other than the run's, and a result that the run
    has with another value.
    """
    run, lines = tables.locate(results), []
    if not check and not run.is_dir():
        raise InputError(f"There is no run {run.name!r} in {run.parent}: make it first, or name another.")
    if not origin.strip() or origin == OURS:
        raise InputError(f"The origin says who computed the tables, got {origin!r}: give a name, as 'Ana, My Lab'.")
    if not re.fullmatch(r"[\w.+-]*", model):
        raise InputError(f"The name of a model is of letters, digits, '.', '+', '-' and '_', got {model!r}: change it.")
    for path in map(tables.locate, paths):
        try:
            kind, table = _read(path, model)
            _check_names(table, kind, model)
            _check_values(table, kind)
            parts = dict(list(table.groupby(["model", "dataset"], sort=False)))
            new = {names: _new(part, kind, run) for names, part in parts.items()}
        except InputError as error:
            raise InputError(f"{path.name} cannot be merged: {error}") from error
        digest = tables.fingerprint(path)
        for (model, dataset), rows in new.items():
            came = f"{len(rows):,} from {origin}" if len(rows) else "the run has them already"
            lines.append(f"{path.name}: {kind} of {model} on {dataset}, rows: {len(parts[model, dataset]):,}, {came}.")
            if check:
                lines += ranks(parts[model, dataset], kind, run)
            elif len(rows):
                note = {"model": model, "dataset": dataset, "origin": origin, "rows": len(rows)}
                target = run / FOLDER / f"{kind}_{model}_{dataset}_{digest[:8]}.parquet"
                tables.write(rows, target, kind, note | {"source": path.name, "sha256": digest})
    return lines


def ranks(table: pd.DataFrame, kind: str, run: Path) -> list[str]:
    """Return for each language of one model's results its value and rank: among the released models, or the run's.

    Released results are compared for tables of scores, by data set, metric and direction as `variant` says it; outcomes
    are ranked among those of the run. A rank is a place by value, and no test.
    """
    if kind == "scores":
        theirs = table[table["lang"] != ""].assign(way=table["variant"])
        known = released.one_run(released.read(dataset=table["dataset"].iloc[0]))
        known = known.assign(way=known["direction"].where(known["direction"] != "", known["variant"]))
    else:
        paths = sorted((run / kind).glob(f"*_{table['dataset'].iloc[0]}.parquet"))
        items = [outcomes.outcomes(each) for each in (table, *(tables.read(path, kind) for path in paths))]
        sums = [each.groupby(["model", "lang", "metric"], observed=True)[["right", "total"]].sum() for each in items]
        theirs, *rest = [(each["right"] / each["total"]).rename("value").reset_index() for each in sums]
        known, theirs = pd.concat(rest or [theirs[:0]]).assign(way=""), theirs.assign(way="")
    lines = []
    for row in theirs.itertuples():
        same = (known["lang"] == row.lang) & (known["metric"] == row.metric) & (known["way"] == row.way)
        rivals = known[same & (known["model"] != row.model)].groupby("model")["value"].max()
        place = "no other result"
        if len(rivals):
            place = f"rank {1 + (rivals > row.value).sum()} of {len(rivals) + 1} models"
        what = f"{row.metric} {row.way}".strip()
        lines.append(f"  {languages.name(row.lang)} ({row.lang}), {what}: {row.value:.4g}, {place}")
    return lines


def _read(path: Path, model: str) -> tuple[str, pd.DataFrame]:
    """Return of which kind a file is, by what its maker wrote into it or else by its columns, and its rows."""
    if not path.is_file():
        raise InputError("there is no such file: give the path of one.")
    if path.suffix not in (".parquet", ".csv") or re.fullmatch(harness_logs.FILE, path.name):
        return "scores", tables.typed(harness_logs.read(path, model), "scores")
    parquet = path.suffix == ".parquet"
    columns = set(pq.read_schema(path).names if parquet else own_tables.read(path, "results"))
    shared = {
        kind: len(columns & set(schema)) / len({*columns, *schema}) for kind, (schema, _) in tables.SCHEMAS.items()
    }
    kind = (tables.made_from(path).get("table") if parquet else "") or max(shared, key=shared.get)
    if kind not in KINDS:
        raise InputError(f"it is a table of {kind}, and {', '.join(KINDS)} can be merged: give one of these.")
    return kind, tables.typed(tables.read(path, kind), kind)


def _check_names(table: pd.DataFrame, kind: str, model: str) -> None:
    """Raise InputError for a model, data set or language that the study does not know, or knows by another name.

    Scores may also be of released models, of `model`, and on released data sets and those of `harness_logs`.
    """
    known = {*released.models().index, *filter(None, [model])} if kind == "scores" else ()
    for name in sorted(set(table["model"]).difference(known)):
        models.get_model(name)
    known = {*released.read()["dataset"], *harness_logs.DATASETS} if kind == "scores" else ()
    for name in sorted(set(table["dataset"]).difference(known)):
        task = data_sets.get_dataset(name).task
        if KINDS[kind] and task != KINDS[kind]:
            raise InputError(f"the data set {name!r} is for {task}, not for {kind}: correct the column dataset.")
    for code in sorted(set(table["lang"]) - ({""} if kind == "scores" else set())):
        if languages.canonical(code) != code:
            raise InputError(f"it calls a language {code!r}: use the study's code {languages.canonical(code)!r}.")


def _check_values(table: pd.DataFrame, kind: str) -> None:
    """Raise InputError, naming the first row, where a value is missing or out of its range."""
    if kind == "zeroshot":
        n, first, five = table["n_images"], table["n_correct"], table["n_correct_top5"]
        fine = {"n_correct from 0 to n_images": (n >= 1) & first.between(0, n + TOLERANCE)}
        fine["n_correct_top5 from n_correct to n_images"] = five.between(first - TOLERANCE, n + TOLERANCE)
    elif kind == "retrieval":
        last = table["rank"] - 1 + table["tied"] + table["n_tied_correct"]
        fine = {"direction t2i or i2t": table["direction"].isin(["t2i", "i2t"])}
        fine["rank from 1 to n_candidates"] = (table["rank"] >= 1) & (last <= table["n_candidates"])
        fine["n_right from n_tied_correct to n_candidates"] = table["n_right"].between(
            table["n_tied_correct"], table["n_candidates"]
        )
        fine["ndcg20 from 0 to 1, or none"] = table["ndcg20"].isna() | table["ndcg20"].between(0, 1 + 1e-6)
    else:
        free = table["metric"].str.contains(r"\b(?:rank|CIDEr)\b")
        fine = {"value from 0 to 1": free | table["value"].between(0, 1)}
        fine["ci_low and ci_high around value"] = ~(
            (table["ci_low"] > table["value"]) | (table["ci_high"] < table["value"])
        )
    for expected, rows in fine.items():
        if not rows.all():
            row = ", ".join(f"{name} {value}" for name, value in table[~rows].iloc[0].items() if value != "")
            raise InputError(f"{int((~rows).sum())} row(s) have no {expected}, the first: {row}; compute it again.")


def _new(table: pd.DataFrame, kind: str, run: Path) -> pd.DataFrame:
    """Return the rows, of one model and data set, that the run lacks; raise InputError where they do not fit to it."""
    model, dataset = table.iloc[0][["model", "dataset"]]
    if kind in ITEMS:
        _check_items(table, kind, sorted((run / kind).glob(f"*_{dataset}.parquet"))[:1])
    own = [run / kind / f"{model}_{dataset}.parquet"]
    if kind == "scores":
        own = [path for path in sorted((run / kind).glob("*.parquet")) if tables.made_from(path).get("table") == kind]
    paths = [*own, *sorted((run / FOLDER).glob(f"{kind}_{model}_{dataset}_*.parquet"))]
    there = pd.concat([tables.empty(kind), *(tables.read(path, kind) for path in paths if path.is_file())])
    columns, key = tables.SCHEMAS[kind]
    both = table.merge(there, how="left", on=key, suffixes=("", " here"), indicator=True)
    double = both["_merge"] == "both"
    for column in [name for name in columns if name not in key]:
        theirs, ours = both[column].to_numpy(float), both[f"{column} here"].to_numpy(float)
        differs = double & ~np.isclose(theirs, ours, rtol=0, atol=TOLERANCE, equal_nan=True)
        if differs.any():
            row = ", ".join(f"{name} {value}" for name, value in both[differs].iloc[0][key].items() if value != "")
            raise InputError(
                f"{int(differs.sum())} row(s) are results that the run has with another {column}, the first: {row}; "
                "keep one of them."
            )
    return table[~double.to_numpy()].reset_index(drop=True)


def _check_items(table: pd.DataFrame, kind: str, paths: list[Path]) -> None:
    """Raise InputError where classes, images or queries are not those of the run's own table of the data set."""
    item, size, unit = ITEMS[kind]
    ours = {names: part for path in paths for names, part in tables.read(path, kind).groupby(unit)}
    for names, part in table.groupby(unit):
        theirs, known = (each.drop_duplicates(item).set_index(item)[size] for each in (part, ours.get(names, part)))
        if not theirs.sort_index().equals(known.sort_index()):
            what = {"wnid": "classes", "query": "queries"}[item[-1]]
            raise InputError(
                f"it has {len(theirs):,} {what} of {names[0]} in {languages.name(names[1])} ({names[1]}), and the run "
                f"{len(known):,}, of which {len(theirs.index.intersection(known.index)):,} are the same, or other "
                f"{size}: use the same {what} and images."
            )
