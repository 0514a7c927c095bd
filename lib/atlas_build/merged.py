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
        place = {"task": note["table"], "path": f"{results}/{FOLDER}/{path.name}"}
        rows.append(note["parameters"] | place)
    return pd.DataFrame(rows, columns=COLUMNS)


def scores(results: str | os.PathLike) -> pd.DataFrame:
    """Return the merged tables of scores, and the contributed ones: schema `scores` and
    the column `origin`.
    """
    parts = [tables.empty("scores").assign(origin=pd.Series(dtype=str))]
    merged = files(results)
    for row in merged[merged["task"] == "scores"].itertuples():
        parts.append(tables.read(row.path, "scores").assign(origin=row.origin))
    for path in sorted(CONTRIBUTED.glob("*.csv")):
        origin = own_tables.read(path, "results", ["origin"])["origin"]
        parts.append(merge_reading.read_scores(path).assign(origin=origin))
    return pd.concat(parts, ignore_index=True)


def origins(
    rows: pd.DataFrame,
    merged: pd.DataFrame,
    models: Iterable[str],
    datasets: Iterable[str],
) -> list[str]:
    """Return who computed each of some rows with the columns model and dataset: "this
    run", a name, or several.

    `merged` as `files` returns it; `models` and `datasets`: those of the run.
    """
    models, datasets = set(models), set(datasets)
    origins_of = merged.groupby(["model", "dataset"])["origin"].agg(
        lambda names: list(dict.fromkeys(names))
    )
    found = []
    for pair in zip(rows["model"], rows["dataset"], strict=True):
        model, dataset = pair
        is_ours = model in models and dataset in datasets
        others = origins_of.get(pair, [])
        found.append(" and ".join([OURS, *others] if is_ours else others))
    return found


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
    run = tables.locate(results)
    if not check and not run.is_dir():
        raise InputError(
            f"There is no run {run.name!r} in {run.parent}: make it first, or name"
            " another."
        )
    _check_given_names(origin, model)
    lines = []
    for path in map(tables.locate, paths):
        try:
            kind, table = merge_reading.read_results(path, model)
            merge_checks.check(table, kind, model)
            parts = dict(list(table.groupby(["model", "dataset"], sort=False)))
            new = {names: _new(part, kind, run) for names, part in parts.items()}
        except InputError as error:
            raise InputError(f"{path.name} cannot be merged: {error}") from error
        for (name, dataset), rows in new.items():
            part = parts[name, dataset]
            came = "the run has them already"
            if len(rows):
                came = f"{len(rows):,} from {origin}"
            lines.append(
                f"{path.name}: {kind} of {name} on {dataset}, rows: {len(part):,},"
                f" {came}."
            )
            if check:
                lines += ranks(part, kind, run)
            elif len(rows):
                _write(rows, kind, origin, path, run)
    return lines


def _write(rows: pd.DataFrame, kind: str, origin: str, source: Path, run: Path) -> None:
    """Write rows of one model and data set into a run; `source`: the file that they
    came in.
    """
    model, dataset = rows.iloc[0][["model", "dataset"]]
    digest = tables.fingerprint(source)
    note = {
        "model": model,
        "dataset": dataset,
        "origin": origin,
        "rows": len(rows),
        "source": source.name,
        "sha256": digest,
    }
    target = run / FOLDER / f"{kind}_{model}_{dataset}_{digest[:8]}.parquet"
    tables.write(rows, target, kind, note)


def _check_given_names(origin: str, model: str) -> None:
    """Raise InputError for an origin or a name of a model that cannot be."""
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


def ranks(table: pd.DataFrame, kind: str, run: Path) -> list[str]:
    """Return for each language of one model's results its value and rank: among the
    released models, or the run's.

    Released results are compared for tables of scores, by data set, metric and
    direction as `variant` or the metric says it, and of files of a harness only that
    harness's; outcomes are ranked among those of the run. A rank is a place by value,
    and no test.
    """
    if kind == "scores":
        given = _ways(table[table["lang"] != ""])
        others = released.read()
        of_dataset = others["dataset"] == table["dataset"].iloc[0]
        others = released.one_run(others[of_dataset])
        way = others["direction"].where(others["direction"] != "", others["variant"])
        others = others.assign(way=way)
    else:
        given = _means(table)
        paths = sorted((run / kind).glob(f"*_{table['dataset'].iloc[0]}.parquet"))
        of_run = [_means(tables.read(path, kind)) for path in paths]
        others = pd.concat(of_run or [given[:0]])
    lines = []
    for row in given.itertuples():
        lang, place = languages.name(row.lang), _rank(row, others)
        what = f"{row.metric} {row.way}".strip()
        lines.append(f"  {lang} ({row.lang}), {what}: {row.value:.4g}, {place}")
    return lines


def _means(table: pd.DataFrame) -> pd.DataFrame:
    """Return the value of each model, language and metric of a table of outcomes, with
    way and harness "".
    """
    items = outcomes.outcomes(table)
    key = ["model", "lang", "metric"]
    sums = items.groupby(key, observed=True)[["right", "total"]].sum()
    means = (sums["right"] / sums["total"]).rename("value").reset_index()
    return means.assign(way="", harness="")


def _rank(row, others: pd.DataFrame) -> str:
    """Return the rank of a result among those of other models, in words."""
    is_same = pd.Series(True, index=others.index)
    for column in ("lang", "metric", "way"):
        is_same &= others[column] == getattr(row, column)
    if row.harness:
        is_same &= others["harness"] == row.harness
    of_others = others[is_same & (others["model"] != row.model)]
    best = of_others.groupby("model")["value"].max()
    if best.empty:
        return "no other result"
    return f"rank {1 + (best > row.value).sum()} of {len(best) + 1} models"


def _ways(table: pd.DataFrame) -> pd.DataFrame:
    """Return rows of scores with their direction, or what else `variant` says, as
    `way`, and `harness`, "" for any.

    Files of mteb and CLIP_benchmark have these as "mteb: t2i"; a direction may stand
    before the metric as well.
    """
    titles = "|".join(embedding_logs.RELEASED)
    of_variant = rf"^(?:(?P<harness>{titles})(?:: |$))?(?P<way>.*)$"
    variant = table["variant"].str.extract(of_variant).fillna("")
    of_metric = r"^(?:(?P<way>t2i|i2t) )?(?P<name>.*)$"
    metric = table["metric"].str.extract(of_metric).fillna("")
    return table.assign(
        way=variant["way"].where(variant["way"] != "", metric["way"]),
        metric=metric["name"],
        harness=variant["harness"].replace(embedding_logs.RELEASED),
    )


def _new(table: pd.DataFrame, kind: str, run: Path) -> pd.DataFrame:
    """Return the rows, of one model and data set, that the run lacks; raise InputError
    where they do not fit to it.
    """
    model, dataset = table.iloc[0][["model", "dataset"]]
    if kind in merge_checks.ITEMS:
        merge_checks.check_items(table, kind, run)
    of_run = _of_run(kind, model, dataset, run)
    columns, key = tables.SCHEMAS[kind]
    both = table.merge(
        of_run, how="left", on=key, suffixes=("", " of run"), indicator=True
    )
    is_double = both["_merge"] == "both"
    for column in [name for name in columns if name not in key]:
        given = both[column].to_numpy(float)
        ours = both[f"{column} of run"].to_numpy(float)
        is_same = np.isclose(
            given, ours, rtol=0, atol=merge_checks.TOLERANCE, equal_nan=True
        )
        differs = both[is_double & ~is_same]
        if len(differs):
            first = differs.iloc[0][key]
            row = ", ".join(
                f"{name} {value}" for name, value in first.items() if value != ""
            )
            raise InputError(
                f"{len(differs)} row(s) are results that the run has with another"
                f" {column}, the first: {row}; keep one of them."
            )
    return table[~is_double.to_numpy()].reset_index(drop=True)


def _of_run(kind: str, model: str, dataset: str, run: Path) -> pd.DataFrame:
    """Return the results that a run made itself, and those merged into it before."""
    paths = [run / kind / f"{model}_{dataset}.parquet"]
    if kind == "scores":
        in_folder = sorted((run / kind).glob("*.parquet"))
        paths = [
            path for path in in_folder if tables.made_from(path).get("table") == kind
        ]
    paths += sorted((run / FOLDER).glob(f"{kind}_{model}_{dataset}_*.parquet"))
    made = [tables.read(path, kind) for path in paths if path.is_file()]
    return pd.concat([tables.empty(kind), *made])
