import ast
import doctest
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelatlas.base import paths, published, tables
from babelatlas.base.errors import InputError
from babelatlas.lexicon import cleaning, labels, senses, wordnets
from babelatlas.workflow import command_line

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


TENCH, KITE, NEWT = "n01440764", "n01608432", "n01631663"
CLASSES = [TENCH, KITE, NEWT]
OF_IMAGENET = [
    ("en", TENCH, "tench", "wordnet-3.0"),
    ("en", KITE, "kite", "wordnet-3.0"),
    ("en", NEWT, "eft", "wordnet-3.0"),
    ("de", NEWT, "Newt", "wikt"),
    ("de", KITE, "Milan", "wikt"),
]


def names_of(found):
    return found[found["lang"] == "en"].set_index("wnid")[["label", "source"]].apply(tuple, axis=1).to_dict()


def test_english_has_the_names_that_clips_authors_curated_as_they_wrote_them():
    found = labels.label_set(table_of(*OF_IMAGENET), CLASSES)
    assert names_of(found) == {
        TENCH: ("tench", "clip"),
        KITE: ("kite (bird of prey)", "clip"),  # no cleaning rule takes the remark away
        NEWT: ("newt", "clip"),
    }
    row = found.query("lang == 'en' and wnid == @NEWT").iloc[0]
    assert (list(row["alternatives"]), row["licence"]) == (["eft"], "MIT")
    assert found.query("lang == 'en' and wnid == @TENCH").iloc[0]["confirmed_by"] == ["wordnet-3.0"]


def test_a_word_equal_to_a_curated_name_is_english_where_the_curated_names_are_in_use():
    german = {
        name: labels.label_set(table_of(*OF_IMAGENET), CLASSES, english_names=name) for name in labels.ENGLISH_NAMES
    }
    german = {name: found.query("lang == 'de'")["label"].tolist() for name, found in german.items()}
    assert german == {"clip": ["Milan"], "wordnet": ["Milan", "Newt"]}


def test_english_has_wordnets_first_words_on_request_and_where_a_class_has_no_curated_name():
    words = {TENCH: ("tench", "wordnet-3.0"), KITE: ("kite", "wordnet-3.0"), NEWT: ("eft", "wordnet-3.0")}
    asked = labels.label_set(table_of(*OF_IMAGENET), CLASSES, english_names="wordnet")
    assert names_of(asked) == words
    mixed = labels.label_set(table_of(*OF_IMAGENET, *ENGLISH), [*CLASSES, DOG])
    assert names_of(mixed) == words | {DOG: ("dog", "wordnet-3.0")}


def test_unknown_english_class_names_are_refused_in_one_sentence():
    with pytest.raises(InputError, match=r"^There are no English class names 'openai': give clip or wordnet\.$"):
        labels.label_set(table_of(*OF_IMAGENET), CLASSES, english_names="openai")


def test_the_curated_names_that_ship_are_those_of_open_clip():
    folder = find_spec("open_clip").submodule_search_locations[0]
    assigned = ast.parse((Path(folder) / "zero_shot_metadata.py").read_text(encoding="utf-8")).body
    values = {node.targets[0].id: node.value for node in assigned if isinstance(node, ast.Assign)}
    names = labels.clip_names()
    assert names["lemma"].tolist() == list(ast.literal_eval(values["IMAGENET_CLASSNAMES"]))
    assert names["wnid"].tolist() == imagenet()


def test_the_curated_names_are_made_again_from_clip_benchmarks_file(mirror, tmp_path, monkeypatch):
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))
    monkeypatch.setattr(labels, "CLIP_NAMES", tmp_path / "clip_names.csv")
    assert command_line.main(["ship", "clip-names"]) == 0
    assert (tmp_path / "clip_names.csv").read_bytes() == (paths.DATA / "clip_names.csv").read_bytes()


def test_the_english_names_of_the_shipped_label_set_are_clips_but_for_two_that_other_classes_have():
    found = labels.shipped().query("lang == 'en'").merge(labels.clip_names()[["wnid", "lemma"]], on="wnid")
    other = found[found["label"] != found["lemma"]]
    assert dict(zip(other["label"], other["lemma"], strict=True)) == {"projectile": "missile", "sunglass": "sunglasses"}
    assert (found["source"] == "clip").sum() == 998


def test_704_of_wordnets_names_are_those_of_clip():
    words = labels.label_set(senses.shipped(), imagenet(), ["en"], english_names="wordnet").merge(
        labels.clip_names(), on="wnid"
    )
    assert (words["label"].map(labels.same) == words["lemma"].map(labels.same)).sum() == 704


def test_every_source_of_the_label_set_has_a_name_a_licence_and_an_address():
    known, table = wordnets.sources(), labels.shipped()
    licences = table.drop_duplicates(["source", "licence"]).set_index("source")["licence"]
    assert known["licence"].reindex(licences.index).to_dict() == licences.to_dict()
    assert (known[["name", "authors", "url"]] != "").all(axis=None)
    assert "Copyright (c) 2021 OpenAI" in labels.LICENCE.read_text(encoding="utf-8").split("# Notices")[1]


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


def test_the_agreed_choice_is_the_word_that_most_sources_list():
    table = table_of(
        *ENGLISH,
        ("de", DOG, "Wauwau", "omw-deu"),
        ("de", DOG, "Hund", "omw-deu"),
        ("de", DOG, "Hund", "wikidata"),
        ("de", DOG, "Köter", "wikt"),
        ("de", CAT, "Katze", "wikt"),
        ("de", CAT, "Mieze", "wikt"),
        ("de", CAT, "mieze", "wikidata"),
        ("de", CAT, "Mieze", "omw-deu"),
        ("de", CAT, "Katze", "omw-deu"),
    )
    assert chosen(table) == {("de", DOG): "Hund", ("de", CAT): "Mieze"}


def test_words_from_a_code_for_several_languages_stand_behind_those_of_the_language_itself():
    table = table_of(*ENGLISH, ("sh", DOG, "ker", "wikt"), ("hr", DOG, "pas", "omw-hrv"), ("sh", CAT, "mačka", "wikt"))
    assert chosen(table) == {("hr", DOG): "pas", ("bs", DOG): "ker", ("hr", CAT): "mačka", ("bs", CAT): "mačka"}


def test_english_keeps_wordnets_order_wherever_its_rows_stand():
    table = table_of(("en", DOG, "doggo", "wikidata"), *ENGLISH)
    for choice in labels.CHOICES:
        assert labels.rank(table, choice).query("wnid == @DOG")["lemma"].tolist() == ["dog", "domestic dog", "doggo"]


def test_the_first_choice_is_the_first_of_the_table():
    table = table_of(*ENGLISH, ("de", DOG, "Köter", "wikt"), ("de", DOG, "Hund", "omw-deu"))
    assert chosen(table, choice="first") == {("de", DOG): "Köter"}


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
        ({"wnids": [DOG, CAT, DOG]}, f"{DOG} more than once"),
        ({"wnids": []}, "is empty"),
        ({"codes": ["sh"]}, "given to sr, hr and bs"),
        ({"without": ["wordnet-3.0"]}, "No source of English words is left"),
        ({"choice": "best"}, "best"),
        ({"english": "all"}, "'all' for English words"),
        ({"clashes": "drop"}, "'drop' to treat clashes"),
        ({"rules": ["parenthesis"]}, "did you mean parentheses"),
        ({"without": ["wiki"]}, "no source 'wiki' to leave out: did you mean wikt"),
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
        ("de", CAT, "Katze (Tier)", "wikt"),
        ("fr", CAT, "cat", "wikt"),
        ("it", DOG, "bestia", "wikt"),
        ("it", CAT, "bestia", "wikt"),
        ("it", CAT, "gatto", "wikt"),
        ("es", DOG, "bicho", "wikt"),
        ("es", CAT, "bicho", "wikt"),
    )
    found = labels.steps(table, [DOG, CAT]).set_index(["lang", "rule"])
    assert list(found.columns) == ["n_changed", "n_dropped", "n_senses", "n_classes"]
    assert list(found.loc["de"].index) == ["all words", *cleaning.STEPS, "English", "one chosen", "clashes"]
    rows = {key: row for key, *row in found.reset_index("lang").query("lang == 'de'")[list(found)].itertuples()}
    assert rows["all words"] == [0, 0, 4, 2]
    assert rows["parentheses"] == [1, 0, 4, 2]
    assert rows["English"] == [0, 1, 3, 2]
    assert rows["one chosen"] == rows["clashes"] == [0, 0, 2, 2]
    assert found.loc[("fr", "English")].tolist() == [0, 1, 0, 0]
    assert found.loc[("it", "clashes")].tolist() == [1, 0, 2, 2]
    assert found.loc[("es", "clashes")].tolist() == [0, 2, 0, 0]
    assert "en" not in found.index.get_level_values("lang")


def test_steps_end_with_the_label_set():
    table = senses.shipped()
    wnids = list(labels.class_list("pictograms").wnid)
    last = labels.steps(table, wnids).query("rule == 'clashes' and n_classes > 0").set_index("lang")["n_classes"]
    made = labels.label_set(table, wnids).query("lang != 'en'")["lang"].value_counts()
    assert last.to_dict() == made.to_dict()


def test_of_two_classes_with_one_word_that_with_another_word_takes_it():
    table = table_of(*ENGLISH, ("de", DOG, "Tier", "wikt"), ("de", DOG, "Hund", "wikt"), ("de", CAT, "Tier", "wikt"))
    assert chosen(table) == {("de", DOG): "Hund", ("de", CAT): "Tier"}
    row = labels.label_set(table, [DOG, CAT]).query("lang == 'de' and wnid == @DOG").iloc[0]
    assert list(row.alternatives) == ["Tier"]
    kept = labels.label_set(table, [DOG, CAT], clashes="keep").query("lang == 'de'")
    assert (kept.label.tolist(), kept.ambiguous.tolist()) == (["Tier", "Tier"], [True, True])


def test_of_two_classes_with_one_word_and_others_that_with_more_sources_keeps_it():
    table = table_of(
        *ENGLISH,
        ("de", DOG, "Tier", "wikt"),
        ("de", DOG, "Hund", "wikt"),
        ("de", CAT, "Tier", "omw-deu"),
        ("de", CAT, "Tier", "wikt"),
        ("de", CAT, "Katze", "wikt"),
    )
    assert chosen(table) == {("de", DOG): "Hund", ("de", CAT): "Tier"}


def test_two_classes_with_the_same_words_only_are_ambiguous_and_left_out():
    table = table_of(*ENGLISH, *(("de", wnid, word, "wikt") for wnid in (DOG, CAT) for word in ("Tier", "Vieh")))
    assert chosen(table) == {}
    marked = labels.label_set(table, [DOG, CAT], clashes="mark").query("lang == 'de'")
    assert (marked.label.tolist(), marked.ambiguous.tolist()) == (["Tier", "Tier"], [True, True])
    assert not labels.label_set(table, [DOG, CAT], clashes="mark").query("lang == 'en'").ambiguous.any()


def test_a_clash_is_of_one_language_and_does_not_mind_capitals():
    table = table_of(*ENGLISH, ("de", DOG, "tier", "wikt"), ("de", CAT, "Tier", "wikt"), ("nl", CAT, "tier", "wikt"))
    assert chosen(table) == {("nl", CAT): "tier"}


def test_english_words_can_be_dropped_by_class_by_any_class_or_not_at_all():
    table = table_of(*ENGLISH, ("de", DOG, "cat", "wikt"), ("fr", DOG, "dog", "wikt"))
    assert chosen(table, english="class") == {("de", DOG): "cat"}
    assert chosen(table, english="any") == {}
    assert chosen(table, english="keep") == {("de", DOG): "cat", ("fr", DOG): "dog"}


def test_sources_can_be_left_out_and_restricted_ones_are():
    table = table_of(*ENGLISH, ("fr", DOG, "chien", "omw-fra"), ("de", DOG, "Hund", "omw-deu"))
    assert chosen(table) == {("de", DOG): "Hund"}
    assert chosen(table, without=[]) == {("fr", DOG): "chien", ("de", DOG): "Hund"}
    assert chosen(table, without=["omw-deu"]) == {("fr", DOG): "chien"}


def test_a_label_says_which_other_sources_list_it():
    table = table_of(*ENGLISH, ("de", DOG, "hund", "omw-deu"), ("de", DOG, "Hund", "wikt"), ("de", DOG, "Töle", "x"))
    row = labels.label_set(table, [DOG, CAT], ["de"]).iloc[0]
    assert (row.label, row.source, row.confirmed_by, row.alternatives) == ("Hund", "wikt", ["omw-deu"], ["Töle"])


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


@pytest.mark.parametrize(
    ("text", "words"),
    [(None, "pictograms"), ("id\n1\n", "wnid"), (f"wnid\n{DOG}\n{DOG}\n", DOG), ("wnid\ndog\n", "'dog'")],
)
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
@given(ROWS, st.sampled_from(labels.CHOICES), st.sampled_from(labels.CLASHES))
def test_every_label_is_a_word_of_its_class_and_none_is_english(rows, choice, clashes):
    table = table_of(*ENGLISH, *rows).drop_duplicates(tables.SCHEMAS["senses"][1])
    found = labels.label_set(table, [DOG, CAT], choice=choice, clashes=clashes, without=[])
    words = {(lang, wnid, labels.same(lemma)) for lang, wnid, lemma, _ in [*ENGLISH, *rows]}
    for row in found.itertuples():
        assert (row.lang, row.wnid, labels.same(row.label)) in words
        if row.lang != "en":
            for word in [row.label, *row.alternatives]:
                assert ("en", row.wnid, labels.same(word)) not in words
    # No label is another class's too, unless it says so; and nothing that could have had a label lacks one.
    double = found.assign(word=found.label.map(labels.same)).duplicated(["lang", "word"], keep=False)
    assert double.tolist() == found.ambiguous.tolist()
    assert clashes != "leave out" or not double.any()
    latin = {word for word in (labels.same(lemma) for _, _, lemma, _ in rows) if word and word != "猫"}
    latin |= {"dog", "domestic dog", "cat"}
    free = {
        (lang, wnid)
        for lang, wnid, word in words
        if word in latin | ({"猫"} if lang == "en" else set()) and (lang == "en" or ("en", wnid, word) not in words)
    }
    pairs = set(zip(found.lang, found.wnid, strict=True))
    assert pairs <= free if clashes == "leave out" else pairs == free


@settings(max_examples=30, deadline=None)
@given(ROWS, st.sampled_from(labels.CHOICES))
def test_a_class_does_not_depend_on_the_others_but_for_clashes(rows, choice):
    table = table_of(*ENGLISH, *rows).drop_duplicates(tables.SCHEMAS["senses"][1])
    cats_first = pd.concat([table[table["wnid"] == CAT], table[table["wnid"] == DOG]])
    whole = labels.label_set(table, [DOG, CAT], choice=choice)
    pd.testing.assert_frame_equal(labels.label_set(cats_first, [DOG, CAT], choice=choice), whole)
    whole = labels.label_set(table, [DOG, CAT], choice=choice, clashes="keep").assign(ambiguous=False)
    alone = labels.label_set(table[table["wnid"] == DOG], [DOG], choice=choice)
    pd.testing.assert_frame_equal(alone, whole[whole["wnid"] == DOG].reset_index(drop=True))


def test_the_shipped_senses_make_label_sets_of_the_expected_size():
    table = senses.shipped()
    found = labels.counts(labels.label_set(table, list(labels.class_list("imagenet-1k").wnid)))
    sizes = found.set_index("lang").n_classes
    assert sizes["en"] == 1000  # WordNet's words name 998: "crane" is two classes, without another word for either
    # 134 languages beside English reach ten classes with these sources.
    assert (sizes >= 10).sum() == 135
    paper = [lang for lang in published.groups()["lang"] if lang != "en"]
    assert (sizes.reindex(paper).fillna(0) >= 10).sum() == 83
    assert labels.label_set(table, list(labels.class_list("pictograms").wnid), ["de"]).shape[0] > 50


def test_the_label_set_that_ships_is_made_from_the_senses_that_ship(tmp_path, monkeypatch):
    monkeypatch.setattr(labels, "SHIPPED", tmp_path / "labels.parquet")
    monkeypatch.setattr(labels, "LICENCE", tmp_path / "labels_licence.md")
    assert command_line.main(["ship", "labels"]) == 0
    for name in ("labels.parquet", "labels_licence.md"):
        assert (tmp_path / name).read_bytes() == (paths.DATA / name).read_bytes(), (
            f"run `babelatlas ship labels` ({name})"
        )


@pytest.mark.slow
def test_the_label_set_that_ships_is_made_again_from_the_sources(mirror, tmp_path):
    made = labels.label_set(wordnets.read_wordnets(senses.class_lists(), mirror / "nltk_data"), imagenet())
    path = tables.write(made, tmp_path / "labels.parquet", "labels", traced=False)
    assert path.read_bytes() == labels.SHIPPED.read_bytes()


def imagenet():
    return list(labels.class_list("imagenet-1k").wnid)


def test_the_label_set_that_ships_has_the_languages_and_licences_it_promises():
    table = labels.check_label_set(labels.shipped(), imagenet())
    assert (table.query("lang != 'en'")["lang"].value_counts() >= 10).sum() >= 130
    assert not table["ambiguous"].any()
    assert not table["source"].isin(labels.RESTRICTED).any()
    assert not table["confirmed_by"].map(lambda sources: bool(set(sources) & set(labels.RESTRICTED))).any()
    assert not table["licence"].str.contains("CECILL|free to use").any()
    words = senses.shipped()
    listed = words[~words["source"].isin(labels.RESTRICTED)]
    known = labels.add_clip_names(cleaning.clean(listed), imagenet())[["lang", "wnid", "lemma"]]
    known = set(known.itertuples(index=False, name=None))
    rows = [(row.lang, row.wnid, word) for row in table.itertuples() for word in [row.label, *row.alternatives]]
    assert len(rows) > len(table)
    assert [row for row in rows if row not in known] == []


def test_the_licence_of_the_label_set_names_every_source_with_its_notice():
    text = labels.LICENCE.read_text(encoding="utf-8")
    manifest = wordnets.manifest().query("rows > 0")
    used = senses.shipped().query("source not in @labels.RESTRICTED and wnid in @imagenet()")
    for row in manifest[manifest["source"].isin(used["source"])].drop_duplicates("source").itertuples():
        assert row.name in text
        assert row.licence in text
    assert "WOLF" not in text.split("Left out")[0]
    for source in manifest[manifest["licence"].str.contains("keep the notice|MIT")]["source"]:
        assert source in text.split("# Notices")[1]


def test_class_lists_may_be_text_files_with_a_wnid_on_each_line(tmp_path):
    (tmp_path / "words.txt").write_text(f"{DOG} dog, domestic dog\n\n{CAT}\tcat\n")
    assert list(labels.class_list(str(tmp_path / "words.txt")).wnid) == [DOG, CAT]


def test_select_keeps_named_languages_or_those_with_enough_classes():
    rows = [("de", "n1"), ("de", "n2"), ("sw", "n1")]
    table = pd.DataFrame(rows, columns=["lang", "wnid"]).assign(label="x", alternatives=[[]] * 3, source="", licence="")
    assert labels.select(table, ["swa"])["lang"].tolist() == ["sw"]
    assert labels.select(table, [], minimum_classes=2)["lang"].tolist() == ["de", "de"]
    assert len(labels.select(table)) == 3
    with pytest.raises(InputError, match=r"no labels in French \(fr\)"):
        labels.select(table, ["de", "fr"])
    with pytest.raises(InputError, match="3 classes: the most is 2; lower minimum_classes, or"):
        labels.select(table, [], minimum_classes=3)


def test_a_more_exact_word_becomes_the_label_and_the_general_one_an_alternative():
    light, rows = "n06874185", [("en", "traffic light"), ("id", "cahaya"), ("id", "lampu lalu lintas"), ("id", "lampu")]
    table = pd.DataFrame(
        [(lang, light, word, "wikt", "free") for lang, word in rows], columns=list(tables.SCHEMAS["senses"][0])
    )
    made = labels.label_set(table, [light]).set_index("lang").loc["id"]
    assert (made["label"], list(made["alternatives"])) == ("lampu lalu lintas", ["cahaya", "lampu"])
    assert labels.label_set(table, [light], choice="first").set_index("lang").loc["id", "label"] == "cahaya"


def test_shipped_labels_are_no_titles_and_no_latin_names_and_german_keeps_its_capitals():
    table = labels.shipped().set_index(["lang", "wnid"])["label"]
    assert not table["pt"].str[0].str.isupper().any()
    assert (table["de"] != table["de"].str.lower()).all()
    assert table["lb"].str[0].str.isupper().all()
    expected = {
        "n03388043": "fonte",
        "n02123394": "gato persa",
        "n01697457": "crocodilo do Nilo",
        "n02526121": "enguia",
    }
    assert {wnid: table["pt", wnid] for wnid in expected} == expected
    assert table["id", "n06874185"] == "lampu lalu lintas"
    assert ("pt", "n01751748") not in table.index  # Hydrophiidae


def test_the_rules_for_titles_latin_names_and_general_words_change_no_german_label():
    known = senses.shipped().query("lang in ['de', 'en'] and wnid in @imagenet()")
    before, after = (
        labels.label_set(known, imagenet(), ["de"], rules=rules)["label"].tolist()
        for rules in (cleaning.SPELLING, cleaning.STEPS)
    )
    assert before == after
