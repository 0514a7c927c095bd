"""Vectors of images, and their projections."""

import numpy as np
import pytest
from PIL import Image

from babelatlas.base.errors import InputError
from babelatlas.models import image_features
from babelatlas.stats import two_samples


@pytest.fixture(scope="module")
def apart():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(0, 1, (30, 8)), rng.normal(6, 1, (30, 8))]), ["a"] * 30 + ["b"] * 30


def test_pca_keeps_what_has_two_dimensions():
    points = np.random.default_rng(0).normal(size=(30, 2))
    found = image_features.project(np.column_stack([points, np.zeros((30, 3))]), "pca")
    gaps = [np.linalg.norm(at[:, None] - at, axis=2) for at in (points, found)]
    assert gaps[0] == pytest.approx(gaps[1], abs=1e-5)


def test_sets_that_are_apart_stay_apart_and_a_seed_decides(apart):
    vectors, groups = apart
    first, again, other = (image_features.project(vectors, "t-sne", seed) for seed in (0, 0, 1))
    assert two_samples.purity(first, groups).mean() > 0.95
    assert np.array_equal(first, again)
    assert not np.allclose(first, other)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of umap-learn and numba, while they compile
def test_umap_keeps_sets_apart_and_a_seed_decides(apart):
    vectors, groups = apart
    first, again = (image_features.project(vectors, "umap", 3) for _ in range(2))
    assert first.shape == (60, 2)
    assert two_samples.purity(first, groups).mean() > 0.95
    assert np.array_equal(first, again)


@pytest.mark.slow
def test_features_of_a_network_have_a_row_for_each_image(tmp_path):
    for number, colour in enumerate(["red", "blue", "red"]):
        Image.new("RGB", (40, 30), colour).save(tmp_path / f"{number}.png")
    paths = image_features.files_below(tmp_path)
    found = image_features.features(paths, "resnet18", pretrained=False, batch=2)
    assert found.shape == (3, 512)
    assert found[0] == pytest.approx(found[2], abs=1e-4)
    assert not np.allclose(found[0], found[1])


def test_bad_input_is_one_sentence(tmp_path, apart):
    with pytest.raises(InputError, match="no projection 'pacmap'"):
        image_features.project(apart[0], "pacmap")
    with pytest.raises(InputError, match="more images than these 10"):
        image_features.project(apart[0][:10])
    with pytest.raises(InputError, match="no image below"):
        image_features.files_below(tmp_path)
