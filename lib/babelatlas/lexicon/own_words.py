"""A user's own words: senses from a CSV file, and a label set corrected by people who
speak the language.
"""

import os
import re
from pathlib import Path

import pandas as pd

from babelatlas.base import languages, own_tables, tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.synsets import class_list
from babelatlas.lexicon import cleaning
from babelatlas.lexicon import labels as label_rules

VERIFIED = "verified"


def read_senses(path: str | os.PathLike, classes: str = "imagenet-1k") -> pd.DataFrame:
    """Return a user's own words for classes, schema `senses`, from a CSV file.

    The columns: `lang`, a code of a language; `wnid`, or in its place `class`, a name
    in the list `classes` (`synsets.class_list`); `lemma` or `label`, the word; and
    perhaps `source` and `licence` ("own" and "not stated" where they are missing or
    empty). A class may have several words in a language, the best first. Raises
    InputError that names file and row for a missing column, an unknown language or
    class, a name that two classes have, an empty word, and one that is there twice.
    """
    table, words = _read(path, classes, "lemma")
    for name, value in (("source", "own"), ("licence", "not stated")):
        words[name] = (
            table[name].str.strip().replace("", value) if name in table else value
        )
    _refuse(
        table, words["lemma"] == "", "has no word: write one, or delete the row", path
    )
    _refuse(
        table,
        words.duplicated(["lang", "wnid", "lemma", "source"]),
        "repeats a word of its class: delete it",
        path,
    )
    return tables.check(
        words.sort_values(["lang", "wnid"], kind="stable", ignore_index=True), "senses"
    )


def read_corrections(
    path: str | os.PathLike, classes: str = "imagenet-1k"
) -> pd.DataFrame:
    """Return corrections of a label set from a CSV file: columns lang, wnid, label, and
    was where given.

    An empty `label` removes the class from the language; `was` is the label that was
    judged. Columns and errors are otherwise those of `read_senses`, but for a class
    that a language has twice, which is refused.
    """
    table, rows = _read(path, classes, "label")
    _refuse(
        table,
        rows.duplicated(["lang", "wnid"]),
        "corrects a class a second time: keep one row for each",
        path,
    )
    return rows.assign(was=table["was"].str.strip()) if "was" in table else rows


def of_part(corrections: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """Return those corrections of a class list that `labels`, a label set of a part of
    its classes, can take.

    Where fewer classes share a word a class may have another label: a verified label
    replaces whichever there is, and one that was judged wrong is removed only where the
    class has it. Columns lang, wnid and label.
    """
    now = labels.set_index(["lang", "wnid"])["label"].to_dict()
    fits = []
    for row in corrections.to_dict("records"):
        label = now.get((row["lang"], row["wnid"]), "")
        judged_wrong = label if row.get("was", "") == "" else row["was"]
        fits.append(bool(row["label"]) or (label != "" and label == judged_wrong))
    here = corrections["wnid"].isin(labels["wnid"]) & pd.Series(
        fits, corrections.index, dtype=bool
    )
    return corrections.loc[here, ["lang", "wnid", "label"]].reset_index(drop=True)


def apply_corrections(labels: pd.DataFrame, corrections: pd.DataFrame) -> pd.DataFrame:
    """Return a label set with corrections applied, schema `labels`; `corrections` as of
    `read_corrections`.

    Another word replaces the label, with the source "verified"; the same word keeps its
    source and is confirmed by "verified"; an empty one removes the row; a class without
    a label in a language gets one. Raises InputError for a class that the label set has
    in no language, a label to remove that is not there, and one that is not as it `was`
    when it was judged.
    """
    rows = {
        (row["lang"], row["wnid"]): row
        for row in label_rules.check_label_set(labels).to_dict("records")
    }
    order = {wnid: number for number, wnid in enumerate(dict.fromkeys(labels["wnid"]))}
    for row in corrections.to_dict("records"):
        key = (row["lang"], row["wnid"])
        old = rows.get(key)
        _check_correction(row, old, order)
        if not row["label"]:
            del rows[key]
        else:
            rows[key] = _corrected(row, old)
    corrected = pd.DataFrame(rows.values(), columns=list(tables.SCHEMAS["labels"][0]))
    corrected = corrected.sort_values(
        "wnid", key=lambda wnids: wnids.map(order), kind="stable"
    ).sort_values("lang", kind="stable")
    ambiguous = label_rules.shared_labels(corrected)
    corrected = corrected.assign(ambiguous=ambiguous).reset_index(drop=True)
    return tables.check(corrected, "labels")


def _check_correction(row: dict, old: dict | None, order: dict[str, int]) -> None:
    """Raise InputError for a correction of a class that the label set has not, or of
    another label than the one that was judged.
    """
    label_now, was = (old or {}).get("label"), row.get("was")
    nothing_to_remove = not old and not row["label"]
    if row["wnid"] in order and not nothing_to_remove and was in (None, "", label_now):
        return
    lang = row["lang"]
    raise InputError(
        f"The correction of class {row['wnid']} in {languages.name(lang)} ({lang}) is"
        f" of the label {was or 'it had'!r}, and the label set has"
        f" {label_now if old else 'none'!r}: use the set that was judged."
    )


def _corrected(row: dict, old: dict | None) -> dict:
    """Return the row of a label set that a correction makes of the old one: its label
    is confirmed, or another one stands there.
    """
    label = row["label"]
    if old and label == old["label"]:
        others = [source for source in old["confirmed_by"] if source != VERIFIED]
        return old | {"confirmed_by": [*others, VERIFIED]}
    alternatives = old["alternatives"] if old else []
    return {
        "lang": row["lang"],
        "wnid": row["wnid"],
        "label": label,
        "alternatives": [word for word in alternatives if word != label],
        "source": VERIFIED,
        "licence": "not stated",
        "confirmed_by": [],
    }


def _read(
    path: str | os.PathLike, classes: str, word: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a CSV file as a table of texts, and its columns lang, wnid and `word`,
    checked.
    """
    table = own_tables.read(path, "words", ["lang"])
    table = table.assign(
        lang=own_tables.languages_of(table, "lang", path),
        wnid=_wnids(table, classes, path),
    )
    written = _column(table, ("lemma", "label"), path)
    table = cleaning.tidy_column(table, written, path, filled=False)
    return table, pd.DataFrame(
        {"lang": table["lang"], "wnid": table["wnid"], word: table[written]}
    )


def _column(
    table: pd.DataFrame, names: tuple[str, ...], path: str | os.PathLike
) -> str:
    """Return the first of `names` that is a column."""
    if not set(names) & set(table):
        raise InputError(
            f"The file {path} should have a column {' or '.join(names)}: name it in the"
            " heading."
        )
    return next(name for name in names if name in table)


def _wnids(table: pd.DataFrame, classes: str, path: str | os.PathLike) -> list[str]:
    """Return the class of each row: its wnid, or that of the class one of whose names
    it gives.
    """
    listed = class_list(classes)
    names = listed.assign(name=listed["name"].str.split(", ")).explode("name")
    wnids_of = {}
    for wnid, name in zip(names["wnid"], names["name"], strict=True):
        wnids_of.setdefault(label_rules.same(name), []).append(wnid)
    given = table[_column(table, ("wnid", "class"), path)].str.strip()
    wnids = []
    for row, value in enumerate(given):
        is_wnid = re.fullmatch(r"n\d{8}", value)
        fits = [value] if is_wnid else wnids_of.get(label_rules.same(value), [])
        if len(fits) != 1:
            hint = f"no class: {near(value, names['name'])}"
            if fits:
                hint = f"several: give the wnid, {' or '.join(fits)}."
            raise InputError(
                f"In {Path(path).name}, {own_tables.place(table, row)} has the class"
                f" {value!r}, which is {hint}"
            )
        wnids += fits
    return wnids


def _refuse(
    table: pd.DataFrame, where: pd.Series, reason: str, path: str | os.PathLike
) -> None:
    if where.any():
        raise InputError(
            f"In {Path(path).name},"
            f" {own_tables.place(table, where.to_numpy().argmax())} {reason}."
        )
