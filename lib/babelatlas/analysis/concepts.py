"""In how many Wikipedias, language families and macroareas does somebody write about each concept of an image set?

The questions are those of Liu et al. (2021, MaRVL), section 2.2 and Figures 2 and 5. The lists of Wikipedias are
theirs, for the classes of ImageNet-1k, the concepts of NLVR2 and those selected for MaRVL; for any other list of
classes `lexicon.wikidata.read_sitelinks` gives a table with the same columns. Families and macroareas are Glottolog's,
or as in the paper those of WALS. `babelatlas ship concepts` makes what ships again.

A Wikipedia is an edition with a code of its own ("simple", "be-x-old"), as the paper counts; a language is one of the
study's. Titles are in Unicode's form NFC, as two forms of one title do not match.
"""

import json
import os
import unicodedata
import urllib.parse
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.base import languages, own_tables, synsets
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA
from babelatlas.lexicon import wikidata, wordnets
from babelatlas.stats import bootstrap

TABLE, WALS, EVERYDAY = DATA / "wikipedias.csv", DATA / "wals.csv", DATA / "everyday_names.csv"
COLUMNS = wikidata.PAGES
IMAGENET, NLVR2, MARVL = "ImageNet", "NLVR2", "MaRVL"
FILES = {IMAGENET: "synset2langs", NLVR2: "nlvr_synset2langs", MARVL: "marvl_synset2langs"}
COUNTS = ("n_wikipedias", "n_languages", "n_families", "n_macroareas")
# The concepts of the released lists that no example of MaRVL uses, by their language: read from the words, as the lists
# do not say it.
UNUSED = {
    "id": "Penebar_taburan",
    "sw": "Bata Miereka Mpira_wa_miguu Mpira_wa_mkono Mwaka_mpya Pasaka Sahani Sukumawiki Togwa Voliboli",
    "tr": "Alevilik Budizm Hristiyanlık Martı Minyatür Orak Oturma_odası Silgi Yahudilik Yağlıboya_resim Çapa_(tarım)",
}


# What ISO 639-3 calls these of the Wikipedias' codes, where the study's language has another code of three letters.
PLOTTED = {"nb": "nob", "qu": "que", "nah": ""}
SOURCES = ("glottolog", "wals", "figure 2")


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


# What ships ---------------------------------------------------------------------------------------------------------


def build(folder: str | os.PathLike) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return the three tables that ship: pages of concepts (`COLUMNS`), languages of WALS, and everyday names.

    `folder` has the released lists in released/marvl/concepts and MaRVL's annotations in mirror/marvl. Languages of
    WALS: source ("wals", "figure 2"), code (of a Wikipedia), family, macroarea. Everyday names: name, wnid, depth
    (steps up to "entity" in WordNet 3.0), lexname (its lexicographer file), n_classes (of ImageNet-1k, at or below).
    Raises InputError for a file that is absent or of another form.
    """
    place = Path(folder) / "released" / "marvl" / "concepts"
    lists = {name: _json(place / f"{file}.json") for name, file in FILES.items()}
    pages = pd.read_csv(place / "synset_to_en-wiki.csv", sep="\t", encoding="utf-8-sig")
    pages = pages[pages["concept"].isin(lists[IMAGENET])]  # its header stands a second time among the rows
    pages["page"] = [_nfc(urllib.parse.unquote(each.rpartition("/")[2])) for each in pages["en wiki"]]
    classes = synsets.class_list("imagenet-1k").drop_duplicates("name", keep=False).set_index("name")["wnid"]
    imagenet = pages[["concept", "page"]].sort_values("concept", ignore_index=True)
    imagenet["wnid"] = imagenet["concept"].map(classes).fillna("")
    # The Wikipedia that was asked does not list itself.
    imagenet["codes"] = [{*lists[IMAGENET][each], "en"} for each in imagenet["concept"]]
    nlvr2 = pd.DataFrame({"concept": sorted(lists[NLVR2])})
    nlvr2["codes"] = [{*lists[NLVR2][each], "en"} for each in nlvr2["concept"]]
    same = [_labelled(imagenet, row.concept, row.codes) for row in nlvr2.itertuples()]
    nlvr2[["page", "wnid"]] = [(row["page"], row["wnid"]) if len(row) else (f"NLVR2: {name}", "") for name, row in
                               zip(nlvr2["concept"], same, strict=True)]  # fmt: skip
    marvl = _marvl(lists[MARVL], Path(folder) / "mirror" / "marvl" / "data")
    names, above = _everyday(_json(place / "entry_level_to_wnid.json"), list(classes))
    parts = [part.assign(collection=name) for name, part in ((IMAGENET, imagenet), (NLVR2, nlvr2), (MARVL, marvl))]
    table = pd.concat(parts, ignore_index=True).fillna({"lang": "", "wnid": "", "used": True})
    table = table.join(above, on="wnid").fillna({"everyday": ""}).astype({"steps": "Int64", "used": bool})
    table["wikipedias"] = [" ".join(sorted(codes)) for codes in table["codes"]]
    return table[list(COLUMNS)], _wals(place / "languages.csv", set().union(*table["codes"])), names


def _json(path: Path) -> dict:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"The file {path} cannot be read ({error}): give a folder with `released` and `mirror`."
        ) from error


def _labelled(table: pd.DataFrame, word: str, codes: set[str]) -> dict | pd.Series:
    """Return the class of ImageNet that has a word among its labels and is in the same Wikipedias, {} where none is."""
    fits = [word in each.split(", ") for each in table["concept"]]
    found = table[np.array(fits) & np.array([each == codes for each in table["codes"]])]
    return found.iloc[0] if len(found) else {}


def _marvl(lists: dict[str, list[str]], folder: Path) -> pd.DataFrame:
    """Return the concepts of MaRVL: concept, page, lang (two for titles of two languages), used, codes."""
    home: dict[str, list[str]] = {}
    for file in sorted(folder.glob("*/annotations/marvl-*.jsonl")):
        lang = file.stem.partition("-")[2]
        for concept in pd.read_json(file, lines=True)["concept"].unique():
            home.setdefault(_nfc(concept.partition("-")[2].strip()), []).append(lang)
    if not home:
        raise InputError(f"There are no annotations of MaRVL in {folder}: give a folder with `released` and `mirror`.")
    unused = {_nfc(title): [lang] for lang, titles in UNUSED.items() for title in titles.split()}
    rows = []
    for title, codes in sorted((_nfc(title), set(codes)) for title, codes in lists.items()):
        langs = home.get(title) or unused.get(title)
        if not langs or (codes and not codes.issuperset(langs)):
            raise InputError(f"Nothing says of which language the concept {title!r} of MaRVL is: add it to UNUSED.")
        rows.append((title, title, " ".join(langs), title in home, codes))
    return pd.DataFrame(rows, columns=["concept", "page", "lang", "used", "codes"])


def _everyday(names: dict[str, str], wnids: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return everyday names with depth and kind, and by class the nearest name at or above it: everyday, steps."""
    table = pd.DataFrame({"name": list(names), "wnid": ["n" + key.split("-")[0].zfill(8) for key in names.values()]})
    facts = [(each.min_depth(), each.lexname()) for each in wordnets.synsets(table["wnid"])]
    table[["depth", "lexname"]] = pd.DataFrame(facts)
    first = table.drop_duplicates("wnid").set_index("wnid")["name"]
    rows, below = [], dict.fromkeys(table["wnid"], 0)
    for synset in wordnets.synsets(wnids):
        away: dict[str, int] = {}  # the nearest first; of two ways to a synset the shorter
        for steps, offset in sorted((steps, each.offset()) for each, steps in synset.hypernym_distances()):
            away.setdefault(f"n{offset:08}", steps)
        for wnid in below.keys() & away.keys():
            below[wnid] += 1
        rows.append(next(((first[wnid], steps) for wnid, steps in away.items() if wnid in below), ("", None)))
    above = pd.DataFrame(rows, index=pd.Index(wnids, name="wnid"), columns=["everyday", "steps"])
    return table.assign(n_classes=table["wnid"].map(below)), above


def _wals(path: Path, codes: set[str]) -> pd.DataFrame:
    """Return where WALS and Figure 2 place the languages of Wikipedias: source, code, family, macroarea.

    "wals": the rows of their Glottocode, else of ISO 639-3. "figure 2", as the authors' notebook looks them up: the
    last row of ISO 639-3, else the row that WALS calls by these letters, whatever its language.
    """
    rows, found = [], pd.read_csv(path, dtype=str, keep_default_na=False).rename(columns=str.lower)
    known = languages.table().set_index("code")[["glottocode", "iso639_3"]].to_dict("index")
    for code in sorted(codes):
        ours = known.get(wikidata.language(code), {"glottocode": "", "iso639_3": ""})
        exact = found[(found["glottocode"] == ours["glottocode"]) & (ours["glottocode"] != "")]
        exact = exact if len(exact) else found[(found["iso639p3code"] == ours["iso639_3"]) & (ours["iso639_3"] != "")]
        if len(exact):  # dialects have rows of their own, a few of them without a family
            facts = exact[["family", "macroarea"]].replace("", np.nan).mode().fillna("").iloc[0]
            rows.append(("wals", code, *facts))
        letters = PLOTTED.get(code, ours["iso639_3"] if len(code) == 2 else code)
        last = found[(found["iso639p3code"] == letters) & (letters != "")]
        last = last if len(last) else found[found["id"] == letters]
        rows += [("figure 2", code, *row) for row in last[["family", "macroarea"]].tail(1).to_numpy()]
    return pd.DataFrame(rows, columns=["source", "code", "family", "macroarea"])


# Tables -------------------------------------------------------------------------------------------------------------


@cache
def shipped() -> pd.DataFrame:
    """Return the pages of the concepts of ImageNet, NLVR2 and MaRVL, columns `COLUMNS`. Do not change the table."""
    return read(TABLE)


@cache
def everyday_names() -> pd.DataFrame:
    """Return the everyday names that ship: name, wnid, depth, lexname, n_classes (`build`). Do not change the table."""
    return pd.read_csv(EVERYDAY)


@cache
def wals() -> pd.DataFrame:
    """Return the languages of WALS that ship: source, code, family, macroarea (`build`). Do not change the table."""
    return pd.read_csv(WALS, keep_default_na=False)


def read(path: str | os.PathLike) -> pd.DataFrame:
    """Return a table of pages, columns `COLUMNS`; raise InputError for a file that is no such table.

    collection, concept (the two are the key), lang (of the annotators, "" where it is no matter), page (concepts with
    one page are no two cases), wnid, everyday and steps (the nearest everyday name at or above in WordNet, and how
    far), used (in an example), wikipedias (their codes, separated by spaces; none where no page was found).
    """
    table = own_tables.read(path, "pages of concepts", COLUMNS)
    double = table.duplicated(["collection", "concept"])
    if double.any():
        first = table[double].iloc[0]
        raise InputError(
            f"The pages of concepts {path} have {first['concept']!r} of {first['collection']!r} twice: keep one row."
        )
    table["used"] = own_tables.numbers(table, "used", bool, path)
    table["steps"] = pd.array(own_tables.numbers(table, "steps", float, path), "Int64")
    return table[list(COLUMNS)]


def _pages(table: pd.DataFrame, source: str) -> pd.DataFrame:
    """Return a row for each concept and Wikipedia, by the concept's row in the table: code, lang, family, macroarea.

    NaN where the study has no such language, or where it belongs to no family (Esperanto). `source`: "glottolog";
    "wals", as the paper says, which lacks some languages; or "figure 2", as its figure was drawn, which mistakes some
    for others (`build`). Raises InputError for another one.
    """
    if source not in SOURCES:
        raise InputError(f"Families of languages are those of {', '.join(SOURCES)}, got {source!r}.")
    codes = table["wikipedias"].reset_index(drop=True).str.split().explode().dropna().rename("code")
    home = pd.DataFrame(index=pd.Index(sorted(set(codes)), name="code"))
    home["lang"] = list(map(wikidata.language, home.index))
    if source != "glottolog":
        home = home.join(wals().query("source == @source").set_index("code")[["family", "macroarea"]])
    else:
        known = languages.table().set_index("code")[["family", "macroarea"]]
        home = home.join(known.mask(known.isin(languages.NOT_FAMILIES)), on="lang")
    return codes.rename_axis("row").to_frame().join(home.replace("", np.nan), on="code")


def count(table: pd.DataFrame, source: str = "glottolog") -> pd.DataFrame:
    """Return a table of pages with `COUNTS`: how many Wikipedias have each concept, and where their languages belong.

    Families and macroareas are those of `source`, one of `SOURCES`; a language without either counts as one only.

    >>> page = {"wikipedias": ["de en eo", ""]}
    >>> count(pd.DataFrame(page))[list(COUNTS)].to_numpy().tolist()
    [[3, 3, 1, 1], [0, 0, 0, 0]]
    """
    found = _pages(table, source).groupby("row")[["code", "lang", "family", "macroarea"]].nunique()
    found = found.reindex(range(len(table)), fill_value=0).set_axis(list(COUNTS), axis=1)
    return pd.concat([table.reset_index(drop=True), found], axis=1)


def as_counted(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of pages with English among the Wikipedias of every concept, as the paper's notebook counts."""
    return table.assign(wikipedias=[" ".join(sorted({*each.split(), "en"})) for each in table["wikipedias"]])


# Measures -----------------------------------------------------------------------------------------------------------


def _shares(hits: pd.DataFrame, pages: pd.Series, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return the share of concepts in each column of `hits` (true or false): value, ci_low, ci_high, n."""
    grouped = hits.astype(float).groupby(pages.to_numpy(), sort=False)
    correct, total = grouped.sum().to_numpy(), grouped.size().to_numpy(float)
    drawn = bootstrap.resample_weights(len(total), n_resamples, seed)
    ends = bootstrap.percentile_interval((drawn @ correct) / (drawn @ total)[:, None], n_clusters=len(total))
    low, high = bootstrap.share_interval(correct, np.tile(total[:, None], correct.shape[1]), ends)
    facts = {"value": hits.mean().to_numpy(), "ci_low": low, "ci_high": high, "n": len(hits)}
    return pd.DataFrame(facts, index=hits.columns)


def at_least(
    counts: pd.DataFrame, column: str = "n_wikipedias", n_resamples: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Return the share of concepts with at least so many: collection, at_least, value, ci_low, ci_high, n.

    `counts` as `count` gives them; the numbers of column `column`, from 0 to the most. Intervals draw pages.
    """
    limits, parts = np.arange(counts[column].max() + 1), []
    for name, part in counts.groupby("collection", sort=False):
        hits = pd.DataFrame(part[column].to_numpy()[:, None] >= limits, columns=limits)
        found = _shares(hits, part["page"], n_resamples, seed).rename_axis("at_least").reset_index()
        parts.append(found.assign(collection=name))
    return pd.concat(parts, ignore_index=True)


def by_place(
    table: pd.DataFrame, by: str = "macroarea", source: str = "glottolog", n_resamples: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Return the share of concepts that a language of each family or macroarea writes about, in each collection.

    `by`: "family" or "macroarea". Columns: collection, `by`, value, ci_low, ci_high, n (concepts); all places that have
    a Wikipedia, those in which most concepts are first. Intervals draw pages.
    """
    places, parts = _pages(table, source), []
    hits = pd.crosstab(places.index, places[by]) > 0
    hits = hits.reindex(range(len(table)), fill_value=False)
    hits = hits[hits.mean().sort_values(ascending=False, kind="stable").index]
    names = table["collection"].to_numpy()
    for name in dict.fromkeys(names):
        part = _shares(hits[names == name], table["page"][names == name], n_resamples, seed)
        parts.append(part.rename_axis(by).reset_index().assign(collection=name))
    return pd.concat(parts, ignore_index=True)


def summary(counts: pd.DataFrame, limit: int = 30, n_resamples: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Return means of `COUNTS` and the share of concepts in `limit` Wikipedias or fewer: collection, measure, value,
    ci_low, ci_high, n (concepts); intervals draw pages. `counts`: as `count` gives them."""
    table, parts = counts.assign(few=counts["n_wikipedias"] <= limit), []
    for measure in (*COUNTS, "few"):
        options = {"n_resamples": n_resamples, "seed": seed, "shares": measure == "few"}
        found = bootstrap.group_means(table.astype({measure: float}), ["collection"], measure, "page", **options)
        parts.append(found.assign(measure=measure))
    return pd.concat(parts, ignore_index=True)


def difference(
    counts: pd.DataFrame, first: str, second: str, column: str = "n_wikipedias", n_resamples: int = 2000, seed: int = 0
) -> tuple[float, float, float]:
    """Return by how much the mean of `column` in one collection exceeds that in another: value, ci_low, ci_high.

    For collections without a concept in common (NLVR2's are among ImageNet's). Intervals draw concepts.
    """
    samples = [counts.loc[counts["collection"] == name, column].to_numpy(float) for name in (first, second)]
    return bootstrap.sum_of_means(samples, [1, -1], n_resamples, seed=seed)
