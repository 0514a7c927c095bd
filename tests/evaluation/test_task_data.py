"""The part of a data set that is evaluated."""

import pandas as pd
import pytest
from PIL import Image

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import task_data

WNIDS = ["n1", "n2", "n3"]


@pytest.fixture
def material(tmp_path):
    for number in range(6):
        Image.new("RGB", (4, 4), (40 * number, 0, 0)).save(tmp_path / f"{number}.png")
    images = pd.DataFrame(
        {
            "path": [f"{number}.png" for number in range(6)],
            "wnid": WNIDS * 2,
            "number": 0,
        }
    )
    tables.write(images, tmp_path / "images.parquet", "images")
    labels = pd.DataFrame(
        {
            "lang": ["de", "de", "de", "sw"],
            "wnid": [*WNIDS, "n1"],
            "label": list("abca"),
        }
    )
    labels.to_csv(tmp_path / "labels.csv", index=False)
    return task_data.Material(
        tmp_path / "images.parquet", tmp_path / "labels.csv", minimum=2
    )


def test_labels_are_those_of_languages_with_enough_classes(material):
    found = task_data.labelled_images("pictograms", material)
    assert found.labels[["lang", "wnid"]].to_numpy().tolist() == [
        ["de", "n1"],
        ["de", "n2"],
        ["de", "n3"],
    ]
    assert found.left_out == ["sw"]
    assert len(found.images) == 6


def test_a_limit_keeps_the_first_images_of_each_class(material):
    found = task_data.labelled_images("pictograms", material._replace(limit=1))
    assert found.images["wnid"].tolist() == WNIDS


def test_languages_that_are_asked_for_need_no_minimum(material):
    asked = material._replace(languages=["sw"])
    found = task_data.labelled_images("pictograms", asked)
    assert found.labels["lang"].tolist() == ["sw"]
    assert found.left_out == []
    with pytest.raises(InputError, match="No language has 9 classes"):
        task_data.labelled_images("pictograms", material._replace(minimum=9))
