"""What the small translators are trained on: sources, their translations, and their images. No torch here.

Two corpora: the words of the miniature, each translated as the sense that a drawing shows, and Multi30k, English
descriptions of photographs with their translations. Both are tables with a row for each example: lang (of the target),
source (English), translation, weight (how often it is drawn in training), and what its image is.
"""

import os
from collections.abc import Sequence

import numpy as np
import pandas as pd

from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError, near
from babelatlas.datasets import ambiguous_words, captions, pictograms

SPLITS = {"train": 29_000, "val": 1014}


def item_senses(items: pd.DataFrame) -> pd.DataFrame:
    """Return item, word, `wnid_a` and `wnid_b` of a set of pairs from their names; InputError for others' items."""
    named = items[["item"]].drop_duplicates(ignore_index=True)
    parts = named["item"].str.extract(r"^(.+):(n\d{8})\+(n\d{8})$")
    if parts.isna().any(axis=None):
        item = named.loc[parts.isna().any(axis=1), "item"].iloc[0]
        raise InputError(f"The item {item!r} names no two synsets: give the items of a set of pairs (notebook 14).")
    return named.assign(word=parts[0], wnid_a=parts[1], wnid_b=parts[2])


def words(
    labels: pd.DataFrame, items: pd.DataFrame, frequent: float = 0.75, share: float = 0.75, seed: int = 0
) -> pd.DataFrame:
    """Return the examples of the miniature: lang, source, wnid (what the image shows), translation, weight.

    A word of one sense is the English label of a concept; its translation is the label in the other language (`labels`,
    schema `labels`). An ambiguous word (`items`, schema `items`, of a set of pairs) is translated as the sense that
    the image shows. One sense of each, chosen by `seed`, gets the share `frequent` of its examples and the others the
    rest evenly: that is the bias of the text. Ambiguous words get the share `share` of all examples; languages and
    words, each of their kind, weigh the same. The weights of a language sum to 1.
    Raises InputError for shares out of range, and for a language of `items` without labels.
    """
    for name, value in {"frequent": frequent, "share": share}.items():
        if not 0 < value < 1:
            raise InputError(f"The share {name!r} of the examples is {value}: expected a number between 0 and 1.")
    langs = sorted(items["lang"].unique())
    absent = sorted({"en", *langs} - set(labels["lang"]))
    if absent:
        raise InputError(f"The labels have no word in {absent[0]!r}: {near(absent[0], labels['lang'].unique())}")
    of_item = item_senses(items).set_index("item")
    wnids = [of_item[f"wnid_{sense}"][item] for item, sense in zip(items["item"], items["sense"], strict=True)]
    rows = items.assign(wnid=wnids)[["lang", "source", "wnid", "translation"]].drop_duplicates(ignore_index=True)
    # The frequent sense is the same in all languages: the first of the word's senses in an order drawn for the word.
    first = {}
    for word, senses in of_item.groupby("word")[["wnid_a", "wnid_b"]]:
        every = sorted(pd.unique(senses.to_numpy().ravel()))
        rng = np.random.default_rng([seed, *str(word).encode()])
        first |= {(word, wnid): int(place) for wnid, place in zip(every, rng.permutation(len(every)), strict=True)}
    word_of = items.drop_duplicates("source").set_index("source")["word"]
    rows["place"] = [first[word_of[source], wnid] for source, wnid in zip(rows["source"], rows["wnid"], strict=True)]
    key = [rows["lang"], rows["source"]]
    rarest = rows["place"] > rows["place"].groupby(key).transform("min")
    others, same = rarest.groupby(key).transform("sum").clip(1), (~rarest).groupby(key).transform("sum")
    each = np.where(rarest, (1 - frequent) / others, frequent / same)
    rows["weight"] = share * each / rows.groupby("lang")["source"].transform("nunique")
    english = labels[labels["lang"] == "en"].set_index("wnid")["label"]
    plain = labels[labels["lang"].isin(langs) & labels["wnid"].isin(english.index)]
    plain = plain.assign(source=plain["wnid"].map(english), translation=plain["label"])
    plain = plain[~plain["source"].isin(set(items["source"]))]
    plain["weight"] = (1 - share) / plain.groupby("lang")["source"].transform("size")
    columns = ["lang", "source", "wnid", "translation", "weight"]
    table = pd.concat([rows[columns], plain[columns]], ignore_index=True)
    table["weight"] /= table.groupby("lang")["weight"].transform("sum")
    return table


def development(
    items: pd.DataFrame, folder: str | os.PathLike, images_per_sense: int = 1, seed: int = 0
) -> pd.DataFrame:
    """Draw the senses of a set of pairs as the development split does, and return the table `item_images` of the items.

    Settings are chosen on these drawings, which neither training nor test has. Files and what raises as in
    `ambiguous_words.draw`; also raises InputError for items that name no synsets.
    """
    named = item_senses(items)
    wnids = [*named["wnid_a"], *named["wnid_b"]]
    images = ambiguous_words.draw(folder, wnids, images_per_sense, seed, pictograms.SIZE, "development")
    return ambiguous_words.item_images_of(named, images, images_per_sense)


def multi30k(folder: str | os.PathLike, langs: Sequence[str], split: str = "train") -> pd.DataFrame:
    """Return a split of task 1 of Multi30k: lang, image (name of the file), source, translation, weight (all 1).

    `folder`: its data/task1, with raw/SPLIT.LANG.gz and image_splits/SPLIT.txt, or a folder that holds it. Source:
    Elliott et al. (2016). Raises InputError where a file is absent or damaged, files differ in length, a split is
    another than `SPLITS`, a line is empty, or a language is not asked for.
    """
    if split not in SPLITS:
        raise InputError(f"Translators are trained on the splits {', '.join(SPLITS)} of Multi30k, got {split!r}.")
    home = tables.locate(folder)
    home = next((home / part for part in ("data/task1", "task1") if (home / part).is_dir()), home)
    if not os.fspath(folder) or not home.is_dir():
        raise InputError(
            f"The folder of Multi30k's texts is {os.fspath(folder)!r}, which is none: give its data/task1."
        )
    codes = list(dict.fromkeys(languages.canonical(lang) for lang in langs))
    if not codes or "en" in codes:
        raise InputError(f"Multi30k is translated from English to other languages, got {codes}: give de, fr or cs.")
    images = [line.strip() for line in captions.lines_of(home / "image_splits" / f"{split}.txt")]
    files = {lang: home / "raw" / f"{split}.{lang}.gz" for lang in ("en", *codes)}
    lines = {lang: [line.strip() for line in captions.lines_of(file)] for lang, file in files.items()}
    english, parts = lines["en"], []
    for lang in codes:
        other = lines[lang]
        counts = {"image_splits": len(images), "en": len(english), lang: len(other)}
        if set(counts.values()) != {SPLITS[split]}:
            told = ", ".join(f"{name} {count}" for name, count in counts.items())
            raise InputError(
                f"The files of Multi30k's split {split} should have {SPLITS[split]} lines each, got {told}: get them "
                "again."
            )
        rows = {"lang": lang, "image": images, "source": english, "translation": other, "weight": 1.0}
        parts.append(pd.DataFrame(rows))
    table = pd.concat(parts, ignore_index=True)
    texts = table[["source", "translation"]]
    empty = table[(texts.apply(lambda column: column.str.strip()) == "").any(axis=1)]
    if len(empty):
        raise InputError(
            f"Line {int(empty.index[0]) % SPLITS[split] + 1} of Multi30k's split {split} is empty in en or "
            f"{empty['lang'].iloc[0]} ({len(empty)} in all): get the files again."
        )
    return table
