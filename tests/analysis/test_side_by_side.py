"""Comparisons side by side: gains by majority, differences of scores, and how they agree."""

import numpy as np
import pandas as pd
import pytest

from babelatlas.analysis.captioning import side_by_side
from babelatlas.base.errors import InputError
from babelatlas.papers import thapliyal2022

PAIR = {"dataset": "d", "lang": "en", "base": "p", "model": "q"}


def comparisons(**images):
    rows = [(image, f"r{place}", value) for image, values in images.items() for place, value in enumerate(values)]
    return pd.DataFrame(rows, columns=["image", "rater", "preference"]).assign(**PAIR)


def test_a_majority_of_the_raters_decides_an_image():
    table = comparisons(a=[3, 1, -3], b=[-1, -1, 2], c=[0, 1, -1], d=[1, 2, 3])
    row = side_by_side.gains(table).iloc[0]
    assert (row["wins"], row["losses"], row["gain"], row["n"]) == (0.5, 0.25, 0.25, 4)
    assert row["ci_low"] <= 0.25 <= row["ci_high"]


def test_two_of_two_raters_are_a_majority_and_one_of_two_is_none():
    row = side_by_side.gains(comparisons(a=[1, 1], b=[1, -1])).iloc[0]
    assert (row["wins"], row["losses"]) == (0.5, 0)


def test_a_rating_outside_the_scale_is_one_sentence():
    with pytest.raises(InputError, match=r"1 comparison.* outside -3 to 3, the first: 4 by r1 for b"):
        side_by_side.gains(comparisons(a=[1, 1], b=[1, 4]))


def test_exchanging_the_models_turns_the_sign_of_the_gain():
    table = comparisons(a=[3, 1, -3], b=[-1, -1, 2], c=[1, 1, 1])
    turned = table.assign(base="q", model="p", preference=-table["preference"])
    found = [side_by_side.gains(one).iloc[0] for one in (table, turned)]
    assert found[0]["gain"] == -found[1]["gain"]
    assert found[0]["wins"] == found[1]["losses"]


def scores(**models):
    rows = [(model, str(image), value) for model, values in models.items() for image, value in enumerate(values)]
    table = pd.DataFrame(rows, columns=["model", "image", "value"])
    return table.assign(dataset="d", lang="en", metric="CIDEr", references="people")


def test_a_difference_is_that_of_the_means_over_the_images_of_both():
    table = scores(p=[1, 2, 9], q=[2, 4])
    found = side_by_side.differences(table, pd.DataFrame([PAIR])).iloc[0]
    assert (found["difference"], found["n"]) == (1.5, 2)
    assert side_by_side.differences(scores(p=[1]), pd.DataFrame([PAIR])).empty


def test_agreement_counts_every_comparison_in_both_directions_as_table_6_does():
    printed = thapliyal2022.comparisons(thapliyal2022.PROCEEDINGS)
    table = printed.rename(columns={"m1": "base", "m2": "model", "SxS": "gain"})
    found = side_by_side.agreement(table, ["XM600", "COCO-DEV"], n_resamples=50).set_index(["column", "method"])
    expected = {("XM600", "pearson"): 0.88, ("COCO-DEV", "pearson"): 0.68}  # as all 65 printed comparisons give
    assert {key: round(found.loc[key, "value"], 2) for key in expected} == expected
    assert set(found["n"]) == {65}
    both = [np.concatenate([table[name], -table[name]]) for name in ("gain", "XM600")]
    assert found.loc[("XM600", "pearson"), "value"] == pytest.approx(np.corrcoef(*both)[0, 1])


def test_a_column_that_does_not_vary_has_no_correlation():
    table = pd.DataFrame({"gain": [0.1, 0.2], "x": [0.0, 0.0], "base": "p", "model": "q", "lang": ["a", "b"]})
    assert side_by_side.agreement(table, ["x"], n_resamples=20)["value"].isna().all()
