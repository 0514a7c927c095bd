"""The trials of a disambiguation data set: each translation of an item given each of its images, and its score.

Whoever scores them, a CLIP-like model (`similarities`) or a translator (`translation.evaluate`), sees the same trials.
"""

import unicodedata
from collections.abc import Sequence

import numpy as np
import pandas as pd

from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import zeroshot
from babelatlas.evaluation.disambiguation import ORIGINALS
from babelatlas.models.tokens import Tokenizer

# Blank, although Unicode counts them as letters (the fillers of Hangul) or as a symbol (the pattern without a dot of
# Braille).
BLANK = "\u115f\u1160\u3164\uffa0\u2800"


def select(items: pd.DataFrame, wanted: Sequence[str] = ()) -> pd.DataFrame:
    """Return the rows of `items` (schema items) in the languages `wanted`, by any of their codes; () for all.

    Raises InputError for an unknown code, and for a language that the table lacks.
    """
    items = tables.check(items, "items")
    codes = [languages.canonical(code) for code in wanted]
    there = sorted(items["lang"].unique())
    absent = [code for code in codes if code not in there]
    if absent:
        raise InputError(
            f"The items have no translation in {', '.join(absent)}: expected among {', '.join(there) or 'none'}."
        )
    return items[items["lang"].isin(codes)].reset_index(drop=True) if codes else items


def visible(text: str) -> bool:
    """Return whether a text has anything to read: a letter, a digit, a symbol or a punctuation mark that is printed.

    >>> visible("%"), visible("\\u200b"), visible(" \\ufe0f")
    (True, False, False)
    """
    return any(letter not in BLANK and unicodedata.category(letter)[0] in "LNSP" for letter in text)


def join(items: pd.DataFrame, item_images: pd.DataFrame) -> pd.DataFrame:
    """Return each translation with each image of its item: lang, item, image, path, text, source, translation.

    `items`, `item_images`: the schemas of these names; `text` is the sense of the translation. Items that no language
    has are left out. Raises InputError for an item with one sense only, one without an original image of a sense, a
    translation or source that has nothing to read (`visible`), and where there is no item.
    """
    items, item_images = tables.check(items, "items"), tables.check(item_images, "item_images")
    if items.empty:
        raise InputError("There is no item to translate: the table of items is empty.")
    senses = items.groupby(["lang", "item"], sort=False)["sense"].agg(lambda found: "".join(sorted(found)))
    single = senses[senses != "ab"]
    if len(single):
        (lang, item), found = single.index[0], single.iloc[0]
        raise InputError(
            f"Item {item!r} has the sense(s) {', '.join(found)} in {lang}, and a and b are needed ({len(single)} such "
            "item(s)): give both translations, or leave the item out."
        )
    for column in ("source", "translation"):
        texts = items[column].fillna("")
        empty = items[~texts.isin([text for text in texts.unique() if visible(text)])]
        if len(empty):
            row = empty.iloc[0]
            raise InputError(
                f"Item {row['item']!r} has no {column} for sense {row['sense']} in {row['lang']}, but {row[column]!a} "
                f"({len(empty)} such row(s)): give one with a letter, a digit or a sign, or leave the item out."
            )
    for image in ORIGINALS:
        without = set(items["item"]) - set(item_images.loc[item_images["image"] == image, "item"])
        if without:
            raise InputError(
                f"{len(without)} item(s) have no image {image}, the first {min(without)!r}: give one image for each "
                "sense, or leave the item out."
            )
    joined = items.rename(columns={"sense": "text"}).merge(item_images, "inner", "item")
    return joined[["lang", "item", "image", "path", "text", "source", "translation"]]


def check_tokens(tokenizer: Tokenizer, items: pd.DataFrame, name: str) -> None:
    """Raise InputError, naming language and item, where a translation is nothing to a model's tokenizer.

    `items`: schema items; `name` of the model. Nothing is what gives the tokens of an empty text, as a sign where
    punctuation is removed before.
    """
    texts = items["translation"].unique().tolist()
    # Any one language will do: which it is adds the same mark to all texts.
    lang = "en" if tokenizer.needs_language else ""
    tokens = tokenizer(["", *texts], lang)
    ids = np.split(tokens.pieces, tokens.ends[:-1])
    lost = {text for text, found in zip(texts, ids[1:], strict=True) if np.array_equal(found, ids[0])}
    if lost:
        row = items[items["translation"].isin(lost)].iloc[0]
        raise InputError(
            f"The tokenizer of {name!r} makes no token of the translation {row['translation']!a} ({row['lang']}, item "
            f"{row['item']!r}; {len(lost)} such translation(s)): correct the translation, or leave the item out."
        )


def similarities(
    trials: pd.DataFrame, texts: np.ndarray, images: np.ndarray, shown: pd.DataFrame, paths: Sequence[str], rule: str
) -> pd.DataFrame:
    """Return what each trial costs a CLIP-like model: minus the similarity of its translation and its image.

    `trials` as of `join`; `texts` (rows of `shown`, d) are the vectors of the translations in `shown` (columns lang and
    translation, each pair once), `images` (paths, d) those of the files in `paths`. `rule`: "cosine" or "dot product".
    Columns lang, item, image, text, cost, in the order of `trials`. Each similarity is a sum of its own, so that equal
    vectors give equal costs. Raises InputError for another rule, and for a translation or an image without a vector.
    """
    if rule not in ("cosine", "dot product"):
        raise InputError(f"Translations and images are compared by 'cosine' or 'dot product', got {rule!r}.")
    row = pd.MultiIndex.from_frame(shown[["lang", "translation"]])
    text = row.get_indexer(pd.MultiIndex.from_frame(trials[["lang", "translation"]]))
    image = pd.Index(paths).get_indexer(trials["path"])
    if (text < 0).any() or (image < 0).any():
        missing = trials[(text < 0) | (image < 0)].iloc[0]
        raise InputError(
            f"Item {missing['item']!r} has a translation or an image without a vector ({missing['translation']!r}, "
            f"{missing['path']}): embed all of them."
        )
    if rule == "cosine":
        texts, images = zeroshot.normalise(texts), zeroshot.normalise(images)
    texts, images = np.asarray(texts, np.float64), np.asarray(images, np.float64)
    # In parts: the vectors of all trials at once may not fit.
    parts = [slice(start, start + 65536) for start in range(0, len(trials), 65536)]
    cost = np.concatenate([-(texts[text[part]] * images[image[part]]).sum(axis=1) for part in parts])
    return trials[["lang", "item", "image", "text"]].assign(cost=cost)
