"""Pictures as models get them: on white where they are transparent, upright where that
is asked for.
"""

import io
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image, ImageDraw

from babelatlas.base import pictures
from babelatlas.datasets import item_images
from babelatlas.models import encoder
from babelatlas.models.loaders import bridge, user_model
from conftest import ROOT

WHITE, BLACK = (255, 255, 255), (0, 0, 0)
CORNERS = {"triangle": 3, "square": 4, "pentagon": 5}


def icon(corners: int, mode: str = "RGBA") -> Image.Image:
    """A black shape on transparent black, as icons are drawn: without its transparency
    all of it is black.
    """
    shape = Image.new("L", (16, 16), 0)
    ImageDraw.Draw(shape).regular_polygon((8, 8, 6), corners, fill=255)
    drawn = Image.new("LA", shape.size, 0)
    drawn.putalpha(shape)
    return drawn.convert(mode)


def stored(image: Image.Image, kind: str, **how) -> Image.Image:
    """A picture as it is after it was saved as a `kind` of file."""
    content = io.BytesIO()
    image.save(content, kind, **how)
    return Image.open(content)


def palette() -> Image.Image:
    """Colour 0 is black, and to be transparent; colour 1 is black, and is not."""
    image = Image.new("P", (16, 16), 0)
    image.putpalette([0, 0, 0, 0, 0, 0])
    image.putpixel((8, 8), 1)
    return image


def keyed(mode: str, value) -> Image.Image:
    """A picture of one colour, which the file then says to be transparent, but for a
    pixel.
    """
    image = Image.new(mode, (16, 16), value)
    image.putpixel((8, 8), 0)
    return image


TRANSPARENT = {
    "RGBA": lambda: stored(icon(4), "PNG"),
    "LA": lambda: stored(icon(4, "LA"), "PNG"),
    "WebP": lambda: stored(icon(4), "WEBP", lossless=True),
    "P with one clear colour": lambda: stored(palette(), "PNG", transparency=0),
    "P with a table of alpha": lambda: stored(
        palette(), "PNG", transparency=b"\x00\xff"
    ),
    "GIF": lambda: stored(palette(), "GIF", transparency=0),
    "grey with one clear shade": lambda: stored(keyed("L", 7), "PNG", transparency=7),
    "RGB with one clear colour": lambda: stored(
        keyed("RGB", (1, 2, 3)), "PNG", transparency=(1, 2, 3)
    ),
    "not from a file": lambda: icon(4),
}


@pytest.mark.parametrize("kind", TRANSPARENT)
def test_a_transparent_picture_is_laid_on_white(kind):
    seen = pictures.plain(TRANSPARENT[kind]())
    assert seen.mode == "RGB"
    assert (seen.getpixel((0, 0)), seen.getpixel((8, 8))) == (WHITE, BLACK)


def test_what_is_half_transparent_is_half_white_and_what_is_opaque_is_as_it_was():
    assert (
        pictures.plain(Image.new("RGBA", (1, 1), (0, 0, 0, 128))).getpixel((0, 0))
        == (127,) * 3
    )
    shades = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    opaque = Image.fromarray(shades).convert("RGBA")
    np.testing.assert_array_equal(np.asarray(pictures.plain(opaque)), shades)


def places(path: Path) -> dict[str, np.ndarray]:
    """What each place that takes pictures makes of one: pixels, in the order height,
    width, colour.
    """
    image = Image.open(path)
    tower = bridge.ImageTower.transform(SimpleNamespace(size=224), image).transpose(
        1, 2, 0
    )
    return {
        "data sets": np.asarray(pictures.open_image(path)),
        "an encoder, of a path": np.asarray(encoder.pictures([path])[0]),
        "an encoder, of a picture": np.asarray(encoder.pictures(image)[0]),
        "a user's model": np.asarray(
            user_model.WholeEncoder.transform(None, image).item()
        ),
        "two images of an item": np.asarray(item_images.square(image, 16)),
        "a bridge": tower * bridge.SPREAD + bridge.MEAN,
    }


def test_icons_of_different_shapes_are_different_pictures_wherever_they_are_taken(
    tmp_path,
):
    seen = {}
    for name, corners in CORNERS.items():
        icon(corners).save(tmp_path / f"{name}.png")
        seen[name] = places(tmp_path / f"{name}.png")
    for place in seen["square"]:
        assert (seen["square"][place][0, 0] == 255).all(), place
        assert (seen["square"][place].min(), seen["square"][place].max()) == (
            0,
            255,
        ), place
        assert len({seen[name][place].tobytes() for name in CORNERS}) == len(CORNERS), (
            place
        )


def test_nothing_else_in_the_library_makes_pictures_rgb():
    files = [
        path for path in (ROOT / "lib").rglob("*.py") if path.name != "pictures.py"
    ]
    found = [
        path.name
        for path in files
        if re.search(r"""\.convert\(["']RGB""", path.read_text(encoding="utf-8"))
    ]
    assert found == []


# --- EXIF orientation
# -------------------------------------------------------------------------------------------------

# Orientation, as cameras write it -> where the pixel that is stored first belongs, of a
# picture 8 wide and 4 high.
FIRST = {
    1: (0, 0),
    2: (7, 0),
    3: (7, 3),
    4: (0, 3),
    5: (0, 0),
    6: (3, 0),
    7: (3, 7),
    8: (0, 7),
}


def marked(orientation: int, kind: str = "PNG") -> Image.Image:
    """A white picture, 8 x 4 pixels as stored, whose first pixel is black, with an
    orientation.
    """
    image, exif = Image.new("RGB", (8, 4), "white"), Image.Exif()
    image.putpixel((0, 0), BLACK)
    exif[0x0112] = orientation
    return stored(image, kind, exif=exif)


@pytest.mark.parametrize("orientation", FIRST)
def test_a_picture_is_turned_as_its_orientation_says_where_that_is_asked_for(
    orientation,
):
    upright = pictures.plain(marked(orientation), upright=True)
    assert upright.size == ((4, 8) if orientation > 4 else (8, 4))
    assert upright.getpixel(FIRST[orientation]) == BLACK
    as_stored = pictures.plain(marked(orientation))
    assert (as_stored.size, as_stored.getpixel((0, 0))) == ((8, 4), BLACK)


def test_a_picture_that_was_prepared_is_not_turned_again():
    for upright in (True, False):
        once = pictures.plain(marked(6), upright)
        assert pictures.plain(once, True).tobytes() == once.tobytes()
        assert once.info == {}


def test_a_picture_with_damaged_exif_is_taken_as_it_is_stored(tmp_path):
    content = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (8, 4), "red").save(content, "JPEG", exif=exif)
    whole = content.getvalue()
    start = whole.find(b"Exif")
    sizes = set()
    for place in range(start + 6, start + 24):
        (tmp_path / "damaged.jpg").write_bytes(
            whole[:place] + b"\xee" + whole[place + 1 :]
        )
        sizes.add(pictures.open_image(tmp_path / "damaged.jpg", upright=True).size)
    assert sizes <= {(8, 4), (4, 8)}
    assert (8, 4) in sizes


def test_a_users_picture_given_to_an_encoder_is_upright(tmp_path):
    marked(6, "PNG").save(tmp_path / "turned.png", exif=marked(6).getexif())
    for given in (tmp_path / "turned.png", Image.open(tmp_path / "turned.png")):
        [picture] = encoder.pictures(given)
        assert (picture.size, picture.getpixel(FIRST[6])) == ((4, 8), BLACK)
