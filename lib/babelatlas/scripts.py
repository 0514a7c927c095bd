"""Which script the letters of a word belong to, by the codes of ISO 15924 ("Latn", "Cyrl", "Hani").

Letters and marks count; digits, spaces and punctuation belong to no script, nor do marks that many scripts share.
"""

import unicodedata
from functools import cache

from fontTools import unicodedata as unicode_scripts

from babelatlas import languages

# Codes that stand for several scripts of Unicode, or for a variant of one.
PARTS = {
    "Jpan": {"Hani", "Hira", "Kana"},
    "Kore": {"Hang"},  # words in Chinese characters (Hanja) are not what Korean readers write today
    "Hans": {"Hani"},
    "Hant": {"Hani"},
    "Hanb": {"Hani", "Bopo"},
}
# Languages with two scripts in use, or in their texts: a word in either is theirs.
ALSO = {
    "arc": {"Hebr", "Syrc"},
    "cdo": {"Hani"},
    "cr": {"Latn"},
    "cu": {"Glag"},
    "hak": {"Latn"},
    "ks": {"Deva"},
    "lad": {"Hebr"},
    "mnc": {"Mong"},
    "nan": {"Latn"},
    "oj": {"Cans"},
    "pi": {"Deva"},
}
SHARED = {"Zyyy", "Zinh", "Zzzz"}


@cache
def _script(letter: str) -> str:
    return unicode_scripts.script(letter) if unicodedata.category(letter)[0] in "LM" else "Zyyy"


def scripts(word: str) -> frozenset[str]:
    """Return the scripts of the letters of `word`.

    >>> sorted(scripts("T恤")), scripts("100 %")
    (['Hani', 'Latn'], frozenset())
    """
    return frozenset(map(_script, word)) - SHARED


@cache
def native(lang: str) -> frozenset[str]:
    """Return the scripts of Unicode that a language is written in; InputError where the language is unknown.

    >>> sorted(native("ja")), sorted(native("de"))
    (['Hani', 'Hira', 'Kana'], ['Latn'])
    """
    code = languages.canonical(lang)
    script = languages.table().set_index("code")["script"][code]
    return frozenset(PARTS.get(script, {script}) | ALSO.get(code, set())) - {""}
