"""The data sets: one frozen entry each, and reading images. `babelatlas datasets` prints the list.

An image set is an `images` table beside its files: `path` relative to the table's folder, `wnid` the class, `draw` the
number of the image within its class. The images of ImageNet and its variants are given as the user has them, a folder
of class folders or an archive (see imagenet.py); the captions of the retrieval data sets are read in captions.py.
"""

import io
import os
import textwrap
import threading
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path

import pandas as pd
from PIL import Image, UnidentifiedImageError

from babelatlas.base import download, tables
from babelatlas.base.errors import InputError, near
from babelatlas.datasets import imagenet
from babelatlas.datasets.imagenet import SUFFIXES

# Held while filters of warnings are changed, since all threads of a process share them.
QUIETLY = threading.Lock()
RESEARCH = "for research and education that is not commercial; images keep their owners' rights"


@dataclass(frozen=True)
class Dataset:
    """What the study knows of one data set.

    `task`: "zero-shot", "retrieval" or "disambiguation". `shows`: what its images show. `labels`: the class list that
    its label sets are for, "" for the other tasks. `parallel`: "" where the captions of the languages are independent,
    "first" where caption number 0 of an image is the same statement in all of them, "all" where every number is.
    `url`: where to get it, "" for what the run makes. `citation`: a key of the bibliography.

    Counts are 0 where they depend on the run: `n_images`; `n_classes`, and images of `each` (0 too where they differ);
    `n_languages`, and `n_captions` of all languages in one set. `size`: what has to be downloaded, in MB, 0 where not
    known. `files`: names in `download.files`. `sets`: who wrote or translated the captions. `main`: the set that models
    are compared by, "" for the mean over all sets. `empty`: captions that are empty as published, as "language image".
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
    each: int = 0
    n_languages: int = 0
    n_captions: int = 0
    size: float = 0.0
    files: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    main: str = ""
    empty: tuple[str, ...] = ()


DATASETS = [
    Dataset("pictograms", "zero-shot", "nouns", "MIT; drawn with DejaVu and STIX fonts", labels="pictograms"),
    Dataset("compositions", "zero-shot", "a colour and a noun", "MIT; as pictograms", labels="compositions"),
    Dataset(
        "imagenet-1k",
        "zero-shot",
        "photographs of 1,000 nouns",
        RESEARCH,
        "https://www.image-net.org/download.php",
        "deng2009imagenet",
        labels="imagenet-1k",
        n_images=50_000,
        n_classes=1000,
        each=50,
        size=6744.9,
        files=("imagenet-1k-images",),
    ),
    Dataset(
        "imagenet-v2",
        "zero-shot",
        "the same nouns, photographs collected anew (matched frequency)",
        "as imagenet-1k; images keep the licences that Flickr states",
        "https://github.com/modestyachts/ImageNetV2",
        "recht2019imagenet",
        labels="imagenet-1k",
        n_images=10_000,
        n_classes=1000,
        each=10,
        size=1264.1,
        files=("imagenet-v2-images",),
    ),
    Dataset(
        "imagenet-a",
        "zero-shot",
        "200 of the nouns, photographs that a ResNet-50 took for something else",
        "repository: MIT; images: their owners'",
        "https://github.com/hendrycks/natural-adv-examples",
        "hendrycks2019natural",
        labels="imagenet-1k",
        n_images=7500,
        n_classes=200,
        size=687.6,
        files=("imagenet-a-images",),
    ),
    Dataset(
        "imagenet-r",
        "zero-shot",
        "200 of the nouns as paintings, toys, graffiti",
        "not stated where we looked; images: their owners'",
        "https://github.com/hendrycks/imagenet-r",
        "hendrycks2020many",
        labels="imagenet-1k",
        n_images=30_000,
        n_classes=200,
        size=2191.1,
        files=("imagenet-r-images",),
    ),
    Dataset(
        "imagenet-sketch",
        "zero-shot",
        "the same nouns as drawings in black and white",
        "repository: MIT; images: their owners'",
        "https://github.com/HaohanWang/ImageNet-Sketch",
        "wang2019learning",
        labels="imagenet-1k",
        n_images=50_889,
        n_classes=1000,
        size=7593.6,
        files=("imagenet-sketch-images",),
    ),
    Dataset(
        "pictogram-captions",
        "retrieval",
        "a drawing of each noun",
        "MIT; as pictograms; words: as the label sets",
        parallel="first",
        main="chosen",
    ),
    Dataset(
        "xm3600",
        "retrieval",
        "photographs from regions where 36 languages are spoken",
        "captions: CC BY 4.0; images: each its own, see image_attributions.csv there",
        "https://google.github.io/crossmodal-3600/",
        "thapliyal2022xm3600",
        n_images=3600,
        n_languages=36,
        n_captions=261_375,  # of the release (Babel-ImageNet's results need so many); Table 1 has 260,646
        files=("xm3600-captions", "xm3600-images"),
        sets=("human",),
    ),
    Dataset(
        "xflickrco",
        "retrieval",
        "photographs, 1,000 of Flickr30K and 1,000 of COCO",
        "captions: none stated; images: research only (Flickr30K), their owners' (COCO)",
        "https://github.com/e-bug/iglue",
        "bugliarello2022iglue",
        n_images=2000,
        n_languages=8,
        n_captions=16_000,
        files=("xflickrco", "coco-val2014"),
        sets=("human",),
        # Kept: the published results count them, and without them the captions of the languages would not be as many.
        empty=("de COCO_val2014_000000122239.jpg", "id 6312211170.jpg"),
    ),
    Dataset(
        "xtd",
        "retrieval",
        "photographs of COCO",
        "captions: Adobe's, see LICENSE.md there; images: their owners'",
        "https://github.com/adobe-research/Cross-lingual-Test-Dataset-XTD10",
        "aggarwal2020xtd",
        n_images=1000,
        n_languages=11,
        n_captions=11_000,
        size=20_156.9,
        files=("xtd", "coco-train2014", "coco-val2014"),
        sets=("human",),
    ),
    Dataset(
        "multi30k",
        "retrieval",
        "photographs of Flickr30K",
        "captions: none stated; images: research and education only",
        "https://github.com/multi30k/dataset",
        "elliott2016multi30k",
        parallel="all",
        n_images=1000,
        n_languages=4,
        n_captions=4000,
        files=tuple(f"multi30k-test_2016_flickr-{part}" for part in ("images", "en", "de", "fr", "cs")),
        sets=("human",),
    ),
    Dataset(
        "coco-sm",
        "retrieval",
        "photographs of COCO (Karpathy's test split)",
        "translations: none stated; images: their owners'",
        "https://github.com/unum-cloud/coco-sm",
        "cocosm2023",
        parallel="all",
        n_images=4993,
        n_languages=21,
        n_captions=21 * 24_975,
        files=("coco-sm-google", "coco-sm-bing", "coco-sm-nllb", "coco-sm-mapping", "coco-sm-excluded", "coco-val2014"),
        sets=("google", "bing", "nllb"),
    ),
    Dataset(
        "pictogram-pairs",
        "disambiguation",
        "two drawings for each English word with two senses",
        "MIT; as pictograms; words: as the label sets",
    ),
    Dataset(
        "imagenet-1k-pairs",
        "disambiguation",
        "photographs of two of ImageNet-1k's classes that share an English word",
        RESEARCH + "; words: as the label sets",
        "https://www.image-net.org/download.php",
        "deng2009imagenet",
        files=("imagenet-1k-images",),
    ),
    # The classes are timm's list of 21,843: those of the release of autumn 2011, and two more.
    Dataset(
        "imagenet-21k-pairs",
        "disambiguation",
        "photographs of two of ImageNet-21k's classes that share an English word",
        RESEARCH + "; words: as the label sets",
        "https://www.image-net.org/download.php",
        "deng2009imagenet",
    ),
    # The README and the file LICENSE name different licences, and we go by the narrower one.
    Dataset(
        "commute",
        "disambiguation",
        "photographs of the two senses of an English sentence",
        "README: CC BY-NC-SA 4.0, LICENSE: CC BY-SA 4.0; images: none stated",
        "https://github.com/MatthieuFP/CoMMuTE",
        "futeral2023tackling",
        n_images=324,
        n_languages=6,
        n_captions=1888,
    ),
    Dataset(
        "commute-dev",
        "disambiguation",
        "photographs of the two senses of an English sentence (development set, French)",
        "as commute",
        "https://github.com/MatthieuFP/CoMMuTE",
        "futeral2024zeroshot",
        n_images=60,
        n_languages=1,
        n_captions=60,
    ),
]


def names() -> list[str]:
    """Return the names of all data sets."""
    return [dataset.name for dataset in DATASETS]


def get_dataset(name: str) -> Dataset:
    """Return the data set called `name`; raises InputError, with the nearest names, where there is none.

    >>> entry("imagenet-1k").citation
    'deng2009imagenet'
    """
    found = {dataset.name: dataset for dataset in DATASETS}
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
    `missing`: how many images may be absent; how many are stands in the table's `attrs["missing"]`.
    Raises InputError where table, folder or more files are missing, or are others, and where a class of `wnids` is none
    of the data set.
    """
    dataset = get_dataset(name)
    if dataset.task != "zero-shot":
        instead = "captions in place of classes: read it with captions.load"
        if dataset.task == "disambiguation":
            instead = "ambiguous words in place of classes: read its images with contexts.read"
        raise InputError(f"The data set {name!r} has {instead}.")
    wanted = None if wnids is None else set(wnids)
    path = given(images, dataset)
    absent = 0
    if path.suffix in (".parquet", ".csv"):
        table = tables.read(path, "images")
        table = table.assign(path=[str(path.parent / file) for file in table["path"]])
    elif dataset.labels == "imagenet-1k":
        table, absent = _imagenet(images, dataset, wanted, missing)
    else:
        table = scan(images, dataset)
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
    table = check_files(table, name, missing - absent)
    table.attrs["missing"] += absent
    return table


def _imagenet(
    images: str | os.PathLike, dataset: Dataset, wanted: set[str] | None, missing: int
) -> tuple[pd.DataFrame, int]:
    """Return the `images` table of ImageNet or a variant, from a folder or an archive, and how many images it lacks."""
    home = given(images, dataset)
    numbered = dataset.name == "imagenet-v2"
    if download.is_archive(home):
        home = imagenet.unpacked(home, numbered)
    elif not home.is_dir():
        what = "is no folder and no archive" if home.exists() else "does not exist"
        raise InputError(
            f"What is given as the images of the data set {dataset.name!r}, {home}, {what}: {_get(dataset)}."
        )
    table = imagenet.scan(home, dataset.name, numbered)
    expected = (dataset.n_images, dataset.n_classes, dataset.each)
    return table, imagenet.check(table, dataset.name, wanted, expected, missing)


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
    if not dataset.url:
        return "run notebook 11_pictograms, which makes them, and give the table that it writes"
    return (
        f"get them from {dataset.url} (licence: {dataset.licence}), and name the folder or the archive in the config, "
        f"under images; `babelatlas datasets {dataset.name}` says more"
    )


def scan(folder: str | os.PathLike, dataset: Dataset) -> pd.DataFrame:
    """Return the `images` table of a folder that holds one folder of images for each class, with absolute paths."""
    home = given(folder, dataset)
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
    return tables.check(pd.DataFrame(rows, columns=["path", "wnid", "draw"]), "images")


def check_files(images: pd.DataFrame, name: str, missing: int = 0) -> pd.DataFrame:
    """Return the rows of `images` whose file is there; `attrs["missing"]` is the number of the others.

    Raises InputError, which names up to 20, where these are more than `missing`, or all.
    """
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


def incomplete(files: Iterable[str | os.PathLike]) -> pd.DataFrame:
    """Return which results are of a data set that lacked images: model, dataset, missing (how many), one row each.

    `files`: tables of results, as notebooks 20 and 21 write them; their provenance says how many images were missing.

    >>> incomplete([]).columns.tolist()
    ['model', 'dataset', 'missing']
    """
    made = [(Path(file).stem, tables.made_from(file).get("parameters", {})) for file in files]
    rows = [(one.get("model", name), one.get("dataset", name), one.get("missing") or 0) for name, one in made]
    table = pd.DataFrame(rows, columns=["model", "dataset", "missing"])
    return table[table["missing"] > 0].drop_duplicates(ignore_index=True)


def caution(files: Iterable[str | os.PathLike]) -> str:
    """Return a paragraph that says which results, of `files` as for `incomplete`, lack images; "" where none does.

    >>> caution([])
    ''
    """
    told = []
    for (dataset, missing), rows in incomplete(files).groupby(["dataset", "missing"], sort=False):
        images = "image was" if missing == 1 else "images were"
        told.append(f"{missing:,} {images} missing for {', '.join(rows['model'])} on {dataset}")
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
            image.info.pop("transparency", None)  # changes no colour, and may be of a kind that Pillow warns of
            if not image.mode.startswith(("I", "F")):
                return image.convert("RGB")
    except MemoryError:  # which says nothing of the file
        raise
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
    for one in DATASETS:
        counts = (one.n_images, one.n_classes, one.n_languages, round(one.size))
        rows.append((one.name, one.task, *(f"{count:,}" if count else "" for count in counts), one.shows))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    ends = [str.ljust, str.ljust, *[str.rjust] * 4, str.ljust]
    lines = (
        "  ".join(end(cell, width) for end, cell, width in zip(ends, row, widths, strict=True)).rstrip() for row in rows
    )
    return "\n".join(lines)


def details(name: str, width: int = 100) -> str:
    """Return one entry in full as text, with the address and SHA-256 of its files, and how a config names them."""
    one, known = get_dataset(name), download.files()
    facts = {field.name: getattr(one, field.name) for field in fields(one)} | {"files": ""}
    facts = {
        fact: ", ".join(value) or "-" if isinstance(value, tuple) else str(value or "-")
        for fact, value in facts.items()
    }
    facts.pop("files")
    left = max(map(len, facts)) + 2
    lines = [
        textwrap.fill(
            fact.ljust(left) + value,
            max(width, left + 20),
            subsequent_indent=" " * left,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for fact, value in facts.items()
    ]
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
