"""Trials: each translation beside each image of its item, and what it costs a CLIP-like model."""

import numpy as np
import pandas as pd
import pytest

from babelatlas.base.errors import InputError
from babelatlas.evaluation import disambiguation, trials
from babelatlas.models.tokens import Tokenizer

ITEMS = pd.DataFrame(
    [
        ("de", "x", "a", "king", "king", "König"),
        ("de", "x", "b", "king", "king", "Dame"),
        ("fr", "x", "a", "king", "king", "roi"),
        ("fr", "x", "b", "king", "king", "dame"),
        ("de", "y", "a", "key", "key", "Schlüssel"),
        ("de", "y", "b", "key", "key", "Taste"),
    ],
    columns=["lang", "item", "sense", "word", "source", "translation"],
)
ITEM_IMAGES = pd.DataFrame(
    [(item, image, f"{item}_{image}.png") for item in "xy" for image in ("a0", "b0", "mix")],
    columns=["item", "image", "path"],
)


def array_of(table):
    """The items of the one unit of a `disambiguation` table, and its costs (item, image, text)."""
    [(_, part)] = disambiguation.units(table)
    return disambiguation.cost_grid(part, disambiguation.ORIGINALS)


def test_every_translation_stands_beside_every_image_of_its_item():
    found = trials.join(ITEMS, ITEM_IMAGES)
    assert len(found) == 3 * 3 * 2  # language and item, image, translation
    row = found[(found["lang"] == "fr") & (found["image"] == "mix") & (found["text"] == "b")].iloc[0]
    assert list(row) == ["fr", "x", "mix", "x_mix.png", "b", "king", "dame"]


def test_languages_are_chosen_by_any_code():
    assert set(trials.select(ITEMS, ["deu"])["lang"]) == {"de"}
    assert trials.select(ITEMS).equals(ITEMS)
    with pytest.raises(InputError, match="no translation in ja: expected among de, fr"):
        trials.select(ITEMS, ["ja"])


@pytest.mark.parametrize(
    ("items", "item_images", "message"),
    [
        (ITEMS[:5], ITEM_IMAGES, "'y' has the sense.s. a in de"),
        (ITEMS, ITEM_IMAGES[ITEM_IMAGES["path"] != "y_b0.png"], "no image b0, the first 'y'"),
        (ITEMS.assign(translation=["  ", *ITEMS["translation"][1:]]), ITEM_IMAGES, "has no translation for sense a"),
        (
            ITEMS.assign(translation=[*ITEMS["translation"][:5], "\u200b"]),
            ITEM_IMAGES,
            r"'y' has no translation for sense b in de, but '\\u200b' .1 such",
        ),
        (ITEMS.assign(source=[None, *ITEMS["source"][1:]]), ITEM_IMAGES, "'x' has no source for sense a in de"),
        (ITEMS.assign(source=""), ITEM_IMAGES, "'x' has no source"),
        (ITEMS[:0], ITEM_IMAGES, "no item"),
    ],
)
def test_items_that_cannot_be_scored_are_named(items, item_images, message):
    with pytest.raises(InputError, match=message):
        trials.join(items, item_images)


@pytest.mark.parametrize(
    "text", ["", " \n", "\u200b", "\u2060\ufeff", "\u00ad", "\u0301", "\ufe0f", "\u3164", "\uffa0", "\u2800"]
)
def test_a_text_that_prints_nothing_is_not_visible(text):
    assert not trials.visible(text)
    assert trials.visible(f"{text}ا")


@pytest.mark.parametrize("text", ["roi", "7", "¨", "%", "&", "£", "♠", "क\u094d", "\u200fא", "ー"])
def test_a_letter_a_digit_and_a_sign_are_visible(text):
    assert trials.visible(text)


@pytest.mark.parametrize("told", [False, True])
def test_a_translation_that_a_tokenizer_makes_nothing_of_is_named(told):
    def encode(texts, lang):
        return [[1, *([9] if lang else []), *map(ord, text), 2] for text in texts]

    def letters(text):
        return "".join(filter(str.isalpha, text))

    tokenizer = Tokenizer(encode, 16, 0, True, needs_language=told, canonicalise=letters)
    trials.check_tokens(tokenizer, ITEMS, "small")
    signs = ITEMS.assign(translation=[*ITEMS["translation"][:5], "%"])
    with pytest.raises(InputError, match=r"'small' makes no token of the translation '%' .de, item 'y'; 1 such"):
        trials.check_tokens(tokenizer, signs, "small")


def test_costs_are_minus_the_similarity_of_text_and_image():
    joined = trials.join(ITEMS, ITEM_IMAGES)
    shown = ITEMS[["lang", "translation"]].drop_duplicates(ignore_index=True)
    paths = joined["path"].drop_duplicates().tolist()
    rng = np.random.default_rng(0)
    texts, images = rng.normal(size=(len(shown), 4)), rng.normal(size=(len(paths), 4))
    for rule in ("cosine", "dot product"):
        found = trials.similarities(joined, texts, images, shown, paths, rule)
        for (_, row), cost in zip(joined.iterrows(), found["cost"], strict=True):
            text = texts[shown.index[(shown["lang"] == row["lang"]) & (shown["translation"] == row["translation"])][0]]
            image = images[paths.index(row["path"])]
            length = np.linalg.norm(text) * np.linalg.norm(image) if rule == "cosine" else 1
            assert cost == pytest.approx(-(text @ image) / length)
    with pytest.raises(InputError, match="'cosine' or 'dot product', got 'plain mean'"):
        trials.similarities(joined, texts, images, shown, paths, "plain mean")
    with pytest.raises(InputError, match="without a vector"):
        trials.similarities(joined, texts, images, shown, paths[1:], "cosine")


def test_equal_translations_tie_and_vectors_that_know_the_senses_are_right():
    pair = ITEMS[:2].assign(translation=["König", "König"])
    joined = trials.join(pair, ITEM_IMAGES[:2])
    shown, paths = pair[["lang", "translation"]].drop_duplicates(ignore_index=True), ["x_a0.png", "x_b0.png"]
    found = trials.similarities(
        joined, np.array([[0.1, 0.7]]), np.array([[0.3, 1 / 3], [0.7, 0.1]]), shown, paths, "cosine"
    )
    costs = found.pivot(index="image", columns="text", values="cost")
    assert (costs["a"] == costs["b"]).all()
    joined = trials.join(ITEMS[:2], ITEM_IMAGES[:2])
    shown = ITEMS[:2][["lang", "translation"]]
    found = trials.similarities(joined, np.eye(2), np.eye(2), shown, paths, "cosine")
    made = {"similarity": "cosine", "precision": "float32", "preprocessing": "model"}
    items, costs = array_of(found.assign(model="m", replicate=0, dataset="d", **made))
    assert list(items) == ["x"]
    assert disambiguation.tc(costs).all()
    assert disambiguation.ic(costs).all()
