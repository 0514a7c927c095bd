"""The images of a disambiguation data set: blending the two of an item, writing and reading the table `item_images`.

Each item, an ambiguous source with the senses "a" and "b", has an original image of each sense, named "a0" and "b0",
perhaps further ones ("a1", "b1" ...), and two that show both senses at once, which ask what a translator prefers when
the image does not decide: "mix", the mean of the two original ones, and "side", the two side by side (Kashani Motlagh
et al. 2024, section 5.3).
"""

import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from PIL import Image, ImageOps

from babelatlas.base import own_tables, tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import below
from babelatlas.datasets import registry as datasets

SENSES = ("a", "b")
ORIGINALS = ("a0", "b0")
# The table in a folder of further images, as babelatlas.annotation.image_sheets writes it.
EXTENDED = "extended.parquet"
BLENDED = ("mix", "side")
GREY = (128, 128, 128)


def square(image: Image.Image, size: int) -> Image.Image:
    """Return the centre of an image as `size` x `size` pixels, RGB: its shorter side is resized, the rest cut off.

    So Kashani Motlagh et al. (2024), section 5.1, prepare images for every model.
    """
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise InputError(f"The side of a blended image is a whole number of pixels from 1 on, got {size!r}: give one.")
    return ImageOps.fit(image.convert("RGB"), (size, size), Image.Resampling.BICUBIC)


def blend(a: Image.Image, b: Image.Image, size: int) -> Image.Image:
    """Return the mean of two images, each cut to a square first: `size` x `size` pixels, RGB, halves rounded down.

    This is mixup (Zhang et al. 2018) with equal weights, as in Kashani Motlagh et al. (2024), section 5.3. A model that
    normalises colours sees the same as if the normalised images were mixed.
    """
    return Image.blend(square(a, size), square(b, size), 0.5)


def side_by_side(a: Image.Image, b: Image.Image, size: int) -> Image.Image:
    """Return `a` left of `b`, each cut to a square of `size` pixels: twice `size` wide and high, RGB, grey around.

    The grey bars above and below make it a square, so that a model which cuts out the centre loses nothing.
    """
    both = Image.new("RGB", (2 * size, 2 * size), GREY)
    for left, image in enumerate((a, b)):
        both.paste(square(image, size), (left * size, size // 2))
    return both


def check(item_images: pd.DataFrame) -> pd.DataFrame:
    """Return an `item_images` table; InputError unless its images have names they may have, a0 and b0 among them."""
    item_images = tables.check(item_images, "item_images")
    strange = item_images[~item_images["image"].str.fullmatch(r"[ab](0|[1-9]\d*)|mix|side")]
    if len(strange):
        row = strange.iloc[0]
        raise InputError(
            f"Item {row['item']!r} has an image called {row['image']!r}: expected a letter and a number, such as a0 "
            f"and b3, or {' or '.join(BLENDED)}."
        )
    for image in ORIGINALS:
        have = set(item_images.loc[item_images["image"] == image, "item"])
        bare = [item for item in item_images["item"].unique() if item not in have]
        if bare:
            raise InputError(
                f"{len(bare)} item(s) have no image {image} of sense {image[0]!r}, the first: {bare[0]!r}; give one "
                "image of each sense, or leave the item out."
            )
    return item_images


def file_name(item: str, image: str) -> str:
    """Return the name of a file for an image of an item: readable, and different for items that differ.

    >>> file_name("seal:n1+n2", "mix")
    'seal_n1+n2-667f57_mix.png'
    """
    plain = re.sub(r"[^a-z0-9.+-]", "_", item)
    ending = "" if plain == item else f"-{hashlib.sha256(item.encode()).hexdigest()[:6]}"
    return f"{plain[:120]}{ending}_{image}.png"


def write(
    item_images: pd.DataFrame,
    output: str | os.PathLike,
    size: int,
    parameters: dict | None = None,
    inputs: list[str | os.PathLike] = (),
) -> Path:
    """Blend the originals of each item, and write the table `item_images` with these images added; return its path.

    Paths in `item_images` are absolute or relative to the folder of `output`; those below that folder are written
    relative to it. `output`: the table's file, say `item_images/commute.parquet`; the blended images, PNG files of side
    `size` ("mix") and twice that ("side"), go to the folder of the same name next to it.
    Without a row, as for a data set of which only the texts are available, it writes the empty table.
    Raises InputError where an item lacks a0 or b0, an image is blended already, or a file cannot be read.
    """
    output = tables.locate(output)
    item_images = check(item_images)
    made = item_images[item_images["image"].isin(BLENDED)]
    if len(made):
        raise InputError(
            f"Item {made['item'].iloc[0]!r} already has an image {made['image'].iloc[0]!r}, which is made here: give "
            "the images of single senses only."
        )
    paths = _absolute(item_images, output)
    originals = paths[paths["image"].isin(ORIGINALS)].pivot(index="item", columns="image", values="path")
    folder, rows = output.parent / output.stem, []
    for item in item_images["item"].unique():
        a, b = (datasets.open_image(originals.loc[item, image]) for image in ORIGINALS)
        for image, picture in (("mix", blend(a, b, size)), ("side", side_by_side(a, b, size))):
            path = folder / file_name(item, image)
            with tables.beside(path) as part:
                picture.save(part, format="png")
            rows.append({"item": item, "image": image, "path": str(path)})
    whole = pd.concat([paths, pd.DataFrame(rows, columns=list(item_images))], ignore_index=True)
    # One item after the other, as they came; within an item the order of the names: a0, a1 ... b0 ... mix, side.
    whole["place"] = pd.factorize(whole["item"])[0]
    whole["kind"] = whole["image"].str[0]
    whole["number"] = whole["image"].str[1:].where(~whole["image"].isin(BLENDED), "0").astype(int)
    whole = whole.sort_values(["place", "kind", "number"], ignore_index=True)
    inside = [Path(path).is_relative_to(output.parent) for path in whole["path"]]
    whole.loc[inside, "path"] = [os.path.relpath(path, output.parent) for path in whole.loc[inside, "path"]]
    return tables.write(whole[list(item_images)], output, "item_images", parameters, inputs)


def _absolute(item_images: pd.DataFrame, table: Path) -> pd.DataFrame:
    """Return `item_images` with absolute paths, the relative ones below the folder of `table`.

    Raises InputError where a relative path leads out of that folder, or a file is absent.
    """
    item_images = item_images.assign(path=below(table, item_images["path"], absolute=True))
    absent = item_images[~item_images["path"].map(os.path.isfile).astype(bool)]
    if len(absent):
        row = absent.iloc[0]
        raise InputError(
            f"{len(absent)} of {len(item_images)} images of the items do not exist, the first: {row['path']} (image "
            f"{row['image']} of item {row['item']!r}); make or fetch them again."
        )
    return item_images


def read(path: str | os.PathLike) -> pd.DataFrame:
    """Return an `item_images` table with absolute paths; InputError where it or a file is absent, or it has no row."""
    path = tables.locate(path)
    item_images = tables.read(path, "item_images")
    with own_tables.named(path):
        check(item_images)
    if item_images.empty:
        raise InputError(
            f"The table {path} names no image, so that no model can be scored on it: name the folder of the images of "
            f"{path.stem} in the config, under images."
        )
    return _absolute(item_images, path)


def extend(
    item_images: pd.DataFrame, folder: str | os.PathLike, names: Iterable[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return `item_images` with the further images of a folder, and those that are left out; absolute paths.

    `folder`: as `annotation.image_sheets` writes it; `names`: the names of all items of the data set, in every
    language. Further images of items that the data set has but `item_images` lacks, say because one of their own is
    missing, are left out, and returned second. Raises InputError where the folder holds no such table, or one without a
    row, where an image of it is absent or called as an original one, and where an item of it is none of `names`.
    """
    path = tables.locate(folder) / EXTENDED
    if not path.is_file():
        raise InputError(
            f"The folder of further images, {folder}, holds no {EXTENDED}: give what `babelatlas candidates "
            "read` wrote."
        )
    further = _absolute(tables.read(path, "item_images"), path)
    taken = further[~further["image"].str.fullmatch(r"[ab][1-9]\d*")]
    if len(taken):
        row = taken.iloc[0]
        raise InputError(
            f"{path} has an image called {row['image']!r} of item {row['item']!r}: further images are a1, a2 ... "
            "and b1, b2 ...; a0 and b0 are the item's own."
        )
    if further.empty:
        raise InputError(f"The table {path} names no further image: choose some, or give no such folder.")
    names = set(names) | set(item_images["item"])
    strange = [item for item in further["item"].unique() if item not in names]
    if strange:
        # Only the nearest name, where there is one: a data set has hundreds of items.
        hint = near(strange[0], names)
        hint = hint if hint.startswith("did you mean") else "give the folder that was made for it."
        raise InputError(
            f"{len(strange)} of the {further['item'].nunique()} items in {path} are none of the data set, the first: "
            f"{strange[0]!r}: {hint}"
        )
    known = further["item"].isin(set(item_images["item"]))
    joined = check(pd.concat([item_images, further[known]], ignore_index=True))
    return joined, further[~known].reset_index(drop=True)
