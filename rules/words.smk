# Words and labels: what classes are called in each language.

study.jobs["senses"] = ONCE
study.jobs["labels"] = [{"classes": name} for name in study.classes()]


def own_words(wildcards):
    "Return the user's tables of words and lists of classes."
    return there([*study.config.words, *study.own_classes.values()])


def class_lists(wildcards):
    "Return the class lists whose words are collected: names, and the user's files."
    lists = [name for name in study.classes() if name not in study.own_classes]
    lists += ["pictogram-senses"] if "pictograms" in lists else []
    return [*lists, *study.own_classes.values()]


rule senses:
    "Collect the words that lexicons have for every class, language by language."
    input:
        *code("60_senses"),
        own=own_words,
    output:
        page=page("60_senses"),
        output=at("senses/senses.parquet"),
    log:
        log_of("60_senses"),
    params:
        **told("60_senses", classes=class_lists, files=study.config.words),
    resources:
        gpu=0,
    priority: 20
    shell:
        RUN_NOTEBOOK


def own_classes(wildcards):
    "Return the user's file of a class list, and that of labels that speakers verified."
    files = [study.own_classes.get(wildcards.classes), study.verified(wildcards.classes)]
    return there(filter(None, files))


def class_list(wildcards):
    "Return the parameters that name a class list, and the labels of it that are verified."
    name = wildcards.classes
    verified = study.verified(name)
    found = {"classes": study.own_classes.get(name, name), "verified": verified}
    is_part = verified and name in synsets.PARTS
    return found | ({"verified_of": synsets.PARTS[name]} if is_part else {})


rule labels:
    "Choose one label for each class and language, by the rules of cleaning and choice."
    input:
        *code("61_labels"),
        senses=at("senses/senses.parquet"),
        own=own_classes,
    output:
        page=page("61_labels_{classes}"),
        output=at("labels/{classes}.parquet"),
    log:
        log_of("61_labels_{classes}"),
    wildcard_constraints:
        **only("labels"),
    params:
        **told("61_labels", also=class_list),
    resources:
        gpu=0,
    priority: 20
    shell:
        RUN_NOTEBOOK
