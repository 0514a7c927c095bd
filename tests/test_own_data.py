"""The page "Your own data": its pictures, tables and config run as they stand in an
empty folder.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from babelatlas.base import tables
from conftest import ROOT, snakemake

PAGE = (ROOT / "book" / "own-data.md").read_text(encoding="utf-8")


@pytest.fixture
def config(tmp_path) -> Path:
    """The config of the page, in a folder with what its code draws."""
    path = tmp_path / "mine" / "own.yml"
    path.parent.mkdir()
    code, settings = (
        re.search(rf"```{kind}\n(.*?)```", PAGE, re.S)[1] for kind in ("python", "yaml")
    )
    path.with_name("draw.py").write_text(code, encoding="utf-8")
    path.write_text(settings, encoding="utf-8")
    subprocess.run([sys.executable, "mine/draw.py"], cwd=tmp_path, check=True)
    return path


def test_a_dry_run_of_own_data_finds_all_and_else_names_every_missing_path(
    config, tmp_path
):
    dry = snakemake(tmp_path, "--dry-run", config=config)
    assert (dry.returncode, "would stop" in dry.stderr) == (0, False), dry.stderr
    text = config.read_text(encoding="utf-8").replace(
        "{minimum", "{prompts: p.csv, minimum"
    )
    text = (
        text.replace("bridge-lite2]", "my-clip]")
        + "words: [w.csv]\ncustom_models: {my-clip: m.py}\n"
    )
    config.write_text(text, encoding="utf-8")
    (tmp_path / "mine" / "captions.csv").unlink()
    dry = snakemake(tmp_path, "--dry-run", config=config)
    assert (dry.returncode, "MissingInput" in dry.stderr) == (0, False), dry.stderr
    said = next(line for line in dry.stderr.splitlines() if "would stop" in line)
    assert all(
        f" should be at {name}" in said
        for name in ("m.py", "w.csv", "p.csv", "mine/captions.csv")
    ), said


@pytest.mark.slow
def test_own_data_make_a_book_that_credits_their_owner(config, tmp_path):
    done = snakemake(tmp_path, "--quiet", "rules", "host", "reason", config=config)
    assert done.returncode == 0, done.stderr[-3000:]
    made = tables.read(
        tmp_path / "results/own/zeroshot/bridge-lite2_shapes.parquet", "zeroshot"
    )
    assert (set(made["prompts"]), set(made["lang"])) == ({"label"}, {"en", "de", "fr"})
    page = (tmp_path / "_build/html/41_this_run.html").read_text(encoding="utf-8")
    assert "shapes, shape-captions: the user’s own" in page.replace("'", "’")
