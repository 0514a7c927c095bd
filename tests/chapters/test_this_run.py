"""Tests of what the page of a run computes from its scores."""

import numpy as np
import pandas as pd
import pytest

from atlas_study.chapters import this_run
from babelatlas.base import tables
from conftest import filled


def accuracy(**by_model: list[float]) -> pd.DataFrame:
    """Accuracies on a board "a" in the languages de, nl, fr (group high) and sw (low)."""
    codes = ["de", "nl", "fr", "sw"]
    parts = [
        pd.DataFrame(
            {
                "title": "a",
                "model": model,
                "lang": codes[: len(values)],
                "group": ["high", "high", "high", "low"][: len(values)],
                "value": values,
                "ci_low": np.array(values) - 0.05,
                "ci_high": np.array(values) + 0.05,
            }
        )
        for model, values in by_model.items()
    ]
    return pd.concat(parts, ignore_index=True)


def test_a_group_of_one_language_has_the_interval_over_its_classes():
    means = this_run.group_means(accuracy(ours=[0.5, 0.3, 0.4, 0.2]), 50, seed=0)
    means = means.set_index("group")
    assert means["value"].to_dict() == pytest.approx({"high": 0.4, "low": 0.2})
    assert means.loc["low", ["ci_low", "ci_high"]].tolist() == pytest.approx(
        [0.15, 0.25]
    )
    assert means.loc["high", "ci_low"] < 0.4 < means.loc["high", "ci_high"]


def test_no_accuracy_gives_no_means_and_no_differences():
    none = accuracy(ours=[0.5])[:0]
    assert this_run.group_means(none, 50, seed=0).empty
    table, n_significant = this_run.differences(none, "level", 50, seed=0)
    assert (len(table), n_significant) == (0, 0)


def test_only_groups_of_several_languages_are_compared_and_only_several_models():
    both = accuracy(ours=[0.5, 0.3, 0.4, 0.2], second=[0.6, 0.4, 0.5, 0.9])
    table, n_significant = this_run.differences(both, "level", 50, seed=0)
    assert table["level"].tolist() == ["high"]
    assert table[["model", "minus"]].to_numpy().tolist() == [["ours", "second"]]
    assert table["points"].iloc[0].startswith("−10.0")
    assert n_significant == 0
    alone, _ = this_run.differences(accuracy(ours=[0.5, 0.3]), "level", 50, seed=0)
    assert alone.empty


def test_the_leading_model_is_the_best_in_the_most_languages():
    both = accuracy(ours=[0.5, 0.3, 0.4, 0.2], second=[0.6, 0.4, 0.3, 0.1])
    both.loc[both["lang"] == "sw", "value"] = [0.2, 0.3]
    assert this_run.lead_of(both, "lang") == ("second", 3)


def test_the_best_languages_come_first_and_the_others_are_left_out():
    recall = pd.DataFrame(
        {
            "language": ["Dutch", "German", "French", "Dutch", "German", "French"],
            "value": [0.1, 0.5, 0.3, 0.2, 0.4, 0.3],
        }
    )
    best = this_run.best_languages(recall, n_languages=2)
    assert best["language"].tolist() == ["German", "German", "French", "French"]


def test_labels_are_split_by_whether_the_training_texts_have_them(tmp_path):
    rows = pd.DataFrame(
        {
            "model": "ours",
            "lang": ["de", "de", "en"],
            "wnid": ["n1", "n2", "n1"],
            "n_correct": [4, 1, 5],
            "n_images": 5,
        }
    )
    texts = rows[["model", "lang", "wnid"]][:1]
    written = {"zeroshot": rows, "training_texts": texts}
    paths = _write(tmp_path, written)
    files = pd.DataFrame(
        {"model": ["ours"], "task": ["zeroshot"], "path": [paths["zeroshot"]]}
    )
    found, n_labels = this_run.by_training_label(str(tmp_path), files, 50, seed=0)
    assert found.set_index("label")["value"].to_dict() == {
        "in training": 0.8,
        "not in training": 0.2,
    }
    assert n_labels.to_dict() == {"all": 2, "in training": 1}


def test_labels_in_training_are_compared_with_others_of_the_same_models():
    seen, unseen = "in training", "not in training"
    rows = [("ours", seen, 0.8), ("ours", unseen, 0.2), ("english", unseen, 0.0)]
    accuracy = pd.DataFrame(rows, columns=["model", "label", "value"])
    means = {seen: 0.8, unseen: 0.2}
    assert this_run.means_by_label(accuracy).to_dict() == means
    assert this_run.means_by_label(accuracy[2:]).to_dict() == {unseen: 0.0}


def _write(folder, written: dict[str, pd.DataFrame]) -> dict[str, str]:
    """Write tables with empty values in the columns that do not matter."""
    places = {
        "zeroshot": folder / "zeroshot" / "ours_a.parquet",
        "training_texts": folder / "models" / "ours" / "training_texts.parquet",
    }
    for name, table in written.items():
        places[name].parent.mkdir(parents=True)
        tables.write(filled(name, table), places[name], name)
    return {name: str(path) for name, path in places.items()}


def test_a_run_without_training_texts_has_nothing_to_split(tmp_path):
    files = pd.DataFrame({"model": ["ours"], "task": ["zeroshot"], "path": ["a"]})
    found, n_labels = this_run.by_training_label(str(tmp_path), files, 50, seed=0)
    assert found.empty
    assert n_labels.empty


def test_a_neighbour_is_the_next_model_on_the_same_board():
    boards = pd.DataFrame(
        {"title": ["a", "a", "b"], "model": ["first", "second", "first"]}
    )
    pairs = pd.DataFrame(
        {
            "title": ["a", "a"],
            "first": ["first", "second"],
            "second": ["second", "first"],
            "value": [0.1, -0.1],
            "ci_low": [0.05, -0.15],
            "ci_high": [0.15, -0.05],
            "p": 0.01,
            "p_holm": 0.02,
        }
    )
    near = this_run._neighbours(boards, pairs)
    assert near[["first", "second"]].to_numpy().tolist() == [["first", "second"]]
    table = this_run._neighbour_table(near)
    assert table["points"].tolist() == ["10.0 (5.0 to 15.0)"]
