"""GPUs are given to one job each: those that the environment allows, locked, freed when
a job dies.
"""

import subprocess
import sys

import pytest

from atlas_study.workflow import run_notebook
from babelatlas.base.errors import InputError
from babelatlas.base.gpus import jobs_per_gpu

# A job: it takes a GPU, says which it has, and holds it until it is told to end.
JOB = """
import sys
from atlas_study.workflow import run_notebook
print(run_notebook.claim_gpu(0.05), flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        ("1,0", ["1", "0"]),
        ("", []),
        ("-1", []),
        ("GPU-aaaa", ["GPU-aaaa"]),
        (None, ["GPU-x"]),
    ],
)
def test_the_gpus_are_those_of_the_environment_or_all_of_the_machine(
    tmp_path, monkeypatch, visible, expected
):
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho GPU-x\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.delenv(run_notebook.VISIBLE, raising=False)
    if visible is not None:
        monkeypatch.setenv(run_notebook.VISIBLE, visible)
    assert run_notebook.available_gpus() == expected


def test_without_a_working_nvidia_smi_there_is_no_gpu_and_nothing_is_set(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(run_notebook.VISIBLE, raising=False)
    assert run_notebook.claim_gpu() == ""
    assert run_notebook.VISIBLE not in run_notebook.os.environ


def test_each_job_has_a_gpu_of_its_own_and_a_killed_one_frees_it(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv(run_notebook.VISIBLE, "0,1")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    jobs = [subprocess.Popen([sys.executable, "-c", JOB], **pipes) for _ in range(2)]
    try:
        first, second = (job.stdout.readline().strip() for job in jobs)
        assert {first, second} == {"0", "1"}
        jobs.append(subprocess.Popen([sys.executable, "-c", JOB], **pipes))
        jobs[0].kill()
        assert jobs[2].stdout.readline().strip() == first
    finally:
        for job in jobs:
            job.kill()
            job.communicate()


@pytest.mark.parametrize("visible", ["0", "0,1"])
def test_gpus_are_shared_by_as_many_jobs_as_asked_for_those_without_any_first(
    visible, tmp_path, monkeypatch
):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv(run_notebook.VISIBLE, visible)
    monkeypatch.setenv("JOBS_PER_GPU", "2")
    names = visible.split(",")
    assert run_notebook.gpu_places() == names * 2
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    jobs, claimed = [], []
    try:
        for _ in names * 2:
            jobs.append(subprocess.Popen([sys.executable, "-c", JOB], **pipes))
            claimed.append(jobs[-1].stdout.readline().strip())
        assert claimed == names * 2
    finally:
        for job in jobs:
            job.kill()
            job.communicate()


@pytest.mark.parametrize("given", ["0", "-1", "two", "1.5"])
def test_a_number_of_jobs_that_is_none_is_told_in_one_sentence(
    given, monkeypatch, capsys
):
    monkeypatch.setenv(run_notebook.VISIBLE, "0,1")
    monkeypatch.setenv("JOBS_PER_GPU", given)
    with pytest.raises(
        InputError, match=f"JOBS_PER_GPU is '{given}': expected a whole"
    ):
        jobs_per_gpu()
    assert run_notebook.tell_places() == 1
    assert capsys.readouterr().err.count("\n") == 1
    monkeypatch.setenv("JOBS_PER_GPU", "")
    assert run_notebook.tell_places() == 0
    assert capsys.readouterr().out == "2\n"
