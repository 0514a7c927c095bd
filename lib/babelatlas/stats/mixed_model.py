"""What a language's accuracy depends on: a linear mixed model with crossed random
effects, its checks and its effects.

The rows are pairs of a model and a language. What is known of the language (tokens of
text, script, family) and of the pair (whether the model's authors list the language)
has fixed effects; models and languages have random ones: an intercept each, and slopes
by model. The components are independent, in lme4's notation (1 + x || model) + (1 |
lang).

Given the components, the fixed effects solve Henderson's mixed-model equations (1975,
Biometrics 31, 423-447), whose matrices are sums over clusters: a bootstrap over
languages, or leaving one out, is a matrix product and a solution of small equations
(`sums_by_cluster`, `solve`), with the components of all rows.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap
from babelatlas.stats.checks import check_columns
from babelatlas.stats.distributions import t_above, t_quantile

OTHER = "other"


@dataclass(frozen=True)
class Fit:
    """A mixed model as fitted.

    `table`: the rows, with the columns fitted, fixed (its fixed part) and residual, on
    the scale of column `y`. `coefficients`: term, name, value, se; `covariance` of
    these. `components`: name, group, covariate, variance, the residual's last.
    `effects`: name, group, level, value, as predicted. `likelihood`: its logarithm,
    restricted where fitted so; `parameters`: the number of coefficients and variances.
    """

    y: str
    fixed: tuple[str, ...]
    random: dict[str, tuple[str, str]]
    table: pd.DataFrame
    coefficients: pd.DataFrame
    covariance: np.ndarray
    components: pd.DataFrame
    effects: pd.DataFrame
    likelihood: float
    parameters: int


def _share(value: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return shares drawn in a little from 0 and 1: (k + 1/2) / (n + 1), as the
    empirical logit has it.
    """
    return (value * n + 0.5) / (n + 1)


# Scales of accuracy and their inverses: as it is; the angle whose sine squared it is (a
# binomial share has nearly the same variance, 1 / (4 n), everywhere); the logarithm of
# its odds.
SCALES: dict[str, tuple[Callable, Callable]] = {
    "accuracy": (lambda share: share, lambda at: at),
    "angle": (
        lambda share: np.arcsin(np.sqrt(share)),
        lambda at: np.sin(np.clip(at, 0, np.pi / 2)) ** 2,
    ),
    "logit": (special.logit, special.expit),
}


def scaled(table: pd.DataFrame, scale: str) -> pd.Series:
    """Return the column value of a table (fractions of n images) on a scale of
    `SCALES`, shares as `_share` has them.

    >>> scaled(pd.DataFrame({"value": [0.5], "n": [100]}), "logit").tolist()
    [0.0]
    """
    value = table["value"].astype(float)
    if scale == "accuracy":
        return value
    to_scale, _ = SCALES[scale]
    return to_scale(_share(value, table["n"]))


def aic(fit: Fit, scale: str = "accuracy") -> float:
    """Return Akaike's criterion of a fit by maximum likelihood (reml=False), as of
    accuracies: less is better.

    The scale's derivative makes scales comparable (Box and Cox 1964, J. R. Stat. Soc. B
    26, 211-252).
    """
    change = 0.0
    if scale != "accuracy":
        value, n = fit.table["value"].to_numpy(float), fit.table["n"].to_numpy(float)
        share = _share(value, n)
        spread = share * (1 - share)
        slope = {"angle": 0.5 / np.sqrt(spread), "logit": 1 / spread}[scale]
        change = np.log(slope * n / (n + 1)).sum()
    return float(2 * fit.parameters - 2 * (fit.likelihood + change))


def design(
    table: pd.DataFrame, fixed: Sequence[str]
) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Return the matrix of the fixed effects, "intercept" first, and the columns of
    each term.

    A column of text becomes an indicator "term: level" for each level but the
    reference, the one with the most rows (the first by name), or of a pandas
    Categorical the first.
    """
    columns, terms = {"intercept": np.ones(len(table))}, {}
    for term in fixed:
        values = table[term]
        if pd.api.types.is_numeric_dtype(values):
            columns[term] = values.to_numpy(float)
            terms[term] = [term]
            continue
        indicators = {
            f"{term}: {level}": (values == level).to_numpy(float)
            for level in _compared_levels(values)
        }
        columns |= indicators
        terms[term] = list(indicators)
    matrix = pd.DataFrame(columns)
    rank = np.linalg.matrix_rank(matrix / matrix.std(ddof=0).replace(0, 1))
    if rank < matrix.shape[1]:
        raise InputError(
            f"Of the fixed effects {', '.join(fixed)} one follows from the others:"
            " leave it out."
        )
    return matrix, terms


def _compared_levels(values: pd.Series) -> list:
    """Return the levels of a term but its reference, `OTHER` last (`design`)."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        levels = list(values.cat.remove_unused_categories().cat.categories)
    else:
        sizes = values.value_counts()
        levels = sorted(sizes.index, key=lambda level: (-sizes[level], level))
    return sorted(levels[1:], key=lambda level: (level == OTHER, level))


def _random(
    table: pd.DataFrame, random: dict[str, tuple[str, str]]
) -> dict[str, tuple[list[str], np.ndarray]]:
    """Return the levels and the matrix (rows, levels) of each random effect."""
    matrices = {}
    for name, (group, covariate) in random.items():
        levels, index = np.unique(table[group].astype(str), return_inverse=True)
        values = table[covariate].to_numpy(float) if covariate else np.ones(len(table))
        matrices[name] = (list(levels), np.eye(len(levels))[index] * values[:, None])
    return matrices


def _check_enough(
    table: pd.DataFrame, y: str, n_fixed: int, groups: Sequence[str]
) -> None:
    """Raise InputError where a table has too few rows for a fit, or levels for a random
    effect.
    """
    alone = [group for group in groups if table[group].nunique() < 2]
    lacking = (
        f"two different values of {alone[0]!r}, which has a random effect"
        if alone
        else ""
    )
    if len(table) <= n_fixed + 1:
        lacking = (
            f"more than {n_fixed + 1} rows for {n_fixed} fixed effects, got"
            f" {len(table)}"
        )
    elif table[y].nunique() < 2:
        lacking = f"values of {y!r} that vary"
    if lacking:
        raise InputError(
            f"The mixed model of {y} needs {lacking}: leave an effect out, or add rows."
        )


def fit(
    table: pd.DataFrame,
    y: str,
    fixed: Sequence[str],
    random: dict[str, tuple[str, str]],
    reml: bool = True,
) -> Fit:
    """Fit column `y` by fixed effects and independent random ones with statsmodels'
    MixedLM.

    `fixed`: columns, of numbers or of text (`design`). `random`: name -> (group,
    covariate), a random intercept for each level of the column `group` where the
    covariate is "", else a random slope of that column, centred beforehand. Raises what
    `design` raises, and InputError for too few rows or levels, a column `y` that does
    not vary, and an estimation that does not converge.
    """
    table = table.reset_index(drop=True)
    check_columns(
        table, y=y, fixed=fixed, random=[group for group, _ in random.values()]
    )
    matrix, terms = design(table, fixed)
    _check_enough(table, y, matrix.shape[1], [group for group, _ in random.values()])
    effects = _random(table, random)
    observed, columns = table[y].to_numpy(float), matrix.to_numpy()
    estimated = _estimate(observed, columns, effects, reml)
    if estimated is None:
        raise InputError(
            f"The mixed model of {y} did not converge: leave out an effect, such as"
            f" {list(random)[-1]}."
        )
    fixed_effects, variances, residual, likelihood = estimated
    fixed_part = columns @ fixed_effects
    predicted, covariance = _predict_effects(
        observed - fixed_part, columns, effects, variances, residual
    )
    fitted = fixed_part + np.hstack([part for _, part in effects.values()]) @ predicted
    coefficients = _coefficients(matrix, terms, fixed_effects, covariance)
    return Fit(
        y=y,
        fixed=tuple(fixed),
        random=dict(random),
        table=table.assign(fitted=fitted, fixed=fixed_part, residual=observed - fitted),
        coefficients=coefficients,
        covariance=covariance,
        components=_components(random, variances, residual),
        effects=_effects_by_level(random, effects, predicted),
        likelihood=likelihood,
        parameters=matrix.shape[1] + len(random) + 1,
    )


def _estimate(
    observed: np.ndarray, columns: np.ndarray, effects: dict, reml: bool
) -> tuple[np.ndarray, dict[str, float], float, float] | None:
    """Return statsmodels' estimates: fixed effects, variance of each random one and of
    the residual, and the logarithm of the likelihood; None where it does not converge.
    """
    from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec
    from statsmodels.tools.sm_exceptions import (
        ConvergenceWarning,
        SingularMatrixWarning,
    )

    names = [
        [f"{name}[{level}]" for level in levels]
        for name, (levels, _) in effects.items()
    ]
    components = VCSpec(
        list(effects),
        [[columns_of_effect] for columns_of_effect in names],
        [{0: part} for _, part in effects.values()],
    )
    # statsmodels warns where a variance is below 0.01 in whatever unit: on this scale
    # that is no small number.
    scale = 1000 / observed.std()
    n_rows, n_fixed = columns.shape
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # A component whose estimate is 0, or a step of the search where it is: an
        # answer, and no fault.
        warnings.simplefilter("ignore", SingularMatrixWarning)
        model = MixedLM(observed * scale, columns, np.zeros(n_rows), exog_vc=components)
        result = model.fit(reml=reml)
    if not result.converged:
        return None
    variances = dict(zip(model.exog_vc.names, result.vcomp / scale**2, strict=True))
    likelihood = result.llf + n_rows * np.log(scale) - reml * n_fixed * np.log(scale)
    return (
        result.fe_params / scale,
        variances,
        result.scale / scale**2,
        float(likelihood),
    )


def _predict_effects(
    rest: np.ndarray,
    columns: np.ndarray,
    effects: dict,
    variances: dict[str, float],
    residual: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the random effects as predicted from what the fixed ones leave (`rest`),
    and the covariance of the fixed ones.
    """
    both = np.hstack([part for _, part in effects.values()])
    spread = np.concatenate(
        [np.full(part.shape[1], variances[name]) for name, (_, part) in effects.items()]
    )
    # With X the fixed columns, Z = `both`, G the diagonal matrix of `spread`, s2 =
    # `residual` and V = Z G Z' + s2 I: G Z' V^-1 (y - X b) = G (Z' Z G + s2 I)^-1 Z' (y
    # - X b), all effects at once.
    inner = residual * np.eye(both.shape[1]) + (both.T @ both) * spread
    predicted = spread * np.linalg.solve(inner, both.T @ rest)
    # The covariance is (X' V^-1 X)^-1, as lme4's; statsmodels' own is the inverse of
    # the Hessian of all parameters.
    solved = np.linalg.solve(inner, both.T @ columns)
    weighed = (columns - both @ (spread[:, None] * solved)) / residual
    return predicted, np.linalg.inv(columns.T @ weighed)


def _coefficients(
    matrix: pd.DataFrame,
    terms: dict[str, list[str]],
    fixed_effects: np.ndarray,
    covariance: np.ndarray,
) -> pd.DataFrame:
    """Return the coefficients of a fit: term ("" of the intercept), name, value, se."""
    term_of = {name: term for term, names in terms.items() for name in names}
    return pd.DataFrame(
        {
            "term": [term_of.get(name, "") for name in matrix],
            "name": list(matrix),
            "value": fixed_effects,
            "se": np.sqrt(np.diag(covariance)),
        }
    )


def _components(
    random: dict[str, tuple[str, str]], variances: dict[str, float], residual: float
) -> pd.DataFrame:
    """Return the components of variance of a fit, the residual's last."""
    rows = [[name, *grouped, variances[name]] for name, grouped in random.items()]
    rows.append(["residual", "", "", residual])
    return pd.DataFrame(rows, columns=["name", "group", "covariate", "variance"])


def _effects_by_level(
    random: dict[str, tuple[str, str]], effects: dict, predicted: np.ndarray
) -> pd.DataFrame:
    """Return the random effects of a fit: name, group, level, value."""
    rows = [
        (name, random[name][0], level)
        for name, (levels, _) in effects.items()
        for level in levels
    ]
    table = pd.DataFrame(rows, columns=["name", "group", "level"])
    return table.assign(value=predicted)


def sums_by_cluster(
    model: Fit, cluster: str, table: pd.DataFrame | None = None
) -> dict:
    """Return Henderson's equations of a fit as sums over the clusters of column
    `cluster`, its components held.

    `table`: other rows than those of the fit. Random effects whose levels lie each
    within one cluster are part of its covariance; the others stand in the equations
    next to the fixed effects. Returns `clusters` (names), `left` (clusters, k, k),
    `right` (clusters, k), `prior` (k), what the diagonal gets once, `names` of the
    fixed effects, which come first, and `levels`, (name, level) of the random ones
    after them.
    """
    table = model.table if table is None else table.reset_index(drop=True)
    matrix, _ = design(table, model.fixed)
    effects = _random(table, model.random)
    variances = model.components.set_index("name")["variance"]
    # An effect without variance is none; the bound keeps its prior finite.
    least = 1e-9 * variances["residual"]
    within_clusters = {
        name: table.groupby(model.random[name][0])[cluster].nunique().max() == 1
        for name in effects
    }
    nested, crossed = {}, {}
    for name, (_, part) in effects.items():
        (nested if within_clusters[name] else crossed)[name] = part
    columns = np.hstack([matrix.to_numpy(), *crossed.values()])
    prior = [
        np.full(part.shape[1], 1 / max(variances[name], least))
        for name, part in crossed.items()
    ]
    y = table[model.y].to_numpy(float)
    clusters, index = np.unique(table[cluster].astype(str), return_inverse=True)
    n_columns = columns.shape[1]
    left = np.zeros((len(clusters), n_columns, n_columns))
    right = np.zeros((len(clusters), n_columns))
    for number in range(len(clusters)):
        rows = np.flatnonzero(index == number)
        spread = variances["residual"] * np.eye(len(rows))
        for name, part in nested.items():
            spread += variances[name] * part[rows] @ part[rows].T
        weighed = np.linalg.solve(spread, np.column_stack([columns[rows], y[rows]]))
        left[number] = columns[rows].T @ weighed[:, :-1]
        right[number] = columns[rows].T @ weighed[:, -1]
    return {
        "clusters": list(clusters),
        "left": left,
        "right": right,
        "prior": np.concatenate([np.zeros(matrix.shape[1]), *prior]),
        "names": list(matrix),
        "levels": [(name, level) for name in crossed for level in effects[name][0]],
    }


def solve(
    equations: dict, drawn: np.ndarray | None = None, everything: bool = False
) -> np.ndarray:
    """Return the fixed effects where cluster c counts `drawn[r, c]` times: shape
    (resamples, names).

    `equations` as of `sums_by_cluster`; `drawn` None: every cluster once, one row. With
    `everything` the random effects follow, in the order of `levels`. An effect that
    cannot be told from the clusters drawn is NaN.
    """
    n, k = equations["right"].shape
    drawn = np.ones((1, n)) if drawn is None else drawn
    left = (drawn @ equations["left"].reshape(n, k * k)).reshape(len(drawn), k, k)
    left[:, np.arange(k), np.arange(k)] += equations["prior"]
    right = drawn @ equations["right"]
    # The same unit for all columns, so that one limit tells an empty direction.
    size = np.sqrt(left[:, np.arange(k), np.arange(k)])
    size[size == 0] = 1
    left = left / size[:, :, None] / size[:, None, :]
    values, vectors = np.linalg.eigh(left)
    kept = values > 1e-9 * values[:, -1:]
    inverse = np.divide(1, values, out=np.zeros_like(values), where=kept)
    turned = np.einsum("rji,rj->ri", vectors, right / size)
    solved = np.einsum("rij,rj->ri", vectors, inverse * turned) / size
    solved[np.einsum("rij,rj->ri", vectors**2, ~kept) > 1e-6] = np.nan
    return solved if everything else solved[:, : len(equations["names"])]


def resample(
    model: Fit, cluster: str = "lang", n_resamples: int = 500, seed: int = 0
) -> np.ndarray:
    """Return the fixed effects in resamples that draw whole clusters, the components
    held: (n_resamples, names).
    """
    n = model.table[cluster].nunique()
    return solve(
        sums_by_cluster(model, cluster),
        bootstrap.resample_weights(n, n_resamples, seed),
    )


def predict(model: Fit, table: pd.DataFrame) -> pd.Series:
    """Return the fixed effects of a fit on other rows or other values of the same
    columns, its components held.
    """
    equations = sums_by_cluster(model, model.random[next(iter(model.random))][0], table)
    return pd.Series(solve(equations)[0], index=equations["names"])


def _widening(table: pd.DataFrame, scale: str) -> np.ndarray:
    """Return the factor of each row that undoes the half image by which `scaled` draws
    shares in.
    """
    n = table["n"].to_numpy(float)
    return np.ones(len(n)) if scale == "accuracy" else (n + 1) / n


def in_points(model: Fit, coefficients: np.ndarray, scale: str) -> np.ndarray:
    """Return what each fixed effect makes in points of accuracy, a mean over the rows:
    same shape as `coefficients`.

    `coefficients`: (draws, coefficients), in the order of the fit. For a number: the
    fitted accuracy half a unit above minus half a unit below, all else equal; for a
    level: the accuracy that the rows would have with it minus that with the reference
    level (an average predictive comparison: Gelman and Pardoe 2007, Sociological
    Methodology 37, 23-51). The fitted values are those of all rows; only the effect
    varies between draws. The intercept has none (NaN).
    """
    coefficients = np.atleast_2d(coefficients)
    _, inverse = SCALES[scale]
    matrix, terms = design(model.table, model.fixed)
    column_of = {name: number for number, name in enumerate(matrix)}
    at = model.table["fitted"].to_numpy(float)
    widening = _widening(model.table, scale)
    points = np.full(coefficients.shape, np.nan)
    for columns in terms.values():
        numbers = [column_of[name] for name in columns]
        # Rows of a level that a draw has no effect for stay where they are.
        term = np.nan_to_num(coefficients[:, numbers]) @ matrix[columns].to_numpy().T
        without = at - term
        for number in numbers:
            step = coefficients[:, [number]]
            low = at - step / 2 if columns[0] in model.fixed else without
            gain = (inverse(low + step) - inverse(low)) * widening
            points[:, number] = 100 * gain.mean(axis=1)
    return points


def wald(model: Fit) -> pd.DataFrame:
    """Return Wald's test of each coefficient by Student's t: columns term, name, value,
    se, df, p, low, high (95 %).

    df: Satterthwaite's, twice the squared variance of the coefficient over the variance
    of its estimate, from the expected information of the components, one of 0 taken as
    known (Giesbrecht & Burns 1985, Biometrics 41, 477-486; as R's lmerTest). Written
    here because statsmodels tests the effects of a mixed model by normal quantiles.
    """
    matrix = design(model.table, model.fixed)[0].to_numpy()
    variances = model.components["variance"].to_numpy()
    random_parts = [part for _, part in _random(model.table, model.random).values()]
    parts = [*random_parts, np.eye(len(matrix))]
    covariance_of_y = sum(
        variance * part @ part.T
        for variance, part in zip(variances, parts, strict=True)
    )
    inverse = np.linalg.inv(covariance_of_y)
    weighed = inverse @ matrix
    rest = inverse - weighed @ model.covariance @ weighed.T
    positive = [
        part
        for variance, part in zip(variances, parts, strict=True)
        if variance > 1e-6 * variances[-1]
    ]
    information = np.array(
        [
            [((first.T @ rest @ second) ** 2).sum() / 2 for second in positive]
            for first in positive
        ]
    )
    slopes = np.array(
        [
            ((model.covariance @ (weighed.T @ part)) ** 2).sum(axis=1)
            for part in positive
        ]
    )
    spread = np.einsum("kp,kl,lp->p", slopes, np.linalg.inv(information), slopes)
    table = model.coefficients.assign(df=2 * np.diag(model.covariance) ** 2 / spread)
    half_width = t_quantile(0.975, table["df"]) * table["se"]
    p = 2 * t_above(np.abs(table["value"] / table["se"]), table["df"])
    return table.assign(
        p=p, low=table["value"] - half_width, high=table["value"] + half_width
    )


def effects(
    model: Fit,
    scale: str,
    clusters: Sequence[str] = ("lang",),
    n_resamples: int = 500,
    seed: int = 0,
) -> pd.DataFrame:
    """Return every fixed effect in points of accuracy with its intervals, one row for
    each effect and interval.

    Columns: term, name, value (points, `in_points`), ci_low, ci_high (95 %), interval
    ("Wald", turned into points, or "bootstrap over <cluster>", the components held), n
    (rows), n_clusters (0 for Wald's).
    """
    tested = wald(model)
    values = tested["value"].to_numpy()
    point = in_points(model, values, scale)[0]
    ends = [
        # One coefficient at a time at its end, the others as estimated.
        np.diagonal(in_points(model, values + np.diag(tested[end] - values), scale))
        for end in ("low", "high")
    ]
    parts = [("Wald", *ends, 0)]
    for cluster in clusters:
        drawn = resample(model, cluster, n_resamples, seed)
        n_clusters = model.table[cluster].nunique()
        low, high = np.full((2, len(values)), np.nan)
        low[1:], high[1:] = bootstrap.percentile_interval(
            in_points(model, drawn, scale)[:, 1:], n_clusters=n_clusters
        )
        parts.append((f"bootstrap over {cluster}", low, high, n_clusters))
    table = tested[["term", "name"]].assign(value=point, n=len(model.table))
    rows = [
        table.assign(ci_low=low, ci_high=high, interval=name, n_clusters=n)[1:]
        for name, low, high, n in parts
    ]
    return pd.concat(rows, ignore_index=True)


def slopes(
    model: Fit,
    name: str,
    scale: str,
    cluster: str = "lang",
    n_resamples: int = 500,
    seed: int = 0,
    fixed: str | None = None,
) -> pd.DataFrame:
    """Return the slope of each level of a random slope, in points for one unit of its
    covariate.

    `name`: a random effect of the fit whose covariate has a fixed effect too, and whose
    levels are not within the clusters. The slope is the sum of both, in points as in
    `in_points`. `fixed`: the name of the fixed effect where it is that of a level of a
    term ("listed: listed") and the covariate is its indicator, 0 or 1. Columns: level,
    value, ci_low, ci_high (bootstrap over clusters, the components held), n (rows),
    n_clusters; the highest first.
    """
    group, covariate = model.random[name]
    names = list(model.coefficients["name"])
    equations = sums_by_cluster(model, cluster)
    n_clusters = model.table[cluster].nunique()
    weights = bootstrap.resample_weights(n_clusters, n_resamples, seed)
    # The first row is the estimate: every cluster once.
    drawn = np.vstack([np.ones((1, n_clusters)), weights])
    solved = solve(equations, drawn, everything=True)
    common = solved[:, [names.index(fixed or covariate)]]
    _, inverse = SCALES[scale]
    rows = []
    for number, (effect, level) in enumerate(equations["levels"], len(names)):
        if effect != name:
            continue
        part = model.table[model.table[group].astype(str) == level]
        at = part["fitted"].to_numpy(float)
        step = common + solved[:, [number]]
        # Of a level: with it minus without it; of a number: half a unit above minus
        # half a unit below.
        low = at - step * (part[covariate].to_numpy(float) if fixed else 0.5)
        gain = (inverse(low + step) - inverse(low)) * _widening(part, scale)
        points = 100 * gain.mean(axis=1)
        ends = bootstrap.percentile_interval(points[1:], n_clusters=n_clusters)
        n_here = part[cluster].nunique()
        rows.append([level, points[0], *map(float, ends), len(part), n_here])
    columns = ["level", "value", "ci_low", "ci_high", "n", "n_clusters"]
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values(
        ["value", "level"], ascending=[False, True], ignore_index=True
    )


def explained(model: Fit) -> pd.DataFrame:
    """Return the share of the variance of each part of a fit: columns part, variance,
    share.

    Parts: "fixed effects", the random ones by name, "residual", "marginal" (fixed
    effects) and "conditional" (fixed and random). After Nakagawa and Schielzeth (2013,
    Methods Ecol. Evol. 4, 133-142) and, for random slopes, Johnson (2014, Methods Ecol.
    Evol. 5, 944-946): a component times the mean square of its covariate.
    """
    parts = {"fixed effects": float(model.table["fixed"].var(ddof=1))}
    for component in model.components.to_dict("records"):
        covariate = component["covariate"]
        square = (model.table[covariate] ** 2).mean() if covariate else 1.0
        parts[component["name"]] = float(component["variance"] * square)
    total = sum(parts.values())
    sums_of = {
        "marginal": parts["fixed effects"],
        "conditional": total - parts["residual"],
    }
    table = pd.DataFrame(
        {"part": [*parts, *sums_of], "variance": [*parts.values(), *sums_of.values()]}
    )
    return table.assign(share=table["variance"] / total)
