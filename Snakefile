# The study as a graph; `make book` runs it. Every rule runs one notebook, a stage of atlas_study.workflow.stages or a chapter;
# `Plan` knows their jobs, files and parameters.
import os
import re
import sys
from pathlib import Path

from babelatlas.base.errors import InputError, near
from atlas_study.workflow import book, config as configs, failures

HERE = Path(os.path.relpath(workflow.basedir))
PYTHON = sys.executable
DRY = any(re.fullmatch(r"-\w*n\w*|--dry-?run", word) for word in sys.argv)

if not config:
    sys.exit("Say which run: make book CONFIG=config/demo.yml, or snakemake --configfile config/demo.yml.")
try:
    for file in workflow.configfiles:
        configs.read(file)
    study = configs.check_config(config, HERE, failures.without())
    absent = configs.absent(study.config)  # nothing, but in a dry run, which lists the jobs all the same
    book.check_contents(HERE / "_toc.yml", study.all_pages())
    FOLDERS = [path for path in study.all_files() if not Path(path).suffix]
    # What each page is made from, its prose or its notebook; the explorer also from what chapters write for it.
    PAGES = {path.stem: [path] for path in (HERE / "book").glob("*.md")}
    PAGES.get("explorer", []).extend(FOLDERS)
    PAGES |= {name: [study.at(f"notebooks/{name}.ipynb")] for name in study.all_pages()}
    for name in re.findall(r"^_build/page/html/(.*)\.html$", "\n".join(sys.argv), re.MULTILINE):
        if name not in PAGES:
            raise InputError(f"There is no page {name!r}: {near(name, PAGES)}")
    try:
        configs.check_paths(config)
    except InputError as error:
        if not DRY:
            raise
        print(f"This is a dry run; a real one would stop: {error}", file=sys.stderr)
    if not DRY:
        configs.prepare(study)
except InputError as error:
    sys.exit(str(error))

# What a run goes on without is known to its jobs, too, wherever they run.
if failures.without():

    envvars:
        failures.WITHOUT,



rule all:
    default_target: True
    input:
        "_build/html/index.html",
        study.all_files(),


for each in study.rules():

    rule:
        name:
            each.name
        input:
            lambda wildcards, paths=each.input: [path for path in paths(wildcards) if path not in absent],
        output:
            *(path if Path(path).suffix else directory(path) for path in each.outputs),
            page=study.at(f"notebooks/{each.page}.ipynb"),
        log:
            study.at(f"logs/{each.page}.txt"),
        wildcard_constraints:
            **each.constraints,
        priority: each.priority
        resources:
            gpu=each.gpu,
        params:
            notebook=each.notebook,
            title=each.title,
            given=each.parameters,
            depends=each.depends,
        shell:
            "{PYTHON:q} -m atlas_study.workflow.run_notebook {params.notebook:q} {output.page:q}"
            " --parameters {params.given:q} --title-suffix={params.title:q} --log {log:q} --gpu {resources.gpu}"
            " --outputs {output:q}"


rule book:
    "Collect the executed notebooks and the prose, and render the book."
    input:
        pages=[study.at(f"notebooks/{name}.ipynb") for name in study.all_pages()],
        folders=FOLDERS,
        prose=[os.path.relpath(path) for path in sorted((HERE / "book").rglob("*")) if path.is_file()],
        contents=[HERE / "_config.yml", HERE / "_toc.yml"],
    output:
        "_build/html/index.html",
    log:
        study.at("logs/book.txt"),
    params:
        failed=failures.without(),
        go_on=failures.command(workflow.configfiles[0]) if failures.without() else "make book",
    resources:
        gpu=0,
    shell:
        "{PYTHON:q} -m atlas_study.workflow.book {HERE:q} _build {input.pages:q} {input.folders:q} --log {log:q}"
        " --failed {params.failed:q} --go-on {params.go_on:q} --outputs {output:q}"


rule page:
    "Render one page by itself, in seconds."
    input:
        pages=lambda wildcards: PAGES[wildcards.page],
        contents=rules.book.input.contents,
    output:
        "_build/page/html/{page}.html",
    log:
        study.at("logs/page_{page}.txt"),
    wildcard_constraints:
        page="[^/]+",
    resources:
        gpu=0,
    shell:
        "{PYTHON:q} -m atlas_study.workflow.book {HERE:q} _build/page {input.pages:q} --only {wildcards.page:q} --log {log:q}"
        " --outputs {output:q}"
