"""The real Slurm of one node that tests/slurm_start.sh starts, for tests and faults."""

import re
import shutil
import subprocess
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
PROFILE = ROOT / "config" / "slurm" / "config.yaml"


def absent() -> str:
    """Return why nothing can be submitted to that Slurm here, in one sentence; "" where
    it can.
    """
    if not find_spec("snakemake_executor_plugin_slurm"):
        return "the plugin is not installed: pip install -r requirements-cluster.txt"
    if not shutil.which("sinfo"):
        return "no Slurm here: on Debian, as root, bash tests/slurm_start.sh starts one"
    try:
        answers = [call("scontrol", "show", "config"), call("sinfo", "--noheader")]
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return "Slurm does not answer: bash tests/slurm_start.sh starts it"
    settings = dict(line.partition(" = ")[::2] for line in answers[0].splitlines())
    settings = {name.strip(): value.strip() for name, value in settings.items()}
    if settings.get("ClusterName") != "tests":
        return "the Slurm here is not that of tests/slurm_start.sh"
    if not any(state in answers[1] for state in ("idle", "mix", "alloc", "comp")):
        return "no node of Slurm is up"
    return ""


def profile(folder: Path, **resources: str) -> Path:
    """Write the study's profile for Slurm, in a hurry to see which jobs have ended, to
    `folder`, and return that.

    `resources`: what each job asks for besides, as slurm_account.
    """
    settings = yaml.safe_load(PROFILE.read_text(encoding="utf-8"))
    settings["default-resources"] |= resources
    hurry = {"slurm-init-seconds-before-status-checks": 1, "latency-wait": 5}
    folder.mkdir(exist_ok=True)
    text = yaml.safe_dump(settings | hurry)
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    return folder


def call(*words: str) -> str:
    """Return what a program of Slurm prints."""
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout


def submitted(folder: Path) -> list[dict[str, str]]:
    """Return the jobs that were submitted from a folder, as `scontrol show job` tells
    them, such as JobState, Account, TRES; those that ended over five minutes ago are
    gone.
    """
    lines = call("scontrol", "show", "job", "--oneliner").splitlines()
    # No value of the tests' jobs has a blank.
    jobs = [dict(word.partition("=")[::2] for word in line.split()) for line in lines]
    return [job for job in jobs if job.get("WorkDir") == str(folder)]


def at_once(jobs: list[dict[str, str]]) -> set[str]:
    """Return the steps that two jobs, as `submitted` returns them, made at one time."""
    return {
        step
        for one, other in combinations(jobs, 2)
        if one["StartTime"] < other["EndTime"] and other["StartTime"] < one["EndTime"]
        for step in steps(one["Comment"]) & steps(other["Comment"])
    }


def steps(comment: str) -> set[str]:
    """Return the steps of a job, which its comment lists: the chapters of a group, or
    one step with its wildcards.

    >>> sorted(steps("rule_early_chapter_14_gap_over_time_chapter_30_labels"))
    ['chapter_14_gap_over_time', 'chapter_30_labels']
    """
    return {*re.split("_(?=chapter_)", comment)[1:]} or {comment}
