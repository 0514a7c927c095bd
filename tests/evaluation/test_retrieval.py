"""Retrieval: ranks, ties and scores by hand, and every number against a plain loop over queries."""

import doctest
import itertools
import json
import math
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import retrieval, zeroshot
from babelatlas.stats import bootstrap
from babelatlas.workflow import run_notebook

torch = pytest.importorskip("torch")
PROTOCOL = {"model": "m", "dataset": "d", "choice": "all", "similarity": "cosine", "precision": "float32"}
PROTOCOL |= {"preprocessing": "model"}


def captions(rows, lang="en", name="human"):
    """Return a table of captions from pairs (image, number)."""
    table = pd.DataFrame(rows, columns=["image", "number"])
    return table.assign(captions=name, lang=lang, caption="a caption")[list(tables.SCHEMAS["captions"][0])]


def table(rows, **columns):
    """Return a retrieval table from tuples (direction, query, rank, tied, own)."""
    made = pd.DataFrame(rows, columns=["direction", "query", "rank", "tied", "n_tied_correct"])
    more = {"n_candidates": 100, "ndcg20": np.nan, "captions": "human", "lang": "en"} | columns
    return tables.check(made.assign(**PROTOCOL, **more), "retrieval")


def unit(seed, n, d=4):
    return zeroshot.normalise(np.random.default_rng(seed).normal(size=(n, d)))


def by_query(found, direction, lang="en", column="rank"):
    rows = found[(found["direction"] == direction) & (found["lang"] == lang)]
    return dict(zip(rows["query"], rows[column], strict=True))


def loop_ranks(scores, right):
    """Return rank, tied and own of one query from its scores and its right candidates, one candidate at a time."""
    best = max(scores[place] for place in right)
    better = tied = own = 0
    for place, score in enumerate(scores):
        if place in right:
            own += score >= best - zeroshot.TIE
        elif score > best + zeroshot.TIE:
            better += 1
        elif score >= best - zeroshot.TIE:
            tied += 1
    return better + 1, tied, own


def loop_ndcg(scores, english):
    """Return COCO-SM's NDCG@20 of one query without ties: its scores and the English ones of the same candidates."""
    weights = [math.exp(100 * (score - max(english))) for score in english]
    gains = [weight / sum(weights) for weight in weights]

    def dcg(ranking):
        return sum(gains[place] / math.log2(number + 2) for number, place in enumerate(ranking[:20]))

    def ranking(values):
        return np.argsort([-value for value in values], kind="stable")

    return dcg(ranking(scores)) / dcg(ranking(english))


def test_docstrings_are_right():
    assert doctest.testmod(retrieval).failed == 0


def test_ranks_of_a_matrix_that_can_be_checked_by_hand():
    # Images are the axes, so that a caption's numbers are its scores.
    images = np.eye(3, dtype=np.float32)
    rows = captions([("a", 0), ("a", 1), ("b", 0), ("c", 0)])
    vectors = np.array([[0.8, 0.6, 0], [0, 0.6, 0.8], [0.6, 0, 0.8], [0, 0, 1]], np.float32)
    found = retrieval.evaluate(images, ["a", "b", "c"], [(rows, vectors)])

    assert by_query(found, "t2i") == {"a#0": 1, "a#1": 3, "b#0": 3, "c#0": 1}
    # b has the scores 0.6, 0.6, 0, 0, and its own caption has the third; c has 0, 0.8, 0.8, 1.
    assert by_query(found, "i2t") == {"a": 1, "b": 3, "c": 1}
    # The caption b#0 scores 0 with b, and no other image does; the image b scores 0 with its own and with c's.
    assert by_query(found, "t2i", column="tied") == {"a#0": 0, "a#1": 0, "b#0": 0, "c#0": 0}
    assert by_query(found, "i2t", column="tied") == {"a": 0, "b": 1, "c": 0}
    assert found["n_candidates"].tolist() == [3, 3, 3, 3, 4, 4, 4]
    assert found["ndcg20"].isna().all()


def test_a_caption_that_two_images_share_is_right_for_its_own_only_and_ties():
    images = np.eye(2, dtype=np.float32)
    rows = captions([("a", 0), ("b", 0)])
    found = retrieval.evaluate(images, ["a", "b"], [(rows, np.float32([[0.8, 0.6], [0.8, 0.6]]))])

    assert by_query(found, "t2i") == {"a#0": 1, "b#0": 2}
    assert by_query(found, "i2t") == {"a": 1, "b": 1}
    assert by_query(found, "i2t", column="tied") == {"a": 1, "b": 1}
    assert retrieval.hits(found[found["direction"] == "i2t"], 1).tolist() == [0.5, 0.5]


def test_the_best_of_an_images_captions_counts_and_equal_ones_are_counted():
    images = np.float32([[1, 0]])
    rows = captions([("a", 0), ("a", 1), ("a", 2)])
    found = retrieval.evaluate(images, ["a"], [(rows, np.float32([[1, 0], [0, 1], [1, 0]]))])

    assert by_query(found, "i2t") == {"a": 1}
    assert by_query(found, "i2t", column="n_tied_correct") == {"a": 2}


def test_an_image_without_a_caption_is_a_candidate_and_no_query():
    found = retrieval.evaluate(np.eye(2, dtype=np.float32), ["a", "b"], [(captions([("a", 0)]), np.float32([[0, 1]]))])

    assert by_query(found, "t2i") == {"a#0": 2}
    assert by_query(found, "i2t") == {"a": 1}


def test_dot_products_rank_by_length_and_cosines_do_not():
    images, rows = np.float32([[1, 0], [3, 3]]), captions([("a", 0), ("b", 0)])
    vectors = np.float32([[1, 0.1], [0, 5]])
    cosine = retrieval.evaluate(images, ["a", "b"], [(rows, vectors)])
    dot = retrieval.evaluate(images, ["a", "b"], [(rows, vectors)], similarity="dot product")

    assert by_query(cosine, "t2i") == {"a#0": 1, "b#0": 1}
    assert by_query(dot, "t2i") == {"a#0": 2, "b#0": 1}


@pytest.mark.parametrize("seed", range(3))
def test_ranks_and_ndcg_equal_a_plain_loop_over_queries(seed):
    random = np.random.default_rng(seed)
    gallery = [f"i{number}" for number in range(45)]
    pairs = [(image, number) for image in gallery for number in range(random.integers(1, 4))]
    images, english = unit(seed, 45), unit(seed + 10, len(pairs))
    german = zeroshot.normalise(english + 0.3 * random.normal(size=english.shape))
    found = retrieval.evaluate(
        images, gallery, [(captions(pairs), english), (captions(pairs, "de"), german)], parallel="all"
    )

    ndcg = []
    for lang, vectors in (("en", english), ("de", german)):
        scores, own = vectors @ images.T, english @ images.T
        right = [{gallery.index(image)} for image, _ in pairs]
        expected = {f"{i}#{n}": loop_ranks(scores[row], right[row]) for row, (i, n) in enumerate(pairs)}
        rows = found[(found["lang"] == lang) & (found["direction"] == "t2i")].set_index("query")
        assert {query: tuple(rows.loc[query, ["rank", "tied", "n_tied_correct"]]) for query in expected} == expected
        expected = {f"{i}#{n}": loop_ndcg(scores[row], own[row]) for row, (i, n) in enumerate(pairs)}
        np.testing.assert_allclose(rows["ndcg20"][list(expected)], list(expected.values()), rtol=1e-4)
        scores, own = scores.T, own.T
        right = {image: {row for row, pair in enumerate(pairs) if pair[0] == image} for image in gallery}
        rows = found[(found["lang"] == lang) & (found["direction"] == "i2t")].set_index("query")
        expected = {image: loop_ranks(scores[row], right[image]) for row, image in enumerate(gallery)}
        assert {query: tuple(rows.loc[query, ["rank", "tied", "n_tied_correct"]]) for query in expected} == expected
        expected = {image: loop_ndcg(scores[row], own[row]) for row, image in enumerate(gallery)}
        np.testing.assert_allclose(rows["ndcg20"][list(expected)], list(expected.values()), rtol=1e-4)
        ndcg.append(found.loc[found["lang"] == lang, "ndcg20"])
    assert (ndcg[0] == 1).all()
    assert (ndcg[1] < 1).any()
    assert (ndcg[1] <= 1 + 1e-6).all()


def test_ndcg_by_hand():
    # Two images, English scores 0.02 apart: gains 1 and exp(-2).
    images, english = np.eye(2, dtype=np.float32), np.float32([[0.72, 0.70]])
    english /= np.linalg.norm(english)
    other = english[:, ::-1].copy()
    rows = captions([("a", 0)])
    found = retrieval.evaluate(
        images, ["a", "b"], [(rows, english), (captions([("a", 0)], "de"), other)], parallel="all"
    )

    second, gain = 1 / math.log2(3), math.exp(-100 * float(english[0, 0] - english[0, 1]))
    expected = (gain + second) / (1 + gain * second)
    assert by_query(found, "t2i", "de", "ndcg20")["a#0"] == pytest.approx(expected, rel=1e-5)
    assert by_query(found, "t2i", "en", "ndcg20")["a#0"] == 1


def test_candidates_that_tie_share_their_gain():
    images, english = np.eye(3, dtype=np.float32), np.float32([[0.8, 0.6, 0]])
    german = np.float32([[1, 1, 0]]) / np.sqrt(2).astype(np.float32)
    found = retrieval.evaluate(
        images,
        ["a", "b", "c"],
        [(captions([("a", 0)]), english), (captions([("a", 0)], "de"), german)],
        parallel="all",
    )

    gains, second = (1, math.exp(-100 * 0.2)), 1 / math.log2(3)
    expected = (1 + second) * sum(gains) / 2 / (gains[0] + gains[1] * second)
    assert by_query(found, "t2i", "de", "ndcg20")["a#0"] == pytest.approx(expected, rel=1e-5)


def test_a_tie_across_the_twentieth_place_looks_at_all_that_tie():
    # 30 images; English tells them apart, German gives all of them one score.
    images = np.zeros((30, 31), np.float32)
    images[:, 0] = 0.6
    images[np.arange(30), np.arange(1, 31)] = 0.8
    english = zeroshot.normalise(np.concatenate([[0], np.linspace(1, 0.97, 30)])[None])
    german = np.eye(1, 31, dtype=np.float32)
    gallery = [f"i{number:02}" for number in range(30)]
    parts = [(captions([("i00", 0)]), english), (captions([("i00", 0)], "de"), german)]
    found = retrieval.evaluate(images, gallery, parts, parallel="all")

    gains = np.exp(100 * (english @ images.T)[0].astype(float))
    discount = 1 / np.log2(np.arange(2, 22))
    expected = gains.mean() * discount.sum() / (np.sort(gains)[::-1][:20] @ discount)
    assert by_query(found, "t2i", "de", "ndcg20")["i00#0"] == pytest.approx(expected, rel=1e-4)


def test_where_all_candidates_tie_few_queries_at_a_time_are_sorted_and_the_result_is_the_same(monkeypatch):
    # A language that collapses: all captions have one vector, so that they tie for every image.
    pairs = [(f"i{number:02}", 0) for number in range(40)]
    images, english, german = unit(0, 40), unit(1, 40), np.repeat(unit(2, 1), 40, axis=0)
    parts = [(captions(pairs), english), (captions(pairs, "de"), german)]
    gallery, sorted_at_once, discounted = [image for image, _ in pairs], [], retrieval._discounted
    whole = retrieval.evaluate(images, gallery, parts, parallel="all")

    def watched(scores, gains):
        if scores.shape[1] > retrieval.PLACES + 1:  # not the first places only, but all candidates
            sorted_at_once.append(len(scores))
        return discounted(scores, gains)

    monkeypatch.setattr(retrieval, "_discounted", watched)
    monkeypatch.setattr(retrieval, "_rows", lambda device: 1000)  # as on a GPU, where a chunk has more rows
    monkeypatch.setattr(retrieval, "ROWS", 16)
    found = retrieval.evaluate(images, gallery, parts, parallel="all")

    assert sorted_at_once == [16, 16, 8]
    pd.testing.assert_frame_equal(found, whole, rtol=1e-5)
    rows = found[(found["lang"] == "de") & (found["direction"] == "i2t")]
    assert (rows["tied"] == 39).all()
    gains = np.sort(np.exp(100 * (images @ english.T).astype(float)))[:, ::-1]
    discount = 1 / np.log2(np.arange(2, 22))
    expected = gains.mean(axis=1) * discount.sum() / (gains[:, :20] @ discount)
    np.testing.assert_allclose(rows["ndcg20"], expected, rtol=1e-3)


def test_dot_products_have_no_ndcg():
    parts = [(captions([("a", 0), ("b", 0)], lang), 3 * unit(seed, 2)) for seed, lang in enumerate(("en", "de"))]
    found = retrieval.evaluate(unit(5, 2), ["a", "b"], parts, "all", "dot product")

    assert found["ndcg20"].isna().all()
    assert retrieval.evaluate(unit(5, 2), ["a", "b"], parts, "all")["ndcg20"].notna().all()


def test_only_first_captions_are_compared_with_english_where_only_these_are_translations():
    pairs = [("a", 0), ("a", 1), ("b", 0)]
    images, english, german = unit(0, 3), unit(1, 3), unit(2, 2)
    parts = [(captions(pairs), english), (captions([("a", 0), ("b", 1)], "de"), german)]
    found = retrieval.evaluate(images, ["a", "b", "c"], parts, parallel="first")

    assert by_query(found, "t2i", "en", "ndcg20")["a#0"] == 1
    assert np.isnan(by_query(found, "t2i", "en", "ndcg20")["a#1"])
    assert np.isnan(by_query(found, "t2i", "de", "ndcg20")["b#1"])
    assert by_query(found, "t2i", "de", "ndcg20")["a#0"] == pytest.approx(
        loop_ndcg(german[0] @ images.T, english[0] @ images.T), rel=1e-4
    )
    # From image to text only a#0 is common: a ranking of one.
    assert by_query(found, "i2t", "de", "ndcg20") == {"a": 1, "b": 1}


def test_a_set_without_english_has_no_ndcg_and_sets_do_not_mix():
    rows = [(captions([("a", 0)]), unit(0, 1)), (captions([("a", 0)], "de", "machine"), unit(1, 1))]
    found = retrieval.evaluate(unit(2, 2), ["a", "b"], rows, parallel="all")

    assert (found.loc[found["captions"] == "human", "ndcg20"] == 1).all()
    assert found.loc[found["captions"] == "machine", "ndcg20"].isna().all()


@pytest.mark.parametrize("n", [1, 20, 21, 22, 2047, 2048, 2049, 5000])
def test_the_best_are_found_group_by_group_as_by_sorting_all(n):
    scores = torch.rand(3, n, generator=torch.Generator().manual_seed(n))
    best, index = retrieval._first(scores)

    assert torch.equal(best, scores.sort(dim=1, descending=True)[0][:, : min(21, n)])
    assert torch.equal(scores.gather(1, index), best)


def test_parts_come_set_by_set_and_english_first():
    whole = pd.concat(
        [captions([("b", 0), ("a", 0)], lang, name) for lang, name in itertools.product(["de", "en", "ar"], ["x", "y"])]
    )
    found = retrieval.parts(whole)

    assert [(rows["captions"][0], rows["lang"][0]) for rows in found] == [
        *(("x", "en"), ("x", "ar"), ("x", "de"), ("y", "en"), ("y", "ar"), ("y", "de"))
    ]
    assert found[0]["image"].tolist() == ["a", "b"]


def test_languages_with_few_images_are_left_out_set_by_set():
    whole = pd.concat(
        [captions([("a", 0), ("b", 0)]), captions([("a", 0), ("a", 1)], "de"), captions([("a", 0)], name="x")]
    )

    assert set(retrieval.select(whole, 2)[["captions", "lang"]].itertuples(index=False, name=None)) == {("human", "en")}
    assert len(retrieval.select(whole)) == len(whole)
    with pytest.raises(InputError, match="captions for 3 images: the most is 2; lower minimum_images, or"):
        retrieval.select(whole, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parallel": "some"}, "parallel by 'some'"),
        ({"similarity": "angle"}, "no similarity 'angle'"),
        ({"gallery": ["a", "a"]}, "needs each image once"),
        ({"images": np.zeros((2, 3), np.float32)}, "NaN, infinite or zero"),
        ({"parts": []}, "no captions to evaluate"),
        ({"parts": [(captions([("z", 0)]), np.ones((1, 3)))]}, "not in the gallery, the first 'z'"),
        ({"parts": [(captions([("a", 0), ("a", 0)]), np.ones((2, 3)))]}, "key that occurs before"),
        ({"parts": [(captions([("a", 0)]), np.ones((1, 2)))]}, "one embedding each, of 3 numbers"),
        ({"parts": [(captions([("a", 0)], lang), np.ones((1, 3))) for lang in ("de", "en")]}, "English first"),
        ({"parts": [(captions([("a", 0)], lang), np.ones((1, 3))) for lang in ("de", "de")]}, "each language once"),
        (
            {"parts": [(pd.concat([captions([("a", 0)]), captions([("a", 0)], "de")]), np.ones((2, 3)))]},
            "one set in one language",
        ),
    ],
)
def test_wrong_input_is_named_in_a_sentence(change, message):
    given_ = {"images": np.eye(2, 3), "gallery": ["a", "b"], "parts": [(captions([("a", 0)]), np.ones((1, 3)))]}
    with pytest.raises(InputError, match=message):
        retrieval.evaluate(**{"parallel": "all"} | given_ | change)


def test_chunks_of_any_size_and_english_scores_kept_or_not_give_the_same(monkeypatch):
    pairs = [(f"i{number}", 0) for number in range(30)]
    parts = [(captions(pairs, lang), unit(seed, 30)) for seed, lang in enumerate(("en", "de"))]
    gallery = [image for image, _ in pairs]
    whole = retrieval.evaluate(unit(5, 30), gallery, parts, parallel="all")
    monkeypatch.setattr(retrieval, "ROWS", 7)
    monkeypatch.setattr(retrieval, "KEPT", 0)
    cut = retrieval.evaluate(unit(5, 30), gallery, parts, parallel="all")

    pd.testing.assert_frame_equal(whole, cut, rtol=1e-5)


coordinates = st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3).filter(any), min_size=2, max_size=30)


@settings(max_examples=40, deadline=None)
@given(st.data(), coordinates)
def test_the_order_of_images_and_captions_does_not_matter(data, vectors):
    """Small whole numbers make many exact ties."""
    images = np.float32(vectors)
    gallery = [f"i{number}" for number in range(len(images))]
    pairs = [(image, number) for image in gallery for number in range(2)]
    english, german = np.repeat(images, 2, axis=0)[::-1].copy(), np.repeat(images[:, ::-1], 2, axis=0)
    moved, shuffled = data.draw(st.permutations(range(len(images)))), data.draw(st.permutations(range(len(pairs))))

    def parts(order):
        rows = [pairs[place] for place in order]
        return [(captions(rows), english[list(order)]), (captions(rows, "de"), german[list(order)])]

    first = retrieval.evaluate(images, gallery, parts(range(len(pairs))), "all")
    second = retrieval.evaluate(images[moved], [gallery[row] for row in moved], parts(shuffled), "all")
    order = ["lang", "direction", "query"]
    pd.testing.assert_frame_equal(
        first.sort_values(order, ignore_index=True), second.sort_values(order, ignore_index=True), rtol=1e-4
    )
    assert (first.loc[first["lang"] == "en", "ndcg20"] == 1).all()
    assert first["ndcg20"].between(0, 1 + 1e-5).all()
    assert (first["rank"] + first["tied"] + first["n_tied_correct"] <= first["n_candidates"] + 1).all()


@given(st.integers(1, 30), st.integers(0, 30), st.integers(1, 6))
def test_recall_never_falls_with_k_and_reaches_one(rank, tied, own):
    row = table([("i2t", "a", rank, tied, own)])
    values = [float(retrieval.hits(row, k)[0]) for k in range(1, rank + tied + 2)]

    assert values == sorted(values)
    assert values[-1] == 1
    assert values[: rank - 1] == [0] * (rank - 1)


@given(st.integers(1, 5), st.integers(0, 4), st.integers(1, 3), st.integers(1, 6))
def test_recall_and_place_under_ties_are_those_of_all_orders(rank, tied, own, k):
    orders = list(itertools.permutations([True] * own + [False] * tied))
    first = [rank + order.index(True) for order in orders]
    row = table([("i2t", "a", rank, tied, own)])

    assert retrieval.hits(row, k)[0] == pytest.approx(np.mean([place <= k for place in first]))
    assert retrieval.places(row)[0] == pytest.approx(np.mean(first))


def test_recall_with_all_tied_is_k_of_n():
    row = table([("t2i", "a#0", 1, 19, 1)])

    assert [retrieval.hits(row, k)[0] for k in (1, 5, 10, 20, 50)] == pytest.approx([0.05, 0.25, 0.5, 1, 1])


def test_scores_by_hand():
    rows = [("t2i", "a#0", 1, 0, 1), ("t2i", "a#1", 1, 1, 1), ("t2i", "b#0", 4, 0, 1), ("t2i", "b#1", 12, 0, 1)]
    found = retrieval.scores(table(rows, ndcg20=[1, 0.5, np.nan, np.nan])).set_index("metric")

    assert found["value"].to_dict() == pytest.approx(
        {"recall@1": 0.375, "recall@5": 0.75, "recall@10": 0.75, "median rank": (1.5 + 4) / 2, "ndcg@20": 0.75}
    )
    assert found["n"].tolist() == [4, 4, 4, 4, 2]
    # Two images: one of them twice, or both. NDCG has one image only, and no interval.
    assert found.loc["recall@1", ["ci_low", "ci_high"]].tolist() == [0, 0.75]
    assert found.loc["median rank", ["ci_low", "ci_high"]].tolist() == [1.25, 8]
    assert found.loc["ndcg@20", ["ci_low", "ci_high"]].isna().all()


def test_where_all_or_no_query_succeeds_the_interval_is_exact_over_images():
    rows = [("t2i", f"i{image}#{n}", 7, 0, 1) for image in range(10) for n in range(2)]
    found = retrieval.scores(table(rows), n_resamples=20).set_index("metric")[["value", "ci_low", "ci_high"]]

    # Ten images, whatever the number of their captions.
    end = 1 - 0.025 ** (1 / 10)
    assert found.loc["recall@1"].tolist() == pytest.approx([0, 0, end])
    assert found.loc["recall@10"].tolist() == pytest.approx([1, 1 - end, 1])
    assert found.loc["median rank"].tolist() == [7, 7, 7]
    alone = retrieval.scores(table(rows[:2]), ["recall@1"], n_resamples=20)
    assert alone[["ci_low", "ci_high"]].isna().all(axis=None), "one image has no interval"


def test_chance_is_recall_with_all_candidates_tied():
    rows = [("t2i", "a#0", 3, 0, 1), ("t2i", "a#1", 1, 2, 1), ("t2i", "b#0", 1, 0, 1), ("i2t", "a", 1, 0, 1)]
    whole = table([*rows, ("i2t", "b", 3, 0, 1)], n_candidates=[4, 4, 4, 3, 3])

    # A caption has one of four images; of three captions two belong to a, one to b.
    assert retrieval.chance(whole).tolist() == pytest.approx([1 / 4, 1 / 4, 1 / 4, 2 / 3, 1 / 3])
    assert retrieval.chance(whole, 2).tolist() == pytest.approx([1 / 2, 1 / 2, 1 / 2, 1, 2 / 3])
    # The captions of another set or language are other candidates.
    both = pd.concat([whole, whole.assign(lang="de"), whole.assign(captions="machine")], ignore_index=True)
    assert retrieval.chance(both).tolist() == pytest.approx(3 * [1 / 4, 1 / 4, 1 / 4, 2 / 3, 1 / 3])


def test_an_image_is_all_before_the_last_number_sign():
    assert retrieval.images(table([("t2i", "a#b.png#3", 1, 0, 1), ("i2t", "a#b.png", 1, 0, 1)])).tolist() == [
        "a#b.png",
        "a#b.png",
    ]


def test_the_interval_of_scores_is_that_of_a_bootstrap_over_images():
    random = np.random.default_rng(0)
    rows = [("t2i", f"i{image}#{n}", int(random.integers(1, 9)), 0, 1) for image in range(20) for n in range(3)]
    ours = retrieval.scores(table(rows), ["recall@5", "median rank"], n_resamples=300, seed=3).set_index("metric")

    values = np.array([row[2] for row in rows]).reshape(20, 3)
    images = sorted({f"i{image}" for image in range(20)})
    draws = bootstrap.resample_weights(20, 300, 3).astype(int)
    order = [images.index(f"i{image}") for image in range(20)]
    drawn = [np.repeat(values, row[order], axis=0).ravel() for row in draws]
    level = bootstrap.expanded_level(0.95, 20)
    ends = (1 - level) / 2, (1 + level) / 2
    for metric, of in (("recall@5", lambda each: np.mean(each <= 5)), ("median rank", np.median)):
        low, high = np.quantile([of(each) for each in drawn], ends)
        assert ours.loc[metric, ["ci_low", "ci_high"]].tolist() == pytest.approx([low, high])


def test_scores_refuse_an_unknown_metric_and_an_empty_table():
    with pytest.raises(InputError, match="no metric 'recall@3'"):
        retrieval.scores(table([("t2i", "a#0", 1, 0, 1)]), ["recall@3"])
    with pytest.raises(InputError, match="got an empty one"):
        retrieval.scores(tables.empty("retrieval"))
    with pytest.raises(InputError, match="k is 0"):
        retrieval.hits(table([("t2i", "a#0", 1, 0, 1)]), 0)


def test_it_is_much_faster_than_a_loop_that_sorts_and_gives_the_same():
    gallery = [f"i{number}" for number in range(1000)]
    pairs = [(image, number) for image in gallery for number in range(3)]
    images, vectors = unit(0, 1000, 64), unit(1, 3000, 64)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # and the time of the processor: other work on the machine does not count
    began = time.process_time()
    found = retrieval.evaluate(images, gallery, [(captions(pairs), vectors)])
    ours = time.process_time() - began
    torch.set_num_threads(threads)
    scores = vectors @ images.T
    began = time.process_time()
    ranks = []
    for row, score in enumerate(scores):
        order = np.argsort(-score, kind="stable")
        ranks.append(int(np.flatnonzero(order == row // 3)[0]) + 1)
    for image, score in enumerate(scores.T):
        order = np.argsort(-score, kind="stable")
        ranks.append(int(np.flatnonzero(order // 3 == image)[0]) + 1)
    loop = time.process_time() - began

    # Ties within rounding may have another order there.
    assert np.mean(found["rank"] == ranks) > 0.99
    assert (np.abs(found["rank"] - ranks) <= found["tied"] + 1).all()
    assert loop > 2 * ours, (loop, ours)


MODEL = """
import numpy as np


def image_forward_fn(model, images, device, transform):
    return np.array([[*np.asarray(image).mean(axis=(0, 1)), 1] for image in images])


def text_forward_fn(model, texts, device, transform):
    return np.array([[len(text), sum(text.encode()) % 7, len(set(text)), 1] for text in texts])


embedding_dim = 4
image_preprocess = text_preprocess = model = None
"""


def test_notebook_21_takes_a_list_of_images_and_reports_where_a_language_has_no_ndcg(tmp_path):
    for number in range(8):
        Image.new("RGB", (4, 4), (30 * number, 90, 200 - 20 * number)).save(tmp_path / f"{number}.png")
    names = [f"{number}.png" for number in range(8)]
    images = tables.write(
        pd.DataFrame({"path": names, "wnid": names, "number": 0}), tmp_path / "images.parquet", "images"
    )
    # Two sets, neither of them the main one. Swahili has second captions only, which are no translations.
    rows = itertools.product(["first set", "second set"], [("en", 0), ("de", 0), ("sw", 1)], enumerate(names))
    made = [(name, lang, image, number, lang * place + name[0]) for name, (lang, number), (place, image) in rows]
    texts = tables.write(
        pd.DataFrame(made, columns=list(tables.SCHEMAS["captions"][0])), tmp_path / "captions.parquet", "captions"
    )
    (tmp_path / "own.py").write_text(MODEL, encoding="utf-8")
    parameters = {
        "model": "own",
        "checkpoint": tmp_path / "own.py",
        "dataset": "pictogram-captions",
        "images": [images],
    }
    parameters |= {"annotations": texts, "minimum_images": 2, "n_resamples": 20, "cache": "", "device": "cpu"}
    parameters |= {"output": tmp_path / "ranks.parquet", "report": tmp_path / "own.csv"}
    plain = json.loads(json.dumps(parameters, default=str))
    notebook = Path(__file__).parents[2] / "notebooks/stages/21_retrieval.ipynb"
    run_notebook.execute(notebook, tmp_path / "page.ipynb", plain)

    found = tables.read(tmp_path / "ranks.parquet", "retrieval")
    assert set(tables.made_from(tmp_path / "ranks.parquet")["inputs"]) == {str(images), str(texts)}
    assert found.groupby("lang")["ndcg20"].count().to_dict() == {"de": 32, "en": 32, "sw": 0}
    assert set(pd.read_csv(tmp_path / "own.csv")["language"]) == {"de", "en", "sw"}
    reduced = pd.read_csv(tmp_path / "own_reduced.csv")
    assert reduced["language"].tolist() == ["de", "en", "all", "first set", "second set"]
    page = (tmp_path / "page.ipynb").read_text(encoding="utf-8")
    assert "On pictogram-captions (captions: first set + second set), with own, a caption finds" in page
