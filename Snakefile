# The study as a graph: which notebook makes which table from which. `make book` runs it, and so does
# `snakemake --configfile config/demo.yml --cores all`. Every rule but the last runs one notebook with parameters into
# an executed copy below results/<run>/notebooks; the last renders these copies and the prose of book/ as HTML.
# Notebooks 20 to 24 and 28 are the jobs for a GPU: one for each model and data set, with all languages inside.
import json
import logging
import os
import re
import sys
from pathlib import Path

from babelatlas import InputError, datasets, models, translators
from babelatlas import workflow as study

HERE = Path(os.path.relpath(workflow.basedir))

if not config:
    sys.exit("Say which run: make book CONFIG=config/demo.yml, or snakemake --configfile config/demo.yml.")
try:
    study.check_config(config, HERE / "notebooks")
except InputError as error:
    sys.exit(str(error))
try:
    study.check_paths(config)
except InputError as error:
    if not any(re.fullmatch(r"-\w*n\w*|--dry-?run", word) for word in sys.argv):
        sys.exit(str(error))
    print(f"This is a dry run; a real one would stop: {error}", file=sys.stderr)

PYTHON = sys.executable
RUN = f"results/{config['run']}"
MODELS, DATASETS, CHAPTERS = config["models"], config["datasets"], config["chapters"]
PROTOCOLS, TRANSLATORS = config.get("protocols", []), config.get("translators", [])
CLASSES = ["imagenet-1k", "pictograms"]  # with a label set each
NAMED = [*CLASSES, "pictogram-senses"]  # whose words are collected: those of ambiguous words have one set with their images
SCORES = study.tables_of(config, HERE / "notebooks")  # what chapters write, some of it for others
ENTRIES = {model: models.find(model, config.get("modules", {}).get(model, "")) for model in MODELS}
TRAINED = [model for model in MODELS if ENTRIES[model].embedded]  # the embedded world's own models
DRAWN = [dataset for dataset in DATASETS if dataset in study.DRAWN]  # and its images
ZEROSHOT = [f"{model}_{dataset}" for model in MODELS for dataset in DATASETS if datasets.entry(dataset).task == "zero-shot"]
LABEL_SETS = [f"{model}_{dataset}" for model in MODELS for dataset in DATASETS if dataset in study.SENSES]
RETRIEVAL = [f"{model}_{dataset}" for model in MODELS for dataset in DATASETS if datasets.entry(dataset).task == "retrieval"]
AMBIGUOUS = [dataset for dataset in DATASETS if datasets.entry(dataset).task == "disambiguation"]
PAIRS = [dataset for dataset in AMBIGUOUS if dataset in study.PAIRS]  # made from lexicons; the others are read from files
DISAMBIGUATION = [f"{model}_{dataset}" for model in MODELS for dataset in AMBIGUOUS]
GATED = [translator for translator in TRANSLATORS if translator in study.trained()]  # the embedded world's own translators
SCORED = config.get("scores", {})  # translators of whom there are files of scores, for some data sets
READ = dict.fromkeys(GATED, ["pictogram-pairs"]) | SCORED  # those that know the words of some data sets only
TRANSLATION = [f"{one}_{dataset}" for one in TRANSLATORS for dataset in AMBIGUOUS if dataset in READ.get(one, AMBIGUOUS)]
STAGES = [
    "09_senses",
    *(f"10_labels_{classes}" for classes in CLASSES),
    *(["11_pictograms"] if DRAWN else []),
    *(f"14_pairs_{dataset}" for dataset in PAIRS),
    *(f"15_commute_{dataset}" for dataset in AMBIGUOUS if dataset not in PAIRS),
    *(f"12_train_{model}" for model in TRAINED),
    *(f"13_gated_{translator}" for translator in GATED),
    *(f"20_zeroshot_{evaluation}" for evaluation in ZEROSHOT),
    *(f"21_retrieval_{evaluation}" for evaluation in RETRIEVAL),
    *(f"22_disambiguation_{evaluation}" for evaluation in DISAMBIGUATION),
    *(f"23_translators_{evaluation}" for evaluation in TRANSLATION),
    *(f"24_label_sets_{evaluation}" for evaluation in LABEL_SETS),
    *(f"28_protocols_{model}" for model in MODELS if PROTOCOLS),
    *(f"29_subsets_{evaluation}" for evaluation in ZEROSHOT),
]
# The tables of the stages, kind by kind: a chapter that names `{results}/zeroshot/...` needs all of that kind.
TABLES = {
    "zeroshot": [f"{RUN}/zeroshot/{evaluation}.parquet" for evaluation in ZEROSHOT],
    "retrieval": [f"{RUN}/retrieval/{evaluation}.parquet" for evaluation in RETRIEVAL],
    "protocols": [f"{RUN}/protocols/{model}.parquet" for model in MODELS if PROTOCOLS],
    "subsets": [f"{RUN}/subsets/{evaluation}.parquet" for evaluation in ZEROSHOT],
    "label_sets": [f"{RUN}/label_sets/{evaluation}.parquet" for evaluation in LABEL_SETS],
    "models": [f"{RUN}/models/{model}/training_texts.parquet" for model in TRAINED],
    "labels": [f"{RUN}/labels/{classes}.parquet" for classes in [*CLASSES, *(["compositions"] if DRAWN else []), *PAIRS]],
    "tuples": [f"{RUN}/tuples/{dataset}.parquet" for dataset in AMBIGUOUS],
    "contexts": [f"{RUN}/contexts/{dataset}.parquet" for dataset in AMBIGUOUS],
    "disambiguation": [f"{RUN}/disambiguation/{evaluation}.parquet" for evaluation in [*DISAMBIGUATION, *TRANSLATION]],
    "tokens": [f"{RUN}/tokens/{evaluation}.parquet" for evaluation in TRANSLATION],
}

FAILED = {}  # log of a job that failed -> what Snakemake knows of it


def noticed(record):
    """Remember the jobs that fail, for the list at the end; keep every record."""
    if getattr(record, "event", None) == "job_error":
        path = next(iter(record.log), f"{RUN}/logs/{record.rule_name}.txt").partition(" (")[0]  # "... (send to storage)"
        FAILED[path] = getattr(record, "rule_msg", None) or ""
    return True


def readable(record):
    """Keep, of Snakemake's messages, how far the run is, and errors that neither a job nor the list at the end tells."""
    told = "-m babelatlas." in record.getMessage() or getattr(record, "event", "") == "job_error"
    told = told or (FAILED and record.getMessage().startswith(("Exiting because", "WorkflowError:\nAt least one job")))
    return (record.levelno >= logging.ERROR and not told) or getattr(record, "event", "") == "progress"


onstart:
    for note in Path(RUN, "logs").glob("*.failed"):
        note.unlink()
    logger = logging.getLogger("snakemake.logging")
    logger.addFilter(noticed)
    for handler in logger.handlers:
        handler.addFilter(readable)


onerror:
    if FAILED:
        print(study.failures(FAILED), file=sys.stderr, flush=True)


def source(notebook):
    """The files that decide what a notebook does: itself and what it imports."""
    own, *library = study.sources(HERE / "notebooks" / f"{notebook}.ipynb")
    return [os.path.relpath(own), *(str(HERE / "lib" / "babelatlas" / path.relative_to(study.LIBRARY)) for path in library)]


def page(name):
    """Where the executed copy of a notebook goes."""
    return f"{RUN}/notebooks/{name}.ipynb"


def logged(name):
    """Where a notebook writes what it prints as it goes, and why it failed."""
    return f"{RUN}/logs/{name}.txt"


def one_of(names):
    """A pattern that matches these names and no other."""
    return "|".join(re.escape(name) for name in names) or "(?!)"


def tiers():
    """The languages of the training mix, tier by tier, as notebook 12 has them; none where nothing is trained here."""
    mix = study.declared(HERE / "notebooks" / "12_train.ipynb") | config["parameters"].get("12_train", {})
    return {"English": ["en"], **{tier: mix[tier] for tier in ("high", "mid", "low")}} if TRAINED else {}


def given(notebook, **parameters):
    """The parameters of one run of a notebook, as JSON, from weak to strong.

    Use it with wildcards only: Snakemake sees no change in parameters that were computed from input or output.

    First those that this run shares: the seed, its models, translators and data sets, its tiers of languages, and its own
    folder where a default names a path below results/demo; "" for another chapter's table that this run does not make.
    Then what the config gives, then what the graph sets.
    """
    declared = study.declared(HERE / "notebooks" / f"{notebook}.ipynb")
    shared = {name: study.placed(default, config["run"]) for name, default in declared.items()}
    shared |= {name: "" for name, path in declared.items() if study.is_missing(name, path, SCORES)}
    shared = {name: value for name, value in shared.items() if value != declared[name]}
    shared |= {name: config[name] for name in ("run", "seed", "models", "datasets") if name in declared}
    shared |= {"translators": TRANSLATORS} if "translators" in declared else {}
    shared |= {"datasets": PROTOCOLS} if notebook in ("28_protocols", "33_protocol") else {}
    shared |= {"tiers": tiers()} if "tiers" in declared else {}
    values = shared | config["parameters"].get(notebook, {}) | parameters
    return json.dumps(dict(sorted(values.items())), ensure_ascii=False)  # the order of a config's lines says nothing


def run(notebook, suffix="", gpu=""):
    """The command that runs a notebook."""
    notebook = HERE / "notebooks" / f"{notebook}.ipynb"
    return (
        f"{{PYTHON}} -m babelatlas.execute {notebook} {{output.page}} --parameters {{params.given:q}}"
        f" --title-suffix '{suffix}' --log {{log}} {gpu} --outputs {{output}}"
    )


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
    log:
        logged("09_senses"),
    priority: 20
    params:
        given=given("09_senses", classes=NAMED, output=RUN + "/senses/senses.parquet"),
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
    log:
        logged("10_labels_{classes}"),
    wildcard_constraints:
        classes=one_of(CLASSES),
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
    "Draw the images of the embedded data set, and of the compositions of a colour and a thing; write their captions."
    input:
        source("11_pictograms"),
        labels=RUN + "/labels/pictograms.parquet",
        senses=RUN + "/senses/senses.parquet",
    output:
        images=[RUN + "/images/pictograms.parquet", RUN + "/images/compositions.parquet"],
        labels=RUN + "/labels/compositions.parquet",
        captions=RUN + "/captions/pictogram-captions.parquet",
        page=page("11_pictograms"),
    log:
        logged("11_pictograms"),
    params:
        given=given(
            "11_pictograms",
            labels=RUN + "/labels/pictograms.parquet",
            senses=RUN + "/senses/senses.parquet",
            output=RUN,
        ),
    shell:
        run("11_pictograms")


def ambiguous_words():
    """The labels of the senses of ambiguous words that this run draws, which its models are trained on too; none without."""
    return [f"{RUN}/labels/pictogram-pairs.parquet"] if "pictogram-pairs" in DATASETS else []


rule pairs:
    "Find the ambiguous words of a list of classes, the words for each sense in every language, and images of both senses."
    input:
        source("14_pairs"),
        senses=RUN + "/senses/senses.parquet",
    output:
        tuples=RUN + "/tuples/{dataset}.parquet",
        contexts=RUN + "/contexts/{dataset}.parquet",
        labels=RUN + "/labels/{dataset}.parquet",
        page=page("14_pairs_{dataset}"),
    log:
        logged("14_pairs_{dataset}"),
    wildcard_constraints:
        dataset=one_of(PAIRS),
    priority: 20
    params:
        given=lambda wildcards: given(
            "14_pairs",
            dataset=wildcards.dataset,
            senses=f"{RUN}/senses/senses.parquet",
            output=f"{RUN}/tuples/{wildcards.dataset}.parquet",
            output_contexts=f"{RUN}/contexts/{wildcards.dataset}.parquet",
            output_labels=f"{RUN}/labels/{wildcards.dataset}.parquet",
            **stated("images", wildcards.dataset),
        ),
    shell:
        run("14_pairs", "{wildcards.dataset}")


rule commute:
    "Read the released files of CoMMuTE: ambiguous sentences, two translations and two images of each."
    input:
        source("15_commute"),
        texts=lambda wildcards: study.annotations(config.get("annotations", {}).get(wildcards.dataset, "")),
    output:
        tuples=RUN + "/tuples/{dataset}.parquet",
        contexts=RUN + "/contexts/{dataset}.parquet",
        page=page("15_commute_{dataset}"),
    log:
        logged("15_commute_{dataset}"),
    wildcard_constraints:
        dataset=one_of([dataset for dataset in AMBIGUOUS if dataset not in PAIRS]),
    params:
        given=lambda wildcards: given(
            "15_commute",
            dataset=wildcards.dataset,
            output=f"{RUN}/tuples/{wildcards.dataset}.parquet",
            output_contexts=f"{RUN}/contexts/{wildcards.dataset}.parquet",
            **stated("images", wildcards.dataset),
            **stated("annotations", wildcards.dataset),
        ),
    shell:
        run("15_commute", "{wildcards.dataset}")


rule train:
    "Train one tiny model on pictograms; the distilled one needs its teacher."
    input:
        source("12_train"),
        labels=RUN + "/labels/pictograms.parquet",
        senses=ambiguous_words(),
        teacher=lambda wildcards: (
            RUN + "/models/picto-en/open_clip_model.safetensors" if wildcards.model == "picto-distilled" else []
        ),
    output:
        weights=RUN + "/models/{model}/open_clip_model.safetensors",
        texts=RUN + "/models/{model}/training_texts.parquet",
        page=page("12_train_{model}"),
    log:
        logged("12_train_{model}"),
    wildcard_constraints:
        model=one_of(model.name for model in models.MODELS if model.embedded),
    priority: 10  # the longest steps: start them as soon as they can
    params:
        given=lambda wildcards: given(
            "12_train",
            model=wildcards.model,
            labels=f"{RUN}/labels/pictograms.parquet",
            senses="".join(ambiguous_words()),
            output=f"{RUN}/models",
        ),
    shell:
        run("12_train", "{wildcards.model}")


rule gated:
    "Train one tiny translator on the words of the embedded world; images reach it as a trained model sees them."
    input:
        source("13_gated"),
        labels=RUN + "/labels/pictograms.parquet",
        tuples=RUN + "/tuples/pictogram-pairs.parquet",
        features=RUN + "/models/picto-en/open_clip_model.safetensors",
    output:
        weights=RUN + "/models/{translator}/gated.safetensors",
        page=page("13_gated_{translator}"),
    log:
        logged("13_gated_{translator}"),
    wildcard_constraints:
        translator=one_of(GATED),
    priority: 5
    params:
        given=lambda wildcards: given(
            "13_gated",
            model=wildcards.translator,
            gate=translators.entry(wildcards.translator).gate,
            dataset="pictogram-pairs",
            labels=f"{RUN}/labels/pictograms.parquet",
            tuples=f"{RUN}/tuples/pictogram-pairs.parquet",
            features=f"{RUN}/models/picto-en",
            output=f"{RUN}/models",
        ),
    shell:
        run("13_gated", "{wildcards.translator}")


def stated(kind, dataset):
    """The parameter that says where the images or annotations of a data set are, if the config does."""
    return {kind: config[kind][dataset]} if dataset in config.get(kind, {}) else {}


def pictures(dataset):
    """The images of a data set: drawn in this run, or where the config says; None where only the notebook's parameters do."""
    drawn = {"pictogram-captions": "pictograms"}.get(dataset, dataset)
    return f"{RUN}/images/{drawn}.parquet" if dataset in DRAWN else config.get("images", {}).get(dataset)


def words(dataset):
    """What a data set's images are compared with: name of the parameter -> the label set, or the captions."""
    if datasets.entry(dataset).task == "zero-shot":
        return {"labels": f"{RUN}/labels/{datasets.entry(dataset).labels}.parquet"}
    made = f"{RUN}/captions/{dataset}.parquet"
    return {"annotations": made if dataset in DRAWN else config.get("annotations", {}).get(dataset, "")}


def material(dataset):
    """The parameters that say where a data set is: images, and labels or annotations."""
    given = {"images": pictures(dataset), **words(dataset)}
    return {name: path for name, path in given.items() if path is not None}


def files(dataset):
    """What an evaluation has to wait for, or that makes it run again when it changes: what this run makes, and captions."""
    made = [path for path in material(dataset).values() if str(path).startswith(f"{RUN}/")]
    return made + study.annotations(config.get("annotations", {}).get(dataset, ""))


def checkpoint(model):
    """Where a model is: trained in this run, a user's own file, or a folder of the config; "" takes the published one."""
    if model in TRAINED:
        return f"{RUN}/models/{model}"
    return config.get("modules", {}).get(model) or config.get("checkpoints", {}).get(model, "")


def weights(model):
    """The file of a model that an evaluation has to wait for, or that makes it run again when it changes."""
    if model in TRAINED:
        return [f"{RUN}/models/{model}/open_clip_model.safetensors"]
    return [config["modules"][model]] if model in config.get("modules", {}) else []


def allowed(entry):
    """The repository of the code of a model or a translator, if the config lets it run here."""
    source = entry.source
    return next((one for one in config.get("remote_code", []) if source and one.partition("@")[0] == source.repository), "")


def loaded(model, job):
    """The parameters that say which model a notebook loads, and where it keeps the embeddings of this job.

    Jobs share no embeddings: their last digits depend on what else was in a batch, and with a common folder on which job came first.
    """
    return {
        "model": model,
        "checkpoint": checkpoint(model),
        "remote_code": allowed(ENTRIES[model]),
        "cache": f"{RUN}/cache/{model}/{job}",
    }


def graphics(wildcards):
    """How many GPUs a job needs: one; the tiny models of the embedded world none."""
    return 0 if wildcards.model in TRAINED else 1


def valued(notebook):
    """The parameters of a notebook as this run's config has them."""
    return study.declared(HERE / "notebooks" / f"{notebook}.ipynb") | config["parameters"].get(notebook, {})


def templates(notebook):
    """The files of prompt templates that an evaluation may read."""
    return study.templates(notebook, valued(notebook))


rule zeroshot:
    "Classify the images of a data set by one model, in every language of the labels."
    input:
        source("20_zeroshot"),
        weights=lambda wildcards: weights(wildcards.model),
        material=lambda wildcards: files(wildcards.dataset),
        prompts=templates("20_zeroshot"),
    output:
        table=RUN + "/zeroshot/{model}_{dataset}.parquet",
        vectors=RUN + "/embeddings/{model}/{dataset}.npz",
        page=page("20_zeroshot_{model}_{dataset}"),
    log:
        logged("20_zeroshot_{model}_{dataset}"),
    wildcard_constraints:
        model=one_of(MODELS),
        dataset=one_of(DATASETS),
    resources:
        gpu=graphics,
    priority: 5
    params:
        given=lambda wildcards: given(
            "20_zeroshot",
            dataset=wildcards.dataset,
            vectors=f"{RUN}/embeddings/{wildcards.model}/{wildcards.dataset}.npz",
            output=f"{RUN}/zeroshot/{wildcards.model}_{wildcards.dataset}.parquet",
            **loaded(wildcards.model, wildcards.dataset),
            **material(wildcards.dataset),
        ),
    shell:
        run("20_zeroshot", "{wildcards.model}, {wildcards.dataset}", "--gpu {resources.gpu}")


rule retrieval:
    "Find captions for images and images for captions by one model, in every language of the captions."
    input:
        source("21_retrieval"),
        weights=lambda wildcards: weights(wildcards.model),
        material=lambda wildcards: files(wildcards.dataset),
    output:
        table=RUN + "/retrieval/{model}_{dataset}.parquet",
        report=RUN + "/exports/{model}_{dataset}.csv",
        page=page("21_retrieval_{model}_{dataset}"),
    log:
        logged("21_retrieval_{model}_{dataset}"),
    wildcard_constraints:
        model=one_of(MODELS),
        dataset=one_of(DATASETS),
    resources:
        gpu=graphics,
    priority: 5
    params:
        given=lambda wildcards: given(
            "21_retrieval",
            dataset=wildcards.dataset,
            output=f"{RUN}/retrieval/{wildcards.model}_{wildcards.dataset}.parquet",
            report=f"{RUN}/exports/{wildcards.model}_{wildcards.dataset}.csv",
            **loaded(wildcards.model, wildcards.dataset),
            **material(wildcards.dataset),
        ),
    shell:
        run("21_retrieval", "{wildcards.model}, {wildcards.dataset}", "--gpu {resources.gpu}")


def described(name):
    """Data set -> its images, labels or annotations, of those whose protocols are compared."""
    return {dataset: material(dataset)[name] for dataset in PROTOCOLS if name in material(dataset)}


rule disambiguation:
    "Compare the images of ambiguous words with the translations of their two senses by one model, in every language."
    input:
        source("22_disambiguation"),
        weights=lambda wildcards: weights(wildcards.model),
        tuples=RUN + "/tuples/{dataset}.parquet",
        contexts=RUN + "/contexts/{dataset}.parquet",
    output:
        table=RUN + "/disambiguation/{model}_{dataset}.parquet",
        page=page("22_disambiguation_{model}_{dataset}"),
    log:
        logged("22_disambiguation_{model}_{dataset}"),
    wildcard_constraints:
        model=one_of(MODELS),
        dataset=one_of(AMBIGUOUS),
    resources:
        gpu=graphics,
    priority: 5
    params:
        given=lambda wildcards: given(
            "22_disambiguation",
            dataset=wildcards.dataset,
            tuples=f"{RUN}/tuples/{wildcards.dataset}.parquet",
            contexts=f"{RUN}/contexts/{wildcards.dataset}.parquet",
            output=f"{RUN}/disambiguation/{wildcards.model}_{wildcards.dataset}.parquet",
            **loaded(wildcards.model, wildcards.dataset),
        ),
    shell:
        run("22_disambiguation", "{wildcards.model}, {wildcards.dataset}", "--gpu {resources.gpu}")


def translator_checkpoint(translator):
    """Where a translator is: trained in this run, or a folder of the config; "" takes the published one."""
    return f"{RUN}/models/{translator}" if translator in GATED else config.get("checkpoints", {}).get(translator, "")


def consent(translator):
    """The repository of a translator's code, if the config lets it run here; a user's own has none."""
    return allowed(translators.entry(translator)) if translator in translators.names() else ""


def asked(translator, dataset):
    """The parameters that say where the scores of a translator come from: a model, or files."""
    if translator in SCORED:
        pair = isinstance(SCORED[translator][dataset], dict)
        return {"checkpoint": "", **study.scored(SCORED[translator][dataset]), **(stated("annotations", dataset) if pair else {})}
    return {"checkpoint": translator_checkpoint(translator), "remote_code": consent(translator)}


def asked_files(translator, dataset):
    """What the scores of a translator have to wait for, or that makes them be read again: its weights, or the files."""
    own = [f"{RUN}/models/{translator}/gated.safetensors"] if translator in GATED else []
    return own + asked(translator, dataset).get("scores", [])


rule translation:
    "Ask one translator how likely each translation is beside each image, in every language."
    input:
        source("23_translators"),
        weights=lambda wildcards: asked_files(wildcards.translator, wildcards.dataset),
        tuples=RUN + "/tuples/{dataset}.parquet",
        contexts=RUN + "/contexts/{dataset}.parquet",
    output:
        table=RUN + "/disambiguation/{translator}_{dataset}.parquet",
        tokens=RUN + "/tokens/{translator}_{dataset}.parquet",
        page=page("23_translators_{translator}_{dataset}"),
    log:
        logged("23_translators_{translator}_{dataset}"),
    wildcard_constraints:
        translator=one_of(TRANSLATORS),
        dataset=one_of(AMBIGUOUS),
    resources:
        gpu=lambda wildcards: 0 if wildcards.translator in [*GATED, *SCORED] else 1,
    priority: 5
    params:
        given=lambda wildcards: given(
            "23_translators",
            model=wildcards.translator,
            dataset=wildcards.dataset,
            tuples=f"{RUN}/tuples/{wildcards.dataset}.parquet",
            contexts=f"{RUN}/contexts/{wildcards.dataset}.parquet",
            output=f"{RUN}/disambiguation/{wildcards.translator}_{wildcards.dataset}.parquet",
            output_tokens=f"{RUN}/tokens/{wildcards.translator}_{wildcards.dataset}.parquet",
            **asked(wildcards.translator, wildcards.dataset),
        ),
    shell:
        run("23_translators", "{wildcards.translator}, {wildcards.dataset}", "--gpu {resources.gpu}")


rule protocols:
    "Score one model by every setting of the protocol."
    input:
        source("28_protocols"),
        weights=lambda wildcards: weights(wildcards.model),
        material=[path for dataset in PROTOCOLS for path in files(dataset)],
        prompts=templates("28_protocols"),
    output:
        table=RUN + "/protocols/{model}.parquet",
        page=page("28_protocols_{model}"),
    log:
        logged("28_protocols_{model}"),
    wildcard_constraints:
        model=one_of(MODELS),
    resources:
        gpu=graphics,
    priority: 5
    params:
        given=lambda wildcards: given(
            "28_protocols",
            output=f"{RUN}/protocols/{wildcards.model}.parquet",
            **{name: described(name) for name in ("images", "labels", "annotations")},
            **loaded(wildcards.model, "protocols"),
        ),
    shell:
        run("28_protocols", "{wildcards.model}", "--gpu {resources.gpu}")


rule subsets:
    "Classify again among fewer classes, many times, from the stored vectors."
    input:
        source("29_subsets"),
        vectors=RUN + "/embeddings/{model}/{dataset}.npz",
    output:
        table=RUN + "/subsets/{model}_{dataset}.parquet",
        page=page("29_subsets_{model}_{dataset}"),
    log:
        logged("29_subsets_{model}_{dataset}"),
    wildcard_constraints:
        model=one_of(MODELS),
        dataset=one_of(DATASETS),
    params:
        given=lambda wildcards: given(
            "29_subsets",
            model=wildcards.model,
            dataset=wildcards.dataset,
            labels=datasets.entry(wildcards.dataset).labels,
            prompts=valued("20_zeroshot")["prompts"],
            vectors=f"{RUN}/embeddings/{wildcards.model}/{wildcards.dataset}.npz",
            output=f"{RUN}/subsets/{wildcards.model}_{wildcards.dataset}.parquet",
        ),
    shell:
        run("29_subsets", "{wildcards.model}, {wildcards.dataset}")


rule label_sets:
    "Classify again with words from other sources, from the stored vectors of the images."
    input:
        source("24_label_sets"),
        weights=lambda wildcards: weights(wildcards.model),
        vectors=RUN + "/embeddings/{model}/{dataset}.npz",
        senses=RUN + "/senses/senses.parquet",
        labels=lambda wildcards: words(wildcards.dataset)["labels"],
        prompts=templates("20_zeroshot"),
    output:
        table=RUN + "/label_sets/{model}_{dataset}.parquet",
        page=page("24_label_sets_{model}_{dataset}"),
    log:
        logged("24_label_sets_{model}_{dataset}"),
    wildcard_constraints:
        model=one_of(MODELS),
        dataset=one_of(DATASETS),
    resources:
        gpu=graphics,
    priority: 5
    params:
        given=lambda wildcards: given(
            "24_label_sets",
            dataset=wildcards.dataset,
            vectors=f"{RUN}/embeddings/{wildcards.model}/{wildcards.dataset}.npz",
            senses=f"{RUN}/senses/senses.parquet",
            prompts=templates("20_zeroshot"),
            tidy=valued("20_zeroshot")["tidy"],
            stand_in=valued("20_zeroshot")["stand_in"],
            translations=valued("24_label_sets")["translations"] if wildcards.dataset == "imagenet-1k" else "",
            output=f"{RUN}/label_sets/{wildcards.model}_{wildcards.dataset}.parquet",
            **words(wildcards.dataset),
            **loaded(wildcards.model, f"label_sets_{wildcards.dataset}"),
        ),
    shell:
        run("24_label_sets", "{wildcards.model}, {wildcards.dataset}", "--gpu {resources.gpu}")


def read(notebook):
    """The tables of this run that a notebook reads, as its own text says: whole kinds, or single files."""
    path = HERE / "notebooks" / f"{notebook}.ipynb"
    defaults = study.declared(path) | json.loads(given(notebook))
    inputs = [value for name, value in defaults.items() if not name.startswith("output") and study.is_table(value, RUN)]
    return inputs + [table for name in study.reads(path) for table in TABLES.get(name, [f"{RUN}/{name}"] if "." in name else [])]


def written(notebook, **parameters):
    """The tables that a notebook writes: the parameters whose names begin with output."""
    values = study.declared(HERE / "notebooks" / f"{notebook}.ipynb") | json.loads(given(notebook, **parameters))
    return [path for name, path in values.items() if name.startswith("output")]


rule model_page:
    "Write the page of one model: what it scores in each language, where it is strong and weak, how it was run."
    input:
        source("70_model"),
        read("70_model"),
    output:
        tables=[path.replace("MODEL", "{model}") for path in written("70_model", output=f"{RUN}/exports/MODEL.yaml")],
        page=page("70_model_{model}"),
    log:
        logged("70_model_{model}"),
    wildcard_constraints:
        model=one_of(MODELS),
    params:
        given=lambda wildcards: given("70_model", model=wildcards.model, output=f"{RUN}/exports/{wildcards.model}.yaml"),
    shell:
        run("70_model", "{wildcards.model}")


rule language_pages:
    "Write the pages of the languages, one Markdown file each."
    input:
        source("71_languages"),
        read("71_languages"),
    output:
        pages=directory(RUN + "/pages"),
        page=page("71_languages"),
    log:
        logged("71_languages"),
    params:
        given=given("71_languages", model_pages="70_model" in CHAPTERS, output=RUN + "/pages"),
    shell:
        run("71_languages")


def pages(chapter):
    """The pages of a chapter: one; of 70_model one for each model."""
    return [f"{chapter}_{model}" for model in MODELS] if chapter == "70_model" else [chapter]


def needed(chapter):
    """What a chapter reads: tables of this run, and, of the last, which lists what was run, the pages of all others."""
    before = [*STAGES, *(name for other in CHAPTERS if other[:2] != "99" for name in pages(other))]
    return source(chapter) + read(chapter) + [page(name) for name in before if chapter[:2] == "99"]


for chapter in CHAPTERS:
    if chapter not in ("70_model", "71_languages"):

        rule:
            name:
                f"chapter_{chapter}"
            input:
                needed(chapter),
            output:
                page=page(chapter),
                tables=written(chapter),
            log:
                logged(chapter),
            params:
                chapter=chapter,
                given=given(chapter),
            shell:
                run("{params.chapter}")  # not chapter itself: Snakemake reads this line after the loop


rule book:
    "Lay the executed notebooks and the prose side by side, and render them."
    input:
        pages=[page(name) for name in [*STAGES, *(name for chapter in CHAPTERS for name in pages(chapter))]],
        folders=[RUN + "/pages"] if "71_languages" in CHAPTERS else [],
        prose=[os.path.relpath(path) for path in sorted((HERE / "book").rglob("*")) if path.is_file()],
        contents=[HERE / "_config.yml", HERE / "_toc.yml"],
    output:
        "_build/html/index.html",
    log:
        logged("book"),
    shell:
        f"{{PYTHON}} -m babelatlas.book {HERE} _build {{input.pages}} {{input.folders}} --log {{log}} --outputs {{output}}"
