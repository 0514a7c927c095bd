"""Disambiguation: how a model scores two translations of an ambiguous sentence given
two images.

An item is one ambiguous source with two senses, a and b; each has an image and a
translation (Futeral et al. 2023). A model gives each translation, given each image, a
score (`cost`): a perplexity or a negative cosine similarity, lower is better. The
measures are those of Kashani Motlagh et al. (2024), "the paper" here, Equations 1 to
10: functions of `costs` with the axes (item, image, text), where place 0 is sense a and
place 1 sense b:

* TC, does the image choose the translation: given its image, the correct one scores
  lower than the other (Eq. 2);
* IC, does the translation choose the image: it scores lower given its image than given
  the other (Eq. 4);
* GTC and GIC: both senses of the item are right (Eqs. 6 and 7).

The inequalities are strict: a tie is wrong, and the share of ties is reported with
every score. Costs are equal where they differ by no more than `TIE` times the larger of
them (times 1 where both are smaller), since what a model computes in another order
differs in the last digits. The perplexities of a model that is sure of itself all lie
close above 1: functions of tables compare their logarithms, and those of arrays with
`logarithms=True`, which says that the costs are log-perplexities; equal is what differs
by no more than `TIE` times the larger of these.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import registry as datasets
from babelatlas.stats import bootstrap, proportions

TASK = "disambiguation"
# Costs that differ by no more than this share of the larger one are equal.
TIE = 1e-6
# One training of one model on one data set in one language: what one array of costs is
# of.
UNIT = ["model", "replicate", "dataset", "lang"]
ORIGINALS = ("a0", "b0")
AMBIGUOUS = ("mix", "side")
METRICS = ("TC", "IC", "GTC", "GIC")
RATES = ("IPR", "INR", "CPR", "CNR")


def log_perplexities(lists: Sequence[np.ndarray]) -> np.ndarray:
    """Return minus the mean of each list of log-probabilities of tokens: the logarithms
    of Eq. 1, in one pass.

    >>> np.exp(log_perplexities([[np.log(0.5), np.log(0.125)]])).round(6).tolist()
    [4.0]
    """
    lengths = np.array([len(tokens) for tokens in lists])
    joined = np.concatenate([np.asarray(tokens, float) for tokens in lists])
    is_probability = np.isfinite(joined) & (joined <= TIE)
    if not is_probability.all() or (lengths == 0).any():
        raise InputError(
            "A translation has no tokens, or a log-probability that is no finite number"
            " of at most 0."
        )
    starts = np.cumsum(lengths) - lengths
    return -np.add.reduceat(joined, starts) / lengths


def units(
    table: pd.DataFrame,
) -> Iterator[tuple[tuple[str, int, str, str], pd.DataFrame]]:
    """Yield (model, replicate, data set, language) and its rows, in order of
    appearance; texts are categories.

    `table` has the schema `disambiguation`.
    """
    table = tables.categories(tables.check(table, TASK))
    for key, part in table.groupby(UNIT, sort=False, observed=True):
        protocols = part[list(tables.PROTOCOL)].drop_duplicates()
        if len(protocols) > 1:
            raise InputError(
                f"The costs of {key[0]!r} on {key[2]!r} in {key[3]!r} have"
                f" {len(protocols)} protocols."
            )
        yield key, part


def cost_grid(
    part: pd.DataFrame, images: Sequence[str], gaps: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the items of a unit in sorted order, and their costs (item, image, text),
    NaN where there is none.

    `part`: what `units` yields, whose texts are categories.
    """
    item, image, text = (part[name].array for name in ("item", "image", "text"))
    item_codes, row = np.unique(item.codes, return_inverse=True)
    place = {name: number for number, name in enumerate(images)}
    place_of_code = np.array([place.get(name, -1) for name in image.categories])
    sense_of_code = np.array([name == "b" for name in text.categories], int)
    column, sense = place_of_code[image.codes], sense_of_code[text.codes]
    grid = np.full((len(item_codes), len(images), 2), np.nan)
    is_asked = column >= 0
    cells = row[is_asked], column[is_asked], sense[is_asked]
    grid[cells] = part["cost"].to_numpy(float)[is_asked]
    items = item.categories.to_numpy(object)[item_codes]
    lacking = ~np.isfinite(grid).all(axis=(1, 2))
    if lacking.any() and not gaps:
        where = " in ".join(part[["model", "dataset", "lang"]].iloc[0])
        raise InputError(
            f"Item {items[lacking][0]!r} of {where} has no finite cost with one of"
            f" {', '.join(images)}."
        )
    return items, grid


def extended_grid(part: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the items of a unit in sorted order, and their costs given all images of a
    sense, the original first: (item, sense, number, text); NaN for none.

    `part` as for `cost_grid`.
    """
    names = [name for name in part["image"].unique() if name not in AMBIGUOUS]
    n_images = 1 + max(int(name[1:]) for name in names)
    images = [f"{sense}{number}" for sense in "ab" for number in range(n_images)]
    items, grid = cost_grid(part, images, gaps=True)
    return items, grid.reshape(len(grid), 2, n_images, 2)


def comparable(part: pd.DataFrame) -> tuple[pd.DataFrame, bool]:
    """Return a unit with the costs that are compared, and whether those are
    log-perplexities.

    Costs from a file of scores ("given") count as perplexities where all are above 0,
    as those of CoMMuTE are.
    """
    cost, kind = part["cost"].to_numpy(float), part["similarity"].iloc[0]
    if kind == "perplexity" or (kind == "given" and (cost > 0).all()):
        return part.assign(cost=np.log(cost)), True
    return part, False


def _compared(
    costs: np.ndarray, metric: str, logarithms: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return where the right one of the costs that a metric compares is lower, and
    where they tie: bool (..., 2).
    """
    costs = np.asarray(costs, float)
    right = np.stack([costs[..., 0, 0], costs[..., 1, 1]], axis=-1)
    wrong = np.stack([costs[..., 0, 1], costs[..., 1, 0]], axis=-1)
    wrong = wrong if metric == "TC" else wrong[..., ::-1]
    larger = np.maximum(np.abs(right), np.abs(wrong))
    margin = TIE * np.maximum(0 if logarithms else 1, larger)
    return right < wrong - margin, np.abs(right - wrong) <= margin


def tc(costs: np.ndarray, logarithms: bool = False) -> np.ndarray:
    """Return whether each image's own translation costs less: bool (item, 2), TC^{a,b},
    TC^{b,a} (Eq. 2; mean: Eq. 3).

    `costs` (item, image, text). GTC is whether both are true (Eq. 6; the mean: Eq. 8).

    >>> tc(np.array([[[1.0, 2.0], [1.5, 2.5]]])).tolist()
    [[True, False]]
    """
    return _compared(costs, "TC", logarithms)[0]


def ic(costs: np.ndarray, logarithms: bool = False) -> np.ndarray:
    """Return whether each translation scores lower given its image: bool (item, 2),
    IC^{a,b}, IC^{b,a} (Eq. 4).

    `costs` (item, image, text). The mean over all is the score (Eq. 5).

    >>> ic(np.array([[[1.0, 2.0], [1.5, 2.5]]])).tolist()
    [[True, False]]
    """
    return _compared(costs, "IC", logarithms)[0]


def gic(costs: np.ndarray, logarithms: bool = False) -> np.ndarray:
    """Return whether both translations of an item choose their image: bool (item,) (Eq.
    7); its mean is Eq. 9.
    """
    return ic(costs, logarithms).all(axis=-1)


def ties(costs: np.ndarray, metric: str = "TC", logarithms: bool = False) -> np.ndarray:
    """Return where the two costs that a metric ("TC" or "IC") compares are equal: bool
    (item, 2), counted as wrong.
    """
    return _compared(costs, metric, logarithms)[1]


def rates(
    costs: np.ndarray, mixed: np.ndarray, logarithms: bool = False
) -> dict[str, np.ndarray]:
    """Return how decisions change from the ambiguous image to the original: IPR, INR,
    CPR, CNR, each bool (item, 2).

    `costs` (item, image, text), `mixed` (item, text). A decision is that of TC.
    Inconsistent positive (IPR): right with the original image, wrong with the ambiguous
    one; inconsistent negative (INR): the other way round; consistent positive (CPR):
    right with both; consistent negative (CNR): wrong with both (Section 5.3 of the
    paper). The means are the rates. A tie is wrong, as in TC.
    """
    with_original = tc(costs, logarithms)
    with_mixed = tc(np.stack([mixed, mixed], axis=-2), logarithms)
    return {
        "IPR": with_original & ~with_mixed,
        "INR": ~with_original & with_mixed,
        "CPR": with_original & with_mixed,
        "CNR": ~with_original & ~with_mixed,
    }


def between(costs: np.ndarray, mixed: np.ndarray) -> np.ndarray:
    """Return whether a translation's cost given the ambiguous image lies between its
    two others: bool (item, 2).

    Ends included. That it mostly does is why the paper takes the ambiguous image for
    "no image" (its Figure 3).
    """
    return (costs.min(axis=-2) <= mixed) & (mixed <= costs.max(axis=-2))


def oracle(
    extended: np.ndarray, which: str = "max", logarithms: bool = False
) -> np.ndarray:
    """Return for each item the images that maximise ("max") or minimise ("min") GIC:
    numbers (item, 2), of a and of b.

    `extended` (item, sense, number, text), NaN where there is no image. Among the pairs
    with the highest (lowest) GIC the one with the lowest (highest) sum of confidence
    gaps is taken (Eq. 10); pairs that are equal even so go to the one that comes first,
    the originals before all others. With `logarithms` the gaps are still those of
    perplexities, as printed.
    """
    has_image = ~np.isnan(extended).any(axis=-1)
    n_items, _, n_images, _ = extended.shape
    # The images of a along axis 1, of b along axis 2: (item, number of a, number of b,
    # image, text).
    of_a, of_b = extended[:, 0, :, None], extended[:, 1, None, :]
    pairs = np.stack(np.broadcast_arrays(of_a, of_b), axis=-2)
    costs = np.exp(pairs) if logarithms else pairs
    gap_a = costs[..., 0, 0] - costs[..., 1, 0]
    gap_b = costs[..., 1, 1] - costs[..., 0, 1]
    gap = gap_a + gap_b  # Eq. 10
    is_pair = has_image[:, 0, :, None] & has_image[:, 1, None, :]
    right = gic(pairs, logarithms) & is_pair
    wanted = right if which == "max" else ~right & is_pair
    candidates = np.where(wanted.any(axis=(1, 2), keepdims=True), wanted, is_pair)
    gap = np.where(candidates, gap if which == "max" else -gap, np.inf)
    best = gap.reshape(n_items, -1).argmin(axis=1)
    return np.stack(np.divmod(best, n_images), axis=-1)


def chosen(extended: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return the costs of the images with these numbers: (item, image, text), from
    (item, sense, number, text).
    """
    rows = np.arange(len(extended))
    return np.stack(
        [extended[rows, sense, numbers[:, sense]] for sense in (0, 1)], axis=1
    )


def _of_pair(grid: np.ndarray, logarithms: bool) -> dict[str, np.ndarray]:
    """Return per item, as the mean over its senses, what the original or chosen images
    score.
    """
    values = {}
    for name, right in (("TC", tc(grid, logarithms)), ("IC", ic(grid, logarithms))):
        values[name] = right.mean(axis=1)
        values[f"G{name}"] = right.all(axis=1).astype(float)
        values[f"ties {name}"] = ties(grid, name, logarithms).mean(axis=1)
    metrics = (*METRICS, "ties TC", "ties IC")
    return {name: values[name] for name in metrics}


def _of_ambiguous(
    original: np.ndarray, mixed: np.ndarray, logarithms: bool
) -> dict[str, np.ndarray]:
    """Return per item, as the mean over its senses, how decisions change from an
    ambiguous image (item, text) to the originals.
    """
    flags = rates(original, mixed, logarithms)
    flags["between"] = between(original, mixed)
    flags["ties TC"] = ties(np.stack([mixed, mixed], axis=-2), logarithms=logarithms)
    return {name: values.mean(axis=1) for name, values in flags.items()}


def _token_variant(
    rows: pd.DataFrame, temperature: float
) -> tuple[str, list[np.ndarray]]:
    """Return what tokens at a temperature are a variant of, and the log-probabilities
    that count for each of `rows`.
    """
    lists = rows["log_probabilities"].tolist()
    if not np.isclose(temperature, 1):
        return f"temperature {temperature:g}", lists
    # Without the tokens that both translations begin with (Section 6), the others
    # conditioned on them as before. Two translations that are the same throughout keep
    # all their tokens, and tie.
    shortened = [
        tokens[n_shared:] if n_shared < len(tokens) else tokens
        for tokens, n_shared in zip(lists, rows["shared"], strict=True)
    ]
    return "without prefix", shortened


def _of_oracles(
    part: pd.DataFrame, tokens: pd.DataFrame | None, logarithms: bool
) -> dict[str, dict[str, np.ndarray]]:
    """Return per item what the best and the worst images score, by variant; where there
    are tokens also without the common prefix (Table 6 of the paper), the images chosen
    by whole perplexities.
    """
    _, extended = extended_grid(part)
    by_variant = {}
    shortened = None
    if tokens is not None:
        rows = tokens[np.isclose(tokens["temperature"], 1)]
        _, lists = _token_variant(rows, 1.0)
        _, shortened = extended_grid(rows.assign(cost=log_perplexities(lists)))
    for which in ("max", "min"):
        numbers = oracle(extended, which, logarithms)
        values = _of_pair(chosen(extended, numbers), logarithms)
        values["replacement rate"] = (numbers != 0).mean(axis=1)
        by_variant[f"oracle {which}"] = values
        if shortened is None:
            continue
        if shortened.shape != extended.shape or not _same_gaps(shortened, extended):
            raise InputError(
                "The tables of costs and of tokens have different images: make both in"
                " one run."
            )
        values = _of_pair(chosen(shortened, numbers), True)
        by_variant[f"oracle {which}, without prefix"] = values
    return by_variant


def _same_gaps(first: np.ndarray, second: np.ndarray) -> bool:
    return np.array_equal(np.isnan(first), np.isnan(second))


def _values(part: pd.DataFrame, tokens: pd.DataFrame | None) -> tuple[np.ndarray, dict]:
    """Return the items of a unit, and by (variant, metric) the values per item."""
    part, logarithms = comparable(part)
    items, original = cost_grid(part, ORIGINALS)
    by_variant = {"": _of_pair(original, logarithms)}
    images = set(part["image"].unique())
    for image in AMBIGUOUS:
        if image in images:
            _, grid = cost_grid(part, [image])
            by_variant[image] = _of_ambiguous(original, grid[:, 0], logarithms)
    at_temperatures = tokens.groupby("temperature") if tokens is not None else ()
    for temperature, rows in at_temperatures:
        variant, lists = _token_variant(rows, temperature)
        costs = rows.assign(cost=log_perplexities(lists))
        items_of_tokens, grid = cost_grid(costs, ORIGINALS)
        if not np.array_equal(items, items_of_tokens):
            raise InputError(
                "The tables of costs and of tokens have different items: make both in"
                " one run."
            )
        by_variant[variant] = _of_pair(grid, True)
    if images - {*ORIGINALS, *AMBIGUOUS}:
        by_variant |= _of_oracles(part, tokens, logarithms)
    return items, {
        (variant, metric): values
        for variant, of_metric in by_variant.items()
        for metric, values in of_metric.items()
    }


def outcomes(table: pd.DataFrame) -> pd.DataFrame:
    """Return what each item scores: model, replicate, dataset, lang, item, variant,
    metric, value (from 0 to 1).

    A value is the mean over the item's two senses, or for GTC and GIC whether both are
    right; `score_intervals` has the means over items of these values.
    """
    keys, names, items, values = [], [], [], []
    for key, part in units(table):
        items_of_unit, by_name = _values(part, None)
        for name, values_of_items in by_name.items():
            keys.append(key)
            names.append(name)
            items.append(items_of_unit)
            values.append(values_of_items)
    columns = pd.DataFrame(keys, columns=UNIT)
    columns[["variant", "metric"]] = names
    rows = np.repeat(np.arange(len(keys)), [len(part) for part in values])
    table = columns.iloc[rows].reset_index(drop=True)
    table = table.assign(item=np.concatenate(items), value=np.concatenate(values))
    return table[[*UNIT, "item", "variant", "metric", "value"]]


def score_intervals(
    table: pd.DataFrame,
    n_resamples: int = 1000,
    seed: int = 0,
    tokens: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return every score of every model, data set and language with its interval: a
    `scores` table.

    `table` has the schema `disambiguation`; `tokens`, if any, the schema `tokens`.
    Variants: "" (the original images) with TC, IC, GTC, GIC and the shares of ties,
    "ties TC" and "ties IC"; "mix" and "side", where there are such images, with
    `RATES`, "ties TC" (of the ambiguous image) and `between`; "oracle max" and "oracle
    min", where there are further images, with "replacement rate"; from the tokens
    "without prefix", "temperature 0.5" and so on, and "oracle max, without prefix".

    A score is the mean over items, and over the replicates of a model. `n`: two triples
    for each item, or for GTC and GIC the items. Intervals draw items, both senses and
    all replicates together; where all items score the same it is the exact binomial
    bound on the share of others (Clopper & Pearson 1934). A single item has none (NaN).
    """
    tokens_of = {}
    if tokens is not None:
        tokens = tables.categories(tables.check(tokens, "tokens"))
        tokens_of = dict(list(tokens.groupby(UNIT, sort=False, observed=True)))
    replicates_of: dict[tuple, list] = {}
    for key, part in units(table):
        model, _, dataset, lang = key
        measured = _values(part, tokens_of.get(key))
        replicates_of.setdefault((model, dataset, lang), []).append(measured)
    draws: dict[int, tuple] = {}
    parts = []
    for (model, dataset, lang), replicates in replicates_of.items():
        items, by_name = replicates[0]
        if not all(np.array_equal(others, items) for others, _ in replicates):
            raise InputError(
                f"The replicates of {model!r} on {dataset!r} in {lang!r} have different"
                " items."
            )
        stacked = [[values[name] for name in by_name] for _, values in replicates]
        values = np.stack(stacked).astype(float).mean(axis=0)
        metrics = [metric for _, metric in by_name]
        part = _intervals(values, metrics, draws, n_resamples, seed)
        variants = [variant for variant, _ in by_name]
        parts.append(
            part.assign(variant=variants, dataset=dataset, model=model, lang=lang)
        )
    scores = pd.concat(parts, ignore_index=True).assign(task=TASK, group="")
    return tables.check(scores, "scores")


def _intervals(
    values: np.ndarray,
    metrics: list[str],
    draws: dict[int, tuple],
    n_resamples: int,
    seed: int,
) -> pd.DataFrame:
    """Return metric, value, ci_low, ci_high, n of values (metric, item).

    `draws`: number of items -> weights (resamples, items) and the bound on a share
    that no item shows; kept for tables of as many items.
    """
    n_items = values.shape[1]
    mean = values.mean(axis=1)
    low = high = np.full(len(mean), np.nan)
    if n_items > 1:
        if n_items not in draws:
            weights = bootstrap.resample_weights(n_items, n_resamples, seed)
            _, bound = proportions.exact_interval(0, n_items)
            draws[n_items] = (weights, bound)
        weights, bound = draws[n_items]
        resampled = weights @ values.T / n_items
        low, high = bootstrap.percentile_interval(resampled, n_clusters=n_items)
        for row in np.flatnonzero(np.ptp(values, axis=1) == 0):
            is_half = metrics[row] in RATES and mean[row] <= 0.5
            top = 0.5 if is_half else 1
            low[row] = mean[row] * (1 - bound)
            high[row] = mean[row] + bound * (top - mean[row])
    n = [n_items if metric in ("GTC", "GIC") else 2 * n_items for metric in metrics]
    columns = {"metric": metrics, "value": mean, "ci_low": low, "ci_high": high, "n": n}
    return pd.DataFrame(columns)


def files(
    results: str,
    models: Iterable[str],
    translators: Iterable[str],
    names: Iterable[str],
) -> pd.DataFrame:
    """Return where a run keeps its costs: model, translator (bool), dataset, path,
    tokens ("" where there are none); no rows where it has none.

    `results`: the folder of the run; `names`: its data sets, of which those for other
    tasks are passed over.
    """
    asked = [(name, False) for name in models] + [(name, True) for name in translators]
    data_sets = [name for name in names if datasets.get_dataset(name).task == TASK]
    known = tables.of_run(results, "*/*.parquet")
    rows = []
    for model, is_translator in asked:
        for dataset in data_sets:
            file = f"{model}_{dataset}.parquet"
            path, tokens = f"{results}/{TASK}/{file}", f"{results}/tokens/{file}"
            if tables.locate(path) in known:
                has_tokens = is_translator and tables.locate(tokens) in known
                tokens = tokens if has_tokens else ""
                rows.append((model, is_translator, dataset, path, tokens))
    columns = ["model", "translator", "dataset", "path", "tokens"]
    return pd.DataFrame(rows, columns=columns)
