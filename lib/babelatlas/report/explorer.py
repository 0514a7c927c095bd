"""The data of the explorer, the page on which readers filter all results: tables in, one script out.

A page on disk may load a script but no other file, so that the data are in one, compressed. `book/explorer.md` and
`book/_files/explorer` are the page.
"""

import base64
import gzip
import json
from collections.abc import Collection

import pandas as pd

from babelatlas.base import languages
from babelatlas.report import results
from babelatlas.report.results import BOARD, ROW

DIGITS = 5  # of a fraction: a tenth of what a page shows, in percent


def payload(
    scores: pd.DataFrame | None = None, images: dict[str, int] | None = None, paged: Collection[str] = ()
) -> dict:
    """Return what the page needs: boards, models and languages as records, rows as columns of numbers.

    In `rows`, board, model, lang and address are places in those lists; fractions have DIGITS digits; what is not
    known is None. `paged`: the languages that have a page; the other arguments as of `results.all_results`.
    """
    table = results.all_results(scores, images)
    coded, lists = {}, {}
    for column, by in (("board", "id"), ("model", "model"), ("lang", "lang"), ("address", "address")):
        coded[column], lists[column] = pd.factorize(table[by])
    numbers = table[["value", "ci_low", "ci_high", "baseline", "above"]].round(DIGITS)
    coded |= {column: _plain(numbers[column]) for column in numbers} | {"n": table["n"].astype(int)}
    names = languages.table().set_index("code").loc[lists["lang"]]
    aliases = (names["iso639_3"] + " " + names["nllb"] + " " + names["aliases"]).str.lower().str.replace("_", "-")
    facts = results.facts(list(lists["model"]))
    return {
        "boards": table.drop_duplicates("id")[BOARD].to_dict("records"),
        "models": facts.assign(**facts[["parameters_m", "gflops", "memory_mib", "milliseconds"]].apply(_plain)).to_dict(
            "records"
        ),
        "languages": [
            {"code": code, "name": name, "aliases": other.split(), "page": code in paged}
            for code, name, other in zip(names.index, names["name"], aliases, strict=True)
        ],
        "addresses": list(lists["address"]),
        "rows": {column: coded[column].tolist() for column in ROW},
    }


def _plain(numbers: pd.Series) -> pd.Series:
    return numbers.astype(object).where(numbers.notna(), None)


def script(data: dict) -> str:
    """Return the script that a page loads: `payload` as JSON, compressed, in letters that mean nothing to HTML."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    packed = base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
    return f'window.ATLAS = "{packed}";\n'
