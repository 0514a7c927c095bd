"""What goes with a language's accuracy: a linear mixed model with crossed random effects, its checks and its effects.

The rows are pairs of a model and a language. What is known of the language (tokens of text, classes, script, family)
and of the pair (whether the model's authors list the language) has fixed effects; models and languages are samples, and
have random ones: an intercept each, and slopes by model. statsmodels' MixedLM estimates it. The components are
independent of each other, in lme4's notation (1 + x || model) + (1 | lang).

Given the components, the fixed effects are the solution of Henderson's mixed-model equations (1975, Biometrics 31,
423-447), whose matrices are sums over clusters. So a bootstrap over languages, or leaving one out, is a matrix product
and a solution of small equations (`sums`, `solve`); the components are then those of all rows.

Associations, not causes: nobody gave languages their text at random.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special
from scipy import stats as scipy_stats

from babelatlas import InputError, coverage, languages, near, published, stats, taught

NOT_LISTED, LISTED, NO_LIST = "not listed", "listed", "no list published"
OTHER = "other"


@dataclass(frozen=True)
class Fit:
    """A mixed model as fitted: what it was asked, and what came out.

    `table`: the rows, with the columns fitted (fixed and random effects), fixed (the fixed part) and residual, all on
    the scale of column `y`. `coefficients`: term, name, value, se; `covariance` of these. `components`: name, group,
    covariate, variance; the last row is the residual. `effects`: name, group, level, value: the random effects as
    predicted. `likelihood` is the logarithm, restricted where `reml`; `parameters` counts coefficients and variances.
    """

    y: str
    fixed: tuple[str, ...]
    random: dict[str, tuple[str, str]]
    reml: bool
    table: pd.DataFrame
    coefficients: pd.DataFrame
    covariance: np.ndarray
    components: pd.DataFrame
    effects: pd.DataFrame
    likelihood: float
    parameters: int


# --- the table -------------------------------------------------------------------------------------


def recipes() -> dict[str, str]:
    """Return the published models by name, each with the name that it shares with those taught languages likewise.

    Models of one family for which the paper prints the same number of languages have learned from the same texts, with
    other image towers. A model with a recipe of its own keeps its name.

    >>> recipes()["M-CLIP XLMR-L L-14"], recipes()["M-CLIP mBERT B-32"]
    ('M-CLIP, 48 languages', 'M-CLIP mBERT B-32')
    """
    table = published.models()
    shared = table.groupby(["family", "languages"])["model"].transform("size") > 1
    names = (table["family"] + ", " + table["languages"] + " languages").where(shared, table["model"])
    return dict(zip(table["model"], names, strict=True))


def averaged(scores: pd.DataFrame, home: dict[str, str]) -> pd.DataFrame:
    """Return the mean accuracy of models that share a name in `home`, by language; the other columns must agree.

    `scores`: model, lang, value and others (n, classes); a model that is not in `home` keeps its own name. n stays that
    of one model, since all see the same images. Raises InputError where models of one name differ in another column.
    """
    table = scores.assign(model=scores["model"].map(lambda name: home.get(name, name)))
    others = [name for name in table if name not in ("model", "lang", "value", "variant")]
    found = table.groupby(["model", "lang"], sort=False, as_index=False)
    if (found[others].nunique()[others] > 1).any(axis=None):
        raise InputError(f"Models can be averaged in a language where {', '.join(others)} agree, but some differ.")
    return found.agg({"value": "mean", **dict.fromkeys(others, "first")})


def together(values: pd.Series, keys: pd.Series, minimum: int) -> pd.Series:
    """Return `values` with those that fewer than `minimum` different `keys` have put together as "other".

    >>> together(pd.Series(["a", "a", "b"]), pd.Series(["x", "y", "x"]), 2).tolist()
    ['a', 'a', 'other']
    """
    sizes = keys.groupby(values).nunique()
    return values.where(values.map(sizes) >= minimum, OTHER)


def covariates(
    scores: pd.DataFrame,
    lists: dict[str, Sequence[str]],
    variant: str = "corrected",
    minimum: int = 5,
    english: bool = False,
) -> pd.DataFrame:
    """Return scores by model and language with what may drive them; languages without XLM-R tokens are left out.

    `scores`: model, lang, value (fraction), n (images), classes. `lists`: model -> languages that its authors list, ()
    or absent where they publish none. Added: tokens (millions, in XLM-R's training text: `coverage.tokens` by
    `variant`), log_tokens (its logarithm, base 10), log_classes (base 2) and not_latin (0 or 1), these three less their
    means over the languages; script and family (those of fewer than `minimum` languages are "other"); listed ("not
    listed", "listed", "no list published"). `english` keeps English. Raises InputError where no language has tokens, or
    a row has no images or no classes.
    """
    for name in ("n", "classes"):
        if (scores[name] <= 0).any():
            row = scores[scores[name] <= 0].iloc[0]
            raise InputError(f"A row needs {name} above 0, but {row['model']} in {row['lang']!r} has {row[name]}.")
    home = languages.table().set_index("code")
    table = scores[(scores["lang"] != coverage.ENGLISH) | english]
    table = table.merge(coverage.tokens(variant), on="lang", validate="many_to_one").sort_values(["model", "lang"])
    if table.empty:
        raise InputError("None of the languages has a number of tokens in XLM-R's training text: there is no row left.")
    table = table.reset_index(drop=True)
    scripts = table["lang"].map(home["script_name"])
    known = [(lists.get(model) or (), lang) for model, lang in zip(table["model"], table["lang"], strict=True)]
    answers = [(LISTED if lang in listed else NOT_LISTED) if listed else NO_LIST for listed, lang in known]
    table = table.assign(
        log_tokens=np.log10(table["tokens"]),
        log_classes=np.log2(table["classes"]),
        not_latin=(scripts != "Latin").astype(float),
        script=together(scripts, table["lang"], minimum),
        family=together(table["lang"].map(home["family"]), table["lang"], minimum),
        listed=pd.Categorical(answers, [NOT_LISTED, LISTED, NO_LIST]),
    )
    numbers = ["log_tokens", "log_classes", "not_latin"]  # slopes by model are independent of intercepts at the mean
    table[numbers] -= table.drop_duplicates("lang")[numbers].mean()
    return table


def published_drivers(
    source: str = "geigle2024",
    variant: str = "corrected",
    minimum: int = 5,
    english: bool = False,
    by_recipe: bool = True,
) -> pd.DataFrame:
    """Return `covariates` of the published accuracy in every language, of each recipe (`recipes`) or of each model."""
    scores = published.by_language(source)
    lists = taught.published_lists(1).groupby("model")["lang"].agg(tuple).to_dict()
    if by_recipe:
        home = recipes()
        scores, lists = averaged(scores, home), {home.get(model, model): listed for model, listed in lists.items()}
    return covariates(scores, lists, variant, minimum, english)


# --- scales ----------------------------------------------------------------------------------------


def _share(value: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return shares drawn in a little from 0 and 1: (k + 1/2) / (n + 1), as the empirical logit has it."""
    return (value * n + 0.5) / (n + 1)


def _slope(share: np.ndarray, scale: str) -> np.ndarray:
    """Return the derivative of a scale by the share."""
    spread = share * (1 - share)
    return {"accuracy": np.ones_like(share), "angle": 0.5 / np.sqrt(spread), "logit": 1 / spread}[scale]


# Scales of accuracy and their inverses: as it is; the angle whose sine squared it is, on which a binomial share has
# nearly the same variance, 1 / (4 n), everywhere; the logarithm of its odds.
SCALES: dict[str, tuple[Callable, Callable]] = {
    "accuracy": (lambda share: share, lambda at: at),
    "angle": (lambda share: np.arcsin(np.sqrt(share)), lambda at: np.sin(np.clip(at, 0, np.pi / 2)) ** 2),
    "logit": (special.logit, special.expit),
}


def scaled(table: pd.DataFrame, scale: str) -> pd.Series:
    """Return the column value of a table (fractions of n images) on a scale of `SCALES`.

    On "angle" and "logit" the share is (k + 1/2) / (n + 1) with k images right, which is never 0 or 1. Raises
    InputError for another scale.

    >>> scaled(pd.DataFrame({"value": [0.5], "n": [100]}), "logit").tolist()
    [0.0]
    """
    if scale not in SCALES:
        raise InputError(f"There is no scale {scale!r}: {near(scale, SCALES)}")
    if scale == "accuracy":
        return table["value"].astype(float)
    return SCALES[scale][0](_share(table["value"].astype(float), table["n"]))


def log_jacobian(table: pd.DataFrame, scale: str) -> float:
    """Return what is added to a log-likelihood on a scale to make it one of accuracies, so that scales can be compared.

    The sum over rows of the logarithm of the scale's derivative by the accuracy (Box and Cox 1964, J. R. Stat. Soc. B
    26, 211-252); 0 for "accuracy".
    """
    if scale == "accuracy":
        return 0.0
    value, n = table["value"].to_numpy(float), table["n"].to_numpy(float)
    return float(np.log(_slope(_share(value, n), scale) * n / (n + 1)).sum())


def sampling_variance(table: pd.DataFrame, scale: str) -> np.ndarray:
    """Return the variance of each row on a scale if its images were right or wrong independently (delta method)."""
    share = _share(table["value"].to_numpy(float), table["n"].to_numpy(float))
    return _slope(share, scale) ** 2 * share * (1 - share) / table["n"].to_numpy(float)


# --- the fit ---------------------------------------------------------------------------------------


def design(table: pd.DataFrame, fixed: Sequence[str]) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Return the matrix of the fixed effects, and the columns of each term.

    A column of numbers is taken as it is; one of text becomes an indicator "term: level" for each level but the one
    with the most rows, the reference (the first by name where two have as many; a pandas Categorical keeps its first
    category as the reference). The first column is "intercept". Raises InputError for a column that is not there, one
    level only, gaps, or terms of which one follows from the others.
    """
    columns, terms = {"intercept": np.ones(len(table))}, {}
    for term in fixed:
        if term not in table:
            raise InputError(f"There is no column {term!r} to explain the rows by: {near(term, table.columns)}")
        values = table[term]
        if values.isna().any():
            raise InputError(f"A fixed effect needs a {term} in every row, but {int(values.isna().sum())} have none.")
        if pd.api.types.is_numeric_dtype(values):
            terms[term], columns[term] = [term], values.to_numpy(float)
            continue
        if isinstance(values.dtype, pd.CategoricalDtype):
            levels = [level for level in values.cat.categories if (values == level).any()]
        else:
            sizes = values.value_counts()
            levels = sorted(sizes.index, key=lambda level: (-sizes[level], level))
        if len(levels) < 2:
            raise InputError(f"A fixed effect needs two levels, but every row has the same {term}, {levels[0]!r}.")
        levels = [levels[0], *sorted(levels[1:], key=lambda level: (level == OTHER, level))]
        terms[term] = [f"{term}: {level}" for level in levels[1:]]
        columns |= {
            name: (values == level).to_numpy(float) for name, level in zip(terms[term], levels[1:], strict=True)
        }
    matrix = pd.DataFrame(columns)
    rank = np.linalg.matrix_rank(matrix / matrix.std(ddof=0).replace(0, 1))
    if rank < matrix.shape[1]:
        raise InputError(
            f"The fixed effects {', '.join(fixed)} make {matrix.shape[1]} columns of rank {rank}: one follows from the "
            "others; leave it out."
        )
    return matrix, terms


def _random(table: pd.DataFrame, random: dict[str, tuple[str, str]]) -> dict[str, tuple[list[str], np.ndarray]]:
    """Return the levels and the matrix (rows, levels) of each random effect."""
    matrices = {}
    for name, (group, covariate) in random.items():
        for column in (group, covariate):
            if column and column not in table:
                raise InputError(f"The random effect {name!r} needs the column {column!r}, which the table has not.")
        levels, index = np.unique(table[group].astype(str), return_inverse=True)
        if len(levels) < 2:
            raise InputError(
                f"The random effect {name!r} needs two levels of {group}, but there is only {levels[0]!r}."
            )
        matrix = np.zeros((len(table), len(levels)))
        matrix[np.arange(len(table)), index] = table[covariate].to_numpy(float) if covariate else 1.0
        matrices[name] = (list(levels), matrix)
    return matrices


def _given_components(
    away: np.ndarray, fixed: np.ndarray, random: np.ndarray, spread: np.ndarray, residual: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the random effects as predicted, and the covariance of the fixed ones, where the variances are known.

    `away` (rows): the response less the fixed part, y - X b. `fixed` is X (rows, coefficients), `random` Z (rows,
    effects), `spread` the diagonal of G, the variance of each effect, `residual` s2; V = Z G Z' + s2 I.
    """
    inner = residual * np.eye(random.shape[1]) + (random.T @ random) * spread
    # G Z' V^-1 (y - X b) = G (Z' Z G + s2 I)^-1 Z' (y - X b), all effects at once.
    predicted = spread * np.linalg.solve(inner, random.T @ away)
    # The covariance is (X' V^-1 X)^-1, as lme4's; statsmodels' own is the inverse of the Hessian of all parameters.
    weighed = (fixed - random @ (spread[:, None] * np.linalg.solve(inner, random.T @ fixed))) / residual
    return predicted, np.linalg.inv(fixed.T @ weighed)


def fit(
    table: pd.DataFrame, y: str, fixed: Sequence[str], random: dict[str, tuple[str, str]], reml: bool = True
) -> Fit:
    """Fit column `y` by fixed effects and independent random ones with statsmodels' MixedLM.

    `fixed`: columns, of numbers or of text (`design`). `random`: name -> (group, covariate), a random intercept for
    each level of the column `group` where the covariate is "", else a random slope of that column (centre it
    beforehand: it is independent of the intercept). `reml` for estimates; likelihoods are compared with reml=False.
    Raises InputError for what `design` raises, values of `y` that are missing, random effects without two levels, fewer
    rows than coefficients, and where the estimation does not converge.
    """
    from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec
    from statsmodels.tools.sm_exceptions import ConvergenceWarning

    if y not in table or not np.isfinite(table[y].to_numpy(float)).all():
        raise InputError(f"A mixed model needs a number in column {y!r} of every row: it is missing, or some are.")
    table = table.reset_index(drop=True)
    matrix, terms = design(table, fixed)
    if len(table) <= matrix.shape[1]:
        raise InputError(
            f"A mixed model of {matrix.shape[1]} coefficients needs more rows than that, got {len(table)}."
        )
    effects = _random(table, random)
    names = [[f"{name}[{level}]" for level in levels] for name, (levels, _) in effects.items()]
    parts = VCSpec(list(effects), [[part] for part in names], [{0: part} for _, part in effects.values()])
    # statsmodels warns where a variance is below 0.01 in whatever unit: on this scale that is no small number.
    scale = 1000 / table[y].std(ddof=0)
    response = table[y].to_numpy(float) * scale
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        asked = MixedLM(response, matrix.to_numpy(), np.zeros(len(table)), exog_vc=parts)
        found = asked.fit(reml=reml)
    if not found.converged:
        raise InputError(
            f"The mixed model of {y} did not converge: leave out a random effect ({', '.join(random)}) or a fixed one."
        )
    variances = dict(zip(asked.exog_vc.names, found.vcomp / scale**2, strict=True))
    parts = [
        {"name": name, "group": group, "covariate": covariate, "variance": variances[name]}
        for name, (group, covariate) in random.items()
    ]
    residual = found.scale / scale**2
    components = pd.DataFrame([*parts, {"name": "residual", "group": "", "covariate": "", "variance": residual}])
    value = found.fe_params / scale
    fixed_part = matrix.to_numpy() @ value
    both = np.hstack([part for _, part in effects.values()])
    spread = np.concatenate([np.full(part.shape[1], variances[name]) for name, (_, part) in effects.items()])
    away = table[y].to_numpy(float) - fixed_part
    predicted, covariance = _given_components(away, matrix.to_numpy(), both, spread, residual)
    levels = [(name, random[name][0], level) for name, (levels, _) in effects.items() for level in levels]
    term_of = {column: term for term, columns in terms.items() for column in columns}
    fitted = fixed_part + both @ predicted
    return Fit(
        y=y,
        fixed=tuple(fixed),
        random=dict(random),
        reml=reml,
        table=table.assign(fitted=fitted, fixed=fixed_part, residual=table[y].to_numpy(float) - fitted),
        coefficients=pd.DataFrame(
            {
                "term": [term_of.get(name, "") for name in matrix],
                "name": list(matrix),
                "value": value,
                "se": np.sqrt(np.diag(covariance)),
            }
        ),
        covariance=covariance,
        components=components,
        effects=pd.DataFrame(levels, columns=["name", "group", "level"]).assign(value=predicted),
        likelihood=float(found.llf + len(table) * np.log(scale) - reml * matrix.shape[1] * np.log(scale)),
        parameters=matrix.shape[1] + len(random) + 1,
    )


# --- given the components --------------------------------------------------------------------------


def sums(found: Fit, cluster: str, table: pd.DataFrame | None = None) -> dict:
    """Return Henderson's equations of a fit as sums over the clusters of column `cluster`, its components held.

    `table` takes the place of the rows of the fit: other rows or other values in the same columns. Random effects whose
    levels lie each within one cluster are part of its covariance; the others stand in the equations beside the fixed
    effects. Returns `clusters` (names), `left` (clusters, k, k), `right` (clusters, k), `prior` (k), what the diagonal
    gets once, `names` of the fixed effects, which come first, and `levels`, (name, level) of the random ones after
    them. Raises what `fit` raises.
    """
    table = found.table if table is None else table.reset_index(drop=True)
    if cluster not in table or table[cluster].nunique() < 2:
        raise InputError(f"Clusters need a column {cluster!r} with at least two different values.")
    matrix, _ = design(table, found.fixed)
    effects = _random(table, found.random)
    variances = found.components.set_index("name")["variance"]
    # An effect without variance is none; the bound keeps its prior finite.
    least = 1e-9 * variances["residual"]
    homes = {name: table.groupby(found.random[name][0])[cluster].nunique().max() == 1 for name in effects}
    beside = [part for name, (_, part) in effects.items() if not homes[name]]
    both = np.hstack([matrix.to_numpy(), *beside])
    prior = [np.zeros(matrix.shape[1])]
    prior += [
        np.full(part.shape[1], 1 / max(variances[name], least))
        for name, (_, part) in effects.items()
        if not homes[name]
    ]
    y = table[found.y].to_numpy(float)
    names, index = np.unique(table[cluster].astype(str), return_inverse=True)
    left, right = np.zeros((len(names), both.shape[1], both.shape[1])), np.zeros((len(names), both.shape[1]))
    for number in range(len(names)):
        rows = np.flatnonzero(index == number)
        spread = variances["residual"] * np.eye(len(rows))
        for name, (_, part) in effects.items():
            if homes[name]:
                spread += variances[name] * part[rows] @ part[rows].T
        weighed = np.linalg.solve(spread, np.column_stack([both[rows], y[rows]]))
        left[number], right[number] = both[rows].T @ weighed[:, :-1], both[rows].T @ weighed[:, -1]
    return {
        "clusters": list(names),
        "left": left,
        "right": right,
        "prior": np.concatenate(prior),
        "names": list(matrix),
        "levels": [(name, level) for name, (levels, _) in effects.items() if not homes[name] for level in levels],
    }


def solve(equations: dict, drawn: np.ndarray | None = None, everything: bool = False) -> np.ndarray:
    """Return the fixed effects where cluster c counts `drawn[r, c]` times: shape (resamples, names).

    `equations` as `sums` returns them; `drawn` None: every cluster once, one row. With `everything` the random effects
    of the equations follow, in the order of `levels`. An effect that cannot be told from the
    clusters drawn (no language of a script, say) is NaN.
    """
    n, k = equations["right"].shape
    drawn = np.ones((1, n)) if drawn is None else np.asarray(drawn, float)
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
    found = np.einsum("rij,rj->ri", vectors, inverse * turned) / size
    lost = np.einsum("rij,rj->ri", vectors**2, ~kept) > 1e-6
    found[lost] = np.nan
    return found if everything else found[:, : len(equations["names"])]


def resample(found: Fit, cluster: str = "lang", n_resamples: int = 500, seed: int = 0) -> np.ndarray:
    """Return the fixed effects in resamples that draw whole clusters: shape (n_resamples, coefficients).

    The variance components are those of all rows. Raises what `sums` raises.
    """
    equations = sums(found, cluster)
    return solve(equations, stats.weights(len(equations["clusters"]), n_resamples, seed))


def effects_without(found: Fit, by: str) -> pd.DataFrame:
    """Return the fixed effects without each value of column `by` in turn: left_out, then one column for each effect.

    The components are those of all rows. NaN where an effect cannot be told from the rest.
    """
    equations = sums(found, by)
    n = len(equations["clusters"])
    return pd.DataFrame(solve(equations, 1 - np.eye(n)), columns=equations["names"]).assign(
        left_out=equations["clusters"]
    )[["left_out", *equations["names"]]]


def again(found: Fit, table: pd.DataFrame) -> pd.Series:
    """Return the fixed effects of a fit on other rows or other values of the same columns, its components held."""
    equations = sums(found, found.random[next(iter(found.random))][0], table)
    return pd.Series(solve(equations)[0], index=equations["names"])


# --- effects in points -----------------------------------------------------------------------------


def _widening(table: pd.DataFrame, scale: str) -> np.ndarray:
    """Return the factor of each row that undoes what `scaled` does to shares, which draws them in by half an image."""
    n = table["n"].to_numpy(float)
    return np.ones(len(n)) if scale == "accuracy" else (n + 1) / n


def in_points(found: Fit, coefficients: np.ndarray, scale: str) -> np.ndarray:
    """Return what each fixed effect makes in points of accuracy, a mean over the rows: same shape as `coefficients`.

    `coefficients`: (draws, coefficients), in the order of the fit. For a number: the fitted accuracy half a unit above
    minus half a unit below, all else equal; for a level: the accuracy that the rows would have with it minus that with
    the reference level (an average predictive comparison: Gelman and Pardoe 2007, Sociological Methodology 37, 23-51).
    The fitted values are those of all rows, random effects included; only the effect itself varies between draws. On
    the scale "accuracy" it is 100 times the coefficient. The intercept has none (NaN). Raises InputError for another
    scale, or a number of coefficients that is not the fit's.
    """
    if scale not in SCALES:
        raise InputError(f"There is no scale {scale!r}: {near(scale, SCALES)}")
    coefficients = np.atleast_2d(np.asarray(coefficients, float))
    if coefficients.shape[1] != len(found.coefficients):
        raise InputError(
            f"Points need the {len(found.coefficients)} coefficients of the fit, got {coefficients.shape[1]}."
        )
    inverse = SCALES[scale][1]
    matrix, terms = design(found.table, found.fixed)
    place = {name: number for number, name in enumerate(matrix)}
    at = found.table["fitted"].to_numpy(float)
    wide = _widening(found.table, scale)
    points = np.full(coefficients.shape, np.nan)
    for columns in terms.values():
        numbers = [place[name] for name in columns]
        own = matrix[columns].to_numpy()
        is_number = columns[0] in found.fixed
        for number in numbers:
            step = coefficients[:, [number]]
            if is_number:
                low, high = at - step / 2, at + step / 2
            else:
                # Rows of a level that a draw has no effect for stay where they are.
                low = at - np.nan_to_num(coefficients[:, numbers]) @ own.T
                high = low + step
            points[:, number] = 100 * ((inverse(high) - inverse(low)) * wide).mean(axis=1)
    return points


def effects(
    found: Fit,
    scale: str,
    clusters: Sequence[str] = ("lang",),
    n_resamples: int = 500,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Return every fixed effect in points of accuracy with its intervals, one row for each effect and interval.

    Columns: term, name, value (points), ci_low, ci_high, interval ("Wald", or "bootstrap over <cluster>"), n (rows),
    n_clusters (0 for Wald's). Wald's interval is of the coefficient plus or minus the normal quantile times its
    standard error, turned into points; the bootstrap draws whole clusters, the components held (`resample`). Effects
    are those of `in_points`; the intercept is left out.
    """
    values = found.coefficients["value"].to_numpy()
    point = in_points(found, values, scale)[0]
    reach = scipy_stats.norm.ppf((1 + level) / 2) * found.coefficients["se"].to_numpy()
    ends = []
    for sign in (-1, 1):
        moved = values + sign * reach * np.eye(len(values))
        ends.append(np.diagonal(in_points(found, moved, scale)))
    parts = [("Wald", *ends, 0)]
    for cluster in clusters:
        drawn = in_points(found, resample(found, cluster, n_resamples, seed), scale)
        low, high = np.full((2, len(values)), np.nan)
        n_clusters = found.table[cluster].nunique()
        low[1:], high[1:] = stats.interval(drawn[:, 1:], level, n_clusters)
        parts.append((f"bootstrap over {cluster}", low, high, n_clusters))
    rows = [
        found.coefficients[["term", "name"]]
        .assign(value=point, ci_low=low, ci_high=high, interval=name, n=len(found.table), n_clusters=n)
        .iloc[1:]
        for name, low, high, n in parts
    ]
    return pd.concat(rows, ignore_index=True)


def contrasts(found: Fit, by: str = "lang", names: Sequence[str] | None = None) -> pd.DataFrame:
    """Return a test of each fixed effect, corrected for their number, and how many languages it rests on.

    Columns: term, name, p (Wald's, two-sided, of the coefficient and its standard error), p_holm (Holm's correction for
    all effects tested), and n_clusters: different values of `by` that have the level of a term of text; for a number,
    all. `names`: the effects to test, all but the intercept unless given. One level picked from many for its large
    effect is large by chance as well: so levels are corrected together. Raises InputError for an unknown name.
    """
    table = found.coefficients.iloc[1:]
    unknown = [name for name in (names or []) if name not in set(table["name"])]
    if unknown:
        raise InputError(f"There is no effect {unknown[0]!r}: {near(unknown[0], table['name'])}")
    table = table if names is None else table[table["name"].isin(names)]
    p = 2 * scipy_stats.norm.sf(np.abs(table["value"] / table["se"]))
    matrix, _ = design(found.table, found.fixed)
    labels = found.table[by]
    is_number = table["term"] == table["name"]
    n = [
        labels.nunique() if number else labels[matrix[name].to_numpy() > 0].nunique()
        for name, number in zip(table["name"], is_number, strict=True)
    ]
    return table[["term", "name"]].assign(p=p, p_holm=stats.holm(p), n_clusters=n).reset_index(drop=True)


def slopes(
    found: Fit, name: str, scale: str, cluster: str = "lang", n_resamples: int = 500, level: float = 0.95, seed: int = 0
) -> pd.DataFrame:
    """Return the slope of each level of a random slope, in points for one unit of its covariate.

    `name`: a random effect of the fit whose covariate has a fixed effect too, and whose levels are not within the
    clusters. The slope is the sum of both; in points it is the mean over the level's rows of the fitted accuracy half a
    unit above minus half a unit below. Columns: level, value, ci_low, ci_high (bootstrap over clusters, the components
    held), n (rows), n_clusters; the highest first. Raises InputError for another random effect.
    """
    group, covariate = found.random.get(name, ("", ""))
    names = list(found.coefficients["name"])
    if covariate not in names:
        raise InputError(f"Slopes need a random effect whose covariate has a fixed one too, got {name!r}.")
    equations = sums(found, cluster)
    n = len(equations["clusters"])
    drawn = np.vstack([np.ones((1, n)), stats.weights(n, n_resamples, seed)])
    solved = solve(equations, drawn, everything=True)
    inverse, rows = SCALES[scale][1], []
    for place, (effect, own) in enumerate(equations["levels"]):
        if effect != name:
            continue
        part = found.table[found.table[group].astype(str) == own]
        at = part["fitted"].to_numpy(float)
        wide = _widening(part, scale)
        step = solved[:, [names.index(covariate)]] + solved[:, [len(names) + place]]
        points = 100 * ((inverse(at + step / 2) - inverse(at - step / 2)) * wide).mean(axis=1)
        low, high = stats.interval(points[1:], level, n)
        rows.append([own, points[0], float(low), float(high), len(part), part[cluster].nunique()])
    table = pd.DataFrame(rows, columns=["level", "value", "ci_low", "ci_high", "n", "n_clusters"])
    return table.sort_values(["value", "level"], ascending=[False, True], ignore_index=True)


# --- tests, shares of variance, checks -------------------------------------------------------------


def likelihood_ratio(smaller: Fit, larger: Fit) -> tuple[float, int, float]:
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


def drop_terms(found: Fit) -> pd.DataFrame:
    """Return a likelihood-ratio test of each fixed term of a fit by maximum likelihood: the model without it.

    Columns: term, statistic (chi-squared), df, p, p_holm (over the terms), aic_change (positive where the term is worth
    its parameters). The test takes the number of languages and models for large; it is a little too ready to reject.
    """
    rows = []
    for term in found.fixed:
        rest = fit(found.table, found.y, [name for name in found.fixed if name != term], found.random, reml=False)
        statistic, freedom, p = likelihood_ratio(rest, found)
        rows.append([term, statistic, freedom, p, statistic - 2 * freedom])
    table = pd.DataFrame(rows, columns=["term", "statistic", "df", "p", "aic_change"])
    table.insert(4, "p_holm", stats.holm(table["p"]))
    return table


def aic(found: Fit, scale: str = "accuracy") -> float:
    """Return Akaike's criterion of a fit by maximum likelihood, as of accuracies (`log_jacobian`): less is better."""
    if found.reml:
        raise InputError("Akaike's criterion compares fits by maximum likelihood: fit with reml=False.")
    return 2 * found.parameters - 2 * (found.likelihood + log_jacobian(found.table, scale))


def explained(found: Fit) -> pd.DataFrame:
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
    matrix, terms = design(table, fixed)
    related = matrix.drop(columns="intercept").corr()
    rows = []
    for term, columns in terms.items():
        rest = [name for name in related if name not in columns]
        parts = [np.linalg.det(related.loc[names, names]) if names else 1.0 for names in (columns, rest)]
        gvif = parts[0] * parts[1] / np.linalg.det(related)
        rows.append([term, gvif, len(columns), gvif ** (1 / (2 * len(columns)))])
    return pd.DataFrame(rows, columns=["term", "gvif", "df", "per_df"])


def checks(found: Fit) -> pd.DataFrame:
    """Return what the assumptions of a fit say: columns of, n, sd, skewness, excess_kurtosis, shapiro_p.

    One row for the residuals and one for each random effect as predicted. Normal values have a skewness and an excess
    kurtosis near 0; Shapiro and Wilk's p is of the hypothesis that they are normal (predicted effects are shrunken, and
    residuals depend on each other a little, so that it is a guide). Groups of fewer than 3 have NaN.
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


def spread_by(found: Fit, by: str) -> pd.DataFrame:
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


def shared_residuals(found: Fit, of: str = "model", over: str = "lang") -> pd.DataFrame:
    """Return the correlation of residuals of each two models over languages: first, second, value, n; highest first.

    The fit takes residuals for independent; models that learned from the same texts may be wrong together.
    """
    wide = found.table.pivot_table(index=over, columns=of, values="residual")
    related, n = wide.corr(min_periods=3), wide.notna().astype(int).T @ wide.notna().astype(int)
    names = list(wide)
    rows = [
        [one, other, related.loc[one, other], int(n.loc[one, other])]
        for place, one in enumerate(names)
        for other in names[place + 1 :]
    ]
    table = pd.DataFrame(rows, columns=["first", "second", "value", "n"]).dropna()
    return table.sort_values(["value", "first", "second"], ascending=[False, True, True], ignore_index=True)
