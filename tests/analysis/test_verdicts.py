"""Whether a real model is usable in a language: judged by its main benchmark, against
English among as many classes.
"""

import pytest

from babelatlas.analysis import verdicts


def test_a_language_is_compared_with_english_among_as_many_classes():
    found = verdicts.verdicts()
    labels = found[
        (found["id"] == verdicts.LABELS) & (found["verdict"] != "not decided")
    ]
    assert labels["classes"].min() >= verdicts.FEW
    assert labels.sort_values("classes")["reference"].is_monotonic_decreasing
    assert labels["reference"].nunique() == labels["classes"].nunique()


def test_languages_with_nearly_the_same_share_have_the_same_state():
    found = verdicts.verdicts()
    assert found.loc[["io", "ta"], "share"].diff().abs().iloc[1] < 0.01  # Ido and Tamil
    assert found.loc["io", "verdict"] == found.loc["ta", "verdict"]
    assert (
        found.loc["mi", "verdict"] == "borderline"
    )  # Māori: its interval holds a half


def test_generative_models_decide_where_captions_and_labels_do_not():
    found = verdicts.verdicts()
    assert found.loc["yo", ["id", "verdict"]].tolist() == ["worldcuisines", "usable"]
    assert found.loc["yo", "share"] == pytest.approx(
        (found.loc["yo", "value"] - 0.2) / (0.7665 - 0.2)
    )
    assert (
        verdicts.judged(boards=verdicts.MAIN[:2]).loc["yo", "verdict"] == "not decided"
    )


def test_a_stricter_line_never_makes_a_language_usable():
    usable = [
        set(table.index[table["verdict"] == "usable"])
        for table in map(verdicts.judged, (0.45, 0.5, 0.6))
    ]
    assert usable[0] > usable[1] > usable[2]


def test_no_verdict_stands_on_few_classes_or_on_bridges_and_guessing_is_no_support():
    found = verdicts.verdicts()
    assert (
        found.loc[(found["classes"] > 0) & (found["classes"] < verdicts.FEW), "verdict"]
        == "not decided"
    ).all()
    assert found.loc[["nv", "quz", "gag", "sm"], "verdict"].tolist() == [
        "not usable",
        "hardly usable",
        "not decided",
        "not decided",
    ]
    usable = found[found["verdict"] == "usable"]
    hardly = found[found["verdict"] == "hardly usable"]
    assert usable["share_low"].min() >= verdicts.HALF > hardly["share_high"].max()
