"""Geigle et al. (2024), Babel-ImageNet: what was released; accuracies and recalls in full precision if any."""

import json
import os
from functools import cache

import numpy as np
import pandas as pd

from babelatlas.analysis import prompt_gains
from babelatlas.base import languages, published, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA
from babelatlas.stats import rounding

PAPER = "geigle2024"
RETRIEVAL = DATA / "published" / "babel-imagenet-retrieval.csv"
COUNTS = DATA / "geigle2024_counts.csv"
NOTEBOOK = DATA / "geigle2024_notebook.csv"
CLAIMS = DATA / "claims" / "geigle2024.csv"
ENGLISH = "en"
# Images of each retrieval data set, which the released recalls of captions confirm (`image_counts`).
IMAGES = {"xflickrco": 2000, "xm3600": 3600, "xtd": 1000}
DATASETS = {"xflickrco": "xFlickrCo", "xm3600": "XM3600", "xtd": "XTD"}
T2I, I2T = "recall@1 text-to-image", "recall@1 image-to-text"
# Half a unit of the last printed digit of an accuracy or recall, in points.
HALF = 0.005
# Columns of Tables 2 and 3 as the claims name them -> groups.
COLUMNS = {"v-low": "very low", "low": "low", "mid": "mid", "high": "high", "en": "English"}
# Languages without ImageNet labels, and so without zero-shot accuracy: Māori and Cusco Quechua (Section 5, footnote).
UNLABELLED = ("mi", "quz")
# The languages that Section 3 calls the three smallest.
SMALLEST = ("xh", "om", "ha")


# --- What is released --------------------------------------------------------------------------------


def read_retrieval(folder: str | os.PathLike) -> pd.DataFrame:
    """Return Babel-ImageNet's released recall@1 on three data sets in both directions, schema `published`.

    `folder` holds a folder of JSON files for each data set ("results/retrieval" of its repository), one for each
    model; two models are not in the paper. `value` is rounded to 6 decimals. `n` are queries: for image-to-text the
    images, for text-to-image the captions, a number that the files do not tell: it is the smallest of which all models'
    recalls at 1, 5 and 10 are whole numbers (`rounding.denominator`). Raises InputError where a file is missing or of
    another kind.
    """
    parts = []
    for dataset in IMAGES:
        for name, model in prompt_gains.RESULT_MODELS.items():
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
        for name, model in prompt_gains.RESULT_MODELS.items():
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


@cache
def notebook() -> pd.Series:
    """Return what the authors' notebook shows, indexed by kind and name. Do not change it: callers share it.

    kind "parameters": of each model; "group means": accuracy in percent, to two decimals, by model and column of Table
    2; "limits": the most classes that each group may have.
    """
    return pd.read_csv(NOTEBOOK).set_index(["kind", "name"])["value"]


# --- Numbers in full precision where they are released ----------------------------------------------


@cache
def accuracies() -> pd.DataFrame:
    """Return accuracy by model and language, as released where it is, else as printed in Tables 8 and 9.

    Columns: model, lang, group, classes, n (images), printed and value (fractions; value is the released one, of 6
    decimals, or the printed one), half (by how much value can be off: 0 or half a printed unit), released (flag). Do
    not change the table: every caller gets the same one.
    """
    table = published.by_language(PAPER).rename(columns={"value": "printed"})
    found = published.read("babel-imagenet-results")[["model", "lang", "variant", "value"]]
    return _preferred(table, found, ["model", "lang", "variant"])


@cache
def recalls() -> pd.DataFrame:
    """Return text-to-image recall@1 by data set, model and language, as released where it is, else as printed.

    Columns: dataset, model, lang, n (captions), printed, value, half, released as in `accuracies`, and image_to_text
    (the released recall@1 of captions, NaN where there is none). Do not change the table.
    """
    table = published.read(PAPER)
    table = table.loc[(table["task"] == "retrieval") & (table["lang"] != ""), ["dataset", "model", "lang", "value"]]
    found = published.read("babel-imagenet-retrieval")
    key = ["dataset", "model", "lang"]
    table = _preferred(
        table.rename(columns={"value": "printed"}), found.loc[found["metric"] == T2I, [*key, "value"]], key
    )
    back = found.loc[found["metric"] == I2T, [*key, "value"]].rename(columns={"value": "image_to_text"})
    captions = found[found["metric"] == T2I].groupby(["dataset", "lang"])["n"].first().rename("n").reset_index()
    table = table.merge(back, on=key, how="left").merge(captions, on=["dataset", "lang"], how="left")
    # The decimals of a printed recall are those of its table: Table 12 has one.
    return table.assign(half=table["half"].mask(~table["released"] & (table["dataset"] == "xtd"), 10 * HALF / 100))


def _preferred(printed: pd.DataFrame, released: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    table = printed.merge(released, on=key, how="left", validate="one_to_one")
    known = table["value"].notna()
    return table.assign(
        value=table["value"].fillna(table["printed"]), half=np.where(known, 0, HALF / 100), released=known
    )


def pairs() -> pd.DataFrame:
    """Return retrieval beside zero-shot accuracy in full precision: `published.retrieval` with the released numbers.

    Columns: dataset, model, lang, recall, recall_half, image_to_text, accuracy, accuracy_half (fractions).
    """
    names = {"value": "accuracy", "half": "accuracy_half"}
    accuracy = accuracies().rename(columns=names)[["model", "lang", *names.values()]]
    names = {"value": "recall", "half": "recall_half"}
    table = recalls().rename(columns=names)[["dataset", "model", "lang", *names.values(), "image_to_text"]]
    return table.merge(accuracy, on=["model", "lang"], validate="many_to_one")
