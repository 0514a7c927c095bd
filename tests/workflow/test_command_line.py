"""The command line: fast, explains itself, and says what is wrong in one sentence; one
folder has one run at a time.
"""

import re
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from atlas_study.commands import main as command_line
from conftest import ROOT

BABELATLAS = [sys.executable, "-m", "atlas_study"]


def commands(group: click.Group = command_line.app, words: tuple[str, ...] = ()):
    """Every command with the words that call it."""
    for name, command in group.commands.items():
        yield (*words, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*words, name))


def test_the_help_is_there_at_once_and_loads_no_library_of_the_study():
    code = (
        "import sys; from atlas_study.commands.main import main; assert"
        " main(['--help']) == 0; print({'pandas', 'numpy', 'torch', 'matplotlib'} &"
        " set(sys.modules), file=sys.stderr)"
    )
    taken = []
    for _ in range(3):
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        taken.append(time.monotonic() - began)
    assert done.stderr == "set()\n"
    assert min(taken) < 0.5
    assert all(
        name in done.stdout
        for name, command in command_line.app.commands.items()
        if not command.hidden
    )


@pytest.mark.parametrize(
    ("words", "command"),
    [pytest.param(*one, id="-".join(one[0])) for one in commands()],
)
def test_every_command_has_a_short_sentence_and_an_example_of_itself(
    words, command, capsys
):
    assert command_line.main([*words, "--help"]) == 0
    assert "..." not in command.get_short_help_str(limit=67)
    assert f"babelatlas {' '.join(words)}" in " ".join(
        command.help.split("Example:")[1].split()
    )
    assert "Example: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["modles"], "Did you mean 'models'?"),
        (["models", "--cvs"], "Did you mean '--csv'?"),
        (["sheet", "wirte"], "Did you mean 'write'?"),
        (["sheet", "size", "--width", "broad"], "'broad' is not a valid float"),
        (["fetch"], "Missing argument"),
    ],
)
def test_what_is_no_command_or_option_gets_the_nearest_one(words, said, capsys):
    assert command_line.main(words) == 2
    assert said in capsys.readouterr().err


NOTEBOOK = str(ROOT / "notebooks" / "chapters" / "13_rich_and_poor.ipynb")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["models", "openai-b23"], "did you mean openai-b32"),
        (["datasets", "xdt"], "did you mean xtd?"),
        (["translators", "llava"], "There is no translator"),
        (["labels", "swahilli"], "swahilli"),
        (["tables", "lables"], "did you mean labels?"),
        (["fetch", "openai-b23"], "did you mean openai-b32"),
        (["ship", "lables"], "did you mean labels?"),
        (
            ["merge", "table.parquet", "--origin", "Ana", "--run", "none"],
            "no run 'none'",
        ),
        (
            ["sheet", "write", "--language", "de", "--output", "sheet.txt"],
            "give it one of these endings",
        ),
        (["run", NOTEBOOK, "--parameter", "n_resample=3"], "did you mean n_resamples?"),
        (["run", NOTEBOOK, "--parameter", "n_resamples="], "n_resamples = ''"),
        (
            ["run", NOTEBOOK, "--parameter", "fixed=[1"],
            "fixed is not YAML, got [1: write a list as [de, sw]",
        ),
        (
            ["run", NOTEBOOK, "--parameter", "seed=1", "--parameter", "seed=2"],
            "seed is given twice: keep one",
        ),
        (["run", "chapter.py"], "ends in .ipynb"),
    ],
)
def test_what_cannot_be_used_is_one_sentence_and_status_1(words, said, capsys):
    assert command_line.main(words) == 1
    out, error = capsys.readouterr()
    assert out == ""
    assert said in error
    assert "\n" not in error.strip()
    assert "Traceback" not in error


def test_a_profile_whose_plugin_is_not_installed_says_which_one_and_how_to_install_it(
    tmp_path, capsys
):
    (tmp_path / "config.yaml").write_text(
        "executor: no-cluster\njobs: 5\n", encoding="utf-8"
    )
    assert (
        command_line.main(["locked", "--", "snakemake", "--profile", str(tmp_path)])
        == 1
    )
    assert (
        "needs snakemake-executor-plugin-no-cluster: run `.venv/bin/uv pip install"
        in capsys.readouterr().err
    )


def test_what_ships_is_printed(capsys):
    for words, said in (
        (["labels", "sw"], "n0"),
        (["senses", "sw", "--csv"], "wnid"),
        (["models", "msiglip-b16"], "WebLI"),
        (["datasets"], "imagenet-1k"),
        (["tables", "labels"], "One row for each"),
        (["ship"], "NLTK's wordnets"),
        (["sheet", "size"], "94 answers"),
    ):
        assert command_line.main(words) == 0
        assert said in capsys.readouterr().out, words


@pytest.mark.slow
def test_a_second_run_in_a_folder_is_refused_and_a_killed_one_leaves_no_lock(tmp_path):
    code = (
        "import snakemake.cli, sys\nfrom atlas_study.commands.main import main\n"
        "snakemake.cli.parse_args = lambda words: print('on', words, flush=True) or input()\n"
        "main(['locked', '--', 'snakemake', '--cores', '2'])"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    first = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, **pipes)
    words = "['--cores', '2', '--logger', 'lines']"
    assert first.stdout.readline() == f"on {words}\n"
    for word in ("true", "clean"):
        second = [*BABELATLAS, "locked", word]
        second = subprocess.run(
            second, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert second.returncode == 1
        assert re.fullmatch(r"Another run is using this folder: .*\n", second.stderr)
    first.kill()
    first.communicate()
    time.sleep(0.2)
    third = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, **pipes)
    assert third.stdout.readline().startswith("on")
    third.kill()
    third.communicate()


def test_clean_removes_what_runs_made_and_says_what_stays(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    runs = [
        f"results/{run}/{name}/a"
        for run in ("demo", "full")
        for name in ("logs", "notebooks")
    ]
    users = [
        "full/merged/a",
        "adapted/m/a",
        "scratch/notebooks/a",
        "scratch/logs/a",
        "mine/logs/a",
        "full/mine.csv",
    ]
    users = {*(f"results/{name}" for name in users), "mine"}
    for path in map(Path, (*runs, *users, "_build/html/a", "_build/a", ".snakemake/a")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert command_line.main(["locked", "clean"]) == 0
    assert {str(path) for path in Path().rglob("*") if path.is_file()} == users | {
        "_build/run.lock"
    }
    stays = "results/adapted, results/full, results/mine, results/scratch"
    assert capsys.readouterr().out == f"What no run made stays: {stays}.\n"


def test_ctrl_c_is_told_as_stopped(monkeypatch, capsys):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command_line.app, "invoke", interrupt)
    assert command_line.main(["models"]) == 130
    assert capsys.readouterr().err == "Stopped.\n"
