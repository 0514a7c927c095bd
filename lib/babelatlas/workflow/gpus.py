"""GPUs of this machine, one job each: `with claimed(): ...` takes a free one or waits until one is.

A GPU is taken by locking a file that is named after it, in a folder which all jobs of this user on this machine share.
The kernel frees the lock when the process ends, however it ends. GPUs are identified by their UUIDs, since on a cluster
the number 0 may be a different one in every job. `python -m babelatlas.workflow.gpus [CONFIG] [NUMBER]` prints how many
a run may use at once, and nothing where there is none.
"""

import argparse
import fcntl
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from babelatlas.base.errors import InputError

VISIBLE = "CUDA_VISIBLE_DEVICES"


def detected() -> list[tuple[str, str]]:
    """Return the GPUs, or MIG devices ("0:1": device 1 of GPU 0), that `nvidia-smi -L` lists: (number, UUID)."""
    return parse(_listing())


def names() -> list[str]:
    """Return what the GPUs that `nvidia-smi -L` lists are called."""
    return re.findall(r"^GPU \d+: (.*) \(UUID", _listing(), re.MULTILINE)


def _listing() -> str:
    try:
        done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def parse(listing: str) -> list[tuple[str, str]]:
    """Return (number, UUID) of each device in what `nvidia-smi -L` printed.

    >>> parse("GPU 0: NVIDIA H200 (UUID: GPU-1a)")
    [('0', 'GPU-1a')]
    """
    found, number = {}, ""
    for line in listing.splitlines():
        gpu = re.match(r"GPU (\d+):.*\(UUID: (\S+)\)", line)
        part = re.match(r"\s+MIG .*Device\s+(\d+):.*\(UUID: (\S+)\)", line)
        if gpu:
            number = gpu[1]
            found[number] = gpu[2]
        elif part:
            found.pop(number, None)
            found[f"{number}:{part[1]}"] = part[2]
    return list(found.items())


def available() -> list[str]:
    """Return the GPUs in CUDA_VISIBLE_DEVICES, where it is set (empty: none), else all: UUIDs or, unknown, numbers."""
    known = detected()
    if VISIBLE not in os.environ:
        return [uuid for _, uuid in known]
    named = [name.strip() for name in os.environ[VISIBLE].split(",")]
    named = named[: next((place for place, name in enumerate(named) if name in ("", "-1")), None)]  # as CUDA reads it
    return [_uuid(name, known) for name in named]


def _uuid(name: str, known: list[tuple[str, str]]) -> str:
    """Return the UUID that a number or the beginning of a UUID stands for; `name` where it is not known."""
    if name.isdigit():
        return dict(known).get(name, name)
    whole = [uuid for _, uuid in known if uuid.startswith(name)]
    return whole[0] if len(whole) == 1 else name


def folder() -> Path:
    """Return the folder of the locks, made where it is missing: one for each user of this machine."""
    path = Path(tempfile.gettempdir(), f"babelatlas-gpus-{os.getuid()}")
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:  # a file of this name, say
        raise InputError(
            f"The folder {path} for the locks of GPUs cannot be made ({error.strerror}): delete what is there, or name "
            "a folder that can be written to as TMPDIR."
        ) from error
    if path.is_symlink() or path.stat().st_uid != os.getuid():
        raise InputError(f"The folder {path} belongs to somebody else: delete it, or name another one as TMPDIR.")
    return path


def _lock(name: str):
    """Return the open, locked file of a GPU, None where another process has it."""
    # A number without a UUID is a number within this job of the cluster only.
    key = f"{os.environ.get('SLURM_JOB_ID', 'local')}-{name}" if name.isdigit() else name
    file = (folder() / re.sub(r"[^\w.-]", "_", key)).open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


@contextmanager
def claimed(wait: float = 1.0) -> Iterator[str]:
    """Take the first free GPU of this process's for as long as the block lasts; yield its name, "" where it has none.

    While the block lasts, CUDA_VISIBLE_DEVICES names this GPU alone, for this process and those it starts. Where all
    are taken, it looks again every `wait` seconds and says so once.
    """
    names, told = available(), False
    if not names:
        yield ""
        return
    while (free := next(((name, file) for name in names if (file := _lock(name))), None)) is None:
        if not told:
            print(f"  waiting  for one of {len(names)} GPU(s): all are taken", flush=True)
        told = True
        time.sleep(wait)
    name, file = free
    with file, visible(name):
        yield name


@contextmanager
def visible(name: str) -> Iterator[str]:
    """Let this process and those it starts see one GPU alone, or none for "", for as long as the block lasts."""
    before = os.environ.get(VISIBLE)
    os.environ[VISIBLE] = name
    try:
        yield name
    finally:
        os.environ.pop(VISIBLE)
        if before is not None:
            os.environ[VISIBLE] = before


def main(arguments: list[str]) -> int:
    """Print how many GPUs a run may use at once, nothing where there is none; return 0, or 1 after an error."""
    from babelatlas.workflow.config import read

    parser = argparse.ArgumentParser(
        prog="python -m babelatlas.workflow.gpus", description="Print how many GPUs a run may use at once."
    )
    parser.add_argument("config", nargs="?", default="", help="the file of the config")
    parser.add_argument("asked", nargs="?", default="", help="how many the user asks for, before what the config says")
    given = parser.parse_args(arguments)
    config, asked = given.config, given.asked
    try:
        wanted = asked or (read(config) if config else {}).get("gpus", "")
        if wanted != "" and not re.fullmatch("[1-9][0-9]*", str(wanted)):
            raise InputError(
                f"How many GPUs to use at once should be a number from 1, got {wanted}: leave it out for all."
            )
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    found = len(available())
    print((int(asked) if asked else min(found, int(wanted or found))) or "")
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a traceback
    sys.exit(main(sys.argv[1:]))
