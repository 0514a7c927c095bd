"""The images of a disambiguation data set: blending the two of an item, writing and
reading the table `item_images`.

Each item, an ambiguous source with the senses "a" and "b", has an original image of
each sense, named "a0" and "b0", perhaps further ones ("a1", "b1" ...), and two that
show both senses at once: "mix", the mean of the two original ones, and "side", the two
side by side (Kashani Motlagh et al. 2024, section 5.3).
"""

import hashlib
import os
import re
from pathlib import Path

import pandas as pd
from PIL import Image, ImageOps

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import below
from babelatlas.base.pictures import open_image, plain

ORIGINALS = ("a0", "b0")
BLENDED = ("mix", "side")
GREY = (128, 128, 128)


def square(image: Image.Image, size: int) -> Image.Image:
    """Return the centre of an image as `size` x `size` pixels, RGB: its shorter side is
    resized, the rest cut off.

    So Kashani Motlagh et al. (2024), section 5.1, prepare images for every model.
    """
    return ImageOps.fit(plain(image), (size, size), Image.Resampling.BICUBIC)


def blend(first: Image.Image, second: Image.Image, size: int) -> Image.Image:
    """Return the mean of two images, each cut to a square first: `size` x `size`
    pixels, RGB, halves rounded down.

    This is mixup (Zhang et al. 2018) with equal weights, as in Kashani Motlagh et al.
    (2024), section 5.3.
    """
    return Image.blend(square(first, size), square(second, size), 0.5)


def side_by_side(first: Image.Image, second: Image.Image, size: int) -> Image.Image:
    """Return `first` left of `second`, each cut to a square of `size` pixels: twice
    `size` wide and high, RGB, grey around.

    The grey bars above and below make it a square, so that a model which cuts out the
    centre loses nothing.
    """
    both = Image.new("RGB", (2 * size, 2 * size), GREY)
    both.paste(square(first, size), (0, size // 2))
    both.paste(square(second, size), (size, size // 2))
    return both


def file_name(item: str, image: str) -> str:
    """Return the name of a file for an image of an item: readable, and different for
    items that differ.

    >>> file_name("seal:n1+n2", "mix")
    'seal_n1+n2-667f57_mix.png'
    """
    plain = re.sub(r"[^a-z0-9.+-]", "_", item)
    ending = ""
    if plain != item:
        ending = f"-{hashlib.sha256(item.encode()).hexdigest()[:6]}"
    return f"{plain[:120]}{ending}_{image}.png"


def write(
    item_images: pd.DataFrame,
    output: str | os.PathLike,
    size: int,
    parameters: dict | None = None,
    inputs: list[str | os.PathLike] = (),
) -> Path:
    """Blend the originals of each item, and write the table `item_images` with these
    images added; return its path.

    Paths in `item_images` are absolute or relative to the folder of `output`; those
    below that folder are written relative to it. `output`: the table's file, say
    `item_images/commute.parquet`; the blended images, PNG files of side `size` ("mix")
    and twice that ("side"), go to the folder of the same name next to it. Without a
    row, as for a data set of which only the texts are available, it writes the empty
    table.
    """
    output = tables.locate(output)
    item_images = tables.check(item_images, "item_images")
    paths = _absolute(item_images, output)
    originals = paths[paths["image"].isin(ORIGINALS)].pivot(
        index="item", columns="image", values="path"
    )
    folder, rows = output.parent / output.stem, []
    for item in item_images["item"].unique():
        senses = [open_image(originals.loc[item, image]) for image in ORIGINALS]
        blended = {"mix": blend(*senses, size), "side": side_by_side(*senses, size)}
        for image, picture in blended.items():
            path = folder / file_name(item, image)
            with tables.beside(path) as part:
                picture.save(part, format="png")
            rows.append({"item": item, "image": image, "path": str(path)})
    whole = pd.concat(
        [paths, pd.DataFrame(rows, columns=list(item_images))], ignore_index=True
    )
    # One item after the other, as they came; within an item the order of the names: a0,
    # a1 ... b0 ... mix, side.
    whole["order"] = pd.factorize(whole["item"])[0]
    whole["kind"] = whole["image"].str[0]
    is_blended = whole["image"].isin(BLENDED)
    whole["number"] = whole["image"].str[1:].where(~is_blended, "0").astype(int)
    whole = whole.sort_values(["order", "kind", "number"], ignore_index=True)
    inside = [Path(path).is_relative_to(output.parent) for path in whole["path"]]
    whole.loc[inside, "path"] = [
        os.path.relpath(path, output.parent) for path in whole.loc[inside, "path"]
    ]
    return tables.write(
        whole[list(item_images)], output, "item_images", parameters, inputs
    )


def _absolute(item_images: pd.DataFrame, table: Path) -> pd.DataFrame:
    """Return `item_images` with absolute paths, relative ones below the folder of
    `table`; InputError if absent.
    """
    item_images = item_images.assign(
        path=below(table, item_images["path"], absolute=True)
    )
    absent = item_images[~item_images["path"].map(os.path.isfile).astype(bool)]
    if len(absent):
        first = absent["path"].iloc[0]
        raise InputError(
            f"{len(absent)} images of the items do not exist, the first: {first}; make"
            " them again."
        )
    return item_images


def read(path: str | os.PathLike) -> pd.DataFrame:
    """Return an `item_images` table with absolute paths; InputError where it or a file
    is absent, or it has no row.
    """
    path = tables.locate(path)
    item_images = tables.read(path, "item_images")
    if item_images.empty:
        raise InputError(
            f"The table {path} names no image: name their folder in the config, under"
            " images."
        )
    return _absolute(item_images, path)
