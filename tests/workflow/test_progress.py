"""What a run says while it is at work: a line a step, and what went wrong."""

import logging
from types import SimpleNamespace

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from atlas_study.workflow import progress
from atlas_study.workflow.run_notebook import QUIET


@pytest.fixture
def handler(tmp_path, monkeypatch):
    """A handler in a folder where two rules were measured."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(QUIET, "")  # which the handler sets, and the test gives back
    (tmp_path / "benchmarks").mkdir()
    table = "rule,jobs,seconds,all_seconds\ntrain,1,30,30\nlabels,3,10,30\n"
    (tmp_path / progress.MEASURED).write_text(table, encoding="utf-8")
    return progress.LogHandler(SimpleNamespace(), None)


def record(event=None, level=logging.INFO, msg="", **values):
    made = logging.LogRecord("snakemake", level, "", 0, msg, None, None)
    made.__dict__.update(values | {"event": event})
    return made


def start(handler, jobid, rule, log, output=()):
    values = {"jobid": jobid, "rule_name": rule, "log": log, "output": output}
    handler.emit(record(LogEvent.JOB_INFO, **values))


def test_a_step_that_ends_is_one_line_with_the_time_that_is_left(
    handler, capsys, monkeypatch
):
    clock = iter([0.0, 0.0, 0.0, 120.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    stats = {"train": 2, "labels": 3, "total": 5}
    handler.emit(record(LogEvent.RUN_INFO, stats=stats))
    start(handler, 1, "train", ["results/demo/logs/63_train_a.txt"])
    start(handler, 2, "train", ["results/demo/logs/63_train_b.txt"])
    handler.emit(record(LogEvent.JOB_FINISHED, job_id=1))
    handler.emit(record(LogEvent.PROGRESS, done=1, total=5))
    # 30 of 90 expected seconds took two minutes.
    assert capsys.readouterr().err.splitlines() == [
        "5 steps.",
        "  1 of 5  63_train_a, 120 s; 4 minutes left",
    ]


def test_the_last_step_has_no_time_left_and_the_rule_of_all_has_no_line(
    handler, capsys
):
    handler.emit(record(LogEvent.RUN_INFO, stats={"labels": 1, "all": 1, "total": 2}))
    start(handler, 1, "labels", ["results/demo/logs/61_labels.txt"])
    handler.emit(record(LogEvent.JOB_FINISHED, job_id=1))
    handler.emit(record(LogEvent.PROGRESS, done=2, total=2))
    start(handler, 0, "all", [])
    handler.emit(record(LogEvent.JOB_FINISHED, job_id=0))
    handler.emit(record(LogEvent.PROGRESS, done=2, total=2))
    assert capsys.readouterr().err.splitlines() == [
        "2 steps.",
        "  2 of 2  61_labels, 0 s",
    ]


def test_a_failed_step_is_one_line_with_its_reason_and_its_log(
    handler, capsys, tmp_path
):
    log = tmp_path / "60_senses.txt"
    log.write_text(
        "on x\nrunning: y\nfailed: 60_senses: No column.\n", encoding="utf-8"
    )
    command = "RuleException:\nCalledProcessError in file: a thousand characters"
    handler.emit(record(LogEvent.JOB_ERROR, rule_name="senses", log=[str(log)]))
    handler.emit(record(LogEvent.ERROR, logging.ERROR, command))
    handler.emit(record(None, logging.ERROR, "Exiting because a job execution failed."))
    assert (
        capsys.readouterr().err == f"  failed: 60_senses: No column. (its log: {log})\n"
    )


def test_a_step_that_ended_well_is_not_called_failed_with_the_others_of_its_job(
    handler, capsys, tmp_path
):
    logs = {"good": "on x\ndone: 3 s\n", "bad": "on x\nfailed: bad: No.\n", "after": ""}
    for name, text in logs.items():
        log = tmp_path / f"{name}.txt"
        log.write_text(text, encoding="utf-8")
        handler.emit(record(LogEvent.JOB_ERROR, rule_name=name, log=[str(log)]))
    said = capsys.readouterr().err.splitlines()
    assert [line.partition(" (")[0] for line in said] == [
        "  failed: bad: No.",
        "  failed: after: It never began.",
    ]


def test_warnings_and_errors_of_the_scheduler_are_passed_on_and_its_talk_is_not(
    handler, capsys
):
    handler.emit(record(None, logging.INFO, "Building DAG of jobs..."))
    handler.emit(record(None, logging.WARNING, "The disk is full."))
    handler.emit(record(None, logging.INFO, "Nothing to be done (all files there)."))
    assert capsys.readouterr().err.splitlines() == [
        "The disk is full.",
        "Everything is there and up to date.",
    ]


def test_a_rule_that_was_not_measured_takes_the_median_of_those_that_were(handler):
    assert progress.expected_seconds({"train": 1, "new": 2}) == {
        "train": 30.0,
        "new": 20.0,
    }


def test_without_a_measurement_all_steps_count_alike(handler, tmp_path):
    (tmp_path / progress.MEASURED).unlink()
    assert progress.expected_seconds({"a": 1, "b": 2}) == {"a": 1.0, "b": 1.0}


def test_the_page_that_can_be_read_before_the_book_is_named_with_its_path(
    handler, capsys, tmp_path
):
    stats = {"page": 1, "book": 1, "total": 2}
    handler.emit(record(LogEvent.RUN_INFO, stats=stats))
    start(handler, 1, "page", ["page_16.txt"], ["_build/page/html/16.html"])
    handler.emit(record(LogEvent.JOB_FINISHED, job_id=1))
    handler.emit(record(LogEvent.PROGRESS, done=1, total=2))
    assert f"{tmp_path}/_build/page/html/16.html" in capsys.readouterr().err
