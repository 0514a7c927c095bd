# The study as a graph: which notebook makes which table from which others. `make book` runs it. A rule of rules/*.smk runs one
# notebook; its named inputs and outputs are the notebook's, and `Plan` knows names, places and parameters. Stages 20 to 25
# and 28 are the jobs for a GPU: one for each model and data set, with all languages inside.
import os
import re
import signal
import sys
from pathlib import Path

from snakemake.utils import validate

from babelatlas.base.errors import InputError
from babelatlas.workflow import book, config as configs, messages, warm

signal.signal(signal.SIGINT, signal.SIG_DFL)  # while it plans, Ctrl-C has no job to stop
HERE = Path(os.path.relpath(workflow.basedir))
PYTHON = sys.executable
DRY = any(re.fullmatch(r"-\w*n\w*|--dry-?run", word) for word in sys.argv)

if not config:
    sys.exit("Say which run: make book CONFIG=config/demo.yml, or snakemake --configfile config/demo.yml.")
try:
    for file in workflow.configfiles:
        configs.read(file)
    study = configs.check_config(config, HERE)
    validate(config, "config/schema.yaml")  # next to this file
    messages.announce(study, DRY)
    book.check_contents(HERE / "_toc.yml", [name for chapter in study.chapters for name in study.pages(chapter)])
except InputError as error:
    sys.exit(str(error))
try:
    configs.check_paths(config)
    if not DRY:
        configs.prepare(study.folder)
except InputError as error:
    if not DRY:
        sys.exit(str(error))
    print(f"This is a dry run; a real one would stop: {error}", file=sys.stderr)

# The command that runs a rule's notebook.
NOTEBOOK = (
    "{PYTHON:q} -m babelatlas.workflow.warm {params.notebook:q} {output.page:q} --parameters {params.given:q}"
    " --files {params.files:q} --title-suffix={params.title:q} --log {log:q} --gpu {resources.gpu} --outputs {output:q}"
)


def one_of(names):
    """A pattern that matches these names and no other."""
    return "|".join(re.escape(name) for name in names) or "(?!)"


wildcard_constraints:
    classes=one_of(study.classes),
    model=one_of(study.models),
    dataset=one_of(study.datasets),
    translator=one_of(study.translators),


onstart:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    messages.listen(study.folder)
    warm.start()


onerror:
    messages.report()


rule all:
    default_target: True
    input:
        "_build/html/index.html",
        study.all_files(),


for part in "lexicon datasets scenes models evaluation reasoning captioning settings report".split():

    include: f"rules/{part}.smk"
