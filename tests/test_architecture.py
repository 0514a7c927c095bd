"""The house: what `make lint` cannot tell of it, each computed from the files.

Rooms, packages and circles are contracts of import-linter; complexity, length of lines
and numbers of arguments are ruff's (pyproject.toml).
"""

import ast
import io
import json
import re
import resource
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import ROOT, snakemake

PACKAGES = ("babelatlas", "miniature", "papercheck", "atlas_build", "atlas_study")
# Tokens that are no code, as `density` counts them.
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT}
NO_CODE |= {tokenize.DEDENT, tokenize.ENDMARKER}
MOST_TOKENS_A_LINE = 9.5
DEFINITION = ast.Module | ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef


class Use(NamedTuple):
    """A private name of another module that a line of a module uses."""

    module: str
    line: int
    name: str


def modules(root: Path) -> dict[str, Path]:
    """The modules of the packages by dotted name; a package is its `__init__`."""
    found = {}
    for package in PACKAGES:
        for file in sorted((root / "lib" / package).rglob("*.py")):
            parts = file.relative_to(root / "lib").with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = file
    return found


def parsed(file: Path) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(file.read_text(encoding="utf-8"))


# Private names.


def is_private(name: str) -> bool:
    """Whether a name is for its own module alone."""
    return name.startswith("_") and not name.startswith("__")


def private_uses(root: Path) -> list[Use]:
    """Where modules use private names of other modules."""
    known = set(modules(root))
    return [
        use for name, file in modules(root).items() for use in _uses(name, file, known)
    ]


def _uses(module: str, file: Path, known: set[str]) -> list[Use]:
    found, aliases = [], {}
    nodes = [*ast.walk(parsed(file))]
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                aliases[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                if is_private(alias.name) and node.module.partition(".")[0] in PACKAGES:
                    found.append(
                        Use(module, node.lineno, f"{node.module}.{alias.name}")
                    )
        elif isinstance(node, ast.Import):
            aliases |= {alias.asname or alias.name: alias.name for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            owner = ast.unparse(node.value)
            if aliases.get(owner) in known:
                found.append(Use(module, node.lineno, f"{owner}.{node.attr}"))
    return found


# Functions that only tests use.


def words(node: ast.AST) -> set[str]:
    """The names that a piece of code uses: variables, attributes, strings that are one;
    imports alone use none.
    """
    found = set()
    for part in ast.walk(node):
        found.add(getattr(part, "id", None) or getattr(part, "attr", None))
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            if re.fullmatch(r"[\w.:]+", part.value):
                found.add(re.split(r"[.:]", part.value)[-1])
            elif any(f"from {package}" in part.value for package in PACKAGES):
                found |= set(re.findall(r"\w+", part.value))  # for another process
    return {name for name in found if name}


def starting_points(root: Path) -> set[str]:
    """The names in what people and machines start: notebooks, rules, benchmarks, examples
    on the book's pages, the book's settings, and the check of the papers, whose
    definitions are named in tables.
    """
    rules = [root / "Snakefile", *(root / "rules").glob("*.smk"), root / "_config.yml"]
    texts = [path.read_text(encoding="utf-8") for path in rules if path.is_file()]
    for folder in ("benchmarks", "lib/papercheck"):
        for file in (root / folder).rglob("*.py"):
            texts.append(file.read_text(encoding="utf-8"))
    for page in [*(root / "book").glob("*.md"), *root.glob("*.md")]:
        texts += re.findall(r"```.*?```", page.read_text(encoding="utf-8"), re.DOTALL)
    for notebook in (root / "notebooks").rglob("*.ipynb"):
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        code = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
        texts += ["".join(source) for source in code]
    names = set(re.findall(r"\w+", "\n".join(texts)))
    # Sphinx calls `setup` of each extension that the settings name, Snakemake makes the
    # `LogHandler` of each plugin.
    return names | {"setup", "LogHandler"}


def unreached(root: Path) -> list[str]:
    """The functions and classes that nothing uses but tests and each other.

    By name: where two have one name, a use of either counts for both. What a decorator
    registers is used.
    """
    reached, waiting = starting_points(root), []
    for module, file in modules(root).items():
        for node in parsed(file).body:
            is_definition = isinstance(node, ast.FunctionDef | ast.ClassDef)
            is_own = is_definition and not node.decorator_list
            if is_own and not re.fullmatch(r"__\w+__", node.name):
                waiting.append((f"{module}.{node.name}", words(node)))
            else:
                reached |= words(node)
    found = waiting
    while found:
        found = [entry for entry in waiting if entry[0].rpartition(".")[2] in reached]
        waiting = [entry for entry in waiting if entry not in found]
        reached = reached.union(*(uses for _, uses in found))
    return [name for name, _ in waiting]


# How densely the code is written.


def count_tokens(source: str) -> tuple[int, int]:
    """The tokens of code and the lines that hold some; comments and docstrings are
    none.
    """
    docstrings = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DEFINITION) and ast.get_docstring(node) is not None:
            docstrings.add((node.body[0].lineno, node.body[0].col_offset))
    tokens = [
        token
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in NO_CODE and token.start not in docstrings
    ]
    return len(tokens), len({token.start[0] for token in tokens})


def density(root: Path) -> float:
    """Tokens of code a line, over all packages."""
    counts = [
        count_tokens(file.read_text(encoding="utf-8"))
        for file in modules(root).values()
    ]
    return sum(tokens for tokens, _ in counts) / max(
        1, sum(lines for _, lines in counts)
    )


def numbers_twice(root: Path) -> list[str]:
    """The numbers of notebooks that two notebooks have."""
    names = [path.name for path in (root / "notebooks").glob("*/*.ipynb")]
    counts = Counter(name.partition("_")[0] for name in names)
    return sorted(number for number, count in counts.items() if count > 1)


def test_no_module_uses_private_names_of_another():
    assert private_uses(ROOT) == []


def test_no_function_of_the_packages_is_used_by_tests_alone():
    assert unreached(ROOT) == []


def test_the_code_is_not_packed():
    assert density(ROOT) <= MOST_TOKENS_A_LINE


def test_no_number_of_a_notebook_is_used_twice():
    assert numbers_twice(ROOT) == []


# That the checks see what they look for.


def write(root: Path, **texts: str) -> Path:
    """Write modules of the ground floor, by their names."""
    for name, text in texts.items():
        path = root / "lib" / "babelatlas" / "base" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def test_a_private_name_of_another_module_is_seen(tmp_path):
    uses = "from babelatlas.base import hall\nfrom babelatlas.base.hall import _y\nx = hall._x\n"
    root = write(tmp_path, hall="_x = _y = 1\n", room=uses)
    assert [(use.line, use.name) for use in private_uses(root)] == [
        (2, "babelatlas.base.hall._y"),
        (3, "hall._x"),
    ]


def test_functions_that_use_each_other_and_nobody_else_are_seen(tmp_path):
    used = "def used():\n    pass\n\n\nused()\n\n\ndef alone():\n    return other()\n"
    root = write(tmp_path, a=used, b="def other():\n    return alone\n")
    (root / "tests").mkdir()
    (root / "tests" / "test_a.py").write_text("alone()\n", encoding="utf-8")
    assert unreached(root) == ["babelatlas.base.a.alone", "babelatlas.base.b.other"]


def test_density_counts_code_alone():
    assert count_tokens('"""What a module does."""\n\n# Why.\nx = 1\ny = x + 2\n') == (
        8,
        2,
    )


def test_a_packed_line_is_denser(tmp_path):
    assert density(write(tmp_path, a="x = [f(y) for y in z if g(y)] or {k: v}\n")) > 20


def test_a_number_that_two_notebooks_have_is_seen(tmp_path):
    for name in ("10_x", "10_y", "11_z"):
        path = tmp_path / "notebooks" / "stages" / f"{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"cells": []}', encoding="utf-8")
    assert numbers_twice(tmp_path) == ["10"]


# What takes long.


def test_a_chapter_waits_for_no_library_that_it_does_not_call():
    """Each takes a second; torch, of which chapters need nothing, takes several."""
    code = """
import sys

import babelatlas as ba
from atlas_study.chapters import gap_over_time, labels, leaderboard

ba.style()
print({"scipy.stats", "seaborn", "statsmodels", "torch"} & set(sys.modules))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.returncode) == ("set()", 0), done.stderr


def processor_seconds() -> float:
    """The seconds of processor time of the programs that this process has started and
    that have ended.
    """
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


@pytest.mark.slow
def test_a_dry_run_of_the_demo_takes_six_seconds_of_a_processor(tmp_path):
    """The best of three: processor time is that of an idle machine, nearly."""
    times = []
    quiet = ("--dry-run", "--quiet", "rules", "host", "reason")
    while len(times) < 3 and not (times and min(times) <= 6):
        started = processor_seconds()
        done = snakemake(tmp_path, *quiet, config=ROOT / "config" / "demo.yml")
        times.append(processor_seconds() - started)
        assert done.returncode == 0, done.stderr
    assert min(times) <= 6
