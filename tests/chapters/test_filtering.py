"""Filters at the same compute: pairs of models, shares of recall by hand, and the shipped
results.
"""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from atlas_study.chapters import filtering
from babelatlas.base import released

FAST = {"n_resamples": 200}


@pytest.fixture
def small():
    """Recall of a model without a filter and one with, in English and in five languages
    of three families.
    """
    recalls = {
        "en": [0.4, 0.5],
        "de": [0.4, 0.2],
        "fr": [0.4, 0.3],
        "fi": [0.2, 0.1],
        "ja": [0.3, 0.0],
        "hu": [0.2, 0.1],
    }
    return pd.DataFrame.from_dict(recalls, orient="index", columns=["pool", "filtered"])


PAIR = pd.DataFrame(
    [["1", "basic", "basic", "filtered", "pool"]],
    columns=["scale", "filtering", "filter", "model", "unfiltered"],
)


def test_the_share_kept_is_that_of_the_means_and_the_tests_are_of_the_points(small):
    row = filtering.retained(small, PAIR, **FAST).iloc[0]
    assert row["value"] == pytest.approx(
        (0.2 + 0.3 + 0.1 + 0.0 + 0.1) / (0.4 + 0.4 + 0.2 + 0.3 + 0.2)
    )
    assert row["points"] == pytest.approx(-0.8 / 5)
    assert row["ci_low"] <= row["value"] <= row["ci_high"]
    assert (row["n"], row["n_families"]) == (5, 3)
    gaps = {"by language": [0.2, 0.1, 0.1, 0.3, 0.1], "by family": [0.3, 0.2, 0.3]}
    for name, column in (("by language", "p"), ("by family", "p_family")):
        signed = [
            sum(np.multiply(signs, gaps[name]))
            for signs in product([1, -1], repeat=len(gaps[name]))
        ]
        assert row[column] == pytest.approx(
            np.mean(np.abs(signed) >= sum(gaps[name]) - 1e-9)
        )


def test_groups_have_their_own_share_and_one_family_has_no_interval(small):
    table = filtering.retained(
        small, PAIR, {"Latin": ["de", "fi"], "other": ["ja"]}, **FAST
    ).set_index("group")
    assert table["value"].to_list() == pytest.approx([0.5, 0.0])
    # All languages of the first group keep one half, whatever families are drawn.
    assert table.loc["Latin", ["ci_low", "ci_high"]].to_list() == pytest.approx(
        [0.5, 0.5]
    )
    assert np.isnan(table.loc["other", "ci_low"])


def test_each_filtered_model_stands_next_to_the_unfiltered_one_of_its_compute():
    table = filtering.pairs("xm3600").set_index("model")
    models = released.models().reset_index(drop=True).set_index("model")
    for column in ("architecture", "samples_seen"):
        filtered = models.loc[table.index, column].tolist()
        assert filtered == models.loc[table["unfiltered"], column].tolist()
    assert set(models.loc[table["unfiltered"], "filtering"]) == {"none"}
    assert list(table["scale"].unique()) == ["12.8 M", "128 M", "1.28 B", "12.8 B"]
    assert not table.index.isin(table["unfiltered"]).any()


def test_a_language_counts_as_above_chance_where_all_directions_are(monkeypatch):
    rows = [
        ("de", "t2i", 0.02),
        ("de", "i2t", 0.03),
        ("si", "t2i", 0.02),
        ("si", "i2t", 0.01),
        ("en", "t2i", 0.50),
    ]
    scores = pd.DataFrame(rows, columns=["lang", "direction", "ci_low"])
    scores = scores.assign(model="m", n=100)
    monkeypatch.setattr(filtering.released, "read", lambda **_: scores)
    monkeypatch.setattr(filtering.released, "one_run", lambda rows: rows)
    assert filtering.languages_above_chance("xm3600").to_dict() == {"m": 1}


def test_filters_of_a_scale_are_averaged_and_scales_have_a_geometric_mean(small):
    recall = small.assign(text=small["filtered"], score=small["pool"])
    recall[["pool 2", "basic 2"]] = small[["pool", "pool"]].to_numpy()
    rows = [
        ("1", "basic", "filtered", "pool"),
        ("1", "text", "text", "pool"),
        ("1", "CLIP score", "score", "pool"),
        ("2", "basic", "basic 2", "pool 2"),
    ]
    pairs = pd.DataFrame(rows, columns=["scale", "filter", "model", "unfiltered"])
    scales, means = filtering.by_unfiltered_model(recall, pairs, **FAST)
    english = scales[scales["filter"] == "filters for English"].set_index("scale")
    assert english["filters"].to_dict() == {"1": 2, "2": 1}
    share = 0.7 / 1.5
    assert english["value"].to_list() == pytest.approx([share, 1])
    means = means.set_index(["filter", "left_out"])["value"]
    assert means["filters for English", ""] == pytest.approx(share**0.5)
    assert means["filters for English", "1"] == pytest.approx(1)
    assert means["CLIP score", ""] == pytest.approx(1)


def test_the_table_gives_english_a_wilson_interval_and_the_others_their_mean(small):
    kept = filtering.retained(small, PAIR, **FAST)
    table = filtering.recall_table(small, PAIR, kept, n_images=100, **FAST)
    assert table["filter"].tolist() == ["no filter", "basic"]
    assert table["English (%)"].tolist() == ["40.0 (30.9–49.8)", "50.0 (40.4–59.6)"]
    means = table["mean of the others (%)"].str.partition(" ")[0]
    assert means.tolist() == ["30.0", "14.0"]
    assert table["share left (%)"].iloc[0] == "–"
