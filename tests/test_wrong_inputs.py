"""Every wrong input in wrong_inputs.toml is answered by one sentence, and nothing that
was there is lost.

A case is answered where the user meets it: words on the command line, or a call of the
library. `files` are laid into an empty folder first; the case must leave them as they
are.
"""

import pkgutil
import re
import tomllib
from pathlib import Path

import pandas as pd
import pytest

from atlas_study.commands import main as command_line
from babelatlas.base.errors import InputError
from conftest import ROOT

CASES = tomllib.loads(
    (ROOT / "tests" / "wrong_inputs.toml").read_text(encoding="utf-8")
)
LONGEST = 700  # characters of a sentence that names a file and several columns


def cases(kind: str) -> list:
    """The cases of a kind as parameters of a test, each called by what is wrong."""
    return [pytest.param(case, id=case["what"]) for case in CASES[kind]]


def laid(folder: Path, case: dict) -> dict[Path, bytes]:
    """Write the files of a case; their contents: text, or bytes in hexadecimal after
    "hex:".
    """
    written = {}
    for name, text in case.get("files", {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        written[path] = (
            bytes.fromhex(text[4:]) if text.startswith("hex:") else text.encode()
        )
        path.write_bytes(written[path])
    return written


def check(message: str, case: dict, written: dict[Path, bytes]) -> None:
    """Assert that a message is one sentence that says what it should, and that the
    files are as they were.
    """
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


@pytest.mark.parametrize("case", cases("command"))
def test_a_wrong_command_is_answered_in_a_sentence_and_its_exit_status(
    case, folder, capsys
):
    written = laid(folder, case)
    assert command_line.main(case["words"]) in (1, 2)
    said = [
        line
        for line in capsys.readouterr().err.splitlines()
        if line and not line.startswith(("Usage:", "Try "))
    ]
    check("\n".join(said), case, written)


def value(given):
    """Return an argument: what a {call = …} of its own returns, the frame of a {table =
    …}, or the value itself.
    """
    if isinstance(given, list):
        return [value(one) for one in given]
    if isinstance(given, dict) and "call" in given:
        named = {name: value(one) for name, one in given.get("named", {}).items()}
        return pkgutil.resolve_name(given["call"])(
            *map(value, given.get("arguments", [])), **named
        )
    return (
        pd.DataFrame(given["table"])
        if isinstance(given, dict) and set(given) == {"table"}
        else given
    )


@pytest.mark.parametrize("case", cases("call"))
def test_a_wrong_value_or_file_of_a_function_is_answered_in_a_sentence(
    case, folder, monkeypatch
):
    written = laid(folder, case)
    for name, text in case.get("environment", {}).items():
        monkeypatch.setenv(name, text)
    with pytest.raises(InputError) as error:
        value(case)
    check(str(error.value), case, written)
