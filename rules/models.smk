# The tiny models and translators that a run trains.


rule train:
    "Train one tiny model on pictograms; the others take the image tower of picto-en."
    input:
        code=study.code("12_train"),
        labels=study.table("labels", "pictograms"),
        senses=study.ambiguous_labels(),
        teacher=lambda wildcards: study.weights("picto-en") if wildcards.model != "picto-en" else [],
    output:
        weights=study.table("models", "{model}/open_clip_model", ".safetensors"),
        texts=study.table("models", "{model}/training_texts"),
        losses=study.table("models", "{model}_losses"),
        page=study.page("12_train_{model}"),
    log:
        study.log("12_train_{model}"),
    wildcard_constraints:
        model=one_of(study.trained),
    priority: 10  # the longest steps: start them as soon as they can
    resources:
        gpu=0,
    params:
        notebook=study.notebook("12_train"),
        title="{model}",
        files=study.named("12_train"),
        given=lambda wildcards: study.given("12_train", wildcards.model),
    shell:
        NOTEBOOK

rule gated:
    "Train one tiny translator on the miniature's words, with image features of a trained model."
    input:
        code=study.code("13_gated"),
        labels=study.table("labels", "pictograms"),
        item_texts=study.table("items", "pictogram-pairs"),
        tower=study.table("models", "picto-en/open_clip_model", ".safetensors"),
    output:
        weights=study.table("models", "{translator}/gated", ".safetensors"),
        losses=study.table("models", "{translator}_losses"),
        page=study.page("13_gated_{translator}"),
    log:
        study.log("13_gated_{translator}"),
    wildcard_constraints:
        translator=one_of(study.gated),
    priority: 5
    resources:
        gpu=0,
    params:
        notebook=study.notebook("13_gated"),
        title="{translator}",
        files=study.named("13_gated"),
        given=lambda wildcards: study.given("13_gated", wildcards.translator),
    shell:
        NOTEBOOK
