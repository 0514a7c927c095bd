"""Simulations: their fast paths equal the functions that they stand for, and known failures are found."""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate
from scipy.stats import norm

from babelatlas.analysis import calibration, leaderboard, ranking
from babelatlas.analysis.calibration import OURS, PLAIN, Simulation
from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap, correlation, regression, tests


def test_a_coverage_by_hand():
    value, low, high = np.array([0.0, 1, 2, 3]), np.array([-1.0, 0, 1, np.nan]), np.array([1.0, 2, 3, np.nan])
    found = calibration.coverage(0.0, value, low, high, 0.5)
    assert (found["value"], found["below"], found["above"], found["worlds"]) == (0.5, 0.25, 0, 4)
    assert found["width"] == 2
    assert found["stretch"] == 1, "half of the worlds hold the truth: at 0 and, exactly at its end, at 1"
    ends = bootstrap.wilson([0.5], [4])
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((ends[0][0], ends[1][0]))
    assert np.isnan(calibration.coverage(0.0, value, low, high, 0.9)["stretch"]), (
        "no factor mends an undefined interval"
    )


def test_intervals_of_no_width_hold_only_their_value_and_cannot_be_stretched():
    found = calibration.coverage(0.0, np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([0.0, 1.0]), 0.95)
    assert found["value"] == 0.5
    assert np.isnan(found["stretch"])
    with pytest.raises(InputError, match="at least one simulated data set"):
        calibration.coverage(0.0, [], [], [])


def test_stretched_by_the_factor_the_intervals_hold_what_they_promise():
    rng = np.random.default_rng(0)
    value = rng.normal(size=1000)
    low, high = value - 1, value + 2
    factor = calibration.coverage(0.0, value, low, high, 0.95)["stretch"]
    again = calibration.coverage(0.0, value, value - factor, value + 2 * factor, 0.95)
    assert again["value"] == pytest.approx(0.95)


def test_the_mean_over_languages_is_analysed_as_by_the_bootstrap_of_stats():
    population, n, worlds = [0.1, 0.2, 0.6, 0.7, 0.9], 6, 25
    found = calibration.mean_over_languages(n, population, run=Simulation(worlds, 200, seed=3)).set_index("interval")
    drawn = np.random.default_rng([3, n, 1]).choice(np.array(population), size=(n, worlds))
    rows = pd.concat([bootstrap.mean_interval(column, None, 200, seed=3) for column in drawn.T])
    wanted = calibration.coverage(0.5, rows["value"], rows["ci_low"], rows["ci_high"])
    assert found.loc[OURS, list(wanted)].to_dict() == pytest.approx(wanted, nan_ok=True)


def test_the_accuracy_is_analysed_as_by_the_interval_of_stats_where_nothing_is_right_too():
    n, worlds, images = 5, 40, 3
    found = calibration.accuracy_over_classes(n, 0.1, 0.5, images, run=Simulation(worlds, 200, seed=1)).set_index(
        "interval"
    )
    rng = np.random.default_rng([1, n, 2])
    right = rng.binomial(images, rng.beta(0.05, 0.45, size=(n, worlds)))
    assert (right.sum(axis=0) == 0).any(), "the case that matters must occur"
    counts = pd.DataFrame({"n_correct": right.T.ravel(), "n_images": images, "wnid": np.tile(np.arange(n), worlds)})
    counts["lang"] = np.repeat([f"{world:03d}" for world in range(worlds)], n)
    rows = bootstrap.accuracy_interval(counts, ["lang"], n_resamples=200, seed=1)
    wanted = calibration.coverage(0.1, rows["value"], rows["ci_low"], rows["ci_high"])
    own = found.loc[OURS, list(wanted)].to_dict()
    assert own == pytest.approx(wanted, nan_ok=True)
    assert own["width"] != pytest.approx(found.loc["expanded percentiles", "width"])


def test_the_crossed_correlation_is_that_of_stats_in_a_single_world():
    found = calibration.crossed_correlation(9, models=4, run=Simulation(1, 300, seed=2))
    rng = np.random.default_rng([2, 9, 4, 4])
    x = y = 0
    for share, shape in zip((0.5, 0.3, 0.2), ((4, 1), (1, 9), (4, 9)), strict=True):
        first, second = rng.normal(size=(1, *shape))[0], rng.normal(size=(1, *shape))[0]
        x = x + np.sqrt(share) * first
        y = y + np.sqrt(share) * (0.7 * first + np.sqrt(1 - 0.49) * second)
    lang, model = np.tile([str(n) for n in range(9)], 4), np.repeat(list("abcd"), 9)
    table = pd.DataFrame({"x": x.ravel(), "y": y.ravel(), "lang": lang, "model": model})
    found = found[found["interval"] == OURS].reset_index(drop=True)
    for cluster, row in (("lang", 0), ("model", 2)):
        wanted = correlation.correlate(table, "x", "y", cluster, ["pearson"], 300, seed=2).iloc[0]
        assert found.loc[row, "width"] == pytest.approx(wanted["ci_high"] - wanted["ci_low"])
    both = correlation.correlate(table, "x", "y", ["lang", "model"], methods=["pearson"], n_resamples=300, seed=2).iloc[
        0
    ]
    assert found.loc[3, "width"] == pytest.approx(both["ci_high"] - both["ci_low"])


def test_the_truth_about_these_models_is_the_limit_of_many_languages():
    # With very many languages the interval is a point, which must lie at the truth for these models.
    found = calibration.crossed_correlation(20_000, models=5, run=Simulation(4, 50, seed=0))
    found = found[found["interval"] == OURS].set_index("method")
    assert found.loc["languages drawn, truth for these models", "width"] < 0.02
    assert found.loc["languages drawn, truth for these models", "stretch"] < 3


def test_the_truths_of_the_correlations_are_those_of_very_large_samples():
    rng = np.random.default_rng(0)
    x = rng.normal(size=4000)
    table = pd.DataFrame(
        {"x": x, "y": 0.7 * x + np.sqrt(1 - 0.49) * rng.normal(size=4000), "lang": np.arange(4000) % 2}
    )
    truth = {"pearson": 0.7, "spearman": 6 / np.pi * np.arcsin(0.35), "kendall": 2 / np.pi * np.arcsin(0.7)}
    for method, value in truth.items():
        found = correlation.correlate(table, "x", "y", methods=[method], n_resamples=1).loc[0, "value"]
        assert found == pytest.approx(value, abs=0.03)
    with pytest.raises(InputError, match="no simulation"):
        calibration.correlations(5, methods=["biserial"], run=Simulation(2))


def test_few_languages_make_plain_percentiles_short_and_the_studys_intervals_mend_most_of_it():
    few = calibration.mean_over_languages(7, run=Simulation(2000, 1000)).set_index("interval")
    many = calibration.mean_over_languages(200, run=Simulation(2000, 500)).set_index("interval")
    assert few.loc[PLAIN, "ci_high"] < 0.9
    assert few.loc[OURS, "value"] > few.loc[PLAIN, "ci_high"] + 0.02
    assert few.loc[OURS, "stretch"] < 1.2 < few.loc[PLAIN, "stretch"]
    assert few.loc["Student's t", "ci_low"] < 0.95 < few.loc["Student's t", "ci_high"]
    assert many.loc[PLAIN, "value"] > 0.93
    assert abs(many.loc[OURS, "value"] - many.loc[PLAIN, "value"]) < 0.01


@pytest.mark.parametrize("n", [7, 11, 16])
def test_intervals_as_in_the_book_come_nearer_to_what_they_promise(n):
    kinds = [
        calibration.mean_over_languages(n, run=Simulation(1000, 600)),
        calibration.accuracy_over_classes(n, run=Simulation(1000, 600)),
        calibration.correlations(n, 3, methods=["pearson"], run=Simulation(1000, 600)),
        calibration.slope(n, run=Simulation(1000, 600)),
    ]
    for found in kinds:
        value = found.set_index("interval")["value"]
        assert abs(value[OURS] - 0.95) < abs(value[PLAIN] - 0.95)
        assert 0.92 < value[OURS] < 0.985


def test_the_fast_paths_of_slopes_correlations_and_boards_are_the_functions_of_the_study():
    rng = np.random.default_rng([3, 6, 5])
    sizes = np.array([2, 5, 10, 20])
    x = np.log2(sizes)
    own = np.sqrt(0.5) * rng.normal(size=(1, 6, 1)) * (x - x.mean()) / x.std()
    gone = 3 * (own + np.sqrt(0.5) * rng.normal(size=(1, 6, 4)))[0]
    fit = regression.log_linear_fit(
        np.tile(sizes, 6), ((90 - 8 * x + gone) / 100).ravel(), np.arange(6).repeat(4), 200, seed=3
    )
    found = calibration.slope(6, sizes, run=Simulation(1, 200, seed=3)).set_index("interval")
    assert found.loc[OURS, "width"] == pytest.approx((fit["ci_high"] - fit["ci_low"]).item())

    rng = np.random.default_rng([3, 6, 2, 3])
    values = (np.sqrt(0.5) * rng.normal(size=(6, 1, 2)) + np.sqrt(0.5) * rng.normal(size=(6, 2, 2))).reshape(12, 2)
    table = pd.DataFrame(values @ [[1, 0.7], [0, np.sqrt(0.51)]], columns=["x", "y"])
    row = correlation.correlate(
        table.assign(lang=np.arange(6).repeat(2)), "x", "y", methods=["pearson"], n_resamples=200, seed=3
    )
    found = calibration.correlations(6, 2, methods=["pearson"], run=Simulation(1, 200, seed=3)).set_index("interval")
    assert found.loc[OURS, "width"] == pytest.approx((row["ci_high"] - row["ci_low"]).item())

    rng = np.random.default_rng([3, 4, 9, 8])
    logit = rng.normal(size=(4, 1)) + rng.normal(size=(1, 9)) + rng.normal(size=(4, 9))
    right = rng.binomial(10, 1 / (1 + np.exp(-logit))).ravel().astype(float)
    board = pd.DataFrame(
        {"model": "m", "lang": np.arange(4).repeat(9), "item": np.tile(np.arange(9), 4), "right": right}
    )
    row = leaderboard.ranking(board.assign(total=10.0), None, 200, seed=3).iloc[0]
    found = calibration.board(4, 9, run=Simulation(1, 200, seed=3)).set_index("interval")
    assert found.loc[OURS, "width"] == pytest.approx(row["ci_high"] - row["ci_low"], abs=1e-5)


def test_images_taken_for_independent_promise_too_much():
    found = calibration.accuracy_over_classes(30, run=Simulation(400, 200)).set_index("interval")
    assert found.loc["images independent", "ci_high"] < 0.7 < found.loc[OURS, "ci_low"]
    with pytest.raises(InputError, match="0 < share < 1"):
        calibration.accuracy_over_classes(30, share=1.0)


def test_drawing_languages_says_nothing_about_other_models():
    found = calibration.crossed_correlation(50, run=Simulation(300, 200))
    plain = found[found["interval"] == PLAIN].set_index("method")["value"]
    found = found[found["interval"] == OURS].set_index("method")["value"]
    assert found["languages drawn, truth for models of the kind"] < 0.7
    assert found["languages drawn, truth for these models"] > 0.88
    # The book leaves intervals that draw both at plain percentiles: they are compared with such.
    assert found["both drawn, truth for models of the kind"] > plain["models drawn, truth for models of the kind"]


def test_the_interval_of_an_agreement_is_analysed_as_in_ranking():
    found = calibration.order(12, 5, run=Simulation(1, 200, seed=4)).iloc[0]
    rng = np.random.default_rng([4, 12, 5, 9])
    true = rng.normal(size=(2, 5))
    true[1] = 0.9 * true[0] + np.sqrt(1 - 0.81) * true[1]
    sides = true[:, None, :] + rng.normal(size=(1, 12, 1)) + rng.normal(size=(2, 12, 5))
    lang, model = np.repeat([f"{n:02d}" for n in range(12)], 5), np.tile(list("abcde"), 12)
    tables = [pd.DataFrame({"model": model, "lang": lang, "value": side.ravel()}) for side in sides]
    wanted = ranking.agreement(*tables, n_resamples=200, seed=4).iloc[0]
    assert found["width"] == pytest.approx(wanted["tau_high"] - wanted["tau_low"])


def test_the_reflection_and_the_level_mend_most_of_what_the_percentile_interval_of_an_order_lacks():
    found = calibration.order(8, run=Simulation(200, 200)).set_index("interval")["value"]
    assert found[PLAIN] < 0.7 < 0.78 < found[f"{PLAIN}, reflected"] < found[OURS]


def test_holm_keeps_false_alarms_rare_and_few_languages_can_tell_nothing():
    found = calibration.family_wise(20, 4, worlds=300).set_index("method")
    assert found.loc["sign flips, Holm's correction", "ci_low"] < 0.05
    assert found.loc["sign flips, uncorrected", "ci_low"] > 0.1
    blind = calibration.family_wise(6, 4, worlds=50).set_index("method").loc["sign flips, Holm's correction"]
    assert blind["least"] > 0.05
    assert blind["value"] == 0


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (calibration.correlations, {"rows": 3}),
        (calibration.slope, {}),
        (calibration.rank, {"gaps": (0, 0.02, 0.04)}),
        (calibration.above, {}),
        (calibration.board, {"items": 12}),
    ],
)
def test_every_world_is_decided_by_the_seed_and_covers_most_of_the_time(function, options):
    run = Simulation(40, 100)
    one, again = function(12, **options, run=run), function(12, **options, run=run)
    pd.testing.assert_frame_equal(one, again)
    assert one["value"].between(0.75, 1).all()
    assert not one.equals(function(12, **options, run=run._replace(seed=1)))
    assert (one["worlds"] == 40).all()


def test_true_ranks_that_are_far_apart_are_always_held():
    assert calibration.rank(20, gaps=(0, 5, 10), run=Simulation(20, 50)).loc[0, "value"] == 1


# --- one world by hand -----------------------------------------------------------------------------


def by_hand(truth, row, found):
    """The truth and the interval of a single world are those of `found`: its stretch holds the truth, its width not."""
    half = row["value"] - row["ci_low"] if truth < row["value"] else row["ci_high"] - row["value"]
    assert found["width"] == pytest.approx(row["ci_high"] - row["ci_low"])
    assert found["stretch"] == pytest.approx(abs(truth - row["value"]) / half)


def test_the_slope_is_analysed_as_in_stats_and_compared_with_its_truth():
    sizes, n = [2, 8, 32], 5
    found = calibration.slope(n, sizes, -6.0, run=Simulation(1, 200, seed=7)).iloc[0]
    rng = np.random.default_rng([7, n, 5])
    x = np.log2(np.array(sizes, float))
    own = np.sqrt(0.5) * rng.normal(size=(n, 1)) * (x - x.mean()) / x.std()
    gone = 3 * (own + np.sqrt(0.5) * rng.normal(size=(n, 3)))
    accuracy = (90 - 6 * x + gone) / 100
    fit = regression.log_linear_fit(np.tile(sizes, n), accuracy.ravel(), np.arange(n).repeat(3), 200, seed=7).iloc[0]
    by_hand(-6.0, {"value": fit["per_doubling"], "ci_low": fit["ci_low"], "ci_high": fit["ci_high"]}, found)


def test_the_languages_above_are_counted_as_in_stats_and_their_truth_by_hand():
    n, images, worlds = 9, 60, 4
    found = calibration.above(n, 0.3, images=images, run=Simulation(worlds, 200, seed=2)).iloc[0]
    rng = np.random.default_rng([2, n, 10])
    true = rng.beta(1.2, 2.8, size=(worlds, n))
    measured = rng.binomial(images, true) / images
    truth = [sum(1 for share in world if share >= 0.3) for world in true]
    rows = []
    for world in measured:
        table = pd.DataFrame({"model": "m", "lang": np.arange(n), "value": world, "n": images})
        rows.append(tests.languages_above(table, [0.3], n_resamples=200, seed=2).iloc[0])
    rows = pd.DataFrame(rows)
    wanted = calibration.coverage(np.array(truth), rows["value"], rows["ci_low"], rows["ci_high"])
    # Other draws of the images, since all worlds share a generator there.
    assert found["value"] == wanted["value"]
    assert found["width"] == pytest.approx(wanted["width"], rel=0.15)
    assert found["worlds"] == worlds


def test_with_very_many_images_the_count_above_is_the_truth_itself():
    found = calibration.above(40, 0.3, images=10**9, run=Simulation(20, 20)).iloc[0]
    assert (found["value"], found["width"]) == (1, 0)


def test_the_mean_over_languages_and_classes_is_that_of_the_board_and_its_truth_an_integral():
    n, items = 6, 5
    found = calibration.board(n, items, 0.2, run=Simulation(1, 200, seed=3)).iloc[0]
    rng = np.random.default_rng([3, n, items, 8])
    middle = np.log(0.25)
    logit = middle + rng.normal(size=(n, 1)) + rng.normal(size=(1, items)) + rng.normal(size=(n, items))
    right = rng.binomial(10, 1 / (1 + np.exp(-logit)))
    lang, item = (axis.ravel() for axis in np.indices((n, items)))
    table = pd.DataFrame({"model": "m", "lang": lang, "item": item, "right": right.ravel() * 1.0, "total": 10.0})
    row = leaderboard.ranking(table, None, 200, seed=3).iloc[0]
    # Three effects of variance 1 each: a normal distribution of variance 3.
    truth, _ = integrate.quad(lambda at: norm.pdf(at, middle, np.sqrt(3)) / (1 + np.exp(-at)), -30, 30)
    by_hand(truth, row, found)


def test_models_that_are_equal_share_the_best_rank_of_theirs():
    # A single resample gives each model one rank: of the two that are equal one is second, as both truly are, and the
    # other third, which lies above the truth.
    found = calibration.rank(20, gaps=(0, 0, 9), run=Simulation(5, 1)).iloc[0]
    assert found["below"] == pytest.approx(1 / 3)
    assert found["above"] == 0


# --- related languages -----------------------------------------------------------------------------


def test_the_difference_over_related_languages_is_analysed_as_in_ranking():
    families, n = [4, 2, 1, 1, 3], 11
    found = calibration.related(families, 0.4, run=Simulation(1, 150, seed=5)).set_index("method")
    rng = np.random.default_rng([5, 5, n, 11])
    own, index = rng.normal(size=n), np.arange(5).repeat(families)
    gap = np.sqrt(0.4) * rng.normal(size=5)[index] + np.sqrt(0.6) * own
    codes = [f"l{number:02d}" for number in range(n)]
    table = pd.DataFrame({"model": ["a"] * n + ["b"] * n, "lang": codes * 2, "value": [*gap, *[0.0] * n]})
    for method, cluster in (("languages drawn", None), ("families drawn", dict(zip(codes, index, strict=True)))):
        row = ranking.comparisons(table, n_resamples=150, n_permutations=1000, seed=5, cluster=cluster).iloc[0]
        assert found.loc[method, "width"] == pytest.approx(row["ci_high"] - row["ci_low"])
        assert found.loc[method, "alarms"] == (row["p"] < 0.05)


def test_languages_taken_as_independent_promise_too_much_where_families_share_and_keep_their_word_where_not():
    families = [30, 10, 10, 5, 5, *[1] * 15]
    alike, apart = (
        calibration.related(families, shared, run=Simulation(400, 200)).set_index("method") for shared in (0.5, 0.0)
    )
    assert alike.loc["languages drawn", "ci_high"] < 0.8
    assert alike.loc["languages drawn", "alarms"] > 0.25
    assert alike.loc["families drawn", "alarms"] < 0.09
    assert alike.loc["families drawn", "value"] > alike.loc["languages drawn", "value"] + 0.1
    assert apart.loc["languages drawn", "value"] > 0.92
    assert apart["alarms"].max() < 0.09
    with pytest.raises(InputError, match="two families"):
        calibration.related([5])
