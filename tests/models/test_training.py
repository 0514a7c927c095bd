"""What needs no torch of the training: recipes, vocabularies, and what is refused."""

import pandas as pd
import pytest

from babelatlas.base.errors import InputError
from babelatlas.datasets import pictograms
from babelatlas.models.training import miniature as training

WNIDS = pictograms.concepts()["wnid"].tolist()


def texts(*wnids):
    """English labels of some synsets, as training takes them."""
    rows = [("m", "en", wnid, f"word {wnid}", 1.0) for wnid in wnids]
    return pd.DataFrame(rows, columns=["model", "lang", "wnid", "label", "weight"])


def test_a_recipe_gives_its_tiers_in_canonical_codes_its_steps_and_its_pieces():
    tiers, steps, pieces = training.recipe("picto-multi", ["de"], ["iw"], [], [])

    assert tiers == {"en": ["en"], "high": ["de"], "mid": ["he"]}
    assert (steps, pieces) == (training.STEPS["picto-multi"], training.PIECES["picto-multi"])
    assert training.recipe("picto-distilled", ["de"], [], [], ["fr"], 7, 500) == (
        {"en": ["en"], "parallel": ["fr"]},
        7,
        500,
    )
    with pytest.raises(InputError, match="'picto-x'"):
        training.recipe("picto-x", [], [], [], [])
    with pytest.raises(InputError, match="number of steps is -1"):
        training.recipe("picto-en", [], [], [], [], -1)
    with pytest.raises(InputError, match="pieces of the vocabulary is -1"):
        training.recipe("picto-en", [], [], [], [], 0, -1)


def test_impossible_sizes_are_told(tmp_path):
    with pytest.raises(InputError, match="steps is 0"):
        training.train(texts(*WNIDS[:10]), tmp_path, steps=0)
    with pytest.raises(InputError, match="more than the 20 that there are"):
        training.train(texts(*WNIDS[:10]), tmp_path, batch_size=21, images_per_class=2)
    senses = texts(*WNIDS[:10], "n08266235", "n04379243")
    with pytest.raises(InputError, match="more than the 26 that there are"):
        training.train(senses, tmp_path, batch_size=27, images_per_class=2, images_per_sense=3)
    assert list(tmp_path.iterdir()) == []


def test_a_vocabulary_holds_at_least_the_bytes(tmp_path):
    with pytest.raises(InputError, match="258 pieces is too small: expected at least 259"):
        training.write_tokenizer(["a king"], tmp_path, 258)

    assert training.write_tokenizer(["a king"], tmp_path, 259).is_file()
