"""Every wrong input in wrong_inputs.toml is answered by one sentence, soon, and nothing that was there is lost.

A case is answered where the user meets it: a config as `make book` checks it, words on the command line, a call of the
library, or a cell of a notebook. `files` are laid into an empty folder first; the case must leave them as they are.
"""

import pkgutil
import re
import subprocess
import tomllib
from pathlib import Path

import matplotlib
import pandas as pd
import pytest
import yaml

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.workflow import command_line, config, notebooks
from conftest import ROOT

CASES = tomllib.loads((ROOT / "tests" / "wrong_inputs.toml").read_text(encoding="utf-8"))
KINDS = ("config", "command", "make", "call", "notebook")
LONGEST = 700  # characters of a sentence that names a file and several columns


def cases(kind: str) -> list:
    """The cases of a kind as parameters of a test, each called by what is wrong."""
    marks = {True: [pytest.mark.slow], False: []}
    return [pytest.param(case, id=case["what"], marks=marks[case.get("slow", False)]) for case in CASES.get(kind, [])]


def laid(folder: Path, case: dict) -> dict[Path, bytes]:
    """Write the files of a case; their contents: text, or bytes in hexadecimal after "hex:"."""
    written = {}
    for name, text in case.get("files", {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        written[path] = bytes.fromhex(text[4:]) if text.startswith("hex:") else text.encode()
        path.write_bytes(written[path])
    return written


def check(message: str, case: dict, written: dict[Path, bytes]) -> None:
    """Assert that a message is one sentence that says what it should, and that the files are as they were."""
    assert case["says"] in message
    assert len(message.strip().splitlines()) == 1, message
    assert "Traceback" not in message
    assert len(message) <= LONGEST
    assert re.search(r"[.!?]\s*$", message), f"no sentence: {message}"
    assert {path: path.read_bytes() for path in written} == written


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An empty folder to stand in, with a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def checked(path: Path) -> None:
    """Check a config as the Snakefile does before it plans a job."""
    given = config.read(path)
    config.check_config(given, ROOT)
    config.check_paths(given)


@pytest.mark.parametrize("case", cases("config"))
def test_a_wrong_config_is_answered_in_a_sentence_before_anything_runs(case, folder):
    written = laid(folder, case)
    path = folder / "given.yml"
    if "changes" in case:  # YAML lines that replace keys of the small config
        whole = yaml.safe_load((ROOT / "tests" / "tiny.yml").read_text(encoding="utf-8"))
        path.write_text(yaml.safe_dump(whole | yaml.safe_load(case["changes"])), encoding="utf-8")
    else:
        written |= laid(folder, {"files": {"given.yml": case["file"]}})
    with pytest.raises(InputError) as error:
        checked(path)
    check(str(error.value), case, written)


@pytest.mark.parametrize("case", cases("command"))
def test_a_wrong_command_is_answered_in_a_sentence_and_its_exit_status(case, folder, capsys):
    written = laid(folder, case)
    status = command_line.main([word.replace("{root}", str(ROOT)) for word in case["words"]])
    assert status not in (0, None)
    said = [line for line in capsys.readouterr().err.splitlines() if not line.startswith(("Usage:", "Try ")) and line]
    check("\n".join(said), case, written)


@pytest.fixture(scope="module")
def make() -> list[str]:
    """The words that call make in the folder of the study, where that does not begin with making an environment."""
    words = ["make", "--directory", str(ROOT), "--no-print-directory"]
    if subprocess.run([*words, "--question", ".venv/installed"], capture_output=True, check=False).returncode:
        pytest.skip("the environment of `make` is not there or older than the lock")
    return words


@pytest.mark.parametrize("case", cases("make"))
def test_a_wrong_word_or_config_of_make_is_answered_in_a_sentence(case, folder, make):
    written = laid(folder, case)
    words = [word.replace("{folder}", str(folder)) for word in case["words"]]
    done = subprocess.run([*make, "book", *words], capture_output=True, text=True, check=False)
    assert done.returncode
    said = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("make")]
    check("\n".join(said), case, written)


def test_a_config_with_a_byte_order_mark_or_with_the_line_ends_of_windows_is_read_as_it_is_without(folder):
    text = (ROOT / "tests" / "tiny.yml").read_bytes()
    for name, other in {"mark.yml": b"\xef\xbb\xbf" + text, "ends.yml": text.replace(b"\n", b"\r\n")}.items():
        Path(name).write_bytes(other)
        assert config.read(name) == yaml.safe_load(text)


def test_a_file_that_is_too_large_for_a_config_is_not_read(folder):
    Path("large.yml").write_text("run: demo\n" * 200_000, encoding="utf-8")
    with pytest.raises(InputError, match="larger than 1,000,000 bytes, and no config"):
        config.read("large.yml")


def test_a_chapter_of_the_users_own_with_a_blank_or_a_quote_in_its_name_is_to_be_renamed(folder):
    (folder / "config").mkdir()
    (folder / "config" / "schema.yaml").write_bytes((ROOT / "config" / "schema.yaml").read_bytes())
    (folder / "notebooks" / "chapters").mkdir(parents=True)
    given = yaml.safe_load((ROOT / "tests" / "tiny.yml").read_text(encoding="utf-8"))
    for name in ("39 mine", "39'mine", "39{mine}", "39$(mine)"):
        (folder / "notebooks" / "chapters" / f"{name}.ipynb").write_text('{"cells": []}', encoding="utf-8")
        with pytest.raises(InputError, match="needs a name of letters, digits, - and _: rename the notebook"):
            config.check_config(given | {"chapters": [name]}, folder)


def value(given):
    """Return an argument: what a {call = …} of its own returns, the frame of a {table = …}, or the value itself."""
    if isinstance(given, list):
        return [value(one) for one in given]
    if isinstance(given, dict) and "call" in given:
        named = {name: value(one) for name, one in given.get("named", {}).items()}
        return pkgutil.resolve_name(given["call"])(*map(value, given.get("arguments", [])), **named)
    return pd.DataFrame(given["table"]) if isinstance(given, dict) and set(given) == {"table"} else given


@pytest.mark.parametrize("case", cases("call"))
def test_a_wrong_value_or_file_of_a_function_is_answered_in_a_sentence(case, folder, monkeypatch):
    written = laid(folder, case)
    for name, text in case.get("environment", {}).items():
        monkeypatch.setenv(name, text)
    with pytest.raises(InputError) as error:
        value(case)
    check(str(error.value), case, written)


def run(path: Path, given: dict) -> None:
    """Run the code of a notebook in this process, with parameters set after the cells that declare them."""
    names = {}
    for cell in notebooks.cells(path):
        if cell["cell_type"] == "code":
            exec(compile(cell["source"], str(path), "exec"), names)
            if {*notebooks.TAGS} & {*cell["metadata"].get("tags", [])}:
                names |= {name: one for name, one in given.items() if name in names}


@pytest.mark.parametrize("case", cases("notebook"))
def test_a_wrong_parameter_or_file_of_a_notebook_is_answered_in_a_sentence(case, folder):
    matplotlib.use("agg")
    written = laid(folder, case)
    for path, (schema, columns) in case.get("tables", {}).items():
        tables.write(pd.DataFrame(columns), path, schema)
    notebook = ROOT / "notebooks" / f"{case['notebook']}.ipynb"
    assert set(case["parameters"]) <= set(notebooks.defaults(notebook))
    with pytest.raises(InputError) as error:
        run(notebook, case["parameters"])
    check(str(error.value), case, written)


def test_the_cases_are_many_and_each_is_another():
    assert set(CASES) <= set(KINDS)
    all_cases = [case for kind in CASES.values() for case in kind]
    given = [{key: value for key, value in case.items() if key not in ("what", "says")} for case in all_cases]
    assert all(given.count(one) == 1 for one in given)
    names = [case["what"] for case in all_cases]
    assert len(set(names)) == len(names) >= 150
