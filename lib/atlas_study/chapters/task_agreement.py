"""Do tasks rank alike: Kendall's tau-b between two tasks, over models within a language
and over languages in a model.

Within a language: do two tasks put the models into the same order? Within a model: do
they put the languages into the same order? Either is a tau-b for each language (or
model), averaged. Compared are the models that have all languages of both tasks. See
`ranking.agreement` for the order of the models' means over languages.
"""

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from babelatlas.analysis import ranking
from babelatlas.stats import bootstrap, correlation, tests

COLUMNS = ["value", "families_low", "families_high", "models_low", "models_high"]


def shared(*tasks: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the scores of each task as (languages, models): languages of all tasks,
    models that have all of these.

    `tasks`: model, lang, value each; ValueError for a model that has a language twice.
    Tasks without a common language or model give empty tables.

    >>> one = pd.DataFrame({"model": list("aab"), "lang": ["de", "si", "de"], "value": [0.3, 0.1, 0.2]})
    >>> [table.shape for table in shared(one, one.iloc[[0, 2]])]
    [(1, 2), (1, 2)]
    """
    wide = [task.pivot(index="lang", columns="model", values="value") for task in tasks]
    langs = sorted(set.intersection(*(set(table.index) for table in wide)))
    whole = [table.loc[langs].dropna(axis=1) for table in wide]
    models = sorted(set.intersection(*(set(table.columns) for table in whole)))
    return [table.loc[langs, models] for table in whole]


def long(*tasks: pd.DataFrame, family: Mapping[str, str]) -> pd.DataFrame:
    """Return `shared` scores as rows: lang, model, family, and the tasks' values in the
    columns x, y, z.
    """
    names = zip(shared(*tasks), "xyz", strict=False)
    parts = [
        table.melt(value_name=name, ignore_index=False).set_index("model", append=True)
        for table, name in names
    ]
    table = pd.concat(parts, axis=1).reset_index()
    return table.assign(family=table["lang"].map(family))


def agreement(
    first: pd.DataFrame,
    second: pd.DataFrame,
    family: Mapping[str, str],
    n_resamples: int = 1000,
    seed: int = 0,
    least: int = 5,
) -> pd.DataFrame:
    """Return how far two tasks agree: two rows, within "language" (over models) and
    within "model" (over languages).

    `first`, `second`: model, lang, value; `family`: language -> family. Columns:
    within, value (mean of Kendall's tau-b over the languages, or the models),
    families_low, families_high, models_low, models_high (95 % intervals of a bootstrap
    over language families and over models, NaN for fewer than `least` of them), models,
    languages, families. A mean over what is resampled has an expanded interval; what is
    ranked in a resample plain percentiles (`correlation.expandable`). A language or
    model with equal scores only has no tau and is left out.
    """
    wide, rows = shared(first, second), []
    both = long(first, second, family=family)
    families = [family[lang] for lang in wide[0].index]
    sizes = {
        "models": len(wide[0].columns),
        "languages": len(wide[0]),
        "families": len(set(families)),
    }
    averaging = {
        "language": ("families", np.array(families)),
        "model": ("models", wide[0].columns.to_numpy()),
    }
    for within, (averaged, clusters) in averaging.items():
        taus = ranking.kendall(
            *((table if within == "language" else table.T).to_numpy() for table in wide)
        )
        fine = np.isfinite(taus)
        row = {"within": within, "value": taus[fine].mean() if fine.any() else np.nan}
        if len(set(clusters[fine])) >= least:
            mean = bootstrap.mean_interval(
                taus[fine], clusters[fine], n_resamples, seed=seed
            ).iloc[0]
            row |= {
                f"{averaged}_low": mean["ci_low"],
                f"{averaged}_high": mean["ci_high"],
            }
        ranked, column = (
            ("models", "model") if within == "language" else ("families", "family")
        )
        if sizes[ranked] >= least and fine.any():
            how = {
                "clusters": column,
                "within": "lang" if within == "language" else "model",
                "methods": ["kendall"],
            }
            tau = correlation.correlate(
                both, "x", "y", n_resamples=n_resamples, seed=seed, **how
            ).iloc[0]
            row |= {f"{ranked}_low": tau["ci_low"], f"{ranked}_high": tau["ci_high"]}
        rows.append(row)
    return pd.DataFrame(rows).reindex(columns=["within", *COLUMNS]).assign(**sizes)


def all_pairs(
    tasks: Mapping[tuple[str, str], pd.DataFrame],
    family: Mapping[str, str],
    fewest: int = 4,
    **options,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return `agreement` of every two tasks of a harness, and the pairs that share too
    few models or languages.

    `tasks`: (harness, task) -> scores; `fewest`: models, and languages, that a pair
    must share; `options`: those of `agreement`. The first table has the columns
    harness, first, second and those of `agreement`; the second harness, first, second,
    models, languages.
    """
    parts, left = [], []
    for one, other in combinations(tasks, 2):
        if one[0] != other[0]:
            continue
        languages, models = shared(tasks[one], tasks[other])[0].shape
        names = {"harness": one[0], "first": one[1], "second": other[1]}
        if min(models, languages) < fewest:
            left.append([*names.values(), models, languages])
        else:
            part = agreement(tasks[one], tasks[other], family, **options)
            parts.append(pd.DataFrame(names, part.index).join(part))
    columns = ["harness", "first", "second", "models", "languages"]
    none = pd.DataFrame(columns=[*columns[:3], "within", *COLUMNS])
    return pd.concat(parts, ignore_index=True) if parts else none, pd.DataFrame(
        left, columns=columns
    )


def moves(
    first: pd.DataFrame,
    second: pd.DataFrame,
    family: Mapping[str, str],
    n_resamples: int = 1000,
    seed: int = 0,
    least: int = 5,
) -> pd.DataFrame:
    """Return by how many ranks each model stands higher in the second task than in the
    first, the largest move first.

    Models are ranked within each language; value is the mean over languages of rank in
    the first task minus rank in the second. Columns: model, first, second (mean ranks),
    value, ci_low, ci_high (bootstrap over `over`: "families", or "languages" where
    there are fewer than `least` families), over, p (sign-flip test by language), p_holm
    (corrected for all models), n (languages), models.
    """
    ranks = [table.rank(axis=1, ascending=False) for table in shared(first, second)]
    gaps = ranks[0] - ranks[1]
    over = (
        "families"
        if len({family[lang] for lang in gaps.index}) >= least
        else "languages"
    )
    member = ranking.members(gaps.index, family if over == "families" else None)
    times = bootstrap.resample_weights(member.shape[1], n_resamples, seed) @ member.T
    resampled = times @ gaps.to_numpy() / times.sum(axis=1, keepdims=True)
    low, high = bootstrap.percentile_interval(resampled, n_clusters=member.shape[1])
    table = pd.DataFrame(
        {"first": ranks[0].mean(), "second": ranks[1].mean(), "value": gaps.mean()}
    ).reset_index()
    table = table.assign(
        ci_low=low,
        ci_high=high,
        over=over,
        p=tests.sign_flips(gaps.to_numpy(), seed=seed),
    )
    table = table.assign(
        p_holm=tests.holm(table["p"]), n=len(gaps), models=gaps.shape[1]
    )
    return table.sort_values(
        "value", key=lambda values: -values.abs(), kind="stable", ignore_index=True
    )
