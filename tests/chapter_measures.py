"""What a chapter's notebook should keep to, each measured from its cells."""

import ast
import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

# Cells that only declare: their values are a run's.
DECLARING = {"inputs", "outputs", "parameters"}
# Functions whose call is a cell of prose.
PROSE = {"Markdown", "takeaway"}
MOST_LINES_A_CELL = 25
MOST_LINES = 200
MOST_COLUMNS = 100
LONGEST_STRING = 200
# Names that say nothing of what they hold.
EMPTY_NAMES = {"said", "wide", "out", "one", "each", "own", "known"}


class Cell(NamedTuple):
    """A code cell: its id, source and syntax tree."""

    name: str
    source: str
    tree: ast.Module


@cache
def code_cells(path: Path) -> list[Cell]:
    """The code cells of a notebook, without those that declare."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    found = []
    for cell in cells:
        tags = set(cell["metadata"].get("tags", []))
        if cell["cell_type"] == "code" and not tags & DECLARING:
            source = "".join(cell["source"])
            found.append(Cell(cell.get("id", ""), source, ast.parse(source)))
    return found


def is_text(node: ast.AST) -> bool:
    """Whether a node is a string, with or without values in it."""
    is_plain = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_plain or isinstance(node, ast.JoinedStr)


def texts(tree: ast.Module) -> list[ast.expr]:
    """The strings of a tree; parts of one with values in it are none."""
    inside = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inside |= {id(part) for part in ast.walk(node)} - {id(node)}
    return [node for node in ast.walk(tree) if is_text(node) and id(node) not in inside]


def n_lines(cell: Cell) -> int:
    """Lines of code: blank ones, comments and wrapped lines of text are none."""
    wrapped = set()
    for node in texts(cell.tree):
        wrapped |= set(range(node.lineno + 1, (node.end_lineno or node.lineno) + 1))
    return sum(
        1
        for number, line in enumerate(cell.source.split("\n"), 1)
        if line.strip() and not line.strip().startswith("#") and number not in wrapped
    )


def called(node: ast.AST) -> str:
    """The last name of what a call calls."""
    function = getattr(node, "func", None)
    return getattr(function, "attr", getattr(function, "id", ""))


def is_prose(cell: Cell) -> bool:
    """Whether a cell is one paragraph of prose and nothing else."""
    statements = cell.tree.body
    if len(statements) != 1 or not isinstance(statements[0], ast.Expr):
        return False
    return called(statements[0].value) in PROSE


def is_name(node: ast.expr) -> bool:
    """Whether a value in a text is a name, or an attribute of one."""
    return (
        is_name(node.value)
        if isinstance(node, ast.Attribute)
        else isinstance(node, ast.Name)
    )


def computed_in_prose(cell: Cell) -> list[str]:
    """What the braces of a cell of prose hold besides names."""
    if not is_prose(cell):
        return []
    return [
        ast.unparse(node.value)
        for node in ast.walk(cell.tree)
        if isinstance(node, ast.FormattedValue) and not is_name(node.value)
    ]


def captions(tree: ast.Module) -> set[int]:
    """The strings that a reader reads: captions, alternative texts, whole Markdown."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found |= {
                id(key.value) for key in node.keywords if key.arg in ("caption", "alt")
            }
            if called(node) in {"table", *PROSE}:
                found |= {id(argument) for argument in node.args}
        elif isinstance(node, ast.Assign):
            name = getattr(node.targets[0], "id", "")
            if name.endswith(
                ("caption", "alt", "text", "finding", "caution", "none", "how")
            ):
                found.add(id(node.value))
    return found


def long_strings(cell: Cell) -> list[str]:
    """The beginnings of long strings outside prose and captions."""
    if is_prose(cell):
        return []
    read = captions(cell.tree)
    sources = [
        ast.get_source_segment(cell.source, node) or ""
        for node in texts(cell.tree)
        if id(node) not in read
    ]
    return [source[:60] for source in sources if len(source) > LONGEST_STRING]


def empty_names(cell: Cell) -> set[str]:
    """Names that are given to something and say nothing of it."""
    given = {
        node.id
        for node in ast.walk(cell.tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return given & EMPTY_NAMES


def has_its_takeaway_on_top(path: Path) -> bool:
    """Whether the takeaway stands above the first section."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and "ba.takeaway(" in source:
            return True
        if cell["cell_type"] == "markdown" and source.startswith("## "):
            return False
    return False


def library_functions(path: Path, package: str = "babelatlas") -> set[str]:
    """The functions of a package that a notebook calls, by dotted names; those of the
    front desk as `babelatlas.NAME`.
    """
    tree = ast.parse("\n".join(cell.source for cell in code_cells(path)))
    modules = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and is_name(node.func):
            head, _, rest = ast.unparse(node.func).partition(".")
            name = ".".join(filter(None, [modules.get(head, ""), rest]))
            if head in modules and name.split(".")[0] == package:
                found.add(name)
    return found


def beside_the_desk(path: Path) -> set[str]:
    """What of the library a notebook calls that is not on the front desk."""
    return {name for name in library_functions(path) if name.count(".") > 1}
