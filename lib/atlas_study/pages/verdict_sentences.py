"""What a language's page says of its verdict (`babelatlas.analysis.verdicts`), in
sentences.
"""

import pandas as pd

from babelatlas.analysis import all_results, recommendation
from babelatlas.analysis.verdicts import QUESTIONS, verdicts
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
        test = "with weak models of this study (bridges) only"
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
        about = f"{_number_of_questions(lang)} about dishes"
        baseline = f"guessing {percent(row['baseline'])}"
        share = share.replace("the best result in", "the best in")
        return f"{finding} ({about}, {baseline}; {share}){_few_classes(lang)}."
    return f"{finding}, {share}."


def _performance(row: pd.Series) -> str:
    """Return what the best model of a row of `verdicts` does."""
    value = percent(row["value"])
    if row["measure"] == "recall@1":
        return f"finds the image for {value} of the captions"
    if row["id"] in QUESTIONS:
        return f"answers {value} of questions correctly"
    return f"classifies {value} of the images correctly"


def _number_of_questions(lang: str) -> str:
    """Return how many questions the recommended generative model was asked."""
    rows = recommendation.of_language(lang, recommendation.ANSWERS)
    return f"{rows['n'].iloc[0]:,.0f}"


def _share(row: pd.Series, lang: str) -> str:
    """Return what the result of a row of `verdicts` is of the best one in English."""
    if lang == "en":
        return "the best result"
    if row["share"] <= 1:
        return f"{100 * row['share']:.0f} % of the best result"
    return "more than the best result"


def _few_classes(lang: str) -> str:
    """Return on how many classes a language was tested that is judged by questions, as
    the end of a sentence, "" where it has none.
    """
    classes = all_results.classes_tested().get(lang, 0)
    if not classes:
        return ""
    return f"; image search was tested on few classes only ({classes})"


# How a verdict answers "Is a generative model usable?".
ANSWERS = {
    "usable": "Yes",
    "borderline": "Not for certain (borderline)",
    "hardly usable": "Hardly",
    "not usable": "No",
    "not decided": "Not decided",
}


def generative(lang: str) -> str:
    """Return whether a generative model is usable in a language, in one or two
    sentences.

    >>> generative("te")[:49]
    'Not for certain (borderline): Gemma 3 27B answers'
    >>> generative("ha")
    'Not decided: no generative model has a released result in Hausa.'
    """
    verdict_word, finding = recommendation.generative_verdict(lang)
    text = f"{ANSWERS[verdict_word]}: {escape(finding)}"
    rows = recommendation.of_language(lang, recommendation.ANSWERS)
    if rows.empty:
        return f"{text}."
    share = recommendation.share_text(rows.iloc[0])
    return f"{text}. Beyond this baseline it has {share} % of the best English result."
