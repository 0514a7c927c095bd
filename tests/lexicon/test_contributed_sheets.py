"""Sheets of labels that speakers have sent: valid, and with their origin."""

import pandas as pd
import pytest

from babelatlas.analysis import coverage
from babelatlas.base.errors import InputError
from babelatlas.lexicon import contributed_sheets, label_sheets, labels


@pytest.fixture
def sheet() -> pd.DataFrame:
    rows = label_sheets.sheet(labels.shipped(), "sw", coverage.synsets(), number=3)
    rows.loc[[0, 1], "verdict"] = ["right", "wrong"]
    return rows


def test_the_sheets_that_ship_are_valid_and_name_who_filled_them_in():
    table = contributed_sheets.read()
    assert list(table) == contributed_sheets.COLUMNS
    assert (table["origin"] != "").all()


def test_a_sheet_counts_with_what_was_judged(sheet, tmp_path):
    sheet.assign(origin="Juma").to_csv(tmp_path / "sw.csv", index=False)
    table = contributed_sheets.read(tmp_path)
    assert table["verdict"].tolist() == ["right", "wrong"]
    assert table[["lang", "origin"]].drop_duplicates().to_numpy().tolist() == [
        ["sw", "Juma"]
    ]


def test_a_sheet_without_one_name_is_refused(sheet, tmp_path):
    for names in (["", "", ""], ["Juma", "Asha", "Juma"]):
        sheet.assign(origin=names).to_csv(tmp_path / "sw.csv", index=False)
        with pytest.raises(InputError, match="one name in its column origin"):
            contributed_sheets.read(tmp_path)


def test_a_sheet_that_was_changed_is_refused(sheet, tmp_path):
    sheet.assign(origin="Juma", label="x").to_csv(tmp_path / "sw.csv", index=False)
    with pytest.raises(InputError, match="is not as it was written"):
        contributed_sheets.read(tmp_path)
