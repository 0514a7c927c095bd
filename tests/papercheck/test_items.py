"""The table of items: every reference in it leads somewhere, what runs has a test, no
item leaves and no state gets worse.
"""

import ast
import importlib
import importlib.util
import re
import shlex
from functools import cache
from pathlib import Path

import pytest
import yaml

from atlas_study.commands.main import app
from atlas_study.workflow import notebooks
from atlas_study.workflow.config import Config
from babelatlas.base.errors import InputError
from babelatlas.datasets import registry as datasets
from babelatlas.models import registry as models
from babelatlas.models import translators
from conftest import ROOT
from papercheck import items, scorecard

ITEMS = items.read()
REFERENCES = ["notebook", "parameters", "config", "function", "command", "test"]
RUNS = ("runs on your data", "on the shipped real models")
ABSENT = ("not yet",)
# Modules that import torch: their functions are looked up in the source.
HEAVY = ("babelatlas.models.loaders.", "babelatlas.models.training.")
# What a test of a running item must not need, as it would be left out on many machines.
ELSEWHERE = {"mirror", "parsed", "small_run", "book"}
# An item stays in the table, and has at least this state. Whoever adds a row adds its
# name here; whoever makes an item run moves its name up.
LEAST = {
    "runs on your data": """
        label-sets babelnet released-labels english-words language-selection
        openai-clip openclip-xlmr sentence-transformer m-clip altclip msiglip
        nllb-siglip zero-shot templates translated-prompts table-2 run-and-paper
        figure-2 table-3 figure-3 xflickrco xm3600-retrieval xtd adapter-mse
        adapter-contrastive adapter-lit adapter-architecture adapter-captions
        table-6 lora simcse multitask table-5 figure-4 figure-5 tables-8-9
        xm3600 image-selection caption-collection caption-rating
        caption-statistics caption-quality training-captions captioners
        side-by-side cider table-6-correlations regions commute perplexity tc ic
        gtc-gic vgamt-clip-trans scores-of-others gated-fusion multi30k
        mixed-image figure-3-between table-1-rates table-2-ic table-3-overlap
        extended-commute tables-4-5-oracle figure-4-replaced table-6-prefix
        figure-5-temperature coco-sm recall ndcg own-model uform reports
        recall-table ndcg-table caption-translation own-concepts
        statement-collection agreement data-statistics statement-statistics
        image-distribution marvl nlvr2 pair-head accuracy-consistency
        zero-shot-transfer translate-test translate-train figure-9-chapters
        examples
    """,
    "recomputed only": """
        table-4-statistics figure-6 table-7 figure-7 captioner-sizes tables-4-5
        figure-2-concepts figure-5-depth uniter monolingual-models
        table-5-controls
    """,
    "needs people": """
        verification annotators concept-selection image-collection
    """,
}
NEEDS_MIRROR = "test_every_known_file_that_the_mirror_has_is_the_mirrors"


def named(state: str) -> list[str]:
    """The items that have at least a state."""
    return LEAST[state].split()


@cache
def functions(path: Path) -> dict[str, ast.FunctionDef]:
    """The functions at the top of a Python file, by name."""
    nodes = ast.parse(path.read_text(encoding="utf-8")).body
    return {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}


def fixtures(path: Path, name: str) -> set[str]:
    """What a test, and the fixtures of its file that it uses, take as arguments."""
    known = functions(path)
    found, waiting = set(), [name]
    while waiting:
        arguments = {one.arg for one in known[waiting.pop()].args.args}
        waiting += [one for one in arguments - found if one in known]
        found |= arguments
    return found


def fault_of_function(row) -> str:
    """Why the function of a row is none, "" where it is one."""
    module, _, name = row.function.rpartition(".")
    try:
        if f"{module}.".startswith(HEAVY):
            source = Path(importlib.util.find_spec(module).origin)
            found = name in functions(source)
        else:
            found = callable(getattr(importlib.import_module(module), name, None))
    except (ImportError, AttributeError):
        found = False
    return "" if found else f"no function {row.function}"


def fault_of_notebook(row) -> str:
    """Why the notebook of a row cannot have its parameters, "" where it can."""
    if not (ROOT / row.notebook).is_file():
        return f"no notebook {row.notebook}"
    pairs = [text.split("=", 1) for text in row.parameters.split("; ") if text]
    given = {name: yaml.safe_load(value) for name, value in pairs}
    try:
        notebooks.check_parameters(ROOT / row.notebook, given)
    except InputError as error:
        return str(error)
    return ""


def fault_of_config(row) -> str:
    """Why a word of a row is of no config, "" where all are."""
    words = {*Config.model_fields, *models.known()}
    words |= {entry.name for entry in datasets.known()}
    strange = {*row.config.split()} - words - {*translators.names()}
    return f"no config has {', '.join(sorted(strange))}" if strange else ""


def fault_of_command(row) -> str:
    """Why what a row tells a reader to type is no command, "" where it is one."""
    program, *words = shlex.split(row.command)
    if program == "make":
        target, *given = words
        files = [one.removeprefix("CONFIG=") for one in given]
        targets = re.search(r"^TARGETS := (.*)$", (ROOT / "Makefile").read_text(), re.M)
        known = target in targets[1].split()
        known &= all((ROOT / file).is_file() for file in files)
    elif program == "babelatlas":
        known = words[0] in app.commands
        if words[0] == "run":
            given = [one for one in words[2:] if one != "--parameter"]
            as_row = row._replace(notebook=words[1], parameters="; ".join(given))
            return fault_of_notebook(as_row)
    else:
        known = [program, *words[:2]] == ["python", "-m", "papercheck"]
    return "" if known else f"no command {row.command}"


def fault_of_test(row) -> str:
    """Why the test of a row is none that always runs, "" where it is one."""
    path, _, name = row.test.partition("::")
    if not (ROOT / path).is_file() or name not in functions(ROOT / path):
        return f"no test {row.test}"
    needed = fixtures(ROOT / path, name) & ELSEWHERE
    if row.state in RUNS and needed:
        return f"the test {name} needs {', '.join(sorted(needed))}"
    return ""


CHECKS = {
    "notebook": fault_of_notebook,
    "config": fault_of_config,
    "function": fault_of_function,
    "command": fault_of_command,
    "test": fault_of_test,
}


def faults(row) -> list[str]:
    """What does not hold in a row of the table."""
    found = [check(row) for name, check in CHECKS.items() if getattr(row, name)]
    if row.state in RUNS:
        needed = ("function", "command", "test")
        found += [f"no {name}" for name in needed if not getattr(row, name)]
    if row.state == "recomputed only" and not row.function:
        found.append("no function")
    if row.state in ABSENT and any(getattr(row, name) for name in REFERENCES):
        found.append("what is absent has a reference")
    if row.parameters and not row.notebook:
        found.append("parameters without a notebook")
    return [fault for fault in found if fault]


@pytest.mark.parametrize("row", list(ITEMS.itertuples()), ids=list(ITEMS["item"]))
def test_every_reference_of_an_item_leads_somewhere(row):
    assert faults(row) == []


def test_every_item_has_a_name_of_its_own_a_paper_a_place_and_a_state():
    assert ITEMS["item"].is_unique
    assert set(ITEMS["paper"]) == set(scorecard.PAPERS)
    assert set(ITEMS["state"]) <= set(items.STATES)
    for column in ("item", "place", "what"):
        assert ITEMS[column].str.strip().ne("").all()
    assert ITEMS["what"].str.endswith(".").all()


def test_no_item_leaves_the_table_and_no_state_gets_worse():
    least = {name: state for state in LEAST for name in named(state)}
    states = ITEMS.set_index("item")["state"]
    assert set(states.index) == set(least)
    order = list(items.STATES)
    worse = {
        name: f"{states[name]}, was {state}"
        for name, state in least.items()
        if order.index(states[name]) < order.index(state)
    }
    assert worse == {}


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"function": "babelatlas.stats.bootstrap.absent"}, "no function babelatlas"),
        ({"function": "babelatlas.absent.load"}, "no function babelatlas"),
        ({"function": "babelatlas.models.loaders.mclip.absent"}, "no function babel"),
        ({"notebook": "notebooks/stages/99_absent.ipynb"}, "no notebook notebooks"),
        ({"parameters": "absent=1"}, "absent"),
        ({"parameters": "n_subsets=-1"}, "n_subsets"),
        ({"config": "imagenet-1k absent"}, "no config has absent"),
        ({"command": "make absent"}, "no command make absent"),
        ({"command": "make book CONFIG=config/absent.yml"}, "no command make book"),
        ({"command": "babelatlas absent"}, "no command babelatlas absent"),
        ({"test": "tests/papercheck/test_items.py::test_absent"}, "no test tests"),
        ({"test": "tests/base/test_download.py::" + NEEDS_MIRROR}, "needs mirror"),
        ({"test": ""}, "no test"),
        ({"state": "not yet"}, "what is absent has a reference"),
    ],
)
def test_a_reference_that_leads_nowhere_is_found(changed, fault):
    row = next(ITEMS[ITEMS["item"] == "figure-2"].itertuples())
    assert faults(row) == []
    assert fault in " ".join(faults(row._replace(**changed)))


def test_the_page_of_the_book_is_made_from_the_table():
    page = (ROOT / "book" / "five-papers.md").read_text(encoding="utf-8")
    assert page == items.page(ITEMS), "python -m papercheck items > book/five-papers.md"
    for row in ITEMS.itertuples():
        assert row.what in page
