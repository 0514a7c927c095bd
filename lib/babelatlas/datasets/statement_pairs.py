"""Statements about pairs of images: reading MaRVL and NLVR2 as released into the table `pairs`.

MaRVL (Liu et al. 2021): `<lang>/annotations/marvl-<lang>.jsonl`, machine translations to English next to them, images
in `<lang>/images/<concept>/`. NLVR2 (Suhr et al. 2019): one file, JSON or JSON lines, of the release or of MaRVL's;
images `<split>-<set>-<pair>-img0.png` and `-img1.png`, of the training set in numbered folders. A statement is meant
to come with four pairs; in MaRVL some come with fewer or were written twice, of NLVR2 a part was taken out.
"""

import json
import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import below
from babelatlas.datasets import registry as datasets
from babelatlas.datasets.imagenet import is_image

FULL = 4  # pairs of a statement
ORIGINAL = "original"
# Data set -> variant -> where its files lie below the folder of the release; {lang} is the language they are about.
FILES = {
    "marvl": {
        ORIGINAL: "{lang}/annotations/marvl-{lang}.jsonl",
        "translate-test": "{lang}/annotations_machine-translate/marvl-{lang}_gmt.jsonl",
        "human translate-test": "{lang}/annotations_human-translate/marvl-{lang}*.jsonl",
    },
    "nlvr2": {ORIGINAL: "{lang}/annotations/test.jsonl"},
    "nlvr2-1k": {
        ORIGINAL: "{lang}/annotations/test250-{lang}.jsonl",
        "translated by people": "{lang}/annotations_human-translate/test250-{lang}.jsonl",
    },
    "nlvr2-train": {
        ORIGINAL: "{lang}/annotations/train.jsonl",
        "translate-train": "{lang}/annotations_machine-translate/nlvr2-{lang}_train.jsonl",
    },
}
COLUMNS = {"caption": "text", "sentence": "text", "id": "identifier", "label": "truth", "synset": "concept"}


def read(
    folder: str | os.PathLike, dataset: str, wanted: Iterable[str] = (), incomplete: int | None = None
) -> pd.DataFrame:
    """Return the statements of a data set, schema `pairs`; `left` and `right` are names of files as released.

    `folder`: MaRVL's release (the folder that holds `data`, or that folder), or of NLVR2 one of its own files, which is
    English. `wanted`: codes of languages, none for all. A translated statement has the language and the name of its
    original. `incomplete`: how many statements may have another number of pairs than four, -1 for any, None for
    as many as the release has; `attrs["incomplete"]` says how many have.
    Raises InputError for files that are absent or no JSON, an empty sentence, a label that is not true or false, a
    language that is not there, and more statements without their four pairs.
    """
    parts = [_statements(path, dataset, variant, lang) for variant, lang, path in _files(folder, dataset, wanted)]
    pairs = pd.concat(parts, ignore_index=True)
    original = pairs[pairs["variant"] == ORIGINAL].drop_duplicates(["lang", "identifier"])
    names = original.set_index(["lang", "identifier"])["statement"]
    keys = pd.MultiIndex.from_frame(pairs[["lang", "identifier"]])
    pairs["statement"] = names.reindex(keys).fillna(pd.Series(pairs["statement"].to_numpy(), keys)).to_numpy()
    by = ["variant", "lang", "statement"]
    pairs["number"] = pairs.groupby(by).cumcount()
    sizes = pairs.groupby(by[1:], sort=False)["number"].max() + 1
    odd = sizes[sizes != FULL]
    allowed = datasets.get_dataset(dataset).incomplete if incomplete is None else incomplete
    if allowed < -1:
        raise InputError(f"The number of incomplete statements is from 0 on, or -1 for any, got {allowed}: give that.")
    if 0 <= allowed < len(odd):
        lang, name = odd.index[0]
        raise InputError(
            f"{len(odd)} statement(s) of the data set {dataset!r} have not {FULL} pairs of images, where {allowed} are "
            f"expected, the first: {name} in {lang} has {odd.iloc[0]}; get the files again, or say how many may."
        )
    pairs = tables.check(pairs[list(tables.SCHEMAS["pairs"][0])], "pairs")
    pairs.attrs["incomplete"] = len(odd)
    return pairs


def load(path: str | os.PathLike, wanted: Iterable[str] = ()) -> pd.DataFrame:
    """Return a table `pairs` with absolute paths of images, of some languages (none: all).

    Raises InputError for a language that it has not, a statement without text, and images that are not there or are
    named by a way out of the table's folder.
    """
    file = tables.locate(path)
    pairs, codes = tables.read(file, "pairs"), [languages.canonical(code) for code in wanted]
    absent = [code for code in codes if code not in set(pairs["lang"])]
    if absent:
        raise InputError(
            f"The table {file} has no language {', '.join(absent)}: it has {', '.join(set(pairs['lang']))}."
        )
    pairs = pairs[pairs["lang"].isin(codes)].reset_index(drop=True) if codes else pairs
    _refuse(pairs, pairs["text"].str.strip() == "", "an empty sentence", file, "statement")
    pairs = pairs.assign(**{side: below(file, pairs[side], absolute=True) for side in ("left", "right")})
    lost = [name for name in pd.unique(pairs[["left", "right"]].to_numpy().ravel()) if not os.path.isfile(name)]
    if lost:
        raise InputError(
            f"{len(lost):,} images of the statements in {file} are missing, the first {lost[0]}: make the table again, "
            "with the images (notebook 16 or 18)."
        )
    return pairs


def _refuse(table: pd.DataFrame, strange: pd.Series, got: str, path: Path, name: str) -> None:
    """Raise InputError where rows of a file have what they should not, naming the first of them."""
    if strange.any():
        first = table.loc[strange, name].iloc[0]
        raise InputError(f"{strange.sum():,} row(s) of {path} have {got}, the first is {first}: correct the file.")


def pictured(pairs: pd.DataFrame, images: str | os.PathLike, dataset: str) -> pd.DataFrame:
    """Return `pairs` with the paths of the images in a folder, at any depth; InputError where one is missing.

    Names are compared in Unicode's form NFC: MaRVL's folders are named by its concepts, in another form than its texts.
    """
    home = datasets.given(images, datasets.get_dataset(dataset))
    there: dict[str, list[Path]] = {}
    for path in sorted(home.rglob("*")) if home.is_dir() else []:
        if is_image(path.name):
            there.setdefault(_nfc(path.name), []).append(path)
    names = pd.concat([pairs["left"], pairs["right"]]).drop_duplicates()
    found = {name: path for name in names if (path := _find(_nfc(name), there))}
    absent = [name for name in names if name not in found]
    if absent:
        some = ", ".join(absent[:20]) + (", …" if len(absent) > 20 else "")
        raise InputError(
            f"The data set {dataset!r} lacks {len(absent):,} of {len(names):,} images in {home}: {some}; give the "
            f"folder that holds them, or get them from {datasets.get_dataset(dataset).url}."
        )
    return pairs.assign(left=pairs["left"].map(found), right=pairs["right"].map(found))


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _find(name: str, there: dict[str, list[Path]]) -> str:
    """Return the file of a released name, such as id/images/39-Panci/39-0.jpg or test1-0-1-img0.png; "" for none."""
    lang, *folders, file = name.split("/") if "/" in name else ("", name)
    found = [path for path in there.get(file, []) if not folders or _nfc(path.parent.name) == folders[-1]]
    of_language = [path for path in found if lang in path.parts]
    return str((of_language if len(found) > 1 else found)[0]) if (of_language or len(found) == 1) else ""


def _files(folder: str | os.PathLike, dataset: str, wanted: Iterable[str]) -> list[tuple[str, str, Path]]:
    """Return the files of a data set: variant, language, path."""
    entry = datasets.get_dataset(dataset)
    if dataset not in FILES or not str(folder):
        what = "are not given" if dataset in FILES else f"have no reader (there are readers of {', '.join(FILES)})"
        raise InputError(
            f"The statements of the data set {dataset!r} {what}: get them from {entry.url}, and name the folder in the "
            "config, under annotations."
        )
    home = tables.locate(folder)
    if home.is_file():
        found = [(ORIGINAL, "en", home)]
    else:
        home = home / "data" if (home / "data").is_dir() else home
        folders = sorted(path.name for path in home.iterdir() if path.is_dir()) if home.is_dir() else []
        found = [
            (variant, languages.canonical(lang), path)
            for variant, pattern in FILES[dataset].items()
            for lang in folders
            for path in sorted(home.glob(pattern.format(lang=lang)))
        ]
    codes = [languages.canonical(code) for code in wanted]
    there = {lang for _, lang, _ in found}
    absent = [code for code in codes if code not in there]
    if absent or not found:
        lacks = (
            f"no language {', '.join(absent)}" if absent else f"no {FILES[dataset][ORIGINAL].format(lang='<language>')}"
        )
        raise InputError(
            f"The folder {home} of the data set {dataset!r} has {lacks}: give the release, or one of its languages "
            f"({', '.join(sorted(there)) or 'none there'})."
        )
    return [one for one in found if not codes or one[1] in codes]


def _statements(path: Path, dataset: str, variant: str, lang: str) -> pd.DataFrame:
    """Return the rows of one file: schema `pairs` with the names of images in left and right."""
    try:
        content = path.read_text(encoding="utf-8-sig")
        whole = content.lstrip().startswith("[")
        # Not splitlines, which also splits at letters that are no ends of a line to JSON.
        rows = json.loads(content) if whole else [json.loads(line) for line in content.split("\n") if line.strip()]
        table = pd.DataFrame(rows).rename(columns=COLUMNS)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"The statements {path} cannot be read as JSON ({error}): get the file again.") from error
    marvl = "left_img" in table
    needed = ["text", "identifier", *(["concept", "left_img", "right_img"] if marvl else [])]
    lacking = [name for name in (*needed, "truth") if name not in table]
    if lacking:
        raise InputError(f"The statements {path} have no {lacking[0]} in their rows: give a file of MaRVL or NLVR2.")
    for name in needed:
        no_text = ~table[name].map(lambda value: isinstance(value, str)).astype(bool)
        _refuse(table, no_text, f"no text as {name}", path, "identifier")
    truth = table["truth"].astype(str).str.lower()
    _refuse(table, ~truth.isin(["true", "false"]), "a label that is not true or false", path, "identifier")
    _refuse(table, table["text"].str.strip() == "", "an empty sentence", path, "identifier")
    if marvl:
        # A sentence that was written for one concept twice is one statement, as the release counts consistency.
        place = table.groupby("text", sort=False)["identifier"].transform("first")
        left, right = (f"{lang}/images/" + table["concept"] + "/" + table[f"{side}_img"] for side in ("left", "right"))
    else:
        parts = table["identifier"].str.extract(r"^([\w]+-\d+)-(\d+)-(\d+)$")
        if parts.isna().any(axis=None):
            row = table[parts.isna().any(axis=1)].iloc[0]
            raise InputError(
                f"The identifier {row['identifier']!r} in {path} is not like test1-0-1-0: get the file again."
            )
        place = parts[0] + "-" + parts[2]
        left, right = (parts[0] + "-" + parts[1] + f"-img{side}.png" for side in (0, 1))
    facts = {"variant": variant, "lang": lang, "truth": truth == "true", "statement": place}
    facts |= {name: "" for name in ("concept", "chapter") if name not in table}
    if marvl:
        facts["concept"] = table["concept"].str.replace(r"^\d+-", "", regex=True)
    columns = [name for name in tables.SCHEMAS["pairs"][0] if name != "number"]
    table = table.assign(**facts, left=left, right=right)
    return table[[*columns, "identifier"]]
