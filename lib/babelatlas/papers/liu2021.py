"""The numbers of Liu et al. (2021), MaRVL: Tables 1 to 5, Figure 9 and the statistics of captions, computed again.

What MaRVL's annotations (CC BY 4.0, github.com/marvl-challenge/marvl-code) and the sentences of NLVR2 in the same
release say is counted once, by `babelatlas ship liu2021 --folder FOLDER`, and ships as `COUNTS`; so nothing here
needs the files. The answers of the models are not released. What is tested of an accuracy or a consistency is then
whether it can be a share of the examples or captions that there are (`rounding.nearest_share`).

Columns of the counts: `set` ("marvl", "nlvr2 test": NLVR2's public test set, "nlvr2 250": the 250 sentences that were
translated into Chinese), `lang`, `chapter` ("" for all), `tokens` (how captions were cut into tokens, "" where that
does not matter), `statistic`, `value`. Statistics of captions are of unique ones.
"""

import os
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.analysis import coverage
from babelatlas.base import published
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA
from babelatlas.evaluation import reasoning
from babelatlas.lexicon import labels, wordnets
from babelatlas.papers import claims
from babelatlas.papers.scorecard import Definition
from babelatlas.stats import bootstrap, rounding, tests

PAPER = "liu2021"
COUNTS = DATA / "liu2021_counts.csv"
LANGUAGES = ("id", "sw", "zh", "tr", "ta")
# Table 6 of the paper: the chapters of the Intercontinental Dictionary Series that it uses, and their semantic fields.
FIELDS = {
    "Animal": ("bird", "mammal"),
    "Food and Beverages": ("food", "beverages"),
    "Clothing and grooming": ("clothing",),
    "The house": ("interior", "exterior"),
    "Agriculture and vegetation": ("flower", "fruit", "vegetable", "agriculture"),
    "Basic actions and technology": ("utensil/tool",),
    "Motion": ("sport",),
    "Time": ("celebrations",),
    "Cognition": ("education",),
    "Speech and language": ("music (instruments)", "visual arts"),
    "Religion and belief": ("religion",),
}
SAMPLE = 250  # Section 4: how many sentences of NLVR2 the statistics of captions are of
VALIDATED, VALIDATORS = 200, 2  # Section 4: examples of a language that were labelled again, and by how many
ZERO, TRANSLATED, BY_HAND = "zero-shot", "translate test", "translated to English by hand"
BASE = "TweetTokenizer"
# The paper is read by machine here, and a single digit may be read wrongly.
READ = "Only one digit carries this: our copy of the paper, read by machine, may have it wrong."


def _punctuation(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"


def _bare(text: str) -> str:
    return "".join(character for character in text if not _punctuation(character))


def tokenizers() -> dict[str, Callable[[str], list[str]]]:
    """Return ways to cut a caption into tokens, by name; those of NLTK that need no data, and plain ones."""
    from nltk.tokenize import NLTKWordTokenizer, TweetTokenizer, WordPunctTokenizer

    return {
        "white space": str.split,
        "white space without punctuation": lambda text: [word for word in map(_bare, text.split()) if word],
        "WordPunctTokenizer": WordPunctTokenizer().tokenize,
        "NLTKWordTokenizer": NLTKWordTokenizer().tokenize,
        "TweetTokenizer": TweetTokenizer().tokenize,
        "characters": lambda text: [character for character in text if not character.isspace()],
        "characters without punctuation": lambda text: [c for c in _bare(text) if not c.isspace()],
    }


def count(folder: str | os.PathLike) -> pd.DataFrame:
    """Return the counts of MaRVL's release in `folder`; raise InputError where one of its files is absent or no JSON.

    Besides counts, the number of types to be expected in 250 captions drawn at random (`reasoning.expected_types`). And
    what WordNet 3.0 has below "dog", for which NLTK must find it (`wordnets.read_wordnets`).
    """
    parts = []
    for lang in LANGUAGES:
        table = _lines(Path(folder) / "data" / lang / "annotations" / f"marvl-{lang}.jsonl", ["caption", "concept"])
        table = table.rename(columns={"caption": "sentence"})
        parts.append(_facts(table, "marvl", lang))
        parts += [
            _row("marvl", lang, "examples", len(part), chapter)
            for chapter, part in table.groupby("chapter", sort=False)
        ]
        images = pd.concat([table["left_img"], table["right_img"]])
        double = table.duplicated(["sentence", "left_img", "right_img"])
        parts += [
            _row("marvl", lang, "concepts", table["concept"].nunique()),
            _row("marvl", lang, "images", images.nunique()),
            _row("marvl", lang, "repeated examples", double.sum()),
            _row("marvl", lang, "captions, translated", _translated(folder, lang)["caption"].nunique()),
        ]
        parts.append(_wordings(table["sentence"], "marvl", lang, list(tokenizers())))
    for name, path in (
        ("nlvr2 test", "en/annotations/test.jsonl"),
        ("nlvr2 250", "en/annotations/test250-en.jsonl"),
    ):
        table = _lines(Path(folder) / "data" / path, ["sentence", "label"])
        names = [BASE] if name == "nlvr2 test" else list(tokenizers())
        parts += [_facts(table, name, "en"), _wordings(table["sentence"], name, "en", names)]
    table = _lines(Path(folder) / "data/zh/annotations_human-translate/test250-zh.jsonl", ["sentence", "label"])
    parts += [_facts(table, "nlvr2 250", "zh"), _below_dog()]
    return pd.concat(parts, ignore_index=True)


def _lines(path: Path, columns: list[str]) -> pd.DataFrame:
    if not path.is_file():
        raise InputError(f"There is no file {path}: give the folder of MaRVL's release, with its subfolder data.")
    try:
        table = pd.read_json(path, lines=True)
    except ValueError as error:
        raise InputError(f"The file {path} holds no JSON lines ({error}): fetch MaRVL's release again.") from error
    lacking = [column for column in columns if column not in table]
    if lacking:
        raise InputError(f"The file {path} has no {', '.join(lacking)}: give a file of annotations of MaRVL or NLVR2.")
    return table


def _translated(folder: str | os.PathLike, lang: str) -> pd.DataFrame:
    path = Path(folder) / "data" / lang / "annotations_machine-translate" / f"marvl-{lang}_gmt.jsonl"
    return _lines(path, ["caption"])


def _below_dog() -> pd.DataFrame:
    """Return how many synsets of WordNet 3.0 lie below "dog", and how many of these have none below them."""
    below = set(wordnets.synsets([coverage.DOG], download=False)[0].closure(lambda each: each.hyponyms()))
    values = {"synsets below dog": len(below), "leaves below dog": sum(not each.hyponyms() for each in below)}
    return pd.concat([_row("wordnet 3.0", "en", statistic, value) for statistic, value in values.items()])


def _row(name: str, lang: str, statistic: str, value: float, chapter: str = "", tokens: str = "") -> pd.DataFrame:
    row = {"set": name, "lang": lang, "chapter": chapter, "tokens": tokens, "statistic": statistic, "value": value}
    return pd.DataFrame([row]).astype({"value": float})


def _facts(table: pd.DataFrame, name: str, lang: str) -> pd.DataFrame:
    """Return how many examples and captions there are, how many are true, and captions by their number of examples."""
    truth = table["label"].astype(str).str.lower() == "true"
    by_caption = truth.groupby(table["sentence"], sort=False).agg(["size", "sum"])
    values = {
        "examples": len(table),
        "true": truth.sum(),
        "captions": len(by_caption),
        "captions, two true and two false": ((by_caption["size"] == 4) & (by_caption["sum"] == 2)).sum(),
    }
    sizes = by_caption["size"].value_counts().sort_index()
    values |= {f"captions with {size} examples": n for size, n in sizes.items()}
    return pd.concat([_row(name, lang, statistic, value) for statistic, value in values.items()])


def _wordings(sentences: pd.Series, name: str, lang: str, names: list[str]) -> pd.DataFrame:
    """Return tokens and types of the unique captions for the tokenizers, as they are written and in lower case."""
    unique, parts = sentences.drop_duplicates().tolist(), []
    for tokens, tokenize in ((tokens, tokenizers()[tokens]) for tokens in names):
        for suffix, texts in (("", unique), (", lower case", [text.lower() for text in unique])):
            samples = {"": texts, f", first {SAMPLE}": texts[:SAMPLE]} if len(texts) > SAMPLE else {"": texts}
            for which, sample in samples.items():
                found = reasoning.wording(sample, tokenize)
                for statistic in ("tokens", "types"):
                    parts.append(_row(name, lang, statistic + which, found[statistic], tokens=tokens + suffix))
            expected = round(reasoning.expected_types(texts, tokenize, SAMPLE), 2)
            parts.append(_row(name, lang, f"types, expected in {SAMPLE}", expected, tokens=tokens + suffix))
    return pd.concat(parts)


@cache
def counts() -> pd.Series:
    """Return the counts that ship, indexed by set, lang, chapter, tokens and statistic. Do not change the series."""
    table = pd.read_csv(COUNTS, dtype={"chapter": str, "tokens": str}, keep_default_na=False)
    return table.set_index(["set", "lang", "chapter", "tokens", "statistic"])["value"].sort_index()


def marvl(statistic: str, chapter: str = "", tokens: str = "") -> pd.Series:
    """Return one of the counts for each language of MaRVL, indexed by lang in the order of the paper's tables.

    >>> marvl("captions").astype(int).to_dict()
    {'id': 282, 'sw': 276, 'zh': 253, 'tr': 295, 'ta': 305}
    """
    return pd.Series({lang: counts()["marvl", lang, chapter, tokens, statistic] for lang in LANGUAGES})


@cache
def printed(place: str) -> pd.Series:
    """Return what the paper prints in a place, indexed by cell, as numbers; they are the claims that ship."""
    table = claims.read(DATA / "claims" / f"{PAPER}.csv")
    table = table[table["place"] == place]
    return pd.Series([claims.value(text) for text in table["printed"]], index=table["cell"])


def _cells(rows: dict[str, float] | pd.Series, slack: float | pd.Series = 0.0) -> pd.DataFrame:
    rows = pd.Series(rows, dtype=float)
    return pd.DataFrame({"cell": rows.index, "value": rows.to_numpy()}).assign(
        slack=slack if np.isscalar(slack) else pd.Series(slack).reindex(rows.index).to_numpy()
    )


# Table 1 ------------------------------------------------------------------------------------------------------------


def _human_accuracy(folders) -> pd.DataFrame:
    cells = printed("Table 1").filter(regex="^Human accuracy \\| [A-Z]")
    return _cells(pd.Series(rounding.nearest_share(cells, VALIDATED * VALIDATORS), cells.index))


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


def _kappa(shares: Sequence[float]) -> Callable:
    def compute(folders) -> pd.DataFrame:
        cells, accuracies = {}, printed("Table 1")
        for lang in LANGUAGES:
            accuracy, name = accuracies[f"Human accuracy | {lang.upper()}"], f"Fleiss' kappa | {lang.upper()}"
            wrong = round((1 - accuracy) * VALIDATED * VALIDATORS)
            possible = np.concatenate([kappas(wrong, share=share) for share in shares])
            cells[name] = possible[np.abs(possible - accuracies[name]).argmin()]
        return _cells(cells)

    return compute


def _averages(place: str, ends: str, half: dict[str, float]) -> Callable:
    """Return a definition that takes the mean over languages of each row; `half`: half a unit of the row's print."""

    def compute(folders) -> pd.DataFrame:
        cells = printed(place)
        rows = {row: cells[[f"{row} | {lang.upper()}" for lang in LANGUAGES]].to_numpy() for row in half}
        means = {f"{row} | {ends}": values.mean() for row, values in rows.items()}
        return _cells(means, pd.Series({f"{row} | {ends}": slack for row, slack in half.items()}))

    return compute


# Table 2 ------------------------------------------------------------------------------------------------------------

ROWS = {
    "with >8 images": "concepts",
    "used for captions": "images",
    "Total examples": "examples",
    "Total unique captions": "captions",
}


def _release(folders) -> pd.DataFrame:
    return _cells({f"{row} | {lang.upper()}": marvl(name)[lang] for row, name in ROWS.items() for lang in LANGUAGES})


def _row_of(place: str, row: str) -> pd.Series:
    """Return a row of a printed table, indexed by lang."""
    return pd.Series({lang: printed(place)[f"{row} | {lang.upper()}"] for lang in LANGUAGES})


def _totals(folders) -> pd.DataFrame:
    rows = ("Concepts selected", "Total images", *ROWS)
    return _cells({f"{row} | tot.": _row_of("Table 2", row).sum() for row in rows})


def _not_in_wordnet(row: str) -> Callable:
    def compute(folders) -> pd.DataFrame:
        shares = rounding.nearest_share(_row_of("Table 2", "% not in WordNet"), _row_of("Table 2", row), 100)
        cells = [f"% not in WordNet | {lang.upper()}" for lang in LANGUAGES]
        return _cells(dict(zip(cells, shares, strict=True)))

    return compute


def _all_not_in_wordnet(folders) -> pd.DataFrame:
    selected = _row_of("Table 2", "Concepts selected")
    shares = rounding.nearest_share(_row_of("Table 2", "% not in WordNet"), selected, 100)
    return _cells({"% not in WordNet | tot.": (shares * selected).sum() / selected.sum()})


def _mean_not_in_wordnet(folders) -> pd.DataFrame:
    return _cells({"% not in WordNet | tot.": _row_of("Table 2", "% not in WordNet").mean()}, 0.05)


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


def _wording(tokens: str = BASE, sample: str = "") -> Callable:
    def compute(folders) -> pd.DataFrame:
        table = wordings(tokens, sample)
        if not tokens.startswith("characters"):
            table.loc["zh"] = np.nan  # a sentence of Chinese is one word to these
        else:
            table = table.loc[["zh"]]
        names = {"length": "Avg. length", "types": "Word types", "ttr": "TTR"}
        return _cells(
            {f"{row} | {lang.upper()}": table.loc[lang, c] for c, row in names.items() for lang in table.index}
        )

    return compute


def _printed_ttr(captions: dict[str, float]) -> Callable:
    """Return the definition types over (length times captions), all from the printed table."""

    def compute(folders) -> pd.DataFrame:
        cells, rows, slack = printed("Table 3"), {}, {}
        for lang, n in captions.items():
            name, types = f"TTR | {lang.upper()}", cells[f"Word types | {lang.upper()}"]
            length = cells[f"Avg. length | {lang.upper()}"]
            rows[name] = types / (length * n)
            slack[name] = types / ((length - 0.05) * n) - rows[name]  # the larger of the two ends
        return _cells(rows, pd.Series(slack))

    return compute


def _release_averages(folders) -> pd.DataFrame:
    means = wordings().loc[[lang for lang in LANGUAGES if lang != "zh"], "length"].sum()
    length = (means + printed("Table 3")["Avg. length | ZH"]) / len(LANGUAGES)
    return _cells({"Avg. length | avg.": length}, 0.05 / len(LANGUAGES))


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


def _chapters(folders) -> pd.DataFrame:
    table = right_answers()
    return _cells({f"{row.chapter} | {row.model}, {row.lang}": 100 * row.right / row.n for row in table.itertuples()})


def overall() -> pd.Series:
    """Return the accuracy over all chapters, percent, by model and lang, from the right answers of each chapter."""
    sums = right_answers().groupby(["model", "lang"], sort=False)[["right", "n"]].sum()
    return 100 * sums["right"] / sums["n"]


def _overall(table: str, decimals: int | None = None) -> Callable:
    def compute(folders) -> pd.DataFrame:
        values = overall() if decimals is None else overall().round(decimals)
        if table == "4":
            return _cells({f"{ZERO}, {model} | {lang.upper()}, accuracy": v for (model, lang), v in values.items()})
        return _cells({f"ALL | {model}, {lang}": v for (model, lang), v in values.items()})

    return compute


def _mean_of_chapters(folders) -> pd.DataFrame:
    means = bootstrap.group_means(right_answers(), ["model", "lang"], "printed", "chapter", n_resamples=1)
    return _cells({f"ALL | {row.model}, {row.lang}": row.value for row in means.itertuples()}, 0.05)


def _as_in_table_4(folders) -> pd.DataFrame:
    rows = _long(_languages("4", ZERO))
    return _cells({f"ALL | {model}, {lang}": value for (model, lang), value in rows.items()}, 0.05)


def sentences_that_fit(
    values: Sequence[float], most: int, least: int = 200, twice: bool = True
) -> tuple[list[int], int]:
    """Return the numbers of sentences, `least` to `most`, that allow most of the consistencies (%), and how many."""
    found = rounding.denominators(values, range(least, most + 1), twice=twice)
    best = found["met"].max()
    return found.loc[found["met"] == best, "n"].tolist(), int(best)


def _translated_consistency(search: bool, twice: bool) -> Callable:
    def compute(folders) -> pd.DataFrame:
        table, cells = _languages("4", TRANSLATED, "consistency"), {}
        for lang in LANGUAGES:
            n = int(marvl("captions")[lang])
            if search:
                n = sentences_that_fit(table[lang], n, twice=twice)[0][-1]
            values = pd.Series(rounding.nearest_share(table[lang], n, 100), table.index)
            values = values.round(2) if twice else values
            cells |= {f"{TRANSLATED}, {m} | {lang.upper()}, consistency": v for m, v in values.items()}
        return _cells(cells)

    return compute


def _captions_of_chinese(search: bool) -> Callable:
    """Return the definition for Table 5's consistencies of MaRVL in Chinese, and for those of translate train."""

    def compute(folders) -> pd.DataFrame:
        n = int(marvl("captions")["zh"])
        tables_ = {
            "Table 5": printed("Table 5").filter(like="MaRVL ZH→EN, consistency"),
            "Section 6": printed("Section 6").filter(regex="^translate train, .*consistency"),
        }
        cells = {}
        for values in tables_.values():
            best = sentences_that_fit(values, n, twice=False)[0][-1] if search else n
            cells |= dict(zip(values.index, rounding.nearest_share(values, best, 100), strict=True))
        return _cells(cells)

    return compute


def _zero_consistency(folders) -> pd.DataFrame:
    """Zero-shot consistencies of Table 4 and all others that are tested against Table 2's captions."""
    table, cells = _languages("4", ZERO, "consistency"), {}
    for lang in LANGUAGES:
        values = rounding.nearest_share(table[lang], int(marvl("captions")[lang]), 100)
        cells |= {f"{ZERO}, {m} | {lang.upper()}, consistency": v for m, v in zip(table.index, values, strict=True)}
    parts = [_cells(cells), _translated_consistency(False, False)({}), _captions_of_chinese(False)({})]
    return pd.concat(parts, ignore_index=True)


def _fitting_consistency(folders) -> pd.DataFrame:
    parts = [_translated_consistency(True, False)({}), _captions_of_chinese(True)({})]
    return pd.concat(parts, ignore_index=True)


def _nlvr2_consistency(folders) -> pd.DataFrame:
    values = printed("Table 5").filter(regex="NLVR2 .*consistency")
    n = int(counts()["nlvr2 250", "en", "", "", "captions"])
    return _cells(pd.Series(rounding.nearest_share(values, n, 100), values.index))


def _table_4_averages(english: bool) -> Callable:
    def compute(folders) -> pd.DataFrame:
        rows = scores()
        rows = rows[(rows["table"] == "4") & (rows["lang"] != "")]
        rows = rows if english else rows[rows["dataset"] == "marvl"]
        means = bootstrap.group_means(rows, ["variant", "model", "metric"], n_resamples=1)
        return _cells(
            {f"{row.variant}, {row.model} | avg., {row.metric}": row.value for row in means.itertuples()}, 0.05
        )

    return compute


def _english_again(folders) -> pd.DataFrame:
    cells = printed("Table 4").filter(regex=f"^{ZERO}, .* EN, ")
    return _cells({cell.replace(ZERO, TRANSLATED): value for cell, value in cells.items()})


# Running text -------------------------------------------------------------------------------------------------------


def _dogs(column: str) -> Callable:
    def compute(folders) -> pd.DataFrame:
        if column == "leaves":
            number = counts()["wordnet 3.0", "en", "", "", "leaves below dog"]
            return _cells({"ImageNet-1k synsets that are species of dogs": number})
        facts = coverage.synsets().set_index("wnid").loc[labels.class_list("imagenet-1k")["wnid"]]
        kinds = {"dog": facts["dog"], "animal": facts["lexname"] == "noun.animal"}
        return _cells({"ImageNet-1k synsets that are species of dogs": kinds[column].sum()})

    return compute


def _text_of_table_2(folders) -> pd.DataFrame:
    selected, kept = _row_of("Table 2", "Concepts selected"), _row_of("Table 2", "with >8 images")
    fields = sum(map(len, FIELDS.values()))
    return _cells(
        {
            "semantic fields kept": fields,
            "fewest concepts of a language": selected.min(),
            "most concepts of a language": selected.max(),
            "concepts filtered out for each language, on average": (selected - kept).mean(),
            "concepts for each semantic field": selected.mean() / fields,
        }
    )


def _votes(row: str) -> Callable:
    def compute(folders) -> pd.DataFrame:
        values = printed("Section 3.3").filter(like="votes")
        return _cells(pd.Series(rounding.nearest_share(values, int(_row_of("Table 2", row).sum()), 100), values.index))

    return compute


def _lowest_kappa(folders) -> pd.DataFrame:
    return _cells({"lowest Fleiss' kappa": _row_of("Table 1", "Fleiss' kappa").min()})


def _swahili(folders) -> pd.DataFrame:
    return _cells({"human accuracy in Swahili": 100 * _row_of("Table 1", "Human accuracy")["sw"]})


def _sizes(folders) -> pd.DataFrame:
    sizes = counts()["nlvr2 250", "en", "", ""]
    cells = {"descriptions of NLVR2 1k": sizes["captions"], "examples of NLVR2 1k": sizes["examples"]}
    return pd.concat([_release({}), _cells(cells)], ignore_index=True)


def drops(average: bool = False) -> pd.DataFrame:
    """Return NLVR2's accuracy minus MaRVL's, points, of the zero-shot models by lang (or of their average)."""
    table = _languages("4", ZERO)
    table = table.mean(axis=1).to_frame("average") if average else table
    return -table.sub(_english(ZERO), axis=0)


def _drops(average: bool) -> Callable:
    def compute(folders) -> pd.DataFrame:
        found = drops(average).to_numpy()
        ends = {
            "smallest drop from NLVR2, zero-shot": found.min(),
            "largest drop from NLVR2, zero-shot": found.max(),
        }
        return _cells(ends, 0.1)

    return compute


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


def _gains(which: str) -> Callable:
    def compute(folders) -> pd.DataFrame:
        found = gains(which)
        return _cells(
            {"smallest gain of translate test": found.min(), "largest gain of translate test": found.max()}, 0.1
        )

    return compute


def gaps(percent: bool = False) -> pd.Series:
    """Return by model how far translate test's average over languages stays below NLVR2, points or percent of NLVR2."""
    english = _english(TRANSLATED)
    found = english - _languages("4", TRANSLATED).mean(axis=1)
    return 100 * found / english if percent else found


def _gap(percent: bool, mean: bool = False) -> Callable:
    def compute(folders) -> pd.DataFrame:
        found = gaps(percent)
        slack = 0.1 if not percent else 0.25  # both numbers are off by at most 0.05, and NLVR2's is above 60
        return _cells({"smallest gap between translate test and NLVR2": found.mean() if mean else found.min()}, slack)

    return compute


def by_hand() -> pd.Series:
    """Return by model what manual translation of MaRVL-ZH gains over machine translation, points of accuracy."""
    hand = _languages("5", BY_HAND)["zh"]
    return hand - _languages("4", TRANSLATED)["zh"][hand.index]


def _by_hand(whole: bool) -> Callable:
    def compute(folders) -> pd.DataFrame:
        found = by_hand().drop("mUNITER").round(1)
        found = np.floor(found) if whole else found
        cells = {
            "smallest gain of manual translation, without mUNITER": found.min(),
            "largest gain of manual translation, without mUNITER": found.max(),
        }
        return _cells(cells, 0.1)

    return compute


def _table_5_text(folders) -> pd.DataFrame:
    hand = _languages("5", BY_HAND)["zh"]
    drop = (_english(TRANSLATED)[hand.index] - hand).mean()
    cells = {"average drop from NLVR2 to manually translated MaRVL-ZH": drop}
    for model in ("mUNITER", "xUNITER"):
        part = printed("Table 5").filter(regex=f"^{model} .*NLVR2 .*accuracy")
        cells[f"loss from NLVR2 1k to its Chinese, {model}"] = part.iloc[0] - part.iloc[1]
    return _cells(cells, 0.1)


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


def _spread(kind: str) -> Callable:
    def compute(folders) -> pd.DataFrame:
        found = spreads(kind)
        ratio = found["mUNITER"] / found["xUNITER"]
        # A spread of numbers that are off by at most 0.05 is off by at most 0.1, that of differences included.
        slack = (found["mUNITER"] + 0.1) / (found["xUNITER"] - 0.1) - ratio
        return _cells({"spread of mUNITER on Cognition, times that of xUNITER": ratio}, slack)

    return compute


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


# Definitions --------------------------------------------------------------------------------------------------------

SEARCHED = "found by search among all numbers of sentences from 200 to that of Table 2"


def _define(name: str, text: str, compute: Callable) -> Definition:
    return Definition(PAPER, name, text, compute)


TOKENS = (
    "white space",
    "white space without punctuation",
    "WordPunctTokenizer",
    "NLTKWordTokenizer",
    "TweetTokenizer",
)
# White space and so on as written and in lower case, characters with and without punctuation, two samples of 250.
ONE_OF = f"found by search, one of {2 * len(TOKENS) + 4} ways that were tried, as the paper names no tokenizer"
DEFINITIONS: tuple[Definition, ...] = (
    _define(
        "nearest share of 400 labels",
        "The share of 200 examples labelled by two validators that is nearest to the printed accuracy.",
        _human_accuracy,
    ),
    _define(
        "nearest kappa of 200 examples",
        "The nearest Fleiss' kappa that 200 examples, half of them true, can have with the printed accuracy.",
        _kappa([0.5]),
    ),
    _define(
        "nearest kappa of 200 examples, at most 60 % with one label",
        "The nearest Fleiss' kappa where 50 to 60 % of the labels may be the same, in steps of 0.25 points.",
        _kappa(np.arange(0.5, 0.6001, 0.0025)),
    ),
    _define(
        "mean over languages",
        "The mean of the five printed numbers of the languages.",
        lambda folders: pd.concat(
            [
                _averages("Table 1", "avg.", {"Human accuracy": 0.0005, "Fleiss' kappa": 0.0005})({}),
                _mean_not_in_wordnet({}),
                _averages("Table 3", "avg.", {"Avg. length": 0.05, "Word types": 0, "TTR": 0.005})({}),
                _table_4_averages(False)({}),
            ],
            ignore_index=True,
        ),
    ),
    _define(
        "mean over languages and English",
        "The mean of the printed numbers of MaRVL's languages and of English on NLVR2.",
        _table_4_averages(True),
    ),
    _define(
        "mean over languages of the release, TweetTokenizer",
        "The mean of the lengths counted in the release and, for Chinese, printed.",
        _release_averages,
    ),
    _define("counts of the release", "Counted in the released annotations.", _sizes),
    _define("sum over languages", "The printed numbers of the five languages added up.", _totals),
    _define(
        "nearest share of concepts selected",
        "The share of the concepts selected that is nearest to the printed percentage.",
        _not_in_wordnet("Concepts selected"),
    ),
    _define(
        "nearest share of concepts with images",
        "The share of the concepts with enough images that is nearest to the printed percentage.",
        _not_in_wordnet("with >8 images"),
    ),
    _define(
        "counts of the languages added up, of concepts selected",
        "The numbers of concepts that the languages' percentages stand for, over all concepts selected.",
        _all_not_in_wordnet,
    ),
    *(
        _define(
            f"{name}{case}",
            f"Tokens and types of the unique captions by {name}{case or ', as written'}; {ONE_OF}.",
            _wording(name + case),
        )
        for name in TOKENS
        for case in ("", ", lower case")
    ),
    *(
        _define(name, f"Every character is a token, of Chinese only; {ONE_OF}.", _wording(name))
        for name in ("characters", "characters without punctuation")
    ),
    _define(
        f"{BASE}, first 250 captions",
        f"Tokens and types of the first 250 unique captions by {BASE}; {ONE_OF}.",
        _wording(BASE, "first"),
    ),
    _define(
        f"expected in 250 captions, {BASE}",
        f"What 250 unique captions drawn at random have on average by {BASE}; of English from NLVR2's test sentences; "
        f"{ONE_OF}.",
        _wording(BASE, "expected"),
    ),
    _define(f"types over tokens, {BASE}", f"Types over tokens of all unique captions by {BASE}.", _wording(BASE)),
    _define(
        f"types over tokens, {BASE}, first 250 captions",
        f"Types over tokens of the first 250 unique captions by {BASE}.",
        _wording(BASE, "first"),
    ),
    _define(
        "printed types over printed length times captions",
        "The printed word types over the printed average length times the captions of Table 2 (English: 250).",
        lambda folders: _printed_ttr({"en": SAMPLE, **marvl("captions")})(folders),
    ),
    _define(
        "printed types over printed length times 250",
        "The printed word types over the printed average length times 250, in every language; found by search.",
        _printed_ttr(dict.fromkeys(("en", *LANGUAGES), SAMPLE)),
    ),
    _define(
        "right answers of all chapters",
        "The right answers that the chapters of Figure 9 stand for, over all examples of the release.",
        lambda folders: pd.concat([_overall("4")({}), _overall("9")({})], ignore_index=True),
    ),
    _define(
        "right answers of all chapters, rounded to two decimals first",
        "The same, rounded to two decimals and then again to one, halves either way; found by search.",
        _overall("4", 2),
    ),
    _define("mean of the chapters", "The mean of the chapters' printed accuracies.", _mean_of_chapters),
    _define("as printed in Table 4", "The zero-shot accuracy that Table 4 prints.", _as_in_table_4),
    _define(
        "nearest share of the chapter's examples",
        "The share of the chapter's examples in the release that is nearest to the printed accuracy.",
        _chapters,
    ),
    _define(
        "nearest share of Table 2's captions",
        "The share of the unique captions of Table 2 that is nearest to the printed consistency.",
        _zero_consistency,
    ),
    _define(
        "nearest share of Table 2's captions, rounded to two decimals first",
        "The same, rounded to two decimals and then again to one, halves either way.",
        _translated_consistency(False, True),
    ),
    _define(
        "nearest share of the number of sentences that fits best",
        f"The nearest share of the number of sentences that allows most of the consistencies, {SEARCHED}.",
        _fitting_consistency,
    ),
    _define(
        "nearest share of the number of sentences that fits best, rounded to two decimals first",
        f"The same, rounded to two decimals and then again to one, halves either way; the number is {SEARCHED}.",
        _translated_consistency(True, True),
    ),
    _define(
        "nearest share of 250 sentences",
        "The share of the 250 sentences of NLVR2 1k that is nearest to the printed consistency.",
        _nlvr2_consistency,
    ),
    _define("as printed in the zero-shot rows", "What Table 4 prints for the model higher up.", _english_again),
    _define(
        "classes below dog in WordNet",
        "The classes of ImageNet-1k whose synset lies below dog in WordNet 3.0.",
        _dogs("dog"),
    ),
    _define(
        "synsets below dog in WordNet that have none below them",
        "The leaves below dog in all of WordNet 3.0, classes or not; found by search.",
        _dogs("leaves"),
    ),
    _define("animals among the classes", "The classes of ImageNet-1k in WordNet's noun.animal.", _dogs("animal")),
    *(
        _define(name, text, _text_of_table_2)
        for name, text in (
            ("semantic fields of Table 6", "The semantic fields that Table 6 names."),
            ("concepts selected in Table 2", "The smallest and the largest number of concepts selected."),
            ("concepts selected minus concepts with images", "The mean over languages of the two rows' difference."),
            ("concepts selected over languages and fields", "Concepts selected, by language and semantic field."),
        )
    ),
    _define(
        "nearest share of all concepts selected",
        "The share of all concepts selected that is nearest to the printed percentage.",
        _votes("Concepts selected"),
    ),
    _define(
        "nearest share of all concepts with images",
        "The share of all concepts with enough images that is nearest to the printed percentage.",
        _votes("with >8 images"),
    ),
    _define("lowest of Table 1", "The lowest Fleiss' kappa that Table 1 prints.", _lowest_kappa),
    _define("as printed in Table 1", "Read in Table 1.", _swahili),
    _define(
        "smallest number of examples in the release",
        "The number of examples of the language that has fewest.",
        lambda folders: _cells({"examples of a language, at least": marvl("examples").min()}),
    ),
    _define("drop in each language", "NLVR2 minus MaRVL in Table 4, model by model and language.", _drops(False)),
    _define("drop of the average", "NLVR2 minus the mean over MaRVL's languages, model by model.", _drops(True)),
    _define(
        "gain of a model over its own zero-shot result in each language",
        "Translate test minus zero-shot of the two multilingual models in each language.",
        _gains("own"),
    ),
    _define(
        "gain of every baseline over each zero-shot model in each language",
        "Translate test of every model minus zero-shot of each multilingual one in each language.",
        _gains("each"),
    ),
    _define(
        "gain of every baseline over the zero-shot mean in each language",
        "Translate test of every model minus the mean of the multilingual ones in each language.",
        _gains("mean"),
    ),
    _define(
        "gain of the averages",
        "Translate test minus zero-shot of the two multilingual models, means over languages.",
        _gains("averages"),
    ),
    _define(
        "smallest gap of an average, points",
        "NLVR2 minus the mean over languages, in points, of the model with the smallest gap.",
        _gap(False),
    ),
    _define(
        "smallest gap of an average, percent of NLVR2",
        "The same gap as a percentage of the accuracy on NLVR2.",
        _gap(True),
    ),
    _define(
        "mean gap of the averages, points",
        "NLVR2 minus the mean over languages, in points, mean over models.",
        _gap(False, mean=True),
    ),
    _define(
        "gain over machine translation",
        "Table 5 minus Table 4's translate test in Chinese, all models but mUNITER.",
        _by_hand(False),
    ),
    _define(
        "gain over machine translation, whole points dropped",
        "The same, cut to whole points.",
        _by_hand(True),
    ),
    _define(
        "mean over models of NLVR2 minus manual translation",
        "Table 4's accuracy on NLVR2 minus Table 5's on MaRVL translated by hand, mean over models.",
        _table_5_text,
    ),
    _define("English minus Chinese in Table 5", "NLVR2 1k in English minus in Chinese, accuracy.", _table_5_text),
    _define(
        "standard deviation over languages of the difference from ALL",
        "The standard deviation over languages of the chapter less ALL, one model's over the other's; of the "
        f"{len(SPREADS)} measures tried the one that also has mUNITER deviate least on Agriculture, as the paper says.",
        _spread("deviation"),
    ),
    _define(
        "standard deviation over languages",
        "The standard deviation of the chapter's accuracy over languages, one model's over the other's.",
        _spread("sd"),
    ),
    _define(
        "root mean square difference from ALL",
        "The same for the difference of the chapter from ALL, as root mean square over languages.",
        _spread("rms"),
    ),
    _define(
        "mean absolute difference from ALL",
        "The same for the absolute difference of the chapter from ALL, mean over languages.",
        _spread("mean"),
    ),
    _define("range over languages", "Highest minus lowest, one model's over the other's.", _spread("range")),
)


# What does not fit -------------------------------------------------------------------------------------------------


def errata(available: dict[str, Path] | None = None) -> pd.DataFrame:
    """Return what does not fit in the paper's numbers, each with the computation that shows it (`scorecard.errata`).

    A further column, `cells`: the claims that it is about, a tuple of their cells.
    """
    usual = {"paper": PAPER, "kind": "follows", "sort": "inconsistency", "conclusion": "No.", "cells": ()}
    rows = [*_data_errata(), *_consistency_errata(), *_text_errata()]
    columns = ["paper", "place", "finding", "evidence", "corrected", "conclusion", "kind", "sort", "cells"]
    return pd.DataFrame([usual | row for row in rows])[columns]


def kappa_sizes(kappa: float, accuracy: float, sizes: Sequence[int]) -> list[int]:
    """Return the numbers of examples, half of them true, that allow both an accuracy and a kappa (three decimals)."""
    found = []
    for n in sizes:
        wrong = round((1 - accuracy) * n * VALIDATORS)
        close = abs(1 - wrong / n / VALIDATORS - accuracy) <= 0.0005 + 1e-9
        if close and (np.abs(kappas(wrong, n) - kappa) <= 0.0005 + 1e-9).any():
            found.append(n)
    return found


def _data_errata() -> list[dict[str, str]]:
    """Return what concerns the data set: Tables 1 to 3."""
    images, total = _row_of("Table 2", "Total images"), printed("Table 2")["Total images | tot."]
    used, there = _row_of("Table 2", "used for captions")["ta"], marvl("images")["ta"]
    length, cells = wordings(), printed("Table 3")
    said = cells["Avg. length | SW"]
    means = _release_averages({})["value"].iloc[0]
    shown = ", ".join(f"{lang.upper()} {cells[f'TTR | {lang.upper()}']:.2f}" for lang in length.index)
    spaced = [lang for lang in LANGUAGES if lang != "zh"]
    all_ = ", ".join(f"{lang.upper()} {length['ttr'][lang]:.2f}" for lang in spaced)
    exact = ", ".join(
        f"{lang.upper()} {length['types'][lang] / (length['length'][lang] * SAMPLE):.3f}" for lang in spaced
    )
    chinese = cells["Word types | ZH"] / (cells["Avg. length | ZH"] * marvl("captions")["zh"])
    kappa, accuracy = (_row_of("Table 1", row)["tr"] for row in ("Fleiss' kappa", "Human accuracy"))
    wrong = round((1 - accuracy) * VALIDATED * VALIDATORS)
    possible = kappas(wrong)
    grid = np.arange(0.5, 1, 0.0025)
    fits = [share for share in grid if np.abs(kappas(wrong, share=share) - kappa).min() <= 0.0005]
    sizes = kappa_sizes(kappa, accuracy, range(VALIDATED, VALIDATED + 11))
    balanced = marvl("captions, two true and two false")
    sentences, repeated = marvl("captions"), marvl("repeated examples")
    limit = printed("Section 3.4")["valid images below which a concept is discarded"]
    return [
        {
            "place": "Table 2",
            "finding": f"The total number of images, {total:,.0f}, is not the sum of the five languages.",
            "evidence": f"{' + '.join(f'{n:,.0f}' for n in images)} = {images.sum():,.0f}; the other totals add up. "
            + READ,
            "corrected": f"{images.sum():,.0f}, or one language is off by {abs(total - images.sum()):.0f}.",
            "cells": ("Total images | tot.",),
        },
        {
            "place": "Table 2",
            "finding": f"Tamil captions are said to use {used:.0f} images; the release has {there:.0f}.",
            "evidence": "Different file names in the released annotations; the other four languages agree.",
            "corrected": f"{there:.0f}, unless the release differs from what was counted.",
            "kind": "inference",
            "cells": ("used for captions | TA",),
        },
        {
            "place": "Table 2 and Section 3.4",
            "finding": f"Concepts with fewer than {limit:.0f} valid images are said to be discarded; the row of those "
            f"that were kept is called >{limit:.0f} images.",
            "evidence": f"A concept with {limit:.0f} images is kept by the one and left out by the other; an annotator "
            f"is shown {limit:.0f} images of a concept at a time.",
            "corrected": f"≥{limit:.0f} images, if the text is right.",
        },
        {
            "place": "Table 3",
            "finding": f"The average length of Swahili captions is printed as {said:.1f}.",
            "evidence": f"The released captions have {length.loc['sw', 'length']:.2f} tokens by NLTK's {BASE}, which "
            "gives the printed length and word types of Indonesian, Turkish and Tamil, and the word types of Swahili "
            f"({length.loc['sw', 'types']:.0f}). A digit seems to be lost; the printed average of "
            f"{cells['Avg. length | avg.']:.1f} follows the misprint.",
            "corrected": f"{length.loc['sw', 'length']:.1f}, and {means:.1f} on average.",
            "conclusion": "No: Swahili captions remain longer than English ones.",
            "kind": "inference",
            "cells": ("Avg. length | SW",),
        },
        {
            "place": "Table 3",
            "finding": f"The type-token ratios divide the types of all captions by the tokens of {SAMPLE}.",
            "evidence": f"All six printed ratios ({shown}) are word types over average length times {SAMPLE}, though "
            f"there are {sentences.min():.0f} to {sentences.max():.0f} captions in MaRVL's languages; only English has "
            f"{SAMPLE}. With the exact lengths of the release: {exact}.",
            "corrected": f"Types over tokens of all captions: {all_}; Chinese {chinese:.2f} from printed numbers.",
            "conclusion": "In part: the languages keep their order, but the more captions a language has, the more "
            "its variety was overstated beside English.",
            "kind": "inference",
            "cells": tuple(f"TTR | {lang.upper()}" for lang in LANGUAGES),
        },
        {
            "place": "Table 1",
            "finding": f"Fleiss' kappa of {kappa:.3f} in Turkish is none that {VALIDATED} examples, half of them true, "
            f"have with an accuracy of {accuracy:.3f}.",
            "evidence": f"{wrong} of {VALIDATED * VALIDATORS} labels are wrong then, and kappa is one of "
            f"{', '.join(f'{value:.3f}' for value in possible)}; {kappa:.3f} needs {100 * min(fits):.0f} % of the "
            f"labels to be the same, or {' or '.join(map(str, sizes))} examples. {READ}",
            "corrected": f"{possible[np.abs(possible - kappa).argmin()]:.3f} with {VALIDATED} examples, half of them "
            "true.",
            "conclusion": "No: agreement is almost perfect either way.",
            "kind": "inference",
            "sort": "remark",
            "cells": ("Fleiss' kappa | TR",),
        },
        {
            "place": "Section 3.5",
            "finding": "A caption is said to be true of two pairs and false of the other two; some in the release are "
            "not, and some examples are there twice.",
            "evidence": f"Two and two: {_listed(balanced)} of {_listed(sentences)} unique captions. Repeated: "
            f"{_listed(repeated[repeated > 0])} examples.",
            "corrected": f"{repeated.sum():.0f} examples fewer without the repeated ones.",
            "conclusion": "No, as far as the numbers show; the consistency of a caption with fewer pairs is easier to "
            "reach by guessing, and that of one with more harder.",
            "kind": "inference",
            "sort": "remark",
        },
    ]


def _listed(values: pd.Series) -> str:
    """Return counts by language as text.

    >>> _listed(pd.Series({"id": 3.0, "sw": 4.0}))
    'ID 3, SW 4'
    """
    return ", ".join(f"{lang.upper()} {value:,.0f}" for lang, value in values.items())


def _consistency_errata() -> list[dict[str, str]]:
    """Return what concerns the printed shares of Tables 4 and 5 and Figure 9."""
    test = _languages("4", TRANSLATED, "consistency")
    odd, n = test.loc["xUNITER", "tr"], int(marvl("captions")["tr"])
    average = printed("Table 4")[f"{TRANSLATED}, xUNITER | avg., consistency"]
    four = test.loc["xUNITER"].drop("tr").sum()
    low, high = len(LANGUAGES) * (average - 0.05) - four - 0.2, len(LANGUAGES) * (average + 0.05) - four + 0.2
    counts_ = [k for k in range(n + 1) if low <= 100 * k / n <= high]
    figure, table = _select("Figure 9", ZERO), _languages("4", ZERO)
    exact = overall()
    figure = figure[figure["chapter"] == ""].set_index(["model", "lang"])["value"]
    table = _long(table).reindex(figure.index)
    off = figure.index[(figure - table).abs() > 0.01]
    pairs = "; ".join(
        f"{m} {lang.upper()} {table[m, lang]:.1f} and {figure[m, lang]:.1f} (exactly {exact[m, lang]:.3f})"
        for m, lang in off
    )
    fitting, possible, chances = {}, 0, []
    for lang in LANGUAGES:
        values = test[lang].drop("xUNITER") if lang == "tr" else test[lang]
        fitting[lang] = sentences_that_fit(values, int(marvl("captions")[lang]))
        whole = rounding.denominators(values, [int(marvl("captions")[lang])], twice=True)
        possible += int(whole["met"].iloc[0])
        sizes = range(200, int(marvl("captions")[lang]) + 1)
        chances.append(rounding.chance_of_fit(values, sizes, twice=True))
    tested, met = test.size - 1, sum(count for _, count in fitting.values())
    told = ", ".join(f"{lang.upper()} {' or '.join(map(str, n))}" for lang, (n, _) in fitting.items())
    chinese = printed("Table 5").filter(like="MaRVL ZH→EN, consistency")
    hand = sentences_that_fit(chinese, int(marvl("captions")["zh"]), twice=False)
    train = printed("Section 6").filter(regex="^translate train, .*consistency")
    captions = int(marvl("captions")["zh"])
    at = [rounding.denominators(values, [captions], twice=True)["met"].iloc[0] for values in (chinese, train)]
    return [
        {
            "place": "Table 4",
            "finding": f"The consistency of xUNITER in Turkish (translate test), {odd}, does not go with the printed "
            f"average of {average}; Chinese has the same number ({test.loc['xUNITER', 'zh']}).",
            "evidence": f"With it the average is {test.loc['xUNITER'].mean():.1f}. The average needs {low:.1f} to "
            f"{high:.1f} %, and {odd} is no share of {n} captions ({rounding.nearest_share(odd, n, 100):.2f} is the "
            f"nearest). {READ}",
            "corrected": f"Between {100 * counts_[0] / n:.1f} and {100 * counts_[-1] / n:.1f} "
            f"({counts_[0]} to {counts_[-1]} of {n} captions); perhaps {odd + 10:.1f}, a digit mistaken.",
            "conclusion": "No: the average was taken of the right number.",
            "cells": tuple(f"{TRANSLATED}, xUNITER | {lang}, consistency" for lang in ("TR", "avg.")),
        },
        {
            "place": "Table 4 and Figure 9",
            "finding": f"{len(off)} of {len(figure)} zero-shot accuracies differ by 0.1 between the two.",
            "evidence": f"{pairs}. The chapters' accuracies leave one count of right answers possible each; their sums "
            "round to the figure. That the table rounded them to two decimals first, halves down, is an inference.",
            "corrected": "The figure's ALL.",
            "kind": "inference",
            "cells": tuple(f"{ZERO}, {m} | {lang.upper()}, accuracy" for m, lang in off),
        },
        {
            "place": "Tables 4 and 5, Section 6",
            "finding": "Consistencies of translated data are not shares of the captions of Table 2.",
            "evidence": f"Of {tested} consistencies of translate test (without that of xUNITER in Turkish) {possible} "
            f"can be shares of the captions of Table 2; {met} can with these numbers of sentences: {told}. In Chinese, "
            f"{at[0]} of {len(chinese)} by manual translation can be shares of {captions}, and {hand[1]} of "
            f"{' or '.join(map(str, hand[0]))}; of translate train, {at[1]} of {len(train)} can. Numbers drawn at "
            "random (seed 0, up to 2 points from the printed ones) fit the best of as many sizes as well in "
            f"{100 * min(chances):.1f} to {100 * max(chances):.1f} % of draws, by language.",
            "corrected": "Not known. Captions may have become the same by translation, which the released translations "
            "do not show, or the models may have been tested on an earlier state of the data.",
            "kind": "inference",
            "sort": "remark",
        },
    ]


def _text_errata() -> list[dict[str, str]]:
    """Return what concerns statements of the text."""
    gain = by_hand().drop("mUNITER").round(1)
    larger = gain[gain >= 2.5].sort_values()
    dogs, leaves = (_dogs(which)({})["value"].iloc[0] for which in ("dog", "leaves"))
    said = printed("Section 2.3")["ImageNet-1k synsets that are species of dogs"]
    votes = printed("Section 3.3").filter(like="votes")
    totals = [int(_row_of("Table 2", row).sum()) for row in ("Concepts selected", "with >8 images")]
    near_ = [
        f"{' and '.join(f'{value:.2f}' for value in rounding.nearest_share(votes, n, 100))} of {n}" for n in totals
    ]
    return [
        {
            "place": "Section 6",
            "finding": "Each model but mUNITER is said to improve by only 1-2 % when MaRVL-ZH is translated by hand.",
            "evidence": "Tables 4 and 5: " + ", ".join(f"{m} {v:+.1f}" for m, v in gain.items()) + " points.",
            "corrected": f"{gain.min():.0f} to {gain.max():.0f} points; "
            f"{' and '.join(larger.index)} gain more than the text says.",
            "conclusion": f"In part: machine translation costs {gain.mean():.1f} points on average, not the same for "
            "all models.",
            "cells": ("largest gain of manual translation, without mUNITER",),
        },
        {
            "place": "Section 3.3",
            "finding": f"The shares of concepts with three votes or more, {votes.iloc[0]} %, and with two, "
            f"{votes.iloc[1]} %, are no shares of all concepts of Table 2.",
            "evidence": f"Nearest are {'; '.join(near_)}.",
            "corrected": "Not known; a mean of the five languages' shares can have these digits.",
            "kind": "inference",
            "sort": "remark",
            "cells": tuple(votes.index),
        },
        {
            "place": "Section 2.3",
            "finding": f"{said:.0f} of the 1,000 classes are said to be species of dogs; {dogs:.0f} are.",
            "evidence": f"{dogs:.0f} classes of the list of 2012 lie below dog in WordNet 3.0. In all of WordNet 3.0, "
            f"classes or not, {leaves:.0f} synsets below dog have none below them.",
            "corrected": f"{dogs:.0f}; {said:.0f} seems to be the count of all of WordNet.",
            "conclusion": "No: dogs are many among the classes either way.",
            "kind": "inference",
            "sort": "remark",
            "cells": ("ImageNet-1k synsets that are species of dogs",),
        },
    ]
