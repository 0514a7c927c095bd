"""Ambiguity: pairs, translations and counts that can be checked by hand, and what ships
made again from WordNet.
"""

import os

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from babelatlas.base import synsets, tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import ambiguous_words, item_images, stored_vectors
from babelatlas.lexicon import labels, senses

BIRD, MACHINE, COAT, DOG = (
    "n02012849",
    "n03126707",
    "n02963159",
    "n02113186",
)  # two cranes, two cardigans


def senses_of(rows: list[tuple]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["lang", "wnid", "lemma", "source"])
    return table.assign(licence="none")


ENGLISH = [
    ("en", BIRD, "crane", "wordnet-3.0"),
    ("en", MACHINE, "Crane", "wordnet-3.0"),
    ("en", COAT, "cardigan", "wordnet-3.0"),
    ("en", DOG, "Cardigan", "wordnet-3.0"),
    ("en", DOG, "Cardigan Welsh corgi", "wordnet-3.0"),
    ("en", COAT, "crane", "wikt"),
]
WORDS = senses_of(
    [
        *ENGLISH,
        ("de", BIRD, "Kranich", "wikt"),
        ("de", MACHINE, "Kran", "wikt"),
        ("fr", BIRD, "grue", "wikt"),
        ("fr", MACHINE, "grue", "wikt"),
        ("nl", BIRD, "kraan", "wikt"),
        ("nl", BIRD, "kraanvogel", "wikt"),
        ("nl", MACHINE, "kraan", "wikt"),
        ("nl", MACHINE, "hijs-kraan", "wikt"),
        ("sv", BIRD, "trana", "wikt"),
        ("it", COAT, "cardigan", "wikt"),
        ("it", DOG, "corgi", "wikt"),
        ("da", COAT, "crane", "wikt"),
        ("da", DOG, "corgi", "wikt"),
    ]
)
CRANE = f"crane:{BIRD}+{MACHINE}"
CARDIGAN = f"cardigan:{DOG}+{COAT}"
ALL = [BIRD, MACHINE, COAT, DOG]


@pytest.fixture(scope="module")
def found() -> pd.DataFrame:
    return ambiguous_words.outcomes(WORDS, ambiguous_words.pairs(WORDS, ALL))


def test_classes_that_share_a_word_of_wordnet_are_a_pair_whatever_its_capitals():
    made = ambiguous_words.pairs(WORDS, ALL)
    assert made.to_numpy().tolist() == [
        [CRANE, "crane", BIRD, MACHINE],
        [CARDIGAN, "cardigan", DOG, COAT],
    ]


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(st.sampled_from(["n1", "n2", "n3", "n4"]), st.sampled_from("vwxyz")),
        max_size=12,
    )
)
def test_pairs_are_all_unordered_pairs_of_classes_with_a_common_word(chosen):
    rows = [
        *chosen,
        *((wnid, wnid) for wnid in ("n1", "n2", "n3", "n4")),
    ]  # each has a word
    made = ambiguous_words.pairs(
        senses_of([("en", *row, "wordnet-3.0") for row in rows]),
        ["n1", "n2", "n3", "n4"],
    )
    literal = {(w, a, b) for a, w in rows for b, v in rows if a < b and v == w}
    assert (
        set(made[["word", "wnid_a", "wnid_b"]].itertuples(index=False, name=None))
        == literal
    )
    assert len(made) == len(literal)


def test_a_language_tells_senses_apart_only_by_words_of_which_each_has_one_sense(found):
    rows = found[found["item"] == CRANE].set_index("lang")[
        ["shared", "a", "b", "apart"]
    ]
    assert rows.loc["de"].tolist() == [False, "Kranich", "Kran", True]
    assert rows.loc["fr"].tolist() == [True, "", "", False]  # as ambiguous as English
    assert rows.loc["nl"].tolist() == [True, "kraanvogel", "hijs-kraan", True]
    assert "sv" not in rows.index  # no word for the machine
    assert "en" not in rows.index


def test_a_word_that_equals_an_english_one_of_either_sense_is_no_translation(found):
    rows = found[found["item"] == CARDIGAN].set_index("lang")[
        ["shared", "a", "b", "apart"]
    ]
    assert rows.loc["it"].tolist() == [False, "corgi", "", False]
    assert rows.loc["da"].tolist() == [
        False,
        "corgi",
        "",
        False,
    ]  # crane is listed for the coat, by Wiktionary


def test_translations_have_two_rows_for_each_item_that_a_language_tells_apart(found):
    made = ambiguous_words.translations(found)
    assert made.equals(tables.check(made, "items"))
    assert made.to_numpy().tolist() == [
        ["de", CRANE, "a", "crane", "crane", "Kranich"],
        ["de", CRANE, "b", "crane", "crane", "Kran"],
        ["nl", CRANE, "a", "crane", "crane", "kraanvogel"],
        ["nl", CRANE, "b", "crane", "crane", "hijs-kraan"],
    ]


def test_languages_are_kept_by_name_or_by_their_number_of_items(found):
    assert set(
        ambiguous_words.translations(found, ["deu"], minimum_items=9)["lang"]
    ) == {"de"}
    with pytest.raises(InputError, match=r"nothing in French \('fr'\)"):
        ambiguous_words.translations(found, ["de", "fr"])
    with pytest.raises(InputError, match="No language has 2 classes or items"):
        ambiguous_words.translations(found, minimum_items=2)


def test_nested_pairs_second_words_and_persons_are_not_usable():
    rows = [
        ("x", "n1", "n2", True, "noun.animal", "noun.animal"),
        ("y", "n1", "n3", False, "noun.animal", "noun.artifact"),
        ("z", "n1", "n3", False, "noun.animal", "noun.artifact"),
        ("y", "n3", "n4", False, "noun.artifact", "noun.person"),
    ]
    table = pd.DataFrame(
        rows, columns=["word", "wnid_a", "wnid_b", "nested", "lexname_a", "lexname_b"]
    )
    assert ambiguous_words.usable(table)[["word", "wnid_b"]].to_numpy().tolist() == [
        ["y", "n3"]
    ]
    assert ambiguous_words.usable(table, persons=True)["wnid_b"].tolist() == [
        "n3",
        "n4",
    ]


def test_the_shipped_counts_are_those_of_the_shipped_senses():
    shipped = ambiguous_words.shipped_counts()
    for name in ("pictogram-senses", "imagenet-1k"):
        every = ambiguous_words.relations(
            ambiguous_words.pairs(senses.shipped(), synsets.class_list(name)["wnid"])
        )
        pairs = ambiguous_words.usable(every, persons=name == ambiguous_words.DRAWN)
        made = ambiguous_words.counts(ambiguous_words.outcomes(senses.shipped(), pairs))
        part = (
            shipped[shipped["classes"] == name]
            .drop(columns="classes")
            .reset_index(drop=True)
        )
        pd.testing.assert_frame_equal(part, made, check_dtype=False)


@pytest.mark.slow
def test_what_ships_is_made_again_from_the_wordnets(mirror, monkeypatch):
    monkeypatch.setenv("BABELATLAS_MIRROR", os.fspath(mirror))
    pairs, counts = ambiguous_words.survey()
    pd.testing.assert_frame_equal(pairs, ambiguous_words.facts(), check_dtype=False)
    pd.testing.assert_frame_equal(
        counts, ambiguous_words.shipped_counts(), check_dtype=False
    )


def drawings(folder, wnids, number):
    for wnid in wnids:
        (folder / wnid).mkdir(parents=True)
        for place in range(number):
            Image.new("RGB", (8, 6), (place, 0, 0)).save(folder / wnid / f"{place}.png")


@pytest.fixture(scope="module")
def pairs() -> pd.DataFrame:
    return ambiguous_words.pairs(WORDS, ALL)


def test_item_images_are_the_first_images_of_each_class_in_their_order(pairs, tmp_path):
    drawings(tmp_path, ALL, 3)
    images = ambiguous_words.photographs("imagenet-21k-pairs", tmp_path, ALL)
    made = ambiguous_words.item_images_of(pairs, images, 2)
    assert made["image"].tolist() == ["a0", "a1", "b0", "b1"] * 2
    assert made["path"].tolist()[:4] == [
        str(tmp_path / w / f"{n}.png") for w in (BIRD, MACHINE) for n in (0, 1)
    ]
    assert made.attrs == {"left_out": [], "missing": 0}
    item_images.write(made, tmp_path / "made.parquet", 6)
    assert item_images.read(tmp_path / "made.parquet")["image"].tolist()[:6] == [
        "a0",
        "a1",
        "b0",
        "b1",
        "mix",
        "side",
    ]


def test_an_item_without_enough_images_is_left_out_where_so_many_may_be_missing(
    pairs, tmp_path
):
    drawings(tmp_path, [BIRD, MACHINE, COAT], 2)
    images = ambiguous_words.photographs("imagenet-21k-pairs", tmp_path, ALL)
    with pytest.raises(
        InputError, match=r"lacks 2 images of 1 classes, the first \['n02113186'\]"
    ):
        ambiguous_words.item_images_of(
            pairs, images, 2, missing=1, dataset="imagenet-21k-pairs"
        )
    made = ambiguous_words.item_images_of(pairs, images, 2, missing=2)
    assert set(made["item"]) == {CRANE}
    assert made.attrs == {"left_out": [CARDIGAN], "missing": 2}


def test_translations_are_among_the_labels_of_their_senses():
    # Models are trained on the labels and alternatives, and tested with the
    # translations.
    wnids = synsets.class_list("pictogram-senses")["wnid"].tolist()
    pairs = ambiguous_words.usable(
        ambiguous_words.relations(ambiguous_words.pairs(senses.shipped(), wnids)),
        persons=True,
    )
    items = ambiguous_words.translations(
        ambiguous_words.outcomes(senses.shipped(), pairs)
    )
    words = labels.label_set(senses.shipped(), wnids, clashes="mark")
    known = {
        (row.lang, row.wnid): {row.label, *row.alternatives}
        for row in words.itertuples()
    }
    wnid = pairs.set_index("item")[["wnid_a", "wnid_b"]].rename(
        columns=lambda name: name[-1]
    )
    assert all(
        row.translation in known[row.lang, wnid.loc[row.item, row.sense]]
        for row in items.itertuples()
    )


def test_a_run_on_released_labels_takes_the_studys_words_to_know_what_is_ambiguous(
    tmp_path,
):
    path = tmp_path / "senses.parquet"
    shipped = senses.shipped().query("wnid == @BIRD")
    of_wordnet = (shipped["lang"] == "en") & (shipped["source"] == "wordnet-3.0")
    assert of_wordnet.any()
    tables.write(shipped, path, "senses", traced=False)
    assert len(ambiguous_words.from_lexicons(path)) == len(shipped)
    tables.write(shipped[~of_wordnet], path, "senses", traced=False)
    assert ambiguous_words.from_lexicons(path).empty
    assert ambiguous_words.from_lexicons("").empty


def test_pairs_of_photographs_take_the_pictures_of_the_data_set_to_classify(tmp_path):
    for wnid in (BIRD, MACHINE):
        Image.new("RGB", (8, 6)).save(tmp_path / f"{wnid}_photograph.jpg")
    images = ambiguous_words.photographs("imagenet-photos-pairs", tmp_path, [BIRD])
    assert images["path"].tolist() == [str(tmp_path / f"{BIRD}_photograph.jpg")]
    stored = stored_vectors.place("imagenet-photos")
    images = ambiguous_words.photographs("imagenet-photos-pairs", stored, [BIRD])
    assert images["wnid"].tolist() == [BIRD]
    assert images["path"].str.fullmatch("[0-9]+").all()
