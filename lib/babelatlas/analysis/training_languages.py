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

import numpy as np
import pandas as pd

from babelatlas.analysis import coverage
from babelatlas.base import published
from babelatlas.base.errors import InputError
from babelatlas.models import registry as models
from babelatlas.stats import bootstrap, multiple_comparisons

THREE = {"very low": "low", "low": "low", "mid": "mid", "high": "high"}


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
    known = table["lang"].isin(coverage.tokens()["lang"]) & (table["lang"] != "en")
    return table[known].assign(group=table["group"].map(THREE)).reset_index(drop=True)


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
    return table[
        table.groupby("model")["lang"].transform("size") >= fewest
    ].reset_index(drop=True)


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

    >>> table = pd.DataFrame({"model": "a", "group": "low", "lang": list("abcd"), "taught": [True, True, False, False]})
    >>> differences(table.assign(value=[0.4, 0.5, 0.1, 0.2]))[["value", "p"]].round(3).to_numpy().tolist()
    [[0.3, 0.333]]
    """
    by, rows = list(by), []
    if table.duplicated([*by, "lang"]).any():
        raise InputError(
            "A comparison of training languages needs each language once for each"
            f" {', '.join(by)}."
        )
    for key, part in table.groupby(by, sort=False):
        layers = [layer for _, layer in part.groupby(strata)] if strata else [part]
        mixed = [_sides(layer) for layer in layers if 0 < layer["taught"].mean() < 1]
        if mixed:
            found = _compared(mixed, kin, n_resamples, n_permutations, seed)
        else:
            sides = [side["value"] for side in _sides(part)]
            found = [
                *(side.mean() for side in sides),
                *[np.nan] * 4,
                *map(len, sides),
                np.nan,
            ]
        rows.append([*key, *found])
    columns = [
        *by,
        "taught",
        "other",
        "value",
        "ci_low",
        "ci_high",
        "p",
        "n_taught",
        "n_other",
        "p_family",
    ]
    found = pd.DataFrame(rows, columns=columns)
    return multiple_comparisons.with_holm(
        found if kin else found.drop(columns="p_family")
    )


def _sides(part: pd.DataFrame) -> list[pd.DataFrame]:
    flags = part["taught"].astype(bool)
    return [part[flags], part[~flags]]


def _compared(
    mixed: list[list[pd.DataFrame]],
    kin,
    n_resamples: int,
    n_permutations: int,
    seed: int,
) -> list:
    """Return two means, their difference, ci_low, ci_high, p, n_taught, n_other,
    p_family over strata with both.
    """
    sides = [[side["value"].to_numpy(float) for side in pair] for pair in mixed]
    sizes = np.array([len(taught) for taught, _ in sides], float)
    share = sizes / sizes.sum()
    means = [
        sum(weight * pair[k].mean() for weight, pair in zip(share, sides, strict=True))
        for k in (0, 1)
    ]
    low = high = p_family = np.nan
    if all(any(len(pair[k]) > 1 for pair in sides) for k in (0, 1)):
        factors = [sign * weight for weight in share for sign in (1, -1)]
        samples = [side for pair in sides for side in pair]
        _, low, high = bootstrap.sum_of_means(samples, factors, n_resamples, seed=seed)
    p = _permuted(sides, share, means[0] - means[1], n_permutations, seed)
    homes = (
        [[side["lang"].map(kin).to_numpy(str) for side in pair] for pair in mixed]
        if kin
        else []
    )
    if any(np.isin(*pair).any() for pair in homes):
        p_family = _permuted(
            sides, share, means[0] - means[1], n_permutations, seed, homes
        )
    return [
        *means,
        means[0] - means[1],
        low,
        high,
        p,
        *(sum(len(pair[k]) for pair in sides) for k in (0, 1)),
        p_family,
    ]


def _permuted(
    sides: list,
    share: np.ndarray,
    observed: float,
    n_permutations: int,
    seed: int,
    homes: Sequence = (),
) -> float:
    """Return the two-sided p value of a difference when the flags are permuted in each
    stratum, or in its `homes`.
    """
    bound = abs(observed) * (1 - 1e-9)
    if (
        not homes
        and len(sides) == 1
        and comb(sum(map(len, sides[0])), len(sides[0][0])) <= n_permutations
    ):
        values, few = (
            np.concatenate(sides[0]),
            min(map(len, sides[0])),
        )  # scipy's test refuses a side of one value
        sums = values[np.array(list(combinations(range(len(values)), few)))].sum(axis=1)
        gaps = sums / few - (values.sum() - sums) / (len(values) - few)
        return float((np.abs(gaps) >= bound).mean())
    rng = np.random.default_rng([seed, n_permutations])
    gaps = np.zeros(n_permutations)
    for number, (weight, (taught, other)) in enumerate(zip(share, sides, strict=True)):
        values, n = np.concatenate([taught, other]), len(taught)
        order = rng.permuted(
            np.tile(np.arange(len(values)), (n_permutations, 1)), axis=1
        )
        # family by family, in random order within each; the flags in the same order of
        # families
        if homes:
            home = np.unique(np.concatenate(homes[number]), return_inverse=True)[1]
            order = np.take_along_axis(
                order, home[order].argsort(axis=1, kind="stable"), axis=1
            )
            order = order[:, home.argsort(kind="stable") < n]
        sums = values[order[:, :n]].sum(axis=1)
        gaps += weight * (sums / n - (values.sum() - sums) / (len(values) - n))
    # A random test counts the observed assignment itself, so that p is never 0.
    return float(((np.abs(gaps) >= bound).sum() + 1) / (n_permutations + 1))
