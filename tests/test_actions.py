"""GitHub's workflows: they parse, may do little, call what there is, and the study's
folder keeps what it has.
"""

import os
import re
import shutil
import subprocess
import tarfile

import pytest
import yaml

from conftest import ROOT

NAMES = sorted(path.stem for path in (ROOT / ".github" / "workflows").glob("*.yml"))


def read(name) -> dict:
    """A workflow; YAML 1.1 takes its key `on` for True."""
    content = yaml.safe_load(
        (ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8")
    )
    return {"on" if key is True else key: value for key, value in content.items()}


def steps(name) -> list[dict]:
    return [step for job in read(name)["jobs"].values() for step in job["steps"]]


def script(name, title) -> str:
    return next(step["run"] for step in steps(name) if step.get("name") == title)


def git(folder, *words):
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    done = subprocess.run(
        ["git", *identity, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def bash(text, folder, **settings):
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", text],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder)}
        | {key: str(value) for key, value in settings.items()},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_workflow_is_read():
    assert NAMES == ["check", "pages", "release", "study"]


@pytest.mark.parametrize("name", NAMES)
def test_a_workflow_may_read_and_only_the_publication_may_publish(name):
    content = read(name)
    assert content["permissions"] == {"contents": "read"}
    granted = {
        job: part["permissions"]
        for job, part in content["jobs"].items()
        if "permissions" in part
    }
    published = {"publish": {"pages": "write", "id-token": "write"}}
    released = {"release": {"actions": "read", "contents": "write"}}
    writes = {"pages": published, "release": {"archive": {"contents": "write"}}}
    writes["study"] = published | released
    assert granted == writes.get(name, {})
    assert "secrets." not in (ROOT / ".github" / "workflows" / f"{name}.yml").read_text(
        encoding="utf-8"
    )
    assert "pull_request_target" not in content["on"]
    checkouts = [
        step
        for step in steps(name)
        if step.get("uses", "").startswith("actions/checkout@")
    ]
    assert {step["with"]["persist-credentials"] for step in checkouts} == {False}


@pytest.mark.parametrize("name", NAMES)
def test_actions_are_the_hosts_own_at_a_commit_with_its_version(name):
    lines = (
        (ROOT / ".github" / "workflows" / f"{name}.yml")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    used = [
        line.split("uses:")[1].strip()
        for line in lines
        if re.match(r"\s*(- )?uses:", line)
    ]
    assert len(used) == len([step for step in steps(name) if "uses" in step]) > 0
    assert all(
        re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)
        for action in used
    )


@pytest.mark.parametrize("name", NAMES)
def test_commands_are_of_this_repository(name):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(
        re.search(r"^TARGETS := (.+)$", makefile, re.MULTILINE).group(1).split()
    )
    called = 0
    for run in (step["run"] for step in steps(name) if "run" in step):
        for words in re.findall(r"^\s*make (.+)$", run, re.MULTILINE):
            words = re.sub(r'--directory "[^"]+" ', "", words).split()
            assert words[0] in targets
            variables = [word.partition("=")[0] for word in words[1:]]
            assert all(
                re.search(rf"^{variable} \?= ", makefile, re.MULTILINE)
                for variable in variables
            )
            called += 1
        for file in re.findall(r"^\.\S+$", run, re.MULTILINE):
            assert os.access(ROOT / file, os.X_OK)
            called += 1
    assert called == 1


@pytest.mark.parametrize("name", NAMES)
def test_nothing_that_a_person_types_becomes_part_of_a_command(name):
    runs = [step["run"] for step in steps(name) if "run" in step]
    assert runs
    assert not [run for run in runs if "${{" in run]


@pytest.mark.parametrize("name", ["pages", "study"])
def test_what_the_pages_publish_is_the_book_of_make_book(name):
    uploaded = next(
        step for step in steps(name) if "upload-pages-artifact" in step.get("uses", "")
    )
    path = uploaded["with"]["path"].removeprefix("${{ vars.STUDY_FOLDER }}/")
    assert f"{path}/index.html" in (ROOT / "Snakefile").read_text(encoding="utf-8")


def test_the_form_of_the_study_says_where_its_book_goes():
    content = read("study")
    choice = content["on"]["workflow_dispatch"]["inputs"]["publish"]
    assert choice["options"] == ["artifact", "release", "pages"]
    assert choice["default"] == "artifact"
    jobs = content["jobs"]
    assert jobs["release"]["if"] == "inputs.publish == 'release'"
    assert jobs["publish"]["if"] == "inputs.publish == 'pages'"
    assert jobs["release"]["needs"] == jobs["publish"]["needs"] == "study"
    uploads = [step for step in jobs["study"]["steps"] if "upload" in str(step)]
    assert [step["if"] for step in uploads] == ["always()", "inputs.publish == 'pages'"]


def test_a_push_leaves_the_book_of_a_study_on_the_site_where_it_should_stay():
    condition = read("pages")["jobs"]["book"]["if"]
    by_hand = "github.event_name == 'workflow_dispatch'"
    assert condition == f"vars.PAGES_BOOK != 'study' || {by_hand}"


@pytest.mark.skipif(not shutil.which("tar"), reason="needs tar")
def test_a_release_has_the_book_and_scores_and_no_texts_or_pictures_of_others(tmp_path):
    study, runner = tmp_path / "a folder", tmp_path / "runner"
    runner.mkdir()
    files = ["results/paper/scores/languages.parquet", "results/paper/exports/s.csv"]
    files += ["results/paper/certificates/geigle2024.parquet"]
    texts = ["results/paper/labels/imagenet-1k.parquet"]
    texts += ["results/demo/scores/languages.parquet"]
    texts += ["results/paper/captions/xm3600.parquet", "results/paper/cache/v.npz"]
    for name in (*files, *texts, "_build/html/index.html"):
        (study / name).parent.mkdir(parents=True, exist_ok=True)
        (study / name).write_text(name, encoding="utf-8")
    (study / "mine.yml").write_text('seed: 0\nrun: "paper"  # ours\n', encoding="utf-8")
    collect = script("study", "Collect tables and book")
    places = {"STUDY_FOLDER": study, "RUNNER_TEMP": runner}
    done = bash(collect, tmp_path, CONFIG="mine.yml", **places)
    assert done.returncode == 0, done.stderr
    with tarfile.open(runner / "study" / "scores.tar.gz") as archive:
        assert sorted(archive.getnames()) == sorted(files)
    with tarfile.open(runner / "study" / "book.tar.gz") as archive:
        assert "html/index.html" in archive.getnames()
    with tarfile.open(runner / "study" / "results.tar.gz") as archive:
        assert texts[0] in archive.getnames()
        assert texts[-1] not in archive.getnames()

    gh = tmp_path / "bin" / "gh"
    gh.parent.mkdir()
    gh.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/called\n', encoding="utf-8")
    gh.chmod(0o755)
    release = script("study", "Release the book and the scores")
    path = f"{gh.parent}:{os.environ['PATH']}"
    names = {"RUN": 7, "TAG": "study-3", "COMMIT": "abc", "CONFIG": "config/paper.yml"}
    done = bash(release, tmp_path, PATH=path, **names)
    assert done.returncode == 0, done.stderr
    download, create = (tmp_path / "called").read_text(encoding="utf-8").splitlines()
    assert download == "run download 7 --name study --dir study"
    assert create.startswith(
        "release create study-3 study/book.tar.gz study/scores.tar.gz --target abc"
    )


@pytest.mark.skipif(not shutil.which("tar"), reason="needs tar")
def test_a_run_that_failed_before_its_first_table_still_leaves_an_artifact(tmp_path):
    (tmp_path / "mine.yml").write_text("run: mine\n", encoding="utf-8")
    collect = script("study", "Collect tables and book")
    places = {"STUDY_FOLDER": tmp_path, "RUNNER_TEMP": tmp_path}
    done = bash(collect, tmp_path, CONFIG="mine.yml", **places)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(
    not (shutil.which("git") and shutil.which("bash")), reason="needs git and bash"
)
def test_the_studys_folder_follows_the_commit_and_keeps_results_and_what_did_not_change(
    tmp_path,
):
    source, folder = tmp_path / "source", tmp_path / "a folder" / "study"
    source.mkdir()
    git(source, "init", "--quiet")
    for name in ("same", "other"):
        (source / name).write_text("first", encoding="utf-8")
    git(source, "add", ".")
    git(source, "commit", "--quiet", "-m", "one")
    update = script("study", "Bring the study's folder to this commit")
    settings = {"GITHUB_WORKSPACE": source, "STUDY_FOLDER": folder}
    done = bash(update, source, **settings)
    assert done.returncode == 0, done.stderr
    (folder / "results").mkdir()
    (folder / "results" / "table").write_text("kept", encoding="utf-8")
    before = (folder / "same").stat().st_mtime_ns
    (source / "other").write_text("second", encoding="utf-8")
    git(source, "commit", "--quiet", "-am", "two")
    done = bash(update, source, **settings)
    assert done.returncode == 0, done.stderr
    assert (folder / "other").read_text(encoding="utf-8") == "second"
    assert (folder / "same").stat().st_mtime_ns == before
    assert (folder / "results" / "table").read_text(encoding="utf-8") == "kept"
    assert git(folder, "rev-parse", "HEAD") == git(source, "rev-parse", "HEAD")
