"""Vectors of images by a network for image classification: Liu et al. (2021, Figure 4) take ResNet-50's."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from babelatlas.base.errors import InputError
from babelatlas.datasets.imagenet import SUFFIXES
from babelatlas.datasets.registry import open_image


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
