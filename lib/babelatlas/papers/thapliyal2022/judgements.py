"""Thapliyal et al. (2022), Crossmodal-3600: how people's judgements correlate with CIDEr (Table 6)."""

import numpy as np
import pandas as pd

from babelatlas.papers.thapliyal2022.tables import (
    COLUMNS,
    HALF,
    JUDGED,
    MODELS,
    REFERENCES,
    assignment,
    both_ways,
    comparisons,
    corrected,
    published_rows,
)
from babelatlas.stats import correlation, rounding


def correlations(
    table: pd.DataFrame,
    mirrored: bool = True,
    halves: dict[str, float] | None = None,
    n_resamples: int = 1,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the correlations of side-by-side gains with differences in CIDEr, as Table 6 has them.

    `table` as `comparisons`; `mirrored`: every comparison in both directions. Columns: method, lang ("all" or a code),
    column (XM600, XM3600, COCO-DEV), value, ci_low, ci_high (over pairs of models, with `n_resamples`), n (rows),
    slack (`rounding.rounding_slack`, 0 unless `halves` says by how much each column can be off).
    """
    whole = both_ways(table, COLUMNS) if mirrored else table
    whole = whole.assign(pair=whole["m2"] + " vs " + whole["m1"])
    rows = []
    for lang in ("all", *JUDGED):
        part = whole if lang == "all" else whole[whole["lang"] == lang]
        for column in REFERENCES:
            found = correlation.correlate(part, "SxS", column, "pair", correlation.METHODS, n_resamples, seed=seed)
            for row in found.itertuples():
                slack = 0.0
                if halves:
                    slack = rounding.rounding_slack(
                        part["SxS"], part[column], halves["SxS"], halves[column], row.method
                    )
                rows.append([row.method, lang, column, row.value, row.ci_low, row.ci_high, row.n, slack])
    columns = ["method", "lang", "column", "value", "ci_low", "ci_high", "n", "slack"]
    return pd.DataFrame(rows, columns=columns)


def tie_orders(lang: str, column: str) -> pd.DataFrame:
    """Return the printed correlations of a language for both orders of two differences that rounding made equal.

    Where two pairs of models (`assignment`) have printed differences of one size in Table 4, one was the larger before
    rounding: all cells of one of the pairs are made larger, or smaller, by less than the rounding. Each row of Table 4
    counts in both directions. Columns: first, second (the two pairs), size, method, larger (the first pair is),
    smaller; no rows where there is no such tie.
    """
    whole = comparisons()
    part = whole[whole["lang"] == lang].reset_index(drop=True)
    pairs = [tuple(sorted(assignment()[row])) for row in zip(part["m2"], part["m1"], strict=True)]
    size = part[column].abs().round(9)
    facts = pd.DataFrame({"pair": pairs, "size": size}).drop_duplicates()
    rows = []
    for value, tied in facts.groupby("size"):
        if len(tied) != 2:
            continue
        first, second = tied["pair"]
        own = np.array([pair == first for pair in pairs]) & (size == value)
        found = {}
        for name, step in (("larger", 0.2), ("smaller", -0.2)):
            moved = part[column] + own * np.sign(part[column]) * step * HALF["CIDEr"]
            whole = both_ways(part.assign(**{column: moved}), COLUMNS)
            named = whole.assign(pair=whole["m2"] + " vs " + whole["m1"])
            result = correlation.correlate(named, "SxS", column, "pair", correlation.METHODS, 1)
            found[name] = result.set_index("method")["value"]
        for method in correlation.METHODS:
            rows.append([first, second, value, method, found["larger"][method], found["smaller"][method]])
    return pd.DataFrame(rows, columns=["first", "second", "size", "method", "larger", "smaller"])


def superiority(
    table: pd.DataFrame, first: str = "XM600", second: str = "COCO-DEV", n_resamples: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Return by how much side-by-side gains correlate more with one column than with another, with what left out.

    `table` as `comparisons`; every comparison counts in both directions, as in Table 6. Columns: left_out ("", a
    language or a model), method, first, second (the two correlations), difference, ci_low, ci_high (where nothing is
    left out: 95 % over pairs of models; with four models there are six), n (comparisons, each counted once).
    """
    table = table.assign(pair=table["m2"] + " vs " + table["m1"])
    parts = {"": table} | {lang: table[table["lang"] != lang] for lang in JUDGED}
    parts |= {model: table[(table["m2"] != model) & (table["m1"] != model)] for model in MODELS}
    rows = []
    for left_out, part in parts.items():
        whole = both_ways(part, COLUMNS)
        found = correlation.compare_correlations(
            whole, "SxS", first, second, "pair", n_resamples=1 if left_out else n_resamples, seed=seed
        )
        for row in found.itertuples():
            ends = [np.nan, np.nan] if left_out else [row.ci_low, row.ci_high]
            rows.append([left_out, row.method, row.first, row.second, row.value, *ends, len(part)])
    columns = ["left_out", "method", "first", "second", "difference", "ci_low", "ci_high", "n"]
    return pd.DataFrame(rows, columns=columns)


# --- Errata ---------------------------------------------------------------------------------------------------------


def report(n_resamples: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Return Table 6 as printed beside what the corrected Table 4 gives: method, lang, column, printed, corrected.

    Further columns: ci_low, ci_high (of the corrected value: 95 % over the six pairs of models), n (comparisons, each
    counted once). `corrected` says what the correction rests on.
    """
    names = {name: column for column, name in REFERENCES.items()}
    printed = published_rows().query("table == '6'")
    printed = pd.DataFrame(
        {
            "method": printed["metric"].str.split().str[0],
            "lang": printed["printed"].replace("", "all"),
            "column": printed["dataset"].map(names),
            "printed": printed["value"],
        }
    )
    found = correlations(corrected(), n_resamples=n_resamples, seed=seed).rename(columns={"value": "corrected"})
    table = printed.merge(found.drop(columns="slack"), on=["method", "lang", "column"], validate="one_to_one")
    return table.assign(n=table["n"] // 2)
