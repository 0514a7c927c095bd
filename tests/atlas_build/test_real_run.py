"""What ships of a run of real models: vectors of its pictures, counts of texts."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from atlas_build import real_run, shipped
from babelatlas.analysis.real_run import SHIPPED_TOWER
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import stamps, stored_vectors
from babelatlas.evaluation import zeroshot

HOW = dict.fromkeys(tables.PROTOCOL, "as it is")


def shipped_vectors() -> list[Path]:
    return sorted(stored_vectors.FOLDER.glob("*.npz"))


def test_the_vectors_that_ship_take_at_most_six_megabytes():
    files = shipped_vectors()
    assert len(files) == 2
    assert sum(file.stat().st_size for file in files) <= 6_000_000


def test_a_folder_without_such_a_run_ships_nothing(tmp_path):
    with pytest.raises(InputError, match="holds no run of real models"):
        shipped.rebuild("real-run", tmp_path)


def test_vectors_of_the_shipped_tower_are_stored_with_length_one_and_their_classes(
    tmp_path,
):
    classes = {"de": (["n1", "n2"], np.eye(2))}
    datasets = [path.stem.removeprefix("vectors_") for path in shipped_vectors()]
    for dataset in datasets:
        zeroshot.write_vectors(
            tmp_path / "embeddings" / SHIPPED_TOWER / f"{dataset}.npz",
            np.array([[3.0, 4.0], [0.0, 2.0]]),
            ["n1", "n2"],
            classes,
            {"de": "label"},
            {"de": HOW},
        )
    files = real_run.vectors(tmp_path)
    assert sorted(files) == shipped_vectors()
    for arrays in files.values():
        np.testing.assert_allclose(arrays["vectors"], [[0.6, 0.8], [0, 1]], atol=1e-3)
        assert arrays["vectors"].dtype == np.float16
        assert list(arrays["wnids"]) == ["n1", "n2"]


def test_texts_of_things_are_counted_by_language_with_those_left_in_english(
    tmp_path, monkeypatch
):
    pictures = pd.DataFrame(
        {"stamp": ["rose", "tulip", "a"], "thing": [True, True, False]}
    )
    texts = pd.DataFrame(
        [
            ["rose", "de", "Blume", False],
            ["tulip", "de", "Blume", False],
            ["a", "de", "Buchstabe", False],
            ["rose", "fr", "flower", True],
        ],
        columns=["stamp", "lang", "text", "untranslated"],
    )
    monkeypatch.setattr(
        stamps, "read_pictures_and_texts", lambda home: (pictures, texts)
    )
    counts = real_run.count_texts(tmp_path)
    assert counts.to_dict("records") == [
        {"lang": "de", "n_texts": 2, "n_untranslated": 0, "n_different": 1},
        {"lang": "fr", "n_texts": 1, "n_untranslated": 1, "n_different": 0},
    ]
