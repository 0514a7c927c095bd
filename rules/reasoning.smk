# Statements about pairs of images, and models' answers; sentences and images on the same topic.


rule statements:
    "Read the released files of MaRVL or NLVR2: statements, their translations, and pairs of images."
    input:
        code=study.code("18_statements"),
        texts=lambda wildcards: study.captions(wildcards.dataset),
    output:
        output=study.table("pairs", "{dataset}"),
        page=study.page("18_statements_{dataset}"),
    log:
        study.log("18_statements_{dataset}"),
    wildcard_constraints:
        dataset=one_of(study.statements),
    resources:
        gpu=0,
    params:
        notebook=study.notebook("18_statements"),
        title="{dataset}",
        files=study.named("18_statements"),
        given=lambda wildcards: study.given("18_statements", dataset=wildcards.dataset),
    shell:
        NOTEBOOK

rule reasoning:
    "Judge whether statements are true of pairs of images by one model, in every language and translation."
    input:
        code=study.code("26_reasoning"),
        weights=lambda wildcards: study.weights(wildcards.model),
        pairs=study.table("pairs", "{dataset}"),
        training=lambda wildcards: study.lesson(wildcards.model, wildcards.dataset),
    output:
        output=study.table("answers", "{model}_{dataset}"),
        page=study.page("26_reasoning_{model}_{dataset}"),
    log:
        study.log("26_reasoning_{model}_{dataset}"),
    wildcard_constraints:
        model=one_of([*study.models, *study.asked]),
        dataset=one_of(study.lessons),
    priority: 5
    resources:
        gpu=lambda wildcards: study.gpus(wildcards.model),
    params:
        notebook=study.notebook("26_reasoning"),
        title="{model}, {dataset}",
        files=study.named("26_reasoning"),
        given=lambda wildcards: study.given("26_reasoning", wildcards.model, wildcards.dataset),
    shell:
        NOTEBOOK

rule matching:
    "Choose the image on a sentence's topic among four by one model, and the sentence on an image's, in every language."
    input:
        code=study.code("22_matching"),
        weights=lambda wildcards: study.weights(wildcards.model),
    output:
        output=study.table("matching", "{model}_{dataset}"),
        page=study.page("22_matching_{model}_{dataset}"),
    log:
        study.log("22_matching_{model}_{dataset}"),
    priority: 5
    resources:
        gpu=lambda wildcards: study.gpus(wildcards.model),
    params:
        notebook=study.notebook("22_matching"),
        title="{model}, {dataset}",
        files=study.named("22_matching"),
        given=lambda wildcards: study.given("22_matching", wildcards.model, wildcards.dataset),
    shell:
        NOTEBOOK
