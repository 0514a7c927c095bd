"""Shared by the tests of recomputed papers: test_<paper> has its claims and its
scorecard.
"""

import pytest

from babelatlas import load
from papercheck import claims


@pytest.fixture(scope="module")
def paper(request):
    return request.path.stem.removeprefix("test_")


@pytest.fixture(scope="module")
def table(paper):
    return claims.read(paper)


@pytest.fixture(scope="module")
def card(paper):
    return load("scorecard").query("paper == @paper").reset_index(drop=True)
