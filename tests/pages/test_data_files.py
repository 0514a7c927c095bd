"""The files that readers download: every result of a language or model once, numbers as
on the pages, what nobody knows as null.
"""

import io
import json

import pandas as pd
import pytest

from atlas_study.pages import data_files
from babelatlas.analysis import all_results, verdicts

KINDS = ("csv", "json")


@pytest.fixture(scope="module")
def table():
    return all_results.all_results()


@pytest.fixture(scope="module")
def files(table):
    return data_files.files(table, ["sw", "nv"])


def test_each_language_asked_for_and_each_model_has_two_files(files, table):
    of_languages = {name for name in files if name.startswith("data/languages/")}
    wanted = {
        f"data/languages/{lang}.{kind}" for lang in ("sw", "nv") for kind in KINDS
    }
    assert of_languages == {"data/languages/index.csv", *wanted}
    of_models = {name for name in files if name.startswith("data/models/")}
    assert len(of_models) == 1 + len(KINDS) * table["model"].nunique()


def test_a_language_has_its_verdict_and_all_its_results(files, table):
    found = json.loads(files["data/languages/sw.json"])
    assert found["lang"] == "sw"
    assert found["verdict"] == verdicts.verdicts().loc["sw", "verdict"]
    rows = table[table["lang"] == "sw"]
    assert len(found["results"]["value"]) == len(rows)
    assert {*found["benchmarks"]} == {*rows["id"]}
    csv = pd.read_csv(io.StringIO(files["data/languages/sw.csv"]))
    assert csv["value"].tolist() == pytest.approx(rows["value"].tolist(), rel=1e-4)


def test_what_nobody_knows_is_null(files):
    for name, text in files.items():
        if name.endswith(".json"):
            json.loads(text, parse_constant=pytest.fail)


def test_a_model_counts_no_more_languages_above_half_than_above_its_baseline():
    counts = data_files.support_by_model()
    assert (counts["above_half_of_english"] <= counts["above_baseline"]).all()
    assert (counts["above_baseline"] <= counts["languages"]).all()
    boards = {verdicts.CAPTIONS, verdicts.LABELS}
    assert {*counts["benchmark"]} == boards
    assert not counts.duplicated(["benchmark", "model"]).any()


def test_a_sheet_has_no_more_rows_than_speakers_are_asked_to_read():
    sheets = data_files.label_sheets_of(["sw", "en", "nan"])
    assert "en" not in sheets
    rows = pd.read_csv(io.StringIO(sheets["sw"]))
    assert 10 < len(rows) <= data_files.SHEET_ROWS
