import pandas as pd
import pytest

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.base.synsets import class_list
from babelatlas.lexicon import labels, own_words

TENCH, GOLDFISH, CRANES = "n01440764", "n01443537", ("n02012849", "n03126707")


def written(tmp_path, text, name="words.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def label_set():
    rows = [
        ("de", TENCH, "Schleie", ["Schlei"], "wikt", "CC BY-SA 3.0", ["omw-deu"], False),
        ("de", GOLDFISH, "Goldfisch", [], "wikt", "CC BY-SA 3.0", [], False),
        ("en", TENCH, "tench", [], "wordnet-3.0", "WordNet", [], False),
        ("en", GOLDFISH, "goldfish", [], "wordnet-3.0", "WordNet", [], False),
    ]
    return pd.DataFrame(rows, columns=list(tables.SCHEMAS["labels"][0]))


def corrections(*rows, columns=("lang", "wnid", "label")):
    return pd.DataFrame(list(rows), columns=list(columns))


def test_own_senses_come_from_a_simple_table_with_the_names_of_classes(tmp_path):
    path = written(tmp_path, "lang,class,label\nger,Tench,Schleie\nde,goldfish,Goldfisch\nde,goldfish,Goldkarpfen\n")

    found = own_words.read_senses(path)

    assert found.to_numpy().tolist() == [
        ["de", TENCH, "Schleie", "own", "not stated"],
        ["de", GOLDFISH, "Goldfisch", "own", "not stated"],
        ["de", GOLDFISH, "Goldkarpfen", "own", "not stated"],
    ]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_own_senses_in_the_schema_come_back_as_they_are(tmp_path, ending):
    senses = pd.DataFrame(
        [("de", TENCH, "Schleie", "field notes", "CC0"), ("en", TENCH, "tench", "own", "not stated")],
        columns=list(tables.SCHEMAS["senses"][0]),
    )
    path = tmp_path / f"words.{ending}"
    senses.to_csv(path, index=False) if ending == "csv" else senses.to_parquet(path)

    pd.testing.assert_frame_equal(own_words.read_senses(path), senses, check_dtype=False)


def test_own_senses_become_labels_as_those_of_any_source(tmp_path):
    path = written(tmp_path, f"lang,wnid,lemma\nen,{TENCH},tench\nde,{TENCH},Schleie\n")

    made = labels.label_set(own_words.read_senses(path), [TENCH], english_names="wordnet")

    assert made.set_index("lang")["label"].to_dict() == {"de": "Schleie", "en": "tench"}
    assert set(made["source"]) == {"own"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lang,wnid\nde,n01440764\n", "should have a column 'lemma' or 'label' or 'word', but has 'lang', 'wnid'"),
        ("language,wnid,label\nde,n01440764,Schleie\n", "should have a column 'lang', but has 'language'"),
        ("lang,label\nde,Schleie\n", "should have a column 'wnid' or 'class' or 'name'"),
        ("lang,wnid,label\n", "has no rows below its heading: add words."),
        ("lang,wnid,label\nde,n01440764,Schleie\nqqq,n01440764,x\n", r"In words.csv, row 3: .*'qqq'"),
        ("lang,wnid,label\nde,1440764,Schleie\n", "row 2 has '1440764' where a wnid is expected, 'n' and eight digits"),
        ("lang,class,label\nde,gold fisch,Goldfisch\n", "row 2 has the class 'gold fisch', .*: did you mean goldfish"),
        ("lang,class,label\nde,tench, \n", "row 2 has no word: write one, or delete the row."),
        ("lang,class,label\nde,tench,Schleie\nde,Tench,Schleie\n", "row 3 repeats a word of its class: delete it."),
    ],
)
def test_a_table_of_words_that_cannot_be_used_is_refused_in_one_sentence(tmp_path, text, said):
    with pytest.raises(InputError, match=said) as caught:
        own_words.read_senses(written(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_a_name_of_two_classes_asks_for_the_wnid(tmp_path):
    classes = written(tmp_path, "wnid,name\n{},crane\n{},crane\n".format(*CRANES), "classes.csv")

    with pytest.raises(InputError, match="the name of n02012849 and n03126707: give the wnid"):
        own_words.read_senses(written(tmp_path, "lang,class,label\nde,crane,Kran\n"), str(classes))


@pytest.mark.parametrize("name", ["words.xlsx", "nowhere.csv"])
def test_a_file_that_is_no_table_or_not_there_is_named(tmp_path, name):
    with pytest.raises(InputError, match=f"There is no file of words .*{name}: give the path of a CSV or Parquet"):
        own_words.read_senses(tmp_path / name)


def test_corrections_replace_confirm_remove_and_add_labels_and_say_so():
    given = corrections(("de", TENCH, "Schlei"), ("de", GOLDFISH, ""), ("en", TENCH, "tench"), ("fr", TENCH, "tanche"))

    made, changes = own_words.apply_corrections(label_set(), given)

    rows = made.set_index(["lang", "wnid"])
    assert rows["label"].to_dict() == {
        ("de", TENCH): "Schlei", ("en", TENCH): "tench", ("en", GOLDFISH): "goldfish", ("fr", TENCH): "tanche",
    }  # fmt: skip
    assert rows["source"].tolist() == ["verified", "wordnet-3.0", "wordnet-3.0", "verified"]
    assert rows.loc[("de", TENCH), "alternatives"] == []
    assert rows.loc[("en", TENCH), "confirmed_by"] == ["verified"]
    assert changes["change"].tolist() == ["replaced", "removed", "confirmed", "added"]
    assert changes["before"].tolist() == ["Schleie", "Goldfisch", "tench", ""]
    assert changes["before_source"].tolist() == ["wikt", "wikt", "wordnet-3.0", ""]


def test_corrections_leave_the_label_set_that_they_are_given_as_it_was():
    table = label_set()

    own_words.apply_corrections(table, corrections(("de", TENCH, "Schlei"), ("en", TENCH, "tench")))

    pd.testing.assert_frame_equal(table, label_set())


def test_no_corrections_change_nothing():
    made, changes = own_words.apply_corrections(label_set(), corrections())

    pd.testing.assert_frame_equal(made, label_set())
    assert changes.empty


def test_a_corrected_label_that_another_class_has_is_marked_as_ambiguous():
    made, _ = own_words.apply_corrections(label_set(), corrections(("de", TENCH, "goldfisch")))

    assert made["ambiguous"].tolist() == [True, True, False, False]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            ("de", "n02084071", "Hund", ""),
            "is of a class that the label set has not: use the label set that was judged",
        ),
        (("fr", TENCH, "", ""), r"class n01440764 in French \(fr\) removes a label that is not there: delete the row"),
        (("de", TENCH, "Schlei", "Karpfen"), "is of the label 'Karpfen', and the label set has 'Schleie'"),
    ],
)
def test_a_correction_that_does_not_fit_the_label_set_is_refused(row, said):
    with pytest.raises(InputError, match=said):
        own_words.apply_corrections(label_set(), corrections(row, columns=("lang", "wnid", "label", "was")))


def test_a_file_of_corrections_is_read_and_a_class_in_it_twice_refused(tmp_path):
    found = own_words.read_corrections(written(tmp_path, f"lang,wnid,label,was\nde,{TENCH},,Schleie\n"))
    assert found.to_dict("records") == [{"lang": "de", "wnid": TENCH, "label": "", "was": "Schleie"}]

    twice = written(tmp_path, f"lang,wnid,label\nde,{TENCH},a\nde,{TENCH},b\n")
    with pytest.raises(InputError, match="row 3 corrects a class a second time"):
        own_words.read_corrections(twice)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name\ntench\n", "should have a column 'wnid', but has name"),
        ("wnid,name\ntench,tench\n", "has the wnid 'tench', expected 'n' and eight digits"),
        ("wnid\n", "has no rows below its heading: add classes"),
        ("wnid\nn01440764\nn01440764\n", "has n01440764 more than once: keep one row for each class"),
        ("", "has no rows below its heading: add classes"),
        ("wnid,name\nn01440764,\xe9\n", None),
    ],
)
def test_a_list_of_classes_from_a_file_is_read_or_refused_in_one_sentence(tmp_path, text, said):
    path = written(tmp_path, text, "classes.csv")
    if said is None:
        assert class_list(str(path)).to_dict("records") == [{"wnid": TENCH, "name": "\xe9"}]
        return
    with pytest.raises(InputError, match=said) as caught:
        class_list(str(path))
    assert "\n" not in str(caught.value)


def test_a_misspelt_name_of_a_class_list_gets_the_nearest():
    with pytest.raises(InputError, match="There is no class list 'pictogram': did you mean pictograms"):
        class_list("pictogram")
