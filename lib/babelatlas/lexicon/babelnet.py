"""BabelNet to senses: the words of its synsets with the source of each, through its HTTP API and the user's own key.

BabelNet joins wordnets, Wiktionary, Wikidata, Wikipedia and others, and adds machine translations. Its words are for
non-commercial use (BabelNet Non-Commercial License): nothing that is made from them ships with the study.

A key is good for a number of requests a day (1,000 for a new user of https://babelnet.org), and one request gives one
synset in up to three languages: a thousand classes in three languages take a day.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

import pandas as pd

from babelatlas.base import download, languages, tables
from babelatlas.base.errors import InputError
from babelatlas.lexicon import wikidata

API = "https://babelnet.io/v9/getSynset"
LICENCE = "BabelNet Non-Commercial License"
LANGUAGES = 3  # the most that one request may ask for
# BabelNet's own translations of words of WordNet and Wikipedia.
TRANSLATED = frozenset({"WNTR", "WIKITR"})
# Every source that BabelNet's interface for Python (babelnet 1.2, BabelSenseSource.is_automatic_translation) calls an
# automatic translation: those two, and wordnets that were made by translating. Babel-ImageNet went by that mark.
WORDNETS = ("BG", "CWN", "GAE", "HR", "ID", "JA", "KO", "MS", "NN", "PT")
AUTOMATIC = TRANSLATED | {"SLOWNET"} | {f"OMWN_{code}" for code in WORDNETS}
# The codes that BabelNet writes as Wikimedia does, but in capitals; "" where it has no such language.
OTHERS = {"gsw", "lzh", "nan", "rup", "sgs", "vro", "yue"}
CODES = {lang: code.upper().replace("-", "_") for code, lang in wikidata.CODES.items() if lang in OTHERS}
CODES |= {"zh-Hant": ""}


def read(
    wnids: Iterable[str],
    codes: Iterable[str],
    key: str | None = None,
    without: Collection[str] = AUTOMATIC,
    folder: str | os.PathLike | None = None,
    pause: float = 0.2,
    wait: float = 2.0,
    timeout: float = 30.0,
    address: str = API,
    report: Callable[[str], object] = print,
) -> pd.DataFrame:
    """Return BabelNet's senses of noun synsets in some languages, schema `senses`, source "babelnet-<SOURCE>".

    `codes`: languages; English, whose words the cleaning needs, has to be among them. `key`: your key; left out, the
    environment variable BABELNET_KEY. It is sent to BabelNet and nowhere else, and written nowhere. `without`:
    BabelNet's names of the sources whose senses are dropped; by default all that BabelNet calls automatic translations,
    as Babel-ImageNet did (Geigle et al. 2024, section 3); `TRANSLATED` drops only BabelNet's own translations.
    One request at a time, `pause` seconds between two; what came is kept in `folder` (left out: the user's cache), one
    file for each synset, so that another day goes on with the rest. `wait`, `timeout`: as in `download.ask`.
    Rows: by language and wnid, then in BabelNet's order. `report` takes one line of progress at a time.
    Raises InputError for a language or wnid that cannot be, a missing or refused key, a used-up day, and a service that
    does not answer as documented at https://babelnet.org/guide.
    """
    wnids = list(dict.fromkeys(wnids))
    strange = [wnid for wnid in wnids if len(wnid) != 9 or wnid[0] != "n" or not wnid[1:].isdigit()]
    if strange:
        raise InputError(f"A wnid is 'n' and eight digits, such as n02084071: got {strange[0]!r}.")
    wanted = {CODES.get(lang, lang.upper().replace("-", "_")): lang for lang in map(languages.canonical, codes)}
    if lang := wanted.get(""):
        raise InputError(f"BabelNet has no {languages.name(lang)} ({lang}) of its own: ask for 'zh', or leave it out.")
    if not wanted:
        raise InputError("BabelNet has to be asked for languages: give codes such as ['en', 'de', 'sw'].")
    place = download.cache("babelnet") if folder is None else Path(folder)
    found = {wnid: download.read_json(place / f"{wnid}.json") or {} for wnid in wnids}
    asked = {wnid: [code for code in wanted if code not in found[wnid]] for wnid in wnids}
    left = [
        (wnid, asked[wnid][start:][:LANGUAGES]) for wnid in wnids for start in range(0, len(asked[wnid]), LANGUAGES)
    ]
    key = (os.environ.get("BABELNET_KEY", "") if key is None else key).strip()
    if left and not key:
        raise InputError(
            "BabelNet wants a key of your own: register at https://babelnet.org, and set the environment variable "
            "BABELNET_KEY or give key."
        )
    if left:
        report(f"Asking {address} {len(left):,} times for {len(wnids):,} synsets in {len(wanted)} languages.")
    with download.session() as opened:
        for number, (wnid, part) in enumerate(left, 1):
            if number > 1:
                time.sleep(pause)
            parameters = {"id": f"wn:{wnid[1:]}n", "targetLang": part, "key": key}
            status, answer = download.ask(opened, address, parameters, wait, timeout)
            done = f"{number - 1:,} of {len(left):,} requests were answered and are kept in {place}"
            found[wnid] |= _taken(status, answer, part, key, number > 1, done)
            download.write_json(place / f"{wnid}.json", found[wnid])
            if number % 50 == 0:
                report(f"{number:,} of {len(left):,} requests answered.")
    return _senses(found, wanted, frozenset(without), report)


def _taken(status: int, answer, part: list[str], key: str, worked: bool, done: str) -> dict[str, list | None]:
    """Return what is kept of an answer: BabelNet's code -> [word, source] of each sense, None for an unknown synset."""
    message = str(answer.get("message", "")) if isinstance(answer, dict) else ""
    if "not found" in message.lower():
        return dict.fromkeys(part)
    if status in (401, 402, 403) or "key" in message.lower() or "limit" in message.lower():
        # BabelNet has one message for a wrong key and for a used-up day.
        what = "today's requests are used up" if worked else "the key is wrong, or its requests of today are used up"
        raise InputError(f"BabelNet refuses to answer, as {what}: {done}; check the key, or run this again tomorrow.")
    if message or status != 200:
        said = message.replace(key, "<key>") or f"status {status}"
        raise InputError(f"BabelNet does not take the request for {', '.join(part)} ({said}): {done}.")
    try:
        words = {code: [] for code in part}
        for sense in answer["senses"]:
            properties = sense["properties"]
            if properties["language"] in words:
                words[properties["language"]].append([properties["fullLemma"], properties["source"]])
    except (KeyError, TypeError) as error:
        raise InputError(f"BabelNet's answer is not in the documented form ({error!r}): {done}.") from error
    return words


def _senses(found: dict[str, dict], wanted: dict[str, str], without: frozenset, report: Callable) -> pd.DataFrame:
    rows, dropped = [], Counter()
    for wnid, words in found.items():
        for code, lang in wanted.items():
            for word, source in words[code] or []:
                lemma = word.replace("_", " ").strip()
                if source in without:
                    dropped[source] += 1
                elif lemma:
                    rows.append((lang, wnid, lemma, f"babelnet-{source}", LICENCE))
    unknown = [wnid for wnid, words in found.items() if all(words[code] is None for code in wanted)]
    if unknown:
        report(f"BabelNet has no synset for {', '.join(unknown)}.")
    if dropped:
        named = ", ".join(f"{source} ({n:,})" for source, n in sorted(dropped.items()))
        report(f"BabelNet: dropped {dropped.total():,} machine-translated senses, {named}.")
    table = pd.DataFrame(rows, columns=list(tables.SCHEMAS["senses"][0])).drop_duplicates(tables.SCHEMAS["senses"][1])
    return tables.check(table.sort_values(["lang", "wnid"], kind="stable", ignore_index=True), "senses")
