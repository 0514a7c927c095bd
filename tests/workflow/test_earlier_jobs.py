"""Jobs that an earlier call left in Slurm's queue are cancelled before they are
submitted again.
"""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from atlas_study.workflow import earlier_jobs
from babelatlas.base.errors import InputError
from conftest import ROOT

NAME = "5f3b0a7e-24cf-4a3b-8a2e-90b7f8c9d012"
# In the form in which squeue prints them.
QUEUE = f"""\
41|{NAME}|/study|rule_zeroshot_wildcards_xlmr_babel
42|{NAME}|/study|rule_book
43|{NAME}|/other|rule_book
44|interactive|/study|(null)
45|mine_{NAME}|/study|rule_train
"""


def test_jobs_of_this_folder_are_found_and_others_are_left_alone():
    found = earlier_jobs.of_folder(QUEUE, Path("/study"))
    assert [job.number for job in found] == ["41", "42", "45"]
    assert found[0].what == "zeroshot_wildcards_xlmr_babel"
    assert earlier_jobs.of_folder("", Path("/study")) == []


def recorded(folder: Path, monkeypatch, stops: bool = True) -> Path:
    """Put a squeue that prints the recorded queue on the PATH, and a scancel that
    empties it, or not; return the file of what scancel was given.
    """
    queue, given = folder / "queue", folder / "given"
    queue.write_text(QUEUE, encoding="utf-8")
    empties = f": > {queue}" if stops else ":"
    programs = {
        "squeue": f"cat {queue}",
        "scancel": f'echo "$@" > {given}; {empties}',
    }
    for name, body in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return given


def test_they_are_cancelled_and_one_line_says_which(tmp_path, monkeypatch):
    given = recorded(tmp_path, monkeypatch)
    line = earlier_jobs.cancel(Path("/study"), pause=0.01)
    assert given.read_text(encoding="utf-8").split() == ["41", "42", "45"]
    assert "3 jobs: 41 (zeroshot_wildcards_xlmr_babel), 42 (book)" in line
    assert earlier_jobs.cancel(Path("/study")) == ""


def test_a_job_that_does_not_end_stops_the_call(tmp_path, monkeypatch):
    recorded(tmp_path, monkeypatch, stops=False)
    with pytest.raises(InputError, match="still runs"):
        earlier_jobs.cancel(Path("/study"), patience=0.05, pause=0.01)


def test_without_slurm_a_sentence_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="no squeue here"):
        earlier_jobs.cancel(tmp_path)


def test_the_profile_says_whether_jobs_go_to_slurm():
    assert earlier_jobs.submits_to_slurm(ROOT / "config" / "slurm")
    assert not earlier_jobs.submits_to_slurm(ROOT / "config" / "kubernetes")


# Each of two jobs notes when it begins and when it ends.
WORKFLOW = """
rule all:
    input: "a.txt", "b.txt"

rule step:
    output: "{name}.txt"
    shell:
        "echo begin $SLURM_JOB_ID $(date +%s.%N) >> {wildcards.name}.notes; sleep 15;"
        " echo end $SLURM_JOB_ID $(date +%s.%N) >> {wildcards.name}.notes;"
        " echo done > {output}"
"""
PROFILE = """
executor: slurm
jobs: 4
latency-wait: 5
default-resources: {runtime: 5, mem_mb: 500, cpus_per_task: 1}
slurm-init-seconds-before-status-checks: 1
"""


def until(happened, seconds: float, what: str) -> None:
    """Wait until something has happened; fail after some seconds."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.5)


@pytest.mark.slow
def test_after_a_killed_submitter_no_output_is_made_by_two_jobs_at_once(
    tmp_path, slurm
):
    (tmp_path / "profile").mkdir()
    (tmp_path / "profile" / "config.yaml").write_text(PROFILE, encoding="utf-8")
    (tmp_path / "Snakefile").write_text(textwrap.dedent(WORKFLOW), encoding="utf-8")
    call = [sys.executable, "-m", "atlas_study", "locked", "--", "snakemake"]
    call += ["--nolock", "--rerun-incomplete", "--profile", "profile"]
    notes = [tmp_path / f"{name}.notes" for name in "ab"]

    with (tmp_path / "first.log").open("w") as log:
        first = subprocess.Popen(call, cwd=tmp_path, stdout=log, stderr=log)
    try:
        until(lambda: all(map(Path.exists, notes)), 120, "both jobs run")
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait()
    second = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True)
    assert second.returncode == 0, second.stderr

    assert "Cancelled what an earlier call had left" in second.stderr
    for file in notes:
        lines = [line.split() for line in file.read_text().splitlines()]
        words = [line[0] for line in lines]
        numbers = [line[1] for line in lines]
        # The first job was stopped before its end; the second ran alone.
        assert words == ["begin", "begin", "end"]
        assert numbers[0] != numbers[1] == numbers[2]
