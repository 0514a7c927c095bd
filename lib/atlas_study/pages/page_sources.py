"""What a page was made from: its code, parameters, tables and files, and the versions of
the environment.
"""

import ast
import fnmatch
import json
import re
from functools import cache

from babelatlas.base import installed
from babelatlas.base.paths import root
from babelatlas.report.formatting import escape, literal

# Assignments in a notebook's cell of inputs: tables of the run, and shipped files.
READS = ("reads", "reads_if_made")
SHIPPED = ("data_files",)
LICENCES = "LICENSE-DATA.md"
# Where others are from; what is no name of a section of it.
OTHERS = {
    "contributed": "corrections by speakers, CC BY 4.0, each with who sent it",
    "claims": "numbers that the papers print",
    "datasets.toml": "facts about data sets, with a citation for each",
    "glottolog.csv": "Glottolog 4.0",
    "imagenet-100.csv": "a hundred of ImageNet's classes",
    "interval_coverage.csv": "simulations of this study",
    "language_facts.csv": "Unicode CLDR",
    "miniature": "words and phrases of this study",
    "models.toml": "sources in `models_sources.csv`",
    "real_run": "outcomes of this study's own runs",
    "released": "results of others, sources in `released/sources.toml`",
    "synsets.csv": "WordNet 3.0",
    "translators.toml": "sources in `translators_sources.csv`",
}
OTHERS |= dict.fromkeys(["errata.csv", "scorecard.csv"], "recomputed by this study")
FACTS = re.compile(r"^## (.+?): (.*`.*)$", re.MULTILINE)  # its headings that name files


def listed(notebook: dict, names: tuple[str, ...]) -> list[str]:
    """Return the texts of the lists that a notebook assigns to these names, each once.

    >>> cell = {"cell_type": "code", "source": "reads = ['labels']  # tables"}
    >>> listed({"cells": [cell]}, READS)
    ['labels']
    """
    found = {}
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] != "code" or not re.search(
            rf"^(?:{'|'.join(names)})\b", source, re.MULTILINE
        ):
            continue
        for node in ast.parse(source).body:
            if isinstance(node, ast.Assign) and node.targets[0].id in names:
                found |= dict.fromkeys(ast.literal_eval(node.value))
    return list(found)


@cache
def subjects() -> dict[str, str]:
    """Return what LICENSE-DATA.md has sections on: pattern of a shipped file's name ->
    the section's subject.
    """
    path = root() / LICENCES
    if not path.is_file():
        return {}
    sections = FACTS.findall(path.read_text(encoding="utf-8"))
    return {
        pattern.rstrip("/"): subject
        for subject, names in sections
        for pattern in re.findall(r"`([^`]+)`", names)
    }


def subject(name: str) -> str:
    """Return what a shipped file is, or the section of LICENSE-DATA.md on it; "" where
    neither is known.
    """
    names = (name, name.split("/")[0])
    for pattern, about in subjects().items():
        if any(fnmatch.fnmatch(part, pattern) for part in names):
            return about
    return OTHERS.get(names[1], "")


def panel(notebook: dict) -> str:
    """Return what an executed notebook was made from, as Markdown; "" of one that no
    run made.
    """
    made = notebook["metadata"].get("babelatlas")
    if not made:
        return ""
    first = f"Notebook {literal(made['notebook'])}, {made['seconds']:g} s."
    parameters = [
        f"{literal(key)} = {escape(json.dumps(value, ensure_ascii=False))}"
        for key, value in made["parameters"].items()
    ]
    tables = [literal(name) for name in listed(notebook, READS)]
    files = []
    for name in listed(notebook, SHIPPED):
        about = subject(name)
        files.append(f"{literal(name)} ({about})" if about else literal(name))
    packages = made.get("versions") or installed.versions()
    environment = ", ".join(f"{name} {number}" for name, number in packages.items())
    parts = [
        ("Parameters", parameters),
        ("Tables of the run", tables),
        (
            "Files of the study, with their sources and licences in"
            " [Data and licences](data) and in `LICENSE-DATA.md`",
            files,
        ),
    ]
    sections = [
        f"**{title}**\n\n" + "\n".join(f"- {line}" for line in lines)
        for title, lines in parts
        if lines
    ]
    last = f"**Environment**\n\n{escape(environment)}"
    return "\n\n".join([first, *sections, last])
