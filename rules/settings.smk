# Computed from the stored vectors of evaluations, or by many settings of one evaluation.


rule protocols:
    "Score one model by every setting of the protocol."
    input:
        code=study.code("28_protocols"),
        weights=lambda wildcards: study.weights(wildcards.model),
        material=[path for dataset in study.protocols for path in study.files(dataset)],
        prompts=study.templates("28_protocols"),
    output:
        output=study.table("protocols", "{model}"),
        page=study.page("28_protocols_{model}"),
    log:
        study.log("28_protocols_{model}"),
    priority: 5
    resources:
        gpu=lambda wildcards: study.gpus(wildcards.model),
    params:
        notebook=study.notebook("28_protocols"),
        title="{model}",
        files=study.named("28_protocols"),
        given=lambda wildcards: study.given("28_protocols", wildcards.model),
    shell:
        NOTEBOOK

rule subsets:
    "Classify again among fewer classes, many times, from the stored vectors."
    input:
        code=study.code("29_subsets"),
        vectors=study.table("embeddings", "{model}/{dataset}", ".npz"),
    output:
        output=study.table("subsets", "{model}_{dataset}"),
        page=study.page("29_subsets_{model}_{dataset}"),
    log:
        study.log("29_subsets_{model}_{dataset}"),
    resources:
        gpu=0,
    params:
        notebook=study.notebook("29_subsets"),
        title="{model}, {dataset}",
        files=study.named("29_subsets"),
        given=lambda wildcards: study.given("29_subsets", wildcards.model, wildcards.dataset),
    shell:
        NOTEBOOK

rule label_sets:
    "Classify again with words from other sources, from the stored vectors of the images."
    input:
        code=study.code("24_label_sets"),
        weights=lambda wildcards: study.weights(wildcards.model),
        vectors=study.table("embeddings", "{model}/{dataset}", ".npz"),
        senses=study.table("senses", "senses"),
        material=lambda wildcards: study.files(wildcards.dataset),
        prompts=study.templates("20_zeroshot"),
    output:
        output=study.table("label_sets", "{model}_{dataset}"),
        page=study.page("24_label_sets_{model}_{dataset}"),
    log:
        study.log("24_label_sets_{model}_{dataset}"),
    priority: 5
    resources:
        gpu=lambda wildcards: study.gpus(wildcards.model),
    params:
        notebook=study.notebook("24_label_sets"),
        title="{model}, {dataset}",
        files=study.named("24_label_sets"),
        given=lambda wildcards: study.given("24_label_sets", wildcards.model, wildcards.dataset),
    shell:
        NOTEBOOK
