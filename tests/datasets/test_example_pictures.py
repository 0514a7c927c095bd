"""Photographs of packages that may be shown."""

import pytest

from babelatlas.base import synsets
from babelatlas.datasets import example_pictures


def test_the_installed_pictures_are_those_that_the_study_describes():
    pictures = example_pictures.available()
    assert pictures["picture"].tolist() == example_pictures.listed()["picture"].tolist()
    assert example_pictures.missing() == ""


def test_every_picture_has_an_author_a_licence_and_an_address_and_classes_of_imagenet():
    pictures = example_pictures.listed()
    assert (pictures[["author", "licence", "source"]] != "").all(axis=None)
    free = {"CC0 1.0", "CC BY 2.0", "public domain"}
    assert {*pictures["licence"]} == free
    has_address = pictures["licence_address"] != ""
    assert (has_address == (pictures["licence"] != "public domain")).all()
    known = {*synsets.class_list("imagenet-1k")["wnid"]}
    assert {wnid for wnids in pictures["wnids"] for wnid in wnids} <= known


@pytest.mark.parametrize("how", ["no package", "another version"])
def test_pictures_that_are_not_installed_are_left_out_and_named(monkeypatch, how):
    if how == "no package":
        find = example_pictures.util.find_spec
        monkeypatch.setattr(
            example_pictures.util,
            "find_spec",
            lambda name: None if name == "skimage" else find(name),
        )
    else:
        table = example_pictures.listed()
        of_package = table["package"] == "skimage"
        changed = table.assign(sha256=table["sha256"].mask(of_package, "0"))
        monkeypatch.setattr(example_pictures, "listed", lambda: changed)
    assert example_pictures.available()["picture"].tolist() == ["palace", "flower"]
    assert example_pictures.missing() == (
        "Not shown here: a cat, a cup of coffee, a camera on a tripod, a rocket, a"
        " blurred wall clock; the installed version of scikit-image does not have these"
        " pictures as this study describes them."
    )
