"""The numbers of Geigle et al. (2024), Babel-ImageNet, computed again: its tables, Figures 3 and 4, and its text.

What goes in: the paper's own tables (`published`), and, where its authors released them, the same numbers in full
precision: accuracies ("babel-imagenet-results"), retrieval ("babel-imagenet-retrieval") and counts. No result file was
released for OpenAI B-32 and ST mBERT B-32; their printed numbers stand in, and what they can be off by is the slack.

The authors' notebook (gregor-ge/Babel-ImageNet, evaluation_scripts/results_analysis.ipynb, commit
317c49896f04bc61d0c7a5dfc6fd4e3b0d8a9430) shows the outputs of their run, these two models among them: the parameters of
each model, the means of Table 2 to two decimals, and the limits of the groups. `data/geigle2024_notebook.csv` has them.

`babelatlas ship geigle2024 --folder FOLDER` makes the retrieval results and the counts again from a copy of
Babel-ImageNet's repository.
"""
# ruff: noqa: F401 (the names that others use)

import sys

from babelatlas.base.errors import InputError
from babelatlas.lexicon import prompts
from babelatlas.papers import definitions
from babelatlas.papers.geigle2024 import recomputed as _recomputed
from babelatlas.papers.geigle2024.inconsistencies import against_order, errata, group_table
from babelatlas.papers.geigle2024.recomputed import LEAD, nearest_shares, small_languages
from babelatlas.papers.geigle2024.released import (
    CLAIMS,
    COUNTS,
    DATASETS,
    PAPER,
    RETRIEVAL,
    T2I,
    counts,
    notebook,
    pairs,
    read_counts,
    read_retrieval,
    recalls,
)

DEFINITIONS = definitions.read(PAPER, "geigle2024", vars(_recomputed))
