"""CoMMuTE: reading its files into items of two senses, with every irregularity found, counted and named.

The files, as released: a folder for each language (`en-fr`, and `en-fr_dev` for development) with `src.en`, the
ambiguous English sentences, `correct.fr` and `incorrect.fr`, and `img.order`, the names of the images. Line k of all
four belongs together; a sentence has two neighbouring lines, one for each of its senses, and what is correct on one is
incorrect on the other. Here the two lines are one item. It is named after its two images, sorted, so that it has the
same name in every language, and sense "a" is that of the first.

Nothing is corrected silently: `read` and `pictured` also return what is irregular (`FINDINGS` says what each finding
means), and stop at what cannot be read as items at all.

Futeral et al. (2023) released French, German and Czech, Futeral et al. (2024) Arabic, Russian, Chinese and the French
development set. The sentences are for non-commercial use, and none is kept in this project.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from babelatlas.base import download, languages, own_tables, tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import registry as datasets
from babelatlas.datasets.imagenet import is_image

SOURCE, IMAGES = "src.en", "img.order"
# What a folder is called, by data set; in brackets the code of its language.
FOLDERS = {"commute": r"en-([a-z]{2,3})", "commute-dev": r"en-([a-z]{2,3})_dev"}
IDENTICAL = ("keep", "leave out")
COLUMNS = ["lang", "finding", "file", "lines", "item", "treatment"]
# What may be found, and what it means.
FINDINGS = {
    "byte order mark": "a file begins with an invisible mark, which would be part of its first line",
    "carriage return": "a line ends as on Windows",
    "empty lines at the end": "lines without text follow the last",
    "spaces around a text": "a line begins or ends with white space",
    "spaces in a row": "two or more spaces stand together within a text",
    "invisible letter": "a text holds a letter that is not printed, such as a space of no width",
    "sentences of an item differ": "the two lines of an item have different English sentences",
    "incorrect is not the other's correct": "what is incorrect on one line is not what is correct on the other",
    "translations are the same": "both senses have one translation, so that no choice can be right",
    "sentence of several items": "two items have the same English sentence",
    "image of several items": "an image belongs to more than one item",
    "sentence differs between languages": "an item has another English sentence than in other languages",
    "item is not in this language": "other languages have an item that this one lacks",
    "image is missing": "an image of the item is not among those given",
}


def available(folder: str | os.PathLike, dataset: str = "commute") -> dict[str, Path]:
    """Return the folder of each language, by its code, that a folder as released holds; InputError where none is.

    `dataset`: "commute", the test sets, or "commute-dev".
    """
    if dataset not in FOLDERS:
        raise InputError(f"CoMMuTE is read as {' or '.join(FOLDERS)}, got {dataset!r}: give one of these.")
    entry = datasets.get_dataset(dataset)
    if not str(folder):
        raise InputError(
            f"The texts of the data set {dataset!r} are not given: get them from {entry.url} (licence: "
            f"{entry.licence}), and name the folder that holds them in the config, under annotations."
        )
    home = tables.locate(folder)
    found = {}
    for part in sorted(home.iterdir()) if home.is_dir() else []:
        named = re.fullmatch(FOLDERS[dataset], part.name)
        if named and part.is_dir():
            with own_tables.named(part):
                found[languages.canonical(named[1])] = part
    if not found:
        what = "holds no such folder" if home.is_dir() else "is no folder"
        wanted = "en-fr_dev" if dataset == "commute-dev" else "en-fr"
        raise InputError(
            f"The files of the data set {dataset!r} should lie in folders such as {wanted}/{SOURCE}, but {home} "
            f"{what}: give the folder that holds {wanted}; get it from {entry.url}."
        )
    return found


def read(
    folder: str | os.PathLike, dataset: str = "commute", wanted: Iterable[str] = (), identical: str = "keep"
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the items of CoMMuTE, schema `items`, and what is irregular: lang, finding, file, lines, item, treatment.

    `folder` as released; `wanted`: codes of languages, none for all that it has; `identical`: what to do with items
    whose two translations are the same, "keep" or "leave out". Rows stand in the order of the files. `lines` is text,
    "7" or "7, 8". `word` is "": the files do not say which word is ambiguous.
    Raises InputError for files that are absent, not in UTF-8 or of unequal length, a line without text, one without
    its other side, an item with one image for both senses, and one that occurs twice; and where a language has no item.
    """
    if identical not in IDENTICAL:
        raise InputError(f"Items whose translations are the same can be given {IDENTICAL}, got {identical!r}.")
    there = available(folder, dataset)
    codes = [languages.canonical(code) for code in wanted] or list(there)
    absent = [code for code in codes if code not in there]
    if absent:
        raise InputError(
            f"The data set {dataset!r} has no language {', '.join(absent)} in {folder}: it has {', '.join(there)}."
        )
    found: list[tuple] = []
    items = pd.concat([_items(there[code], code, identical, found) for code in codes], ignore_index=True)
    found += _between(items)
    return tables.check(items.assign(word=""), "items"), pd.DataFrame(found, columns=COLUMNS).astype(str)


def _lines(path: Path, lang: str, found: list[tuple]) -> list[str]:
    """Return the texts of a file without white space around them, and append to `found` what was cut off."""
    place = f"{path.parent.name}/{path.name}"
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise InputError(
            f"The file {path} of CoMMuTE cannot be read ({error.strerror}): get it again from "
            f"{datasets.get_dataset('commute').url}."
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"The file {path} is not in UTF-8 (byte {error.start}): save it so, or get it again."
        ) from error
    if text.startswith("\ufeff"):
        text = text[1:]
        found.append((lang, "byte order mark", place, "1", "", "cut off"))
    # Not splitlines: it would also split at letters that are no ends of a line to other programs.
    rows = text.removesuffix("\n").split("\n")
    filled = max((number for number, row in enumerate(rows, 1) if row.strip()), default=0)
    if filled < len(rows):
        numbers = f"{filled + 1}" if filled + 1 == len(rows) else f"{filled + 1}, {len(rows)}"
        found.append((lang, "empty lines at the end", place, numbers, "", "left out"))
    for number, row in enumerate(rows[:filled], 1):
        found += [(lang, finding, place, str(number), "", treatment) for finding, treatment in _blemishes(row)]
    return [row.strip() for row in rows[:filled]]


def _blemishes(row: str) -> list[tuple[str, str]]:
    """Return what is irregular in the white space of a line: finding and treatment."""
    line, text = row.removesuffix("\r"), row.strip()
    found = {
        ("carriage return", "cut off"): line != row,
        ("spaces around a text", "cut off"): line != text,
        ("spaces in a row", "kept"): re.search(r"\s\s", text),
        ("invisible letter", "kept"): not text.isprintable(),
    }
    return [told for told, is_there in found.items() if is_there]


def _items(home: Path, lang: str, identical: str, found: list[tuple]) -> pd.DataFrame:
    """Return the items of one language: lang, item, sense, source, translation; append to `found`."""
    code = home.name.removesuffix("_dev").removeprefix("en-")  # as the folder spells it
    names = {"source": SOURCE, "correct": f"correct.{code}", "incorrect": f"incorrect.{code}", "image": IMAGES}
    texts = {column: _lines(home / name, lang, found) for column, name in names.items()}
    sizes = {names[column]: len(rows) for column, rows in texts.items()}
    if len(set(sizes.values())) > 1:
        said = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise InputError(
            f"The files of {home} should have as many lines as each other, got {said}: line k of one belongs to line k "
            "of the others, so get them again."
        )
    if not texts["source"]:
        raise InputError(
            f"The files of {home} hold no line: expected two for each item; get them again, or leave out the language "
            f"{lang}."
        )
    rows = pd.DataFrame(texts)
    faults = [
        f"{home.name}/{names[column]}, line {place + 1}, holds no text"
        for column in names
        for place in rows.index[rows[column] == ""]
    ]
    pairs, alone = _pairs(rows)
    faults += [
        f"{home.name}/{SOURCE}, line {place + 1}, has no neighbouring line for its other side" for place in alone
    ]
    items = {place: "+".join(sorted(rows["image"][[place, place + 1]])) for place in pairs}
    twice = [item for item, count in Counter(items.values()).items() if count > 1]
    for place, item in items.items():
        lines = f"{home.name}/{IMAGES}, lines {place + 1} and {place + 2},"
        if rows["image"][place] == rows["image"][place + 1]:
            faults.append(f"{lines} name one image for both senses")
        elif item in twice:
            faults.append(f"{lines} name the two images of another item too")
    if faults:
        others = f" (and {len(faults) - 1} more problem(s))" if len(faults) > 1 else ""
        raise InputError(f"CoMMuTE: {faults[0]}{others}: fix the files, or delete the line from all four.")
    found += _within(rows, items, home, names, lang, identical)
    kept = [place for place in pairs if identical == "keep" or rows["correct"][place] != rows["correct"][place + 1]]
    if not kept:
        raise InputError(
            f"Every item of {home} has one translation for both of its senses, so that none is kept: leave out the "
            f"language {lang}, or keep such items."
        )
    made = [
        (lang, items[place], "a" if row.image == items[place].split("+")[0] else "b", row.source, row.correct)
        for place in kept
        for row in rows.loc[place : place + 1].itertuples()
    ]
    return pd.DataFrame(made, columns=["lang", "item", "sense", "source", "translation"])


def _pairs(rows: pd.DataFrame) -> tuple[list[int], list[int]]:
    """Return the first places of neighbouring lines that are one item, and the places of lines that stand alone."""
    after = rows.shift(-1)
    crossed = (rows["correct"] == after["incorrect"]) & (after["correct"] == rows["incorrect"])
    fits = ((rows["source"] == after["source"]) | crossed).tolist()
    pairs, alone, place = [], [], 0
    while place < len(rows):
        (pairs if fits[place] else alone).append(place)
        place += 2 if fits[place] else 1
    return pairs, alone


def _within(
    rows: pd.DataFrame, items: dict[int, str], home: Path, names: dict[str, str], lang: str, identical: str
) -> list[tuple]:
    """Return what is irregular in the items of one language; `items`: their names by the place of the first line."""
    sentences = Counter(rows["source"][place] for place in items)
    images = Counter(image for item in items.values() for image in item.split("+"))
    found = []
    for place, item in items.items():
        one, two, both = rows.iloc[place], rows.iloc[place + 1], f"{place + 1}, {place + 2}"
        told = []
        if one["source"] != two["source"]:
            told.append(("sentences of an item differ", "source", both, "kept: each sense has its own"))
        elif sentences[one["source"]] > 1:
            told.append(("sentence of several items", "source", both, "kept"))
        for number, line, other in ((place + 1, one, two), (place + 2, two, one)):
            if line["incorrect"] != other["correct"]:
                treatment = "not used: only the correct translations are"
                told.append(("incorrect is not the other's correct", "incorrect", str(number), treatment))
            if images[line["image"]] > 1:
                told.append(("image of several items", "image", str(number), "kept"))
        if one["correct"] == two["correct"]:
            treatment = "kept" if identical == "keep" else "left out"
            told.append(("translations are the same", "correct", both, treatment))
        found += [(lang, what, f"{home.name}/{names[column]}", lines, item, done) for what, column, lines, done in told]
    return found


def _between(items: pd.DataFrame) -> list[tuple]:
    """Return what is irregular between languages: items that one lacks, and sentences that differ."""
    found, every = [], items["item"].unique()
    sentences = items.groupby("item")["source"].agg(lambda texts: Counter(texts).most_common(1)[0][0])
    first = items.drop_duplicates(["lang", "item"])
    for lang, rows in first.groupby("lang", sort=False):
        have = rows.set_index("item")["source"]
        found += [(lang, "item is not in this language", "", "", item, "kept") for item in every if item not in have]
        other = have[have.to_numpy() != sentences[have.index].to_numpy()]
        found += [(lang, "sentence differs between languages", "", "", item, "kept") for item in other.index]
    return found


def _files(images: str | os.PathLike, dataset: str) -> dict[str, list[Path]]:
    """Return where the images of a folder or an archive lie, by file name."""
    home = datasets.given(images, datasets.get_dataset(dataset))
    if download.is_archive(home):
        home = download.unpack(home, lambda name: str(Path(name)) if is_image(name) else "", "the images of CoMMuTE")
    if not home.is_dir():
        what = "is no folder and no archive" if home.exists() else "does not exist"
        raise InputError(
            f"The images of the data set {dataset!r} are given as {home}, which {what}: give the folder, or "
            f"images.tar.gz from {datasets.get_dataset(dataset).url}."
        )
    found: dict[str, list[Path]] = {}
    for path in sorted(home.rglob("*")):
        if path.is_file() and path.suffix.lower() in datasets.SUFFIXES:
            found.setdefault(path.name, []).append(path)
    return found


def pictured(
    items: pd.DataFrame, images: str | os.PathLike, dataset: str = "commute", missing: int = 0
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return the items whose two images are there, these (schema `item_images`, absolute paths), and what is not.

    `items` as `read` returns them; `images`: the folder of the images, or its archive; `missing`: how many images may
    be absent. An item that lacks one is left out in all languages, and named in the third table, whose columns are
    those of the findings of `read`. Raises InputError where more are absent, or all, and for two files of one name that
    differ.
    """
    datasets.check_missing(missing)
    files = _files(images, dataset)
    names = list(dict.fromkeys(name for item in items["item"].unique() for name in item.split("+")))
    absent = [name for name in names if name not in files]
    if len(absent) > missing or len(absent) == len(names):
        some = ", ".join(absent[:20]) + (", …" if len(absent) > 20 else "")
        raise InputError(
            f"The data set {dataset!r} lacks {len(absent)} of {len(names)} images in {images}: {some}; fetch it again, "
            "or say how many may be missing, which leaves out their items and is recorded with the result."
        )
    double = [name for name in names if len({path.read_bytes() for path in files.get(name, [])}) > 1]
    if double:
        raise InputError(
            f"There are {len(files[double[0]])} different files called {double[0]} in {images}: keep the right one."
        )
    found = [
        (lang, "image is missing", name, "", item, "left out")
        for lang, item in items[["lang", "item"]].drop_duplicates().itertuples(index=False)
        for name in item.split("+")
        if name not in files
    ]
    kept = items[~items["item"].isin({item for *_, item, _ in found})].reset_index(drop=True)
    rows = [
        (item, f"{sense}0", str(files[name][0]))
        for item in kept["item"].unique()
        for sense, name in zip("ab", item.split("+"), strict=True)
    ]
    item_images = pd.DataFrame(rows, columns=["item", "image", "path"])
    return kept, tables.check(item_images, "item_images"), pd.DataFrame(found, columns=COLUMNS).astype(str)


def counts(items: pd.DataFrame) -> pd.DataFrame:
    """Return how many each language has: lang, items, `everywhere` (in all), `same` (both translations are one)."""
    n = items["lang"].nunique()
    spread = items.groupby("item")["lang"].nunique()
    wide = items.pivot(index=["lang", "item"], columns="sense", values="translation").reset_index()
    wide["everywhere"] = wide["item"].map(spread) == n
    wide["same"] = wide["a"] == wide["b"]
    made = wide.groupby("lang").agg(items=("item", "size"), everywhere=("everywhere", "sum"), same=("same", "sum"))
    return made.reindex(items["lang"].unique()).reset_index()
