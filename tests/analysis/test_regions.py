"""Accuracy by language and region: on a world that can be counted by hand, and against a literal transcription."""

import numpy as np
import pandas as pd
import pytest

from babelatlas.analysis.captioning import regions
from babelatlas.base.errors import InputError
from babelatlas.evaluation import zeroshot

EYE = np.eye(3, dtype=np.float32)
# Two images of each class from each of two regions; those from the south look like the next class once in class 0.
WNIDS = ["a", "a", "b", "b", "c", "c"] * 2
PLACES = ["north"] * 6 + ["south"] * 6
SEEN = [0, 0, 1, 1, 2, 2, 1, 0, 1, 1, 2, 2]


@pytest.fixture
def stored(tmp_path):
    classes = {"en": (["a", "b", "c"], EYE), "de": (["a", "b"], EYE[:2])}
    path = tmp_path / "geode.npz"
    zeroshot.write_vectors(path, EYE[SEEN], WNIDS, classes, regions=PLACES)
    return path


def test_counts_by_hand(stored):
    counts = regions.counts(stored)
    english = counts[counts["lang"] == "en"].set_index(["region", "wnid"])

    assert english.loc[("south", "a"), ["n_correct", "n_images"]].tolist() == [1, 2]
    assert english.drop(("south", "a"))["n_correct"].tolist() == [2] * 5
    assert set(counts.loc[counts["lang"] == "de", "wnid"]) == {"a", "b"}


def test_regions_together_are_the_whole_evaluation(stored):
    images, wnids, classes = zeroshot.read_vectors(stored)
    for lang, (names, own) in classes.items():
        whole = zeroshot.evaluate(images, wnids, own, names).set_index("wnid")["n_correct"]
        counts = regions.counts(stored)
        counts = counts[counts["lang"] == lang].groupby("wnid")["n_correct"].sum()
        assert counts.to_dict() == whole.to_dict()


def test_accuracy_and_departures_by_hand(stored):
    counts = regions.counts(stored)
    accuracy = regions.accuracy(counts, n_resamples=50).set_index(["lang", "region"])
    away = regions.departures(counts, n_resamples=50).set_index(["lang", "region"])

    assert accuracy.loc[("en", "south"), ["value", "n"]].tolist() == pytest.approx([5 / 6, 6])
    assert accuracy.loc[("en", "north"), "value"] == 1
    # Class a: 1 in the north and 0.5 in the south, a quarter from their mean; a third of the classes in English.
    assert away.loc[("en", "north"), "value"] == pytest.approx(0.25 / 3)
    assert away.loc[("de", "south"), "value"] == pytest.approx(-0.25 / 2)
    assert away.groupby("lang")["value"].sum().abs().max() < 1e-12
    assert away["n"].to_dict() == {("de", "north"): 2, ("de", "south"): 2, ("en", "north"): 3, ("en", "south"): 3}
    # One class of three differs: every pattern of signs has a mean as far from 0.
    assert (away["p"] == 1).all()


def test_a_region_that_is_worse_in_every_class_differs_significantly():
    rows = [
        {"lang": "en", "region": place, "wnid": f"n{number}", "n_correct": right, "n_images": 10}
        for number in range(12)
        for place, right in (("north", 9), ("south", 9), ("west", 5))
    ]
    found = regions.departures(pd.DataFrame(rows), n_resamples=50).set_index("region")

    assert found.loc["west", "value"] == pytest.approx(5 / 10 - 23 / 30)
    assert found["p_holm"].max() < 0.01


def test_vectors_without_regions_and_too_few_classes_are_one_sentence(tmp_path, stored):
    path = zeroshot.write_vectors(tmp_path / "other.npz", EYE, ["a", "b", "c"], {"en": (["a", "b", "c"], EYE)})
    with pytest.raises(InputError, match="do not say where the images are from"):
        regions.counts(path)
    with pytest.raises(InputError, match=r"In 'de' 1 class\(es\) have images from every region"):
        regions.departures(regions.counts(stored).query("wnid == 'a'"))
