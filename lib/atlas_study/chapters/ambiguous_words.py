"""Chapter 25: ambiguous English words, the languages that tell their senses apart, and
what published results on CoMMuTE show of the use of images.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import optimize, special
from statsmodels.stats.proportion import proportion_confint

from babelatlas.analysis import coverage
from babelatlas.base import languages, published, synsets
from babelatlas.datasets import ambiguous_words
from babelatlas.evaluation import disambiguation
from babelatlas.lexicon import senses
from babelatlas.report import formatting
from babelatlas.stats import bootstrap, correlation

TITLES = {
    "pictogram-senses": "pictograms",
    "imagenet-1k": "ImageNet-1k",
    "imagenet-21k": "ImageNet-21k",
}
# The languages of CoMMuTE's files, and some with which words are shown.
COMMUTE = ["ar", "cs", "de", "fr", "ru", "zh"]
SHOWN = ["de", "es", "fi", "pl", "ru", "zh"]
BLIND = "blind"
# What rounding to two decimals can hide.
HALF = 0.005


class Pairs(NamedTuple):
    """The pairs of classes of a list that share an English word."""

    every: pd.DataFrame  # all of them (`ambiguous_words.facts`)
    usable: pd.DataFrame  # those that make an item
    counts: pd.DataFrame  # items by language (`ambiguous_words.shipped_counts`)


def pairs_of(classes: list[str]) -> dict[str, Pairs]:
    """Return the pairs of each list of classes that ships."""
    facts, counts = ambiguous_words.facts(), ambiguous_words.shipped_counts()
    found = {}
    for name in classes:
        every = facts[[name in lists.split() for lists in facts["classes"]]]
        drawn = name == ambiguous_words.DRAWN
        usable = ambiguous_words.usable(every, persons=drawn)
        found[name] = Pairs(every, usable, counts[counts["classes"] == name])
    return found


def overview(pairs: dict[str, Pairs], minimum_items: int) -> pd.DataFrame:
    """Return for each list of classes from how many pairs items are made, what is left
    out and why, and how many languages have items.
    """
    return pd.DataFrame(
        [_counts(name, found, minimum_items) for name, found in pairs.items()]
    )


def _counts(name: str, found: Pairs, minimum_items: int) -> dict:
    every, usable = found.every, found.usable
    persons = (every[["lexname_a", "lexname_b"]] == ambiguous_words.PERSON).any(axis=1)
    persons &= ~every["nested"] & (name != ambiguous_words.DRAWN)
    n_nested, n_persons = every["nested"].sum(), persons.sum()
    distinct = usable[usable["n_apart"] > 0]
    n_apart = found.counts["n_apart"]
    return {
        "classes": TITLES[name],
        "pairs with a word": len(every),
        "one a kind of the other": n_nested,
        "persons": n_persons,
        "further words": len(every) - n_nested - n_persons - len(usable),
        "usable pairs": len(usable),
        "distinguished": len(distinct),
        "words": distinct["word"].nunique(),
        "in different fields": (distinct["lexname_a"] != distinct["lexname_b"]).sum(),
        "languages with an item": (n_apart > 0).sum(),
        f"languages with {minimum_items} or more": (n_apart >= minimum_items).sum(),
    }


def curves(pairs: dict[str, Pairs]) -> pd.DataFrame:
    """Return the number of languages with at least so many items, a series for each list
    of classes.
    """
    parts = [
        coverage.at_least(found.counts.rename(columns={"n_apart": "n_classes"})).assign(
            series=TITLES[name]
        )
        for name, found in pairs.items()
    ]
    return pd.concat(parts, ignore_index=True)


def items_of_commute(counts: pd.DataFrame) -> str:
    """Return how many items CoMMuTE's languages have, as text."""
    n_apart = counts.set_index("lang")["n_apart"]
    return ", ".join(f"{languages.name(lang)} {n_apart[lang]:,}" for lang in COMMUTE)


def families_reached(counts: pd.DataFrame, minimum_items: int) -> pd.DataFrame:
    """Return for each family of spoken languages how many of them have enough items."""
    n_apart = counts[["lang", "n_apart"]].rename(columns={"n_apart": "n_classes"})
    return coverage.reached(n_apart, "family", minimum_items)


def shares_apart(counts: pd.DataFrame) -> pd.DataFrame:
    """Return the share of pairs that each language distinguishes, of those for which it
    has words for both senses; without English.
    """
    rows = counts[counts["lang"] != "en"]
    rows = rows.assign(value=rows["n_apart"] / rows["n_named"])
    number = rows["n_named"].map("{:,}".format)
    return rows.assign(language=rows["lang"].map(languages.name) + " (" + number + ")")


def most_pairs(shares: pd.DataFrame, number: int = 30) -> pd.DataFrame:
    """Return the languages with most pairs, those that distinguish most first, with
    Wilson intervals.
    """
    top = shares.nlargest(number, "n_named")
    top = top.sort_values("value", ascending=False, kind="stable")
    low, high = proportion_confint(
        top["value"] * top["n_named"], top["n_named"], method="wilson"
    )
    return top.assign(ci_low=low, ci_high=high)


def rank_correlation(shares: pd.DataFrame, minimum_items: int) -> pd.DataFrame:
    """Return the rank correlation of the share with the number of pairs, `text` with its
    interval.
    """
    enough = shares[shares["n_named"] >= minimum_items]
    rho = correlation.correlate(enough, "n_named", "value", "lang", ["spearman"])
    return rho.assign(text=formatting.intervals(rho, ".2f", 1, " to "))


class Fields(NamedTuple):
    """How often languages distinguish pairs, by the fields of their classes."""

    means: pd.DataFrame  # by fields, with interval over pairs
    pairs: pd.DataFrame  # all pairs, with their share
    average: str  # of all pairs, with interval
    least_pairs: int  # that the fields shown have


def by_fields(usable: pd.DataFrame, least: int = 20) -> Fields:
    """Return the share of languages that distinguish a pair, by the lexicographer files
    of its classes; fields with few pairs are left out.
    """
    pairs = usable[usable["n_named"] > 0]
    pairs = pairs.assign(value=pairs["n_apart"] / pairs["n_named"])
    lexnames = zip(pairs["lexname_a"], pairs["lexname_b"], strict=True)
    pairs["fields"] = [
        " + ".join(sorted(name.split(".")[1] for name in names)) for names in lexnames
    ]
    sizes = pairs["fields"].value_counts()
    least = min(least, int(sizes.max()))  # a short list has no field with more
    often = pairs[pairs["fields"].map(sizes) >= least]
    means = bootstrap.group_means(often, ["fields"], "value", "item")
    means = means.sort_values("value", kind="stable")
    means["row"] = means["fields"] + " (" + means["n"].astype(str) + ")"
    average = bootstrap.mean_interval(pairs["value"], pairs["item"]).iloc[0]
    text = formatting.interval(*average[["value", "ci_low", "ci_high"]])
    return Fields(means, pairs, text, least)


class Reported(NamedTuple):
    """The scores that the paper reports of translators."""

    scores: pd.DataFrame  # model x (variant, metric), in the paper's order
    base: pd.DataFrame  # of these, with the images of CoMMuTE
    overlaps: pd.DataFrame  # IoU of errors of two models
    n_items: int


def reported() -> Reported:
    """Return the reported scores on CoMMuTE, English to French."""
    rows = published.read("kashanimotlagh2024")
    n_items = int(rows.loc[rows["metric"] == "GTC", "n"].max())
    is_overlap = rows["metric"].str.startswith("IoU")
    cells = rows[~is_overlap]
    scores = cells.pivot(index="model", columns=["variant", "metric"], values="value")
    scores = scores.loc[list(dict.fromkeys(cells["model"]))]
    return Reported(scores, scores[""], rows[is_overlap], n_items)


def choosing_alone(found: Reported, n_simulations: int, seed: int) -> pd.DataFrame:
    """Return what choosing the worst or best images of an item gives each model, if its
    costs are normal: variant, model, value (GIC) of each simulation.

    A blind model among them: IC of 0.5, GIC of 0.25.
    """
    rows = []
    for model in [BLIND, *found.base.index]:
        ic, gic = (
            (0.5, 0.25) if model == BLIND else found.base.loc[model, ["IC", "GIC"]]
        )
        shared = _shared_correlation(ic, gic)
        for number in range(n_simulations):
            rng = np.random.default_rng(seed + number)
            costs = _costs(rng, found.n_items, shared, special.ndtri(ic))
            for variant in ("min", "max"):
                image = disambiguation.oracle(costs, variant)
                chosen = disambiguation.chosen(costs, image)
                rows.append([model, variant, disambiguation.gic(chosen).mean()])
    return pd.DataFrame(rows, columns=["model", "variant", "value"])


def _shared_correlation(ic: float, gic: float) -> float:
    """Return the correlation of what an image adds to the costs of the two translations.

    Both comparisons are correct with probability ic - 2 T(q, a): Owen's function of the
    normal quantile of ic and a = sqrt((1 - c) / (1 + c)) for the correlation c. Where
    none gives so low or high a gic, the nearest does.
    """
    quantile = special.ndtri(ic)

    def gap(angle: float) -> float:
        return ic - gic - 2 * special.owens_t(quantile, np.tan(angle))

    low, high = 0.0, np.pi / 2 - 1e-9
    if gap(low) <= 0:
        angle = low
    elif gap(high) >= 0:
        angle = high
    else:
        angle = optimize.brentq(gap, low, high)
    return -np.cos(2 * angle)


def _costs(
    rng: np.random.Generator, n_items: int, shared: float, quantile: float
) -> np.ndarray:
    """Return costs (items, senses, images, translations) with a correlation between the
    translations, of which the right one is right in the share of a normal quantile.
    """
    deviates = rng.normal(size=(2, n_items, 2, 5))
    second = shared * deviates[0] + np.sqrt(1 - shared**2) * deviates[1]
    costs = np.stack([deviates[0], second], axis=-1)
    for sense in (0, 1):
        costs[:, sense, :, sense] -= np.sqrt(2) * quantile
    return costs


class Oracle(NamedTuple):
    """Reported scores with chosen images beside what choosing alone gives."""

    drawn: pd.DataFrame  # by model, panel and kind, with intervals
    above: pd.Series  # (variant, model) -> above what choosing alone gives
    blind: str  # the maximum of a blind model, with interval


def beside_choosing(found: Reported, simulated: pd.DataFrame) -> Oracle:
    """Return the reported minimum and maximum GIC beside the simulated ones."""
    by = simulated.groupby(["variant", "model"])["value"]
    alone = by.agg(
        value="mean",
        ci_low=lambda values: bootstrap.percentile_interval(values)[0],
        ci_high=lambda values: bootstrap.percentile_interval(values)[1],
    )
    scores = {
        variant: found.scores[f"oracle {variant}", "GIC"] for variant in ("min", "max")
    }
    scores = pd.concat(scores, names=["variant", "model"])
    above = scores > alone["ci_high"].reindex(scores.index) + HALF
    drawn = pd.concat(
        [
            alone.assign(kind="choosing alone"),
            scores.rename("value").to_frame().assign(kind="reported"),
        ]
    ).reset_index()
    panels = {"min": "minimum GIC", "max": "maximum GIC"}
    order = [BLIND, *found.base.index]
    drawn = drawn.assign(
        panel=drawn["variant"].map(panels),
        model=pd.Categorical(drawn["model"], order),
    )
    drawn = drawn.sort_values(
        ["model", "panel"], ascending=[True, False], kind="stable"
    )
    blind = formatting.intervals(alone.loc[[("max", BLIND)]], ".2f", 1, " to ").item()
    return Oracle(drawn.astype({"model": str}), above, blind)


def overlaps(found: Reported, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return the reported IoU of errors beside that of independent errors: pair, metric,
    kind, value, interval, and whether the reported value is outside it.
    """
    rng, rows = np.random.default_rng(seed), []
    for row in found.overlaps.itertuples():
        metric = row.metric.removeprefix("IoU ")
        errors = [
            _errors(rng, found, model, metric) for model in row.model.split(" vs ")
        ]
        # The items of one are permuted, both senses together.
        places = np.tile(np.arange(found.n_items), (n_resamples, 1))
        orders = np.random.default_rng([seed, found.n_items]).permuted(places, axis=1)
        both = (errors[0] & errors[1][orders]).sum(axis=(1, 2))
        permuted = both / (errors[0].sum() + errors[1].sum() - both)
        low, high = bootstrap.percentile_interval(permuted)
        pair = {
            "pair": row.model.replace(" vs ", " and\n"),
            "metric": f"errors of {metric}",
            "outside": not low - HALF <= row.value <= high + HALF,
        }
        none = {"ci_low": np.nan, "ci_high": np.nan}
        interval = {"ci_low": low, "ci_high": high}
        chance = {"kind": "independent errors", "value": permuted.mean()}
        rows.append(pair | {"kind": "reported", "value": row.value} | none)
        rows.append(pair | chance | interval)
    return pd.DataFrame(rows).sort_values("metric", ascending=False, kind="stable")


def _errors(
    rng: np.random.Generator, found: Reported, model: str, metric: str
) -> np.ndarray:
    """Return errors by item and sense (items, 2) that fit a model's reported scores: as
    many items wrong in both senses, in none, and in one of them at random.
    """
    single, group = found.base.loc[model, metric], found.base.loc[model, f"G{metric}"]
    n_right = round(group * found.n_items)
    n_wrong = max(0, round((1 - 2 * single + group) * found.n_items))
    # 0: right in both senses, 1: wrong in the first, 2: in the second, 3: in both.
    numbers = [n_right, n_wrong, found.n_items - n_right - n_wrong]
    patterns = np.repeat([0, 3, 1], numbers)
    in_one = rng.integers(1, 3, size=found.n_items)
    patterns = np.where(patterns == 1, in_one, patterns)
    return np.stack([patterns & 1, patterns >> 1], axis=1).astype(bool)


def words_shown(pairs: dict[str, Pairs]) -> pd.DataFrame:
    """Return the words whose senses ship, with the languages that tell them apart and
    words of some; ImageNet-21k's words do not ship.
    """
    parts, words = [], senses.shipped()
    columns = ["word", "sense a", "sense b", "classes", "languages", "in six languages"]
    for name in [name for name in pairs if name != "imagenet-21k"]:
        usable = pairs[name].usable.drop(columns=["n_named", "n_apart"])
        found = ambiguous_words.outcomes(words, usable).query("apart")
        found["text"] = found["lang"] + " " + found["a"] + " / " + found["b"]
        shown = found[found["lang"].isin(SHOWN)].groupby("item")["text"].agg("; ".join)
        names = synsets.short_names(name)
        number = usable["item"].map(found["item"].value_counts())
        table = usable.assign(
            **{
                "classes": TITLES[name],
                "sense a": usable["wnid_a"].map(names),
                "sense b": usable["wnid_b"].map(names),
                "languages": number.fillna(0).astype(int),
                "in six languages": usable["item"].map(shown).fillna("–"),
            }
        )
        parts.append(table.sort_values(["languages", "word"], ascending=[False, True]))
    return pd.concat(parts)[columns] if parts else pd.DataFrame(columns=columns)
