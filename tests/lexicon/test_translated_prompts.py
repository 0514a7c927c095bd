"""Placeholders through translations that mangle them in known ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelatlas.base.errors import InputError
from babelatlas.lexicon import prompts, translated_prompts

ENGLISH = ["a photo of a {}.", "the origami {}."]


def german(sentences):
    """Translate by a word list, and lose braces, as a model might."""
    words = {"a": "ein", "photo": "Foto", "of": "von", "the": "das"}
    without = [sentence.replace("{}", "").split() for sentence in sentences]
    return [" ".join(words.get(word, word) for word in split) for split in without]


def rows(table):
    return table.to_numpy().tolist()


def test_the_first_mark_that_comes_through_once_gives_the_template_and_is_named():
    asked = []

    def translate(sentences):
        asked.append(sentences)
        return german(sentences)

    marks = {"braces": "{}", "tag": "<p>", "sign": "§"}
    table = translated_prompts.translate(ENGLISH, translate, marks)
    assert rows(table) == [["ein Foto von ein {}.", "tag"], ["das origami {}.", "tag"]]
    assert asked == [
        ["a photo of a {}.", "the origami {}."],
        ["a photo of a <p>.", "the origami <p>."],
    ]


def test_only_what_failed_is_tried_with_the_next_mark():
    asked = []

    def translate(sentences):
        asked.append(len(sentences))
        return [s.replace("{}", "") if "photo" in s else s for s in sentences]

    table = translated_prompts.translate(ENGLISH, translate)
    assert table["strategy"].tolist() == ["letter in braces", "braces"]
    assert asked == [2, 1]


@pytest.mark.parametrize(
    ("text", "translate", "expected"),
    [
        ("a {}.", lambda s: f"Satz {s[2:-1]} {s[2:-1]}.", ["Satz. {}", "appended"]),
        ("a {}", lambda s: "", ["{}", "appended"]),
        ("{}", lambda s: pytest.fail("asked"), ["{}", "original"]),
    ],
)
def test_a_placeholder_that_no_mark_saves_goes_behind_the_sentence(
    text, translate, expected
):
    table = translated_prompts.translate(
        [text], lambda texts: list(map(translate, texts))
    )
    assert rows(table) == [expected]


def test_two_equal_templates_are_translated_once_and_stay_two():
    asked = []

    def translate(sentences):
        asked.append(sentences)
        return sentences

    table = translated_prompts.translate(["a {}", "a {}"], translate)
    assert table["template"].tolist() == ["a {}", "a {}"]
    assert asked == [["a {}"]]


@given(st.lists(st.text("aX{}§<>p ", max_size=12), min_size=1, max_size=3))
def test_whatever_a_model_returns_every_template_has_one_placeholder(sentences):
    def translate(asked):
        return [sentences[place % len(sentences)] for place, _ in enumerate(asked)]

    texts = ["a {}", "the {}", "my {}!"]
    table = translated_prompts.translate(texts, translate)
    assert prompts.check_templates(table["template"].tolist())
    known = {*translated_prompts.STRATEGIES, "appended"}
    assert set(table["strategy"]) <= known


@pytest.mark.parametrize("texts", [[], ["a picture"], ["{} and {}"]])
def test_templates_without_one_placeholder_are_refused(texts):
    with pytest.raises(InputError, match="template"):
        translated_prompts.translate(texts, pytest.fail)
