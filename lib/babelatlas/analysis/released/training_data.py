"""What a filter of the training data, and what size, do to recall in English and in other languages.

Filters are compared on one pool at the same compute: the models of DataComp (Gadre et al. 2023, arXiv:2304.14108), each
against the model of the same architecture that saw as many samples of the unfiltered pool. Sizes are compared on the
same training data. Languages are related: intervals draw families of languages, tests turn the signs of families, too.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from babelatlas.analysis import ranking
from babelatlas.analysis.released import real_models
from babelatlas.base import languages, released
from babelatlas.base.errors import InputError, near
from babelatlas.stats import bootstrap, checks, mixed_model, tests

ENGLISH = "en"
# Samples seen (billions) at the four scales of DataComp; as many pairs are in the pool of the scale.
SCALES = {0.0128: "12.8 M", 0.128: "128 M", 1.28: "1.28 B", 12.8: "12.8 B"}
# What each filter keeps, by mlfoundations/datacomp: README.md (12d497f) and baselines/apply_filter.py (274dbee).
FILTERS = pd.DataFrame(
    [
        ["none", "no filter", "none", "every pair of the pool"],
        ["clip", "CLIP score", "none", "the 30 % with the highest score of OpenAI's CLIP ViT-L/14"],
        ["basic", "basic", "fastText: English", "more than 2 words and 5 characters; images of 200 pixels or more"],
        ["image", "image", "fastText: English", "images in clusters that hold images of ImageNet-1k"],
        ["text", "text", "fastText: English", "captions with a word of ImageNet-21k"],
        ["datacomp", "DataComp", "fastText: English", "both image and CLIP score"],
        ["laion", "LAION-2B", "gcld3: English", "a score of CLIP ViT-B/32 of 0.28 or more"],
    ],
    columns=["filtering", "filter", "language test", "keeps"],
)


def recall(dataset: str = "xm3600", harness: str = "clip_benchmark") -> pd.DataFrame:
    """Return recall@1, the mean of both directions: a row for each language, a column for each model."""
    return ranking.by_language(real_models.board(harness, dataset, "recall@1"))


def above_chance(dataset: str = "xm3600", harness: str = "clip_benchmark") -> pd.Series:
    """Return, by model, in which share of the other languages both directions are above chance (95 %, exact)."""
    table = released.one_run(released.read(harness=harness, dataset=dataset, metric="recall@1"))
    table = table[table["lang"] != ENGLISH].assign(above=lambda rows: rows["ci_low"] > 1 / rows["n"])
    return table.groupby(["model", "lang"])["above"].all().groupby("model").mean()


def same_compute(models: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the filtered models of DataComp's pools, each with the unfiltered one of the same compute.

    Columns: scale (samples seen), filtering, filter, model, unfiltered (model), in the order of `SCALES` and `FILTERS`.
    The same compute is the same architecture and as many samples seen. `models`: as of `released.models`.

    >>> same_compute().groupby("scale", sort=False).size().to_dict()
    {'12.8 M': 5, '128 M': 6, '1.28 B': 6, '12.8 B': 3}
    """
    models = released.models() if models is None else models
    models = models[models["family"].isin(["CommonPool", "DataComp"])].reset_index(drop=True)
    compute = ["architecture", "samples_seen"]
    base = models[models["filtering"] == "none"].rename(columns={"model": "unfiltered"})[["unfiltered", *compute]]
    pairs = models[models["filtering"] != "none"].merge(base, on=compute, validate="many_to_one")
    unknown = sorted(set(pairs["filtering"]) - set(FILTERS["filtering"]))
    if unknown:
        raise InputError(f"Nothing is known of the filter {unknown[0]!r}: {near(unknown[0], FILTERS['filtering'])}")
    place = {name: number for number, name in enumerate(FILTERS["filtering"])}
    pairs = pairs.assign(place=pairs["filtering"].map(place)).sort_values(["samples_seen", "place"], ignore_index=True)
    pairs["scale"] = pairs["samples_seen"].map(SCALES)
    return pairs.merge(FILTERS[["filtering", "filter"]])[["scale", "filtering", "filter", "model", "unfiltered"]]


def retained(
    wide: pd.DataFrame,
    pairs: pd.DataFrame,
    groups: Mapping[str, Sequence[str]] | None = None,
    n_resamples: int = 2000,
    n_permutations: int = 10_000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return which share of the unfiltered model's recall each filter keeps, in each group of languages.

    `wide` as of `recall`, `pairs` as of `same_compute`; `groups`: name -> languages, all but English unless given. A
    row has the columns of `pairs`, group, filtered and before (mean recall), value (filtered / before) with ci_low and
    ci_high, points (filtered - before), p and p_family (of the points, sign-flip tests by language and by family),
    p_holm and p_family_holm (corrected for all rows), n, n_families. Intervals draw families; a group of one family has
    none. Raises InputError for a model or language that `wide` has not, and where there is nothing to compare.
    """
    groups = groups or {"all": [code for code in wide.index if code != ENGLISH]}
    lost = sorted((set(pairs["model"]) | set(pairs["unfiltered"])) - set(wide))
    lost += sorted({code for codes in groups.values() for code in codes} - set(wide.index))
    if lost or pairs.empty or not all(map(len, groups.values())):
        what = f"recall of {lost[0]!r}, which the table has not" if lost else "a pair of models and a language"
        raise InputError(f"A comparison with the unfiltered pool needs {what}: choose among {', '.join(wide.index)}.")
    rows = []
    for group, codes in groups.items():
        member = ranking.members(codes, languages.families(codes))
        n = member.shape[1]
        times = np.vstack([np.ones(n), bootstrap.resample_weights(n, n_resamples, seed)]) @ member.T
        times /= times.sum(axis=1, keepdims=True)
        for pair in pairs.to_dict("records"):
            recalls = wide.loc[codes, [pair["model"], pair["unfiltered"]]].to_numpy()
            after, before = (times @ recalls).T
            share = np.divide(after, before, out=np.full_like(after, np.nan), where=before > 0)
            low, high = bootstrap.percentile_interval(share[1:], n_clusters=n) if n > 1 else (np.nan, np.nan)
            gap = recalls[:, :1] - recalls[:, 1:]
            p, p_family = (ranking.sign_flip_test(gap, n_permutations, seed, each)[0] for each in (None, member))
            found = {"group": group, "filtered": after[0], "before": before[0], "value": share[0], "ci_low": low}
            found |= {"ci_high": high, "points": after[0] - before[0], "p": p, "p_family": p_family}
            rows.append(pair | found | {"n": len(codes), "n_families": n})
    table = pd.DataFrame(rows)
    return table.assign(p_holm=tests.holm(table["p"]), p_family_holm=tests.holm(table["p_family"]))


def constant_data(wide: pd.DataFrame, least: int = 3, models: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the models to compare by size: data (training data), model, title, gflops, parameters_m, image_size.

    Only training data with `least` models of different FLOPs, those with a multilingual text tower being a group of
    their own. Of several models of one family, architecture, text tower and image size on the same data, the one that
    saw most samples stands for all, of equal ones the first by name. Raises InputError where no group is left.
    """
    models = released.models() if models is None else models
    models = models[models["model"].isin(wide.columns) & models["gflops"].notna() & (models["training_data"] != "")]
    models = models.reset_index(drop=True).sort_values(["samples_seen", "model"], ascending=[False, True])
    names = models["training_data"].str.partition(",")[0]
    models["data"] = names + models["multilingual_text"].map({"yes": " (multilingual)"}).fillna("")
    models = models.drop_duplicates(["data", "family", "architecture", "text_tower", "image_size"])
    models = models[models.groupby("data")["gflops"].transform("nunique") >= least]
    if models.empty:
        raise InputError(f"No training data set has {least} models of different FLOPs: ask for fewer models.")
    models["most"] = -models.groupby("data")["model"].transform("size")
    columns = ["data", "model", "title", "gflops", "parameters_m", "image_size"]
    return models.sort_values(["most", "data", "gflops", "model"], ignore_index=True)[columns]


def slopes(
    wide: pd.DataFrame, sizes: pd.DataFrame, x: str = "gflops", scale: str = "logit", n_resamples: int = 2000, seed=0
) -> pd.DataFrame:
    """Return how much recall changes with ten times the size: in English, in the others, and the difference of both.

    `sizes` as of `constant_data`; `x`: its column "gflops" or "parameters_m"; `scale` of mixed_model.SCALES, applied to
    English recall and to the mean recall of the others. Rows: for each `data`, and pooled with a fixed effect of the
    data ("all"), `of` "English", "others" and "others - English". Columns: value, ci_low, ci_high, p, p_holm (over the
    data, for each `of`), family_low, family_high (bootstrap over families of languages), n (models), n_families.

    Interval and p of one data set are those of a line through its models (Student's t); of all together the interval
    draws data sets and, where others are concerned, families; p turns the signs of data sets. Raises InputError for
    fewer than two data sets, a data set with fewer than three models, and models that `wide` has not.
    """
    lost, few = sorted(set(sizes["model"]) - set(wide)), sizes["data"].value_counts().loc[lambda count: count < 3]
    if lost or len(few) or sizes["data"].nunique() < 2:
        raise InputError(
            f"Slopes need two training data sets, each with three models that have results; got "
            f"{sizes['data'].nunique()} data set(s), too few models for: {', '.join(few.index) or 'none'}, no results "
            f"for: {', '.join(lost) or 'none'}. Leave these out."
        )
    at, spread = _within(sizes, x)
    others = [code for code in wide.index if code != ENGLISH]
    index, n_families = checks.cluster_index(list(languages.families(others).values()), "A slope over languages")
    times = np.vstack([np.ones(n_families), bootstrap.resample_weights(n_families, n_resamples, seed)])[:, index]
    turn, recalls = mixed_model.SCALES[scale][0], wide[sizes["model"]]
    drawn = turn(times @ recalls.loc[others].to_numpy() / times.sum(axis=1, keepdims=True))
    english = np.broadcast_to(turn(recalls.loc[ENGLISH].to_numpy(float)), drawn.shape)
    names = list(dict.fromkeys(sizes["data"]))
    chosen = np.vstack([np.ones(len(names)), bootstrap.resample_weights(len(names), n_resamples, seed + 1)])
    rows = []
    for of, y in {"English": english, "others": drawn, "others - English": drawn - english}.items():
        products, squares = (y * at) @ spread, (at * at) @ spread
        ends = np.column_stack(bootstrap.percentile_interval((products / squares)[1:], n_clusters=n_families))
        ends = ends if of != "English" else np.full_like(ends, np.nan)
        for place, name in enumerate(names):
            mine = spread[:, place] > 0
            line = scipy_stats.linregress(at[mine], y[0, mine])
            reach = scipy_stats.t.ppf(0.975, mine.sum() - 2) * line.stderr
            found = [line.slope, line.slope - reach, line.slope + reach, line.pvalue, *ends[place], mine.sum()]
            rows.append([name, of, *found])
        pooled = (chosen * products).sum(axis=1) / (chosen * squares).sum(axis=1)
        low, high = bootstrap.percentile_interval(pooled[1:], n_clusters=min(len(names), n_families))
        p = tests.paired_permutation_test(products[0], seed=seed)
        rows.append(["all", of, pooled[0], low, high, p, np.nan, np.nan, len(sizes)])
    columns = ["data", "of", "value", "ci_low", "ci_high", "p", "family_low", "family_high", "n"]
    table = pd.DataFrame(rows, columns=columns).assign(n_families=n_families)
    return table.assign(p_holm=table.groupby("of")["p"].transform(tests.holm))


def _within(sizes: pd.DataFrame, x: str) -> tuple[np.ndarray, np.ndarray]:
    """Return log10 of column `x` less its mean in the data set, and which model is of which data set (1 or 0)."""
    if x not in ("gflops", "parameters_m"):
        raise InputError(f"The size of a model is gflops or parameters_m, got {x!r}.")
    log = np.log10(sizes[x])
    spread = np.column_stack([sizes["data"] == name for name in dict.fromkeys(sizes["data"])]).astype(float)
    return (log - log.groupby(sizes["data"]).transform("mean")).to_numpy(), spread


def language_slopes(wide: pd.DataFrame, sizes: pd.DataFrame, x: str = "gflops") -> pd.DataFrame:
    """Return the pooled slope of each language in points of recall: lang, points, mean (recall); the highest first."""
    at, _ = _within(sizes, x)
    recalls = wide[sizes["model"]]
    found = pd.DataFrame(
        {"points": recalls.to_numpy() @ at / (at @ at), "mean": recalls.mean(axis=1)}, index=wide.index
    )
    return found.rename_axis("lang").reset_index().sort_values("points", ascending=False, ignore_index=True)
