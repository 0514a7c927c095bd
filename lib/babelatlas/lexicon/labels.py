"""Senses to a label set: one word for each class and language, by the process of
Babel-ImageNet.

Source of the process: Geigle, Timofte and Glavaš (2024), section 3. For every class
take the words of a language for its synset, clean them (`cleaning.py`), drop those that
equal an English word of the same class, choose one of what remains; a class without a
word has no label in that language. Two classes with the same word (which the paper does
not treat) take other words, or both go.

English class names are a choice (`ENGLISH_NAMES`): "clip", the list that CLIP's authors
curated and tuned on ImageNet's training images, which the literature uses,
Babel-ImageNet's code too; or "wordnet", the first word of WordNet.

The ImageNet-1k label set ships with the study; `babelatlas ship labels` makes it again
from the shipped senses.
"""

from collections.abc import Iterable
from functools import cache

import numpy as np
import pandas as pd

from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA
from babelatlas.base.synsets import class_list as class_list
from babelatlas.lexicon import cleaning, wordnets
from babelatlas.lexicon.cleaning import same as same

SHIPPED = DATA / "labels.parquet"
LICENCE = DATA / "labels_licence.md"
CHOICES = ("agreed", "first")
ENGLISH = "en"
ENGLISH_NAMES = ("clip", "wordnet")
CLIP_NAMES = DATA / "clip_names.csv"
# Wordnets under a software licence (WOLF, CeCILL-C) or without the text of one (Persian
# WordNet): not in the label set that ships, so that the whole of it is under open
# licences for content.
RESTRICTED = ("omw-fra", "omw-fas")


def shipped() -> pd.DataFrame:
    """Return the label set of ImageNet-1k that ships with the study, schema `labels`."""
    return tables.read(SHIPPED, "labels")


@cache
def clip_names() -> pd.DataFrame:
    """Return the class names that CLIP's authors curated for ImageNet-1k, in its order:
    schema `senses`.
    """
    names = pd.read_csv(CLIP_NAMES).rename(columns={"name": "lemma"})
    names = names.assign(lang=ENGLISH, source="clip", licence="MIT")
    return names[list(tables.SCHEMAS["senses"][0])]


def add_clip_names(
    senses: pd.DataFrame, wnids: Iterable[str], english_names: str = "clip"
) -> pd.DataFrame:
    """Return cleaned senses with CLIP's names of the classes `wnids` in front, as they
    were written.

    Only where `english_names` is "clip" and the list has a name for each class, so that
    one list has names of one kind; otherwise the senses as they are.
    """
    wnids = set(wnids)
    names = clip_names().reindex(columns=senses.columns, fill_value="")
    if english_names != "clip" or not wnids <= set(names["wnid"]):
        return senses
    return pd.concat([names[names["wnid"].isin(wnids)], senses], ignore_index=True)


def drop_english(senses: pd.DataFrame, english: str = "class") -> pd.DataFrame:
    """Return the senses without the words of other languages that equal an English
    word; English itself stays.

    A model may read such a word as English, which would flatter the language.
    `english`: "class" compares with the English words of the same class (the paper's
    rule), "any" with those of every class in the table (the rule of the paper's
    published code), "keep" drops nothing. Equal means `same`.
    """
    if english == "keep":
        return senses.reset_index(drop=True)
    start = 1 if english == "class" else 2
    words = [(key[0] == ENGLISH, key[start:]) for key in cleaning.keys(senses)]
    of_english = {word for is_english, word in words if is_english}
    kept = [is_english or word not in of_english for is_english, word in words]
    return senses[kept].reset_index(drop=True)


def rank(senses: pd.DataFrame, choice: str = "agreed") -> pd.DataFrame:
    """Return the senses of each language and class with the best word for a label
    first.

    "first" keeps the order of the table, which is the paper's rule; but the order of
    the Open Multilingual Wordnet says little, since several of its lists are sorted.
    "agreed" puts the words first that most sources list; among these Wiktionary's, then
    the others, each in the order of the table. In a language that took words from a
    code for several (`cleaning.SPLIT`) Wiktionary goes last instead, because its words
    may be those of a neighbour. In English CLIP's name comes first, then WordNet's
    words, either way. By "agreed", a word that is more exact than another
    (`instead_of`) comes before that one. Rows come in the order of `lang`, `wnid`.
    """
    english = senses["lang"] == ENGLISH
    # In English CLIP's name is 0, a word of WordNet 1, another 2.
    of_wordnet = senses["source"].str.startswith("wordnet")
    of_clip = senses["source"] == "clip"
    rank = english * (2 - of_wordnet - 2 * of_clip)
    if choice == "agreed":
        words = senses.assign(word=[same(lemma) for lemma in senses["lemma"].tolist()])
        listed = words.groupby(["lang", "wnid", "word"])["source"].transform("nunique")
        wiktionary = senses["source"] == "wikt"
        later = wiktionary.where(senses["lang"].isin(cleaning.SPLIT), ~wiktionary)
        rank = rank.where(english, later.astype(int) - 2 * listed)
    ranked = senses.assign(rank=rank).sort_values(
        ["lang", "wnid", "rank"], kind="stable", ignore_index=True
    )
    if choice == "agreed" and "instead_of" in ranked:
        # A more exact word stands just before the general one.
        words = pd.MultiIndex.from_tuples(cleaning.keys(ranked))
        place = pd.Series(ranked.index, words).groupby(level=[0, 1, 2]).min()
        general = pd.MultiIndex.from_frame(ranked[["lang", "wnid", "instead_of"]])
        ranked["rank"] = np.fmin(ranked.index, place.reindex(general).to_numpy() - 0.5)
        ranked = ranked.sort_values("rank", kind="stable", ignore_index=True)
    return ranked.drop(columns="rank")


def choose_first(ranked: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each language and class of ranked senses: the label, with what
    else the sources say.

    Columns as in the schema `labels`: `alternatives` are the other words, in the order
    of the ranking; `confirmed_by` the other sources that list the label. `ambiguous` is
    False: clashes are `settle_clashes`' matter.
    """
    words: dict[
        tuple[str, str], dict[str, str]
    ] = {}  # of a class, each word as it is first spelt
    sources: dict[tuple[str, str, str], dict[str, None]] = {}
    keys = cleaning.keys(ranked)
    for key, lemma, source in zip(
        keys, ranked["lemma"].tolist(), ranked["source"].tolist(), strict=True
    ):
        words.setdefault(key[:2], {}).setdefault(key[2], lemma)
        sources.setdefault(key, {})[source] = None
    chosen = ranked.assign(key=keys).drop_duplicates(
        ["lang", "wnid"], ignore_index=True
    )
    # The first word is the label, and its first source that of the row.
    chosen["alternatives"] = [
        list(words[key[:2]].values())[1:] for key in chosen["key"]
    ]
    chosen["confirmed_by"] = [list(sources[key])[1:] for key in chosen["key"]]
    chosen = chosen.rename(columns={"lemma": "label"}).assign(ambiguous=False)
    return chosen[list(tables.SCHEMAS["labels"][0])]


def settle_clashes(
    chosen: pd.DataFrame, ranked: pd.DataFrame, clashes: str = "leave out"
) -> pd.DataFrame:
    """Return the label set without one word that stands for two classes of a language.

    Of the classes that share a label, one keeps it and each other takes its best
    alternative that no other class of the language has among its words. A class without
    such an alternative keeps the label; where none needs to, the one for which most
    sources list it does (then the first by wnid). Where more than one class still has
    the shared word, these are ambiguous: `clashes` says whether they are left out
    ("leave out") or kept with `ambiguous` true ("mark"). "keep" gives no alternatives
    and only marks. German "Maus": the computer's takes "Computermaus", the animal keeps
    "Maus". `chosen` and `ranked` are what `choose_first` and `rank` return.
    """
    settled = chosen
    if clashes != "keep":
        settled = _with_other_labels(chosen, ranked, _new_labels(chosen, ranked))
    settled = settled.assign(ambiguous=shared_labels(settled))
    if clashes == "leave out":
        settled = settled[~settled["ambiguous"]].reset_index(drop=True)
    return settled


def _pairs(table: pd.DataFrame) -> list[tuple[str, str]]:
    """Return language and class of each row."""
    return list(zip(table["lang"].tolist(), table["wnid"].tolist(), strict=True))


def _new_labels(
    chosen: pd.DataFrame, ranked: pd.DataFrame
) -> dict[tuple[str, str], str]:
    """Return the classes that give up a shared label: language and class -> the word
    (`same`) that they take instead.
    """
    clash = chosen[shared_labels(chosen)]
    clash = clash.assign(
        word=clash["label"].map(same), listed=clash["confirmed_by"].map(len)
    )
    # The best word of each class that no other class of the language has.
    words = ranked[ranked["lang"].isin(clash["lang"])]
    words = words.assign(word=words["lemma"].map(same))
    n_classes = words.groupby(["lang", "word"])["wnid"].transform("nunique")
    best = words[n_classes == 1].drop_duplicates(["lang", "wnid"])
    other_label = best.set_index(["lang", "wnid"])["lemma"].to_dict()
    clash["bound"] = [pair not in other_label for pair in _pairs(clash)]
    order = clash.sort_values(
        ["bound", "listed", "wnid"], ascending=[False, False, True], kind="stable"
    )
    keeps = order["bound"] | ~order.duplicated(["lang", "word"])
    return {pair: same(other_label[pair]) for pair in _pairs(order[~keeps])}


def _with_other_labels(
    chosen: pd.DataFrame,
    ranked: pd.DataFrame,
    new_labels: dict[tuple[str, str], str],
) -> pd.DataFrame:
    """Return a label set in which some classes have another of their ranked words."""
    moving = ranked[[pair in new_labels for pair in _pairs(ranked)]]
    # The new label goes to the front.
    later = [new_labels[key[:2]] != key[2] for key in cleaning.keys(moving)]
    moving = moving.assign(later=later).sort_values(
        ["lang", "wnid", "later"], kind="stable", ignore_index=True
    )
    moved = choose_first(moving.drop(columns="later"))
    staying = chosen[[pair not in new_labels for pair in _pairs(chosen)]]
    settled = pd.concat([staying, moved], ignore_index=True)
    return settled.sort_values(["lang", "wnid"], ignore_index=True)


def shared_labels(table: pd.DataFrame) -> pd.Series:
    """Return which labels another class of the same language has too."""
    return table.assign(word=table["label"].map(same)).duplicated(
        ["lang", "word"], keep=False
    )


def label_set(
    senses: pd.DataFrame,
    wnids: list[str],
    codes: Iterable[str] = (),
    choice: str = "agreed",
    clashes: str = "leave out",
    **options,
) -> pd.DataFrame:
    """Return the label set of the classes `wnids` in the languages `codes` (empty: all
    of `senses`), schema `labels`.

    `choice` and `clashes` are as in `rank` and `settle_clashes`, the other options as
    in `candidates`. Rows are in the order of language and of `wnids`. Raises InputError
    for a language of which no class is left.
    """
    left = candidates(senses, wnids, **options)
    if wanted := languages.among(
        codes, left["lang"], "What the sources say of the classes"
    ):
        left = left[left["lang"].isin(wanted)]
    ranked = rank(left, choice)
    chosen = settle_clashes(choose_first(ranked), ranked, clashes)
    order = chosen["wnid"].map({wnid: number for number, wnid in enumerate(wnids)})
    chosen = (
        chosen.assign(order=order)
        .sort_values(["lang", "order"], ignore_index=True)
        .drop(columns="order")
    )
    return check_label_set(chosen, wnids)


def candidates(
    senses: pd.DataFrame,
    wnids: list[str],
    english: str = "class",
    rules: Iterable[str] = tuple(cleaning.STEPS),
    without: Iterable[str] = RESTRICTED,
    english_names: str = "clip",
) -> pd.DataFrame:
    """Return the words that may become labels of the classes, cleaned, no English ones.

    `rules` names the cleaning steps (`cleaning.STEPS`), `without` sources to leave out;
    `english` and `english_names` are as in `drop_english` and `add_clip_names`. Raises
    InputError for an unknown rule or source, and a class without an English word among
    the senses.
    """
    if absent := sorted(set(without).difference(RESTRICTED, senses["source"])):
        raise InputError(
            f"There is no source to leave out {absent[0]!r}:"
            f" {near(absent[0], set(senses['source']))}"
        )
    senses = senses[senses["wnid"].isin(wnids) & ~senses["source"].isin(list(without))]
    if nameless := sorted(set(wnids) - set(senses["wnid"][senses["lang"] == ENGLISH])):
        what = (
            f"{len(nameless)} class(es) have no English word among the senses, the"
            f" first: {nameless[0]}"
        )
        raise InputError(
            f"{what}; check the wnid, or add its English word to your own words."
        )
    return drop_english(
        add_clip_names(cleaning.clean(senses, rules), wnids, english_names), english
    )


def counts(labels: pd.DataFrame) -> pd.DataFrame:
    """Return the number of classes of each language, most first: columns `lang`,
    `n_classes`, `group` (the paper's).
    """
    sizes = labels.groupby("lang", as_index=False).agg(n_classes=("wnid", "nunique"))
    sizes["group"] = [
        languages.group_by_classes(n) if n <= 1000 else "" for n in sizes["n_classes"]
    ]
    return sizes.sort_values(
        ["n_classes", "lang"], ascending=[False, True], ignore_index=True
    )


def check_label_set(
    labels: pd.DataFrame, wnids: list[str] | None = None
) -> pd.DataFrame:
    """Return the label set as it is; raise InputError, naming language and class, where
    it cannot be used.

    A language may lack classes, but has no empty label; where `wnids` is given, all
    classes are among them.
    """
    if labels.empty:
        raise InputError("The label set has no row: give one with labels.")
    for code in labels["lang"].unique():
        if languages.canonical(code) != code:
            raise InputError(
                f"The label set calls a language {code!r}: use the code"
                f" {languages.canonical(code)!r}."
            )
    problems = {
        "has no label (an empty one stands there)": (
            labels["label"].fillna("").str.strip() == ""
        ),
        "has more than one row": labels.duplicated(["lang", "wnid"]),
        "is not in the class list": (
            ~labels["wnid"].isin(labels["wnid"] if wnids is None else wnids)
        ),
    }
    for problem, where in problems.items():
        if where.any():
            row = labels[where].iloc[0]
            where = (
                f"class {row['wnid']} in {languages.name(row['lang'])} ({row['lang']})"
            )
            raise InputError(
                f"In the label set, {where} {problem}: correct or delete the row."
            )
    return labels


def select(
    labels: pd.DataFrame, codes: Iterable[str] = (), minimum_classes: int = 1
) -> pd.DataFrame:
    """Return the rows of a label set in the languages `codes`, or, where there are
    none, in all with enough classes.

    Raises InputError for a language that the label set lacks, and where no language has
    enough classes.
    """
    sizes = labels["lang"].value_counts()
    wanted = languages.among(codes, sizes.index, "The label set")
    kept = wanted or sizes.index[sizes >= minimum_classes].tolist()
    if not kept:
        raise InputError(
            f"No language has {minimum_classes} classes or items, {sizes.max()} at"
            " most: ask for fewer."
        )
    return labels[labels["lang"].isin(kept)].reset_index(drop=True)


def licence_note(labels: pd.DataFrame, senses: pd.DataFrame, notices: str) -> str:
    """Return the licence file of a label set made from `senses`: each source with its
    notice, as Markdown.

    `notices`: the texts that some licences ask to be kept, word for word.
    """
    words = [
        [label, *others]
        for label, others in zip(labels["label"], labels["alternatives"], strict=True)
    ]
    used = set(cleaning.keys(labels.assign(lemma=words).explode("lemma")))
    free = cleaning.clean(senses[~senses["source"].isin(RESTRICTED)])
    listed = add_clip_names(free, labels["wnid"])
    listed = listed[[key in used for key in cleaning.keys(listed)]]
    n_words = listed["source"].value_counts()
    n_labels = labels["source"].value_counts()
    sources = wordnets.sources()
    lines = [
        f"| `{source}` | {row['name']} | {row['authors']} | {n_labels.get(source, 0):,}"
        f" | {n_words[source]:,} | {row['licence']} | {row['version']}, {row['url']} |"
        for source, row in sources.iterrows()
        if source in n_words
    ]
    left_out = [
        f"{row['name']} ({row['licence']})"
        for _, row in sources.loc[list(RESTRICTED)].iterrows()
    ]
    template = (DATA / "labels_licence_template.md").read_text(encoding="utf-8")
    return template.format(
        n_labels=len(labels),
        n_languages=labels["lang"].nunique(),
        table="\n".join(lines),
        out="; ".join(left_out),
        notices=notices.rstrip(),
    )
