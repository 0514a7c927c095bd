"""The head of Eq. 1: equal to a slow transcription in NumPy; it learns what can be
learned, alike each time.
"""

import math

import numpy as np
import pytest

from babelatlas.evaluation import reasoning


def world(n_statements: int = 60, d: int = 16, seed: int = 0):
    """Statements whose vector is that of a thing, and pairs of images: true where both
    images show the thing.
    """
    rng = np.random.default_rng(seed)
    things = rng.normal(size=(6, d))
    images = np.concatenate(
        [things + 0.1 * rng.normal(size=things.shape) for _ in range(4)]
    )
    rows, truth, names = [], [], []
    for statement in range(n_statements):
        thing = statement % 6
        for number in range(4):
            other = thing if number < 2 else (thing + 1 + rng.integers(5)) % 6
            rows.append(
                (thing, thing + 6 * rng.integers(4), other + 6 * rng.integers(4))
            )
            truth.append(number < 2)
            names.append(f"s{statement}")
    return things, images, np.array(rows), np.array(truth), names


@pytest.fixture(scope="module")
def trained():
    return reasoning.fit_head(*world(240))


def transcribed(weights: dict, statement, left, right) -> float:
    """Eq. 1 with its sums written out: softmax(MLP([h_left * h ; h_right * h])); GELU
    is x times the normal's CDF.
    """
    d = len(statement)
    scaled = [
        [math.sqrt(d) * x / math.sqrt(sum(y * y for y in v)) for x in v]
        for v in (statement, left, right)
    ]
    inputs = [scaled[1][k] * scaled[0][k] for k in range(d)] + [
        scaled[2][k] * scaled[0][k] for k in range(d)
    ]
    hidden = []
    for row, bias in zip(weights["0.weight"], weights["0.bias"], strict=True):
        x = sum(w * value for w, value in zip(row, inputs, strict=True)) + bias
        hidden.append(x * 0.5 * (1 + math.erf(x / math.sqrt(2))))
    scores = [
        sum(w * value for w, value in zip(row, hidden, strict=True)) + bias
        for row, bias in zip(weights["2.weight"], weights["2.bias"], strict=True)
    ]
    return math.exp(scores[1]) / (math.exp(scores[0]) + math.exp(scores[1]))


def test_probabilities_are_those_of_a_slow_transcription_of_equation_1(trained):
    texts, images, rows, _, _ = world()
    weights = {
        name: value.double().tolist() for name, value in trained[0].state_dict().items()
    }
    found = reasoning.probabilities(trained[0], texts, images, rows[:20])
    slow = [
        transcribed(weights, texts[t], images[left], images[right])
        for t, left, right in rows[:20]
    ]
    assert found == pytest.approx(slow, abs=1e-5)


def test_a_head_learns_to_ask_for_both_images(trained):
    texts, images, rows, truth, _ = world(30)
    assert (
        (reasoning.probabilities(trained[0], texts, images, rows) > 0.5) == truth
    ).mean() > 0.95
    assert trained[1]["validation"] > 0.9
    assert np.mean(trained[1]["losses"][-3:]) < np.mean(trained[1]["losses"][:3])


def test_lengths_of_vectors_do_not_matter_and_the_left_image_is_not_the_right(trained):
    texts, images, rows, _, _ = world()
    found = reasoning.probabilities(trained[0], texts, images, rows)
    assert reasoning.probabilities(
        trained[0], 3 * texts, images / 7, rows
    ) == pytest.approx(found, abs=1e-5)
    assert not np.allclose(
        reasoning.probabilities(trained[0], texts, images, rows[:, [0, 2, 1]]), found
    )


def test_two_trainings_are_the_same_and_another_seed_is_another():
    def weights(seed: int):
        return (
            reasoning.fit_head(*world(20), reasoning.HeadRecipe(epochs=2, seed=seed))[0]
            .state_dict()["0.weight"]
            .numpy()
        )

    np.testing.assert_array_equal(weights(0), weights(0))
    assert not np.array_equal(weights(0), weights(1))
