"""The pages as a reader meets them: opened from disk in a headless browser, without a
network.

They are those of the small run, or of the book that --book or the environment variable
BOOK names.
"""

import json
import re
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

import browsing
import built_pages
from browsing import PHONE

pytestmark = [pytest.mark.slow, browsing.needed]
DESKTOP = {"Emulation.clearDeviceMetricsOverride": {}}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    yield from browsing.browser(tmp_path_factory.mktemp("profile"))


@pytest.fixture(scope="module")
def visits(browser, book) -> dict[str, dict]:
    """What opening each page of the contents showed: its title, figures, tables,
    messages, requests and width.
    """
    return {page.stem: visit(browser, page) for page in built_pages.files(book)}


def test_no_address_is_escaped_twice(book):
    wrong = [
        page.name
        for page in book.glob("*.html")
        if re.search('href="[^"]*&amp;amp;', page.read_text("utf-8"))
    ]
    assert wrong == []


def visit(browser, page: Path) -> dict:
    browser.get_log("performance"), browser.get_log("browser")
    browsing.show(browser, page.as_uri(), DESKTOP)
    browser.execute_script("window.scrollTo(0, document.body.scrollHeight)")
    # also those further down, and those of the other theme
    browser.execute_async_script(
        """const done = arguments[0], all = [...document.images];
        all.forEach(i => i.loading = "eager");
        Promise.allSettled(all.map(i => i.decode())).then(() => done())"""
    )
    seen = browser.execute_script(
        """const main = document.querySelector("main") || document.body;
        const all = (css) => [...main.querySelectorAll(css)];
        return {
          title: document.title,
          text: main.innerText,
          images: all("img").map(i => ({alt: i.alt, width: i.naturalWidth})),
          captions: all("figure.atlas-figure figcaption").map(f => f.textContent),
          errors: all(".output.stderr, .output.traceback, .problematic").map(e => e.innerText)}"""
    )
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    seen["width"] = browser.execute_script(
        "return document.documentElement.scrollWidth"
    )
    events = [
        json.loads(entry["message"])["message"]
        for entry in browser.get_log("performance")
    ]
    sent = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    seen["requests"] = [
        url for url in sent if not url.startswith(("file:", "data:", "blob:", "about:"))
    ]
    seen["messages"] = [
        entry["message"]
        for entry in browser.get_log("browser")
        if entry["level"] == "SEVERE"
    ]
    return seen


def test_every_page_has_a_title_of_its_own_and_fits_a_phone_and_notebooks_open_with_their_takeaway(
    visits,
):
    titles = [seen["title"] for seen in visits.values()]
    assert all(titles)
    assert len(set(titles)) == len(titles), sorted(titles)
    assert {
        page: seen["width"]
        for page, seen in visits.items()
        if seen["width"] > PHONE["width"]
    } == {}
    assert [
        page
        for page, seen in visits.items()
        if page[:2].isdigit() and "Takeaway" not in seen["text"]
    ] == []


def test_every_figure_is_drawn_has_a_text_for_those_who_cannot_see_it_and_a_caption(
    visits,
):
    images = [
        (page, image) for page, seen in visits.items() for image in seen["images"]
    ]
    assert len(images) >= 10
    for page, image in images:
        assert image["alt"].strip(), f"an image of {page} has no alt text"
        assert image["width"] > 0, f"an image of {page} is not shown: {image['alt']}"
    assert all(
        caption.strip() for seen in visits.values() for caption in seen["captions"]
    )


@pytest.mark.parametrize("kind", ["errors", "requests", "messages"])
def test_no_page_shows_an_error_asks_the_network_or_writes_to_the_console(visits, kind):
    assert {page: seen[kind] for page, seen in visits.items() if seen[kind]} == {}


def test_a_table_sorts_filters_chooses_columns_and_has_an_address_for_each_row(
    browser, book
):
    page = (book / "26_models.html").as_uri()
    browsing.show(browser, page, DESKTOP)
    tables = browser.find_elements("css selector", "figure.atlas-table")
    table = next(
        one
        for one in tables
        if len(one.find_elements("css selector", "tbody tr")) >= 20
    )
    rows = table.find_elements("css selector", "tbody tr")
    assert (
        max(
            len(one.find_elements("css selector", "thead th:not([hidden])"))
            for one in tables
        )
        <= 8
    )
    head = table.find_element("css selector", "thead th.number")
    column, button, orders = (
        head.get_property("cellIndex"),
        head.find_element("css selector", "button"),
        [],
    )
    for _ in range(2):
        browser.execute_script("arguments[0].focus()", button)
        button.send_keys("\n")
        cells = table.find_elements(
            "css selector", f"tbody tr > :nth-child({column + 1})"
        )
        texts = [
            cell.get_attribute("textContent").replace(",", "").replace("−", "-")
            for cell in cells
        ]
        orders.append([float(text) for text in texts if text != "–"])
    assert orders[0] == orders[1][::-1] == sorted(orders[0])
    first = browser.execute_script(
        "return arguments[0].querySelector('tbody th').firstChild.textContent", table
    )
    table.find_element("css selector", "input[type=search]").send_keys(first)
    shown = table.find_elements("css selector", "tbody tr:not([hidden])")
    assert 0 < len(shown) < len(rows)
    assert f"{len(shown)} of {len(rows)} rows" in table.text
    row = rows[15].get_attribute("id")
    browsing.show(browser, f"{page}#{row}")
    assert "atlas-target" in browser.find_element("id", row).get_attribute("class")


def test_no_cell_of_a_table_covers_the_next_and_an_interval_stays_on_a_line(
    browser, book
):
    phone = {"Emulation.setDeviceMetricsOverride": browsing.PHONE}
    for name in ("11_leaderboard", "12_working_languages", "language-hi"):
        browsing.show(browser, (book / f"{name}.html").as_uri(), phone)
        found = browser.execute_script(
            """document.querySelectorAll("details").forEach(part => { part.open = true; });
            const all = [...document.querySelectorAll(".atlas-scroll :is(td, th)")];
            const cells = all.filter(cell => cell.offsetWidth);
            const intervals = [...document.querySelectorAll(".atlas-unbroken")];
            return {
              cells: cells.length,
              covered: cells.filter(cell => cell.scrollWidth > cell.clientWidth + 1).length,
              intervals: intervals.length,
              broken: intervals.filter(part => part.getClientRects().length > 1).length,
            };"""
        )
        assert (found["covered"], found["broken"]) == (0, 0), name
        assert min(found["cells"], found["intervals"]) > 10, name


# What readers ask for -> the page that is among the first three.
ASKED = {
    "broken run": "28_baselines",
    "own model": "own-model",
    "confidence interval": "33_intervals",
    "noise ceiling": "19_task_agreement",
    "how to add a data set": "own-data",
    "how do I cite this": "how-to-read",
    "licence SigLIP": "26_models",
    "license": "data",
    "training data filter": "16_filtering",
    "Slurm": "cluster",
    "wrong label": "label-sets",
    "commercial licence": "explorer",
    "Hindi": "language-hi",
    "हिन्दी": "language-hi",
    "best model for Hindi": "language-hi",
}
# Of the demo, whose pages are those of all languages.
ASKED_OF_ALL = {
    "Kiswahili": "language-sw",
    "Suaheli": "language-sw",
    "best model Hausa": "language-ha",
    "Yoruba labels": "language-yo",
    "generative model Telugu": "language-te",
    "Farsi": "language-fa",
}


def found(browser, book, words):
    from selenium.webdriver.support.ui import WebDriverWait

    address = f"{(book / 'search.html').as_uri()}?q={quote(words)}"
    browsing.show(browser, address, DESKTOP)
    links = WebDriverWait(browser, 20).until(
        lambda page: page.find_elements("css selector", "#search-results li a")
    )
    addresses = [link.get_attribute("href") for link in links]
    return [
        urlsplit(one).path.rsplit("/")[-1].removesuffix(".html") for one in addresses
    ]


@pytest.mark.parametrize("words", [*ASKED, *ASKED_OF_ALL])
def test_the_search_has_what_readers_ask_for_among_its_first_three(
    browser, book, words
):
    page = (ASKED | ASKED_OF_ALL)[words]
    if words in ASKED_OF_ALL and not (book / f"{page}.html").is_file():
        pytest.skip("the small run has no page of this language")
    assert page in found(browser, book, words)[:3]


def test_pages_of_languages_do_not_hide_chapters(browser, book):
    names = found(browser, book, "SigLIP 2")
    assert sum(name.startswith("language-") for name in names) == 0
