"""What pages say of verdicts, in sentences."""

import re

from atlas_study.pages import verdict_sentences
from babelatlas.analysis import verdicts


def test_generative_models_are_named_where_captions_or_labels_decide():
    assert verdict_sentences.questions("yo") == ""
    assert verdict_sentences.questions("nan").startswith("Generative models: ")


def test_every_language_with_a_result_has_a_sentence_that_says_its_verdict():
    for lang, state in verdicts.verdicts()["verdict"].items():
        text = verdict_sentences.verdict(lang)
        assert text.startswith(f"{state.capitalize()}:")
        assert text.endswith(".")
        assert not re.search(r"\bnan\b", text)


def test_the_best_result_in_english_is_not_compared_with_itself():
    assert verdict_sentences.verdict("en").endswith("the best result in English.")
