"""Results that other people computed, taken into a run: what a table must fulfil, where
it is kept, and whose it is.

A table in one of our schemas becomes files in the folder `merged` of the run, one for
each model and data set; the origin is in the file. Nothing that the run made is
changed. Tables of outcomes (`zeroshot`, `retrieval`) are ranked with those of the run;
`scores` have no items to resample and are listed.
"""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from atlas_build import embedding_logs, merge_checks, merge_reading
from babelatlas.analysis import outcomes
from babelatlas.base import languages, own_tables, released, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA

FOLDER = "merged"
# Tables of scores that people have contributed to the study: a CSV file each, with the
# column origin.
CONTRIBUTED = DATA / "contributed"
OURS = "this run"
COLUMNS = ["task", "model", "dataset", "origin", "rows", "source", "sha256", "path"]


def files(results: str | os.PathLike) -> pd.DataFrame:
    """Return the tables that were merged into a run: task (their kind), model, dataset,
    origin, rows, source, path.

    `source` is the name of the file they came in, with its `sha256`. No rows where
    nothing was merged.
    """
    rows = []
    for path in sorted((tables.locate(results) / FOLDER).glob("*.parquet")):
        note = tables.made_from(path)
        rows.append(
            note["parameters"]
            | {
                "task": note["table"],
                "path": f"{results}/{FOLDER}/{path.name}",
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def scores(results: str | os.PathLike) -> pd.DataFrame:
    """Return the merged tables of scores, and the contributed ones: schema `scores` and
    the column `origin`.
    """
    rows = files(results).query("task == 'scores'").itertuples()
    parts = [tables.read(row.path, "scores").assign(origin=row.origin) for row in rows]
    for path in sorted(CONTRIBUTED.glob("*.csv")):
        origin = own_tables.read(path, "results", ["origin"])["origin"]
        parts.append(merge_reading.read_scores(path).assign(origin=origin))
    return pd.concat(
        [tables.empty("scores").assign(origin=pd.Series(dtype=str)), *parts],
        ignore_index=True,
    )


def origins(
    rows: pd.DataFrame,
    theirs: pd.DataFrame,
    own: Iterable[str],
    datasets: Iterable[str],
) -> list[str]:
    """Return who computed each of some rows with the columns model and dataset: "this
    run", a name, or several.

    `theirs` as `files` returns it; `own` and `datasets`: models and data sets of the
    run.
    """
    known = (
        theirs.groupby(["model", "dataset"])["origin"]
        .agg(lambda names: list(dict.fromkeys(names)))
        .to_dict()
    )
    pairs = zip(rows["model"], rows["dataset"], strict=True)
    return [
        " and ".join(
            [OURS] * (model in list(own) and dataset in list(datasets))
            + known.get((model, dataset), [])
        )
        for model, dataset in pairs
    ]


def merge(
    paths: Sequence[str | os.PathLike],
    origin: str,
    results: str | os.PathLike,
    model: str = "",
    check: bool = False,
) -> list[str]:
    """Take tables that somebody else computed into a run; return a sentence for each
    file, model and data set.

    `paths`: Parquet or CSV files in the schemas `zeroshot`, `retrieval` or `scores`, or
    logs (`harness_logs`, `embedding_logs`); `origin`: who computed them; `results`: the
    folder of the run; `model`: a name that scores may have although the study does not
    know it, and that of the model of logs; `check`: write nothing, need no run, and add
    a line for each result with its rank (`ranks`). Rows that the run has already, with
    the same values, are left out. A file is checked before any of it is written. Raises
    InputError for what is no such table, a model, data set or language that the study
    does not know, values out of range, classes, images or queries other than the run's,
    and a result that the run has with another value.
    """
    run, lines = tables.locate(results), []
    if not check and not run.is_dir():
        raise InputError(
            f"There is no run {run.name!r} in {run.parent}: make it first, or name"
            " another."
        )
    if not origin.strip() or origin == OURS:
        raise InputError(
            f"The origin says who computed the tables, got {origin!r}: give a name, as"
            " 'Ana, My Lab'."
        )
    if not re.fullmatch(r"[\w.+-]*", model):
        raise InputError(
            "The name of a model is of letters, digits, '.', '+', '-' and '_', got"
            f" {model!r}: change it."
        )
    for path in map(tables.locate, paths):
        try:
            kind, table = merge_reading.read(path, model)
            merge_checks.check(table, kind, model)
            parts = dict(list(table.groupby(["model", "dataset"], sort=False)))
            new = {names: _new(part, kind, run) for names, part in parts.items()}
        except InputError as error:
            raise InputError(f"{path.name} cannot be merged: {error}") from error
        digest = tables.fingerprint(path)
        for (name, dataset), rows in new.items():
            came = (
                f"{len(rows):,} from {origin}"
                if len(rows)
                else "the run has them already"
            )
            lines.append(
                f"{path.name}: {kind} of {name} on {dataset}, rows:"
                f" {len(parts[name, dataset]):,}, {came}."
            )
            if check:
                lines += ranks(parts[name, dataset], kind, run)
            elif len(rows):
                note = {
                    "model": name,
                    "dataset": dataset,
                    "origin": origin,
                    "rows": len(rows),
                }
                target = run / FOLDER / f"{kind}_{name}_{dataset}_{digest[:8]}.parquet"
                tables.write(
                    rows, target, kind, note | {"source": path.name, "sha256": digest}
                )
    return lines


def ranks(table: pd.DataFrame, kind: str, run: Path) -> list[str]:
    """Return for each language of one model's results its value and rank: among the
    released models, or the run's.

    Released results are compared for tables of scores, by data set, metric and
    direction as `variant` or the metric says it, and of files of a harness only that
    harness's; outcomes are ranked among those of the run. A rank is a place by value,
    and no test.
    """
    if kind == "scores":
        theirs, known = _ways(table[table["lang"] != ""]), released.read()
        known = released.one_run(known[known["dataset"] == table["dataset"].iloc[0]])
        known = known.assign(
            way=known["direction"].where(known["direction"] != "", known["variant"])
        )
    else:
        paths = sorted((run / kind).glob(f"*_{table['dataset'].iloc[0]}.parquet"))
        items = [
            outcomes.outcomes(each)
            for each in (table, *(tables.read(path, kind) for path in paths))
        ]
        sums = [
            each.groupby(["model", "lang", "metric"], observed=True)[
                ["right", "total"]
            ].sum()
            for each in items
        ]
        theirs, *rest = [
            (each["right"] / each["total"]).rename("value").reset_index()
            for each in sums
        ]
        known = pd.concat(rest or [theirs[:0]]).assign(way="", harness="")
        theirs = theirs.assign(way="", harness="")
    lines = []
    for row in theirs.itertuples():
        same = (
            (known["lang"] == row.lang)
            & (known["metric"] == row.metric)
            & (known["way"] == row.way)
        )
        same &= (known["harness"] == row.harness) | (row.harness == "")
        rivals = (
            known[same & (known["model"] != row.model)].groupby("model")["value"].max()
        )
        place = "no other result"
        if len(rivals):
            place = f"rank {1 + (rivals > row.value).sum()} of {len(rivals) + 1} models"
        what = f"{row.metric} {row.way}".strip()
        lines.append(
            f"  {languages.name(row.lang)} ({row.lang}), {what}: {row.value:.4g},"
            f" {place}"
        )
    return lines


def _ways(table: pd.DataFrame) -> pd.DataFrame:
    """Return rows of scores with their direction, or what else `variant` says, as
    `way`, and `harness`, "" for any.

    Files of mteb and CLIP_benchmark have these as "mteb: t2i"; a direction may stand
    before the metric as well.
    """
    titles = "|".join(embedding_logs.RELEASED)
    said = table["variant"].str.extract(rf"^(?:({titles})(?:: |$))?(.*)$").fillna("")
    metric = table["metric"].str.extract(r"^(?:(t2i|i2t) )?(.*)$").fillna("")
    way = said[1].where(said[1] != "", metric[0])
    return table.assign(
        way=way, metric=metric[1], harness=said[0].replace(embedding_logs.RELEASED)
    )


def _new(table: pd.DataFrame, kind: str, run: Path) -> pd.DataFrame:
    """Return the rows, of one model and data set, that the run lacks; raise InputError
    where they do not fit to it.
    """
    model, dataset = table.iloc[0][["model", "dataset"]]
    if kind in merge_checks.ITEMS:
        merge_checks.check_items(table, kind, run)
    own = [run / kind / f"{model}_{dataset}.parquet"]
    if kind == "scores":
        own = [
            path
            for path in sorted((run / kind).glob("*.parquet"))
            if tables.made_from(path).get("table") == kind
        ]
    paths = [*own, *sorted((run / FOLDER).glob(f"{kind}_{model}_{dataset}_*.parquet"))]
    there = pd.concat(
        [
            tables.empty(kind),
            *(tables.read(path, kind) for path in paths if path.is_file()),
        ]
    )
    columns, key = tables.SCHEMAS[kind]
    both = table.merge(
        there, how="left", on=key, suffixes=("", " here"), indicator=True
    )
    double = both["_merge"] == "both"
    for column in [name for name in columns if name not in key]:
        theirs, ours = (
            both[column].to_numpy(float),
            both[f"{column} here"].to_numpy(float),
        )
        differs = double & ~np.isclose(
            theirs, ours, rtol=0, atol=merge_checks.TOLERANCE, equal_nan=True
        )
        if differs.any():
            row = ", ".join(
                f"{name} {value}"
                for name, value in both[differs].iloc[0][key].items()
                if value != ""
            )
            raise InputError(
                f"{int(differs.sum())} row(s) are results that the run has with another"
                f" {column}, the first: {row}; keep one of them."
            )
    return table[~double.to_numpy()].reset_index(drop=True)
