"""Ranks and their intervals: cases done by hand."""

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from babelatlas.stats import (
    ranks,
)


def test_the_interval_of_a_rank_in_a_case_done_by_hand():
    # Ranks of a, b, c in five resamples: 1 2 3, 2 1 3, 1 2 3, 1 3 2, 1 2 3.
    drawn = [
        [0.9, 0.5, 0.1],
        [0.5, 0.9, 0.1],
        [0.8, 0.4, 0.2],
        [0.8, 0.2, 0.4],
        [0.9, 0.5, 0.1],
    ]
    table = ranks.rank_intervals(
        ["a", "b", "c"], [0.8, 0.5, 0.2], drawn, level=0.95
    ).set_index("name")
    assert table[["rank", "rank_low", "rank_high"]].to_numpy().tolist() == [
        [1, 1, 2],
        [2, 1, 3],
        [3, 2, 3],
    ]
    assert table["first"].tolist() == [0.8, 0.2, 0.0]
    narrow = ranks.rank_intervals(
        ["a", "b", "c"], [0.8, 0.5, 0.2], drawn, level=0.5
    ).set_index("name")
    assert narrow[["rank_low", "rank_high"]].to_numpy().tolist() == [
        [1, 1],
        [2, 2],
        [3, 3],
    ]


def test_equal_values_leave_their_ranks_open():
    table = ranks.rank_intervals(
        ["a", "b", "c"], [0.5, 0.5, 0.1], [[0.5, 0.5, 0.1]] * 3
    )
    assert table[["name", "rank", "rank_low", "rank_high"]].to_numpy().tolist() == [
        ["a", 1, 1, 2],
        ["b", 1, 1, 2],
        ["c", 3, 3, 3],
    ]


def test_a_name_without_a_value_in_a_resample_stands_last_there():
    table = ranks.rank_intervals(
        ["a", "b"], [0.5, 0.4], [[np.nan, 0.1], [0.5, 0.1]]
    ).set_index("name")
    assert table.loc["a", ["rank_low", "rank_high"]].tolist() == [1, 2]


@given(st.integers(1, 8), st.integers(1, 30), st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_ranks_are_the_same_for_any_order_of_the_names(n, n_resamples, seed):
    rng = np.random.default_rng(seed)
    values, drawn = (
        rng.integers(5, size=n) / 5,
        rng.integers(5, size=(n_resamples, n)) / 5,
    )
    names, order = [f"m{i}" for i in range(n)], rng.permutation(n)
    one = ranks.rank_intervals(names, values, drawn)
    other = ranks.rank_intervals(
        [names[i] for i in order], values[order], drawn[:, order]
    )
    pd.testing.assert_frame_equal(one, other)
    assert (one["rank_low"] <= one["rank_high"]).all()


def test_resamples_in_which_names_are_equal_are_divided_among_them():
    table = ranks.rank_intervals(
        ["a", "b", "c"], [0.5, 0.4, 0.1], [[0.5, 0.5, 0.1], [0.6, 0.5, 0.1]]
    ).set_index("name")
    assert table["first"].to_dict() == {"a": 0.75, "b": 0.25, "c": 0}
