"""GPUs are given to one job each: those that the environment allows, locked, freed when
a job dies.
"""

import subprocess
import sys

import pytest

from atlas_study.workflow import gpus
from babelatlas.base.errors import InputError
from babelatlas.base.gpus import jobs_per_gpu

# A job: it takes a GPU, says which it has, and holds it until it is told to end.
JOB = """
import sys
from atlas_study.workflow import gpus
print(gpus.claim_gpu(0.05), flush=True)
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
    monkeypatch.delenv(gpus.VISIBLE, raising=False)
    if visible is not None:
        monkeypatch.setenv(gpus.VISIBLE, visible)
    assert gpus.available_gpus() == expected


def test_without_a_working_nvidia_smi_there_is_no_gpu_and_nothing_is_set(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(gpus.VISIBLE, raising=False)
    assert gpus.claim_gpu() == ""
    assert gpus.VISIBLE not in gpus.os.environ


def test_each_job_has_a_gpu_of_its_own_and_a_killed_one_frees_it(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv(gpus.VISIBLE, "0,1")
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
    monkeypatch.setenv(gpus.VISIBLE, visible)
    monkeypatch.setenv("JOBS_PER_GPU", "2")
    names = visible.split(",")
    assert gpus.gpu_places() == names * 2
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
    monkeypatch.setenv(gpus.VISIBLE, "0,1")
    monkeypatch.setenv("JOBS_PER_GPU", given)
    with pytest.raises(
        InputError, match=f"JOBS_PER_GPU is '{given}': expected a whole"
    ):
        jobs_per_gpu()
    assert gpus.main() == 1
    assert capsys.readouterr().err.count("\n") == 1
    monkeypatch.setenv("JOBS_PER_GPU", "")
    assert gpus.main() == 0
    assert capsys.readouterr().out == "2\n"
