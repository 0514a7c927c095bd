# The study as a graph; `make book` runs it. Every rule of a stage runs one notebook on
# one model and data set, and writes tables; chapters read them; the book collects all.
import json
import os
import re
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace

from atlas_study.workflow import book, config as configs, failures, graph, notebooks
from atlas_study.workflow.plan import MODEL_PAGE, ONCE, flat
from babelatlas.base import synsets
from babelatlas.base.errors import InputError, near

HERE = Path(os.path.relpath(workflow.basedir))
PYTHON = sys.executable

if not config:
    sys.exit("Name a config: make book CONFIG=config/demo.yml, or snakemake --configfile config/demo.yml.")
try:
    for file in workflow.configfiles:
        configs.read(file)
    study = configs.check_config(config, HERE, failures.without())
    absent = configs.absent(study.config)
except InputError as error:
    sys.exit(str(error))

# What a run goes on without is known to its jobs, too, wherever they run.
if failures.without():

    envvars:
        failures.WITHOUT,


include: "rules/common.smk"
include: "rules/words.smk"
include: "rules/translations.smk"
include: "rules/data.smk"
include: "rules/training.smk"
include: "rules/evaluation.smk"
include: "rules/validation.smk"


try:
    graph.check_names(workflow.rules)
    study.add_rules(graph.written(workflow.rules), graph.dependents(workflow.rules))
    configs.check_parameters(study, workflow.rules)
    configs.check_dependencies(study)
    book.check_contents(HERE / "_toc.yml", study.all_pages())
    if failures.is_dry(sys.argv):
        configs.tell_absent(config)
        from atlas_study.workflow import costs

        costs.tell(study, graph.with_gpu(workflow.rules), HERE)
except InputError as error:
    sys.exit(str(error))


# Not in a dry run, which changes nothing.
onstart:
    try:
        configs.check_paths(config)
        configs.prepare(study)
    except InputError as error:
        sys.exit(str(error))


include: "rules/chapters.smk"
include: "rules/book.smk"


rule all:
    default_target: True
    input:
        "_build/html/index.html",
        study.all_files(),
        first_page(),
