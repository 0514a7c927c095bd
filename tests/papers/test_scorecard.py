"""The scorecard: which definition explains a block, what becomes of a claim, what is said where sources are missing."""

import pandas as pd
import pytest

from babelatlas.base.errors import InputError
from babelatlas.papers import claims, scorecard
from babelatlas.workflow import command_line
from claim_tables import known, mean, written


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


def test_of_definitions_that_meet_as_many_cells_the_stated_one_is_taken_unless_it_gives_none(tmp_path):
    table = claims.read(
        written(
            tmp_path, {"definitions": "mean; other mean"}, {"cell": "SW | accuracy", "definitions": "mean; other mean"}
        )
    )
    both = pd.DataFrame({"cell": ["ID | accuracy", "SW | accuracy"], "value": [0.52, 0.9], "slack": 0.0})
    given = known(mean=[mean(0.48)]) | known(other_mean=[lambda folders: both])
    assert scorecard.recompute(table, {}, given)["definition"].tolist() == ["mean", ""]
    given |= known(mean=[lambda folders: both.iloc[:0]])
    assert scorecard.recompute(table, {}, given)["definition"].tolist() == ["other mean", "other mean"]
    worse = known(mean=[lambda folders: both.assign(value=[0.9, 0.9])]) | known(other_mean=[mean(0.48)])
    assert scorecard.recompute(table, {}, worse)["definition"].tolist() == ["other mean", ""]


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
    assert found[["computed", "followed"]].tolist() == [1, 1]
    assert card["missing"][1] == "The images are missing."


def test_what_only_passed_a_test_is_counted_apart(tmp_path):
    table = claims.read(written(tmp_path, {"definitions": "nearest share of 10"}))
    given = known(**{"nearest_share_of_10": [mean(0.5)]})
    found = scorecard.summary(scorecard.recompute(table, {}, given)).iloc[0]
    assert found[["equal", "only tested"]].tolist() == [1, 1]
    assert pd.isna(found["followed"])
    refuted = scorecard.recompute(table, {}, known(**{"nearest_share_of_10": [mean(0.7)]}))
    found = scorecard.summary(refuted).iloc[0]
    assert found[["different", "only tested", "refuted", "computed"]].tolist() == [1, 0, 1, 0]
    assert pd.isna(found["followed"])


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
    assert command_line.main(["scorecard", path]) == 0
    assert "liu2021 Table 1" in capsys.readouterr().out
    assert command_line.main(["scorecard", path, "--status", "different"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("liu2021,Table 1,ID | accuracy,cells,=,0.5")
    assert command_line.main(["scorecard", path, "--status", "diferent"]) == 1
    assert capsys.readouterr().err == "There is no status 'diferent': did you mean different?\n"
    assert command_line.main(["scorecard", "none.csv"]) == 1
    assert "There is no table of claims" in capsys.readouterr().err
    assert command_line.main(["scorecard", path, "--sources", str(tmp_path / "nowhere")]) == 1
    assert "There is no folder" in capsys.readouterr().err
