"""The pages as a reader meets them: opened from disk in a headless browser, without a network.

They are those of the small run, or of the book that --book or the environment variable BOOK names.
"""

import json
import re
from pathlib import Path

import pytest

import browsing
from browsing import PHONE

pytestmark = [pytest.mark.slow, browsing.needed]
DESKTOP = {"Emulation.clearDeviceMetricsOverride": {}}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    yield from browsing.browser(tmp_path_factory.mktemp("profile"))


@pytest.fixture(scope="module")
def visits(browser, book) -> dict[str, dict]:
    """What opening each page of the contents showed: its title, figures, tables, messages, requests and width."""
    pages = sorted(path for path in book.glob("*.html") if path.stem not in {"genindex", "search"})
    return {page.stem: visit(browser, page) for page in pages}


def test_no_address_is_escaped_twice(book):
    wrong = [page.name for page in book.glob("*.html") if re.search('href="[^"]*&amp;amp;', page.read_text("utf-8"))]
    assert wrong == []


def visit(browser, page: Path) -> dict:
    browser.get_log("performance"), browser.get_log("browser")
    browsing.show(browser, page.as_uri(), DESKTOP)
    browser.execute_script("window.scrollTo(0, document.body.scrollHeight)")
    browser.execute_async_script(  # also those further down, and those of the other theme
        """const done = arguments[0], all = [...document.images];
        all.forEach(i => i.loading = "eager");
        Promise.allSettled(all.map(i => i.decode())).then(() => done())"""
    )
    seen = browser.execute_script(
        """const main = document.querySelector("main") || document.body, all = (css) => [...main.querySelectorAll(css)];
        return {
          title: document.title,
          heading: (main.querySelector("h1") || {innerText: ""}).innerText,
          text: main.innerText,
          images: all("img").map(i => ({alt: i.alt, width: i.naturalWidth})),
          captions: all("figure.atlas-figure figcaption").map(f => f.textContent),
          errors: all(".output.stderr, .output.traceback, .problematic").map(e => e.innerText)}"""
    )
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    seen["width"] = browser.execute_script("return document.documentElement.scrollWidth")
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    seen["requests"] = [url for url in sent if not url.startswith(("file:", "data:", "blob:", "about:"))]
    seen["messages"] = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    return seen


def test_the_title_page_is_a_page_and_says_what_the_study_asks(visits):
    assert visits["index"]["heading"].startswith("Babel Atlas")
    assert "How many of the world’s languages" in visits["index"]["text"].replace("'", "’")
    assert visits["index"]["images"], "the title page has no figure"


def test_every_page_has_a_title_of_its_own(visits):
    titles = [seen["title"] for seen in visits.values()]
    assert all(titles)
    assert len(set(titles)) == len(titles), sorted(titles)


def test_every_figure_is_drawn_has_a_text_for_those_who_cannot_see_it_and_a_caption(visits):
    images = [(page, image) for page, seen in visits.items() for image in seen["images"]]
    assert len(images) >= 10
    for page, image in images:
        assert image["alt"].strip(), f"an image of {page} has no alt text"
        assert image["width"] > 0, f"an image of {page} is not shown: {image['alt']}"
    assert all(caption.strip() for seen in visits.values() for caption in seen["captions"])


def test_every_notebook_page_opens_with_its_takeaway(visits):
    numbered = {page: seen for page, seen in visits.items() if page[:2].isdigit()}
    assert len(numbered) >= 20
    for page, seen in numbered.items():
        assert "Takeaway" in seen["text"], page


def test_no_page_shows_an_error_or_a_warning(visits):
    assert {page: seen["errors"] for page, seen in visits.items() if seen["errors"]} == {}


def test_no_page_shows_the_name_of_a_type_in_place_of_what_it_says(visits):
    assert {name for name, seen in visits.items() if "<IPython.core" in seen["text"]} == set()


def test_no_page_asks_the_network_for_anything(visits):
    assert {page: seen["requests"] for page, seen in visits.items() if seen["requests"]} == {}


def test_no_page_writes_an_error_to_the_console(visits):
    assert {page: seen["messages"] for page, seen in visits.items() if seen["messages"]} == {}


def test_no_page_is_wider_than_a_phone(visits):
    wide = {page: seen["width"] for page, seen in visits.items() if seen["width"] > PHONE["width"]}
    assert wide == {}


@pytest.fixture
def table(browser, book):
    """The first table of a page with at least twenty rows."""
    browsing.show(browser, (book / "60_models.html").as_uri(), DESKTOP)
    tables = browser.find_elements("css selector", "figure.atlas-table")
    return next(one for one in tables if len(one.find_elements("css selector", "tbody tr")) >= 20)


def column(browser, table) -> list[str]:
    script = (
        "return [...arguments[0].querySelectorAll('tbody tr:not([hidden]) th')].map(one => one.firstChild.textContent)"
    )
    return browser.execute_script(script, table)


def test_a_table_sorts_when_its_header_is_clicked_or_entered(browser, table):
    head = table.find_element("css selector", "thead th.number")
    place, button, orders = head.get_property("cellIndex"), head.find_element("css selector", "button"), []
    for _ in range(2):
        browser.execute_script("arguments[0].focus()", button)
        button.send_keys("\n")
        cells = [
            cell.get_attribute("textContent")
            for cell in table.find_elements("css selector", f"tbody tr > :nth-child({place + 1})")
        ]
        orders.append([float(text.replace(",", "").replace("−", "-")) for text in cells if text != "–"])
    assert orders[0] == orders[1][::-1]
    assert orders[0] == sorted(orders[0]) != orders[1]
    assert head.get_attribute("aria-sort") == "descending"


def test_a_table_shows_the_rows_that_hold_what_is_typed(browser, table):
    before, field = column(browser, table), table.find_element("css selector", "input[type=search]")
    field.send_keys(before[0])
    after = column(browser, table)
    assert before[0] in after
    assert len(after) < len(before)
    assert f"{len(after)} of {len(before)} rows" in table.text


def test_a_table_shows_eight_columns_until_more_are_chosen(browser, book):
    browsing.show(browser, (book / "60_models.html").as_uri())
    heads = "one.querySelectorAll('thead th:not([hidden])').length"
    counts = browser.execute_script(f"return [...document.querySelectorAll('.atlas-table')].map(one => {heads})")
    assert counts
    assert max(counts) <= 8


def test_every_row_has_an_address_that_leads_to_it(browser, book, table):
    page, row = book / "60_models.html", table.find_elements("css selector", "tbody tr")[15].get_attribute("id")
    browsing.show(browser, f"{page.as_uri()}#{row}")
    assert "atlas-target" in browser.find_element("id", row).get_attribute("class")


@pytest.mark.parametrize(
    ("name", "code"),
    [("Hausa", "ha"), ("Swahili", "sw"), ("German", "de"), ("Icelandic", "is"), ("Tamil", "ta"), ("Yoruba", "yo"),
     ("Basque", "eu"), ("Navajo", "nv"), ("Welsh", "cy"), ("Hindi", "hi")],
)  # fmt: skip
def test_the_search_finds_the_page_of_a_language_first(browser, book, name, code):
    from selenium.webdriver.support.ui import WebDriverWait

    if not (book / f"language-{code}.html").is_file():
        pytest.skip(f"this run makes no page of {name}; that of `make book` does")
    browsing.show(browser, f"{(book / 'search.html').as_uri()}?q={name}")
    first = WebDriverWait(browser, 20).until(lambda page: page.find_elements("css selector", "#search-results li a"))[0]
    assert name in first.text
    assert f"language-{code}.html" in first.get_attribute("href")
