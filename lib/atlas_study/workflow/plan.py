"""A run as planned from its config: its jobs, the files that these read and write, and
all their parameters.
"""

import json
import os
import re
from collections.abc import Iterable
from functools import cache, partial
from itertools import product
from pathlib import Path
from types import SimpleNamespace

from atlas_study.workflow import notebooks
from atlas_study.workflow.stages import (
    ALONE,
    CLASSES,
    PROMPTED,
    PROMPTS,
    STAGES,
    Stage,
    depends,
)
from babelatlas.base import checksums, download, synsets, tables
from babelatlas.base.errors import InputError, near
from babelatlas.datasets import registry as datasets
from babelatlas.datasets import stored_vectors
from babelatlas.models import registry
from babelatlas.models.loaders import bridge

TITLE_PAGE = "00_summary"
MODEL_PAGE = "43_model"  # the one chapter with a page for each model
# Files about all models and data sets, of which a stage needs the entries of its own
# job (`stages.depends`).
LISTS = ("models.toml", "models_sources.csv", "training_languages.csv", "datasets.toml")
LISTS += ("translators.toml", "translators_sources.csv")


class Plan:
    """What a checked config makes: the jobs of stages and chapters, their files and
    their parameters.

    `config`: a `config.Config`; `project`: the folder with notebooks/ and book/.
    `stages`: the entries of stages and chapters with their jobs. A run with a limit has
    a folder of its own, so that nothing takes its tables for whole. `without`: pages of
    steps that failed (`failures`), which are left out with all that needs what they
    write.
    """

    def __init__(self, config, project: str | os.PathLike, without: Iterable[str] = ()):
        self.limited = f"trial run, first {config.limit} only" if config.limit else ""
        self.run = run_name(config.run, config.limit)
        self.config, self.project, self.folder = (
            config,
            Path(project),
            f"results/{self.run}",
        )
        self.models, self.datasets = config.models, config.datasets
        self.without, self.lost = frozenset(without), set()
        # Each file is looked at once, however many jobs depend on it.
        self.contents = cache(
            partial(checksums.contents, memory=tables.locate("_build/checksums.json"))
        )
        self.fingerprint = cache(tables.fingerprint)
        # Models evaluated on vectors that ship in the pictures' place, with their data
        # sets; why others are left out.
        wanted = [
            (model, name)
            for name, models in config.stored_vectors.items()
            for model in models
        ]
        self.unable = {
            model: reason
            for model, _ in wanted
            if (reason := bridge.unable(registry.get_model(model)))
        }
        self.stored = [pair for pair in wanted if pair[0] not in self.unable]
        self.entries = {name: registry.get_model(name) for name in self.models}
        # They have towers in common: they share a cache and take turns, so that each
        # picture and text is encoded once.
        self.bridges = [
            name for name, entry in self.entries.items() if entry.family == "bridge"
        ]
        self.sets = {
            name: datasets.get_dataset(name)
            for name in [*config.datasets, *config.stored_vectors]
        }
        made_by = [entry.made_by.partition("_")[2] for entry in self.sets.values()]
        self.drawn, self.scenes = "pictograms" in made_by, "scenes" in made_by
        embedded = [
            registry.base_of(name) or name
            for name, entry in self.entries.items()
            if entry.embedded
        ]
        # All others take the image tower of picto-en, which is trained also where it is
        # not evaluated.
        self.trained = list(dict.fromkeys(["picto-en", *embedded])) if embedded else []
        self.adaptations, self.adapted = self._adaptations()
        # Image-text-to-text models, which judge statements; the others are known by
        # scores alone.
        self.asked = [
            name for name in config.translators if name not in config.external_scores
        ]
        pairs = product(config.translators, self.of_task("disambiguation"))
        self.translation = [
            pair
            for pair in pairs
            if pair[1] in config.external_scores.get(pair[0], pair)
        ]
        listed = {
            entry.labels: entry.classes for entry in self.sets.values() if entry.classes
        }
        named = [
            name for name in listed if name in synsets.CLASS_LISTS
        ]  # their words ship
        self.own_classes = config.classes | {
            name: file for name, file in listed.items() if name not in named
        }
        # The labels that others released are for ImageNet alone: no word for a
        # pictogram, no second one to compare.
        self.lexicons = bool({*self.values("senses")["sources"]} - {"babel-imagenet"})
        self.classes = [
            *CLASSES[: 2 if self.lexicons or self.trained or self.drawn else 1],
            *named,
            *self.own_classes,
        ]
        # Data sets of statements, and with those that classifiers are trained on the
        # ones that are read from files.
        self.judged = [name for name, entry in self.sets.items() if entry.trained_on]
        read = [name for name in self.judged if not self.sets[name].made_by]
        self.statements = list(
            dict.fromkeys(
                one for name in read for one in (name, self.sets[name].trained_on)
            )
        )
        self.stages = {stage: stage.jobs(self) for stage in STAGES}
        if self.without:
            self._leave_out()
        self.tables = self._tables()
        self.chapters = self._chapters()

    def _leave_out(self) -> None:
        """Take out the jobs that failed or lack what failed ones write, then models and
        data sets left with none.
        """
        planned = [job for jobs in self.stages.values() for job in jobs]
        for stage, jobs in self.stages.items():
            possible = []
            for job in jobs:
                needed = set(_flat(self.inputs(stage, *job).values()))
                if self.page(stage, *job) in self.without or needed & self.lost:
                    self.lost.update(self.outputs(stage, *job).values())
                else:
                    possible.append(job)
            self.stages[stage] = possible
        left = [job for jobs in self.stages.values() for job in jobs]
        gone = {name for job in planned for name in job} - {
            name for job in left for name in job
        }
        self.models = [name for name in self.models if name not in gone]
        self.datasets = [name for name in self.datasets if name not in gone]

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
            # In order of names, so that a config in another order reruns nothing.
            told = {"model": base} | json.loads(
                json.dumps(wanted.model_dump(exclude_unset=True), sort_keys=True)
            )
            for lang, (objective, seeds) in product(
                told["languages"], told["objectives"].items()
            ):
                for seed in seeds:
                    name = registry.adapted_name(base, lang, objective, seed)
                    adapted[name] = base if base in self.trained else name
                    one = (
                        {}
                        if base in self.trained
                        else {"languages": [lang], "objectives": {objective: [seed]}}
                    )
                    jobs[adapted[name]] = told | one
        return jobs, adapted

    def of_task(self, task: str) -> list[str]:
        """Return the run's data sets for a task."""
        return [name for name in self.config.datasets if self.sets[name].task == task]

    def evaluates(self, model: str, dataset: str) -> bool:
        """Return whether a model is evaluated on a data set: on all, unless the
        config's `only` names others.
        """
        return dataset in self.config.only.get(model, [dataset])

    def notebook(self, name: str) -> str:
        """Return the path of a chapter, or of the stage with a name (its number is the
        file's), from here.
        """
        return _notebook(self.project / "notebooks", name)

    def declared(self, name: str) -> dict[str, dict]:
        """Return what the notebook of a stage or chapter declares
        (`notebooks.declared`).
        """
        return notebooks.declared(self.notebook(name))

    def configured(self, name: str) -> dict:
        """Return what the config says of the parameters of a notebook."""
        return self.config.parameters.get(Path(self.notebook(name)).stem, {})

    def values(self, name: str) -> dict:
        """Return all that a notebook declares, with the values of this run's config."""
        return notebooks.defaults(self.notebook(name)) | self.configured(name)

    def at(self, path: str, one: str = "{one}", dataset: str = "{dataset}") -> str:
        """Return where a file of a job is, or the pattern:
        results/demo/zeroshot/a_b.parquet; a folder for "x/".
        """
        ending = "" if "." in path or path.endswith("/") else ".parquet"
        return f"{self.folder}/{path.rstrip('/')}{ending}".replace(
            "{one}", one
        ).replace("{dataset}", dataset)

    def page(self, stage: Stage, one: str = "{one}", dataset: str = "{dataset}") -> str:
        """Return the name of a job's page, or the pattern of those of a stage."""
        parts = zip((one, dataset), zip(*self.stages[stage], strict=True), strict=True)
        return "_".join(
            [
                Path(self.notebook(stage.name)).stem,
                *(name for name, known in parts if any(known)),
            ]
        )

    def outputs(self, stage: Stage, *job: str) -> dict[str, str]:
        """Return what a job writes, or the patterns of a stage: name -> path."""
        return {key: self.at(path, *job) for key, path in stage.outputs.items()}

    def inputs(self, stage: Stage, *job: str) -> dict[str, str | list[str]]:
        """Return what a job reads or waits for, but its code: name -> path or paths."""
        return {
            key: path(self, *job) if callable(path) else self.at(path, *job)
            for key, path in stage.inputs.items()
        }

    def _tables(self) -> dict[str, list[str]]:
        """Return the tables that the stages make: a kind, mostly a folder of the run ->
        its files.
        """
        found = {}
        for stage in STAGES:
            for path in (path for path in stage.outputs.values() if "." not in path):
                kind = "losses" if path.endswith("_losses") else path.partition("/")[0]
                found.setdefault(kind, []).extend(
                    self.at(path, *job) for job in self.stages[stage]
                )
        # What others computed and somebody took in (`babelatlas merge`): it is there,
        # and no stage makes it.
        merged = sorted(tables.locate(self.folder).glob("merged/*.parquet"))
        return found | {
            "merged": [f"{self.folder}/merged/{path.name}" for path in merged]
        }

    def all_pages(self) -> list[str]:
        """Return the names of the pages of all jobs, stages first."""
        return [
            self.page(stage, *job)
            for stage, jobs in self.stages.items()
            for job in jobs
        ]

    def all_files(self) -> list[str]:
        """Return every file of the run: what is deleted of them is made again."""
        jobs = [(stage, *job) for stage, jobs in self.stages.items() for job in jobs]
        made = [path for job in jobs for path in self.outputs(*job).values()]
        return [
            *made,
            *(f"{self.folder}/notebooks/{name}.ipynb" for name in self.all_pages()),
        ]

    def _chapters(self) -> list[str]:
        """Return the chapters of the run, which become entries of `stages`.

        Those on tables that the run does not make are left out, unless the config names
        them: then InputError.
        """
        named = self.config.chapters
        known = sorted(
            path.stem
            for path in (self.project / "notebooks" / "chapters").glob("*.ipynb")
        )
        if strange := next((name for name in named if name not in known), None):
            raise InputError(
                f"The config names the chapter {strange!r}: {near(strange, known)}"
            )
        chapters = [name for name in named or known if name not in self.without]
        for name in chapters:
            own = self.declared(name)
            if notebooks.READ_FROM in str(own["parameters"]) or [*own["inputs"]] == [
                "results"
            ]:
                raise InputError(
                    f"The chapter {name} does not list what it reads: add reads = [...]"
                    " to its inputs."
                )
        while True:
            written = [
                path for name in chapters for path in self._written(name).values()
            ]
            self.made = {
                path for paths in self.tables.values() for path in paths
            }.union(written)
            lacking = {name: self._lacking(name) for name in chapters}
            if named and not self.without and any(lacking.values()):
                raise InputError(next(filter(None, lacking.values())))
            kept = [name for name in lacking if not lacking[name]]
            if kept == chapters:
                break
            chapters = kept
        if TITLE_PAGE not in chapters and TITLE_PAGE not in self.without:
            raise InputError(
                f"The book has no title page: add {TITLE_PAGE} to the config's"
                " chapters."
            )
        for name in chapters:
            stage = self._chapter(name)
            self.stages[stage] = (
                [(model, "") for model in self.models] if name == MODEL_PAGE else ALONE
            )
            self.stages[stage] = [
                job
                for job in self.stages[stage]
                if self.page(stage, *job) not in self.without
            ]
        return chapters

    def _chapter(self, name: str) -> Stage:
        """Return the entry of a chapter: what it writes as its cell of outputs says,
        below the folder of the run.
        """
        paths = {
            key: path.removeprefix(f"{self.folder}/")
            for key, path in self._written(name).items()
        }
        outputs = {
            key: path if "." in path else f"{path}/" for key, path in paths.items()
        }
        absent = {key: path for key, path in self.single(name).items() if path == ""}
        reads = {"tables": lambda plan, one, dataset: plan.reads(name)}
        return Stage(
            name,
            lambda plan: ALONE,
            outputs,
            reads,
            lambda *job: absent,
            rule=f"chapter_{name}",
        )

    def _written(self, chapter: str) -> dict[str, str]:
        """Return what a chapter writes: name -> path in this run; of a model's page
        with {one} for the model.
        """
        known = self.declared(chapter)
        model = known["parameters"].get("model", "") if chapter == MODEL_PAGE else ""
        found = {
            name: notebooks.placed(value, self.run)
            for name, value in known["outputs"].items()
            if value
        }
        return {
            name: path.replace(model, "{one}") if model else path
            for name, path in found.items()
        }

    def single(self, chapter: str) -> dict[str, str]:
        """Return the single files that a chapter reads: name -> path; "" for a table
        that nothing of this run makes.
        """
        placed = notebooks.placed(self.declared(chapter)["inputs"], self.run)
        placed = {
            key: value
            for key, value in (placed | self.configured(chapter)).items()
            if key in placed
        }
        ours = {
            key: value
            for key, value in placed.items()
            if isinstance(value, str) and "." in value
        }
        return {
            key: (
                ""
                if value.startswith(f"{self.folder}/") and value not in self.made
                else value
            )
            for key, value in ours.items()
        }

    def _listed(self, chapter: str, *keys: str) -> list[str]:
        """Return the files that stand for the kinds and tables in a chapter's lists
        `reads` and `reads_if_made`.
        """
        inputs, found = self.declared(chapter)["inputs"], []
        for name in (
            name
            for key in keys or ("reads", "reads_if_made")
            for name in inputs.get(key, [])
        ):
            if "." not in name and name not in self.tables:
                raise InputError(
                    f"The chapter {chapter} reads {name!r}: {near(name, self.tables)}"
                )
            found += [self.at(name)] if "." in name else self.tables[name]
        return found

    def reads(self, chapter: str) -> list[str]:
        """Return the tables of this run that a chapter reads: those of the kinds that
        it lists, and single ones.
        """
        single = [
            path
            for path in self.single(chapter).values()
            if path.startswith(f"{self.folder}/")
        ]
        return list(
            dict.fromkeys(
                path for path in [*self._listed(chapter), *single] if path in self.made
            )
        )

    def _lacking(self, chapter: str) -> str:
        """Return a sentence on what a chapter reads and this run does not make, ""
        where there is nothing.
        """
        listed = self.declared(chapter)["inputs"].get("reads", [])
        single = next(
            (name for name in listed if "." in name and self.at(name) not in self.made),
            "",
        )
        what = (
            f"{single}, which no chapter of this config writes: add the one that does"
            if single
            else ""
        )
        if (listed and not self._listed(chapter, "reads")) or (
            chapter == MODEL_PAGE and not self.models
        ):
            what = (
                f"{' and '.join(listed)}, which this run does not make: add models or"
                " data sets that do"
            )
        return what and f"The chapter {chapter} reads {what}, or leave {chapter} out."

    def common(self, stage: Stage, one: str, dataset: str) -> dict:
        """Return what the graph sets of every notebook that declares it: model and data
        set, and where files are.
        """
        found = {"run": self.run, "results": self.folder}
        found |= {"limit": self.config.limit or ""} if stage in STAGES else {}
        if one:
            # Jobs share none, since batches decide last digits; bridges share one, as
            # theirs do not depend on batches.
            own = f"{one}/{'_'.join(filter(None, [stage.name, dataset]))}"
            cache_folder = "bridge" if one in self.bridges else own
            found |= {
                "model": one,
                "checkpoint": self.checkpoint(one),
                "remote_code": self.consent(one),
            }
            found |= {"cache": f"{self.folder}/cache/{cache_folder}"}
        return found | (
            {"dataset": dataset, **self.material(dataset)} if dataset else {}
        )

    def own(self, stage: Stage, *job: str) -> dict:
        """Return the parameters of a job that only the graph can set."""
        names = notebooks.defaults(self.notebook(stage.name))
        places = (
            self.common(stage, *job)
            | self.inputs(stage, *job)
            | self.outputs(stage, *job)
        )
        known = {name: value for name, value in places.items() if name in names}
        return known | stage.parameters(self, *job)

    def parameters(self, stage: Stage, one: str = "", dataset: str = "") -> dict:
        """Return all parameters of a job that are not the notebook's defaults.

        From weak to strong: what the run shares (seed, models, data sets ...) and the
        places of inputs, what the config gives, and what the graph sets.
        """
        known, config = self.declared(stage.name), self.config
        declared = known["inputs"] | known["parameters"]
        shared = {
            "seed": config.seed,
            "models": self.models,
            "datasets": self.datasets,
            "tiers": self.tiers(),
        }
        shared |= {
            "translators": config.translators,
            "protocol_datasets": config.protocol_datasets,
        }
        shared |= {"model_pages": MODEL_PAGE in self.chapters}
        shared |= {
            name: notebooks.placed(value, self.run)
            for name, value in known["inputs"].items()
        }
        values = {
            name: value
            for name, value in shared.items()
            if name in declared and value != declared[name]
        }
        return values | self.configured(stage.name) | self.own(stage, one, dataset)

    def check_parameters(self) -> None:
        """Raise InputError where the config gives a parameter that the graph sets: it
        would have no effect.
        """
        for stage, jobs in self.stages.items():
            given = (
                {} if stage.rule == "zeroshot_stored" else self.configured(stage.name)
            )  # which has its own prompts
            ours = (
                {*self.own(stage, *jobs[0]), "reads", "reads_if_made"}
                if given and jobs
                else ()
            )
            if strange := next((name for name in given if name in ours), None):
                fix = (
                    "leave it out; models, data sets, images, annotations and own words"
                    " have keys of their own"
                )
                what = (
                    f"the parameter {strange!r} of {stage.name}, which the graph sets"
                    " itself"
                )
                raise InputError(f"The config gives {what}: {fix}.")

    def tiers(self) -> dict:
        """Return the languages of the miniature's training mix by level; none without
        training.
        """
        mix = self.values("train") if self.trained else {}
        return (
            {
                "English": ["en"],
                **{level: mix[level] for level in ("high", "mid", "low")},
            }
            if mix
            else {}
        )

    def material(self, dataset: str) -> dict[str, str | list[str]]:
        """Return the parameters that say where images and labels or annotations are, as
        far as the graph knows.
        """
        entry = datasets.get_dataset(dataset)
        images = (
            entry.images
            or self.config.images.get(dataset, "")
            or download.at_hand(entry.places)
        )
        if dataset in self.config.stored_vectors:
            images = os.path.relpath(stored_vectors.place(entry.vectors), tables.root())
        texts = entry.annotations or self.config.annotations.get(dataset, "")
        if entry.made_by and entry.task in ("zero-shot", "retrieval"):
            images = self.at(
                f"images/{'pictograms' if entry.task == 'retrieval' else dataset}"
            )
            texts = self.at(f"captions/{dataset}")
        if entry.task == "zero-shot":
            table = entry.label_table or self.at(f"labels/{entry.labels}")
            return {
                "images": images,
                "labels": images if entry.labels == entry.fetched_as != "" else table,
            }
        return {"images": images, "annotations": texts}

    def files(self, dataset: str) -> list[str]:
        """Return what an evaluation has to wait for, or that makes it run again: what
        this run makes, and captions.
        """
        made = [
            path
            for path in self.material(dataset).values()
            if str(path).startswith(f"{self.folder}/")
        ]
        return made + self.captions(dataset)

    def captions(self, dataset: str) -> list[str]:
        """Return the user's files of captions, sentences or labels of a data set, as
        the config names them.
        """
        entry = datasets.get_dataset(dataset)
        own = [path for path in (entry.annotations, entry.label_table) if path]
        return own + datasets.annotation_files(
            self.config.annotations.get(dataset, ""), entry.annotation_files
        )

    def templates(self, name: str) -> list[str]:
        """Return the files of prompt templates that an evaluation may read; none for
        sets with a name.
        """
        given = _flat(
            self.values(name).get(key, []) for key in PROMPTS if name in PROMPTED
        )
        return [
            path for path in dict.fromkeys(given) if path.endswith((".parquet", ".csv"))
        ]

    def checkpoint(self, name: str) -> str:
        """Return where a model or translator is: trained here, a user's file or folder;
        "" takes the published one.
        """
        if name in self.trained or name in self.adapted:
            return f"{self.folder}/models/{name}"
        return self.config.place(name)

    def weights(self, name: str) -> list[str]:
        """Return the file of a model that this run trains, for which an evaluation
        waits.
        """
        if name in self.trained:
            return [f"{self.folder}/models/{name}/open_clip_model.safetensors"]
        if name in self.adapted:
            return [self.at("adaptations/{one}", self.adapted[name])]
        return []

    def consent(self, name: str) -> str:
        """Return the repository of a model's code, if the config lets it run here; a
        user's own has none.
        """
        source = getattr(self.entries.get(name), "source", None)
        return next(
            (
                one
                for one in self.config.remote_code
                if source and one.split("@")[0] == source.repository
            ),
            "",
        )

    def gpus(self, stage: Stage, one: str) -> int:
        """Return how many GPUs a job takes: one; the miniature models, and files of
        scores, take none.
        """
        base = self.adaptations.get(one, {}).get("model", registry.base_of(one) or one)
        return int(
            stage.gpu and base not in [*self.trained, *self.config.external_scores]
        )

    def scores_of(self, translator: str, dataset: str) -> dict:
        """Return the parameters that say where the scores of a translator come from, if
        from files.
        """
        scores = self.config.external_scores.get(translator, {}).get(dataset, {})
        if isinstance(scores, str):
            return {"scores": [scores], "annotations": ""}
        files = [file for pair in scores.values() for file in pair]
        return {"scores": files, "scores_lang": " ".join(scores)} if files else {}

    def rules(self) -> list[SimpleNamespace]:
        """Return the rules of the run: one for each stage that has jobs, and for each
        chapter.
        """
        return [self._rule(stage, jobs) for stage, jobs in self.stages.items() if jobs]

    def _rule(self, stage: Stage, jobs: list[tuple[str, str]]) -> SimpleNamespace:
        """Return what the Snakefile needs of a rule; functions take Snakemake's
        wildcards.
        """
        notebook, page = self.notebook(stage.name), self.page(stage)
        lists = LISTS if stage in STAGES else ()  # chapters show them
        code = [
            os.path.relpath(path)
            for path in notebooks.sources(notebook)
            if path.name not in lists
        ]
        keys = [key for key in ("one", "dataset") if f"{{{key}}}" in page]
        known = {
            key: sorted({re.escape(job[key == "dataset"]) for job in jobs})
            for key in keys
        }

        def job(wildcards) -> tuple[str, str]:
            return getattr(wildcards, "one", ""), getattr(wildcards, "dataset", "")

        return SimpleNamespace(
            name=stage.rule or stage.name,
            notebook=notebook,
            input=lambda wildcards: [
                *code,
                *_flat(self.inputs(stage, *job(wildcards)).values()),
            ],
            outputs=list(self.outputs(stage).values()),
            page=page,
            constraints={key: "|".join(names) for key, names in known.items()},
            priority=stage.priority or 5 * stage.gpu,
            gpu=lambda wildcards: self.gpus(stage, job(wildcards)[0]),
            depends=lambda wildcards: (
                depends(self, stage, *job(wildcards)) if stage in STAGES else ""
            ),
            title=", ".join(
                [*(f"{{{key}}}" for key in keys), *filter(None, [self.limited])]
            ),
            parameters=lambda wildcards: json.dumps(
                self.parameters(stage, *job(wildcards)),
                ensure_ascii=False,
                sort_keys=True,
            ),
        )


def run_name(run: str, limit: int | None) -> str:
    """Return the name of a run's folder in results/, that of a trial run with its
    limit.
    """
    return f"{run}-first-{limit}" if limit else run


@cache
def _notebook(folder: Path, name: str) -> str:
    stage = next((folder / "stages").glob(f"[0-9][0-9]_{name}.ipynb"), None)
    return os.path.relpath(stage or notebooks.find(folder, name))


def _flat(values) -> list[str]:
    """Return texts and lists of texts as one list."""
    return [
        one
        for value in values
        for one in ([value] if isinstance(value, str) else value)
    ]
