"""Simulations: their fast paths equal the functions that they stand for, and known
failures are found.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate
from scipy.stats import norm

import coverage_simulations as calibration
from babelatlas.analysis import leaderboard, ranking
from babelatlas.stats import bootstrap, correlation, regression
from coverage_simulations import OURS, PLAIN, Simulation


def test_a_coverage_by_hand():
    value, low, high = (
        np.array([0.0, 1, 2, 3]),
        np.array([-1.0, 0, 1, np.nan]),
        np.array([1.0, 2, 3, np.nan]),
    )
    found = calibration.coverage(0.0, value, low, high, 0.5)
    assert (found["value"], found["below"], found["above"], found["worlds"]) == (
        0.5,
        0.25,
        0,
        4,
    )
    assert found["width"] == 2
    assert found["stretch"] == 1, (
        "half of the worlds hold the truth: at 0 and, exactly at its end, at 1"
    )
    ends = calibration.wilson([0.5], [4])
    assert (found["ci_low"], found["ci_high"]) == pytest.approx(
        (ends[0][0], ends[1][0])
    )
    assert np.isnan(calibration.coverage(0.0, value, low, high, 0.9)["stretch"]), (
        "no factor mends no interval"
    )


def test_the_mean_over_languages_is_analysed_as_by_the_bootstrap_of_stats():
    population, n, worlds = [0.1, 0.2, 0.6, 0.7, 0.9], 6, 25
    found = calibration.mean_over_languages(
        n, population, run=Simulation(worlds, 200, seed=3)
    ).set_index("interval")
    drawn = np.random.default_rng([3, n, 1]).choice(
        np.array(population), size=(n, worlds)
    )
    rows = pd.concat(
        [bootstrap.mean_interval(column, None, 200, seed=3) for column in drawn.T]
    )
    wanted = calibration.coverage(0.5, rows["value"], rows["ci_low"], rows["ci_high"])
    assert found.loc[OURS, list(wanted)].to_dict() == pytest.approx(wanted, nan_ok=True)


def test_the_accuracy_is_analysed_as_by_the_interval_of_stats_where_nothing_is_right_too():
    n, worlds, images = 5, 40, 3
    run = Simulation(worlds, 200, seed=1)
    found = calibration.accuracy_over_classes(n, 0.1, 0.5, images, run=run).set_index(
        "interval"
    )
    rng = np.random.default_rng([1, n, 2])
    right = rng.binomial(images, rng.beta(0.05, 0.45, size=(n, worlds)))
    assert (right.sum(axis=0) == 0).any(), "the case that matters must occur"
    counts = pd.DataFrame(
        {
            "n_correct": right.T.ravel(),
            "n_images": images,
            "wnid": np.tile(np.arange(n), worlds),
        }
    )
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
        wanted = correlation.correlate(
            table, "x", "y", cluster, ["pearson"], 300, seed=2
        ).iloc[0]
        assert found.loc[row, "width"] == pytest.approx(
            wanted["ci_high"] - wanted["ci_low"]
        )
    both = correlation.correlate(
        table, "x", "y", ["lang", "model"], ["pearson"], 300, seed=2
    ).iloc[0]
    assert found.loc[3, "width"] == pytest.approx(both["ci_high"] - both["ci_low"])


@pytest.mark.parametrize("n", [7, 16])
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


def test_the_fast_paths_of_slopes_and_correlations_are_the_functions_of_the_study():
    rng = np.random.default_rng([3, 6, 5])
    sizes = np.array([2, 5, 10, 20])
    x = np.log2(sizes)
    own = np.sqrt(0.5) * rng.normal(size=(1, 6, 1)) * (x - x.mean()) / x.std()
    gone = 3 * (own + np.sqrt(0.5) * rng.normal(size=(1, 6, 4)))[0]
    share = ((90 - 8 * x + gone) / 100).ravel()
    fit = regression.log_linear_fit(
        np.tile(sizes, 6), share, np.arange(6).repeat(4), 200, seed=3
    )
    found = calibration.slope(6, sizes, run=Simulation(1, 200, seed=3)).set_index(
        "interval"
    )
    assert found.loc[OURS, "width"] == pytest.approx(
        (fit["ci_high"] - fit["ci_low"]).item()
    )

    rng = np.random.default_rng([3, 6, 2, 3])
    values = (
        np.sqrt(0.5) * rng.normal(size=(6, 1, 2))
        + np.sqrt(0.5) * rng.normal(size=(6, 2, 2))
    ).reshape(12, 2)
    table = pd.DataFrame(values @ [[1, 0.7], [0, np.sqrt(0.51)]], columns=["x", "y"])
    table = table.assign(lang=np.arange(6).repeat(2))
    row = correlation.correlate(
        table, "x", "y", methods=["pearson"], n_resamples=200, seed=3
    )
    found = calibration.correlations(
        6, 2, methods=["pearson"], run=Simulation(1, 200, seed=3)
    ).set_index("interval")
    assert found.loc[OURS, "width"] == pytest.approx(
        (row["ci_high"] - row["ci_low"]).item()
    )


def test_the_interval_of_an_agreement_is_analysed_as_in_ranking():
    found = calibration.order(12, 5, run=Simulation(1, 200, seed=4)).iloc[0]
    rng = np.random.default_rng([4, 12, 5, 9])
    true = rng.normal(size=(2, 5))
    true[1] = 0.9 * true[0] + np.sqrt(1 - 0.81) * true[1]
    sides = true[:, None, :] + rng.normal(size=(1, 12, 1)) + rng.normal(size=(2, 12, 5))
    lang, model = (
        np.repeat([f"{n:02d}" for n in range(12)], 5),
        np.tile(list("abcde"), 12),
    )
    tables = [
        pd.DataFrame({"model": model, "lang": lang, "value": side.ravel()})
        for side in sides
    ]
    wanted = ranking.agreement(*tables, n_resamples=200, seed=4).iloc[0]
    assert found["width"] == pytest.approx(wanted["tau_high"] - wanted["tau_low"])


def test_corrected_tests_keep_false_alarms_rare_and_tests_together_find_what_holm_cannot():
    found = calibration.family_wise(20, 4, worlds=300)
    assert (found["ci_low"] < 0.05).tolist() == [True, True, False]
    found = calibration.told_apart([6, 2, 1, 1, 1, 1, 1], 6, 1, 3, worlds=60).set_index(
        ["statistic", "method"]
    )
    together, holm, _ = calibration.FLIPS
    assert found.loc[("equal models", together), "ci_low"] < 0.05
    assert (
        found.loc[("different models", together), "value"]
        > 0.2
        > found.loc[("different models", holm), "value"]
    )


def test_the_mean_over_languages_and_classes_is_that_of_the_board_and_its_truth_an_integral():
    n, items = 6, 5
    found = calibration.board(n, items, 0.2, run=Simulation(1, 200, seed=3)).iloc[0]
    rng = np.random.default_rng([3, n, items, 8])
    middle = np.log(0.25)
    logit = (
        middle
        + rng.normal(size=(n, 1))
        + rng.normal(size=(1, items))
        + rng.normal(size=(n, items))
    )
    right = rng.binomial(10, 1 / (1 + np.exp(-logit)))
    lang, item = (axis.ravel() for axis in np.indices((n, items)))
    table = pd.DataFrame(
        {
            "model": "m",
            "lang": lang,
            "item": item,
            "right": right.ravel() * 1.0,
            "total": 10.0,
        }
    )
    row = leaderboard.ranking(table, None, 200, seed=3).iloc[0]
    # Three effects of variance 1 each: a normal distribution of variance 3.
    truth, _ = integrate.quad(
        lambda at: norm.pdf(at, middle, np.sqrt(3)) / (1 + np.exp(-at)), -30, 30
    )
    half = (
        row["value"] - row["ci_low"]
        if truth < row["value"]
        else row["ci_high"] - row["value"]
    )
    assert found["width"] == pytest.approx(row["ci_high"] - row["ci_low"])
    assert found["stretch"] == pytest.approx(abs(truth - row["value"]) / half)


def test_the_difference_over_related_languages_is_analysed_as_in_ranking():
    families, n = [4, 2, 1, 1, 3], 11
    found = calibration.related(
        families, 0.4, run=Simulation(1, 150, seed=5)
    ).set_index("method")
    rng = np.random.default_rng([5, 5, n, 11])
    own, index = rng.normal(size=n), np.arange(5).repeat(families)
    gap = np.sqrt(0.4) * rng.normal(size=5)[index] + np.sqrt(0.6) * own
    codes = [f"l{number:02d}" for number in range(n)]
    table = pd.DataFrame(
        {"model": ["a"] * n + ["b"] * n, "lang": codes * 2, "value": [*gap, *[0.0] * n]}
    )
    for method, cluster in (
        ("languages drawn", None),
        ("families drawn", dict(zip(codes, index, strict=True))),
    ):
        row = ranking.comparisons(
            table, n_resamples=150, n_permutations=1000, seed=5, cluster=cluster
        ).iloc[0]
        assert found.loc[method, "width"] == pytest.approx(
            row["ci_high"] - row["ci_low"]
        )
        assert found.loc[method, "alarms"] == (row["p"] < 0.05)
