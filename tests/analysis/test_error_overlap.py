"""Overlap of errors: against cases done by hand and against simulated errors."""

import numpy as np
import pandas as pd
import pytest

from babelatlas.analysis import error_overlap
from babelatlas.base.errors import InputError


def test_shared_errors_are_intersection_over_union_on_the_items_that_both_have():
    x, nan = [[1, 1], [1, 0], [0, 0], [0, 1]], np.nan
    y = [[1, 0], [nan, nan], [0, 0], [1, 1]]
    pairs = pd.DataFrame({"first": [0], "second": [1], "kind": "x and y"})
    found = error_overlap.mean_overlap(np.array([x, y]), pairs, n_resamples=200).iloc[0]
    # On items 0, 2 and 3 x errs in a0, b0, b3 and y in a0, a3, b3: 2 of 4. By chance 1 x 2 / 3 + 2 x 1 / 3 of them.
    assert found["value"] == 0.5
    assert found["expected"] == pytest.approx((4 / 3) / (6 - 4 / 3))
    assert found["excess"] == pytest.approx(found["value"] - found["expected"])
    assert found["ci_low"] <= found["value"] <= found["ci_high"]
    assert (found["pairs"], found["n"]) == (1, 4)


def test_independent_errors_overlap_as_expected_and_copied_ones_more():
    errors = np.random.default_rng(0).random((6, 300, 2)) < 0.4
    errors[5] = errors[4]
    pairs = pd.DataFrame({"first": [0, 2, 4], "second": [1, 3, 5], "kind": ["free", "free", "copied"]})
    free, copied = error_overlap.mean_overlap(errors, pairs, n_resamples=500).to_dict("records")
    assert free["excess_low"] < 0 < free["excess_high"]
    assert free["p_holm"] > 0.05
    assert copied["value"] == 1
    assert copied["p_holm"] < 0.05
    assert (free["pairs"], copied["pairs"]) == (2, 1)


def test_a_kind_of_pairs_in_which_nobody_errs_has_no_overlap():
    errors = np.zeros((3, 4, 2))
    errors[2, 0] = 1
    pairs = pd.DataFrame({"first": [0, 0], "second": [1, 2], "kind": ["none", "one"]})
    none, one = error_overlap.mean_overlap(errors, pairs, n_resamples=50).to_dict("records")
    assert none["pairs"] == 0
    assert np.isnan([none["value"], none["expected"], none["p_holm"]]).all()
    assert (one["value"], one["pairs"]) == (0, 1)


def test_many_pairs_of_a_kind_give_the_mean_of_each_alone():
    errors = np.random.default_rng(1).random((40, 5, 2)) < 0.5
    first, second = np.triu_indices(40, 1)
    pairs = pd.DataFrame({"first": first, "second": second, "kind": "all"})
    alone = [(errors[a] & errors[b]).sum() / (errors[a] | errors[b]).sum() for a, b in zip(first, second, strict=True)]
    found = error_overlap.mean_overlap(errors, pairs, n_resamples=20).iloc[0]
    assert found["value"] == pytest.approx(np.mean(alone))


@pytest.mark.parametrize(("shape", "n"), [((2, 1, 2), 1), ((2, 3), 1), ((2, 3, 2), 0)])
def test_shared_errors_need_pairs_and_items(shape, n):
    pairs = pd.DataFrame({"first": [0] * n, "second": [1] * n, "kind": ["x"] * n})
    with pytest.raises(InputError, match="at least two items"):
        error_overlap.mean_overlap(np.zeros(shape), pairs)
