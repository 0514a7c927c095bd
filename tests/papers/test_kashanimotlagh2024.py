"""CoMMuTE: the printed scores as claims, the identities between them, and what the files hold."""

import pandas as pd
import pytest

from babelatlas.base import published
from babelatlas.datasets import commute
from babelatlas.papers import claims, kashanimotlagh2024, scorecard
from babelatlas.workflow import command_line
from claim_tables import PLAIN
from conftest import ROOT

FILE = ROOT / "lib" / "babelatlas" / "data" / "claims" / "kashanimotlagh2024.csv"


@pytest.fixture(scope="module")
def table():
    return claims.read(FILE)


@pytest.fixture(scope="module")
def card(table):
    known = {(one.paper, one.name): one for one in kashanimotlagh2024.DEFINITIONS}
    return scorecard.recompute(table, {}, known)


def test_the_claims_of_the_tables_are_the_published_cells_in_their_order(table):
    data = published.read("kashanimotlagh2024")
    for number, rows in data.groupby("table"):
        found = table[table["place"] == f"Table {number}"]
        assert found["printed"].map(claims.value).tolist() == rows["value"].tolist()
        assert found["cell"].str.split(" | ", regex=False).str[0].tolist() == rows["model"].tolist()
        metrics = rows["metric"].str.removeprefix("IoU ").replace("replacement rate", "RR")
        assert found["cell"].str.split().str[-1].tolist() == metrics.tolist()
    assert table["printed"].str.len().le(4).all()


def test_what_becomes_of_each_place(card):
    found = scorecard.summary(card, ["place"]).set_index("place")
    counts = found[PLAIN].T.to_dict("list")
    assert counts == {
        "Table 1": [29, 1, 0, 6],
        "Table 2": [0, 0, 0, 12],
        "Table 3": [0, 0, 0, 6],
        "Table 4": [0, 0, 0, 36],
        "Table 5": [0, 0, 0, 12],
        "Table 6": [0, 0, 0, 12],
        "Section 3": [4, 0, 1, 0],
        "Section 5.1": [0, 0, 0, 3],
        "Section 5.2": [3, 0, 0, 0],
        "Section 5.3": [5, 0, 0, 0],
        "Section 5.4": [4, 1, 0, 0],
        "Section 5.5": [3, 0, 0, 1],
    }
    assert card.loc[card["status"] == "different", "cell"].tolist() == ["ambiguous sentences, German"]
    assert found["only tested"][found["only tested"] > 0].to_dict() == {
        "Table 1": 12,
        "Section 5.3": 3,
        "Section 5.4": 4,
        "Section 5.5": 2,
    }


def test_cells_of_table_1_are_computed_from_the_others_as_by_hand(card):
    # VGAMT prints IPR 0.13, INR 0.00, CPR 0.50, CNR 0.37, TC 0.63.
    found = card[card["place"] == "Table 1"].set_index("cell")["recomputed"]
    by_hand = {"IPR": 0.5 - 0.37, "INR": 0.5 - 0.5, "CPR": 0.5 - 0.0, "CNR": 0.5 - 0.13, "Mean TC": 0.13 + 0.5}
    for name, value in by_hand.items():
        assert found[f"VGAMT | {name}"] == pytest.approx(value)


def test_a_model_that_does_not_see_images_has_the_scores_of_the_text(card):
    found = card[card["cell"].str.startswith("text-only")].set_index("cell")["recomputed"]
    assert set(found["text-only model | TC"]) == {0.5}
    assert found["text-only model | GTC"] == 0


def test_the_errata_say_what_the_numbers_show():
    found = kashanimotlagh2024.errata()
    assert found["place"].tolist() == ["Section 3", "Section 5.3", "Section 5.5"]
    assert "French 154, German 150, Czech 154; 149 are in all three" in found["evidence"][0]
    assert "INR of VGAMT 0.00, of CLIP-Trans 0.00, where rounding can hide a difference" in found["evidence"][1]
    assert "Gated Fusion 0.75 0.01 to 0.05" in found["evidence"][1]
    assert "0.12 in TC (Gated Fusion 0.25)" in found["corrected"][2]
    assert found["conclusion"].str.match("(Yes|No|In part)[.:,]").all()


def test_what_follows_as_inconsistent_is_at_no_claim_that_is_met(card):
    found = kashanimotlagh2024.errata()
    assert set(found["sort"]) == {"inconsistency", "remark"}
    assert set(found["cells"].explode().dropna()) <= set(card["cell"])
    for row in found[(found["sort"] == "inconsistency") & (found["kind"] == "follows")].itertuples():
        assert "equal" not in set(card.loc[card["cell"].isin(row.cells), "status"]), row.finding


def test_the_counts_that_ship_are_those_of_the_files(mirror, tmp_path, monkeypatch):
    path = tmp_path / "counts.csv"
    shipped = kashanimotlagh2024.commute_counts()
    monkeypatch.setattr(kashanimotlagh2024, "COUNTS", path)
    assert command_line.main(["ship", "kashanimotlagh2024", "--folder", str(mirror / "commute")]) == 0
    again = pd.read_csv(path)
    pd.testing.assert_frame_equal(again, shipped)
    lines = {
        lang: (mirror / "commute" / f"en-{lang}" / commute.IMAGES).read_text("utf-8").split() for lang in again["lang"]
    }
    assert again["items"].tolist() == [len(names) // 2 for names in lines.values()]
    assert again["images"].tolist() == [len(set(names)) for names in lines.values()]


def test_a_folder_without_the_files_is_named(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(kashanimotlagh2024, "COUNTS", tmp_path / "counts.csv")
    assert command_line.main(["ship", "kashanimotlagh2024", "--folder", str(tmp_path)]) == 1
    assert "should lie in folders such as en-fr" in capsys.readouterr().err
    assert not (tmp_path / "counts.csv").exists()
