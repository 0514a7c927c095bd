"""Guess first: items with one correct word, the model's choice among the same words, drawings once for all pages."""

import json
import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from babelatlas.evaluation import zeroshot
from babelatlas.report import guesses

WNIDS = ["n00000001", "n00000002", "n00000003", "n00000004", "n00000005"]


@pytest.fixture
def stored(tmp_path):
    """Vectors of a model that takes every drawing for its own class, but the first class for the second."""
    basis = np.eye(5, dtype=np.float32)
    images = np.repeat(basis, 2, axis=0)
    images[:2] = basis[1]
    path = tmp_path / "embeddings" / "tiny" / "pictograms.npz"
    path.parent.mkdir(parents=True)
    few = (WNIDS[:3], basis[:3])
    by = {lang: {"similarity": "cosine", "precision": "float32", "preprocessing": "own"} for lang in ("de", "fr")}
    prompts = dict.fromkeys(by, "label")
    zeroshot.write_vectors(path, images, np.repeat(WNIDS, 2), {"de": (WNIDS, basis), "fr": few}, prompts, by)
    return zeroshot.read_vectors(path)


@pytest.fixture
def labels():
    rows = [(lang, wnid, f"{lang} {wnid}") for lang in ("de", "fr") for wnid in WNIDS]
    return pd.DataFrame(rows, columns=["lang", "wnid", "label"])


def test_each_item_has_one_correct_word_and_the_model_chooses_among_the_same(stored, labels):
    asked = guesses.items(stored, labels, "de")
    assert len(asked) == 5
    for item in asked:
        assert len(set(item["words"])) == 4
        assert item["words"][item["correct"]] == f"de {item['wnid']}"
        offers_second = f"de {WNIDS[1]}" in item["words"]
        if item["wnid"] != WNIDS[0]:
            assert item["model"] == item["correct"]
        elif offers_second:
            assert item["words"][item["model"]] == f"de {WNIDS[1]}"


def test_a_language_with_too_few_words_or_none_is_asked_nothing(stored, labels):
    assert guesses.items(stored, labels, "fr") == []
    assert guesses.items(stored, labels, "ja") == []


def test_two_classes_that_share_a_word_are_never_offered_together(stored, labels):
    labels.loc[labels["wnid"] == WNIDS[3], "label"] = f"de {WNIDS[4]}"
    asked = guesses.items(stored, labels, "de")
    assert len(asked) == 4
    assert all(len(set(item["words"])) == 4 for item in asked)


def test_a_run_without_the_miniature_asks_nothing_of_it(tmp_path, labels):
    assert guesses.asked_of(str(tmp_path), ["tiny"], labels, ["de"]) == ({}, "")


def test_drawings_are_stored_once_for_all_pages(tmp_path):
    Image.new("RGB", (64, 64), "red").save(tmp_path / "a.png")
    item = {"wnid": "n1", "number": 0}
    made = guesses.script([[item], [item]], {"n1": [str(tmp_path / "a.png")]})
    assert made.count("data:image/webp") == 1


def test_what_is_asked_stands_in_the_page_and_names_no_address(stored, labels):
    best = pd.DataFrame([{"lang": "de", "value": 0.571, "title": "A model", "data set": "a data set"}])
    made = guesses.block("de", best, guesses.items(stored, labels, "de"), "tiny")
    told = json.loads(unescape(re.search(r'data-guess="([^"]*)"', made)[1]))
    assert len(told["items"]) == 5
    assert told["best"]["value"] == 57.1
    assert "http" not in made
    assert guesses.block("fr", best, []) == ""
