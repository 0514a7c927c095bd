# Evaluation: every model on every data set, one table of outcomes by item for each pair.

study.jobs["zeroshot"] = study.pairs("zero-shot")
study.jobs["zeroshot_stored"] = study.stored()
study.jobs["picture_labels"] = study.pictured()
study.jobs["retrieval"] = study.pairs("retrieval")
study.jobs["disambiguation"] = study.pairs("disambiguation")
study.jobs["translators"] = study.translations()
study.jobs["reasoning"] = study.judgements()
study.jobs["captions"] = study.described()


rule zeroshot:
    "Classify images by the labels of each language: how many of each class are right."
    input:
        *code("67_zeroshot"),
        weights=weights,
        material=material,
        templates=templates("67_zeroshot"),
        before=bridge_before("zeroshot"),
    output:
        page=page("67_zeroshot_{model}_{dataset}"),
        output=at("zeroshot/{model}_{dataset}.parquet"),
        vectors=at("embeddings/{model}/{dataset}.npz"),
    log:
        log_of("67_zeroshot_{model}_{dataset}"),
    wildcard_constraints:
        **only("zeroshot"),
    params:
        **told("67_zeroshot"),
    resources:
        gpu=gpu,
    priority: 5
    shell:
        RUN_NOTEBOOK


rule zeroshot_stored:
    "Classify photographs by vectors that ship in their place: only texts are encoded."
    input:
        *code("67_zeroshot"),
        material=material,
    output:
        page=page("67_zeroshot_{model}_{dataset}"),
        output=at("stored/{model}_{dataset}.parquet"),
        vectors=at("embeddings/{model}/{dataset}.npz"),
    log:
        log_of("67_zeroshot_{model}_{dataset}"),
    wildcard_constraints:
        **only("zeroshot_stored"),
    params:
        **told("67_zeroshot", prompts="label"),
    resources:
        gpu=0,
    shell:
        RUN_NOTEBOOK


def encoded_before(wildcards):
    "Return the tables of the model's evaluations on classes, whose names are then cached."
    return [
        study.outputs(name, job)["output"]
        for name in ("zeroshot_stored", "zeroshot")
        for job in study.jobs[name]
        if job["model"] == wildcards.model
    ]


rule picture_labels:
    "Classify photographs that may be shown: which words of each language are nearest?"
    input:
        *code("78_picture_labels"),
        labels=at("labels/imagenet-1k.parquet"),
        before=encoded_before,
    output:
        page=page("78_picture_labels_{model}"),
        output=at("picture_labels/{model}.parquet"),
    log:
        log_of("78_picture_labels_{model}"),
    wildcard_constraints:
        **only("picture_labels"),
    params:
        **told("78_picture_labels"),
    resources:
        gpu=0,
    shell:
        RUN_NOTEBOOK


rule retrieval:
    "Find the image of a caption, and the captions of an image: the rank of each."
    input:
        *code("68_retrieval"),
        weights=weights,
        material=material,
        before=bridge_before("retrieval"),
    output:
        page=page("68_retrieval_{model}_{dataset}"),
        output=at("retrieval/{model}_{dataset}.parquet"),
    log:
        log_of("68_retrieval_{model}_{dataset}"),
    wildcard_constraints:
        **only("retrieval"),
    params:
        **told("68_retrieval"),
    resources:
        gpu=gpu,
    priority: 5
    shell:
        RUN_NOTEBOOK


rule disambiguation:
    "Choose the translation of an ambiguous word by an image: the score of each pair."
    input:
        *code("69_disambiguation"),
        weights=weights,
        item_texts=at("items/{dataset}.parquet"),
        item_images=at("item_images/{dataset}.parquet"),
        before=bridge_before("disambiguation"),
    output:
        page=page("69_disambiguation_{model}_{dataset}"),
        output=at("disambiguation/{model}_{dataset}.parquet"),
    log:
        log_of("69_disambiguation_{model}_{dataset}"),
    wildcard_constraints:
        **only("disambiguation"),
    params:
        **told("69_disambiguation"),
    resources:
        gpu=gpu,
    priority: 5
    shell:
        RUN_NOTEBOOK


def scores_of(wildcards):
    "Return the parameters on a translator's scores that come from files."
    return study.scores_of(wildcards.model, wildcards.dataset)


def score_files(wildcards):
    "Return the files of a translator's scores, if it is known by these alone."
    return there(scores_of(wildcards).get("scores", []))


rule translators:
    "Score translations of an ambiguous sentence with a translator that sees the image."
    input:
        *code("71_translators"),
        weights=weights,
        item_texts=at("items/{dataset}.parquet"),
        item_images=at("item_images/{dataset}.parquet"),
        files=score_files,
    output:
        page=page("71_translators_{model}_{dataset}"),
        output=at("disambiguation/{model}_{dataset}.parquet"),
        output_tokens=at("tokens/{model}_{dataset}.parquet"),
    log:
        log_of("71_translators_{model}_{dataset}"),
    wildcard_constraints:
        **only("translators"),
    params:
        **told("71_translators", also=scores_of),
    resources:
        gpu=gpu,
    priority: 5
    shell:
        RUN_NOTEBOOK


def training_statements(wildcards):
    "Return the statements that a model's classifier is trained on; none where it is asked."
    trained_on = study.sets[wildcards.dataset].trained_on
    return [] if wildcards.model in study.asked() else at(f"pairs/{trained_on}.parquet")


def way_to_judge(wildcards):
    "Return how a model judges: by what it answers, or by a classifier on its vectors."
    asked = {"method": "likelihood", "training": ""}
    return asked if wildcards.model in study.asked() else {"method": "head"}


rule reasoning:
    "Judge statements about pairs of pictures, true or false: the answer to each."
    input:
        *code("74_reasoning"),
        weights=weights,
        pairs=at("pairs/{dataset}.parquet"),
        training=training_statements,
    output:
        page=page("74_reasoning_{model}_{dataset}"),
        output=at("answers/{model}_{dataset}.parquet"),
    log:
        log_of("74_reasoning_{model}_{dataset}"),
    wildcard_constraints:
        **only("reasoning"),
    params:
        **told("74_reasoning", also=way_to_judge),
    resources:
        gpu=gpu,
    priority: 5
    shell:
        RUN_NOTEBOOK


rule captions:
    "Describe images in every language of their captions; score what is written."
    input:
        *code("70_captions"),
        material=material,
    output:
        page=page("70_captions_{model}_{dataset}"),
        output=at("generated/{model}_{dataset}.parquet"),
        output_scores=at("caption_scores/{model}_{dataset}.parquet"),
    log:
        log_of("70_captions_{model}_{dataset}"),
    wildcard_constraints:
        **only("captions"),
    params:
        **told("70_captions"),
    resources:
        gpu=gpu,
    priority: 5
    shell:
        RUN_NOTEBOOK
