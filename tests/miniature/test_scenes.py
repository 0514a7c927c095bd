"""Statements about pairs of drawings, and the words that they are made of."""

import pandas as pd
import pytest

from babelatlas.base import tables
from miniature import pictograms

WNIDS = sorted(pictograms.concepts()["wnid"])[:6]


def label_table(languages=("en", "de")):
    rows = [
        (lang, wnid, f"{lang} {number}", [f"{lang} other {number}"])
        for lang in languages
        for number, wnid in enumerate(WNIDS)
    ]
    table = pd.DataFrame(rows, columns=["lang", "wnid", "label", "alternatives"])
    return table


def word_table(rows):
    return pd.DataFrame(rows, columns=["lang", "wnid", "lemma"])


def test_a_dictionary_without_senses_may_take_any_sense_of_a_word_and_always_the_same():
    words = word_table(
        [
            ("en", "n1", "Star"),
            ("en", "n2", "star"),
            ("de", "n1", "Stern"),
            ("de", "n2", "Filmstar"),
        ]
    )
    taken = {
        pictograms.translator(words, "en", "de", seed)("star") for seed in range(30)
    }
    assert taken == {"Stern", "Filmstar"}
    translate = pictograms.translator(words, "en", "de", 3)
    assert (
        translate("star")
        == translate("STAR")
        == pictograms.translator(words, "en", "de", 3)("star")
    )
    assert translate("unknown") == "unknown"


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs")
    words = label_table().rename(columns={"label": "lemma"})[["lang", "wnid", "lemma"]]
    return folder, pictograms.statements(
        folder / "pairs.parquet", label_table(), words, ["en", "de"], 7, drawings=2
    )


def test_a_statement_has_four_pairs_two_of_them_true(pairs):
    folder, table = pairs
    table = tables.check(table, "pairs")
    by = table.groupby(["variant", "lang", "statement"])["truth"].agg(["size", "sum"])
    assert len(by) == 3 * 7
    assert (by["size"] == 4).all()
    assert (by["sum"] == 2).all()
    assert all(
        (folder / path).is_file() for path in pd.concat([table["left"], table["right"]])
    )


def test_a_statement_is_true_of_a_pair_exactly_if_the_pictures_show_the_two_things_it_lists(
    pairs,
):
    _, table = pairs
    known = label_table().query("lang == 'en'").set_index("wnid")["label"]
    for row in table[table["lang"] == "en"].itertuples():
        shown = {
            known[path.split("/")[1].rpartition("-")[0]]
            for path in (row.left, row.right)
        }
        assert row.truth == (shown == set(row.text.split(" and ")))


def test_all_languages_and_translations_show_the_same_pictures(pairs):
    _, table = pairs
    assert (
        len(table[["statement", "number", "left", "right", "truth"]].drop_duplicates())
        == 4 * 7
    )
