"""Coverage: facts about classes are WordNet's, counts are the papers', and what is
computed can be checked by hand.
"""

import os

import numpy as np
import pandas as pd
import pytest

from babelatlas.analysis import coverage
from babelatlas.base import languages, published
from babelatlas.lexicon import labels, senses


def test_the_facts_are_those_that_a_reader_finds_in_wordnet():
    facts = coverage.synsets().set_index("wnid")
    # entity, physical entity, object, whole, living thing, organism, animal, domestic
    # animal, dog, toy dog, Chihuahua
    assert facts.loc["n02085620", :"dog"].tolist() == [10, "noun.animal", 0, True]
    # The timber wolf is a canine, but no dog.
    assert facts.loc["n02114367", ["lexname", "dog"]].tolist() == ["noun.animal", False]
    assert facts.loc["n07873807", "lexname"] == "noun.food"  # pizza
    assert facts.loc["n09472597", "lexname"] == "noun.object"  # volcano


def test_the_dogs_of_imagenet_are_the_classes_from_chihuahua_to_mexican_hairless():
    # 118 classes in a row, 151 to 268 in the list's order; Liu et al. (2021) write of
    # 147.
    classes = labels.class_list("imagenet-1k")
    dogs = coverage.synsets().set_index("wnid").dog[classes.wnid]
    assert np.flatnonzero(dogs).tolist() == list(range(151, 269))
    assert [classes.name[place] for place in (151, 268)] == [
        "Chihuahua",
        "Mexican hairless",
    ]


@pytest.mark.slow
def test_the_shipped_facts_are_made_again_from_wordnet(mirror, monkeypatch):
    monkeypatch.setenv("BABELATLAS_MIRROR", os.fspath(mirror))
    made = coverage.synset_facts(senses.class_lists())
    pd.testing.assert_frame_equal(made, coverage.synsets())


def test_the_counts_of_babel_imagenet_are_those_of_the_papers_table():
    counts = coverage.babel_imagenet().set_index("lang").n_classes
    assert counts.index.is_unique
    for row in published.groups().itertuples():
        assert counts[row.lang] == row.classes
    assert counts.min() >= 10  # the authors keep no language with fewer


def test_the_counts_of_babel_imagenet_are_made_again_from_its_file(mirror, monkeypatch):
    monkeypatch.setenv("BABELATLAS_MIRROR", os.fspath(mirror))
    made = coverage.count_classes(senses.read_babel_imagenet())
    pd.testing.assert_frame_equal(made, coverage.babel_imagenet())


def test_the_two_tables_of_tokens_differ_in_swedish_and_ukrainian_alone():
    printed, corrected = (
        coverage.tokens(name).set_index("lang").tokens
        for name in ("as printed", "corrected")
    )
    assert printed.index[printed != corrected].tolist() == ["sv", "uk"]
    assert printed[["sv", "uk"]].tolist() == [77.8, 6.5]


def test_tokens_are_added_up_as_geigle_and_colleagues_do():
    # Geigle et al. (2024), Table 4: log10 of the tokens (millions) in XLM-R's corpus.
    table4 = {
        "xh": 1.11,
        "si": 2.39,
        "lo": 1.23,
        "ur": 2.86,
        "my": 1.85,
        "hi": 3.23,
        "ms": 3.12,
        "et": 2.93,
    }
    table4 |= {
        "sk": 3.55,
        "lt": 3.26,
        "eu": 2.43,
        "ar": 3.46,
        "ko": 3.75,
        "fa": 4.12,
        "de": 4.01,
        "zh": 2.64,
    }
    tokens = coverage.tokens().set_index("lang").tokens
    assert {lang: round(float(np.log10(tokens[lang])), 2) for lang in table4} == table4


def test_the_papers_correlation_follows_from_the_printed_tokens_and_not_from_the_corrected_ones():
    counts = {"paper": published.groups().rename(columns={"classes": "n_classes"})}
    table = coverage.token_correlation(counts, n_resamples=20)
    found = table[table.method == "spearman"].set_index(["tokens", "english"])
    assert (
        round(found.value["as printed", True], 2) == 0.78
    )  # "Spearman rank correlation of 0.78", Appendix B.1
    assert found.n["as printed", True] == 93
    assert found.value["corrected", True] > 0.83
    assert (found.ci_low < found.value).all()
    assert (found.value < found.ci_high).all()


def test_reached_languages_are_counted_by_family_and_by_macroarea():
    counts = pd.DataFrame(
        {"lang": ["de", "nl", "sw", "zu", "ho"], "n_classes": [700, 9, 10, 3, 50]}
    )
    families = coverage.reached(counts).set_index("family")
    assert families.loc["Indo-European", ["n_named", "n_reached", "most"]].tolist() == [
        2,
        1,
        700,
    ]
    assert families.loc[
        "Atlantic-Congo", ["n_named", "n_reached", "most"]
    ].tolist() == [2, 1, 10]
    assert families.n_reached.sum() == 2
    assert (
        "Pidgin" not in families.index
    )  # Hiri Motu is one: it belongs to a place, but to no family
    areas = coverage.reached(counts, "macroarea").set_index("macroarea")
    assert areas.n_reached.to_dict() == {
        "Africa": 1,
        "Papunesia": 1,
        "Eurasia": 1,
        "North America": 0,
        "South America": 0,
        "Australia": 0,
    }
    assert areas.n_world.sum() == len(languages.world())
    assert areas.share["Eurasia"] == 1 / areas.n_world["Eurasia"]
