"""Leaderboards of real models from released results: the best of a language, the best for a size, who differs."""

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from babelatlas.base import released
from babelatlas.base.errors import InputError, near
from babelatlas.stats import bootstrap, checks, tests


def best(table: pd.DataFrame, budget: float | None = None, alpha: float = 0.05) -> pd.DataFrame:
    """Return the models of one language by their value, the best first, and which do not differ from the best.

    `table`: model, value (fraction), n (cases; 0 where not known), n_correct (NaN where not known), one row for each
    model. With `budget` only models of at most so many million parameters are taken; those of unknown size are left
    out. Columns: model, value, ci_low, ci_high (exact binomial interval), p_holm (two-sided test of two shares, pooled
    and unpaired, against the best; Holm's correction over these comparisons), same (True for the best itself and where
    p_holm is at least `alpha`). The models saw the same images, so that an unpaired test is conservative. Where n is
    not known there is neither interval nor test (NaN), and `same` is False. No model left: no rows. Raises InputError
    for a missing column, a model with two rows, or, with a budget, a model that is not in `released.models()`.

    >>> rows = pd.DataFrame({"model": list("abc"), "value": [0.5, 0.49, 0.2], "n": 1000, "n_correct": [500, 490, 200]})
    >>> best(rows)["same"].tolist()
    [True, True, False]
    """
    missing = [column for column in ("model", "value", "n", "n_correct") if column not in table]
    if missing:
        raise InputError(f"The best model needs the column(s) {', '.join(missing)}; got {', '.join(map(str, table))}.")
    if table["model"].duplicated().any():
        name = table.loc[table["model"].duplicated(), "model"].iloc[0]
        raise InputError(f"The best model needs one row for each model, but {name!r} has several: select one result.")
    if budget is not None:
        if not budget > 0:
            raise InputError(f"A budget is a number of million parameters above 0, got {budget}: give 500, say.")
        sizes = released.models()["parameters_m"]
        unknown = sorted(set(table["model"]) - set(sizes.index))
        if unknown:
            raise InputError(f"No released model has the name {unknown[0]!r}: {near(unknown[0], sizes.index)}")
        table = table[table["model"].map(sizes) <= budget]
    columns = ["model", "value", "ci_low", "ci_high", "p_holm", "same"]
    if table.empty:
        return pd.DataFrame(columns=columns).astype({"same": bool})
    checks.check_numbers(table, ["value", "n"], "The best model", ["model"])
    found = table.sort_values(["value", "model"], ascending=[False, True], ignore_index=True)
    n = found["n"].to_numpy(float)
    # A share that is no whole number of its cases, within its rounding, still gives their number nearly.
    correct = found["n_correct"].fillna((found["value"] * found["n"]).round()).to_numpy(float)
    known = n > 0
    low, high = np.full((2, len(found)), np.nan)
    low[known], high[known] = bootstrap.exact_interval(correct[known], n[known])
    p = np.full(len(found), np.nan)
    if known[0]:
        p[known] = two_shares(correct[0], n[0], correct[known], n[known])
    p[0] = np.nan
    found = found.assign(ci_low=low, ci_high=high, p_holm=tests.holm(p))
    return found.assign(same=(found["p_holm"] >= alpha) | (found.index == 0))[columns]


def two_shares(first: np.ndarray, n_first: np.ndarray, second: np.ndarray, n_second: np.ndarray) -> np.ndarray:
    """Return two-sided p values that two shares are equal, from counts: the pooled z test, 1 where all or none hit.

    >>> two_shares(50, 100, np.array([50, 30]), 100).round(4).tolist()
    [1.0, 0.0039]
    """
    pooled = (first + second) / (n_first + n_second)
    spread = np.sqrt(pooled * (1 - pooled) * (1 / n_first + 1 / n_second))
    gap = np.abs(first / n_first - second / n_second)
    return 2 * scipy_stats.norm.sf(np.divide(gap, spread, out=np.zeros_like(gap), where=spread > 0))


def pareto_front(table: pd.DataFrame, cost: str, value: str) -> pd.DataFrame:
    """Return the rows that no other row beats with at most the same cost, from the cheapest to the most expensive.

    Another row beats one with a higher value at the same or a lower cost, or the same value at a lower cost; equal rows
    stay together. Rows without a cost or a value are left out. Raises InputError for a missing column.

    >>> pareto_front(pd.DataFrame({"cost": [1, 2, 3, None], "value": [0.2, 0.1, 0.5, 0.9]}), "cost", "value")
       cost  value
    0   1.0    0.2
    2   3.0    0.5
    """
    missing = [column for column in (cost, value) if column not in table]
    if missing:
        raise InputError(f"A Pareto front needs the column(s) {', '.join(missing)}; got {', '.join(map(str, table))}.")
    kept = table.dropna(subset=[cost, value]).sort_values([cost, value], ascending=[True, False], kind="stable")
    # The highest value of all cheaper rows, and of the rows of the same cost.
    of_cost = kept.groupby(cost)[value].max()
    cheaper = of_cost.cummax().shift(fill_value=-np.inf)
    return kept[(kept[value] == kept[cost].map(of_cost)) & (kept[value] > kept[cost].map(cheaper))]
