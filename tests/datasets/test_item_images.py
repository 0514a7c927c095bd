"""Images of disambiguation data sets: blending, and the table of images."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import item_images
from babelatlas.datasets import registry as datasets


def picture(colour, width=6, height=6):
    return Image.new("RGB", (width, height), colour)


def table(rows):
    return pd.DataFrame(rows, columns=["item", "image", "path"])


@pytest.fixture
def images(tmp_path):
    """Return a table of one item whose two images are red, 8 x 4, and blue, 4 x 8
    pixels.
    """
    picture((200, 0, 0), 8, 4).save(tmp_path / "red.png")
    picture((0, 0, 101), 4, 8).save(tmp_path / "blue.png")
    return table(
        [
            ("bank:n1+n2", "a0", "red.png"),
            ("bank:n1+n2", "b0", str(tmp_path / "blue.png")),
        ]
    )


def test_square_keeps_the_centre():
    pixels = np.zeros((4, 12, 3), np.uint8)
    pixels[:, 4:8] = (
        255  # the centre square is white, what is left and right of it black
    )
    assert (np.asarray(item_images.square(Image.fromarray(pixels), 4)) == 255).all()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 255), min_size=32, max_size=32))
def test_a_blend_is_the_same_either_way_round_and_lies_between(values):
    a, b = np.array(values, np.uint8).reshape(2, 4, 4)
    a, b = (Image.fromarray(np.repeat(one[:, :, None], 3, 2)) for one in (a, b))
    mixed = np.asarray(item_images.blend(a, b, 4))
    assert (mixed == np.asarray(item_images.blend(b, a, 4))).all()
    assert (mixed >= np.minimum(a, b)).all()
    assert (mixed <= np.maximum(a, b)).all()


def test_side_by_side_is_a_square_with_both_whole():
    pixels = np.asarray(
        item_images.side_by_side(picture((9, 0, 0)), picture((0, 9, 0)), 4)
    )
    assert pixels.shape == (8, 8, 3)
    assert (pixels[2:6, :4] == [9, 0, 0]).all()
    assert (pixels[2:6, 4:] == [0, 9, 0]).all()
    assert (pixels[[0, 1, 6, 7]] == item_images.GREY).all()


def test_blended_images_are_written_beside_the_table_and_read_back(images, tmp_path):
    path = item_images.write(images, tmp_path / "commute.parquet", 4)
    stored = tables.read(path, "item_images")
    assert stored["image"].tolist() == ["a0", "b0", "mix", "side"]
    assert stored["path"].tolist()[:2] == [
        "red.png",
        "blue.png",
    ]  # below the table's folder: relative
    read = item_images.read(path).set_index("image")["path"]
    assert read["mix"].startswith(str(tmp_path / "commute"))
    assert (np.asarray(datasets.open_image(read["mix"])) == [100, 0, 50]).all()
    assert datasets.open_image(read["side"]).size == (8, 8)


def test_a_file_that_is_not_there_is_named(images, tmp_path):
    path = item_images.write(images, tmp_path / "one.parquet", 4)
    (tmp_path / "blue.png").unlink()
    with pytest.raises(InputError, match=r"1 images .*blue\.png; make"):
        item_images.read(path)
