"""The campaign of faults in small: what it takes for lost, how it counts, and faults
that need no whole run.
"""

import base64
import random
import subprocess
import sys
import time

import pandas as pd
import pytest

import fault_cases
import fault_outcomes
import fault_runs
import faults
import real_slurm
from babelatlas.base.errors import InputError

JOBS = {
    "results/tiny/logs/a.txt": {
        "kind": "words",
        "outputs": ["results/tiny/senses/a.parquet"],
    },
    "results/tiny/logs/b.txt": {
        "kind": "labels",
        "outputs": ["results/tiny/labels/b.parquet"],
    },
}
TABLES = {name for job in JOBS.values() for name in job["outputs"]}


@pytest.fixture
def study(tmp_path):
    """Two equal runs of two tables."""
    config = tmp_path / "study.yml"
    config.write_text("run: tiny\n", encoding="utf-8")
    for folder in ("undisturbed", "disturbed"):
        for log, job in JOBS.items():
            for name in (log, *job["outputs"]):
                (tmp_path / folder / name).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / folder / name).write_bytes(b"12345678")
        (tmp_path / folder / "_build" / "html").mkdir(parents=True)
        (tmp_path / folder / "_build" / "html" / "index.html").touch()
    return fault_runs.Study(config, tmp_path / "undisturbed", tmp_path / "disturbed")


def test_a_table_that_is_cut_missing_or_new_is_a_difference(study):
    assert fault_runs.differences(study) == []
    one, other = sorted(TABLES)
    (study.disturbed / one).write_bytes(b"1234")
    (study.disturbed / other).unlink()
    (study.disturbed / "results/tiny/labels/new.parquet").write_bytes(b"1")
    assert fault_runs.differences(study) == [
        one,
        "results/tiny/labels/new.parquet",
        other,
    ]


def test_a_finished_table_that_is_gone_is_damage_but_one_that_is_made_again_may_be_absent(
    study,
):
    later = time.time() + 60
    assert fault_runs.damage(study, JOBS, TABLES, later) == []
    (study.disturbed / "results/tiny/senses/a.parquet").unlink()
    assert fault_runs.damage(study, JOBS, TABLES, later) == [
        "results/tiny/senses/a.parquet"
    ]
    assert fault_runs.damage(study, JOBS, TABLES, 0) == []
    (study.disturbed / "results/tiny/labels/b.parquet").write_bytes(b"1234")
    assert fault_runs.damage(study, JOBS, TABLES, 0) == [
        "results/tiny/labels/b.parquet"
    ]


def test_a_file_of_a_folder_that_is_made_again_may_be_absent(study):
    page, later = "results/tiny/pages/data/de.csv", time.time() + 60
    jobs = JOBS | {"results/tiny/logs/p.txt": {"outputs": ["results/tiny/pages"]}}
    assert fault_runs.damage(study, jobs, {*TABLES, page}, later) == [page]
    (study.disturbed / "results/tiny/logs/p.txt").parent.mkdir(exist_ok=True)
    (study.disturbed / "results/tiny/logs/p.txt").touch()
    assert fault_runs.damage(study, jobs, {*TABLES, page}, 0) == []


def test_of_a_table_that_says_how_long_something_took_the_rest_is_compared(study):
    name = "results/tiny/adaptations/a.parquet"
    for folder, steps, seconds in (
        (study.undisturbed, 3, 1.0),
        (study.disturbed, 3, 2.0),
    ):
        (folder / name).parent.mkdir()
        pd.DataFrame({"steps": [steps], "seconds": [seconds]}).to_parquet(folder / name)
    assert fault_runs.same(study, name)
    pd.DataFrame({"steps": [4], "seconds": [1.0]}).to_parquet(study.disturbed / name)
    assert not fault_runs.same(study, name)
    (study.disturbed / name).write_bytes(b"cut")
    assert not fault_runs.same(study, name)


def test_restored_files_have_the_bytes_and_times_of_the_undisturbed_run(study):
    one, other = sorted(TABLES)
    (study.disturbed / one).write_bytes(b"1234")
    (study.disturbed / other).unlink()
    (study.disturbed / ".snakemake" / "incomplete").mkdir(parents=True)
    (
        study.disturbed
        / ".snakemake"
        / "incomplete"
        / base64.b64encode(one.encode()).decode()
    ).touch()
    fault_runs.restore(study)
    assert fault_runs.differences(study) == []
    assert not fault_runs.unfinished(study.disturbed)
    times = {
        (folder / one).stat().st_mtime_ns
        for folder in (study.undisturbed, study.disturbed)
    }
    assert len(times) == 1


@pytest.mark.slow
def test_a_killed_run_is_waited_for_until_its_last_process_has_ended(tmp_path):
    code = (
        "import subprocess, time; subprocess.Popen(['sleep', '1'],"
        " start_new_session=True); time.sleep(60)"
    )
    settings = {"env": fault_runs.environment(tmp_path), "start_new_session": True}
    run = subprocess.Popen([sys.executable, "-c", code], **settings)
    while len(fault_runs.processes(tmp_path)) < 2:
        time.sleep(0.01)
    assert 0 < fault_runs.kill_run(run, tmp_path) < 10
    assert fault_runs.processes(tmp_path) == []


def test_jobs_of_slurm_that_make_the_same_step_at_once_are_seen():
    def job(comment: str, began: int, ended: int | str) -> dict[str, str]:
        ends = ended if isinstance(ended, str) else f"2026-11-29T10:{ended}:00"
        times = {"StartTime": f"2026-11-29T10:{began}:00", "EndTime": ends}
        return times | {"Comment": comment}

    labels = job("rule_labels_wildcards_a", 10, 20)
    chapters = job("rule_early_chapter_14_gap_over_time_chapter_30_labels", 10, 20)
    later = job("rule_labels_wildcards_a", 20, "Unknown")
    assert real_slurm.at_once([labels, chapters, later]) == set()
    meanwhile = job("rule_labels_wildcards_a", 19, "Unknown")
    one = job("rule_chapter_30_labels", 15, 30)
    assert real_slurm.at_once([labels, chapters, meanwhile, one]) == {
        "rule_labels_wildcards_a",
        "chapter_30_labels",
    }


def test_a_kill_counts_once_in_all_and_for_each_kind_that_was_at_work():
    kills = [
        {
            "fault": "whole run killed",
            "kinds": ["words", "labels"],
            "outcome": "recovered",
            "note": "",
        },
        {
            "fault": "whole run killed",
            "kinds": ["words"],
            "outcome": "lost",
            "note": "a.parquet",
        },
        {
            "fault": "one job killed",
            "kinds": ["words"],
            "outcome": "recovered",
            "note": "",
        },
    ]
    cases = [
        {"fault": "disk full", "kind": "any", "outcome": "skipped", "note": "no root"}
    ]
    table = fault_outcomes.count(kills, cases)
    counts = table.set_index(["fault", "kind"])[
        ["tries", "recovered", "lost", "skipped"]
    ].T.to_dict("list")
    assert counts == {
        ("whole run killed", "any"): [2, 1, 1, 0],
        ("whole run killed", "labels"): [1, 1, 0, 0],
        ("whole run killed", "words"): [2, 1, 1, 0],
        ("one job killed", "any"): [1, 1, 0, 0],
        ("one job killed", "words"): [1, 1, 0, 0],
        ("disk full", "any"): [0, 0, 0, 1],
    }
    assert fault_outcomes.totals(table, fault_outcomes.KILLS) == (3, 1)
    assert table.loc[table["fault"] == "disk full", "note"].tolist() == ["no root"]


def test_the_bound_is_that_of_no_loss_in_n_tries():
    assert fault_outcomes.upper_bound(0, 200) == pytest.approx(1 - 0.05 ** (1 / 200))


def test_the_table_is_read_as_it_was_written_and_another_one_is_refused(tmp_path):
    table = fault_outcomes.count(
        [], [{"fault": "disk full", "kind": "any", "outcome": "refused", "note": ""}]
    )
    fault_outcomes.write(table, tmp_path / "faults.csv")
    pd.testing.assert_frame_equal(fault_outcomes.read(tmp_path / "faults.csv"), table)
    (tmp_path / "faults.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(InputError, match="make faults"):
        fault_outcomes.read(tmp_path / "faults.csv")


@pytest.mark.parametrize(
    ("outcome", "status"), [("recovered", 0), ("refused", 0), ("lost", 1)]
)
def test_a_campaign_fails_where_anything_was_lost(
    tmp_path, monkeypatch, outcome, status
):
    kill = {
        "fault": "whole run killed",
        "kinds": ["words"],
        "outcome": outcome,
        "note": "",
    }
    monkeypatch.setattr(
        faults, "campaign", lambda *given: {"kills": [kill], "cases": []}
    )
    assert faults.main(["--quick", "--folder", str(tmp_path)]) == status


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [fault_cases.download_cut, fault_cases.download_killed]
)
def test_a_download_that_is_cut_is_fetched_whole_the_next_time(study, case):
    outcome, note = case(study, {}, random.Random(1))
    assert (outcome, note) == (
        "refused" if case is fault_cases.download_cut else "recovered",
        "",
    )


@pytest.mark.slow
def test_an_archive_whose_unpacking_was_killed_is_unpacked_whole_the_next_time(study):
    assert fault_cases.unpacking_killed(study, {}, random.Random(1)) == (
        "recovered",
        "",
    )
