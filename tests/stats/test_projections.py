"""Vectors in two dimensions, and the purity of their neighbourhoods."""

import numpy as np
import pytest

from babelatlas.base.errors import InputError
from babelatlas.stats import projections


@pytest.fixture(scope="module")
def apart():
    rng = np.random.default_rng(0)
    vectors = [rng.normal(0, 1, (30, 8)), rng.normal(6, 1, (30, 8))]
    return np.concatenate(vectors), ["a"] * 30 + ["b"] * 30


def test_principal_components_keep_what_has_two_dimensions():
    points = np.random.default_rng(0).normal(size=(30, 2))
    padded = np.column_stack([points, np.zeros((30, 3))])
    found = projections.project(padded, "pca")
    gaps = [np.linalg.norm(at[:, None] - at, axis=2) for at in (points, found)]
    assert gaps[0] == pytest.approx(gaps[1], abs=1e-5)


def test_purity_is_that_of_a_plain_loop(apart):
    vectors, groups = np.random.default_rng(1).normal(size=(40, 5)), list("abcd") * 10
    expected = []
    for place, vector in enumerate(vectors):
        gaps = np.linalg.norm(vectors - vector, axis=1)
        nearest = [other for other in np.argsort(gaps) if other != place][:7]
        expected.append(np.mean([groups[other] == groups[place] for other in nearest]))
    found = projections.purity(vectors, groups, k=7)
    assert found == pytest.approx(expected)
    assert projections.purity(*apart, k=5).mean() == 1


def test_equal_vectors_are_no_neighbours_of_themselves():
    vectors = np.zeros((6, 3))
    shares = projections.purity(vectors, list("aaabbb"), k=5)
    assert shares == pytest.approx(2 / 5)


def test_without_umap_principal_components_stand_in(monkeypatch):
    monkeypatch.setattr(projections, "find_spec", lambda name: None)
    assert projections.available("umap") == "pca"
    monkeypatch.setattr(projections, "find_spec", lambda name: name)
    assert projections.available("umap") == "umap"
    assert projections.available("pca") == "pca"


@pytest.mark.filterwarnings("ignore")  # of umap-learn and numba, while they compile
def test_umap_keeps_groups_apart_and_a_seed_decides(apart):
    pytest.importorskip("umap", reason="umap-learn, an extra, is not installed")
    vectors, groups = apart
    first, second = (projections.project(vectors, "umap", 3) for _ in range(2))
    assert first.shape == (60, 2)
    assert projections.purity(first, groups).mean() > 0.95
    assert np.array_equal(first, second)


def test_bad_input_is_one_sentence(apart):
    with pytest.raises(InputError, match="no projection 'pacmap'"):
        projections.available("pacmap")
    with pytest.raises(InputError, match="3 images or more, and there are 2"):
        projections.project(apart[0][:2], "pca")
    with pytest.raises(InputError, match="k = 10 is none of 1 to 4"):
        projections.purity(apart[0][:5], list("aabbb"), 10)
