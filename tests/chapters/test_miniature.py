"""The miniature's chapter: against a run of two models written for the test."""

import json

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from atlas_study.chapters import miniature
from babelatlas.base import tables
from babelatlas.report import formatting
from babelatlas.stats import bootstrap

CONCEPTS = pd.DataFrame(
    {"wnid": ["n1", "n2", "n3"], "name": ["cat", "dog", "sun"], "codepoints": "x"}
)
DEVELOPMENT = {
    "one": [
        ("en", "en", 0.9, 40),
        ("de", "high", 0.6, 40),
        ("fr", "high", 0.8, 30),
        ("es", "high", 0.85, 30),
        ("sw", "low", 0.3, 10),
        ("zu", "low", 0.1, 9),
        ("eu", "not in training", 0.2, 20),
        ("ka", "not in training", 0.1, 20),
    ],
    "two": [("en", "en", 0.5, 40), ("de", "parallel", 0.55, 40)],
}


@pytest.fixture
def run(tmp_path):
    """A run with development accuracies and the losses of one model."""
    for model, rows in DEVELOPMENT.items():
        names = ["lang", "tier", "accuracy", "n_classes"]
        records = [dict(zip(names, row, strict=True)) | {"chance": 0.1} for row in rows]
        path = tmp_path / f"models/{model}/training.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"development": records}), encoding="utf-8")
    losses = pd.DataFrame({"step": range(6), "loss": [5.0, 6, 3, 2, 1, 0.5]})
    losses = losses.assign(model="one", replicate=0, kind="x")
    tables.write(losses, tmp_path / "models/one_losses.parquet", "training_losses")
    return str(tmp_path)


def test_losses_are_the_first_and_the_mean_of_the_last_steps(run):
    found = miniature.losses(run, ["two", "one"], 2)
    assert found.loc["one"].to_list() == [5, 0.75]
    assert len(found) == 1  # the other was not trained here
    assert len(miniature.losses(run, [], 2)) == 0


def test_development_leaves_out_languages_with_few_classes(run):
    found = miniature.development(run, ["one", "two"], 10)
    rows = found.set_index(["model", "lang"])
    assert ("one", "zu") not in rows.index
    assert len(rows) == 9
    assert rows.loc[("one", "en"), "tier"] == "English"
    assert rows.loc[("two", "de"), "accuracy"] == 0.55
    assert len(miniature.development(run, [], 10)) == 0


def test_levels_have_the_mean_of_their_languages_and_one_alone_no_interval(run):
    measured = miniature.development(run, ["one", "two"], 10)
    means = miniature.by_level(measured, 100, 0)
    places = list(zip(means["model"], means["tier"], strict=True))
    assert places == [
        ("one", "English"),
        ("two", "English"),
        ("one", "high"),
        ("one", "low"),
        ("two", "parallel"),
        ("one", "not in training"),
    ]
    assert means["value"].to_list() == pytest.approx([0.9, 0.5, 0.75, 0.3, 0.55, 0.15])
    assert means["n"].to_list() == [1, 1, 3, 1, 1, 2]
    has_interval = [False, False, True, False, False, True]
    assert means["ci_low"].notna().to_list() == has_interval
    mean = bootstrap.mean_interval(np.array([0.6, 0.8, 0.85]), None, 100, seed=0).iloc[
        0
    ]
    found = means[["ci_low", "ci_high"]].iloc[2].to_list()
    assert found == pytest.approx(mean[["ci_low", "ci_high"]].to_list())
    text = miniature.best_levels(means)
    assert sorted(text.split("; ")) == [
        "one 90.0 % (level “English”)",
        "two 55.0 % (level “parallel”)",
    ]


def test_levels_of_models_that_know_english_alone_have_no_intervals(run):
    measured = miniature.development(run, ["one", "two"], 10)
    means = miniature.by_level(measured[measured["lang"] == "en"], 100, 0)
    assert means["value"].to_list() == [0.9, 0.5]
    assert means["ci_low"].isna().all()


def test_a_run_without_models_has_no_levels(run):
    losses = miniature.losses(run, ["another"], 2)
    measured = miniature.development(run, losses.index, 10)
    means = miniature.by_level(measured, 100, 0)
    assert len(means) == 0
    assert miniature.best_levels(means) == ""
    assert len(formatting.intervals(means)) == 0


@pytest.fixture
def concepts(tmp_path, monkeypatch):
    """The concepts of a run, of whose drawings one is the same in test and training."""
    drawn = []

    def draw(*place):
        drawn.append(place)
        return Image.new("RGB", (8, 8))

    monkeypatch.setattr(miniature.pictograms, "concepts", lambda: CONCEPTS)
    monkeypatch.setattr(miniature.pictograms, "same_outline", lambda wnid: wnid == "n2")
    monkeypatch.setattr(miniature.pictograms, "draw", draw)
    path = tmp_path / "images/pictograms.parquet"
    tables.write(tables.empty("images"), path, "images", {"seed": 7, "size": 32})
    labels = pd.DataFrame(
        [("de", "n1"), ("fr", "n1"), ("de", "n3")], columns=["lang", "wnid"]
    )
    texts = dict.fromkeys(["label", "source", "licence"], "")
    lists = dict.fromkeys(["alternatives", "confirmed_by"], [[]] * 3)
    labels = labels.assign(**texts, **lists, ambiguous=False)
    tables.write(labels, tmp_path / "labels/pictograms.parquet", "labels")
    return miniature.concepts(str(tmp_path)), drawn


def test_concepts_have_the_number_of_languages_with_a_label(concepts):
    found, _ = concepts
    assert found.n_languages.to_dict() == {"n1": 2, "n2": 0, "n3": 1}
    assert found.percent_same == pytest.approx(100 / 3)
    assert (found.seed, found.size) == (7, 32)


def test_concepts_of_a_run_without_labels_have_no_language(concepts, tmp_path):
    (tmp_path / "labels/pictograms.parquet").unlink()
    assert miniature.concepts(str(tmp_path)).n_languages.to_list() == [0, 0, 0]


def test_drawings_are_of_the_runs_seed_and_size(concepts):
    found, drawn = concepts
    assert len(miniature.drawings(found)) == 3
    assert drawn == [(wnid, "train", 0, 7, 32) for wnid in ("n1", "n2", "n3")]
    drawn.clear()
    pictures, captions = miniature.drawings_of_splits(found, ["sun", "cat"], 2)
    assert len(pictures) == 8
    assert captions[::2] == ["cat, train", "cat, test", "sun, train", "sun, test"]
    assert drawn[:3] == [
        ("n1", "train", 0, 7, 32),
        ("n1", "train", 1, 7, 32),
        ("n1", "test", 0, 7, 32),
    ]


def test_items_are_counted_once_by_language_and_there_may_be_none(tmp_path):
    assert len(miniature.items(str(tmp_path), "pairs")) == 0
    rows = [
        (lang, item, sense)
        for lang, items in {"de": ["x"], "fi": ["x", "y"], "sw": ["z"]}.items()
        for item in items
        for sense in "ab"
    ]
    table = pd.DataFrame(rows, columns=["lang", "item", "sense"])
    table = table.assign(word="w", source="s", translation="t")
    tables.write(table, tmp_path / "items/pairs.parquet", "items")
    found = miniature.items_by_language(miniature.items(str(tmp_path), "pairs"))
    assert found["name"].to_list() == ["Finnish", "German", "Swahili"]
    assert found["n_classes"].to_list() == [2, 1, 1]
    assert len(miniature.items_by_language(tables.empty("items"))) == 0


def test_drawings_of_items_are_both_senses_and_their_blend(tmp_path, monkeypatch):
    colours = {"a0": "red", "b0": "lime", "mix": "blue", "side": "black"}
    rows = []
    for item in ("bat:n1+n2", "crane:n3+n4"):
        for image, colour in colours.items():
            path = str(tmp_path / f"{item[:3]}_{image}.png")
            Image.new("RGB", (8, 8), colour).save(path)
            rows.append((item, image, path))
    table = pd.DataFrame(rows, columns=["item", "image", "path"])
    monkeypatch.setattr(miniature.item_images, "read", lambda _: table)
    pictures, captions = miniature.drawings_of_items("r", "pairs", ["crane:n3+n4"])
    assert captions == ["crane a0", "crane b0", "crane mix"]
    pixels = [picture.convert("RGB").getpixel((0, 0)) for picture in pictures]
    assert pixels == [(255, 0, 0), (0, 255, 0), (0, 0, 255)]
