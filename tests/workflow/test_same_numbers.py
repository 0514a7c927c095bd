"""What two pages of the book say of one thing is one number, and home says what its
chapters say.

Of the small run, or of the book that --book names.
"""

import re

import pytest

import built_pages

pytestmark = pytest.mark.slow
# What the book counts -> how pages state it; each group is the number.
STATED = {
    "languages in which a model is usable": [
        r"usable in ([\d,]+) spoken languages?\b",
    ],
    "languages on the borderline": [r"borderline in ([\d,]+)\b"],
    "the world's spoken languages": [
        r"[Oo]f (?:the world’s )?(\d{1,3},\d{3}) spoken languages(?! that)",
        r"\b\d+ of (\d{1,3},\d{3}) languages \(",
    ],
    "usable languages by other rules": [
        r"\((\d+–\d+) by other rules\)",
        r"Other rules find (\d+ to \d+) usable",
    ],
    "languages asked about dishes": [
        r"points lower in (\d+) other languages than in English",
        r"best open model loses [\d.]+ points \(median of (\d+) languages\)",
    ],
    "languages without a place on a map": [
        r"their place is unknown: ([\d,]+) languages",
        r"counted; ([\d,]+) have no place on the map",
    ],
    "languages with labels for ten classes": [
        r"spoken languages, ([\d,]+) have open labels",
        r"labels for ImageNet’s classes in ([\d,]+) spoken languages",
    ],
    "models of the main leaderboard": [
        r"recall@1 of ([\d,]+) models on Crossmodal-3600",
        r"best of ([\d,]+) models in each of n = 36 languages",
    ],
    "pairs of published models that differ": [
        r"\b([\d,]+ of 66) pairs of (?:published )?models (?:that )?differ\b",
    ],
}


@pytest.fixture(scope="module")
def prose(book):
    """Page -> its words, each space one space."""
    return {
        page.path.stem: re.sub(r"\s+", " ", page.prose)
        for page in built_pages.pages(book)
    }


@pytest.mark.parametrize("what", STATED)
def test_a_number_that_two_pages_state_is_one_number(prose, what):
    stated = {}
    for name, text in prose.items():
        for pattern in STATED[what]:
            for number in re.findall(pattern, text):
                number = number.replace(" to ", "–")
                stated.setdefault(number, set()).add(name)
    assert len(stated) <= 1, stated


def test_the_patterns_find_what_the_pages_state(prose):
    """A sentence that changed would make the test above say nothing."""
    texts = " ".join(prose.values())
    lost = [
        what
        for what, patterns in STATED.items()
        if not any(re.search(pattern, texts) for pattern in patterns)
    ]
    assert lost == []


def takeaways(text):
    """The takeaway of a page."""
    return re.findall(r"Takeaway (.*?\.) ", text)[:1]


def findings(text):
    """What home says of other pages, each sentence."""
    _, found, rest = text.partition("Findings on real models")
    items = rest.partition("Go on reading")[0].split(" More.")[:-1]
    return [item.strip(" #") for item in items] if found else []


def test_what_home_finds_is_what_its_chapters_say_word_for_word(prose):
    said = findings(prose["index"])
    chapters = [text for name, text in prose.items() if name != "index"]
    answers = {answer.strip() for text in chapters for answer in takeaways(text)}
    assert set(said) <= answers
    asked = {"13_rich_and_poor", "16_filtering", "11_leaderboard", "14_gap_over_time"}
    present = asked & {*prose}
    assert bool(said) == bool(present)


def test_the_verdict_of_home_is_that_of_its_chapter(prose):
    home, chapter = "index", "12_working_languages"
    if chapter not in prose:
        pytest.skip("this run has no chapter on usable languages")
    assert takeaways(prose[home]) == takeaways(prose[chapter])
