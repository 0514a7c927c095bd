"""Do two models err on the same items: the intersection over union (IoU) of their
errors, what chance gives, ensembles.

Errors are arrays with the axes item and sense.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import disambiguation
from babelatlas.stats import bootstrap, tests

# Of a table of costs that are combined at once: what is computed on the way takes
# several times their memory.
ROWS = 1_000_000


def errors(
    table: pd.DataFrame,
) -> Iterator[tuple[tuple[str, int, str, str], np.ndarray, dict[str, np.ndarray]]]:
    """Yield (model, replicate, data set, language), its items, sorted, and its errors
    by metric: bool (item, sense).

    The metrics are "TC" and "IC". An error is a triple that is not classified
    correctly, ties among them. `table` has the schema `disambiguation`.
    """
    for key, part in disambiguation.units(table):
        part, logarithms = disambiguation.comparable(part)
        items, costs = disambiguation.cost_grid(part, disambiguation.ORIGINALS)
        yield (
            key,
            items,
            {
                "TC": ~disambiguation.tc(costs, logarithms),
                "IC": ~disambiguation.ic(costs, logarithms),
            },
        )


def mean_overlap(
    errors: np.ndarray, pairs: pd.DataFrame, n_resamples: int = 1000, seed: int = 0
) -> pd.DataFrame:
    """Return how far errors overlap, as means over kinds of pairs, next to what
    independent errors would give.

    `errors` (cell, item, sense): 1 for an error, 0 for none, NaN where a cell (a model
    in a language, say) has no such item. `pairs`, one row for each two cells: first,
    second (places in `errors`) and kind. The overlap of two cells is the intersection
    over the union of their errors, on the items that both have; the expected one takes
    the intersection that errors of the same frequency in each sense have by chance.
    Columns: kind, value, ci_low, ci_high, expected, excess, excess_low, excess_high, p,
    p_holm, pairs (those that err at all), n (items). Intervals resample items, both
    senses together, the same for all cells. p (two-sided) is twice the share of
    resamples in which the excess has the other sign, at least 2 / (n_resamples + 1),
    made as careful as the interval by `expanded_p`; p_holm is corrected for all kinds.
    Kinds in order of appearance; those in which no pair errs have NaN.

    >>> one = [[1, 0], [0, 1], [0, 0]]
    >>> pairs = pd.DataFrame({"first": [0], "second": [1], "kind": ["same"]})
    >>> mean_overlap(np.array([one, one]), pairs)[["value", "expected"]].round(2).to_numpy().tolist()
    [[1.0, 0.2]]
    """
    known = np.isfinite(errors).all(axis=2)
    wrong = np.nan_to_num(errors)
    n = errors.shape[1]
    # The first row is the items as they are, the others are resamples.
    drawn = np.vstack([np.ones(n), bootstrap.resample_weights(n, n_resamples, seed)])
    columns = [
        "kind",
        "value",
        "ci_low",
        "ci_high",
        "expected",
        "excess",
        "excess_low",
        "excess_high",
        "p",
        "p_holm",
    ]
    rows = []
    for kind, part in pairs.groupby("kind", sort=False):
        value, expected, erring = _resampled_overlap(
            wrong, known, drawn, part[["first", "second"]].to_numpy()
        )
        excess = value - expected
        resampled = excess[1:][np.isfinite(excess[1:])]
        row = {
            "kind": kind,
            "value": value[0],
            "expected": expected[0],
            "excess": excess[0],
            "pairs": erring,
            "n": n,
        }
        if erring and len(resampled):
            fewer = min((resampled <= 1e-9).sum(), (resampled >= -1e-9).sum())
            p = min(1.0, 2 * (fewer + 1) / (len(resampled) + 1))
            row["ci_low"], row["ci_high"] = bootstrap.percentile_interval(
                value[1:], n_clusters=n
            )
            row["excess_low"], row["excess_high"] = bootstrap.percentile_interval(
                resampled, n_clusters=n
            )
            row["p"] = bootstrap.expanded_p(p, n)
        rows.append(row)
    result = pd.DataFrame(rows, columns=[*columns, "pairs", "n"])
    return result.assign(p_holm=tests.holm(result["p"]))


def _resampled_overlap(
    wrong: np.ndarray, known: np.ndarray, drawn: np.ndarray, pairs: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return means over pairs that err, as observed and by chance, by resample; how
    many pairs err in the first row.
    """
    sums, counts, erring = np.zeros((2, len(drawn))), np.zeros(len(drawn)), 0
    for start in range(
        0, len(pairs), 500
    ):  # some hundred at a time: a pair takes a number for each resample
        one, other = pairs[start : start + 500].T
        both = known[one] & known[other]
        x, y = wrong[one] * both[:, :, None], wrong[other] * both[:, :, None]
        sizes, chance = np.zeros((2, len(drawn), len(one)))
        with np.errstate(invalid="ignore", divide="ignore"):
            for sense in range(wrong.shape[2]):
                one_size, other_size = (
                    drawn @ x[:, :, sense].T,
                    drawn @ y[:, :, sense].T,
                )
                sizes += one_size + other_size
                chance += np.nan_to_num(one_size * other_size / (drawn @ both.T))
            overlaps = np.stack(
                [
                    shared / (sizes - shared)
                    for shared in (drawn @ (x * y).sum(axis=2).T, chance)
                ]
            )
        some = sizes > 0  # pairs that err at all
        sums += np.where(some, overlaps, 0).sum(axis=2)
        counts += some.sum(axis=1)
        erring += int(some[0].sum())
    value, expected = np.divide(
        sums, counts, out=np.full_like(sums, np.nan), where=counts > 0
    )
    return value, expected, erring


def ensemble(table: pd.DataFrame, models: Sequence[str], name: str) -> pd.DataFrame:
    """Return the combined costs of several models, a `disambiguation` table of one
    model called `name`.

    The costs of each model are standardised within each data set and language, then
    averaged: perplexities, and scores from files ("given") where all are above 0, are
    replaced by their logarithms; from every cost of an item the mean of its four
    original ones is subtracted; all are divided by the root mean square of the original
    costs so obtained, over all items. None of this changes a decision of a model alone.
    A model for which no image and no translation makes a difference counts as 0. Raises
    InputError for a cost that one of the models lacks.
    """
    part = table[table["model"].isin(models)]
    costs = pd.concat(
        [_standardised(rows) for _, rows in disambiguation.units(part)],
        ignore_index=True,
    )
    key = ["replicate", "dataset", "lang", "item", "image", "text"]
    costs = costs.sort_values("model", kind="stable").groupby(
        key, sort=False, observed=True
    )["cost"]
    combined = costs.agg(["mean", "size"]).reset_index()
    lacking = combined[combined["size"] < len(models)]
    if len(lacking):
        row = lacking.iloc[0]
        what = (
            f"Not all of {', '.join(models)} have a cost of item {row['item']!r} in"
            f" {row['lang']!r}"
        )
        raise InputError(
            f"{what} given image {row['image']!r}: select what all of them have."
        )
    combined = combined.rename(columns={"mean": "cost"}).drop(columns="size")
    combined = combined.assign(
        model=name, similarity="standardised", precision="", preprocessing=""
    )
    return tables.check(combined, disambiguation.TASK)


def by_item(
    costs: pd.DataFrame, each: pd.DataFrame, models: Sequence[str], name: str
) -> pd.DataFrame:
    """Return what each item scores with an ensemble and with its members alone, as
    means over languages.

    `costs`: a `disambiguation` table of one data set; `each`: its
    `disambiguation.outcomes`. Only what all members have counts. Columns: dataset,
    ensemble, langs (their number), metric, model, item, value; without rows where the
    members share fewer than two items.
    """
    key, columns = (
        ["metric", "model", "item"],
        ["dataset", "ensemble", "langs", "metric", "model", "item", "value"],
    )
    rows, own = costs[costs["model"].isin(models)], each[each["model"].isin(models)]
    sizes = rows["lang"].value_counts()
    sizes = sizes[sizes > 0]
    shared, together = [], []
    for langs in sizes.groupby(
        sizes.cumsum() // ROWS
    ).groups.values():  # some languages at a time
        part = rows[rows["lang"].isin(langs)]
        cells = part.groupby(
            ["lang", "item", "image", "text"], sort=False, observed=True
        )
        part = part[cells["model"].transform("nunique") == len(models)]
        if len(part):
            shared.append(part[["lang", "item"]].drop_duplicates().astype(str))
            together.append(disambiguation.outcomes(ensemble(part, models, name)))
    if not shared or pd.concat(shared)["item"].nunique() < 2:
        return pd.DataFrame(columns=columns)
    shared = pd.MultiIndex.from_frame(pd.concat(shared))
    pairs = own[["lang", "item"]].drop_duplicates()
    there = pd.MultiIndex.from_frame(pairs.astype(str)).isin(shared)
    own = own[there[own.groupby(["lang", "item"], sort=False, observed=True).ngroup()]]
    means = [
        table.groupby(key, as_index=False, sort=False, observed=True)["value"]
        .mean()
        .astype(dict.fromkeys(key, str))
        for table in (own, pd.concat(together, ignore_index=True))
    ]
    means = pd.concat(means, ignore_index=True)
    means = means[means["metric"].isin(disambiguation.METRICS)].sort_values(
        ["model", "item"], kind="stable"
    )
    langs = shared.get_level_values("lang").nunique()
    return means.assign(dataset=rows["dataset"].iloc[0], ensemble=name, langs=langs)[
        columns
    ].reset_index(drop=True)


def _standardised(part: pd.DataFrame) -> pd.DataFrame:
    part, logarithms = disambiguation.comparable(part)
    _, original = disambiguation.cost_grid(part, disambiguation.ORIGINALS)
    middle = original.mean(axis=(1, 2))
    scale = float(np.sqrt(((original - middle[:, None, None]) ** 2).mean()))
    least = disambiguation.TIE * (float(np.abs(original).max()) if logarithms else 1)
    place = np.unique(part["item"].array.codes, return_inverse=True)[1]
    return part.assign(
        cost=(
            (part["cost"].to_numpy(float) - middle[place]) / scale
            if scale > least
            else 0.0
        )
    )
