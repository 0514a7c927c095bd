"""Files of scores that others made: CoMMuTE's own pair of text files, or a table of ours.

CoMMuTE's `evaluate.py` (github.com/MatthieuFP/CoMMuTE, e0356524) takes two text files with one number on each line, the
score of the correct and of the incorrect translation, lower is better; line k of both belongs to line k of the data
set's files. Since each item has a line for either sense, the two files hold all costs of its two images and two
translations, where what is incorrect on one line is what is correct on the other; `other_texts` tells where it is not.
"""

import math
import os
from collections.abc import Sequence

import numpy as np
import pandas as pd

from babelatlas.base import languages, own_tables, tables
from babelatlas.base.errors import InputError, near
from babelatlas.evaluation import disambiguation

# What to do with items whose incorrect side in the files is another text than the other sense's correct translation.
OTHER_TEXTS = ("leave out", "keep")


def read(path: str | os.PathLike) -> np.ndarray:
    """Return the numbers of a text file that has one on each line; empty lines at both ends do not count.

    Raises InputError, naming file and line, for a file that is absent or empty and a line that is no finite number.
    """
    path = tables.locate(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise InputError(f"The file of scores {path} does not exist: give the path of one.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The file of scores {path} cannot be read as text: expected one number on a line.") from error
    if not text.strip():
        raise InputError(f"The file of scores {path} is empty: expected one number on a line.")
    numbers, skipped = [], len(text) - len(text.lstrip("\n"))
    for place, line in enumerate(text.strip("\n").split("\n"), skipped + 1):
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


def costs(correct: np.ndarray, incorrect: np.ndarray, items: pd.DataFrame) -> pd.DataFrame:
    """Return the costs of the originals from a pair of files: columns lang, item, image, text, cost.

    `items` (schema items), of one language, has one row for each line, in the order of the files. The line of sense a
    has image a0, its correct translation is a. Raises InputError where the number of lines is another, or the rows are
    of several languages.
    """
    items = tables.check(items, "items")
    langs = sorted(items["lang"].unique())
    if len(langs) != 1:
        raise InputError(
            f"A pair of files has the scores of one language, got items in {', '.join(langs) or 'none'}: name one."
        )
    if len(correct) != len(items) or len(incorrect) != len(items):
        raise InputError(
            f"The files of scores have {len(correct)} and {len(incorrect)} lines, and the data set has {len(items)} "
            f"in {langs[0]}: line k of a file belongs to line k of the data set, so give the whole files, and the "
            "folder of the data set where the table of items lacks some."
        )
    sense = items["sense"]
    rows = items[["lang", "item"]].assign(image=sense + "0")
    right = rows.assign(text=sense, cost=correct)
    wrong = rows.assign(text=sense.map({"a": "b", "b": "a"}), cost=incorrect)
    return pd.concat([right, wrong]).sort_index(kind="stable").reset_index(drop=True)


def collect(
    files: Sequence[str | os.PathLike], langs: Sequence[str], lines: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the costs of the originals from pairs of files, one pair for each language, and what the files hold.

    `files`: correct and incorrect of the first of `langs`, then of the second, and so on; `lines` (schema items) has a
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


def within(rows: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table whose language and item another table has, too (both: columns lang and item, ...).

    Raises InputError where none is left.
    """
    found = rows[_has(rows, others)]
    if found.empty:
        ours, theirs = (", ".join(sorted(table["lang"].unique())) or "no language" for table in (rows, others))
        raise InputError(f"The scores and the items have nothing in common: scores in {ours}, items in {theirs}.")
    return found.reset_index(drop=True)


def _has(rows: pd.DataFrame, others: pd.DataFrame) -> np.ndarray:
    """Return which rows are of a language and item that another table has."""
    ours, theirs = (pd.MultiIndex.from_frame(table[["lang", "item"]]) for table in (rows, others))
    return ours.isin(theirs)


def lacking(costs: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """Return the languages of which `costs` lacks items of `items`: lang, items (how many), lacking (of these)."""
    each = items[["lang", "item"]].drop_duplicates()
    told = (
        each.assign(lacking=~_has(each, costs)).groupby("lang").agg(items=("item", "size"), lacking=("lacking", "sum"))
    )
    return told[told["lacking"] > 0].reset_index()


def other_texts(findings: pd.DataFrame) -> pd.DataFrame:
    """Return the items whose incorrect side is not the other sense's correct translation: lang, item, file, lines.

    `findings` as `commute.read` returns them. TC of such a line is what `evaluate.py` counts; but IC, GIC, the rates
    and the overlap of errors would compare costs of different texts. One row for each item, its lines as text, "7, 8".
    """
    odd = findings[findings["finding"] == "incorrect is not the other's correct"]
    return odd.groupby(["lang", "item"], as_index=False, sort=False).agg({"file": "first", "lines": ", ".join})


def treat(costs: pd.DataFrame, odd: pd.DataFrame, treatment: str = "leave out") -> pd.DataFrame:
    """Return `costs` (columns lang and item, ...) without the items of `odd`, or as it is: "leave out" or "keep".

    Raises InputError for another treatment, and where no item would be left.
    """
    if treatment not in OTHER_TEXTS:
        raise InputError(f"There is no treatment {treatment!r} of other texts: {near(treatment, OTHER_TEXTS)}")
    if treatment == "keep":
        return costs
    gone = _has(costs, odd)
    if gone.all():
        raise InputError("The incorrect side of every item is another text: none is left, get the right files.")
    return costs[~gone].reset_index(drop=True)


def table(path: str | os.PathLike, model: str, items: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Return a table of costs that somebody made, CSV or Parquet in the schema `disambiguation`, checked.

    Its rows of `dataset` must be of the one model that is asked for, and of items that `items` has. It may lack some,
    or a language. `attrs["passed over"]` counts the rows of other data sets. Raises InputError that names the first
    thing that is not so, and what `disambiguation.units` raises.
    """
    found = tables.read(path, "disambiguation")
    passed_over = found.loc[found["dataset"] != dataset, "dataset"].value_counts(sort=False).to_dict()
    found = found[found["dataset"] == dataset].reset_index(drop=True)
    if found.empty:
        raise InputError(f"The table {path} has no row of the data set {dataset!r}: write its name in every row.")
    found.attrs["passed over"] = passed_over
    others = sorted(set(found["model"]) - {model})
    if others:
        raise InputError(
            f"The table {path} has rows of {', '.join(others)}, and the model is {model!r}: give the model's own name, "
            "and a table for each."
        )
    with own_tables.named(path):
        list(disambiguation.units(found))  # which says what is wrong with a row
    wanted = items.groupby("lang")["item"].agg(set).to_dict()
    for (_, lang), part in found.groupby(["replicate", "lang"], sort=False):
        strange = set(part["item"]) - wanted.get(lang, set())
        if strange:
            raise InputError(
                f"The table {path} has item {min(strange)!r}, which the items lack, in {lang!r} ({len(strange)} "
                "unknown): score the items of the data set."
            )
    return found
