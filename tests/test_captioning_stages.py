"""Stage 75 on a user's own model and data set: captions written and scored."""

import io
import json
from contextlib import redirect_stdout

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pandas as pd
import pytest
from PIL import Image

import tiny_imagetext as tiny
from babelatlas.base import tables
from babelatlas.datasets import registry
from conftest import ROOT

# Warnings of third parties, at their first import.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:timm"),
]


def run(notebook, **given):
    """Run the cells of a notebook here with these inputs, outputs and parameters; return its variables."""
    known = {}
    with redirect_stdout(io.StringIO()):
        for cell in nbformat.read(ROOT / f"notebooks/{notebook}.ipynb", as_version=4).cells:
            if cell.cell_type == "code":
                exec(cell.source, known)
                if {"inputs", "outputs", "parameters"} & set(cell.metadata.tags):
                    known.update({name: value for name, value in given.items() if name in known})
    plt.close("all")
    return known


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    pytest.importorskip("transformers")
    folder, rng = tmp_path_factory.mktemp("own"), np.random.default_rng(0)
    (folder / "images").mkdir()
    for name in ("a.png", "b.png"):
        Image.fromarray(rng.integers(0, 256, (40, 40, 3), dtype=np.uint8)).save(folder / "images" / name)
    rows = [(lang, image, f"{lang} {image[0]}") for lang in ("de", "ja") for image in ("a.png", "b.png")]
    pd.DataFrame(rows, columns=["lang", "image", "caption"]).to_csv(folder / "captions.csv", index=False)
    described = {"task": "retrieval", "images": str(folder / "images"), "annotations": str(folder / "captions.csv")}
    (folder / "sets.json").write_text(json.dumps({"mine": described}), encoding="utf-8")
    return folder, tiny.paligemma(folder / "model")


@pytest.mark.slow
def test_a_models_captions_are_written_and_scored(own, monkeypatch):
    folder, model = own
    monkeypatch.setenv(registry.CUSTOM, (folder / "sets.json").read_text(encoding="utf-8"))
    questions = folder / "questions.csv"
    questions.write_text("lang,question\nja,絵を説明して\n", encoding="utf-8")
    made = {name: str(folder / f"{name}.parquet") for name in ("output", "output_scores")}
    given = {"model": "own", "checkpoint": str(model), "dataset": "mine", "images": str(folder / "images")}
    given |= {"annotations": str(folder / "captions.csv"), "questions": str(questions), "most_tokens": 4}
    run("stages/75_captioning", **given, **made, device="cpu", precision="float32")
    written = tables.read(made["output"], "generated")
    assert len(written) == 4
    assert set(written.loc[written["lang"] == "ja", "prompts"]) == {"絵を説明して"}
    scores = tables.read(made["output_scores"], "caption_scores")
    assert scores.groupby("metric").size().to_dict() == {"CIDEr": 4, "CIDEr-D": 4, "chrF++": 4}
    assert scores["value"].between(0, 10).all()
