"""The numbers of COCO-SM (2023): the recalls, their deviations, and NDCG, computed again.

All follow from the reports that the authors released, by `coco_sm.spread` and `coco_sm.by_language`, which score our
own models too. A report has three decimals; so a mean is known to half a thousandth, a deviation to a little more. What
is computed from a report may differ from what its authors printed by a thousandth: half of it is the input's, whose
mean errs by no more, and half the print's.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.base import languages, published
from babelatlas.base.errors import InputError
from babelatlas.evaluation import coco_sm
from babelatlas.papers import definitions
from babelatlas.papers.definitions import cells

PAPER = "cocosm2023"
# The README's names of models and of what the means are of, with ours.
MODELS = {"OpenCLIP": "OpenCLIP XLMR-B B-32", "UForm": "UForm multilingual v2"}
ROWS = {"Mean": "all", "Google Translate": "google", "Microsoft Translator": "bing", "Meta NLLB": "nllb"}
COLUMNS = {"Mean (all)": "all", "Mean (Google Translate)": "google", "Mean (Microsoft Translator)": "bing"}
COLUMNS |= {"Mean (NLLB)": "nllb"}
MISSPELT = {"Ukranian": "Ukrainian"}
HALF = 0.0005  # half a unit of the reports' last decimal
EXCLUDED = Path("meta") / "excluded.txt"
# The names of what is taken over all translators, and over all languages, in the published numbers.
MEAN, LANGUAGES = "mean of translators", "all 21 languages"


def published_report(model: str) -> pd.DataFrame:
    """Return the published report of a model from the numbers that ship; raises InputError for an unknown model.

    >>> len(published_report("UForm multilingual v2"))
    63
    """
    table = published.read(PAPER)
    table = table[table["table"].str.startswith("reports/") & ~table["table"].str.endswith("_reduced.csv")]
    known = list(dict.fromkeys(table["model"]))
    if model not in known:
        raise InputError(f"There is no published report of {model!r} on COCO-SM: expected {' or '.join(known)}.")
    table = table[table["model"] == model]
    names = {ours: theirs for theirs, ours in coco_sm.METRICS.items()}
    wide = table.assign(metric=table["metric"].map(names)).rename(columns={"lang": "language", "variant": "meta"})
    wide = wide.pivot_table(index=["language", "meta"], columns="metric", values="value", sort=False)
    return coco_sm.in_order(wide.rename_axis(columns=None).reset_index())


def scores(report: pd.DataFrame, model: str) -> pd.DataFrame:
    """Return what follows from a report, named as the published numbers are.

    Columns: model, lang, group, variant, metric, value.
    Rows: each cell of the report (`variant`: the translator); the means over the translators (`MEAN`); and over all
    languages (`group`: `LANGUAGES`, lang "") the means and, with ", sd" after the metric, the deviations of
    `coco_sm.spread`. `published.compare` sets them against the printed ones.
    """
    cells = report.rename(columns={"language": "lang", "meta": "variant"})
    means = coco_sm.by_language(report).rename(columns={"language": "lang"}).assign(variant=MEAN)
    whole = pd.concat([cells, means]).melt(["lang", "variant"], list(coco_sm.METRICS), "metric").assign(group="")
    total = coco_sm.spread(report).rename(columns={"name": "variant"}).replace({"variant": {"all": MEAN}})
    total = total.assign(lang="", group=LANGUAGES)
    whole["metric"], total["metric"] = whole["metric"].map(coco_sm.METRICS), total["metric"].map(coco_sm.METRICS)
    deviations = total.assign(metric=total["metric"] + ", sd", value=total["sd"])
    table = pd.concat([whole, total, deviations], ignore_index=True).assign(model=model)
    return table[["model", "lang", "group", "variant", "metric", "value"]]


def reproduced() -> pd.DataFrame:
    """Return every number that the authors computed from their reports, with ours from the same reports.

    Columns: model, lang, group, variant, metric, value_ours, value_published, difference (in points of a percent) and
    the others of the schema `published`; `table` says where it is printed: reduced reports and README.
    """
    printed = published.read(PAPER)
    printed = printed[~printed["table"].str.startswith("reports/") | printed["table"].str.endswith("_reduced.csv")]
    ours = pd.concat([scores(published_report(model), model) for model in printed["model"].unique()])
    return published.compare(ours, printed, ["model", "lang", "group", "variant", "metric"])


def _names() -> dict[str, str]:
    """Return the README's names of the languages by their code."""
    table = languages.table().set_index("code")["name"]
    spelt = {right: wrong for wrong, right in MISSPELT.items()}
    codes = sorted(set(published_report(MODELS["UForm"])["language"]))
    return {code: spelt.get(table[code], table[code]) for code in codes}


def _labels(direction: str) -> list[tuple[str, str, float]]:
    """Return the printed columns, the metrics of a report that they show, and the printed unit."""
    recalls = [(f"@ {k}", f"{direction}.recall@{k}", 100.0) for k in (1, 5, 10)]
    return [*recalls, ("NDCG", f"{direction}.ndcg@20", 1.0)]


def _cell(shown: str, label: str, what: str) -> str:
    """Return a cell of the README: its table of recalls has the models in its head, that of NDCG at its side."""
    return f"{shown} NDCG | {what}" if label == "NDCG" else f"{what} | {shown} {label}"


def from_reports(english: bool = True, ddof: int = 1, direction: str = "t2i") -> pd.DataFrame:
    """Return every number of the README's two tables from the reports: columns cell, value, slack (printed units).

    `english` and `ddof` as in `coco_sm.spread`; `direction`: "t2i" or "i2t", as in the reports' columns.
    """
    rows, names = [], _names()
    for shown, model in MODELS.items():
        report = published_report(model)
        means = coco_sm.by_language(report).set_index("language")
        total = coco_sm.spread(report, english, ddof).set_index(["name", "metric"])
        for label, metric, unit in _labels(direction):
            for code, name in names.items():
                rows.append([_cell(shown, label, name), unit * means.loc[code, metric], unit * HALF])
            for row, which in (COLUMNS if label == "NDCG" else ROWS).items():
                found, cell = total.loc[(which, metric)], _cell(shown, label, row)
                rows.append([f"{cell}, mean", unit * found["value"], unit * HALF])
                # Numbers that are each off by at most h have a deviation that is off by at most h sqrt(n / (n - ddof)).
                off = HALF * np.sqrt(found["n"] / (found["n"] - ddof))
                rows.append([f"{cell}, deviation", unit * found["sd"], unit * off])
    return pd.DataFrame(rows, columns=["cell", "value", "slack"])


def from_reduced() -> pd.DataFrame:
    """Return what the released reduced reports print, by the README's cells."""
    table, names = published.read(PAPER), _names()
    models = {ours: theirs for theirs, ours in MODELS.items()}
    rows = {code: name for name, code in ROWS.items()} | {MEAN: "Mean"}
    columns = {code: name for name, code in COLUMNS.items()} | {MEAN: "Mean (all)"}
    metrics = {coco_sm.METRICS[metric]: (label, unit) for label, metric, unit in _labels("t2i")}
    metric = table["metric"].str.removesuffix(", sd")
    found = {}
    for row in table[table["table"].str.endswith("_reduced.csv") & metric.isin(list(metrics))].itertuples():
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
    n_languages, n_systems = report["language"].nunique() - 1, len(coco_sm.translators(report))
    return cells({"languages besides English": n_languages, "translation systems": n_systems})


def excluded_images(folders: dict[str, Path]) -> pd.DataFrame:
    """Return the number of images that the release lists as excluded."""
    return cells({"samples excluded": len((folders["coco-sm"] / EXCLUDED).read_text("utf-8").split())})


DEFINITIONS = definitions.read(PAPER, "cocosm2023", globals())


def errata() -> pd.DataFrame:
    """Return what a reader of the README should know, each with the computation that shows it."""
    means, same = {}, True
    for name, english in (("counted", True), ("left_out", False)):
        values = from_reports(english).set_index("cell")["value"]
        mean, sd = (
            {(shown, column): values[f"{shown} NDCG | {column}, {what}"] for shown in MODELS for column in COLUMNS}
            for what in ("mean", "deviation")
        )
        told = {key: f"{mean[key]:.3f} ± {sd[key]:.3f} ({key[1].removeprefix('Mean (')}" for key in mean}
        means[name] = "; ".join(f"{shown} {', '.join(told[shown, column] for column in COLUMNS)}" for shown in MODELS)
        same &= all(mean["UForm", column] > mean["OpenCLIP", column] for column in COLUMNS)
    n_languages = published_report(MODELS["OpenCLIP"])["language"].nunique()
    facts = {
        "n_means": len(MODELS) * len(COLUMNS),
        "n_languages": n_languages,
        "n_without": n_languages - 1,
        "conclusion": "No: the order of the two models stays." if same else "Yes: the order of the two models changes.",
    }
    return definitions.errata(PAPER, "cocosm2023", {"ndcg-english": facts | means})
