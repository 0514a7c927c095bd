"""What the miniature's translators are trained on: single words, translated as the sense
that a drawing shows.
"""

import numpy as np
import pandas as pd

from babelatlas.base.errors import InputError
from miniature import pictograms

# Training drawings of translators are numbered from here; those before trained the
# image tower.
FIRST_DRAWING = 1000
# The share of training examples that are ambiguous words.
AMBIGUOUS = 0.75
# What the training of a miniature translator has other than `gated_recipe.Recipe`: half a
# minute on one core.
RECIPE = {
    "steps": 300,
    "batch_size": 96,
    "rate": 0.01,
    "warmup": 60,
    "vocabulary": 3200,
    "width": 96,
    "feed_forward": 192,
    "layers": 1,
    "dropout": 0.0,
}


def examples(
    labels: pd.DataFrame, items: pd.DataFrame, frequent: float = 0.75, seed: int = 0
) -> pd.DataFrame:
    """Return the examples of the miniature: lang, source, wnid (what the drawing shows),
    translation, weight.

    A word of one sense is the English label of a concept, translated by its label in the
    other language (`labels`, schema `labels`); an ambiguous word (`items`, schema
    `items`, of pairs of classes) by the word for the sense that is drawn. One sense of
    each, chosen by `seed`, gets the share `frequent` of its examples: so the text alone
    has a preference. The weights of a language sum to 1. Raises InputError for a share
    that is not between 0 and 1.
    """
    if not 0 < frequent < 1:
        raise InputError(
            f"The share of the frequent sense is {frequent}: expected a number between"
            " 0 and 1."
        )
    ambiguous = _ambiguous(items, frequent, seed)
    plain = _plain(labels, items)
    both = pd.concat([ambiguous, plain], ignore_index=True)
    total = both.groupby("lang")["weight"].transform("sum")
    return both.assign(weight=both["weight"] / total)


def _ambiguous(items: pd.DataFrame, frequent: float, seed: int) -> pd.DataFrame:
    """Return the examples of ambiguous words; each word of a language weighs the same."""
    wnids = items["item"].str.extract(r":(?P<a>n\d{8})\+(?P<b>n\d{8})$")
    rows = items[["lang", "source", "translation"]].copy()
    rows["wnid"] = wnids["a"].where(items["sense"] == "a", wnids["b"])
    rows = rows.drop_duplicates(ignore_index=True)
    # The frequent sense of a word is the same in all languages that have a word for it.
    order = np.random.default_rng([seed, 6]).permutation(rows["wnid"].nunique())
    place = rows["wnid"].map(
        dict(zip(sorted(rows["wnid"].unique()), order, strict=True))
    )
    of_word = [rows["lang"], rows["source"]]
    is_frequent = place == place.groupby(of_word).transform("min")
    n_frequent = is_frequent.groupby(of_word).transform("sum")
    n_others = (~is_frequent).groupby(of_word).transform("sum").clip(lower=1)
    shares = np.where(is_frequent, frequent / n_frequent, (1 - frequent) / n_others)
    n_words = rows.groupby("lang")["source"].transform("nunique")
    return rows.assign(weight=AMBIGUOUS * shares / n_words)


def _plain(labels: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """Return the examples of words of one sense; each word of a language weighs the
    same.
    """
    english = labels[labels["lang"] == "en"].set_index("wnid")["label"]
    is_target = labels["lang"].isin(items["lang"]) & labels["wnid"].isin(english.index)
    rows = labels.loc[is_target, ["lang", "wnid", "label"]]
    rows = rows.rename(columns={"label": "translation"})
    rows = rows.assign(source=rows["wnid"].map(english))
    rows = rows[~rows["source"].isin(items["source"])]
    n_words = rows.groupby("lang")["source"].transform("size")
    rows = rows.assign(weight=(1 - AMBIGUOUS) / n_words)
    return rows[["lang", "source", "translation", "wnid", "weight"]]


def drawings(wnids: pd.Series, images_per_sense: int, seed: int = 0) -> tuple:
    """Return training drawings of synsets, as pictures, and for each entry of `wnids` the
    rows of its drawings.
    """
    names = sorted(wnids.unique())
    numbers = range(FIRST_DRAWING, FIRST_DRAWING + images_per_sense)
    pictures = [
        pictograms.draw(wnid, "train", number, seed)
        for wnid in names
        for number in numbers
    ]
    first_row = {wnid: row * images_per_sense for row, wnid in enumerate(names)}
    rows = [first_row[wnid] + np.arange(images_per_sense) for wnid in wnids]
    return pictures, rows
