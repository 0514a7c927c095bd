import doctest
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelatlas.base.errors import InputError
from babelatlas.evaluation import zeroshot
from reference_prompts import unique_prompts


def literal_accuracy(images, image_wnids, classes, class_wnids):
    """The paper's procedure, word for word: the class with the most similar label embedding by cosine."""
    right = total = 0
    for image, wnid in zip(images, image_wnids, strict=True):
        if wnid not in class_wnids:
            continue
        cosines = [image @ c / (np.linalg.norm(image) * np.linalg.norm(c)) for c in classes]
        right += class_wnids[int(np.argmax(cosines))] == wnid
        total += 1
    return right, total


def world(seed, n_images=40, n_classes=6, d=8):
    rng = np.random.default_rng(seed)
    wnids = [f"n{i}" for i in range(n_classes)]
    return (
        rng.normal(size=(n_images, d)),
        [wnids[i % n_classes] for i in range(n_images)],
        rng.normal(size=(n_classes, d)),
        wnids,
    )


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(zeroshot).failed == 0


def test_counts_on_a_hand_written_world():
    images = np.array([[1.0, 0.1], [0.1, 1.0], [1.0, 0.0], [0.0, -1.0]])
    table = zeroshot.evaluate(images, ["a", "b", "b", "b"], np.array([[1.0, 0.0], [0.0, 1.0]]), ["a", "b"])
    assert table.to_dict("list") == {
        "wnid": ["a", "b"],
        "n_correct": [1.0, 1.0],
        "n_correct_top5": [1.0, 3.0],
        "n_ties": [0, 0],
        "n_images": [1, 3],
    }


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_accuracy_equals_a_literal_transcription_of_the_paper(seed):
    images, image_wnids, classes, wnids = world(seed)
    table = zeroshot.evaluate(images, image_wnids, zeroshot.normalise(classes[:4]), wnids[:4])
    assert (table["n_correct"].sum(), table["n_images"].sum()) == literal_accuracy(
        images, image_wnids, classes[:4], wnids[:4]
    )


def class_vectors(prompt_embeddings, index, cosine=True):
    """The mean of each class's prompts, whose embeddings and mean have length 1 with `cosine` (Radford et al. 2021)."""
    if not cosine:
        return np.asarray(prompt_embeddings, np.float32)[index].mean(axis=1)
    return zeroshot.normalise(zeroshot.normalise(prompt_embeddings)[index].mean(axis=1))


def literal_dot_products(images, image_wnids, prompt_vectors, index, class_wnids):
    """Embeddings as the model gives them: averaged over the prompts of a class, compared by their dot product."""
    right = total = 0
    for image, wnid in zip(images, image_wnids, strict=True):
        scores = []
        for rows in index:
            mean = sum(prompt_vectors[row] for row in rows) / len(rows)
            scores.append(sum(x * y for x, y in zip(image, mean, strict=True)))
        right += class_wnids[scores.index(max(scores))] == wnid
        total += 1
    return right, total


@given(st.integers(0, 10_000), st.sampled_from([1e-3, 1.0, 1e3]))
@settings(max_examples=25, deadline=None)
def test_without_normalising_accuracy_equals_a_literal_transcription_of_that(seed, scale):
    images, image_wnids, _, wnids = world(seed)
    prompt_vectors = scale * np.random.default_rng(seed).normal(2, 1, size=(18, 8))
    index = np.arange(18).reshape(6, 3)[:, [0, 1, 1, 2]]  # the second counts twice
    classes = class_vectors(prompt_vectors, index, cosine=False)
    table = zeroshot.evaluate(images, image_wnids, classes, wnids)
    (subset,) = zeroshot.subset_counts(images, image_wnids, classes, wnids, [6], 1, 0)["n_correct"]

    expected = literal_dot_products(images, image_wnids, prompt_vectors, index, wnids)
    assert (table["n_correct"].sum(), table["n_images"].sum()) == expected
    assert subset == expected[0]


def test_the_length_of_a_class_counts_in_dot_products_only():
    images, long = np.array([[1.0, 0.9]]), np.array([[2.0, 0.0], [0.0, 3.0]])
    _, index = unique_prompts(["a", "b"], ["{}"])
    scores = {cosine: zeroshot.similarity(images, class_vectors(long, index, cosine)) for cosine in (0, 1)}
    np.testing.assert_allclose(scores[0] * 1.81**0.5, [[2 / 3, 0.9]], rtol=1e-6)
    np.testing.assert_allclose(scores[1] * 1.81**0.5, [[1, 0.9]], rtol=1e-6)


def test_the_rule_is_the_one_asked_for_or_the_models():
    assert [zeroshot.rule("", normalise) for normalise in (True, False)] == ["cosine", "dot product"]
    assert [zeroshot.rule(name, False) for name in zeroshot.RULES] == list(zeroshot.RULES)
    with pytest.raises(InputError, match=r"no similarity 'euclid': expected 'cosine', 'plain mean', 'dot product'"):
        zeroshot.rule("euclid", True)


def test_a_long_prompt_weighs_more_in_a_plain_mean():
    long, index = np.array([[3.0, 0.0], [0.0, 1.0]]), np.array([[0, 1]])
    plain = zeroshot.normalise(class_vectors(long, index, cosine=False))
    np.testing.assert_allclose(plain, [[3 / 10**0.5, 1 / 10**0.5]], rtol=1e-6)
    np.testing.assert_allclose(class_vectors(long, index), [[0.5**0.5, 0.5**0.5]], rtol=1e-6)


def test_a_tie_counts_as_its_expected_value():
    scores = np.array([[0.5, 0.5, 0.5, 0.1], [0.5, 0.5, 0.9, 0.1]])
    np.testing.assert_allclose(zeroshot.hits(scores, np.array([1, 1])), [1 / 3, 0])
    np.testing.assert_allclose(zeroshot.hits(scores, np.array([1, 1]), k=2), [2 / 3, 1 / 2])
    assert zeroshot.tied(scores, np.array([1, 1])).tolist() == [True, False]


def test_two_classes_with_one_label_tie_and_share_the_images():
    images, image_wnids, classes, wnids = world(3)
    classes[1] = classes[0]
    table = zeroshot.evaluate(images, image_wnids, classes, wnids).set_index("wnid")
    assert table.loc["n0", "n_ties"] > 0
    assert table.loc["n0", "n_correct"] == table.loc["n0", "n_ties"] / 2


@given(st.integers(0, 10_000), st.permutations(range(6)))
@settings(max_examples=25, deadline=None)
def test_the_order_of_classes_and_the_scale_of_embeddings_change_nothing(seed, order):
    images, image_wnids, classes, wnids = world(seed)
    straight = zeroshot.evaluate(images, image_wnids, classes, wnids).set_index("wnid")
    turned = zeroshot.evaluate(images * 7, image_wnids, classes[list(order)] / 3, [wnids[i] for i in order])
    pd.testing.assert_frame_equal(turned.set_index("wnid").loc[straight.index], straight)


def test_chunking_changes_nothing(monkeypatch):
    images, image_wnids, classes, wnids = world(5)
    whole = zeroshot.evaluate(images, image_wnids, classes, wnids)
    monkeypatch.setattr(zeroshot, "CHUNK", 7)
    pd.testing.assert_frame_equal(zeroshot.evaluate(images, image_wnids, classes, wnids), whole)


def test_a_class_vector_is_the_normalised_mean_of_normalised_prompts_with_their_weights():
    embeddings = np.array([[2.0, 0.0], [0.0, 5.0]])
    _, index = unique_prompts(["cat"], ["{}", "{}", "{}", "a {}"])
    np.testing.assert_allclose(class_vectors(embeddings, index), [[3 / 10**0.5, 1 / 10**0.5]], rtol=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0])
def test_a_damaged_embedding_is_refused_with_its_row(bad):
    vectors = np.ones((3, 4))
    vectors[2] = bad
    with pytest.raises(InputError, match=r"1 of 3 embeddings.*row 2"):
        zeroshot.normalise(vectors)


def test_a_class_without_images_is_named():
    images, image_wnids, classes, wnids = world(0)
    with pytest.raises(InputError, match=r"1 class\(es\).*n99"):
        zeroshot.evaluate(images, image_wnids, classes, [*wnids[:5], "n99"])


def scored(images, image_wnids, classes, wnids):
    """Each way to compare images with classes, as a function without parameters."""
    return (
        lambda: zeroshot.evaluate(images, image_wnids, classes, wnids),
        lambda: zeroshot.subset_counts(images, image_wnids, classes, wnids, [1], 1, 0),
        lambda: zeroshot.similarity(images, classes),
    )


def test_no_class_and_vectors_that_do_not_fit_are_one_sentence_each():
    images, image_wnids, classes, wnids = world(0)
    for function in scored(images, image_wnids, classes[:0], []):
        with pytest.raises(InputError, match=r"^There is no class to compare with: the label set is empty\.$"):
            function()
    for function in scored(images, image_wnids, classes[:, :5], wnids):
        with pytest.raises(InputError, match=r"shape \(40, 8\) and classes of shape \(6, 5\) cannot be compared"):
            function()
    for function in scored(images, image_wnids, classes[0], wnids):
        with pytest.raises(InputError, match=r"classes of shape \(8,\) cannot be compared"):
            function()


def test_a_subset_of_all_classes_is_the_whole_evaluation():
    images, image_wnids, classes, wnids = world(1)
    table = zeroshot.subset_counts(images, image_wnids, classes, wnids, [6, 60], n_subsets=5, seed=0)
    whole = zeroshot.evaluate(images, image_wnids, classes, wnids)
    assert table["n_classes"].tolist() == [6]
    assert table["n_correct"].iloc[0] == whole["n_correct"].sum()


def test_fewer_classes_never_make_an_image_harder():
    images, image_wnids, classes, wnids = world(2)
    table = zeroshot.subset_counts(images, image_wnids, classes, wnids, [1, 2, 6], n_subsets=50, seed=0)
    accuracy = table.groupby("n_classes")[["n_correct", "n_images"]].sum().eval("n_correct / n_images")
    assert accuracy[1] == 1
    assert accuracy[1] > accuracy[2] > accuracy[6]


def test_a_subset_draw_depends_on_the_seed_alone():
    images, image_wnids, classes, wnids = world(4)
    one, again = (zeroshot.subset_counts(images, image_wnids, classes, wnids, [2, 4], 6, seed=1) for _ in range(2))
    other = zeroshot.subset_counts(images, image_wnids, classes, wnids, [2, 4], 6, seed=2)
    pd.testing.assert_frame_equal(one, again)
    assert not one.equals(other)


def test_vectors_come_back_as_they_were_saved(tmp_path):
    images, image_wnids, classes, wnids = world(6)
    path = zeroshot.write_vectors(
        tmp_path / "a.npz", images, image_wnids, {"sw": (wnids, classes), "zh-Hant": (wnids[:2], classes[:2])}
    )
    stored, stored_wnids, stored_classes = zeroshot.read_vectors(path)
    np.testing.assert_array_equal(stored, images.astype(np.float32))
    assert stored_wnids.tolist() == image_wnids
    assert list(stored_classes) == ["sw", "zh-Hant"]
    np.testing.assert_array_equal(stored_classes["zh-Hant"][1], classes[:2].astype(np.float32))
    assert [file.name for file in tmp_path.iterdir()] == ["a.npz"]


def test_vectors_say_which_prompts_each_language_has(tmp_path):
    images, image_wnids, classes, wnids = world(2)
    languages = {"sw": (wnids, classes), "zh-Hant": (wnids, classes)}
    path = zeroshot.write_vectors(
        tmp_path / "a.npz", images, image_wnids, languages, {"sw": "nllb-80", "zh-Hant": "label"}
    )
    assert zeroshot.read_prompts(path) == {"sw": "nllb-80", "zh-Hant": "label"}
    assert list(zeroshot.read_vectors(path)[2]) == ["sw", "zh-Hant"]
    zeroshot.write_vectors(path, images, image_wnids, languages)
    assert zeroshot.read_prompts(path) == {}


def test_a_truncated_vector_file_is_one_sentence(tmp_path):
    images, image_wnids, classes, wnids = world(6)
    path = zeroshot.write_vectors(tmp_path / "a.npz", images, image_wnids, {"sw": (wnids, classes)})
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InputError, match="run notebook 20"):
        zeroshot.read_vectors(path)


def test_at_a_fixed_size_a_language_with_fewer_classes_keeps_all():
    rows = [("de", 2, 0), ("de", 2, 1), ("de", 5, 0), ("sw", 2, 0), ("sw", 3, 0)]
    table = pd.DataFrame(rows, columns=["lang", "n_classes", "number"])
    assert zeroshot.at_size(table, 5).to_numpy().tolist() == [["de", 5, 0], ["sw", 3, 0]]
    assert zeroshot.at_size(table, 2)["n_classes"].tolist() == [2, 2, 2]
    assert zeroshot.at_size(table).equals(zeroshot.at_size(table, 5))


def test_a_size_that_was_not_drawn_is_refused_with_those_that_were():
    table = pd.DataFrame([("de", 2, 0), ("de", 5, 0)], columns=["lang", "n_classes", "number"])
    with pytest.raises(InputError, match=r"No subsets of 4 classes .* de among them: take one of 2, or add 4"):
        zeroshot.at_size(table, 4)


def test_vectors_say_by_which_protocol_each_language_was_compared(tmp_path):
    images, image_wnids, classes, wnids = world(2)
    languages = {"sw": (wnids, classes), "zh-Hant": (wnids, classes)}
    same = {"precision": "float32", "preprocessing": "crop"}
    protocol = {"sw": {"similarity": "plain mean"} | same, "zh-Hant": {"similarity": "dot product"} | same}
    path = zeroshot.write_vectors(tmp_path / "a.npz", images, image_wnids, languages, {"sw": "label"}, protocol)
    assert zeroshot.read_protocol(path) == protocol
    assert zeroshot.read_prompts(path) == {"sw": "label"}
    assert list(zeroshot.read_vectors(path)[2]) == ["sw", "zh-Hant"]
    zeroshot.write_vectors(path, images, image_wnids, languages, None, {"sw": protocol["sw"]})
    with pytest.raises(InputError, match=r"do not say by which protocol .*zh-Hant similarity is missing.*notebook 20"):
        zeroshot.read_protocol(path)


def test_two_rules_side_by_side_give_what_each_gives_alone():
    vectors = 3 * np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)
    both = zeroshot.by_rules(vectors, ["plain mean", "dot product", "plain mean", "dot product"])
    np.testing.assert_array_equal(both[[0, 2]], zeroshot.normalise(vectors[[0, 2]]))
    np.testing.assert_array_equal(both[[1, 3]], vectors[[1, 3]])
    np.testing.assert_array_equal(zeroshot.by_rules(vectors, ["cosine"] * 4), vectors)
    with pytest.raises(InputError, match="give one similarity for all"):
        zeroshot.by_rules(vectors, ["cosine", "cosine", "plain mean", "cosine"])
    with pytest.raises(InputError, match="There is no similarity 'euclid'"):
        zeroshot.by_rules(vectors, ["euclid"] * 4)


def all_sets(scores, rows, columns, n_others):
    """A literal transcription: each query with each candidate of its topic and each set of others, ties shared."""
    found = []
    for row, topic in enumerate(rows):
        each = []
        for own in np.flatnonzero(columns == topic):
            for others in combinations(np.flatnonzero(columns != topic), n_others):
                best = max(scores[row, [own, *others]])
                first = [place for place in (own, *others) if scores[row, place] > best - 1e-6]
                each.append((own in first) / len(first))
        found.append(np.mean(each))
    return np.array(found)


@pytest.mark.parametrize("seed", range(4))
def test_matching_topics_is_the_mean_over_all_sets_of_candidates(seed):
    rng = np.random.default_rng(seed)
    images, sentences = rng.integers(-1, 2, (7, 3)) + 0.1, rng.integers(-1, 2, (9, 3)) + 0.1
    topics, about = np.array(list("aabbccc")), np.array(list("abcabcabb"))
    sentences = zeroshot.normalise(sentences)
    scores = zeroshot.similarity(images, sentences)

    found = zeroshot.topic_matching(images, topics, sentences, about, n_others=2, n_resamples=20).set_index("direction")

    assert found.loc["t2i", "value"] == pytest.approx(all_sets(scores.T, about, topics, 2).mean())
    assert found.loc["i2t", "value"] == pytest.approx(all_sets(scores, topics, about, 2).mean())
    assert (found["n"] == 7).all()


def test_an_interval_of_matched_topics_resamples_the_images(monkeypatch):
    rng = np.random.default_rng(0)
    images, sentences = rng.normal(size=(6, 4)), zeroshot.normalise(rng.normal(size=(8, 4)))
    topics, about = np.array(list("aaabbb")), np.array(list("abababab"))
    drawn = np.array([[2, 0, 1, 0, 3, 0]])
    monkeypatch.setattr(
        zeroshot.bootstrap, "resample_weights", lambda n, times, seed: drawn[:, :3] if seed == 0 else drawn[:, 3:]
    )
    kept = np.repeat(np.arange(6), drawn[0])

    found = zeroshot.topic_matching(images, topics, sentences, about, n_others=1, n_resamples=1).set_index("direction")
    again = zeroshot.topic_matching(images[kept], topics[kept], sentences, about, n_others=1, n_resamples=1)

    assert found["ci_low"].tolist() == pytest.approx(again["value"].tolist())


def test_topics_that_cannot_be_matched_are_one_sentence():
    images, sentences = np.eye(4), np.eye(4)
    with pytest.raises(InputError, match="Topics are matched with two images and a sentence of each, and 3 of other"):
        zeroshot.topic_matching(images, list("aabb"), sentences, list("aabb"))
    with pytest.raises(InputError, match="images and sentences on a, c"):
        zeroshot.topic_matching(images, list("aabb"), sentences, list("aacc"), n_others=1)
