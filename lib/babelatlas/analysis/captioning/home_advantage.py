"""Home advantage: does a model do better in a language on images that were taken where the language is spoken?

Crossmodal-3600 selects 100 images for each of its 36 languages by where they were taken, and people caption all images
in all languages, so that a model's score in a language on images of its own region can be compared with its score on
those of others. A language may be easy, and so may a region's images: the advantage is what is left without both,

    (own region - other regions) in the language - mean over the other languages of the same difference,

which is the diagonal's interaction of the matrix language x region, times (k / (k - 1))^2 for k of each. Nothing that
is added to all scores of a language, or to all on one region's images, changes it.

Intervals resample the images within each region. The test permutes the images' regions: without home advantage, by how
much an image is better described in one language than in the others does not depend on where it was taken.
"""

import numpy as np
import pandas as pd

from babelatlas.base.errors import InputError
from babelatlas.evaluation import retrieval
from babelatlas.stats import bootstrap, checks, tests

# Rows of `advantages` after those of the languages: their mean, with an interval over images and one over languages.
MEAN, MEAN_LANGUAGES = "mean", "mean over languages"


def of_retrieval(table: pd.DataFrame, k: int = 1, direction: str = "t2i") -> pd.DataFrame:
    """Return recall at `k` of each image from a `retrieval` table: model, dataset, lang, image, value (a fraction).

    An image with several captions in a language has their mean.
    """
    table = table[table["direction"] == direction]
    found = table[["model", "dataset", "lang"]].assign(image=retrieval.images(table), value=retrieval.hits(table, k))
    return _mean_by_image(found)


def of_caption_scores(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the score of each image from a `caption_scores` table: model, dataset, lang, image, value.

    Sets of references, tokenisations and prompts are averaged: choose among them first.
    """
    return _mean_by_image(table[table["metric"] == metric])


def _mean_by_image(table: pd.DataFrame) -> pd.DataFrame:
    return table.groupby(["model", "dataset", "lang", "image"], as_index=False)["value"].mean()


def cells(scores: pd.DataFrame, homes: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return the scores of one model as an array (languages, images), the region of each image, and the languages.

    `scores`: lang, image, value; `homes`: image and lang, the language that each image was selected for. Languages
    without images of their own, and images of languages without scores, are left out. Raises InputError for fewer than
    two languages that have both, an image that is selected twice, and one without a score in some language.
    """
    checks.check_numbers(scores, ["value"], "A home advantage", ["lang", "image"])
    twice = homes.loc[homes["image"].duplicated(), "image"]
    if len(twice):
        raise InputError(f"The image {twice.iloc[0]!r} is selected for two languages: keep one row for each image.")
    home = homes.set_index("image")["lang"]
    scores = scores[scores["image"].isin(home.index)]
    langs = sorted(set(scores["lang"]) & set(home[home.index.isin(scores["image"])]))
    if len(langs) < 2:
        raise InputError(
            f"A home advantage needs two languages with scores and images of their own, got {len(langs)}: see whether "
            "the images of scores and selection have the same names."
        )
    home = home[home.isin(langs) & home.index.isin(scores["image"])].sort_index()
    wide = scores[scores["lang"].isin(langs)].pivot(index="lang", columns="image", values="value")
    wide = wide.reindex(index=langs, columns=home.index)
    gaps = np.argwhere(wide.isna().to_numpy())
    if len(gaps):
        lang, image = wide.index[gaps[0, 0]], wide.columns[gaps[0, 1]]
        raise InputError(
            f"{len(gaps):,} pairs of an image and a language have no score, the first {image!r} in {lang!r}: "
            "expected every image in every language; leave out images or languages with gaps."
        )
    return wide.to_numpy(), np.searchsorted(langs, home.to_numpy()), langs


def _means(values: np.ndarray, region: np.ndarray) -> np.ndarray:
    """Return the mean of each row of `values` on the images of each region: (languages, regions)."""
    inside = region[:, None] == np.arange(region.max() + 1)
    return values @ inside / inside.sum(axis=0)


def interaction(matrix: np.ndarray) -> np.ndarray:
    """Return the advantage of each language from means (…, languages, regions), languages and regions in one order.

    >>> interaction(np.array([[0.9, 0.5], [0.4, 0.6]])).round(3).tolist()
    [0.6, 0.6]
    """
    k = matrix.shape[-1]
    own = np.diagonal(matrix, axis1=-2, axis2=-1)
    rows, columns, whole = matrix.mean(axis=-1), matrix.mean(axis=-2), matrix.mean(axis=(-2, -1))
    return (own - rows - columns + whole[..., None]) * (k / (k - 1)) ** 2


def _resampled(values: np.ndarray, region: np.ndarray, n_resamples: int, seed: int) -> np.ndarray:
    """Return the matrices of resamples of the images within each region, (n_resamples, languages, regions)."""
    counts = np.bincount(region)
    if (counts < 2).any():
        raise InputError("A home advantage needs two images of each region, to see how much images differ: give more.")
    result = np.empty((n_resamples, len(values), len(counts)))
    for one, count in enumerate(counts):
        drawn = bootstrap.resample_weights(count, n_resamples, seed + one)  # regions are resampled by themselves
        result[:, :, one] = drawn @ values[:, region == one].T / count
    return result


def matrix(
    scores: pd.DataFrame, homes: pd.DataFrame, n_resamples: int = 2000, level: float = 0.95, seed: int = 0
) -> pd.DataFrame:
    """Return the mean score of each language on the images of each region: lang, home, value, ci_low, ci_high, n.

    `scores` and `homes` as for `cells`; n images. The interval resamples the images of the region.
    """
    values, region, langs = cells(scores, homes)
    mean = _means(values, region)
    counts, drawn = np.bincount(region), _resampled(values, region, n_resamples, seed)
    rows = []
    for column, home in enumerate(langs):
        low, high = bootstrap.percentile_interval(drawn[:, :, column], level, counts[column])
        rows += [[lang, home, mean[row, column], low[row], high[row], counts[column]] for row, lang in enumerate(langs)]
    return pd.DataFrame(rows, columns=["lang", "home", "value", "ci_low", "ci_high", "n"])


def advantages(
    scores: pd.DataFrame,
    homes: pd.DataFrame,
    n_resamples: int = 2000,
    n_permutations: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the home advantage of each language and their mean: lang, value, ci_low, ci_high, p, p_holm, n (images).

    `scores` and `homes` as for `cells`. The row `MEAN` is the mean of the advantages, with the interval over images;
    `MEAN_LANGUAGES` the same mean with the interval over languages. p: two-sided, of permutations of the images'
    regions; Holm's correction is over the languages. The unit is that of the scores.
    """
    values, region, langs = cells(scores, homes)
    counts, value = np.bincount(region), interaction(_means(values, region))
    drawn = interaction(_resampled(values, region, n_resamples, seed))
    low, high = bootstrap.percentile_interval(drawn, level, int(counts.min()))
    checks.check_draws(n_permutations, seed, "permutations")
    rng = np.random.default_rng([seed, len(region)])
    # What a language gains on an image over all languages: regions' own difficulty is gone before they are permuted.
    centred = values - values.mean(axis=0)
    permuted = np.stack([interaction(_means(centred, rng.permutation(region))) for _ in range(n_permutations)])
    both, all_permuted = np.append(value, value.mean()), np.column_stack([permuted, permuted.mean(axis=1)])
    p = ((np.abs(all_permuted) >= np.abs(both) * (1 - 1e-9)).sum(axis=0) + 1) / (n_permutations + 1)
    table = {"lang": langs, "value": value, "ci_low": low, "ci_high": high, "p": p[:-1], "p_holm": tests.holm(p[:-1])}
    low, high = bootstrap.percentile_interval(drawn.mean(axis=1), level, int(counts.min()))
    over = bootstrap.mean_interval(value, n_resamples=n_resamples, level=level, seed=seed).iloc[0]
    whole = [
        [MEAN, both[-1], float(low), float(high), p[-1], np.nan, len(region)],
        [MEAN_LANGUAGES, both[-1], over["ci_low"], over["ci_high"], np.nan, np.nan, len(region)],
    ]
    columns = ["lang", "value", "ci_low", "ci_high", "p", "p_holm", "n"]
    return pd.concat([pd.DataFrame(table).assign(n=counts), pd.DataFrame(whole, columns=columns)], ignore_index=True)
