"""Make again what ships with the library: one list of the tables of `data/` that are
computed, and from what.

A function here returns the files that it makes, path -> table, or text; nothing is
written where a source is missing.
"""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from atlas_build import generative_results, harness_results
from atlas_build import real_run as real_run_files
from babelatlas.analysis import coverage, label_quality, real_run
from babelatlas.base import released, tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA
from babelatlas.datasets import ambiguous_words
from babelatlas.lexicon import (
    cleaning,
    label_translations,
    labels,
    prompts,
    senses,
    wordnets,
)


def _senses(_: Path) -> dict:
    found = senses.read_wordnets(senses.class_lists())
    record = senses.describe(found, wordnets.at_hand())
    return {
        senses.SHIPPED: found,
        DATA / "senses_manifest.csv": record,
        cleaning.NOTES: senses.notes(found),
    }


def _labels(_: Path) -> dict:
    made = labels.label_set(
        senses.shipped(), list(senses.class_list("imagenet-1k")["wnid"])
    )
    notices = (DATA / "senses_notices.txt").read_text(encoding="utf-8")
    return {
        labels.SHIPPED: made,
        labels.LICENCE: labels.licence_note(made, senses.shipped(), notices),
    }


def _clip_names(_: Path) -> dict:
    return {
        labels.CLIP_NAMES: (
            label_translations.read_translations("en").rename(
                columns={"translation": "name"}
            )
        )
    }


def _ambiguous_words(_: Path) -> dict:
    pairs, counts = ambiguous_words.survey()
    return {
        ambiguous_words.PAIRS: pairs.drop(columns="item"),
        ambiguous_words.LANGUAGES: counts,
    }


def _coverage(_: Path) -> dict:
    counts = coverage.count_classes(senses.read_babel_imagenet())
    return {
        DATA / "synsets.csv": coverage.synset_facts(senses.class_lists()),
        DATA / "coverage_babel_imagenet.csv": counts,
    }


def _label_quality(_: Path) -> dict:
    return {
        DATA / label_quality.SHIPPED[name]: table.round(6)
        for name, table in label_quality.recount().items()
    }


def _prompts(folder: Path) -> dict:
    return {
        prompts.STATISTICS: prompts.defects(
            prompts.released(folder / "data" / "nllb_dist13b_prompts.json")
        )
    }


def _released(folder: Path) -> dict:
    items = tables.locate(folder) / released.facts()["sources"]["vizwiz"]["files"]
    return {
        released.TABLE: harness_results.build(folder),
        released.ITEMS: generative_results.vizwiz_items(items),
    }


# Name -> (what makes it, from what, the folder of BABELATLAS_MIRROR that holds a copy
# of it, "" where none is given).
MADE: dict[str, tuple[Callable[[Path], dict], str, str]] = {
    "senses": (_senses, "NLTK's wordnets", ""),
    "clip-names": (_clip_names, "CLIP_benchmark's class names", ""),
    "labels": (_labels, "the senses and CLIP's names that ship", ""),
    "ambiguous-words": (_ambiguous_words, "NLTK's wordnets", ""),
    "coverage": (_coverage, "WordNet and Babel-ImageNet's labels", ""),
    "label-quality": (
        _label_quality,
        "Babel-ImageNet's labels and other lists of class names",
        "",
    ),
    "prompts": (_prompts, "Babel-ImageNet's repository", "babel-imagenet"),
    "real-run": (
        real_run_files.build,
        "a run of config/real.yml, as --folder results/real",
        "",
    ),
    "released": (
        _released,
        (
            "a folder with `released` and `mirror`, as data/released/sources.toml names"
            " them"
        ),
        "..",
    ),
}


def overview() -> str:
    """Return the list of what can be made again, and from what, as text."""
    return "\n".join(
        f"{name:<20}from {sources}" for name, (_, sources, _) in MADE.items()
    )


def rebuild(name: str, folder: str | os.PathLike = "") -> str:
    """Make one of `MADE` again, and return what was written as text.

    `folder` is a copy of the files that it is made from; where it is not given, a
    folder of BABELATLAS_MIRROR. Raises InputError for an unknown name, a folder that is
    needed and not given, and files that are missing.
    """
    if name not in MADE:
        raise InputError(
            f"There is nothing called {name!r} to make again: {near(name, MADE)}"
        )
    make, sources, place = MADE[name]
    mirror, lines = os.environ.get("BABELATLAS_MIRROR"), []
    if place and not folder and not mirror:
        raise InputError(
            f"Give a copy of {sources} with --folder, or set BABELATLAS_MIRROR."
        )
    for path, table in make(tables.locate(folder or Path(mirror or "", place))).items():
        if isinstance(table, str):
            path.write_text(table, encoding="utf-8")
        elif path.suffix == ".npz":
            np.savez_compressed(path, **table)
        elif path.suffix == ".parquet":
            schema = real_run.TABLES.get(path.stem, path.stem)
            tables.write(table, path, schema, traced=path == senses.SHIPPED)
        else:
            table.to_csv(path, index=False, lineterminator="\n")
        lines.append(
            f"{path}: {len(table):,}"
            f" {'characters' if isinstance(table, str) else 'rows'}"
        )
    return "\n".join(lines)
