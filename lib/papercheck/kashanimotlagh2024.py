"""The numbers of Kashani Motlagh et al. (2024), on CoMMuTE: what its definitions tie
together, computed again.

The perplexities of the paper's translators are not released, so that most of its scores
cannot be computed again. But the rates against an ambiguous image and TC determine each
other (Section 5.3). What the text says of the data set is held against the files that
are released: their counts ship in `data/commute_counts.csv`, and `python -m papercheck
counts` makes them again.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.base import published
from babelatlas.base.paths import DATA
from babelatlas.datasets import commute
from babelatlas.evaluation import disambiguation
from papercheck import definitions
from papercheck.definitions import cells

SOURCE = "kashanimotlagh2024"
COUNTS = DATA / "commute_counts.csv"
HALF = 0.005
# Languages that the paper names, as it names them; its results are for the first.
LANGUAGES = {"fr": "French", "de": "German", "cs": "Czech"}
# What the definitions say of one rate, given another: both are shares of the same half
# of the triples.
OPPOSITE = {"IPR": "CNR", "CNR": "IPR", "INR": "CPR", "CPR": "INR"}
IMAGES_PER_TRANSLATION = 5


@cache
def printed_scores() -> pd.DataFrame:
    """Return the printed scores, index model, columns (variant, metric); without the
    overlaps of errors.
    """
    table = published.read(SOURCE)
    table = table[~table["metric"].str.startswith("IoU")]
    scores = table.pivot(index="model", columns=["variant", "metric"], values="value")
    return scores.loc[table["model"].unique()]


def commute_counts(folder: str | Path = "") -> pd.DataFrame:
    """Return how many items CoMMuTE has in each language that the paper names: lang,
    items, everywhere, same, images.

    `everywhere`: items that all of these languages have; `same`: items whose two
    translations are the same; `images`: different images of the items. From a folder as
    released, or, where none is given, from the table that ships. Raises what
    `commute.read_items` raises.
    """
    if not folder:
        return pd.read_csv(COUNTS)
    items, _ = commute.read_items(folder, wanted=list(LANGUAGES))
    # An item is named by its two images.
    of_items = items.assign(image=items["item"].str.split("+")).explode("image")
    n_images = of_items.groupby("lang")["image"].nunique()
    counts = commute.counts(items)
    return counts.assign(images=counts["lang"].map(n_images))


def opposite_rates(rates: Sequence[str]) -> pd.DataFrame:
    """Return each of the `rates` as half of the triples less the rate that has the
    others of the same half.
    """
    of_rates = printed_scores()["mix"]
    found = {}
    for model, row in of_rates.iterrows():
        for rate in rates:
            found[f"{model} | {rate}"] = 0.5 - row[OPPOSITE[rate]]
    return cells(found, slack=HALF)


def correct_triples(correct: bool) -> pd.DataFrame:
    """Return TC from the two rates of triples that are correct with the original image,
    or from those that are not.
    """
    rates = printed_scores()["mix"]
    values = rates["IPR"] + rates["CPR"]
    if not correct:
        values = 1 - rates["INR"] - rates["CNR"]
    return cells(values.index + " | Mean TC", values, 2 * HALF)


def text_only_model() -> pd.DataFrame:
    """Return TC and GTC of a model that does not look: random perplexities, the same
    given both images.
    """
    perplexities = np.random.default_rng(0).normal(size=(154, 1, 2)).repeat(2, axis=1)
    right = disambiguation.tc(perplexities)
    found = {"TC": right.mean(), "GTC": right.all(axis=-1).mean()}
    return cells(
        {f"text-only model | {metric}": value for metric, value in found.items()}
    )


def numbers_of_tables() -> pd.DataFrame:
    """Return the cells of the tables that the text repeats."""
    vgamt = printed_scores().loc["VGAMT"]
    found = {rate: vgamt["mix", rate] for rate in ("IPR", "INR")}
    found["translations corrected"] = 100 * vgamt["mix", "IPR"]
    found |= {metric: vgamt["", metric] for metric in ("IC", "GIC", "TC", "GTC")}
    found |= {f"Max {metric}": vgamt["oracle max", metric] for metric in ("IC", "GIC")}
    return cells({f"VGAMT, {name}": value for name, value in found.items()})


def extremes_of_tables() -> pd.DataFrame:
    """Return the extremes over the models of what the tables print."""
    scores = printed_scores()
    found = {
        "highest IPR": scores["mix", "IPR"].max(),
        "GTC, all models": scores["", "GTC"].min(),
        "IC, other models": scores.drop(index="VGAMT")["", "IC"].min(),
        "rates, all models": scores["mix"].to_numpy().max(),
    }
    return cells(found, slack=[0.0, HALF, HALF, HALF])


def counts_of_files() -> pd.DataFrame:
    """Return the items, triples and images that the released files hold."""
    table = commute_counts().set_index("lang")
    found = {
        f"ambiguous sentences, {name}": table.loc[lang, "items"]
        for lang, name in LANGUAGES.items()
    }
    found["triples, French"] = 2 * table.loc["fr", "items"]
    found["images with the extension, French"] = (
        IMAGES_PER_TRANSLATION * table.loc["fr", "images"]
    )
    return cells(found)


def common_items() -> pd.DataFrame:
    """Return the number of items that all three languages have, for each of them."""
    everywhere = commute_counts()["everywhere"].iloc[0]
    return cells(
        {f"ambiguous sentences, {name}": everywhere for name in LANGUAGES.values()}
    )


DEFINITIONS = definitions.of_module(SOURCE, "kashanimotlagh2024", globals())


def errata() -> pd.DataFrame:
    """Return the inconsistencies of the paper, as `definitions.errata` does."""
    facts = {"items": _item_facts(), "inr": _rate_facts(), "gic": _oracle_facts()}
    return definitions.errata(SOURCE, "kashanimotlagh2024", facts)


def _item_facts() -> dict:
    counts = commute_counts().set_index("lang")
    found = [f"{name} {counts.loc[lang, 'items']}" for lang, name in LANGUAGES.items()]
    return {
        "found": ", ".join(found),
        "everywhere": counts["everywhere"].iloc[0],
        "german": counts.loc["de", "items"],
    }


def _rate_facts() -> dict:
    scores = printed_scores()
    inr, ipr = scores["mix", "INR"], scores["mix", "IPR"]
    inr_others = inr.drop("VGAMT")
    hidden = inr_others.index[inr_others <= inr["VGAMT"] + 1e-9]
    larger = inr_others.drop(hidden)
    return {
        "n_larger": len(larger),
        "inr": inr["VGAMT"],
        "hidden": " and ".join(hidden),
        "inr_hidden": inr_others[hidden].max(),
        "larger": ", ".join(larger.index),
        "least": larger.min(),
        "most": larger.max(),
        "ipr_others": ipr.drop("VGAMT").max(),
        "ipr": ipr["VGAMT"],
    }


def _oracle_facts() -> dict:
    """Return what the best images gain, metric by metric."""
    scores = printed_scores()
    facts = {}
    for metric in ("TC", "GTC"):
        gain = scores["oracle max", metric] - scores["", metric]
        of_models = [f"{model} {value:+.2f}" for model, value in gain.items()]
        facts[metric] = {
            "gains": ", ".join(of_models),
            "most": gain.max(),
            "model": gain.idxmax(),
        }
    return facts
