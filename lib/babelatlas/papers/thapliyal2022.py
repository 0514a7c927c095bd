"""The numbers of Thapliyal et al. (2022), Crossmodal-3600: Tables 1, 2, 4, 5 and 6 and the text, computed again.

Four models (BB+CC, BB, Bg, Lg) wrote captions in four languages. Table 4 compares them in pairs: people's judgement of
two captions side by side, and the difference in CIDEr with three sets of references. Table 5 has CIDEr itself, so that
two columns of Table 4 follow from it; Table 6 correlates the columns of Table 4. `assignment` finds which pair of
models a printed row of Table 4 has the numbers of; `corrected` is the table that all printed numbers agree with.
"""

from collections.abc import Sequence
from functools import cache
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.base import published
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA
from babelatlas.papers import claims
from babelatlas.papers.scorecard import Definition
from babelatlas.stats import correlation, rounding

SOURCE = "thapliyal2022"
# Codes of languages that the paper prints otherwise than this study.
CODES = {"he": "iw", "tl": "fil"}
MODELS = ("BB+CC", "BB", "Bg", "Lg")
REFERENCES = {"XM600": "xm600", "XM3600": "xm3600", "COCO-DEV": "coco-dev"}
COLUMNS = ("SxS", *REFERENCES)
JUDGED = ("en", "es", "hi", "zh")
IMAGES, PER_LANGUAGE = 3600, 100
RATED = 600
# By how much a printed number can be off: points of side-by-side gain, CIDEr, and a difference of two printed CIDErs.
HALF = {"SxS": 0.05, "CIDEr": 0.0005, "difference": 0.001}
# Configurations, of the text models from config.json of google/mt5-base and google/mt5-large as their fine-tuned copies
# on huggingface.co quote them, of the image models from open_clip's model_configs (ViT-B-16, ViT-g-14). T5-Base's
# 220 million parameters are a sentence of its model card, T5-Large's 770 million are what papers that use it say.
TEXT_MODELS = {
    "mT5-base": {"width": 768, "hidden": 2048, "layers": 12, "heads": 12, "head_width": 64, "vocabulary": 250112},
    "mT5-large": {"width": 1024, "hidden": 2816, "layers": 24, "heads": 16, "head_width": 64, "vocabulary": 250112},
}
IMAGE_MODELS = {
    "ViT-B/16": {"width": 768, "hidden": 3072, "layers": 12, "patch": 16},
    "ViT-g/14": {"width": 1408, "hidden": 6144, "layers": 40, "patch": 14},
}


# --- The tables -----------------------------------------------------------------------------------------------------


@cache
def _read() -> pd.DataFrame:
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
    table = _read().query("table == '1'").pivot(index="printed", columns="metric", values="value")
    table = table[list(names)].rename(columns=names).astype(dict.fromkeys(("captions", "one", "two", "more"), int))
    return table.rename_axis(index="lang", columns=None).reset_index()


def ratings() -> pd.DataFrame:
    """Return Table 2, one row for each language: lang (as printed), good, medium, bad; fractions of 600 captions.

    `good`: rated good or better; `medium`: medium or better. A rating may also be "not enough information".
    """
    names = {"good or better": "good", "medium or better": "medium", "bad": "bad"}
    table = _read().query("table == '2'").pivot(index="printed", columns="metric", values="value")
    return table[list(names)].rename(columns=names).rename_axis(index="lang", columns=None).reset_index()


def comparisons() -> pd.DataFrame:
    """Return Table 4 as printed: m2, m1, lang, SxS (points), XM600, XM3600 and COCO-DEV (differences in CIDEr)."""
    return _comparisons().copy()


@cache
def _comparisons() -> pd.DataFrame:
    table = _read().query("table == '4'")
    columns = table["dataset"].map({name: column for column, name in REFERENCES.items()})
    columns = columns.where(table["metric"] != "side-by-side gain", "SxS")
    table = table.assign(column=columns).pivot(index=["model", "printed"], columns="column", values="value")
    table = table[list(COLUMNS)].rename_axis(columns=None).reset_index()
    table["SxS"] *= 100
    pairs = table["model"].str.split(" vs ", expand=True)
    table = table.assign(m2=pairs[0], m1=pairs[1], lang=table["printed"])[["m2", "m1", "lang", *COLUMNS]]
    return table.sort_values(["lang", "m2", "m1"], ignore_index=True).round(9)


def cider(mended: bool = False) -> pd.DataFrame:
    """Return Table 5: index (model, lang), columns XM3600 and COCO-DEV; CIDEr.

    With `mended` the values of Bg and Lg in Chinese on COCO-DEV are what the printed value of BB and the differences of
    Table 4 give: in the column as printed Bg has the value of BB+CC, and Lg the one that Bg should have.
    """
    return _cider(mended).copy()


@cache
def _cider(mended: bool) -> pd.DataFrame:
    table = _read().query("table == '5'").pivot(index=["model", "printed"], columns="dataset", values="value")
    table = table.rename(columns={name: column for column, name in REFERENCES.items()})[["XM3600", "COCO-DEV"]]
    table = table.rename_axis(index=["model", "lang"], columns=None)
    if mended:
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
def _corrected(mended: bool) -> pd.DataFrame:
    printed = comparisons()
    scores = cider(mended)
    computed = differences(scores, {row: row for row in assignment()})
    keys = ["m2", "m1", "lang"]
    turned = printed[[*keys, "SxS", "XM600"]].assign(SxS=-printed["SxS"], XM600=-printed["XM600"])
    return turned.merge(computed, on=keys, validate="one_to_one")


def corrected(mended: bool = True) -> pd.DataFrame:
    """Return Table 4 as all printed numbers agree with it: m2, m1, lang, SxS, XM600, XM3600, COCO-DEV; m2 less m1.

    SxS and XM600 have their signs turned (the printed rows subtract m2 from m1), XM3600 and COCO-DEV are differences of
    Table 5, where `mended` with its Chinese column mended. An inference: what was not rounded is not released.
    """
    return _corrected(mended).copy()


def correlations(
    table: pd.DataFrame,
    mirrored: bool = True,
    halves: dict[str, float] | None = None,
    n_resamples: int = 1,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the correlations of side-by-side gains with differences in CIDEr, as Table 6 has them.

    `table` as `comparisons`; `mirrored`: every comparison in both directions. Columns: method, lang ("all" or a code),
    column (XM600, XM3600, COCO-DEV), value, ci_low, ci_high (over pairs of models, with `n_resamples`), n (rows),
    slack (`rounding.rounding_slack`, 0 unless `halves` says by how much each column can be off).
    """
    whole = both_ways(table, COLUMNS) if mirrored else table
    whole = whole.assign(pair=whole["m2"] + " vs " + whole["m1"])
    rows = []
    for lang in ("all", *JUDGED):
        part = whole if lang == "all" else whole[whole["lang"] == lang]
        for column in REFERENCES:
            found = correlation.correlate(part, "SxS", column, "pair", correlation.METHODS, n_resamples, seed=seed)
            for row in found.itertuples():
                slack = 0.0
                if halves:
                    slack = rounding.rounding_slack(
                        part["SxS"], part[column], halves["SxS"], halves[column], row.method
                    )
                rows.append([row.method, lang, column, row.value, row.ci_low, row.ci_high, row.n, slack])
    columns = ["method", "lang", "column", "value", "ci_low", "ci_high", "n", "slack"]
    return pd.DataFrame(rows, columns=columns)


def tie_orders(lang: str, column: str) -> pd.DataFrame:
    """Return the printed correlations of a language for both orders of two differences that rounding made equal.

    Where two pairs of models (`assignment`) have printed differences of one size in Table 4, one was the larger before
    rounding: all cells of one of the pairs are made larger, or smaller, by less than the rounding. Each row of Table 4
    counts in both directions. Columns: first, second (the two pairs), size, method, larger (the first pair is),
    smaller; no rows where there is no such tie.
    """
    whole = comparisons()
    part = whole[whole["lang"] == lang].reset_index(drop=True)
    pairs = [tuple(sorted(assignment()[row])) for row in zip(part["m2"], part["m1"], strict=True)]
    size = part[column].abs().round(9)
    facts = pd.DataFrame({"pair": pairs, "size": size}).drop_duplicates()
    rows = []
    for value, tied in facts.groupby("size"):
        if len(tied) != 2:
            continue
        first, second = tied["pair"]
        own = np.array([pair == first for pair in pairs]) & (size == value)
        found = {}
        for name, step in (("larger", 0.2), ("smaller", -0.2)):
            moved = part[column] + own * np.sign(part[column]) * step * HALF["CIDEr"]
            whole = both_ways(part.assign(**{column: moved}), COLUMNS)
            named = whole.assign(pair=whole["m2"] + " vs " + whole["m1"])
            result = correlation.correlate(named, "SxS", column, "pair", correlation.METHODS, 1)
            found[name] = result.set_index("method")["value"]
        for method in correlation.METHODS:
            rows.append([first, second, value, method, found["larger"][method], found["smaller"][method]])
    return pd.DataFrame(rows, columns=["first", "second", "size", "method", "larger", "smaller"])


def superiority(
    table: pd.DataFrame, first: str = "XM600", second: str = "COCO-DEV", n_resamples: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Return by how much side-by-side gains correlate more with one column than with another, with what left out.

    `table` as `comparisons`; every comparison counts in both directions, as in Table 6. Columns: left_out ("", a
    language or a model), method, first, second (the two correlations), difference, ci_low, ci_high (where nothing is
    left out: 95 % over pairs of models; with four models there are six), n (comparisons, each counted once).
    """
    table = table.assign(pair=table["m2"] + " vs " + table["m1"])
    parts = {"": table} | {lang: table[table["lang"] != lang] for lang in JUDGED}
    parts |= {model: table[(table["m2"] != model) & (table["m1"] != model)] for model in MODELS}
    rows = []
    for left_out, part in parts.items():
        whole = both_ways(part, COLUMNS)
        found = correlation.compare_correlations(
            whole, "SxS", first, second, "pair", n_resamples=1 if left_out else n_resamples, seed=seed
        )
        for row in found.itertuples():
            ends = [np.nan, np.nan] if left_out else [row.ci_low, row.ci_high]
            rows.append([left_out, row.method, row.first, row.second, row.value, *ends, len(part)])
    columns = ["left_out", "method", "first", "second", "difference", "ci_low", "ci_high", "n"]
    return pd.DataFrame(rows, columns=columns)


# --- Parameters -----------------------------------------------------------------------------------------------------


def text_parameters(
    width: int, hidden: int, layers: int, heads: int, head_width: int, vocabulary: int, embeddings: bool = True
) -> int:
    """Return the parameters of an encoder-decoder of mT5's kind: layers twice, gated hidden layers, no biases.

    `embeddings`: count the two matrices of vocabulary x width, for input and output, which are not shared in mT5.
    """
    inner = heads * head_width
    attention, feed = 4 * width * inner, 3 * width * hidden
    encoder = layers * (attention + feed + 2 * width)
    decoder = layers * (2 * attention + feed + 3 * width)
    places = 2 * 32 * heads + 2 * width  # relative positions in 32 buckets and the last norm, in encoder and decoder
    return encoder + decoder + places + (2 * vocabulary * width if embeddings else 0)


def image_parameters(width: int, hidden: int, layers: int, patch: int, size: int = 224, classes: int = 0) -> int:
    """Return the parameters of a Vision Transformer, with a layer for `classes` where there are any.

    >>> image_parameters(768, 3072, 12, 16, classes=1000)
    86567656
    """
    attention, feed = 4 * width * (width + 1), 2 * width * hidden + hidden + width
    tokens = (size // patch) ** 2 + 1
    start = 3 * patch**2 * width + width + tokens * width + width
    return layers * (attention + feed + 4 * width) + start + 2 * width + classes * (width + 1)


# --- Definitions ----------------------------------------------------------------------------------------------------


def _cells(rows: list[tuple[str, float, float]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["cell", "value", "slack"])


REPLICATION = {"one": "1", "two": "2", "more": "3+"}


def _replication(columns: Sequence[str]):
    def compute(folders: dict[str, Path]) -> pd.DataFrame:
        table = captions()
        rest = {name: IMAGES - table[[other for other in REPLICATION if other != name]].sum(axis=1) for name in columns}
        return _cells(
            [
                (f"{lang} | Replication {REPLICATION[name]}", float(value), 0.0)
                for name in columns
                for lang, value in zip(table["lang"], rest[name], strict=True)
            ]
        )

    return compute


def _captions(folders: dict[str, Path]) -> pd.DataFrame:
    table = captions()
    table = table[table["more"] == 0]
    return _cells([(f"{row.lang} | Num. Cap.", row.one + 2 * row.two, 0.0) for row in table.itertuples()])


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


def _released(folders: dict[str, Path]) -> pd.DataFrame:
    return _cells([(f"{lang} | Num. Cap.", float(n), 0.0) for lang, n in released_captions().items()])


def _replications(folders: dict[str, Path]) -> pd.DataFrame:
    table = captions().set_index("lang")
    thirds = 3 * table.loc["mi", ["one", "two"]] / IMAGES
    return _cells(
        [
            ("Bengali, captions for an image", table.loc["bn", "captions"] / IMAGES, 0.0),
            ("Maori, thirds of the images with 1 caption", thirds["one"], 0.0),
            ("Maori, thirds of the images with 2 captions", thirds["two"], 0.0),
        ]
    )


def _characters(named: bool):
    def compute(folders: dict[str, Path]) -> pd.DataFrame:
        table = captions().set_index("lang")["characters"]
        ends = {"low": table["ko"], "high": table["id"]} if named else {"low": table.min(), "high": table.max()}
        return _cells(
            [(f"characters per caption, {end} end, {side}", ends[end], 0.05) for end in ends for side in ("from", "to")]
        )

    return compute


def _total(folders: dict[str, Path]) -> pd.DataFrame:
    return _cells([("captions, total", captions()["captions"].sum(), 0.0)])


def _said_total(folders: dict[str, Path]) -> pd.DataFrame:
    table = claims.read(DATA / "claims" / f"{SOURCE}.csv")
    found = table[(table["place"] == "Table 1") & (table["cell"] == "captions, total")]
    return _cells([("captions, total", claims.value(found["printed"].iloc[0]), 0.0)])


def _languages(less: int, cell: str):
    return lambda folders: _cells([(cell, len(captions()) - less, 0.0)])


def _words(folders: dict[str, Path]) -> pd.DataFrame:
    # Chinese, Japanese and Thai are written without spaces: the table has about one "word" for each of their captions.
    table = captions().query("words > 2").set_index("lang")["words"]
    low = table.nsmallest(2)
    names = {"quz": "Cusco Quechua", "cs": "Czech", "vi": "Vietnamese"}
    found = [*low.items(), (table.idxmax(), table.max())]
    return _cells([(f"words per caption, {names.get(lang, lang)}", value, 0.05) for lang, value in found])


def _shares(folders: dict[str, Path]) -> pd.DataFrame:
    names = {"good": "%GOOD+", "medium": "%MED+", "bad": "%BAD"}
    table = ratings().set_index("lang")
    rows = [
        (f"{lang} | {names[column]}", 100 * float(rounding.nearest_share(row[column], RATED)), 0.0)
        for lang, row in table.iterrows()
        for column in names
    ]
    return _cells(rows)


def _text_models(embeddings: bool):
    return lambda folders: _cells(
        [
            (f"{name}, parameters", text_parameters(**facts, embeddings=embeddings) / 1e6, 0.0)
            for name, facts in TEXT_MODELS.items()
        ]
    )


def _image_models(folders: dict[str, Path]) -> pd.DataFrame:
    return _cells(
        [(f"{name}, parameters", image_parameters(**facts) / 1e6, 0.0) for name, facts in IMAGE_MODELS.items()]
    )


def _configurations(folders: dict[str, Path]) -> pd.DataFrame:
    return pd.concat([_text_models(True)(folders), _image_models(folders)], ignore_index=True)


def _through(first: bool):
    """Return the definition for the rows that have the first of the models, or for the others."""

    def compute(folders: dict[str, Path]) -> pd.DataFrame:
        table = comparisons()
        values = through_others(table, "XM600").round(9)
        rows = [
            (f"{row.m2} | {row.m1} | {row.lang} | XM600", value, HALF["difference"])
            for row, value in zip(table.itertuples(), values, strict=True)
            if (MODELS[0] in (row.m2, row.m1)) == first
        ]
        return _cells(rows)

    return compute


def _table_5(turned: bool = True, assigned: bool = False, mended: bool = False):
    def compute(folders: dict[str, Path]) -> pd.DataFrame:
        pairs = {row: row[::-1] if turned else row for row in assignment()}
        table = differences(cider(mended), assignment() if assigned else pairs)
        return _cells(
            [
                (f"{row['m2']} | {row['m1']} | {row['lang']} | {column}", row[column], HALF["difference"])
                for row in table.to_dict("records")
                for column in ("XM3600", "COCO-DEV")
            ]
        )

    return compute


def _table_6(mirrored: bool, mended: bool = False):
    def compute(folders: dict[str, Path]) -> pd.DataFrame:
        other = HALF["difference" if mended else "CIDEr"]
        halves = {"SxS": HALF["SxS"], "XM600": HALF["CIDEr"], "XM3600": other, "COCO-DEV": other}
        found = correlations(corrected() if mended else comparisons(), mirrored, halves)
        return _cells(
            [(f"{row.method.title()} | {row.lang} | {row.column}", row.value, row.slack) for row in found.itertuples()]
        )

    return compute


def _rows(mirrored: bool, methods: Sequence[str] = ("pearson",)):
    def compute(folders: dict[str, Path]) -> pd.DataFrame:
        table = both_ways(comparisons(), COLUMNS) if mirrored else comparisons()
        sizes = {"all": len(table), **table.groupby("lang").size()}
        return _cells([(f"{method.title()} | {lang} | N", n, 0.0) for method in methods for lang, n in sizes.items()])

    return compute


def _definitions() -> tuple[Definition, ...]:
    made = [
        (
            "what the other two columns leave of the images",
            "3600 images less those of the other two columns; one equation for each language, so that only the images "
            "with two captions count as computed.",
            _replication(["two"]),
        ),
        (
            "as printed in the other two columns",
            "The same equation, read for the images with one caption or with three and more: tested, not computed.",
            _replication(["one", "more"]),
        ),
        (
            "captions behind Babel-ImageNet's released recalls",
            "The number of captions that text-to-image recalls on XM3600 are shares of, in what Geigle et al. (2024) "
            "released; it may be a later state of the captions.",
            _released,
        ),
        ("as printed in the caption of Table 1", "The total that Table 1 prints.", _said_total),
        (
            "shares of Table 1",
            "Captions for each image of Bengali, thirds of the images of Maori with one caption and with two.",
            _replications,
        ),
        ("Korean and Indonesian in Table 1", "Characters of the two languages that are named.", _characters(True)),
        ("lowest and highest of Table 1", "The lowest and the highest mean number of characters.", _characters(False)),
        (
            "one for each image with one, two for each with two",
            "Images with one caption plus twice those with two, where no image has more.",
            _captions,
        ),
        ("sum of Table 1", "Sum of the column Num. Cap.", _total),
        ("languages of Table 1", "Number of rows of Table 1.", _languages(0, "languages")),
        ("as printed in Table 1, rows", "The same where it is said again.", _languages(0, "languages")),
        (
            "languages of Table 1 less five and English",
            "Rows of Table 1 less the five languages added for low resources and English.",
            _languages(6, "languages by web content"),
        ),
        (
            "languages of Table 1 less English and Cusco Quechua",
            "Rows of Table 1 less English and the language that the translation service does not have.",
            _languages(2, "languages translated to"),
        ),
        (
            "100 images for each language",
            "100 images for each row of Table 1.",
            lambda folders: _cells([("images", PER_LANGUAGE * len(captions()), 0.0)]),
        ),
        (
            "extremes of Table 1, languages with spaces",
            "The two lowest and the highest mean number of words; without languages of about one word per caption.",
            _words,
        ),
        ("from the configuration", "Parameters counted from the model's published configuration.", _configurations),
        (
            "from the configuration, without embeddings",
            "The same without the matrices of the vocabulary.",
            _text_models(False),
        ),
        (
            "through the other models",
            "The difference of two models as the sum of their differences to a third, mean over the two others. Six "
            "differences of four models hang together by three equations: the rows without the first model count as "
            "computed.",
            _through(False),
        ),
        (
            "as printed in the rows of the other models",
            "The same equations, read for the rows with the first model: tested, not computed.",
            _through(True),
        ),
        (
            "m2 less m1 in Table 5",
            "Difference of the printed CIDErs of the two models, as the caption says.",
            _table_5(False),
        ),
        ("m1 less m2 in Table 5", "The same, the other way round.", _table_5()),
        (
            "m1 less m2 in Table 5, rows mended",
            "The same, each row with the pair of models (of twelve) whose differences in Table 5 fit its cells best.",
            _table_5(assigned=True),
        ),
        (
            "m1 less m2 in Table 5, rows and Chinese mended",
            "The same, with the Chinese values of Bg and Lg on COCO-DEV as BB's value and Table 4 give them.",
            _table_5(assigned=True, mended=True),
        ),
        (
            f"nearest share of {RATED} images",
            f"The nearest whole number of {RATED} images: a test that only refutes.",
            _shares,
        ),
        ("number of rows of Table 4", "Rows of Table 4, of the language or all.", _rows(False)),
        ("number of rows of Table 4, each in both directions", "Twice that.", _rows(True)),
        (
            "as printed beside Pearson",
            "The number of rows, each in both directions, where it is said again for the other coefficients.",
            _rows(True, ("spearman", "kendall")),
        ),
        (
            "rows of Table 4",
            "Correlation over the rows of Table 4 as printed, of the language or all.",
            _table_6(False),
        ),
        (
            "rows of Table 4, each in both directions",
            "The same with every row a second time, all signs turned: m1 against m2.",
            _table_6(True),
        ),
        (
            "each in both directions, Table 4 mended",
            "The same, with the columns of XM3600 and COCO-DEV taken from Table 5, its Chinese column mended.",
            _table_6(True, mended=True),
        ),
    ]
    return tuple(Definition(SOURCE, name, text, compute) for name, text, compute in made)


DEFINITIONS: tuple[Definition, ...] = _definitions()


# --- Errata ---------------------------------------------------------------------------------------------------------


def report(n_resamples: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Return Table 6 as printed beside what the corrected Table 4 gives: method, lang, column, printed, corrected.

    Further columns: ci_low, ci_high (of the corrected value: 95 % over the six pairs of models), n (comparisons, each
    counted once). `corrected` says what the correction rests on.
    """
    names = {name: column for column, name in REFERENCES.items()}
    printed = _read().query("table == '6'")
    printed = pd.DataFrame(
        {
            "method": printed["metric"].str.split().str[0],
            "lang": printed["printed"].replace("", "all"),
            "column": printed["dataset"].map(names),
            "printed": printed["value"],
        }
    )
    found = correlations(corrected(), n_resamples=n_resamples, seed=seed).rename(columns={"value": "corrected"})
    table = printed.merge(found.drop(columns="slack"), on=["method", "lang", "column"], validate="one_to_one")
    return table.assign(n=table["n"] // 2)


def errata(available: dict[str, Path] | None = None) -> pd.DataFrame:
    """Return the inconsistencies of the paper, as `scorecard.errata` puts them together; nothing released is needed.

    A further column, `cells`: the claims that it is about, a tuple of their cells.
    """
    usual = {"paper": SOURCE, "kind": "follows", "sort": "inconsistency", "conclusion": "No.", "cells": ()}
    rows = [
        *_table_4_errata(),
        _table_5_erratum(),
        _coefficients_erratum(),
        _sizes_erratum(),
        *_text_errata(),
        _table_1_erratum(),
    ]
    columns = ["paper", "place", "finding", "evidence", "corrected", "conclusion", "kind", "sort", "cells"]
    return pd.DataFrame([usual | row for row in rows])[columns]


def _table_4_errata() -> list[dict]:
    """Return what concerns Table 4: its signs, and the rows that have the numbers of another pair of models."""
    printed, scores = comparisons(), cider()
    cells = 2 * len(printed)
    signs = int((printed["SxS"] < 0).sum())
    best = scores["XM3600"].groupby("lang").idxmax().map(lambda key: key[0])
    plain = {row: row for row in assignment()}
    turned = {row: row[::-1] for row in plain}
    moved = {row: pair[::-1] for row, pair in assignment().items() if pair[::-1] != row}
    told = "; ".join(f"{m2} against {m1} has those of {a} and {b}" for (m2, m1), (a, b) in moved.items())
    through = through_others(printed, "XM600")
    adding = int(((through - printed["XM600"]).abs() <= HALF["CIDEr"] + HALF["difference"] + 1e-9).sum())
    return [
        {
            "place": "Table 4",
            "finding": "The headings m2 and m1 are exchanged, or all signs are: the text calls positive gains those of "
            "m2.",
            "evidence": f"{signs} of {len(printed)} side-by-side gains are negative, those of {MODELS[0]} against "
            f"each other model included, although Table 5 has {', '.join(sorted(set(best)))} first in all "
            f"{best.size} languages. Differences of Table 5, m2 less m1, agree with {_agreeing(plain)} of {cells} "
            f"cells of the columns XM3600 and COCO-DEV; m1 less m2, with {_agreeing(turned)}.",
            "corrected": "m1 is the model named first.",
            "conclusion": "No: both columns of a correlation change their signs.",
            "cells": tuple(f"{m2} | {m1} | {lang} | SxS" for m2, m1 in plain for lang in JUDGED),
        },
        {
            "place": "Table 4",
            "finding": f"In the columns XM3600 and COCO-DEV {len(moved)} of the {len(plain)} rows of every language "
            f"have the numbers of another pair of models: {told}.",
            "evidence": f"With these pairs {_agreeing(assignment())} of {cells} cells agree with Table 5 within "
            f"rounding, with those that are printed {_agreeing(turned)}; in the column XM600 {adding} of "
            f"{len(printed)} differences are those that the other models give.",
            "corrected": "The differences of Table 5, as the function `corrected` gives them.",
            "conclusion": "No, by itself: Table 6, which is computed from these rows, has the consequence.",
            "cells": tuple(
                f"{m2} | {m1} | {lang} | {column}"
                for m2, m1 in moved
                for lang in JUDGED
                for column in ("XM3600", "COCO-DEV")
            ),
        },
    ]


def _table_5_erratum() -> dict:
    """Return what concerns Table 5: two values in Chinese."""
    printed, mended = (cider(mend)["COCO-DEV"].xs("zh", level="lang") for mend in (False, True))
    cells = 2 * len(comparisons())
    return {
        "place": "Table 5",
        "finding": "In Chinese on COCO-DEV the value of Bg is that of BB+CC, and the value of Lg seems to be the one "
        "of Bg: the column does not agree with Table 4.",
        "evidence": f"Printed {printed['Bg']:.3f} (BB+CC {printed['BB+CC']:.3f}) and {printed['Lg']:.3f}. With them "
        f"{_agreeing(assignment())} of {cells} cells of Table 4 agree, with the corrected values "
        f"{_agreeing(assignment(), True)}.",
        "corrected": f"Bg {mended['Bg']:.3f}, Lg {mended['Lg']:.3f}, from the printed BB {printed['BB']:.3f} and the "
        "differences of Table 4.",
        "conclusion": "No: Table 6 does not use Table 5.",
        "kind": "inference",
        "cells": ("Bg | zh | COCO-DEV", "Lg | zh | COCO-DEV"),
    }


def _coefficients_erratum() -> dict:
    """Return what concerns the coefficients of Table 6, those of rows that have other models' numbers."""
    as_printed, mended, unmended = (_overall(table) for table in (comparisons(), corrected(), corrected(mended=False)))
    tied = tie_orders("hi", "COCO-DEV").set_index("method")
    orders = " or ".join(
        ", ".join(f"{method.title()} {tied.loc[method, name]:.2f}" for method in ("spearman", "kendall"))
        for name in ("larger", "smaller")
    )
    every = correlations(corrected()).query("lang != 'all'")
    every = every.pivot(index=["method", "lang"], columns="column", values="value")
    ahead = int((every["XM600"] > every["COCO-DEV"] + 1e-9).sum())
    ahead_by = superiority(corrected()).set_index(["left_out", "method"])
    gap = ahead_by.loc[""]
    left = ahead_by.loc[[(model, "pearson") for model in MODELS]].reset_index("method")
    without = "; ".join(f"{model} {row['first']:.2f} and {row['second']:.2f}" for model, row in left.iterrows())
    return {
        "place": "Table 6",
        "finding": "The correlations of XM3600 and COCO-DEV are those of the rows of Table 4 as printed, and so of "
        "differences that belong to other pairs of models than the judgements beside them.",
        "evidence": "Over all rows, each in both directions, the printed rows give "
        f"{_listed(as_printed, ['XM3600', 'COCO-DEV'])}; Table 6 has these within the rounding of Table 4. In Hindi "
        f"the differences of {' and '.join(tied['first'].iloc[0])} and of {' and '.join(tied['second'].iloc[0])} on "
        f"COCO-DEV are printed with one size, {tied['size'].iloc[0]:.3f}; the two orders that they can have had give "
        f"{orders}, and the first is printed.",
        "corrected": f"{_listed(mended, ['XM3600', 'COCO-DEV'])}; XM600 stays at "
        f"{_listed(mended, ['XM600']).removeprefix('XM600 ')}. This rests in part on the mended Chinese column, an "
        "inference: with the column of Table 5 as printed, COCO-DEV has Pearson "
        f"{unmended['pearson', 'COCO-DEV']:.2f}.",
        "conclusion": "In part: that references by people (XM600) go ahead of translated ones (COCO-DEV) holds, less "
        "clearly. Most of the printed gap comes from these rows. Pearson over all rows is "
        f"{mended['pearson', 'XM600']:.2f} against {mended['pearson', 'COCO-DEV']:.2f}; XM600 stays ahead in {ahead} "
        f"of {len(every)} coefficients of single languages, in Spearman over all by {_between(gap.loc['spearman'])}, "
        f"in Kendall by {_between(gap.loc['kendall'])} (95 % over {len(assignment())} pairs of {len(MODELS)} models, "
        "too few for a good interval). Pearson of XM600 and COCO-DEV without one of the models, "
        f"{left['n'].iloc[0]:.0f} comparisons: {without}. That XM3600 serves as well as XM600 is better supported "
        "than printed.",
        "kind": "inference",
        "cells": tuple(
            f"{method.title()} | {lang} | {column}"
            for method in correlation.METHODS
            for lang in ("all", *JUDGED)
            for column in ("XM3600", "COCO-DEV")
        ),
    }


def _sizes_erratum() -> dict:
    """Return what concerns the sample sizes of Table 6."""
    n, once = len(comparisons()), _overall(comparisons(), mirrored=False)
    return {
        "place": "Table 6",
        "finding": "N counts every comparison twice, once in each direction, so that the rows are not as many "
        "observations.",
        "evidence": f"Table 4 has {n} rows and Table 6 N = {2 * n}. The printed coefficients come out with each row "
        f"and its mirror image; each once, XM600 has {_listed(once, ['XM600']).removeprefix('XM600 ')}.",
        "corrected": f"N = {n} over all languages and {n // len(JUDGED)} in each, of {len(MODELS)} models.",
        "conclusion": "No: the order of the columns is the same, but sample sizes as in Bonett and Wright (2000), "
        "whom the paper cites, are half of what is printed, and coefficients of mirrored pairs are higher.",
        "sort": "remark",
        "cells": tuple(f"{method.title()} | {lang} | N" for method in correlation.METHODS for lang in ("all", *JUDGED)),
    }


def _text_errata() -> list[dict]:
    """Return what concerns the text: characters per caption, and parameters of models."""
    letters = captions().set_index("lang")["characters"]
    sizes = {name: text_parameters(**facts) / 1e6 for name, facts in TEXT_MODELS.items()}
    bare = {name: text_parameters(**facts, embeddings=False) / 1e6 for name, facts in TEXT_MODELS.items()}
    shown = ", ".join(f"{name} {sizes[name]:.0f} million, {bare[name]:.0f} without embeddings" for name in sizes)
    return [
        {
            "place": "Section 2.4",
            "finding": "The range of characters per caption is said to begin with Korean; one language has fewer.",
            "evidence": f"The text takes Korean as the low end; Chinese has {letters['zh']:.1f}, Korean "
            f"{letters['ko']:.1f}. The high end is {letters.idxmax()}, {letters.max():.1f}, as said.",
            "corrected": f"{letters.idxmin()}, {letters.min():.1f} characters, if the lowest of all languages is "
            "meant.",
            "conclusion": "No: the range is the same in round numbers.",
            "kind": "inference",
            "sort": "remark",
        },
        {
            "place": "Section 3.2",
            "finding": "mT5-base and mT5-large are said to have 220 and 770 million parameters; these cannot be those "
            "of mT5.",
            "evidence": f"From their configurations: {shown}. The printed numbers are those that the model card of "
            "T5-Base and papers with T5-Large give for T5.",
            "corrected": ", ".join(f"{name} {size:.0f} million" for name, size in sizes.items()) + ".",
            "cells": tuple(f"{name}, parameters" for name in sizes),
        },
    ]


def _table_1_erratum() -> dict:
    """Return what concerns Table 1: numbers of captions that are not those of the release."""
    table, released = captions().set_index("lang"), released_captions()
    counts = table["captions"]
    off = counts.index[released.reindex(counts.index) != counts]
    shown = " and ".join(f"{lang} {released[lang]:,} (printed {counts[lang]:,})" for lang in off)
    twins = table.index[(table[list(REPLICATION)] == table.loc["fil", list(REPLICATION)]).all(axis=1)]
    dutch = table.loc["nl"]
    needed, fewer = ((n["nl"] - dutch["one"] - 2 * dutch["two"]) / dutch["more"] for n in (released, counts))
    return {
        "place": "Table 1",
        "finding": f"{' and '.join(off)} have other numbers of captions than the release that recalls were computed "
        "on.",
        "evidence": f"Babel-ImageNet's released recalls on XM3600 are shares of {shown} captions; the other "
        f"{len(counts) - len(off)} languages agree. The printed row of replications is the same for "
        f"{' and '.join(twins)}; in nl the released number leaves {needed:.1f} captions for each image with three or "
        f"more, the printed one {fewer:.1f}. The released numbers add up to {released.sum():,}, which a report of "
        f"2022 on the release gives as its total, the printed ones to {counts.sum():,}.",
        "corrected": f"{shown.replace('printed', 'for')}; {released.sum():,} in all, unless captions were added later.",
        "kind": "inference",
        "cells": tuple(f"{lang} | Num. Cap." for lang in off),
    }


def _agreeing(pairs: dict[tuple[str, str], tuple[str, str]], mended: bool = False) -> int:
    """Return how many printed cells of Table 4 agree with Table 5, where its rows are the given pairs of models."""
    scores = cider(mended)
    computed = differences(scores, pairs)
    return int(met(comparisons(), computed, scores.columns, HALF["difference"]).to_numpy().sum())


def _overall(table: pd.DataFrame, mirrored: bool = True) -> pd.Series:
    """Return the correlations over all languages: index (method, column)."""
    found = correlations(table, mirrored).query("lang == 'all'")
    return found.set_index(["method", "column"])["value"]


def _listed(values: pd.Series, columns: Sequence[str]) -> str:
    """Return coefficients as text: for each column those of all methods."""
    return " and ".join(
        f"{column} " + ", ".join(f"{method.title()} {values[method, column]:.2f}" for method in correlation.METHODS)
        for column in columns
    )


def _between(row: pd.Series) -> str:
    return f"{row['difference']:.2f} ({row['ci_low']:.2f} to {row['ci_high']:.2f})"
