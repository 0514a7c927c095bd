"""What adapters change: gains by language from counts by class, means over languages, and what goes with them.

A gain is accuracy with the adapter minus accuracy without, as a fraction, in one language. The functions take either
counts of this study (`by_class`) or accuracies that others reported, in columns model, objective, lang, before, value.
"""

import numpy as np
import pandas as pd

from babelatlas.base.errors import InputError
from babelatlas.models import registry
from babelatlas.stats import bootstrap, correlation, tests

# The objectives' names in the published table, and here.
OBJECTIVES = {"text contrastive": "text-contrastive", "MSE": "mse", "LiT": "lit"}
# Which of them are compared: each with the one that is expected to be worse.
PAIRS = (("mse", "text-contrastive"), ("mse", "lit"), ("lit", "text-contrastive"))


def reported(table: pd.DataFrame) -> pd.DataFrame:
    """Return the reported accuracies (`papers.geigle2024_training.adapted`, percent) in the columns used here."""
    objective = table["variant"].str.removeprefix("adapter, ").replace(OBJECTIVES)
    found = table.assign(objective=objective, before=table["before"] / 100, value=table["value"] / 100)
    return found.assign(gain=found["value"] - found["before"])[
        ["model", "objective", "lang", "group", "before", "value", "gain"]
    ]


def by_class(adapted: pd.DataFrame, base: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracy of each class with and without an adapter: model, objective, seed, lang, wnid, before, value.

    Both: schema `zeroshot`; the names of adapted models say base, objective and number of the training. Raises
    InputError where the base was not evaluated on the same classes with the same prompts.
    """
    names = adapted["model"].str.extract(registry.ADAPTED)
    key = ["dataset", "labels", "prompts", "similarity", "lang", "wnid"]
    left = adapted.assign(model=names[0], objective=names[2], seed=names[3].str[1:].fillna("0").astype(int))
    both = left.merge(base[["model", *key, "n_correct", "n_images"]], "left", ["model", *key], suffixes=("", "_base"))
    lacking = both[both["n_images_base"].isna()]
    if len(lacking):
        first = lacking.iloc[0]
        raise InputError(
            f"The base {first['model']!r} has no result in {first['lang']} on {first['dataset']} with the labels and "
            "prompts of its adapters: evaluate it with notebook 20 in the same way."
        )
    both["before"], both["value"] = both["n_correct_base"] / both["n_images_base"], both["n_correct"] / both["n_images"]
    return both[["model", "objective", "seed", "lang", "wnid", "before", "value"]]


def gains(classes: pd.DataFrame, n_resamples: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Return the gain in each language, means over classes: model, objective, seed, lang, before, value, gain,
    ci_low, ci_high (bootstrap over classes), p (paired sign-flip test over classes), p_holm, n (classes).

    Holm's correction is over all rows.
    """
    rows = []
    keys = ["model", "objective", "seed", "lang"]
    for key, part in classes.groupby(keys, sort=False):
        gap = (part["value"] - part["before"]).to_numpy()
        found = tests.paired_mean(gap, part["wnid"], n_resamples, seed=seed)
        rows.append([*key, part["before"].mean(), part["value"].mean(), *found, len(part)])
    columns = [*keys, "before", "value", "gain", "ci_low", "ci_high", "p", "n"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(p_holm=tests.holm(table["p"]) if len(table) else [])


def over_seeds(table: pd.DataFrame) -> pd.DataFrame:
    """Return the spread of repeated trainings: model, objective, lang, n_seeds, mean, low, high, sd of the gain.

    Languages that were trained once are left out.
    """
    found = table.groupby(["model", "objective", "lang"], sort=False)["gain"].agg(
        n_seeds="size", mean="mean", low="min", high="max", sd="std"
    )
    return found[found["n_seeds"] > 1].reset_index()


def summary(table: pd.DataFrame, n_resamples: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Return one row for each model and objective: the mean gain over languages with its interval, and more.

    Columns: model, objective, value, ci_low, ci_high, n (languages), n_gain and n_loss (languages with a higher and a
    lower accuracy), r, r_low, r_high (Pearson's correlation of gain and accuracy before).
    """
    means = bootstrap.group_means(table, ["model", "objective"], "gain", "lang", n_resamples, seed=seed)
    rows = []
    for row in means.itertuples():
        part = table[(table["model"] == row.model) & (table["objective"] == row.objective)]
        r = [np.nan] * 3
        if len(part) > 2 and part[["before", "gain"]].std().min() > 0:
            found = correlation.correlate(
                part, "before", "gain", methods=["pearson"], n_resamples=n_resamples, seed=seed
            )
            r = found.iloc[0][["value", "ci_low", "ci_high"]].tolist()
        rows.append([int((part["gain"] > 0).sum()), int((part["gain"] < 0).sum()), *r])
    return means.join(pd.DataFrame(rows, columns=["n_gain", "n_loss", "r", "r_low", "r_high"]))


def best_objective(table: pd.DataFrame) -> pd.DataFrame:
    """Return in how many languages each objective has the highest accuracy: model, objective, n_best, n (languages).

    A tie counts for each; a language counts where all objectives of the model were trained.
    """
    wide = table.pivot_table(index=["model", "lang"], columns="objective", values="value")
    rows = []
    for model, part in wide.groupby(level="model", sort=False):
        part = part.dropna(axis=1, how="all").dropna()
        best = part.eq(part.max(axis=1), axis=0).sum()
        rows += [(model, objective, int(count), len(part)) for objective, count in best.items()]
    return pd.DataFrame(rows, columns=["model", "objective", "n_best", "n"])


def agreement(table: pd.DataFrame, objective: str = "mse", n_resamples: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Return Pearson's correlation over languages of two models' gains: value, ci_low, ci_high, n.

    No row where there are not two models, or fewer than three languages in common.
    """
    wide = table[table["objective"] == objective].pivot_table(index="lang", columns="model", values="gain").dropna()
    columns = ["value", "ci_low", "ci_high", "n"]
    if wide.shape[1] != 2 or len(wide) < 3:
        return pd.DataFrame(columns=columns)
    pair = wide.set_axis(["x", "y"], axis=1).reset_index()
    return correlation.correlate(pair, "x", "y", methods=["pearson"], n_resamples=n_resamples, seed=seed)[columns]


def between_objectives(table: pd.DataFrame, n_resamples: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Return the paired differences of objectives over languages, model by model, Holm-corrected over all rows."""
    parts = []
    for model, part in table.groupby("model", sort=False):
        for first, second in PAIRS:
            wide = part[part["objective"].isin([first, second])].pivot_table(
                index="lang", columns="objective", values="gain"
            )
            if {first, second} <= set(wide) and len(wide.dropna()) > 1:
                gap = wide.dropna()[first] - wide.dropna()[second]
                found = tests.paired_mean(gap, gap.index, n_resamples, seed=seed)
                parts.append([model, first, second, *found, len(gap)])
    columns = ["model", "first", "second", "value", "ci_low", "ci_high", "p", "n"]
    found = pd.DataFrame(parts, columns=columns)
    return found.assign(p_holm=tests.holm(found["p"]) if len(found) else [])
