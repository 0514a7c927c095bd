import doctest

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelatlas import InputError, labels, senses, tables

DOG, CAT = "n02084071", "n02121620"


def table_of(*rows):
    return pd.DataFrame(rows, columns=["lang", "wnid", "lemma", "source"]).assign(licence="free")


ENGLISH = [
    ("en", DOG, "dog", "wordnet-3.0"),
    ("en", DOG, "domestic dog", "wordnet-3.0"),
    ("en", CAT, "cat", "wordnet-3.0"),
]


def chosen(table, **options):
    found = labels.label_set(table, [DOG, CAT], **options)
    return {(row.lang, row.wnid): row.label for row in found.itertuples() if row.lang != "en"}


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(labels).failed == 0


def test_a_word_equal_to_an_english_word_of_its_class_is_dropped():
    table = table_of(
        *ENGLISH,
        ("de", DOG, "Domestic_Dog", "wikt"),
        ("de", DOG, "Hund", "wikt"),
        ("de", CAT, "dog", "wikt"),  # English, but of another class
        ("fr", DOG, "DOG", "wikt"),
    )
    assert chosen(table) == {("de", DOG): "Hund", ("de", CAT): "dog"}


def test_an_english_word_of_any_source_counts():
    table = table_of(*ENGLISH, ("en", DOG, "doggo", "wikt"), ("de", DOG, "Doggo", "wikt"))
    assert chosen(table) == {}


def test_english_keeps_the_first_word_of_wordnet_and_lists_the_others():
    table = table_of(*ENGLISH, ("en", DOG, "domestic dog", "wikt"))
    row = labels.label_set(table, [DOG, CAT]).query("lang == 'en' and wnid == @DOG").iloc[0]
    assert (row.label, list(row.alternatives), row.source) == ("dog", ["domestic dog"], "wordnet-3.0")


def test_the_agreed_choice_is_wiktionarys_first_word_that_another_source_has():
    table = table_of(
        *ENGLISH,
        ("de", DOG, "Haustier", "omw-deu"),
        ("de", DOG, "hund", "omw-deu"),
        ("de", DOG, "Köter", "wikt"),
        ("de", DOG, "Hund", "wikt"),
    )
    assert chosen(table) == {("de", DOG): "Hund"}
    assert chosen(table, choice="first") == {("de", DOG): "Haustier"}


def test_without_agreement_wiktionary_goes_first_and_another_source_stands_in():
    table = table_of(
        *ENGLISH,
        ("de", DOG, "Tier", "omw-deu"),
        ("de", DOG, "Hund", "wikt"),
        ("de", CAT, "Katze", "omw-deu"),
        ("de", CAT, "Mieze", "omw-deu"),
    )
    assert chosen(table) == {("de", DOG): "Hund", ("de", CAT): "Katze"}


def test_a_label_keeps_its_source_its_licence_and_the_other_words():
    table = table_of(*ENGLISH, ("de", DOG, "Hund", "omw-deu"), ("de", DOG, "Köter", "wikt"), ("de", DOG, "dog", "wikt"))
    table.loc[table["source"] == "wikt", "licence"] = "CC-BY-SA-3.0"
    row = labels.label_set(table, [DOG, CAT], ["deu"]).iloc[0]
    assert (row.label, row.source, row.licence, list(row.alternatives)) == ("Köter", "wikt", "CC-BY-SA-3.0", ["Hund"])


def test_empty_words_are_dropped_and_unicode_is_composed():
    table = table_of(*ENGLISH, ("fr", DOG, " _ ", "wikt"), ("fr", CAT, "  fe\u0301lin_domestique ", "wikt"))
    assert chosen(table) == {("fr", CAT): "f\u00e9lin domestique"}


def test_classes_come_in_the_order_of_the_list_and_languages_by_code():
    table = table_of(*ENGLISH, ("fr", CAT, "chat", "wikt"), ("de", DOG, "Hund", "wikt"), ("de", CAT, "Katze", "wikt"))
    found = labels.label_set(table, [CAT, DOG])
    assert list(zip(found.lang, found.wnid, strict=True)) == [
        *[("de", CAT), ("de", DOG), ("en", CAT), ("en", DOG), ("fr", CAT)]
    ]


def test_the_languages_asked_for_may_be_aliases():
    table = table_of(*ENGLISH, ("ja", DOG, "犬", "wikt"), ("de", DOG, "Hund", "wikt"))
    assert list(labels.label_set(table, [DOG], ["jp"]).lang) == ["ja"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"codes": ["xxxx"]}, "xxxx"),
        ({"codes": ["fr"]}, "French"),
        ({"wnids": [DOG, "n00000001"]}, "n00000001"),
        ({"choice": "best"}, "best"),
    ],
)
def test_what_cannot_be_made_is_refused(options, message):
    table = table_of(*ENGLISH, ("de", DOG, "Hund", "wikt"), ("fr", DOG, "dog", "wikt"))
    with pytest.raises(InputError, match=message):
        labels.label_set(table, **({"wnids": [DOG]} | options))


def test_steps_counts_what_each_rule_leaves():
    table = table_of(
        *ENGLISH,
        ("de", DOG, "Hund", "omw-deu"),
        ("de", DOG, "Hund", "wikt"),
        ("de", DOG, "dog", "wikt"),
        ("de", CAT, " ", "wikt"),
        ("fr", CAT, "cat", "wikt"),
    )
    found = labels.steps(table, [DOG, CAT]).set_index(["lang", "rule"])
    assert found.loc["de"].to_dict("split")["data"] == [[4, 2], [3, 1], [2, 1], [1, 1]]
    assert found.loc["fr"].to_dict("split")["data"] == [[1, 1], [1, 1], [0, 0], [0, 0]]
    assert list(found.loc["de"].index) == ["all words", "not empty", "not English", "one chosen"]


def test_counts_are_sorted_and_carry_the_papers_group():
    rows = [("de", f"n{number:08}", "x") for number in range(101)] + [
        ("fr", "n00000000", "x"),
        ("cs", "n00000000", "x"),
    ]
    found = labels.counts(pd.DataFrame(rows, columns=["lang", "wnid", "label"]))
    assert found.to_dict("split")["data"] == [["de", 101, "low"], ["cs", 1, "very low"], ["fr", 1, "very low"]]


def good():
    return labels.label_set(table_of(*ENGLISH, ("de", DOG, "Hund", "wikt"), ("de", CAT, "Katze", "wikt")), [DOG, CAT])


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("label", "", "German"),
        ("label", " \t", "German"),
        ("label", None, "German"),
        ("wnid", CAT, "more than one row"),
        ("lang", "xxxx", "xxxx"),
        ("lang", "deu", "'de'"),
        ("wnid", "n99999999", "n99999999"),
    ],
)
def test_a_label_set_that_cannot_be_used_is_refused(column, value, words):
    table = good()
    table.loc[0, column] = value
    with pytest.raises(InputError, match=words):
        labels.check_label_set(table, [DOG, CAT])


def test_a_label_set_may_lack_classes():
    table = good().iloc[1:]
    assert labels.check_label_set(table, [DOG, CAT]) is table


def test_a_label_set_without_a_column_is_refused():
    with pytest.raises(InputError, match="licence"):
        labels.check_label_set(good().drop(columns="licence"))


def test_class_lists_are_read_by_name_and_by_path(tmp_path):
    assert len(labels.class_list("imagenet-1k")) == 1000
    assert labels.class_list("imagenet-1k").iloc[0].tolist() == ["n01440764", "tench, Tinca tinca"]
    (tmp_path / "mine.csv").write_text(f"wnid\n{DOG}\n{CAT}\n")
    assert list(labels.class_list(str(tmp_path / "mine.csv")).wnid) == [DOG, CAT]


@pytest.mark.parametrize(("text", "words"), [(None, "pictograms"), ("id\n1\n", "wnid"), (f"wnid\n{DOG}\n{DOG}\n", DOG)])
def test_a_class_list_that_cannot_be_read_is_refused(tmp_path, text, words):
    path = tmp_path / "mine.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=words):
        labels.class_list(str(path))


WORDS = st.sampled_from(["dog", "Dog", "cat", "chien", "CHIEN", "e\u0301l", "\u00e9l", "ho_t", "ho t", " ", "猫"])
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["de", "fr", "en"]), st.sampled_from([DOG, CAT]), WORDS, st.sampled_from(["omw-fra", "wikt"])
    ),
    max_size=25,
    unique=True,
)


@settings(max_examples=60, deadline=None)
@given(ROWS, st.sampled_from(labels.CHOICES))
def test_every_label_is_a_word_of_its_class_and_none_is_english(rows, choice):
    table = table_of(*ENGLISH, *rows).drop_duplicates(tables.SCHEMAS["senses"][1])
    found = labels.label_set(table, [DOG, CAT], choice=choice)
    words = {(lang, wnid, labels.same(lemma)) for lang, wnid, lemma, _ in [*ENGLISH, *rows]}
    for row in found.itertuples():
        assert (row.lang, row.wnid, labels.same(row.label)) in words
        if row.lang != "en":
            for word in [row.label, *row.alternatives]:
                assert ("en", row.wnid, labels.same(word)) not in words
    # And nothing that could have had a label lacks one.
    free = {(lang, wnid) for lang, wnid, word in words if word and (lang == "en" or ("en", wnid, word) not in words)}
    assert set(zip(found.lang, found.wnid, strict=True)) == free


@settings(max_examples=30, deadline=None)
@given(ROWS, st.sampled_from(labels.CHOICES))
def test_a_class_does_not_depend_on_the_others(rows, choice):
    table = table_of(*ENGLISH, *rows).drop_duplicates(tables.SCHEMAS["senses"][1])
    cats_first = pd.concat([table[table["wnid"] == CAT], table[table["wnid"] == DOG]])
    whole = labels.label_set(table, [DOG, CAT], choice=choice)
    pd.testing.assert_frame_equal(labels.label_set(cats_first, [DOG, CAT], choice=choice), whole)
    alone = labels.label_set(table[table["wnid"] == DOG], [DOG], choice=choice)
    pd.testing.assert_frame_equal(alone, whole[whole["wnid"] == DOG].reset_index(drop=True))


def test_the_shipped_senses_make_label_sets_of_the_expected_size():
    table = senses.shipped()
    found = labels.counts(labels.label_set(table, list(labels.class_list("imagenet-1k").wnid)))
    sizes = found.set_index("lang").n_classes
    assert sizes["en"] == 1000
    # 134 languages beside English reach ten classes with these sources.
    assert (sizes >= 10).sum() == 135
    assert labels.label_set(table, list(labels.class_list("pictograms").wnid), ["de"]).shape[0] > 50


def test_select_keeps_named_languages_or_those_with_enough_classes():
    rows = [("de", "n1"), ("de", "n2"), ("sw", "n1")]
    table = pd.DataFrame(rows, columns=["lang", "wnid"]).assign(label="x", alternatives=[[]] * 3, source="", licence="")
    assert labels.select(table, ["swa"])["lang"].tolist() == ["sw"]
    assert labels.select(table, [], minimum_classes=2)["lang"].tolist() == ["de", "de"]
    assert len(labels.select(table)) == 3
    with pytest.raises(InputError, match=r"no labels in French \(fr\)"):
        labels.select(table, ["de", "fr"])
    with pytest.raises(InputError, match="3 classes: the most is 2"):
        labels.select(table, [], minimum_classes=3)
