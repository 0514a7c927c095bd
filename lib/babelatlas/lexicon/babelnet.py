"""BabelNet to senses: the words of its synsets with the source of each, through its
HTTP API and a key of the user's own.

BabelNet joins wordnets, Wiktionary, Wikidata, Wikipedia and others, and adds machine
translations. Its words are for non-commercial use (BabelNet Non-Commercial License):
nothing that is made from them ships with the study.

A key allows a number of requests a day (1,000 for a new user of https://babelnet.org,
more for researchers who ask), and one request gives one synset in up to three
languages: a thousand classes in three languages take a new user a day.
"""

import json
import logging
import os
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from babelatlas.base import download, languages, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import beside

API = "https://babelnet.io/v9/getSynset"
KEY = "BABELNET_KEY"
LICENCE = "BabelNet Non-Commercial License"
LANGUAGES_OF_A_REQUEST = 3
TRIES = 5
# BabelNet's own translations of words of WordNet and Wikipedia.
TRANSLATED = frozenset({"WNTR", "WIKITR"})
# All that BabelNet's interface for Python (babelnet 1.2, `is_automatic_translation`)
# calls automatic translations: those two, and wordnets that were made by translating.
TRANSLATED_WORDNETS = ("BG", "CWN", "GAE", "HR", "ID", "JA", "KO", "MS", "NN", "PT")
AUTOMATIC = frozenset(
    {*TRANSLATED, "SLOWNET", *(f"OMWN_{code}" for code in TRANSLATED_WORDNETS)}
)
# Codes that BabelNet writes as Wikimedia does, in capitals; "": it has no such language.
CODES = {
    "gsw": "ALS",
    "lzh": "ZH_CLASSICAL",
    "nan": "ZH_MIN_NAN",
    "rup": "ROA_RUP",
    "sgs": "BAT_SMG",
    "vro": "FIU_VRO",
    "yue": "ZH_YUE",
    "zh-Hant": "",
}


def read(
    wnids: Iterable[str],
    langs: Iterable[str],
    without: Collection[str] = AUTOMATIC,
    folder: str | os.PathLike = "",
    address: str = API,
    pause: float = 0.2,
    wait: float = 2.0,
) -> pd.DataFrame:
    """Return BabelNet's senses of noun synsets in some languages, schema `senses`,
    source "babelnet-SOURCE", in BabelNet's order within a class and language.

    `langs` need English, with whose words the labels are compared. The key is that of
    the environment variable BABELNET_KEY; it is sent to BabelNet and written nowhere.
    `without`: sources whose senses are dropped, by default all that BabelNet calls
    automatic translations (Geigle et al. 2024, section 3). Answers are stored in
    `folder` ("": the user's cache), one file for each synset, so that a later call goes
    on with the rest. `pause`: seconds between requests; `wait`: before a second try,
    twice as long for each further one. Raises InputError for a language that BabelNet
    lacks, a missing or refused key, a used-up day, and an answer in another form than
    https://babelnet.org/guide documents.
    """
    wnids = list(dict.fromkeys(wnids))
    codes = _codes(langs)
    place = Path(folder) if os.fspath(folder) else download.cache("babelnet")
    stored = {wnid: _stored(place / f"{wnid}.json") for wnid in wnids}
    requests_left = list(_requests(stored, codes))
    if requests_left:
        _fetch(requests_left, stored, place, address, pause, wait)
    return _senses(stored, codes, frozenset(without))


def _codes(langs: Iterable[str]) -> dict[str, str]:
    """Return BabelNet's code of each language -> the study's."""
    codes = {}
    for lang in map(languages.canonical, langs):
        code = CODES.get(lang, lang.upper().replace("-", "_"))
        if not code:
            raise InputError(
                f"BabelNet does not tell {languages.name(lang)} ({lang}) apart: ask for"
                " 'zh', or leave it out."
            )
        codes[code] = lang
    if "EN" not in codes:
        raise InputError(
            f"BabelNet is to be asked for {', '.join(codes.values()) or 'no language'}:"
            " add 'en', with whose words the others are compared."
        )
    return codes


def _stored(file: Path) -> dict[str, list[list[str]]]:
    """Return what a file has of a synset: BabelNet's code -> [word, source] of each
    sense.
    """
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def _requests(stored: dict, codes: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Return the requests that are left: a synset and at most three languages each."""
    for wnid, words in stored.items():
        missing = [code for code in codes if code not in words]
        for start in range(0, len(missing), LANGUAGES_OF_A_REQUEST):
            yield wnid, missing[start : start + LANGUAGES_OF_A_REQUEST]


def _fetch(
    requests_left: list, stored: dict, place: Path, address: str, pause, wait
) -> None:
    """Ask BabelNet, and put each answer into `stored` and its file as it comes."""
    key = os.environ.get(KEY, "").strip()
    if not key:
        raise InputError(
            "BabelNet needs a key of your own: register at https://babelnet.org, and"
            f" set the environment variable {KEY}."
        )
    n_requests = len(requests_left)
    print(f"BabelNet: {n_requests:,} requests to {address}.", flush=True)
    with _session() as session:
        for number, (wnid, codes) in enumerate(requests_left):
            synset = f"wn:{wnid[1:]}n"
            parameters = {"id": synset, "targetLang": codes, "key": key}
            status, answer = _ask(session, address, parameters, wait)
            done = f"{number:,} of {n_requests:,} requests were answered and stored"
            stored[wnid] |= _words(status, answer, codes, done)
            with beside(place / f"{wnid}.json") as part:
                part.write_text(json.dumps(stored[wnid], ensure_ascii=False), "utf-8")
            if (number + 1) % 100 == 0:
                print(f"BabelNet: {number + 1:,} requests answered.", flush=True)
            time.sleep(pause)


@contextmanager
def _session():
    """Give a session of requests that logs no addresses, in which a key stands."""
    import requests

    logger = logging.getLogger("urllib3")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with requests.Session() as session:
            session.headers["Accept-Encoding"] = "gzip"
            yield session
    finally:
        logger.setLevel(level)


def _ask(session, address: str, parameters: dict, wait: float) -> tuple[int, object]:
    """Return status and content (None: no JSON) of an answer; InputError where several
    tries bring none. No message has a parameter, as one is the key.
    """
    import requests

    for number in range(TRIES):
        try:
            answer = session.get(
                address, params=parameters, timeout=30, allow_redirects=False
            )
            status = answer.status_code
            if status < 500 and status != 429:
                return status, answer.json()
            reason = f"status {status}"
        except requests.JSONDecodeError:
            if 300 <= status < 500:
                return status, None
            reason = "an answer that is no JSON"
        except requests.RequestException as error:
            reason = type(error).__name__
        time.sleep(wait * 2**number)
    raise InputError(
        f"BabelNet gave no answer in {TRIES} tries (the last: {reason}): run this again"
        " later, it goes on with what is missing."
    ) from None


def _words(
    status: int, answer, codes: list[str], done: str
) -> dict[str, list[list[str]]]:
    """Return what is stored of an answer: BabelNet's code -> [word, source] of each
    sense.
    """
    message = answer.get("message", "") if isinstance(answer, dict) else ""
    message = str(message).lower()
    words = {code: [] for code in codes}
    if "not found" in message:
        return words
    if status in (401, 402, 403) or "key" in message or "limit" in message:
        # BabelNet has the same words for a wrong key and for a used-up day.
        raise InputError(
            "BabelNet refuses to answer, as the key is wrong or its requests of today"
            f" are used up ({done}): check {KEY}, or run this again tomorrow."
        )
    try:
        for sense in answer["senses"]:
            facts = sense["properties"]
            if facts["language"] in words:
                words[facts["language"]].append([facts["fullLemma"], facts["source"]])
    except (KeyError, TypeError):
        raise InputError(
            f"BabelNet's answer for {', '.join(codes)} has another form than its guide"
            f" documents (status {status}; {done}): see https://babelnet.org/guide."
        ) from None
    return words


def _senses(
    stored: dict, codes: dict[str, str], without: frozenset[str]
) -> pd.DataFrame:
    """Return stored answers as senses, and print what was dropped."""
    rows, dropped = [], Counter()
    for wnid, words in stored.items():
        for code, lang in codes.items():
            for word, source in words[code]:
                lemma = word.replace("_", " ").strip()
                if source in without:
                    dropped[source] += 1
                elif lemma:
                    rows.append((lang, wnid, lemma, f"babelnet-{source}", LICENCE))
    if dropped:
        by_source = [f"{source} {count:,}" for source, count in sorted(dropped.items())]
        print(f"BabelNet: machine-translated words left out: {', '.join(by_source)}.")
    columns, key = tables.SCHEMAS["senses"][:2]
    table = pd.DataFrame(rows, columns=list(columns)).drop_duplicates(key)
    table = table.sort_values(["lang", "wnid"], kind="stable", ignore_index=True)
    return tables.check(table, "senses")
