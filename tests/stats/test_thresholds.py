"""Numbers of languages above a threshold: cases done by hand."""

import pandas as pd

from babelatlas.stats import FAMILY_COLUMNS, bootstrap, thresholds


def test_languages_above_counts_by_hand_and_falls_with_the_threshold():
    scores = pd.DataFrame(
        {"model": "a", "lang": list("wxyz"), "value": [0.1, 0.5, 0.5, 0.9], "n": 10_000}
    )
    table = thresholds.languages_above(scores, [0.05, 0.3, 0.5, 0.7, 0.95])
    assert table["value"].tolist() == [4, 3, 3, 1, 0]
    assert table["ci_low"].tolist() == [
        4,
        3,
        1,
        1,
        0,
    ]  # at 0.5 the two languages on the line fall to either side
    assert table["ci_high"].tolist() == [4, 3, 3, 1, 0]


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
    plain = thresholds.languages_above(scores, [0.5], n_resamples=200)
    wider = thresholds.languages_above(scores, [0.5], n_resamples=200, kin=kin)
    pd.testing.assert_frame_equal(wider[list(plain)], plain)
    share = bootstrap.mean_interval(
        scores["value"] >= 0.5, scores["lang"].map(kin), 200
    )
    assert (
        wider[FAMILY_COLUMNS[:2]].to_numpy().tolist()
        == (4 * share[["ci_low", "ci_high"]]).to_numpy().tolist()
    )
