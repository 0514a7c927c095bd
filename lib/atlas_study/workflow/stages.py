"""The stages of a run as a table: the jobs of each, what these read and write, and what
only the graph can tell them.

A further stage is a notebook in notebooks/stages and an entry of `STAGES`. Paths are
below the folder of the run, and end in .parquet where they have no ending; `{one}`
stands for a job's model, translator or class list, `{dataset}` for its data set.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from babelatlas.base import synsets, tables
from babelatlas.datasets import registry as datasets
from babelatlas.models import translators

# The class lists of every run: the labels of ImageNet, and of the pictograms where
# something is drawn or labelled.
CLASSES = ("imagenet-1k", "pictograms")
# Stages whose parameters name sets of prompts, or tables of them, and these parameters.
PROMPTED, PROMPTS = (
    ("zeroshot", "protocols"),
    ("prompts", "fallback_prompts", "other_prompts"),
)
ALONE = [("", "")]  # the jobs of a stage that runs once
SENSES, PICTOGRAMS = "senses/senses", "labels/pictograms"
ITEMS, ITEM_IMAGES, VECTORS = (
    "items/{dataset}",
    "item_images/{dataset}",
    "embeddings/{one}/{dataset}.npz",
)


@dataclass(frozen=True, eq=False)
class Stage:
    """What the graph knows of one notebook; chapters become such entries too
    (`plan.Plan`).

    `name`: the notebook's, of a stage without its number. `jobs`: a function of the
    plan that gives pairs of a model or the like and a data set, "" for neither.
    `outputs` and `inputs`: by the names that the notebook declares, or others for what
    is waited for alone: paths, or functions of plan, model and data set that give whole
    paths. `parameters`: such a function, of what is set besides `Plan.common`. `gpu`:
    whether a job of a published model takes one. Rules of a high `priority` start
    first; those for a GPU have 5. `rule`: its rule's name where that is not `name`.
    """

    name: str
    jobs: Callable
    outputs: dict[str, str]
    inputs: dict[str, str | Callable] = field(default_factory=dict)
    parameters: Callable = lambda plan, one, dataset: {}
    gpu: bool = False
    priority: int = 0
    rule: str = ""


def pairs(task: str) -> Callable:
    """Return the function that gives the models of a plan with its data sets for a
    task, but what `only` leaves out.
    """
    return lambda plan: [
        (model, dataset)
        for model, dataset in product(plan.models, plan.of_task(task))
        if plan.evaluates(model, dataset)
    ]


def _in_turn(kind: str) -> Callable:
    """Return the function that gives what a bridge waits for: the table of the bridge
    that is evaluated before it.
    """

    def before(plan, one: str, dataset: str) -> list[str]:
        bridges = [name for name in plan.bridges if plan.evaluates(name, dataset)]
        earlier = bridges[: bridges.index(one)] if one in bridges else []
        tables_before = [
            plan.at(f"{kind}/{{one}}_{{dataset}}", name, dataset) for name in earlier
        ]
        return [path for path in tables_before if path not in plan.lost][-1:]

    return before


def _templates(stage: str) -> Callable:
    return lambda plan, one, dataset: plan.templates(stage)


def _senses(plan, one: str, dataset: str) -> dict:
    lists = [one for one in plan.classes if one not in plan.own_classes]
    lists += ["pictogram-senses"] if "pictograms" in lists else []
    return {"classes": [*lists, *plan.own_classes.values()], "files": plan.config.words}


def _verified(plan, one: str) -> str:
    """Return the file of corrections for a class list: its own, or that of the list
    that it is a part of; "" for none.

    Photographs have a label set of a hundred of ImageNet's classes, and corrections of
    all its labels are for it, too.
    """
    return plan.config.verified_labels.get(synsets.PARTS.get(one, one), "")


def _labels(plan, one: str, dataset: str) -> dict:
    given = {
        "classes": plan.own_classes.get(one, one),
        "verified": _verified(plan, one),
    }
    return given | (
        {"verified_of": synsets.PARTS[one]}
        if given["verified"] and one in synsets.PARTS
        else {}
    )


def _ambiguous_labels(plan, one: str, dataset: str) -> list[str]:
    """Return the labels of the ambiguous words' senses that this run draws, which
    models learn too; none without.
    """
    return [plan.at("labels/pictogram-pairs")] if "pictogram-pairs" in plan.sets else []


def _training(plan, one: str, dataset: str) -> str | list[str]:
    """Return the statements that a model's classifier is trained on; none for a model
    that is asked.
    """
    return (
        [] if one in plan.asked else plan.at(f"pairs/{plan.sets[dataset].trained_on}")
    )


def _label_sets(plan, one: str, dataset: str) -> dict:
    same = {
        name: plan.values("zeroshot")[name]
        for name in ("nllb_fallback_language", "preset")
    }
    return same | {"prompts": plan.templates("zeroshot")}


def _adapt(plan, one: str, dataset: str) -> dict:
    """Return what a training gets: its line in the config, the base, and what the base
    was evaluated on.
    """
    wanted = plan.adaptations[one]
    base = {
        "checkpoint": plan.checkpoint(wanted["model"]),
        "remote_code": plan.consent(wanted["model"]),
    }
    return (
        wanted
        | base
        | {
            "dataset": plan.of_task("zero-shot")[0],
            "models": f"{plan.folder}/models",
        }
    )


def _protocols(plan, one: str, dataset: str) -> dict:
    names = plan.config.protocol_datasets
    each, keys = (
        {name: plan.material(name) for name in names},
        ("images", "labels", "annotations"),
    )
    return {
        key: {name: one[key] for name, one in each.items() if key in one}
        for key in keys
    } | {"datasets": names}


def _varied(plan) -> list[tuple[str, str]]:
    """Return the models that are evaluated on all data sets on which the protocol is
    varied.
    """
    names = plan.config.protocol_datasets
    able = [model for model in plan.models if not plan.entries[model].needs_classes]
    return [
        (model, "")
        for model in able
        if names and all(plan.evaluates(model, name) for name in names)
    ]


def _unrestricted(plan) -> list[tuple[str, str]]:
    """Return the pairs to classify whose model can choose among any classes, and not
    within folds alone.
    """
    return [
        (model, dataset)
        for model, dataset in pairs("zero-shot")(plan)
        if not plan.entries[model].needs_classes
    ]


def _ambiguous(source: str) -> Callable:
    """Return the function that gives the data sets whose ambiguous words come from
    lexicons, or from files.
    """
    return lambda plan: [
        ("", name)
        for name in plan.of_task("disambiguation")
        if plan.sets[name].items_from == source
    ]


MODEL = {"weights": lambda plan, one, dataset: plan.weights(one)}
FILES = {"material": lambda plan, one, dataset: plan.files(dataset)}
TEXTS = {"texts": lambda plan, one, dataset: plan.captions(dataset)}
READ_ITEMS = {"item_texts": ITEMS, "item_images": ITEM_IMAGES}
TRAINED = {
    "weights": "models/{one}/open_clip_model.safetensors",
    "texts": "models/{one}/training_texts",
}

# In an order in which each reads what those before it write.
STAGES = (
    Stage(
        "senses",
        lambda plan: ALONE,
        {"output": SENSES},
        {
            "own": lambda plan, one, dataset: [
                *plan.config.words,
                *plan.own_classes.values(),
            ]
        },
        _senses,
        priority=20,
    ),
    Stage(
        "labels",
        lambda plan: [(classes, "") for classes in plan.classes],
        {"output": "labels/{one}"},
        # the class list and the verified labels of the user
        {
            "senses": SENSES,
            "own": lambda plan, one, dataset: list(
                filter(None, [plan.own_classes.get(one), _verified(plan, one)])
            ),
        },
        _labels,
        priority=20,
    ),
    Stage(
        "pictograms",
        lambda plan: ALONE * plan.drawn,
        {
            "output": "images/pictograms",
            "output_captions": "captions/pictogram-captions",
        },
        {"labels": PICTOGRAMS, "senses": SENSES},
    ),
    Stage(
        "items",
        _ambiguous("lexicons"),
        {
            "output": ITEMS,
            "output_item_images": ITEM_IMAGES,
            "output_labels": "labels/{dataset}",
        },
        {"senses": SENSES},
        priority=20,
    ),
    Stage(
        "items",
        _ambiguous("files"),
        {
            "output": ITEMS,
            "output_item_images": ITEM_IMAGES,
            "output_labels": "item_labels/{dataset}",
        },
        TEXTS,
        lambda plan, one, dataset: {"senses": ""},
        rule="item_files",
    ),
    Stage(
        "train",
        lambda plan: [(model, "") for model in plan.trained],
        TRAINED | {"losses": "models/{one}_losses"},
        {
            "labels": PICTOGRAMS,
            "items": _ambiguous_labels,
            "tower": lambda plan, one, dataset: (
                [] if one == "picto-en" else plan.weights("picto-en")
            ),
        },
        lambda plan, *job: {
            "output": f"{plan.folder}/models",
            "senses": "".join(_ambiguous_labels(plan, *job)),
        },
        priority=10,
    ),  # the longest steps: they start as soon as they can
    Stage(
        "scenes",
        lambda plan: ALONE * plan.scenes,
        {"output": "pairs/scene-pairs", "output_training": "pairs/scene-pairs-train"},
        {"labels": PICTOGRAMS, "senses": SENSES},
    ),
    Stage(
        "statements",
        lambda plan: [("", name) for name in plan.statements],
        {"output": "pairs/{dataset}"},
        TEXTS,
    ),
    Stage(
        "zeroshot",
        pairs("zero-shot"),
        {"output": "zeroshot/{one}_{dataset}", "vectors": VECTORS},
        MODEL
        | FILES
        | {
            "templates": _templates("zeroshot"),
            "before": _in_turn("zeroshot"),
        },
        gpu=True,
    ),
    # The label alone: only texts take time there.
    Stage(
        "zeroshot",
        lambda plan: plan.stored,
        {"output": "stored/{one}_{dataset}", "vectors": VECTORS},
        FILES,
        lambda plan, one, dataset: {"prompts": "label"},
        rule="zeroshot_stored",
    ),
    Stage(
        "retrieval",
        pairs("retrieval"),
        {"output": "retrieval/{one}_{dataset}"},
        MODEL | FILES | {"before": _in_turn("retrieval")},
        gpu=True,
    ),
    Stage(
        "disambiguation",
        pairs("disambiguation"),
        {"output": "disambiguation/{one}_{dataset}"},
        MODEL | READ_ITEMS,
        gpu=True,
    ),
    Stage(
        "translators",
        lambda plan: plan.translation,
        {
            "output": "disambiguation/{one}_{dataset}",
            "output_tokens": "tokens/{one}_{dataset}",
        },
        MODEL
        | READ_ITEMS
        | {
            "files": (
                lambda plan, one, dataset: plan.scores_of(one, dataset).get(
                    "scores", []
                )
            )
        },
        lambda plan, one, dataset: plan.scores_of(one, dataset),
        gpu=True,
    ),
    Stage(
        "reasoning",
        lambda plan: [
            (one, name) for one in [*plan.models, *plan.asked] for name in plan.judged
        ],
        {"output": "answers/{one}_{dataset}"},
        MODEL | {"pairs": "pairs/{dataset}", "training": _training},
        lambda plan, one, dataset: (
            {"method": "likelihood", "training": ""}
            if one in plan.asked
            else {"method": "head"}
        ),
        gpu=True,
    ),
    Stage(
        "label_sets",
        lambda plan: [
            job
            for job in pairs("zero-shot")(plan)
            if plan.lexicons and plan.sets[job[1]].other_label_sets
        ],
        {"output": "label_sets/{one}_{dataset}"},
        MODEL
        | FILES
        | {
            "vectors": VECTORS,
            "senses": SENSES,
            "templates": _templates("zeroshot"),
        },
        _label_sets,
        gpu=True,
    ),
    Stage(
        "adapt",
        lambda plan: [(name, "") for name in plan.adaptations],
        {"output": "adaptations/{one}", "counts": "adapted/{one}"},
        {
            "weights": lambda plan, one, dataset: plan.weights(
                plan.adaptations[one]["model"]
            ),
            "vectors": lambda plan, one, dataset: plan.at(
                VECTORS, plan.adaptations[one]["model"], plan.of_task("zero-shot")[0]
            ),
            "labels": lambda plan, one, dataset: plan.material(
                plan.of_task("zero-shot")[0]
            )["labels"],
            "other_labels": "labels/imagenet-1k",
        },
        _adapt,
        gpu=True,
    ),
    Stage(
        "protocols",
        _varied,
        {"output": "protocols/{one}"},
        MODEL
        | {
            "templates": _templates("protocols"),
            "material": lambda plan, *job: [
                path
                for name in plan.config.protocol_datasets
                for path in plan.files(name)
            ],
        },
        _protocols,
        gpu=True,
    ),
    Stage(
        "subsets",
        _unrestricted,
        {"output": "subsets/{one}_{dataset}"},
        {"vectors": VECTORS},
        # as notebook 67 says
        lambda plan, one, dataset: {
            "labels": Path(plan.material(dataset)["labels"]).stem
        },
    ),
)


def depends(plan, stage: Stage, one: str, dataset: str) -> str:
    """Return what else a job depends on, as JSON: the entries of its model and data
    sets, sums over the user's files.

    Files of the user's own count by their contents, those of published data sets by
    names and sizes.
    """
    adapted = plan.adaptations.get(one, {})
    model = adapted.get("model", one)
    names = (
        plan.config.protocol_datasets
        if stage.name == "protocols"
        else [dataset]
        if dataset
        else []
    )
    names = plan.of_task("zero-shot")[:1] if stage.name == "adapt" else names
    known = [plan.sets[name] for name in names]
    known += [
        datasets.get_dataset(entry.trained_on)
        for entry in known
        if entry.trained_on and not entry.made_by
    ]
    own = [plan.config.place(model), adapted.get("images", "")]
    own += [
        adapted.get("texts", "").replace("{lang}", lang)
        for lang in adapted.get("languages", ())
    ]
    pictures = [
        entry.images for entry in known if entry.custom
    ]  # a table of them stands next to them
    own += [
        os.path.dirname(path) if path.endswith((".csv", ".parquet")) else path
        for path in pictures
    ]
    named = [plan.material(entry.name)["images"] for entry in known if not entry.custom]
    named = [
        path for some in named for path in ([some] if isinstance(some, str) else some)
    ]
    named = [
        path
        for path in named
        if path and not path.startswith(plan.folder) and tables.locate(path).exists()
    ]
    own = [
        path for path in own if path and tables.locate(path).exists()
    ]  # a dry run says which are not there
    sums = {path: plan.contents(path) for path in own} | {
        path: plan.fingerprint(path) for path in named
    }
    listed = {entry.name: entry for entry in translators.TRANSLATORS} | plan.entries
    said = {
        "model": listed.get(model),
        "datasets": known,
        "languages": plan.config.custom_languages,
        "files": sums,
    }
    return json.dumps(said, default=lambda entry: entry.model_dump(), sort_keys=True)
