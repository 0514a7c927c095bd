import pandas as pd
import pytest

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.lexicon import labels, own_words

TENCH, GOLDFISH, CRANES = "n01440764", "n01443537", ("n02012849", "n03126707")


def written(tmp_path, text, name="words.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def label_set():
    rows = [
        (
            "de",
            TENCH,
            "Schleie",
            ["Schlei"],
            "wikt",
            "CC BY-SA 3.0",
            ["omw-deu"],
            False,
        ),
        ("de", GOLDFISH, "Goldfisch", [], "wikt", "CC BY-SA 3.0", [], False),
        ("en", TENCH, "tench", [], "wordnet-3.0", "WordNet", [], False),
        ("en", GOLDFISH, "goldfish", [], "wordnet-3.0", "WordNet", [], False),
    ]
    return pd.DataFrame(rows, columns=list(tables.SCHEMAS["labels"][0]))


def corrections(*rows, columns=("lang", "wnid", "label")):
    return pd.DataFrame(list(rows), columns=list(columns))


def test_own_senses_come_from_a_simple_table_with_the_names_of_classes(tmp_path):
    path = written(
        tmp_path,
        "lang,class,label\nger,Tench,Schleie\nde,goldfish,Goldfisch\nde,goldfish,Goldkarpfen\n",
    )

    found = own_words.read_senses(path)

    assert found.to_numpy().tolist() == [
        ["de", TENCH, "Schleie", "own", "not stated"],
        ["de", GOLDFISH, "Goldfisch", "own", "not stated"],
        ["de", GOLDFISH, "Goldkarpfen", "own", "not stated"],
    ]


def test_own_senses_become_labels_as_those_of_any_source(tmp_path):
    path = written(tmp_path, f"lang,wnid,lemma\nen,{TENCH},tench\nde,{TENCH},Schleie\n")

    made = labels.label_set(
        own_words.read_senses(path), [TENCH], english_names="wordnet"
    )

    assert made.set_index("lang")["label"].to_dict() == {"de": "Schleie", "en": "tench"}
    assert set(made["source"]) == {"own"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("lang,wnid\nde,n01440764\n", "should have a column lemma or label"),
        ("language,wnid,label\nde,n01440764,Schleie\n", "no column 'lang'"),
        (
            "lang,wnid,label\nde,n01440764,Schleie\nqqq,n01440764,x\n",
            r"words.csv, line 3: .*'qqq'",
        ),
        (
            "lang,class,label\nde,gold fisch,Goldfisch\n",
            "line 2 has the class 'gold fisch', .*did you mean goldfish",
        ),
        (
            "lang,class,label\nde,tench, \n",
            "line 2 has no word: write one, or delete the row.",
        ),
        (
            "lang,class,label\nde,tench,Schleie\nde,Tench,Schleie\n",
            "line 3 repeats a word of its class: delete it.",
        ),
    ],
)
def test_a_table_of_words_that_cannot_be_used_is_refused(tmp_path, text, reason):
    with pytest.raises(InputError, match=reason):
        own_words.read_senses(written(tmp_path, text))


def test_a_name_of_two_classes_asks_for_the_wnid(tmp_path):
    classes = written(
        tmp_path, "wnid,name\n{},crane\n{},crane\n".format(*CRANES), "classes.csv"
    )

    with pytest.raises(
        InputError, match="several: give the wnid, n02012849 or n03126707"
    ):
        own_words.read_senses(
            written(tmp_path, "lang,class,label\nde,crane,Kran\n"), str(classes)
        )


def test_corrections_replace_confirm_remove_and_add_labels():
    given = corrections(
        ("de", TENCH, "Schlei"),
        ("de", GOLDFISH, ""),
        ("en", TENCH, "tench"),
        ("fr", TENCH, "tanche"),
    )

    made = own_words.apply_corrections(label_set(), given)

    rows = made.set_index(["lang", "wnid"])
    assert rows["label"].to_dict() == {
        ("de", TENCH): "Schlei",
        ("en", TENCH): "tench",
        ("en", GOLDFISH): "goldfish",
        ("fr", TENCH): "tanche",
    }
    assert rows["source"].tolist() == [
        "verified",
        "wordnet-3.0",
        "wordnet-3.0",
        "verified",
    ]
    assert rows.loc[("de", TENCH), "alternatives"] == []
    assert rows.loc[("en", TENCH), "confirmed_by"] == ["verified"]


def test_a_label_set_of_a_part_of_the_classes_takes_the_corrections_that_are_of_it():
    # Judged in the whole list, in which tench had another word; goldfish had the one
    # that it has here.
    judged = [
        ("de", TENCH, "Schlei", "Karpfen"),
        ("de", GOLDFISH, "", "Goldfisch"),
        ("en", GOLDFISH, "", "fish"),
    ]
    judged += [("de", "n02084071", "Hund", ""), ("fr", GOLDFISH, "", "dorade")]
    given = own_words.of_part(
        corrections(*judged, columns=("lang", "wnid", "label", "was")), label_set()
    )
    assert given.to_numpy().tolist() == [["de", TENCH, "Schlei"], ["de", GOLDFISH, ""]]
    labels = own_words.apply_corrections(label_set(), given).set_index(
        ["lang", "wnid"]
    )["label"]
    assert labels.to_dict() == {
        ("de", TENCH): "Schlei",
        ("en", TENCH): "tench",
        ("en", GOLDFISH): "goldfish",
    }

    unjudged = corrections(
        ("de", GOLDFISH, ""), ("fr", TENCH, "")
    )  # without the labels that were judged
    assert own_words.of_part(unjudged, label_set()).to_numpy().tolist() == [
        ["de", GOLDFISH, ""]
    ]


def test_corrections_leave_the_label_set_that_they_are_given_as_it_was():
    table = label_set()

    own_words.apply_corrections(
        table, corrections(("de", TENCH, "Schlei"), ("en", TENCH, "tench"))
    )

    pd.testing.assert_frame_equal(table, label_set())


def test_a_corrected_label_that_another_class_has_is_marked_as_ambiguous():
    made = own_words.apply_corrections(
        label_set(), corrections(("de", TENCH, "goldfisch"))
    )

    assert made["ambiguous"].tolist() == [True, True, False, False]


@pytest.mark.parametrize(
    "row",
    [
        ("de", "n02084071", "Hund", ""),
        ("fr", TENCH, "", ""),
        ("de", TENCH, "Schlei", "Karpfen"),
    ],
)
def test_a_correction_that_does_not_fit_the_label_set_is_refused(row):
    with pytest.raises(InputError, match="use the set that was judged"):
        own_words.apply_corrections(
            label_set(), corrections(row, columns=("lang", "wnid", "label", "was"))
        )


def test_a_file_of_corrections_is_read_and_a_class_in_it_twice_refused(tmp_path):
    found = own_words.read_corrections(
        written(tmp_path, f"lang,wnid,label,was\nde,{TENCH},,Schleie\n")
    )
    assert found.to_dict("records") == [
        {"lang": "de", "wnid": TENCH, "label": "", "was": "Schleie"}
    ]

    twice = written(tmp_path, f"lang,wnid,label\nde,{TENCH},a\nde,{TENCH},b\n")
    with pytest.raises(InputError, match="line 3 corrects a class a second time"):
        own_words.read_corrections(twice)
