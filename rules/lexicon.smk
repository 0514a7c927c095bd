# Lexicons to words, words to labels.


rule senses:
    "Collect the words of lexicons for the classes, as the lexicons give them."
    input:
        code=study.code("09_senses"),
        own=[*study.config.get("words", []), *study.own_classes.values()],
    output:
        output=study.table("senses", "senses"),
        page=study.page("09_senses"),
    log:
        study.log("09_senses"),
    priority: 20
    resources:
        gpu=0,
    params:
        notebook=study.notebook("09_senses"),
        title="",
        files=study.named("09_senses"),
        given=study.given("09_senses"),
    shell:
        NOTEBOOK


rule labels:
    "Choose one label for each class and language from the words of lexicons."
    input:
        code=study.code("10_labels"),
        own=lambda wildcards: study.own_labels(wildcards.classes),
        senses=study.table("senses", "senses"),
    output:
        output=study.table("labels", "{classes}"),
        page=study.page("10_labels_{classes}"),
    log:
        study.log("10_labels_{classes}"),
    priority: 20
    resources:
        gpu=0,
    params:
        notebook=study.notebook("10_labels"),
        title="{classes}",
        files=study.named("10_labels"),
        given=lambda wildcards: study.given("10_labels", wildcards.classes),
    shell:
        NOTEBOOK
