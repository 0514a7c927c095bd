"""The labels that are nearest to single pictures."""

import numpy as np
import pandas as pd

from babelatlas.evaluation import picture_labels


def test_the_nearest_labels_of_each_language_say_whether_they_and_any_other_fit():
    labels = pd.DataFrame(
        [
            ("en", "n1", "cat"),
            ("en", "n2", "cup"),
            ("de", "n2", "Tasse"),
            ("de", "n3", "Maus"),
        ],
        columns=["lang", "wnid", "label"],
    )
    vectors = np.array([[2.0, 0, 0], [0, 1, 0], [0, 3, 0], [4, 0, 3]])
    images = np.array([[5.0, 0, 0], [0, 1, 0]])
    fitting = {"cat": ["n1"], "coffee": ["n2"]}
    found = picture_labels.nearest_labels(images, labels, vectors, fitting, 1)
    shown = found.set_index(["lang", "picture"])
    assert shown["label"].to_dict() == {
        ("de", "cat"): "Maus",
        ("de", "coffee"): "Tasse",
        ("en", "cat"): "cat",
        ("en", "coffee"): "cup",
    }
    assert shown.loc[("de", "cat"), "cosine"] == np.float32(0.8)
    assert shown["correct"].tolist() == [False, True, True, True]
    assert shown["labelled"].tolist() == [False, True, True, True]
    assert {*shown["n_classes"]} == {2}


def test_a_language_with_fewer_labels_than_are_asked_for_has_as_many_ranks():
    labels = pd.DataFrame({"lang": ["en"], "wnid": ["n1"], "label": ["cat"]})
    vectors = np.array([[1.0, 0]])
    found = picture_labels.nearest_labels(vectors, labels, vectors, {"cat": []}, 3)
    assert found["rank"].tolist() == [1]
