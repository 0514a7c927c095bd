"""The written rules as Snakemake has read them: what they write, and what reads a file;
and the whole graph of a config, for who asks without running it.
"""

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from snakemake.iocontainers import Wildcards

from atlas_study.workflow import notebooks
from atlas_study.workflow.plan import Job, Plan, flat
from babelatlas.base.errors import InputError, near


def written(rules: Iterable) -> dict[str, dict[str, str]]:
    """Return what Snakemake's rules write: rule -> name -> pattern, with wildcards."""
    from snakemake.io import strip_wildcard_constraints

    return {
        rule.name: {
            name: strip_wildcard_constraints(str(path))
            for name, path in rule.output.items()
        }
        for rule in rules
    }


# Names of a rule's inputs and outputs that its notebook is not told: what a job waits
# for, and its page and what stands below an output that is a folder.
UNTOLD_INPUTS = {"before", "files", "material", "own", "sense_labels"}
UNTOLD_INPUTS |= {"templates", "texts", "tower", "weights"}
UNTOLD_OUTPUTS = {"page", "losses", "record", "texts", "weights"}


def check_names(rules: Iterable) -> None:
    """Raise InputError where a rule names an input or output that its notebook does not
    declare: the notebook would read or write its own default in silence.
    """
    for rule in rules:
        path = rule.params.notebook
        declared = notebooks.defaults(path)
        named = {*dict(rule.input.items())} - UNTOLD_INPUTS
        named |= {*dict(rule.output.items())} - UNTOLD_OUTPUTS
        for name in sorted(named - {*declared}):
            raise InputError(
                f"The rule {rule.name} names {name!r}, which {Path(path).name} does not"
                f" declare: {near(name, declared)}"
            )
        if "page" not in dict(rule.output.items()):
            raise InputError(
                f"The rule {rule.name} has no output page=page(...): add the executed"
                " notebook."
            )


def with_gpu(rules: Iterable) -> list[str]:
    """Return the rules of Snakemake's whose jobs may take a GPU."""
    places = {rule.name: rule.resources.get("gpu") for rule in rules}
    return [name for name, gpu in places.items() if gpu.is_evaluable() or gpu.value]


def dependents(rules: Iterable) -> Callable[[Plan, set[str]], set[str]]:
    """Return the function that gives the pages of a plan's jobs which read one of some
    files, those that failed steps would have written.

    `rules`: Snakemake's, of the stages.
    """
    rules = list(rules)

    def reading(plan: Plan, gone: set[str]) -> set[str]:
        found = set()
        for rule in rules:
            for job in plan.jobs[rule.name]:
                inputs, *_ = rule.expand_input(Wildcards(fromdict=job))
                if gone.intersection(map(str, inputs)):
                    found.add(plan.page(rule.name, job))
        return found

    return reading


class Graph:
    """The rules of a config as Snakemake has read them, and its plan; nothing runs.

    `config`: the path of a config; `project`: the folder with the Snakefile. Takes a
    second or two. Raises InputError for what is wrong with the config.
    """

    def __init__(self, config: str | os.PathLike, project: str | os.PathLike):
        from snakemake.api import SnakemakeApi
        from snakemake.settings.types import (
            ConfigSettings,
            OutputSettings,
            Quietness,
            ResourceSettings,
        )

        with SnakemakeApi(OutputSettings(quiet=set(Quietness))) as api:
            workflow = api.workflow(
                resource_settings=ResourceSettings(cores=1),
                config_settings=ConfigSettings(configfiles=[Path(config)]),
                snakefile=Path(project, "Snakefile"),
            )
            try:
                self.workflow = workflow._workflow
            except SystemExit as stop:
                raise InputError(str(stop.code)) from stop
        self.rules = {rule.name: rule for rule in self.workflow.rules}
        self.plan: Plan = self.workflow.globals["study"]
        self._own = {name: self.workflow.globals[name] for name in ("study", "absent")}

    def inputs(self, rule: str, job: Job) -> dict[str, list[str]]:
        """Return what a job reads: name -> paths; what has no name, its code, as ""."""
        self._restore_plan()
        found, *_ = self.rules[rule].expand_input(Wildcards(fromdict=job))
        named = {name: flat([value]) for name, value in found.items()}
        others = [str(path) for path in found if str(path) not in flat(named.values())]
        return named | {"": others}

    def told(self, rule: str, job: Job) -> dict:
        """Return the parameters that a job's notebook gets from the graph."""
        self._restore_plan()
        wildcards = Wildcards(fromdict=job)
        of_rule = self.rules[rule]
        inputs, *_ = of_rule.expand_input(wildcards)
        outputs, _ = of_rule.expand_output(wildcards)
        return json.loads(of_rule.params.given(wildcards, inputs, outputs))

    def _restore_plan(self) -> None:
        """Let the functions of rules find this graph's plan: Snakemake reads all graphs
        of a process into one namespace, where the plan is that of the newest.
        """
        self.workflow.globals.update(self._own)
