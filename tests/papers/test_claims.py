"""The table of claims: what it may hold, and what it says where it may not."""

import pandas as pd
import pytest

from babelatlas.base import published
from babelatlas.base.errors import InputError
from babelatlas.papers import claims, definitions, scorecard
from claim_tables import written


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
    (tmp_path / "short.csv").write_text("paper,place\na,b\n")
    with pytest.raises(InputError, match="should have the columns paper, place, cell"):
        claims.read(tmp_path / "short.csv")


def shipped(folder):
    return {path.stem: pd.read_csv(path, dtype=str, keep_default_na=False) for path in sorted(folder.glob("*.csv"))}


def test_a_printed_value_stands_in_the_claims_or_in_the_published_table_but_not_in_both():
    claimed, found = shipped(published.CLAIMS), 0
    for name, table in shipped(published.FOLDER).items():
        if "cell" not in table:
            assert name.replace("-", "_") not in claimed
            continue
        named = table["cell"] != ""
        assert ((table["value"] == "") == named).all(), name
        assert not table[named].duplicated(["table", "cell"]).any(), name
        # What has a value is of no place that is claimed: reports that were released, and marks without a number.
        places = set(claimed[name.replace("-", "_")]["place"])
        rest = table[~named & (table["metric"] != "taught")]
        assert places.isdisjoint(rest["table"]), name
        assert places.isdisjoint("Table " + rest["table"]), name
        found += named.sum()
    assert found == 3392


def test_a_published_row_that_names_no_claim_is_refused(tmp_path, monkeypatch):
    table = shipped(published.FOLDER)["liu2021"].head(2)
    table["cell"] = ["zero-shot, mUNITER | EN, accuracy", "no such cell"]
    table.to_csv(tmp_path / "liu2021.csv", index=False)
    monkeypatch.setattr(published, "FOLDER", tmp_path)
    with pytest.raises(InputError, match=r"'no such cell' of Table 4, which liu2021.csv does not claim"):
        published.read("liu2021")


def test_claims_name_definitions_by_ids_and_every_definition_is_named():
    named = set()
    for table in shipped(published.CLAIMS).values():
        for paper, ids in set(zip(table["paper"], table["definitions"], strict=True)):
            named |= {(paper, one) for one in claims.names(ids)}
    known = {(paper, one) for paper in scorecard.PAPERS for one in definitions.names(paper)}
    assert named == known
    texts = [(paper, name) for paper in scorecard.PAPERS for name in definitions.names(paper).values()]
    assert len(texts) == len(set(texts))


def test_a_misspelt_id_is_refused_with_the_nearest_one(tmp_path):
    table = claims.read(written(tmp_path, {"definitions": "share-of-labls"}))
    with pytest.raises(InputError, match="unknown definition 'share-of-labls': did you mean share-of-labels"):
        claims.check_definitions(table, scorecard.definitions())


def test_a_number_is_read_as_it_is_printed():
    printed = ["12.67", "1'452", "−3.5", "+14.4", "260,646", ".96"]
    assert [claims.value(text) for text in printed] == [12.67, 1452.0, -3.5, 14.4, 260646.0, 0.96]
