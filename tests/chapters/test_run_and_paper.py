"""Tests of the chapter that sets a run next to Babel-ImageNet's tables."""

import pandas as pd
import pytest

from atlas_study.chapters import run_and_paper as chapter
from babelatlas.base import tables
from papercheck import geigle2024, geigle2024_run

MODEL = "mSigLIP"


@pytest.fixture(scope="module")
def nothing(tmp_path_factory):
    """The comparison of a run without any model of the paper, and its folder."""
    folder = tmp_path_factory.mktemp("run")
    return chapter.read(folder), folder


@pytest.fixture
def run(tmp_path):
    """The comparison of a run of one model on XTD, half of which is far too good."""
    released = geigle2024_run.released()
    is_shown = (released["dataset"] == "xtd") & (released["model"] == MODEL)
    scores = released[is_shown].reset_index(drop=True)
    scores.loc[:4, ["value", "ci_low", "ci_high"]] = [0.9, 0.89, 0.91]
    name = geigle2024.models_of_paper()[MODEL].name
    more = {"task": "retrieval", "labels": "", "captions": "human"}
    scores = scores.assign(
        model=name, metric="t2i recall@1", precision="float32", **more
    )
    scores = scores[list(tables.SCHEMAS["languages"][0])]
    (tmp_path / "scores").mkdir()
    tables.write(scores, tmp_path / "scores" / "languages.parquet", "languages")
    return chapter.read(tmp_path)


def test_a_run_of_other_models_says_so_and_shows_the_authors_results(nothing, tmp_path):
    comparison, folder = nothing
    words = chapter.takeaway(comparison)
    assert words.startswith("This run evaluated none of the paper's models")
    assert "1,640 of 1,640 cells agree with the paper" in words
    assert "evaluate one of the paper's models" in chapter.lacking(comparison, folder)
    assert chapter.otherwise(comparison.scores).empty

    chapter.write(comparison, tmp_path / "certificate.parquet", {})
    cells = tables.read(tmp_path / "certificate.parquet", "certificate")
    assert set(cells["verdict"]) == {"missing"}


def test_a_run_is_counted_by_table_and_by_model(run):
    assert chapter.takeaway(run) == "In this run 6 of 12 cells agree with the paper."
    assert chapter.lacking(run, "") == ""
    by_table = chapter.by_table(run.cells).set_index("table")
    assert by_table.loc["12", "differs"] == 6  # five languages, and the mean
    assert by_table.loc["12", "to the printed digits"] == 6
    assert by_table["missing"].sum() == len(run.cells) - 12
    by_model = chapter.by_model(run.cells).set_index("model")
    column = "largest difference (points)"
    assert by_model.loc[MODEL, column] == run.cells["difference"].abs().max()
    assert pd.isna(by_model.loc["OpenAI B-32", column])


def test_points_are_of_languages_and_differences_name_them(run):
    assert len(chapter.points(run)) == 11
    shown = chapter.largest(run.cells, 3)
    assert len(shown) == 3
    assert shown["difference (points)"].is_monotonic_decreasing
    assert set(shown["what the run did otherwise"]) == {
        "precision: float32, the paper autocast"
    }
    assert set(shown["here (%)"]) == {"90.0 (89.0–91.0)"}


def test_what_a_run_did_otherwise_is_told_by_model_and_data_set(run):
    rows = chapter.otherwise(run.scores).to_dict("records")
    assert rows == [
        {
            "model": MODEL,
            "data set": "XTD, recall",
            "what": "precision",
            "for example": "float32, the paper autocast",
            "languages": "11 of 11",
        }
    ]


def test_settings_stand_next_to_the_papers(run, nothing):
    row = chapter.settings_table(run.scores).iloc[0]
    assert row["precision"] == "float32 (the paper: autocast)"
    assert (row["prompts"], row["choice"]) == ("–", "all")
    assert row["weights at a commit"] == "yes"
    released = chapter.settings_table(nothing[0].scores)
    assert len(released) == 40
    assert not released["similarity"].str.contains("the paper").any()
    prompts = released["prompts"].iloc[0]
    assert prompts == "label and nllb-80 and openai-80"


def test_one_cell_is_said_in_the_singular():
    cells = pd.DataFrame({"verdict": ["agrees", "missing"]})
    assert chapter.finding(cells) == "1 of 1 cell agrees with the paper"
    cells = pd.DataFrame({"verdict": ["differs", "missing"]})
    assert chapter.finding(cells) == "0 of 1 cell agrees with the paper"


def test_shifts_have_their_interval_and_p(run):
    shifts = geigle2024_run.shifts(run.cells, 20)
    shown = chapter.shift_table(shifts)
    assert shown["data set"].tolist() == ["XTD, recall"]
    assert shown["languages"].tolist() == [11]
