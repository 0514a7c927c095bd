"""Do two models err on the same items: the intersection over union (IoU) of their errors, what chance gives, ensembles.

Errors are arrays with the axes item and sense. `mean_overlap` has intervals over items for means over many pairs,
`pairwise_overlap` a permutation test for every pair.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd

from babelatlas.base import tables
from babelatlas.base.errors import InputError, near
from babelatlas.evaluation import disambiguation
from babelatlas.stats import bootstrap, tests

# Of a table of costs that are combined at once: what is computed on the way takes several times their memory.
ROWS = 1_000_000


def mean_overlap(errors: np.ndarray, pairs: pd.DataFrame, n_resamples: int = 1000, seed: int = 0) -> pd.DataFrame:
    """Return how far errors overlap, as means over kinds of pairs, next to what independent errors would give.

    `errors` (cell, item, sense): 1 for an error, 0 for none, NaN where a cell (a model in a language, say) has no such
    item. `pairs`, one row for each two cells: first, second (places in `errors`) and kind. The overlap of two cells is
    the intersection over the union of their errors, on the items that both have; the expected one takes the
    intersection that errors of the same frequency in each sense have by chance. Columns: kind, value, ci_low, ci_high,
    expected, excess, excess_low, excess_high, p, p_holm, pairs (those that err at all), n (items). Intervals resample
    items, both senses together, the same for all cells. p (two-sided) is twice the share of resamples in which the
    excess has the other sign, at least 2 / (n_resamples + 1), made as careful as the interval by `expanded_p`; p_holm
    is corrected for all kinds. Kinds in order of appearance; those in which no pair errs have NaN. Raises InputError
    for no pair, or fewer than two items.

    >>> one = [[1, 0], [0, 1], [0, 0]]
    >>> pairs = pd.DataFrame({"first": [0], "second": [1], "kind": ["same"]})
    >>> mean_overlap(np.array([one, one]), pairs)[["value", "expected"]].round(2).to_numpy().tolist()
    [[1.0, 0.2]]
    """
    errors = np.asarray(errors, float)
    if errors.ndim != 3 or errors.shape[1] < 2 or pairs.empty:
        raise InputError(
            f"Errors are compared in pairs on at least two items, got {len(pairs)} pairs and an array of shape "
            f"{errors.shape}; its axes are cell, item, sense."
        )
    known = np.isfinite(errors).all(axis=2)
    wrong = np.nan_to_num(errors)
    n = errors.shape[1]
    # The first row is the items as they are, the others are resamples.
    drawn = np.vstack([np.ones(n), bootstrap.resample_weights(n, n_resamples, seed)])
    columns = ["kind", "value", "ci_low", "ci_high", "expected", "excess", "excess_low", "excess_high", "p", "p_holm"]
    rows = []
    for kind, part in pairs.groupby("kind", sort=False):
        value, expected, erring = _resampled_overlap(wrong, known, drawn, part[["first", "second"]].to_numpy())
        excess = value - expected
        resampled = excess[1:][np.isfinite(excess[1:])]
        row = {"kind": kind, "value": value[0], "expected": expected[0], "excess": excess[0], "pairs": erring, "n": n}
        if erring and len(resampled):
            fewer = min((resampled <= 1e-9).sum(), (resampled >= -1e-9).sum())
            p = min(1.0, 2 * (fewer + 1) / (len(resampled) + 1))
            row["ci_low"], row["ci_high"] = bootstrap.percentile_interval(value[1:], n_clusters=n)
            row["excess_low"], row["excess_high"] = bootstrap.percentile_interval(resampled, n_clusters=n)
            row["p"] = bootstrap.expanded_p(p, n)
        rows.append(row)
    result = pd.DataFrame(rows, columns=[*columns, "pairs", "n"])
    return result.assign(p_holm=tests.holm(result["p"]))


def _resampled_overlap(
    wrong: np.ndarray, known: np.ndarray, drawn: np.ndarray, pairs: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return means over pairs that err, as found and by chance, by resample; how many pairs err in the first row."""
    sums, counts, erring = np.zeros((2, len(drawn))), np.zeros(len(drawn)), 0
    for start in range(0, len(pairs), 500):  # some hundred at a time: a pair takes a number for each resample
        found, some = _pair_overlaps(wrong, known, drawn, *pairs[start : start + 500].T)
        sums += np.where(some, found, 0).sum(axis=2)
        counts += some.sum(axis=1)
        erring += int(some[0].sum())
    value, expected = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
    return value, expected, erring


def _pair_overlaps(
    wrong: np.ndarray, known: np.ndarray, drawn: np.ndarray, one: np.ndarray, other: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the overlap as found and by chance (2, resample, pair), and which pairs err at all (resample, pair)."""
    both = known[one] & known[other]
    x, y = wrong[one] * both[:, :, None], wrong[other] * both[:, :, None]
    sizes, chance = np.zeros((2, len(drawn), len(one)))
    with np.errstate(invalid="ignore", divide="ignore"):
        for sense in range(wrong.shape[2]):
            one_size, other_size = drawn @ x[:, :, sense].T, drawn @ y[:, :, sense].T
            sizes += one_size + other_size
            chance += np.nan_to_num(one_size * other_size / (drawn @ both.T))
        found = np.stack([shared / (sizes - shared) for shared in (drawn @ (x * y).sum(axis=2).T, chance)])
    return found, sizes > 0


# --- Every pair of models and languages -------------------------------------------------------------------------------


def errors(table: pd.DataFrame) -> Iterator[tuple[tuple[str, int, str, str], np.ndarray, dict[str, np.ndarray]]]:
    """Yield (model, replicate, data set, language), its items, sorted, and its errors by metric: bool (item, sense).

    The metrics are "TC" and "IC". An error is a triple that is not classified correctly, ties among them. `table` has
    the schema `disambiguation`; raises what `disambiguation.units` raises.
    """
    for key, part in disambiguation.units(table):
        part, logarithms = disambiguation.comparable(part)
        items, costs = disambiguation.cost_grid(part, disambiguation.ORIGINALS)
        options = disambiguation.TIE, logarithms
        yield key, items, {"TC": ~disambiguation.tc(costs, *options), "IC": ~disambiguation.ic(costs, *options)}


def iou(first: np.ndarray, second: np.ndarray) -> float:
    """Return the intersection over union of two sets of errors, bool arrays of one shape; NaN where nobody errs."""
    first, second = _errors(first, second)
    union = int((first | second).sum())
    return int((first & second).sum()) / union if union else float("nan")


def expected_iou(first: np.ndarray, second: np.ndarray) -> float:
    """Return the intersection over union that independent errors would have: expected size over expected size.

    Bool arrays (item, 2). Each model keeps its share of errors in each sense; NaN where nobody errs.

    >>> errors = np.array([[True, False], [False, True]])
    >>> round(expected_iou(errors, errors), 4)
    0.3333
    """
    first, second = _errors(first, second)
    both = float((first.sum(axis=0) * second.sum(axis=0)).sum()) / max(1, len(first))
    union = int(first.sum()) + int(second.sum()) - both
    return both / union if union else float("nan")


def _errors(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.asarray(first, bool), np.asarray(second, bool)
    if first.shape != second.shape:
        raise InputError(
            f"Errors are compared on the same items, got arrays of shape {first.shape} and {second.shape}."
        )
    return first, second


def permuted_iou(first: np.ndarray, second: np.ndarray, n_permutations: int = 1000, seed: int = 0) -> np.ndarray:
    """Return the intersection over union when the items of one are permuted, what chance would give: (n_permutations,).

    Bool arrays (item, 2): both senses of an item stay together. NaN where nobody errs.
    """
    first, second = _errors(first, second)
    both = _common(_code(first), _code(second)[_orders(len(first), n_permutations, seed)])
    return _ratio(both, first.sum() + second.sum())


@lru_cache(maxsize=16)  # every pair of languages asks for the same
def _orders(n: int, n_permutations: int, seed: int) -> np.ndarray:
    """Return random orders of n items, (n_permutations, n)."""
    return np.random.default_rng([seed, n]).permuted(np.tile(np.arange(n), (n_permutations, 1)), axis=1)


def _code(errors: np.ndarray) -> np.ndarray:
    """Return errors (..., item, 2) as one small number for each item, a bit for each sense."""
    return errors[..., 0].astype(np.uint8) | errors[..., 1].astype(np.uint8) << 1


def _common(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return how many errors two arrays of codes (..., item) have in common."""
    return np.bitwise_count(first & second).sum(axis=-1, dtype=np.int64)


def _ratio(both: np.ndarray, sizes: np.ndarray | int) -> np.ndarray:
    both = np.asarray(both, float)
    union = np.broadcast_to(sizes - both, both.shape)
    return np.divide(both, union, out=np.full(both.shape, np.nan), where=union > 0)


def pairwise_overlap(table: pd.DataFrame, n_permutations: int = 1000, seed: int = 0) -> pd.DataFrame:
    """Return how far the errors of any two of (model, language) overlap, by data set: one row for each pair and metric.

    `table` has the schema `disambiguation`. Columns: dataset, model, lang, other_model, other_lang, metric ("TC" and
    "IC"), value (intersection over union of errors), expected (`expected_iou`), ci_low, ci_high (where 95 % of the
    permutations of the items lie: what independent errors would give), p (two-sided, from the same permutations), n
    (items that both have), errors, other_errors (of 2 n). With replicates the numbers are means over all pairs of
    replicates. Pairs without a common item, or without errors, have NaN. Raises what `units` raises, and InputError for
    less than one permutation.
    """
    if n_permutations < 1:
        raise InputError(f"An overlap is compared with permutations, at least 1, got {n_permutations}.")
    wrong: dict[str, dict[str, dict]] = {}
    for (model, _, dataset, lang), items, found in errors(table):
        each = wrong.setdefault(dataset, {}).setdefault(lang, {}).setdefault(model, (items, []))
        if not np.array_equal(each[0], items):
            raise disambiguation.unlike_perplexities(model, dataset, lang)
        each[1].append(found)
    rows = [
        [dataset, *row]
        for dataset, langs in wrong.items()
        for lang, other in combinations_with_replacement(langs, 2)
        for row in _language_pair(lang, other, langs, n_permutations, seed)
    ]
    columns = ["dataset", "model", "lang", "other_model", "other_lang", "metric", "value", "expected", "ci_low"]
    return pd.DataFrame(rows, columns=[*columns, "ci_high", "p", "n", "errors", "other_errors"])


def _language_pair(lang, other, langs, n_permutations, seed) -> Iterator[list]:
    """Yield the rows of all pairs of models between two languages, or within one."""
    orders: dict[int, np.ndarray] = {}
    for number, (another, (items_2, errors_2)) in enumerate(langs[other].items()):
        for model, (items, errors) in list(langs[lang].items())[: number if lang == other else None]:
            common, here, there = np.intersect1d(items, items_2, assume_unique=True, return_indices=True)
            n = len(common)
            if n not in orders:
                orders[n] = _orders(n, n_permutations, seed)
            for metric in ("TC", "IC"):
                values = []  # of each pair of replicates: value, expected, permuted
                ours, theirs = [one[metric][here] for one in errors], [one[metric][there] for one in errors_2]
                for second in theirs:
                    moved = _code(second)[orders[n]]
                    for first in ours:
                        drawn = _ratio(_common(_code(first), moved), first.sum() + second.sum())
                        values.append((iou(first, second), expected_iou(first, second), drawn))
                value, expected, drawn = (np.mean(part, axis=0) for part in zip(*values, strict=True))
                low, high, p = np.nan, np.nan, np.nan
                if not np.isnan(value):
                    low, high = map(float, bootstrap.percentile_interval(drawn))
                    least = min((drawn >= value - 1e-9).sum(), (drawn <= value + 1e-9).sum())
                    p = min(1.0, 2 * (least + 1) / (n_permutations + 1))
                counts = [float(np.mean([one.sum() for one in each])) for each in (ours, theirs)]
                found = [metric, float(value), float(expected), low, high, p, n, *counts]
                yield [model, lang, another, other, *found]


def ensemble(table: pd.DataFrame, models: Sequence[str], name: str = "") -> pd.DataFrame:
    """Return the combined costs of several models, a `disambiguation` table of one model: `name`, or theirs with " + ".

    The costs of each model are standardised within each data set and language, then averaged: perplexities, and scores
    from files ("given") where all are above 0, are replaced by their logarithms; from every cost of an item the mean of
    its four original ones is subtracted; all are divided by the root mean square of the original costs so obtained,
    over all items. None of this changes a decision of a model alone. A model for which no image and no translation
    makes a difference counts as 0. A model trained once is combined with every replicate of the others. Raises
    InputError for a name that is not in the table, a cost that one of the models lacks, fewer than two models,
    different replicates, and what `units` raises.
    """
    present = list(pd.unique(table["model"]))
    for model in models:
        if model not in present:
            raise InputError(f"There is no model {model!r} in the table: {near(model, present)}")
    if len(set(models)) < 2 or len(set(models)) < len(models):
        raise InputError(f"An ensemble is of at least two models, each named once, got {', '.join(models) or 'none'}.")
    part = table[table["model"].isin(models)]
    found = pd.concat([_standardised(rows) for _, rows in disambiguation.units(part)], ignore_index=True)
    found = found.sort_values("model", kind="stable")
    replicates = {model: set(rows["replicate"]) for model, rows in found.groupby("model", observed=True)}
    several = [numbers for numbers in replicates.values() if len(numbers) > 1]
    if any(numbers != several[0] for numbers in several):
        raise InputError(f"The models of an ensemble need the same replicates, or one each, got {replicates}.")
    numbers = sorted(several[0]) if several else [0]
    once = found["model"].map({model: len(each) == 1 for model, each in replicates.items()}).astype(bool)
    repeated = [found[once | (found["replicate"] == number)].assign(replicate=number) for number in numbers]
    key = ["replicate", "dataset", "lang", "item", "image", "text"]
    combined = pd.concat(repeated).groupby(key, sort=False, observed=True)["cost"].agg(["mean", "size"]).reset_index()
    short = combined[combined["size"] < len(models)]
    if len(short):
        row = short.iloc[0]
        raise InputError(
            f"Not all of {', '.join(models)} have a cost of item {row['item']!r} in {row['lang']!r} given image "
            f"{row['image']!r} ({len(short)} of {len(combined)} rows): select what all of them have."
        )
    combined = combined.rename(columns={"mean": "cost"}).assign(
        model=name or " + ".join(models), similarity="standardised", precision="", preprocessing=""
    )
    return tables.check(combined.drop(columns="size"), disambiguation.TASK)


def by_item(costs: pd.DataFrame, each: pd.DataFrame, models: Sequence[str], name: str) -> pd.DataFrame:
    """Return what each item scores with an ensemble and with its members alone, as means over languages.

    `costs`: a `disambiguation` table of one data set; `each`: its `disambiguation.outcomes`. Only what all members have
    counts. Columns: dataset, ensemble, langs (their number), metric, model, item, value; without rows where the members
    share fewer than two items. Raises what `ensemble` raises.
    """
    key, columns = ["metric", "model", "item"], ["dataset", "ensemble", "langs", "metric", "model", "item", "value"]
    rows, own = costs[costs["model"].isin(models)], each[each["model"].isin(models)]
    sizes = rows["lang"].value_counts()
    sizes = sizes[sizes > 0]
    shared, together = set(), []
    for langs in sizes.groupby(sizes.cumsum() // ROWS).groups.values():  # some languages at a time
        part = rows[rows["lang"].isin(langs)]
        cells = part.groupby(["lang", "item", "image", "text"], sort=False, observed=True)
        part = part[cells["model"].transform("nunique") == len(models)]
        if len(part):
            shared |= set(part[["lang", "item"]].drop_duplicates().itertuples(index=False, name=None))
            together.append(disambiguation.outcomes(ensemble(part, models, name)))
    if len({item for _, item in shared}) < 2:
        return pd.DataFrame(columns=columns)
    pairs = own[["lang", "item"]].drop_duplicates()
    there = np.array([pair in shared for pair in pairs.itertuples(index=False, name=None)])
    own = own[there[own.groupby(["lang", "item"], sort=False, observed=True).ngroup()]]
    both = own, pd.concat(together, ignore_index=True)
    means = [table.groupby(key, as_index=False, sort=False, observed=True)["value"].mean() for table in both]
    found = pd.concat([table.astype(dict.fromkeys(key, str)) for table in means], ignore_index=True)
    found = found[found["metric"].isin(disambiguation.METRICS)]
    told = {"dataset": rows["dataset"].iloc[0], "ensemble": name, "langs": len({lang for lang, _ in shared})}
    return found.assign(**told)[columns].sort_values(["model", "item"], kind="stable", ignore_index=True)


def _standardised(part: pd.DataFrame) -> pd.DataFrame:
    part, logarithms = disambiguation.comparable(part)
    _, original = disambiguation.cost_grid(part, disambiguation.ORIGINALS)
    middle = original.mean(axis=(1, 2))
    scale = float(np.sqrt(((original - middle[:, None, None]) ** 2).mean()))
    least = disambiguation.TIE * (float(np.abs(original).max()) if logarithms else 1)
    place = np.unique(part["item"].array.codes, return_inverse=True)[1]
    return part.assign(cost=(part["cost"].to_numpy(float) - middle[place]) / scale if scale > least else 0.0)
