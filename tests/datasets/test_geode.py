"""GeoDE: a miniature in the published layout, and the synsets that its objects are tied to."""

import csv

import pytest
from PIL import Image

from babelatlas.base import paths, synsets
from babelatlas.base.errors import InputError
from babelatlas.datasets import registry as datasets
from babelatlas.datasets.layouts import geode
from babelatlas.lexicon import wordnets

ROWS = [
    ("Nigeria_bag_1.jpg", "bag", "Africa", "Nigeria"),
    ("Japan_bag_2.jpg", "bag", "EastAsia", "Japan"),
    ("Saudi_Arabia_hairbrush_comb_3.jpg", "hairbrush_comb", "WestAsia", "Saudi Arabia"),
    ("Indonesia_road_sign_4.jpg", "road_sign", "SouthEastAsia", "Indonesia"),
]
COLUMNS = ("file_path", "object", "region", "ip_country")


@pytest.fixture
def write(tmp_path, monkeypatch):
    (tmp_path / "images").mkdir()
    for name, *_ in ROWS:
        Image.new("RGB", (4, 4)).save(tmp_path / "images" / name)
    entry = datasets.get_dataset("geode").model_copy(update={"n_images": 4, "n_classes": 3})
    monkeypatch.setattr(datasets, "DATASETS", [entry])

    def write(columns=COLUMNS, rows=ROWS):
        with open(tmp_path / "index.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(dict(zip(COLUMNS, row, strict=True)) for row in rows)
        return tmp_path

    return write


@pytest.mark.parametrize("columns", [COLUMNS, ("file_path", "object", "ip_country")])
def test_an_image_has_its_objects_synset_and_its_region(write, columns):
    table = datasets.load("geode", write(columns))
    assert table["wnid"].tolist() == ["n02773037", "n02773037", "n03475581", "n06794110"]
    assert table["number"].tolist() == [0, 1, 0, 0]
    assert table["region"].tolist() == ["Africa", "East Asia", "West Asia", "Southeast Asia"]
    assert table["path"].str.endswith("Nigeria_bag_1.jpg").sum() == 1
    assert table.attrs["missing"] == 0


def test_what_is_lacking_is_counted_and_what_is_strange_is_named(write):
    with pytest.raises(InputError, match=r"lacks 1 images .*missing=1"):
        datasets.load("geode", write(rows=ROWS[:3]))
    assert datasets.load("geode", write(rows=ROWS[:3]), missing=1).attrs["missing"] == 1
    with pytest.raises(InputError, match="the object 'bagg': did you mean bag"):
        datasets.load("geode", write(rows=[("a.jpg", "bagg", "Africa", "Nigeria")]))
    with pytest.raises(InputError, match="no column 'object'"):
        datasets.load("geode", write(("file_path", "region")))


@pytest.mark.slow
def test_every_object_has_a_synset_of_its_own_with_that_name_and_gloss(mirror, monkeypatch):
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))
    rows = paths.rows("geode.csv")
    assert len({row["object"] for row in rows}) == len({row["wnid"] for row in rows}) == 40
    assert synsets.class_list("geode")["wnid"].is_unique
    assert {row["fit"] for row in rows} == {"same", "narrower", "wider"}
    for row, synset in zip(rows, wordnets.synsets([row["wnid"] for row in rows]), strict=True):
        assert row["name"].replace(" ", "_") in synset.lemma_names()
        assert row["gloss"] == synset.definition()


def test_the_countries_of_the_authors_are_in_the_six_regions():
    rows = paths.rows("geode_countries.csv")
    assert {row["region"] for row in rows} == set(geode.REGIONS)
    assert len({row["country"] for row in rows}) == len(rows) == 43
