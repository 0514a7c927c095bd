"""How accuracy correlates with the amount of text and of captioned images in a
language.

Text is measured by the tokens of XLM-R's training data, images by the examples in
LAION-5B that Geigle et al. (2024) print. Correlations are Spearman's.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from babelatlas.analysis import coverage
from babelatlas.base import languages, published, tables
from babelatlas.report.figures import look
from babelatlas.report.formatting import intervals
from babelatlas.stats import correlation, multiple_comparisons, regression

METHODS = ["spearman"]
# What the pages call the correlations that they show of all models.
SHOWN = {
    "tokens": "text",
    "tokens, given classes": "text, given classes",
    "classes": "number of classes",
}
POINTS = ["model", "lang", "log_examples", "accuracy"]
X, Y = "tokens of text (millions)", "top-1 accuracy"


class Resources(NamedTuple):
    """Accuracy by model and language with the resources of the language.

    `text`: accuracy (fraction), log_tokens and log_classes (base 10), family of each
    model and language. `images`: the same with log_examples, for the languages whose
    examples in LAION-5B are printed. `correlations`: those of accuracy by model and
    kind ("tokens", "tokens, given classes", "classes", "examples", "examples, given
    classes") with intervals over languages, and family_low and family_high over
    families.
    """

    text: pd.DataFrame
    images: pd.DataFrame
    correlations: pd.DataFrame


def correlate_resources(source: str, tokens: str, **options) -> Resources:
    """Return the correlations of accuracy with text, classes and examples.

    `source`: published results by language; `tokens`: as for `coverage.tokens`;
    `options`: n_resamples, seed.
    """
    amounts = coverage.tokens(tokens)
    amounts = amounts.assign(log_tokens=np.log10(amounts["tokens"]))
    text = published.accuracy_by_language(source).query("lang != 'en'")
    text = text.merge(amounts, on="lang").rename(columns={"value": "accuracy"})
    text["log_classes"] = np.log10(text["classes"])
    text["family"] = text["lang"].map(languages.families(text["lang"].unique()))

    examples = published.read("geigle2024-training").query(
        "table == '4' and metric == 'examples (log10)'"
    )
    examples = examples[["lang", "value"]].rename(columns={"value": "log_examples"})
    images = text.merge(examples, on="lang")

    kinds = {
        "tokens": (text, "log_tokens", []),
        "tokens, given classes": (text, "log_tokens", ["log_classes"]),
        "classes": (text, "log_classes", []),
        "examples": (images, "log_examples", []),
        "examples, given classes": (images, "log_examples", ["log_classes"]),
    }
    models = published.models()["model"]
    parts = []
    for model in models[models.isin(text["model"])]:
        for kind, (rows, x, covariates) in kinds.items():
            of_model = rows[rows["model"] == model]
            how = {"methods": METHODS, "covariates": covariates, **options}
            row = correlation.correlate(of_model, x, "accuracy", **how)
            by_family = correlation.correlate(of_model, x, "accuracy", "family", **how)
            row["family_low"] = by_family["ci_low"]
            row["family_high"] = by_family["ci_high"]
            parts.append(row.assign(model=model, kind=kind))
    return Resources(text, images, pd.concat(parts, ignore_index=True))


def shown_correlations(correlations: pd.DataFrame) -> pd.DataFrame:
    """Return the correlations of `SHOWN`, with series (what the pages call them)."""
    rows = correlations[correlations["kind"].isin(SHOWN)]
    return rows.assign(series=rows["kind"].map(SHOWN))


def correlation_table(shown: pd.DataFrame) -> pd.DataFrame:
    """Return `shown_correlations` as a table to read, one row for each model."""
    cells = shown.assign(cell=intervals(shown, ".2f", 1, " to "))
    table = cells.pivot(index="model", columns="series", values="cell")
    models = shown["model"].unique()
    table = table.loc[models, list(SHOWN.values())].rename_axis(columns=None)
    return table.reset_index()


def text_panels(
    text: pd.DataFrame, models: list[str], **options
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the accuracy of some models over text, in the columns `X` and `Y`, and the
    bands of their lines.
    """
    points = pd.concat([text[text["model"] == name] for name in models])
    points = points.rename(columns={"log_tokens": X, "accuracy": Y})
    script = languages.table().set_index("code")["script"]
    is_latin = points["lang"].map(script) == "Latn"
    points["script"] = is_latin.map({True: "Latin script", False: "other scripts"})
    bands = [
        regression.regression_band(rows, X, Y, **options).assign(model=name)
        for name, rows in points.groupby("model")
    ]
    return points, pd.concat(bands)


def scores(correlations: pd.DataFrame) -> pd.DataFrame:
    """Return correlations in the columns of schema `scores`, those with examples
    last."""
    rows = correlations.assign(
        task="zeroshot",
        dataset="babel-imagenet",
        lang="",
        group="",
        metric="spearman correlation with accuracy@1",
        variant=correlations["kind"],
    )
    rows = rows.sort_values(
        "kind", key=lambda kinds: kinds.str.contains("examples"), kind="stable"
    )
    return rows[list(tables.SCORE)]


class Comparison(NamedTuple):
    """How accuracy correlates with resources, and what the page shows of it.

    `text`, `images` and `correlations`: of `Resources`; `shown`: `shown_correlations`,
    and their `table`; `given_classes`: correlations with text given the number of
    classes, by model; `extreme_texts`: the highest and the lowest correlation with
    text, in words; `panels` and `bands`: `text_panels` of these models; `examples`:
    `compare_examples`; `scores`.
    """

    text: pd.DataFrame
    images: pd.DataFrame
    correlations: pd.DataFrame
    shown: pd.DataFrame
    table: pd.DataFrame
    given_classes: pd.DataFrame
    extreme_texts: str
    panels: pd.DataFrame
    bands: pd.DataFrame
    examples: "Examples"
    scores: pd.DataFrame


def compare(source: str, tokens: str, towers: list[str], **options) -> Comparison:
    """Return the correlations of accuracy with text, classes and examples.

    `towers`: the models whose accuracy is compared over examples; the others as for
    `correlate_resources`.
    """
    text, images, correlations = correlate_resources(source, tokens, **options)
    shown = shown_correlations(correlations)
    by_kind = correlations.set_index("kind")
    by_text = by_kind.loc["tokens"].set_index("model")
    extremes = [by_text["value"].idxmax(), by_text["value"].idxmin()]
    words = intervals(by_text.loc[extremes], ".2f", 1, " to ") + " for "
    panels, bands = text_panels(text, extremes, **options)
    return Comparison(
        text=text,
        images=images,
        correlations=correlations,
        shown=shown,
        table=correlation_table(shown),
        given_classes=by_kind.loc["tokens, given classes"].set_index("model"),
        extreme_texts=" and ".join(words + extremes),
        panels=panels,
        bands=bands,
        examples=compare_examples(images, towers, **options),
        scores=scores(correlations),
    )


class Examples(NamedTuple):
    """How accuracy correlates with the examples in LAION-5B.

    `mean`: the correlation of the mean accuracy of some models, and as `mean_text`.
    `higher`: the correlation of the first of these minus that of each other model, with
    tests over languages (p_holm) and over families (p_family_holm); `n_higher` and
    `n_higher_by_family`: how many differences are significantly above 0. `points`:
    model, lang, log_examples and accuracy of the models.
    """

    mean: pd.DataFrame
    mean_text: str
    higher: pd.DataFrame
    n_higher: int
    n_higher_by_family: int
    points: pd.DataFrame


def compare_examples(images: pd.DataFrame, models: list[str], **options) -> Examples:
    """Return how the accuracy of `models` correlates with examples, compared with all
    other models; `images`: of `Resources`.
    """
    accuracy = images.pivot(index="lang", columns="model", values="accuracy")
    about = images.drop_duplicates("lang").set_index("lang")
    rows = accuracy.join(about[["log_examples", "family"]]).reset_index()
    rows["mean"] = rows[models].mean(axis=1)
    how = {"methods": METHODS, **options}
    mean = correlation.correlate(rows, "log_examples", "mean", **how)

    compared = {}
    others = [name for name in images["model"].unique() if name != models[0]]
    for clusters in ("lang", "family"):
        parts = [
            correlation.compare_correlations(
                rows, "log_examples", models[0], other, clusters, **how
            )
            for other in others
        ]
        compared[clusters] = pd.concat(parts, ignore_index=True)
    by_family = compared["family"]
    higher = compared["lang"].assign(
        model=others,
        family_low=by_family["ci_low"],
        family_high=by_family["ci_high"],
        p_family=by_family["p"],
        least_family=by_family["least"],
        n_families=by_family["n_clusters"],
    )
    higher = multiple_comparisons.with_holm(higher)
    is_higher = higher["value"] > 0
    to = "–" if mean["ci_low"].item() >= 0 else " to "
    return Examples(
        mean=mean,
        mean_text=intervals(mean, ".2f", 1, to).item(),
        higher=higher,
        n_higher=(is_higher & (higher["p_holm"] < 0.05)).sum(),
        n_higher_by_family=(is_higher & (higher["p_family_holm"] < 0.05)).sum(),
        points=images.loc[images["model"].isin(models), POINTS],
    )


def examples_figure(images: pd.DataFrame, models: list[str], **options) -> Axes:
    """Draw the accuracy of `models` in each language, by code, over its examples, with
    a line and its band; return the first Axes.
    """
    figure, axes = look.side_by_side(models, 4.2)
    for axis, model in zip(axes, models, strict=True):
        rows = images[images["model"] == model].sort_values("accuracy", kind="stable")
        band = regression.regression_band(
            images[images["model"] == model], "log_examples", "accuracy", **options
        )
        look.band(axis, band, "x", "0.4", alpha=0.25)
        axis.plot(band["x"], band["y"], color="0.2", ls="-", marker="", lw=1.5)
        axis.plot(
            rows["log_examples"],
            rows["accuracy"],
            "o",
            color=look.COLOURS[0],
            markersize=5,
        )
        for place, row in enumerate(rows.itertuples()):
            # Codes stand on two sides in turn.
            side, shift = ("left", 5) if place % 2 else ("right", -5)
            axis.annotate(
                row.lang,
                (row.log_examples, row.accuracy),
                (shift, 0),
                textcoords="offset points",
                size=8.5,
                va="center",
                ha=side,
            )
        axis.margins(x=0.12)
        look.percent_axis(axis, "y")
    axes[0].set_ylabel("zero-shot accuracy")
    figure.supxlabel("examples in LAION-5B (log10)", size=10.5)
    return axes[0]
