"""A run as planned from its config: which jobs each rule has, what they are told, and
what they depend on.

What a rule reads and writes stands in `rules/*.smk`. Here is what these files ask for:
the jobs of each rule (model × data set ...), the parameters of a job's notebook, and
the chapters that the run's tables allow.
"""

import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import product
from pathlib import Path

from atlas_study.workflow import notebooks
from babelatlas.base import checksums, download, synsets, tables
from babelatlas.base.errors import InputError, near
from babelatlas.datasets import example_pictures, mined_sentences, stored_vectors
from babelatlas.datasets import registry as datasets
from babelatlas.models import captioners, registry, translators
from babelatlas.models.loaders import bridge
from babelatlas.models.training import adaptation

TITLE_PAGE = "00_summary"  # staged as index: index.html is a page, no redirection
MODEL_PAGE = "43_model"  # the one chapter with a page for each model
# The class lists of every run: the labels of ImageNet, and of the pictograms where
# something is drawn or labelled.
CLASSES = ("imagenet-1k", "pictograms")
# Notebooks whose parameters name sets of prompts, or tables of them, and these
# parameters.
PROMPTED = ("67_zeroshot", "76_protocols")
PROMPTS = ("prompts", "fallback_prompts", "other_prompts")
# A job: wildcard of its rule -> value, as in {"model": ..., "dataset": ...}.
Job = dict[str, str]
ONCE: list[Job] = [{}]  # the jobs of a rule that runs once


class Plan:
    """What a checked config makes: the jobs of rules and chapters, and their parameters.

    `config`: a `config.Config`; `project`: the folder with notebooks/ and book/. A run
    with a limit has a folder of its own, so that nothing takes its tables for whole.
    `without`: pages of steps that failed (`failures`), or need what failed ones write.

    `jobs`: rule -> its jobs, which the files of rules fill in. What rules write is known
    once these have been read (`add_rules`), and with it `tables` and `chapters`.
    """

    def __init__(self, config, project: str | os.PathLike, without: Iterable[str] = ()):
        self.config = config
        self.project = Path(project)
        self.run = run_name(config.run, config.limit)
        self.folder = f"results/{self.run}"
        self.limited = f"trial run, first {config.limit} only" if config.limit else ""
        self.without = frozenset(without)
        self.models = config.models
        self.translators = config.translators
        self.datasets = config.datasets
        self.entries = {name: registry.get_model(name) for name in self.models}
        self.sets = {
            name: datasets.get_dataset(name)
            for name in [*config.datasets, *config.stored_vectors]
        }
        # Each file is looked at once, however many jobs depend on it.
        memory = tables.locate("_build/checksums.json")
        self.contents = cache(partial(checksums.contents, memory=memory))
        self.fingerprint = cache(tables.fingerprint)

        self.unable = self._unable()
        self.trained = self._trained()
        self.adaptations, self.adapted = self._adaptations()
        self.own_classes = self._own_classes()
        self.jobs: dict[str, list[Job]] = {}
        self.rules: dict[str, dict[str, str]] = {}
        self.tables: dict[str, list[str]] = {}
        self.made: set[str] = set()
        self.chapters: list[str] = []

    # Jobs: what the files of rules ask for.

    def pairs(self, task: str) -> list[Job]:
        """Return the run's models with its data sets for a task, but what `only` leaves
        out.
        """
        return [
            {"model": model, "dataset": dataset}
            for model, dataset in product(self.models, self.of_task(task))
            if self.evaluates(model, dataset)
        ]

    def of_task(self, task: str) -> list[str]:
        """Return the run's data sets for a task; InputError where none is called so."""
        if task not in datasets.TASKS:
            raise InputError(f"There is no task {task!r}: {near(task, datasets.TASKS)}")
        return [name for name in self.config.datasets if self.sets[name].task == task]

    def evaluates(self, model: str, dataset: str) -> bool:
        """Return whether a model is evaluated on a data set: on all, unless the
        config's `only` names others.
        """
        return dataset in self.config.only.get(model, [dataset])

    def classes(self) -> list[str]:
        """Return the class lists whose labels the run makes: the study's, those of its
        data sets, the user's.
        """
        # The labels that others released are for ImageNet alone: no word for a
        # pictogram.
        drawings = self.lexicons() or self.trained or self.makes("pictograms")
        ours = [*CLASSES] if drawings else [CLASSES[0]]
        return [*ours, *self._named_classes(), *self.own_classes]

    def _named_classes(self) -> list[str]:
        """Return the class lists of the run's data sets whose words ship."""
        named = {entry.labels: entry.classes for entry in self.sets.values()}
        return [
            name
            for name, classes in named.items()
            if classes and name in synsets.CLASS_LISTS
        ]

    def _own_classes(self) -> dict[str, str]:
        """Return the class lists of the user's own: name -> file."""
        listed = {
            entry.labels: entry.classes for entry in self.sets.values() if entry.classes
        }
        ours = {
            name: file
            for name, file in listed.items()
            if name not in synsets.CLASS_LISTS
        }
        return self.config.classes | ours

    def lexicons(self) -> bool:
        """Return whether the run takes words from lexicons, and not only the labels that
        Babel-ImageNet released.
        """
        sources = self.values("60_senses")["sources"]
        return bool({*sources} - {"babel-imagenet"})

    def makes(self, name: str) -> bool:
        """Return whether the run makes a data set of the miniature, as "pictograms"."""
        made_by = [entry.made_by.partition("_")[2] for entry in self.sets.values()]
        return name in made_by

    def _trained(self) -> list[str]:
        """Return the models that the run trains; all others take the image tower of
        picto-en, which is trained also where it is not evaluated.
        """
        described = self.config.gated_fusion.values()
        images_by = [wanted.image_model for wanted in described if wanted.image_model]
        entries = self.entries | {name: registry.get_model(name) for name in images_by}
        embedded = [
            registry.base_of(name) or name
            for name, entry in entries.items()
            if entry.embedded
        ]
        return list(dict.fromkeys(["picto-en", *embedded])) if embedded else []

    def _unable(self) -> dict[str, str]:
        """Return which models that ship as vectors cannot run here, and why."""
        models = {name for some in self.config.stored_vectors.values() for name in some}
        reasons = {
            name: bridge.unable(registry.get_model(name)) for name in sorted(models)
        }
        return {name: reason for name, reason in reasons.items() if reason}

    def stored(self) -> list[Job]:
        """Return the models that are evaluated on vectors that ship in the pictures'
        place, with their data sets.
        """
        return [
            {"model": model, "dataset": dataset}
            for dataset, models in self.config.stored_vectors.items()
            for model in models
            if model not in self.unable
        ]

    def pictured(self) -> list[Job]:
        """Return the model that classifies photographs which may be shown, where the
        run evaluates it on ImageNet's classes.
        """
        classes = {
            self.sets[job["dataset"]].labels
            for job in [*self.stored(), *self.pairs("zero-shot")]
            if job["model"] == example_pictures.MODEL
        }
        whole = {synsets.PARTS.get(name, name) for name in classes}
        evaluated = example_pictures.LABELS in whole
        return [{"model": example_pictures.MODEL}] if evaluated else []

    def ambiguous(self, source: str) -> list[Job]:
        """Return the data sets whose ambiguous words come from lexicons, or files."""
        return [
            {"dataset": name}
            for name in self.of_task("disambiguation")
            if self.sets[name].items_from == source
        ]

    def asked(self) -> list[str]:
        """Return the image-text-to-text models, which judge statements; translators
        whose scores come from files are known by these alone, and those that the run
        trains only translate.
        """
        others = {*self.config.external_scores, *self.config.gated_fusion}
        return [name for name in self.config.translators if name not in others]

    def translations(self) -> list[Job]:
        """Return the translators with the data sets that they are evaluated on."""
        pairs = product(self.config.translators, self.of_task("disambiguation"))
        external = self.config.external_scores
        return [
            {"model": name, "dataset": dataset}
            for name, dataset in pairs
            if dataset in external.get(name, [dataset])
        ]

    def described(self) -> list[Job]:
        """Return the captioners with the data sets whose images they describe."""
        pairs = product(self.config.captioners, self.of_task("retrieval"))
        return [{"model": name, "dataset": dataset} for name, dataset in pairs]

    def statements(self) -> list[str]:
        """Return the data sets of statements, each with one to train classifiers on."""
        return [name for name, entry in self.sets.items() if entry.trained_on]

    def judgements(self) -> list[Job]:
        """Return the models, and those that are asked, with the data sets to judge."""
        judges = [*self.models, *self.asked()]
        pairs = product(judges, self.statements())
        return [{"model": model, "dataset": dataset} for model, dataset in pairs]

    def read_statements(self) -> list[str]:
        """Return the data sets of statements that are read from files, with those that
        classifiers are trained on.
        """
        read = [name for name in self.statements() if not self.sets[name].made_by]
        both = [name for known in read for name in (known, self.sets[known].trained_on)]
        return list(dict.fromkeys(both))

    def statement_translations(self, dataset: str) -> str:
        """Return the user's table of translations of a data set's statements, "" for
        none.
        """
        place = self.config.statement_translations.get(dataset, "")
        return self._translated(place, "_en.csv")

    # Machine translation.

    def translated_texts(self) -> list[Job]:
        """Return the tables of texts and the statements to translate by machine, with
        each language to translate into.
        """
        return [
            {"translation": name, "lang": lang}
            for name, wanted in self.config.translations.items()
            for lang in wanted.languages
            if not wanted.templates
        ]

    def translated_prompts(self) -> list[Job]:
        """Return the sets of prompt templates to translate by machine."""
        return [
            {"translation": name}
            for name, wanted in self.config.translations.items()
            if wanted.templates
        ]

    def translation(self, name: str) -> dict:
        """Return the parameters that say what is translated, and by which model."""
        wanted = self.config.translations[name]
        settings = wanted.settings()
        if wanted.templates:
            return settings | {
                "templates": wanted.templates,
                "languages": wanted.languages,
            }
        if wanted.texts:
            return settings | {"texts": wanted.texts}
        annotations = self.material(wanted.statements)["annotations"]
        return settings | {"dataset": wanted.statements, "annotations": annotations}

    def translated_files(self, name: str) -> list[str]:
        """Return the user's files that are translated."""
        wanted = self.config.translations[name]
        return wanted.files() + (
            self.captions(wanted.statements) if wanted.statements else []
        )

    def _translated(self, place: str, ending: str) -> str:
        """Return the file of a translation that this run makes, where `place` names
        one; else `place`.
        """
        name = translation_named(place)
        return self.at(f"translations/{name}{ending}") if name else place

    def featured(self) -> list[Job]:
        """Return the models whose image vectors are shown, if any data set's are."""
        return [{"model": name} for name in self.models if self.config.image_features]

    def featured_images(self) -> dict[str, str]:
        """Return where the images of the data sets are whose image vectors are shown:
        data set -> its statements, or its images.
        """
        found = {}
        for name in self.config.image_features:
            entry = self.sets.get(name) or datasets.get_dataset(name)
            of_statements = entry.task == "reasoning"
            made = self.at(f"pairs/{name}.parquet")
            found[name] = made if of_statements else self.material(name)["images"]
        return found

    def with_other_label_sets(self) -> list[Job]:
        """Return the pairs to classify for which there are label sets to compare."""
        if not self.lexicons():
            return []
        return [
            job
            for job in self.pairs("zero-shot")
            if self.sets[job["dataset"]].other_label_sets
        ]

    def varied(self) -> list[Job]:
        """Return the models that are evaluated on all data sets on which the protocol
        is varied, or of these the `protocol_models`.
        """
        names = self.config.protocol_datasets
        chosen = self.config.protocol_models or self.models
        return [
            {"model": model}
            for model in self.models
            if names
            and model in chosen
            and not self.entries[model].needs_classes
            and all(self.evaluates(model, name) for name in names)
        ]

    def unrestricted(self) -> list[Job]:
        """Return the pairs to classify whose model can choose among any classes, and
        not within folds alone.
        """
        return [
            job
            for job in self.pairs("zero-shot")
            if not self.entries[job["model"]].needs_classes
        ]

    def _adaptations(self) -> tuple[dict[str, dict], dict[str, str]]:
        """Return the jobs that train adapters, name -> parameters, and the adapted
        models, name -> job.

        One job for all of an embedded model, else one for each training; models that
        are not evaluated are left out.
        """
        jobs, adapted = {}, {}
        for base, wanted in self.config.adaptations.items():
            if base not in self.models or not self.of_task("zero-shot"):
                continue
            self._check_evaluated(base, self.of_task("zero-shot")[0])
            # In order of names, so that a config in another order reruns nothing.
            given = json.dumps(wanted.model_dump(exclude_unset=True), sort_keys=True)
            given = {"model": base} | json.loads(given)
            if wanted.texts:
                given["texts"] = self._translated(wanted.texts, "_{lang}.csv")
            objectives = given["objectives"].items()
            for lang, (objective, seeds) in product(given["languages"], objectives):
                for seed in seeds:
                    variant = adaptation.variant(objective, wanted.text_source)
                    name = registry.adapted_name(base, lang, variant, seed)
                    if base in self.trained:
                        adapted[name], jobs[base] = base, given
                    else:
                        single = {
                            "languages": [lang],
                            "objectives": {objective: [seed]},
                        }
                        adapted[name], jobs[name] = name, given | single
        return jobs, adapted

    def _check_evaluated(self, base: str, dataset: str) -> None:
        """Raise InputError for a model to adapt that `only` keeps from the data set on
        which adapters are tested.
        """
        if not self.evaluates(base, dataset):
            raise InputError(
                f"The config adapts {base}, which only: evaluates on other data sets"
                f" than {dataset}: add {dataset} to them."
            )

    def gated_fusion(self) -> list[Job]:
        """Return the translators that the run trains."""
        return [{"model": name} for name in self.config.gated_fusion]

    def recipe_of(self, translator: str) -> dict:
        """Return what a config says of the training of a translator, with the place of
        its image model.
        """
        wanted = self.config.gated_fusion[translator]
        given = json.loads(json.dumps(wanted.model_dump(exclude_unset=True)))
        images_by = wanted.image_model
        where = {
            "image_checkpoint": self.checkpoint(images_by),
            "remote_code": self.consent(images_by),
        }
        return given | where

    def bridges(self, dataset: str) -> list[str]:
        """Return the bridges that are evaluated on a data set.

        They have towers in common: they share a cache and take turns, so that each
        picture and text is encoded once.
        """
        return [
            name
            for name, entry in self.entries.items()
            if entry.family == "bridge" and self.evaluates(name, dataset)
        ]

    # What the rules write, and the chapters on it.

    def add_rules(
        self,
        rules: Mapping[str, Mapping[str, str]],
        reading: Callable[["Plan", set[str]], set[str]],
    ) -> None:
        """Take what rules write, rule -> name -> pattern, and plan the chapters on it.

        Steps that failed are left out, those that need what they would have written
        (`reading`: the function of `graph.dependents`), and models, translators and
        data sets that have no job left.
        """
        self.rules = {rule: dict(outputs) for rule, outputs in rules.items()}
        planned = self._names()
        lost = self._leave_out(self.without)
        while lost and (pages := reading(self, lost)):
            lost |= self._leave_out(pages)
        gone = planned - self._names()
        self.models = [name for name in self.models if name not in gone]
        self.translators = [name for name in self.translators if name not in gone]
        self.datasets = [name for name in self.datasets if name not in gone]
        self.tables = self._tables()
        self.chapters = self._chapters()

    def _leave_out(self, pages: Collection[str]) -> set[str]:
        """Take the jobs with these pages out of the plan; return what they write."""
        lost = set()
        for rule, jobs in self.jobs.items():
            kept = [job for job in jobs if self.page(rule, job) not in pages]
            for job in jobs:
                lost.update([] if job in kept else self.outputs(rule, job).values())
            self.jobs[rule] = kept
        return lost

    def _names(self) -> set[str]:
        """Return the models, translators and data sets that have a job."""
        jobs = [job for of_rule in self.jobs.values() for job in of_rule]
        wildcards = ("model", "dataset")
        return {job[name] for job in jobs for name in wildcards if name in job}

    def page(self, name: str, job: Job) -> str:
        """Return the name of the page of a job of a rule, or of a chapter."""
        if name in self.rules:
            return Path(self.rules[name]["page"].format(**job)).stem
        return "_".join([name, *job.values()])

    def notebook_of(self, rule: str) -> str:
        """Return the name of a rule's notebook, as its pages begin with it."""
        return Path(self.rules[rule]["page"]).stem.partition("_{")[0]

    def outputs(self, rule: str, job: Job) -> dict[str, str]:
        """Return what a job writes, its page included: name -> path."""
        patterns = self.rules[rule]
        return {name: pattern.format(**job) for name, pattern in patterns.items()}

    def _tables(self) -> dict[str, list[str]]:
        """Return the tables that the rules make: a kind, mostly a folder of the run ->
        its files.
        """
        found = {}
        for rule, patterns in self.rules.items():
            for pattern in patterns.values():
                path = pattern.removeprefix(f"{self.folder}/")
                if not path.endswith(".parquet"):
                    continue
                kind = "losses" if "_losses" in path else path.partition("/")[0]
                paths = [pattern.format(**job) for job in self.jobs[rule]]
                found.setdefault(kind, []).extend(paths)
        # What others computed and somebody took in (`babelatlas merge`): it is there,
        # and no rule makes it.
        merged = sorted(tables.locate(self.folder).glob("merged/*.parquet"))
        return found | {"merged": [self.at(f"merged/{path.name}") for path in merged]}

    def _chapters(self) -> list[str]:
        """Return the chapters of the run.

        Those on tables that the run does not make are left out, unless the config names
        them: then InputError.
        """
        named = self.config.chapters
        folder = self.project / "notebooks" / "chapters"
        known = sorted(path.stem for path in folder.glob("*.ipynb"))
        if strange := next((name for name in named if name not in known), None):
            raise InputError(
                f"The config names the chapter {strange!r}: {near(strange, known)}"
            )
        chapters = [name for name in named or known if name not in self.without]
        for name in chapters:
            self._check_reads(name)
        while True:
            written = [
                path for name in chapters for path in self.written(name).values()
            ]
            made = {path for paths in self.tables.values() for path in paths}
            self.made = made.union(written)
            lacking = {name: self._lacking(name) for name in chapters}
            if named and not self.without and any(lacking.values()):
                raise InputError(next(filter(None, lacking.values())))
            kept = [name for name in lacking if not lacking[name]]
            if kept == chapters:
                break
            chapters = kept
        if TITLE_PAGE not in chapters and TITLE_PAGE not in self.without:
            raise InputError(
                f"The book has no title page: add {TITLE_PAGE} to the config's chapters."
            )
        return chapters

    def _check_reads(self, chapter: str) -> None:
        """Raise InputError for a chapter that does not list the tables that it reads."""
        declared = self.declared(chapter)
        from_run = notebooks.READ_FROM in str(declared["parameters"])
        if from_run or {*declared["inputs"]} - {"data_files"} == {"results"}:
            raise InputError(
                f"The chapter {chapter} does not list what it reads: add reads = [...]"
                " to its inputs."
            )

    def chapter_jobs(self, chapter: str) -> list[Job]:
        """Return the jobs of a chapter: one, or one for each model."""
        jobs = (
            [{"model": model} for model in self.models]
            if chapter == MODEL_PAGE
            else ONCE
        )
        return [job for job in jobs if self.page(chapter, job) not in self.without]

    def written(self, chapter: str) -> dict[str, str]:
        """Return what a chapter writes: name -> path in this run; of a model's page
        with {model} in it.
        """
        known = self.declared(chapter)
        model = known["parameters"].get("model", "") if chapter == MODEL_PAGE else ""
        found = {
            name: notebooks.placed(value, self.run)
            for name, value in known["outputs"].items()
            if value
        }
        return {
            name: path.replace(model, "{model}") if model else path
            for name, path in found.items()
        }

    def reads(self, chapter: str) -> list[str]:
        """Return the tables of this run that a chapter reads: those of the kinds that
        it lists, and single ones.
        """
        single = [
            path
            for path in self.single(chapter).values()
            if path.startswith(f"{self.folder}/")
        ]
        paths = dict.fromkeys([*self._listed(chapter), *single])
        return [path for path in paths if path in self.made]

    def first_page(self) -> str:
        """Return the chapter whose page a first run renders before all else, so that
        there is something to read: the first that waits for no table of the run; "" for
        none.
        """
        at_once = [chapter for chapter in self.chapters if not self.reads(chapter)]
        return at_once[0] if at_once else ""

    def single(self, chapter: str) -> dict[str, str]:
        """Return the single files that a chapter reads: name -> path; "" for a table
        that nothing of this run makes.
        """
        declared = notebooks.placed(self.declared(chapter)["inputs"], self.run)
        given = self.configured(chapter)
        paths = {name: given.get(name, path) for name, path in declared.items()}
        return {
            name: "" if self._is_ours(path) and path not in self.made else path
            for name, path in paths.items()
            if isinstance(path, str) and "." in path
        }

    def places(self, chapter: str) -> dict[str, str]:
        """Return what a chapter is told of tables that nothing of this run makes: ""."""
        return {name: path for name, path in self.single(chapter).items() if not path}

    def _is_ours(self, path: str) -> bool:
        return path.startswith(f"{self.folder}/")

    def _listed(self, chapter: str, *keys: str) -> list[str]:
        """Return the files that stand for the kinds and tables in a chapter's lists
        `reads` and `reads_if_made`.
        """
        inputs = self.declared(chapter)["inputs"]
        found = []
        for key in keys or ("reads", "reads_if_made"):
            for name in inputs.get(key, []):
                if "." in name:
                    found.append(self.at(name))
                elif name in self.tables:
                    found += self.tables[name]
                else:
                    raise InputError(
                        f"The chapter {chapter} reads {name!r}:"
                        f" {near(name, self.tables)}"
                    )
        return found

    def _lacking(self, chapter: str) -> str:
        """Return a sentence on what a chapter reads and this run does not make, ""
        where there is nothing.
        """
        listed = self.declared(chapter)["inputs"].get("reads", [])
        single = [name for name in listed if "." in name]
        unmade = [name for name in single if self.at(name) not in self.made]
        without_models = chapter == MODEL_PAGE and not self.models
        if (listed and not self._listed(chapter, "reads")) or without_models:
            what = (
                f"{' and '.join(listed)}, which this run does not make: add models or"
                " data sets that do"
            )
        elif unmade:
            what = (
                f"{unmade[0]}, which no chapter of this config writes: add the one that"
                " does"
            )
        else:
            return ""
        return f"The chapter {chapter} reads {what}, or leave {chapter} out."

    def all_jobs(self) -> list[tuple[str, Job]]:
        """Return every job of the run with its rule, or its chapter."""
        stages = [(rule, job) for rule in self.rules for job in self.jobs[rule]]
        chapters = [
            (chapter, job)
            for chapter in self.chapters
            for job in self.chapter_jobs(chapter)
        ]
        return stages + chapters

    def all_pages(self) -> list[str]:
        """Return the names of the pages of all jobs, stages first."""
        return [self.page(name, job) for name, job in self.all_jobs()]

    def all_files(self) -> list[str]:
        """Return every file of the run: what is deleted of them is made again."""
        found = []
        for name, job in self.all_jobs():
            if name in self.rules:
                found += self.outputs(name, job).values()
            else:
                written = self.written(name).values()
                found += [path.format(**job) for path in written]
                found.append(self.at(f"notebooks/{self.page(name, job)}.ipynb"))
        return list(dict.fromkeys(found))

    # What a notebook declares, and what it is told.

    def notebook(self, name: str) -> str:
        """Return the path of a notebook, from here."""
        return _notebook(self.project / "notebooks", name)

    def declared(self, name: str) -> dict[str, dict]:
        """Return what a notebook declares (`notebooks.declared`)."""
        return notebooks.declared(self.notebook(name))

    def configured(self, name: str) -> dict:
        """Return what the config says of the parameters of a notebook."""
        given = self.config.parameters.get(name, {})
        if name not in PROMPTED:
            return given
        return given | {
            key: self._prompts(given[key]) for key in PROMPTS if key in given
        }

    def _prompts(self, names: str | list[str]) -> str | list[str]:
        """Return sets of prompts with the files of those that this run translates."""
        if isinstance(names, str):
            return self._translated(names, ".parquet")
        return [self._translated(name, ".parquet") for name in names]

    def values(self, name: str) -> dict:
        """Return all that a notebook declares, with the values of this run's config."""
        return notebooks.defaults(self.notebook(name)) | self.configured(name)

    def at(self, path: str) -> str:
        """Return where a file of the run is: results/demo/zeroshot/a_b.parquet."""
        return f"{self.folder}/{path}"

    def shared(self, name: str) -> dict:
        """Return what every notebook that declares it is told, of the run's config, and
        where the tables of this run are.
        """
        config = self.config
        known = {
            "seed": config.seed,
            "models": self.models,
            "datasets": self.datasets,
            "tiers": self.tiers(),
            "translators": self.translators,
            "protocol_datasets": config.protocol_datasets,
            "image_folders": config.images,
            "model_pages": MODEL_PAGE in self.chapters,
            "trial_limit": config.limit or 0,
        }
        declared = self.declared(name)
        inputs = declared["inputs"]
        known |= notebooks.placed(inputs, self.run)
        values = inputs | declared["parameters"]
        return {
            name: value
            for name, value in known.items()
            if name in values and value != values[name]
        }

    def of_job(self, notebook: str, job: Job) -> dict:
        """Return what follows from a job's model and data set, for every notebook that
        declares it.
        """
        found = {"run": self.run, "results": self.folder}
        if model := job.get("model", ""):
            found |= {
                "model": model,
                "checkpoint": self.checkpoint(model),
                "remote_code": self.consent(model),
                "cache": self._cache(notebook, job),
            }
        if dataset := job.get("dataset", ""):
            found |= {"dataset": dataset, **self.material(dataset)}
        return found

    def _cache(self, notebook: str, job: Job) -> str:
        """Return the folder of a job's stored vectors.

        Jobs share none, since batches decide last digits; bridges share one, as theirs
        do not depend on batches.
        """
        name = job["model"]
        stored = [of_stored["model"] for of_stored in self.stored()]
        entry = registry.get_model(name) if name in stored else self.entries.get(name)
        if entry and entry.family == "bridge":
            return self.at("cache/bridge")
        stage = notebook.partition("_")[2]
        parts = filter(None, [stage, job.get("dataset")])
        return self.at(f"cache/{job['model']}/{'_'.join(parts)}")

    def told(self, notebook: str, job: Job, set_by_graph: dict) -> dict:
        """Return all parameters of a job that are not the notebook's defaults.

        From weak to strong: what the run shares, what the config gives, and what only
        the graph can set: `set_by_graph`, and of the job's model and data set, and of
        the named files of its rule, what the notebook declares.
        """
        return self.shared(notebook) | self.configured(notebook) | set_by_graph

    def check_told(self, notebook: str, names: Iterable[str]) -> None:
        """Raise InputError where the config gives a parameter that the graph sets: it
        would have no effect.
        """
        ours = {*names, "reads", "reads_if_made"}
        strange = next(
            (name for name in self.configured(notebook) if name in ours), None
        )
        if strange:
            raise InputError(
                f"The config gives the parameter {strange!r} of {notebook}, which the"
                " graph sets itself: leave it out; models, data sets, images,"
                " annotations and own words have keys of their own."
            )

    def tiers(self) -> dict:
        """Return the languages of the miniature's training mix by level; none without
        training.
        """
        if not self.trained:
            return {}
        mix = self.values("63_train")
        levels = {level: mix[level] for level in ("high", "mid", "low")}
        return {"English": ["en"], **levels}

    def material(self, dataset: str) -> dict[str, str | list[str]]:
        """Return the parameters that say where images and labels or annotations are, as
        far as the graph knows.
        """
        entry = datasets.get_dataset(dataset)
        given = self.config.images.get(dataset, "")
        images = entry.images or given or download.at_hand(entry.places)
        if dataset in self.config.stored_vectors:
            images = os.path.relpath(stored_vectors.place(entry.vectors), tables.root())
        texts = entry.annotations or self.config.annotations.get(dataset, "")
        if entry.made_by and entry.task in ("zero-shot", "retrieval"):
            drawn = "pictograms" if entry.task == "retrieval" else dataset
            images = self.at(f"images/{drawn}.parquet")
            texts = self.at(f"captions/{dataset}.parquet")
        if entry.task == "zero-shot":
            table = entry.label_table or self.at(f"labels/{entry.labels}.parquet")
            with_the_images = entry.labels == entry.fetched_as != ""
            return {"images": images, "labels": images if with_the_images else table}
        return {"images": images, "annotations": texts}

    def files(self, dataset: str) -> list[str]:
        """Return what an evaluation has to wait for, or that makes it run again: what
        this run makes, and captions.
        """
        paths = [str(path) for path in self.material(dataset).values()]
        made = [path for path in paths if self._is_ours(path)]
        return made + self.captions(dataset)

    def captions(self, dataset: str) -> list[str]:
        """Return the user's files of captions, sentences or labels of a data set, as
        the config names them.
        """
        entry = datasets.get_dataset(dataset)
        own_files = [path for path in (entry.annotations, entry.label_table) if path]
        given = self.config.annotations.get(dataset, "")
        return own_files + datasets.annotation_files(given, entry.annotation_files)

    def templates(self, notebook: str) -> list[str]:
        """Return the files of prompt templates that an evaluation may read; none for
        sets with a name.
        """
        if notebook not in PROMPTED:
            return []
        values = self.values(notebook)
        names = flat(values.get(key, []) for key in PROMPTS)
        return [
            name for name in dict.fromkeys(names) if name.endswith((".parquet", ".csv"))
        ]

    def verified(self, classes: str) -> str:
        """Return the file of corrections for a class list: its own, or that of the list
        that it is a part of; "" for none.

        Photographs have a label set of a hundred of ImageNet's classes, and corrections
        of all its labels are for it, too.
        """
        whole = synsets.PARTS.get(classes, classes)
        return self.config.verified_labels.get(whole, "")

    def checkpoint(self, name: str) -> str:
        """Return where a model or translator is: trained here, a user's file or folder;
        "" takes the published one.
        """
        if name in {*self.trained, *self.adapted, *self.config.gated_fusion}:
            return f"{self.folder}/models/{name}"
        return self.config.place(name)

    def weights(self, name: str) -> list[str]:
        """Return the file of a model that this run trains, for which an evaluation
        waits.
        """
        if name in self.trained:
            return [self.at(f"models/{name}/open_clip_model.safetensors")]
        if name in self.adapted:
            return [self.at(f"adaptations/{self.adapted[name]}.parquet")]
        if name in self.config.gated_fusion:
            return [self.at(f"gated_fusion/{name}.parquet")]
        return []

    def consent(self, name: str) -> str:
        """Return the repository of a model's code, if the config lets it run here; a
        user's own has none.
        """
        source = getattr(self.entries.get(name), "source", None)
        for repository in self.config.remote_code:
            if source and repository.split("@")[0] == source.repository:
                return repository
        return ""

    def gpus(self, model: str) -> int:
        """Return how many GPUs a job of a model takes: one; the miniature's models, and
        files of scores or captions, take none. A translator that the run trains takes
        what its image model does.
        """
        if model in self.config.gated_fusion:
            model = self.config.gated_fusion[model].image_model or "picto-en"
        adapted_from = registry.base_of(model) or model
        base = self.adaptations.get(model, {}).get("model", adapted_from)
        if captioners.is_table(self.config.checkpoints.get(model, "")):
            return 0
        return int(base not in [*self.trained, *self.config.external_scores])

    def scores_of(self, translator: str, dataset: str) -> dict:
        """Return the parameters that say where the scores of a translator come from, if
        from files.
        """
        scores = self.config.external_scores.get(translator, {}).get(dataset, {})
        if isinstance(scores, str):
            return {"scores": [scores], "annotations": ""}
        files = [file for pairs in scores.values() for file in pairs]
        langs = [lang for lang, pairs in scores.items() for _ in pairs[::2]]
        return {"scores": files, "scores_lang": " ".join(langs)} if files else {}

    def constraints(self, jobs: list[Job]) -> dict[str, str]:
        """Return what the wildcards of a rule may be, as patterns, so that no file name
        can be read in two ways.
        """
        names = {name for job in jobs for name in job}
        values = {
            name: sorted({re.escape(job[name]) for job in jobs}) for name in names
        }
        nothing = "(?!)"  # a rule without jobs makes no file
        wildcards = ("model", "dataset", "classes", "translation", "lang")
        free = dict.fromkeys(wildcards, nothing)
        return free | {name: "|".join(known) for name, known in values.items()}

    # What else a job depends on.

    def depends(self, notebook: str, job: Job) -> str:
        """Return what a job depends on besides its files, as JSON: the entries of its
        model and data sets, sums over the user's files.

        Files of the user's own count by their contents, those of published data sets by
        names and sizes.
        """
        name = job.get("model", "")
        adapted = self.adaptations.get(name, {})
        model = adapted.get("model", name)
        known = self._datasets_of(notebook, job)
        own_files = [self.config.place(model), *self._training_files(adapted)]
        if "translation" in job:
            own_files += self.translated_files(job["translation"])
        if notebook == "75_gated_fusion":
            fusion = self.config.gated_fusion[name]
            own_files += [*fusion.files(), self.config.place(fusion.image_model)]
            model = fusion.image_model
        # A table of pictures stands next to them.
        own_files += [_folder(entry.images) for entry in known if entry.custom]
        published = flat(
            self.material(entry.name)["images"] for entry in known if not entry.custom
        )
        published = [path for path in published if path and not self._is_ours(path)]
        # What is not there, a dry run says.
        sums = {path: self.contents(path) for path in own_files if _is_there(path)}
        sums |= {path: self.fingerprint(path) for path in published if _is_there(path)}
        listed = {entry.name: entry for entry in translators.TRANSLATORS} | self.entries
        if notebook == "70_captions":
            listed = captioners.listed()
        parts = {
            "model": listed.get(model),
            "datasets": known,
            "languages": self.config.custom_languages,
            "files": sums | self.given_files(notebook),
        }
        return json.dumps(
            parts, default=lambda entry: entry.model_dump(), sort_keys=True
        )

    def given_files(self, notebook: str) -> dict[str, str]:
        """Return sums over the user's files that the config names among the parameters
        of a notebook: path -> sum.
        """
        values = texts_in(self.configured(notebook))
        tables_too = (".csv", ".parquet")
        paths = [
            path
            for path in values
            if ("/" in path or path.endswith(tables_too)) and not self._is_ours(path)
        ]
        return {path: self.contents(path) for path in paths if _is_there(path)}

    def _datasets_of(self, notebook: str, job: Job) -> list:
        """Return the entries of the data sets that a job reads."""
        if notebook == "76_protocols":
            names = self.config.protocol_datasets
        elif notebook == "79_image_features":
            names = self.config.image_features
        elif notebook == "73_adapt":
            names = self.of_task("zero-shot")[:1]
        else:
            names = [job["dataset"]] if "dataset" in job else []
        known = [self.sets.get(name) or datasets.get_dataset(name) for name in names]
        trained_on = [
            datasets.get_dataset(entry.trained_on)
            for entry in known
            if entry.trained_on and not entry.made_by
        ]
        return known + trained_on

    def _training_files(self, adapted: dict) -> list[str]:
        """Return the user's files that an adapter is trained on."""
        paths = _texts_by_language(adapted)
        own_files = [path for path in paths if not self._is_ours(path)]
        return [adapted.get("images", ""), *own_files]

    def training_translations(self, name: str) -> list[str]:
        """Return the translations by this run that an adapter is trained on."""
        paths = _texts_by_language(self.adaptations[name])
        return [path for path in paths if self._is_ours(path)]


def _texts_by_language(adapted: dict) -> list[str]:
    """Return the file of texts in each language that an adapter is trained in."""
    texts = adapted.get("texts", "")
    languages = adapted.get("languages", ())
    if adapted.get("text_source") == "wikimatrix":
        return [mined_sentences.expected_file(texts, lang) for lang in languages]
    return [texts.replace("{lang}", lang) for lang in languages]


def run_name(run: str, limit: int | None) -> str:
    """Return the name of a run's folder in results/, that of a trial run with its
    limit.
    """
    return f"{run}-first-{limit}" if limit else run


def translation_named(place: str) -> str:
    """Return the name of the run's own translation that stands in the place of a file,
    "" for a path.

    >>> translation_named("translations/captions"), translation_named("data/de.csv")
    ('captions', '')
    """
    folder, _, name = place.partition("/")
    is_name = folder == "translations" and "/" not in name and "." not in name
    return name if is_name else ""


def flat(values: Iterable) -> list[str]:
    """Return texts and lists of texts as one list."""
    found = []
    for value in values:
        found += [value] if isinstance(value, str) else value
    return found


def texts_in(value) -> Iterator[str]:
    """Yield the texts in a value, at any depth of lists and mappings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts_in(inner)


def _folder(path: str) -> str:
    return os.path.dirname(path) if path.endswith((".csv", ".parquet")) else path


def _is_there(path: str) -> bool:
    return bool(path) and tables.locate(path).exists()


@cache
def _notebook(folder: Path, name: str) -> str:
    return os.path.relpath(notebooks.find(folder, name))
