"""The page "Your own data": the pictures, tables and config of its command run as they
stand in an empty folder.
"""

import re
from pathlib import Path

import pandas as pd
import pytest

from atlas_study.commands import main as command_line
from babelatlas.base import tables
from babelatlas.datasets import example_pictures
from conftest import ROOT, dry_run, snakemake

PAGE = (ROOT / "book" / "own-data.md").read_text(encoding="utf-8")


@pytest.fixture
def config(tmp_path, monkeypatch) -> Path:
    """The config of the page, in the folder that its command writes."""
    monkeypatch.chdir(tmp_path)
    assert command_line.main(["new", "data", "mine"]) == 0
    return tmp_path / "mine" / "own.yml"


def test_the_page_shows_the_config_that_its_command_writes(config):
    assert re.search(r"```yaml\n(.*?)```", PAGE, re.S)[1] == config.read_text("utf-8")


def test_the_example_has_a_folder_for_each_class_and_labels_and_captions_in_three_languages(
    config,
):
    folder = config.parent
    labels = pd.read_csv(folder / "labels.csv")
    assert labels.groupby("lang").size().to_dict() == {"de": 7, "en": 7, "fr": 7}
    classes = {path.name for path in (folder / "photographs").iterdir()}
    assert {*labels["wnid"]} == classes
    captions = pd.read_csv(folder / "captions.csv")
    images = [folder / "photographs" / name for name in captions["image"]]
    assert all(path.is_file() for path in images)


def test_a_folder_that_is_not_empty_and_a_lack_of_pictures_are_said(
    config, monkeypatch, capsys
):
    assert command_line.main(["new", "data", "mine"]) == 1
    assert "The folder mine is not empty" in capsys.readouterr().err
    find = example_pictures.util.find_spec
    monkeypatch.setattr(
        example_pictures.util,
        "find_spec",
        lambda name: None if name == "skimage" else find(name),
    )
    assert command_line.main(["new", "data", "fewer"]) == 0
    assert "Not shown here: a cat" in capsys.readouterr().out
    assert len(pd.read_csv("fewer/labels.csv")) == 6
    monkeypatch.setattr(example_pictures.util, "find_spec", lambda name: None)
    assert command_line.main(["new", "data", "none"]) == 1
    assert "do not have these pictures" in capsys.readouterr().err
    assert not Path("none").exists()


def test_a_dry_run_of_own_data_finds_all_and_else_names_every_missing_path(
    config, tmp_path
):
    assert "would stop" not in dry_run(tmp_path, config=config)
    text = config.read_text(encoding="utf-8").replace(
        "{minimum_classes", "{prompts: p.csv, minimum_classes"
    )
    text = (
        text.replace("bridge-lite2]", "my-clip]")
        + "words: [w.csv]\ncustom_models: {my-clip: m.py}\n"
    )
    config.write_text(text, encoding="utf-8")
    (tmp_path / "mine" / "captions.csv").unlink()
    printed = dry_run(tmp_path, config=config)
    assert "MissingInput" not in printed
    said = next(line for line in printed.splitlines() if "would stop" in line)
    assert all(
        f" should be at {name}" in said
        for name in ("m.py", "w.csv", "p.csv", "mine/captions.csv")
    ), said


@pytest.mark.slow
def test_own_data_make_a_book_that_credits_their_owner(config, tmp_path):
    done = snakemake(tmp_path, "--quiet", "rules", "host", "reason", config=config)
    assert done.returncode == 0, done.stderr[-3000:]
    made = tables.read(
        tmp_path / "results/own/zeroshot/bridge-lite2_photographs.parquet", "zeroshot"
    )
    assert (set(made["prompts"]), set(made["lang"])) == ({"label"}, {"en", "de", "fr"})
    # As the page says: all in English, all but one in German and in French.
    of_language = made.groupby("lang")["n_correct"].sum()
    assert of_language.to_dict() == {"de": 6, "en": 7, "fr": 6}
    wrong = made[made["n_correct"] == 0].set_index("lang")["wnid"]
    assert wrong.to_dict() == {"de": "rocket", "fr": "camera"}
    page = (tmp_path / "_build/html/41_this_run.html").read_text(encoding="utf-8")
    assert "photographs, photo-captions: the user’s own" in page.replace("'", "’")
