"""The results of a run in the forms that other tools read.

- One CSV file of all scores: the columns of the table `scores`, and how each was obtained.
- CLIP_benchmark's CSV (its command `build`): a row for each model, data set, language and task, a column for each
  metric. Its data sets' names are used where it has the same; the columns of the protocol stand at the end, where its
  own readers pass them over.
- Class names as CLIP_benchmark reads them, so that it can evaluate in the languages of a label set.
- The Hugging Face hub's evaluation results: `model_index`, the block of a model card that takes any data set; and
  `benchmark_entries`, a file for a model's folder .eval_results, which the hub takes for data sets that are registered
  there as benchmarks.
"""

import json
import os
from pathlib import Path

import pandas as pd

from babelatlas.analysis import leaderboard
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.models import registry as models

# What CLIP_benchmark calls the data sets that it has too; others keep our name. ImageNet's classes named in another
# language than English are a data set of their own there.
CLIP_BENCHMARK_NAMES = {
    "imagenet-1k": "imagenet1k",
    "imagenet-v2": "imagenetv2",
    "imagenet-sketch": "imagenet_sketch",
    "xm3600": "crossmodal3600",
    "xtd": "xtd10",
}
CLIP_BENCHMARK_TRANSLATED = {"imagenet1k": "babel_imagenet"}
# Languages that it knows by another code, by its name of the data set.
CLIP_BENCHMARK_LANGUAGES = {"crossmodal3600": {"tl": "fil"}, "xtd10": {"ja": "jp"}}
# What its files of class names call languages that it knows by other codes.
CLIP_BENCHMARK_FILES = {"ja": "jp", "zh": "cn"}
CLIP_BENCHMARK_TASKS = {"zeroshot": "zeroshot_classification", "retrieval": "zeroshot_retrieval"}
CLIP_BENCHMARK_DIRECTIONS = {"t2i": "image_retrieval_recall", "i2t": "text_retrieval_recall"}
HUB_TASKS = {"zeroshot": "zero-shot-image-classification", "retrieval": "retrieval"}
CLIP_BENCHMARK_METRICS = {
    "accuracy@1": "acc1",
    "accuracy@5": "acc5",
    "mean per class": "mean_per_class_recall",
    **{f"{way} recall@{k}": f"{name}@{k}" for way, name in CLIP_BENCHMARK_DIRECTIONS.items() for k in leaderboard.KS},
}


def scores(found: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a `languages` table with the columns of the table `scores`, then those of the protocol.

    `group` holds "", as every row is of one language; `variant` what distinguishes several rows of a model in a
    language, such as their sets of captions.
    """
    table = found.assign(group="", variant=leaderboard.variants(found))
    columns = [*tables.SCORE, *leaderboard.PROTOCOL]
    return table[columns].sort_values(list(tables.SCORE_KEY), kind="stable", ignore_index=True)


def write_csv(table: pd.DataFrame, path: str | os.PathLike) -> Path:
    """Write a table as CSV, UTF-8, numbers with all their digits; the file appears whole or not at all."""
    return _write(path, table.to_csv(index=False, lineterminator="\n"), ".csv")


def _write(path: str | os.PathLike, text: str, suffix: str) -> Path:
    path = tables.locate(path)
    if path.suffix != suffix:
        raise InputError(f"This file is written as {suffix}, got {path.name!r}: let the name end in {suffix}.")
    with tables.beside(path) as part:
        part.write_text(text, encoding="utf-8")
    return path


def _source(name: str) -> str:
    """Return repository and revision of a model, "" for one that a run trained or that is the user's own."""
    source = models.get_model(name).source if name in models.names() else None
    return "" if source is None else source.repository + (f"@{source.revision}" if source.revision else "")


def clip_benchmark(found: pd.DataFrame) -> pd.DataFrame:
    """Return `leaderboard.main` of a `languages` table as CLIP_benchmark lays results out.

    One row for each data set, model, language and protocol, by the names that tool has for data sets and languages.
    Columns: dataset, model, pretrained (repository@revision, "" for models without), model_fullname, task, language,
    acc1, acc5, mean_per_class_recall, image_retrieval_recall@k (a caption asks for its image) and
    text_retrieval_recall@k, fractions, as far as there are any; then the protocol's. Other metrics are left out. Two
    things differ from what that tool would count itself: ties here count their expected value, and the classes of a
    language are those that have a label in it. Raises InputError where no row has a metric of that tool.
    """
    known = found[found["metric"].isin(list(CLIP_BENCHMARK_METRICS))]
    if known.empty:
        raise InputError(f"CLIP_benchmark has none of these metrics: expected {', '.join(CLIP_BENCHMARK_METRICS)}.")
    by = [key for key in leaderboard.KEY if key != "metric"]
    wide = known.assign(metric=known["metric"].map(CLIP_BENCHMARK_METRICS))
    wide = wide.pivot(index=by, columns="metric", values="value")
    order = [name for name in CLIP_BENCHMARK_METRICS.values() if name in wide]
    table = wide[order].reset_index().rename(columns={"lang": "language"}).rename_axis(columns=None)
    table["pretrained"] = table["model"].map(_source)
    table["model_fullname"] = (table["model"] + " " + table["pretrained"]).str.strip()
    table["task"] = table["task"].map(CLIP_BENCHMARK_TASKS)
    table["dataset"] = table["dataset"].replace(CLIP_BENCHMARK_NAMES)
    translated = table["dataset"].replace(CLIP_BENCHMARK_TRANSLATED)
    table["dataset"] = table["dataset"].where(table["language"] == "en", translated)
    known = zip(table["dataset"], table["language"], strict=True)
    table["language"] = [CLIP_BENCHMARK_LANGUAGES.get(dataset, {}).get(code, code) for dataset, code in known]
    first = ["dataset", "model", "pretrained", "model_fullname", "task", "language"]
    return table[[*first, *order, *leaderboard.PROTOCOL]]


def class_names(labels: pd.DataFrame, wnids: list[str], fill: bool = False) -> dict[str, dict]:
    """Return a label set of ImageNet-1k as the files in which CLIP_benchmark reads class names: name -> content.

    `babel_imagenet.json` has all languages: code in capitals -> [the numbers of the classes that have a label, their
    labels], what its data set `babel_imagenet` reads. `<language>_classnames.json` has a name for every class, in the
    order of `wnids`, under "imagenet1k": languages without a gap, or, with `fill`, all, with the English name where a
    class has no label. Raises InputError where `fill` is asked for and English has a gap.
    """
    english = labels[labels["lang"] == "en"].set_index("wnid")["label"].reindex(wnids)
    if fill and english.isna().any():
        raise InputError(
            f"English has no label for {english.index[english.isna()][0]}, so that gaps cannot be filled with it: use "
            "a label set with all English names, or leave out the filling."
        )
    partial, whole = {}, {}
    for lang, rows in labels[labels["wnid"].isin(wnids)].groupby("lang"):
        named = rows.set_index("wnid")["label"].reindex(wnids)
        there = named.reset_index(drop=True).dropna()
        partial[lang.upper()] = [list(there.index), list(there)]
        if fill or len(there) == len(wnids):
            file = f"{CLIP_BENCHMARK_FILES.get(lang, lang)}_classnames.json"
            whole[file] = {"imagenet1k": list(named.fillna(english))}
    return {"babel_imagenet.json": partial} | whole


def write_json(content: dict, path: str | os.PathLike) -> Path:
    """Write JSON in ASCII, which readers take alike whatever encoding they expect; it appears whole or not at all."""
    return _write(path, json.dumps(content, indent=1) + "\n", ".json")


def model_index(found: pd.DataFrame, model: str) -> str:
    """Return the scores of one model as the YAML block of a model card on the hub (its `model-index`).

    `found`: rows of `leaderboard.main`. Each row of this model is one result: the language is the configuration of
    the data set, interval, n and protocol are the metric's arguments. It goes between the two lines "---" at the top of
    a README.md; huggingface_hub's `model_index_to_eval_results` reads it back.
    """
    from huggingface_hub import EvalResult, ModelCardData

    rows = found[found["model"] == model]
    if rows.empty:
        raise InputError(f"There are no scores of {model!r} to write: {', '.join(found['model'].unique())} have some.")
    results = [
        EvalResult(
            task_type=HUB_TASKS[row.task],
            dataset_type=row.dataset,
            dataset_name=f"{row.dataset} ({row.lang})",
            dataset_config=row.lang,
            metric_type=row.metric.rpartition(" ")[2].partition("@")[0],
            metric_name=", ".join(filter(None, (row.metric, row.variant))),
            metric_value=float(row.value),
            metric_args=_arguments(row),
        )
        for row in rows.itertuples()
    ]
    return ModelCardData(model_name=model, eval_results=results).to_yaml(line_break="\n") + "\n"


def _arguments(row) -> dict:
    places = row.metric.partition("@")[2]
    ends = {} if pd.isna(row.ci_low) else {"ci_low": float(row.ci_low), "ci_high": float(row.ci_high)}
    said = {column: getattr(row, column) for column in leaderboard.PROTOCOL if getattr(row, column)}
    return ({"k": int(places)} if places else {}) | {"n": int(row.n), **ends, **said}


def benchmark_entries(found: pd.DataFrame, model: str, benchmarks: dict[str, tuple[str, str]]) -> list[dict]:
    """Return the scores of one model as entries of a file in .eval_results on the hub.

    `benchmarks`: our name of a data set -> (id of the data set on the hub, id of its task), for data sets that are
    registered there as benchmarks, with one score each; `found` has one row for each, whose language and protocol are
    the entry's notes. Raises InputError where a data set has no score or several.
    """
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    entries = []
    for dataset, (identity, task) in benchmarks.items():
        rows = found[(found["dataset"] == dataset) & (found["model"] == model)]
        if len(rows) != 1:
            raise InputError(
                f"A benchmark on the hub takes one score of a model, got {len(rows)} of {model!r} on {dataset!r}: "
                "choose language, metric and protocol."
            )
        row = next(rows.itertuples())
        notes = f"{row.lang}; {row.metric}; {leaderboard.protocol(rows)}"
        entries.append(EvalResultEntry(dataset_id=identity, task_id=task, value=float(row.value), notes=notes))
    return eval_result_entries_to_yaml(entries)


def write_yaml(text: str, path: str | os.PathLike) -> Path:
    """Write text as a YAML file; it appears whole or not at all."""
    return _write(path, text, ".yaml")
