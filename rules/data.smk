# Data sets that a run makes or reads once: drawings, ambiguous words, statements.

study.jobs["pictograms"] = ONCE * study.makes("pictograms")
study.jobs["scenes"] = ONCE * study.makes("scenes")
study.jobs["items"] = study.ambiguous("lexicons")
study.jobs["item_files"] = study.ambiguous("files")
study.jobs["statements"] = [{"dataset": name} for name in study.read_statements()]


rule pictograms:
    "Draw the miniature's pictures of every concept, and write captions for them."
    input:
        *code("62_pictograms"),
        labels=at("labels/pictograms.parquet"),
        senses=at("senses/senses.parquet"),
    output:
        page=page("62_pictograms"),
        output=at("images/pictograms.parquet"),
        output_captions=at("captions/pictogram-captions.parquet"),
    log:
        log_of("62_pictograms"),
    params:
        **told("62_pictograms"),
    resources:
        gpu=0,
    shell:
        RUN_NOTEBOOK


rule scenes:
    "Write statements about pairs of drawn scenes, true or false, in every language."
    input:
        *code("65_scenes"),
        labels=at("labels/pictograms.parquet"),
        senses=at("senses/senses.parquet"),
    output:
        page=page("65_scenes"),
        output=at("pairs/scene-pairs.parquet"),
        output_training=at("pairs/scene-pairs-train.parquet"),
    log:
        log_of("65_scenes"),
    params:
        **told("65_scenes"),
    resources:
        gpu=0,
    shell:
        RUN_NOTEBOOK


rule items:
    "Find ambiguous words of which an image decides the sense, in the lexicons."
    input:
        *code("64_items"),
        senses=at("senses/senses.parquet"),
    output:
        page=page("64_items_{dataset}"),
        output=at("items/{dataset}.parquet"),
        output_item_images=at("item_images/{dataset}.parquet"),
        output_labels=at("labels/{dataset}.parquet"),
    log:
        log_of("64_items_{dataset}"),
    wildcard_constraints:
        **only("items"),
    params:
        **told("64_items"),
    resources:
        gpu=0,
    priority: 20
    shell:
        RUN_NOTEBOOK


rule item_files:
    "Read ambiguous sentences, with an image and a translation for each sense, from files."
    input:
        *code("64_items"),
        texts=texts,
    output:
        page=page("64_items_{dataset}"),
        output=at("items/{dataset}.parquet"),
        output_item_images=at("item_images/{dataset}.parquet"),
        output_labels=at("item_labels/{dataset}.parquet"),
    log:
        log_of("64_items_{dataset}"),
    wildcard_constraints:
        **only("item_files"),
    params:
        **told("64_items", senses=""),
    resources:
        gpu=0,
    shell:
        RUN_NOTEBOOK


def statement_files(wildcards):
    "Return the user's files of statements, and of their translations where there are any."
    translated = study.statement_translations(wildcards.dataset)
    return texts(wildcards) + there([translated] if translated else [])


rule statements:
    "Read statements about pairs of pictures, true or false, from files."
    input:
        *code("66_statements"),
        texts=statement_files,
    output:
        page=page("66_statements_{dataset}"),
        output=at("pairs/{dataset}.parquet"),
    log:
        log_of("66_statements_{dataset}"),
    wildcard_constraints:
        **only("statements"),
    params:
        **told(
            "66_statements",
            translations=lambda wildcards: study.statement_translations(wildcards.dataset),
        ),
    resources:
        gpu=0,
    shell:
        RUN_NOTEBOOK
