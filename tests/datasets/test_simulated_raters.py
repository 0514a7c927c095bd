"""Simulated raters: without noise they say what is true."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelatlas.base.errors import InputError
from babelatlas.datasets import simulated_raters as raters


def test_quality_is_the_f1_of_the_things_named():
    found = raters.quality([["a", "b"], ["a", ""], ["c"], ["a"]], [["a", "b"], ["a"], ["a"], ["a", "b"]])
    assert found.tolist() == pytest.approx([1, 2 / 3, 0, 2 / 3])


def test_without_noise_raters_agree_and_prefer_the_better_caption():
    base, model = pd.Series({"x": 0.0, "y": 0.5, "z": 1.0}), pd.Series({"x": 1.0, "y": 0.5, "z": 0.5})
    said = raters.compare(base, model, noise=0)
    assert said.groupby("image")["preference"].unique().map(list).to_dict() == {"x": [3], "y": [0], "z": [-2]}
    assert said["rater"].nunique() == 3
    rated = raters.rate(pd.Series({"x": 0.0, "y": 1 / 3, "z": 1.0}), noise=0)
    assert rated.groupby("image")["rating"].unique().map(list).to_dict() == {
        "x": ["BAD"],
        "y": ["MEDIUM"],
        "z": ["EXCELLENT"],
    }


@settings(max_examples=20, deadline=None)
@given(st.floats(0, 5), st.integers(0, 99))
def test_whatever_the_noise_a_preference_is_on_the_scale_and_two_draws_are_the_same(noise, seed):
    both = [pd.Series(np.linspace(0, 1, 9), [f"{place}" for place in range(9)])] * 2
    said = raters.compare(*both, noise=noise, seed=seed)
    assert said["preference"].between(-3, 3).all()
    pd.testing.assert_frame_equal(said, raters.compare(*both, noise=noise, seed=seed))


def test_captions_of_other_images_and_negative_noise_are_refused():
    with pytest.raises(InputError, match="got 1 and 1 images that are not the same"):
        raters.compare(pd.Series({"a": 1.0}), pd.Series({"b": 1.0}), 0)
    with pytest.raises(InputError, match="noise of the raters is -1"):
        raters.rate(pd.Series({"a": 1.0}), -1)
