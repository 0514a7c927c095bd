"""Tests of what the page on labels computes of languages, classes and concepts."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas_study.chapters import labels
from babelatlas.analysis import concepts, coverage


def counts(**classes: int) -> pd.DataFrame:
    return pd.DataFrame({"lang": classes.keys(), "n_classes": classes.values()})


def test_the_worlds_languages_are_reached_with_enough_classes_only():
    places = labels.places(counts(de=700, nl=9, sw=400), minimum=10)
    reached = places.world[places.world["is_reached"]]
    assert sorted(reached["n_classes"]) == [400, 700]
    assert sorted(reached["group"]) == ["high", "mid"]
    assert set(places.world.loc[~places.world["is_reached"], "group"]) == {""}
    assert places.areas["with 10 classes"].sum() == 2


def test_a_family_stands_with_its_languages_and_those_that_are_reached():
    places = labels.places(counts(de=700, nl=9), minimum=10)
    rows = places.family_rows
    assert rows["row"].nunique() == labels.LARGEST_FAMILIES
    row = rows[rows["row"].str.startswith("Indo-European: 1 of ")]
    assert row.set_index("series")["value"]["with at least 10 classes"] == 1


def test_every_wordnet_is_one_kind_of_source_and_english_does_not_count():
    words = pd.DataFrame(
        [
            ("de", "n1", "omw-odenet"),
            ("de", "n2", "omw-de"),
            ("de", "n1", "wikt"),
            ("en", "n1", "wordnet-3.0"),
        ],
        columns=["lang", "wnid", "source"],
    )
    found = labels.classes_by_source(words).set_index(["language", "source"])["value"]
    assert found.to_dict() == {
        ("German", "Open Multilingual Wordnet"): 2,
        ("German", "Wiktionary"): 1,
    }


def test_languages_of_either_count_stand_side_by_side_but_english_does_not():
    both = labels.side_by_side(counts(de=700, en=1000, nl=9), counts(de=800, si=20))
    assert both["lang"].tolist() == ["de", "si", "nl"]
    assert both["ours"].tolist() == [700, 0, 9]
    assert both["theirs"].tolist() == [800, 20, 0]
    assert both["group"].tolist() == ["high", "very low", "none"]


def test_a_figure_of_both_counts_names_what_gains_and_what_loses_most():
    ours = counts(de=700, nl=350, sw=400, si=30)
    theirs = counts(de=800, nl=700, sw=390, si=20)
    axis = labels.draw_both_counts(labels.side_by_side(ours, theirs))
    named = {text.get_text() for text in axis.texts}
    assert named == {"Dutch", "German", "Swahili", "Sinhala"}


@pytest.fixture
def facts():
    return pd.DataFrame(
        {
            "wnid": ["n1", "n2", "n3"],
            "depth": [4, 8, 9],
            "lexname": ["noun.food", "noun.animal", "noun.animal"],
            "n_hyponyms": [2, 1, 0],
            "dog": [False, False, True],
        }
    )


def test_concepts_count_languages_families_and_macroareas_but_not_english(facts):
    named = {"n1": ["de", "nl", "sw", "eo", "en"], "n2": ["de", "en"], "n3": ["en"]}
    table = pd.DataFrame(
        [(lang, wnid) for wnid, codes in named.items() for lang in codes],
        columns=["lang", "wnid"],
    )
    found = labels.languages_of_classes(table, facts).set_index("wnid")
    assert found.n_languages.tolist() == [4, 1, 0]
    assert found.n_families.tolist() == [2, 1, 0]
    assert found.n_macroareas.tolist() == [2, 1, 0]
    assert found.field.tolist() == ["food", "other animal", "dog"]


def test_an_outcome_is_what_took_the_last_word_away():
    words = pd.DataFrame(
        [("si", "n1"), ("si", "n2"), ("si", "n3"), ("sh", "n1")],
        columns=["lang", "wnid"],
    )
    cleaned = pd.DataFrame(
        [("si", "n1"), ("si", "n2"), ("hr", "n1")], columns=["lang", "wnid"]
    )
    label_set = pd.DataFrame([("si", "n1"), ("hr", "n1")], columns=["lang", "wnid"])
    stages = {"no source": words, "cleaned": cleaned, "English": label_set}
    found = labels.outcomes(stages, ["si", "hr"], ["n1", "n2", "n3", "n4"])
    assert found.outcome.tolist() == [
        "named",
        "English",
        "cleaned",
        "no source",
        "named",
        *["no source"] * 3,
    ]
    assert found.outcome.cat.categories.tolist() == [
        "named",
        "English",
        "cleaned",
        "no source",
    ]


PAIRS = st.sets(
    st.tuples(st.sampled_from(["si", "de"]), st.sampled_from(["n1", "n2", "n3"]))
)


@given(PAIRS, PAIRS)
def test_every_class_of_every_language_has_one_outcome(first, second):
    tables = [
        pd.DataFrame(sorted(pairs), columns=["lang", "wnid"])
        for pairs in (first | second, second)
    ]
    stages = dict(zip(["no source", "lost"], tables, strict=True))
    found = labels.outcomes(stages, ["si", "de"], ["n1", "n2", "n3"])
    sizes = found.outcome.value_counts()
    assert sizes.to_dict() == {
        "named": len(second),
        "lost": len(first - second),
        "no source": 6 - len(first | second),
    }


def test_bins_hold_every_class_once():
    classes = pd.DataFrame(
        {"wnid": list("abcd"), "kind": ["leaf", "leaf", "other", "leaf"]}
    ).assign(n_languages=[0, 2, 4, 7])
    bins = labels._bins(classes)
    assert list(bins.index) == ["0", "1–2", "3–5", "6–7"]
    assert bins.to_numpy().sum() == 4
    assert list(bins) == ["leaf (3)", "other (1)"]


def test_leaves_of_imagenet_lie_deeper_than_everyday_names():
    classes = coverage.synsets()
    depths = labels._depths(classes, n_resamples=50, seed=0)
    everyday = pd.read_csv(concepts.EVERYDAY)["depth"].mean()
    assert f"everyday names {everyday:.1f} (" in depths.means
    assert depths.difference[0] > 0


def test_values_without_intervals_are_drawn_and_shares_are_in_percent():
    table = pd.DataFrame({"row": ["a", "b"], "value": [0.2, 0.4]})
    axis = labels.draw_rows(table, "row", "share", right=1.0)
    assert axis.get_xlim() == (0, 1)
    assert axis.xaxis.get_major_formatter()(0.5) == "50%"
    assert axis.get_xlabel() == "share"


def test_a_run_without_the_miniature_has_no_section_of_it(tmp_path):
    miniature = labels.miniature(str(tmp_path), ["openai-b32"], minimum=10)
    assert (miniature.heading, miniature.mark) == ("", "")
    assert miniature.counts.empty
