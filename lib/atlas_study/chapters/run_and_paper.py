"""Chapter 38: every cell of Tables 2, 3 and 8 to 12 of Geigle et al. (2024) next to the
run's own number.
"""

from typing import NamedTuple

import pandas as pd

import babelatlas as ba
from babelatlas.base import languages, tables
from babelatlas.report import formatting
from papercheck import certificates, geigle2024_run

# What each table of the paper reports.
CONTENTS = {
    "2": "accuracy, means of groups, and English",
    "3": "the same with 100 classes",
    "8": "accuracy by language",
    "9": "accuracy by language, continued",
    "10": "recall on xFlickrCO",
    "11": "recall on Crossmodal-3600",
    "12": "recall on XTD",
}
PANELS = {
    "babel-imagenet": "Babel-ImageNet, accuracy",
    "xflickrco": "xFlickrCO, recall",
    "xm3600": "Crossmodal-3600, recall",
    "xtd": "XTD, recall",
}
# Tables whose cells are those of others, or means over them.
SUMMARIES = ("2", "3")


class Comparison(NamedTuple):
    """A certificate, and what it is of."""

    cells: pd.DataFrame  # schema `certificate`
    scores: pd.DataFrame  # those compared, by language (`geigle2024_run.RESULT`)
    is_run: bool  # whether they are the run's, and not those that the authors released
    whose: str  # as a page calls them


def read(results: str) -> Comparison:
    """Return the certificate of a run, or where it has nothing to compare, that of the
    results that the paper's authors released.
    """
    scores = geigle2024_run.of_run(results)
    with_100 = geigle2024_run.with_100_classes(results)
    is_run = len(scores) + len(with_100) > 0
    if not is_run:
        scores = geigle2024_run.released()
    cells = geigle2024_run.compare(scores, with_100)
    scores = scores if len(scores) else with_100
    whose = "this run" if is_run else "the authors' release"
    return Comparison(cells, scores, is_run, whose)


def compared(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of a certificate that are not missing."""
    return cells[cells["verdict"] != "missing"]


def finding(cells: pd.DataFrame) -> str:
    """Return in a sentence without its full stop how many compared cells agree."""
    sizes = cells["verdict"].value_counts()
    n_agree, n_differ = (int(sizes.get(name, 0)) for name in ("agrees", "differs"))
    of_all = ba.counted(n_agree + n_differ, "cell")
    verb = "agrees" if 1 in (n_agree, n_agree + n_differ) else "agree"
    return f"{n_agree:,} of {of_all} {verb} with the paper"


def takeaway(comparison: Comparison) -> str:
    """Return the answer of the chapter."""
    start = finding(comparison.cells)
    if comparison.is_run:
        return f"In this run {start}."
    return (
        f"This run evaluated none of the paper's models on its data sets; of the results"
        f" that the authors released, {start}."
    )


def lacking(comparison: Comparison, results: str) -> str:
    """Return why there is nothing of the run, "" where there is."""
    return "" if comparison.is_run else geigle2024_run.nothing(results)


def points(comparison: Comparison) -> pd.DataFrame:
    """Return what is drawn: the cells by language with `panel`, `reported`, `here`
    (fractions) and `verdict`, the first table's of those that print a cell twice.
    """
    cells = compared(comparison.cells)
    cells = cells[(cells["group"] == "") & ~cells["table"].isin(SUMMARIES)]
    cells = cells.assign(panel=cells["dataset"].map(PANELS))
    return cells.rename(columns={"printed": "reported", "value": "here"})


def by_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Return how many cells agree by the paper's table, as a page shows it."""
    sizes = geigle2024_run.counts(cells, "table").reindex(list(CONTENTS))
    sizes.insert(0, "what it reports", pd.Series(CONTENTS))
    return sizes.rename_axis("table").reset_index()


def by_model(cells: pd.DataFrame) -> pd.DataFrame:
    """Return how many cells agree by model, as a page shows it, with the largest
    difference in points.
    """
    sizes = geigle2024_run.counts(cells, "model")
    largest = cells["difference"].abs().groupby(cells["model"]).max()
    sizes["largest difference (points)"] = largest.reindex(sizes.index)
    return sizes.rename_axis("model").reset_index()


def largest(cells: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return the cells that differ, the largest difference first, as a page shows
    them.
    """
    rows = certificates.largest(cells, most)
    where = [row.group or languages.name(row.lang) for row in rows.itertuples()]
    shown = {
        "model": rows["model"],
        "data set": rows["dataset"],
        "language or group": pd.Series(where, rows.index, dtype=str),
        "reported (%)": 100 * rows["printed"],
        "here (%)": formatting.intervals(rows),
        "difference (points)": rows["difference"],
        "tolerance (points)": rows["tolerance"],
        "what the run did otherwise": rows["reason"],
        "table": rows["table"],
    }
    return pd.DataFrame(shown).reset_index(drop=True)


def otherwise(scores: pd.DataFrame) -> pd.DataFrame:
    """Return what a run did otherwise than the paper by model and data set: the kind,
    an example, and in how many languages; as a page shows it.
    """
    notes = scores.assign(note=scores["otherwise"].str.split("; ")).explode("note")
    notes = notes[notes["note"].fillna("") != ""]
    notes = notes.assign(kind=notes["note"].str.split(":").str[0])
    sizes = scores.groupby(["model", "dataset"]).size()
    key = ["model", "dataset", "kind"]
    rows = []
    for (model, dataset, kind), part in notes.groupby(key, sort=False):
        n_all = sizes[model, dataset]
        example = part["note"].iloc[0].removeprefix(f"{kind}: ")
        in_languages = f"{part['lang'].nunique()} of {n_all}"
        rows.append([model, PANELS[dataset], kind, example, in_languages])
    columns = ["model", "data set", "what", "for example", "languages"]
    return pd.DataFrame(rows, columns=columns)


def settings_table(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the settings of scores by model and data set, and in brackets those of the
    paper where they are others; as a page shows it.
    """
    rows = []
    for (model, dataset), part in scores.groupby(["model", "dataset"], sort=False):
        row = {"model": model, "data set": PANELS[dataset]}
        sets = part["prompts"].unique()
        papers = [
            geigle2024_run.settings_of_paper(model, dataset, name) for name in sets
        ]
        for name in geigle2024_run.SETTINGS:
            ours = " and ".join(sorted(filter(None, part[name].unique())))
            theirs = " and ".join(sorted({paper[name] for paper in papers} - {""}))
            differs = ours != theirs
            row[name] = f"{ours} (the paper: {theirs})" if differs else ours or "–"
        pinned = not geigle2024_run.unpinned(model)
        rows.append(row | {"weights at a commit": "yes" if pinned else "not all"})
    return pd.DataFrame(rows)


def shift_table(shifts: pd.DataFrame) -> pd.DataFrame:
    """Return `geigle2024_run.shifts` as a page shows it."""
    shown = {
        "model": shifts["model"],
        "data set": shifts["dataset"].map(PANELS),
        "mean difference (points)": formatting.intervals(shifts, ".3f", 1, " to "),
        "p (Holm)": [ba.p_value(p) for p in shifts["p_holm"]],
        "languages": shifts["n"],
        "equal to the digits": shifts["n_equal"],
    }
    return pd.DataFrame(shown)


def write(comparison: Comparison, output: str, settings: dict) -> None:
    """Write the certificate of the run: without any of the cells, all are missing."""
    cells = comparison.cells
    if not comparison.is_run:
        none = comparison.scores[:0]
        cells = geigle2024_run.compare(none, none)
    tables.write(cells, output, "certificate", settings)
