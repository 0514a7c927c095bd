import ast
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas_study.commands import main as command_line
from babelatlas.base import paths, tables
from babelatlas.base.errors import InputError
from babelatlas.lexicon import cleaning, labels, senses, wordnets

DOG, CAT = "n02084071", "n02121620"


def table_of(*rows):
    return pd.DataFrame(rows, columns=["lang", "wnid", "lemma", "source"]).assign(
        licence="free"
    )


ENGLISH = [
    ("en", DOG, "dog", "wordnet-3.0"),
    ("en", DOG, "domestic dog", "wordnet-3.0"),
    ("en", CAT, "cat", "wordnet-3.0"),
]


def chosen(table, **options):
    found = labels.label_set(table, [DOG, CAT], **options)
    return {
        (row.lang, row.wnid): row.label
        for row in found.itertuples()
        if row.lang != "en"
    }


def test_a_word_equal_to_an_english_word_of_its_class_is_dropped():
    table = table_of(
        *ENGLISH,
        ("de", DOG, "Domestic_Dog", "wikt"),
        ("de", DOG, "Hund", "wikt"),
        ("de", CAT, "dog", "wikt"),  # English, but of another class
        ("fr", DOG, "DOG", "wikt"),
    )
    assert chosen(table) == {("de", DOG): "Hund", ("de", CAT): "dog"}


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
    return (
        found[found["lang"] == "en"]
        .set_index("wnid")[["label", "source"]]
        .apply(tuple, axis=1)
        .to_dict()
    )


def test_english_has_the_names_that_clips_authors_curated_as_they_wrote_them():
    found = labels.label_set(table_of(*OF_IMAGENET), CLASSES)
    assert names_of(found) == {
        TENCH: ("tench", "clip"),
        KITE: ("kite (bird of prey)", "clip"),  # no cleaning rule takes the remark away
        NEWT: ("newt", "clip"),
    }
    row = found.query("lang == 'en' and wnid == @NEWT").iloc[0]
    assert (list(row["alternatives"]), row["licence"]) == (["eft"], "MIT")
    assert found.query("lang == 'en' and wnid == @TENCH").iloc[0]["confirmed_by"] == [
        "wordnet-3.0"
    ]


def test_a_word_equal_to_a_curated_name_is_english_where_the_curated_names_are_in_use():
    german = {
        name: labels.label_set(table_of(*OF_IMAGENET), CLASSES, english_names=name)
        for name in labels.ENGLISH_NAMES
    }
    german = {
        name: found.query("lang == 'de'")["label"].tolist()
        for name, found in german.items()
    }
    assert german == {"clip": ["Milan"], "wordnet": ["Milan", "Newt"]}


def test_english_has_wordnets_first_words_on_request_and_where_a_class_has_no_curated_name():
    words = {
        TENCH: ("tench", "wordnet-3.0"),
        KITE: ("kite", "wordnet-3.0"),
        NEWT: ("eft", "wordnet-3.0"),
    }
    asked = labels.label_set(table_of(*OF_IMAGENET), CLASSES, english_names="wordnet")
    assert names_of(asked) == words
    mixed = labels.label_set(table_of(*OF_IMAGENET, *ENGLISH), [*CLASSES, DOG])
    assert names_of(mixed) == words | {DOG: ("dog", "wordnet-3.0")}


def test_the_curated_names_that_ship_are_those_of_open_clip():
    folder = find_spec("open_clip").submodule_search_locations[0]
    assigned = ast.parse(
        (Path(folder) / "zero_shot_metadata.py").read_text(encoding="utf-8")
    ).body
    values = {
        node.targets[0].id: node.value
        for node in assigned
        if isinstance(node, ast.Assign)
    }
    names = labels.clip_names()
    assert names["lemma"].tolist() == list(
        ast.literal_eval(values["IMAGENET_CLASSNAMES"])
    )
    assert names["wnid"].tolist() == imagenet()


def test_the_curated_names_are_made_again_from_clip_benchmarks_file(
    mirror, tmp_path, monkeypatch
):
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))
    monkeypatch.setattr(labels, "CLIP_NAMES", tmp_path / "clip_names.csv")
    assert command_line.main(["ship", "clip-names"]) == 0
    assert (tmp_path / "clip_names.csv").read_bytes() == (
        paths.DATA / "clip_names.csv"
    ).read_bytes()


def test_the_english_names_of_the_shipped_label_set_are_clips_but_for_two_that_other_classes_have():
    found = (
        labels.shipped()
        .query("lang == 'en'")
        .merge(labels.clip_names()[["wnid", "lemma"]], on="wnid")
    )
    other = found[found["label"] != found["lemma"]]
    assert dict(zip(other["label"], other["lemma"], strict=True)) == {
        "projectile": "missile",
        "sunglass": "sunglasses",
    }
    assert (found["source"] == "clip").sum() == 998


def test_the_agreed_choice_is_the_word_that_most_sources_list():
    table = table_of(
        *ENGLISH,
        ("de", DOG, "Wauwau", "omw-deu"),
        ("de", DOG, "Hund", "omw-deu"),
        ("de", DOG, "Hund", "babel-imagenet"),
        ("de", DOG, "Köter", "wikt"),
        ("de", CAT, "Katze", "wikt"),
        ("de", CAT, "Mieze", "wikt"),
        ("de", CAT, "mieze", "babel-imagenet"),
        ("de", CAT, "Mieze", "omw-deu"),
        ("de", CAT, "Katze", "omw-deu"),
    )
    assert chosen(table) == {("de", DOG): "Hund", ("de", CAT): "Mieze"}


def test_words_from_a_code_for_several_languages_stand_behind_those_of_the_language_itself():
    table = table_of(
        *ENGLISH,
        ("sh", DOG, "ker", "wikt"),
        ("hr", DOG, "pas", "omw-hrv"),
        ("sh", CAT, "mačka", "wikt"),
    )
    assert chosen(table) == {
        ("hr", DOG): "pas",
        ("bs", DOG): "ker",
        ("hr", CAT): "mačka",
        ("bs", CAT): "mačka",
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"codes": ["xxxx"]}, "xxxx"),
        ({"codes": ["fr"]}, "French"),
        ({"wnids": [DOG, "n00000001"]}, "n00000001"),
        ({"rules": ["parenthesis"]}, "did you mean parentheses"),
        ({"without": ["wiki"]}, "no source to leave out 'wiki': did you mean wikt"),
    ],
)
def test_what_cannot_be_made_is_refused(options, message):
    table = table_of(*ENGLISH, ("de", DOG, "Hund", "wikt"), ("fr", DOG, "dog", "wikt"))
    with pytest.raises(InputError, match=message):
        labels.label_set(table, **({"wnids": [DOG]} | options))


def test_of_two_classes_with_one_word_that_with_another_word_takes_it():
    table = table_of(
        *ENGLISH,
        ("de", DOG, "Tier", "wikt"),
        ("de", DOG, "Hund", "wikt"),
        ("de", CAT, "Tier", "wikt"),
    )
    assert chosen(table) == {("de", DOG): "Hund", ("de", CAT): "Tier"}
    row = (
        labels.label_set(table, [DOG, CAT])
        .query("lang == 'de' and wnid == @DOG")
        .iloc[0]
    )
    assert list(row.alternatives) == ["Tier"]
    kept = labels.label_set(table, [DOG, CAT], clashes="keep").query("lang == 'de'")
    assert (kept.label.tolist(), kept.ambiguous.tolist()) == (
        ["Tier", "Tier"],
        [True, True],
    )


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
    table = table_of(
        *ENGLISH,
        *(
            ("de", wnid, word, "wikt")
            for wnid in (DOG, CAT)
            for word in ("Tier", "Vieh")
        ),
    )
    assert chosen(table) == {}
    marked = labels.label_set(table, [DOG, CAT], clashes="mark").query("lang == 'de'")
    assert (marked.label.tolist(), marked.ambiguous.tolist()) == (
        ["Tier", "Tier"],
        [True, True],
    )
    assert (
        not labels.label_set(table, [DOG, CAT], clashes="mark")
        .query("lang == 'en'")
        .ambiguous.any()
    )


def test_english_words_can_be_dropped_by_class_by_any_class_or_not_at_all():
    table = table_of(*ENGLISH, ("de", DOG, "cat", "wikt"), ("fr", DOG, "dog", "wikt"))
    assert chosen(table, english="class") == {("de", DOG): "cat"}
    assert chosen(table, english="any") == {}
    assert chosen(table, english="keep") == {("de", DOG): "cat", ("fr", DOG): "dog"}


def test_sources_can_be_left_out_and_restricted_ones_are():
    table = table_of(
        *ENGLISH, ("fr", DOG, "chien", "omw-fra"), ("de", DOG, "Hund", "omw-deu")
    )
    assert chosen(table) == {("de", DOG): "Hund"}
    assert chosen(table, without=[]) == {("fr", DOG): "chien", ("de", DOG): "Hund"}
    assert chosen(table, without=["omw-deu"]) == {("fr", DOG): "chien"}


def good():
    return labels.label_set(
        table_of(*ENGLISH, ("de", DOG, "Hund", "wikt"), ("de", CAT, "Katze", "wikt")),
        [DOG, CAT],
    )


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("label", "", "German"),
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


WORDS = st.sampled_from(
    [
        "dog",
        "Dog",
        "cat",
        "chien",
        "CHIEN",
        "e\u0301l",
        "\u00e9l",
        "ho_t",
        "ho t",
        " ",
        "猫",
    ]
)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["de", "fr", "en"]),
        st.sampled_from([DOG, CAT]),
        WORDS,
        st.sampled_from(["omw-fra", "wikt"]),
    ),
    max_size=25,
    unique=True,
)


@settings(max_examples=20, deadline=None)
@given(
    ROWS,
    st.sampled_from(labels.CHOICES),
    st.sampled_from(["leave out", "mark", "keep"]),
)
def test_every_label_is_a_word_of_its_class_and_none_is_english(rows, choice, clashes):
    table = table_of(*ENGLISH, *rows).drop_duplicates(tables.SCHEMAS["senses"][1])
    found = labels.label_set(
        table, [DOG, CAT], choice=choice, clashes=clashes, without=[]
    )
    words = {
        (lang, wnid, labels.same(lemma)) for lang, wnid, lemma, _ in [*ENGLISH, *rows]
    }
    for row in found.itertuples():
        assert (row.lang, row.wnid, labels.same(row.label)) in words
        if row.lang != "en":
            for word in [row.label, *row.alternatives]:
                assert ("en", row.wnid, labels.same(word)) not in words
    # No label is another class's too, unless it says so; and nothing that could have
    # had a label lacks one.
    double = found.assign(word=found.label.map(labels.same)).duplicated(
        ["lang", "word"], keep=False
    )
    assert double.tolist() == found.ambiguous.tolist()
    assert clashes != "leave out" or not double.any()
    latin = {
        word
        for word in (labels.same(lemma) for _, _, lemma, _ in rows)
        if word and word != "猫"
    }
    latin |= {"dog", "domestic dog", "cat"}
    free = {
        (lang, wnid)
        for lang, wnid, word in words
        if word in latin | ({"猫"} if lang == "en" else set())
        and (lang == "en" or ("en", wnid, word) not in words)
    }
    pairs = set(zip(found.lang, found.wnid, strict=True))
    assert pairs <= free if clashes == "leave out" else pairs == free


@settings(max_examples=10, deadline=None)
@given(ROWS, st.sampled_from(labels.CHOICES))
def test_a_class_does_not_depend_on_the_others_but_for_clashes(rows, choice):
    table = table_of(*ENGLISH, *rows).drop_duplicates(tables.SCHEMAS["senses"][1])
    cats_first = pd.concat([table[table["wnid"] == CAT], table[table["wnid"] == DOG]])
    whole = labels.label_set(table, [DOG, CAT], choice=choice)
    pd.testing.assert_frame_equal(
        labels.label_set(cats_first, [DOG, CAT], choice=choice), whole
    )
    whole = labels.label_set(table, [DOG, CAT], choice=choice, clashes="keep").assign(
        ambiguous=False
    )
    alone = labels.label_set(table[table["wnid"] == DOG], [DOG], choice=choice)
    pd.testing.assert_frame_equal(
        alone, whole[whole["wnid"] == DOG].reset_index(drop=True)
    )


@pytest.mark.slow
def test_the_label_set_that_ships_is_made_from_the_senses_that_ship(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(labels, "SHIPPED", tmp_path / "labels.parquet")
    monkeypatch.setattr(labels, "LICENCE", tmp_path / "labels_licence.md")
    assert command_line.main(["ship", "labels"]) == 0
    for name in ("labels.parquet", "labels_licence.md"):
        assert (tmp_path / name).read_bytes() == (paths.DATA / name).read_bytes(), (
            f"run `babelatlas ship labels` ({name})"
        )


def imagenet():
    return list(labels.class_list("imagenet-1k").wnid)


def test_the_label_set_that_ships_has_the_languages_and_licences_it_promises():
    table = labels.check_label_set(labels.shipped(), imagenet())
    assert (table.query("lang != 'en'")["lang"].value_counts() >= 10).sum() >= 130
    assert not table["ambiguous"].any()
    assert not table["source"].isin(labels.RESTRICTED).any()
    assert (
        not table["confirmed_by"]
        .map(lambda sources: bool(set(sources) & set(labels.RESTRICTED)))
        .any()
    )
    assert not table["licence"].str.contains("CECILL|free to use").any()
    words = senses.shipped()
    listed = words[~words["source"].isin(labels.RESTRICTED)]
    known = labels.add_clip_names(cleaning.clean(listed), imagenet())[
        ["lang", "wnid", "lemma"]
    ]
    known = set(known.itertuples(index=False, name=None))
    rows = [
        (row.lang, row.wnid, word)
        for row in table.itertuples()
        for word in [row.label, *row.alternatives]
    ]
    assert len(rows) > len(table)
    assert [row for row in rows if row not in known] == []


def test_the_licence_of_the_label_set_names_every_source_with_its_notice():
    text = labels.LICENCE.read_text(encoding="utf-8")
    manifest = wordnets.manifest().query("rows > 0")
    used = senses.shipped().query(
        "source not in @labels.RESTRICTED and wnid in @imagenet()"
    )
    for row in (
        manifest[manifest["source"].isin(used["source"])]
        .drop_duplicates("source")
        .itertuples()
    ):
        assert row.name in text
        assert row.licence in text
    assert "WOLF" not in text.split("Left out")[0]
    for source in manifest[manifest["licence"].str.contains("keep the notice|MIT")][
        "source"
    ]:
        assert source in text.split("# Notices")[1]


def test_select_keeps_named_languages_or_those_with_enough_classes():
    rows = [("de", "n1"), ("de", "n2"), ("sw", "n1")]
    table = pd.DataFrame(rows, columns=["lang", "wnid"]).assign(
        label="x", alternatives=[[]] * 3, source="", licence=""
    )
    assert labels.select(table, ["swa"])["lang"].tolist() == ["sw"]
    assert labels.select(table, [], minimum_classes=2)["lang"].tolist() == ["de", "de"]
    assert len(labels.select(table)) == 3
    with pytest.raises(InputError, match=r"nothing in French \('fr'\)"):
        labels.select(table, ["de", "fr"])
    with pytest.raises(InputError, match="3 classes or items, 2 at most"):
        labels.select(table, [], minimum_classes=3)


def test_a_more_exact_word_becomes_the_label_and_the_general_one_an_alternative():
    light, rows = (
        "n06874185",
        [
            ("en", "traffic light"),
            ("id", "cahaya"),
            ("id", "lampu lalu lintas"),
            ("id", "lampu"),
        ],
    )
    table = pd.DataFrame(
        [(lang, light, word, "wikt", "free") for lang, word in rows],
        columns=list(tables.SCHEMAS["senses"][0]),
    )
    made = labels.label_set(table, [light]).set_index("lang").loc["id"]
    assert (made["label"], list(made["alternatives"])) == (
        "lampu lalu lintas",
        ["cahaya", "lampu"],
    )
    assert (
        labels.label_set(table, [light], choice="first")
        .set_index("lang")
        .loc["id", "label"]
        == "cahaya"
    )


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
