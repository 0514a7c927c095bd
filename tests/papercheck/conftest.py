"""Shared by the tests of recomputed papers: test_<paper> has its claims and its scorecard; all have parsed tables."""

import os
from pathlib import Path

import pandas as pd
import pytest

from babelatlas import load
from conftest import ROOT
from papercheck import claims

PARSED = Path(os.environ.get("BABELATLAS_PARSED", ROOT.parent / "shared" / "published"))


@pytest.fixture(scope="module")
def paper(request):
    return request.path.stem.removeprefix("test_")


@pytest.fixture(scope="module")
def table(paper):
    return claims.read(paper)


@pytest.fixture(scope="module")
def card(paper):
    return load("scorecard").query("paper == @paper").reset_index(drop=True)


@pytest.fixture(scope="session")
def parsed():
    """A function that reads a parsed table of the papers, by the name of its file."""

    def read(name, **how):
        if not (PARSED / name).is_file():
            pytest.skip(f"the parsed tables of the paper are not here ({name}; BABELATLAS_PARSED names their folder)")
        return pd.read_csv(PARSED / name, **how)

    return read
