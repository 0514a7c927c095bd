"""Words with two pictures: English lemmas that name two classes of a list, and the
languages that tell the two apart.

WordNet knows which words are ambiguous, and the wordnets of other languages what each
sense is called there; so every list of classes that are synsets holds a test like
CoMMuTE's (Futeral et al. 2023), a word long, for each language that has words for both
senses and does not use the same one. `babelatlas ship ambiguous-words` makes the
shipped counts.

A pair of classes that share a word is an *item*, called "word:wnid_a+wnid_b" with the
smaller wnid first: sense "a".
"""

import os
from collections.abc import Iterable, Sequence

import pandas as pd

from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA
from babelatlas.base.synsets import class_list
from babelatlas.datasets import registry as datasets
from babelatlas.lexicon import labels, senses, wordnets

PAIRS = DATA / "ambiguity_pairs.csv"
LANGUAGES = DATA / "ambiguity_languages.csv"
# The lists of classes that pairs are made from.
LISTS = list(
    dict.fromkeys(entry.pairs_of for entry in datasets.DATASETS if entry.pairs_of)
)
# Whose pictures a data set of pairs takes: its images are given as those are.
PICTURES_OF = {
    "imagenet-1k-pairs": "imagenet-1k",
    "imagenet-photos-pairs": "imagenet-photos",
}
DRAWN = "pictogram-senses"
WORDNET = "wordnet-3.0"
PERSON = "noun.person"
ENGLISH = "en"


def from_lexicons(senses_file: str | os.PathLike) -> pd.DataFrame:
    """Return a run's table of words, schema `senses`; without a row for "", and where it
    has no English word of WordNet.

    Only WordNet says which English words are ambiguous. A run on the labels that
    Babel-ImageNet released has none of it: `complete` takes the study's words then.
    """
    if not senses_file:
        return tables.empty("senses")
    words = tables.read(senses_file, "senses")
    of_wordnet = (words["lang"] == ENGLISH) & (words["source"] == WORDNET)
    return words if of_wordnet.any() else words[:0]


def complete(
    words: pd.DataFrame, wnids: Iterable[str], codes: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the senses of the classes, those that `words` lacks from the study's own
    or from NLTK's wordnets.

    `words` has the schema `senses`; a class with any row in it is not looked up.
    `codes` keeps only these languages, of all rows; empty keeps every one. What raises
    as in `wordnets.read_wordnets`.
    """
    wnids = list(dict.fromkeys(wnids))
    wanted = [languages.canonical(code) for code in codes]
    parts = [words[words["wnid"].isin(wnids)]]
    lacking = set(wnids) - set(words["wnid"])
    if lacking:
        shipped = senses.shipped()
        parts.append(shipped[shipped["wnid"].isin(lacking)])
        others = sorted(lacking - set(shipped["wnid"]))
        if others:
            parts.append(wordnets.read_wordnets(others, codes=wanted))
    whole = pd.concat(parts, ignore_index=True)
    if wanted:
        whole = whole[whole["lang"].isin(wanted)].reset_index(drop=True)
    return whole


def pairs(words: pd.DataFrame, wnids: Iterable[str]) -> pd.DataFrame:
    """Return the English words that name two of the classes: columns item, word,
    wnid_a, wnid_b; a row for each pair.

    `words` has the schema `senses`; its English rows of WordNet count (Wiktionary's
    were linked to it automatically). Upper case does not matter: `word` is folded
    (`labels.same`). A word of three senses makes three pairs. Rows are in the order of
    the classes; the words of one pair come as the two synsets list them, the one that
    stands first in both lists first. `wnid_a` < `wnid_b`.

    >>> rows = [("en", "n2", "crane"), ("en", "n1", "Crane"), ("en", "n1", "wader")]
    >>> rows += [("de", "n1", "Kranich")]
    >>> rows = pd.DataFrame(rows, columns=["lang", "wnid", "lemma"]).assign(source="wordnet-3.0")
    >>> pairs(rows, ["n1", "n2"]).values.tolist()
    [['crane:n1+n2', 'crane', 'n1', 'n2']]
    """
    wnids = list(dict.fromkeys(wnids))
    english = words[
        (words["lang"] == ENGLISH)
        & words["wnid"].isin(wnids)
        & (words["source"] == WORDNET)
    ]
    english = english.assign(
        word=english["lemma"].map(labels.same), order=english.groupby("wnid").cumcount()
    )
    named = english[["word", "wnid", "order"]].drop_duplicates(["word", "wnid"])
    both = named.merge(named, on="word", suffixes=("_a", "_b")).query("wnid_a < wnid_b")
    both["order"] = both["order_a"] + both["order_b"]
    both = both.sort_values(["wnid_a", "wnid_b", "order", "word"], ignore_index=True)
    both = both.astype({"word": "str"})
    both["item"] = both["word"] + ":" + both["wnid_a"] + "+" + both["wnid_b"]
    return both[["item", "word", "wnid_a", "wnid_b"]].astype("str")


def facts() -> pd.DataFrame:
    """Return the pairs that ship, of every one of `LISTS`: the columns of `pairs` and
    `relations`, and three more.

    `classes`: the lists that have both classes, with spaces between; `n_named`,
    `n_apart`: in how many languages, as `counts` says, 0 where the pair is not
    `usable`. Some words for persons are insults: where only lists of photographs have a
    pair with a class of persons, its word and item are "".
    """
    table = pd.read_csv(PAIRS, keep_default_na=False, dtype={"nested": bool})
    items = table["word"] + ":" + table["wnid_a"] + "+" + table["wnid_b"]
    table.insert(0, "item", items.where(table["word"] != "", ""))
    return table


def relations(pairs: pd.DataFrame, shipped: bool = True) -> pd.DataFrame:
    """Return the pairs with how the two classes stand to each other in WordNet: columns
    nested, lexname_a, lexname_b.

    `nested`: one class is a kind (or an instance) of the other, as with two senses of
    "printer": an image of the narrower class shows the wider one too, and decides
    nothing. `lexname_a`, `lexname_b`: the lexicographer files, such as "noun.animal".
    For pairs that ship they are looked up there (unless `shipped` is False), for others
    in WordNet; what raises as in `wordnets.read_wordnets`.
    """
    key, added = ["wnid_a", "wnid_b"], ["nested", "lexname_a", "lexname_b"]
    classes = pd.MultiIndex.from_frame(pairs[key])
    found = None
    if shipped:
        shipped_facts = facts().drop_duplicates(key).set_index(key)[added]
        if classes.isin(shipped_facts.index).all():
            found = shipped_facts.reindex(classes)
    if found is None:
        found = pd.DataFrame(_relations_in_wordnet(list(classes)), columns=added)
    found = found.reset_index(drop=True).astype(
        {"nested": bool, "lexname_a": "str", "lexname_b": "str"}
    )
    pairs = pairs.drop(columns=added, errors="ignore").reset_index(drop=True)
    return pd.concat([pairs, found], axis=1)


def _relations_in_wordnet(classes: list[tuple]) -> list[tuple[bool, str, str]]:
    """Return of each pair of classes whether one is a kind of the other, and their
    lexicographer files.
    """
    wnids = sorted({wnid for pair in classes for wnid in pair})
    synset = dict(zip(wnids, wordnets.synsets(wnids), strict=True))
    above = {}
    for wnid in wnids:
        wider = synset[wnid].closure(
            lambda kind: kind.hypernyms() + kind.instance_hypernyms()
        )
        above[wnid] = {f"n{kind.offset():08d}" for kind in wider}
    return [
        (
            first in above[second] or second in above[first],
            synset[first].lexname(),
            synset[second].lexname(),
        )
        for first, second in classes
    ]


def usable(pairs: pd.DataFrame, persons: bool = False) -> pd.DataFrame:
    """Return the pairs that an image can decide, each once; `pairs` as `relations`
    gives them.

    Gone are nested pairs; all but the first word of each two classes, since items with
    the same images and translations would count twice; and, unless `persons`, pairs
    with a class of persons ("noun.person"): ImageNet's own authors found most of these
    classes offensive, or not recognisable in an image (Yang et al. 2020).
    """
    kept = pairs[~pairs["nested"]].drop_duplicates(["wnid_a", "wnid_b"])
    if not persons:
        kept = kept[(kept["lexname_a"] != PERSON) & (kept["lexname_b"] != PERSON)]
    return kept.reset_index(drop=True)


def outcomes(words: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return what each language does with each pair: a row where it has words for both
    senses, English left out.

    Columns: lang, item, word, wnid_a, wnid_b, shared (the senses have a word in common
    there, as they have in English), a, b (the best word that only this sense has, ""
    where there is none), apart (both have one). Rows are in the order of the pairs,
    then of the language.

    The words, schema `senses`, are cleaned and ranked as those of label sets are. To be
    a sense's own, a word must not be among the words of the other sense, from whichever
    source, nor equal an English word of either; spaces, hyphens and upper case do not
    matter. What raises as in `labels.candidates`.
    """
    wnids = sorted({*pairs["wnid_a"], *pairs["wnid_b"]})
    columns = ["lang", "item", "word", "wnid_a", "wnid_b", "shared", "a", "b", "apart"]
    if not wnids:
        return pd.DataFrame(columns=columns).astype({"shared": bool, "apart": bool})
    listed = labels.candidates(words, wnids, english="keep", english_names="wordnet")
    words_of = _by_class(listed)
    best_of = _by_class(labels.rank(labels.drop_english(listed)))
    rows = []
    for pair in pairs.itertuples():
        wnid_a, wnid_b = pair.wnid_a, pair.wnid_b
        of_a, of_b = words_of[wnid_a], words_of[wnid_b]
        english = {*of_a.get(ENGLISH, ()), *of_b.get(ENGLISH, ())}
        for lang in sorted(of_a.keys() & of_b.keys() - {ENGLISH}):
            best_a = best_of.get(wnid_a, {}).get(lang, {})
            best_b = best_of.get(wnid_b, {}).get(lang, {})
            word_a = _first_free(best_a, {*of_b[lang], *english})
            word_b = _first_free(best_b, {*of_a[lang], *english})
            shared = bool(of_a[lang].keys() & of_b[lang].keys())
            chosen = (word_a, word_b, bool(word_a and word_b))
            rows.append((lang, pair.item, pair.word, wnid_a, wnid_b, shared, *chosen))
    return pd.DataFrame(rows, columns=columns).astype({"shared": bool, "apart": bool})


def _by_class(words: pd.DataFrame) -> dict[str, dict[str, dict[str, str]]]:
    """Return class -> language -> what spellings of a word share -> the word, in the
    order of the table.
    """
    by_class: dict[str, dict[str, dict[str, str]]] = {}
    columns = (words[name].tolist() for name in ("wnid", "lang", "lemma"))
    for wnid, lang, lemma in zip(*columns, strict=True):
        key = labels.same(lemma).replace(" ", "").replace("-", "")
        by_class.setdefault(wnid, {}).setdefault(lang, {}).setdefault(key, lemma)
    return by_class


def translations(
    compared: pd.DataFrame, codes: Iterable[str] = (), minimum_items: int = 1
) -> pd.DataFrame:
    """Return the items that are translated apart as a table `items`: two rows for each
    language and item.

    `compared` is what `outcomes` returns. `codes`: the languages to keep, empty for all
    that have at least `minimum_items` items. The source is the English word.
    """
    kept = labels.select(compared[compared["apart"]], codes, minimum_items)
    rows = kept.melt(
        ["lang", "item", "word"], ["a", "b"], var_name="sense", value_name="translation"
    )
    rows = rows.assign(source=rows["word"]).sort_values(
        ["lang", "item", "sense"], ignore_index=True
    )
    return tables.check(rows, "items")


def counts(compared: pd.DataFrame) -> pd.DataFrame:
    """Return for each language: n_named, n_shared, n_apart (numbers of pairs), and
    lang, most apart first.

    `compared` is what `outcomes` returns. `n_named`: both senses have a word;
    `n_shared`: they have one in common; `n_apart`: each has one of its own, so that the
    pair is an item of that language. A pair may be both of the latter.
    """
    sizes = compared.groupby("lang", as_index=False).agg(
        n_named=("apart", "size"), n_shared=("shared", "sum"), n_apart=("apart", "sum")
    )
    return sizes.sort_values(
        ["n_apart", "n_named", "lang"],
        ascending=[False, False, True],
        ignore_index=True,
    )


def _first_free(words: dict[str, str], taken: set[str]) -> str:
    """Return the first of ranked words, by what is compared of them, that is not taken;
    "" for none.
    """
    return next((word for key, word in words.items() if key not in taken), "")


def photographs(
    dataset: str, images: str | os.PathLike, wnids: Iterable[str], missing: int = 0
) -> pd.DataFrame:
    """Return the `images` table of the given classes of ImageNet, with absolute paths.

    `dataset`: one of `PICTURES_OF`, whose `images` are given as those of that data set
    (`datasets.load`), or "imagenet-21k-pairs", whose are a folder with one folder for
    each class.
    """
    if dataset in PICTURES_OF:
        return datasets.load(PICTURES_OF[dataset], images, wnids, missing)
    path = datasets.images_path(images, datasets.get_dataset(dataset))
    # Only these: the whole has millions of files.
    return datasets.class_folders(path, dataset, wnids)


def item_images_of(
    pairs: pd.DataFrame,
    images: pd.DataFrame,
    images_per_sense: int,
    missing: int = 0,
    dataset: str = "",
) -> pd.DataFrame:
    """Return a table `item_images` of the pairs: images a0, a1 ... of sense a, b0 ...
    of sense b, in the order of draw.

    An item of which a sense has fewer than `images_per_sense` images is left out;
    `attrs["left_out"]` lists these, `attrs["missing"]` is the number of images that
    their classes lack; InputError where that is more than `missing`.
    """
    wnids = sorted({*pairs["wnid_a"], *pairs["wnid_b"]})
    ordered = images[images["wnid"].isin(wnids)].sort_values(
        ["wnid", "number", "path"], kind="stable"
    )
    paths = {
        wnid: part["path"].tolist()[:images_per_sense]
        for wnid, part in ordered.groupby("wnid")
    }
    short = {}
    for wnid in wnids:
        n_lacking = images_per_sense - len(paths.get(wnid, []))
        if n_lacking:
            short[wnid] = n_lacking
    whole = ~pairs[["wnid_a", "wnid_b"]].isin(list(short)).any(axis=1)
    lacking = sum(short.values())
    if lacking > missing or not whole.any():
        what = f"{lacking} images of {len(short)} classes, the first {list(short)[:10]}"
        raise InputError(
            f"The data set {dataset!r} lacks {what}: lower images_per_sense, or allow"
            " so many missing."
        )
    rows = [
        (pair.item, f"{sense}{number}", path)
        for pair in pairs[whole].itertuples()
        for sense, wnid in (("a", pair.wnid_a), ("b", pair.wnid_b))
        for number, path in enumerate(paths[wnid])
    ]
    table = pd.DataFrame(rows, columns=["item", "image", "path"])
    table = tables.check(table, "item_images")
    table.attrs["left_out"] = pairs.loc[~whole, "item"].tolist()
    table.attrs["missing"] = lacking
    return table


def shipped_counts() -> pd.DataFrame:
    """Return the numbers of pairs of every language that ships, for each list: classes
    and the columns of `counts`.
    """
    return pd.read_csv(LANGUAGES, keep_default_na=False)


def survey() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the two tables that ship, from the wordnets that NLTK has: `facts` and
    `shipped_counts`.

    The first has every pair of each list; its counts of languages are 0 for pairs that
    are not `usable`. The second is of the usable pairs; persons are usable where they
    are drawn ("pictogram-senses"). What raises as in `wordnets.read_wordnets`. Takes
    about half a minute.
    """
    wnids = {name: class_list(name)["wnid"].tolist() for name in LISTS}
    english = wordnets.read_wordnets(
        sorted(set().union(*wnids.values())), codes=[ENGLISH]
    )
    of = {name: pairs(english, wnids[name]) for name in LISTS}
    both = (
        pd.concat(of.values())
        .drop_duplicates("item")
        .sort_values(["wnid_a", "wnid_b"], kind="stable")
    )
    both = relations(both, shipped=False)
    words = wordnets.read_wordnets(sorted({*both["wnid_a"], *both["wnid_b"]}))
    members = {name: set(of[name]["item"]) for name in LISTS}
    both["classes"] = [
        " ".join(name for name in LISTS if item in members[name])
        for item in both["item"]
    ]
    kept = {
        name: usable(both[both["item"].isin(members[name])], name == DRAWN)
        for name in LISTS
    }
    compared = outcomes(words, pd.concat(kept.values()).drop_duplicates("item"))
    sizes = (
        compared.groupby("item")["apart"]
        .agg(["size", "sum"])
        .reindex(both["item"])
        .fillna(0)
        .astype(int)
    )
    both["n_named"], both["n_apart"] = sizes["size"].to_numpy(), sizes["sum"].to_numpy()
    per_list = [
        counts(compared[compared["item"].isin(kept[name]["item"])]).assign(classes=name)
        for name in LISTS
    ]
    table = pd.concat(per_list, ignore_index=True)[
        ["classes", "lang", "n_named", "n_shared", "n_apart"]
    ]
    unsaid = (both[["lexname_a", "lexname_b"]] == PERSON).any(axis=1) & ~both[
        "classes"
    ].str.contains(DRAWN)
    both.loc[unsaid, ["item", "word"]] = ""
    return both.reset_index(drop=True), table
