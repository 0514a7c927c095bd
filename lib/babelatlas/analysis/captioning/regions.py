"""Accuracy by language and by the region of the world that images are from, as GeoDE has them."""

import os

import pandas as pd

from babelatlas.base.errors import InputError
from babelatlas.evaluation import zeroshot
from babelatlas.stats import bootstrap, tests


def counts(vectors: str | os.PathLike) -> pd.DataFrame:
    """Return correct predictions from the vectors that notebook 20 stored: lang, region, wnid, n_correct, n_images.

    Raises InputError where the file does not say where its images are from, and what `zeroshot.by_region` raises.
    """
    regions = zeroshot.read_regions(vectors)
    if regions is None:
        raise InputError(f"The embeddings {vectors} do not say where the images are from: expected those of geode.")
    images, wnids, classes = zeroshot.read_vectors(vectors)
    found = [
        zeroshot.by_region(images, wnids, regions, own, names).assign(lang=lang)
        for lang, (names, own) in classes.items()
    ]
    return pd.concat(found, ignore_index=True)


def accuracy(table: pd.DataFrame, n_resamples: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Return top-1 accuracy: lang, region, value, ci_low, ci_high, n (images); `table` as of `counts`.

    The interval resamples classes, as `bootstrap.accuracy_interval` does.
    """
    return bootstrap.accuracy_interval(table, ["lang", "region"], n_resamples=n_resamples, seed=seed)


def departures(table: pd.DataFrame, n_resamples: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Return by how much each region's accuracy departs from the mean over regions, in each language.

    `table` as of `counts`. A class counts once, whatever the number of its images; classes that lack images from a
    region are left out. Columns: lang, region, value, ci_low, ci_high, p, p_holm, n (classes). The interval resamples
    classes; p is of `tests.paired_permutation_test` over classes, Holm's correction over all rows. Raises InputError
    where a language has fewer than two such classes.
    """
    rows = []
    shares = table.assign(value=table["n_correct"] / table["n_images"])
    for lang, part in shares.groupby("lang"):
        wide = part.pivot(index="wnid", columns="region", values="value").dropna()
        if len(wide) < 2:
            raise InputError(f"In {lang!r} {len(wide)} class(es) have images from every region, expected two or more.")
        gaps = wide.sub(wide.mean(axis=1), axis=0)
        rows += [
            [lang, region, *tests.paired_mean(gaps[region].to_numpy(), None, n_resamples, seed=seed), len(wide)]
            for region in wide
        ]
    found = pd.DataFrame(rows, columns=["lang", "region", "value", "ci_low", "ci_high", "p", "n"])
    return found.assign(p_holm=tests.holm(found["p"]))
