# Validation: what the measure depends on, from the vectors and models of the evaluation.

study.jobs["label_sets"] = study.with_other_label_sets()
study.jobs["protocols"] = study.varied()
study.jobs["curves"] = study.unrestricted()
study.jobs["image_features"] = study.featured()


def as_evaluated(wildcards):
    "Return the settings with which the labels in use were evaluated."
    values = study.values("67_zeroshot")
    same = {name: values[name] for name in ("nllb_fallback_language", "preset")}
    return same | {"prompts": study.templates("67_zeroshot")}


rule label_sets:
    "Classify again with other labels for the same classes: do the results depend on them?"
    input:
        *code("72_label_sets"),
        weights=weights,
        material=material,
        vectors=at("embeddings/{model}/{dataset}.npz"),
        senses=at("senses/senses.parquet"),
        templates=templates("67_zeroshot"),
    output:
        page=page("72_label_sets_{model}_{dataset}"),
        output=at("label_sets/{model}_{dataset}.parquet"),
    log:
        log_of("72_label_sets_{model}_{dataset}"),
    wildcard_constraints:
        **only("label_sets"),
    params:
        **told("72_label_sets", also=as_evaluated),
    resources:
        gpu=gpu,
    priority: 5
    shell:
        RUN_NOTEBOOK


def varied_material(wildcards):
    "Return what the run makes of the data sets on which the protocol is varied."
    return there(flat(study.files(name) for name in study.config.protocol_datasets))


def varied_data(wildcards):
    "Return where images, labels and annotations of these data sets are, by data set."
    names = study.config.protocol_datasets
    found = {"datasets": names}
    for kind in ("images", "labels", "annotations"):
        places = {name: study.material(name).get(kind) for name in names}
        found[kind] = {name: place for name, place in places.items() if place is not None}
    return found


rule protocols:
    "Vary prompts, captions, similarity, precision: how much does a score move?"
    input:
        *code("76_protocols"),
        weights=weights,
        templates=templates("76_protocols"),
        material=varied_material,
    output:
        page=page("76_protocols_{model}"),
        output=at("protocols/{model}.parquet"),
    log:
        log_of("76_protocols_{model}"),
    wildcard_constraints:
        **only("protocols"),
    params:
        **told("76_protocols", also=varied_data),
    resources:
        gpu=gpu,
    priority: 5
    shell:
        RUN_NOTEBOOK


def label_set_name(wildcards):
    "Return what the evaluation calls its label set."
    return Path(study.material(wildcards.dataset)["labels"]).stem


rule curves:
    "Classify among fewer classes: is a score comparable across numbers of classes?"
    input:
        *code("77_subsets"),
        vectors=at("embeddings/{model}/{dataset}.npz"),
    output:
        page=page("77_subsets_{model}_{dataset}"),
        output=at("curves/{model}_{dataset}.parquet"),
    log:
        log_of("77_subsets_{model}_{dataset}"),
    wildcard_constraints:
        **only("curves"),
    params:
        **told("77_subsets", labels=label_set_name),
    resources:
        gpu=0,
    shell:
        RUN_NOTEBOOK


def featured_material(wildcards):
    "Return the tables of images that the run makes, of which image vectors are shown."
    places = study.featured_images().values()
    return [place for place in places if place.startswith(f"{study.folder}/")]


def featured_images(wildcards):
    "Return where the images are whose vectors are shown, by data set."
    return study.featured_images()


rule image_features:
    "Show images of languages and data sets as a model represents them."
    input:
        *code("79_image_features"),
        weights=weights,
        material=featured_material,
    output:
        page=page("79_image_features_{model}"),
        output=at("image_features/{model}.parquet"),
    log:
        log_of("79_image_features_{model}"),
    wildcard_constraints:
        **only("image_features"),
    params:
        **told("79_image_features", images=featured_images),
    resources:
        gpu=gpu,
    shell:
        RUN_NOTEBOOK
