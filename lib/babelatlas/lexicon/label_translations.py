"""Translations of ImageNet's class names that others have made, and the form in which
words are compared.
"""

import json
import re
from functools import cache

import pandas as pd

from babelatlas.base import download
from babelatlas.lexicon import cleaning, labels

# Translations of the ImageNet-1k classes in LAION's CLIP benchmark (MIT licence):
# language -> file, what is known of where they are from. Sources: Geigle et al. (2024),
# section 2; the pull requests of the benchmark that added them (25 to 27 and 68).
TRANSLATIONS = {
    "ar": (
        "clip-benchmark-ar",
        "by the makers of an Arabic CLIP; how, they do not say",
    ),
    "it": (
        "clip-benchmark-it",
        "machine translation, from CLIP-Italian (Bianchi et al. 2021)",
    ),
    "ja": ("clip-benchmark-jp", "from Japanese CLIP (rinna); how, they do not say"),
    "zh": ("clip-benchmark-cn", "by people, from Chinese CLIP (Yang et al. 2022)"),
}
# the names that CLIP's authors curated, in a file of the same form
ENGLISH = "clip-benchmark-en"


@cache
def comparable_form(word: str, lang: str) -> str:
    """Return a word in the form in which labels are compared with translations.

    Without case, remarks in parentheses, stress and vowel marks; Chinese in simplified
    characters; Italian without the indefinite article that the translations carry (and
    "a", which the translating machine left over from English); Arabic without the
    definite article, which some of the translations carry and dictionaries do not.

    >>> words = ("un'aquila calva", "uno squalo tigre", "unicorno")
    >>> [comparable_form(word, "it") for word in words]
    ['aquila calva', 'squalo tigre', 'unicorno']
    """
    for rule in ("parentheses", "stress", "vowel marks"):
        word = cleaning.RULES[rule](word, lang)
    word = labels.same(word)
    if lang == "it":
        word = re.sub(r"^(un['’]|(un|uno|una|a) )", "", word)
    elif lang == "ar":
        word = re.sub(r"(^| )ال(?=\w\w)", r"\1", word)
    elif lang == "zh":
        word = cleaning.simplified(word)
    return word


def read_translations(lang: str) -> pd.DataFrame:
    """Return the translations of the ImageNet-1k classes that others have made: columns
    `wnid`, `translation`.

    `lang` is one of `TRANSLATIONS`, or "en" for CLIP's names; `download.file` finds or
    fetches the file.
    """
    path = download.file(ENGLISH if lang == "en" else TRANSLATIONS[lang][0])
    names = json.loads(path.read_text(encoding="utf-8"))["imagenet1k"]
    return pd.DataFrame(
        {"wnid": labels.class_list("imagenet-1k")["wnid"], "translation": names}
    )
