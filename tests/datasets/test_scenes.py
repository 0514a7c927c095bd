"""Scenes: what they show, what is written about them, and statements about pairs of pictures."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import pictograms, scenes

WNIDS = sorted(pictograms.concepts()["wnid"])[:6]


def label_table(languages=("en", "de")):
    rows = [
        (lang, wnid, f"{lang} {number}", [f"{lang} other {number}"])
        for lang in languages
        for number, wnid in enumerate(WNIDS)
    ]
    table = pd.DataFrame(rows, columns=["lang", "wnid", "label", "alternatives"])
    return table


def word_table(rows):
    return pd.DataFrame(rows, columns=["lang", "wnid", "lemma"])


def test_only_concepts_with_a_label_in_every_language_are_shown():
    labels = label_table()
    labels = labels[~((labels["lang"] == "de") & (labels["wnid"] == WNIDS[2]))]
    assert scenes.named_in_all(labels, ["en", "de"]) == [wnid for wnid in WNIDS if wnid != WNIDS[2]]
    assert scenes.named_in_all(labels, ["en"]) == WNIDS


def test_too_few_concepts_with_labels_stop_the_run():
    with pytest.raises(InputError, match=r"0 concept.* expected at least 4"):
        scenes.named_in_all(label_table(), ["en", "fr"])


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 30), st.integers(1, 4), st.integers(0, 99))
def test_a_scene_has_different_things_in_different_cells_and_each_number_of_things_is_as_frequent(n, most, seed):
    things = scenes.compose(WNIDS, n, most, seed)
    assert not things.duplicated(["image", "wnid"]).any()
    assert not things.duplicated(["image", "cell"]).any()
    sizes = things.groupby("image").size().value_counts().reindex(range(1, most + 1), fill_value=0)
    assert sizes.sum() == n
    assert sizes.max() - sizes.min() <= 1
    pd.testing.assert_frame_equal(things, scenes.compose(WNIDS, n, most, seed))


@pytest.mark.parametrize(("n", "most", "message"), [(0, 1, "at least 1"), (3, 5, "4 cells"), (3, 0, "expected 1 to 4")])
def test_impossible_scenes_are_refused(n, most, message):
    with pytest.raises(InputError, match=message):
        scenes.compose(WNIDS, n, most)


def test_a_thing_is_drawn_in_its_cell_and_the_other_cells_are_noise():
    things = pd.DataFrame({"wnid": WNIDS[:1], "cell": [3]})
    picture = scenes.draw(things, "test", 0, 0, 48)
    assert picture.size == (96, 96)
    parts = scenes.cells(picture)
    assert np.array_equal(np.asarray(parts[3]), np.asarray(pictograms.draw(WNIDS[0], "test", 0, 0, 48)))
    assert max(np.asarray(part).std() for part in parts[:3]) < 20


def test_the_table_of_images_names_the_things_of_a_scene_in_reading_order(tmp_path):
    things = pd.DataFrame({"image": "0000", "wnid": [WNIDS[4], WNIDS[1]], "cell": [0, 2]})
    images = scenes.write_images(tmp_path / "scenes.parquet", things)
    assert images["wnid"].tolist() == [f"{WNIDS[4]}+{WNIDS[1]}"]
    with Image.open(tmp_path / images["path"][0]) as picture:
        assert picture.size == (96, 96)


def test_two_people_write_the_things_in_opposite_order_the_second_with_other_words():
    things = pd.DataFrame({"image": "0000", "wnid": WNIDS[:2], "cell": [0, 1]})
    table = tables.check(scenes.captions(things, label_table(), ["en", "de"]), "captions")
    written = table.set_index(["lang", "number"])["caption"]
    assert written["en", 0] == "en 0 and en 1"
    assert written["en", 1] == "en other 1 and en other 0"
    assert written["de", 0] == "de 0 und de 1"


def test_a_list_is_joined_with_commas_where_the_cldr_has_no_pattern():
    assert scenes.join(["a", "b"], "xx-unknown") == "a, b"
    assert scenes.join(["a"], "de") == "a"


def test_a_dictionary_without_senses_may_take_any_sense_of_a_word_and_always_the_same():
    words = word_table([("en", "n1", "Star"), ("en", "n2", "star"), ("de", "n1", "Stern"), ("de", "n2", "Filmstar")])
    taken = {scenes.translator(words, "en", "de", seed)("star") for seed in range(30)}
    assert taken == {"Stern", "Filmstar"}
    translate = scenes.translator(words, "en", "de", 3)
    assert translate("star") == translate("STAR") == scenes.translator(words, "en", "de", 3)("star")
    assert translate("unknown") == "unknown"


def test_a_sense_that_the_other_language_has_no_word_for_is_never_taken():
    words = word_table([("en", "n1", "star"), ("en", "n2", "star"), ("de", "n1", "Stern")])
    assert {scenes.translator(words, "en", "de", seed)("star") for seed in range(10)} == {"Stern"}


def test_places_are_on_the_map_and_each_image_has_one():
    table = tables.check(scenes.places(["b", "a"], 1), "places")
    assert table["image"].tolist() == ["b", "a"]
    assert table["latitude"].between(-90, 90).all()
    assert table["longitude"].between(-180, 180).all()


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs")
    words = label_table().rename(columns={"label": "lemma"})[["lang", "wnid", "lemma"]]
    return folder, scenes.statements(folder / "pairs.parquet", label_table(), words, ["en", "de"], 7, drawings=2)


def test_a_statement_has_four_pairs_two_of_them_true(pairs):
    folder, table = pairs
    table = tables.check(table, "pairs")
    by = table.groupby(["variant", "lang", "statement"])["truth"].agg(["size", "sum"])
    assert len(by) == 3 * 7
    assert (by["size"] == 4).all()
    assert (by["sum"] == 2).all()
    assert all((folder / path).is_file() for path in pd.concat([table["left"], table["right"]]))


def test_a_statement_is_true_of_a_pair_exactly_if_the_pictures_show_the_two_things_it_lists(pairs):
    _, table = pairs
    known = label_table().query("lang == 'en'").set_index("wnid")["label"]
    for row in table[table["lang"] == "en"].itertuples():
        shown = {known[path.split("/")[1].rpartition("-")[0]] for path in (row.left, row.right)}
        assert row.truth == (shown == set(row.text.split(" and ")))


def test_all_languages_and_translations_show_the_same_pictures(pairs):
    _, table = pairs
    assert len(table[["statement", "number", "left", "right", "truth"]].drop_duplicates()) == 4 * 7
