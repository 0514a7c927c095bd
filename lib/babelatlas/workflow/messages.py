"""What a run tells: its progress, and at its end each job that failed in the sentence that the job left."""

import logging
import os
import sys
from pathlib import Path

from babelatlas.workflow import gpus

FAILED = {}  # log of a job that failed -> what Snakemake knows of it
STOPPED = []  # what Snakemake says once somebody stops the run


def listen(run: str) -> None:
    """Show of the messages what neither a job nor the list at the end says; remove notes of earlier failures."""
    FAILED.clear()
    STOPPED.clear()
    for note in Path(run, "logs").glob("*.failed"):
        note.unlink()
    logger = logging.getLogger("snakemake.logging")
    logger.addFilter(_remember)
    for handler in logger.handlers:
        handler.addFilter(_readable)


def announce(study, dry: bool) -> None:
    """Print to stderr what a plan leaves out where stages are limited, and before a dry run what the run will take."""
    if dry and (said := estimate(study)):
        print(said, file=sys.stderr)
    if study.left_out:
        print(
            f"A limit is set: tables are marked as partial, and {len(study.left_out)} chapter(s) that need whole "
            f"tables are left out of the book: {', '.join(study.left_out)}.",
            file=sys.stderr,
        )


def estimate(study) -> str:
    """Return what the jobs of published models that are not done will take, as text; "" without such.

    On this machine's processor, and on its first GPU, or where it has none on an A100.
    """
    entries = [*study.entries.values(), *study.translator_entries.values()]
    entries = {entry.name: entry for entry in entries if entry.source is not None}
    todo = [job for job in study.jobs() if not Path(study.page("_".join(filter(None, job)))).exists()]
    jobs = [job for job in todo if job[1] in entries]
    if not jobs:
        return ""
    from babelatlas.models import hub
    from babelatlas.report import run_estimate  # slow to import
    from babelatlas.report.benchmarks import timings

    jobs = [(stage, one, name) for stage, one, dataset in jobs for name in ([dataset] if dataset else study.protocols)]
    table, cores = timings.read(), os.cpu_count() or 1
    half = study.valued("20_zeroshot")["precision"] != "float32"
    processor = run_estimate.cpu(cores, table)
    card = run_estimate.gpu(next(iter(gpus.names()), "A100"), half, table)
    fetched = [name for name, entry in entries.items() if study.checkpoint(name) or hub.in_cache(entry)]
    given = {stage: study.valued(stage) | {"limit": study.limit(stage)} for stage, *_ in jobs}
    found = run_estimate.estimate(jobs, given.get, processor, card, cores, fetched, table)
    left = sorted({stage for stage, *_ in jobs} & {*run_estimate.OTHERS})
    return run_estimate.told(found, processor, card, left)


def report() -> None:
    """Print the jobs that failed, each with its sentence and its log, to stderr; not those that somebody stopped."""
    found = {log: said for log, said in FAILED.items() if not STOPPED or _note(log).is_file()}
    if found:
        print(failures(found), file=sys.stderr, flush=True)
    if STOPPED:
        print("\nStopped: the same command goes on with what is not done.", file=sys.stderr, flush=True)


def failures(found: dict[str, str]) -> str:
    """Return the list of jobs that failed: log -> what Snakemake says, shown where the job left no sentence itself."""
    lines = []
    for log, message in found.items():
        note = _note(log)
        reason = "it was killed, or memory, time or room on the disk ran out"
        died = f"{Path(log).stem}: it ended without a word: {reason}. {message}"
        lines += ["", note.read_text(encoding="utf-8").strip() if note.is_file() else died.strip(), f"  log: {log}"]
    jobs = "One job failed" if len(found) == 1 else f"{len(found)} jobs failed"
    return "\n".join([f"\n{jobs}; what does not need {'it' if len(found) == 1 else 'them'} is done.", *lines])


def _note(log: str) -> Path:
    return Path(log).with_suffix(".failed")


def _remember(record: logging.LogRecord) -> bool:
    """Note the jobs that fail, and whether somebody stops the run, for the list at the end; keep every record."""
    if "on user request" in record.getMessage():
        STOPPED.append(record.getMessage())
    if getattr(record, "event", None) == "job_error":
        path = next(iter(record.log), f"{record.rule_name}.txt").partition(" (")[0]  # "... (send to storage)"
        FAILED[path] = getattr(record, "rule_msg", None) or ""
    return True


def _readable(record: logging.LogRecord) -> bool:
    """Return whether a record is progress, or an error that neither a job nor the list at the end tells."""
    told = "babelatlas" in record.getMessage() or getattr(record, "event", "") == "job_error"
    told = told or (FAILED and record.getMessage().startswith(("Exiting because", "WorkflowError:\nAt least one job")))
    return (record.levelno >= logging.ERROR and not told) or getattr(record, "event", "") == "progress"
