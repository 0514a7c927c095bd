"""Pictures as encoders take them: RGB, on white where they are transparent, turned
where that is asked for.
"""

import io
import os
import threading
import warnings
from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError

from babelatlas.base.errors import InputError

# Endings of the kinds of pictures that are read from folders, in small letters; and all
# of them in words.
SUFFIXES = {".jpeg", ".jpg", ".png", ".webp"}
KINDS = ", ".join(sorted(SUFFIXES))
# Held while filters of warnings are changed, since all threads of a process share them.
QUIETLY = threading.Lock()
# Part of the name under which vectors of pictures are kept: what is done to all
# pictures before a model has them.
TREATMENT = "transparent pictures are laid on white"


def plain(image: Image.Image, upright: bool = False) -> Image.Image:
    """Return a picture as RGB, on white where it is transparent, and without metadata.

    Encoders know no transparency, and the colour below it is arbitrary, mostly black.
    `upright`: whether to turn the picture as its EXIF orientation says, which viewers
    do; where that is damaged, the picture stays as it is stored.
    """
    image.load()
    image = _turned(image) if upright else image
    if image.has_transparency_data:
        clear = _with_alpha(image)
        white = Image.new("RGBA", clear.size, "white")
        white.alpha_composite(clear)
        image = white
    image = image.convert("RGB")

    # What has been turned, or deliberately has not, must not be turned by a model's own
    # processor.
    image.info = {}
    return image


def _turned(image: Image.Image) -> Image.Image:
    """Return a picture as its orientation says, or as it is where the metadata cannot
    be read.
    """
    try:
        with QUIETLY, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of damaged EXIF
            return ImageOps.exif_transpose(image)
    # Pillow raises many kinds for damaged metadata; the picture itself has been read
    except Exception:
        return image


def _with_alpha(image: Image.Image) -> Image.Image:
    """Return a picture as RGBA; of a colour that stands for transparency in 16 bits
    Pillow keeps 8 of each channel.
    """
    key = image.info.get("transparency")
    if isinstance(key, tuple) and max(key) > 255:
        image = image.copy()
        image.info["transparency"] = tuple(value >> 8 for value in key)
    return image.convert("RGBA")


def open_image(path: str | os.PathLike, upright: bool = False) -> Image.Image:
    """Return an image as RGB, read whole, as `plain` makes it; of a moving picture the
    first frame.

    `upright`: as for `plain`. May be called in threads. Raises InputError for a file
    that is no picture, is damaged, or has more than 8 bits a channel where Pillow would
    cut them off.
    """
    try:
        content = io.BytesIO(Path(path).read_bytes())
        with QUIETLY, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of damaged EXIF, say
            image = Image.open(content)
        with image:
            image.load()
            if image.format == "PNG":
                # Its checksums are not looked at where the picture is decoded.
                Image.open(content).verify()
            if image.mode.startswith(("I", "F")):
                raise ValueError(
                    f"16 bits a channel or more, mode {image.mode!r}: convert it to 8"
                    " bits"
                )
            return plain(image, upright)
    except MemoryError:  # which says nothing of the file
        raise
    # whatever Pillow raises for damaged bytes, and for a picture that is too large
    except Exception as error:
        reason = (
            "no picture that Pillow knows"
            if isinstance(error, UnidentifiedImageError)
            else error
        )
        raise InputError(
            f"The image {path} cannot be read ({reason}): make or fetch it again."
        ) from error
