"""How many captions there are in each language, how long they are, and how good people
find them (Thapliyal et al. 2022, Tables 1 and 2); of any table of captions.
"""

import os

import numpy as np
import pandas as pd

from babelatlas.base import own_tables, tables
from babelatlas.base.errors import InputError, near
from babelatlas.evaluation import captioning
from babelatlas.stats import proportions

# From the worst to the best; `NO_INFORMATION` stands outside of the scale.
RATINGS = ("BAD", "MEDIUM", "GOOD", "EXCELLENT")
NO_INFORMATION = "NOT-ENOUGH-INFO"
LEVELS = {
    "good or better": ("GOOD", "EXCELLENT"),
    "medium or better": ("MEDIUM", "GOOD", "EXCELLENT"),
    "bad": ("BAD",),
}
CAPTION = ["captions", "lang", "image", "number"]
COUNTS = ["n_captions", "one", "two", "more", "n_images", "words", "characters"]


def statistics(captions: pd.DataFrame) -> pd.DataFrame:
    """Return how many captions each set has in each language, and their mean length:
    captions (the set), lang and `COUNTS`.

    `captions`: captions, lang, image, caption. one, two, more: images with so many
    captions. words: of a caption, without punctuation, NaN in languages that are
    written without spaces between words, as in Table 1; characters: code points,
    without spaces at the ends.

    >>> rows = pd.DataFrame({"image": ["a", "a", "b"], "caption": ["x", "yz", "x y"]})
    >>> found = statistics(rows.assign(captions="people", lang="en"))
    >>> found[["n_captions", "one", "two", "more", "n_images"]].to_numpy().tolist()
    [[3, 1, 1, 0, 2]]
    """
    rows = []
    for (name, lang), part in captions.groupby(["captions", "lang"], sort=True):
        texts = part["caption"].str.strip()
        by_image = part.groupby("image").size()
        words = np.nan
        if not captioning.unspaced(lang):
            words = np.mean(
                [len(captioning.tokenize(text, lang, "whitespace")) for text in texts]
            )
        counts = [
            len(part),
            int((by_image == 1).sum()),
            int((by_image == 2).sum()),
            int((by_image > 2).sum()),
            len(by_image),
        ]
        rows.append([name, lang, *counts, words, texts.str.len().mean()])
    return pd.DataFrame(rows, columns=["captions", "lang", *COUNTS])


def read_ratings(path: str | os.PathLike) -> pd.DataFrame:
    """Return raters' ratings of captions, a `caption_ratings` table, from a CSV file:
    lang, image, rater, rating, and, where there are several sets or captions of an
    image, captions and number.

    Raises InputError for a file that cannot be read, an unknown language or rating, and
    a caption that one rater rates twice.
    """
    table = own_tables.read(path, "ratings", ["lang", "image", "rater", "rating"])
    table = table.assign(lang=own_tables.languages_of(table, "lang", path))
    ratings = table["rating"].str.strip().str.upper().str.replace(" ", "-")
    levels = (*RATINGS, NO_INFORMATION)
    strange = ~ratings.isin(levels)
    if strange.any():
        row = int(strange.to_numpy().argmax())
        raise InputError(
            f"In {path}, {own_tables.place(table, row)} has the rating"
            f" {table['rating'][row]!r}: {near(ratings[row], levels)}"
        )
    if "captions" not in table:
        table["captions"] = "own"
    number = "0"
    if "number" in table:
        number = tables.numbers(table["number"], path, gaps=False, whole=True)
    table = table.assign(rating=ratings, number=number).astype({"number": int})
    columns = [*CAPTION, "rater", "rating"]
    return tables.check(table[columns], "caption_ratings", tables.locate(path))


def medians(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return the median rating of each caption: `CAPTION`, rating, n_raters.

    `ratings`: a `caption_ratings` table. Of two middle ratings the lower counts, as
    raters do in borderline cases (Appendix B). A caption that most of its raters found
    to have too little information is rated `NO_INFORMATION`; else such ratings are
    passed over.
    """
    rank = ratings["rating"].map({name: place for place, name in enumerate(RATINGS)})
    grouped = ratings.assign(rank=rank, blank=rank.isna()).groupby(CAPTION)
    found = grouped.agg(
        middle=("rank", lambda ranks: ranks.quantile(0.5, interpolation="lower")),
        blank=("blank", "mean"),
        n_raters=("rating", "size"),
    ).reset_index()
    names = found["middle"].map(dict(enumerate(RATINGS)))
    found["rating"] = names.where(found["blank"] <= 0.5, NO_INFORMATION)
    return found[[*CAPTION, "rating", "n_raters"]]


def quality(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return the shares of good, medium and bad captions, as in Table 2: captions, lang,
    level (of `LEVELS`), value (a fraction), ci_low, ci_high (exact), n (captions).

    `ratings` as for `medians`. A caption without information counts in n, and in no
    level.
    """
    found, rows = medians(ratings), []
    for key, part in found.groupby(["captions", "lang"], sort=True):
        for level, names in LEVELS.items():
            n_in_level, n = int(part["rating"].isin(names).sum()), len(part)
            ends = proportions.exact_interval(n_in_level, n)
            rows.append([*key, level, n_in_level / n, *map(float, ends), n])
    columns = ["captions", "lang", "level", "value", "ci_low", "ci_high", "n"]
    return pd.DataFrame(rows, columns=columns)
