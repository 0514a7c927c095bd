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
    """Return a table of one item whose two images are red, 8 x 4, and blue, 4 x 8 pixels."""
    picture((200, 0, 0), 8, 4).save(tmp_path / "red.png")
    picture((0, 0, 101), 4, 8).save(tmp_path / "blue.png")
    return table([("bank:n1+n2", "a0", "red.png"), ("bank:n1+n2", "b0", str(tmp_path / "blue.png"))])


def test_square_keeps_the_centre():
    pixels = np.zeros((4, 12, 3), np.uint8)
    pixels[:, 4:8] = 255  # the centre square is white, what is left and right of it black
    assert (np.asarray(item_images.square(Image.fromarray(pixels), 4)) == 255).all()


def test_a_blend_is_the_mean_of_the_two():
    mixed = item_images.blend(picture((200, 0, 10)), picture((0, 101, 30)), 4)
    assert mixed.size == (4, 4)
    assert (np.asarray(mixed) == [100, 50, 20]).all()


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
    pixels = np.asarray(item_images.side_by_side(picture((9, 0, 0)), picture((0, 9, 0)), 4))
    assert pixels.shape == (8, 8, 3)
    assert (pixels[2:6, :4] == [9, 0, 0]).all()
    assert (pixels[2:6, 4:] == [0, 9, 0]).all()
    assert (pixels[[0, 1, 6, 7]] == item_images.GREY).all()


@pytest.mark.parametrize("size", [0, -3, 2.5, True])
def test_a_size_that_is_none_is_told(size):
    with pytest.raises(InputError, match="whole number of pixels"):
        item_images.blend(picture((0, 0, 0)), picture((0, 0, 0)), size)


def test_blended_images_are_written_beside_the_table_and_read_back(images, tmp_path):
    path = item_images.write(images, tmp_path / "commute.parquet", 4)
    stored = tables.read(path, "item_images")
    assert stored["image"].tolist() == ["a0", "b0", "mix", "side"]
    assert stored["path"].tolist()[:2] == ["red.png", "blue.png"]  # below the table's folder: relative
    read = item_images.read(path).set_index("image")["path"]
    assert read["mix"].startswith(str(tmp_path / "commute"))
    assert (np.asarray(datasets.open_image(read["mix"])) == [100, 0, 50]).all()
    assert datasets.open_image(read["side"]).size == (8, 8)


def test_writing_twice_gives_the_same_bytes(images, tmp_path):
    first = item_images.write(images, tmp_path / "one.parquet", 4)
    before = {file.name: file.read_bytes() for file in (tmp_path / "one").iterdir()}
    item_images.write(images, first, 4)
    assert {file.name: file.read_bytes() for file in (tmp_path / "one").iterdir()} == before


def test_images_stand_in_the_order_of_items_then_names(images, tmp_path):
    more = [("bank:n1+n2", name, "red.png") for name in ("b10", "b2", "a1")]
    other = [("Aa", "b0", "blue.png"), ("Aa", "a0", "red.png")]
    path = item_images.write(pd.concat([images, table(more), table(other)]), tmp_path / "one.parquet", 4)
    stored = tables.read(path, "item_images")
    assert stored["image"].tolist() == ["a0", "a1", "b0", "b2", "b10", "mix", "side", "a0", "b0", "mix", "side"]
    assert stored["item"].tolist() == ["bank:n1+n2"] * 7 + ["Aa"] * 4


def test_items_that_differ_have_files_that_differ():
    items = ["a b", "a_b", "A_b", "a/b", "a:b", "ä"]
    names = {item_images.file_name(item, "mix").lower() for item in items}
    assert len(names) == len(items)
    assert not any("/" in name or ":" in name for name in names)


def test_an_item_without_an_image_of_one_sense_is_named(images, tmp_path):
    with pytest.raises(InputError, match="no image b0 of sense 'b', the first: 'bank:n1"):
        item_images.write(images[:1], tmp_path / "one.parquet", 4)


def test_a_file_that_is_not_there_is_named(images, tmp_path):
    path = item_images.write(images, tmp_path / "one.parquet", 4)
    (tmp_path / "blue.png").unlink()
    with pytest.raises(InputError, match=r"1 of 4 images .*blue\.png \(image b0 of item 'bank:n1"):
        item_images.read(path)


def test_a_name_that_no_image_may_have_is_told(images):
    with pytest.raises(InputError, match="called 'c0'"):
        item_images.check(images.replace("b0", "c0"))


def test_what_is_blended_already_is_not_blended_again(images, tmp_path):
    with pytest.raises(InputError, match="already has an image 'mix'"):
        item_images.write(pd.concat([images, table([("bank:n1+n2", "mix", "red.png")])]), tmp_path / "one.parquet", 4)


def test_further_images_join_those_of_their_items(images, tmp_path):
    further, names = table([("bank:n1+n2", "a1", "red.png"), ("other", "b1", "red.png")]), ["bank:n1+n2", "other"]
    with pytest.raises(InputError, match=r"holds no extended\.parquet"):
        item_images.extend(images, tmp_path, names)
    tables.write(further, tmp_path / "extended.parquet", "item_images")
    joined, left = item_images.extend(images, tmp_path, names)
    assert joined["image"].tolist() == ["a0", "b0", "a1"]
    assert joined["path"].iloc[-1] == str(tmp_path / "red.png")
    assert left.to_numpy().tolist() == [["other", "b1", str(tmp_path / "red.png")]]
    tables.write(further.replace("a1", "a0"), tmp_path / "extended.parquet", "item_images")
    with pytest.raises(InputError, match="called 'a0'"):
        item_images.extend(images, tmp_path, names)
    tables.write(tables.empty("item_images"), tmp_path / "extended.parquet", "item_images")
    with pytest.raises(InputError, match="names no further image"):
        item_images.extend(images, tmp_path, names)


@pytest.mark.parametrize(
    ("item", "hint"),
    [("bank:n1+n3", r"did you mean bank:n1\+n2\?"), ("zzz", "give the folder that was made for it")],
)
def test_further_images_of_an_item_that_the_data_set_never_had_are_told(images, tmp_path, item, hint):
    further = table([("bank:n1+n2", "a1", "red.png"), (item, "b1", "red.png")])
    tables.write(further, tmp_path / "extended.parquet", "item_images")
    with pytest.raises(InputError, match=f"1 of the 2 items in .* are none of the data set, the first: .*{hint}"):
        item_images.extend(images, tmp_path, ["bank:n1+n2", "other"])


def test_a_data_set_without_images_has_an_empty_table_which_no_model_is_scored_on(tmp_path):
    path = item_images.write(tables.empty("item_images"), tmp_path / "commute.parquet", 4)
    assert tables.read(path, "item_images").empty
    with pytest.raises(InputError, match=r"names no image.*the images of commute"):
        item_images.read(path)
