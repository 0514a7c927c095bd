"""Compares each reported number with its recomputation (`STATUSES`).

A definition computes the cells of a table from tables that ship, or from files that the
user has (`needs`). The modules of the papers (`MODULES`) hold them; they call the
functions that score our own models. A block of claims is explained by one definition
for all its cells: of those that the claims name, the one that meets most of them, the
stated one where several meet as many. So a number is never matched by a definition of
its own. Nor is it rescued: a definition that leaves out models, groups or rows that the
sentence includes, or reads a difference of percentages as percent of percent, says so
(`in_part`), explains a block only where none that leaves out less gives it, and meets
it "in part".
"""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from papercheck import (
    claims,
    cocosm2023,
    geigle2024,
    geigle2024_errata,
    geigle2024_training,
    kashanimotlagh2024,
    liu2021,
    liu2021_errata,
    thapliyal2022,
    thapliyal2022_errata,
)
from papercheck.definitions import EDITIONS, Definition

# What computes the papers' numbers again, and what says what does not fit in them.
MODULES = (
    geigle2024,
    geigle2024_training,
    thapliyal2022,
    kashanimotlagh2024,
    cocosm2023,
    liu2021,
)
ERRATA = (
    geigle2024_errata,
    geigle2024_training,
    thapliyal2022_errata,
    kashanimotlagh2024,
    cocosm2023,
    liu2021_errata,
)
# The papers, by citation key, as a reader knows them.
PAPERS = {
    "geigle2024": "Babel-ImageNet (Geigle et al. 2024)",
    "thapliyal2022": "Crossmodal-3600 (Thapliyal et al. 2022)",
    "kashanimotlagh2024": "Role of Imagery (Kashani Motlagh et al. 2024)",
    "cocosm2023": "COCO-SM (Unum 2023)",
    "liu2021": "MaRVL (Liu et al. 2021)",
}
# "in part": met only by a definition that leaves out or turns part of the sentence.
# "explained": met only by another definition than the stated one, where the errata list
# the number: it does not follow.
STATUSES = (
    "equal",
    "within rounding",
    "in part",
    "explained",
    "different",
    "not recomputable",
)
MET = STATUSES[:2]
COLUMNS = [
    "paper",
    "place",
    "cell",
    "block",
    "relation",
    "printed",
    "unit",
    "recomputed",
    "slack",
    "stated",
]
COLUMNS += [
    "definition",
    "kind",
    "basis",
    "tried",
    "status",
    "others",
    "missing",
    "note",
    "listed",
]
# Released data that does not ship, by the name of its folder: what it is, and where a
# user gets it.
SOURCES = {
    "babel-imagenet": "Babel-ImageNet's release, github.com/gregor-ge/Babel-ImageNet",
    "clip-benchmark": (
        "CLIP_benchmark's class names, github.com/LAION-AI/CLIP_benchmark"
    ),
    "coco-sm": "COCO-SM's release, github.com/unum-cloud/coco-sm",
    "commute": "CoMMuTE's files, github.com/MatthieuFP/CoMMuTE",
    "marvl": "MaRVL's annotations, github.com/marvl-challenge/marvl-code",
    "multi30k": "Multi30k's files, github.com/multi30k/dataset",
}


def definitions() -> dict[tuple[str, str], Definition]:
    """Return all definitions by paper and name."""
    return {
        (definition.paper, definition.name): definition
        for module in MODULES
        for definition in module.DEFINITIONS
    }


def sources(folder: str | os.PathLike = "") -> dict[str, Path]:
    """Return the released data that the user has: name -> folder, of those in `SOURCES`
    that lie below `folder`.

    "" takes the folder that BABELATLAS_MIRROR names, and none where it names none.
    """
    folder = folder or os.environ.get("BABELATLAS_MIRROR", "")
    if not folder:
        return {}
    paths = {name: Path(folder) / name for name in SOURCES}
    return {name: path for name, path in paths.items() if path.is_dir()}


def status(printed: str, relation: str, value: float, slack: float) -> str:
    """Return how a recomputed number stands to a printed one.

    "equal": it rounds to the printed digits (a half may go either way). "within
    rounding": it does when each rounded number that went into it is moved by what its
    own rounding can have hidden. Else "different". A relation such as ">" is met as
    computed ("equal"), within the slack, or not.

    >>> status("12.67", "=", 12.6749, 0), status("12.68", "=", 12.666, 0.005)
    ('equal', 'different')
    >>> status("12.68", "=", 12.672, 0.005), status("2", ">", 1.9, 0)
    ('within rounding', 'different')
    """
    if not np.isfinite(value):
        return "not recomputable"
    above = value - claims.value(printed)
    if relation == "=":
        _, _, decimals = printed.partition(".")
        # Of the last printed digit: what rounding can take away.
        half_unit = 0.5 * 10.0 ** -len(decimals)
        off = abs(above) - half_unit
    else:
        off = above if relation in "<≤" else -above
    is_at_the_bound = abs(off) <= 1e-9
    if off < -1e-9 or (is_at_the_bound and relation not in "<>"):
        return "equal"
    return "within rounding" if off <= slack + 1e-9 and slack > 0 else "different"


def recompute(
    table: pd.DataFrame,
    available: dict[str, Path] | None = None,
    defined: dict | None = None,
) -> pd.DataFrame:
    """Return the scorecard of a table of claims, in their order.

    `available`: what `sources` returned; `defined`: definitions, all unless set. Columns:
    those of the claims but `definitions`; `stated`: the definition that the paper
    states, "" where it is silent; `definition`: the one that explains most cells of the
    block, of `tried`; `basis` says whether it is the stated one ("stated"), or another
    ("other"), or whether the paper states none ("silent"); `kind`: what it does;
    `recomputed` and `slack`: its result; `others`: further definitions that meet this
    cell, if only in part; `status`, one of `STATUSES`. Where no definition gives the
    cell the status is "not recomputable", and `missing` says which source or what else
    is missing. Where only another definition than the stated one gives a number that
    the errata list, it is "explained". `listed`: whether an erratum is about the claim
    or its place.
    """
    defined = definitions() if defined is None else defined
    results: dict[tuple[str, str], pd.DataFrame | str] = {}
    parts = []
    for (paper, _, _), block in table.groupby(["paper", "place", "block"], sort=False):
        named = block["definitions"].iloc[0]
        tried = {
            name: _tried(block, defined[paper, name], available or {}, results)
            for name in claims.names(named)
        }
        parts.append(_explained(block, tried, claims.as_stated(named)))
    card = pd.concat(parts).sort_index()
    return card.assign(listed=_are_listed(card))[COLUMNS]


def _are_listed(card: pd.DataFrame) -> list[bool]:
    """Return whether an erratum is about each claim or its place."""
    table, claims_listed = errata(), listed()
    places = set(zip(table["paper"], table["place"], strict=True))
    return [
        (row.paper, row.cell) in claims_listed or (row.paper, row.place) in places
        for row in card.itertuples()
    ]


def _tried(
    block, definition: Definition, available: dict[str, Path], results: dict
) -> pd.DataFrame:
    """Return value, slack, status and what is missing for each claim of a block under
    one definition.
    """
    key = definition.paper, definition.name
    if key not in results:
        results[key] = _result(definition, available)
    result = results[key]
    if isinstance(result, str):
        return _missing(block, result)
    tried = result.reindex(block["cell"]).set_axis(block.index)
    tried["slack"] = tried["slack"].fillna(0.0)
    claimed = zip(block["printed"], block["relation"], strict=True)
    computed = zip(tried["value"], tried["slack"], strict=True)
    tried["status"] = [
        status(*claim, *number) for claim, number in zip(claimed, computed, strict=True)
    ]
    if definition.in_part:
        tried["status"] = tried["status"].replace(dict.fromkeys(MET, "in part"))
    n_left_out = len(definition.in_part)
    return tried.assign(missing="", kind=definition.kind, n_left_out=n_left_out)


def _result(definition: Definition, available: dict[str, Path]) -> pd.DataFrame | str:
    """Return what a definition computes, value and slack by cell, or what it lacks, in
    words.
    """
    absent = [source for source in definition.needs if source not in available]
    if absent:
        return "needs " + " and ".join(SOURCES.get(name, name) for name in absent)
    folders = {source: available[source] for source in definition.needs}
    computed = definition.compute(folders).set_index("cell")
    return computed[["value", "slack"]].astype(float)


def _missing(block: pd.DataFrame, reason: str) -> pd.DataFrame:
    facts = {
        "value": np.nan,
        "slack": 0.0,
        "status": STATUSES[-1],
        "missing": reason,
        "kind": "",
        "n_left_out": 0,
    }
    return pd.DataFrame(facts, index=block.index)


def _explained(
    block: pd.DataFrame, tried: dict[str, pd.DataFrame], stated: str
) -> pd.DataFrame:
    """Return the rows of a block with the definition that meets most of its claims, of
    those that leave out least.
    """
    best = _best(tried)
    rows = tried.get(best, _missing(block, ""))
    result = block.assign(
        stated=stated,
        recomputed=rows["value"],
        slack=rows["slack"],
        status=rows["status"],
        kind=rows["kind"],
        tried=len(tried),
    )
    has_value = np.isfinite(rows["value"])
    result["definition"] = np.where(has_value, best, "")
    result["basis"] = "stated" if best == stated else "other"
    if not stated:
        result["basis"] = "silent"
    elif best != stated:
        pairs = zip(block["paper"], block["cell"], strict=True)
        is_listed = np.array([pair in listed() for pair in pairs])
        is_explained = result["status"].isin(MET) & is_listed
        result["status"] = result["status"].mask(is_explained, "explained")
    result.loc[rows["value"].isna(), ["basis", "kind"]] = ""
    result["others"] = [_others(row, best, tried) for row in block.index]
    is_open = result["status"] == STATUSES[-1]
    reasons = [_reasons(row, tried) for row in block.index]
    missing = pd.Series(reasons, block.index, dtype=object)
    missing = missing.where(missing != "", block["note"])
    missing = missing.where(missing != "", "no definition gives this cell")
    result["missing"] = missing.where(is_open, "")
    return result


def _best(tried: dict[str, pd.DataFrame]) -> str:
    """Return the definition that meets most claims, the first of several, of those that
    leave out least; "" for none.
    """
    computed = {
        name: rows for name, rows in tried.items() if rows["value"].notna().any()
    }
    computed = computed or tried
    n_left_out = {name: rows["n_left_out"].max() for name, rows in computed.items()}
    least = min(n_left_out.values(), default=0)
    n_met = {
        name: rows["status"].isin(STATUSES[:3]).sum()
        for name, rows in computed.items()
        if n_left_out[name] == least
    }
    return max(n_met, key=n_met.get, default="")


def _others(row: int, best: str, tried: dict[str, pd.DataFrame]) -> str:
    """Return the other definitions that meet a claim, if only in part, in words."""
    words = []
    for name, rows in tried.items():
        its_status = rows.loc[row, "status"]
        if name != best and its_status in STATUSES[:3]:
            words.append(name if its_status in MET else f"{name} (in part)")
    return "; ".join(words)


def _reasons(row: int, tried: dict[str, pd.DataFrame]) -> str:
    """Return what the definitions lack that do not give a claim, each thing once."""
    reasons = [rows.loc[row, "missing"] for rows in tried.values()]
    return "; ".join(dict.fromkeys(reason for reason in reasons if reason))


@cache
def errata() -> pd.DataFrame:
    """Return the inconsistencies of all papers, each with the computation that shows
    it.

    Columns: paper, place, finding (what is printed and why it cannot be), evidence (the
    numbers that show it), corrected (what it would be), edition (the version of the
    paper that was read), later (what another version prints, "" where none was
    compared), conclusion (whether it matters to the paper's conclusions: "No", "Yes" or
    "In part", and why), kind ("follows" from printed or released numbers, or
    "inference"), sort: "inconsistency" for numbers and sentences that cannot both be
    right, "remark" for what a reader should know: a sentence that the numbers support
    only in part, an undeclared choice, an unusual count. `cells`: of the claims that it
    is about.
    """
    return pd.concat([module.errata() for module in ERRATA], ignore_index=True)


@cache
def listed() -> frozenset[tuple[str, str]]:
    """Return the claims that an erratum or a remark is about, as pairs of paper and
    cell.
    """
    return frozenset(
        (row.paper, cell) for row in errata().itertuples() for cell in row.cells
    )


def editions() -> pd.DataFrame:
    """Return which version of each paper was read: paper, version read, known by,
    compared with; text.
    """
    rows = [{"paper": name, **EDITIONS[paper]} for paper, name in PAPERS.items()]
    words = {
        "edition": "version read",
        "known_by": "known by",
        "compared": "compared with",
    }
    return pd.DataFrame(rows).rename(columns=words)
