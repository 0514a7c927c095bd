"""Shared by the tests: the project's folder, and one small run of the whole study."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MIRROR = Path(os.environ.get("BABELATLAS_MIRROR", ROOT.parent / "shared" / "mirror"))


def pytest_addoption(parser):
    parser.addoption(
        "--book", default=os.environ.get("BOOK"), help="folder of a rendered book to test in place of the small run's"
    )


def snakemake(folder: Path, *arguments: str, config: Path = ROOT / "tests" / "tiny.yml") -> subprocess.CompletedProcess:
    """Run the workflow in `folder`, as `make book` does, and return what it printed and its exit status."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile", "--configfile", config]
    command += ["--directory", folder, "--cores", "2", "--nolock", "--rerun-incomplete", "--keep-going"]
    command += ["--rerun-triggers", "mtime", "params", "input", "code", *arguments]
    settings = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "XDG_CACHE_HOME": os.fspath(folder / "cache")}
    words = [os.fspath(word) for word in command]
    return subprocess.run(words, cwd=ROOT, env=os.environ | settings, capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder with copies of public data; a test that needs it skips where it is absent."""
    if not MIRROR.is_dir():
        pytest.skip(f"no copy of the public data in {MIRROR} (set BABELATLAS_MIRROR)")
    return MIRROR


@pytest.fixture(scope="session")
def small_run(tmp_path_factory) -> Path:
    """The folder of one run of every notebook with small parameters (tests/tiny.yml), and of its book."""
    folder = tmp_path_factory.mktemp("study")
    done = snakemake(folder, "--quiet", "rules", "host", "reason")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    return folder


@pytest.fixture(scope="session")
def book(request) -> Path:
    """The folder of the rendered book: --book or BOOK where given, else that of the small run."""
    given = request.config.getoption("--book")
    folder = Path(given) if given else request.getfixturevalue("small_run") / "_build" / "html"
    assert (folder / "index.html").is_file(), f"There is no book in {folder}: run `make book`."
    return folder.resolve()
