"""Results by language in the files of mteb and CLIP_benchmark, two harnesses of models
with embeddings, as `scores`.

mteb (embeddings-benchmark/mteb, from 1.11) writes a JSON file for each task:
`task_name`, and in `scores` for each split a list of subsets with their metrics; the
model stands in `model_meta.json` next to it. CLIP_benchmark (LAION-AI/CLIP_benchmark)
writes a JSON file for each data set and language (`dataset`, `model`, `pretrained`,
`task`, `metrics`, `language`), and `clip_benchmark build` a CSV file with a row for
each of them.
"""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd

from atlas_build import generative_results, harness_logs, harness_results
from babelatlas.base import own_tables
from babelatlas.base.errors import InputError, near

# Harness -> the keys by which its file is known; CLIP_benchmark's CSV has its metrics
# as columns.
MTEB, CLIP_BENCHMARK = "mteb", "CLIP_benchmark"
KEYS = {
    MTEB: {"task_name", "scores"},
    CLIP_BENCHMARK: {"dataset", "model", "pretrained", "task", "language"},
}
# The names of the harnesses in the released results.
RELEASED = {MTEB: "mteb", CLIP_BENCHMARK: "clip_benchmark"}
# CLIP_benchmark's names of data sets; files of web datasets have "wds/" before them,
# and underscores for hyphens.
DATASETS = {
    "crossmodal3600": "xm3600",
    "multilingual_mscoco_captions": "xtd",
    "xtd10": "xtd",
    "xtd200": "xtd-200",
    "flickr30k": "flickr30k",
    "flickr30k-200": "flickr30k-200",
    "mscoco_captions": "mscoco",
    "babel_imagenet": "babel-imagenet",
    "imagenet1k": "imagenet-1k",
    "imagenetv2": "imagenet-v2",
}
DATASETS |= {
    f"imagenet{sign}{kind}": f"imagenet-{kind}"
    for kind in ("a", "r", "sketch")
    for sign in "-_"
}
METRICS = {
    "acc1": "accuracy@1",
    "acc5": "accuracy@5",
    "mean_per_class_recall": "mean per class",
}
WAYS = {"image": "t2i", "text": "i2t"}
MTEB_COLUMNS = [
    f"{kind}_at_{k}" for kind in ("cv_recall", "recall", "hit") for k in (1, 5, 10)
]
MTEB_COLUMNS += ["ndcg_at_10", "accuracy", "cosine_spearman"]
BROKEN = (*harness_logs.BROKEN, ValueError)


def made_by(path: Path) -> str:
    """Return which of the two harnesses wrote a JSON or CSV file, by its keys or
    columns; "" for neither.
    """
    try:
        if path.suffix == ".csv":
            found = own_tables.read(path, "results")
        else:
            found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):  # what cannot be read is refused by who reads it
        return ""
    if isinstance(found, dict | pd.DataFrame):
        for harness, keys in KEYS.items():
            if keys <= set(found):
                return harness
    return ""


def read(path: Path, model: str = "") -> pd.DataFrame:
    """Return a file's results by language, schema `scores`; `model`: its name here, ""
    for the released one it names.

    `variant` is the harness and the direction of retrieval; n and intervals are as for
    the released results of the harness, n 0 where they cannot be established. Raises
    InputError for another format, a task or data set that is not known here, a value
    that is no number, and an unknown model.
    """
    harness = made_by(path)
    try:
        rows = _mteb(path) if harness == MTEB else _clip_benchmark(path)
    except InputError:
        raise
    except BROKEN as error:
        raise InputError(
            f"it is no file in {harness}'s present format ({error!r}): write it again."
        ) from error
    checkpoints = rows["checkpoint"].unique()
    if model and len(checkpoints) > 1:
        raise InputError(
            f"it has results of {len(checkpoints)} models: leave --model out, or split"
            " it."
        )
    bad = rows[~np.isfinite(rows["value"])]
    if len(bad):
        first = bad.iloc[0]
        raise InputError(
            f"its {first['metric']} in {first['lang']} is {first['value']}, not a"
            " number: compute it again."
        )
    names = {name: harness_logs.model_name(name, model) for name in checkpoints}
    rows = harness_results.named(rows)
    rows = rows.assign(harness=RELEASED[harness], model=rows["checkpoint"].map(names))
    rows = harness_results.with_intervals(rows)
    variants = []
    for direction, variant in zip(rows["direction"], rows["variant"], strict=True):
        details = ", ".join(part for part in (direction, variant) if part)
        variants.append(f"{harness}: {details}" if details else harness)
    return rows.assign(group="", variant=variants)


def _mteb(path: Path) -> pd.DataFrame:
    """Return the rows of one of mteb's tasks, in the columns of `harness_results.READ`."""
    result = json.loads(path.read_text("utf-8"))
    rows = []
    for split, subsets in result["scores"].items():
        for subset in subsets:
            row = {
                "split": split,
                "subset": subset["hf_subset"],
                "languages": " ".join(subset["languages"]),
            }
            for column in MTEB_COLUMNS:
                value = subset.get(column)
                row[column] = "" if value is None else str(value)
            rows.append(row)
    about = path.with_name("model_meta.json")
    model = json.loads(about.read_text("utf-8"))["name"] if about.is_file() else ""
    table = pd.DataFrame(rows).assign(
        task=result["task_name"],
        model=model,
        model_revision="",
        dataset_revision=result["dataset_revision"],
    )
    if generative_results.DOCUMENTS.match(result["task_name"]):
        return generative_results.document_sets(table, "").assign(direction="")
    if result["task_name"] not in harness_results.MTEB_TASKS:
        hint = near(result["task_name"], harness_results.MTEB_TASKS)
        raise InputError(
            f"mteb's task {result['task_name']!r} is none of those with images and"
            f" languages: {hint}"
        )
    found = harness_results.mteb_rows(table, "")
    if found.empty:
        raise InputError(
            f"mteb's task {result['task_name']!r} has no metric that is known here:"
            f" {harness_logs.OTHER}"
        )
    return found


def _clip_benchmark(path: Path) -> pd.DataFrame:
    """Return the rows of CLIP_benchmark's JSON file of a data set, or of its CSV file
    of several.
    """
    if path.suffix == ".csv":
        results = own_tables.read(path, "results").to_dict("records")
    else:
        result = json.loads(path.read_text("utf-8"))
        results = [result | result["metrics"]]
    rows = []
    for result in results:
        name = result["dataset"].removeprefix("wds/")
        if name not in DATASETS:
            raise InputError(
                f"CLIP_benchmark's data set {name!r} is not known here:"
                f" {near(name, DATASETS)}"
            )
        facts = {
            "checkpoint": f"{result['model']}, {result['pretrained']}",
            "dataset": DATASETS[name],
            "lang": result["language"],
            "variant": "",
            "decimals": harness_results.FULL,
            "address": path.name,
        }
        for key, value in result.items():
            metric = _metric(key)
            if metric and value != "":
                rows.append(facts | metric | {"value": float(value)})
    if not rows:
        raise InputError(f"it has no metric that is known here: {harness_logs.OTHER}")
    return pd.DataFrame(rows)


def _metric(key: str) -> dict[str, str]:
    """Return metric and direction of one of CLIP_benchmark's keys; {} where it is no
    metric that is known here.
    """
    if key in METRICS:
        return {"metric": METRICS[key], "direction": ""}
    match = re.fullmatch(r"(image|text)_retrieval_(recall@\d+)", key)
    return {"metric": match[2], "direction": WAYS[match[1]]} if match else {}
