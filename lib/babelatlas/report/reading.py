"""What a reader meets on a page besides its prose and figures: the takeaway, tables,
and the mark of the miniature.
"""

import base64
import html
import math
import re
from collections.abc import Mapping, Sequence
from numbers import Integral, Real

import pandas as pd
from IPython.display import HTML, Markdown

from babelatlas.report.formatting import safe

MINUS = re.compile(r"(?<![\w.–-])-(?=\d)")  # a hyphen before a number
# Rows that a page shows of a table: tens of thousands made pages of many megabytes.
MOST = 2000
# A page's box of one verdict.
TAKEAWAY = "```{admonition} Takeaway\n:class: tip\n"


def takeaway(text: str) -> Markdown:
    """Return the box that opens a page: one verdict and at most three numbers, with
    their intervals.

    `text`: Markdown of one paragraph. A chapter computes what it says before its first
    section, and shows it there.

    >>> print(takeaway("It changes by -0.3 points\\n(-1.0 to 0.4).").data)
    ```{admonition} Takeaway
    :class: tip
    It changes by −0.3 points (−1.0 to 0.4).
    ```
    """
    return Markdown(f"{TAKEAWAY}{MINUS.sub('−', ' '.join(text.split()))}\n```")


def miniature(text: str = "") -> Markdown:
    """Return the mark of the section or page in which it stands: what it shows comes
    from the miniature.
    """
    text = text or (
        "Tiny models trained on drawings: they show how the method behaves, not how"
        " good real models are."
    )
    return Markdown(
        f"{{.atlas-mark}}\n**Miniature.** {text} ([why and how](40_miniature))"
    )


def cell(value: object, decimals: int = 1, raw: bool = False) -> str:
    """Return a cell of a table as HTML: counts with separators, other numbers rounded,
    an en dash where there is none.

    >>> cell(1234), cell(0.26), cell(float("nan")), cell(-0.04), cell(-0.26)
    ('1,234', '0.3', '–', '0.0', '−0.3')
    >>> cell("a<b"), cell(True)
    ('a&lt;b', 'yes')
    """
    if isinstance(value, bool) or type(value).__name__ == "bool_":
        return "yes" if value else "no"
    is_nan = isinstance(value, float) and math.isnan(value)
    if value is None or value is pd.NaT or value is pd.NA or is_nan:
        return "–"
    if isinstance(value, Integral):
        return f"{value:,}"
    if isinstance(value, Real):
        text = f"{value:,.{decimals}f}"
        rounded_to_0 = not text.strip("-0.,")
        return text.lstrip("-") if rounded_to_0 else text.replace("-", "−")
    return safe(str(value) if raw else html.escape(str(value), quote=False))


def table(
    frame: pd.DataFrame,
    caption: str,
    *,
    decimals: int | Mapping[str, int] = 1,
    raw: Sequence[str] = (),
    index: bool = False,
    download: bool = True,
) -> HTML:
    """Return a table for a page: a caption, units in its head, a first column that
    names the row, its CSV next to it.

    `caption`: HTML; what the table shows, n, and what an interval is. `frame`: columns
    as a reader reads them, with their units ("accuracy (%)"), of which the first names
    the row. `decimals`: of all numbers that are no counts, or by column; `raw`: columns
    whose cells are HTML already; `index`: whether the index comes first, as columns;
    `download`: whether to offer its CSV. In the book a reader sorts and filters it, and
    chooses columns where there are more than eight (`_static/atlas-tables.js`). The
    page shows the first `MOST` rows; the CSV has all. Of HTML only what
    `formatting.safe` allows stays.

    >>> accuracy = pd.DataFrame({"model": ["A"], "accuracy (%)": [39.44]})
    >>> html_of_table = table(accuracy, "Accuracy by model.").data
    >>> '<th scope="row">A</th><td class="number">39.4</td>' in html_of_table
    True
    """
    frame = frame.reset_index() if index else frame
    caption = safe(caption)
    names = [str(name) for name in frame.columns]
    if not isinstance(decimals, Mapping):
        decimals = dict.fromkeys(names, decimals)
    classes = [' class="number"' if _is_number(kind) else "" for kind in frame.dtypes]
    head = "".join(
        f'<th scope="col"{css_class}>{safe(html.escape(name))}</th>'
        for name, css_class in zip(names, classes, strict=True)
    )
    rows = []
    for values in frame.head(MOST).itertuples(index=False, name=None):
        cells = [
            cell(value, decimals.get(name, 1), name in raw)
            for name, value in zip(names, values, strict=True)
        ]
        rest = "".join(
            f"<td{css_class}>{text}</td>"
            for text, css_class in zip(cells[1:], classes[1:], strict=True)
        )
        rows.append(f'<tr><th scope="row">{cells[0]}</th>{rest}</tr>')
    body = "\n".join(rows) or f'<tr><td colspan="{len(names)}">No rows.</td></tr>'
    label = html.escape(_bare(caption.partition("</b>")[0]), quote=True)
    part = link = ""
    if len(frame) > MOST:
        part = f"The first {MOST:,} of {len(frame):,} rows; all are in the "
    if download:
        link = _download(frame, raw)
    return HTML(
        f'<figure class="atlas-table"><figcaption>{caption}</figcaption>'
        f'<div class="atlas-scroll" tabindex="0" role="region" aria-label="{label}">'
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
        f'<p class="atlas-links">{part}{link}</p></figure>'
    )


def _download(frame: pd.DataFrame, raw: Sequence[str]) -> str:
    """Return a link to the CSV of a table, which holds it."""
    texts = {name: frame[name].map(_bare) for name in frame.columns if str(name) in raw}
    csv = frame.assign(**texts).to_csv(index=False, float_format="%.6g")
    data = base64.b64encode(csv.encode()).decode()
    return f'<a download href="data:text/csv;base64,{data}">CSV</a>'


def _is_number(kind: object) -> bool:
    """Return whether a column of this type holds numbers, which truth values are not."""
    kinds = pd.api.types
    return kinds.is_numeric_dtype(kind) and not kinds.is_bool_dtype(kind)


def _bare(text: object) -> str:
    """Return text without HTML tags."""
    return html.unescape(re.sub(r"<[^>]*>", "", str(text)))
