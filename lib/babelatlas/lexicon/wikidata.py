"""Wikidata to senses: the labels and aliases of the entities that are linked to the classes.

The links come from Filipiak, Fensel and Filipowska (2021), who mapped the 1,000 classes of ImageNet by hand; the words
are Wikidata's (CC0), read through the entity API.

Of the links, the authors say that 461 are exact matches in Wikidata, 467 candidates for one and 72 only close; their
file does not say which are which. Seven entities stand for two classes or more, which gives these the same words.
"""

import hashlib
import json
import os
import re
import time
from collections import Counter
from functools import cache

import pandas as pd

from babelatlas.base import download, languages, tables
from babelatlas.base.errors import InputError

API = "https://www.wikidata.org/w/api.php"
LICENCE = "CC0-1.0"
BATCH = 50  # the most entities that the API gives at once
PAUSE = 1.0  # seconds between two requests
# Wikimedia's own language codes -> the study's, where ISO 639 or `languages` says otherwise or nothing. Spellings and
# countries of a language belong to it; a script that is not its own one is for the cleaning rules to judge. "" is no
# language: words for all of them (mul), Simple English, unknown. BabelNet writes the same codes in capitals.
CODES = {
    "als": "gsw",  # Alemannic; ISO 639-3's als is Tosk Albanian
    "bat-smg": "sgs",
    "bh": "bho",
    "fiu-vro": "vro",
    "nb": "no",
    "nrm": "nrf",  # Norman; ISO 639-3's nrm is Narom
    "roa-rup": "rup",
    "zh-classical": "lzh",
    "zh-min-nan": "nan",
    "zh-yue": "yue",
    **dict.fromkeys(("be-x-old", "be-tarask"), "be"),
    **dict.fromkeys(("ike-cans", "ike-latn"), "iu"),
    # Plain zh is in either script; these say which.
    **dict.fromkeys(("zh-cn", "zh-hans", "zh-my", "zh-sg"), "zh"),
    **dict.fromkeys(("zh-hant", "zh-hk", "zh-mo", "zh-tw"), "zh-Hant"),
    # The last three: Banyumasan and Tarantino, which have no code of their own; several languages of the Netherlands.
    **dict.fromkeys(("mul", "mis", "und", "zxx", "simple", "map-bms", "roa-tara", "nds-nl"), ""),
}
# A code that is none of these and unknown loses its last part if that is a script, a country or a spelling.
VARIANT = re.compile(
    r"-(arab|bali|beng|cans|cyrl|deva|hani|hans|hant|latn|mong|tfng|ec|el|latn-tailo|latn-pehoeji|formal|informal"
    r"|at|aw|br|ca|cd|ch|cn|gb|kp|kz|tr|us|419)$"
)


@cache
def language(code: str) -> str:
    """Return the study's code for one of Wikimedia's or BabelNet's, "" where the study has no such language.

    >>> language("als"), language("zh-tw"), language("sr-el"), language("BE_X_OLD"), language("simple")
    ('gsw', 'zh-Hant', 'sr', 'be', '')
    """
    plain = code.lower().replace("_", "-")
    try:
        return CODES[plain] and languages.canonical(CODES[plain]) if plain in CODES else languages.canonical(plain)
    except InputError:
        shorter = VARIANT.sub("", plain)
        return language(shorter) if shorter != plain and plain not in CODES else ""


def mapping() -> pd.DataFrame:
    """Return the links of ImageNet's 1,000 classes to Wikidata: columns `wnid` and `entity` ("Q179904"), by `wnid`."""
    links = json.loads(download.file("imagenet-to-wikidata").read_text(encoding="utf-8-sig"))
    rows = [(wnid, address.rpartition("/")[2]) for wnid, address in sorted(links.items())]
    return pd.DataFrame(rows, columns=["wnid", "entity"])


def read_api(links: pd.DataFrame, address: str = API) -> pd.DataFrame:
    """Return the labels and aliases of linked entities, schema `senses`, through Wikidata's entity API.

    `links` as `mapping` gives them. The environment variable BABELATLAS_CONTACT holds your e-mail address or page,
    which Wikimedia asks every program to send. One request at a time for 50 entities, `PAUSE` seconds between two; what
    came is cached, so that a stopped run, or another list of classes, asks for the rest only. A class whose entity
    Wikidata no longer has is left out, with a line that says so.
    Rows: by language and wnid, the label before the aliases. Raises InputError for a missing contact and a service that
    does not answer.
    Source of the format: https://www.wikidata.org/w/api.php?action=help&modules=wbgetentities.
    """
    folder, entities = download.cache("wikidata"), {}
    for file in sorted(folder.glob("*.json")):
        entities |= download.read_json(file) or {}
    left = sorted(set(links["entity"]) - set(entities), key=lambda entity: int(entity[1:]))
    contact = os.environ.get("BABELATLAS_CONTACT", "").strip()
    if left and not (contact and contact.isascii()):
        raise InputError(
            "Wikimedia asks every program to say who runs it: set the environment variable BABELATLAS_CONTACT to your "
            "e-mail address or page, in plain letters."
        )
    with download.session(contact) as opened:
        for start in range(0, len(left), BATCH):
            batch = left[start : start + BATCH]
            print(
                f"Asking {address} for entities {start + 1:,} to {start + len(batch):,} of {len(left):,}.", flush=True
            )
            answered = _batch(opened, address, batch)
            name = hashlib.sha256("|".join(batch).encode()).hexdigest()[:16]
            download.write_json(folder / f"{name}.json", answered)
            entities |= answered
            time.sleep(PAUSE)
    return _senses(links, entities)


def _batch(opened, address: str, batch: list[str]) -> dict[str, list | None]:
    """Return what is kept of Wikidata's answer to one request."""
    parameters = {"action": "wbgetentities", "ids": "|".join(batch), "props": "labels|aliases", "redirects": "yes"}
    parameters |= {"format": "json", "formatversion": "2", "maxlag": "5"}
    status, answer = download.ask(opened, address, parameters, busy=_busy)
    entities = answer.get("entities") if isinstance(answer, dict) else None
    if status != 200 or not entities:
        reason = answer.get("error", {}).get("info", status) if isinstance(answer, dict) else status
        raise InputError(f"Wikidata refuses the request ({reason}): what was fetched before is kept.")
    words = {}
    for asked, entity in entities.items():
        labels = (entity.get("labels") or {}).items()  # where there are none, Wikidata writes a list
        aliases = (entity.get("aliases") or {}).items()
        content = [["label", code, entry["value"]] for code, entry in labels]
        content += [["alias", code, entry["value"]] for code, entries in aliases for entry in entries]
        gone = "missing" in entity and entity["missing"] is not False
        # An entity that was merged into another comes under either number.
        for number in {asked, entity.get("id", asked), (entity.get("redirects") or {}).get("from", asked)}:
            words[number] = None if gone else content
    if lost := [entity for entity in batch if entity not in words]:
        raise InputError(f"Wikidata's answer says nothing of {lost[0]}: run this again, it asks for the rest.")
    return words


def _busy(answer) -> bool:
    """Return whether Wikidata says that it is behind (maxlag) or asked too often, which passes."""
    code = answer.get("error", {}).get("code", "") if isinstance(answer, dict) else ""
    return code in {"maxlag", "ratelimited", "readonly"} or code.startswith("internal_api_error")


def _senses(links: pd.DataFrame, entities: dict[str, list | None]) -> pd.DataFrame:
    rows, strange, missing = [], Counter(), []
    for wnid, entity in zip(links["wnid"], links["entity"], strict=True):
        missing += [wnid] if entities[entity] is None else []
        for kind, code, word in entities[entity] or []:
            lang = language(code)
            strange[code] += not lang
            # The language's own code goes before its variants; but zh, which is in either script, goes last.
            rank = 2 if code == "zh" else int(code.lower() != lang.lower())
            if lang and word.strip():
                rows.append((lang, wnid, kind != "label", rank, code, word.strip()))
    if missing:
        print(f"Wikidata: left out, as it has no such entity: {', '.join(missing)}.")
    if strange.total():
        named = ", ".join(f"{code} ({n:,})" for code, n in sorted(strange.items()) if n)
        print(f"Wikidata: left out {strange.total():,} words in codes that no language of the study has: {named}.")
    columns = ["lang", "wnid", "alias", "rank", "code", "lemma"]
    table = pd.DataFrame(rows, columns=columns).sort_values(columns[:-1], kind="stable")
    table = table.assign(source="wikidata", licence=LICENCE)[list(tables.SCHEMAS["senses"][0])]
    return tables.check(table.drop_duplicates(ignore_index=True), "senses")
