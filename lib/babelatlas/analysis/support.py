"""What a reader can expect of real models in a language: the best open ones on its main
benchmark, next to English.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd

from babelatlas.analysis import all_results as results
from babelatlas.analysis import image_clusters, leaderboard, real_run, usability
from babelatlas.base import languages, synsets
from babelatlas.lexicon import labels as label_sets
from babelatlas.report.formatting import counted, escape, percent
from babelatlas.stats import proportions

# The boards that a language is judged by: the first that has it. A person who searches
# with words goes from text to image; where a language has no captions its labels count,
# and where it has few of these, questions about dishes.
MAIN = (
    "xm3600.t2i.clip_benchmark",
    "babel-imagenet.label",
    "worldcuisines",
    "worldcuisines.ngoko",
)
LABELS, QUESTIONS = MAIN[1], MAIN[2:]
# The boards of Babel-ImageNet, on which languages have different numbers of classes ->
# those of their English results.
ENGLISH = {
    LABELS: LABELS,
    "babel-imagenet.translated-prompts": "babel-imagenet.english-prompts",
}
FEW = 100  # classes: with fewer the test is easier, and languages are not compared
RUN_MODEL = "bridge-lite2"  # whose classifications of photographs a page shows
IMAGES_IN_ENGLISH = 50_000  # of Babel-ImageNet, in all classes
# of the best result in English, beyond guessing, from which a model is called usable
HALF = 0.5


@cache
def open_results() -> pd.DataFrame:
    """Return `results.all_results` of open real models, with the facts about them; do
    not change the table.

    `english`: the model's own result in English on the same board; `classes`: how many
    Babel-ImageNet's images are of, 0 elsewhere.
    """
    table = results.all_results()
    table = table.merge(
        results.facts(list(table["model"].unique())).rename(columns={"title": "name"}),
        on="model",
    )
    table = table[(table["weights"] != "closed") & (table["origin"] != "published")]
    english = table[table["lang"] == "en"].set_index(["id", "model"])["value"]
    keys = pd.MultiIndex.from_frame(table[["id", "model"]])
    table = table.assign(english=english.reindex(keys).to_numpy())
    classes = table["lang"].map(results.classes_tested())
    return table.assign(
        classes=classes.where(table["id"].str.startswith("babel-imagenet"), 0)
        .fillna(0)
        .astype(int)
    )


def by_model() -> pd.DataFrame:
    """Return the measured support of each open model, a row for each board of captions
    or labels: counts of languages.

    Columns: model, benchmark, languages (other than English), above_baseline,
    above_half_of_english (of those above the baseline, at least HALF of the model's own
    result in English, beyond guessing). On Babel-ImageNet languages with at least FEW
    classes count, and the English result is that among as many classes; of models for
    which nobody has published one with fewer classes, the mean gain of the others is
    taken.
    """
    table = open_results().query(
        "id in @MAIN[:2] and lang != 'en' and (classes == 0 or classes >= @FEW)"
    )
    gains = usability.english_gains()
    gain = table["model"].map(gains).fillna(gains.mean()) * usability.part_of_gain(
        table["classes"]
    )
    english = table["english"] + gain.where(table["id"] == LABELS, 0)

    above = table["above"] == 1
    half = above & (
        table["value"] - table["baseline"] >= HALF * (english - table["baseline"])
    )
    table = table.assign(
        benchmark=table["id"], above_baseline=above, above_half_of_english=half
    )
    counts = table.groupby(["benchmark", "model"], as_index=False, sort=False).agg(
        languages=("lang", "size"),
        above_baseline=("above_baseline", "sum"),
        above_half_of_english=("above_half_of_english", "sum"),
    )
    return counts.sort_values(
        ["benchmark", "above_half_of_english", "model"], ascending=[False, False, True]
    )


@cache
def best_in_english() -> pd.Series:
    """Return the best open model's result in English on each board that has one: index
    id.
    """
    return open_results().query("lang == 'en'").groupby("id")["value"].max()


@cache
def verdicts() -> pd.DataFrame:
    """Return for each language with a result of a real model whether one is usable:
    index lang; see `judged`.

    Do not change the table.
    """
    return judged()


def judged(
    line: float = HALF,
    boards: Sequence[str] = MAIN,
    least_classes: int = FEW,
    best_language: bool = False,
) -> pd.DataFrame:
    """Return for each language with a result of a real model whether one is usable:
    index lang.

    A language is judged by the first of `boards` that has it, Babel-ImageNet's with
    `least_classes` classes or more, else by this study's own run, which decides
    nothing. `verdict`: one of `usability.STATES`, by the share that the best open model
    there has of the best English result, beyond guessing: on the same board, on
    Babel-ImageNet among as many classes. `line`: the share from which a model is
    usable. `best_language`: whether to compare with the best language of the board in
    place of English, where its languages have the same number of choices.

    Further columns: id and title (of the board), measure, model, name (its title),
    value, reference (the result that it is compared with), share with share_low and
    share_high (95 %), classes, models (how many were tested), baseline.
    """
    table = open_results()
    table = table[table["id"].isin(boards) | (table["origin"] == "own")]
    few = table["id"].isin(ENGLISH) & (table["classes"] < least_classes)
    place = table["id"].map({name: place for place, name in enumerate(boards)})
    place = place.mask(few, len(boards)).fillna(len(boards) + 1)
    table = table[place == place.groupby(table["lang"]).transform("min")]
    table = table[table["id"] == table.groupby("lang")["id"].transform("first")]
    models = table.groupby("lang")["model"].nunique()
    ranked = table.sort_values(
        ["above", "value", "model"], ascending=[False, False, True], kind="stable"
    )
    found = (
        ranked.drop_duplicates("lang")
        .set_index("lang")
        .sort_index()
        .assign(models=models)
    )

    found["baseline"] = found["baseline"].fillna(0)
    found = found.join(_references(found, best_language))
    found = found.join(usability.share_interval(found))
    few = found["id"].isin(ENGLISH) & (found["classes"] < least_classes)
    found["decided"] = (found["origin"] != "own") & ~few & found["share"].notna()
    found["verdict"] = usability.states(found, line)
    columns = [
        "id",
        "title",
        "measure",
        "model",
        "name",
        "value",
        "reference",
        "share",
        "share_low",
        "share_high",
    ]
    return found[[*columns, "classes", "models", "baseline", "verdict"]]


def spoken(found: pd.DataFrame) -> pd.DataFrame:
    """Return the spoken languages, as Glottolog has them, among those of `judged`, each
    once: by its best verdict.

    Columns: lang, group (the verdict), and what `leaderboard.described` adds. Rows
    stand by verdict, the best first.
    """
    table = leaderboard.described(found["verdict"].rename("group").reset_index())
    table = table[table["glottocode"].isin(languages.world()["glottocode"])]
    table = table.sort_values(
        "group", key=lambda names: names.map(usability.STATES.index), kind="stable"
    )
    return table.drop_duplicates("glottocode")


def _references(found: pd.DataFrame, best_language: bool) -> pd.DataFrame:
    """Return the result that each language is compared with, and its interval:
    reference, reference_low and _high.
    """
    every = open_results()
    rows = every[
        every["id"].isin(found["id"]) & ((every["lang"] == "en") | best_language)
    ]
    rows = (
        rows.sort_values("value", ascending=False, kind="stable")
        .drop_duplicates("id")
        .set_index("id")
    )
    names = {
        "value": "reference",
        "ci_low": "reference_low",
        "ci_high": "reference_high",
    }
    references = (
        rows[[*names]]
        .rename(columns=names)
        .reindex(found["id"].replace(QUESTIONS[1], QUESTIONS[0]))
    )
    references.index = found.index

    gains = usability.english_gains()
    for board in ENGLISH.keys() & set(found["id"]):
        there = found["id"] == board
        english = every[
            (every["id"] == ENGLISH[board]) & (every["lang"] == "en")
        ].set_index("model")["value"]
        level = usability.best_english_among(
            found.loc[there, "classes"], english, gains
        )
        images = pd.DataFrame(
            {"dataset": "babel-imagenet", "n": IMAGES_IN_ENGLISH},
            index=found.index[there],
        )
        cases = image_clusters.independent_images(images)
        low, high = proportions.exact_interval(np.nan_to_num(level) * cases, cases)
        references.loc[there, [*names.values()]] = np.column_stack([level, low, high])
    return references


def verdict(lang: str) -> str:
    """Return in a sentence whether a real model is usable in a language with results;
    see `verdicts`.

    >>> verdict("nv")
    'Not usable: of 12 models, none performs above guessing in Navajo.'
    """
    if lang not in verdicts().index:
        return "Not decided: only papers report results, without intervals."
    row, name = verdicts().loc[lang], escape(languages.name(lang))
    if row["verdict"] == "not decided":
        on = (
            f"on {counted(row['classes'], 'class')} only, an easy test"
            if row["classes"]
            else "with bridges only"
        )
        return f"Not decided: models were tested in {name} {on}."
    if row["verdict"] == "not usable":
        return (
            f"Not usable: of {row['models']} models, none performs above guessing in"
            f" {name}."
        )

    does = f"classifies {percent(row['value'])} of the images correctly"
    if row["measure"] == "recall@1":
        does = f"finds the image for {percent(row['value'])} of the captions"
    elif row["id"] in QUESTIONS:
        does = (
            f"answers {percent(row['value'])} of the questions about dishes correctly"
        )
    part = (
        f"{100 * row['share']:.0f} % of the best result"
        if row["share"] <= 1
        else "more than the best result"
    )
    part = "the best result" if lang == "en" else part
    compared = (
        f" ({part} in English)" if row["id"] in QUESTIONS else f", {part} in English"
    )
    return f"{row['verdict'].capitalize()}: {escape(row['name'])} {does}{compared}."


def questions(lang: str) -> str:
    """Return what generative models do in a language that is judged by captions or
    labels, in a sentence, or "".

    >>> questions("nan")[:62]
    'Generative models: Llama 3.2 Vision 90B answers 75.5 % of 2,00'
    """
    if lang not in verdicts().index or verdicts().loc[lang, "id"] in QUESTIONS:
        return ""
    rows = (
        open_results()
        .query("lang == @lang and id in @QUESTIONS")
        .sort_values("value", ascending=False)
    )
    if rows.empty:
        return ""
    top = rows.iloc[0]
    return (
        f"Generative models: {escape(top['name'])} answers {percent(top['value'])} of"
        f" {top['n']:,.0f} questions about dishes correctly (guessing"
        f" {percent(top['baseline'])})."
    )


@cache
def tested() -> dict[str, pd.DataFrame]:
    """Return what this study's own run asked in each language: wnid, label, right,
    predicted, in_english, one row each.

    `predicted` is "" where the photograph was classified correctly, `in_english`
    whether it was with English names.
    """
    rows = real_run.read("zeroshot").query(
        "model == @RUN_MODEL and dataset == @real_run.WHOLE"
    )
    taken = real_run.read("predictions").query(
        "model == @RUN_MODEL and dataset == @real_run.WHOLE"
    )
    words = label_sets.shipped()[["lang", "wnid", "label"]]
    rows = rows.assign(right=rows["n_correct"] / rows["n_images"])[
        ["lang", "wnid", "right"]
    ].merge(words)
    rows = rows.merge(
        taken[["lang", "wnid", "predicted"]], how="left", on=["lang", "wnid"]
    ).fillna({"predicted": ""})
    english = rows[rows["lang"] == "en"].set_index("wnid")["right"]
    return dict(list(rows.assign(in_english=rows["wnid"].map(english)).groupby("lang")))


def confusions(lang: str) -> pd.DataFrame:
    """Return photographs of this study's run that are classified correctly in English
    and not in a language.

    Columns: wnid, class and taken_for (their English names), label and its_label (in
    the language).
    """
    if lang not in tested():
        return pd.DataFrame(
            columns=["wnid", "class", "label", "taken_for", "its_label"]
        )
    rows, names = tested()[lang], synsets.short_names()
    wrong, label = (
        rows[(rows["right"] == 0) & (rows["in_english"] == 1)],
        rows.set_index("wnid")["label"],
    )
    named = {
        "class": wrong["wnid"].map(names),
        "taken_for": wrong["predicted"].map(names),
    }
    return wrong.assign(**named, its_label=wrong["predicted"].map(label)).reset_index(
        drop=True
    )
