"""The grid: killed at random moments it ends with the same bytes, a model more is a job more, Slurm runs it as well."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

import fault_runs
import faults
from babelatlas.workflow import messages
from conftest import ROOT, snakemake
from test_project import pins
from workflow.test_config import jobs

RUN = Path("results") / "tiny"
QUIET = ["--quiet", "rules", "host", "reason"]
# What is made again in the test: everything of one model, and a chapter on all.
REDONE = [
    "20_zeroshot_picto-en_pictograms",
    "29_subsets_picto-en_pictograms",
    "21_retrieval_picto-en_pictogram-captions",
    "30_accuracy",
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


@pytest.mark.slow
def test_killed_at_random_moments_it_ends_with_the_same_bytes_as_the_undisturbed_run(small_run):
    # The copy lies beside the small run: from there the notebooks have the same relative paths, as Snakemake asks.
    study = fault_runs.Study(ROOT / "tests" / "tiny.yml", small_run, small_run.parent / "again")
    faults.copy(study)
    assert fault_runs.differences(study) == []
    jobs = fault_runs.read_jobs(small_run)
    assert {job["kind"] for job in jobs.values()} == {*fault_runs.RULES.values(), "evaluation", "chapters"}
    drawn = [f"{RUN}/logs/{name}.txt" for name in REDONE]
    kills = faults.play_round(study, jobs, drawn, [], limit=6, seed="5")
    assert any(set(kill["kinds"]) & {"embedding", "evaluation", "chapters"} for kill in kills), "no job was killed"
    assert [kill for kill in kills if kill["outcome"] != "recovered"] == []


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
    "parameters": {"40_published_groups": {"n_resamples": 20}, "41_published_languages": {"source": "liu2021"}},
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
    assert "\n41_published_languages: The published numbers of 'liu2021' have no accuracy by language" in end
    assert (tmp_path / RUN / "notebooks" / "41_published_languages.failed.ipynb").is_file()
    assert "liu2021" in (tmp_path / RUN / "logs" / "41_published_languages.txt").read_text(encoding="utf-8")
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
    assert "liu2021" in end
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
