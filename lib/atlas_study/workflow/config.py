# ruff: noqa: RUF012 - pydantic copies the defaults of its models
"""The config of a run: a typed model of it, and what is checked before anything runs,
each fault in one sentence.
"""

import json
import os
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
)
from ruamel.yaml import YAML
from ruamel.yaml.constructor import DuplicateKeyError

from atlas_study.workflow import notebooks
from atlas_study.workflow.plan import (
    CLASSES,
    PROMPTS,
    Plan,
    texts_in,
    translation_named,
)
from babelatlas.base import download, languages, synsets, tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import beside, check_writable
from babelatlas.base.validation import Entry, validate
from babelatlas.datasets import mined_sentences
from babelatlas.datasets import registry as datasets
from babelatlas.lexicon.prompts import ENGLISH_SETS
from babelatlas.models import captioners, hub, translators
from babelatlas.models import registry as models
from babelatlas.models.training import adaptation, gated_recipe

# The keys whose values are files and folders; a data set of the user's own has the
# first as well.
OF_DATASETS = ("images", "annotations", "classes", "label_table")
PATHS = (
    *OF_DATASETS[:3],
    "checkpoints",
    "custom_models",
    "words",
    "verified_labels",
    "statement_translations",
    "external_scores",
)
# What translators are trained on besides tables of the user's own.
CORPORA = ("multi30k", "pictogram-pairs")


def _each_once(values: list) -> list:
    if twice := next((one for one in values if values.count(one) > 1), None):
        raise ValueError(f"{twice!r} is listed twice, remove one")
    return values


def _in_pairs(files: list) -> list:
    if len(files) % 2:
        raise ValueError(
            "expected pairs of files, correct and incorrect, one for each training"
        )
    return files


def _kind_of_scores(value) -> str:
    return "pairs" if isinstance(value, dict) else "table"


Names = Annotated[list[str], AfterValidator(_each_once)]
# Names of the user's own become parts of file names; braces in a path have a meaning
# for Snakemake.
OwnName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=60)]
Place = Annotated[str, Field(pattern=r"^[^{}]+$")]
Module = Annotated[str, Field(pattern=r"^[^{}]+\.py$")]
OwnCode = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Z][a-z]{3})?$")]
Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]
Language = Annotated[str, AfterValidator(languages.canonical)]
PairsOfFiles = Annotated[list[Place], Field(min_length=2), AfterValidator(_in_pairs)]
# A table, or pairs of files for each language: a fault is told of the kind that is meant.
ExternalScores = Annotated[
    Annotated[Place, Tag("table")]
    | Annotated[dict[Language, PairsOfFiles], Tag("pairs")],
    Discriminator(_kind_of_scores),
]


class Adaptation(Entry):
    """Adapters of one model; `texts`: a path with {lang} in it, or the folder of
    WikiMatrix, of which all captions are used, or `n_texts` at random; `recipe`: what
    differs from `adaptation.Recipe`'s.
    """

    model_config = ConfigDict(strict=True)
    languages: Annotated[
        list[Language], AfterValidator(_each_once), Field(min_length=1)
    ]
    objectives: dict[str, Annotated[list[Seed], Field(min_length=1)]]
    texts: str = ""
    n_texts: Annotated[int, Field(ge=0)] = 0
    text_source: Literal[adaptation.TEXT_SOURCES] = "captions"
    images: str = ""
    recipe: dict = {}

    def files(self, lang: str) -> list[str]:
        """Return the user's files of texts in a language."""
        if self.text_source != "wikimatrix":
            return [self.texts.replace("{lang}", lang)]
        return [mined_sentences.expected_file(self.texts, lang)]


class Translation(Entry):
    """Texts to translate by machine: `texts`, a table, or the `statements` of a data
    set, or `templates` of prompts; `languages` to translate into; `sample`: so many
    texts, 0 for all.
    """

    model_config = ConfigDict(strict=True)
    languages: Annotated[
        list[Language], AfterValidator(_each_once), Field(min_length=1)
    ]
    texts: str = ""
    statements: str = ""
    templates: str = ""
    column: str = "text"
    source_language: Language = "en"
    sample: Annotated[int, Field(ge=0)] = 0
    model: str = ""
    beams: Annotated[int, Field(ge=1)] = 1
    batch_size: Annotated[int, Field(ge=1)] = 16

    def settings(self) -> dict:
        """Return what a notebook is told of it besides its source and languages."""
        given = self.model_dump(exclude_unset=True)
        names = ("column", "source_language", "sample", "model", "beams", "batch_size")
        return {name: given[name] for name in names if name in given}

    def files(self) -> list[str]:
        """Return the user's files that it reads."""
        own_templates = self.templates not in ENGLISH_SETS and self.templates
        return [path for path in (self.texts, own_templates) if path]


class GatedFusion(Entry):
    """A translator to train; `gate`: "learned", "none", or a number from 0 to 1;
    `trained_on`: "multi30k", "pictogram-pairs" or a CSV file; `texts`: the folder of
    Multi30k; `recipe`: what differs from `gated_recipe.Recipe`'s.
    """

    model_config = ConfigDict(strict=True)
    gate: Annotated[str | float, BeforeValidator(gated_recipe.read_gate)]
    trained_on: str
    image_model: str = ""
    languages: Annotated[list[Language], AfterValidator(_each_once)] = []
    seeds: Annotated[list[Seed], AfterValidator(_each_once), Field(min_length=1)] = [0]
    texts: str = ""
    images: str = ""
    recipe: dict = {}

    def files(self) -> list[str]:
        """Return the user's files and folders that it is trained on."""
        table = "" if self.trained_on in CORPORA else self.trained_on
        images = "" if self.gate == "none" else self.images
        return [path for path in (table, self.texts, images) if path]


class Config(Entry):
    """What a config may hold; config/demo.yml and config/full.yml explain each key.

    `captioners`: models that describe the images of each data set for retrieval;
    `checkpoints` has the folder of one of the user's own, or a table of its captions.
    `chapters` empty: all that this run can make. `external_scores`: translator -> data
    set -> a table, or language -> the files of its correct and of its incorrect
    translations, a pair for each training of the model. `gated_fusion`: translator ->
    its training. `protocol_models`: those with which every setting of the protocol is
    varied, empty for all. `stored_vectors`: data set -> models to evaluate on vectors
    that ship in its pictures' place. `only`: model -> the data sets that it is evaluated on, of
    those of the run. `statement_translations`: data set of statements -> a table of
    their translations into English. `translations`: name -> what the run translates by
    machine; "translations/<name>" stands for it in `texts` of adaptations, in
    `statement_translations` and where prompts are named. `image_features`: data sets
    whose images are shown as each model represents them. `parameters`: notebook ->
    parameter -> value.
    """

    model_config = ConfigDict(strict=True)
    run: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,100}$")]
    models: Names
    datasets: Names
    seed: Seed = 0
    translators: Annotated[list[OwnName], AfterValidator(_each_once)] = []
    captioners: Annotated[list[OwnName], AfterValidator(_each_once)] = []
    protocol_datasets: Names = []
    protocol_models: Names = []
    stored_vectors: dict[str, Names] = {}
    only: dict[str, Names] = {}
    chapters: Names = []
    checkpoints: dict[str, Place] = {}
    custom_models: dict[OwnName, Module | dict] = {}
    custom_languages: dict[OwnCode, dict] = {}
    remote_code: Names = []
    images: dict[str, Place | Annotated[list[Place], Field(min_length=1)]] = {}
    annotations: dict[str, Place] = {}
    words: Annotated[list[Place], AfterValidator(_each_once)] = []
    classes: dict[OwnName, Place] = {}
    verified_labels: dict[str, Place] = {}
    statement_translations: dict[str, Place] = {}
    image_features: Names = []
    custom_datasets: dict[OwnName, dict] = {}
    external_scores: dict[OwnName, dict[str, ExternalScores]] = {}
    translations: dict[OwnName, Translation] = {}
    adaptations: dict[str, Adaptation] = {}
    gated_fusion: dict[OwnName, GatedFusion] = {}
    limit: Annotated[int, Field(ge=1)] | None = None
    parameters: dict[str, dict] = {}

    def place(self, model: str) -> str:
        """Return where the user has a model: a file of code or the folder of a
        checkpoint; "" for the published one.
        """
        described = self.custom_models.get(model, "")
        own = (
            described if isinstance(described, str) else described.get("checkpoint", "")
        )
        return own or self.checkpoints.get(model, "")


def read_profile(folder: str | os.PathLike) -> dict:
    """Return the settings of a profile of Snakemake."""
    text = Path(folder, "config.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text) or {}


def read(path: str | os.PathLike) -> dict:
    """Return a config file; InputError where it is missing, no YAML of 'key: value'
    lines, or has a key twice.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(
            f"There is no config file {path}: {near(path, path.parent.glob('*.yml'))}"
        )
    try:
        text = path.read_text(encoding="utf-8-sig")
        # Snakemake reads the values with PyYAML, which keeps the last of a key's values.
        found = yaml.safe_load(text)
        _refuse_repeated_keys(text, path)
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"The config {path} cannot be read as YAML ({reason}): see config/demo.yml."
        ) from error
    if not isinstance(found, dict):
        raise InputError(
            f"The config {path} should hold 'key: value' lines: see config/demo.yml."
        )
    return found


def _refuse_repeated_keys(text: str, path: Path) -> None:
    """Raise InputError where a mapping of a YAML text has a key twice."""
    parser = YAML(typ="safe", pure=True)
    parser.version = "1.1"  # as PyYAML understands it
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about numbers that the two read otherwise
            parser.load(text)
    except DuplicateKeyError as error:
        line = error.problem_mark.line + 1
        raise InputError(
            f"The config {path} has a key twice ({error.problem}, line {line}): keep one."
        ) from error


def check_config(
    values: dict, project: str | os.PathLike, without: Iterable[str] = ()
) -> Plan:
    """Return the plan of a config in which every key is read by something and every
    name is known, else InputError.

    `project` is the folder with notebooks/; `without`: pages of steps that failed,
    which the plan leaves out.
    """
    if isinstance(own := values.get("custom_languages", {}), dict):
        languages.add(own)  # other keys name them
    config = validate(Config, values, "The config")
    _announce(datasets, config.custom_datasets)
    _announce(models, config.custom_models)
    for notebook, given in config.parameters.items():
        notebooks.check_parameters(
            notebooks.find(Path(project, "notebooks"), notebook), given
        )
    _check_datasets(config)
    _check_models(config)
    _check_translations(config)
    plan = Plan(config, project, without)
    for reason in plan.unable.values():
        print(f"{reason} This run leaves it out.", file=sys.stderr)
    for name in plan.models:
        if models.base_of(name) and not plan.checkpoint(name):
            fix = (
                "add its language and objective under 'adaptations', or name its folder"
                " under 'checkpoints'"
            )
            raise InputError(
                f"The model {name!r} is an adapted one that nothing of this config"
                f" trains: {fix}."
            )
    return plan


def _announce(registry, described: dict[str, dict]) -> None:
    """Let a registry know the config's own entries, here and in all jobs; InputError
    for one that is wrong.
    """
    for name, description in described.items():
        registry.custom(name, description)
    os.environ[registry.CUSTOM] = json.dumps(described)


def _check_among(key: str, names, known, what: str) -> None:
    """Raise InputError for a name under a key of the config that is not among the known
    ones.
    """
    if strange := next((name for name in names if name not in known), None):
        what = (
            f"names {strange!r}, which is not among its {what}: {near(strange, known)}"
        )
        raise InputError(f"The config's {key!r} {what}")


def _check_datasets(config: Config) -> None:
    """Raise InputError for a data set that is not known, is not for what a key needs,
    or lacks its images or texts.
    """
    entries = {name: datasets.get_dataset(name) for name in config.datasets}
    for name in (*config.images, *config.annotations):
        datasets.get_dataset(name)
    _check_among(
        "only",
        {name for some in config.only.values() for name in some},
        config.datasets,
        "data sets",
    )
    with_vectors = [entry.name for entry in datasets.DATASETS if entry.vectors]
    _check_among(
        "stored_vectors",
        config.stored_vectors,
        with_vectors,
        "data sets whose vectors ship",
    )
    if both := {*config.datasets} & {*config.stored_vectors}:
        raise InputError(
            f"The config names {min(both)!r} under 'datasets' and under"
            " 'stored_vectors': leave one out."
        )
    if both := {*config.custom_datasets} & {*config.images, *config.annotations}:
        raise InputError(
            f"The config's images or annotations name {min(both)!r}: name it in"
            " custom_datasets alone."
        )
    if ours := {*config.classes} & {*CLASSES, *synsets.CLASS_LISTS}:
        raise InputError(
            f"The config's 'classes' names {min(ours)!r}, a list of the study: give"
            " yours another name."
        )
    _check_among(
        "custom_datasets", config.custom_datasets, config.datasets, "data sets"
    )
    _check_among(
        "verified_labels",
        config.verified_labels,
        (*CLASSES, *config.classes),
        "class lists",
    )
    of_statements = [name for name, entry in entries.items() if entry.trained_on]
    _check_among(
        "statement_translations",
        config.statement_translations,
        [name for name in of_statements if not entries[name].made_by],
        "data sets of statements that are read from files",
    )
    with_images = [
        name
        for name, entry in entries.items()
        if entry.task in ("zero-shot", "reasoning")
    ]
    with_images += [
        entries[name].trained_on for name in of_statements if not entries[name].made_by
    ]
    _check_among(
        "image_features",
        config.image_features,
        with_images,
        "data sets to classify or of statements",
    )
    featured = [datasets.get_dataset(name) for name in config.image_features]
    if len(featured) == 1 and featured[0].task == "zero-shot":
        raise InputError(
            f"The config's 'image_features' names {featured[0].name!r} alone, and groups"
            " of images are compared: name a second data set."
        )
    fit = [
        name
        for name, entry in entries.items()
        if entry.task in ("zero-shot", "retrieval")
    ]
    _check_among(
        "protocol_datasets",
        config.protocol_datasets,
        fit,
        "data sets for zero-shot or retrieval",
    )
    read = [
        entry for entry in entries.values() if entry.trained_on and not entry.made_by
    ]
    trained_on = [datasets.get_dataset(entry.trained_on) for entry in read]
    lacking = []
    for entry in dict.fromkeys([*entries.values(), *trained_on]):
        for key, needed in {
            "images": not entry.images,
            "annotations": entry.items_from == "files" and not entry.annotations,
        }.items():
            needed = (
                needed and not entry.made_by and entry.name not in getattr(config, key)
            )
            if needed and not (key == "images" and download.at_hand(entry.places)):
                lacking.append((entry, key))
    if lacking:
        entry, key = lacking[0]
        fetch = (
            f"run `babelatlas fetch {entry.fetched_as}`, or "
            if entry.fetched_as
            else ""
        )
        fix = (
            f"name their folder in the config, as in {key}: {{{entry.name}:"
            f" /data/{entry.name}}}"
        )
        more = "".join(f"; {one.name!r} needs {name}, too" for one, name in lacking[1:])
        raise InputError(
            f"The data set {entry.name!r} needs {key} (from {entry.url}):"
            f" {fetch}{fix}{more}."
        )


def _check_models(config: Config) -> None:
    """Raise InputError for models and translators that are not known, and for code that
    may not run or that is none.
    """
    for key in ("custom_models", "only"):
        _check_among(key, getattr(config, key), config.models, "models")
    entries = [models.get_model(name) for name in config.models]
    # Of a translator of the user's own, whose folder may be on the machine that is to
    # run it only, nothing is known.
    described = {*config.external_scores, *config.gated_fusion}
    own = {*config.checkpoints, *described} - {*translators.names()}
    entries += [
        translators.get_translator(name)
        for name in config.translators
        if name not in own
    ]
    entries += _listed_captioners(config)
    named = {*config.translators, *config.captioners}
    elsewhere = {*config.checkpoints, *config.adaptations, *config.protocol_models}
    for name in elsewhere - named:
        models.get_model(name)
    _check_among(
        "external_scores", config.external_scores, config.translators, "translators"
    )
    _check_gated_fusion(config)
    for base, wanted in config.adaptations.items():
        if wanted.text_source == "wikimatrix":
            if not wanted.texts:
                raise InputError(
                    f"The config's adaptations of {base!r} are on WikiMatrix: name its"
                    " folder as 'texts'."
                )
        elif wanted.languages[1:] and "{lang}" not in (wanted.texts or "{lang}"):
            raise InputError(
                f"The config's adaptations of {base!r} have one path of texts: put"
                " {lang} into it."
            )
        for objective in wanted.objectives:
            told = wanted.recipe | {"objective": objective}
            validate(adaptation.Recipe, told, f"The config's adaptations of {base!r}")
    coded = {
        entry.source.repository: entry
        for entry in entries
        if getattr(entry, "remote_code", False)
    }
    for entry in coded.values():
        allowed = (
            one
            for one in config.remote_code
            if one.partition("@")[0] == entry.source.repository
        )
        hub.check_consent(entry, next(allowed, ""))
    _check_among(
        "remote_code",
        [one.partition("@")[0] for one in config.remote_code],
        coded,
        "models with code",
    )


def _check_translations(config: Config) -> None:
    """Raise InputError for a translation without a source, or with two, and for one
    that another key names and the config does not make.
    """
    for name, wanted in config.translations.items():
        what = f"The config's translations {name!r}"
        sources = [wanted.texts, wanted.statements, wanted.templates]
        if sum(map(bool, sources)) != 1:
            raise InputError(
                f"{what} should have one of texts, statements and templates, got"
                f" {sum(map(bool, sources))}."
            )
        if wanted.statements:
            _check_among(
                "translations", [wanted.statements], config.datasets, "data sets"
            )
    for base, adapted in config.adaptations.items():
        if name := translation_named(adapted.texts):
            _check_made(config, name, "texts", adapted.languages, f"{base!r}")
    for dataset, place in config.statement_translations.items():
        if name := translation_named(place):
            _check_made(config, name, "statements", ["en"], f"{dataset!r}")
    for notebook, given in config.parameters.items():
        for place in texts_in([given.get(key, "") for key in PROMPTS]):
            if name := translation_named(place):
                _check_made(config, name, "templates", [], notebook)


def _check_made(
    config: Config, name: str, source: str, langs: Iterable[str], where: str
) -> None:
    """Raise InputError unless the config translates by a name: what `source` names, and
    into some languages.
    """
    _check_among(f"translations/{name}", [name], config.translations, "translations")
    wanted = config.translations[name]
    missing = [lang for lang in langs if lang not in wanted.languages]
    if not getattr(wanted, source):
        problem = f"it has no {source}"
    elif missing:
        problem = f"it has none into {missing[0]}"
    else:
        return
    raise InputError(
        f"The config names the translations {name!r} for {where}, and {problem}: add"
        " it, or name another."
    )


def _check_gated_fusion(config: Config) -> None:
    """Raise InputError for a translator to train that has another model's name, is not
    evaluated, or has nothing to learn from.
    """
    _check_among("gated_fusion", config.gated_fusion, config.translators, "translators")
    tasks = {datasets.get_dataset(name).task for name in config.datasets}
    if config.gated_fusion and "disambiguation" not in tasks:
        raise InputError(
            "The config's 'gated_fusion' trains translators for data sets of ambiguous"
            " words or sentences, and it names none: add one, such as commute."
        )
    for name, wanted in config.gated_fusion.items():
        what = f"The config's gated_fusion {name!r}"
        if name in translators.names():
            raise InputError(
                f"{what} has the name of a published translator: give it another."
            )
        validate(gated_recipe.Recipe, wanted.recipe, f"{what}: recipe")
        if wanted.gate != "none" and not wanted.image_model:
            raise InputError(
                f"{what} has the gate {wanted.gate!r} and no image_model: name the model"
                " whose image tower makes the vectors, or set the gate to 'none'."
            )
        if wanted.image_model:
            models.get_model(wanted.image_model)
        is_miniature = wanted.trained_on == "pictogram-pairs"
        if is_miniature and "pictogram-pairs" not in config.datasets:
            raise InputError(
                f"{what} is trained on pictogram-pairs: add it to the config's datasets."
            )
        if wanted.gate != "none" and not is_miniature and not wanted.images:
            raise InputError(
                f"{what} needs the images of {wanted.trained_on}: name their folder, as"
                " in images: data/flickr30k/images."
            )


def _listed_captioners(config: Config) -> list:
    """Return the entries of the captioners that are no folder or table of the user's;
    InputError for one that is not known, and where there is nothing to describe.
    """
    tasks = {datasets.get_dataset(name).task for name in config.datasets}
    if config.captioners and "retrieval" not in tasks:
        raise InputError(
            "The config's 'captioners' describe the images of data sets for retrieval,"
            " and it names none: add one, such as xm3600, or leave them out."
        )
    own = {*config.checkpoints} - {*captioners.listed()}
    names = [name for name in config.captioners if name not in own]
    return [captioners.get_captioner(name) for name in names]


# Parameters of notebooks that name tables of the user's, as files with these endings.
TABLES_GIVEN = ("regions", "comparisons", "ratings", "people_labels", "further_images")
TABLE_ENDS = (".parquet", ".csv")


def absent(config: Config) -> dict[str, str]:
    """Return the paths of a config at which nothing is, each with what the config calls
    it.
    """
    places = {key: getattr(config, key) for key in PATHS}
    places["translations"] = [one.files() for one in config.translations.values()]
    places["custom_models"] = [config.place(name) for name in config.custom_models]
    places["custom_datasets"] = [
        [one.get(key, "") for key in OF_DATASETS]
        for one in config.custom_datasets.values()
    ]
    places["adaptations"] = [
        [one.images, *one.files(lang)]
        for one in config.adaptations.values()
        for lang in one.languages
    ]
    for name, wanted in config.gated_fusion.items():
        places[f"gated_fusion {name!r}"] = wanted.files()
    given = [one.get(key, "") for one in config.parameters.values() for key in PROMPTS]
    places["prompts"] = [name for name in texts_in(given) if name.endswith(TABLE_ENDS)]
    for key in TABLES_GIVEN:
        given = [one.get(key, "") for one in config.parameters.values()]
        places[key] = [name for name in texts_in(given) if name.endswith(TABLE_ENDS)]
    return {
        path: key
        for key, some in places.items()
        for path in texts_in(some)
        if not translation_named(path) and not tables.locate(path).exists()
    }


def check_paths(values: dict) -> None:
    """Raise InputError where paths of a config are not there, with all of them, or a
    model's terms not accepted.
    """
    config = validate(
        Config, {"run": "run", "models": [], "datasets": []} | values, "The config"
    )
    if lost := [f"{key} should be at {path}" for path, key in absent(config).items()]:
        raise InputError(
            f"The config's {', its '.join(lost)}, where nothing is: correct"
            f" {'each' if lost[1:] else 'the'} path."
        )
    own = {*config.checkpoints, *config.external_scores, *config.custom_models}
    own |= {*config.gated_fusion}
    images_by = {wanted.image_model for wanted in config.gated_fusion.values()} - {""}
    models_named = [*config.models, *sorted(images_by)]
    entries = [models.get_model(name) for name in models_named if name not in own]
    entries += [
        translators.get_translator(name)
        for name in config.translators
        if name not in own
    ]
    entries += [
        captioners.get_captioner(name) for name in config.captioners if name not in own
    ]
    for entry in entries:
        if entry.source:
            hub.check_agreement(entry)


def tell_absent(values: dict) -> None:
    """Say, in a dry run, for which missing paths or terms a real one would stop."""
    try:
        check_paths(values)
    except InputError as error:
        print(f"This is a dry run; a real one would stop: {error}", file=sys.stderr)


def check_parameters(plan: Plan, rules: Iterable) -> None:
    """Raise InputError where the config gives a parameter that a rule sets.

    `rules`: Snakemake's, of the stages; chapters have one rule. Of photographs whose
    vectors ship, prompts are the rule's own, whatever the config says of others.
    """
    for rule in rules:
        jobs = plan.jobs[rule.name]
        if jobs and rule.name != "zeroshot_stored":
            notebook = plan.notebook_of(rule.name)
            names = {*rule.input.keys(), *rule.output.keys(), "limit"}
            names |= {*plan.of_job(notebook, jobs[0])}
            names |= rule.params.given.set_here(jobs[0])
            plan.check_told(notebook, names)
    for chapter in plan.chapters:
        for job in plan.chapter_jobs(chapter)[:1]:
            names = {*plan.of_job(chapter, job), *plan.written(chapter)}
            plan.check_told(chapter, names)


def check_dependencies(plan: Plan) -> None:
    """Raise InputError for a folder of the user's that holds no file.

    Later Snakemake asks for what jobs depend on, and shows a traceback of what that
    raises.
    """
    for rule, jobs in plan.jobs.items():
        for job in jobs:
            plan.depends(plan.notebook_of(rule), job)


def prepare(plan: Plan) -> None:
    """Make the folders of a run and the list of its files (`tables.of_run`); raise
    InputError where it cannot be written.
    """
    for folder in ("", "logs", "notebooks"):
        check_writable(Path(plan.folder, folder))
    made = [os.path.relpath(path, plan.folder) for path in plan.all_files()]
    with beside(f"{plan.folder}/files.json") as part:
        part.write_text(json.dumps(made), encoding="utf-8")
