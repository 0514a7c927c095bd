"""Jobs in the queue of Slurm that an earlier call of this folder has left.

When the process that submits is killed, as when a login session ends, its jobs go on,
and the next call would submit them again: two processes would write one file. They are
cancelled rather than waited for. Snakemake repeats them in either case, since nobody
recorded that they ended; a file gets its name only when it is complete, and the
embeddings that a job has stored are reused.
"""

import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from atlas_study.workflow import config as configs
from babelatlas.base.errors import InputError
from babelatlas.report.formatting import counted

# What squeue prints of a job, with | between: its number, its name, its folder and its
# comment, which Snakemake's plugin begins with the rule.
COLUMNS = "%i|%j|%Z|%k"
# Snakemake's plugin names the jobs of a call by a random UUID, after a prefix of the user's.
NAME = re.compile(r"(.*_)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# Slurm kills a cancelled job 30 seconds after it was asked to stop, unless the cluster
# says otherwise.
PATIENCE = 300.0


class Job(NamedTuple):
    """A job in the queue: its number, and what it makes."""

    number: str
    what: str


def submits_to_slurm(profile: str) -> bool:
    """Return whether a profile of Snakemake, a folder, submits its jobs to Slurm."""
    return configs.read_profile(profile).get("executor") == "slurm"


def of_folder(queue: str, folder: Path) -> list[Job]:
    """Return the jobs that Snakemake submitted from a folder.

    `queue`: what squeue prints, with `COLUMNS`. Jobs that were submitted by hand, or
    from another folder, are not among them.

    >>> name = "01234567-89ab-cdef-0123-456789abcdef"
    >>> of_folder(f"7|{name}|/study|rule_train_wildcards_en\\n8|shell|/study|", Path("/study"))
    [Job(number='7', what='train_wildcards_en')]
    """
    found = []
    for line in queue.splitlines():
        number, name, where, comment = line.split("|", maxsplit=3)
        if NAME.fullmatch(name) and Path(where).resolve() == folder.resolve():
            found.append(Job(number, comment.removeprefix("rule_")))
    return found


def cancel(folder: Path, patience: float = PATIENCE, pause: float = 1.0) -> str:
    """Cancel what is left of an earlier call of a folder, wait until it has ended, and
    return one line on it, "" where nothing was left.

    The folder must be locked, so that no call that still runs loses its jobs.
    `patience`, `pause`: seconds to wait in all, and between two looks. InputError where
    Slurm does not answer, or a job does not end.
    """
    left = first = of_folder(_queue(), folder)
    if not first:
        return ""
    _call("scancel", *(job.number for job in first))
    until = time.monotonic() + patience
    while left:
        if time.monotonic() > until:
            raise InputError(
                f"{_listed(left)} of an earlier call, cancelled {patience:.0f} s ago,"
                " still runs: see `squeue --me`, and try again when none is left."
            )
        time.sleep(pause)
        left = of_folder(_queue(), folder)
    return (
        f"Cancelled what an earlier call had left in Slurm's queue: {_listed(first)}."
    )


def _queue() -> str:
    """Return the user's jobs that wait, run or are being stopped."""
    return _call("squeue", "--me", "--noheader", f"--format={COLUMNS}")


def _call(*words: str) -> str:
    """Run a program of Slurm and return what it prints; InputError where it fails."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    except FileNotFoundError as error:
        raise InputError(
            f"The profile submits to Slurm, but there is no {words[0]} here: call it on"
            " a login node of the cluster."
        ) from error
    except subprocess.CalledProcessError as error:
        raise InputError(
            f"Slurm's {words[0]} failed ({error.stderr.strip()}): try again when"
            " `squeue --me` answers."
        ) from error
    return done.stdout


def _listed(jobs: Sequence[Job]) -> str:
    """Return how many jobs there are, and the number and content of the first ones."""
    shown = [f"{job.number} ({job.what})" for job in jobs[:5]]
    more = [f"{len(jobs) - 5} more"] if len(jobs) > 5 else []
    return f"{counted(len(jobs), 'job')}: {', '.join(shown + more)}"
