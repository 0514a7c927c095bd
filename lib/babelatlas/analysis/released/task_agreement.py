"""Do tasks rank alike: Kendall's tau-b between two tasks, over models within a language and over languages in a model.

Two questions are kept apart. Within a language: do two tasks put the models into the same order? Within a model: do
they put the languages into the same order? Either is a tau-b for each language (or model), averaged. Compared are the
models that have all languages of both tasks. See `ranking.agreement` for the order of the models' means over languages.
"""

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from babelatlas.analysis import ranking
from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap, checks, correlation, tests

LEAST = 5
COLUMNS = ["value", "families_low", "families_high", "models_low", "models_high"]


def shared(*tasks: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the scores of each task as (languages, models): languages of all tasks, models that have all of these.

    `tasks`: model, lang, value each. Tasks without a common language or model give empty tables. Raises InputError for
    missing values, and a model that has a language twice.

    >>> one = pd.DataFrame({"model": list("aab"), "lang": ["de", "si", "de"], "value": [0.3, 0.1, 0.2]})
    >>> [table.shape for table in shared(one, one.iloc[[0, 2]])]
    [(1, 2), (1, 2)]
    """
    wide = []
    for task in tasks:
        checks.check_numbers(task, ["value"], "The agreement of tasks", ["model", "lang"])
        if task.duplicated(["model", "lang"]).any():
            raise InputError(
                "The agreement of tasks needs one score for each model and language, but some occur twice: choose one "
                "harness, data set, metric, direction and variant for each task."
            )
        wide.append(task.pivot(index="lang", columns="model", values="value"))
    langs = sorted(set.intersection(*(set(table.index) for table in wide)))
    whole = [table.loc[langs].dropna(axis=1) for table in wide]
    models = sorted(set.intersection(*(set(table.columns) for table in whole)))
    return [table.loc[langs, models] for table in whole]


def agreement(
    first: pd.DataFrame,
    second: pd.DataFrame,
    family: Mapping[str, str],
    n_resamples: int = 1000,
    seed: int = 0,
    least: int = LEAST,
) -> pd.DataFrame:
    """Return how far two tasks agree: two rows, within "language" (over models) and within "model" (over languages).

    `first`, `second`: model, lang, value; `family`: language -> family. Columns: within, value (mean of Kendall's tau-b
    over the languages, or the models), families_low, families_high, models_low, models_high (95 % intervals of a
    bootstrap over language families and over models, NaN for fewer than `least` of them), models, languages, families.
    A mean over what is resampled has an expanded interval; what is ranked in a resample plain percentiles
    (`correlation.expandable`). A language or model with equal scores only has no tau and is left out. Raises what
    `shared` raises, and InputError for fewer than two shared models or languages.
    """
    wide = shared(first, second)
    langs, models = wide[0].index, wide[0].columns
    if min(len(langs), len(models)) < 2:
        raise InputError(
            f"The agreement of two tasks needs two models and two languages that both have; they share {len(models)} "
            f"model(s) and {len(langs)} language(s)."
        )
    families = np.array([family[lang] for lang in langs])
    n = {"families": len(set(families)), "models": len(models)}
    long = [table.reset_index().melt("lang", value_name=name) for table, name in zip(wide, "xy", strict=True)]
    long = long[0].merge(long[1], on=["lang", "model"])
    long = long.assign(families=long["lang"].map(family), models=long["model"])
    rows = []
    for within, averaged, ranked in (("language", "families", "models"), ("model", "models", "families")):
        sides = [(table if within == "language" else table.T).to_numpy() for table in wide]
        taus = ranking.kendall(*sides)
        fine = np.isfinite(taus)
        row = dict.fromkeys(COLUMNS, np.nan) | {"within": within, "value": taus[fine].mean() if fine.any() else np.nan}
        clusters = (families if within == "language" else np.array(models))[fine]
        if len(set(clusters)) >= least:
            found = bootstrap.mean_interval(taus[fine], clusters, n_resamples, seed=seed).iloc[0]
            row |= {f"{averaged}_low": found["ci_low"], f"{averaged}_high": found["ci_high"]}
        if n[ranked] >= least and fine.any():
            groups = {"clusters": ranked, "within": within.replace("language", "lang")}
            found = correlation.correlate(
                long, "x", "y", methods=["kendall"], n_resamples=n_resamples, seed=seed, **groups
            )
            row |= {f"{ranked}_low": found["ci_low"].item(), f"{ranked}_high": found["ci_high"].item()}
        rows.append(row)
    table = pd.DataFrame(rows)[["within", *COLUMNS]]
    return table.assign(models=len(models), languages=len(langs), families=n["families"])


def all_pairs(
    tasks: Mapping[tuple[str, str], pd.DataFrame],
    family: Mapping[str, str],
    fewest: int = 4,
    **options,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return `agreement` of every two tasks of a harness, and the pairs that share too few models or languages.

    `tasks`: (harness, task) -> scores; `fewest`: models, and languages, that a pair must share; `options`: those of
    `agreement`. The first table has the columns harness, first, second and those of `agreement`; the second harness,
    first, second, models, languages.
    """
    found, left = [], []
    for (harness, first), (other, second) in combinations(tasks, 2):
        if harness != other:
            continue
        pair = tasks[harness, first], tasks[harness, second]
        languages, models = shared(*pair)[0].shape
        names = {"harness": harness, "first": first, "second": second}
        if min(models, languages) < fewest:
            left.append([*names.values(), models, languages])
        else:
            found.append(agreement(*pair, family, **options).assign(**names))
    columns = ["harness", "first", "second"]
    table = pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=[*columns, "within", *COLUMNS])
    table = table[[*columns, *(column for column in table if column not in columns)]]
    return table, pd.DataFrame(left, columns=[*columns, "models", "languages"])


def moves(
    first: pd.DataFrame,
    second: pd.DataFrame,
    family: Mapping[str, str],
    n_resamples: int = 1000,
    seed: int = 0,
    least: int = LEAST,
) -> pd.DataFrame:
    """Return by how many ranks each model stands higher in the second task than in the first, the largest move first.

    Models are ranked within each language; value is the mean over languages of rank in the first task minus rank in the
    second. Columns: model, first, second (mean ranks), value, ci_low, ci_high (bootstrap over `over`: "families", or
    "languages" where there are fewer than `least` families), over, p (sign-flip test by language), p_holm (corrected
    for all models), n (languages), models. Raises what `shared` raises, and InputError for fewer than two models or
    languages.
    """
    wide = shared(first, second)
    if min(wide[0].shape) < 2:
        raise InputError(
            f"Moves between tasks need two models and languages that both have; got {wide[0].shape[::-1]}."
        )
    ranks = [table.rank(axis=1, ascending=False) for table in wide]
    gaps = ranks[0] - ranks[1]
    families = [family[lang] for lang in gaps.index]
    over = "families" if len(set(families)) >= least else "languages"
    member = ranking.members(gaps.index, family if over == "families" else None)
    times = bootstrap.resample_weights(member.shape[1], n_resamples, seed) @ member.T
    resampled = times @ gaps.to_numpy() / times.sum(axis=1, keepdims=True)
    low, high = bootstrap.percentile_interval(resampled, n_clusters=member.shape[1])
    p = ranking.sign_flip_test(gaps.to_numpy(), seed=seed)
    table = pd.DataFrame(
        {"model": gaps.columns, "first": ranks[0].mean().to_numpy(), "second": ranks[1].mean().to_numpy()}
    )
    table = table.assign(value=gaps.mean().to_numpy(), ci_low=low, ci_high=high, over=over, p=p, p_holm=tests.holm(p))
    table = table.assign(n=len(gaps), models=gaps.shape[1])
    return table.sort_values("value", key=lambda values: -values.abs(), kind="stable", ignore_index=True)
