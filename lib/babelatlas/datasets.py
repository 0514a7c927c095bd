"""The data sets: one frozen entry each, and reading their images. Nothing is downloaded here.

An image set is an `images` table beside its files: `path` relative to the table's folder, `wnid` the class, `draw` the
number of the image within its class.
"""

import io
import os
import threading
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from PIL import Image, UnidentifiedImageError

from babelatlas import InputError, near, tables

SUFFIXES = {".jpeg", ".jpg", ".png", ".webp"}
# Held while filters of warnings are changed, since all threads of a process share them.
QUIETLY = threading.Lock()


@dataclass(frozen=True)
class Dataset:
    """What the study knows of one data set.

    `task`: "zero-shot" or "retrieval". `shows`: what its images show. `labels`: the class list that its label sets are
    for (`classes.class_list`), "" for retrieval. `parallel`: "" where the captions of the languages are independent,
    "first" where caption number 0 of an image is the same statement in all of them, "all" where every number is.
    `n_images`, `n_classes`: 0 where they depend on the run. `size`: what has to be downloaded, in MB, 0 where not known.
    `files`: names in `fetch.files`. `url`: where to get it, "" for what the run makes. `citation`: a key of the bibliography.
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
    size: float = 0.0
    files: tuple[str, ...] = ()


DATASETS = [
    Dataset("pictograms", "zero-shot", "nouns", "MIT; drawn with DejaVu and STIX fonts", labels="pictograms"),
    Dataset("compositions", "zero-shot", "a colour and a noun", "MIT; as pictograms", labels="compositions"),
    Dataset(
        "pictogram-captions", "retrieval", "things, their colours and places", "MIT; as pictograms", parallel="all"
    ),
    Dataset(
        "imagenet-1k",
        "zero-shot",
        "1,000 nouns, photographs",
        "for research and education that is not commercial; images keep their owners' rights",
        "https://www.image-net.org/download.php",
        "deng2009imagenet",
        labels="imagenet-1k",
        n_images=50_000,
        n_classes=1000,
    ),
    Dataset(
        "imagenet-v2",
        "zero-shot",
        "the nouns of imagenet-1k, photographs collected anew",
        "",
        labels="imagenet-1k",
        n_images=10_000,
        n_classes=1000,
    ),
    Dataset(
        "imagenet-a",
        "zero-shot",
        "200 nouns of imagenet-1k, photographs that a ResNet-50 got wrong",
        "",
        labels="imagenet-1k",
        n_images=7500,
        n_classes=200,
    ),
    Dataset(
        "imagenet-r",
        "zero-shot",
        "200 nouns of imagenet-1k, paintings, toys, drawings",
        "",
        labels="imagenet-1k",
        n_images=30_000,
        n_classes=200,
    ),
    Dataset(
        "imagenet-sketch",
        "zero-shot",
        "the nouns of imagenet-1k, drawings",
        "",
        labels="imagenet-1k",
        n_images=50_889,
        n_classes=1000,
    ),
    Dataset("xm3600", "retrieval", "photographs from many regions", "", n_images=3600),
    Dataset("xflickrco", "retrieval", "photographs of Flickr30K and COCO", "", n_images=2000),
    Dataset("xtd", "retrieval", "photographs of COCO", "", n_images=1000),
    Dataset("multi30k", "retrieval", "photographs of Flickr30K", "", parallel="all", n_images=1000),
    Dataset("coco-sm", "retrieval", "photographs of COCO", "", parallel="all", n_images=4993),
]


def names() -> list[str]:
    """Return the names of all data sets."""
    return [dataset.name for dataset in DATASETS]


def entry(name: str) -> Dataset:
    """Return the data set called `name`; raises InputError, with the nearest names, where there is none.

    >>> entry("imagenet-1k").citation
    'deng2009imagenet'
    """
    found = {dataset.name: dataset for dataset in DATASETS}
    if name not in found:
        raise InputError(f"There is no data set {name!r}: {near(name, found)}")
    return found[name]


def load(name: str, images: str | os.PathLike = "", wnids: Iterable[str] | None = None) -> pd.DataFrame:
    """Return the `images` table of a data set with absolute paths, after checking that every file is there.

    `images`: the table that a run wrote, or a folder that holds one folder of images for each class (for ImageNet the
    validation images, sorted into such folders). `wnids`: the classes to keep; None keeps all.
    Raises InputError where table, folder or files are missing, and where a class of `wnids` has no image.
    """
    dataset = entry(name)
    path = tables.locate(images) if str(images) else None
    if path is not None and path.suffix in (".parquet", ".csv"):
        table = tables.read(path, "images")
        table = table.assign(path=[str(path.parent / file) for file in table["path"]])
    else:
        table = scan(images, dataset)
    if wnids is not None:
        wanted = set(wnids)
        bare = sorted(wanted - set(table["wnid"]))
        if bare:
            raise InputError(
                f"The data set {name!r} has no image of {len(bare)} class(es) of the label set, the first: {bare[0]}; "
                "use the label set that belongs to it, or add the images."
            )
        table = table[table["wnid"].isin(wanted)].reset_index(drop=True)
    return check_files(table, name)


def scan(folder: str | os.PathLike, dataset: Dataset) -> pd.DataFrame:
    """Return the `images` table of a folder that holds one folder of images for each class, with absolute paths."""
    if not str(folder):
        where = (
            f"get it from {dataset.url} (licence: {dataset.licence})" if dataset.url else "run notebook 11_pictograms"
        )
        raise InputError(
            f"The images of the data set {dataset.name!r} are not given: {where}, and give the table or the folder, "
            "which holds one folder for each class."
        )
    home = tables.locate(folder)
    if not home.is_dir():
        raise InputError(f"The folder {home} of the data set {dataset.name!r} does not exist: give another one.")
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


def check_files(images: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return `images` if every file is there, else raise InputError that says how many are missing, and names some."""
    missing = [path for path in images["path"] if not os.path.isfile(path)]
    if missing:
        some = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
        raise InputError(
            f"The data set {name!r} lacks {len(missing)} of {len(images)} images: {some}; make or fetch it again "
            "(the embedded sets: notebook 11_pictograms)."
        )
    return images


def open_image(path: str | os.PathLike) -> Image.Image:
    """Return an image as RGB, read whole, transparency and metadata ignored.

    Raises InputError that names the file where it cannot be read, is so large that Pillow takes it for an attack, or
    has more than 8 bits a channel: of these Pillow would cut off all but the darkest shades. May be called in threads.
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
        raise InputError(f"The image {path} cannot be read ({reason}): make or fetch it again.") from error
    raise InputError(f"The image {path} has 16 bits a channel or more (mode {image.mode!r}): convert it to 8 bits.")
