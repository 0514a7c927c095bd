import numpy as np
import pandas as pd
import pytest
from PIL import Image

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.base.synsets import class_list
from babelatlas.datasets import pictograms, training_set
from babelatlas.lexicon import senses

UMBRELLA, CAT = "n04507155", "n02121620"


def test_there_are_about_a_hundred_concepts_and_none_twice():
    table = pictograms.concepts()
    points = [point for row in table["codepoints"] for point in row.split()]

    assert 95 <= len(table) <= 115
    assert table["wnid"].is_unique
    assert table["name"].is_unique
    assert len(points) == len(set(points))


def test_every_character_is_drawn_by_a_face_of_every_split():
    for row in pictograms.concepts()["codepoints"]:
        for point in row.split():
            for split in pictograms.FACES:
                for face in pictograms.faces(chr(int(point, 16)), split):
                    assert int(point, 16) in pictograms.glyphs(face)


def test_every_name_is_an_english_lemma_of_its_synset_in_the_shipped_senses():
    table = senses.shipped()
    english = table[table["lang"] == "en"]
    known = set(zip(english["wnid"], english["lemma"].str.replace("_", " ").str.lower(), strict=True))

    wrong = [row for row in pictograms.concepts().itertuples() if (row.wnid, row.name.lower()) not in known]
    assert wrong == []


def lemmas(wnid, mirror):
    """Return the kind of a synset ("n") and its lemmas, read from WordNet's file of nouns at the synset's offset."""
    with (mirror / "nltk_data" / "corpora" / "wordnet" / "data.noun").open("rb") as file:
        file.seek(int(wnid[1:]))
        offset, _, kind, count, *fields = file.readline().decode().split()
    assert f"n{offset}" == wnid
    return kind, [lemma.replace("_", " ") for lemma in fields[: 2 * int(count, 16) : 2]]


def test_every_name_is_an_english_lemma_of_its_synset_in_wordnet(mirror):
    for row in pictograms.concepts().itertuples():
        kind, words = lemmas(row.wnid, mirror)
        assert (kind, row.name in words) == ("n", True), row


def test_every_ambiguous_word_is_a_lemma_of_all_its_senses_in_wordnet(mirror):
    for row in pictograms.senses().itertuples():
        kind, words = lemmas(row.wnid, mirror)
        assert (kind, row.word in words) == ("n", True), row


def test_every_ambiguous_word_is_a_lemma_of_all_its_senses_in_the_shipped_senses():
    table = senses.shipped()
    english = table[(table["lang"] == "en") & table["source"].str.startswith("wordnet")]
    known = set(zip(english["wnid"], english["lemma"].str.replace("_", " "), strict=True))

    assert [row for row in pictograms.senses().itertuples() if (row.wnid, row.word) not in known] == []


def test_twenty_to_thirty_words_have_two_senses_or_more_and_no_drawing_in_common():
    table = pictograms.senses()

    assert 20 <= table["word"].nunique() <= 32
    assert table.groupby("word").size().between(2, 3).all()
    assert not table.duplicated(["word", "wnid"]).any()
    for _, points in table.groupby("word")["codepoints"]:
        split = [point for row in points for point in row.split()]
        assert len(split) == len(set(split))


def test_a_sense_has_one_name_and_one_set_of_drawings_the_concepts_where_it_is_one():
    table = pictograms.senses()
    single = table.drop_duplicates("wnid")
    both = single.merge(pictograms.concepts(), on="wnid", suffixes=("", "_concept"))

    assert single["name"].is_unique
    assert len(table.drop_duplicates(["wnid", "name", "codepoints"])) == len(single)
    assert (both["codepoints"] == both["codepoints_concept"]).all()
    assert 10 < len(both) < len(single)


def test_two_senses_that_share_a_drawing_share_all():
    points = {wnid: set(pictograms._characters()[wnid]) for wnid in pictograms.drawn()}
    alike = pictograms.drawn_alike(list(points))
    number = dict(zip(points, alike, strict=True))

    for first, one in points.items():
        for second, other in points.items():
            assert bool(one & other) == (number[first] == number[second]), (first, second)
    assert number["n03291819"] == number["n06624161"]  # an envelope, a letter
    assert len(set(alike)) < len(points)


def test_every_character_of_a_sense_is_drawn_by_a_face_of_every_split():
    for wnid in pictograms.drawn():
        for split in pictograms.FACES:
            assert pictograms.draw(wnid, split, size=16).size == (16, 16)
            for character in pictograms._characters()[wnid]:
                for face in pictograms.faces(character, split):
                    assert ord(character) in pictograms.glyphs(face)


def test_the_concepts_are_as_they_were_and_the_senses_come_after_them():
    wnids, concepts = pictograms.drawn(), pictograms.concepts()["wnid"].tolist()

    assert wnids[: len(concepts)] == concepts
    assert set(wnids) == set(concepts) | set(pictograms.senses()["wnid"])
    assert len(wnids) == len(set(wnids))
    assert pictograms.training_colours(wnids[-1]) == list(pictograms.COLOURS)


def test_a_colour_that_is_held_out_of_a_concept_is_held_out_of_what_is_drawn_alike():
    senses_alone = pictograms.drawn()[len(pictograms.concepts()) :]
    number = dict(zip(pictograms.drawn(), pictograms.drawn_alike(pictograms.drawn()), strict=True))
    concept = {number[wnid]: wnid for wnid in pictograms.concepts()["wnid"]}

    assert pictograms.training_colours("n06624161") == pictograms.training_colours("n03291819")  # letter, envelope
    for wnid in senses_alone:
        expected = pictograms.training_colours(concept[number[wnid]]) if number[wnid] in concept else pictograms.COLOURS
        assert pictograms.training_colours(wnid) == list(expected)


def test_the_class_list_of_the_senses_has_each_once():
    table = class_list("pictogram-senses")

    assert table["wnid"].tolist() == list(dict.fromkeys(pictograms.senses()["wnid"]))
    assert table.set_index("wnid")["name"]["n04379243"] == "table (furniture)"


def test_the_same_arguments_draw_the_same_picture_and_others_another():
    first = np.asarray(pictograms.draw(UMBRELLA, "test", 3, seed=1))

    assert first.shape == (48, 48, 3)
    assert np.array_equal(first, np.asarray(pictograms.draw(UMBRELLA, "test", 3, seed=1)))
    for other in [
        pictograms.draw(UMBRELLA, "test", 4, seed=1),
        pictograms.draw(UMBRELLA, "test", 3, seed=2),
        pictograms.draw(UMBRELLA, "train", 3, seed=1),
        pictograms.draw(CAT, "test", 3, seed=1),
    ]:
        assert not np.array_equal(first, np.asarray(other))


def test_the_test_split_uses_no_face_of_training_where_a_character_has_others():
    umbrella = chr(0x2602)

    assert set(pictograms.faces(umbrella, "train")).isdisjoint(pictograms.faces(umbrella, "test"))
    assert set(pictograms.faces(umbrella, "train")).isdisjoint(pictograms.faces(umbrella, "development"))
    assert set(pictograms.faces(umbrella, "test")).isdisjoint(pictograms.faces(umbrella, "development"))


def test_test_drawings_vary_at_least_as_much_as_training_drawings():
    train, test = pictograms.RANGES["train"], pictograms.RANGES["test"]

    assert test["size"][0] < train["size"][0]
    assert test["size"][1] > train["size"][1]
    assert all(test[name] > train[name] for name in ("shift", "angle", "jitter", "noise"))


@pytest.mark.parametrize(("colour", "strongest"), [("red", 0), ("green", 1), ("blue", 2)])
def test_a_drawing_has_the_colour_it_was_asked_for(colour, strongest):
    pixels = np.asarray(pictograms.draw(UMBRELLA, "test", 0, colour=colour), float)
    corner = pixels[:6, :6].mean((0, 1))
    # Of the pixels that are not background, the most coloured ones.
    spread = pixels.max(2) - pixels.min(2)
    drawn = pixels[(spread > np.quantile(spread, 0.93)) & (np.abs(pixels - corner).sum(2) > 60)]

    assert drawn.mean(0).argmax() == strongest


def test_two_colours_of_every_concept_are_held_out_and_each_colour_about_equally_often():
    pairs = pictograms.held_out_compositions(seed=0)

    assert (pairs.groupby("wnid")["colour"].nunique() == 2).all()
    assert pairs["wnid"].nunique() == len(pictograms.concepts())
    counts = pairs["colour"].value_counts()
    assert len(counts) == len(pictograms.COLOURS)
    assert counts.min() > 0.5 * counts.max()
    assert not pairs.equals(pictograms.held_out_compositions(seed=1))


def test_the_training_drawings_leave_out_the_held_out_pairs():

    _, classes, hues = training_set.drawings("train", 8, seed=0, size=16)
    drawn = {(pictograms.concepts()["wnid"][row], list(pictograms.COLOURS)[hue]) for row, hue in zip(classes, hues)}  # noqa: B905
    pairs = pictograms.held_out_compositions(0)

    assert drawn.isdisjoint(zip(pairs["wnid"], pairs["colour"], strict=True))
    assert len(drawn) == 6 * len(pictograms.concepts())


def test_a_composition_is_labelled_with_colour_and_noun():
    pairs = pictograms.compositions().set_index("class_id")
    labels = pictograms.composition_labels()

    assert pairs.loc["n04507155-red", "label"] == "red umbrella"
    assert pairs["name"].nunique() == len(pictograms.COMPOSED)
    assert tables.check(labels, "labels")["lang"].unique().tolist() == ["en"]
    assert 0 < pairs["held_out"].sum() < len(pairs) / 2


def test_the_images_on_disk_are_those_of_the_table(tmp_path):
    table = pictograms.write_images(tmp_path / "images" / "pictograms.parquet", images_per_class=1, size=16)
    read = tables.read(tmp_path / "images" / "pictograms.parquet", "images")

    assert read.equals(table)
    assert len(list((tmp_path / "images" / "pictograms").glob("*/*.png"))) == len(pictograms.concepts())
    with Image.open(tmp_path / "images" / read["path"][5]) as image:
        assert np.array_equal(np.asarray(image), np.asarray(pictograms.draw(read["wnid"][5], size=16)))


def test_what_cannot_be_drawn_is_named():
    with pytest.raises(InputError, match="n00000000"):
        pictograms.draw("n00000000")
    with pytest.raises(InputError, match="'tset'"):
        pictograms.draw(CAT, "tset")
    with pytest.raises(InputError, match="did you mean purple"):
        pictograms.draw(CAT, colour="purpel")
    with pytest.raises(InputError, match="at least 1"):
        pictograms.write_images("x.parquet", images_per_class=0)


def own_words():
    """Return images, labels and words of two concepts, in English, German and a language without labels."""
    images = pd.DataFrame(
        {"path": ["a/1.png", "a/0.png", "b/0.png"], "wnid": [UMBRELLA, UMBRELLA, CAT], "number": [1, 0, 0]}
    )
    labels = [
        ("en", UMBRELLA, "umbrella", []),
        ("en", CAT, "cat", ["true cat"]),
        ("de", CAT, "Katze", ["Mieze", "Kater", "katze"]),
    ]
    labels = pd.DataFrame(labels, columns=["lang", "wnid", "label", "alternatives"])
    words = [
        ("de", CAT, "Katze", "wikt"),
        ("de", CAT, "katze", "wikt"),
        ("de", CAT, "Büsi", "omw-x"),
        ("en", CAT, "moggy", "wikt"),
        ("xx", CAT, "miau", "wikt"),
        ("de", UMBRELLA, "Schirm", "omw-y"),
    ]
    return images, labels, pd.DataFrame(words, columns=["lang", "wnid", "lemma", "source"])


def test_captions_are_the_words_of_three_kinds_of_sources_for_the_first_drawing():
    table = tables.check(pictograms.captions(*own_words()), "captions")

    told = table.groupby(["captions", "lang", "image"])["caption"].agg(list).to_dict()
    english = {("a/0.png",): ["umbrella"], ("b/0.png",): ["cat", "true cat"]}
    assert told == {
        (name, "en", *image): words for name in ("chosen", "wiktionary", "wordnets") for image, words in english.items()
    } | {
        ("chosen", "de", "b/0.png"): ["Katze", "Mieze", "Kater"],
        ("wiktionary", "de", "b/0.png"): ["Katze"],
        ("wordnets", "de", "b/0.png"): ["Büsi"],
        ("wordnets", "de", "a/0.png"): ["Schirm"],
    }
    assert table.groupby(["captions", "lang", "image"])["number"].min().eq(0).all()


def test_a_drawing_has_no_more_captions_than_asked_for():
    assert pictograms.captions(*own_words(), most=1)["number"].unique().tolist() == [0]
    with pytest.raises(InputError, match="captions of a drawing is 0"):
        pictograms.captions(*own_words(), most=0)


def test_labels_of_other_classes_have_no_captions():
    images, labels, words = own_words()
    with pytest.raises(InputError, match="No class of the label set has a drawing"):
        pictograms.captions(images.assign(wnid="n1"), labels, words)
