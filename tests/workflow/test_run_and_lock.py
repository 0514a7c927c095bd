"""One notebook by itself leaves the tables of runs alone, and one folder has one run at a time."""

import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from babelatlas.base.errors import InputError
from babelatlas.workflow import command_line, notebooks
from conftest import ROOT


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*/*.ipynb")), ids=lambda path: path.stem)
def test_by_itself_a_notebook_writes_to_the_scratch_folder_only(path):
    for name, value in notebooks.declared(path)["outputs"].items():
        places = value.values() if isinstance(value, dict) else [value]
        assert all(place == "" or place.startswith("results/scratch") for place in places), name


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--parameter", "fixed"], "A parameter is given as NAME=VALUE, got 'fixed'"),
        (["--parameter", "fxed=3"], r"no parameter 'fxed': did you mean fixed\?"),
        (["--parameter", "fixed=many"], "'fixed' of the notebook 31_class_count should be a whole number"),
        (["--parameter", "fixed=[1"], "A value of --parameter is not YAML"),
    ],
)
def test_a_wrong_parameter_of_a_single_notebook_is_one_sentence(words, sentence):
    notebook = str(ROOT / "notebooks" / "chapters" / "31_class_count.ipynb")
    done = CliRunner().invoke(command_line.app, ["run", notebook, *words])
    assert isinstance(done.exception, InputError)
    with pytest.raises(InputError, match=sentence):
        raise done.exception


def test_a_second_run_in_a_folder_is_refused_in_a_sentence_and_a_killed_one_leaves_no_lock(tmp_path):
    command = [sys.executable, "-m", "babelatlas", "locked"]
    first = subprocess.Popen([*command, sys.executable, "-c", "print('on', flush=True); input()"], cwd=tmp_path,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
    assert first.stdout.readline() == b"on\n"
    second = subprocess.run([*command, "true"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (second.returncode, second.stderr.startswith("Another run works in this folder: ")) == (1, True)
    first.kill()
    first.wait()
    first.stdin.close()
    first.stdout.close()
    time.sleep(0.2)
    assert subprocess.run([*command, "true"], cwd=tmp_path, check=False).returncode == 0


def test_the_exit_status_of_the_locked_command_is_passed_on(tmp_path):
    words = [sys.executable, "-m", "babelatlas", "locked", sys.executable, "-c", "raise SystemExit(3)"]
    assert subprocess.run(words, cwd=tmp_path, check=False).returncode == 3
