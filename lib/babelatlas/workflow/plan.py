"""A run as planned from its config: which jobs there are, where their files go, and with which parameters they run.

The rules of Snakemake (`rules/*.smk`) ask a `Plan` for names and values; nothing is read or computed here but the
notebooks' declarations and the registries.
"""

import json
import os
from collections.abc import Callable
from functools import cache, cached_property
from itertools import product
from pathlib import Path

from babelatlas.base import synsets, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA
from babelatlas.datasets import registry as datasets
from babelatlas.models import registry, translators
from babelatlas.workflow import notebooks

# Class lists with a label set each, in every run; and those whose words are collected.
CLASSES = ("imagenet-1k", "pictograms")
# Notebooks whose parameters name sets of prompts, or tables of them, and these parameters.
EVALUATIONS = ("20_zeroshot", "28_protocols")
PROMPTS = ("prompts", "fallback_prompts", "other_prompts")
# Stages that `limit` lets evaluate a part -> the kinds of tables that are partial then.
LIMITED = {
    "20_zeroshot": ["zeroshot", "subsets", "label_sets", "adaptations", "adapted", "projections", "feature_tests"],
    "21_retrieval": ["retrieval"],
    "22_disambiguation": ["disambiguation"],
    "22_matching": ["matching"],
    "23_translators": ["disambiguation", "tokens"],
    "26_reasoning": ["answers"],
    "27_captioning": ["generated", "caption_scores"],
    "28_protocols": ["protocols"],
}
# Chapters with more pages than one; the first is a rule for each model.
MODEL_PAGE, LANGUAGE_PAGES, STATUS = "70_model", "71_languages", "99_status"


class Plan:
    """What a checked config makes: lists of models and data sets by what is done with them, paths, parameters.

    `config`: the values of a config file; `project`: the folder with notebooks/ and book/.
    """

    MODEL_PAGE, LANGUAGE_PAGES = MODEL_PAGE, LANGUAGE_PAGES

    def __init__(self, config: dict, project: str | os.PathLike):
        self.config, self.project = config, Path(project)
        self._notebooks: dict[str, str] = {}
        self._code: dict[str, list[str]] = {}
        self.run, self.folder = config["run"], f"results/{config['run']}"
        self.models, self.datasets, self.chapters = config["models"], config["datasets"], config["chapters"]
        self.protocols, self.translators = config.get("protocol_datasets", []), config.get("translators", [])
        modules = config.get("custom_models", {})
        self.entries = {name: registry.find(name, modules.get(name, "")) for name in self.models}
        self.sets = {name: datasets.get_dataset(name) for name in self.datasets}
        known = [name for name in self.translators if name in translators.names()]
        self.translator_entries = {name: translators.get_translator(name) for name in known}
        self.gated = [name for name, entry in self.translator_entries.items() if entry.embedded]
        embedded = [registry.base_of(name) or name for name, entry in self.entries.items() if entry.embedded]
        self.scenes = any(entry.made_by == "16_scenes" for entry in self.sets.values())
        # All others take the image tower of picto-en, which is trained also where it is not evaluated.
        first = ["picto-en"] if embedded or self.gated or self.scenes else []
        self.trained = list(dict.fromkeys([*first, *embedded]))
        self.adaptations, self.adapted = {}, {}
        self._plan_adaptations()
        self.scored = config.get("external_scores", {})
        own = {name: class_file(entry.classes) for name, entry in self.sets.items() if entry.classes}
        self.own_classes = config.get("classes", {}) | own  # name -> file
        self.drawn = [name for name, entry in self.sets.items() if entry.made_by == "11_pictograms"]
        # The labels that others released are for ImageNet alone: no word for a pictogram, no second one to compare.
        lexicons = bool({*self.valued("09_senses")["sources"]} - {"babel-imagenet"})
        self.classes = [*(CLASSES if lexicons or self.trained or self.drawn else CLASSES[:1]), *self.own_classes]
        # Data sets that the image-text-to-text models describe, and these with those that the run describes itself.
        self.captioned = config.get("captioned_datasets", [])
        self.described = [*self.of_task("captioning"), *self.captioned]
        self.ambiguous = self.of_task("disambiguation")
        self.pairs = [name for name in self.ambiguous if self.sets[name].items_from == "lexicons"]
        self.commute = [name for name in self.ambiguous if self.sets[name].items_from == "files"]
        # Data set of statements -> the one that classifiers are trained on; those of both that are read from files.
        self.lessons = {name: entry.trained_on for name, entry in self.sets.items() if entry.trained_on}
        given = [pair for pair in self.lessons.items() if not self.sets[pair[0]].made_by]
        self.statements = list(dict.fromkeys(name for pair in given for name in pair))
        pair = [(model, dataset) for model in self.models for dataset in self.datasets]
        self.zeroshot = [each for each in pair if each[1] in self.of_task("zero-shot")]
        self.retrieval = [each for each in pair if each[1] in self.of_task("retrieval")]
        self.disambiguation = [each for each in pair if each[1] in self.ambiguous]
        self.matching = [each for each in pair if each[1] in self.of_task("matching")]
        both = {("picto-multi", dataset) for dataset in ("pictograms", "compositions")}
        self.projected = ["picto-multi"] if both <= set(self.zeroshot) else []  # the sets that notebook 18 compares
        self.label_sets = [each for each in pair if lexicons and self.sets[each[1]].other_label_sets]
        self.asked = [name for name in self.translators if self._sees_two(name)]
        self.reasoning = [(one, dataset) for one in [*self.models, *self.asked] for dataset in self.lessons]
        # Translators that are trained here, or known by files of scores, know the words of some data sets only.
        known = {name: ["pictogram-pairs"] for name in self.gated} | self.scored
        self.translation = [
            (one, dataset) for one in self.translators for dataset in self.ambiguous
            if dataset in known.get(one, self.ambiguous)
        ]  # fmt: skip
        self.partial = {kind for notebook in LIMITED for kind in LIMITED[notebook] if self._limited(notebook)}
        self.left_out = self._leave_out()

    def _plan_adaptations(self) -> None:
        """Set the jobs that train adapters, name -> parameters, and the adapted models, name -> job.

        One job for all of an embedded model, whose trainings take a second; else one for each training. A model that
        the run does not evaluate, on a data set to classify, is passed over.
        """
        wanted = self.config.get("adaptations", {}) if self.of_task("zero-shot") else {}
        for base in [base for base in wanted if base in self.models]:
            # In order of names, so that a config in another order reruns nothing.
            given = {"model": base, **json.loads(json.dumps(wanted[base], sort_keys=True))}
            for lang, (objective, seeds) in product(given["languages"], given["objectives"].items()):
                for seed in seeds:
                    name, one = registry.adapted_name(base, lang, objective, seed), given
                    if base not in self.trained:
                        one = given | {"languages": [lang], "objectives": {objective: [seed]}}
                    self.adapted[name] = base if base in self.trained else name
                    self.adaptations[self.adapted[name]] = one

    def limit(self, notebook: str) -> int | str:
        """Return how many images, queries or items a stage is limited to; "" for all."""
        return self.config["parameters"].get(notebook, {}).get("limit", self.config.get("limit", ""))

    def _limited(self, notebook: str) -> bool:
        return self.limit(notebook) != "" and any(job[0] == notebook for job in self.jobs())

    def _leave_out(self) -> list[str]:
        """Take the chapters that read partial tables, or what these chapters write, out of the plan; return them."""
        gone: list[str] = []
        lost = set(self.partial)
        while self.partial:
            listed = {name: notebooks.declared(self.notebook(name))["inputs"] for name in self.chapters}
            read = {name: {*one.get("reads", []), *one.get("reads_if_made", [])} for name, one in listed.items()}
            found = [name for name in self.chapters if read[name] & lost]
            if not found:
                break
            gone += found
            lost |= {path.removeprefix(f"{self.folder}/") for name in found for path in self.outputs(name).values()}
            self.chapters = [name for name in self.chapters if name not in found]
        return gone

    def _sees_two(self, name: str) -> bool:
        """Return whether a translator can be asked about two images: an image-text-to-text model, also a user's own."""
        entry, folder = self.translator_entries.get(name), self.checkpoint(name)
        if entry is None and name not in self.scored and folder and tables.locate(folder).is_dir():
            entry = translators.find(name, folder)
        return entry is not None and entry.kind == "huggingface"

    def adapter_files(self, job: str) -> tuple[str, str]:
        """Return the vectors of a base on the run's first data set to classify, and that set's labels."""
        dataset, base = self.of_task("zero-shot")[0], self.adaptations[job]["model"]
        return self.table("embeddings", f"{base}/{dataset}", ".npz"), self.material(dataset)["labels"]

    def of_task(self, task: str) -> list[str]:
        """Return the run's data sets for a task."""
        return [name for name, entry in self.sets.items() if entry.task == task]

    # --- places ---------------------------------------------------------------------------------------

    def notebook(self, name: str) -> str:
        """Return the path of a notebook as seen from where the run is made."""
        if name not in self._notebooks:
            self._notebooks[name] = os.path.relpath(notebooks.find(self.project / "notebooks", name))
        return self._notebooks[name]

    def code(self, name: str) -> list[str]:
        """Return the files that decide what a notebook does, but for the values it is given."""
        if name not in self._code:
            self._code[name] = [os.path.relpath(path) for path in notebooks.sources(self.notebook(name))]
        return self._code[name]

    def page(self, name: str) -> str:
        """Return where the executed copy of a notebook goes."""
        return f"{self.folder}/notebooks/{name}.ipynb"

    def log(self, name: str) -> str:
        """Return where a notebook writes what it prints as it goes, and why it failed."""
        return f"{self.folder}/logs/{name}.txt"

    def table(self, kind: str, name: str, ending: str = ".parquet") -> str:
        """Return the path of a table, or another file, of a kind, such as results/demo/zeroshot/a_b.parquet."""
        return f"{self.folder}/{kind}/{name}{ending}"

    def stages(self) -> list[str]:
        """Return the names of the pages of all stages, in the order of their numbers."""
        names = ["_".join(filter(None, job)) for job in self.jobs()] + (["11_pictograms"] if self.drawn else [])
        return sorted(names, key=lambda name: name[:2])

    def tables(self) -> dict[str, list[str]]:
        """Return the tables that the stages make, kind by kind: a folder of the run -> its files."""
        pairs = {
            "zeroshot": self.zeroshot,
            "retrieval": self.retrieval,
            "subsets": self.zeroshot,
            "label_sets": self.label_sets,
            "disambiguation": [*self.disambiguation, *self.translation],
            "tokens": self.translation,
            "answers": self.reasoning,
            "matching": self.matching,
        }
        names = {kind: [f"{one}_{dataset}" for one, dataset in each] for kind, each in pairs.items()}
        names |= {
            "adaptations": list(self.adaptations),
            "adapted": list(self.adaptations),
            "senses": ["senses"],
            "labels": [*self.classes, *(["compositions"] if self.drawn else []), *self.pairs],
            "protocols": self.models if self.protocols else [],
            "models": [f"{model}/training_texts" for model in self.trained],
            "images": [*(["pictograms", "compositions"] if self.drawn else []), *(["scenes"] if self.scenes else [])],
            "captions": [*(["pictogram-captions"] if self.drawn else []), *(["scenes"] if self.scenes else [])],
            "items": self.ambiguous,
            "item_images": self.ambiguous,
            "places": ["scenes"] if self.scenes else [],
            "generated": [name for dataset in self.described for name in self._captions_of(dataset)],
            "comparisons": self.of_task("captioning"),
            "caption_ratings": self.of_task("captioning"),
            "caption_scores": self.described,
            "selection": ["scenes", "scenes-optimal"] if self.scenes else [],
            "projections": self.projected,
            "feature_tests": self.projected,
            "pairs": [*(["scene-pairs", "scene-pairs-train"] if self.scenes else []), *self.statements],
            # What others computed and somebody took in (`babelatlas merge`): it is there, and no stage makes it.
            "merged": sorted(path.stem for path in tables.locate(self.folder).glob("merged/*.parquet")),
        }
        losses = [self.table("models", f"{name}_losses") for name in [*self.trained, *self.gated]]
        return {kind: [self.table(kind, name) for name in each] for kind, each in names.items()} | {"losses": losses}

    def pages(self, chapter: str) -> list[str]:
        """Return the names of the pages of a chapter: one; of the chapter on a model one for each."""
        return [f"{chapter}_{model}" for model in self.models] if chapter == MODEL_PAGE else [chapter]

    def all_pages(self) -> list[str]:
        """Return the executed copies of all notebooks of the run: stages, then chapters."""
        return [self.page(name) for name in [*self.stages(), *(p for c in self.chapters for p in self.pages(c))]]

    # --- what chapters read and write -----------------------------------------------------------------

    def outputs(self, chapter: str) -> dict[str, str]:
        """Return what a notebook writes: name -> path in this run's folder; "" where the config leaves it out."""
        declared = notebooks.declared(self.notebook(chapter))["outputs"]
        return {name: notebooks.placed(value, self.run) for name, value in declared.items()}

    @cached_property
    def written(self) -> set[str]:
        """Return all tables that the chapters of the run write."""
        single = set(self.chapters) - {MODEL_PAGE, LANGUAGE_PAGES}
        return {path for chapter in single for path in self.outputs(chapter).values()}

    def inputs(self, chapter: str) -> dict[str, str]:
        """Return the single tables that a chapter reads: name -> path; "" for one that nothing of this run makes."""
        given = self.config["parameters"].get(chapter, {})
        made = self.written.union(*(paths for kind, paths in self.tables().items() if kind not in self.partial))
        declared = notebooks.declared(self.notebook(chapter))["inputs"]
        found = {}
        for name, value in declared.items():
            value = given.get(name, notebooks.placed(value, self.run))
            if isinstance(value, str):
                ours = value.startswith(f"{self.folder}/") and Path(value).suffix
                found[name] = "" if ours and value not in made else value
        return found

    def reads(self, chapter: str) -> list[str]:
        """Return all tables of this run that a chapter reads: those of the kinds that it lists, and single ones."""
        known = notebooks.declared(self.notebook(chapter))["inputs"]
        listed = [*known.get("reads", []), *known.get("reads_if_made", [])]
        files = [f"{self.folder}/{name}" for name in listed if Path(name).suffix]
        kinds = [path for name in listed if not Path(name).suffix for path in self.tables().get(name, [])]
        single = [path for path in self.inputs(chapter).values() if path.startswith(f"{self.folder}/")]
        return list(dict.fromkeys([*files, *kinds, *single]))

    def all_files(self) -> list[str]:
        """Return every table and page of the run: what is deleted of them is made again."""
        tables = [path for paths in self.tables().values() for path in paths]
        return [*tables, *sorted(self.written), *self.all_pages()]

    def needs(self, chapter: str) -> list[str]:
        """Return what a chapter waits for; the last, which lists what was run, waits for the pages of all others."""
        others = [name for other in self.chapters if other != STATUS for name in self.pages(other)]
        before = [self.page(name) for name in [*self.stages(), *others]] if chapter == STATUS else []
        return [*self.code(chapter), *self.reads(chapter), *before]

    # --- what the stages are given --------------------------------------------------------------------

    def stated(self, kind: str, dataset: str) -> dict:
        """Return the parameter that says where the images or annotations of a data set are, if the config does."""
        return {kind: self.config[kind][dataset]} if dataset in self.config.get(kind, {}) else {}

    def material(self, dataset: str) -> dict:
        """Return the parameters that say where images and labels or annotations are, as far as the graph knows."""
        entry = self.sets[dataset]
        images = {"images": entry.images} if entry.images else self.stated("images", dataset)
        if dataset in self.drawn:
            images = {"images": self.table("images", "pictograms" if dataset == "pictogram-captions" else dataset)}
        if entry.task == "zero-shot":
            return images | {"labels": entry.label_table or self.table("labels", entry.labels)}
        if dataset in self.drawn:
            return images | {"annotations": self.table("captions", dataset)}
        if entry.task == "captioning":
            return {"images": self.table("images", dataset), "annotations": self.table("captions", dataset)}
        return images | {"annotations": entry.annotations or self.config.get("annotations", {}).get(dataset, "")}

    def files(self, dataset: str) -> list[str]:
        """Return what an evaluation has to wait for, or that makes it run again: what this run makes, and captions."""
        made = [path for path in self.material(dataset).values() if str(path).startswith(f"{self.folder}/")]
        return made + self.captions(dataset)

    def captions(self, dataset: str) -> list[str]:
        """Return the user's files of captions, sentences or labels of a data set, as the config names them."""
        entry = datasets.get_dataset(dataset)
        own = [path for path in (entry.annotations, entry.label_table) if path]
        return own + annotations(self.config.get("annotations", {}).get(dataset, ""), entry.annotation_files)

    def lesson(self, model: str, dataset: str) -> list[str] | str:
        """Return the statements that a model's classifier is trained on; none for a model that is asked."""
        return [] if model in self.asked else self.table("pairs", self.lessons[dataset])

    def _captions_of(self, dataset: str) -> list[str]:
        """Return the names of the tables of captions that models write for a data set."""
        if dataset in self.of_task("captioning"):
            return [f"captioners_{dataset}"]
        return [f"{name}_{dataset}" for name in self._writers()]

    def _writers(self) -> list[str]:
        """Return the image-text-to-text models among the translators."""
        return [name for name in self.translators if name not in [*self.gated, *self.scored]]

    def written_captions(self, dataset: str) -> list[str]:
        """Return the tables of captions that models write for a data set."""
        return [self.table("generated", name) for name in self._captions_of(dataset)]

    def own_labels(self, classes: str) -> list[str]:
        """Return the files of the user's own that a label set is made from: its class list, its verified labels."""
        found = [self.own_classes.get(classes), self.config.get("verified_labels", {}).get(classes)]
        return [path for path in found if path]

    def checkpoint(self, name: str) -> str:
        """Return where a model or translator is: trained here, a user's file or folder; "" takes the published one."""
        if name in self.trained or name in self.gated or name in self.adapted:
            return f"{self.folder}/models/{name}"
        return self.config.get("custom_models", {}).get(name) or self.config.get("checkpoints", {}).get(name, "")

    def weights(self, name: str) -> list[str]:
        """Return the file of a model or translator that an evaluation waits for, or that makes it run again."""
        if name in self.trained:
            return [f"{self.folder}/models/{name}/open_clip_model.safetensors"]
        if name in self.gated:
            return [f"{self.folder}/models/{name}/gated.safetensors"]
        if name in self.adapted:
            return [self.table("adaptations", self.adapted[name])]
        return [self.config["custom_models"][name]] if name in self.config.get("custom_models", {}) else []

    def consent(self, name: str) -> str:
        """Return the repository of a model's code, if the config lets it run here; a user's own has none."""
        entry = self.entries.get(name) or self.translator_entries.get(name)
        source = entry.source if entry else None
        allowed = self.config.get("remote_code", [])
        return next((one for one in allowed if source and one.partition("@")[0] == source.repository), "")

    def gpus(self, name: str) -> int:
        """Return how many GPUs a job of a model or translator needs: one; the tiny ones, and files of scores, none."""
        return 0 if (registry.base_of(name) or name) in [*self.trained, *self.gated, *self.scored] else 1

    def scores_of(self, translator: str, dataset: str) -> dict:
        """Return the parameters that say where the scores of a translator come from: a model, or files."""
        if translator not in self.scored:
            return {"checkpoint": self.checkpoint(translator), "remote_code": self.consent(translator)}
        files = self.scored[translator][dataset]
        pair = self.stated("annotations", dataset) if isinstance(files, dict) else {}
        return {"checkpoint": "", **scored(files), **pair}

    def score_files(self, translator: str, dataset: str) -> list[str]:
        """Return what the scores of a translator wait for, or that makes them be read again: weights, or files."""
        return self.weights(translator) + self.scores_of(translator, dataset).get("scores", [])

    def valued(self, notebook: str) -> dict:
        """Return all that a notebook declares, with the values of this run's config."""
        return notebooks.defaults(self.notebook(notebook)) | self.config["parameters"].get(notebook, {})

    def templates(self, notebook: str) -> list[str]:
        """Return the files of prompt templates that an evaluation may read."""
        return templates(notebook, self.valued(notebook))

    def tiers(self) -> dict:
        """Return the languages of the training mix by level, as notebook 12 has them; none without training."""
        if not self.trained:
            return {}
        mix = self.valued("12_train")
        return {"English": ["en"], **{level: mix[level] for level in ("high", "mid", "low")}}

    def ambiguous_labels(self) -> list[str]:
        """Return the labels of the ambiguous words' senses that this run draws and trains on too; none without."""
        return [self.table("labels", "pictogram-pairs")] if "pictogram-pairs" in self.datasets else []

    def _of(self, notebook: str, one: str, dataset: str) -> dict:
        """Return the parameters that only the graph can set, of one job of a stage."""
        config, at = self.config, self.table
        model = {"model": one}
        # Jobs share no embeddings: their last digits depend on what else was in a batch.
        job = {"24_label_sets": f"label_sets_{dataset}", "28_protocols": "protocols"}.get(notebook, dataset)
        loaded = {"checkpoint": self.checkpoint(one), "remote_code": self.consent(one)}
        where = loaded | {"cache": f"{self.folder}/cache/{one}/{job}"}
        if notebook == "09_senses":
            words = {"files": config["words"]} if config.get("words") else {}
            lists = [*CLASSES, "pictogram-senses"] if "pictograms" in self.classes else list(CLASSES[:1])
            return {"classes": [*lists, *self.own_classes.values()]} | words
        if notebook == "10_labels":
            verified = {"verified": config["verified_labels"][one]} if one in config.get("verified_labels", {}) else {}
            return {"classes": self.own_classes.get(one, one)} | verified
        if notebook == "12_train":
            return model | {"senses": "".join(self.ambiguous_labels()), "output": f"{self.folder}/models"}
        if notebook == "13_gated":
            entry = self.translator_entries[one]
            folders = {"features": f"{self.folder}/models/picto-en", "output": f"{self.folder}/models"}
            return model | {"gate": entry.gate, "dataset": "pictogram-pairs"} | folders
        if notebook == "14_pairs":
            return {"dataset": dataset} | self.stated("images", dataset)
        if notebook in ("20_zeroshot", "21_retrieval"):
            return model | {"dataset": dataset} | where | self.material(dataset)
        if notebook == "22_disambiguation":
            return model | {"dataset": dataset} | where
        if notebook == "22_matching":
            return model | {"dataset": dataset} | where | self.stated("images", dataset)
        if notebook in ("15_commute", "18_statements"):
            return {"dataset": dataset} | self.stated("images", dataset) | self.stated("annotations", dataset)
        if notebook == "26_reasoning":
            way = {"method": "likelihood", "training": ""} if one in self.asked else {"method": "head"}
            return model | {"dataset": dataset} | where | way
        if notebook == "23_translators":
            return model | {"dataset": dataset} | self.scores_of(one, dataset)
        if notebook == "27_captioning":
            loaded = {"checkpoint": self.checkpoint(one), "remote_code": self.consent(one)}
            return model | {"dataset": dataset} | loaded | self.material(dataset)
        if notebook == "28_caption_scores":
            return {"dataset": dataset, "generated": self.written_captions(dataset)} | self.material(dataset)
        if notebook == "24_label_sets":
            told = self.valued("20_zeroshot")
            same = {name: told[name] for name in ("fix_spaces", "nllb_fallback_language", "preset")}
            others = self.valued("24_label_sets")["translations"] if dataset == "imagenet-1k" else ""
            labels = {"labels": at("labels", self.sets[dataset].labels)}
            prompts = {"prompts": self.templates("20_zeroshot"), "translations": others}
            return model | {"dataset": dataset} | where | labels | prompts | same
        if notebook == "25_adapt":
            given = self.adaptations[one]
            loaded = {"checkpoint": self.checkpoint(given["model"]), "remote_code": self.consent(given["model"])}
            return given | loaded | {"dataset": self.of_task("zero-shot")[0], "models": f"{self.folder}/models"}
        if notebook == "28_protocols":
            each = {dataset: self.material(dataset) for dataset in self.protocols}
            names = ("images", "labels", "annotations")
            told = {name: {key: one[name] for key, one in each.items() if name in one} for name in names}
            return model | {"datasets": self.protocols} | where | told
        if notebook == "29_subsets":
            told = {"labels": self.sets[dataset].labels, "prompts": self.valued("20_zeroshot")["prompts"]}
            return model | {"dataset": dataset} | told
        if notebook == MODEL_PAGE:
            return model
        if notebook == LANGUAGE_PAGES:
            return {"model_pages": MODEL_PAGE in self.chapters}
        return {}

    def given(self, notebook: str, one: str = "", dataset: str = "") -> str:
        """Return the parameters of one run of a notebook, as JSON, from weak to strong.

        First those that this run shares: the seed, its models, translators, data sets, groups of languages, and the
        inputs' places. Then what the config gives, then what the graph sets. `one`: a model, translator or class list.
        """
        known = notebooks.declared(self.notebook(notebook))
        declared = known["inputs"] | known["parameters"]
        shared = {name: notebooks.placed(value, self.run) for name, value in known["inputs"].items()}
        shared |= {name: path for name, path in self.inputs(notebook).items() if path == ""}
        shared = {name: value for name, value in shared.items() if value != declared[name]}
        shared |= {name: self.config[name] for name in ("run", "seed", "models", "datasets") if name in declared}
        shared |= {"limit": self.config["limit"]} if declared.get("limit") == "" and "limit" in self.config else {}
        shared |= {"translators": self.translators} if "translators" in declared else {}
        shared |= {"datasets": self.protocols} if notebook in ("28_protocols", "33_protocol") else {}
        shared |= {"tiers": self.tiers()} if "tiers" in declared else {}
        values = shared | self.config["parameters"].get(notebook, {}) | self._of(notebook, one, dataset)
        # Sorted: the order of a config's lines says nothing.
        return json.dumps(dict(sorted(values.items())), ensure_ascii=False)

    def named(self, notebook: str) -> Callable:
        """Return a function of a rule that gives the notebook its inputs and outputs by the names it declares them by.

        The rule's input and output have the same names; those that the notebook does not declare are waited for only.
        """
        known = notebooks.declared(self.notebook(notebook))

        def files(wildcards, input, output):
            found = {name: path for name, path in input.items() if name in known["inputs"] and isinstance(path, str)}
            found |= {name: path for name, path in output.items() if name in known["outputs"]}
            return json.dumps(found, ensure_ascii=False)

        return files

    def jobs(self) -> list[tuple[str, str, str]]:
        """Return every job of a stage whose parameters the graph sets: notebook, model or the like, data set."""
        of = {"20_zeroshot": self.zeroshot, "21_retrieval": self.retrieval, "22_disambiguation": self.disambiguation}
        of |= {"23_translators": self.translation, "24_label_sets": self.label_sets, "29_subsets": self.zeroshot}
        of |= {"26_reasoning": self.reasoning, "22_matching": self.matching}
        return [
            ("09_senses", "", ""),
            *(("10_labels", classes, "") for classes in self.classes),
            *(("12_train", model, "") for model in self.trained),
            *(("13_gated", translator, "") for translator in self.gated),
            *(("14_pairs", "", dataset) for dataset in self.pairs),
            *(("15_commute", "", dataset) for dataset in self.commute),
            *([("16_scenes", "", ""), ("19_selection", "", "")] if self.scenes else []),
            *(("18_projections", "", "") for _ in self.projected),
            *([("17_captioners", "", "")] if self.of_task("captioning") else []),
            *(("27_captioning", one, dataset) for dataset in self.captioned for one in self._writers()),
            *(("28_caption_scores", "", dataset) for dataset in self.described),
            *(("18_statements", "", dataset) for dataset in self.statements),
            *((notebook, one, dataset) for notebook, pairs in of.items() for one, dataset in pairs),
            *(("25_adapt", adaptation, "") for adaptation in self.adaptations),
            *(("28_protocols", model, "") for model in self.models if self.protocols),
        ]

    def check_given(self) -> None:
        """Raise InputError where the config gives a parameter that the graph sets: it would have no effect."""
        for notebook, one, dataset in [*self.jobs(), *((chapter, "", "") for chapter in self.chapters)]:
            known = notebooks.declared(self.notebook(notebook))
            places = {"results", "reads", "reads_if_made"} & known["inputs"].keys()
            ours = {"run", *self._of(notebook, one, dataset), *known["outputs"], *places}
            for name in self.config["parameters"].get(notebook, {}):
                if name in ours:
                    raise InputError(
                        f"The config gives the parameter {name!r} of {notebook}, which the workflow sets itself: leave "
                        "it out; models, data sets, images, annotations and own words have keys of their own."
                    )


def class_file(classes: str) -> str:
    """Return the file of a data set's class list: where the study has it, from the folder of the run, else as given."""
    name = synsets.FURTHER_LISTS.get(classes)
    return os.path.relpath(DATA / name, tables.root()) if name else classes


def scored(files: str | dict[str, list[str]]) -> dict:
    """Return the parameters of notebook 23 that stand for an entry of the config's `scores`.

    >>> scored("own.parquet"), scored({"fr": ["right.txt", "wrong.txt"]})
    ({'scores': ['own.parquet']}, {'scores': ['right.txt', 'wrong.txt'], 'scores_lang': 'fr'})
    """
    if isinstance(files, str):
        return {"scores": [files]}
    return {"scores": [file for pair in files.values() for file in pair], "scores_lang": " ".join(files)}


def templates(notebook: str, parameters: dict) -> list[str]:
    """Return the files of prompt templates among the parameters of an evaluation: all that may be read.

    >>> templates("20_zeroshot", {"prompts": "label", "fallback_prompts": ["own/de.parquet", "label"]})
    ['own/de.parquet']
    """
    values = [parameters.get(key) or [] for key in PROMPTS if notebook in EVALUATIONS]
    names = [name for value in values for name in ([value] if isinstance(value, str) else value)]
    return [name for name in dict.fromkeys(names) if name.endswith((".parquet", ".csv"))]


@cache
def annotations(path: str, patterns: tuple[str, ...]) -> list[str]:
    """Return the files of captions or sentences that a config's path stands for, none for a name.

    Of a folder those below it whose names fit one of `patterns` (as "*.json"), but hidden ones. Paths are relative to
    the folder of the study where they are below it.
    """
    place, root = tables.locate(path), tables.root()
    inside = (file for pattern in patterns for file in place.rglob(pattern) if file.name[0] != ".")
    files = [file for file in (sorted(inside) if place.is_dir() else [place]) if path and file.is_file()]
    return [str(file.relative_to(root) if file.is_relative_to(root) else file) for file in files]
