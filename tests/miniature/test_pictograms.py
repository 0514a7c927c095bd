import numpy as np
import pandas as pd
import pytest

from babelatlas.base import tables
from miniature import pictograms, training_set

UMBRELLA, CAT = "n04507155", "n02121620"


def lemmas(wnid, mirror):
    """Return the kind of a synset ("n") and its lemmas, read from WordNet's file of
    nouns at the synset's offset.
    """
    with (mirror / "nltk_data" / "corpora" / "wordnet" / "data.noun").open(
        "rb"
    ) as file:
        file.seek(int(wnid[1:]))
        offset, _, kind, count, *fields = file.readline().decode().split()
    assert f"n{offset}" == wnid
    return kind, [lemma.replace("_", " ") for lemma in fields[: 2 * int(count, 16) : 2]]


def test_every_name_and_every_ambiguous_word_is_an_english_lemma_of_its_synset_in_wordnet(
    mirror,
):
    concepts, senses = pictograms.concepts(), pictograms.senses()
    for wnid, word in [
        *concepts[["wnid", "name"]].to_numpy(),
        *senses[["wnid", "word"]].to_numpy(),
    ]:
        kind, words = lemmas(wnid, mirror)
        assert (kind, word in words) == ("n", True), word


def test_two_senses_that_share_a_drawing_share_all():
    points = {wnid: set(pictograms._characters()[wnid]) for wnid in pictograms.drawn()}
    alike = pictograms.drawn_alike(list(points))
    number = dict(zip(points, alike, strict=True))
    for first, one in points.items():
        for second, other in points.items():
            assert bool(one & other) == (number[first] == number[second]), (
                first,
                second,
            )
    assert number["n03291819"] == number["n06624161"]  # an envelope, a letter
    assert len(set(alike)) < len(points)


def test_every_character_of_a_sense_is_drawn_by_a_face_of_every_split():
    for wnid in pictograms.drawn():
        for split in pictograms.FACES:
            assert pictograms.draw(wnid, split, size=16).size == (16, 16)
            for character in pictograms._characters()[wnid]:
                for face in pictograms.faces(character, split):
                    assert ord(character) in pictograms.glyphs(face)


def test_the_same_arguments_draw_the_same_picture_and_others_another():
    first = np.asarray(pictograms.draw(UMBRELLA, "test", 3, seed=1))
    assert first.shape == (48, 48, 3)
    assert np.array_equal(
        first, np.asarray(pictograms.draw(UMBRELLA, "test", 3, seed=1))
    )
    for other in [
        pictograms.draw(UMBRELLA, "test", 4, seed=1),
        pictograms.draw(UMBRELLA, "test", 3, seed=2),
        pictograms.draw(UMBRELLA, "train", 3, seed=1),
        pictograms.draw(CAT, "test", 3, seed=1),
    ]:
        assert not np.array_equal(first, np.asarray(other))


def test_the_test_split_uses_no_face_of_training_where_a_character_has_others():
    umbrella = chr(0x2602)
    assert set(pictograms.faces(umbrella, "train")).isdisjoint(
        pictograms.faces(umbrella, "test")
    )
    assert set(pictograms.faces(umbrella, "train")).isdisjoint(
        pictograms.faces(umbrella, "development")
    )
    assert set(pictograms.faces(umbrella, "test")).isdisjoint(
        pictograms.faces(umbrella, "development")
    )


@pytest.mark.parametrize(
    ("colour", "strongest"), [("red", 0), ("green", 1), ("blue", 2)]
)
def test_a_drawing_has_the_colour_it_was_asked_for(colour, strongest):
    pixels = np.asarray(pictograms.draw(UMBRELLA, "test", 0, colour=colour), float)
    corner = pixels[:6, :6].mean((0, 1))
    # Of the pixels that are not background, the most coloured ones.
    spread = pixels.max(2) - pixels.min(2)
    drawn = pixels[
        (spread > np.quantile(spread, 0.93)) & (np.abs(pixels - corner).sum(2) > 60)
    ]
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

    _, classes, hues = training_set.drawings("train", 6, seed=0, size=16)
    drawn = {
        (pictograms.concepts()["wnid"][row], list(pictograms.COLOURS)[hue])
        for row, hue in zip(classes, hues, strict=True)
    }
    pairs = pictograms.held_out_compositions(0)

    assert drawn.isdisjoint(zip(pairs["wnid"], pairs["colour"], strict=True))
    assert len(drawn) == 6 * len(pictograms.concepts())


def own_words():
    """Return images, labels and words of two concepts, in English, German and a
    language without labels.
    """
    images = pd.DataFrame(
        {
            "path": ["a/1.png", "a/0.png", "b/0.png"],
            "wnid": [UMBRELLA, UMBRELLA, CAT],
            "number": [1, 0, 0],
        }
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
    return (
        images,
        labels,
        pd.DataFrame(words, columns=["lang", "wnid", "lemma", "source"]),
    )


def test_captions_are_the_words_of_three_kinds_of_sources_for_the_first_drawing():
    table = tables.check(pictograms.captions(*own_words()), "captions")
    told = table.groupby(["captions", "lang", "image"])["caption"].agg(list).to_dict()
    english = {("a/0.png",): ["umbrella"], ("b/0.png",): ["cat", "true cat"]}
    assert told == {
        (name, "en", *image): words
        for name in ("chosen", "wiktionary", "wordnets")
        for image, words in english.items()
    } | {
        ("chosen", "de", "b/0.png"): ["Katze", "Mieze", "Kater"],
        ("wiktionary", "de", "b/0.png"): ["Katze"],
        ("wordnets", "de", "b/0.png"): ["Büsi"],
        ("wordnets", "de", "a/0.png"): ["Schirm"],
    }
    assert table.groupby(["captions", "lang", "image"])["number"].min().eq(0).all()
