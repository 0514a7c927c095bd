"""Stage 70 and chapter 44, cell by cell: captions of a table and of a tiny model are
scored, and shown.
"""

import io
import json
from contextlib import redirect_stdout

import matplotlib
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pandas as pd
import pytest
from PIL import Image

import tiny_captioners
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import registry
from babelatlas.evaluation import captioning
from conftest import ROOT

matplotlib.use("Agg")
CAPTIONS = [
    ("en", "a.png", "a red cat on a chair"),
    ("en", "b.png", "two dogs"),
    ("de", "a.png", "eine rote Katze auf einem Stuhl"),
    ("de", "b.png", "zwei Hunde"),
]
COLUMNS = ["lang", "image", "caption"]


def run_cells(notebook, **parameters):
    """Return the variables of a notebook whose cells ran here with these parameters."""
    known = {"display": lambda *shown: None}
    path = ROOT / "notebooks" / f"{notebook}.ipynb"
    with redirect_stdout(io.StringIO()):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type != "code":
                continue
            exec(cell.source, known)
            if {"inputs", "outputs", "parameters"} & set(cell.metadata.tags):
                known.update({k: v for k, v in parameters.items() if k in known})
    plt.close("all")
    return known


@pytest.fixture
def dataset(tmp_path, monkeypatch):
    """A data set of two pictures with captions in two languages, and where it is."""
    rng = np.random.default_rng(0)
    (tmp_path / "images").mkdir()
    for name in ("a", "b"):
        pixels = rng.integers(0, 256, (40, 40, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "images" / f"{name}.png")
    file = tmp_path / "captions.csv"
    pd.DataFrame(CAPTIONS, columns=COLUMNS).to_csv(file, index=False)
    described = {"task": "retrieval", "images": str(tmp_path / "images")}
    described |= {"annotations": str(file)}
    monkeypatch.setenv(registry.CUSTOM, json.dumps({"mine": described}))
    return {"images": str(tmp_path / "images"), "annotations": str(file)}


def written(tmp_path, model):
    """Where the stage writes what a model gives."""
    name = f"{model}_mine.parquet"
    return {
        "model": model,
        "dataset": "mine",
        "output": str(tmp_path / "run" / "generated" / name),
        "output_scores": str(tmp_path / "run" / "caption_scores" / name),
    }


def test_captions_of_a_table_are_scored_and_shown(tmp_path, dataset):
    homes = tmp_path / "homes.csv"
    homes.write_text("image,region\na.png,de\nb.png,en\n")
    rows = pd.DataFrame(CAPTIONS, columns=COLUMNS)
    for model in ("copy", "other"):
        table = rows if model == "copy" else rows.assign(caption="a cat")
        path = tmp_path / f"{model}.csv"
        table.to_csv(path, index=False)
        where = dataset | written(tmp_path, model)
        run_cells(
            "stages/70_captions", checkpoint=str(path), regions=str(homes), **where
        )
    scores = tables.read(
        where["output_scores"].replace("other", "copy"), "caption_scores"
    )
    tokens = [captioning.tokenize(row[2], row[0]) for row in CAPTIONS[:2]]
    expected = captioning.cider(tokens, [[text] for text in tokens])
    english = scores[scores["lang"] == "en"].sort_values("image")
    assert english["value"].tolist() == pytest.approx(expected)
    assert english["region"].tolist() == ["de", "en"]

    shown = run_cells(
        "chapters/44_own_captions",
        results=str(tmp_path / "run"),
        captions=dataset["annotations"],
        n_resamples=20,
        n_permutations=20,
    )
    assert "by copy score" in shown["verdict"]
    assert len(shown["regions"]) == 4


def test_a_chapter_without_captions_runs(tmp_path):
    shown = run_cells("chapters/44_own_captions", results=str(tmp_path))
    assert shown["found"] is None


def test_a_tiny_model_writes_captions_in_the_languages_it_is_told(tmp_path, dataset):
    folder = tiny_captioners.two_models(tmp_path / "model")
    where = dataset | written(tmp_path, "tiny")
    run_cells(
        "stages/70_captions",
        checkpoint=str(folder),
        prompt="in {language}",
        most_tokens=3,
        device="cpu",
        **where,
    )
    table = tables.read(where["output"], "generated")
    assert set(zip(table["lang"], table["image"], strict=True)) == {
        row[:2] for row in CAPTIONS
    }
    settings = tables.made_from(where["output"])
    assert "in {language}" in str(settings)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("en", "z.png", "a cat")], "None of the captions by mine is of an image"),
        ([("xx", "a.png", "a cat")], "no language with the code 'xx'"),
    ],
)
def test_captions_that_do_not_fit_are_one_sentence(tmp_path, dataset, rows, message):
    path = tmp_path / "mine.csv"
    pd.DataFrame(rows, columns=COLUMNS).to_csv(path, index=False)
    where = dataset | written(tmp_path, "mine")
    with pytest.raises(InputError, match=message):
        run_cells("stages/70_captions", checkpoint=str(path), **where)
