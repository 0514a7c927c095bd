"""What the book does with the HTML of its pages: marks, folded details, the glossary's terms, citations."""

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from hypothesis import given
from hypothesis import strategies as some

from babelatlas.report.page_html import body, colophon, description, terms
from conftest import ROOT

GLOSSARY = {"Item": "A word with two senses.", "Item image": "One of its images.", "TC": "Translation choice."}
MARKED = ".. class:: atlas-mark\n\nMiniature."


def page(*sections):
    """Return the document of a page with these (heading, text)."""
    text = "Title\n=====\n\nWhat?\n\n" + "\n\n".join(f"{name}\n{'-' * len(name)}\n\n{said}" for name, said in sections)
    return publish_doctree(text, settings_overrides={"doctitle_xform": False})


def named(document, name):
    return next(part for part in document.findall(nodes.section) if part.next_node(nodes.title).astext() == name)


def test_a_section_with_a_mark_of_the_miniature_looks_like_it_and_no_other():
    found = page(("Real models", "text"), ("Tiny models", MARKED), ("Limits", "text"))
    body.mark_miniature(found)
    assert [part["classes"] for part in found.findall(nodes.section)] == [[], [], ["atlas-miniature"], []]


def test_a_mark_above_all_sections_is_one_of_the_whole_page():
    found = publish_doctree(f"Title\n=====\n\n{MARKED}\n\nA\n-\n\ntext", settings_overrides={"doctitle_xform": False})
    body.mark_miniature(found)
    assert named(found, "Title")["classes"] == ["atlas-miniature"]


def test_details_fold_below_their_heading_and_say_what_is_in_them():
    found = page(("Findings", "text"), ("Details", "text\n\nThe <protocol>\n~~~~~~~~~~~~~~\n\nmore"))
    body.fold_details(found)
    kinds = [type(part).__name__ for part in named(found, "Details").children]
    assert (kinds[:2], kinds[-1]) == (["title", "raw"], "raw")
    assert "<summary>Show the details: The &lt;protocol&gt;</summary>" in named(found, "Details").children[1].astext()
    assert not list(named(found, "Findings").findall(nodes.raw))


def test_an_address_that_was_escaped_when_read_is_as_written_again():
    found = page(("Sources", "text"))
    found += nodes.reference("", "IceWordNet", refuri="http://x.is/?lang=en&amp;pg=1")
    body.mend_links(found)
    assert found.next_node(nodes.reference)["refuri"] == "http://x.is/?lang=en&pg=1"  # the HTML writer escapes it


def test_the_first_use_of_a_term_links_to_its_definition_and_the_longest_term_wins():
    found = page(
        ("Items", "An item image, items, TC, tc and ITEM."),
    )
    terms.link(found, GLOSSARY)
    links = [link.astext() for link in found.findall(nodes.raw)]
    assert [link.split(">")[1].split("<")[0] for link in links] == ["item image", "items", "TC"]
    assert 'href="how-to-read.html#term-item-image"' in links[0]
    assert 'data-definition="Item image: One of its images."' in links[0]
    assert named(found, "Items").next_node(nodes.title).astext() == "Items"


@given(some.text(alphabet="item TCs.-\n", max_size=60))
def test_links_to_terms_change_no_word_of_a_page(text):
    found = nodes.document("", "")
    found += nodes.paragraph("", text)
    terms.link(found, GLOSSARY)
    said = [description.text_of(part) if isinstance(part, nodes.raw) else part.astext() for part in found[0].children]
    assert "".join(said) == text


def test_the_glossary_of_the_book_is_read_whole_and_in_plain_text():
    found = terms.read((ROOT / "book" / "how-to-read.md").read_text(encoding="utf-8"))
    assert len(found) >= 25
    assert all(text.endswith(".") and not {"{", "`", "*"} & set(text) for text in found.values())


def test_the_description_of_a_page_is_its_takeaway():
    class Config:
        html_title, html_baseurl = "Babel Atlas", "https://example.org/atlas/"

    found = page(
        ("Findings", '.. tip::\n\n   Seven of 12 "models" differ.'),
    )
    told = description.tags(found, Config)
    assert '<meta name="description" content="Seven of 12 &quot;models&quot; differ.">' in told
    assert 'property="og:image" content="https://example.org/atlas/_static/card.png"' in told
    Config.html_baseurl = ""
    assert "og:image" not in description.tags(found, Config)


def test_a_long_description_ends_at_a_word():
    class Config:
        html_title, html_baseurl = "Babel Atlas", ""

    told = description.tags(publish_doctree("word " * 100), Config)
    assert 'word…">' in told


@pytest.mark.parametrize("address", ["", "https://example.org/atlas/"])
def test_a_page_is_cited_with_its_address_where_the_book_has_one(address):
    cited = colophon.citation("86_ranks", "Ranks", "0.1.0", "2026", address)
    assert ("url = {https://example.org/atlas/86_ranks.html}" in cited) == bool(address)
    assert cited.count("{") == cited.count("}")


def test_entries_of_the_changelog_are_found_by_the_chapters_that_they_name():
    found = colophon.changes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert any("Chapter 88" in entry for entry in found["88"])
    assert "Changes of this page" not in colophon.folded("@x{y}", [])
