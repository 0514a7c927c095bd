"""Claims of models: how checkpoints are named, grouped and counted."""

import pandas as pd

from atlas_study.chapters import models


def entries(**columns) -> pd.DataFrame:
    """Three checkpoints of two families."""
    known = {
        "name": ["a-small", "a-large", "bridge-x"],
        "series": ["A", "A", "Bridge"],
        "family": ["open_clip", "open_clip", "bridge"],
        "n_languages": [100, 40, 100],
        "parameters": [100.0, 101.0, 50.0],
    }
    return pd.DataFrame(known | columns)


def test_models_that_this_study_built_claim_nothing():
    assert models.claiming(entries(), 40)["name"].tolist() == ["a-small", "a-large"]
    assert models.claiming(entries(), 41)["name"].tolist() == ["a-small"]


def test_every_checkpoint_has_a_title_and_a_kind_of_training():
    found = models.checkpoints()
    assert found["title"].str.len().min() > 2
    assert set(found["kind"]) <= set(models.OBJECTIVES)
    mclip = found.set_index("name").loc["mclip-xlmr-l14"]
    assert (mclip["kind"], mclip["unlisted"]) == ("distilled", False)


def test_numbers_by_objective_count_families_once():
    counts = models.by_objective(models.checkpoints()).set_index("objective")
    assert counts.index.tolist() == models.OBJECTIVES
    assert (counts["families"] <= counts["checkpoints"]).all()
    assert counts["checkpoints"].sum() == len(models.checkpoints())


def test_a_languages_lists_are_counted_once_for_models_with_the_same_list():
    found = models.checkpoints()
    same = found[found["name"].isin(["mclip-xlmr-l14", "mclip-xlmr-b32"])]
    times, n_lists = models.times_listed(same, "geigle2024")
    assert n_lists == 1
    assert set(times) == {0, 1}
