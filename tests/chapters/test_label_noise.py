"""Tests of the bounds that wrong labels leave accuracy."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from atlas_study.chapters import label_noise as chapter
from babelatlas.base import tables
from babelatlas.base.errors import InputError

MODELS = ["bridge-lite2", "bridge-lite0"]
DATASET = "imagenet-photos-100"


@pytest.mark.parametrize("n_correct", [0, 2, 5, 8])
@pytest.mark.parametrize("n_wrong", [0, 1, 3])
def test_bounds_are_those_of_all_ways_in_which_labels_may_be_wrong(n_correct, n_wrong):
    correct = np.arange(8) < n_correct
    accuracies = []
    for places in combinations(range(8), n_wrong):
        accuracies.append(np.delete(correct, places).mean())
    lower, upper = chapter.bounds(np.array([n_correct / 8]), np.array([n_wrong / 8]))
    np.testing.assert_allclose(lower, min(accuracies))
    np.testing.assert_allclose(upper, max(accuracies))


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return chapter.outcomes("", DATASET, MODELS, 80)


@pytest.fixture(scope="module")
def scores(rows) -> pd.DataFrame:
    rates = chapter.error_rates(chapter.judged())
    return chapter.by_language(rows, rates, "upper end", 50, 0)


def test_the_audit_s_rates_are_wrong_labels_of_those_that_are_sure():
    audit = chapter.judged()
    rates = chapter.error_rates(audit)
    latin = audit[audit["script"] == chapter.LATIN]
    n_wrong, n_right = ((latin["verdict"] == name).sum() for name in ("wrong", "right"))
    expected = n_wrong / (n_wrong + n_right)
    assert rates.loc[chapter.LATIN, "value"] == pytest.approx(expected)


def test_bounds_hold_the_accuracy_and_widen_with_the_share_of_wrong_labels(
    rows, scores
):
    assert scores["value"].between(scores["lower"], scores["upper"]).all()
    rates = chapter.error_rates(chapter.judged())
    narrow = chapter.by_language(rows, rates, "lower end", 50, 0)
    assert (narrow["lower"] >= scores["lower"]).all()
    assert (narrow["upper"] <= scores["upper"]).all()
    assert len(chapter.language_table(scores)) == len(scores)
    assert len(chapter.drawn(scores, 5)) == 5


def test_means_are_over_languages(scores):
    means = chapter.means(scores, 50, 0)
    of_model = scores[scores["model"] == "bridge-lite2"]
    text = chapter.mean_text(means, "bridge-lite2", "lower")
    assert text.startswith(f"{100 * of_model['lower'].mean():.1f} (")
    assert len(chapter.means_table(means)) == 6


def test_pairs_are_sure_where_bounds_do_not_overlap():
    scores = pd.DataFrame({"lower": [0.1, 0.3, 0.55], "upper": [0.2, 0.5, 0.7]})
    assert chapter.sure_pairs(scores) == (3, 3)
    assert chapter.sure_pairs(scores.assign(upper=1)) == (0, 3)


def test_an_alternative_counts_where_it_was_the_label_that_was_taken():
    rows = pd.DataFrame(
        {
            "model": "m",
            "lang": "de",
            "family": ["f", "f"],
            "wnid": ["a", "b"],
            "n_correct": 0.0,
            "n_images": 2,
        }
    )
    label_set = pd.DataFrame(
        {
            "lang": "de",
            "wnid": ["a", "b", "c"],
            "label": ["Hund", "Rüde", "Katze"],
            "alternatives": [["rüde", "Köter"], [], []],
        }
    )
    predictions = pd.DataFrame(
        {
            "model": "m",
            "lang": "de",
            "wnid": ["a", "b"],
            "predicted": ["b", "a"],
            "n_images": 2,
        }
    )
    found = chapter.with_alternatives(rows, predictions, label_set)
    assert found["n_alternative"].tolist() == [2, 0]
    with pytest.raises(InputError, match="no stored predictions"):
        chapter.with_alternatives(rows.assign(model="other"), predictions, label_set)
    perfect = rows.assign(model="other", n_correct=2.0)
    found = chapter.with_alternatives(perfect, predictions, label_set)
    assert found["n_alternative"].tolist() == [0, 0]


def test_gains_are_shares_of_the_photographs_by_language(rows):
    counted = rows.assign(n_alternative=(rows["wnid"] == rows["wnid"].min()) * 1.0)
    gains = chapter.alternative_gains(counted, 50, 0)
    part = counted[counted["model"] == "bridge-lite2"].groupby("lang")
    expected = (part["n_alternative"].sum() / part["n_images"].sum()).mean()
    row = gains[gains["model"] == "bridge-lite2"].iloc[0]
    assert row["value"] == pytest.approx(expected)
    assert len(chapter.gains_table(gains)) == 2


def test_judged_labels_are_counted_by_verdict(rows):
    audit = pd.DataFrame({"lang": "de", "wnid": rows["wnid"].unique()[:10]})
    audit = audit.assign(verdict="right")
    verdicts = chapter.by_verdict(rows, audit)
    assert verdicts["labels"].max() <= 10
    assert chapter.verdict_text(verdicts, "bridge-lite2", "wrong") == "–"
    assert "(" in chapter.verdict_text(verdicts, "bridge-lite2", "right")


def test_too_few_languages_and_labels_that_are_all_wrong_are_refused(rows):
    with pytest.raises(InputError, match="lower least_classes"):
        chapter.outcomes("", DATASET, MODELS, 101)
    all_wrong = chapter.error_rates(chapter.judged()).assign(ci_high=1.0)
    with pytest.raises(InputError, match="take its estimate"):
        chapter.by_language(rows, all_wrong, "upper end", 50, 0)


def test_what_is_written_are_scores(scores, tmp_path):
    path = tmp_path / "x.parquet"
    chapter.write(chapter.means(scores, 50, 0), DATASET, str(path), {})
    metrics = set(tables.read(path, "scores")["metric"])
    assert "accuracy@1, lower bound" in metrics
