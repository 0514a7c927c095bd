"""Home advantage: does a model do better in a language on images from where it is
spoken?

Crossmodal-3600 selects 100 images for each of its 36 languages by where they were taken
(Thapliyal et al. 2022, Section 2.2), and people caption all images in all languages, so
that a model's score in a language on images of its region can be compared with that on
others. A language may be easy, and so may a region's images. The advantage is what is
left without both:

    (home - away) in the language - mean of the same difference over the other languages.

Nothing that is added to all scores of a language, or to all on a region's images,
changes it. Intervals resample the images within each region. The test permutes the
images' regions: without an advantage, by how much an image is easier in one language
than in the others does not depend on where it was taken.
"""

import numpy as np
import pandas as pd

from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap, checks, multiple_comparisons

MEAN = "mean"  # the row of `advantages` after those of the languages
COLUMNS = ["lang", "home", "away", "value", "ci_low", "ci_high", "p", "p_holm", "n"]


def has_homes(scores: pd.DataFrame) -> bool:
    """Return whether two languages have scores and images of their own, each two of
    them or more; `scores` as for `advantages`.
    """
    of_languages = scores[scores["region"].isin(scores["lang"])]
    per_region = of_languages.groupby("region")["image"].nunique()
    return bool((per_region > 1).sum() > 1)


def advantages(
    scores: pd.DataFrame,
    n_resamples: int = 2000,
    n_permutations: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the home advantage of each language and their mean: `COLUMNS`.

    `scores`: lang, image, region and value of one model, in any unit; a region is named
    as its language. home, away: the mean score on the images of the language's region,
    and on those of the others; n: images at home, in the last row, `MEAN`, all. p:
    two-sided; Holm's correction is over the languages. Languages without images of
    their own, and images of languages without scores, are left out. Raises InputError
    for fewer than two such languages, a region with one image, and an image without a
    score in some language.
    """
    values, region, langs = _cells(scores)
    counts = np.bincount(region)
    means = _region_means(values, region)
    found = _interaction(means)
    drawn = _interaction(_resampled(values, region, n_resamples, seed))
    low, high = bootstrap.percentile_interval(drawn, n_clusters=int(counts.min()))
    ends = bootstrap.percentile_interval(
        drawn.mean(axis=1), n_clusters=int(counts.min())
    )

    # What a language gains on an image over all languages: the region's own difficulty
    # is gone before regions are permuted.
    centred = values - values.mean(axis=0)
    rng = np.random.default_rng([seed, len(region)])
    permuted = np.stack(
        [
            _interaction(_region_means(centred, rng.permutation(region)))
            for _ in range(n_permutations)
        ]
    )
    p = _p(found, permuted)
    k = len(langs)
    home = np.diagonal(means)
    away = (means.sum(axis=1) - home) / (k - 1)
    rows = pd.DataFrame({"lang": langs, "home": home, "away": away, "value": found})
    rows = rows.assign(
        ci_low=low, ci_high=high, p=p, p_holm=multiple_comparisons.holm(p), n=counts
    )
    whole = {
        "lang": MEAN,
        "home": home.mean(),
        "away": away.mean(),
        "value": found.mean(),
        "ci_low": float(ends[0]),
        "ci_high": float(ends[1]),
        "p": float(_p(found.mean(), permuted.mean(axis=1))),
        "p_holm": np.nan,
        "n": len(region),
    }
    return pd.concat([rows, pd.DataFrame([whole])], ignore_index=True)[COLUMNS]


def _p(found, permuted: np.ndarray) -> np.ndarray:
    as_extreme = np.abs(permuted) >= np.abs(found) * (1 - 1e-9)
    return (as_extreme.sum(axis=0) + 1) / (len(permuted) + 1)


def _cells(scores: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return scores as an array (languages, images), the place of each image's region
    among the languages, and these.
    """
    checks.check_numbers(scores, ["value"], ["lang", "image", "region"])
    langs = sorted(set(scores["lang"]) & set(scores["region"]))
    if len(langs) < 2:
        raise InputError(
            "A home advantage needs two languages with scores and images of their own,"
            f" got {len(langs)}: name regions by codes of languages."
        )
    used = scores[scores["lang"].isin(langs) & scores["region"].isin(langs)]
    region = used.drop_duplicates("image").set_index("image")["region"].sort_index()
    if (region.value_counts() < 2).any():
        raise InputError(
            "A home advantage needs two images of each region, to see how much images"
            " differ: give more."
        )
    cells = used.pivot(index="lang", columns="image", values="value")
    gaps = np.argwhere(cells.isna().to_numpy())
    if len(gaps):
        lang, image = cells.index[gaps[0, 0]], cells.columns[gaps[0, 1]]
        raise InputError(
            f"{len(gaps):,} pairs of an image and a language have no score, the first"
            f" {image!r} in {lang!r}: leave out images or languages with gaps."
        )
    return cells.to_numpy(), np.searchsorted(langs, region.to_numpy()), langs


def _region_means(values: np.ndarray, region: np.ndarray) -> np.ndarray:
    """Return the mean of each row of `values` on the images of each region: (languages,
    regions).
    """
    inside = region[:, None] == np.arange(region.max() + 1)
    return values @ inside / inside.sum(axis=0)


def _interaction(means: np.ndarray) -> np.ndarray:
    """Return the advantage of each language from means (…, languages, regions), both in
    one order.

    The difference of differences is the interaction on the diagonal, times (k / (k -
    1))² for k languages.
    """
    k = means.shape[-1]
    home = np.diagonal(means, axis1=-2, axis2=-1)
    rows, columns = means.mean(axis=-1), means.mean(axis=-2)
    whole = means.mean(axis=(-2, -1))[..., None]
    return (home - rows - columns + whole) * (k / (k - 1)) ** 2


def _resampled(
    values: np.ndarray, region: np.ndarray, n_resamples: int, seed: int
) -> np.ndarray:
    """Return the means of resamples of the images within each region, (resamples,
    languages, regions).
    """
    counts = np.bincount(region)
    result = np.empty((n_resamples, len(values), len(counts)))
    for place, count in enumerate(counts):
        drawn = bootstrap.resample_weights(count, n_resamples, seed + place)
        result[:, :, place] = drawn @ values[:, region == place].T / count
    return result
