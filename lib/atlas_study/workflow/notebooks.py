"""What the workflow must know of a notebook before it runs one: its inputs, outputs and
parameters, and its sources.

A notebook names them once, in three cells of plain assignments that carry the tags
`inputs`, `outputs` and `parameters`; the workflow gives their values. A line may say
more of its value, as a type and bounds:

    n_resamples: int = 2000  # ge=1
    level: float = 0.95  # gt=0, lt=1
    choice: str = ""  # one of: first, all
    limit: int | str = ""  # ge=1
    models: list[str] = ["picto-en"]  # kind: model

The types are int, float, str, bool, list and dict, also as list[int], dict[str, float]
or int | str; without one, it is that of the value. Bounds are pydantic's ge, gt, le and
lt, and hold for each number in a list or mapping, as the words after "one of" and what
is named after "kind" (`parameter_kinds.KINDS`) do for each text; "" always fits, and
stands for no value. Other comments say what they like.

Nothing is executed here: a notebook depends on the modules that it imports, on those
that they import, and on the shipped files that its cell of inputs lists.
"""

import ast
import json
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

import babelatlas
from atlas_study.workflow import parameter_kinds
from babelatlas import DESK
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA, root
from babelatlas.base.validation import validate

# The folder of the packages.
LIBRARY = DATA.parents[1]
TAGS = ("inputs", "outputs", "parameters")
# What every module that reads tables needs: their schemas.
EVERYWHERE = (DATA / "schemas.csv",)
# Where a notebook reads and writes unless it is told otherwise: a run by hand leaves
# the tables of runs alone.
READ_FROM, WRITE_TO = "results/demo", "results/scratch"
STOPPED = "stopped"  # the last line in the log of a notebook that its user has stopped
TYPES = {one.__name__: one for one in (int, float, str, bool, list, dict)}
BOUNDS = re.compile(r"\b(ge|gt|le|lt) ?= ?(-?[\d.]+(?:e-?\d+)?)")
ONE_OF = re.compile(r"#\s*one of: (.+)")
KIND = re.compile(r"#\s*kind: ([a-z ]+)")


class Limits(NamedTuple):
    """What values of a parameter keep to: bounds of numbers by pydantic's names, words,
    the kind of what is named.
    """

    bounds: dict[str, float]
    words: list[str]
    kind: str


def find(folder: str | os.PathLike, name: str) -> Path:
    """Return the path of the notebook `name` below `folder`; InputError, with the
    nearest name, where there is none.
    """
    known = {path.stem: path for path in sorted(Path(folder).glob("**/*.ipynb"))}
    if name not in known:
        raise InputError(
            f"There is no notebook {name!r} in {folder}: {near(name, known)}"
        )
    return known[name]


def cells(path: str | os.PathLike) -> list[dict]:
    """Return the cells of a notebook, their sources as texts; InputError where it is
    missing or cannot be read.
    """
    path = Path(path)
    if not path.is_file():
        others = [other.stem for other in path.parent.glob("*.ipynb")]
        raise InputError(
            f"There is no notebook {path.stem!r} in {path.parent}:"
            f" {near(path.stem, others)}"
        )
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["cells"]
        return [cell | {"source": "".join(cell["source"])} for cell in found]
    except (ValueError, KeyError, TypeError) as error:
        remedy = (
            "delete it and run again"
            if path.resolve().is_relative_to(root() / "results")
            else "restore it"
        )
        raise InputError(
            f"The file {path} cannot be read as a notebook ({error}): {remedy}."
        ) from error


def declared(path: str | os.PathLike) -> dict[str, dict]:
    """Return what a notebook declares: "inputs", "outputs" and "parameters", each name
    -> default.

    Raises InputError where such a cell is not plain Python, a default is no literal, or
    a name is declared twice.
    """
    lines = _lines(*_stamped(path))
    return {
        tag: {name: value for name, (of, value, *_) in lines.items() if of == tag}
        for tag in TAGS
    }


def _stamped(path: str | os.PathLike) -> tuple[str, int]:
    return str(path), os.stat(path).st_mtime_ns if os.path.exists(path) else 0


@cache
def _lines(
    path: str, changed: int
) -> dict[str, tuple[str, object, ast.expr | None, str]]:
    """Return what a notebook declares: name -> tag, default, annotation and comment;
    `changed`: the file's time.
    """
    found = {}
    for cell in cells(path):
        tag = next(
            (tag for tag in TAGS if tag in cell["metadata"].get("tags", [])), None
        )
        if tag is None:
            continue
        source = cell["source"].splitlines()
        try:
            for statement in ast.parse(cell["source"]).body:
                target = (
                    statement.targets[0]
                    if isinstance(statement, ast.Assign)
                    else statement.target
                )
                if target.id in found:
                    raise InputError(
                        f"The notebook {Path(path).stem} declares {target.id!r} twice:"
                        " leave one out."
                    )
                annotation = getattr(statement, "annotation", None)
                comment = (
                    source[statement.end_lineno - 1]
                    .encode()[statement.end_col_offset :]
                    .decode()
                )
                found[target.id] = (
                    tag,
                    ast.literal_eval(statement.value),
                    annotation,
                    comment,
                )
        except (SyntaxError, ValueError, AttributeError) as error:
            if isinstance(error, InputError):
                raise
            what = (
                f"The {tag} cell of {path} should hold lines 'name = value' with plain"
                f" values only ({error})"
            )
            raise InputError(f"{what}: compute in the next cell.") from error
    return found


def defaults(path: str | os.PathLike) -> dict:
    """Return all names that a notebook declares with their defaults."""
    return {
        name: value
        for group in declared(path).values()
        for name, value in group.items()
    }


def check_parameters(path: str | os.PathLike, given: dict) -> dict:
    """Return `given`, codes of languages as the study writes them, in the form that the
    notebook at `path` declares.

    Raises InputError for what it does not declare, and for a value that cannot be: of
    another type, out of its bounds, or the name of a model, a language, a data set or a
    run that is not known.
    """
    fitting = validate(
        parameter_model(path, given), given, f"The notebook {Path(path).stem}"
    )
    return fitting.model_dump(include=set(given))


def limits(path: str | os.PathLike) -> dict[str, Limits]:
    """Return what the values of each name that a notebook declares keep to, as its
    comments say.
    """
    return {
        name: _limits(comment)
        for name, (*_, comment) in _lines(*_stamped(path)).items()
    }


def _limits(comment: str) -> Limits:
    bounds = {key: json.loads(value) for key, value in BOUNDS.findall(comment)}
    words = [
        word.strip() for found in ONE_OF.findall(comment) for word in found.split(",")
    ]
    return Limits(bounds, words, "".join(KIND.findall(comment)).strip())


def parameter_model(path: str | os.PathLike, given: dict) -> type[BaseModel]:
    """Return the pydantic model of what a notebook declares: a field for each name,
    with its type and limits.

    `given`: the values that are to be checked (`parameter_kinds.checks`).
    """
    fields, kept_to = {}, limits(path)
    for name, (tag, default, annotation, _) in _lines(*_stamped(path)).items():
        try:
            kind = (
                _type(annotation)
                if annotation
                else _kind(default, str | list if tag == "inputs" else str)
            )
        except (KeyError, TypeError) as error:
            what = f"a type of {name} that is none of {', '.join(TYPES)}"
            raise InputError(f"{Path(path).name} declares {what}.") from error
        fields[name] = (_limited(kind, kept_to[name], given), default)
    config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    return create_model("Parameters", __config__=config, **fields)


def _type(node: ast.expr):
    """Return the type that an annotation stands for: one of `TYPES`, perhaps with
    others in brackets, or several.
    """
    if isinstance(node, ast.BinOp):
        return _type(node.left) | _type(node.right)
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return TYPES[node.value.id][tuple(map(_type, parts))]
    return TYPES[getattr(node, "id", "")]


def _kind(default, text: type = str):
    """Return the type of a default, of a list or mapping with those of its elements; ""
    may stand for several.
    """
    if default == "" and text is str:
        return str | int | list
    if isinstance(default, list | dict) and default:
        inner = default.values() if isinstance(default, dict) else default
        kinds = Union[tuple(_kind(one, text) for one in inner)]  # noqa: UP007 - of any number
        return dict[str, kinds] if isinstance(default, dict) else list[kinds]
    return text if isinstance(default, str) else type(default)


def _limited(kind, limits: Limits, given: dict):
    """Return a type whose numbers keep to bounds and whose texts are among words or
    name what there is, or are "".
    """
    inner = [_limited(part, limits, given) for part in get_args(kind)]
    if get_origin(kind) in (Union, UnionType):
        return Union[tuple(inner)]  # noqa: UP007
    if inner:
        return list[inner[0]] if get_origin(kind) is list else dict[str, inner[1]]
    if kind in (int, float) and limits.bounds:
        return Annotated[kind, Field(**limits.bounds)]
    if kind is str and limits.kind:
        return Annotated[
            str, AfterValidator(parameter_kinds.checks(limits.kind, given))
        ]
    return (
        Literal[("", *limits.words)]
        if kind is str and (limits.words or limits.bounds)
        else kind
    )


def placed(value, run: str):
    """Return a default with its paths moved to results/<run> from where notebooks read
    and write by themselves.

    >>> placed("results/demo/zeroshot", "full"), placed("results/scratch/scores/a.parquet", "full")
    ('results/full/zeroshot', 'results/full/scores/a.parquet')
    """
    if isinstance(value, dict):
        return {key: placed(one, run) for key, one in value.items()}
    if isinstance(value, str) and "/".join(value.split("/")[:2]) in (
        READ_FROM,
        WRITE_TO,
    ):
        return "/".join(["results", run, *value.split("/")[2:]])
    return value


def sources(path: str | os.PathLike) -> list[Path]:
    """Return the files that decide what a notebook does: itself, the modules that it
    imports at any depth, and the shipped files that it lists.

    A function of the front desk (`babelatlas.DESK`) stands for its module. What ships is
    listed in the cell of inputs, `data_files`: files and folders of `data/`. Absolute
    paths, sorted; the notebook comes first, as given. Raises InputError for a listed file
    that does not ship.
    """
    code = tuple(cell["source"] for cell in cells(path) if cell["cell_type"] == "code")
    modules = _modules(code, Path(path).name)
    return [Path(path), *sorted({*modules, *data_files(path), *EVERYWHERE})]


@cache
def _modules(code: tuple[str, ...], notebook: str) -> set[Path]:
    """Return the files of the modules that cells of code import, at any depth."""
    tree = ast.Module([], [])
    for cell in code:
        tree.body += _parsed(cell, notebook)
    return _reached(_imported(tree))


def _parsed(code: str, notebook: str) -> list[ast.stmt]:
    """Return the statements of a cell; lines of IPython's own are left out."""
    try:
        return ast.parse(code).body
    except SyntaxError:
        lines = code.splitlines()
        code = "\n".join(line for line in lines if line.lstrip()[:1] not in ("%", "!"))
    try:
        return ast.parse(code).body
    except SyntaxError as error:
        raise InputError(
            f"The code of {notebook} is not valid Python ({error.msg}): correct it."
        ) from error


def data_files(path: str | os.PathLike) -> list[Path]:
    """Return the shipped files that a notebook lists, of folders all files."""
    found = []
    for name in declared(path)["inputs"].get("data_files", []):
        place = DATA / name
        if not place.exists():
            known = [file.relative_to(DATA).as_posix() for file in DATA.rglob("*")]
            raise InputError(
                f"The notebook {Path(path).stem} lists {name!r} among its data_files,"
                f" which does not ship: {near(name, known)}"
            )
        files = place.rglob("*") if place.is_dir() else [place]
        found += [file for file in files if file.is_file()]
    return found


def module_files(name: str) -> list[Path]:
    """Return the files that decide what a module does, sorted: its own, and those of
    all that it imports.
    """
    return sorted(_reached({name}))


def _reached(names: set[str]) -> set[Path]:
    """Return the files of modules, and of all that they need."""
    queue = [file for name in names for file in _files(name)]
    found = set()
    while queue:
        file = queue.pop()
        if file not in found:
            found.add(file)
            queue += _needed(file)
    return found


@cache
def _needed(file: Path) -> list[Path]:
    """Return the files of the modules that a module imports, and those of the folder
    `templates` next to it; a template needs none.
    """
    if file.suffix != ".py":
        return []
    names = _imported(ast.parse(file.read_text(encoding="utf-8")))
    imported = [needed for name in sorted(names) for needed in _files(name)]
    return [*imported, *(file.parent / "templates").glob("*")]


def _imported(tree: ast.Module) -> set[str]:
    """Return the dotted names that code imports, wherever that stands in it.

    A function of the front desk stands for its module.
    """
    names = _asked_at_the_desk(tree)
    for statement in _statements(tree.body):
        if isinstance(statement, ast.ImportFrom) and not statement.level:
            names.add(statement.module)
            names |= {f"{statement.module}.{alias.name}" for alias in statement.names}
        elif isinstance(statement, ast.Import):
            names |= {alias.name for alias in statement.names}
    return names


def _statements(block: list) -> Iterator[ast.AST]:
    """Yield the statements of code, those inside others too; expressions, most of a
    tree, are passed over.
    """
    for statement in block:
        yield statement
        for inner in ("body", "handlers", "orelse", "finalbody", "cases"):
            yield from _statements(getattr(statement, inner, []))


def _asked_at_the_desk(tree: ast.Module) -> set[str]:
    """Return the modules of the functions that code asks of the package itself, as in
    `ba.load` or `from babelatlas import load`.
    """
    imports = [
        statement
        for statement in _statements(tree.body)
        if isinstance(statement, ast.Import | ast.ImportFrom)
    ]
    by_name = {
        alias.name
        for statement in imports
        if isinstance(statement, ast.ImportFrom) and statement.module == "babelatlas"
        for alias in statement.names
    }
    aliases = {
        alias.asname or alias.name
        for statement in imports
        if isinstance(statement, ast.Import)
        for alias in statement.names
        if alias.name == "babelatlas"
    }
    if not aliases:
        return {_module_of(name) for name in by_name & {*DESK}}
    asked = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in aliases
    }
    known = {*DESK, *vars(babelatlas)}
    for name in sorted(asked - known):
        raise InputError(
            f"The front desk, babelatlas, has no {name!r}: {near(name, known)}"
        )
    return {_module_of(name) for name in (asked | by_name) & {*DESK}}


def _module_of(name: str) -> str:
    """Return the module of a function of the front desk."""
    return DESK[name].rpartition(".")[0]


@cache
def _files(name: str) -> list[Path]:
    """Return the file of a module of the study and the __init__ files of its packages;
    [] for any other name.
    """
    parts = name.split(".")
    place = LIBRARY.joinpath(*parts)
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    above = [
        LIBRARY.joinpath(*parts[:depth], "__init__.py")
        for depth in range(1, len(parts))
    ]
    return [*above, file] if file.is_file() else []
