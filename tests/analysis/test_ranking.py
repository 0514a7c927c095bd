"""Ranks, tests and orders from scores by language: by hand, against slow
transcriptions, and against `stats`.
"""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from babelatlas.analysis import ranking
from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap, multiple_comparisons, permutation


def scores(values, n=1000):
    """Scores of models a, b, c ... (columns) in languages (rows)."""
    values = np.asarray(values, float)
    rows = [
        ("abcdefghijkl"[m], f"l{row:03d}", values[row, m], n)
        for row, m in np.ndindex(values.shape)
    ]
    return pd.DataFrame(rows, columns=["model", "lang", "value", "n"])


@pytest.fixture
def world():
    rng = np.random.default_rng(0)
    return scores(
        (0.4 + 0.05 * np.arange(5) + 0.1 * rng.normal(size=(30, 5))).clip(0.01, 0.99)
    )


# --- ranks
# -----------------------------------------------------------------------------------------


def test_ranks_over_languages_are_those_of_a_bootstrap_of_rows(world):
    found = ranking.ranks(world, images=False, n_resamples=200).set_index("model")
    wide = world.pivot(index="lang", columns="model", values="value").to_numpy()
    drawn = bootstrap.resample_weights(30, 200, 0).astype(int)
    means = np.array([np.repeat(wide, times, axis=0).mean(axis=0) for times in drawn])
    level = bootstrap.expanded_level(0.95, 30)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    assert found.loc[list("abcde"), "ci_low"].to_numpy() == pytest.approx(low)
    assert found.loc[list("abcde"), "ci_high"].to_numpy() == pytest.approx(high)
    assert found["rank"].tolist() == [1, 2, 3, 4, 5]
    assert (found["rank_low"] <= found["rank"]).all()
    assert (found["rank_high"] >= found["rank"]).all()


# --- pairs
# -----------------------------------------------------------------------------------------


def test_comparisons_equal_the_paired_differences_of_stats(world):
    found = ranking.comparisons(world, n_resamples=300)
    pairs = list(zip(found["first"], found["second"], strict=True))
    wanted = permutation.paired_difference(world, pairs=pairs, n_resamples=300)
    columns = ["value", "ci_low", "ci_high", "p"]
    assert found[columns].to_numpy() == pytest.approx(wanted[columns].to_numpy())
    assert (found["value"] >= 0).all()


def test_the_least_p_is_reached_where_one_model_is_better_in_every_language():
    found = ranking.comparisons(scores([np.arange(12, 0, -1) / 20] * 7), n_resamples=10)
    assert (found[["p_adjusted", "least"]] == 2 / 128).all(
        axis=None
    )  # of 66 pairs, as of 1
    assert not ranking.significantly_different(found, alpha=0.01).loc[0, "possible"]
    assert ranking.significantly_different(found, alpha=0.05).loc[0, "possible"]


@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_an_adjusted_p_is_that_of_stepping_down_from_pair_to_pair(n, columns, seed):
    gaps = np.random.default_rng(seed).integers(-2, 4, size=(n, columns))  # many ties
    flips = [
        np.abs(signs @ gaps) for signs in np.array(list(product((1, -1), repeat=n)))
    ]
    extreme = [
        [(sum(flip[c] >= one[c] for flip in flips), -one[c]) for c in range(columns)]
        for one in flips
    ]
    (p, adjusted), bound = permutation.step_down(gaps), 0
    left = sorted(range(columns), key=lambda c: extreme[0][c])
    while left:
        bound = max(
            bound,
            np.mean(
                [min(row[c] for c in left) <= extreme[0][left[0]] for row in extreme]
            ),
        )
        assert adjusted[left.pop(0)] == bound
    assert p.tolist() == permutation.sign_flips(gaps, 10_000, 0).tolist()
    assert ((p <= adjusted) & (adjusted <= multiple_comparisons.holm(p))).all()


def test_a_copy_of_a_model_changes_no_p(world):
    more = pd.concat([world, world[world["model"] == "c"].assign(model="z")])
    tested = [
        ranking.comparisons(each, n_resamples=9).set_index(["first", "second"])
        for each in (world, more)
    ]
    one, more = (each["p_adjusted"] for each in tested)
    assert more[one.index].tolist() == one.tolist()
    assert more["c", "z"] == 1


@given(st.integers(2, 8), st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_the_largest_set_told_apart_is_that_of_trying_all_sets(n, seed):
    names = list("abcdefgh"[:n])
    pairs = list(combinations(names, 2))
    apart = np.random.default_rng(seed).random(len(pairs)) < 0.6
    table = pd.DataFrame(pairs, columns=["first", "second"])
    found = ranking.significantly_different(
        table.assign(
            group="all", p_adjusted=np.where(apart, 0.01, 0.5), n=9, least=0.001
        )
    ).iloc[0]
    different = {pair for pair, told in zip(pairs, apart, strict=True) if told}
    sets = [part for size in range(1, n + 1) for part in combinations(names, size)]
    valid = [part for part in sets if set(combinations(part, 2)) <= different]
    assert found["separate"] == max(map(len, valid))
    assert tuple(found["who"]) in valid
    assert found["apart"] == apart.sum()


# --- orders
# ----------------------------------------------------------------------------------------


def two_sides(rng, n, other, paired, models=8, gap=1.0):
    """Two tables whose true means are the same for both; paired, they share what a
    language does to each model.
    """
    true = gap * rng.normal(size=models)
    shared = rng.normal(size=(n, models)) * paired
    one = true + shared + rng.normal(size=(n, models))
    two = (
        3
        * (
            true
            + (shared if paired else 0)
            + rng.normal(size=(n if paired else other, models))
        )
        + 7
    )
    return scores(one), scores(two).assign(
        lang=lambda rows: rows["lang"] if paired else "x" + rows["lang"]
    )


@pytest.mark.parametrize(
    ("n", "other", "paired"), [(9, 9, True), (7, 20, False), (20, 7, False)]
)
def test_the_same_measure_twice_lies_below_its_yardstick_in_about_half_of_the_worlds(
    n, other, paired
):
    rng = np.random.default_rng(0)
    found = [
        ranking.agreement(
            *two_sides(rng, n, other, paired), paired=paired, n_resamples=60
        ).iloc[0]
        for _ in range(60)
    ]
    below = np.mean([row["tau"] < row["own"] for row in found])
    assert 0.3 < below < 0.68
    assert np.mean([row["p_own"] < 0.05 for row in found]) < 0.13


def test_the_yardstick_is_that_of_relabelling_by_hand():
    one, other = scores([[3, 1, 2], [1, 2, 5]]), scores([[6, 5, 1], [4, 3, 2]])
    sides = [
        table.pivot(index="lang", columns="model", values="value").to_numpy()
        for table in (one, other)
    ]
    first, second = ((side - side.mean()) / side.mean(axis=0).std() for side in sides)
    taus = []
    for keep in ((1, 1), (1, 0), (0, 1), (0, 0)):
        keep = np.array(keep)[:, None]
        sums = (
            (keep * first + (1 - keep) * second).mean(axis=0),
            (keep * second + (1 - keep) * first).mean(axis=0),
        )
        taus.append(
            scipy_stats.kendalltau(*(each.round(12) for each in sums)).statistic
        )
    row = ranking.agreement(one, other, n_resamples=20_000).iloc[0]
    assert row["own"] == pytest.approx(np.mean(taus), abs=0.02)
    assert row["p_own"] == pytest.approx(
        np.mean(np.array(taus) <= row["tau"] + 1e-9), abs=0.02
    )
    apart = ranking.agreement(
        one, other.assign(lang="x" + other["lang"]), paired=False, n_resamples=20_000
    ).iloc[0]
    pool, taus = np.vstack([first, second]), []
    for mine in combinations(range(4), 2):
        rest = [row for row in range(4) if row not in mine]
        sums = (
            pool[list(mine)].mean(axis=0).round(12),
            pool[rest].mean(axis=0).round(12),
        )
        taus.append(scipy_stats.kendalltau(*sums).statistic)
    assert apart["own"] == pytest.approx(np.mean(taus), abs=0.02)


# --- families
# --------------------------------------------------------------------------------------


def test_families_are_flipped_as_a_whole():
    rng = np.random.default_rng(3)
    gaps, home = rng.normal(0.3, 1, size=(7, 2)), np.array([0, 0, 0, 1, 1, 2, 3])
    signs = np.array(np.meshgrid(*[[1, -1]] * 4)).reshape(4, -1)[
        home
    ]  # (languages, patterns)
    wanted = [(np.abs(signs.T @ gap) >= abs(gap.sum()) - 1e-9).mean() for gap in gaps.T]
    assert permutation.sign_flips(np.eye(4)[home].T @ gaps).tolist() == pytest.approx(
        wanted
    )


def test_copies_of_a_language_add_nothing_where_they_are_one_family(world):
    few = world[world["lang"] < "l012"]
    copies = pd.concat([few.assign(lang=few["lang"] + f"-{copy}") for copy in range(5)])
    family = {lang: lang[:4] for lang in copies["lang"]}
    columns = ["value", "ci_low", "ci_high", "p", "p_adjusted", "n_clusters", "least"]
    sides = ((few, None), (copies, family))
    one, many = (
        ranking.comparisons(table, n_resamples=200, cluster=home)
        for table, home in sides
    )
    assert many[columns].to_numpy() == pytest.approx(one[columns].to_numpy())
    assert (many["n"] == 60).all()
    assert ranking.comparisons(copies, n_resamples=200)["p"].sum() < one["p"].sum()
    one, many = (
        ranking.ranks(table, None, home, images=False, n_resamples=200)
        for table, home in sides
    )
    pd.testing.assert_frame_equal(one.drop(columns="n"), many.drop(columns="n"))


def test_a_group_of_one_family_has_neither_interval_nor_test(world):
    family = {lang: "north" if lang < "l005" else lang for lang in world["lang"]}
    groups = {"north": [lang for lang in family if lang < "l005"]}
    pairs = ranking.comparisons(world, groups, 50, cluster=family)
    assert (
        pairs.loc[pairs["group"] == "north", ["ci_low", "p", "p_adjusted", "least"]]
        .isna()
        .all(axis=None)
    )
    ranks = ranking.ranks(world, groups, family, images=False, n_resamples=50)
    assert ranks.loc[ranks["group"] == "north", "ci_low"].isna().all()
    assert ranks.set_index("group").loc["all", "n_clusters"].iloc[0] == 26


def test_the_share_of_variance_between_clusters_is_found_again_and_counted_by_hand():
    rng = np.random.default_rng(0)
    home = np.repeat(np.arange(400), rng.integers(1, 6, 400))
    values = np.sqrt(0.3) * rng.normal(size=(400, 20))[home] + np.sqrt(
        0.7
    ) * rng.normal(size=(len(home), 20))
    assert ranking.shared_by_clusters(values, home).mean() == pytest.approx(
        0.3, abs=0.03
    )
    # Three clusters of 1, 2 and 3: means 6, 3, 2 and 3 of all; within (2 + 2) / 3,
    # between (9 + 0 + 3) / 2.
    column, labels = np.array([[6.0], [2], [4], [1], [2], [3]]), list("abbccc")
    size = (6 - 14 / 6) / 2
    wanted = (6 - 4 / 3) / size
    assert ranking.shared_by_clusters(column, labels) == pytest.approx(
        wanted / (wanted + 4 / 3)
    )


def test_only_shared_models_and_where_paired_shared_languages_are_compared(world):
    other = world[(world["model"] != "e") & (world["lang"] >= "l020")]
    row = ranking.agreement(world, other, n_resamples=20).iloc[0]
    assert (row["models"], row["n"], row["n_second"]) == (4, 10, 10)
    row = ranking.agreement(world, other, paired=False, n_resamples=20).iloc[0]
    assert (row["n"], row["n_second"]) == (30, 10)
    elsewhere = other.assign(lang="x" + other["lang"])
    assert np.isfinite(
        ranking.agreement(world, elsewhere, paired=False, n_resamples=20).loc[
            0, "tau_low"
        ]
    )
    with pytest.raises(InputError, match="no language in common"):
        ranking.agreement(world, elsewhere)
    with pytest.raises(InputError, match="two models"):
        ranking.agreement(world[world["model"] == "a"], other)
