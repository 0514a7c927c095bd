"""The numbers of Geigle et al. (2024), Babel-ImageNet, computed again: its tables,
Figures 3 and 4, and its text.

What goes in: the paper's own tables (`published`), and, where its authors released
them, the same numbers in full precision: accuracies ("babel-imagenet-results"),
retrieval ("babel-imagenet-retrieval") and counts. No result file was released for
OpenAI B-32 and ST mBERT B-32; their printed numbers stand in, and what they can be off
by is the slack.

The authors' notebook (gregor-ge/Babel-ImageNet,
evaluation_scripts/results_analysis.ipynb, commit
317c49896f04bc61d0c7a5dfc6fd4e3b0d8a9430) shows the outputs of their run, these two
models among them: the parameters of each model, the means of Table 2 to two decimals,
and the limits of the groups. `data/geigle2024_notebook.csv` has them.

`python -m papercheck counts` makes the retrieval results and the counts again.
"""

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.analysis import coverage, prompt_gains, training_languages
from babelatlas.base import languages, published, tables
from babelatlas.base.paths import DATA
from babelatlas.lexicon import prompts
from babelatlas.models import registry as models
from babelatlas.stats import bootstrap, correlation
from babelatlas.stats.proportions import smallest_denominator
from papercheck import claims, definitions, rounding
from papercheck.definitions import cells

PAPER = "geigle2024"
RETRIEVAL = DATA / "published" / "babel-imagenet-retrieval.csv"
COUNTS = DATA / "geigle2024_counts.csv"
ENGLISH = "en"
# Images of each retrieval data set, which the released recalls of captions confirm
# (`image_counts`).
IMAGES = {"xflickrco": 2000, "xm3600": 3600, "xtd": 1000}
DATASETS = {"xflickrco": "xFlickrCo", "xm3600": "XM3600", "xtd": "XTD"}
T2I, I2T = "recall@1 text-to-image", "recall@1 image-to-text"
# Half a unit of the last printed digit of an accuracy or recall, in points.
HALF = 0.005
# Columns of Tables 2 and 3 as the claims name them -> groups.
COLUMNS = {
    "v-low": "very low",
    "low": "low",
    "mid": "mid",
    "high": "high",
    "en": "English",
}
# Languages without ImageNet labels, and so without zero-shot accuracy: Māori and Cusco
# Quechua (Section 5, footnote).
UNLABELLED = ("mi", "quz")
# The languages that Section 3 calls the three smallest.
SMALLEST = ("xh", "om", "ha")


def read_retrieval(folder: str | Path) -> pd.DataFrame:
    """Return Babel-ImageNet's released recall@1 on three data sets in both directions,
    schema `published`.

    `folder` holds a folder of JSON files for each data set ("results/retrieval" of its
    repository), one for each model; two models are not in the paper. `value` is rounded
    to 6 decimals. `n` are queries: for image-to-text the images, for text-to-image the
    captions, a number that the files do not tell: it is the smallest of which all
    models' recalls at 1, 5 and 10 are whole numbers (`smallest_denominator`).
    """
    parts = []
    for dataset in IMAGES:
        for name, model in prompt_gains.RESULT_MODELS.items():
            path = Path(folder) / dataset / f"{name}.json"
            results = json.loads(path.read_text(encoding="utf-8"))["results"]
            address = f"results/retrieval/{dataset}/{name}.json"
            table = pd.DataFrame(results).assign(table=address)
            parts.append(table.assign(dataset=dataset, model=model))
    table = pd.concat(parts, ignore_index=True)
    table["lang"] = table["lang"].map(languages.canonical)
    recalls = ["t2i_r@1", "t2i_r@5", "t2i_r@10"]
    parts = []
    for (dataset, _), part in table.groupby(["dataset", "lang"]):
        n_images = IMAGES[dataset]
        values = part[recalls].to_numpy(float).ravel()
        n_captions = smallest_denominator(values, n_images, 4 * n_images)
        to_images, to_texts = part["t2i_r@1"].round(6), part["i2t_r@1"].round(6)
        parts.append(part.assign(value=to_images, metric=T2I, n=n_captions))
        parts.append(part.assign(value=to_texts, metric=I2T, n=n_images))
    order = ["metric", "dataset", "model", "lang"]
    table = pd.concat(parts).sort_values(order, ignore_index=True)
    table = table.assign(
        task="retrieval",
        group="",
        variant="",
        note="",
        ci_low=np.nan,
        ci_high=np.nan,
        source="babel-imagenet-retrieval",
    )
    columns, _ = tables.SCHEMAS["published"]
    return tables.check(table[list(columns)], "published")


def read_counts(folder: str | Path) -> pd.DataFrame:
    """Return what the release says of its size: columns kind, name, value (a count).

    `folder`: a copy of Babel-ImageNet's repository. kind "parameters": of each model
    (name), as its result file says; kind "labels": "entries" (languages in the file of
    all labels, as its authors count them), "fewest classes" among them, "other
    languages" (entries but English and Simple English).
    """
    folder = Path(folder)
    rows = []
    for name, model in prompt_gains.RESULT_MODELS.items():
        path = folder / "results" / "babel-imagenet" / f"{name}.json"
        facts = json.loads(path.read_text(encoding="utf-8"))["meta"]
        rows.append(("parameters", model, facts["parameters"]))
    path = folder / "data" / "babel_imagenet-298.json"
    labels = json.loads(path.read_text(encoding="utf-8"))
    fewest = min(len(classes) for classes, _ in labels.values())
    others = [code for code in labels if code.lower() not in (ENGLISH, "simple")]
    rows.append(("labels", "entries", len(labels)))
    rows.append(("labels", "fewest classes", fewest))
    rows.append(("labels", "other languages", len(others)))
    return pd.DataFrame(rows, columns=["kind", "name", "value"])


@cache
def counts() -> pd.Series:
    """Return the counts of the release as shipped, indexed by kind and name. Do not
    change it: callers share it.
    """
    return pd.read_csv(COUNTS).set_index(["kind", "name"])["value"]


@cache
def notebook() -> pd.Series:
    """Return what the authors' notebook shows, indexed by kind and name. Do not change
    it: callers share it.

    kind "parameters": of each model; "group means": accuracy in percent, to two
    decimals, by model and column of Table 2; "limits": the most classes that each group
    may have.
    """
    table = pd.read_csv(DATA / "geigle2024_notebook.csv")
    return table.set_index(["kind", "name"])["value"]


@cache
def accuracies() -> pd.DataFrame:
    """Return accuracy by model and language, as released where it is, else as printed
    in Tables 8 and 9.

    Columns: model, lang, group, classes, n (images), printed and value (fractions;
    value is the released one, of 6 decimals, or the printed one), half (by how much
    value can be off: 0 or half a printed unit), released (flag). Do not change the
    table: every caller gets the same one.
    """
    key = ["model", "lang", "variant"]
    found = published.read("babel-imagenet-results")[[*key, "value"]]
    return _preferred(published.accuracy_by_language(PAPER), found, key)


@cache
def recalls() -> pd.DataFrame:
    """Return text-to-image recall@1 by data set, model and language, as released where
    it is, else as printed.

    Columns: dataset, model, lang, n (captions), printed, value, half, released as in
    `accuracies`, and image_to_text (the released recall@1 of captions, NaN where there
    is none). Do not change the table.
    """
    key = ["dataset", "model", "lang"]
    printed = published.read(PAPER)
    is_recall = (printed["task"] == "retrieval") & (printed["lang"] != "")
    printed = printed.loc[is_recall, [*key, "value"]]
    found = published.read("babel-imagenet-retrieval")
    to_images = found[found["metric"] == T2I]
    to_texts = found[found["metric"] == I2T].rename(columns={"value": "image_to_text"})
    n_captions = to_images.groupby(["dataset", "lang"], as_index=False)["n"].first()
    table = _preferred(printed, to_images[[*key, "value"]], key)
    table = table.merge(to_texts[[*key, "image_to_text"]], on=key, how="left")
    table = table.merge(n_captions, on=["dataset", "lang"], how="left")
    # The decimals of a printed recall are those of its table: Table 12 has one.
    has_one_decimal = ~table["released"] & (table["dataset"] == "xtd")
    return table.assign(half=table["half"].mask(has_one_decimal, 10 * HALF / 100))


def _preferred(
    printed: pd.DataFrame, released: pd.DataFrame, key: list[str]
) -> pd.DataFrame:
    table = printed.rename(columns={"value": "printed"}).merge(
        released, on=key, how="left", validate="one_to_one"
    )
    is_released = table["value"].notna()
    return table.assign(
        value=table["value"].fillna(table["printed"]),
        half=np.where(is_released, 0, HALF / 100),
        released=is_released,
    )


def pairs() -> pd.DataFrame:
    """Return retrieval recall and accuracy in full precision: `published.retrieval`
    with the released numbers.

    Columns: dataset, model, lang, recall, recall_half, image_to_text, accuracy,
    accuracy_half (fractions).
    """
    names = {"value": "accuracy", "half": "accuracy_half"}
    accuracy = accuracies().rename(columns=names)[["model", "lang", *names.values()]]
    names = {"value": "recall", "half": "recall_half"}
    table = recalls().rename(columns=names)[
        ["dataset", "model", "lang", *names.values(), "image_to_text"]
    ]
    return table.merge(accuracy, on=["model", "lang"], validate="many_to_one")


def _results(dataset: str, released: bool) -> tuple[pd.DataFrame, pd.Series]:
    """Return recalls on a data set, or accuracies ("") of the models with result files
    or without; and their cells.
    """
    table = recalls().query("dataset == @dataset") if dataset else accuracies()
    table = table[table["released"] == released]
    if dataset in ("xflickrco", "xtd"):
        return table, table["model"] + " | " + table["lang"].replace({"ja": "jp"})
    langs = table["lang"].replace({"tl": "fil"}) if dataset else table["lang"]
    return table, langs + " | " + table["model"]


def released_results(dataset: str = "") -> pd.DataFrame:
    """Return Tables 8 and 9, or that of recalls on a data set, as released, of the ten
    models with result files.
    """
    table, names = _results(dataset, True)
    return cells(names, 100 * table["value"])


def nearest_results(dataset: str = "") -> pd.DataFrame:
    """Return the shares of whole images or captions nearest to the same of models
    without result files.
    """
    return nearest_shares(*_results(dataset, False))


def nearest_shares(table: pd.DataFrame, names: pd.Series) -> pd.DataFrame:
    """Return the nearest share of whole cases in percent, of the rows where it could
    fail (two decimals of percent).
    """
    testable = rounding.refutable(table["n"], 4) > 0
    nearest = rounding.nearest_share(table["printed"], table["n"])
    return cells(names[testable], 100 * nearest[testable])


def mean_recall(dataset: str, english: bool) -> pd.DataFrame:
    """Return the mean over the languages of a data set by model, with English or
    without.
    """
    table = recalls().query("dataset == @dataset")
    table = table if english else table[table["lang"] != ENGLISH]
    means = table.groupby("model")[["value", "half"]].mean()
    names = means.index + " | average"
    if dataset == "xm3600":
        names = "average | " + means.index
    return cells(names, 100 * means["value"], 100 * means["half"].to_numpy())


def mean_accuracy() -> pd.DataFrame:
    """Return Table 2: the mean over the languages of each group, by model."""
    means = bootstrap.group_means(accuracies(), n_resamples=1)
    half = accuracies().groupby(["model", "group"], sort=False)["half"].mean()
    return cells(_group_cells(means), 100 * means["value"], 100 * half.to_numpy())


def _group_cells(table: pd.DataFrame) -> pd.Series:
    column_of = {group: column for column, group in COLUMNS.items()}
    return table["model"] + " | " + table["group"].map(column_of)


def image_mean_accuracy() -> pd.DataFrame:
    """Return the same with every image of a group counting once, so that languages
    count by their classes.
    """
    table = accuracies()
    sums = (
        table[["value", "half"]]
        .mul(table["n"], axis=0)
        .groupby([table["model"], table["group"]])
        .sum()
    )
    means = sums.div(table.groupby(["model", "group"])["n"].sum(), axis=0).reset_index()
    return cells(
        _group_cells(means), 100 * means["value"], 100 * means["half"].to_numpy()
    )


def released_parameters() -> pd.DataFrame:
    """Return the parameters of Table 2 as the result files have them, or else the
    authors' notebook, in millions.
    """
    shown = notebook().loc["parameters"]
    table = counts().loc["parameters"].reindex(shown.index).fillna(shown)
    return cells(table.index + " | Param.", table / 1e6)


def notebook_means() -> pd.DataFrame:
    """Return Table 2 as the authors' notebook shows it, to two decimals."""
    table = notebook().loc["group means"]
    return cells(table.index, table)


def used_parameters() -> pd.DataFrame:
    """Return the parameters of the two towers that each model uses (`models`), in whole
    millions.
    """
    return cells(
        {
            f"{row} | Param.": model.parameters
            for row, model in models_of_paper().items()
        },
        slack=0.5,
    )


def models_of_paper() -> dict[str, models.Model]:
    """Return the models of the paper that we list, by their rows in Table 2."""
    return {model.paper_row: model for model in models.MODELS if model.paper_row}


def class_counts() -> pd.DataFrame:
    """Return the classes of the languages of Table 5 that have a label in the released
    file.
    """
    table = coverage.babel_imagenet()
    table = table[table["lang"].isin(published.groups(PAPER)["lang"])]
    return cells(table["lang"], table["n_classes"])


def labelled_languages() -> pd.DataFrame:
    """Return the languages of Table 5 without English: lang, group, classes."""
    table = published.groups(PAPER)
    return table[table["lang"] != ENGLISH]


def groups_of_table_5() -> pd.DataFrame:
    """Return of each group of Table 5 the number of languages, and the fewest and the
    most classes of one.
    """
    sizes = labelled_languages().groupby("group")["classes"].agg(["size", "min", "max"])
    below = pd.Series({"low | classes of the easiest tasks": sizes.loc["low", "max"]})
    names = {"size": " | languages", "min": " | from", "max": " | to"}
    return cells(
        pd.concat(
            [*(sizes[column].add_suffix(name) for column, name in names.items()), below]
        )
    )


def benchmark_counts() -> pd.DataFrame:
    """Return how many languages, classes and models there are, by the tables and the
    release.
    """
    codes = set(labelled_languages()["lang"])
    with_tokens = codes & set(coverage.tokens()["lang"])
    table = published.models()
    found = {
        "languages of Babel-ImageNet": len(codes),
        "languages of XLM-R's training": len(with_tokens),
        "languages selected by hand": len(codes - with_tokens),
        "multilingual models": (table["languages"] != "1").sum(),
        "languages with at least 10 classes": counts()["labels", "entries"],
        "classes of the smallest of these languages": counts()[
            "labels", "fewest classes"
        ],
        "variants of M-CLIP": (table["family"] == "M-CLIP").sum(),
        "smallest languages, verified": (
            labelled_languages().nsmallest(3, "classes")["lang"].isin(SMALLEST).sum()
        ),
        "prompt templates": prompts.released_defects()["n_templates"].unique().item(),
    }
    return cells(found)


def released_languages_but_english() -> pd.DataFrame:
    """Return the entries of the released label file without English and Simple English."""
    return cells(
        {"languages with at least 10 classes": counts()["labels", "other languages"]}
    )


def retrieval_languages(english: bool, unlabelled: bool) -> pd.DataFrame:
    """Return how many languages Tables 10 to 12 have, with English or not, with those
    without labels or not.
    """
    table = recalls()[["dataset", "lang"]].drop_duplicates()
    left_out = (set() if english else {ENGLISH}) | (
        set() if unlabelled else set(UNLABELLED)
    )
    sizes = table[~table["lang"].isin(left_out)].groupby("dataset").size()
    found = {f"languages | {DATASETS[name]}": size for name, size in sizes.items()}
    return cells(found | {"languages with both | XM3600": sizes["xm3600"]})


def image_counts() -> pd.DataFrame:
    """Return how many images a retrieval data set has: the denominator of the released
    recalls of captions.
    """
    table = (
        published.read("babel-imagenet-retrieval")
        .query("metric == @I2T")
        .groupby("dataset")["value"]
    )
    # Single-precision shares of some thousand images are whole to a thousandth.
    n = {
        dataset: smallest_denominator(part, 500, 10_000, tolerance=0.01)
        for dataset, part in table
    }
    return cells({f"images | {DATASETS[dataset]}": size for dataset, size in n.items()})


def product_of_captions() -> pd.DataFrame:
    """Return the printed captions times the printed languages of NLLB-SigLIP's
    training, in millions.
    """
    table = claims.printed(PAPER, "Section 4")
    thousands, codes = (
        table["NLLB-SigLIP | pairs of image and caption"],
        table["NLLB-SigLIP | #Langs"],
    )
    return cells({"NLLB-SigLIP | examples": thousands * codes / 1000})


def _ahead(accuracy: pd.DataFrame | pd.Series) -> pd.Series | float:
    """Return by how many points the first of the two models that Section 4 compares is
    ahead; models are labels.
    """
    return 100 * (accuracy["M-CLIP XLMR-L L-14"] - accuracy["OpenCLIP XLMR-L H-14"])


def rival(codes: Iterable[str]) -> pd.Series:
    """Return how far M-CLIP XLMR-L L-14 is ahead of OpenCLIP XLMR-L H-14 in each of the
    languages, in points.
    """
    table = accuracies()
    return _ahead(
        table[table["lang"].isin(codes)].pivot(
            index="lang", columns="model", values="value"
        )
    )


def languages_of(*names: str) -> set[str]:
    """Return the languages of some groups of Table 5."""
    table = published.groups(PAPER)
    return set(table.loc[table["group"].isin(names), "lang"])


def small_languages() -> set[str]:
    """Return the low-resource languages of Table 7: low and very low, without the eight
    selected by hand.
    """
    table = training_languages.three_groups(PAPER)
    return set(table.loc[table["group"] == "low", "lang"])


LEAD = "low-resource languages | M-CLIP XLMR-L L-14 minus OpenCLIP XLMR-L H-14"


def lead(groups: Iterable[str] = ()) -> pd.DataFrame:
    """Return the mean of `rival` over the languages of some groups, or over those of
    `small_languages`.
    """
    return cells(
        {LEAD: rival(languages_of(*groups) if groups else small_languages()).mean()}
    )


def lead_of_low(by: str) -> pd.DataFrame:
    """Return the lead over the low group with every one of the "images" counting once,
    with the bare label as prompt ("label only", released), or with "100 classes" (Table
    3, printed).
    """
    codes = languages_of("low")
    if by == "images":
        low = rival(codes)
        return cells(
            {
                LEAD: np.average(
                    low,
                    weights=labelled_languages().set_index("lang")["classes"][
                        low.index
                    ],
                )
            }
        )
    if by == "label only":
        table = published.read("babel-imagenet-results").query(
            "variant == @by and lang in @codes"
        )
        return cells({LEAD: _ahead(table.groupby("model")["value"].mean())})
    table = (
        published.read(PAPER)
        .query("table == '3' and group == 'low'")
        .set_index("model")["value"]
    )
    return cells({LEAD: _ahead(table)}, slack=2 * HALF)


def english_gap() -> pd.DataFrame:
    """Return how far OpenCLIP XLMR-L H-14 is ahead of M-CLIP XLMR-L L-14 in English, in
    points.
    """
    return cells(
        {
            "English | OpenCLIP XLMR-L H-14 minus M-CLIP XLMR-L L-14": (
                -rival([ENGLISH]).item()
            )
        }
    )


def retrieval_correlation(method: str, english: bool, y: str) -> pd.DataFrame:
    """Return the correlation of accuracy with column `y` of `pairs` on each data set,
    with English or without.
    """
    table = pairs().dropna(subset=[y])
    table = table if english else table[table["lang"] != ENGLISH]
    rows = []
    for dataset, part in table.groupby("dataset"):
        value = correlation.correlate(
            part, "accuracy", y, methods=[method], n_resamples=1
        )["value"].item()
        # One model has printed numbers only; the bound takes all to be as uncertain as
        # those.
        halves = part["accuracy_half"].max(), part["recall_half"].max()
        slack = rounding.rounding_slack(part["accuracy"], part[y], *halves, method)
        rows.append((DATASETS[dataset], value, slack))
    names, values, slacks = zip(*rows, strict=True)
    return cells(names, values, np.array(slacks))


def token_correlation(tokens: str, english: bool) -> pd.DataFrame:
    """Return Spearman's correlation of classes and XLM-R tokens; English has all 1,000
    classes.
    """
    sizes = published.groups(PAPER).rename(columns={"classes": "n_classes"})
    found = coverage.token_correlation({"": sizes}, n_resamples=1)
    row = found[
        (found["tokens"] == tokens)
        & (found["english"] == english)
        & (found["method"] == "spearman")
    ]
    return cells({"classes and XLM-R tokens | Spearman": row["value"].item()})


DEFINITIONS = definitions.of_module(PAPER, "geigle2024", globals())
