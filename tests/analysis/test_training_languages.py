"""Training languages against others: by hand, by every deal of the flags, and against
scipy.
"""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelatlas.analysis import training_languages
from babelatlas.base.errors import InputError

VALUES = [0.41, 0.52, 0.47, 0.30, 0.22, 0.35, 0.28]
FLAGS = [True, True, True, False, False, False, False]


def scores(values=VALUES, flags=FLAGS, **columns):
    langs = [f"l{place}" for place in range(len(values))]
    return pd.DataFrame(
        {
            "model": "a",
            "group": "low",
            "lang": langs,
            "taught": flags,
            "value": values,
            **columns,
        }
    )


def test_means_difference_and_numbers_are_those_of_the_two_sides():
    row = training_languages.differences(scores()).iloc[0]
    assert row.taught == pytest.approx(np.mean(VALUES[:3]))
    assert row.other == pytest.approx(np.mean(VALUES[3:]))
    assert row.value == pytest.approx(row.taught - row.other)
    assert (row.n_taught, row.n_other) == (3, 4)
    assert row.ci_low < row.value < row.ci_high


def test_p_is_the_share_of_all_deals_that_differ_as_much():
    observed = abs(np.mean(VALUES[:3]) - np.mean(VALUES[3:]))
    deals = list(combinations(range(7), 3))
    far = 0
    for deal in deals:
        inside = [VALUES[place] for place in deal]
        outside = [VALUES[place] for place in range(7) if place not in deal]
        far += abs(np.mean(inside) - np.mean(outside)) >= observed - 1e-12
    assert training_languages.differences(scores()).p[0] == pytest.approx(
        far / len(deals)
    )


def test_within_strata_differences_are_averaged_by_the_number_taught():
    low = scores([0.5, 0.3, 0.2], [True, False, False], stratum="low")
    high = scores([0.9, 0.8, 0.7, 0.4], [True, True, True, False], stratum="high")
    only = scores([0.1], [False], stratum="none taught")
    table = pd.concat([low, high, only]).assign(lang=list("abcdefgh"))
    row = training_languages.differences(table, by=["model"], strata="stratum").iloc[0]
    assert row.value == pytest.approx((1 * (0.5 - 0.25) + 3 * (0.8 - 0.4)) / 4)
    assert row.taught == pytest.approx((0.5 + 3 * 0.8) / 4)
    assert row.other == pytest.approx((0.25 + 3 * 0.4) / 4)
    assert (row.n_taught, row.n_other) == (4, 3)


def test_deals_stay_within_their_stratum():
    # All of the difference lies between the strata, none within: no deal within them
    # can be more or less far.
    low = scores([0.1, 0.1, 0.1], [True, False, False], stratum="low")
    high = scores([0.9, 0.9, 0.9], [True, True, False], stratum="high")
    table = pd.concat([low, high]).assign(lang=list("abcdef"))
    row = training_languages.differences(table, by=["model"], strata="stratum").iloc[0]
    assert row.value == pytest.approx(0)
    assert row.p == 1


def test_a_side_of_one_row_has_no_interval_and_a_side_of_none_no_difference():
    row = training_languages.differences(
        scores([0.5, 0.2, 0.3], [True, False, False])
    ).iloc[0]
    assert np.isnan(row.ci_low)
    assert row.p == pytest.approx(1 / 3)
    one_each = pd.concat(
        [scores([0.5, 0.2, 0.3], [True, False, False], stratum=name) for name in "st"]
    )
    one_each["lang"] = [f"l{place}" for place in range(6)]
    assert np.isnan(
        training_languages.differences(one_each, strata="stratum").ci_low[0]
    )
    empty = training_languages.differences(scores([0.5, 0.2], [False, False])).iloc[0]
    assert np.isnan(empty.value)
    assert np.isnan(empty.p)
    assert np.isnan(empty.p_holm)
    assert empty.other == pytest.approx(0.35)


def test_the_difference_in_differences_takes_the_control_off_in_each_language():
    control = pd.DataFrame(
        {"lang": ["l0", "l1", "l3", "l4"], "value": [0.4, 0.4, 0.1, 0.2]}
    )
    table = training_languages.against(scores(), control)
    assert table.lang.tolist() == ["l0", "l1", "l3", "l4"]
    row = training_languages.differences(table).iloc[0]
    assert row.value == pytest.approx((0.01 + 0.12) / 2 - (0.20 + 0.02) / 2)


@given(st.lists(st.floats(0, 1), min_size=4, max_size=9), st.floats(-0.5, 0.5))
def test_a_constant_added_to_all_changes_no_difference_and_swapped_flags_turn_its_sign(
    values, constant
):
    flags = [place % 2 == 0 for place in range(len(values))]
    options = {"n_resamples": 20, "n_permutations": 200}
    first = training_languages.differences(scores(values, flags), **options).iloc[0]
    moved = training_languages.differences(
        scores([value + constant for value in values], flags), **options
    ).iloc[0]
    turned = training_languages.differences(
        scores(values, [not each for each in flags]), **options
    ).iloc[0]
    assert moved.value == pytest.approx(first.value, abs=1e-9)
    assert turned.value == pytest.approx(-first.value, abs=1e-9)


def test_languages_of_the_paper_in_three_groups_have_the_numbers_of_its_table_7():
    groups = training_languages.three_groups()
    lists = training_languages.published_lists()
    found = {}
    for model in ("M-CLIP XLMR-L L-14", "AltCLIP XLMR-L L-14"):
        listed = set(lists.loc[lists.model == model, "lang"])
        found[model] = groups[groups.lang.isin(listed)].group.value_counts().to_dict()
    assert groups.group.value_counts().to_dict() == {"low": 41, "mid": 35, "high": 16}
    assert found["M-CLIP XLMR-L L-14"] == {"low": 14, "mid": 18, "high": 13}
    assert found["AltCLIP XLMR-L L-14"] == {"mid": 2, "high": 6}


def test_flags_permuted_within_families_do_not_take_a_better_family_for_an_effect_of_training():
    lang = [f"l{number:02d}" for number in range(20)]
    kin = {
        name: "first" if number < 12 else "second" for number, name in enumerate(lang)
    }
    taught = np.array([True] * 9 + [False] * 3 + [True] + [False] * 7)
    value = np.where(np.arange(20) < 12, 0.6, 0.2) + np.linspace(0, 0.01, 20) % 0.003
    table = pd.DataFrame(
        {"model": "a", "group": "low", "lang": lang, "taught": taught, "value": value}
    )
    found = training_languages.differences(table, kin=kin).iloc[0]
    assert found["p"] < 0.05 < found["p_family"] == found["p_family_holm"]
    assert found["value"] > 0.15
    helped = training_languages.differences(
        table.assign(value=value + 0.1 * taught), kin=kin
    ).iloc[0]
    assert helped["p_family"] < 0.05
    apart = training_languages.differences(
        table, kin=dict(zip(lang, taught.astype(str), strict=True))
    ).iloc[0]
    assert np.isnan(apart["p_family"]), "no family has both kinds"


def test_a_random_test_is_near_the_exact_one_and_counts_the_assignment_that_was_observed():
    rng = np.random.default_rng(3)
    table = scores(
        [*rng.normal(0.4, 0.1, 6), *rng.normal(0.3, 0.1, 7)], [True] * 6 + [False] * 7
    )
    exact = training_languages.differences(table).p[0]
    assert training_languages.differences(table, n_permutations=1500).p[
        0
    ] == pytest.approx(exact, abs=0.02)
    apart = scores([*range(100, 120), *range(20)], [True] * 20 + [False] * 20)
    assert training_languages.differences(apart, n_permutations=199).p[0] == 1 / 200


def test_a_language_that_occurs_twice_is_refused():
    with pytest.raises(InputError, match="each language once"):
        training_languages.differences(
            scores().assign(lang=["de", "de", "fr", "si", "lo", "my", "km"])
        )
