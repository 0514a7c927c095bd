"""Harnesses compared: cases by hand, Fisher's test against scipy, and rankings."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from atlas_study.chapters import leaderboard_harnesses as harnesses

FAST = {"n_resamples": 50, "seed": 0}


def cases(rows):
    """Recall@1 of two harnesses: model, lang, kind, first, second."""
    columns = ["model", "lang", "kind", "value_first", "value_second"]
    table = pd.DataFrame(rows, columns=columns).assign(
        harness="mteb",
        dataset="xm3600",
        direction="t2i",
        metric="recall@1",
        n_first=100,
        n_second=50,
    )
    return table.assign(value=table["value_first"] - table["value_second"])


def test_a_case_is_tested_by_fishers_exact_test():
    rows = [
        ("a", "de", harnesses.SIGLIPS, 0.5, 0.3),
        ("a", "ja", harnesses.SIGLIPS, 0.2, 0.2),
    ]
    tested = harnesses.same_recall(cases(rows))
    assert tested["script"].tolist() == ["Latin script", "other scripts"]
    table = [[50, 50], [15, 35]]
    tails = [
        scipy_stats.fisher_exact(table, side).pvalue for side in ("less", "greater")
    ]
    assert tested["p"].iloc[0] == pytest.approx(2 * min(tails))
    assert tested["p"].iloc[1] == 1
    assert tested["p_holm"].iloc[0] == pytest.approx(2 * tested["p"].iloc[0])


def test_the_difference_of_a_model_is_the_mean_over_its_languages():
    rows = [
        ("a", "de", harnesses.SIGLIPS, 0.5, 0.4),
        ("a", "ja", harnesses.SIGLIPS, 0.5, 0.2),
        ("b", "de", harnesses.SIGLIPS, 0.5, 0.1),
        ("b", "ja", harnesses.SIGLIPS, 0.5, 0.0),
    ]
    table = harnesses.differences_by_model(harnesses.same_recall(cases(rows)), **FAST)
    assert table["model"].tolist() == ["b", "a"]
    assert table["value"].to_list() == pytest.approx([0.45, 0.2])
    assert table["second"].to_list() == pytest.approx([0.05, 0.3])


def test_two_harnesses_with_one_order_have_tau_1_and_sampling_error_less():
    rows = [
        (model, lang, harnesses.SIGLIPS, value, value)
        for model, value in (("a", 0.5), ("b", 0.48), ("c", 0.1))
        for lang in ("de", "ja")
    ]
    taus = harnesses._taus(cases(rows), 50, 0)
    assert taus["tau"].tolist() == [1, 1]
    assert (taus["expected"] < 1).all()
    assert (taus["expected"] > 1 / 3).all()


def test_words_are_unknown_where_a_letter_is():
    letters = "abcdefghijklmnopqrstuvwxyz"
    shares = harnesses._unknown_words({"de", "ja", "en"}, set(letters))
    shares = shares.set_index("lang")["words"]
    assert shares["ja"] > 0.9
    assert 0 < shares["de"] < 0.4
    assert shares["en"] < 0.05


def test_cases_of_both_harnesses_have_one_row_and_their_difference():
    shared = harnesses.shared_cases()
    assert not shared.duplicated(["harness", *harnesses.CASE]).any()
    np.testing.assert_allclose(
        shared["value"], shared["value_first"] - shared["value_second"]
    )
    assert set(shared["harness"]) == set(harnesses.PAIRS)


def test_every_equal_run_has_two_names():
    equal = harnesses.equal_checkpoints()
    assert equal["checkpoints"].str.contains(" = ").all()
    assert (equal["equal results"] > 1).all()
