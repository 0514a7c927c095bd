"""The pages of the languages: tables in, MyST Markdown out; the text is in `templates`.

Words of all languages and scripts stand in these pages. Every sign of them that
Markdown could take for its own is written as a character reference, and the word is set
apart from the direction of the text around it (`<bdi>`).
"""

import os
import re
from collections.abc import Mapping
from functools import cache
from html import escape as html_escape
from pathlib import Path

import numpy as np
import pandas as pd

from atlas_study.pages import (
    label_checks,
    language_names,
    language_results,
    photographs,
    same_items_section,
)
from atlas_study.pages.page_form import SEARCH_WORDS
from atlas_study.pages.rendering import render
from atlas_study.pages.run_tables import LabelSet, Run
from babelatlas.analysis import all_results as results
from babelatlas.analysis import outcomes
from babelatlas.base import checksums, languages, synsets, tables
from babelatlas.base.errors import InputError
from babelatlas.lexicon import wordnets
from babelatlas.models import registry
from babelatlas.report import reading
from babelatlas.report.formatting import (
    counted,
    english_note,
    escape,
    interval,
    literal,
    percent,
    word,
)

EXAMPLES = 8  # labels of a label set


def file_name(lang: str) -> str:
    """Return the name of a language's page.

    >>> file_name("zh-Hant")
    'language-zh-Hant.md'
    """
    return f"language-{languages.canonical(lang)}.md"


def language_page(lang: str, run: Run, pictures: str = "", sheet: str = "") -> str:
    """Return the page of one language as MyST Markdown: real models first, then labels,
    the run's own models last.

    `pictures`: as `photographs.pictures` gives it; `sheet`: the address of the
    sheet of its labels. Raises InputError where the language has no score and nobody
    released one.
    """
    lang = languages.canonical(lang)
    scores = run.scores[run.scores["lang"] == lang]
    boards = language_results.boards_of(lang, run.merged)
    if scores.empty and not boards:
        raise InputError(
            f"There is no score in {languages.name(lang)} ({lang}), of this run or"
            " released."
        )
    of_models = {"boards": []}
    if boards:
        of_models = language_results.described(lang, boards)
    own_scores = ""
    if len(scores):
        own_scores = score_table(scores, run.model_pages, run.images)
    text = render(
        "language.md",
        lang=lang,
        name=escape(languages.name(lang)),
        about=_about(lang),
        pictures=pictures,
        sheet=sheet,
        own=own_scores,
        mark=reading.miniature().data if run.miniature else "",
        protocols={
            dataset: outcomes.protocol(rows)
            for dataset, rows in scores.groupby("dataset", sort=False)
        },
        **of_models,
        **same_items_section.section(lang),
        **_photographs(lang),
        **label_checks.section(lang),
        **_labels(lang, run.labels),
    )
    names = SEARCH_WORDS.format("; ".join(language_names.for_search(lang)))
    return re.sub(r"\n{3,}", "\n\n", f"{text}\n\n{names}") + "\n"


@cache
def _homes() -> pd.DataFrame:
    """Return the languages that Glottolog puts somewhere: index glottocode."""
    world = languages.world().dropna(subset="latitude")
    return world.drop_duplicates("glottocode", keep="last").set_index("glottocode")


def _about(lang: str) -> dict:
    """Return what is known of a language: its row in the table of languages, autonym,
    speakers and place, as texts.
    """
    row = languages.table().set_index("code").loc[lang]
    facts = languages.facts().reindex([lang]).fillna({"autonym": ""}).iloc[0]
    return {
        **row,
        "place": _place(row),
        "speakers": _speakers(facts["speakers"]),
        "autonym": facts["autonym"],
        "other_names": "; ".join(language_names.in_english(lang)),
    }


def _place(row: pd.Series) -> str:
    """Return where Glottolog puts a language, "" where nowhere."""
    if row["glottocode"] not in _homes().index:
        return ""
    latitude, longitude = _homes().loc[row["glottocode"], ["latitude", "longitude"]]
    north = "N" if latitude >= 0 else "S"
    east = "E" if longitude >= 0 else "W"
    point = f"{abs(latitude):.1f}° {north}, {abs(longitude):.1f}° {east}"
    return f"{row['macroarea']}, {point}"


def _speakers(number: float) -> str:
    """Return a number of people as text, "" where it is not known.

    >>> _speakers(95_400_000), _speakers(2000)
    ('95.4 million', '2,000')
    """
    if pd.isna(number):
        return ""
    return f"{number / 1e6:.3g} million" if number >= 1e6 else f"{number:,.0f}"


def _photographs(lang: str) -> dict:
    """Return what a page says of this study's own run, by the names of the template:
    `tested` (counts, labels) and `confused` (a table).
    """
    if lang not in photographs.classified() or lang == "en":
        return {"tested": None}
    rows = photographs.classified()[lang]
    names = rows["wnid"].map(synsets.short_names()).map(escape)
    words = pd.Series([word(label, lang) for label in rows["label"]], rows.index)
    marks = rows["right"].map({1.0: " ✓"}).fillna("")
    tested = {
        "model": photographs.MODEL,
        "n": counted(len(rows), "class"),
        "right": rows["right"].mean(),
        "english": rows["in_english"].mean(),
        "labels": "; ".join(names + ": " + words + marks),
    }
    return {"tested": tested, "confused": _confusion_table(lang)}


def _confusion_table(lang: str) -> str:
    """Return the first confusions of a language as HTML, "" where there are none."""
    wrong = photographs.confusions(lang).head(photographs.EXAMPLES)
    if wrong.empty:
        return ""
    table = pd.DataFrame(
        {
            "photograph of": wrong["class"],
            "label": [word(label, lang) for label in wrong["label"]],
            "classified as": [word(label, lang) for label in wrong["its_label"]],
            "which is": wrong["taken_for"],
        }
    )
    caption = (
        "<b>Photographs that are classified correctly in English, not here.</b> Their"
        " label, and the one chosen."
    )
    raw = ["label", "classified as"]
    return reading.table(table, caption, raw=raw, download=False).data


def examples(labels: LabelSet, lang: str, n: int = EXAMPLES) -> pd.DataFrame:
    """Return labels of a language, evenly spread over the class list, with the
    `English` ones.
    """
    rows = labels.rows[lang]
    english = _english(labels).set_index("wnid")["label"]
    places = np.linspace(0, len(rows) - 1, min(n, len(rows))).round().astype(int)
    chosen = rows.iloc[np.unique(places)].reset_index(drop=True)
    return chosen.assign(English=chosen["wnid"].map(english).fillna(""))


def _english(labels: LabelSet) -> pd.DataFrame:
    """Return the English rows of a label set, schema `labels`."""
    return labels.rows.get("en", tables.empty("labels"))


def _labels(lang: str, labels: Mapping[str, LabelSet]) -> dict:
    """Return what a page says of labels, by the names of the template: `sets` (name, n,
    classes), `examples`, `sources`, `note`.
    """
    sets = {name: found for name, found in labels.items() if lang in found.rows}
    if not sets:
        return {"sets": []}
    parts = [examples(found, lang).assign(set=name) for name, found in sets.items()]
    rows = pd.concat(parts, ignore_index=True)
    return {
        "sets": [
            {
                "name": name,
                "n": len(found.rows[lang]),
                "classes": found.n_classes,
            }
            for name, found in sets.items()
        ],
        "examples": _example_table(rows, lang),
        "sources": _sources(rows),
        "note": english_note({name: _english(found) for name, found in sets.items()}),
    }


def _example_table(rows: pd.DataFrame, lang: str) -> str:
    """Return `examples` of label sets as HTML."""
    table = pd.DataFrame(
        {
            "English label": rows["English"].map(escape),
            "label": [word(label, lang) for label in rows["label"]],
            "source": rows["source"],
            "label set": rows["set"],
        }
    )
    caption = (
        f"<b>Examples of labels.</b> Up to {EXAMPLES} of each label set, evenly spread"
        " over its classes."
    )
    raw = ["English label", "label"]
    return reading.table(table, caption, raw=raw, download=False).data


def _sources(rows: pd.DataFrame) -> str:
    """Return the sources of labels with their licences and links, in Markdown."""
    dictionaries = wordnets.sources()
    parts = []
    for row in rows.drop_duplicates("source").itertuples():
        name, url = "the user's own", ""
        if row.source in dictionaries.index:
            name, url = dictionaries.loc[row.source, ["name", "url"]]
        name = f"[{escape(name)}]({url})" if url.startswith("http") else escape(name)
        parts.append(f"{literal(row.source)}: {name}, {escape(row.licence)}")
    return "; ".join(parts)


def score_table(
    rows: pd.DataFrame, model_pages: Mapping[str, str], images: Mapping[str, int]
) -> str:
    """Return the models' scores in one language as an HTML table: a row for each model,
    a column for each board.

    `rows`: of `all_results.boards`, in that language; `model_pages` and `images`: as in
    `Run`. The first rows say what guessing gives, and n (images or queries). Models
    come by their score in the first column.
    """
    heads = rows.drop_duplicates("title")
    titles = list(heads["title"])
    cells = [interval(row.value, row.ci_low, row.ci_high) for row in rows.itertuples()]
    cells = rows.assign(cell=cells).pivot(index="model", columns="title", values="cell")
    first = rows[rows["title"] == titles[0]].set_index("model")["value"]
    first = first.reindex(cells.index).fillna(-1)
    order = np.lexsort([cells.index, -first.to_numpy()])
    cells = cells.iloc[order].reindex(columns=titles).fillna("–")

    guesses = [
        percent(results.guessing(row, images)) or "–" for row in heads.itertuples()
    ]
    sizes = [f"{size:,}" for size in heads["n"]]
    models = [_model_link(name, model_pages) for name in cells.index]
    table = pd.DataFrame([guesses, sizes, *cells.to_numpy().tolist()], columns=titles)
    table.insert(0, "model", ["<i>guessing</i>", "<i>n</i>", *models])
    whose = "The run's models"
    if not registry.real_models(list(cells.index)):
        whose = "The miniature's models"
    caption = (
        f"<b>{whose} in this language.</b> 95 % intervals over classes or"
        " images. The order is no test: the ranking of the run has the tests. t2i: a"
        " caption searches its image; i2t: an image searches its captions."
    )
    return reading.table(table, caption, raw=["model"], download=False).data


def _model_link(name: str, model_pages: Mapping[str, str]) -> str:
    if name not in model_pages:
        return html_escape(name)
    return f'<a href="{html_escape(model_pages[name])}">{html_escape(name)}</a>'


def write_pages(pages: dict[str, str], folder: str | os.PathLike) -> list[Path]:
    """Write pages, file name -> text, into a folder; pages of languages that an earlier
    run left there are removed.

    Each file appears whole or not at all, and after them the list of their checksums.
    Returns the paths.
    """
    folder = tables.locate(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for old in [*folder.glob("language-*.md"), *folder.glob("data/*/*")]:
        if old.relative_to(folder).as_posix() not in pages:
            old.unlink()
    for name, text in pages.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with tables.beside(folder / name) as part:
            part.write_text(text, encoding="utf-8")
    checksums.write_list(folder, pages)
    return [folder / name for name in pages]
