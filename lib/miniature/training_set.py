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
    wnids = list(pictograms.concepts()["wnid"]) if wnids is None else wnids
    colours, concepts = list(pictograms.COLOURS), set(pictograms.concepts()["wnid"])
    pixels, classes, hues = [], [], []
    for row, wnid in enumerate(wnids):
        allowed = (
            pictograms.training_colours(wnid, seed) if split == "train" else colours
        )
        for number in range(
            images_per_class
            if wnid in concepts or images_per_sense is None
            else images_per_sense
        ):
            colour = allowed[(number + row) % len(allowed)]
            pixels.append(
                np.asarray(pictograms.draw(wnid, split, number, seed, size, colour))
            )
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
        share, fraction = shares.get(level, 1), fractions.get(level, 1)
        for lang in members:
            # Seeded by the language's letters, so that adding a language leaves the
            # others' choice as it was.
            named = _fraction(
                labels[labels["lang"] == lang], fraction, [seed, *lang.encode()]
            )
            ambiguous = senses[senses["lang"] == lang]
            known = ambiguous["wnid"].isin(named["wnid"])
            others = _fraction(
                ambiguous[~ambiguous["wnid"].isin(concepts)],
                fraction,
                [seed, *lang.encode(), 1],
            )
            words = _words(named, pd.concat([ambiguous[known], others]), most)
            parts.append(
                words.assign(
                    model=model, weight=share / len(members) / words["n_words"]
                )
            )
    return tables.check(
        pd.concat(parts, ignore_index=True)[
            ["model", "lang", "wnid", "label", "weight"]
        ],
        "training_texts",
    )


def _fraction(rows: pd.DataFrame, fraction: float, seed: list[int]) -> pd.DataFrame:
    """Return a fraction of the classes, at least one where there is any, drawn from
    `seed`, in the order of wnid.
    """
    rows = rows.sort_values("wnid", ignore_index=True, kind="stable")
    keep = np.random.default_rng(seed).permutation(len(rows))[
        : max(1, round(fraction * len(rows)))
    ]
    return rows.iloc[np.sort(keep)]


def _words(named: pd.DataFrame, senses: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return lang, wnid, label and n_words: the labels of `named`, then up to `most`
    words of each of `senses`.

    One row for each word of a class; words that differ in upper case only are one.
    `n_words`: how many it has.
    """
    several = senses.assign(
        label=[[row.label, *row.alternatives][:most] for row in senses.itertuples()]
    )
    columns = ["lang", "wnid", "label"]
    words = pd.concat(
        [named[columns], several[columns].explode("label")], ignore_index=True
    )
    words = words[
        ~words.assign(label=words["label"].str.casefold()).duplicated(columns)
    ]
    return words.assign(n_words=words.groupby("wnid")["label"].transform("size"))


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
        self.wnids = [wnid for wnid in pictograms.drawn() if wnid in set(texts["wnid"])]
        self.templates = len(templates)
        self.english = (texts["lang"] == "en").to_numpy()
        self.start, written = np.zeros(len(texts), int), []
        for row, (lang, label) in enumerate(
            texts[["lang", "label"]].itertuples(index=False)
        ):
            self.start[row] = len(written)
            words = [label] + (
                [f"{colour} {label}" for colour in pictograms.COLOURS]
                if lang == "en"
                else []
            )
            written += [caption for word in words for caption in fill(templates, word)]
        rows_of = texts.sort_values("lang", kind="stable").groupby("wnid").groups
        longest = max(len(rows) for rows in rows_of.values())
        self.owned = np.zeros((len(self.wnids), longest), int)
        self.odds = np.ones(self.owned.shape)
        for number, wnid in enumerate(self.wnids):
            rows = rows_of[wnid].to_numpy()
            weights = texts["weight"].to_numpy(float)[rows]
            self.owned[number, : len(rows)] = rows
            self.odds[number, : len(rows) - 1] = np.cumsum(weights)[:-1] / weights.sum()
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
        drawn = (
            (rng.random(len(classes))[:, None] >= self.odds[classes])
            .sum(1)
            .clip(0, self.odds.shape[1] - 1)
        )
        texts = self.owned[classes, drawn]
        named = self.english[texts] & (rng.random(len(classes)) < coloured)
        rows = self.start[texts] + rng.integers(self.templates, size=len(classes))
        rows = rows + np.where(named, (hues + 1) * self.templates, 0)
        np.add.at(self.shown, texts, 1)
        return self.pieces[rows], np.where(named, hues, -1)

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
    own = labels[
        (labels["lang"] == lang) & labels["wnid"].isin(english.index)
    ].sort_values("wnid", kind="stable")
    rows = [
        (text, original, wnid)
        for wnid, label in own[["wnid", "label"]].itertuples(index=False)
        for text, original in zip(
            fill(PICTOGRAM_TEMPLATES, label),
            fill(PICTOGRAM_TEMPLATES, english[wnid]),
            strict=True,
        )
    ]
    table = pd.DataFrame(rows, columns=["text", "english", "group"])
    order = np.random.default_rng([seed, 8, *lang.encode()]).permutation(len(table))
    # First one caption of each class, then the second of each, so that no class is left
    # out.
    table = table.iloc[order].assign(turn=lambda part: part.groupby("group").cumcount())
    return (
        table.sort_values("turn", kind="stable")
        .head(n)
        .drop(columns="turn")
        .reset_index(drop=True)
    )
