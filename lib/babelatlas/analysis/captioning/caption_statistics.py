"""What captions there are in each language, and how good people find them (Thapliyal et al. 2022, Tables 1 and 2)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap

# From the worst to the best; NOT-ENOUGH-INFO stands outside of the scale.
RATINGS = ("BAD", "MEDIUM", "GOOD", "EXCELLENT")
NO_INFO = "NOT-ENOUGH-INFO"


def statistics(captions: pd.DataFrame, tokens: pd.Series | None = None) -> pd.DataFrame:
    """Return the statistics of each set of captions in each language, as in Table 1.

    Columns: captions (the set), lang, n_captions, one, two, more (images with so many captions), n_images, words and
    characters (means of a caption). `tokens`: the number of words of each caption, with the index of `captions`; NaN
    words without. Characters are code points, without spaces at the ends.

    >>> rows = pd.DataFrame({"captions": "c", "lang": "en", "image": ["a", "a", "b"], "caption": ["x", "yz", "x y"]})
    >>> statistics(rows)[["n_captions", "one", "two", "more", "n_images", "characters"]].to_numpy().tolist()
    [[3.0, 1.0, 1.0, 0.0, 2.0, 2.0]]
    """
    table = captions.assign(
        characters=captions["caption"].str.strip().str.len(), words=np.nan if tokens is None else tokens
    )
    rows = []
    for key, part in table.groupby(["captions", "lang"], sort=True):
        per = part.groupby("image").size()
        counts = [len(part), *((per == n).sum() for n in (1, 2)), (per > 2).sum(), len(per)]
        rows.append([*key, *counts, part["words"].mean(), part["characters"].mean()])
    names = ["captions", "lang", "n_captions", "one", "two", "more", "n_images", "words", "characters"]
    return pd.DataFrame(rows, columns=names)


def medians(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return the median rating of each caption: captions, lang, image, number, rating, n_raters.

    `ratings`: a `caption_ratings` table. The median of the ranks; of two middle ratings the lower. A caption that most
    of its raters found to have too little information is rated `NO_INFO`; else such ratings are passed over. Raises
    InputError for a rating that is not known.
    """
    known = [*RATINGS, NO_INFO]
    odd = sorted(set(ratings["rating"]) - set(known))
    if odd:
        raise InputError(f"There is a rating {odd[0]!r}: expected one of {', '.join(known)}; correct the sheet.")
    rank = ratings["rating"].map({name: place for place, name in enumerate(RATINGS)})
    keys = ["captions", "lang", "image", "number"]
    grouped = ratings.assign(rank=rank, blank=rank.isna()).groupby(keys)
    found = grouped.agg(
        middle=("rank", lambda ranks: ranks.quantile(0.5, interpolation="lower")),
        blank=("blank", "mean"),
        n_raters=("rating", "size"),
    ).reset_index()
    names = found["middle"].map(dict(enumerate(RATINGS)))
    return found.assign(rating=names.where(found["blank"] <= 0.5, NO_INFO))[[*keys, "rating", "n_raters"]]


def quality(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return the shares of good, medium and bad captions, as in Table 2, with exact intervals.

    `ratings` as in `medians`. Columns: captions, lang, level ("good or better", "medium or better", "bad"), value,
    ci_low, ci_high (Clopper and Pearson), n (captions). A caption without information counts in n, and in no level.
    """
    found, rows = medians(ratings), []
    levels = {"good or better": RATINGS[2:], "medium or better": RATINGS[1:], "bad": RATINGS[:1]}
    for key, part in found.groupby(["captions", "lang"], sort=True):
        for level, names in levels.items():
            share, n = part["rating"].isin(names).mean(), len(part)
            rows.append([*key, level, share, *bootstrap.clopper_pearson(share, n), n])
    return pd.DataFrame(rows, columns=["captions", "lang", "level", "value", "ci_low", "ci_high", "n"])


def agreement(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return how far raters agree in each language: lang, kappa, alpha, n, n_raters.

    kappa: Fleiss' (statsmodels) of the categories, over the captions that have as many ratings as most have; alpha:
    Krippendorff's for ranks, over all captions with two ratings or more, of which there are n. Both are 1 for perfect
    agreement and 0 for that of chance, and NaN where all ratings are the same. n_raters: ratings of a caption at most.
    """
    from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

    order, rows = {name: place for place, name in enumerate([*RATINGS, NO_INFO])}, []
    keys = ["captions", "image", "number"]
    for lang, part in ratings.groupby("lang", sort=True):
        part = part.assign(unit=part.groupby(keys).ngroup(), code=part["rating"].map(order))
        sizes = part.groupby("unit")["code"].size()
        part = part[part["unit"].map(sizes) > 1]
        kappa = alpha = np.nan
        if len(part) and part["code"].ne(part["code"].iloc[0]).any():
            full = part[part["unit"].map(sizes) == sizes[sizes > 1].mode().max()]
            kappa = fleiss_kappa(aggregate_raters(np.array(full.groupby("unit")["code"].agg(list).tolist()))[0])
            ranked = part[part["rating"] != NO_INFO]
            alpha = krippendorff(ranked[["rater", "unit"]].to_numpy().tolist(), ranked["code"].tolist())
        rows.append([lang, kappa, alpha, part["unit"].nunique(), int(sizes.max())])
    return pd.DataFrame(rows, columns=["lang", "kappa", "alpha", "n", "n_raters"])


def krippendorff(given: Sequence[Sequence], ranks: Sequence[int]) -> float:
    """Return Krippendorff's alpha for ranks, by nltk with his distance of ranks.

    `given`: rater and unit of each rating; `ranks`: the ratings as whole numbers. The distance of two ranks is the
    square of the number of ratings between them, those of the two themselves counted half. Source: Krippendorff (2011).
    """
    from nltk.metrics.agreement import AnnotationTask

    # A unit with one rating pairs with nothing, and must not count among the values.
    units = pd.Series([unit for _, unit in given])
    paired = (units.map(units.value_counts()) > 1).to_numpy()
    counts = pd.Series(ranks)[paired].value_counts()

    def distance(one: int, other: int) -> float:
        low, high = sorted((one, other))
        between = counts[(counts.index >= low) & (counts.index <= high)].sum()
        return float(between - (counts[low] + counts[high]) / 2) ** 2

    told = [(*pair, rank) for pair, rank, keep in zip(given, ranks, paired, strict=True) if keep]
    return float(AnnotationTask(told, distance=distance).alpha())
