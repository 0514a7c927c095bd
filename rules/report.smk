# Chapters, pages of models and languages, and the book.


for chapter in study.chapters:
    if chapter not in (study.MODEL_PAGE, study.LANGUAGE_PAGES):

        rule:
            name:
                f"chapter_{chapter}"
            input:
                needs=study.needs(chapter),
            output:
                page=study.page(chapter),
                **study.outputs(chapter),
            log:
                study.log(chapter),
            resources:
                gpu=0,
            params:
                notebook=study.notebook(chapter),
                title="",
                files=study.named(chapter),
                given=study.given(chapter),
            shell:
                NOTEBOOK


rule model_page:
    "Write the page of one model: its scores by language, where it is strong and weak, how it was run."
    input:
        needs=study.needs(study.MODEL_PAGE),
    output:
        output=study.table("exports", "{model}", ".yaml"),
        page=study.page("70_model_{model}"),
    log:
        study.log("70_model_{model}"),
    resources:
        gpu=0,
    params:
        notebook=study.notebook(study.MODEL_PAGE),
        title="{model}",
        files=study.named(study.MODEL_PAGE),
        given=lambda wildcards: study.given(study.MODEL_PAGE, wildcards.model),
    shell:
        NOTEBOOK


rule language_pages:
    "Write the pages of the languages, one Markdown file each."
    input:
        needs=study.needs(study.LANGUAGE_PAGES),
    output:
        output=directory(f"{study.folder}/pages"),
        page=study.page("71_languages"),
    log:
        study.log("71_languages"),
    resources:
        gpu=0,
    params:
        notebook=study.notebook(study.LANGUAGE_PAGES),
        title="",
        files=study.named(study.LANGUAGE_PAGES),
        given=study.given(study.LANGUAGE_PAGES),
    shell:
        NOTEBOOK


rule book:
    "Collect the executed notebooks and the prose, and render the book."
    input:
        pages=study.all_pages(),
        folders=[f"{study.folder}/pages"] if study.LANGUAGE_PAGES in study.chapters else [],
        prose=[os.path.relpath(path) for path in sorted((HERE / "book").rglob("*")) if path.is_file()],
        contents=[HERE / "_config.yml", HERE / "_toc.yml"],
    output:
        "_build/html/index.html",
    log:
        study.log("book"),
    shell:
        "{PYTHON:q} -m babelatlas.workflow.book {HERE:q} _build {input.pages:q} {input.folders:q} --log {log:q}"
        " --outputs {output:q}"
