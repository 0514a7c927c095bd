"""Vectors of images by a network for image classification, and vectors in two dimensions.

Liu et al. (2021, Figure 4) show images of MaRVL and NLVR2 as a ResNet-50 sees them, projected by UMAP.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from babelatlas.base.errors import InputError
from babelatlas.datasets.imagenet import SUFFIXES
from babelatlas.datasets.registry import open_image

METHODS = ("umap", "t-sne", "pca")


def files_below(folder: str | os.PathLike) -> list[str]:
    """Return the paths of the image files below a folder, sorted; InputError where there is none."""
    found = sorted(str(path) for path in Path(folder).rglob("*") if path.suffix.lower() in SUFFIXES)
    if not found:
        raise InputError(f"There is no image below {folder}: expected files that end in {', '.join(sorted(SUFFIXES))}.")
    return found


def features(
    paths: Sequence[str], name: str = "resnet50.tv_in1k", pretrained: bool = True, batch: int = 32
) -> np.ndarray:
    """Return what a model of timm makes of images before its classes: (images, dimensions), float32.

    `name` as timm has it; its weights are fetched from the hub when first used. `pretrained` False takes random ones.
    """
    import timm
    import torch

    model = timm.create_model(name, pretrained=pretrained, num_classes=0).eval()
    transform = timm.data.create_transform(**timm.data.resolve_data_config({}, model=model))
    parts = []
    with torch.inference_mode():
        for start in range(0, len(paths), batch):
            pictures = [transform(open_image(path)) for path in paths[start : start + batch]]
            parts.append(model(torch.stack(pictures)).float().numpy())
    return np.concatenate(parts)


def project(vectors: np.ndarray, method: str = "umap", seed: int = 0, neighbours: int = 15) -> np.ndarray:
    """Return vectors (n, d) in two dimensions, (n, 2).

    `method`: "umap" (umap-learn; its first use in a process compiles for 20 to 40 seconds), "t-sne" (scikit-learn, from
    random places; `neighbours` is its perplexity) or "pca" (the same for every seed). Raises InputError for another method,
    and for fewer vectors than the neighbours need.
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
