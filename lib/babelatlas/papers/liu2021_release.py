"""What MaRVL's release (Liu et al. 2021) holds, counted: examples, captions, tokens; and the counts that ship.

Columns of the counts: `set` ("marvl", "nlvr2 test": NLVR2's public test set, "nlvr2 250": the 250 sentences that were
translated into Chinese), `lang`, `chapter` ("" for all), `tokens` (how captions were cut into tokens, "" where that
does not matter), `statistic`, `value`. Statistics of captions are of unique ones.
"""

import os
import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pandas as pd

from babelatlas.analysis import coverage
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA
from babelatlas.evaluation import reasoning
from babelatlas.lexicon import wordnets

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
BASE = "TweetTokenizer"


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
        parts.append(example_counts(table, "marvl", lang))
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
        parts += [example_counts(table, name, "en"), _wordings(table["sentence"], name, "en", names)]
    table = _lines(Path(folder) / "data/zh/annotations_human-translate/test250-zh.jsonl", ["sentence", "label"])
    parts += [example_counts(table, "nlvr2 250", "zh"), _below_dog()]
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


def example_counts(table: pd.DataFrame, name: str, lang: str) -> pd.DataFrame:
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
