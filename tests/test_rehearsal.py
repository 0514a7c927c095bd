"""The runs of real models, rehearsed in small: each ends in a book, and no step of it
fails.
"""

from pathlib import Path

import pytest
import yaml

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


def with_few_resamples(config: Path, few_pages: bool) -> None:
    """Give the chapters the numbers of resamples, simulations and permutations of the
    tests' small run, which no step depends on; of the pages of languages, a few.
    """
    values = yaml.safe_load(config.read_text(encoding="utf-8"))
    small = yaml.safe_load((ROOT / "tests" / "tiny.yml").read_text(encoding="utf-8"))
    for notebook, parameters in small["parameters"].items():
        few = {key: n for key, n in parameters.items() if key.startswith("n_")}
        if (ROOT / "notebooks" / "chapters" / f"{notebook}.ipynb").is_file() and few:
            values["parameters"].setdefault(notebook, {}).update(few)
    if few_pages:
        values["parameters"]["10_languages"] = small["parameters"]["10_languages"]
    config.write_text(
        yaml.safe_dump(values, allow_unicode=True, sort_keys=False), encoding="utf-8"
    )


@pytest.mark.parametrize("name", RUNS)
def test_a_rehearsal_ends_in_a_book_without_a_failed_step(
    name, folder, mirror, monkeypatch
):
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))
    file, only_one = RUNS[name]
    config = rehearsal.prepare(
        ROOT / "config" / file, folder, mirror / "commute", only_one
    )
    with_few_resamples(config, few_pages=name != "paper")
    study = folder / name
    study.mkdir()
    done = locked_run(study, config)

    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    assert (study / "_build" / "html" / "index.html").is_file()
    assert not (study / "_build" / "html" / "failed-steps.html").exists()
