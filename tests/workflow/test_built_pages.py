"""The pages as they are rendered: words, sentences that a program filled, links.

Of the small run or of --book, and, without --book, of runs that have little to show:
one model in one language, and no model at all.
"""

import json
import re
from urllib.parse import unquote, urlsplit

import pandas as pd
import pytest

import built_pages
from babelatlas.base import languages
from conftest import ROOT, whole_run

pytestmark = pytest.mark.slow
COUNTED = (
    "accuracies|adaptations|answers|bits|captions|cells|claims|classes|columns|"
    "comparisons|concepts|correlations|countries|data sets|datasets|differences|"
    "drawings|entries|epochs|errors|families|files|groups|images|items|jobs|labels|"
    "languages|lists|models|numbers|pages|pairs|papers|parameters|people|pictograms|"
    "prompts|queries|raters|resamples|results|rows|runs|scenes|scripts|seeds|senses|"
    "sentences|sources|statements|synsets|tables|templates|texts|tokens|translations|"
    "translators|words"
)
# What a sentence shows where a program filled it badly; looked for in prose and cells.
BROKEN = {
    "a plural of one": re.compile(rf"(?<![\d.,/–:@^+-])(?<!\d )\b1 (?:{COUNTED})\b"),
    "a plural in brackets": re.compile(r"\w\(s\)"),
    "not a number": re.compile(r"\bNaN\b|(?<![\w-])nan(?: ?%|\)|,)", re.MULTILINE),
    "a negative zero": re.compile(r"(?<![\w.])[-−]0\.0+(?!\d)"),
    "a p of zero": re.compile(r"\bp = 0(?:\.0+)?(?![\d.])"),
    "a path of Python": re.compile(r"PosixPath|\bPath\("),
    "the name of a type": re.compile(
        r"<IPython|<class |<function |DataFrame\(|dtype: "
    ),
    "a line of a log": re.compile(
        r"^\d{4}-\d\d-\d\d \d\d:\d\d|Traceback"
        r" \(most|\b(?:User|Future|Deprecation)Warning\b",
        re.M,
    ),
    "Markdown": re.compile(r"`|\*\*\w|\]\(\w|\{(?:cite|doc)"),
    "an empty place": re.compile(r"(?<!\w)\( ?\)|  ,|\bis None\b"),
    "a long share": re.compile(r"(?<![\d.])(?:[1-9]|\d{2,})\.\d{2,} ?%(?!, \d+ of)"),
}
# What an interval was made by: what was resampled, or the method.
MADE_BY = re.compile(
    r"\bover\b|by"
    r" family|exact|binomial|Wilson|Wald|simulat|permut|resampl|one-sided|brackets"
    r" are|cover",
    re.I,
)
INTERVAL = re.compile(r"95 %(?! of)|\(\+?\d[\d.]*(?:–| to )\d[\d.]*[);,]")
DEMO = pytest.mark.skipif(
    "not config.getoption('--book')",
    reason="needs the tables of the demo: run with --book",
)
ALLOWED = {
    "bibliography",
    "30_labels",
}  # titles of others; words as the sources write them


@pytest.fixture(scope="module", params=["whole", "one_language", "no_models"])
def rendered(request, tmp_path_factory):
    """The folder of a rendered book."""
    if request.param == "whole":
        return request.getfixturevalue("book")
    if request.config.getoption("--book"):
        pytest.skip("another run than that of --book")
    folder = whole_run(
        tmp_path_factory, request.param, ROOT / "tests" / f"{request.param}.yml"
    )
    return (folder / "_build" / "html").resolve()


def test_pages_are_read_with_their_words_links_and_takeaway(rendered):
    """Of a page that is read as empty the other tests would find nothing wrong."""
    pages = {page.path.stem: page for page in built_pages.pages(rendered)}
    assert {"index", "how-to-read", "11_leaderboard"} <= {*pages}
    for name, page in pages.items():
        assert len(page.prose.split()) > 20, name
        assert page.links, name
    assert "\nTakeaway" in pages["11_leaderboard"].prose
    assert pages["11_leaderboard"].cells


@pytest.mark.parametrize("kind", BROKEN)
def test_no_page_has_a_broken_sentence(rendered, kind):
    found = {}
    for page in built_pages.pages(rendered):
        texts = [page.prose] if page.path.stem in ALLOWED else [page.prose, *page.cells]
        hits = [
            text[max(0, hit.start() - 50) : hit.end() + 30]
            for text in texts
            for hit in BROKEN[kind].finditer(text)
        ]
        found |= {page.path.stem: hits[:5]} if hits else {}
    assert found == {}


@DEMO
def test_every_interval_says_over_what_it_is(rendered):
    lines = {
        page.path.stem: [
            line for line in page.prose.split("\n") if INTERVAL.search(line)
        ]
        for page in built_pages.pages(rendered)
    }
    silent = {
        name: [line for line in own if not MADE_BY.search(line)]
        for name, own in lines.items()
    }
    assert {
        name: found
        for name, found in silent.items()
        if found and name != "bibliography"
    } == {}


# A number on home -> the page that owns it, and how it stands there.
OWNERS = [
    (
        r"usable in (\d+) spoken languages",
        "12_working_languages",
        r"usable in (\d+) spoken languages",
    ),
    (r"borderline in (\d+)", "12_working_languages", r"borderline in (\d+) more"),
    (
        r"of (\d{1,3},\d{3}) spoken languages",
        "12_working_languages",
        r"of ([\d,]+) spoken languages",
    ),
    # Home shows the takeaways of these chapters (`test_same_numbers`).
    (
        r"(\d+) points less accurate",
        "13_rich_and_poor",
        r"(\d+) points less accurate",
    ),
    (r"(\d+) % of their recall", "16_filtering", r"(\d+) % of their recall"),
    (
        r"([\d.]+ to [\d.]+) points since",
        "14_gap_over_time",
        r"([\d.]+ to [\d.]+) points since",
    ),
    (
        r"results for (\d+) models",
        "how-to-read",
        r"(\d+)\n*models with a released result",
    ),
    (
        r"models in (\d+) languages",
        "how-to-read",
        r"(\d+)\n*languages with a result that others released",
    ),
    (
        r"classes in (\d+) spoken languages",
        "30_labels",
        r"spoken languages, (\d+) have open labels",
    ),
]


@DEMO
def test_a_number_that_two_pages_print_is_the_same_on_both(book):
    pages = built_pages.pages(book)
    texts = {page.path.stem: "\n".join([page.prose, *page.cells]) for page in pages}
    for pattern, owner, there in OWNERS:
        number = re.search(pattern, texts["index"])
        assert number, pattern
        assert number[1] in re.findall(there, texts[owner], re.I), (pattern, number[1])


@DEMO
def test_a_language_has_the_same_numbers_in_the_list_on_its_page_and_in_its_data(book):
    texts = {page.path.stem: page.prose for page in built_pages.pages(book)}
    listed = pd.read_html(
        book / "languages.html", na_values="–", keep_default_na=False
    )[0].set_index("code")
    counted = re.search(
        r"usable in (\d+) spoken languages", texts["12_working_languages"]
    )[1]
    usable = listed.index[listed["is a model usable?"] == "usable"]
    home = languages.table().set_index("code")["glottocode"].reindex(usable)
    assert int(counted) == home[home.isin(languages.world()["glottocode"])].nunique()
    index = pd.read_csv(
        book / "data" / "languages" / "index.csv", keep_default_na=False
    ).set_index("lang")
    for code, row in listed.iterrows():
        assert index.loc[code, "verdict"] == row["is a model usable?"]
        assert (
            f"{row['is a model usable?'].capitalize()}: " in texts[f"language-{code}"]
        ), code
        held = json.loads(
            (book / "data" / "languages" / f"{code}.json").read_text(encoding="utf-8")
        )
        table = pd.read_csv(book / "data" / "languages" / f"{code}.csv")
        assert held["verdict"] == row["is a model usable?"]
        assert len(held["results"]["model"]) == len(table)
        if pd.notna(row["Crossmodal-3600 (%)"]):
            assert (
                f"({float(row['Crossmodal-3600 (%)']):.1f} %)"
                in texts[f"language-{code}"]
            ), code
            assert 100 * table["value"].max() >= float(row["Crossmodal-3600 (%)"])


def test_a_takeaway_is_one_sentence_of_at_most_30_words_and_two_numbers(rendered):
    long = {}
    for page in built_pages.pages(rendered):
        for text in re.findall(r"\nTakeaway\s*\n+(.+)", page.prose) * (
            not re.match(r"[67]\d_", page.path.stem)
        ):
            plain = re.sub(r"\([^)]*\)", "", text)  # intervals
            numbers = re.findall(
                r"(?<![\w@/.-])\d[\d.,]*(?![\w/-])",
                re.sub(r"\b(?:19|20)\d\d\b|\S*[A-Za-z]-\d+", "", plain),
            )
            words = re.findall(r"[\w@/+'’-]+(?:[.,]\d+)*", text)
            if (
                len(words) > 30
                or len(numbers) > 2
                or re.search(r"[a-z%)][.?!] [A-Z]", plain)
            ):
                long[page.path.stem] = (len(words), numbers, text)
    assert long == {}


def test_a_chart_has_its_data_and_what_they_are_and_the_list_has_all(rendered):
    files = {path.stem for path in (rendered / "data" / "charts").glob("*.csv")}
    assert files
    assert files == {
        path.stem for path in (rendered / "data" / "charts").glob("*.json")
    }
    listing = (rendered / "data-files.html").read_text(encoding="utf-8")
    for name in files:
        facts = json.loads(
            (rendered / "data" / "charts" / f"{name}.json").read_text(encoding="utf-8")
        )
        assert facts["title"]
        assert (rendered / facts["page"]).is_file()
        assert (rendered / facts["notebook"]).is_file()
        assert f"data/charts/{name}.csv" in listing


@DEMO
def test_the_numbers_of_what_changed_stand_on_their_pages(book):
    texts = {
        page.path.stem: "\n".join([page.prose, *page.cells])
        for page in built_pages.pages(book)
    }
    changed = pd.read_csv(ROOT / "book" / "what-changed.csv")
    for page, now in zip(changed["page"], changed["now"], strict=True):
        chapter = re.search(r"chapter (\d+)", page)
        text = next(
            text
            for name, text in texts.items()
            if name.startswith(f"{chapter[1]}_" if chapter else "index")
        )
        assert [
            number
            for number in re.findall(r"[−\d][\d.,–]*\d", now)
            if number not in text
        ] == [], (page, now)


def test_every_link_leads_to_a_file_and_a_place_in_it(rendered):
    pages = {page.path.name: page for page in built_pages.pages(rendered)}
    lost = set()
    for page in pages.values():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = pages.get(unquote(parts.path)) if parts.path else page
            if target is None and not (rendered / unquote(parts.path)).exists():
                lost.add((page.path.name, link))
            views = parts.path == "explorer.html"  # its fragments choose what it shows
            if (
                target is not None
                and not views
                and parts.fragment
                and unquote(parts.fragment) not in target.ids
            ):
                lost.add((page.path.name, link))
    assert sorted(lost) == []


def test_every_page_can_be_reached_from_the_first(rendered):
    pages = {page.path.name: page for page in built_pages.pages(rendered)}
    reached, waiting = set(), ["index.html"]
    while waiting:
        name = waiting.pop()
        if name in pages and name not in reached:
            reached.add(name)
            waiting += [unquote(urlsplit(link).path) for link in pages[name].links]
    assert sorted(set(pages) - reached) == []


def test_the_sidebar_has_at_most_28_entries_and_old_addresses_lead_to_pages(rendered):
    text = (rendered / "index.html").read_text(encoding="utf-8")
    assert 10 <= len(re.findall(r'<li class="toctree-l\d', text)) <= 28
    for path in set(rendered.glob("*.html")) - set(built_pages.files(rendered)):
        target = re.search(
            r'content="0; url=([^"]+)"', path.read_text(encoding="utf-8")
        )
        assert target is None or (rendered / target[1]).is_file(), path.name


def test_the_book_has_at_most_60_megabytes(rendered):
    assert (
        sum(path.stat().st_size for path in rendered.rglob("*") if path.is_file())
        <= 60e6
    )


def test_every_table_has_a_caption_and_no_page_shows_the_bare_value_of_an_expression(
    rendered,
):
    bare = (
        '<table[^>]*class="[^"]*dataframe|class="atlas-table"><figcaption></figcaption>|class="output'
        " text_plain"
    )
    texts = {
        path.stem: path.read_text(encoding="utf-8")
        for path in built_pages.files(rendered)
    }
    assert {
        name: found[0]
        for name, text in texts.items()
        if (found := re.findall(bare, text))
    } == {}
