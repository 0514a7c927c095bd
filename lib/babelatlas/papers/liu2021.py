"""The numbers of Liu et al. (2021), MaRVL: Tables 1 to 5, Figure 9 and the statistics of captions, computed again.

What MaRVL's annotations (CC BY 4.0, github.com/marvl-challenge/marvl-code) and the sentences of NLVR2 in the same
release say is counted once, by `python -m babelatlas.papers.liu2021 --folder FOLDER`, and ships as `COUNTS`; so nothing here
needs the files. The answers of the models are not released. What is tested of an accuracy or a consistency is then
whether it can be a share of the examples or captions that there are (`rounding.nearest_share`).

Columns of the counts: `set` ("marvl", "nlvr2 test": NLVR2's public test set, "nlvr2 250": the 250 sentences that were
translated into Chinese), `lang`, `chapter` ("" for all), `tokens` (how captions were cut into tokens, "" where that
does not matter), `statistic`, `value`. Statistics of captions are of unique ones.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.analysis import coverage
from babelatlas.base import published, tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import reasoning
from babelatlas.lexicon import labels
from babelatlas.papers import claims, definitions
from babelatlas.papers.definitions import cells
from babelatlas.papers.liu2021_counts import BASE, COUNTS, FIELDS, LANGUAGES, SAMPLE, count, counts, marvl
from babelatlas.stats import bootstrap, rounding, tests

PAPER = "liu2021"
VALIDATED, VALIDATORS = 200, 2  # Section 4: examples of a language that were labelled again, and by how many
ZERO, TRANSLATED, BY_HAND = "zero-shot", "translate test", "translated to English by hand"
# The paper is read by machine here, and a single digit may be read wrongly.
READ = "Only one digit carries this: our copy of the paper, read by machine, may have it wrong."


def printed(place: str) -> pd.Series:
    """Return what the paper prints in a place, indexed by cell, as numbers; they are the claims that ship."""
    return claims.printed(PAPER, place)


# Table 1 ------------------------------------------------------------------------------------------------------------


def human_accuracy() -> pd.DataFrame:
    """Return the shares of labels nearest to the printed accuracies of people."""
    found = printed("Table 1").filter(regex="^Human accuracy \\| [A-Z]")
    return cells(found.index, rounding.nearest_share(found, VALIDATED * VALIDATORS))


def kappas(n_wrong: int, n: int = VALIDATED, share: float = 0.5) -> np.ndarray:
    """Return every Fleiss' kappa that `n` examples can have when two validators err in `n_wrong` labels altogether.

    Three raters: the writer, whose labels are the truth, and the validators; `share` of all labels given are "true".
    An example that anybody disagrees on has one pair of three in agreement, so that kappa follows from their number,
    which lies between half of the wrong labels and all of them (Fleiss 1971).

    >>> kappas(12).round(3).tolist()
    [0.96, 0.953, 0.947, 0.94, 0.933, 0.927, 0.92]
    """
    disputed = np.arange(-(-n_wrong // VALIDATORS), min(n_wrong, n) + 1)
    by_chance = share**2 + (1 - share) ** 2
    return 1 - 2 / 3 * disputed / n / (1 - by_chance)


def nearest_kappa(most: float = 0.5) -> pd.DataFrame:
    """Return the nearest of `kappas`, where half to `most` of the labels are the same, in steps of 0.25 points."""
    found, accuracies = {}, printed("Table 1")
    for lang in LANGUAGES:
        accuracy, name = accuracies[f"Human accuracy | {lang.upper()}"], f"Fleiss' kappa | {lang.upper()}"
        wrong = round((1 - accuracy) * VALIDATED * VALIDATORS)
        shares = np.arange(0.5, most + 0.0001, 0.0025)
        possible = np.concatenate([kappas(wrong, share=share) for share in shares])
        found[name] = possible[np.abs(possible - accuracies[name]).argmin()]
    return cells(found)


def _averages(place: str, half: dict[str, float]) -> pd.DataFrame:
    """Return the mean over languages of some rows; `half`: half a unit of the row's print."""
    means = {f"{row} | avg.": _row_of(place, row).to_numpy().mean() for row in half}
    return cells(means, slack=list(half.values()))


# Table 2 ------------------------------------------------------------------------------------------------------------

ROWS = {
    "with >8 images": "concepts",
    "used for captions": "images",
    "Total examples": "examples",
    "Total unique captions": "captions",
}


def release_sizes() -> pd.DataFrame:
    """Return the rows of Table 2 as counted in the release, and the size of NLVR2 1k."""
    sizes = counts()["nlvr2 250", "en", "", ""]
    found = {f"{row} | {lang.upper()}": marvl(name)[lang] for row, name in ROWS.items() for lang in LANGUAGES}
    found |= {"descriptions of NLVR2 1k": sizes["captions"], "examples of NLVR2 1k": sizes["examples"]}
    return cells(found)


def _row_of(place: str, row: str) -> pd.Series:
    """Return a row of a printed table, indexed by lang."""
    found = printed(place)
    return pd.Series({lang: found[f"{row} | {lang.upper()}"] for lang in LANGUAGES}, name=row)


def totals() -> pd.DataFrame:
    """Return the sums of the rows of Table 2."""
    return cells(
        {f"{row} | tot.": _row_of("Table 2", row).sum() for row in ("Concepts selected", "Total images", *ROWS)}
    )


def _not_in_wordnet(row: str) -> np.ndarray:
    return rounding.nearest_share(_row_of("Table 2", "% not in WordNet"), _row_of("Table 2", row), 100)


def not_in_wordnet(row: str) -> pd.DataFrame:
    """Return the shares of the concepts of a row that are nearest to the printed percentages."""
    return cells([f"% not in WordNet | {lang.upper()}" for lang in LANGUAGES], _not_in_wordnet(row))


def all_not_in_wordnet() -> pd.DataFrame:
    """Return the share of all concepts selected, from the counts that the languages' percentages stand for."""
    selected = _row_of("Table 2", "Concepts selected")
    return cells({"% not in WordNet | tot.": (_not_in_wordnet(selected.name) * selected).sum() / selected.sum()})


# Table 3 ------------------------------------------------------------------------------------------------------------


def wordings(tokens: str = BASE, sample: str = "") -> pd.DataFrame:
    """Return statistics of captions under a tokenizer: index lang (en: NLVR2), columns captions, length, types, ttr.

    `sample`: "" for all unique captions (of NLVR2 the 250 that were translated), "first" for the first 250, "expected"
    for what 250 drawn at random have on average (of NLVR2 from all of the test set).
    """
    rows = {}
    for lang in ("en", *LANGUAGES):
        name = "marvl" if lang != "en" else "nlvr2 test" if sample == "expected" else "nlvr2 250"
        part = counts()[name, lang, "", tokens]
        captions, total, types = counts()[name, lang, "", "", "captions"], part["tokens"], part["types"]
        if sample == "first" and captions > SAMPLE:
            captions, total, types = SAMPLE, part[f"tokens, first {SAMPLE}"], part[f"types, first {SAMPLE}"]
        elif sample == "expected":
            total, types = total / captions * SAMPLE, part[f"types, expected in {SAMPLE}"]
            captions = SAMPLE
        rows[lang] = {"captions": captions, "length": total / captions, "types": types, "ttr": types / total}
    return pd.DataFrame(rows).T


def wording_cells(tokens: str = BASE, sample: str = "") -> pd.DataFrame:
    """Return the cells of `wordings`."""
    table = wordings(tokens, sample)
    if not tokens.startswith("characters"):
        table.loc["zh"] = np.nan  # a sentence of Chinese is one word to these
    else:
        table = table.loc[["zh"]]
    names = {"length": "Avg. length", "types": "Word types", "ttr": "TTR"}
    return cells({f"{row} | {lang.upper()}": table.loc[lang, c] for c, row in names.items() for lang in table.index})


def printed_ttr(captions: int | None = None) -> pd.DataFrame:
    """Return types over (length times captions), all printed; `captions`: a number for all, else those of Table 2."""
    sizes = {"en": SAMPLE, **marvl("captions")} if captions is None else dict.fromkeys(("en", *LANGUAGES), captions)
    table, found, slack = printed("Table 3"), {}, {}
    for lang, n in sizes.items():
        name, types = f"TTR | {lang.upper()}", table[f"Word types | {lang.upper()}"]
        length = table[f"Avg. length | {lang.upper()}"]
        found[name] = types / (length * n)
        slack[name] = types / ((length - 0.05) * n) - found[name]  # the larger of the two ends
    return cells(found, slack=slack)


def release_averages() -> pd.DataFrame:
    """Return the mean of the lengths counted in the release and, for Chinese, printed."""
    means = wordings().loc[[lang for lang in LANGUAGES if lang != "zh"], "length"].sum()
    length = (means + printed("Table 3")["Avg. length | ZH"]) / len(LANGUAGES)
    return cells({"Avg. length | avg.": length}, slack=0.05 / len(LANGUAGES))


def means_over_languages() -> pd.DataFrame:
    """Return the means over languages of Tables 1 to 4."""
    parts = [
        _averages("Table 1", {"Human accuracy": 0.0005, "Fleiss' kappa": 0.0005}),
        cells({"% not in WordNet | tot.": _row_of("Table 2", "% not in WordNet").mean()}, slack=0.05),
        _averages("Table 3", {"Avg. length": 0.05, "Word types": 0, "TTR": 0.005}),
        table_4_averages(english=False),
    ]
    return pd.concat(parts, ignore_index=True)


# Tables 4 and 5, Figure 9 -------------------------------------------------------------------------------------------


@cache
def scores() -> pd.DataFrame:
    """Return Tables 4 and 5 and Figure 9 in percent, with the column `chapter` of the figure. Do not change it."""
    table = published.read(PAPER)
    table["value"] *= 100
    chapter = table["variant"].str.partition(", ")[2]
    inside = chapter.isin(list(FIELDS))
    return table.assign(chapter=chapter.where(inside, ""), variant=table["variant"].mask(inside, ZERO))


def _select(table: str, variant: str, metric: str = "accuracy") -> pd.DataFrame:
    rows = scores()
    return rows[(rows["table"] == table) & (rows["variant"] == variant) & (rows["metric"] == metric)]


def _languages(table: str, variant: str, metric: str = "accuracy") -> pd.DataFrame:
    """Return the printed numbers of MaRVL by model (rows) and lang (columns), in percent."""
    rows = _select(table, variant, metric)
    rows = rows[(rows["dataset"] == "marvl") & (rows["lang"] != "") & (rows["chapter"] == "")]
    return rows.pivot(index="model", columns="lang", values="value")


def _long(table: pd.DataFrame) -> pd.Series:
    """Return a table of models and languages as one series, indexed by model and lang."""
    long = table.rename_axis(index="model", columns=None).reset_index().melt("model", var_name="lang")
    return long.set_index(["model", "lang"])["value"]


def _english(variant: str) -> pd.Series:
    """Return the accuracy on NLVR2 by model, in percent."""
    rows = _select("4", variant)
    return rows[rows["dataset"] == "nlvr2"].set_index("model")["value"]


def right_answers() -> pd.DataFrame:
    """Return how many answers were right: model, lang, chapter, printed (%), n, right, from Figure 9 and the release.

    A chapter has so few examples that its printed accuracy leaves one count possible; `right` is the nearest one.
    """
    rows = _select("Figure 9", ZERO)
    rows = rows[rows["chapter"] != ""][["model", "lang", "chapter", "value"]].rename(columns={"value": "printed"})
    n = [int(counts()["marvl", row.lang, row.chapter, "", "examples"]) for row in rows.itertuples()]
    right = np.rint(rounding.nearest_share(rows["printed"], np.array(n), 100) / 100 * n).astype(int)
    return rows.assign(n=n, right=right).reset_index(drop=True)


def nearest_chapters() -> pd.DataFrame:
    """Return the shares of a chapter's examples nearest to Figure 9."""
    table = right_answers()
    names = table["chapter"] + " | " + table["model"] + ", " + table["lang"]
    return cells(names, 100 * table["right"] / table["n"])


def overall() -> pd.Series:
    """Return the accuracy over all chapters, percent, by model and lang, from the right answers of each chapter."""
    sums = right_answers().groupby(["model", "lang"], sort=False)[["right", "n"]].sum()
    return 100 * sums["right"] / sums["n"]


def sum_of_chapters(tables: Sequence[str] = ("4", "9"), decimals: int | None = None) -> pd.DataFrame:
    """Return `overall` by the cells of Table 4 and Figure 9, rounded to `decimals` first where they are given."""
    values = overall() if decimals is None else overall().round(decimals)
    found = {}
    for (model, lang), value in values.items():
        names = {"4": f"{ZERO}, {model} | {lang.upper()}, accuracy", "9": f"ALL | {model}, {lang}"}
        found |= {names[table]: value for table in tables}
    return cells(found)


def mean_of_chapters() -> pd.DataFrame:
    """Return the mean of the chapters' printed accuracies."""
    means = bootstrap.group_means(right_answers(), ["model", "lang"], "printed", "chapter", n_resamples=1)
    return cells("ALL | " + means["model"] + ", " + means["lang"], means["value"], 0.05)


def numbers_of_table_4() -> pd.DataFrame:
    """Return the zero-shot accuracies of Table 4 by the cells of Figure 9."""
    rows = _long(_languages("4", ZERO))
    return cells({f"ALL | {model}, {lang}": value for (model, lang), value in rows.items()}, slack=0.05)


def sentences_that_fit(
    values: Sequence[float], most: int, least: int = 200, twice: bool = True
) -> tuple[list[int], int]:
    """Return the numbers of sentences, `least` to `most`, that allow most of the consistencies (%), and how many."""
    found = rounding.denominators(values, range(least, most + 1), twice=twice)
    best = found["met"].max()
    return found.loc[found["met"] == best, "n"].tolist(), int(best)


def translated_consistency(search: bool, twice: bool) -> pd.DataFrame:
    """Return the shares nearest to the consistencies of translate test: of the captions of Table 2, or of the number
    of sentences that fits best (`search`); `twice`: rounded to two decimals first."""
    table, found = _languages("4", TRANSLATED, "consistency"), {}
    for lang in LANGUAGES:
        n = int(marvl("captions")[lang])
        if search:
            n = sentences_that_fit(table[lang], n, twice=twice)[0][-1]
        values = pd.Series(rounding.nearest_share(table[lang], n, 100), table.index)
        values = values.round(2) if twice else values
        found |= {f"{TRANSLATED}, {m} | {lang.upper()}, consistency": v for m, v in values.items()}
    return cells(found)


def _consistency_of_chinese(search: bool) -> pd.DataFrame:
    """Return the same for Table 5's consistencies of MaRVL in Chinese, and for those of translate train."""
    n, found = int(marvl("captions")["zh"]), {}
    for values in (
        printed("Table 5").filter(like="MaRVL ZH→EN, consistency"),
        printed("Section 6").filter(regex="^translate train, .*consistency"),
    ):
        best = sentences_that_fit(values, n, twice=False)[0][-1] if search else n
        found |= dict(zip(values.index, rounding.nearest_share(values, best, 100), strict=True))
    return cells(found)


def nearest_consistency() -> pd.DataFrame:
    """Return the shares of Table 2's captions nearest to all consistencies that are tested against them."""
    table, found = _languages("4", ZERO, "consistency"), {}
    for lang in LANGUAGES:
        values = rounding.nearest_share(table[lang], int(marvl("captions")[lang]), 100)
        found |= {f"{ZERO}, {m} | {lang.upper()}, consistency": v for m, v in zip(table.index, values, strict=True)}
    parts = [cells(found), translated_consistency(False, False), _consistency_of_chinese(False)]
    return pd.concat(parts, ignore_index=True)


def fitting_consistency() -> pd.DataFrame:
    """Return the shares of the numbers of sentences that fit best, of translated data."""
    return pd.concat([translated_consistency(True, False), _consistency_of_chinese(True)], ignore_index=True)


def nlvr2_consistency() -> pd.DataFrame:
    """Return the shares of the sentences of NLVR2 1k nearest to its consistencies."""
    values = printed("Table 5").filter(regex="NLVR2 .*consistency")
    return cells(
        values.index, rounding.nearest_share(values, int(counts()["nlvr2 250", "en", "", "", "captions"]), 100)
    )


def table_4_averages(english: bool) -> pd.DataFrame:
    """Return the means over languages of Table 4, with English on NLVR2 or without."""
    rows = scores()
    rows = rows[(rows["table"] == "4") & (rows["lang"] != "")]
    rows = rows if english else rows[rows["dataset"] == "marvl"]
    means = bootstrap.group_means(rows, ["variant", "model", "metric"], n_resamples=1)
    return cells(means["variant"] + ", " + means["model"] + " | avg., " + means["metric"], means["value"], 0.05)


def english_of_zero_shot() -> pd.DataFrame:
    """Return the results in English of the zero-shot rows of Table 4, by the cells of translate test."""
    found = printed("Table 4").filter(regex=f"^{ZERO}, .* EN, ")
    return cells(found.index.str.replace(ZERO, TRANSLATED), found)


# Running text -------------------------------------------------------------------------------------------------------


def n_dogs(kind: str) -> int:
    """Return how many classes lie below "dog", or are an "animal", or how many "leaves" all WordNet has below dog."""
    if kind == "leaves":
        return int(counts()["wordnet 3.0", "en", "", "", "leaves below dog"])
    facts = coverage.synsets().set_index("wnid").loc[labels.class_list("imagenet-1k")["wnid"]]
    return int((facts["dog"] if kind == "dog" else facts["lexname"] == "noun.animal").sum())


def dog_classes(kind: str) -> pd.DataFrame:
    """Return `n_dogs` as a cell."""
    return cells({"ImageNet-1k synsets that are species of dogs": n_dogs(kind)})


def text_of_table_2() -> pd.DataFrame:
    """Return what the text says of semantic fields and concepts, from Tables 2 and 6."""
    selected, kept = _row_of("Table 2", "Concepts selected"), _row_of("Table 2", "with >8 images")
    fields = sum(map(len, FIELDS.values()))
    return cells(
        {
            "semantic fields kept": fields,
            "fewest concepts of a language": selected.min(),
            "most concepts of a language": selected.max(),
            "concepts filtered out for each language, on average": (selected - kept).mean(),
            "concepts for each semantic field": selected.mean() / fields,
        }
    )


def votes(row: str) -> pd.DataFrame:
    """Return the shares of all concepts of a row nearest to the printed shares of votes."""
    values = printed("Section 3.3").filter(like="votes")
    return cells(values.index, rounding.nearest_share(values, int(_row_of("Table 2", row).sum()), 100))


def lowest_kappa() -> pd.DataFrame:
    """Return the lowest Fleiss' kappa of Table 1."""
    return cells({"lowest Fleiss' kappa": _row_of("Table 1", "Fleiss' kappa").min()})


def swahili_accuracy() -> pd.DataFrame:
    """Return the accuracy of people in Swahili, percent, of Table 1."""
    return cells({"human accuracy in Swahili": 100 * _row_of("Table 1", "Human accuracy")["sw"]})


def fewest_examples() -> pd.DataFrame:
    """Return the number of examples of the language that has fewest."""
    return cells({"examples of a language, at least": marvl("examples").min()})


def drops(average: bool = False) -> pd.DataFrame:
    """Return NLVR2's accuracy minus MaRVL's, points, of the zero-shot models by lang (or of their average)."""
    table = _languages("4", ZERO)
    table = table.mean(axis=1).to_frame("average") if average else table
    return -table.sub(_english(ZERO), axis=0)


def ends_of_drops(average: bool) -> pd.DataFrame:
    """Return the smallest and the largest of `drops`."""
    found = drops(average).to_numpy()
    return cells(
        {"smallest drop from NLVR2, zero-shot": found.min(), "largest drop from NLVR2, zero-shot": found.max()},
        slack=0.1,
    )


def gains(which: str) -> pd.Series:
    """Return what translate test gains over zero-shot, points: each model over itself ("own"), over each multilingual
    model ("each"), over their mean ("mean"), or the averages over languages, each model over itself ("averages")."""
    test, zero = _languages("4", TRANSLATED), _languages("4", ZERO)
    if which == "own":
        return _long(test.loc[zero.index] - zero)
    if which == "each":
        return pd.concat({model: _long(test - zero.loc[model]) for model in zero.index})
    if which == "mean":
        return _long(test - zero.mean())
    return (test.loc[zero.index] - zero).mean(axis=1)


def ends_of_gains(which: str) -> pd.DataFrame:
    """Return the smallest and the largest of `gains`."""
    found = gains(which)
    ends = {"smallest gain of translate test": found.min(), "largest gain of translate test": found.max()}
    return cells(ends, slack=0.1)


def gaps(percent: bool = False) -> pd.Series:
    """Return by model how far translate test's average over languages stays below NLVR2, points or percent of NLVR2."""
    english = _english(TRANSLATED)
    found = english - _languages("4", TRANSLATED).mean(axis=1)
    return 100 * found / english if percent else found


def smallest_gap(percent: bool, mean: bool = False) -> pd.DataFrame:
    """Return the smallest of `gaps`, or their mean."""
    found = gaps(percent)
    slack = 0.1 if not percent else 0.25  # both numbers are off by at most 0.05, and NLVR2's is above 60
    value = found.mean() if mean else found.min()
    return cells({"smallest gap between translate test and NLVR2": value}, slack=slack)


def by_hand() -> pd.Series:
    """Return by model what manual translation of MaRVL-ZH gains over machine translation, points of accuracy."""
    hand = _languages("5", BY_HAND)["zh"]
    return hand - _languages("4", TRANSLATED)["zh"][hand.index]


def ends_of_manual_gains(whole: bool) -> pd.DataFrame:
    """Return the smallest and the largest gain of `by_hand` without mUNITER, in whole points cut off where `whole`."""
    found = by_hand().drop("mUNITER").round(1)
    found = np.floor(found) if whole else found
    name = "gain of manual translation, without mUNITER"
    return cells({f"smallest {name}": found.min(), f"largest {name}": found.max()}, slack=0.1)


def text_of_table_5() -> pd.DataFrame:
    """Return what the text says of Table 5: the mean drop from NLVR2, and losses from English to Chinese."""
    hand = _languages("5", BY_HAND)["zh"]
    drop = (_english(TRANSLATED)[hand.index] - hand).mean()
    found = {"average drop from NLVR2 to manually translated MaRVL-ZH": drop}
    for model in ("mUNITER", "xUNITER"):
        part = printed("Table 5").filter(regex=f"^{model} .*NLVR2 .*accuracy")
        found[f"loss from NLVR2 1k to its Chinese, {model}"] = part.iloc[0] - part.iloc[1]
    return cells(found, slack=0.1)


def spreads(kind: str, chapter: str = "Cognition") -> pd.Series:
    """Return by model how far the accuracies of a chapter spread over the languages, points.

    `kind`: "sd" (over the languages), "range", or of the differences from ALL "deviation" (standard deviation), "rms"
    (root mean square) or "mean".
    """
    rows = _select("Figure 9", ZERO).pivot_table(index=["model", "lang"], columns="chapter", values="value")
    values, off = rows[chapter].groupby("model"), (rows[chapter] - rows[""]).groupby("model")
    if kind in ("sd", "range"):
        return values.std(ddof=0) if kind == "sd" else values.max() - values.min()
    if kind == "deviation":
        return off.std(ddof=0)
    return np.sqrt(off.agg(lambda part: (part**2).mean())) if kind == "rms" else off.agg(lambda part: part.abs().mean())


SPREADS = {
    "deviation": "standard deviation over the languages of the difference from ALL",
    "sd": "standard deviation over the languages",
    "rms": "root mean square difference from ALL",
    "mean": "mean absolute difference from ALL",
    "range": "range over the languages",
}


def spread(kind: str) -> pd.DataFrame:
    """Return how many times as far the accuracies of mUNITER spread as those of xUNITER, by `spreads`."""
    found = spreads(kind)
    ratio = found["mUNITER"] / found["xUNITER"]
    # A spread of numbers that are off by at most 0.05 is off by at most 0.1, that of differences included.
    slack = (found["mUNITER"] + 0.1) / (found["xUNITER"] - 0.1) - ratio
    return cells({"spread of mUNITER on Cognition, times that of xUNITER": ratio}, slack=slack)


def differences(metric: str, variant: str = ZERO) -> pd.DataFrame:
    """Return every pair of models in every language of Table 4, tested as independent samples (`reasoning.share_test`).

    Columns: lang ("" for all five together), first, second, k_first, k_second, n, p, p_holm (corrected for the number
    of rows). Counts are the nearest to the printed shares; n is the number of examples, or of captions, of translate
    test the number of sentences that fits best (`sentences_that_fit`). The same examples are put to all models, and
    those of one caption belong together, which the test knows nothing of.
    """
    table = _languages("4", variant, metric)
    sizes = marvl("examples" if metric == "accuracy" else "captions").astype(int)
    if metric == "consistency" and variant == TRANSLATED:
        sizes = pd.Series({lang: sentences_that_fit(table[lang], n)[0][-1] for lang, n in sizes.items()})
    right = np.rint(table[list(LANGUAGES)] / 100 * sizes).astype(int)
    right[""], sizes[""] = right.sum(axis=1), sizes.sum()
    rows = []
    for lang, n in sizes.items():
        for place, first in enumerate(table.index):
            for second in table.index[place + 1 :]:
                k = right.loc[first, lang], right.loc[second, lang]
                rows.append([lang, first, second, *k, n, reasoning.share_test((k[0], n), (k[1], n))])
    table = pd.DataFrame(rows, columns=["lang", "first", "second", "k_first", "k_second", "n", "p"])
    return table.assign(p_holm=tests.holm(table["p"]))


DEFINITIONS = definitions.read(PAPER, "liu2021", globals())


# What does not fit -------------------------------------------------------------------------------------------------


def errata(available: dict[str, Path] | None = None) -> pd.DataFrame:
    """Return what does not fit in the paper's numbers, each with the computation that shows it (`scorecard.errata`).

    A further column, `cells`: the claims that it is about, a tuple of their cells.
    """
    return definitions.errata(PAPER, "liu2021", _data_facts() | _consistency_facts() | _text_facts())


def kappa_sizes(kappa: float, accuracy: float, sizes: Sequence[int]) -> list[int]:
    """Return the numbers of examples, half of them true, that allow both an accuracy and a kappa (three decimals)."""
    found = []
    for n in sizes:
        wrong = round((1 - accuracy) * n * VALIDATORS)
        close = abs(1 - wrong / n / VALIDATORS - accuracy) <= 0.0005 + 1e-9
        if close and (np.abs(kappas(wrong, n) - kappa) <= 0.0005 + 1e-9).any():
            found.append(n)
    return found


def _data_facts() -> dict[str, dict]:
    """Return what concerns the data set: Tables 1 to 3."""
    images, total = _row_of("Table 2", "Total images"), printed("Table 2")["Total images | tot."]
    length, table = wordings(), printed("Table 3")
    spaced = [lang for lang in LANGUAGES if lang != "zh"]
    kappa, accuracy = (_row_of("Table 1", row)["tr"] for row in ("Fleiss' kappa", "Human accuracy"))
    wrong = round((1 - accuracy) * VALIDATED * VALIDATORS)
    possible = kappas(wrong)
    shares = np.arange(0.5, 1, 0.0025)
    fits = [share for share in shares if np.abs(kappas(wrong, share=share) - kappa).min() <= 0.0005]
    sizes = kappa_sizes(kappa, accuracy, range(VALIDATED, VALIDATED + 11))
    sentences, repeated = marvl("captions"), marvl("repeated examples")

    def listed(values: Mapping[str, float], form: str = ".2f") -> str:
        return ", ".join(f"{lang.upper()} {value:{form}}" for lang, value in values.items())

    return {
        "images": {
            "total": total,
            "terms": " + ".join(f"{n:,.0f}" for n in images),
            "sum": images.sum(),
            "off": abs(total - images.sum()),
            "read": READ,
            "cells": ("Total images | tot.",),
        },
        "tamil": {
            "used": _row_of("Table 2", "used for captions")["ta"],
            "found": marvl("images")["ta"],
            "cells": ("used for captions | TA",),
        },
        "limit": {"limit": printed("Section 3.4")["valid images below which a concept is discarded"]},
        "swahili": {
            "printed": table["Avg. length | SW"],
            "length": length.loc["sw", "length"],
            "tokenizer": BASE,
            "types": length.loc["sw", "types"],
            "average": table["Avg. length | avg."],
            "mean": release_averages()["value"].iloc[0],
            "cells": ("Avg. length | SW",),
        },
        "ttr": {
            "sample": SAMPLE,
            "printed": listed({lang: table[f"TTR | {lang.upper()}"] for lang in length.index}),
            "least": sentences.min(),
            "most": sentences.max(),
            "exact": listed((length["types"] / (length["length"] * SAMPLE))[spaced], ".3f"),
            "all": listed(length["ttr"][spaced]),
            "chinese": table["Word types | ZH"] / (table["Avg. length | ZH"] * sentences["zh"]),
            "cells": tuple(f"TTR | {lang.upper()}" for lang in LANGUAGES),
        },
        "kappa": {
            "kappa": kappa,
            "n": VALIDATED,
            "accuracy": accuracy,
            "wrong": wrong,
            "n_labels": VALIDATED * VALIDATORS,
            "possible": ", ".join(f"{value:.3f}" for value in possible),
            "share": 100 * min(fits),
            "sizes": " or ".join(map(str, sizes)),
            "nearest": possible[np.abs(possible - kappa).argmin()],
            "read": READ,
            "cells": ("Fleiss' kappa | TR",),
        },
        "balance": {
            "balanced": listed(marvl("captions, two true and two false"), ",.0f"),
            "captions": listed(sentences, ",.0f"),
            "repeated": listed(repeated[repeated > 0], ",.0f"),
            "n_repeated": repeated.sum(),
        },
    }


def _consistency_facts() -> dict[str, dict]:
    """Return what concerns the printed shares of Tables 4 and 5 and Figure 9."""
    test = _languages("4", TRANSLATED, "consistency")
    odd, captions = test.loc["xUNITER", "tr"], marvl("captions").astype(int)
    average, n = printed("Table 4")[f"{TRANSLATED}, xUNITER | avg., consistency"], captions["tr"]
    four = test.loc["xUNITER"].drop("tr").sum()
    low, high = len(LANGUAGES) * (average - 0.05) - four - 0.2, len(LANGUAGES) * (average + 0.05) - four + 0.2
    possible = [k for k in range(n + 1) if low <= 100 * k / n <= high]
    figure, table = _select("Figure 9", ZERO), _languages("4", ZERO)
    exact = overall()
    figure = figure[figure["chapter"] == ""].set_index(["model", "lang"])["value"]
    table = _long(table).reindex(figure.index)
    off = figure.index[(figure - table).abs() > 0.01]
    fitting, n_whole, chances = {}, 0, []
    for lang in LANGUAGES:
        values = test[lang].drop("xUNITER") if lang == "tr" else test[lang]
        fitting[lang] = sentences_that_fit(values, captions[lang])
        n_whole += int(rounding.denominators(values, [captions[lang]], twice=True)["met"].iloc[0])
        chances.append(rounding.chance_of_fit(values, range(200, captions[lang] + 1), twice=True))
    chinese = printed("Table 5").filter(like="MaRVL ZH→EN, consistency")
    hand = sentences_that_fit(chinese, captions["zh"], twice=False)
    train = printed("Section 6").filter(regex="^translate train, .*consistency")
    at = [rounding.denominators(values, [captions["zh"]], twice=True)["met"].iloc[0] for values in (chinese, train)]
    return {
        "xuniter": {
            "printed": odd,
            "average": average,
            "chinese": test.loc["xUNITER", "zh"],
            "mean": test.loc["xUNITER"].mean(),
            "low": low,
            "high": high,
            "n": n,
            "nearest": rounding.nearest_share(odd, n, 100),
            "read": READ,
            "least": 100 * possible[0] / n,
            "most": 100 * possible[-1] / n,
            "k_least": possible[0],
            "k_most": possible[-1],
            "perhaps": odd + 10,
            "cells": tuple(f"{TRANSLATED}, xUNITER | {lang}, consistency" for lang in ("TR", "avg.")),
        },
        "figure-9": {
            "n_off": len(off),
            "n": len(figure),
            "pairs": "; ".join(
                f"{m} {lang.upper()} {table[m, lang]:.1f} and {figure[m, lang]:.1f} (exactly {exact[m, lang]:.3f})"
                for m, lang in off
            ),
            "cells": tuple(f"{ZERO}, {m} | {lang.upper()}, accuracy" for m, lang in off),
        },
        "consistency": {
            "n": test.size - 1,
            "n_whole": n_whole,
            "n_met": sum(count for _, count in fitting.values()),
            "sizes": ", ".join(f"{lang.upper()} {' or '.join(map(str, n))}" for lang, (n, _) in fitting.items()),
            "n_captions": captions["zh"],
            "n_chinese": len(chinese),
            "at_chinese": at[0],
            "n_hand": hand[1],
            "sizes_hand": " or ".join(map(str, hand[0])),
            "n_train": len(train),
            "at_train": at[1],
            "chance_least": 100 * min(chances),
            "chance_most": 100 * max(chances),
        },
    }


def _text_facts() -> dict[str, dict]:
    """Return what concerns statements of the text."""
    gain = by_hand().drop("mUNITER").round(1)
    voted = printed("Section 3.3").filter(like="votes")
    concepts = [int(_row_of("Table 2", row).sum()) for row in ("Concepts selected", "with >8 images")]
    return {
        "by-hand": {
            "gains": ", ".join(f"{model} {value:+.1f}" for model, value in gain.items()),
            "least": gain.min(),
            "most": gain.max(),
            "larger": " and ".join(gain[gain >= 2.5].sort_values().index),
            "mean": gain.mean(),
            "cells": ("largest gain of manual translation, without mUNITER",),
        },
        "votes": {
            "three": voted.iloc[0],
            "two": voted.iloc[1],
            "nearest": "; ".join(
                f"{' and '.join(f'{value:.2f}' for value in rounding.nearest_share(voted, n, 100))} of {n}"
                for n in concepts
            ),
            "cells": tuple(voted.index),
        },
        "dogs": {
            "printed": printed("Section 2.3")["ImageNet-1k synsets that are species of dogs"],
            "dogs": n_dogs("dog"),
            "leaves": n_dogs("leaves"),
            "cells": ("ImageNet-1k synsets that are species of dogs",),
        },
    }


def main(arguments: list[str] | None = None) -> int:
    """Count again what ships, from MaRVL's release; return the exit status: 0, or 1 where a file cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m babelatlas.papers.liu2021", description=main.__doc__)
    parser.add_argument("--folder", required=True, help="folder of the release, with its subfolder data")
    options = parser.parse_args(arguments)
    try:
        table = count(tables.locate(options.folder))
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    table.to_csv(COUNTS, index=False, lineterminator="\n")
    print(f"{len(table):,} counts of MaRVL and NLVR2: {COUNTS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
