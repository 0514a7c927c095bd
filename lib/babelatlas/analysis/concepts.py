"""In how many Wikipedias, language families and macroareas does somebody write about
each concept of an image set?

The questions are those of Liu et al. (2021, MaRVL), section 2.2 and Figures 2 and 5.
The lists of Wikipedias are theirs, for the classes of ImageNet-1k, the concepts of
NLVR2 and those selected for MaRVL. Families and macroareas are Glottolog's, or as in
the paper those of WALS.

A Wikipedia is an edition with a code of its own ("simple", "be-x-old"), as the paper
counts; a language is one of the study's. Titles are in Unicode's form NFC, as two forms
of one title do not match. The Wikipedia that was asked (English, but for MaRVL) does
not list itself and is added. A concept of NLVR2 is the class of ImageNet that has it
among its labels and is in the same Wikipedias.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd

from babelatlas.base import languages
from babelatlas.base.paths import DATA
from babelatlas.stats import bootstrap, proportions

TABLE = DATA / "wikipedias.csv"
WALS = DATA / "wals.csv"
# The everyday names: name, wnid, depth (steps up to "entity" in WordNet 3.0), lexname
# (its lexicographer file), n_classes (of ImageNet-1k, at or below).
EVERYDAY = DATA / "everyday_names.csv"
COLUMNS = [
    "collection",
    "concept",
    "lang",
    "page",
    "wnid",
    "everyday",
    "steps",
    "used",
    "wikipedias",
]
IMAGENET, NLVR2, MARVL = "ImageNet", "NLVR2", "MaRVL"
COUNTS = ("n_wikipedias", "n_languages", "n_families", "n_macroareas")


@cache
def shipped() -> pd.DataFrame:
    """Return the pages of the concepts of ImageNet, NLVR2 and MaRVL, columns `COLUMNS`.
    Do not change the table.

    collection, concept (the two are the key), lang (of the annotators, "" where it is
    no matter), page (concepts with one page are no two cases), wnid, everyday and steps
    (the nearest everyday name at or above in WordNet, and how far), used (in an
    example), wikipedias (their codes, separated by spaces; none where no page was
    found).
    """
    table = pd.read_csv(TABLE, dtype=str, keep_default_na=False)
    steps = pd.to_numeric(table["steps"].replace("", None)).astype("Int64")
    return table.assign(used=table["used"] == "True", steps=steps)[COLUMNS]


@cache
def wals() -> pd.DataFrame:
    """Return where WALS and Figure 2 place the languages of Wikipedias: source, code,
    family, macroarea.

    "wals": the rows of their Glottocode, else of ISO 639-3. "figure 2", as the authors'
    notebook looks them up: the last row of ISO 639-3, else the row that WALS calls by
    these letters, whatever its language. Do not change it.
    """
    return pd.read_csv(WALS, keep_default_na=False)


def _pages(table: pd.DataFrame, source: str) -> pd.DataFrame:
    """Return a row for each concept and Wikipedia, by the concept's row in the table:
    code, lang, family, macroarea.

    NaN where the study has no such language, or where it belongs to no family
    (Esperanto). `source`: "glottolog"; "wals", as the paper says, which lacks some
    languages; or "figure 2", as its figure was drawn, which mistakes some for others
    (`wals`).
    """
    codes = table["wikipedias"].reset_index(drop=True).str.split().explode().dropna()
    pages = codes.rename("code").rename_axis("row").to_frame()
    return pages.join(_places(sorted(set(codes)), source), on="code")


def _places(codes: Sequence[str], source: str) -> pd.DataFrame:
    """Return lang, family and macroarea of Wikipedias, by their codes; NaN for none."""
    places = pd.DataFrame(index=pd.Index(codes, name="code"))
    places["lang"] = list(map(languages.of_wikimedia, codes))
    columns = ["family", "macroarea"]
    if source == "glottolog":
        table = languages.table().set_index("code")[columns]
        table = table.mask(table.isin(languages.NOT_FAMILIES))
        places = places.join(table, on="lang")
    else:
        table = wals()
        places = places.join(
            table[table["source"] == source].set_index("code")[columns]
        )
    return places.replace("", np.nan)


def count(table: pd.DataFrame, source: str = "glottolog") -> pd.DataFrame:
    """Return a table of pages with `COUNTS`: how many Wikipedias have each concept, and
    where their languages belong.

    Families and macroareas are those of `source`, as in `_pages`; a language without
    either counts as one only.

    >>> page = {"wikipedias": ["de en eo", ""]}
    >>> count(pd.DataFrame(page))[list(COUNTS)].to_numpy().tolist()
    [[3, 3, 1, 1], [0, 0, 0, 0]]
    """
    columns = ["code", "lang", "family", "macroarea"]
    numbers = _pages(table, source).groupby("row")[columns].nunique()
    numbers = numbers.reindex(range(len(table)), fill_value=0)
    numbers = numbers.set_axis(list(COUNTS), axis=1)
    return pd.concat([table.reset_index(drop=True), numbers], axis=1)


def as_counted(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of pages with English among the Wikipedias of every concept, as
    the paper's notebook counts.
    """
    with_english = [
        " ".join(sorted({*codes.split(), "en"})) for codes in table["wikipedias"]
    ]
    return table.assign(wikipedias=with_english)


# Measures
# ----------------------------------------------------------------------------------


def _shares(
    hits: pd.DataFrame, pages: pd.Series, n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return the share of concepts in each column of `hits` (true or false): value,
    ci_low, ci_high, n.
    """
    by_page = hits.astype(float).groupby(pages.to_numpy(), sort=False)
    correct = by_page.sum().to_numpy()
    total = by_page.size().to_numpy(float)
    n_pages = len(total)
    weights = bootstrap.resample_weights(n_pages, n_resamples, seed)
    shares = (weights @ correct) / (weights @ total)[:, None]
    ends = bootstrap.percentile_interval(shares, n_clusters=n_pages)
    totals = np.tile(total[:, None], correct.shape[1])
    low, high = proportions.share_interval(correct, totals, ends)
    return pd.DataFrame(
        {
            "value": hits.mean().to_numpy(),
            "ci_low": low,
            "ci_high": high,
            "n": len(hits),
        },
        index=hits.columns,
    )


def at_least(
    counts: pd.DataFrame,
    column: str = "n_wikipedias",
    n_resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the share of concepts with at least so many: collection, at_least, value,
    ci_low, ci_high, n.

    `counts` as `count` gives them; the numbers of column `column`, from 0 to the most.
    Intervals draw pages.
    """
    limits = np.arange(counts[column].max() + 1)
    parts = []
    for name, part in counts.groupby("collection", sort=False):
        is_reached = part[column].to_numpy()[:, None] >= limits
        hits = pd.DataFrame(is_reached, columns=limits)
        shares = _shares(hits, part["page"], n_resamples, seed)
        shares = shares.rename_axis("at_least").reset_index()
        parts.append(shares.assign(collection=name))
    return pd.concat(parts, ignore_index=True)


def by_place(
    table: pd.DataFrame,
    by: str = "macroarea",
    source: str = "glottolog",
    n_resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the share of concepts that a language of each family or macroarea writes
    about, in each collection.

    `by`: "family" or "macroarea". Columns: collection, `by`, value, ci_low, ci_high, n
    (concepts); all places that have a Wikipedia, those in which most concepts are
    first. Intervals draw pages.
    """
    pages = _pages(table, source)
    hits = pd.crosstab(pages.index, pages[by]) > 0
    hits = hits.reindex(range(len(table)), fill_value=False)
    order = hits.mean().sort_values(ascending=False, kind="stable").index
    hits = hits[order]
    collections = table["collection"].to_numpy()
    parts = []
    for name in dict.fromkeys(collections):
        rows = collections == name
        shares = _shares(hits[rows], table["page"][rows], n_resamples, seed)
        parts.append(shares.rename_axis(by).reset_index().assign(collection=name))
    return pd.concat(parts, ignore_index=True)
