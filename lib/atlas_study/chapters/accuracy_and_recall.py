"""Chapter 19, first half: published accuracy on Babel-ImageNet against published recall,
over models and over languages.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from babelatlas.base import languages, published, tables
from babelatlas.report import figures, formatting
from babelatlas.stats import correlation

X, Y = "accuracy", "recall"
DATA = {"xflickrco": "xFlickrCO", "xm3600": "XM3600", "xtd": "XTD"}
MAIN = "XM3600"
CLUSTERS = ["kin", "model"]
OVER_MODELS = "models within a language"
OVER_LANGUAGES = "languages within a model"
# What a correlation may be over: its name -> how it is computed.
DEFINITIONS = {
    "all pairs": {},
    "without English": {},
    "given English accuracy": {"covariates": ["english accuracy"]},
    "given the number of classes": {"covariates": ["log classes"]},
    "given accuracy and classes": {"covariates": ["english accuracy", "log classes"]},
    OVER_MODELS: {"within": "lang"},
    OVER_LANGUAGES: {"within": "model"},
    "languages within a model, given classes": {
        "within": "model",
        "covariates": ["log classes"],
    },
    "both means removed": {"within": ["lang", "model"], "methods": ["pearson"]},
    "means of models": {"by": ["model"]},
    "means of languages": {"by": ["lang", "kin"]},
}


def pairs(source: str) -> dict[str, pd.DataFrame]:
    """Return a paper's accuracies and recalls by data set of captions, a row for each
    model and language, with what correlations take into account.
    """
    values = published.accuracy_by_language(source)
    english = values[values["lang"] == "en"].set_index("model")["value"]
    families = published.models()[["model", "family"]]
    rows = published.retrieval(source).merge(families, on="model")
    kin = languages.families(rows["lang"].unique())
    rows = rows.assign(
        **{
            "data": rows["dataset"].map(DATA),
            "english accuracy": rows["model"].map(english),
            "log classes": np.log(rows["classes"]),
            "english": rows["lang"] == "en",
            "kin": rows["lang"].map(kin),
        }
    )
    return dict(list(rows.groupby("data", sort=False)))


def points_chart(part: pd.DataFrame, band: pd.DataFrame, x: str, y: str) -> dict:
    """Return the models and languages of one data set as a chart that one explores
    (`figures.chart`); each point links to the page of its language.

    `part`: one of `pairs`; `band`: as of `regression_band`; `x`, `y`: labels of the
    axes.
    """
    rows = part.reset_index(drop=True)
    texts = [
        f"{row.model}, {languages.name(row.lang)}\n"
        f"{x} {100 * row.accuracy:.1f} %\n{y} {100 * row.recall:.1f} %"
        for row in rows.itertuples()
    ]
    points = pd.DataFrame(
        {
            "x": rows[X],
            "y": rows[Y],
            "series": rows["family"],
            "text": texts,
            "link": "language-" + rows["lang"] + ".html",
        }
    ).sort_values("series", kind="stable")
    axes = figures.Axis(x, percent=True), figures.Axis(y, percent=True)
    return figures.chart("points", points, *axes, band=band)


def correlations(
    parts: dict[str, pd.DataFrame], n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return the correlation of accuracy and recall by data set and definition, with
    `text`; English is in "all pairs" alone.
    """
    rows = []
    for data, part in parts.items():
        for definition, how in DEFINITIONS.items():
            points = part if definition == "all pairs" else part[~part["english"]]
            clusters, how = CLUSTERS, {"methods": correlation.METHODS} | how
            if by := how.pop("by", None):
                points = points.groupby(by, as_index=False)[[X, Y]].mean()
                clusters = by[-1]
            found = correlation.correlate(
                points, X, Y, clusters, n_resamples=n_resamples, seed=seed, **how
            )
            rows.append(found.assign(data=data, definition=definition))
    found = pd.concat(rows, ignore_index=True)
    return found.assign(text=formatting.intervals(found, ".2f", 1, " to "))


def without_each_model(
    parts: dict[str, pd.DataFrame], n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return the correlation over all pairs without each of the models."""
    rows = []
    for data, part in parts.items():
        for name in sorted(set(part["model"])):
            found = correlation.correlate(
                part[part["model"] != name],
                X,
                Y,
                CLUSTERS,
                n_resamples=n_resamples,
                seed=seed,
            )
            rows.append(found.assign(data=data, left_out=name))
    return pd.concat(rows, ignore_index=True)


def of_each_model(
    parts: dict[str, pd.DataFrame], n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return the correlation over languages of each model, English included."""
    rows = []
    for data, part in parts.items():
        for model, points in part.groupby("model", sort=False):
            found = correlation.correlate(
                points, X, Y, "kin", n_resamples=n_resamples, seed=seed
            )
            rows.append(found.assign(data=data, model=model))
    return pd.concat(rows, ignore_index=True)


def with_classes(
    part: pd.DataFrame, models: list[str], n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return the correlations of classes, accuracy and recall in some models, as text."""
    columns = {
        "classes and accuracy": ("classes", X),
        "classes and recall": ("classes", Y),
        "accuracy and recall": (X, Y),
    }
    rows = []
    for model, (name, pair) in product(models, columns.items()):
        found = correlation.correlate(
            part[part["model"] == model],
            *pair,
            "kin",
            methods=["pearson"],
            n_resamples=n_resamples,
            seed=seed,
        )
        rows.append(found.assign(model=model, pair=name))
    rows = pd.concat(rows, ignore_index=True)
    rows["text"] = formatting.intervals(rows, ".2f", 1, " to ")
    table = rows.pivot(index="model", columns="pair", values="text")
    return table.loc[models, list(columns)].rename_axis(columns=None)


class Verdict(NamedTuple):
    """Whether accuracy predicts recall in a language."""

    verb: str
    r: float


def verdict(found: pd.DataFrame) -> Verdict:
    """Return how well accuracy predicts recall over the models of a language."""
    row = found[
        (found["method"] == "pearson")
        & (found["data"] == MAIN)
        & (found["definition"] == OVER_MODELS)
    ].iloc[0]
    verb = "closely predicts" if row["value"] > 0.9 else "predicts only roughly"
    return Verdict(
        verb if row["ci_low"] > 0 else "does not surely predict", row["value"]
    )


def write(
    found: pd.DataFrame,
    single: pd.DataFrame,
    left: pd.DataFrame,
    output: str,
    settings: dict,
) -> None:
    """Write all correlations, schema `scores`."""
    parts = [
        found,
        single.assign(definition="languages of one model"),
        left.assign(definition="without " + left["left_out"]),
    ]
    scores = pd.concat(parts, ignore_index=True)
    scores = scores.assign(
        task="retrieval",
        dataset=scores["data"].str.lower(),
        model=scores["model"].fillna(""),
        lang="",
        group="",
        variant=scores["definition"],
        metric=scores["method"] + " correlation of recall@1 with accuracy@1",
    )
    tables.write(scores[list(tables.SCHEMAS["scores"][0])], output, "scores", settings)
