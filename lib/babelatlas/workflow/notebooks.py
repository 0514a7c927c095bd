"""What the workflow must know of a notebook before it runs one: its inputs, outputs and parameters, and its sources.

A notebook names them once, in three cells of plain assignments that carry the tags `inputs`, `outputs` and
`parameters`; the workflow gives their values. Nothing is executed here: a notebook depends on the modules that it
imports, on those that they import, and on the data files that these name.
"""

import ast
import importlib
import json
import math
import os
import re
from functools import cache
from pathlib import Path

from babelatlas.base import languages, partial
from babelatlas.base.errors import InputError, near, shown
from babelatlas.base.paths import DATA, locate, root
from babelatlas.base.yaml_files import check_plain, quoted

LIBRARY = DATA.parent
TAGS = ("inputs", "outputs", "parameters")
# The module of all tables, which the package imports when it is asked for one, and the names that ask.
CATALOGUE = "babelatlas.workflow.catalogue"
DOORS = {"babelatlas", "babelatlas.load", "babelatlas.describe"}
# Where a notebook reads and writes unless it is told otherwise: a run by hand leaves the tables of runs alone.
READ_FROM, WRITE_TO = "results/demo", "results/scratch"

# What a value of each kind is called; parameters that may be a list of texts where their default is a text.
WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", list: "a list"}
WORDS[dict] = "'name: value' lines"
LISTS = ("images", "fallback_prompts")
# A parameter that is a whole number, or "" for none: how many items an evaluation is limited to.
LIMIT = "limit"
# Names of numbers -> the least and the largest that they may be; the first that fits counts. A default always fits.
MOST = 10_000_000
RANGES = {
    r"(\w+_)?seeds?": (0, 2**32 - 1),
    r"n_resamples|(n_)?permutations|n_draws": (1, 1_000_000),
    r"level": (0.5, 0.999),
    r"threshold|close|least_recall|least_above|coloured|frequent|utilisation|shares|fractions": (0, 1),
    r"temperatures": (0.001, 1000),
    r"minimum_percent": (0, 100),
    r"size": (1, 4096),
    # 0 takes all, or sets no limit.
    r"minimum_\w+|missing|n_texts|n_rated|images_per_language|save_seconds": (0, MOST),
    r"steps|rate|alpha|(\w+_)?noise|tolerance": (0, MOST),
    r"n_\w+|images_per_\w+|sizes(_slow)?|budgets|epochs|batch_size|reduction|rank|k|neighbours": (1, MOST),
    r"fixed|shown(_\w+)?": (1, MOST),
    r"most_\w+|many|few|worlds|drawings|window|top|limit|least|fewest|least_families|labelled|people_each": (1, MOST),
}
# Lists that may not be empty, and those whose values are languages, as are those of the groups in a mapping.
FILLED = r"(\w+_)?seeds|sizes(_slow)?|budgets|temperatures|objectives|metrics|classes|sources|answers|boards"
LANGUAGES = ("languages", "language", "lang", "nllb_fallback_language", "tiers", "high", "mid", "low", "parallel")
# Settings of the protocol (`protocol.SETTINGS`), and devices as torch calls them.
SETTINGS = ("similarity", "precision", "preprocessing")
# Names of files of published numbers.
PUBLISHED = ("source", "results", "prompts")
DEVICE = "auto|cpu|cuda(:[0-9]+)?|mps"
# Parameters that are one or some of the words that the library lists, and where; with a notebook, of that one alone.
CHOICES = {
    "09_senses sources": "lexicon.senses.SOURCES",
    "09_senses missing": "lexicon.wikidata.MISSING",
    "10_labels rules": "lexicon.cleaning.STEPS",
    "10_labels english": "lexicon.labels.ENGLISH_WORDS",
    "10_labels choice": "lexicon.labels.CHOICES",
    "18_projections method": "stats.projections.METHODS",
    "21_retrieval choice": "datasets.captions.CHOICES",
    "26_reasoning method": "evaluation.reasoning.METHODS",
    "english_names": "lexicon.labels.ENGLISH_NAMES",
    "clashes": "lexicon.labels.CLASHES",
    "identical": "datasets.commute.IDENTICAL",
    "other_texts": "evaluation.external_scores.OTHER_TEXTS",
    "turns": "datasets.selection.TURNS",
    "ambiguous": "evaluation.disambiguation.AMBIGUOUS",
    "tokens": "analysis.coverage.TOKENS",
    "tokenization": "evaluation.captioning.TOKENIZATIONS",
    "49_captioning metric": "evaluation.captioning.METRICS",
    "metrics": "evaluation.captioning.METRICS",
}


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
        _check_value(Path(path).stem, name, known[name], value)
    _check_outputs(path, given)


def check_by_hand(path: str | os.PathLike, given: dict) -> None:
    """Raise InputError for what `check_parameters` refuses, and for no models at all, which only a run may give."""
    check_parameters(path, given)
    if given.get("models") == []:
        raise InputError(f"The parameter 'models' of the notebook {Path(path).stem} is an empty list: give some.")


def _check_outputs(path: str | os.PathLike, given: dict) -> None:
    """Raise InputError where a file to write is given as a folder, or with another ending: known before the work."""
    for name, default in declared(path)["outputs"].items():
        value, ending = given.get(name), Path(default).suffix
        if value and ending and (Path(value).suffix != ending or locate(value).is_dir()):
            raise InputError(
                f"The output {name!r} of the notebook {Path(path).stem} is a file, got {value!r}: give a path that "
                f"ends in {ending}."
            )


def _check_value(notebook: str, name: str, default, value) -> None:
    """Raise InputError where `value` cannot be that of the parameter `name` of a notebook, whose default is `default`.

    The kind is that of the default: whole numbers do for numbers, a list is compared by its first element.
    """
    said = f"The parameter {name!r} of the notebook {notebook}"
    if name == LIMIT and default == "":
        partial.check(value)
        return
    check_plain(value, f"{notebook}: {name}", lines=True)
    if name in LANGUAGES:
        _check_languages(said, value)
    parts = value.values() if isinstance(value, dict) and isinstance(default, dict) else [value]
    if name not in LISTS or not any(map(_is_texts, parts)):
        _check_kind(said, default, value)
    if isinstance(value, list):
        if not value and re.fullmatch(FILLED, name):
            raise InputError(f"{said} is an empty list: give at least one value, as in {shown(default)}.")
        twice = next((one for place, one in enumerate(value) if one in value[:place]), None)
        if twice is not None and (name in (*LANGUAGES, "models") or re.fullmatch(FILLED, name)):
            raise InputError(f"{said} has {shown(twice)} twice: leave one out.")
    _check_range(said, name, default, value)
    if name == "device" and not re.fullmatch(DEVICE, value):
        raise InputError(f"{said} is {value!r}, which is no device: give auto, cpu, cuda, cuda:N or mps.")
    if name in SETTINGS or name == "preset":
        _check_protocol(said, name, value)
    _check_choice(notebook, said, name, default, value)
    papers = {file.stem for file in (DATA / "published").glob("*.csv")} if name in PUBLISHED else ()
    if isinstance(default, str) and default in papers and value not in papers:
        raise InputError(f"{said} is {value!r}, of which no numbers ship: {near(value, papers)}")


def _is_texts(value) -> bool:
    """Return whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _check_kind(said: str, default, value) -> None:
    pairs = [(default, value, "")]
    if isinstance(default, list) and isinstance(value, list):
        pairs += [((default or [""])[0], one, " in its list") for one in value]
    if isinstance(default, dict) and default and isinstance(value, dict):
        pairs += [(next(iter(default.values())), one, " in its lines") for one in value.values()]
    for expected, got, where in pairs:
        kind = type(expected)
        fits = isinstance(got, int | float) if kind is float else isinstance(got, kind)
        if not fits or isinstance(got, bool) != (kind is bool):
            raise InputError(
                f"{said} should be {WORDS[kind]}{where}, such as {shown(expected)}, got {shown(got)}: correct it."
            )


def _numbers(value) -> list[int | float]:
    """Return the numbers in a value: itself, or those in a list or mapping, at any depth."""
    if isinstance(value, list | dict):
        return [one for part in (value.values() if isinstance(value, dict) else value) for one in _numbers(part)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


def _check_range(said: str, name: str, default, value) -> None:
    """Raise InputError for a number that is out of the range that its name has."""
    bounds = next((bounds for names, bounds in RANGES.items() if re.fullmatch(names, name)), (-math.inf, math.inf))
    least, most = min([bounds[0], *_numbers(default)]), max([bounds[1], *_numbers(default)])
    for number in _numbers(value):
        if not least <= number <= most:
            raise InputError(f"{said} should be from {least:,} to {most:,}, got {shown(number)}: correct it.")


def _check_languages(said: str, value) -> None:
    """Raise InputError for what is no language among the values of a parameter, and for one that is there twice."""
    if value == "":  # stands for none
        return
    parts = value.values() if isinstance(value, dict) else [value]
    codes = [one for part in parts for one in (part if isinstance(part, list) else [part])]
    known = []
    for code in codes:
        if not isinstance(code, str):
            raise InputError(f"{said} has {shown(code)} among its languages, which is no text: {quoted(code)}")
        try:
            known.append(languages.canonical(code))
        except InputError as error:
            raise InputError(f"{said} cannot be used: {error}") from error
        if known[-1] in known[:-1]:
            raise InputError(f"{said} has the language {known[-1]!r} twice, again as {code!r}: leave one out.")


def _check_protocol(said: str, name: str, value: str) -> None:
    from babelatlas.evaluation import protocol  # slow to import

    known = protocol.PRESETS if name == "preset" else protocol.SETTINGS[name]
    if value not in ("", *known):
        raise InputError(f"{said} is {value!r}, which there is not: {near(value, known)}")


def _check_choice(notebook: str, said: str, name: str, default, value) -> None:
    """Raise InputError for a word that is none of those that a parameter may be, by `CHOICES`; a default always is."""
    place = CHOICES.get(f"{notebook} {name}") or CHOICES.get(name)
    if place and value != default:
        module, _, constant = place.rpartition(".")
        known = [*getattr(importlib.import_module(f"babelatlas.{module}"), constant)]
        unknown = [one for one in ([value] if isinstance(value, str) else value) if one not in known]
        if unknown and value not in ("", ["all"]):
            raise InputError(f"{said} has {shown(unknown[0])}, which there is not: {near(str(unknown[0]), known)}")


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
