"""All results as one table: boards in the order of pages, and what guessing gives."""

import numpy as np
import pandas as pd
import pytest

from babelatlas.analysis import all_results as results
from babelatlas.base.errors import InputError
from score_rows import score_rows


def test_boards_are_what_models_are_compared_by_in_the_order_of_the_data_sets():
    image_asks = score_rows()[lambda table: table["task"] == "retrieval"].assign(
        metric="i2t recall@1"
    )
    found = pd.concat([image_asks, score_rows(), score_rows(metric="accuracy@5")])
    rows = results.boards(found.sort_values("dataset", ascending=False, kind="stable"))
    assert list(rows["title"].unique()) == ["toy", "people, t2i", "people, i2t"]
    assert not rows.duplicated(["title", "model", "lang"]).any()
    with pytest.raises(InputError, match="no row with one of accuracy@1"):
        results.boards(score_rows(metric="accuracy@5"))


def test_guessing_is_right_in_one_of_the_classes_or_images():
    rows = {
        row.title: row
        for row in results.boards(score_rows()).drop_duplicates("title").itertuples()
    }
    assert results.guessing(rows["toy"], {}) == 0.1
    assert results.guessing(rows["people, t2i"], {"people": 50}) == 0.02
    assert np.isnan(results.guessing(rows["people, t2i"], {}))
    assert (
        results.guessing(rows["people, t2i"]._replace(metric="i2t recall@1"), {})
        == 1 / 40
    )
