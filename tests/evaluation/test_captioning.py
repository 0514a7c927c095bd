"""Scores of captions: against a slow literal transcription of CIDEr."""

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelatlas.base.errors import InputError
from babelatlas.evaluation import captioning

WORDS = ["a", "b", "c", "d", "e"]
TOKENS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7)


def slow_cider(candidates, references, damped):
    """Eq. 1 to 3 of Vedantam et al. (2015), term by term; `damped` as in their Section 6."""
    n_images, scores = len(references), []

    def grams(tokens, n):
        return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))

    def vector(tokens, n):
        found = {}
        for gram, count in grams(tokens, n).items():
            frequency = sum(any(gram in grams(reference, n) for reference in one) for one in references)
            found[gram] = count * (math.log(n_images) - math.log(max(1, frequency)))
        return found

    for candidate, own in zip(candidates, references, strict=True):
        total = 0.0
        for reference in own:
            for n in range(1, 5):
                c, s = vector(candidate, n), vector(reference, n)
                if damped:
                    product = sum(min(c[g], s.get(g, 0)) * s.get(g, 0) for g in c)
                else:
                    product = sum(c[g] * s.get(g, 0) for g in c)
                norm = math.sqrt(sum(v * v for v in c.values())) * math.sqrt(sum(v * v for v in s.values()))
                value = product / norm if norm else 0.0
                if damped:
                    gap = max(len(candidate) - 1, 0) - max(len(reference) - 1, 0)
                    value *= math.exp(-(gap**2) / (2 * 6.0**2))
                total += value / 4
        scores.append(10 * total / len(own))
    return np.array(scores)


CASES = st.lists(st.tuples(TOKENS, st.lists(TOKENS, min_size=1, max_size=3)), min_size=1, max_size=6)


@settings(max_examples=30, deadline=None)
@given(CASES, st.booleans())
def test_cider_is_what_its_equations_say(cases, damped):
    candidates, references = zip(*cases, strict=True)
    found = captioning.cider(candidates, references, "CIDEr-D" if damped else "CIDEr")
    assert np.allclose(found, slow_cider(candidates, references, damped), atol=1e-12)


@pytest.mark.parametrize(
    ("text", "lang", "tokenization", "tokens"),
    [
        ("Ein Hund, eine Katze!", "de", "automatic", ["ein", "hund", "eine", "katze"]),
        ("रत्न", "hi", "characters", ["र", "त्", "न"]),
        ("北京大学的猫", "zh", "jieba", ["北京大学", "的", "猫"]),
        ("北京", "zh", "automatic", ["北", "京"]),
        ("ab cd", "en", "characters", ["a", "b", "c", "d"]),
        ("แมว", "th", "whitespace", ["แมว"]),
        ("", "en", "whitespace", []),
    ],
)
def test_captions_are_cut_as_the_setting_says(text, lang, tokenization, tokens):
    assert captioning.tokenize(text, lang, tokenization) == tokens


def test_chrf_of_a_caption_with_itself_is_1_and_the_best_reference_counts():
    assert captioning.chrf(["a red cat"], [["something else", "a red cat"]]).tolist() == [1.0]
    assert 0 < captioning.chrf(["a red cat"], [["a red dog"]])[0] < 1


def tables_of(captions=("a cat", "a dog"), references=("a cat", "the dog")):
    names = ["0", "1"]
    run = {"model": "m", "dataset": "d", "precision": "fp32", "preprocessing": "", "prompts": "p", "lang": "en"}
    generated = pd.DataFrame({"image": names, "caption": captions}).assign(**run)
    known = pd.DataFrame({"captions": "people", "lang": "en", "image": names, "number": 0, "caption": references})
    return generated, known


def test_each_caption_is_scored_by_each_metric_with_each_set_of_references():
    generated, known = tables_of()
    both = pd.concat([known, known.assign(captions="translated")])
    found = captioning.score(generated, both, ["CIDEr", "chrF++"])
    assert len(found) == 2 * 2 * 2
    assert set(found["references"]) == {"people", "translated"}
    assert found.set_index(["metric", "references", "image"])["value"]["chrF++", "people", "0"] == 1
    assert set(found.loc[found["metric"] == "CIDEr", "tokenization"]) == {"automatic"}


def test_an_image_without_a_reference_is_named():
    generated, known = tables_of()
    with pytest.raises(InputError, match=r"The references 'people' lack 1 image.s. of .*: 1\."):
        captioning.score(generated, known[known["image"] == "0"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ((["BLEU"], "automatic", ["en"]), "no metric or tokenization 'BLEU'"),
        ((["CIDEr"], "jieba", ["zh", "th"]), "'jieba' cuts Chinese only"),
    ],
)
def test_settings_that_do_not_fit_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        captioning.check_settings(*settings)
