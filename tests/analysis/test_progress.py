"""The best result of each language by release date, and its gap to English: by hand, and on the released results."""

import numpy as np
import pandas as pd
import pytest

from babelatlas.analysis.released import progress
from babelatlas.base import languages, released
from babelatlas.base.errors import InputError
from babelatlas.stats import tests

DATES = {"a": "2021-01", "b": "2022-05-03", "c": "2023-07-01", "d": ""}
VALUES = {  # c is best for English alone, d has no date
    "a": {"en": 0.4, "de": 0.1, "sw": 0.0, "ja": 0.2},
    "b": {"en": 0.3, "de": 0.5, "sw": 0.1, "ja": 0.2},
    "c": {"en": 0.6, "de": 0.4, "sw": 0.1, "ja": 0.1},
    "d": {"en": 0.9, "de": 0.9, "sw": 0.9, "ja": 0.9},
}
FAMILY = {"en": "x", "de": "x", "sw": "y", "ja": "z"}


@pytest.fixture
def models():
    return pd.DataFrame({"title": list("ABCD"), "weights": "open", "release_date": DATES.values()}, index=list(DATES))


@pytest.fixture
def scores():
    rows = [(model, lang, value) for model, part in VALUES.items() for lang, value in part.items()]
    return pd.DataFrame(rows, columns=["model", "lang", "value"])


@pytest.fixture
def best(scores, models):
    return progress.best_so_far(progress.with_dates(scores, models))


def test_a_month_counts_from_its_first_day_and_an_unknown_date_stays_unknown(scores, models):
    dates = progress.with_dates(scores, models).groupby("model")["date"].first()
    assert dates["a"] == pd.Timestamp(2021, 1, 1)
    assert pd.isna(dates["d"])


def test_a_date_by_which_a_model_was_public_fills_a_gap_and_replaces_no_release_date(scores, models):
    dates = progress.with_dates(scores, models, {"a": "2020-01-01", "d": "2024-02"}).groupby("model")["date"].first()
    assert dates[["a", "d"]].tolist() == [pd.Timestamp(2021, 1, 1), pd.Timestamp(2024, 2, 1)]


def test_the_best_so_far_never_falls_and_leaves_out_models_without_a_date(best):
    assert best[["en", "de", "sw", "ja"]].to_numpy().tolist() == [
        [0.4, 0.1, 0.0, 0.2],
        [0.4, 0.5, 0.1, 0.2],
        [0.6, 0.5, 0.1, 0.2],
    ]


def test_the_gap_is_to_english_or_to_the_best_language_and_english_is_none_of_the_others(best):
    gap = progress.gap_by_language(best)
    assert gap.columns.tolist() == ["de", "ja", "sw"]
    assert gap.iloc[-1].round(9).tolist() == [0.1, 0.4, 0.5]
    assert progress.gap_by_language(best, progress.HIGHEST).iloc[1].round(9).tolist() == [0.0, 0.3, 0.4]


def test_means_of_the_gap_and_ratio_are_those_of_plain_sums(best):
    found = progress.gaps(best, FAMILY, n_resamples=50).set_index(["measure", "date"])["value"]
    last = best.index[-1]
    assert found["others", last] == pytest.approx((0.5 + 0.1 + 0.2) / 3)
    assert found["gap", last] == pytest.approx(0.6 - (0.5 + 0.1 + 0.2) / 3)
    assert found["ratio", last] == pytest.approx((0.5 + 0.1 + 0.2) / 3 / 0.6)


def test_a_change_is_that_of_the_mean_gap_with_both_tests_and_counts(best):
    found = progress.changes(best, ["2021-12-31", "2022-12-31", "2023-12-31"], FAMILY, n_resamples=50)
    assert found["value"].round(9).tolist() == [round(-0.5 / 3, 9), 0.2]
    assert found[["narrower", "wider"]].to_numpy().tolist() == [[2, 0], [0, 3]]
    assert found["p"].tolist() == [
        tests.paired_permutation_test(np.array([-0.4, 0.0, -0.1])),
        tests.paired_permutation_test(np.array([0.2] * 3)),
    ]
    assert found["p_holm"].tolist() == tests.holm(found["p_families"]).tolist()
    assert found["n_clusters"].tolist() == [3, 3]


def test_one_family_has_a_change_but_no_interval(best):
    found = progress.changes(best[["en", "de"]], best.index[[0, -1]], FAMILY, n_resamples=50).iloc[0]
    assert found["value"] == pytest.approx(-0.2)
    assert found[["ci_low", "ci_high", "p_families", "p_holm"]].isna().all()


def test_a_record_is_held_by_the_earlier_of_two_equal_models(scores, models):
    held = progress.holders(progress.with_dates(scores, models)).set_index("lang")["title"]
    assert held.to_dict() == {"en": "C", "de": "B", "sw": "B", "ja": "A"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s, m: progress.with_dates(s.replace({"model": {"a": "z"}}), m), "no 'z'"),
        (lambda s, m: progress.with_dates(s, m.replace({"release_date": {"2021-01": "May 2021"}})), "'May 2021'"),
        (lambda s, m: progress.best_so_far(progress.with_dates(pd.concat([s, s]), m)), "occur twice"),
        (lambda s, m: progress.best_so_far(progress.with_dates(s[s["model"] == "d"], m)), "empty"),
    ],
)
def test_what_cannot_be_dated_or_compared_is_said(scores, models, change, message):
    with pytest.raises(InputError, match=message):
        change(scores, models)


def test_an_unknown_reference_and_a_date_before_the_first_result_are_said(best):
    with pytest.raises(InputError, match="'fr'"):
        progress.gap_by_language(best, "fr")
    with pytest.raises(InputError, match="2021-01-01"):
        progress.changes(best, ["2020-01-01", "2022-01-01"], FAMILY)


def test_the_released_results_have_the_known_best_models():
    rows = released.read(harness="clip_benchmark", dataset="xm3600", metric="recall@1", direction="t2i")
    dated = progress.with_dates(released.one_run(rows), released.models())
    best = progress.best_so_far(dated)
    assert best.loc["2023-10-01", "en"] == dated.loc[dated["lang"] == "en", "value"].max()
    held = progress.holders(dated).set_index("lang")
    assert held.loc["ja", "title"] == "OpenCLIP XLM-R large ViT-H/14 (LAION-5B)"
    plain = dated[dated["date"] <= "2022-12-31"].groupby("lang")["value"].max()
    gap = plain["en"] - plain.drop("en").mean()
    found = progress.changes(best, ["2021-12-31", "2022-12-31"], languages.families(best), n_resamples=50)
    assert found["after"].item() == pytest.approx(gap)
