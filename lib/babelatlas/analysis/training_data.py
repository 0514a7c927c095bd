"""What a filter of the training data, and what size, do to recall in English and in
other languages.

Sizes are compared on the same training data.
"""

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from babelatlas.analysis import ranking, real_models
from babelatlas.base import languages, released
from babelatlas.stats import bootstrap, mixed_model, tests

ENGLISH = "en"


def recall(dataset: str = "xm3600", harness: str = "clip_benchmark") -> pd.DataFrame:
    """Return recall@1, the mean of both directions: a row for each language, a column
    for each model.
    """
    return ranking.by_language(real_models.board(harness, dataset, "recall@1"))


def constant_data(
    wide: pd.DataFrame, least: int = 3, models: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return the models to compare by size: data (training data), model, title, gflops,
    parameters_m, image_size.

    Only training data with `least` models of different FLOPs, those with a multilingual
    text tower being a group of their own. Of several models of one family,
    architecture, text tower and image size on the same data, the one that saw most
    samples stands for all, of equal ones the first by name.
    """
    models = released.models() if models is None else models
    models = models[
        models["model"].isin(wide.columns)
        & models["gflops"].notna()
        & (models["training_data"] != "")
    ]
    models = models.reset_index(drop=True).sort_values(
        ["samples_seen", "model"], ascending=[False, True]
    )
    names = models["training_data"].str.partition(",")[0]
    models["data"] = names + models["multilingual_text"].map(
        {"yes": " (multilingual)"}
    ).fillna("")
    models = models.drop_duplicates(
        ["data", "family", "architecture", "text_tower", "image_size"]
    )
    models = models[models.groupby("data")["gflops"].transform("nunique") >= least]
    models["most"] = -models.groupby("data")["model"].transform("size")
    columns = ["data", "model", "title", "gflops", "parameters_m", "image_size"]
    return models.sort_values(["most", "data", "gflops", "model"], ignore_index=True)[
        columns
    ]


def slopes(
    wide: pd.DataFrame,
    sizes: pd.DataFrame,
    x: str = "gflops",
    scale: str = "logit",
    n_resamples: int = 2000,
    seed=0,
) -> pd.DataFrame:
    """Return how much recall changes with ten times the size: in English, in the
    others, and the difference of both.

    `sizes` as of `constant_data`; `x`: its column "gflops" or "parameters_m"; `scale`
    of mixed_model.SCALES, applied to English recall and to the mean recall of the
    others. Rows: for each `data`, and pooled with a fixed effect of the data ("all"),
    `of` "English", "others" and "others - English". Columns: value, ci_low, ci_high, p,
    p_holm (over the data, for each `of`), family_low, family_high (bootstrap over
    families of languages), n (models), n_families.

    Interval and p of one data set are those of a line through its models (Student's t);
    of all together the interval resamples data sets and, where others are concerned,
    families; p turns the signs of data sets.
    """
    at, spread = within_data(sizes, x)
    others = [code for code in wide.index if code != ENGLISH]
    names, index = np.unique(
        list(languages.families(others).values()), return_inverse=True
    )
    n_families = len(names)
    times = np.vstack(
        [np.ones(n_families), bootstrap.resample_weights(n_families, n_resamples, seed)]
    )[:, index]
    turn, recalls = mixed_model.SCALES[scale][0], wide[sizes["model"]]
    drawn = turn(
        times @ recalls.loc[others].to_numpy() / times.sum(axis=1, keepdims=True)
    )
    english = np.broadcast_to(turn(recalls.loc[ENGLISH].to_numpy(float)), drawn.shape)
    names = list(dict.fromkeys(sizes["data"]))
    chosen = np.vstack(
        [
            np.ones(len(names)),
            bootstrap.resample_weights(len(names), n_resamples, seed + 1),
        ]
    )
    rows = []
    for of, y in {
        "English": english,
        "others": drawn,
        "others - English": drawn - english,
    }.items():
        products, squares = (y * at) @ spread, (at * at) @ spread
        ends = np.column_stack(
            bootstrap.percentile_interval(
                (products / squares)[1:], n_clusters=n_families
            )
        )
        ends = ends if of != "English" else np.full_like(ends, np.nan)
        for place, name in enumerate(names):
            mine = spread[:, place] > 0
            line = scipy_stats.linregress(at[mine], y[0, mine])
            reach = scipy_stats.t.ppf(0.975, mine.sum() - 2) * line.stderr
            row = [
                line.slope,
                line.slope - reach,
                line.slope + reach,
                line.pvalue,
                *ends[place],
                mine.sum(),
            ]
            rows.append([name, of, *row])
        pooled = (chosen * products).sum(axis=1) / (chosen * squares).sum(axis=1)
        low, high = bootstrap.percentile_interval(
            pooled[1:], n_clusters=min(len(names), n_families)
        )
        p = tests.paired_permutation_test(products[0], seed=seed)
        rows.append(["all", of, pooled[0], low, high, p, np.nan, np.nan, len(sizes)])
    columns = [
        "data",
        "of",
        "value",
        "ci_low",
        "ci_high",
        "p",
        "family_low",
        "family_high",
        "n",
    ]
    table = pd.DataFrame(rows, columns=columns).assign(n_families=n_families)
    return table.assign(p_holm=table.groupby("of")["p"].transform(tests.holm))


def within_data(sizes: pd.DataFrame, x: str) -> tuple[np.ndarray, np.ndarray]:
    """Return log10 of column `x` less its mean in the data set, and which model is of
    which data set (1 or 0).
    """
    log = np.log10(sizes[x])
    spread = np.column_stack(
        [sizes["data"] == name for name in dict.fromkeys(sizes["data"])]
    ).astype(float)
    return (log - log.groupby(sizes["data"]).transform("mean")).to_numpy(), spread
