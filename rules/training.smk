# Training: the miniature's models, adapters for languages that a model lacks, and translators.

study.jobs["train"] = [{"model": name} for name in study.trained]
study.jobs["adapt"] = [{"model": name} for name in study.adaptations]
study.jobs["gated_fusion"] = study.gated_fusion()

# The ambiguous words' senses that this run draws, which the miniature's models learn too.
SENSE_LABELS = [at("labels/pictogram-pairs.parquet")] * ("pictogram-pairs" in study.sets)


def teacher(wildcards):
    "Return the weights of the model whose image tower the others take."
    return [] if wildcards.model == "picto-en" else study.weights("picto-en")


rule train:
    "Train one of the miniature's models on drawings and their captions."
    input:
        *code("63_train"),
        labels=at("labels/pictograms.parquet"),
        sense_labels=SENSE_LABELS,
        tower=teacher,
    output:
        page=page("63_train_{model}"),
        weights=at("models/{model}/open_clip_model.safetensors"),
        texts=at("models/{model}/training_texts.parquet"),
        losses=at("models/{model}_losses.parquet"),
        record=at("models/{model}/training.json"),
    log:
        log_of("63_train_{model}"),
    wildcard_constraints:
        **only("train"),
    params:
        **told("63_train", output=at("models"), senses="".join(SENSE_LABELS)),
    resources:
        gpu=0,
    priority: 10  # the longest steps: they start as soon as they can
    shell:
        RUN_NOTEBOOK


def base(wildcards):
    "Return the model that gets the adapters."
    return study.adaptations[wildcards.model]["model"]


def base_weights(wildcards):
    "Return the weights of the model that gets the adapters, if the run trains it."
    return study.weights(base(wildcards))


def base_vectors(wildcards):
    "Return the vectors with which the model was evaluated before."
    return at(f"embeddings/{base(wildcards)}/{study.of_task('zero-shot')[0]}.npz")


def base_labels(wildcards):
    "Return the labels on which the model was evaluated before."
    return study.material(study.of_task("zero-shot")[0])["labels"]


def training_translations(wildcards):
    "Return the captions that the run translates for the training."
    return study.training_translations(wildcards.model)


def recipe(wildcards):
    "Return what the config says of a training: model, languages, objectives, recipe."
    model = base(wildcards)
    where = {"checkpoint": study.checkpoint(model), "remote_code": study.consent(model)}
    data = {"dataset": study.of_task("zero-shot")[0], "models": at("models")}
    data |= {"prompts": study.templates("67_zeroshot")}
    return study.adaptations[wildcards.model] | where | data


rule adapt:
    "Train adapters of a model for one language after the other, and evaluate them."
    input:
        *code("73_adapt"),
        weights=base_weights,
        vectors=base_vectors,
        labels=base_labels,
        other_labels=at("labels/imagenet-1k.parquet"),
        own=training_translations,
        templates=templates("67_zeroshot"),
    output:
        page=page("73_adapt_{model}"),
        output=at("adaptations/{model}.parquet"),
        counts=at("adapted/{model}.parquet"),
    log:
        log_of("73_adapt_{model}"),
    wildcard_constraints:
        **only("adapt"),
    params:
        **told("73_adapt", also=recipe),
    resources:
        gpu=gpu,
    priority: 5
    shell:
        RUN_NOTEBOOK


def gated_words(wildcards):
    "Return the ambiguous words that a translator of the miniature learns."
    trained_on = study.config.gated_fusion[wildcards.model].trained_on
    return at("items/pictogram-pairs.parquet") if trained_on == "pictogram-pairs" else []


def gated_labels(wildcards):
    "Return the labels that a translator of the miniature learns."
    return at("labels/pictograms.parquet") if gated_words(wildcards) else []


def image_weights(wildcards):
    "Return the weights of the model that makes a translator's image vectors."
    return study.weights(study.config.gated_fusion[wildcards.model].image_model)


def gated_recipe(wildcards):
    "Return what the config says of the training of a translator."
    return study.recipe_of(wildcards.model)


rule gated_fusion:
    "Train a translator with a gate for the image, on sentences and their images."
    input:
        *code("75_gated_fusion"),
        item_texts=gated_words,
        labels=gated_labels,
        weights=image_weights,
    output:
        page=page("75_gated_fusion_{model}"),
        output=at("gated_fusion/{model}.parquet"),
    log:
        log_of("75_gated_fusion_{model}"),
    wildcard_constraints:
        **only("gated_fusion"),
    params:
        **told("75_gated_fusion", models=at("models"), also=gated_recipe),
    resources:
        gpu=gpu,
    priority: 5
    shell:
        RUN_NOTEBOOK
