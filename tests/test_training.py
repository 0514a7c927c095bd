"""What needs no torch of the training: which texts it writes, how captions are drawn, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from babelatlas import InputError, pictograms, training

WNIDS = pictograms.concepts()["wnid"].tolist()


@pytest.fixture
def labels():
    rows = [(lang, wnid, f"{lang}-{row}") for lang in ("de", "en", "hy") for row, wnid in enumerate(WNIDS[:10])]
    return pd.DataFrame(rows, columns=["lang", "wnid", "label"]).assign(source="", licence="", alternatives=[[]] * 30)


def test_a_low_tier_names_a_fraction_of_its_concepts_and_gets_its_share(labels):
    tiers = {"en": ["en"], "low": ["de", "hy"]}

    texts = training.training_texts(labels, tiers, {"en": 0.6, "low": 0.4}, {"en": 1, "low": 0.5}, model="m")

    assert texts.groupby("lang").size().to_dict() == {"de": 5, "en": 10, "hy": 5}
    assert texts.groupby("lang")["weight"].first().to_dict() == {"de": 0.2, "en": 0.6, "hy": 0.2}
    assert set(texts["model"]) == {"m"}


def test_the_concepts_a_language_names_do_not_depend_on_the_other_languages(labels):
    alone = training.training_texts(labels, {"low": ["hy"]}, {}, {"low": 0.5})
    both = training.training_texts(labels, {"low": ["de", "hy"]}, {}, {"low": 0.5})

    assert both.loc[both["lang"] == "hy", "wnid"].tolist() == alone["wnid"].tolist()


def test_what_the_mix_cannot_be_is_told(labels):
    with pytest.raises(InputError, match="'en' is in two tiers"):
        training.training_texts(labels, {"en": ["en"], "high": ["en"]}, {}, {})
    with pytest.raises(InputError, match="sw"):
        training.training_texts(labels, {"low": ["sw"]}, {}, {})
    with pytest.raises(InputError, match=r"'low' .* fraction 1\.5"):
        training.training_texts(labels, {"low": ["hy"]}, {}, {"low": 1.5})
    with pytest.raises(InputError, match="no language"):
        training.training_texts(labels, {}, {}, {})


def test_a_recipe_gives_its_tiers_in_canonical_codes_and_its_steps():
    tiers, steps = training.recipe("picto-multi", ["de"], ["iw"], [], [])

    assert tiers == {"en": ["en"], "high": ["de"], "mid": ["he"]}
    assert steps == training.STEPS["picto-multi"]
    assert training.recipe("picto-distilled", ["de"], [], [], ["fr"], 7) == ({"en": ["en"], "parallel": ["fr"]}, 7)
    with pytest.raises(InputError, match="'picto-x'"):
        training.recipe("picto-x", [], [], [], [])
    with pytest.raises(InputError, match="-1"):
        training.recipe("picto-en", [], [], [], [], -1)


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
    texts = training.training_texts(labels, {"en": ["en"], "low": ["hy"]}, {"en": 0.5, "low": 0.5}, {})
    letters = Letters()
    deck = training.Captions(texts, letters, templates=["a {}", "{}!"])
    classes, hues = np.repeat(np.arange(10), 200), np.tile(np.arange(8), 250)

    pieces, said = deck.sample(classes, hues, np.random.default_rng(0), coloured=0.5)

    colours = list(pictograms.COLOURS)
    for row, concept, hue, named in zip(pieces[:, 0], classes, hues, said, strict=True):
        caption = letters.texts[row].removeprefix("a ").removesuffix("!")
        expected = [f"{colours[hue]} en-{concept}"] if named >= 0 else [f"en-{concept}", f"hy-{concept}"]
        assert caption in expected
        assert named in (-1, hue)
    assert 0.2 < (said >= 0).mean() < 0.3
    assert deck.counted(texts)["weight"].sum() == len(classes)


def test_labels_of_other_classes_and_impossible_sizes_are_told(labels, tmp_path):
    with pytest.raises(InputError, match="n99999999, which is no pictogram"):
        training.training_texts(labels.replace(WNIDS[0], "n99999999"), {"en": ["en"]}, {}, {})
    texts = training.training_texts(labels, {"en": ["en"]}, {}, {})
    with pytest.raises(InputError, match="steps is 0"):
        training.train(texts, tmp_path, steps=0)
    with pytest.raises(InputError, match="more than the 20 that there are"):
        training.train(texts, tmp_path, batch_size=21, per_class=2)
    assert list(tmp_path.iterdir()) == []
