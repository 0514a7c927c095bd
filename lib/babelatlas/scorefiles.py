"""Files of scores that others made: CoMMuTE's own pair of text files, or a table of ours.

CoMMuTE's `evaluate.py` (github.com/MatthieuFP/CoMMuTE, e0356524) takes two text files with one number on each line, the
score of the correct and of the incorrect translation, lower is better; line k of both belongs to line k of the data
set's files. Since each item has a line for either sense, the two files hold the whole array of costs of its two images
and two translations: more can be computed from them than the share that `evaluate.py` prints.
"""

import math
import os
from collections.abc import Sequence

import numpy as np
import pandas as pd

from babelatlas import InputError, disambiguation, languages, tables


def read(path: str | os.PathLike) -> np.ndarray:
    """Return the numbers of a text file that has one on each line, as `evaluate.py` reads it.

    Empty lines at the beginning and the end do not count. Raises InputError, naming file and line, for a file that is
    absent or empty and a line that is no finite number.
    """
    path = tables.locate(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise InputError(f"The file of scores {path} does not exist: give the path of one.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The file of scores {path} cannot be read as text: expected one number on a line.") from error
    skipped = len(text) - len(text.lstrip("\n"))
    lines = text.strip("\n").split("\n") if text.strip() else []
    if not lines:
        raise InputError(f"The file of scores {path} is empty: expected one number on a line.")
    numbers = []
    for place, line in enumerate(lines, skipped + 1):
        try:
            number = float(line)
        except ValueError as error:
            raise InputError(f"Line {place} of {path} is {line!r}, expected a number: correct it.") from error
        if not math.isfinite(number):
            raise InputError(f"Line {place} of {path} is {line.strip()}, expected a finite number: score it again.")
        numbers.append(number)
    return np.array(numbers)


def read_pair(correct: str | os.PathLike, incorrect: str | os.PathLike) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of the correct and of the incorrect translations, two arrays of one length.

    Raises what `read` raises, and InputError where the files differ in length or are one file.
    """
    if tables.locate(correct) == tables.locate(incorrect):
        raise InputError(f"The files of correct and of incorrect scores are one, {correct}: give two.")
    right, wrong = read(correct), read(incorrect)
    if len(right) != len(wrong):
        raise InputError(
            f"The files of scores should have the same number of lines: {correct} has {len(right)}, {incorrect} has "
            f"{len(wrong)}; score all lines of the data set with both translations."
        )
    return right, wrong


def accuracy(correct: np.ndarray, incorrect: np.ndarray) -> float:
    """Return what `evaluate.py` prints: the share of lines whose correct translation has the lower score.

    A tie is wrong. It is TC where all lines are those of the items (Kashani Motlagh et al. 2024, Eq. 3).

    >>> accuracy(np.array([1.0, 2.0]), np.array([1.5, 2.0]))
    0.5
    """
    return float(np.mean(correct < incorrect))


def costs(correct: np.ndarray, incorrect: np.ndarray, tuples: pd.DataFrame) -> pd.DataFrame:
    """Return the costs of the originals from a pair of files: columns lang, item, image, text, cost.

    `tuples` (schema tuples), of one language, has one row for each line, in the order of the files: `commute.read`
    returns them so where nothing is left out. The line of sense a has image a0, its correct translation is a.
    Raises InputError where the number of lines is another, or the rows are of several languages.
    """
    tuples = tables.check(tuples, "tuples")
    langs = sorted(tuples["lang"].unique())
    if len(langs) != 1:
        raise InputError(
            f"A pair of files has the scores of one language, got items in {', '.join(langs) or 'none'}: name one."
        )
    if len(correct) != len(tuples) or len(incorrect) != len(tuples):
        raise InputError(
            f"The files of scores have {len(correct)} and {len(incorrect)} lines, and the data set has {len(tuples)} "
            f"in {langs[0]}: line k of a file belongs to line k of the data set, so give the whole files, and the "
            "folder of the data set where the table of items lacks some."
        )
    sense = tuples["sense"]
    rows = tuples[["lang", "item"]].assign(image=sense + "0")
    right = rows.assign(text=sense, cost=correct)
    wrong = rows.assign(text=sense.map({"a": "b", "b": "a"}), cost=incorrect)
    both = pd.concat([right, wrong]).sort_index(kind="stable").reset_index(drop=True)
    return both


def collect(
    files: Sequence[str | os.PathLike], langs: Sequence[str], lines: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the costs of the originals from pairs of files, one pair for each language, and what the files hold.

    `files`: correct and incorrect of the first of `langs`, then of the second, and so on; `lines` (schema tuples) has a
    row for each line of each language, in order. Costs as `costs` returns them; the second table has the columns lang,
    lines and accuracy, the share that `evaluate.py` prints.
    Raises InputError where files and languages do not go together, and what `read_pair` and `costs` raise.
    """
    codes = [languages.canonical(lang) for lang in langs]
    if len(files) != 2 * len(codes) or len(set(codes)) < len(codes) or not codes:
        raise InputError(
            f"Files of scores come in pairs, correct and incorrect, one pair for each language: got {len(files)} "
            f"file(s) for {', '.join(codes) or 'no language'}."
        )
    parts, told = [], []
    for place, code in enumerate(codes):
        right, wrong = read_pair(*files[2 * place : 2 * place + 2])
        own = lines[lines["lang"] == code].reset_index(drop=True)
        if own.empty:
            raise InputError(f"The data set has no line in {code}, which scores are given for: name another language.")
        parts.append(costs(right, wrong, own))
        told.append((code, len(right), accuracy(right, wrong)))
    return pd.concat(parts, ignore_index=True), pd.DataFrame(told, columns=["lang", "lines", "accuracy"])


def table(path: str | os.PathLike, model: str, tuples: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Return a table of costs that somebody made, CSV or Parquet in the schema `disambiguation`, checked.

    Its rows of `dataset` must be of the one model that is asked for, and of all items in each language that it has.
    Raises InputError that names the first thing that is not so, also for costs that are not finite.
    """
    found = tables.read(path, "disambiguation")
    found = found[found["dataset"] == dataset].reset_index(drop=True)
    if found.empty:
        raise InputError(f"The table {path} has no row of the data set {dataset!r}: write its name in every row.")
    others = sorted(set(found["model"]) - {model})
    if others:
        raise InputError(
            f"The table {path} has rows of {', '.join(others)}, and the model is {model!r}: give the model's own name, "
            "and a table for each."
        )
    for _ in disambiguation.units(found):
        pass
    wanted = tuples.groupby("lang")["item"].agg(set).to_dict()
    for (_, lang), part in found.groupby(["replicate", "lang"], sort=False):
        strange, lacking = set(part["item"]) - wanted.get(lang, set()), wanted.get(lang, set()) - set(part["item"])
        if strange or lacking:
            what = f"lacks item {min(lacking)!r}" if lacking else f"has item {min(strange)!r}, which the items lack,"
            raise InputError(
                f"The table {path} {what} in {lang!r} ({len(lacking)} lacking, {len(strange)} unknown): score the "
                "items of the data set, all of them."
            )
    return found
