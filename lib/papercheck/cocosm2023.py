"""The numbers of COCO-SM (2023): the recalls, their deviations, and NDCG, computed
again.

All follow from the reports that the authors released, by `spread` and `by_language`.
COCO-SM has the captions of COCO's Karpathy test split in English and, by three
translators, in 20 more languages; a report has a row for each language and translator.
The README does not say which deviation it prints: it is that of a sample (n - 1), and
English is one of the languages, also for NDCG, where it has 1 by definition. A report
has three decimals, so that a number computed from it may differ from the printed one by
a thousandth.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.base import languages, published, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import beside
from babelatlas.evaluation import retrieval
from papercheck import definitions
from papercheck.definitions import cells

PAPER = "cocosm2023"
# The README's names of models and of what the means are of, with ours.
MODELS = {"OpenCLIP": "OpenCLIP XLMR-B B-32", "UForm": "UForm multilingual v2"}
ROWS = {
    "Mean": "all",
    "Google Translate": "google",
    "Microsoft Translator": "bing",
    "Meta NLLB": "nllb",
}
COLUMNS = {
    "Mean (all)": "all",
    "Mean (Google Translate)": "google",
    "Mean (Microsoft Translator)": "bing",
}
COLUMNS |= {"Mean (NLLB)": "nllb"}
MISSPELT = {"Ukranian": "Ukrainian"}
# Columns of a report between `language` and `meta`, in the order of the original, with
# our names of the metrics.
WAYS = {"t2i": "text-to-image", "i2t": "image-to-text"}
METRICS = {
    f"{way}.recall@{k}": f"recall@{k} {name}"
    for way, name in WAYS.items()
    for k in (1, 5, 10)
}
METRICS |= {f"{way}.ndcg@20": f"NDCG@20 {name}" for way, name in WAYS.items()}
REPORT = ["language", *METRICS, "meta"]
HALF = 0.0005  # half a unit of the reports' last decimal
EXCLUDED = Path("meta") / "excluded.txt"
# The name of what is taken over all translators in the published numbers.
MEAN = "mean of translators"


def translators(report: pd.DataFrame) -> list[str]:
    """Return the translators of a report, in order of appearance."""
    return list(dict.fromkeys(report["meta"]))


def by_language(report: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over the translators for each language: columns language and
    those of `METRICS`.
    """
    return report.groupby("language", as_index=False)[list(METRICS)].mean()


def spread(report: pd.DataFrame, english: bool = True, ddof: int = 1) -> pd.DataFrame:
    """Return mean and standard deviation over languages: columns name, metric, value,
    sd, n (languages).

    `name` is "all" for the means over the translators, then each translator's. `ddof` 1
    is the deviation of a sample, 0 of a population; `english`: whether English counts
    as one of the languages. The defaults are COCO-SM's.
    """
    whole = {"all": by_language(report)} | {
        name: report[report["meta"] == name] for name in translators(report)
    }
    rows = []
    for name, part in whole.items():
        part = part if english else part[part["language"] != "en"]
        for metric in METRICS:
            rows.append(
                [
                    name,
                    metric,
                    part[metric].mean(),
                    part[metric].std(ddof=ddof),
                    len(part),
                ]
            )
    return pd.DataFrame(rows, columns=["name", "metric", "value", "sd", "n"])


def in_order(report: pd.DataFrame) -> pd.DataFrame:
    """Return a report sorted by language, then translators in their order of
    appearance.
    """
    place = {name: number for number, name in enumerate(translators(report))}
    report = report[REPORT].sort_values(
        "meta", key=lambda names: names.map(place), kind="stable"
    )
    return report.sort_values("language", kind="stable", ignore_index=True)


def report_of(table: pd.DataFrame) -> pd.DataFrame:
    """Return the report of a model's own results in the layout of the authors' script:
    REPORT, fractions, a row for each language and translator.

    `table`: schema `retrieval`, of one model and protocol; a set of captions is a
    translator. NDCG is NaN where it is not defined (other scores than cosines). Raises
    InputError for several models or protocols.
    """
    made = table[["model", "dataset", "choice", *tables.PROTOCOL]].drop_duplicates()
    if len(made) != 1:
        raise InputError(
            f"A report is of one model with one protocol, got {len(made)}: name the"
            " table of one."
        )
    found = {f"recall@{k}": retrieval.hits(table, k) for k in (1, 5, 10)}
    found["ndcg@20"] = table["ndcg20"].to_numpy(float)
    queries = table[["lang", "captions", "direction"]].assign(**found)
    means = queries.groupby(["lang", "captions", "direction"], sort=False).mean()
    means = means.unstack("direction")
    means.columns = [f"{way}.{metric}" for metric, way in means.columns]
    report = means.reset_index().rename(
        columns={"lang": "language", "captions": "meta"}
    )
    return in_order(report)


def reduced(report: pd.DataFrame) -> pd.DataFrame:
    """Return a report reduced as the authors' script does, as text: means over the
    translators for each language, then over languages, with standard deviations, of
    these means ("all") and of each translator.
    """
    columns = [name for name in REPORT if name != "meta"]
    languages_of = by_language(report).sort_values("language", kind="stable")
    texts = languages_of[columns].copy()
    for metric in METRICS:
        texts[metric] = [_three_decimals(value) for value in languages_of[metric]]
    total = spread(report).set_index(["name", "metric"])
    known = [name for name in ROWS.values() if name in total.index.levels[0]]
    rows = []
    for name in dict.fromkeys([*known, *translators(report)]):
        row = {"language": name}
        for metric in METRICS:
            found = total.loc[(name, metric)]
            ends = [_three_decimals(found[column]) for column in ("value", "sd")]
            row[metric] = " ± ".join(ends) if all(ends) else ""
        rows.append(row)
    return pd.concat([texts, pd.DataFrame(rows)[columns]], ignore_index=True)


def _three_decimals(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3f}"


def write_reports(table: pd.DataFrame, folder: str | os.PathLike) -> list[Path]:
    """Write `report.csv` and `report_reduced.csv` of a model's own results into a
    folder; return their paths.
    """
    report = report_of(table)
    written = []
    for name, part in {"report": report, "report_reduced": reduced(report)}.items():
        path = tables.locate(folder) / f"{name}.csv"
        with beside(path) as unfinished:
            part.to_csv(unfinished, index=False, float_format="%.3f")
        written.append(path)
    return written


def published_report(model: str) -> pd.DataFrame:
    """Return the published report of a model from the numbers that ship.

    >>> len(published_report("UForm multilingual v2"))
    63
    """
    table = published.read(PAPER)
    table = table[
        table["table"].str.startswith("reports/")
        & ~table["table"].str.endswith("_reduced.csv")
    ]
    table = table[table["model"] == model]
    names = {ours: theirs for theirs, ours in METRICS.items()}
    table = table.assign(metric=table["metric"].map(names))
    table = table.rename(columns={"lang": "language", "variant": "meta"})
    report = table.pivot_table(
        index=["language", "meta"], columns="metric", values="value", sort=False
    )
    return in_order(report.rename_axis(columns=None).reset_index())


def _names() -> dict[str, str]:
    """Return the README's names of the languages by their code."""
    table = languages.table().set_index("code")["name"]
    spelt = {right: wrong for wrong, right in MISSPELT.items()}
    codes = sorted(set(published_report(MODELS["UForm"])["language"]))
    return {code: spelt.get(table[code], table[code]) for code in codes}


def _labels(direction: str) -> list[tuple[str, str, float]]:
    """Return the printed columns, the metrics of a report that they show, and the
    printed unit.
    """
    recalls = [(f"@ {k}", f"{direction}.recall@{k}", 100.0) for k in (1, 5, 10)]
    return [*recalls, ("NDCG", f"{direction}.ndcg@20", 1.0)]


def _cell(shown: str, label: str, what: str) -> str:
    """Return a cell of the README: its table of recalls has the models in its head,
    that of NDCG at its side.
    """
    return f"{shown} NDCG | {what}" if label == "NDCG" else f"{what} | {shown} {label}"


def from_reports(
    english: bool = True, ddof: int = 1, direction: str = "t2i"
) -> pd.DataFrame:
    """Return every number of the README's two tables from the reports: columns cell,
    value, slack (printed units).

    `english` and `ddof` as in `spread`; `direction`: "t2i" or "i2t", as in the reports'
    columns.
    """
    rows, names = [], _names()
    for shown, model in MODELS.items():
        report = published_report(model)
        means = by_language(report).set_index("language")
        total = spread(report, english, ddof).set_index(["name", "metric"])
        for label, metric, unit in _labels(direction):
            for code, name in names.items():
                rows.append(
                    [
                        _cell(shown, label, name),
                        unit * means.loc[code, metric],
                        unit * HALF,
                    ]
                )
            for row, which in (COLUMNS if label == "NDCG" else ROWS).items():
                found, cell = total.loc[(which, metric)], _cell(shown, label, row)
                rows.append([f"{cell}, mean", unit * found["value"], unit * HALF])
                # Numbers that are each off by at most h have a deviation that is off by
                # at most h sqrt(n / (n - ddof)).
                off = HALF * np.sqrt(found["n"] / (found["n"] - ddof))
                rows.append([f"{cell}, deviation", unit * found["sd"], unit * off])
    return pd.DataFrame(rows, columns=["cell", "value", "slack"])


def from_reduced() -> pd.DataFrame:
    """Return what the released reduced reports print, by the README's cells."""
    table, names = published.read(PAPER), _names()
    models = {ours: theirs for theirs, ours in MODELS.items()}
    rows = {code: name for name, code in ROWS.items()} | {MEAN: "Mean"}
    columns = {code: name for name, code in COLUMNS.items()} | {MEAN: "Mean (all)"}
    metrics = {METRICS[metric]: (label, unit) for label, metric, unit in _labels("t2i")}
    metric = table["metric"].str.removesuffix(", sd")
    found = {}
    for row in table[
        table["table"].str.endswith("_reduced.csv") & metric.isin(list(metrics))
    ].itertuples():
        label, unit = metrics[row.metric.removesuffix(", sd")]
        over = (columns if label == "NDCG" else rows).get(row.variant)
        cell = _cell(models[row.model], label, names[row.lang] if row.lang else over)
        if not row.lang:
            cell += ", deviation" if row.metric.endswith(", sd") else ", mean"
        found[cell] = unit * row.value
    return cells(found)


def report_counts() -> pd.DataFrame:
    """Return the numbers of languages and of translation systems in the reports."""
    report = published_report(MODELS["OpenCLIP"])
    n_languages, n_systems = report["language"].nunique() - 1, len(translators(report))
    return cells(
        {"languages besides English": n_languages, "translation systems": n_systems}
    )


def excluded_images(folders: dict[str, Path]) -> pd.DataFrame:
    """Return the number of images that the release lists as excluded."""
    return cells(
        {
            "samples excluded": len(
                (folders["coco-sm"] / EXCLUDED).read_text("utf-8").split()
            )
        }
    )


DEFINITIONS = definitions.of_module(PAPER, "cocosm2023", globals())


def errata() -> pd.DataFrame:
    """Return what a reader of the README should know, each with the computation that
    shows it.
    """
    means, same = {}, True
    for name, english in (("counted", True), ("left_out", False)):
        values = from_reports(english).set_index("cell")["value"]
        mean, sd = (
            {
                (shown, column): values[f"{shown} NDCG | {column}, {what}"]
                for shown in MODELS
                for column in COLUMNS
            }
            for what in ("mean", "deviation")
        )
        told = {
            key: f"{mean[key]:.3f} ± {sd[key]:.3f} ({key[1].removeprefix('Mean (')}"
            for key in mean
        }
        means[name] = "; ".join(
            f"{shown} {', '.join(told[shown, column] for column in COLUMNS)}"
            for shown in MODELS
        )
        same &= all(
            mean["UForm", column] > mean["OpenCLIP", column] for column in COLUMNS
        )
    n_languages = published_report(MODELS["OpenCLIP"])["language"].nunique()
    facts = {
        "n_means": len(MODELS) * len(COLUMNS),
        "n_languages": n_languages,
        "n_without": n_languages - 1,
        "conclusion": (
            "No: the order of the two models stays."
            if same
            else "Yes: the order of the two models changes."
        ),
    }
    return definitions.errata(PAPER, "cocosm2023", {"ndcg-english": facts | means})
