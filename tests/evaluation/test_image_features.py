"""Images of data sets and languages as a model represents them."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import image_features
from conftest import filled


def statements(folder, shared=False):
    """A table of statements in two languages, with images of their own or shared."""
    rows = []
    for lang in ("sw", "ta"):
        for number in range(3):
            name = "" if shared else lang
            left, right = f"{name}{number}.png", f"{name}{number + 3}.png"
            for path in (left, right):
                Image.new("RGB", (2, 2)).save(folder / path)
            rows.append(
                {
                    "variant": "original",
                    "lang": lang,
                    "statement": f"s{number}",
                    "left": left,
                    "right": right,
                    "concept": "paka",
                }
            )
    path = folder / "pairs.parquet"
    tables.write(filled("pairs", rows).assign(truth=True), path, "pairs")
    return str(path)


def pictograms(folder, n=4):
    rows = [
        {"path": f"p{place}.png", "wnid": "n1", "number": place} for place in range(n)
    ]
    for row in rows:
        Image.new("RGB", (2, 2)).save(folder / row["path"])
    path = folder / "images.parquet"
    return str(tables.write(filled("images", rows), path, "images"))


def test_groups_are_data_sets_and_languages_with_images_of_their_own(tmp_path):
    places = {"marvl": statements(tmp_path), "pictograms": pictograms(tmp_path)}
    sampled = image_features.sample(places, most=500)
    sizes = sampled["group"].value_counts().to_dict()
    assert sizes == {"marvl, Swahili": 4, "marvl, Tamil": 4, "pictograms": 4}
    assert sampled["image"].is_unique
    fewer = image_features.sample(places, most=3, seed=1)
    assert len(fewer) == 9


def test_a_table_names_images_below_the_folder_of_their_data_set(tmp_path):
    tables_of_runs = []
    for run in ("one", "other"):
        (tmp_path / run).mkdir()
        places = {
            "marvl": statements(tmp_path / run),
            "pictograms": pictograms(tmp_path / run),
        }
        sampled = image_features.sample(places, most=3)
        assert all(path.startswith(str(tmp_path / run)) for path in sampled["path"])
        vectors = np.random.default_rng(0).normal(size=(len(sampled), 4))
        tables_of_runs.append(image_features.features(sampled, vectors, "pca", k=2))
    pd.testing.assert_frame_equal(*tables_of_runs)
    assert "path" not in tables_of_runs[0]


def test_languages_that_share_images_are_one_group(tmp_path):
    images = image_features.images_of("marvl", statements(tmp_path, shared=True))
    assert set(images["lang"]) == {""}
    assert len(images) == 6


def test_one_group_alone_and_other_tasks_are_refused(tmp_path):
    with pytest.raises(InputError, match="are 4 of pictograms: name data"):
        image_features.sample({"pictograms": pictograms(tmp_path)}, 10)
    with pytest.raises(InputError, match="'xm3600' is for retrieval"):
        image_features.images_of("xm3600", "")


def test_features_have_two_dimensions_and_the_purity_of_directions():
    sampled = pd.DataFrame(
        {
            "dataset": "d",
            "lang": "",
            "concept": "c",
            "image": list("abcdef"),
            "group": ["x"] * 3 + ["y"] * 3,
        }
    )
    rng = np.random.default_rng(0)
    directions = np.repeat([[1.0, 0, 0], [0, 1.0, 0]], 3, axis=0)
    vectors = (directions + rng.normal(0, 0.01, (6, 3))) * rng.uniform(1, 9, (6, 1))
    found = image_features.features(sampled, vectors, "pca", k=2)
    assert found["purity"].tolist() == [1] * 6
    assert np.sign(found["x"]).nunique() == 2
    checked = tables.check(found.assign(model="m"), "image_features")
    assert set(checked["method"]) == {"pca"}
