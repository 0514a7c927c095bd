"""What the five papers describe, item by item: whether it runs here, and where.

An item is a method, a data set, a family of models, a metric, a table, a figure or an
ablation. The table is kept by hand in `data/items.csv`; a test resolves every reference
in it. `python -m papercheck items` prints the page of the book that shows it.
"""

from pathlib import Path

import pandas as pd

from papercheck.scorecard import PAPERS

TABLE = Path(__file__).parent / "data" / "items.csv"
# From the least to the most that a reader can do with an item.
STATES = {
    "not yet": "nothing here does it",
    "needs people": "people do it; the study helps them where it can",
    "recomputed only": "computed from numbers that were printed or released, not from a"
    " run of your own",
    "on the shipped real models": "runs on real models whose vectors ship with the study",
    "runs on your data": "runs on models, images or texts that you name",
}
PAGE_TITLE = "# Five papers, item by item"
PAGE_START = """\
Which methods, data sets, models, metrics, tables and figures of five papers can be run
here, on your own data, and where? Each row is an item of a paper. Its link leads to the
chapter that shows it; the code is the function that computes it, and the last line is
what to type. A chapter that a run does not make is not linked.

The table behind this page is `lib/papercheck/data/items.csv`, with a configuration key
and a test for each item. [The scorecard](34_scorecard) compares the numbers that the
papers print with recomputed ones."""


def read() -> pd.DataFrame:
    """Return the items, one row each: item, paper, place, what, state, notebook,
    parameters, config, function, command, test; texts, "" where there is none.
    """
    return pd.read_csv(TABLE, dtype=str, keep_default_na=False)


def page(items: pd.DataFrame) -> str:
    """Return the page of the book on some items as MyST Markdown, a table a paper."""
    counts = items["state"].value_counts()
    states = [
        f"- *{state}* ({counts[state]}): {meaning}."
        for state, meaning in reversed(STATES.items())
        if state in counts
    ]
    parts = [PAGE_TITLE, PAGE_START, "\n".join(states)]
    for paper, title in PAPERS.items():
        rows = [
            f"| {_what(item)} | {_where(item)} |"
            for item in items[items["paper"] == paper].itertuples()
        ]
        head = ["| item | state and place |", "| --- | --- |"]
        parts += [f"## {title}", "\n".join([*head, *rows])]
    return "\n\n".join(parts) + "\n"


def _what(item) -> str:
    return f"{item.what}<br>{item.place}"


def _where(item) -> str:
    lines = [f"*{item.state}*"]
    if item.notebook.startswith("notebooks/chapters/"):
        lines.append(_link(Path(item.notebook).stem))
    elif item.notebook:
        lines.append(f"stage `{Path(item.notebook).stem}`")
    lines += [f"`{text}`" for text in (item.function, item.command) if text]
    return "<br>".join(lines)


def _link(chapter: str) -> str:
    number, _, name = chapter.partition("_")
    return f"[chapter {number}, {name.replace('_', ' ')}]({chapter})"
