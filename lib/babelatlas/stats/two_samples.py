"""Do two samples of vectors come from one distribution? What a projection shows to the eye, as numbers.

A classifier that tells held-out members of two samples apart better than chance shows that their distributions differ
(the classifier two-sample test: Lopez-Paz & Oquab 2017). The purity of neighbourhoods says how much the samples keep to
themselves, in the vectors and in a projection of them: a projection can part what is one, and hide what is apart.
"""

from collections.abc import Sequence

import numpy as np
from scipy import stats as scipy_stats
from scipy.optimize import minimize
from scipy.spatial import cKDTree

from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap


def balanced(groups: Sequence[str], seed: int = 0) -> np.ndarray:
    """Return the places of as many random members of each group as the smallest has, sorted.

    >>> len(balanced(["a", "b", "b", "b"]))
    2
    """
    groups, rng = np.asarray(groups), np.random.default_rng(seed)
    names, counts = np.unique(groups, return_counts=True)
    return np.sort(np.concatenate([rng.choice(np.flatnonzero(groups == one), counts.min(), False) for one in names]))


def _checked(vectors: np.ndarray, groups: Sequence[str], least: int) -> tuple[np.ndarray, np.ndarray]:
    vectors, (names, index, counts) = (
        np.asarray(vectors, float),
        np.unique(groups, return_inverse=True, return_counts=True),
    )
    if vectors.ndim != 2 or len(vectors) != len(index) or not np.isfinite(vectors).all():
        raise InputError(
            f"Samples to compare need a row of finite numbers for each of {len(index)} members, got {vectors.shape}."
        )
    if len(names) != 2 or counts[0] != counts[1] or counts[0] < least:
        raise InputError(
            f"Two samples of the same size, {least} members or more, are compared; got "
            f"{', '.join(f'{n} of {name}' for name, n in zip(names, counts, strict=True))}: see `balanced`."
        )
    return vectors, index


def purity(points: np.ndarray, groups: Sequence[str], k: int = 10) -> np.ndarray:
    """Return for each point the share of its k nearest others that are of its own group; by chance (n - 1) / (2 n - 1).

    `points`: (members, dimensions), compared by Euclidean distance; two groups of n members each. Raises InputError for
    groups of other sizes, or with at most k members.

    >>> purity(np.array([[0.0], [0.1], [5.0], [5.1]]), ["a", "a", "b", "b"], k=1).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    if k < 1:
        raise InputError(f"Purity is among the k nearest others, got k = {k}: give a whole number from 1.")
    points, index = _checked(points, groups, k + 1)
    near = cKDTree(points).query(points, k + 1)[1]
    # A point is not its own neighbour, also where others lie on the same spot.
    itself = near == np.arange(len(points))[:, None]
    itself[~itself.any(axis=1), -1] = True
    near = near[~itself].reshape(len(points), k)
    return (index[near] == index[:, None]).mean(axis=1)


def _logistic(vectors: np.ndarray, truth: np.ndarray, penalty: float) -> np.ndarray:
    """Return the weights of a logistic regression with squared penalty, the intercept (unpenalised) last."""
    design, sign = np.column_stack([vectors, np.ones(len(vectors))]), 2.0 * truth - 1
    cost = np.append(np.full(vectors.shape[1], penalty), 0.0)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        margin = sign * (design @ weights)
        slope = -sign / (1 + np.exp(np.clip(margin, -500, 500)))
        return np.logaddexp(0, -margin).sum() + 0.5 * (cost * weights**2).sum(), design.T @ slope + cost * weights

    return minimize(loss, np.zeros(design.shape[1]), jac=True, method="L-BFGS-B").x


def classifier_test(vectors: np.ndarray, groups: Sequence[str], penalty: float = 1.0, seed: int = 0) -> dict:
    """Return how well a classifier tells two samples apart: value (accuracy), ci_low, ci_high, p, n (held-out members).

    A logistic regression is fitted to a random half of each group, in units of that half's standard deviations, and
    judged on the other halves: if the samples are of one distribution, each of these is correct with probability 1/2,
    so that the exact binomial p value (one-sided) and interval hold. Raises InputError for groups of different sizes or
    of fewer than four members.
    """
    vectors, index = _checked(vectors, groups, 4)
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(np.flatnonzero(index == one)) for one in (0, 1)]
    half = len(orders[0]) // 2
    fit, held = (np.concatenate([order[part] for order in orders]) for part in (slice(half), slice(half, None)))
    spread = vectors[fit].std(axis=0)
    scaled = (vectors - vectors[fit].mean(axis=0)) / np.where(spread > 0, spread, 1)
    weights = _logistic(scaled[fit], index[fit], penalty)
    correct = int((((scaled[held] @ weights[:-1] + weights[-1]) > 0) == (index[held] == 1)).sum())
    low, high = bootstrap.exact_interval(correct, len(held))
    p = scipy_stats.binomtest(correct, len(held), 0.5, alternative="greater").pvalue
    return {"value": correct / len(held), "ci_low": float(low), "ci_high": float(high), "p": float(p), "n": len(held)}
