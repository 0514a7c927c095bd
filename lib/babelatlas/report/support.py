"""What a reader can expect of real models in a language: the best open ones on its main benchmark, next to English."""

from functools import cache

import numpy as np
import pandas as pd

from babelatlas.analysis import real_run
from babelatlas.base import languages, synsets
from babelatlas.lexicon import labels as label_sets
from babelatlas.report import results
from babelatlas.report.formatting import counted, escape, percent

# The boards that a language is judged by: the first that has it.
MAIN = ("xm3600.t2i.clip_benchmark", "babel-imagenet.label")
FEW = 100  # classes: with fewer the test is easier, and languages are not compared
RUN_MODEL = "bridge-lite2"  # whose classifications of photographs a page shows
HALF = 0.5  # of the result in English, from which a model is called usable


@cache
def open_results() -> pd.DataFrame:
    """Return `results.all_results` of open real models, with the facts about them; do not change the table.

    `english`: the model's own result in English on the same board; `classes`: how many Babel-ImageNet's images are of,
    0 elsewhere.
    """
    table = results.all_results()
    table = table.merge(results.facts(list(table["model"].unique())).rename(columns={"title": "name"}), on="model")
    table = table[(table["weights"] != "closed") & (table["origin"] != "published")]
    english = table[table["lang"] == "en"].set_index(["id", "model"])["value"]
    keys = pd.MultiIndex.from_frame(table[["id", "model"]])
    table = table.assign(english=english.reindex(keys).to_numpy())
    classes = table["lang"].map(results.classes_tested())
    return table.assign(classes=classes.where(table["id"].str.startswith("babel-imagenet"), 0).fillna(0).astype(int))


def by_model() -> pd.DataFrame:
    """Return the measured support of each open model, a row for each board of MAIN: counts of languages.

    Columns: model, benchmark, languages (other than English), above_baseline, above_half_of_english (of those above the
    baseline, at least HALF of the model's own result in English). On Babel-ImageNet languages with at least FEW classes
    count.
    """
    table = open_results().query("id in @MAIN and lang != 'en' and (classes == 0 or classes >= @FEW)")
    above = table["above"] == 1
    half = above & (table["value"] >= HALF * table["english"])
    table = table.assign(benchmark=table["id"], above_baseline=above, above_half_of_english=half)
    counts = table.groupby(["benchmark", "model"], as_index=False, sort=False).agg(
        languages=("lang", "size"),
        above_baseline=("above_baseline", "sum"),
        above_half_of_english=("above_half_of_english", "sum"),
    )
    return counts.sort_values(["benchmark", "above_half_of_english", "model"], ascending=[False, False, True])


@cache
def best_in_english() -> pd.Series:
    """Return the best open model's result in English on each board that has one: index id."""
    return open_results().query("lang == 'en'").groupby("id")["value"].max()


@cache
def verdicts() -> pd.DataFrame:
    """Return for each language with a result of a real model whether one is usable: index lang.

    A language is judged by the first board of MAIN that has it, else by this study's own run. `verdict`: "usable" where
    the best open model reaches HALF of the best result in English there, "hardly usable" where it only exceeds the
    baseline, "not usable" where none does; "not decided" with fewer than FEW classes, and where no other model than a
    bridge was tested. Further columns: id and title (of the board), model, name (its title), value, share (of the best
    result in English), classes, models (how many were tested).
    """
    order = {name: place for place, name in enumerate(MAIN)}
    table = open_results()
    table = table[table["id"].isin(MAIN) | (table["origin"] == "own")]
    place = table["id"].map(order).fillna(len(MAIN))
    table = table[place == place.groupby(table["lang"]).transform("min")]
    table = table[table["id"] == table.groupby("lang")["id"].transform("first")]
    models = table.groupby("lang")["model"].nunique()
    ranked = table.sort_values(["above", "value", "model"], ascending=[False, False, True], kind="stable")
    best = ranked.drop_duplicates("lang").set_index("lang").sort_index()
    best = best.assign(share=best["value"] / best["id"].map(best_in_english()), models=models)
    open_question = (best["origin"] == "own") | (best["classes"] < FEW) & (best["id"] != MAIN[0])
    best["verdict"] = np.select(
        [open_question, best["above"] == 0, best["share"] < HALF],
        ["not decided", "not usable", "hardly usable"],
        "usable",
    )
    return best[["id", "title", "measure", "model", "name", "value", "share", "classes", "models", "verdict"]]


def verdict(lang: str) -> str:
    """Return in a sentence whether a real model is usable in a language with results; see `verdicts`.

    >>> verdict("nv")
    'Not usable: of 12 models, none performs above guessing in Navajo.'
    """
    if lang not in verdicts().index:
        return "Not decided: only papers report results, without intervals."
    row, name = verdicts().loc[lang], escape(languages.name(lang))
    if row["verdict"] == "not decided":
        on = f"on {counted(row['classes'], 'class')} only, an easy test" if row["classes"] else "with bridges only"
        return f"Not decided: models were tested in {name} {on}."
    if row["verdict"] == "not usable":
        return f"Not usable: of {row['models']} models, none performs above guessing in {name}."
    does = f"classifies {percent(row['value'])} of the images correctly"
    if row["measure"] == "recall@1":
        does = f"finds the image for {percent(row['value'])} of the captions"
    part = f"{100 * row['share']:.0f} % of the best result" if row["share"] <= 1 else "more than the best result"
    part = "the best result" if lang == "en" else part
    return f"{row['verdict'].capitalize()}: {escape(row['name'])} {does}, {part} in English."


@cache
def tested() -> dict[str, pd.DataFrame]:
    """Return what this study's own run asked in each language: wnid, label, right, predicted, in_english, one row each.

    `predicted` is "" where the photograph was classified correctly, `in_english` whether it was with English names.
    """
    rows = real_run.read("zeroshot").query("model == @RUN_MODEL and dataset == @real_run.WHOLE")
    taken = real_run.read("predictions").query("model == @RUN_MODEL and dataset == @real_run.WHOLE")
    words = label_sets.shipped()[["lang", "wnid", "label"]]
    rows = rows.assign(right=rows["n_correct"] / rows["n_images"])[["lang", "wnid", "right"]].merge(words)
    rows = rows.merge(taken[["lang", "wnid", "predicted"]], how="left", on=["lang", "wnid"]).fillna({"predicted": ""})
    english = rows[rows["lang"] == "en"].set_index("wnid")["right"]
    return dict(list(rows.assign(in_english=rows["wnid"].map(english)).groupby("lang")))


def confusions(lang: str) -> pd.DataFrame:
    """Return photographs of this study's run that are classified correctly in English and not in a language.

    Columns: wnid, class and taken_for (their English names), label and its_label (in the language).
    """
    if lang not in tested():
        return pd.DataFrame(columns=["wnid", "class", "label", "taken_for", "its_label"])
    rows, names = tested()[lang], synsets.short_names()
    wrong, label = rows[(rows["right"] == 0) & (rows["in_english"] == 1)], rows.set_index("wnid")["label"]
    named = {"class": wrong["wnid"].map(names), "taken_for": wrong["predicted"].map(names)}
    return wrong.assign(**named, its_label=wrong["predicted"].map(label)).reset_index(drop=True)
