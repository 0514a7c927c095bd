"""Scores of answers, agreement of people: slow transcriptions of the definitions, what
must always hold.
"""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from babelatlas.analysis import marvl
from babelatlas.evaluation import reasoning


def answers(
    correct: dict[str, list[int]],
    variant: str = "original",
    lang: str = "sw",
    model: str = "m",
) -> pd.DataFrame:
    """Answers to pairs of statements that are all true: statement -> 1 where the answer
    is correct.
    """
    rows = [
        {
            "model": model,
            "dataset": "d",
            "variant": variant,
            "lang": lang,
            "statement": name,
            "number": number,
            "truth": True,
            "answer": bool(right),
        }
        for name, given in correct.items()
        for number, right in enumerate(given)
    ]
    return pd.DataFrame(rows)


BY = ["model", "variant", "lang"]


def test_accuracy_counts_pairs_and_consistency_statements():
    given = answers(
        {"a": [1, 1, 1, 1], "b": [1, 1, 1, 0], "c": [0, 0, 0, 0], "d": [1, 1]}
    )
    found = reasoning.accuracy_and_consistency(given, BY).set_index("metric")
    assert found["value"].to_dict() == {"accuracy": 9 / 14, "consistency": 2 / 4}
    assert found["n"].to_dict() == {"accuracy": 14, "consistency": 4}
    assert (found["ci_low"] < found["value"]).all()
    assert (found["value"] < found["ci_high"]).all()


def test_a_statement_of_two_languages_is_drawn_once_and_counted_twice():
    both = pd.concat(
        [answers({"a": [1, 1], "b": [0, 1]}, lang=lang) for lang in ("sw", "ta")]
    )
    found = reasoning.accuracy_and_consistency(both, ["model"]).set_index("metric")
    alone = reasoning.accuracy_and_consistency(
        both[both["lang"] == "sw"], ["model"]
    ).set_index("metric")
    assert found["n"].to_dict() == {"accuracy": 8, "consistency": 4}
    pd.testing.assert_frame_equal(found.drop(columns="n"), alone.drop(columns="n"))


def test_variants_are_compared_by_mcnemars_exact_test():
    # 7 pairs that the first alone answers correctly, 1 that the second does: 2 * (C(8,
    # 0) + C(8, 1)) / 2 ** 8.
    first = answers({name: [1, 1] for name in "abcd"} | {"e": [0, 1]}, "translate-test")
    second = answers({"a": [0, 0], "b": [0, 0], "c": [0, 0], "d": [0, 1], "e": [1, 1]})
    wanted = [("translate-test", "original")]
    found = reasoning.compare(pd.concat([first, second]), "variant", wanted).iloc[0]
    assert found[["only_first", "only_second", "n"]].tolist() == [7, 1, 10]
    assert found["value"] == pytest.approx(0.6)
    assert found["p"] == pytest.approx(2 * (1 + 8) / 2**8)
    # Of the 32 patterns of signs of the five statements' sums (2, 2, 2, 1, -1) those as
    # far from 0 as 6: 3 each way.
    assert found["p_statements"] == pytest.approx(
        sum(
            abs(sum(s * v for s, v in zip(signs, (2, 2, 2, 1, -1), strict=True))) >= 6
            for signs in itertools.product((1, -1), repeat=5)
        )
        / 32
    )


def test_a_comparison_uses_the_pairs_that_both_answered_and_adjusts_over_all():
    first = pd.concat(
        [
            answers({"a": [1, 1], "b": [1, 1]}, "translate-test", lang)
            for lang in ("sw", "ta")
        ]
    )
    second = answers({"a": [0, 0], "b": [1, 1], "c": [0, 0]})
    found = reasoning.compare(
        pd.concat([first, second]),
        "variant",
        [("translate-test", "original"), ("x", "y")],
    )
    assert found["lang"].tolist() == ["sw"]
    assert found["n"].tolist() == [4]
    assert found["p_holm"].tolist() == found["p"].tolist() == [0.5]
    assert reasoning.compare(second, "variant", [("translate-test", "original")]).empty


def slow_kappa(votes: list[tuple[int, int]]) -> float:
    """Fleiss (1971): pairs of raters who agree on an example, and how often they would
    by chance.
    """
    n = sum(votes[0])
    agree = sum((sum(v * v for v in row) - n) / (n * (n - 1)) for row in votes) / len(
        votes
    )
    chance = sum(
        (sum(row[side] for row in votes) / (n * len(votes))) ** 2 for side in (0, 1)
    )
    return (agree - chance) / (1 - chance)


def test_agreement_is_that_of_the_formulas():
    table = pd.DataFrame(
        {
            "truth": [True, True, False],
            "n_true": [3, 2, 0],
            "n_false": [0, 1, 3],
            "n": [5, 2, 4],
        }
    )
    found = reasoning.annotator_agreement(table, n_resamples=200).set_index("metric")
    assert found.loc["accuracy", "value"] == pytest.approx((5 * 3 + 2 * 2 + 4 * 3) / 33)
    assert found.loc["kappa", "value"] == pytest.approx(
        slow_kappa([(3, 0)] * 5 + [(2, 1)] * 2 + [(0, 3)] * 4)
    )
    assert (found["n"] == 11).all()
    assert (found["ci_low"] < found["value"]).all()
    assert (found["ci_high"] > found["value"]).all()


def test_people_agree_about_nlvr2_almost_perfectly():
    labels = marvl.labels()
    assert labels["n"].sum() == 5486
    found = reasoning.annotator_agreement(labels, n_resamples=50).set_index("metric")[
        "value"
    ]
    assert found.round(3).to_dict() == {"accuracy": 0.974, "kappa": 0.894}


class Asker:
    """A scorer that finds "true" twice as likely as "false" where the left image's name
    comes first.
    """

    def score(self, images, sources, translations, langs, temperatures=(1.0,)):
        def likely(pair, word):
            return math.log(2 / 3 if (word == "true") == (pair[0] < pair[1]) else 1 / 3)

        return [
            np.array([[likely(*one), -5.0]])
            for one in zip(images, translations, strict=True)
        ]


def test_the_likelihoods_of_true_and_false_become_a_probability():
    pairs = pd.DataFrame(
        {
            "variant": "original",
            "lang": "sw",
            "statement": "a",
            "number": [0, 1],
            "text": "x",
            "left": ["a", "d"],
            "right": ["b", "c"],
            "truth": [True, True],
        }
    )
    found = reasoning.by_likelihood(Asker(), pairs)
    assert found["probability"].tolist() == pytest.approx([2 / 3, 1 / 3])
    assert found["answer"].tolist() == [True, False]
    assert set(found["method"]) == {"likelihood"}


def statements(variant: str, lang: str, n: int, colour: str = "{}") -> pd.DataFrame:
    """Statements that name a thing, true where the left image shows it: two pairs each."""
    rows = []
    for number in range(n):
        facts = {
            "variant": variant,
            "lang": lang,
            "statement": f"s{number}",
            "text": colour.format(number % 5),
        }
        for place in (0, 1):
            shown = {
                "left": f"{(number + place) % 5}.png",
                "right": f"{(number + 2) % 5}.png",
            }
            rows.append(facts | shown | {"number": place, "truth": place == 0})
    return pd.DataFrame(rows).assign(concept="", chapter="")


def test_a_head_answers_each_variant_and_one_trained_on_translations_its_own_language():
    things = np.random.default_rng(0).normal(size=(5, 16))
    taught = pd.concat(
        [
            statements("original", "en", 200),
            statements("translate-train", "sw", 200, "w{}"),
        ]
    )
    asked = pd.concat(
        [
            statements("original", "sw", 20, "w{}"),
            statements("translate-test", "sw", 20),
        ]
    )
    words, paths = reasoning.shown(taught, asked)
    assert (
        len(words) == len(set(words["label"])) == 10
    )  # 0 to 4, and Swahili's words w0 to w4
    assert set(words.loc[~words["label"].str.startswith("w"), "lang"]) == {
        "en"
    }  # what a translation is written in
    assert set(words.loc[words["label"].str.startswith("w"), "lang"]) == {"sw"}
    # The encoder has the opposite vector for a word of Swahili.
    sign = np.where(words["label"].str.startswith("w"), -1, 1)
    texts = things[words["label"].str[-1].astype(int)] * sign[:, None]
    images = things[[int(path[0]) for path in paths]]
    found, heads = reasoning.by_head(
        taught, asked, texts, images, reasoning.HeadRecipe(epochs=15)
    )
    right = (found["answer"] == found["truth"]).groupby(found["variant"]).mean()
    assert right["translate-train"] > 0.95
    assert right["translate-test"] > 0.95
    assert right["original"] < 0.5  # the signs of what the English head was taught
    assert heads["variant"].tolist() == ["original", "translate-train"]
    assert heads["pairs"].tolist() == [400, 400]


def test_one_statement_alone_has_no_interval_and_stops_no_other_comparison():
    first, second = (
        answers({"a": given}, variant)
        for variant, given in (("x", [1, 1]), ("y", [1, 0]))
    )
    found = reasoning.compare(pd.concat([first, second]), "variant", [("x", "y")]).iloc[
        0
    ]
    assert (found["value"], found["n"]) == (0.5, 2)
    assert found[["ci_low", "ci_high", "p_statements"]].isna().all()
