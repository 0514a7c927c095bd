"""The labels that are nearest to single pictures."""

import nbformat
import numpy as np
import pandas as pd
import pytest

from babelatlas.analysis import real_run
from babelatlas.base import tables
from babelatlas.datasets import example_pictures
from babelatlas.evaluation import picture_labels
from babelatlas.lexicon import labels as label_sets
from babelatlas.models import registry
from babelatlas.models.loaders import bridge
from conftest import ROOT


@pytest.fixture
def written(tmp_path) -> dict[str, str]:
    """Where the stage reads the labels that ship, and writes."""
    tables.write(label_sets.shipped(), tmp_path / "labels.parquet", "labels")
    return {
        "labels": str(tmp_path / "labels.parquet"),
        "cache": str(tmp_path / "cache"),
        "output": str(tmp_path / "picture_labels.parquet"),
    }


def run_stage(**parameters):
    """Run the cells of the stage here, with these parameters."""
    path = ROOT / "notebooks/stages/78_picture_labels.ipynb"
    variables = {}
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            exec(cell.source, variables)
        if {"inputs", "outputs", "parameters"} & set(cell.metadata.get("tags", [])):
            variables.update({k: v for k, v in parameters.items() if k in variables})


def test_the_nearest_labels_of_each_language_say_whether_they_and_any_other_fit():
    labels = pd.DataFrame(
        [
            ("en", "n1", "cat"),
            ("en", "n2", "cup"),
            ("de", "n2", "Tasse"),
            ("de", "n3", "Maus"),
        ],
        columns=["lang", "wnid", "label"],
    )
    vectors = np.array([[2.0, 0, 0], [0, 1, 0], [0, 3, 0], [4, 0, 3]])
    images = np.array([[5.0, 0, 0], [0, 1, 0]])
    fitting = {"cat": ["n1"], "coffee": ["n2"]}
    found = picture_labels.nearest_labels(images, labels, vectors, fitting, 1)
    shown = found.set_index(["lang", "picture"])
    assert shown["label"].to_dict() == {
        ("de", "cat"): "Maus",
        ("de", "coffee"): "Tasse",
        ("en", "cat"): "cat",
        ("en", "coffee"): "cup",
    }
    assert shown.loc[("de", "cat"), "cosine"] == np.float32(0.8)
    assert shown["correct"].tolist() == [False, True, True, True]
    assert shown["labelled"].tolist() == [False, True, True, True]
    assert {*shown["n_classes"]} == {2}


def test_a_language_with_fewer_labels_than_are_asked_for_has_as_many_ranks():
    labels = pd.DataFrame({"lang": ["en"], "wnid": ["n1"], "label": ["cat"]})
    vectors = np.array([[1.0, 0]])
    found = picture_labels.nearest_labels(vectors, labels, vectors, {"cat": []}, 3)
    assert found["rank"].tolist() == [1]


def test_without_pictures_the_stage_says_so_and_writes_a_table_without_rows(
    written, monkeypatch
):
    monkeypatch.setattr(example_pictures.util, "find_spec", lambda name: None)
    run_stage(**written)
    assert tables.read(written["output"], "picture_labels").empty


@pytest.mark.slow
def test_the_labels_that_ship_are_those_that_the_stage_finds(written):
    if reason := bridge.unable(registry.get_model(example_pictures.MODEL)):
        pytest.skip(reason)
    run_stage(languages=["hi", "sw"], **written)
    found = tables.read(written["output"], "picture_labels")
    shipped = real_run.read("picture_labels")
    shipped = shipped[shipped["lang"].isin(["hi", "sw"])].reset_index(drop=True)
    assert len(found) == len(shipped) == 2 * 7 * example_pictures.RANKS
    first = found["rank"] == 1
    assert found.loc[first, "label"].tolist() == shipped.loc[first, "label"].tolist()
    # The text tower rounds what its layers hand on to 8 bits, where the last bit of
    # another processor is a whole step: cosines of two machines differed by up to 0.006.
    assert found["cosine"].tolist() == pytest.approx(shipped["cosine"], abs=0.01)
