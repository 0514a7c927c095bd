"""Tests of scores above guessing by language, and of figures that fit one screen."""

import re

import numpy as np
import pandas as pd
import pytest

import babelatlas as ba
from atlas_study.chapters import this_run_languages as by_language

ONE_SCREEN = 900  # pixels
GROUPS = ["very low", "low", "mid", "high", "English", "not in the paper"]


def scores(*rows: tuple, **columns) -> pd.DataFrame:
    """Rows of model, lang, accuracy, half of its interval and classes on the board
    "a", above guessing.
    """
    table = pd.DataFrame(rows, columns=["model", "lang", "value", "half", "items"])
    table = table.assign(
        title="a",
        language=table["lang"],
        group="low",
        ci_low=table["value"] - table["half"],
        ci_high=table["value"] + table["half"],
    )
    return by_language.above_guessing(table).assign(**columns)


def full_size() -> pd.DataFrame:
    """Twelve models in 135 languages, all above guessing, most of them in one group."""
    rows = [
        (f"a-model-with-a-long-name-{model:02}", f"language {lang:03}", 0.5, 0.1, 100)
        for model in range(12)
        for lang in range(135)
    ]
    names = np.repeat(GROUPS, [6, 32, 35, 16, 1, 45])
    return scores(*rows, group=np.tile(names, 12))


def height(axis) -> int:
    """Return how high a figure is on a page, in pixels."""
    shown = ba.show(axis, caption="", alt="").data
    return int(re.search(r'<img[^>]* height="(\d+)"', shown)[1])


def test_few_classes_are_no_advantage_and_what_may_be_guessed_is_not_above_guessing():
    walloon, swahili = ("random", "wa", 0.25, 0.2, 10), ("good", "sw", 0.2, 0.02, 500)
    found = scores(walloon, swahili).set_index("lang")
    assert found.loc["wa", "value"] == pytest.approx((0.25 - 0.1) / 0.9)
    assert found.loc["sw", "value"] == pytest.approx((0.2 - 0.002) / 0.998)
    assert found["is_above"].to_dict() == {"wa": False, "sw": True}


@pytest.mark.parametrize(
    ("rows", "finding"),
    [
        (
            [("ours", "de", 0.5, 0.1, 10), ("ours", "sw", 0.1, 0.1, 10)],
            "On a, ours is better than guessing in 1 of 2 languages",
        ),
        (
            [
                ("ours", "de", 0.5, 0.1, 10),
                ("ours", "sw", 0.5, 0.1, 10),
                ("second", "de", 0.5, 0.1, 10),
                ("second", "sw", 0.1, 0.1, 10),
            ],
            "On a, ours is better than guessing in all 2 languages, more than any other"
            " model of this run",
        ),
        (
            [
                ("ours", "de", 0.5, 0.1, 10),
                ("ours", "sw", 0.1, 0.1, 10),
                ("second", "de", 0.6, 0.1, 10),
                ("second", "sw", 0.1, 0.1, 10),
            ],
            "On a, second is better than guessing in 1 of 2 languages, as is 1 other"
            " model",
        ),
        (
            [("ours", "de", 0.1, 0.1, 10), ("ours", "sw", 0.1, 0.1, 10)],
            "On a, no model is significantly better than guessing in any of 2 languages",
        ),
        (
            [("ours", "de", 0.5, 0.1, 10)],
            "On a, ours is better than guessing in de",
        ),
        (
            [("ours", "de", 0.1, 0.1, 10)],
            "On a, ours is not significantly better than guessing in de",
        ),
        (
            [("picto-en", "de", 0.5, 0.1, 10)],
            "On a, the miniature model picto-en is better than guessing in de",
        ),
    ],
)
def test_the_finding_reads_for_every_run(rows, finding):
    assert by_language.finding(scores(*rows)) == finding


def test_a_group_of_one_language_has_the_interval_over_its_classes():
    table = pd.DataFrame(
        {
            "model": "ours",
            "lang": ["de", "nl", "sw"],
            "group": ["high", "high", "low"],
            "value": [0.5, 0.3, 0.2],
            "ci_low": [0.4, 0.2, 0.15],
            "ci_high": [0.6, 0.4, 0.25],
        }
    )
    means = by_language.group_means(table, ["model", "group"], 50, seed=0)
    means = means.set_index("group")
    assert means["value"].to_dict() == pytest.approx({"high": 0.4, "low": 0.2})
    ends = means.loc["low", ["ci_low", "ci_high"]].tolist()
    assert ends == pytest.approx([0.15, 0.25])
    assert means.loc["high", "ci_low"] < 0.4 < means.loc["high", "ci_high"]


def test_languages_come_from_the_highest_and_those_at_guessing_are_left_out():
    rows = [("ours", "sw", 0.3), ("ours", "de", 0.5), ("ours", "wa", 0.25)]
    halves = [0.1, 0.1, 0.2]
    table = scores(*((*row, half, 10) for row, half in zip(rows, halves, strict=True)))
    ((summary, (part,)),) = by_language.folds(table)
    assert part["language"].tolist() == ["de", "sw"]
    assert summary == "low: 3 languages, 2 above guessing"
    parts = next(by_language.folds(table, most=1))[1]
    assert [part["language"].tolist() for part in parts] == [["de"], ["sw"]]


def test_a_group_without_a_language_above_guessing_has_no_fold():
    assert list(by_language.folds(scores(("ours", "wa", 0.25, 0.2, 10)))) == []


def test_at_12_models_and_135_languages_each_figure_fits_one_screen():
    table = full_size()
    folds = list(by_language.folds(table))
    assert [summary.split(":")[0] for summary, _ in folds] == GROUPS
    parts = [part for _, parts in folds for part in parts]
    assert sum(part["language"].nunique() for part in parts) == 135
    largest = max(parts, key=len)
    assert height(by_language.draw_languages(largest, table, "accuracy")) <= ONE_SCREEN

    means = by_language.group_means(table, ["model", "group"], 20, seed=0)
    assert height(by_language.draw_group_means(means, "accuracy")) <= ONE_SCREEN
    ways = pd.concat([means.assign(way=way) for way in ("text", "image")])
    axis = by_language.draw_group_means(ways, "recall", "way")
    assert height(axis) <= ONE_SCREEN


def test_the_means_of_many_models_fit_one_screen_too_and_the_page_says_how_many():
    rows = [(f"m{place:02}", "de", place / 100, 0.01, 100) for place in range(60)]
    table = scores(*rows)
    shown = by_language.best_models(table)
    assert shown["model"].iloc[0] == "m59"
    assert by_language.left_out(shown, table) == (
        " Drawn: the 15 of 60 models with the highest means."
    )
    assert by_language.left_out(table, table) == ""


def test_a_fold_opens_at_its_words_and_a_name_cannot_end_it():
    content = ba.show(
        by_language.draw_languages(full_size()[:1], full_size()[:1], "accuracy"),
        caption="a",
        alt="a",
    )
    text = by_language.folded("<script>: 1 language", [content]).data
    assert "<summary>&lt;script>: 1 language</summary><figure" in text
    assert text.endswith("</figure></details>")


def test_a_figure_of_few_models_keeps_its_width_on_a_phone():
    few = scores(("ours", "de", 0.5, 0.1, 10))
    figure = ba.show(by_language.draw_languages(few, few, "a"), caption="", alt="")
    assert "atlas-narrow" in by_language.folded("low", [figure]).data
    many = full_size()[lambda table: table["lang"] == "language 000"]
    figure = ba.show(by_language.draw_languages(many, many, "a"), caption="", alt="")
    assert "atlas-narrow" not in by_language.folded("low", [figure]).data
