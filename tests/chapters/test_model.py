"""Tests of what the page of one model computes from the scores of a run."""

import numpy as np
import pandas as pd
import pytest

from atlas_study.chapters import model
from babelatlas.base import tables
from conftest import filled


def scores(**by_model: list[float]) -> pd.DataFrame:
    """Scores of a board "a": a row for each model and language, "l0", "l1" ..."""
    parts = [
        pd.DataFrame(
            {
                "title": "a",
                "model": name,
                "lang": [f"l{place}" for place in range(len(values))],
                "value": values,
                "group": ["high", "low"][: len(values)] * (len(values) // 2),
                "script": "Latin",
                "family": [f"family {place}" for place in range(len(values))],
            }
        )
        for name, values in by_model.items()
    ]
    return pd.concat(parts, ignore_index=True)


def test_the_others_are_averaged_in_each_language():
    table = scores(ours=[0.5, 0.1], second=[0.2, 0.4], third=[0.4, 0.0])
    assert model.with_others(table, "ours")["others"].tolist() == pytest.approx(
        [0.3, 0.2]
    )
    alone = model.with_others(scores(ours=[0.5, 0.1]), "ours")
    assert alone["others"].isna().all()


def test_a_group_is_compared_with_the_others_and_with_other_languages():
    table = scores(ours=[0.5, 0.1, 0.7, 0.1], second=[0.2, 0.2, 0.2, 0.2])
    found = model.differences(table, "ours", "level", n_resamples=50, seed=0)
    by_level = found[found["kind"] == "level"].set_index(["name", "against"])["value"]
    assert by_level["high", model.OTHERS] == pytest.approx(0.4)
    assert by_level["high", model.OTHER_LANGUAGES] == pytest.approx(0.5)
    assert by_level["low", model.OTHERS] == pytest.approx(-0.1)
    assert set(found) == {*model.DIFFERENCE, "p_holm", "kind", "title"}
    one_script = found[found["kind"] == "script"]
    assert one_script["against"].tolist() == [model.OTHERS]  # no other languages


def test_groups_of_fewer_than_three_languages_have_a_value_alone():
    table = scores(ours=[0.5, 0.1, 0.7, 0.1, 0.6, 0.2], second=[0.2] * 6)
    found = model.differences(table, "ours", "level", n_resamples=50, seed=0)
    tested = found["ci_low"].notna()
    assert set(found.loc[tested, "kind"]) == {"level", "script"}
    families = found[found["kind"] == "family"]
    assert families["p_holm"].isna().all()
    assert families["value"].notna().all()


def test_no_file_of_ambiguous_words_gives_no_rows_with_the_same_columns():
    none = model.ambiguous_words("", "picto-en", [])
    assert list(none) == ["data set", "code", "TC (%)", "IC (%)", "GTC (%)", "GIC (%)"]
    assert none.empty


def test_only_the_metrics_of_the_model_are_shown_with_their_interval(tmp_path):
    row = {
        "task": "disambiguation",
        "dataset": "pairs",
        "model": "ours",
        "lang": "de",
        "group": "",
        "variant": "",
        "metric": "TC",
        "value": 0.5,
        "ci_low": 0.4,
        "ci_high": 0.6,
        "n": 10,
    }
    rows = [row, row | {"model": "other"}, row | {"metric": "IoU"}]
    path = tables.write(pd.DataFrame(rows), tmp_path / "scores.parquet", "scores")
    words = model.ambiguous_words(str(path), "ours", ["pairs"])
    assert words["TC (%)"].tolist() == ["50.0 (40.0–60.0)"]
    assert words["code"].tolist() == ["de"]
    assert words["IC (%)"].isna().all()


def test_boards_stand_in_the_order_of_the_table_and_languages_in_that_of_names(
    tmp_path,
):
    row = {"task": "retrieval", "metric": "t2i recall@1", "model": "ours"}
    row |= {"ci_low": 0.0, "ci_high": 1.0, "n": 9}
    asked = [("xtd", "ja", 0.1), ("xtd", "de", 0.2), ("xm3600", "ar", 0.9)]
    rows = [
        row | {"dataset": dataset, "lang": lang, "value": value}
        for dataset, lang, value in asked
    ]
    (tmp_path / "scores").mkdir()
    table = filled("languages", rows)
    tables.write(table, tmp_path / "scores" / "languages.parquet", "languages")
    scores = model.read_scores(str(tmp_path), ["ours"], ["xm3600", "xtd"], {})
    assert scores["dataset"].tolist() == ["xtd", "xtd", "xm3600"]
    assert scores["lang"].tolist() == ["de", "ja", "ar"]


def test_the_board_of_a_run_has_mean_rank_and_number_of_models(tmp_path):
    row = {
        "task": "zeroshot",
        "dataset": "pictograms",
        "lang": "",
        "group": "all",
        "variant": "",
        "ci_low": np.nan,
        "ci_high": np.nan,
        "n": 3,
    }
    rows = [
        row | {"model": name, "metric": f"{kind} accuracy@1", "value": value}
        for name, kind, value in [
            ("ours", "mean", 0.4),
            ("ours", "rank", 2.0),
            ("second", "mean", 0.5),
            ("second", "rank", 1.0),
        ]
    ]
    (tmp_path / "scores").mkdir()
    tables.write(
        pd.DataFrame(rows), tmp_path / "scores" / "leaderboard.parquet", "scores"
    )
    ranks = model.ranks(str(tmp_path), "ours", ["second"], ["pictograms"])
    assert ranks[["title", "value", "value_rank", "models"]].to_numpy().tolist() == [
        ["pictograms", 0.4, 2.0, 2]
    ]


def test_accuracy_counts_from_guessing_and_recall_stays():
    table = pd.DataFrame(
        {
            "metric": ["accuracy@1", "t2i recall@1"],
            "items": [10, 10],
            "value": [0.25, 0.25],
            "ci_low": [0.1, 0.1],
            "ci_high": [1.0, 1.0],
            "others": [0.1, np.nan],
        }
    )
    found = model.above_guessing(table)
    assert found["value"].tolist() == pytest.approx([0.15 / 0.9, 0.25])
    assert found["ci_low"].tolist() == pytest.approx([0.0, 0.1])
    assert found["others"].fillna(-1).tolist() == pytest.approx([0.0, -1])
    assert found["measure"].tolist() == [
        "accuracy above guessing",
        "recall@1 from text to image",
    ]


def test_a_figure_names_the_groups_of_the_most_languages():
    table = pd.DataFrame({"name": ["a", "b", "a", "c"], "n": [3, 9, 3, 5]})
    assert model.of_large_groups(table, most=2)["name"].tolist() == ["b", "c"]
