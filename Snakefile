# The study as a graph: which notebook makes which table from which. `make book` runs it, and so does
# `snakemake --configfile config/demo.yml --cores all`. Every rule but the last runs one notebook with parameters into
# an executed copy below results/<run>/notebooks; the last renders these copies and the prose of book/ as HTML.
import json
import logging
import os
import sys
from pathlib import Path

from babelatlas import InputError, models
from babelatlas import workflow as study

HERE = Path(os.path.relpath(workflow.basedir))

if not config:
    sys.exit("Say which run: make book CONFIG=config/demo.yml, or snakemake --configfile config/demo.yml.")
try:
    study.check_config(config, HERE / "notebooks")
except InputError as error:
    sys.exit(str(error))

PYTHON = sys.executable
FAILURES = Path(os.environ.setdefault("BABELATLAS_FAILURES", os.path.abspath("_build/failures.txt")))


def readable(record):
    """Keep, of Snakemake's messages, how far the run is, and errors that no notebook has told in a sentence."""
    told = FAILURES.is_file() and record.levelno >= logging.ERROR
    return (record.levelno >= logging.ERROR and not told) or getattr(record, "event", "") == "progress"


onstart:
    FAILURES.parent.mkdir(parents=True, exist_ok=True)
    FAILURES.unlink(missing_ok=True)
    for handler in logging.getLogger("snakemake.logging").handlers:
        handler.addFilter(readable)


onerror:
    if FAILURES.is_file():
        print(FAILURES.read_text(encoding="utf-8"), file=sys.stderr, flush=True)



RUN = f"results/{config['run']}"
MODELS, DATASETS, CHAPTERS = config["models"], config["datasets"], config["chapters"]
CLASSES = ["imagenet-1k", "pictograms"]
EVALUATIONS = [f"{model}_{dataset}" for model in MODELS for dataset in DATASETS]
TRAINED = [model for model in MODELS if models.entry(model).embedded]  # the embedded world's own models
DRAWN = [dataset for dataset in DATASETS if dataset in ("pictograms", "compositions")]  # and its images
STAGES = [
    "09_senses",
    *(f"10_labels_{classes}" for classes in CLASSES),
    *(["11_pictograms"] if DRAWN else []),
    *(f"12_train_{model}" for model in TRAINED),
    *(f"20_zeroshot_{evaluation}" for evaluation in EVALUATIONS),
    *(f"29_subsets_{evaluation}" for evaluation in EVALUATIONS),
]


def source(notebook):
    """The files that decide what a notebook does: itself and what it imports."""
    return [os.path.relpath(path) for path in study.sources(HERE / "notebooks" / f"{notebook}.ipynb")]


def page(name):
    """Where the executed copy of a notebook goes."""
    return f"{RUN}/notebooks/{name}.ipynb"


def tiers():
    """The languages of the training mix, tier by tier, as notebook 12 has them; none where nothing is trained here."""
    mix = study.declared(HERE / "notebooks" / "12_train.ipynb") | config["parameters"].get("12_train", {})
    return {"English": ["en"], **{tier: mix[tier] for tier in ("high", "mid", "low")}} if TRAINED else {}


def given(notebook, **parameters):
    """The parameters of one run of a notebook, as JSON, from weak to strong.

    Use it with wildcards only: Snakemake sees no change in parameters that were computed from input or output.

    First those that this run shares: the seed, its models and data sets, its tiers of languages, and its own folder where a default names a
    path below results/demo. Then what the config gives, then what the graph sets.
    """
    declared = study.declared(HERE / "notebooks" / f"{notebook}.ipynb")
    shared = {name: study.placed(default, config["run"]) for name, default in declared.items()}
    shared = {name: value for name, value in shared.items() if value != declared[name]}
    shared |= {name: config[name] for name in ("run", "seed", "models", "datasets") if name in declared}
    shared |= {"tiers": tiers()} if "tiers" in declared else {}
    values = shared | config["parameters"].get(notebook, {}) | parameters
    return json.dumps(dict(sorted(values.items())), ensure_ascii=False)  # the order of a config's lines says nothing


def written(notebook):
    """The tables that a notebook writes: the parameters whose names begin with output."""
    parameters = study.declared(HERE / "notebooks" / f"{notebook}.ipynb") | json.loads(given(notebook))
    return [path for name, path in parameters.items() if name.startswith("output")]


def run(notebook, suffix=""):
    """The command that runs a notebook."""
    notebook = HERE / "notebooks" / f"{notebook}.ipynb"
    return f"{{PYTHON}} -m babelatlas.execute {notebook} {{output.page}} --parameters {{params.given:q}} --title-suffix '{suffix}'"


rule all:
    default_target: True
    input:
        "_build/html/index.html",


rule senses:
    "Collect the words of lexicons for the classes, as the lexicons give them."
    input:
        source("09_senses"),
    output:
        table=RUN + "/senses/senses.parquet",
        page=page("09_senses"),
    priority: 20
    params:
        given=given("09_senses", classes=CLASSES, output=RUN + "/senses/senses.parquet"),
    shell:
        run("09_senses")


rule labels:
    "Turn the senses of lexicons into one label for each class and language."
    input:
        source("10_labels"),
        senses=RUN + "/senses/senses.parquet",
    output:
        table=RUN + "/labels/{classes}.parquet",
        page=page("10_labels_{classes}"),
    wildcard_constraints:
        classes="|".join(CLASSES),
    priority: 20
    params:
        given=lambda wildcards: given(
            "10_labels",
            classes=wildcards.classes,
            senses=f"{RUN}/senses/senses.parquet",
            output=f"{RUN}/labels/{wildcards.classes}.parquet",
        ),
    shell:
        run("10_labels", "{wildcards.classes}")


rule pictograms:
    "Draw the images of the embedded data set, and of the compositions of a colour and a thing."
    input:
        source("11_pictograms"),
        labels=RUN + "/labels/pictograms.parquet",
    output:
        images=[RUN + "/images/pictograms.parquet", RUN + "/images/compositions.parquet"],
        labels=RUN + "/labels/compositions.parquet",
        page=page("11_pictograms"),
    params:
        given=given("11_pictograms", labels=RUN + "/labels/pictograms.parquet", output=RUN),
    shell:
        run("11_pictograms")


rule train:
    "Train one tiny model on pictograms; the distilled one needs its teacher."
    input:
        source("12_train"),
        labels=RUN + "/labels/pictograms.parquet",
        teacher=lambda wildcards: (
            RUN + "/models/picto-en/open_clip_model.safetensors" if wildcards.model == "picto-distilled" else []
        ),
    output:
        weights=RUN + "/models/{model}/open_clip_model.safetensors",
        texts=RUN + "/models/{model}/training_texts.parquet",
        page=page("12_train_{model}"),
    wildcard_constraints:
        model="picto-[a-z]+",
    priority: 10  # the longest steps: start them as soon as they can
    params:
        given=lambda wildcards: given(
            "12_train", model=wildcards.model, labels=f"{RUN}/labels/pictograms.parquet", output=f"{RUN}/models"
        ),
    shell:
        run("12_train", "{wildcards.model}")


def prompts():
    """The prompt templates of this run's evaluations."""
    declared = study.declared(HERE / "notebooks" / "20_zeroshot.ipynb")
    return config["parameters"].get("20_zeroshot", {}).get("prompts", declared["prompts"])


def evaluated(wildcards):
    """What an evaluation needs: labels, and of the embedded world the images and the model made in this run."""
    needs = {"labels": f"{RUN}/labels/{wildcards.dataset}.parquet"}
    if prompts().endswith((".parquet", ".csv")):
        needs["prompts"] = prompts()
    if wildcards.dataset in DRAWN:
        needs["images"] = f"{RUN}/images/{wildcards.dataset}.parquet"
    if wildcards.model in TRAINED:
        needs["weights"] = f"{RUN}/models/{wildcards.model}/open_clip_model.safetensors"
    return needs


def checkpoint(model):
    """The folder of a model's checkpoint: trained in this run, or given in the config; "" takes the published one."""
    return f"{RUN}/models/{model}" if model in TRAINED else config.get("checkpoints", {}).get(model, "")


def allowed(model):
    """The repository of a model's code, if the config lets it run here."""
    source = models.entry(model).source
    return next((one for one in config.get("remote_code", []) if source and one.partition("@")[0] == source.repository), "")


rule zeroshot:
    "Classify the images of a data set by one model, in every language of the labels."
    input:
        source("20_zeroshot"),
        unpack(evaluated),
    output:
        table=RUN + "/zeroshot/{model}_{dataset}.parquet",
        vectors=RUN + "/embeddings/{model}/{dataset}.npz",
        page=page("20_zeroshot_{model}_{dataset}"),
    wildcard_constraints:
        model="|".join(MODELS),
        dataset="|".join(DATASETS),
    priority: 5
    params:
        given=lambda wildcards: given(
            "20_zeroshot",
            model=wildcards.model,
            checkpoint=checkpoint(wildcards.model),
            remote_code=allowed(wildcards.model),
            dataset=wildcards.dataset,
            cache=f"{RUN}/cache/{wildcards.model}",
            vectors=f"{RUN}/embeddings/{wildcards.model}/{wildcards.dataset}.npz",
            output=f"{RUN}/zeroshot/{wildcards.model}_{wildcards.dataset}.parquet",
            **{name: path for name, path in evaluated(wildcards).items() if name in ("labels", "images")},
        ),
    shell:
        run("20_zeroshot", "{wildcards.model}, {wildcards.dataset}")


rule subsets:
    "Classify again among fewer classes, many times, from the stored vectors."
    input:
        source("29_subsets"),
        vectors=RUN + "/embeddings/{model}/{dataset}.npz",
    output:
        table=RUN + "/subsets/{model}_{dataset}.parquet",
        page=page("29_subsets_{model}_{dataset}"),
    wildcard_constraints:
        model="|".join(MODELS),
        dataset="|".join(DATASETS),
    params:
        given=lambda wildcards: given(
            "29_subsets",
            model=wildcards.model,
            dataset=wildcards.dataset,
            labels=wildcards.dataset,
            prompts=prompts(),
            vectors=f"{RUN}/embeddings/{wildcards.model}/{wildcards.dataset}.npz",
            output=f"{RUN}/subsets/{wildcards.model}_{wildcards.dataset}.parquet",
        ),
    shell:
        run("29_subsets", "{wildcards.model}, {wildcards.dataset}")


def needed(chapter):
    """What a chapter reads: of this run's tables none (4? published, 6? models), words (5?) or all; pages it sums up."""
    tables = [f"{RUN}/{kind}/{evaluation}.parquet" for kind in ("zeroshot", "subsets") for evaluation in EVALUATIONS]
    others = [name for name in CHAPTERS if "30" <= name < "90"]
    summed = {"00": others, "90": [*STAGES, *others, *(name for name in CHAPTERS if name < "10")]}.get(chapter[:2], [])
    return (
        source(chapter)
        + {"4": [], "6": [], "5": [f"{RUN}/senses/senses.parquet", f"{RUN}/labels/imagenet-1k.parquet"]}.get(chapter[0], tables)
        + [page(name) for name in summed]
        + [table for name in summed if name in CHAPTERS for table in written(name)]
    )


for chapter in CHAPTERS:

    rule:
        name:
            f"chapter_{chapter}"
        input:
            needed(chapter),
        output:
            page=page(chapter),
            tables=written(chapter),
        params:
            chapter=chapter,
            given=given(chapter),
        shell:
            run("{params.chapter}")  # not chapter itself: Snakemake reads this line after the loop


rule book:
    "Lay the executed notebooks and the prose side by side, and render them."
    input:
        pages=[page(name) for name in [*STAGES, *CHAPTERS]],
        prose=[os.path.relpath(path) for path in sorted((HERE / "book").rglob("*")) if path.is_file()],
        contents=[HERE / "_config.yml", HERE / "_toc.yml"],
    output:
        "_build/html/index.html",
    shell:
        f"{{PYTHON}} -m babelatlas.book {HERE} _build {{input.pages}}"
