"""How good the labels are: an audit of a label set, agreement between sources,
agreement with existing translations.

An audit finds what can be seen from the words alone: a label that two classes share,
letters of another script, marks that only dictionaries print. Agreement between
independent sources says something about wrong words that are well spelt, and so do the
translations of the ImageNet classes that others have made for four languages.

What is counted of Babel-ImageNet ships as numbers by language (`data/quality_*.csv`);
its labels do not, because their licence does not allow it. `babelatlas ship
label-quality` counts again, from files that `fetch` has or downloads.
"""

import difflib
import re
import unicodedata
from itertools import combinations

import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from babelatlas.base import languages, tables
from babelatlas.base.paths import DATA
from babelatlas.lexicon import cleaning, label_translations, labels, senses
from babelatlas.stats import bootstrap, permutation

# A table of counts that ships, because the words that were counted do not: a key of
# what `recount` returns. By their whole names, by which a notebook is known to depend
# on them.
SHIPPED = {
    "audit": "quality_audit.csv",
    "agreement": "quality_agreement.csv",
    "translations": "quality_translations.csv",
    "choices": "quality_choices.csv",
}
# Scripts with a sign for each word or syllable, in which one sign may be a whole word.
SYLLABIC = {"Hani", "Hira", "Kana", "Hang", "Bopo"}
SYLLABIC |= {"Yiii", "Ethi", "Cans", "Cher", "Vaii"}
# A label is long with more characters, or with so many words.
LONG_CHARACTERS, LONG_WORDS = 40, 6
# What an audit looks for, and what is found. The cleaning rule "script" is split into
# the last three defects.
DEFECTS = {
    "duplicate": "another class of the language has the same label",
    "unicode": "not in composed Unicode, or characters that mean nothing",
    "format characters": "invisible characters",
    "look-alikes": "Latin letters in a Cyrillic word, or the reverse",
    "markup": "markup of a wiki, or several words in one",
    "gap": "a note that there is no word",
    "parentheses": "a remark in parentheses",
    "stress": "accents that mark stress in Cyrillic",
    "vowel marks": "marks for vowels in Hebrew or Arabic",
    "digits": "a digit",
    "sentence": "a definition or a sentence",
    "edges": "punctuation at an end",
    "mixed script": (
        "letters of the script that the study gives the language, and of another"
    ),
    "wrong script": "no letter of that script",
    "other characters": "Chinese: characters of the other way of writing",
    "English, same class": "an English word of the same class",
}
# What may be right: counted, but no defect by itself.
REMARKS = {
    "titles": "a capital that the language does not write, if it is no name",
    "English, any class": "an English word of any class",
    "one letter": "a single letter in an alphabet",
    "long": f"more than {LONG_CHARACTERS} characters, or {LONG_WORDS} words or more",
}
CHECKS = DEFECTS | REMARKS
ANY = "any defect"
MEASURES = {
    "label": "the label is the translation",
    "any word": "the label or an alternative is the translation",
    "random word": (
        "chance that a word drawn from label and alternatives is the translation"
    ),
    "similarity": (
        "share of characters that the two have in common, in order (Ratcliff and"
        " Obershelp 1988)"
    ),
}
# Agreement with Babel-ImageNet ships for languages with so many classes in common, and
# where it is no larger than this: from what agrees in every class, or in all but a few,
# labels could be read.
ENOUGH = 20
COMPLETE = 0.95


def _defects(label: str, lang: str) -> dict[str, bool]:
    """Return which of the defects one word has that can be seen without the others."""
    found = {name: rule(label, lang) != label for name, rule in cleaning.RULES.items()}
    if not found.pop("script"):
        return found
    native = languages.native_scripts(lang)
    has_native = bool(languages.scripts_of(label) & native)
    # Capital Latin letters may stand in a word of these scripts.
    rest = re.sub("[A-Z]", "", label) if native & cleaning.WITH_CAPITALS else label
    has_other = not languages.scripts_of(rest) <= native
    return found | {
        "wrong script": not has_native,
        "mixed script": has_native and has_other,
        "other characters": has_native and not has_other,
    }


def flags(table: pd.DataFrame, english: pd.DataFrame) -> pd.DataFrame:
    """Return what is noticed in each label: `lang`, `wnid`, `label`, a column of truth
    values for each of `CHECKS`.

    `table`: schema `labels`; for raw senses, `labels.choose_first(senses)`. `english`:
    schema `senses`, whose English words the labels are compared with. A label has the
    defect of a cleaning rule's name if the rule would change it. English itself is left
    out.
    """
    table = table[table["lang"] != labels.ENGLISH].reset_index(drop=True)
    found = pd.DataFrame(
        map(_defects, table["label"], table["lang"]), columns=list(CHECKS)
    )
    words = table["label"].map(labels.same)
    found["duplicate"] = table.assign(word=words).duplicated(
        ["lang", "word"], keep=False
    )
    english = english[english["lang"] == labels.ENGLISH]
    english_words = english["lemma"].map(labels.same)
    named = set(zip(english["wnid"], english_words, strict=True))
    found["English, same class"] = [
        pair in named for pair in zip(table["wnid"], words, strict=True)
    ]
    found["English, any class"] = words.isin(set(english_words))
    found["one letter"] = table["label"].map(_is_one_letter)
    found["long"] = table["label"].map(_is_long)
    # A defect that was not looked at, because the word has no other script, is not
    # there.
    return pd.concat([table[["lang", "wnid", "label"]], found.eq(True)], axis=1)


def _is_one_letter(label: str) -> bool:
    """Return whether a label is a single letter of a script in which none is a word.

    A vowel sign counts: a Burmese or Lao syllable of one consonant is a whole word.
    """
    n_letters = sum(unicodedata.category(letter)[0] in "LM" for letter in label)
    return n_letters == 1 and not languages.scripts_of(label) & SYLLABIC


def _is_long(label: str) -> bool:
    return len(label) > LONG_CHARACTERS or len(label.split()) >= LONG_WORDS


def counts(flagged: pd.DataFrame) -> pd.DataFrame:
    """Return how many labels of each language `flags` found what in: `lang`, `n`
    (labels), each check, "any defect".
    """
    with_any = flagged.assign(**{ANY: flagged[list(DEFECTS)].any(axis=1)})
    table = with_any.groupby("lang")[[*CHECKS, ANY]].sum()
    table.insert(0, "n", flagged["lang"].value_counts())
    return table.astype(int).reset_index()


def _shares(count: pd.Series, n: pd.Series) -> pd.DataFrame:
    """Return shares with Wilson's interval: columns value, ci_low, ci_high, n; the
    index of `count`.
    """
    low, high = proportion_confint(count, n, method="wilson")
    return pd.DataFrame({"value": count / n, "ci_low": low, "ci_high": high, "n": n})


def between_sources(table: pd.DataFrame) -> pd.DataFrame:
    """Return how often two sources that both name a class have a word in common, for
    each language and pair of sources.

    `table`: schema `senses`. Columns: lang, first, second (sources, in the order of
    their names), count (classes with a common word), value, ci_low, ci_high (Wilson), n
    (classes that both name). English is left out. Words are the same whatever their
    case (`labels.same`).
    """
    unit = ["lang", "wnid"]
    pair = ["source_first", "source_second"]
    words = table.loc[table["lang"] != labels.ENGLISH, [*unit, "source"]]
    words = words.assign(word=table["lemma"].map(labels.same)).drop_duplicates()
    named = words[[*unit, "source"]].drop_duplicates()
    both = named.merge(named, on=unit, suffixes=("_first", "_second"))
    both = both[both["source_first"] < both["source_second"]]
    shared = words.merge(words, on=[*unit, "word"], suffixes=("_first", "_second"))
    shared = shared[[*unit, *pair]].drop_duplicates()

    both = both.merge(shared, on=[*unit, *pair], how="left", indicator=True)
    both["is_shared"] = both["_merge"] == "both"
    groups = both.groupby(["lang", *pair])["is_shared"]
    found = groups.agg(count="sum", n="size").reset_index()
    found.columns = ["lang", "first", "second", "count", "n"]
    shares = _shares(found["count"], found["n"])
    return pd.concat([found.drop(columns="n"), shares], axis=1)


def between_label_sets(ours: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Return how far two label sets agree in each language, over the classes that both
    have.

    Both: schema `labels`. Columns: lang, n (such classes), `label` (classes for which
    the labels are the same), `word` (for which the other's label is among our label and
    alternatives). English is left out.
    """
    both = ours.merge(
        other[["lang", "wnid", "label"]], on=["lang", "wnid"], suffixes=("", "_other")
    )
    both = both[both["lang"] != labels.ENGLISH]
    theirs = both["label_other"].map(labels.same)
    both["is_same"] = both["label"].map(labels.same) == theirs
    both["is_among"] = [
        word in map(labels.same, (label, *alternatives))
        for word, label, alternatives in zip(
            theirs, both["label"], both["alternatives"], strict=True
        )
    ]
    return (
        both.groupby("lang")
        .agg(n=("wnid", "size"), label=("is_same", "sum"), word=("is_among", "sum"))
        .reset_index()
    )


def compare(table: pd.DataFrame, reference: pd.DataFrame, lang: str) -> pd.DataFrame:
    """Return how near a language's labels come to a translation: `wnid` and a column (0
    to 1) for each of `MEASURES`.

    `table`: schema `labels`; `reference`: wnid, translation. Over the classes that both
    have, in the order of `table`.
    """
    both = table[table["lang"] == lang].merge(
        reference, on="wnid", validate="one_to_one"
    )
    rows = []
    for row in both.itertuples():
        translation = label_translations.comparable_form(row.translation, lang)
        forms = [
            label_translations.comparable_form(word, lang)
            for word in (row.label, *row.alternatives)
        ]
        words = list(dict.fromkeys(forms))
        label = words[0]
        is_among = translation in words
        matcher = difflib.SequenceMatcher(None, label, translation, autojunk=False)
        rows.append(
            (
                row.wnid,
                float(label == translation),
                float(is_among),
                is_among / len(words),
                matcher.ratio(),
            )
        )
    return pd.DataFrame(rows, columns=["wnid", *MEASURES])


def compare_all(
    sets: dict[str, pd.DataFrame], references: dict[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return `compare` of every label set (by its name) and language: lang, labels,
    wnid, measure, value.
    """
    parts = [
        compare(table, reference, lang).assign(lang=lang, labels=name)
        for lang, reference in references.items()
        for name, table in sets.items()
    ]
    return pd.concat(parts, ignore_index=True).melt(
        ["lang", "labels", "wnid"], list(MEASURES), "measure"
    )


def differences(compared: pd.DataFrame) -> pd.DataFrame:
    """Return which of two label sets comes nearer to the translations, over the classes
    that both have.

    `compared`: as of `compare_all`. Columns: lang, measure ("label", "similarity"),
    first, second, value (mean of first minus second), ci_low, ci_high (bootstrap over
    classes), p (sign-flip permutation test; for "label" McNemar's, with permutations in
    place of its binomial distribution), p_holm (over all rows of a measure), n
    (classes).
    """
    pairs = list(combinations(compared["labels"].unique(), 2))
    parts = []
    for measure in ("label", "similarity"):
        rows = compared[compared["measure"] == measure]
        found = permutation.paired_difference(
            rows, "labels", "wnid", by=["lang"], pairs=pairs
        )
        parts.append(found.assign(measure=measure))
    key = ["lang", "measure", "first", "second"]
    numbers = ["value", "ci_low", "ci_high", "p", "p_holm", "n"]
    return pd.concat(parts, ignore_index=True)[[*key, *numbers]]


def with_babel_imagenet(
    sets: dict[str, pd.DataFrame], known: pd.DataFrame, babel: pd.DataFrame
) -> pd.DataFrame:
    """Return how often Babel-ImageNet's label is one of our words: lang, source, count,
    n (classes that both have).

    `source`: "label, agreed" (and so on) compares with our label by that choice, "word"
    with our label and alternatives, another value with the words of that source.
    `sets`: choice -> schema `labels`, as is `babel`; `known`: schema `senses`, cleaned.
    Left out: what has fewer than `ENOUGH` classes, or agrees in more than `COMPLETE`.
    """
    parts = []
    for choice, ours in sets.items():
        column = f"label, {choice}"
        found = between_label_sets(ours, babel).rename(columns={"label": column})
        # Label and alternatives are the same words whatever the choice.
        columns = [column] if parts else [column, "word"]
        parts.append(found.melt(["lang", "n"], columns, "source", "count"))
    theirs = babel.rename(columns={"label": "lemma"})
    theirs = theirs[list(tables.SCHEMAS["senses"][0])]
    pairs = between_sources(pd.concat([known, theirs], ignore_index=True))
    pairs = pairs[pairs["first"] == "babel-imagenet"]
    pairs = pairs.rename(columns={"second": "source"})

    both = pd.concat([*parts, pairs])[["lang", "source", "count", "n"]]
    is_enough = both["n"] >= ENOUGH
    is_complete = both["count"] > COMPLETE * both["n"]
    both = both[is_enough & ~is_complete]
    return both.sort_values(["lang", "source"], ignore_index=True)


def recount() -> dict[str, pd.DataFrame]:
    """Return the tables that ship as `data/quality_*.csv`, counted again from files
    that `fetch` has or downloads.
    """
    wnids = labels.class_list("imagenet-1k")["wnid"].tolist()
    known = senses.for_classes(wnids)
    released = senses.read_babel_imagenet()
    babel = labels.choose_first(released[released["lang"] != labels.ENGLISH])
    sets = {
        choice: labels.label_set(known, wnids, choice=choice)
        for choice in labels.CHOICES
    }
    references = {
        lang: label_translations.read_translations(lang)
        for lang in label_translations.TRANSLATIONS
    }
    compared = compare_all(sets | {"babel-imagenet": babel}, references)
    key = ["lang", "labels", "measure"]
    return {
        "audit": counts(flags(babel, known)),
        "agreement": with_babel_imagenet(sets, cleaning.clean(known), babel),
        "translations": bootstrap.group_means(
            compared, key, "value", "wnid", n_resamples=2000, seed=0
        ),
        "choices": differences(compared),
    }


def shipped(name: str) -> pd.DataFrame:
    """Return a shipped table of counts that need files which do not ship, by its name
    in what `recount` returns.
    """
    return pd.read_csv(DATA / SHIPPED[name], keep_default_na=False)
