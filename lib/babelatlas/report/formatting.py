"""Numbers, words and short tables as text: what stages show of what they wrote, and
what the pages are made of.
"""

import re
from collections.abc import Sequence
from numbers import Real

import numpy as np
import pandas as pd

from babelatlas.base import tables
from babelatlas.stats import FAMILY_COLUMNS, LEAST_P

LISTS = {
    "clip": "CLIP's curated list",
    "wordnet-3.0": "words of WordNet",
    "pictograms": "phrases of this study",
}
LISTS["own"] = "the user's own"
# What a caption or a cell may hold of HTML: emphasis, code, words of a language, and
# links that run nothing.
ALLOWED = re.compile(
    r"(</?(?:b|i|code|bdi|a)>|<br>|<bdi lang=\"[\w-]*\">"
    r"|<a href=\"(?:https?://[^\"<>\s]*|[\w./-]+(?:#[^\"<>\s]*)?|#[^\"<>\s]*)\">)"
)


def safe(text: str) -> str:
    """Return HTML in which only elements of ALLOWED are elements: what else is in it
    stays text, in one line.

    Names that people gave come into captions and cells; none of them can end the table,
    or run in a reader's browser.

    >>> safe("<b>Best: <script>alert(1)</script></b>")
    '<b>Best: &lt;script>alert(1)&lt;/script></b>'
    """
    parts = ALLOWED.split(" ".join(text.splitlines()))
    return "".join(
        part if place % 2 else part.replace("<", "&lt;")
        for place, part in enumerate(parts)
    )


def escape(text: str) -> str:
    """Return text so that Markdown, tables, HTML and mathematics leave it as it is: one
    line, signs as references.

    >>> escape("a|b_c")
    'a&#124;b&#95;c'
    """
    plain = " ".join(str(text).split())
    return re.sub(r"[!-+<=>\[-`{-~]", lambda sign: f"&#{ord(sign[0])};", plain)


def literal(text: str) -> str:
    """Return text as code in Markdown, on one line.

    >>> literal("a`b")
    "`a'b`"
    """
    return f"`{' '.join(str(text).split()).replace('`', chr(39))}`"


def word(text: str, lang: str) -> str:
    """Return a word of a language for a page: escaped, with its language, apart from
    the direction of its neighbours.

    >>> word("שלג", "he")
    '<bdi lang="he">שלג</bdi>'
    """
    return f'<bdi lang="{escape(lang)}">{escape(text)}</bdi>'


def percent(value: float) -> str:
    """Return a fraction as percent with one decimal, "" where there is none."""
    return "" if pd.isna(value) else f"{100 * value:.1f} %"


def interval(value: float, low: float, high: float) -> str:
    """Return a fraction with its interval in percent; without one where there is none.

    >>> interval(0.394, 0.351, 0.438), interval(0.5, float("nan"), float("nan"))
    ('39.4 % (35.1–43.8)', '50.0 %')
    """
    if pd.isna(low):
        return percent(value)
    return f"{percent(value)} ({100 * low:.1f}–{100 * high:.1f})"


def intervals(
    table: pd.DataFrame, number: str = ".1f", unit: float = 100, to: str = "–"
) -> pd.Series:
    """Return value and interval (ci_low, ci_high) of each row as text, times `unit`,
    with a true minus sign.

    `number`: the format, a sign of which is of the value only; `to`: between the ends;
    no interval where it is NaN.

    >>> ends = {"ci_low": [0.4, np.nan], "ci_high": [0.6, np.nan]}
    >>> rows = pd.DataFrame({"value": [0.5, -0.1], **ends})
    >>> intervals(rows).tolist(), intervals(rows[:1], "+.2f", 1, " to ").tolist()
    (['50.0 (40.0–60.0)', '−10.0'], ['+0.50 (0.40 to 0.60)'])
    """
    value_format = number.replace(".", "z.")  # z: no minus sign before a rounded 0
    end_format = value_format.lstrip("+")
    texts = []
    for value, low, high in table[["value", "ci_low", "ci_high"]].to_numpy(float):
        text = f"{unit * value:{value_format}}"
        if not np.isnan(low):
            ends = f"{unit * low:{end_format}}{to}{unit * high:{end_format}}"
            text += f" ({ends})"
        texts.append(text)
    return pd.Series(texts, index=table.index, dtype=str).str.replace("-", "−")


def ranges(
    scores: pd.DataFrame, decimals: int = 1, ends: Sequence[str] = ("ci_low", "ci_high")
) -> pd.Series:
    """Return the intervals of a table, its columns `ends`, as text in percent, "" where
    there is none.

    >>> rows = pd.DataFrame({"ci_low": [0.1234, np.nan], "ci_high": [0.2, np.nan]})
    >>> ranges(rows).tolist()
    ['12.3 to 20.0', '']
    """
    low_end, high_end = ends
    texts = [
        f"{100 * low:z.{decimals}f} to {100 * high:z.{decimals}f}"
        if not np.isnan(low)
        else ""
        for low, high in zip(scores[low_end], scores[high_end], strict=True)
    ]
    return pd.Series(texts, index=scores.index)


def p_value(p: float, raw: float = np.nan, least: float = LEAST_P) -> str:
    """Return a p value as text, an en dash where there is none, with "≤" where the test
    could give no smaller one.

    `raw`: p before it was corrected; `least`: the smallest that resampling can give.

    >>> p_value(0.0004), p_value(0.0312), p_value(np.nan), p_value(0.0026, LEAST_P)
    ('< 0.001', '0.031', '–', '≤ 0.003')
    """
    if pd.isna(p):
        return "–"
    if p < 0.001:
        return "< 0.001"
    if raw <= least * (1 + 1e-6):
        return f"≤ {np.ceil(1000 * p - 1e-9) / 1000:.3f}"
    return f"{p:.3f}"


def language_and_family_tests(
    tested: pd.DataFrame, decimals: int = 1, unit: float = 100
) -> pd.DataFrame:
    """Return what tests over languages and over families say, as text: five columns for
    readers, side by side.

    `tested`: as `permutation.paired_difference` returns it with `kin`; its intervals
    are shown times `unit`. Columns least and least_family: the smallest p that its
    tests can give, where that is not `LEAST_P`.
    """
    kinds = {
        "languages": (["ci_low", "ci_high"], "p", "least"),
        "families": (FAMILY_COLUMNS[:2], "p_family", "least_family"),
    }
    columns = {}
    for kind, (ends, p_name, least_name) in kinds.items():
        shown = tested[ends] * unit / 100
        columns[f"95 %, over {kind}"] = ranges(shown, decimals, ends)
        corrected = tested[f"{p_name}_holm"].astype(float)
        raw = tested.get(p_name, corrected).astype(float)
        least = tested.get(least_name, pd.Series(LEAST_P, tested.index))
        columns[f"p (Holm), {kind}"] = list(map(p_value, corrected, raw, least))
    n_families = tested["n_families"].astype(str)
    columns["languages (families)"] = tested["n"].astype(str) + " (" + n_families + ")"
    return pd.DataFrame(columns)


def counted(number: int, noun: str) -> str:
    """Return a count with its noun, in the singular where it is one.

    >>> counted(1, "language"), counted(1234, "class"), counted(0, "family")
    ('1 language', '1,234 classes', '0 families')
    """
    if number == 1:
        return f"1 {noun}"
    if noun.endswith("y"):
        return f"{number:,} {noun[:-1]}ies"
    ending = "es" if noun.endswith(("s", "x", "ch")) else "s"
    return f"{number:,} {noun}{ending}"


def english_note(sets: dict[str, pd.DataFrame | str]) -> str:
    """Return the sentences that say which English class names label sets have; "" where
    they have none.

    `sets`: name -> a table, schema `labels`, or its path; a path without a file is left
    out.
    """
    sentences = []
    for name, table in sets.items():
        if isinstance(table, str):
            there = tables.locate(table).is_file()
            table = tables.read(table, "labels") if there else tables.empty("labels")
        counts = table.loc[table["lang"] == "en", "source"].value_counts()
        lists = [
            f"{LISTS.get(source) or escape(source)} ({n:,})"
            for source, n in counts.items()
        ]
        if lists:
            sentences.append(
                f"English class names of {escape(name)}: {', '.join(lists)}."
            )
    return " ".join(sentences)


def first_rows(table: pd.DataFrame, n: int = 20) -> str:
    """Return the first rows of a table as Markdown, its texts escaped, and below it how
    many more there are.

    >>> print(first_rows(pd.DataFrame({"a|b": ["x", "y"], "c": [0.5, None]}), n=1))
    | a&#124;b | c |
    | --- | --- |
    | x | 0.5 |
    <BLANKLINE>
    1 more row.
    """
    head = [
        [_cell(cell) for cell in row]
        for row in table.head(n).itertuples(index=False, name=None)
    ]
    lines = [list(map(escape, table.columns)), ["---"] * len(table.columns), *head]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    more = len(table) - len(head)
    return text + (f"\n\n{counted(more, 'more row')}." if more > 0 else "")


def _cell(value: object) -> str:
    if isinstance(value, Real) and not isinstance(value, bool):
        return "–" if pd.isna(value) else f"{value:,.10g}"
    return "–" if value is None else escape(value)
