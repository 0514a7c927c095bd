"""Scores of generated captions next to the captions that people wrote: CIDEr and
CIDEr-D.

CIDEr (Vedantam et al. 2015, Eq. 1 to 3) is the mean cosine similarity of a caption with
the references of its image, in n-grams of one to four tokens, each weighted by how few
images have it in their references. CIDEr-D (their Section 6) cuts the weight of a
repeated n-gram at the reference's and lowers the score where lengths differ. Both have
their usual factor of ten. As Thapliyal et al. (2022, note 9) do, punctuation is removed
and letters are lower-cased first. How a text is split decides the score where no space
ends a word, so it is a setting.
"""

import os
import unicodedata
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import sparse

from babelatlas.base import folders, languages, own_tables, tables
from babelatlas.base.errors import InputError, near

TOKENIZATIONS = ("automatic", "whitespace", "characters")
METRICS = ("CIDEr-D", "CIDEr")
LONGEST = 4  # tokens of an n-gram
SIGMA = 6.0  # of the penalty for a difference in length, in tokens
FACTOR = 10.0
# Scripts that are written without a space between words.
UNSPACED = {"Hani", "Hira", "Kana", "Thai", "Laoo", "Khmr", "Mymr", "Tibt"}
WRITER = ["model", "dataset"]


def unspaced(lang: str) -> bool:
    """Return whether a language is written without spaces between words.

    >>> unspaced("th"), unspaced("ja"), unspaced("ko")
    (True, True, False)
    """
    return bool(languages.native_scripts(lang) & UNSPACED)


def tokenize(text: str, lang: str, tokenization: str = "automatic") -> list[str]:
    """Return the tokens of a caption, in lower case and without punctuation.

    `tokenization`: "whitespace"; "characters", each letter with the marks on it; or
    "automatic", characters where the language is written without spaces. Raises
    InputError for another one.

    >>> tokenize("A cat, and an umbrella.", "en"), tokenize("猫と傘。", "ja")
    (['a', 'cat', 'and', 'an', 'umbrella'], ['猫', 'と', '傘'])
    """
    if tokenization not in TOKENIZATIONS:
        raise InputError(
            f"There is no tokenization {tokenization!r}:"
            f" {near(tokenization, TOKENIZATIONS)}"
        )
    plain = "".join(
        " " if unicodedata.category(sign)[0] in "PS" else sign for sign in text.lower()
    )
    words = plain.split()
    by_character = tokenization == "automatic" and unspaced(lang)
    if tokenization == "characters" or by_character:
        return [letter for word in words for letter in letters(word)]
    return words


def letters(word: str) -> list[str]:
    """Return the letters of a word, each with the combining marks that follow it.

    >>> letters("रत्न")
    ['र', 'त्', 'न']
    """
    found: list[str] = []
    for sign in word:
        is_mark = unicodedata.category(sign).startswith("M")
        if is_mark and found:
            found[-1] += sign
        else:
            found.append(sign)
    return found


def cider(
    candidates: Sequence[Sequence[str]],
    references: Sequence[Sequence[Sequence[str]]],
    metric: str = "CIDEr-D",
) -> np.ndarray:
    """Return the CIDEr-D or CIDEr of each candidate: (images,), from 0 to 10.

    `candidates`: the tokens of a caption for each image; `references`: for each image
    the tokens of one caption or more, among which documents are counted. A candidate
    equal to its only reference scores 10, and less where it has no n-gram of four
    tokens or none that is rare. Raises InputError where lengths differ, an image has no
    reference, or the metric is another. Source: Vedantam et al. (2015), Eq. 1 to 3 and
    Section 6; lengths are counted in bigrams, as in the authors' code.
    """
    _check_references(candidates, references, metric)
    sizes = [len(texts) for texts in references]
    image = np.repeat(np.arange(len(references)), sizes)
    written = [tokens for texts in references for tokens in texts]
    damped = metric == "CIDEr-D"

    similarity = np.zeros(len(written))
    for n in range(1, LONGEST + 1):
        ours, theirs = _weighted_counts(candidates, written, image, n)
        similarity += _cosines(ours[image], theirs, damped) / LONGEST
    if damped:
        similarity *= _length_penalty(candidates, written, image)
    sums = np.bincount(image, similarity, len(references))
    return FACTOR * sums / sizes


def _check_references(candidates, references, metric: str) -> None:
    if metric not in METRICS:
        raise InputError(
            f"There is no metric {metric!r} of captions: {near(metric, METRICS)}"
        )
    if len(candidates) != len(references) or not all(references):
        n_without = sum(not texts for texts in references)
        raise InputError(
            f"{metric} needs references for each caption: got {len(candidates)}"
            f" captions, references of {len(references)} images, and none for"
            f" {n_without} of them; give references for all."
        )


def _weighted_counts(
    candidates, written, image: np.ndarray, n: int
) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Return the n-grams of candidates and of references, (texts, n-grams), each count
    times the logarithm of how few images have the n-gram in their references (Eq. 1).
    """
    columns: dict[tuple[str, ...], int] = {}
    ours = _counts(candidates, n, columns)
    theirs = _counts(written, n, columns)
    n_images, n_columns = len(candidates), max(len(columns), 1)
    ours.resize((n_images, n_columns))
    theirs.resize((len(written), n_columns))
    ones = np.ones(len(image))
    of_image = sparse.csr_matrix((ones, (image, np.arange(len(image)))))
    documents = np.asarray((of_image @ theirs > 0).sum(axis=0)).ravel()
    rarity = sparse.diags(np.log(n_images) - np.log(np.maximum(documents, 1)))
    return (ours @ rarity).tocsr(), (theirs @ rarity).tocsr()


def _counts(
    texts: Sequence[Sequence[str]], n: int, columns: dict[tuple[str, ...], int]
) -> sparse.csr_matrix:
    """Return how often each n-gram is in each text; new n-grams are added to `columns`."""
    rows, places = [], []
    for row, tokens in enumerate(texts):
        for start in range(len(tokens) - n + 1):
            gram = tuple(tokens[start : start + n])
            rows.append(row)
            places.append(columns.setdefault(gram, len(columns)))
    shape = len(texts), max(len(columns), 1)
    return sparse.csr_matrix((np.ones(len(rows)), (rows, places)), shape)


def _cosines(
    ours: sparse.csr_matrix, theirs: sparse.csr_matrix, damped: bool
) -> np.ndarray:
    """Return the cosine of each pair of rows (Eq. 2); `damped`: a weight counts up to
    that of the reference.
    """
    norms = np.sqrt(_row_sums(ours.multiply(ours)) * _row_sums(theirs.multiply(theirs)))
    matched = ours.minimum(theirs) if damped else ours
    products = _row_sums(matched.multiply(theirs))
    return np.divide(products, norms, out=np.zeros(len(norms)), where=norms > 0)


def _row_sums(matrix: sparse.spmatrix) -> np.ndarray:
    return np.asarray(matrix.sum(axis=1)).ravel()


def _length_penalty(candidates, written, image: np.ndarray) -> np.ndarray:
    """Return the factor of each reference for a caption of another length."""
    ours = np.array([max(len(tokens) - 1, 0) for tokens in candidates])
    theirs = np.array([max(len(tokens) - 1, 0) for tokens in written])
    return np.exp(-((ours[image] - theirs) ** 2) / (2 * SIGMA**2))


def read_generated(path: str | os.PathLike, model: str, dataset: str) -> pd.DataFrame:
    """Return the captions that a model wrote elsewhere: a `generated` table of one model
    and data set.

    `path`: a CSV file with the columns lang, image and caption, or a table `generated`;
    of a table with a column `model` or `dataset`, the rows of these. Raises InputError
    where it cannot be read, names an unknown language, or has none of these rows.
    """
    file = tables.locate(path)
    if file.suffix.lower() in own_tables.SUFFIXES:
        table = own_tables.read(file, "captions", ["lang", "image", "caption"])
        own_tables.check_texts(table, ["image", "caption"], file)
        table = table.assign(lang=own_tables.languages_of(table, "lang", file))
        table["image"] = table["image"].map(folders.nfc)
    else:
        table = tables.read(file, "generated")
    for column, name in {"model": model, "dataset": dataset}.items():
        if column in table:
            table = table[table[column] == name]
    if table.empty:
        raise InputError(
            f"The file {file} has no caption by {model!r} for {dataset!r}: correct the"
            " names in its columns model and dataset, or leave these columns out."
        )
    table = table.assign(model=model, dataset=dataset)
    return tables.check(table[list(tables.SCHEMAS["generated"][0])], "generated", file)


def of_images(
    generated: pd.DataFrame, images: Sequence[str], langs: Sequence[str]
) -> pd.DataFrame:
    """Return the captions of some images in some languages; InputError where there is
    none.
    """
    wanted = generated["image"].isin(images) & generated["lang"].isin(langs)
    if not wanted.any():
        row = generated.iloc[0]
        raise InputError(
            f"None of the captions by {row['model']} is of an image and in a language of"
            f" the data set {row['dataset']!r}, the first is of {row['image']} in"
            f" {languages.name(row['lang'])}: name images as the data set does, as"
            f" {images[0]}."
        )
    return generated[wanted].reset_index(drop=True)


def score(
    generated: pd.DataFrame,
    captions: pd.DataFrame,
    metric: str = "CIDEr-D",
    tokenization: str = "automatic",
    regions: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return the score of each generated caption with each set of references of its
    language: a `caption_scores` table.

    `generated`, `captions`: tables of these schemas; a set of `captions` is a set of
    references. A caption in a language or of an image that a set lacks is left out for
    the set. Documents are counted among the references of the images that the model
    wrote captions for. An empty caption scores 0. `regions` (image, region): where
    images are from, "" for the others. Raises InputError where an image has two captions
    by one model in a language, and where no caption has a reference.
    """
    generated = tables.check(generated, "generated")
    parts = []
    for (name, lang), rows in captions.groupby(["captions", "lang"], sort=True):
        in_order = rows.sort_values("number").groupby("image")["caption"]
        references = in_order.agg(list)
        tokens = references.map(
            lambda texts, lang=lang: [
                tokenize(text, lang, tokenization) for text in texts
            ]
        )
        in_language = generated[generated["lang"] == lang]
        for _, written in in_language.groupby(WRITER, sort=True):
            written = written[written["image"].isin(references.index)]
            if written.empty:
                continue
            ours = [tokenize(text, lang, tokenization) for text in written["caption"]]
            values = cider(ours, tokens[written["image"]].tolist(), metric)
            parts.append(written.assign(captions=name, value=values))
    if not parts:
        raise InputError(
            "No reference is of an image and in a language of the generated captions:"
            " give both of the same images and in one language."
        )
    scores = pd.concat(parts, ignore_index=True)
    scores = scores.assign(metric=metric, tokenization=tokenization, region="")
    if regions is not None:
        home = dict(zip(regions["image"], regions["region"], strict=True))
        scores["region"] = [home.get(image, "") for image in scores["image"]]
    return tables.check(scores.drop(columns="caption"), "caption_scores")
