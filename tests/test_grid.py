"""The grid: killed at random moments it ends with the same bytes, a model more is a job more, Slurm runs it as well."""

import base64
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from babelatlas.workflow import messages
from conftest import ROOT, snakemake
from test_project import pins
from workflow.test_config import jobs

RUN = Path("results") / "tiny"
QUIET = ["--quiet", "rules", "host", "reason"]
# What is made again in the test: everything of one model, and a chapter on all.
REDONE = {
    "zeroshot": ["picto-en_pictograms.parquet"],
    "subsets": ["picto-en_pictograms.parquet"],
    "retrieval": ["picto-en_pictogram-captions.parquet"],
    "embeddings": ["picto-en/pictograms.npz"],
    "scores": ["accuracy.parquet"],
}
TARGETS = [
    *(f"{RUN}/{kind}/{name}" for kind, names in REDONE.items() for name in names),
    f"{RUN}/notebooks/30_accuracy.ipynb",
]


def tiny() -> dict:
    """The config of the small run."""
    return yaml.safe_load((ROOT / "tests" / "tiny.yml").read_text(encoding="utf-8"))


def given(folder: Path, **changes) -> Path:
    """A file with the small run's config, changed."""
    path = folder / "changed.yml"
    path.write_text(yaml.safe_dump(tiny() | changes), encoding="utf-8")
    return path


def planned(folder: Path, config: Path) -> dict[str, int]:
    """The jobs that a dry run plans: rule -> number."""
    done = snakemake(folder, "--dry-run", *QUIET, config=config)
    assert done.returncode == 0, done.stderr
    return jobs(done.stdout + done.stderr)


def differences(folder: Path, other: Path) -> list[str]:
    """The files of the redone kinds, in either folder, whose bytes are not the same in both."""
    names = {
        file.relative_to(place)
        for place in (folder, other)
        for kind in REDONE
        for file in (place / RUN / kind).rglob("*")
        if file.is_file()
    }
    both = [name for name in names if (folder / name).is_file() and (other / name).is_file()]
    same = {name for name in both if (folder / name).read_bytes() == (other / name).read_bytes()}
    return sorted(str(name) for name in names - same)


def unfinished(folder: Path) -> list[Path]:
    """The outputs of jobs that had begun when the run was killed, as Snakemake notes them."""
    notes = (folder / ".snakemake" / "incomplete").glob("*")
    return [Path(base64.b64decode(note.name).decode()) for note in notes if note.is_file()]


def begin(folder: Path) -> subprocess.Popen:
    """Start the run of TARGETS in a process group of its own."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile", "--directory", folder]
    command += ["--configfile", ROOT / "tests" / "tiny.yml", "--cores", "2", "--nolock", "--rerun-incomplete"]
    command += ["--keep-going", *QUIET, "--rerun-triggers", "mtime", "params", "input", "code", "--", *TARGETS]
    settings = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "XDG_CACHE_HOME": os.fspath(folder / "cache")}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    words = [os.fspath(word) for word in command]
    return subprocess.Popen(words, cwd=ROOT, env=os.environ | settings, start_new_session=True, **pipes)


@pytest.fixture
def half_run(small_run) -> Path:
    """A copy of the small run without the tables that are to be made again and the embeddings that they are from.

    It lies beside the small run: from there the notebooks have the same relative paths, which Snakemake compares.
    """
    folder = small_run.parent / "again"
    # What Snakemake notes for a moment, another process's dry run perhaps, is not copied.
    passing = shutil.ignore_patterns("_build", "cache", "log", "locks", "tmp*")
    shutil.copytree(small_run, folder, ignore=passing)
    for target in TARGETS:
        (folder / target).unlink()
    assert differences(folder, small_run) == sorted(TARGETS[:-1])
    return folder


@pytest.mark.slow
def test_killed_at_random_moments_it_ends_with_the_same_bytes_as_the_undisturbed_run(small_run, half_run):
    moments, planted = random.Random(5), 0
    for _ in range(4):
        run = begin(half_run)
        assert any("running" in line for line in run.stdout), "it ended before anything ran"
        time.sleep(moments.uniform(0.5, 9))
        os.killpg(run.pid, signal.SIGKILL)
        assert run.wait() == -signal.SIGKILL, "it was finished before it was killed"
        run.stdout.close()
        # What a program that writes in place would leave: half of the true file, under its final name.
        for path in unfinished(half_run):
            if path.suffix == ".parquet" and not (half_run / path).exists():
                true = (small_run / path).read_bytes()
                (half_run / path).write_bytes(true[: len(true) // 2])
                planted += 1
    assert planted, "no job was killed at work: choose other moments"
    done = snakemake(half_run, "--", *TARGETS)
    assert done.returncode == 0, done.stderr[-3000:]
    assert differences(half_run, small_run) == []
    assert list((half_run / RUN / "notebooks").glob(".*")) == [], "copies of killed notebooks are left"


def test_the_comparison_sees_a_table_that_is_cut_or_missing(tmp_path):
    for folder in ("one", "other"):
        for kind, names in REDONE.items():
            for name in names:
                (tmp_path / folder / RUN / kind / name).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / folder / RUN / kind / name).write_bytes(b"12345678")
    assert differences(tmp_path / "one", tmp_path / "other") == []
    (tmp_path / "one" / TARGETS[0]).write_bytes(b"1234")
    (tmp_path / "one" / TARGETS[1]).unlink()
    assert differences(tmp_path / "one", tmp_path / "other") == sorted(TARGETS[:2])


def test_a_model_more_is_one_job_for_each_data_set_and_what_reads_them(small_run, tmp_path):
    config = tiny()
    less = given(tmp_path, models=["picto-en", "picto-multi"])
    assert not {"zeroshot", "retrieval", "subsets", "protocols", "train"} & set(planned(small_run, less))
    images = tmp_path / "photographs"
    images.mkdir()
    more = planned(small_run, given(tmp_path, models=[*config["models"], "msiglip-b16"]))
    assert (more["zeroshot"], more["retrieval"], more["subsets"], more["protocols"]) == (2, 1, 2, 1)
    assert more["disambiguation"] == 1
    assert more["model_page"] == 4, "all are compared with the new one"
    same = {"senses", "labels", "pictograms", "pairs", "train", "gated", "translation", "chapter_40_published_groups"}
    assert not same & set(more)


def test_a_data_set_more_is_one_job_for_each_model_and_what_reads_them(small_run, tmp_path):
    images = tmp_path / "photographs"
    images.mkdir()
    changes = {"datasets": [*tiny()["datasets"], "xm3600"], "images": {"xm3600": str(images)}}
    more = planned(small_run, given(tmp_path, **changes))
    assert more["retrieval"] == 3
    same = {"senses", "labels", "pictograms", "pairs", "train", "gated", "zeroshot", "subsets", "protocols"}
    assert not (same | {"disambiguation", "translation"}) & set(more)


def test_every_variant_of_imagenet_is_compared_with_the_labels_of_imagenet(tmp_path):
    names = ["imagenet-1k", "imagenet-a", "imagenet-r"]
    changes = {"models": ["msiglip-b16"], "datasets": names, "chapters": ["00_summary", "30_accuracy"]}
    changes |= {"translators": [], "protocol_datasets": []}
    images = {name: str(tmp_path) for name in names}
    done = snakemake(
        tmp_path, "--dry-run", "--printshellcmds", "--", f"{RUN}/zeroshot/msiglip-b16_imagenet-r.parquet",
        config=given(tmp_path, **changes, images=images, parameters={}),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert '"labels": "results/tiny/labels/imagenet-1k.parquet"' in done.stdout + done.stderr
    assert "--gpu 1" in done.stdout + done.stderr


FEW = {
    "models": ["msiglip-b16"],
    "translators": [],
    "datasets": ["xm3600"],
    "protocol_datasets": [],
    "chapters": ["00_summary", "40_published_groups", "41_published_languages", "42_published_retrieval"],
    "parameters": {"40_published_groups": {"n_resamples": 20}, "41_published_languages": {"source": "nobody2030"}},
}
FEW_TARGETS = [
    f"{RUN}/retrieval/msiglip-b16_xm3600.parquet",
    f"{RUN}/notebooks/40_published_groups.ipynb",
    f"{RUN}/notebooks/41_published_languages.ipynb",
]


@pytest.mark.slow
def test_failed_jobs_do_not_stop_the_others_and_are_listed_at_the_end_with_their_logs(tmp_path):
    done = snakemake(
        tmp_path, *QUIET, "--", *FEW_TARGETS, config=given(tmp_path, **FEW, images={"xm3600": str(tmp_path)})
    )
    assert done.returncode == 1
    assert (tmp_path / RUN / "notebooks" / "40_published_groups.ipynb").is_file(), "an independent job was not done"
    end = done.stderr[done.stderr.index("2 jobs failed; what does not need them is done.") :]
    assert "\n21_retrieval msiglip-b16, xm3600: " in end
    assert f"\n  log: {RUN}/logs/21_retrieval_msiglip-b16_xm3600.txt" in end
    assert "\n41_published_languages: There are no published numbers of 'nobody2030'" in end
    assert (tmp_path / RUN / "notebooks" / "41_published_languages.failed.ipynb").is_file()
    assert "nobody2030" in (tmp_path / RUN / "logs" / "41_published_languages.txt").read_text(encoding="utf-8")
    assert "RuleException" not in done.stderr, "Snakemake repeats what the jobs have told"


def test_a_job_that_died_without_a_word_is_listed_too(tmp_path):
    log = tmp_path / "logs" / "20_zeroshot_a_b.txt"
    listed = messages.failures({str(log): "exit status 137"})
    assert "One job failed; what does not need it is done." in listed
    assert "20_zeroshot_a_b: it ended without a word" in listed
    assert "exit status 137" in listed
    assert f"log: {log}" in listed


def test_of_a_run_that_was_stopped_what_was_stopped_is_no_failure(tmp_path, monkeypatch, capsys):
    (tmp_path / "wrong.failed").write_text("wrong: a sentence", encoding="utf-8")
    logs = {str(tmp_path / "wrong.txt"): "", str(tmp_path / "stopped.txt"): "exit status 130"}
    monkeypatch.setattr(messages, "FAILED", logs)
    monkeypatch.setattr(messages, "STOPPED", ["Terminating processes on user request, this might take some time."])
    messages.report()
    told = capsys.readouterr().err
    assert "One job failed" in told
    assert "wrong: a sentence" in told
    assert "stopped.txt" not in told
    assert told.endswith("\nStopped: the same command goes on with what is not done.\n")


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("snakemake_executor_plugin_slurm"), reason="pip install -r requirements-cluster.txt")
def test_slurm_runs_the_grid_asks_for_a_gpu_and_lists_what_failed(tmp_path, monkeypatch):
    programs = tmp_path / "bin"
    programs.mkdir()
    (tmp_path / "queue").mkdir()
    for name in ("sbatch", "srun", "sacct", "squeue", "sinfo", "scontrol", "sacctmgr", "sshare", "scancel"):
        call = f'exec {sys.executable} -S {ROOT / "tests" / "fake_slurm.py"} {name} "$@"'
        (programs / name).write_text(f"#!/bin/sh\n{call}\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_SLURM", str(tmp_path / "queue"))
    hurry = ["--slurm-init-seconds-before-status-checks", "1", "--latency-wait", "5"]
    config = given(tmp_path, **FEW, images={"xm3600": str(tmp_path)})
    done = snakemake(
        tmp_path, *QUIET, "--profile", ROOT / "config" / "slurm", *hurry, "--", *FEW_TARGETS, config=config
    )
    assert done.returncode == 1
    assert (tmp_path / RUN / "notebooks" / "40_published_groups.ipynb").is_file()
    end = done.stderr[done.stderr.index("2 jobs failed; what does not need them is done.") :]
    assert "nobody2030" in end
    asked = [note.read_text(encoding="utf-8") for note in (tmp_path / "queue").glob("*.asked")]
    assert len(asked) == 3
    (gpu,) = [words for words in asked if "rule_retrieval" in words]
    assert "--gpus=1" in gpu.splitlines()
    assert not any("--gpus" in words for words in asked if "rule_chapter" in words)


def test_the_plugins_pins_do_not_contradict_the_lock():
    lock = pins((ROOT / "requirements.txt").read_text(encoding="utf-8"))
    plugins = pins((ROOT / "requirements-cluster.txt").read_text(encoding="utf-8"))
    assert {"snakemake-executor-plugin-slurm", "snakemake-executor-plugin-kubernetes"} <= set(plugins)
    assert {name: version for name, version in plugins.items() if lock.get(name, version) != version} == {}


@pytest.mark.parametrize("profile", ["slurm", "kubernetes"])
def test_every_key_of_a_profile_has_a_comment(profile):
    lines = (ROOT / "config" / profile / "config.yaml").read_text(encoding="utf-8").splitlines()
    settings = yaml.safe_load("\n".join(lines))
    assert settings["executor"] == profile
    for key in settings:
        above = lines[next(number for number, line in enumerate(lines) if line.startswith(f"{key}:")) - 1]
        assert above.startswith("#") or above.startswith("set-resources") or above.startswith("  "), key
