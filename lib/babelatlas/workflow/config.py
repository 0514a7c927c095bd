"""The config of a run: checked before anything runs, so that what is misspelt or missing stops it in one sentence.

`config/schema.yaml` says which keys there are and what kind of value each holds; the functions here look up the names
in them: models, data sets, notebooks and their parameters, languages, prompts, files.
"""

import json
import os
import re
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import yaml

from babelatlas.base import languages, synsets, tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import check_writable
from babelatlas.datasets import registry as datasets
from babelatlas.lexicon import prompts
from babelatlas.models import hub, translators
from babelatlas.models import registry as models
from babelatlas.workflow import notebooks
from babelatlas.workflow.plan import CLASSES, EVALUATIONS, PROMPTS, Plan, scored, templates

TITLE_PAGE = "00_summary"
AHEAD = 60  # seconds that clocks of two machines may differ
SCHEMA = Path("config") / "schema.yaml"
# The keys whose values are files or folders, one for each name.
PATHS = ("images", "annotations", "checkpoints", "custom_models", "external_scores", "words", "classes")
PATHS += ("verified_labels", "custom_datasets", "templates")
# What a value of each kind is called in a message.
KINDS = {"string": "str", "integer": "int", "array": "list", "object": "dict"}


class _OneOfEach(yaml.SafeLoader):
    """YAML in which a key that occurs twice is an error and not the last of both."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for place, key in enumerate(keys):
            if key in keys[:place]:
                line = node.value[place][0].start_mark.line + 1
                raise InputError(f"The config has the key {key!r} twice, again in line {line}: keep one of them.")
        return super().construct_mapping(node, deep)


def read(path: str | os.PathLike) -> dict:
    """Return a config file; InputError where it is missing, no YAML of 'key: value' lines, or has a key twice."""
    path = Path(path)
    if not path.is_file():
        known = sorted(str(other) for other in path.parent.glob("*.yml"))
        raise InputError(f"There is no config file {path}: {near(str(path), known)}")
    try:
        found = yaml.load(path.read_text(encoding="utf-8"), Loader=_OneOfEach)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"The config {path} cannot be read as YAML ({reason}): see config/demo.yml.") from error
    if not isinstance(found or {}, dict):
        raise InputError(f"The config {path} should hold 'key: value' lines: see config/demo.yml.")
    return found or {}


@cache
def schema(project: Path) -> dict:
    """Return the schema of configs, from `project`/config/schema.yaml."""
    return yaml.safe_load((project / SCHEMA).read_text(encoding="utf-8"))


def check_config(config: dict, project: str | os.PathLike) -> Plan:
    """Return the plan of a config in which every key is read by something and every name is known.

    `project` is the folder with notebooks/ and config/schema.yaml. Raises InputError, naming the first thing that is
    wrong: a key that nothing reads or that is missing, a value of another kind, a notebook, parameter, model, data set
    or language that is not known, a parameter without effect, images that are not named, a chapter whose tables the run
    does not make or that the contents lack.
    """
    project = Path(project)
    _check_schema(config, schema(project))
    _announce(config.get("custom_datasets", {}))
    folder = project / "notebooks"
    for chapter in config["chapters"]:
        notebooks.sources(notebooks.find(folder, chapter))
    for notebook, given in config["parameters"].items():
        notebooks.check_parameters(notebooks.find(folder, notebook), given)
        _check_values(notebook, given)
    _check_own(config)
    _check_models(config)
    _check_adaptations(config)
    _check_scores(config)
    _check_datasets(config)
    _check_translators(config)
    plan = Plan(config, project)
    plan.check_given()
    _check_chapters(plan)
    return plan


def _check_schema(config: dict, schema: dict) -> None:
    """Raise InputError where a config does not fit its schema."""
    from jsonschema import Draft202012Validator

    known = schema["properties"]
    for key in config:
        if key not in known:
            raise InputError(f"The config has a key {key!r} that nothing reads: {near(str(key), known)}")
    for error in sorted(Draft202012Validator(schema).iter_errors(config), key=lambda error: list(error.path)):
        key = error.path[0] if error.path else re.match("'(.*)' is a required", error.message)[1]
        kind = KINDS.get(known[key].get("type", "object" if "paths" in str(known[key]) else "array"))
        if not error.path or (len(error.path) == 1 and error.validator == "type"):
            got = "nothing" if key not in config else repr(config[key])
            raise InputError(f"The config needs {key!r} as {kind}, got {got}: see config/demo.yml.")
        said = {
            "gpus": f"is how many to use at once, got {config.get('gpus')}: leave it out for all.",
            "limit": f"is how many images of a class, queries or items are evaluated, got {config.get('limit')}: give "
            "1 or more, or leave it out for all.",
            "run": f"is the name of a folder, got {config.get('run')!r}: use letters, digits, - and _.",
        }
        if key in said:
            raise InputError(f"The config's {key!r} {said[key]}")
        if error.validator == "uniqueItems":
            twice = next(name for name in config[key] if config[key].count(name) > 1)
            raise InputError(f"The config's {key!r} names {twice!r} twice: leave one out.")
        if key == "parameters":
            name = error.path[1]
            raise InputError(
                f"The config's parameters of {name} should be 'name: value' lines, got {config[key][name]!r}."
            )
        if key in ("images", "annotations", "external_scores") and len(error.path) > 1:
            continue  # said in terms of the data set below
        where = " of ".join(repr(one) for one in reversed(list(error.path)[1:]))
        raise InputError(
            f"The config's {key} of {where} should be a text, got {error.instance!r}: see config/full.yml."
        )


def _announce(described: dict) -> None:
    """Let the registry of data sets know the config's own, here and in all jobs; InputError for one that is wrong."""
    for name, description in described.items():
        datasets.custom(name, description)
    os.environ.pop(datasets.CUSTOM, None)
    if described:
        os.environ[datasets.CUSTOM] = json.dumps(described)


def _check_own(config: dict) -> None:
    """Raise InputError for words, class lists or verified labels of the user's own that no label set can be made of."""
    for name in config.get("classes", {}):
        if name in (*CLASSES, *synsets.CLASS_LISTS, *synsets.FURTHER_LISTS):
            raise InputError(
                f"The config's 'classes' names {name!r}, a list that the study has: give yours another name."
            )
    for name in config.get("verified_labels", {}):
        known = [*CLASSES, *config.get("classes", {})]
        if name not in known:
            raise InputError(f"The config's 'verified_labels' names the class list {name!r}: {near(name, known)}")


def check_paths(config: dict, run: str = "") -> None:
    """Raise InputError where a path that a checked config names is not there, or a model's terms are not accepted.

    A word without / or . is no path. `run`: the folder of the run, which is made ready for it; "" for a dry run.
    """
    if run:
        for folder in (run, f"{run}/logs", f"{run}/notebooks"):
            check_writable(folder)
        _settle_times(Path(run))
    files = {}
    for name, sets in config.get("external_scores", {}).items():
        files |= {f"{name} on {dataset}": scored(given)["scores"] for dataset, given in sets.items()}
    own = {name: given.get("images", "") for name, given in config.get("custom_datasets", {}).items()}
    given = config.get("parameters", {})
    own_prompts = {path: path for name in EVALUATIONS for path in templates(name, given.get(name, {}))}
    found = config | {"external_scores": files, "custom_datasets": own, "templates": own_prompts}
    found["words"] = {path: path for path in config.get("words", [])}
    for key in PATHS:
        for name, paths in found.get(key, {}).items():
            for path in [paths] if isinstance(paths, str) else paths:
                if re.search(r"[/.]", path) and not tables.locate(path).exists():
                    raise InputError(
                        f"The config's {key} of {name!r} should be at {path}, where nothing is: correct the path, or "
                        f"leave {name!r} out of the config."
                    )

    checkpoints = config.get("checkpoints", {})
    own = [*checkpoints, *config.get("external_scores", {}), *config.get("custom_models", {})]
    entries = [models.find(name) for name in config.get("models", []) if name not in own]
    entries += [translators.get_translator(name) for name in config.get("translators", []) if name not in own]
    for entry in entries:
        hub.check_agreement(entry)


def _settle_times(run: Path) -> None:
    """Give files of a run from the future, which a clock that was set back leaves, the present time.

    Snakemake refuses what is made from them, as it would be older than they are.
    """
    now, ahead = time.time(), 0
    for file in (*run.glob("*/*"), *run.glob("*/*/*")):
        with suppress(OSError):  # deleted meanwhile, or another's
            if file.is_file() and file.stat().st_mtime > now + AHEAD:
                os.utime(file, (now, now))
                ahead += 1
    if ahead:
        told = (
            f"{ahead} file(s) in {run} had a time in the future and now have the present one: was the clock set back?"
        )
        print(told, file=sys.stderr)


def _check_models(config: dict) -> None:
    modules = config.get("custom_models", {})
    for name, file in modules.items():
        if name not in config["models"]:
            raise InputError(
                f"The config's 'custom_models' names {name!r}, which is not among its models: "
                + (near(name, config["models"]) if config["models"] else "add it there.")
            )
        if not str(file).endswith(".py"):
            raise InputError(f"The config's module of {name!r} should be a Python file (.py), got {file!r}.")
    entries = [models.find(name, modules.get(name, "")) for name in config["models"]]
    for name in config.get("checkpoints", {}):
        if name not in (*config.get("translators", []), *translators.names()):
            models.get_model(name)
    _check_consent(entries, config.get("remote_code", []))


def _check_adaptations(config: dict) -> None:
    """Raise InputError for adapters of a model, of a language or with an objective that is not known."""
    for base, wanted in config.get("adaptations", {}).items():
        models.get_model(base)
        for lang in wanted["languages"]:
            languages.canonical(lang)
        for one in wanted["objectives"]:
            if one.removeprefix(models.LORA) not in models.ADAPTER_OBJECTIVES:
                known = near(one, models.ADAPTER_OBJECTIVES)
                raise InputError(f"The config's adaptations of {base!r} have the objective {one!r}: {known}")


def _check_translators(config: dict) -> None:
    """Raise InputError for a translator that is not known, or that has nothing to be trained or tested on."""
    names, folders = config.get("translators", []), config.get("checkpoints", {}) | config.get("external_scores", {})
    # Of a user's own, whose folder may be on the machine that is to run it only, there is nothing to look up.
    entries = [translators.get_translator(name) for name in names if name in translators.names() or name not in folders]
    twice = next((name for name in names if name in config["models"]), None)
    if twice is not None:
        raise InputError(f"The config names {twice!r} under 'models' and under 'translators': leave one out.")
    tasks = {datasets.get_dataset(name).task for name in config["datasets"]}
    if names and not tasks & {"disambiguation", "reasoning"} and not config.get("captioned_datasets"):
        raise InputError(
            "The config has 'translators', but no data set for disambiguation or reasoning: add one to its datasets, "
            "such as pictogram-pairs, or leave the translators out."
        )
    own = [name for name in names if name in translators.names() and translators.get_translator(name).embedded]
    if own and "pictogram-pairs" not in config["datasets"]:
        raise InputError(
            f"The translator {own[0]!r} is trained on the data set pictogram-pairs, which is not among the "
            "config's datasets: add it there, or leave the translator out."
        )
    _check_consent(entries, config.get("remote_code", []))


def _check_scores(config: dict) -> None:
    """Raise InputError where `scores` is not translator -> data set -> a table, or language -> two files."""
    for name, sets in config.get("external_scores", {}).items():
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


def _check_datasets(config: dict) -> None:
    for name in config["datasets"]:
        datasets.get_dataset(name)
    for name in config.get("protocol_datasets", []):
        if name not in config["datasets"]:
            raise InputError(
                f"The config's 'protocol_datasets' names {name!r}, which is not among its datasets: "
                f"{near(name, config['datasets'])}"
            )
        task = datasets.get_dataset(name).task
        if task not in ("zero-shot", "retrieval"):
            raise InputError(
                f"The config's 'protocol_datasets' names {name!r}, which is for {task}: protocols are compared "
                "on data sets to classify and to retrieve; leave it out there."
            )
    for name in config.get("captioned_datasets", []):
        if name not in config["datasets"] or datasets.get_dataset(name).task != "retrieval":
            raise InputError(
                f"The config's 'captioned_datasets' names {name!r}, which is not among its data sets to retrieve: "
                "captions are written for the images of such, and scored next to their captions."
            )
    for key in ("images", "annotations"):
        for name, paths in config.get(key, {}).items():
            entry = datasets.get_dataset(name)
            texts = entry.task == "retrieval" or entry.items_from == "files"
            if entry.made_by or (key == "annotations" and not texts):
                why = "they are made from lexicons" if entry.items_from == "lexicons" else f"{entry.task} has none"
                why = "the run makes them itself" if entry.made_by else why
                raise InputError(f"The config gives {key} of {name!r}, but {why}: leave them out.")
            several = key == "images" and entry.task == "retrieval"
            listed = several and isinstance(paths, list) and paths and all(isinstance(path, str) for path in paths)
            if not (isinstance(paths, str) or listed):
                expected = "a path or a list of paths" if several else "one path"
                raise InputError(f"The config's {key} of {name!r} should be {expected}, got {paths!r}: give it so.")
    read = [datasets.get_dataset(name) for name in config["datasets"]]
    lessons = [datasets.get_dataset(entry.trained_on) for entry in read if entry.trained_on and not entry.made_by]
    for entry in dict.fromkeys([*read, *lessons]):
        name, given = entry.name, config["parameters"].get(entry.read_by, {})
        where = f" (get them from {entry.url})" if entry.url else ""
        if not (entry.made_by or entry.images or name in config.get("images", {}) or "images" in given):
            raise InputError(
                f"The data set {name!r} needs images{where}: name their folder under 'images' in the config, as in "
                f"images: {{{name}: /data/{name}}}."
            )
        listed = name in config.get("annotations", {}) or "annotations" in given
        if entry.items_from == "files" and not listed:
            raise InputError(
                f"The data set {name!r} needs its texts{where}: name their folder under 'annotations' in the config, "
                f"as in annotations: {{{name}: /data/{name}}}."
            )


def _check_chapters(plan: Plan) -> None:
    """Raise InputError where a chapter reads tables that nothing of this run makes, or the title page is missing."""
    made = {kind for kind, paths in plan.tables().items() if paths}
    written = plan.written.union(*plan.tables().values())
    for chapter in plan.chapters:
        listed = notebooks.declared(plan.notebook(chapter))["inputs"].get("reads", [])
        kinds = [name for name in listed if not Path(name).suffix]
        unknown = next((name for name in kinds if name not in plan.tables()), None)
        if unknown:
            raise InputError(f"The chapter {chapter} reads {unknown!r}: {near(unknown, plan.tables())}")
        if kinds and not set(kinds) & made:
            raise InputError(
                f"The chapter {chapter} reads {' and '.join(kinds)}, which this run does not make: add a data set or "
                "'protocol_datasets' that do to the config, or leave the chapter out."
            )
        for name in listed:
            if Path(name).suffix and f"{plan.folder}/{name}" not in written:
                raise InputError(
                    f"The chapter {chapter} reads {name}, which no chapter of this config writes: add "
                    f"{_writer(name, plan)} to its chapters, or leave {chapter} out."
                )
    if TITLE_PAGE not in plan.chapters:
        raise InputError(f"The book has no title page: add {TITLE_PAGE} to the config's chapters.")


def _writer(table: str, plan: Plan) -> str:
    """Return the name of the notebook whose default is to write a table, or words for it."""
    folder = plan.project / "notebooks" / "chapters"
    known = {path.stem: notebooks.declared(path)["outputs"].values() for path in folder.glob("*.ipynb")}
    found = [name for name, paths in known.items() if f"{notebooks.WRITE_TO}/{table}" in paths]
    return min(found, default="the one that does")


def _check_consent(entries: list, allowed: list[str]) -> None:
    for entry in entries:
        if entry.remote_code:
            own = (one for one in allowed if one.partition("@")[0] == entry.source.repository)
            hub.check_consent(entry, next(own, ""))


def _check_values(notebook: str, given: dict) -> None:
    """Raise InputError for a language, or for prompts of an evaluation, that parameters name and nobody knows."""
    said = f"In the config's parameters of {notebook}"
    for key in ("languages", "language", "lang", *(PROMPTS if notebook in EVALUATIONS else ())):
        names = given.get(key, [])
        for name in [names] if isinstance(names, str) else names:
            if key in PROMPTS:
                if name and name not in prompts.NAMES and not prompts.is_file(name):
                    raise InputError(
                        f"{said}, {key!r} names the prompts {name!r}, which there are not: {near(name, prompts.NAMES)}"
                    )
                continue
            try:
                languages.canonical(name)
            except InputError as error:
                raise InputError(f"{said}: {error}") from error
