"""The image and the development container: pinned, without root,
and of what git tracks.
"""

import json
import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

from conftest import ROOT


def instructions() -> list[tuple[str, str]]:
    """The lines of the Dockerfile as (instruction, arguments), continued lines joined."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [
        line for line in text.splitlines() if line.strip() and not line.startswith("#")
    ]
    return [tuple(line.split(maxsplit=1)) for line in lines]


def test_the_base_image_is_pinned_and_only_packages_are_installed_as_root():
    names = [name for name, _ in instructions()]
    first, *others = [words for name, words in instructions() if name == "FROM"]
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-[a-z]+ AS base", first)
    assert [words.split()[0] for words in others] == ["base"]
    before = [
        words for name, words in instructions()[: names.index("USER")] if name == "RUN"
    ]
    assert [words.split()[0] for words in before] == ["apt-get", "useradd"]
    assert dict(instructions())["USER"] == "atlas"


def test_what_git_ignores_does_not_reach_the_image_and_what_it_tracks_does():
    done = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip("needs a checkout of git")
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    patterns = [
        line.removeprefix("**/") for line in lines if line and not line.startswith("#")
    ]
    listed = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    assert {line.rstrip("/") for line in listed} | {".git"} == set(patterns)
    tracked = [Path(path).parts for path in done.stdout.splitlines()]
    assert [
        parts
        for parts in tracked
        if any(fnmatch(part, one) for part in parts for one in patterns)
    ] == []


def test_the_make_targets_and_stages_of_the_containers_are_there():
    called = {
        word
        for name, words in instructions()
        if name == "RUN"
        for word in re.findall(r"make (\S+)", words)
    }
    called.add(json.loads(dict(instructions())["CMD"])[1])
    container = json.loads(
        (ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8")
    )
    called.add(container["postCreateCommand"].removeprefix("make "))
    assert called == {".venv/installed", "book"}
    built = container["build"]
    assert (
        ROOT / ".devcontainer" / built["dockerfile"]
    ).resolve() == ROOT / "Dockerfile"
    assert any(
        name == "FROM" and words.endswith(f"AS {built['target']}")
        for name, words in instructions()
    )
