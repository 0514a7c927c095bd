# Machine translation of what people have written: captions, statements, prompts.

study.jobs["translated_texts"] = study.translated_texts()
study.jobs["translated_prompts"] = study.translated_prompts()


def translated_files(wildcards):
    "Return the user's files that are translated."
    return there(study.translated_files(wildcards.translation))


def into_language(wildcards):
    "Return what is translated by which model into a language, and where what is ready is kept."
    name, lang = wildcards.translation, wildcards.lang
    where = {"language": lang, "cache": at(f"cache/translations/{name}_{lang}.csv")}
    return study.translation(name) | where


def into_languages(wildcards):
    "Return which templates are translated by which model, and where what is ready is kept."
    name = wildcards.translation
    return study.translation(name) | {"cache": at(f"cache/translations/{name}.parquet")}


rule translated_texts:
    "Translate captions, or statements, into a language."
    input:
        *code("80_translated_texts"),
        own=translated_files,
    output:
        page=page("80_translated_texts_{translation}_{lang}"),
        output=at("translations/{translation}_{lang}.csv"),
    log:
        log_of("80_translated_texts_{translation}_{lang}"),
    wildcard_constraints:
        **only("translated_texts"),
    params:
        **told("80_translated_texts", also=into_language),
    resources:
        gpu=1,
    priority: 20
    shell:
        RUN_NOTEBOOK


rule translated_prompts:
    "Translate prompt templates, and keep the place of the label."
    input:
        *code("81_translated_prompts"),
        own=translated_files,
    output:
        page=page("81_translated_prompts_{translation}"),
        output=at("translations/{translation}.parquet"),
    log:
        log_of("81_translated_prompts_{translation}"),
    wildcard_constraints:
        **only("translated_prompts"),
    params:
        **told("81_translated_prompts", also=into_languages),
    resources:
        gpu=1,
    priority: 20
    shell:
        RUN_NOTEBOOK
