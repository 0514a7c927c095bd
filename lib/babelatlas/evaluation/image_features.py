"""Images of several languages and data sets as a model represents them (Liu et al.
2021, Section 4): a sample of each, where it lies in two dimensions, and how far it
keeps to itself.
"""

import os
from collections.abc import Mapping

import numpy as np
import pandas as pd

from babelatlas.base import languages
from babelatlas.base.errors import InputError
from babelatlas.base.paths import locate
from babelatlas.datasets import registry, statement_pairs
from babelatlas.stats import projections

COLUMNS = ["dataset", "lang", "concept", "image", "path"]


def images_of(name: str, place: str) -> pd.DataFrame:
    """Return the images of a data set, each once: `COLUMNS`; lang is "" where the
    languages of a data set have images in common, or it has none; image is a path below
    the folder of the data set, and path the absolute one.

    `place`: of statements a table of schema `pairs`, of a data set to classify what
    `registry.load` takes. InputError for a data set of another task.
    """
    task = registry.get_dataset(name).task
    if task == "reasoning":
        pairs = statement_pairs.load(place)
        sides = [
            pairs.rename(columns={side: "path"})[["lang", "concept", "path"]]
            for side in ("left", "right")
        ]
        images = pd.concat(sides).drop_duplicates(["lang", "path"])
        if images["path"].duplicated().any() or len(images["lang"].unique()) == 1:
            images = images.drop_duplicates("path").assign(lang="")
    elif task == "zero-shot":
        images = registry.load(name, place).rename(columns={"wnid": "concept"})
        images = images.assign(lang="")
    else:
        raise InputError(
            f"The data set {name!r} is for {task}: image features are of data sets to"
            " classify, or of statements."
        )
    file = locate(place)
    folder = file if file.is_dir() else file.parent
    # A table that names the folder of a run would differ from that of another run.
    below_folder = [os.path.relpath(path, folder) for path in images["path"]]
    images = images.assign(dataset=name, image=below_folder)
    return images[COLUMNS].reset_index(drop=True)


def sample(places: Mapping[str, str], most: int, seed: int = 0) -> pd.DataFrame:
    """Return as many random images of every data set, or of each of its languages where
    these have their own: `COLUMNS` and group, its name.

    `places`: data set -> what `images_of` takes. `most`: images of a group; all groups
    have as many as the smallest. InputError for one group alone.
    """
    images = pd.concat([images_of(name, place) for name, place in places.items()])
    named = images["dataset"] + ", " + images["lang"].map(_language)
    images["group"] = named.where(images["lang"] != "", images["dataset"])
    sizes = images["group"].value_counts()
    if len(sizes) < 2 or sizes.min() < 2:
        raise InputError(
            "Image features compare two groups of two images or more, and there are"
            f" {', '.join(f'{n} of {name}' for name, n in sizes.items()) or 'none'}: name"
            " data sets with images under `image_features`."
        )
    n = min(most, int(sizes.min()))
    parts = []
    for _, part in images.groupby("group", sort=False):
        rows = part.sort_values("image")
        drawn = np.random.default_rng(seed).choice(len(rows), n, replace=False)
        parts.append(rows.iloc[np.sort(drawn)])
    return pd.concat(parts, ignore_index=True)


def _language(code: str) -> str:
    return languages.name(code) if code else ""


def features(
    sampled: pd.DataFrame,
    vectors: np.ndarray,
    method: str,
    seed: int = 0,
    neighbours: int = 15,
    k: int = 10,
) -> pd.DataFrame:
    """Return where images lie in two dimensions and how pure their neighbourhood is:
    schema `image_features`, less model.

    `sampled`: as `sample` returns it; `vectors` (images, d), of any length, compared by
    direction. `method`: as `projections.project` takes it. Purity: share of the `k`
    nearest others, in the vectors, that are of the same group.
    """
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    points = projections.project(unit, method, seed, neighbours)
    shares = projections.purity(unit, sampled["group"].to_numpy(str), k)
    named = sampled.drop(columns="path", errors="ignore")
    return named.assign(method=method, x=points[:, 0], y=points[:, 1], purity=shares)
