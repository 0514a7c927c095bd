"""Vectors in two dimensions."""

import numpy as np
import pytest

from babelatlas.base.errors import InputError
from babelatlas.stats import projections, two_samples


@pytest.fixture(scope="module")
def apart():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(0, 1, (30, 8)), rng.normal(6, 1, (30, 8))]), ["a"] * 30 + ["b"] * 30


def test_pca_keeps_what_has_two_dimensions():
    points = np.random.default_rng(0).normal(size=(30, 2))
    found = projections.project(np.column_stack([points, np.zeros((30, 3))]), "pca")
    gaps = [np.linalg.norm(at[:, None] - at, axis=2) for at in (points, found)]
    assert gaps[0] == pytest.approx(gaps[1], abs=1e-5)


def test_sets_that_are_apart_stay_apart_and_a_seed_decides(apart):
    vectors, groups = apart
    first, again, other = (projections.project(vectors, "t-sne", seed) for seed in (0, 0, 1))
    assert two_samples.purity(first, groups).mean() > 0.95
    assert np.array_equal(first, again)
    assert not np.allclose(first, other)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of umap-learn and numba, while they compile
def test_umap_keeps_sets_apart_and_a_seed_decides(apart):
    vectors, groups = apart
    first, again = (projections.project(vectors, "umap", 3) for _ in range(2))
    assert first.shape == (60, 2)
    assert two_samples.purity(first, groups).mean() > 0.95
    assert np.array_equal(first, again)


def test_bad_input_is_one_sentence(apart):
    with pytest.raises(InputError, match="no projection 'pacmap'"):
        projections.project(apart[0], "pacmap")
    with pytest.raises(InputError, match="more images than these 10"):
        projections.project(apart[0][:10])
