"""Which model to use in a language: one rule, which chapters, explorer and pages of
languages share.

A model is recommended for a use only where it is usable by the book's rule
(`verdicts`): beyond guessing, the whole 95 % interval of its share of the best result in
English is at least a half. Numbers of different harnesses do not compare, so models are
ranked within one: the first of `BOARDS` on which any model is usable for the use. Of
these the one with the highest result is recommended; of all that are usable on some
board, the one that was released last is the newest. Where none is usable, no model is
recommended, and the one nearest to the line is named as such.
"""

from functools import cache

import pandas as pd

from babelatlas.analysis import image_clusters, real_models
from babelatlas.analysis.verdicts import (
    CAPTIONS,
    LABELS,
    QUESTIONS,
    open_results,
    with_verdicts,
)
from babelatlas.base import languages, licences
from babelatlas.report.formatting import interval, percent

SEARCH, ANSWERS = "search and labels", "questions"  # tasks
EXAMS, VIZWIZ = "indian-reasoning", "vizwiz"
# Of each task the tests of which a language takes the first that it has, and of each
# test its boards, in this order: harnesses of one data set and direction.
BOARDS = {
    SEARCH: [
        [CAPTIONS, "xm3600.t2i.babel-imagenet", "xm3600.t2i.mteb"],
        [LABELS],
    ],
    ANSWERS: [
        [QUESTIONS[0]],
        [QUESTIONS[1]],
        ["worldcuisines.formal"],
        ["worldcuisines.casual"],
        [EXAMS],
    ],
}
ANY, COMMERCIAL, SMALL, COMMERCIAL_SMALL, NEWEST = USES = (
    "any licence",
    "commercial use",
    "under 600 million parameters",
    "commercial use, under 600 million parameters",
    "newest",
)
MOST_PARAMETERS = 600  # millions, of a small model
# What a recommendation says: a model; that none is usable; that the test decides
# nothing; that no model for the use was tested.
RECOMMENDED, NONE_USABLE, NOT_DECIDED, NOT_TESTED = STATES = (
    "recommended",
    "none usable",
    "not decided",
    "not tested",
)
FACTS = [
    "id",
    "title",
    "measure",
    "model",
    "name",
    "value",
    "ci_low",
    "ci_high",
    "n",
    "baseline",
    "baseline_name",
    "classes",
    "share",
    "share_low",
    "share_high",
    "verdict",
    "licence",
    "parameters_m",
    "release_date",
    "address",
]
KEYS = ["lang", "task", "test", "board", "above", "decided"]  # of candidates
MOST_NAMED = 2  # models that do not differ significantly


@cache
def candidates() -> pd.DataFrame:
    """Return the results on which recommendations rest, with the verdict that each
    gives: `verdicts.open_results`, `verdicts.with_verdicts`, task, test (its place in
    BOARDS) and board (its place in the test).

    Only the rows of the first test of each language and task. Do not change the table.
    """
    places = [
        {"id": board, "task": task, "test": test, "board": place}
        for task, tests in BOARDS.items()
        for test, boards in enumerate(tests)
        for place, board in enumerate(boards)
    ]
    rows = open_results().drop(columns="task").merge(pd.DataFrame(places), on="id")
    first = rows.groupby(["task", "lang"])["test"].transform("min")
    rows = with_verdicts(rows[rows["test"] == first].reset_index(drop=True))
    rows = rows[[*KEYS, *FACTS]]
    texts = rows.select_dtypes(exclude="number").columns
    return rows.astype(dict.fromkeys(texts, object))  # pandas' own strings are slow


@cache
def recommendations() -> pd.DataFrame:
    """Return for each language, task and use the recommended model, one row each.

    Columns: lang, task, use, state (one of STATES), models (how many for this use have
    a result), alike (names of the other usable models on the same board that do not
    differ significantly from it, a list), and FACTS: of the recommended model; where
    none is usable of the one whose share of the best English result is highest; missing
    where none was tested. Do not change the table.

    >>> table = recommendations().set_index(["lang", "task", "use"])
    >>> table.loc["te", SEARCH, ANY]["name"], table.loc["te", SEARCH, COMMERCIAL]["state"]
    ('NLLB-SigLIP MRL large', 'none usable')
    """
    rows = candidates()
    groups = rows[["lang", "task"]].drop_duplicates().sort_values(["lang", "task"])
    parts = [_of_use(rows[_fits(rows, use)], groups, use) for use in USES]
    order = ["lang", "task"]
    return pd.concat(parts).sort_values(order, kind="stable", ignore_index=True)


def _fits(rows: pd.DataFrame, use: str) -> pd.Series:
    """Return which rows are of models for a use."""
    is_small = rows["parameters_m"] < MOST_PARAMETERS
    if use == COMMERCIAL:
        return licences.commercial(rows["licence"])
    if use == SMALL:
        return is_small
    if use == COMMERCIAL_SMALL:
        return licences.commercial(rows["licence"]) & is_small
    if use == NEWEST:
        return rows["release_date"] != ""
    return pd.Series(True, rows.index)


def _of_use(rows: pd.DataFrame, groups: pd.DataFrame, use: str) -> pd.DataFrame:
    """Return what is recommended for a use in each of `groups` (lang and task), a row
    each, of the `rows` of its models.
    """
    usable = rows[rows["verdict"] == "usable"]
    usable = usable.sort_values(
        ["board", "value", "model"], ascending=[True, False, True]
    )
    ranked = usable
    if use == NEWEST:
        ranked = usable.sort_values("release_date", ascending=False, kind="stable")
    nearest = rows.sort_values(["share", "value"], ascending=False, kind="stable")
    best = pd.concat([ranked, nearest]).drop_duplicates(["lang", "task"])

    keys = ["lang", "task"]
    counts = rows.groupby(keys)["model"].nunique().rename("models")
    decided = rows.groupby(keys)["decided"].any().rename("any_decided")
    table = groups.merge(best[[*keys, "board", *FACTS]], on=keys, how="left")
    table = table.join(counts, on=keys).join(decided, on=keys)
    table["models"] = table["models"].fillna(0).astype(int)
    table["use"] = use
    table["state"] = [
        _state(row.verdict, row.models, row.any_decided) for row in table.itertuples()
    ]
    cases = image_clusters.independent_images(
        usable.assign(dataset=usable["id"].str.partition(".")[0])
    )
    compared = usable[[*keys, "board", "model", "name", "value"]].assign(
        n=cases, n_correct=usable["value"] * cases
    )
    boards = dict(list(compared.groupby([*keys, "board"])))
    table["alike"] = [
        _alike(boards[row.lang, row.task, row.board])
        if row.state == RECOMMENDED and use != NEWEST
        else []
        for row in table.itertuples()
    ]
    return table[[*keys, "use", "state", "models", "alike", *FACTS]]


def _state(verdict: str, models: int, decided: bool) -> str:
    """Return what a recommendation says, one of STATES."""
    if models == 0:
        return NOT_TESTED
    if verdict == "usable":
        return RECOMMENDED
    return NONE_USABLE if decided else NOT_DECIDED


def _alike(compared: pd.DataFrame) -> list[str]:
    """Return the names of the models of one board that do not differ significantly from
    the best (`real_models.best`), images of a class counted as `image_clusters` does.
    """
    best = real_models.best(compared)
    names = dict(zip(compared["model"], compared["name"], strict=True))
    return [names[model] for model in best.loc[best["same"], "model"].iloc[1:]]


def of_language(lang: str, task: str) -> pd.DataFrame:
    """Return the recommendations of a language for a task, one row for each of USES; no
    rows where no open model has such a result.
    """
    table = recommendations()
    return _by_language_and_task().get((lang, task), table.iloc[:0])


@cache
def _by_language_and_task() -> dict[tuple[str, str], pd.DataFrame]:
    """Return the parts of `recommendations`, which the pages of languages ask for."""
    return dict(list(recommendations().groupby(["lang", "task"])))


def model_text(row: pd.Series) -> str:
    """Return which model a row of `recommendations` recommends, as text: with those
    that do not differ significantly, or that none is usable and which is nearest.

    >>> table = of_language("te", SEARCH)
    >>> model_text(table.iloc[0])
    'NLLB-SigLIP MRL large'
    >>> model_text(table.iloc[1])
    'none is usable (nearest: M-CLIP XLM-R large ViT-B/16+, borderline)'
    """
    if row["state"] == RECOMMENDED:
        return f"{row['name']}{alike_text(row['alike'])}"
    if row["state"] == NOT_TESTED:
        return "none was tested"
    if row["state"] == NOT_DECIDED:
        return f"not decided (highest: {row['name']})"
    return f"none is usable (nearest: {row['name']}, {row['verdict']})"


def alike_text(names: list[str]) -> str:
    """Return that other models do not differ significantly, to follow a name; "" for
    none.

    >>> alike_text(["A"]), alike_text(["A", "B", "C"])
    (', or A (no significant difference)', ', or one of 3 others (no significant difference)')
    """
    if not names:
        return ""
    others = " or ".join(names)
    if len(names) > MOST_NAMED:
        others = f"one of {len(names)} others"
    return f", or {others} (no significant difference)"


def result_text(row: pd.Series) -> str:
    """Return the result of the model that `model_text` names, as text, "–" where there
    is none.

    >>> result_text(of_language("te", SEARCH).iloc[0])
    '42.3 % (40.7–44.0)'
    """
    if row["state"] == NOT_TESTED:
        return "–"
    return interval(row["value"], row["ci_low"], row["ci_high"])


def share_text(row: pd.Series) -> str:
    """Return the share of the best English result in percent with its interval, "–"
    where there is none.
    """
    if row["state"] == NOT_TESTED or pd.isna(row["share"]):
        return "–"
    share, low, high = (row[name] for name in ("share", "share_low", "share_high"))
    return f"{100 * share:.0f} ({100 * low:.0f}–{100 * high:.0f})"


def sentence(row: pd.Series) -> str:
    """Return a row of `recommendations` as a sentence; `title` is the test.

    >>> sentence(of_language("te", SEARCH).iloc[1])[:62]
    'No commercially licensed model is usable in Telugu (nearest: M'
    >>> sentence(of_language("te", SEARCH).iloc[0])
    'Any licence: NLLB-SigLIP MRL large, 42.3 % (40.7–44.0).'
    """
    free, small = "commercially licensed", f"under {MOST_PARAMETERS} million parameters"
    kinds = {
        ANY: "open model",
        COMMERCIAL: f"{free} model",
        SMALL: f"model {small}",
        COMMERCIAL_SMALL: f"{free} model {small}",
        NEWEST: "model with a known release date",
    }
    kind, language = kinds[row["use"]], languages.name(row["lang"])
    if row["task"] == ANSWERS:
        kind = kind.replace("model", "generative model")
    if row["state"] == NOT_TESTED:
        return f"No {kind} was tested in {language}."
    result = result_text(row)
    if row["state"] == RECOMMENDED:
        use = row["use"][0].upper() + row["use"][1:]
        return f"{use}: {model_text(row)}, {result}."
    if row["state"] == NOT_DECIDED:
        question = f"Whether any {kind} is usable for {row['task']} in {language}"
        question += " is not decided"
        return f"{question} (highest: {row['name']}, {result})."
    nearest = f"nearest: {row['name']}, {result}, {row['verdict']}"
    return f"No {kind} is usable in {language} ({nearest})."


def to_show(lang: str) -> pd.DataFrame:
    """Return the rows of `recommendations` of a language that a reader needs: without
    uses for which no model was tested; of a task for whose first use none is
    recommended only this one, since it holds for all models.
    """
    parts = []
    for task in BOARDS:
        rows = of_language(lang, task)
        rows = rows[rows["state"] != NOT_TESTED]
        if len(rows) and rows["state"].iloc[0] != RECOMMENDED:
            rows = rows.head(1)
        parts.append(rows)
    return pd.concat(parts, ignore_index=True)


def generative_verdict(lang: str) -> tuple[str, str]:
    """Return whether a generative model is usable in a language, one of
    `usability.STATES`, and what that rests on, as the rest of a sentence.

    A test decides where the same questions were asked in English: dishes
    (WorldCuisines), else exams of India. The rule is that of `verdicts`, with the
    language's own baseline taken off both results. VizWiz decides nothing: always
    answering "unanswerable" is hard to exceed there.

    >>> generative_verdict("yo")[0], generative_verdict("te")[0]
    ('usable', 'borderline')
    >>> generative_verdict("ha")
    ('not decided', 'no generative model has a released result in Hausa')
    """
    rows = candidates()
    rows = rows[(rows["lang"] == lang) & (rows["task"] == ANSWERS)]
    if rows.empty:
        return "not decided", _asked_otherwise(lang)
    top = rows.sort_values(["above", "value"], ascending=False).iloc[0]
    n = f"{top['n']:,.0f}"
    questions = "exam questions" if top["id"] == EXAMS else "questions about dishes"
    ends = f"{100 * top['ci_low']:.1f}–{100 * top['ci_high']:.1f}"
    text = (
        f"{top['name']} answers {percent(top['value'])} of {n} {questions} correctly"
        f" (95 % interval over questions {ends}; {top['baseline_name']}:"
        f" {percent(top['baseline'])})"
    )
    return top["verdict"], text


def _asked_otherwise(lang: str) -> str:
    """Return what generative models were asked in a language where nothing decides."""
    name = languages.name(lang)
    rows = open_results()
    rows = rows[(rows["lang"] == lang) & (rows["kind"] == "generative")]
    if rows.empty:
        return f"no generative model has a released result in {name}"
    if set(rows["id"]) == {VIZWIZ}:
        return (
            f"in {name}, generative models were asked only questions of blind people"
            f" (VizWiz, {rows['n'].max():,.0f} questions, translated by a machine), on"
            f" which {rows['baseline_name'].iloc[0]} is hard to exceed"
            f" ({percent(rows['baseline'].iloc[0])}; highest model:"
            f" {percent(rows['value'].max())})"
        )
    titles = "; ".join(rows["title"].unique())
    return f"in {name}, generative models have results only on other tests: {titles}"


def counts_by_use(task: str) -> pd.DataFrame:
    """Return for each use in how many languages a model is recommended and in how many
    none is usable: use, recommended, none usable, not decided, first (the model
    recommended most often) and first_count.
    """
    table = recommendations()
    table = table[table["task"] == task]
    rows = []
    for use, part in table.groupby("use", sort=False):
        states = part["state"].value_counts().reindex(STATES, fill_value=0)
        names = part.loc[part["state"] == RECOMMENDED, "name"].value_counts()
        first = {"first": "", "first_count": 0}
        if len(names):
            first = {"first": names.index[0], "first_count": int(names.iloc[0])}
        rows.append({"use": use} | states.to_dict() | first)
    return pd.DataFrame(rows)
