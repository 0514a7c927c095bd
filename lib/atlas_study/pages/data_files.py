"""The data files that readers download: a table and a JSON file for each language and
each model, an index of each kind, and sheets of labels.
"""

import json

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
    classes = table["classes"]
    enough = (classes == 0) | (classes >= verdicts.FEW)
    on_main_boards = table["id"].isin([verdicts.CAPTIONS, verdicts.LABELS])
    table = table[on_main_boards & enough & (table["lang"] != "en")]

    gains = usability.english_gains()
    gain = table["model"].map(gains).fillna(gains.mean())
    gain = gain * usability.part_of_gain(table["classes"])
    on_labels = table["id"] == verdicts.LABELS
    english = table["english"] + gain.where(on_labels, 0)
    excess = table["value"] - table["baseline"]
    half = excess >= verdicts.HALF * (english - table["baseline"])

    above = table["above"] == 1
    table = table.assign(
        benchmark=table["id"],
        above_baseline=above,
        above_half_of_english=above & half,
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
    return _language_files(table, codes) | _model_files(table)


def _language_files(table: pd.DataFrame, codes: list[str]) -> dict[str, str]:
    about = _about_languages(codes)
    texts = {"data/languages/index.csv": _csv(about, index=True)}
    facts = about.round(DIGITS)
    rows = table[table["lang"].isin(codes)]
    for lang, results in rows.groupby("lang"):
        path = f"data/languages/{lang}"
        known = facts.loc[lang].dropna().to_dict()
        texts[f"{path}.csv"] = _csv(_downloaded(results, "model"))
        texts[f"{path}.json"] = _json({"lang": lang} | known, results, "model")
    return texts


def _model_files(table: pd.DataFrame) -> dict[str, str]:
    about = _about_models(table)
    texts = {"data/models/index.csv": _csv(about, index=True)}
    facts = about.round(DIGITS)
    for model, results in table.groupby("model"):
        path = f"data/models/{model.replace(' ', '-')}"
        known = facts.loc[model].dropna().to_dict()
        texts[f"{path}.csv"] = _csv(_downloaded(results, "lang"))
        texts[f"{path}.json"] = _json({"model": model} | known, results, "lang")
    return texts


def _about_languages(codes: list[str]) -> pd.DataFrame:
    """Return what is known of languages and their verdicts: index lang."""
    names = languages.table().set_index("code").loc[codes]
    names = names[["name", "iso639_3", "family", "script_name"]]
    judgements = verdicts.verdicts().rename(columns={"id": "benchmark"})
    judgements = judgements.drop(columns=["title", "measure", "name"])
    about = names.join(languages.facts()).join(judgements)
    return about.rename_axis("lang")


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
    known_synsets = coverage.synsets()
    sheets = {}
    for code, rows in labels.shipped().groupby("lang"):
        if code in codes and code != labels.ENGLISH:
            n_rows = min(len(rows), SHEET_ROWS)
            sheet = label_sheets.sheet(rows, code, known_synsets, n_rows)
            sheets[code] = label_sheets.as_csv(sheet)
    return sheets


def _downloaded(results: pd.DataFrame, other: str) -> pd.DataFrame:
    """Return the columns of results that a file has; `other`: what varies within it,
    "model" or "lang".
    """
    rows = results.rename(columns={"id": "benchmark"})
    return rows[["benchmark", other, *COLUMNS]]


def _csv(table: pd.DataFrame, index: bool = False) -> str:
    return table.to_csv(index=index, float_format=f"%.{DIGITS}g")


def _json(facts: dict, results: pd.DataFrame, other: str) -> str:
    """Return a file of one language or model as JSON: facts about it, the benchmarks of
    its results, of a model their sources, and the results as columns.

    `other`: what varies within the file, "model" or "lang".
    """
    boards = results.drop_duplicates("id").set_index("id")
    boards = boards[["title", "task", "measure", "origin"]]
    content = {**facts, "benchmarks": boards.to_dict("index")}
    if other == "lang":
        content["sources"] = sorted({*results["address"]} - {""})
    rows = _downloaded(results, other).round(DIGITS)
    content["results"] = {name: _with_none(rows[name]) for name in rows}
    return json.dumps(
        content,
        ensure_ascii=False,
        default=float,
        separators=(",", ":"),
    )


def _with_none(column: pd.Series) -> list:
    """Return values with None in place of NaN, which JSON does not have."""
    values = column.astype(object)
    return values.where(column.notna(), None).tolist()
