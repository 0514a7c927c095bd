"""Shared by the tests: the project's folder, and one small run of the whole study."""

import atexit
import contextlib
import gc
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from unittest import mock

import pandas as pd
import pytest
import yaml
from filelock import FileLock
from hypothesis import settings

from atlas_study.workflow import collector

collector.look_seldom()
ROOT = Path(__file__).resolve().parents[1]
MIRROR = Path(os.environ.get("BABELATLAS_MIRROR", ROOT.parent / "shared" / "mirror"))
PARSED = Path(os.environ.get("BABELATLAS_PARSED", ROOT.parent / "shared" / "published"))

# Of each file of rules, by how many came before: its Python, and the lines of that.
PARSED_RULES = {}
# Two processes share the processor: how long one example takes says nothing.
settings.register_profile("study", deadline=None)
settings.load_profile("study")


def tracked(*patterns: str) -> list[Path]:
    """The study's own files, sorted, of those that fit patterns where some are given.

    Those that git tracks, or all where there is no git: a chapter that `babelatlas new
    chapter` has begun, or a script of a user's own, is not the study's.
    """
    try:
        done = subprocess.run(
            ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        done = None
    if done and done.returncode == 0:
        files = [ROOT / name for name in done.stdout.splitlines()]
    else:
        made = {".venv", "_build", "results"}
        tops = [
            path
            for path in ROOT.iterdir()
            if path.name not in made and not path.name.endswith("_cache")
        ]
        files = [
            file
            for top in tops
            for file in ([top] if top.is_file() else top.rglob("*"))
        ]
    files = [
        file for file in files if file.is_file() and "__pycache__" not in file.parts
    ]
    assert len(files) > 50, "the files of the project were not found"
    fitting = {path for pattern in patterns for path in ROOT.glob(pattern)}
    return sorted(file for file in files if file in fitting or not patterns)


@pytest.fixture(scope="session", autouse=True)
def words_of_pytest():
    """The words with which pytest was called are none of Snakemake's, whose -n asks for
    a dry run.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", sys.argv[:1])
        yield


@pytest.fixture(autouse=True)
def study_alone(monkeypatch):
    """What a test's config adds to the models, data sets and languages is gone after
    it.
    """
    for name in ("MODELS", "DATASETS", "LANGUAGES"):
        monkeypatch.delenv(f"BABELATLAS_{name}", raising=False)


def pytest_addoption(parser):
    parser.addoption(
        "--book",
        default=os.environ.get("BOOK"),
        help="folder of a rendered book to test in place of the small run's",
    )


def pytest_collection_modifyitems(items):
    """A test that needs the whole run is slow: `make test` leaves it out, `make
    test-all` has it.

    The longest tests come first, so that one of two processes does not wait for them in
    the end.
    """
    longest = ["test_rehearsal.py", "test_grid.py", "test_built_pages.py"]
    place = {name: number for number, name in enumerate(longest)}
    items.sort(key=lambda item: place.get(item.path.name, len(longest)))
    for item in items:
        if {"small_run", "book"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish():
    """What stands in memory before the first test stays there, so that no search for
    garbage goes through it: pytest's own, and those of statsmodels' `multipletests`.
    """
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish():
    """What is no garbage after the last test is passed over, too: pytest searches twice
    more.
    """
    gc.collect()
    gc.freeze()


def pytest_configure(config):
    """A process of xdist ends at once after its last test: to take apart all that it
    has in memory takes Python seconds.
    """
    if hasattr(config, "workerinput"):
        atexit.register(os._exit, 0)


def filled(name: str, rows: Iterable[dict] | pd.DataFrame) -> pd.DataFrame:
    """A table of a schema with "" or 0 in the columns that `rows` leave open."""
    from babelatlas.base import tables

    given, empty = pd.DataFrame(rows), tables.empty(name)
    table = empty.reindex(range(len(given)))
    for column, kind in empty.dtypes.items():
        missing = "" if pd.api.types.is_string_dtype(kind) else 0
        table[column] = given.get(column, missing)
    return table


@contextlib.contextmanager
def rules_parsed_once():
    """Let Snakemake turn a file of rules into Python once in a process: it is half of
    what reading a config takes.
    """
    import snakemake.api  # noqa: F401 - each imports the other; it must be first
    from snakemake import workflow

    with mock.patch.object(workflow, "parse", _parse):
        yield


def _parse(path, of_workflow, linemap, rulecount=0):
    from snakemake import parser

    key = (path.get_path_or_uri(secret_free=True), rulecount)
    if key not in PARSED_RULES:
        lines = {}
        found = parser.parse(path, of_workflow, lines, rulecount=rulecount)
        PARSED_RULES[key] = found, lines
    found, lines = PARSED_RULES[key]
    linemap |= lines
    return found


def read_graph(values: dict, without: Iterable[str] = ()):
    """The rules of a config, given as its values, and its plan; `without`: pages of
    steps that failed.
    """
    from atlas_study.workflow.failures import WITHOUT
    from atlas_study.workflow.graph import Graph

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder, "run.yml")
        path.write_text(yaml.safe_dump(values), encoding="utf-8")
        patch.setenv(WITHOUT, ",".join(without))
        with rules_parsed_once():
            return Graph(path, ROOT)


@pytest.fixture(scope="session")
def demo_graph():
    """The rules and the plan of the demonstration run, for all tests that leave them as
    they are.
    """
    return read_graph(yaml.safe_load((ROOT / "config" / "demo.yml").read_text("utf-8")))


def snakemake(
    folder: Path, *arguments: str, config: Path = ROOT / "tests" / "tiny.yml"
) -> subprocess.CompletedProcess:
    """Run the workflow in `folder`, as `make book` does, and return what it printed and
    its exit status.
    """
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--snakefile",
        ROOT / "Snakefile",
        "--configfile",
        config,
    ]
    command += [
        "--directory",
        folder,
        "--cores",
        "2",
        "--nolock",
        "--rerun-incomplete",
        "--keep-going",
    ]
    command += ["--rerun-triggers", "mtime", "params", "input", "code", *arguments]
    variables = {
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "XDG_CACHE_HOME": os.fspath(folder / "cache"),
        # Each notebook's process records which shipped files it opens.
        "PYTHONPATH": f"{ROOT / 'tests' / 'recorder'}{os.pathsep}{ROOT / 'lib'}",
        "BABELATLAS_RECORD": os.fspath(folder / "opened"),
    }
    (folder / "opened").mkdir(exist_ok=True)
    words = [os.fspath(word) for word in command]
    return subprocess.run(
        words,
        cwd=ROOT,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def dry_run(folder: Path, *arguments: str, config: Path) -> str:
    """What Snakemake prints of a dry run in `folder`, which must not fail.

    It is played in this process, which has its libraries: a new one would take seconds
    to import them.
    """
    from snakemake import cli

    words = ["--snakefile", ROOT / "Snakefile", "--configfile", config]
    words += ["--directory", folder, "--cores", "2", "--nolock", "--dry-run"]
    words = [os.fspath(word) for word in [*words, *arguments]]
    printed = io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["snakemake", *words]),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
        rules_parsed_once(),
        pytest.raises(SystemExit) as ended,
    ):
        cli.main(words)
    assert not ended.value.code, printed.getvalue()
    return printed.getvalue()


def locked_run(
    folder: Path, config: Path, *arguments: str
) -> subprocess.CompletedProcess:
    """Run a config in `folder` by the command that `make book` calls; return what it
    printed and its exit status.
    """
    words = [
        sys.executable,
        "-m",
        "atlas_study",
        "locked",
        "snakemake",
        "--snakefile",
        ROOT / "Snakefile",
    ]
    words += [
        "--configfile",
        config,
        "--cores",
        "2",
        "--nolock",
        "--keep-going",
        "--quiet",
        "rules",
        "host",
        "reason",
        *arguments,
    ]
    variables = {
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    return subprocess.run(
        words,
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder with copies of public data; a test that needs it skips where it is
    absent.
    """
    if not MIRROR.is_dir():
        pytest.skip(f"no copy of the public data in {MIRROR} (set BABELATLAS_MIRROR)")
    return MIRROR


@pytest.fixture(scope="session")
def slurm() -> None:
    """A real Slurm that jobs can be submitted to; without it a test skips and says why."""
    import real_slurm

    if reason := real_slurm.absent():
        pytest.skip(reason)


@pytest.fixture(scope="session")
def parsed():
    """A function that reads a parsed table of the papers, by the name of its file."""

    def read(name, **how):
        if not (PARSED / name).is_file():
            pytest.skip(
                f"the parsed tables of the paper are not here ({name};"
                " BABELATLAS_PARSED names their folder)"
            )
        return pd.read_csv(PARSED / name, **how)

    return read


def whole_run(tmp_path_factory, name: str, config: Path) -> Path:
    """Return the folder of one run of a config, and of its book.

    Where several processes share the tests (pytest-xdist), the first that asks makes it
    and the others wait for it.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    said = folder.with_suffix(".txt")  # what Snakemake said, of a run that failed
    with FileLock(folder.with_suffix(".lock")):
        if not folder.exists():
            folder.mkdir()
            said.write_text("The run was not finished.", encoding="utf-8")
            done = snakemake(
                folder, "--quiet", "rules", "host", "reason", config=config
            )
            said.write_text(
                done.stdout[-3000:] + done.stderr[-6000:] if done.returncode else "",
                encoding="utf-8",
            )
    assert not said.read_text(encoding="utf-8"), said.read_text(encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def small_run(tmp_path_factory) -> Path:
    """The folder of one run of every notebook with small parameters (tests/tiny.yml),
    and of its book.
    """
    return whole_run(
        tmp_path_factory, "eine stüdie", ROOT / "tests" / "tiny.yml"
    )  # a blank and an umlaut


@pytest.fixture(scope="session")
def book(request) -> Path:
    """The folder of the rendered book: --book or BOOK where given, else that of the
    small run.
    """
    given = request.config.getoption("--book")
    folder = (
        Path(given)
        if given
        else request.getfixturevalue("small_run") / "_build" / "html"
    )
    assert (folder / "index.html").is_file(), (
        f"There is no book in {folder}: run `make book`."
    )
    return folder.resolve()
