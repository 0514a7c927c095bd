"""The run of real models on real pictures: a run's own tables where it evaluated them
itself, else those that ship.

`make book CONFIG=config/real.yml` makes them, and `babelatlas ship real-run --folder
results/real` puts them into `data/real_run`: outcomes by item, and vectors of the
pictures. What only that command needs is in `atlas_build.real_run`.
"""

import os
from datetime import date
from functools import cache
from importlib import metadata
from pathlib import Path

import numpy as np
import pandas as pd
from packaging.requirements import Requirement

from babelatlas.base import tables
from babelatlas.base.errors import InputError, near
from babelatlas.datasets import registry as datasets
from babelatlas.datasets import stored_vectors
from babelatlas.evaluation import retrieval, zeroshot
from babelatlas.lexicon import labels as label_sets
from babelatlas.models import registry
from babelatlas.stats import bootstrap

# The data sets of pictures, each an ending of the names of a run's tables; with the
# whole ones first.
DATASETS = (
    "imagenet-photos",
    "tuxpaint-nouns",
    "tuxpaint-names",
    "tuxpaint-stamps",
    "imagenet-photos-100",
    "imagenet-photos-pairs",
)
# Name -> schema. "words": outcomes with translators' texts and with labels of lexicons,
# among the same classes; "held_out": with a class's own name left out of the bridge,
# and not, among the classes of its fold. "disambiguation": the scores of translations of
# ambiguous words, given two photographs and both at once.
TABLES = {
    "zeroshot": "zeroshot",
    "retrieval": "retrieval",
    "curves": "curves",
    "protocols": "protocols",
    "predictions": "predictions",
    "words": "zeroshot",
    "held_out": "zeroshot",
    "scores": "scores",
    "disambiguation": "disambiguation",
    "picture_labels": "picture_labels",
}
# Those that a run has a file of for each model, not for each model and data set.
BY_MODEL = ("protocols", "picture_labels")
# The data set that tells a run of the pictures themselves from one on vectors of some
# of them.
WHOLE = "imagenet-photos"
WHOLE_LABELS = "imagenet-1k"
# What a run needs for pages on photographs of its own, besides English.
LEAST_LANGUAGES = 10
LEAST_CLASSES = 100
# The model whose image vectors ship: others with its image tower are evaluated on them,
# too. The control leaves names of classes out of its bridge.
SHIPPED_TOWER = "bridge-lite2"
HELD_OUT = "bridge-lite2-folds"
# Counts of texts and tokens, and versions, that ship.
TEXTS = stored_vectors.FOLDER / "stamp_texts.csv"
MADE = stored_vectors.FOLDER / "made.csv"
TOKENS = stored_vectors.FOLDER / "label_tokens.csv"


def equal_classes(
    n_classes: int, model: str, dataset: str = WHOLE, results: str | os.PathLike = ""
) -> pd.DataFrame:
    """Return a model's accuracy in every language that has so many classes, among that
    many: lang, value, ci_low, ci_high.

    `value`: top-1 accuracy, a fraction, the mean over all subsets of `n_classes`
    classes; the interval is over the classes. What ships has some numbers of classes
    (2 to 20, then round ones), a run of one's own all.
    """
    rows = read("curves", results).query(
        "dataset == @dataset and model == @model and n_classes == @n_classes"
    )
    columns = ["lang", "value", "ci_low", "ci_high"]
    return rows.sort_values("lang", kind="stable")[columns].reset_index(drop=True)


def own(results: str | os.PathLike) -> bool:
    """Return whether a run has evaluated the pictures itself, in enough languages and
    classes for the pages on them.

    A model of it has English, and `LEAST_LANGUAGES` others with `LEAST_CLASSES`
    classes: a run of one language, or of some classes, has no page of its own on
    photographs.
    """
    for file in tables.of_run(results, f"zeroshot/*_{WHOLE}.parquet"):
        outcomes = pd.read_parquet(file, columns=["lang", "wnid"])
        n_classes = outcomes.groupby("lang")["wnid"].nunique()
        enough = n_classes.index[n_classes >= LEAST_CLASSES]
        if "en" in enough and len(enough) > LEAST_LANGUAGES:
            return True
    return False


def read(name: str, results: str | os.PathLike = "") -> pd.DataFrame:
    """Return one of TABLES: of the run in `results` where it has evaluated the pictures
    itself, else what ships.

    What a run has not made of it ships, too: one of photographs alone has no retrieval.
    "predictions" has the pictures that a model takes for another class, counted by
    both; the others are as a run's tables of this name.
    """
    if results and own(results):
        folder = tables.locate(results)
        compute = COMPUTED.get(name)
        table = compute(folder) if compute else _tables_of_run(folder, name)
        if len(table):
            return table
    return _shipped(name).copy()


@cache
def _shipped(name: str) -> pd.DataFrame:
    return tables.read(stored_vectors.FOLDER / f"{name}.parquet", TABLES[name])


def labels(results: str | os.PathLike, dataset: str) -> pd.DataFrame:
    """Return the labels of the classes of a data set: of the run in `results` where it
    has evaluated the pictures.

    Otherwise, and where the run has no such label set, those of ImageNet that ship.
    Schema `labels`.
    """
    label_set = datasets.get_dataset(dataset).labels
    file = tables.locate(results) / f"labels/{label_set}.parquet"
    if own(results) and file.is_file():
        return tables.read(file, "labels")
    return label_sets.shipped()


def check_models(rows: pd.DataFrame, *models: str) -> None:
    """Raise InputError, with the nearest name, for one of `models` that a table of
    outcomes has no row of.
    """
    evaluated = rows["model"].unique()
    for model in models:
        if model not in evaluated:
            raise InputError(
                f"There are no outcomes on these pictures of {model!r}:"
                f" {near(model, evaluated)}"
            )


def _tables_of_run(folder: Path, name: str) -> pd.DataFrame:
    """Return a run's tables of one name and of the real pictures as one."""
    endings = [f"*_{dataset}.parquet" for dataset in DATASETS]
    if name in BY_MODEL:
        endings = ["*.parquet"]
    files = set()
    for ending in endings:
        files.update(tables.of_run(folder, f"{name}/{ending}"))
    parts = [tables.read(file, name) for file in sorted(files)]
    return pd.concat([tables.empty(name), *parts], ignore_index=True)


def predictions(folder: Path) -> pd.DataFrame:
    """Return what the models of a run took pictures of another class for, schema
    `predictions`; without HELD_OUT.
    """
    parts = []
    for file in tables.of_run(folder, "embeddings/*/*.npz"):
        if file.stem in DATASETS and file.parent.name != HELD_OUT:
            parts += _mistakes(file)
    if not parts:
        return tables.empty("predictions")
    by = tables.SCHEMAS["predictions"][1]
    mistakes = pd.concat(parts).groupby(by, as_index=False, sort=False)
    counts = mistakes.size().rename(columns={"size": "n_images"})
    return tables.check(counts, "predictions")


def _mistakes(file: Path) -> list[pd.DataFrame]:
    """Return the pictures that a model takes for another class, one row each, from a
    file of vectors, by language.
    """
    images, wnids, classes = zeroshot.read_vectors(file)
    parts = []
    for lang, (class_wnids, class_vectors) in classes.items():
        has_label = np.isin(wnids, class_wnids)
        similarity = zeroshot.similarity(images[has_label], class_vectors)
        nearest = similarity.argmax(axis=1)
        rows = pd.DataFrame({"lang": lang, "wnid": wnids[has_label]})
        rows = rows.assign(predicted=np.array(class_wnids)[nearest])
        rows = rows.assign(model=file.parent.name, dataset=file.stem)
        parts.append(rows[rows["wnid"] != rows["predicted"]])
    return parts


def words(folder: Path) -> pd.DataFrame:
    """Return outcomes with two kinds of words, schema `zeroshot`, among the classes
    that a language has both of.
    """
    files = tables.of_run(folder, "embeddings/*/tuxpaint-names.npz")
    parts = [_among_shared([file, file.with_stem("tuxpaint-nouns")]) for file in files]
    table = pd.concat([tables.empty("zeroshot"), *parts], ignore_index=True)
    return tables.check(table, "zeroshot")


def held_out(folder: Path) -> pd.DataFrame:
    """Return outcomes with classes held out and without, schema `zeroshot`: both among
    the classes of a fold.
    """
    models = (SHIPPED_TOWER, HELD_OUT)
    files = [folder / f"embeddings/{model}/{WHOLE}.npz" for model in models]
    if not all(file.is_file() for file in files):
        return tables.empty("zeroshot")
    n_folds = registry.get_model(HELD_OUT).bridge.folds
    return tables.check(_among_shared(files, n_folds), "zeroshot")


def _among_shared(files: list[Path], n_folds: int = 0) -> pd.DataFrame:
    """Return the outcomes of files of vectors among the classes that a language has in
    all of them, in folds if any.
    """
    vectors = [zeroshot.read_vectors(file) for file in files]
    shared = _shared_classes([classes for _, _, classes in vectors])
    parts = []
    for file, (images, wnids, classes) in zip(files, vectors, strict=True):
        protocol = zeroshot.read_protocol(file)
        for lang, shared_wnids in shared.items():
            class_wnids, class_vectors = classes[lang]
            places = pd.Index(class_wnids).get_indexer(shared_wnids)
            outcomes = zeroshot.evaluate(
                images, wnids, class_vectors[places], shared_wnids, n_folds
            )
            key = {"model": file.parent.name, "dataset": file.stem, "labels": "part"}
            parts.append(outcomes.assign(**key, lang=lang, **protocol[lang]))
    return pd.concat(parts, ignore_index=True)


def _shared_classes(
    classes: list[dict[str, tuple[list[str], np.ndarray]]],
) -> dict[str, list[str]]:
    """Return the classes that all have in a language, sorted: language -> classes."""
    langs = set.intersection(*(set(by_lang) for by_lang in classes))
    shared = {}
    for lang in sorted(langs):
        wnids = [set(by_lang[lang][0]) for by_lang in classes]
        shared[lang] = sorted(set.intersection(*wnids))
    return shared


def scores(folder: Path) -> pd.DataFrame:
    """Return accuracies and recall@10 by model and language with intervals over classes
    and pictures, schema `scores`.

    `variant`: of retrieval the direction. Without the control that holds classes out,
    and what is a part of another.
    """
    rows = read("zeroshot", folder).query(
        "model != @HELD_OUT and dataset in ['imagenet-photos', 'tuxpaint-nouns']"
    )
    accuracy = bootstrap.accuracy_interval(rows, by=["model", "dataset", "lang"])
    accuracy = accuracy.assign(task="zeroshot", metric="accuracy@1", variant="")
    recall = retrieval.metric_intervals(read("retrieval", folder), ["recall@10"], 2000)
    recall = recall.rename(columns={"direction": "variant"}).assign(task="retrieval")
    both = pd.concat([accuracy, recall]).assign(group="")
    return tables.check(both[[*tables.SCORE]].reset_index(drop=True), "scores")


def guessing() -> pd.Series:
    """Return what guessing scores, of the rows of `scores`: one of the classes, or a
    random order of the pictures.

    The index is dataset, lang and variant.
    """
    key = ["dataset", "lang", "variant"]
    ranks = read("retrieval").rename(columns={"direction": "variant"})
    recall = np.minimum(10 * retrieval.chance(ranks), 1)
    by_direction = ranks.assign(value=recall).groupby(key)["value"].mean()
    outcomes = read("zeroshot").assign(variant="")
    n_classes = outcomes.groupby(key)["wnid"].nunique()
    return pd.concat([by_direction, 1 / n_classes])


def made(results: str | os.PathLike = "") -> dict[str, str]:
    """Return the day on which a run evaluated the pictures, or what ships was made, and
    versions of packages.
    """
    if not (results and own(results)):
        return dict(pd.read_csv(MADE, dtype=str).to_numpy())
    files = tables.locate(results).glob(f"zeroshot/*_{WHOLE}.parquet")
    newest = max(file.stat().st_mtime for file in files)
    required = set()
    for entry in registry.MODELS:
        if entry.bridge:
            required.update(Requirement(text).name for text in entry.requires)
    packages = [*sorted(required), "torch", "timm", "pillow", "numpy"]
    versions = {name: metadata.version(name) for name in packages}
    return {"day": date.fromtimestamp(newest).isoformat()} | versions


# What is computed from a run's vectors.
COMPUTED = {
    "predictions": predictions,
    "words": words,
    "held_out": held_out,
    "scores": scores,
}
