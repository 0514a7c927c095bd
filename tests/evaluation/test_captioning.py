"""Scores of captions: against a slow literal transcription of CIDEr's equations, and
pycocoevalcap where it is installed.
"""

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelatlas.base.errors import InputError
from babelatlas.evaluation import captioning
from babelatlas.stats import bootstrap, permutation

WORDS = ["a", "b", "c", "d", "e"]
TOKENS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7)
REFERENCES = st.lists(TOKENS, min_size=1, max_size=3)
CASES = st.lists(st.tuples(TOKENS, REFERENCES), min_size=1, max_size=6)


def grams(tokens, n):
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def vector(tokens, n, references):
    """g_n of Eq. 1: the count of each n-gram times its inverse document frequency."""
    weights = {}
    for gram, count in grams(tokens, n).items():
        frequency = sum(
            any(gram in grams(reference, n) for reference in texts)
            for texts in references
        )
        idf = math.log(len(references)) - math.log(max(1, frequency))
        weights[gram] = count * idf
    return weights


def length(weights):
    return math.sqrt(sum(weight**2 for weight in weights.values()))


def similarity(candidate, reference, n, references, damped):
    """One summand of Eq. 2, or with `damped` that of Section 6."""
    c = vector(candidate, n, references)
    s = vector(reference, n, references)
    if damped:
        product = sum(min(c[g], s.get(g, 0)) * s.get(g, 0) for g in c)
    else:
        product = sum(c[g] * s.get(g, 0) for g in c)
    norm = length(c) * length(s)
    value = product / norm if norm else 0.0
    if damped:
        gap = max(len(candidate) - 1, 0) - max(len(reference) - 1, 0)
        value *= math.exp(-(gap**2) / (2 * 6.0**2))
    return value


def slow_cider(candidates, references, damped):
    """Eq. 1 to 3 of Vedantam et al. (2015), term by term."""
    scores = []
    for candidate, texts in zip(candidates, references, strict=True):
        by_n = [
            sum(similarity(candidate, text, n, references, damped) for text in texts)
            / len(texts)
            for n in range(1, 5)
        ]
        scores.append(10 * sum(by_n) / 4)
    return np.array(scores)


@settings(max_examples=60, deadline=None)
@given(CASES, st.booleans())
def test_cider_is_what_its_equations_say(cases, damped):
    candidates, references = zip(*cases, strict=True)
    metric = "CIDEr-D" if damped else "CIDEr"
    found = captioning.cider(candidates, references, metric)
    assert np.allclose(found, slow_cider(candidates, references, damped), atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(CASES)
def test_cider_d_equals_pycocoevalcap_where_that_is_installed(cases):
    name = "pycocoevalcap.cider.cider_scorer"
    package = pytest.importorskip(name, reason="pycocoevalcap is not installed")
    scorer = package.CiderScorer(n=4, sigma=6.0)
    for candidate, references in cases:
        scorer += (" ".join(candidate), [" ".join(text) for text in references])
    _, theirs = scorer.compute_score()
    found = captioning.cider(*zip(*cases, strict=True))
    assert np.allclose(found, theirs, atol=1e-9)


def test_a_caption_equal_to_its_only_reference_scores_10_where_its_fourgrams_are_rare():
    references = [[["a", "b", "c", "d"]], [["e", "a", "e", "b"]]]
    candidates = [["a", "b", "c", "d"], ["e", "e", "e", "e"]]
    assert captioning.cider(candidates, references, "CIDEr")[0] == pytest.approx(10)
    assert captioning.cider(candidates, references)[0] == pytest.approx(10)


@settings(max_examples=30, deadline=None)
@given(CASES, st.randoms(use_true_random=False))
def test_the_order_of_images_and_of_references_changes_no_score(cases, random):
    order = list(range(len(cases)))
    random.shuffle(order)
    before = captioning.cider(*zip(*cases, strict=True))
    turned = [(cases[place][0], cases[place][1][::-1]) for place in order]
    after = captioning.cider(*zip(*turned, strict=True))
    assert np.allclose(before[order], after, atol=1e-12)


def test_references_must_be_there_for_each_caption():
    message = "got 2 captions, references of 2 images, and none for 1"
    with pytest.raises(InputError, match=message):
        captioning.cider([["a"], ["b"]], [[["a"]], []])
    with pytest.raises(InputError, match="no metric 'CIDEr-E'"):
        captioning.cider([["a"]], [[["a"]]], "CIDEr-E")


@pytest.mark.parametrize(
    ("text", "lang", "tokenization", "tokens"),
    [
        ("Ein Hund, eine Katze!", "de", "automatic", ["ein", "hund", "eine", "katze"]),
        ("रत्न", "hi", "characters", ["र", "त्", "न"]),
        ("北京", "zh", "automatic", ["北", "京"]),
        ("ab cd", "en", "characters", ["a", "b", "c", "d"]),
        ("แมว", "th", "whitespace", ["แมว"]),
        ("", "en", "whitespace", []),
    ],
)
def test_captions_are_split_as_the_setting_says(text, lang, tokenization, tokens):
    assert captioning.tokenize(text, lang, tokenization) == tokens


def test_an_unknown_tokenization_is_one_sentence():
    with pytest.raises(InputError, match="no tokenization 'white'"):
        captioning.tokenize("a", "en", "white")


def written(captions=("a cat", "a dog"), lang="en", model="m"):
    """Captions of two images by a model, in the columns of the table."""
    rows = pd.DataFrame({"image": ["0", "1"], "caption": captions})
    return rows.assign(model=model, dataset="d", lang=lang)


def references(captions=("a cat", "the dog"), lang="en", name="people"):
    """A reference for each of the two images."""
    rows = pd.DataFrame({"image": ["0", "1"], "number": 0, "caption": captions})
    return rows.assign(captions=name, lang=lang)


def test_each_caption_is_scored_with_each_set_of_references():
    both = pd.concat([references(), references(name="translated")])
    scores = captioning.score(written(), both)
    assert len(scores) == 2 * 2
    assert set(scores["captions"]) == {"people", "translated"}
    assert set(scores["metric"] + scores["tokenization"]) == {"CIDEr-Dautomatic"}
    ours = [["a", "cat"], ["a", "dog"]]
    theirs = [[["a", "cat"]], [["the", "dog"]]]
    by_people = scores.loc[scores["captions"] == "people", "value"]
    assert by_people.tolist() == captioning.cider(ours, theirs).tolist()


def test_a_language_without_references_in_a_set_is_left_out_for_the_set():
    generated = pd.concat([written(), written(lang="de")])
    assert set(captioning.score(generated, references())["lang"]) == {"en"}


def test_an_image_without_references_in_a_set_is_left_out_for_the_set():
    both = pd.concat([references(), references(name="few").head(1)])
    scores = captioning.score(written(), both)
    counts = scores.groupby("captions").size()
    assert counts.to_dict() == {"few": 1, "people": 2}


def test_an_empty_caption_scores_0():
    scores = captioning.score(written(["", "a dog"]), references())
    assert (scores.loc[scores["image"] == "0", "value"] == 0).all()


def test_scores_say_where_their_image_is_from():
    homes = pd.DataFrame({"image": ["1"], "region": ["sw"]})
    scores = captioning.score(written(), references(), regions=homes)
    assert dict(zip(scores["image"], scores["region"], strict=True)) == {
        "0": "",
        "1": "sw",
    }


@pytest.mark.parametrize(
    ("generated", "captions", "message"),
    [
        (pd.concat([written(), written()]), references(), "occurs before"),
        (
            written(),
            references(lang="de"),
            "No reference is of an image and in a language",
        ),
    ],
)
def test_what_cannot_be_scored_is_one_sentence(generated, captions, message):
    with pytest.raises(InputError, match=message):
        captioning.score(generated, captions)


def test_means_have_intervals_over_images_and_models_are_compared_on_the_same_images():
    scores = captioning.score(
        pd.concat([written(), written(["the dog", "the dog"], model="n")]), references()
    )
    by = ["model", "lang"]
    means = bootstrap.group_means(scores, by, cluster="image", n_resamples=50)
    expected = scores.groupby("model")["value"].mean()
    assert dict(zip(means["model"], means["value"], strict=True)) == pytest.approx(
        expected.to_dict()
    )
    gap = permutation.paired_difference(scores, unit="image", by=["lang"]).iloc[0]
    assert gap["value"] == pytest.approx(expected["m"] - expected["n"])
    assert gap["n"] == 2
