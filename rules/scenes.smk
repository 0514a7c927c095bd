# The miniature's scenes, their captions, places and statements.


rule scenes:
    "Draw scenes of one to three pictograms; write captions, places, and statements about pairs of pictures."
    input:
        code=study.code("16_scenes"),
        labels=study.table("labels", "pictograms"),
        senses=study.table("senses", "senses"),
    output:
        output=study.table("images", "scenes"),
        output_captions=study.table("captions", "scenes"),
        output_places=study.table("places", "scenes"),
        output_pairs=study.table("pairs", "scene-pairs"),
        output_training=study.table("pairs", "scene-pairs-train"),
        page=study.page("16_scenes"),
    log:
        study.log("16_scenes"),
    resources:
        gpu=0,
    params:
        notebook=study.notebook("16_scenes"),
        title="",
        files=study.named("16_scenes"),
        given=study.given("16_scenes"),
    shell:
        NOTEBOOK

rule selection:
    "Select images for each language by where they were taken: greedily, as for Crossmodal-3600, and optimally."
    input:
        code=study.code("19_selection"),
        places=study.table("places", "scenes"),
    output:
        output=study.table("selection", "scenes"),
        output_optimal=study.table("selection", "scenes-optimal"),
        page=study.page("19_selection"),
    log:
        study.log("19_selection"),
    resources:
        gpu=0,
    params:
        notebook=study.notebook("19_selection"),
        title="",
        files=study.named("19_selection"),
        given=study.given("19_selection"),
    shell:
        NOTEBOOK
