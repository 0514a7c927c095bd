"""What a person gives to make is text: no sign of it is a command, and what is misspelt is told in one sentence."""

import os
import shutil
import subprocess

import pytest

from conftest import ROOT

pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="needs make")
GIVEN = ("CONFIG", "CORES", "PROFILE", "GPUS", "PYTHON", "ARGS", "TESTS", "PAGE")
HOSTILE = ["$(shell touch run)", "`touch run`", '"; touch run; "', "'; touch run; '", "&& touch run #", "a\ntouch run"]


@pytest.fixture
def study(tmp_path):
    """A folder with the Makefile, an environment that is installed, and programs that say how they were called."""
    folder = tmp_path / "a folder with `touch run` and ümlaut"
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    shutil.copyfile(ROOT / "Makefile", folder / "Makefile")
    for name in ("requirements.txt", "pyproject.toml", "requirements-bench.txt"):
        (folder / name).touch()
    (folder / "config" / "slurm").mkdir(parents=True)
    (folder / "config" / "demo.yml").touch()
    for name, text in (("python", "echo 3"), ("babelatlas", 'printf "%s|" "$@"; echo "$LC_ALL|$XDG_CACHE_HOME"')):
        (programs / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    (folder / ".venv" / "bench").mkdir()
    (folder / ".venv" / "installed").touch()
    (folder / ".venv" / "bench" / "installed").touch()
    return folder


def make(folder, *words: str, user: dict | None = None, **environment: str) -> subprocess.CompletedProcess:
    """Run make there, in the locale C, without what a make above this test has been given; perhaps as another user."""
    outer = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "XDG_")) and name not in GIVEN
    }
    settings = outer | {"LC_ALL": "C"} | environment
    pipes = {"capture_output": True, "text": True, "check": False}
    return subprocess.run(["make", *words], cwd=folder, env=settings, **pipes, **(user or {}))


@pytest.mark.parametrize("value", HOSTILE)
def test_nothing_that_is_given_runs_a_command(study, value):
    for name in GIVEN:
        make(study, {"TESTS": "test", "ARGS": "bench", "PAGE": "page"}.get(name, "book"), f"{name}={value}")
    make(study, "book", **dict.fromkeys(GIVEN, value))
    (study / ".venv" / "installed").unlink()
    make(study, "lint", f"PYTHON={value}")
    assert not list(study.rglob("run"))


def test_a_config_reaches_snakemake_as_it_was_given(study):
    config = 'config/mine\'s $(own) "study" ü.yml'
    (study / config).touch()
    done = make(study, "book", f"CONFIG={config}", "CORES=2", "ARGS=--dry-run --until all")
    assert f"|--cores|2|--resources|gpu=3|--configfile|{config}|--dry-run|--until|all|" in done.stdout


def test_one_page_is_asked_of_snakemake_by_its_file(study):
    said = make(study, "page", "PAGE=33_my $(own)").stdout
    assert "|snakemake|_build/page/html/33_my $(own).html|--nolock|" in said
    assert said.endswith("/_build/page/html/33_my $(own).html\n")


def test_the_demonstration_alone_has_a_cache_in_the_folder_and_any_locale_can_name_it(study):
    (study / "config" / "full.yml").touch()
    assert make(study, "book").stdout.splitlines()[0].endswith(f"|C.UTF-8|{study}/_build/cache")
    assert make(study, "book", "CONFIG=config/full.yml").stdout.splitlines()[0].endswith("|")


def test_clean_holds_the_lock_of_runs_and_without_an_environment_removes_nothing(study):
    assert make(study, "clean").stdout.startswith("locked|clean|")
    shutil.rmtree(study / ".venv")
    assert "nothing is removed" in make(study, "clean").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bok"], "There is no target bok: expected one of book test"),
        (["book", "CONFG=config/full.yml"], "There is no variable CONFG: expected one of CONFIG CORES"),
        (["book", "CONFIG=config/non.yml"], "There is no config file config/non.yml: give one of config/demo.yml"),
        (["book", "CONFIG="], "There is no config file : give one of config/demo.yml"),
        (["book", "PROFILE=slurm"], "There is no profile slurm/config.yaml"),
        (["lint", "PYTHON=python0", "-W", "requirements.txt"], "python0 is missing or older than Python 3.11"),
    ],
)
def test_what_is_misspelt_is_one_sentence(study, words, message):
    done = make(study, *words)
    told = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith(("make: ***", "/bin/sh"))]
    assert done.returncode != 0
    assert len(told) == 1
    assert message in told[0]
