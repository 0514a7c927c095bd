"""Chapter 49: between which bounds the accuracy in a language lies, where some labels are
wrong and others are as good as the one that was used.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

import babelatlas as ba
from babelatlas.analysis import real_run
from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
from babelatlas.lexicon import label_sheets, labels
from babelatlas.report import formatting
from babelatlas.stats import bootstrap, proportions

LATIN, OTHER = "Latin script", "other scripts"
ENDS = ["ci_low", "ci_high"]
# Which end of the audit's interval is taken for the share of wrong labels.
SHARES = {"estimate": "value", "upper end": "ci_high", "lower end": "ci_low"}


def outcomes(
    results: str, dataset: str, models: Sequence[str], least_classes: int
) -> pd.DataFrame:
    """Return outcomes by class in languages other than English with at least
    `least_classes` classes: model, lang, wnid, n_correct, n_images, language, family,
    script (LATIN or OTHER).

    Of the run in `results` where it evaluated the photographs, else what ships. Raises
    InputError, with the nearest name, for a model without outcomes, and where fewer than
    two families are left.
    """
    rows = real_run.read("zeroshot", results)
    rows = rows[(rows["dataset"] == dataset) & (rows["lang"] != "en")]
    real_run.check_models(rows, *models)
    n_classes = rows.groupby(["model", "lang"])["wnid"].transform("size")
    rows = rows[rows["model"].isin(models) & (n_classes >= least_classes)]
    family = languages.families(rows["lang"].unique())
    if len(set(family.values())) < 2:
        raise InputError(
            f"Languages of at least 2 families need {least_classes} labelled classes, got"
            f" {len(set(family.values()))}: lower least_classes."
        )
    rows = rows[["model", "lang", "wnid", "n_correct", "n_images"]]
    return rows.assign(
        language=rows["lang"].map(languages.name),
        family=rows["lang"].map(family),
        script=rows["lang"].map(_script),
    ).reset_index(drop=True)


def _script(lang: str) -> str:
    return LATIN if "Latn" in languages.native_scripts(lang) else OTHER


def judged() -> pd.DataFrame:
    """Return the labels that were judged in the audit that ships, without those that
    have changed since: lang, wnid, verdict, judge, script.
    """
    audit = label_sheets.audit(labels.shipped())
    current = audit[~audit["outdated"]]
    return current.assign(script=current["lang"].map(_script))


def error_rates(audit: pd.DataFrame) -> pd.DataFrame:
    """Return the share of wrong labels by script: index script; value, ci_low, ci_high
    (exact 95 %), n (labels judged, and sure).
    """
    parts = []
    for script, part in audit.groupby("script"):
        rates = label_sheets.error_rates(part)
        rates = rates[rates["metric"] == "label error rate"]
        parts.append(rates.assign(script=script))
    table = pd.concat(parts).set_index("script")
    return table[["value", *ENDS, "n"]]


def bounds(accuracy: np.ndarray, wrong: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the greatest accuracy on the classes whose labels are right,
    if a share `wrong` of the labels is wrong, whichever these are. All fractions.

    At worst all classes with wrong labels were counted as correct, at best none: (a - e)
    / (1 - e) and a / (1 - e), within 0 and 1 (Horowitz and Manski 1995, Econometrica 63,
    281-302, contaminated sampling).

    >>> [end.round(2).tolist() for end in bounds(np.array([0.25]), np.array([0.2]))]
    [[0.06], [0.31]]
    """
    accuracy, wrong = np.asarray(accuracy, float), np.asarray(wrong, float)
    right = 1 - wrong
    lower = np.clip((accuracy - wrong) / right, 0, 1)
    upper = np.clip(accuracy / right, 0, 1)
    return lower, upper


def by_language(
    rows: pd.DataFrame, rates: pd.DataFrame, share: str, n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return accuracy by model and language with the bounds that wrong labels leave it:
    model, lang, language, family, script, value, ci_low, ci_high (over classes), n,
    wrong (share of wrong labels), lower, upper (fractions).

    `share`: which of `SHARES` is taken for the share of wrong labels. Raises InputError
    where it is all labels.
    """
    scores = bootstrap.accuracy_interval(
        rows, by=["model", "lang"], n_resamples=n_resamples, seed=seed
    )
    about = rows.drop_duplicates("lang").set_index("lang")
    scores = scores.join(about[["language", "family", "script"]], on="lang")
    wrong = scores["script"].map(rates[SHARES[share]])
    if not (wrong < 1).all():
        raise InputError(
            "With this end of the audit's interval all labels of a script may be wrong:"
            " take its estimate."
        )
    lower, upper = bounds(scores["value"].to_numpy(), wrong.to_numpy())
    return scores.assign(wrong=wrong, lower=lower, upper=upper)


def means(scores: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return the mean over languages of accuracy and of its bounds: model, script ("all"
    first), measure ("lower", "value", "upper"), value, ci_low, ci_high (over families),
    n (languages).
    """
    every = pd.concat([scores.assign(script="all"), scores], ignore_index=True)
    parts = []
    for measure in ("lower", "value", "upper"):
        values = every[["model", "script", "family", measure]]
        values = values.rename(columns={measure: "value"})
        mean = bootstrap.group_means(
            values,
            by=["model", "script"],
            cluster="family",
            n_resamples=n_resamples,
            seed=seed,
            shares=True,
        )
        parts.append(mean.assign(measure=measure))
    return pd.concat(parts, ignore_index=True)


def mean_text(table: pd.DataFrame, model: str, measure: str) -> str:
    """Return a mean of `means` over all languages with its interval, in percent."""
    is_asked = (table["model"] == model) & (table["measure"] == measure)
    row = table[is_asked & (table["script"] == "all")]
    return formatting.intervals(row).iloc[0]


def means_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return `means` as a reader sees it: a row for each model and script."""
    rows = table.assign(cell=formatting.intervals(table))
    cells = rows.pivot(index=["model", "script", "n"], columns="measure", values="cell")
    names = {"value": "accuracy (%)", "lower": "at least (%)", "upper": "at most (%)"}
    cells = cells[[*names]].rename(columns=names).rename_axis(columns=None)
    return cells.reset_index().rename(columns={"n": "languages"})


def sure_pairs(scores: pd.DataFrame) -> tuple[int, int]:
    """Return how many pairs of languages of one model have bounds that do not overlap,
    and how many pairs there are.
    """
    lower, upper = scores["lower"].to_numpy(), scores["upper"].to_numpy()
    is_below = upper[:, None] < lower[None, :]
    return int(is_below.sum()), len(scores) * (len(scores) - 1) // 2


def drawn(scores: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return the languages with the most photographs as a figure has them: the bounds as
    the ends of lines, the highest accuracy first.
    """
    rows = scores.nlargest(most, "n")
    rows = rows.assign(ci_low=rows["lower"], ci_high=rows["upper"])
    return rows.sort_values("value", ascending=False, kind="stable", ignore_index=True)


def language_table(scores: pd.DataFrame) -> pd.DataFrame:
    """Return `by_language` as a reader sees it."""
    return pd.DataFrame(
        {
            "language": scores["language"],
            "model": scores["model"],
            "accuracy (%)": formatting.intervals(scores),
            "at least (%)": 100 * scores["lower"],
            "at most (%)": 100 * scores["upper"],
            "wrong labels (%)": 100 * scores["wrong"],
            "photographs": scores["n"],
            "code": scores["lang"],
        }
    )


def with_alternatives(
    rows: pd.DataFrame, predictions: pd.DataFrame, label_set: pd.DataFrame
) -> pd.DataFrame:
    """Return rows with `n_alternative`: images for which the label that a model chose is
    of another class, but is listed as an alternative of the image's own, too.

    `predictions`: schema `predictions`; `label_set`: schema `labels`. Words are compared
    without case. Raises InputError for a model that is wrong on images and has no
    predictions.
    """
    _check_predictions(rows, predictions)
    words = label_set[["lang", "wnid", "label"]]
    words = words.assign(text=words["label"].str.casefold())
    alternatives = label_set[["lang", "wnid", "alternatives"]].explode("alternatives")
    alternatives = alternatives.dropna(subset="alternatives")
    alternatives = alternatives.assign(
        text=alternatives["alternatives"].str.casefold()
    ).drop_duplicates(["lang", "wnid", "text"])
    chosen = predictions.merge(
        words.rename(columns={"wnid": "predicted"}), on=["lang", "predicted"]
    )
    also_right = chosen.merge(
        alternatives[["lang", "wnid", "text"]], on=["lang", "wnid", "text"]
    )
    key = ["model", "lang", "wnid"]
    counts = also_right.groupby(key, as_index=False)["n_images"].sum()
    counts = counts.rename(columns={"n_images": "n_alternative"})
    return rows.merge(counts, on=key, how="left").fillna({"n_alternative": 0})


def _check_predictions(rows: pd.DataFrame, predictions: pd.DataFrame) -> None:
    is_wrong = rows["n_correct"] < rows["n_images"]
    absent = set(rows.loc[is_wrong, "model"]) - set(predictions["model"])
    if absent:
        raise InputError(
            "Counting alternative labels takes predictions, but there are no stored"
            f" predictions of {', '.join(map(repr, sorted(absent)))}: leave it out of"
            " model and others."
        )


def alternative_gains(rows: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return by how much the mean accuracy over languages rises where any listed
    alternative counts: model, value, ci_low, ci_high (fractions; over families), n
    (languages), n_alternative (photographs).
    """
    counts = rows.groupby(["model", "lang", "family"], as_index=False)[
        ["n_alternative", "n_images"]
    ].sum()
    counts = counts.assign(value=counts["n_alternative"] / counts["n_images"])
    gains = bootstrap.group_means(
        counts, by=["model"], cluster="family", n_resamples=n_resamples, seed=seed
    )
    totals = rows.groupby("model")["n_alternative"].sum()
    return gains.assign(n_alternative=gains["model"].map(totals).astype(int))


def gains_table(gains: pd.DataFrame) -> pd.DataFrame:
    """Return `alternative_gains` as a reader sees it."""
    return pd.DataFrame(
        {
            "model": gains["model"],
            "gain (points)": formatting.intervals(gains, ".2f"),
            "photographs": gains["n_alternative"],
            "languages": gains["n"],
        }
    )


def by_verdict(rows: pd.DataFrame, audit: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracy on labels that were judged right, and wrong: model, verdict,
    accuracy (%) with its exact 95 % interval over labels, labels.

    A label with a photograph that is correct in part, by a tie, counts as correct from
    one half on.
    """
    joined = rows.merge(audit[["lang", "wnid", "verdict"]], on=["lang", "wnid"])
    joined = joined.assign(is_correct=joined["n_correct"] >= joined["n_images"] / 2)
    counts = joined.groupby(["model", "verdict"], as_index=False)["is_correct"].agg(
        ["sum", "size"]
    )
    low, high = proportions.exact_interval(
        counts["sum"].to_numpy(), counts["size"].to_numpy()
    )
    counts = counts.assign(value=counts["sum"] / counts["size"])
    counts = counts.assign(ci_low=low, ci_high=high)
    counts["accuracy (%)"] = ba.intervals(counts)
    return counts.rename(columns={"size": "labels"})


def verdict_text(verdicts: pd.DataFrame, model: str, verdict: str) -> str:
    """Return the accuracy of a model on labels with a verdict as text, in percent; an en
    dash where there is none.
    """
    is_asked = (verdicts["model"] == model) & (verdicts["verdict"] == verdict)
    rows = verdicts.loc[is_asked, "accuracy (%)"]
    return rows.iloc[0] if len(rows) else "–"


def write(table: pd.DataFrame, dataset: str, output: str, settings: dict) -> None:
    """Write the mean accuracy and its bounds, schema `scores`."""
    names = {"value": "accuracy@1", "lower": "accuracy@1, lower bound"}
    names["upper"] = "accuracy@1, upper bound"
    rows = table.assign(
        task="zeroshot",
        dataset=dataset,
        lang="",
        group=table["script"],
        variant="",
        metric=table["measure"].map(names),
    )
    columns = list(tables.SCHEMAS["scores"][0])
    tables.write(rows[columns], output, "scores", settings)
