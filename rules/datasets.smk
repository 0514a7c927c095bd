# Images, captions and items.


rule pictograms:
    "Draw the images of the pictograms, and of the compositions of a colour and a noun; write their captions."
    input:
        code=study.code("11_pictograms"),
        labels=study.table("labels", "pictograms"),
        senses=study.table("senses", "senses"),
    output:
        output=study.table("images", "pictograms"),
        output_compositions=study.table("images", "compositions"),
        output_labels=study.table("labels", "compositions"),
        output_captions=study.table("captions", "pictogram-captions"),
        page=study.page("11_pictograms"),
    log:
        study.log("11_pictograms"),
    resources:
        gpu=0,
    params:
        notebook=study.notebook("11_pictograms"),
        title="",
        files=study.named("11_pictograms"),
        given=study.given("11_pictograms"),
    shell:
        NOTEBOOK

rule pairs:
    "Find the ambiguous words of a list of classes, the words for each sense in every language, and images of both senses."
    input:
        code=study.code("14_pairs"),
        senses=study.table("senses", "senses"),
    output:
        output=study.table("items", "{dataset}"),
        output_item_images=study.table("item_images", "{dataset}"),
        output_labels=study.table("labels", "{dataset}"),
        page=study.page("14_pairs_{dataset}"),
    log:
        study.log("14_pairs_{dataset}"),
    wildcard_constraints:
        dataset=one_of(study.pairs),
    priority: 20
    resources:
        gpu=0,
    params:
        notebook=study.notebook("14_pairs"),
        title="{dataset}",
        files=study.named("14_pairs"),
        given=lambda wildcards: study.given("14_pairs", dataset=wildcards.dataset),
    shell:
        NOTEBOOK

rule commute:
    "Read the released files of CoMMuTE: ambiguous sentences, two translations and two images of each."
    input:
        code=study.code("15_commute"),
        texts=lambda wildcards: study.captions(wildcards.dataset),
    output:
        output=study.table("items", "{dataset}"),
        output_item_images=study.table("item_images", "{dataset}"),
        page=study.page("15_commute_{dataset}"),
    log:
        study.log("15_commute_{dataset}"),
    wildcard_constraints:
        dataset=one_of(study.commute),
    resources:
        gpu=0,
    params:
        notebook=study.notebook("15_commute"),
        title="{dataset}",
        files=study.named("15_commute"),
        given=lambda wildcards: study.given("15_commute", dataset=wildcards.dataset),
    shell:
        NOTEBOOK
