"""What a run says while it is at work: a line for each step, with the time that is left.

A handler of Snakemake's log, in place of its own on the terminal; Snakemake's file of
the run in `.snakemake/log` stays as it is.
"""

import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Mapping
from logging import WARNING, LogRecord
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

from atlas_study.workflow import step_logs
from atlas_study.workflow.run_notebook import QUIET
from babelatlas.report.formatting import counted

NAME = "lines"
# Seconds of each rule's jobs on two cores, which `benchmarks/steps.py` measures.
MEASURED = Path("benchmarks", "steps.csv")
# Of the expected work, the share that must be done before the time left is estimated.
ENOUGH = 0.05
NOTHING_TO_DO = "Nothing to be done"


class Step(NamedTuple):
    """A job that was started: its name, rule, log, the first file that it writes, and
    when.
    """

    name: str
    rule: str
    log: str
    output: str
    began: float


def register() -> None:
    """Let Snakemake know the handler, as `--logger lines`."""
    LoggerPluginRegistry().register_plugin(
        f"snakemake_logger_plugin_{NAME}", sys.modules[__name__]
    )


def expected_seconds(counts: Mapping[str, int]) -> dict[str, float]:
    """Return how long a job of each rule takes, in seconds, as was measured; of a rule
    that was not, the median of all.

    `counts`: rule -> number of its jobs.
    """
    if not MEASURED.is_file():
        return dict.fromkeys(counts, 1.0)
    measured = pd.read_csv(MEASURED).set_index("rule")["seconds"]
    typical = statistics.median(measured)
    return {rule: float(measured.get(rule, typical)) for rule in counts}


def time_left(elapsed: float, done: float, total: float) -> str:
    """Return in words how long a run still takes; "" where too little is done to say.

    `elapsed`: seconds so far; `done`, `total`: expected work, in any unit.

    >>> time_left(60, 20, 100), time_left(60, 90, 100), time_left(5, 1, 100)
    ('4 minutes left', 'less than a minute left', '')
    """
    if total <= 0 or done < ENOUGH * total:
        return ""
    minutes = elapsed * (total - done) / done / 60
    if minutes < 1:
        return "less than a minute left"
    return f"{counted(round(minutes), 'minute')} left"


class LogHandler(LogHandlerBase):
    """Writes a line for each step that ends, and what goes wrong, to standard error."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = True
    has_formatter = True
    needs_rulegraph = False

    def __post_init__(self) -> None:
        self.began = time.monotonic()
        self.steps: dict[int, Step] = {}
        self.finished: list[Step] = []
        self.counts: Counter[str] = Counter()
        self.seconds: dict[str, float] = {}
        self.work_done = 0.0
        # The jobs of this run print no lines of their own.
        os.environ[QUIET] = "1"

    def emit(self, record: LogRecord) -> None:
        """Write what a record of Snakemake's says, if a reader needs it."""
        event = getattr(record, "event", None)
        if event == LogEvent.RUN_INFO:
            self._plan(record.stats)
        elif event == LogEvent.JOB_INFO:
            self._start(record)
        elif event == LogEvent.JOB_FINISHED:
            self._finish(record.job_id)
        elif event == LogEvent.PROGRESS:
            self._tell(record.done, record.total)
        elif event == LogEvent.JOB_ERROR:
            self._fail(record)
        elif event in (None, LogEvent.ERROR, LogEvent.GROUP_ERROR):
            self._pass_on(record)

    def _plan(self, stats: Mapping[str, int]) -> None:
        self.counts.update(
            {rule: number for rule, number in stats.items() if rule != "total"}
        )
        self.seconds = expected_seconds(self.counts)
        self.began = time.monotonic()
        _write(f"{self.counts.total()} steps.")

    def _start(self, record: LogRecord) -> None:
        name, log = _name_and_log(record)
        output = next(iter(record.output or []), "")
        step = Step(name, record.rule_name, log, output, time.monotonic())
        self.steps[record.jobid] = step

    def _finish(self, jobid: int) -> None:
        step = self.steps.get(jobid)
        if step:
            self.work_done += self.seconds.get(step.rule, 1.0)
            self.finished.append(step)

    def _tell(self, done: int, total: int) -> None:
        """Write a line for each step that has ended since the last time."""
        now = time.monotonic()
        work = sum(
            number * self.seconds.get(rule, 1.0) for rule, number in self.counts.items()
        )
        left = time_left(now - self.began, self.work_done, work)
        for step in self.finished:
            if not step.log:  # the rule that stands for all
                continue
            seconds = f"{now - step.began:.0f} s"
            line = f"  {done:>{len(str(total))}} of {total}  {step.name}, {seconds}"
            _write(f"{line}; {left}" if left and done < total else line)
            if step.rule == "page" and self.counts["book"]:
                _write(f"  The first page to read: {Path(step.output).resolve()}")
        self.finished = []

    def _fail(self, record: LogRecord) -> None:
        name, log = _name_and_log(record)
        if log and step_logs.is_done(step_logs.lines_of(log)):
            # It ended well, but another step of its job in Slurm's queue failed.
            return
        reason = step_logs.reason_in(log) if log else "it has no log."
        where = f" (its log: {log})" if log else ""
        _write(f"  failed: {name}: {reason}{where}")

    def _pass_on(self, record: LogRecord) -> None:
        """Write warnings and errors of Snakemake's own; what it says of a job that
        failed was told with its reason.
        """
        text = record.getMessage().strip()
        if text.startswith(NOTHING_TO_DO):
            _write("Everything is there and up to date.")
        is_of_a_job = (
            "CalledProcessError" in text
            or "job execution failed" in text
            or "job did not complete" in text
        )
        if record.levelno >= WARNING and text and not is_of_a_job:
            _write(text)


def _name_and_log(record: LogRecord) -> tuple[str, str]:
    """Return what a job is called, as its log is, and the log; "" where it has none."""
    log = next(iter(record.log or []), "")
    return Path(log).stem or record.rule_name, log


def _write(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
