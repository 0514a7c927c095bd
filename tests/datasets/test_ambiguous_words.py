"""Ambiguity: pairs, translations and counts that can be checked by hand, and what ships made again from WordNet."""

import doctest
import os

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from babelatlas.base import paths, synsets, tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import ambiguous_words, item_images, pictograms
from babelatlas.lexicon import labels, senses
from babelatlas.workflow import command_line

BIRD, MACHINE, COAT, DOG = "n02012849", "n03126707", "n02963159", "n02113186"  # two cranes, two cardigans


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


@pytest.fixture
def found() -> pd.DataFrame:
    return ambiguous_words.outcomes(WORDS, ambiguous_words.pairs(WORDS, ALL))


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(ambiguous_words).failed == 0


def test_classes_that_share_a_word_of_wordnet_are_a_pair_whatever_its_capitals():
    made = ambiguous_words.pairs(WORDS, ALL)
    assert made.to_numpy().tolist() == [[CRANE, "crane", BIRD, MACHINE], [CARDIGAN, "cardigan", DOG, COAT]]


def test_with_every_source_the_words_that_wiktionary_links_count_too():
    made = ambiguous_words.pairs(WORDS, ALL, source="")
    assert set(made["item"]) == {CRANE, CARDIGAN, f"crane:{BIRD}+{COAT}", f"crane:{COAT}+{MACHINE}"}


def test_a_word_of_three_senses_makes_three_pairs_and_the_best_word_of_two_classes_comes_first():
    rows = [("en", wnid, word, "wordnet-3.0") for wnid in ("n3", "n1", "n2") for word in ("tea", "bee", "ant")]
    made = ambiguous_words.pairs(senses_of(rows), ["n1", "n2", "n3"])
    assert len(made) == 9
    assert made["word"].tolist()[:3] == ["tea", "bee", "ant"]
    assert made[["wnid_a", "wnid_b"]].drop_duplicates().to_numpy().tolist() == [
        ["n1", "n2"],
        ["n1", "n3"],
        ["n2", "n3"],
    ]


@given(st.lists(st.tuples(st.sampled_from(["n1", "n2", "n3", "n4"]), st.sampled_from("vwxyz")), max_size=12))
def test_pairs_are_all_unordered_pairs_of_classes_with_a_common_word(chosen):
    rows = [*chosen, *((wnid, wnid) for wnid in ("n1", "n2", "n3", "n4"))]  # each has a word
    made = ambiguous_words.pairs(senses_of([("en", *row, "wordnet-3.0") for row in rows]), ["n1", "n2", "n3", "n4"])
    literal = {(w, a, b) for a, w in rows for b, v in rows if a < b and v == w}
    assert set(made[["word", "wnid_a", "wnid_b"]].itertuples(index=False, name=None)) == literal
    assert len(made) == len(literal)


def test_a_class_without_an_english_word_and_an_empty_list_are_refused():
    with pytest.raises(InputError, match=r"1 class\(es\) have no English word from wordnet-3.0 .* n99999999"):
        ambiguous_words.pairs(WORDS, [*ALL, "n99999999"])
    with pytest.raises(InputError, match="list of classes is empty"):
        ambiguous_words.pairs(WORDS, [])


def test_a_language_tells_senses_apart_only_by_words_of_which_each_has_one_sense(found):
    rows = found[found["item"] == CRANE].set_index("lang")[["shared", "a", "b", "apart"]]
    assert rows.loc["de"].tolist() == [False, "Kranich", "Kran", True]
    assert rows.loc["fr"].tolist() == [True, "", "", False]  # as ambiguous as English
    assert rows.loc["nl"].tolist() == [True, "kraanvogel", "hijs-kraan", True]
    assert "sv" not in rows.index  # no word for the machine
    assert "en" not in rows.index


def test_a_word_that_equals_an_english_one_of_either_sense_is_no_translation(found):
    rows = found[found["item"] == CARDIGAN].set_index("lang")[["shared", "a", "b", "apart"]]
    assert rows.loc["it"].tolist() == [False, "corgi", "", False]
    assert rows.loc["da"].tolist() == [False, "corgi", "", False]  # crane is listed for the coat, by Wiktionary


def test_spaces_and_hyphens_do_not_make_another_word():
    rows = [*ENGLISH, ("de", BIRD, "Bau-Kran", "wikt"), ("de", MACHINE, "Baukran", "wikt")]
    made = ambiguous_words.outcomes(senses_of(rows), ambiguous_words.pairs(WORDS, [BIRD, MACHINE]))
    assert made[["shared", "apart"]].to_numpy().tolist() == [[True, False]]


def test_sources_left_out_neither_translate_nor_hinder():
    rows = [*ENGLISH, ("fr", BIRD, "grue", "wikt"), ("fr", MACHINE, "grue de levage", "wikt")]
    rows = senses_of([*rows, ("fr", MACHINE, "grue", "omw-fra")])
    pairs = ambiguous_words.pairs(rows, [BIRD, MACHINE])
    assert ambiguous_words.outcomes(rows, pairs)["apart"].tolist() == [True]
    assert ambiguous_words.outcomes(rows, pairs, without=())["apart"].tolist() == [False]


def test_no_pairs_have_no_outcomes():
    nothing = ambiguous_words.outcomes(WORDS, ambiguous_words.pairs(WORDS, [BIRD, DOG]))
    assert nothing.empty
    with pytest.raises(InputError, match="No language translates 1 items apart: the most is 0"):
        ambiguous_words.translations(nothing)


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
    assert set(ambiguous_words.translations(found, ["deu"], minimum_items=9)["lang"]) == {"de"}
    with pytest.raises(InputError, match=r"French \(fr\) has words of its own .* none of the items"):
        ambiguous_words.translations(found, ["de", "fr"])
    with pytest.raises(InputError, match="No language translates 2 items apart: the most is 1"):
        ambiguous_words.translations(found, minimum_items=2)


def test_counts_add_up_by_hand(found):
    made = ambiguous_words.counts(found).set_index("lang")
    assert made.loc["nl"].tolist() == [1, 1, 1]
    assert made.loc["fr"].tolist() == [1, 1, 0]
    assert made.loc["it"].tolist() == [1, 0, 0]
    assert (made[["n_shared", "n_apart"]].max(axis=1) <= made["n_named"]).all()


def test_nested_pairs_second_words_and_persons_are_not_usable():
    rows = [
        ("x", "n1", "n2", True, "noun.animal", "noun.animal"),
        ("y", "n1", "n3", False, "noun.animal", "noun.artifact"),
        ("z", "n1", "n3", False, "noun.animal", "noun.artifact"),
        ("y", "n3", "n4", False, "noun.artifact", "noun.person"),
    ]
    table = pd.DataFrame(rows, columns=["word", "wnid_a", "wnid_b", "nested", "lexname_a", "lexname_b"])
    assert ambiguous_words.usable(table)[["word", "wnid_b"]].to_numpy().tolist() == [["y", "n3"]]
    assert ambiguous_words.usable(table, persons=True)["wnid_b"].tolist() == ["n3", "n4"]


def test_every_pair_of_drawn_senses_is_known_to_be_decidable_without_wordnet(monkeypatch):
    monkeypatch.setenv("BABELATLAS_MIRROR", "nowhere")
    wnids = synsets.class_list("pictogram-senses")["wnid"].tolist()
    made = ambiguous_words.relations(ambiguous_words.pairs(senses.shipped(), wnids))
    assert not made["nested"].any()
    listed = pictograms.senses().groupby("wnid")["word"].agg(set)
    pairs = ambiguous_words.usable(made, persons=True)
    assert all(listed[row.wnid_a] & listed[row.wnid_b] for row in pairs.itertuples())
    words = {word for row in pairs.itertuples() for word in listed[row.wnid_a] & listed[row.wnid_b]}
    assert words == set(pictograms.senses()["word"])


def test_the_shipped_counts_are_those_of_the_shipped_senses():
    shipped = ambiguous_words.shipped_counts()
    for name in ("pictogram-senses", "imagenet-1k"):
        every = ambiguous_words.relations(ambiguous_words.pairs(senses.shipped(), synsets.class_list(name)["wnid"]))
        pairs = ambiguous_words.usable(every, persons=name == ambiguous_words.DRAWN)
        made = ambiguous_words.counts(ambiguous_words.outcomes(senses.shipped(), pairs))
        part = shipped[shipped["classes"] == name].drop(columns="classes").reset_index(drop=True)
        pd.testing.assert_frame_equal(part, made, check_dtype=False)


def test_the_shipped_pairs_say_no_word_for_persons_in_photographs():
    facts = ambiguous_words.facts()
    persons = (facts[["lexname_a", "lexname_b"]] == ambiguous_words.PERSON).any(axis=1)
    drawn = facts["classes"].str.contains(ambiguous_words.DRAWN)
    assert ((facts["word"] == "") == (persons & ~drawn)).all()
    assert (facts["n_apart"] <= facts["n_named"]).all()
    assert facts.loc[facts["nested"], "n_named"].eq(0).all()


def test_facts_about_well_known_pairs():
    facts = ambiguous_words.facts().set_index("item")
    assert "imagenet-1k" in facts.loc[CRANE, "classes"].split()
    assert facts.loc[CRANE, ["lexname_a", "lexname_b"]].tolist() == ["noun.animal", "noun.artifact"]
    # The machine that prints for a computer is, in WordNet, a kind of the machine that prints.
    assert facts.loc["printer:n04004475+n04004767", "nested"]


@pytest.mark.slow
def test_what_ships_is_made_again_from_the_wordnets(mirror, monkeypatch, tmp_path):
    monkeypatch.setenv("BABELATLAS_MIRROR", os.fspath(mirror))
    monkeypatch.setattr(ambiguous_words, "PAIRS", tmp_path / "pairs.csv")
    monkeypatch.setattr(ambiguous_words, "LANGUAGES", tmp_path / "languages.csv")
    shipped = [paths.DATA / f"ambiguity_{name}.csv" for name in ("pairs", "languages")]
    assert command_line.main(["ship", "ambiguous-words"]) == 0
    for made, file in zip((ambiguous_words.PAIRS, ambiguous_words.LANGUAGES), shipped, strict=True):
        assert made.read_bytes() == file.read_bytes()


def test_the_command_says_in_one_sentence_what_is_missing(monkeypatch, capsys):
    monkeypatch.setenv("BABELATLAS_MIRROR", "/nowhere")
    assert command_line.main(["ship", "ambiguous-words"]) == 1
    assert "There is no folder /nowhere/nltk_data" in capsys.readouterr().err


def test_classes_that_a_table_of_senses_lacks_come_from_what_ships():
    part = WORDS[WORDS["wnid"] == BIRD]
    made = ambiguous_words.complete(part, [BIRD, MACHINE])
    assert made[made["wnid"] == BIRD].reset_index(drop=True).equals(part.reset_index(drop=True))
    ours = senses.shipped()
    assert len(made[made["wnid"] == MACHINE]) == (ours["wnid"] == MACHINE).sum()
    assert set(ambiguous_words.complete(part, [BIRD, MACHINE], ["deu"])["lang"]) == {"de"}


def test_the_data_sets_name_their_classes():
    assert ambiguous_words.classes_of("pictogram-pairs") == "pictogram-senses"
    with pytest.raises(InputError, match="did you mean imagenet-1k-pairs"):
        ambiguous_words.classes_of("imagenet-1k-pair")
    assert len(synsets.class_list("imagenet-21k")) == 21_843


def drawings(folder, wnids, number):
    for wnid in wnids:
        (folder / wnid).mkdir(parents=True)
        for place in range(number):
            Image.new("RGB", (8, 6), (place, 0, 0)).save(folder / wnid / f"{place}.png")


@pytest.fixture
def pairs() -> pd.DataFrame:
    return ambiguous_words.pairs(WORDS, ALL)


def test_item_images_are_the_first_images_of_each_class_in_their_order(pairs, tmp_path):
    drawings(tmp_path, ALL, 3)
    images = ambiguous_words.photographs("imagenet-21k-pairs", tmp_path, ALL)
    made = ambiguous_words.item_images_of(pairs, images, 2)
    assert made["image"].tolist() == ["a0", "a1", "b0", "b1"] * 2
    assert made["path"].tolist()[:4] == [str(tmp_path / w / f"{n}.png") for w in (BIRD, MACHINE) for n in (0, 1)]
    assert made.attrs == {"left_out": [], "missing": 0}
    item_images.write(made, tmp_path / "made.parquet", 6)
    assert item_images.read(tmp_path / "made.parquet")["image"].tolist()[:6] == ["a0", "a1", "b0", "b1", "mix", "side"]


def test_an_item_without_enough_images_is_left_out_where_so_many_may_be_missing(pairs, tmp_path):
    drawings(tmp_path, [BIRD, MACHINE, COAT], 2)
    images = ambiguous_words.photographs("imagenet-21k-pairs", tmp_path, ALL)
    with pytest.raises(InputError, match=r"lacks 2 images of 1 classes, of which it wants 2\s+each: n02113186 \(2\)"):
        ambiguous_words.item_images_of(pairs, images, 2, missing=1, dataset="imagenet-21k-pairs")
    made = ambiguous_words.item_images_of(pairs, images, 2, missing=2)
    assert set(made["item"]) == {CRANE}
    assert made.attrs == {"left_out": [CARDIGAN], "missing": 2}
    with pytest.raises(InputError, match="lacks 6 images"):  # no item is left
        ambiguous_words.item_images_of(pairs, images, 3, missing=6)


def test_photographs_are_refused_where_there_are_none(tmp_path):
    with pytest.raises(InputError, match=r"are not given: get them from https://www\.image-net\.org"):
        ambiguous_words.photographs("imagenet-21k-pairs", "", ALL)
    with pytest.raises(InputError, match="which is no folder"):
        ambiguous_words.photographs("imagenet-21k-pairs", tmp_path / "absent", ALL)
    with pytest.raises(InputError, match="has no image of its 4 classes"):
        ambiguous_words.photographs("imagenet-21k-pairs", tmp_path, ALL)


def test_images_may_be_given_as_a_table_and_those_of_other_classes_are_passed_over(tmp_path):
    drawings(tmp_path / "own", [BIRD, MACHINE, COAT], 1)
    table = pd.DataFrame(
        {"path": [f"own/{wnid}/0.png" for wnid in (BIRD, MACHINE, COAT)], "wnid": [BIRD, MACHINE, COAT]}
    )
    table.assign(number=0).to_csv(tmp_path / "images.csv", index=False)
    made = ambiguous_words.photographs("imagenet-1k-pairs", tmp_path / "images.csv", [BIRD, MACHINE])
    assert made["path"].tolist() == [str(tmp_path / "own" / wnid / "0.png") for wnid in (BIRD, MACHINE)]


def test_senses_are_drawn_from_the_seed(tmp_path):
    wnids = pictograms.senses()["wnid"].tolist()[:2]
    made = ambiguous_words.draw(tmp_path, wnids, 2, seed=5, size=20)
    assert made["wnid"].tolist() == sorted([*wnids, *wnids])
    first = Image.open(made["path"][1])
    assert first.size == (20, 20)
    assert first.tobytes() == pictograms.draw(made["wnid"][1], "test", 1, 5, 20).tobytes()
    with pytest.raises(InputError, match="expected at least 1"):
        ambiguous_words.draw(tmp_path, wnids, 0, 5, 20)


def test_translations_are_among_the_labels_of_their_senses():
    # Models are trained on the labels and alternatives, and tested with the translations.
    wnids = synsets.class_list("pictogram-senses")["wnid"].tolist()
    pairs = ambiguous_words.usable(
        ambiguous_words.relations(ambiguous_words.pairs(senses.shipped(), wnids)), persons=True
    )
    items = ambiguous_words.translations(ambiguous_words.outcomes(senses.shipped(), pairs))
    words = labels.label_set(senses.shipped(), wnids, clashes="mark")
    known = {(row.lang, row.wnid): {row.label, *row.alternatives} for row in words.itertuples()}
    wnid = pairs.set_index("item")[["wnid_a", "wnid_b"]].rename(columns=lambda name: name[-1])
    assert all(row.translation in known[row.lang, wnid.loc[row.item, row.sense]] for row in items.itertuples())
