"""Chapter 47: recall predicted for pairs of a model and a language that nobody evaluated,
tested on what was left out.

Two regressions on the logit of recall, both by least squares. Of a language, each model
has its own line: over the text in the language, and, where its text tower is English,
over how alike the language's words and English ones are spelled. Of a model, each
language has its own line: over the model's recall in English and its text tower.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from babelatlas.analysis import coverage, real_models
from babelatlas.base import languages, released, tables
from babelatlas.base.errors import InputError, near
from babelatlas.lexicon import labels as label_sets
from babelatlas.lexicon import spelling
from babelatlas.report import formatting
from babelatlas.stats import bootstrap, mixed_model

ENGLISH_TOWER, MULTILINGUAL = "English text tower", "multilingual text tower"
# What each model's line over languages is drawn by.
COVARIATES = {
    ENGLISH_TOWER: ["log_tokens", "spelling"],
    MULTILINGUAL: ["log_tokens"],
}
LANGUAGE, FAMILY = "a language", "a family of languages"
MODEL, MAKER = "a model", "a family of models"
ENDS = ["ci_low", "ci_high"]
KNOWN_FAMILY, NEW_FAMILY = "other language", "other language and family"
# A language whose text or spelling lies outside the evaluated ones'.
OUTSIDE = "outside the evaluated languages"
USELESS = "no better than the model's mean"


def evaluated(
    harnesses: Sequence[str], dataset: str, metric: str, direction: str
) -> pd.DataFrame:
    """Return released scores of real models: harness, model, kind (of text tower), maker
    (family of models), lang, value (fraction), n, logit, of the first harness that has
    the model.

    Raises what `real_models.board` raises.
    """
    parts, seen = [], set()
    for harness in harnesses:
        board = real_models.board(harness, dataset, metric, direction=direction)
        board = board[~board["model"].isin(seen)]
        seen |= set(board["model"])
        parts.append(board.assign(harness=harness))
    scores = pd.concat(parts, ignore_index=True)
    about = released.models()
    tower = scores["model"].map(about["multilingual_text"])
    kinds = {"yes": MULTILINGUAL, "no": ENGLISH_TOWER}
    scores = scores[tower.isin(kinds)]
    return scores.assign(
        kind=tower.map(kinds),
        maker=scores["model"].map(about["family"]),
        logit=mixed_model.scaled(scores, "logit"),
    )


def language_facts(tokens: str, least_labels: int) -> pd.DataFrame:
    """Return what languages are predicted by: index lang; language, family, log_tokens
    (millions, base 10), n_labels, spelling.

    `spelling`: how alike a language's labels of ImageNet's classes and the English names
    are spelled, the mean of `spelling.similarity`. Of languages with a number of tokens
    (`coverage.tokens`) and at least `least_labels` labels; without English.
    """
    labels = label_sets.shipped()
    english = labels[labels["lang"] == "en"].set_index("wnid")["label"]
    others = labels[labels["lang"] != "en"]
    alike = spelling.similarity(
        list(others["label"]), list(others["wnid"].map(english))
    )
    by_language = others.assign(alike=alike).groupby("lang")["alike"]
    facts = by_language.agg(n_labels="size", spelling="mean")
    log_tokens = np.log10(coverage.tokens(tokens).set_index("lang")["tokens"])
    facts = facts.join(log_tokens.rename("log_tokens"), how="inner")
    facts = facts[facts["n_labels"] >= least_labels]
    return facts.assign(
        language=facts.index.map(languages.name),
        family=facts.index.map(languages.families(facts.index)),
    )


def usable(scores: pd.DataFrame, facts: pd.DataFrame) -> pd.DataFrame:
    """Return the scores in the languages of `facts`, with these; raise InputError for
    fewer than eight languages.
    """
    rows = scores[scores["lang"].isin(facts.index)]
    n_languages = rows["lang"].nunique()
    if n_languages < 8:
        raise InputError(
            "A prediction needs models evaluated in at least 8 languages whose text and"
            f" spelling are known, got {n_languages}: lower least_labels, or take another"
            " data set."
        )
    return rows.join(facts, on="lang").reset_index(drop=True)


def _design(rows: pd.DataFrame, columns: Sequence[str]) -> np.ndarray:
    """Return a matrix with a column of ones before some columns."""
    return np.column_stack([np.ones(len(rows)), rows[list(columns)].to_numpy(float)])


def by_language(training: pd.DataFrame, facts: pd.DataFrame) -> pd.DataFrame:
    """Return the logit that each model of `training` is predicted to have in each
    language of `facts`, shape (languages, models).
    """
    parts = []
    for kind, rows in training.groupby("kind", sort=False):
        observed = rows.pivot(index="lang", columns="model", values="logit")
        of_languages = rows.drop_duplicates("lang").set_index("lang")
        matrix = _design(of_languages.loc[observed.index], COVARIATES[kind])
        lines = np.linalg.lstsq(matrix, observed.to_numpy(), rcond=None)[0]
        predicted = _design(facts, COVARIATES[kind]) @ lines
        part = pd.DataFrame(predicted, index=facts.index, columns=observed.columns)
        parts.append(part)
    return pd.concat(parts, axis=1)


def of_models(rows: pd.DataFrame, english: pd.Series) -> pd.DataFrame:
    """Return what models are predicted by: index model; multilingual (0 or 1), english
    (logit of recall), and their product.
    """
    models = rows.drop_duplicates("model").set_index("model")
    multilingual = (models["kind"] == MULTILINGUAL).astype(float)
    of_english = special.logit(english.loc[models.index])
    return pd.DataFrame(
        {
            "multilingual": multilingual,
            "english": of_english,
            "both": multilingual * of_english,
        }
    )


def by_model(
    training: pd.DataFrame, models: pd.DataFrame, wanted: pd.DataFrame
) -> pd.DataFrame:
    """Return the logit that each model of `wanted` is predicted to have in each language
    of `training`, shape (models, languages).

    `models`, `wanted`: of training and of the models to predict, as of `of_models`.
    """
    observed = training.pivot(index="model", columns="lang", values="logit")
    matrix = _design(models.loc[observed.index], models.columns)
    lines = np.linalg.lstsq(matrix, observed.to_numpy(), rcond=None)[0]
    predicted = _design(wanted, models.columns) @ lines
    return pd.DataFrame(predicted, index=wanted.index, columns=observed.columns)


def _without_each(
    rows: pd.DataFrame, axes: tuple[str, str], matrix: pd.DataFrame, clusters: pd.Series
) -> pd.DataFrame:
    """Return rows with what is predicted without the cluster that they are of: predicted
    (logit), baseline (the mean of the others, fraction), cluster.

    `axes`: the columns whose values are left out, and those that have a line each over
    the columns of `matrix`; `matrix`, `clusters`: by what is left out.
    """
    left_out, lines_of = axes
    observed = rows.pivot(index=left_out, columns=lines_of, values="logit")
    values = rows.pivot(index=left_out, columns=lines_of, values="value").to_numpy()
    design = _design(matrix.loc[observed.index], matrix.columns)
    cluster_of_row = clusters.loc[observed.index].to_numpy()
    predicted, baseline = np.empty(observed.shape), np.empty(observed.shape)
    for cluster in np.unique(cluster_of_row):
        inside = cluster_of_row == cluster
        training = observed.to_numpy()[~inside]
        lines = np.linalg.lstsq(design[~inside], training, rcond=None)[0]
        predicted[inside] = design[inside] @ lines
        baseline[inside] = values[~inside].mean(axis=0)
    places = (
        observed.index.get_indexer(rows[left_out]),
        observed.columns.get_indexer(rows[lines_of]),
    )
    return rows.assign(
        predicted=predicted[places],
        baseline=baseline[places],
        cluster=rows[left_out].map(clusters),
    )


def without_languages(rows: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return rows with predictions from other languages (`by` "lang") or families of
    languages ("family"); the baseline is the model's mean.
    """
    parts = []
    for kind, part in rows.groupby("kind", sort=False):
        facts = part.drop_duplicates("lang").set_index("lang", drop=False)
        matrix = facts[COVARIATES[kind]]
        parts.append(_without_each(part, ("lang", "model"), matrix, facts[by]))
    return pd.concat(parts, ignore_index=True)


def without_models(rows: pd.DataFrame, by: str, english: pd.Series) -> pd.DataFrame:
    """Return rows with predictions from other models (`by` "model") or families of
    models ("maker"); the baseline is the language's mean.
    """
    about = rows.drop_duplicates("model").set_index("model", drop=False)
    matrix = of_models(rows, english)
    return _without_each(rows, ("model", "lang"), matrix, about[by])


def residual_ends(residuals: pd.DataFrame, level: float) -> tuple[float, float]:
    """Return the lower and upper end of an interval of residuals (residual, cluster): of
    a raised level, for so few clusters (`bootstrap.expanded_level`).
    """
    n_clusters = residuals["cluster"].nunique()
    low, high = bootstrap.percentile_interval(
        residuals["residual"].to_numpy(), level, n_clusters
    )
    return float(low), float(high)


def with_intervals(left_out: pd.DataFrame, level: float) -> pd.DataFrame:
    """Return predictions of what was left out with prediction intervals: value,
    predicted, baseline, ci_low, ci_high (fractions), is_covered, error and
    baseline_error (points, absolute), residual.

    The interval of a cluster is the prediction plus percentiles of what the predictions
    of all *other* clusters of the same kind of text tower missed (cross-validated
    conformal prediction: Vovk 2015, Annals of Mathematics and Artificial Intelligence
    74, 9-28).
    """
    left_out = left_out.assign(residual=left_out["logit"] - left_out["predicted"])
    parts = []
    for _, of_kind in left_out.groupby("kind", sort=False):
        for cluster, part in of_kind.groupby("cluster", sort=False):
            low, high = residual_ends(of_kind[of_kind["cluster"] != cluster], level)
            parts.append(
                part.assign(
                    ci_low=special.expit(part["predicted"] + low),
                    ci_high=special.expit(part["predicted"] + high),
                )
            )
    table = pd.concat(parts, ignore_index=True)
    table = table.assign(predicted=special.expit(table["predicted"]))
    value = table["value"]
    return table.assign(
        is_covered=value.between(table["ci_low"], table["ci_high"]),
        error=100 * (table["predicted"] - value).abs(),
        baseline_error=100 * (table["baseline"] - value).abs(),
    )


class Tests(NamedTuple):
    """What was left out, and how well it was predicted.

    `rows`: kind of test (column left_out) -> `with_intervals`; `table`: `summary` of
    all.
    """

    rows: dict[str, pd.DataFrame]
    table: pd.DataFrame


def tests(
    rows: pd.DataFrame, english: pd.Series, level: float, n_resamples: int, seed: int
) -> Tests:
    """Return predictions of every language, family, model and family of models that was
    left out.
    """
    left_out = {
        LANGUAGE: without_languages(rows, "lang"),
        FAMILY: without_languages(rows, "family"),
        MODEL: without_models(rows, "model", english),
        MAKER: without_models(rows, "maker", english),
    }
    predicted = {name: with_intervals(part, level) for name, part in left_out.items()}
    parts = [
        summary(part, n_resamples, seed).assign(left_out=name)
        for name, part in predicted.items()
    ]
    return Tests(predicted, pd.concat(parts, ignore_index=True))


def summary(predicted: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return how well each kind of model was predicted: kind, measure, value, ci_low,
    ci_high (over clusters left out), n (predictions), n_clusters.

    Measures: "error" and "baseline error" (mean absolute, points), "gain" (their
    difference), "coverage" (share of intervals that hold the value), "width" (mean,
    points).
    """
    predicted = predicted.assign(
        gain=predicted["baseline_error"] - predicted["error"],
        width=100 * (predicted["ci_high"] - predicted["ci_low"]),
        coverage=predicted["is_covered"].astype(float),
    ).rename(columns={"baseline_error": "baseline error"})
    whole = predicted.assign(kind="all")
    parts = []
    for kind, part in pd.concat([whole, predicted]).groupby("kind", sort=False):
        for measure in ("error", "baseline error", "gain", "coverage", "width"):
            mean = bootstrap.mean_interval(
                part[measure],
                part["cluster"],
                n_resamples,
                seed=seed,
                shares=measure == "coverage",
            )
            parts.append(mean.assign(kind=kind, measure=measure))
    return pd.concat(parts, ignore_index=True)


def measured(table: pd.DataFrame, left_out: str, measure: str, kind: str = "all"):
    """Return the row of `Tests.table` of one test, measure and kind."""
    is_asked = (table["left_out"] == left_out) & (table["measure"] == measure)
    return table[is_asked & (table["kind"] == kind)].iloc[0]


def test_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return `Tests.table` as a reader sees it: a row for each test and kind."""
    unit = table["measure"].map({"coverage": 100}).fillna(1)
    rows = table.copy()
    for column in ("value", *ENDS):
        rows[column] = rows[column] * unit
    rows = rows.assign(cell=formatting.intervals(rows, unit=1))
    key = ["left_out", "kind"]
    wide = rows.pivot(index=key, columns="measure", values="cell")
    wide = wide.reindex(rows.set_index(key).index.unique())
    sizes = rows.drop_duplicates(key).set_index(key)[["n_clusters", "n"]]
    columns = {
        "error": "error (points)",
        "baseline error": "error of the mean (points)",
        "coverage": "coverage (%)",
        "width": "length (points)",
        "n_clusters": "left out",
        "n": "predictions",
    }
    wide = wide.join(sizes)[[*columns]].rename(columns=columns).reset_index()
    return wide.rename(columns={"left_out": "without", "kind": "models"})


def predict(
    rows: pd.DataFrame, facts: pd.DataFrame, tested: Tests, level: float
) -> pd.DataFrame:
    """Return predictions for the languages of `facts` that nobody evaluated, of every
    model: lang, language, family, model, kind, value, ci_low, ci_high (fractions),
    basis, doubt.

    `basis`: whether other languages of the family were evaluated; the interval rests on
    the test that left out languages, or families. `doubt`: OUTSIDE where text or
    spelling is beyond the evaluated languages', USELESS where the interval is as long
    as one around the model's mean, else "".
    """
    wanted = facts[~facts.index.isin(rows["lang"])]
    logits = by_language(rows, wanted)
    means = rows.groupby("model")["value"].mean()
    table = logits.rename_axis(index="lang").reset_index()
    table = table.melt("lang", var_name="model", value_name="logit")
    table = table.join(wanted[["language", "family", "log_tokens", "spelling"]], "lang")
    kinds = rows.drop_duplicates("model").set_index("model")["kind"]
    table = table.assign(kind=table["model"].map(kinds))
    is_known = table["family"].isin(rows["family"])
    table = table.assign(basis=np.where(is_known, KNOWN_FAMILY, NEW_FAMILY))
    parts = []
    for (kind, basis), part in table.groupby(["kind", "basis"], sort=False):
        test = LANGUAGE if basis == KNOWN_FAMILY else FAMILY
        of_test = tested.rows[test]
        of_kind = of_test[of_test["kind"] == kind]
        parts.append(_predicted(part, of_kind, means, level))
    table = pd.concat(parts).sort_values(["language", "model"], kind="stable")
    outside = _outside(table, rows)
    table["doubt"] = np.where(outside, OUTSIDE, table["doubt"])
    return table.drop(columns=["logit", "log_tokens"]).reset_index(drop=True)


def _predicted(
    part: pd.DataFrame, of_kind: pd.DataFrame, means: pd.Series, level: float
) -> pd.DataFrame:
    """Return predictions of one kind of model with intervals, and whether these are as
    long as intervals around the models' means.
    """
    low, high = residual_ends(of_kind, level)
    missed = of_kind["logit"] - special.logit(of_kind["baseline"])
    mean_low, mean_high = residual_ends(of_kind.assign(residual=missed), level)
    around = special.logit(part["model"].map(means))
    length_of_mean = special.expit(around + mean_high) - special.expit(
        around + mean_low
    )
    ci_low, ci_high = (
        special.expit(part["logit"] + low),
        special.expit(part["logit"] + high),
    )
    return part.assign(
        value=special.expit(part["logit"]),
        ci_low=ci_low,
        ci_high=ci_high,
        doubt=np.where(ci_high - ci_low >= length_of_mean, USELESS, ""),
    )


def _outside(table: pd.DataFrame, rows: pd.DataFrame) -> pd.Series:
    """Return whether the text, or the spelling where it is used, of each prediction lies
    outside the evaluated languages'.
    """
    inside = table["log_tokens"].between(
        rows["log_tokens"].min(), rows["log_tokens"].max()
    )
    is_alike = table["spelling"].between(rows["spelling"].min(), rows["spelling"].max())
    uses_spelling = table["kind"] == ENGLISH_TOWER
    return ~(inside & (is_alike | ~uses_spelling))


def new_model(
    rows: pd.DataFrame,
    english: pd.Series,
    tested: Tests,
    english_recall: float,
    level: float,
) -> pd.DataFrame:
    """Return the recall predicted for a model of which only that in English is known, of
    each kind of text tower: lang, language, series, value, ci_low, ci_high.

    Intervals rest on the test that left out families of models.
    """
    models = of_models(rows, english)
    at_english = special.logit(english_recall)
    wanted = pd.DataFrame(
        {
            "multilingual": [0.0, 1.0],
            "english": at_english,
            "both": [0.0, at_english],
        },
        index=[ENGLISH_TOWER, MULTILINGUAL],
    )
    logits = by_model(rows, models, wanted)
    of_test = tested.rows[MAKER]
    parts = []
    for kind in wanted.index:
        low, high = residual_ends(of_test[of_test["kind"] == kind], level)
        part = pd.DataFrame({"lang": logits.columns, "logit": logits.loc[kind]})
        parts.append(
            part.assign(
                series=kind,
                value=special.expit(part["logit"]),
                ci_low=special.expit(part["logit"] + low),
                ci_high=special.expit(part["logit"] + high),
            )
        )
    table = pd.concat(parts, ignore_index=True).drop(columns="logit")
    return table.assign(language=table["lang"].map(languages.name))


def best_by_language(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return the model with the highest prediction in each language, those without doubt
    first, the highest on top.
    """
    order = predictions["value"].sort_values(ascending=False).index
    best = predictions.loc[order].drop_duplicates("lang")
    return best.assign(is_doubted=best["doubt"] != "").sort_values(
        ["is_doubted", "value"], ascending=[True, False], kind="stable"
    )


def text(table: pd.DataFrame, left_out: str, measure: str) -> str:
    """Return a measure of all models in `Tests.table` with its interval as text, in
    points or percent.
    """
    row = measured(table, left_out, measure).to_frame().T
    unit = 100 if measure == "coverage" else 1
    return formatting.intervals(row, unit=unit).iloc[0]


def of_model(predictions: pd.DataFrame, model: str) -> pd.DataFrame:
    """Return the predictions of one model, the highest first, with `row`: the language,
    marked where it is extrapolated; raise InputError for a model without predictions.
    """
    if model not in set(predictions["model"]):
        raise InputError(
            f"There are no predictions for {model!r}:"
            f" {near(model, predictions['model'].unique())}"
        )
    rows = predictions[predictions["model"] == model]
    is_outside = rows["doubt"] == OUTSIDE
    marks = is_outside.map({True: " (extrapolated)", False: ""})
    return rows.assign(row=rows["language"] + marks).sort_values(
        "value", ascending=False, kind="stable", ignore_index=True
    )


def doubts(predictions: pd.DataFrame) -> str:
    """Return sentences on how many predictions are in doubt, and in which languages all
    are.
    """
    n_of = predictions["doubt"].value_counts()
    n_all = f"{len(predictions):,}"
    all_outside = predictions.groupby("language")["doubt"].agg(
        lambda doubt: (doubt == OUTSIDE).all()
    )
    named = ", ".join(all_outside.index[all_outside]) or "none"
    return (
        f"Of {n_all} predictions, {n_of.get(OUTSIDE, 0):,} extrapolate: the language has"
        " less text than any evaluated one, or is spelled more like English. For all"
        f" models this is so in: {named}. Another {n_of.get(USELESS, 0):,} are no better"
        " than the model's mean."
    )


def without_prediction(scores: pd.DataFrame, facts: pd.DataFrame) -> str:
    """Return how many languages have neither a score nor a prediction, as text."""
    codes = languages.table()["code"]
    has_any = codes.isin(facts.index) | codes.isin(scores["lang"])
    return f"{formatting.counted(int((~has_any).sum()), 'language')} of this study"


def drawn(table: pd.DataFrame) -> pd.DataFrame:
    """Return the errors of all models in `Tests.table` as a figure has them: left out,
    series, value, ci_low, ci_high.
    """
    names = {"error": "prediction", "baseline error": "the mean"}
    rows = table[(table["kind"] == "all") & table["measure"].isin(names)]
    rows = rows.assign(series=rows["measure"].map(names))
    rows = rows.rename(columns={"left_out": "left out"})
    return rows[["left out", "series", "value", *ENDS]].reset_index(drop=True)


def best_language(expected: pd.DataFrame) -> pd.Series:
    """Return the row of `new_model` with the highest recall of a multilingual text tower."""
    rows = expected[expected["series"] == MULTILINGUAL]
    return rows.loc[rows["value"].idxmax()]


def new_model_table(expected: pd.DataFrame) -> pd.DataFrame:
    """Return `new_model` as a reader sees it: a row for each language."""
    rows = expected.assign(cell=formatting.intervals(expected))
    table = rows.pivot(index="language", columns="series", values="cell")
    table = table[[MULTILINGUAL, ENGLISH_TOWER]].add_suffix(" (%)")
    return table.rename_axis(columns=None).reset_index()


def compared(tested: Tests) -> pd.DataFrame:
    """Return what was measured in the languages that were left out, and what was
    predicted: model, lang, value, predicted, mean of the model, ci_low, ci_high.
    """
    rows = tested.rows[LANGUAGE].rename(columns={"baseline": "mean of the model"})
    columns = ["model", "lang", "value", "predicted", "mean of the model", *ENDS]
    return rows[columns]


def prediction_table(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return predictions as a reader sees them, flagged as such; those without doubt
    first, then by language, the highest first.
    """
    predictions = predictions.assign(is_doubted=predictions["doubt"] != "").sort_values(
        ["is_doubted", "language", "value"],
        ascending=[True, True, False],
        kind="stable",
    )
    percent = 100 * predictions[["value", *ENDS]]
    return pd.DataFrame(
        {
            "language": predictions["language"],
            "model": predictions["model"],
            "what": "prediction",
            "predicted recall (%)": percent["value"],
            "from (%)": percent["ci_low"],
            "to (%)": percent["ci_high"],
            "doubt": predictions["doubt"],
            "interval from": predictions["basis"].map(
                {KNOWN_FAMILY: LANGUAGE, NEW_FAMILY: FAMILY}
            ),
            "code": predictions["lang"],
        }
    )


def write(tested: Tests, dataset: str, metric: str, output: str, settings: dict):
    """Write how well what was left out was predicted, schema `scores`."""
    rows = tested.table
    scores = rows.assign(
        task="retrieval",
        dataset=dataset,
        model="",
        lang="",
        group=rows["kind"],
        variant="without " + rows["left_out"],
        metric=rows["measure"] + f" of predicted {metric}",
    )
    columns = list(tables.SCHEMAS["scores"][0])
    tables.write(scores[columns], output, "scores", settings)
