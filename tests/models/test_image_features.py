"""Vectors of images by a network for classification."""

import numpy as np
import pytest
from PIL import Image

from babelatlas.base.errors import InputError
from babelatlas.models.loaders import image_features


@pytest.mark.slow
def test_features_of_a_network_have_a_row_for_each_image(tmp_path):
    for number, colour in enumerate(["red", "blue", "red"]):
        Image.new("RGB", (40, 30), colour).save(tmp_path / f"{number}.png")
    paths = image_features.files_below(tmp_path)
    found = image_features.features(paths, "resnet18", pretrained=False, batch=2)
    assert found.shape == (3, 512)
    assert found[0] == pytest.approx(found[2], abs=1e-4)
    assert not np.allclose(found[0], found[1])


def test_a_folder_without_images_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="no image below"):
        image_features.files_below(tmp_path)
