"""What MaRVL's release (Liu et al. 2021) holds, counted: examples, captions, tokens;
and the counts that ship.

The columns of the counts: analysis/released/marvl.py. Statistics of captions are of
unique ones.
"""

import os
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import special

from babelatlas.analysis import coverage
from babelatlas.analysis.marvl import COUNTS as COUNTS
from babelatlas.analysis.marvl import LANGUAGES, counts
from babelatlas.lexicon import wordnets

SAMPLE = 250  # Section 4: how many sentences of NLVR2 the statistics of captions are of
BASE = "TweetTokenizer"
CHINESE = "jieba's search mode"  # which cuts Chinese, where no space ends a word


def _bare(text: str) -> str:
    """Return a text without punctuation and symbols."""
    return "".join(
        character
        for character in text
        if unicodedata.category(character)[0] not in "PS"
    )


def tokenizers() -> dict[str, Callable[[str], list[str]]]:
    """Return ways to cut a caption into tokens, by name; those of NLTK that need no
    data, jieba's, and plain ones.
    """
    with warnings.catch_warnings(
        action="ignore"
    ):  # jieba's source has escapes that Python warns of
        import jieba
    from nltk.tokenize import NLTKWordTokenizer, TweetTokenizer, WordPunctTokenizer

    jieba.setLogLevel("WARNING")

    return {
        "white space": str.split,
        "white space without punctuation": lambda text: [
            word for word in map(_bare, text.split()) if word
        ],
        "WordPunctTokenizer": WordPunctTokenizer().tokenize,
        "NLTKWordTokenizer": NLTKWordTokenizer().tokenize,
        "TweetTokenizer": TweetTokenizer().tokenize,
        CHINESE: lambda text: list(jieba.cut_for_search(text)),
        "characters": lambda text: [
            character for character in text if not character.isspace()
        ],
        "characters without punctuation": lambda text: [
            c for c in _bare(text) if not c.isspace()
        ],
    }


def count(folder: str | os.PathLike) -> pd.DataFrame:
    """Return the counts of MaRVL's release in `folder`.

    Besides counts, the number of types to be expected in 250 captions drawn at random
    (`expected_types`). And what WordNet 3.0 has below "dog", for which NLTK must find
    it (`wordnets.read_wordnets`).
    """
    folder, parts = Path(folder) / "data", []
    plain = [name for name in tokenizers() if name != CHINESE]
    for lang in LANGUAGES:
        table = pd.read_json(
            folder / lang / "annotations" / f"marvl-{lang}.jsonl", lines=True
        )
        translated = pd.read_json(
            folder / lang / "annotations_machine-translate" / f"marvl-{lang}_gmt.jsonl",
            lines=True,
        )
        table = table.rename(columns={"caption": "sentence"})
        parts.append(example_counts(table, "marvl", lang))
        for chapter, part in table.groupby("chapter", sort=False):
            parts.append(_rows("marvl", lang, {"examples": len(part)}, chapter))
        values = {
            "concepts": table["concept"].nunique(),
            "images": pd.concat([table["left_img"], table["right_img"]]).nunique(),
            "repeated examples": (
                table.duplicated(["sentence", "left_img", "right_img"]).sum()
            ),
            "captions, translated": translated["caption"].nunique(),
        }
        names = [*plain, CHINESE] if lang == "zh" else plain
        parts += [
            _rows("marvl", lang, values),
            _wordings(table["sentence"], "marvl", lang, names),
        ]
    for name, file, names in (
        ("nlvr2 test", "test", [BASE]),
        ("nlvr2 250", "test250-en", plain),
    ):
        table = pd.read_json(
            folder / "en" / "annotations" / f"{file}.jsonl", lines=True
        )
        parts += [
            example_counts(table, name, "en"),
            _wordings(table["sentence"], name, "en", names),
        ]
        parts += [_label_counts(table)] if file == "test" else []
    table = pd.read_json(
        folder / "zh/annotations_human-translate/test250-zh.jsonl", lines=True
    )
    below = set(
        wordnets.synsets([coverage.DOG])[0].closure(lambda each: each.hyponyms())
    )
    dogs = {
        "synsets below dog": len(below),
        "leaves below dog": sum(not each.hyponyms() for each in below),
    }
    parts += [
        example_counts(table, "nlvr2 250", "zh"),
        _rows("wordnet 3.0", "en", dogs),
    ]
    return pd.concat(parts, ignore_index=True)


def _rows(
    name: str, lang: str, values: dict[str, float], chapter: str = "", tokens: str = ""
) -> pd.DataFrame:
    facts = {"set": name, "lang": lang, "chapter": chapter, "tokens": tokens}
    return pd.DataFrame(
        [
            facts | {"statistic": key, "value": float(value)}
            for key, value in values.items()
        ]
    )


def example_counts(table: pd.DataFrame, name: str, lang: str) -> pd.DataFrame:
    """Return how many examples and captions there are, how many are true, and captions
    by their number of examples.
    """
    truth = table["label"].astype(str).str.lower() == "true"
    by_caption = truth.groupby(table["sentence"], sort=False).agg(["size", "sum"])
    values = {
        "examples": len(table),
        "true": truth.sum(),
        "captions": len(by_caption),
        "captions, two true and two false": (
            ((by_caption["size"] == 4) & (by_caption["sum"] == 2)).sum()
        ),
    }
    sizes = by_caption["size"].value_counts().sort_index()
    values |= {f"captions with {size} examples": n for size, n in sizes.items()}
    return _rows(name, lang, values)


def _label_counts(table: pd.DataFrame) -> pd.DataFrame:
    """Return how many pairs of NLVR2's test set have so many labels by people that call
    the statement true.
    """
    both = zip(
        table["label"], table["validation"], table["extra_validations"], strict=True
    )
    alike = Counter(
        (truth, tuple({**first, **more}.values())) for truth, first, more in both
    )
    values: Counter = Counter()
    for (truth, labels), n in alike.items():
        values[
            f"{truth.lower()} pairs, {labels.count('True')} of {len(labels)} labels"
            " true"
        ] += n
    return _rows("nlvr2 test", "en", dict(sorted(values.items())))


def _wordings(
    sentences: pd.Series, name: str, lang: str, names: list[str]
) -> pd.DataFrame:
    """Return tokens and types of the unique captions for the tokenizers, as they are
    written and in lower case.
    """
    unique, parts = sentences.drop_duplicates().tolist(), []
    for tokens in names:
        tokenize = tokenizers()[tokens]
        for suffix, texts in (
            ("", unique),
            (", lower case", [text.lower() for text in unique]),
        ):
            samples = (
                {"": texts, f", first {SAMPLE}": texts[:SAMPLE]}
                if len(texts) > SAMPLE
                else {"": texts}
            )
            values = {}
            for which, sample in samples.items():
                found = wording(sample, tokenize)
                values |= {
                    statistic + which: found[statistic]
                    for statistic in ("tokens", "types")
                }
            values[f"types, expected in {SAMPLE}"] = round(
                expected_types(texts, tokenize, SAMPLE), 2
            )
            parts.append(_rows(name, lang, values, tokens=tokens + suffix))
    return pd.concat(parts)


def wording(
    sentences: Sequence[str], tokenize: Callable[[str], list[str]]
) -> dict[str, float]:
    """Return how many tokens and types (different tokens) sentences have.

    >>> wording(["a cat", "a dog runs"], str.split)
    {'tokens': 5, 'types': 4}
    """
    tokens = [token for sentence in sentences for token in tokenize(sentence)]
    return {"tokens": len(tokens), "types": len(set(tokens))}


def expected_types(
    sentences: Sequence[str], tokenize: Callable[[str], list[str]], n: int
) -> float:
    """Return how many types `n` of the sentences, drawn without replacement, have on
    average.

    A token that is in d of the N sentences is missed with probability C(N - d, n) /
    C(N, n).

    >>> expected_types(["a b", "a c"], str.split, 1)
    2.0
    """
    total = len(sentences)
    spread = pd.Series(
        [token for sentence in sentences for token in set(tokenize(sentence))]
    ).value_counts()
    left = total - spread.to_numpy()
    left = left[left >= n]
    log = special.gammaln(left + 1) - special.gammaln(left - n + 1)
    log -= special.gammaln(total + 1) - special.gammaln(total - n + 1)
    return float(len(spread) - np.exp(log).sum())


def marvl(statistic: str, chapter: str = "", tokens: str = "") -> pd.Series:
    """Return one of the counts for each language of MaRVL, indexed by lang in the order
    of the paper's tables.

    >>> marvl("captions").astype(int).to_dict()
    {'id': 282, 'sw': 276, 'zh': 253, 'tr': 295, 'ta': 305}
    """
    return pd.Series(
        {
            lang: counts()["marvl", lang, chapter, tokens, statistic]
            for lang in LANGUAGES
        }
    )
