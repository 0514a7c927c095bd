"""The numbers of Kashani Motlagh et al. (2024), on CoMMuTE: what its definitions tie together, computed again.

The perplexities of the paper's translators are not released, so that most of its scores cannot be computed again. But
the rates against an ambiguous image and TC determine each other (Section 5.3), and every score is bounded by others
(`metric_relations.relations`, `metric_relations.explained`; chapter 44 shows both). What the text says of the data set is
held against the files that are released: their counts ship in `data/commute_counts.csv`, and
`babelatlas ship kashanimotlagh2024 --folder FOLDER` makes them again from a copy of CoMMuTE.
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
from babelatlas.papers.scorecard import Definition
from babelatlas.stats import rounding

SOURCE = "kashanimotlagh2024"
COUNTS = DATA / "commute_counts.csv"
HALF = 0.005
# Languages that the paper names, as it names them; its results are for the first.
LANGUAGES = {"fr": "French", "de": "German", "cs": "Czech"}
# What the definitions say of one rate, given another: both are shares of the same half of the triples.
OPPOSITE = {"IPR": "CNR", "CNR": "IPR", "INR": "CPR", "CPR": "INR"}
TRAININGS = 3
IMAGES_PER_TRANSLATION = 5


@cache
def scores() -> pd.DataFrame:
    """Return the printed scores, index model, columns (variant, metric); without the overlaps of errors."""
    table = published.read(SOURCE)
    table = table[~table["metric"].str.startswith("IoU")]
    wide = table.pivot(index="model", columns=["variant", "metric"], values="value")
    return wide.loc[list(dict.fromkeys(table["model"]))]


def commute_counts(folder: str | Path = "") -> pd.DataFrame:
    """Return how many items CoMMuTE has in each language that the paper names: lang, items, everywhere, same, images.

    `everywhere`: items that all of these languages have; `same`: items whose two translations are the same; `images`:
    different images of the items. From a folder as released, or, where none is given, from the table that ships. Raises
    what `commute.read` raises.
    """
    if not folder:
        return pd.read_csv(COUNTS)
    items, _ = commute.read(folder, wanted=list(LANGUAGES))
    images = items.groupby("lang")["item"].agg(
        lambda names: len({image for name in names for image in name.split("+")})
    )
    counts = commute.counts(items)
    return counts.assign(images=counts["lang"].map(images))


def granularity() -> pd.DataFrame:
    """Return whether the printed scores can be shares of whole items or triples: table, metric, n, refutable.

    `refutable` is the share of all numbers with two decimals that n cases cannot give (n times the trainings where the
    score is a mean over them): where it is 0 the printed digits are too few for such a test.
    """
    table = published.read(SOURCE)
    trainings = np.where(table["note"].str.contains("mean over three trainings"), TRAININGS, 1)
    table = table.assign(n=table["n"] * trainings)
    found = table.groupby(["table", "metric"], sort=False)["n"].min().reset_index()
    return found.assign(refutable=rounding.refutable(found["n"].to_numpy(), 2))


# --- Definitions ----------------------------------------------------------------------------------------------------


def _cells(rows: list[tuple[str, float, float]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["cell", "value", "slack"])


def _opposite(rates: Sequence[str]):
    def compute(folders: dict[str, Path]) -> pd.DataFrame:
        wide = scores()["mix"]
        return _cells(
            [(f"{model} | {rate}", 0.5 - row[OPPOSITE[rate]], HALF) for model, row in wide.iterrows() for rate in rates]
        )

    return compute


def _right(positive: bool):
    def compute(folders: dict[str, Path]) -> pd.DataFrame:
        wide = scores()["mix"]
        values = wide["IPR"] + wide["CPR"] if positive else 1 - wide["INR"] - wide["CNR"]
        return _cells([(f"{model} | Mean TC", value, 2 * HALF) for model, value in values.items()])

    return compute


def _without_images(folders: dict[str, Path]) -> pd.DataFrame:
    # A model that does not look: every translation costs the same beside both images, and no two cost the same.
    costs = np.random.default_rng(0).normal(size=(154, 1, 2)).repeat(2, axis=1)
    found = {"TC": disambiguation.tc(costs).mean(), "GTC": disambiguation.gtc(costs).mean()}
    return _cells([(f"text-only model | {metric}", float(value), 0.0) for metric, value in found.items()])


def _said_again(folders: dict[str, Path]) -> pd.DataFrame:
    vgamt = scores().loc["VGAMT"]
    found = {
        "VGAMT, IPR": vgamt["mix", "IPR"],
        "VGAMT, INR": vgamt["mix", "INR"],
        "VGAMT, translations corrected": 100 * vgamt["mix", "IPR"],
        "VGAMT, IC": vgamt["", "IC"],
        "VGAMT, GIC": vgamt["", "GIC"],
        "VGAMT, TC": vgamt["", "TC"],
        "VGAMT, GTC": vgamt["", "GTC"],
        "VGAMT, Max IC": vgamt["oracle max", "IC"],
        "VGAMT, Max GIC": vgamt["oracle max", "GIC"],
    }
    return _cells([(cell, float(value), 0.0) for cell, value in found.items()])


def _extremes(folders: dict[str, Path]) -> pd.DataFrame:
    wide = scores()
    others = wide.drop(index="VGAMT")
    found = {
        "highest IPR": wide["mix", "IPR"].max(),
        "GTC, all models": wide["", "GTC"].min(),
        "IC, other models": others["", "IC"].min(),
        "rates, all models": wide["mix"].to_numpy().max(),
    }
    units = dict.fromkeys(("GTC, all models", "IC, other models", "rates, all models"), HALF)
    return _cells([(cell, float(value), units.get(cell, 0.0)) for cell, value in found.items()])


def _items(folders: dict[str, Path]) -> pd.DataFrame:
    table = commute_counts().set_index("lang")
    rows = [(f"ambiguous sentences, {name}", table.loc[lang, "items"], 0.0) for lang, name in LANGUAGES.items()]
    rows.append(("triples, French", 2 * table.loc["fr", "items"], 0.0))
    rows.append(("images with the extension, French", IMAGES_PER_TRANSLATION * table.loc["fr", "images"], 0.0))
    return _cells([(cell, float(value), slack) for cell, value, slack in rows])


def _common(folders: dict[str, Path]) -> pd.DataFrame:
    everywhere = float(commute_counts()["everywhere"].iloc[0])
    return _cells([(f"ambiguous sentences, {name}", everywhere, 0.0) for name in LANGUAGES.values()])


DEFINITIONS: tuple[Definition, ...] = tuple(
    Definition(SOURCE, name, text, compute)
    for name, text, compute in [
        (
            "half of the triples less the opposite rate",
            "1/2 less the rate that has the other triples of the same half: IPR from CNR, INR from CPR. Read the other "
            "way round it is the same equation: CPR and CNR are tested, not computed.",
            _opposite(["IPR", "INR"]),
        ),
        (
            "as printed in the opposite rate",
            "The same equation for CPR and CNR: 1/2 less INR, or IPR; tested, not computed.",
            _opposite(["CPR", "CNR"]),
        ),
        ("IPR + CPR", "The two rates of triples that are right with the original image.", _right(True)),
        ("1 - INR - CNR", "1 less the two rates of triples that are wrong with the original image.", _right(False)),
        (
            "a model that does not see images",
            "TC and GTC of random costs that are the same beside both images.",
            _without_images,
        ),
        ("as printed in the tables", "The cell of a table that the text says again.", _said_again),
        ("extremes of the tables", "The extreme over the models of what a table prints.", _extremes),
        ("counts of the released files", "Items, triples and images that the released files hold.", _items),
        ("items that all three languages have", "Items that French, German and Czech share.", _common),
    ]
)


# --- Errata ---------------------------------------------------------------------------------------------------------


def errata(available: dict[str, Path] | None = None) -> pd.DataFrame:
    """Return the inconsistencies of the paper, as `scorecard.errata` puts them together; nothing released is needed.

    A further column, `cells`: the claims that it is about, a tuple of their cells.
    """
    wide, counts = scores(), commute_counts().set_index("lang")
    said = ", ".join(f"{name} {counts.loc[lang, 'items']}" for lang, name in LANGUAGES.items())
    inr, ipr = wide["mix", "INR"], wide["mix", "IPR"]
    others = inr.drop("VGAMT")
    hidden = others.index[others <= inr["VGAMT"] + 1e-9]
    larger = others.drop(hidden)
    gains = {metric: wide["oracle max", metric] - wide["", metric] for metric in ("TC", "GTC")}
    most = {metric: gain.idxmax() for metric, gain in gains.items()}
    rows = [
        (
            "Section 3",
            "The translations of all 154 sentences are said to be available in French, German and Czech.",
            f"The released files hold, as items of two senses: {said}; {counts['everywhere'].iloc[0]} are in all "
            "three.",
            f"{counts.loc['de', 'items']} in German, unless the release differs from what was counted.",
            "No: all results are for French.",
            "inference",
            "inconsistency",
            ("ambiguous sentences, German",),
        ),
        (
            "Section 5.3",
            "CLIP-Trans and the variants of Gated Fusion are said to have smaller IPR and INR than VGAMT; an INR is "
            f"printed larger for {len(larger)} of them.",
            f"Table 1: INR of VGAMT {inr['VGAMT']:.2f}, of {' and '.join(hidden)} {others[hidden].max():.2f}, where "
            f"rounding can hide a difference, of {', '.join(larger.index)} {larger.min():.2f} to {larger.max():.2f}. "
            f"Their IPR, up to {ipr.drop('VGAMT').max():.2f}, is smaller than {ipr['VGAMT']:.2f}.",
            "Smaller IPR, and larger INR for Gated Fusion; the next sentence of the paper says so.",
            "No.",
            "follows",
            "inconsistency",
            (),
        ),
        (
            "Section 5.5",
            "Images chosen for GIC are said to improve TC and GTC only a little across models; for Gated Fusion "
            "with a fixed gate they improve them much.",
            "Table 5 less Table 1: TC "
            + ", ".join(f"{model} {gain:+.2f}" for model, gain in gains["TC"].items())
            + "; GTC "
            + ", ".join(f"{model} {gain:+.2f}" for model, gain in gains["GTC"].items())
            + ".",
            f"Small for VGAMT, CLIP-Trans and Gated Fusion; up to {gains['TC'].max():.2f} in TC ({most['TC']}) and "
            f"{gains['GTC'].max():.2f} in GTC ({most['GTC']}).",
            "In part: that TC and GTC do not show what images can contribute holds for the models without a fixed "
            "gate.",
            "follows",
            "remark",
            (),
        ),
    ]
    columns = ["place", "finding", "evidence", "corrected", "conclusion", "kind", "sort", "cells"]
    return pd.DataFrame(rows, columns=columns).assign(paper=SOURCE)[["paper", *columns]]
