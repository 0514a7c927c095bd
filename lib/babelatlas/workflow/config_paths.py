"""The files and folders that a config names: whether they are there, and of the kind that is read."""

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from babelatlas.base import download, synsets, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import check_writable
from babelatlas.models import hub, translators
from babelatlas.models import registry as models
from babelatlas.workflow.plan import EVALUATIONS, scored, templates

# The keys whose values are files or folders, one for each name.
PATHS = ("images", "annotations", "checkpoints", "custom_models", "classes", "verified_labels")
# The keys of a custom data set whose values are such, and what each is like.
OF_DATASETS = {"images": "images", "annotations": "words", "classes": "classes", "label_table": "words"}
# Parameters of notebooks that are files or folders, or lists of them.
OF_NOTEBOOKS = "homes areas own_tables extended references questions measurements ratings translations dump claims"
OF_NOTEBOOKS = (*OF_NOTEBOOKS.split(), "annotations", "sources", "texts")
# Key -> the endings that its files may have; of `images` those of a table.
ENDINGS = {
    "words": (".csv", ".parquet"),
    "classes": (".csv", ".txt"),
    "verified_labels": (".csv", ".parquet"),
    "external_scores": (".csv", ".parquet"),
    "images": (".csv", ".parquet"),
}
AHEAD = 60  # seconds that clocks of two machines may differ


def prepare(run: str | os.PathLike) -> None:
    """Make the folder of a run ready for it: its folders are there and can be written to, no file is from the future.

    Raises InputError for a folder that cannot be written to. A clock that was set back leaves files from the future;
    Snakemake refuses what is made from them, as it would be older than they are, so they get the present time.
    """
    for folder in ("", "logs", "notebooks"):
        check_writable(Path(run, folder))
    now, ahead = time.time(), 0
    for file in (*Path(run).glob("*/*"), *Path(run).glob("*/*/*")):
        with suppress(OSError):  # deleted meanwhile, or another's
            if file.is_file() and file.stat().st_mtime > now + AHEAD:
                os.utime(file, (now, now))
                ahead += 1
    if ahead:
        told = f"{ahead} file(s) in {run} had a time in the future and now have the present one"
        print(f"{told}: was the clock set back?", file=sys.stderr)


def check_paths(config: dict) -> None:
    """Raise InputError where a path of a checked config is not there or of no use, or a model's terms are not accepted.

    As `annotations` a word without / or . is a name and no path.
    """
    for key, name, path, like in _paths(config):
        if key == "annotations" and not re.search(r"[/.]", path):
            continue
        place = tables.locate(path)
        if not os.path.exists(place):
            raise InputError(
                f"The config's {key} of {name!r} should be at {path}, where nothing is: correct the path, or leave "
                f"{name!r} out of the config."
            )
        wanted = _wanted(like, place)
        if wanted:
            raise InputError(f"The config's {key} of {name!r} should be {wanted}, got {path}: correct the path.")
        if like == "classes":
            synsets.class_list(path)
    own = [*config.get("checkpoints", {}), *config.get("external_scores", {}), *config.get("custom_models", {})]
    entries = [models.find(name) for name in config.get("models", []) if name not in own]
    entries += [translators.get_translator(name) for name in config.get("translators", []) if name not in own]
    for entry in entries:
        hub.check_agreement(entry)


def _wanted(like: str, place) -> str:
    """Return what a place should be by its key, "" where it is that."""
    ending = "" if place.is_dir() else place.suffix.lower()
    if like == "checkpoints":
        return "" if place.is_dir() else "a folder"
    if like == "images":
        fits = place.is_dir() or download.is_archive(place) or ending in ENDINGS[like]
        return "" if fits else "a folder, an archive, or a table that ends in .csv or .parquet"
    if like in ENDINGS and (place.is_dir() or ending not in ENDINGS[like]):
        return f"a file that ends in {' or '.join(ENDINGS[like])}"
    return ""


def _paths(config: dict) -> Iterator[tuple[str, str, str, str]]:
    """Yield each path: its key and what it is of, for a message, the path, and the key whose files it is like."""
    for key in PATHS:
        for name, paths in config.get(key, {}).items():
            for path in [paths] if isinstance(paths, str) else paths:
                yield key, name, path, key
    for path in config.get("words", []):
        yield "words", path, path, "words"
    for name, sets in config.get("external_scores", {}).items():
        for dataset, given in sets.items():
            like = "external_scores" if isinstance(given, str) else ""
            for path in scored(given)["scores"]:
                yield "external_scores", f"{name} on {dataset}", path, like
    for name, given in config.get("custom_datasets", {}).items():
        for key, like in OF_DATASETS.items():
            if given.get(key) and given[key] not in synsets.FURTHER_LISTS:
                yield "custom_datasets", name, given[key], like
    for base, wanted in config.get("adaptations", {}).items():
        texts = wanted.get("texts", "")
        found = [texts.replace("{lang}", lang) for lang in wanted["languages"]] if texts else []
        for path in [*dict.fromkeys(found), *filter(None, [wanted.get("images")])]:
            yield "adaptations", base, path, ""
    for notebook, given in config.get("parameters", {}).items():
        for path in templates(notebook, given) if notebook in EVALUATIONS else []:
            yield "templates", path, path, ""
        for name in OF_NOTEBOOKS:
            value = given.get(name) or []
            for path in [value] if isinstance(value, str) else value:
                if isinstance(path, str) and re.search(r"[/.]", path) and "{" not in path:
                    yield "parameters", f"{notebook}: {name}", path, ""
