"""Liu et al. (2021), MaRVL: Tables 1 to 3 and what the text says of them, computed again."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from babelatlas.analysis import coverage
from babelatlas.lexicon import labels
from babelatlas.papers import claims
from babelatlas.papers.definitions import cells
from babelatlas.papers.liu2021.release import BASE, FIELDS, LANGUAGES, SAMPLE, counts, marvl
from babelatlas.stats import rounding

PAPER = "liu2021"
VALIDATED, VALIDATORS = 200, 2  # Section 4: examples of a language that were labelled again, and by how many


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


def averages(place: str, half: dict[str, float]) -> pd.DataFrame:
    """Return the mean over languages of some rows; `half`: half a unit of the row's print."""
    means = {f"{row} | avg.": row_of(place, row).to_numpy().mean() for row in half}
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


def row_of(place: str, row: str) -> pd.Series:
    """Return a row of a printed table, indexed by lang."""
    found = printed(place)
    return pd.Series({lang: found[f"{row} | {lang.upper()}"] for lang in LANGUAGES}, name=row)


def totals() -> pd.DataFrame:
    """Return the sums of the rows of Table 2."""
    return cells(
        {f"{row} | tot.": row_of("Table 2", row).sum() for row in ("Concepts selected", "Total images", *ROWS)}
    )


def _not_in_wordnet(row: str) -> np.ndarray:
    return rounding.nearest_share(row_of("Table 2", "% not in WordNet"), row_of("Table 2", row), 100)


def not_in_wordnet(row: str) -> pd.DataFrame:
    """Return the shares of the concepts of a row that are nearest to the printed percentages."""
    return cells([f"% not in WordNet | {lang.upper()}" for lang in LANGUAGES], _not_in_wordnet(row))


def all_not_in_wordnet() -> pd.DataFrame:
    """Return the share of all concepts selected, from the counts that the languages' percentages stand for."""
    selected = row_of("Table 2", "Concepts selected")
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
    selected, kept = row_of("Table 2", "Concepts selected"), row_of("Table 2", "with >8 images")
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
    return cells(values.index, rounding.nearest_share(values, int(row_of("Table 2", row).sum()), 100))


def lowest_kappa() -> pd.DataFrame:
    """Return the lowest Fleiss' kappa of Table 1."""
    return cells({"lowest Fleiss' kappa": row_of("Table 1", "Fleiss' kappa").min()})


def swahili_accuracy() -> pd.DataFrame:
    """Return the accuracy of people in Swahili, percent, of Table 1."""
    return cells({"human accuracy in Swahili": 100 * row_of("Table 1", "Human accuracy")["sw"]})


def fewest_examples() -> pd.DataFrame:
    """Return the number of examples of the language that has fewest."""
    return cells({"examples of a language, at least": marvl("examples").min()})


def kappa_sizes(kappa: float, accuracy: float, sizes: Sequence[int]) -> list[int]:
    """Return the numbers of examples, half of them true, that allow both an accuracy and a kappa (three decimals)."""
    found = []
    for n in sizes:
        wrong = round((1 - accuracy) * n * VALIDATORS)
        close = abs(1 - wrong / n / VALIDATORS - accuracy) <= 0.0005 + 1e-9
        if close and (np.abs(kappas(wrong, n) - kappa) <= 0.0005 + 1e-9).any():
            found.append(n)
    return found
