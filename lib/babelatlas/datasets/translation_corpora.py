"""What a translator is trained on: English sentences, their translations, and the image
that each describes.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from babelatlas.base import download, languages, own_tables, tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import captions

# The languages into which Multi30k's training sentences are translated.
MULTI30K = ("de", "fr", "cs")
COLUMNS = ["lang", "source", "translation", "image"]


def read(
    corpus: str, langs: Sequence[str], folder: str | os.PathLike = ""
) -> pd.DataFrame:
    """Return the sentences of a corpus: lang (of the target), source (English),
    translation, image (name of the file), weight (all 1).

    `corpus`: "multi30k", or a CSV file with the columns lang, source, translation and,
    for a gate that reads images, image. `langs`: the targets, () for all that it has.
    `folder`: where Multi30k's files are, "" to fetch them. Raises InputError for a
    language that the corpus lacks and a file that is none of its.
    """
    if corpus == "multi30k":
        return _multi30k(langs, folder)
    rows = own_tables.read(corpus, "sentences", COLUMNS[:3])
    rows = rows.assign(lang=rows["lang"].map(languages.canonical), weight=1.0)
    wanted = languages.among(langs, rows["lang"], f"The table {corpus}")
    rows = rows[rows["lang"].isin(wanted)] if wanted else rows
    columns = [name for name in (*COLUMNS, "weight") if name in rows]
    return rows[columns].reset_index(drop=True)


def _multi30k(langs: Sequence[str], folder: str | os.PathLike) -> pd.DataFrame:
    """Return the training sentences of task 1 of Multi30k (Elliott et al. 2016)."""
    wanted = languages.among(langs, list(MULTI30K), "Multi30k") or list(MULTI30K)
    images = captions.lines(_multi30k_file("images", folder))
    english = captions.lines(_multi30k_file("en", folder))
    parts = []
    for lang in wanted:
        translations = captions.lines(_multi30k_file(lang, folder))
        counts = {len(images), len(english), len(translations)}
        if len(counts) > 1:
            raise InputError(
                f"Multi30k's training files have {len(images):,} images,"
                f" {len(english):,} English sentences and {len(translations):,} in"
                f" {lang}: line k of one belongs to line k of the others; get them"
                " again."
            )
        columns = {"source": english, "translation": translations, "image": images}
        parts.append(pd.DataFrame(columns).assign(lang=lang, weight=1.0))
    texts = pd.concat(parts, ignore_index=True)[[*COLUMNS, "weight"]]
    stripped = texts[COLUMNS].apply(lambda column: column.str.strip())
    return stripped.assign(weight=texts["weight"])


def _multi30k_file(kind: str, folder: str | os.PathLike) -> Path:
    """Return the file of Multi30k's training images, or sentences in a language."""
    if not os.fspath(folder):
        return download.file(f"multi30k-train-{kind}")
    home = tables.locate(folder)
    if (home / "data" / "task1").is_dir():
        home = home / "data" / "task1"
    file = home / "raw" / f"train.{kind}.gz"
    if kind == "images":
        file = home / "image_splits" / "train.txt"
    if not file.is_file():
        raise InputError(
            f"Multi30k has no file {file}: give the folder of its repository, or leave"
            " it out to fetch the files."
        )
    return file
