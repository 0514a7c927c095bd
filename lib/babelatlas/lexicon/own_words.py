"""A user's own words: senses from a file, and a label set corrected by people who speak the language."""

import os
import re
from pathlib import Path

import pandas as pd
import pyarrow as pa

from babelatlas.base import languages, own_tables, tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.synsets import class_list
from babelatlas.lexicon import labels as label_rules

VERIFIED = "verified"
WORD, CLASS = ("lemma", "label", "word"), ("wnid", "class", "name")


def read_senses(path: str | os.PathLike, classes: str = "imagenet-1k") -> pd.DataFrame:
    """Return a user's own words for classes, schema `senses`, from a CSV or Parquet file.

    The columns: `lang`, a code of a language; `wnid`, or in its place `class`, a name in the list `classes`
    (`synsets.class_list`); `lemma` or `label`, the word; and perhaps `source` and `licence` ("own" and "not stated"
    where they are missing or empty). A class may have several words in a language, the best first.
    Raises InputError that names file and row for a missing column, an unknown language or class, a name that two
    classes have, an empty word, one that `own_tables.check_texts` refuses, and a word that is there twice.
    """
    table, found = _read(path, classes, "lemma")
    for name, value in (("source", "own"), ("licence", "not stated")):
        found[name] = table[name].str.strip().replace("", value) if name in table else value
    _refuse(found["lemma"] == "", "has no word: write one, or delete the row", path)
    _refuse(found.duplicated(["lang", "wnid", "lemma", "source"]), "repeats a word of its class: delete it", path)
    return tables.check(found.sort_values(["lang", "wnid"], kind="stable", ignore_index=True), "senses")


def read_corrections(path: str | os.PathLike, classes: str = "imagenet-1k") -> pd.DataFrame:
    """Return corrections of a label set from a CSV or Parquet file: columns lang, wnid, label, and was where given.

    An empty `label` removes the class from the language; `was` is the label that was judged. Columns and errors are
    otherwise those of `read_senses`, but for a class that a language has twice, which is refused.
    """
    table, found = _read(path, classes, "label")
    if "was" in table:
        found["was"] = table["was"].str.strip()
    _refuse(found.duplicated(["lang", "wnid"]), "corrects a class a second time: keep one row for each", path)
    return found


def apply_corrections(
    labels: pd.DataFrame, corrections: pd.DataFrame, licence: str = "not stated"
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a label set with corrections applied, schema `labels`, and what has changed.

    `corrections` as of `read_corrections`. Another word replaces the label, with the source "verified" and the
    `licence` given; the same word keeps its source and is confirmed by "verified"; an empty one removes the row; a
    class without a label in a language gets one. The changes have the columns lang, wnid, before, before_source, label
    and change: replaced, confirmed, removed or added. Raises InputError for a class that the label set has in no
    language, a label to remove that is not there, and one that is not as it `was` when it was judged.
    """
    label_rules.check_label_set(labels)
    kept = {(row["lang"], row["wnid"]): row for row in labels.to_dict("records")}
    place = {wnid: number for number, wnid in enumerate(dict.fromkeys(labels["wnid"]))}
    changes = []
    for row in corrections.to_dict("records"):
        key, label = (row["lang"], row["wnid"]), row["label"]
        what = f"The correction of class {row['wnid']} in {languages.name(row['lang'])} ({row['lang']})"
        old = kept.get(key)
        if row["wnid"] not in place:
            raise InputError(f"{what} is of a class that the label set has not: use the label set that was judged.")
        if not old and not label:
            raise InputError(f"{what} removes a label that is not there: delete the row.")
        if old and row.get("was") and label_rules.same(row["was"]) != label_rules.same(old["label"]):
            raise InputError(
                f"{what} is of the label {row['was']!r}, and the label set has {old['label']!r}: use the label set "
                "that was judged, or delete the row."
            )
        before = {"before": old["label"] if old else "", "before_source": old["source"] if old else ""}
        if not label:
            change = "removed"
            del kept[key]
        elif old and label == old["label"]:
            change = "confirmed"
            kept[key] = old | {"confirmed_by": [*(one for one in old["confirmed_by"] if one != VERIFIED), VERIFIED]}
        else:
            change = "replaced" if old else "added"
            word = label_rules.same(label)
            others = [one for one in (old["alternatives"] if old else []) if label_rules.same(one) != word]
            new = {"label": label, "alternatives": others, "source": VERIFIED, "licence": licence, "confirmed_by": []}
            kept[key] = {"lang": row["lang"], "wnid": row["wnid"], **new}
        changes.append({"lang": row["lang"], "wnid": row["wnid"], **before, "label": label, "change": change})
    made = pd.DataFrame(kept.values(), columns=list(tables.SCHEMAS["labels"][0]))
    made = made.assign(place=made["wnid"].map(place)).sort_values(["lang", "place"], ignore_index=True)
    made = made.drop(columns="place").assign(ambiguous=label_rules.shared_labels(made))
    columns = ["lang", "wnid", "before", "before_source", "label", "change"]
    return tables.check(made, "labels"), pd.DataFrame(changes, columns=columns)


def _read(path: str | os.PathLike, classes: str, word: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a CSV or Parquet file as a table of texts, none NaN, and its columns lang, wnid and `word`, checked."""
    path = tables.locate(path)
    if path.suffix not in (".csv", ".parquet") or not path.is_file():
        raise InputError(f"There is no file of words {path}: give the path of a CSV or Parquet file.")
    table = own_tables.read(path, "words") if path.suffix == ".csv" else _parquet(path)
    table = table.astype(object).where(table.notna(), "").reset_index(drop=True)
    table = own_tables.check_texts(table, [_column(table, WORD, path)], path).astype(str)
    words = table[_column(table, WORD, path)].str.strip()
    return table, pd.DataFrame(
        {
            "lang": own_tables.languages_of(table, _column(table, ("lang",), path), path),
            "wnid": _wnids(table, classes, path),
            word: words,
        }
    )


def _parquet(path: Path) -> pd.DataFrame:
    try:
        table = pd.read_parquet(path)
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"The file {path} cannot be read ({reason}): save it as CSV in UTF-8.") from error
    if table.empty:
        raise InputError(f"The file {path} has no rows: add words.")
    return table


def _column(table: pd.DataFrame, names: tuple[str, ...], path: str | os.PathLike) -> str:
    """Return the first of `names` that is a column."""
    found = next((name for name in names if name in table), None)
    if found is None:
        raise InputError(
            f"The file {path} should have a column {' or '.join(map(repr, names))}, but has "
            f"{', '.join(map(repr, table.columns))}: name it in the heading."
        )
    return found


def _wnids(table: pd.DataFrame, classes: str, path: str | os.PathLike) -> list[str]:
    """Return the class of each row: its wnid, or that of the class one of whose names it gives."""
    column, found = _column(table, CLASS, path), []
    words = class_list(classes).assign(name=lambda listed: listed["name"].str.split(", ")).explode("name")
    names = words.assign(name=words["name"].map(label_rules.same)).groupby("name")["wnid"].agg(list)
    for row, value in enumerate(table[column].str.strip()):
        fits = [value] if re.fullmatch(r"n\d{8}", value) else names.get(label_rules.same(value), [])
        if fits != [value] and (column == "wnid" or not value):
            said = f"{value!r} where a wnid is expected, 'n' and eight digits, such as n02084071: correct it."
        elif len(fits) > 1:
            said = f"the class {value!r}, the name of {' and '.join(fits)}: give the wnid."
        elif not fits:
            said = f"the class {value!r}, which is not in {classes}: {near(value, words['name'])}"
        else:
            found.append(fits[0])
            continue
        raise InputError(f"In {Path(path).name}, row {row + 2} has {said}")
    return found


def _refuse(where: pd.Series, said: str, path: str | os.PathLike) -> None:
    if where.any():
        raise InputError(f"In {Path(path).name}, row {where.to_numpy().argmax() + 2} {said}.")
