"""Chapter 35: do two models err on the same items? The intersection over union (IoU) of
their errors, what chance gives, ensembles.

Errors are arrays with the axes item and sense.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy

from babelatlas.analysis import real_run
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import disambiguation
from babelatlas.report import formatting
from babelatlas.stats import bootstrap, multiple_comparisons, permutation
from babelatlas.stats.distributions import t_above

# Of a table of costs that are combined at once: what is computed on the way takes
# several times their memory.
ROWS = 1_000_000
# So many pairs of models are named in a figure; more are drawn by family, and as a map.
MOST_PAIRS = 6


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
    over the union of their errors, on the items that both have; the expected one is its
    mean over all ways to place as many errors of each sense, `chance_overlap`.
    Columns: kind, value, ci_low, ci_high, expected, excess, excess_low, excess_high, p,
    p_holm, pairs (those that err at all), n (the effective number of items: those that
    many pairs share count more), n_shared (items that two cells share, the median over
    pairs that share any). Intervals resample items, both senses together, the same for
    all cells, and are as wide as `n` items ask for. p (two-sided) is
    Student's t of the excess over its standard error by the bootstrap, with n - 1
    degrees of freedom, the small-sample correction of `expanded_p`; p_holm is corrected
    for all kinds. The excess of a resample is shifted by what repeated items add to it
    on average. Kinds in order of appearance; those in which no pair errs have NaN.

    >>> one = [[1, 0], [0, 1], [0, 0]]
    >>> pairs = pd.DataFrame({"first": [0], "second": [1], "kind": ["same"]})
    >>> found = mean_overlap(np.array([one, one]), pairs)[["value", "expected"]]
    >>> found.round(2).to_numpy().tolist()
    [[1.0, 0.26]]
    """
    known = np.isfinite(errors).all(axis=2)
    wrong = np.nan_to_num(errors)
    n_items = errors.shape[1]
    # The first row is the items as they are, the others are resamples.
    weights = bootstrap.resample_weights(n_items, n_resamples, seed)
    drawn = np.vstack([np.ones(n_items), weights])
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
        places = part[["first", "second"]].to_numpy()
        value, plugged_in, erring = _resampled_overlap(wrong, known, drawn, places)
        expected = _mean_chance(wrong, known, places)
        n_shared, n = _items_in_common(known, places)
        row = {
            "kind": kind,
            "value": value[0],
            "expected": expected,
            "excess": value[0] - expected,
            "pairs": erring,
            "n": n,
            "n_shared": n_shared,
        }
        above = value[1:] - plugged_in[1:]
        above = above[np.isfinite(above)]
        if erring and len(above):
            resampled = above - above.mean() + row["excess"]
            row["ci_low"], row["ci_high"] = bootstrap.percentile_interval(
                value[1:], n_clusters=n
            )
            row["excess_low"], row["excess_high"] = bootstrap.percentile_interval(
                resampled, n_clusters=n
            )
            row["p"] = _p_value(row["excess"], resampled, n)
        rows.append(row)
    result = pd.DataFrame(rows, columns=[*columns, "pairs", "n", "n_shared"])
    return result.assign(p_holm=multiple_comparisons.holm(result["p"]))


def _p_value(excess: float, resampled: np.ndarray, n: float) -> float:
    """Return p (two-sided) of an excess by the spread of its resamples, with Student's
    t of `n` items; NaN for fewer than two. Without a spread 1 for no excess, else NaN.
    """
    error = resampled.std()
    if not n >= 2:
        return np.nan
    if error < 1e-12:
        return 1.0 if abs(excess) < 1e-9 else np.nan
    statistic = abs(excess) / error * np.sqrt((n - 1) / n)
    return float(2 * t_above(statistic, n - 1))


def _items_in_common(known: np.ndarray, pairs: np.ndarray) -> tuple[float, float]:
    """Return how many items two cells share, the median over pairs that share any, and
    the effective number of items over all pairs; NaN where no pair shares any.

    An item counts for as many pairs as share it: (sum w) ** 2 / sum w ** 2 (Kish).
    """
    one, other = pairs.T
    both = known[one] & known[other]
    if not both.any():
        return np.nan, np.nan
    shared, weights = both.sum(axis=1), both.sum(axis=0).astype(float)
    effective = weights.sum() ** 2 / (weights**2).sum()
    return float(np.median(shared[shared > 0])), float(effective)


def _mean_chance(wrong: np.ndarray, known: np.ndarray, pairs: np.ndarray) -> float:
    """Return the mean of `chance_overlap` over pairs that err, NaN without any."""
    one, other = pairs.T
    both = known[one] & known[other]
    x = (wrong[one] * both[:, :, None]).sum(axis=1).astype(int)
    y = (wrong[other] * both[:, :, None]).sum(axis=1).astype(int)
    found = [
        chance_overlap(int(n), tuple(map(int, a)), tuple(map(int, b)))
        for n, a, b in zip(both.sum(axis=1), x, y, strict=True)
        if a.any() or b.any()
    ]
    return float(np.mean(found)) if found else np.nan


@cache
def chance_overlap(n: int, first: tuple[int, ...], second: tuple[int, ...]) -> float:
    """Return the mean intersection over union of errors that are placed at random.

    `n` items; `first` and `second`: how many errors two cells make in each sense, above
    0 in all. The intersection in one sense is hypergeometric, and the senses are
    independent.

    >>> chance_overlap(2, (1,), (1,))  # the same item, or the other: 1 or 0
    0.5
    """
    probability = np.ones(1)
    for one, other in zip(first, second, strict=True):
        shared = np.arange(min(one, other) + 1)
        of_sense = scipy.stats.hypergeom.pmf(shared, n, one, other)
        probability = np.convolve(probability, of_sense)
    shared = np.arange(len(probability))
    union = sum(first) + sum(second) - shared
    return float((probability * shared / union).sum())


def _resampled_overlap(
    wrong: np.ndarray, known: np.ndarray, drawn: np.ndarray, pairs: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return means over pairs that err, as observed and with the mean intersection that
    chance gives, by resample; how many pairs err in the first row.
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
            f"Not all of {', '.join(models)} have a score of item {row['item']!r} in"
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


class Photographs(NamedTuple):
    """How errors of real models on photographs overlap."""

    overlap: pd.DataFrame  # `mean_overlap`, by kind of pair
    n_languages: int


def on_photographs(
    results: str,
    models: Sequence[str],
    most_languages: int,
    n_resamples: int,
    seed: int,
) -> Photographs:
    """Return how errors on photographs overlap: of two models in one language, of one
    model in two languages, of those with most labels (English left out). No rows for
    one model in one language.

    An error is a class of which not every photograph is classified correctly. Raises
    InputError for a model that has no outcomes on them.
    """
    rows = real_run.read("zeroshot", results)
    rows = rows[rows["dataset"] == "imagenet-photos"]
    real_run.check_models(rows, *models)
    rows = rows[rows["model"].isin(models)]
    sizes = rows[rows["lang"] != "en"].groupby("lang")["wnid"].nunique()
    langs = list(sizes.nlargest(most_languages).index)
    wnids = np.unique(rows["wnid"])
    cells, grids = [], []
    chosen = rows[rows["lang"].isin(langs)]
    for (model, lang), part in chosen.groupby(["model", "lang"], sort=False):
        grid = np.full((len(wnids), 1), np.nan)
        wrong = part["n_correct"] < part["n_images"]
        grid[np.searchsorted(wnids, part["wnid"]), 0] = wrong
        cells.append([model, lang, len(grids)])
        grids.append(grid)
    cells = pd.DataFrame(cells, columns=["model", "lang", "place"])
    pairs = _pairs_of_photographs(cells)
    errors_of_cells = np.stack(grids) if grids else np.empty((0, len(wnids), 1))
    overlap = mean_overlap(errors_of_cells, pairs, n_resamples, seed=seed)
    return Photographs(overlap, len(langs))


def _pairs_of_photographs(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs of cells with one model or one language in common."""
    pairs = cells.merge(cells, how="cross", suffixes=("", "_2"))
    pairs = pairs[pairs["place"] < pairs["place_2"]]
    one_model = pairs["model"] == pairs["model_2"]
    one_language = pairs["lang"] == pairs["lang_2"]
    models = pairs["model"] + " and " + pairs["model_2"]
    kinds = models.mask(one_model, pairs["model"] + ": two languages")
    pairs = pairs.assign(kind=kinds)[one_model ^ one_language]
    pairs = pairs.rename(columns={"place": "first", "place_2": "second"})
    return pairs.sort_values("kind", kind="stable")


def beside_chance(overlap: pd.DataFrame) -> pd.DataFrame:
    """Return rows of overlap as observed and, below them, if errors were independent."""
    chance = overlap.assign(
        value=overlap["expected"],
        ci_low=np.nan,
        ci_high=np.nan,
        what="if errors were independent",
    )
    return pd.concat([overlap.assign(what="observed"), chance], ignore_index=True)


def n_above_chance(overlap: pd.DataFrame) -> int:
    """Return how many kinds share significantly more errors than chance."""
    return int(((overlap["p_holm"] < 0.05) & (overlap["excess"] > 0)).sum())


def read_costs(paths: Sequence[str]) -> pd.DataFrame:
    """Return the costs of the original images, of the first training of each model; one
    table after the other, so that no more is kept.
    """
    parts = []
    for path in paths:
        costs = tables.categories(tables.read(path, "disambiguation"))
        original = costs["image"].isin(disambiguation.ORIGINALS)
        parts.append(costs[original & (costs["replicate"] == 0)].copy())
    return tables.joined(parts or [tables.empty("disambiguation")])


class Grids(NamedTuple):
    """The errors of a run, cell by cell."""

    cells: pd.DataFrame  # dataset, model, lang, place in the arrays, family
    errors: dict[tuple[str, str], np.ndarray]  # data set, metric -> (cell, item, sense)
    widest: dict[str, set[str]]  # data set -> languages with most models and items


def error_grids(
    costs: pd.DataFrame, family: Mapping[str, str], most_languages: int
) -> Grids:
    """Return the errors of each model in each language, NaN where an item is lacking.

    `family`: model -> its kind, as "CLIP-like".
    """
    cells, grids, widest = [], {}, {}
    for dataset, part in costs.groupby("dataset", sort=False):
        names = np.unique(np.asarray(part["item"].unique(), object))
        sizes = part.groupby("lang")[["model", "item"]].nunique()
        sizes = sizes.sort_values(["model", "item"], ascending=False, kind="stable")
        widest[dataset] = set(sizes.index[:most_languages])
        for (model, _, _, lang), items, wrong in errors(part):
            for metric, flags in wrong.items():
                grid = np.full((len(names), 2), np.nan)
                grid[np.searchsorted(names, items)] = flags
                grids.setdefault((dataset, metric), []).append(grid)
            place = len(grids[dataset, "TC"]) - 1
            cells.append([dataset, model, lang, place, family[model]])
    columns = ["dataset", "model", "lang", "place", "family"]
    stacked = {key: np.stack(found) for key, found in grids.items()}
    return Grids(pd.DataFrame(cells, columns=columns), stacked, widest)


def pairs_of_models(found: Grids, order: Sequence[str]) -> pd.DataFrame:
    """Return the pairs of models in one language; `kind`: which two; `shared`: whether
    they have an item in common.
    """
    place = {name: at for at, name in enumerate(order)}
    pairs = found.cells.merge(found.cells, on=["dataset", "lang"], suffixes=("", "_2"))
    pairs = pairs[pairs["model"].map(place) < pairs["model_2"].map(place)]
    pairs = pairs.assign(kind=pairs["model"] + " and " + pairs["model_2"])
    pairs = pairs.rename(columns={"place": "first", "place_2": "second"})
    shared = [
        _have_common_item(found.errors[row.dataset, "TC"], row.first, row.second)
        for row in pairs.itertuples()
    ]
    return pairs.assign(shared=np.array(shared, bool))


def pairs_by_kind(found: Grids, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs of models, and those of one model in two languages, of the
    languages with most models and items.

    `kind`: which two models, or where there are more than `MOST_PAIRS` of these, within
    a family or across two; which model in two languages.
    """
    if pairs["kind"].nunique() > MOST_PAIRS:
        pairs = pairs.assign(kind=_families(pairs))
    cells = [found.cells[:0]]
    for dataset, langs in found.widest.items():
        rows = found.cells["dataset"] == dataset
        cells.append(found.cells[rows & found.cells["lang"].isin(langs)])
    cells = pd.concat(cells)
    across = cells.merge(cells, on=["dataset", "model", "family"], suffixes=("", "_2"))
    across = across[across["lang"] < across["lang_2"]]
    across = across.assign(kind=across["model"] + ": two languages")
    across = across.rename(columns={"place": "first", "place_2": "second"})
    return pd.concat([pairs, across], ignore_index=True)


def _families(pairs: pd.DataFrame) -> pd.Series:
    """Return of each pair of models whether it is within a family, or across which."""
    both = zip(pairs["family"], pairs["family_2"], strict=True)
    names = pd.Series([" and ".join(sorted(pair)) for pair in both], pairs.index)
    within = pairs["family"] == pairs["family_2"]
    return names.mask(within, "within " + pairs["family"])


def without_common_items(found: Grids, order: Sequence[str]) -> str:
    """Return a sentence on pairs of models that have no item of any language in common,
    so that their errors cannot be compared; "" where all have one.
    """
    pairs = pairs_of_models(found, order)
    shared = {
        frozenset([row.model, row.model_2])
        for row in pairs[pairs["shared"]].itertuples()
    }
    there = [name for name in order if name in set(found.cells["model"])]
    apart = [
        " and ".join(pair)
        for pair in combinations(there, 2)
        if frozenset(pair) not in shared
    ]
    if not apart:
        return ""
    return (
        "Not compared, since they have no language and ambiguous word in common:"
        f" {'; '.join(apart)}. Evaluate them on the same data set and languages."
    )


def _have_common_item(errors: np.ndarray, first: int, second: int) -> bool:
    """Return whether two cells of errors (cell, item, sense) have an item in common."""
    known = np.isfinite(errors[[first, second]]).all(axis=(0, 2))
    return bool(known.any())


def overlaps(
    found: Grids, pairs: pd.DataFrame, n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return `mean_overlap` by data set, metric and kind of pair; no rows without
    pairs.
    """
    parts = []
    for (dataset, metric), wrong in found.errors.items():
        part = pairs[pairs["dataset"] == dataset]
        if len(part):
            overlap = mean_overlap(wrong, part, n_resamples, seed=seed)
            parts.append(overlap.assign(dataset=dataset, metric=metric))
    columns = [
        "dataset",
        "metric",
        "kind",
        "value",
        "p",
        "p_holm",
        "excess",
        "n",
        "n_shared",
    ]
    empty = pd.DataFrame(columns=columns)
    return pd.concat(parts, ignore_index=True) if parts else empty


def with_models(overlap: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the overlap of pairs of models with both names, and in how many languages
    they have items in common.
    """
    both = pairs.groupby(["dataset", "kind"], sort=False).agg(
        model=("model", "first"), other=("model_2", "first"), langs=("shared", "sum")
    )
    if not len(overlap):
        return overlap
    return overlap.merge(both.reset_index(), on=["dataset", "kind"], how="left")


def overlap_table(overlap: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return overlaps as a reader sees them, the kinds of pairs under `name`."""
    if not len(overlap):
        return overlap
    shown = {
        name: overlap["kind"],
        "errors": overlap["metric"],
        "IoU (%)": formatting.intervals(overlap),
        "IoU by chance (%)": 100 * overlap["expected"],
        "p (Holm)": overlap["p_holm"].map(formatting.p_value),
        "items of a pair (median)": overlap["n_shared"],
        "data set": overlap["dataset"],
    }
    return pd.DataFrame(shown)


def gains_of_ensembles(
    costs: pd.DataFrame,
    family: Mapping[str, str],
    most_models: int,
    n_resamples: int,
    seed: int,
) -> pd.DataFrame:
    """Return what ensembles gain over their best member, by data set, metric and
    ensemble: `value` with interval over items, p and p_holm, `together` (the ensemble's
    score), `better`.

    Tried are all models of a family, and pairs of the best models.
    """
    found = []
    for _, part in costs.groupby("dataset", sort=False):
        items = _outcomes_by_item(part)
        for name, members in _tried(items, family, most_models).items():
            values = by_item(part, items, members, name)
            if len(values):
                found += _gains(values, name, n_resamples, seed)
    empty = pd.DataFrame(columns=["dataset", "metric", "first", "value", "p"])
    gains = pd.concat(found, ignore_index=True) if found else empty
    by = gains.groupby(["dataset", "metric"])["p"]
    gains["p_holm"] = by.transform(multiple_comparisons.holm)
    gains["better"] = (gains["p_holm"] < 0.05) & (gains["value"] > 0)
    return gains


def _outcomes_by_item(costs: pd.DataFrame) -> pd.DataFrame:
    """Return the outcomes of each model by item; one model at a time."""
    parts = []
    for _, rows in costs.groupby("model", sort=False):
        items = disambiguation.outcomes(rows)
        measured = items["metric"].isin(disambiguation.METRICS)
        parts.append(tables.categories(items[measured]))
    return tables.joined(parts)


def _tried(
    items: pd.DataFrame, family: Mapping[str, str], most_models: int
) -> dict[str, list[str]]:
    """Return the ensembles that are tried: name -> models."""
    level = items[items["metric"].isin(["TC", "IC"])].groupby("model")["value"].mean()
    order = level.sort_values(ascending=False, kind="stable").index
    best = [name for name in family if name in set(order[:most_models])]
    found = {}
    for kind in dict.fromkeys(family.values()):
        members = [name for name in family if family[name] == kind and name in level]
        if len(members) > 2:
            found[f"all {len(members)} {kind}"] = members
    return found | {" + ".join(pair): list(pair) for pair in combinations(best, 2)}


def _gains(
    values: pd.DataFrame, name: str, n_resamples: int, seed: int
) -> list[pd.DataFrame]:
    parts = []
    for (dataset, metric), unit in values.groupby(["dataset", "metric"], sort=False):
        level = unit.groupby("model")["value"].mean()
        pairs = [(name, level.drop(name).idxmax())]
        gain = permutation.paired_difference(
            unit, "model", "item", pairs=pairs, n_resamples=n_resamples, seed=seed
        )
        parts.append(gain.assign(dataset=dataset, metric=metric, together=level[name]))
    return parts


def most_gaining(gains: pd.DataFrame, number: int = 30) -> pd.DataFrame:
    """Return the ensembles of a data set that gain most in TC, in points, the most
    first.
    """
    in_tc = gains[gains["metric"] == "TC"]
    in_tc = in_tc.sort_values("value", ascending=False, kind="stable")
    names = list(in_tc["first"].head(number))
    rows = gains[gains["first"].isin(names)].drop(columns="better")
    rows = rows.sort_values(
        "first", key=lambda column: column.map(names.index), kind="stable"
    )
    columns = ["value", "ci_low", "ci_high"]
    return rows.assign(**(100 * rows[columns]))


def gains_table(gains: pd.DataFrame) -> pd.DataFrame:
    """Return the gains of ensembles as a reader sees them."""
    shown = {
        "ensemble": gains["first"],
        "measure": gains["metric"],
        "ensemble (%)": 100 * gains["together"],
        "best member": gains["second"],
        "difference (points)": 100 * gains["value"],
        "p (Holm)": list(map(formatting.p_value, gains["p_holm"], gains["p"])),
        "data set": gains["dataset"],
    }
    return pd.DataFrame(shown)
