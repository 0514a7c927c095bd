"""Accuracy in the training languages of a model, compared with its accuracy in other
languages.

A distilled model should be better in the languages of its training. Whether it is can
be asked within groups of languages that are alike in other respects, and against a
control: a model trained on these languages no more than on others, whose difference
between the same languages shows what else sets them apart (Geigle et al. 2024, Table
7). Values are fractions.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
import pandas as pd

from babelatlas.analysis import coverage
from babelatlas.base import published
from babelatlas.base.errors import InputError
from babelatlas.models import registry as models
from babelatlas.stats import bootstrap, multiple_comparisons

THREE = {"very low": "low", "low": "low", "mid": "mid", "high": "high"}


class _Stratum(NamedTuple):
    """The rows of a stratum that are flagged, and the others."""

    taught: pd.DataFrame
    other: pd.DataFrame


def three_groups(source: str = "geigle2024") -> pd.DataFrame:
    """Return the languages of XLM-R's training text in three groups by classes: columns
    lang, group, classes.

    The groups of Table 7 of Geigle et al. (2024): its numbers of languages are met when
    the very low group counts as low and the languages that CC-100 does not have (the
    eight added by hand) are left out.

    >>> three_groups().group.value_counts().to_dict()
    {'low': 41, 'mid': 35, 'high': 16}
    """
    table = published.groups(source)
    in_cc100 = table["lang"].isin(coverage.tokens()["lang"])
    table = table[in_cc100 & (table["lang"] != "en")]
    return table.assign(group=table["group"].map(THREE)).reset_index(drop=True)


def published_lists(fewest: int = 2) -> pd.DataFrame:
    """Return the languages that the authors of the paper's models list: columns model
    (as the paper names it), lang.

    Of models whose authors list at least `fewest` languages (1: those that know English
    alone, too): no list, no row.
    """
    rows = [
        (entry.paper_row, lang)
        for entry in models.MODELS
        if entry.paper_row
        for lang in entry.languages
    ]
    table = pd.DataFrame(rows, columns=["model", "lang"])
    n_languages = table.groupby("model")["lang"].transform("size")
    return table[n_languages >= fewest].reset_index(drop=True)


def against(scores: pd.DataFrame, control: pd.DataFrame) -> pd.DataFrame:
    """Return `scores` less the control's value in the same language, for the languages
    that the control has.

    `control`: lang and value, one row for each language. What `differences` then gives
    is a difference in differences.
    """
    both = scores[scores["lang"].isin(control["lang"])]
    level = both["lang"].map(control.set_index("lang")["value"])
    return both.assign(value=both["value"] - level).reset_index(drop=True)


def differences(
    table: pd.DataFrame,
    by: Sequence[str] = ("model", "group"),
    strata: str = "",
    n_resamples: int = 2000,
    n_permutations: int = 10_000,
    seed: int = 0,
    kin: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Return the mean of flagged and of other rows and their difference, for each
    combination of `by`.

    `table`: lang, `taught` (true or false: the flag), value and the columns `by`, each
    language once for each of these. Columns: by, `taught` (mean of the flagged), other,
    value (the first minus the second), ci_low, ci_high, p, p_holm, n_taught, n_other.
    Where `strata` names a column the difference is taken within each stratum that has
    both kinds and averaged with the numbers of flagged rows as weights; means and
    numbers then are of these strata alone. The interval resamples flagged and other
    rows within each stratum (`bootstrap.sum_of_means`); none where no stratum has two
    rows on a side. p is of a two-sided permutation test, which permutes the flags
    within each stratum: exact where there is one stratum and at most `n_permutations`
    ways. `kin`, the family of each language, adds p_family and p_family_holm: flags are
    permuted only among languages of one family and stratum (NaN where no family has
    both kinds). Where no stratum has both kinds the difference and what follows are
    NaN. Raises InputError for a language that occurs twice.

    >>> table = pd.DataFrame({"model": "a", "group": "low", "lang": list("abcd")})
    >>> table["taught"] = [True, True, False, False]
    >>> compared = differences(table.assign(value=[0.4, 0.5, 0.1, 0.2]))
    >>> compared[["value", "p"]].round(3).to_numpy().tolist()
    [[0.3, 0.333]]
    """
    by = list(by)
    if table.duplicated([*by, "lang"]).any():
        raise InputError(
            "A comparison of training languages needs each language once for each"
            f" {', '.join(by)}."
        )
    rows = []
    for key, part in table.groupby(by, sort=False):
        layers = [layer for _, layer in part.groupby(strata)] if strata else [part]
        mixed = [_stratum(layer) for layer in layers if 0 < layer["taught"].mean() < 1]
        if mixed:
            row = _compared(mixed, kin, n_resamples, n_permutations, seed)
        else:
            row = _one_sided(_stratum(part))
        rows.append(dict(zip(by, key, strict=True)) | row)

    columns = [*by, "taught", "other", "value", "ci_low", "ci_high", "p"]
    columns += ["n_taught", "n_other"]
    columns += ["p_family"] if kin else []
    return multiple_comparisons.with_holm(pd.DataFrame(rows, columns=columns))


def _stratum(part: pd.DataFrame) -> _Stratum:
    flags = part["taught"].astype(bool)
    return _Stratum(part[flags], part[~flags])


def _one_sided(stratum: _Stratum) -> dict[str, float]:
    """Return the means and numbers of rows that are all flagged, or none."""
    return {
        "taught": stratum.taught["value"].mean(),
        "other": stratum.other["value"].mean(),
        "n_taught": len(stratum.taught),
        "n_other": len(stratum.other),
    }


def _compared(
    strata: list[_Stratum],
    kin: Mapping[str, str] | None,
    n_resamples: int,
    n_permutations: int,
    seed: int,
) -> dict[str, float]:
    """Return the comparison over strata that have both kinds of rows, by column."""
    values = [
        (
            stratum.taught["value"].to_numpy(float),
            stratum.other["value"].to_numpy(float),
        )
        for stratum in strata
    ]
    sizes = np.array([len(taught) for taught, _ in values], float)
    weights = sizes / sizes.sum()
    taught_mean = sum(
        weight * taught.mean()
        for weight, (taught, _) in zip(weights, values, strict=True)
    )
    other_mean = sum(
        weight * other.mean()
        for weight, (_, other) in zip(weights, values, strict=True)
    )
    difference = taught_mean - other_mean
    low, high = _interval(values, weights, n_resamples, seed)

    p_family = np.nan
    families = _families(strata, kin) if kin else []
    if any(np.isin(taught, other).any() for taught, other in families):
        p_family = _random_p(
            values, weights, difference, n_permutations, seed, families
        )
    return {
        "taught": taught_mean,
        "other": other_mean,
        "value": difference,
        "ci_low": low,
        "ci_high": high,
        "p": _permutation_p(values, weights, difference, n_permutations, seed),
        "n_taught": sum(len(taught) for taught, _ in values),
        "n_other": sum(len(other) for _, other in values),
        "p_family": p_family,
    }


def _families(
    strata: list[_Stratum], kin: Mapping[str, str]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the families of the flagged and of the other languages, by stratum."""
    return [
        (
            stratum.taught["lang"].map(kin).to_numpy(str),
            stratum.other["lang"].map(kin).to_numpy(str),
        )
        for stratum in strata
    ]


def _interval(
    values: list[tuple[np.ndarray, np.ndarray]],
    weights: np.ndarray,
    n_resamples: int,
    seed: int,
) -> tuple[float, float]:
    """Return the ends of the difference's interval; NaN where no stratum has two rows
    on a side.
    """
    several_taught = any(len(taught) > 1 for taught, _ in values)
    several_others = any(len(other) > 1 for _, other in values)
    if not (several_taught and several_others):
        return np.nan, np.nan
    samples, factors = [], []
    for weight, (taught, other) in zip(weights, values, strict=True):
        samples += [taught, other]
        factors += [weight, -weight]
    _, low, high = bootstrap.sum_of_means(samples, factors, n_resamples, seed=seed)
    return low, high


def _permutation_p(
    values: list[tuple[np.ndarray, np.ndarray]],
    weights: np.ndarray,
    observed: float,
    n_permutations: int,
    seed: int,
) -> float:
    """Return the two-sided p value of a difference when the flags are permuted in each
    stratum: exact where there are few ways.
    """
    if len(values) == 1:
        taught, other = values[0]
        n_ways = comb(len(taught) + len(other), len(taught))
        if n_ways <= n_permutations:
            return _exact_p(taught, other, observed)
    return _random_p(values, weights, observed, n_permutations, seed)


def _exact_p(taught: np.ndarray, other: np.ndarray, observed: float) -> float:
    """Return the share of all ways to flag as many rows whose difference is as large.

    Chosen is the smaller side, since the difference is two-sided. (The permutation test
    of scipy refuses a side of one value.)
    """
    values = np.concatenate([taught, other])
    n_chosen = min(len(taught), len(other))
    ways = np.array(list(combinations(range(len(values)), n_chosen)))
    gaps = _gaps(values[ways].sum(axis=1), values, n_chosen)
    return float((np.abs(gaps) >= _bound(observed)).mean())


def _random_p(
    values: list[tuple[np.ndarray, np.ndarray]],
    weights: np.ndarray,
    observed: float,
    n_permutations: int,
    seed: int,
    families: Sequence[tuple[np.ndarray, np.ndarray]] = (),
) -> float:
    """Return the two-sided p value of a difference under random permutations of the
    flags in each stratum, or in each of its families.

    The observed assignment counts as one of them, so that p is never 0.
    """
    rng = np.random.default_rng([seed, n_permutations])
    gaps = np.zeros(n_permutations)
    for number, (weight, (taught, other)) in enumerate(
        zip(weights, values, strict=True)
    ):
        both = np.concatenate([taught, other])
        places = np.tile(np.arange(len(both)), (n_permutations, 1))
        order = rng.permuted(places, axis=1)
        if families:
            family_names = np.concatenate(families[number])
            chosen = _within_families(order, family_names, len(taught))
        else:
            chosen = order[:, : len(taught)]
        gaps += weight * _gaps(both[chosen].sum(axis=1), both, len(taught))
    n_as_large = (np.abs(gaps) >= _bound(observed)).sum()
    return float((n_as_large + 1) / (n_permutations + 1))


def _within_families(
    order: np.ndarray, family_names: np.ndarray, n_taught: int
) -> np.ndarray:
    """Return the rows that are flagged in each permutation, as many of each family as
    among the first `n_taught` rows.

    The rows of a permutation are sorted by family, in random order within each; so are
    the flags, which then fall on as many rows of the family.
    """
    family = np.unique(family_names, return_inverse=True)[1]
    by_family = family[order].argsort(axis=1, kind="stable")
    sorted_order = np.take_along_axis(order, by_family, axis=1)
    is_flagged = family.argsort(kind="stable") < n_taught
    return sorted_order[:, is_flagged]


def _gaps(sums: np.ndarray, values: np.ndarray, n_chosen: int) -> np.ndarray:
    """Return the mean of the chosen values minus that of the others, from the sums of
    the chosen ones.
    """
    others = (values.sum() - sums) / (len(values) - n_chosen)
    return sums / n_chosen - others


def _bound(observed: float) -> float:
    """Return from where on a difference is as large as the observed one, allowing for
    rounding.
    """
    return abs(observed) * (1 - 1e-9)
