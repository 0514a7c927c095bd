"""Whether a real model is usable in a language: the best open one on its main
benchmark, compared with the best result in English.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd

from babelatlas.analysis import all_results as results
from babelatlas.analysis import image_clusters, leaderboard, usability
from babelatlas.base import languages
from babelatlas.stats import proportions

# The boards that a language is judged by: the first that has it. A person who searches
# with words goes from text to image; where a language has no captions its labels count,
# and where it has few of these, questions about dishes.
CAPTIONS = "xm3600.t2i.clip_benchmark"
LABELS = "babel-imagenet.label"
QUESTIONS = ("worldcuisines", "worldcuisines.ngoko")
MAIN = (CAPTIONS, LABELS, *QUESTIONS)
# The boards of Babel-ImageNet, on which languages have different numbers of classes ->
# those of their English results.
ENGLISH = {
    LABELS: LABELS,
    "babel-imagenet.translated-prompts": "babel-imagenet.english-prompts",
}
FEW = 100  # classes: with fewer the test is easier, and languages are not compared
IMAGES_IN_ENGLISH = 50_000  # of Babel-ImageNet, in all classes
# of the best result in English, beyond guessing, from which a model is called usable
HALF = 0.5
REFERENCE = ["reference", "reference_low", "reference_high"]


@cache
def open_results() -> pd.DataFrame:
    """Return `all_results` of open real models, with the facts about them; do not
    change the table.

    `english`: the model's own result in English on the same board; `classes`: how many
    Babel-ImageNet's images are of, 0 elsewhere.
    """
    table = results.all_results()
    facts = results.facts(list(table["model"].unique()))
    facts = facts.rename(columns={"title": "name"})
    table = table.merge(facts, on="model")
    is_open = table["weights"] != "closed"
    table = table[is_open & (table["origin"] != "published")]

    english = table[table["lang"] == "en"]
    english = english.set_index(["id", "model"])["value"]
    keys = pd.MultiIndex.from_frame(table[["id", "model"]])
    on_labels = table["id"].str.startswith("babel-imagenet")
    classes = table["lang"].map(results.classes_tested())
    classes = classes.fillna(0).where(on_labels, 0).astype(int)
    return table.assign(english=english.reindex(keys).to_numpy(), classes=classes)


@cache
def best_in_english() -> pd.Series:
    """Return the best open model's result in English on each board that has one: index
    id.
    """
    english = open_results().query("lang == 'en'")
    return english.groupby("id")["value"].max()


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
    table = _main_board(boards, least_classes)
    best = table.sort_values(
        ["above", "value", "model"], ascending=[False, False, True], kind="stable"
    )
    best = best.drop_duplicates("lang").set_index("lang").sort_index()
    best["models"] = table.groupby("lang")["model"].nunique()
    best = with_verdicts(best, line, least_classes, best_language)
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
        "classes",
        "models",
        "baseline",
        "verdict",
    ]
    return best[columns]


def with_verdicts(
    rows: pd.DataFrame,
    line: float = HALF,
    least_classes: int = FEW,
    best_language: bool = False,
) -> pd.DataFrame:
    """Return results with the verdict that each gives by itself, and the columns it
    rests on: REFERENCE, share, share_low, share_high, decided and verdict.

    `rows`: of `open_results`, with an index without repeated labels; the other
    arguments are those of `judged`. Where a board has no baseline, it counts as 0.
    """
    rows = rows.assign(baseline=rows["baseline"].fillna(0))
    rows = rows.join(_references(rows, best_language))
    rows = rows.join(usability.share_interval(rows))
    too_few = rows["id"].isin(ENGLISH) & (rows["classes"] < least_classes)
    own = rows["origin"] == "own"
    rows["decided"] = ~own & ~too_few & rows["share"].notna()
    rows["verdict"] = usability.states(rows, line)
    return rows


def _main_board(boards: Sequence[str], least_classes: int) -> pd.DataFrame:
    """Return the rows of `open_results` by which each language is judged: those of the
    first of `boards` that has it.

    A board with too few classes comes after all others, and this study's own run last.
    """
    table = open_results()
    listed = table["id"].isin(boards)
    table = table[listed | (table["origin"] == "own")]

    places = {name: place for place, name in enumerate(boards)}
    place = table["id"].map(places).fillna(len(boards) + 1)
    on_labels = table["id"].isin(ENGLISH)
    too_few = on_labels & (table["classes"] < least_classes)
    place = place.mask(too_few, len(boards))
    first = place.groupby(table["lang"]).transform("min")
    table = table[place == first]
    # This study's own run has several boards: the first one counts.
    board = table.groupby("lang")["id"].transform("first")
    return table[table["id"] == board]


def _references(best: pd.DataFrame, best_language: bool) -> pd.DataFrame:
    """Return the result that each row is compared with, and its interval: REFERENCE.

    `best`: rows with id and classes.
    """
    table = open_results()
    candidates = table[table["id"].isin([*best["id"].unique(), QUESTIONS[0]])]
    if not best_language:
        candidates = candidates[candidates["lang"] == "en"]
    highest = candidates.sort_values("value", ascending=False, kind="stable")
    highest = highest.drop_duplicates("id").set_index("id")
    highest = highest[["value", "ci_low", "ci_high"]].set_axis(REFERENCE, axis=1)
    # Questions in one form of a language are compared with English as the others are.
    boards = best["id"].str.replace(rf"^{QUESTIONS[0]}\..*", QUESTIONS[0], regex=True)
    references = highest.reindex(boards)
    references.index = best.index

    for board in ENGLISH.keys() & set(best["id"]):
        there = best["id"] == board
        english = table[table["id"] == ENGLISH[board]]
        english = english[english["lang"] == "en"]
        references.loc[there, REFERENCE] = _english_among(
            best.loc[there, "classes"], english.set_index("model")["value"]
        )
    return references


def _english_among(classes: pd.Series, english: pd.Series) -> np.ndarray:
    """Return the best English result among so many classes with its interval, widened
    as all of Babel-ImageNet's: (language, 3).

    `english`: accuracy among all classes, by model.
    """
    level = usability.best_english_among(classes, english, usability.english_gains())
    images = pd.DataFrame(
        {"dataset": "babel-imagenet", "n": IMAGES_IN_ENGLISH}, index=classes.index
    )
    cases = image_clusters.independent_images(images)
    low, high = proportions.exact_interval(np.nan_to_num(level) * cases, cases)
    return np.column_stack([level, low, high])


def spoken(judgements: pd.DataFrame) -> pd.DataFrame:
    """Return the spoken languages, as Glottolog has them, among those of `judged`, each
    once: by its best verdict.

    Columns: lang, group (the verdict), and what `leaderboard.described` adds. Rows
    stand by verdict, the best first.
    """
    groups = judgements["verdict"].rename("group").reset_index()
    table = leaderboard.described(groups)
    table = table[table["glottocode"].isin(languages.world()["glottocode"])]
    table = table.sort_values(
        "group", key=lambda names: names.map(usability.STATES.index), kind="stable"
    )
    return table.drop_duplicates("glottocode")
