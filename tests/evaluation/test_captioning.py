"""Scores of captions: against a slow literal transcription of CIDEr, and pycocoevalcap where it is installed."""

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


@settings(max_examples=60, deadline=None)
@given(CASES, st.booleans())
def test_cider_is_what_its_equations_say(cases, damped):
    candidates, references = zip(*cases, strict=True)
    found = captioning.cider(candidates, references, "CIDEr-D" if damped else "CIDEr")
    assert np.allclose(found, slow_cider(candidates, references, damped), atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(CASES)
def test_cider_d_equals_pycocoevalcap_where_that_is_installed(cases):
    scorer = pytest.importorskip("pycocoevalcap.cider.cider_scorer", reason="only where pycocoevalcap is installed")
    one = scorer.CiderScorer(n=4, sigma=6.0)
    for candidate, references in cases:
        one += (" ".join(candidate), [" ".join(reference) for reference in references])
    _, theirs = one.compute_score()
    found = captioning.cider(*zip(*cases, strict=True))
    assert np.allclose(found, theirs, atol=1e-9)


def test_a_caption_equal_to_its_only_reference_has_cider_10_where_it_has_rare_fourgrams():
    references = [[["a", "b", "c", "d"]], [["e", "a", "e", "b"]]]
    assert captioning.cider([["a", "b", "c", "d"], ["e", "e", "e", "e"]], references, "CIDEr")[0] == pytest.approx(10)


@settings(max_examples=30, deadline=None)
@given(CASES, st.randoms(use_true_random=False))
def test_the_order_of_images_and_of_references_changes_no_score(cases, random):
    order = list(range(len(cases)))
    random.shuffle(order)
    before = captioning.cider(*zip(*cases, strict=True))
    turned = [(cases[place][0], cases[place][1][::-1]) for place in order]
    assert np.allclose(before[order], captioning.cider(*zip(*turned, strict=True)), atol=1e-12)


def test_references_must_be_there_for_each_caption():
    with pytest.raises(InputError, match="got 2 captions, references of 2 images, and none for 1"):
        captioning.cider([["a"], ["b"]], [[["a"]], []])
    with pytest.raises(InputError, match="no variant 'CIDEr-E'"):
        captioning.cider([["a"]], [[["a"]]], "CIDEr-E")


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


def test_a_language_without_a_segmenter_is_one_sentence():
    with pytest.raises(InputError, match="'jieba' cuts Chinese only, and there are captions in Thai"):
        captioning.tokenize("แมว", "th", "jieba")
    with pytest.raises(InputError, match="no tokenization 'white'"):
        captioning.tokenize("a", "en", "white")


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


def test_a_language_without_references_in_a_set_is_left_out_for_that_set():
    generated, known = tables_of()
    german = generated.assign(lang="de")
    found = captioning.score(pd.concat([generated, german]), known, ["CIDEr"])
    assert set(found["lang"]) == {"en"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda g, k: (pd.concat([g, g]), k), "2 row.s. with a key that occurs before"),
        (lambda g, k: (g, k[k["image"] == "0"]), "1 image.s. that the references 'people' lack, the first: 1"),
        (lambda g, k: (g, k.assign(lang="de")), "No set of references is in a language"),
    ],
)
def test_what_cannot_be_scored_is_one_sentence(change, message):
    with pytest.raises(InputError, match=message):
        captioning.score(*change(*tables_of()))


def test_released_tokens_of_the_references_cut_the_generated_captions_too():
    generated, known = tables_of(["一只猫", "小狗"], ["一只猫", "小狗"])
    generated, known = generated.assign(lang="zh"), known.assign(lang="zh")
    tokens = known.assign(captions="tokenized", caption=["一只 猫", "小 狗"])
    found = captioning.score(generated, known, ["CIDEr"], "released", tokens)
    ours = [["一只", "猫"], ["小", "狗"]]
    assert found["value"].tolist() == captioning.cider(ours, [[one] for one in ours], "CIDEr").tolist()
    with pytest.raises(InputError, match="'released' needs the released tokens"):
        captioning.score(generated, known, ["CIDEr"], "released")


def test_an_empty_caption_scores_0():
    found = captioning.score(*tables_of(["", "a dog"]))
    assert (found.loc[found["image"] == "0", "value"] == 0).all()


def test_an_unknown_metric_is_named():
    with pytest.raises(InputError, match="no metric 'BLEU' of captions"):
        captioning.score(*tables_of(), ["BLEU"])
