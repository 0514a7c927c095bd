"""In how many languages an accuracy reaches a threshold, with intervals."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from babelatlas.stats import bootstrap
from babelatlas.stats.checks import check_columns, check_numbers


def languages_above(
    scores: pd.DataFrame,
    thresholds: Sequence[float],
    by: str = "model",
    n_resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    kin: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Return in how many languages an accuracy reaches each threshold: by, threshold,
    value, ci_low, ci_high.

    `scores` has one row for each `by` and language: value (fraction) and n (images).
    The interval says how far the count depends on the images: each accuracy is drawn
    from the binomial distribution of its n images. With `kin`, language -> family,
    family_low and family_high say how far it depends on the languages: families are
    resampled.

    >>> two = pd.DataFrame({"model": "a", "lang": ["de", "si"], "value": [1.0, 0.0], "n": 50})
    >>> languages_above(two, [0.5]).value.tolist()
    [1]
    """
    check_columns(scores, by=by, columns=["value", "n", *(["lang"] if kin else [])])
    check_numbers(scores, ["value", "n"], [by])
    rows = []
    for name, part in scores.groupby(by, sort=False):
        n_images, accuracy = part["n"].to_numpy(), part["value"].to_numpy()
        drawn = _drawn_accuracies(accuracy, n_images, n_resamples, seed)
        for threshold in thresholds:
            reached = accuracy >= threshold
            low, high = bootstrap.percentile_interval(
                (drawn >= threshold).sum(axis=1), level
            )
            row = {
                by: name,
                "threshold": threshold,
                "value": int(reached.sum()),
                "ci_low": float(low),
                "ci_high": float(high),
            }
            if kin:
                row["family_low"], row["family_high"] = _interval_over_families(
                    reached, part["lang"].map(kin), n_resamples, level, seed
                )
            rows.append(row)
    columns = [by, "threshold", "value", "ci_low", "ci_high"]
    if kin:
        columns += ["family_low", "family_high"]
    return pd.DataFrame(rows, columns=columns)


def _drawn_accuracies(
    accuracy: np.ndarray, n_images: np.ndarray, n_resamples: int, seed: int
) -> np.ndarray:
    """Return accuracies with other images of the same number: (resamples, languages)."""
    generator = np.random.default_rng([seed, len(accuracy)])
    n_correct = generator.binomial(
        n_images, accuracy.clip(0, 1), size=(n_resamples, len(accuracy))
    )
    return n_correct / n_images


def _interval_over_families(
    reached: np.ndarray,
    families: pd.Series,
    n_resamples: int,
    level: float,
    seed: int,
) -> tuple[float, float]:
    """Return the interval of a number of languages with their families resampled, NaN
    where these are one alone.
    """
    if families.nunique() < 2:
        return np.nan, np.nan
    share = bootstrap.mean_interval(reached, families, n_resamples, level, seed).iloc[0]
    return len(reached) * share["ci_low"], len(reached) * share["ci_high"]
