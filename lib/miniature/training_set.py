"""What the tiny models are trained on: drawings of the pictograms, and captions in an
uneven mix of languages.
"""

import numpy as np
import pandas as pd

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.lexicon.prompts import PICTOGRAM_TEMPLATES, fill
from miniature import pictograms


def drawings(
    split: str,
    images_per_class: int,
    seed: int = 0,
    size: int = pictograms.SIZE,
    wnids: list[str] | None = None,
    images_per_sense: int | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return drawings of every class: pixels (images, size, size, 3) uint8, class and
    colour numbers (images,).

    Class numbers follow `wnids`, the concepts where it is None; colour numbers
    `pictograms.COLOURS`. Each class has `images_per_class` drawings; a sense that is no
    concept has `images_per_sense` where that is given. The training split leaves out
    the pairs of `pictograms.held_out_compositions(seed)`.
    """
    concepts = list(pictograms.concepts()["wnid"])
    wnids = concepts if wnids is None else wnids
    colours = list(pictograms.COLOURS)
    if images_per_sense is None:
        images_per_sense = images_per_class
    pixels, classes, hues = [], [], []
    for row, wnid in enumerate(wnids):
        allowed = colours
        if split == "train":
            allowed = pictograms.training_colours(wnid, seed)
        n_images = images_per_class if wnid in concepts else images_per_sense
        for number in range(n_images):
            colour = allowed[(number + row) % len(allowed)]
            picture = pictograms.draw(
                wnid,
                split,
                number,
                seed,
                size,
                colour,
            )
            pixels.append(np.asarray(picture))
            classes.append(row)
            hues.append(colours.index(colour))
    return np.stack(pixels), np.array(classes), np.array(hues)


def training_texts(
    labels: pd.DataFrame,
    tiers: dict[str, list[str]],
    shares: dict[str, float],
    fractions: dict[str, float],
    seed: int = 0,
    model: str = "",
    senses: pd.DataFrame | None = None,
    most: int = 2,
) -> pd.DataFrame:
    """Return which labels training writes, and how often: a `training_texts` table.

    `labels`: schema `labels`. `tiers`: the languages of each level, such as {"en":
    ["en"], "low": ["hy", "ka"]}; `shares`: the share of all captions a level gets,
    divided evenly among its languages; `fractions`: the share of its concepts that a
    language of the level names in training, drawn for each language from `seed`; both 1
    where a level is not in them. The column `weight` is the probability of a caption in
    that language, given the concept, before it is scaled to sum to 1 over the languages
    that name the concept.

    `senses`: a `labels` table of the senses of ambiguous words (`pictograms.senses`),
    written too: the label and its alternatives, at most `most` words, which share the
    weight evenly. A sense that is a concept of `labels` is written by languages that
    name the concept; of the others a language names the same fraction. Which concepts a
    language names does not depend on `senses`.
    """
    everywhere = [lang for members in tiers.values() for lang in members]
    twice = [lang for lang in everywhere if everywhere.count(lang) > 1]
    if twice:
        raise InputError(
            f"The language {twice[0]!r} is in two levels of the training mix: keep it"
            " in one."
        )
    missing = sorted(set(everywhere) - set(labels["lang"]))
    if missing:
        raise InputError(
            f"The training mix names {', '.join(missing)}, for which there is no label:"
            " leave them out."
        )
    senses = labels[:0] if senses is None else senses
    concepts = set(pictograms.concepts()["wnid"])
    parts = []
    for level, members in tiers.items():
        share = shares.get(level, 1)
        fraction = fractions.get(level, 1)
        for lang in members:
            # Seeded by the language's letters, so that adding a language leaves the
            # others' choice as it was.
            letters = [seed, *lang.encode()]
            named = _fraction(labels[labels["lang"] == lang], fraction, letters)
            of_lang = senses[senses["lang"] == lang]
            is_named = of_lang["wnid"].isin(named["wnid"])
            no_concepts = of_lang[~of_lang["wnid"].isin(concepts)]
            others = _fraction(no_concepts, fraction, [*letters, 1])
            senses_named = pd.concat([of_lang[is_named], others])
            words = _words(named, senses_named, most)
            weight = share / len(members) / words["n_words"]
            parts.append(words.assign(model=model, weight=weight))
    columns = ["model", "lang", "wnid", "label", "weight"]
    table = pd.concat(parts, ignore_index=True)[columns]
    return tables.check(table, "training_texts")


def _fraction(rows: pd.DataFrame, fraction: float, seed: list[int]) -> pd.DataFrame:
    """Return a fraction of the classes, at least one where there is any, drawn from
    `seed`, in the order of wnid.
    """
    rows = rows.sort_values("wnid", ignore_index=True, kind="stable")
    n_kept = max(1, round(fraction * len(rows)))
    order = np.random.default_rng(seed).permutation(len(rows))
    return rows.iloc[np.sort(order[:n_kept])]


def _words(named: pd.DataFrame, senses: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return lang, wnid, label and n_words: the labels of `named`, then up to `most`
    words of each of `senses`.

    One row for each word of a class; words that differ in upper case only are one.
    `n_words`: how many it has.
    """
    names = []
    for row in senses.itertuples():
        all_names = [row.label, *row.alternatives]
        names.append(all_names[:most])
    columns = ["lang", "wnid", "label"]
    of_senses = senses.assign(label=names)[columns].explode("label")
    words = pd.concat([named[columns], of_senses], ignore_index=True)
    in_lower_case = words["label"].str.casefold()
    folded = words.assign(label=in_lower_case)
    words = words[~folded.duplicated(columns)]
    n_words = words.groupby("wnid")["label"].transform("size")
    return words.assign(n_words=n_words)


def captions(
    texts: pd.DataFrame, templates: list[str] = PICTOGRAM_TEMPLATES
) -> list[str]:
    """Return every caption the labels can make, English ones also with each colour word
    ("a small red umbrella").
    """
    words = list(texts["label"])
    words += [
        f"{colour} {label}"
        for label in texts.loc[texts["lang"] == "en", "label"]
        for colour in pictograms.COLOURS
    ]
    return [caption for word in words for caption in fill(templates, word)]


class Captions:
    """The captions of a training run, tokenised once; `sample` draws one for each
    image.

    `pieces` has shape (captions, context). The captions of text t, a row of `texts`, in
    each template start at row `start[t]`; English ones are followed by those with each
    colour. Class c, an item of `wnids`, has the texts `owned[c]`, and `odds[c]` sums up
    to 1 over them.
    """

    def __init__(
        self, texts: pd.DataFrame, tokenizer, templates: list[str] = PICTOGRAM_TEMPLATES
    ):
        texts = texts.reset_index(drop=True)
        named = set(texts["wnid"])
        self.wnids = [wnid for wnid in pictograms.drawn() if wnid in named]
        self.templates = len(templates)
        self.english = (texts["lang"] == "en").to_numpy()
        self.start = np.zeros(len(texts), int)
        written = []
        for row, label in enumerate(texts["label"]):
            self.start[row] = len(written)
            words = [label]
            if self.english[row]:
                words += [f"{colour} {label}" for colour in pictograms.COLOURS]
            for word in words:
                written += fill(templates, word)
        rows_of = texts.sort_values("lang", kind="stable").groupby("wnid").groups
        longest = max(len(rows) for rows in rows_of.values())
        self.owned = np.zeros((len(self.wnids), longest), int)
        self.odds = np.ones(self.owned.shape)
        for number, wnid in enumerate(self.wnids):
            rows = rows_of[wnid].to_numpy()
            weights = texts["weight"].to_numpy(float)[rows]
            self.owned[number, : len(rows)] = rows
            up_to = np.cumsum(weights)[:-1]
            self.odds[number, : len(up_to)] = up_to / weights.sum()
        self.pieces = tokenizer(written).numpy()
        self.shown = np.zeros(len(texts), np.int64)

    def sample(
        self, classes: np.ndarray, hues: np.ndarray, rng, coloured: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the pieces of one caption for each image, and the colour number it
        names, or -1.

        A template is drawn evenly; the share `coloured` of the English captions names
        the drawing's colour.
        """
        drawn = rng.random(len(classes))
        is_passed = drawn[:, None] >= self.odds[classes]
        last = self.odds.shape[1] - 1
        place = is_passed.sum(1).clip(0, last)
        texts = self.owned[classes, place]
        is_chosen = rng.random(len(classes)) < coloured
        names_colour = self.english[texts] & is_chosen
        template = rng.integers(self.templates, size=len(classes))
        rows = self.start[texts] + template
        rows[names_colour] += (hues[names_colour] + 1) * self.templates
        np.add.at(self.shown, texts, 1)
        colours = np.where(names_colour, hues, -1)
        return self.pieces[rows], colours

    def counted(self, texts: pd.DataFrame) -> pd.DataFrame:
        """Return `texts`, those of the captions, with the number of times each was
        shown as its `weight`.
        """
        return texts.assign(weight=self.shown.astype(float))


def parallel_captions(
    labels: pd.DataFrame, lang: str, n: int, seed: int = 0
) -> pd.DataFrame:
    """Return up to `n` captions of a language next to their English originals: text,
    english and group (the wnid).

    The labels of one class, in one template, on either side; drawn at random from all
    that the `labels` can make, each class as often as any other.
    """
    english = labels[labels["lang"] == "en"].set_index("wnid")["label"]
    of_lang = labels[labels["lang"] == lang]
    of_lang = of_lang[of_lang["wnid"].isin(english.index)]
    of_lang = of_lang.sort_values("wnid", kind="stable")
    rows = []
    for wnid, label in of_lang[["wnid", "label"]].itertuples(index=False):
        texts = fill(PICTOGRAM_TEMPLATES, label)
        originals = fill(PICTOGRAM_TEMPLATES, english[wnid])
        for text, original in zip(texts, originals, strict=True):
            rows.append((text, original, wnid))
    table = pd.DataFrame(rows, columns=["text", "english", "group"])
    rng = np.random.default_rng([seed, 8, *lang.encode()])
    order = rng.permutation(len(table))
    table = table.iloc[order]
    # First one caption of each class, then the second of each, so that no class is left
    # out.
    turn = table.groupby("group").cumcount()
    first = turn.sort_values(kind="stable").index[:n]
    return table.loc[first].reset_index(drop=True)
