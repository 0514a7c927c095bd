"""Home advantage: exact on matrices by hand, blind to easy languages and easy regions."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelatlas.analysis import home_advantage
from babelatlas.base.errors import InputError

LANGS = ["de", "fr", "ja"]
FAST = {"n_resamples": 50, "n_permutations": 50}


def rows(values, per_region=2, langs=LANGS):
    """A score for each language and image; the images of region r are the columns from r
    * per_region on.
    """
    homes = [(f"{lang}{n}.jpg", lang) for lang in langs for n in range(per_region)]
    scores = [
        {"lang": lang, "image": image, "region": region, "value": value}
        for lang, line in zip(langs, values, strict=True)
        for (image, region), value in zip(homes, line, strict=True)
    ]
    return pd.DataFrame(scores)


def values_of(table):
    return table.set_index("lang")["value"]


# German on its own images 0.9 and elsewhere 0.5; the others the same everywhere.
BY_HAND = np.array([[1.0, 0.8, 0.5, 0.5, 0.5, 0.5], [0.3] * 6, [0.2] * 6])


def test_the_advantage_is_a_difference_of_differences():
    table = home_advantage.advantages(rows(BY_HAND), **FAST)
    found = values_of(table)
    # German: 0.9 - 0.5; the others' difference is 0. French: 0 less the mean of German's
    # (0.5 - 0.7) and Japanese's (0).
    assert found["de"] == pytest.approx(0.4)
    assert found["fr"] == pytest.approx(0 - (0.5 - 0.7 + 0) / 2)
    assert found["ja"] == pytest.approx(0.1)
    assert found["mean"] == pytest.approx(0.2)
    german = table.set_index("lang").loc["de"]
    assert german[["home", "away", "n"]].tolist() == pytest.approx([0.9, 0.5, 2])


def by_definition(matrix):
    """The sentence at the top of the module, cell by cell."""
    k, result = len(matrix), []
    for home in range(k):
        others = [place for place in range(k) if place != home]
        gaps = [
            matrix[row][home] - np.mean([matrix[row][place] for place in others])
            for row in range(k)
        ]
        result.append(gaps[home] - np.mean([gaps[row] for row in others]))
    return result


MATRICES = st.integers(2, 3).flatmap(
    lambda k: st.lists(
        st.lists(st.floats(0, 1, allow_subnormal=False), min_size=k, max_size=k),
        min_size=k,
        max_size=k,
    )
)


@given(MATRICES, st.floats(-1, 1), st.integers(0, 2))
def test_easy_languages_and_easy_regions_change_no_advantage(matrix, constant, place):
    matrix = np.array(matrix)
    langs, place = LANGS[: len(matrix)], place % len(matrix)
    options = {"n_resamples": 20, "n_permutations": 1}

    def advantages(means):
        scores = rows(np.repeat(means, 2, axis=1), langs=langs)
        found = values_of(home_advantage.advantages(scores, **options))
        return found[langs].tolist()

    found = advantages(matrix)
    assert found == pytest.approx(by_definition(matrix), abs=1e-9)
    row, column = matrix.copy(), matrix.copy()
    row[place] += constant
    column[:, place] += constant
    assert advantages(row) == pytest.approx(found, abs=1e-9)
    assert advantages(column) == pytest.approx(found, abs=1e-9)


def test_an_advantage_is_significant_where_there_is_one_and_not_elsewhere():
    rng = np.random.default_rng(3)
    noise = rng.normal(0, 0.1, (3, 90))
    easy = noise + np.array([[0.1], [0.5], [0.9]]) + np.repeat([0.0, 0.7, 0.2], 30)
    home = 0.3 * np.repeat(np.eye(3), 30, axis=1)
    options = {"n_resamples": 300, "n_permutations": 300}
    without = home_advantage.advantages(rows(easy, 30), **options).set_index("lang")
    clear = home_advantage.advantages(rows(easy + home, 30), **options).set_index(
        "lang"
    )
    assert without.loc["mean", "p"] > 0.05
    assert without.loc["mean", "ci_low"] < 0 < without.loc["mean", "ci_high"]
    assert clear.loc["mean", "p"] == pytest.approx(1 / 301)
    assert (clear.loc[LANGS, "p_holm"] < 0.05).all()
    # 0.3 on the diagonal is 0.3 + 0.3 / 2 as a difference of differences.
    assert (clear["value"] - without["value"]).to_numpy() == pytest.approx(0.45)
    assert clear.loc["mean", "ci_low"] < 0.45 < clear.loc["mean", "ci_high"]


def test_bad_tables_are_one_sentence_and_others_are_left_out():
    scores = rows(BY_HAND)
    with pytest.raises(InputError, match=r"no score, the first 'de0.jpg' in 'de'"):
        home_advantage.advantages(scores.iloc[1:], **FAST)
    with pytest.raises(InputError, match="two languages"):
        home_advantage.advantages(scores.assign(region="Africa"), **FAST)
    with pytest.raises(InputError, match="two images of each region"):
        home_advantage.advantages(scores[scores["image"] != "fr1.jpg"], **FAST)
    assert home_advantage.has_homes(scores)
    assert not home_advantage.has_homes(scores.assign(region=""))
    other = pd.DataFrame([{"lang": "ko", "image": "x", "region": "", "value": 1.0}])
    more = home_advantage.advantages(pd.concat([scores, other]), **FAST)
    pd.testing.assert_frame_equal(more, home_advantage.advantages(scores, **FAST))
