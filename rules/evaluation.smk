# Models and data to outcomes per item: the jobs for a GPU, and what is computed from their stored vectors.


rule zeroshot:
    "Classify the images of a data set by one model, in every language of the labels."
    input:
        code=study.code("20_zeroshot"),
        weights=lambda wildcards: study.weights(wildcards.model),
        material=lambda wildcards: study.files(wildcards.dataset),
        prompts=study.templates("20_zeroshot"),
    output:
        output=study.table("zeroshot", "{model}_{dataset}"),
        vectors=study.table("embeddings", "{model}/{dataset}", ".npz"),
        page=study.page("20_zeroshot_{model}_{dataset}"),
    log:
        study.log("20_zeroshot_{model}_{dataset}"),
    priority: 5
    resources:
        gpu=lambda wildcards: study.gpus(wildcards.model),
    params:
        notebook=study.notebook("20_zeroshot"),
        title="{model}, {dataset}",
        files=study.named("20_zeroshot"),
        given=lambda wildcards: study.given("20_zeroshot", wildcards.model, wildcards.dataset),
    shell:
        NOTEBOOK

rule retrieval:
    "Find captions for images and images for captions by one model, in every language of the captions."
    input:
        code=study.code("21_retrieval"),
        weights=lambda wildcards: study.weights(wildcards.model),
        material=lambda wildcards: study.files(wildcards.dataset),
    output:
        output=study.table("retrieval", "{model}_{dataset}"),
        report=study.table("exports", "{model}_{dataset}", ".csv"),
        page=study.page("21_retrieval_{model}_{dataset}"),
    log:
        study.log("21_retrieval_{model}_{dataset}"),
    priority: 5
    resources:
        gpu=lambda wildcards: study.gpus(wildcards.model),
    params:
        notebook=study.notebook("21_retrieval"),
        title="{model}, {dataset}",
        files=study.named("21_retrieval"),
        given=lambda wildcards: study.given("21_retrieval", wildcards.model, wildcards.dataset),
    shell:
        NOTEBOOK

rule disambiguation:
    "Compare the images of ambiguous words with the translations of their two senses by one model, in every language."
    input:
        code=study.code("22_disambiguation"),
        weights=lambda wildcards: study.weights(wildcards.model),
        item_texts=study.table("items", "{dataset}"),
        item_images=study.table("item_images", "{dataset}"),
    output:
        output=study.table("disambiguation", "{model}_{dataset}"),
        page=study.page("22_disambiguation_{model}_{dataset}"),
    log:
        study.log("22_disambiguation_{model}_{dataset}"),
    priority: 5
    resources:
        gpu=lambda wildcards: study.gpus(wildcards.model),
    params:
        notebook=study.notebook("22_disambiguation"),
        title="{model}, {dataset}",
        files=study.named("22_disambiguation"),
        given=lambda wildcards: study.given("22_disambiguation", wildcards.model, wildcards.dataset),
    shell:
        NOTEBOOK

rule translation:
    "Ask one translator how likely each translation is given each image, in every language."
    input:
        code=study.code("23_translators"),
        weights=lambda wildcards: study.score_files(wildcards.translator, wildcards.dataset),
        item_texts=study.table("items", "{dataset}"),
        item_images=study.table("item_images", "{dataset}"),
    output:
        output=study.table("disambiguation", "{translator}_{dataset}"),
        output_tokens=study.table("tokens", "{translator}_{dataset}"),
        page=study.page("23_translators_{translator}_{dataset}"),
    log:
        study.log("23_translators_{translator}_{dataset}"),
    priority: 5
    resources:
        gpu=lambda wildcards: study.gpus(wildcards.translator),
    params:
        notebook=study.notebook("23_translators"),
        title="{translator}, {dataset}",
        files=study.named("23_translators"),
        given=lambda wildcards: study.given("23_translators", wildcards.translator, wildcards.dataset),
    shell:
        NOTEBOOK

rule adapt:
    "Train adapters of one model for further languages, and classify again with them."
    input:
        code=study.code("25_adapt"),
        weights=lambda wildcards: study.weights(study.adaptations[wildcards.adaptation]["model"]),
        vectors=lambda wildcards: study.adapter_files(wildcards.adaptation)[0],
        labels=lambda wildcards: study.adapter_files(wildcards.adaptation)[1],
        other_labels=study.table("labels", "imagenet-1k"),
    output:
        output=study.table("adaptations", "{adaptation}"),
        counts=study.table("adapted", "{adaptation}"),
        page=study.page("25_adapt_{adaptation}"),
    log:
        study.log("25_adapt_{adaptation}"),
    wildcard_constraints:
        adaptation=one_of(study.adaptations),
    priority: 5
    resources:
        gpu=lambda wildcards: study.gpus(study.adaptations[wildcards.adaptation]["model"]),
    params:
        notebook=study.notebook("25_adapt"),
        title="{adaptation}",
        files=study.named("25_adapt"),
        given=lambda wildcards: study.given("25_adapt", wildcards.adaptation),
    shell:
        NOTEBOOK

rule projections:
    "Project the image vectors of two data sets into two dimensions, and test whether the sets differ."
    input:
        code=study.code("18_projections"),
        one=study.table("embeddings", "picto-multi/pictograms", ".npz"),
        other=study.table("embeddings", "picto-multi/compositions", ".npz"),
    output:
        output=study.table("projections", "picto-multi"),
        output_measures=study.table("feature_tests", "picto-multi"),
        page=study.page("18_projections"),
    log:
        study.log("18_projections"),
    resources:
        gpu=0,
    params:
        notebook=study.notebook("18_projections"),
        title="",
        files=study.named("18_projections"),
        given=study.given("18_projections"),
    shell:
        NOTEBOOK
