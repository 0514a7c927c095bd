"""Stored vectors in the place of pictures, and what stands for a picture of two."""

import numpy as np
import pandas as pd
import pytest

from babelatlas.base.errors import InputError
from babelatlas.datasets import stored_vectors

COLUMNS = ["item", "image", "path"]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "vectors_small.npz"
    vectors = np.array([[3.0, 0.0], [0.0, 0.5], [-1.0, 0.0]], np.float16)
    np.savez(path, wnids=np.array(["n1", "n2", "n3"]), vectors=vectors, tower="small")
    return path


def test_two_rows_stand_for_the_mean_of_vectors_of_length_one(file):
    vectors = stored_vectors.read(file, ["1", "0+1", "1+0"], "small")
    half = 1 / np.sqrt(2)
    np.testing.assert_allclose(vectors, [[0, 1], [half, half], [half, half]], atol=1e-6)
    rows = stored_vectors.read(file, ["0", "2"], "small")
    np.testing.assert_allclose(rows, [[3, 0], [-1, 0]])
    with pytest.raises(InputError, match="of the image tower 'small', not of 'large'"):
        stored_vectors.read(file, ["0+1"], "large")


def test_a_picture_of_both_senses_is_added_to_every_item_in_any_order_of_the_choice(
    file,
):
    originals = [["w:n1+n2", "a0", "0"], ["w:n1+n2", "b0", "1"], ["w:n1+n2", "a1", "2"]]
    table = stored_vectors.with_both(pd.DataFrame(originals, columns=COLUMNS))
    assert table.to_numpy().tolist() == [*originals, ["w:n1+n2", "mix", "0+1"]]
    # Each text is as near to its own picture as the other is to its own.
    texts = np.array([[0.8, 0.6], [0.6, 0.8]])
    mixed = stored_vectors.read(file, ["0+1"], "small")
    np.testing.assert_allclose(*(texts @ mixed[0]), atol=1e-6)


def test_vectors_are_known_by_the_end_of_their_name(file):
    assert stored_vectors.are_given(file)
    assert not stored_vectors.are_given(["photographs", "more.zip"])
    assert not stored_vectors.are_given("")
