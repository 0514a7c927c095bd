"""The measures of the house: rooms, imports and repetitions, each computed from the
files.

`python tests/test_architecture.py` prints every measure with its bound.
"""

import ast
import json
import re
import resource
import sys
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import ROOT, snakemake

# From the ground upwards: a room imports from itself and from those before it.
ROOMS = ["base", "stats", "lexicon", "datasets", "models", "evaluation"]
ROOMS += ["analysis", "annotation", "report", "workflow"]
# Lines that two places share without one being a copy of the other.
TRIVIAL = re.compile(r"\W*|#.*|(from [\w.]+ )?import .*")
BLOCK = 6


class Measure(NamedTuple):
    """What was counted, its value, the bounds that it must keep, and what is there or
    wrong, for the reader.
    """

    name: str
    value: float
    most: float
    least: float
    details: list[str]

    def holds(self) -> bool:
        """Whether the value keeps its bounds."""
        return self.least <= self.value <= self.most

    def __str__(self) -> str:
        """One line: name, value, bound."""
        bound = (
            f"{self.most:,}" if self.least == self.most else f"at most {self.most:,}"
        )
        return f"{'  ' if self.holds() else '!!'} {self.name}: {self.value:,} ({bound})"


def most(name: str, value: float, bound: float, details=()) -> Measure:
    """A measure that may not be more than `bound`."""
    return Measure(name, value, bound, 0, list(details))


def modules(root: Path) -> dict[str, Path]:
    """The library's modules by dotted name; a package is its `__init__`."""
    files = sorted((root / "lib" / "babelatlas").rglob("*.py"))
    names = [
        ".".join(file.relative_to(root / "lib").with_suffix("").parts) for file in files
    ]
    return {
        name.removesuffix(".__init__"): file
        for name, file in zip(names, files, strict=True)
    }


class Reader(ast.NodeVisitor):
    """Collects what one module imports, at its top or within functions, and which
    private names of others it uses.
    """

    def __init__(self, name: str, is_package: bool, known: set[str]):
        self.name, self.known = name, known
        self.package = name if is_package else name.rpartition(".")[0]
        self.imports, self.private, self.aliases = set(), [], {}

    def _add(self, target: str) -> None:
        while target and target not in self.known:
            target = target.rpartition(".")[0]
        if target and target != self.name:
            self.imports.add(target)

    def visit_Import(self, node):
        for alias in node.names:
            self._add(alias.name)
            self.aliases[alias.asname or alias.name] = alias.name

    def visit_ImportFrom(self, node):
        above = self.package.split(".")[: len(self.package.split(".")) - node.level + 1]
        source = (
            ".".join([*above, *filter(None, [node.module])])
            if node.level
            else node.module
        )
        if source.split(".")[0] != "babelatlas":
            return
        for alias in node.names:
            self._add(f"{source}.{alias.name}")
            self.aliases[alias.asname or alias.name] = f"{source}.{alias.name}"
            if _private(alias.name):
                self.private.append(
                    f"{self.name}:{node.lineno} imports {source}.{alias.name}"
                )

    def visit_Attribute(self, node):
        owner = ast.unparse(node.value)
        if _private(node.attr) and self.aliases.get(owner) in self.known:
            self.private.append(f"{self.name}:{node.lineno} uses {owner}.{node.attr}")
        self.generic_visit(node)

    def visit_Constant(self, node):
        """A module named in a string, as `import_module` and `monkeypatch` take it, is
        an import as well.
        """
        named = (
            re.fullmatch(r"(babelatlas(?:\.\w+)+)(?::\w+)?", node.value)
            if isinstance(node.value, str)
            else None
        )
        if named:
            self._add(named[1])


def _private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def read(root: Path) -> dict[str, Reader]:
    """Each module's imports and uses of private names. Names are bound first, so that
    order does not matter.
    """
    found = modules(root)
    readers = {}
    for name, file in found.items():
        reader, tree = (
            Reader(name, file.name == "__init__.py", set(found)),
            ast.parse(file.read_text(encoding="utf-8")),
        )
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                reader.visit(node)
        reader.private.clear()
        reader.visit(tree)
        readers[name] = reader
    return readers


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    """The modules that `start` imports, directly or through others."""
    seen, waiting = set(), list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting.extend(graph[name])
    return seen


def circles(graph: dict[str, set[str]]) -> list[str]:
    """The groups of modules that import each other, each once."""
    reach = {name: reachable(graph, name) for name in graph}
    groups = {
        frozenset(other for other in reach[name] if name in reach[other])
        for name in graph
        if name in reach[name]
    }
    return sorted(" ↔ ".join(sorted(group)) for group in groups)


def rank(name: str) -> int:
    """A module's floor: its room's number; what stands outside the rooms, such as the
    command line, is above all.
    """
    room = name.split(".")[1]
    return ROOMS.index(room) if room in ROOMS else len(ROOMS)


def upward(graph: dict[str, set[str]]) -> list[str]:
    """The imports from a room above; the package itself (its version) belongs to none."""
    pairs = [
        (name, other)
        for name, others in graph.items()
        for other in others
        if "." in name and "." in other
    ]
    return sorted(
        f"{name} imports {other}" for name, other in pairs if rank(other) > rank(name)
    )


def rooms(root: Path) -> dict[str, list[str]]:
    """Each folder with modules, at any depth, and what it holds: modules, and folders
    that hold some.
    """
    found = defaultdict(set)
    library = root / "lib" / "babelatlas"
    for file in library.rglob("*.py"):
        parts = file.relative_to(library).parts
        for depth in range(1, len(parts)):
            if parts[depth] != "__init__.py":
                found["/".join(parts[:depth])].add(parts[depth])
    return {room: sorted(found[room]) for room in sorted(found)}


def repeated(root: Path) -> list[str]:
    """The pairs of places that share `BLOCK` or more equal lines one after another,
    trivial lines left out.
    """
    files = [
        file
        for folder in ("lib", "tests", "benchmarks")
        for file in sorted((root / folder).rglob("*.py"))
    ]
    files += [
        file
        for file in [root / "Snakefile", *sorted((root / "rules").glob("*.smk"))]
        if file.is_file()
    ]
    texts, places = [], defaultdict(list)
    for number, file in enumerate(files):
        lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
        texts.append(
            [
                (at + 1, line)
                for at, line in enumerate(lines)
                if not TRIVIAL.fullmatch(line)
            ]
        )
        for at in range(len(texts[-1]) - BLOCK + 1):
            places[tuple(line for _, line in texts[-1][at : at + BLOCK])].append(
                (number, at)
            )

    def before(place):
        number, at = place
        return texts[number][at - 1][1] if at else None

    pairs = []
    for same in places.values():
        for one, other in combinations(same, 2):
            # Where the lines before are equal as well, the pair was counted with them.
            if before(one) is None or before(one) != before(other):
                ends = [
                    f"{files[number].relative_to(root)}:{texts[number][at][0]}"
                    for number, at in (one, other)
                ]
                pairs.append(" ~ ".join(ends))
    return sorted(pairs)


def words(node: ast.AST) -> set[str]:
    """The names that a piece of code uses: variables, attributes, strings that are one;
    imports alone use none.
    """
    found = {
        getattr(each, "id", None) or getattr(each, "attr", None)
        for each in ast.walk(node)
    }
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            if re.fullmatch(r"[\w.:]+", each.value):
                found.add(each.value.rpartition(":")[2])
            elif "from babelatlas" in each.value:  # a program for another process
                found |= set(re.findall(r"\w+", each.value))
    return {name for name in found if name}


def unreached(root: Path) -> list[str]:
    """The functions and classes that nothing uses but tests and each other.

    By name: where two have one name, a use of either counts for both. What a decorator
    registers is used. Uses start in notebooks, rules, papercheck, benchmarks, examples
    on the book's pages, and the code of modules themselves.
    """
    texts = (
        [(root / "Snakefile").read_text(encoding="utf-8")]
        if (root / "Snakefile").is_file()
        else []
    )
    texts += [
        file.read_text(encoding="utf-8") for file in (root / "rules").glob("*.smk")
    ]
    texts += [
        file.read_text(encoding="utf-8")
        for folder in ("lib/papercheck", "benchmarks")
        for file in (root / folder).rglob("*.py")
    ]
    pages = [*(root / "book").glob("*.md"), *root.glob("*.md")]
    texts += [
        block
        for page in pages
        for block in re.findall(r"```.*?```", page.read_text(encoding="utf-8"), re.S)
    ]
    for notebook in (root / "notebooks").rglob("*.ipynb"):
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        texts += [
            "".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"
        ]
    reached, waiting = set(re.findall(r"\w+", "\n".join(texts))), []
    settings = (
        (root / "_config.yml").read_text(encoding="utf-8")
        if (root / "_config.yml").is_file()
        else ""
    )
    reached |= (
        {"setup"} if "babelatlas." in settings else set()
    )  # Sphinx calls it, of each extension that is named
    for name, file in modules(root).items():
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            defined = (
                isinstance(node, ast.FunctionDef | ast.ClassDef)
                and not node.decorator_list
            )
            if defined and not re.fullmatch(r"__\w+__", node.name):
                waiting.append((f"{name}.{node.name}", words(node)))
            else:
                reached |= words(node)
    found = waiting
    while found:
        found = [each for each in waiting if each[0].rpartition(".")[2] in reached]
        waiting = [each for each in waiting if each not in found]
        reached = reached.union(*(uses for _, uses in found))
    return [name for name, _ in waiting]


def measures(root: Path) -> list[Measure]:
    """Every measure of the project in `root` that its files tell."""
    readers = read(root)
    graph = {name: reader.imports for name, reader in readers.items()}
    contents = rooms(root)
    tops = [room for room in contents if "/" not in room]
    unlike = sorted(set(tops) ^ set(ROOMS))
    round_, up = circles(graph), upward(graph)
    private = [use for reader in readers.values() for use in reader.private]
    twins, unused = repeated(root), unreached(root)
    chapters, stages = (
        sorted((root / "notebooks" / kind).glob("*.ipynb"))
        for kind in ("chapters", "stages")
    )
    numbers = [file.name.partition("_")[0] for file in [*chapters, *stages]]
    twice = sorted({number for number in numbers if numbers.count(number) > 1})
    return [
        most("file circles", len(round_), 0, round_),
        most("upward imports", len(up), 0, up),
        Measure("rooms", len(tops), len(ROOMS), len(ROOMS), unlike),
        most("numbers of notebooks that are used twice", len(twice), 0, twice),
        most("uses of another module's private names", len(private), 0, private),
        most("repeated blocks", len(twins), REPEATED, twins),
        most("functions and classes that only tests use", len(unused), 0, unused),
    ]


# As many as before the rooms: a change may not add any.
REPEATED = 17


def used() -> float:
    """The seconds of processor time of the programs that this process has started and
    that have ended.
    """
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def dry_run(folder: Path) -> Measure:
    """The seconds of processor time that a dry run of the demo takes: those of an idle
    machine, whatever else runs.
    """
    times = []
    while len(times) < 3 and not (times and min(times) <= 6):
        start = used()
        done = snakemake(
            folder,
            "--dry-run",
            "--quiet",
            "rules",
            "host",
            "reason",
            config=ROOT / "config" / "demo.yml",
        )
        assert done.returncode == 0, done.stderr
        times.append(round(used() - start, 1))
    return most("seconds of a dry run of the demo", min(times), 6)


MEASURES = {measure.name: measure for measure in measures(ROOT)}


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_of_the_house_keeps_its_bound(name):
    assert MEASURES[name].holds(), "\n".join(
        [str(MEASURES[name]), *MEASURES[name].details[:40]]
    )


@pytest.mark.slow
def test_a_dry_run_of_the_demo_is_quick(tmp_path):
    measure = dry_run(tmp_path)
    assert measure.holds(), str(measure)


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


SIX = "".join(f"value{number} = {number}\n" for number in range(6))


def base(**texts: str) -> dict[str, str]:
    """Modules of the ground floor, by their names."""
    return {f"lib/babelatlas/base/{name}.py": text for name, text in texts.items()}


def notebooks(kind: str, *names) -> dict[str, str]:
    """Notebooks without cells."""
    return {f"notebooks/{kind}/{name}.ipynb": '{"cells": []}' for name in names}


# Measure -> files that break its bound, and a part of what is then listed.
BAD = {
    "file circles": (
        base(
            a="from babelatlas.base import b\n",
            b="def f():\n    from babelatlas.base.c import x\n",
            c="import babelatlas.base.a\nx = 1\n",
        ),
        "babelatlas.base.a ↔ babelatlas.base.b ↔ babelatlas.base.c",
    ),
    "upward imports": (
        base(a="def f():\n    from ..report import hall\n"),
        "babelatlas.base.a imports babelatlas.report.hall",
    ),
    "rooms": ({"lib/babelatlas/cellar/a.py": ""}, "cellar"),
    "numbers of notebooks that are used twice": (
        notebooks("stages", "10_x", "10_y"),
        "10",
    ),
    "uses of another module's private names": (
        base(a="from babelatlas.base import hall\nx = hall._x\n"),
        "babelatlas.base.a:2 uses hall._x",
    ),
    "repeated blocks": (
        base(
            a="".join(f"{SIX}y{n} = [\n]\n" for n in range(REPEATED + 2)),
            b=f"import os\n\nz = 1\n{SIX}",
        ),
        "lib/babelatlas/base/a.py:1 ~ lib/babelatlas/base/b.py:4",
    ),
    "functions and classes that only tests use": (
        {"tests/test_a.py": "from babelatlas.base.a import alone\nalone()\n"}
        | base(
            a=(
                "def used():\n    pass\n\n\nused()\n\n\ndef alone():\n    return"
                " other()\n"
            ),
            b="def other():\n    return alone\n",
        ),
        "babelatlas.base.a.alone\nbabelatlas.base.b.other",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_the_check_sees_a_house_that_breaks_the_bound(tmp_path, name):
    halls = {
        f"lib/babelatlas/{room}/hall.py": (
            "import babelatlas.base.hall as h, babelatlas\n"
        )
        for room in ROOMS[1:]
    }
    tops = {f"lib/babelatlas/{room}/__init__.py": "" for room in ROOMS} | {
        "lib/babelatlas/__init__.py": ""
    }
    write(
        tmp_path,
        halls
        | tops
        | {
            "lib/babelatlas/base/hall.py": "x = 1\n",
            "Snakefile": "rule all: pass\n",
        },
    )
    assert [str(measure) for measure in measures(tmp_path) if not measure.holds()] == []
    files, listed = BAD[name]
    write(tmp_path, files)
    measure = next(measure for measure in measures(tmp_path) if measure.name == name)
    assert not measure.holds(), str(measure)
    assert listed in "\n".join(measure.details)


def test_the_check_is_shown_every_violation():
    assert list(BAD) == list(MEASURES)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        listed = [*measures(ROOT), dry_run(Path(folder))]
    print(*listed, sep="\n")
    sys.exit(not all(measure.holds() for measure in listed))
