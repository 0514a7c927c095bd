"""What `babelatlas run` shows of a notebook: its takeaway as plain text, and a page of
HTML where it is asked for.
"""

import json
import shutil
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from atlas_study.commands import main as command_line
from atlas_study.workflow import single_page
from babelatlas.report import reading
from conftest import ROOT

CHAPTER = """
from babelatlas.report import reading
reading.takeaway("**Models** differ by 3 points ([why](33_intervals)).")
"""


def executed(folder, *texts: str):
    """An executed notebook whose cells show texts in Markdown."""
    cells = [new_markdown_cell("# Words\n\nHow many?")]
    for text in texts:
        output = {
            "output_type": "display_data",
            "data": {"text/markdown": text},
            "metadata": {},
        }
        cells.append(new_code_cell("", outputs=[nbformat.from_dict(output)]))
    nbformat.write(new_notebook(cells=cells), folder / "page.ipynb")
    return folder / "page.ipynb"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            reading.takeaway("It falls by -3.1 ([errata](34_scorecard)).").data,
            "It falls by −3.1 (errata).",
        ),
        (
            "**Answer.** *12* languages; see {cite:t}`geigle2024babel`.",
            "*12* languages; see geigle2024babel.",
        ),
        ("Nothing of the kind.", ""),
    ],
)
def test_the_takeaway_is_read_as_plain_text(tmp_path, text, said):
    assert single_page.takeaway_of(executed(tmp_path, "Some prose.", text)) == said


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A folder with the contents of the book, and a chapter that only has a takeaway."""
    for name in ("book", "_toc.yml", "_config.yml", "CITATION.cff"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        copy(ROOT / name, tmp_path / name)
    (tmp_path / "Snakefile").touch()
    monkeypatch.chdir(tmp_path)
    cells = [new_markdown_cell("# Intervals\n\nHow wide are they?")]
    cells.append(new_code_cell("shown = 3  # ge=1", metadata={"tags": ["parameters"]}))
    cells.append(new_code_cell(CHAPTER.strip()))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(
        new_notebook(cells=cells, metadata={"kernelspec": kernel}),
        tmp_path / "33_intervals.ipynb",
    )
    return tmp_path


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_after_a_run_the_takeaway_is_on_the_terminal(study, capsys):
    assert (
        command_line.main(["run", "33_intervals.ipynb", "--parameter", "shown=2"]) == 0
    )
    first, second = capsys.readouterr().out.splitlines()
    assert first == "Models differ by 3 points (why)."
    assert second.startswith("results/scratch/notebooks/33_intervals.ipynb (")
    assert json.loads(
        Path("results/scratch/notebooks/33_intervals.ipynb").read_bytes()
    )["metadata"]["babelatlas"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_page_of_html_is_written_next_to_the_copy(study, capsys):
    assert command_line.main(["run", "33_intervals.ipynb", "--html"]) == 0
    page = capsys.readouterr().out.splitlines()[-1]
    assert page == "results/scratch/notebooks/33_intervals_html/33_intervals.html"
    assert "differ by 3 points" in Path(page).read_text(encoding="utf-8")
    left = {path.name for path in Path(page).parents[1].iterdir()}
    assert left == {"33_intervals.ipynb", "33_intervals_html"}
