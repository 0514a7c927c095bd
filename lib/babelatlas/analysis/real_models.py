"""Leaderboards of real models from released results: the best of a language, the best
for a size, who differs.
"""

import numpy as np
import pandas as pd

from babelatlas.base import released
from babelatlas.base.errors import InputError
from babelatlas.models import registry as entries
from babelatlas.stats import multiple_comparisons, proportions
from babelatlas.stats.distributions import normal_above

# What the pages call the data sets of released results.
DATASETS = {
    "xm3600": "Crossmodal-3600",
    "xtd": "XTD",
    "xflickrco": "xFlickrCO",
    "wit": "WIT",
    "marvl": "MaRVL",
    "babel-imagenet": "Babel-ImageNet",
    "xvnli": "XVNLI",
    "xgqa": "xGQA",
    "nlvr2": "NLVR2",
    "sts17-visual": "STS17, as images",
    "stsb-visual": "STS benchmark, as images",
    "imagenet-1k": "ImageNet",
    "worldcuisines": "WorldCuisines, five choices",
    "vizwiz": "VizWiz, translated",
    "immich": "Crossmodal-3600",
    "indian-reasoning": "MathVista, ScienceQA, MMMU",
    "jmmmu": "JMMMU",
    "mmmu": "MMMU",
    "cvqa-ja": "CVQA",
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
    where = {"harness": harness, "dataset": dataset, "metric": metric}
    if variant is not None:
        where["variant"] = variant
    if direction is not None:
        where["direction"] = direction
    rows = released.one_run(released.read(**where), everywhere)
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
    of_dataset = scores["dataset"] == dataset
    of_metric = scores["metric"].isin([metric, f"t2i {metric}", f"i2t {metric}"])
    miniature = {name for name, entry in entries.known().items() if entry.embedded}
    is_real = ~scores["model"].isin(miniature)
    return _scores(scores[of_dataset & of_metric & is_real], "metric")


def registry() -> pd.DataFrame:
    """Return all real models that the study knows, in the columns of `released.models`.

    Those with released results come first, then the entries of the list of models
    without any; what an entry does not say is empty.
    """
    with_results = released.models().reset_index(drop=True).drop(columns="released")
    others = entries.table()
    is_new = ~others["name"].isin(with_results["model"])
    others = others[(others["repository"] != "") & is_new]
    columns = {
        "name": "model",
        "series": "family",
        "parameters": "parameters_m",
        "data": "training_data",
        "year": "release_date",
        "n_languages": "languages",
        "counted_by": "declared_by",
    }
    others = others.drop(columns="family").rename(columns=columns)
    others = others.assign(
        title=others["model"], entry=others["model"], weights="open", kind="embedding"
    )
    for column in ("release_date", "languages"):
        others[column] = others[column].astype(str).replace("0", "")
    others = others.reindex(columns=with_results.columns)
    models = pd.concat([with_results, others], ignore_index=True)
    texts = with_results.select_dtypes(exclude="number").columns
    return models.fillna(dict.fromkeys(texts, ""))


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

    >>> rows = pd.DataFrame({"model": list("abc"), "n_correct": [500, 490, 200], "n": 1000})
    >>> best(rows.assign(value=rows["n_correct"] / rows["n"]))["same"].tolist()
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
    # A share that is no whole number of its cases, within its rounding, still gives
    # their number nearly.
    nearly_correct = (table["value"] * table["n"]).round()
    correct = table["n_correct"].fillna(nearly_correct).to_numpy(float)
    n = table["n"].to_numpy(float)
    has_n = n > 0
    low, high, p = np.full((3, len(table)), np.nan)
    low[has_n], high[has_n] = proportions.exact_interval(correct[has_n], n[has_n])
    if len(table) and has_n[0]:
        p[has_n] = two_shares(correct[0], n[0], correct[has_n], n[has_n])
        p[0] = np.nan
    table = table.assign(ci_low=low, ci_high=high, p_holm=multiple_comparisons.holm(p))
    table["same"] = (table["p_holm"] >= alpha) | (table.index == 0)
    return table[COLUMNS]


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
    return 2 * normal_above(
        np.divide(gap, spread, out=np.zeros_like(gap), where=spread > 0)
    )


def pareto_front(table: pd.DataFrame, cost: str, value: str) -> pd.DataFrame:
    """Return the rows that no other row beats with at most the same cost, from the
    cheapest to the most expensive.

    Another row beats one with a higher value at the same or a lower cost, or the same
    value at a lower cost; equal rows stay together. Rows without a cost or a value are
    left out.

    >>> rows = pd.DataFrame({"cost": [1, 2, 3, None], "value": [0.2, 0.1, 0.5, 0.9]})
    >>> pareto_front(rows, "cost", "value")
       cost  value
    0   1.0    0.2
    2   3.0    0.5
    """
    table = table.dropna(subset=[cost, value])
    table = table.sort_values([cost, value], ascending=[True, False], kind="stable")
    best_of_cost = table.groupby(cost)[value].max()
    best_of_cheaper = best_of_cost.cummax().shift(fill_value=-np.inf)
    is_best_of_cost = table[value] == table[cost].map(best_of_cost)
    beats_all_cheaper = table[value] > table[cost].map(best_of_cheaper)
    return table[is_best_of_cost & beats_all_cheaper]
