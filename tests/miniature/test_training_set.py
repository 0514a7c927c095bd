"""Which texts the training writes, how captions are drawn, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from miniature import pictograms, training_set

WNIDS = pictograms.concepts()["wnid"].tolist()
DATA_TABLE, FURNITURE = (
    "n08266235",
    "n04379243",
)  # two senses of "table", which are no concepts


@pytest.fixture
def labels():
    rows = [
        (lang, wnid, f"{lang}-{row}")
        for lang in ("de", "en", "hy")
        for row, wnid in enumerate(WNIDS[:10])
    ]
    return pd.DataFrame(rows, columns=["lang", "wnid", "label"]).assign(
        source="", licence="", alternatives=[[]] * 30
    )


@pytest.fixture
def senses(labels):
    """Labels of two concepts and of two senses that are none, with alternatives, as
    notebook 61 writes them.
    """
    rows = [
        (
            lang,
            wnid,
            f"{lang}-{wnid}",
            [f"{lang}-{wnid}".upper(), f"{lang} other {wnid}", "too many"],
        )
        for lang in ("de", "en", "hy")
        for wnid in (*WNIDS[:2], DATA_TABLE, FURNITURE)
    ]
    return pd.DataFrame(rows, columns=["lang", "wnid", "label", "alternatives"])


def test_a_low_tier_names_a_fraction_of_its_concepts_and_gets_its_share(labels):
    tiers = {"en": ["en"], "low": ["de", "hy"]}
    texts = training_set.training_texts(
        labels, tiers, {"en": 0.6, "low": 0.4}, {"en": 1, "low": 0.5}, model="m"
    )

    assert texts.groupby("lang").size().to_dict() == {"de": 5, "en": 10, "hy": 5}
    assert texts.groupby("lang")["weight"].first().to_dict() == {
        "de": 0.2,
        "en": 0.6,
        "hy": 0.2,
    }
    assert set(texts["model"]) == {"m"}


class Letters:
    """A tokenizer that gives every different text a number of its own."""

    def __init__(self):
        self.texts = []

    def __call__(self, texts):
        self.texts = texts
        return self

    def numpy(self):
        return np.arange(len(self.texts))[:, None]


def test_captions_name_the_concept_and_an_english_one_sometimes_the_colour(labels):
    texts = training_set.training_texts(
        labels, {"en": ["en"], "low": ["hy"]}, {"en": 0.5, "low": 0.5}, {}
    )
    letters = Letters()
    deck = training_set.Captions(texts, letters, templates=["a {}", "{}!"])
    classes, hues = np.repeat(np.arange(10), 200), np.tile(np.arange(8), 250)
    pieces, said = deck.sample(classes, hues, np.random.default_rng(0), coloured=0.5)

    colours = list(pictograms.COLOURS)
    for row, concept, hue, named in zip(pieces[:, 0], classes, hues, said, strict=True):
        caption = letters.texts[row].removeprefix("a ").removesuffix("!")
        expected = (
            [f"{colours[hue]} en-{concept}"]
            if named >= 0
            else [f"en-{concept}", f"hy-{concept}"]
        )
        assert caption in expected
        assert named in (-1, hue)
    assert 0.2 < (said >= 0).mean() < 0.3
    assert deck.counted(texts)["weight"].sum() == len(classes)


def test_senses_are_written_with_their_alternatives_and_share_the_weight(
    labels, senses
):
    tiers, shares = {"en": ["en"], "low": ["de", "hy"]}, {"en": 0.6, "low": 0.4}
    texts = training_set.training_texts(
        labels, tiers, shares, {}, senses=senses, most=3
    )
    words = texts.groupby(["lang", "wnid"])["label"].agg(list)
    assert words["de", DATA_TABLE] == [
        f"de-{DATA_TABLE}",
        f"de other {DATA_TABLE}",
    ]  # upper case makes no new word
    assert words["de", WNIDS[0]] == ["de-0", f"de-{WNIDS[0]}", f"de other {WNIDS[0]}"]
    assert words["de", WNIDS[5]] == ["de-5"]
    weights = texts.groupby(["lang", "wnid"])["weight"]
    assert np.allclose(
        weights.sum(), [0.6 if lang == "en" else 0.2 for lang, _ in words.index]
    )
    assert np.allclose(weights.min(), weights.max())
    assert (
        training_set.training_texts(labels, tiers, shares, {}, senses=senses, most=1)[
            "label"
        ]
        .str.len()
        .max()
        < 15
    )


def test_captions_of_a_sense_are_all_its_words_about_as_often_as_their_weights_say(
    labels, senses
):
    texts = training_set.training_texts(
        labels,
        {"en": ["en"], "low": ["hy"]},
        {"en": 0.5, "low": 0.5},
        {},
        senses=senses,
    )
    letters = Letters()
    deck = training_set.Captions(texts, letters, templates=["{}"])
    assert deck.wnids == [
        wnid
        for wnid in pictograms.drawn()
        if wnid in {*WNIDS[:10], DATA_TABLE, FURNITURE}
    ]
    place = deck.wnids.index(FURNITURE)
    pieces, said = deck.sample(
        np.full(4000, place),
        np.zeros(4000, int),
        np.random.default_rng(0),
        coloured=0.0,
    )

    told = pd.Series([letters.texts[row] for row in pieces[:, 0]]).value_counts()
    assert sorted(told.index) == sorted(texts.loc[texts["wnid"] == FURNITURE, "label"])
    expected = texts[texts["wnid"] == FURNITURE].set_index("label")["weight"]
    assert np.allclose(told / 4000, (expected / expected.sum())[told.index], atol=0.03)
    assert (said == -1).all()
    counted = deck.counted(texts)
    assert (
        counted.loc[counted["wnid"] == FURNITURE].set_index("label")["weight"].to_dict()
        == told.to_dict()
    )
    assert counted["weight"].sum() == 4000


def test_parallel_captions_have_the_same_template_on_both_sides_and_leave_no_class_out(
    labels,
):
    found = training_set.parallel_captions(labels, "de", 25, seed=1)
    assert len(found) == 25
    assert found["group"].value_counts().to_dict().keys() == set(WNIDS[:10])
    assert found["group"].value_counts().between(2, 3).all()
    assert (found["text"].str.replace("de-", "en-") == found["english"]).all()
    assert not found.duplicated().any()
    pd.testing.assert_frame_equal(
        found, training_set.parallel_captions(labels, "de", 25, seed=1)
    )
    assert not found.equals(training_set.parallel_captions(labels, "de", 25, seed=2))
    assert training_set.parallel_captions(labels, "fr", 25).empty
