"""Gains of adapters: counted by hand, and those of the published tables."""

import numpy as np
import pandas as pd
import pytest

from babelatlas.analysis import adapter_gains
from babelatlas.base.errors import InputError
from papercheck import geigle2024_training

KEY = {
    "dataset": "d",
    "labels": "l",
    "prompts": "p",
    "similarity": "cosine",
    "precision": "float32",
}
KEY |= {"preprocessing": "model", "lang": "sw"}


def counts(model, correct):
    rows = {
        "model": model,
        "wnid": [f"n{row}" for row in range(len(correct))],
        "n_correct": correct,
        "n_images": 4,
    }
    return pd.DataFrame(rows).assign(**KEY, n_correct_top5=4.0, n_ties=0)


@pytest.fixture(scope="module")
def published():
    table = geigle2024_training.adapted().query("table == '4'")
    table = table.assign(objective=table["variant"].str.removeprefix("adapter, "))
    return table.assign(
        **{name: table[name] / 100 for name in ("before", "value", "gain")}
    )


def test_a_gain_is_the_mean_over_classes_of_the_difference_to_the_base():
    base = counts("m", [0.0, 2.0, 4.0])
    adapted = pd.concat(
        [counts("m+sw.mse", [2.0, 2.0, 4.0]), counts("m+sw.mse.2", [4.0, 4.0, 4.0])]
    )

    found = adapter_gains.gains(adapted, base, n_resamples=50)

    assert found[["model", "objective", "seed", "lang", "n"]].to_numpy().tolist() == [
        ["m", "mse", 0, "sw", 3],
        ["m", "mse", 2, "sw", 3],
    ]
    np.testing.assert_allclose(found["gain"], [1 / 6, 1 / 2])
    np.testing.assert_allclose(found[["before", "value"]], [[1 / 2, 2 / 3], [1 / 2, 1]])
    assert (found["ci_low"] <= found["gain"]).all()
    assert (found["p_holm"] >= found["p"]).all()


def test_a_base_that_was_not_evaluated_alike_is_named():
    with pytest.raises(InputError, match="base 'm' in the same way"):
        adapter_gains.gains(
            counts("m+sw.mse", [1.0]), counts("m", [1.0]).assign(prompts="others")
        )


def test_the_published_means_correlations_and_wins_follow_from_the_shipped_numbers(
    published,
):
    found = adapter_gains.summary(published, n_resamples=200).set_index(
        ["model", "objective"]
    )

    mclip, openclip = (
        found.loc[(name, "MSE")]
        for name in ("M-CLIP XLMR-L B-32", "OpenCLIP XLMR-B B-32")
    )
    assert (round(100 * mclip["value"], 2), round(100 * openclip["value"], 2)) == (
        8.95,
        10.01,
    )
    assert (round(mclip["r"], 2), round(openclip["r"], 2)) == (
        -0.30,
        -0.68,
    )  # Oldham's; with before -0.73, -0.88
    assert (mclip["n_best"], openclip["n_best"], mclip["n"]) == (15, 14, 16)
    wide = published[published["objective"] == "MSE"].pivot(
        index="lang", columns="model", values="gain"
    )
    assert round(wide.corr().iloc[0, 1], 2) == 0.83


def test_gains_do_not_correlate_with_a_mean_around_which_accuracy_varies_as_much_after_as_before():
    rows = pd.DataFrame(
        {"model": "m", "objective": "mse", "lang": list("abcd"), "before": [1, 1, 3, 3]}
    )
    rows = rows.assign(
        value=[1, 3, 1, 3], gain=[0, 2, -2, 0]
    )  # unrelated: the gain correlates with before at -0.7
    assert adapter_gains.summary(rows, n_resamples=50)["r"].round(9).tolist() == [0]


def test_captions_are_matched_with_the_nearest_english_vector():
    english = np.eye(4)
    found = adapter_gains.caption_matching(english[[1, 0, 2, 3]], 5 * english, english)

    np.testing.assert_allclose(found["value"], [0.5, 1.0, 0.5])
    assert found.index.tolist() == ["before", "after", "gain"]
    assert (found["n"] == 4).all()
    assert (
        found.loc["gain", "p"] == 0.5
    )  # two differences of 1: both signs in half of all flips
