"""The numbers of Geigle et al. (2024), Babel-ImageNet, computed again: its tables, Figures 3 and 4, and its text.

What goes in: the paper's own tables (`published`), and, where its authors released them, the same numbers in full
precision: accuracies ("babel-imagenet-results"), retrieval ("babel-imagenet-retrieval") and counts. No result file was
released for OpenAI B-32 and ST mBERT B-32; their printed numbers stand in, and what they can be off by is the slack.

The authors' notebook (gregor-ge/Babel-ImageNet, evaluation_scripts/results_analysis.ipynb, commit
317c49896f04bc61d0c7a5dfc6fd4e3b0d8a9430) shows the outputs of their run, these two models among them: the parameters of
each model, the means of Table 2 to two decimals, and the limits of the groups. `data/geigle2024_notebook.csv` has them.

`python -m babelatlas.papers.geigle2024 FOLDER` makes the retrieval results and the counts again from a copy of
Babel-ImageNet's repository.
"""

import json
import os
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.analysis import coverage, training_languages
from babelatlas.base import languages, published, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA
from babelatlas.lexicon import prompts
from babelatlas.models import registry as models
from babelatlas.papers import claims, definitions
from babelatlas.papers.definitions import cells
from babelatlas.stats import bootstrap, correlation, rounding

PAPER = "geigle2024"
RETRIEVAL = DATA / "published" / "babel-imagenet-retrieval.csv"
COUNTS = DATA / "geigle2024_counts.csv"
NOTEBOOK = DATA / "geigle2024_notebook.csv"
CLAIMS = DATA / "claims" / "geigle2024.csv"
ENGLISH = "en"
# Images of each retrieval data set, which the released recalls of captions confirm (`image_counts`).
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


@cache
def notebook() -> pd.Series:
    """Return what the authors' notebook shows, indexed by kind and name. Do not change it: callers share it.

    kind "parameters": of each model; "group means": accuracy in percent, to two decimals, by model and column of Table
    2; "limits": the most classes that each group may have.
    """
    return pd.read_csv(NOTEBOOK).set_index(["kind", "name"])["value"]


def main(arguments: list[str] | None = None) -> int:
    """Make the released retrieval results and counts that ship again from a copy of the repository; return 0 or 1."""
    try:
        folder = prompts.repository("geigle2024", main.__doc__, arguments)
        retrieval = read_retrieval(folder / "results" / "retrieval")
        counted = read_counts(folder)
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    retrieval.to_csv(RETRIEVAL, index=False, lineterminator="\n")
    counted.to_csv(COUNTS, index=False, lineterminator="\n")
    print(f"{len(retrieval):,} recalls: {RETRIEVAL}\n{len(counted)} counts: {COUNTS}")
    return 0


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


# --- Definitions -------------------------------------------------------------------------------------


def released_accuracy() -> pd.DataFrame:
    """Return Tables 8 and 9 as released, of the ten models that have result files."""
    table = accuracies()[accuracies()["released"]]
    return cells(table["lang"] + " | " + table["model"], 100 * table["value"])


def nearest_accuracy() -> pd.DataFrame:
    """Return the shares of whole images nearest to Tables 8 and 9, of the two models without result files."""
    table = accuracies()[~accuracies()["released"]]
    return _nearest(table, table["lang"] + " | " + table["model"])


def _nearest(table: pd.DataFrame, names: pd.Series) -> pd.DataFrame:
    """Return the nearest share of whole cases in percent, of the rows where it could fail (two decimals of percent)."""
    testable = rounding.refutable(table["n"], 4) > 0
    return cells(names[testable], 100 * rounding.nearest_share(table["printed"], table["n"])[testable])


def _recall_names(table: pd.DataFrame, dataset: str) -> pd.Series:
    if dataset == "xm3600":
        return table["lang"].replace({"tl": "fil"}) + " | " + table["model"]
    return table["model"] + " | " + table["lang"].replace({"ja": "jp"})


def released_recall(dataset: str) -> pd.DataFrame:
    """Return Table 10, 11 or 12 as released, of the ten models that have result files."""
    table = recalls().query("dataset == @dataset and released")
    return cells(_recall_names(table, dataset), 100 * table["value"])


def nearest_recall(dataset: str) -> pd.DataFrame:
    """Return the shares of whole captions nearest to the recalls of ST mBERT B-32 on a data set."""
    table = recalls().query("dataset == @dataset and not released")
    return _nearest(table, _recall_names(table, dataset))


def mean_recall(dataset: str, english: bool) -> pd.DataFrame:
    """Return the mean over the languages of a data set by model, with English or without."""
    table = recalls().query("dataset == @dataset")
    table = table if english else table[table["lang"] != ENGLISH]
    means = table.groupby("model")[["value", "half"]].mean()
    names = ("average | " + means.index) if dataset == "xm3600" else (means.index + " | average")
    return cells(names, 100 * means["value"], 100 * means["half"].to_numpy())


def mean_accuracy() -> pd.DataFrame:
    """Return Table 2: the mean over the languages of each group, by model."""
    means = bootstrap.group_means(accuracies(), n_resamples=1)
    half = accuracies().groupby(["model", "group"])["half"].mean()
    slack = [half[row.model, row.group] for row in means.itertuples()]
    names = {group: column for column, group in COLUMNS.items()}
    return cells(means["model"] + " | " + means["group"].map(names), 100 * means["value"], 100 * np.array(slack))


def image_mean_accuracy() -> pd.DataFrame:
    """Return the same with every image of a group counting once, so that languages count by their classes."""
    table = accuracies()
    sums = table[["value", "half"]].mul(table["n"], axis=0).groupby([table["model"], table["group"]]).sum()
    means = sums.div(table.groupby(["model", "group"])["n"].sum(), axis=0).reset_index()
    names = {group: column for column, group in COLUMNS.items()}
    names = means["model"] + " | " + means["group"].map(names)
    return cells(names, 100 * means["value"], 100 * means["half"].to_numpy())


def released_parameters() -> pd.DataFrame:
    """Return the parameters of Table 2 as the result files have them, or else the authors' notebook, in millions."""
    shown = notebook().loc["parameters"]
    table = counts().loc["parameters"].reindex(shown.index).fillna(shown)
    return cells(table.index + " | Param.", table / 1e6)


def notebook_means() -> pd.DataFrame:
    """Return Table 2 as the authors' notebook shows it, to two decimals."""
    table = notebook().loc["group means"]
    return cells(table.index, table)


def used_parameters() -> pd.DataFrame:
    """Return the parameters of the two towers that each model uses (`models`), in whole millions."""
    known = {entry.paper_row: entry.parameters for entry in models.MODELS if entry.paper_row}
    return cells([f"{name} | Param." for name in known], list(known.values()), 0.5)


def class_counts() -> pd.DataFrame:
    """Return the classes of the languages of Table 5 that have a label in the released file."""
    table = coverage.babel_imagenet()
    table = table[table["lang"].isin(published.groups(PAPER)["lang"])]
    return cells(table["lang"], table["n_classes"])


def _labelled() -> pd.DataFrame:
    table = published.groups(PAPER)
    return table[table["lang"] != ENGLISH]


def group_sizes() -> pd.DataFrame:
    """Return how many languages each group of Table 5 has."""
    return cells(_labelled()["group"].value_counts().add_suffix(" | languages"))


def group_ends() -> pd.DataFrame:
    """Return the fewest and the most classes of a language in each group of Table 5."""
    ends = _labelled().groupby("group")["classes"].agg(["min", "max"])
    below = pd.Series({"low | classes of the easiest tasks": ends.loc["low", "max"]})
    return cells(pd.concat([ends["min"].add_suffix(" | from"), ends["max"].add_suffix(" | to"), below]))


def smallest_languages() -> pd.DataFrame:
    """Return how many of the languages that Section 3 calls the smallest are so by their classes in Table 5."""
    smallest = _labelled().nsmallest(len(SMALLEST), "classes")["lang"]
    return cells({"smallest languages, verified": smallest.isin(SMALLEST).sum()})


def benchmark_counts() -> pd.DataFrame:
    """Return how many languages, classes and models there are, by the tables and the release."""
    codes = set(_labelled()["lang"])
    with_tokens = codes & set(coverage.tokens()["lang"])
    table = published.models()
    found = {
        "languages of Babel-ImageNet": len(codes),
        "languages of XLM-R's training": len(with_tokens),
        "languages selected by hand": len(codes - with_tokens),
        "multilingual models": (table["languages"] != "1").sum(),
        "languages with at least 10 classes": counts()["labels", "entries"],
        "classes of the smallest of these languages": counts()["labels", "fewest classes"],
        "variants of M-CLIP": (table["family"] == "M-CLIP").sum(),
        "prompt templates": prompts.released_defects()["n_templates"].unique().item(),
    }
    return cells(found)


def released_languages_but_english() -> pd.DataFrame:
    """Return the entries of the released label file without English and Simple English."""
    return cells({"languages with at least 10 classes": counts()["labels", "other languages"]})


def retrieval_languages(english: bool, unlabelled: bool) -> pd.DataFrame:
    """Return how many languages Tables 10 to 12 have, with English or not, with those without labels or not."""
    table = recalls()[["dataset", "lang"]].drop_duplicates()
    left_out = (set() if english else {ENGLISH}) | (set() if unlabelled else set(UNLABELLED))
    sizes = table[~table["lang"].isin(left_out)].groupby("dataset").size()
    found = {f"languages | {DATASETS[name]}": size for name, size in sizes.items()}
    return cells(found | {"languages with both | XM3600": sizes["xm3600"]})


def image_counts() -> pd.DataFrame:
    """Return how many images a retrieval data set has: the denominator of the released recalls of captions."""
    table = published.read("babel-imagenet-retrieval").query("metric == @I2T")
    # Single-precision shares of some thousand images are whole to a thousandth.
    return cells(
        {
            f"images | {DATASETS[dataset]}": rounding.denominator(part["value"], 500, 10_000, tolerance=0.01)
            for dataset, part in table.groupby("dataset")
        }
    )


def product_of_captions() -> pd.DataFrame:
    """Return the printed captions times the printed languages of NLLB-SigLIP's training, in millions."""
    table = claims.printed(PAPER, "Section 4")
    thousands, codes = table["NLLB-SigLIP | pairs of image and caption"], table["NLLB-SigLIP | #Langs"]
    return cells({"NLLB-SigLIP | examples": thousands * codes / 1000})


def rival(codes: Iterable[str]) -> pd.Series:
    """Return how far M-CLIP XLMR-L L-14 is ahead of OpenCLIP XLMR-L H-14 in each of the languages, in points."""
    wide = accuracies()[accuracies()["lang"].isin(codes)].pivot(index="lang", columns="model", values="value")
    return 100 * (wide["M-CLIP XLMR-L L-14"] - wide["OpenCLIP XLMR-L H-14"])


def _groups(*names: str) -> set[str]:
    table = published.groups(PAPER)
    return set(table.loc[table["group"].isin(names), "lang"])


def small_languages() -> set[str]:
    """Return the low-resource languages of Table 7: low and very low, without the eight selected by hand."""
    table = training_languages.three_groups(PAPER)
    return set(table.loc[table["group"] == "low", "lang"])


LEAD = "low-resource languages | M-CLIP XLMR-L L-14 minus OpenCLIP XLMR-L H-14"


def lead(groups: Iterable[str] = ()) -> pd.DataFrame:
    """Return the mean of `rival` over the languages of some groups, or over those of `small_languages`."""
    return cells({LEAD: rival(_groups(*groups) if groups else small_languages()).mean()})


def lead_of_images() -> pd.DataFrame:
    """Return the lead over the low group with every image counting once."""
    low = rival(_groups("low"))
    return cells({LEAD: np.average(low, weights=_labelled().set_index("lang")["classes"][low.index])})


def lead_with_labels() -> pd.DataFrame:
    """Return the lead over the low group with the bare label as prompt, from the released results."""
    table = published.read("babel-imagenet-results").query("variant == 'label only'")
    means = table[table["lang"].isin(_groups("low"))].groupby("model")["value"].mean()
    return cells({LEAD: 100 * (means["M-CLIP XLMR-L L-14"] - means["OpenCLIP XLMR-L H-14"])})


def lead_of_100_classes() -> pd.DataFrame:
    """Return the lead over the low group in Table 3, as printed."""
    table = published.read(PAPER).query("table == '3' and group == 'low'").set_index("model")["value"]
    return cells({LEAD: 100 * (table["M-CLIP XLMR-L L-14"] - table["OpenCLIP XLMR-L H-14"])}, slack=2 * HALF)


def english_gap() -> pd.DataFrame:
    """Return how far OpenCLIP XLMR-L H-14 is ahead of M-CLIP XLMR-L L-14 in English, in points."""
    return cells({"English | OpenCLIP XLMR-L H-14 minus M-CLIP XLMR-L L-14": -rival([ENGLISH]).item()})


def retrieval_correlation(method: str, english: bool, y: str) -> pd.DataFrame:
    """Return the correlation of accuracy with column `y` of `pairs` on each data set, with English or without."""
    table = pairs().dropna(subset=[y])
    table = table if english else table[table["lang"] != ENGLISH]
    rows = []
    for dataset, part in table.groupby("dataset"):
        value = correlation.correlate(part, "accuracy", y, methods=[method], n_resamples=1)["value"].item()
        # One model has printed numbers only; the bound takes all to be as uncertain as those.
        halves = part["accuracy_half"].max(), part["recall_half"].max()
        slack = rounding.rounding_slack(part["accuracy"], part[y], *halves, method)
        rows.append((DATASETS[dataset], value, slack))
    names, values, slacks = zip(*rows, strict=True)
    return cells(names, values, np.array(slacks))


def token_correlation(tokens: str, english: bool) -> pd.DataFrame:
    """Return Spearman's correlation of classes and XLM-R tokens; English has all 1,000 classes."""
    sizes = published.groups(PAPER).rename(columns={"classes": "n_classes"})
    found = coverage.token_correlation({"": sizes}, n_resamples=1)
    row = found[(found["tokens"] == tokens) & (found["english"] == english) & (found["method"] == "spearman")]
    return cells({"classes and XLM-R tokens | Spearman": row["value"].item()})


DEFINITIONS = definitions.read(PAPER, "geigle2024", globals())


# --- What does not fit together ----------------------------------------------------------------------


def group_table(number: str) -> pd.DataFrame:
    """Return Table 2 or 3 as printed, in percent: rows model, columns very low, low, mid, high, English."""
    table = published.read(PAPER).query("table == @number and task == 'zeroshot'")
    column = table["group"].where(table["group"] != "", "English")
    wide = (100 * table.assign(column=column).pivot(index="model", columns="column", values="value")).round(2)
    return wide[list(COLUMNS.values())]


def against_order(table: pd.DataFrame) -> list[str]:
    """Return the multilingual models of a table of groups that are not worse in low and mid than in high."""
    kept = table.drop("OpenAI B-32", errors="ignore")
    return kept.index[(kept[["low", "mid"]].ge(kept["high"], axis=0)).any(axis=1)].tolist()


def errata(available: dict[str, Path] | None = None) -> pd.DataFrame:
    """Return inconsistencies and remarks, as `scorecard.errata` puts them together; nothing released is needed."""
    return definitions.errata(PAPER, "geigle2024", _language_facts() | _cell_facts() | _text_facts())


def _language_facts() -> dict[str, dict]:
    """Return what is found on groups of languages: where they begin, how many a data set has, who leads in them."""
    ends = _labelled().groupby("group")["classes"].agg(["min", "max"])
    smallest = _labelled().query("group == 'high'").sort_values("classes")["lang"].iloc[0]
    sizes = {
        english: retrieval_languages(english, False).set_index("cell")["value"].astype(int) for english in (False, True)
    }
    told = {
        english: ", ".join(f"{found[f'languages | {name}']} on {name}" for name in DATASETS.values())
        for english, found in sizes.items()
    }
    low, very_low, small = rival(_groups("low")), rival(_groups("very low")), rival(small_languages())
    left = sorted(_groups("low", "very low") - small_languages())
    bare = set(accuracies().query("variant == 'label only'")["lang"])
    return {
        "high": {
            "language": languages.name(smallest),
            "fewest": ends.loc["high", "min"],
            "largest": ends.loc["mid", "max"],
            "limit": int(notebook()["limits", "mid"]),
            "before": ends.loc["high", "min"] - 1,
        },
        "languages-covered": {
            "without": told[False],
            "with_english": told[True],
            "every": retrieval_languages(True, True).set_index("cell")["value"].astype(int)["languages | XM3600"],
            "n_unlabelled": len(UNLABELLED),
        },
        "lead": {
            "low": low.mean(),
            "n_low": len(low),
            "very_low": very_low.mean(),
            "n_very_low": len(very_low),
            "n_small": len(small),
            "small": small.mean(),
            "left": ", ".join(map(languages.name, left)),
            "n_left": len(left),
            "lead_left": rival(left).mean(),
            "n_bare": len(bare.intersection(left)),
        },
    }


def _cell_facts() -> dict[str, dict]:
    """Return what is found on single cells and columns of Tables 2, 3 and 11."""
    second, third = group_table("2"), group_table("3")
    both = second.loc[third.index, "very low"]
    (odd,) = both.index[(both - third["very low"]).abs() > HALF]
    mean = mean_accuracy().set_index("cell")["value"][f"{odd} | v-low"]
    group = _labelled().query("group == 'very low'").sort_values("classes")
    images = 50 * group["classes"].iloc[0]  # ImageNet's validation set has 50 images of each class
    off = third.loc[odd, "very low"] - HALF - mean  # from where the mean is rounded up
    printed = published.read(PAPER).query("task == 'retrieval' and table == '11' and lang == ''")
    printed = (100 * printed.set_index("model")["value"]).round(2)
    found = {}
    for english in (False, True):
        table = mean_recall("xm3600", english)
        found[english] = table.set_index(table["cell"].str.removeprefix("average | "))["value"]
    met = {english: int(((means_ - printed).abs() <= 2 * HALF + 1e-9).sum()) for english, means_ in found.items()}
    farthest = (found[False] - printed).abs()
    same = (found[False].rank() == found[True].rank()).all()
    known = {entry.paper_row: entry.parameters for entry in models.MODELS if entry.paper_row}
    sizes = published.models().set_index("model")["parameters"]
    surplus = (sizes - pd.Series(known)).round()
    more = surplus[surplus > 1].sort_values()
    return {
        "very-low": {
            "n_same": len(third) - 1,
            "n": len(third),
            "model": odd,
            "second": both[odd],
            "third": third.loc[odd, "very low"],
            "mean": mean,
            "needed": int(np.ceil(off / 100 * len(group) * images - 1e-9)),
            "language": languages.name(group["lang"].iloc[0]),
            "images": images,
        },
        "averages": {
            "met_english": met[True],
            "n": len(printed),
            "met": met[False],
            "farthest": farthest.max(),
            "model": farthest.idxmax(),
            "value": found[False][farthest.idxmax()],
            "conclusion": f"{'No' if same else 'Yes'}: the order of the models {'stays' if same else 'changes'}.",
        },
        "parameters": {
            "used": ", ".join(
                f"{known[model]:.0f} million in {model} (printed: {sizes[model]})" for model in more.index
            ),
            "n_others": len(sizes) - len(more),
        },
    }


def _text_facts() -> dict[str, dict]:
    """Return what is found on the text: Figure 4, and what Section 4 says of models in low-resource languages."""
    spearman = {
        f"{tokens}{english}": token_correlation(tokens, bool(english))["value"].item()
        for tokens in ("as printed", "corrected")
        for english in ("", ", English")
    }
    listed = published.read("conneau2020").query("metric == 'tokens (millions)'")
    wide = listed.pivot_table(index="lang", columns="variant", values="value")
    wrong = wide[wide["as printed"] != wide["corrected"]]
    second, third = group_table("2"), group_table("3")
    exceptions = [model for model in against_order(second) if not model.startswith("NLLB")]
    above = second.loc[exceptions, ["low", "mid"]].max(axis=1) - second.loc[exceptions, "high"]
    distilled = published.models().query("family == 'M-CLIP'")["model"]
    beaten = [model for model in distilled if second.loc["mSigLIP", "low"] > second.loc[model, "low"]]
    table = accuracies()
    small, both = (
        100 * table[table["lang"].isin(codes)].groupby("model")["value"].mean()
        for codes in (small_languages(), _groups("low", "very low"))
    )
    return {
        "tokens": spearman
        | {
            "wrong": ", ".join(
                f"{languages.name(lang)} ({row['as printed']:g} for {row['corrected']:,.0f} million)"
                for lang, row in wrong.iterrows()
            )
        },
        "exceptions": {
            "models": " and ".join(exceptions),
            "above": "; ".join(f"{model}: {gap:.2f} points above its mean in high" for model, gap in above.items()),
            "n_holds": len(third) - len(against_order(third)),
            "n": len(third),
        },
        "msiglip": {
            "low": second.loc["mSigLIP", "low"],
            "n_beaten": len(beaten),
            "n_distilled": len(distilled),
            "beaten": ", ".join(beaten),
            "n_both": len(_groups("low", "very low")),
            "both": both["mSigLIP"],
            "n_behind": (both[distilled] < both["mSigLIP"]).sum(),
            "n_small": len(small_languages()),
            "small": small["mSigLIP"],
            "n_ahead": (small[distilled] > small["mSigLIP"]).sum(),
            "very_low": second.loc["mSigLIP", "very low"],
            "n_lowest": (second.loc[distilled, "very low"] > second.loc["mSigLIP", "very low"]).sum(),
        },
    }


if __name__ == "__main__":
    sys.exit(main())
