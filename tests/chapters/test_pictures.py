"""The row of photographs on the title page."""

import json
import re

import pytest

import browsing
from atlas_study.chapters import pictures
from babelatlas.base import tables
from babelatlas.datasets import example_pictures
from conftest import ROOT, filled

CAT, MOUSE, ESPRESSO = "n02124075", "n03793489", "n07920052"


@pytest.fixture
def table():
    """Two pictures in English, German and Hebrew, which has no label for a cat."""
    rows = [
        ("en", "cat", CAT, "Egyptian Mau", True, True, 1000),
        ("en", "coffee", ESPRESSO, "espresso", True, True, 1000),
        ("de", "cat", MOUSE, "Maus <b>", False, True, 424),
        ("de", "coffee", ESPRESSO, "Espresso", True, True, 424),
        ("he", "cat", MOUSE, "עכבר", False, False, 1),
        ("he", "coffee", MOUSE, "עכבר", False, True, 1),
    ]
    names = ["lang", "picture", "wnid", "label", "correct", "labelled", "n_classes"]
    rows = [dict(zip(names, row, strict=True)) | {"rank": 1} for row in rows]
    return filled("picture_labels", rows)


def test_a_choice_is_correct_wrong_or_without_a_label_that_fits(table):
    rows = pictures.nearest(table)
    states = rows.set_index(["lang", "picture"])["state"]
    assert states["en"].tolist() == ["correct", "correct"]
    assert states["de"].tolist() == ["wrong", "correct"]
    assert states["he"].tolist() == ["unlabelled", "wrong"]


def test_the_sentence_says_what_the_table_does(table):
    lead = pictures.lead(pictures.nearest(table), ["en", "de", "he"])
    assert lead.startswith(
        '**The same cat is *<bdi lang="en">Egyptian Mau</bdi>* in English and'
        ' *<bdi lang="de">Maus &#60;b&#62;</bdi>* “computer mouse” in German.**'
    )
    shown = pictures.show(pictures.nearest(table), ["en", "de", "he"]).data
    assert (
        "1,000 in English, 1 in Hebrew. Of the 6 choices above, 3 fit; for 1" in shown
    )


def test_the_row_has_pictures_words_marks_and_credits_and_other_languages_for_a_reader(
    table,
):
    shown = pictures.show(pictures.nearest(table), ["en", "de"]).data
    assert shown.count("data:image/webp;base64,") == 2
    assert 'alt="a cat"' in shown
    assert '<bdi lang="de">Maus &lt;b&gt;</bdi> <small>computer mouse</small>' in shown
    assert "Stefan van der Walt" in shown
    assert "publicdomain/zero/1.0/" in shown
    others = json.loads(re.search(r"json\">(.*?)</script>", shown)[1])
    assert others["he"]["labels"] == 1
    assert others["he"]["cells"][0] == ["עכבר", "computer mouse", "unlabelled"]
    assert {*others} == {"he"}


def test_without_the_packages_there_is_a_sentence_and_no_table(table, monkeypatch):
    monkeypatch.setattr(example_pictures.util, "find_spec", lambda name: None)
    rows = pictures.nearest(table)
    assert pictures.lead(rows, ["en"]) == ""
    assert pictures.show(rows, ["en"]).data == ""
    assert example_pictures.missing().startswith("Not shown here: a cat, ")


def test_a_picture_that_only_one_package_has_is_shown_with_a_sentence_on_the_others(
    table, monkeypatch
):
    available = example_pictures.available()
    coffee = available[available["picture"] == "coffee"]
    monkeypatch.setattr(example_pictures, "available", lambda: coffee)
    shown = pictures.show(pictures.nearest(table), ["en"]).data
    assert shown.count("<img") == 1
    assert "Not shown here: a cat, " in shown


def test_a_runs_own_words_come_before_those_that_ship(table, tmp_path):
    assert len(pictures.classified(tmp_path)) > 100
    changed = table.assign(model="bridge-lite2", labels="imagenet-1k")
    tables.write(
        changed, tmp_path / "picture_labels/bridge-lite2.parquet", "picture_labels"
    )
    rows = pictures.classified(tmp_path).set_index(["lang", "picture"])["word"]
    assert rows["de", "cat"] == "Maus <b>"
    assert rows["sw", "palace"] == "monasteri"


def test_the_row_weighs_at_most_150_kilobytes():
    rows = pictures.classified("")
    shown = pictures.show(rows, ["en", "de", "ja", "ar", "hi", "sw"]).data
    assert len(shown.encode()) < 150_000


@pytest.fixture
def browser(tmp_path):
    yield from browsing.browser(tmp_path / "profile")


@pytest.mark.slow
@browsing.needed
def test_a_browser_adds_the_row_of_its_own_language_or_of_one_that_is_chosen(
    table, browser, tmp_path
):
    shown = pictures.show(pictures.nearest(table), ["en"]).data
    script = (ROOT / "book/_static/atlas-language.js").as_uri()
    page = tmp_path / "page.html"
    page.write_text(f'{shown}<script src="{script}"></script>', encoding="utf-8")
    accepted = {"userAgent": "test", "acceptLanguage": "de-AT,en"}
    browser.execute_cdp_cmd("Emulation.setUserAgentOverride", accepted)
    browser.get(page.as_uri())
    own_row = "return document.querySelector('tr.atlas-own')?.innerText ?? ''"
    text = browser.execute_script(own_row)
    assert "German" in text
    assert "Maus <b>" in text
    assert "✗" in text

    choose = """const choice = document.querySelector("select");
    choice.value = arguments[0]; choice.dispatchEvent(new Event("change"));"""
    browser.execute_script(choose, "he")
    assert "Hebrew 1 label" in " ".join(browser.execute_script(own_row).split())
    browser.execute_script(choose, "")
    assert browser.execute_script(own_row) == ""
