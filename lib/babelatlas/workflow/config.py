"""The config of a run: checked before anything runs, so that what is misspelt or missing stops it in one sentence.

`config/schema.yaml` says which keys there are and what kind of value each holds; the functions here check that, and
look up the names in them: models, data sets, notebooks and their parameters, languages, prompts, files.
"""

import json
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import yaml

from babelatlas.base import download, entries, languages, synsets, tables
from babelatlas.base.errors import InputError, near, shown
from babelatlas.base.paths import check_writable
from babelatlas.base.yaml_files import check_plain, quoted
from babelatlas.base.yaml_files import read as read
from babelatlas.datasets import registry as datasets
from babelatlas.lexicon import prompts
from babelatlas.models import hub, translators
from babelatlas.models import registry as models
from babelatlas.workflow import notebooks
from babelatlas.workflow.plan import CLASSES, EVALUATIONS, PROMPTS, Plan, scored, templates

TITLE_PAGE = "00_summary"
SCHEMA = Path("config") / "schema.yaml"
# What a value of each kind is called in a message: of a key of the config, and within one.
KINDS = {"string": "str", "integer": "int", "array": "list", "object": "dict"}
WORDS = {"string": "a text", "integer": "a whole number", "array": "a list", "object": "'name: value' lines"}
# The keys whose values are files or folders, one for each name.
PATHS = ("images", "annotations", "checkpoints", "custom_models", "classes", "verified_labels")
# The keys of a custom data set whose values are such, and what each is like.
OF_DATASETS = {"images": "images", "annotations": "words", "classes": "classes", "label_table": "words"}
# Parameters of notebooks that are files or folders, or lists of them.
OF_NOTEBOOKS = "homes areas own_tables extended references questions measurements ratings translations dump claims"
OF_NOTEBOOKS = (*OF_NOTEBOOKS.split(), "annotations", "sources", "texts")
# Key -> the endings that its files may have; of `images` those of a table.
ENDINGS = {
    "words": (".csv", ".parquet"),
    "classes": (".csv", ".txt"),
    "verified_labels": (".csv", ".parquet"),
    "external_scores": (".csv", ".parquet"),
    "images": (".csv", ".parquet"),
}

AHEAD = 60  # seconds that clocks of two machines may differ


def check_config(config: dict, project: str | os.PathLike) -> Plan:
    """Return the plan of a config in which every key is read by something and every name is known.

    `project` is the folder with notebooks/ and config/schema.yaml. Raises InputError, naming the first thing that is
    wrong: a key that nothing reads or that is missing, a value of another kind, a notebook, parameter, model, data set
    or language that is not known, a parameter without effect, images that are not named, a chapter whose tables the run
    does not make or that the contents lack.
    """
    project = Path(project)
    check_form(config, schema(project))
    _announce(config.get("custom_datasets", {}))
    folder = project / "notebooks"
    for chapter in config["chapters"]:
        notebooks.sources(_find_chapter(folder, chapter))
    for notebook, given in config["parameters"].items():
        notebooks.check_by_hand(notebooks.find(folder, notebook), given)
        _check_values(notebook, given)
    _check_own(config)
    _check_models(config)
    _check_adaptations(config)
    _check_scores(config)
    _check_datasets(config)
    _check_translators(config)
    plan = Plan(config, project)
    plan.check_given()
    _check_trained(plan)
    _check_code(plan)
    _check_chapters(plan)
    return plan


@cache
def schema(project: Path) -> dict:
    """Return the schema of configs, from `project`/config/schema.yaml."""
    return yaml.safe_load((project / SCHEMA).read_text(encoding="utf-8"))


def check_form(config: dict, schema: dict) -> None:
    """Raise InputError for a key that nothing reads, and where a value is not what the schema of configs says."""
    from jsonschema import Draft202012Validator

    known = schema["properties"]
    for key in config:
        if key not in known:
            raise InputError(f"The config has a key {key!r} that nothing reads: {near(key, known)}")
    for key, value in config.items():
        check_plain(value, key, lines=key == "parameters")
    faults = Draft202012Validator(schema).iter_errors(config)
    for error in sorted(faults, key=lambda error: list(map(str, error.path))):
        key = error.path[0] if error.path else re.match("'(.*)' is a required", error.message)[1]
        kind = KINDS.get(known[key].get("type", "object" if "/path" in str(known[key]) else "array"))
        if not error.path or (len(error.path) == 1 and error.validator == "type"):
            got = "nothing" if key not in config else shown(config[key])
            raise InputError(f"The config needs {key!r} as {kind}, got {got}: see config/demo.yml.")
        said = {
            "gpus": f"is how many to use at once, got {config.get('gpus')}: leave it out for all.",
            "limit": f"is how many images of a class, queries or items are evaluated, got {config.get('limit')}: give "
            "1 or more, or leave it out for all.",
            "run": f"is the name of a folder, got {shown(config.get('run'))}: use up to 100 letters, digits, - and _.",
        }
        if key in said:
            raise InputError(f"The config's {key!r} {said[key]}")
        of_dataset = key in ("images", "annotations", "external_scores") and len(error.path) > 1
        if of_dataset and (error.validator == "type" or (error.validator == "anyOf" and not _is_text(error.instance))):
            continue  # said in terms of the data set by config.py
        raise InputError(f"The config's {placed(error.path)} {_fault(error)}")


def _is_text(value) -> bool:
    """Return whether a value is a text or a list of some."""
    return isinstance(value, str) or (bool(value) and isinstance(value, list) and all(map(_is_text, value)))


def placed(path) -> str:
    """Return where a value stands, as in 'images: xm3600'; numbers of a list's values are left out.

    >>> placed(["adaptations", "picto-en", "languages", 0])
    "'adaptations: picto-en: languages'"
    """
    return repr(": ".join(str(part) for part in path if not isinstance(part, int)))


def _fault(error) -> str:
    """Return what is wrong with a value by the rule of the schema that it breaks, and how to fix it."""
    got, rule, bound = error.instance, error.validator, error.validator_value
    if rule == "required":
        return f"has no key {next(key for key in bound if key not in got)!r}: add it, see config/full.yml."
    if rule == "additionalProperties":
        strange = next(key for key in got if key not in error.schema["properties"])
        return f"has a key {strange!r} that nothing reads: {near(strange, error.schema['properties'])}"
    if rule == "uniqueItems":
        return f"names {shown(next(one for one in got if got.count(one) > 1))} twice: leave one out."
    if rule in ("minItems", "minProperties", "minLength"):
        return "is empty: give a value, or leave the line out."
    if rule in ("minimum", "maximum"):
        return f"should be at {'least' if rule == 'minimum' else 'most'} {bound:,}, got {shown(got)}: correct it."
    expected = error.schema.get("description") or WORDS.get(bound, "another value")
    if isinstance(error.path[-1], int):
        return f"has {shown(got)} where {expected} is expected: {quoted(got)}"
    return f"should be {expected}, got {shown(got)}: see config/full.yml."


def _find_chapter(folder: Path, chapter: str) -> Path:
    """Return the path of a chapter; InputError for a stage, and for a name that cannot be one of files and pages."""
    if not re.fullmatch(r"[A-Za-z0-9_-]+", chapter) and (folder / "chapters" / f"{chapter}.ipynb").is_file():
        raise InputError(f"The chapter {chapter!r} needs a name of letters, digits, - and _: rename the notebook.")
    if (folder / "stages" / f"{chapter}.ipynb").is_file():
        raise InputError(f"{chapter} is a stage, which the workflow runs itself: leave it out of the chapters.")
    return notebooks.find(folder / "chapters", chapter)


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
    """Raise InputError for adapters of a model, of a language, with an objective or a recipe that is not known."""
    from babelatlas.models.training.adaptation import Recipe

    for base, wanted in config.get("adaptations", {}).items():
        models.get_model(base)
        codes = [languages.canonical(lang) for lang in wanted["languages"]]
        twice = next((code for code in codes if codes.count(code) > 1), None)
        if twice:
            raise InputError(f"The config's adaptations of {base!r} have the language {twice!r} twice: leave one out.")
        for one in wanted["objectives"]:
            if one.removeprefix(models.LORA) not in models.ADAPTER_OBJECTIVES:
                known = near(one, models.ADAPTER_OBJECTIVES)
                raise InputError(f"The config's adaptations of {base!r} have the objective {one!r}: {known}")
        facts = wanted.get("recipe", {}) | {"objective": next(iter(wanted["objectives"]))}
        entries.build(Recipe, facts, f"The recipe of the config's adaptations of {base!r}").check()
        strange = re.search(r"[{}]", wanted.get("texts", "").replace("{lang}", ""))
        if strange:
            raise InputError(
                f"The config's adaptations of {base!r} have texts at {wanted['texts']!r}: in braces only {{lang}} is "
                "known, which stands for the language."
            )


def _check_trained(plan: Plan) -> None:
    """Raise InputError for a folder of a model that the run trains, and for an adapted model that nothing trains."""
    for name in plan.config.get("checkpoints", {}):
        if name in [*plan.trained, *plan.gated, *plan.adapted]:
            raise InputError(
                f"The config's 'checkpoints' names {name!r}, which the run itself trains: leave it out there."
            )
    for name in plan.models:
        if models.base_of(name) and not plan.checkpoint(name):
            raise InputError(
                f"The model {name!r} is an adapted one that nothing of this config trains: add its language and "
                "objective under 'adaptations', or name its folder under 'checkpoints'."
            )


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
        for dataset, files in (sets if isinstance(sets, dict) and sets else {"": sets}).items():
            if dataset not in config["datasets"] or datasets.get_dataset(dataset).task != "disambiguation":
                raise InputError(
                    f"The config's scores of {name!r} should be lines 'data set: file' for data sets for "
                    f"disambiguation that are among its datasets, got {dataset or files!r}: see config/full.yml."
                )
            pairs = list(files.items()) if isinstance(files, dict) else []
            for lang, pair in pairs:
                languages.canonical(str(lang))
                if not (isinstance(pair, list) and len(pair) == 2 and all(map(_is_path, pair))):
                    pairs = []
            if not isinstance(files, str) and not pairs:
                raise InputError(
                    f"The config's scores of {name!r} on {dataset!r} should be a table, or languages, each with the "
                    f"files of its correct and of its incorrect translations, got {files!r}: see config/full.yml."
                )


def _is_path(value) -> bool:
    return isinstance(value, str) and bool(re.fullmatch("[^{}]+", value))


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
        shown = plan.config["parameters"].get(chapter, {})
        for key, known in (("dataset", plan.datasets), ("datasets", plan.datasets), ("models", plan.models)):
            names = shown.get(key, []) if kinds else []
            strange = next((one for one in ([names] if isinstance(names, str) else names) if one not in known), None)
            if strange is not None:
                raise InputError(
                    f"The config's parameters of {chapter} name {strange!r}, which is not among the run's "
                    f"{'models' if key == 'models' else 'data sets'}: {near(strange, known)}"
                )
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


def _check_code(plan: Plan) -> None:
    """Raise InputError for a repository whose code may run here, and which no model of the run has its code in."""
    entries = [*plan.entries.values(), *plan.translator_entries.values()]
    known = {entry.source.repository for entry in entries if entry.remote_code}
    for one in plan.config.get("remote_code", []):
        if one.partition("@")[0] not in known:
            fix = near(one, known) if known else "leave it out."
            raise InputError(f"The config's 'remote_code' names {one!r}, and no model of the run has code there: {fix}")


def _check_values(notebook: str, given: dict) -> None:
    """Raise InputError for prompts of an evaluation that nobody knows, and for a GPU that no job of a run sees."""
    said = f"In the config's parameters of {notebook}"
    for key in PROMPTS if notebook in EVALUATIONS else ():
        names = given.get(key, [])
        for name in [names] if isinstance(names, str) else names:
            if name and name not in prompts.NAMES and not prompts.is_file(name):
                raise InputError(
                    f"{said}, {key!r} names the prompts {name!r}, which there are not: {near(name, prompts.NAMES)}"
                )
            if re.search("[{}]", name):
                raise InputError(f"{said}, {key!r} names a file with braces, {name!r}: rename it.")
    if given.get("device", "").removeprefix("cuda:").isdecimal() and given["device"] != "cuda:0":
        raise InputError(
            f"{said}, 'device' is {given['device']!r}, but each job sees one GPU only, which the workflow chooses: "
            "give cuda or auto."
        )


def prepare(run: str | os.PathLike) -> None:
    """Make the folder of a run ready for it: its folders are there and can be written to, no file is from the future.

    Raises InputError for a folder that cannot be written to. A clock that was set back leaves files from the future;
    Snakemake refuses what is made from them, as it would be older than they are, so they get the present time.
    """
    for folder in ("", "logs", "notebooks"):
        check_writable(Path(run, folder))
    now, ahead = time.time(), 0
    for file in (*Path(run).glob("*/*"), *Path(run).glob("*/*/*")):
        with suppress(OSError):  # deleted meanwhile, or another's
            if file.is_file() and file.stat().st_mtime > now + AHEAD:
                os.utime(file, (now, now))
                ahead += 1
    if ahead:
        told = f"{ahead} file(s) in {run} had a time in the future and now have the present one"
        print(f"{told}: was the clock set back?", file=sys.stderr)


def check_paths(config: dict) -> None:
    """Raise InputError where a path of a checked config is not there or of no use, or a model's terms are not accepted.

    As `annotations` of Multi30K the name of a split is no path.
    """
    from babelatlas.datasets.captions import SPLITS

    for key, name, path, like in _paths(config):
        if key == "annotations" and name == "multi30k" and path in SPLITS:
            continue
        place = tables.locate(path)
        if not os.path.exists(place):
            raise InputError(
                f"The config's {key} of {name!r} should be at {path}, where nothing is: correct the path, or leave "
                f"{name!r} out of the config."
            )
        wanted = _wanted(like, place)
        if wanted:
            raise InputError(f"The config's {key} of {name!r} should be {wanted}, got {path}: correct the path.")
        if like == "classes":
            synsets.class_list(path)
    own = [*config.get("checkpoints", {}), *config.get("external_scores", {}), *config.get("custom_models", {})]
    entries = [models.find(name) for name in config.get("models", []) if name not in own]
    entries += [translators.get_translator(name) for name in config.get("translators", []) if name not in own]
    for entry in entries:
        hub.check_agreement(entry)


def _wanted(like: str, place) -> str:
    """Return what a place should be by its key, "" where it is that."""
    ending = "" if place.is_dir() else place.suffix.lower()
    if like == "checkpoints":
        return "" if place.is_dir() else "a folder"
    if like == "images":
        fits = place.is_dir() or download.is_archive(place) or ending in ENDINGS[like]
        return "" if fits else "a folder, an archive, or a table that ends in .csv or .parquet"
    if like in ENDINGS and (place.is_dir() or ending not in ENDINGS[like]):
        return f"a file that ends in {' or '.join(ENDINGS[like])}"
    return ""


def _paths(config: dict) -> Iterator[tuple[str, str, str, str]]:
    """Yield each path: its key and what it is of, for a message, the path, and the key whose files it is like."""
    for key in PATHS:
        for name, paths in config.get(key, {}).items():
            for path in [paths] if isinstance(paths, str) else paths:
                yield key, name, path, key
    for path in config.get("words", []):
        yield "words", path, path, "words"
    for name, sets in config.get("external_scores", {}).items():
        for dataset, given in sets.items():
            like = "external_scores" if isinstance(given, str) else ""
            for path in scored(given)["scores"]:
                yield "external_scores", f"{name} on {dataset}", path, like
    for name, given in config.get("custom_datasets", {}).items():
        for key, like in OF_DATASETS.items():
            if given.get(key) and given[key] not in synsets.FURTHER_LISTS:
                yield "custom_datasets", name, given[key], like
    for base, wanted in config.get("adaptations", {}).items():
        texts = wanted.get("texts", "")
        found = [texts.replace("{lang}", lang) for lang in wanted["languages"]] if texts else []
        for path in [*dict.fromkeys(found), *filter(None, [wanted.get("images")])]:
            yield "adaptations", base, path, ""
    for notebook, given in config.get("parameters", {}).items():
        for path in templates(notebook, given) if notebook in EVALUATIONS else []:
            yield "templates", path, path, ""
        for name in OF_NOTEBOOKS:
            value = given.get(name) or []
            for path in [value] if isinstance(value, str) else value:
                if isinstance(path, str) and re.search(r"[/.]", path) and "{" not in path:
                    yield "parameters", f"{notebook}: {name}", path, ""
