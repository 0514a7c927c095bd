"""What the workflow must know of the notebooks before it runs one: their parameters and the files they depend on.

The Snakefile calls `check_config` before anything else and `sources` for the inputs of every notebook. This module
reads source code only; it imports neither the notebooks nor the modules that they use.
"""

import ast
import os
import re
from functools import cache
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
# Keys that may be left out: folders of models' checkpoints, files of the user's own models, repositories whose code may
# run here; where the images and captions of data sets are; data sets whose protocols are compared; GPUs to use at once.
OPTIONAL = {
    "checkpoints": dict,
    "modules": dict,
    "remote_code": list,
    "images": dict,
    "annotations": dict,
    "protocols": list,
    "gpus": int,
}
# Data sets that a run makes itself.
DRAWN = ("pictograms", "compositions", "pictogram-captions")
# Kinds of tables that the stages of a run make: folders of results/<run>.
KINDS = ("zeroshot", "retrieval", "protocols", "subsets", "models", "labels")


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


@cache
def _module(path: Path, changed: int) -> tuple[str, frozenset[str]]:
    """Return the text of one of the library's modules and the names of those it imports; `changed`: its time."""
    text = path.read_text(encoding="utf-8")
    return text, frozenset(_imported(text, path.name))


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
            text, names = _module(module, module.stat().st_mtime_ns)
            texts += text
            queue |= names
    for entry in (LIBRARY / "data").glob("*"):
        if entry.name in texts:
            files |= {entry} if entry.is_file() else {file for file in entry.rglob("*") if file.is_file()}
    return [path, *sorted(files)]


def is_table(value, folder: str) -> bool:
    """Return whether a parameter's value is the path of a table in `folder`.

    >>> is_table("results/demo/labels/pictograms.parquet", "results/demo"), is_table("pictograms", "results/demo")
    (True, False)
    """
    return isinstance(value, str) and value.startswith(f"{folder}/") and value.endswith((".parquet", ".csv"))


def reads(path: str | os.PathLike) -> list[str]:
    """Return what a notebook reads in the folder `results` of its run: kinds of tables, or single files; sorted.

    It is taken from the notebook's own code and from that of the library's modules which it imports itself:
    f"{results}/zeroshot/{model}_x.parquet" reads the kind "zeroshot", f"{results}/scores/accuracy.parquet" that file,
    and f"{results}/{task}/..." both kinds of evaluations, "zeroshot" and "retrieval".
    A notebook with a parameter `results` that names neither reads all `KINDS`; one without such a parameter nothing.
    """
    path = Path(path)
    if not str(declared(path).get("results", "")).startswith("results/"):
        return []
    cells = _code(load(path))
    modules = [LIBRARY / f"{name}.py" for code in cells for name in _imported(code, f"A cell of {path.name}")]
    texts = [*cells, *(module.read_text(encoding="utf-8") for module in modules)]
    named = {name for text in texts for name in re.findall(r"\{results\}/([\w./-]+)", text)}
    files = {name for name in named if Path(name).suffix in (".parquet", ".csv", ".json", ".yaml")}
    kinds = {name.split("/")[0] for name in named - files} & set(KINDS)
    if any("{results}/{" in text for text in texts):
        kinds |= {"zeroshot", "retrieval"}
    return sorted(files | kinds) or sorted(KINDS)


def failures(found: dict[str, str]) -> str:
    """Return the list of jobs that failed, for the end of a run.

    `found`: the log of each job -> what Snakemake says of it, shown where the job itself left no sentence
    (`execute.fail` writes it beside the log), because it was killed, say.
    """
    lines = []
    for log, message in found.items():
        note = Path(log).with_suffix(".failed")
        died = f"{Path(log).stem}: it ended without a word: it was killed, or memory or time ran out. {message}"
        lines += ["", note.read_text(encoding="utf-8").strip() if note.is_file() else died.strip(), f"  log: {log}"]
    jobs = "One job failed" if len(found) == 1 else f"{len(found)} jobs failed"
    return "\n".join([f"\n{jobs}; what does not need {'it' if len(found) == 1 else 'them'} is done.", *lines])


def check_config(config: dict, notebooks: str | os.PathLike) -> dict:
    """Return `config` where every key is read by something and every name in it is known.

    `notebooks` is the folder of the notebooks. Raises InputError, naming the first thing that is wrong: a key that
    nothing reads or that is missing, a value of another kind, a notebook or a parameter that does not exist, a model,
    a data set or a language that is not known, images that are not named, a chapter whose tables the run does not make.
    """
    for key in config:
        if key not in KEYS | OPTIONAL:
            raise InputError(f"The config has a key {key!r} that nothing reads: {near(key, KEYS | OPTIONAL)}")
    for key, kind in (KEYS | {key: kind for key, kind in OPTIONAL.items() if key in config}).items():
        if not isinstance(config.get(key), kind):
            got = "nothing" if key not in config else repr(config[key])
            raise InputError(f"The config needs {key!r} as {kind.__name__}, got {got}: see config/demo.yml.")
    if config.get("gpus", 1) < 1:
        raise InputError(f"The config's 'gpus' is how many to use at once, got {config['gpus']}: leave it out for all.")
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
    _check_models(config)
    _check_datasets(config)
    _check_chapters(config, folder)
    return config


def check_paths(config: dict) -> None:
    """Raise InputError where a file or folder that a checked config names does not exist on this machine.

    A word without a slash or a point is a name and no path: annotations may be a split's.
    """
    from babelatlas import tables

    for key in ("images", "annotations", "checkpoints", "modules"):
        for name, paths in config.get(key, {}).items():
            for path in [paths] if isinstance(paths, str) else paths:
                if re.search(r"[/.]", path) and not tables.locate(path).exists():
                    raise InputError(
                        f"The config's {key} of {name!r} should be at {path}, where nothing is: correct the path, or "
                        f"leave {name!r} out of the config."
                    )


def _check_models(config: dict) -> None:
    from babelatlas import models

    modules = config.get("modules", {})
    for name, file in modules.items():
        if name not in config["models"]:
            raise InputError(
                f"The config's 'modules' names {name!r}, which is not among its models: {near(name, config['models'])}"
            )
        if not str(file).endswith(".py"):
            raise InputError(f"The config's module of {name!r} should be a Python file (.py), got {file!r}.")
    entries = [models.find(name, modules.get(name, "")) for name in config["models"]]
    for name in config.get("checkpoints", {}):
        models.entry(name)
    _check_consent(entries, config.get("remote_code", []))


def _check_datasets(config: dict) -> None:
    from babelatlas import datasets

    for name in config["datasets"]:
        datasets.entry(name)
    for name in config.get("protocols", []):
        if name not in config["datasets"]:
            raise InputError(
                f"The config's 'protocols' names {name!r}, which is not among its datasets: "
                f"{near(name, config['datasets'])}"
            )
    for key in ("images", "annotations"):
        for name, paths in config.get(key, {}).items():
            task = datasets.entry(name).task
            if name in DRAWN or (key == "annotations" and task != "retrieval"):
                why = "the run makes them itself" if name in DRAWN else f"{task} has none"
                raise InputError(f"The config gives {key} of {name!r}, but {why}: leave them out.")
            if not isinstance(paths, str) and not (isinstance(paths, list) and all(isinstance(p, str) for p in paths)):
                raise InputError(f"The config's {key} of {name!r} should be a path or a list of paths, got {paths!r}.")
    for name in config["datasets"]:
        entry = datasets.entry(name)
        notebook = "20_zeroshot" if entry.task == "zero-shot" else "21_retrieval"
        named = name in config.get("images", {}) or "images" in config["parameters"].get(notebook, {})
        if name not in DRAWN and not named:
            where = f" (get them from {entry.url})" if entry.url else ""
            raise InputError(
                f"The data set {name!r} needs images{where}: name their folder under 'images' in the config, as in "
                f"images: {{{name}: /data/{name}}}."
            )


def _check_chapters(config: dict, notebooks: Path) -> None:
    """Raise InputError where a chapter reads tables that no stage of this run, or no other chapter, makes."""
    from babelatlas import datasets, models

    tasks = {datasets.entry(name).task for name in config["datasets"]}
    made = {
        "labels",
        *(["protocols"] if config.get("protocols") else []),
        *(["retrieval"] if "retrieval" in tasks else []),
    }
    made |= {"zeroshot", "subsets"} if "zero-shot" in tasks else set()
    listed = {model.name for model in models.MODELS if model.embedded} & set(config["models"])
    made |= {"models"} if listed else set()
    written = {
        "/".join(value.split("/")[2:])
        for chapter in config["chapters"]
        for name, value in declared(notebooks / f"{chapter}.ipynb").items()
        if name.startswith("output")
    }
    for chapter in config["chapters"]:
        needs = reads(notebooks / f"{chapter}.ipynb")
        kinds = [name for name in needs if name in KINDS]
        if kinds and not set(kinds) & made:
            raise InputError(
                f"The chapter {chapter} reads {' and '.join(kinds)}, which this run does not make: add a data set or "
                "'protocols' that do to the config, or leave the chapter out."
            )
        for name in needs:
            if name.startswith("scores/") and name not in written:
                raise InputError(
                    f"The chapter {chapter} reads {name}, which no chapter of this config writes: add the one that "
                    "does."
                )


def _check_consent(entries: list, allowed: list[str]) -> None:
    from babelatlas import checkpoints

    for entry in entries:
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
