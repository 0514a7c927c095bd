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

TOKENIZATIONS = ("whitespace", "characters", "jieba", "automatic")
METRICS = ("CIDEr", "CIDEr-D", "chrF++")
LONGEST, SIGMA, FACTOR = 4, 6.0, 10.0
# Scripts that are written without a space between words.
UNSPACED = {"Hani", "Hira", "Kana", "Thai", "Laoo", "Khmr", "Mymr", "Tibt"}
RUN = ["model", "dataset", "precision", "preprocessing", "prompts"]


def check_settings(metrics: Sequence[str], tokenization: str, langs: Sequence[str]) -> None:
    """Raise InputError for an unknown metric or tokenization, and for jieba where a language is not Chinese."""
    for name, known in [(tokenization, TOKENIZATIONS), *((metric, METRICS) for metric in metrics)]:
        if name not in known:
            raise InputError(f"There is no metric or tokenization {name!r}: {near(name, known)}")
    if tokenization == "jieba" and not all(lang.startswith("zh") for lang in langs):
        raise InputError("The tokenization 'jieba' cuts Chinese only: take 'automatic', or leave other languages out.")


def tokenize(text: str, lang: str, tokenization: str = "automatic") -> list[str]:
    """Return the tokens of a caption, in lower case and without punctuation.

    `tokenization`: "whitespace", "characters" (each letter with the marks on it), "jieba" (words, Chinese only), or
    "automatic": characters where the language is written without spaces, else whitespace.

    >>> tokenize("A cat, and an umbrella.", "en"), tokenize("猫と傘。", "ja")
    (['a', 'cat', 'and', 'an', 'umbrella'], ['猫', 'と', '傘'])
    """
    text = "".join(" " if unicodedata.category(sign)[0] in "PS" else sign for sign in text.lower())
    if tokenization == "automatic":
        tokenization = "characters" if languages.native_scripts(lang) & UNSPACED else "whitespace"
    if tokenization == "whitespace":
        return text.split()
    if tokenization == "jieba":
        with warnings.catch_warnings(action="ignore"):  # jieba's source has escapes that Python warns of
            import jieba
        jieba.setLogLevel("WARNING")
        return [word for word in jieba.cut(text) if word.strip()]
    tokens: list[str] = []
    for before, sign in pairwise(" " + text):
        if unicodedata.category(sign)[0] == "M" and not before.isspace() and tokens:
            tokens[-1] += sign
        elif not sign.isspace():
            tokens.append(sign)
    return tokens


def cider(
    candidates: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]], variant: str = "CIDEr-D"
) -> np.ndarray:
    """Return the CIDEr or CIDEr-D of each candidate, an array (images,) from 0 to 10.

    `candidates`: the tokens of one caption for each image; `references`: of each image the tokens of one caption or
    more. Documents are counted in these references. A candidate equal to its only reference scores 10, or less where
    it has no n-gram of four tokens or none that is rare.
    Source: Vedantam et al. (2015), Eq. 1 to 3 and Section 6; lengths are counted in bigrams as in the authors' code.
    """
    image = np.repeat(np.arange(len(references)), [len(one) for one in references])
    written = [tokens for one in references for tokens in one]
    in_image = sparse.csr_matrix((np.ones(len(image)), (image, np.arange(len(image)))))
    total = np.zeros(len(written))
    for n in range(1, LONGEST + 1):
        ngrams: dict[tuple[str, ...], int] = {}
        ours, theirs = (_counts(texts, n, ngrams) for texts in (candidates, written))
        ours.resize((len(candidates), len(ngrams)))
        theirs.resize((len(written), len(ngrams)))
        documents = np.asarray((in_image @ theirs > 0).sum(0)).ravel()
        rarity = sparse.diags(np.log(len(references)) - np.log(np.maximum(documents, 1)))
        ours, theirs = (ours @ rarity).tocsr(), (theirs @ rarity).tocsr()
        norms = [np.sqrt(np.asarray(one.multiply(one).sum(1)).ravel()) for one in (ours, theirs)]
        same = ours[image].minimum(theirs) if variant == "CIDEr-D" else ours[image]
        products = np.asarray(same.multiply(theirs).sum(1)).ravel()
        scale = norms[0][image] * norms[1]
        total += np.divide(products, scale, out=np.zeros(len(total)), where=scale > 0)
    if variant == "CIDEr-D":
        lengths = [np.array([max(len(tokens) - 1, 0) for tokens in texts]) for texts in (candidates, written)]
        total *= np.exp(-((lengths[0][image] - lengths[1]) ** 2) / (2 * SIGMA**2))
    sums = np.bincount(image, total, len(references))
    return FACTOR * sums / LONGEST / np.bincount(image, minlength=len(references))


def _counts(texts: Sequence[Sequence[str]], n: int, ngrams: dict[tuple[str, ...], int]) -> sparse.csr_matrix:
    """Return how often each n-gram is in each text, a matrix (texts, n-grams); new n-grams are added to `ngrams`."""
    rows, columns = [], []
    for row, tokens in enumerate(texts):
        for start in range(len(tokens) - n + 1):
            rows.append(row)
            columns.append(ngrams.setdefault(tuple(tokens[start : start + n]), len(ngrams)))
    return sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), (len(texts), max(len(ngrams), 1)))


def chrf(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> np.ndarray:
    """Return the chrF++ of each caption next to the references of its image, an array (images,) of fractions.

    Popović (2017), by sacrebleu: n-grams of up to six letters and two words; the best of several references counts.
    """
    from sacrebleu.metrics import CHRF

    metric = CHRF(word_order=2)
    scored = [metric.sentence_score(one, list(known)).score for one, known in zip(candidates, references, strict=True)]
    return np.array(scored) / 100


def score(
    generated: pd.DataFrame, captions: pd.DataFrame, metrics: Sequence[str] = METRICS, tokenization: str = "automatic"
) -> pd.DataFrame:
    """Return a `caption_scores` table: each generated caption next to each set of references of its language.

    `generated`, `captions`: tables of these schemas; a set of `captions` is a set of references. A language that a set
    lacks is left out for this set. CIDEr counts documents among the references of the images that the model wrote
    captions for, and an empty caption scores 0.
    """
    generated = tables.check(generated, "generated")
    check_settings(metrics, tokenization, generated["lang"].unique())
    parts = []
    own = captions[captions["lang"].isin(generated["lang"])]
    for (name, lang), rows in own.groupby(["captions", "lang"]):
        known = rows.sort_values("number", kind="stable").groupby("image")["caption"].agg(list)
        for run, written in generated[generated["lang"] == lang].groupby(RUN):
            without = sorted(set(written["image"]) - set(known.index))
            if without:
                raise InputError(f"The references {name!r} lack {len(without)} image(s) of {run[0]}: {without[0]}.")
            texts, references = written["caption"].tolist(), known[written["image"]].tolist()
            tokens = [tokenize(text, lang, tokenization) for text in texts]
            cut = [[tokenize(text, lang, tokenization) for text in one] for one in references]
            for metric in metrics:
                plain = metric == "chrF++"
                value = chrf(texts, references) if plain else cider(tokens, cut, metric)
                part = written[[*RUN, "lang", "image"]].assign(references=name, metric=metric, value=value)
                parts.append(part.assign(tokenization="" if plain else tokenization))
    return tables.check(pd.concat(parts, ignore_index=True), "caption_scores")
