"""Pictures prepared in bytes become, bit by bit, the numbers of the libraries."""

import numpy as np
import pytest
import torch
from PIL import Image

import tiny_huggingface
import tiny_openclip
from babelatlas.models import loading, registry
from babelatlas.models.byte_pictures import ByteTransform, in_two_steps, look_up


def noise(seed, *sides):
    shades = np.random.default_rng(seed).integers(0, 256, (*sides, 3), np.uint8)
    return Image.fromarray(shades)


def transform(make, family, place):
    make(place)
    changes = {"family": family, "architecture": "", "image_size": 32, "dimension": 0}
    changes |= {"context_length": 64}
    changes |= {"source": registry.Source(repository="some/where")}
    entry = registry.get_model("openai-b32").model_copy(update=changes)
    return loading.load(entry, place, device="cpu").transform


@pytest.mark.parametrize(
    ("make", "family"),
    [
        (tiny_openclip.clip, "open_clip"),
        (tiny_openclip.siglip2, "open_clip"),
        (tiny_huggingface.altclip, "altclip"),
        (tiny_huggingface.siglip2, "siglip"),
    ],
)
def test_bytes_looked_up_are_the_numbers_of_the_library(make, family, tmp_path):
    prepare = transform(make, family, tmp_path / "model")
    assert isinstance(prepare, ByteTransform)
    images = [noise(seed, 30 + 7 * seed, 50) for seed in range(4)]
    images.append(Image.new("RGB", (5, 90), (255, 0, 1)))
    pixels = np.stack([prepare.to_bytes(image) for image in images])
    assert pixels.dtype == np.uint8

    found = look_up(torch.from_numpy(prepare.table), torch.from_numpy(pixels))

    expected = np.stack([prepare(image) for image in images])
    assert expected.dtype == np.float32
    assert np.array_equal(found.numpy(), expected)
    assert np.array_equal(prepare(images[0]), prepare.whole(images[0]))


def test_patches_of_a_picture_stay_numbers(tmp_path):
    prepare = transform(tiny_huggingface.naflex, "siglip", tmp_path / "model")
    assert not isinstance(prepare, ByteTransform)


def test_a_preparation_that_is_no_table_of_shades_stays_as_it_is():
    def pixels(image):
        return np.asarray(image).transpose(2, 0, 1)

    def centred(image):
        shades = pixels(image).astype(np.float32)
        return shades - shades.mean()

    def scaled(image):
        return pixels(image).astype(np.float32) / 255

    assert in_two_steps(centred, pixels, centred) is centred
    assert in_two_steps(scaled, lambda image: pixels(image) / 255, scaled) is scaled
    assert isinstance(in_two_steps(scaled, pixels, scaled), ByteTransform)
