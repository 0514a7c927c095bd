"""Words that the miniature's translators learn: an ambiguous one as the sense that is
drawn, one of its senses more often.
"""

import pandas as pd
import pytest

from babelatlas.base.errors import InputError
from babelatlas.evaluation import trials
from babelatlas.models import loading, registry, translators
from babelatlas.models.training import gated_fusion, gated_recipe
from miniature import pictograms, training, training_set, translation_words

SUN, CAT = "n09450163", "n02121620"
KING, CARD = "n10231515", "n03613294"
LABELS = pd.DataFrame(
    [
        ("en", SUN, "sun"),
        ("de", SUN, "Sonne"),
        ("en", CAT, "cat"),
        ("de", CAT, "Katze"),
        ("fr", CAT, "chat"),
        ("en", KING, "king"),
    ],
    columns=["lang", "wnid", "label"],
)
PAIR = f"king:{CARD}+{KING}"
ITEMS = pd.DataFrame(
    [
        ("de", PAIR, "a", "king", "king", "Spielkarte"),
        ("de", PAIR, "b", "king", "king", "König"),
    ],
    columns=["lang", "item", "sense", "word", "source", "translation"],
)


def test_one_sense_of_an_ambiguous_word_is_drawn_more_often():
    rows = translation_words.examples(LABELS, ITEMS, frequent=0.8)
    assert rows["weight"].sum() == pytest.approx(1)
    assert set(rows["lang"]) == {"de"}
    shares = rows.set_index("translation")["weight"]
    senses = sorted(shares[["Spielkarte", "König"]])
    assert senses == pytest.approx([0.75 * 0.2, 0.75 * 0.8])
    assert shares[["Sonne", "Katze"]].tolist() == pytest.approx([0.125, 0.125])
    shown = rows.set_index("translation")["wnid"]
    assert shown[["Spielkarte", "König"]].tolist() == [CARD, KING]


def test_the_frequent_sense_needs_a_share_between_0_and_1():
    with pytest.raises(InputError, match="share of the frequent sense is 1"):
        translation_words.examples(LABELS, ITEMS, frequent=1)


def test_a_translator_is_trained_on_drawings_and_scores_the_items_from_its_folder(
    tmp_path,
):
    folder = tmp_path / "picto-en"
    texts = LABELS.assign(model="picto-en", weight=1.0)
    training.write_files(training_set.captions(texts), folder, 1600)
    training.save(training.new_model(folder, seed=0)[0], folder)
    encoder = loading.load(registry.get_model("picto-en"), folder, "cpu")
    senses = pictograms.senses()
    king = sorted(senses.loc[senses["word"] == "king", "wnid"].unique())[:2]
    items = ITEMS.assign(item=f"king:{king[0]}+{king[1]}")
    rows = translation_words.examples(LABELS, items)
    pictures, rows["images"] = translation_words.drawings(rows["wnid"], 2)
    assert len(pictures) == 2 * rows["wnid"].nunique()

    recipe = gated_recipe.Recipe(
        **translation_words.RECIPE
        | {"steps": 2, "batch_size": 4, "vocabulary": 300, "width": 8}
    )
    place = tmp_path / "picto-gated" / "run-0"
    images_by = gated_fusion.image_model(encoder, folder)
    vectors = encoder.encode_images(pictures)
    gated_fusion.train(rows, vectors, place, "learned", recipe, images_by)

    (run,) = gated_fusion.training_runs(tmp_path / "picto-gated")
    entry = translators.find("picto-gated", tmp_path / "picto-gated")
    scorer = loading.load_translator(entry, run, "cpu")
    paths = [str(tmp_path / f"{name}.png") for name in ("a", "b")]
    for path, picture in zip(paths, (pictures[0], pictures[-1]), strict=True):
        picture.save(path)
    images = pd.DataFrame({"image": ["a0", "b0"], "path": paths})
    images = images.assign(item=items["item"].iloc[0])
    costs, tokens = trials.perplexities(scorer, trials.join(items, images), [0.5])
    assert costs["cost"].nunique() == 4
    assert len(tokens) == 8
