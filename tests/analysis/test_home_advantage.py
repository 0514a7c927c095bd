"""Home advantage: exact on matrices by hand, blind to easy languages and easy regions."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelatlas.analysis.captioning import home_advantage
from babelatlas.base.errors import InputError

LANGS = ["de", "fr", "ja"]


def rows(values, per_region=2, langs=LANGS):
    """A score for each language and image; the images of region r are the columns r * per_region and on."""
    homes = [(f"{lang}{n}.jpg", lang) for lang in langs for n in range(per_region)]
    scores = [
        {"lang": lang, "image": image, "value": value}
        for lang, line in zip(langs, values, strict=True)
        for (image, _), value in zip(homes, line, strict=True)
    ]
    return pd.DataFrame(scores), pd.DataFrame(homes, columns=["image", "lang"])


# German on its own images 0.9 and elsewhere 0.5; the others the same everywhere.
BY_HAND = np.array([[1.0, 0.8, 0.5, 0.5, 0.5, 0.5], [0.3] * 6, [0.2] * 6])


def test_the_matrix_has_the_mean_of_each_language_on_each_region():
    found = home_advantage.matrix(*rows(BY_HAND), n_resamples=200).set_index(["lang", "home"])
    assert found["value"].unstack().loc["de"].tolist() == pytest.approx([0.9, 0.5, 0.5])
    assert found.loc[("fr", "ja"), ["value", "ci_low", "ci_high"]].tolist() == pytest.approx([0.3] * 3)
    # Of two images, resamples have the one twice, both, or the other twice.
    assert found.loc[("de", "de"), ["ci_low", "ci_high", "n"]].tolist() == pytest.approx([0.8, 1.0, 2])


def test_the_advantage_is_a_difference_of_differences():
    found = home_advantage.advantages(*rows(BY_HAND), n_resamples=50, n_permutations=50).set_index("lang")
    # German: 0.9 - 0.5 own less others, the others' difference is 0. French: 0 less the mean of German's (0.5 - 0.7)
    # and Japanese's (0).
    assert found.loc["de", "value"] == pytest.approx(0.4)
    assert found.loc["fr", "value"] == pytest.approx(0 - (0.5 - 0.7 + 0) / 2)
    assert found.loc["ja", "value"] == pytest.approx(0.1)
    assert found.loc["mean", "value"] == pytest.approx(0.2)
    assert found.loc["mean over languages", "value"] == pytest.approx(0.2)


def by_definition(matrix):
    """The sentence at the top of the module, cell by cell."""
    k, result = len(matrix), []
    for own in range(k):
        others = [one for one in range(k) if one != own]
        gaps = [matrix[row][own] - np.mean([matrix[row][one] for one in others]) for row in range(k)]
        result.append(gaps[own] - np.mean([gaps[row] for row in others]))
    return result


matrices = st.integers(2, 5).flatmap(
    lambda k: st.lists(st.lists(st.floats(0, 1, allow_subnormal=False), min_size=k, max_size=k), min_size=k, max_size=k)
)


@given(matrices, st.floats(-1, 1), st.integers(0, 4))
def test_constants_of_rows_and_columns_change_no_advantage(matrix, constant, place):
    matrix, place = np.array(matrix), place % len(matrix)
    found = home_advantage.interaction(matrix)
    assert found == pytest.approx(by_definition(matrix), abs=1e-9)
    row, column = matrix.copy(), matrix.copy()
    row[place] += constant
    column[:, place] += constant
    assert home_advantage.interaction(row) == pytest.approx(found, abs=1e-9)
    assert home_advantage.interaction(column) == pytest.approx(found, abs=1e-9)


def test_an_advantage_that_is_there_is_found_and_one_that_is_not_is_not():
    rng = np.random.default_rng(3)
    noise = rng.normal(0, 0.1, (3, 90))
    easy = noise + np.array([[0.1], [0.5], [0.9]]) + np.repeat([0.0, 0.7, 0.2], 30)
    home = np.repeat(np.eye(3), 30, axis=1)
    without = home_advantage.advantages(*rows(easy, 30), n_resamples=300, n_permutations=300).set_index("lang")
    clear = home_advantage.advantages(*rows(easy + 0.3 * home, 30), n_resamples=300, n_permutations=300)
    clear = clear.set_index("lang")
    assert without.loc["mean", "p"] > 0.05
    assert without.loc["mean", "ci_low"] < 0 < without.loc["mean", "ci_high"]
    assert clear.loc["mean", "p"] == pytest.approx(1 / 301)
    assert (clear.loc[LANGS, "p_holm"] < 0.05).all()
    # 0.3 on the diagonal is 0.3 + 0.3 / 2 as a difference of differences.
    assert (clear["value"] - without["value"]).to_numpy() == pytest.approx(0.45)
    assert clear.loc["mean", "ci_low"] < 0.45 < clear.loc["mean", "ci_high"]


def test_p_values_are_uniform_without_an_advantage():
    rng = np.random.default_rng(0)
    found = []
    for seed in range(60):
        values = rng.normal(0, 1, (2, 20)) + np.repeat([0.0, 3.0], 10)
        table = home_advantage.advantages(*rows(values, 10, ["de", "fr"]), n_resamples=10, n_permutations=99, seed=seed)
        found.append(table.set_index("lang").loc["mean", "p"])
    assert 0.35 < np.mean(found) < 0.65
    assert np.mean(np.array(found) <= 0.05) < 0.15


def test_scores_are_read_from_ranks_and_captions():
    ranks = pd.DataFrame(
        {
            "model": "m", "dataset": "d", "lang": "de", "direction": ["t2i", "t2i", "i2t"],
            "query": ["a.jpg#0", "a.jpg#1", "a.jpg"], "rank": [1, 2, 1], "tied": 0, "n_tied_correct": 1,
        }
    )  # fmt: skip
    assert home_advantage.of_retrieval(ranks).to_numpy().tolist() == [["m", "d", "de", "a.jpg", 0.5]]
    ciders = pd.DataFrame(
        {"model": "m", "dataset": "d", "lang": "de", "image": "a", "metric": ["CIDEr", "chrF++"], "value": [0.4, 0.9]}
    )
    assert home_advantage.of_caption_scores(ciders, "CIDEr").to_numpy().tolist() == [["m", "d", "de", "a", 0.4]]


def test_bad_tables_are_one_sentence():
    scores, homes = rows(BY_HAND)
    with pytest.raises(InputError, match=r"no score, the first 'de0.jpg' in 'de'"):
        home_advantage.cells(scores.iloc[1:], homes)
    with pytest.raises(InputError, match="selected for two languages"):
        home_advantage.cells(scores, pd.concat([homes, homes.head(1)]))
    with pytest.raises(InputError, match="two languages"):
        home_advantage.cells(scores, homes[homes["lang"] == "de"])
    with pytest.raises(InputError, match="two images of each region"):
        home_advantage.advantages(scores, homes.iloc[[0, 1, 2, 4, 5]])


def test_languages_without_images_and_images_of_other_languages_are_left_out():
    scores, homes = rows(BY_HAND)
    more = pd.concat([homes, pd.DataFrame({"image": ["ta0.jpg"], "lang": ["ta"]})])
    other = pd.concat([scores, pd.DataFrame({"lang": ["ko"], "image": ["de0.jpg"], "value": [1.0]})])
    pd.testing.assert_frame_equal(
        home_advantage.matrix(other, more, n_resamples=20), home_advantage.matrix(scores, homes, n_resamples=20)
    )
