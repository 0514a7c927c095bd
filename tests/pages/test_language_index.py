"""The list of languages: their best results, families, and links."""

import html
import re

import pandas as pd

from atlas_study.pages import language_index
from babelatlas.analysis import all_results as results
from babelatlas.analysis import verdicts
from babelatlas.base import languages


def cells(text):
    """Return the rows of all tables as the text of their cells, without HTML."""
    rows = re.findall(r"<tr>(.*?)</tr>", text, re.S)
    found = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in rows]
    return [
        [html.unescape(re.sub(r"<[^>]*>", "", cell)) for cell in row] for row in found
    ]


def test_the_list_of_languages_has_the_best_released_results_and_the_family_by_name():
    codes = list(results.by_language())
    text = language_index.index_page(codes)
    others = pd.concat([results.released_results(), results.published_results()])[
        "lang"
    ].nunique()
    assert f"in {others} of {len(codes)} languages from others" in text
    assert "in 1 of 2 languages" in language_index.index_page(["de", "aa"])
    assert len(re.findall(r'"language-[\w-]+\.html"', text)) == len(codes)
    _, *rows = cells(text)
    levels = [
        f"{100 * results.highest(dataset)['de']:.1f}" for dataset in results.LISTED
    ]
    row = next(row for row in rows if row[0] == "German")
    share = f"{100 * verdicts.verdicts().loc['de', 'share']:.1f}"
    assert row[1:6] == ["usable", share, *levels, "–"]
    assert row[7:] == ["Indo-European", "Deutsch", "Latin", "de"]
    assert next(row for row in rows if row[0] == "Samoan")[2:6] == [
        "–",
        "–",
        "–",
        "86.3",
    ]  # 14 classes: not compared
    assert [row[-1] for row in rows] == sorted(codes, key=languages.name)


def test_a_reader_is_offered_the_page_of_the_browsers_language_by_both_its_names():
    text = html.unescape(language_index.suggestion(["de", "en"]))
    assert '"de": "Deutsch / German"' in text
    assert '"en": "English"' in text
