"""Scores of generated captions next to the captions that people wrote: CIDEr, CIDEr-D, chrF++.

CIDEr (Vedantam et al. 2015, Eq. 1 to 3) is the mean cosine similarity of a caption with the references of its image in
n-grams of one to four tokens, each weighted by how few images it is in the references of. CIDEr-D (their Section 6,
as in the authors' code and in pycocoevalcap) cuts the weight of a repeated n-gram at the reference's and lowers the
score where lengths differ. Both have their usual factor of ten. Thapliyal et al. (2022) remove punctuation and
lower-case before they cut at spaces; how a text is cut decides the score where no space ends a word: it is a setting.
"""

import unicodedata
import warnings
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy import sparse

from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError, near

TOKENIZATIONS = ("whitespace", "characters", "jieba", "automatic", "released")
METRICS = ("CIDEr", "CIDEr-D", "chrF++")
LONGEST, SIGMA, FACTOR = 4, 6.0, 10.0
# Scripts that are written without a space between words.
UNSPACED = {"Hani", "Hira", "Kana", "Thai", "Laoo", "Khmr", "Mymr", "Tibt"}
RUN = ["model", "dataset", "precision", "preprocessing", "prompts"]


def unspaced(lang: str) -> bool:
    """Return whether a language is written without spaces between words.

    >>> unspaced("th"), unspaced("ja"), unspaced("ko")
    (True, True, False)
    """
    return bool(languages.native_scripts(lang) & UNSPACED)


def check_tokenization(tokenization: str, codes: Sequence[str]) -> None:
    """Raise InputError for a tokenization that is not known, and for jieba where a language is not Chinese."""
    if tokenization not in TOKENIZATIONS:
        raise InputError(f"There is no tokenization {tokenization!r}: {near(tokenization, TOKENIZATIONS)}")
    other = next((lang for lang in codes if tokenization == "jieba" and not lang.startswith("zh")), None)
    if other is not None:
        raise InputError(
            f"The tokenization 'jieba' cuts Chinese only, and there are captions in {languages.name(other)}: take "
            "'characters' or 'automatic', or leave the language out."
        )


def tokenize(text: str, lang: str, tokenization: str = "automatic") -> list[str]:
    """Return the tokens of a caption, in lower case and without punctuation.

    `tokenization`: "whitespace", "characters" (each letter with the marks on it), "jieba" (words, Chinese only), or
    "automatic": characters where the language is written without spaces, else whitespace. "released" is whitespace
    for captions that come as tokens; others are cut by `segment`. Raises what `check_tokenization` raises.

    >>> tokenize("A cat, and an umbrella.", "en"), tokenize("猫と傘。", "ja")
    (['a', 'cat', 'and', 'an', 'umbrella'], ['猫', 'と', '傘'])
    """
    check_tokenization(tokenization, [lang])
    plain = _plain(text)
    if tokenization == "automatic":
        tokenization = "characters" if unspaced(lang) else "whitespace"
    if tokenization in ("whitespace", "released"):
        return plain.split()
    if tokenization == "jieba":
        with warnings.catch_warnings(action="ignore"):  # jieba's source has escapes that Python warns of
            import jieba
        jieba.setLogLevel("WARNING")
        return [word for word in jieba.cut(plain) if word.strip()]
    tokens: list[str] = []
    for before, sign in pairwise(" " + plain):
        if unicodedata.category(sign)[0] == "M" and not before.isspace() and tokens:
            tokens[-1] += sign
        elif not sign.isspace():
            tokens.append(sign)
    return tokens


def _plain(text: str) -> str:
    return "".join(" " if unicodedata.category(sign)[0] in "PS" else sign for sign in text.lower())


def segment(text: str, words: set[str]) -> list[str]:
    """Return the tokens of a caption cut at spaces and, within, by the longest of `words` that fits from the left.

    A sign with which none begins is a token of its own. So a generated caption has the words of references whose tokens
    were released, where no space ends a word.

    >>> segment("一只猫。", {"一只", "猫", "一"})
    ['一只', '猫']
    """
    longest, tokens = max(map(len, words), default=1), []
    for part in _plain(text).split():
        while part:
            size = next((n for n in range(min(longest, len(part)), 1, -1) if part[:n] in words), 1)
            tokens.append(part[:size])
            part = part[size:]
    return tokens


def cider(
    candidates: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]], variant: str = "CIDEr-D"
) -> np.ndarray:
    """Return the CIDEr or CIDEr-D of each candidate, an array (images,) from 0 to 10.

    `candidates`: the tokens of one caption for each image; `references`: of each image the tokens of one caption or
    more. Documents are counted in these references. A candidate equal to its only reference scores 10, or less where
    it has no n-gram of four tokens or none that is rare. Raises InputError where lengths differ or an image has no
    reference.
    Source: Vedantam et al. (2015), Eq. 1 to 3 and Section 6; lengths are counted in bigrams as in the authors' code.
    """
    if variant not in METRICS[:2]:
        raise InputError(f"There is no variant {variant!r} of CIDEr: {near(variant, METRICS[:2])}")
    if len(candidates) != len(references) or not all(references):
        bare = sum(not one for one in references)
        raise InputError(
            f"CIDEr needs references for each caption: got {len(candidates)} captions, references of "
            f"{len(references)} images, and none for {bare} of them."
        )
    image = np.repeat(np.arange(len(references)), [len(one) for one in references])
    written = [tokens for one in references for tokens in one]
    total = np.zeros(len(written))
    if variant == "CIDEr-D":
        lengths = [np.array([max(len(tokens) - 1, 0) for tokens in texts]) for texts in (candidates, written)]
        penalty = np.exp(-((lengths[0][image] - lengths[1]) ** 2) / (2 * SIGMA**2))
    for n in range(1, LONGEST + 1):
        known: dict[tuple[str, ...], int] = {}
        ours, theirs = (_counts(texts, n, known) for texts in (candidates, written))
        ours.resize((len(candidates), len(known)))
        theirs.resize((len(written), len(known)))
        in_image = sparse.csr_matrix((np.ones(len(image)), (image, np.arange(len(image)))))
        documents = np.asarray((in_image @ theirs > 0).sum(0)).ravel()
        rarity = sparse.diags(np.log(len(references)) - np.log(np.maximum(documents, 1)))
        ours, theirs = (ours @ rarity).tocsr(), (theirs @ rarity).tocsr()
        norms = [np.sqrt(np.asarray(one.multiply(one).sum(1)).ravel()) for one in (ours, theirs)]
        same = ours[image].minimum(theirs) if variant == "CIDEr-D" else ours[image]
        products = np.asarray(same.multiply(theirs).sum(1)).ravel()
        scale = norms[0][image] * norms[1]
        total += np.divide(products, scale, out=np.zeros(len(total)), where=scale > 0)
    if variant == "CIDEr-D":
        total *= penalty
    sums = np.bincount(image, total, len(references))
    return FACTOR * sums / LONGEST / np.bincount(image, minlength=len(references))


def _counts(texts: Sequence[Sequence[str]], n: int, known: dict[tuple[str, ...], int]) -> sparse.csr_matrix:
    """Return how often each n-gram is in each text, a matrix (texts, n-grams); new n-grams are added to `known`."""
    rows, columns = [], []
    for row, tokens in enumerate(texts):
        for start in range(len(tokens) - n + 1):
            rows.append(row)
            columns.append(known.setdefault(tuple(tokens[start : start + n]), len(known)))
    return sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), (len(texts), max(len(known), 1)))


def chrf(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> np.ndarray:
    """Return the chrF++ of each caption next to the references of its image, an array (images,) of fractions.

    Popović (2017), by sacrebleu: n-grams of up to six letters and two words; the best of several references counts.
    """
    from sacrebleu.metrics import CHRF

    metric = CHRF(word_order=2)
    scored = [metric.sentence_score(one, list(known)).score for one, known in zip(candidates, references, strict=True)]
    return np.array(scored) / 100


def score(
    generated: pd.DataFrame,
    captions: pd.DataFrame,
    metrics: Sequence[str] = METRICS,
    tokenization: str = "automatic",
    tokenized: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return a `caption_scores` table: each generated caption next to each set of references of its language.

    `generated`, `captions`: tables of these schemas; a set of `captions` is a set of references. A language that a set
    lacks is left out for this set. CIDEr counts documents among the references of the images that the model wrote
    captions for, and an empty caption scores 0. `tokenized`: the references as released tokens, schema `captions`, for
    the tokenization "released". Raises InputError where an image has two captions by one model or no reference in a set
    that has the language, and for a metric or tokenization that is not known or does not fit the languages.
    """
    generated = tables.check(generated, "generated")
    unknown = next((metric for metric in metrics if metric not in METRICS), None)
    if unknown is not None:
        raise InputError(f"There is no metric {unknown!r} of captions: {near(unknown, METRICS)}")
    check_tokenization(tokenization, sorted(generated["lang"].unique()))
    generated = generated.assign(caption=generated["caption"].fillna(""))
    if (tokenization == "released") != (tokenized is not None):
        raise InputError(
            "The tokenization 'released' needs the released tokens of the references, and no other has any."
        )
    parts, asked = [], captions[captions["lang"].isin(generated["lang"])]
    for (name, lang), rows in asked.groupby(["captions", "lang"], sort=True):
        known = _lists(rows)
        cut = known if tokenized is None else _lists(tokenized[tokenized["lang"] == lang])
        tokens = cut.map(lambda texts, lang=lang: [tokenize(text, lang, tokenization) for text in texts])
        words = {word for texts in tokens for text in texts for word in text} if tokenized is not None else set()
        for run, written in generated[generated["lang"] == lang].groupby(RUN, sort=True):
            bare = sorted(set(written["image"]) - (set(known.index) & set(tokens.index)))
            if bare:
                raise InputError(
                    f"{run[0]} wrote captions in {languages.name(lang)} for {len(bare)} image(s) that the references "
                    f"{name!r} lack, the first: {bare[0]}; give references for all images, or fewer captions."
                )
            fitted = words and unspaced(lang)
            ours = [
                segment(text, words) if fitted else tokenize(text, lang, tokenization) for text in written["caption"]
            ]
            theirs = tokens[written["image"]].tolist()
            values = {metric: cider(ours, theirs, metric) for metric in metrics if metric in METRICS[:2]}
            if "chrF++" in metrics:
                values["chrF++"] = chrf(written["caption"].tolist(), known[written["image"]].tolist())
            for metric, scores in values.items():
                part = written[[*RUN, "lang", "image"]].assign(references=name, metric=metric, value=scores)
                parts.append(part.assign(tokenization="" if metric == "chrF++" else tokenization))
    if not parts:
        raise InputError("No set of references is in a language of the generated captions: give both in one language.")
    return tables.check(pd.concat(parts, ignore_index=True), "caption_scores")


def _lists(captions: pd.DataFrame) -> pd.Series:
    """Return the captions of each image as a list, in their order."""
    return captions.sort_values("number").groupby("image")["caption"].agg(list)
