"""Thapliyal et al. (2022), Crossmodal-3600: the printed tables, and what they give of each other."""

from collections.abc import Sequence
from functools import cache
from itertools import permutations

import numpy as np
import pandas as pd

from babelatlas.base import published
from babelatlas.base.errors import InputError

SOURCE = "thapliyal2022"
# Codes of languages that the paper prints otherwise than this study.
CODES = {"he": "iw", "tl": "fil"}
MODELS = ("BB+CC", "BB", "Bg", "Lg")
REFERENCES = {"XM600": "xm600", "XM3600": "xm3600", "COCO-DEV": "coco-dev"}
COLUMNS = ("SxS", *REFERENCES)
JUDGED = ("en", "es", "hi", "zh")
# By how much a printed number can be off: points of side-by-side gain, CIDEr, and a difference of two printed CIDErs.
HALF = {"SxS": 0.05, "CIDEr": 0.0005, "difference": 0.001}
DIFFERENCE = HALF["difference"]


# --- The tables -----------------------------------------------------------------------------------------------------


@cache
def published_rows() -> pd.DataFrame:
    """Return the published table with `printed`, the language as the paper writes it. Do not change it."""
    table = published.read(SOURCE)
    return table.assign(printed=table["lang"].replace(CODES))


def captions() -> pd.DataFrame:
    """Return Table 1: lang (as printed), captions, one, two, more, words, characters; one row for each language.

    Images are counted by their number of captions: one, two, three or more. Words and characters are means.

    >>> int(captions().captions.sum())
    260646
    """
    names = {"captions": "captions", "images with 1 caption": "one", "images with 2 captions": "two"}
    names |= {"images with 3 or more captions": "more", "words": "words", "characters": "characters"}
    table = published_rows().query("table == '1'").pivot(index="printed", columns="metric", values="value")
    table = table[list(names)].rename(columns=names).astype(dict.fromkeys(("captions", "one", "two", "more"), int))
    return table.rename_axis(index="lang", columns=None).reset_index()


def ratings() -> pd.DataFrame:
    """Return Table 2, one row for each language: lang (as printed), good, medium, bad; fractions of 600 captions.

    `good`: rated good or better; `medium`: medium or better. A rating may also be "not enough information".
    """
    names = {"good or better": "good", "medium or better": "medium", "bad": "bad"}
    table = published_rows().query("table == '2'").pivot(index="printed", columns="metric", values="value")
    return table[list(names)].rename(columns=names).rename_axis(index="lang", columns=None).reset_index()


def comparisons() -> pd.DataFrame:
    """Return Table 4 as printed: m2, m1, lang, SxS (points), XM600, XM3600 and COCO-DEV (differences in CIDEr)."""
    return _comparisons().copy()


@cache
def _comparisons() -> pd.DataFrame:
    table = published_rows().query("table == '4'")
    columns = table["dataset"].map({name: column for column, name in REFERENCES.items()})
    columns = columns.where(table["metric"] != "side-by-side gain", "SxS")
    table = table.assign(column=columns).pivot(index=["model", "printed"], columns="column", values="value")
    table = table[list(COLUMNS)].rename_axis(columns=None).reset_index()
    table["SxS"] *= 100
    pairs = table["model"].str.split(" vs ", expand=True)
    table = table.assign(m2=pairs[0], m1=pairs[1], lang=table["printed"])[["m2", "m1", "lang", *COLUMNS]]
    return table.sort_values(["lang", "m2", "m1"], ignore_index=True).round(9)


def cider(fixed: bool = False) -> pd.DataFrame:
    """Return Table 5: index (model, lang), columns XM3600 and COCO-DEV; CIDEr.

    With `fixed` the values of Bg and Lg in Chinese on COCO-DEV are what the printed value of BB and the differences of
    Table 4 give: in the column as printed Bg has the value of BB+CC, and Lg the one that Bg should have.
    """
    return _cider(fixed).copy()


@cache
def _cider(fixed: bool) -> pd.DataFrame:
    table = published_rows().query("table == '5'").pivot(index=["model", "printed"], columns="dataset", values="value")
    table = table.rename(columns={name: column for column, name in REFERENCES.items()})[["XM3600", "COCO-DEV"]]
    table = table.rename_axis(index=["model", "lang"], columns=None)
    if fixed:
        rows = comparisons().set_index(["m2", "m1", "lang"])["COCO-DEV"]
        for row, (first, second) in assignment().items():
            if first == "BB" and second in ("Bg", "Lg"):
                table.loc[(second, "zh"), "COCO-DEV"] = table.loc[("BB", "zh"), "COCO-DEV"] - rows[(*row, "zh")]
    return table.round(9)


def differences(scores: pd.DataFrame, pairs: dict[tuple[str, str], tuple[str, str]]) -> pd.DataFrame:
    """Return the differences of scores between models in pairs: m2, m1, lang and the columns of `scores`.

    `scores`: index (model, lang). `pairs`: the names in the row -> the models that are subtracted, first less second.
    """
    langs = scores.index.get_level_values("lang").unique()
    rows = [
        {"m2": m2, "m1": m1, "lang": lang} | (scores.loc[(first, lang)] - scores.loc[(second, lang)]).to_dict()
        for (m2, m1), (first, second) in pairs.items()
        for lang in langs
    ]
    return pd.DataFrame(rows).round(9)


def met(printed: pd.DataFrame, computed: pd.DataFrame, columns: Sequence[str], half: float) -> pd.DataFrame:
    """Return where computed differences agree with printed ones: index (m2, m1, lang), one flag for each column.

    They agree where they differ by no more than rounding of the printed number and `half`, that of the computed one.
    """
    both = [table.set_index(["m2", "m1", "lang"])[list(columns)].sort_index() for table in (printed, computed)]
    return (both[0] - both[1]).abs() <= HALF["CIDEr"] + half + 1e-9


@cache
def assignment() -> dict[tuple[str, str], tuple[str, str]]:
    """Return for each row (m2, m1) of Table 4 the pair of models whose difference it has in XM3600 and COCO-DEV.

    Of all twelve ordered pairs it is the one whose differences in Table 5 agree with most of the eight printed cells of
    the row (four languages, two columns); first less second.
    """
    printed, scores = comparisons(), cider()
    langs = sorted(set(printed["lang"]))
    by_model = {model: scores.loc[model].loc[langs].to_numpy() for model in MODELS}
    found = {}
    for row, rows in printed.groupby(["m2", "m1"], sort=False):
        wanted = rows.set_index("lang").loc[langs, list(scores)].to_numpy()
        counts = {}
        for first, second in permutations(MODELS, 2):
            off = np.abs(by_model[first] - by_model[second] - wanted)
            counts[first, second] = int((off <= HALF["CIDEr"] + HALF["difference"] + 1e-9).sum())
        found[row] = max(counts, key=counts.get)
    return found


def through_others(table: pd.DataFrame, value: str, by: str = "lang", names: Sequence[str] = ("m2", "m1")) -> pd.Series:
    """Return each difference between two models as the others give it, d(a, c) + d(c, b), the mean over all others c.

    `table` has one row for each unordered pair of `names` within `by`; the result has its index. A difference that
    does not agree with what the others give is of another pair of models, or misprinted. Raises InputError for a pair
    given twice, or one that is missing.

    >>> rows = pd.DataFrame({"m2": ["a", "b", "a"], "m1": ["b", "c", "c"], "lang": "en", "d": [1, 2, 3]})
    >>> through_others(rows, "d").tolist()
    [1.0, 2.0, 3.0]
    """
    first, second = names
    result = pd.Series(np.nan, index=table.index)
    for key, part in table.groupby(by, sort=False):
        labels = sorted({*part[first], *part[second]})
        place = {label: number for number, label in enumerate(labels)}
        rows, columns = part[first].map(place).to_numpy(), part[second].map(place).to_numpy()
        n = len(labels)
        if len(part) != n * (n - 1) // 2 or len({frozenset(pair) for pair in zip(rows, columns, strict=True)}) != len(
            part
        ):
            raise InputError(
                f"Differences of {n} models are needed once for each pair in {key!r}, {n * (n - 1) // 2} rows, got "
                f"{len(part)}: give every pair once."
            )
        grid = np.zeros((n, n))
        grid[rows, columns], grid[columns, rows] = part[value], -part[value]
        # With the diagonal 0 the sum over c = a and c = b is twice the difference itself.
        sums = grid.sum(axis=1)
        others = (sums[:, None] - sums - 2 * grid) / (n - 2)
        result[part.index] = others[rows, columns]
    return result


def both_ways(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return a table of differences with every row a second time, the signs of `columns` turned: models exchanged.

    Correlations over it do not depend on which model of a pair comes first; the number of rows is twice that of what
    was observed.
    """
    turned = table.assign(**{column: -table[column] for column in columns})
    return pd.concat([table, turned], ignore_index=True)


@cache
def _corrected(fixed: bool) -> pd.DataFrame:
    printed = comparisons()
    scores = cider(fixed)
    computed = differences(scores, {row: row for row in assignment()})
    keys = ["m2", "m1", "lang"]
    turned = printed[[*keys, "SxS", "XM600"]].assign(SxS=-printed["SxS"], XM600=-printed["XM600"])
    return turned.merge(computed, on=keys, validate="one_to_one")


def corrected(fixed: bool = True) -> pd.DataFrame:
    """Return Table 4 as all printed numbers agree with it: m2, m1, lang, SxS, XM600, XM3600, COCO-DEV; m2 less m1.

    SxS and XM600 have their signs turned (the printed rows subtract m2 from m1), XM3600 and COCO-DEV are differences of
    Table 5, where `fixed` with its Chinese column corrected. An inference: what was not rounded is not released.
    """
    return _corrected(fixed).copy()


# --- Definitions ----------------------------------------------------------------------------------------------------


REPLICATION = {"one": "1", "two": "2", "more": "3+"}


@cache
def released_captions() -> pd.Series:
    """Return how many captions of each language Babel-ImageNet's released recalls are of, indexed as Table 1 by lang.

    Text-to-image recalls on XM3600 are shares of the captions; `published` "babel-imagenet-retrieval" has their number.
    Do not change the series.

    >>> int(released_captions().sum())
    261375
    """
    # The sum is also the total that a Weights & Biases report of 13 October 2022 on the release of XM3600 gives.
    table = published.read("babel-imagenet-retrieval")
    table = table[(table["dataset"] == "xm3600") & (table["metric"] == "recall@1 text-to-image")]
    return table.replace({"lang": CODES}).groupby("lang")["n"].first().astype(int)
