"""What a filter of the training data, and what size, do to recall in English and in
other languages.

Filters are compared on one pool at the same compute: the models of DataComp (Gadre et
al. 2023, arXiv:2304.14108), each against the model of the same architecture that saw as
many samples of the unfiltered pool. Sizes are compared on the same training data.
Languages are related: intervals draw families of languages, tests turn the signs of
families, too.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from babelatlas.analysis import ranking, real_models
from babelatlas.base import languages, released
from babelatlas.stats import bootstrap, mixed_model, multiple_comparisons, permutation

ENGLISH = "en"


def recall(dataset: str = "xm3600", harness: str = "clip_benchmark") -> pd.DataFrame:
    """Return recall@1, the mean of both directions: a row for each language, a column
    for each model.
    """
    return ranking.by_language(real_models.board(harness, dataset, "recall@1"))


def retained(
    wide: pd.DataFrame,
    pairs: pd.DataFrame,
    groups: Mapping[str, Sequence[str]] | None = None,
    n_resamples: int = 2000,
    n_permutations: int = 10_000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return which share of the unfiltered model's recall each filter keeps, in each
    group of languages.

    `wide` as of `recall`; `pairs`: model and unfiltered (the model of the same
    compute); `groups`: name -> languages, all but English unless given. A row has the
    columns of `pairs`, group, filtered and before (mean recall), value (filtered /
    before) with ci_low and ci_high, points (filtered - before), p and p_family (of the
    points, sign-flip tests by language and by family), p_holm and p_family_holm
    (corrected for all rows), n, n_families. Intervals resample families; a group of one
    family has none.
    """
    groups = groups or {"all": [code for code in wide.index if code != ENGLISH]}
    rows = []
    for group, codes in groups.items():
        member = ranking.members(codes, languages.families(codes))
        n = member.shape[1]
        times = (
            np.vstack([np.ones(n), bootstrap.resample_weights(n, n_resamples, seed)])
            @ member.T
        )
        times /= times.sum(axis=1, keepdims=True)
        for pair in pairs.to_dict("records"):
            recalls = wide.loc[codes, [pair["model"], pair["unfiltered"]]].to_numpy()
            after, before = (times @ recalls).T
            share = np.divide(
                after, before, out=np.full_like(after, np.nan), where=before > 0
            )
            low, high = (
                bootstrap.percentile_interval(share[1:], n_clusters=n)
                if n > 1
                else (np.nan, np.nan)
            )
            gap = recalls[:, :1] - recalls[:, 1:]
            p, p_family = (
                permutation.sign_flips(each, n_permutations, seed)[0]
                for each in (gap, member.T @ gap)
            )
            row = pair | {
                "group": group,
                "filtered": after[0],
                "before": before[0],
                "value": share[0],
            }
            row |= {
                "ci_low": low,
                "ci_high": high,
                "points": after[0] - before[0],
                "p": p,
                "p_family": p_family,
            }
            rows.append(row | {"n": len(codes), "n_families": n})
    return multiple_comparisons.with_holm(pd.DataFrame(rows))


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
        p = permutation.paired_permutation_test(products[0], seed=seed)
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
    return table.assign(
        p_holm=table.groupby("of")["p"].transform(multiple_comparisons.holm)
    )


def within_data(sizes: pd.DataFrame, x: str) -> tuple[np.ndarray, np.ndarray]:
    """Return log10 of column `x` less its mean in the data set, and which model is of
    which data set (1 or 0).
    """
    log = np.log10(sizes[x])
    spread = np.column_stack(
        [sizes["data"] == name for name in dict.fromkeys(sizes["data"])]
    ).astype(float)
    return (log - log.groupby(sizes["data"]).transform("mean")).to_numpy(), spread
