"""The embedded data set: concrete nouns, drawn with the pictographs of the fonts that
ship with matplotlib.

Every concept is a WordNet 3.0 noun synset, tied by hand to the characters that draw it
(`data/pictograms.csv`). A drawing is a function of (seed, split, concept, number,
colour). Ambiguous English words have a table of their own
(`data/pictogram_senses.csv`): two senses or more that can be drawn apart, some of them
concepts, the others not. Development and test use font faces that training never does,
wherever a character exists in several, and wider ranges.

The miniature's statements, true or false of pairs of pictures in many languages, are
made by rule from the labels: lists of words are joined as the Unicode CLDR joins them,
and translated by a dictionary which knows no senses.
"""

import functools
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image, ImageDraw, ImageFont

from babelatlas.base import tables
from babelatlas.base.paths import DATA
from babelatlas.lexicon import cleaning

# Red, green and blue from 0 to 255. All training drawings and all colour words come
# from these.
COLOURS = {
    "black": (20, 20, 20),
    "white": (240, 240, 240),
    "red": (210, 35, 35),
    "orange": (240, 140, 20),
    "yellow": (240, 220, 40),
    "green": (40, 150, 60),
    "blue": (35, 75, 200),
    "purple": (130, 45, 160),
}
FACES = {
    "train": ["DejaVuSans", "DejaVuSansMono", "DejaVuSerif"],
    "development": [
        "DejaVuSans-Oblique",
        "DejaVuSansMono-Oblique",
        "DejaVuSerif-Italic",
    ],
    "test": [
        "DejaVuSans-Bold",
        "DejaVuSans-BoldOblique",
        "DejaVuSansMono-Bold",
        "DejaVuSerif-Bold",
    ],
}
# For characters that no face of DejaVu has (a watch, an ellipse, a trapezoid): in every
# split.
LAST_FACE = "STIXGeneral"
# size: longest side of the glyph as a share of the image; shift: of the image, either
# way; angle: degrees, either way; noise: standard deviation, of 255; jitter: change of
# each colour channel, of 255, either way.
RANGES = {
    "train": {
        "size": (0.58, 0.86),
        "shift": 0.07,
        "angle": 16,
        "noise": (0, 14),
        "jitter": 18,
    },
    "development": {
        "size": (0.53, 0.88),
        "shift": 0.08,
        "angle": 20,
        "noise": (4, 18),
        "jitter": 22,
    },
    "test": {
        "size": (0.50, 0.90),
        "shift": 0.09,
        "angle": 22,
        "noise": (6, 20),
        "jitter": 25,
    },
}
SIZE = 48
# A statement as it was written, and translated into English word by word.
ORIGINAL, TRANSLATE_TEST = "original", "translate-test"


def concepts() -> pd.DataFrame:
    """Return the concepts: `wnid` (WordNet 3.0 noun synset), `name` (one of its English
    lemmas), `codepoints` (hex).

    Several characters of one concept are separated by a space; they are alternative
    drawings of it.
    """
    return pd.read_csv(DATA / "pictograms.csv", dtype=str)


def senses() -> pd.DataFrame:
    """Return ambiguous English words with the senses that can be drawn: `word`, `wnid`,
    `name`, `codepoints`.

    `word` is an English lemma of the synset `wnid` in WordNet 3.0, `name` tells the
    senses apart, `codepoints` (hex) draw the sense and no other of the word. A synset
    may belong to two words. A sense that is a concept has the concept's drawings; one
    that is none may borrow all drawings of a concept, never some of them.
    """
    return pd.read_csv(DATA / "pictogram_senses.csv", dtype=str)


@functools.cache
def _characters() -> dict[str, list[str]]:
    table = pd.concat([concepts(), senses()]).drop_duplicates("wnid")
    characters = {}
    for wnid, codepoints in zip(table["wnid"], table["codepoints"], strict=True):
        characters[wnid] = [chr(int(point, 16)) for point in codepoints.split()]
    return characters


def drawn() -> list[str]:
    """Return the wnids of all that can be drawn: the concepts in their order, then the
    senses that are none.
    """
    return list(_characters())


def drawn_alike(wnids: list[str]) -> np.ndarray:
    """Return a number for each of `wnids`, the same for those that have the same
    drawings: (wnids,) int64.
    """
    characters = ["".join(sorted(_characters()[wnid])) for wnid in wnids]
    return pd.factorize(pd.Series(characters, dtype=str))[0]


def _font_file(face: str) -> Path:
    """Return the file of a font face that ships with matplotlib, such as
    `DejaVuSans-Bold`.
    """
    import matplotlib

    return Path(matplotlib.get_data_path()) / "fonts" / "ttf" / f"{face}.ttf"


@functools.cache
def glyphs(face: str) -> frozenset[int]:
    """Return the code points that a font face has a glyph for."""
    from matplotlib.ft2font import FT2Font

    return frozenset(FT2Font(str(_font_file(face))).get_charmap())


@functools.cache
def faces(character: str, split: str) -> list[str]:
    """Return the faces that draw `character` in `split`; where the split's own faces
    lack it, any that has it.
    """
    have = [face for face in FACES[split] if ord(character) in glyphs(face)]
    everywhere = ["DejaVuSans", "DejaVuSansMono", LAST_FACE]
    others = [face for face in everywhere if ord(character) in glyphs(face)]
    return have or others[:1]


@functools.cache
def _font(face: str, points: int) -> ImageFont.FreeTypeFont:
    # The basic layout engine: the other one (Raqm) fails on some of these characters.
    return ImageFont.truetype(
        str(_font_file(face)), points, layout_engine=ImageFont.Layout.BASIC
    )


@functools.cache
def _glyph(face: str, character: str) -> Image.Image:
    """Return the glyph as a grey image, cut to its box, its longest side about 84
    pixels.
    """
    left, top, right, bottom = _font(face, 200).getbbox(character)
    longest = max(right - left, bottom - top)
    font = _font(face, round(200 * 84 / longest))
    left, top, right, bottom = font.getbbox(character)
    mask = Image.new("L", (right - left, bottom - top))
    ImageDraw.Draw(mask).text((-left, -top), character, font=font, fill=255)
    return mask


def same_outline(wnid: str) -> bool:
    """Return whether each outline of a concept in test is one of training too, up to
    slant and size.

    The upright faces are compared at one size; outlines that differ in under 2 % of the
    pixels count as the same.
    """

    def outlines(split: str) -> list[np.ndarray]:
        upright = [
            _glyph(face, character).resize((48, 48))
            for character in _characters()[wnid]
            for face in faces(character, split)
            if "Oblique" not in face
        ]
        return [np.asarray(picture) > 127 for picture in upright]

    of_training = outlines("train")
    return all(
        any((in_test != outline).mean() < 0.02 for outline in of_training)
        for in_test in outlines("test")
    )


def draw(
    wnid: str,
    split: str = "test",
    number: int = 0,
    seed: int = 0,
    size: int = SIZE,
    colour: str = "",
) -> Image.Image:
    """Return one drawing of a concept or sense: an RGB image of `size` x `size` pixels.

    The same arguments give the same drawing. `number` counts those of one concept in
    one split. `colour` is one of `COLOURS`; "" leaves it to chance, in training among
    those that are not held out.
    """
    # Every random number is drawn in this order: another order is another drawing.
    ranges = RANGES[split]
    given = [list(COLOURS).index(colour) + 1] if colour else []
    rng = np.random.default_rng(
        [seed, list(RANGES).index(split), int(wnid[1:]), number, *given]
    )
    character = str(rng.choice(_characters()[wnid]))
    face = str(rng.choice(faces(character, split)))
    if not colour:
        allowed = training_colours(wnid, seed) if split == "train" else list(COLOURS)
        colour = str(rng.choice(allowed))
    fore, back = _shades(COLOURS[colour], ranges["jitter"], rng)
    mask = _placed(_glyph(face, character), size, ranges, rng)
    share = np.asarray(mask, np.float32)[..., None] / 255
    noise = rng.standard_normal((size, size, 3), dtype=np.float32)
    noise = noise * np.float32(rng.uniform(*ranges["noise"]))
    contrast = (fore - back).astype(np.float32)
    pixels = back.astype(np.float32) + share * contrast + noise
    pixels = np.clip(pixels, 0, 255).astype(np.uint8)
    return Image.fromarray(pixels)


def _shades(
    colour: tuple[int, int, int], jitter: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the shades of the glyph and of the ground (3,), a grey that is clearly
    lighter or darker.
    """
    change = rng.uniform(-1, 1, 3) * jitter
    fore = np.clip(np.array(colour) + change, 0, 255)
    brightness = float(np.dot(fore, (0.299, 0.587, 0.114)))
    greys = np.arange(20, 236)
    grey = rng.choice(greys[np.abs(greys - brightness) > 75])
    change = rng.uniform(-1, 1, 3) * jitter
    back = np.clip(grey + change, 0, 255)
    return fore, back


def _placed(
    glyph: Image.Image, size: int, ranges: dict, rng: np.random.Generator
) -> Image.Image:
    """Return a grey image of `size` pixels with the glyph turned, scaled and moved."""
    # Of its longest side, before it is turned.
    scale = rng.uniform(*ranges["size"]) * size / max(glyph.size)
    angle = rng.uniform(-1, 1) * ranges["angle"]
    turned = glyph.rotate(angle, resample=Image.Resampling.BILINEAR, expand=True)
    width = max(1, round(turned.width * scale))
    height = max(1, round(turned.height * scale))
    much_smaller = scale < 0.5
    resample = Image.Resampling.BOX if much_smaller else Image.Resampling.BILINEAR
    mask = turned.resize((width, height), resample)
    shift = rng.uniform(-1, 1, 2) * ranges["shift"] * size
    middle = size / 2 + shift
    left = round(middle[0] - width / 2)
    top = round(middle[1] - height / 2)
    page = Image.new("L", (size, size))
    page.paste(mask, (left, top))
    return page


def held_out_compositions(seed: int = 0) -> pd.DataFrame:
    """Return the pairs of concept and colour that training neither draws nor writes:
    `wnid`, `colour`.

    Two colours of every concept, each colour about equally often.
    """
    rng = np.random.default_rng([seed, 777])
    names = list(COLOURS)
    rows = []
    wnids = concepts()["wnid"]
    numbers = rng.permutation(len(wnids))
    for number, wnid in zip(numbers, wnids, strict=True):
        first = int(number) % len(names)
        further = 1 + int(rng.integers(len(names) - 1))
        second = (first + further) % len(names)
        rows += [(wnid, names[index]) for index in sorted((first, second))]
    return pd.DataFrame(rows, columns=["wnid", "colour"])


@functools.cache
def training_colours(wnid: str, seed: int = 0) -> list[str]:
    """Return the colours in which training draws a concept, in the order of `COLOURS`:
    all but those held out.

    Of a sense that is no concept those of the concept that is drawn alike are held out,
    none where there is no such.
    """
    pairs, drawings = held_out_compositions(seed), set(_characters()[wnid])
    alike = [
        concept
        for concept in pairs["wnid"].unique()
        if set(_characters()[concept]) == drawings
    ]
    held_out = set(pairs.loc[pairs["wnid"].isin(alike), "colour"])
    return [colour for colour in COLOURS if colour not in held_out]


def write_images(
    output: str | os.PathLike,
    split: str = "test",
    images_per_class: int = 10,
    seed: int = 0,
    size: int = SIZE,
    parameters: dict | None = None,
) -> pd.DataFrame:
    """Draw a data set, write its PNG files and its `images` table, and return the
    table.

    `output` is the table's file, say `images/pictograms.parquet`; the drawings go to
    the folder of the same name next to it, `images/pictograms/<wnid>/NNN.png`.
    """
    output, rows = tables.locate(output), []
    for wnid in concepts()["wnid"]:
        (output.parent / output.stem / wnid).mkdir(parents=True, exist_ok=True)
        for number in range(images_per_class):
            path = f"{output.stem}/{wnid}/{number:03d}.png"
            draw(
                wnid,
                split,
                number,
                seed,
                size,
            ).save(output.parent / path)
            rows.append((path, wnid, number))
    images = pd.DataFrame(rows, columns=["path", "wnid", "number"])
    tables.write(images, output, "images", parameters=parameters)
    return images


def draw_senses(
    folder: str | os.PathLike,
    wnids: Iterable[str],
    images_per_sense: int,
    seed: int,
    size: int,
) -> pd.DataFrame:
    """Draw each sense `images_per_sense` times into `folder`; return their table
    `images`, paths absolute.

    Files are called <wnid>/<number>.png, `size` pixels wide and high; number 0 is the
    sense's original image.
    """
    folder, rows = tables.locate(folder), []
    for wnid in sorted(set(wnids)):
        (folder / wnid).mkdir(parents=True, exist_ok=True)
        for number in range(images_per_sense):
            path = folder / wnid / f"{number:03d}.png"
            draw(
                wnid,
                "test",
                number,
                seed,
                size,
            ).save(path)
            rows.append((str(path), wnid, number))
    return pd.DataFrame(rows, columns=["path", "wnid", "number"])


def captions(
    images: pd.DataFrame, labels: pd.DataFrame, words: pd.DataFrame, most: int = 3
) -> pd.DataFrame:
    """Return captions of one drawing of each concept, schema `captions`: the first that
    `images` has of it.

    Three sets, as if three people had named the things in a language: "chosen", the
    label of the label set and its alternatives; "wiktionary" and "wordnets", the words
    of Wiktionary and of all wordnets together. Each has at most `most` words for a
    drawing, in their order in the tables; number 0 is the best of each. `words` are
    cleaned senses (`labels.candidates`); languages without a label are left out.
    English is the label set's in all three sets, as in a set of translations, and only
    its number 0 can be said to be translated.
    """
    first = images.sort_values("number", kind="stable").drop_duplicates("wnid")
    image_of = first.set_index("wnid")["path"]
    labels = labels[labels["wnid"].isin(image_of.index)]
    names = [[row.label, *row.alternatives] for row in labels.itertuples()]
    chosen = labels.assign(caption=names).explode("caption")
    english = chosen[chosen["lang"] == "en"]
    langs = set(labels["lang"]) - {"en"}
    words = words[words["wnid"].isin(image_of.index)]
    words = words[words["lang"].isin(langs)]
    words = words.rename(columns={"lemma": "caption"})
    in_wiktionary = words["source"] == "wikt"
    sets = {
        "chosen": chosen,
        "wiktionary": pd.concat([english, words[in_wiktionary]]),
        "wordnets": pd.concat([english, words[~in_wiktionary]]),
    }
    parts = [rows.assign(captions=name) for name, rows in sets.items()]
    table = pd.concat(parts, ignore_index=True)
    key = ["captions", "lang", "wnid"]
    folded = table.assign(caption=table["caption"].str.casefold())
    table = table[~folded.duplicated([*key, "caption"])]
    number = table.groupby(key).cumcount()
    table = table.assign(number=number, image=table["wnid"].map(image_of))
    columns = ["captions", "lang", "image", "number", "caption"]
    table = table.loc[number < most, columns]
    return table.sort_values(columns[:4], ignore_index=True)


def join(words: Sequence[str], lang: str) -> str:
    """Return the words as a list in a language, as the Unicode CLDR joins it; with
    commas where it has no pattern.

    >>> join(["cat", "sun", "key"], "en"), join(["Katze", "Sonne"], "de")
    ('cat, sun, and key', 'Katze und Sonne')
    >>> join(["猫", "太陽"], "ja")
    '猫、太陽'
    """
    from babel import Locale, UnknownLocaleError
    from babel.lists import format_list

    try:
        return format_list(list(words), locale=Locale.parse(lang, sep="-"))
    except (UnknownLocaleError, ValueError):
        return ", ".join(words)


def dictionary(
    senses: pd.DataFrame, labels: pd.DataFrame, languages: Sequence[str]
) -> pd.DataFrame:
    """Return the words in `languages` of every sense of the English labels, cleaned:
    schema `senses`.

    `senses` holds the words of many synsets; those are kept that have the English label
    of a concept among their words.
    """
    english_labels = labels.loc[labels["lang"] == "en", "label"].str.casefold()
    is_label = senses["lemma"].str.casefold().isin(set(english_labels))
    wnids = senses.loc[(senses["lang"] == "en") & is_label, "wnid"]
    of_labels = senses["wnid"].isin(wnids) & senses["lang"].isin(languages)
    return cleaning.clean(senses[of_labels])


def translator(
    words: pd.DataFrame, source: str, target: str, seed: int = 0
) -> Callable[[str], str]:
    """Return a function that translates one word as a dictionary does which knows no
    senses.

    `words`: lang, wnid, lemma (`dictionary`). A word of the source language has the
    synsets that it is a lemma of; its translation is one lemma in the target language
    of any of them, drawn at random once for all of its occurrences. A word that the
    dictionary lacks stays as it is.
    """
    entries = words[words["lang"] == source]
    spelled = entries["lemma"].str.casefold()
    senses = entries["wnid"].groupby(spelled).agg(set).to_dict()
    in_target = words[words["lang"] == target]
    lemmas = in_target.groupby("wnid")["lemma"].agg(set).to_dict()

    @functools.cache
    def translate(word: str) -> str:
        wnids = senses.get(word.casefold(), set())
        translated = sorted(wnids & lemmas.keys())
        if not translated:
            return word
        rng = np.random.default_rng(
            [seed, 18, *target.encode(), *word.casefold().encode()]
        )
        return str(rng.choice(sorted(lemmas[rng.choice(translated)])))

    return translate


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
    """Return statements about pairs of pictures of one thing each, four pairs to a
    statement: schema `pairs`.

    A statement lists two things, "cat and umbrella", and is true of a pair where one
    picture shows the one thing and the other picture the other, in either order; of
    each statement two pairs are true, and in two one thing is another. `concept` is the
    English label of the first thing. Outside English the statement also comes
    translated into English word by word (`TRANSLATE_TEST`). Pictures are `drawings` of
    each concept, written to the folder named as `output`; `left` and `right` are their
    paths below the folder of `output`.
    """
    output = tables.locate(output)
    rng = np.random.default_rng([seed, 20, list(RANGES).index(split)])
    of_languages = labels[labels["lang"].isin(languages)]
    named = of_languages.groupby("wnid")["lang"].nunique()
    # A statement needs two things, and two it is false of.
    wnids = sorted(named.index[named == len(set(languages))])
    _draw_things(
        output,
        wnids,
        drawings,
        split,
        seed,
    )
    label_of = labels.set_index(["lang", "wnid"])["label"]
    to_english = {
        lang: translator(words, lang, "en", seed) for lang in languages if lang != "en"
    }
    rows = []
    for statement in range(n_statements):
        chosen = rng.choice(len(wnids), 4, replace=False)
        first, second, wrong, third = (wnids[index] for index in chosen)
        pairs = [
            (first, second, True),
            (second, first, True),
            (first, wrong, False),
            (third, second, False),
        ]
        files = [
            [f"{output.stem}/{w}-{rng.integers(drawings)}.png" for w in pair[:2]]
            for pair in pairs
        ]
        for lang in languages:
            things = [label_of[lang, first], label_of[lang, second]]
            texts = {ORIGINAL: join(things, lang)}
            if lang != "en":
                translated = [to_english[lang](thing) for thing in things]
                texts[TRANSLATE_TEST] = join(translated, "en")
            for variant, text in texts.items():
                for number, (_, _, truth) in enumerate(pairs):
                    row = {
                        "variant": variant,
                        "lang": lang,
                        "statement": f"{statement:04d}",
                        "number": number,
                        "text": text,
                        "left": files[number][0],
                        "right": files[number][1],
                        "truth": truth,
                        "concept": label_of["en", first],
                        "chapter": "",
                    }
                    rows.append(row)
    order = ["variant", "lang", "statement", "number"]
    return pd.DataFrame(rows).sort_values(order, ignore_index=True)


def _draw_things(
    output: Path, wnids: list[str], drawings: int, split: str, seed: int
) -> None:
    """Write the drawings of `statements` to the folder named as `output`."""
    folder = output.parent / output.stem
    folder.mkdir(parents=True, exist_ok=True)
    for wnid in wnids:
        for number in range(drawings):
            # Other drawings than those of the data set.
            picture = draw(wnid, split, 1000 + number, seed)
            picture.save(folder / f"{wnid}-{number}.png")
