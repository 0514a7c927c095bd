"""Faults other than kills of a run, each tried alone: what it does to a run, a
download, an archive or a merge.

A try answers with one of `fault_outcomes.OUTCOMES`. `refused` is more than a sentence:
once the fault is over, the same call must succeed with the same bytes. What cannot be
tried here is "skipped", with the reason.
"""

import contextlib
import hashlib
import http.server
import os
import random
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import real_slurm
from fault_runs import (
    PATIENCE,
    ROOT,
    Study,
    asked,
    complete,
    damage,
    environment,
    keep_differences,
    kill_run,
    processes,
    remove,
    result_files,
    said,
    same,
    start,
    wait_for_work,
)

FREE = 1_600_000  # bytes that a full disk has left at most
FILE = 3_000_000  # bytes of what is downloaded
MEMBERS = 3000  # files in the archive that is unpacked


class Case(NamedTuple):
    """A fault, what it hits, and the function that tries it: study, jobs, chance ->
    outcome and note.
    """

    fault: str
    kind: str
    attempt: Callable


def attempt(case: Case, study: Study, jobs: dict, chance: random.Random) -> list[dict]:
    """Try a fault once; return its outcome, as one row."""
    outcome, note = case.attempt(study, jobs, chance)
    return [{"fault": case.fault, "kind": case.kind, "outcome": outcome, "note": note}]


def some(jobs: dict, chance: random.Random, kinds: list[str]) -> list[str]:
    """Return the outputs of one job of each kind."""
    logs = [
        chance.choice([log for log in sorted(jobs) if jobs[log]["kind"] == kind])
        for kind in kinds
    ]
    return [name for log in logs for name in jobs[log]["outputs"]]


def judged(
    study: Study,
    jobs: dict,
    names: list[str],
    began: float,
    finished: set[str],
    told: str,
) -> tuple[str, str]:
    """Return the outcome of a run that has ended under a fault which is over now, and
    what is wrong.

    `told`: words that its sentence must hold where it failed. The run is called again,
    which must complete it.
    """
    text = said(study.disturbed).read_text(encoding="utf-8")
    lost = damage(study, jobs, finished, began)
    failed = any(not (study.disturbed / name).exists() for name in names)
    again = complete(start(study, asked(study, jobs, names)), study)
    lost += keep_differences(study)
    if lost or not again:
        ended = (
            [] if again else [_end(said(study.disturbed).read_text(encoding="utf-8"))]
        )
        return "lost", "; ".join([*lost, *ended])
    if not failed:
        return "recovered", ""
    if told not in text or "Traceback" in text:
        return "unclear", _end(text)
    return "refused", ""


def _end(text: str) -> str:
    return " | ".join(text.strip().splitlines()[-12:])


def _table_kinds(chance: random.Random) -> list[str]:
    return chance.sample(
        [
            "words",
            "labels",
            "training",
            "adapters",
            "embedding",
            "evaluation",
            "chapters",
        ],
        2,
    )


def begun(
    study: Study, jobs: dict, chance: random.Random, kinds: list[str]
) -> tuple[list[str], set[str], float]:
    """Delete the outputs of jobs of some kinds; return them, the tables that are left,
    and the time.
    """
    names = some(jobs, chance, kinds)
    remove(study.disturbed, names)
    finished = {
        name for name in result_files(study.disturbed, study.run) if same(study, name)
    }
    return names, finished, time.time()


# --- Folders
# --------------------------------------------------------------------------------------


def cache_removed(study: Study, jobs: dict, chance: random.Random) -> tuple[str, str]:
    """Delete every cache while jobs are at work: the user's, the embeddings', and that
    of notebooks.
    """
    names, finished, began = begun(
        study,
        jobs,
        chance,
        ["embedding", "adapters", chance.choice(["words", "evaluation"])],
    )
    run = start(study, names)
    wait_for_work(run, study, jobs, began)
    time.sleep(chance.uniform(0, 4))
    for place in ("cache", "_build/cache", study.run / "cache"):
        shutil.rmtree(study.disturbed / place, ignore_errors=True)
    complete(run, study)
    return judged(study, jobs, names, began, finished, "call again")


def disk_full(study: Study, jobs: dict, chance: random.Random) -> tuple[str, str]:
    """Run on a disk that has hardly any room left."""
    names, finished, began = begun(study, jobs, chance, _table_kinds(chance))
    with mounted(study, "tmpfs", chance) as reason:
        if reason:
            return "skipped", reason
        complete(start(study, names), study)
    return judged(study, jobs, names, began, finished, "make room")


def read_only(study: Study, jobs: dict, chance: random.Random) -> tuple[str, str]:
    """Run with a folder that cannot be written to."""
    kinds = _table_kinds(chance)
    names, finished, began = begun(study, jobs, chance, kinds)
    place = chance.choice(
        [
            Path(names[0]).parent,
            study.run / "logs",
            study.run / "notebooks",
            study.run,
            Path(),
        ]
    )
    with mounted(study, str(place), chance) as reason:
        if reason:
            return "skipped", reason
        complete(start(study, names), study)
    outcome, note = judged(study, jobs, names, began, finished, "written")
    return outcome, note and f"{place}: {note}"


@contextlib.contextmanager
def mounted(study: Study, what: str, chance: random.Random) -> Iterator[str]:
    """Mount for a while what makes a fault; yields "" or the reason why that cannot be
    done here.

    `what`: "tmpfs" for a full disk in place of the whole folder, else the path below it
    that becomes read-only.
    """
    if os.geteuid() != 0 or not shutil.which("mount"):
        yield "mounting needs Linux and root"
        return
    place = study.disturbed / (what if what != "tmpfs" else "")
    place.mkdir(parents=True, exist_ok=True)
    aside = study.disturbed.with_name("aside")
    if what == "tmpfs":
        size = sum(file.lstat().st_blocks * 512 + 4096 for file in place.rglob("*"))
        options = [
            ["-t", "tmpfs", "-o", f"size={size + 50_000_000}", "tmpfs", str(place)]
        ]
        place.rename(aside)
        place.mkdir()
    else:
        options = [
            ["--bind", str(place), str(place)],
            ["-o", "remount,ro,bind", str(place)],
        ]
    for given in options:
        done = subprocess.run(
            ["mount", *given], capture_output=True, text=True, check=False
        )
        if done.returncode:
            _unmount(place, aside)
            yield f"mount: {done.stderr.strip()}"
            return
    try:
        if what == "tmpfs":
            shutil.copytree(aside, place, dirs_exist_ok=True)
            disk = os.statvfs(place)
            with (place / "filler").open("wb") as file:
                file.write(
                    bytes(
                        max(0, disk.f_bavail * disk.f_frsize - chance.randint(0, FREE))
                    )
                )
        yield ""
    finally:
        if aside.exists():  # what the run did on the full disk is what is judged
            (place / "filler").unlink(missing_ok=True)
            shutil.copytree(
                place, study.disturbed.with_name("after"), dirs_exist_ok=True
            )
        _unmount(place, aside)


def clear(study: Study) -> None:
    """End what a campaign that was stopped in the middle has left: processes, mounts, a
    folder put aside.
    """
    for process in processes(study.disturbed):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    mounts = Path("/proc/self/mounts")
    for line in reversed(
        mounts.read_text(encoding="utf-8").splitlines() if mounts.exists() else []
    ):
        place = Path(line.split()[1].replace("\\040", " "))
        if place.is_relative_to(study.disturbed):
            subprocess.run(["umount", str(place)], capture_output=True, check=False)
    shutil.rmtree(study.disturbed.with_name("after"), ignore_errors=True)
    aside = study.disturbed.with_name("aside")
    if aside.exists():
        shutil.rmtree(study.disturbed, ignore_errors=True)
        aside.rename(study.disturbed)


def _unmount(place: Path, aside: Path) -> None:
    subprocess.run(["umount", str(place)], capture_output=True, check=False)
    after = place.with_name("after")
    if after.exists():
        place.rmdir()
        after.rename(place)
        shutil.rmtree(aside)
    elif aside.exists():
        place.rmdir()
        aside.rename(place)


def clock_back(study: Study, jobs: dict, chance: random.Random) -> tuple[str, str]:
    """Run with tables from the future, as a clock that was set back leaves them."""
    names, finished, began = begun(study, jobs, chance, _table_kinds(chance))
    ahead = time.time() + chance.uniform(60, 400 * 24 * 3600)
    for name in result_files(study.disturbed, study.run):
        if chance.random() < 0.5:
            os.utime(study.disturbed / name, (ahead, ahead))
    complete(start(study, names), study)
    return judged(study, jobs, names, began, finished, "clock")


# --- Two at once
# --------------------------------------------------------------------------------------


def two_runs(study: Study, jobs: dict, chance: random.Random) -> tuple[str, str]:
    """Start a second run in the folder of one that is at work."""
    names, finished, began = begun(study, jobs, chance, _table_kinds(chance))
    run = start(study, names)
    wait_for_work(run, study, jobs, began)
    second = subprocess.run(
        [sys.executable, "-m", "atlas_study", "locked", "true"],
        cwd=study.disturbed,
        env=environment(study.disturbed),
        capture_output=True,
        text=True,
        check=False,
    )
    complete(run, study)
    outcome, note = judged(study, jobs, names, began, finished, "")
    one = (
        second.returncode == 1
        and second.stderr.count("\n") == 1
        and "Another run is using" in second.stderr
    )
    return (
        ("refused" if one else "unclear", second.stderr)
        if outcome == "recovered"
        else (outcome, note)
    )


def two_runs_unlocked(
    study: Study, jobs: dict, chance: random.Random
) -> tuple[str, str]:
    """Let two runs without the folder's lock make the same tables at once, by Snakemake
    alone.
    """
    names, finished, began = begun(study, jobs, chance, _table_kinds(chance))
    first = start(study, names, locked=False)
    time.sleep(chance.uniform(0, 3))
    second = start(study, names, locked=False)
    for run in (first, second):
        complete(run, study)
    return judged(study, jobs, names, began, finished, "")


def submitter_killed(
    study: Study, jobs: dict, chance: random.Random
) -> tuple[str, str]:
    """Kill the process that submits to Slurm while its jobs are at work, and call it
    again.
    """
    if reason := real_slurm.absent():
        return "skipped", reason
    profile = real_slurm.profile(study.disturbed.with_name("profile"))
    more = ["--profile", str(profile)]
    kinds = [chance.choice(["labels", "evaluation"]), "chapters"]
    names, finished, began = begun(study, jobs, chance, kinds)
    first = start(study, names, more=more)
    wait_for_work(first, study, jobs, began)
    time.sleep(chance.uniform(0, 4))
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()

    seen, second = {}, start(study, names, more=more)
    last = time.monotonic() + PATIENCE
    while second.poll() is None and time.monotonic() < last:
        # Slurm forgets a job some minutes after its end.
        seen |= {job["JobId"]: job for job in real_slurm.submitted(study.disturbed)}
        time.sleep(1)
    complete(second, study)
    text = said(study.disturbed).read_text(encoding="utf-8")
    outcome, note = judged(study, jobs, names, began, finished, "")
    if twice := real_slurm.at_once([*seen.values()]):
        return "lost", f"two jobs at once made {', '.join(sorted(twice))}"
    if outcome == "recovered" and "an earlier call had left" not in text:
        return "skipped", "no job was left when the submitter was killed"
    return outcome, note


def two_notebooks(study: Study, jobs: dict, chance: random.Random) -> tuple[str, str]:
    """Run one notebook twice at once, both with the same output."""
    place = study.disturbed.with_name("scratch")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    shutil.copy(ROOT / "Snakefile", place)
    notebook = ROOT / "notebooks" / "stages" / "61_labels.ipynb"
    given = [
        "--parameter",
        f"senses={study.disturbed / study.run / 'senses' / 'senses.parquet'}",
    ]
    given += [
        "--parameter",
        "languages=[en, de]",
        "--parameter",
        f"output={place / 'labels.parquet'}",
    ]
    words = [
        sys.executable,
        "-m",
        "atlas_study",
        "run",
        str(notebook),
        *given,
        "--output",
        str(place / "page.ipynb"),
    ]
    settings = {
        "cwd": place,
        "env": environment(place),
        "text": True,
        "stdout": subprocess.DEVNULL,
    }
    told, made = [], []
    for count in (1, 2):
        running = []
        for _ in range(count):
            running.append(subprocess.Popen(words, stderr=subprocess.PIPE, **settings))
            time.sleep(chance.uniform(0, 2) if count > 1 else 0)
        told += [run.communicate()[1] for run in running]
        if any(run.returncode for run in running):
            return ("unclear" if "Traceback" in "".join(told) else "lost"), _end(
                "".join(told)
            )
        made.append((place / "labels.parquet").read_bytes())
    return ("recovered", "") if made[0] == made[1] else ("lost", "the tables differ")


# --- Downloads, archives, merges
# --------------------------------------------------------------------------------------


@contextlib.contextmanager
def served(content: bytes, behave: Callable) -> Iterator[str]:
    """Serve `content` at an address as `behave(handler, content)` does."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            with contextlib.suppress(OSError):
                behave(self, content)

        def log_message(self, *words):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/file.bin"
    finally:
        server.shutdown()
        server.server_close()


def _send(handler, content: bytes, share: float = 1.0, pause: float = 0.0) -> None:
    """Promise all of `content` and send a share of it, in pieces with pauses between
    them.
    """
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    end = int(share * len(content))
    for place in range(0, end, 100_000):
        handler.wfile.write(content[place : min(place + 100_000, end)])
        time.sleep(pause)


FETCH = """
import sys
from babelatlas.base import download
from babelatlas.base.errors import InputError
entry = {{"mirror": "none", "url": {address!r}, "sha256": {digest!r}}}
download.files = lambda: {{"file": entry}}
try:
    print(download.file("file"))
except InputError as error:
    sys.exit(str(error))
"""
UNPACK = """
import sys
from pathlib import Path
from babelatlas.base import download
print(download.unpack(Path({archive!r})))
"""


def _python(
    code: str,
    folder: Path,
    kill_after: float | None = None,
    ready: Callable[[], bool] = lambda: True,
) -> tuple[int, str, str]:
    """Run Python code; return exit status and output. `kill_after`: seconds from
    `ready` on until it is killed.
    """
    settings = environment(folder)
    settings.pop("BABELATLAS_MIRROR", None)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    words = [sys.executable, "-c", code]
    run = subprocess.Popen(
        words, cwd=folder, env=settings, start_new_session=True, **pipes
    )
    if kill_after is not None:
        while run.poll() is None and not ready():
            time.sleep(0.01)
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.wait(kill_after)
        if run.poll() is None:
            kill_run(run, folder)
    out, err = run.communicate()
    return run.returncode, out, err


def _scratch(study: Study) -> Path:
    place = study.disturbed.with_name("scratch")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    return place


def _fetched(
    content: bytes, place: Path, behave: Callable, *killed
) -> tuple[int, str, str]:
    """Fetch `content` with `download.file`; return exit status and output. `killed`: as
    the last two of `_python`.
    """
    with served(content, behave) as address:
        code = FETCH.format(address=address, digest=hashlib.sha256(content).hexdigest())
        return _python(code, place, *killed)


def download_cut(study: Study, jobs: dict, chance: random.Random) -> tuple[str, str]:
    """Cut a download in its middle, then fetch again."""
    place = _scratch(study)
    content = chance.randbytes(FILE)
    share = chance.uniform(0, 0.999)
    status, _, told = _fetched(
        content, place, lambda handler, all_: _send(handler, all_, share)
    )
    if not status:
        return "lost", "half a file was taken for a whole one"
    clear = (
        "cannot be fetched" in told.strip().splitlines()[-1] and "Traceback" not in told
    )
    return _again(
        content, place, "refused" if clear else "unclear", "" if clear else _end(told)
    )


def download_killed(study: Study, jobs: dict, chance: random.Random) -> tuple[str, str]:
    """Kill the process that downloads, then fetch again."""
    place, content = _scratch(study), chance.randbytes(FILE)
    asked = threading.Event()

    def slowly(handler, content: bytes) -> None:
        asked.set()
        _send(handler, content, 1, 0.05)

    status, *_ = _fetched(content, place, slowly, chance.uniform(0, 1.5), asked.is_set)
    return (
        _again(content, place, "recovered", "")
        if status < 0
        else ("skipped", "it ended before it was killed")
    )


def _again(content: bytes, place: Path, outcome: str, note: str) -> tuple[str, str]:
    """Return an outcome and its note if the file can now be fetched whole."""
    status, out, err = _fetched(content, place, _send)
    if status or Path(out.strip()).read_bytes() != content:
        return "lost", _end(err)
    return outcome, note


def unpacking_killed(
    study: Study, jobs: dict, chance: random.Random
) -> tuple[str, str]:
    """Kill a process that unpacks an archive, then unpack it again."""
    place = _scratch(study)
    (place / "true").mkdir()
    for number in range(MEMBERS):
        (place / "true" / f"{number}.bin").write_bytes(chance.randbytes(3000))
    archive = place / "archive.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=1) as file:
        file.add(place / "true", ".")
    code = UNPACK.format(archive=str(archive))
    status, *_ = _python(
        code, place, chance.uniform(0, 0.3), lambda: any(place.glob(".*.part"))
    )
    hit = status < 0
    status, out, err = _python(code, place)
    folder = Path(out.strip().splitlines()[-1]) if out.strip() else place
    whole = not status and all(
        (folder / file.name).read_bytes() == file.read_bytes()
        for file in (place / "true").iterdir()
    )
    if not whole:
        return "lost", _end(err)
    return ("recovered", "") if hit else ("skipped", "it ended before it was killed")


def merge_killed(study: Study, jobs: dict, chance: random.Random) -> tuple[str, str]:
    """Kill `babelatlas merge`, then merge again."""
    place = _scratch(study)
    shutil.copy(ROOT / "Snakefile", place)
    source = next(
        (study.undisturbed / study.run / "zeroshot").glob("picto-en_*.parquet")
    )
    words = ["merge", str(source), "--origin", "Ana"]
    code = (
        "import sys; from atlas_study.commands.main import main;"
        f" sys.exit(main({words!r}))"
    )
    made = []
    takes = 0.0
    for kill_after in (None, chance.uniform(0.2, 1)):
        shutil.rmtree(place / "results", ignore_errors=True)
        shutil.copytree(
            study.undisturbed / study.run,
            place / "results" / "demo",
            ignore=shutil.ignore_patterns("cache"),
        )
        # As if another person had computed it.
        shutil.rmtree(place / "results" / "demo" / "zeroshot")
        began = time.monotonic()
        if kill_after:
            _python(code, place, kill_after * takes)
        status, _, err = _python(code, place)
        takes = time.monotonic() - began
        if status:
            return "lost", _end(err)
        made.append(
            {
                file.name: file.read_bytes()
                for file in (place / "results/demo/merged").glob("*.parquet")
            }
        )
    return (
        ("recovered", "")
        if made[0] == made[1] and made[0]
        else ("lost", "the merged tables differ")
    )


CASES = [
    Case("cache removed during a run", "embedding, adapters", cache_removed),
    Case("disk full", "any", disk_full),
    Case("folder read-only", "any", read_only),
    Case("clock set back", "any", clock_back),
    Case("two runs in one folder", "any", two_runs),
    Case("two runs in one folder, lock bypassed", "any", two_runs_unlocked),
    Case("submitter to Slurm killed", "any", submitter_killed),
    Case("one notebook run twice at once", "labels", two_notebooks),
    Case("download cut", "download", download_cut),
    Case("download killed", "download", download_killed),
    Case("unpacking killed", "archive", unpacking_killed),
    Case("merge killed", "merge", merge_killed),
]
