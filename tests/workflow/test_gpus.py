"""GPUs are given to one job each: those that the environment allows, locked, freed when
a job dies.
"""

import subprocess
import sys

import pytest

from atlas_study.workflow import run_notebook

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
