"""The form of every notebook: a question, commented parameters, short cells without
functions, an answer.
"""

import ast
from functools import cache
from pathlib import Path

import nbformat
import pytest

import chapter_measures as measures
from atlas_study.workflow import notebooks
from conftest import ROOT, tracked

EXAMPLE = (
    ROOT / "lib" / "babelatlas" / "data" / "new_chapter.ipynb"
)  # what `babelatlas new chapter` copies
NOTEBOOKS = [*tracked("notebooks/*/*.ipynb"), EXAMPLE]
pytestmark = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def tags(cell) -> list[str]:
    return cell.metadata.get("tags", [])


@cache
def read(path):
    return nbformat.read(path, as_version=4)


def code(path):
    return [cell for cell in read(path).cells if cell.cell_type == "code"]


def test_the_first_cell_is_a_title_and_a_question(path):
    first = read(path).cells[0]
    assert first.cell_type == "markdown"
    title, blank, *rest = first.source.split("\n")
    assert title.startswith("# ")
    assert blank == ""
    paragraph = " ".join(rest).split("\n\n")[0]
    assert "?" in paragraph, "the paragraph below the title asks no question"
    assert "." not in paragraph.split("?")[0], "the first sentence is not the question"


def test_a_stage_answers_in_its_last_cell_and_a_chapter_above_its_first_section(path):
    if path.parent.name == "stages":
        last = read(path).cells[-1]
        assert last.cell_type == "code"
        assert "**Answer.**" in last.source
    else:
        assert measures.has_its_takeaway_on_top(path)


def test_one_cell_declares_parameters_and_comments_each(path):
    cells = [cell for cell in code(path) if "parameters" in tags(cell)]
    assert len(cells) <= 1
    assert notebooks.declared(path)
    source = "".join(cell.source for cell in cells)
    lines = source.splitlines()
    for statement in ast.parse(source).body:
        beside = (
            "#" in lines[statement.end_lineno - 1] or "#" in lines[statement.lineno - 1]
        )
        above = statement.lineno - 2
        while above >= 0 and not lines[above].startswith("#") and lines[above].strip():
            above -= 1
        assert beside or (above >= 0 and lines[above].startswith("#")), (
            f"no comment: {ast.unparse(statement)}"
        )


def test_code_is_folded_away_and_defines_no_function(path):
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for cell in code(path):
        assert {*notebooks.TAGS, "hide-input", "remove-input"} & set(tags(cell)), (
            f"a cell is not folded:\n{cell.source}"
        )
        # A key=lambda within a call is no function of its own.
        found = [
            node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, kinds)
        ]
        assert not found, f"a function is defined, move it to a module:\n{cell.source}"


def test_cells_are_short_and_their_lines_fit_a_screen(path):
    long = [
        f"{cell.name}: {number} lines"
        for cell in measures.code_cells(path)
        if (number := measures.n_lines(cell)) > measures.MOST_LINES_A_CELL
    ]
    wide = [
        f"{cell.name}: {line}"
        for cell in measures.code_cells(path)
        for line in cell.source.split("\n")
        if len(line) > measures.MOST_COLUMNS
    ]
    assert (long, wide) == ([], [])


def test_a_chapter_fits_a_readers_patience(path):
    cells = measures.code_cells(path)
    assert sum(map(measures.n_lines, cells)) <= measures.MOST_LINES


def test_prose_of_a_chapter_holds_names_alone_and_its_code_no_prose(path):
    if path.parent.name == "stages":
        pytest.skip("a stage computes; its page tells its answer alone")
    cells = measures.code_cells(path)
    computed = [text for cell in cells for text in measures.computed_in_prose(cell)]
    long = [text for cell in cells for text in measures.long_strings(cell)]
    assert (computed, long) == ([], [])


def test_names_say_what_they_hold(path):
    found = [measures.empty_names(cell) for cell in measures.code_cells(path)]
    assert set().union(*found) == set()


def test_no_output_and_no_count_is_kept_and_the_kernel_is_any_python(path):
    assert [
        cell for cell in code(path) if cell.outputs or cell.execution_count is not None
    ] == []
    assert read(path).metadata.kernelspec.name == "python3"


def test_no_parameter_is_a_key(path):
    """Parameters stand in tables, logs and pages: what is private comes from the
    environment.
    """
    names = notebooks.declared(path)["parameters"]
    assert not names.keys() & {
        "key",
        "api_key",
        "token",
        "password",
        "secret",
        "contact",
        "email",
    }


def place(module: str) -> Path:
    """The file of a module of the library, or of a package; it need not be there."""
    path = ROOT.joinpath("lib", *module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def defined(file: Path) -> set[str]:
    """The names that a module defines or imports."""
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    names = {
        node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    names |= {
        node.id
        for node in nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    imported = [
        alias
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    ]
    return names | {(alias.asname or alias.name).split(".")[0] for alias in imported}


def test_every_name_that_it_takes_from_the_library_is_there(path):
    nodes = [node for cell in code(path) for node in ast.walk(ast.parse(cell.source))]
    modules = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            "babelatlas"
        ):
            for alias in node.names:
                file = place(f"{node.module}.{alias.name}")
                known = defined(place(node.module)) | (
                    {"load", "describe"} if node.module == "babelatlas" else set()
                )
                assert file.is_file() or alias.name in known, (
                    f"{node.module}.{alias.name}"
                )
                modules |= {alias.asname or alias.name: file} if file.is_file() else {}
    for node in nodes:
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in modules
        ):
            file = modules[node.value.id]
            found = (
                node.attr in defined(file)
                or (file.parent / f"{node.attr}.py").is_file()
            )
            assert found, f"{node.value.id}.{node.attr}"
