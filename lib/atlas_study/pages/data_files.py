"""The data files that readers download: a table and a JSON file for each language and
each model, an index of each kind, and sheets of labels.
"""

import json
from collections.abc import Mapping

import pandas as pd

from babelatlas.analysis import all_results, coverage, usability, verdicts
from babelatlas.base import languages
from babelatlas.lexicon import label_sheets, labels

SHEET_ROWS = 100  # of a sheet of labels to correct, at most
DIGITS = 5  # of fractions in JSON, and significant ones in CSV
COLUMNS = ["value", "ci_low", "ci_high", "n", "baseline", "above"]


def support_by_model() -> pd.DataFrame:
    """Return the measured support of each open model, a row for each board of captions
    or labels: counts of languages.

    Columns: model, benchmark, languages (other than English), above_baseline,
    above_half_of_english (of those above the baseline, at least `verdicts.HALF` of the
    model's own result in English, beyond guessing). On Babel-ImageNet languages with at
    least `verdicts.FEW` classes count, and the English result is that among as many
    classes; of models for which nobody has published one with fewer classes, the mean
    gain of the others is taken.
    """
    table = verdicts.open_results()
    enough = (table["classes"] == 0) | (table["classes"] >= verdicts.FEW)
    main = table["id"].isin([verdicts.CAPTIONS, verdicts.LABELS])
    table = table[main & enough & (table["lang"] != "en")]

    gains = usability.english_gains()
    gain = table["model"].map(gains).fillna(gains.mean())
    gain = gain * usability.part_of_gain(table["classes"])
    english = table["english"] + gain.where(table["id"] == verdicts.LABELS, 0)
    excess = table["value"] - table["baseline"]
    half = excess >= verdicts.HALF * (english - table["baseline"])

    above = table["above"] == 1
    table = table.assign(
        benchmark=table["id"], above_baseline=above, above_half_of_english=above & half
    )
    counts = table.groupby(["benchmark", "model"], as_index=False, sort=False).agg(
        languages=("lang", "size"),
        above_baseline=("above_baseline", "sum"),
        above_half_of_english=("above_half_of_english", "sum"),
    )
    return counts.sort_values(
        ["benchmark", "above_half_of_english", "model"], ascending=[False, False, True]
    )


def files(table: pd.DataFrame, codes: list[str]) -> dict[str, str]:
    """Return the files of these languages and of all models, path below the book ->
    text; `table`: as `all_results.all_results` gives it.

    A language's have its results, what is known of it and its verdict, a model's its
    results, facts about it and how many languages it supports.
    """
    about_languages = _about_languages(codes)
    about_models = _about_models(table)
    texts = {
        "data/languages/index.csv": _csv(about_languages, index=True),
        "data/models/index.csv": _csv(about_models, index=True),
    }
    facts = about_languages.round(DIGITS)
    for lang, results in table[table["lang"].isin(codes)].groupby("lang"):
        path = f"data/languages/{lang}"
        texts[f"{path}.csv"] = _csv(_downloaded(results, "model"))
        head = {"lang": lang} | facts.loc[lang].dropna().to_dict()
        texts[f"{path}.json"] = _json(head, results, "model")

    facts = about_models.round(DIGITS)
    for model, results in table.groupby("model"):
        path = f"data/models/{model.replace(' ', '-')}"
        texts[f"{path}.csv"] = _csv(_downloaded(results, "lang"))
        head = {"model": model} | facts.loc[model].dropna().to_dict()
        sources = sorted({*results["address"]} - {""})
        texts[f"{path}.json"] = _json(head, results, "lang", {"sources": sources})
    return texts


def _about_languages(codes: list[str]) -> pd.DataFrame:
    """Return what is known of languages and their verdicts: index lang."""
    names = languages.table().set_index("code").loc[codes]
    names = names[["name", "iso639_3", "family", "script_name"]]
    judgements = verdicts.verdicts().drop(columns=["title", "measure", "name"])
    judgements = judgements.rename(columns={"id": "benchmark"})
    return names.join(languages.facts()).join(judgements).rename_axis("lang")


def _about_models(table: pd.DataFrame) -> pd.DataFrame:
    """Return the facts about the models of a table and `support_by_model`: index
    model.
    """
    counts = support_by_model().pivot(index="model", columns="benchmark")
    counts.columns = [f"{count}, {benchmark}" for count, benchmark in counts.columns]
    facts = all_results.facts(list(table["model"].unique()))
    return facts.set_index("model").join(counts)


def label_sheets_of(codes: list[str]) -> dict[str, str]:
    """Return the sheets by which speakers correct labels, language -> CSV, of these
    languages that have labels.
    """
    shipped = labels.shipped()
    known_synsets = coverage.synsets()
    sizes = shipped.groupby("lang").size().clip(upper=SHEET_ROWS).drop("en")
    return {
        code: label_sheets.as_csv(
            label_sheets.sheet(shipped, code, known_synsets, sizes[code])
        )
        for code in sizes.index.intersection(codes)
    }


def _downloaded(results: pd.DataFrame, other: str) -> pd.DataFrame:
    """Return the columns of results that a file has; `other`: what varies within it,
    "model" or "lang".
    """
    rows = results.rename(columns={"id": "benchmark"})
    return rows[["benchmark", other, *COLUMNS]]


def _csv(table: pd.DataFrame, index: bool = False) -> str:
    return table.to_csv(index=index, float_format=f"%.{DIGITS}g")


def _json(
    head: Mapping, results: pd.DataFrame, other: str, tail: Mapping | None = None
) -> str:
    """Return a file of one language or model as JSON: `head`, the benchmarks of its
    results, `tail`, and the results as columns.
    """
    boards = results.drop_duplicates("id").set_index("id")
    boards = boards[["title", "task", "measure", "origin"]]
    rows = _downloaded(results, other).round(DIGITS)
    columns = {
        name: rows[name].astype(object).where(rows[name].notna(), None).tolist()
        for name in rows
    }
    content = {
        **head,
        "benchmarks": boards.to_dict("index"),
        **(tail or {}),
        "results": columns,
    }
    return json.dumps(content, ensure_ascii=False, default=float, separators=(",", ":"))
