"""What the page of a language says of the same items in English: a sentence, and a table
of the data sets that ask the same in both (`babelatlas.analysis.same_items`).
"""

import numpy as np
import pandas as pd

from babelatlas.analysis import real_run, same_items
from babelatlas.analysis.all_results import NOT_ABOVE
from babelatlas.base import languages
from babelatlas.report import formatting, reading
from babelatlas.report.formatting import escape

DOUBTED = "vizwiz"  # whose doubt the sentence says, too


def section(lang: str) -> dict:
    """Return what the page of a language says, by the names of the template:
    `same_items` (sentences) and `same_items_table` (HTML, "" for none).
    """
    rows = same_items.best_of_all()
    rows = rows[rows["lang"] == lang]
    table = "" if rows.empty else shown(rows, lang)
    return {"same_items": sentences(rows, lang), "same_items_table": table}


def sentences(rows: pd.DataFrame, lang: str) -> str:
    """Return how much lower a model scores in a language than in English on the first of
    some data sets, in sentences.

    `rows`: of `same_items.best_models`, of one language; none say so.
    """
    name = escape(languages.name(lang))
    if rows.empty:
        return (
            f"Nobody can say: no data set that was tested in {name} has enough of the"
            " same items in English. Crossmodal-3600’s captions are written anew in each language,"
            " and Babel-ImageNet’s classes differ by language."
        )
    row = rows.iloc[0]
    points = abs(100 * row["difference"])
    direction = "lower" if row["difference"] < 0 else "higher"
    text = (
        f"{_items(row)}, {escape(row['name'])} scores **{points:.1f} points"
        f" {direction} in {name} than in English**{_interval(row)}"
    )
    text += ", no significant difference." if _is_uncertain(row) else "."
    if row["board"].startswith("own."):
        text += (
            " It is a weak model of this study; nobody has released a result on the"
            " same items."
        )
    if row["dataset"] == DOUBTED:
        text += (
            " This is doubtful: questions and references were translated by a machine,"
            " and the references are so faulty that"
            " [always answering “unanswerable”](28_baselines) is hard to exceed."
        )
    return text


def _items(row: pd.Series) -> str:
    """Return on which items a row of `same_items.best_models` compares, as the start of
    a sentence.
    """
    data_set = escape(row["title"].partition(", recall")[0])
    if row["over"] == "classes":
        return f"Among {row['n_items']:,} {data_set}, drawn at random in both"
    if row["over"] == "collections":
        return f"On the same questions of {row['n_items']} collections of {data_set}"
    if data_set.startswith(row["over"]):
        return f"On the same {row['n_items']:,} {data_set}"
    return f"On the same {row['n_items']:,} {row['over']} of {data_set}"


def _is_uncertain(row: pd.Series) -> bool:
    return bool(row["ci_low"] <= 0 <= row["ci_high"])


def _interval(row: pd.Series) -> str:
    """Return the interval of the size of a difference, "" where there is none."""
    if np.isnan(row["ci_low"]):
        return ""
    ends = 100 * np.array([row["ci_low"], row["ci_high"]])
    if row["difference"] < 0:
        ends = -ends[::-1]
    low, high = (f"{end:z.1f}".replace("-", "−") for end in ends)
    return f" (95 % interval over {row['over']} {low} to {high})"


def shown(rows: pd.DataFrame, lang: str) -> str:
    """Return `same_items.best_models` of one language as an HTML table."""
    name = languages.name(lang)
    ends = rows[["ci_low", "ci_high"]].assign(value=rows["difference"])
    marks = rows["above"].map({0: f" {NOT_ABOVE}"}).fillna("")
    items = [f"{row.n_items:,} {row.over}" for row in rows.itertuples()]
    table = pd.DataFrame(
        {
            "data set": rows["title"],
            "difference (points)": formatting.intervals(ends, "+.1f", to=" to "),
            "best open model": rows["name"],
            "English (%)": [f"{100 * value:.1f}" for value in rows["english"]],
            f"{name} (%)": [f"{100 * value:.1f}" for value in rows["value"]] + marks,
            "items": items,
            "the same in English?": rows["note"],
        }
    )
    own = ""
    if rows["board"].str.startswith("own.").any():
        own = f", on this study’s own data sets {real_run.SHIPPED_TOWER}"
    caption = (
        f"<b>{name} and English on the same items.</b> The same model in both: the open"
        f" one with the highest result in {name}{own}. 95 % intervals over items; where only"
        " means are released they are as if the items differed, and rather too long."
        f" {NOT_ABOVE}: not above its baseline."
    )
    return reading.table(table, caption, download=False).data
