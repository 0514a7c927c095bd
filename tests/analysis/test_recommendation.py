"""One recommendation for each language, task and use."""

import pandas as pd
import pytest

from babelatlas.analysis import recommendation
from babelatlas.analysis.verdicts import HALF, verdicts
from babelatlas.base import licences

RECOMMENDED = recommendation.RECOMMENDED


@pytest.fixture(scope="module")
def table():
    return recommendation.recommendations()


def test_each_language_task_and_use_has_one_row(table):
    keys = ["lang", "task", "use"]
    assert not table.duplicated(keys).any()
    uses = table.groupby(["lang", "task"])["use"].agg(list)
    assert all(found == list(recommendation.USES) for found in uses)


def test_only_a_usable_model_is_recommended(table):
    chosen = table[table["state"] == RECOMMENDED]
    assert (chosen["share_low"] >= HALF).all()
    assert (chosen["verdict"] == "usable").all()
    nearest = table[table["state"] == recommendation.NONE_USABLE]
    assert (nearest["verdict"] != "usable").all()


def test_a_recommended_model_fits_its_use(table):
    chosen = table[table["state"] == RECOMMENDED].set_index("use")
    assert licences.commercial(chosen.loc[recommendation.COMMERCIAL, "licence"]).all()
    small = chosen.loc[recommendation.SMALL, "parameters_m"]
    assert (small < recommendation.MOST_PARAMETERS).all()
    assert (chosen.loc[recommendation.NEWEST, "release_date"] != "").all()
    both = chosen.loc[recommendation.COMMERCIAL_SMALL]
    assert licences.commercial(both["licence"]).all()
    assert (both["parameters_m"] < recommendation.MOST_PARAMETERS).all()


def test_the_newest_usable_model_is_not_older_than_the_recommended_one(table):
    chosen = table[table["state"] == RECOMMENDED]
    dates = chosen.pivot(index=["lang", "task"], columns="use", values="release_date")
    dated = dates[dates[recommendation.ANY].fillna("") != ""]
    assert (dated[recommendation.NEWEST] >= dated[recommendation.ANY]).all()


def test_where_the_book_calls_a_language_usable_the_same_model_is_recommended(table):
    judged = verdicts()
    judged = judged[judged["verdict"] == "usable"]
    any_use = table[table["use"] == recommendation.ANY]
    chosen = any_use.set_index(["lang", "id"])
    for lang, row in judged.iterrows():
        found = chosen.loc[(lang, row["id"])]
        assert found["state"] == RECOMMENDED
        assert (found["model"], found["value"]) == (row["model"], row["value"])


def test_no_commercially_licensed_model_is_usable_in_telugu():
    rows = recommendation.of_language("te", recommendation.SEARCH)
    row = rows[rows["use"] == recommendation.COMMERCIAL].iloc[0]
    text = recommendation.sentence(row)
    assert text.startswith("No commercially licensed model is usable in Telugu (near")
    assert recommendation.model_text(row).startswith("none is usable (nearest: M-CLIP")


def test_where_nothing_is_recommended_a_reader_sees_one_row_of_a_task():
    rows = recommendation.to_show("ha")
    assert rows["state"].tolist() == [recommendation.NOT_DECIDED]
    assert recommendation.to_show("xx").empty


def test_models_that_do_not_differ_are_named_and_many_are_counted():
    rows = recommendation.of_language("yo", recommendation.ANSWERS)
    assert rows["alike"].iloc[0] == ["Qwen2-VL 72B"]
    text = recommendation.model_text(rows.iloc[0])
    assert text.endswith(", or Qwen2-VL 72B (no significant difference)")
    assert recommendation.alike_text([]) == ""


@pytest.mark.parametrize(
    ("lang", "verdict", "words"),
    [
        ("yo", "usable", "2,000 questions about dishes"),
        ("te", "borderline", "980 exam questions"),
        ("ja", "usable", "questions about dishes"),
        ("sw", "not decided", "VizWiz"),
        ("ha", "not decided", "no generative model has a released result in Hausa"),
    ],
)
def test_whether_a_generative_model_is_usable_has_an_answer(lang, verdict, words):
    state, text = recommendation.generative_verdict(lang)
    assert state == verdict
    assert words in text
    assert "nan" not in text.split()


def test_no_text_of_a_recommendation_has_a_gap(table):
    for row in table.sample(200, random_state=0).itertuples(index=False):
        row = pd.Series(row._asdict())
        text = recommendation.sentence(row)
        assert "nan" not in text
        assert text.endswith(".")
