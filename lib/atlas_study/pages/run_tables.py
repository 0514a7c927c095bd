"""What the pages of languages show of a run: its scores, label sets, and what others
merged into it.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from atlas_build import merged
from atlas_study.pages import explorer
from babelatlas.analysis import all_results, outcomes
from babelatlas.base import languages, tables
from babelatlas.datasets import registry as datasets
from babelatlas.lexicon import labels
from babelatlas.models import registry as models


class LabelSet(NamedTuple):
    """A label set cut into its languages: language -> its rows, schema `labels`; and the
    number of its classes.
    """

    rows: Mapping[str, pd.DataFrame]
    n_classes: int


def cut(labels: pd.DataFrame) -> LabelSet:
    """Return a label set, schema `labels`, cut into its languages."""
    return LabelSet(dict(list(labels.groupby("lang"))), labels["wnid"].nunique())


class Run(NamedTuple):
    """What the pages show of a run, the same for all languages.

    `scores`: rows of `all_results.boards`; `labels`: the label sets by name;
    `model_pages`: model -> the address of its page, where it has one; `miniature`:
    whether the models are those of the miniature; `images`: data set -> how many images
    there are to choose from (`explorer.gallery_sizes`); `merged`: what others computed
    (`all_results.merged_results`).
    """

    scores: pd.DataFrame
    labels: Mapping[str, LabelSet] = {}
    model_pages: Mapping[str, str] = {}
    miniature: bool = False
    images: Mapping[str, int] = {}
    merged: pd.DataFrame | None = None


def read_run(
    folder: str | os.PathLike,
    model_names: Sequence[str],
    dataset_names: Sequence[str],
    model_pages: Mapping[str, str],
) -> Run:
    """Return what pages show of the run in a folder, of these models and data sets;
    `model_pages`: as in `Run`.

    Raises InputError where the run has no table of scores, or no score of them.
    """
    scores = tables.read(f"{folder}/scores/languages.parquet", "languages")
    chosen = scores["model"].isin(model_names) & scores["dataset"].isin(dataset_names)
    scores = all_results.boards(scores[chosen])

    files = outcomes.files(folder, model_names[:1], dataset_names)
    retrieval = files.loc[files["task"] == "retrieval", "path"]
    images = explorer.gallery_sizes(retrieval)
    theirs = all_results.merged_results(
        merged.files(folder), merged.scores(folder), images
    )
    label_sets = _label_sets(folder, list(scores["labels"].unique()), dataset_names)
    return Run(
        scores=scores,
        labels={name: cut(table) for name, table in label_sets.items()},
        model_pages=model_pages,
        miniature=bool(models.caution(model_names)),
        images=images,
        merged=theirs,
    )


def _label_sets(
    folder: str | os.PathLike, names: list[str], dataset_names: Sequence[str]
) -> dict[str, pd.DataFrame]:
    """Return the label sets of a run by name: ImageNet's, those by which its models
    were evaluated, and those of the user's data sets.

    ImageNet's are those that ship where the run has made none.
    """
    label_sets = {}
    for name in filter(None, ["imagenet-1k", *names]):
        path = f"{folder}/labels/{name}.parquet"
        if tables.locate(path).is_file():
            label_sets[name] = tables.read(path, "labels")
    for name in dataset_names:
        file = datasets.get_dataset(name).label_table
        if file:
            label_sets[Path(file).stem] = datasets.read_labels(file)
    label_sets.setdefault("imagenet-1k", labels.shipped())
    return label_sets


def languages_of_pages(run: Run, asked: Sequence[str] = ()) -> list[str]:
    """Return the languages that get a page: those asked for, or all that have a score
    of the run, a merged or a released one.
    """
    if asked:
        return [languages.canonical(code) for code in asked]
    codes = {*run.scores["lang"], *all_results.by_language()}
    if run.merged is not None:
        codes |= {*run.merged["lang"]}
    return sorted(codes)
