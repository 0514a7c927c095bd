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
SYLLABIC = {
    "Hani",
    "Hira",
    "Kana",
    "Hang",
    "Bopo",
    "Yiii",
    "Ethi",
    "Cans",
    "Cher",
    "Vaii",
}
LONG = (
    40,
    6,
)  # a label is long with more characters than the first, or as many words as the second
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
    "long": f"more than {LONG[0]} characters, or {LONG[1]} words or more",
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


def _defects(label: str, lang: str) -> dict[str, bool]:
    """Return which of the defects one word has that can be seen without the others."""
    found = {name: rule(label, lang) != label for name, rule in cleaning.RULES.items()}
    if found.pop("script"):
        native = languages.native_scripts(lang)
        own = languages.scripts_of(label) & native
        rest = re.sub("[A-Z]", "", label) if native & cleaning.WITH_CAPITALS else label
        found["wrong script"] = not own
        found["mixed script"] = bool(own) and not languages.scripts_of(rest) <= native
        found["other characters"] = bool(own) and not found["mixed script"]
    return found


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
    words = [labels.same(label) for label in table["label"]]
    found["duplicate"] = table.assign(word=words).duplicated(
        ["lang", "word"], keep=False
    )
    english = english[english["lang"] == labels.ENGLISH]
    named = set(zip(english["wnid"], english["lemma"].map(labels.same), strict=True))
    found["English, same class"] = [
        pair in named for pair in zip(table["wnid"], words, strict=True)
    ]
    any_class = {word for _, word in named}
    found["English, any class"] = [word in any_class for word in words]
    # A vowel sign counts: a Burmese or Lao syllable of one consonant is a whole word.
    letters = [
        sum(unicodedata.category(letter)[0] in "LM" for letter in label)
        for label in table["label"]
    ]
    syllabic = [
        bool(languages.scripts_of(label) & SYLLABIC) for label in table["label"]
    ]
    found["one letter"] = [
        n == 1 and not whole for n, whole in zip(letters, syllabic, strict=True)
    ]
    found["long"] = [
        len(label) > LONG[0] or len(label.split()) >= LONG[1]
        for label in table["label"]
    ]
    # A defect that was not looked at, because the word has no other script, is not
    # there.
    return pd.concat([table[["lang", "wnid", "label"]], found.eq(True)], axis=1)


def counts(flagged: pd.DataFrame) -> pd.DataFrame:
    """Return how many labels of each language `flags` found what in: `lang`, `n`
    (labels), each check, "any defect".
    """
    summed = (
        flagged.assign(**{ANY: flagged[list(DEFECTS)].any(axis=1)})
        .groupby("lang")[[*CHECKS, ANY]]
        .sum()
    )
    summed.insert(0, "n", flagged["lang"].value_counts())
    return summed.astype(int).reset_index()


def _shares(count: pd.Series, n: pd.Series) -> pd.DataFrame:
    """Return shares with Wilson's interval: columns value, ci_low, ci_high, n; the
    index of `count`.
    """
    low, high = proportion_confint(count, n, method="wilson")
    return pd.DataFrame({"value": count / n, "ci_low": low, "ci_high": high, "n": n})


def rates(
    counted: pd.DataFrame, n_resamples: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Return the share of labels with each check, by language and over all.

    Columns: lang, check, count, value (count of n), ci_low, ci_high, n (labels).
    `counted`: what `counts` returns, or the same read from a shipped file. A language's
    interval is Wilson's, as if its labels were a sample. The rows with `lang` "" are
    over all labels, with a bootstrap interval that draws languages, because labels of
    one language have the same defects; a single language has none (NaN).
    """
    names = [name for name in counted if name not in ("lang", "n")]
    long = counted.melt(["lang", "n"], names, "check", "count")
    each = pd.concat(
        [long[["lang", "check", "count"]], _shares(long["count"], long["n"])], axis=1
    )
    by = ["all", "check"]
    whole = bootstrap.accuracy_interval(
        long.assign(all=""), by, "lang", "count", "n", n_resamples, seed=seed
    )
    whole = whole.set_index("check").loc[names].reset_index().assign(lang="")
    whole["count"] = long.groupby("check")["count"].sum()[names].to_numpy()
    return pd.concat([whole[list(each)], each], ignore_index=True)


def between_sources(table: pd.DataFrame) -> pd.DataFrame:
    """Return how often two sources that both name a class have a word in common, for
    each language and pair of sources.

    `table`: schema `senses`. Columns: lang, first, second (sources, in the order of
    their names), count (classes with a common word), value, ci_low, ci_high (Wilson), n
    (classes that both name). English is left out. Words are the same whatever their
    case (`labels.same`).
    """
    words = table.loc[table["lang"] != labels.ENGLISH, ["lang", "wnid", "source"]]
    words = words.assign(word=table["lemma"].map(labels.same)).drop_duplicates()
    cell = ["lang", "wnid"]
    named = words[[*cell, "source"]].drop_duplicates()
    both = named.merge(named, on=cell, suffixes=("_first", "_second")).query(
        "source_first < source_second"
    )
    pair = ["source_first", "source_second"]
    shared = words.merge(words, on=[*cell, "word"], suffixes=("_first", "_second"))[
        [*cell, *pair]
    ].drop_duplicates()
    both = both.merge(shared, on=[*cell, *pair], how="left", indicator=True)
    groups = both.assign(meet=both["_merge"] == "both").groupby(["lang", *pair])["meet"]
    found = groups.agg(count="sum", n="size").reset_index()
    found.columns = ["lang", "first", "second", "count", "n"]
    return pd.concat(
        [found.drop(columns="n"), _shares(found["count"], found["n"])], axis=1
    )


def between_label_sets(ours: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Return how far two label sets agree in each language, over the classes that both
    have.

    Both: schema `labels`. Columns: lang, n (such classes), `label` (classes for which
    the labels are the same), `word` (for which the other's label is among our label and
    alternatives). English is left out.
    """
    ours = ours.assign(
        words=[
            {labels.same(word) for word in (row.label, *row.alternatives)}
            for row in ours.itertuples()
        ]
    )
    both = ours.merge(
        other[["lang", "wnid", "label"]], on=["lang", "wnid"], suffixes=("", "_other")
    )
    both = both[both["lang"] != labels.ENGLISH]
    both["other"] = both["label_other"].map(labels.same)
    both["same"] = both["label"].map(labels.same) == both["other"]
    both["among"] = [
        word in words for word, words in zip(both["other"], both["words"], strict=True)
    ]
    groups = both.groupby("lang")
    return groups.agg(
        n=("wnid", "size"), label=("same", "sum"), word=("among", "sum")
    ).reset_index()


def compare(table: pd.DataFrame, reference: pd.DataFrame, lang: str) -> pd.DataFrame:
    """Return how near a language's labels come to a translation: `wnid` and a column (0
    to 1) for each of `MEASURES`.

    `table`: schema `labels`; `reference`: wnid, translation. Over the classes that both
    have, in the order of `table`.
    """
    rows = []
    for row in (
        table[table["lang"] == lang]
        .merge(reference, on="wnid", validate="one_to_one")
        .itertuples()
    ):
        goal = label_translations.comparable_form(row.translation, lang)
        forms = (
            label_translations.comparable_form(word, lang)
            for word in (row.label, *row.alternatives)
        )
        words = list(dict.fromkeys(forms))
        ratio = difflib.SequenceMatcher(None, words[0], goal, autojunk=False).ratio()
        rows.append(
            (
                row.wnid,
                float(words[0] == goal),
                float(goal in words),
                (goal in words) / len(words),
                ratio,
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
    pairs, parts = list(combinations(compared["labels"].unique(), 2)), []
    for measure in ("label", "similarity"):
        part = compared[compared["measure"] == measure]
        parts.append(
            permutation.paired_difference(
                part, "labels", "wnid", by=["lang"], pairs=pairs
            ).assign(measure=measure)
        )
    columns = [
        "lang",
        "measure",
        "first",
        "second",
        "value",
        "ci_low",
        "ci_high",
        "p",
        "p_holm",
        "n",
    ]
    return pd.concat(parts, ignore_index=True)[columns]


# Agreement with Babel-ImageNet ships for languages with so many classes in common, and
# where it is no larger than this: from what agrees in every class, or in all but a few,
# labels could be read.
ENOUGH, COMPLETE = 20, 0.95


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
        part = between_label_sets(ours, babel).rename(
            columns={"label": f"label, {choice}"}
        )
        names = [f"label, {choice}", *(["word"] if not parts else [])]
        parts.append(part.melt(["lang", "n"], names, "source", "count"))
    theirs = babel.rename(columns={"label": "lemma"})[list(tables.SCHEMAS["senses"][0])]
    pairs = between_sources(pd.concat([known, theirs], ignore_index=True))
    pairs = pairs[pairs["first"] == "babel-imagenet"].rename(
        columns={"second": "source"}
    )
    both = pd.concat([*parts, pairs])[["lang", "source", "count", "n"]]
    both = both[(both["n"] >= ENOUGH) & (both["count"] <= COMPLETE * both["n"])]
    return both.sort_values(["lang", "source"], ignore_index=True)


def recount() -> dict[str, pd.DataFrame]:
    """Return the tables that ship as `data/quality_*.csv`, counted again from files
    that `fetch` has or downloads.
    """
    wnids = labels.class_list("imagenet-1k")["wnid"].tolist()
    known, released = senses.for_classes(wnids), senses.read_babel_imagenet()
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
    return {
        "audit": counts(flags(babel, known)),
        "agreement": with_babel_imagenet(sets, cleaning.clean(known), babel),
        "translations": bootstrap.group_means(
            compared, ["lang", "labels", "measure"], "value", "wnid", 2000, seed=0
        ),
        "choices": differences(compared),
    }


def shipped(name: str) -> pd.DataFrame:
    """Return a shipped table of counts that need files which do not ship, by its name
    in what `recount` returns.
    """
    return pd.read_csv(DATA / SHIPPED[name], keep_default_na=False)
