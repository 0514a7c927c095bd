"""Vectors in two dimensions, and how much groups of them keep to themselves.

Liu et al. (2021, Section 4, Figures 4 and 8) show images of MaRVL and NLVR2 as points,
projected by UMAP (McInnes et al. 2018). A projection can part what is one group, and
hide what is apart; the purity of neighbourhoods in the vectors themselves cannot.
"""

from collections.abc import Sequence
from importlib.util import find_spec

import numpy as np
from scipy.spatial import cKDTree

from babelatlas.base.errors import InputError

METHODS = ("umap", "pca")
FEWEST = 3  # members of a projection


def available(method: str) -> str:
    """Return the method that can be used here: "pca" (principal components) for "umap"
    where umap-learn is not installed.
    """
    if method not in METHODS:
        raise InputError(
            f"There is no projection {method!r}: expected one of {', '.join(METHODS)}."
        )
    return "pca" if method == "umap" and find_spec("umap") is None else method


def project(
    vectors: np.ndarray, method: str, seed: int = 0, neighbours: int = 15
) -> np.ndarray:
    """Return vectors (n, d) in two dimensions, (n, 2).

    `method`: "umap" (umap-learn, an extra; Euclidean distances, as its defaults) or
    "pca", which is the same for every seed. `neighbours`: of UMAP, at most n - 1.
    InputError for fewer than three vectors.
    """
    vectors = np.asarray(vectors, np.float32)
    if len(vectors) < FEWEST:
        raise InputError(
            f"A projection needs {FEWEST} images or more, and there are {len(vectors)}."
        )
    if method == "umap":
        from umap import UMAP

        reducer = UMAP(
            n_neighbors=min(neighbours, len(vectors) - 1), random_state=seed, n_jobs=1
        )
        return reducer.fit_transform(vectors).astype(float)
    centred = vectors - vectors.mean(axis=0)
    left, size, _ = np.linalg.svd(centred, full_matrices=False)
    return (left[:, :2] * size[:2]).astype(float)


def purity(vectors: np.ndarray, groups: Sequence[str], k: int = 10) -> np.ndarray:
    """Return for each vector (n, d) the share of its k nearest others that are of its
    own group.

    Euclidean distances. In groups of m of N members it is (m - 1) / (N - 1) by chance.
    InputError for fewer than k others.

    >>> vectors = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> purity(vectors, ["a", "a", "b", "b"], k=1).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    vectors = np.asarray(vectors, float)
    if not 1 <= k < len(vectors):
        raise InputError(
            f"Purity is among the k nearest others, and of {len(vectors)} images k = {k}"
            f" is none of 1 to {len(vectors) - 1}."
        )
    index = np.unique(np.asarray(groups), return_inverse=True)[1]
    nearest = cKDTree(vectors).query(vectors, k + 1)[1]
    # A vector is not its own neighbour, also where others lie on the same spot.
    is_itself = nearest == np.arange(len(vectors))[:, None]
    is_itself[~is_itself.any(axis=1), -1] = True
    nearest = nearest[~is_itself].reshape(len(vectors), k)
    return (index[nearest] == index[:, None]).mean(axis=1)
