import io
import struct
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from babelatlas import InputError, datasets, tables


@pytest.fixture
def run(tmp_path):
    for wnid in ("n01", "n02"):
        (tmp_path / "pictograms" / wnid).mkdir(parents=True)
        Image.new("RGB", (4, 4), "red").save(tmp_path / "pictograms" / wnid / "000.png")
    table = pd.DataFrame(
        {"path": ["pictograms/n01/000.png", "pictograms/n02/000.png"], "wnid": ["n01", "n02"], "draw": [0, 0]}
    )
    tables.write(table, tmp_path / "pictograms.parquet", "images")
    return tmp_path


def test_paths_of_a_loaded_table_can_be_opened_from_anywhere(run, monkeypatch):
    monkeypatch.chdir("/")

    images = datasets.load("pictograms", run / "pictograms.parquet")

    assert images["wnid"].tolist() == ["n01", "n02"]
    assert datasets.open_image(images["path"][0]).getpixel((0, 0)) == (255, 0, 0)


def test_only_the_classes_asked_for_are_kept(run):
    assert datasets.load("pictograms", run / "pictograms.parquet", ["n02"])["wnid"].tolist() == ["n02"]


def test_a_class_without_an_image_is_named(run):
    with pytest.raises(InputError, match=r"no image of 1 class\(es\).*n03"):
        datasets.load("pictograms", run / "pictograms.parquet", ["n01", "n03"])


def test_a_missing_image_is_named_before_any_is_opened(run):
    (run / "pictograms" / "n02" / "000.png").unlink()

    with pytest.raises(InputError, match=r"lacks 1 of 2 images: .*n02/000\.png"):
        datasets.load("pictograms", run / "pictograms.parquet")


@pytest.mark.parametrize("content", [b"", b"not an image", b"\x89PNG\r\n\x1a\n\x00\x00"])
def test_an_unreadable_image_is_named(tmp_path, content):
    (tmp_path / "bad.png").write_bytes(content)

    with pytest.raises(InputError, match=r"bad\.png cannot be read"):
        datasets.open_image(tmp_path / "bad.png")


def test_a_truncated_image_is_named(tmp_path):
    Image.effect_noise((64, 64), 50).save(tmp_path / "half.png")
    whole = (tmp_path / "half.png").read_bytes()
    (tmp_path / "half.png").write_bytes(whole[: len(whole) // 2])

    with pytest.raises(InputError, match=r"half\.png cannot be read"):
        datasets.open_image(tmp_path / "half.png")


@pytest.mark.parametrize(("dtype", "mode"), [("uint16", "I;16"), ("int32", "I"), ("float32", "F")])
def test_a_picture_of_16_bits_is_refused_since_it_would_turn_white(tmp_path, dtype, mode):
    Image.fromarray(np.full((4, 4), 1000, dtype)).save(tmp_path / "deep.tiff")
    with pytest.raises(
        InputError, match=rf"deep\.tiff has 16 bits a channel or more \(mode '{mode}'\): convert it to 8"
    ):
        datasets.open_image(tmp_path / "deep.tiff")


def test_a_picture_so_large_that_it_may_be_an_attack_is_named(tmp_path, monkeypatch):
    Image.new("1", (30, 30)).save(tmp_path / "huge.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(InputError, match=r"huge\.png cannot be read \(Image size \(900 pixels\) exceeds limit"):
        datasets.open_image(tmp_path / "huge.png")


def test_an_error_without_words_is_told_by_its_name_and_little_memory_as_such(tmp_path, monkeypatch):
    Image.new("RGB", (2, 2)).save(tmp_path / "a.png")
    for error in (ValueError(), ValueError("\n")):
        monkeypatch.setattr(Image, "open", lambda file, error=error: (_ for _ in ()).throw(error))
        with pytest.raises(InputError, match=r"a\.png cannot be read \(ValueError\)"):
            datasets.open_image(tmp_path / "a.png")
    monkeypatch.setattr(Image, "open", lambda file: (_ for _ in ()).throw(MemoryError()))
    with pytest.raises(MemoryError):
        datasets.open_image(tmp_path / "a.png")


def test_transparency_in_a_palette_and_damaged_metadata_give_no_warning(tmp_path):
    palette = Image.new("P", (2, 2), 1)
    palette.putpalette([255, 0, 0, 0, 0, 255])
    palette.save(tmp_path / "palette.png", transparency=b"\x00\x80")
    # An entry of EXIF that promises more characters than there are.
    entry = struct.pack("<HHLL", 0x0131, 2, 9999, 26)
    exif = b"Exif\x00\x00II*\x00\x08\x00\x00\x00" + struct.pack("<H", 1) + entry + b"\x00" * 4
    Image.new("RGB", (2, 2), "blue").save(tmp_path / "exif.jpg", exif=exif, quality=100)
    content = io.BytesIO((tmp_path / "exif.jpg").read_bytes())
    with pytest.warns(UserWarning, match="Tag data larger than file"):
        Image.open(content)
    with pytest.warns(UserWarning, match="Palette images with Transparency"):
        Image.open(tmp_path / "palette.png").convert("RGB")
    filters = list(warnings.filters)

    with ThreadPoolExecutor(8) as pool:
        pictures = list(pool.map(datasets.open_image, [tmp_path / "palette.png", tmp_path / "exif.jpg"] * 50))

    assert [picture.getpixel((0, 0))[2] > 250 for picture in pictures] == [True] * 100
    assert warnings.filters == filters


def test_a_folder_for_each_class_is_read_in_order_and_other_files_are_left(tmp_path):
    for wnid in ("n02", "n01"):
        (tmp_path / wnid).mkdir()
        for name in ("b.JPEG", "a.JPEG"):
            Image.new("RGB", (4, 4)).save(tmp_path / wnid / name)
    (tmp_path / "n01" / "notes.txt").write_text("x")

    images = datasets.load("imagenet-1k", tmp_path)

    assert images["wnid"].tolist() == ["n01", "n01", "n02", "n02"]
    assert images["draw"].tolist() == [0, 1, 0, 1]
    assert images["path"][0].endswith("n01/a.JPEG")


def test_images_that_are_not_given_are_asked_for_with_their_address():
    with pytest.raises(InputError, match=r"image-net\.org"):
        datasets.load("imagenet-1k")
    with pytest.raises(InputError, match="11_pictograms"):
        datasets.load("pictograms")


def test_an_empty_or_absent_folder_is_named(tmp_path):
    with pytest.raises(InputError, match="holds no image"):
        datasets.load("imagenet-1k", tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        datasets.load("imagenet-1k", tmp_path / "nowhere")


def test_an_unknown_data_set_gets_the_nearest_name():
    with pytest.raises(InputError, match="did you mean pictograms"):
        datasets.load("pictogram")
