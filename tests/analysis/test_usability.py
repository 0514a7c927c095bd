"""Whether a model is usable in a language: like is compared with like, and what cannot
be told is borderline.
"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelatlas.analysis import usability
from babelatlas.base import published

fraction = st.floats(0.05, 0.95)


def row(
    value=0.5, half=0.05, reference=0.8, reference_half=0.0, baseline=0.0
) -> pd.DataFrame:
    """A result and the English one, with intervals of these half widths."""
    ends = {
        "ci_low": value - half,
        "ci_high": value + half,
        "baseline": baseline,
        "reference": reference,
    }
    ends |= {
        "reference_low": reference - reference_half,
        "reference_high": reference + reference_half,
    }
    return pd.DataFrame([{"value": value} | ends])


def test_a_share_is_of_what_lies_beyond_guessing():
    share = usability.share_interval(
        row(value=0.5, half=0.1, reference=0.8, baseline=0.2)
    ).iloc[0]
    assert share.tolist() == pytest.approx([0.3 / 0.6, 0.2 / 0.6, 0.4 / 0.6])


def test_an_uncertain_english_result_makes_the_interval_longer():
    sure, unsure = (
        usability.share_interval(row(reference_half=half)).iloc[0]
        for half in (0.0, 0.1)
    )
    assert (
        unsure["share_low"]
        < sure["share_low"]
        < sure["share"]
        < sure["share_high"]
        < unsure["share_high"]
    )


def test_the_interval_of_a_ratio_covers_it_in_95_percent_of_simulated_pairs():
    generator = np.random.default_rng(0)
    true, english, error = 0.4, 0.7, 0.03
    values, references = (
        generator.normal(mean, error, 4000) for mean in (true, english)
    )
    pairs = [
        row(one, 1.96 * error, other, 1.96 * error)
        for one, other in zip(values, references, strict=True)
    ]
    found = usability.share_interval(pd.concat(pairs, ignore_index=True))
    covered = (found["share_low"] <= true / english) & (
        true / english <= found["share_high"]
    )
    assert covered.mean() == pytest.approx(0.95, abs=0.012)


@given(fraction, st.floats(0.001, 0.2), fraction, st.floats(0.0, 0.04))
def test_a_share_lies_within_its_interval(value, half, reference, reference_half):
    share = usability.share_interval(row(value, half, reference, reference_half)).iloc[
        0
    ]
    assert share["share_low"] <= share["share"] + 1e-9
    assert share["share"] <= share["share_high"] + 1e-9


def test_each_state_is_told_by_the_interval_and_by_guessing():
    table = pd.DataFrame(
        [
            {"share_low": 0.5, "share_high": 0.7, "above": 1, "decided": True},
            {"share_low": 0.4, "share_high": 0.6, "above": 1, "decided": True},
            {"share_low": 0.3, "share_high": 0.4, "above": 1, "decided": True},
            {"share_low": 0.0, "share_high": 0.1, "above": 0, "decided": True},
            {"share_low": 0.8, "share_high": 0.9, "above": 1, "decided": False},
        ]
    )
    assert usability.states(table).tolist() == usability.STATES
    assert usability.states(table, line=0.35).tolist()[:3] == [
        "usable",
        "usable",
        "borderline",
    ]


def test_english_among_fewer_classes_lies_on_the_line_between_the_published_accuracies():
    gains = usability.english_gains()
    rows = (
        published.accuracy_by_group()
        .query("group == 'English' and model == 'mSigLIP'")
        .set_index("table")["value"]
    )
    assert gains["msiglip-b16"] == pytest.approx(rows["3"] - rows["2"])
    among = usability.best_english_among(
        [1000, 316.2278, 100], rows[["2"]].set_axis(["msiglip-b16"]), gains
    )
    assert among == pytest.approx([rows["2"], (rows["2"] + rows["3"]) / 2, rows["3"]])
