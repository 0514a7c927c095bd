"""Sentences and tables that the pages of several stages have in common."""

import pandas as pd

from babelatlas.base import languages
from babelatlas.evaluation import disambiguation
from babelatlas.report import formatting

ENDS = ["value", "ci_low", "ci_high"]


def highest_and_lowest(scores: pd.DataFrame) -> str:
    """Return the highest and the lowest score with their intervals in words, once where
    they are the same.

    `scores`: columns lang (each once), value, ci_low, ci_high (fractions).

    >>> scores = pd.DataFrame({"lang": ["de", "sw"], "value": [0.5, 0.25]})
    >>> highest_and_lowest(scores.assign(ci_low=0.2, ci_high=0.6))
    '50.0 % (20.0–60.0) in German and 25.0 % (20.0–60.0) in Swahili'
    """
    percent = 100 * scores.set_index("lang")[ENDS].astype(float)
    codes = [percent["value"].idxmax(), percent["value"].idxmin()]
    phrases = []
    for code in dict.fromkeys(codes):
        value, low, high = percent.loc[code]
        name = languages.name(code)
        phrases.append(f"{value:.1f} % ({low:.1f}–{high:.1f}) in {name}")
    return " and ".join(phrases)


def tokens_cut(n_cut: int, context_length: int) -> str:
    """Return how many texts lost their end, to follow the number of tokens; "" for a
    model without a limit.

    >>> tokens_cut(1234, 77)
    '; **1,234** are longer than the context of 77 tokens and were cut'
    """
    if not context_length:
        return ""
    limit = f"the context of {context_length} tokens"
    return f"; **{n_cut:,}** are longer than {limit} and were cut"


def disambiguation_table(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of the original images as a page shows them, the language with
    the highest TC first.

    `scores`: what `disambiguation.score_intervals` returns, of one model and data set.
    Numbers are in percent with one decimal; `n`: items.
    """
    scores = scores[scores["variant"] == ""].assign(interval=formatting.ranges)
    values = ["value", "interval", "n"]
    cells = scores.pivot(index="lang", columns="metric", values=values)
    percent = (100 * cells["value"].astype(float)).round(1)
    columns = {"language": cells.index.map(languages.name), "code": cells.index}
    table = pd.DataFrame(columns, index=cells.index)
    for metric in disambiguation.METRICS:
        table[f"{metric} (%)"] = percent[metric]
        table[f"{metric} 95 %, over items"] = cells["interval", metric]
    for metric in ("TC", "IC"):
        table[f"{metric} ties (%)"] = percent[f"ties {metric}"]
    table["n"] = cells["n", "GTC"].astype(int)
    return table.sort_values("TC (%)", ascending=False, kind="stable")
