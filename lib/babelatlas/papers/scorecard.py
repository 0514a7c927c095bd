"""What becomes of each printed number when it is computed again: equal, within rounding, different, not recomputable.

A definition computes the cells of a table from tables that ship, or from files that the user has (`needs`). The modules
of the papers (`MODULES`) hold them; they call the functions that score our own models. A block of claims is explained
by one definition for all its cells: of those that the claims name, the one that meets most of them, the stated one
where several meet as many. So a number is never matched by a definition of its own.
"""

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.papers import (
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
from babelatlas.papers.definitions import EDITIONS, Definition

# What computes the papers' numbers again, and what says what does not fit in them.
MODULES = (geigle2024, geigle2024_training, thapliyal2022, kashanimotlagh2024, cocosm2023, liu2021)
ERRATA = (geigle2024_errata, geigle2024_training, thapliyal2022_errata, kashanimotlagh2024, cocosm2023, liu2021_errata)
# The papers, by citation key, as a reader knows them.
PAPERS = {
    "geigle2024": "Babel-ImageNet (Geigle et al. 2024)",
    "thapliyal2022": "Crossmodal-3600 (Thapliyal et al. 2022)",
    "kashanimotlagh2024": "Role of Imagery (Kashani Motlagh et al. 2024)",
    "cocosm2023": "COCO-SM (Unum 2023)",
    "liu2021": "MaRVL (Liu et al. 2021)",
}
STATUSES = ("equal", "within rounding", "different", "not recomputable")
# Definitions whose names begin so compute nothing: "nearest ..." is what whole cases can give that is nearest to the
# printed number, "as printed ..." what the paper prints of the same elsewhere. They can refute a number, not confirm
# it, and what passes is counted apart.
ONLY_TESTS = ("nearest", "as printed")
# How the definition that explains a block stands to the paper.
BASES = ("stated", "silent", "other")
# Released data that does not ship, by the name of its folder: what it is, and where a user gets it.
SOURCES = {
    "babel-imagenet": "Babel-ImageNet's release, github.com/gregor-ge/Babel-ImageNet",
    "clip-benchmark": "CLIP_benchmark's class names, github.com/LAION-AI/CLIP_benchmark",
    "coco-sm": "COCO-SM's release, github.com/unum-cloud/coco-sm",
    "commute": "CoMMuTE's files, github.com/MatthieuFP/CoMMuTE",
    "marvl": "MaRVL's annotations, github.com/marvl-challenge/marvl-code",
    "multi30k": "Multi30k's files, github.com/multi30k/dataset",
}


def definitions() -> dict[tuple[str, str], Definition]:
    """Return all definitions by paper and name; raise InputError where two share a name."""
    found: dict[tuple[str, str], Definition] = {}
    for module in MODULES:
        for definition in module.DEFINITIONS:
            key = definition.paper, definition.name
            if key in found:
                raise InputError(f"Two definitions of {key[0]} are called {key[1]!r}: give each a name of its own.")
            found[key] = definition
    return found


def sources(folder: str | os.PathLike = "") -> dict[str, Path]:
    """Return the released data that the user has: name -> folder, of those in `SOURCES` that lie below `folder`.

    "" takes the folder that BABELATLAS_MIRROR names, and none where it names none. Raises InputError for a folder that
    does not exist.
    """
    folder = folder or os.environ.get("BABELATLAS_MIRROR", "")
    if not folder:
        return {}
    place = tables.locate(folder)
    if not place.is_dir():
        raise InputError(
            f"There is no folder {place} with released data: give one that has {', '.join(SOURCES)}, or none."
        )
    return {name: place / name for name in SOURCES if (place / name).is_dir()}


def status(printed: str, relation: str, value: float, slack: float) -> str:
    """Return how a recomputed number stands to a printed one.

    "equal": it rounds to the printed digits (a half may go either way). "within rounding": it does when each rounded
    number that went into it is moved by what its own rounding can have hidden. Else "different". A relation such as
    ">" is met as computed ("equal"), within the slack, or not.

    >>> status("12.67", "=", 12.6749, 0), status("12.68", "=", 12.666, 0.005), status("2", ">", 1.9, 0)
    ('equal', 'different', 'different')
    >>> status("12.68", "=", 12.672, 0.005)
    'within rounding'
    """
    if not np.isfinite(value):
        return "not recomputable"
    more = value - claims.value(printed)
    half_unit = 0.5 * 10.0 ** -len(printed.partition(".")[2])  # of the last printed digit: what rounding can take away
    off = {"=": abs(more) - half_unit, ">": -more, "≥": -more, "<": more, "≤": more}[relation]
    if off < -1e-9 or (abs(off) <= 1e-9 and relation not in "<>"):
        return "equal"
    return "within rounding" if off <= slack + 1e-9 and slack > 0 else "different"


def recompute(table: pd.DataFrame, available: dict[str, Path] | None = None, known: dict | None = None) -> pd.DataFrame:
    """Return the scorecard of a table of claims, a `scorecard` table in the order of the claims.

    `available`: what `sources` returned; `known`: definitions, all unless given. `definition` is the one that explains
    most cells of the block, of `tried`; `basis` says whether it is the one that the paper states ("stated"), or another
    ("other"), or whether the paper states none ("silent"); `recomputed` and `slack` are its result, `others` further
    definitions that meet this cell. Where no definition gives the cell the status is "not recomputable", and `missing`
    says which source or what else is missing. Raises InputError for an unknown definition.
    """
    known = definitions() if known is None else known
    available = available or {}
    claims.check_definitions(table, known)
    results: dict[tuple[str, str], pd.DataFrame | str] = {}
    parts = []
    for (paper, _, _), block in table.groupby(["paper", "place", "block"], sort=False):
        named = block["definitions"].iloc[0]
        tried = {name: _tried(block, known[paper, name], available, results) for name in claims.names(named)}
        parts.append(_explained(block, tried, claims.stated(named)))
    columns = list(tables.SCHEMAS["scorecard"][0])
    return pd.concat(parts).sort_index()[columns] if parts else tables.empty("scorecard")


def _tried(block, definition: Definition, available: dict[str, Path], results: dict) -> pd.DataFrame:
    """Return value, slack, status and what is missing for each claim of a block under one definition."""
    key = definition.paper, definition.name
    if key not in results:
        absent = [source for source in definition.needs if source not in available]
        if absent:
            results[key] = "needs " + " and ".join(SOURCES.get(source, source) for source in absent)
        else:
            found = definition.compute({source: available[source] for source in definition.needs})
            for double in found.loc[found["cell"].duplicated(), "cell"]:
                raise InputError(
                    f"The definition {definition.name!r} of {definition.paper} gives the cell {double!r} twice."
                )
            results[key] = found.set_index("cell")[["value", "slack"]].astype(float)
    result = results[key]
    if isinstance(result, str):
        return _missing(block, result)
    tried = result.reindex(block["cell"]).set_axis(block.index)
    tried["slack"] = tried["slack"].fillna(0.0)
    tried["status"] = [
        status(row.printed, row.relation, value, slack)
        for row, value, slack in zip(block.itertuples(), tried["value"], tried["slack"], strict=True)
    ]
    return tried.assign(missing="")


def _missing(block: pd.DataFrame, reason: str) -> pd.DataFrame:
    return pd.DataFrame({"value": np.nan, "slack": 0.0, "status": STATUSES[3], "missing": reason}, index=block.index)


def _explained(block: pd.DataFrame, tried: dict[str, pd.DataFrame], stated: str) -> pd.DataFrame:
    """Return the rows of a block with the one definition that meets most of its claims."""
    met = {name: int(rows["status"].isin(STATUSES[:2]).sum()) for name, rows in tried.items()}
    given = {name: int(rows["value"].notna().sum()) for name, rows in tried.items()}
    first = next((name for name in tried if given[name]), "")
    best = max(tried, key=lambda name: (met[name], name == first), default="")
    rows = tried.get(best, _missing(block, ""))
    result = block.assign(recomputed=rows["value"], slack=rows["slack"], status=rows["status"])
    result["definition"] = [best if np.isfinite(value) else "" for value in rows["value"]]
    result["basis"] = "silent" if not stated else "stated" if best == stated else "other"
    result.loc[rows["value"].isna(), "basis"] = ""
    result["tried"] = len(tried)
    result["others"] = [
        "; ".join(name for name, other in tried.items() if name != best and other.loc[row, "status"] in STATUSES[:2])
        for row in block.index
    ]
    reasons = pd.DataFrame({name: other["missing"] for name, other in tried.items()}, index=block.index)
    told = ["; ".join(dict.fromkeys(word for word in row if word)) for row in reasons.to_numpy(dtype=object)]
    open_rows = result["status"] == STATUSES[3]
    result["missing"] = [
        (reason or note or "no definition gives this cell") if is_open else ""
        for reason, note, is_open in zip(told, block["note"], open_rows, strict=True)
    ]
    return result


def only_tested(card: pd.DataFrame) -> pd.Series:
    """Return which claims of a scorecard were not computed but tested: they passed, or are "different"."""
    return (card["status"] != STATUSES[3]) & card["definition"].str.startswith(ONLY_TESTS)


def summary(card: pd.DataFrame, by: Iterable[str] = ("paper",)) -> pd.DataFrame:
    """Return how many claims have each status: by, claims, the four statuses, and what else is known of them.

    `only tested`: those of the equal ones (or within rounding) that were not computed but have passed a test that could
    have refuted them (`only_tested`), and `refuted` those of the different ones that have not; `other definition`:
    those met by another definition than the one that the paper states; `chosen`: those met by the best of several
    definitions where the paper states none; `computed`: claims that were computed; `followed`: the share of these that
    are met, NaN where there is none.
    """
    met, tested = card["status"].isin(STATUSES[:2]), only_tested(card)
    computed = (card["status"] != STATUSES[3]) & ~tested
    found = met & computed
    flags = {name: card["status"] == name for name in STATUSES}
    flags |= {
        "only tested": met & tested,
        "refuted": tested & ~met,
        "other definition": found & (card["basis"] == "other"),
        "chosen": found & (card["basis"] == "silent") & (card["tried"] > 1),
        "computed": computed,
        "followed": found,
    }
    table = pd.DataFrame({"claims": 1, **flags}, index=card.index)
    table = table.groupby([card[column] for column in by], sort=False).sum()
    return table.assign(followed=table["followed"] / table["computed"]).reset_index()


def errata() -> pd.DataFrame:
    """Return the inconsistencies of all papers, each with the computation that shows it.

    Columns: paper, place, finding (what is printed and why it cannot be), evidence (the numbers that show it),
    corrected (what it would be), edition (the version of the paper that was read), later (what another version prints,
    "" where none was compared), conclusion (whether it matters to the paper's conclusions: "No", "Yes" or "In part",
    and why), kind ("follows" from printed or released numbers, or "inference"), sort: "inconsistency" for numbers and
    sentences that cannot both be right, "remark" for what a reader should know: a sentence that the numbers support
    only in part, an undeclared choice, an unusual count.
    """
    return pd.concat([module.errata() for module in ERRATA], ignore_index=True).drop(columns="cells")


def editions() -> pd.DataFrame:
    """Return which version of each paper was read: paper, version read, known by, compared with; text."""
    rows = [{"paper": name, **EDITIONS[paper]} for paper, name in PAPERS.items()]
    words = {"edition": "version read", "known_by": "known by", "compared": "compared with"}
    return pd.DataFrame(rows).rename(columns=words)
