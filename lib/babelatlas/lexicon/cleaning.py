"""The cleaning rules: what is done to the words of a lexicon before one of them becomes
a label.

A rule is a function of one word and the code of its language that returns the word as
it should be, or "" where it should go. `RULES` holds them by name, in the order in
which they are applied, `TABLE_STEPS` those that look at more than one word. The
examples are lemmas of the Open Multilingual Wordnet or of Wiktionary.
"""

import os
import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache, lru_cache, partial
from itertools import groupby

import numpy as np
import pandas as pd

from babelatlas.base import languages, own_tables, tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA

JOINERS = {"\u200c", "\u200d"}  # zero-width non-joiner and joiner
MONGOLIAN_MARK = "\u180e"  # the vowel separator
# Scripts whose spelling needs the joiners: Persian plurals, Sinhala conjuncts.
JOINED = {
    "Arab",
    "Beng",
    "Deva",
    "Gujr",
    "Guru",
    "Knda",
    "Mlym",
    "Mong",
    "Orya",
    "Sinh",
    "Syrc",
    "Taml",
    "Telu",
}
# Malayalam's final consonants (chillus), which texts before Unicode 5.1 wrote as
# consonant, virama and joiner.
CHILLUS = dict(zip("ണനരലളക", "ൺൻർൽൾൿ", strict=True))
# Language -> what older texts write with a joiner, and the letter that Unicode has for
# it: in Burmese the sign that ends a syllable; in Sorani the vowel e, which looked like
# an h that does not join.
OLDER = {
    "my": {"\u1039\u200c": "\u103a"},
    "ckb": {"\u0647\u200c": "\u06d5"},
    "ml": {f"{consonant}\u0d4d\u200d": chillu for consonant, chillu in CHILLUS.items()},
}
HEBREW_MARKS = re.compile("[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]")
# Short vowels, doubling, and the stroke that fills a line.
ARABIC_MARKS = re.compile("[\u064b-\u0652\u0670\u0640]")
# Kashmiri and Yiddish spell with the marks that Arabic and Hebrew leave out.
POINTED = {"ks", "yi"}
# Letters of one script that are typed for those of another: the same shape, another
# code.
LATIN_CYRILLIC = dict(zip("aceopxyijshæăĕçə", "асеорхуіјѕһӕӑӗҫә", strict=True))
LATIN_CYRILLIC |= dict(zip("ACEOPXIJSHTMKBÆĂĔÇƏ", "АСЕОРХІЈЅҺТМКВӔӐӖҪӘ", strict=True))
# Persian, Urdu and their neighbours have letters of their own for Arabic's yeh and kaf,
# which look the same in a word.
PERSIAN = str.maketrans("يك", "یک")
PERSIAN_LETTERS = {"ckb", "fa", "glk", "mzn", "pnb", "skr", "ur"}
# A Latin I in a Cyrillic word is the palochka in the languages of the Caucasus, a
# dotted I in some others.
PALOCHKA = {"ab", "abq", "ady", "agx", "aqc", "av", "ce", "dar"}
PALOCHKA |= {"inh", "kbd", "lbe", "lez", "rut", "tab", "tkr"}
DOTTED = {"be", "kk", "kv", "rue", "uk"}
CYRILLIC_LATIN = {cyrillic: latin for latin, cyrillic in LATIN_CYRILLIC.items()}
# No apostrophe is among them: in many languages it is a letter (Tongan, Luo,
# Macedonian).
EDGES = ' .,;:!?¡¿"“”„«»‹›「」『』…·•。、！？؟،؛' + "".join(sorted(JOINERS))
# Chinese, Japanese and Korean words may hold capital Latin letters: T恤, Tシャツ.
WITH_CAPITALS = {"Hani", "Hira", "Kana", "Hang"}
# Languages that write common nouns and adjectives of place in small letters, whose
# lists have titles: "Gato Persa".
ROMANCE = {"ca", "es", "fr", "gl", "it", "pt"}
SMALL_NOUNS = ROMANCE | {"bs", "el", "hr", "id", "ms", "sl"}
# A name follows: "crocodilo do Nilo".
NAMED = re.compile("(d|da|das|de|del?|dei|dell[ae]|des|di|dos?|du|[A-Z].*)$")
# First words that are names themselves.
NAMES = {"Alps", "Beijing", "Bic", "Davidova", "Ford", "Lambretta", "Peking", "Vespa"}
# What the rules look for in a word; compiled, since most words have none of it.
WINDOWS = re.compile("[\x80-\x9f]")
LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
TAG = re.compile(r"'{2,}|</?[a-z]+ ?/?>")
SEVERAL = re.compile(r"[|;؛/]")
NOTATION = re.compile(r"[@=<>{}\[\]#\\^~*|&%$]")
# A sign of any of the four.
SIGNS = re.compile(r"'{2}|[@=<>{}\[\]#\\^~*|&%$;؛/]")
GAP = re.compile(r"(PSEUDO)?GAP!?")
IN_PARENTHESES = re.compile(r"[(（][^()（）]*[)）]")
PARENTHESIS = re.compile("[()（）]")
DIGIT = re.compile(r"\d")
STRESS = re.compile("(?<=[\u0400-\u052f])[\u0300\u0301]+")
FULL_STOP = re.compile(r"\w{4,}\.$")
PHRASE = re.compile(r"[^\W\d_]{4,}[.!?] |[,،、]\s*\w")
ABBREVIATION = re.compile(r"\.[^\W\d_]+\.$|^[^\W\d_]{1,3}\.$")
PART_OF_WORD = re.compile("[-–־]|.*[-–־]$")
PLURAL_S = re.compile(r"s\b")
NOTES = DATA / "senses_notes.csv"  # made by `senses.notes`
# Made by hand: words that mean something else than their class, with reason and source.
WRONG = DATA / "wrong_words.csv"


def unify(lemma: str, lang: str) -> str:
    """Return the word in composed Unicode (NFC) with single spaces; drop one with
    characters that mean nothing.

    Control characters that are letters of Windows' Latin code page are read as those.

    >>> unify("great_white  shark", "en"), unify("c\\x9cur", "fr"), unify("\\ueef2鱼", "zh")
    ('great white shark', 'cœur', '')
    """
    if WINDOWS.search(lemma):
        codes = lemma.encode("latin-1", "ignore")
        lemma = codes.decode("cp1252", "ignore") if len(codes) == len(lemma) else lemma
    word = unicodedata.normalize("NFC", " ".join(lemma.replace("_", " ").split()))
    if word.isprintable():  # as nearly all are
        return word
    kinds = {unicodedata.category(letter) for letter in word}
    return "" if kinds & {"Cc", "Cn", "Co", "Cs"} else word


def drop_format_characters(lemma: str, lang: str) -> str:
    """Return the word without invisible characters: direction marks, soft hyphens,
    zero-width spaces.

    Joiners stay where the script spells with them, but not at the start, nor at the end
    unless after a virama. Pairs with a joiner by which older texts wrote what is one
    letter today become that letter (`OLDER`).

    >>> drop_format_characters("مغز\\u200e", "ar"), drop_format_characters("ქოს\\u00adმენი", "ka")
    ('مغز', 'ქოსმენი')
    """
    kept = _visible(lemma, lang)
    return kept if kept == lemma else unify(kept, lang)


def _visible(text: str, lang: str) -> str:
    """Return a text without characters that are not seen, but for those that spell."""
    for pair, letter in OLDER.get(lang, {}).items():
        text = text.replace(pair, letter)
    if text.isprintable():
        return text
    kept = ""
    for place, letter in enumerate(text):
        if unicodedata.category(letter) != "Cf" or _spells(
            letter, kept[-1:], text[place + 1 : place + 2]
        ):
            kept += letter
    return kept


def _spells(mark: str, before: str, after: str) -> bool:
    """Return whether an invisible character belongs to the spelling, by the letters
    around it ("" at an end).

    Joiners do between letters of scripts that need them, and after a virama; they also
    join emoji. Mongolian has a mark of its own.
    """
    if mark == "\u200d" and unicodedata.category(after or " ") == "So":
        return True
    if mark not in JOINERS | {MONGOLIAN_MARK} or not _needs_joiners(before):
        return False
    return _needs_joiners(after) or ends_with_virama(before)


def _needs_joiners(letter: str) -> bool:
    """Return whether a letter, or a mark on one, is of a script that spells with
    joiners; "" is none.
    """
    return (
        unicodedata.category(letter or " ")[0] in "LM"
        and languages.scripts_of(letter) <= JOINED
    )


def tidy(text: str, lang: str) -> str:
    """Return a user's text in composed Unicode (NFC), with single spaces and none at
    its ends, nothing invisible in it.

    Invisible characters that spell stay (`drop_format_characters`).

    >>> tidy("\\ufeffGe\\u00adpard\\u00a0", "de"), tidy("e\\u0301te\\u0301", "fr") == "été"
    ('Gepard', True)
    """
    return " ".join(unicodedata.normalize("NFC", _visible(text, lang)).split())


def tidy_column(
    table: pd.DataFrame, column: str, path: str | os.PathLike, filled: bool = True
) -> pd.DataFrame:
    """Return a user's table with the texts of a column tidied (`tidy`) and checked;
    `lang` has their languages.

    Raises InputError, with the `path` of the file, for a text of several lines, an
    empty one unless `filled` is False, and a language whose texts are in a script in
    which it is not written.
    """
    own_tables.check_texts(table, [column], path)
    pairs = zip(table[column].tolist(), table["lang"].tolist(), strict=True)
    tidied = pd.Series(
        [tidy(text, lang) for text, lang in pairs],
        table.index,
        dtype=table[column].dtype,
    )
    table = table.assign(**{column: tidied})
    own_tables.check_texts(table, [column], path, filled)
    own_tables.check_scripts(table["lang"], table[column], path)
    return table


def ends_with_virama(text: str) -> bool:
    """Return whether the last sign of a text is one that takes the vowel from a
    consonant.
    """
    return unicodedata.combining(text[-1:] or " ") == 9


def mend_look_alikes(lemma: str, lang: str) -> str:
    """Return a word that mixes letters of the same shape, Latin and Cyrillic or Arabic
    and Persian, in its own script.

    >>> mend_look_alikes("гæды", "os") == "гӕды", mend_look_alikes("T恤", "zh")
    (True, 'T恤')
    """
    if lang in PERSIAN_LETTERS:
        return lemma.translate(PERSIAN)
    if languages.scripts_of(lemma) != {"Latn", "Cyrl"}:
        return lemma
    cyrillic = LATIN_CYRILLIC
    if lang not in DOTTED:
        small, capital = ("\u04cf", "\u04c0") if lang in PALOCHKA else ("i", "I")
        cyrillic = LATIN_CYRILLIC | {"i": small, "I": capital}
    native = languages.native_scripts(lang)
    for script, letters in (("Cyrl", cyrillic), ("Latn", CYRILLIC_LATIN)):
        word = "".join(letters.get(letter, letter) for letter in lemma)
        word = unicodedata.normalize("NFC", word)
        if script in native and languages.scripts_of(word) == {script}:
            return word
    return lemma


def strip_markup(lemma: str, lang: str) -> str:
    """Return the word without markup, the first in the right script of several; drop
    one with other signs of notation.

    >>> strip_markup("[[mus|mussen]]", "nl"), strip_markup("tricycle ; trike", "fr")
    ('mussen', 'tricycle')
    >>> strip_markup("R@Chin", "ase")
    ''
    """
    if not SIGNS.search(lemma):  # as nearly all words
        return lemma.strip() if len(lemma.strip()) > 1 else lemma
    word = LINK.sub(r"\1", lemma)
    word = TAG.sub("", word)
    parts = [part.strip() for part in SEVERAL.split(word)]
    if all(len(part) > 1 for part in parts):  # not A/R, which is one word
        word = next(
            (
                part
                for part in parts
                if languages.scripts_of(part) <= languages.native_scripts(lang)
            ),
            parts[0],
        )
    return "" if NOTATION.search(word) else word


def drop_gap(lemma: str, lang: str) -> str:
    """Drop the note of MultiWordNet that a language has no word for a synset."""
    return "" if GAP.fullmatch(lemma) else lemma


def strip_parentheses(lemma: str, lang: str) -> str:
    """Return the word without what stands in parentheses; drop one whose parentheses do
    not close.

    >>> strip_parentheses("lynx (mammifère)", "fr"), strip_parentheses("espresso(-koffie)", "nl")
    ('lynx', 'espresso')
    """
    word = lemma
    while (shorter := IN_PARENTHESES.sub(" ", word)) != word:
        word = shorter
    if PARENTHESIS.search(word):
        return ""
    return lemma if word == lemma else " ".join(word.split())


def strip_stress(lemma: str, lang: str) -> str:
    """Return a Cyrillic word without the accents by which dictionaries mark stress;
    Montenegrin spells with one.
    """
    return lemma if lang == "cnr" else STRESS.sub("", lemma)


def strip_vowel_marks(lemma: str, lang: str) -> str:
    """Return the word without the marks for vowels that everyday Hebrew and Arabic
    leave out, and without tatweel.
    """
    return (
        lemma if lang in POINTED else ARABIC_MARKS.sub("", HEBREW_MARKS.sub("", lemma))
    )


def drop_digits(lemma: str, lang: str) -> str:
    """Drop a word with a digit of any script: codes of sign languages, years in
    definitions.
    """
    return "" if DIGIT.search(lemma) else lemma


def drop_sentence(lemma: str, lang: str) -> str:
    """Drop what is a definition or a phrase: eight words, an end like a sentence's, a
    comma or full stop between words.

    An abbreviation of up to three letters ends no sentence.

    >>> drop_sentence("hoe gaat het?", "nl"), drop_sentence("breh, morský", "sk")
    ('', '')
    >>> drop_sentence("św. Bernarda", "pl")
    'św. Bernarda'
    """
    words = lemma.split()
    ends = len(words) > 1 and lemma[-1] in "!?。！？؟"
    ends |= len(words) > 2 and FULL_STOP.search(lemma) is not None
    inside = PHRASE.search(lemma)
    return "" if len(words) >= 8 or ends or inside else lemma


def trim_edges(lemma: str, lang: str) -> str:
    """Return the word without punctuation and joiners at its ends; drop part of a word,
    with a hyphen at an end.

    >>> trim_edges("!צבי", "he") == "צבי", trim_edges("hånd-", "da"), trim_edges("b.h.", "nl")
    (True, '', 'b.h.')
    """
    word = lemma.lstrip(EDGES)
    bare, stopped = word.rstrip(EDGES), word.rstrip(EDGES.replace(".", ""))
    if ends_with_virama(bare) and word[len(bare) :][:1] in JOINERS:
        bare = word[: len(bare) + 1]
    # The last full stop of an abbreviation belongs to it.
    word = stopped if ABBREVIATION.search(stopped) else bare
    return "" if PART_OF_WORD.match(word) else word


def keep_script(lemma: str, lang: str) -> str:
    """Drop a word that has no letter, or a letter of a script in which its language is
    not written.

    For Chinese the two sets of characters count as scripts: "zh" drops words with
    traditional characters, "zh-Hant" those with simplified ones.

    >>> keep_script("孔雀", "ko"), keep_script("Tシャツ", "ja")
    ('', 'Tシャツ')
    >>> keep_script("鹅", "zh"), keep_script("鵝", "zh")
    ('鹅', '')
    """
    native = languages.native_scripts(lang)
    kept = (
        "".join(letter for letter in lemma if not "A" <= letter <= "Z")
        if native & WITH_CAPITALS
        else lemma
    )
    found = languages.scripts_of(kept)
    if (
        not found
        or not found <= native
        or (lang == "zh" and chinese(lemma) in ("Hant", "mixed"))
    ):
        return ""
    if lang == "zh-Hant" and chinese(lemma) in ("Hans", "mixed"):
        # Taiwan's set of characters has some that look simplified but are old, such as
        # 斗.
        return lemma if kept.encode("big5", "ignore").decode("big5") == kept else ""
    return lemma


@cache
def _converter(name: str):
    import opencc

    return opencc.OpenCC(name)


def simplified(word: str) -> str:
    """Return a Chinese word in simplified characters, as OpenCC converts it."""
    return _converter("t2s").convert(word)


def chinese(word: str) -> str:
    """Return "Hans" or "Hant" for a word with simplified or traditional characters, ""
    for one that is both at once.

    OpenCC changes a word with traditional characters to make it simplified, and one
    with simplified characters to make it traditional, by the standards of Taiwan and of
    Hong Kong too. "mixed" is a word with both.

    >>> [chinese(word) for word in ("鹅", "鵝", "猫头鹰", "老虎", "舞台", "魟鱼")]
    ['Hans', 'Hant', 'Hans', '', '', 'mixed']
    """
    old = simplified(word) != word
    new = all(
        _converter(standard).convert(word) != word
        for standard in ("s2t", "s2tw", "s2hk")
    )
    return "mixed" if old and new else "Hant" if old else "Hans" if new else ""


def split_variants(senses: pd.DataFrame) -> pd.DataFrame:
    """Return the senses with words listed under a code for several languages (`sh`,
    `zh`) given to each of these.

    Serbo-Croatian goes by its script: Cyrillic words to Serbian, Latin ones to Croatian
    and Bosnian, but not the ekavian form of a word whose (i)jekavian form the class has
    too ("mleko", "mlijeko"). Rows: by language and class.
    """
    mixed = senses[senses["lang"] == "sh"]
    scripts = mixed["lemma"].map(
        lambda lemma: " ".join(sorted(languages.scripts_of(lemma)))
    )
    latin = mixed[scripts == "Latn"]
    pairs = list(zip(latin["wnid"], latin["lemma"], strict=True))
    ekavian = {
        (wnid, re.sub("i?je", "e", lemma)) for wnid, lemma in pairs if "je" in lemma
    }
    ijekavian = latin[np.array([pair not in ekavian for pair in pairs], bool)]
    chinese_words = senses[senses["lang"] == "zh"]
    kinds = chinese_words["lemma"].map(chinese)
    parts = [
        senses[~senses["lang"].isin(["sh", "zh"])],
        mixed[scripts == "Cyrl"].assign(lang="sr"),
        ijekavian.assign(lang="hr"),
        ijekavian.assign(lang="bs"),
        chinese_words[kinds.isin(["Hans", ""])],
        chinese_words[kinds.isin(["Hant", ""])].assign(lang="zh-Hant"),
    ]
    table = pd.concat(parts, ignore_index=True).drop_duplicates(
        tables.SCHEMAS["senses"][1]
    )
    return table.sort_values(["lang", "wnid"], kind="stable", ignore_index=True)


def lower_title(lemma: str, lang: str) -> str:
    """Return a title in one of `SMALL_NOUNS` in small letters; drop a Romance one of
    two things, joined by "and".

    Romance words behind a preposition keep their capital: they may be names.

    >>> titles = ("Gato Persa", "Crocodilo do Nilo", "Fontes e Chafarizes", "CD")
    >>> [lower_title(title, "pt") for title in titles]
    ['gato persa', 'crocodilo do Nilo', '', 'CD']
    """
    if lang not in SMALL_NOUNS or not (lemma[:1].isupper() and lemma[1:2].islower()):
        return lemma
    parts = re.split("([ -])", lemma)
    if parts[0] in NAMES:
        return lemma
    parts[0] = parts[0].lower()
    for place in range(2, len(parts) if lang in ROMANCE else 0, 2):
        if not NAMED.match(parts[place - 2]) and parts[place][1:].islower():
            parts[place] = parts[place].lower()
    if lang in ROMANCE and re.search(" (e|et|i|y) ", lemma):
        return ""
    return "".join(parts)


def drop_plural_titles(senses: pd.DataFrame) -> pd.DataFrame:
    """Return the senses without plural Romance titles ("Locomotivas a vapor"), if the
    class has them without the s.
    """
    rows = keys(senses)
    listed = set(rows)
    kept = []
    for (lang, wnid, word), lemma in zip(rows, senses["lemma"].tolist(), strict=True):
        singular = PLURAL_S.sub("", word)
        is_title = lang in ROMANCE and not lemma[0].islower()
        is_plural = singular != word and (lang, wnid, singular) in listed
        kept.append(not (is_title and is_plural))
    return senses[np.array(kept, bool)].reset_index(drop=True)


@cache
def notes() -> dict[str, set[tuple[str, str, str]]]:
    """Return the words of `NOTES` and `WRONG` by what is known of them ("taxon",
    "general", "wrong"): `keys`.
    """
    table = pd.concat(
        pd.read_csv(path, dtype=str, keep_default_na=False) for path in (NOTES, WRONG)
    )
    groups = table.fillna({"note": "wrong"}).groupby("note")[["lang", "wnid", "word"]]
    return {note: set(part.itertuples(index=False)) for note, part in groups}


def drop_noted(senses: pd.DataFrame, note: str) -> pd.DataFrame:
    """Return the senses without the words of one of `notes`: "taxon", a Latin name
    ("Hydrophiidae"), or "wrong".
    """
    noted = notes()[note]
    kept = np.array([key not in noted for key in keys(senses)], bool)
    return senses[kept].reset_index(drop=True)


def find_exact_words(senses: pd.DataFrame) -> pd.DataFrame:
    """Return the senses with the column `instead_of`: of a more exact word, the general
    word that gives way to it.

    More exact is one that is not too general (`senses.notes`), ends with it and has
    three letters more (one in Chinese characters), or has several words where it has
    one: "cahaya" gives way to "lampu lalu lintas".
    """
    too_general = notes()["too general"]
    rows = keys(senses)
    general_words = {}  # language and class -> its general words
    for lang, wnid, word in rows:
        if (lang, wnid, word) in too_general:
            general_words.setdefault((lang, wnid), []).append(word)
    instead_of = []
    for lang, wnid, word in rows:
        is_general = (lang, wnid, word) in too_general
        candidates = () if is_general else general_words.get((lang, wnid), ())
        less_exact = (other for other in candidates if _more_exact(word, other))
        instead_of.append(next(less_exact, ""))
    return senses.assign(instead_of=instead_of)


def _more_exact(other: str, word: str) -> bool:
    more_letters = 1 if languages.scripts_of(word) == {"Hani"} else 3
    longer = len(other) >= len(word) + more_letters
    return (longer and other.endswith(word)) or (" " in other and " " not in word)


# Tables of senses have some ten thousand words, and steps ask for each again.
@lru_cache(maxsize=2**17)
def same(lemma: str) -> str:
    """Return what two spellings of one word share: composed Unicode, single spaces for
    underscores, no upper case.
    """
    spaced = " ".join(lemma.replace("_", " ").split())
    return unicodedata.normalize("NFC", spaced.casefold())


def keys(senses: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Return language, class and word (`same`) of each sense, as a plain list, which is
    faster than a column.
    """
    words = map(same, senses["lemma"].tolist())
    return list(
        zip(senses["lang"].tolist(), senses["wnid"].tolist(), words, strict=True)
    )


# The languages whose words all, or partly, came from a source that lists them under a
# code for several.
SPLIT = ("bs", "hr", "sr", "zh-Hant")
RULES: dict[str, Callable[[str, str], str]] = {
    "unicode": unify,
    "format characters": drop_format_characters,
    "look-alikes": mend_look_alikes,
    "markup": strip_markup,
    "gap": drop_gap,
    "parentheses": strip_parentheses,
    "stress": strip_stress,
    "vowel marks": strip_vowel_marks,
    "digits": drop_digits,
    "sentence": drop_sentence,
    "edges": trim_edges,
    "script": keep_script,
    "titles": lower_title,
}
TABLE_STEPS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "variants": split_variants,
    "wrong words": partial(drop_noted, note="wrong"),
    "taxa": partial(drop_noted, note="taxon"),
    "plural titles": drop_plural_titles,
    "general words": find_exact_words,
}
# The order in which `clean` goes: the variants are distinguished by their letters, so
# before the script is judged.
SPELLING = [
    *(name for name in RULES if name not in ("script", "titles")),
    "variants",
    "script",
]
STEPS = [*SPELLING, "wrong words", "taxa", "plural titles", "titles", "general words"]


def check_rules(names: Iterable[str]) -> list[str]:
    """Return the names of cleaning steps in the order in which they are applied;
    ["all"] means every step.
    """
    names = list(names)
    if unknown := set(names) - {*STEPS, "all"}:
        raise InputError(
            f"There is no cleaning rule {min(unknown)!r}: {near(min(unknown), STEPS)}"
        )
    return [step for step in STEPS if "all" in names or step in names]


def clean(senses: pd.DataFrame, rules: Iterable[str] = STEPS) -> pd.DataFrame:
    """Return the senses after the cleaning steps named in `rules`, which are applied in
    the order of `STEPS`.

    Rows whose word is dropped, or becomes equal to one before it, are gone.
    """
    for of_words, steps in groupby(check_rules(rules), key=RULES.__contains__):
        if of_words:
            senses = _clean_words(senses, [RULES[step] for step in steps])
        else:
            for step in steps:
                senses = TABLE_STEPS[step](senses)
    return senses


def _clean_words(
    senses: pd.DataFrame, rules: list[Callable[[str, str], str]]
) -> pd.DataFrame:
    """Return the senses after rules for single words, in their order."""
    words = []
    for word, lang in zip(
        senses["lemma"].tolist(), senses["lang"].tolist(), strict=True
    ):
        for rule in rules:
            word = rule(word, lang)
            if not word:
                break
        words.append(word)
    words = pd.Series(words, senses.index, dtype=senses["lemma"].dtype)
    cleaned = senses.assign(lemma=words)[words != ""]
    return cleaned.drop_duplicates(tables.SCHEMAS["senses"][1], ignore_index=True)


def stages(
    senses: pd.DataFrame, rules: Iterable[str] = STEPS
) -> list[tuple[str, pd.DataFrame, list, list]]:
    """Return each step with the senses left after it, and the language of each word
    that it changed, and dropped.

    The first is "all words", the senses as they came. The senses of the last are what
    `clean` returns.
    """
    steps = [("all words", senses, [], [])]
    for step in check_rules(rules):
        _, before, _, _ = steps[-1]
        lang = before["lang"]
        if step in TABLE_STEPS:
            after = TABLE_STEPS[step](before)
            merged = before.merge(after, how="left", indicator=True)["_merge"]
            dropped = merged.eq("left_only").to_numpy()
            steps.append((step, after, [], lang[dropped].tolist()))
            continue
        words = list(map(RULES[step], before["lemma"].tolist(), lang.tolist()))
        words = pd.Series(words, before.index, dtype=before["lemma"].dtype)
        dropped = words == ""
        changed = ~dropped & (words != before["lemma"])
        after = before.assign(lemma=words)[~dropped]
        after = after.drop_duplicates(tables.SCHEMAS["senses"][1], ignore_index=True)
        steps.append((step, after, lang[changed].tolist(), lang[dropped].tolist()))
    return steps
