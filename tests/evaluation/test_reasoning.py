"""Accuracy and consistency: hand-written answers, slow transcriptions of the definitions, and what must always hold."""

import doctest
import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelatlas.base.errors import InputError
from babelatlas.evaluation import reasoning
from babelatlas.stats import bootstrap, rounding

# Two models on three sentences, with 4, 2 and 1 examples that do not stand together.
SENTENCES = ["a", "b", "a", "c", "a", "b", "a"]
FIRST = [True, True, True, False, True, False, True]
SECOND = [True, True, False, True, True, True, True]


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(reasoning).failed == 0


def test_a_sentence_counts_only_when_all_its_examples_are_right():
    assert reasoning.accuracy(FIRST) == 5 / 7
    assert reasoning.consistency(FIRST, SENTENCES) == 1 / 3
    assert reasoning.consistency(SECOND, SENTENCES) == 2 / 3
    assert reasoning.whole_sentences(SECOND, SENTENCES).tolist() == [False, True, True]


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=30))
def test_consistency_is_what_its_definition_says(answers):
    sentences, correct = zip(*answers, strict=True)
    whole = [
        all(right for sentence, right in answers if sentence == name) for name in dict.fromkeys(sentences)
    ]  # Suhr et al. (2019): the predictions for every pair of a sentence are right
    assert reasoning.consistency(correct, sentences) == pytest.approx(sum(whole) / len(whole))
    assert reasoning.whole_sentences(correct, sentences).tolist() == whole
    sizes = [sentences.count(name) for name in dict.fromkeys(sentences)]
    low, high = reasoning.consistency_range(sum(correct), sizes)
    assert low - 1e-12 <= reasoning.consistency(correct, sentences) <= high + 1e-12


@pytest.mark.parametrize("sizes", [[1], [2, 1], [4, 4], [3, 2, 1], [2, 2, 2]])
def test_the_range_of_consistency_is_reached_by_some_pattern_of_answers(sizes):
    sentences = np.repeat(np.arange(len(sizes)), sizes)
    found = {}
    for answers in itertools.product([False, True], repeat=len(sentences)):
        found.setdefault(sum(answers), []).append(reasoning.consistency(answers, sentences))
    for n_correct, values in found.items():
        assert reasoning.consistency_range(n_correct, sizes) == pytest.approx((min(values), max(values)))


def test_guessing_is_right_in_half_of_the_examples_and_in_a_sixteenth_of_the_sentences_with_four():
    assert reasoning.chance([4] * 10) == {"accuracy": 0.5, "consistency": 1 / 16}
    rng = np.random.default_rng(0)
    sentences = np.repeat(np.arange(20_000), 4)
    guessed = reasoning.consistency(rng.random(80_000) < 0.5, sentences)
    assert guessed == pytest.approx(1 / 16, abs=4 * (1 / 16 * 15 / 16 / 20_000) ** 0.5)


def test_scores_have_an_interval_over_sentences_and_one_sentence_has_none():
    rng = np.random.default_rng(1)
    many = pd.DataFrame({"model": "m", "lang": "id", "sentence": np.repeat(np.arange(200), 4)})
    # All examples of a sentence are right or wrong together: an interval over examples would be half as wide.
    many["correct"] = np.repeat(rng.random(200) < 0.6, 4)
    one = pd.DataFrame({"model": "m", "lang": "sw", "sentence": [0, 0], "correct": [1, 0]})
    table = reasoning.scores(pd.concat([many, one])).set_index(["lang", "metric"])
    share = many["correct"].mean()
    wide = 2 * 1.96 * (share * (1 - share) / 200) ** 0.5
    for metric, n in (("accuracy", 800), ("consistency", 200)):
        row = table.loc["id", metric]
        assert (row["value"], row["n"]) == (pytest.approx(share), n)
        assert row["ci_high"] - row["ci_low"] == pytest.approx(wide, rel=0.1)
    assert table.loc[("sw", "accuracy"), ["value", "chance"]].tolist() == [0.5, 0.5]
    assert table.loc[("sw", "consistency"), ["value", "chance"]].tolist() == [0.0, 0.25]
    assert table.loc["sw", ["ci_low", "ci_high"]].isna().all().all()


@given(st.integers(1, 400), st.data())
def test_a_share_of_n_cases_is_its_own_nearest_share(n, data):
    k = data.draw(st.integers(0, n))
    assert rounding.nearest_share(100 * k / n, n, 100) == pytest.approx(100 * k / n)
    printed = round(100 * k / n, 1)
    assert rounding.denominators([printed], [n]).loc[0, "met"] == 1


def test_a_mean_that_whole_cases_cannot_have_is_found():
    # 28 whole numbers: 145 / 28 = 5.18, 146 / 28 = 5.21, and nothing between.
    assert rounding.denominators([5.19], [28], decimals=2, unit=1)["met"].tolist() == [0]
    assert rounding.denominators([5.18, 5.21], [28], decimals=2, unit=1)["met"].tolist() == [2]


def test_rounding_twice_allows_a_share_that_rounding_once_does_not():
    # 33 / 251 = 13.147 %: 13.1 at once, 13.15 and then 13.2 in two steps.
    assert rounding.denominators([13.2], [251])["met"].tolist() == [0]
    assert rounding.denominators([13.2], [251], twice=True)["met"].tolist() == [1]


def test_the_tests_of_differences_give_known_values():
    # Fisher: [[6, 2], [1, 4]], all tables with these margins enumerated.
    from math import comb

    total = comb(13, 7)
    tables = [comb(8, k) * comb(5, 7 - k) / total for k in range(2, 8)]
    observed = comb(8, 6) * comb(5, 1) / total
    by_hand = sum(p for p in tables if p <= observed * (1 + 1e-9))
    assert reasoning.share_test((6, 8), (1, 5)) == pytest.approx(by_hand)
    # McNemar: 1 of 3 differing cases for the first; two-sided exact binomial, 1 of 3: all patterns are as extreme.
    assert reasoning.paired_test([1, 0, 0, 1], [0, 1, 1, 1]) == 1
    assert reasoning.paired_test([1] * 9 + [0], [0] * 9 + [1]) == pytest.approx(2 * (1 + 10) / 2**10)
    assert reasoning.paired_test([1, 0], [1, 0]) == 1


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text("abc ", min_size=1, max_size=8), min_size=2, max_size=6), st.data())
def test_the_expected_types_of_a_draw_are_the_mean_over_all_draws(sentences, data):
    sentences = [f"{sentence} d" for sentence in sentences]
    n = data.draw(st.integers(1, len(sentences)))
    draws = list(itertools.combinations(sentences, n))
    slow = sum(len({word for sentence in draw for word in sentence.split()}) for draw in draws) / len(draws)
    assert reasoning.expected_types(sentences, str.split, n) == pytest.approx(slow)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: reasoning.accuracy([]), "one element for each example, got shape"),
        (lambda: reasoning.accuracy([0.5]), "compare with the labels"),
        (lambda: reasoning.consistency([1, 0], ["a"]), "Each of the 2 answers needs its sentence"),
        (lambda: reasoning.consistency([1, 0], ["a", None]), "or some are empty"),
        (lambda: reasoning.scores(pd.DataFrame({"model": ["a"]})), "lacking .*'lang'"),
        (lambda: reasoning.scores(pd.DataFrame(columns=["model", "lang", "correct", "sentence"])), "lacking rows"),
        (lambda: reasoning.chance([]), "sizes of sentences"),
        (lambda: reasoning.chance([1.5]), "sizes of sentences"),
        (lambda: reasoning.consistency_range(9, [4, 4]), "9 right answers of 8 examples"),
        (lambda: rounding.nearest_share(0.5, 0, 100), "at least one case"),
        (lambda: reasoning.share_test((3, 2), (1, 2)), "got 3 among 2"),
        (lambda: reasoning.paired_test([1], [1, 0]), "same cases in both, got 1 and 2"),
        (lambda: reasoning.expected_types(["a"], str.split, 2), "A draw of 2 sentences from 1"),
        (lambda: reasoning.wording([], str.split), "no token in 0 sentences"),
    ],
)
def test_what_cannot_be_used_is_told_in_a_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize("answer", [0, 1])
def test_where_all_or_nothing_is_right_the_interval_is_exact_over_sentences(answer):
    table = pd.DataFrame({"model": "a", "lang": "id", "sentence": list("uuvvww"), "correct": answer})
    found = reasoning.scores(table)
    low, high = bootstrap.clopper_pearson(answer, 3)
    assert found[["value", "ci_low", "ci_high"]].to_numpy().tolist() == [[answer, low, high]] * 2
    assert 0.5 < high - low < 1


def test_an_answer_without_a_model_is_not_dropped_in_silence():
    table = pd.DataFrame({"model": ["a", None], "lang": "id", "sentence": [1, 2], "correct": 1})
    with pytest.raises(InputError, match="a model for each answer, but 1 of 2 have none"):
        reasoning.scores(table)
