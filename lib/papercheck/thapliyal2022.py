"""The numbers of Thapliyal et al. (2022), Crossmodal-3600: Tables 1, 2, 4, 5 and 6 and
the text, computed again.

Four models (BB+CC, BB, Bg, Lg) wrote captions in four languages. Table 4 compares them
in pairs: people's judgement of two captions side by side, and the difference in CIDEr
with three sets of references. Table 5 has CIDEr itself, so that two columns of Table 4
follow from it; Table 6 correlates the columns of Table 4. `assignment` finds which pair
of models a printed row of Table 4 has the numbers of; `corrected` is the table that all
printed numbers agree with.
"""

from collections.abc import Sequence
from functools import cache
from itertools import permutations

import numpy as np
import pandas as pd

from babelatlas.base import published
from babelatlas.stats import correlation
from papercheck import claims, definitions, rounding
from papercheck.definitions import cells

SOURCE = "thapliyal2022"  # the version that was read, an early one
# that of EMNLP 2022: other CIDEr, more languages, tables numbered otherwise
PROCEEDINGS = "thapliyal2022-proceedings"
# Codes of languages that the paper prints otherwise than this study.
CODES = {"he": "iw", "tl": "fil"}
MODELS = ("BB+CC", "BB", "Bg", "Lg")
REFERENCES = {"XM600": "xm600", "XM3600": "xm3600", "COCO-DEV": "coco-dev"}
COLUMNS = ("SxS", *REFERENCES)
JUDGED = ("en", "es", "hi", "zh")
# By how much a printed number can be off: points of side-by-side gain, CIDEr, and a
# difference of two printed CIDErs.
HALF = {"SxS": 0.05, "CIDEr": 0.0005, "difference": 0.001}
DIFFERENCE = HALF["difference"]

REPLICATION = {"one": "1", "two": "2", "more": "3+"}
IMAGES, RATED = 3600, 600
# Configurations, of the text models from config.json of google/mt5-base and
# google/mt5-large as their fine-tuned copies on huggingface.co quote them, of the image
# models from open_clip's model_configs (ViT-B-16, ViT-g-14). T5-Base's 220 million
# parameters are a sentence of its model card, T5-Large's 770 million are what papers
# that use it say.
TEXT_MODELS = {
    "mT5-base": {
        "width": 768,
        "hidden": 2048,
        "layers": 12,
        "heads": 12,
        "head_width": 64,
        "vocabulary": 250112,
    },
    "mT5-large": {
        "width": 1024,
        "hidden": 2816,
        "layers": 24,
        "heads": 16,
        "head_width": 64,
        "vocabulary": 250112,
    },
}
IMAGE_MODELS = {
    "ViT-B/16": {"width": 768, "hidden": 3072, "layers": 12, "patch": 16},
    "ViT-g/14": {"width": 1408, "hidden": 6144, "layers": 40, "patch": 14},
}


@cache
def published_rows(source: str = SOURCE) -> pd.DataFrame:
    """Return the published table with `printed`, the language as Table 1 writes it. Do
    not change it.

    `source`: the version that was read, or `PROCEEDINGS`, that of EMNLP 2022.
    """
    table = published.read(source)
    return table.assign(printed=table["lang"].replace(CODES))


def captions(source: str = SOURCE) -> pd.DataFrame:
    """Return Table 1: lang (as printed), captions, one, two, more, words, characters;
    one row for each language.

    Images are counted by their number of captions: one, two, three or more. Words and
    characters are means.

    >>> int(captions().captions.sum())
    260646
    """
    names = {
        "captions": "captions",
        "images with 1 caption": "one",
        "images with 2 captions": "two",
    }
    names |= {
        "images with 3 or more captions": "more",
        "words": "words",
        "characters": "characters",
    }
    table = (
        published_rows(source)
        .query("task == 'captions'")
        .pivot(index="printed", columns="metric", values="value")
    )
    table = (
        table[list(names)]
        .rename(columns=names)
        .astype(dict.fromkeys(("captions", "one", "two", "more"), int))
    )
    return table.rename_axis(index="lang", columns=None).reset_index()


def ratings() -> pd.DataFrame:
    """Return Table 2, one row for each language: lang (as printed), good, medium, bad;
    fractions of 600 captions.

    `good`: rated good or better; `medium`: medium or better. A rating may also be "not
    enough information".
    """
    names = {"good or better": "good", "medium or better": "medium", "bad": "bad"}
    table = (
        published_rows()
        .query("table == '2'")
        .pivot(index="printed", columns="metric", values="value")
    )
    return (
        table[list(names)]
        .rename(columns=names)
        .rename_axis(index="lang", columns=None)
        .reset_index()
    )


@cache
def comparisons(source: str = SOURCE) -> pd.DataFrame:
    """Return Table 4 as printed: m2, m1, lang, SxS (points), XM600, XM3600 and COCO-DEV
    (differences in CIDEr).

    Of the proceedings these are Tables 5 and 7. Do not change the table.
    """
    table = published_rows(source).query("task == 'captioning'")
    table = table[table["model"].str.contains(" vs ")]
    columns = table["dataset"].map(
        {name: column for column, name in REFERENCES.items()}
    )
    columns = columns.where(table["metric"] != "side-by-side gain", "SxS")
    table = table.assign(column=columns).pivot(
        index=["model", "printed"], columns="column", values="value"
    )
    table = table[list(COLUMNS)].rename_axis(columns=None).reset_index()
    table["SxS"] *= 100
    pairs = table["model"].str.split(" vs ", expand=True)
    table = table.assign(m2=pairs[0], m1=pairs[1], lang=table["printed"])[
        ["m2", "m1", "lang", *COLUMNS]
    ]
    return table.sort_values(["lang", "m2", "m1"], ignore_index=True).round(9)


@cache
def cider(fixed: bool = False, source: str = SOURCE) -> pd.DataFrame:
    """Return Table 5: index (model, lang), columns XM3600 and COCO-DEV; CIDEr. Do not
    change the table.

    Of the proceedings this is Table 4. With `fixed` the values of Bg and Lg in Chinese
    on COCO-DEV are what the printed value of BB and the differences of Table 4 give: in
    the column as printed Bg has the value of BB+CC, and Lg the one that Bg should have.
    """
    table = (
        published_rows(source)
        .query("metric == 'CIDEr'")
        .pivot(index=["model", "printed"], columns="dataset", values="value")
    )
    table = table.rename(columns={name: column for column, name in REFERENCES.items()})[
        ["XM3600", "COCO-DEV"]
    ]
    table = table.rename_axis(index=["model", "lang"], columns=None)
    if fixed:
        rows = comparisons().set_index(["m2", "m1", "lang"])["COCO-DEV"]
        for row, (first, second) in assignment().items():
            if first == "BB" and second in ("Bg", "Lg"):
                table.loc[(second, "zh"), "COCO-DEV"] = (
                    table.loc[("BB", "zh"), "COCO-DEV"] - rows[(*row, "zh")]
                )
    return table.round(9)


def differences(
    scores: pd.DataFrame, pairs: dict[tuple[str, str], tuple[str, str]]
) -> pd.DataFrame:
    """Return the differences of scores between models in pairs: m2, m1, lang and the
    columns of `scores`.

    `scores`: index (model, lang). `pairs`: the names in the row -> the models that are
    subtracted, first less second.
    """
    langs = scores.index.get_level_values("lang").unique()
    rows = [
        {"m2": m2, "m1": m1, "lang": lang}
        | (scores.loc[(first, lang)] - scores.loc[(second, lang)]).to_dict()
        for (m2, m1), (first, second) in pairs.items()
        for lang in langs
    ]
    return pd.DataFrame(rows).round(9)


def met(
    printed: pd.DataFrame, computed: pd.DataFrame, columns: Sequence[str], half: float
) -> pd.DataFrame:
    """Return where computed differences agree with printed ones: index (m2, m1, lang),
    one flag for each column.

    They agree where they differ by no more than rounding of the printed number and
    `half`, that of the computed one.
    """
    both = [
        table.set_index(["m2", "m1", "lang"])[list(columns)].sort_index()
        for table in (printed, computed)
    ]
    return (both[0] - both[1]).abs() <= HALF["CIDEr"] + half + 1e-9


@cache
def assignment() -> dict[tuple[str, str], tuple[str, str]]:
    """Return for each row (m2, m1) of Table 4 the pair of models whose difference it
    has in XM3600 and COCO-DEV.

    Of all twelve ordered pairs it is the one whose differences in Table 5 agree with
    most of the eight printed cells of the row (four languages, two columns); first less
    second.
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
            counts[first, second] = int(
                (off <= HALF["CIDEr"] + HALF["difference"] + 1e-9).sum()
            )
        found[row] = max(counts, key=counts.get)
    return found


def through_others(table: pd.DataFrame, value: str) -> pd.Series:
    """Return each difference between two models as the others give it, d(a, c) + d(c,
    b), the mean over all others c.

    `table` has one row for each unordered pair of m2 and m1 within a lang; the result
    has its index. A difference that does not agree with what the others give is of
    another pair of models, or misprinted. Raises InputError for a pair given twice, or
    one that is missing.

    >>> rows = pd.DataFrame({"m2": ["a", "b", "a"], "m1": ["b", "c", "c"], "lang": "en"})
    >>> through_others(rows.assign(d=[1, 2, 3]), "d").tolist()
    [1.0, 2.0, 3.0]
    """
    result = pd.Series(np.nan, index=table.index)
    for _, part in table.groupby("lang", sort=False):
        labels = pd.Index(sorted({*part["m2"], *part["m1"]}))
        rows, columns = labels.get_indexer(part["m2"]), labels.get_indexer(part["m1"])
        n = len(labels)
        grid = np.zeros((n, n))
        grid[rows, columns], grid[columns, rows] = part[value], -part[value]
        # With the diagonal 0 the sum over c = a and c = b is twice the difference
        # itself.
        sums = grid.sum(axis=1)
        others = (sums[:, None] - sums - 2 * grid) / (n - 2)
        result[part.index] = others[rows, columns]
    return result


def both_ways(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table like `comparisons` with every row a second time, models exchanged
    and signs turned.

    Correlations over it do not depend on which model of a pair comes first; the number
    of rows is twice that of what was observed. A further column, `pair`, names the two
    models.
    """
    table = table.assign(pair=table["m2"] + " vs " + table["m1"])
    return pd.concat([table, table.assign(**-table[list(COLUMNS)])], ignore_index=True)


def corrected(fixed: bool = True) -> pd.DataFrame:
    """Return Table 4 as all printed numbers agree with it: m2, m1, lang, SxS, XM600,
    XM3600, COCO-DEV; m2 less m1.

    SxS and XM600 have their signs turned (the printed rows subtract m2 from m1), XM3600
    and COCO-DEV are differences of Table 5, where `fixed` with its Chinese column
    corrected. An inference: what was not rounded is not released.
    """
    computed = differences(cider(fixed), {row: row for row in assignment()})
    printed = comparisons()[["m2", "m1", "lang", "SxS", "XM600"]]
    turned = printed.assign(SxS=-printed["SxS"], XM600=-printed["XM600"])
    return turned.merge(computed, on=["m2", "m1", "lang"], validate="one_to_one")


@cache
def released_captions() -> pd.DataFrame:
    """Return the captions of the release as mteb counts them, indexed as Table 1 by
    lang: captions, characters of all.

    Source: mteb's descriptive statistics of XM3600T2IRetrieval (`published`
    "mteb-xm3600"). Do not change the table.

    >>> int(released_captions()["captions"].sum())
    261375
    """
    table = published.read("mteb-xm3600").replace({"lang": CODES})
    return table.pivot(index="lang", columns="metric", values="value").set_axis(
        ["captions", "characters"], axis=1
    )


def correlations(
    table: pd.DataFrame, mirrored: bool = True, halves: dict[str, float] | None = None
) -> pd.DataFrame:
    """Return the correlations of side-by-side gains with differences in CIDEr, as Table
    6 has them.

    `table` as `comparisons`; `mirrored`: every comparison in both directions. Columns:
    method, lang ("all" or a code), column (XM600, XM3600, COCO-DEV), value, n (rows),
    slack (`rounding.rounding_slack`, 0 unless `halves` says by how much each column can
    be off).
    """
    whole, parts = both_ways(table), []
    whole = whole if mirrored else whole.head(len(table))
    for lang in ("all", *(code for code in JUDGED if code in set(whole["lang"]))):
        part = whole if lang == "all" else whole[whole["lang"] == lang]
        for column in REFERENCES:
            found = correlation.correlate(
                part, "SxS", column, "pair", correlation.METHODS, n_resamples=1
            )
            slack = 0.0
            if halves:
                ends = halves["SxS"], halves[column]
                slack = [
                    rounding.rounding_slack(part["SxS"], part[column], *ends, name)
                    for name in found["method"]
                ]
            parts.append(found.assign(lang=lang, column=column, slack=slack))
    return pd.concat(parts, ignore_index=True)[
        ["method", "lang", "column", "value", "n", "slack"]
    ]


def tie_orders(lang: str, column: str) -> pd.DataFrame:
    """Return the printed correlations of a language for both orders of two differences
    that rounding made equal.

    Where two pairs of models (`assignment`) have printed differences of one size in
    Table 4, one was the larger before rounding: all cells of one of the pairs are made
    larger, or smaller, by less than the rounding. Each row of Table 4 counts in both
    directions. Columns: first, second (the two pairs), size, method, larger (the first
    pair is), smaller; no rows where there is no such tie.
    """
    part = comparisons().query("lang == @lang").reset_index(drop=True)
    pairs = [
        tuple(sorted(assignment()[row]))
        for row in zip(part["m2"], part["m1"], strict=True)
    ]
    size = part[column].abs().round(9)
    facts = pd.DataFrame({"pair": pairs, "size": size}).drop_duplicates()
    rows = []
    for value, tied in facts.groupby("size"):
        if len(tied) != 2:
            continue
        first, second = tied["pair"]
        of_first = np.array([pair == first for pair in pairs]) & (size == value)
        found = {}
        for name, step in (("larger", 0.2), ("smaller", -0.2)):
            change = np.sign(part[column]) * step * HALF["CIDEr"]
            moved = part[column] + of_first * change
            whole = both_ways(part.assign(**{column: moved}))
            result = correlation.correlate(
                whole, "SxS", column, "pair", correlation.METHODS, 1
            )
            found[name] = result.set_index("method")["value"]
        for method in correlation.METHODS:
            values = [found[step][method] for step in ("larger", "smaller")]
            rows.append([first, second, value, method, *values])
    columns = ["first", "second", "size", "method", "larger", "smaller"]
    return pd.DataFrame(rows, columns=columns)


def superiority(table: pd.DataFrame, n_resamples: int = 2000) -> pd.DataFrame:
    """Return by how much side-by-side gains correlate more with XM600 than with
    COCO-DEV, with what left out.

    `table` as `comparisons`; every comparison counts in both directions, as in Table 6.
    Columns: left_out ("", a language or a model), method, first, second (the two
    correlations), difference, ci_low, ci_high (where nothing is left out: 95 % over
    pairs of models; with four models there are six), n (comparisons, each counted
    once).
    """
    parts = {"": table} | {lang: table[table["lang"] != lang] for lang in JUDGED}
    parts |= {
        model: table[(table["m2"] != model) & (table["m1"] != model)]
        for model in MODELS
    }
    rows = []
    for left_out, part in parts.items():
        found = correlation.compare_correlations(
            both_ways(part),
            "SxS",
            "XM600",
            "COCO-DEV",
            "pair",
            n_resamples=1 if left_out else n_resamples,
        )
        for row in found.itertuples():
            ends = [np.nan, np.nan] if left_out else [row.ci_low, row.ci_high]
            rows.append(
                [
                    left_out,
                    row.method,
                    row.first,
                    row.second,
                    row.value,
                    *ends,
                    len(part),
                ]
            )
    columns = [
        "left_out",
        "method",
        "first",
        "second",
        "difference",
        "ci_low",
        "ci_high",
        "n",
    ]
    return pd.DataFrame(rows, columns=columns)


def text_parameters(
    width: int,
    hidden: int,
    layers: int,
    heads: int,
    head_width: int,
    vocabulary: int,
    embeddings: bool = True,
) -> int:
    """Return the parameters of an encoder-decoder of mT5's kind: layers twice, gated
    hidden layers, no biases.

    `embeddings`: count the two matrices of vocabulary x width, for input and output,
    which are not shared in mT5.
    """
    inner = heads * head_width
    attention, feed = 4 * width * inner, 3 * width * hidden
    encoder = layers * (attention + feed + 2 * width)
    decoder = layers * (2 * attention + feed + 3 * width)
    places = (
        2 * 32 * heads + 2 * width
    )  # relative positions in 32 buckets and the last norm, in encoder and decoder
    return encoder + decoder + places + (2 * vocabulary * width if embeddings else 0)


def image_parameters(
    width: int, hidden: int, layers: int, patch: int, size: int = 224, classes: int = 0
) -> int:
    """Return the parameters of a Vision Transformer, with a layer for `classes` where
    there are any.

    >>> image_parameters(768, 3072, 12, 16, classes=1000)
    86567656
    """
    attention, feed = 4 * width * (width + 1), 2 * width * hidden + hidden + width
    tokens = (size // patch) ** 2 + 1
    start = 3 * patch**2 * width + width + tokens * width + width
    return (
        layers * (attention + feed + 4 * width)
        + start
        + 2 * width
        + classes * (width + 1)
    )


def images_left(columns: Sequence[str]) -> pd.DataFrame:
    """Return what the other two columns of replications leave of the images, for each
    of the `columns`.
    """
    table = captions().set_index("lang")
    found = {}
    for column in columns:
        rest = IMAGES - table[[other for other in REPLICATION if other != column]].sum(
            axis=1
        )
        found |= rest.add_suffix(f" | Replication {REPLICATION[column]}").to_dict()
    return cells(found)


def captions_counted() -> pd.DataFrame:
    """Return the captions of the languages whose images have one or two."""
    table = captions().query("more == 0").set_index("lang")
    return cells((table["one"] + 2 * table["two"]).add_suffix(" | Num. Cap."))


def captions_released() -> pd.DataFrame:
    """Return how many captions of each language the release has, and how many
    characters a caption has on average.
    """
    table = released_captions()
    lengths = table["characters"] / table["captions"]
    return cells(
        pd.concat(
            [
                table["captions"].add_suffix(" | Num. Cap."),
                lengths.add_suffix(" | Num. Chars"),
            ]
        )
    )


def text_of_table_1() -> pd.DataFrame:
    """Return all captions, all images (100 for each language), the captions of an image
    in Bengali, and in thirds the shares of images of Maori with one caption and with
    two.
    """
    table = captions().set_index("lang")
    thirds = 3 * table.loc["mi", ["one", "two"]] / IMAGES
    found = {
        "captions, total": table["captions"].sum(),
        "images": 100 * len(table),
        "Bengali, captions for an image": table.loc["bn", "captions"] / IMAGES,
        "Maori, thirds of the images with 1 caption": thirds["one"],
        "Maori, thirds of the images with 2 captions": thirds["two"],
    }
    return cells(found)


def characters(named: bool) -> pd.DataFrame:
    """Return the ends of the range of characters per caption: of the languages named,
    or of all.
    """
    table = captions().set_index("lang")["characters"]
    ends = (
        {"low": table["ko"], "high": table["id"]}
        if named
        else {"low": table.min(), "high": table.max()}
    )
    return cells(
        {
            f"characters per caption, {end} end, {side}": ends[end]
            for end in ends
            for side in ("from", "to")
        },
        slack=0.05,
    )


def total_printed() -> pd.DataFrame:
    """Return the total that the caption of Table 1 prints."""
    return cells(
        {"captions, total": claims.printed(SOURCE, "Table 1")["captions, total"]}
    )


def languages(less: int, cell: str) -> pd.DataFrame:
    """Return the number of languages of Table 1, `less` some."""
    return cells({cell: len(captions()) - less})


def words() -> pd.DataFrame:
    """Return the two lowest and the highest mean number of words."""
    # Chinese, Japanese and Thai are written without spaces: the table has about one
    # "word" for each of their captions.
    table = captions().query("words > 2").set_index("lang")["words"]
    names = {"quz": "Cusco Quechua", "cs": "Czech", "vi": "Vietnamese"}
    found = {**table.nsmallest(2), table.idxmax(): table.max()}
    return cells(
        {
            f"words per caption, {names.get(lang, lang)}": value
            for lang, value in found.items()
        },
        slack=0.05,
    )


def nearest_shares() -> pd.DataFrame:
    """Return the shares of rated captions nearest to Table 2."""
    names = {"good": "%GOOD+", "medium": "%MED+", "bad": "%BAD"}
    table = ratings().rename(columns=names).melt("lang", var_name="rated")
    return cells(
        table["lang"] + " | " + table["rated"],
        100 * rounding.nearest_share(table["value"], RATED),
    )


def text_model_parameters(embeddings: bool = True) -> pd.DataFrame:
    """Return the parameters of the text models in millions, from their configurations."""
    sizes = {
        name: text_parameters(**facts, embeddings=embeddings)
        for name, facts in TEXT_MODELS.items()
    }
    return cells({f"{name}, parameters": size / 1e6 for name, size in sizes.items()})


def model_parameters() -> pd.DataFrame:
    """Return the parameters of the text and image models in millions, from their
    configurations.
    """
    sizes = {
        f"{name}, parameters": image_parameters(**facts) / 1e6
        for name, facts in IMAGE_MODELS.items()
    }
    return pd.concat([text_model_parameters(), cells(sizes)], ignore_index=True)


def through_other_models(first: bool) -> pd.DataFrame:
    """Return differences in XM600 `through_others`, of the rows that have the first of
    the models or of the others.
    """
    table = comparisons()
    table = table.assign(value=through_others(table, "XM600").round(9))
    table = table[table[["m2", "m1"]].eq(MODELS[0]).any(axis=1) == first]
    return cells(_names(table, "XM600"), table["value"], DIFFERENCE)


def _names(table: pd.DataFrame, column: str | pd.Series) -> pd.Series:
    return table["m2"] + " | " + table["m1"] + " | " + table["lang"] + " | " + column


def differences_of_table_5(
    turned: bool = True, assigned: bool = False, fixed: bool = False
) -> pd.DataFrame:
    """Return differences of Table 5 for the rows of Table 4: m1 less m2 where `turned`,
    or as `assignment` has them.
    """
    pairs = {row: row[::-1] if turned else row for row in assignment()}
    table = differences(cider(fixed), assignment() if assigned else pairs)
    table = table.melt(["m2", "m1", "lang"], var_name="column")
    return cells(_names(table, table["column"]), table["value"], DIFFERENCE)


def table_6(mirrored: bool, fixed: bool = False) -> pd.DataFrame:
    """Return the correlations of Table 6 from Table 4 as printed, or as `corrected` has
    it where `fixed`.
    """
    other = HALF["difference" if fixed else "CIDEr"]
    halves = {
        "SxS": HALF["SxS"],
        "XM600": HALF["CIDEr"],
        "XM3600": other,
        "COCO-DEV": other,
    }
    table = correlations(corrected() if fixed else comparisons(), mirrored, halves)
    names = (
        table["method"].str.title() + " | " + table["lang"] + " | " + table["column"]
    )
    return cells(names, table["value"], table["slack"].to_numpy())


def n_rows(mirrored: bool, methods: Sequence[str] = ("pearson",)) -> pd.DataFrame:
    """Return the number of rows of Table 4, each once or in both directions, of all
    languages and of each.
    """
    table = both_ways(comparisons()) if mirrored else comparisons()
    sizes = {"all": len(table), **table.groupby("lang").size()}
    return cells(
        {
            f"{method.title()} | {lang} | N": n
            for method in methods
            for lang, n in sizes.items()
        }
    )


DEFINITIONS = definitions.of_module(SOURCE, "thapliyal2022", globals())
