"""Tests, shares of variance and residual checks of a fitted mixed model."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from babelatlas.base.errors import InputError
from babelatlas.stats import mixed_model, tests


def likelihood_ratio(smaller: mixed_model.Fit, larger: mixed_model.Fit) -> tuple[float, int, float]:
    """Return twice the difference of two log-likelihoods, the difference of their parameters, and chi-squared's p.

    Raises InputError unless both are by maximum likelihood (reml=False) of the same rows, and the second has more
    parameters.
    """
    if smaller.reml or larger.reml or len(smaller.table) != len(larger.table) or smaller.y != larger.y:
        raise InputError("A likelihood ratio compares two fits with reml=False of the same rows and the same column.")
    freedom = larger.parameters - smaller.parameters
    if freedom < 1:
        raise InputError(
            f"The larger of two models has more parameters, got {larger.parameters} and {smaller.parameters}."
        )
    statistic = max(0.0, 2 * (larger.likelihood - smaller.likelihood))
    return statistic, freedom, float(scipy_stats.chi2.sf(statistic, freedom))


def drop_terms(found: mixed_model.Fit) -> pd.DataFrame:
    """Return a likelihood-ratio test of each fixed term of a fit by maximum likelihood: the model without it.

    Columns: term, statistic (chi-squared), df, p, p_holm (over the terms), aic_change (positive where the term is worth
    its parameters).
    """
    rows = []
    for term in found.fixed:
        rest = mixed_model.fit(
            found.table, found.y, [name for name in found.fixed if name != term], found.random, reml=False
        )
        statistic, freedom, p = likelihood_ratio(rest, found)
        rows.append([term, statistic, freedom, p, statistic - 2 * freedom])
    table = pd.DataFrame(rows, columns=["term", "statistic", "df", "p", "aic_change"])
    table.insert(4, "p_holm", tests.holm(table["p"]))
    return table


def aic(found: mixed_model.Fit, scale: str = "accuracy") -> float:
    """Return Akaike's criterion of a fit by maximum likelihood, as of accuracies (`log_jacobian`): less is better."""
    if found.reml:
        raise InputError("Akaike's criterion compares fits by maximum likelihood: fit with reml=False.")
    return 2 * found.parameters - 2 * (found.likelihood + mixed_model.log_jacobian(found.table, scale))


def explained(found: mixed_model.Fit) -> pd.DataFrame:
    """Return the share of the variance of each part of a fit: columns part, variance, share.

    Parts: "fixed effects", the random ones by name, "residual", and the two sums "marginal" (fixed effects) and
    "conditional" (fixed and random). After Nakagawa and Schielzeth (2013, Methods Ecol. Evol. 4, 133-142), with random
    slopes as Johnson (2014, Methods Ecol. Evol. 5, 944-946): a component times the mean square of its covariate.
    """
    parts = {"fixed effects": float(found.table["fixed"].var(ddof=1))}
    for row in found.components.to_dict("records"):
        square = (found.table[row["covariate"]] ** 2).mean() if row["covariate"] else 1.0
        parts[row["name"]] = float(row["variance"] * square)
    total = sum(parts.values())
    sums_of = {"marginal": parts["fixed effects"], "conditional": total - parts["residual"]}
    table = pd.DataFrame({"part": [*parts, *sums_of], "variance": [*parts.values(), *sums_of.values()]})
    return table.assign(share=table["variance"] / total)


def inflation(table: pd.DataFrame, fixed: Sequence[str]) -> pd.DataFrame:
    """Return how much the variance of each term is inflated by the others: columns term, gvif, df, per_df.

    The generalised variance inflation factor of Fox and Monette (1992, J. Am. Stat. Assoc. 87, 178-183): with R the
    correlation matrix of the columns, det(R of the term) det(R of the others) / det(R). `per_df` is its 1 / (2 df)-th
    power, the factor by which a standard error grows; 1 where a term has nothing to do with the others.
    """
    matrix, terms = mixed_model.design(table, fixed)
    related = matrix.drop(columns="intercept").corr()
    rows = []
    for term, columns in terms.items():
        rest = [name for name in related if name not in columns]
        parts = [np.linalg.det(related.loc[names, names]) if names else 1.0 for names in (columns, rest)]
        gvif = parts[0] * parts[1] / np.linalg.det(related)
        rows.append([term, gvif, len(columns), gvif ** (1 / (2 * len(columns)))])
    return pd.DataFrame(rows, columns=["term", "gvif", "df", "per_df"])


def checks(found: mixed_model.Fit) -> pd.DataFrame:
    """Return what the assumptions of a fit say: columns of, n, sd, skewness, excess_kurtosis, shapiro_p.

    One row for the residuals and one for each random effect as predicted. Shapiro and Wilk's p is of the hypothesis
    that they are normal (a guide: effects are shrunken, and residuals depend on each other). Fewer than 3 have NaN.
    """
    parts = {"residual": found.table["residual"].to_numpy(float)}
    parts |= {name: part["value"].to_numpy(float) for name, part in found.effects.groupby("name", sort=False)}
    rows = []
    for name, values in parts.items():
        row = [name, len(values), values.std(ddof=1), np.nan, np.nan, np.nan]
        if len(values) > 2 and np.ptp(values) > 0:
            row[3:] = scipy_stats.skew(values), scipy_stats.kurtosis(values), scipy_stats.shapiro(values).pvalue
        rows.append(row)
    return pd.DataFrame(rows, columns=["of", "n", "sd", "skewness", "excess_kurtosis", "shapiro_p"])


def spread_by(found: mixed_model.Fit, by: str) -> pd.DataFrame:
    """Return the standard deviation of the residuals for each value of column `by`, and the test that all are alike.

    Columns: `by`, sd, n, p (Brown and Forsythe 1974, J. Am. Stat. Assoc. 69, 364-367: Levene's test about medians; the
    same in all rows), largest sd first.
    """
    groups = {name: part.to_numpy(float) for name, part in found.table.groupby(by)["residual"] if len(part) > 1}
    if len(groups) < 2:
        raise InputError(
            f"Spreads are compared for at least two values of {by!r} with two rows each, got {len(groups)}."
        )
    p = float(scipy_stats.levene(*groups.values(), center="median").pvalue)
    rows = [[name, values.std(ddof=1), len(values), p] for name, values in groups.items()]
    return pd.DataFrame(rows, columns=[by, "sd", "n", "p"]).sort_values(["sd", by], ascending=[False, True])


def shared_residuals(found: mixed_model.Fit) -> pd.DataFrame:
    """Return the correlation of residuals of each two models over languages: first, second, value, n; highest first.

    The fit takes residuals for independent; models that learned from the same texts may be wrong together.
    """
    wide = found.table.pivot_table(index="lang", columns="model", values="residual")
    related, n = wide.corr(min_periods=3), wide.notna().astype(int).T @ wide.notna().astype(int)
    rows = [[*pair, related.loc[pair], int(n.loc[pair])] for pair in combinations(wide, 2)]
    table = pd.DataFrame(rows, columns=["first", "second", "value", "n"]).dropna()
    return table.sort_values(["value", "first", "second"], ascending=[False, True, True], ignore_index=True)
