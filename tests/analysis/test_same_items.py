"""How much lower a model scores than in English on the same items: by hand-made tables,
and by what ships.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from babelatlas.analysis import all_results, recommendation, same_items

ROW = {"board": "worldcuisines", "dataset": "worldcuisines", "model": "m"}


def means(lang: str, value: float, half: float = 0.1, n: int = 500) -> dict:
    ends = {"ci_low": value - half, "ci_high": value + half}
    return ROW | ends | {"lang": lang, "value": value, "n": n}


def items(values: list[float], english: list[float], lang: str = "sw") -> pd.DataFrame:
    rows = {"item": range(len(values)), "value": values, "english": english}
    return pd.DataFrame(rows).assign(**ROW, lang=lang)


def test_a_difference_of_means_has_newcombes_interval():
    table = pd.DataFrame([means("en", 0.8, 0.03), means("sw", 0.6, 0.04)])
    row = same_items.unpaired(table).iloc[0]
    assert row[["english", "value", "n_items"]].tolist() == [0.8, 0.6, 500]
    assert row["difference"] == pytest.approx(-0.2)
    assert row["ci_low"] == pytest.approx(-0.25)
    assert row["ci_high"] == pytest.approx(-0.15)


def test_another_number_of_items_in_english_is_no_comparison():
    table = pd.DataFrame([means("en", 0.8, n=600), means("sw", 0.6)])
    assert same_items.unpaired(table).empty


def test_without_an_english_result_of_the_same_model_there_is_none():
    table = pd.DataFrame([means("en", 0.8) | {"model": "other"}, means("sw", 0.6)])
    assert same_items.unpaired(table).empty


def test_a_paired_difference_has_the_interval_of_students_test():
    value, english = [0, 0, 1, 1, 0.5], [1, 0, 1, 1, 1]
    row = same_items.paired(items(value, english)).iloc[0]
    expected = stats.ttest_rel(value, english).confidence_interval()
    assert row["ci_low"] == pytest.approx(expected.low)
    assert row["ci_high"] == pytest.approx(expected.high)
    assert row["n_items"] == 5


def test_queries_about_one_item_do_not_count_as_several_items():
    table = items([0, 0, 1, 1, 0.5], [1, 0, 1, 1, 1])
    once = same_items.paired(table)
    twice = same_items.paired(pd.concat([table, table]))
    pd.testing.assert_frame_equal(once, twice)


def test_equal_differences_and_a_single_item_have_no_interval():
    for values in ([0, 0, 0], [0]):
        row = same_items.paired(items(values, [1] * len(values))).iloc[0]
        assert row["difference"] == -1
        assert np.isnan(row["ci_low"])
        assert np.isnan(row["ci_high"])


def test_classes_are_compared_among_the_largest_number_that_both_have():
    rows = [
        means("en", 0.5, n=100),
        means("en", 0.4, n=200),
        means("sw", 0.3, n=100),
        means("sw", 0.2, n=150),
    ]
    curves = pd.DataFrame(rows).rename(columns={"n": "n_classes"})
    curves = curves.assign(dataset=same_items.NOUNS)
    row = same_items.equal_classes(curves).iloc[0]
    assert row[["n_items", "english", "value"]].tolist() == [100, 0.5, 0.3]
    assert same_items.equal_classes(curves, least=101).empty


def test_captions_that_were_written_anew_are_left_out_and_the_rest_says_what_it_is():
    table = pd.concat(
        [same_items.paired(items([0, 1], [1, 1], lang)) for lang in ("ja", "de")],
        ignore_index=True,
    )
    table = same_items.with_notes(table.assign(dataset="xtd"))
    assert table["lang"].tolist() == ["de"]
    assert list(table) == same_items.COLUMNS
    assert table["over"].tolist() == ["captions"]
    assert table["note"].tolist() == ["captions translated by people"]


def test_the_best_open_model_stands_for_a_language_and_closed_ones_do_not_count():
    table = pd.concat(
        [
            same_items.paired(items(values, [1, 1, 1])).assign(model=name)
            for name, values in {"low": [0, 0, 1], "high": [0, 1, 1]}.items()
        ]
    )
    closed = table.assign(model="closed " + table["model"], value=1.0)
    table = same_items.with_notes(pd.concat([table, closed]))
    is_closed = table["model"].str.startswith("closed")
    table["weights"] = is_closed.map({True: "closed", False: "open"})
    row = same_items.best_models(table).iloc[0]
    assert row[["model", "models"]].tolist() == ["high", 2]
    assert row["median"] == pytest.approx(-0.5)


def test_what_ships_has_the_values_of_the_boards():
    table = same_items.differences()
    boards = pd.concat(all_results.by_language().values())
    boards = boards.rename(columns={"id": "board", "value": "on_board"})
    key = ["board", "lang", "model"]
    both = table.merge(boards[[*key, "on_board"]], on=key)
    assert len(both) == len(table)
    whole = both[both["dataset"] != same_items.NOUNS]  # nouns: among fewer classes
    np.testing.assert_allclose(whole["value"], whole["on_board"], atol=1e-9)


def test_what_ships_is_a_difference_within_its_interval():
    table = same_items.differences()
    difference = table["value"] - table["english"]
    np.testing.assert_allclose(table["difference"], difference, atol=1e-9)
    sure = table.dropna(subset="ci_low")
    assert sure["difference"].between(sure["ci_low"], sure["ci_high"]).all()
    assert {"sw", "yo", "te", "de"} <= {*table["lang"]}
    assert "en" not in {*table["lang"]}
    assert not table.duplicated(["board", "lang", "model"]).any()


def test_the_first_form_of_a_language_is_the_one_that_its_page_recommends_for():
    rows = same_items.best_models(same_items.differences())
    rows = rows[rows["dataset"] == "worldcuisines"].drop_duplicates("lang")
    for lang, board in zip(rows["lang"], rows["board"], strict=True):
        chosen = recommendation.of_language(lang, recommendation.ANSWERS)
        assert chosen["id"].iloc[0] == board
