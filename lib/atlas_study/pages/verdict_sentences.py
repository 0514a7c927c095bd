"""What a language's page says of its verdict (`babelatlas.analysis.verdicts`), in
sentences.
"""

import pandas as pd

from babelatlas.analysis.verdicts import QUESTIONS, open_results, verdicts
from babelatlas.base import languages
from babelatlas.report.formatting import counted, escape, percent


def verdict(lang: str) -> str:
    """Return in a sentence whether a real model is usable in a language with results.

    >>> verdict("nv")
    'Not usable: of 12 models, none performs above guessing in Navajo.'
    """
    if lang not in verdicts().index:
        return "Not decided: only papers report results, without intervals."
    row = verdicts().loc[lang]
    name = escape(languages.name(lang))
    if row["verdict"] == "not decided":
        test = "with bridges only"
        if row["classes"]:
            test = f"on {counted(row['classes'], 'class')} only, an easy test"
        return f"Not decided: models were tested in {name} {test}."
    if row["verdict"] == "not usable":
        models = f"of {row['models']} models, none performs above guessing"
        return f"Not usable: {models} in {name}."

    state = row["verdict"].capitalize()
    finding = f"{state}: {escape(row['name'])} {_performance(row)}"
    share = f"{_share(row, lang)} in English"
    if row["id"] in QUESTIONS:
        return f"{finding} ({share})."
    return f"{finding}, {share}."


def _performance(row: pd.Series) -> str:
    """Return what the best model of a row of `verdicts` does."""
    value = percent(row["value"])
    if row["measure"] == "recall@1":
        return f"finds the image for {value} of the captions"
    if row["id"] in QUESTIONS:
        return f"answers {value} of the questions about dishes correctly"
    return f"classifies {value} of the images correctly"


def _share(row: pd.Series, lang: str) -> str:
    """Return what the result of a row of `verdicts` is of the best one in English."""
    if lang == "en":
        return "the best result"
    if row["share"] <= 1:
        return f"{100 * row['share']:.0f} % of the best result"
    return "more than the best result"


def questions(lang: str) -> str:
    """Return what generative models do in a language that is judged by captions or
    labels, in a sentence, or "".

    >>> questions("nan")[:62]
    'Generative models: Llama 3.2 Vision 90B answers 75.5 % of 2,00'
    """
    if lang not in verdicts().index or verdicts().loc[lang, "id"] in QUESTIONS:
        return ""
    rows = open_results().query("lang == @lang and id in @QUESTIONS")
    if rows.empty:
        return ""
    top = rows.sort_values("value", ascending=False).iloc[0]
    return (
        f"Generative models: {escape(top['name'])} answers {percent(top['value'])} of"
        f" {top['n']:,.0f} questions about dishes correctly (guessing"
        f" {percent(top['baseline'])})."
    )
