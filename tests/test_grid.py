"""The grid: killed at random moments it ends with the same bytes, a model more is a job
more, Slurm runs it as well.
"""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import fault_cases
import fault_runs
import faults
import real_slurm
from atlas_study.workflow import config as configs
from atlas_study.workflow import earlier_jobs, step_logs
from conftest import ROOT, snakemake
from test_project import pins
from workflow.test_plan import jobs

RUN = Path("results") / "tiny"
QUIET = ["--quiet", "rules", "host", "reason"]


def given(folder: Path, **changes) -> Path:
    """A file with the small run's config, changed."""
    path = folder / "changed.yml"
    path.write_text(
        yaml.safe_dump(configs.read(ROOT / "tests" / "tiny.yml") | changes),
        encoding="utf-8",
    )
    return path


@pytest.fixture(scope="module")
def study(small_run):
    """The small run, and a copy of it that is disturbed."""
    # The copy lies beside the small run: from there the notebooks have the same
    # relative paths, as Snakemake asks.
    study = fault_runs.Study(
        ROOT / "tests" / "tiny.yml", small_run, small_run.parent / "again"
    )
    faults.copy(study)
    return study


@pytest.mark.slow
def test_killed_at_random_moments_it_ends_with_the_same_bytes_as_the_undisturbed_run(
    study,
):
    assert fault_runs.differences(study) == []
    known = fault_runs.read_jobs(study.undisturbed)
    logs = [
        log for log in known if "picto-en_pictogram" in log or "_rich_and_poor" in log
    ]
    kills = faults.play_round(study, known, logs, [], limit=6, seed="5")
    assert any(
        set(kill["kinds"]) & {"embedding", "evaluation", "chapters"} for kill in kills
    ), "no job was killed"
    assert [kill for kill in kills if kill["outcome"] != "recovered"] == []


@pytest.mark.slow
def test_killed_and_disturbed_it_ends_with_the_same_bytes_as_the_undisturbed_run(
    study, tmp_path
):
    """What `make faults ARGS=--quick` does, on the run that other tests read."""
    state = faults.campaign(
        tmp_path, seed=0, n_kills=8, tries=1, minutes=60, say=print, study=study
    )
    kills, cases = state["kills"], state["cases"]
    assert [kill for kill in kills if kill["outcome"] != "recovered"] == []
    assert len(kills) == 8
    assert {case["fault"] for case in cases} == {
        case.fault for case in fault_cases.CASES
    }
    assert [case for case in cases if case["outcome"] in ("lost", "unclear")] == []


def test_a_model_or_a_data_set_more_is_a_job_for_each_of_the_others_and_what_reads_them(
    small_run, tmp_path
):
    tiny, images = configs.read(ROOT / "tests" / "tiny.yml"), tmp_path / "photographs"
    images.mkdir()
    (images / "notes.txt").write_text(
        "No image is needed for a plan.", encoding="utf-8"
    )
    model = {"models": [*tiny["models"], "msiglip-b16"]}
    dataset = {
        "datasets": [*tiny["datasets"], "xm3600"],
        "images": {"xm3600": str(images)},
    }
    same = {"senses", "labels", "pictograms", "items", "train"}
    for changes, wanted, others in (
        (
            {"models": tiny["models"][:2]},
            {},
            {"zeroshot", "retrieval", "curves", "protocols"},
        ),
        (
            model,
            {
                "zeroshot": 1,
                "retrieval": 1,
                "curves": 1,
                "protocols": 1,
                "chapter_43_model": 4,
            },
            {"adapt"},
        ),
        (
            dataset,
            {"retrieval": 3},
            {"zeroshot", "curves", "protocols", "disambiguation"},
        ),
    ):
        done = snakemake(
            small_run, "--dry-run", *QUIET, config=given(tmp_path, **changes)
        )
        assert done.returncode == 0, done.stderr
        found = jobs(done.stdout + done.stderr)
        assert {name: found.get(name) for name in wanted} == wanted
        assert not (same | others) & found.keys()


FEW = {
    "models": ["msiglip-b16"],
    "datasets": ["xm3600"],
    "protocol_datasets": [],
    "adaptations": {},
    "image_features": [],
    "chapters": ["00_summary", "23_translated_captions", "12_working_languages"],
    "parameters": {
        "12_working_languages": {"source": "liu2021"},
        "23_translated_captions": {"n_resamples": 20},
    },
}
GOOD = f"{RUN}/notebooks/23_translated_captions.ipynb"
TARGETS = [
    f"{RUN}/retrieval/msiglip-b16_xm3600.parquet",
    GOOD,
    f"{RUN}/notebooks/12_working_languages.ipynb",
]


def few(folder: Path, *words) -> str:
    """Run three jobs of which two fail; return what was said."""
    config = given(folder, **FEW, images={"xm3600": str(folder)})
    done = snakemake(
        folder, *QUIET, "--show-failed-logs", *words, "--", *TARGETS, config=config
    )
    assert done.returncode == 1
    assert (folder / RUN / "notebooks" / "12_working_languages.failed.ipynb").is_file()
    return done.stdout + done.stderr


@pytest.mark.slow
def test_failed_jobs_do_not_stop_the_others_and_their_logs_are_shown(tmp_path):
    said = few(tmp_path)
    assert (tmp_path / GOOD).is_file(), "an independent job was not done"
    failed = [
        line.split()[1:] for line in said.splitlines() if line.split()[:1] == ["failed"]
    ]
    assert any(words[0] == "12_working_languages:" for words in failed), said
    assert any(
        words[0].endswith("_retrieval") and words[1:3] == ["msiglip-b16,", "xm3600:"]
        for words in failed
    ), said


def asked(job: dict[str, str]) -> tuple[str, str, str]:
    """What a job asked Slurm for: processors and memory, time, GPUs."""
    return job["TRES"], job["TimeLimit"], job.get("TresPerJob", "")


@pytest.mark.slow
def test_slurm_gives_jobs_what_they_ask_for_and_a_failed_chapter_leaves_the_others_alone(
    tmp_path, slurm
):
    account = {"slurm_account": "tests", "slurm_partition": "tests"}
    profile = real_slurm.profile(tmp_path / "profile", **account)
    few(tmp_path, "--profile", profile)
    jobs = real_slurm.submitted(tmp_path)
    assert {job["JobState"] for job in jobs} == {"FAILED"}
    gpu, chapters = sorted(jobs, key=lambda job: "chapter" in job["Comment"])
    assert gpu["Comment"] == "rule_retrieval_wildcards_msiglip-b16_xm3600"
    assert "chapter_12_" in chapters["Comment"]
    assert "chapter_23_" in chapters["Comment"]
    one_gpu = ("cpu=8,mem=62.50G,node=1,billing=8", "12:00:00", "gres:gpu:1")
    assert asked(gpu) == one_gpu
    # The memory of one chapter, the time of both.
    assert asked(chapters) == ("cpu=2,mem=8000M,node=1,billing=2", "02:00:00", "")
    assert {(job["Account"], job["Partition"]) for job in jobs} == {("tests", "tests")}
    # A call that came after a killed one would know both by name and folder.
    columns = f"--format={earlier_jobs.COLUMNS}"
    queue = real_slurm.call("squeue", "--states=all", "--noheader", columns)
    known = earlier_jobs.of_folder(queue, tmp_path)
    assert {job.number for job in known} == {job["JobId"] for job in jobs}

    # The good chapter was made before the other failed, and is kept, or never began.
    log = step_logs.lines_of(tmp_path / RUN / "logs" / "23_translated_captions.txt")
    assert (tmp_path / GOOD).exists() == step_logs.is_done(log) == bool(log)
    config = given(tmp_path, **FEW, images={"xm3600": str(tmp_path)})
    again = snakemake(tmp_path, "--profile", profile, "--", GOOD, config=config)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / GOOD).is_file()


KILLED = """
rule all:
    input: "long.txt", "short.txt"

rule long:
    output: "long.txt"
    shell: "scancel $SLURM_JOB_ID; sleep 300; touch {output}"

rule short:
    output: "short.txt"
    shell: "touch {output}"
"""


@pytest.mark.slow
def test_a_job_that_slurm_ends_is_a_failed_one_and_the_others_go_on(tmp_path, slurm):
    (tmp_path / "Snakefile").write_text(KILLED, encoding="utf-8")
    profile = real_slurm.profile(tmp_path / "profile")
    words = ["--profile", profile, "--keep-going", "--nolock"]
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 1
    assert "Error in rule long" in done.stderr
    assert (tmp_path / "short.txt").exists()
    assert not (tmp_path / "long.txt").exists()
    states = {job["Comment"]: job["JobState"] for job in real_slurm.submitted(tmp_path)}
    assert states == {"rule_long": "CANCELLED", "rule_short": "COMPLETED"}


def test_the_plugins_pins_do_not_contradict_the_lock():
    lock = pins((ROOT / "requirements.txt").read_text(encoding="utf-8"))
    plugins = pins((ROOT / "requirements-cluster.txt").read_text(encoding="utf-8"))
    assert {
        "snakemake-executor-plugin-slurm",
        "snakemake-executor-plugin-kubernetes",
    } <= set(plugins)
    assert {
        name: version
        for name, version in plugins.items()
        if lock.get(name, version) != version
    } == {}


@pytest.mark.parametrize("profile", ["slurm", "kubernetes"])
def test_a_profile_names_rules_that_there_are(profile):
    settings = yaml.safe_load(
        (ROOT / "config" / profile / "config.yaml").read_text(encoding="utf-8")
    )
    assert settings["executor"] == profile
    chapters = {
        f"chapter_{path.stem}"
        for path in (ROOT / "notebooks" / "chapters").glob("*.ipynb")
    }
    stages = {
        path.stem.partition("_")[2]
        for path in (ROOT / "notebooks" / "stages").glob("*.ipynb")
    }
    assert {
        *settings["set-resources"],
        *settings.get("set-threads", {}),
        *settings.get("groups", {}),
    } <= chapters | stages


def test_on_slurm_each_chapter_is_in_a_group_or_asks_for_more_memory_by_itself():
    settings = yaml.safe_load(real_slurm.PROFILE.read_text(encoding="utf-8"))
    grouped = settings["groups"]
    assert {*grouped.values()} == {*settings["group-components"]}
    alone = {name for name in settings["set-resources"] if name.startswith("chapter_")}
    assert not alone & {*grouped}
    files = (ROOT / "notebooks" / "chapters").glob("*.ipynb")
    assert {*grouped} | alone == {f"chapter_{path.stem}" for path in files}
