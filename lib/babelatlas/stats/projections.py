"""Vectors in two dimensions: UMAP, t-SNE, and principal components.

Liu et al. (2021, Figure 4) show images of MaRVL and NLVR2 so, by UMAP (McInnes et al. 2018).
"""

import numpy as np

from babelatlas.base.errors import InputError

METHODS = ("umap", "t-sne", "pca")


def project(vectors: np.ndarray, method: str = "umap", seed: int = 0, neighbours: int = 15) -> np.ndarray:
    """Return vectors (n, d) in two dimensions, (n, 2).

    `method`: "umap" (umap-learn; its first use in a process compiles for 20 to 40 seconds), "t-sne" (scikit-learn, from
    random places; `neighbours` is its perplexity) or "pca" (the same for every seed). Raises InputError for another
    method, and for fewer vectors than the neighbours need.
    """
    vectors = np.asarray(vectors, np.float32)
    if method not in METHODS:
        raise InputError(f"There is no projection {method!r}: expected one of {', '.join(METHODS)}.")
    if len(vectors) <= neighbours:
        raise InputError(f"A projection with {neighbours} neighbours needs more images than these {len(vectors)}.")
    if method == "umap":
        from umap import UMAP

        return UMAP(n_neighbors=neighbours, random_state=seed, n_jobs=1).fit_transform(vectors).astype(float)
    if method == "t-sne":
        from sklearn.manifold import TSNE

        made = TSNE(perplexity=neighbours, init="random", random_state=seed, max_iter=500, n_jobs=1)
        return made.fit_transform(vectors).astype(float)
    centred = vectors - vectors.mean(axis=0)
    left, size, _ = np.linalg.svd(centred, full_matrices=False)
    return (left[:, :2] * size[:2]).astype(float)
