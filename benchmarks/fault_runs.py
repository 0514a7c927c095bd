"""An undisturbed run of a small study and a copy that suffers faults: what they consist
of, and how runs are killed.
"""

import base64
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

ROOT = Path(__file__).resolve().parents[1]
RULES = {
    "senses": "words",
    "labels": "labels",
    "train": "training",
    "adapt": "adapters",
    "zeroshot": "embedding",
    "book": "book",
    **dict.fromkeys(
        ["pictograms", "items", "scenes", "statements"], "images and items"
    ),
}
# What makes no table: pages say how long they took, and logs when.
APART = {"notebooks", "logs", "cache"}
TIMED = {
    "adaptations": "seconds"
}  # kind of table -> its column that differs between any two runs
LEFT = 30.0  # seconds that the kernels of a killed run have to end
PATIENCE = 900.0  # seconds until a run that does nothing more is given up


class Study(NamedTuple):
    """One undisturbed run, and the copy of it that suffers the faults; both folders lie
    in one folder.
    """

    config: Path
    undisturbed: Path
    disturbed: Path

    @property
    def run(self) -> Path:
        """The folder of the tables, below either of the two."""
        return Path(
            "results", yaml.safe_load(self.config.read_text(encoding="utf-8"))["run"]
        )


# --- What a run is made of
# -------------------------------------------------------------------------------------------


def read_jobs(folder: Path) -> dict[str, dict]:
    """Return the jobs of a finished run as Snakemake notes them: log -> `kind`, and
    `outputs`, paths below `folder`.
    """
    found = {}
    for note in (folder / ".snakemake" / "metadata").glob("*"):
        told = json.loads(note.read_text(encoding="utf-8"))
        rule = "chapters" if told["rule"].startswith("chapter_") else told["rule"]
        job = found.setdefault(
            told["log"][0], {"kind": RULES.get(rule, rule), "outputs": []}
        )
        job["kind"] = (
            job["kind"]
            if job["kind"] in {*RULES.values(), "chapters"}
            else "evaluation"
        )
        job["outputs"].append(base64.b64decode(note.name).decode())
    return found


def result_files(folder: Path, run: Path) -> set[str]:
    """Return the files of a run that must not depend on when it was made or disturbed,
    relative to its folder.
    """
    files = [
        file.relative_to(folder / run)
        for file in (folder / run).rglob("*")
        if file.is_file()
    ]
    return {
        str(run / file)
        for file in files
        if file.parts[0] not in APART and not file.name.startswith(".")
    }


def differences(study: Study) -> list[str]:
    """Return the files of results whose bytes are not the same in both runs, and pages
    that only one of them has.
    """
    one, other = (
        result_files(folder, study.run)
        for folder in (study.undisturbed, study.disturbed)
    )
    differing = [name for name in one & other if not same(study, name)]
    pages = [
        {
            str(page.relative_to(place))
            for page in (place / study.run / "notebooks").glob("*")
        }
        for place in study[1:]
    ]
    return sorted({*(one ^ other), *differing, *(pages[0] ^ pages[1])})


def keep_differences(study: Study) -> list[str]:
    """Return what `differences` does, and copy the files of the disturbed run that are
    not the same to the folder `lost`, since the next round makes them again.
    """
    names = differences(study)
    for name in names:
        if (study.disturbed / name).is_file():
            copy = study.disturbed.with_name("lost") / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(study.disturbed / name, copy)
    return names


def same(study: Study, name: str) -> bool:
    """Return whether a file is there in the disturbed run and has the bytes that it has
    in the undisturbed one.

    Of a table that says how long something took (`TIMED`) the other columns are
    compared.
    """
    mine, true = study.disturbed / name, study.undisturbed / name
    if not (mine.is_file() and true.is_file()):
        return False
    if mine.read_bytes() == true.read_bytes():
        return True
    if true.parent.name not in TIMED:
        return False
    try:
        tables = [
            pq.read_table(path).drop_columns(TIMED[true.parent.name])
            for path in (mine, true)
        ]
    except pa.ArrowException:
        return False
    return tables[0].equals(tables[1], check_metadata=True)


def unfinished(folder: Path) -> set[str]:
    """Return the outputs of jobs that had begun when the run was killed, as Snakemake
    notes them.
    """
    notes = (folder / ".snakemake" / "incomplete").glob("*")
    return {base64.b64decode(note.name).decode() for note in notes if note.is_file()}


def damage(study: Study, jobs: dict, finished: set[str], began: float) -> list[str]:
    """Return the tables that a fault has cost or changed.

    `finished`: the tables that were there before the run began (`began`, in seconds
    since 1970). A job that the run makes again may lack its outputs, of a folder all
    that is in it, but never have wrong ones.
    """
    noted = unfinished(study.disturbed)
    again = {
        name
        for log, job in jobs.items()
        if _changed(study.disturbed / log) >= began
        for name in job["outputs"]
    }
    missing = {
        name
        for name in finished
        if not (study.disturbed / name).is_file()
        and not (noted | again) & {name, *map(str, Path(name).parents)}
    }
    results = result_files(study.disturbed, study.run)
    there = {
        name for job in jobs.values() for name in job["outputs"] if name in results
    }
    return sorted(missing | {name for name in there - noted if not same(study, name)})


def _changed(path: Path) -> float:
    return path.stat().st_mtime if path.exists() else 0.0


def at_work(folder: Path, jobs: dict, began: float) -> dict[str, int]:
    """Return the jobs that are at work in a run that began at `began`: log -> process
    of the notebook.
    """
    found = {}
    for log in jobs:
        try:
            if _changed(folder / log) < began:
                continue
            first, *rest = (folder / log).read_text(encoding="utf-8").splitlines()
            process = int(first.partition(", process ")[2].partition(",")[0])
        except (ValueError, OSError):  # being written
            continue
        if Path(f"/proc/{process}").exists() and not any(
            line.startswith(("done:", "failed:")) for line in rest
        ):
            found[log] = process
    return found


# --- Runs and kills
# --------------------------------------------------------------------------------------------------


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a run: nothing of the user's home, and a mark by which
    its processes are found.
    """
    own = {
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    return os.environ | own | {"BABELATLAS_FAULTS": str(folder)}


def start(
    study: Study,
    targets: list[str] = (),
    locked: bool = True,
    folder: Path | None = None,
    more: list[str] = (),
) -> subprocess.Popen:
    """Start a run as `make book` does, in a process group of its own; what it says goes
    next to its folder.

    `more`: further words of Snakemake's command line.
    """
    folder = folder or study.disturbed
    words = [
        sys.executable,
        "-m",
        *(["atlas_study", "locked", "--"] if locked else []),
        "snakemake",
        *targets,
    ]
    words += ["--snakefile", ROOT / "Snakefile", "--directory", folder]
    words += [
        "--configfile",
        study.config,
        "--cores",
        "2",
        "--nolock",
        "--rerun-incomplete",
        "--keep-going",
    ]
    words += ["--retries", "9", "--quiet", "rules", "host", "reason"]
    words += ["--rerun-triggers", "mtime", "params", "input", "code", *more]
    with said(folder).open("w", encoding="utf-8") as file:
        return subprocess.Popen(
            [str(word) for word in words],
            cwd=folder,
            env=environment(folder),
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )


def said(folder: Path) -> Path:
    """Return the file with what the last run of a folder said."""
    return folder.with_name(f"{folder.name}.said.txt")


def processes(folder: Path) -> list[int]:
    """Return the processes that a run of `folder` has left, kernels in their own
    process groups included.
    """
    mark, found = f"BABELATLAS_FAULTS={folder}\0".encode(), []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if (
                mark in (place / "environ").read_bytes()
                and int(place.name) != os.getpid()
            ):
                found.append(int(place.name))
        except OSError:  # ended meanwhile, or another user's
            continue
    return found


def kill_run(run: subprocess.Popen, folder: Path) -> float:
    """End a run's process group at once; return the seconds until its last process, a
    kernel mostly, has ended too.

    Processes that are there after `LEFT` seconds would go on for ever: they are ended,
    and the answer is infinite.
    """
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    ended = time.monotonic()
    while left := processes(folder):
        if time.monotonic() - ended > LEFT:
            for process in left:
                os.kill(process, signal.SIGKILL)
            return float("inf")
        time.sleep(0.05)
    return time.monotonic() - ended


def kill_job(process: int, chance: random.Random) -> str:
    """End the process of a notebook, or its kernel, at once; return which it was."""
    victims = {"notebook": process}
    try:
        children = (
            Path(f"/proc/{process}/task/{process}/children")
            .read_text(encoding="ascii")
            .split()
        )
        victims |= {"kernel": int(children[0])} if children else {}
        name = chance.choice(sorted(victims))
        os.kill(victims[name], signal.SIGKILL)
    except (OSError, ValueError):
        return ""
    return name


def wait_for_work(
    run: subprocess.Popen, study: Study, jobs: dict, began: float
) -> dict[str, int]:
    """Return the jobs at work as soon as there is one; {} where the run ends before."""
    limit = time.monotonic() + PATIENCE
    while run.poll() is None:
        if found := at_work(study.disturbed, jobs, began):
            return found
        if time.monotonic() > limit:
            kill_run(run, study.disturbed)
            raise RuntimeError(
                f"A run did nothing for {PATIENCE:.0f} s: see {said(study.disturbed)}"
            )
        time.sleep(0.05)
    return {}


def asked(study: Study, jobs: dict, names: list[str]) -> list[str]:
    """Return the files to ask a run for: `names`, and all that are missing.

    A job that reads what another one makes again may have begun, too, and have been
    killed; a whole run asks for all.
    """
    missing = [
        name
        for job in jobs.values()
        for name in job["outputs"]
        if not (study.disturbed / name).exists()
    ]
    return sorted({*names, *missing})


def complete(run: subprocess.Popen, study: Study) -> bool:
    """Wait for the end of a run; return whether it succeeded."""
    try:
        status = run.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        kill_run(run, study.disturbed)
        return False
    return status == 0


def restore(study: Study) -> None:
    """Make the disturbed run as the undisturbed one: the same files, bytes and times,
    and nothing noted as unfinished.

    So only what is drawn is made again, also after a campaign that was stopped in the
    middle.
    """
    shutil.rmtree(study.disturbed / ".snakemake" / "incomplete", ignore_errors=True)
    for name in differences(study):
        (study.disturbed / name).unlink(missing_ok=True)
    true = [
        file for file in (study.undisturbed / study.run).rglob("*") if file.is_file()
    ]
    for file in [*true, study.undisturbed / "_build" / "html" / "index.html"]:
        mine = study.disturbed / file.relative_to(study.undisturbed)
        mine.parent.mkdir(parents=True, exist_ok=True)
        if mine.is_file():
            os.utime(mine, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
        else:
            shutil.copy2(file, mine)


def remove(folder: Path, names: list[str]) -> None:
    """Delete outputs, files or folders."""
    for name in names:
        if (folder / name).is_dir():
            shutil.rmtree(folder / name)
        else:
            (folder / name).unlink(missing_ok=True)
