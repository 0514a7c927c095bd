"""The captions of the retrieval data sets, read from the files in which they are
published.

Two images may well have the same caption, and so may one image twice: such captions are
kept, and tie. A caption without a letter stops the run, but for those that the entry of
the data set knows to be published so.
"""

import gzip
import json
import os
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from babelatlas.base import download, folders, own_tables, tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.folders import nfc
from babelatlas.base.languages import canonical
from babelatlas.base.paths import below
from babelatlas.base.pictures import KINDS, SUFFIXES
from babelatlas.datasets import registry as datasets
from babelatlas.datasets import stamps
from babelatlas.datasets.imagenet import image_files
from babelatlas.lexicon import cleaning

CHOICES = ("first", "all")
SPLIT, LANGUAGES = "test_2016_flickr", ("en", "de", "fr", "cs")  # of Multi30K
# Translations into 200 languages: the file with the names of the images, and that with
# the English captions.
TRANSLATED = {
    "xtd-200": ("test_image_names.txt", "test_1kcaptions_en.txt"),
    "flickr30k-200": ("filenames.txt", "eng_captions.txt"),
}


@dataclass(frozen=True)
class Annotations:
    """What files say: `images`, names in order, and for (set, language code) the
    captions of each of them.

    `dataset` is the entry with the counts that the files should have.
    """

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

    The gallery has one row for each image: `image`, its name, and `path`, absolute; the
    captions are a `captions` table of these images, in the order of the gallery. Of a
    custom data set the names are paths relative to `images`.

    `images`: a folder with the image files at any depth, an archive of them, or several
    of these; for pictogram-captions the table of the images. `annotations`: the file or
    folder of the captions as it is published, "" to fetch it; for pictogram-captions
    the table of the captions. `sets`, `languages`: those to keep, none for all.
    `missing`: how many of the data set's images may be absent; `attrs["missing"]` of
    the gallery says how many are, `attrs["empty"]` of the captions which were published
    empty.
    """
    dataset = datasets.get_dataset(name)
    if dataset.task != "retrieval":
        raise InputError(
            f"The data set {name!r} is for {dataset.task} and has no captions: name one"
            " for retrieval."
        )
    sets, short = list(sets), 0
    wanted = [canonical(code) for code in languages]
    if name in READERS:
        read = _read(dataset, annotations, sets)
        table = _table(read, wanted)
        order = read.images
        short = read.dataset.n_images - len(order)
        paths = _find(order, images, dataset)
    elif dataset.fetched_as == "tuxpaint-stamps":
        table, order, paths = stamps.captions(datasets.images_path(images, dataset))
    else:
        table, order, paths = _own(dataset, images, annotations)
    table = _only(
        table, "captions", sets, f"The data set {name!r} has no set of captions"
    )
    table = _only(table, "lang", wanted, f"The data set {name!r} has no language")
    absent = [image for image in order if image not in paths]
    if short + len(absent) > missing or not paths:
        what = (
            f"{short + len(absent):,} of {short + len(order):,} images in {images}"
            f" ({', '.join(absent[:10])})"
        )
        raise InputError(
            f"The data set {name!r} lacks {what}: {_how_to_give_images(dataset)}, or"
            " allow so many with missing."
        )
    gallery = pd.DataFrame(
        {"image": [image for image in order if image in paths]}, dtype=str
    )
    gallery["path"] = gallery["image"].map(paths).astype(str)
    gallery.attrs["missing"] = short + len(absent)
    table = table[table["image"].isin(gallery["image"])].reset_index(drop=True)
    empty = table[table["caption"].str.strip() == ""]
    table.attrs["empty"] = [
        f"{row.captions} {row.lang} {row.image}#{row.number}"
        for row in empty.itertuples()
    ]
    return gallery, tables.check(table, "captions")


def read(path: str | os.PathLike) -> pd.DataFrame:
    """Return a table of captions, schema `captions`, of whatever images: a CSV file of
    the user's, a table of a run, or captions.jsonl of Crossmodal-3600 or its zip.

    Raises InputError where it cannot be read.
    """
    file = tables.locate(path)
    if file.suffix in (".jsonl", ".zip"):
        return _table(_read(datasets.get_dataset("xm3600"), os.fspath(path), []), [])
    if file.suffix.lower() in own_tables.SUFFIXES:
        return _own_captions(file)
    return tables.read(file, "captions")


def regions(
    name: str, annotations: str | os.PathLike = "", homes: str | os.PathLike = ""
) -> pd.DataFrame:
    """Return where the images of a data set are from: image, region, no row for images
    of which nobody says it.

    `homes`: a CSV file of the user's with these two columns. Without it the regions of
    Crossmodal-3600 are those of its annotations (its image/locale), the code of the
    language for whose region an image was selected (Thapliyal et al. 2022, Section
    2.2). Raises InputError for an image with two regions, or without one in a file of
    the user's.
    """
    table = pd.DataFrame(columns=["image", "region"], dtype=str)
    if os.fspath(homes):
        table = own_tables.read(homes, "regions", ["image", "region"])
        own_tables.check_texts(table, ["image", "region"], homes, filled=True)
        table = table.assign(image=table["image"].map(nfc))
    elif name == "xm3600" and not os.fspath(annotations).endswith(".json"):
        lines = _read_safely(_xm3600_lines, name, os.fspath(annotations))
        pairs = [
            (f"{line['image/key']}.jpg", canonical(line["image/locale"]))
            for line in lines
            if line.get("image/locale")
        ]
        table = pd.DataFrame(pairs, columns=["image", "region"], dtype=str)
    twice = table.loc[table["image"].duplicated(), "image"]
    if len(twice):
        raise InputError(
            f"{len(twice):,} image(s) have two regions, the first {twice.iloc[0]}: keep"
            " one row for each image."
        )
    return table[["image", "region"]]


def _only(
    table: pd.DataFrame, column: str, wanted: list[str], lacks: str
) -> pd.DataFrame:
    """Return the rows with the values wanted ([]: all); InputError, which begins with
    `lacks`, for one that no row has.
    """
    present = sorted(set(table[column]))
    for value in wanted:
        if value not in present:
            raise InputError(f"{lacks} {value!r}: {near(value, present)}")
    return table[table[column].isin(wanted)] if wanted else table


def _how_to_give_images(dataset: datasets.Dataset) -> str:
    """Return what helps where images of a data set are absent."""
    if dataset.custom:
        return "name each by its path below the images, as dogs/1.jpg"
    if dataset.image_source:
        return f"fetch them ({dataset.image_source})"
    return "give them"


def inputs(*paths: str | os.PathLike | Sequence[str | os.PathLike]) -> list[str]:
    """Return the files and folders among the images, labels or captions of data sets,
    lists taken apart, each once.
    """
    flat = []
    for given in paths:
        several = [given] if isinstance(given, str | os.PathLike) else given
        flat += [str(path) for path in several]
    return [path for path in dict.fromkeys(flat) if path]


def choose(table: pd.DataFrame, choice: str) -> pd.DataFrame:
    """Return the captions that a protocol asks with: "first", number 0 of each image,
    or "all".

    Raises InputError for an image that would be lost, since its captions are numbered
    from 1.
    """
    if choice not in CHOICES:
        raise InputError(
            f"There is no choice of captions {choice!r}: {near(choice, CHOICES)}"
        )
    if choice == "all":
        return table
    check_numbers(table, "Among the captions")
    return table[table["number"] == 0].reset_index(drop=True)


def _read(
    dataset: datasets.Dataset, annotations: str | os.PathLike, sets: list[str]
) -> Annotations:
    """Return what the files of a data set say; InputError where they are absent or of
    another layout.
    """
    return _read_safely(
        READERS[dataset.name], dataset.name, dataset, str(annotations), sets
    )


def _read_safely(reader: Callable, name: str, *given):
    """Return what a reader of the captions of a data set gives; InputError where it
    fails.
    """
    try:
        return reader(*given)
    except InputError:
        raise
    except Exception as error:  # zipfile, zlib, gzip and json each raise their own
        places = [str(value) for value in given if isinstance(value, str) and value]
        what = f"The captions of {name!r} at {''.join(places) or 'its address'}"
        reason = f"{type(error).__name__}: {error}"
        url = datasets.get_dataset(name).url
        raise InputError(
            f"{what} cannot be read ({reason}): give them as published ({url})."
        ) from error


def _table(read: Annotations, wanted: list[str]) -> pd.DataFrame:
    """Return what files say of the languages `wanted` ([]: all of the data set) as
    schema `captions`, checked.
    """
    dataset = read.dataset
    may_be_empty = {tuple(entry.split(" ", 1)) for entry in dataset.empty}
    order = {group: number for number, group in enumerate(dataset.sets)}
    rows = []
    codes = {(group, canonical(code)): code for group, code in read.captions}
    for group, lang in sorted(codes, key=lambda key: (order.get(key[0], -1), key)):
        if wanted and lang not in wanted:
            continue
        code = codes[group, lang]
        captions = read.captions[group, code]
        if len(captions) != len(read.images):
            sizes = f"{len(captions):,} images, expected {len(read.images):,}"
            raise InputError(
                f"The captions of {dataset.name!r} in {code} are of {sizes}: fetch them"
                " again."
            )
        for image, several in zip(read.images, captions, strict=True):
            filled = all(caption.strip() for caption in several)
            if not several or not (filled or (code, image) in may_be_empty):
                raise InputError(
                    f"The data set {dataset.name!r} has no caption of {image} in"
                    f" {code}: fetch it again."
                )
            rows += [
                (group, lang, image, number, caption)
                for number, caption in enumerate(several)
            ]
    table = pd.DataFrame(
        rows, columns=["captions", "lang", "image", "number", "caption"]
    )
    for group, part in table.groupby("captions") if not wanted else ():
        counts = (len(part), part["lang"].nunique(), len(read.images))
        expected = (dataset.n_captions, dataset.n_languages, dataset.n_images)
        # A user may have fewer images, and then fewer captions: `load` counts these.
        if counts[1] != expected[1] or (
            counts[2] == expected[2] and counts[0] != expected[0]
        ):
            sizes = (
                f"{counts[0]:,} captions in {counts[1]} languages, expected"
                f" {expected[0]:,} in {expected[1]}"
            )
            raise InputError(
                f"The data set {dataset.name!r} ({group}) has {sizes}: fetch them"
                " again."
            )
    return table


def _find(
    names: list[str],
    images: str | os.PathLike | Sequence[str | os.PathLike],
    dataset: datasets.Dataset,
) -> dict[str, str]:
    """Return the absolute paths of those files called `names` that are in some folders
    or archives.
    """
    wanted, paths = set(names), {}
    several = isinstance(images, list | tuple) and images
    for place in images if several else [images or ""]:
        home = datasets.images_path(place, dataset)
        home = download.unpack(home) if download.is_archive(home) else home
        for path in image_files(home):
            if path.name in wanted:
                paths.setdefault(path.name, str(path))
    return paths


def _own(
    dataset: datasets.Dataset, images, annotations
) -> tuple[pd.DataFrame, list[str], dict[str, str]]:
    """Return captions, images in order and the paths of those that are there, of a made
    or a custom data set.
    """
    if not str(annotations):
        raise InputError(
            f"The captions of the data set {dataset.name!r} are not given: give their"
            " table."
        )
    path, file = datasets.images_path(images, dataset), tables.locate(annotations)
    table = read(file)
    own_tables.check_texts(table, ["caption"], file, filled=True)
    table = table.assign(lang=own_tables.languages_of(table, "lang", file))
    table = (
        cleaning.tidy_column(table, "caption", file)
        if tables.from_user(file)
        else table
    )
    table = _counted(table.assign(image=table["image"].map(nfc)), file)
    # Two captions may well have one translation.
    if dataset.custom and dataset.parallel != "all":
        _check_repeated(table, file)

    captioned = set(table["image"])
    pictures = (
        _in_folder(path, captioned, dataset) if path.is_dir() else _in_table(path)
    )
    order = [
        *(image for image in pictures if image in captioned),
        *sorted(captioned - set(pictures)),
    ]
    table["order"] = table["image"].map(
        {image: number for number, image in enumerate(order)}
    )
    table = table.sort_values(
        ["captions", "lang", "order", "number"], ignore_index=True
    ).drop(columns="order")
    return (
        table,
        order,
        {image: place for image, place in pictures.items() if os.path.isfile(place)},
    )


def _counted(table: pd.DataFrame, file: Path) -> pd.DataFrame:
    """Return captions with numbers from 0; those of a set in which every language
    counts from 1 are lowered by 1.

    Raises InputError for an image that lacks number 0 in a language, since what asks
    with first captions would lose it.
    """
    lowest = table.groupby(["captions", "lang"])["number"].transform("min")
    from_1 = (lowest == 1).groupby(table["captions"]).transform("all")
    if from_1.any():
        print(
            f"In {file}, captions are numbered from 1: they are taken as numbered"
            " from 0."
        )
        table = table.assign(number=table["number"] - from_1.astype(int))
    check_numbers(table, f"In {file}")
    return table


def check_numbers(table: pd.DataFrame, where: str) -> None:
    """Raise InputError, which starts with `where`, for an image whose captions in a
    language have no number 0.
    """
    key = ["captions", "lang", "image"]
    lowest = table.groupby(key, sort=False)["number"].min()
    lost = lowest.index[lowest != 0]
    if len(lost):
        group, lang, image = lost[0]
        what = (
            f"{len(lost):,} image(s) have captions and none with number 0, the first"
            f" {image} in {lang} ({group})"
        )
        raise InputError(
            f"{where}, {what}: number an image's captions in each language from 0."
        )


def _check_repeated(table: pd.DataFrame, file: Path) -> None:
    """Raise InputError where an image has one caption twice in a language: it would be
    one more query.
    """
    repeated = table[table.duplicated(["captions", "lang", "image", "caption"])]
    if len(repeated):
        first = repeated.iloc[0]
        what = (
            f"{len(repeated):,} row(s) repeat a caption, the first {first['caption']!r}"
            f" of {first['image']}"
        )
        raise InputError(f"In {file}, {what} in {first['lang']}: delete them.")


def _in_folder(
    home: Path, captioned: Iterable[str], dataset: datasets.Dataset
) -> dict[str, str]:
    """Return the pictures in a folder, name in Unicode's form NFC -> path, in order.

    A name is a path below the folder; `captioned` are those that captions have, which
    may be through a second link to a folder. Raises InputError for a picture with
    captions that is of a kind that is not read.
    """
    files = folders.files_below(home)
    found = {nfc(file.relative_to(home).as_posix()): str(file) for file in files}
    if len(found) < len(files):
        lost = sorted({*map(str, files)} - {*found.values()})[0]
        raise InputError(
            f"The name of {lost} is that of another file in another form of Unicode:"
            " rename or delete it."
        )
    others = sorted({*captioned} - {*found})
    for name, place in zip(others, below(home, others, home), strict=True):
        if Path(place).is_file():
            found[name] = place

    unread = [name for name in found if Path(name).suffix.lower() not in SUFFIXES]
    if strange := next((name for name in unread if name in captioned), None):
        what = (
            f"The captions of {dataset.name!r} name {strange}, which is none of {KINDS}"
        )
        raise InputError(f"{what}: convert it, and give its new name.")
    return {name: place for name, place in found.items() if name not in unread}


def _in_table(path: Path) -> dict[str, str]:
    """Return the pictures that a table of images names, name in Unicode's form NFC ->
    path, in order.
    """
    names = tables.read(path, "images")["path"].tolist()
    below(path, names)
    return dict(zip(map(nfc, names), folders.named(path.parent, names), strict=True))


def _own_captions(file: Path) -> pd.DataFrame:
    """Return captions of a CSV file; without columns for it they have the set "own",
    numbered as rows come.
    """
    table = own_tables.read(file, "captions", ["lang", "image", "caption"])
    if "captions" not in table:
        table["captions"] = "own"
    if "number" in table:
        if not table["number"].str.fullmatch("[0-9]{1,9}").all():
            raise InputError(
                f"In {file}, the column number counts an image's captions: write 0, 1"
                " …, or leave it out."
            )
        table["number"] = table["number"].astype(int)
    else:
        table["number"] = table.groupby(["captions", "lang", "image"]).cumcount()
    return tables.check(table, "captions", file)


def _json(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8-sig"))


def _pairs(dataset: datasets.Dataset, annotations: str, sets: list[str]) -> Annotations:
    """Read a file of Babel-ImageNet's code: {"images": [name, …], "captions":
    {language: [[caption, …], …]}}.
    """
    path = tables.locate(annotations) if annotations else download.file(dataset.name)
    read = _json(path / f"{dataset.name}.json" if path.is_dir() else path)
    return Annotations(
        read["images"],
        {(dataset.sets[0], lang): texts for lang, texts in read["captions"].items()},
        dataset,
    )


def _xm3600(
    dataset: datasets.Dataset, annotations: str, sets: list[str]
) -> Annotations:
    """Read captions.jsonl of Crossmodal-3600, captions.zip with it, or their folder; a
    .json as `_pairs`.

    Each line is an image, with the captions of each language: {"image/key": …,
    language: {"caption": […], …}, …}.
    """
    if annotations.endswith(".json"):
        return _pairs(dataset, annotations, sets)
    rows = _xm3600_lines(annotations)
    images = [f"{row['image/key']}.jpg" for row in rows]
    written = [
        {
            lang: value["caption"]
            for lang, value in row.items()
            if isinstance(value, dict)
        }
        for row in rows
    ]
    langs = dict.fromkeys(lang for row in written for lang in row)
    captions = {
        (dataset.sets[0], lang): [row.get(lang, []) for row in written]
        for lang in langs
    }
    return Annotations(images, captions, dataset)


def _xm3600_lines(annotations: str) -> list[dict]:
    """Return what each line of captions.jsonl says, as for `_xm3600`."""
    path = (
        tables.locate(annotations) if annotations else download.file("xm3600-captions")
    )
    if path.is_dir():
        path = path / (
            "captions.jsonl" if (path / "captions.jsonl").is_file() else "captions.zip"
        )
    content = (
        zipfile.ZipFile(path).read("captions.jsonl")
        if path.suffix == ".zip"
        else path.read_bytes()
    )
    return [
        json.loads(line)
        for line in content.decode("utf-8-sig").split("\n")
        if line.strip()
    ]


def _multi30k(
    dataset: datasets.Dataset, annotations: str, sets: list[str]
) -> Annotations:
    """Read the test set of 2016 of task 1 of Multi30K."""
    home = tables.locate(annotations) if annotations else None
    home = (
        home / "data" / "task1" if home and (home / "data" / "task1").is_dir() else home
    )
    listing = (
        home / "image_splits" / f"{SPLIT}.txt"
        if home
        else download.file(f"multi30k-{SPLIT}-images")
    )
    captions = {}
    for code in LANGUAGES:
        file = (
            home / "raw" / f"{SPLIT}.{code}.gz"
            if home
            else download.file(f"multi30k-{SPLIT}-{code}")
        )
        captions["human", code] = [[line] for line in lines(file)]
    return Annotations([line.strip() for line in lines(listing)], captions, dataset)


def lines(path: Path) -> list[str]:
    """Return the lines of a text file, packed (.gz) or not."""
    content = (
        gzip.decompress(path.read_bytes())
        if path.suffix == ".gz"
        else path.read_bytes()
    )
    return [
        line.removesuffix("\r")
        for line in content.decode("utf-8-sig").rstrip("\r\n").split("\n")
    ]


def _translated(
    dataset: datasets.Dataset, annotations: str, sets: list[str]
) -> Annotations:
    """Read the translations of XTD or Flickr30K into 200 languages, less those that the
    study has no code for.

    As Visheratin (2023) published them: a folder with one file for each language, named
    by its FLORES-200 code (swh_Latn.txt), one caption on each line, next to the files
    in `TRANSLATED` (XTD-200's are in XTD's repository).
    """
    home, (listing, english) = tables.locate(annotations), TRANSLATED[dataset.name]
    files = {
        file.stem: file
        for file in sorted(home.glob("*.txt"))
        if file.name not in (listing, english)
    }
    files = {"eng_Latn": home / english} | {
        code: file for code, file in files.items() if code not in dataset.left_out
    }
    captions = {
        (dataset.sets[0], code): [[line] for line in lines(file)]
        for code, file in files.items()
    }
    return Annotations(lines(home / listing), captions, dataset)


def _coco_sm(
    dataset: datasets.Dataset, annotations: str, sets: list[str]
) -> Annotations:
    """Read COCO-SM's meta folder: a file for each translator; excluded.txt names images
    that are left out.
    """
    home = tables.locate(annotations) if annotations else None
    home = home / "meta" if home and (home / "meta").is_dir() else home
    images, captions = [], {}
    for group in [group for group in dataset.sets if not sets or group in sets]:
        file = home / f"{group}.json" if home else download.file(f"coco-sm-{group}")
        for lang, rows in _json(file).items():
            names = [row["filename"] for row in rows]
            images = images or names
            if names != images:
                raise InputError(
                    f"COCO-SM's {group}.json has other images in {lang!r} than"
                    " elsewhere: fetch it again."
                )
            captions[group, lang] = [row["captions"] for row in rows]
    excluded = home / "excluded.txt" if home else download.file("coco-sm-excluded")
    left_out = set()
    if excluded.is_file():
        left_out.update(excluded.read_text(encoding="utf-8").split())
    if left_out & set(images):
        raise InputError(
            "COCO-SM's files have images that its excluded.txt leaves out: fetch both"
            " again."
        )
    return Annotations(images, captions, dataset)


READERS = {
    "xm3600": _xm3600,
    "xflickrco": _pairs,
    "xtd": _pairs,
    "multi30k": _multi30k,
    "coco-sm": _coco_sm,
}
READERS |= dict.fromkeys(TRANSLATED, _translated)
