"""The wordnets that NLTK has, to senses: WordNet 3.0, the Open Multilingual Wordnet, its extension with Wiktionary.

Sources: the Open Multilingual Wordnet (Bond and Paik 2012) and the words of Wiktionary that Bond and Foster (2013)
linked to WordNet. NLTK finds the files, fetches them where they are absent and reads WordNet; the files of the others
("tab files") are read here, because NLTK passes over what is wrong in them and takes longer.
"""

import difflib
import hashlib
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import pandas as pd

from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA

COMMAND = "python -m nltk.downloader wordnet omw-2.0 extended_omw"
BY_HAND = (
    f"run `{COMMAND}`, or point the environment variable BABELATLAS_MIRROR at a folder that holds nltk_data with them"
)
# What NLTK calls the three corpora; it reads the second as omw-2.0 from version 3.10 on, and as omw-1.4 before.
CORPORA = (("wordnet",), ("omw-2.0", "omw-1.4"), ("extended_omw",))
# A line of a tab file is a comment, or an offset with part of speech, a kind, and a text that may be empty.
BAD_LINE = re.compile(r"^(?!#|[0-9]{8}-[nvars]\t[^\t\n]+\t|\s*$)", re.MULTILINE)


def manifest() -> pd.DataFrame:
    """Return what the shipped senses were made from, one row for each wordnet (and language of Wiktionary).

    Columns: `source` and `code` (the wordnet's own language code) are the key; `lang`, `name`, `authors`, `version`,
    `licence`, `url`, `rows` (in the shipped senses; 0 where the wordnet was not available), `sha256` of its file.
    """
    return pd.read_csv(DATA / "senses_manifest.csv", dtype={"rows": int}, keep_default_na=False)


def sources() -> pd.DataFrame:
    """Return what is known of the sources of labels: index `source`; name, authors, version, licence and url."""
    clip = {"name": "CLIP's English class names", "authors": "OpenAI", "version": "CLIP_benchmark, commit 48de38c"}
    clip |= {"licence": "MIT", "url": "https://github.com/openai/CLIP"}
    known = manifest().drop_duplicates("source").set_index("source")[list(clip)]
    return pd.concat([pd.DataFrame(clip, index=["clip"]), known])


def at_hand(nltk_data: str | os.PathLike | None = None) -> pd.DataFrame:
    """Return the wordnets that NLTK finds, one row each: `source`, `code`, `lang`, `sha256` of the file; in that order.

    `nltk_data` is a folder as NLTK lays it out; left out, BABELATLAS_MIRROR/nltk_data or NLTK's own folders. A language
    of Wiktionary that the study has no row for has `lang` "". Fetches nothing: raises InputError where NLTK lacks one
    of the three corpora.
    """
    corpora = _corpora(_folder(nltk_data))
    found = _listing(corpora)
    readers = {"wordnet-3.0": corpora[0], "wikt": corpora[2]}
    contents = (_bytes(readers.get(each.source, corpora[1]), each.file) for each in found.itertuples())
    found["sha256"] = [hashlib.sha256(content).hexdigest() for content in contents]
    return found[["source", "code", "lang", "sha256"]]


def read_wordnets(
    wnids: Iterable[str],
    nltk_data: str | os.PathLike | None = None,
    codes: Iterable[str] = (),
    download: bool = True,
    report: Callable[[str], object] = print,
) -> pd.DataFrame:
    """Return the senses of noun synsets in every language that NLTK's wordnets name them in, schema `senses`.

    Lemmas are as the source gives them, save that underscores and the spaces at the ends are gone. Sources:
    "wordnet-3.0" (English), "omw-<folder>" or "omw-<folder>-<language>", "wikt". Rows are in the order of language,
    wnid and source (WordNet first); within these in the source's own order.

    `nltk_data` as in `at_hand`; where neither it nor BABELATLAS_MIRROR is given and NLTK lacks a corpus, that one is
    fetched into NLTK's usual folder, unless `download` is False. `codes` keeps only these languages (English too has to
    be asked for). `report` takes one line of progress at a time.
    Raises InputError for a wnid that is no noun synset of WordNet 3.0, a language that no wordnet has, data that are
    absent and cannot be fetched, a damaged file (with the line), and a wordnet whose licence the manifest lacks.
    """
    wnids = list(dict.fromkeys(wnids))
    corpora = _synset_check(wnids, nltk_data, download)
    wordnet, omw, extended = corpora
    chosen = _choose(_listing(corpora), list(codes), report)
    licences = manifest().drop_duplicates("source").set_index("source")["licence"]
    unknown = sorted(set(chosen["source"]) - set(licences.index))
    if unknown:
        raise InputError(f"The wordnet {unknown[0]} has no row in senses_manifest.csv: add one that names its licence.")
    wanted = {wnid[1:]: wnid for wnid in wnids}
    report(f"Reading {len(chosen):,} wordnets for {len(wanted):,} classes.")
    rows = []
    for number, each in enumerate(chosen.itertuples(), 1):
        if each.source == "wordnet-3.0":
            pairs = [(wnid, lemma) for wnid in wnids for lemma in _synset(wordnet, wnid).lemma_names()]
        else:
            pairs = _pairs(extended if each.source == "wikt" else omw, each.file, each.code.split("_")[0], wanted)
        licence = licences[each.source]
        words = ((wnid, lemma.replace("_", " ").strip()) for wnid, lemma in pairs)
        rows += [(each.lang, wnid, lemma, each.source, licence) for wnid, lemma in words if lemma]
        if number % 250 == 0:
            report(f"{number:,} of {len(chosen):,} wordnets read, {len(rows):,} words so far.")
    found = pd.DataFrame(rows, columns=list(tables.SCHEMAS["senses"][0])).drop_duplicates(tables.SCHEMAS["senses"][1])
    found["other"] = ~found["source"].str.startswith("wordnet")
    found = found.sort_values(["lang", "wnid", "other", "source"], kind="stable", ignore_index=True)
    return tables.check(found.drop(columns="other"), "senses")


def glosses(wnids: Iterable[str], nltk_data: str | os.PathLike | None = None, download: bool = True) -> pd.DataFrame:
    """Return what WordNet 3.0 says of each class: columns `wnid`, `gloss`, `lemmas` (list of its English lemmas).

    `nltk_data`, `download` and what raises as in `read_wordnets`.
    """
    wnids = list(dict.fromkeys(wnids))
    found = synsets(wnids, nltk_data, download)
    lemmas = [[lemma.replace("_", " ") for lemma in synset.lemma_names()] for synset in found]
    return pd.DataFrame({"wnid": wnids, "gloss": [synset.definition() for synset in found], "lemmas": lemmas})


def synsets(wnids: Iterable[str], nltk_data: str | os.PathLike | None = None, download: bool = True) -> list:
    """Return NLTK's synset of each class, in order; `nltk_data`, `download` and what raises as in `read_wordnets`."""
    wnids = list(wnids)
    wordnet, _, _ = _synset_check(wnids, nltk_data, download)
    return [_synset(wordnet, wnid) for wnid in wnids]


def download_corpora(server: str | None = None) -> list[str]:
    """Fetch those of the three corpora that NLTK lacks into NLTK's usual folder; return the names of the fetched.

    `server`: the address of another index than NLTK's own. Raises InputError if a corpus cannot be had.
    """
    from nltk.downloader import Downloader

    fetched = []
    for names in CORPORA:
        if any(_root(name, None) is not None for name in names):
            continue
        try:
            Downloader(server_index_url=server).download(names[0], raise_on_error=True, print_error_to=sys.stderr)
        except (OSError, SyntaxError, ValueError) as error:  # the second is what XML that is none raises
            reason = str(error).strip().splitlines()[-1].rstrip(".")
            raise InputError(f"NLTK's corpus {names[0]} cannot be fetched ({reason}): {BY_HAND}.") from error
        fetched.append(names[0])
    return fetched


def _folder(nltk_data: str | os.PathLike | None) -> str | None:
    if nltk_data is None and os.environ.get("BABELATLAS_MIRROR"):
        nltk_data = Path(os.environ["BABELATLAS_MIRROR"]) / "nltk_data"
    if nltk_data is not None and not Path(nltk_data).is_dir():
        raise InputError(f"There is no folder {nltk_data} with NLTK's data: {BY_HAND}.")
    return None if nltk_data is None else str(nltk_data)


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
    """Return readers of the three corpora, our own since NLTK's shared ones cannot be told which folder to read."""
    from nltk.corpus.reader import CorpusReader, WordNetCorpusReader
    from nltk.corpus.reader.wordnet import WordNetError

    roots = []
    for names in CORPORA:
        found = [root for name in names if (root := _root(name, folder)) is not None]
        if not found:
            raise InputError(
                f"NLTK finds no corpus {' or '.join(names)}{f' in {folder}' if folder else ''}: {BY_HAND}."
            )
        roots.append(found[0])
    omw, extended = (CorpusReader(root, r".*/wn-(data|wikt)-.*\.tab", encoding="utf8") for root in roots[1:])
    try:
        wordnet = WordNetCorpusReader(roots[0], omw)
        version = wordnet.get_version()
    except (WordNetError, LookupError, OSError, AssertionError, ValueError) as error:
        raise InputError(f"NLTK cannot read the WordNet in {roots[0]} ({error}): fetch it again, {BY_HAND}.") from error
    if version != "3.0":
        raise InputError(f"Class ids are of WordNet 3.0, but NLTK's is {version}: {BY_HAND}.")
    return wordnet, omw, extended


def _synset_check(wnids: list[str], nltk_data: str | os.PathLike | None, download: bool):
    """Return NLTK's readers if each wnid is a noun synset of its WordNet, else raise InputError."""
    strange = [wnid for wnid in wnids if not re.fullmatch(r"n[0-9]{8}", str(wnid))]
    if strange:
        raise InputError(f"A wnid is 'n' and eight digits, such as n02084071: got {strange[0]!r}.")
    folder = _folder(nltk_data)
    if folder is None and download:
        download_corpora()
    corpora = _corpora(folder)
    lost = [wnid for wnid in wnids if _synset(corpora[0], wnid) is None]
    if lost:
        raise InputError(
            f"{len(lost)} wnid(s) are no noun synset of WordNet 3.0, the first: {lost[0]}; correct the list."
        )
    return corpora


def _synset(wordnet, wnid: str):
    from nltk.corpus.reader.wordnet import WordNetError

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="No WordNet synset found", category=UserWarning)
        try:
            return wordnet.synset_from_pos_and_offset("n", int(wnid[1:]))
        except WordNetError as error:
            raise InputError(f"WordNet's file data.noun is damaged at {wnid}: fetch it again, {BY_HAND}.") from error


def _listing(corpora) -> pd.DataFrame:
    """Return the wordnets: columns source, code (as NLTK calls it: "ita_iwn", "deu_wikt"), lang, file; sorted."""
    _, omw, extended = corpora
    rows, taken = [("wordnet-3.0", "eng", "data.noun")], {"eng"}
    for file in omw.fileids():
        match = re.fullmatch(r"([^/]+)/wn-data-([a-z]{3})\.tab", file)
        if match is None or match[2] == "eng":  # the English one repeats WordNet
            continue
        folder, iso = match.groups()
        code = f"{iso}_{folder}" if iso in taken else iso
        taken.add(code)
        rows.append((f"omw-{folder}" if folder == iso else f"omw-{folder}-{iso}", code, file))
    for file in extended.fileids():
        match = re.fullmatch(r"wikt/wn-wikt-([a-z]{3})\.tab", file)
        if match:
            rows.append(("wikt", f"{match[1]}_wikt", file))
    found = pd.DataFrame(rows, columns=["source", "code", "file"])
    found.insert(2, "lang", [_lang(code.split("_")[0]) for code in found["code"]])
    return found.sort_values(["source", "code"], ignore_index=True)


@cache
def _lang(iso: str) -> str:
    try:
        return languages.canonical(iso)
    except InputError:
        return ""


def _choose(wordnets: pd.DataFrame, codes: list[str], report: Callable[[str], object]) -> pd.DataFrame:
    """Return the wordnets of these languages, of all if there are none; those in unknown languages are reported."""
    nameless = sorted(wordnets.loc[wordnets["lang"] == "", "code"])
    wordnets = wordnets[wordnets["lang"] != ""]
    if not codes:
        if nameless:
            report(f"Left out, as languages.csv has no row for them: {len(nameless)} wordnets, {', '.join(nameless)}.")
        return wordnets
    wanted, known = [languages.canonical(code) for code in codes], sorted(set(wordnets["lang"]))
    for code in wanted:
        if code not in known:
            close = difflib.get_close_matches(code, known, n=3, cutoff=0)
            hint = ", ".join(f"{other} ({languages.name(other)})" for other in close)
            raise InputError(
                f"No wordnet that NLTK has names anything in {languages.name(code)} ({code}): leave it out, "
                f"or give another code (the nearest: {hint})."
            )
    return wordnets[wordnets["lang"].isin(wanted)]


def _bytes(reader, file: str) -> bytes:
    with reader.abspath(file).open() as stream:
        return stream.read()


def _pairs(reader, file: str, iso: str, wanted: dict[str, str]) -> list[tuple[str, str]]:
    """Return the wnid and lemma of each line of a tab file that names a wanted noun synset (its offset to its wnid)."""
    content = _bytes(reader, file)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"The wordnet file {file} is not UTF-8 in line {line}: fetch it again, {BY_HAND}.") from error
    bad = BAD_LINE.search(text)
    if bad:
        line, got = text.count("\n", 0, bad.start()) + 1, text[bad.start() :].split("\n", 1)[0]
        raise InputError(
            f"The wordnet file {file} is damaged in line {line}: expected an offset such as 02084071-n, a kind and a "
            f"word with tabs between them, got {got[:60]!r}; fetch it again, {BY_HAND}."
        )
    # Other kinds, such as "arb:lemma:root" and "ita:def", are no words for the synset.
    lines = re.findall(rf"^([0-9]{{8}})-n\t(?:{iso}:)?lemma\t([^\t\n]*)", text, re.MULTILINE)
    return [(wanted[offset], lemma) for offset, lemma in lines if offset in wanted]
