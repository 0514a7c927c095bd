"""The measures of the house: rooms, imports, lengths and repetitions, each computed from the files.

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
ROOMS += ["analysis", "papers", "annotation", "report", "workflow"]
# Lines that two places share without one being a copy of the other.
TRIVIAL = re.compile(r"\W*|#.*|(from [\w.]+ )?import .*")
BLOCK = 6


class Measure(NamedTuple):
    """What was counted, its value, the bounds that it must keep, and what is there or wrong, for the reader."""

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
        bound = f"{self.most:,}" if self.least == self.most else f"at most {self.most:,}"
        return f"{'  ' if self.holds() else '!!'} {self.name}: {self.value:,} ({bound})"


def most(name: str, value: float, bound: float, details=()) -> Measure:
    """A measure that may not be more than `bound`."""
    return Measure(name, value, bound, 0, list(details))


def modules(root: Path) -> dict[str, Path]:
    """The library's modules by dotted name; a package is its `__init__`."""
    files = sorted((root / "lib" / "babelatlas").rglob("*.py"))
    names = [".".join(file.relative_to(root / "lib").with_suffix("").parts) for file in files]
    return {name.removesuffix(".__init__"): file for name, file in zip(names, files, strict=True)}


class Reader(ast.NodeVisitor):
    """Collects what one module imports, at its top or within functions, and which private names of others it uses."""

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
        source = ".".join([*above, *filter(None, [node.module])]) if node.level else node.module
        if source.split(".")[0] != "babelatlas":
            return
        for alias in node.names:
            self._add(f"{source}.{alias.name}")
            self.aliases[alias.asname or alias.name] = f"{source}.{alias.name}"
            if _private(alias.name):
                self.private.append(f"{self.name}:{node.lineno} imports {source}.{alias.name}")

    def visit_Attribute(self, node):
        owner = ast.unparse(node.value)
        if _private(node.attr) and self.aliases.get(owner) in self.known:
            self.private.append(f"{self.name}:{node.lineno} uses {owner}.{node.attr}")
        self.generic_visit(node)

    def visit_Constant(self, node):
        """A module named in a string, as `import_module` and `monkeypatch` take it, is an import as well."""
        named = re.fullmatch(r"(babelatlas(?:\.\w+)+)(?::\w+)?", node.value) if isinstance(node.value, str) else None
        if named:
            self._add(named[1])


def _private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def read(root: Path) -> dict[str, Reader]:
    """Each module's imports and uses of private names. Names are bound first, so that order does not matter."""
    found = modules(root)
    readers = {}
    for name, file in found.items():
        reader, tree = Reader(name, file.name == "__init__.py", set(found)), ast.parse(file.read_text(encoding="utf-8"))
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
        frozenset(other for other in reach[name] if name in reach[other]) for name in graph if name in reach[name]
    }
    return sorted(" ↔ ".join(sorted(group)) for group in groups)


def rank(name: str) -> int:
    """A module's floor: its room's number; what stands outside the rooms, such as the command line, is above all."""
    room = name.split(".")[1]
    return ROOMS.index(room) if room in ROOMS else len(ROOMS)


def upward(graph: dict[str, set[str]]) -> list[str]:
    """The imports from a room above; the package itself (its version) belongs to none."""
    pairs = [(name, other) for name, others in graph.items() for other in others if "." in name and "." in other]
    return sorted(f"{name} imports {other}" for name, other in pairs if rank(other) > rank(name))


def rooms(root: Path) -> dict[str, list[str]]:
    """Each folder with modules, at any depth, and what it holds: modules, and folders that hold some."""
    found = defaultdict(set)
    library = root / "lib" / "babelatlas"
    for file in library.rglob("*.py"):
        parts = file.relative_to(library).parts
        for depth in range(1, len(parts)):
            if parts[depth] != "__init__.py":
                found["/".join(parts[:depth])].add(parts[depth])
    return {room: sorted(found[room]) for room in sorted(found)}


def longest(files: list[Path]) -> tuple[int, list[str]]:
    """The number of lines of the longest file (0 where there is none), and all by length."""
    lengths = sorted(((len(file.read_text(encoding="utf-8").splitlines()), file.name) for file in files), reverse=True)
    return (lengths[0][0] if lengths else 0), [f"{name}: {length}" for length, name in lengths]


def repeated(root: Path) -> list[str]:
    """The pairs of places that share `BLOCK` or more equal lines one after another, trivial lines left out."""
    files = [file for folder in ("lib", "tests", "benchmarks") for file in sorted((root / folder).rglob("*.py"))]
    files += [file for file in [root / "Snakefile", *sorted((root / "rules").glob("*.smk"))] if file.is_file()]
    texts, places = [], defaultdict(list)
    for number, file in enumerate(files):
        lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
        texts.append([(at + 1, line) for at, line in enumerate(lines) if not TRIVIAL.fullmatch(line)])
        for at in range(len(texts[-1]) - BLOCK + 1):
            places[tuple(line for _, line in texts[-1][at : at + BLOCK])].append((number, at))

    def before(place):
        number, at = place
        return texts[number][at - 1][1] if at else None

    pairs = []
    for same in places.values():
        for one, other in combinations(same, 2):
            # Where the lines before are equal as well, the pair was counted with them.
            if before(one) is None or before(one) != before(other):
                ends = [f"{files[number].relative_to(root)}:{texts[number][at][0]}" for number, at in (one, other)]
                pairs.append(" ~ ".join(ends))
    return sorted(pairs)


def words(node: ast.AST) -> set[str]:
    """The names that a piece of code uses: variables, attributes, strings that are one; imports alone use none."""
    found = {getattr(each, "id", None) or getattr(each, "attr", None) for each in ast.walk(node)}
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            if re.fullmatch(r"[\w.:]+", each.value):
                found.add(each.value.rpartition(":")[2])
            elif each.value.startswith("from babelatlas"):  # a program for another process
                found |= set(re.findall(r"\w+", each.value))
    return {name for name in found if name}


def unreached(root: Path) -> list[str]:
    """The functions and classes that nothing uses but tests and each other.

    By name: where two have one name, a use of either counts for both. What a decorator registers is used. Uses start in
    notebooks, rules, definitions of the papers' numbers, examples on the book's pages, and the code of modules
    themselves.
    """
    texts = [(root / "Snakefile").read_text(encoding="utf-8")] if (root / "Snakefile").is_file() else []
    texts += [file.read_text(encoding="utf-8") for file in (root / "rules").glob("*.smk")]
    texts += [file.read_text(encoding="utf-8") for file in (root / "lib/babelatlas/data").glob("definitions/*.toml")]
    pages = [*(root / "book").glob("*.md"), *root.glob("*.md")]
    texts += [block for page in pages for block in re.findall(r"```.*?```", page.read_text(encoding="utf-8"), re.S)]
    for notebook in (root / "notebooks").rglob("*.ipynb"):
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        texts += ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    reached, waiting = set(re.findall(r"\w+", "\n".join(texts))), []
    settings = (root / "_config.yml").read_text(encoding="utf-8") if (root / "_config.yml").is_file() else ""
    reached |= {"setup"} if "babelatlas." in settings else set()  # Sphinx calls it, of each extension that is named
    for name, file in modules(root).items():
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            defined = isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.decorator_list
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
    files, contents = list(modules(root).values()), rooms(root)
    tops = [room for room in contents if "/" not in room]
    unlike = sorted(set(tops) ^ set(ROOMS))
    fullest = sorted(contents, key=lambda room: -len(contents[room]))
    module, by_length = longest(files)
    rule, by_rules = longest(sorted((root / "rules").glob("*.smk")))
    snakefile, _ = longest([root / "Snakefile"])
    round_ = circles(graph)
    up = upward(graph)
    private = [use for reader in readers.values() for use in reader.private]
    twins, unused = repeated(root), unreached(root)
    size = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
    return [
        most("file circles", len(round_), 0, round_),
        most("upward imports", len(up), 0, up),
        Measure("rooms", len(tops), len(ROOMS), len(ROOMS), unlike),
        most("rooms that the design does not name, or that are missing", len(unlike), 0, unlike),
        most(
            "modules of the fullest room", max(map(len, contents.values()), default=0), 14,
            [f"{room}: {len(contents[room])}" for room in fullest],
        ),
        most("lines of the longest module", module, 600, by_length),
        most("lines of the Snakefile", snakefile, 80),
        most("lines of the longest file of rules", rule, 150, by_rules),
        most("lines of the library", size, LINES),
        most("uses of another module's private names", len(private), 0, private),
        most("repeated blocks", len(twins), REPEATED, twins),
        most("functions and classes that only tests use", len(unused), 0, unused),
    ]  # fmt: skip


# As many as before the rooms: a change may not add any.
REPEATED = 17
# 27,000 lines for what the house did when it was built, and for each capability since then what it added.
LINES = 27_000
LINES += 2_050  # released results of real models: readers, eight chapters, pages of languages
LINES += 390  # rules for titles, Latin names and general words; an audit of labels; CLIP's names; tests over families
LINES += 720  # adapters: bottlenecks in the towers of others, objectives, resumable training, a command, the gains
LINES += 110  # LoRA in the towers of others; captions translated
LINES += 3_500  # reasoning over pairs of images, scenes, captioning, selection, image features, coverage of concepts
LINES += 900  # sharing: data-set folders, Croissant, class names, records of other schemas, results of others merged in
LINES += 480  # ways in: evaluation of the first items, what a run will take, notebooks that run by themselves
LINES += 280  # Babel-ImageNet's protocol as a config, and a run compared with its tables
LINES += 550  # models of sentence-transformers for images and texts, NaFlex; GeoDE, MVL-SIB, captions in 200 languages
LINES += 150  # outcomes of kills and other faults; full and read-only disks told in a sentence
LINES += 1_200  # the form of pages, tables in plain HTML, figures for phones and the dark, guesses
LINES += 75  # full size: outcomes read as categories, ensembles reduced to items, what chapters take
LINES += 310  # checksums of stored files, types and gaps of columns, what vectors are of
LINES += 650  # ranges and kinds of all that configs, commands and notebooks are given; tables as users write them
LINES += 130  # words that a parameter may be; correlations and ensembles of millions of rows
LINES += 270  # text that stays text on pages and in make, archives and paths that stay inside, provenance, Ctrl-C


def used() -> float:
    """The seconds of processor time of the programs that this process has started and that have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def dry_run(folder: Path) -> Measure:
    """The seconds of processor time that a dry run of the demo takes: those of an idle machine, whatever else runs."""
    times = []
    while len(times) < 3 and not (times and min(times) <= 6):
        start = used()
        done = snakemake(folder, "--dry-run", "--quiet", "rules", "host", "reason", config=ROOT / "config" / "demo.yml")
        assert done.returncode == 0, done.stderr
        times.append(round(used() - start, 1))
    return most("seconds of a dry run of the demo", min(times), 6)


@pytest.fixture(scope="module")
def found() -> dict[str, Measure]:
    return {measure.name: measure for measure in measures(ROOT)}


NAMES = [
    "file circles",
    "upward imports",
    "rooms",
    "rooms that the design does not name, or that are missing",
    "modules of the fullest room",
    "lines of the longest module",
    "lines of the Snakefile",
    "lines of the longest file of rules",
    "lines of the library",
    "uses of another module's private names",
    "repeated blocks",
    "functions and classes that only tests use",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_measure_of_the_house_keeps_its_bound(found, name):
    assert found[name].holds(), "\n".join([str(found[name]), *found[name].details[:40]])


@pytest.mark.slow
def test_a_dry_run_of_the_demo_is_quick(tmp_path):
    measure = dry_run(tmp_path)
    assert measure.holds(), str(measure)


def test_every_measure_is_checked_and_none_is_of_nothing(found):
    assert list(found) == NAMES
    assert found["lines of the library"].value > 10_000
    assert found["lines of the Snakefile"].value > 0
    assert found["lines of the longest file of rules"].value > 0


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def good(tmp_path) -> Path:
    """A small house that keeps every bound."""
    rooms = {f"lib/babelatlas/{room}/__init__.py": "" for room in ROOMS} | {"lib/babelatlas/__init__.py": ""}
    halls = {f"lib/babelatlas/{room}/hall.py": "x = 1\n" for room in ROOMS}
    others = {
        "Snakefile": "rule all: pass\n",
        "rules/base.smk": "",
        "lib/babelatlas/__init__.py": '__version__ = "0"\n',
    }
    write(tmp_path, rooms | halls | others)
    return tmp_path


SIX = "".join(f"value{number} = {number}\n" for number in range(6))
BAD = {
    "file circles": (
        {
            "lib/babelatlas/base/a.py": "from babelatlas.base import b\n",
            "lib/babelatlas/base/b.py": "def f():\n    from babelatlas.base.c import x\n",
            "lib/babelatlas/base/c.py": "import babelatlas.base.a\nx = 1\n",
        },
        "babelatlas.base.a ↔ babelatlas.base.b ↔ babelatlas.base.c",
    ),
    "upward imports": (
        {"lib/babelatlas/base/a.py": "def f():\n    from ..report import hall\n"},
        "babelatlas.base.a imports babelatlas.report.hall",
    ),
    "rooms": ({"lib/babelatlas/cellar/a.py": ""}, "cellar"),
    "rooms that the design does not name, or that are missing": ({"lib/babelatlas/cellar/a.py": ""}, "cellar"),
    "modules of the fullest room": (
        {f"lib/babelatlas/models/loaders/m{number}.py": "" for number in range(15)}, "models/loaders: 15"
    ),
    "lines of the longest module": ({"lib/babelatlas/base/a.py": "x = 1\n" * 601}, "a.py: 601"),
    "lines of the Snakefile": ({"Snakefile": "# line\n" * 81}, ""),
    "lines of the longest file of rules": ({"rules/papers.smk": "# line\n" * 151}, "papers.smk: 151"),
    "lines of the library": ({f"lib/babelatlas/base/a{n}.py": "#\n" * 500 for n in range(LINES // 500 + 1)}, ""),
    "uses of another module's private names": (
        {"lib/babelatlas/base/a.py": "from babelatlas.base import hall\nx = hall._x\n"},
        "babelatlas.base.a:2 uses hall._x",
    ),
    "repeated blocks": (
        {
            "lib/babelatlas/base/a.py": "".join(f"{SIX}y{n} = [\n]\n" for n in range(REPEATED + 2)),
            "lib/babelatlas/base/b.py": f"import os\n\nz = 1\n{SIX}",
        },
        "lib/babelatlas/base/a.py:1 ~ lib/babelatlas/base/b.py:4",
    ),
    "functions and classes that only tests use": (
        {
            "lib/babelatlas/base/a.py": "def used():\n    pass\n\n\nused()\n\n\ndef alone():\n    return other()\n",
            "lib/babelatlas/base/b.py": "def other():\n    return alone\n",
            "tests/test_a.py": "from babelatlas.base.a import alone\nalone()\n",
        },
        "babelatlas.base.a.alone\nbabelatlas.base.b.other",
    ),
}  # fmt: skip
MORE = [
    ("upward imports", {"lib/babelatlas/base/a.py": "x = ['babelatlas.report.hall:x']\n"}, "report.hall"),
    ("upward imports", {"lib/babelatlas/cli.py": "", "lib/babelatlas/workflow/a.py": "import babelatlas.cli\n"}, "cli"),
    ("uses of another module's private names", {"lib/babelatlas/base/a.py": "from .hall import _x\n"}, "base.hall._x"),
    (
        "uses of another module's private names",
        {"lib/babelatlas/base/a.py": "import babelatlas.base.hall\nx = babelatlas.base.hall._x\n"},
        "babelatlas.base.hall._x",
    ),
    ("modules of the fullest room", {f"lib/babelatlas/base/m{n}.py": "" for n in range(14)}, "base: 15"),
]


@pytest.mark.parametrize(("name", "files", "told"), [*((name, *case) for name, case in BAD.items()), *MORE])
def test_the_check_sees_a_house_that_breaks_the_bound(good, name, files, told):
    before = {measure.name: measure for measure in measures(good)}
    assert all(measure.holds() for measure in before.values()), [str(measure) for measure in before.values()]
    write(good, files)
    after = {measure.name: measure for measure in measures(good)}
    assert not after[name].holds(), str(after[name])
    assert told in "\n".join(after[name].details)


def test_the_check_is_shown_every_violation():
    assert list(BAD) == NAMES


def test_a_house_that_is_not_there_breaks_the_bounds(tmp_path):
    write(tmp_path, {"Snakefile": ""})
    assert not all(measure.holds() for measure in measures(tmp_path))


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        listed = [*measures(ROOT), dry_run(Path(folder))]
    print(*listed, sep="\n")
    sys.exit(not all(measure.holds() for measure in listed))
