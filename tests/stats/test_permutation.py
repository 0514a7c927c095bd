"""Paired differences and their tests: against scipy, and against cases done
by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from babelatlas.base.errors import InputError
from babelatlas.stats import (
    multiple_comparisons,
    permutation,
)


def test_a_random_sign_flip_test_counts_the_observed_signs_too():
    # No pattern of so many signs is drawn that comes near: p is 1 of 201, not 0.
    assert permutation.paired_permutation_test(
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
    assert permutation.paired_permutation_test(gap) == pytest.approx(result.pvalue)


def test_paired_differences_are_of_the_languages_that_both_models_have():
    table = pd.DataFrame(
        {"model": list("aaaabbb"), "lang": ["de", "fr", "si", "lo", "de", "fr", "si"]}
    )
    table["value"] = [0.5, 0.6, 0.3, 0.9, 0.4, 0.4, 0.3]
    row = permutation.paired_difference(table).iloc[0]
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
    found = permutation.paired_difference(table, by=["group"])
    assert len(found) == 6
    assert found.p_holm.tolist() == pytest.approx(
        multiple_comparisons.holm(found.p).tolist()
    )
    baseline = permutation.paired_difference(table, by=["group"], pairs=[("a", "b")])
    assert baseline.columns.tolist() == found.columns.tolist()
    assert len(baseline) == 2


def test_a_language_that_occurs_twice_stops_a_paired_difference():
    table = pd.DataFrame({"model": ["a", "b"], "lang": "de", "value": [0.1, 0.2]})
    with pytest.raises(InputError, match="occur twice"):
        permutation.paired_difference(pd.concat([table, table]))


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
    found = permutation.paired_difference(table, kin={"de": "x", "si": "y"}).set_index(
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
    nothing = permutation.paired_difference(nothing)
    assert (nothing["n"].item(), nothing["value"].isna().item()) == (0, True)


def test_a_pair_of_a_model_that_the_table_lacks_is_refused():
    table = pd.DataFrame(
        {"model": ["alpha", "beta"], "lang": "de", "value": [0.1, 0.2]}
    )
    with pytest.raises(
        InputError, match=r"of 'betta', which 'model' lacks: did you mean beta\?"
    ):
        permutation.paired_difference(table, pairs=[("alpha", "betta")])


def test_whole_families_change_sign_together_and_every_language_alone_is_the_test_over_languages():
    gap = np.array([0.1, 0.2, 0.3, 0.2, 0.1, 0.4])
    assert (
        permutation.paired_permutation_test(gap, clusters=list("abcdef"))
        == permutation.paired_permutation_test(gap)
        == 2 / 64
    )
    assert permutation.paired_permutation_test(gap, clusters=list("aaabbc")) == 2 / 8


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
    found = permutation.paired_difference(table, kin=kin).iloc[0]
    plain = permutation.paired_difference(table).iloc[0]
    assert found[plain.index].equals(plain)
    assert found["n_families"] == 4
    assert found["p_family"] == found["p_family_holm"] >= 1 / 8 > found["p"]
    assert found["family_high"] - found["family_low"] > 1.5 * (
        found["ci_high"] - found["ci_low"]
    )
    alone = permutation.paired_difference(table, kin=dict.fromkeys(lang, "one")).iloc[0]
    assert np.isnan(alone["p_family"])
