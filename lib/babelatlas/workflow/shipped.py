"""Make again what ships with the library: one list of the tables of `data/` that are computed, and from what.

A function here reads its sources, writes the files, and returns the sentence that says so; nothing is written where a
source is missing.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from babelatlas.analysis import concepts, coverage, label_quality, prompt_gains
from babelatlas.analysis.released import harness_results
from babelatlas.base import released, tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA
from babelatlas.base.synsets import class_list
from babelatlas.datasets import ambiguous_words, selection
from babelatlas.lexicon import cleaning, label_translations, labels, prompts, senses, wordnets
from babelatlas.papers import geigle2024, kashanimotlagh2024, liu2021_release


def _write(table: pd.DataFrame, path: str | os.PathLike) -> None:
    table.to_csv(path, index=False, lineterminator="\n")


def _senses(_: str) -> str:
    wnids = senses.class_lists()
    found = senses.read_wordnets(wnids)
    record = senses.describe(found, wordnets.at_hand())
    tables.write(found, senses.SHIPPED, "senses")
    _write(record, DATA / "senses_manifest.csv")
    _write(senses.notes(found), cleaning.NOTES)
    return (
        f"{len(found):,} senses of {len(wnids):,} classes in {found['lang'].nunique()} languages from "
        f"{record['source'].nunique()} sources: {senses.SHIPPED}\n"
        f"Without a row: {', '.join(record.loc[record['rows'] == 0, 'source']) or 'none'}."
    )


def _labels(_: str) -> str:
    made = labels.label_set(senses.shipped(), list(class_list("imagenet-1k")["wnid"]))
    tables.write(made, labels.SHIPPED, "labels", traced=False)
    notices = (DATA / "senses_notices.txt").read_text(encoding="utf-8")
    note = labels.licence_note(made, senses.shipped(), notices)
    labels.LICENCE.write_text(note, encoding="utf-8")
    sizes = made["lang"].value_counts()
    return f"{len(made):,} labels, {(sizes >= 10).sum()} languages with 10 classes or more: {labels.SHIPPED}"


def _clip_names(_: str) -> str:
    _write(label_translations.read_translations("en").rename(columns={"translation": "name"}), labels.CLIP_NAMES)
    return f"English class names: {labels.CLIP_NAMES}"


def _ambiguous_words(_: str) -> str:
    pairs, counts = ambiguous_words.survey()
    _write(pairs.drop(columns="item"), ambiguous_words.PAIRS)
    _write(counts, ambiguous_words.LANGUAGES)
    nested = f"{len(pairs):,} pairs of classes with a word in common, {pairs['nested'].sum()} nested"
    lines = [
        f"{name}: {(part['n_apart'] >= 10).sum()} languages tell 10 or more apart, {part['n_apart'].max()} at most"
        for name, part in counts.groupby("classes", sort=False)
    ]
    return "\n".join([f"{nested}: {ambiguous_words.PAIRS}", *lines])


def _coverage(_: str) -> str:
    facts, place = coverage.synset_facts(senses.class_lists()), DATA / "synsets.csv"
    counts = coverage.count_classes(senses.read_babel_imagenet(languages_file="298"))
    _write(facts, place)
    _write(counts, DATA / "coverage_babel_imagenet.csv")
    return (
        f"Facts about {len(facts):,} classes: {place}\n"
        f"Numbers of classes of {len(counts)} languages: {DATA / 'coverage_babel_imagenet.csv'}"
    )


def _label_quality(_: str) -> str:
    lines = []
    for name, table in label_quality.recount().items():
        _write(table.round(6), DATA / label_quality.SHIPPED[name])
        lines.append(f"{len(table):,} rows: {DATA / label_quality.SHIPPED[name]}")
    return "\n".join(lines)


def _prompts(folder: str) -> str:
    counted = prompts.defects(prompts.released(Path(folder) / "data" / "nllb_dist13b_prompts.json"))
    results = prompt_gains.read_results(Path(folder) / "results" / "babel-imagenet")
    _write(counted, prompts.STATISTICS)
    _write(results, prompt_gains.RESULTS)
    return (
        f"{counted['n_templates'].sum():,} templates in {len(counted)} languages, on average "
        f"{counted['n_unique'].mean():.1f} different ones: {prompts.STATISTICS}\n"
        f"{len(results):,} accuracies: {prompt_gains.RESULTS}"
    )


def _geigle2024(folder: str) -> str:
    retrieval = geigle2024.read_retrieval(Path(folder) / "results" / "retrieval")
    counted = geigle2024.read_counts(Path(folder))
    _write(retrieval, geigle2024.RETRIEVAL)
    _write(counted, geigle2024.COUNTS)
    return f"{len(retrieval):,} recalls: {geigle2024.RETRIEVAL}\n{len(counted)} counts: {geigle2024.COUNTS}"


def _liu2021(folder: str) -> str:
    table = liu2021_release.count(folder)
    _write(table, liu2021_release.COUNTS)
    return f"{len(table):,} counts of MaRVL and NLVR2: {liu2021_release.COUNTS}"


def _concepts(folder: str) -> str:
    pages, wals, names = concepts.build(folder)
    for table, path in ((pages, concepts.TABLE), (wals, concepts.WALS), (names, concepts.EVERYDAY)):
        _write(table, path)
    sizes = ", ".join(f"{n:,} of {name}" for name, n in pages["collection"].value_counts().items())
    return f"Concepts, {sizes}: {concepts.TABLE}\n{len(names)} everyday names: {concepts.EVERYDAY}"


def _kashanimotlagh2024(folder: str) -> str:
    counts = kashanimotlagh2024.commute_counts(folder)
    _write(counts, kashanimotlagh2024.COUNTS)
    return f"Items of {len(counts)} languages: {kashanimotlagh2024.COUNTS}"


def _released(folder: str) -> str:
    table = harness_results.build(folder)
    before = released.read() if released.TABLE.is_file() else table.iloc[:0]
    tables.write(table, released.TABLE, "released", traced=False)
    changes = ", ".join(f"{number:,} {what}" for what, number in harness_results.moved(before, table).items())
    return f"{len(table):,} results of {table['model'].nunique()} models: {released.TABLE}\nRows {changes}."


def _continents(folder: str) -> str:
    table = selection.read_continents(Path(folder) / "territoryContainment.json")
    _write(table, DATA / "continents.csv")
    return f"Continents of {len(table)} territories: {DATA / 'continents.csv'}"


# Name -> (what makes it, from what, the folder of BABELATLAS_MIRROR that holds a copy of it, "" where none is given).
BABEL_IMAGENET = "Babel-ImageNet's repository"
MADE: dict[str, tuple[Callable[[str], str], str, str]] = {
    "senses": (_senses, "NLTK's wordnets", ""),
    "clip-names": (_clip_names, "CLIP_benchmark's class names", ""),
    "labels": (_labels, "the senses and CLIP's names that ship", ""),
    "ambiguous-words": (_ambiguous_words, "NLTK's wordnets", ""),
    "coverage": (_coverage, "WordNet and Babel-ImageNet's labels", ""),
    "label-quality": (_label_quality, "Babel-ImageNet's labels and other lists of class names", ""),
    "prompts": (_prompts, BABEL_IMAGENET, "babel-imagenet"),
    "geigle2024": (_geigle2024, BABEL_IMAGENET, "babel-imagenet"),
    "liu2021": (_liu2021, "MaRVL's release and NLTK's WordNet", "marvl"),
    "kashanimotlagh2024": (_kashanimotlagh2024, "CoMMuTE's release", "commute"),
    "concepts": (_concepts, "a folder with `released/marvl/concepts` and `mirror/marvl`", ".."),
    "continents": (_continents, "CLDR's supplemental data, as in npm's cldr-core", "cldr"),
    "released": (_released, "a folder with `released` and `mirror`, as data/released/sources.toml names them", ".."),
}


def overview() -> str:
    """Return the list of what can be made again, and from what, as text."""
    return "\n".join(f"{name:<20}from {sources}" for name, (_, sources, _) in MADE.items())


def rebuild(name: str, folder: str | os.PathLike = "") -> str:
    """Make one of `MADE` again, and return what was written as text.

    `folder` is a copy of the files that it is made from; where it is not given, a folder of BABELATLAS_MIRROR. Raises
    InputError for an unknown name, a folder that is needed and not given or the reverse, and files that are missing.
    """
    if name not in MADE:
        raise InputError(f"There is nothing called {name!r} to make again: {near(name, MADE)}")
    make, sources, place = MADE[name]
    mirror = os.environ.get("BABELATLAS_MIRROR")
    if place and not folder and not mirror:
        raise InputError(f"Give a copy of {sources} with --folder, or set BABELATLAS_MIRROR.")
    if folder and not place:
        raise InputError(f"What ships as {name} is made from {sources}, not from a folder: leave out --folder.")
    return make(os.fspath(tables.locate(folder or Path(mirror) / place)) if place else "")
