"""Tests of what the page of a run computes from its scores."""

import numpy as np
import pandas as pd

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


def test_no_accuracy_gives_no_differences():
    none = accuracy(ours=[0.5])[:0]
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


def test_without_classification_the_answer_is_the_highest_mean():
    boards = pd.DataFrame(
        {"title": ["xm3600, t2i"], "model": ["ours"], "value": [0.25], "n": [36]}
    )
    assert this_run.takeaway(accuracy(ours=[0.5])[:0], boards) == (
        "On xm3600, t2i, ours has a mean recall@1 of 25.0 % over 36 languages."
    )
    alone = this_run.takeaway(accuracy(ours=[0.5])[:0], boards.assign(n=1))
    assert alone.endswith("over 1 language.")


def test_of_retrieval_the_page_says_who_leads_or_the_mean_of_the_only_model():
    scores = pd.DataFrame(
        {
            "direction": ["t2i", "t2i", "t2i", "t2i", "i2t"],
            "lang": ["de", "sw", "de", "sw", "de"],
            "model": ["ours", "ours", "second", "second", "second"],
            "value": [0.5, 0.4, 0.2, 0.1, 0.9],
        }
    )
    assert this_run.retrieval_finding(scores, "a").endswith(
        "ours has the highest recall@1 on a in 2 of 2 languages"
    )
    assert this_run.retrieval_finding(scores[:2], "a").endswith(
        "ours has a mean recall@1 of 45.0 % on a"
    )


def test_real_models_come_first_with_resource_groups_and_the_miniature_has_levels():
    rows = {"metric": "accuracy@1", "variant": "", "value": 0.5, "items": 4}
    small = pd.DataFrame(
        {"model": "picto-en", "title": "a", "dataset": "a", "lang": ["de"], "order": 0}
    )
    real = small.assign(model="bridge-lite2", title="b", dataset="b")
    levels = {"many captions": ["de"]}
    found = this_run._accuracy(
        [(small.assign(**rows), levels), (real.assign(**rows), {})]
    )
    assert found["title"].tolist() == ["b", "a"]
    assert found["miniature"].tolist() == [False, True]
    assert found["group"].tolist() == ["high", "many captions"]
    assert found["top5"].isna().all()


def test_what_a_run_evaluated_names_real_models_first_and_counts_many():
    names = [f"model-{number}" for number in range(7)]
    rows = pd.DataFrame({"model": ["picto-en", *names], "dataset": "pictograms"})
    assert this_run.evaluated(rows) == (
        "This run evaluated the real models model-0, model-1, model-2, model-3 and 3 more"
        " on pictograms, and the miniature model picto-en on pictograms."
    )
    assert this_run.evaluated(rows[:0]) == ""
