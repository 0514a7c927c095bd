"""The GPUs of this machine, given to jobs: `python -m atlas_study.workflow.gpus` prints
how many jobs there is place for.
"""

import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from babelatlas.base.errors import InputError
from babelatlas.base.gpus import jobs_per_gpu

VISIBLE = "CUDA_VISIBLE_DEVICES"
HELD = []  # the lock of this process's GPU, which ends with the process


def available_gpus() -> list[str]:
    """Return the GPUs that CUDA_VISIBLE_DEVICES names, where it is set, else the UUIDs
    of all that nvidia-smi lists.
    """
    if VISIBLE in os.environ:
        return [
            name
            for name in map(str.strip, os.environ[VISIBLE].split(","))
            if name not in ("", "-1")
        ]
    words = ["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"]
    with suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(
            words, capture_output=True, text=True, timeout=60, check=True
        ).stdout.split()
    return []


def gpu_places() -> list[str]:
    """Return each available GPU once for every job that may be on it: the first of all
    GPUs come before the second of any.
    """
    return available_gpus() * jobs_per_gpu()


def main() -> int:
    """Print how many jobs may be on GPUs at once, nothing for none; return the exit
    status: 1 after telling what is wrong with `JOBS_PER_GPU`.
    """
    try:
        print(len(gpu_places()) or "")
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def claim_gpu(wait: float = 1.0) -> str:
    """Let this process, and those it starts, see one GPU that has a place free, waiting
    for it; return its name, "" for none.
    """
    from filelock import FileLock, Timeout

    names = available_gpus()
    # A single one needs no lock: on a cluster "0" is another GPU in every job.
    while len(names) > 1:
        for number, name in enumerate(gpu_places()):
            place = number // len(names)
            suffix = f"{name}-{place}" if place else name
            file = f"babelatlas-{os.getuid()}-{suffix}.lock"
            with suppress(Timeout):
                lock = FileLock(Path(tempfile.gettempdir(), file))
                HELD.append(lock.acquire(blocking=False))
                names = [name]
                break
        else:
            time.sleep(wait)
    if names:
        os.environ[VISIBLE] = names[0]
    return "".join(names)


if __name__ == "__main__":
    sys.exit(main())
