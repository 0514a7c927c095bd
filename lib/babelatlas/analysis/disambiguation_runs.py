"""Which results of disambiguation a page shows: those of the run's own real models
first, else the ones that ship, and the miniature's behind them.

What ships are the choices of the bridges on photographs of ambiguous words
(`real_run`); `config/real.yml` makes them.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pandas as pd

from babelatlas.analysis import real_run
from babelatlas.datasets import stored_vectors
from babelatlas.evaluation import disambiguation
from babelatlas.models import registry

SHIPPED = stored_vectors.FOLDER / "disambiguation.parquet"
DATASET = "imagenet-photos-pairs"
CLIP_LIKE = "CLIP-like"
TRANSLATORS = "translators"


class Shown(NamedTuple):
    """Tables of costs, as `disambiguation.files` lists them, and the models in them."""

    real: pd.DataFrame  # of real models: of the run, else what ships
    miniature: pd.DataFrame  # of the run's miniature models
    own: bool  # whether `real` is of the run
    families: dict[str, str]  # model -> its kind, "CLIP-like" or "translators"


def shown(
    results: str,
    models: Sequence[str],
    translators: Sequence[str],
    datasets: Iterable[str],
) -> Shown:
    """Return what a run has of real models and of the miniature; without the first, what
    ships.

    `results`: the folder of the run; what else is given, as in `disambiguation.files`.
    """
    files = disambiguation.files(results, models, translators, datasets)
    is_tiny = files["model"].map(lambda name: registry.caution([name]) != "")
    is_tiny = is_tiny.astype(bool)
    real = files[~is_tiny]
    own = len(real) > 0
    families = dict.fromkeys(models, CLIP_LIKE) | dict.fromkeys(
        translators, TRANSLATORS
    )
    if not own:
        real = pd.DataFrame([_shipped_file()], columns=list(files))
        bridges = real_run.read("disambiguation")["model"].unique()
        families = dict.fromkeys(bridges, CLIP_LIKE) | families
    return Shown(real, files[is_tiny], own, families)


def _shipped_file() -> list:
    """Return the row of the table that ships, which is of several models."""
    return ["", False, DATASET, str(SHIPPED), ""]


def lacking(found: Shown) -> str:
    """Return a sentence on what a run lacks to be shown itself, "" where it has it."""
    if found.own:
        return ""
    return (
        "This run has not evaluated a real model on ambiguous words: name real models and"
        " a data set such as `imagenet-1k-pairs` or `commute` in its config. Shown are"
        " the bridges, whose results ship with the study (`config/real.yml`)."
    )
