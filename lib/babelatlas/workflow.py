"""What the workflow must know of the notebooks before it runs one: their parameters and the files they depend on.

The Snakefile calls `check_config` before anything else and `sources` for the inputs of every notebook. This module
reads source code only; it imports neither the notebooks nor the modules that they use.
"""

import ast
import os
from pathlib import Path

import nbformat

from babelatlas import InputError, near

LIBRARY = Path(__file__).resolve().parent

# Key of a config -> the kind of value it holds. A key that is not here is one that nothing reads.
KEYS = {
    "run": str,
    "seed": int,
    "models": list,
    "datasets": list,
    "chapters": list,
    "parameters": dict,
}
# Keys that may be left out: folders of models' checkpoints, and repositories whose code may run here.
OPTIONAL = {"checkpoints": dict, "remote_code": list}


def _code(notebook: nbformat.NotebookNode) -> list[str]:
    """Return the code cells as plain Python, without the lines that only IPython understands."""
    cells = [cell.source.splitlines() for cell in notebook.cells if cell.cell_type == "code"]
    return ["\n".join(line for line in lines if not line.lstrip().startswith(("%", "!"))) for lines in cells]


def load(path: str | os.PathLike) -> nbformat.NotebookNode:
    """Return the notebook at `path`. Raises InputError where there is none or it cannot be read."""
    path = Path(path)
    if not path.is_file():
        others = [other.stem for other in path.parent.glob("*.ipynb")]
        raise InputError(f"There is no notebook {path.stem!r} in {path.parent}: {near(path.stem, others)}")
    try:
        return nbformat.read(path, as_version=4)
    except Exception as error:  # nbformat raises several kinds, none of them its own
        raise InputError(
            f"The file {path} cannot be read as a notebook ({error}); restore it from the repository."
        ) from error


def declared(path: str | os.PathLike) -> dict:
    """Return the parameters of a notebook: name -> default, from the cell tagged `parameters`.

    A notebook without such a cell has none. Raises InputError where the cell is not plain Python or a default is not a
    literal (a number, a text, a list of such ...).
    """
    cells = [cell for cell in load(path).cells if "parameters" in cell.metadata.get("tags", [])]
    names = {}
    for cell in cells[:1]:
        try:
            for statement in ast.parse(cell.source).body:
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                names |= {target.id: ast.literal_eval(statement.value) for target in targets}
        except (SyntaxError, ValueError, AttributeError) as error:
            raise InputError(
                f"The parameters cell of {path} should hold lines 'name = value' with plain values only ({error}): "
                "compute in the next cell."
            ) from error
    return names


def placed(value, run: str):
    """Return a default with paths in results/demo, where the notebooks' defaults point, moved to results/<run>.

    >>> placed("results/demo/zeroshot", "full")
    'results/full/zeroshot'
    """
    if isinstance(value, str) and value.split("/")[:2] == ["results", "demo"]:
        return "/".join(["results", run, *value.split("/")[2:]])
    return value


def check_parameters(path: str | os.PathLike, given: dict) -> None:
    """Raise InputError where `given` holds a name that the notebook at `path` does not declare."""
    known = list(declared(path))
    for name in given:
        if name not in known:
            raise InputError(f"The notebook {Path(path).stem} has no parameter {name!r}: {near(name, known)}")


def _imported(code: str, where: str) -> set[str]:
    """Return the names of the library's modules that Python source imports, at any depth of the code."""
    try:
        tree = ast.parse(code)
    except SyntaxError as error:
        raise InputError(f"{where} is not valid Python (line {error.lineno}: {error.msg}): correct it.") from error
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("babelatlas.")}
        elif isinstance(node, ast.ImportFrom) and node.module == "babelatlas":
            names |= {alias.name for alias in node.names if (LIBRARY / f"{alias.name}.py").is_file()}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("babelatlas."):
            names.add(node.module.split(".")[1])
    return names


def sources(path: str | os.PathLike) -> list[Path]:
    """Return the files that decide what a notebook does, sorted: itself, the library's modules it imports, their data.

    Modules are followed through their own imports. A file or folder of `data/` counts where an imported module names
    it. Absolute paths; the notebook itself comes first, as given.
    """
    path = Path(path)
    queue = set().union(*(_imported(code, f"A cell of {path.name}") for code in _code(load(path))), {"__init__"})
    files, texts = set(), ""
    while queue:
        module = LIBRARY / f"{queue.pop()}.py"
        if module not in files and module.is_file():
            files.add(module)
            texts += module.read_text(encoding="utf-8")
            queue |= _imported(module.read_text(encoding="utf-8"), module.name)
    for entry in (LIBRARY / "data").glob("*"):
        if entry.name in texts:
            files |= {entry} if entry.is_file() else {file for file in entry.rglob("*") if file.is_file()}
    return [path, *sorted(files)]


def check_config(config: dict, notebooks: str | os.PathLike) -> dict:
    """Return `config` where every key is read by something and every name in it is known.

    `notebooks` is the folder of the notebooks. Raises InputError, naming the first thing that is wrong: a key that
    nothing reads or that is missing, a value of another kind, a notebook or a parameter that does not exist, a model,
    a data set or a language that is not known.
    """
    for key in config:
        if key not in KEYS | OPTIONAL:
            raise InputError(f"The config has a key {key!r} that nothing reads: {near(key, KEYS | OPTIONAL)}")
    for key, kind in (KEYS | {key: kind for key, kind in OPTIONAL.items() if key in config}).items():
        if not isinstance(config.get(key), kind):
            got = "nothing" if key not in config else repr(config[key])
            raise InputError(f"The config needs {key!r} as {kind.__name__}, got {got}: see config/demo.yml.")
    if not config["run"].replace("-", "").replace("_", "").isalnum():
        raise InputError(
            f"The config's 'run' is the name of a folder, got {config['run']!r}: use letters, digits, - and _."
        )
    folder = Path(notebooks)
    for chapter in config["chapters"]:
        sources(folder / f"{chapter}.ipynb")
    for notebook, given in config["parameters"].items():
        if not isinstance(given, dict):
            raise InputError(f"The config's parameters of {notebook} should be 'name: value' lines, got {given!r}.")
        check_parameters(folder / f"{notebook}.ipynb", given)
        _check_languages(notebook, given)
    _check_names([*config["models"], *config.get("checkpoints", {})], config["datasets"])
    _check_consent(config["models"], config.get("remote_code", []))
    return config


def _check_names(model_names: list[str], dataset_names: list[str]) -> None:
    from babelatlas import datasets, models

    for name in model_names:
        models.entry(name)
    for name in dataset_names:
        datasets.entry(name)


def _check_consent(model_names: list[str], allowed: list[str]) -> None:
    from babelatlas import checkpoints, models

    for entry in map(models.entry, model_names):
        if entry.remote_code:
            own = (one for one in allowed if one.partition("@")[0] == entry.source.repository)
            checkpoints.check_consent(entry, next(own, ""))


def _check_languages(notebook: str, given: dict) -> None:
    from babelatlas import languages

    for name in ("languages", "language", "lang"):
        values = given.get(name, [])
        for code in [values] if isinstance(values, str) else values:
            try:
                languages.canonical(code)
            except InputError as error:
                raise InputError(f"In the config's parameters of {notebook}: {error}") from error
