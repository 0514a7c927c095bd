"""Sentences with translations that were mined from the web, to train adapters on.

WikiMatrix (Schwenk et al. 2021): pairs of sentences of Wikipedia that are likely to be
translations, one file for each pair of languages, `WikiMatrix.en-si.tsv.gz`. A line has
the margin score of a pair, the sentence in the first language and that in the second.
"""

import csv
import os
from pathlib import Path

import pandas as pd

from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError

ENGLISH = "en"
# The least margin score that the authors recommend.
MINIMUM_SCORE = 1.04


def wikimatrix_file(folder: str | os.PathLike, lang: str) -> tuple[Path, list[str]]:
    """Return the file of WikiMatrix in `folder` that has a language with English, and
    its two languages in their order; InputError where there is none.
    """
    lang, pairs = languages.canonical(lang), _files_with_english(folder)
    for path, pair in pairs.items():
        if {*pair} == {ENGLISH, lang}:
            return path, pair
    present = sorted({code for pair in pairs.values() for code in pair} - {ENGLISH})
    raise InputError(
        f"There is no file of WikiMatrix with English and {languages.name(lang)} in"
        f" {folder} (with English: {', '.join(present) or 'none'}): put there one such"
        f" as WikiMatrix.en-{lang}.tsv.gz."
    )


def expected_file(folder: str | os.PathLike, lang: str) -> str:
    """Return the path of the file that has a language with English, or, where there is
    none, that of one that would do.
    """
    lang = languages.canonical(lang)
    for path, pair in _files_with_english(folder).items():
        if {*pair} == {ENGLISH, lang}:
            return os.fspath(path)
    return os.path.join(folder, f"WikiMatrix.en-{lang}.tsv.gz")


def _files_with_english(folder: str | os.PathLike) -> dict[Path, list[str]]:
    """Return the files of WikiMatrix that have English, and their languages."""
    pairs = {}
    for path in sorted(tables.locate(folder).glob("WikiMatrix.*-*.tsv*")):
        codes = path.name.split(".")[1].split("-")
        pair = [languages.of_wikimedia(code) for code in codes]
        if ENGLISH in pair:
            pairs[path] = pair
    return pairs


def read_wikimatrix(
    folder: str | os.PathLike, lang: str, minimum_score: float = MINIMUM_SCORE
) -> pd.DataFrame:
    """Return the sentences of a language that WikiMatrix pairs with English ones:
    columns text, english, score; best first.

    `minimum_score`: of the margin score, below which pairs are left out. Raises
    InputError for a file that is absent, damaged or in another layout, and where no
    pair is left.
    """
    path, pair = wikimatrix_file(folder, lang)
    names = ["score", *("english" if code == ENGLISH else "text" for code in pair)]
    try:
        table = pd.read_csv(
            path,
            sep="\t",
            names=names,
            quoting=csv.QUOTE_NONE,
            dtype=dict.fromkeys(names[1:], str) | {"score": float},
            keep_default_na=False,
            on_bad_lines="error",
            index_col=False,
        )
    except (OSError, EOFError, ValueError) as error:  # of gzip, the disk and pandas
        reason = str(error).strip().splitlines()[0]
        raise InputError(
            f"The file {path} cannot be read ({reason}): expected a score and two"
            " sentences on each line, with tabs between them."
        ) from error
    table[["text", "english"]] = table[["text", "english"]].fillna("")
    is_filled = (table[["text", "english"]].map(str.strip) != "").all(axis=1)
    kept = table[is_filled & (table["score"] >= minimum_score)]
    if kept.empty:
        raise InputError(
            f"No pair of {path} has a score of at least {minimum_score:g}: lower it, or"
            " use another file."
        )
    kept = kept.sort_values("score", ascending=False, kind="stable", ignore_index=True)
    return kept[["text", "english", "score"]]
