"""People's comparisons of two models' captions, and how scores agree with them
(Thapliyal et al. 2022, Section 3.3, Table 6).

Raters see the captions of two models side by side and say on a scale of seven points by
how much the second is better. The gain of a model over another is the share of images
on which a majority of raters find it better, less the share on which a majority find it
worse. A score is as good as its differences between models agree with these gains.
"""

import os

import numpy as np
import pandas as pd

from babelatlas.base import own_tables, tables
from babelatlas.base.errors import InputError, near
from babelatlas.stats import bootstrap, correlation, permutation

# The scale of Section 3.3.
SCALE = {
    "MUCH-BETTER": 3,
    "BETTER": 2,
    "SLIGHTLY-BETTER": 1,
    "SIMILAR": 0,
    "SLIGHTLY-WORSE": -1,
    "WORSE": -2,
    "MUCH-WORSE": -3,
}
PAIR = ["dataset", "lang", "base", "model"]
GAIN, DIFFERENCE = "gain", "difference"
AGREEMENT = ["captions", "counted", "method", "value", "ci_low", "ci_high", "n", "over"]
# How often a comparison counts: with its models in either order, or as it was made.
BOTH, ONCE = "both directions", "once"


def read_comparisons(path: str | os.PathLike, dataset: str = "") -> pd.DataFrame:
    """Return raters' comparisons, a `comparisons` table, from a CSV file: lang, image,
    base, model, rater, preference, and dataset, unless all are of `dataset`.

    A preference is one of `SCALE` or its number. Raises InputError for a file that
    cannot be read, an unknown language or preference, a model that is compared with
    itself, and an image that one rater compares twice.
    """
    needed = ["lang", "image", "base", "model", "rater", "preference"]
    needed += [] if dataset else ["dataset"]
    table = own_tables.read(path, "comparisons", needed)
    table = table.assign(lang=own_tables.languages_of(table, "lang", path))
    if "dataset" not in table:
        table["dataset"] = dataset
    words = table["preference"].str.strip().str.upper().str.replace(" ", "-")
    numbers = {str(number): number for number in SCALE.values()}
    signed = {f"+{number}": number for number in (1, 2, 3)}
    preferences = words.map(SCALE | numbers | signed)
    _refuse(table, preferences.isna(), "preference", path)
    _refuse(table, table["base"] == table["model"], "model", path)
    table = table.assign(preference=preferences.astype(int))
    columns = list(tables.SCHEMAS["comparisons"][0])
    return tables.check(table[columns], "comparisons", tables.locate(path))


def _refuse(table: pd.DataFrame, rows: pd.Series, column: str, path) -> None:
    """Raise InputError for the first of some rows, whose value in a column is wrong."""
    if not rows.any():
        return
    row = int(rows.to_numpy().argmax())
    value = table[column].iloc[row]
    where = f"In {path}, {own_tables.place(table, row)} has {value!r} as its {column}"
    if column == "model":
        raise InputError(f"{where}, which is its base, too: name another base.")
    raise InputError(
        f"{where}, neither a whole number from -3 to 3 nor a word of the scale:"
        f" {near(value.strip().upper(), SCALE)}"
    )


def gains(
    comparisons: pd.DataFrame, n_resamples: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Return the gain of each model over its base in each language: `PAIR`, wins,
    losses, gain, ci_low, ci_high, n (images).

    `comparisons`: a table of this schema, of which each image of a pair has one row for
    each rater. wins, losses and gain = wins - losses are fractions of the images; the
    interval resamples images. An image on which no majority says better or worse
    counts as neither.

    >>> rows = {"preference": [1, 2, -1, -3, -1, 0], "image": list("aaabbb")}
    >>> rows = pd.DataFrame(rows).assign(rater=list("xyzxyz"), lang="en")
    >>> found = gains(rows.assign(dataset="d", base="p", model="q"))
    >>> found[["wins", "losses", "gain"]].to_numpy().tolist()
    [[0.5, 0.5, 0.0]]
    """
    signs = comparisons.assign(
        better=comparisons["preference"] > 0, worse=comparisons["preference"] < 0
    )
    shares = signs.groupby([*PAIR, "image"])[["better", "worse"]].mean().reset_index()
    wins, losses = shares["better"] > 0.5, shares["worse"] > 0.5
    outcomes = shares[[*PAIR, "image"]].assign(
        wins=wins, losses=losses, gain=wins.astype(int) - losses.astype(int)
    )
    found = bootstrap.group_means(
        outcomes, PAIR, GAIN, "image", n_resamples=n_resamples, seed=seed
    ).rename(columns={"value": GAIN})
    counts = outcomes.groupby(PAIR, as_index=False)[["wins", "losses"]].mean()
    found = found.merge(counts, on=PAIR)
    return found[[*PAIR, "wins", "losses", GAIN, "ci_low", "ci_high", "n"]]


def differences(
    scores: pd.DataFrame, n_resamples: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Return how much higher each model's mean score is than each other's, on the
    images that both have a caption for: captions (the references), `PAIR`, difference,
    ci_low, ci_high, p, p_holm, n (images).

    `scores`: a `caption_scores` table. A pair is there once, its names in order. Paired
    bootstrap and permutation test over images.
    """
    key = ["captions", "dataset", "lang", "metric", "tokenization"]
    tested = permutation.paired_difference(
        scores, unit="image", by=key, n_resamples=n_resamples, seed=seed
    )
    tested = tested[tested["n"] > 0]
    names = {"first": "model", "second": "base", "value": DIFFERENCE}
    return tested.rename(columns=names).reset_index(drop=True)


def both_ways(table: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Return a table of comparisons with each a second time, its models exchanged and
    the signs of `columns` turned.
    """
    turned = table.rename(columns={"base": "model", "model": "base"})
    turned = turned.assign(**-table[columns])
    return pd.concat([table, turned], ignore_index=True)


def joined(gained: pd.DataFrame, compared: pd.DataFrame) -> pd.DataFrame:
    """Return gains next to differences of scores: captions, `PAIR`, gain, difference.

    `gained`: of `gains`; `compared`: of `differences`, in either order of the models.
    """
    both = both_ways(compared[["captions", *PAIR, DIFFERENCE]], [DIFFERENCE])
    return gained[[*PAIR, GAIN]].merge(both, on=PAIR)


def agreement(
    rows: pd.DataFrame, n_resamples: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Return how differences of scores correlate with gains, for each set of references:
    captions, counted, method, value, ci_low, ci_high, n (comparisons), over.

    `rows`: of `joined`. Pearson's, Spearman's and Kendall's correlation, counted in both
    directions, as Table 6 has it, and once. The interval resamples languages, or, where
    there is one only, comparisons; `over` says which. No row for references with fewer
    than three comparisons, or whose values do not vary.
    """
    parts = [pd.DataFrame(columns=AGREEMENT)]
    for name, part in rows.groupby("captions", sort=True):
        over = "lang" if len(set(part["lang"])) > 1 else "comparison"
        part = part.assign(comparison=np.arange(len(part)).astype(str))
        counted = {BOTH: both_ways(part, [GAIN, DIFFERENCE]), ONCE: part}
        how = {"methods": correlation.METHODS, "n_resamples": n_resamples, "seed": seed}
        for direction, points in counted.items():
            varies = all(len(set(points[name])) > 1 for name in (GAIN, DIFFERENCE))
            if len(part) < 3 or not varies:
                continue
            found = correlation.correlate(points, GAIN, DIFFERENCE, over, **how)
            facts = {"captions": name, "counted": direction, "n": len(part)}
            parts.append(found.assign(**facts, over=over)[AGREEMENT])
    return pd.concat(parts[1:] or parts, ignore_index=True)
