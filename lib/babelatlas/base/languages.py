"""The languages of the study: one code for each, its name, scripts and resource group.

A language is known by the code that the papers use: ISO 639-1 where there is one, else
ISO 639-3 (so `de`, `hak`). Other codes (`jp`, `iw`, `cmn`, `deu`, NLLB's `deu_Latn`)
are aliases that `canonical` resolves. `als` is Albanian, as in ISO 639-3; `zh` is
Chinese in simplified characters, `zh-Hant` in traditional ones.

Families, places and the list of the world's languages are from Glottolog 4.0
(Hammarström, Forkel and Haspelmath 2019, CC BY 4.0), which counts Bosnian, Croatian and
Serbian as one. A code for several languages (`zh`, `ar`) stands for the one that
carries the written standard, else for one with many speakers: the column `glottocode`
says which.
"""

import difflib
import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Annotated

import pandas as pd
from fontTools import unicodedata as unicode_scripts
from pydantic import Field

from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA
from babelatlas.base.validation import Entry, validate

# Environment variable with the config's own languages as JSON, code -> keys of
# `Language`.
CUSTOM = "BABELATLAS_LANGUAGES"
GROUPS = ("very low", "low", "mid", "high")
# What Glottolog lists next to the families: these languages have no family in common.
NOT_FAMILIES = (
    "Artificial Language",
    "Mixed Language",
    "Pidgin",
    "Sign Language",
    "Unclassifiable",
)
# The most classes, of ImageNet's 1,000, that a language of the first three groups has.
# Source: seed paper's Table 5 (Portuguese, 667 classes, is the smallest "high"; the
# text of its section 3 puts the line one class higher).
LIMITS = (100, 333, 666)
# Codes that stand for several scripts of Unicode, or for a variant of one. Words in
# Chinese characters (Hanja) are not what Korean readers write today.
SCRIPT_PARTS = {
    "Jpan": "Hani Hira Kana",
    "Kore": "Hang",
    "Hans": "Hani",
    "Hant": "Hani",
    "Hanb": "Hani Bopo",
}
# Languages with two scripts in use, or in their texts, as language-script: a word in
# either is theirs.
SECOND = (
    "arc-Hebr arc-Syrc cdo-Hani cr-Latn cu-Glag hak-Latn ks-Deva lad-Hebr mnc-Mong"
    " nan-Latn oj-Cans pi-Deva"
)
# Further ways to write a language, which texts may be in though no label of the study
# is: what Unicode's CLDR 45 (languageData) and FLORES-200 know and CLDR's likely
# subtags lack.
WRITTEN = """
bal-Latn be-Latn bs-Cyrl cnr-Cyrl cnr-Latn hi-Latn id-Arab iu-Latn kha-Beng kk-Latn
kok-Latn kr-Arab ku-Cyrl lus-Beng min-Arab mo-Cyrl om-Ethi ro-Cyrl rom-Cyrl sa-Beng
sa-Sinh sat-Beng sat-Deva sat-Latn sat-Orya sh-Cyrl sh-Latn shi-Arab so-Arab tg-Latn
tk-Arab tk-Cyrl tly-Cyrl tt-Latn ug-Latn vai-Latn wo-Arab za-Hani zh-Latn
"""
# More than this share of the letters of a language's texts in scripts in which it is
# not written: another language's. Texts hold names, units and loanwords in other
# scripts: of the study's labels none, of the captions of XTD and xFlickrCO at most 0.5
# %, of Babel-ImageNet's prompts 11 % (Sindhi), of its labels 17 % (Bhojpuri).
FOREIGN = 0.5
# Fewer Latin letters than these may be a loanword or an abbreviation, in any language.
FEW = 20
# Scripts that letters of all languages have: common, inherited, unknown.
SHARED_SCRIPTS = {"Zyyy", "Zinh", "Zzzz"}
# Wikimedia's own language codes -> the study's, where ISO 639 or `canonical` says
# otherwise or nothing. Spellings and countries of a language belong to it; a script
# that is not its own one is for the cleaning rules to judge. "" is no language: words
# for all of them (mul), Simple English, unknown. BabelNet writes the same codes in
# capitals.
WIKIMEDIA = {
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
    # The last three: Banyumasan and Tarantino, which have no code of their own; several
    # languages of the Netherlands.
    **dict.fromkeys(
        ("mul", "mis", "und", "zxx", "simple", "map-bms", "roa-tara", "nds-nl"), ""
    ),
}
# A code that is none of these and unknown loses its last part if that is a script, a
# country or a spelling.
VARIANT = re.compile(
    r"-(arab|bali|beng|cans|cyrl|deva|hani|hans|hant|latn|mong|tfng|ec|el|latn-tailo|latn-pehoeji|formal|informal"
    r"|at|aw|br|ca|cd|ch|cn|gb|kp|kz|tr|us|419)$"
)


class Language(Entry):
    """What a config says of a language that the study does not have; as the columns of
    data/languages.csv.
    """

    name: Annotated[str, Field(min_length=1)]
    script: Annotated[str, Field(pattern="^[A-Z][a-z]{3}$")]
    iso639_3: str = ""
    nllb: str = ""
    aliases: str = ""
    family: str = ""


@cache
def table() -> pd.DataFrame:
    """Return the languages, one row each, in the order of their codes; all text,
    columns as in data/columns.csv.

    An isolate is a family of its own name. A run's config may add some (`CUSTOM`). Do
    not change the table: every caller gets the same one.
    """
    shipped = pd.read_csv(DATA / "languages.csv", dtype=str, keep_default_na=False)
    described = json.loads(os.environ.get(CUSTOM) or "{}")
    if not described:
        return shipped
    added = pd.DataFrame(
        [_custom_row(code, facts, shipped) for code, facts in described.items()],
        columns=shipped.columns,
        dtype=shipped["code"].dtype,
    ).fillna("")
    return pd.concat([shipped, added]).sort_values(
        "code", kind="stable", ignore_index=True
    )


def _custom_row(code: str, described: dict, shipped: pd.DataFrame) -> dict[str, str]:
    """Return the row of a language that a config describes; InputError for a code that
    the study has, and a script that there is not.
    """
    what = f"The language {code!r} in the config's custom_languages"
    facts = validate(Language, described, what).model_dump()
    aliases = " ".join(shipped["aliases"]).split()
    if code in {*shipped["code"], *shipped["iso639_3"], *aliases}:
        raise InputError(
            f"The study has a language with the code {code!r}: give yours another one."
        )
    script = facts["script"]
    if script not in SCRIPT_PARTS and not unicode_scripts.script_name(script, ""):
        raise InputError(
            f"The language {code!r} has no script {script!r}: take ISO 15924's, as"
            " Latn."
        )
    script_names = dict(zip(shipped["script"], shipped["script_name"], strict=True))
    return {"code": code, "script_name": script_names.get(script, script)} | facts


def add(described: dict[str, dict]) -> None:
    """Add a config's own languages, here and in the processes that this one starts;
    those added before go.
    """
    os.environ[CUSTOM] = json.dumps(described)
    for cached in (table, _rows, _codes):
        cached.cache_clear()
    table()


@cache
def world() -> pd.DataFrame:
    """Return the world's spoken languages, living or not: those of Glottolog 4.0 that
    have an ISO 639-3 code.

    `latitude` and `longitude` are in degrees, NaN for a few. Do not change the table:
    every caller gets the same one.

    >>> len(world()), world()["family"].nunique()
    (7208, 396)
    """
    texts = dict.fromkeys(["glottocode", "iso639_3", "family", "macroarea"], str)
    gaps = {"latitude": [""], "longitude": [""]}
    return pd.read_csv(
        DATA / "glottolog.csv", dtype=texts, keep_default_na=False, na_values=gaps
    )


@cache
def _rows() -> dict[str, dict[str, str]]:
    return {row["code"]: row for row in table().to_dict("records")}


@cache
def _codes() -> dict[str, str]:
    """Return every spelling of a code, lower case with hyphens, and the code it stands
    for.
    """
    codes: dict[str, str] = {}
    for code, row in _rows().items():
        for other in (row["iso639_3"], row["nllb"], *row["aliases"].split()):
            # Chinese in traditional characters shares the three letters of Chinese,
            # which come first.
            codes.setdefault(_plain(other), code)
    codes |= {_plain(code): code for code in _rows()}
    codes.pop("", None)
    return codes


def _plain(code: str) -> str:
    return str(code).strip().lower().replace("_", "-")


def canonical(code: str) -> str:
    """Return the study's code for a language given by any of its codes; upper and lower
    case, "-" and "_" are equal.

    Raises InputError, with the nearest known codes and names, where no language has
    this code.

    >>> [canonical(code) for code in ("jp", "IW", "fil", "deu_Latn", "zh-TW")]
    ['ja', 'he', 'tl', 'de', 'zh-Hant']
    """
    plain = _plain(code) if isinstance(code, str) else ""
    if plain in _codes():
        return _codes()[plain]
    meant = [
        f"{near_by!r} ({name(near_by)})" for near_by in dict.fromkeys(_meant(plain))
    ]
    fix = (
        "give an ISO 639 code such as 'de', or describe it under custom_languages in"
        " the config."
    )
    if meant:
        fix = f"did you mean {' or '.join(meant)}?"
    raise InputError(f"There is no language with the code {code!r}: {fix}")


def _meant(plain: str) -> list[str]:
    """Return the codes that an unknown one may stand for: its part before a region, a
    country's language, near ones.
    """
    before = plain.partition("-")[0]
    if WIKIMEDIA.get(plain):  # which regions of Chinese use the traditional characters
        return [canonical(WIKIMEDIA[plain])]
    if before != plain and before in _codes():
        return [_codes()[before]]
    if country := of_country(plain):
        return [country]
    names = {row["name"].lower(): code for code, row in _rows().items()}
    code_of = names | _codes()
    close = difflib.get_close_matches(plain[:40], code_of, n=3, cutoff=0.6)
    return [code_of[spelling] for spelling in close]


def of_country(code: str) -> str:
    """Return the official language that most people of a country use, by its code in
    ISO 3166; "" where it is none's.

    >>> of_country("KR"), of_country("se"), of_country("ko")
    ('ko', 'sv', '')
    """
    from babel.languages import get_official_languages

    official = get_official_languages(code.upper(), de_facto=True)
    return _codes().get(_plain(official[0]), "") if official else ""


def among(wanted: Iterable[str], present: Iterable[str], what: str) -> list[str]:
    """Return the codes of the languages `wanted`; InputError, which calls the whole
    `what`, for one that is not `present`.

    >>> among(["deu", "en"], ["en", "de"], "The table")
    ['de', 'en']
    """
    codes, present = [canonical(code) for code in wanted], set(present)
    for code in codes:
        if code not in present:
            raise InputError(
                f"{what} has nothing in {name(code)} ({code!r}): {near(code, present)}"
            )
    return codes


@cache
def of_wikimedia(code: str) -> str:
    """Return the study's code for one of Wikimedia's or BabelNet's, "" where the study
    has no such language.

    >>> of_wikimedia("als"), of_wikimedia("zh-tw"), of_wikimedia("sr-el"), of_wikimedia("simple")
    ('gsw', 'zh-Hant', 'sr', '')
    """
    plain = _plain(code)
    try:
        return (
            WIKIMEDIA[plain] and canonical(WIKIMEDIA[plain])
            if plain in WIKIMEDIA
            else canonical(plain)
        )
    except InputError:
        shorter = VARIANT.sub("", plain)
        return (
            of_wikimedia(shorter) if shorter != plain and plain not in WIKIMEDIA else ""
        )


@cache
def facts() -> pd.DataFrame:
    """Return what Unicode's CLDR knows of languages: index lang; speakers (NaN where
    unknown), autonym ("").

    Speakers are estimates of who uses a language, as a second one, too: people with
    several are counted several times.

    >>> facts().loc["sw", "autonym"]
    'Kiswahili'
    """
    return pd.read_csv(
        DATA / "language_facts.csv",
        keep_default_na=False,
        na_values={"speakers": [""]},
        index_col="lang",
    )


def name(code: str) -> str:
    """Return the English name of a language given by any of its codes; InputError where
    it is unknown.

    >>> name("hak")
    'Hakka Chinese'
    """
    return _rows()[canonical(code)]["name"]


def group_by_classes(n_classes: int) -> str:
    """Return the resource group of a language with labels for `n_classes` of ImageNet's
    1,000 classes.

    >>> [group_by_classes(n) for n in (100, 101, 333, 334, 666, 667)]
    ['very low', 'low', 'low', 'mid', 'mid', 'high']
    """
    return GROUPS[sum(n_classes > limit for limit in LIMITS)]


def grouped(
    codes: pd.Series, tiers: dict[str, list[str]], classes: pd.Series
) -> pd.Series:
    """Return the group of each language in `codes`, as an ordered categorical without
    empty groups.

    `tiers` maps the name of a group to its languages, in the order to show; languages
    in none form "other". Where it is empty, the groups are the paper's by number of
    classes, with `classes` (code -> classes), then "English".

    >>> no_classes = pd.Series(dtype=int)
    >>> grouped(pd.Series(["en", "sw", "de"]), {"large": ["de", "en"]}, no_classes).tolist()
    ['large', 'other', 'large']
    """
    home: dict[str, str] = {}
    for group, members in tiers.items():
        for code in map(canonical, members):
            if home.setdefault(code, group) != group:
                raise InputError(
                    f"The language {code!r} is in the groups {home[code]!r} and"
                    f" {group!r}: keep one."
                )
    if tiers:
        order = [*tiers, "other"]
        names = codes.map(lambda code: home.get(code, "other"))
    else:
        order = [*GROUPS, "English"]
        names = codes.map(
            lambda code: "English" if code == "en" else group_by_classes(classes[code])
        )
    present = [group for group in order if (names == group).any()]
    return names.astype(pd.CategoricalDtype(present, ordered=True))


def families(codes: Iterable[str]) -> dict[str, str]:
    """Return the family of each language, by its code as given; one without a family is
    a family of its own code.

    Raises InputError for an unknown language.

    >>> families(["de", "eo", "la"])
    {'de': 'Indo-European', 'eo': 'eo', 'la': 'Indo-European'}
    """
    families = {code: _rows()[canonical(code)]["family"] for code in codes}
    return {
        code: code if family in ("", *NOT_FAMILIES) else family
        for code, family in families.items()
    }


@cache
def _script(letter: str) -> str:
    return (
        unicode_scripts.script(letter)
        if unicodedata.category(letter)[0] in "LM"
        else "Zyyy"
    )


def scripts_of(word: str) -> frozenset[str]:
    """Return the scripts of the letters of `word`.

    >>> sorted(scripts_of("T恤")), scripts_of("100 %")
    (['Hani', 'Latn'], frozenset())
    """
    return frozenset(map(_script, word)) - SHARED_SCRIPTS


@cache
def native_scripts(lang: str) -> frozenset[str]:
    """Return the scripts of Unicode that a language is written in; InputError where the
    language is unknown.

    >>> sorted(native_scripts("ja")), sorted(native_scripts("de"))
    (['Hani', 'Hira', 'Kana'], ['Latn'])
    """
    code = canonical(lang)
    script = _rows()[code]["script"]
    second = [
        tag.partition("-")[2] for tag in SECOND.split() if tag.startswith(f"{code}-")
    ]
    return frozenset([*SCRIPT_PARTS.get(script, script).split(), *second])


@cache
def _likely() -> dict[str, str]:
    """Return CLDR's likely subtags, as "sr_ME" -> "sr_Latn_ME"."""
    from babel.core import get_global

    return get_global("likely_subtags")


@cache
def written_scripts(lang: str) -> frozenset[str]:
    """Return the scripts that texts in a language may be in: its native ones, and
    others that are or were in use.

    >>> sorted(written_scripts("sr")), sorted(written_scripts("kr"))
    (['Cyrl', 'Latn'], ['Arab', 'Latn'])
    """
    code = canonical(lang)
    parts = [
        part
        for script in _tagged().get(code, ())
        for part in SCRIPT_PARTS.get(script, script).split()
    ]
    return native_scripts(code) | frozenset(parts)


@cache
def _tagged() -> dict[str, set[str]]:
    """Return the scripts in which CLDR's likely subtags and `WRITTEN` know a language,
    by its code.
    """
    tags = [tag.split("_") for pair in _likely().items() for tag in pair]
    tags += [tag.split("-") for tag in WRITTEN.split()]
    scripts: dict[str, set[str]] = {}
    for code, script in (tag[:2] for tag in tags if len(tag) > 1 and len(tag[1]) == 4):
        scripts.setdefault(code, set()).add(script)
    return scripts


def foreign_script(lang: str, texts: Iterable[str]) -> str:
    """Return the script of most letters of `texts` where a language is not written in
    it, else "".

    Foreign are texts of whose letters more than the share `FOREIGN` are in scripts that
    are not the language's.

    >>> foreign_script("kr", ["고양이 강아지 USB"]), foreign_script("ko", ["고양이 강아지 USB"])
    ('Hang', '')
    """
    letters, scripts = Counter("".join(texts)), Counter()
    for letter, number in letters.items():
        scripts[_script(letter)] += number
    counts = Counter(
        {
            script: number
            for script, number in scripts.items()
            if script not in SHARED_SCRIPTS
        }
    )
    foreign = Counter(
        {
            script: number
            for script, number in counts.items()
            if script not in written_scripts(lang)
        }
    )
    return (
        foreign.most_common(1)[0][0]
        if foreign.total() > FOREIGN * counts.total()
        else ""
    )


def doubt(lang: str, texts: Iterable[str]) -> tuple[str, str]:
    """Return what is wrong with texts that are said to be in a language, and what may
    be, each a sentence or "".

    Wrong: they are in a script in which it is not written. It is in doubt for Latin
    letters only, which romanised texts have, unless the code is that of a country with
    a language in Latin letters, and these are not `FEW`. In doubt, too, is the code of
    a country whose own language is written alike and has more speakers: se, Northern
    Sami, for Swedish.
    """
    texts = list(texts)
    code = canonical(lang)
    script = foreign_script(lang, texts)
    country = of_country(lang)
    if not script and _easily_meant(code, country):
        return "", f"{code!r} is {name(code)}; {name(country)} is {country!r}."
    if not script:
        return "", ""
    scripts = ", ".join(sorted(map(_script_name, native_scripts(code))))
    what = (
        f"the texts of {code!r} are in the script {_script_name(script)}, and {code} is"
        f" {name(code)} ({scripts})"
    )
    meant = (
        country
        if country and script in native_scripts(country)
        else _most_spoken(script)
    )
    n_letters = sum(letter.isalpha() for letter in "".join(texts))
    if not meant or (script == "Latn" and n_letters < FEW):
        return "", f"{what}: check the code, if they are not romanised."
    other = (
        f"describe another way to write {name(code)} under custom_languages, as"
        f" {code}-{script}"
    )
    return f"{what}: {name(meant)} is {meant}; {other}.", ""


def _easily_meant(code: str, country: str) -> bool:
    """Return whether a code of a language may be meant as a country's, where `country`
    is its language or "".
    """
    if (
        not country
        or country == code
        or not native_scripts(code) & native_scripts(country)
    ):
        return False
    # Spanish is at home in Spain, so that El Salvador's code, sv, is more likely
    # Swedish.
    at_home = _likely().get(country, "").endswith(f"_{code.upper()}")
    return at_home and _speakers(code) < _speakers(country)


def _script_name(script: str) -> str:
    return unicode_scripts.script_name(script, script)


def _speakers(code: str) -> float:
    return facts()["speakers"].get(code, 0)


def _most_spoken(script: str) -> str:
    """Return the language with the most speakers that is written in a script; "" for
    Latin, which most are.
    """
    native = [
        code
        for code in facts()["speakers"].dropna().index
        if script in native_scripts(code)
    ]
    return "" if script == "Latn" else max(native, key=_speakers, default="")
