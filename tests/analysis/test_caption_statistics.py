"""Statistics of captions, and what people say of them."""

import numpy as np
import pandas as pd
import pytest

from babelatlas.analysis.captioning import caption_statistics as statistics
from babelatlas.base.errors import InputError
from babelatlas.papers import thapliyal2022


def ratings(**captions):
    rows = [(name, f"r{place}", value) for name, values in captions.items() for place, value in enumerate(values)]
    return pd.DataFrame(rows, columns=["image", "rater", "rating"]).assign(captions="people", lang="en", number=0)


def test_the_median_of_three_ratings_decides_and_of_two_the_lower():
    found = statistics.medians(ratings(a=["BAD", "GOOD", "EXCELLENT"], b=["MEDIUM", "GOOD"], c=["GOOD"]))
    assert found.set_index("image")["rating"].to_dict() == {"a": "GOOD", "b": "MEDIUM", "c": "GOOD"}


def test_a_caption_that_most_raters_cannot_judge_is_in_no_level_but_counts():
    table = ratings(a=["NOT-ENOUGH-INFO"] * 2 + ["GOOD"], b=["GOOD", "NOT-ENOUGH-INFO", "BAD"])
    found = statistics.medians(table).set_index("image")["rating"]
    assert found.to_dict() == {"a": "NOT-ENOUGH-INFO", "b": "BAD"}
    shares = statistics.quality(table).set_index("level")
    assert shares["value"].to_dict() == {"good or better": 0, "medium or better": 0, "bad": 0.5}
    assert (shares["n"] == 2).all()


def test_shares_and_their_exact_intervals_are_those_of_table_2():
    printed = thapliyal2022.ratings().iloc[0]
    n_good = round(printed["good"] * thapliyal2022.RATED)
    table = ratings(**{f"c{place}": ["GOOD" if place < n_good else "BAD"] for place in range(thapliyal2022.RATED)})
    found = statistics.quality(table).set_index("level").loc["good or better"]
    assert found["value"] == pytest.approx(printed["good"], abs=5e-4)
    assert found["ci_low"] < found["value"] <= found["ci_high"]


def test_an_unknown_rating_is_one_sentence():
    with pytest.raises(InputError, match="a rating 'FINE': expected one of BAD, MEDIUM, GOOD, EXCELLENT, NOT-ENOUGH"):
        statistics.medians(ratings(a=["FINE"]))


def test_fleiss_kappa_and_krippendorffs_alpha_are_those_of_hand_written_tables():
    agree = statistics.agreement(ratings(a=["GOOD"] * 3, b=["BAD"] * 3)).iloc[0]
    assert (agree["kappa"], agree["alpha"], agree["n"], agree["n_raters"]) == (1, 1, 2, 3)
    # Two raters, two captions, each once GOOD and once BAD: they agree on neither, by chance they would on half.
    opposite = statistics.agreement(ratings(a=["GOOD", "BAD"], b=["BAD", "GOOD"])).iloc[0]
    assert opposite["kappa"] == pytest.approx(-1)
    assert opposite["alpha"] == pytest.approx(1 - 1 / (4 / 6))
    assert np.isnan(statistics.agreement(ratings(a=["GOOD"] * 2)).iloc[0]["kappa"])


def test_alpha_for_ranks_is_krippendorffs_own_example():
    # Krippendorff (2011), "Computing Krippendorff's alpha-reliability", section D: four observers, alpha = 0.815.
    observers = {
        "A": [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        "B": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        "C": [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        "D": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    }
    told = [(name, unit, value) for name, row in observers.items() for unit, value in enumerate(row) if value]
    units = pd.Series([unit for _, unit, _ in told])
    told = [one for one, unit in zip(told, units, strict=True) if (units == unit).sum() > 1]
    assert statistics.krippendorff([one[:2] for one in told], [one[2] for one in told]) == pytest.approx(
        0.815, abs=5e-4
    )


def test_captions_are_counted_as_in_table_1():
    rows = pd.DataFrame(
        {"captions": "p", "lang": "en", "image": list("aabccc"), "caption": [" x ", "yz", "x", "a", "b", "c"]}
    )
    found = statistics.statistics(rows, pd.Series([1, 2, 3, 1, 1, 1])).iloc[0]
    assert found[["n_captions", "one", "two", "more", "n_images"]].tolist() == [6, 1, 1, 1, 3]
    assert found["words"] == 1.5
    assert found["characters"] == pytest.approx(7 / 6)
