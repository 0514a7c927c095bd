"""GPUs are given to one job each: listed as the machine and the environment say, locked, freed when a job dies."""

import os
import select
import signal
import subprocess
import sys

import pytest

from babelatlas.workflow import gpus

TWO = """GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-aaaa1111)
GPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-bbbb2222)
"""
CUT = """GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-aaaa1111)
  MIG 3g.20gb     Device  0: (UUID: MIG-cccc3333)
  MIG 3g.20gb     Device  1: (UUID: MIG-dddd4444)
GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-bbbb2222)
"""
# A job: it takes a GPU, says which it has, and holds it until it is told to end.
JOB = """
import sys
from babelatlas.workflow import gpus
with gpus.claimed(0.05) as name:
    print(name, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A function that makes this a machine whose nvidia-smi prints a text; its locks lie in a folder of the test."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(gpus.tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv(gpus.VISIBLE, raising=False)
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)

    def make(listing: str, status: int = 0) -> None:
        program = tmp_path / "bin" / "nvidia-smi"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{listing}END\nexit {status}\n", encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")

    return make


@pytest.fixture
def start():
    """A function that starts a job and returns its process; all that still run are killed at the end."""
    jobs = []

    def begin() -> subprocess.Popen:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        jobs.append(subprocess.Popen([sys.executable, "-c", JOB], **pipes))
        return jobs[-1]

    yield begin
    for job in jobs:
        job.kill()
        job.communicate()


def test_without_a_working_nvidia_smi_there_is_no_gpu_and_nothing_is_set(machine, monkeypatch):
    machine("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", status=9)
    assert gpus.available() == []
    with gpus.claimed() as name:
        assert name == ""
        assert gpus.VISIBLE not in os.environ


@pytest.mark.parametrize(
    ("listing", "visible", "expected"),
    [
        (TWO, None, ["GPU-aaaa1111", "GPU-bbbb2222"]),
        (TWO, "1", ["GPU-bbbb2222"]),
        (TWO, "1,0", ["GPU-bbbb2222", "GPU-aaaa1111"]),
        (TWO, "", []),
        (TWO, "0,-1,1", ["GPU-aaaa1111"]),
        (TWO, "GPU-bbbb", ["GPU-bbbb2222"]),
        (TWO, "7", ["7"]),
        (CUT, None, ["MIG-cccc3333", "MIG-dddd4444", "GPU-bbbb2222"]),
        (CUT, "MIG-dddd4444", ["MIG-dddd4444"]),
    ],
)
def test_the_gpus_are_those_of_the_environment_or_all_and_a_cut_one_counts_as_its_parts(
    machine, monkeypatch, listing, visible, expected
):
    machine(listing)
    if visible is not None:
        monkeypatch.setenv(gpus.VISIBLE, visible)
    assert gpus.available() == expected


def test_no_two_jobs_have_one_gpu_and_a_third_waits_until_one_is_killed(machine, start):
    machine(TWO)
    first, second = start(), start()
    names = [job.stdout.readline().strip() for job in (first, second)]
    assert sorted(names) == ["GPU-aaaa1111", "GPU-bbbb2222"]
    third = start()
    assert third.stdout.readline() == "  waiting  for one of 2 GPU(s): all are taken\n"
    assert not select.select([third.stdout], [], [], 0.3)[0], "it took a GPU that another job has"
    first.send_signal(signal.SIGKILL)
    assert third.stdout.readline().strip() == names[0]


def test_a_job_that_ends_frees_its_gpu_and_sets_the_environment_back(machine, monkeypatch):
    machine(TWO)
    monkeypatch.setenv(gpus.VISIBLE, "1")
    for _ in range(2):
        with gpus.claimed() as name:
            assert os.environ[gpus.VISIBLE] == name == "GPU-bbbb2222"
        assert os.environ[gpus.VISIBLE] == "1"


def test_numbers_without_a_uuid_are_those_of_one_job_of_a_cluster(machine, monkeypatch):
    machine("", status=1)
    monkeypatch.setenv(gpus.VISIBLE, "0")
    monkeypatch.setenv("SLURM_JOB_ID", "11")
    with gpus.claimed() as outer:
        monkeypatch.setenv("SLURM_JOB_ID", "12")  # another job on this node, which calls another GPU 0
        with gpus.claimed() as inner:
            assert (outer, inner) == ("0", "0")


def test_many_jobs_at_once_never_share(machine, start):
    machine("".join(f"GPU {number}: X (UUID: GPU-{number})\n" for number in range(6)))
    jobs = [start() for _ in range(6)]
    assert len({job.stdout.readline() for job in jobs}) == 6


def test_hidden_gpus_come_back(monkeypatch):
    monkeypatch.delenv(gpus.VISIBLE, raising=False)
    with gpus.visible(""):
        assert os.environ[gpus.VISIBLE] == ""
    assert gpus.VISIBLE not in os.environ


@pytest.mark.parametrize(("given", "printed"), [("run: demo", "2"), ("gpus: 1", "1"), ("gpus: 9", "2")])
def test_a_run_uses_as_many_gpus_as_there_are_and_the_config_allows(machine, tmp_path, capsys, given, printed):
    machine(TWO)
    (tmp_path / "run.yml").write_text(given, encoding="utf-8")
    assert gpus.main([str(tmp_path / "run.yml")]) == 0
    assert capsys.readouterr().out == f"{printed}\n"


def test_the_number_that_is_asked_for_goes_before_the_configs(machine, tmp_path, capsys):
    machine(TWO)
    (tmp_path / "run.yml").write_text("gpus: 1", encoding="utf-8")
    assert gpus.main([str(tmp_path / "run.yml"), "2"]) == 0
    assert capsys.readouterr().out == "2\n"


@pytest.mark.parametrize(
    ("given", "asked", "sentence"),
    [
        ("", "abc", "should be a number from 1, got abc"),
        ("", "0", "should be a number from 1, got 0"),
        ("gpus: many", "", "should be a number from 1, got many"),
        ("models: [", "", "cannot be read as YAML"),
        ("models", "", "should hold 'key: value' lines"),
    ],
)
def test_a_number_or_a_config_that_is_none_is_told(machine, tmp_path, capsys, given, asked, sentence):
    machine(TWO)
    (tmp_path / "run.yml").write_text(given, encoding="utf-8")
    assert gpus.main([str(tmp_path / "run.yml"), asked]) == 1
    told = capsys.readouterr()
    assert (told.out, sentence in told.err) == ("", True)


def test_help_is_no_config(capsys):
    with pytest.raises(SystemExit, match="0"):
        gpus.main(["--help"])
    assert "Print how many GPUs a run may use at once" in capsys.readouterr().out


def test_without_a_gpu_no_number_is_printed(machine, capsys):
    machine("", status=1)
    gpus.main([])
    assert capsys.readouterr().out == "\n"


def test_a_folder_of_locks_that_is_somebody_elses_is_refused(machine, tmp_path):
    machine(TWO)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"babelatlas-gpus-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(gpus.InputError, match="belongs to somebody else"):
        gpus.folder()


def test_a_file_in_the_place_of_the_folder_of_locks_is_told_in_a_sentence(machine, tmp_path):
    machine(TWO)
    (tmp_path / f"babelatlas-gpus-{os.getuid()}").write_text("")
    with pytest.raises(gpus.InputError, match=r"cannot be made \(File exists\): delete what is there"):
        gpus.folder()
