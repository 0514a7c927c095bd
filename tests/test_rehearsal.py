"""The runs of real models, rehearsed in small: each ends in a book, and no step of it
fails.
"""

from pathlib import Path

import pytest

import rehearsal
from conftest import ROOT, locked_run

pytestmark = pytest.mark.slow

# What is rehearsed: the config, and whether with one model, one language and one data
# set alone.
RUNS = {
    "paper": ("paper.yml", False),
    "full": ("full.yml", False),
    "one": ("full.yml", True),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The folder of the models and pictures that all rehearsals share."""
    return tmp_path_factory.mktemp("rehearsal")


@pytest.mark.parametrize("name", RUNS)
def test_a_rehearsal_ends_in_a_book_without_a_failed_step(
    name, folder, mirror, monkeypatch
):
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))
    file, only_one = RUNS[name]
    config = rehearsal.prepare(
        ROOT / "config" / file, folder, mirror / "commute", only_one
    )
    study = folder / name
    study.mkdir()
    done = locked_run(study, config)

    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    assert (study / "_build" / "html" / "index.html").is_file()
    assert not (study / "_build" / "html" / "failed-steps.html").exists()
