"""Tests of accuracy among fewer classes."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelatlas.base.errors import InputError
from babelatlas.evaluation import class_counts, zeroshot
from babelatlas.stats import bootstrap


def world(seed: int, n_classes: int = 6, n_images: int = 40, ties: bool = False):
    """Images and class vectors of a few directions; with `ties` two classes are one."""
    rng = np.random.default_rng(seed)
    wnids = [f"n{place}" for place in range(n_classes)]
    classes = rng.normal(size=(n_classes, 5))
    if ties:
        classes[1] = classes[0]
    of_image = rng.integers(n_classes, size=n_images)
    of_image[:n_classes] = np.arange(n_classes)
    images = classes[of_image] + 1.5 * rng.normal(size=(n_images, 5))
    return images, [wnids[place] for place in of_image], classes, wnids


def in_all_subsets(images, image_wnids, classes, wnids, size: int) -> float:
    """Accuracy as in the paper, over every subset of `size` classes that there is:
    images of the subset, classified among its classes.
    """
    n_right = n_tested = 0.0
    for chosen in combinations(range(len(wnids)), size):
        names = [wnids[place] for place in chosen]
        inside = [place for place, wnid in enumerate(image_wnids) if wnid in names]
        counts = zeroshot.evaluate(
            images[inside],
            [image_wnids[place] for place in inside],
            classes[list(chosen)],
            names,
        )
        n_right += counts["n_correct"].sum()
        n_tested += counts["n_images"].sum()
    return n_right / n_tested


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_curve_is_the_mean_over_all_subsets_that_there_are(seed, ties):
    given_world = world(seed, ties=ties)
    counts = class_counts.rank_counts(*given_world)
    curve = class_counts.curve(counts, 20).set_index("n_classes")["value"]
    for size in range(2, 7):
        expected = in_all_subsets(*given_world, size)
        assert curve[size] == pytest.approx(expected, abs=1e-12)


def test_with_all_classes_it_is_the_whole_evaluation():
    given_world = world(3, n_classes=30, n_images=300)
    whole = zeroshot.evaluate(*given_world)
    curve = class_counts.curve(class_counts.rank_counts(*given_world), 20)
    accuracy = whole["n_correct"].sum() / whole["n_images"].sum()
    assert curve["value"].iloc[-1] == pytest.approx(accuracy, abs=1e-12)
    assert curve["n_images"].eq(300).all()


def test_many_random_subsets_come_close():
    given_world = world(4, n_classes=30, n_images=600)
    drawn = zeroshot.subset_counts(*given_world, [5, 15], n_subsets=2000, seed=0)
    drawn = drawn.groupby("n_classes")[["n_correct", "n_images"]].sum()
    curve = class_counts.curve(
        class_counts.rank_counts(*given_world), 20, sizes=[5, 15]
    )
    assert curve["value"].to_numpy() == pytest.approx(
        (drawn["n_correct"] / drawn["n_images"]).to_numpy(), abs=0.005
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 40))
def test_chances_fall_with_the_rank_and_with_the_number_of_classes(n_classes):
    table = class_counts.chances(n_classes, range(1, n_classes + 1))
    assert (np.diff(table, axis=0) <= 1e-12).all()
    assert (np.diff(table, axis=1) <= 1e-12).all()
    assert table[0] == pytest.approx(1)
    # Guessing: a class at any rank alike is right once in k.
    guessing = 1 / np.arange(1, n_classes + 1)
    assert table.mean(axis=0) == pytest.approx(guessing)


def test_a_thousand_classes_lose_no_digits():
    table = class_counts.chances(1000, [2, 500, 1000])
    assert table[499, 0] == pytest.approx(500 / 999)
    assert table[1].tolist() == pytest.approx([998 / 999, 500 / 999, 0])


def test_every_image_has_one_rank_or_shares_of_several():
    counts = class_counts.rank_counts(*world(5, ties=True))
    assert counts.sum() == pytest.approx(40)
    assert (counts > -1e-12).all()


def test_images_without_a_label_are_left_out():
    images, image_wnids, classes, wnids = world(6)
    without = class_counts.rank_counts(images, image_wnids, classes[1:], wnids[1:])
    assert without.sum() == sum(wnid != "n0" for wnid in image_wnids)


def test_the_interval_holds_the_value_and_narrows_with_more_classes():
    few = class_counts.curve(class_counts.rank_counts(*world(7)), 200, sizes=[2])
    many_world = world(7, n_classes=60, n_images=400)
    many = class_counts.curve(class_counts.rank_counts(*many_world), 200, sizes=[2])
    widths = []
    for curve in (few, many):
        row = curve.iloc[0]
        assert row["ci_low"] <= row["value"] <= row["ci_high"]
        widths.append(row["ci_high"] - row["ci_low"])
    assert widths[1] < widths[0]


def test_one_class_has_no_curve_and_no_image_or_a_size_too_large_is_told():
    assert class_counts.curve(np.array([[3.0]])).empty
    with pytest.raises(InputError, match="No class of the labels has an image"):
        class_counts.curve(np.zeros((2, 2)))
    with pytest.raises(
        InputError, match="Of 3 classes 1 to 3 can be drawn, got 2 to 4"
    ):
        class_counts.chances(3, [2, 4])
    with pytest.raises(InputError, match="from 1 to 3, got 4 columns"):
        class_counts.curve(np.ones((3, 4)))


def test_a_curve_holds_the_counts_of_ranks():
    counts = class_counts.rank_counts(*world(8, ties=True))
    curve = class_counts.curve(counts, 20)
    at_first = curve["value"].iloc[-1] * curve["n_images"].iloc[0]
    assert curve["n_at_rank"].tolist() == pytest.approx(counts.sum(axis=0)[1:].tolist())
    assert at_first + curve["n_at_rank"].sum() == pytest.approx(40)


def test_a_line_over_the_logarithm_is_that_of_least_squares():
    counts = class_counts.rank_counts(*world(9, n_classes=32, n_images=400))
    sizes = [2, 4, 8, 16, 64]
    line = class_counts.log_linear(counts, sizes, 200).iloc[0]
    curve = class_counts.curve(counts, 20, sizes=[2, 4, 8, 16, 32])
    slope = np.polyfit([1, 2, 3, 4, 5], 100 * curve["value"], 1)[0]
    assert line["per_doubling"] == pytest.approx(slope)
    assert line["ci_low"] < slope < line["ci_high"]
    assert line["n"] == 5


def test_two_numbers_of_classes_have_no_line():
    counts = class_counts.rank_counts(*world(9))
    assert "any line passes" in class_counts.log_linear(counts, [2])["reason"][0]
    assert class_counts.log_linear(np.ones((1, 1)), [2])["reason"][0] == "no results"


@pytest.mark.parametrize("rank", [0, 9])
def test_the_interval_among_all_classes_is_that_of_accuracy(rank):
    counts = np.zeros((10, 10))
    counts[:, rank] = 1
    last = class_counts.curve(counts, 200).iloc[-1]
    table = pd.DataFrame({"model": "m", "lang": "de", "wnid": list("abcdefghij")})
    table = table.assign(n_correct=counts[:, 0], n_images=1)
    whole = bootstrap.accuracy_interval(table, ["model", "lang"], n_resamples=200)
    names = ["value", "ci_low", "ci_high"]
    assert last[names].tolist() == pytest.approx(whole[names].iloc[0].tolist())


def test_one_tested_class_has_no_interval():
    counts = np.zeros((4, 4))
    counts[1, 1] = 3
    curve = class_counts.curve(counts, 50)
    assert curve["ci_low"].isna().all()
    assert curve["value"].tolist() == pytest.approx([2 / 3, 1 / 3, 0])
