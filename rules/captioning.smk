# Captions that models write, people's judgements of them, and their scores.


rule captioners:
    "Let four captioners describe the scenes; simulate people's judgements of their captions."
    input:
        code=study.code("17_captioners"),
        weights=study.table("models", "picto-en/open_clip_model", ".safetensors"),
        images=study.table("images", "scenes"),
        captions=study.table("captions", "scenes"),
        labels=study.table("labels", "pictograms"),
        senses=study.table("senses", "senses"),
    output:
        output=study.table("generated", "captioners_scenes"),
        output_comparisons=study.table("comparisons", "scenes"),
        output_ratings=study.table("caption_ratings", "scenes"),
        page=study.page("17_captioners"),
    log:
        study.log("17_captioners"),
    resources:
        gpu=0,
    params:
        notebook=study.notebook("17_captioners"),
        title="",
        files=study.named("17_captioners"),
        given=study.given("17_captioners"),
    shell:
        NOTEBOOK

rule captioning:
    "Let an image-text-to-text model describe the images of a data set in every language."
    input:
        code=study.code("27_captioning"),
        material=lambda wildcards: study.files(wildcards.dataset),
    output:
        output=study.table("generated", "{translator}_{dataset}"),
        page=study.page("27_captioning_{translator}_{dataset}"),
    log:
        study.log("27_captioning_{translator}_{dataset}"),
    wildcard_constraints:
        dataset=one_of(study.captioned),
    priority: 5
    resources:
        gpu=lambda wildcards: study.gpus(wildcards.translator),
    params:
        notebook=study.notebook("27_captioning"),
        title="{translator}, {dataset}",
        files=study.named("27_captioning"),
        given=lambda wildcards: study.given("27_captioning", wildcards.translator, wildcards.dataset),
    shell:
        NOTEBOOK

rule caption_scores:
    "Score the captions that models wrote for a data set next to those that people wrote."
    input:
        code=study.code("28_caption_scores"),
        written=lambda wildcards: study.written_captions(wildcards.dataset),
        material=lambda wildcards: study.files(wildcards.dataset),
    output:
        output=study.table("caption_scores", "{dataset}"),
        page=study.page("28_caption_scores_{dataset}"),
    log:
        study.log("28_caption_scores_{dataset}"),
    wildcard_constraints:
        dataset=one_of(study.described),
    resources:
        gpu=0,
    params:
        notebook=study.notebook("28_caption_scores"),
        title="{dataset}",
        files=study.named("28_caption_scores"),
        given=lambda wildcards: study.given("28_caption_scores", dataset=wildcards.dataset),
    shell:
        NOTEBOOK
