"""Charts that one explores, in a headless browser: the keyboard, links, no script, and
what a page without charts loads.
"""

import shutil

import matplotlib.pyplot as plt
import pandas as pd
import pytest

import browsing
from babelatlas.report import figures
from conftest import ROOT

PAGE = """<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8">
<title>Charts</title><link rel="stylesheet" href="_static/atlas.css">
<script src="_static/atlas-charts.js"></script>
<body><a href="languages.html">Languages</a>{content}</body></html>"""


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    folder = tmp_path_factory.mktemp("charts")
    for name in ("_static", "_files/vendor"):
        shutil.copytree(ROOT / "book" / name, folder / name)
    points = pd.DataFrame(
        {
            "y": ["first", "second <b>"],
            "x": [0.5, 0.25],
            "low": [0.4, 0.2],
            "high": [0.6, 0.3],
            "text": ["Swahili\n50 %", "second <b>"],
            "link": ["language-sw.html", "explorer.html#models=x"],
        }
    )
    _, axis = plt.subplots()
    chart = figures.chart("rows", points, figures.Axis("recall", percent=True))
    shown = figures.show(axis, "caption", "The message.", data=points, chart=chart)
    (folder / "chart.html").write_text(PAGE.format(content=shown.data))
    (folder / "plain.html").write_text(PAGE.format(content="no chart"))
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    yield from browsing.browser(tmp_path_factory.mktemp("profile"))


def drawn(browser, book):
    from selenium.webdriver.support.ui import WebDriverWait

    browsing.show(browser, (book / "chart.html").as_uri())
    found = "return document.querySelector('.atlas-drawn svg[viewBox]')"
    WebDriverWait(browser, 30).until(lambda driver: driver.execute_script(found))
    return browser.find_element("css selector", ".atlas-drawn")


@browsing.needed
def test_arrow_keys_go_from_point_to_point_and_say_what_it_is(browser, book):
    chart = drawn(browser, book)
    chart.send_keys("\ue015")  # the arrow down
    status = browser.find_element("css selector", ".atlas-status")
    assert status.text.startswith("Swahili; 50 %")
    address = status.find_element("css selector", "a").get_attribute("href")
    assert address.endswith("language-sw.html")
    tip = browser.find_element("css selector", '.atlas-drawn g[aria-label="tip"]')
    assert "Swahili" in tip.get_attribute("textContent")


@browsing.needed
def test_a_page_that_the_book_lacks_is_no_link_and_names_are_text(browser, book):
    chart = drawn(browser, book)
    chart.send_keys("\ue015\ue015")
    status = browser.find_element("css selector", ".atlas-status")
    assert status.text == "second <b>"  # no page of this book lists the explorer
    assert not chart.find_elements("css selector", "b")


@browsing.needed
def test_the_picture_gives_way_to_the_chart_which_says_its_message(browser, book):
    chart = drawn(browser, book)
    picture = browser.find_element("css selector", ".atlas-frame")
    assert not picture.is_displayed()
    assert chart.get_attribute("aria-label").startswith("The message.")


@browsing.needed
def test_a_page_without_charts_loads_no_library(browser, book):
    browsing.show(browser, (book / "plain.html").as_uri())
    assert browser.execute_script("return [typeof d3, typeof Plot]") == [
        "undefined",
        "undefined",
    ]
