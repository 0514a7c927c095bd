"""Scores of captions: against a slow literal transcription of CIDEr's equations, and
pycocoevalcap where it is installed.
"""

import math
import unicodedata
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
        ("xe đạp màu đỏ", "vi", "whitespace", ["xe", "đạp", "màu", "đỏ"]),
        ("ca\u00adfe\u0301 \u200f", "fr", "whitespace", ["café"]),
        ("می\u200cرود", "fa", "whitespace", ["می\u200cرود"]),
        ("می\u200c", "fa", "characters", ["م", "ی\u200c"]),
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


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_caption_equal_to_its_reference_scores_10_in_each_form_of_unicode(form):
    texts = ["một chiếc xe đạp màu đỏ", "hai con chó đang chạy"]
    ours = written([unicodedata.normalize(form, text) for text in texts], "vi")
    scores = captioning.score(ours, references(texts, "vi"))
    assert scores["value"].tolist() == pytest.approx([10, 10])


def test_a_caption_has_the_same_score_whatever_else_its_model_captioned():
    both = pd.concat([references(), references(["the cat", "a dog"]).assign(number=1)])
    more = references(["a red bus", "a cat on a bus"]).assign(image=["2", "3"])
    known = pd.concat([both, more])
    few = written(model="few").head(1)
    everything = pd.concat([written(model="all"), written(model="all")])
    everything["image"] = ["0", "1", "2", "3"]
    together = captioning.score(pd.concat([few, everything]), known)
    first = together[together["image"] == "0"].set_index("model")["value"]
    assert first["few"] == pytest.approx(first["all"])
    alone = captioning.score(few, known)["value"].tolist()
    assert alone == pytest.approx([first["few"]])
    assert alone[0] > 0
    documents = [["a cat", "the cat"], ["the dog", "a dog"], ["a red bus"]]
    documents = [*documents, ["a cat on a bus"]]
    split = [[text.split() for text in texts] for texts in documents]
    expected = slow_cider([["a", "cat"], [], [], []], split, damped=True)[0]
    assert alone[0] == pytest.approx(expected)


def test_references_of_one_image_alone_are_named_and_not_scored(capsys):
    only = references().head(1)
    message = "references 'people' in English are of one image"
    with pytest.raises(InputError, match=message):
        captioning.score(written(), only)
    both = pd.concat([references(name="others"), only])
    scores = captioning.score(written(), both)
    assert set(scores["captions"]) == {"others"}
    assert message in capsys.readouterr().err


def test_an_image_with_two_regions_is_refused():
    homes = pd.DataFrame({"image": ["1", "1"], "region": ["sw", "de"]})
    with pytest.raises(InputError, match=r"image\(s\) twice, the first 1"):
        captioning.score(written(), references(), regions=homes)


def test_a_language_without_references_in_a_set_is_left_out_for_the_set():
    generated = pd.concat([written(), written(lang="de")])
    assert set(captioning.score(generated, references())["lang"]) == {"en"}


def test_an_image_without_references_in_a_set_is_left_out_for_the_set():
    few = references(name="few").assign(image=["0", "2"])
    scores = captioning.score(written(), pd.concat([references(), few]))
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
