"""Statements about pairs of images: reading MaRVL and NLVR2 as released into the table
`pairs`.

MaRVL (Liu et al. 2021): `<lang>/annotations/marvl-<lang>.jsonl`, machine translations
to English next to them, images in `<lang>/images/<concept>/`. NLVR2 (Suhr et al. 2019):
one file, JSON or JSON lines, of the release or of MaRVL's; images
`<split>-<set>-<pair>-img0.png` and `-img1.png`, of the training set in numbered
folders. A statement is meant to come with four pairs; in MaRVL some come with fewer or
were written twice, of NLVR2 a part was taken out.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from babelatlas.base import languages, own_tables, tables
from babelatlas.base.errors import InputError
from babelatlas.base.folders import nfc
from babelatlas.base.paths import below
from babelatlas.datasets import registry as datasets
from babelatlas.datasets.imagenet import image_files

FULL = 4  # pairs of a statement
ORIGINAL = "original"
OWN_TRANSLATION = "own translate-test"
TABLES = (".csv", ".tsv", ".parquet")
# Data set -> variant -> where its files lie below the folder of the release; {lang} is
# the language they are about.
FILES = {
    "marvl": {
        ORIGINAL: "{lang}/annotations/marvl-{lang}.jsonl",
        "translate-test": "{lang}/annotations_machine-translate/marvl-{lang}_gmt.jsonl",
        "human translate-test": (
            "{lang}/annotations_human-translate/marvl-{lang}*.jsonl"
        ),
    },
    "nlvr2": {ORIGINAL: "{lang}/annotations/test.jsonl"},
    "nlvr2-1k": {
        ORIGINAL: "{lang}/annotations/test250-{lang}.jsonl",
        "translated by people": (
            "{lang}/annotations_human-translate/test250-{lang}.jsonl"
        ),
    },
    "nlvr2-train": {
        ORIGINAL: "{lang}/annotations/train.jsonl",
        "translate-train": (
            "{lang}/annotations_machine-translate/nlvr2-{lang}_train.jsonl"
        ),
    },
}
COLUMNS = {
    "caption": "text",
    "sentence": "text",
    "id": "identifier",
    "label": "truth",
    "synset": "concept",
}


def read(
    folder: str | os.PathLike,
    dataset: str,
    wanted: Iterable[str] = (),
    incomplete: int | None = None,
) -> pd.DataFrame:
    """Return the statements of a data set, schema `pairs`; `left` and `right` are names
    of files as released.

    `folder`: MaRVL's release (the folder that holds `data`, or that folder), or of
    NLVR2 one of its own files, which is English, or a table of schema `pairs`.
    `wanted`: codes of languages, none for all. A translated statement has the language
    and the name of its original.
    `incomplete`: how many statements may have another number of pairs than four, -1 for
    any, None for as many as the release has; `attrs["incomplete"]` says how many have.
    """
    file = tables.locate(folder)
    if str(folder) and file.suffix.lower() in TABLES:
        pairs = tables.read(file, "pairs")
        codes = languages.among(wanted, pairs["lang"], f"The table {file}")
        kept = pairs["lang"].isin(codes) if codes else pairs["lang"] != ""
        return _counted(pairs[kept].reset_index(drop=True), dataset, incomplete)
    parts = [
        _statements(path, variant, lang)
        for variant, lang, path in _files(folder, dataset, wanted)
    ]
    pairs = pd.concat(parts, ignore_index=True)
    # A translated statement has the name of its original, where that is there.
    key = ["lang", "identifier"]
    originals = pairs[pairs["variant"] == ORIGINAL].drop_duplicates(key)
    names = originals.set_index(key)["statement"]
    of_original = names.reindex(pd.MultiIndex.from_frame(pairs[key])).to_numpy()
    of_original = pd.Series(of_original, pairs.index)
    pairs["statement"] = of_original.where(of_original.notna(), pairs["statement"])
    by = ["variant", "lang", "statement"]
    pairs["number"] = pairs.groupby(by).cumcount()
    return _counted(pairs, dataset, incomplete)


def _counted(pairs: pd.DataFrame, dataset: str, incomplete: int | None) -> pd.DataFrame:
    """Return `pairs` as its schema says, with how many statements have not four pairs
    in `attrs`; InputError where these are more than `incomplete`.
    """
    sizes = pairs.groupby(["lang", "statement"], sort=False)["number"].nunique()
    odd = sizes[sizes != FULL]
    allowed = (
        datasets.get_dataset(dataset).incomplete if incomplete is None else incomplete
    )
    if 0 <= allowed < len(odd):
        lang, name = odd.index[0]
        what = (
            f"{len(odd)} statement(s) of the data set {dataset!r} have not {FULL} pairs"
            " of images"
        )
        raise InputError(
            f"{what}, where {allowed} are expected, the first: {name} in {lang} has"
            f" {odd.iloc[0]}."
        )
    pairs = tables.check(pairs[list(tables.SCHEMAS["pairs"][0])], "pairs")
    pairs.attrs["incomplete"] = len(odd)
    return pairs


def load(path: str | os.PathLike, wanted: Iterable[str] = ()) -> pd.DataFrame:
    """Return a table `pairs` with absolute paths of images, of some languages (none:
    all).
    """
    file = tables.locate(path)
    pairs = tables.read(file, "pairs")
    codes = languages.among(wanted, pairs["lang"], f"The table {file}")
    pairs = pairs[pairs["lang"].isin(codes)].reset_index(drop=True) if codes else pairs
    pairs = pairs.assign(
        **{side: below(file, pairs[side], absolute=True) for side in ("left", "right")}
    )
    lost = [
        name
        for name in pd.unique(pairs[["left", "right"]].to_numpy().ravel())
        if not os.path.isfile(name)
    ]
    if lost:
        raise InputError(
            f"{len(lost):,} images of the statements in {file} are missing, the first"
            f" {lost[0]}."
        )
    return pairs


def statements(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the statements of `pairs` as they were written, once each: columns lang,
    statement (its name) and text.

    What `with_translations` needs a translation of.
    """
    originals = pairs[pairs["variant"] == ORIGINAL].drop_duplicates(
        ["lang", "statement"]
    )
    return originals[["lang", "statement", "text"]].reset_index(drop=True)


def with_translations(
    pairs: pd.DataFrame, path: str | os.PathLike, dataset: str
) -> pd.DataFrame:
    """Return `pairs` and, as the variant `OWN_TRANSLATION`, the pairs of the statements
    that a table translates into English.

    The table (CSV or TSV) has the columns lang, statement (its name in `pairs`) and
    text, or english in its place, as a table of machine translations has. It translates
    every statement of each of its languages; InputError for one that is missing, is
    there twice, or is of another data set.
    """
    columns = ["lang", "statement", "text"]
    what = "translations of statements"
    table = own_tables.read(path, what, columns)
    if "english" in table:
        table = table.assign(text=table["english"])
    table = table[columns]
    table = own_tables.check_texts(table, columns, path, filled=True)
    table["lang"] = own_tables.languages_of(table, "lang", path)
    key = ["lang", "statement"]
    original = pairs[pairs["variant"] == ORIGINAL]
    names = pd.MultiIndex.from_frame(original[key].drop_duplicates())
    given = pd.MultiIndex.from_frame(table[key])
    for lang, of_language in table.groupby("lang", sort=False):
        names_there = names[names.get_level_values("lang") == lang]
        strange = of_language[~given[of_language.index].isin(names_there)]
        lacking = names_there.difference(given, sort=False)
        if len(strange):
            first = f"of {strange['statement'].iloc[0]!r}, which {dataset!r} has not"
        elif len(lacking):
            first = f"none of {lacking[0][1]!r}"
        elif of_language["statement"].duplicated().any():
            first = f"two of {of_language['statement'].mode().iloc[0]!r}"
        else:
            continue
        counts = f"{len(of_language)} translations of {len(names_there)} statements"
        raise InputError(
            f"The file {path} is of other statements: it has {counts} of {dataset!r} in"
            f" {languages.name(lang)}, {first}; translate each statement once."
        )
    texts = table.set_index(key)["text"]
    of_languages = original[original["lang"].isin(table["lang"])]
    places = pd.MultiIndex.from_frame(of_languages[key])
    translated = of_languages.assign(
        variant=OWN_TRANSLATION, text=texts[places].to_numpy()
    )
    found = tables.check(pd.concat([pairs, translated], ignore_index=True), "pairs")
    found.attrs.update(pairs.attrs)
    return found


def pictured(
    pairs: pd.DataFrame, images: str | os.PathLike, dataset: str
) -> pd.DataFrame:
    """Return `pairs` with the paths of the images in a folder, at any depth; InputError
    where one is missing.

    Names are compared in Unicode's form NFC: MaRVL's folders are named by its concepts,
    in another form than its texts.
    """
    home = datasets.images_path(images, datasets.get_dataset(dataset))
    files: dict[str, list[Path]] = {}
    for path in image_files(home):
        files.setdefault(nfc(path.name), []).append(path)
    names = pd.concat([pairs["left"], pairs["right"]]).drop_duplicates()
    paths = {
        name: str(home / name) if (home / name).is_file() else _find(nfc(name), files)
        for name in names
    }
    paths = {name: path for name, path in paths.items() if path}
    absent = [name for name in names if name not in paths]
    if absent:
        some = (
            f"{len(absent):,} of {len(names):,} images in {home}:"
            f" {', '.join(absent[:20])}"
        )
        raise InputError(
            f"The data set {dataset!r} lacks {some}; give the folder that holds them."
        )
    return pairs.assign(left=pairs["left"].map(paths), right=pairs["right"].map(paths))


def _find(name: str, files: dict[str, list[Path]]) -> str:
    """Return the file of a released name, such as id/images/39-Panci/39-0.jpg or
    test1-0-1-img0.png; "" for none.
    """
    lang, *folders, file = name.split("/") if "/" in name else ("", name)
    paths = [
        path
        for path in files.get(file, [])
        if not folders or nfc(path.parent.name) == folders[-1]
    ]
    if len(paths) > 1:
        paths = [path for path in paths if lang in path.parts]
    return str(paths[0]) if paths else ""


def _files(
    folder: str | os.PathLike, dataset: str, wanted: Iterable[str]
) -> list[tuple[str, str, Path]]:
    """Return the files of a data set: variant, language, path."""
    entry, home = datasets.get_dataset(dataset), tables.locate(folder)
    if str(folder) and home.is_file():
        return [(ORIGINAL, "en", home)]
    home = home / "data" if (home / "data").is_dir() else home
    files = [
        (variant, languages.canonical(part.name), path)
        for variant, pattern in FILES.get(dataset, FILES["marvl"]).items()
        for part in (sorted(home.iterdir()) if str(folder) and home.is_dir() else [])
        for path in sorted(home.glob(pattern.format(lang=part.name)))
    ]
    codes = [languages.canonical(code) for code in wanted]
    langs = {lang for _, lang, _ in files}
    if not files or not langs.issuperset(codes):
        where = (
            f"{str(folder)!r} are there in {', '.join(sorted(langs)) or 'no language'}"
        )
        raise InputError(
            f"The statements of the data set {dataset!r} in {where}: get them from"
            f" {entry.url}."
        )
    return [
        (variant, lang, path)
        for variant, lang, path in files
        if not codes or lang in codes
    ]


def _statements(path: Path, variant: str, lang: str) -> pd.DataFrame:
    """Return the rows of one file: schema `pairs` with the names of images in left and
    right.
    """
    try:
        table = pd.DataFrame(_json_rows(path)).rename(columns=COLUMNS)
        truth = table["truth"].astype(str).str.lower()
        truth = truth.map({"true": True, "false": False})
        if truth.isna().any() or (table["text"].str.strip() == "").any():
            raise ValueError("a label that is not true or false, or an empty sentence")
        of_marvl = "left_img" in table
        names = _names_of_marvl(table, lang) if of_marvl else _names_of_nlvr2(table)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"The statements {path} cannot be read ({error!r}): give a file of MaRVL or"
            " NLVR2."
        ) from error
    table = table.assign(variant=variant, lang=lang, truth=truth.astype(bool), **names)
    for column in ("concept", "chapter"):
        if column not in table:
            table[column] = ""
    if of_marvl:
        table["concept"] = table["concept"].str.replace(r"^\d+-", "", regex=True)
    columns = [column for column in tables.SCHEMAS["pairs"][0] if column != "number"]
    return table[[*columns, "identifier"]]


def _json_rows(path: Path) -> list[dict]:
    """Return the entries of a JSON list, or of a file with one entry a line."""
    content = path.read_text(encoding="utf-8-sig")
    if content.lstrip().startswith("["):
        return json.loads(content)
    # Not splitlines, which also splits at letters that are no ends of a line to JSON.
    return [json.loads(line) for line in content.split("\n") if line.strip()]


def _names_of_marvl(table: pd.DataFrame, lang: str) -> dict[str, pd.Series]:
    """Return the columns statement, left and right of MaRVL.

    A sentence that was written for one concept twice is one statement, as the release
    counts consistency.
    """
    folder = f"{lang}/images/" + table["concept"] + "/"
    return {
        "statement": table.groupby("text", sort=False)["identifier"].transform("first"),
        "left": folder + table["left_img"],
        "right": folder + table["right_img"],
    }


def _names_of_nlvr2(table: pd.DataFrame) -> dict[str, pd.Series]:
    """Return the columns statement, left and right of NLVR2, from identifiers such as
    test1-0-1-0.
    """
    parts = table["identifier"].str.extract(r"^([\w]+-\d+)-(\d+)-(\d+)$")
    if parts.isna().any(axis=None):
        raise ValueError("an identifier that is not like test1-0-1-0")
    pair = parts[0] + "-" + parts[1]
    return {
        "statement": parts[0] + "-" + parts[2],
        "left": pair + "-img0.png",
        "right": pair + "-img1.png",
    }
