"""The numbers of Liu et al. (2021), MaRVL: Tables 1 to 5, Figure 9 and the statistics
of captions, computed again.

What MaRVL's annotations (CC BY 4.0, github.com/marvl-challenge/marvl-code) and the
sentences of NLVR2 in the same release say is counted once (`liu2021_release.count`) and
ships, and so do the accuracies and consistencies in the authors' logs (`logs`), by
chapter too; nothing here needs the files. What can only be tested is whether it can be
a share of the cases that there are (`rounding.nearest_share`).
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd

from babelatlas.analysis import concepts, coverage
from babelatlas.analysis.marvl import FIELDS, LANGUAGES, NUMBERS, counts
from babelatlas.base import published, released
from babelatlas.lexicon import labels
from babelatlas.stats import bootstrap
from papercheck import claims, definitions, rounding
from papercheck.definitions import cells
from papercheck.liu2021_release import BASE, CHINESE, SAMPLE, marvl

PAPER = "liu2021"
ZERO, TRANSLATED, BY_HAND = (
    "zero-shot",
    "translate test",
    "translated to English by hand",
)
# Of the released logs: data set and variant -> cells of Tables 4 and 5, of Figure 9 and
# of Section 6.
LOGGED = {
    "marvl, zero-shot": "zero-shot, {model} | {lang}, {metric}",
    "marvl, translate-test": "translate test, {model} | {lang}, {metric}",
    "marvl, translate-test by people": "{model} | MaRVL ZH→EN, {metric}",
    "nlvr2, zero-shot": "zero-shot, {model} | {lang}, {metric}",
    "nlvr2-1k, zero-shot": "{model} | NLVR2 1k {lang}, {metric}",
    "marvl, translate-train": "translate train, {model}, {metric}",
}
LOGGED |= {
    f"marvl, chapter {number}": f"{name} | {{model}}, {{code}}"
    for number, name in NUMBERS.items()
}
VALIDATED, VALIDATORS = (
    200,
    2,
)  # Section 4: examples of a language that were labelled again, and by how many


def printed(place: str) -> pd.Series:
    """Return what the paper prints in a place, indexed by cell, as numbers; they are
    the claims that ship.
    """
    return claims.printed(PAPER, place)


def human_accuracy() -> pd.DataFrame:
    """Return the shares of labels nearest to the printed accuracies of people."""
    found = printed("Table 1").filter(regex="^Human accuracy \\| [A-Z]")
    return cells(found.index, rounding.nearest_share(found, VALIDATED * VALIDATORS))


def kappas(n_wrong: int, n: int = VALIDATED, share: float = 0.5) -> np.ndarray:
    """Return every Fleiss' kappa that `n` examples can have when two validators err in
    `n_wrong` labels altogether.

    Three raters: the writer, whose labels are the truth, and the validators; `share` of
    all labels given are "true". An example that anybody disagrees on has one pair of
    three in agreement, so that kappa follows from their number, which lies between half
    of the wrong labels and all of them (Fleiss 1971).

    >>> kappas(12).round(3).tolist()
    [0.96, 0.953, 0.947, 0.94, 0.933, 0.927, 0.92]
    """
    disputed = np.arange(-(-n_wrong // VALIDATORS), min(n_wrong, n) + 1)
    by_chance = share**2 + (1 - share) ** 2
    return 1 - 2 / 3 * disputed / n / (1 - by_chance)


def nearest_kappa(most: float = 0.5) -> pd.DataFrame:
    """Return the nearest of `kappas`, where half to `most` of the labels are the same,
    in steps of 0.25 points.
    """
    found, accuracies = {}, printed("Table 1")
    for lang in LANGUAGES:
        accuracy, name = (
            accuracies[f"Human accuracy | {lang.upper()}"],
            f"Fleiss' kappa | {lang.upper()}",
        )
        wrong = round((1 - accuracy) * VALIDATED * VALIDATORS)
        shares = np.arange(0.5, most + 0.0001, 0.0025)
        possible = np.concatenate([kappas(wrong, share=share) for share in shares])
        found[name] = possible[np.abs(possible - accuracies[name]).argmin()]
    return cells(found)


def averages(place: str, half: dict[str, float]) -> pd.DataFrame:
    """Return the mean over languages of some rows; `half`: half a unit of the row's
    print.
    """
    means = {f"{row} | avg.": row_of(place, row).to_numpy().mean() for row in half}
    return cells(means, slack=list(half.values()))


ROWS = {
    "with >8 images": "concepts",
    "used for captions": "images",
    "Total examples": "examples",
    "Total unique captions": "captions",
}


def release_sizes() -> pd.DataFrame:
    """Return the rows of Table 2 as counted in the release, and the size of NLVR2 1k."""
    sizes = counts()["nlvr2 250", "en", "", ""]
    found = {
        f"{row} | {lang.upper()}": marvl(name)[lang]
        for row, name in ROWS.items()
        for lang in LANGUAGES
    }
    found |= {
        "descriptions of NLVR2 1k": sizes["captions"],
        "examples of NLVR2 1k": sizes["examples"],
    }
    return cells(found)


def row_of(place: str, row: str) -> pd.Series:
    """Return a row of a printed table, indexed by lang."""
    found = printed(place)
    return pd.Series(
        {lang: found[f"{row} | {lang.upper()}"] for lang in LANGUAGES}, name=row
    )


def totals() -> pd.DataFrame:
    """Return the sums of the rows of Table 2."""
    return cells(
        {
            f"{row} | tot.": row_of("Table 2", row).sum()
            for row in ("Concepts selected", "Total images", *ROWS)
        }
    )


def not_in_wordnet(row: str) -> pd.DataFrame:
    """Return the shares of the concepts of a row that are nearest to the printed
    percentages, and that of all concepts, from the counts that these percentages stand
    for.
    """
    concepts = row_of("Table 2", row)
    shares = rounding.nearest_share(
        row_of("Table 2", "% not in WordNet"), concepts, 100
    )
    found = pd.Series(shares, [lang.upper() for lang in LANGUAGES])
    found["tot."] = (shares * concepts).sum() / concepts.sum()
    return cells(found.add_prefix("% not in WordNet | "))


def concepts_selected() -> pd.DataFrame:
    """Return how many concepts the released lists of Wikipedias have, of the languages
    whose examples they cover.
    """
    table = concepts.shipped().query("collection == @concepts.MARVL")
    langs_of_row = table["lang"].str.split()
    by_lang = {
        lang: table[[lang in langs for langs in langs_of_row]] for lang in LANGUAGES
    }
    whole = [
        lang
        for lang, part in by_lang.items()
        if part["used"].sum() == marvl("concepts")[lang]
    ]
    return cells(
        {f"Concepts selected | {lang.upper()}": len(by_lang[lang]) for lang in whole}
    )


def wordings(tokens: str = BASE, sample: str = "") -> pd.DataFrame:
    """Return statistics of captions under a tokenizer: index lang (en: NLVR2), columns
    captions, length, types, ttr.

    `sample`: "" for all unique captions (of NLVR2 the 250 that were translated),
    "first" for the first 250, "expected" for what 250 drawn at random have on average
    (of NLVR2 from all of the test set). Chinese has no spaces: jieba's search mode
    stands in for TweetTokenizer.
    """
    rows = {}
    for lang in ("en", *LANGUAGES):
        name = (
            "marvl"
            if lang != "en"
            else "nlvr2 test"
            if sample == "expected"
            else "nlvr2 250"
        )
        part = counts()[
            name, lang, "", tokens.replace(BASE, CHINESE) if lang == "zh" else tokens
        ]
        captions, total, types = (
            counts()[name, lang, "", "", "captions"],
            part["tokens"],
            part["types"],
        )
        if sample == "first" and captions > SAMPLE:
            captions, total, types = (
                SAMPLE,
                part[f"tokens, first {SAMPLE}"],
                part[f"types, first {SAMPLE}"],
            )
        elif sample == "expected":
            total, types = (
                total / captions * SAMPLE,
                part[f"types, expected in {SAMPLE}"],
            )
            captions = SAMPLE
        rows[lang] = {
            "captions": captions,
            "length": total / captions,
            "types": types,
            "ttr": types / total,
        }
    return pd.DataFrame(rows).T


def wording_cells(tokens: str = BASE, sample: str = "") -> pd.DataFrame:
    """Return the cells of `wordings`."""
    table = wordings(tokens, sample)
    if tokens.startswith("characters"):
        table = table.loc[["zh"]]
    elif not tokens.startswith(BASE):
        table.loc["zh"] = np.nan  # a sentence of Chinese is one word to these
    names = {"length": "Avg. length", "types": "Word types", "ttr": "TTR"}
    return cells(
        {
            f"{row} | {lang.upper()}": table.loc[lang, c]
            for c, row in names.items()
            for lang in table.index
        }
    )


def printed_ttr(captions: int | None = None) -> pd.DataFrame:
    """Return types over (length times captions), all printed; `captions`: a number for
    all, else those of Table 2.
    """
    sizes = (
        {"en": SAMPLE, **marvl("captions")}
        if captions is None
        else dict.fromkeys(("en", *LANGUAGES), captions)
    )
    table, found, slack = printed("Table 3"), {}, {}
    for lang, n in sizes.items():
        name, types = f"TTR | {lang.upper()}", table[f"Word types | {lang.upper()}"]
        length = table[f"Avg. length | {lang.upper()}"]
        found[name] = types / (length * n)
        slack[name] = (
            types / ((length - 0.05) * n) - found[name]
        )  # the larger of the two ends
    return cells(found, slack=slack)


def release_averages() -> pd.DataFrame:
    """Return the mean of the lengths counted in the release."""
    return cells(
        {"Avg. length | avg.": wordings().loc[list(LANGUAGES), "length"].mean()}
    )


# Section 2.2: in so many languages, or fewer, most of ImageNet's synsets are said to be
FEW = 30


@cache
def pages(source: str = "wals", english: bool = True) -> pd.DataFrame:
    """Return the concepts of Figure 2 with their numbers of Wikipedias, families and
    macroareas (`concepts.count`).
    """
    table = concepts.shipped()
    return concepts.count(concepts.as_counted(table) if english else table, source)


def few_languages(english: bool = True, source: str = "") -> pd.DataFrame:
    """Return the share of ImageNet's synsets in 30 Wikipedias or fewer, or, with a
    `source`, of those it places.

    `english`: with the English page, which the others were found from.
    """
    table = pages(english=english).query("collection == @concepts.IMAGENET")
    numbers = table["n_wikipedias"] if english else table["n_wikipedias"] - 1
    if source:
        placed = concepts.wals().query("source == @source & family != ''")["code"]
        placed = set(placed)
        codes = table["wikipedias"].str.split()
        numbers = codes.map(lambda codes: len(placed.intersection(codes)))
    share = (numbers <= FEW).mean()
    return cells({f"synsets in {FEW} languages or fewer": 100 * share})


def eurasian(source: str) -> pd.DataFrame:
    """Return the share of languages of the Eurasian macro-area among those with a page
    on one of ImageNet's synsets.
    """
    table = concepts.shipped().query("collection == @concepts.IMAGENET")
    home = (
        concepts.wals()
        .query("source == @source & macroarea != ''")
        .set_index("code")["macroarea"]
    )
    home = home[
        home.index.isin(
            {code for codes in table["wikipedias"] for code in codes.split()}
        )
    ]
    return cells(
        {"languages of the Eurasian macro-area": 100 * (home == "Eurasia").mean()}
    )


def more_of_marvl(source: str) -> pd.DataFrame:
    """Return by how much the means of MaRVL's concepts exceed those of ImageNet's and
    of NLVR2's.
    """
    means = pages(source).groupby("collection")[list(concepts.COUNTS)].mean()
    named = {
        "n_wikipedias": "languages",
        "n_families": "families",
        "n_macroareas": "macro-areas",
    }
    return cells(
        {
            f"{word} of MaRVL's concepts more than {other}'s": (
                means.loc[concepts.MARVL, column] - means.loc[other, column]
            )
            for column, word in named.items()
            for other in (concepts.IMAGENET, concepts.NLVR2)
        }
    )


def n_dogs(kind: str) -> int:
    """Return how many classes lie below "dog", or are an "animal", or how many "leaves"
    all WordNet has below dog.
    """
    if kind == "leaves":
        return int(counts()["wordnet 3.0", "en", "", "", "leaves below dog"])
    facts = (
        coverage.synsets()
        .set_index("wnid")
        .loc[labels.class_list("imagenet-1k")["wnid"]]
    )
    return int(
        (facts["dog"] if kind == "dog" else facts["lexname"] == "noun.animal").sum()
    )


def dog_classes(kind: str) -> pd.DataFrame:
    """Return `n_dogs` as a cell."""
    return cells({"ImageNet-1k synsets that are species of dogs": n_dogs(kind)})


def text_of_tables() -> pd.DataFrame:
    """Return what the text says of semantic fields, concepts, examples and people, from
    Tables 1, 2 and 6.
    """
    selected, kept = (
        row_of("Table 2", "Concepts selected"),
        row_of("Table 2", "with >8 images"),
    )
    fields = sum(map(len, FIELDS.values()))
    found = {
        "semantic fields kept": fields,
        "fewest concepts of a language": selected.min(),
        "most concepts of a language": selected.max(),
        "concepts filtered out for each language, on average": (selected - kept).mean(),
        "concepts for each semantic field": selected.mean() / fields,
        "examples of a language, at least": marvl("examples").min(),
        "lowest Fleiss' kappa": row_of("Table 1", "Fleiss' kappa").min(),
        "human accuracy in Swahili": 100 * row_of("Table 1", "Human accuracy")["sw"],
    }
    return cells(found)


def votes(row: str) -> pd.DataFrame:
    """Return the shares of all concepts of a row nearest to the printed shares of
    votes.
    """
    values = printed("Section 3.3").filter(like="votes")
    return cells(
        values.index,
        rounding.nearest_share(values, int(row_of("Table 2", row).sum()), 100),
    )


def kappa_sizes(kappa: float, accuracy: float, sizes: Sequence[int]) -> list[int]:
    """Return the numbers of examples, half of them true, that allow both an accuracy
    and a kappa (three decimals).
    """
    wrong, half = (
        {n: round((1 - accuracy) * n * VALIDATORS) for n in sizes},
        0.0005 + 1e-9,
    )
    found = [
        n for n, k in wrong.items() if abs(1 - k / n / VALIDATORS - accuracy) <= half
    ]
    return [n for n in found if (np.abs(kappas(wrong[n], n) - kappa) <= half).any()]


def means_over_languages() -> pd.DataFrame:
    """Return the means over languages of Tables 1 to 4."""
    parts = [
        averages("Table 1", {"Human accuracy": 0.0005, "Fleiss' kappa": 0.0005}),
        cells(
            {"% not in WordNet | tot.": row_of("Table 2", "% not in WordNet").mean()},
            slack=0.05,
        ),
        averages("Table 3", {"Avg. length": 0.05, "Word types": 0, "TTR": 0.005}),
        table_4_averages(english=False),
    ]
    return pd.concat(parts, ignore_index=True)


@cache
def printed_scores() -> pd.DataFrame:
    """Return Tables 4 and 5 and Figure 9 in percent, with the column `chapter` of the
    figure. Do not change it.
    """
    table = published.read(PAPER)
    table["value"] *= 100
    chapter = table["variant"].str.partition(", ")[2]
    inside = chapter.isin(list(FIELDS))
    return table.assign(
        chapter=chapter.where(inside, ""), variant=table["variant"].mask(inside, ZERO)
    )


def select_scores(table: str, variant: str, metric: str = "accuracy") -> pd.DataFrame:
    """Return the rows of `printed_scores` of one table, variant and metric."""
    rows = printed_scores()
    return rows[
        (rows["table"] == table)
        & (rows["variant"] == variant)
        & (rows["metric"] == metric)
    ]


def language_scores(table: str, variant: str, metric: str = "accuracy") -> pd.DataFrame:
    """Return the printed numbers of MaRVL by model (rows) and lang (columns), in
    percent.
    """
    rows = select_scores(table, variant, metric)
    rows = rows[
        (rows["dataset"] == "marvl") & (rows["lang"] != "") & (rows["chapter"] == "")
    ]
    return rows.pivot(index="model", columns="lang", values="value")


def stacked(table: pd.DataFrame) -> pd.Series:
    """Return a table of models and languages as one series, indexed by model and lang."""
    long = (
        table.rename_axis(index="model", columns=None)
        .reset_index()
        .melt("model", var_name="lang")
    )
    return long.set_index(["model", "lang"])["value"]


def english_scores(variant: str) -> pd.Series:
    """Return the accuracy on NLVR2 by model, in percent."""
    rows = select_scores("4", variant)
    return rows[rows["dataset"] == "nlvr2"].set_index("model")["value"]


@cache
def logs() -> pd.Series:
    """Return the released accuracies and consistencies in percent, by cell of what
    `LOGGED` names.
    """
    rows = released.read().query("harness == 'marvl'")
    rows = rows[
        (rows["metric"] == "accuracy") | ~rows["variant"].str.startswith("chapter")
    ]
    models = {name.lower(): name for name in select_scores("4", TRANSLATED)["model"]}
    model, lang = (
        rows["checkpoint"].str.removeprefix("ctrl_").map(models),
        rows["lang"].str.upper(),
    )
    lang = lang.where((rows["dataset"] != "nlvr2-1k") | (lang != "ZH"), "EN→ZH")
    fields = zip(
        rows["dataset"] + ", " + rows["variant"],
        model,
        lang,
        rows["lang"],
        rows["metric"],
        strict=True,
    )
    keys = "model", "lang", "code", "metric"
    names = [
        LOGGED.get(test, "").format(**dict(zip(keys, row, strict=True)))
        for test, *row in fields
    ]
    found = pd.Series(100 * rows["value"].to_numpy(), names)
    # The models without a zero-shot row have their results in English in those of
    # translate test.
    cells_printed = {
        cell
        for place in ("Table 4", "Table 5", "Figure 9", "Section 6")
        for cell in printed(place).index
    }
    found.index = [
        name if name in cells_printed else name.replace(ZERO, TRANSLATED)
        for name in found.index
    ]
    return found[found.index.isin(list(cells_printed))]


def logged(decimals: int | None = None) -> pd.DataFrame:
    """Return `logs` as cells, rounded to `decimals` first where they are given."""
    return cells(logs() if decimals is None else logs().round(decimals))


def right_answers() -> pd.DataFrame:
    """Return how many answers were right: model, lang, chapter, printed (%), n, right,
    from Figure 9 and the release.

    A chapter has so few examples that its printed accuracy leaves one count possible;
    `right` is the nearest one.
    """
    rows = select_scores("Figure 9", ZERO)
    rows = rows[rows["chapter"] != ""][["model", "lang", "chapter", "value"]].rename(
        columns={"value": "printed"}
    )
    n = [
        int(counts()["marvl", row.lang, row.chapter, "", "examples"])
        for row in rows.itertuples()
    ]
    right = np.rint(
        rounding.nearest_share(rows["printed"], np.array(n), 100) / 100 * n
    ).astype(int)
    return rows.assign(n=n, right=right).reset_index(drop=True)


def overall() -> pd.Series:
    """Return the accuracy over all chapters, percent, by model and lang, from correct
    predictions by chapter.
    """
    sums = right_answers().groupby(["model", "lang"], sort=False)[["right", "n"]].sum()
    return 100 * sums["right"] / sums["n"]


def sum_of_chapters(
    tables: Sequence[str] = ("4", "9"), decimals: int | None = None
) -> pd.DataFrame:
    """Return `overall` by the cells of Table 4 and Figure 9, rounded to `decimals`
    first where they are given.
    """
    values = overall() if decimals is None else overall().round(decimals)
    found = {}
    for (model, lang), value in values.items():
        names = {
            "4": f"{ZERO}, {model} | {lang.upper()}, accuracy",
            "9": f"ALL | {model}, {lang}",
        }
        found |= {names[table]: value for table in tables}
    return cells(found)


def mean_of_chapters() -> pd.DataFrame:
    """Return the mean of the chapters' printed accuracies."""
    means = bootstrap.group_means(
        right_answers(), ["model", "lang"], "printed", "chapter", n_resamples=1
    )
    return cells("ALL | " + means["model"] + ", " + means["lang"], means["value"], 0.05)


def numbers_of_table_4() -> pd.DataFrame:
    """Return the zero-shot accuracies of Table 4 by the cells of Figure 9."""
    rows = stacked(language_scores("4", ZERO))
    return cells(
        {f"ALL | {model}, {lang}": value for (model, lang), value in rows.items()},
        slack=0.05,
    )


def table_4_averages(english: bool) -> pd.DataFrame:
    """Return the means over languages of Table 4, with English on NLVR2 or without."""
    rows = printed_scores()
    rows = rows[(rows["table"] == "4") & (rows["lang"] != "")]
    rows = rows if english else rows[rows["dataset"] == "marvl"]
    means = bootstrap.group_means(rows, ["variant", "model", "metric"], n_resamples=1)
    return cells(
        means["variant"] + ", " + means["model"] + " | avg., " + means["metric"],
        means["value"],
        0.05,
    )


def english_of_zero_shot() -> pd.DataFrame:
    """Return the results in English of the zero-shot rows of Table 4, by the cells of
    translate test.
    """
    found = printed("Table 4").filter(regex=f"^{ZERO}, .* EN, ")
    return cells(found.index.str.replace(ZERO, TRANSLATED), found)


def _ends(name: str, found: pd.Series | np.ndarray) -> pd.DataFrame:
    """Return the smallest and the largest of differences of printed accuracies."""
    return cells(
        {f"smallest {name}": found.min(), f"largest {name}": found.max()}, slack=0.1
    )


def ends_of_drops(average: bool) -> pd.DataFrame:
    """Return the ends of NLVR2's accuracy minus MaRVL's, of the zero-shot models by
    lang (or of their average).
    """
    table = language_scores("4", ZERO)
    table = table.mean(axis=1).to_frame("average") if average else table
    return _ends(
        "drop from NLVR2, zero-shot",
        -table.sub(english_scores(ZERO), axis=0).to_numpy(),
    )


def ends_of_gains(which: str) -> pd.DataFrame:
    """Return the ends of what translate test gains over zero-shot: each model over
    itself ("own"), over each multilingual model ("each"), over their mean ("mean"), or
    the averages over languages of "own" ("averages").
    """
    test, zero = language_scores("4", TRANSLATED), language_scores("4", ZERO)
    over_itself = test.loc[zero.index] - zero
    if which == "each":
        found = pd.concat([stacked(test - zero.loc[model]) for model in zero.index])
    else:
        found = {
            "own": stacked(over_itself),
            "mean": stacked(test - zero.mean()),
            "averages": over_itself.mean(axis=1),
        }[which]
    return _ends("gain of translate test", found)


def gaps(percent: bool = False) -> pd.Series:
    """Return by model how far translate test's average over languages stays below
    NLVR2, points or percent of NLVR2.
    """
    english = english_scores(TRANSLATED)
    found = english - language_scores("4", TRANSLATED).mean(axis=1)
    return 100 * found / english if percent else found


def smallest_gap(percent: bool, mean: bool = False) -> pd.DataFrame:
    """Return the smallest of `gaps`, or their mean."""
    found = gaps(percent)
    slack = (
        0.25 if percent else 0.1
    )  # both numbers are off by at most 0.05, and NLVR2's is above 60
    return cells(
        {
            "smallest gap between translate test and NLVR2": (
                found.mean() if mean else found.min()
            )
        },
        slack=slack,
    )


def by_hand() -> pd.Series:
    """Return by model what manual translation of MaRVL-ZH gains over machine
    translation, points of accuracy.
    """
    hand = language_scores("5", BY_HAND)["zh"]
    return hand - language_scores("4", TRANSLATED)["zh"][hand.index]


def ends_of_manual_gains(whole: bool) -> pd.DataFrame:
    """Return the smallest and the largest gain of `by_hand` without mUNITER, in whole
    points cut off where `whole`.
    """
    found = by_hand().drop("mUNITER").round(1)
    return _ends(
        "gain of manual translation, without mUNITER",
        np.floor(found) if whole else found,
    )


def text_of_table_5() -> pd.DataFrame:
    """Return what the text says of Table 5: the mean drop from NLVR2, and losses from
    English to Chinese.
    """
    hand = language_scores("5", BY_HAND)["zh"]
    drop = (english_scores(TRANSLATED)[hand.index] - hand).mean()
    found = {"average drop from NLVR2 to manually translated MaRVL-ZH": drop}
    for model in ("mUNITER", "xUNITER"):
        part = printed("Table 5").filter(regex=f"^{model} .*NLVR2 .*accuracy")
        found[f"loss from NLVR2 1k to its Chinese, {model}"] = (
            part.iloc[0] - part.iloc[1]
        )
    return cells(found, slack=0.1)


def spreads(kind: str, chapter: str = "Cognition") -> pd.Series:
    """Return by model how far the accuracies of a chapter spread over the languages,
    points.

    `kind`: "sd" (over the languages), "range", or of the differences from ALL
    "deviation" (standard deviation), "rms" (root mean square) or "mean".
    """
    rows = select_scores("Figure 9", ZERO).pivot_table(
        index=["model", "lang"], columns="chapter", values="value"
    )
    values, off = (
        rows[chapter].groupby("model"),
        (rows[chapter] - rows[""]).groupby("model"),
    )
    if kind in ("sd", "range"):
        return values.std(ddof=0) if kind == "sd" else values.max() - values.min()
    if kind == "deviation":
        return off.std(ddof=0)
    return (
        np.sqrt(off.agg(lambda part: (part**2).mean()))
        if kind == "rms"
        else off.agg(lambda part: part.abs().mean())
    )


def spread(kind: str) -> pd.DataFrame:
    """Return how many times as far the accuracies of mUNITER spread as those of
    xUNITER, by `spreads`.
    """
    found = spreads(kind)
    ratio = found["mUNITER"] / found["xUNITER"]
    # A spread of numbers that are off by at most 0.05 is off by at most 0.1, that of
    # differences included.
    slack = (found["mUNITER"] + 0.1) / (found["xUNITER"] - 0.1) - ratio
    return cells(
        {"spread of mUNITER on Cognition, times that of xUNITER": ratio}, slack=slack
    )


DEFINITIONS = definitions.of_module(PAPER, "liu2021", globals())
