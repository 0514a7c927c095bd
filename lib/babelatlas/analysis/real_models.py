"""Leaderboards of real models from released results: the best of a language, the best
for a size, who differs.
"""

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from babelatlas.base import released
from babelatlas.base.errors import InputError
from babelatlas.models import registry as entries
from babelatlas.stats import multiple_comparisons, proportions

DATASETS = {
    "xm3600": "Crossmodal-3600",
    "xtd": "XTD",
    "xflickrco": "xFlickrCO",
    "wit": "WIT",
    "marvl": "MaRVL",
}
DATASETS |= {
    "babel-imagenet": "Babel-ImageNet",
    "xvnli": "XVNLI",
    "xgqa": "xGQA",
    "nlvr2": "NLVR2",
}
DATASETS |= {
    "sts17-visual": "STS17, as images",
    "stsb-visual": "STS benchmark, as images",
    "imagenet-1k": "ImageNet",
}
DATASETS |= {
    "worldcuisines": "WorldCuisines, five choices",
    "vizwiz": "VizWiz, translated",
    "immich": "Crossmodal-3600",
}
DATASETS |= {
    "indian-reasoning": "MathVista, ScienceQA, MMMU",
    "jmmmu": "JMMMU",
    "mmmu": "MMMU",
    "cvqa-ja": "CVQA",
}
DATASETS |= {
    "vidore3": "ViDoRe 3",
    "vidore2": "ViDoRe 2",
    "jinavdr-wikimediacommonsdocuments": "JinaVDR, Commons",
}
COLUMNS = ["model", "value", "ci_low", "ci_high", "p_holm", "same"]


def title(harness: str, dataset: str, metric: str) -> str:
    """Return what a leaderboard is called.

    >>> title("mteb", "xm3600", "recall@1")
    'Crossmodal-3600, recall@1 (mteb)'
    """
    named = released.facts()["harnesses"].get(harness, {}).get("title", harness)
    return f"{DATASETS.get(dataset, dataset)}, {metric} ({named})"


def board(
    harness: str,
    dataset: str,
    metric: str,
    variant: str | None = None,
    everywhere: bool = False,
    direction: str | None = None,
) -> pd.DataFrame:
    """Return the released scores of one leaderboard: model, lang, value (fraction), n,
    n_correct, directions.

    A score is the mean of the directions that the harness has, text to image and image
    to text, or that of one `direction` ("t2i", "i2t") where it is given; its n is that
    of the direction with the fewer cases, because both ask about the same images, and
    n_correct is that many times the value. Each model counts once (`released.one_run`,
    with its `everywhere`), and of `variant` only rows are taken where it is given.
    Raises what `released.read` raises, and InputError where a model has several values
    in a language: give a variant.

    >>> board("mteb", "xm3600", "recall@1").groupby("model").size().unique().tolist()
    [36]
    """
    where = {"variant": variant, "direction": direction}
    where = {name: value for name, value in where.items() if value is not None}
    rows = released.one_run(
        released.read(harness=harness, dataset=dataset, metric=metric, **where),
        everywhere,
    )
    if rows.duplicated(["model", "lang", "direction"]).any():
        raise InputError(
            f"The leaderboard of {harness} on {dataset} has several {metric} of one"
            " model in one language: give one of its variants,"
            f" {', '.join(sorted(map(repr, rows['variant'].unique())))}."
        )
    return _scores(rows, "direction")


def _scores(rows: pd.DataFrame, direction: str) -> pd.DataFrame:
    """Return one score for each model and language: the mean over the values of column
    `direction`.
    """
    groups = rows.groupby(["model", "lang"], as_index=False)
    scores = groups.agg(
        value=("value", "mean"), n=("n", "min"), directions=(direction, "nunique")
    )
    return scores.assign(n_correct=scores["value"] * scores["n"])


def own_board(scores: pd.DataFrame, dataset: str, metric: str) -> pd.DataFrame:
    """Return the scores of a run's own real models in the columns of `board`; no rows
    where it has none.

    `scores`: a `languages` table; models of the miniature are left out.
    """
    rows = scores[
        (scores["dataset"] == dataset)
        & scores["metric"].isin([metric, f"t2i {metric}", f"i2t {metric}"])
    ]
    small = {name for name, entry in entries.known().items() if entry.embedded}
    return _scores(rows[~rows["model"].isin(small)], "metric")


def registry() -> pd.DataFrame:
    """Return all real models that the study knows, in the columns of `released.models`.

    Those with released results come first, then the entries of the list of models
    without any; what an entry does not say is empty.
    """
    known, rest = (
        released.models().reset_index(drop=True).drop(columns="released"),
        entries.table(),
    )
    rest = rest[(rest["repository"] != "") & ~rest["name"].isin(known["model"])]
    names = {
        "name": "model",
        "series": "family",
        "parameters": "parameters_m",
        "data": "training_data",
    }
    names |= {
        "year": "release_date",
        "n_languages": "languages",
        "counted_by": "declared_by",
    }
    rest = rest.drop(columns="family").rename(columns=names)
    rest = rest.assign(
        title=rest["model"], entry=rest["model"], weights="open", kind="embedding"
    )
    for column in ("release_date", "languages"):
        rest[column] = rest[column].astype(str).replace("0", "")
    joined = pd.concat([known, rest.reindex(columns=known.columns)], ignore_index=True)
    return joined.fillna(dict.fromkeys(known.select_dtypes(exclude="number"), ""))


def best(table: pd.DataFrame, alpha: float = 0.05) -> pd.DataFrame:
    """Return the models of one language by their value, the best first, and which do
    not differ from the best.

    `table`: model, value (fraction), n (cases; 0 where not known), n_correct (NaN where
    not known), one row for each model. Columns: model, value, ci_low, ci_high (exact
    binomial interval), p_holm (two-sided test of two shares, pooled and unpaired,
    against the best; Holm's correction over these comparisons), same (True for the best
    itself and where p_holm is at least `alpha`). The models saw the same images, so
    that an unpaired test is conservative. Where n is not known there is neither
    interval nor test (NaN), and `same` is False.

    >>> rows = pd.DataFrame({"model": list("abc"), "value": [0.5, 0.49, 0.2], "n": 1000, "n_correct": [500, 490, 200]})
    >>> best(rows)["same"].tolist()
    [True, True, False]
    """
    if table["model"].duplicated().any():
        raise InputError(
            "The best model needs one row for each model, but some have several: select"
            " one result."
        )
    table = table.sort_values(
        ["value", "model"], ascending=[False, True], ignore_index=True
    )
    n = table["n"].to_numpy(float)
    # A share that is no whole number of its cases, within its rounding, still gives
    # their number nearly.
    correct = (
        table["n_correct"].fillna((table["value"] * table["n"]).round()).to_numpy(float)
    )
    known, (low, high, p) = n > 0, np.full((3, len(table)), np.nan)
    low[known], high[known] = proportions.exact_interval(correct[known], n[known])
    if len(table) and known[0]:
        p[known] = two_shares(correct[0], n[0], correct[known], n[known])
        p[0] = np.nan
    table = table.assign(ci_low=low, ci_high=high, p_holm=multiple_comparisons.holm(p))
    return table.assign(same=(table["p_holm"] >= alpha) | (table.index == 0))[COLUMNS]


def two_shares(
    first: np.ndarray, n_first: np.ndarray, second: np.ndarray, n_second: np.ndarray
) -> np.ndarray:
    """Return two-sided p values that two shares are equal, from counts: the pooled z
    test, 1 where all or none hit.

    >>> two_shares(50, 100, np.array([50, 30]), 100).round(4).tolist()
    [1.0, 0.0039]
    """
    pooled = (first + second) / (n_first + n_second)
    spread = np.sqrt(pooled * (1 - pooled) * (1 / n_first + 1 / n_second))
    gap = np.abs(first / n_first - second / n_second)
    return 2 * scipy_stats.norm.sf(
        np.divide(gap, spread, out=np.zeros_like(gap), where=spread > 0)
    )


def pareto_front(table: pd.DataFrame, cost: str, value: str) -> pd.DataFrame:
    """Return the rows that no other row beats with at most the same cost, from the
    cheapest to the most expensive.

    Another row beats one with a higher value at the same or a lower cost, or the same
    value at a lower cost; equal rows stay together. Rows without a cost or a value are
    left out.

    >>> pareto_front(pd.DataFrame({"cost": [1, 2, 3, None], "value": [0.2, 0.1, 0.5, 0.9]}), "cost", "value")
       cost  value
    0   1.0    0.2
    2   3.0    0.5
    """
    kept = table.dropna(subset=[cost, value]).sort_values(
        [cost, value], ascending=[True, False], kind="stable"
    )
    of_cost = kept.groupby(cost)[value].max()
    cheaper = of_cost.cummax().shift(
        fill_value=-np.inf
    )  # the highest value of all cheaper rows
    return kept[
        (kept[value] == kept[cost].map(of_cost))
        & (kept[value] > kept[cost].map(cheaper))
    ]
