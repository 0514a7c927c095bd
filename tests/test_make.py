"""What a person gives to make is text: no sign of it is a command, and what is misspelt
is told in one sentence.
"""

import os
import shutil
import subprocess

import pytest

from conftest import ROOT

pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="needs make")
GIVEN = ("CONFIG", "CORES", "PROFILE", "GPUS", "JOBS_PER_GPU", "PYTHON")
GIVEN += ("ARGS", "TESTS", "PAGE")
HOSTILE = [
    "$(shell touch run)",
    "`touch run`",
    '"; touch run; "',
    "'; touch run; '",
    "&& touch run #",
    "a\ntouch run",
]


@pytest.fixture
def study(tmp_path):
    """A folder with the Makefile, an environment that is installed, and programs that
    say how they were called.
    """
    folder = tmp_path / "a folder with `touch run` and ümlaut"
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    shutil.copyfile(ROOT / "Makefile", folder / "Makefile")
    for name in ("requirements.txt", "pyproject.toml", "requirements-bench.txt"):
        (folder / name).touch()
    (folder / "config" / "slurm").mkdir(parents=True)
    (folder / "config" / "demo.yml").touch()
    for name, text in (
        ("python", "echo 3"),
        ("babelatlas", 'printf "%s|" "$@"; echo "$LC_ALL|$XDG_CACHE_HOME"'),
    ):
        (programs / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    (folder / ".venv" / "bench").mkdir()
    (folder / ".venv" / "installed").touch()
    (folder / ".venv" / "bench" / "installed").touch()
    return folder


def make(
    folder, *words: str, user: dict | None = None, **environment: str
) -> subprocess.CompletedProcess:
    """Run make there, in the locale C, without what a make above this test has been
    given; perhaps as another user.
    """
    outer = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MAKE", "XDG_")) and name not in GIVEN
    }
    settings = outer | {"LC_ALL": "C"} | environment
    pipes = {"capture_output": True, "text": True, "check": False}
    return subprocess.run(
        ["make", *words], cwd=folder, env=settings, **pipes, **(user or {})
    )


@pytest.mark.parametrize("value", HOSTILE)
def test_nothing_that_is_given_runs_a_command(study, value):
    for name in GIVEN:
        make(
            study,
            {"TESTS": "test", "ARGS": "bench", "PAGE": "page"}.get(name, "book"),
            f"{name}={value}",
        )
    make(study, "book", **dict.fromkeys(GIVEN, value))
    (study / ".venv" / "installed").unlink()
    make(study, "lint", f"PYTHON={value}")
    assert not list(study.rglob("run"))


def test_a_config_reaches_snakemake_as_it_was_given(study):
    config = 'config/mine\'s $(own) "study" ü.yml'
    (study / config).touch()
    done = make(
        study, "book", f"CONFIG={config}", "CORES=2", "ARGS=--dry-run --until all"
    )
    assert (
        f"|--cores|2|--resources|gpu=3|--configfile|{config}|--dry-run|--until|all|"
        in done.stdout
    )


def test_one_job_more_than_processors_runs_at_once(study):
    done = make(study, "book")
    assert f"|--cores|{os.cpu_count() + 1}|" in done.stdout
    assert "|--cores|1|" in make(study, "book", "CORES=1").stdout


@pytest.mark.parametrize(
    "form", ["--dry-run", "--dryrun", "-n", "-np", "-pn --until all"]
)
@pytest.mark.parametrize("target", ["book", "page"])
def test_a_dry_run_makes_no_environment_and_says_where_there_is_none(
    study, form, target
):
    shutil.rmtree(study / ".venv")
    files = sorted(study.rglob("*"))
    done = make(study, target, f"ARGS={form}", "PYTHON=python0")
    assert done.returncode != 0
    assert (
        done.stdout
        == "A dry run makes no environment, and there is none in .venv: make it with:"
        " make .venv/installed\n"
    )
    assert sorted(study.rglob("*")) == files


def test_a_dry_run_leaves_an_older_environment_as_it_is(study):
    os.utime(study / ".venv" / "installed", (1, 1))
    done = make(study, "book", "ARGS=--dry-run", "PYTHON=python0")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(
        "The environment in .venv is older than the lock; a dry run leaves it as it is"
    )
    assert "|--dry-run|" in done.stdout
    assert (study / ".venv" / "installed").stat().st_mtime == 1
    assert (
        "python0 is missing"
        in make(study, "book", "ARGS=--nolock", "PYTHON=python0").stdout
    )  # no dry run


def test_lint_is_of_the_files_that_git_knows(study):
    (study / ".venv" / "bin" / "ruff").write_text(
        '#!/bin/sh\nprintf "%s|" "$@"\n', encoding="utf-8"
    )
    for name in ("ruff", "lint-imports"):
        (study / ".venv" / "bin" / name).touch()
        (study / ".venv" / "bin" / name).chmod(0o755)
    assert "check|.|format|--check|.|" in make(study, "lint").stdout  # no clone
    (study / "mine").mkdir()
    for name in ("ours.py", "gone.py", "mine/draw.py"):
        (study / name).touch()
    for words in (["init", "--quiet"], ["add", "ours.py", "gone.py"]):
        subprocess.run(["git", *words], cwd=study, check=True)
    (study / "gone.py").unlink()
    assert "check|ours.py|format|--check|ours.py|" in make(study, "lint").stdout


def test_an_environment_is_ignored_by_git_also_where_it_is_a_link(tmp_path):
    (tmp_path / ".gitignore").write_bytes((ROOT / ".gitignore").read_bytes())
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".venv").symlink_to(tmp_path / "elsewhere")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    words = ["git", "status", "--porcelain"]
    assert (
        subprocess.run(words, cwd=tmp_path, capture_output=True, text=True).stdout
        == "?? .gitignore\n"
    )


def test_one_page_is_asked_of_snakemake_by_its_file(study):
    said = make(study, "page", "PAGE=33_my $(own)").stdout
    assert "|snakemake|_build/page/html/33_my $(own).html|--nolock|" in said
    assert said.endswith("/_build/page/html/33_my $(own).html\n")


def test_the_demonstration_alone_has_a_cache_in_the_folder_and_any_locale_can_name_it(
    study,
):
    (study / "config" / "full.yml").touch()
    assert (
        make(study, "book")
        .stdout.splitlines()[0]
        .endswith(f"|C.UTF-8|{study}/_build/cache")
    )
    assert (
        make(study, "book", "CONFIG=config/full.yml")
        .stdout.splitlines()[0]
        .endswith("|")
    )


def test_clean_holds_the_lock_of_runs_and_without_an_environment_removes_nothing(study):
    assert make(study, "clean").stdout.startswith("locked|clean|")
    shutil.rmtree(study / ".venv")
    assert "nothing is removed" in make(study, "clean").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bok"], "There is no target bok: expected one of book test"),
        (
            ["book", "CONFG=config/full.yml"],
            "There is no variable CONFG: expected one of CONFIG CORES",
        ),
        (
            ["book", "CONFIG=config/non.yml"],
            "There is no config file config/non.yml: give one of config/demo.yml",
        ),
        (["book", "CONFIG="], "There is no config file : give one of config/demo.yml"),
        (["book", "PROFILE=slurm"], "There is no profile slurm/config.yaml"),
        (
            ["lint", "PYTHON=python0", "-W", "requirements.txt"],
            "python0 is missing or older than Python 3.11",
        ),
    ],
)
def test_what_is_misspelt_is_one_sentence(study, words, message):
    done = make(study, *words)
    told = [
        line
        for line in (done.stdout + done.stderr).splitlines()
        if not line.startswith(("make: ***", "/bin/sh"))
    ]
    assert done.returncode != 0
    assert len(told) == 1
    assert message in told[0]
