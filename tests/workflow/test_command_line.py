"""The command line: fast, explains itself, and says what is wrong in one sentence."""

import os
import re
import signal
import subprocess
import sys
import time

import click
import pandas as pd
import pytest

from babelatlas.lexicon import wordnets
from babelatlas.workflow import command_line

BABELATLAS = [sys.executable, "-m", "babelatlas"]


def commands(group: click.Group = command_line.app, words: tuple[str, ...] = ()):
    """Every command with the words that call it."""
    for name, command in group.commands.items():
        yield (*words, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*words, name))


def test_the_help_is_there_at_once_and_loads_no_library_of_the_study():
    code = (
        "import sys; from babelatlas.workflow.command_line import main; assert main(['--help']) == 0; "
        "print({'pandas', 'numpy', 'torch', 'matplotlib'} & set(sys.modules), file=sys.stderr)"
    )
    taken = []
    for _ in range(3):
        began = time.monotonic()
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        taken.append(time.monotonic() - began)
    assert done.stderr == "set()\n"
    assert min(taken) < 0.5
    assert all(name in done.stdout for name, command in command_line.app.commands.items() if not command.hidden)


@pytest.mark.parametrize(("words", "command"), [pytest.param(*one, id="-".join(one[0])) for one in commands()])
def test_every_command_has_a_short_sentence_and_an_example_of_itself(words, command, capsys):
    assert command_line.main([*words, "--help"]) == 0
    assert "..." not in command.get_short_help_str(limit=67)
    assert f"babelatlas {' '.join(words)}" in " ".join(command.help.split("Example:")[1].split())
    assert "Example: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["scorcard"], "Did you mean 'scorecard'?"),
        (["models", "--cvs"], "Did you mean '--csv'?"),
        (["sheet", "wirte"], "Did you mean 'write'?"),
        (["sheet", "size", "--width", "broad"], "'broad' is not a valid float"),
        (["fetch"], "Missing argument"),
    ],
)
def test_what_is_no_command_or_option_gets_the_nearest_one(words, said, capsys):
    assert command_line.main(words) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["models", "openai-b23"], "did you mean openai-b32"),
        (["datasets", "xdt"], "did you mean xtd?"),
        (["translators", "llava"], "There is no translator"),
        (["labels", "swahilli"], "swahilli"),
        (["senses", "swahilli"], "swahilli"),
        (["tables", "lables"], "did you mean labels?"),
        (["fetch", "openai-b23"], "did you mean openai-b32"),
        (["ship", "lables"], "did you mean labels?"),
        (["export", "labels", "--output", "here", "--date", "today"], "written as 2026-01-31, got 'today'"),
        (["merge", "table.parquet", "--origin", " "], "who computed the tables"),
        (["ship", "labels", "--folder", "here"], "leave out --folder"),
        (["sheet", "size", "--width", "2"], "Width and rate are fractions"),
    ],
)
def test_what_cannot_be_used_is_one_sentence_and_status_1(words, said, capsys):
    assert command_line.main(words) == 1
    out, error = capsys.readouterr()
    assert (out, error.count("\n")) == ("", 1)
    assert said in error


def test_a_file_that_cannot_be_written_is_a_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        wordnets,
        "glosses",
        lambda wnids: pd.DataFrame({"wnid": wnids, "gloss": "a thing"}).assign(lemmas=[["a"]] * len(wnids)),
    )
    (tmp_path / "file").write_text("")
    words = ["sheet", "write", "--language", "de", "--number", "2", "--output", str(tmp_path / "file" / "sheet.csv")]
    assert command_line.main(words) == 1
    error = capsys.readouterr().err
    assert error.startswith("Nothing can be written to")
    assert error.count("\n") == 1


def test_ctrl_c_is_told_as_stopped(monkeypatch, capsys):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command_line.app, "invoke", interrupt)
    assert command_line.main(["models"]) == 130
    assert capsys.readouterr().err == "Stopped.\n"


def test_snakemake_runs_in_the_process_that_holds_the_lock_and_ctrl_c_as_it_starts_is_told(
    tmp_path, monkeypatch, capfd
):
    seen = []

    def interrupted(words):
        second = subprocess.run([*BABELATLAS, "locked", "true"], check=False)
        seen.append((words, second.returncode, os.getpid()))
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("snakemake.cli.main", interrupted)
    assert command_line.main(["locked", "--", ".venv/bin/snakemake", "--cores", "2"]) == 130
    assert seen == [(["--cores", "2"], 1, os.getpid())]
    assert re.fullmatch(r"Another run works in this folder: .*\nStopped\.\n", capfd.readouterr().err)


def test_ctrl_c_leaves_a_run_the_time_to_end_its_jobs(tmp_path):
    code = (
        "import time\ntry:\n    print('begun', flush=True)\n    time.sleep(60)\n"
        "except KeyboardInterrupt:\n    time.sleep(1)\n    print('ended')\n    raise SystemExit(3)"
    )
    words = [*BABELATLAS, "locked", "--", sys.executable, "-c", code]
    pipes = {"stdout": subprocess.PIPE, "text": True, "start_new_session": True}
    heard = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}  # a shell's background job ignores it
    run = subprocess.Popen(words, cwd=tmp_path, **pipes, **heard)
    assert run.stdout.readline() == "begun\n"
    os.killpg(run.pid, signal.SIGINT)
    assert run.communicate()[0] == "ended\n"
    assert run.returncode == 3
