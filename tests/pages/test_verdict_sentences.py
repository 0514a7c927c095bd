"""What pages say of verdicts, in sentences."""

import re

from atlas_study.pages import verdict_sentences
from babelatlas.analysis import verdicts


def test_yoruba_is_judged_by_questions_and_its_few_classes_are_named():
    text = verdict_sentences.verdict("yo")
    assert "answers 70.4 % of questions correctly (2,000 about dishes" in text
    assert "guessing 20.0 %" in text
    assert text.endswith("image search was tested on few classes only (31).")


def test_every_language_with_a_result_says_whether_a_generative_model_is_usable():
    for lang in verdicts.verdicts().index:
        text = verdict_sentences.generative(lang)
        assert text.startswith(tuple(verdict_sentences.ANSWERS.values())), lang
        assert text.endswith(".")
        assert not re.search(r"\bnan\b", text)


def test_every_language_with_a_result_has_a_sentence_that_says_its_verdict():
    for lang, state in verdicts.verdicts()["verdict"].items():
        text = verdict_sentences.verdict(lang)
        assert text.startswith(f"{state.capitalize()}:")
        assert text.endswith(".")
        assert not re.search(r"\bnan\b", text)


def test_the_best_result_in_english_is_not_compared_with_itself():
    assert verdict_sentences.verdict("en").endswith("the best result in English.")
