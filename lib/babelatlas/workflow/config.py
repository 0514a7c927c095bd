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

from babelatlas.base.errors import InputError, near
from babelatlas.workflow.book import TITLE_PAGE

LIBRARY = Path(__file__).resolve().parents[1]
# Key of a config -> the kind of value it holds. A key that is not here is one that nothing reads.
KEYS = {
    "run": str,
    "seed": int,
    "models": list,
    "datasets": list,
    "chapters": list,
    "parameters": dict,
}
# Keys that may be left out: models that translate, and files of scores of some; folders of models' checkpoints, files
# of the user's own models, repositories whose code may run here; where the images and captions of data sets are; data
# sets whose protocols are compared; GPUs to use at once.
OPTIONAL = {
    "translators": list,
    "scores": dict,
    "checkpoints": dict,
    "modules": dict,
    "remote_code": list,
    "images": dict,
    "annotations": dict,
    "protocols": list,
    "gpus": int,
}
# Data sets that notebook 11 draws, and all that a run makes itself.
DRAWN = ("pictograms", "compositions", "pictogram-captions")
MADE = (*DRAWN, "pictogram-pairs")
# Data sets of ambiguous words that notebook 14 finds in lexicons; those of notebook 15 are read from files.
PAIRS = ("pictogram-pairs", "imagenet-1k-pairs", "imagenet-21k-pairs")
# Notebooks whose parameters name sets of prompts, or tables of them, and these parameters.
EVALUATIONS = ("20_zeroshot", "28_protocols")
PROMPTS = ("prompts", "fallback", "other_prompts")
# Endings of files with captions, as their publishers have them.
CAPTIONS = (".json", ".jsonl", ".txt", ".gz", ".zip")
# And the names of CoMMuTE's: src.en, correct.fr, incorrect.fr, img.order.
SENTENCES = re.compile(r"(src|correct|incorrect)\.[a-z-]+|img\.order")
# Data sets with a label set made from lexicons, for which notebook 24 makes others.
SENSES = ("pictograms", "imagenet-1k")
# Kinds of tables that the stages of a run make: folders of results/<run>.
KINDS = (
    *("zeroshot", "retrieval", "protocols", "subsets", "label_sets", "models", "labels"),
    *("tuples", "contexts", "disambiguation", "tokens"),
)


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


# What a value of each kind is called; parameters that may be a list of texts where their default is a text.
WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "'name: value' lines",
}
LISTS = ("images", "fallback")


def check_parameters(path: str | os.PathLike, given: dict) -> None:
    """Raise InputError where `given` holds what the notebook at `path` does not declare, or a value of another kind.

    The kind is that of the default: whole numbers do for numbers, a list is compared by its first element.
    """
    known = declared(path)
    for name, value in given.items():
        if name not in known:
            raise InputError(f"The notebook {Path(path).stem} has no parameter {name!r}: {near(name, known)}")
        default = known[name]
        if name in LISTS and isinstance(value, list) and all(isinstance(one, str) for one in value):
            continue
        pairs = [(default, value, "")]
        if isinstance(default, list) and default and isinstance(value, list):
            pairs += [(default[0], one, " in its list") for one in value]
        for expected, got, where in pairs:
            kind = type(expected)
            fits = isinstance(got, int | float) if kind is float else isinstance(got, kind)
            if not fits or isinstance(got, bool) != (kind is bool):
                raise InputError(
                    f"The parameter {name!r} of the notebook {Path(path).stem} should be {WORDS[kind]}{where}, such as "
                    f"{expected!r}, got {got!r}."
                )


def _parsed(code: str, where: str) -> ast.Module:
    try:
        return ast.parse(code)
    except SyntaxError as error:
        raise InputError(f"{where} is not valid Python (line {error.lineno}: {error.msg}): correct it.") from error


def _aliases(tree: ast.AST) -> dict[str, set[tuple[str, str]]]:
    """Return what Python source imports from the library, at any depth: its name there -> {(module, name in it)}.

    The name in it is "" for the module as a whole.
    """
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "babelatlas":
            module = node.module.partition(".")[2]
            for alias in node.names:
                whole = not module and (LIBRARY / f"{alias.name}.py").is_file()
                one = (alias.name, "") if whole else (module or "__init__", alias.name)
                found.setdefault(alias.asname or alias.name, set()).add(one)
    return found


def _uses(node: ast.AST, aliases: dict, own: dict) -> set[tuple[str, str]]:
    """Return what a piece of code uses: {(module, name in it)}; the module "" is its own.

    A module is used with everything in it ("*") where it is passed on, in place of a name looked up in it, and by
    `import babelatlas.x`, which is how one is imported that does something when it is.
    """
    found, looked_up = set(), set()
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id in aliases:
            looked_up.add(id(part.value))
            found |= {(module, name or part.attr) for module, name in aliases[part.value.id]}
        elif isinstance(part, ast.Name) and id(part) not in looked_up:
            found |= {(module, name or "*") for module, name in aliases.get(part.id, ())}
            found |= {("", part.id)} if part.id in own else set()
        elif isinstance(part, ast.Import):
            names = [alias.name.partition("babelatlas.")[2] for alias in part.names]
            found |= {(name, "*") for name in names if name}
    return found


def _named(node: ast.AST) -> set[str]:
    """Return the paths below `data/` that a piece of code names: DATA / "x.csv", … / "data" / "x", "data/x", "x.csv".

    A word is not enough for a folder: "published" is one of English.
    """
    divisions = [part for part in ast.walk(node) if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div)]
    inner = {id(part.left) for part in divisions}
    paths = {_tail(part) for part in divisions if id(part) not in inner}
    words = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)}
    paths |= {word for word in words if word.startswith("data/") or (Path(word).suffix and "/" not in word)}
    return {path.rpartition("data/")[2].strip("/") for path in paths} - {"", "."}


def _tail(node: ast.AST) -> str:
    """Return the end of a path that is put together with "/", as far as it is plain text; DATA is "data"."""
    if isinstance(node, ast.BinOp):
        right = node.right.value if isinstance(node.right, ast.Constant) else None
        return f"{_tail(node.left)}/{right}" if isinstance(right, str) else _tail(node.left)
    return "data" if isinstance(node, ast.Name) and node.id == "DATA" else ""


def _described(code: ast.Module) -> tuple[dict[str, tuple[set, set, str]], dict[str, set]]:
    """Return the pieces of Python source, and what it imports: name -> {(module, name in it)}.

    A piece is name -> (what it uses, data it names, its text), "" for what always runs. A function, a class or a plain
    assignment counts where it is used; what a program does when it is called from the command line
    (`if __name__ == "__main__"`) does not.
    """
    nodes = {"": []}
    for statement in code.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names = [statement.name]
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names = [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)] or [""]
        elif isinstance(statement, ast.ImportFrom) or ast.unparse(statement).startswith("if __name__"):
            continue
        else:
            names = [""]
        for name in names:
            nodes.setdefault(name, []).append(statement)
    for statement in ast.walk(code):  # explanations name files that the code does not read
        if isinstance(getattr(statement, "body", None), list) and statement.body:
            first = statement.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                first.value.value = ""
    aliases = _aliases(code)
    pieces = {
        name: (
            set().union(*(_uses(node, aliases, nodes) for node in group)),
            set().union(*(_named(node) for node in group)),
            "\n".join(ast.unparse(node) for node in group),
        )
        for name, group in nodes.items()
    }
    return pieces, {name: {(module, one or "*") for module, one in uses} for name, uses in aliases.items()}


@cache
def _module(path: Path, changed: int) -> tuple[dict[str, tuple[set, set, str]], dict[str, set]]:
    """Return the pieces and imports of a module of the library; `changed`: its time, so that a new one is read."""
    return _described(_parsed(path.read_text(encoding="utf-8"), path.name))


def _reached(path: str | os.PathLike) -> tuple[set[Path], set[str], list[str]]:
    """Return what a notebook reaches: the modules of the library, paths below `data/`, and the texts of the pieces."""
    path = Path(path)
    cells = [_parsed(code, f"A cell of {path.name}") for code in _code(load(path))]
    notebook, _ = _described(ast.Module([statement for cell in cells for statement in cell.body], []))
    found, queue, seen = [("", piece) for piece in notebook.values()], {("__init__", "*")}, set()
    for module, (uses, _, _) in found:  # the list grows as it is read
        queue |= {(other or module, name) for other, name in uses}
        while queue:
            module, name = one = queue.pop()
            file = LIBRARY / f"{module}.py"
            if one in seen or not file.is_file():
                continue
            seen.add(one)
            pieces, imports = _module(file, file.stat().st_mtime_ns)
            if name in pieces:
                found.append((module, pieces[name]))
                queue.add((module, ""))
            else:  # from another module; or all, and so does a name that is made in a way that is not seen here
                queue |= imports.get(name) or {(module, other) for other in pieces}
    data = set().union(*(named for _, (_, named, _) in found))
    return {LIBRARY / f"{module}.py" for module, _ in seen}, data, [text for _, (_, _, text) in found]


def sources(path: str | os.PathLike) -> list[Path]:
    """Return the files that decide what a notebook does: itself, the library's modules it uses, their data; sorted.

    A module counts where the notebook uses something of it, or something that uses something of it in turn: not all
    that a module imports is used by each of its functions. A file or folder of `data/` counts where what is used names
    it as a path. Absolute paths; the notebook itself comes first, as given.
    """
    files, named, _ = _reached(path)
    data = LIBRARY / "data"
    for file in data.rglob("*"):
        place = file.relative_to(data)
        if file.is_file() and named & {str(folder) for folder in (place, *place.parents)}:
            files.add(file)
    return [Path(path), *sorted(files)]


def is_table(value, folder: str) -> bool:
    """Return whether a parameter's value is the path of a table in `folder`.

    >>> is_table("results/demo/labels/pictograms.parquet", "results/demo"), is_table("pictograms", "results/demo")
    (True, False)
    """
    return isinstance(value, str) and value.startswith(f"{folder}/") and value.endswith((".parquet", ".csv"))


def reads(path: str | os.PathLike) -> list[str]:
    """Return what a notebook reads in the folder `results` of its run: kinds of tables, or single files; sorted.

    It is taken from the notebook's own code and from what it uses of the library, without what it writes itself:
    f"{results}/zeroshot/{model}_x.parquet" reads the kind "zeroshot", f"{results}/scores/accuracy.parquet" that file,
    and f"{results}/{task}/..." both kinds of evaluations, "zeroshot" and "retrieval".
    A notebook with a parameter `results` that names neither reads all `KINDS`; one without such a parameter nothing.
    """
    parameters = declared(path)
    if not str(parameters.get("results", "")).startswith("results/"):
        return []
    _, _, texts = _reached(path)
    own = {_below(value) for name, value in parameters.items() if name.startswith("output")}
    named = {name for text in texts for name in re.findall(r"\{results\}/([\w./-]+)", text)}
    files = {name for name in named if Path(name).suffix in (".parquet", ".csv", ".json", ".yaml")} - own
    kinds = {name.split("/")[0] for name in named - files} & set(KINDS)
    if any("{results}/{" in text for text in texts):
        kinds |= {"zeroshot", "retrieval"}
    return sorted(files | kinds) or sorted(KINDS)


def _below(value) -> str:
    """Return the place of a path in the folder of its run, "" for any other value.

    >>> _below("results/demo/scores/accuracy.parquet")
    'scores/accuracy.parquet'
    """
    return "/".join(value.split("/")[2:]) if isinstance(value, str) and value.startswith("results/") else ""


def failures(found: dict[str, str]) -> str:
    """Return the list of jobs that failed, for the end of a run.

    `found`: the log of each job -> what Snakemake says of it, shown where the job itself left no sentence
    (`run_notebook.fail` writes it beside the log), because it was killed, say.
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
        if not isinstance(config.get(key), kind) or isinstance(config[key], bool):
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
        _check_prompts(notebook, given)
    for key in ("models", "translators", "datasets", "protocols", "chapters"):
        names = config.get(key, [])
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"The config's {key!r} names {twice!r} twice: leave one out.")
    _check_models(config)
    _check_scores(config)
    _check_datasets(config)
    _check_translators(config)
    _check_chapters(config, folder)
    return config


def check_paths(config: dict) -> None:
    """Raise InputError where a file or folder that a checked config names does not exist on this machine.

    A word without a slash or a point is a name and no path: annotations may be a split's.
    """
    from babelatlas.base import tables

    files = {}
    for name, sets in config.get("scores", {}).items():
        files |= {f"{name} on {dataset}": scored(given)["scores"] for dataset, given in sets.items()}
    found = config | {"scores": files}
    for key in ("images", "annotations", "checkpoints", "modules", "scores"):
        for name, paths in found.get(key, {}).items():
            for path in [paths] if isinstance(paths, str) else paths:
                if re.search(r"[/.]", path) and not tables.locate(path).exists():
                    raise InputError(
                        f"The config's {key} of {name!r} should be at {path}, where nothing is: correct the path, or "
                        f"leave {name!r} out of the config."
                    )


def _check_models(config: dict) -> None:
    from babelatlas.models import registry as models
    from babelatlas.models import translators

    modules = config.get("modules", {})
    for name, file in modules.items():
        if name not in config["models"]:
            raise InputError(
                f"The config's 'modules' names {name!r}, which is not among its models: "
                + (near(name, config["models"]) if config["models"] else "add it there.")
            )
        if not str(file).endswith(".py"):
            raise InputError(f"The config's module of {name!r} should be a Python file (.py), got {file!r}.")
    entries = [models.find(name, modules.get(name, "")) for name in config["models"]]
    for name in config.get("checkpoints", {}):
        if name not in (*config.get("translators", []), *translators.names()):
            models.get_model(name)
    _check_consent(entries, config.get("remote_code", []))


def trained() -> list[str]:
    """Return the names of the translators that a run trains itself."""
    from babelatlas.models import translators

    return [entry.name for entry in translators.TRANSLATORS if entry.embedded]


def _check_translators(config: dict) -> None:
    """Raise InputError for a translator that is not known, or that has nothing to be trained or tested on."""
    from babelatlas.datasets import registry as datasets
    from babelatlas.models import translators

    names, folders = config.get("translators", []), config.get("checkpoints", {}) | config.get("scores", {})
    # Of a user's own, whose folder may be on the machine that is to run it only, there is nothing to look up.
    entries = [translators.get_translator(name) for name in names if name in translators.names() or name not in folders]
    twice = next((name for name in names if name in config["models"]), None)
    if twice is not None:
        raise InputError(f"The config names {twice!r} under 'models' and under 'translators': leave one out.")
    if names and "disambiguation" not in {datasets.get_dataset(name).task for name in config["datasets"]}:
        raise InputError(
            "The config has 'translators', but no data set for disambiguation: add one to its datasets, such as "
            "pictogram-pairs, or leave the translators out."
        )
    own = [name for name in names if name in trained()]
    if own and "pictogram-pairs" not in config["datasets"]:
        raise InputError(
            f"The translator {own[0]!r} is trained on the data set pictogram-pairs, which is not among the "
            "config's datasets: add it there, or leave the translator out."
        )
    _check_consent(entries, config.get("remote_code", []))


def _check_scores(config: dict) -> None:
    """Raise InputError where `scores` is not translator -> data set -> a table, or language -> two files."""
    from babelatlas.base import languages
    from babelatlas.datasets import registry as datasets
    from babelatlas.models import translators

    for name, sets in config.get("scores", {}).items():
        if name not in config.get("translators", []) or name in translators.names():
            why = "is that of a known one" if name in translators.names() else "is not among its translators"
            raise InputError(f"The config gives scores of the translator {name!r}, which {why}: name your own there.")
        for dataset, files in (sets if isinstance(sets, dict) else {"": sets}).items():
            if dataset not in config["datasets"] or datasets.get_dataset(dataset).task != "disambiguation":
                raise InputError(
                    f"The config's scores of {name!r} should be lines 'data set: file' for data sets for "
                    f"disambiguation that are among its datasets, got {dataset or files!r}: see config/full.yml."
                )
            pairs = list(files.items()) if isinstance(files, dict) else []
            for lang, pair in pairs:
                languages.canonical(str(lang))
                if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(file, str) for file in pair)):
                    pairs = []
            if not isinstance(files, str) and not pairs:
                raise InputError(
                    f"The config's scores of {name!r} on {dataset!r} should be a table, or languages, each with the "
                    f"files of its correct and of its incorrect translations, got {files!r}: see config/full.yml."
                )


def scored(files: str | dict[str, list[str]]) -> dict:
    """Return the parameters of notebook 23 that stand for an entry of the config's `scores`.

    >>> scored("own.parquet"), scored({"fr": ["right.txt", "wrong.txt"]})
    ({'scores': ['own.parquet']}, {'scores': ['right.txt', 'wrong.txt'], 'scores_lang': 'fr'})
    """
    if isinstance(files, str):
        return {"scores": [files]}
    return {"scores": [file for pair in files.values() for file in pair], "scores_lang": " ".join(files)}


def _check_datasets(config: dict) -> None:
    from babelatlas.datasets import registry as datasets

    for name in config["datasets"]:
        datasets.get_dataset(name)
    for name in config.get("protocols", []):
        if name not in config["datasets"]:
            raise InputError(
                f"The config's 'protocols' names {name!r}, which is not among its datasets: "
                f"{near(name, config['datasets'])}"
            )
        if datasets.get_dataset(name).task == "disambiguation":
            raise InputError(
                f"The config's 'protocols' names {name!r}, which is for disambiguation: protocols are compared on data "
                "sets to classify and to retrieve; leave it out there."
            )
    for key in ("images", "annotations"):
        for name, paths in config.get(key, {}).items():
            task = datasets.get_dataset(name).task
            texts = task == "retrieval" or (task == "disambiguation" and name not in PAIRS)
            if name in MADE or (key == "annotations" and not texts):
                why = "the run makes them itself" if name in MADE else f"{task} has none"
                why = "they are made from lexicons" if name in PAIRS and name not in MADE else why
                raise InputError(f"The config gives {key} of {name!r}, but {why}: leave them out.")
            several = key == "images" and task == "retrieval"
            if isinstance(paths, list) and several and paths and all(isinstance(path, str) for path in paths):
                continue
            if not isinstance(paths, str):
                expected = "a path or a list of paths" if several else "one path"
                raise InputError(f"The config's {key} of {name!r} should be {expected}, got {paths!r}: give it so.")
    for name in config["datasets"]:
        entry, given = datasets.get_dataset(name), config["parameters"].get(reader(name), {})
        where = f" (get them from {entry.url})" if entry.url else ""
        if name not in MADE and name not in config.get("images", {}) and "images" not in given:
            raise InputError(
                f"The data set {name!r} needs images{where}: name their folder under 'images' in the config, as in "
                f"images: {{{name}: /data/{name}}}."
            )
        listed = name in config.get("annotations", {}) or "annotations" in given
        if entry.task == "disambiguation" and name not in PAIRS and not listed:
            raise InputError(
                f"The data set {name!r} needs its texts{where}: name their folder under 'annotations' in the config, "
                f"as in annotations: {{{name}: /data/{name}}}."
            )


def reader(dataset: str) -> str:
    """Return the notebook that reads or makes a data set's images.

    >>> reader("imagenet-1k-pairs")
    '14_pairs'
    """
    from babelatlas.datasets import registry as datasets

    if dataset in PAIRS:
        return "14_pairs"
    notebooks = {"zero-shot": "20_zeroshot", "retrieval": "21_retrieval", "disambiguation": "15_commute"}
    return notebooks[datasets.get_dataset(dataset).task]


def _check_chapters(config: dict, notebooks: Path) -> None:
    """Raise InputError where a chapter reads tables that no stage of this run, or no other chapter, makes.

    And where the title page is missing, without which the book cannot be rendered when all else is done.
    """
    from babelatlas.datasets import registry as datasets
    from babelatlas.models import registry as models

    tasks = {datasets.get_dataset(name).task for name in config["datasets"]}
    made = {
        "labels",
        *(["protocols"] if config.get("protocols") else []),
        *(["retrieval"] if "retrieval" in tasks else []),
    }
    made |= {"zeroshot", "subsets"} if "zero-shot" in tasks else set()
    made |= {"label_sets"} if set(SENSES) & set(config["datasets"]) else set()
    listed = {model.name for model in models.MODELS if model.embedded} & set(config["models"])
    made |= {"models"} if listed else set()
    if "disambiguation" in tasks:
        made |= {"tuples", "contexts", *(["tokens"] if config.get("translators") else [])}
        made |= {"disambiguation"} if config["models"] or config.get("translators") else set()
    written = tables_of(config, notebooks)
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
                    f"The chapter {chapter} reads {name}, which no chapter of this config writes: add "
                    f"{_writer(name, notebooks)} to its chapters, or leave {chapter} out."
                )
    if TITLE_PAGE not in config["chapters"]:
        raise InputError(f"The book has no title page: add {TITLE_PAGE} to the config's chapters.")


def tables_of(config: dict, notebooks: str | os.PathLike) -> set[str]:
    """Return the tables that the chapters of a config write, as places in the folder of the run."""
    values = [
        declared(Path(notebooks) / f"{chapter}.ipynb") | config["parameters"].get(chapter, {})
        for chapter in config["chapters"]
    ]
    return {_below(value) for each in values for name, value in each.items() if name.startswith("output")} - {""}


def is_missing(name: str, default, written: set[str]) -> bool:
    """Return whether a parameter's default is a table of scores that no chapter of this run writes.

    A chapter that can do without such a table takes its path as a parameter, "" for none, in place of reading it from
    the folder `results`.

    >>> is_missing("accuracy", "results/demo/scores/accuracy.parquet", set())
    True
    """
    return not name.startswith("output") and _below(default).startswith("scores/") and _below(default) not in written


def _writer(table: str, notebooks: Path) -> str:
    """Return the name of the notebook whose default is to write a table, or words for it."""
    one = {"parameters": {}}
    found = [
        path.stem
        for path in notebooks.glob("*.ipynb")
        if table in tables_of(one | {"chapters": [path.stem]}, notebooks)
    ]
    return min(found, default="the one that does")


def _check_consent(entries: list, allowed: list[str]) -> None:
    from babelatlas.models import hub

    for entry in entries:
        if entry.remote_code:
            own = (one for one in allowed if one.partition("@")[0] == entry.source.repository)
            hub.check_consent(entry, next(own, ""))


def _check_prompts(notebook: str, given: dict) -> None:
    """Raise InputError for prompts of an evaluation that are neither a known set nor the name of a table."""
    from babelatlas.lexicon import prompts

    if notebook not in EVALUATIONS:
        return
    for key in PROMPTS:
        names = given.get(key, [])
        for name in [names] if isinstance(names, str) else names:
            if name and name not in prompts.NAMES and not prompts.is_file(name):
                raise InputError(
                    f"In the config's parameters of {notebook}, {key!r} names the prompts {name!r}, which there are "
                    f"not: {near(name, prompts.NAMES)}"
                )


def templates(notebook: str, parameters: dict) -> list[str]:
    """Return the files of prompt templates among the parameters of an evaluation: all that may be read.

    >>> templates("20_zeroshot", {"prompts": "label", "fallback": ["own/de.parquet", "label"]})
    ['own/de.parquet']
    """
    values = [parameters.get(key) or [] for key in PROMPTS if notebook in EVALUATIONS]
    names = [name for value in values for name in ([value] if isinstance(value, str) else value)]
    return [name for name in dict.fromkeys(names) if name.endswith((".parquet", ".csv"))]


@cache
def annotations(path: str) -> list[str]:
    """Return the files of captions or sentences that a config's path stands for, none for a name.

    A file is that file, a folder those below it. Of files below the folder of the study the paths are relative to it.
    """
    from babelatlas.base import tables

    place, root = tables.locate(path), tables.root()
    files = [place]
    if place.is_dir():
        files = sorted(file for file in place.rglob("*") if file.suffix in CAPTIONS or SENTENCES.fullmatch(file.name))
        files = [file for file in files if file.name[0] != "."]
    files = [file for file in files if path and file.is_file()]
    return [str(file.relative_to(root) if file.is_relative_to(root) else file) for file in files]


def _check_languages(notebook: str, given: dict) -> None:
    from babelatlas.base import languages

    for name in ("languages", "language", "lang"):
        values = given.get(name, [])
        for code in [values] if isinstance(values, str) else values:
            try:
                languages.canonical(code)
            except InputError as error:
                raise InputError(f"In the config's parameters of {notebook}: {error}") from error
