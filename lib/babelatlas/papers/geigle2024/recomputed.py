"""Geigle et al. (2024), Babel-ImageNet: its numbers computed again, by the cells of its claims."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from babelatlas.analysis import coverage, training_languages
from babelatlas.base import published
from babelatlas.lexicon import prompts
from babelatlas.models import registry as models
from babelatlas.papers import claims
from babelatlas.papers.definitions import cells
from babelatlas.papers.geigle2024.released import (
    COLUMNS,
    DATASETS,
    ENGLISH,
    HALF,
    I2T,
    PAPER,
    SMALLEST,
    UNLABELLED,
    accuracies,
    counts,
    notebook,
    pairs,
    recalls,
)
from babelatlas.stats import bootstrap, correlation, rounding

# --- Definitions -------------------------------------------------------------------------------------


def released_accuracy() -> pd.DataFrame:
    """Return Tables 8 and 9 as released, of the ten models that have result files."""
    table = accuracies()[accuracies()["released"]]
    return cells(table["lang"] + " | " + table["model"], 100 * table["value"])


def nearest_accuracy() -> pd.DataFrame:
    """Return the shares of whole images nearest to Tables 8 and 9, of the two models without result files."""
    table = accuracies()[~accuracies()["released"]]
    return nearest_shares(table, table["lang"] + " | " + table["model"])


def nearest_shares(table: pd.DataFrame, names: pd.Series) -> pd.DataFrame:
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
    return nearest_shares(table, _recall_names(table, dataset))


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


def labelled_languages() -> pd.DataFrame:
    """Return the languages of Table 5 without English: lang, group, classes."""
    table = published.groups(PAPER)
    return table[table["lang"] != ENGLISH]


def group_sizes() -> pd.DataFrame:
    """Return how many languages each group of Table 5 has."""
    return cells(labelled_languages()["group"].value_counts().add_suffix(" | languages"))


def group_ends() -> pd.DataFrame:
    """Return the fewest and the most classes of a language in each group of Table 5."""
    ends = labelled_languages().groupby("group")["classes"].agg(["min", "max"])
    below = pd.Series({"low | classes of the easiest tasks": ends.loc["low", "max"]})
    return cells(pd.concat([ends["min"].add_suffix(" | from"), ends["max"].add_suffix(" | to"), below]))


def smallest_languages() -> pd.DataFrame:
    """Return how many of the languages that Section 3 calls the smallest are so by their classes in Table 5."""
    smallest = labelled_languages().nsmallest(len(SMALLEST), "classes")["lang"]
    return cells({"smallest languages, verified": smallest.isin(SMALLEST).sum()})


def benchmark_counts() -> pd.DataFrame:
    """Return how many languages, classes and models there are, by the tables and the release."""
    codes = set(labelled_languages()["lang"])
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
    table = published.read("babel-imagenet-retrieval")
    table = table[table["metric"] == I2T]
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


def languages_of(*names: str) -> set[str]:
    """Return the languages of some groups of Table 5."""
    table = published.groups(PAPER)
    return set(table.loc[table["group"].isin(names), "lang"])


def small_languages() -> set[str]:
    """Return the low-resource languages of Table 7: low and very low, without the eight selected by hand."""
    table = training_languages.three_groups(PAPER)
    return set(table.loc[table["group"] == "low", "lang"])


LEAD = "low-resource languages | M-CLIP XLMR-L L-14 minus OpenCLIP XLMR-L H-14"


def lead(groups: Iterable[str] = ()) -> pd.DataFrame:
    """Return the mean of `rival` over the languages of some groups, or over those of `small_languages`."""
    return cells({LEAD: rival(languages_of(*groups) if groups else small_languages()).mean()})


def lead_of_images() -> pd.DataFrame:
    """Return the lead over the low group with every image counting once."""
    low = rival(languages_of("low"))
    return cells({LEAD: np.average(low, weights=labelled_languages().set_index("lang")["classes"][low.index])})


def lead_with_labels() -> pd.DataFrame:
    """Return the lead over the low group with the bare label as prompt, from the released results."""
    table = published.read("babel-imagenet-results").query("variant == 'label only'")
    means = table[table["lang"].isin(languages_of("low"))].groupby("model")["value"].mean()
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
