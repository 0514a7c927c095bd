# What the rules of the stages have in common. A rule's named inputs and outputs are its
# notebook's parameters of these names; `told` adds what else only the graph knows.

RUN_NOTEBOOK = (
    "{PYTHON:q} -m atlas_study.workflow.run_notebook"
    " {params.notebook:q} {output.page:q} --parameters {params.given:q}"
    " --title-suffix={params.title:q} --log {log:q} --gpu {resources.gpu}"
    " --outputs {output:q}"
)


def at(path):
    "Return where a file of the run is, as results/demo/zeroshot/{model}_{dataset}.parquet."
    return study.at(path)


def page(name):
    "Return where the executed notebook of a job is."
    return at(f"notebooks/{name}.ipynb")


def log_of(name):
    "Return where a job says what it does, and why it failed."
    return at(f"logs/{name}.txt")


# Most notebooks need the same files.
from_here = cache(os.path.relpath)


def code(name):
    "Return a notebook, the modules that it imports and the shipped data that it lists."
    try:
        files = notebooks.sources(study.notebook(name))
    except InputError as error:
        sys.exit(str(error))
    return [from_here(file) for file in files]


def only(rule):
    "Return what the wildcards of a rule may be: those of its jobs."
    if rule not in study.jobs:
        sys.exit(
            f"Nothing says the jobs of the rule {rule}: add a line above it, as in"
            f" study.jobs[{rule!r}] = study.pairs('zero-shot')."
        )
    return study.constraints(study.jobs[rule])


def there(paths):
    "Return paths without those at which nothing is: a dry run lists the jobs all the same."
    return [path for path in paths if path not in absent]


def named(files):
    "Return a job's files by the names that its rule gives them."
    return {
        name: str(value) if isinstance(value, str) else [*value]
        for name, value in files.items()
    }


def told(name, also=None, stage=True, **more):
    """Return the params of a rule: its notebook, and what this is told in each job.

    `more`: parameters that only the graph can set, each a value or a function of the
    wildcards; `also`: a function of the wildcards that gives several. What else a job
    depends on, `depends`, makes it run again.
    """

    declared = notebooks.defaults(study.notebook(name))
    for unknown in {*more} - {*declared}:
        sys.exit(f"A rule tells {name} {unknown!r}, which it does not declare: {near(unknown, declared)}")

    def values(wildcards, files):
        job = dict(wildcards.items())
        known = study.of_job(name, job) | files
        known |= {"limit": study.config.limit or ""} if stage else {}
        ours = {key: value for key, value in known.items() if key in declared}
        for key, value in more.items():
            ours[key] = value(wildcards) if callable(value) else value
        ours |= also(wildcards) if also else {}
        told = study.told(name, job, ours)
        return json.dumps(told, ensure_ascii=False, sort_keys=True)

    def given(wildcards, input, output):
        return values(wildcards, named(input) | named(output))

    def settings(wildcards):
        return values(wildcards, {})

    def set_here(job):
        "Return the names of what only the graph sets, which a config cannot."
        return {*more, *(also(SimpleNamespace(**job)) if also else ())}

    def depends(wildcards):
        if stage:
            return study.depends(name, dict(wildcards.items()))
        return json.dumps(study.given_files(name), sort_keys=True)

    given.set_here = set_here
    return {
        "notebook": study.notebook(name),
        "given": given,
        # Of `given`, what makes a job run again: Snakemake passes over params that
        # depend on inputs and outputs.
        "settings": settings,
        "depends": depends,
        "title": title,
    }


def title(wildcards):
    "Return what is added to the title of a page: its model and data set."
    return ", ".join(filter(None, [*dict(wildcards.items()).values(), study.limited]))


# Inputs that several stages have.


def weights(wildcards):
    "Return the weights of a model that the run trains; nothing for a published one."
    return study.weights(wildcards.model)


def material(wildcards):
    "Return what the run makes of a data set, and the user's files of captions or labels."
    return there(study.files(wildcards.dataset))


def texts(wildcards):
    "Return the user's files of captions or sentences of a data set."
    return there(study.captions(wildcards.dataset))


def templates(name):
    "Return the function that gives the tables of prompts that a notebook reads."
    return lambda wildcards: there(study.templates(name))


def gpu(wildcards):
    "Return how many GPUs a job takes."
    return study.gpus(wildcards.model)


def bridge_before(table):
    """Return the function that gives what a bridge waits for: the table of the bridge
    that is evaluated before it, so that they encode each picture and text once."""

    def before(wildcards):
        bridges = study.bridges(wildcards.dataset)
        if wildcards.model not in bridges:
            return []
        earlier = bridges[: bridges.index(wildcards.model)]
        planned = [job["model"] for job in study.jobs[table]]
        earlier = [name for name in earlier if name in planned]
        return [at(f"{table}/{name}_{wildcards.dataset}.parquet") for name in earlier[-1:]]

    return before
