"""The table of claims: what it may hold, and what it says where it may not."""

import pandas as pd

from babelatlas.base import published
from papercheck import claims, definitions, scorecard


def shipped(folder):
    return {
        path.stem: pd.read_csv(path, dtype=str, keep_default_na=False)
        for path in sorted(folder.glob("*.csv"))
    }


def test_a_printed_value_stands_in_the_claims_or_in_the_published_table_but_not_in_both():
    claimed, found = shipped(published.CLAIMS), 0
    for name, table in shipped(published.FOLDER).items():
        if "cell" not in table:
            assert name.replace("-", "_") not in claimed
            continue
        named = table["cell"] != ""
        assert ((table["value"] == "") == named).all(), name
        assert not table[named].duplicated(["table", "cell"]).any(), name
        # What has a value is of no place that is claimed: reports that were released,
        # and marks without a number.
        places = set(claimed[name.replace("-", "_")]["place"])
        rest = table[~named & (table["metric"] != "taught")]
        assert places.isdisjoint(rest["table"]), name
        assert places.isdisjoint("Table " + rest["table"]), name
        found += named.sum()
    assert found == 3392


def test_claims_name_definitions_by_ids_and_every_definition_is_named():
    named = set()
    for table in shipped(published.CLAIMS).values():
        for paper, ids in set(zip(table["paper"], table["definitions"], strict=True)):
            named |= {(paper, one) for one in claims.names(ids)}
    known = {
        (paper, one) for paper in scorecard.PAPERS for one in definitions.names(paper)
    }
    assert named == known
    texts = [
        (paper, name)
        for paper in scorecard.PAPERS
        for name in definitions.names(paper).values()
    ]
    assert len(texts) == len(set(texts))
