"""Recall of released models in every language: the table from which the chapters on
training data and on model size start.
"""

import pandas as pd

from babelatlas.analysis import ranking, real_models


def recall(dataset: str = "xm3600", harness: str = "clip_benchmark") -> pd.DataFrame:
    """Return recall@1, the mean of both directions: a row for each language, a column
    for each model.
    """
    return ranking.by_language(real_models.board(harness, dataset, "recall@1"))
