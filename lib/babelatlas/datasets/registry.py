"""The data sets: one entry each, from data/datasets.toml, and finding images;
`babelatlas datasets` lists them.

An image set is an `images` table next to its files; the images of ImageNet and its
variants are a folder or an archive (imagenet.py). A user's own data sets are described
in the config (`custom`).
"""

import json
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Literal

import pandas as pd

from babelatlas.base import download, folders, own_tables, tables, validation
from babelatlas.base.errors import InputError, near
from babelatlas.base.folders import nfc
from babelatlas.base.paths import DATA, below
from babelatlas.base.pictures import KINDS, SUFFIXES
from babelatlas.base.pictures import open_image as open_image
from babelatlas.datasets import imagenet, stamps, stored_vectors
from babelatlas.lexicon import cleaning, labels
from babelatlas.lexicon.prompts import NAMES

# Environment variable with the path of a JSON file of custom data sets, name ->
# description (see `custom`).
CUSTOM = "BABELATLAS_DATASETS"
# Task of a custom data set -> the keys that its description needs.
NEEDED = {
    "zero-shot": ("images",),
    "retrieval": ("images", "annotations"),
    "reasoning": ("images", "annotations"),
}


TASKS = ("zero-shot", "retrieval", "disambiguation", "reasoning")


class Dataset(validation.Entry):
    """What the study knows of one data set; the head of data/datasets.toml says what
    each key means.
    """

    name: str
    task: Literal[TASKS]
    shows: str
    licence: str
    url: str = ""
    citation: str = ""
    labels: str = ""
    prompts: Literal["", *NAMES] = ""
    parallel: Literal["", "first", "all"] = ""
    n_images: int = 0
    n_classes: int = 0
    images_per_class: int = 0
    n_languages: int = 0
    n_captions: int = 0
    download_mb: float = 0.0
    files: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    default_captions: str = ""
    empty: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    fetched_as: str = ""
    shared_captions: bool = False
    upright: bool = False
    image_source: str = ""
    incomplete: int = 0
    trained_on: str = ""
    made_by: str = ""
    items_from: str = ""
    pairs_of: str = ""
    other_label_sets: bool = False
    annotation_files: tuple[str, ...] = ()
    custom: bool = False
    images: str = ""
    classes: str = ""
    label_table: str = ""
    vectors: str = ""
    annotations: str = ""


DATASETS = [
    validation.validate(
        Dataset, {**keys, "name": name}, f"The data set {name!r} in datasets.toml"
    )
    for name, keys in validation.read_toml(DATA / "datasets.toml").items()
]


def custom(name: str, description: dict) -> Dataset:
    """Return the entry of a user's own data set, from its description in a config.

    `description` for classification: `task: zero-shot`, `images` (with one folder of
    images for each class, named as in the list or table), one of `classes`, whose
    labels come from lexicons, and `label_table`, and `prompts` where these are not
    "label". For retrieval: `task: retrieval`, `images`, `annotations` (a table of
    schema `captions`, Parquet or CSV), and where captions are translations `parallel`.
    For statements about pairs of images: `task: reasoning`, `images`, `annotations` (a
    table of schema `pairs`, or a folder laid out as MaRVL's), and `trained_on`, the data
    set whose statements classifiers learn from, where that is not NLVR2's training set.
    `upright: false` leaves pictures as they are stored, whatever their EXIF orientation
    says.
    """
    what = f"The data set {name!r} in the config's custom_datasets"
    if name in [dataset.name for dataset in DATASETS]:
        raise InputError(
            f"{what} has the name of a data set of the study: choose another name."
        )
    task = description.get("task")
    if task not in NEEDED:
        raise InputError(f"{what} has the task {task!r}: {near(task, NEEDED)}")
    for key in NEEDED[task]:
        if not description.get(key):
            raise InputError(f"{what} has no key {key!r}: add it, with a path.")
    if task == "zero-shot" and bool(description.get("classes")) == bool(
        description.get("label_table")
    ):
        raise InputError(
            f"{what} needs 'classes', a file of synsets, or 'label_table', a table of"
            " labels: give one."
        )
    added = {
        "name": name,
        "shows": "images of one's own",
        "licence": "the user's own",
        "custom": True,
        "upright": True,
    }
    if task == "zero-shot":
        added |= {"labels": name, "prompts": "label"}
    elif task == "reasoning":
        added |= {"items_from": "files", "trained_on": "nlvr2-train", "incomplete": -1}
    return validation.validate(Dataset, added | description, what)


def known() -> list[Dataset]:
    """Return all entries: those of the study, and the custom ones of the run, which the
    workflow puts into `CUSTOM`.
    """
    described = json.loads(os.environ.get(CUSTOM) or "{}")
    return [
        *DATASETS,
        *(custom(name, description) for name, description in described.items()),
    ]


def get_dataset(name: str) -> Dataset:
    """Return the data set called `name`; raises InputError, with the nearest names,
    where there is none.
    """
    entries = {dataset.name: dataset for dataset in known()}
    if name not in entries:
        raise InputError(f"There is no data set {name!r}: {near(name, entries)}")
    return entries[name]


def load(
    name: str,
    images: str | os.PathLike = "",
    wnids: Iterable[str] | None = None,
    missing: int = 0,
) -> pd.DataFrame:
    """Return the `images` table of a data set for zero-shot tasks, with absolute paths,
    after checking the files.

    `images`: the table that a run wrote, or a folder that holds one folder of images
    for each class; for ImageNet and its variants the published archive too, which is
    unpacked once; or a file of `stored_vectors`. `wnids`: the classes to keep, None for
    all; those that ImageNet-1k has and a variant has not are passed over. `missing`:
    how many images may be absent; how many are stands in the table's
    `attrs["missing"]`. Stamps have further columns, `stamp` and `drawing`.
    """
    dataset = get_dataset(name)
    if dataset.task != "zero-shot":
        raise InputError(
            f"The data set {name!r} is for {dataset.task} and has no classes: name one"
            " to classify."
        )
    path, absent = images_path(images, dataset), 0
    wanted = None if wnids is None else set(wnids)
    if path.suffix in (".parquet", ".csv"):
        table = tables.read(path, "images")
        below(path, table["path"])
        table = table.assign(
            path=folders.named(path.parent, table["path"]), wnid=table["wnid"].map(nfc)
        )
    elif path.suffix == ".npz":
        table = stored_vectors.images(path)
    elif dataset.labels in ("imagenet-1k", "imagenet-100"):
        table = imagenet.scan(path, name, numbered=name == "imagenet-v2")
        absent = imagenet.check(table, dataset, wanted, missing)
    elif dataset.fetched_as == "tuxpaint-stamps":
        table = stamps.nouns(path)
    else:
        table = class_folders(path, name)
    if wanted is not None:
        # Of a variant the images have been counted; what it lacks beyond that, it lacks
        # by design.
        of_imagenet = dataset.labels == "imagenet-1k"
        counted = set(imagenet.wnids()) if of_imagenet else set()
        bare = sorted(wanted - set(table["wnid"]) - counted)
        _tell_unnamed(table, wanted, dataset)
        table = table[table["wnid"].isin(wanted)].reset_index(drop=True)
        if bare or table.empty:
            lacking = bare or sorted(wanted)
            what = f"no image of {len(lacking)} class(es), the first: {lacking[0]!r}"
            raise InputError(
                f"The data set {name!r} has {what}; name each folder as the labels name"
                " its class."
            )
    present = table["path"].map(os.path.isfile).astype(bool) | (path.suffix == ".npz")
    lost = table.loc[~present, "path"].tolist()
    if len(lost) + absent > missing or not present.any():
        what = f"{len(lost)} of {len(table)} images, the first: {lost[0]}"
        raise InputError(
            f"The data set {name!r} lacks {what}; fetch it again, or say how many may"
            " be missing."
        )
    table = table[present].reset_index(drop=True)
    table.attrs["missing"] = len(lost) + absent
    return table


def images_path(images: str | os.PathLike, dataset: Dataset) -> Path:
    """Return the path of the images of a data set as the user gave it; for "" that of a
    known place.

    InputError, with where to get them, where they are in none (`Dataset.places`).
    """
    if found := str(images) or download.at_hand(dataset.places):
        return tables.locate(found)
    how = (
        f"run notebook {dataset.made_by}, which makes them, and give the table that it"
        " writes"
    )
    if dataset.url:
        how = (
            f"get them from {dataset.url} (licence: {dataset.licence}), and name the"
            " folder or archive in the config"
        )
    if dataset.fetched_as:
        how = f"run `babelatlas fetch {dataset.fetched_as}`, or {how}"
    raise InputError(
        f"The images of the data set {dataset.name!r} are not given: {how}."
    )


@cache
def annotation_files(path: str, patterns: tuple[str, ...]) -> list[str]:
    """Return the files of captions or sentences that a config's path stands for, none
    for a name.

    Of a folder those below it whose names fit one of `patterns` (as "*.json"), but
    hidden ones. Paths are relative to the folder of the study where they are below it.
    """
    place, root = tables.locate(path), tables.root()
    if not path or not place.exists():
        return []
    inside = folders.files_below(place) if place.is_dir() else [place]
    files = [
        file
        for file in inside
        if file == place or any(file.match(pattern) for pattern in patterns)
    ]
    return [
        str(file.relative_to(root) if file.is_relative_to(root) else file)
        for file in files
    ]


def class_folders(
    home: Path, name: str, wnids: Iterable[str] | None = None
) -> pd.DataFrame:
    """Return the `images` table of a folder that holds one folder of images for each
    class, with absolute paths.

    A class is called as its folder, in Unicode's form NFC. `wnids`: the classes to look
    for, None for all.
    """
    if not home.is_dir():
        raise InputError(
            f"The images of the data set {name!r} are given as {home}, which is no"
            " folder: give one."
        )
    parts = folders.entries(home) if wnids is None else [home / wnid for wnid in wnids]
    rows, named = [], {}
    for part in sorted(part for part in parts if part.is_dir()):
        if (first := named.setdefault(nfc(part.name), part)) != part:
            what = f"The folders {first} and {part} of {name!r}"
            raise InputError(
                f"{what} have one name in two forms of Unicode: put their images into"
                " one."
            )
        inside = [file for file in folders.entries(part) if file.name != "Thumbs.db"]
        files = [file for file in inside if file.suffix.lower() in SUFFIXES]
        if len(files) < len(inside) and get_dataset(name).custom:
            what = f"{min({*inside} - {*files})}, which is none of {KINDS}"
            raise InputError(
                f"Among the images of {name!r} is {what}: convert it, or put it"
                " elsewhere."
            )
        rows += [
            (str(file), nfc(part.name), number) for number, file in enumerate(files)
        ]
    if not rows:
        raise InputError(
            f"The folder {home} of {name!r} holds no image: expected one folder for"
            " each class."
        )
    return pd.DataFrame(rows, columns=["path", "wnid", "number"])


def _tell_unnamed(table: pd.DataFrame, wanted: set[str], dataset: Dataset) -> None:
    """Print which classes of a user's pictures are not among the `wanted`, those with a
    label: they are left out.
    """
    unnamed = sorted(set(table["wnid"]) - wanted)
    if dataset.custom and unnamed:
        some = ", ".join([*unnamed[:10], *["…"][: len(unnamed[10:])]])
        what = (
            f"{len(unnamed)} of {table['wnid'].nunique()} classes with pictures have no"
            " label in any language here"
        )
        print(f"Of the data set {dataset.name!r}, {what}, and are left out: {some}.")


def read_labels(path: str | os.PathLike) -> pd.DataFrame:
    """Return a label set, schema `labels`, of a table, or of the folder of Tux Paint's
    stamps; see `stamps.names`.

    A CSV or TSV needs the columns lang, wnid and label only: every label has the source
    "own"; `ambiguous` says whether its language has it for two classes, in capitals or
    not. A user's labels are tidied (`cleaning.tidy`); classes are called in Unicode's
    form NFC, as `class_folders` calls them.
    """
    file, columns = tables.locate(path), ["lang", "wnid", "label"]
    if file.is_dir():
        return stamps.names(file)
    if file.suffix.lower() not in own_tables.SUFFIXES:
        table = tables.read(file, "labels")
        table = table.assign(wnid=table["wnid"].map(nfc))
        return (
            cleaning.tidy_column(table, "label", file)
            if tables.from_user(file)
            else table
        )
    table = own_tables.check_texts(
        own_tables.read(file, "labels", columns)[columns], columns, file, filled=True
    )
    codes = own_tables.languages_of(table, "lang", file)
    table = table.assign(
        lang=codes, wnid=table["wnid"].map(nfc), source="own", licence="the user's own"
    )
    table = cleaning.tidy_column(table, "label", file)
    table["alternatives"], table["confirmed_by"] = (
        [[] for _ in range(len(table))] for _ in range(2)
    )
    table["ambiguous"] = labels.shared_labels(table)
    return tables.check(table, "labels", file)


def overview() -> str:
    """Return the list of the data sets as text."""
    form = "{:<20}{:<16}{:>8}{:>9}{:>11}{:>8}  {}"
    lines = [
        form.format("name", "task", "images", "classes", "languages", "MB", "shows")
    ]
    for dataset in known():
        counts = (
            dataset.n_images,
            dataset.n_classes,
            dataset.n_languages,
            round(dataset.download_mb),
        )
        shown = [count or "" for count in counts]
        lines.append(form.format(dataset.name, dataset.task, *shown, dataset.shows))
    return "\n".join(lines)


def details(name: str) -> str:
    """Return one entry in full as text, with the address and SHA-256 of its files, and
    how a config names them.
    """
    dataset, files = get_dataset(name), download.files()
    lines = []
    for key, value in dataset.model_dump().items():
        text = ", ".join(value) if isinstance(value, tuple) else value
        if text:
            lines.append(f"{key:<18}{text}")
    for file in dataset.files:
        row = files[file]
        lines += [
            f"file {file}",
            f"  {row['url'] or 'by hand, from the address above'}",
            f"  below BABELATLAS_MIRROR: {row['mirror']}",
            f"  SHA-256: {row['sha256'] or 'not published'}",
        ]
    if dataset.fetched_as:
        lines.append(f"got by `babelatlas fetch {dataset.fetched_as}`, or")
    if dataset.url:
        lines += [
            "in a config:",
            "  images:",
            f"    {name}: /path/to/the/folder/or/archive",
        ]
    if dataset.annotation_files:
        lines += ["  annotations:", f"    {name}: /path/to/the/captions/or/sentences"]
    return "\n".join(lines)
