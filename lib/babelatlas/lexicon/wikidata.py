"""Wikidata to senses: the labels and aliases of the entities that are linked to the classes; and their Wikipedias.

The links come from Filipiak, Fensel and Filipowska (2021), who mapped the 1,000 classes of ImageNet by hand; the words
are Wikidata's (CC0). They are read through the entity API, or from a downloaded dump.

Of the links, the authors say that 461 are exact matches in Wikidata, 467 candidates for one and 72 only close; their
file does not say which are which. Seven entities stand for two classes or more, which gives these the same words.
"""

import bz2
import gzip
import hashlib
import json
import os
import re
import time
import zlib
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pandas as pd

from babelatlas.base import download, languages, tables
from babelatlas.base.errors import InputError

API = "https://www.wikidata.org/w/api.php"
LICENCE = "CC0-1.0"
BATCH = 50  # the most entities that the API gives at once
MISSING = ("stop", "leave out")
# The columns of a table of pages about concepts (`analysis.concepts.read` says what they hold).
PAGES = ("collection", "concept", "lang", "page", "wnid", "everyday", "steps", "used", "wikipedias")
# Wikis that Wikidata links to and that are no Wikipedias, though they are called as these are.
NO_WIKIPEDIA = re.compile(
    r"(commons|species|meta|mediawiki|wikidata|wikifunctions|sources|outreach|incubator|foundation|wikimania|test).*wiki"
)
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


def mapping(path: str | os.PathLike | None = None) -> pd.DataFrame:
    """Return the links of classes to Wikidata: columns `wnid` and `entity` ("Q179904"), in the order of `wnid`.

    `path`: a JSON file {wnid: address or number of the entity}; left out, `download.file` gets that of Filipiak et al.
    (2021), which links the 1,000 ImageNet classes. Raises InputError where the file is not such a file.
    """
    path = download.file("imagenet-to-wikidata") if path is None else tables.locate(path)
    try:
        pairs = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=list)
    except OSError as error:
        raise InputError(f"There is no file {path} with links to Wikidata: give another path.") from error
    except ValueError as error:
        raise InputError(f"The file {path} with links to Wikidata is not JSON ({error}): correct it.") from error
    if not isinstance(pairs, list) or not all(isinstance(one, tuple) for one in pairs) or not pairs:
        raise InputError(f"The file {path} should hold one object that links wnids to entities of Wikidata.")
    content = dict(pairs)
    if len(content) < len(pairs):
        double = next(wnid for wnid, count in Counter(wnid for wnid, _ in pairs).items() if count > 1)
        raise InputError(f"The file {path} links {double} more than once: keep one link for each class.")
    rows = []
    for wnid, link in sorted(content.items()):
        match = re.fullmatch(r"(?:https?://www\.wikidata\.org/(?:entity|wiki)/)?(Q[1-9][0-9]*)", str(link))
        if not re.fullmatch(r"n[0-9]{8}", wnid) or not match:
            raise InputError(
                f"The file {path} links {wnid!r} to {link!r}: expected a wnid such as n02084071 and an entity such as "
                "http://www.wikidata.org/entity/Q144; fix the line or take it out."
            )
        rows.append((wnid, match[1]))
    return pd.DataFrame(rows, columns=["wnid", "entity"])


def read_api(
    links: pd.DataFrame,
    contact: str | None = None,
    folder: str | os.PathLike | None = None,
    missing: str = "stop",
    pause: float = 1.0,
    wait: float = 5.0,
    timeout: float = 30.0,
    address: str = API,
    report: Callable[[str], object] = print,
) -> pd.DataFrame:
    """Return the labels and aliases of linked entities, schema `senses`, through Wikidata's entity API.

    `links` as `mapping` gives them. `contact`: your e-mail address or page, which Wikimedia asks every program to send;
    left out, the environment variable BABELATLAS_CONTACT. One request at a time for 50 entities, `pause` seconds
    between two; what came is kept in `folder` (left out: the user's cache), so that a stopped run, or another list of
    classes, asks for the rest only. `wait`, `timeout`: as in `download.ask`. `missing`: what happens to a class whose
    entity Wikidata no longer has: "stop" (after all others have been fetched) or "leave out".
    Rows: by language and wnid, the label before the aliases. `report` takes one line of progress at a time.
    Raises InputError for a missing contact, a service that does not answer, and a missing entity.
    Source of the format: https://www.wikidata.org/w/api.php?action=help&modules=wbgetentities.
    """
    settings = contact, folder, pause, wait, timeout, address, report
    entities = _entities(links, "labels|aliases", _taken, "wikidata", missing, *settings)
    return _senses(links, entities, missing, report)


def read_sitelinks(
    links: pd.DataFrame,
    classes: pd.DataFrame,
    collection: str,
    contact: str | None = None,
    folder: str | os.PathLike | None = None,
    missing: str = "stop",
    pause: float = 1.0,
    wait: float = 5.0,
    timeout: float = 30.0,
    address: str = API,
    report: Callable[[str], object] = print,
) -> pd.DataFrame:
    """Return in which Wikipedias each of the classes has a page, columns `PAGES`, through Wikidata's sitelinks.

    `classes`: wnid and name, as `synsets.class_list` gives them, each of which `links` ties to an entity; `collection`
    names them in the table. Codes are those of the Wikipedias ("simple", "be-x-old"). All else as in `read_api`; a
    class that `links` does not have is missing too.
    """
    known = classes.merge(links, on="wnid", how="left")
    gone = known[known["entity"].isna()]
    if len(gone) and missing == "stop":
        raise InputError(
            f"No link to Wikidata is known of {len(gone)} of the {len(known)} classes, {gone['wnid'].iloc[0]} "
            f"({gone['name'].iloc[0]}) the first: give a file with links of your own, or leave such classes out."
        )
    known = known.dropna(subset="entity")
    settings = contact, folder, pause, wait, timeout, address, report
    found = _entities(known, "sitelinks", _editions, "wikidata-sitelinks", missing, *settings)
    known = known[[found[entity] is not None for entity in known["entity"]]]
    table = known.rename(columns={"name": "concept", "entity": "page"}).assign(
        collection=collection,
        lang="",
        everyday="",
        steps=pd.array([pd.NA] * len(known), "Int64"),
        used=True,
        wikipedias=[" ".join(found[entity]) for entity in known["entity"]],
    )
    if len(known) < len(classes):
        report(f"Wikidata: left out {len(classes) - len(known)} classes without an entity.")
    return table[list(PAGES)].reset_index(drop=True)


def _entities(
    links: pd.DataFrame,
    props: str,
    taken: Callable[[dict], dict],
    name: str,
    missing: str,
    contact: str | None,
    folder: str | os.PathLike | None,
    pause: float,
    wait: float,
    timeout: float,
    address: str,
    report: Callable[[str], object],
) -> dict[str, list | None]:
    """Return what `taken` keeps of each entity's `props`, None of one that is missing; asks for what is not cached."""
    if missing not in MISSING:
        raise InputError(f"What to do with a missing entity is one of {', '.join(MISSING)}: got {missing!r}.")
    place = download.cache(name) if folder is None else Path(folder)
    entities = {}
    for file in sorted(place.glob("*.json")):
        content = download.read_json(file)
        entities |= content if isinstance(content, dict) else {}
    left = sorted(set(links["entity"]) - set(entities), key=lambda entity: int(entity[1:]))
    contact = (contact or os.environ.get("BABELATLAS_CONTACT", "")).strip()
    if left and not contact:
        raise InputError(
            "Wikimedia asks every program to say who runs it: give contact, or set the environment variable "
            "BABELATLAS_CONTACT, to your e-mail address or page."
        )
    if not (contact.isascii() and contact.isprintable()):
        raise InputError(f"A contact is sent in plain letters of ASCII, in one line, got {contact!r}: write it so.")
    batches = [left[start : start + BATCH] for start in range(0, len(left), BATCH)]
    if batches:
        report(f"Asking {address} for {len(left):,} entities in {len(batches)} requests; {len(entities):,} are here.")
        with download.session(contact) as opened:
            for number, batch in enumerate(batches, 1):
                if number > 1:
                    time.sleep(pause)
                found = _batch(opened, address, batch, links, props, taken, wait, timeout)
                file = hashlib.sha256("|".join(batch).encode()).hexdigest()[:16]
                download.write_json(place / f"{file}.json", found)
                entities |= found
                if number % 5 == 0 or number == len(batches):
                    report(f"{number} of {len(batches)} requests answered.")
    lost = links[[entities.get(entity) is None for entity in links["entity"]]]
    if len(lost) and missing == "stop":
        raise _lost(lost)
    return entities


def _lost(lost: pd.DataFrame) -> InputError:
    """Return the error that says that Wikidata has no such entities."""
    first = lost.iloc[0]
    return InputError(
        f"Wikidata has no entity {first['entity']}, which class {first['wnid']} is linked to ({len(lost)} such in "
        "all): fix the mapping, or leave such classes out with missing='leave out'."
    )


def read_dump(
    path: str | os.PathLike,
    links: pd.DataFrame,
    missing: str = "stop",
    every: int = 1_000_000,
    report: Callable[[str], object] = print,
) -> pd.DataFrame:
    """Return the labels and aliases of linked entities, schema `senses`, from a dump of Wikidata.

    `path`: a file from https://dumps.wikimedia.org/wikidatawiki/entities/, `.json`, `.json.gz` or `.json.bz2`, read no
    further than the last entity that is wanted. `report` takes a line for each `every` lines. `links`, `missing` and
    rows as in `read_api`; a dump knows nothing of redirects, so that an entity that was merged into another is missing.
    Raises InputError for a file that is absent, damaged or not such a dump (with the line), and for a missing entity.
    """
    path = tables.locate(path)
    if not path.is_file():
        raise InputError(f"There is no file {path}: give the path of a dump of Wikidata in JSON.")
    wanted, found, number, line = set(links["entity"]), {}, 0, b""
    try:
        with {".gz": gzip.open, ".bz2": bz2.open}.get(path.suffix, open)(path, "rb") as stream:
            for number, line in enumerate(stream, 1):
                if number == 1 and line.strip()[:1] not in (b"[", b"{"):
                    raise InputError(f"The file {path} is no dump of Wikidata in JSON: it should begin with a bracket.")
                if number % every == 0:
                    report(f"{number:,} lines read, {len(found):,} of {len(wanted):,} entities found.")
                # The number of the entity stands near the beginning; parsing every line would take days.
                start = re.search(rb'"id":\s*"([A-Z][0-9]+)"', line[:200])
                if start and start[1].decode() in wanted:
                    found |= _entity(line, number, path)
                    if len(found) == len(wanted):
                        break
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"The dump {path} is damaged after line {number:,} ({error}): fetch it again, or finish fetching it."
        ) from error
    if len(found) < len(wanted) and not line.rstrip().endswith(b"]"):
        raise InputError(f"The dump {path} breaks off after line {number:,}: finish fetching it.")
    return _senses(links, found, missing, report)


def _entity(line: bytes, number: int, path: Path) -> dict[str, list | None]:
    try:
        entity = json.loads(line.strip().rstrip(b","))
        return _taken({"entities": {entity["id"]: entity}})
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"The dump {path} has no whole entity in line {number:,}: fetch it again.") from error


def _batch(opened, address: str, batch: list[str], links: pd.DataFrame, props: str, taken, wait, timeout) -> dict:
    """Return what is kept of Wikidata's answer to one request, which has something on every entity of the batch."""
    parameters = {
        "action": "wbgetentities",
        "ids": "|".join(batch),
        "props": props,
        "redirects": "yes",
        "format": "json",
        "formatversion": "2",
        "maxlag": "5",
    }
    status, answer = download.ask(opened, address, parameters, wait, timeout, busy=_busy)
    error = answer.get("error") if isinstance(answer, dict) else None
    if error and error.get("code") == "no-such-entity":
        gone = error.get("id", batch[0])
        wnid = links.set_index("entity")["wnid"].get([gone]).iloc[0] if gone in set(links["entity"]) else "?"
        raise InputError(
            f"Wikidata calls {gone}, which class {wnid} is linked to, no entity: fix that line of the mapping; "
            "what was fetched before is kept."
        )
    if error or status != 200:
        reason = error.get("info", error.get("code")) if error else f"status {status}"
        raise InputError(f"Wikidata refuses the request ({reason}): what was fetched before is kept.")
    try:
        found = taken(answer)
    except (AttributeError, KeyError, TypeError) as problem:
        raise InputError(
            f"Wikidata's answer is not in the documented form ({problem!r}): what was fetched before is kept."
        ) from problem
    lost = [entity for entity in batch if entity not in found]
    if lost:
        raise InputError(f"Wikidata's answer says nothing of {lost[0]}: run this again, it asks for the rest.")
    return found


def _busy(answer) -> bool:
    """Return whether Wikidata says that it is behind (maxlag) or asked too often, which passes."""
    code = answer.get("error", {}).get("code", "") if isinstance(answer, dict) else ""
    return code in {"maxlag", "ratelimited", "readonly"} or code.startswith("internal_api_error")


def _taken(answer: dict) -> dict[str, list | None]:
    """Return what is kept of an answer: entity -> [kind, code, word] of each word, None where the entity is missing."""
    found = {}
    for asked, entity in answer["entities"].items():
        gone = "missing" in entity and entity["missing"] is not False
        labels = (entity.get("labels") or {}).items()  # where there are none, Wikidata writes a list
        aliases = (entity.get("aliases") or {}).items()
        words = [["label", code, entry["value"]] for code, entry in labels]
        words += [["alias", code, entry["value"]] for code, entries in aliases for entry in entries]
        if not all(isinstance(word, str) for _, _, word in words):
            raise TypeError(f"a word of {asked} is no text")
        for name in _numbers(asked, entity):
            found[name] = None if gone else words
    return found


def _editions(answer: dict) -> dict[str, list[str] | None]:
    """Return what is kept of an answer: entity -> the codes of its Wikipedias, None where the entity is missing."""
    found = {}
    for asked, entity in answer["entities"].items():
        sites = [link["site"] for link in dict(entity.get("sitelinks") or {}).values()]
        sites = [site for site in sites if site.endswith("wiki") and not NO_WIKIPEDIA.fullmatch(site)]
        codes = sorted(site.removesuffix("wiki").replace("_", "-") for site in sites)
        for name in _numbers(asked, entity):
            found[name] = None if "missing" in entity and entity["missing"] is not False else codes
    return found


def _numbers(asked: str, entity: dict) -> set[str]:
    """Return the numbers of an entity: one that was merged into another comes under either."""
    return {asked, entity.get("id", asked), (entity.get("redirects") or {}).get("from", asked)}


def _senses(links: pd.DataFrame, entities: dict[str, list | None], missing: str, report: Callable) -> pd.DataFrame:
    lost = links[[entities.get(entity) is None for entity in links["entity"]]]
    if len(lost) and missing == "stop":
        raise _lost(lost)
    rows, strange = [], Counter()
    for wnid, entity in zip(links["wnid"], links["entity"], strict=True):
        for kind, code, word in entities.get(entity) or []:
            lang = language(code)
            strange[code] += not lang
            # The language's own code goes before its variants; but zh, which is in either script, goes last.
            rank = 2 if code == "zh" else int(code.lower() != lang.lower())
            if lang and word.strip():
                rows.append((lang, wnid, kind != "label", rank, code, word.strip()))
    if len(lost):
        report(f"Wikidata: left out, as it has no such entity: {', '.join(lost['wnid'])}.")
    if strange.total():
        named = ", ".join(f"{code} ({n:,})" for code, n in sorted(strange.items()) if n)
        report(f"Wikidata: left out {strange.total():,} words in codes that no language of the study has: {named}.")
    columns = ["lang", "wnid", "alias", "rank", "code", "lemma"]
    found = pd.DataFrame(rows, columns=columns).sort_values(columns[:-1], kind="stable")
    found = found.assign(source="wikidata", licence=LICENCE)[list(tables.SCHEMAS["senses"][0])]
    return tables.check(found.drop_duplicates(ignore_index=True), "senses")
