"""Paired tests, corrections, ranks and letters: against scipy, and against cases done
by hand.
"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap, tests


def test_holm_does_not_count_what_was_not_tested():
    assert tests.holm([0.01, np.nan, 0.2]) == pytest.approx(
        [0.02, np.nan, 0.2], nan_ok=True
    )
    assert tests.holm([np.nan]) == pytest.approx([np.nan], nan_ok=True)
    assert tests.holm([]).tolist() == []


def test_a_random_sign_flip_test_counts_the_observed_signs_too():
    # No pattern of so many signs is drawn that comes near: p is 1 of 201, not 0.
    assert tests.paired_permutation_test(
        np.ones(60), n_permutations=200
    ) == pytest.approx(1 / 201)


def test_the_sign_flip_test_equals_scipys_exact_permutation_test():
    gap = np.array([0.3, -0.1, 0.25, 0.4, 0.05, 0.2, -0.02, 0.31])
    result = scipy_stats.permutation_test(
        (gap, -gap),
        lambda a, b: a.mean() - b.mean(),
        permutation_type="samples",
        n_resamples=np.inf,
    )
    assert tests.paired_permutation_test(gap) == pytest.approx(result.pvalue)


def test_paired_differences_are_of_the_languages_that_both_models_have():
    table = pd.DataFrame(
        {"model": list("aaaabbb"), "lang": ["de", "fr", "si", "lo", "de", "fr", "si"]}
    )
    table["value"] = [0.5, 0.6, 0.3, 0.9, 0.4, 0.4, 0.3]
    row = tests.paired_difference(table).iloc[0]
    assert (row["first"], row["second"], row.n) == ("a", "b", 3)
    assert row.value == pytest.approx(0.1)
    assert (
        row.p == 0.5
        # of 8 patterns of signs, 4 lie as far out: both signs of 0.1 and 0.2 alike, 0
        # either way
    )
    assert row.p_holm == 0.5


def test_differences_are_corrected_for_all_comparisons_made():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "model": list("abc") * 40,
            "lang": np.arange(20).repeat(6),
            "group": list("xxxyyy") * 20,
        }
    )
    table["value"] = rng.random(120)
    found = tests.paired_difference(table, by=["group"])
    assert len(found) == 6
    assert found.p_holm.tolist() == pytest.approx(tests.holm(found.p).tolist())
    baseline = tests.paired_difference(table, by=["group"], pairs=[("a", "b")])
    assert baseline.columns.tolist() == found.columns.tolist()
    assert len(baseline) == 2


def test_a_language_that_occurs_twice_stops_a_paired_difference():
    table = pd.DataFrame({"model": ["a", "b"], "lang": "de", "value": [0.1, 0.2]})
    with pytest.raises(InputError, match="occur twice"):
        tests.paired_difference(pd.concat([table, table]))


def test_a_pair_with_one_language_in_common_has_no_interval_and_stops_no_other_pair():
    # It raised before, and so one group of one language stopped the comparison in all
    # others.
    table = pd.DataFrame(
        {
            "model": list("abab"),
            "lang": ["de", "de", "si", "si"],
            "value": [0.1, 0.2, 0.4, 0.3],
        }
    )
    table = pd.concat([table, table.tail(1).assign(model="c")], ignore_index=True)
    found = tests.paired_difference(table, kin={"de": "x", "si": "y"}).set_index(
        ["first", "second"]
    )
    assert found["n"].to_dict() == {("a", "b"): 2, ("a", "c"): 1, ("b", "c"): 1}
    assert found["value"].tolist() == pytest.approx([0.0, 0.1, 0.0])
    assert (
        found["ci_low"].notna().tolist()
        == found["p"].notna().tolist()
        == [True, False, False]
    )
    assert found["p_holm"].notna().tolist() == [True, False, False]

    nothing = pd.DataFrame(
        {"model": ["a", "c"], "lang": ["de", "si"], "value": [0.1, 0.2]}
    )
    nothing = tests.paired_difference(nothing)
    assert (nothing["n"].item(), nothing["value"].isna().item()) == (0, True)


def test_a_pair_of_a_model_that_the_table_lacks_is_refused():
    table = pd.DataFrame(
        {"model": ["alpha", "beta"], "lang": "de", "value": [0.1, 0.2]}
    )
    with pytest.raises(
        InputError, match=r"of 'betta', which 'model' lacks: did you mean beta\?"
    ):
        tests.paired_difference(table, pairs=[("alpha", "betta")])


def test_languages_above_counts_by_hand_and_falls_with_the_threshold():
    scores = pd.DataFrame(
        {"model": "a", "lang": list("wxyz"), "value": [0.1, 0.5, 0.5, 0.9], "n": 10_000}
    )
    table = tests.languages_above(scores, [0.05, 0.3, 0.5, 0.7, 0.95])
    assert table["value"].tolist() == [4, 3, 3, 1, 0]
    assert table["ci_low"].tolist() == [
        4,
        3,
        1,
        1,
        0,
    ]  # at 0.5 the two languages on the line fall to either side
    assert table["ci_high"].tolist() == [4, 3, 3, 1, 0]


def test_the_interval_of_a_rank_in_a_case_done_by_hand():
    # Ranks of a, b, c in five resamples: 1 2 3, 2 1 3, 1 2 3, 1 3 2, 1 2 3.
    drawn = [
        [0.9, 0.5, 0.1],
        [0.5, 0.9, 0.1],
        [0.8, 0.4, 0.2],
        [0.8, 0.2, 0.4],
        [0.9, 0.5, 0.1],
    ]
    table = tests.rank_intervals(
        ["a", "b", "c"], [0.8, 0.5, 0.2], drawn, level=0.95
    ).set_index("name")
    assert table[["rank", "rank_low", "rank_high"]].to_numpy().tolist() == [
        [1, 1, 2],
        [2, 1, 3],
        [3, 2, 3],
    ]
    assert table["first"].tolist() == [0.8, 0.2, 0.0]
    narrow = tests.rank_intervals(
        ["a", "b", "c"], [0.8, 0.5, 0.2], drawn, level=0.5
    ).set_index("name")
    assert narrow[["rank_low", "rank_high"]].to_numpy().tolist() == [
        [1, 1],
        [2, 2],
        [3, 3],
    ]


def test_equal_values_leave_their_ranks_open():
    table = tests.rank_intervals(
        ["a", "b", "c"], [0.5, 0.5, 0.1], [[0.5, 0.5, 0.1]] * 3
    )
    assert table[["name", "rank", "rank_low", "rank_high"]].to_numpy().tolist() == [
        ["a", 1, 1, 2],
        ["b", 1, 1, 2],
        ["c", 3, 3, 3],
    ]


def test_a_name_without_a_value_in_a_resample_stands_last_there():
    table = tests.rank_intervals(
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
    one = tests.rank_intervals(names, values, drawn)
    other = tests.rank_intervals(
        [names[i] for i in order], values[order], drawn[:, order]
    )
    pd.testing.assert_frame_equal(one, other)
    assert (one["rank_low"] <= one["rank_high"]).all()


def test_resamples_in_which_names_are_equal_are_divided_among_them():
    table = tests.rank_intervals(
        ["a", "b", "c"], [0.5, 0.4, 0.1], [[0.5, 0.5, 0.1], [0.6, 0.5, 0.1]]
    ).set_index("name")
    assert table["first"].to_dict() == {"a": 0.75, "b": 0.25, "c": 0}


@pytest.mark.parametrize(
    ("different", "letters"),
    [
        ([], ["a", "a", "a", "a"]),
        ([("w", "z")], ["a", "ab", "ab", "b"]),
        ([("w", "y"), ("w", "z"), ("x", "z")], ["a", "ab", "bc", "c"]),
        ([(a, b) for a in "wxyz" for b in "wxyz" if a < b], ["a", "b", "c", "d"]),
        ([("z", "w"), ("y", "w"), ("x", "w")], ["a", "b", "b", "b"]),
        ([("w", "x"), ("y", "z")], ["ab", "cd", "ac", "bd"]),
    ],
)
def test_letters_of_cases_done_by_hand(different, letters):
    assert tests.compact_letters("wxyz", different) == letters


@given(st.integers(1, 9), st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_names_share_a_letter_just_where_they_do_not_differ(n, seed):
    names = [f"m{i}" for i in range(n)]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    different = [pair for place, pair in enumerate(pairs) if seed >> (place % 32) & 1]
    letters = dict(zip(names, tests.compact_letters(names, different), strict=True))
    assert all(letters.values())
    for one, other in pairs:
        assert bool(set(letters[one]) & set(letters[other])) == (
            (one, other) not in different
        )


def test_whole_families_change_sign_together_and_every_language_alone_is_the_test_over_languages():
    gap = np.array([0.1, 0.2, 0.3, 0.2, 0.1, 0.4])
    assert (
        tests.paired_permutation_test(gap, clusters=list("abcdef"))
        == tests.paired_permutation_test(gap)
        == 2 / 64
    )
    assert tests.paired_permutation_test(gap, clusters=list("aaabbc")) == 2 / 8


def test_a_paired_difference_says_the_same_over_families_beside():
    rng = np.random.default_rng(0)
    lang = [f"l{number:02d}" for number in range(24)]
    kin = {name: f"f{number // 6}" for number, name in enumerate(lang)}
    shared = rng.normal(size=4).repeat(6)
    table = pd.DataFrame(
        {
            "model": ["a"] * 24 + ["b"] * 24,
            "lang": lang * 2,
            "value": [*(shared + 1), *np.zeros(24)],
        }
    )
    found = tests.paired_difference(table, kin=kin).iloc[0]
    plain = tests.paired_difference(table).iloc[0]
    assert found[plain.index].equals(plain)
    assert found["n_families"] == 4
    assert found["p_family"] == found["p_family_holm"] >= 1 / 8 > found["p"]
    assert found["family_high"] - found["family_low"] > 1.5 * (
        found["ci_high"] - found["ci_low"]
    )
    alone = tests.paired_difference(table, kin=dict.fromkeys(lang, "one")).iloc[0]
    assert np.isnan(alone["p_family"])


def test_both_ways_stand_side_by_side_with_a_dash_where_there_is_no_test():
    found = pd.DataFrame(
        {
            "ci_low": [0.01],
            "ci_high": [0.03],
            "p_holm": [0.0004],
            "n": [9],
            "n_families": [1],
        }
    )
    view = tests.both_ways(
        found.assign(family_low=np.nan, family_high=np.nan, p_family_holm=np.nan)
    ).iloc[0]
    assert view.tolist() == ["1.0 to 3.0", "< 0.001", "", "–", "9 (1)"]


def test_a_count_of_languages_has_an_interval_over_families_where_they_are_given():
    scores = pd.DataFrame(
        {
            "model": "a",
            "lang": ["de", "fr", "fi", "si"],
            "value": [0.9, 0.8, 0.2, 0.6],
            "n": 50,
        }
    )
    kin = {"de": "x", "fr": "x", "fi": "y", "si": "z"}
    plain = tests.languages_above(scores, [0.5], n_resamples=200)
    wider = tests.languages_above(scores, [0.5], n_resamples=200, kin=kin)
    pd.testing.assert_frame_equal(wider[list(plain)], plain)
    share = bootstrap.mean_interval(
        scores["value"] >= 0.5, scores["lang"].map(kin), 200
    )
    assert (
        wider[tests.FAMILY[:2]].to_numpy().tolist()
        == (4 * share[["ci_low", "ci_high"]]).to_numpy().tolist()
    )
