"""Lexical sources to senses: which words, in which languages, name a WordNet synset.

Read through NLTK: the lemmas of WordNet 3.0 for English, the wordnets of the Open Multilingual Wordnet (Bond and Paik
2012), and the words of Wiktionary that Bond and Foster (2013) linked to WordNet. The senses of the ImageNet-1k classes
and of the pictogram concepts ship with the study; `python -m babelatlas.senses` makes them again from NLTK's data.

A class is known by its `wnid`: "n" and the eight digits of the noun synset's offset in WordNet 3.0.
"""

import hashlib
import os
import re
import warnings
from functools import cache
from pathlib import Path

import pandas as pd

from babelatlas import InputError, languages, tables

DATA = Path(__file__).parent / "data"
SHIPPED = DATA / "senses.parquet"
DOWNLOAD = (
    "run `python -m nltk.downloader wordnet omw-2.0 extended_omw` (with NLTK 3.9: omw-1.4 in place of omw-2.0), "
    "or point the environment variable BABELATLAS_MIRROR at a folder that holds nltk_data"
)


def shipped() -> pd.DataFrame:
    """Return the senses that ship with the study, schema `senses`: ImageNet-1k classes and pictogram concepts."""
    return tables.read(SHIPPED, "senses")


def manifest() -> pd.DataFrame:
    """Return what the shipped senses were made from, one row for each wordnet (and language of Wiktionary).

    Columns: `source` and `code` (the wordnet's own language code) are the key; `lang`, `name`, `version`, `licence`,
    `url`, `rows` (in the shipped senses; 0 where the wordnet was not at hand) and `sha256` of its file ("" likewise).
    """
    return pd.read_csv(DATA / "senses_manifest.csv", dtype={"rows": int}, keep_default_na=False)


def at_hand(nltk_data: str | os.PathLike | None = None) -> pd.DataFrame:
    """Return the wordnets that NLTK finds, one row each: `source`, `code`, `lang`, `sha256` of the file; in that order.

    `nltk_data` is a folder as NLTK lays it out; left out, BABELATLAS_MIRROR/nltk_data or NLTK's own folders.
    Raises InputError where NLTK or one of its three corpora is absent.
    """
    wordnet, omw, extended = _corpora(_folder(nltk_data))
    rows = [("wordnet-3.0", "eng", _sha256(wordnet, "data.noun"))]
    for code in set(wordnet.langs()) - {"eng"}:
        source, iso, file = _describe(wordnet, code)
        if source == "wikt" and len(iso) == 3 and file in _files(extended):
            rows.append((source, code, _sha256(extended, file)))
        elif source.startswith("omw-") and iso != "eng":  # the English one repeats WordNet
            rows.append((source, code, _sha256(omw, file)))
    found = pd.DataFrame(rows, columns=["source", "code", "sha256"])
    found.insert(2, "lang", [languages.canonical(code.split("_")[0]) for code in found["code"]])
    return found.sort_values(["source", "code"], ignore_index=True)


def read_wordnets(wnids: list[str], nltk_data: str | os.PathLike | None = None) -> pd.DataFrame:
    """Return the senses of noun synsets in every language that NLTK's wordnets name them in, schema `senses`.

    Lemmas are as the source gives them, save that underscores and the spaces at the ends are gone (WordNet writes
    "great_white_shark"). Sources: "wordnet-3.0" (English), "omw-<folder>" or "omw-<folder>-<language>", "wikt".
    Rows are in the order of language, wnid and source (WordNet, then Open Multilingual Wordnet, then Wiktionary);
    within these in the source's own order. `nltk_data` as in `at_hand`. Takes about half a minute.
    Raises InputError for a wnid that is no noun synset of WordNet 3.0, for data that are absent, and for a wordnet
    whose licence the manifest does not name.
    """
    wnids = list(dict.fromkeys(wnids))
    strange = [wnid for wnid in wnids if not re.fullmatch(r"n\d{8}", str(wnid))]
    if strange:
        raise InputError(f"A wnid is 'n' and eight digits, such as n02084071: got {strange[0]!r}.")
    folder = _folder(nltk_data)
    wordnets = at_hand(folder)
    licences = manifest().drop_duplicates("source").set_index("source")["licence"]
    unknown = sorted(set(wordnets["source"]) - set(licences.index))
    if unknown:
        raise InputError(f"The wordnet {unknown[0]} has no row in senses_manifest.csv: add one that names its licence.")
    wordnet, _, _ = _corpora(folder)
    rows = []
    with warnings.catch_warnings():
        # One for each line whose offset this copy of WordNet does not have (verbs and adjectives, mostly).
        warnings.filterwarnings("ignore", message=".*invalid offset", category=UserWarning)
        warnings.filterwarnings("ignore", message="No WordNet synset found", category=UserWarning)
        synsets = {wnid: wordnet.synset_from_pos_and_offset("n", int(wnid[1:])) for wnid in wnids}
        lost = [wnid for wnid, synset in synsets.items() if synset is None]
        if lost:
            raise InputError(
                f"{len(lost)} wnid(s) are no noun synset of WordNet 3.0, the first: {lost[0]}; correct the list."
            )
        for each in wordnets.itertuples():
            for wnid, synset in synsets.items():
                lemmas = [lemma.replace("_", " ").strip() for lemma in synset.lemma_names(each.code)]
                rows += [(each.lang, wnid, lemma, each.source, licences[each.source]) for lemma in lemmas if lemma]
    found = pd.DataFrame(rows, columns=list(tables.SCHEMAS["senses"][0])).drop_duplicates(tables.SCHEMAS["senses"][1])
    rank = found["source"].map(lambda source: (not source.startswith("wordnet"), source))
    found = found.assign(rank=rank).sort_values(["lang", "wnid", "rank"], kind="stable", ignore_index=True)
    return tables.check(found.drop(columns="rank"), "senses")


def _folder(nltk_data: str | os.PathLike | None) -> str | None:
    if nltk_data is None and os.environ.get("BABELATLAS_MIRROR"):
        nltk_data = Path(os.environ["BABELATLAS_MIRROR"]) / "nltk_data"
    if nltk_data is not None and not Path(nltk_data).is_dir():
        raise InputError(f"There is no folder {nltk_data} with NLTK's data: {DOWNLOAD}.")
    return None if nltk_data is None else str(nltk_data)


@cache
def _corpora(folder: str | None):
    """Return NLTK's readers of WordNet, of the Open Multilingual Wordnet and of its extension.

    The readers are our own, because NLTK's shared WordNet reader counts every wordnet twice once it has been used.
    """
    import nltk
    from nltk.corpus import extended_omw
    from nltk.corpus.reader import CorpusReader, WordNetCorpusReader
    from nltk.corpus.util import LazyCorpusLoader

    if folder is not None and folder not in nltk.data.path:
        nltk.data.path.insert(0, folder)
    # NLTK 3.10 calls the folder omw-2.0, NLTK 3.9 omw-1.4.
    for name in ("omw-2.0", "omw-1.4"):
        omw = LazyCorpusLoader(name, CorpusReader, r".*/wn-data-.*\.tab", encoding="utf8")
        wordnet = LazyCorpusLoader("wordnet", WordNetCorpusReader, omw)
        try:
            wordnet.ensure_loaded()
            wordnet.add_exomw()
        except LookupError:
            continue
        if wordnet.get_version() != "3.0":
            raise InputError(f"Class ids are of WordNet 3.0, but NLTK's is {wordnet.get_version()}: {DOWNLOAD}.")
        return wordnet, omw, extended_omw
    raise InputError(f"NLTK finds no WordNet, or no Open Multilingual Wordnet with its extension: {DOWNLOAD}.")


def _describe(wordnet, code: str) -> tuple[str, str, str]:
    """Return the source's name, the language code and the file of what NLTK calls, say, "ita_iwn" or "deu_wikt"."""
    folder, iso = wordnet.provenances[code], code.split("_")[0]
    if folder in ("wikt", "cldr"):
        return folder, iso, f"{folder}/wn-{folder}-{iso}.tab"
    return f"omw-{folder}" if folder == iso else f"omw-{folder}-{iso}", iso, f"{folder}/wn-data-{iso}.tab"


@cache
def _files(reader) -> frozenset[str]:
    return frozenset(reader.fileids())


def _sha256(reader, file: str) -> str:
    with reader.abspath(file).open() as stream:
        return hashlib.sha256(stream.read()).hexdigest()


def class_lists() -> list[str]:
    """Return the wnids whose senses ship: the ImageNet-1k classes, then the pictogram concepts not among them."""
    lists = [DATA / "imagenet-1k.csv", DATA / "pictograms.csv"]
    return list(dict.fromkeys(wnid for file in lists if file.is_file() for wnid in pd.read_csv(file)["wnid"]))


def describe(senses: pd.DataFrame, wordnets: pd.DataFrame) -> pd.DataFrame:
    """Return the manifest of `senses` made from `wordnets`, which `at_hand` gives, with what is known of each source.

    A language of Wiktionary has a row where it has senses; a wordnet always, so that the missing ones are named.
    """
    known = manifest()
    facts = known.drop_duplicates("source").set_index("source")[["name", "version", "licence", "url"]]
    rows = wordnets.assign(rows=[int(n) for n in _count(senses, wordnets)])
    rows = rows[(rows["rows"] > 0) | (rows["source"] != "wikt")].join(facts, on="source")
    absent = known[(known["source"] != "wikt") & ~known["source"].isin(wordnets["source"])].assign(rows=0, sha256="")
    both = pd.concat([rows, absent])[list(known)]
    return both.sort_values(["source", "code"], ignore_index=True)


def _count(senses: pd.DataFrame, wordnets: pd.DataFrame) -> list[int]:
    sizes = senses.groupby(["source", "lang"]).size()
    return [sizes.get((each.source, each.lang), 0) for each in wordnets.itertuples()]


def main() -> None:
    """Make the shipped senses and their manifest again from NLTK's data, and say what was written."""
    wnids = class_lists()
    senses = read_wordnets(wnids)
    record = describe(senses, at_hand())
    tables.write(senses, SHIPPED, "senses")
    record.to_csv(DATA / "senses_manifest.csv", index=False, lineterminator="\n")
    absent = ", ".join(record.loc[record["rows"] == 0, "source"]) or "none"
    print(
        f"{len(senses):,} senses of {len(wnids):,} classes in {senses['lang'].nunique()} languages "
        f"from {record['source'].nunique()} sources: {SHIPPED}\nWithout a row: {absent}."
    )


if __name__ == "__main__":
    main()
