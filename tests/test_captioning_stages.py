"""Stages 27 and 28 and chapter 49 on a user's own model and data set: written, scored, shown."""

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
def test_a_models_captions_are_written_scored_and_compared(own, monkeypatch):
    folder, model = own
    monkeypatch.setenv(registry.CUSTOM, (folder / "sets.json").read_text(encoding="utf-8"))
    made = {name: str(folder / name / "mine.parquet") for name in ("generated", "caption_scores", "comparisons")}
    questions = folder / "questions.csv"
    questions.write_text("lang,question\nja,絵を説明して\n", encoding="utf-8")
    given = {"model": "own", "checkpoint": str(model), "dataset": "mine", "images": str(folder / "images")}
    given |= {"annotations": str(folder / "captions.csv"), "device": "cpu", "precision": "float32", "most_tokens": 4}
    known = run("stages/27_captioning", **given, questions=str(questions), output=made["generated"])
    written = tables.read(made["generated"], "generated")
    assert len(written) == 4
    assert set(written.loc[written["lang"] == "ja", "prompts"]) == {"絵を説明して"}
    assert len(known["references"]) == 4
    # A second model, better by what it writes, and what two people say of both.
    better = written.assign(model="other", caption=[f"{row.lang} {row.image[0]}" for row in written.itertuples()])
    tables.write(pd.concat([written, better]), made["generated"], "generated")
    run("stages/28_caption_scores", **given, generated=[made["generated"]], output=made["caption_scores"])
    scores = tables.read(made["caption_scores"], "caption_scores").query("metric == 'chrF++'")
    means = scores.groupby("model")["value"].mean()
    assert means["other"] == pytest.approx(1)
    assert means["own"] < 1
    said = written[["dataset", "lang", "image"]].assign(base="own", model="other", preference=3)
    tables.write(pd.concat([said.assign(rater=name) for name in "xy"]), made["comparisons"], "comparisons")
    shown = run("chapters/49_captioning", results=str(folder), metric="chrF++", n_resamples=20)
    assert not shown["tiny"]
    assert set(shown["own"]["gain"]) == {1}
    assert (shown["own"].filter(like="own") > 0).all(axis=None)
