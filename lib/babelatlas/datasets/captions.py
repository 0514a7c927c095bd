"""The captions of the retrieval data sets, read from the files in which they are published.

Two images may well have the same caption, and so may one image twice: such captions are kept, and tie. A caption
without a letter stops the run, but for those that the entry of the data set knows to be published so.
"""

import gzip
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path

import pandas as pd

from babelatlas.base import download, languages, own_tables, tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import below
from babelatlas.datasets import registry as datasets
from babelatlas.datasets.imagenet import SUFFIXES, is_image
from babelatlas.datasets.layouts import crossmodal3600, translated_captions

CHOICES = ("first", "all")
# Multi30K's splits: images, and languages that have them. Source: its files at the commit in files.csv.
SPLITS = {
    "train": (29_000, ("en", "de", "fr", "cs")),
    "val": (1014, ("en", "de", "fr", "cs")),
    "test_2016_flickr": (1000, ("en", "de", "fr", "cs")),
    "test_2017_flickr": (1000, ("en", "de", "fr")),
    "test_2017_mscoco": (461, ("en", "de", "fr")),
    "test_2018_flickr": (1071, ("en", "de", "fr", "cs")),
}
SPLIT = "test_2016_flickr"


@dataclass(frozen=True)
class Annotations:
    """What a file says: `images`, names in order, and for (set, language code) the captions of each of them.

    `dataset` is the entry with the counts that the file should have.
    """

    path: Path
    images: list[str]
    captions: dict[tuple[str, str], list[list[str]]]
    dataset: datasets.Dataset


def load(
    name: str,
    images: str | os.PathLike | Sequence[str | os.PathLike],
    annotations: str | os.PathLike = "",
    sets: Iterable[str] = (),
    languages: Iterable[str] = (),
    missing: int = 0,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the gallery of a retrieval data set and its captions.

    The gallery has one row for each image: `image`, its name, and `path`, absolute; the captions are a `captions` table
    of these images, in the order of the gallery. Of a custom data set the names are paths relative to `images`.

    `images`: a folder with the image files, in it or in its folders down to two levels, an archive of them, or several
    of these; for pictogram-captions the table of the images. `annotations`: the file or folder of the captions as it
    is published, "" to fetch it; for multi30k also the name of a split, or its file in image_splits; for
    pictogram-captions the table of the captions. `sets`, `languages`: those to keep, none for all. `missing`: how many
    of the data set's images may be absent. `attrs["missing"]` of the gallery says how many are; `attrs["empty"]` of the
    captions lists those that are empty as published.
    Raises InputError where a file is absent, damaged or of another layout, an image is named twice, an image or a
    language has no caption, a caption is empty, a name is unknown, and where more images are missing than may be.
    """
    datasets.check_missing(missing)
    dataset = datasets.get_dataset(name)
    if dataset.task != "retrieval":
        raise InputError(
            f"The data set {name!r} has classes or ambiguous words in place of captions: read it with "
            "datasets.load or item_images.read."
        )
    if not isinstance(annotations, str | os.PathLike):
        raise InputError(
            f"The captions of the data set {name!r} should be one path, a file or a folder, got {annotations!r}: give "
            "that path as text, without brackets."
        )
    wanted = [_canonical(code, "the parameter languages") for code in languages]
    sets = list(sets)
    if name not in READERS:
        table, order, paths = _own(dataset, images, annotations)
        table = _select(table, name, sets)
        _has(table["lang"], name, wanted, "language")
        table, short = table[table["lang"].isin(wanted)] if wanted else table, 0
    else:
        read = READERS[name](dataset, annotations, sets)
        table = _select(_table(read, wanted), name, sets)
        order, short = read.images, read.dataset.n_images - len(read.images)
        paths = _find(order, images, dataset)
    absent = [image for image in order if image not in paths]
    if short + len(absent) > missing or not paths:
        _stop(dataset, order, absent, short, images)
    gallery = pd.DataFrame({"image": [image for image in order if image in paths]}, dtype=str)
    gallery["path"] = gallery["image"].map(paths).astype(str)
    gallery.attrs["missing"] = short + len(absent)
    table = table[table["image"].isin(gallery["image"])].reset_index(drop=True)
    empty = table[table["caption"].str.strip() == ""]
    table.attrs["empty"] = [f"{row.captions} {row.lang} {row.image}#{row.number}" for row in empty.itertuples()]
    return gallery, tables.check(table, "captions")


def inputs(*given: str | os.PathLike | Sequence[str | os.PathLike]) -> list[str]:
    """Return the files and folders among what was given as images, labels or captions of data sets, each once.

    Lists are taken apart. "" and the name of a split of Multi30K are no files: what is fetched for them is checked
    against the hash in files.csv. Call it before any long work: raises InputError for a path that does not exist.
    """
    paths = [str(path) for one in given for path in ([one] if isinstance(one, str | os.PathLike) else one)]
    paths = [path for path in dict.fromkeys(paths) if path and path not in SPLITS]
    for path in paths:
        if not tables.locate(path).exists():
            raise InputError(f"The input {path} does not exist: correct the path, or make or fetch it.")
    return paths


def choose(table: pd.DataFrame, choice: str) -> pd.DataFrame:
    """Return the captions that a protocol asks with: "first", number 0 of each image, or "all"."""
    if choice not in CHOICES:
        raise InputError(f"There is no choice of captions {choice!r}: {near(str(choice), CHOICES)}")
    return table if choice == "all" else table[table["number"] == 0].reset_index(drop=True)


def _canonical(code: str, where: str) -> str:
    try:
        return languages.canonical(code)
    except InputError as error:
        raise InputError(f"In {where}: {error}") from error


def _select(table: pd.DataFrame, name: str, sets: list[str]) -> pd.DataFrame:
    """Return the rows of some sets of captions, [] for all; InputError for one that the data set does not have."""
    _has(table["captions"], name, sets, "set of captions")
    return table[table["captions"].isin(sets)] if sets else table


def _has(known: Iterable[str], name: str, asked: list[str], noun: str) -> None:
    """Raise InputError where the data set does not have all that is asked for."""
    known = sorted(set(known))
    if unknown := [one for one in asked if one not in known]:
        raise InputError(f"The data set {name!r} has no {noun} {unknown[0]!r}: expected one of {', '.join(known)}.")


def _table(read: Annotations, wanted: list[str]) -> pd.DataFrame:
    """Return what a file says of the languages `wanted` ([]: all of the data set, checked) as the schema `captions`."""
    dataset, double = read.dataset, pd.Series(read.images, dtype=str).duplicated()
    if double.any():
        raise InputError(
            f"The file {read.path} names the image {read.images[int(double.argmax())]} more than once: keep one entry, "
            "with all its captions."
        )
    if not read.images:
        raise InputError(f"The file {read.path} names no image: fetch it again.")
    if len(read.images) > dataset.n_images:
        raise InputError(
            f"The file {read.path} names {len(read.images):,} images, but {dataset.name} has {dataset.n_images:,}: "
            "give the file that belongs to it."
        )
    codes: dict[tuple[str, str], str] = {}
    for group, code in read.captions:
        lang = _canonical(code, f"the file {read.path}")
        if (group, lang) in codes:
            raise InputError(
                f"The file {read.path} has {code!r} and {codes[group, lang]!r}, which are one language: keep one."
            )
        codes[group, lang] = code
    if not codes:
        raise InputError(f"The file {read.path} has no captions: fetch it again.")
    for n_languages in pd.Series([group for group, _ in codes]).value_counts():
        has = f"{n_languages} language{'s' if n_languages > 1 else ''}"
        has += f", but {dataset.name} has them in {dataset.n_languages}"
        if n_languages > dataset.n_languages:
            raise InputError(f"The file {read.path} has captions in {has}: give the file that belongs to it.")
        if n_languages < dataset.n_languages and not wanted:
            raise InputError(f"The file {read.path} has captions in {has}: fetch it again, or name the languages.")
    _has([lang for _, lang in codes], dataset.name, wanted, "language")
    codes = {key: code for key, code in codes.items() if not wanted or key[1] in wanted}
    known = {tuple(one.split(" ", 1)) for one in dataset.empty}
    rows = []
    place = {group: number for number, group in enumerate(dataset.sets)}
    for group, lang in sorted(codes, key=lambda key: (place.get(key[0], -1), key)):
        captions = read.captions[group, codes[group, lang]]
        _check(captions, read, lang, {image for code, image in known if code == lang})
        rows += [
            (group, lang, image, number, caption)
            for image, several in zip(read.images, captions, strict=True)
            for number, caption in enumerate(several)
        ]
    table = pd.DataFrame(rows, columns=["captions", "lang", "image", "number", "caption"])
    for group, part in table.groupby("captions"):
        whole = len(read.images) == dataset.n_images and part["lang"].nunique() == dataset.n_languages
        if whole and len(part) != dataset.n_captions:
            raise InputError(
                f"The file {read.path} has {len(part):,} captions ({group}), but {dataset.name} has "
                f"{dataset.n_captions:,}: fetch it again."
            )
    return table


def _check(captions: list[list[str]], read: Annotations, lang: str, known: set[str]) -> None:
    """Raise InputError where a language has no caption, an image none, or a caption is empty or no text."""
    called = f"{languages.name(lang)} ({lang})"
    if not any(captions):
        raise InputError(
            f"The file {read.path} has no caption in {called}: fetch it again, or leave the language out by naming the "
            "others in the parameter languages."
        )
    if len(captions) != len(read.images):
        raise InputError(
            f"The file {read.path} has {len(read.images):,} images, but captions in {called} for {len(captions):,}: "
            "fetch it again."
        )
    for image, several in zip(read.images, captions, strict=True):
        if not isinstance(several, list) or not all(isinstance(one, str) for one in several):
            raise InputError(
                f"The file {read.path} should have a list of texts for the image {image} in {called}, got "
                f"{str(several)[:60]}: fetch it again."
            )
        if not several:
            raise InputError(f"The file {read.path} has no caption in {called} for the image {image}: add one.")
        if image not in known and not all(one.strip() for one in several):
            raise InputError(
                f"The file {read.path} has an empty caption in {called} for the image {image}: correct it, or remove "
                "the image from the file."
            )


def _find(
    names: list[str], images: str | os.PathLike | Sequence[str | os.PathLike], dataset: datasets.Dataset
) -> dict[str, str]:
    """Return the absolute paths of those files called `names` that are in some folders, down to two levels."""
    homes = list(images) if isinstance(images, list | tuple) else [images]
    wanted, found = set(names), {}
    for one in homes or [""]:
        home = datasets.given(one, dataset)
        if download.is_archive(home):
            home = download.unpack(
                home, lambda name: Path(name).name if is_image(name) else "", f"images, such as {names[0]}"
            )
        if not home.is_dir():
            what = "is no folder and no archive" if home.exists() else "does not exist"
            raise InputError(
                f"What is given as the images of {dataset.name!r}, {home}, {what}: give {dataset.image_source}, as "
                "a folder or an archive."
            )
        for folder, inner, files in os.walk(home, followlinks=True):
            inner.sort()
            if len(Path(folder).relative_to(home).parts) == 2:
                inner.clear()
            for file in wanted.intersection(files):
                found.setdefault(file, os.path.join(folder, file))
    return found


def _stop(dataset: datasets.Dataset, order: list[str], absent: list[str], short: int, images) -> None:
    """Raise InputError that says which images are missing."""
    if len(absent) == len(order):
        raise InputError(
            f"None of the {len(order):,} images of {dataset.name!r} is in {images}: expected files such as {order[0]} "
            f"and {order[-1]}, in it or in its folders"
            f"{f' ({dataset.image_source})' if dataset.image_source else ''}."
        )
    lacks = [f"{short:,} not in the captions"] if short else []
    if absent:
        lacks.append(f"{len(absent):,} without a file: {', '.join(absent[:20])}{', …' if len(absent) > 20 else ''}")
    number, total = short + len(absent), short + len(order)
    raise InputError(
        f"The data set {dataset.name!r} lacks {number:,} of {total:,} images ({'; '.join(lacks)}): "
        f"fetch them, or allow so many with missing={number}, which is recorded with the result."
    )


def _own(dataset: datasets.Dataset, images, annotations) -> tuple[pd.DataFrame, list[str], dict[str, str]]:
    """Return captions, images in order and the paths of those that are there, of a made or a custom data set."""
    path = datasets.given(images if isinstance(images, str | os.PathLike) else next(iter(images), ""), dataset)
    if not str(annotations):
        how = "name their table under custom_datasets in the config"
        if not dataset.custom:
            how = f"run notebook {dataset.made_by}, which makes them, and give the table that it writes"
        raise InputError(f"The captions of the data set {dataset.name!r} are not given: {how}.")
    table = _own_captions(annotations) if dataset.custom else tables.read(annotations, "captions")
    table = table.assign(lang=[_canonical(code, f"the table {annotations}") for code in table["lang"]])
    empty = table[table["caption"].str.strip() == ""]
    if len(table) == 0 or len(empty):
        what = f"an empty caption of {empty['image'].iloc[0]}" if len(empty) else "no row"
        fix = "correct them" if dataset.custom else "make them again"
        raise InputError(f"The captions {annotations} have {what}: {fix}.")
    pictures = _below(path, dataset) if path.is_dir() else tables.read(path, "images")["path"].tolist()
    home = path if path.is_dir() else path.parent
    below(path, pictures, home)
    captioned = set(table["image"])  # what only the captions name comes last
    order = [*(image for image in pictures if image in captioned), *sorted(captioned - set(pictures))]
    table["place"] = table["image"].map({image: place for place, image in enumerate(order)})
    table = table.sort_values(["captions", "lang", "place", "number"], ignore_index=True).drop(columns="place")
    paths = {image: str(home / image) for image in pictures if (home / image).is_file()}
    return table, order, paths


def _own_captions(path: str | os.PathLike) -> pd.DataFrame:
    """Return a custom data set's captions; a CSV without columns for it has the set "own", numbered as rows come."""
    file = tables.locate(path)
    if file.suffix != ".csv":
        return own_tables.check_texts(tables.read(path, "captions"), ["caption"], file)
    if not file.is_file():
        raise InputError(f"The captions {file} do not exist: correct the path under custom_datasets in the config.")
    table = own_tables.read(file, "captions", ["lang", "image", "caption"])
    own_tables.check_texts(table, table.columns, file)
    if "captions" not in table:
        table["captions"] = "own"
    if "number" in table:
        table["number"] = own_tables.numbers(table, "number", int, file)
    else:
        table["number"] = table.groupby(["captions", "lang", "image"]).cumcount()
    with own_tables.named(file):
        return tables.check(table, "captions")


def _below(folder: Path, dataset: datasets.Dataset) -> list[str]:
    """Return the names of the image files below a folder, relative to it; raises InputError where there is none."""
    files = sorted(file for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
    if not files:
        raise InputError(
            f"The folder {folder} of the data set {dataset.name!r} holds no image: expected files that end in "
            f"{', '.join(sorted(SUFFIXES))}."
        )
    return [file.relative_to(folder).as_posix() for file in files]


def _json(path: Path, expected: str) -> dict:
    """Return the object that a JSON file holds; InputError where it is absent, damaged, or holds another thing."""
    try:
        read = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        raise InputError(f"The file {path} does not exist: expected {expected}.") from error
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"The file {path} is not JSON ({reason}): expected {expected}; fetch it again.") from error
    if not isinstance(read, dict):
        raise _layout(path, expected, read)
    return read


def _pairs(dataset: datasets.Dataset, annotations: str | os.PathLike, sets: list[str]) -> Annotations:
    """Read a file of Babel-ImageNet's code: {"images": [name, …], "captions": {language: [[caption, …], …]}}."""
    path = tables.locate(annotations) if str(annotations) else download.file(dataset.name)
    if path.is_dir():
        path = path / f"{dataset.name}.json"
    expected = '{"images": […], "captions": {language: [[…], …]}}'
    read = _json(path, expected)
    if not isinstance(read.get("images"), list) or not isinstance(read.get("captions"), dict):
        raise _layout(path, expected, read)
    for lang, captions in read["captions"].items():
        if not isinstance(captions, list):
            raise _layout(path, expected, {"captions": {lang: captions}})
    found = {(dataset.sets[0], lang): captions for lang, captions in read["captions"].items()}
    return Annotations(path, [str(image) for image in read["images"]], found, dataset)


def _layout(path: Path, expected: str, got) -> InputError:
    shown = json.dumps(got, ensure_ascii=False)
    return InputError(f"The file {path} has another layout than expected, {expected}: it begins with {shown[:60]}.")


def _xm3600(dataset: datasets.Dataset, annotations: str | os.PathLike, sets: list[str]) -> Annotations:
    """Read the captions of Crossmodal-3600 as released; a .json as `_pairs`."""
    if str(annotations).endswith(".json"):
        return _pairs(dataset, annotations, sets)
    path, rows = crossmodal3600.read(annotations)
    images = [f"{row['image/key']}.jpg" for row in rows]
    written = [{lang: value["caption"] for lang, value in row.items() if isinstance(value, dict)} for row in rows]
    found = dict.fromkeys(lang for row in written for lang in row)
    captions = {(dataset.sets[0], lang): [row.get(lang, []) for row in written] for lang in found}
    return Annotations(path, images, captions, dataset)


def _multi30k(dataset: datasets.Dataset, annotations: str | os.PathLike, sets: list[str]) -> Annotations:
    """Read task 1 of Multi30K; the set is called human, of another split than the default also by the split's name."""
    asked = str(annotations)
    path = tables.locate(annotations) if asked and asked not in SPLITS else None
    if path is None:
        split, home = asked or SPLIT, None
    elif path.suffix == ".txt":
        split, home = path.stem, path.parent.parent
    else:
        split, home = SPLIT, path / "data" / "task1" if (path / "data" / "task1").is_dir() else path
    if split not in SPLITS:
        raise InputError(f"Multi30K has no split {split!r}: {near(split, SPLITS)}")
    if home is not None and not home.is_dir():
        what = "is no folder" if home.exists() else "does not exist"
        raise InputError(
            f"What is given as the captions of Multi30K, {home}, {what}: give its folder data/task1, or a split "
            f"({near(home.name, SPLITS).rstrip('.')})."
        )
    n_images, codes = SPLITS[split]
    listing = home / "image_splits" / f"{split}.txt" if home else download.file(f"multi30k-{split}-images")
    # The names of one split end in "#" and the number of COCO's caption.
    images = [line.partition("#")[0].strip() for line in lines_of(listing)]
    group = "human" if split == SPLIT else f"human {split}"
    captions = {}
    for code in codes:
        file = home / "raw" / f"{split}.{code}.gz" if home else download.file(f"multi30k-{split}-{code}")
        if home is None or file.is_file() or code == "en":
            captions[group, code] = [[line] for line in lines_of(file)]
    counts = {"n_images": n_images, "n_languages": len(codes), "n_captions": n_images * len(codes)}
    return Annotations(home or listing, images, captions, replace(dataset, **counts))


def _translated(dataset: datasets.Dataset, annotations: str | os.PathLike, sets: list[str]) -> Annotations:
    """Read the translations of XTD or Flickr30K into 200 languages, less those that the study has no code for."""
    if not str(annotations):
        raise InputError(
            f"The captions of {dataset.name!r} are not given: get them from {dataset.url}, and name their folder in "
            f"the config, under annotations; `babelatlas datasets {dataset.name}` says more."
        )
    path = tables.locate(annotations)
    images, captions = translated_captions.read(dataset.name, path, dataset.left_out)
    return Annotations(path, images, {(dataset.sets[0], code): found for code, found in captions.items()}, dataset)


def lines_of(path: Path) -> list[str]:
    """Return the lines of a file of Multi30K, packed (.gz) or not; InputError where it is absent, damaged, no UTF-8."""
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        return [line.removesuffix("\r") for line in content.decode("utf-8-sig").rstrip("\r\n").split("\n")]
    except (*download.DAMAGE, OSError, ValueError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(
            f"The file {path} of Multi30K cannot be read ({reason}): give its folder data/task1, with image_splits "
            "and raw."
        ) from error


def _coco_sm(dataset: datasets.Dataset, annotations: str | os.PathLike, sets: list[str]) -> Annotations:
    """Read COCO-SM's meta folder: a file for each translator, and its mapping.

    id_mapping.json says which text, counted from 0, belongs to which image; excluded.txt names the images that were
    left out, as one translator failed on them.
    """
    expected = '{language: [{"filename": …, "captions": […]}, …]}'
    path = tables.locate(annotations) if str(annotations) else None
    home, known = path, list(dataset.sets)
    if path and path.suffix == ".json":
        home, known = path.parent, [path.stem]
    if unknown := [one for one in [*sets, *known] if one not in dataset.sets]:
        raise InputError(f"COCO-SM has no translator {unknown[0]!r}: {near(unknown[0], dataset.sets)}")
    home = home / "meta" if home and (home / "meta").is_dir() else home
    has_mapping = home and (home / "id_mapping.json").is_file()
    mapping = home / "id_mapping.json" if has_mapping else download.file("coco-sm-mapping")
    images, captions, file = [], {}, path
    for group in [one for one in known if not sets or one in sets]:
        file = home / f"{group}.json" if home else download.file(f"coco-sm-{group}")
        for lang, rows in _json(file, expected).items():
            try:
                names = [str(row["filename"]) for row in rows]
                captions[group, lang] = [list(row["captions"]) for row in rows]
            except (TypeError, KeyError) as error:
                raise _layout(file, expected, {lang: rows}) from error
            images = images or names
            if names != images:
                raise InputError(
                    f"The file {file} has other images, or another order of them, in {lang!r} than elsewhere: "
                    "fetch it again."
                )
        _check_mapping(mapping, file, {lang: rows for (own, lang), rows in captions.items() if own == group})
    excluded = home / "excluded.txt" if home else download.file("coco-sm-excluded")
    out = set(excluded.read_text(encoding="utf-8").split()) if excluded.is_file() else set()
    if both := sorted(out & set(images)):
        raise InputError(f"The file {file} has the image {both[0]}, which {excluded} leaves out: fetch both again.")
    return Annotations(file, images, captions, dataset)


def _check_mapping(path: Path, file: Path, captions: dict[str, list[list[str]]]) -> None:
    """Raise InputError where COCO-SM's mapping does not give each text, counted through the images, to its image."""
    expected = '{"image2text": {"0": [0, …]}, "text2image": {"0": [0]}}'
    read = _json(path, expected)
    try:
        owned = [read["image2text"][str(number)] for number in range(len(read["image2text"]))]
        owners = [read["text2image"][str(number)] for number in range(len(read["text2image"]))]
    except (TypeError, KeyError) as error:
        raise _layout(path, expected, read) from error
    for lang, rows in captions.items():
        ends = list(accumulate(map(len, rows), initial=0))
        texts = [list(range(start, end)) for start, end in pairwise(ends)]
        images = [[number] for number, several in enumerate(rows) for _ in several]
        if (texts, images) != (owned, owners):
            raise InputError(
                f"The captions in {lang!r} in {file} do not fit the mapping {path} ({len(owned):,} images, "
                f"{len(owners):,} texts): fetch both again."
            )


READERS = {"xm3600": _xm3600, "xflickrco": _pairs, "xtd": _pairs, "multi30k": _multi30k, "coco-sm": _coco_sm}
READERS |= dict.fromkeys(translated_captions.NAMED, _translated)
