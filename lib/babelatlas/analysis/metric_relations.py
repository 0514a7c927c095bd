"""What the disambiguation metrics imply for each other: which printed scores are possible."""

import numpy as np
import pandas as pd
from scipy import optimize, special

from babelatlas.base.errors import InputError
from babelatlas.evaluation import disambiguation


def explained(printed: dict[str, float], items: int) -> pd.DataFrame:
    """Return the whole numbers of items that printed scores and rates follow from: both, neither, swapped, kept.

    `printed`: TC, GTC, IPR, INR, CPR, CNR, rounded to two decimals. An item without ties is right in both senses, in
    neither, or in one; then the choice is that given the ambiguous image (kept) or the other (swapped). So with N
    items GTC = both / N, TC = (2 both + swapped + kept) / 2N, IPR = (both + swapped) / 2N, INR = (neither + swapped) /
    2N, CPR = (both + kept) / 2N, CNR = (neither + kept) / 2N. No rows: no such numbers exist, and the printed ones
    cannot all be right. For a mean over trainings give the items of all of them. Raises InputError for a missing score.

    >>> row = dict(TC=0.5, GTC=0.5, IPR=0.25, INR=0.25, CPR=0.25, CNR=0.25)
    >>> explained(row, 2).to_numpy().tolist()
    [[1, 1, 0, 0]]
    """
    lacking = {"TC", "GTC", *disambiguation.RATES} - set(printed)
    if lacking:
        raise InputError(
            f"The numbers of items follow from TC, GTC and the four rates, but {sorted(lacking)[0]} is missing."
        )
    half = 0.005 + 1e-9
    most = 2 * items
    low, high = np.ceil((printed["GTC"] - half) * items), np.floor((printed["GTC"] + half) * items)
    both = np.arange(max(0, low), high + 1)
    neither = np.arange(0, np.floor((printed["INR"] + half) * most) + 1)
    swapped = np.arange(0, np.floor((min(printed["INR"], printed["IPR"]) + half) * most) + 1)
    both, neither, swapped = (axis.ravel().astype(int) for axis in np.meshgrid(both, neither, swapped, indexing="ij"))
    kept = items - both - neither - swapped
    found = {"TC": 2 * both + swapped + kept, "IPR": both + swapped, "INR": neither + swapped}
    found |= {"CPR": both + kept, "CNR": neither + kept}
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
    was wrong given the blend; the same bounds for IC and GIC; and an oracle's least GIC is at most the original one,
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

    ipr, inr, cpr, cnr = (of("mix", rate) for rate in disambiguation.RATES)
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
