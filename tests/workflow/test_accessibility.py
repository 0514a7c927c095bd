"""Every type of page meets WCAG 2.2 A and AA as far as axe-core can tell, light and
dark, with everything unfolded.
"""

import pytest

import browsing
from conftest import ROOT

pytestmark = [pytest.mark.slow, browsing.needed]
AXE = ROOT / "tests" / "vendor" / "axe" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# One page of each type: first page, prose, glossary, explorer, list, language, chapters
# on real models and on the miniature, runs of stages, a model, long tables, search.
TYPES = [
    "index",
    "how-to-read",
    "explorer",
    "languages",
    "language-hi",
    "data",
    "search",
    "11_leaderboard",
    "30_labels",
    "12_working_languages",
    "26_models",
    "34_scorecard",
    "40_miniature",
    "42_disambiguation",
    "43_model_picto-en",
    "67_zeroshot_picto-en_pictograms",
]


@pytest.fixture
def browser(tmp_path):
    """A browser for each page: one that has checked many sometimes stops answering."""
    yield from browsing.browser(tmp_path)


def check(browser, page, scheme: str) -> list[str]:
    """Return what axe-core finds on a page: rule, number of elements, and the first of
    them.

    Of each table it sees twelve rows, which are alike: the contrast of thousands of
    cells takes minutes.
    """
    chosen = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browsing.show(browser, page.as_uri(), {"Emulation.setEmulatedMedia": chosen})
    browser.execute_script(
        """document.head.insertAdjacentHTML(
          "beforeend", "<style>* { transition: none !important; }</style>");
        document.querySelectorAll("details").forEach(part => { part.open = true; });
        document.querySelectorAll("tbody tr:nth-child(n + 13)").forEach(row => row.remove());"""
    )
    browser.execute_script(AXE.read_text(encoding="utf-8"))
    found = browser.execute_async_script(
        "const done = arguments[1]; axe.run(document, {runOnly:"
        " arguments[0]}).then(done)",
        RULES,
    )
    assert found["passes"], "axe-core checked nothing"
    return [
        f"{one['id']}: {len(one['nodes'])}, {one['nodes'][0]['html'][:200]}"
        for one in found["violations"]
    ]


@pytest.mark.parametrize("name", TYPES)
def test_a_page_has_no_barrier_that_axe_finds(browser, book, name):
    page = book / f"{name}.html"
    assert page.is_file(), (
        f"The book has no page {name}: name another page of its type."
    )
    assert {
        scheme: found
        for scheme in ("light", "dark")
        if (found := check(browser, page, scheme))
    } == {}


def test_the_keyboard_reaches_the_text_first_and_every_table_and_control_has_a_name(
    browser, book
):
    browsing.show(browser, (book / "11_leaderboard.html").as_uri())
    first = browser.execute_script(
        "return document.querySelector('a, button, input').textContent.trim()"
    )
    assert first == "Skip to main content"
    unnamed = browser.execute_script(
        """return [...document.querySelectorAll(
          "button, input, select, summary, .atlas-scroll"
        )].filter(part =>
          !(part.ariaLabel || part.title || part.textContent.trim()
            || part.labels?.length || part.placeholder)
        ).map(part => part.outerHTML.slice(0, 200))"""
    )
    assert unnamed == []
    assert (
        browser.execute_script("return document.querySelectorAll('main').length") == 1
    )
