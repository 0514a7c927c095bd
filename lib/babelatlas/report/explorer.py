"""The data of the explorer, the page on which readers filter all results: tables in, one script out.

The script holds the rows that the pages of languages show: what others released, papers' numbers that nobody released
row by row, and the run's own scores. A page on disk may load a script but no other file, so that the data are in one,
compressed. `book/explorer.md` and `book/_files/explorer` are the page.
"""

import base64
import gzip
import json
import re
from collections.abc import Collection

import numpy as np
import pandas as pd

from babelatlas.analysis.released import real_models
from babelatlas.base import languages, published
from babelatlas.models import registry
from babelatlas.report import pages, real_results

# Papers' results by language that are in no released table: source, data set, metric and variant -> task, measure,
# direction and the board's title. They have no intervals.
PUBLISHED = {
    ("cocosm2023", "coco-sm", f"recall@1 {way.replace(' ', '-')}", "mean of translators"): (
        ("Image retrieval", "recall@1", short),
        f"Image retrieval, {way}: COCO-SM, machine-translated captions (its authors)",
    )
    for short, way in (("t2i", "text to image"), ("i2t", "image to text"))
}
PUBLISHED["thapliyal2022", "xm3600", "CIDEr", ""] = (
    ("Captioning", "CIDEr", ""),
    "Captioning: Crossmodal-3600 (Thapliyal et al. 2022)",
)
OWN = {"accuracy@1": ("Image classification", "top-1 accuracy")}  # metrics of the run -> task and measure
OWN |= {f"{way} recall@1": ("Image retrieval", "recall@1") for way in ("t2i", "i2t")}
FACTS = ["title", "parameters_m", "gflops", "release_date", "licence", "weights"]
BOARD = ["id", "task", "title", "measure", "origin"]
ROW = ["board", "model", "lang", "value", "ci_low", "ci_high", "n", "guess", "address"]
DIGITS = 5  # of a fraction: a tenth of what a page shows, in percent


def rows(found: pd.DataFrame | None = None, images: dict[str, int] | None = None) -> pd.DataFrame:
    """Return all results, one row each: BOARD, then ROW without "board"; boards in the order in which pages show them.

    `found`: rows of `pages.boards`, of a run; `images`: as `pages.galleries` gives it. `origin` is "released",
    "published" or "run"; `guess` what guessing scores, NaN where not known; `address` where the number was read.
    """
    parts = [_released(), _published()]
    if found is not None and len(found):
        parts.append(_own(found, images))
    return pd.concat(parts, ignore_index=True)[[*BOARD, *ROW[1:]]]


def _released() -> pd.DataFrame:
    found = real_results.results()
    key = ["dataset", "harness", "variant", "direction"]
    order = pd.DataFrame(
        {
            "place": found["dataset"].map(list(real_results.DATASETS).index),
            "second": found["direction"] == "i2t",
            "models": -found.groupby(key)["model"].transform("nunique"),
            "label": found["variant"] == "label",
        }
    )
    found = found.loc[order.sort_values(list(order), kind="stable").index]
    boards = [*found[key].itertuples(index=False, name=None)]
    titles = {board: real_results.board_title(*board) for board in dict.fromkeys(boards)}
    return found.assign(
        id=[_identity(dataset, way, harness, variant) for dataset, harness, variant, way in boards],
        task=[real_results.DATASETS[board[0]][0] for board in boards],
        title=[titles[board] for board in boards],
        measure=found["metric"].map(real_results.MEASURES),
        guess=[real_results.chance(row) for row in found.itertuples()],
        origin="released",
    )


def _identity(*words: str) -> str:
    """Return how an address names a board: its words, each once.

    >>> _identity("babel-imagenet", "", "babel-imagenet", "translated prompts")
    'babel-imagenet.translated-prompts'
    """
    plain = (re.sub(r"[^\w-]+", "-", word).strip("-").lower() for word in words)
    return ".".join(dict.fromkeys(filter(None, plain)))


def _published() -> pd.DataFrame:
    named = {entry.paper_row: entry.name for entry in registry.MODELS if entry.paper_row}
    parts = []
    for (source, dataset, metric, variant), ((task, measure, direction), title) in PUBLISHED.items():
        table = published.read(source)
        table = table[(table["dataset"] == dataset) & (table["metric"] == metric) & (table["variant"] == variant)]
        table = table[table["lang"] != ""].drop_duplicates(["model", "lang"]).replace({"model": named})
        said = {"id": _identity(dataset, direction, source), "task": task, "title": title, "measure": measure}
        parts.append(table.assign(**said, guess=np.nan, address="", origin="published"))
    return pd.concat(parts)


def _own(found: pd.DataFrame, images: dict[str, int] | None) -> pd.DataFrame:
    return found.assign(
        id=[_identity("run", title) for title in found["title"]],
        task=[OWN[metric][0] for metric in found["metric"]],
        title=[f"{OWN[row.metric][0]}: {row.title} (this run)" for row in found.itertuples()],
        measure=[OWN[metric][1] for metric in found["metric"]],
        guess=[pages.chance(row, images) for row in found.itertuples()],
        address="",
        origin="run",
    )


def models(names: list[str]) -> pd.DataFrame:
    """Return the facts of models, in this order: model, FACTS and `miniature`; what nobody says is NaN or "".

    A model that no list knows has its name as title.
    """
    known = real_models.registry().set_index("model")
    small = registry.table().set_index("name")
    small = small[small["repository"] == ""]
    found = known.reindex(names)[FACTS]
    found["miniature"] = found.index.isin(small.index)
    found["title"] = found["title"].fillna(pd.Series(names, index=names))
    for name in set(names) & set(small.index):
        said = {"title": f"{name} (miniature)", "parameters_m": small.loc[name, "parameters"], "weights": "open"}
        for column, value in (said | {"licence": small.loc[name, "licence"]}).items():
            found.loc[name, column] = value
    texts = ["release_date", "licence", "weights"]
    return found.assign(**found[texts].fillna("")).rename_axis("model").reset_index()


def payload(
    found: pd.DataFrame | None = None, images: dict[str, int] | None = None, paged: Collection[str] = ()
) -> dict:
    """Return what the page needs: boards, models and languages as records, rows as columns of numbers.

    In `rows`, board, model, lang and address are places in those lists; fractions have DIGITS digits; what is not
    known is None. `paged`: the languages that have a page; the other arguments as of `rows`.
    """
    table = rows(found, images)
    coded, lists = {}, {}
    for column, by in (("board", "id"), ("model", "model"), ("lang", "lang"), ("address", "address")):
        coded[column], lists[column] = pd.factorize(table[by])
    numbers = table[["value", "ci_low", "ci_high", "guess"]].round(DIGITS)
    coded |= {column: _plain(numbers[column]) for column in numbers} | {"n": table["n"].astype(int)}
    names = languages.table().set_index("code").loc[lists["lang"]]
    aliases = names["iso639_3"] + " " + names["nllb"] + " " + names["aliases"]
    facts = models(list(lists["model"]))
    return {
        "boards": table.drop_duplicates("id")[BOARD].to_dict("records"),
        "models": facts.assign(**facts[["parameters_m", "gflops"]].apply(_plain)).to_dict("records"),
        "languages": [
            {"code": code, "name": name, "aliases": other.lower().replace("_", "-").split(), "page": code in paged}
            for code, name, other in zip(names.index, names["name"], aliases, strict=True)
        ],
        "addresses": list(lists["address"]),
        "rows": {column: list(map(_native, coded[column])) for column in ROW},
    }


def _plain(numbers: pd.Series) -> pd.Series:
    return numbers.astype(object).where(numbers.notna(), None)


def _native(value):
    return value.item() if isinstance(value, np.generic) else value


def script(data: dict) -> str:
    """Return the script that a page loads: `payload` as JSON, compressed, in letters that mean nothing to HTML."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    packed = base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
    return f'window.ATLAS = "{packed}";\n'
