"""What the workflow must know of a notebook before it runs one: its inputs, outputs and parameters, and its sources.

A notebook names them once, in three cells of plain assignments that carry the tags `inputs`, `outputs` and
`parameters`; the workflow gives their values. Nothing is executed here: a notebook depends on the modules that it
imports, on those that they import, and on the data files that these name.
"""

import ast
import json
import os
import re
from functools import cache
from pathlib import Path

from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA, locate, root
from babelatlas.workflow import parameters

LIBRARY = DATA.parent
TAGS = ("inputs", "outputs", "parameters")
# The module of all tables, which the package imports when it is asked for one, and the names that ask.
CATALOGUE = "babelatlas.workflow.catalogue"
DOORS = {"babelatlas", "babelatlas.load", "babelatlas.describe"}
# Where a notebook reads and writes unless it is told otherwise: a run by hand leaves the tables of runs alone.
READ_FROM, WRITE_TO = "results/demo", "results/scratch"


def find(folder: str | os.PathLike, name: str) -> Path:
    """Return the path of the notebook `name` below `folder`; InputError, with the nearest name, where there is none."""
    known = {path.stem: path for path in sorted(Path(folder).glob("**/*.ipynb"))}
    if name not in known:
        raise InputError(f"There is no notebook {name!r} in {folder}: {near(name, known)}")
    return known[name]


def cells(path: str | os.PathLike) -> list[dict]:
    """Return the cells of a notebook, their sources as texts; InputError where it is missing or cannot be read."""
    path = Path(path)
    if not path.is_file():
        others = [other.stem for other in path.parent.glob("*.ipynb")]
        raise InputError(f"There is no notebook {path.stem!r} in {path.parent}: {near(path.stem, others)}")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["cells"]
        return [cell | {"source": "".join(cell["source"])} for cell in found]
    except (ValueError, KeyError, TypeError) as error:
        executed = path.resolve().is_relative_to(root() / "results")
        remedy = "delete it and run again" if executed else "restore it from the repository"
        raise InputError(f"The file {path} cannot be read as a notebook ({error}): {remedy}.") from error


def declared(path: str | os.PathLike) -> dict[str, dict]:
    """Return what a notebook declares: "inputs", "outputs" and "parameters", each name -> default.

    Raises InputError where such a cell is not plain Python, a default is no literal, or a name is declared twice.
    """
    return _declared(str(path), os.stat(path).st_mtime_ns if os.path.exists(path) else 0)


@cache
def _declared(path: str, changed: int) -> dict[str, dict]:
    """Return `declared`; `changed` is the file's time, so that a new version is read anew."""
    found = {tag: {} for tag in TAGS}
    for cell in cells(path):
        tag = next((tag for tag in TAGS if tag in cell["metadata"].get("tags", [])), None)
        if tag is None:
            continue
        try:
            for statement in ast.parse(cell["source"]).body:
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                found[tag] |= {target.id: ast.literal_eval(statement.value) for target in targets}
        except (SyntaxError, ValueError, AttributeError) as error:
            raise InputError(
                f"The {tag} cell of {path} should hold lines 'name = value' with plain values only ({error}): "
                "compute in the next cell."
            ) from error
    names = [name for tag in TAGS for name in found[tag]]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise InputError(f"The notebook {Path(path).stem} declares {twice!r} in two cells: leave one out.")
    return found


def defaults(path: str | os.PathLike) -> dict:
    """Return all names that a notebook declares with their defaults."""
    return {name: value for group in declared(path).values() for name, value in group.items()}


def check_parameters(path: str | os.PathLike, given: dict) -> None:
    """Raise InputError where `given` holds what the notebook at `path` does not declare, or a value that cannot be."""
    known = defaults(path)
    for name, value in given.items():
        if name not in known:
            raise InputError(f"The notebook {Path(path).stem} has no parameter {name!r}: {near(name, known)}")
        parameters.check(Path(path).stem, name, known[name], value)
    _check_outputs(path, given)


def _check_outputs(path: str | os.PathLike, given: dict) -> None:
    """Raise InputError where a file to write is given as a folder, or with another ending: known before the work."""
    for name, default in declared(path)["outputs"].items():
        value, ending = given.get(name), Path(default).suffix
        if value and ending and (Path(value).suffix != ending or locate(value).is_dir()):
            raise InputError(
                f"The output {name!r} of the notebook {Path(path).stem} is a file, got {value!r}: give a path that "
                f"ends in {ending}."
            )


def placed(value, run: str):
    """Return a default with its paths moved to results/<run> from where notebooks read and write by themselves.

    >>> placed("results/demo/zeroshot", "full"), placed("results/scratch/scores/a.parquet", "full")
    ('results/full/zeroshot', 'results/full/scores/a.parquet')
    """
    if isinstance(value, dict):
        return {key: placed(one, run) for key, one in value.items()}
    if isinstance(value, str) and "/".join(value.split("/")[:2]) in (READ_FROM, WRITE_TO):
        return "/".join(["results", run, *value.split("/")[2:]])
    return value


def sources(path: str | os.PathLike) -> list[Path]:
    """Return the files that decide what a notebook does: itself, the modules it reaches, the data that they name.

    A module is reached by an import, at any depth and wherever it stands. A file of `data/` belongs to a module whose
    text holds its name, or that of its folder as in `DATA / "published"`. Absolute paths, sorted; the notebook comes
    first, as given.
    """
    text = []
    for cell in cells(path):
        if cell["cell_type"] == "code":
            lines = cell["source"].splitlines()
            text.append("\n".join(line for line in lines if not line.lstrip().startswith(("%", "!"))))
    name = Path(path).name
    found, queue = set(), [file for code in text for file in _imports(code, f"A cell of {name}")]
    while queue:
        file = queue.pop()
        if file not in found:
            found.add(file)
            queue += _module(file, file.stat().st_mtime_ns)[0]
    data = set().union(*(_module(file, file.stat().st_mtime_ns)[1] for file in found))
    return [Path(path), *sorted(found | data)]


@cache
def _module(file: Path, changed: int) -> tuple[list[Path], set[Path]]:
    """Return the modules that a module imports and the data that it names; `changed`: its time."""
    text = file.read_text(encoding="utf-8")
    folders = set(re.findall(r'(?:DATA|"data") / "(\w+)"', text))
    data = {each for each in _shipped() if each.name in text or each.parent.name in folders}
    # The package itself imports the catalogue, but only when asked for a table.
    return [] if file == LIBRARY / "__init__.py" else _imports(text, file.name), data


@cache
def _shipped() -> list[Path]:
    return [file for file in DATA.rglob("*") if file.is_file()]


def _imports(code: str, where: str) -> list[Path]:
    """Return the library's modules that Python source imports, with the packages that they lie in."""
    try:
        tree = ast.parse(code)
    except SyntaxError as error:
        raise InputError(f"{where} is not valid Python (line {error.lineno}: {error.msg}): correct it.") from error
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found = [f"{node.module}.{alias.name}" for alias in node.names]
            names.append(node.module)
        elif isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        else:
            continue
        names += [*found, CATALOGUE] if DOORS & {*found} else found
    return [file for name in names if name.partition(".")[0] == "babelatlas" for file in _files(name)]


@cache
def _files(name: str) -> list[Path]:
    """Return the file of a module and the __init__ files of its packages; [] for a name that is no module."""
    parts = name.split(".")[1:]
    place = LIBRARY.joinpath(*parts)
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    if not file.is_file():
        return []
    above = [LIBRARY.joinpath(*parts[:depth], "__init__.py") for depth in range(len(parts))]
    return [*above, file]
