"""Retrieval: ranks, ties and scores by hand, and every number against a plain loop over
queries.
"""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import retrieval, zeroshot
from babelatlas.stats import bootstrap

torch = pytest.importorskip("torch")
PROTOCOL = {
    "model": "m",
    "dataset": "d",
    "choice": "all",
    "similarity": "cosine",
    "precision": "float32",
}
PROTOCOL |= {"preprocessing": "model"}


def captions(rows, lang="en", name="human"):
    """Return a table of captions from pairs (image, number)."""
    table = pd.DataFrame(rows, columns=["image", "number"])
    return table.assign(captions=name, lang=lang, caption="a caption")[
        list(tables.SCHEMAS["captions"][0])
    ]


def table(rows, **columns):
    """Return a retrieval table from tuples (direction, query, rank, tied, own)."""
    made = pd.DataFrame(
        rows, columns=["direction", "query", "rank", "tied", "n_tied_correct"]
    )
    more = {
        "n_candidates": 100,
        "n_right": 1,
        "ndcg20": np.nan,
        "captions": "human",
        "lang": "en",
    } | columns
    return tables.check(made.assign(**PROTOCOL, **more), "retrieval")


def unit(seed, n, d=4):
    return zeroshot.normalise(np.random.default_rng(seed).normal(size=(n, d)))


def by_query(found, direction, lang="en", column="rank"):
    rows = found[(found["direction"] == direction) & (found["lang"] == lang)]
    return dict(zip(rows["query"], rows[column], strict=True))


def loop_ranks(scores, right):
    """Return rank, tied and own of one query from its scores and its right candidates,
    one candidate at a time.
    """
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
    """Return COCO-SM's NDCG@20 of one query without ties: its scores and the English
    ones of the same candidates.
    """
    weights = [math.exp(100 * (score - max(english))) for score in english]
    gains = [weight / sum(weights) for weight in weights]

    def dcg(ranking):
        return sum(
            gains[place] / math.log2(number + 2)
            for number, place in enumerate(ranking[:20])
        )

    def ranking(values):
        return np.argsort([-value for value in values], kind="stable")

    return dcg(ranking(scores)) / dcg(ranking(english))


def test_ranks_of_a_matrix_that_can_be_checked_by_hand():
    # Images are the axes, so that a caption's numbers are its scores.
    images = np.eye(3, dtype=np.float32)
    rows = captions([("a", 0), ("a", 1), ("b", 0), ("c", 0)])
    vectors = np.array(
        [[0.8, 0.6, 0], [0, 0.6, 0.8], [0.6, 0, 0.8], [0, 0, 1]], np.float32
    )
    found = retrieval.evaluate(images, ["a", "b", "c"], [(rows, vectors)])

    assert by_query(found, "t2i") == {"a#0": 1, "a#1": 3, "b#0": 3, "c#0": 1}
    # b has the scores 0.6, 0.6, 0, 0, and its own caption has the third; c has 0, 0.8,
    # 0.8, 1.
    assert by_query(found, "i2t") == {"a": 1, "b": 3, "c": 1}
    # The caption b#0 scores 0 with b, and no other image does; the image b scores 0
    # with its own and with c's.
    assert by_query(found, "t2i", column="tied") == {
        "a#0": 0,
        "a#1": 0,
        "b#0": 0,
        "c#0": 0,
    }
    assert by_query(found, "i2t", column="tied") == {"a": 0, "b": 1, "c": 0}
    assert found["n_candidates"].tolist() == [3, 3, 3, 3, 4, 4, 4]
    assert found["ndcg20"].isna().all()


def test_a_caption_that_two_images_share_is_right_for_its_own_only_and_ties():
    images = np.eye(2, dtype=np.float32)
    rows = captions([("a", 0), ("b", 0)])
    found = retrieval.evaluate(
        images, ["a", "b"], [(rows, np.float32([[0.8, 0.6], [0.8, 0.6]]))]
    )

    assert by_query(found, "t2i") == {"a#0": 1, "b#0": 2}
    assert by_query(found, "i2t") == {"a": 1, "b": 1}
    assert by_query(found, "i2t", column="tied") == {"a": 1, "b": 1}
    assert retrieval.hits(found[found["direction"] == "i2t"], 1).tolist() == [0.5, 0.5]


def test_a_shared_caption_is_right_for_every_image_that_has_it():
    images = np.eye(3, dtype=np.float32)
    rows = captions([("a", 0), ("b", 0), ("b", 1), ("c", 0)])
    rows["caption"] = ["A flower.", "A flower.", "A red flower.", "A red flower."]
    parts = [
        (
            rows,
            np.float32(
                [[0.6, 0, 0.8], [0.6, 0, 0.8], [0.48, 0.8, 0.36], [0.48, 0.8, 0.36]]
            ),
        )
    ]
    found = retrieval.evaluate(images, ["a", "b", "c"], parts, shared=True)

    # "A flower." is of a and b: of its scores 0.6, 0, 0.8 the best right one is second.
    # "A red flower." is of b and c.
    assert by_query(found, "t2i") == {"a#0": 2, "b#0": 2, "b#1": 1, "c#0": 1}
    # a and its texts: 0.6 twice, 0.48 twice. For b all are right. c has 0.36 with its
    # own two, 0.8 with the others.
    assert by_query(found, "i2t") == {"a": 1, "b": 1, "c": 3}
    assert by_query(found, "i2t", column="n_tied_correct") == {"a": 2, "b": 2, "c": 2}
    assert by_query(found, "t2i", column="n_right") == {
        "a#0": 2,
        "b#0": 2,
        "b#1": 2,
        "c#0": 2,
    }
    assert by_query(found, "i2t", column="n_right") == {"a": 2, "b": 4, "c": 2}
    assert retrieval.chance(found).tolist() == pytest.approx(
        [2 / 3] * 4 + [2 / 4, 4 / 4, 2 / 4]
    )


@pytest.mark.parametrize("seed", range(3))
def test_ranks_and_ndcg_equal_a_plain_loop_over_queries(seed):
    random = np.random.default_rng(seed)
    gallery = [f"i{number}" for number in range(45)]
    pairs = [
        (image, number) for image in gallery for number in range(random.integers(1, 4))
    ]
    images, english = unit(seed, 45), unit(seed + 10, len(pairs))
    german = zeroshot.normalise(english + 0.3 * random.normal(size=english.shape))
    found = retrieval.evaluate(
        images,
        gallery,
        [(captions(pairs), english), (captions(pairs, "de"), german)],
        parallel="all",
    )

    ndcg = []
    for lang, vectors in (("en", english), ("de", german)):
        scores, own = vectors @ images.T, english @ images.T
        right = [{gallery.index(image)} for image, _ in pairs]
        expected = {
            f"{i}#{n}": loop_ranks(scores[row], right[row])
            for row, (i, n) in enumerate(pairs)
        }
        rows = found[(found["lang"] == lang) & (found["direction"] == "t2i")].set_index(
            "query"
        )
        assert {
            query: tuple(rows.loc[query, ["rank", "tied", "n_tied_correct"]])
            for query in expected
        } == expected
        expected = {
            f"{i}#{n}": loop_ndcg(scores[row], own[row])
            for row, (i, n) in enumerate(pairs)
        }
        np.testing.assert_allclose(
            rows["ndcg20"][list(expected)], list(expected.values()), rtol=1e-4
        )
        scores, own = scores.T, own.T
        right = {
            image: {row for row, pair in enumerate(pairs) if pair[0] == image}
            for image in gallery
        }
        rows = found[(found["lang"] == lang) & (found["direction"] == "i2t")].set_index(
            "query"
        )
        expected = {
            image: loop_ranks(scores[row], right[image])
            for row, image in enumerate(gallery)
        }
        assert {
            query: tuple(rows.loc[query, ["rank", "tied", "n_tied_correct"]])
            for query in expected
        } == expected
        expected = {
            image: loop_ndcg(scores[row], own[row]) for row, image in enumerate(gallery)
        }
        np.testing.assert_allclose(
            rows["ndcg20"][list(expected)], list(expected.values()), rtol=1e-4
        )
        ndcg.append(found.loc[found["lang"] == lang, "ndcg20"])
    assert (ndcg[0] == 1).all()
    assert (ndcg[1] < 1).any()
    assert (ndcg[1] <= 1 + 1e-6).all()


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
    assert by_query(found, "t2i", "de", "ndcg20")["i00#0"] == pytest.approx(
        expected, rel=1e-4
    )


@pytest.mark.parametrize("parallel", ["first", "all"])
@pytest.mark.parametrize("lang", ["en", "de"])
def test_translations_that_are_numbered_from_1_are_refused_as_none_would_have_an_ndcg(
    parallel, lang
):
    numbers = {"en": 0, "de": 0} | {lang: 1}
    parts = [
        (captions([("a", number), ("b", number)], code), unit(1, 2))
        for code, number in numbers.items()
    ]
    with pytest.raises(
        InputError,
        match=rf"captions in {lang} \(.*\) are numbered from 1, .*: number them from 0",
    ):
        retrieval.evaluate(unit(0, 2), ["a", "b"], parts, parallel=parallel)
    assert len(retrieval.evaluate(unit(0, 2), ["a", "b"], parts)) == 8


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


coordinates = st.lists(
    st.lists(st.integers(-2, 2), min_size=3, max_size=3).filter(any),
    min_size=2,
    max_size=30,
)


@settings(max_examples=15, deadline=None)
@given(st.data(), coordinates)
def test_the_order_of_images_and_captions_does_not_matter(data, vectors):
    """Small whole numbers make many exact ties."""
    images = np.float32(vectors)
    gallery = [f"i{number}" for number in range(len(images))]
    pairs = [(image, number) for image in gallery for number in range(2)]
    english, german = (
        np.repeat(images, 2, axis=0)[::-1].copy(),
        np.repeat(images[:, ::-1], 2, axis=0),
    )
    moved, shuffled = (
        data.draw(st.permutations(range(len(images)))),
        data.draw(st.permutations(range(len(pairs)))),
    )

    def parts(order):
        rows = [pairs[place] for place in order]
        return [
            (captions(rows), english[list(order)]),
            (captions(rows, "de"), german[list(order)]),
        ]

    first = retrieval.evaluate(images, gallery, parts(range(len(pairs))), "all")
    second = retrieval.evaluate(
        images[moved], [gallery[row] for row in moved], parts(shuffled), "all"
    )
    order = ["lang", "direction", "query"]
    pd.testing.assert_frame_equal(
        first.sort_values(order, ignore_index=True),
        second.sort_values(order, ignore_index=True),
        rtol=1e-4,
    )
    assert (first.loc[first["lang"] == "en", "ndcg20"] == 1).all()
    assert first["ndcg20"].between(0, 1 + 1e-5).all()
    assert (
        first["rank"] + first["tied"] + first["n_tied_correct"]
        <= first["n_candidates"] + 1
    ).all()


@settings(max_examples=30)
@given(st.integers(1, 5), st.integers(0, 4), st.integers(1, 3), st.integers(1, 6))
def test_recall_and_place_under_ties_are_those_of_all_orders(rank, tied, own, k):
    orders = list(itertools.permutations([True] * own + [False] * tied))
    first = [rank + order.index(True) for order in orders]
    row = table([("i2t", "a", rank, tied, own)])

    assert retrieval.hits(row, k)[0] == pytest.approx(
        np.mean([place <= k for place in first])
    )
    assert rank + tied / (own + 1) == pytest.approx(np.mean(first))


def test_scores_by_hand():
    rows = [
        ("t2i", "a#0", 1, 0, 1),
        ("t2i", "a#1", 1, 1, 1),
        ("t2i", "b#0", 4, 0, 1),
        ("t2i", "b#1", 12, 0, 1),
    ]
    found = retrieval.metric_intervals(
        table(rows, ndcg20=[1, 0.5, np.nan, np.nan])
    ).set_index("metric")

    assert found["value"].to_dict() == pytest.approx(
        {
            "recall@1": 0.375,
            "recall@5": 0.75,
            "recall@10": 0.75,
            "median rank": (1.5 + 4) / 2,
            "ndcg@20": 0.75,
        }
    )
    assert found["n"].tolist() == [4, 4, 4, 4, 2]
    # Two images: one of them twice, or both. NDCG has one image only, and no interval.
    assert found.loc["recall@1", ["ci_low", "ci_high"]].tolist() == [0, 0.75]
    assert found.loc["median rank", ["ci_low", "ci_high"]].tolist() == [1.25, 8]
    assert found.loc["ndcg@20", ["ci_low", "ci_high"]].isna().all()


def test_where_all_or_no_query_succeeds_the_interval_is_exact_over_images():
    rows = [("t2i", f"i{image}#{n}", 7, 0, 1) for image in range(10) for n in range(2)]
    found = retrieval.metric_intervals(table(rows), n_resamples=20).set_index("metric")[
        ["value", "ci_low", "ci_high"]
    ]

    # Ten images, whatever the number of their captions.
    end = 1 - 0.025 ** (1 / 10)
    assert found.loc["recall@1"].tolist() == pytest.approx([0, 0, end])
    assert found.loc["recall@10"].tolist() == pytest.approx([1, 1 - end, 1])
    assert found.loc["median rank"].tolist() == [7, 7, 7]


def test_chance_is_recall_with_all_candidates_tied():
    rows = [
        ("t2i", "a#0", 3, 0, 1),
        ("t2i", "a#1", 1, 2, 1),
        ("t2i", "b#0", 1, 0, 1),
        ("i2t", "a", 1, 0, 1),
    ]
    whole = table(
        [*rows, ("i2t", "b", 3, 0, 1)],
        n_candidates=[4, 4, 4, 3, 3],
        n_right=[1, 1, 1, 2, 1],
    )

    # A caption has one of four images; of three captions two belong to a, one to b.
    assert retrieval.chance(whole).tolist() == pytest.approx(
        [1 / 4, 1 / 4, 1 / 4, 2 / 3, 1 / 3]
    )
    # The captions of another set or language are other candidates.
    both = pd.concat(
        [whole, whole.assign(lang="de"), whole.assign(captions="machine")],
        ignore_index=True,
    )
    assert retrieval.chance(both).tolist() == pytest.approx(
        3 * [1 / 4, 1 / 4, 1 / 4, 2 / 3, 1 / 3]
    )


def test_the_interval_of_scores_is_that_of_a_bootstrap_over_images():
    random = np.random.default_rng(0)
    rows = [
        ("t2i", f"i{image}#{n}", int(random.integers(1, 9)), 0, 1)
        for image in range(20)
        for n in range(3)
    ]
    ours = retrieval.metric_intervals(
        table(rows), ["recall@5", "median rank"], n_resamples=300, seed=3
    ).set_index("metric")

    values = np.array([row[2] for row in rows]).reshape(20, 3)
    images = sorted({f"i{image}" for image in range(20)})
    draws = bootstrap.resample_weights(20, 300, 3).astype(int)
    order = [images.index(f"i{image}") for image in range(20)]
    drawn = [np.repeat(values, row[order], axis=0).ravel() for row in draws]
    level = bootstrap.expanded_level(0.95, 20)
    ends = (1 - level) / 2, (1 + level) / 2
    for metric, of in (
        ("recall@5", lambda each: np.mean(each <= 5)),
        ("median rank", np.median),
    ):
        low, high = np.quantile([of(each) for each in drawn], ends)
        assert ours.loc[metric, ["ci_low", "ci_high"]].tolist() == pytest.approx(
            [low, high]
        )
