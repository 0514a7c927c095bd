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
from babelatlas.base import languages, published
from babelatlas.report.figures import look
from babelatlas.stats import correlation, regression, tests

METHODS = ["spearman"]


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
    text = published.by_language(source).query("lang != 'en'")
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


class Examples(NamedTuple):
    """How accuracy correlates with the examples in LAION-5B.

    `mean`: the correlation of the mean accuracy of some models; `higher`: the
    correlation of the first of these minus that of each other model, with tests over
    languages (p_holm) and over families (p_family_holm).
    """

    mean: pd.DataFrame
    higher: pd.DataFrame


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
    return Examples(mean, tests.with_holm(higher))


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
