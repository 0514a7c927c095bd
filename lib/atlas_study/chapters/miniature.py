"""Chapter 40: the miniature's concepts, drawings and trainings, as a run made them."""

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from PIL import Image

from babelatlas.base import languages, tables
from babelatlas.datasets import item_images, registry
from babelatlas.stats import bootstrap
from miniature import pictograms

# Levels of training data, as figures order them.
LEVELS = ["English", "high", "mid", "low", "parallel", "not in training"]
SENSES = ("a0", "b0", "mix")


class Concepts(NamedTuple):
    """What the miniature draws."""

    table: pd.DataFrame  # wnid, name, codepoints
    n_languages: pd.Series  # languages with a label, by concept
    percent_same: float  # whose test outlines all occur in training
    seed: int
    size: int  # of a drawing, in pixels


def concepts(results: str) -> Concepts:
    """Return the concepts that a run has drawn; without labels where it has none."""
    made = tables.made_from(f"{results}/images/pictograms.parquet")["parameters"]
    table = pictograms.concepts()
    path = f"{results}/labels/pictograms.parquet"
    has_labels = tables.locate(path).is_file()
    labels = tables.read(path, "labels") if has_labels else tables.empty("labels")
    named = labels.groupby("wnid")["lang"].nunique()
    same = np.mean([pictograms.same_outline(wnid) for wnid in table["wnid"]])
    return Concepts(
        table,
        named.reindex(table["wnid"], fill_value=0),
        100 * same,
        made["seed"],
        made["size"],
    )


def drawings(found: Concepts) -> list[Image.Image]:
    """Return a training drawing of every concept."""
    return [
        pictograms.draw(wnid, "train", 0, found.seed, found.size)
        for wnid in found.table["wnid"]
    ]


def drawings_of_splits(
    found: Concepts, names: Sequence[str], number: int = 10
) -> tuple[list[Image.Image], list[str]]:
    """Return drawings of some concepts, a row of training and one of test drawings for
    each, and their captions.
    """
    pictures, captions = [], []
    for row in found.table[found.table["name"].isin(names)].itertuples():
        for split in ("train", "test"):
            for place in range(number):
                picture = pictograms.draw(
                    row.wnid, split, place, found.seed, found.size
                )
                pictures.append(picture)
                captions.append(f"{row.name}, {split}")
    return pictures, captions


def items(results: str, dataset: str) -> pd.DataFrame:
    """Return the ambiguous words that a run has drawn, schema `items`; empty where there
    are none.
    """
    files, _ = tables.present({(dataset,): f"{results}/items/{dataset}.parquet"})
    return tables.read(files[dataset,], "items") if files else tables.empty("items")


def drawings_of_items(
    results: str, dataset: str, names: Sequence[str]
) -> tuple[list[Image.Image], list[str]]:
    """Return the drawings of both senses of some ambiguous words and their blend, and
    captions.
    """
    paths = item_images.read(f"{results}/item_images/{dataset}.parquet")
    paths = paths.set_index(["item", "image"])["path"]
    places = [(item, image) for item in names for image in SENSES]
    pictures = [registry.open_image(paths[place]) for place in places]
    return pictures, [f"{item.split(':')[0]} {image}" for item, image in places]


def items_by_language(found: pd.DataFrame) -> pd.DataFrame:
    """Return the number of items of each language, the most first: name, n_classes."""
    sizes = found.groupby("lang", as_index=False).agg(n_classes=("item", "nunique"))
    sizes = sizes.sort_values(
        "n_classes", ascending=False, kind="stable", ignore_index=True
    )
    return sizes.assign(name=[languages.name(lang) for lang in sizes["lang"]], group="")


def losses(results: str, models: Sequence[str], window: int) -> pd.DataFrame:
    """Return the first loss of each training and the mean over its last steps; models
    that the run has not trained are left out.
    """
    paths = [f"{results}/models/{name}_losses.parquet" for name in models]
    parts = [
        tables.read(path, "training_losses")
        for path in paths
        if tables.locate(path).is_file()
    ]
    rows = pd.concat([tables.empty("training_losses"), *parts], ignore_index=True)
    return rows.groupby("model", sort=False)["loss"].agg(
        first="first", last=lambda part: part.tail(window).mean()
    )


def development(
    results: str, models: Sequence[str], minimum_classes: int
) -> pd.DataFrame:
    """Return accuracy on the development drawings by model and language, with its level
    of training data (`tier`) and chance; fractions.
    """
    columns = ["model", "tier", "accuracy", "chance", "n_classes"]
    parts = [pd.DataFrame(columns=columns)]
    for name in models:
        path = tables.locate(f"{results}/models/{name}/training.json")
        record = json.loads(path.read_text(encoding="utf-8"))
        parts.append(pd.DataFrame(record["development"]).assign(model=name))
    rows = pd.concat(parts)
    return rows[rows["n_classes"] >= minimum_classes].replace(
        {"tier": {"en": "English"}}
    )


def by_level(measured: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return the mean accuracy of each model by level of training data, with intervals
    over languages (none for one language).
    """
    means = measured.groupby(["model", "tier"], sort=False)["accuracy"]
    means = means.agg(value="mean", n="size").reset_index()
    columns = ["model", "tier", "ci_low", "ci_high"]
    ends = [pd.DataFrame(columns=columns).astype({"ci_low": float, "ci_high": float})]
    for (model, tier), part in measured.groupby(["model", "tier"]):
        if len(part) > 1:
            found = bootstrap.mean_interval(
                part["accuracy"], None, n_resamples, seed=seed
            )
            ends.append(found.assign(model=model, tier=tier))
    means = means.merge(pd.concat(ends)[columns], "left")
    return means.sort_values(
        "tier", key=lambda tiers: tiers.map(LEVELS.index), kind="stable"
    )


def best_levels(means: pd.DataFrame) -> str:
    """Return the highest mean of each model with its level, as text."""
    best = means.sort_values("value", kind="stable")
    best = best.drop_duplicates("model", keep="last")
    return "; ".join(
        f"{row.model} {100 * row.value:.1f} % (level “{row.tier}”)"
        for row in best.itertuples()
    )
