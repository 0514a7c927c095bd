"""Which properties of models and of languages are associated with released recall, and
which of the two explain more.

Every model has a result in every language, so models and languages are fitted
separately, each from its mean log odds; logistic regressions of the numbers of hits
stand next to them.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy import special

from atlas_study.chapters import predictors
from babelatlas.analysis import real_models
from babelatlas.base import languages, released, tables
from babelatlas.report import formatting
from babelatlas.report.formatting import intervals
from babelatlas.stats import (
    bootstrap,
    correlation,
    mixed_model,
    multiple_comparisons,
)

RATIO_COLUMNS = ["value", "ci_low", "ci_high", "wald_low", "wald_high"]
RATIO_COLUMNS += ["counted", "low", "high"]
OF_MODELS = ["log_gflops", "captions", "samples"]
# Properties of languages, separately for both kinds of text tower.
OF_LANGUAGES = {
    "tokens_english": "ten times the tokens: English text tower",
    "tokens_multi": "ten times the tokens: multilingual text tower",
    "not_latin_english": "not in Latin script: English text tower",
    "not_latin_multi": "not in Latin script: multilingual text tower",
}
LABELS = {"log_gflops": "ten times the FLOPs", **OF_LANGUAGES}


class Recall(NamedTuple):
    """The mixed models of released recall, and what the page shows of them.

    `title`: of the leaderboard; `real`: `predictors.released_drivers`; `models`:
    `fit_recall`; `ratios`: its odds ratios; `forest`: these as decimal logarithms with
    their three intervals, and their numbers as `ratio_data`; `sure`: those of
    `away_from_one`; `ratio_table`: to read; `shares`: `explained_shares`, their
    `ranges` as text and `share_table` to read; `of_models` and `of_languages`: the
    share of each source of variance, percent; `deviations`; `by_captions`: number of
    models by how captions were chosen, and as `captions`; `ratio_texts`: the odds
    ratios in words; `scores`.
    """

    title: str
    real: pd.DataFrame
    models: "RecallModels"
    ratios: pd.DataFrame
    forest: pd.DataFrame
    ratio_data: pd.DataFrame
    sure: pd.DataFrame
    ratio_table: pd.DataFrame
    shares: pd.DataFrame
    ranges: dict[str, str]
    share_table: pd.DataFrame
    of_models: pd.Series
    of_languages: pd.Series
    deviations: pd.DataFrame
    by_captions: pd.Series
    captions: str
    ratio_texts: str
    scores: pd.DataFrame


def compare(
    board: tuple[str, str, str], tokens: str, n_resamples: int, seed: int
) -> Recall:
    """Fit released recall, models and languages separately, and compare what they
    explain.

    `board`: harness, data set and metric; `tokens`: as for
    `predictors.released_drivers`.
    """
    real = predictors.released_drivers(*board, tokens)
    models = fit_recall(real, n_resamples, seed)
    shares = explained_shares(real, n_resamples, seed)
    by_captions = models.of_models.table["captions"].value_counts()
    by_captions = by_captions[by_captions > 0]
    ratio_texts = [
        f"{row.effect} {row.value:.3g}" for row in models.ratios.itertuples()
    ]
    explained = [
        100 * mixed_model.explained(fit).set_index("part")["share"]
        for fit in (models.of_models, models.of_languages)
    ]
    return Recall(
        title=real_models.title(*board),
        real=real,
        models=models,
        ratios=models.ratios,
        forest=ratio_forest(models.ratios),
        ratio_data=models.ratios[["effect", *RATIO_COLUMNS]],
        sure=models.ratios[away_from_one(models.ratios)],
        ratio_table=ratio_table(models.ratios),
        shares=shares,
        ranges={
            side: f"{100 * shares[side].min():.0f} to {100 * shares[side].max():.0f} %"
            for side in ("languages", "models")
        },
        share_table=share_table(shares),
        of_models=explained[0],
        of_languages=explained[1],
        deviations=deviations(models),
        by_captions=by_captions,
        captions=", ".join(f"{kind} {n}" for kind, n in by_captions.items()),
        ratio_texts="; ".join(ratio_texts),
        scores=scores(models.ratios, *board[1:]),
    )


def ratio_forest(ratios: pd.DataFrame) -> pd.DataFrame:
    """Return the decimal logarithms of odds ratios with three intervals: effect,
    series, value, ci_low, ci_high.
    """
    columns = {
        "bootstrap over training data or families": ["value", "ci_low", "ci_high"],
        "Wald": ["value", "wald_low", "wald_high"],
        "counts": ["counted", "low", "high"],
    }
    parts = []
    for series, names in columns.items():
        rows = np.log10(ratios[names])
        rows.columns = ["value", "ci_low", "ci_high"]
        parts.append(rows.assign(effect=ratios["effect"], series=series))
    return pd.concat(parts, ignore_index=True)


def ratio_table(ratios: pd.DataFrame) -> pd.DataFrame:
    """Return odds ratios as a table to read."""
    by_counts = ratios[["counted", "low", "high"]]
    by_counts.columns = ["value", "ci_low", "ci_high"]
    return pd.DataFrame(
        {
            "property": ratios["effect"],
            "odds ratio": intervals(ratios, ".3g", 1),
            "odds ratio from counts": intervals(by_counts, ".3g", 1),
            "p": ratios["p_holm"].map(formatting.p_value),
        }
    )


def share_table(shares: pd.DataFrame) -> pd.DataFrame:
    """Return `explained_shares` as a table to read."""
    table = shares[["models and languages", "scale"]].copy()
    for side in ("languages", "models"):
        rows = shares[[side, f"{side}_low", f"{side}_high"]].clip(lower=0)
        rows.columns = ["value", "ci_low", "ci_high"]
        table[f"{side} (%)"] = intervals(rows)
    table["larger"] = shares["larger"]
    return table


def scores(ratios: pd.DataFrame, dataset: str, metric: str) -> pd.DataFrame:
    """Return odds ratios in the columns of schema `scores`."""
    rows = ratios.assign(
        task="retrieval",
        dataset=dataset,
        lang="",
        group="",
        model="",
        metric=f"odds ratio of {metric}",
        variant=ratios["effect"] + ", bootstrap over " + ratios["over"],
        n=ratios["n_clusters"],
    )
    return rows[list(tables.SCORE)]


class RecallModels(NamedTuple):
    """The two mixed models of log odds.

    `of_models`: one row for each model, training data at random; `of_languages`: one
    for each language and kind of text tower, languages and families at random.
    `ratios`: odds ratios.
    """

    of_models: mixed_model.Fit
    of_languages: mixed_model.Fit
    ratios: pd.DataFrame


def fit_recall(real: pd.DataFrame, n_resamples: int, seed: int) -> RecallModels:
    """Fit models and languages; `real`: of `predictors.released_drivers`."""
    logits = real.groupby("model", as_index=False)["logit"].mean()
    by_model = real.drop_duplicates("model").drop(columns="logit").merge(logits)
    of_models = mixed_model.fit(
        by_model, "logit", OF_MODELS, {"training data": ("data", "")}
    )

    by = ["lang", "home", "log_tokens", "not_latin", "multi"]
    by_language = real.groupby(by, as_index=False)["logit"].mean()
    is_multi = by_language["multi"]
    columns = {"tokens": "log_tokens", "not_latin": "not_latin"}
    for name, column in columns.items():
        by_language[f"{name}_english"] = by_language[column] * (1 - is_multi)
        by_language[f"{name}_multi"] = by_language[column] * is_multi
    nested = {"language": ("lang", ""), "family": ("home", "")}
    of_languages = mixed_model.fit(
        by_language, "logit", ["multi", *OF_LANGUAGES], nested
    )

    ratios = pd.concat(
        [
            _odds_ratios(of_models, "data", n_resamples, seed).assign(
                over="training data"
            ),
            _odds_ratios(of_languages, "home", n_resamples, seed).assign(
                over="families"
            ),
        ],
        ignore_index=True,
    )
    ratios = ratios.query("name != 'multi'").reset_index(drop=True)
    ratios["p_holm"] = multiple_comparisons.holm(ratios["p"])
    effect = ratios["name"].str.replace("samples: ", "pairs seen: ")
    ratios["effect"] = effect.replace(LABELS)
    rows = real.merge(by_language[["lang", "multi", *OF_LANGUAGES]], how="left")
    counts = pd.concat(
        [
            _from_counts(rows, OF_MODELS, "data", held="lang"),
            _from_counts(rows, list(OF_LANGUAGES), "home", held="model"),
        ]
    )
    return RecallModels(of_models, of_languages, ratios.join(counts, on="name"))


def _odds_ratios(
    fit: mixed_model.Fit, by: str, n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return the odds ratios of a fit: name, df, p, value, wald_low, wald_high, ci_low,
    ci_high (bootstrap over the clusters `by`), n_clusters.
    """
    wald = mixed_model.wald(fit).iloc[1:].reset_index(drop=True)
    n_clusters = fit.table[by].nunique()
    resampled = mixed_model.resample(fit, by, n_resamples, seed)[:, 1:]
    low, high = bootstrap.percentile_interval(resampled, n_clusters=n_clusters)
    return wald[["name", "df", "p"]].assign(
        value=np.exp(wald["value"]),
        wald_low=np.exp(wald["low"]),
        wald_high=np.exp(wald["high"]),
        ci_low=np.exp(low),
        ci_high=np.exp(high),
        n_clusters=n_clusters,
    )


def _from_counts(
    rows: pd.DataFrame, terms: list[str], by: str, held: str
) -> pd.DataFrame:
    """Return odds ratios of a logistic regression of the hits: low, high, counted, by
    name.

    With an effect of each value of column `held`; intervals are robust to what the
    clusters `by` share.
    """
    hits = np.column_stack([rows["n_correct"], rows["n"] - rows["n_correct"]])
    matrix, _ = mixed_model.design(rows, terms)
    matrix = matrix.join(pd.get_dummies(rows[held], dtype=float, drop_first=True))
    logistic = sm.GLM(hits, matrix, family=sm.families.Binomial())
    logistic = logistic.fit(
        cov_type="cluster",
        cov_kwds={"groups": pd.factorize(rows[by])[0]},
        use_t=True,
    )
    ratios = logistic.conf_int().set_axis(["low", "high"], axis=1)
    ratios = np.exp(ratios.assign(counted=logistic.params))
    return ratios.drop(index=["intercept", *rows[held].unique()], errors="ignore")


def away_from_one(ratios: pd.DataFrame) -> pd.Series:
    """Return which odds ratios differ from 1 significantly, with both intervals on one
    side of it.
    """
    above = (ratios["ci_low"] > 1) & (ratios["low"] > 1)
    below = (ratios["ci_high"] < 1) & (ratios["high"] < 1)
    return (ratios["p_holm"] < 0.05) & (above | below)


def explained_shares(real: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return which share of the differences of recall languages explain, and models, by
    scale and sample.

    `real`: of `predictors.released_drivers`. Columns: models and languages (the sample
    with its numbers), scale ("log odds", "recall", "counts"), languages, models and gap
    (languages minus models), fractions with _low and _high (models and families
    resampled, crossed), larger ("languages", "models", "not sure").
    """
    rows = []
    for name, sample in _samples(real):
        n_models, n_languages = sample["model"].nunique(), sample["lang"].nunique()
        n_clusters = min(n_models, sample["home"].nunique())
        for kind in ("log odds", "recall", "counts"):
            row = {
                "models and languages": f"{name} ({n_models}, {n_languages})",
                "scale": kind,
            }
            shares = _shares(*_losses(sample, kind, n_resamples, seed))
            for side, share in shares.items():
                low, high = bootstrap.percentile_interval(
                    share[1:], n_clusters=n_clusters
                )
                row[side] = share[0]
                row[f"{side}_low"] = low.clip(-1, 1)
                row[f"{side}_high"] = high.clip(-1, 1)
            rows.append(row)
    table = pd.DataFrame(rows)
    conditions = [table["gap_low"] > 0, table["gap_high"] < 0]
    table["larger"] = np.select(conditions, ["languages", "models"], "not sure")
    return table


def _samples(real: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield all results, and those of each kind of text tower and of script."""
    real = real.sort_values(["model", "lang"], ignore_index=True)
    is_latin = real["not_latin"] < 0  # less the mean over languages
    is_multi = real["multi"] == 1
    yield "all", real
    yield "multilingual text towers", real[is_multi]
    yield "English text towers", real[~is_multi]
    yield "languages in Latin script", real[is_latin]
    yield "languages in other scripts", real[~is_latin]


def _shares(
    nothing: np.ndarray, languages: np.ndarray, models: np.ndarray, both: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the share of the loss that languages explain, models, and the difference.

    The mean of what a side explains alone and next to the other one; these differ for
    counts only.
    """
    of_languages = (nothing - languages + models - both) / 2 / nothing
    of_models = (nothing - models + languages - both) / 2 / nothing
    gap = of_languages - of_models
    return {"languages": of_languages, "models": of_models, "gap": gap}


def _losses(
    sample: pd.DataFrame, kind: str, n_resamples: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return what is left without an effect, with one of languages, of models, and of
    both: each (1 + resamples).

    Squared errors, or half the deviance for "counts"; the first of each is that of the
    sample itself. `sample`: every model in every language, sorted by both.
    """
    weights, _ = correlation.crossed_weights(
        sample, ["home", "model"], n_resamples, seed
    )
    weights = weights[weights.any(axis=1)]
    weights = np.vstack([np.ones(len(sample)), weights])
    shape = (-1, sample["model"].nunique(), sample["lang"].nunique())
    weights = weights.reshape(shape)
    scale = "logit" if kind == "log odds" else "accuracy"
    y = mixed_model.scaled(sample, scale).to_numpy().reshape(weights.shape[1:])

    nothing = _weighted_mean(y, weights, (1, 2))
    of_languages = _weighted_mean(y, weights, 1)
    of_models = _weighted_mean(y, weights, 2)
    if kind == "counts":
        both = _logistic_fit(y, weights, of_models)
        loss = _deviance
    else:
        both = _least_squares_fit(y, weights, of_models)
        loss = _squared_error
    fits = (nothing, of_languages, of_models, both)
    return tuple((weights * loss(y, fit)).sum(axis=(1, 2)) for fit in fits)


def _weighted_mean(
    y: np.ndarray, weights: np.ndarray, axis: int | tuple[int, int]
) -> np.ndarray:
    total = weights.sum(axis, keepdims=True).clip(1e-12)
    return (weights * y).sum(axis, keepdims=True) / total


def _least_squares_fit(
    y: np.ndarray, weights: np.ndarray, start: np.ndarray
) -> np.ndarray:
    """Return the fit of models and languages; two rounds suffice, since the weight of a
    pair is a product.
    """
    fit = start
    for step in range(4):
        axis = 1 + step % 2
        total = weights.sum(axis, keepdims=True).clip(1e-12)
        fit = fit + (weights * (y - fit)).sum(axis, keepdims=True) / total
    return fit


def _logistic_fit(y: np.ndarray, weights: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the logistic fit of models and languages, by 15 rounds of Newton steps of
    at most 2.
    """
    logits = special.logit(start.clip(1e-6))
    for step in range(30):
        axis = 1 + step % 2
        fit = special.expit(logits)
        gradient = (weights * (y - fit)).sum(axis, keepdims=True)
        curvature = (weights * (fit * (1 - fit))).sum(axis, keepdims=True)
        logits = logits + (gradient / curvature.clip(1e-12)).clip(-2, 2)
    return special.expit(logits)


def _squared_error(y: np.ndarray, fit: np.ndarray) -> np.ndarray:
    return (y - fit) ** 2


def _deviance(y: np.ndarray, fit: np.ndarray) -> np.ndarray:
    """Return half the deviance of each pair."""
    fit = fit.clip(1e-12, 1 - 1e-12)
    return special.xlogy(y, y / fit) + special.xlogy(1 - y, (1 - y) / (1 - fit))


def deviations(models: RecallModels) -> pd.DataFrame:
    """Return observed by expected odds of each language and model, as a table to read,
    the largest deviation first.
    """
    of_languages = models.of_languages.table
    towers = {
        0: "language, English text tower",
        1: "language, multilingual text tower",
    }
    of_languages = of_languages.assign(
        name=of_languages["lang"].map(languages.name),
        kind=of_languages["multi"].map(towers),
    )
    of_models = models.of_models.table
    titles = released.models()["title"]
    of_models = of_models.assign(name=of_models["model"].map(titles), kind="model")
    rows = pd.concat([of_languages, of_models])
    rows = rows.sort_values(
        "residual",
        key=lambda residual: -residual.abs(),
        ignore_index=True,
        kind="stable",
    )
    return pd.DataFrame(
        {
            "language or model": rows["name"],
            "kind": rows["kind"],
            "observed by expected odds": np.exp(rows["residual"]),
            "typical recall (%)": 100 * special.expit(rows["logit"]),
        }
    )
