"""The names by which the search finds a language."""

import pytest

from atlas_study.pages import language_names, page_form
from babelatlas.base import languages


@pytest.mark.parametrize(
    ("lang", "name"),
    [
        ("sw", "Kiswahili"),
        ("fa", "Farsi"),
        ("ha", "Haussa"),
        ("de", "Deutsch"),
        ("de", "allemand"),
        ("zh-Hant", "繁体中文"),
        ("my", "Myanmar"),
    ],
)
def test_a_language_is_found_by_its_own_name_and_by_those_in_other_languages(
    lang, name
):
    assert name in language_names.for_search(lang)


def test_names_of_languages_are_of_languages_of_the_study_and_new():
    names = languages.table().set_index("code")["name"]
    assert set(language_names.IN_ENGLISH) <= set(names.index)
    for lang in language_names.IN_ENGLISH:
        assert names[lang] not in language_names.in_english(lang), lang


def test_no_name_ends_the_list_of_names():
    for lang in languages.table()["code"]:
        names = language_names.for_search(lang)
        text = page_form.SEARCH_WORDS.format("; ".join(names))
        assert len(text.splitlines()) == 1
        assert len(text.split(";")) == max(1, len(names))
