"""Liu et al. (2021), MaRVL: Tables 4 and 5, Figure 9 and what the text says of them, computed again."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd

from babelatlas.base import published
from babelatlas.evaluation import reasoning
from babelatlas.papers.definitions import cells
from babelatlas.papers.liu2021.dataset_tables import PAPER, averages, printed, row_of
from babelatlas.papers.liu2021.release import FIELDS, LANGUAGES, counts, marvl
from babelatlas.stats import bootstrap, rounding, tests

ZERO, TRANSLATED, BY_HAND = "zero-shot", "translate test", "translated to English by hand"


def means_over_languages() -> pd.DataFrame:
    """Return the means over languages of Tables 1 to 4."""
    parts = [
        averages("Table 1", {"Human accuracy": 0.0005, "Fleiss' kappa": 0.0005}),
        cells({"% not in WordNet | tot.": row_of("Table 2", "% not in WordNet").mean()}, slack=0.05),
        averages("Table 3", {"Avg. length": 0.05, "Word types": 0, "TTR": 0.005}),
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


def select_scores(table: str, variant: str, metric: str = "accuracy") -> pd.DataFrame:
    """Return the rows of `scores` of one table, variant and metric."""
    rows = scores()
    return rows[(rows["table"] == table) & (rows["variant"] == variant) & (rows["metric"] == metric)]


def language_scores(table: str, variant: str, metric: str = "accuracy") -> pd.DataFrame:
    """Return the printed numbers of MaRVL by model (rows) and lang (columns), in percent."""
    rows = select_scores(table, variant, metric)
    rows = rows[(rows["dataset"] == "marvl") & (rows["lang"] != "") & (rows["chapter"] == "")]
    return rows.pivot(index="model", columns="lang", values="value")


def stacked(table: pd.DataFrame) -> pd.Series:
    """Return a table of models and languages as one series, indexed by model and lang."""
    long = table.rename_axis(index="model", columns=None).reset_index().melt("model", var_name="lang")
    return long.set_index(["model", "lang"])["value"]


def english_scores(variant: str) -> pd.Series:
    """Return the accuracy on NLVR2 by model, in percent."""
    rows = select_scores("4", variant)
    return rows[rows["dataset"] == "nlvr2"].set_index("model")["value"]


def right_answers() -> pd.DataFrame:
    """Return how many answers were right: model, lang, chapter, printed (%), n, right, from Figure 9 and the release.

    A chapter has so few examples that its printed accuracy leaves one count possible; `right` is the nearest one.
    """
    rows = select_scores("Figure 9", ZERO)
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
    rows = stacked(language_scores("4", ZERO))
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
    table, found = language_scores("4", TRANSLATED, "consistency"), {}
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
    table, found = language_scores("4", ZERO, "consistency"), {}
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


def drops(average: bool = False) -> pd.DataFrame:
    """Return NLVR2's accuracy minus MaRVL's, points, of the zero-shot models by lang (or of their average)."""
    table = language_scores("4", ZERO)
    table = table.mean(axis=1).to_frame("average") if average else table
    return -table.sub(english_scores(ZERO), axis=0)


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
    test, zero = language_scores("4", TRANSLATED), language_scores("4", ZERO)
    if which == "own":
        return stacked(test.loc[zero.index] - zero)
    if which == "each":
        return pd.concat({model: stacked(test - zero.loc[model]) for model in zero.index})
    if which == "mean":
        return stacked(test - zero.mean())
    return (test.loc[zero.index] - zero).mean(axis=1)


def ends_of_gains(which: str) -> pd.DataFrame:
    """Return the smallest and the largest of `gains`."""
    found = gains(which)
    ends = {"smallest gain of translate test": found.min(), "largest gain of translate test": found.max()}
    return cells(ends, slack=0.1)


def gaps(percent: bool = False) -> pd.Series:
    """Return by model how far translate test's average over languages stays below NLVR2, points or percent of NLVR2."""
    english = english_scores(TRANSLATED)
    found = english - language_scores("4", TRANSLATED).mean(axis=1)
    return 100 * found / english if percent else found


def smallest_gap(percent: bool, mean: bool = False) -> pd.DataFrame:
    """Return the smallest of `gaps`, or their mean."""
    found = gaps(percent)
    slack = 0.1 if not percent else 0.25  # both numbers are off by at most 0.05, and NLVR2's is above 60
    value = found.mean() if mean else found.min()
    return cells({"smallest gap between translate test and NLVR2": value}, slack=slack)


def by_hand() -> pd.Series:
    """Return by model what manual translation of MaRVL-ZH gains over machine translation, points of accuracy."""
    hand = language_scores("5", BY_HAND)["zh"]
    return hand - language_scores("4", TRANSLATED)["zh"][hand.index]


def ends_of_manual_gains(whole: bool) -> pd.DataFrame:
    """Return the smallest and the largest gain of `by_hand` without mUNITER, in whole points cut off where `whole`."""
    found = by_hand().drop("mUNITER").round(1)
    found = np.floor(found) if whole else found
    name = "gain of manual translation, without mUNITER"
    return cells({f"smallest {name}": found.min(), f"largest {name}": found.max()}, slack=0.1)


def text_of_table_5() -> pd.DataFrame:
    """Return what the text says of Table 5: the mean drop from NLVR2, and losses from English to Chinese."""
    hand = language_scores("5", BY_HAND)["zh"]
    drop = (english_scores(TRANSLATED)[hand.index] - hand).mean()
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
    rows = select_scores("Figure 9", ZERO).pivot_table(index=["model", "lang"], columns="chapter", values="value")
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
    table = language_scores("4", variant, metric)
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
