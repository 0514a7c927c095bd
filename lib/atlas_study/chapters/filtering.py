"""What filters of training data leave of recall in other languages than English.

Filters are compared on one pool at the same compute: the models of DataComp (Gadre et
al. 2023, arXiv:2304.14108), each against the model of the same architecture that saw as
many samples of the unfiltered pool. Languages are related: intervals resample families
of languages, tests flip the signs of families, too.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from babelatlas.analysis import ranking
from babelatlas.base import languages, released
from babelatlas.report import formatting
from babelatlas.report.formatting import intervals
from babelatlas.stats import bootstrap, multiple_comparisons, permutation
from babelatlas.stats.distributions import t_quantile

ENGLISH = "en"
HARNESS = "clip_benchmark"
# What each filter keeps, by mlfoundations/datacomp: README.md (12d497f) and
# baselines/apply_filter.py (274dbee). `filtering` is its name in the registry.
FILTERS = pd.DataFrame(
    [
        ("none", "no filter", "none", "every pair of the pool"),
        (
            "clip",
            "CLIP score",
            "none",
            "the 30 % with the highest score of OpenAI's CLIP ViT-L/14",
        ),
        (
            "basic",
            "basic",
            "fastText: English",
            "more than 2 words and 5 characters; images of 200 pixels or more",
        ),
        (
            "image",
            "image",
            "fastText: English",
            "images in clusters that hold images of ImageNet-1k",
        ),
        (
            "text",
            "text",
            "fastText: English",
            "captions with a word of ImageNet-21k",
        ),
        (
            "datacomp",
            "DataComp",
            "fastText: English",
            "both image and CLIP score",
        ),
        (
            "laion",
            "LAION-2B",
            "gcld3: English",
            "a score of CLIP ViT-B/32 of 0.28 or more",
        ),
    ],
    columns=["filtering", "filter", "language test", "keeps"],
)
ENGLISH_ONLY = FILTERS.loc[FILTERS["language test"] != "none", "filter"].tolist()
# Samples seen in training, in billions, as the pages write them.
SCALES = {0.0128: "12.8 M", 0.128: "128 M", 1.28: "1.28 B", 12.8: "12.8 B"}


def pairs(dataset: str) -> pd.DataFrame:
    """Return each filtered model of DataComp with the unfiltered model of the same
    compute.

    Rows from the smallest scale to the largest. Columns: scale (samples seen, as text),
    filtering and filter (names as in FILTERS), model, unfiltered (model of the same
    architecture and samples seen), above_chance (number of languages of `dataset` other
    than English in which the unfiltered model is above chance).
    """
    models = released.models().reset_index(drop=True)
    models = models[models["family"].isin(["CommonPool", "DataComp"])]
    compute = ["architecture", "samples_seen"]
    unfiltered = models[models["filtering"] == "none"]
    unfiltered = unfiltered.rename(columns={"model": "unfiltered"})
    unfiltered = unfiltered[["unfiltered", *compute]]

    table = FILTERS[FILTERS["filtering"] != "none"].merge(models)
    table = table.merge(unfiltered, on=compute, validate="many_to_one")
    table = table.sort_values("samples_seen", kind="stable", ignore_index=True)
    table["scale"] = table["samples_seen"].map(SCALES)
    table["above_chance"] = table["unfiltered"].map(languages_above_chance(dataset))
    columns = ["scale", "filtering", "filter", "model", "unfiltered", "above_chance"]
    return table[columns]


def languages_above_chance(dataset: str) -> pd.Series:
    """Return, for each model, in how many languages other than English its recall@1 is
    above chance.

    Above chance: in all directions the lower end of the exact 95 % interval is above
    1 / number of images. Index: model.
    """
    scores = released.read(harness=HARNESS, dataset=dataset, metric="recall@1")
    scores = released.one_run(scores)
    scores = scores[scores["lang"] != ENGLISH]
    above = scores["ci_low"] > 1 / scores["n"]
    in_all_directions = above.groupby([scores["model"], scores["lang"]]).all()
    return in_all_directions.groupby("model").sum()


def retained(
    recall: pd.DataFrame,
    pairs: pd.DataFrame,
    groups: Mapping[str, Sequence[str]] | None = None,
    n_resamples: int = 2000,
    n_permutations: int = 10_000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return which share of the unfiltered model's recall each filter keeps, in each
    group of languages.

    `recall` as of `training_data.recall`; `pairs`: model and unfiltered (the model of
    the same compute); `groups`: name -> languages, all but English unless given. A row
    has the columns of `pairs`, group, filtered and before (mean recall), value
    (filtered / before) with ci_low and ci_high, points (filtered - before, fractions),
    p and p_family (of the points, sign-flip tests by language and by family), n,
    n_families, p_holm and p_family_holm (corrected for all rows). Intervals resample
    families; a group of one family has none.
    """
    groups = groups or {"all": [code for code in recall.index if code != ENGLISH]}
    rows = []
    for group, codes in groups.items():
        member = ranking.members(codes, languages.families(codes))
        n_families = member.shape[1]
        weights = _language_weights(member, n_resamples, seed)
        for pair in pairs.to_dict("records"):
            both = recall.loc[codes, [pair["model"], pair["unfiltered"]]].to_numpy()
            gaps = both[:, :1] - both[:, 1:]
            row = pair | {"group": group} | _share_left(both, weights, n_families)
            row["p"] = permutation.sign_flips(gaps, n_permutations, seed)[0]
            family_gaps = member.T @ gaps
            row["p_family"] = permutation.sign_flips(family_gaps, n_permutations, seed)[
                0
            ]
            rows.append(row | {"n": len(codes), "n_families": n_families})
    return multiple_comparisons.with_holm(pd.DataFrame(rows))


def _language_weights(member: np.ndarray, n_resamples: int, seed: int) -> np.ndarray:
    """Return the weight of each language in the mean: (1 + resamples, languages).

    The first row weights all alike, the others resample the families of `member`.
    """
    n_families = member.shape[1]
    resampled = bootstrap.resample_weights(n_families, n_resamples, seed)
    weights = np.vstack([np.ones(n_families), resampled]) @ member.T
    return weights / weights.sum(axis=1, keepdims=True)


def _share_left(
    recalls: np.ndarray, weights: np.ndarray, n_families: int
) -> dict[str, float]:
    """Return mean recall with and without the filter, and the first divided by the
    second with its interval.

    `recalls`: (languages, 2), with the filter and without.
    """
    filtered, before = (weights @ recalls).T
    share = np.full_like(filtered, np.nan)
    np.divide(filtered, before, out=share, where=before > 0)
    low, high = np.nan, np.nan
    if n_families > 1:
        low, high = bootstrap.percentile_interval(share[1:], n_clusters=n_families)
    return {
        "filtered": filtered[0],
        "before": before[0],
        "value": share[0],
        "ci_low": low,
        "ci_high": high,
        "points": filtered[0] - before[0],
    }


def recall_table(
    recall: pd.DataFrame,
    pairs: pd.DataFrame,
    kept: pd.DataFrame,
    n_images: int,
    **options,
) -> pd.DataFrame:
    """Return the recall of each filtered and unfiltered model, as a table to read.

    One row for each scale and filter ("no filter" first), all of `pairs`; the share
    left and p of the rows of `kept` (`retained`). Intervals: for English over images
    (Wilson), else over families; `options` are those of `ranking.ranks`.
    """
    unfiltered = pairs.drop_duplicates("scale")
    unfiltered = unfiltered.assign(model=unfiltered["unfiltered"], filter="no filter")
    rows = pd.concat([pairs, unfiltered])[["scale", "filter", "model"]]
    others = recall.drop(index=ENGLISH)
    family = languages.families(others.index)
    scores = others[rows["model"]].rename_axis("lang").reset_index()
    scores = scores.melt("lang", var_name="model")
    means = ranking.ranks(scores, cluster=family, images=False, **options)

    rows = rows.merge(means[["model", "value", "ci_low", "ci_high"]], on="model")
    tested = kept[["model", "p_family", "p_family_holm"]].assign(share=intervals(kept))
    rows = rows.merge(tested, on="model", how="left")
    order = [*FILTERS["filter"], *pairs["scale"].unique()]
    rows = rows.sort_values(
        ["scale", "filter"],
        key=lambda names: names.map(order.index),
        kind="stable",
        ignore_index=True,
    )

    english = pd.DataFrame({"value": recall.loc[ENGLISH, rows["model"]].to_numpy()})
    english["ci_low"], english["ci_high"] = proportion_confint(
        n_images * english["value"], n_images, method="wilson"
    )
    return pd.DataFrame(
        {
            "filter": rows["filter"],
            "samples seen": rows["scale"],
            "English (%)": intervals(english),
            "mean of the others (%)": intervals(rows),
            "share left (%)": rows["share"].fillna("–"),
            "p": list(map(formatting.p_value, rows["p_family_holm"], rows["p_family"])),
        }
    )


class ByUnfilteredModel(NamedTuple):
    """Shares of recall left, each unfiltered model counted once.

    `scales`: the rows of `retained` for the mean of the filters of a kind at a scale,
    with filters (how many). `means`: geometric means over the scales by filter (the
    kind) and left_out (a scale, "" for none): value, ci_low, ci_high, n (scales).
    """

    scales: pd.DataFrame
    means: pd.DataFrame


def by_unfiltered_model(
    recall: pd.DataFrame, pairs: pd.DataFrame, **options
) -> ByUnfilteredModel:
    """Return the share of recall left with the filters of each scale averaged, since
    they share one unfiltered model.

    Kinds of filters: "filters for English" and "CLIP score"; `options` are those of
    `retained`. The intervals of the means are Student's t of the logarithms.
    """
    is_english = pairs["filter"].isin(ENGLISH_ONLY)
    kinds = is_english.map({True: "filters for English", False: "CLIP score"})
    averages = {}
    rows = []
    for (scale, kind), part in pairs.groupby(["scale", kinds], sort=False):
        model = f"{kind}, {scale}"
        averages[model] = recall[part["model"]].mean(axis=1)
        unfiltered = part["unfiltered"].iloc[0]
        rows.append([kind, scale, len(part), model, unfiltered])
    columns = ["filter", "scale", "filters", "model", "unfiltered"]
    scales = retained(
        recall.assign(**averages), pd.DataFrame(rows, columns=columns), **options
    )

    means = []
    for kind, part in scales.groupby("filter", sort=False):
        for left_out in ("", *part["scale"]):
            shares = part.loc[part["scale"] != left_out, "value"]
            means.append([kind, left_out, len(shares), *_geometric_mean(shares)])
    columns = ["filter", "left_out", "n", "value", "ci_low", "ci_high"]
    return ByUnfilteredModel(scales, pd.DataFrame(means, columns=columns))


def _geometric_mean(values: pd.Series) -> np.ndarray:
    """Return the geometric mean and its 95 % interval (Student's t of the logarithms)."""
    logs = np.log(values)
    mean = logs.mean()
    half_width = t_quantile(0.975, len(logs) - 1) * logs.sem()
    return np.exp([mean, mean - half_width, mean + half_width])
