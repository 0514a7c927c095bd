"""The image, the development container and Binder's environment: pinned, without root, and of what git tracks."""

import json
import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

from conftest import ROOT

INSTRUCTIONS = {"FROM", "RUN", "USER", "WORKDIR", "COPY", "CMD"}


def instructions() -> list[tuple[str, str]]:
    """The lines of the Dockerfile as (instruction, arguments), continued lines joined."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [tuple(line.split(maxsplit=1)) for line in lines]


def ignored() -> list[str]:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def tracked() -> list[str]:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("needs a checkout of git")
    return done.stdout.split()


def targets() -> set[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("$(STAMP)", ".venv/installed")
    return set(re.findall(r"^([\w./-]+)(?: [\w-]+)*:(?!=)", makefile, re.MULTILINE))


def test_the_base_image_is_pinned_by_its_whole_version_and_stages_build_on_it():
    first, *others = [words for name, words in instructions() if name == "FROM"]
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-[a-z]+ AS base", first)
    assert [words.split()[0] for words in others] == ["base"]
    assert {name for name, _ in instructions()} == INSTRUCTIONS


def test_packages_alone_are_installed_as_root_and_the_index_of_packages_is_not_kept():
    names = [name for name, _ in instructions()]
    before = [words for name, words in instructions()[: names.index("USER")] if name == "RUN"]
    assert [words.split()[0] for words in before] == ["apt-get", "useradd"]
    assert all("rm -rf /var/lib/apt/lists/*" in words for words in before if "apt-get" in words)
    assert dict(instructions())["USER"] == "atlas"
    after = " ".join(words for name, words in instructions()[names.index("USER") :])
    assert not re.search(r"sudo|/root|apt-get|USER root", after)


def test_what_is_copied_is_tracked_and_belongs_to_the_user():
    known = tracked()
    for words in (words for name, words in instructions() if name == "COPY"):
        owner, *sources, _ = words.split()
        assert owner == "--chown=atlas:atlas"
        assert [one for one in sources if one != "." and not any(path.split("/")[0] == one for path in known)] == []


def test_nothing_that_git_ignores_reaches_the_image_and_everything_that_it_tracks_does():
    patterns = [pattern.removeprefix("**/") for pattern in ignored()]
    listed = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    assert {line.rstrip("/") for line in listed} | {".git"} == set(patterns)
    hidden = [path for path in tracked() if any(fnmatch(part, one) for part in Path(path).parts for one in patterns)]
    assert hidden == []


def test_the_make_targets_of_the_containers_are_there():
    called = {word for name, words in instructions() if name == "RUN" for word in re.findall(r"make (\S+)", words)}
    called.add(json.loads(dict(instructions())["CMD"])[1])
    folder = ROOT / ".devcontainer"
    container = json.loads((folder / "devcontainer.json").read_text(encoding="utf-8"))
    called.add(container["postCreateCommand"].removeprefix("make "))
    assert called == {".venv/installed", "book"}
    assert called <= targets()
    built = container["build"]
    assert (folder / built["dockerfile"]).resolve() == ROOT / "Dockerfile"
    assert (folder / built["context"]).resolve() == ROOT
    assert any(name == "FROM" and words.endswith(f"AS {built['target']}") for name, words in instructions())
    assert container["remoteUser"] == dict(instructions())["USER"]


def test_binder_installs_the_base_and_a_python_that_the_library_takes():
    lines = (ROOT / "binder" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    wanted = [line for line in lines if line and not line.startswith("#")]
    assert wanted[0] == "."
    declared = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert all(f'"{line}"' in declared for line in wanted[1:])
    version = (ROOT / "binder" / "runtime.txt").read_text(encoding="utf-8").strip()
    assert tuple(map(int, version.removeprefix("python-").split("."))) >= (3, 11)


def test_the_image_is_built_where_a_container_tool_runs():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    loop = r"for tool in docker podman; do\n.*info.*\n.*FROM.*\n\s+\"\$tool\" pull .*exit 0; }\n"
    assert re.search(loop + r"\s+timed \"\$tool\" build --tag \w+ \.\n", script)
