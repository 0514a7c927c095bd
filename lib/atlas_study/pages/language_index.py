"""The page that lists all languages, and the line that offers a reader the page of the
browser's language.
"""

import json
from collections.abc import Sequence
from html import escape as html_escape
from pathlib import Path

import pandas as pd

from atlas_study.pages.language_pages import file_name
from atlas_study.pages.rendering import render
from babelatlas.analysis import all_results as results
from babelatlas.analysis.verdicts import FEW, verdicts
from babelatlas.base import languages
from babelatlas.report import reading
from babelatlas.report.formatting import counted


def index_page(codes: Sequence[str]) -> str:
    """Return the page that lists languages by name, each with its family and its best
    released results, as Markdown.
    """
    codes = sorted(codes, key=languages.name)
    with_results = {
        lang
        for lang, rows in results.by_language().items()
        if (rows["origin"] != "own").any()
    }
    n_with_results = len(with_results & {*codes})
    caption = (
        f"<b>Real models have results in {n_with_results} of"
        f" {counted(len(codes), 'language')} from others, else from this study.</b>"
        " Highest result of an open model, where one exceeds guessing; the best of"
        " several is partly luck. Accuracies on different numbers of classes do not"
        " compare; shares of the best in English, beyond guessing and among as many"
        " classes, do."
    )
    table = reading.table(_index_table(codes), caption, raw=["language"]).data
    page = render("languages.md", table=table, suggestion=suggestion(codes))
    return f"{page}\n"


def _index_table(codes: list[str]) -> pd.DataFrame:
    """Return the table of languages, in this order, with columns as a reader reads
    them.
    """
    canonical = [languages.canonical(code) for code in codes]
    about = languages.table().set_index("code").loc[canonical].set_axis(codes)
    facts = languages.facts().reindex(codes)
    judgements = verdicts().reindex(codes)
    decided = judgements["verdict"] != "not decided"
    captions = results.highest("xm3600").reindex(codes)
    accuracy = 100 * results.highest("babel-imagenet").reindex(codes)
    classes = results.classes_tested().reindex(codes)
    table = pd.DataFrame(
        {
            "language": [_link(code, about.loc[code, "name"]) for code in codes],
            "is a model usable?": judgements["verdict"].fillna("not decided"),
            "of the best in English (%)": 100 * judgements["share"].where(decided),
            "Crossmodal-3600 (%)": 100 * captions,
            f"accuracy, {FEW} classes or more (%)": accuracy.where(classes >= FEW),
            "with fewer classes (%)": accuracy.where(classes < FEW),
            "speakers (millions)": facts["speakers"] / 1e6,
            "family": _family_names(codes),
            "own name": facts["autonym"].fillna(""),
            "script": about["script_name"],
            "code": codes,
        },
        index=codes,
    )
    return table.reset_index(drop=True)


def _link(code: str, name: str) -> str:
    address = Path(file_name(code)).with_suffix(".html")
    return f'<a href="{address}">{html_escape(name)}</a>'


def _family_names(codes: list[str]) -> list[str]:
    """Return the family of each language, beginning with a capital letter."""
    names = [
        "no family" if family == code else family
        for code, family in languages.families(codes).items()
    ]
    return [name[0].upper() + name[1:] for name in names]


def suggestion(codes: Sequence[str]) -> str:
    """Return HTML that offers a reader the page of the browser's language, by
    `_static/atlas-language.js`.
    """
    autonyms = languages.facts()["autonym"].reindex(codes).fillna("")
    names = {}
    for code in codes:
        both = dict.fromkeys([autonyms[code], languages.name(code)])
        names[code] = " / ".join(filter(None, both))
    return (
        f"<p class=\"atlas-language\" data-pages='{html_escape(json.dumps(names))}'"
        " hidden></p>"
    )
