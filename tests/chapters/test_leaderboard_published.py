"""Published models: how many differ, and how many languages that takes."""

import numpy as np
import pandas as pd
import pytest

from atlas_study.chapters import leaderboard_published
from babelatlas.base import published

FAST = {"n_resamples": 20, "seed": 0}


def test_groups_stand_in_order_and_few_families_allow_no_difference():
    scores = published.accuracy_by_language().query("lang != 'en'")
    table = leaderboard_published.compare_models(scores, **FAST).different
    assert table["group"].tolist() == ["all", "very low", "low", "mid", "high"]
    assert set(table["pairs"]) == {66}
    assert (table["by_family"] <= table["pairs"]).all()
    assert table["families"].iloc[0] == table["families"].max()


def test_differences_of_equal_size_in_all_languages_need_six_of_them(monkeypatch):
    monkeypatch.setattr(leaderboard_published, "SUBSETS", [5, 6])
    codes = ["de", "fr", "es", "it", "fi", "hu", "ja", "ko"]
    scores = pd.DataFrame(
        [
            (model, lang, value)
            for model, value in (("a", 0.5), ("b", 0.3))
            for lang in codes
        ],
        columns=["model", "lang", "value"],
    )
    needed = leaderboard_published.languages_needed(scores, seed=0)
    assert needed["n"].tolist() == [5, 6, 8]
    assert needed["value"].tolist() == [0, 100, 100]
    assert needed["pairs"].tolist() == [1, 1, 1]
    assert np.isnan(needed["ci_low"].iloc[-1])
    assert needed["ci_low"].iloc[0] == pytest.approx(0)
