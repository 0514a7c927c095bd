"""Names by which readers look for a language: other English names, and what languages
of many readers call it.
"""

from babel import Locale

from babelatlas.base import languages

# Languages whose names of languages the search finds, those of CLDR: "Suaheli" and
# "суахили" find Swahili.
ASKED_IN = ["ar", "de", "es", "fr", "hi", "id", "it", "ja"]
ASKED_IN += ["ko", "pt", "ru", "sw", "tr", "vi", "zh"]
# Other names in English, and forms with and without a prefix.
IN_ENGLISH = {
    "be": "Belorussian",
    "bn": "Bengali",
    "ca": "Valencian",
    "ceb": "Bisaya; Visayan",
    "ckb": "Sorani",
    "dv": "Dhivehi; Maldivian",
    "el": "Modern Greek",
    "es": "Castilian",
    "fa": "Farsi; Dari",
    "ga": "Irish Gaelic",
    "gd": "Gaelic",
    "ha": "Haoussa",
    "ht": "Kreyol; Haitian",
    "ig": "Ibo",
    "ilo": "Ilocano; Ilokano",
    "kk": "Qazaq",
    "kl": "Greenlandic",
    "km": "Cambodian",
    "ku": "Kurmanji",
    "ky": "Kirghiz",
    "lb": "Letzeburgesch",
    "lg": "Luganda",
    "ms": "Bahasa Melayu",
    "id": "Bahasa Indonesia",
    "my": "Myanmar",
    "nan": "Hokkien; Taiwanese; Southern Min",
    "nl": "Flemish",
    "nso": "Sepedi",
    "ny": "Chichewa; Chewa",
    "om": "Oromiffa",
    "or": "Oriya",
    "pa": "Panjabi; Gurmukhi",
    "ps": "Pushto",
    "ro": "Moldovan; Moldavian",
    "rom": "Romani",
    "si": "Sinhalese; Singhala",
    "sn": "chiShona",
    "st": "Sesotho",
    "sw": "Suahili",
    "tl": "Filipino; Pilipino",
    "tn": "Setswana",
    "ug": "Uighur",
    "xh": "isiXhosa",
    "yo": "Yorùbá",
    "yue": "Yue",
    "zh": "Mandarin; Putonghua; Standard Chinese",
    "zh-Hant": "Traditional Chinese; Taiwanese Mandarin",
    "zu": "isiZulu",
}


def in_english(lang: str) -> list[str]:
    """Return other English names of a language than the book's.

    >>> in_english("fa")
    ['Farsi', 'Dari']
    """
    listed = IN_ENGLISH.get(lang, "")
    return listed.split("; ") if listed else []


def for_search(lang: str) -> list[str]:
    """Return the names of a language, but for that of its page, by which the search
    finds it.

    >>> names = for_search("sw")
    >>> "Suaheli" in names, "суахили" in names, "Swahili" in names
    (True, True, False)
    """
    tag = lang.replace("-", "_")
    translated = [Locale(asked).languages.get(tag, "") for asked in ASKED_IN]
    autonym = languages.facts()["autonym"].get(lang, "")
    names = [*in_english(lang), autonym, *translated]
    # Semicolons separate the names of a page.
    plain = [str(name).replace(";", " ") for name in names if isinstance(name, str)]
    title = languages.name(lang)
    return [name for name in dict.fromkeys(plain) if name not in ("", title)]
