"""Which properties of a language are associated with published accuracy: the mixed
model, its effects, and how they depend on choices.

The table is that of `predictors.published_drivers`: training recipes and languages are
crossed random effects.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy

from atlas_study.chapters import predictors
from babelatlas.base import languages, published, tables
from babelatlas.report import formatting
from babelatlas.report.formatting import intervals
from babelatlas.stats import mixed_model, multiple_comparisons

TERMS = ["log_tokens", "log_classes", "script", "family", "listed"]
RANDOM = {
    "model": ("model", ""),
    "slope of tokens": ("model", "log_tokens"),
    "not in Latin script": ("model", "not_latin"),
    "training language": ("model", "is_listed"),
    "language": ("lang", ""),
}
LABELS = {
    "log_tokens": "ten times the text",
    "log_classes": "twice the classes",
    "listed: listed": "being a training language",
    "listed: no list published": "no list published",
}
# What the file of scores calls effects and intervals.
WRITTEN = {
    "log_tokens": "ten times the tokens",
    "listed: listed": "listed by the authors",
}
INTERVALS = {
    "bootstrap over lang": "bootstrap over languages",
    "bootstrap over model": "bootstrap over recipes",
}
# What the page calls intervals.
SHOWN_INTERVALS = {
    "bootstrap over lang": "bootstrap over languages",
    "bootstrap over model": "bootstrap over training recipes",
}
# What the page calls the sources of variance.
SOURCES = {
    "model": "training recipe",
    "not in Latin script": "other script, by recipe",
    "slope of tokens": "slope of tokens, by recipe",
    "training language": "effect of the list, by recipe",
}
MAIN_EFFECTS = ["log_tokens", "log_classes", "listed: listed"]


class AccuracyModel(NamedTuple):
    """The mixed model of published accuracy.

    `scales`: AIC, skewness of residuals and their correlation with fitted values, by
    scale, the best first; `scale`: the best one. `by_model`: the fit by maximum
    likelihood to all models, none averaged. `table` and `main`: the rows by training
    recipe, and their fit. `effects`: `mixed_model.effects` in points, with label.
    `tested`: the effects with Wald's interval by name, with df, p (Holm-adjusted), text
    and languages (those with the property).
    """

    scales: pd.DataFrame
    scale: str
    by_model: mixed_model.Fit
    table: pd.DataFrame
    main: mixed_model.Fit
    effects: pd.DataFrame
    tested: pd.DataFrame


class Accuracy(NamedTuple):
    """The mixed model of published accuracy, and what the page shows of it.

    `model`: `fit_accuracy`; `forest`: its effects as the figure names their intervals;
    `effect_table`: to read; `main_text`: the main effects in words, and
    `main_effects`: their points by label; `n_agreeing`: the
    significant effects whose bootstrap intervals exclude 0, too; `text_slopes`: the
    slope of tokens of each recipe, and `slope_texts` in words; `list_slopes`, and
    `list_table` to read; `differences`; `left_out`; `scale_table` to read; `variance`:
    the share of each source (fractions) with marginal and conditional R², and
    `variance_table` to read; `residuals`: `check_residuals`; `choices`:
    `other_choices`; `without_one`, and `without_ranges` in words; `scores`.
    """

    model: AccuracyModel
    forest: pd.DataFrame
    effect_table: pd.DataFrame
    main_text: str
    main_effects: dict[str, float]
    n_agreeing: int
    text_slopes: pd.DataFrame
    slope_texts: pd.Series
    list_slopes: pd.DataFrame
    list_table: pd.DataFrame
    differences: pd.DataFrame
    left_out: "LeftOut"
    scale_table: pd.DataFrame
    variance: pd.Series
    variance_table: pd.DataFrame
    residuals: "Residuals"
    choices: pd.DataFrame
    without_one: pd.DataFrame
    without_ranges: str
    scores: pd.DataFrame


def compare(
    source: str, tokens: str, minimum: int, n_resamples: int, seed: int
) -> Accuracy:
    """Fit published accuracies and compare the fit with other choices; arguments as for
    `fit_accuracy`.
    """
    model = fit_accuracy(source, tokens, minimum, n_resamples, seed)
    text_slopes = mixed_model.slopes(
        model.main, "slope of tokens", model.scale, "lang", n_resamples, seed=seed
    )
    of_lists = list_slopes(model, n_resamples, seed)
    list_table = pd.DataFrame(
        {
            "training recipe": of_lists["level"],
            "languages listed": of_lists["languages"],
            "points of accuracy": intervals(of_lists, "+.1f", 1, " to "),
        }
    )
    explained = mixed_model.explained(model.main).set_index("part")["share"]
    explained = explained.rename(index=SOURCES)
    without = without_one(model)
    main = model.tested.loc[MAIN_EFFECTS]
    slope_texts = intervals(text_slopes, "+.1f", 1, " to ")
    return Accuracy(
        model=model,
        forest=model.effects.replace({"interval": SHOWN_INTERVALS}),
        effect_table=effect_table(model.tested),
        main_text="; ".join(main["label"] + " " + main["text"]),
        main_effects=main.set_index("label")["value"].to_dict(),
        n_agreeing=n_agreeing(model),
        text_slopes=text_slopes,
        slope_texts=text_slopes["level"] + " " + slope_texts,
        list_slopes=of_lists,
        list_table=list_table,
        differences=differences(model),
        left_out=left_out(model, source),
        scale_table=scale_table(model.scales),
        variance=explained,
        variance_table=variance_table(explained),
        residuals=check_residuals(model),
        choices=other_choices(model, source, tokens, minimum),
        without_one=without,
        without_ranges=without_ranges(without),
        scores=scores(model.effects, text_slopes),
    )


def n_agreeing(model: AccuracyModel) -> int:
    """Return of how many significant effects all intervals exclude 0."""
    effects = model.effects
    excludes_0 = (effects["ci_low"] > 0) | (effects["ci_high"] < 0)
    in_all = excludes_0.groupby(effects["name"]).all()
    return int(in_all[model.tested.index[model.tested["p"] < 0.05]].sum())


def scale_table(scales: pd.DataFrame) -> pd.DataFrame:
    """Return the scales as a table to read, AIC as the difference to the lowest."""
    table = scales.assign(AIC=scales["AIC"] - scales["AIC"].min())
    return table.rename(columns={"AIC": "AIC, difference to the lowest"})


def variance_table(explained: pd.Series) -> pd.DataFrame:
    """Return the share of each source of variance as a table to read."""
    shares = 100 * explained.drop(["marginal", "conditional"]).rename("share (%)")
    return shares.rename_axis("source of variance").reset_index()


def without_ranges(without: pd.DataFrame) -> str:
    """Return how far the effects of `without_one` reach, in words."""
    texts = []
    for effect, rows in without.groupby("effect", sort=False):
        most = rows.loc[rows["change"].idxmax(), "left out"]
        ends = f"{rows['value'].min():+.1f} to {rows['value'].max():+.1f}"
        texts.append(f"{effect} {ends}, most different without {most}")
    return "; ".join(texts).replace(" -", " −")


def effect_table(tested: pd.DataFrame) -> pd.DataFrame:
    """Return `tested` of `AccuracyModel` as a table to read."""
    table = tested[["label", "text", "languages", "df"]]
    table.columns = ["effect", "points of accuracy", "languages", "degrees of freedom"]
    return table.assign(p=tested["p"].map(formatting.p_value))


def scores(effects: pd.DataFrame, text_slopes: pd.DataFrame) -> pd.DataFrame:
    """Return effects and slopes in the columns of schema `scores`, as fractions."""
    names = effects["name"].replace(LABELS | WRITTEN)
    kinds = effects["interval"].replace(INTERVALS)
    of_effects = effects.assign(model="", variant=kinds + ", " + names)
    slopes = text_slopes.assign(
        model=text_slopes["level"],
        variant="bootstrap over languages, ten times the tokens",
    )
    rows = pd.concat([of_effects, slopes], ignore_index=True)
    rows[["value", "ci_low", "ci_high"]] /= 100
    rows = rows.assign(
        task="zeroshot",
        dataset="babel-imagenet",
        lang="",
        group="",
        metric="effect on accuracy@1",
    )
    return rows[list(tables.SCORE)]


def fit_accuracy(
    source: str, tokens: str, minimum: int, n_resamples: int, seed: int
) -> AccuracyModel:
    """Fit the accuracies of a published table on the scale with the lowest AIC.

    `source`, `tokens`, `minimum`: as for `predictors.published_drivers`.
    """
    models = predictors.published_drivers(source, tokens, minimum, by_recipe=False)
    table = predictors.published_drivers(source, tokens, minimum)
    fits = {}
    rows = []
    for scale in mixed_model.SCALES:
        models[scale] = mixed_model.scaled(models, scale)
        table[scale] = mixed_model.scaled(table, scale)
        fits[scale] = mixed_model.fit(models, scale, TERMS, RANDOM, reml=False)
        residuals = fits[scale].table["residual"]
        fitted = fits[scale].table["fitted"]
        correlation = residuals.abs().corr(fitted, method="spearman")
        aic = mixed_model.aic(fits[scale], scale)
        rows.append([scale, aic, scipy.stats.skew(residuals), correlation])
    columns = [
        "scale",
        "AIC",
        "skewness of residuals",
        "correlation of residual size and fitted value",
    ]
    scales = pd.DataFrame(rows, columns=columns)
    scales = scales.sort_values("AIC", ignore_index=True, kind="stable")
    best = scales["scale"].iloc[0]

    main = mixed_model.fit(table, best, TERMS, RANDOM)
    effects = mixed_model.effects(main, best, ("lang", "model"), n_resamples, seed=seed)
    effects["label"] = effects["name"].replace(LABELS)
    tested = _tested(main, effects)
    return AccuracyModel(scales, best, fits[best], table, main, effects, tested)


def _tested(main: mixed_model.Fit, effects: pd.DataFrame) -> pd.DataFrame:
    """Return the effects with Wald's interval, df, p, text and languages."""
    wald = mixed_model.wald(main).set_index("name").iloc[1:]
    tested = effects[effects["interval"] == "Wald"].set_index("name")
    tested = tested.assign(df=wald["df"], p=multiple_comparisons.holm(wald["p"]))
    rounded = tested.round(1)
    with_dash = intervals(rounded, "+.1f", 1)
    with_to = intervals(rounded, "+.1f", 1, " to ")
    tested["text"] = with_dash.where(tested["ci_low"] >= 0, with_to)
    tested["languages"] = [
        _languages_with(main.table, name, term) for name, term in tested["term"].items()
    ]
    return tested


def _languages_with(table: pd.DataFrame, name: str, term: str) -> int:
    """Return in how many languages a level of a term occurs; all for a number."""
    if name != term:
        table = table[table[term] == name.partition(": ")[2]]
    return table["lang"].nunique()


def list_slopes(model: AccuracyModel, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return what being a training language is associated with, for each recipe with a
    list.

    Columns: those of `mixed_model.slopes`, and languages (how many are listed).
    """
    slopes = mixed_model.slopes(
        model.main,
        "training language",
        model.scale,
        "lang",
        n_resamples,
        seed,
        fixed="listed: listed",
    )
    listed = model.table.groupby("model")["is_listed"]
    share = slopes["level"].map(listed.mean())
    slopes["languages"] = slopes["level"].map(listed.sum()).astype(int)
    return slopes[(share > 0) & (share < 1)].reset_index(drop=True)


def differences(model: AccuracyModel) -> pd.DataFrame:
    """Return observed minus expected accuracy by language, as a table to read, the
    largest difference first.
    """
    table = model.main.table
    effects = model.main.effects
    of_language = effects[effects["name"] == "language"].set_index("level")["value"]
    back = mixed_model.SCALES[model.scale][1]
    expected = back(table["fitted"] - table["lang"].map(of_language))
    rows = pd.DataFrame(
        {
            "lang": table["lang"],
            "difference (points)": 100 * (table["value"] - expected),
            "mean accuracy (%)": table["value"],
            "tokens (millions)": table["tokens"],
            "classes": table["classes"],
            "training recipes that list it": table["listed"] == predictors.LISTED,
        }
    )
    by_language = rows.groupby("lang").agg(
        {
            "difference (points)": "mean",
            "mean accuracy (%)": "mean",
            "tokens (millions)": "first",
            "classes": "first",
            "training recipes that list it": "sum",
        }
    )
    by_language["mean accuracy (%)"] *= 100
    by_language = by_language.sort_values(
        "difference (points)", key=np.abs, ascending=False, kind="stable"
    )
    by_language.index = by_language.index.map(languages.name)
    return by_language.reset_index(names="language")


def other_choices(
    model: AccuracyModel, source: str, tokens: str, minimum: int
) -> pd.DataFrame:
    """Return the effects in points under other choices of rows, tokens and scales.

    One row for each effect, one column for each choice. Where only the rows change, the
    variance components are those of the main model.
    """
    main, scale, table = model.main, model.scale, model.table
    other = "as printed" if tokens == "corrected" else "corrected"
    samples = {
        "only recipes with a list": table[table["listed"] != predictors.NO_LIST],
        "with English": predictors.published_drivers(
            source, tokens, minimum, english=True
        ),
        "other table of tokens": predictors.published_drivers(source, other, minimum),
    }
    values = {"main model": main.coefficients.set_index("name")["value"]}
    for name, rows in samples.items():
        rows = rows.assign(**{scale: mixed_model.scaled(rows, scale)})
        values[name] = mixed_model.predict(main, rows)

    # Recipes whose intercepts vary without limit are compared only with themselves.
    components = main.components.copy()
    components.loc[components["name"] == "model", "variance"] *= 1e4
    alone = replace(main, components=components)
    values["recipes compared only with themselves"] = mixed_model.predict(alone, table)

    order = main.coefficients["name"]
    points = {
        name: mixed_model.in_points(main, value.reindex(order).to_numpy(), scale)[0]
        for name, value in values.items()
    }
    refits = {"models, none averaged": (model.by_model, scale)}
    for other_scale in mixed_model.SCALES:
        if other_scale != scale:
            refit = mixed_model.fit(table, other_scale, TERMS, RANDOM)
            refits[f"scale: {other_scale}"] = (refit, other_scale)
    for name, (refit, its_scale) in refits.items():
        value = refit.coefficients["value"].to_numpy()
        points[name] = mixed_model.in_points(refit, value, its_scale)[0]
    effects = pd.DataFrame(points, index=order)
    effects = effects.drop(index=["intercept", "listed: no list published"])
    return effects.rename(index=LABELS)


def without_one(model: AccuracyModel) -> pd.DataFrame:
    """Return the main effects without one training recipe or one family, in points.

    Columns: left out, effect (label), value, ci_low and ci_high (NaN), change (absolute
    difference from the effect with all).
    """
    parts = []
    for by in ("model", "family"):
        equations = mixed_model.sums_by_cluster(model.main, by)
        all_but_one = 1 - np.eye(len(equations["clusters"]))
        coefficients = mixed_model.solve(equations, all_but_one)
        points = mixed_model.in_points(model.main, coefficients, model.scale)
        points = pd.DataFrame(points, columns=equations["names"])
        for name in MAIN_EFFECTS:
            change = (points[name] - model.tested.loc[name, "value"]).abs()
            parts.append(
                pd.DataFrame(
                    {
                        "left out": equations["clusters"],
                        "effect": LABELS[name],
                        "value": points[name],
                        "ci_low": np.nan,
                        "ci_high": np.nan,
                        "change": change,
                    }
                )
            )
    return pd.concat(parts, ignore_index=True)


class Residuals(NamedTuple):
    """Checks of the residuals: moments, Shapiro-Wilk's and Brown-Forsythe's p, and the
    standard deviation by recipe, ascending.
    """

    skewness: float
    kurtosis: float
    p_normal: float
    p_equal_spread: float
    spread: pd.Series


def check_residuals(model: AccuracyModel) -> Residuals:
    """Return whether the residuals are normal, and spread alike in all recipes."""
    residuals = model.main.table["residual"]
    by_recipe = model.main.table.groupby("model")["residual"]
    parts = [part for _, part in by_recipe]
    return Residuals(
        skewness=float(scipy.stats.skew(residuals)),
        kurtosis=float(scipy.stats.kurtosis(residuals)),
        p_normal=scipy.stats.shapiro(residuals).pvalue,
        p_equal_spread=scipy.stats.levene(*parts, center="median").pvalue,
        spread=by_recipe.std().sort_values(kind="stable"),
    )


class LeftOut(NamedTuple):
    """Languages that the model lacks, and those with the label alone, as text; "none"
    where there are none; and the correlation of the logarithms of tokens and classes.
    """

    without_tokens: str
    label_only: str
    r_classes: float


def left_out(model: AccuracyModel, source: str) -> LeftOut:
    """Return which published languages have no number of tokens, and which of the
    others have no translated prompts.
    """
    in_model = set(model.table["lang"])
    groups = published.groups(source).query("lang != 'en'")
    lacking = groups[~groups["lang"].isin(in_model)]
    lacking = [
        f"{languages.name(row.lang)} ({row.classes} classes)"
        for row in lacking.itertuples()
    ]
    bare = published.accuracy_by_language(source).query("variant == 'label only'")[
        "lang"
    ]
    bare = [languages.name(lang) for lang in bare.unique() if lang in in_model]
    by_language = model.table.drop_duplicates("lang")
    return LeftOut(
        without_tokens=", ".join(lacking) or "none",
        label_only=", ".join(bare) or "none",
        r_classes=by_language["log_tokens"].corr(by_language["log_classes"]),
    )
