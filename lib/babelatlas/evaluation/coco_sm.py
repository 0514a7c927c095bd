"""COCO-SM's report: recall and NDCG by language and translator, in the layout of the original's CSV files.

COCO-SM has the captions of COCO's Karpathy test split in English and, by three translators, in 20 more languages. Its
evaluation writes two files. The report has a row for each language and translator. The reduced one has for each
language the mean over the translators; then `all`, the mean of these means over the languages, ± their standard
deviation; then each translator alone, mean ± standard deviation over the languages. The README does not say which
deviation: it is that of a sample (n - 1), and English is one of the languages, also for NDCG, where it has 1 by
definition. Both follow from `eval.py` of https://github.com/unum-cloud/coco-sm, and from the published numbers, which
`cocosm2023.reproduced` makes again. Numbers in the files have 3 decimals.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.base import tables
from babelatlas.base.errors import InputError

# Columns of a report between `language` and `meta`, in the order of the original, with our names of the metrics.
WAYS = {"t2i": "text-to-image", "i2t": "image-to-text"}
METRICS = {f"{way}.recall@{k}": f"recall@{k} {name}" for way, name in WAYS.items() for k in (1, 5, 10)}
METRICS |= {f"{way}.ndcg@20": f"NDCG@20 {name}" for way, name in WAYS.items()}
COLUMNS = ["language", *METRICS, "meta"]
# The translators as the README of COCO-SM calls them.
TRANSLATORS = {"google": "Google Translate", "bing": "Microsoft Bing Translator", "nllb": "NLLB"}


def report(retrieval: pd.DataFrame) -> pd.DataFrame:
    """Return the report of one model: a row for each language and translator, sorted by language.

    `retrieval`: rows of schema `retrieval`; its column `captions` names the translator, the report's `meta`. Columns:
    language, the metrics of `METRICS` (fractions), meta. A recall is the expected one under random ties
    (`retrieval.hits`); an NDCG is NaN where a language has no query that has one.
    Raises InputError for several models, data sets or protocols, and where a language lacks one of the directions.
    """
    from babelatlas.evaluation import retrieval as ranks

    tables.check(retrieval, "retrieval")
    for column in ("model", "dataset", "choice", *tables.PROTOCOL):
        values = sorted(retrieval[column].unique())
        if len(values) != 1:
            raise InputError(f"A report is of one {column}, got {', '.join(values) or 'none'}: select one of them.")
    values = retrieval[["captions", "lang", "direction"]].assign(**{"ndcg@20": retrieval["ndcg20"]})
    for k in (1, 5, 10):
        values[f"recall@{k}"] = ranks.hits(retrieval, k)
    means = values.groupby(["lang", "captions", "direction"], sort=False).mean().unstack("direction")
    means.columns = [f"{direction}.{metric}" for metric, direction in means.columns]
    sizes = values.groupby(["lang", "captions"])["direction"].nunique()
    if (sizes < 2).any():
        lang, captions = sizes[sizes < 2].index[0]
        raise InputError(f"The captions {captions!r} in {lang} have queries in one direction only: evaluate both.")
    table = means.reset_index().rename(columns={"lang": "language", "captions": "meta"})
    return in_order(table)


def translators(report: pd.DataFrame) -> list[str]:
    """Return the translators of a report, in order of appearance."""
    return list(dict.fromkeys(report["meta"]))


def spread(report: pd.DataFrame, english: bool = True, ddof: int = 1) -> pd.DataFrame:
    """Return mean and standard deviation over languages: columns name, metric, value, sd, n (languages).

    `name` is "all" for the means over the translators, then each translator's. `ddof` 1 is the deviation of a sample,
    0 of a population; `english`: whether English counts as one of the languages. The defaults are COCO-SM's. Raises
    InputError where a language lacks a translator or a metric that others have.
    """
    _check(report)
    for metric in METRICS:
        gaps = report["language"][report[metric].isna()].tolist()
        if 0 < len(gaps) < len(report):
            raise InputError(f"The report has no {metric} in {gaps[0]}: a mean over languages needs it in all or none.")
    there = pd.crosstab(report["language"], report["meta"])
    lacking = np.argwhere(there.to_numpy() == 0)
    if len(lacking):
        row, column = lacking[0]
        raise InputError(
            f"The report has {there.index[row]} not by {there.columns[column]}: a mean over translators needs all "
            "languages by all of them."
        )
    whole = {"all": by_language(report)} | {
        name: report[report["meta"] == name].drop(columns="meta") for name in translators(report)
    }
    rows = []
    for name, part in whole.items():
        part = part if english else part[part["language"] != "en"]
        if len(part) < 2:
            raise InputError(f"A deviation over languages needs two of them, and {name!r} has {len(part)}.")
        for metric in METRICS:
            rows.append([name, metric, part[metric].mean(), part[metric].std(ddof=ddof), len(part)])
    return pd.DataFrame(rows, columns=["name", "metric", "value", "sd", "n"])


def by_language(report: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over the translators for each language: columns language and those of `METRICS`."""
    return report.groupby("language", as_index=False)[list(METRICS)].mean()


def complete(report: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that `reduced` can be made of: of languages with every translator and every metric there is."""
    _check(report)
    metrics = [metric for metric in METRICS if report[metric].notna().any()]
    there = report["meta"].where(report[metrics].notna().all(axis=1))
    return report[there.groupby(report["language"]).transform("nunique") == len(translators(report))]


def reduced(report: pd.DataFrame) -> pd.DataFrame:
    """Return the reduced report, all cells text with 3 decimals as the original prints them.

    Raises InputError for a report of one translator, which has no reduced one, and where a language lacks a translator.
    """
    if len(translators(report)) < 2:
        raise InputError(
            f"A reduced report is a mean over translators, and this report has {len(translators(report))}: read the "
            "report itself."
        )
    table = by_language(report)
    for metric in METRICS:
        table[metric] = ["" if np.isnan(value) else f"{value:.3f}" for value in table[metric]]
    total = spread(report)
    texts = [f"{row.value:.3f} ± {row.sd:.3f}" for row in total.itertuples()]
    total["text"] = pd.Series(texts).where(total["value"].notna(), "")
    rows = total.pivot_table(index="name", columns="metric", values="text", aggfunc="first", sort=False)
    rows = rows[list(METRICS)].rename_axis(index="language", columns=None).reset_index()
    return pd.concat([table, rows], ignore_index=True)


def write_report(report: pd.DataFrame, path: str | os.PathLike) -> list[Path]:
    """Write a report to a CSV file, and where it has several translators the reduced one next to it; return the paths.

    The second is called as the first with `_reduced` before `.csv`; it is of the languages that `complete` keeps, and
    left out where these are fewer than two. Raises InputError for another ending, and for a table that is no report.
    """
    path = tables.locate(path)
    if path.suffix != ".csv":
        raise InputError(f"A report is written as CSV, got {path.name!r}: let the name end in .csv.")
    _check(report)
    parts = [(path, report[COLUMNS])]
    whole = complete(report)
    if len(translators(report)) > 1 and len(set(whole["language"])) > 1:
        parts.append((path.with_name(f"{path.stem}_reduced.csv"), reduced(whole)))
    for place, part in parts:
        with tables.beside(place) as part_file:
            part.to_csv(part_file, index=False, float_format="%.3f", lineterminator="\n")
    return [place for place, _ in parts]


def in_order(report: pd.DataFrame) -> pd.DataFrame:
    """Return a report sorted by language, then translators in their order of appearance."""
    place = {name: number for number, name in enumerate(translators(report))}
    report = report[COLUMNS].sort_values("meta", key=lambda names: names.map(place), kind="stable")
    return report.sort_values("language", kind="stable", ignore_index=True)


def _check(report: pd.DataFrame) -> None:
    """Raise InputError unless a table has the columns of a report, rows, and each language and translator once."""
    lacking = [column for column in COLUMNS if column not in report]
    if lacking:
        raise InputError(f"A report has no column {', '.join(lacking)}: expected {', '.join(COLUMNS)}.")
    if report.empty:
        raise InputError("A report has no rows: expected one for each language and translator.")
    double = report[report.duplicated(["language", "meta"])]
    if len(double):
        row = double.iloc[0]
        raise InputError(f"A report has language {row['language']} by {row['meta']} twice: keep one row.")
