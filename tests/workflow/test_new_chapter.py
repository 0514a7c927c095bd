"""A chapter of one's own: the example that `babelatlas new chapter` copies, its line in
the contents, its page.
"""

import shutil

import pytest

from atlas_study.commands import main as command_line
from atlas_study.workflow import book as books
from atlas_study.workflow.graph import Graph
from conftest import ROOT, snakemake, tracked


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A copy of all that a new chapter becomes a part of."""
    for name in ("notebooks", "book", "config", "rules"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("Snakefile", "_toc.yml", "_config.yml", "CITATION.cff"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    own = {path.relative_to(ROOT) for path in tracked("notebooks/*/*.ipynb")}
    contents = (tmp_path / "_toc.yml").read_text(encoding="utf-8")
    for path in tmp_path.glob("notebooks/*/*.ipynb"):
        # A chapter of somebody who works in this copy of the study, or has begun one.
        if path.relative_to(tmp_path) not in own or path.stem.startswith("5"):
            path.unlink()
            contents = contents.replace(f"      - file: {path.stem}\n", "")
    (tmp_path / "_toc.yml").write_text(contents, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_new_chapter_is_in_the_contents_in_the_order_of_numbers_and_in_the_plan(
    study,
):
    text = (study / "_toc.yml").read_text(encoding="utf-8")
    for name in ("my_question", "51_other"):
        assert command_line.main(["new", "chapter", name]) == 0
    for name, above in (
        ("50_my_question", "glob: 43_model_*"),  # the last section before it
        ("51_other", "file: 50_my_question"),
    ):
        text = text.replace(f"- {above}\n", f"- {above}\n      - file: {name}\n")
    assert (study / "_toc.yml").read_text(encoding="utf-8") == text
    plan = Graph("config/demo.yml", study).plan
    books.check_contents("_toc.yml", plan.all_pages())
    assert {"51_other", "50_my_question"} <= {*plan.chapters}


@pytest.mark.parametrize(
    "name", ["a b", "../x", "größe", "12_mine", "working_languages", "60_mine", "51_"]
)
def test_a_name_that_cannot_be_used_is_told_and_changes_nothing(study, name, capsys):
    files = {path: path.stat().st_mtime_ns for path in study.rglob("*")}
    assert command_line.main(["new", "chapter", name]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert {path: path.stat().st_mtime_ns for path in study.rglob("*")} == files


@pytest.mark.slow
def test_a_new_chapter_runs_and_is_rendered_alone_as_is_a_page_of_prose(
    study, small_run
):
    shutil.copytree(small_run / "results", study / "results")
    command_line.main(["new", "chapter", "my_question"])
    for name, made in (
        ("50_my_question", ["50_my_question", "the page 50_my_question"]),
        ("fork", ["the page fork"]),
    ):
        done = snakemake(
            study, "--snakefile", study / "Snakefile", f"_build/page/html/{name}.html"
        )
        assert [
            line.partition("  running  ")[2]
            for line in done.stdout.splitlines()
            if "  running  " in line
        ] == made
        page = (study / "_build" / "page" / "html" / f"{name}.html").read_text(
            encoding="utf-8"
        )
        assert ("My question" in page and "Takeaway" in page and "<figure" in page) == (
            name != "fork"
        )
    done = snakemake(
        study, "--snakefile", study / "Snakefile", "_build/page/html/50_my_qestion.html"
    )
    assert (
        "There is no page '50_my_qestion': did you mean 50_my_question?" in done.stderr
    )
