"""Chapter 45: which images change a translation, and how much of an image does a gate let
in?
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from PIL import Image

from babelatlas.base import tables
from babelatlas.base.pictures import open_image
from babelatlas.datasets import item_images
from babelatlas.evaluation import disambiguation
from babelatlas.report import formatting

BEST, WORST = "oracle max", "oracle min"
WITHOUT_PREFIX = f"{BEST}, without prefix"
KINDS = ("original", "best", "worst")
# The side of a picture in the figure; the sheet shows it twice as large.
SIDE = 96


def means(results: str, models: Sequence[str], datasets: Sequence[str]) -> pd.DataFrame:
    """Return means over languages of what models score, as chapter 42 wrote them:
    dataset, model, variant, metric, value, ci_low, ci_high, cell (its text).

    Where a variant has no mean with an interval, as without the prefix, the mean of the
    languages' values stands alone.
    """
    scores = tables.read(f"{results}/scores/disambiguation.parquet", "scores")
    scores = scores[scores["model"].isin(models) & scores["dataset"].isin(datasets)]
    key = ["dataset", "model", "variant", "metric"]
    whole = scores[(scores["lang"] == "") & (scores["group"] == "all")]
    whole = whole.assign(cell=formatting.intervals(whole))
    of_languages = scores[scores["lang"] != ""]
    others = of_languages.groupby(key, as_index=False, sort=False)["value"].mean()
    others = others.assign(cell=[f"{100 * value:.1f}" for value in others["value"]])
    both = pd.concat([whole, others]).drop_duplicates(key)
    order = {name: place for place, name in enumerate(models)}
    both = both.assign(place=both["model"].map(order))
    both = both.sort_values(["dataset", "place"], kind="stable", ignore_index=True)
    return both[[*key, "value", "ci_low", "ci_high", "cell"]]


def extended(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of models and data sets with several images of a sense."""
    key = ["dataset", "model"]
    has_oracle = rows.loc[rows["variant"] == BEST, key].drop_duplicates()
    return rows.merge(has_oracle, on=key)


def spreads(rows: pd.DataFrame) -> pd.DataFrame:
    """Return IC with the best and with the worst images of each model: dataset, model,
    best, worst, and spread, their difference; the largest first.
    """
    ic = rows[(rows["metric"] == "IC") & rows["variant"].isin([BEST, WORST])]
    wide = ic.pivot(index=["dataset", "model"], columns="variant", values="value")
    wide = wide.reindex(columns=[BEST, WORST]).reset_index()
    wide = wide.rename(columns={BEST: "best", WORST: "worst"})
    wide = wide.rename_axis(columns=None).assign(spread=wide["best"] - wide["worst"])
    return wide.sort_values("spread", ascending=False, ignore_index=True)


def _table(rows: pd.DataFrame, columns: Mapping[tuple[str, str], str]) -> pd.DataFrame:
    """Return the texts of some (variant, metric) as a reader's columns, by model."""
    found = rows[["dataset", "model"]].drop_duplicates(ignore_index=True)
    for (variant, metric), title in columns.items():
        is_asked = (rows["variant"] == variant) & (rows["metric"] == metric)
        cells = rows[is_asked].set_index(["dataset", "model"])["cell"].rename(title)
        found = found.join(cells, on=["dataset", "model"])
    found = found.rename(columns={"dataset": "data set"}).fillna("–")
    if found["data set"].nunique() < 2:
        return found.drop(columns="data set")
    return found[["model", *columns.values(), "data set"]]


def image_choice_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return IC, GIC and the share of replaced images with the worst and the best images
    (Kashani Motlagh et al. 2024, Table 4).
    """
    metrics = {
        "IC": "IC (%)",
        "GIC": "GIC (%)",
        "replacement rate": "images replaced (%)",
    }
    return _table(
        rows,
        {
            (variant, metric): f"{name} {title}"
            for variant, name in ((WORST, "worst:"), (BEST, "best:"))
            for metric, title in metrics.items()
        },
    )


def translation_choice_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return TC and GTC with the original and the best images, and with these without
    the common prefix (Kashani Motlagh et al. 2024, Tables 1, 5 and 6).
    """
    names = {"": "original:", BEST: "best:", WITHOUT_PREFIX: "best, without prefix:"}
    columns = {
        (variant, metric): f"{name} {metric} (%)"
        for variant, name in names.items()
        for metric in ("TC", "GTC")
    }
    if WITHOUT_PREFIX not in set(rows["variant"]):
        columns = {key: title for key, title in columns.items() if "," not in key[0]}
    return _table(rows, columns)


def n_images(results: str, dataset: str) -> int:
    """Return how many images a sense of a data set has at most."""
    table = tables.read(f"{results}/item_images/{dataset}.parquet", "item_images")
    of_senses = table[~table["image"].isin(item_images.BLENDED)]
    return int(of_senses["image"].str[1:].astype(int).max()) + 1


def guessing(n_of_sense: int, seed: int, n_items: int = 4000) -> dict[str, float]:
    """Return the IC that the best and the worst of `n_of_sense` images have where all
    scores of an item are independent: keys "best" and "worst".

    A simulation with `n_items` items. Scores of real models are not independent: an
    image may lower those of both translations.
    """
    rng = np.random.default_rng([seed, 45])
    costs = rng.standard_normal((n_items, 2, n_of_sense, 2))
    found = {}
    for name, which in (("best", "max"), ("worst", "min")):
        numbers = disambiguation.oracle(costs, which)
        right = disambiguation.ic(disambiguation.chosen(costs, numbers))
        found[name] = float(right.mean())
    return found


class Replaced(NamedTuple):
    """Items with the images that the oracle chooses, of one model in one language."""

    images: pd.DataFrame  # item, sense, kind (of `KINDS`), path
    items: pd.DataFrame  # number, item, source, a, b, and IC by kind
    lang: str


def replaced(
    results: str, dataset: str, model: str, lang: str = "", n_examples: int = 3
) -> Replaced | None:
    """Return the items whose IC differs most between the best and the worst images, with
    these images (Kashani Motlagh et al. 2024, Figure 4); None where images are not here.

    `lang` "": the language with the most items. Of several trainings the first counts.
    """
    costs = tables.read(
        f"{results}/disambiguation/{model}_{dataset}.parquet", "disambiguation"
    )
    lang = lang if lang in set(costs["lang"]) else costs["lang"].value_counts().idxmax()
    first = costs["replicate"].min()
    costs = costs[(costs["lang"] == lang) & (costs["replicate"] == first)]
    ((_, part),) = disambiguation.units(costs)
    part, logarithms = disambiguation.comparable(part)
    names, grid = disambiguation.extended_grid(part)
    numbers = {
        "original": np.zeros((len(names), 2), int),
        "best": disambiguation.oracle(grid, "max", logarithms),
        "worst": disambiguation.oracle(grid, "min", logarithms),
    }
    right = {
        kind: disambiguation.ic(disambiguation.chosen(grid, chosen), logarithms).sum(1)
        for kind, chosen in numbers.items()
    }
    gap = right["best"] - right["worst"]
    order = np.lexsort([names, -gap])[:n_examples]
    rows = [
        (names[row], sense, kind, f"{sense}{numbers[kind][row, place]}")
        for row in order
        for kind in KINDS
        for place, sense in enumerate("ab")
    ]
    images = pd.DataFrame(rows, columns=["item", "sense", "kind", "image"])
    images = images.merge(_paths(results, dataset), on=["item", "image"])
    if len(images) < len(rows) or not images["path"].map(Path.is_file).all():
        return None
    table = _texts(results, dataset, lang, names[order])
    for kind in KINDS:
        table[f"IC correct, {kind}"] = [f"{right[kind][row]} of 2" for row in order]
    return Replaced(images, table, lang)


def _paths(results: str, dataset: str) -> pd.DataFrame:
    """Return item, image and path of the images of a data set."""
    file = tables.locate(f"{results}/item_images/{dataset}.parquet")
    table = tables.read(file, "item_images")
    return table.assign(path=[file.parent / path for path in table["path"]])


def _texts(results: str, dataset: str, lang: str, names: Sequence[str]) -> pd.DataFrame:
    """Return number, source and both translations of some items."""
    items = tables.read(f"{results}/items/{dataset}.parquet", "items")
    items = items[(items["lang"] == lang) & items["item"].isin(names)]
    wide = items.pivot(index=["item", "source"], columns="sense", values="translation")
    wide = wide.reset_index(level="source").loc[list(names)]
    wide = wide.rename(columns={"a": "translation a", "b": "translation b"})
    wide = wide.rename_axis(columns=None).reset_index(drop=True)
    wide.insert(0, "item", range(1, len(wide) + 1))
    return wide


def pictures(found: Replaced) -> tuple[list[Image.Image], list[str]]:
    """Return the pictures of the figure, a row for each kind, and their captions, as "1a
    best": item, sense and kind.
    """
    number = {
        item: place + 1 for place, item in enumerate(found.images["item"].unique())
    }
    drawn, captions = [], []
    for kind in KINDS:
        for row in found.images[found.images["kind"] == kind].itertuples():
            drawn.append(item_images.square(open_image(row.path), SIDE))
            captions.append(f"{number[row.item]}{row.sense} {kind}")
    return drawn, captions


def gates(results: str, translators: Sequence[str], rows: pd.DataFrame) -> pd.DataFrame:
    """Return the translators that the run trained: gate, trainings, the loss at the end,
    the mean gate, and what they score with the original images; no rows without any.
    """
    found = []
    for name in translators:
        file = f"{results}/gated_fusion/{name}.parquet"
        if not tables.locate(file).is_file():
            continue
        trainings = tables.read(file, "gated_fusion")
        mean_gate = trainings["mean_gate"].mean()
        found.append(
            {
                "model": name,
                "gate": trainings["gate"].iloc[0],
                "mean gate": "–" if np.isnan(mean_gate) else f"{mean_gate:.2f}",
                "trainings": len(trainings),
                "loss": f"{trainings['loss_last'].mean():.2f}",
            }
        )
    columns = ["model", "gate", "mean gate", "trainings", "loss"]
    trained = pd.DataFrame(found, columns=columns)
    if trained.empty:
        return trained
    originals = rows[rows["variant"] == ""]
    scores = _table(originals, {("", name): f"{name} (%)" for name in ("TC", "IC")})
    return trained.merge(scores, on="model", how="left").fillna("–")
