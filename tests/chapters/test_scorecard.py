"""Tests of what the page on the scorecard says of claims and inconsistencies."""

import pandas as pd
import pytest

import babelatlas as ba
from atlas_study.chapters import scorecard


@pytest.fixture(scope="module")
def claims() -> pd.DataFrame:
    return scorecard.claims()


def errata(**columns: str) -> pd.DataFrame:
    facts = {
        "paper": "liu2021",
        "place": "Table 1",
        "finding": "A sum is wrong.",
        "evidence": "It is 3.",
        "corrected": "3",
        "later": "",
        "conclusion": "No: nobody cites it.",
        "kind": "follows",
        "sort": "inconsistency",
        "edition": "version 1",
    }
    return pd.DataFrame([facts | columns])


def test_each_claim_of_the_table_that_ships_has_one_result(claims):
    assert len(claims) == len(ba.load("scorecard"))
    assert set(claims["result"]) <= set(scorecard.RESULTS)
    assert list(claims["paper"].unique()) == [
        title.partition(" (")[0] for title in scorecard.PAPERS.values()
    ]


def test_only_what_is_equal_or_within_rounding_is_reproduced(claims):
    assert set(claims.loc[claims["is_reproduced"], "status"]) == {
        "equal",
        "within rounding",
    }
    assert (claims.loc[~claims["is_checked"], "recomputed"] == "–").all()


def test_a_number_has_two_digits_more_than_the_reported_one_and_a_true_minus(
    monkeypatch,
):
    table = ba.load("scorecard").head(3)
    table["printed"] = ["-1.5", "12", "0.3"]
    table["recomputed"] = [-1.4567, 1200.0, float("nan")]
    monkeypatch.setattr(ba, "load", lambda name: table, raising=False)
    claims = scorecard.claims()
    assert claims["reported"].tolist() == ["−1.5", "12", "0.3"]
    assert claims["recomputed"].tolist() == ["−1.457", "1,200", "–"]


def test_the_last_row_of_the_results_sums_all_papers(claims):
    results = scorecard.results_by_paper(claims)
    numbers = results[["in part", "different", "not checked"]].astype(int)
    assert numbers.loc["all"].tolist() == numbers.drop(index="all").sum().tolist()
    n_recomputed = (claims["kind"] == "recomputation").sum()
    assert results.loc["all", "recomputed"].endswith(f" of {n_recomputed:,}")


def test_shares_of_a_place_add_up_and_small_places_are_one_row(claims):
    shares = scorecard.shares_by_place(claims)
    totals = shares.groupby(["paper", "row"])["value"].sum()
    assert totals.tolist() == pytest.approx([1.0] * len(totals))
    named = shares[~shares["row"].str.startswith("other places")]
    assert named["claims"].min() >= scorecard.LEAST_CLAIMS
    assert shares["count"].sum() == len(claims)


def test_definitions_are_counted_for_recomputed_claims_only(claims):
    split, blocks = scorecard.definitions_used(claims)
    assert split.to_numpy().sum() == (claims["kind"] == "recomputation").sum()
    assert (blocks["met"] > 0).all()
    assert (blocks["met"] <= blocks["claims"]).all()
    assert (blocks["definitions tried"] > 1).all()


def test_every_claim_that_cannot_be_checked_has_its_reason(claims):
    reasons = scorecard.missing_reasons(claims)
    assert reasons["claims"].sum() == (~claims["is_checked"]).sum()
    assert (reasons["reason"] != "").all()


def test_papers_with_more_overturned_conclusions_come_first():
    table = pd.concat(
        [
            errata(),
            errata(paper="cocosm2023", conclusion="In part: a mean is lower."),
            errata(paper="cocosm2023", conclusion="Yes: the order is reversed."),
            errata(sort="remark"),
        ]
    )
    ordered = scorecard.inconsistencies(table)
    assert ordered["paper"].tolist() == ["cocosm2023", "cocosm2023", "liu2021"]
    assert ordered["overturns"].tolist() == [True, False, False]
    assert ordered["weakens"].tolist() == [False, True, False]


def test_an_entry_names_another_version_only_if_there_is_one():
    table = scorecard.inconsistencies(
        pd.concat([errata(), errata(place="Table 2", later="Version 2 says 3.")])
    )
    text = scorecard.list_by_paper(table, empty="", heading="####")
    assert text.startswith("#### MaRVL (Liu et al. 2021)\n\n**Table 1.** A sum is")
    assert text.count("- *Another version of the paper*: Version 2 says 3.") == 1
    assert "- *Evidence* (from reported or released numbers alone): It is 3." in text


def test_no_inconsistency_has_a_sentence():
    none = scorecard.inconsistencies(errata(sort="remark"))
    assert scorecard.list_by_paper(none, "There are none.", "###") == "There are none."


def test_remarks_are_a_list_with_the_paper_in_bold():
    text = scorecard.list_remarks(errata(sort="remark", later="See version 2."))
    assert text == (
        "- **MaRVL (Liu et al. 2021)**, Table 1 A sum is wrong. It is 3."
        " No: nobody cites it. See version 2."
    )
