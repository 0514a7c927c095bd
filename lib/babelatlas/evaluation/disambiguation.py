"""Disambiguation: how a model scores two translations of an ambiguous sentence given two images.

An item is one ambiguous source with two senses, a and b; each has an image and a translation (Futeral et al. 2023). A
model gives each translation, given each image, a score (`cost`): a perplexity or a negative cosine similarity, lower
is better. The measures are those of Kashani Motlagh et al. (2024), "the paper" here, Equations 1 to 10: functions of
`costs` with the axes (item, image, text), where place 0 is sense a and place 1 sense b:

* TC, does the image choose the translation: given its image, the correct one scores lower than the other (Eq. 2);
* IC, does the translation choose the image: it scores lower given its image than given the other (Eq. 4);
* GTC and GIC: both senses of the item are right (Eqs. 6 and 7).

The inequalities are strict: a tie is wrong, and the share of ties is reported with every score. Costs are equal where
they differ by no more than `TIE` times the larger of them (times 1 where both are smaller), since what a model computes
in another order differs in the last digits; with `tie=0` the equations hold to the letter. The perplexities of a model
that is sure of itself all lie close above 1, where this would make ties of what differs. So functions of tables compare
their logarithms, and equal is what differs by no more than `TIE` times the larger of these. Functions of arrays do so
with `logarithms=True`, which says that the costs are log-perplexities.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import registry as datasets
from babelatlas.evaluation import perplexity
from babelatlas.evaluation.perplexity import TASK, TIE, UNIT
from babelatlas.stats import bootstrap

ORIGINALS = ("a0", "b0")
TEXTS = ("a", "b")
AMBIGUOUS = ("mix", "side")
METRICS = ("TC", "IC", "GTC", "GIC")
RATES = ("IPR", "INR", "CPR", "CNR")
# What is wrong with one row of costs.
ROW = "Translation {text!r} of item {item!r} given image {image!r} {where} %s ({n} of {size} rows)."


# --- From tables to arrays ------------------------------------------------------------------------------------------


def units(table: pd.DataFrame) -> Iterator[tuple[tuple[str, int, str, str], pd.DataFrame]]:
    """Yield (model, replicate, data set, language) and its rows, in order of appearance; all rows are checked first.

    `table` has the schema `disambiguation`; texts come back as categories. Raises InputError, naming the first, for
    rows that are not whole (`_check_rows`), a perplexity that is not above 0, and no rows.
    """
    table = tables.check(table, TASK)
    if table.empty:
        raise InputError("Disambiguation is measured on a table with rows, got an empty one: run notebook 22 or 23.")
    table = _categories(table)
    number = table.groupby(UNIT, sort=False, observed=True).ngroup().to_numpy()
    low = (table["similarity"] == "perplexity").to_numpy() & (table["cost"].to_numpy(float) <= 0)
    says = ROW % "has the cost {cost}, but a perplexity is above 0: score it again"
    _check_rows(table, number, {says: low}, originals=True)
    yield from table.groupby(UNIT, sort=False, observed=True)


def _categories(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with sorted categories for texts, so that each text is compared once, not in every unit."""
    names = [name for name in (*tables.TRIAL, "text") if name in table and name != "replicate"]
    names = [name for name in names if not _sorted(table[name])]
    return table.astype(dict.fromkeys(names, str)).astype(dict.fromkeys(names, "category"))


def _sorted(column: pd.Series) -> bool:
    return isinstance(column.dtype, pd.CategoricalDtype) and column.cat.categories.is_monotonic_increasing


def _check_rows(rows: pd.DataFrame, number: np.ndarray, more: dict[str, np.ndarray], originals: bool = False) -> None:
    """Raise InputError for what is wrong with the rows of the first unit in which something is, by the `number`s."""
    rows = rows.assign(unit=number)
    kinds = rows[["unit", *tables.PROTOCOL]].drop_duplicates()["unit"].value_counts()
    several, finite = np.isin(number, kinds.index[kinds > 1]), np.isfinite(rows["cost"].to_numpy(float))
    faults = {
        "The costs {where} have {kinds} protocols, {two}: select the rows of one.": several,
        ROW % "has the cost {cost}, expected a finite number: score it again": ~finite,
        **more,
        ROW % "is none of the translations 'a' and 'b': name it by its sense": ~rows["text"].isin(TEXTS).to_numpy(),
    }
    twice = rows.duplicated(["unit", "item", "image", "text"]).to_numpy()
    faults[ROW % "occurs twice: keep one row for each item, image and text"] = twice
    says = "Item {item!r} {where} has one side only given image {image!r}, translation {text!r}: give the cost of "
    faults[says + "the other translation, too."] = ~rows.duplicated(["unit", "item", "image"], keep=False).to_numpy()
    if originals:
        item = rows.groupby(["unit", "item"], observed=True, sort=False).ngroup()
        there = [(rows["image"] == name).groupby(item).transform("any").to_numpy() for name in ORIGINALS]
        says = "Item {item!r} {where} needs both original images, a0 and b0, got {there} ({items} item(s) so): give "
        faults[says + "the missing one, or leave the item out."] = ~np.logical_and(*there)
    wrong = np.any(list(faults.values()), axis=0)
    if not wrong.any():
        return
    here = number == number[wrong].min()
    part = rows[here]
    mask, says = next((mask[here], says) for says, mask in faults.items() if mask[here].any())
    row, protocols = part[mask].iloc[0], part[list(tables.PROTOCOL)].drop_duplicates().to_numpy()
    where = f"of {row['model']!r} on {row['dataset']!r} in {row['lang']!r}"
    where += f" (replicate {row['replicate']})" if row["replicate"] else ""
    where += f" at temperature {row['temperature']:g}" if "temperature" in row else ""
    there = sorted(set(part.loc[part["item"] == row["item"], "image"]) & set(ORIGINALS))
    facts = {"where": where, "n": int(mask.sum()), "size": len(part), "kinds": len(protocols)}
    facts |= {"two": " and ".join(", ".join(map(str, each)) for each in protocols[:2])}
    facts |= {"there": there[0] if there else "none", "items": part.loc[mask, "item"].nunique()}
    raise InputError(says.format(**row, **facts))


def cost_grid(part: pd.DataFrame, images: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the items of a unit in sorted order, and their costs (item, image, text), NaN where there is none.

    `part`: what `units` yields, whose texts are categories.
    """
    item, image, text = (part[name].array for name in ("item", "image", "text"))
    codes, row = np.unique(item.codes, return_inverse=True)
    place = {name: number for number, name in enumerate(images)}
    column = np.array([place.get(name, -1) for name in image.categories.tolist()])[image.codes]
    found = np.full((len(codes), len(images), 2), np.nan)
    here = column >= 0
    side = np.array([name == "b" for name in text.categories.tolist()], int)[text.codes]
    found[row[here], column[here], side[here]] = part["cost"].to_numpy(float)[here]
    return item.categories.to_numpy(object)[codes], found


def _mixed(part: pd.DataFrame, image: str) -> np.ndarray:
    """Return what the translations of a unit score given its ambiguous image "mix" or "side": (item, text)."""
    items, found = cost_grid(part, [image])
    lacking = np.isnan(found).any(axis=(1, 2))
    if lacking.any():
        raise InputError(
            f"Item {items[lacking][0]!r} has no costs given its image {image!r} ({int(lacking.sum())} of {len(items)} "
            "items): score the image for every item."
        )
    return found[:, 0]


def _extended(part: pd.DataFrame) -> np.ndarray:
    """Return the costs given all images of a sense, the original first: (item, sense, number, text); NaN for none."""
    names = pd.unique(part["image"])
    _check_images(names)
    most = 1 + max(int(name[1:]) for name in names if name not in AMBIGUOUS)
    _, found = cost_grid(part, [f"{sense}{number}" for sense in TEXTS for number in range(most)])
    return found.reshape(len(found), 2, most, 2)


def _check_images(names: Iterable[str]) -> None:
    odd = [name for name in names if name not in AMBIGUOUS and not re.fullmatch(r"[ab](0|[1-9]\d*)", name)]
    if odd:
        raise InputError(f"Image {odd[0]!r} has no sense: expected a0, a1, ..., b0, b1, ..., mix or side.")


def comparable(part: pd.DataFrame) -> tuple[pd.DataFrame, bool]:
    """Return a checked unit with the costs that are compared, and whether those are log-perplexities.

    Costs from a file of scores ("given") count as perplexities where all are above 0, as those of CoMMuTE are.
    """
    cost, kind = part["cost"].to_numpy(float), part["similarity"].iloc[0]
    if kind == "perplexity" or (kind == "given" and (cost > 0).all()):
        return part.assign(cost=np.log(cost)), True
    return part, False


# --- Measures of arrays ---------------------------------------------------------------------------------------------


def _compared(costs: np.ndarray, metric: str, tie: float, logarithms: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return where the right one of the costs that a metric compares is lower, and where they tie: bool (..., 2)."""
    costs = np.asarray(costs, float)
    if costs.ndim < 3 or costs.shape[-2:] != (2, 2):
        raise InputError(f"Costs have the axes item, image (2), text (2), got an array of shape {costs.shape}.")
    right = np.stack([costs[..., 0, 0], costs[..., 1, 1]], axis=-1)
    wrong = np.stack([costs[..., 0, 1], costs[..., 1, 0]], axis=-1)
    wrong = wrong if metric == "TC" else wrong[..., ::-1]
    margin = tie * np.maximum(0 if logarithms else 1, np.maximum(np.abs(right), np.abs(wrong)))
    return right < wrong - margin, np.abs(right - wrong) <= margin


def tc(costs: np.ndarray, tie: float = TIE, logarithms: bool = False) -> np.ndarray:
    """Return whether each image's own translation costs less: bool (item, 2), TC^{a,b}, TC^{b,a} (Eq. 2; mean: Eq. 3).

    `costs` (item, image, text).

    >>> tc(np.array([[[1.0, 2.0], [1.5, 2.5]]])).tolist()
    [[True, False]]
    """
    return _compared(costs, "TC", tie, logarithms)[0]


def ic(costs: np.ndarray, tie: float = TIE, logarithms: bool = False) -> np.ndarray:
    """Return whether each translation scores lower given its image: bool (item, 2), IC^{a,b}, IC^{b,a} (Eq. 4).

    `costs` (item, image, text). The mean over all is the score (Eq. 5).

    >>> ic(np.array([[[1.0, 2.0], [1.5, 2.5]]])).tolist()
    [[True, False]]
    """
    return _compared(costs, "IC", tie, logarithms)[0]


def gtc(costs: np.ndarray, tie: float = TIE, logarithms: bool = False) -> np.ndarray:
    """Return whether both images of an item choose their translation: bool (item,) (Eq. 6; the mean: Eq. 8)."""
    return tc(costs, tie, logarithms).all(axis=-1)


def gic(costs: np.ndarray, tie: float = TIE, logarithms: bool = False) -> np.ndarray:
    """Return whether both translations of an item choose their image: bool (item,) (Eq. 7); its mean is Eq. 9."""
    return ic(costs, tie, logarithms).all(axis=-1)


def ties(costs: np.ndarray, metric: str = "TC", tie: float = TIE, logarithms: bool = False) -> np.ndarray:
    """Return where the two costs that a metric ("TC" or "IC") compares are equal: bool (item, 2), counted as wrong."""
    if metric not in ("TC", "IC"):
        raise InputError(f"Ties are those of TC or of IC, got {metric!r}.")
    return _compared(costs, metric, tie, logarithms)[1]


def _ambiguous(mixed: np.ndarray) -> np.ndarray:
    """Return costs (item, image, text) in which the ambiguous image stands for both."""
    mixed = np.asarray(mixed, float)
    return np.stack([mixed, mixed], axis=-2)


def rates(costs: np.ndarray, mixed: np.ndarray, logarithms: bool = False) -> dict[str, np.ndarray]:
    """Return how decisions change from the ambiguous image to the original: IPR, INR, CPR, CNR, each bool (item, 2).

    `costs` (item, image, text), `mixed` (item, text). A decision is that of TC. Inconsistent positive (IPR): right with
    the original image, wrong with the ambiguous one; inconsistent negative (INR): the other way round; consistent
    positive (CPR): right with both; consistent negative (CNR): wrong with both (Section 5.3 of the paper). The means
    are the rates. A tie is wrong, as in TC.
    """
    now, before = (tc(each, logarithms=logarithms) for each in (costs, _ambiguous(mixed)))
    return {"IPR": now & ~before, "INR": ~now & before, "CPR": now & before, "CNR": ~now & ~before}


def between(costs: np.ndarray, mixed: np.ndarray) -> np.ndarray:
    """Return whether a translation's cost given the ambiguous image lies between its two others: bool (item, 2).

    Ends included. That it mostly does is why the paper takes the ambiguous image for "no image" (its Figure 3).
    """
    costs, mixed = np.asarray(costs, float), np.asarray(mixed, float)
    return (costs.min(axis=-2) <= mixed) & (mixed <= costs.max(axis=-2))


# --- Oracle: the images that help or harm most ----------------------------------------------------------------------


def oracle(extended: np.ndarray, which: str = "max", logarithms: bool = False) -> np.ndarray:
    """Return for each item the images that maximise ("max") or minimise ("min") GIC: numbers (item, 2), of a and of b.

    `extended` (item, sense, number, text), NaN where there is no image. Among the pairs with the highest (lowest) GIC
    the one with the lowest (highest) sum of confidence gaps is taken (Eq. 10); pairs that are equal even so go to the
    one that comes first, the originals before all others. With `logarithms` the gaps are still those of perplexities,
    as printed. Raises InputError for another name, or no image for a sense.
    """
    if which not in ("max", "min"):
        raise InputError(f"An oracle looks for 'max' or 'min', got {which!r}.")
    extended = np.asarray(extended, float)
    there = ~np.isnan(extended).any(axis=-1)
    if extended.ndim != 4 or not there.any(axis=-1).all():
        raise InputError(
            "An oracle needs at least one image for each sense of each item; its axes are item, sense, number, text."
        )
    n, _, most, _ = extended.shape
    # The images of a along axis 1, of b along axis 2: (item, number of a, number of b, image, text).
    pairs = np.stack(np.broadcast_arrays(extended[:, 0, :, None], extended[:, 1, None, :]), axis=-2)
    given = np.exp(pairs) if logarithms else pairs
    gap = (given[..., 0, 0] - given[..., 1, 0]) + (given[..., 1, 1] - given[..., 0, 1])  # Eq. 10
    allowed = there[:, 0, :, None] & there[:, 1, None, :]
    right = gic(pairs, logarithms=logarithms) & allowed
    wanted = right if which == "max" else ~right & allowed
    candidates = np.where(wanted.any(axis=(1, 2), keepdims=True), wanted, allowed)
    gap = np.where(candidates, gap if which == "max" else -gap, np.inf).reshape(n, -1)
    return np.stack(np.divmod(gap.argmin(axis=1), most), axis=-1)


def chosen(extended: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return the costs of the images with these numbers: (item, image, text), from (item, sense, number, text)."""
    extended = np.asarray(extended, float)
    rows = np.arange(len(extended))
    return np.stack([extended[rows, sense, numbers[:, sense]] for sense in (0, 1)], axis=1)


# --- Scores ---------------------------------------------------------------------------------------------------------


def _of_pair(found: np.ndarray, logarithms: bool) -> dict[str, np.ndarray]:
    """Return per item, as the mean over its senses, what the original or chosen images score."""
    right = {"TC": tc(found, logarithms=logarithms), "IC": ic(found, logarithms=logarithms)}
    values = {name: flags.mean(axis=1) for name, flags in right.items()}
    values |= {f"G{name}": flags.all(axis=1).astype(float) for name, flags in right.items()}
    return values | {f"ties {name}": ties(found, name, logarithms=logarithms).mean(axis=1) for name in right}


def _unit(part: pd.DataFrame, tokens: pd.DataFrame | None) -> tuple[np.ndarray, dict]:
    """Return the items of a checked unit, and by (variant, metric) the values per item."""
    part, logarithms = comparable(part)
    items, original = cost_grid(part, ORIGINALS)
    values = {"": _of_pair(original, logarithms)}
    images = set(part["image"].array.unique())
    for image in AMBIGUOUS:
        if image in images:
            blended = _mixed(part, image)
            found = rates(original, blended, logarithms) | {"between": between(original, blended)}
            found |= {"ties TC": ties(_ambiguous(blended), logarithms=logarithms)}
            values[image] = {name: flags.mean(axis=1) for name, flags in found.items()}
    bare = None
    if tokens is not None:
        for temperature, rows in tokens.groupby("temperature"):
            name = f"temperature {temperature:g}"
            if np.isclose(temperature, 1):
                rows = bare = rows.assign(cost=rows["suffix_cost"])
                name = "without prefix"
            values[name] = _of_pair(_same(items, *cost_grid(rows, ORIGINALS)), True)
    if images - {*ORIGINALS, *AMBIGUOUS}:
        wide = _extended(part)
        narrow = None
        if bare is not None and set(bare["image"].array.unique()) >= images - set(AMBIGUOUS):
            narrow = _extended(bare[bare["image"].isin(images)])
            _same(items, items, np.where(np.isnan(wide), 0, narrow))
        for which in ("max", "min"):
            numbers = oracle(wide, which, logarithms)
            name = f"oracle {which}"
            values[name] = _of_pair(chosen(wide, numbers), logarithms)
            values[name]["replacement rate"] = (numbers != 0).mean(axis=1)
            if narrow is not None:
                values[f"{name} without prefix"] = _of_pair(chosen(narrow, numbers), True)
    return items, {(variant, name): each for variant, part in values.items() for name, each in part.items()}


def _token_costs(tokens: pd.DataFrame) -> pd.DataFrame:
    """Return a `tokens` table with the columns cost and, at temperature 1, suffix_cost (log-perplexities), checked."""
    tokens = _categories(tables.check(tokens, "tokens"))
    _check_images(tokens["image"].array.unique())
    tokens = tokens.assign(cost=perplexity.log_perplexities(tokens["log_probabilities"].tolist()), suffix_cost=np.nan)
    number = tokens.groupby([*UNIT, "temperature"], sort=False, observed=True).ngroup().to_numpy()
    _check_rows(tokens, number, {})
    whole = np.isclose(tokens["temperature"], 1)
    tokens.loc[whole, "suffix_cost"] = perplexity.suffix_log_perplexities(tokens[whole])
    return tokens.drop(columns=["log_probabilities", "shared"])


def _same(items: np.ndarray, others: np.ndarray, found: np.ndarray) -> np.ndarray:
    if not np.array_equal(items, others):
        odd = sorted(set(items) ^ set(others))[0]
        raise InputError(f"Item {odd!r} is in the table of costs or of tokens, not in both: make both in one run.")
    lacking = np.isnan(found.reshape(len(found), -1)).any(axis=1)
    if lacking.any():
        raise InputError(
            f"Item {items[lacking][0]!r} has costs, but not all their tokens ({int(lacking.sum())} of {len(items)} "
            "items so): make both tables in one run."
        )
    return found


def outcomes(table: pd.DataFrame) -> pd.DataFrame:
    """Return what each item scores: model, replicate, dataset, lang, item, variant, metric, value (from 0 to 1).

    A value is the mean over the item's two senses, or for GTC and GIC whether both are right; `scores` are the means
    over items of these values.
    """
    return _outcomes(_values(table, None))


def _outcomes(measured: Iterable[tuple]) -> pd.DataFrame:
    parts = [(key, items, name, each) for key, items, values in measured for name, each in values.items()]
    keys, items, names, values = zip(*parts, strict=True)
    rows = np.repeat(np.arange(len(parts)), [len(each) for each in values])
    found = pd.DataFrame(keys, columns=UNIT).join(pd.DataFrame(names, columns=["variant", "metric"])).iloc[rows]
    found = found.reset_index(drop=True).assign(item=np.concatenate(items), value=np.concatenate(values))
    return found[[*UNIT, "item", "variant", "metric", "value"]]


def _values(table: pd.DataFrame, tokens: pd.DataFrame | None) -> Iterator[tuple]:
    known = {}
    if tokens is not None:
        known = dict(list(_token_costs(tokens).groupby(UNIT, sort=False, observed=True)))
        there = set(table[UNIT].drop_duplicates().itertuples(index=False, name=None))
        for model, _, dataset, lang in set(known) - there:
            raise InputError(
                f"There are tokens, but no costs of {model!r} on {dataset!r} in {lang!r}: give the tokens of models "
                "that the table of costs has."
            )
    for key, part in units(table):
        yield key, *_unit(part, known.get(key))


def scores(
    table: pd.DataFrame, n_resamples: int = 1000, seed: int = 0, tokens: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return every score of every model, data set and language with its interval: a `scores` table.

    `table` has the schema `disambiguation`; `tokens`, where given, the schema `tokens`. Variants: "" (the original
    images) with TC, IC, GTC, GIC and the shares of ties, "ties TC" and "ties IC"; "mix" and "side", where there are
    such images, with `RATES`, "ties TC" (of the ambiguous image) and `between`; "oracle max" and "oracle min", where
    there are further images, with "replacement rate"; from the tokens "without prefix", "temperature 0.5" and so on,
    and "oracle max without prefix" (the images are chosen with the prefix, as in Table 6 of the paper).

    A score is the mean over items, and over the replicates of a model; then rows of the metric "TC, sd" and so on hold
    their standard deviation (n - 1). `n`: two triples for each item, or for GTC and GIC the items. Intervals draw
    items, both senses and all replicates together, the same for all models. Where all items score the same it is the
    exact binomial bound on the share of other items (Clopper & Pearson 1934). A single item has none (NaN). Raises what
    `units` raises, and InputError where the replicates have different items.
    """
    return scores_and_outcomes(table, n_resamples, seed, tokens)[0]


def scores_and_outcomes(
    table: pd.DataFrame, n_resamples: int = 1000, seed: int = 0, tokens: pd.DataFrame | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what `scores` and `outcomes` return, measured once."""
    measured = list(_values(table, tokens))
    groups: dict[tuple, list] = {}
    for (model, _, dataset, lang), items, values in measured:
        groups.setdefault((model, dataset, lang), []).append((items, values))
    weights: dict[int, tuple] = {}
    parts = []
    for (model, dataset, lang), replicates in groups.items():
        names = list(replicates[0][1])
        for items, values in replicates[1:]:
            if not np.array_equal(items, replicates[0][0]) or list(values) != names:
                raise unlike_perplexities(model, dataset, lang)
        each = np.stack([[values[name] for name in names] for _, values in replicates], axis=0).astype(float)
        part = _intervals(each.mean(axis=0), [metric for _, metric in names], weights, n_resamples, seed)
        part = part.assign(variant=[variant for variant, _ in names])
        if len(replicates) > 1:
            spread = each.mean(axis=2).std(axis=0, ddof=1)
            spread = part.assign(value=spread, ci_low=np.nan, ci_high=np.nan, metric=part["metric"] + ", sd")
            part = pd.concat([part, spread], ignore_index=True)
        parts.append(part.assign(task=TASK, dataset=dataset, model=model, lang=lang, group=""))
    return tables.check(pd.concat(parts, ignore_index=True), "scores"), _outcomes(measured)


def unlike_perplexities(model: str, dataset: str, lang: str) -> InputError:
    return InputError(
        f"The replicates of {model!r} on {dataset!r} in {lang!r} have different items, images or tokens: score all on "
        "the same."
    )


def _intervals(each, metrics, known, n_resamples, seed) -> pd.DataFrame:
    """Return metric, value, ci_low, ci_high, n of values (metric, item)."""
    size = each.shape[1]
    value = each.mean(axis=1)
    low = high = np.full(len(value), np.nan)
    if size > 1:
        if size not in known:
            known[size] = bootstrap.resample_weights(size, n_resamples, seed), bootstrap.clopper_pearson(0, size)[1]
        weights, share = known[size]
        low, high = bootstrap.percentile_interval(weights @ each.T / size, n_clusters=size)
        for row in np.flatnonzero(np.ptp(each, axis=1) == 0):
            top = 0.5 if metrics[row] in RATES and value[row] <= 0.5 else 1
            low[row], high[row] = value[row] * (1 - share), value[row] + share * (top - value[row])
    n = [size if metric in ("GTC", "GIC") else 2 * size for metric in metrics]
    return pd.DataFrame({"metric": metrics, "value": value, "ci_low": low, "ci_high": high, "n": n})


# --- Files of a run -------------------------------------------------------------------------------------------------


def files(results: str, models: Iterable[str], translators: Iterable[str], names: Iterable[str]) -> pd.DataFrame:
    """Return where a run keeps its costs: model, translator (bool), dataset, path, tokens ("" where there are none).

    `results`: the folder of the run; `names`: its data sets, of which those for other tasks are passed over. Raises
    InputError for a data set that the study does not know, where a model has no table for one, and where a translator
    has none at all.
    """
    rows, lacking, translators = [], [], list(translators)
    models = [*models, *translators]
    for dataset in names:
        for model in models if datasets.get_dataset(dataset).task == TASK else ():
            path = f"{results}/disambiguation/{model}_{dataset}.parquet"
            if not tables.locate(path).is_file():
                lacking.append((model, dataset, path))
                continue
            tokens = f"{results}/tokens/{model}_{dataset}.parquet"
            there = model in translators and tables.locate(tokens).is_file()
            rows.append([model, model in translators, dataset, path, tokens if there else ""])
    found = {row[0] for row in rows if row[1]}
    for model, dataset, path in [one for one in lacking if one[0] not in found]:
        raise InputError(
            f"There are no costs of {model!r} on {dataset!r}, expected {path}: run notebook "
            f"{23 if model in translators else 22} for this pair, or name other models or data sets."
        )
    columns = {"model": str, "translator": bool, "dataset": str, "path": str, "tokens": str}
    return pd.DataFrame(rows, columns=list(columns)).astype(columns)
