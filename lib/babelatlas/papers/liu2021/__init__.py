"""The numbers of Liu et al. (2021), MaRVL: Tables 1 to 5, Figure 9 and the statistics of captions, computed again.

What MaRVL's annotations (CC BY 4.0, github.com/marvl-challenge/marvl-code) and the sentences of NLVR2 in the same
release say is counted once (`release.count`) and ships as `COUNTS`; so nothing here needs the files. The answers of the
models are not released. What is tested of an accuracy or a consistency is then whether it can be a share of the
examples or captions that there are (`rounding.nearest_share`).
"""
# ruff: noqa: F401 (the names that others use)

import argparse
import sys

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.papers import definitions
from babelatlas.papers.liu2021 import accuracies as _accuracies
from babelatlas.papers.liu2021 import dataset_tables as _dataset_tables
from babelatlas.papers.liu2021.accuracies import (
    SPREADS,
    TRANSLATED,
    by_hand,
    differences,
    gaps,
    language_scores,
    overall,
    right_answers,
    scores,
    sentences_that_fit,
    spreads,
)
from babelatlas.papers.liu2021.dataset_tables import PAPER, kappa_sizes, kappas, printed, wordings
from babelatlas.papers.liu2021.inconsistencies import errata
from babelatlas.papers.liu2021.release import COUNTS, FIELDS, LANGUAGES, SAMPLE, count, counts, marvl, tokenizers

DEFINITIONS = definitions.read(PAPER, "liu2021", vars(_dataset_tables) | vars(_accuracies))
