"""Thapliyal et al. (2022), Crossmodal-3600: what does not fit; the sentences lie in
`data/errata`.
"""

from collections.abc import Iterable, Sequence
from itertools import product

import pandas as pd

from babelatlas.stats import correlation
from papercheck import definitions
from papercheck import thapliyal2022 as paper

METHODS = [method.title() for method in correlation.METHODS]  # as the paper prints them


def errata() -> pd.DataFrame:
    """Return the inconsistencies of the paper, as `definitions.errata` does."""
    facts = (
        _table_4_facts()
        | _table_5_facts()
        | _coefficient_facts()
        | _size_facts()
        | _text_facts()
    )
    facts |= _table_1_facts()
    later = _later_facts()
    return definitions.errata(
        paper.SOURCE,
        "thapliyal2022",
        {name: found | later for name, found in facts.items()},
    )


def _table_4_facts() -> dict[str, dict]:
    """Return what concerns Table 4: its signs, and the rows that have the numbers of
    another pair of models.
    """
    printed, scores = paper.comparisons(), paper.cider()
    best = scores["XM3600"].groupby("lang").idxmax().map(lambda key: key[0])
    plain = {row: row for row in paper.assignment()}
    turned = {row: row[::-1] for row in plain}
    moved = {
        row: pair[::-1] for row, pair in paper.assignment().items() if pair[::-1] != row
    }
    through = paper.through_others(printed, "XM600")
    usual = {
        "n_rows": len(printed),
        "n_cells": 2 * len(printed),
        "n_turned": _agreeing(turned),
    }
    return {
        "signs": (
            usual
            | {
                "n_negative": (printed["SxS"] < 0).sum(),
                "first": paper.MODELS[0],
                "best": ", ".join(sorted(set(best))),
                "n_languages": best.size,
                "n_plain": _agreeing(plain),
                "cells": _cells(
                    map(" | ".join, plain), paper.JUDGED, ("SxS", *paper.cider())
                ),
            }
        ),
        "pairs": (
            usual
            | {
                "n_moved": len(moved),
                "n_pairs": len(plain),
                "moved": "; ".join(
                    f"{m2} against {m1} has those of {a} and {b}"
                    for (m2, m1), (a, b) in moved.items()
                ),
                "n_assigned": _agreeing(paper.assignment()),
                "n_adding": (
                    (
                        (through - printed["XM600"]).abs()
                        <= paper.HALF["CIDEr"] + paper.DIFFERENCE + 1e-9
                    ).sum()
                ),
                "cells": _cells(
                    map(" | ".join, moved), paper.JUDGED, ("XM3600", "COCO-DEV")
                ),
            }
        ),
    }


def _table_5_facts() -> dict[str, dict]:
    """Return what concerns Table 5: two values in Chinese."""
    printed, fixed = (
        paper.cider(which)["COCO-DEV"].xs("zh", level="lang") for which in (False, True)
    )
    return {
        "chinese": {
            "printed": printed,
            "fixed": fixed,
            "n_cells": 2 * len(paper.comparisons()),
            "n_printed": _agreeing(paper.assignment()),
            "n_fixed": _agreeing(paper.assignment(), True),
        }
    }


def _coefficient_facts() -> dict[str, dict]:
    """Return what concerns the coefficients of Table 6, those of rows that have other
    models' numbers.
    """
    tables = paper.comparisons(), paper.corrected(), paper.corrected(fixed=False)
    as_printed, fixed, unfixed = map(_overall, tables)
    tied = paper.tie_orders("hi", "COCO-DEV").set_index("method")
    orders = " or ".join(
        ", ".join(
            f"{method.title()} {tied.loc[method, name]:.2f}"
            for method in ("spearman", "kendall")
        )
        for name in ("larger", "smaller")
    )
    every = paper.correlations(paper.corrected()).query("lang != 'all'")
    every = every.pivot(index=["method", "lang"], columns="column", values="value")
    ahead_by = paper.superiority(paper.corrected()).set_index(["left_out", "method"])
    left = ahead_by.loc[[(model, "pearson") for model in paper.MODELS]].reset_index(
        "method"
    )
    return {
        "coefficients": {
            "printed": _listed(as_printed, ["XM3600", "COCO-DEV"]),
            "first": " and ".join(tied["first"].iloc[0]),
            "second": " and ".join(tied["second"].iloc[0]),
            "size": tied["size"].iloc[0],
            "orders": orders,
            "fixed": _listed(fixed, ["XM3600", "COCO-DEV"]),
            "xm600": _listed(fixed, ["XM600"]).removeprefix("XM600 "),
            "unfixed": unfixed["pearson", "COCO-DEV"],
            "pearson_xm600": fixed["pearson", "XM600"],
            "pearson_coco": fixed["pearson", "COCO-DEV"],
            "n_ahead": (every["XM600"] > every["COCO-DEV"] + 1e-9).sum(),
            "n_every": len(every),
            "spearman": _between(ahead_by.loc["", "spearman"]),
            "kendall": _between(ahead_by.loc["", "kendall"]),
            "n_pairs": len(paper.assignment()),
            "n_models": len(paper.MODELS),
            "n_left": left["n"].iloc[0],
            "without": "; ".join(
                f"{model} {row['first']:.2f} and {row['second']:.2f}"
                for model, row in left.iterrows()
            ),
            "cells": _cells(METHODS, ("all", *paper.JUDGED), ("XM3600", "COCO-DEV")),
        }
    }


def _size_facts() -> dict[str, dict]:
    """Return what concerns the sample sizes of Table 6."""
    n, once = len(paper.comparisons()), _overall(paper.comparisons(), mirrored=False)
    return {
        "sizes": {
            "n": n,
            "twice": 2 * n,
            "once": _listed(once, ["XM600"]).removeprefix("XM600 "),
            "n_each": n // len(paper.JUDGED),
            "n_models": len(paper.MODELS),
            "cells": _cells(METHODS, ("all", *paper.JUDGED), ["N"]),
        }
    }


def _text_facts() -> dict[str, dict]:
    """Return what concerns the text: characters per caption, and parameters of models."""
    letters = paper.captions().set_index("lang")["characters"]
    sizes = {
        name: paper.text_parameters(**facts) / 1e6
        for name, facts in paper.TEXT_MODELS.items()
    }
    bare = {
        name: paper.text_parameters(**facts, embeddings=False) / 1e6
        for name, facts in paper.TEXT_MODELS.items()
    }
    return {
        "characters": {
            "letters": letters,
            "highest": letters.idxmax(),
            "most": letters.max(),
            "lowest": letters.idxmin(),
            "fewest": letters.min(),
        },
        "parameters": {
            "shown": ", ".join(
                f"{name} {sizes[name]:.0f} million, {bare[name]:.0f} without embeddings"
                for name in sizes
            ),
            "sizes": ", ".join(
                f"{name} {size:.0f} million" for name, size in sizes.items()
            ),
        },
    }


def _table_1_facts() -> dict[str, dict]:
    """Return what concerns Table 1: numbers of captions that are not those of the
    release.
    """
    table, release = paper.captions().set_index("lang"), paper.released_captions()
    counts, released = table["captions"], release["captions"].astype(int)
    lengths = release["characters"] / released
    gaps = (lengths - table["characters"]).abs().sort_values(kind="stable")
    off = counts.index[released.reindex(counts.index) != counts]
    shown = " and ".join(
        f"{lang} {released[lang]:,} (printed {counts[lang]:,})" for lang in off
    )
    twins = table.index[
        (
            table[list(paper.REPLICATION)] == table.loc["fil", list(paper.REPLICATION)]
        ).all(axis=1)
    ]
    dutch = table.loc["nl"]
    needed, fewer = (
        (n["nl"] - dutch["one"] - 2 * dutch["two"]) / dutch["more"]
        for n in (released, counts)
    )
    return {
        "captions": {
            "off": " and ".join(off),
            "shown": shown,
            "corrected": shown.replace("printed", "for"),
            "n_others": len(counts) - len(off),
            "twins": " and ".join(twins),
            "needed": needed,
            "fewer": fewer,
            "length": lengths["nl"],
            "said": dutch["characters"],
            "most": gaps.iloc[-2],
            "n_lengths": (gaps > 0.05).sum(),
            "released": released.sum(),
            "printed": counts.sum(),
            "cells": (
                *(f"{lang} | Num. Cap." for lang in off),
                *(f"{lang} | Num. Chars" for lang in gaps.index[gaps > 0.05]),
            ),
        }
    }


def _later_facts() -> dict:
    """Return what the proceedings print of all this: differences, two values in
    Chinese, coefficients, captions.
    """
    rows, scores = (
        paper.comparisons(paper.PROCEEDINGS),
        paper.cider(source=paper.PROCEEDINGS),
    )
    core = rows["lang"].isin(paper.JUDGED)
    printed = paper.published_rows(paper.PROCEEDINGS).query("table == '6'")
    found = {}
    for name, part in {
        "core": rows[core],
        "extended": rows[~core],
        "all": rows,
    }.items():
        found |= {(name, *key): value for key, value in _overall(part).items()}
    names = [
        (
            row.group,
            row.metric.split()[0],
            {file: column for column, file in paper.REFERENCES.items()}[row.dataset],
        )
        for row in printed.itertuples()
    ]
    off = [
        abs(found[name] - value)
        for name, value in zip(names, printed["value"], strict=True)
    ]
    captions = paper.captions(paper.PROCEEDINGS).set_index("lang")
    counts = captions["captions"]
    pairs = {row: row for row in paper.assignment()}
    return {
        "later_n": 2 * core.sum(),
        "later_plain": _agreeing(pairs, source=paper.PROCEEDINGS),
        "later_turned": _agreeing(
            {row: row[::-1] for row in pairs}, source=paper.PROCEEDINGS
        ),
        "later_chinese": scores["COCO-DEV"].xs("zh", level="lang"),
        "later_core": _listed(_overall(rows[core]), ["XM3600", "COCO-DEV"]),
        "later_coefficients": len(off),
        "later_off": max(off),
        "later_captions": (
            f"fil {counts['fil']:,} and nl {counts['nl']:,}, {counts.sum():,} in all"
        ),
        "later_length": captions.loc["nl", "characters"],
        "later_least": captions["characters"].idxmin(),
        "later_least_length": captions["characters"].min(),
    }


def _cells(*parts: Iterable[str]) -> tuple[str, ...]:
    """Return the cells that have one of each of the parts."""
    return tuple(map(" | ".join, product(*parts)))


def _agreeing(
    pairs: dict[tuple[str, str], tuple[str, str]],
    fixed: bool = False,
    source: str = paper.SOURCE,
) -> int:
    """Return how many printed cells of Table 4 agree with Table 5, where its rows are
    the given pairs of models.
    """
    scores, printed = paper.cider(fixed, source), paper.comparisons(source)
    scores = scores[scores.index.get_level_values("lang").isin(paper.JUDGED)]
    printed = printed[printed["lang"].isin(paper.JUDGED)]
    computed = paper.differences(scores, pairs)
    return int(
        paper.met(printed, computed, scores.columns, paper.HALF["difference"])
        .to_numpy()
        .sum()
    )


def _overall(table: pd.DataFrame, mirrored: bool = True) -> pd.Series:
    """Return the correlations over all languages: index (method, column)."""
    found = paper.correlations(table, mirrored).query("lang == 'all'")
    return found.set_index(["method", "column"])["value"]


def _listed(values: pd.Series, columns: Sequence[str]) -> str:
    """Return coefficients as text: for each column those of all methods."""
    return " and ".join(
        f"{column} "
        + ", ".join(
            f"{method.title()} {values[method, column]:.2f}"
            for method in correlation.METHODS
        )
        for column in columns
    )


def _between(row: pd.Series) -> str:
    return f"{row['difference']:.2f} ({row['ci_low']:.2f} to {row['ci_high']:.2f})"
