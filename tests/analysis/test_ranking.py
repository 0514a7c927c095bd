"""Ranks, tests and orders from scores by language: by hand, against slow transcriptions, and against `stats`."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from babelatlas.analysis import ranking
from babelatlas.base import published
from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap, tests


def scores(values, n=1000):
    """Scores of models a, b, c ... (columns) in languages (rows)."""
    values = np.asarray(values, float)
    rows = [("abcdefghijkl"[m], f"l{row:03d}", values[row, m], n) for row, m in np.ndindex(values.shape)]
    return pd.DataFrame(rows, columns=["model", "lang", "value", "n"])


@pytest.fixture
def world():
    rng = np.random.default_rng(0)
    return scores((0.4 + 0.05 * np.arange(5) + 0.1 * rng.normal(size=(30, 5))).clip(0.01, 0.99))


def test_only_languages_that_all_models_have_are_compared(world):
    short = world[~((world["model"] == "c") & (world["lang"] < "l010"))]
    assert ranking.ranks(short, n_resamples=10)["n"].tolist() == [20] * 5


def test_a_score_given_twice_and_models_without_a_common_language_stop_a_ranking(world):
    with pytest.raises(InputError, match="occur twice"):
        ranking.ranks(pd.concat([world, world]), n_resamples=10)
    apart = world[(world["model"] == "a") == (world["lang"] < "l010")]
    with pytest.raises(InputError, match="no language in common"):
        ranking.comparisons(apart, n_resamples=10)


# --- ranks -----------------------------------------------------------------------------------------


def test_ranks_over_languages_are_those_of_a_bootstrap_of_rows(world):
    found = ranking.ranks(world, drawn="languages", n_resamples=200).set_index("model")
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


def test_drawing_images_alone_gives_the_binomial_interval_of_the_mean():
    table = scores([[0.5, 0.2], [0.3, 0.1]], n=400)
    found = ranking.ranks(table, drawn="images", n_resamples=20_000).set_index("model")
    half = 1.96 * np.sqrt(0.5 * 0.5 / 400 + 0.3 * 0.7 / 400) / 2
    assert found.loc["a", "ci_high"] - 0.4 == pytest.approx(half, rel=0.04)


def test_drawing_both_is_less_certain_than_drawing_one(world):
    world = world.assign(n=100)
    width = {drawn: ranking.ranks(world, None, drawn) for drawn in ranking.DRAWN}
    width = {drawn: (part["ci_high"] - part["ci_low"]).mean() for drawn, part in width.items()}
    assert width["languages and images"] > 1.05 * max(width["languages"], width["images"])


def test_a_group_of_one_language_has_an_interval_only_if_images_are_drawn(world):
    groups = {"one": ["l000"], "none": ["xx"]}
    found = {drawn: ranking.ranks(world, groups, drawn, n_resamples=50) for drawn in ("languages", "images")}
    for drawn, part in found.items():
        assert part["group"].unique().tolist() == ["all", "one"]
        assert part.loc[part["group"] == "one", "ci_low"].isna().all() == (drawn == "languages")


def test_images_need_their_number_and_shares(world):
    with pytest.raises(InputError, match="fractions from 0 to 1"):
        ranking.ranks(world.assign(n=0), n_resamples=10)
    with pytest.raises(InputError, match=r"column\(s\) n"):
        ranking.ranks(world.drop(columns="n"), n_resamples=10)
    with pytest.raises(InputError, match="draws one of"):
        ranking.ranks(world, drawn="classes")


# --- pairs -----------------------------------------------------------------------------------------


def test_comparisons_equal_the_paired_differences_of_stats(world):
    found = ranking.comparisons(world, n_resamples=300)
    pairs = list(zip(found["first"], found["second"], strict=True))
    wanted = tests.paired_difference(world, pairs=pairs, n_resamples=300)
    columns = ["value", "ci_low", "ci_high", "p", "p_holm"]
    assert found[columns].to_numpy() == pytest.approx(wanted[columns].to_numpy())
    assert (found["value"] >= 0).all()


@given(st.integers(2, 40), st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_many_sign_flip_tests_are_those_of_stats_one_by_one(n, seed):
    gaps = np.random.default_rng(seed).normal(0.2, 1, size=(n, 3)).round(2)
    alone = [tests.paired_permutation_test(gaps[:, column], 500, seed) for column in range(3)]
    assert ranking.sign_flip_test(gaps, 500, seed).tolist() == pytest.approx(alone)


def test_the_least_p_is_reached_where_one_model_is_better_in_every_language():
    found = ranking.comparisons(scores([[0.5, 0.4, 0.1]] * 7), n_resamples=10)
    assert found["least"].tolist() == pytest.approx([3 * 2 / 128] * 3)
    assert found["p_holm"].max() == pytest.approx(found["least"].iloc[0])
    assert not ranking.significantly_different(found, alpha=0.04).loc[0, "possible"]
    assert ranking.significantly_different(found, alpha=0.05).loc[0, "possible"]


def test_a_group_of_one_language_tells_nothing_apart(world):
    found = ranking.comparisons(world, {"one": ["l003"]}, n_resamples=10)
    alone = found[found["group"] == "one"]
    assert alone["p_holm"].isna().all()
    assert ranking.significantly_different(alone)[["apart", "separate"]].to_numpy().tolist() == [[0, 1]]


@given(st.integers(2, 8), st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_the_largest_set_told_apart_is_that_of_trying_all_sets(n, seed):
    names = list("abcdefgh"[:n])
    pairs = list(combinations(names, 2))
    apart = np.random.default_rng(seed).random(len(pairs)) < 0.6
    table = pd.DataFrame(pairs, columns=["first", "second"])
    found = ranking.significantly_different(
        table.assign(group="all", p_holm=np.where(apart, 0.01, 0.5), n=9, least=0.001)
    ).iloc[0]
    different = {pair for pair, told in zip(pairs, apart, strict=True) if told}
    sets = [part for size in range(1, n + 1) for part in combinations(names, size)]
    valid = [part for part in sets if set(combinations(part, 2)) <= different]
    assert found["separate"] == max(map(len, valid))
    assert tuple(found["who"]) in valid
    assert found["apart"] == apart.sum()


# --- orders ----------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 3), min_size=2, max_size=8), st.randoms())
@settings(max_examples=60, deadline=None)
def test_tau_is_scipys(first, random):
    second = random.sample(first, len(first))
    ours = float(ranking.kendall(np.array(first), np.array(second)))
    assert ours == pytest.approx(scipy_stats.kendalltau(first, second).statistic, nan_ok=True)


def test_the_best_in_common_by_hand_with_ties():
    assert float(ranking.shared_top([5, 4, 3, 2], [2, 3, 4, 5], 2)) == 0
    assert float(ranking.shared_top([5, 4, 3, 2], [5, 3, 4, 2], 2)) == 0.5
    # The second place is shared by two: each of them is half of it.
    assert float(ranking.shared_top([5, 4, 4, 2], [5, 4, 3, 2], 2)) == 0.75
    assert float(ranking.shared_top([1, 1, 1], [3, 2, 1], 3)) == 1
    with pytest.raises(InputError, match="best 4 of 3"):
        ranking.shared_top([1, 2, 3], [1, 2, 3], 4)


def test_an_order_agrees_with_itself(world):
    row = ranking.agreement(world, world, n_resamples=100).iloc[0]
    assert (row["tau"], row["tau_low"], row["tau_high"]) == (1, 1, 1)
    assert (row["overlap"], row["swapped"], row["apart_swapped"], row["which"]) == (1, 0, 0, [])
    assert (row["own"], row["p_own"]) == (1, 1), "exchanging equal sides changes nothing"


def two_sides(rng, n, other, paired, models=8, gap=1.0):
    """Two tables whose true means are the same for both; paired, they share what a language does to each model."""
    true = gap * rng.normal(size=models)
    shared = rng.normal(size=(n, models)) * paired
    one = true + shared + rng.normal(size=(n, models))
    two = 3 * (true + (shared if paired else 0) + rng.normal(size=(n if paired else other, models))) + 7
    return scores(one), scores(two).assign(lang=lambda rows: rows["lang"] if paired else "x" + rows["lang"])


@pytest.mark.parametrize(("n", "other", "paired"), [(9, 9, True), (7, 20, False), (20, 7, False)])
def test_the_same_measure_twice_lies_below_its_yardstick_in_about_half_of_the_worlds(n, other, paired):
    rng = np.random.default_rng(0)
    found = [
        ranking.agreement(*two_sides(rng, n, other, paired), paired=paired, n_resamples=60).iloc[0] for _ in range(60)
    ]
    below = np.mean([row["tau"] < row["own"] for row in found])
    assert 0.3 < below < 0.68
    assert np.mean([row["p_own"] < 0.05 for row in found]) < 0.13


def test_the_yardstick_is_that_of_relabelling_by_hand():
    one, other = scores([[3, 1, 2], [1, 2, 5]]), scores([[6, 5, 1], [4, 3, 2]])
    sides = [table.pivot(index="lang", columns="model", values="value").to_numpy() for table in (one, other)]
    first, second = ((side - side.mean()) / side.mean(axis=0).std() for side in sides)
    taus = []
    for keep in ((1, 1), (1, 0), (0, 1), (0, 0)):
        keep = np.array(keep)[:, None]
        sums = (keep * first + (1 - keep) * second).mean(axis=0), (keep * second + (1 - keep) * first).mean(axis=0)
        taus.append(scipy_stats.kendalltau(*(each.round(12) for each in sums)).statistic)
    row = ranking.agreement(one, other, n_resamples=20_000).iloc[0]
    assert row["own"] == pytest.approx(np.mean(taus), abs=0.02)
    assert row["p_own"] == pytest.approx(np.mean(np.array(taus) <= row["tau"] + 1e-9), abs=0.02)
    apart = ranking.agreement(one, other.assign(lang="x" + other["lang"]), paired=False, n_resamples=20_000).iloc[0]
    pool, taus = np.vstack([first, second]), []
    for mine in combinations(range(4), 2):
        rest = [row for row in range(4) if row not in mine]
        sums = (pool[list(mine)].mean(axis=0).round(12), pool[rest].mean(axis=0).round(12))
        taus.append(scipy_stats.kendalltau(*sums).statistic)
    assert apart["own"] == pytest.approx(np.mean(taus), abs=0.02)


def test_two_languages_have_a_yardstick_and_one_has_none(world):
    pair, single = (world[world["lang"].isin(codes)] for codes in (["l000", "l001"], ["l000"]))
    found = [ranking.agreement(part, part.assign(value=1 - part["value"]), n_resamples=50) for part in (pair, single)]
    assert np.isfinite(found[0].loc[0, ["tau_low", "own", "p_own"]].astype(float)).all()
    assert found[1].loc[0, ["tau_low", "own", "p_own"]].isna().all()


def test_a_measure_that_is_the_same_for_all_models_has_no_tau(world):
    flat = world.assign(value=0.5)
    for over in ranking.OVER:
        row = ranking.agreement(flat, world, over=over, n_resamples=50).iloc[0]
        assert row[["tau", "tau_low", "tau_high", "own", "p_own", "p"]].isna().all()


# --- families --------------------------------------------------------------------------------------


def test_a_cluster_for_each_language_changes_nothing(world):
    own = {lang: lang for lang in world["lang"]}
    for function in (ranking.ranks, ranking.comparisons):
        one, other = function(world, n_resamples=100), function(world, n_resamples=100, cluster=own)
        pd.testing.assert_frame_equal(one, other)


def test_families_are_flipped_as_a_whole():
    rng = np.random.default_rng(3)
    gaps, home = rng.normal(0.3, 1, size=(7, 2)), np.array([0, 0, 0, 1, 1, 2, 3])
    signs = np.array(np.meshgrid(*[[1, -1]] * 4)).reshape(4, -1)[home]  # (languages, patterns)
    wanted = [(np.abs(signs.T @ gap) >= abs(gap.sum()) - 1e-9).mean() for gap in gaps.T]
    assert ranking.sign_flip_test(gaps, member=np.eye(4)[home]).tolist() == pytest.approx(wanted)


def test_copies_of_a_language_add_nothing_where_they_are_one_family(world):
    few = world[world["lang"] < "l012"]
    copies = pd.concat([few.assign(lang=few["lang"] + f"-{copy}") for copy in range(5)])
    family = {lang: lang[:4] for lang in copies["lang"]}
    columns = ["value", "ci_low", "ci_high", "p", "p_holm", "n_clusters", "least"]
    one, many = (
        ranking.comparisons(table, n_resamples=200, cluster=clusters)
        for table, clusters in ((few, None), (copies, family))
    )
    assert many[columns].to_numpy() == pytest.approx(one[columns].to_numpy())
    assert (many["n"] == 60).all()
    assert ranking.comparisons(copies, n_resamples=200)["p"].sum() < one["p"].sum()
    one, many = (
        ranking.ranks(table, None, "languages", 200, cluster=clusters)
        for table, clusters in ((few, None), (copies, family))
    )
    pd.testing.assert_frame_equal(one.drop(columns="n"), many.drop(columns="n"))


def test_a_group_of_one_family_has_neither_interval_nor_test(world):
    family = {lang: "north" if lang < "l005" else lang for lang in world["lang"]}
    groups = {"north": [lang for lang in family if lang < "l005"]}
    pairs = ranking.comparisons(world, groups, 50, cluster=family)
    assert pairs.loc[pairs["group"] == "north", ["ci_low", "p", "p_holm", "least"]].isna().all(axis=None)
    ranks = ranking.ranks(world, groups, "languages", 50, cluster=family)
    assert ranks.loc[ranks["group"] == "north", "ci_low"].isna().all()
    assert ranks.set_index("group").loc["all", "n_clusters"].iloc[0] == 26
    with pytest.raises(InputError, match="'l000' has none"):
        ranking.ranks(world, n_resamples=10, cluster={"l001": "x"})


def test_the_share_of_variance_between_clusters_is_found_again_and_counted_by_hand():
    rng = np.random.default_rng(0)
    home = np.repeat(np.arange(400), rng.integers(1, 6, 400))
    values = np.sqrt(0.3) * rng.normal(size=(400, 20))[home] + np.sqrt(0.7) * rng.normal(size=(len(home), 20))
    assert ranking.shared_by_clusters(values, home).mean() == pytest.approx(0.3, abs=0.03)
    # Three clusters of 1, 2 and 3: means 6, 3, 2 and 3 of all; within (2 + 2) / 3, between (9 + 0 + 3) / 2.
    column, labels = np.array([[6.0], [2], [4], [1], [2], [3]]), list("abbccc")
    size = (6 - 14 / 6) / 2
    wanted = (6 - 4 / 3) / size
    assert ranking.shared_by_clusters(column, labels) == pytest.approx(wanted / (wanted + 4 / 3))
    for labels in ("aaaaaa", "abcdef", "ab"):
        with pytest.raises(InputError, match="between and within clusters"):
            ranking.shared_by_clusters(column, list(labels))


@pytest.mark.parametrize("gaps", [[[np.nan], [1], [2]], np.empty((0, 2)), [1, 2, 3]])
def test_sign_flip_tests_need_numbers_in_a_table(gaps):
    with pytest.raises(InputError, match="need differences that are numbers"):
        ranking.sign_flip_test(np.array(gaps, float))


def test_two_models_that_trade_places_are_named_the_better_one_first():
    rng = np.random.default_rng(1)
    noise = 0.01 * rng.normal(size=(20, 3))
    one, other = scores(noise + np.array([0.2, 0.5, 0.7])), scores(noise[::-1] + np.array([0.2, 0.7, 0.5]))
    row = ranking.agreement(one, other, top=1, n_resamples=100).iloc[0]
    assert row["tau"] == pytest.approx(1 / 3)
    assert (row["models"], row["pairs"], row["swapped"], row["apart"], row["apart_swapped"]) == (3, 3, 1, 3, 1)
    assert row["which"] == [("c", "b")]
    assert row["overlap"] == 0


def test_only_shared_models_and_where_paired_shared_languages_are_compared(world):
    other = world[(world["model"] != "e") & (world["lang"] >= "l020")]
    row = ranking.agreement(world, other, n_resamples=20).iloc[0]
    assert (row["models"], row["n"], row["n_second"]) == (4, 10, 10)
    row = ranking.agreement(world, other, paired=False, n_resamples=20).iloc[0]
    assert (row["n"], row["n_second"]) == (30, 10)
    elsewhere = other.assign(lang="x" + other["lang"])
    assert np.isfinite(ranking.agreement(world, elsewhere, paired=False, n_resamples=20).loc[0, "tau_low"])
    with pytest.raises(InputError, match="no language in common"):
        ranking.agreement(world, elsewhere)
    with pytest.raises(InputError, match="two models"):
        ranking.agreement(world[world["model"] == "a"], other)
    with pytest.raises(InputError, match="over languages or models"):
        ranking.agreement(world, world, over="images")


def test_group_means_have_an_interval_over_models_or_none_where_the_order_is_the_same():
    one, other = scores([[0.1, 0.2, 0.3, 0.4]]), scores([[0.1, 0.3, 0.2, 0.4]])
    row = ranking.agreement(one, other, over="models", n_resamples=500).iloc[0]
    assert row["tau"] == pytest.approx(4 / 6)
    assert row["tau_low"] < row["tau"] < row["tau_high"]
    assert np.isnan(ranking.agreement(one, one, over="models").loc[0, "tau_low"])
    assert np.isnan(ranking.agreement(one, other).loc[0, ["tau_low", "own"]].astype(float)).all()


def test_a_reflected_interval_is_never_shorter_and_stays_between_its_bounds():
    drawn = np.random.default_rng(0).normal(0.3, 0.1, size=500)
    low, high = ranking.reflected(0.5, drawn, -1)
    assert low == pytest.approx(np.quantile(drawn, 0.025))
    assert high == pytest.approx(1 - np.quantile(drawn, 0.025))
    level = bootstrap.expanded_level(0.95, 7)
    assert ranking.reflected(0.5, drawn, -1, n_clusters=7)[0] == pytest.approx(np.quantile(drawn, (1 - level) / 2))
    assert ranking.reflected(0.95, drawn, -1)[1] == 1
    assert ranking.reflected(0.0, drawn - 0.3, 0)[0] == 0


def test_more_languages_tell_more_apart_and_too_few_nothing(world):
    found = ranking.languages_needed(world, [4, 10, 30, 99], draws=10).set_index("n")
    assert found.index.tolist() == [4, 10, 30]
    assert found.loc[4, "value"] == 0, "the smallest p of four signs is 1/8"
    assert found.loc[10, "value"] <= found.loc[30, "value"]
    all_of_them = (ranking.comparisons(world, n_permutations=5000)["p_holm"] < 0.05).mean()
    assert found.loc[30, "value"] == pytest.approx(all_of_them)
    assert np.isfinite(found.loc[10, "ci_low"])
    assert np.isnan(found.loc[30, ["ci_low", "ci_high"]]).all(), "all languages can be chosen in one way only"


def test_languages_needed_takes_two_models_and_a_draw(world):
    with pytest.raises(InputError, match="two models and one draw, got 5 and 0"):
        ranking.languages_needed(world, [5], draws=0)
    with pytest.raises(InputError, match="two models and one draw, got 1 and 3"):
        ranking.languages_needed(world[world["model"] == "a"], [5], draws=3)


def test_the_published_ranks_are_those_of_the_means_that_table_2_prints():
    table = published.by_language()
    groups = {name: list(part["lang"].unique()) for name, part in table.groupby("group") if name != "English"}
    found = ranking.ranks(table[table["lang"] != "en"], groups, "languages", n_resamples=10)
    printed = published.read().query("table == '2' and lang == ''")
    for group, part in printed.groupby("group"):
        own = found[found["group"] == group]["model"].tolist()
        assert own == part.sort_values("value", ascending=False)["model"].tolist()


def test_two_sides_with_languages_of_their_own_are_drawn_apart():
    # Alike but for the languages' names: with the same draws on both sides every resample would agree with itself.
    rng = np.random.default_rng(3)
    rows = [(f"m{place}", f"l{lang}") for place in range(6) for lang in range(7)]
    one = pd.DataFrame(rows, columns=["model", "lang"]).assign(value=rng.random(42))
    row = ranking.agreement(one, one.assign(lang="x" + one["lang"]), paired=False, n_resamples=200).iloc[0]
    assert row["tau"] == 1
    assert row["tau_low"] < 0.5
