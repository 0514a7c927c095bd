"""The data sets: one frozen entry each, from data/datasets.toml, and reading images; `babelatlas datasets` lists them.

An image set is an `images` table next to its files. The images of ImageNet and its variants are given as the user has
them, a folder of class folders or an archive (see imagenet.py); the captions of the retrieval data sets are read in
captions.py. A user's own data sets are described in the config (`custom`).
"""

import io
import json
import os
import threading
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path

import pandas as pd
from PIL import Image, UnidentifiedImageError

from babelatlas.base import download, entries, own_tables, tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA, below
from babelatlas.datasets import imagenet
from babelatlas.datasets.imagenet import SUFFIXES
from babelatlas.datasets.layouts import geode

# Held while filters of warnings are changed, since all threads of a process share them.
QUIETLY = threading.Lock()
# Environment variable with the path of a JSON file of custom data sets, name -> description (see `custom`).
CUSTOM = "BABELATLAS_DATASETS"
# Task of a custom data set -> the keys that its description needs, and those that it may have.
DESCRIBED = {
    "zero-shot": (("images",), ("classes", "label_table", "shows", "licence")),
    "retrieval": (("images", "annotations"), ("parallel", "default_captions", "shows", "licence")),
}
READERS = {"zero-shot": "20_zeroshot", "retrieval": "21_retrieval"}


@dataclass(frozen=True)
class Dataset:
    """What the study knows of one data set.

    `task`: "zero-shot", "retrieval", "matching", "disambiguation", "reasoning" or "captioning". `shows`: what its
    images show.
    `labels`: the class list that its label sets are for, "" for the other tasks. `parallel`: "" where the captions of
    the languages are independent, "first" where caption number 0 of an image is the same statement in all of them,
    "all" where every number is.
    `url`: where to get it, "" for what the run makes. `citation`: a key of the bibliography.

    Counts are 0 where they depend on the run: `n_images`; `n_classes`, and `images_per_class` (0 too where they
    differ); `n_languages`, and `n_captions` of all languages in one set. `download_mb`: size of the download in MB, 0
    where not known. `files`: names in `download.files`. `sets`: who wrote or translated the captions.
    `default_captions`: the set that models are compared by, "" for the mean over all sets. `empty`: captions that are
    empty as published, as "language image". `left_out`: languages of the release, by its codes, for which the study has
    none; they are passed over. `image_source`: where the images of a retrieval data set are published.
    Of reasoning: `incomplete`, how many statements of the release have not four pairs, -1 where not known;
    `trained_on`, the data set of English statements that a classifier is trained on.

    For the workflow: `made_by`, the stage that makes it, "" for what is read from files; `read_by`, the stage that
    reads or makes its images. `items_from`: "lexicons" where the ambiguous words come from lexicons, then those of the
    classes `pairs_of`, or "files". `other_label_sets`: whether stage 24 compares other label sets on it.
    `annotation_files`: patterns of the names of its captions or sentences.

    Of a custom data set, paths: `images`, a folder or table; `classes`, a list of WordNet 3.0 noun synsets, or
    `label_table`, labels as schema `labels` or with the columns lang, wnid, label; `annotations`, the captions.
    """

    name: str
    task: str
    shows: str
    licence: str
    url: str = ""
    citation: str = ""
    labels: str = ""
    parallel: str = ""
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
    image_source: str = ""
    incomplete: int = 0
    trained_on: str = ""
    made_by: str = ""
    read_by: str = ""
    items_from: str = ""
    pairs_of: str = ""
    other_label_sets: bool = False
    annotation_files: tuple[str, ...] = ()
    custom: bool = False
    images: str = ""
    classes: str = ""
    label_table: str = ""
    annotations: str = ""


def read_entries(path: str | os.PathLike) -> list[Dataset]:
    """Return the entries of a TOML file with one table for each data set; what raises as in `entries.build`."""
    found = entries.read(path).items()
    return [entries.build(Dataset, {**keys, "name": name}, f"The data set {name!r} in {path}") for name, keys in found]


DATASETS = read_entries(DATA / "datasets.toml")


def custom(name: str, description: dict) -> Dataset:
    """Return the entry of a user's own data set, from its description in a config; see `Dataset` for the paths.

    `description` for classification: `task: zero-shot`, `images` (with one folder of images for each class, named as in
    the list or table), and one of `classes`, whose labels come from lexicons, and `label_table`. For retrieval:
    `task: retrieval`, `images`, `annotations` (a table of schema `captions`, Parquet or CSV), and where captions are
    translations `parallel`. Raises InputError for a name that the study has, and for a key that is unknown, missing or
    has another value.
    """
    where = "the config's custom_datasets"
    if name in [one.name for one in DATASETS]:
        raise InputError(f"The name {name!r} in {where} is that of a data set of the study: choose another name.")
    if not str(name).replace("-", "").replace("_", "").isalnum():
        raise InputError(f"The name {name!r} in {where} becomes part of file names: use letters, digits, - and _.")
    keys = description if isinstance(description, dict) else {}
    task = keys.get("task", "")
    if not isinstance(task, str) or task not in DESCRIBED:
        raise InputError(f"The data set {name!r} in {where} has the task {task!r}: {near(str(task), DESCRIBED)}")
    needed, optional = DESCRIBED[task]
    for key in keys:
        if key not in ("task", *needed, *optional):
            hint = near(key, (*needed, *optional))
            raise InputError(f"The data set {name!r} in {where} has a key {key!r} that {task} does not read: {hint}")
    for key in needed:
        if not keys.get(key):
            raise InputError(f"The data set {name!r} in {where} has no key {key!r}: add it, with a path.")
    if task == "zero-shot" and bool(keys.get("classes")) == bool(keys.get("label_table")):
        raise InputError(
            f"The data set {name!r} in {where} needs either 'classes', a file of WordNet synsets, or 'label_table', a "
            "table of labels: give one of them."
        )
    if keys.get("parallel", "") not in ("", "first", "all"):
        got = keys["parallel"]
        raise InputError(f"The key 'parallel' of {name!r} in {where} should be 'first', 'all' or '', got {got!r}.")
    added = {"shows": "images of one's own", "licence": "the user's own", "custom": True, "read_by": READERS[task]}
    facts = added | {"labels": name if task == "zero-shot" else ""} | keys | {"name": name}
    return entries.build(Dataset, facts, f"The data set {name!r} in {where}")


def known() -> list[Dataset]:
    """Return all entries: those of the study, and the custom ones of the run, which the workflow puts into `CUSTOM`."""
    try:
        described = json.loads(os.environ.get(CUSTOM) or "{}")
    except ValueError as error:
        raise InputError(
            f"The custom data sets in {CUSTOM} are no JSON ({error}): unset it, or run the workflow, which sets it."
        ) from error
    return [*DATASETS, *(custom(name, description) for name, description in described.items())]


def get_dataset(name: str) -> Dataset:
    """Return the data set called `name`; raises InputError, with the nearest names, where there is none."""
    found = {dataset.name: dataset for dataset in known()}
    if name not in found:
        raise InputError(f"There is no data set {name!r}: {near(name, found)}")
    return found[name]


def load(
    name: str, images: str | os.PathLike = "", wnids: Iterable[str] | None = None, missing: int = 0
) -> pd.DataFrame:
    """Return the `images` table of a data set for zero-shot tasks, with absolute paths, after checking the files.

    `images`: the table that a run wrote, or a folder that holds one folder of images for each class; for ImageNet and
    its variants the published archive too, which is unpacked once. `wnids`: the classes to keep, None for all. Classes
    that ImageNet-1k has and a variant has not are passed over: the label set is to be cut to those of the table.
    `missing`: how many images may be absent; how many are stands in the table's `attrs["missing"]`. The images of GeoDE
    have a further column, `region`.
    Raises InputError where more is missing, and where a class of `wnids` is none of the data set.
    """
    dataset = get_dataset(name)
    if dataset.task == "retrieval":
        raise InputError(f"The data set {name!r} has captions in place of classes: read it with captions.load.")
    if dataset.task == "disambiguation":
        raise InputError(
            f"The data set {name!r} has ambiguous words in place of classes: read its images with item_images.read."
        )
    if dataset.task != "zero-shot":
        raise InputError(f"The data set {name!r} is for {dataset.task} and has no classes: name one to classify.")
    wanted = None if wnids is None else set(wnids)
    if wanted is not None and not wanted:
        raise InputError(f"No class of the data set {name!r} is asked for: give a label set with rows.")
    check_missing(missing)
    path = given(images, dataset)
    absent = 0
    if path.suffix in (".parquet", ".csv"):
        table = tables.read(path, "images")
        table = table.assign(path=below(path, table["path"]))
    elif dataset.labels == "imagenet-1k":
        numbered = dataset.name == "imagenet-v2"
        home = imagenet.unpacked(path, numbered) if download.is_archive(path) else path
        if not home.is_dir():
            what = "is no folder and no archive" if home.exists() else "does not exist"
            raise InputError(f"What is given as the images of the data set {name!r}, {home}, {what}: {_get(dataset)}.")
        table = imagenet.scan(home, name, numbered)
        absent = imagenet.check(table, dataset, wanted, missing)
    elif dataset.labels == "geode":
        table = geode.scan(path, name)
        absent = imagenet.check(table, dataset, wanted, missing)
    else:
        table = _scan(path, dataset)
    if wanted is not None:
        # Of a variant the images have been counted; what it lacks beyond that, it lacks by design.
        known = set(imagenet.wnids()) if dataset.labels == "imagenet-1k" and len(table) else set()
        bare = sorted(wanted - set(table["wnid"]) - known)
        table = table[table["wnid"].isin(wanted)].reset_index(drop=True)
        if bare or table.empty:
            raise InputError(
                f"The data set {name!r} has no image of {len(bare) or len(wanted)} class(es) of the label set, the "
                f"first: {(bare or sorted(wanted))[0]}; use the label set that belongs to it, or add the images."
            )
    table = _there(table, name, missing - absent)
    table.attrs["missing"] += absent
    return table


def check_missing(missing: int) -> None:
    """Raise InputError where the number of images that may be missing is no whole number from 0 on."""
    if isinstance(missing, bool) or not isinstance(missing, int) or missing < 0:
        raise InputError(
            f"How many images may be missing is a whole number from 0 on, got missing={missing!r}: give one."
        )


def given(images: str | os.PathLike, dataset: Dataset) -> Path:
    """Return the path of the images of a data set as the user gave it.

    Raises InputError for "", with where to get them, and for what is no path, such as a list of several.
    """
    if not isinstance(images, str | os.PathLike):
        raise InputError(
            f"The images of the data set {dataset.name!r} should be one path, a folder, an archive or a table, got "
            f"{images!r}: give that path as text, without brackets."
        )
    if not str(images):
        raise InputError(f"The images of the data set {dataset.name!r} are not given: {_get(dataset)}.")
    return tables.locate(images)


def _get(dataset: Dataset) -> str:
    if dataset.custom:
        return f"name the folder under custom_datasets, {dataset.name}, images in the config"
    if not dataset.url:
        return "run notebook 11_pictograms, which makes them, and give the table that it writes"
    return (
        f"get them from {dataset.url} (licence: {dataset.licence}), and name the folder or the archive in the config, "
        f"under images; `babelatlas datasets {dataset.name}` says more"
    )


def _scan(home: Path, dataset: Dataset) -> pd.DataFrame:
    """Return the `images` table of a folder that holds one folder of images for each class, with absolute paths."""
    if not home.is_dir():
        what = "is no folder" if home.exists() else "does not exist"
        raise InputError(
            f"The images of the data set {dataset.name!r} are given as {home}, which {what}: give the folder."
        )
    rows = []
    for part in sorted(part for part in home.iterdir() if part.is_dir()):
        files = sorted(file for file in part.iterdir() if file.suffix.lower() in SUFFIXES)
        rows += [(str(file), part.name, number) for number, file in enumerate(files)]
    if not rows:
        raise InputError(
            f"The folder {home} of the data set {dataset.name!r} holds no image: expected one folder for each class, "
            f"with files that end in {', '.join(sorted(SUFFIXES))}."
        )
    return tables.check(pd.DataFrame(rows, columns=["path", "wnid", "number"]), "images")


def _there(images: pd.DataFrame, name: str, missing: int) -> pd.DataFrame:
    """Return the rows of `images` whose file is there; InputError where more are absent than may be, or all."""
    there = images["path"].map(os.path.isfile).astype(bool)
    absent = images.loc[~there, "path"].tolist()
    if len(absent) > missing or not there.any():
        some = ", ".join(absent[:20]) + (", …" if len(absent) > 20 else "")
        raise InputError(
            f"The data set {name!r} lacks {len(absent)} of {len(images)} images: {some}; make or fetch it again (the "
            "embedded sets: notebook 11_pictograms), or say how many may be missing, which is recorded with the result."
        )
    images = images[there].reset_index(drop=True)
    images.attrs["missing"] = len(absent)
    return images


def read_labels(path: str | os.PathLike) -> pd.DataFrame:
    """Return a label set, schema `labels`; a CSV needs the columns lang, wnid and label only.

    There every label has the source "own"; `ambiguous` says whether its language has it for two classes.
    """
    file, columns = tables.locate(path), ["lang", "wnid", "label"]
    if file.suffix != ".csv":
        return own_tables.check_texts(tables.read(file, "labels"), ["label"], file)
    table = own_tables.check_texts(own_tables.read(file, "labels", columns)[columns], columns, file, filled=True)
    codes = own_tables.languages_of(table, "lang", file)
    table = table.assign(lang=codes, source="own", licence="the user's own")
    table["alternatives"], table["confirmed_by"] = ([[] for _ in range(len(table))] for _ in range(2))
    table["ambiguous"] = table.duplicated(["lang", "label"], keep=False)
    with own_tables.named(file):
        return tables.check(table, "labels")


def caution(files: Iterable[str | os.PathLike]) -> str:
    """Return a paragraph that says which results are of data sets that lacked images; "" where none is.

    `files`: tables of results, as notebooks 20 and 21 write them; their provenance says how many images were missing.
    """
    lacking: dict[tuple[str, int], dict[str, None]] = {}
    for file in files:
        made = tables.made_from(file).get("parameters", {})
        if missing := made.get("missing"):
            key, name = (made.get("dataset", Path(file).stem), missing), made.get("model", Path(file).stem)
            lacking.setdefault(key, {})[name] = None  # each once
    told = [
        f"{missing:,} image{' was' if missing == 1 else 's were'} missing for {', '.join(models)} on {dataset}"
        for (dataset, missing), models in lacking.items()
    ]
    return f"**Not all images were there**: {'; '.join(told)}. These scores are of the rest." if told else ""


def open_image(path: str | os.PathLike) -> Image.Image:
    """Return an image as RGB, read whole, transparency and metadata ignored.

    Raises InputError that names the file where it cannot be read, is so large that Pillow takes it for an attack, or
    has one channel of more than 8 bits: of these Pillow would cut off all but the darkest shades. Of a moving picture
    the first frame is taken. May be called in threads.
    """
    try:
        content = io.BytesIO(Path(path).read_bytes())
        with QUIETLY, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of damaged EXIF, say, which is not used
            image = Image.open(content)
        with image:
            image.load()
            if image.format == "PNG":  # it has checksums, which are not looked at where the picture is decoded
                Image.open(content).verify()
            image.info.pop("transparency", None)  # changes no colour, and may be of a kind that Pillow warns of
            if not image.mode.startswith(("I", "F")):
                return image.convert("RGB")
    except MemoryError:  # which says nothing of the file
        raise
    except FileNotFoundError as error:
        raise InputError(f"The image {path} does not exist: make or fetch it, or correct its path.") from error
    except UnidentifiedImageError as error:
        raise InputError(
            f"The image {path} cannot be read (it has no known format): make or fetch it again."
        ) from error
    except Exception as error:  # whatever Pillow raises for damaged bytes, and for a picture that is too large
        reason = next(filter(None, str(error).splitlines()), type(error).__name__).rstrip(".")
        if "truncat" in reason.lower():  # Pillow has several such sentences, one for each format
            reason = "the file is truncated: it ends before the picture does"
        raise InputError(f"The image {path} cannot be read ({reason}): make or fetch it again.") from error
    raise InputError(f"The image {path} has 16 bits a channel or more (mode {image.mode!r}): convert it to 8 bits.")


def overview() -> str:
    """Return the list of the data sets as text."""
    rows = [("name", "task", "images", "classes", "languages", "MB", "shows")]
    for one in known():
        counts = (one.n_images, one.n_classes, one.n_languages, round(one.download_mb))
        rows.append((one.name, one.task, *(f"{count:,}" if count else "" for count in counts), one.shows))
    return entries.aligned(rows, ("images", "classes", "languages", "MB"))


def details(name: str, width: int = 100) -> str:
    """Return one entry in full as text, with the address and SHA-256 of its files, and how a config names them."""
    one, known = get_dataset(name), download.files()
    facts = {field.name: getattr(one, field.name) for field in fields(one) if field.name != "files"}
    facts = {
        fact: (", ".join(value) if isinstance(value, tuple) else str(value or "")) or "-"
        for fact, value in facts.items()
    }
    lines = entries.listing(facts, width)
    for file in one.files:
        row = known[file]
        lines += [f"file {file}", f"  {row['url'] or 'by hand, from the address above'}"]
        lines += [f"  below BABELATLAS_MIRROR: {row['mirror']}", f"  SHA-256: {row['sha256'] or 'not published'}"]
    if one.url:
        lines += ["in a config:", "  images:", f"    {name}: /path/to/the/folder/or/archive"]
    if one.url and one.task == "retrieval":
        lines += ["  annotations:", f"    {name}: /path/to/the/captions"]
    if name in ("commute", "commute-dev"):
        lines += ["  annotations:", f"    {name}: /path/to/the/folder/with/the/texts"]
    return "\n".join(lines)
