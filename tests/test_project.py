"""The repository as a whole: pins agree, nothing of one machine is in it, licences and
documents are there.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib

import pytest
import yaml

from babelatlas.lexicon import wordnets
from conftest import ROOT, tracked


def pins(text: str) -> dict[str, set[str]]:
    """The versions of each package that a lock allows; more than one where markers
    choose.
    """
    found = {}
    for line in filter(None, text.splitlines()):
        if re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?", line):
            continue
        name, version = re.fullmatch(
            r"([a-z0-9.-]+)==([^ ;]+)(?: ;.*)?", line.removesuffix(" \\")
        ).groups()
        found.setdefault(name, set()).add(version)
    return found


def test_the_lock_holds_names_versions_and_hashes_only():
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    assert len(pins(text)) > 100
    packages = re.split(r"\n(?=\S)", text.strip())
    assert [
        lines.split()[0] for lines in packages if "--hash=sha256:" not in lines
    ] == []


def test_the_lock_holds_everything_that_is_needed_directly():
    locked = pins((ROOT / "requirements.txt").read_text(encoding="utf-8"))
    for line in (ROOT / "requirements.in").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, version = re.fullmatch(
                r"([A-Za-z0-9_.-]+)(?:==(.+)|[<>].*)?", line.partition(" ;")[0]
            ).groups()
            versions = locked[re.sub("[-_.]+", "-", name.lower())]
            assert version is None or versions == {version}


def test_conda_users_get_the_same_pins():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    conda = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    pip = next(
        entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)
    )
    assert pip == ["-r requirements.txt"], "pip installs the lock and nothing else"
    assert sorted(re.split("[=<>]", entry)[0] for entry in conda) == [
        "pip",
        "python",
    ], "conda brings Python and pip alone"


def test_the_package_needs_nothing_that_the_lock_lacks():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    locked = pins((ROOT / "requirements.txt").read_text(encoding="utf-8"))
    extras = project["optional-dependencies"]
    # UMAP, which no run here needs: principal components stand in.
    assert extras.pop("features") == ["umap-learn>=0.5.9"]
    needed = [
        *project["dependencies"],
        *(name for names in extras.values() for name in names),
    ]
    names = {re.split("[<>=]", entry)[0].lower() for entry in needed}
    names = {re.sub("[-_.]+", "-", name) for name in names}
    assert names <= set(locked)


@pytest.mark.parametrize(
    "pattern",
    [
        r"/(?:home|Users|root|work|tmp/env)/\w",  # a path of one machine
        r"--(?:extra-)?index-url|--find-links",
        r"https?://(?:[a-z]+\.)?(?:pypi|pythonhosted)\.",
    ],
)
def test_no_file_names_one_machine_or_a_package_index(pattern):
    for path in tracked():
        if (
            path.suffix in {".npz", ".parquet", ".png"}
            or path == ROOT / "tests" / "test_project.py"
        ):
            continue
        found = re.search(pattern, path.read_text(encoding="utf-8"))
        assert not found, f"{path.relative_to(ROOT)}: {found.group()}"


def test_the_documents_are_there():
    for name in (
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "LICENSE",
        "LICENSE-DATA.md",
        "CITATION.cff",
    ):
        assert len((ROOT / name).read_text(encoding="utf-8")) > 200
    assert "Numbers that changed" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    assert citation["version"] == project["version"]
    assert str(citation["date-released"]).startswith("20")
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    assert "repository" not in config, "an address stands in CITATION.cff alone"
    assert "baseurl" not in config["html"]


def test_every_licence_of_the_senses_is_in_the_licence_note():
    note = (ROOT / "LICENSE-DATA.md").read_text(encoding="utf-8")
    manifest = wordnets.manifest()
    listed = manifest[~manifest["source"].str.startswith("wikt")]
    for row in listed.itertuples():
        assert (
            f"| `{row.source}` | {row.name} | {row.lang} | {row.rows:,} |"
            f" {row.licence} |" in note
        )
    assert (
        f"{manifest.loc[manifest['source'].str.startswith('wikt'), 'lang'].nunique()}"
        " languages" in note
    )


def test_every_citation_has_an_entry():
    entries = set(
        re.findall(
            r"^@\w+\{(\w+),",
            (ROOT / "book" / "references.bib").read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    )
    for page in tracked("book/*.md", "notebooks/*/*.ipynb"):
        for keys in re.findall(
            r"\{cite:[pt]\}`([^`]+)`", page.read_text(encoding="utf-8")
        ):
            assert set(keys.split(",")) <= entries, f"{page.name} cites {keys}"


def test_every_notice_that_must_be_kept_ships_beside_the_senses():
    listed = wordnets.manifest().query("rows > 0 and source != 'wordnet-3.0'")
    asking = listed[listed["licence"].str.contains("keep the notice|MIT")]
    notices = (ROOT / "lib" / "babelatlas" / "data" / "senses_notices.txt").read_text(
        encoding="utf-8"
    )
    assert len(asking) == 9
    assert [source for source in asking["source"] if source not in notices] == []


@pytest.mark.slow
def test_the_checks_before_a_commit_change_nothing(tmp_path):
    settings = yaml.safe_load(
        (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    )
    notebooks = tracked("notebooks/*/*.ipynb")
    shutil.copyfile(ROOT / "pyproject.toml", tmp_path / "pyproject.toml")
    shutil.copytree(
        ROOT / "notebooks", tmp_path / "notebooks", ignore=shutil.ignore_patterns(".*")
    )
    (tmp_path / "lib").symlink_to(ROOT / "lib")  # what ruff takes for our own
    for hook in settings["repos"][0]["hooks"]:
        tool, *options = hook["entry"].removeprefix(".venv/bin/").split()
        files = [os.fspath(path.relative_to(ROOT)) for path in notebooks]
        done = subprocess.run(
            [sys.executable, "-m", tool, *options, *files],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert [
        path.name
        for path in notebooks
        if (tmp_path / path.relative_to(ROOT)).read_bytes() != path.read_bytes()
    ] == []


def test_the_rooms_import_downwards():
    words = [
        sys.executable,
        "-c",
        "from importlinter.cli import lint_imports_command as check; check()",
        "--no-cache",
    ]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
