"""Chapter 48: how much of the accuracy in languages other than English the spelling of
labels explains.

The baseline reads no language: it knows the English name of what a photograph shows, and
takes the label that is spelled most like it.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from babelatlas.analysis import real_run
from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
from babelatlas.lexicon import spelling
from babelatlas.report import formatting
from babelatlas.stats import bootstrap

LATIN, OTHER = "Latin script", "another script"
BASELINE = "spelling alone"
ENDS = ["ci_low", "ci_high"]
# Labels by how alike they are to the English name, as a reader is told.
ALIKE, UNLIKE = "spelled like English", "spelled otherwise"


def outcomes(
    results: str, dataset: str, models: Sequence[str], least_alike: float
) -> pd.DataFrame:
    """Return what models and the baseline classify correctly, by class and language but
    English: model, lang, language, family, script (LATIN or OTHER), wnid, similarity
    (of label and English name), spelled (ALIKE from `least_alike` on, else UNLIKE),
    n_correct, n_images, in_english (share of the class's images that are correct in
    English).

    Of the run in `results` where it evaluated the photographs, else what ships. Raises
    InputError, with the nearest name, for a model without outcomes.
    """
    rows = real_run.read("zeroshot", results)
    rows = rows[rows["dataset"] == dataset]
    real_run.check_models(rows, *models)
    rows = rows[rows["model"].isin(models)]
    rows = rows[["model", "lang", "wnid", "n_correct", "n_images"]]
    labels = real_run.labels(results, dataset)
    names = labels[labels["lang"] == "en"].set_index("wnid")["label"]
    others = rows[rows["lang"] != "en"]
    classes = others.drop_duplicates(["lang", "wnid"])[["lang", "wnid", "n_images"]]
    classes = classes.merge(labels[["lang", "wnid", "label"]], on=["lang", "wnid"])
    classes = classes[classes["wnid"].isin(names.index)]
    read = pd.concat(
        [by_spelling(part, names) for _, part in classes.groupby("lang")],
        ignore_index=True,
    )
    alike = read[["lang", "wnid", "similarity"]]
    of_models = others.merge(alike, on=["lang", "wnid"])
    every = pd.concat([of_models, read.assign(model=BASELINE)], ignore_index=True)
    every = every.merge(_in_english(rows), on=["model", "wnid"], how="left")
    is_alike = every["similarity"] >= least_alike
    return _with_languages(every.assign(spelled=np.where(is_alike, ALIKE, UNLIKE)))


def by_spelling(classes: pd.DataFrame, names: pd.Series) -> pd.DataFrame:
    """Return the classes of a language (wnid, label, n_images) with similarity, of label
    and English name, and n_correct: the images that the baseline classifies correctly.

    `names`: the English names by class. The label most like a class's name is taken; of
    several equally alike, each equally often.
    """
    english, texts = list(names.loc[classes["wnid"]]), list(classes["label"])
    nearest = spelling.nearest(english, texts)
    n_nearest = nearest.groupby("name")["text"].size()
    right = nearest.loc[nearest["name"] == nearest["text"], "name"]
    share = pd.Series(0.0, index=range(len(classes)))
    share[right] = 1 / n_nearest.loc[right]
    return classes.assign(
        similarity=spelling.similarity(english, texts),
        n_correct=share.to_numpy() * classes["n_images"].to_numpy(),
    )


def _in_english(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the share of each class's images that each model classifies correctly in
    English; of the baseline, which knows it, all.
    """
    english = rows[rows["lang"] == "en"]
    shares = english.assign(in_english=english["n_correct"] / english["n_images"])
    wnids = english["wnid"].unique()
    known = pd.DataFrame({"model": BASELINE, "wnid": wnids, "in_english": 1.0})
    return pd.concat([shares[["model", "wnid", "in_english"]], known])


def _with_languages(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows with the name, family and script of their language."""
    script = languages.table().set_index("code")["script_name"]
    is_latin = rows["lang"].map(script) == "Latin"
    codes = rows["lang"].unique()
    return rows.assign(
        language=rows["lang"].map(languages.name),
        family=rows["lang"].map(languages.families(codes)),
        script=np.where(is_latin, LATIN, OTHER),
    )


def with_enough(rows: pd.DataFrame, least_classes: int) -> pd.DataFrame:
    """Return the rows of languages with at least `least_classes` classes; raise
    InputError where fewer than two families have such languages.
    """
    n_classes = rows.groupby("lang")["wnid"].transform("nunique")
    enough = rows[n_classes >= least_classes].reset_index(drop=True)
    n_families = enough["family"].nunique()
    if n_families < 2:
        raise InputError(
            f"Languages of at least 2 families need {least_classes} labelled classes, got"
            f" {n_families}: lower least_classes."
        )
    return enough


def accuracies(rows: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return the accuracy of each model and of the baseline in each language with its
    interval over classes: model, lang, language, script, value, ci_low, ci_high, n.
    """
    by = ["model", "lang"]
    scores = bootstrap.accuracy_interval(
        rows, by=by, n_resamples=n_resamples, seed=seed
    )
    about = rows.drop_duplicates("lang").set_index("lang")[["language", "script"]]
    return scores.join(about, on="lang")


def by_script(rows: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return the mean accuracy over languages of each model and of the baseline, by
    script: model, script, value, ci_low, ci_high (over families), n (languages).
    """
    counts = rows.groupby(["model", "script", "lang", "family"], as_index=False)[
        ["n_correct", "n_images"]
    ].sum()
    counts = counts.assign(value=counts["n_correct"] / counts["n_images"])
    return bootstrap.group_means(
        counts,
        by=["model", "script"],
        cluster="family",
        n_resamples=n_resamples,
        seed=seed,
        shares=True,
    )


def by_likeness(rows: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return accuracy on labels that are spelled like English and on others, by script:
    model, script, spelled, measure, value, ci_low, ci_high (over families), n (labels).

    Measures: "accuracy"; "accuracy in English" on the same classes; "share of labels"
    and "share of correct", the part of all labels, and of the correct predictions, that
    is spelled so.
    """
    parts = []
    for (model, script), group in rows.groupby(["model", "script"], sort=False):
        correct = group[group["n_correct"] > group["n_images"] / 2]
        for spelled in (ALIKE, UNLIKE):
            part = group[group["spelled"] == spelled]
            if part.empty:
                continue
            values = {
                "accuracy": (part["n_correct"] / part["n_images"], part["family"]),
                "accuracy in English": (part["in_english"], part["family"]),
                "share of labels": (group["spelled"] == spelled, group["family"]),
                "share of correct": (correct["spelled"] == spelled, correct["family"]),
            }
            for measure, (shares, families) in values.items():
                mean = _mean(shares, families, n_resamples, seed)
                key = {"model": model, "script": script, "spelled": spelled}
                parts.append(mean.assign(**key, measure=measure))
    return pd.concat(parts, ignore_index=True)


def _mean(
    shares: pd.Series, families: pd.Series, n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return a mean share with its interval over families, NaN for fewer than two."""
    shares = shares.astype(float)
    if len(set(families)) > 1:
        return bootstrap.mean_interval(
            shares, families, n_resamples, seed=seed, shares=True
        )
    row = {"value": shares.mean(), "ci_low": np.nan, "ci_high": np.nan}
    return pd.DataFrame([row | {"n": len(shares), "n_clusters": len(set(families))}])


def measured(table: pd.DataFrame, **where: str) -> pd.DataFrame:
    """Return the one row of `by_script` or `by_likeness` with these values of columns;
    raise InputError where there is none.
    """
    for column, value in where.items():
        table = table[table[column] == value]
    if table.empty:
        raise InputError(
            f"There is nothing for {', '.join(where.values())}: lower least_classes."
        )
    return table


def text(table: pd.DataFrame, **where: str) -> str:
    """Return the value of one row with its interval as text, in percent."""
    return formatting.intervals(measured(table, **where)).iloc[0]


def drawn(scores: pd.DataFrame, model: str, most: int) -> pd.DataFrame:
    """Return the accuracies of one model and of the baseline in languages in Latin
    script, as a figure has them: the `most` with the most photographs, those where the
    baseline is best first.
    """
    rows = scores[scores["model"].isin([model, BASELINE]) & (scores["script"] == LATIN)]
    baseline = rows[rows["model"] == BASELINE].set_index("lang")
    langs = baseline.sort_values("n", ascending=False, kind="stable").index[:most]
    rows = rows[rows["lang"].isin(langs)]
    rows = rows.assign(place=rows["lang"].map(baseline["value"]))
    rows = rows.sort_values(["place", "lang", "model"], ascending=[False, True, True])
    return rows.drop(columns="place").reset_index(drop=True)


def beaten(scores: pd.DataFrame, model: str) -> pd.Series:
    """Return whether the baseline is more accurate than a model, by language."""
    values = scores.pivot(index="language", columns="model", values="value")
    return values[BASELINE] > values[model]


def likeness_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return `by_likeness` as a reader sees it: a row for each model, script and kind of
    label.
    """
    rows = table[table["model"] != BASELINE]
    rows = rows.assign(cell=formatting.intervals(rows))
    key = ["model", "script", "spelled"]
    cells = rows.pivot(index=key, columns="measure", values="cell")
    cells = cells.reindex(rows.set_index(key).index.unique())
    measures = ["share of labels", "share of correct", "accuracy"]
    cells = cells[[*measures, "accuracy in English"]].add_suffix(" (%)")
    is_counted = rows["measure"] == "accuracy"
    n_labels = rows[is_counted].set_index(key)["n"]
    cells = cells.assign(labels=n_labels).reset_index()
    return cells.rename_axis(columns=None).rename(
        columns={"spelled": "labels that are"}
    )


def accuracy_table(scores: pd.DataFrame) -> pd.DataFrame:
    """Return accuracies as a reader sees them: a row for each language, a column for
    each model and the baseline.
    """
    rows = scores.assign(cell=formatting.intervals(scores))
    key = ["language", "script", "n", "lang"]
    cells = rows.pivot(index=key, columns="model", values="cell")
    models = [name for name in rows["model"].unique() if name != BASELINE]
    cells = cells[[BASELINE, *models]].add_suffix(" (%)").rename_axis(columns=None)
    cells = cells.reset_index().rename(columns={"n": "photographs", "lang": "code"})
    return cells[[*cells.columns.drop("code"), "code"]]


def write(scores: pd.DataFrame, dataset: str, output: str, settings: dict) -> None:
    """Write the accuracy of the baseline and of the models, schema `scores`."""
    rows = scores.assign(
        task="zeroshot", dataset=dataset, group="", variant="", metric="accuracy@1"
    )
    columns = list(tables.SCHEMAS["scores"][0])
    tables.write(rows[columns], output, "scores", settings)
