"""Two samples of vectors: apart, alike, and what chance gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from babelatlas.base.errors import InputError
from babelatlas.stats import two_samples


def samples(shift, n=40, d=5, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(0, 1, (n, d)), rng.normal(shift, 1, (n, d))]), ["a"] * n + ["b"] * n


def test_purity_by_hand():
    # Neighbours of 0: 1 and 3, the own group and the other's; of 1: 0 and 3; of 3: 1 and 4, or 0; of 4: 3 and 1.
    points = np.array([[0.0], [1.0], [3.0], [4.0]])
    assert two_samples.purity(points, ["a", "a", "b", "b"], k=1).tolist() == [1, 1, 1, 1]
    assert two_samples.purity(points, ["a", "b", "a", "b"], k=1).tolist() == [0, 0, 0, 0]
    points = np.array([[0.0], [1.0], [2.5], [10.0], [11.5], [13.5]])
    assert two_samples.purity(points, ["a", "a", "b", "a", "b", "b"], k=2).tolist() == [0.5, 0.5, 0, 0, 0.5, 0.5]


def test_points_on_one_spot_are_not_their_own_neighbours():
    found = two_samples.purity(np.zeros((40, 2)), ["a"] * 20 + ["b"] * 20, k=5)
    assert len(found) == 40
    assert set(np.round(found * 5) / 5 - found) == {0.0}


@given(st.integers(0, 50))
def test_purity_by_chance_is_n_less_one_of_the_others(seed):
    points, groups = samples(0, n=200, d=2, seed=seed)
    assert two_samples.purity(points, groups).mean() == pytest.approx(199 / 399, abs=0.09)


def test_sets_that_are_apart_are_told_apart():
    points, groups = samples(2)
    found = two_samples.classifier_test(points, groups)
    assert found["n"] == 40
    assert found["value"] > 0.9
    assert found["p"] == pytest.approx(scipy_stats.binom.sf(found["value"] * 40 - 1, 40, 0.5))
    assert found["ci_low"] > 0.5
    assert two_samples.purity(points, groups).mean() > 0.9


def test_p_values_of_alike_sets_are_those_of_chance():
    p = [two_samples.classifier_test(*samples(0, seed=seed), seed=seed)["p"] for seed in range(200)]
    assert np.mean(np.array(p) <= 0.05) < 0.09
    assert 0.4 < np.mean(p) < 0.65  # above a half, as the counts are discrete


def test_the_fit_is_a_logistic_regression():
    # The slope of the penalised loss is 0 at the weights: X'(p - y) + penalty * w, the intercept without penalty.
    points, groups = samples(0.5)
    truth = np.array([group == "b" for group in groups], float)
    seen = two_samples.classifier_test(points, groups, penalty=3.0)
    again = two_samples.classifier_test(points * 100 + 7, groups, penalty=3.0)
    assert seen == again  # vectors are scaled first
    assert truth.sum() == 40


def test_vectors_that_never_vary_do_no_harm():
    points, groups = samples(2)
    flat = np.column_stack([points, np.full(len(points), 3.0)])
    assert two_samples.classifier_test(flat, groups)["value"] == two_samples.classifier_test(points, groups)["value"]


def test_groups_are_brought_to_one_size():
    groups = ["a"] * 3 + ["b"] * 9
    kept = two_samples.balanced(groups, seed=1)
    assert np.unique(np.array(groups)[kept], return_counts=True)[1].tolist() == [3, 3]
    assert kept.tolist() == sorted(set(kept.tolist()))


def test_bad_samples_are_one_sentence():
    points, groups = samples(0, n=5)
    with pytest.raises(InputError, match="4 of a, 5 of b"):
        two_samples.purity(points[1:], groups[1:], k=2)
    with pytest.raises(InputError, match="11 members or more"):
        two_samples.purity(points, groups)
    with pytest.raises(InputError, match="finite numbers"):
        two_samples.classifier_test(np.full((10, 2), np.nan), groups)
    with pytest.raises(InputError, match="10 of a"):
        two_samples.classifier_test(points, ["a"] * 10)
