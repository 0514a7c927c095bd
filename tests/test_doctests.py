"""The examples in the docstrings of every module that needs no deep-learning package
hold.
"""

import ast
import doctest
import importlib
import pkgutil

import pytest

from conftest import ROOT

PACKAGES = ("babelatlas", "miniature", "papercheck", "atlas_build", "atlas_study")
HEAVY = {"torch", "torchvision", "open_clip", "transformers", "sentence_transformers"}


def light_modules():
    """Return the modules that import none of the heavy packages at their top, nor a
    module that does.
    """
    found = {}
    for module in pkgutil.walk_packages([ROOT / "lib"]):
        if module.name.partition(".")[0] not in PACKAGES:
            continue
        path = module.module_finder.find_spec(module.name).origin
        with open(path, encoding="utf-8") as file:
            imports = [
                node
                for node in ast.parse(file.read()).body
                if isinstance(node, ast.Import | ast.ImportFrom)
            ]
        names = {
            alias.name
            for node in imports
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        for node in imports:
            if isinstance(node, ast.ImportFrom):
                names |= {node.module} | {
                    f"{node.module}.{alias.name}" for alias in node.names
                }
        found[module.name] = names
    heavy = {
        name
        for name, imports in found.items()
        if any(each.split(".")[0] in HEAVY for each in imports)
    }
    while more := {
        name for name, imports in found.items() if name not in heavy and imports & heavy
    }:
        heavy |= more
    return sorted(found.keys() - heavy)


@pytest.mark.parametrize("name", light_modules())
def test_the_examples_in_the_docstrings_hold(name):
    assert (
        doctest.testmod(
            importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE
        ).failed
        == 0
    )
