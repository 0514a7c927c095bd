"""The numbers of Geigle et al. (2024), Babel-ImageNet, computed again: its tables, Figures 3 and 4, and its text.

What goes in: the paper's own tables (`published`), and, where its authors released them, the same numbers in full
precision: accuracies ("babel-imagenet-results"), retrieval ("babel-imagenet-retrieval") and counts. No result file was
released for OpenAI B-32 and ST mBERT B-32; their printed numbers stand in, and what they can be off by is the slack.

`python -m babelatlas.geigle2024 FOLDER` makes the last two again from a copy of Babel-ImageNet's repository.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas import InputError, coverage, languages, models, prompts, published, rounding, stats, tables
from babelatlas.scorecard import Definition

PAPER = "geigle2024"
DATA = Path(__file__).parent / "data"
RETRIEVAL = DATA / "published" / "babel-imagenet-retrieval.csv"
COUNTS = DATA / "geigle2024_counts.csv"
ENGLISH = "en"
# Images of each retrieval data set: Tables 10 to 12 (xFlickrCO 2,000, Crossmodal-3600, XTD 1,000).
IMAGES = {"xflickrco": 2000, "xm3600": 3600, "xtd": 1000}
DATASETS = {"xflickrco": "xFlickrCo", "xm3600": "XM3600", "xtd": "XTD"}
NUMBERS = {"xflickrco": "10", "xm3600": "11", "xtd": "12"}
T2I, I2T = "recall@1 text-to-image", "recall@1 image-to-text"
# Half a unit of the last printed digit of an accuracy or recall, in points.
HALF = 0.005
# Columns of Tables 2 and 3 as the claims name them -> groups.
COLUMNS = {"v-low": "very low", "low": "low", "mid": "mid", "high": "high", "en": "English"}
# Languages without ImageNet labels, and so without zero-shot accuracy: Māori and Cusco Quechua (Section 5, footnote).
UNLABELLED = ("mi", "quz")


# --- What is released --------------------------------------------------------------------------------


def read_retrieval(folder: str | os.PathLike) -> pd.DataFrame:
    """Return Babel-ImageNet's released recall@1 on three data sets in both directions, schema `published`.

    `folder` holds a folder of JSON files for each data set ("results/retrieval" of its repository), one for each model;
    two models are not in the paper. `value` is rounded to 6 decimals. `n` are queries: the images for image-to-text; for
    text-to-image the captions, a number that the files do not tell: it is the smallest of which all models' recalls at 1,
    5 and 10 are whole numbers (`rounding.denominator`). Raises InputError where a file is missing or of another kind.
    """
    parts = []
    for dataset in IMAGES:
        for name, model in prompts.RESULT_MODELS.items():
            path = tables.locate(folder) / dataset / f"{name}.json"
            try:
                table = pd.DataFrame(json.loads(path.read_text(encoding="utf-8"))["results"])
                table = table[["lang", *(f"{way}_r@{k}" for way in ("t2i", "i2t") for k in (1, 5, 10))]]
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise InputError(
                    f"The results {path} cannot be read ({error!r}): give the folder results/retrieval of a copy of "
                    "Babel-ImageNet's repository."
                ) from error
            parts.append(table.assign(dataset=dataset, model=model, table=f"results/retrieval/{dataset}/{name}.json"))
    table = pd.concat(parts, ignore_index=True)
    table["lang"] = table["lang"].map(languages.canonical)
    recalls = ["t2i_r@1", "t2i_r@5", "t2i_r@10"]
    captions = {
        key: rounding.denominator(part[recalls].to_numpy(float).ravel(), IMAGES[key[0]], 4 * IMAGES[key[0]])
        for key, part in table.groupby(["dataset", "lang"])
    }
    found = []
    for column, metric in (("t2i_r@1", T2I), ("i2t_r@1", I2T)):
        keys = zip(table["dataset"], table["lang"], strict=True)
        n = [captions[key] if metric == T2I else IMAGES[key[0]] for key in keys]
        found.append(table.assign(value=table[column].round(6), metric=metric, n=n))
    constant = {"task": "retrieval", "group": "", "variant": "", "note": ""}
    constant |= {"ci_low": np.nan, "ci_high": np.nan, "source": "babel-imagenet-retrieval"}
    table = pd.concat(found).assign(**constant)
    table = table.sort_values(["metric", "dataset", "model", "lang"], ignore_index=True)
    return tables.check(table[[*tables.SCHEMAS["published"][0]]], "published")


def read_counts(folder: str | os.PathLike) -> pd.DataFrame:
    """Return what the release says of its size: columns kind, name, value (a count).

    `folder`: a copy of Babel-ImageNet's repository. kind "parameters": of each model (name), as its result file says;
    kind "labels": "entries" (languages in the file of all labels, as its authors count them), "fewest classes" among
    them, "other languages" (entries but English and Simple English). Raises InputError where a file is missing or of
    another kind.
    """
    rows = []
    path = tables.locate(folder)
    try:
        for name, model in prompts.RESULT_MODELS.items():
            path = tables.locate(folder) / "results" / "babel-imagenet" / f"{name}.json"
            rows.append(("parameters", model, json.loads(path.read_text(encoding="utf-8"))["meta"]["parameters"]))
        path = tables.locate(folder) / "data" / "babel_imagenet-298.json"
        labels = json.loads(path.read_text(encoding="utf-8"))
        fewest = min(len(places) for places, _ in labels.values())
        english = sum(code.lower() in (ENGLISH, "simple") for code in labels)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"The file {path} cannot be read ({error!r}): give a copy of Babel-ImageNet's repository."
        ) from error
    rows += [("labels", "entries", len(labels)), ("labels", "fewest classes", fewest)]
    rows += [("labels", "other languages", len(labels) - english)]
    return pd.DataFrame(rows, columns=["kind", "name", "value"])


@cache
def counts() -> pd.Series:
    """Return the counts of the release as shipped, indexed by kind and name. Do not change it: callers share it."""
    return pd.read_csv(COUNTS).set_index(["kind", "name"])["value"]


def main(arguments: list[str] | None = None) -> int:
    """Make the released retrieval results and counts that ship again from a copy of the repository; return 0 or 1."""
    parser = argparse.ArgumentParser(prog="python -m babelatlas.geigle2024", description=main.__doc__)
    mirror = os.environ.get("BABELATLAS_MIRROR")
    parser.add_argument(
        "folder",
        nargs="?",
        default=Path(mirror) / "babel-imagenet" if mirror else None,
        help="a copy of the repository gregor-ge/Babel-ImageNet; left out, babel-imagenet in BABELATLAS_MIRROR",
    )
    folder = parser.parse_args(arguments).folder
    try:
        if folder is None:
            raise InputError("Give a copy of Babel-ImageNet's repository, or set BABELATLAS_MIRROR.")
        retrieval = read_retrieval(Path(folder).absolute() / "results" / "retrieval")
        counted = read_counts(Path(folder).absolute())
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    retrieval.to_csv(RETRIEVAL, index=False, lineterminator="\n")
    counted.to_csv(COUNTS, index=False, lineterminator="\n")
    print(f"{len(retrieval):,} recalls: {RETRIEVAL}\n{len(counted)} counts: {COUNTS}")
    return 0


DEFINITIONS: tuple[Definition, ...] = ()


if __name__ == "__main__":
    sys.exit(main())
