"""Embedding many pictures and texts: each different one once, in batches, kept on disk and reused.

A cache file is named by what went into it (model, weights, language, texts or image files), so that a changed input is
embedded anew and an unchanged one is not.
"""

import hashlib
import os
import time
import zipfile
from pathlib import Path

import numpy as np

from babelatlas import InputError, datasets, tables
from babelatlas.encoders import Encoder


def embed_images(
    encoder: Encoder,
    paths: list[str],
    cache: str | os.PathLike = "",
    batch_size: int = 64,
    progress: bool = True,
) -> np.ndarray:
    """Return vectors of shape (paths, dimensions), float32, not normalised: one row for each path, in their order.

    `cache`: a folder to keep the vectors in; "" keeps none. The contents of the files and the encoder's `key` decide
    whether what is kept still holds. Raises InputError for a file that cannot be read and for a vector that is not a
    number.
    """
    if not paths:
        raise InputError("There is no image to embed: the table of images is empty.")
    different = list(dict.fromkeys(str(path) for path in paths))
    missing = [path for path in different if not os.path.isfile(path)]
    if missing:
        raise InputError(f"{len(missing)} image(s) do not exist, the first: {missing[0]}; make or fetch them again.")
    parts = [hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in different]

    def encode(start: int, stop: int) -> np.ndarray:
        return encoder.encode_images([datasets.open_image(path) for path in different[start:stop]])

    vectors = _cached(encoder, "images", parts, cache, encode, batch_size, progress)
    place = {path: row for row, path in enumerate(different)}
    return vectors[[place[str(path)] for path in paths]]


def embed_texts(
    encoder: Encoder,
    texts: list[str],
    cache: str | os.PathLike = "",
    lang: str = "",
    batch_size: int = 256,
    progress: bool = False,
) -> np.ndarray:
    """Return vectors of shape (texts, dimensions), float32, not normalised: one row for each text, in their order.

    `lang` is passed to the encoder; the other parameters are those of `embed_images`.
    """
    if len(texts) == 0:
        raise InputError("There is no text to embed: the list is empty.")
    different = list(dict.fromkeys(texts))

    def encode(start: int, stop: int) -> np.ndarray:
        return encoder.encode_texts(different[start:stop], lang)

    parts = [lang, *different]
    vectors = _cached(encoder, "texts", parts, cache, encode, batch_size, progress, len(different))
    place = {text: row for row, text in enumerate(different)}
    return vectors[[place[text] for text in texts]]


def _cached(encoder, kind, parts, cache, encode, batch_size, progress, count=None) -> np.ndarray:
    if batch_size < 1:
        raise InputError(f"The batch size is {batch_size}: expected at least 1.")
    count = len(parts) if count is None else count
    digest = hashlib.sha256("\x00".join([encoder.name, encoder.key, kind, *parts]).encode()).hexdigest()[:20]
    path = tables.locate(cache) / f"{kind}-{digest}.npz" if str(cache) else None
    if path is not None and path.is_file():
        vectors = _read(path)
        if vectors is not None and len(vectors) == count:
            return vectors
    began, rows = time.monotonic(), []
    for start in range(0, count, batch_size):
        stop = min(start + batch_size, count)
        batch = np.asarray(encode(start, stop), np.float32)
        bad = np.flatnonzero(~np.isfinite(batch).all(1))
        if len(bad):
            raise InputError(
                f"The model {encoder.name!r} gives a vector that is not a number for {kind[:-1]} "
                f"{start + int(bad[0]) + 1} of {count}: its weights are damaged, or its precision is too low."
            )
        rows.append(batch)
        if progress and (stop == count or (start // batch_size) % 20 == 19):
            left = (time.monotonic() - began) / stop * (count - stop)
            print(f"{encoder.name}: {stop} of {count} {kind}, {left:.0f} s left", flush=True)
    vectors = np.concatenate(rows)
    if path is not None:
        _write(path, vectors)
    return vectors


def _read(path: Path) -> np.ndarray | None:
    """Return the vectors of a cache file, or None where the file is damaged: it is only a copy."""
    try:
        # Opened here, since numpy leaves a damaged file open.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return arrays["vectors"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _write(path: Path, vectors: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            np.savez(file, vectors=vectors)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
