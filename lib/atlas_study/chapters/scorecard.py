"""How many numbers of five papers agree with others that they report or release, and
which conclusions depend on those that do not.
"""

import pandas as pd
from matplotlib.axes import Axes

import babelatlas as ba
from babelatlas.report import figures

# Code of a paper -> its name and authors, in the order of the page.
NAMES = {
    "geigle2024": ("Babel-ImageNet", "Geigle et al. 2024"),
    "thapliyal2022": ("Crossmodal-3600", "Thapliyal et al. 2022"),
    "kashanimotlagh2024": ("Role of Imagery", "Kashani Motlagh et al. 2024"),
    "cocosm2023": ("COCO-SM", "Unum 2023"),
    "liu2021": ("MaRVL", "Liu et al. 2021"),
}
PAPERS = {code: f"{name} ({authors})" for code, (name, authors) in NAMES.items()}
# Kind of a claim -> what it is called where it is reproduced.
REPRODUCED = {
    "recomputation": "recomputed, reproduced",
    "look-up": "looked up, equal",
    "test": "only tested, passed",
}
RESULTS = [
    *REPRODUCED.values(),
    "in part or explained",
    "different",
    "not recomputable",
]
SHORT_RESULTS = [
    "recomputed",
    "looked up",
    "tested",
    "in part",
    "different",
    "not checked",
]
MET = ["equal", "within rounding", "in part", "explained"]
LEAST_CLAIMS = 10  # of a place that has a bar to itself
BASIS = {
    "stated": "as stated",
    "other": "by another definition",
    "silent": "paper states none",
}
EVIDENCE = {
    "inference": "inferred",
    "follows": "from reported or released numbers alone",
}


# Claims
# ----------------------------------------------------------------------------------


def claims() -> pd.DataFrame:
    """Return the claims of the five papers, paper by paper: the table `scorecard` with
    what the page says of each.

    title (of the paper, with authors) and paper (without), is_reproduced, is_checked,
    result (of `RESULTS`), reported and recomputed (texts, an en dash for none).
    """
    table = ba.load("scorecard")
    order = list(PAPERS)
    table = table.sort_values(
        "paper", key=lambda codes: codes.map(order.index), kind="stable"
    )
    titles = table["paper"].map(PAPERS)
    is_reproduced = table["status"].isin(["equal", "within rounding"])
    status = table["status"].replace(["in part", "explained"], "in part or explained")
    reported = table["relation"].replace("=", "") + table["printed"]
    return table.assign(
        title=titles,
        paper=titles.str.partition(" (")[0],
        is_reproduced=is_reproduced,
        is_checked=table["status"] != "not recomputable",
        result=table["kind"].map(REPRODUCED).where(is_reproduced, status),
        reported=reported.str.replace("-", "−"),
        recomputed=_recomputed(table),
    )


def _recomputed(table: pd.DataFrame) -> list[str]:
    """Return recomputed numbers as text, with two digits more than the reported ones."""
    decimals = 2 + table["printed"].str.partition(".")[2].str.len()
    texts = []
    for value, places in zip(table["recomputed"], decimals, strict=True):
        text = f"{value:,.{places}f}".removesuffix(".00").replace("-", "−")
        texts.append("–" if pd.isna(value) else text)
    return texts


def results_by_paper(claims: pd.DataFrame) -> pd.DataFrame:
    """Return how many claims of each paper, and of all, have which result, as texts.

    Columns are `SHORT_RESULTS`; "278 of 313" says how many of the claims of a kind are
    reproduced.
    """
    with_all = pd.concat([claims, claims.assign(paper="all")])
    papers = with_all.groupby("paper", sort=False)
    results = papers["result"].value_counts().unstack(fill_value=0)
    results = results.reindex(columns=RESULTS, fill_value=0)
    tried = papers["kind"].value_counts().unstack(fill_value=0)
    view = results.astype(str)
    for kind, name in REPRODUCED.items():
        n_reproduced = results[name].map("{:,}".format)
        view[name] = n_reproduced + " of " + tried[kind].map("{:,}".format)
    return view.set_axis(SHORT_RESULTS, axis=1)


def shares_by_place(claims: pd.DataFrame) -> pd.DataFrame:
    """Return the share of each result in each table or section of a paper: paper, row,
    claims, result, count, value (fraction).

    Places with fewer than `LEAST_CLAIMS` claims are one row, "other places", the last.
    """
    sizes = claims.groupby(["paper", "place"])["cell"].transform("size")
    places = claims["place"].where(sizes >= LEAST_CLAIMS, "other places")
    table = claims.assign(place=places)
    table["claims"] = table.groupby(["paper", "place"])["cell"].transform("size")
    table["row"] = table["place"] + " (" + table["claims"].astype(str) + ")"
    table = table.sort_values(
        "place", key=lambda names: names == "other places", kind="stable"
    )
    key = ["paper", "row", "claims"]
    counts = table.groupby(key, sort=False)["result"].value_counts()
    counts = counts.unstack(fill_value=0).reindex(columns=RESULTS, fill_value=0)
    shares = counts.reset_index().melt(key, var_name="result", value_name="count")
    return shares.assign(value=shares["count"] / shares["claims"])


def draw_results(shares: pd.DataFrame) -> Axes:
    """Draw one bar for each place of a paper, split by result."""
    return figures.stacked_shares(shares, "row", "result")


def definitions_used(claims: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return by which definition claims were recomputed, and the blocks of claims that
    another than the stated definition explains best.

    The first has a row for each paper, the second for each block that is met at all.
    """
    recomputed = claims[claims["kind"] == "recomputation"]
    basis = recomputed["basis"].map(BASIS)
    how = basis.where(recomputed["is_reproduced"], recomputed["status"])
    papers = how.groupby(recomputed["paper"], sort=False)
    chosen = claims[
        claims["basis"].isin(["other", "silent"])
        & (claims["tried"] > 1)
        & (claims["kind"] != "test")
    ]
    key = ["paper", "place", "block", "stated", "definition", "tried"]
    status = chosen.groupby(key, sort=False)["status"]
    blocks = status.agg(claims="size", met=lambda status: status.isin(MET).sum())
    blocks = blocks.query("met > 0").reset_index()
    blocks.insert(0, "table and block", blocks["place"] + ": " + blocks["block"])
    blocks = blocks.drop(columns=["place", "block"]).replace({"stated": {"": "none"}})
    names = {"definition": "best definition", "tried": "definitions tried"}
    return papers.value_counts().unstack(fill_value=0), blocks.rename(columns=names)


def missing_reasons(claims: pd.DataFrame) -> pd.DataFrame:
    """Return why claims cannot be checked: reason, paper, claims (their number),
    places.
    """
    unchecked = claims[~claims["is_checked"]]
    places = unchecked.groupby(["paper", "missing"], sort=False)["place"]
    table = places.agg(
        claims="size", places=lambda names: ", ".join(dict.fromkeys(names))
    )
    table = table.reset_index().rename(columns={"missing": "reason"})
    return table[["reason", "paper", "claims", "places"]]


# Errata
# ----------------------------------------------------------------------------------


def inconsistencies(errata: pd.DataFrame) -> pd.DataFrame:
    """Return the inconsistencies of the table `errata`, the worst first: with title
    (of the paper), overturns and weakens (a conclusion: true or false).

    Papers stand in the order of how many of their conclusions are overturned.
    """
    table = errata[errata["sort"] == "inconsistency"]
    table = table.assign(
        title=table["paper"].map(PAPERS),
        overturns=table["conclusion"].str.startswith("Yes"),
        weakens=table["conclusion"].str.startswith("In part"),
    )
    table["of_paper"] = table.groupby("title")["overturns"].transform("sum")
    order = ["of_paper", "overturns"]
    table = table.sort_values(order, ascending=False, kind="stable")
    return table.drop(columns="of_paper")


def with_verb(number: int, verb: str) -> str:
    """Return how many do something, the verb in the number that goes with it.

    >>> with_verb(0, "weaken"), with_verb(1, "weaken"), with_verb(2, "weaken")
    ('none weakens', '1 weakens', '2 weaken')
    """
    if number > 1:
        return f"{number} {verb}"
    return f"{number or 'none'} {verb}s"


def list_by_paper(inconsistencies: pd.DataFrame, empty: str, heading: str) -> str:
    """Return inconsistencies as Markdown, paper by paper under a `heading` ("###");
    `empty`, where there are none.
    """
    blocks = []
    for title, rows in inconsistencies.groupby("title", sort=False):
        entries = [_entry(row) for row in rows.itertuples()]
        blocks.append("\n".join([f"{heading} {title}\n", *entries]))
    return "\n".join(blocks) or empty


def _entry(row: tuple) -> str:
    later = [f"- *Another version of the paper*: {row.later}"] if row.later else []
    lines = [
        f"**{row.place}.** {row.finding}\n",
        f"- *Evidence* ({EVIDENCE[row.kind]}): {row.evidence}",
        f"- *Consistent value*: {row.corrected}",
        *later,
        f"- *Does a conclusion depend on it?* {row.conclusion}\n",
    ]
    return "\n".join(lines)


def list_remarks(errata: pd.DataFrame) -> str:
    """Return the remarks of the table `errata` as a list in Markdown."""
    remarks = errata[errata["sort"] == "remark"]
    columns = ["place", "finding", "evidence", "conclusion", "later"]
    texts = remarks[columns].agg(" ".join, axis=1)
    return "\n".join("- **" + remarks["paper"].map(PAPERS) + "**, " + texts)
