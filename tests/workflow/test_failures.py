"""A run in which steps failed: which they are, what the plan leaves out, and the book
that is made all the same.
"""

import json
import os
from pathlib import Path

import pytest
import yaml

from atlas_study.workflow import config as configs
from atlas_study.workflow import failures
from atlas_study.workflow.failures import Failure
from babelatlas.base.errors import InputError
from conftest import ROOT, locked_run, read_graph

TINY = ROOT / "tests" / "tiny.yml"
FAILED = "77_subsets_picto-multi_pictograms"


def logs(folder: Path, **texts: str) -> Path:
    """Write the logs of a run's steps, and return the run's folder."""
    (folder / "logs").mkdir()
    for page, text in texts.items():
        (folder / "logs" / f"{page}.txt").write_text(text, encoding="utf-8")
    return folder


def test_a_step_failed_where_its_log_says_so_or_has_no_end(tmp_path):
    run = logs(
        tmp_path,
        good="done: 3 s\n",
        bad="failed: 13_x: No such table.\n",
        killed="running: 13_y\n",
    )
    assert failures.failed(run, ["killed", "good", "bad", "never_begun"]) == [
        Failure(
            "killed",
            "Its process was ended from outside: it was killed, or memory ran out.",
        ),
        Failure("bad", "No such table."),
    ]


def test_a_step_that_never_began_since_another_one_failed_has_not_failed(tmp_path):
    run = logs(tmp_path, after="", bad="failed: 13_x: No such table.\n")
    assert failures.failed(run, ["after", "bad"]) == [Failure("bad", "No such table.")]
    assert failures.failed(run, ["after"]) == [Failure("after", "It never began.")]


def test_of_an_error_in_a_cell_the_reason_is_its_last_line(tmp_path):
    text = (
        "failed: 13_x: The notebook 13_x stopped in this cell:\n    a = 1 /"
        " 0\nZeroDivisionError: division by zero\nThe copy as far as it got, with the"
        " whole traceback: x.failed.ipynb\n"
    )
    run = logs(tmp_path, bad=text)
    assert failures.failed(run, ["bad"]) == [
        Failure("bad", "ZeroDivisionError: division by zero")
    ]


def test_a_run_that_its_user_stopped_has_no_failed_steps(tmp_path):
    run = logs(
        tmp_path, bad="failed: 13_x: No such table.\n", last="running: 13_y\nstopped\n"
    )
    assert failures.failed(run, ["bad", "last"]) == []


def test_a_log_from_before_the_run_began_is_not_of_it(tmp_path):
    run = logs(tmp_path, bad="failed: 13_x: No such table.\n")
    began = (run / "logs" / "bad.txt").stat().st_mtime
    assert failures.failed(run, ["bad"], began) != []
    assert failures.failed(run, ["bad"], began + 1) == []


@pytest.mark.parametrize(
    "words",
    [["-n"], ["--dry-run"], ["_build/page/html/13_x.html"], ["--until", "train"]],
)
def test_a_call_for_a_part_or_a_list_expects_no_book(words):
    assert failures.expects_book(["--cores", "all"])
    assert not failures.expects_book(["--cores", "all", *words])


@pytest.fixture(scope="module")
def whole():
    """The plan of the small run, none of whose steps failed."""
    return planned()


def planned(*without: str):
    """The plan of the small run without the steps that make some pages."""
    return read_graph(configs.read(TINY), without).plan


def test_a_plan_leaves_out_what_failed_and_chapters_read_the_rest():
    plan = planned(FAILED)
    assert FAILED not in plan.all_pages()
    assert "77_subsets_picto-en_pictograms" in plan.all_pages()
    assert not any("curves/picto-multi" in path for path in plan.all_files())
    assert plan.models == ["picto-en", "picto-multi", "picto-distilled"]


def test_what_needs_the_table_of_a_failed_step_is_left_out_with_it():
    plan = planned("67_zeroshot_picto-multi_pictograms")
    pages = plan.all_pages()
    gone = ["77_subsets_picto-multi_pictograms", "72_label_sets_picto-multi_pictograms"]
    assert [page for page in gone if page in pages] == []
    assert "68_retrieval_picto-multi_pictogram-captions" in pages
    assert "picto-multi" in plan.models


def test_a_model_none_of_whose_steps_is_left_is_none_of_the_run(whole):
    names = [page for page in whole.all_pages() if "picto-distilled" in page]
    plan = planned(*names)
    assert plan.models == ["picto-en", "picto-multi"]
    assert "43_model_picto-distilled" not in plan.all_pages()


def test_a_data_set_none_of_whose_steps_is_left_is_none_of_the_run(whole):
    assert "pictograms" in whole.datasets
    assert "pictograms" not in planned("62_pictograms").datasets


def test_a_translator_none_of_whose_steps_is_left_is_none_of_the_run():
    config = configs.read(TINY)
    name = "paligemma-3b-mix-448"
    config |= {"translators": [name]}
    pages = [page for page in read_graph(config).plan.all_pages() if name in page]
    assert pages
    assert read_graph(config, pages).plan.translators == []


def test_a_failed_chapter_is_left_out_even_if_the_config_names_it_and_it_is_the_home_page():
    named = configs.read(TINY) | {"chapters": ["00_summary", "33_intervals"]}
    plan = read_graph(named, ["00_summary"]).plan
    assert plan.chapters == ["33_intervals"]


def notebook(title: str) -> str:
    return json.dumps(
        {
            "cells": [
                {
                    "cell_type": "markdown",
                    "metadata": {},
                    "source": [f"# {title}\n", "\n", "Why?"],
                }
            ]
        }
    )


def test_the_first_pages_warn_and_a_page_lists_each_failed_step_with_its_reason_and_the_command(
    tmp_path,
):
    home, other = tmp_path / "00_summary.ipynb", tmp_path / "13_rich_and_poor.ipynb"
    for path in (home, other):
        path.write_text(notebook("Title"), encoding="utf-8")
    failed = [Failure("68_retrieval_a_b", "No | file."), Failure("12_x", "Broken.")]
    pages = failures.with_warnings(
        [home, other],
        tmp_path / "failed",
        failed,
        "make book CONFIG=my.yml",
        "results/x/logs",
    )
    assert [page.name for page in pages] == [
        "00_summary.ipynb",
        "13_rich_and_poor.ipynb",
        "failed-steps.md",
    ]
    first = "".join(
        json.loads(pages[0].read_text(encoding="utf-8"))["cells"][0]["source"]
    )
    assert first.startswith("# Title\n\n:::{warning}\n2 steps of this run failed")
    assert pages[1] == other
    text = pages[2].read_text(encoding="utf-8")
    assert text.startswith("# 2 steps of this run failed\n")
    assert "make book CONFIG=my.yml" in text
    assert "results/x/logs" in text
    assert "- `68_retrieval_a_b`: No &#124; file.\n- `12_x`: Broken.\n" in text


def test_without_a_home_page_a_sentence_takes_its_place(tmp_path):
    pages = failures.with_warnings(
        [], tmp_path, [Failure("00_summary", "Broken.")], "make book", "logs"
    )
    assert [page.name for page in pages] == ["failed-steps.md", "index.md"]
    assert "The step that makes the home page failed" in pages[1].read_text(
        encoding="utf-8"
    )


def play(folder: Path, monkeypatch, *tries: tuple[str, str]) -> tuple[int, list[str]]:
    """Run a study whose tries end so: page and text of the log of what fails, "" for a
    try that ends well.

    Return the exit status, and what each try went on without.
    """
    monkeypatch.chdir(folder)
    (folder / "results" / "x" / "logs").mkdir(parents=True)
    (folder / "x.yml").write_text(
        "run: x\nmodels: []\ndatasets: []\n", encoding="utf-8"
    )
    waiting, went_without = list(tries), []

    def snakemake(words: list[str]) -> int:
        went_without.append(os.environ.get(failures.WITHOUT, ""))
        page, text = waiting.pop(0)
        if page:
            (folder / "results" / "x" / "logs" / f"{page}.txt").write_text(
                text, encoding="utf-8"
            )
        return int(bool(page))

    monkeypatch.setattr(failures, "_snakemake", snakemake)
    status = failures.run(["--configfile", "x.yml", "--cores", "2"])
    assert failures.WITHOUT not in os.environ
    return status, went_without


def test_a_run_goes_on_until_there_is_a_book_and_its_status_stays_that_of_the_failure(
    tmp_path, monkeypatch
):
    tries = [
        ("13_x", "failed: 13_x: No table.\n"),
        ("book", "failed: The book could not be rendered: x\n"),
        ("", ""),
    ]
    assert play(tmp_path, monkeypatch, *tries) == (1, ["", "13_x", "13_x,book"])


def test_a_run_that_fails_twice_in_the_same_step_ends(tmp_path, monkeypatch):
    again = ("book", "failed: The book could not be rendered: x\n")
    assert play(tmp_path, monkeypatch, again, again) == (1, ["", "book"])


def test_a_run_without_a_failed_step_is_called_once(tmp_path, monkeypatch):
    assert play(tmp_path, monkeypatch, ("", "")) == (0, [""])


@pytest.mark.parametrize(
    ("words", "limit"),
    [([], None), (["--max-jobs-per-timespan", "5/1m"], 5)],
    ids=["not set", "set"],
)
def test_only_a_limit_of_jobs_a_second_that_was_set_is_kept(monkeypatch, words, limit):
    """With Snakemake's default its scheduler takes a fifth of a processor."""
    from snakemake import cli

    seen = []
    monkeypatch.setattr(
        cli, "args_to_api", lambda settings, parser: seen.append(settings) or True
    )
    assert failures._snakemake(["--cores", "1", *words]) == 0
    assert getattr(seen[0].max_jobs_per_timespan, "max_jobs", None) == limit


@pytest.mark.slow
def test_a_run_in_which_steps_failed_ends_in_a_book_that_says_so_and_in_an_error(
    tmp_path,
):
    images = tmp_path / "images"
    images.mkdir()
    (images / "notes.txt").write_text(
        "No picture of the data set is here.", encoding="utf-8"
    )
    changes = {
        "run": "failing",
        "models": ["msiglip-b16"],
        "datasets": ["xm3600"],
        "images": {"xm3600": str(images)},
        "protocol_datasets": [],
        "adaptations": {},
        "image_features": [],
        "chapters": ["00_summary", "23_translated_captions", "12_working_languages"],
        "parameters": {
            "12_working_languages": {"source": "liu2021"},
            "23_translated_captions": {"n_resamples": 20},
        },
    }
    config = tmp_path / "failing.yml"
    config.write_text(yaml.safe_dump(configs.read(TINY) | changes), encoding="utf-8")
    done = locked_run(tmp_path, config)

    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    assert "2 steps of this run failed" in said
    book = tmp_path / "_build" / "html"
    listed = (book / "failed-steps.html").read_text(encoding="utf-8")
    assert "12_working_languages" in listed
    assert "68_retrieval_msiglip-b16_xm3600" in listed
    assert "2 steps of this run failed" in (book / "index.html").read_text(
        encoding="utf-8"
    )
    assert (book / "23_translated_captions.html").is_file()
    assert not (book / "12_working_languages.html").exists()


def test_an_empty_folder_of_images_is_told_in_a_sentence_before_anything_runs(tmp_path):
    images = tmp_path / "images"
    images.mkdir()
    changes = {
        "models": ["msiglip-b16"],
        "datasets": ["xm3600"],
        "images": {"xm3600": str(images)},
        "adaptations": {},
        "image_features": [],
    }
    with pytest.raises(InputError, match="images"):
        read_graph(configs.read(TINY) | changes | {"protocol_datasets": []})


def test_what_is_wrong_with_a_config_is_told_in_a_sentence_and_ends_the_run(tmp_path):
    config = tmp_path / "wrong.yml"
    config.write_text("run: x\nmodels: [msiglip-b61]\ndatasets: []\n", encoding="utf-8")
    done = locked_run(tmp_path, config)
    assert done.returncode == 1
    assert "msiglip-b61" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
