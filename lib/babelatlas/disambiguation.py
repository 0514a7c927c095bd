"""Disambiguation: what two translations of an ambiguous sentence cost beside two images, and what that says of a model.

An item is one ambiguous source with two senses, a and b; each has an image and a translation (Futeral et al. 2023). A
model gives each translation beside each image a cost, lower is better: a perplexity, or minus a cosine. The measures
are those of Kashani Motlagh et al. (2024), called "the paper" here, Equations 1 to 10. They are functions of one array,
`costs` with the axes (item, image, text), where place 0 is sense a and place 1 sense b:

* TC, does the image choose the translation: beside its image the right translation costs less than the other (Eq. 2);
* IC, does the translation choose the image: it costs less beside its image than beside the other (Eq. 4);
* GTC and GIC: both senses of the item are right (Eqs. 6 and 7).

The inequalities are strict: a tie is wrong, and the share of ties is reported beside every score. Costs are equal where
they differ by no more than `TIE` times the larger of them (times 1 where both are smaller), since what a model computes
in another order differs in the last digits; with `tie=0` the equations hold to the letter. The perplexities of a model
that is sure of itself all lie close above 1, where this would make ties of what differs. They are ordered as their
logarithms are: functions of tables compare those, and equal is what differs by no more than `TIE` times the larger of
two logarithms. Functions of arrays do so with `logarithms=True`, which says that the costs are log-perplexities. Scores
from files (similarity "given") count as perplexities where all of a model's in a language are above 0.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd

from babelatlas import InputError, datasets, near, stats, tables

TIE = 1e-6
ORIGINALS = ("a0", "b0")
TEXTS = ("a", "b")
AMBIGUOUS = ("mix", "side")
METRICS = ("TC", "IC", "GTC", "GIC")
RATES = ("IPR", "INR", "CPR", "CNR")
# One training of one model on one data set in one language: what one array of costs is of.
UNIT = ["model", "replicate", "dataset", "lang"]
TASK = "disambiguation"


# --- From tokens to costs -------------------------------------------------------------------------------------------


def perplexity(log_probabilities: Sequence[float]) -> float:
    """Return the perplexity of a translation: exp of minus the mean log-probability of its tokens (Eq. 1).

    Natural logarithms. Raises InputError for no tokens, for numbers that no probability has, and for a perplexity that
    is too large for a number.

    >>> round(perplexity([np.log(0.5), np.log(0.125)]), 6)
    4.0
    """
    return float(_perplexities(_log_perplexities([np.asarray(log_probabilities, float)]))[0])


def _perplexities(logarithms: np.ndarray) -> np.ndarray:
    large = logarithms > np.log(np.finfo(float).max)
    if large.any():
        raise InputError(
            f"The logarithm of a perplexity is {logarithms.max():g}, too large for a number ({int(large.sum())} of "
            f"{len(large)} translations): check the log-probabilities, or leave out their temperature."
        )
    return np.exp(logarithms)


def _log_perplexities(lists: Sequence[np.ndarray]) -> np.ndarray:
    """Return the log-perplexity of each list of log-probabilities, in one pass over all of them."""
    lengths = np.fromiter((len(one) for one in lists), int, len(lists))
    if (lengths == 0).any():
        raise InputError(
            "A perplexity needs at least one token, got none: the tokenizer maps the translation to nothing."
        )
    if not len(lists):
        return np.zeros(0)
    every = np.concatenate([np.asarray(one, float) for one in lists])
    bad = every[~(np.isfinite(every) & (every <= TIE))]
    if len(bad):
        raise InputError(
            f"A log-probability is a finite number that is at most 0, got {bad[0]} ({len(bad)} of {len(every)} tokens "
            "are not): check the model's precision, and that the softmax was taken in float32."
        )
    sums = np.add.reduceat(every, np.cumsum(lengths) - lengths)
    return -sums / lengths


def at_temperature(tokens: pd.DataFrame, temperature: float = 1.0) -> pd.DataFrame:
    """Return the perplexities at a temperature as a `disambiguation` table, from a `tokens` table.

    The logits were divided by `temperature` before the softmax (Guo et al. 2017; Section 6 of the paper). Raises
    InputError where the table has not this temperature, and what `perplexity` raises.
    """
    rows = _at(tokens, temperature)
    return _as_costs(rows, _perplexities(_log_perplexities(rows["log_probabilities"].tolist())))


def without_prefix(tokens: pd.DataFrame, temperature: float = 1.0) -> pd.DataFrame:
    """Return perplexities without the tokens that both translations of an item begin with (Section 6 of the paper).

    A `disambiguation` table, from a `tokens` table: the mean goes over the tokens after the first `shared`, each
    conditioned on the prefix as before. Two translations that are the same throughout have nothing left; they keep all
    their tokens, and tie. Raises InputError where only one has nothing left, or `shared` exceeds a translation.
    """
    rows = _at(tokens, temperature)
    return _as_costs(rows, _perplexities(_without(rows)))


def _without(rows: pd.DataFrame) -> np.ndarray:
    """Return the log-perplexities without the shared tokens."""
    lists, shared = rows["log_probabilities"].tolist(), rows["shared"].to_numpy()
    left = np.fromiter((len(one) for one in lists), int, len(lists)) - shared
    image = rows[[*UNIT, "item", "image"]]
    gone = pd.Series(left == 0, index=rows.index).groupby([image[name] for name in image]).transform("mean")
    wrong = (left < 0) | (shared < 0) | ((gone > 0) & (gone < 1)).to_numpy()
    if wrong.any():
        row = rows[wrong].iloc[0]
        raise InputError(
            f"Item {row['item']!r} of {row['model']!r} in {row['lang']!r} shares {row['shared']} tokens, but "
            f"translation {row['text']!r} has {len(row['log_probabilities'])}: every translation has an end "
            "token, so that one remains; make the table of tokens again."
        )
    kept = [one if rest == 0 else one[start:] for one, start, rest in zip(lists, shared, left, strict=True)]
    return _log_perplexities(kept)


def _at(tokens: pd.DataFrame, temperature: float) -> pd.DataFrame:
    tokens = tables.check(tokens, "tokens")
    rows = tokens[np.isclose(tokens["temperature"], temperature)]
    if rows.empty:
        known = ", ".join(f"{value:g}" for value in sorted(tokens["temperature"].unique()))
        raise InputError(
            f"There are no tokens at temperature {temperature:g}: the table has {known or 'no rows'}; name the "
            "temperature in notebook 23 and run it again."
        )
    return rows


def _as_costs(rows: pd.DataFrame, cost: np.ndarray) -> pd.DataFrame:
    return tables.check(rows[list(tables.TRIAL)].assign(cost=cost).reset_index(drop=True), TASK)


# --- From tables to arrays ------------------------------------------------------------------------------------------


def units(table: pd.DataFrame) -> Iterator[tuple[tuple[str, int, str, str], pd.DataFrame]]:
    """Yield (model, replicate, data set, language) and its rows, in order of appearance, each checked.

    `table` has the schema `disambiguation`. Raises InputError, naming the first, for a cost that is missing or
    infinite, a perplexity that is not above 0, a translation that is neither "a" nor "b", a row that occurs twice, an
    image beside which only one translation has a cost, an item with an original image for one sense only, two protocols
    in one unit, no rows.
    """
    table = tables.check(table, TASK)
    if table.empty:
        raise InputError("Disambiguation is measured on a table with rows, got an empty one: run notebook 22 or 23.")
    for key, part in table.groupby(UNIT, sort=False, observed=True):
        yield key, _checked(part, key)


def _where(key: tuple) -> str:
    model, replicate, dataset, lang = key
    return f"of {model!r} on {dataset!r} in {lang!r}" + (f" (replicate {replicate})" if replicate else "")


def _checked(part: pd.DataFrame, key: tuple) -> pd.DataFrame:
    where = _where(key)
    low = (part["similarity"] == "perplexity").to_numpy() & (part["cost"].to_numpy(float) <= 0)
    _check_rows(part, where, (low, "has the cost {cost}, but a perplexity is above 0: score it again"))
    originals = part[part["image"].isin(ORIGINALS)].groupby("item")["image"].nunique()
    lacking = originals.reindex(part["item"].unique(), fill_value=0)
    lacking = lacking[lacking < 2]
    if len(lacking):
        there = sorted(set(part.loc[part["item"] == lacking.index[0], "image"]) & set(ORIGINALS))
        raise InputError(
            f"Item {lacking.index[0]!r} {where} needs both original images, a0 and b0, got "
            f"{there[0] if there else 'none'} ({len(lacking)} item(s) so): give the missing one, or leave the item out."
        )
    return part


def _check_rows(part: pd.DataFrame, where: str, *more: tuple[np.ndarray, str]) -> None:
    protocols = part[list(tables.PROTOCOL)].drop_duplicates()
    if len(protocols) > 1:
        told = " and ".join(", ".join(map(str, row)) for row in protocols.to_numpy()[:2])
        raise InputError(f"The costs {where} have {len(protocols)} protocols, {told}: select the rows of one.")
    cost = part["cost"].to_numpy(float)
    for wrong, what in (
        (~np.isfinite(cost), "has the cost {cost}, expected a finite number: score it again"),
        *more,
        (~part["text"].isin(TEXTS).to_numpy(), "is none of the translations 'a' and 'b': name it by its sense"),
        (
            part.duplicated(["item", "image", "text"]).to_numpy(),
            "occurs twice: keep one row for each item, image and text",
        ),
    ):
        if wrong.any():
            row = part[wrong].iloc[0]
            raise InputError(
                f"Translation {row['text']!r} of item {row['item']!r} beside image {row['image']!r} {where} "
                f"{what.format(cost=row['cost'])} ({int(wrong.sum())} of {len(part)} rows)."
            )
    single = ~part.duplicated(["item", "image"], keep=False).to_numpy()
    if single.any():
        row = part[single].iloc[0]
        raise InputError(
            f"Item {row['item']!r} {where} has one side only beside image {row['image']!r}, translation "
            f"{row['text']!r}: give the cost of the other translation, too."
        )


def _one(table: pd.DataFrame) -> pd.DataFrame:
    found = list(units(table))
    if len(found) > 1:
        raise InputError(
            f"An array of costs is of one model, replicate, data set and language, got {len(found)}: select one "
            "of them, or go through `units`."
        )
    return found[0][1]


def _grid(part: pd.DataFrame, images: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the items of a unit in sorted order, and their costs (item, image, text), NaN where there is none."""
    items, row = np.unique(part["item"].astype(str), return_inverse=True)
    column = pd.Index(images).get_indexer(part["image"])
    found = np.full((len(items), len(images), 2), np.nan)
    here = column >= 0
    text = (part["text"] == "b").to_numpy().astype(int)
    found[row[here], column[here], text[here]] = part["cost"].to_numpy(float)[here]
    return items, found


def costs(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the items of one unit, sorted, and what their translations cost beside the original images.

    The second has the axes (item, image, text), a before b. `table`: rows of one model, replicate, data set and
    language (see `units`, which also says what raises InputError).
    """
    return _grid(_one(table), ORIGINALS)


def mixed(table: pd.DataFrame, image: str = "mix") -> np.ndarray:
    """Return what the translations cost beside the ambiguous image, axes (item, text), the items as in `costs`.

    `image`: "mix" (half and half, Section 5.3 of the paper) or "side" (side by side). Raises InputError for another
    image, for an item that lacks it, and what `units` raises.
    """
    if image not in AMBIGUOUS:
        raise InputError(f"There is no ambiguous image {image!r}: {near(image, AMBIGUOUS)}")
    return _mixed(_one(table), image)


def _mixed(part: pd.DataFrame, image: str) -> np.ndarray:
    items, found = _grid(part, [image])
    lacking = np.isnan(found).any(axis=(1, 2))
    if lacking.any():
        raise InputError(
            f"Item {items[lacking][0]!r} has no costs beside its image {image!r} ({int(lacking.sum())} of {len(items)} "
            "items): score the image for every item."
        )
    return found[:, 0]


def extended(table: pd.DataFrame) -> np.ndarray:
    """Return what the translations cost beside all images of the two senses, axes (item, sense, number, text).

    Number 0 is the original image. Where a sense has fewer images than another the last places hold NaN. The items are
    those of `costs`. Raises InputError for an image that has another name, and what `units` raises.
    """
    return _extended(_one(table))


def _extended(part: pd.DataFrame) -> np.ndarray:
    names = pd.unique(part["image"])
    _check_images(names)
    most = 1 + max(int(name[1:]) for name in names if name not in AMBIGUOUS)
    _, found = _grid(part, [f"{sense}{number}" for sense in TEXTS for number in range(most)])
    return found.reshape(len(found), 2, most, 2)


def _check_images(names: Iterable[str]) -> None:
    odd = [name for name in names if name not in AMBIGUOUS and not re.fullmatch(r"[ab](0|[1-9]\d*)", name)]
    if odd:
        raise InputError(f"Image {odd[0]!r} has no sense: expected a0, a1, ..., b0, b1, ..., mix or side.")


def _comparable(part: pd.DataFrame) -> tuple[pd.DataFrame, bool]:
    """Return a checked unit with the costs that are compared, and whether those are log-perplexities.

    Costs from a file of scores ("given") count as perplexities where all are above 0, as those of CoMMuTE are.
    """
    cost, kind = part["cost"].to_numpy(float), part["similarity"].iloc[0]
    if kind == "perplexity" or (kind == "given" and (cost > 0).all()):
        return part.assign(cost=np.log(cost)), True
    return part, False


# --- Measures of arrays ---------------------------------------------------------------------------------------------


def _margin(x: np.ndarray, y: np.ndarray, tie: float, logarithms: bool) -> np.ndarray:
    return tie * np.maximum(0 if logarithms else 1, np.maximum(np.abs(x), np.abs(y)))


def _lower(x: np.ndarray, y: np.ndarray, tie: float, logarithms: bool) -> np.ndarray:
    return x < y - _margin(x, y, tie, logarithms)


def _equal(x: np.ndarray, y: np.ndarray, tie: float, logarithms: bool) -> np.ndarray:
    return np.abs(x - y) <= _margin(x, y, tie, logarithms)


def _pairs(costs: np.ndarray, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the costs that a metric compares, right and wrong, each (..., sense)."""
    costs = np.asarray(costs, float)
    if costs.ndim < 3 or costs.shape[-2:] != (2, 2):
        raise InputError(f"Costs have the axes item, image (2), text (2), got an array of shape {costs.shape}.")
    right = np.stack([costs[..., 0, 0], costs[..., 1, 1]], axis=-1)
    if metric == "TC":
        return right, np.stack([costs[..., 0, 1], costs[..., 1, 0]], axis=-1)
    return right, np.stack([costs[..., 1, 0], costs[..., 0, 1]], axis=-1)


def tc(costs: np.ndarray, tie: float = TIE, logarithms: bool = False) -> np.ndarray:
    """Return whether each image's own translation costs less: bool (item, 2), TC^{a,b}, TC^{b,a} (Eq. 2).

    `costs` (item, image, text). The mean over all is the score (Eq. 3).

    >>> tc(np.array([[[1.0, 2.0], [1.5, 2.5]]])).tolist()
    [[True, False]]
    """
    return _lower(*_pairs(costs, "TC"), tie, logarithms)


def ic(costs: np.ndarray, tie: float = TIE, logarithms: bool = False) -> np.ndarray:
    """Return whether each translation costs less beside its image: bool (item, 2), IC^{a,b}, IC^{b,a} (Eq. 4).

    `costs` (item, image, text). The mean over all is the score (Eq. 5).

    >>> ic(np.array([[[1.0, 2.0], [1.5, 2.5]]])).tolist()
    [[True, False]]
    """
    return _lower(*_pairs(costs, "IC"), tie, logarithms)


def gtc(costs: np.ndarray, tie: float = TIE, logarithms: bool = False) -> np.ndarray:
    """Return whether both images of an item choose their translation: bool (item,) (Eq. 6); its mean is Eq. 8."""
    return tc(costs, tie, logarithms).all(axis=-1)


def gic(costs: np.ndarray, tie: float = TIE, logarithms: bool = False) -> np.ndarray:
    """Return whether both translations of an item choose their image: bool (item,) (Eq. 7); its mean is Eq. 9."""
    return ic(costs, tie, logarithms).all(axis=-1)


def ties(costs: np.ndarray, metric: str = "TC", tie: float = TIE, logarithms: bool = False) -> np.ndarray:
    """Return where the two costs that a metric ("TC" or "IC") compares are equal: bool (item, 2), counted as wrong."""
    if metric not in ("TC", "IC"):
        raise InputError(f"Ties are those of TC or of IC, got {metric!r}.")
    return _equal(*_pairs(costs, metric), tie, logarithms)


def _ambiguous(mixed: np.ndarray) -> np.ndarray:
    """Return costs (item, image, text) in which the ambiguous image stands for both."""
    mixed = np.asarray(mixed, float)
    return np.stack([mixed, mixed], axis=-2)


def rates(costs: np.ndarray, mixed: np.ndarray, tie: float = TIE, logarithms: bool = False) -> dict[str, np.ndarray]:
    """Return how decisions change from the ambiguous image to the original: IPR, INR, CPR, CNR, each bool (item, 2).

    `costs` (item, image, text), `mixed` (item, text). A decision is that of TC. Inconsistent positive (IPR): right with
    the original image, wrong with the ambiguous one; inconsistent negative (INR): the other way round; consistent
    positive (CPR): right with both; consistent negative (CNR): wrong with both (Section 5.3 of the paper). The means
    are the rates; they add up to 1, and IPR + CPR = TC. A tie is wrong, as in TC. Where the ambiguous image makes none,
    IPR + CNR = INR + CPR = 0.5; where it does, IPR + CNR is more.
    """
    now, before = tc(costs, tie, logarithms), tc(_ambiguous(mixed), tie, logarithms)
    return {"IPR": now & ~before, "INR": ~now & before, "CPR": now & before, "CNR": ~now & ~before}


def between(costs: np.ndarray, mixed: np.ndarray) -> np.ndarray:
    """Return whether a translation's cost beside the ambiguous image lies between its two others: bool (item, 2).

    Ends included. That it mostly does is why the paper takes the ambiguous image for "no image" (its Figure 3).
    """
    costs, mixed = np.asarray(costs, float), np.asarray(mixed, float)
    return (costs.min(axis=-2) <= mixed) & (mixed <= costs.max(axis=-2))


# --- Oracle: the images that help or harm most ----------------------------------------------------------------------


def oracle(extended: np.ndarray, which: str = "max", tie: float = TIE, logarithms: bool = False) -> np.ndarray:
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
    first, second = extended[:, 0, :, None], extended[:, 1, None, :]  # the images of a along axis 1, of b along axis 2
    first, second = np.broadcast_arrays(first, second)
    pairs = np.stack([first, second], axis=-2)  # (item, number of a, number of b, image, text)
    given = np.exp(pairs) if logarithms else pairs
    gap = (given[..., 0, 0] - given[..., 1, 0]) + (given[..., 1, 1] - given[..., 0, 1])  # Eq. 10
    allowed = there[:, 0, :, None] & there[:, 1, None, :]
    right = gic(pairs, tie, logarithms) & allowed
    wanted = right if which == "max" else ~right & allowed
    candidates = np.where(wanted.any(axis=(1, 2), keepdims=True), wanted, allowed)
    gap = np.where(candidates, gap if which == "max" else -gap, np.inf).reshape(n, -1)
    return np.stack(np.divmod(gap.argmin(axis=1), most), axis=-1)


def chosen(extended: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return the costs of the images with these numbers: (item, image, text), from (item, sense, number, text)."""
    extended = np.asarray(extended, float)
    rows = np.arange(len(extended))
    return np.stack([extended[rows, sense, numbers[:, sense]] for sense in (0, 1)], axis=1)


def replaced(numbers: np.ndarray) -> np.ndarray:
    """Return which chosen images are not the original ones: bool (item, 2); the mean is the replacement rate.

    An oracle that chooses blindly among k images for each sense has the rate 1 - 1/k.
    """
    return np.asarray(numbers) != 0


# --- Scores ---------------------------------------------------------------------------------------------------------


def _of_pair(found: np.ndarray, tie: float, logarithms: bool) -> dict[str, np.ndarray]:
    """Return per item, as the mean over its senses, what the original or chosen images score."""
    right = {"TC": tc(found, tie, logarithms), "IC": ic(found, tie, logarithms)}
    values = {name: flags.mean(axis=1) for name, flags in right.items()}
    values |= {f"G{name}": flags.all(axis=1).astype(float) for name, flags in right.items()}
    return values | {f"ties {name}": ties(found, name, tie, logarithms).mean(axis=1) for name in right}


def _unit(part: pd.DataFrame, where: str, tie: float, tokens: pd.DataFrame | None) -> tuple[np.ndarray, dict]:
    """Return the items of a checked unit, and by (variant, metric) the values per item."""
    part, logarithms = _comparable(part)
    items, original = _grid(part, ORIGINALS)
    values = {"": _of_pair(original, tie, logarithms)}
    images = set(part["image"].unique())
    for image in AMBIGUOUS:
        if image in images:
            blended = _mixed(part, image)
            values[image] = rates(original, blended, tie, logarithms) | {"between": between(original, blended)}
            values[image] |= {"ties TC": ties(_ambiguous(blended), "TC", tie, logarithms)}
            values[image] = {name: flags.mean(axis=1) for name, flags in values[image].items()}
    bare = None
    if tokens is not None:
        _check_images(pd.unique(tokens["image"]))
        cost = _log_perplexities(tokens["log_probabilities"].tolist())
        for temperature, rows in tokens.assign(cost=cost).groupby("temperature"):
            _check_rows(rows, f"{where} at temperature {temperature:g}")
            name = f"temperature {temperature:g}"
            if np.isclose(temperature, 1):
                rows = bare = rows.assign(cost=_without(rows))
                name = "without prefix"
            values[name] = _of_pair(_same(items, *_grid(rows, ORIGINALS)), tie, True)
    if images - {*ORIGINALS, *AMBIGUOUS}:
        wide = _extended(part)
        narrow = None
        if bare is not None and set(bare["image"]) >= images - set(AMBIGUOUS):
            narrow = _extended(bare[bare["image"].isin(images)])
            _same(items, items, np.where(np.isnan(wide), 0, narrow))
        for which in ("max", "min"):
            numbers = oracle(wide, which, tie, logarithms)
            name = f"oracle {which}"
            values[name] = _of_pair(chosen(wide, numbers), tie, logarithms)
            values[name]["replacement rate"] = replaced(numbers).mean(axis=1)
            if narrow is not None:
                values[f"{name} without prefix"] = _of_pair(chosen(narrow, numbers), tie, True)
    return items, {(variant, name): each for variant, part in values.items() for name, each in part.items()}


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


def outcomes(table: pd.DataFrame, tie: float = TIE, tokens: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return what each item scores: model, replicate, dataset, lang, item, variant, metric, value (from 0 to 1).

    A value is the mean over the item's two senses, or for GTC and GIC whether both are right. Variants and metrics are
    those of `scores`, which are the means over items of these values. For paired tests, take the items as units.
    """
    parts = []
    for key, items, values in _values(table, tie, tokens):
        for (variant, metric), each in values.items():
            part = dict(zip(UNIT, key, strict=True)) | {"item": items, "variant": variant, "metric": metric}
            parts.append(pd.DataFrame(part | {"value": each}))
    return pd.concat(parts, ignore_index=True)[[*UNIT, "item", "variant", "metric", "value"]]


def _values(table: pd.DataFrame, tie: float, tokens: pd.DataFrame | None) -> Iterator[tuple]:
    known = {}
    if tokens is not None:
        known = dict(list(tables.check(tokens, "tokens").groupby(UNIT, sort=False, observed=True)))
        there = set(table[UNIT].drop_duplicates().itertuples(index=False, name=None))
        for model, _, dataset, lang in set(known) - there:
            raise InputError(
                f"There are tokens, but no costs of {model!r} on {dataset!r} in {lang!r}: give the tokens of models "
                "that the table of costs has."
            )
    for key, part in units(table):
        yield key, *_unit(part, _where(key), tie, known.get(key))


def scores(
    table: pd.DataFrame,
    resamples: int = 1000,
    seed: int = 0,
    tokens: pd.DataFrame | None = None,
    tie: float = TIE,
    level: float = 0.95,
) -> pd.DataFrame:
    """Return every score of every model, data set and language with its interval: a `scores` table.

    `table` has the schema `disambiguation`; `tokens`, where given, the schema `tokens`. Variants: "" (the original
    images) with TC, IC, GTC, GIC and the shares of ties, "ties TC" and "ties IC"; "mix" and "side", where there are
    such images, with IPR, INR, CPR, CNR, "ties TC" (of the ambiguous image) and "between" (see there); "oracle max" and
    "oracle min", where there are further images, with "replacement rate"; from the tokens "without prefix",
    "temperature 0.5" and so on, and "oracle max without prefix" (the images are chosen with the prefix, as in Table 6
    of the paper).

    A score is the mean over items, and where a model was trained several times over its replicates; then rows of the
    metric "TC, sd" and so on hold their standard deviation (n - 1), without an interval. `n` is what a value is a mean
    over: two triples for each item, or for GTC and GIC the items. Intervals draw items, both senses and all replicates
    together, the same items for all models. Where all items score the same no resample differs: there the exact
    binomial bound on the share of other items (Clopper & Pearson 1934) is how far the score could move. A single item
    has no interval (NaN). Raises what `units` raises, and InputError where the replicates have different items.
    """
    groups: dict[tuple, list] = {}
    for (model, _, dataset, lang), items, values in _values(table, tie, tokens):
        groups.setdefault((model, dataset, lang), []).append((items, values))
    drawn: dict[int, tuple] = {}
    parts = []
    for (model, dataset, lang), replicates in groups.items():
        names = list(replicates[0][1])
        for items, values in replicates[1:]:
            if not np.array_equal(items, replicates[0][0]) or list(values) != names:
                raise _unlike(model, dataset, lang)
        each = np.stack([[values[name] for name in names] for _, values in replicates], axis=0).astype(float)
        part = _intervals(each.mean(axis=0), [metric for _, metric in names], drawn, resamples, seed, level)
        part = part.assign(variant=[variant for variant, _ in names])
        if len(replicates) > 1:
            spread = each.mean(axis=2).std(axis=0, ddof=1)
            spread = part.assign(value=spread, ci_low=np.nan, ci_high=np.nan, metric=part["metric"] + ", sd")
            part = pd.concat([part, spread], ignore_index=True)
        parts.append(part.assign(task=TASK, dataset=dataset, model=model, lang=lang, group=""))
    return tables.check(pd.concat(parts, ignore_index=True), "scores")


def _unlike(model: str, dataset: str, lang: str) -> InputError:
    return InputError(
        f"The replicates of {model!r} on {dataset!r} in {lang!r} have different items, images or tokens: score all on "
        "the same."
    )


def _intervals(each, metrics, drawn, resamples, seed, level) -> pd.DataFrame:
    """Return metric, value, ci_low, ci_high, n of values (metric, item)."""
    size = each.shape[1]
    value = each.mean(axis=1)
    low = high = np.full(len(value), np.nan)
    if size > 1:
        if size not in drawn:
            drawn[size] = stats.weights(size, resamples, seed), stats.exact(0, size, level)[1]
        weights, share = drawn[size]
        low, high = stats.interval(weights @ each.T / size, level, size)
        for row in np.flatnonzero(np.ptp(each, axis=1) == 0):
            top = 0.5 if metrics[row] in RATES and value[row] <= 0.5 else 1
            low[row], high[row] = value[row] * (1 - share), value[row] + share * (top - value[row])
    n = [size if metric in ("GTC", "GIC") else 2 * size for metric in metrics]
    return pd.DataFrame({"metric": metrics, "value": value, "ci_low": low, "ci_high": high, "n": n})


# --- Errors that models share, and models together ------------------------------------------------------------------


def errors(table: pd.DataFrame, tie: float = TIE) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the items of one unit, sorted, and by metric ("TC", "IC") where it is wrong: bool (item, 2).

    Ties among them. `table` as for `costs`; raises what `units` raises.
    """
    part, logarithms = _comparable(_one(table))
    items, found = _grid(part, ORIGINALS)
    return items, {"TC": ~tc(found, tie, logarithms), "IC": ~ic(found, tie, logarithms)}


def iou(first: np.ndarray, second: np.ndarray) -> float:
    """Return the intersection over union of two sets of errors, bool arrays of one shape; NaN where nobody errs.

    >>> iou(np.array([True, True, False]), np.array([True, False, False]))
    0.5
    """
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


def permuted_iou(first: np.ndarray, second: np.ndarray, permutations: int = 1000, seed: int = 0) -> np.ndarray:
    """Return the intersection over union when the items of one are permuted: (permutations,), what chance would give.

    Bool arrays (item, 2): both senses of an item stay together, so that a model that errs in one sense because it is
    right in the other still does. NaN where nobody errs.
    """
    first, second = _errors(first, second)
    both = _common(_code(first), _code(second)[_orders(len(first), permutations, seed)])
    return _ratio(both, first.sum() + second.sum())


def _orders(n: int, permutations: int, seed: int) -> np.ndarray:
    """Return random orders of n items, (permutations, n)."""
    return np.random.default_rng([seed, n]).permuted(np.tile(np.arange(n), (permutations, 1)), axis=1)


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


def overlap(
    table: pd.DataFrame,
    permutations: int = 1000,
    seed: int = 0,
    metrics: Sequence[str] = ("TC", "IC"),
    tie: float = TIE,
    level: float = 0.95,
) -> pd.DataFrame:
    """Return how far the errors of any two of (model, language) overlap, by data set: one row for each pair and metric.

    `table` has the schema `disambiguation`. Columns: dataset, model, lang, other_model, other_lang, metric, value
    (intersection over union of errors), expected (`expected_iou`), ci_low, ci_high (where `level` of the permutations
    of the items lie: what independent errors would give), p (two-sided, from the same permutations), n (items that both
    have), errors, other_errors (of 2 n). An error is a triple that is not right, ties among them. With replicates the
    numbers are means over all pairs of replicates. Pairs without a common item, or without errors, have NaN.
    Raises what `units` raises, and InputError for less than one permutation.
    """
    if permutations < 1:
        raise InputError(f"An overlap is held against permutations, at least 1, got {permutations}.")
    unknown = [metric for metric in metrics if metric not in ("TC", "IC")]
    if unknown:
        raise InputError(f"Errors are those of TC or of IC, got {unknown[0]!r}.")
    wrong: dict[str, dict[str, dict]] = {}
    for (model, _, dataset, lang), part in units(table):
        items, found = errors(part, tie)
        each = wrong.setdefault(dataset, {}).setdefault(lang, {}).setdefault(model, (items, []))
        if not np.array_equal(each[0], items):
            raise _unlike(model, dataset, lang)
        each[1].append(np.stack([found[metric] for metric in metrics]))
    rows = []
    for dataset, langs in wrong.items():
        names = list(langs)
        for place, lang in enumerate(names):
            for other in names[place:]:
                rows += _overlaps(dataset, lang, other, langs, metrics, permutations, seed, level)
    columns = ["dataset", "model", "lang", "other_model", "other_lang", "metric", "value", "expected", "ci_low"]
    return pd.DataFrame(rows, columns=[*columns, "ci_high", "p", "n", "errors", "other_errors"])


def _overlaps(dataset, lang, other, langs, metrics, permutations, seed, level) -> list[list]:
    """Return the rows of all pairs of models between two languages, or within one."""
    rows = []
    orders: dict[int, np.ndarray] = {}
    for number, (another, (items_2, errors_2)) in enumerate(langs[other].items()):
        for model, (items, errors) in list(langs[lang].items())[: number if lang == other else None]:
            common, here, there = np.intersect1d(items, items_2, assume_unique=True, return_indices=True)
            n = len(common)
            if n not in orders:
                orders[n] = _orders(n, permutations, seed)
            for place, metric in enumerate(metrics):
                values = []  # of each pair of replicates: value, expected, permuted
                ours, theirs = (
                    [one[place][rows] for one in each] for each, rows in ((errors, here), (errors_2, there))
                )
                for second in theirs:
                    moved = _code(second)[orders[n]]
                    for first in ours:
                        drawn = _ratio(_common(_code(first), moved), first.sum() + second.sum())
                        values.append((iou(first, second), expected_iou(first, second), drawn))
                value, expected, drawn = (np.mean(part, axis=0) for part in zip(*values, strict=True))
                low, high, p = np.nan, np.nan, np.nan
                if not np.isnan(value):
                    low, high = map(float, stats.interval(drawn, level))
                    least = min((drawn >= value - 1e-9).sum(), (drawn <= value + 1e-9).sum())
                    p = min(1.0, 2 * (least + 1) / (permutations + 1))
                counts = [float(np.mean([one.sum() for one in each])) for each in (ours, theirs)]
                found = [metric, float(value), float(expected), low, high, p, n, *counts]
                rows.append([dataset, model, lang, another, other, *found])
    return rows


def ensemble(table: pd.DataFrame, models: Sequence[str], name: str = "") -> pd.DataFrame:
    """Return the costs of several models together, a `disambiguation` table of one model: `name`, or theirs with " + ".

    The costs of each model are standardised within each data set and language, then averaged: perplexities, and scores
    from files ("given") where all are above 0, are replaced by their logarithms; from every cost of an item the mean of
    its four original ones is subtracted; all are divided by the root mean square of the original costs so obtained,
    over all items. None of this changes a decision of a model
    alone. A model for which no image and no translation makes a difference counts as 0. A model trained once
    goes with every replicate of the others. Raises InputError for a name that is not in the table, a
    cost that one of the models lacks, fewer than two models, different replicates, and what `units` raises.
    """
    present = list(pd.unique(table["model"]))
    for model in models:
        if model not in present:
            raise InputError(f"There is no model {model!r} in the table: {near(model, present)}")
    if len(set(models)) < 2 or len(set(models)) < len(models):
        raise InputError(f"An ensemble is of at least two models, each named once, got {', '.join(models) or 'none'}.")
    part = table[table["model"].isin(models)]
    parts = [_standardised(rows) for _, rows in units(part)]
    found = pd.concat(parts, ignore_index=True)
    replicates = {model: set(rows["replicate"]) for model, rows in found.groupby("model", observed=True)}
    several = [numbers for numbers in replicates.values() if len(numbers) > 1]
    if any(numbers != several[0] for numbers in several):
        raise InputError(f"The models of an ensemble need the same replicates, or one each, got {replicates}.")
    numbers = sorted(several[0]) if several else [0]
    again = [
        rows.assign(replicate=number)
        for number in numbers
        for model, rows in found.groupby("model", observed=True)
        for rows in [rows[rows["replicate"] == number] if len(replicates[model]) > 1 else rows]
    ]
    key = ["replicate", "dataset", "lang", "item", "image", "text"]
    together = pd.concat(again).groupby(key, sort=False, observed=True)["cost"].agg(["mean", "size"]).reset_index()
    short = together[together["size"] < len(models)]
    if len(short):
        row = short.iloc[0]
        raise InputError(
            f"Not all of {', '.join(models)} have a cost of item {row['item']!r} in {row['lang']!r} beside image "
            f"{row['image']!r} ({len(short)} of {len(together)} rows): select what all of them have."
        )
    together = together.rename(columns={"mean": "cost"}).assign(
        model=name or " + ".join(models), similarity="standardised", precision="", preprocessing=""
    )
    return tables.check(together.drop(columns="size"), TASK)


def _standardised(part: pd.DataFrame) -> pd.DataFrame:
    part, logarithms = _comparable(part)
    items, original = _grid(part, ORIGINALS)
    middle = original.mean(axis=(1, 2))
    scale = float(np.sqrt(((original - middle[:, None, None]) ** 2).mean()))
    least = TIE * (float(np.abs(original).max()) if logarithms else 1)
    place = np.searchsorted(items, part["item"].astype(str))
    return part.assign(cost=(part["cost"].to_numpy(float) - middle[place]) / scale if scale > least else 0.0)


# --- What printed scores say ----------------------------------------------------------------------------------------


def explained(printed: dict[str, float], items: int, decimals: int = 2) -> pd.DataFrame:
    """Return the whole numbers of items that printed scores and rates follow from: both, neither, swapped, kept.

    `printed`: TC, GTC, IPR, INR, CPR, CNR, rounded to `decimals`. An item without ties is right in both senses, in
    neither, or in one; then the choice is that beside the ambiguous image (kept) or the other (swapped). So with N
    items GTC = both / N, TC = (2 both + swapped + kept) / 2N, IPR = (both + swapped) / 2N, INR = (neither + swapped) /
    2N, CPR = (both + kept) / 2N, CNR = (neither + kept) / 2N. No rows: no such numbers exist, and the printed ones
    cannot all be right. For a mean over trainings give the items of all of them. Raises InputError for a missing score.

    >>> row = dict(TC=0.5, GTC=0.5, IPR=0.25, INR=0.25, CPR=0.25, CNR=0.25)
    >>> explained(row, 2).to_numpy().tolist()
    [[1, 1, 0, 0]]
    """
    lacking = {"TC", "GTC", *RATES} - set(printed)
    if lacking:
        raise InputError(
            f"The numbers of items follow from TC, GTC and the four rates, but {sorted(lacking)[0]} is missing."
        )
    half = 0.5 * 10**-decimals + 1e-9
    most = 2 * items
    low, high = np.ceil((printed["GTC"] - half) * items), np.floor((printed["GTC"] + half) * items)
    both = np.arange(max(0, low), high + 1)
    neither = np.arange(0, np.floor((printed["INR"] + half) * most) + 1)
    swapped = np.arange(0, np.floor((min(printed["INR"], printed["IPR"]) + half) * most) + 1)
    both, neither, swapped = (axis.ravel().astype(int) for axis in np.meshgrid(both, neither, swapped, indexing="ij"))
    kept = items - both - neither - swapped
    found = {
        "TC": 2 * both + swapped + kept,
        "IPR": both + swapped,
        "INR": neither + swapped,
        "CPR": both + kept,
        "CNR": neither + kept,
    }
    fits = kept >= 0
    for name, count in found.items():
        fits &= np.abs(count / most - printed[name]) <= half
    table = {"both": both, "neither": neither, "swapped": swapped, "kept": kept}
    return pd.DataFrame({name: count[fits] for name, count in table.items()})


def relations(scores: pd.DataFrame, half: float = 0.0) -> pd.DataFrame:
    """Return what the definitions say that scores have in common, and whether they do: one row for each relation.

    `scores` has the columns model, variant, metric and value, a row each, such as published scores or those of one data
    set and language (`scores`); `half`: by how much each can be off, half a unit of the last printed digit. Relations
    are those of the numbers that are there: without ties a blend ("mix") is right for one sense of each item, so that
    IPR + CNR = INR + CPR = 1/2, and IPR + CPR = TC; 2 TC - 1 ≤ GTC ≤ TC, and GTC ≤ 2 IPR, since one of two right senses
    was wrong beside the blend; the same bounds for IC and GIC; and an oracle's least GIC is at most the original one,
    its greatest at least.

    Columns: relation, variant ("" the original images), model, gap (how far from equality, or above the bound), slack
    (how much of it rounding can hide), printed and rounded (whether it holds as given, and with the slack).

    >>> row = pd.DataFrame({"model": "a", "variant": "", "metric": ["TC", "GTC"], "value": [0.5, 0.6]})
    >>> relations(row)[["relation", "rounded"]].to_numpy().tolist()
    [['2 TC - 1 ≤ GTC', True], ['GTC ≤ TC', False]]
    """
    wide = scores.pivot(index="model", columns=["variant", "metric"], values="value")
    wide = wide.loc[list(dict.fromkeys(scores["model"]))]

    def of(variant: str, metric: str) -> pd.Series:
        return wide[variant, metric] if (variant, metric) in wide else pd.Series(np.nan, index=wide.index)

    ipr, inr, cpr, cnr = (of("mix", rate) for rate in RATES)
    checks = [  # relation, images, what should be 0 (=) or at most 0, of how many scores it is a sum
        ("IPR + CNR = 1/2", "mix", (ipr + cnr - 0.5).abs(), 2),
        ("INR + CPR = 1/2", "mix", (inr + cpr - 0.5).abs(), 2),
        ("IPR + CPR = TC", "mix", (ipr + cpr - of("", "TC")).abs(), 3),
        ("GTC ≤ 2 IPR", "mix", of("", "GTC") - 2 * ipr, 3),
        ("min GIC ≤ GIC", "oracle min", of("oracle min", "GIC") - of("", "GIC"), 2),
        ("GIC ≤ max GIC", "oracle max", of("", "GIC") - of("oracle max", "GIC"), 2),
    ]
    for variant in dict.fromkeys(scores["variant"]):
        for metric in ("TC", "IC"):
            single, group = of(variant, metric), of(variant, f"G{metric}")
            checks.append((f"2 {metric} - 1 ≤ G{metric}", variant, 2 * single - 1 - group, 3))
            checks.append((f"G{metric} ≤ {metric}", variant, group - single, 2))
    rows = [
        [relation, variant, model, gap, steps * half, gap < 1e-9, gap < steps * half + 1e-9]
        for relation, variant, gaps, steps in checks
        for model, gap in gaps.dropna().items()
    ]
    return pd.DataFrame(rows, columns=["relation", "variant", "model", "gap", "slack", "printed", "rounded"])


def drawn_costs(ic: float, gic: float, items: int, images: int = 5, seed: int = 0) -> np.ndarray:
    """Return random costs (item, sense, number, text) of a model with the expected scores `ic` and `gic`.

    All images of a sense are alike: each adds a normal deviate to the cost of either translation, the two correlated,
    and its own translation costs a constant less. Both numbers are set so that any image of a with any of b has the
    scores. With ic = 0.5 the images say nothing. An `oracle` can be held against this: how much does it gain by
    choosing alone? TC and GTC of such costs mean nothing. Raises InputError unless 0 < ic < 1 and 2 ic - 1 < gic < ic.
    """
    from scipy import optimize, special

    if not (0 < ic < 1 and max(0, 2 * ic - 1) < gic < ic):
        raise InputError(f"IC and GIC of one model have 0 < IC < 1 and 2 IC - 1 < GIC < IC, got {ic} and {gic}.")
    # Both inequalities hold with probability ic - 2 T(q, a), where T is Owen's function, q the normal quantile of ic
    # and a = sqrt((1 - c) / (1 + c)) for correlation c of the two (Owen 1956).
    quantile = special.ndtri(ic)
    angle = optimize.brentq(lambda x: ic - 2 * special.owens_t(quantile, np.tan(x)) - gic, 0, np.pi / 2 - 1e-9)
    correlation = -np.cos(2 * angle)  # of what one image adds to the cost of the two translations
    deviates = np.random.default_rng(seed).normal(size=(2, items, 2, images))
    other = correlation * deviates[0] + np.sqrt(1 - correlation**2) * deviates[1]
    costs = np.stack([deviates[0], other], axis=-1)
    for sense in (0, 1):
        costs[:, sense, :, sense] -= np.sqrt(2) * quantile
    return costs


# --- Files of a run -------------------------------------------------------------------------------------------------


def files(results: str, models: Iterable[str], translators: Iterable[str], names: Iterable[str]) -> pd.DataFrame:
    """Return where a run keeps its costs: model, translator (bool), dataset, path, tokens ("" where there are none).

    `results`: the folder of the run; `names`: its data sets, of which those for other tasks are passed over. A run
    without a data set for disambiguation has no rows. A translator may be scored on some of the data sets only. Raises
    InputError for a data set that the study does not know, where a model has no table for one, and where a translator
    has none at all.
    """
    rows, lacking = [], []
    models, translators = list(models), list(translators)
    for dataset in names:
        if datasets.entry(dataset).task != TASK:
            continue
        for model in [*models, *translators]:
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
