"""Recall of released models by language."""

import pytest

from babelatlas.analysis import training_data
from babelatlas.base import released


def test_recall_is_the_mean_of_both_directions():
    recall = training_data.recall()
    name = "clip-l14-commonpool-xl"
    rows = released.read(
        harness="clip_benchmark",
        dataset="xm3600",
        metric="recall@1",
        model=name,
        lang="de",
    )
    assert sorted(rows["direction"]) == ["i2t", "t2i"]
    assert recall.loc["de", name] == pytest.approx(rows["value"].sum() / 2)
    assert len(recall) == 36
