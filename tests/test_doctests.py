"""The examples in the docstrings of every module that needs no deep-learning package
hold.
"""

import doctest
import importlib
import linecache
import pkgutil
import re
from pathlib import Path

import pytest

from conftest import ROOT

PACKAGES = ("babelatlas", "miniature", "papercheck", "atlas_build", "atlas_study")
# Imports at the top of a module. Read as text: to parse all of them takes a second in
# each process of the tests.
IMPORTED = re.compile(r"^import ([\w.]+)", re.MULTILINE)
FROM_A_PACKAGE = re.compile(r"^from ([\w.]+) import (\([^)]*\)|.*)", re.MULTILINE)
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
        text = Path(path).read_text(encoding="utf-8")
        names = {*IMPORTED.findall(text)}
        for package, listed in FROM_A_PACKAGE.findall(text):
            names |= {package}
            names |= {f"{package}.{name}" for name in re.findall(r"\w+", listed)}
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
    # Before each example doctest asks whether a file of these has changed.
    linecache.clearcache()
    assert (
        doctest.testmod(
            importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE
        ).failed
        == 0
    )
