"""The numbers of COCO-SM (2023): the recalls, their deviations, and NDCG, computed again.

All follow from the reports that the authors released, by `coco_sm.spread` and `coco_sm.by_language`, which score our own
models too. A report has three decimals; so a mean is known to half a thousandth, a deviation to a little more.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.base import languages, published
from babelatlas.evaluation import coco_sm
from babelatlas.papers.scorecard import Definition

PAPER = coco_sm.SOURCE
# The README's names of models and of what the means are of, with ours.
MODELS = {"OpenCLIP": "OpenCLIP XLMR-B B-32", "UForm": "UForm multilingual v2"}
ROWS = {"Mean": "all", "Google Translate": "google", "Microsoft Translator": "bing", "Meta NLLB": "nllb"}
COLUMNS = {
    "Mean (all)": "all",
    "Mean (Google Translate)": "google",
    "Mean (Microsoft Translator)": "bing",
    "Mean (NLLB)": "nllb",
}
MISSPELT = {"Ukranian": "Ukrainian"}
HALF = 0.0005  # half a unit of the reports' last decimal
EXCLUDED = Path("meta") / "excluded.txt"


def _names() -> dict[str, str]:
    """Return the README's names of the languages by their code."""
    table = languages.table().set_index("code")["name"]
    spelt = {right: wrong for wrong, right in MISSPELT.items()}
    codes = sorted(set(coco_sm.published_report(MODELS["UForm"])["language"]))
    return {code: spelt.get(table[code], table[code]) for code in codes}


def _labels(direction: str) -> list[tuple[str, str, float]]:
    """Return the printed columns, the metrics of a report that they show, and the printed unit."""
    recalls = [(f"@ {k}", f"{direction}.recall@{k}", 100.0) for k in (1, 5, 10)]
    return [*recalls, ("NDCG", f"{direction}.ndcg@20", 1.0)]


def from_reports(english: bool = True, ddof: int = 1, direction: str = "t2i") -> pd.DataFrame:
    """Return every number of the README's two tables from the reports: columns cell, value, slack (printed units).

    `english` and `ddof` as in `coco_sm.spread`; `direction`: "t2i" or "i2t", as in the reports' columns.
    """
    rows, names = [], _names()
    for shown, model in MODELS.items():
        report = coco_sm.published_report(model)
        means = coco_sm.by_language(report).set_index("language")
        total = coco_sm.spread(report, english, ddof).set_index(["name", "metric"])
        for label, metric, unit in _labels(direction):
            recall = label != "NDCG"
            for code, name in names.items():
                cell = f"{name} | {shown} {label}" if recall else f"{shown} NDCG | {name}"
                rows.append([cell, unit * means.loc[code, metric], unit * HALF])
            for row, which in (ROWS if recall else COLUMNS).items():
                found = total.loc[(which, metric)]
                cell = f"{row} | {shown} {label}" if recall else f"{shown} NDCG | {row}"
                rows.append([f"{cell}, mean", unit * found["value"], unit * HALF])
                # Numbers that are each off by at most h have a deviation that is off by at most h sqrt(n / (n - ddof)).
                off = HALF * np.sqrt(found["n"] / (found["n"] - ddof))
                rows.append([f"{cell}, deviation", unit * found["sd"], unit * off])
    return pd.DataFrame(rows, columns=["cell", "value", "slack"])


def _from_reduced(folders) -> pd.DataFrame:
    """Return what the released reduced reports print, by the README's cells."""
    table, names = published.read(PAPER), _names()
    table = table[table["table"].str.endswith("_reduced.csv")]
    models = {ours: theirs for theirs, ours in MODELS.items()}
    rows = {code: name for name, code in ROWS.items()} | {coco_sm.MEAN: "Mean"}
    columns = {code: name for name, code in COLUMNS.items()} | {coco_sm.MEAN: "Mean (all)"}
    metrics = {coco_sm.METRICS[metric]: (label, unit) for label, metric, unit in _labels("t2i")}
    cells = []
    for row in table.itertuples():
        label, unit = metrics.get(row.metric.removesuffix(", sd"), ("", 0.0))
        if not label:
            continue
        over = (columns if label == "NDCG" else rows).get(row.variant)
        what = names[row.lang] if row.lang else over
        cell = f"{models[row.model]} NDCG | {what}" if label == "NDCG" else f"{what} | {models[row.model]} {label}"
        if not row.lang:
            cell += ", deviation" if row.metric.endswith(", sd") else ", mean"
        cells.append([cell, unit * row.value, 0.0])
    return pd.DataFrame(cells, columns=["cell", "value", "slack"])


def _sizes(folders) -> pd.DataFrame:
    report = coco_sm.published_report(MODELS["OpenCLIP"])
    sizes = {
        "languages besides English": report["language"].nunique() - 1,
        "translation systems": len(coco_sm.translators(report)),
    }
    return pd.DataFrame({"cell": list(sizes), "value": list(sizes.values()), "slack": 0.0})


def _excluded(folders: dict[str, Path]) -> pd.DataFrame:
    lines = (folders["coco-sm"] / EXCLUDED).read_text("utf-8").split()
    return pd.DataFrame({"cell": ["samples excluded"], "value": [len(lines)], "slack": [0.0]})


def _define(name: str, text: str, compute: Callable, needs: tuple[str, ...] = ()) -> Definition:
    return Definition(PAPER, name, text, compute, needs)


DEFINITIONS: tuple[Definition, ...] = (
    *(
        _define(
            f"reports, {'with' if english else 'without'} English, {kind} deviation",
            f"Text to image, mean over translators, then over the languages {'and' if english else 'without'} English; "
            f"the deviation is that of a {kind} (one of six that were tried).",
            lambda folders, english=english, ddof=ddof: from_reports(english, ddof),
        )
        for english in (True, False)
        for kind, ddof in (("sample", 1), ("population", 0))
    ),
    _define(
        "reports, image to text, with English, sample deviation",
        "The same in the other direction: the captions that an image asks for.",
        lambda folders: from_reports(direction="i2t"),
    ),
    _define("reduced reports", "Read in the reduced reports, which have three decimals.", _from_reduced),
    _define("counts of the reports", "Languages and translators of the reports.", _sizes),
    _define("lines of the list of excluded images", "Lines of meta/excluded.txt.", _excluded, ("coco-sm",)),
)


def errata(available: dict[str, Path] | None = None) -> pd.DataFrame:
    """Return what a reader of the README should know, each with the computation that shows it (`scorecard.errata`)."""
    with_, without = from_reports().set_index("cell")["value"], from_reports(False).set_index("cell")["value"]
    size = coco_sm.published_report(MODELS["OpenCLIP"])["language"].nunique()

    def told(table: pd.Series) -> str:
        means = {
            shown: ", ".join(
                f"{table[f'{shown} NDCG | {name}, mean']:.3f} ± {table[f'{shown} NDCG | {name}, deviation']:.3f} "
                f"({name.removeprefix('Mean (').removesuffix(')')})"
                for name in COLUMNS
            )
            for shown in MODELS
        }
        return "; ".join(f"{shown} {text}" for shown, text in means.items())

    higher = {
        which: sum(table[f"UForm NDCG | {name}, mean"] > table[f"OpenCLIP NDCG | {name}, mean"] for name in COLUMNS)
        for which, table in (("with", with_), ("without", without))
    }
    row = {
        "paper": PAPER,
        "place": "README, NDCG",
        "finding": f"All {len(MODELS) * len(COLUMNS)} means of NDCG count English, which the README does not say: it "
        "has no column in the table, and 1 by definition, since the ranking of the English query is what the others "
        "are compared with.",
        "evidence": f"Over {size} languages they are, as printed within rounding: {told(with_)}. Over the {size - 1} "
        f"languages of the table: {told(without)}.",
        "corrected": f"over the {size - 1} languages of the table {told(without)}",
        "conclusion": "No: the order of the two models stays."
        if higher["with"] == higher["without"] == len(COLUMNS)
        else "Yes: the order of the two models changes.",
        "kind": "follows",
        "sort": "remark",
    }
    return pd.DataFrame([row])
