"""The table of claims: what it may hold, and what it says where it may not."""

import pandas as pd
import pytest

from babelatlas import InputError, claims, scorecard

ROW = {
    "paper": "liu2021",
    "place": "Table 1",
    "cell": "ID | accuracy",
    "block": "cells",
    "relation": "=",
    "printed": ".5",
    "unit": "fraction",
    "definitions": "mean",
    "note": "",
}


def written(tmp_path, *changes):
    path = tmp_path / "claims.csv"
    pd.DataFrame([ROW | {"printed": "0.5"} | change for change in changes]).to_csv(path, index=False)
    return path


def mean(value, slack=0.0):
    return lambda folders: pd.DataFrame({"cell": ["ID | accuracy"], "value": [value], "slack": [slack]})


def known(**definitions):
    return {
        ("liu2021", name.replace("_", " ")): scorecard.Definition("liu2021", name.replace("_", " "), "A mean.", *given)
        for name, given in definitions.items()
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"printed": "12.6x"}, r"'12.6x' is no number: .*claims.csv, line 2, liu2021, Table 1"),
        ({"relation": "about"}, "relation 'about' is not one of"),
        ({"definitions": ""}, "needs a note that says what is missing"),
        ({"cell": ""}, "needs a paper, a place, a cell and a block"),
    ],
)
def test_a_claim_that_cannot_be_read_is_refused_with_its_line(tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        claims.read(written(tmp_path, change))


def test_a_cell_given_twice_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"Table 1, ID \| accuracy is given twice .*line 3"):
        claims.read(written(tmp_path, {}, {}))


def test_a_block_has_one_set_of_definitions(tmp_path):
    with pytest.raises(InputError, match="name different definitions"):
        claims.read(written(tmp_path, {}, {"cell": "SW | accuracy", "definitions": "other"}))


def test_a_file_that_is_absent_or_lacks_a_column_is_named(tmp_path):
    with pytest.raises(InputError, match="There is no table of claims"):
        claims.read(tmp_path / "none.csv")
    (tmp_path / "short.csv").write_text("paper,place\n")
    with pytest.raises(InputError, match="should have the columns paper, place, cell"):
        claims.read(tmp_path / "short.csv")


def test_an_unknown_definition_is_refused_with_the_nearest_one(tmp_path):
    table = claims.read(written(tmp_path, {"definitions": "maen"}))
    with pytest.raises(InputError, match="unknown definition 'maen': did you mean mean"):
        scorecard.recompute(table, {}, known(mean=[mean(0.5)]))


def test_the_claims_that_ship_are_read_and_their_definitions_known():
    table = claims.read()
    claims.check_definitions(table, scorecard.definitions())
    assert set(table["paper"]) <= {"geigle2024", "thapliyal2022", "kashanimotlagh2024", "cocosm2023", "liu2021"}


def test_a_definition_that_meets_more_of_a_block_than_the_stated_one_is_taken_and_said(tmp_path):
    table = claims.read(written(tmp_path, {"definitions": "mean; other mean"}))
    card = scorecard.recompute(table, {}, known(mean=[mean(0.7)], other_mean=[mean(0.52)]))
    assert card.loc[0, ["status", "definition", "basis", "tried"]].tolist() == ["equal", "other mean", "other", 2]
    card = scorecard.recompute(table, {}, known(mean=[mean(0.46)], other_mean=[mean(0.52)]))
    assert card.loc[0, ["status", "definition", "basis", "others"]].tolist() == [
        "equal",
        "mean",
        "stated",
        "other mean",
    ]
    assert scorecard.summary(card).iloc[0][["other definition", "chosen"]].tolist() == [0, 0]


def test_where_the_paper_states_no_definition_the_best_of_several_is_counted_apart(tmp_path):
    table = claims.read(written(tmp_path, {"definitions": "; mean; other mean"}))
    card = scorecard.recompute(table, {}, known(mean=[mean(0.7)], other_mean=[mean(0.52)]))
    assert card.loc[0, ["status", "definition", "basis", "tried"]].tolist() == ["equal", "other mean", "silent", 2]
    assert scorecard.summary(card).iloc[0][["other definition", "chosen"]].tolist() == [0, 1]


def test_a_number_that_rounding_can_explain_is_within_rounding(tmp_path):
    table = claims.read(written(tmp_path, {}))
    for slack, status in ((0.0, "different"), (0.005, "different"), (0.02, "within rounding")):
        card = scorecard.recompute(table, {}, known(mean=[mean(0.56, slack)]))
        assert card["status"].tolist() == [status]


def test_a_source_that_is_absent_is_said_and_the_rest_goes_on(tmp_path):
    table = claims.read(written(tmp_path, {}, {"cell": "SW | accuracy", "block": "rest", "definitions": "far"}))
    far = known(mean=[mean(0.5)]) | known(far=[mean(0.5), ("marvl",)])
    card = scorecard.recompute(table, {}, far)
    assert card["status"].tolist() == ["equal", "not recomputable"]
    assert "marvl-challenge" in card["missing"][1]


def test_a_relation_is_met_or_not():
    assert scorecard.status("2", ">", 2.1, 0) == "equal"
    assert scorecard.status("2", ">", 2.0, 0) == "different"
    assert scorecard.status("2", "≥", 2.0, 0) == "equal"
    assert scorecard.status("5", "≤", 5.1, 0.2) == "within rounding"


def test_a_summary_counts_every_status(tmp_path):
    table = claims.read(
        written(tmp_path, {}, {"cell": "b", "block": "b", "definitions": "", "note": "The images are missing."})
    )
    card = scorecard.recompute(table, {}, known(mean=[mean(0.5)]))
    found = scorecard.summary(card).iloc[0]
    assert found[list(scorecard.STATUSES)].tolist() == [1, 0, 0, 1]
    assert found["followed"] == 1
    assert card["missing"][1] == "The images are missing."


def test_what_only_passed_a_test_is_counted_apart(tmp_path):
    table = claims.read(written(tmp_path, {"definitions": "nearest share of 10"}))
    given = known(**{"nearest_share_of_10": [mean(0.5)]})
    found = scorecard.summary(scorecard.recompute(table, {}, given)).iloc[0]
    assert found[["equal", "only tested"]].tolist() == [1, 1]
    assert pd.isna(found["followed"])
    refuted = scorecard.recompute(table, {}, known(**{"nearest_share_of_10": [mean(0.7)]}))
    assert scorecard.summary(refuted).iloc[0][["different", "only tested", "followed"]].tolist() == [1, 0, 0.0]


def test_every_erratum_says_whether_it_matters_and_on_what_it_rests():
    found = scorecard.errata()
    assert set(found["kind"]) == {"follows", "inference"}
    assert set(found["sort"]) == {"inconsistency", "remark"}
    assert set(found["paper"]) <= set(scorecard.PAPERS)
    assert found["conclusion"].str.match(r"(No|Yes|In part)\b").all(), found["conclusion"].tolist()
    assert (found[["place", "finding", "evidence", "corrected"]] != "").all(axis=None)
    assert (
        not found[["finding", "evidence", "corrected", "conclusion"]]
        .apply(lambda texts: texts.str.contains("nan"))
        .any(axis=None)
    )


def test_the_command_prints_counts_or_claims_and_refuses_in_one_sentence(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(scorecard, "definitions", lambda: known(mean=[mean(0.7)]))
    path = str(written(tmp_path, {}))
    assert scorecard.main([path]) == 0
    assert "liu2021 Table 1" in capsys.readouterr().out
    assert scorecard.main([path, "--status", "different"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("liu2021,Table 1,ID | accuracy,cells,=,0.5")
    assert scorecard.main([path, "--status", "diferent"]) == 1
    assert capsys.readouterr().err == "There is no status 'diferent': did you mean different?\n"
    assert scorecard.main(["none.csv"]) == 1
    assert "There is no table of claims" in capsys.readouterr().err
    assert scorecard.main([path, "--sources", str(tmp_path / "nowhere")]) == 1
    assert "There is no folder" in capsys.readouterr().err
