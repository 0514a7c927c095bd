"""The tables of the papers that ship are what the definitions compute, and the counts
what the releases hold.
"""

import io

import pandas as pd
import pytest

from babelatlas import load
from papercheck import __main__ as command
from papercheck import claims, scorecard


@pytest.mark.slow
def test_the_scorecard_that_ships_is_computed_anew(mirror):
    card = scorecard.recompute(claims.read(), scorecard.sources(mirror))
    written = pd.read_csv(
        io.StringIO(card.to_csv(index=False)),
        keep_default_na=False,
        na_values={"recomputed": [""]},
    )
    pd.testing.assert_frame_equal(load("scorecard"), written, check_dtype=False)


@pytest.mark.slow
def test_the_errata_that_ship_are_computed_anew():
    pd.testing.assert_frame_equal(
        load("errata"), scorecard.errata().drop(columns="cells")
    )


@pytest.mark.slow
def test_the_counts_of_the_releases_that_ship_are_counted_anew(mirror, monkeypatch):
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))  # WordNet
    for path, table in command.counts(mirror).items():
        assert path.read_text(encoding="utf-8") == table.to_csv(
            index=False, lineterminator="\n"
        ), path.name
