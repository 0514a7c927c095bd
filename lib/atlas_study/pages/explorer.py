"""The data of the explorer: all results as one script that its page loads."""

import base64
import gzip
import json
from collections.abc import Collection, Sequence

import pandas as pd
import pyarrow.parquet as pq

from babelatlas.analysis import recommendation
from babelatlas.analysis.all_results import BOARD, ROW, facts
from babelatlas.base import languages, licences, tables

DIGITS = 5  # of a fraction: a tenth of what a page shows, in percent
# Columns of results that refer to a list of the payload -> the column with its values.
REFERENCES = {"board": "id", "model": "model", "lang": "lang", "address": "address"}
VALUES = ["value", "ci_low", "ci_high", "baseline", "above"]
NUMBERS = ["parameters_m", "gflops", "memory_mib", "milliseconds"]  # of a model


def gallery_sizes(paths: Sequence[str]) -> dict[str, int]:
    """Return of `retrieval` tables how many images there are to choose from: data set
    -> number.
    """
    rows = [
        pq.read_table(
            tables.locate(path),
            columns=["dataset", "n_candidates"],
            filters=[("direction", "=", "t2i")],
        ).to_pandas()
        for path in paths
    ]
    if not rows:
        return {}
    return pd.concat(rows).groupby("dataset")["n_candidates"].max().to_dict()


def payload(table: pd.DataFrame, paged: Collection[str] = ()) -> dict:
    """Return what the explorer needs: boards, models and languages as records, rows as
    columns of numbers, and what is recommended in each language.

    In `rows`, board, model, lang and address are places in those lists; fractions have
    DIGITS digits; what is not known is None. `table`: as `all_results` gives it;
    `paged`: the languages that have a page.
    """
    rows, lists = {}, {}
    for column, values in REFERENCES.items():
        rows[column], lists[column] = pd.factorize(table[values])
    for column in VALUES:
        rows[column] = _with_none(table[column].round(DIGITS))
    rows["n"] = table["n"].astype(int)
    return {
        "boards": table.drop_duplicates("id")[BOARD].to_dict("records"),
        "models": _models(list(lists["model"])),
        "languages": _languages(list(lists["lang"]), paged),
        "addresses": list(lists["address"]),
        "rows": {column: rows[column].tolist() for column in ROW},
        "recommended": {lang: recommended(lang) for lang in lists["lang"]},
    }


def recommended(lang: str) -> list[dict[str, str]]:
    """Return which model to use in a language: the test and a sentence for each use that
    a reader needs (`recommendation.to_show`); none where no open model has a result
    that counts.
    """
    rows = recommendation.to_show(lang)
    return [
        {"test": row["title"], "text": recommendation.sentence(row)}
        for _, row in rows.iterrows()
    ]


def _models(names: list[str]) -> list[dict]:
    """Return the facts of models as records, with whether commercial use is free."""
    about = facts(names)
    about["commercial"] = licences.commercial(about["licence"])
    about[NUMBERS] = about[NUMBERS].apply(_with_none)
    return about.to_dict("records")


def _languages(codes: list[str], paged: Collection[str]) -> list[dict]:
    """Return languages as records: code, name, autonym, aliases, and whether they have
    a page.
    """
    about = languages.table().set_index("code").loc[codes]
    autonyms = languages.facts()["autonym"].reindex(codes).fillna("")
    aliases = about["iso639_3"] + " " + about["nllb"] + " " + about["aliases"]
    aliases = aliases.str.lower().str.replace("_", "-")
    return [
        {
            "code": code,
            "name": about.loc[code, "name"],
            "autonym": autonyms[code],
            "aliases": aliases[code].split(),
            "page": code in paged,
        }
        for code in codes
    ]


def _with_none(numbers: pd.Series) -> pd.Series:
    """Return numbers with None in place of NaN, which JSON does not have."""
    return numbers.astype(object).where(numbers.notna(), None)


def script(data: dict) -> str:
    """Return the script that the explorer loads: `payload` as JSON, compressed, in
    letters that mean nothing to HTML.

    A page on disk may load a script but no other file. `book/explorer.md` and
    `book/_files/explorer` are the page.
    """
    text = json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    packed = base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
    return f'window.ATLAS = "{packed}";\n'
