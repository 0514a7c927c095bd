"""The wordnets that NLTK has, to senses: WordNet 3.0, the Open Multilingual Wordnet,
its extension with Wiktionary.

Sources: the Open Multilingual Wordnet (Bond and Paik 2012) and the words of Wiktionary
that Bond and Foster (2013) linked to WordNet. NLTK finds the files (in
BABELATLAS_MIRROR/nltk_data or its own folders), fetches them where they are absent and
reads WordNet; the files of the others ("tab files") are read here, because NLTK passes
over what is wrong in them and takes longer.
"""

import hashlib
import os
import re
import sys
import warnings
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pandas as pd

from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA

BY_HAND = (
    "run `python -m nltk.downloader wordnet omw-2.0 extended_omw`, or point the"
    " environment variable BABELATLAS_MIRROR at a folder that holds nltk_data with them"
)
CORPORA = ("wordnet", "omw-2.0", "extended_omw")  # what NLTK calls them
# A line of a tab file is a comment, or an offset with part of speech, a kind, and a
# text that may be empty.
BAD_LINE = re.compile(r"^(?!#|[0-9]{8}-[nvars]\t[^\t\n]+\t|\s*$)", re.MULTILINE)


def manifest() -> pd.DataFrame:
    """Return what the shipped senses were made from, one row for each wordnet (and
    language of Wiktionary).

    Columns: `source` and `code` (the wordnet's own language code) are the key; `lang`,
    `name`, `authors`, `version`, `licence`, `url`, `rows` (in the shipped senses; 0
    where the wordnet was not available), `sha256` of its file.
    """
    return pd.read_csv(
        DATA / "senses_manifest.csv", dtype={"rows": int}, keep_default_na=False
    )


@cache
def sources() -> pd.DataFrame:
    """Return what is known of the sources of labels: index `source`; name, authors,
    version, licence and url. Do not change the table.
    """
    clip = {
        "name": "CLIP's English class names",
        "authors": "OpenAI",
        "version": "CLIP_benchmark, commit 48de38c",
    }
    clip |= {"licence": "MIT", "url": "https://github.com/openai/CLIP"}
    of_wordnets = manifest().drop_duplicates("source").set_index("source")[list(clip)]
    return pd.concat([pd.DataFrame(clip, index=["clip"]), of_wordnets])


def at_hand() -> pd.DataFrame:
    """Return the wordnets that NLTK finds, one row each: `source`, `code`, `lang`,
    `sha256` of the file; in that order.

    A language of Wiktionary that the study has no row for has `lang` "". Fetches
    nothing.
    """
    corpora = _corpora(_folder())
    listed = _listing(corpora)
    readers = {"wordnet-3.0": corpora[0], "wikt": corpora[2]}
    checksums = []
    for wordnet in listed.itertuples():
        content = _bytes(readers.get(wordnet.source, corpora[1]), wordnet.file)
        checksums.append(hashlib.sha256(content).hexdigest())
    listed["sha256"] = checksums
    return listed[["source", "code", "lang", "sha256"]]


def read_wordnets(wnids: Iterable[str], codes: Iterable[str] = ()) -> pd.DataFrame:
    """Return the senses of noun synsets in every language that NLTK's wordnets name
    them in, schema `senses`.

    Lemmas are as the source gives them, save that underscores and the spaces at the
    ends are gone. Sources: "wordnet-3.0" (English), "omw-<folder>" or
    "omw-<folder>-<language>", "wikt". Rows are in the order of language, wnid and
    source (WordNet first); within these in the source's own order. `codes` keeps only
    these languages. Raises InputError for a wnid that is no noun synset of WordNet 3.0,
    a language that no wordnet has, data that are absent and cannot be fetched, a
    damaged file (with the line), and a wordnet whose licence the manifest lacks.
    """
    wnids = list(dict.fromkeys(wnids))
    wanted = {wnid[1:]: wnid for wnid in wnids}
    english = [
        (wnid, lemma)
        for wnid, synset in zip(wnids, synsets(wnids), strict=True)
        for lemma in synset.lemma_names()
    ]
    corpora = _corpora(_folder())
    listed = _listing(corpora)
    listed = listed[listed["lang"] != ""]
    if chosen := languages.among(codes, listed["lang"], "The list of NLTK's wordnets"):
        listed = listed[listed["lang"].isin(chosen)]
    licences = manifest().drop_duplicates("source").set_index("source")["licence"]
    if unknown := sorted(set(listed["source"]) - set(licences.index)):
        raise InputError(
            f"The wordnet {unknown[0]} has no row in senses_manifest.csv: add one that"
            " names its licence."
        )
    rows = []
    columns, key = tables.SCHEMAS["senses"]
    _, open_multilingual, wiktionary = corpora
    for wordnet in listed.itertuples():
        source, lang = wordnet.source, wordnet.lang
        pairs = english
        if source != "wordnet-3.0":
            reader = wiktionary if source == "wikt" else open_multilingual
            pairs = _pairs(reader, wordnet.file, wordnet.code.split("_")[0], wanted)
        for wnid, lemma in pairs:
            word = lemma.replace("_", " ").strip()
            if word:
                rows.append((lang, wnid, word, source, licences[source]))
    table = pd.DataFrame(rows, columns=list(columns)).drop_duplicates(key)
    table["other"] = ~table["source"].str.startswith("wordnet")
    table = table.sort_values(
        ["lang", "wnid", "other", "source"], kind="stable", ignore_index=True
    )
    return tables.check(table.drop(columns="other"), "senses")


def synsets(wnids: Iterable[str]) -> list:
    """Return NLTK's synset of each class, in order; corpora that NLTK lacks are
    fetched.

    Raises InputError for what is no noun synset of WordNet 3.0, and for data that are
    absent and cannot be fetched.
    """
    if (folder := _folder()) is None:
        download_corpora()
    wordnet = _corpora(folder)[0]
    found = []
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message="No WordNet synset found", category=UserWarning
        )
        for wnid in wnids:
            synset = None
            if re.fullmatch(r"n[0-9]{8}", wnid):
                synset = wordnet.synset_from_pos_and_offset("n", int(wnid[1:]))
            if not synset:
                raise InputError(
                    f"{wnid!r} is no noun synset of WordNet 3.0, such as n02084071:"
                    " correct the list."
                )
            found.append(synset)
    return found


def download_corpora() -> None:
    """Fetch those of the three corpora that NLTK lacks into NLTK's usual folder;
    InputError if one cannot be had.
    """
    from nltk.downloader import Downloader

    for name in CORPORA:
        if not _root(name, None):
            try:
                Downloader().download(
                    name, raise_on_error=True, print_error_to=sys.stderr
                )
            except (
                OSError,
                SyntaxError,
                ValueError,
            ) as error:  # the second is what XML that is none raises
                reason = str(error).strip().splitlines()[-1].rstrip(".")
                raise InputError(
                    f"NLTK's corpus {name} cannot be fetched ({reason}): {BY_HAND}."
                ) from error


def _folder() -> str | None:
    """Return the mirror's folder of NLTK's data, None where there is no mirror."""
    mirror = os.environ.get("BABELATLAS_MIRROR")
    if mirror and not (Path(mirror) / "nltk_data").is_dir():
        raise InputError(
            f"There is no folder {mirror}/nltk_data with NLTK's data: {BY_HAND}."
        )
    return str(Path(mirror) / "nltk_data") if mirror else None


def _root(name: str, folder: str | None):
    """Return where NLTK finds a corpus, as a folder or inside a zip file, or None."""
    import nltk

    if folder is not None and folder not in nltk.data.path:
        nltk.data.path.append(folder)  # NLTK 3.10 reads nothing outside of its path
    for resource in (f"corpora/{name}", f"corpora/{name}.zip/{name}/"):
        try:
            return nltk.data.find(resource, paths=None if folder is None else [folder])
        except LookupError:
            continue
    return None


@cache
def _corpora(folder: str | None):
    """Return readers of the three corpora, our own since NLTK's shared ones cannot be
    told which folder to read.
    """
    from nltk.corpus.reader import CorpusReader, WordNetCorpusReader

    roots = [_root(name, folder) for name in CORPORA]
    if None in roots:
        absent = CORPORA[roots.index(None)]
        raise InputError(
            f"NLTK finds no corpus {absent} in {folder or 'its folders'}: {BY_HAND}."
        )
    omw, extended = (
        CorpusReader(root, r".*/wn-(data|wikt)-.*\.tab", encoding="utf8")
        for root in roots[1:]
    )
    wordnet = WordNetCorpusReader(roots[0], omw)
    if (version := wordnet.get_version()) != "3.0":
        raise InputError(
            f"Class ids are of WordNet 3.0, but NLTK's is {version}: {BY_HAND}."
        )
    return wordnet, omw, extended


def _listing(corpora) -> pd.DataFrame:
    """Return the wordnets: columns source, code (as NLTK calls it: "ita_iwn",
    "deu_wikt"), lang, file; sorted.
    """
    _, omw, extended = corpora
    rows, taken = [("wordnet-3.0", "eng", "data.noun")], {"eng"}
    for file in omw.fileids():
        match = re.fullmatch(r"([^/]+)/wn-data-([a-z]{3})\.tab", file)
        if match is None or match[2] == "eng":  # the English one repeats WordNet
            continue
        folder, iso = match.groups()
        code = f"{iso}_{folder}" if iso in taken else iso
        taken.add(code)
        rows.append(
            (f"omw-{folder}" if folder == iso else f"omw-{folder}-{iso}", code, file)
        )
    matches = (
        re.fullmatch(r"wikt/wn-wikt-([a-z]{3})\.tab", file)
        for file in extended.fileids()
    )
    rows += [("wikt", f"{match[1]}_wikt", match[0]) for match in matches if match]
    listed = pd.DataFrame(rows, columns=["source", "code", "file"])
    listed.insert(2, "lang", [_lang(code.split("_")[0]) for code in listed["code"]])
    return listed.sort_values(["source", "code"], ignore_index=True)


@cache
def _lang(iso: str) -> str:
    try:
        return languages.canonical(iso)
    except InputError:
        return ""


def _bytes(reader, file: str) -> bytes:
    with reader.abspath(file).open() as stream:
        return stream.read()


def _pairs(
    reader, file: str, iso: str, wanted: dict[str, str]
) -> list[tuple[str, str]]:
    """Return the wnid and lemma of each line of a tab file that names a wanted noun
    synset (its offset to its wnid).
    """
    text = _bytes(reader, file).decode("utf-8-sig")
    if bad := BAD_LINE.search(text):
        line = text.count("\n", 0, bad.start()) + 1
        got = text[bad.start() :].split("\n", 1)[0]
        what = (
            f"is damaged in line {line}: expected an offset such as 02084071-n, a kind"
            f" and a word, got {got[:60]!r}"
        )
        raise InputError(f"The wordnet file {file} {what}; fetch it again, {BY_HAND}.")
    # Other kinds, such as "arb:lemma:root" and "ita:def", are no words for the synset.
    lines = re.findall(
        rf"^([0-9]{{8}})-n\t(?:{iso}:)?lemma\t([^\t\n]*)", text, re.MULTILINE
    )
    return [(wanted[offset], lemma) for offset, lemma in lines if offset in wanted]
