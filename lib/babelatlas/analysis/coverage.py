"""Which languages a label set reaches, by family and by the text that there is of them,
and what WordNet says of its classes.

The questions are those of Geigle et al. (2024): classes for each language (their Table
5), and classes against the tokens that a language model has read (their Fig. 4).
`babelatlas ship coverage` makes what ships again.
"""

import itertools
from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd

from babelatlas.base import languages, published
from babelatlas.base.paths import DATA
from babelatlas.lexicon import wordnets
from babelatlas.stats import correlation

ENGLISH = "en"
DOG = "n02084071"
# The tables of tokens, see `tokens`.
TOKENS = ("as printed", "corrected")


@cache
def synsets() -> pd.DataFrame:
    """Return facts about the classes that ship, the columns of `synset_facts`: one
    table for all callers, unchanged.
    """
    return pd.read_csv(DATA / "synsets.csv")


def synset_facts(wnids: Sequence[str]) -> pd.DataFrame:
    """Return what WordNet 3.0 says about noun synsets: columns wnid, depth, lexname,
    n_hyponyms, dog, gloss, lemmas.

    `depth` is the number of steps on the shortest path up to "entity" (NLTK's
    min_depth), which Liu et al. (2021) use; `lexname` the lexicographer file
    ("noun.animal"); `n_hyponyms` the number of synsets directly below (0 for a leaf);
    `dog` whether the synset lies below "dog"; `gloss` its definition, `lemmas` its
    English words.
    """
    dog = int(DOG.removeprefix("n"))
    columns = ["wnid", "depth", "lexname", "n_hyponyms", "dog", "gloss", "lemmas"]
    rows = []
    for wnid, synset in zip(wnids, wordnets.synsets(list(wnids)), strict=True):
        below = synset.hyponyms() + synset.instance_hyponyms()
        above = {general.offset() for general in synset.closure(_hypernyms)}
        words = "; ".join(synset.lemma_names()).replace("_", " ")
        rows.append(
            (
                wnid,
                synset.min_depth(),
                synset.lexname(),
                len(below),
                dog in above,
                synset.definition(),
                words,
            )
        )
    return pd.DataFrame(rows, columns=columns)


def _hypernyms(synset) -> list:
    """Return the synsets of NLTK that are directly above one."""
    return synset.hypernyms() + synset.instance_hypernyms()


@cache
def babel_imagenet() -> pd.DataFrame:
    """Return the number of classes of each of the 298 languages that Babel-ImageNet
    has: columns lang, n_classes.
    """
    return pd.read_csv(
        DATA / "coverage_babel_imagenet.csv", dtype={"lang": str}, keep_default_na=False
    )


def count_classes(table: pd.DataFrame) -> pd.DataFrame:
    """Return the number of classes of each language in a table (lang, wnid): columns
    lang, n_classes.
    """
    n_classes = table.groupby("lang")["wnid"].nunique()
    return n_classes.rename("n_classes").reset_index()


def at_least(counts: pd.DataFrame) -> pd.DataFrame:
    """Return how many languages of `counts` have at least n_classes, for each that
    occurs: n_classes, n_languages.
    """
    with_classes = counts.loc[counts["n_classes"] > 0, "n_classes"]
    n_languages = with_classes.value_counts().sort_index(ascending=False).cumsum()
    table = n_languages.sort_index().rename("n_languages")
    return table.rename_axis("n_classes").reset_index()


def world_counts(counts: pd.DataFrame) -> pd.DataFrame:
    """Return the world's spoken languages with the number of classes of each, 0 for
    most: `languages.world`, n_classes.

    `counts`: lang, n_classes. What Glottolog counts as one language (Croatian and
    Serbian, Chinese in two scripts) has the number of its variety with the most
    classes.
    """
    glottocodes = languages.table().set_index("code")["glottocode"]
    glottocode = counts["lang"].map(glottocodes)
    most = counts["n_classes"].groupby(glottocode).max()
    world = languages.world()
    n_classes = world["glottocode"].map(most).fillna(0).astype(int)
    return world.assign(n_classes=n_classes)


def reached(
    counts: pd.DataFrame, by: str = "family", minimum: int = 10
) -> pd.DataFrame:
    """Return how many of the world's languages have at least `minimum` classes, by
    "family" or "macroarea".

    `counts`: lang, n_classes. Columns: the one named by `by`, n_world (languages),
    n_named (with a class at all), n_reached, share (n_reached of n_world), most
    (classes of the language with the most), in the order of n_world, most first. By
    family, what has no family (pidgins, unclassified languages) is left out. English
    counts with 1,000.

    >>> reached(pd.DataFrame({"lang": ["de", "nl"], "n_classes": [700, 9]})).n_reached.sum().item()
    1
    """
    world = world_counts(counts)
    if by == "family":
        world = world[~world["family"].isin(languages.NOT_FAMILIES)]
    world = world.assign(
        is_named=world["n_classes"] > 0, is_reached=world["n_classes"] >= minimum
    )
    table = world.groupby(by, as_index=False).agg(
        n_world=("glottocode", "size"),
        n_named=("is_named", "sum"),
        n_reached=("is_reached", "sum"),
        most=("n_classes", "max"),
    )
    table.insert(4, "share", table["n_reached"] / table["n_world"])
    return table.sort_values(
        ["n_world", by], ascending=[False, True], ignore_index=True
    )


def tokens(variant: str = "corrected") -> pd.DataFrame:
    """Return the tokens (millions) of each language in the corpus that XLM-R was
    trained on: columns lang, tokens.

    `variant`: "as printed" by Conneau et al. (2020, Table 6), or "corrected", with the
    numbers of Swedish and Ukrainian that the authors gave later. Where a language has
    two rows (Chinese, Burmese) they are added up, as in Table 4 of Geigle et al.
    (2024); `zh-Hant` has no row of its own. Text of South Asian languages in Latin
    letters is left out, as there.
    """
    table = published.read("conneau2020").query("metric == 'tokens (millions)'")
    rows = table[table["variant"].isin([variant, f"{variant}, second row"])]
    rows = rows.assign(lang=rows["lang"].replace({"zh-Hant": "zh"}))
    return rows.groupby("lang")["value"].sum().rename("tokens").reset_index()


def with_tokens(
    counts: pd.DataFrame, variant: str = "corrected", english: bool = False
) -> pd.DataFrame:
    """Return the languages that have both classes and XLM-R tokens: lang, n_classes,
    tokens, log_classes, log_tokens.

    `counts`: lang, n_classes. The logarithms have base 10. `english` keeps English.
    """
    both = counts[["lang", "n_classes"]].merge(
        tokens(variant), on="lang", validate="one_to_one"
    )
    both = both[both["n_classes"] > 0]
    if not english:
        both = both[both["lang"] != ENGLISH]
    both = both.reset_index(drop=True)
    return both.assign(
        log_classes=np.log10(both["n_classes"]), log_tokens=np.log10(both["tokens"])
    )


def token_correlation(
    counts: dict[str, pd.DataFrame], n_resamples: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Return the correlation of classes with XLM-R tokens by count, by token table,
    with English and without.

    `counts`: name -> table with lang, n_classes. Columns: series (the name), tokens
    ("as printed", "corrected"), english (flag), method ("spearman", of ranks;
    "pearson", of the logarithms), value, ci_low, ci_high (bootstrap over languages), n.
    """
    parts = []
    for name, variant, english in itertools.product(counts, TOKENS, (True, False)):
        found = correlation.correlate(
            with_tokens(counts[name], variant, english),
            "log_tokens",
            "log_classes",
            methods=["spearman", "pearson"],
            n_resamples=n_resamples,
            seed=seed,
        )
        parts.append(found.assign(series=name, tokens=variant, english=english))
    key = ["series", "tokens", "english", "method"]
    table = pd.concat(parts, ignore_index=True)
    return table[[*key, "value", "ci_low", "ci_high", "n"]]
