"""How the book is cited: what `CITATION.cff` has, whatever is empty, and whoever wrote
it.
"""

import pytest
import yaml

from atlas_study.pages import citation
from babelatlas.base.errors import InputError
from conftest import ROOT

PERSON = {"family-names": "Doe", "given-names": "Ada", "name-particle": "van"}
FILLED = {
    "title": "Atlas: pictures & words",
    "authors": [PERSON, {"name": "The group"}],
    "version": "0.2",
    "date-released": "2027-01-02",
    "url": "https://example.org/atlas/",
    "repository-code": "https://github.com/ada/atlas",
    "doi": "10.5281/zenodo.1",
}
EMPTY = FILLED | dict.fromkeys(["version", "date-released", "url", "doi"])
EMPTY["repository-code"] = ""


def read(folder, values):
    text = values if isinstance(values, str) else yaml.safe_dump(values)
    (folder / citation.FILE).write_text(text, encoding="utf-8")
    return citation.read(folder)


def test_what_is_filled_in_is_cited_in_text_bibtex_and_tags(tmp_path):
    cited = read(tmp_path, FILLED)
    assert (
        citation.bibtex(cited)
        == """@misc{babelatlas,
  title = {Atlas: pictures \\& words},
  note = {Version 0.2},
  author = {van Doe, Ada and {The group}},
  year = {2027},
  doi = {10.5281/zenodo.1},
  url = {https://doi.org/10.5281/zenodo.1}
}"""
    )
    sentence = citation.sentence(cited)
    assert sentence.startswith("Ada van Doe and The group (2027). *Atlas: pictures")
    assert sentence.endswith("*, version 0.2. <https://doi.org/10.5281/zenodo.1>")
    assert citation.tags(cited, 'A "page"', "x.html").splitlines() == [
        '<meta name="citation_title" content="A &quot;page&quot;" />',
        '<meta name="citation_author" content="Ada van Doe" />',
        '<meta name="citation_author" content="The group" />',
        '<meta name="citation_inbook_title" content="Atlas: pictures &amp; words" />',
        '<meta name="citation_publication_date" content="2027/01/02" />',
        '<meta name="citation_doi" content="10.5281/zenodo.1" />',
        '<meta name="citation_public_url" content="https://example.org/atlas/x.html" />',
    ]


def test_what_is_empty_leaves_no_blank(tmp_path):
    cited = read(tmp_path, EMPTY)
    entry = citation.bibtex(cited)
    page = citation.of_page(cited, "33_intervals", "Intervals")
    for text in (entry, page):
        for field in ("year", "url", "doi", "note", "{}", "version", ",\n}"):
            assert field not in text
        assert text.count("{") == text.count("}")
    assert citation.sentence(cited) == (
        "Ada van Doe and The group. *Atlas: pictures &#38; words*."
    )
    assert len(citation.tags(cited, "A page", "x.html").splitlines()) == 4


@pytest.mark.parametrize("address", ["", "https://example.org/atlas/"])
def test_a_page_is_cited_with_its_address_where_the_book_has_one(tmp_path, address):
    cited = read(tmp_path, EMPTY | {"url": address})
    entry = citation.of_page(cited, "33_intervals", "Intervals")
    assert ("url = {https://example.org/atlas/33_intervals.html}" in entry) == bool(
        address
    )
    assert entry.count("{") == entry.count("}")


def test_the_settings_of_the_book_take_authors_and_addresses_from_it(tmp_path):
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    settings = citation.with_addresses(config, read(tmp_path, FILLED))
    assert settings["author"] == "Ada van Doe, The group"
    assert settings["html"]["baseurl"] == FILLED["url"]
    assert settings["html"]["favicon"] == config["html"]["favicon"]
    assert settings["repository"]["url"] == FILLED["repository-code"]
    assert settings["sphinx"]["config"]["ogp_site_url"] == FILLED["url"]


def test_the_file_of_the_study_can_be_cited_and_names_its_version():
    cited = citation.read(ROOT)
    assert cited.names() == ["The Babel Atlas authors"]
    assert cited.year.startswith("20")
    assert cited.version


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (FILLED | {"authors": []}, "authors"),
        (FILLED | {"authors": [{"name": ""}]}, "names no author: fill in authors"),
        (FILLED | {"title": ""}, "title"),
        (FILLED | {"doi": "https://doi.org/10.1/x"}, "doi"),
        (FILLED | {"url": "javascript:alert(1)"}, "url"),
        ("title: [", "is not YAML"),
        ("- a", "has no 'key: value' lines"),
    ],
)
def test_what_cannot_be_cited_is_said_in_one_sentence(tmp_path, values, message):
    with pytest.raises(InputError, match=message) as error:
        read(tmp_path, values)
    assert "\n" not in str(error.value)


def test_a_study_without_the_file_says_where_to_get_it(tmp_path):
    with pytest.raises(InputError, match="restore it from the repository"):
        citation.read(tmp_path)
