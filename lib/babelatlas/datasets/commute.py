"""CoMMuTE: reading its files into items of two senses, with every irregularity counted
and named.

The files, as released: a folder for each language (`en-fr`, and `en-fr_dev` for
development) with `src.en`, the ambiguous English sentences, `correct.fr` and
`incorrect.fr`, and `img.order`, the names of the images. Line k of all four belongs
together; a sentence has two neighbouring lines, one for each of its senses, and what is
correct on one is incorrect on the other. Here the two lines are one item, named after
its two images, sorted; sense "a" is that of the first. The sentences (Futeral et al.
2023, 2024) are for non-commercial use, and none is kept in this project.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from babelatlas.base import download, folders, languages, own_tables, tables
from babelatlas.base.errors import InputError, near
from babelatlas.datasets import registry as datasets
from babelatlas.datasets.imagenet import image_files

# What a folder is called, by data set; in brackets the code of its language.
FOLDERS = {"commute": r"en-([a-z]{2,3})", "commute-dev": r"en-([a-z]{2,3})_dev"}
COLUMNS = ["finding", "lang", "item", "lines"]


def available(folder: str | os.PathLike, dataset: str = "commute") -> dict[str, Path]:
    """Return the folder of each language, by its code, that a folder as released holds;
    InputError where none is.

    `dataset`: "commute", the test sets, or "commute-dev".
    """
    home = tables.locate(folder)
    parts = sorted(home.iterdir()) if str(folder) and home.is_dir() else []
    named = {
        part: re.fullmatch(FOLDERS[dataset], part.name)
        for part in parts
        if part.is_dir()
    }
    if not any(named.values()):
        entry = datasets.get_dataset(dataset)
        where = f"en-fr{dataset[7:].replace('-', '_')} below {str(folder)!r}"
        raise InputError(
            f"The texts of {dataset!r} should lie in folders such as {where}: get them"
            f" from {entry.url}."
        )
    return {
        languages.canonical(match[1]): part for part, match in named.items() if match
    }


def read_items(
    folder: str | os.PathLike, dataset: str = "commute", wanted: Iterable[str] = ()
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the items of CoMMuTE, schema `items`, and what is irregular: finding,
    lang, item, lines.

    `folder` as released; `wanted`: codes of languages, none for all that it has. Rows
    stand in the order of the files. White space around a text is cut off. `word` is "":
    the files do not say which word is ambiguous.
    """
    homes = available(folder, dataset)
    codes = languages.among(
        wanted, homes, f"The data set {dataset!r} in {folder}"
    ) or list(homes)
    parts = [_items(homes[code], code) for code in codes]
    items = pd.concat([part for part, _ in parts], ignore_index=True)
    findings = [finding for _, several in parts for finding in several]
    sentences = items.groupby("item")["source"].agg(
        lambda texts: Counter(texts).most_common(1)[0][0]
    )
    once = items.drop_duplicates(["lang", "item"])
    for lang, rows in once.groupby("lang", sort=False):
        sentence_of = rows.set_index("item")["source"]
        for item in items["item"].unique():
            if item not in sentence_of:
                findings.append(("item is not in this language", lang, item, ""))
        differs = sentence_of.to_numpy() != sentences[sentence_of.index].to_numpy()
        for item in sentence_of.index[differs]:
            findings.append(("sentence differs between languages", lang, item, ""))
    findings = pd.DataFrame(findings, columns=COLUMNS).astype(str)
    return tables.check(items.assign(word=""), "items"), findings


def _items(home: Path, lang: str) -> tuple[pd.DataFrame, list[tuple]]:
    """Return the items of one language, lang, item, sense, source, translation, and
    what is irregular in them.
    """
    rows = _lines_of(home)
    items, findings, seen = [], [], set()
    for start in range(0, len(rows), 2):
        pair, lines = rows.iloc[start : start + 2], f"{start + 1}, {start + 2}"
        item = "+".join(sorted(pair["image"]))
        if (
            (pair == "").any(axis=None)
            or not _belong(pair)
            or pair["image"].nunique() < 2
            or item in seen
        ):
            raise InputError(
                f"CoMMuTE: lines {lines} of {home.name} should be the two sides of one"
                " item."
            )
        seen.add(item)
        findings += [(finding, lang, item, lines) for finding in _irregular(pair)]
        image_a = item.split("+")[0]
        for row in pair.itertuples():
            sense = "a" if row.image == image_a else "b"
            items.append((lang, item, sense, row.source, row.correct))
    columns = ["lang", "item", "sense", "source", "translation"]
    return pd.DataFrame(items, columns=columns), findings


def _irregular(pair: pd.DataFrame) -> list[str]:
    """Return what is irregular in the two sides of an item, in words."""
    first, second = pair.itertuples()
    findings = []
    if first.source != second.source:
        findings.append("sentences of an item differ")
    if first.incorrect != second.correct or second.incorrect != first.correct:
        findings.append("incorrect is not the other's correct")
    if first.correct == second.correct:
        findings.append("translations are the same")
    return findings


def _lines_of(home: Path) -> pd.DataFrame:
    """Return the files of one language side by side, one row a line: source, correct,
    incorrect and image.
    """
    code = home.name.removesuffix("_dev").removeprefix("en-")  # as the folder spells it
    names = {
        "source": "src.en",
        "correct": f"correct.{code}",
        "incorrect": f"incorrect.{code}",
        "image": "img.order",
    }
    try:
        # Not splitlines: it would also split at letters that are no ends of a line to
        # other programs.
        texts = {
            column: (home / name).read_text("utf-8-sig").rstrip().split("\n")
            for column, name in names.items()
        }
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"The files of {home} cannot be read ({error}): get them again."
        ) from error
    sizes = [len(rows) for rows in texts.values()]
    if len(set(sizes)) > 1:
        raise InputError(
            f"The files of {home} have {sizes} lines: line k of one belongs to line k"
            " of the others."
        )
    return pd.DataFrame(texts).apply(lambda column: column.str.strip())


def _belong(pair: pd.DataFrame) -> bool:
    """Return whether two lines are one item: one sentence, or what is correct on one is
    incorrect on the other.
    """
    if len(pair) < 2:
        return False
    first, second = pair.itertuples()
    crossed = first.correct == second.incorrect and second.correct == first.incorrect
    return first.source == second.source or crossed


def pictured(
    items: pd.DataFrame,
    images: str | os.PathLike,
    dataset: str = "commute",
    missing: int = 0,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return the items whose two images are there, these (schema `item_images`,
    absolute paths), and what is not.

    `items` as `read_items` returns them; `images`: the folder of the images, or its
    archive; `missing`: how many images may be absent. An item that lacks one is left out in all
    languages, and named in the third table, as in `read_items`.
    """
    home = datasets.images_path(images, datasets.get_dataset(dataset))
    if download.is_archive(home):
        home = download.unpack(home)
    files = {path.name: path for path in image_files(home)}
    pairs = [item.split("+") for item in items["item"].unique()]
    names = list(dict.fromkeys(name for pair in pairs for name in pair))
    absent = [name for name in names if name not in files]
    if len(absent) > missing or len(absent) == len(names):
        some = (
            f"{len(absent)} of {len(names)} images in {images}:"
            f" {', '.join(absent[:20])}"
        )
        raise InputError(
            f"The data set {dataset!r} lacks {some}; fetch it again, or say with"
            " missing how many may be."
        )
    lacks = items["item"].map(lambda item: not files.keys() >= set(item.split("+")))
    lost = items[lacks].drop_duplicates(["lang", "item"])
    findings = lost[["lang", "item"]].assign(finding="image is missing", lines="")[
        COLUMNS
    ]
    kept = items[~lacks].reset_index(drop=True)
    rows = [
        (item, f"{sense}0", str(files[name]))
        for item in kept["item"].unique()
        for sense, name in zip("ab", item.split("+"), strict=True)
    ]
    item_images = pd.DataFrame(rows, columns=["item", "image", "path"])
    item_images.attrs["missing"] = len(absent)
    return kept, tables.check(item_images, "item_images"), findings


def extended(
    item_images: pd.DataFrame, further: str | os.PathLike, images_per_sense: int = 5
) -> pd.DataFrame:
    """Return the images of the items with further ones of each sense: schema
    `item_images`, a1, a2 ... after a0, and b1 ... after b0.

    `item_images` as `pictured` returns them. `further`: a folder that has, for each
    image to extend, a folder named as its file, with or without the ending, and the
    further images in it, taken in the order of their names; or a CSV file with the
    columns image (the original's file name) and path (relative to the file), and
    perhaps `chosen`, of which rows are taken where it is not empty. Of these
    `images_per_sense` - 1 are used (Kashani Motlagh et al. 2024, Section 5.5: five
    images, the original among them); a sense may have fewer. Raises InputError for a
    folder or row that belongs to no image of the items, and a file that is absent.
    """
    place = tables.locate(further)
    paths_of = _in_table(place) if place.suffix == ".csv" else _in_folders(place)
    originals = item_images.assign(name=item_images["path"].map(os.path.basename))
    stems = originals["name"].map(lambda name: Path(name).stem)
    names = {*originals["name"], *stems}
    strange = sorted(set(paths_of) - names)
    if strange:
        raise InputError(
            f"The further images in {further} are of {strange[0]!r}, which is no image"
            f" of the items: {near(strange[0], stems.unique())}"
        )
    rows = []
    for original, stem in zip(originals.itertuples(), stems, strict=True):
        paths = paths_of.get(original.name) or paths_of.get(stem, [])
        for number, path in enumerate([original.path, *paths][:images_per_sense]):
            rows.append((original.item, f"{original.image[0]}{number}", path))
    table = pd.DataFrame(rows, columns=["item", "image", "path"])
    table.attrs.update(item_images.attrs)
    return tables.check(table, "item_images")


def _in_folders(home: Path) -> dict[str, list[str]]:
    """Return the further images of a folder of folders, by the name of each."""
    if not home.is_dir():
        raise InputError(
            f"There is no folder {home} of further images: expected one with a folder"
            " for each image that it extends, or a CSV file."
        )
    homes = sorted(path for path in home.iterdir() if path.is_dir())
    return {
        path.name: [str(file) for file in sorted(image_files(path))] for path in homes
    }


def _in_table(file: Path) -> dict[str, list[str]]:
    """Return the further images that a CSV file names, by the image that they extend."""
    rows = own_tables.read(file, "further images", ["image", "path"])
    if "chosen" in rows:
        rows = rows[rows["chosen"].str.strip() != ""]
    if rows.empty:
        raise InputError(
            f"No image in {file.name} is chosen: mark those to take in its column"
            " chosen."
        )
    paths = folders.named(file.parent, rows["path"])
    absent = [path for path in paths if not Path(path).is_file()]
    if absent:
        raise InputError(
            f"{len(absent)} of {len(paths)} further images in {file.name} do not exist,"
            f" the first: {absent[0]}; correct their paths, which are relative to the"
            " table's folder."
        )
    named = rows.assign(path=paths)
    return named.groupby("image", sort=False)["path"].agg(list).to_dict()


def counts(items: pd.DataFrame) -> pd.DataFrame:
    """Return how many each language has: lang, items, `everywhere` (in all), `same`
    (both translations are one).
    """
    n_languages = items.groupby("item")["lang"].nunique()
    key = ["lang", "item"]
    translations = items.pivot(index=key, columns="sense", values="translation")
    translations = translations.reset_index()
    in_all = translations["item"].map(n_languages) == items["lang"].nunique()
    translations["everywhere"] = in_all
    translations["same"] = translations["a"] == translations["b"]
    numbers = translations.groupby("lang").agg(
        items=("item", "size"), everywhere=("everywhere", "sum"), same=("same", "sum")
    )
    return numbers.reindex(items["lang"].unique()).reset_index()
