"""What a person gives to make is text: no sign of it is a command, and what is misspelt is told in one sentence."""

import os
import shutil
import subprocess
import tempfile

import pytest

from conftest import ROOT

pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="needs make")
GIVEN = ("CONFIG", "CORES", "PROFILE", "GPUS", "PYTHON", "ARGS", "TESTS")
# Each with a target that uses it.
TARGETS = [(name, "book") for name in GIVEN[:4]] + [("ARGS", "book"), ("ARGS", "bench"), ("TESTS", "test")]
HOSTILE = [
    "$(shell touch run)",
    "${shell touch run}",
    "$(touch run)",
    "$$(touch run)",
    "`touch run`",
    "; touch run;",
    '"; touch run; "',
    "'; touch run; '",
    "|touch run",
    "&& touch run #",
    '\\"; touch run; #',
    "a\ntouch run",
    "-n; touch run",
]


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
    for name, target in TARGETS:
        make(study, target, f"{name}={value}")
    make(study, "book", **dict.fromkeys(GIVEN, value))
    (study / ".venv" / "installed").unlink()
    make(study, "lint", f"PYTHON={value}")
    assert not list(study.rglob("run"))


def test_a_config_reaches_snakemake_as_it_was_given(study):
    config = 'config/mine\'s $(own) "study" ü.yml'
    (study / config).touch()
    done = make(study, "book", f"CONFIG={config}", "CORES=2", "ARGS=--dry-run --until all")
    assert f"|--cores|2|--resources|gpu=3|--configfile|{config}|--dry-run|--until|all|" in done.stdout


def test_the_demonstration_alone_has_a_cache_in_the_folder(study):
    (study / "config" / "full.yml").touch()
    assert make(study, "book").stdout.splitlines()[0].endswith(f"|{study}/_build/cache")
    assert make(study, "book", "CONFIG=config/full.yml").stdout.splitlines()[0].endswith("|")


def test_in_the_locale_c_python_can_start_in_a_folder_with_an_umlaut(study):
    assert "|C.UTF-8|" in make(study, "book").stdout  # `make` above sets LC_ALL=C
    assert "|de_DE.UTF-8|" in make(study, "book", LC_ALL="de_DE.UTF-8").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bok"], "There is no target bok: expected one of book test"),
        (["book", "tests"], "There is no target tests: expected one of book test"),
        (["book", "CONFG=config/full.yml"], "There is no variable CONFG: expected one of CONFIG CORES"),
        (["book", "CONFIG=config/non.yml"], "There is no config file config/non.yml: give one of config/demo.yml"),
        (["book", "CONFIG="], "There is no config file : give one of config/demo.yml"),
        (["book", "CONFIG=--help"], "There is no config file --help: give one of config/demo.yml"),
        (["book", "CORES=0"], "CORES is how many processors to use, got 0: give a number, or all."),
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


@pytest.mark.parametrize("installed", [True, False])
def test_a_folder_of_somebody_else_is_told_in_one_sentence(study, installed):
    if not installed:
        shutil.rmtree(study / ".venv")
    user = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}
    with tempfile.TemporaryDirectory() as above:  # others may not enter the folders of the tests
        os.chmod(above, 0o755)
        folder = shutil.copytree(study, f"{above}/study")
        os.chmod(folder, 0o555)
        done = make(folder, "book", user=user)
        os.chmod(folder, 0o755)
    assert done.returncode
    said = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("make")]
    assert said == [f"The folder {folder} cannot be written to: work in a clone of your own."]
