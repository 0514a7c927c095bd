"""What this study's own run on photographs shows of a language: what was asked, and
what was taken for something else.
"""

import os
from collections.abc import Mapping, Sequence
from functools import cache

import pandas as pd

from babelatlas.analysis import real_run
from babelatlas.base import synsets
from babelatlas.datasets import registry as datasets
from babelatlas.lexicon import labels as label_sets
from babelatlas.report import figures

MODEL = "bridge-lite2"  # whose classifications of photographs pages show
EXAMPLES = 8  # confusions that a page shows
SIDE = 80  # pixels of a photograph on a page


@cache
def classified() -> dict[str, pd.DataFrame]:
    """Return what the run asked in each language, one row a class: wnid, label, right,
    predicted, in_english.

    `right`: the share of its photographs that were classified correctly, `in_english`:
    the same with English names; `predicted`: the class that was chosen, "" where it is
    correct.
    """
    where = "model == @MODEL and dataset == @real_run.WHOLE"
    asked = real_run.read("zeroshot").query(where)
    asked = asked.assign(right=asked["n_correct"] / asked["n_images"])
    predictions = real_run.read("predictions").query(where)
    words = label_sets.shipped()[["lang", "wnid", "label"]]

    rows = asked[["lang", "wnid", "right"]].merge(words)
    rows = rows.merge(
        predictions[["lang", "wnid", "predicted"]], how="left", on=["lang", "wnid"]
    )
    english = rows[rows["lang"] == "en"].set_index("wnid")["right"]
    rows = rows.assign(
        predicted=rows["predicted"].fillna(""), in_english=rows["wnid"].map(english)
    )
    return dict(list(rows.groupby("lang")))


def confusions(lang: str) -> pd.DataFrame:
    """Return the photographs that are classified correctly in English and not in a
    language.

    Columns: wnid, class and taken_for (their English names), label and its_label (in
    the language).
    """
    if lang not in classified():
        columns = ["wnid", "class", "label", "taken_for", "its_label"]
        return pd.DataFrame(columns=columns)
    rows = classified()[lang]
    names = synsets.short_names()
    labels = rows.set_index("wnid")["label"]
    wrong = rows[(rows["right"] == 0) & (rows["in_english"] == 1)].copy()
    wrong["class"] = wrong["wnid"].map(names)
    wrong["taken_for"] = wrong["predicted"].map(names)
    wrong["its_label"] = wrong["predicted"].map(labels)
    return wrong.reset_index(drop=True)


def pictures(
    langs: Sequence[str], folder: str | os.PathLike, images: Mapping[str, str]
) -> dict[str, str]:
    """Return the photographs of the first `confusions` of each language as HTML, by
    language; nothing where the run in a folder has not evaluated them itself.

    `images`: data set -> folder, where they are not in a known place. They may not be
    passed on: only who has them sees them.
    """
    if not real_run.own(folder):
        return {}
    photographs = datasets.load(real_run.WHOLE, images.get(real_run.WHOLE, ""))
    photographs = photographs.drop_duplicates("wnid")
    paths = photographs.set_index("wnid")["path"]
    sheets = {}
    for lang in langs:
        wrong = confusions(lang).head(EXAMPLES)
        if len(wrong):
            sheets[lang] = _sheet(wrong, paths[wrong["wnid"]])
    return sheets


def _sheet(wrong: pd.DataFrame, paths: pd.Series) -> str:
    """Return photographs as HTML, each with its class and what it was taken for."""
    titles = list(wrong["class"] + ": " + wrong["taken_for"])
    thumbnails = [datasets.open_image(path).resize((SIDE, SIDE)) for path in paths]
    sheet = figures.contact_sheet(thumbnails, titles, columns=4)
    caption = (
        "<b>These photographs, and what they are taken for.</b> Of ImageNet: for"
        " research that is not commercial."
    )
    return figures.show(sheet, caption, "; ".join(titles)).data
