"""CoMMuTE: the printed scores as claims, the identities between them, and what the
files hold.
"""

import pytest

from babelatlas.base import published
from papercheck import claims


def test_the_claims_of_the_tables_are_the_published_cells_in_their_order(table):
    data = published.read("kashanimotlagh2024")
    for number, rows in data.groupby("table"):
        found = table[table["place"] == f"Table {number}"]
        assert found["printed"].map(claims.value).tolist() == rows["value"].tolist()
        assert (
            found["cell"].str.split(" | ", regex=False).str[0].tolist()
            == rows["model"].tolist()
        )
        metrics = (
            rows["metric"].str.removeprefix("IoU ").replace("replacement rate", "RR")
        )
        assert found["cell"].str.split().str[-1].tolist() == metrics.tolist()
    assert table["printed"].str.len().le(4).all()


def test_cells_of_table_1_are_computed_from_the_others_as_by_hand(card):
    # VGAMT prints IPR 0.13, INR 0.00, CPR 0.50, CNR 0.37, TC 0.63.
    found = card[card["place"] == "Table 1"].set_index("cell")["recomputed"]
    by_hand = {
        "IPR": 0.5 - 0.37,
        "INR": 0.5 - 0.5,
        "CPR": 0.5 - 0.0,
        "CNR": 0.5 - 0.13,
        "Mean TC": 0.13 + 0.5,
    }
    for name, value in by_hand.items():
        assert found[f"VGAMT | {name}"] == pytest.approx(value)


def test_a_model_that_does_not_see_images_has_the_scores_of_the_text(card):
    found = card[card["cell"].str.startswith("text-only")].set_index("cell")[
        "recomputed"
    ]
    assert set(found["text-only model | TC"]) == {0.5}
    assert found["text-only model | GTC"] == 0
