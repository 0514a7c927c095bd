"""The senses of the study: which words, in which languages, name a WordNet synset, and
from which source.

Every source is one small reader that returns the schema `senses` (lang, wnid, lemma,
source, licence): `wordnets.read_wordnets` (WordNet 3.0, the Open Multilingual Wordnet
and Wiktionary, through NLTK), `read_babel_imagenet` (the label set that Babel-ImageNet
released), `babelnet.read` (BabelNet, with a key of the user's own).

Add them up with pandas.concat. The wordnets' senses of the ImageNet-1k classes and of
all pictograms ship with the study; `babelatlas ship senses` makes them again. A class
is known by its `wnid`: "n" and the eight digits of the noun synset's offset in WordNet
3.0.
"""

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from babelatlas.base import download, languages, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA
from babelatlas.base.synsets import CLASS_LISTS, class_list
from babelatlas.lexicon import cleaning, wordnets
from babelatlas.lexicon.wordnets import manifest, read_wordnets

SHIPPED = DATA / "senses.parquet"
BABELNET_LICENCE = "BabelNet Non-Commercial License"
IMAGENET_CLASSES = 1000
# Where words can come from, as notebook 60 names it.
SOURCES = ("wordnets", "babel-imagenet", "babelnet")


def shipped() -> pd.DataFrame:
    """Return the senses that ship with the study, schema `senses`: ImageNet-1k classes
    and all pictograms.
    """
    return tables.read(SHIPPED, "senses")


def for_classes(wnids: Iterable[str]) -> pd.DataFrame:
    """Return the wordnets' senses of these classes, schema `senses`: the shipped ones
    where they have every class.
    """
    wnids, ours = list(dict.fromkeys(wnids)), shipped()
    if set(wnids) <= set(ours["wnid"]):
        return ours[ours["wnid"].isin(wnids)].reset_index(drop=True)
    return read_wordnets(wnids)


def read_babel_imagenet(path: str | os.PathLike = "") -> pd.DataFrame:
    """Return the labels that Babel-ImageNet released in 298 languages, schema `senses`:
    one word for each class.

    `path`: of its file, "" for the one that `fetch` has or downloads. Raises InputError
    for a file that is not in its form.

    The labels are BabelNet's, for non-commercial use only: do not republish them. The
    words are untouched. Codes that name no language of the study, or one that another
    code has named (as Taraškievica Belarusian does), are left out. The file, fetched
    once: {"DE": [[0, 2, ...], ["Schleie", ...]], ...}, numbers being places in
    ImageNet's list. Source: Geigle, Timofte and Glavaš (2024), Table 5.
    """
    file = tables.locate(path) if path else download.file("babel-imagenet-298")
    content = _read_babel_imagenet(file)
    wnids = class_list("imagenet-1k")["wnid"].tolist()
    # Codes that are the study's own come before those that are another spelling of a
    # language.
    codes = sorted(
        content, key=lambda code: (languages.of_wikimedia(code) != code.lower(), code)
    )
    rows, taken, left_out = [], set(), []
    for code in codes:
        lang = languages.of_wikimedia(code)
        if not lang or lang in taken:
            left_out.append(f"{code} ({len(content[code][0]):,})")
            continue
        taken.add(lang)
        pairs = sorted(zip(*content[code], strict=True))
        rows += [
            (lang, wnids[place], label, "babel-imagenet", BABELNET_LICENCE)
            for place, label in pairs
        ]
    if left_out:
        print(
            "Babel-ImageNet: left out, as no language of the study or named twice"
            f" (words): {', '.join(left_out)}."
        )
    table = pd.DataFrame(rows, columns=list(tables.SCHEMAS["senses"][0]))
    return tables.check(
        table.sort_values(["lang", "wnid"], kind="stable", ignore_index=True), "senses"
    )


def _read_babel_imagenet(file: Path) -> dict[str, list[list]]:
    """Return the content of Babel-ImageNet's file: places in ImageNet's list and words
    by code of a language.
    """
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        for numbers, words in content.values():
            for place, label in zip(numbers, words, strict=True):
                _check_place_and_label(place, label)
    except (OSError, AttributeError, TypeError, ValueError) as error:
        raise InputError(
            f"{file.name} should be Babel-ImageNet's file of labels, such as"
            " babel_imagenet-298.json of its repository, and cannot be read as that"
            f" ({error}): name this file."
        ) from None
    return content


def _check_place_and_label(place: object, label: object) -> None:
    """Raise ValueError for what is no place in ImageNet's list, or no word."""
    if not isinstance(place, int) or not 0 <= place < IMAGENET_CLASSES:
        raise ValueError(f"{place!r} is no class from 0 to {IMAGENET_CLASSES - 1}")
    if not isinstance(label, str):
        raise ValueError(f"{label!r} is no word")


def class_lists() -> list[str]:
    """Return the wnids whose senses ship: ImageNet-1k's classes, then pictogram
    concepts and senses not among them.
    """
    return list(
        dict.fromkeys(wnid for name in CLASS_LISTS for wnid in class_list(name)["wnid"])
    )


def notes(senses: pd.DataFrame) -> pd.DataFrame:
    """Return the words of senses that are Latin names or general words: lang,
    wnid, word (small letters), note.

    "taxon", not in English and Latin: a family or higher rank of a class in WordNet, or
    a word with the ending of one; a genus before a word with a Latin ending. A genus
    alone is none ("Ara" is Italian too). "general": a word that the language lists for
    a class above, too; "too general" where English has a term of several words for the
    class. Reads NLTK's wordnets; words are compared after `cleaning.SPELLING`.
    """
    above, groups, compounds = _taxonomy(senses["wnid"].unique())
    ranks = {
        name.split("_")[1]
        for name in groups
        if re.match("(sub|super)?(family|order|class|phylum)_", name)
    }
    listed = {}  # language and word -> the classes that it names
    more = read_wordnets(sorted(set(above).union(*above.values())))
    for row in cleaning.clean(more, cleaning.SPELLING).itertuples():
        listed.setdefault((row.lang, row.lemma.casefold()), set()).add(row.wnid)

    rows = set()
    spelt = cleaning.clean(senses, cleaning.SPELLING)
    for row in spelt.query("lang not in ['en', 'la']").itertuples():
        word = row.lemma.casefold()
        if _is_latin(word, groups, ranks):
            rows.add((row.lang, row.wnid, word, "taxon"))
        elif listed[row.lang, word] & above[row.wnid]:
            note = "too general" if row.wnid in compounds else "general"
            rows.add((row.lang, row.wnid, word, note))
    return pd.DataFrame(sorted(rows), columns=["lang", "wnid", "word", "note"])


def _taxonomy(
    wnids: Iterable[str],
) -> tuple[dict[str, set[str]], set[str], set[str]]:
    """Return, by WordNet, the classes above each class, the names (small letters) of
    the groups that it and these belong to, and the classes that English calls by
    several words.
    """
    wnids = list(wnids)
    above, groups, compounds = {}, set(), set()
    for wnid, synset in zip(wnids, wordnets.synsets(wnids), strict=True):
        kinds = list(synset.closure(lambda kind: kind.hypernyms()))
        above[wnid] = {f"n{kind.offset():08d}" for kind in kinds}
        if "_" in synset.lemma_names()[0]:
            compounds.add(wnid)
        for kind in [synset, *kinds]:
            for group in kind.closure(lambda member: member.member_holonyms()):
                groups |= {name.lower() for name in group.lemma_names()}
    return above, groups, compounds


def _is_latin(word: str, groups: set[str], ranks: set[str]) -> bool:
    """Return whether a word is a Latin name: of a rank, of a species, or by its
    ending.
    """
    if re.fullmatch("[a-z]+(idae|inae|iformes|oidea|ptera)", word):
        return True
    genus, *rest = word.split()
    if not rest:
        return word in ranks
    has_ending = re.search("(us|is|um|i|ae|ns|es)$", rest[0])
    return bool(has_ending) and f"genus_{genus}" in groups


def describe(senses: pd.DataFrame, wordnets: pd.DataFrame) -> pd.DataFrame:
    """Return the manifest of `senses` made from `wordnets`, which `at_hand` gives; a
    wordnet always has a row.
    """
    former = manifest()
    columns = ["name", "authors", "version", "licence", "url"]
    facts = former.drop_duplicates("source").set_index("source")[columns]
    sizes = senses.groupby(["source", "lang"]).size()
    keys = zip(wordnets["source"], wordnets["lang"], strict=True)
    rows = wordnets.assign(rows=[int(sizes.get(key, 0)) for key in keys])
    rows = rows[(rows["rows"] > 0) | (rows["source"] != "wikt")]
    is_absent = ~former["source"].isin(wordnets["source"])
    absent = former[is_absent & (former["source"] != "wikt")]
    absent = absent.assign(rows=0, sha256="")
    both = pd.concat([rows.join(facts, on="source"), absent])[list(former)]
    return both.sort_values(["source", "code"], ignore_index=True)
